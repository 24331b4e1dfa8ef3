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
# # Choosing the size: cross-validation, criteria, and where they disagree
#
# A path gives one model for every size `k`. Which `k`? There are two ways to answer.
# **Cross-validation** leaves rows out, fits on the rest, and looks at how well the rows
# left out are predicted. A **criterion** (AIC, BIC and their relatives) looks at the
# training fit alone, and charges a price for each column. Both are one call, so it is
# easy to compute all of them and awkward to explain why they differ.
#
# This page explains. Its one idea: *every rule is a price per column, and the data say
# what each column is worth*. Where the two curves cross is the choice. Rules disagree
# because they were made for different questions, not because one of them is wrong.

# %%
import l0path
from l0path.datasets import load_diabetes, load_growth, load_hitters, load_srbct

from common import (
    SHORT,
    choices,
    cuts_and_choices,
    errors_of_rules,
    fooled_by_screening,
    gains_and_prices,
    inner_and_nested,
    nested_errors,
    test_errors,
)

# %% [markdown]
# # Part 1: cross-validation
#
# 442 diabetes patients, ten measurements with their squares and products: 64 columns.
# `cv_fit` fits the path on all rows and once in every fold; standardization, search and
# everything else see the training rows of the fold only.

# %%
diabetes = load_diabetes(expansion=True)
X, y = diabetes.X, diabetes.y
cv = l0path.cv_fit(X, y, max_k=30, cv=10, random_state=1, lambda2=0)
ax = cv.plot()

# %%
for rule in ("min", "1se"):
    print(f"{rule}: {cv.model(rule)}")

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
folds = {"max_k": 30, "cv": 10}
single = [
    l0path.cv_fit(X, y, **folds, random_state=s, lambda2=0)
    for s in range(6 if SHORT else 60)
]
many = 3 if SHORT else 20
repeated = l0path.cv_fit(X, y, **folds, n_repeats=many, random_state=1000, lambda2=0)
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
# # Part 2: criteria, as prices
#
# A criterion is `-2 loglik` plus a price for each column. So a column is bought if it
# lowers `-2 loglik` by more than the price. Prices per column, `n` rows, `p` columns,
# `d` coefficients:
#
# | rule | price of the k-th column | made for |
# |---|---|---|
# | AIC, Cp | 2 (Cp: in units of the noise variance of the full model) | prediction: the error on new responses at the same rows |
# | AICc | 2 and more, growing with d | the same, when d is not small against n |
# | BIC | log n | finding the true columns among *few* candidates |
# | EBIC | log n + 2 log((p - k + 1) / k) | finding them among *many*: it also charges for the search |
# | mBIC | log n + 2 log(p / 4 - 1) | the same, if about four are expected |
# | GIC | log(log n) log p | the same, with p that grows faster than any power of n |
#
# `path.score_table()` has all of them. For each size, what is the column worth, and
# what would each rule charge?

# %%
rules = ["aic", "aicc", "bic", "ebic", "gic", "mbic", "cp"]
cv.score_table().loc[:6, ["loglik", "df", *rules]].round(1)

# %%
hitters, growth = load_hitters(), load_growth()
data = {
    "hitters": (hitters.X, hitters.y),
    "diabetes": (X, y),
    "growth": (growth.X, growth.y),
}
gains_and_prices({name: l0path.fit(*one, max_k=30) for name, one in data.items()})

# %%
choices(data, rules, repeats=1 if SHORT else 10)

# %% [markdown]
# Read the bars first. On the first data sets they fall below every price after a
# handful of columns: rules differ by a few columns that are worth between 2 and about
# 10 units of `2 loglik`, which is where it is a matter of *purpose* whether to buy.
# (EBIC's price falls with `k`, because there are fewer and fewer further supports of
# the next size; past half of the columns it is even below that of BIC.) A rule takes
# the size of least *total*, not the first bar below its line, so a strong late column
# can pull weaker ones in before it.
#
# Growth is another matter: the bars do not fall. With 72 rows and 41 columns,
# *searched* columns look valuable for ever, since each is the best of dozens. Prices of
# `log n` were derived for a column named beforehand. AIC and BIC run far along the path
# there, and EBIC goes with them, because 22 of 41 is where its price has become small.
# Of the criteria only mBIC, whose price does not fall, stops early. Cross-validation,
# which does not believe the training fit at all, has its turn in the last two parts.
#
# # Part 3: columns that were screened away still count: `p_total=`
#
# A frequent way to fool oneself: take thousands of columns, keep the best by some quick
# look at the response, and let a criterion choose among those. The criterion is told of
# 60 columns and charges for 60. Here are the 2308 genes of 83 tumours, and a response
# that is *pure noise*: the right answer is `k = 0`.

