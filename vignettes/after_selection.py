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
# # After the selection: what may be said of the columns that were chosen
#
# A model was chosen, six columns out of sixty. Which of them are real? The table of
# p-values that any regression prints does not answer that: the rows that it is computed
# from have already picked the columns that look best on them. This page shows by
# simulation how far off such p-values are, and then four ways to say something that
# holds, on the diabetes data (442 patients, 10 measurements, 64 columns with squares
# and products): refits on rows that were held out, many splits combined, stability
# selection, and knockoffs. They promise different things, and none promises everything;
# the last section is a table of what is what.

# %%
import l0path
import numpy as np
import pandas as pd
from l0path.datasets import load_diabetes

from common import (
    SHORT,
    knockoff_rates,
    noise_and_signals,
    p_values_of_noise,
    splitting_intervals,
)

# %% [markdown]
# # Part 1: why p-values after a selection lie
#
# Take a response that has nothing to do with any of 50 columns: pure noise. Choose the
# best three columns, refit them by least squares, and look at the p-values, once on the
# rows that chose and once on as many fresh rows. `refit` says in its summary which of
# the two it is.

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
# was asked about columns that had been picked *because* they do well on these rows.
#
# # Part 2: refit on held-out rows, once and many times
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
pd.DataFrame({"p, held-out": held_out.pvalues, "p, naive": naive.pvalues}).iloc[1:]

# %% [markdown]
# Another split gives another model and other p-values, so the result depends on chance.
# `split_inference` draws many splits and combines them so that the result holds
# whatever the dependence between splits (Meinshausen, Meier and Bühlmann 2009): its
# `p_value` bounds the chance of *any* false finding. The intervals cover one
# coefficient at a time; they are infinite where too few splits chose the column to say
# anything.

# %%
table = l0path.split_inference(X, y, n_splits=20 if SHORT else 100, random_state=1)
print("mean size of the models chosen:", round(table.attrs["mean_size"], 1))
splitting_intervals(table, X)
table.sort_values("p_value").head(4)

# %% [markdown]
# # Part 3: stability selection
#
# A different question: which columns are chosen again and again when the data are
# shaken? Each path is solved on a random half of the patients; halves come in disjoint
# pairs. Without `k` the size is set so that at most one false choice is expected by the
# bound of Meinshausen and Bühlmann; Shah and Samworth's bounds are sharper, for a
# little more assumed about the shape of the frequencies.

# %%
stable = l0path.stability_selection(
    X, y, max_k=12, n_subsamples=40 if SHORT else 200, random_state=1
)
print(stable)
ax = stable.plot("path")

# %% [markdown]
# The picture is worth more than any single number: some columns are in nearly every
# model as soon as there is room for them; most of the others rise slowly, as columns do
# that stand in for one another. The bound belongs to one `k` and one threshold that are
# fixed beforehand. Whoever reads off the best of both from the picture selects again.
# The subsets themselves are counted too:

# %%
stable.subsets.head(4)

# %% [markdown]
# # Part 4: knockoffs
#
# Knockoffs give every column a rival, made without looking at `y`, that is correlated
# with all *other* columns just as the original is. A column without effect beats its
# rival half of the time; so the number of rivals that win clearly tells how many of the
# columns that win clearly did so by luck. First where the truth is known: 20 of 80
# columns have an effect.

# %%
A, b, names = noise_and_signals(n=300, p=80, signals=20, effect=0.45, seed=4)
found = l0path.knockoff_filter(A, b, fdr=0.2, random_state=1)
right = len(names & set(found.selected))
print(f"{right} of 20 true columns, {len(found.selected) - right} false")
ax = found.plot()

# %% [markdown]
# The rate holds on average over data sets, not in each. Over repetitions:

# %%
knockoff_rates(repeats=10 if SHORT else 60, fdr=0.2)

# %% [markdown]
# And on the diabetes data. With few strong columns among 64, the filter often finds
# nothing: to hold a rate of 0.2 at least five columns must be selected at once
# (`plus=True` adds one to the count of rivals). An empty set is an answer, and the
# honest one.

# %%
for level in (0.1, 0.2, 0.3):
    found = l0path.knockoff_filter(X, y, fdr=level, random_state=1)
    print(level, found.selected or "nothing")

# %% [markdown]
# # What is what
#
# | | asks | holds if | says nothing of |
# |---|---|---|---|
# | `path.model(k=...).refit()` | how well do these columns fit these rows | never as a test: "conditional on selection" | whether a column is real |
# | `path.model(k=...).refit(X=, y=)` | tests and intervals for one chosen model | the new rows had no part in the choice | columns that were not chosen |
# | `split_inference` | p-values for all columns, any false finding at most with probability a | the models chosen hold all columns with an effect | columns rarely chosen |
# | `stability_selection` | what is chosen whatever half of the rows is seen | noise columns are exchangeable (for the bound) | single columns; a frequency is no probability of being true |
# | `knockoff_filter` | a set with a bounded *share* of false columns | normal errors and n >= 2p (fixed), or X from a known normal distribution (model) | single columns; another seed gives another set |
#
# For predictions none of this is needed: there `l0path.cv_fit` and `l0path.nested_cv`
# are the tools.
