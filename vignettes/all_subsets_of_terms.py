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
# # All subsets of terms: factors and interactions
#
# A factor of several levels is one decision, not several, and an interaction means
# something only beside the terms that it contains. The best subset is then a set of
# *terms*. This page finds the best sets of every size with a proof, for least squares
# and for two classes. Proofs for single features are the subject of `all_subsets.py`;
# the data are the same, the salaries of 263 baseball players.

# %%
import l0path
import numpy as np
import pandas as pd

from common import slopes_by_career

# %%
data = l0path.datasets.load_hitters()
career = pd.cut(data.X.Years, [0, 3, 6, 10, 30], labels=["1-3", "4-6", "7-10", "11+"])
division = np.where(data.X.Division_W == 1, "W", "E")
table = data.X.assign(Salary=data.y, Career=career, Division=division)

# %% [markdown]
# ## The question
#
# What are a hit and a run worth? It depends on the years in the league, here a factor
# of four levels. Each panel has a line for each level:

# %% tags=["thumbnail"]
slopes_by_career(table)

# %% [markdown]
# The slopes differ, so the interactions of `Career` are candidates, beside terms that
# may do as well.
#
# ## Sets of terms
#
# With a formula every term is a unit: all columns of a factor are in, or none. The
# proof is then about sets of terms, and `fit` makes it by itself.

# %%
terms = "Career * (Hits + Walks + CRBI) + Division + PutOuts + Assists + Errors + AtBat"
path = l0path.fit(f"Salary ~ {terms}", data=table)
path.table[["k", "n_features", "deviance_ratio", "optimality", "features"]].head(7)

# %% [markdown]
# An interaction of `Career` is in every best model from k = 3 on. `k` counts terms, and
# `n_features` their coefficients. An interaction with a factor enters only with the
# terms that it contains, for without them the model would depend on which level happens
# to be the first one. The search keeps this hierarchy, and the proofs are among the
# models that keep it; `heredity=None` lets interactions in alone.
#
# How many terms? A criterion charges for each coefficient, so a factor must pay for all
# of its levels:

# %%
ax = path.plot("criteria")
print("BIC:", " + ".join(path.model("bic").groups))

# %% [markdown]
# ## Two classes
#
# The same works for every smooth likelihood with more rows than features. Bounds then
# come from fits instead of sums of squares, so a proof takes some hundred fits.
# (`bestglm` in R calls `leaps` for least squares; for other families it fits all
# subsets, at most 2^15 of them.) Who earns more than the median?

# %%
rich = (data.y > data.y.median()).astype(int)
l0path.best_subset(data.X, rich, loss="logistic", criterion="aic", n_best=5)

# %% [markdown]
# ## What to take along
#
# * Write factors and interactions as a formula: terms come in whole, and products only
#   beside what they contain.
# * `optimality` says `global` where the set of terms is proven to be the best of its
#   size, as it does for single features.
# * Beyond least squares ask `best_subset(..., loss=, criterion=)`, up to twenty or
#   thirty features.