# %%
fooled_by_screening(load_srbct().X, repeats=4 if SHORT else 50).round(2)

# %% [markdown]
# Every criterion that was told of 60 columns finds something in noise, nearly always.
# With `p_total=` those that charge for the search are told how long the search really
# was, and EBIC and mBIC then find nothing, as they should. AIC and BIC have no such
# argument, because they never charged for a search. Cross-validation on the screened
# columns is fooled too, less often than the criteria: the screening saw the held-out
# rows, so the folds are no fair judges of it. The repair there is to have the screening
# *inside* the fold, which here means: give all the columns to `cv_fit`; it can take
# them.
#
# # Part 4: the honest error: nested cross-validation
#
# `cv_mean` of the chosen model was the smallest of many numbers, so it is too small:
# the winner of a contest is lucky as well as good. `nested_cv` puts the choice itself
# to the test: in each outer fold, cross-validation chooses a size on the training rows
# alone, and the chosen model is scored on rows that neither the fit nor the choice has
# seen.

# %%
folds = {"outer": 5, "cv": 5} if SHORT else {"outer": 10, "cv": 10, "n_repeats": 3}
honest = nested_errors(data, ("min", "1se", "bic"), **folds)
inner_and_nested(honest)
honest.round(3)

# %% [markdown]
# The larger the search for the number of rows, the longer the line. With hundreds of
# rows the winner's own score is 3 to 10 % too good, which rarely matters. On growth it
# is half of the truth, and the sizes chosen in the outer folds, in the column `k` of
# the table, say the same in another way: the size is not determined by 72 rows. A
# nested error is that of the *procedure*, not of the one model you will report; it is
# the number to put beside it.
#
# # Part 5: which rule predicts best?
#
# Two thirds of the rows to choose and fit, one third to judge, many times over, on the
# same splits for every rule.

# %%
fair = ["aic", "aicc", "bic", "ebic", "mbic", "CV min", "CV 1se", "largest k"]
results = test_errors(data, fair, splits=3 if SHORT else 40)
errors_of_rules(results)
results.pivot_table(
    index="rule", columns="data", values="error", aggfunc="median", sort=False
).round(3)

# %% [markdown]
# No rule wins everywhere. Where columns are few and rows many (hitters), buying too
# much costs next to nothing and stopping early costs something: AIC, AICc, even all
# columns predict best. With 64 columns and 442 rows, prices near `log n` and
# cross-validation are ahead, and taking everything is worst. On growth any rule that
# goes on adding columns is a disaster on some of the splits, and the rules that stop
# early are ahead.
#
# # What to do with this
#
# | you want | take | and know |
# |---|---|---|
# | good predictions | cross-validation, `"min"`, with `n_repeats=` if you publish the size | never far behind above, not always first; report the nested error beside it |
# | the same from a short list | `"1se"`, one cut | it gave something away on hitters, and was among the best on growth |
# | something quick, few columns and hundreds of rows | AICc | it does not charge for the search, so not with dozens of columns |
# | the columns that matter, few candidates, many rows | BIC | it trusts the training fit: on few rows it goes on buying |
# | the same with many candidates | EBIC or mBIC, `p_total=` if columns were screened | they miss weak columns, and are meant to; EBIC's price falls with k, so keep `max_k` well below p |
#
# And a warning that no rule repairs. Where rules agree, the data determine the size
# well. Where they differ as on growth, from 7 to 26 columns, *the data do not determine
# the size*, and the honest report shows more than one model.
