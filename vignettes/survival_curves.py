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
# # Survival curves: what a Cox model says in months
#
# A hazard ratio says which of two trials is published first, and nothing about months.
# Curves do. This page draws the curve of a whole sample, the curves that a Cox model
# predicts, and the curves of risk groups, which show whether the model holds for rows
# that it has not seen.
#
# The data are the months until 244 clinical trials were published (Gordon and others
# 2013), of which 156 were published within the study. How the three features of the
# model were chosen is the subject of `survival.py`.

# %%
import l0path
import numpy as np
import pandas as pd
from l0path.datasets import load_publication

from common import SHORT, survival_curves

# %%
data = load_publication()
y, X = data.y, data.X.drop(columns="impact")  # which is known after the event only
X = X.assign(log_budget=np.log(X["budget"]), log_sampsize=np.log(X["sampsize"]))
COX = {"loss": "cox", "lambda2": 1e-3, "max_k": 6}

# %% [markdown]
# ## The whole sample
#
# The model without features has the Kaplan-Meier curve: the share of trials not yet
# published. Ticks are censored trials; below stand the numbers of trials at risk. Half
# of the trials are out after two years; one in four takes four years or more.

# %%
ax = l0path.fit(X, y, loss="cox", max_k=0).model(k=0).plot("survival", groups=1)
_ = ax.set(xlabel="months since the end of the trial", ylabel="share not yet published")

# %% [markdown]
# ## Curves for trials that one can imagine
#
# `Model.survival` joins the model with the baseline hazard: a curve for each row of a
# table, or the probabilities at some times.

# %%
repeats = 1 if SHORT else 5
cv = l0path.cv_fit(X, y, **COX, cv=5, n_repeats=repeats, random_state=1)
chosen = cv.model("bic")
names = ["small, negative", "small, positive", "large, positive, clinical"]
cases = pd.DataFrame(0.0, index=names, columns=X.columns)
cases["log_budget"] = np.log([1.5, 1.5, 10.0])
cases["posres"], cases["clinend"] = [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]
survival_curves(chosen.survival(cases))
chosen.survival(cases, times=[12, 24, 48]).round(2)

# %% [markdown]
# ## Does it hold for trials that the model has not seen?
#
# Three groups of equal size, by predictions of the folds that left each trial out. The
# groups part early and stay apart, so the model orders new trials well.

# %%
ax = chosen.plot("survival", risk=cv.held_out(k=chosen.k))

# %% [markdown]
# In numbers, at one, two and four years: the share of rightly ordered pairs (AUC) and
# the Brier score. These two are of the rows of the fit, so they are a little too good.

# %%
chosen.score(X, y, times=[12, 24, 48]).round(3)

# %% [markdown]
# The size was chosen by the same folds. `nested_cv` puts the choice inside: in each
# outer fold the size is chosen anew, and the trials left out are scored once.

# %%
how = {"rule": "1se", "scoring": "concordance", "outer": 5, "cv": 5, "random_state": 1}
nested = l0path.nested_cv(X, y, **COX, **how)
print(f"concordance {nested.mean:.3f} (standard error {nested.se:.3f})")
print(f"sizes chosen: {nested.table.k.tolist()}")

# %% [markdown]
# ## In a pipeline of scikit-learn
#
# `L0SurvivalCV` has the methods of scikit-survival's estimators. With `rule="min"` it
# takes the size of least held-out deviance.

# %%
model = l0path.L0SurvivalCV(max_k=6, lambda2=1e-3, rule="min", random_state=1)
model.fit(X, y)
one = model.predict_survival_function(cases)[2]
print(f"large, positive, clinical: {one(24.0):.2f} still unpublished after two years")
