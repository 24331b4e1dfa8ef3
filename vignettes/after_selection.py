# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # After the selection: what may be said of the columns that were chosen
#
# A model was chosen, six columns out of sixty. Which of them are real? The table of p-values that any regression prints does not answer that: the rows that it is computed from have already picked the columns that look best on them.
# This page shows by simulation how far off such p-values are, and then four ways to say something that holds, on the diabetes data (442 patients, 10 measurements, 64 columns with squares and products): refits on rows
# that were held out, many splits combined, stability selection, and knockoffs. They promise different things, and none promises everything; the last section is a table of what is what.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from l0path.datasets import load_diabetes

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer repetitions, the same cells
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 4)
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6b6b6b"


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# # Part 1: why p-values after a selection lie
#
# Take a response that has nothing to do with any of 50 columns: pure noise. Choose the best three columns, refit them by least squares, and look at the p-values, once on the rows that chose and once on as many fresh rows.
# `refit` says in its summary which of the two it is.

# %%
repeats = 60 if SHORT else 300
same, fresh = [], []
for seed in range(repeats):
    rng = np.random.default_rng(seed)
    X, y, X_new, y_new = rng.standard_normal((100, 50)), rng.standard_normal(100), rng.standard_normal((100, 50)), rng.standard_normal(100)
    path = l0path.fit(X, y, max_k=3)
    same.append(path.model(k=3).refit().pvalues.iloc[1:])
    fresh.append(path.model(k=3).refit(X=X_new, y=y_new).pvalues.iloc[1:])
print(path.model(k=3).refit().selection)
print(path.model(k=3).refit(X=X_new, y=y_new).selection)
same, fresh = np.concatenate(same), np.concatenate(fresh)

# %%
fig, ax = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
bins = np.linspace(0, 1, 21)
ax.hist(same, bins, color=ORANGE, label=f"rows that chose: {np.mean(same < 0.05):.0%} below 0.05")
ax.hist(fresh, bins, histtype="step", color=BLUE, linewidth=2, label=f"fresh rows: {np.mean(fresh < 0.05):.0%} below 0.05")
plain(ax, xlabel="p-value of a chosen column; no column has an effect", ylabel="count")
ax.legend(frameon=False);

# %% [markdown]
# On fresh rows p-values of noise are spread evenly, as they must be. On the rows that chose, nearly all of them are "significant". Nothing is wrong with the regression; it was asked about columns that had been picked *because* they do well
# on these rows.
#
# # Part 2: refit on held-out rows, once and many times
#
# The honest remedy costs rows: choose on one half, test on the other. Here is one split by hand.

# %%
data = load_diabetes(expansion=True)
X, y = data.X, data.y
order = np.random.default_rng(0).permutation(len(y))
choose, test = X.index[order[:221]], X.index[order[221:]]
half = l0path.fit(X.loc[choose], y.loc[choose])
held_out = half.model("bic").refit(X=X.loc[test], y=y.loc[test])
naive = half.model("bic").refit()
pd.DataFrame({"coefficient": held_out.params, "p, held-out rows": held_out.pvalues, "p, rows that chose": naive.pvalues}).iloc[1:]

# %% [markdown]
# Another split gives another model and other p-values, so the result depends on chance. `split_inference` draws many splits and combines them so that the result holds whatever the dependence between splits (Meinshausen, Meier and Bühlmann 2009): its
# `p_value` bounds the chance of *any* false finding. The intervals cover one coefficient at a time; they are infinite where too few splits chose the column to say anything.

# %%
table = l0path.split_inference(X, y, n_splits=20 if SHORT else 100, random_state=1)
print(table.attrs["method"], "-", table.attrs["status"], "- mean size of the models chosen:", round(table.attrs["mean_size"], 1))
table[table.selected >= 0.3].sort_values("p_value")

# %%
shown = table[np.isfinite(table.ci_low)].sort_values("p_value").iloc[:10][::-1]
scale = X[shown.index].std()
fig, ax = plt.subplots(figsize=(7.2, 0.5 + 0.45 * max(len(shown), 3)), layout="constrained")
ax.hlines(shown.index, shown.ci_low * scale, shown.ci_high * scale, color=[BLUE if p < 0.05 else GREY for p in shown.p_value], linewidth=3)
ax.axvline(0, color=GREY, linewidth=0.8)
for name, row in shown.iterrows():
    ax.annotate(f"chosen in {row.selected:.0%} of the splits, p = {row.p_value:.2g}", (row.ci_high * scale[name], name), xytext=(8, 0), textcoords="offset points", va="center", fontsize=8, color=GREY)
