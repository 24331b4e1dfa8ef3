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
# # Criteria: what a feature is worth, and what each rule charges
#
# A criterion (AIC, BIC and their relatives) chooses the size of a model from its
# training fit. There are many, it is easy to compute all of them, and awkward to
# explain why they differ. This page explains. Its one idea: *every criterion is a price
# per feature, and the data say what each feature is worth*. Criteria disagree because
# they were made for different questions, not because one of them is wrong.

# %%
import l0path
from l0path.datasets import load_diabetes, load_growth, load_hitters, load_srbct

from common import SHORT, choices, fooled_by_screening, gains_and_prices

# %% [markdown]
# ## Prices
#
# A criterion is `-2 loglik` plus a price for each feature, so a feature is bought if it
# lowers `-2 loglik` by more than its price. For `n` rows, `p` features, `d`
# coefficients:
#
# | rule | price of the k-th feature | made for |
# |---|---|---|
# | AIC, Cp | 2 (Cp: in units of the noise variance of the full model) | prediction: the error on new responses at the same rows |
# | AICc | 2 and more, growing with d | the same, when d is not small against n |
# | BIC | log n | finding the true features among *few* candidates |
# | EBIC | log n + 2 log((p - k + 1) / k) | finding them among *many*: it also charges for the search |
# | mBIC | log n + 2 log(p / 4 - 1) | the same, if about four are expected |
# | GIC | log(log n) log p | the same, with p that grows faster than any power of n |
#
# `path.score_table()` has all of them. Three data sets: the salaries of 263 baseball
# players (19 features), the progression of diabetes in 442 patients (64), the growth of
# 72 countries (41). Bars are what a feature is worth, lines what the rules charge.

# %% tags=["thumbnail"]
data = {
    "hitters": load_hitters(),
    "diabetes": load_diabetes(expansion=True),
    "growth": load_growth(),
}
data = {name: (one.X, one.y) for name, one in data.items()}
gains_and_prices({name: l0path.fit(*one, max_k=30) for name, one in data.items()})

# %%
rules = ["aic", "aicc", "bic", "ebic", "gic", "mbic", "cp"]
choices(data, rules, repeats=1 if SHORT else 10)

# %% [markdown]
# Read the bars first. On the first two data sets they fall below every price after a
# handful of features: rules differ by a few features that are worth between 2 and about
# 10 units of `2 loglik`, which is where it is a matter of *purpose* whether to buy.
# (EBIC's price falls with `k`, because there are fewer and fewer further supports of
# the next size; past half of the features it is even below that of BIC.) A rule takes
# the size of least *total*, not the first bar below its line, so a strong late feature
# can pull weaker ones in before it.
#
# Growth is another matter: the bars do not fall. With 72 rows and 41 features,
# *searched* features look valuable for ever, since each is the best of dozens. Prices
# of `log n` were derived for a feature named beforehand. AIC and BIC run far along the
# path there, and EBIC goes with them, because 22 of 41 is where its price has become
# small. Of the criteria only mBIC, whose price does not fall, stops early.
# Cross-validation (the last two columns) does not believe the training fit at all.
#
# ## Features that were screened away still count: `p_total=`
#
# A frequent way to fool oneself: take thousands of features, keep the best by some
# quick look at the response, and let a criterion choose among those. The criterion is
# told of 60 features and charges for 60. Here are the 2308 genes of 83 tumours, and a
# response that is *pure noise*: the right answer is `k = 0`.

# %%
fooled_by_screening(load_srbct().X, repeats=4 if SHORT else 50).round(2)

# %% [markdown]
# Every criterion that was told of 60 features finds something in noise, nearly always.
# With `p_total=` those that charge for the search are told how long the search really
# was, and EBIC and mBIC then find nothing, as they should. AIC and BIC have no such
# argument, because they never charged for a search. Cross-validation on the screened
# features is fooled too: the screening saw the held-out rows. The repair there is to
# give all the features to `cv_fit`; it can take them.
#
# ## What to take along
#
# * Few candidates, many rows: BIC for the features that matter, AICc for something
#   quick that predicts.
# * Many candidates: EBIC or mBIC, with `p_total=` if features were screened. They miss
#   weak features, and are meant to. EBIC's price falls with k, so keep `max_k` well
#   below p.
# * Where rules differ as on growth, from 7 to 26 features, *the data do not determine
#   the size*, and the honest report shows more than one model (`many_good_models.py`).
