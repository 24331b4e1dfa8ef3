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
# # Choosing the size by cross-validation
#
# A path gives one model for every size `k`. Which `k`? **Cross-validation** leaves rows
# out, fits on the rest, and looks at how well the rows left out are predicted. This
# page shows how to do it, what chance has to do with the answer, and how good the
# chosen model really is. A **criterion** (AIC, BIC and their relatives) answers from
# the training fit alone: see `criteria.py`.

# %%
import l0path
from l0path.datasets import load_diabetes, load_growth, load_hitters

from common import SHORT, cuts_and_choices, inner_and_nested, nested_errors

# %% [markdown]
# ## One cut into folds
#
# 442 diabetes patients, ten measurements with their squares and products: 64 features.
# `cv_fit` fits the path on all rows and once in every fold; standardization, search and
# everything else see the training rows of the fold only.

# %%
diabetes = load_diabetes(expansion=True)
X, y = diabetes.X, diabetes.y
cv = l0path.cv_fit(X, y, max_k=30, cv=10, random_state=1, lambda2=0)
ax = cv.plot()
print({rule: cv.model(rule).k for rule in ("min", "1se")})

# %% [markdown]
# `"min"` is the model of least held-out error. `"1se"` is the smallest model whose
# error is within one standard error of it: if the curve cannot tell two sizes apart,
# take the simpler.
#
# ## The folds are random, and so is the choice
#
# Another `random_state` cuts the rows into other folds. The same data, the same paths,
# only the cut differs:

# %%
folds = {"max_k": 30, "cv": 10, "lambda2": 0}
seeds, many = range(6 if SHORT else 60), 3 if SHORT else 20
single = [l0path.cv_fit(X, y, **folds, random_state=seed) for seed in seeds]
repeated = l0path.cv_fit(X, y, **folds, n_repeats=many, random_state=1000)
cuts_and_choices(single, repeated)
for rule in ("min", "1se"):
    k = [cut.model(rule).k for cut in single]
    print(f"{rule}: one cut chooses k = {min(k)} to {max(k)},", end=" ")
    print(f"many cuts k = {repeated.model(rule).k}")

# %% [markdown]
# Two sizes compete here, 7 and 11, and the cut decides between them: our first one
# happened to be among the minority that says 7. `n_repeats=` averages over cuts and
# takes this noise away. It costs as many times more, and is worth it where the choice
# is to be reported. What it does not take away is that these are the same 442 patients
# every time. So the standard error is taken within each repeat and averaged: it does
# not shrink with repeats, and "1se" still means "within what the data can tell".
#
# ## The honest error: nested cross-validation
#
# `cv_mean` of the chosen model was the smallest of many numbers, so it is too small:
# the winner of a contest is lucky as well as good. `nested_cv` puts the choice itself
# to the test: in each outer fold, cross-validation chooses a size on the training rows
# alone, and the chosen model is scored on rows that neither the fit nor the choice has
# seen. Here for three data sets: 263 baseball players and 19 features, the diabetes
# patients, and the growth of 72 countries with 41 features.

# %%
data = {"hitters": load_hitters(), "diabetes": diabetes, "growth": load_growth()}
data = {name: (one.X, one.y) for name, one in data.items()}
folds = {"outer": 5, "cv": 5} if SHORT else {"outer": 10, "cv": 10, "n_repeats": 3}
honest = nested_errors(data, ("min", "1se"), **folds)
inner_and_nested(honest)
honest.round(3)

# %% [markdown]
# The larger the search for the number of rows, the longer the line. With hundreds of
# rows the winner's own score is 3 to 10 % too good, which rarely matters. On growth it
# is half of the truth, and the sizes chosen in the outer folds, in the column `k` of
# the table, say the same in another way: 72 rows do not determine the size. A nested
# error is that of the *procedure*, not of the one model that you will report; it is the
# number to put beside it.
#
# ## What to take along
#
# * For good predictions take `"min"`, with `n_repeats=` if you publish the size, and
#   report the nested error beside it; for a short list take `"1se"`.
# * Where rows belong together (persons, schools, sites), leave whole groups out:
#   `several_rows_of_one_person.py`.
# * Which rule predicts best on new rows is measured in `rules_compared.py`.
