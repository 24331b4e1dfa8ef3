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
# # Several rows of one person
#
# Eight wages of one man are not the wages of eight men. Where rows come in persons,
# schools or sites, the search stays as it is, but two things change: how new data are
# imitated by folds, and how much the rows say. This page shows both, first where the
# truth is known, then on the wages of 545 men.

# %%
import l0path
import numpy as np
import pandas as pd
from l0path.datasets import load_wages

from common import (
    SHORT,
    distribution_of_p_values,
    p_values_of_traits,
    persons,
    ratios_of_errors,
    split_by_persons,
    two_kinds_of_folds,
)

# %% [markdown]
# # Part 1: traits without any effect
#
# Forty persons are observed ten times each. Every person has a level of their own, and
# thirty traits that they keep: blood group, height, schooling. *No trait has an
# effect.* One column that changes from row to row, the dose, has one.

# %%
X, y, person = persons(np.random.default_rng(0))
by_rows = l0path.cv_fit(X, y, cv=10, random_state=1, lambda2=0)
by_persons = l0path.cv_fit(X, y, cv=10, groups_cv=person, random_state=1, lambda2=0)
two_kinds_of_folds(by_rows, by_persons)
print(f"folds of rows:    {by_rows.model('min').k} columns at the least error")
print(f"folds of persons: {by_persons.model('min').k} columns at the least error")

# %% [markdown]
# Folds of rows leave out some rows of every person. The thirty traits are as good as a
# name tag: they tell the model who it is, and it recalls the level of that person from
# the other rows. So the error falls and falls, and it is right, for *another row of the
# same persons*. For a new person it is the blue curve that counts: nothing helps but
# the dose. `groups_cv=` names the persons, and all rows of one are left out together.
#
# # Part 2: how much do rows say?
#
# The second error is that of the standard error. A trait that was named beforehand,
# without a look at the response, is tested as if all rows were independent, and again
# with the persons as clusters. Then the trait that fits best of ten is tested, with
# clusters.

# %%
p_values = p_values_of_traits(repeats=40 if SHORT else 200)
distribution_of_p_values(p_values)
(p_values < 0.05).mean().to_frame("share below 0.05")

# %% [markdown]
# A p-value of a column without effect is below 0.05 in 5 % of all cases, if it is
# honest (the grey line). By rows it is below in more than four of ten cases. Clusters
# mend that, up to a little because forty are few, but they do not mend the choice: the
# best of ten traits is "significant" in most cases again. Both corrections are needed.
#
# # Part 3: wages
#
# 545 men, eight years each (Vella and Verbeek, Journal of Applied Econometrics 13,
# 1998). The index of the table is the man.

# %%
data = load_wages()
wages = data.X.assign(log_wage=data.y, black=data.X.black.astype(int))
man = wages.index.to_numpy()
terms = "education + bs(experience, df=4) + np.log(hours) + black + hispanic"
formula = f"log_wage ~ {terms} + married + union + C(occupation) + C(year)"
cv = l0path.cv_fit(formula, wages, cv=10, groups_cv=man, random_state=1, lambda2=0)
cv.scores[["k", "cv_mean", "cv_se"]].assign(terms=cv.table.features)

# %% [markdown]
# The choice by folds of men, and what a man adds to the standard errors:

# %%
model = cv.model("1se")
rows, men = model.refit(), model.refit(cov_type="cluster", cov_kwds={"groups": man})
ratios_of_errors((men.bse / rows.bse).drop("(Intercept)"))

# %% [markdown]
# Schooling stays what it is for a man, so 4360 rows say about it what 545 men say: the
# standard error is nearly twice as large. Columns that change over the years lose less.
#
# These men have also chosen the model. For p-values that hold, half of the men choose
# and the other half test, by clusters. (`split_inference` splits rows; for men the few
# lines below do it, and the median over splits, doubled, is a valid p-value:
# Meinshausen, Meier and Buhlmann 2009 with gamma = 1/2, here with the number of tested
# columns as the correction.)

# %%
numbers = data.X.drop(columns="occupation").assign(experience_2=wages.experience**2)
whole = l0path.fit(numbers, data.y).model("bic").refit()
honest = split_by_persons(numbers, data.y, man, n_splits=10 if SHORT else 50)
pd.DataFrame({"p by rows, same men": whole.pvalues, "p by men, split": honest})

# %% [markdown]
# Schooling, union membership and, less surely, marriage stand; a column that fewer than
# half of the splits choose has the p-value 1. That says how little 272 men can tell
# about it, not that it has no effect.
#
# # What to take
#
# | question | answer |
# |---|---|
# | How well are *new persons* predicted? | `cv_fit(..., groups_cv=person)`, also in `nested_cv` |
# | How well are new rows of *these* persons predicted? | folds of rows; then think of a model with a level for each person |
# | Standard errors of a model fixed beforehand | `refit(cov_type="cluster", cov_kwds={"groups": person})` |
# | p-values after a choice | split persons, not rows, and cluster the half that tests |
#
# A model with random levels for persons would use the rows better. It is not searched
# here; the columns that are found can be given to `statsmodels`' `MixedLM`.
# `docs/choosing.md` has the folds, `docs/inference.md` the ways after the selection.
