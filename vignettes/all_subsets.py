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
# # Is this the best subset? All subsets of a small data set
#
# With twenty features there are a million models, and somebody has to choose one.
# Stepwise selection looks at a few hundred of them. Leaps and bounds looks at a few
# hundred, too, and *proves* that none of the others is better. For data sets of this
# size the proof costs milliseconds, so there is no reason to do without it. This page
# is for those who use `leaps`, `bestglm`, `lmSubsets` or `stepAIC` in R.
#
# The data: the salaries of 263 baseball players in 1987 and 19 features on their
# careers.

# %%
import l0path

from common import backward, forward, stepwise_excess

# %%
hitters = l0path.datasets.load_hitters()
X, y = hitters.X, hitters.y

# %% [markdown]
# ## The best model of every size
#
# Nothing has to be asked for: where a proof is cheap, `fit` makes it.

# %%
path = l0path.fit(X, y)
proven = (path.details.optimality == "global").sum()
print(f"{proven} of {len(path)} models are proven, of {2**19} that there are")
path.details[["k", "objective", "lower_bound", "optimality", "features"]].iloc[6:9]

# %% [markdown]
# `global` means: no other model of this many features has a smaller sum of squares. The
# R package `leaps` finds the same models. Its command and its sums of squares for k =
# 1, ..., 8 are
#
# ```r
# r <- regsubsets(Salary ~ ., Hitters, nvmax = 19); summary(r)$rss
# ## 36179679 30646560 29249297 27970852 27149899 26194904 25906548 25136930
# ```

# %%
rss = 2 * len(y) * path.details.objective.to_numpy()
print(rss[1:9].round())

# %% [markdown]
# ## Where stepwise selection goes wrong
#
# Forward selection adds the feature that helps most, and never takes it back. Backward
# elimination leaves out the feature that is missed least. How far are they from the
# best models?

# %%
stepwise_excess(rss, forward(X, y), backward(X, y))

# %% [markdown]
# Forward selection misses the best models of 7 and 8 features, backward elimination
# those of most small sizes. (The best model of seven features does not contain that of
# six: no method that goes one feature at a time can find both.)
#
# ## The best model of all
#
# Which size? A criterion compares models of different sizes, and then the best models
# over *all* sizes can be proved at once. Sizes that cannot win are never searched.

# %%
best = l0path.best_subset(X, y, criterion="bic", n_best=5)
best

# %% [markdown]
# What R's `step` says on the same data with the same criterion (`k = log(n)`; R counts
# the variance as a parameter, which adds 5.57 to every model):
#
# | in R | BIC | less 5.57 | features |
# |---|---|---|---|
# | `step(lm(Salary ~ 1, d), scope = ..., direction = "both", k = log(n))` | 3817.79 | 3812.21 | 6: the best model |
# | `step(lm(Salary ~ ., d), k = log(n))` | 3818.32 | 3812.75 | 8: the third best |
#
# Starting from the full model, `step` ends in another place than starting from the
# empty one, and does not say which of the two is better, nor that there is a third
# model between them. The table above does. It also says something that no single model
# can: the first three differ by half a unit of BIC, which is next to nothing. What to
# do then is the subject of `many_good_models.py`.
#
# ## What to take away
#
# * Up to some fifty features the proof is free under a squared loss where some features
#   clearly matter; where none does, it may cover a part of the sizes (a third of them
#   for 150 rows and 45 features of noise). Look at the column `optimality`, and at
#   `path.notes`, which says where the search ended early.
# * `best_subset(..., criterion=, n_best=)` proves the best models over all sizes: least
#   squares up to a hundred features and more, other likelihoods up to twenty or thirty
#   (`all_subsets_of_terms.py` has factors, interactions and classes).
# * The proof is about the data at hand. It removes the doubt whether the *search* was
#   good enough. Whether the chosen features would be chosen again on new data is
#   another question: see `after_selection.py`.
