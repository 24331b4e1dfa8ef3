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
# # After the selection: what may be said of the features that were chosen
#
# A model was chosen, six features out of sixty. Which of them are real? The table of
# p-values that any regression prints does not answer that: the rows that it is computed
# from have already picked the features that look best on them. This page shows by
# simulation how far off such p-values are, and then p-values that hold, on the diabetes
# data (442 patients, 10 measurements, 64 features with squares and products). Ways that
# need no p-values are the subject of `knockoffs_and_stability.py`.

# %%
import l0path
import numpy as np
import pandas as pd
from l0path.datasets import load_diabetes

from common import SHORT, p_values_of_noise, splitting_intervals

# %% [markdown]
# ## Why p-values after a selection lie
#
# Take a response that has nothing to do with any of 50 features: pure noise. Choose the
# best three features, refit them by least squares, and look at the p-values, once on
# the rows that chose and once on as many fresh rows. `refit` says in its summary which
# of the two it is.

# %%
same, fresh = [], []
for seed in range(60 if SHORT else 300):
    rng = np.random.default_rng(seed)
    X, X_new = rng.standard_normal((2, 100, 50))
    y, y_new = rng.standard_normal((2, 100))
    model = l0path.fit(X, y, max_k=3).model(k=3)
    same.append(model.refit().pvalues.iloc[1:])
    fresh.append(model.refit(X=X_new, y=y_new).pvalues.iloc[1:])
p_values_of_noise(np.concatenate(same), np.concatenate(fresh))
print(model.refit().selection)
print(model.refit(X=X_new, y=y_new).selection)

# %% [markdown]
# On fresh rows p-values of noise are spread evenly, as they must be. On the rows that
# chose, nearly all of them are "significant". Nothing is wrong with the regression; it
# was asked about features that had been picked *because* they do well on these rows.
#
# ## Refit on held-out rows, once and many times
#
# The honest remedy costs rows: choose on one half, test on the other. Here is one split
# by hand.

# %%
data = load_diabetes(expansion=True)
X, y = data.X, data.y
order = np.random.default_rng(0).permutation(len(y))
choose, test = X.index[order[:221]], X.index[order[221:]]
model = l0path.fit(X.loc[choose], y.loc[choose]).model("bic")
held_out, naive = model.refit(X=X.loc[test], y=y.loc[test]), model.refit()
both = pd.DataFrame({"p, held-out": held_out.pvalues, "p, naive": naive.pvalues})
both.iloc[1:7]

# %% [markdown]
# Another split gives another model and other p-values, so the result depends on chance.
# `split_inference` draws many splits and combines them so that the result holds
# whatever the dependence between splits (Meinshausen, Meier and Bühlmann 2009): its
# `p_value` bounds the chance of *any* false finding. The intervals cover one
# coefficient at a time; they are infinite where too few splits chose the feature to say
# anything.

# %%
table = l0path.split_inference(X, y, n_splits=20 if SHORT else 100, random_state=1)
print("mean size of the models chosen:", round(table.attrs["mean_size"], 1))
splitting_intervals(table, X)
table.sort_values("p_value").head(4)

# %% [markdown]
# ## What is what
#
# | | asks | holds if | says nothing of |
# |---|---|---|---|
# | `path.model(k=...).refit()` | how well do these features fit these rows | never as a test: "conditional on selection" | whether a feature is real |
# | `path.model(k=...).refit(X=, y=)` | tests and intervals for one chosen model | the new rows had no part in the choice | features that were not chosen |
# | `split_inference` | p-values for all features, any false finding at most with probability a | the models chosen hold all features with an effect | features rarely chosen |
# | `stability_selection` | what is chosen whatever half of the rows is seen | noise features are exchangeable (for the bound) | single features; a frequency is no probability of being true |
# | `knockoff_filter` | a set with a bounded *share* of false features | normal errors and n >= 2p (fixed), or X from a known normal distribution (model) | single features; another seed gives another set |
#
# For predictions none of this is needed: there `l0path.cv_fit` and `l0path.nested_cv`
# are the tools.
