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
# # Several rows of one person: which new data?
#
# Eight wages of one man are not the wages of eight men. Where rows come in persons,
# schools or sites, the search stays as it is, but folds must imitate the new data: new
# rows of the same persons, or new persons? This page shows what goes wrong where the
# truth is known, then chooses a model of wages for new men. What such rows say about
# standard errors and p-values is the subject of `standard_errors_by_person.py`.

# %%
import l0path
import numpy as np
from l0path.datasets import load_wages

from common import persons, two_kinds_of_folds, wages_by_year

# %% [markdown]
# ## Traits without any effect
#
# Forty persons are observed ten times each. Every person has a level of their own, and
# thirty traits that they keep: blood group, height, schooling. *No trait has an
# effect.* One feature that changes from row to row, the dose, has one.

# %%
X, y, person = persons(np.random.default_rng(0))
by_rows = l0path.cv_fit(X, y, cv=10, random_state=1, lambda2=0)
by_persons = l0path.cv_fit(X, y, cv=10, groups_cv=person, random_state=1, lambda2=0)
two_kinds_of_folds(by_rows, by_persons)
print(f"folds of rows:    {by_rows.model('min').k} features at the least error")
print(f"folds of persons: {by_persons.model('min').k} features at the least error")

# %% [markdown]
# Folds of rows leave out some rows of every person. The thirty traits are as good as a
# name tag: they tell the model who it is, and it recalls the level of that person from
# the other rows. So the error falls and falls, and it is right, for *another row of the
# same persons*. For a new person the right panel counts: nothing helps but the dose.
# `groups_cv=` names the persons, and all rows of one are left out together.
#
# ## Wages
#
# 545 men, eight years each (Vella and Verbeek, Journal of Applied Econometrics 13,
# 1998). The index of the table is the man. Each line is a man; men differ more than
# years do.

# %%
data = load_wages()
wages = data.X.assign(log_wage=data.y, black=data.X.black.astype(int))
man = wages.index.to_numpy()
wages_by_year(wages)

# %% [markdown]
# The best set of terms of every size, for men that the fit has not seen:

# %%
terms = "education + bs(experience, df=4) + np.log(hours) + black + hispanic"
formula = f"log_wage ~ {terms} + married + union + C(occupation) + C(year)"
cv = l0path.cv_fit(formula, wages, cv=10, groups_cv=man, random_state=1, lambda2=0)
cv.scores[["k", "cv_mean", "cv_se"]].assign(terms=cv.table.features).head(7)

# %%
print(" + ".join(cv.model("1se").groups))

# %% [markdown]
# ## What to take along
#
# * How well are *new persons* predicted? `cv_fit(..., groups_cv=person)`, also in
#   `nested_cv`.
# * How well are new rows of *these* persons predicted? Folds of rows; then think of a
#   model with a level for each person. It is not searched here; the features that are
#   found can be given to `statsmodels`' `MixedLM`.
# * `docs/choosing.md` has the folds.
