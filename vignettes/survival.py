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
# # Survival times: choose a Cox model
#
# How long does it take until the result of a clinical trial is published? Gordon and
# others (2013) followed 244 trials that the National Heart, Lung, and Blood Institute
# had funded. 156 of them were published while they watched. For the others the time is
# *censored*: we know only that it is longer than so many months. Leaving them out, or
# taking their times for the real ones, would make trials look faster than they are.
# Cox's model uses them rightly: at each publication it asks which of the trials still
# unpublished it should have been.
#
# The page finds a feature that must not be used, fits the best model of every size,
# chooses one, and reads it as hazard ratios. Curves over months are the subject of
# `survival_curves.py`.

# %%
import l0path
import numpy as np
from l0path.datasets import load_publication

from common import SHORT

# %%
FOLDS = {"cv": 5, "n_repeats": 1 if SHORT else 5, "random_state": 1}
COX = {"loss": "cox", "lambda2": 1e-3}
data = load_publication()
X, y = data.X, data.y
y.head(3)

# %% [markdown]
# ## A feature that knows the future
#
# `impact` measures how much a trial was cited. The best model of one feature is that
# one, and on held-out trials it ranks four pairs of trials in five rightly. Too good: a
# trial that is not published cannot be cited.

# %%
naive = l0path.cv_fit(X, y, max_k=1, scoring="concordance", **COX, **FOLDS)
print(f"{naive.model(k=1).features}: concordance {naive.scores.cv_mean[1]:.2f}")
X["impact"].groupby(y["published"]).describe()[["count", "mean", "50%", "max"]]

# %% [markdown]
# Of the 88 trials without a publication hardly one has an impact above 0. No scoring on
# held-out rows can notice that the feature is known only after the event, because the
# held-out rows have it too. It goes. Budgets and sample sizes span three orders of
# magnitude, so their logarithms join them, and ways of funding that fewer than five
# trials had are left out.

# %%
few = [name for name in X if name.startswith("mech_") and X[name].sum() < 5]
logs = {f"log_{name}": np.log(X[name]) for name in ("budget", "sampsize")}
Z = X.drop(columns=["impact", *few]).assign(**logs)
print(f"{Z.shape[1]} features; left out: impact, {', '.join(few)}")

# %% [markdown]
# ## The best model of every size
#
# One call fits the best subset of every size and scores it on held-out trials. The loss
# is the negative log partial likelihood for each event. The ridge `lambda2=1e-3` is for
# rare ways of funding: where, in some fold, the few trials with one are all published
# before the others, the coefficient has no finite optimum. Without a ridge a warning
# names such features.

# %%
cv = l0path.cv_fit(Z, y, max_k=8, **COX, **FOLDS)
cv.details[["k", "loss", "deviance_ratio", "features"]].head(5)

# %% [markdown]
# ## How many features?
#
# The default score is the partial likelihood that held-out trials add to that of the
# training trials, doubled, for each event (smaller is better). Three others look from
# other sides: Harrell's concordance, the share of pairs ranked rightly; Uno's, which
# does not depend on how long the trials were followed; and the Brier score of the
# predicted probabilities, averaged over time.

# %%
ax = cv.plot()
cv.metrics().round(3).head(5)

# %%
for rule in ("min", "1se", "bic"):
    print(f"{rule}: {', '.join(cv.model(rule).features)}")

# %% [markdown]
# All scores agree that two or three features say what there is to say. We go on with
# the three that BIC chooses.
#
# ## What the model says
#
# Hazard ratios, and intervals of a refit. They are "conditional on selection": the same
# rows have chosen the features, so the intervals are somewhat too narrow, and there are
# no p-values.

# %%
cv.model("bic").refit().estimates(exponentiate=True)

# %% [markdown]
# At any time, a trial with a positive result is almost twice as likely to be published
# next as one that is alike in the rest, and a trial with a clinical endpoint almost
# four times as likely. A budget that is e = 2.7 times as large multiplies the chance by
# 1.6.
#
# **What to take along.** Censored rows belong into the model. Ask of each feature
# whether it is known before the event; no score will. Three of thirteen features were
# enough.
