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
# # Weights at birth: from a question to a paragraph
#
# How does smoking during pregnancy go with the weight of the child, and does it matter
# for whom? A small data set with factors, and the way to a paragraph that one can
# print: the terms, all subsets of them, p-values that hold although the terms were
# chosen. Interactions are the subject of `products_and_terms.py`.

# %%
import l0path
from statsmodels.stats.anova import anova_lm

from common import (
    SHORT,
    births_with_factors,
    intervals_both_ways,
    weights_by_factor,
)

# %% [markdown]
# ## The data
#
# 1387 births in the United States (Mullahy, Review of Economics and Statistics 79,
# 1997), the weight in ounces; 16 ounces are 454 grams. Cigarettes per day, years of
# school and the birth order become factors, because nobody knows that their effects are
# straight lines. Factors are coded against their first level, so the first level is
# chosen with care: no cigarettes, twelve years of school, the first child.

# %%
births = births_with_factors()
weights_by_factor(births)

# %% [markdown]
# Children of smokers are lighter in every group. The lines are not quite parallel, and
# with that many groups some would not be even if nothing but chance were at work.
#
# ## All subsets of the terms
#
# Six terms have 64 subsets. The path has the best one of each size and says so:
# `global` means that all others of that size were compared or refuted. A factor enters
# as a whole, so `k` counts terms.

# %%
TERMS = ["smoking", "school", "birth", "sex", "ethnicity", "log_income"]
path = l0path.fit(f"weight ~ {' + '.join(TERMS)}", births)
scores = path.score_table()[["bic", "aic"]]
path.table[["deviance_ratio", "optimality", "features"]].join(scores - scores.min())

# %% [markdown]
# BIC takes two terms, AIC five: the columns `bic` and `aic` are the difference from the
# best model. What could stand in for a term? `alternatives` exchanges one for another;
# `relative` is the rise of the residual sum of squares, and `of_gain` the same as a
# share of what the two terms explain.

# %%
model = path.model(k=2)
near = model.alternatives().head(4)
gain = model.deviance_ratio / (1 - model.deviance_ratio)
near[["dropped", "added", "relative"]].assign(of_gain=near.relative / gain)

# %% [markdown]
# The two terms explain 4 % of the variance. A stand-in for ethnicity costs an eighth of
# that, one for smoking far more: weights of children vary for many reasons that are not
# in the table, so even the best model is short of most of them.
#
# ## p-values that hold
#
# The model with the five terms of AIC, in the usual table of an analysis of variance.
# All its p-values are small, and too small: the rows have also chosen the terms.

# %%
results = path.model(k=5).refit()
anova_lm(results, typ=2)

# %% [markdown]
# Splitting does without this: half of the births choose the terms, the others test
# them, many times over. The same five terms are asked for.

# %%
how = {"k": 5, "n_splits": 20 if SHORT else 100, "random_state": 1}
split = l0path.split_inference(f"weight ~ {' + '.join(TERMS)}", births, **how)
intervals_both_ways(results, split)
split.assign(naive=results.pvalues)[["selected", "naive", "p_value"]].dropna().round(4)

# %% [markdown]
# More than ten cigarettes a day, and ethnicity, are sure. The birth order, the sex of
# the child and fewer cigarettes look sure in the naive table and are not by splitting,
# which uses only half of the births to test. Later children and boys *are* heavier, as
# larger studies know. So a large honest p-value is no proof of no effect, and a small
# naive one is no proof of one.
#
# ## The paragraph
#
# > Birth weight was modelled by least squares on six candidate terms (cigarettes per
# > day in three classes, education of the mother in four, birth order in three, sex,
# > ethnicity, logarithm of the family income). All subsets of the terms were compared
# > (l0path), and the best of every size was proven to be so. BIC chose two terms
# > (smoking, ethnicity), AIC five; we report the latter. Products of two terms were
# > searched beside the six terms, with the terms that they contain; none was kept by
# > AIC or BIC, nor by ten-fold cross-validation. P-values and intervals are from 100
# > random splits into halves that choose and halves that test (Meinshausen, Meier and
# > Buhlmann 2009), because those of a refit on the same births ignore the selection.
# > Children of mothers who smoked more than ten cigarettes a day were lighter by some
# > eleven ounces (310 grams) than those of non-smokers. The data are observational:
# > smokers differ from others in more than these terms.
#
# The last sentence is the one that no table gives. `docs/inference.md` compares the
# ways to honest numbers, and the page on tasks "A paper to write" has the words for
# other results.