ax.margins(x=0.35)
plain(ax, xlabel="95 % interval, progression per standard deviation of the column (blue: p < 0.05, adjusted for all columns)");

# %% [markdown]
# # Part 3: stability selection
#
# A different question: which columns are chosen again and again when the data are shaken? Each path is solved on a random half of the patients; halves come in disjoint pairs. Without `k` the size is set so that at most
# one false choice is expected by the bound of Meinshausen and Bühlmann; Shah and Samworth's bounds are sharper, for a little more assumed about the shape of the frequencies.

# %%
stable = l0path.stability_selection(X, y, max_k=12, n_subsamples=40 if SHORT else 200, random_state=1)
print(stable)
stable.bounds

# %%
fig, axes = plt.subplots(1, 2, figsize=(13, 4.4), layout="constrained")
stable.plot(n=12, ax=axes[0])
stable.plot("path", ax=axes[1]);

# %% [markdown]
# The right panel is worth more than any single number: some columns are in nearly every model as soon as there is room for them; most of the others drift upwards slowly, as columns do that stand in for one another. The bound belongs
# to one `k` and one threshold that are fixed beforehand; reading off the best of both from the picture is a selection again. The subsets themselves are counted too:

# %%
stable.subsets.head(6)

# %% [markdown]
# # Part 4: knockoffs
#
# Knockoffs give every column a rival, made without looking at `y`, that is correlated with all *other* columns just as the original is. A column without effect beats its rival half of the time; so the number of rivals that win clearly
# tells how many of the columns that win clearly did so by luck. First where the truth is known: 20 of 80 columns have an effect.

# %%
rng = np.random.default_rng(4)
A = l0path.simulate.linear(300, 80, 0, rho=0.3, random_state=rng).X
truth = np.sort(rng.choice(80, 20, replace=False))
b = A[:, truth] @ rng.choice([-0.45, 0.45], 20) + rng.standard_normal(300)
found = l0path.knockoff_filter(A, b, fdr=0.2, random_state=1)
names = {f"x{j}" for j in truth}
print(found)
print(f"{len(names & set(found.selected))} of 20 true columns, {len(set(found.selected) - names)} false")
fig, ax = plt.subplots(figsize=(9, 4.4), layout="constrained")
found.plot(ax=ax);

# %% [markdown]
# The rate holds on average over data sets, not in each. Over repetitions:

# %%
shares = []
for seed in range(10 if SHORT else 60):
    rng = np.random.default_rng(seed)
    A = l0path.simulate.linear(150, 50, 0, rho=0.3, random_state=rng).X
    beta = np.zeros(50)
    beta[rng.choice(50, 15, replace=False)] = rng.choice([-0.5, 0.5], 15)
    result = l0path.knockoff_filter(A, A @ beta + rng.standard_normal(150), fdr=0.2, random_state=seed, max_k=30)
    chosen = (result.statistic >= result.threshold).to_numpy()
    shares.append([(chosen & (beta == 0)).sum() / max(1, chosen.sum()), (chosen & (beta != 0)).sum() / 15])
shares = np.array(shares)
print(f"mean share of false columns {shares[:, 0].mean():.3f} (standard error {shares[:, 0].std(ddof=1) / np.sqrt(len(shares)):.3f}; level 0.2), of true columns found {shares[:, 1].mean():.2f}")

# %% [markdown]
# And on the diabetes data. With few strong columns among 64, the filter often finds nothing: to hold a rate of 0.2 at least five columns must be selected at once (`plus=True` adds one to the count of rivals). An empty set is
# an answer, and the honest one.

# %%
for level in (0.1, 0.2, 0.3):
    print(level, l0path.knockoff_filter(X, y, fdr=level, random_state=1).selected or "nothing")

# %% [markdown]
# # What is what
#
# | | asks | holds if | says nothing of |
# |---|---|---|---|
# | `path.model(k=...).refit()` | how well do these columns fit these rows | never as a test: "conditional on selection" | whether a column is real |
# | `path.refit(k=..., X=, y=)` | tests and intervals for one chosen model | the new rows had no part in the choice | columns that were not chosen |
# | `split_inference` | p-values for all columns, any false finding at most with probability a | the models chosen hold all columns with an effect | columns rarely chosen |
# | `stability_selection` | what is chosen whatever half of the rows is seen | noise columns are exchangeable (for the bound) | single columns; a frequency is no probability of being true |
# | `knockoff_filter` | a set with a bounded *share* of false columns | normal errors and n >= 2p (fixed), or X from a known normal distribution (model) | single columns; another seed gives another set |
#
# For predictions none of this is needed: there `l0path.cv_fit` and `l0path.nested_cv` are the tools.
