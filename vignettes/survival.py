# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Survival from start to finish
#
# How long does it take until the result of a clinical trial is published? Gordon and
# others (2013) followed 244 trials that the National Heart, Lung, and Blood Institute
# had funded. 156 of them were published while they watched. For the others the time is
# *censored*: we know only that it is longer than so many months. Leaving them out, or
# taking their times for the real ones, would make trials look faster than they are.
# Cox's model uses them rightly: at each publication it asks which of the trials still
# unpublished it should have been.
#
# The page goes the whole way: it looks at the data, finds a column that must not be
# used, fits the best models of every size, chooses one on held-out trials, and reads it
# as hazard ratios and as curves.

# %%
import l0path
import numpy as np
import pandas as pd
from l0path.datasets import load_publication

from common import SHORT, survival_curves

# %%
FOLDS = {"cv": 5, "n_repeats": 1 if SHORT else 5, "random_state": 1}
COX = {"loss": "cox", "lambda2": 1e-3}
data = load_publication()
X, y = data.X, data.y
data

# %% [markdown]
# ## The whole sample first
#
# The Kaplan-Meier curve is the share of trials not yet published. Ticks are censored
# trials. Half of the trials are out after two years; one in four takes four years or
# more.

# %%
ax = l0path.fit(X, y, loss="cox", max_k=0).model(k=0).plot("survival", groups=1)
_ = ax.set(xlabel="months since the end of the trial", ylabel="share not yet published")

# %% [markdown]
# ## A column that knows the future
#
# `impact` measures how much a trial was cited. The best model of one column is that
# one, and on held-out trials it ranks four pairs of trials in five rightly. Too good: a
# trial that is not published cannot be cited.

# %%
naive = l0path.cv_fit(X, y, max_k=4, scoring="concordance", **COX, **FOLDS)
print(naive.model(k=1))
print(f"concordance of it {naive.scores.cv_mean[1]:.2f}")
X["impact"].groupby(y["published"]).describe()[["count", "mean", "50%", "max"]]

# %% [markdown]
# Of the 88 trials without a publication hardly one has an impact above 0. The column is
# known only after the event that it is to predict, and no scoring on held-out rows can
# notice that, because they hold it too. It goes. Two more steps of common sense:
# budgets and sample sizes span three orders of magnitude, so their logarithms join
# them, and ways of funding that fewer than five trials had are left out.

# %%
few = [name for name in X if name.startswith("mech_") and X[name].sum() < 5]
logs = {f"log_{name}": np.log(X[name]) for name in ("budget", "sampsize")}
Z = X.drop(columns=["impact", *few]).assign(**logs)
print(f"{Z.shape[1]} columns; left out: impact, {', '.join(few)}")

# %% [markdown]
# ## The best model of every size
#
# One call fits the best subset of every size. The loss is the negative log partial
# likelihood for each event. The ridge `lambda2=1e-3` is for rare ways of funding: where
# the few trials with one are all published before the others (or none is while others
# are), its coefficient has no finite optimum (the likelihood is *monotone*). This
# happens in folds, if not in the whole sample. Without a ridge a warning names the
# columns.

# %%
cv = l0path.cv_fit(Z, y, max_k=8, **COX, **FOLDS)
cv.details[["k", "loss", "deviance_ratio", "features"]].head(6)

# %% [markdown]
# ## How many columns?
#
# `cv_fit` scores every size on held-out trials. The default score is the partial
# likelihood that they add to that of the training trials, doubled, for each event
# (smaller is better). Three others show the same from other sides: Harrell's
# concordance, the share of pairs ranked rightly; Uno's, which does not depend on how
# long the trials were followed; and the Brier score of the predicted probabilities,
# averaged over time.

# %%
ax = cv.plot()
cv.metrics().round(3).head(6)

# %%
for rule in ("min", "1se", "bic"):
    print(f"{rule}: {', '.join(cv.model(rule).features)}")

# %% [markdown]
# All scores agree that two or three columns say what there is to say. We go on with the
# three that BIC chooses.
#
# ## What the model says
#
# `refit` gives the coefficients with standard errors (from statsmodels). They are
# labelled "conditional on selection": the same rows have chosen the columns, so
# intervals are somewhat too narrow.

# %%
chosen = cv.model("bic")
fit = chosen.refit()
ratios = np.exp(fit.conf_int().assign(ratio=fit.params)).set_axis(chosen.features)
ratios.round(2)

# %% [markdown]
# At any time, a trial with a positive result is almost twice as likely to be published
# next as one that is alike in the rest, and a trial with a clinical endpoint almost
# four times as likely. Money matters too: a budget that is e = 2.7 times as large
# multiplies the chance by 1.6.
#
# ## Curves for trials that one can imagine
#
# A hazard ratio says nothing about months. `Model.survival` does: it joins the model
# with the baseline hazard.

# %%
names = ["small, negative", "small, positive", "large, positive, clinical"]
cases = pd.DataFrame(0.0, index=names, columns=Z.columns)
cases["log_budget"] = np.log([1.5, 1.5, 10.0])
cases["posres"], cases["clinend"] = [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]
survival_curves(chosen.survival(cases))
chosen.survival(cases, times=[12, 24, 48]).round(2)

# %% [markdown]
# ## Does it hold for trials that the model has not seen?
#
# Three groups of equal size, by predictions of the folds that left each trial out. The
# groups part early and stay apart, so the model orders new trials well. The table has
# the share of rightly ordered pairs (AUC) and the Brier score at one, two and four
# years. (These two are of the rows of the fit.)

# %%
ax = chosen.plot("survival", risk=cv.held_out(k=chosen.k))
chosen.score(Z, y, times=[12, 24, 48]).round(3)

# %% [markdown]
# The number of columns was chosen by the same folds. `nested_cv` puts the choice
# inside: in each outer fold the size is chosen anew, and the trials left out are scored
# once.

# %%
how = {"rule": "1se", "scoring": "concordance", "outer": 5, "cv": 5, "random_state": 1}
nested = l0path.nested_cv(Z, y, max_k=6, **COX, **how)
print(f"concordance {nested.mean:.3f} (standard error {nested.se:.3f})")
print(f"sizes chosen: {nested.table.k.tolist()}")

# %% [markdown]
# ## The same in scikit-learn's words
#
# `L0Survival` and `L0SurvivalCV` have the methods of scikit-survival's estimators, and
# go into pipelines and grid searches. Here the size of least held-out deviance is
# taken, which has the three columns of above; `rule="1se"` would be content with two of
# them, the endpoint and the budget, and its curves would differ.

# %%
model = l0path.L0SurvivalCV(max_k=8, lambda2=1e-3, rule="min", random_state=1)
model.fit(Z, y)
print(model.get_feature_names_out(), f"concordance {model.score(Z, y):.3f}")
one = model.predict_survival_function(cases)[2]
print(f"large, positive, clinical: {one(24.0):.2f} still unpublished after two years")

# %% [markdown]
# **What to take along.** Censored rows belong into the model. Ask of each column
# whether it is known before the event; no score will. Three columns of thirteen were
# enough, and the curves say what they mean in months.
