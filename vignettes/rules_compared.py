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
# # Which rule predicts best?
#
# A size can be chosen by cross-validation (`choosing_k.py`) or by a criterion
# (`criteria.py`). Which choice predicts new rows best? This page lets the rules play
# against each other on rows that none of them has seen. No rule wins everywhere, but
# there is a pattern: the more candidates there are for the number of rows, the dearer a
# feature has to be.

# %%
from l0path.datasets import load_diabetes, load_growth, load_hitters

from common import SHORT, errors_of_rules, test_errors

# %% [markdown]
# Three data sets: the salaries of 263 baseball players (19 features), the progression
# of diabetes in 442 patients (ten measurements, their squares and products: 64
# features), and the growth of 72 countries (41 features). Two thirds of the rows choose
# and fit, one third judges, many times over, on the same splits for every rule.
# `"largest k"` takes the last model of the path.

# %%
data = {
    "hitters": load_hitters(),
    "diabetes": load_diabetes(expansion=True),
    "growth": load_growth(),
}
data = {name: (one.X, one.y) for name, one in data.items()}
rules = ["aic", "aicc", "bic", "ebic", "mbic", "CV min", "CV 1se", "largest k"]
results = test_errors(data, rules, splits=3 if SHORT else 40)
errors_of_rules(results)

# %% [markdown]
# The median of the test errors, as a share of the variance of the response:

# %%
median = {"index": "rule", "columns": "data", "aggfunc": "median", "sort": False}
results.pivot_table(values="error", **median).round(3)

# %% [markdown]
# Where features are few and rows many (hitters), buying too much costs next to nothing
# and stopping early costs something: AIC, AICc, even all features predict best. With 64
# features and 442 rows, prices near `log n` and cross-validation are ahead, and taking
# everything is worst. On growth any rule that goes on adding features is a disaster on
# some of the splits, and the rules that stop early are ahead.
#
# ## What to do with this
#
# | you want | take | and know |
# |---|---|---|
# | good predictions | cross-validation, `"min"`, with `n_repeats=` if you publish the size | never far behind above, not always first; report the nested error beside it |
# | the same from a short list | `"1se"`, one cut | it gave something away on hitters, and was among the best on growth |
# | something quick, few features and hundreds of rows | AICc | it does not charge for the search, so not with dozens of features |
# | the features that matter, few candidates, many rows | BIC | it trusts the training fit: on few rows it goes on buying |
# | the same with many candidates | EBIC or mBIC, `p_total=` if features were screened | they miss weak features, and are meant to; EBIC's price falls with k, so keep `max_k` well below p |
#
# And a warning that no rule repairs. Where rules agree, the data determine the size
# well. Where they differ as on growth, *the data do not determine the size*, and the
# honest report shows more than one model.
