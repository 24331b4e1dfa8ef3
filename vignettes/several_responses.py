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
# # Several responses: weak signals that add up
#
# A table `Y` of several responses can be fitted column by column: each response then
# chooses its own features. `l0path.fit(X, Y)` asks another question: which few features
# serve *all* responses? A feature is chosen for all of them or for none, and each
# response has a coefficient of its own for it.
#
# Two things are gained. The list is short: one set of measurements instead of several
# (`one_spectrum.py` shows that). And the responses lend each other strength: a feature
# that helps each of them a little is found, where each alone would miss it. This page
# shows it on simulated data, where the truth is known.

# %%
import l0path
import numpy as np

from common import (
    SHORT,
    coefficient_maps,
    drawn,
    joint_and_separate,
    one_by_one,
    shares_found,
)

# %% [markdown]
# ## Twelve responses
#
# Twelve responses depend on the same 6 of 60 features, and the noise of each response
# is larger than its signal.

# %%
X, Y, B = drawn(80, seed=1)
path = l0path.fit(X, Y, max_k=12)
path.details[["k", "n_features", "loss", "deviance_ratio", "optimality"]].head(7)

# %% [markdown]
# `k` counts features, `n_features` coefficients: twelve for each feature. The size may
# be left to BIC, which counts all of them.

# %%
found, true = set(path.support("bic")), set(np.flatnonzero(B.any(axis=1)))
print(f"BIC chooses {len(found)} features; all of them true: {found <= true}")

# %%
joint, separate = path.coef(k=6, full=True).iloc[1:].to_numpy(), one_by_one(X, Y, 6)
coefficient_maps({"truth": B, "one set": joint, "each by itself": separate})

# %% [markdown]
# Stripes are what a common set of features looks like. The joint fit has them where the
# truth has them. Fitted one by one, each response finds some true features and makes up
# for the others by chance neighbours: with 80 rows and so much noise it cannot know
# better, and together they use most of the features.
#
# How many rows does each way need? The share of true features among the six that are
# chosen, over repetitions:

# %%
sizes = [40, 120] if SHORT else [30, 50, 80, 120, 200, 300]
joint_and_separate(sizes, shares_found(sizes, repeats=2 if SHORT else 10))

# %% [markdown]
# ## Counts, and columns of 0 and 1
#
# The responses need not be normal. Counts of twelve kinds, of which some are rare and
# some frequent, share their features in the same way, and so do twelve questions that
# are answered by yes or no. How many of the six true features are among six that are
# chosen, for all together, and on average for each alone?

# %%
rng, true = np.random.default_rng(3), np.flatnonzero(B.any(axis=1))
signal, rates = 0.8 * X @ B, np.linspace(-1.0, 2.0, 12)
tables = {
    "poisson": rng.poisson(np.exp(np.clip(0.4 * signal + rates, -5, 5))),
    "logistic": signal + rng.logistic(size=signal.shape) > 0,
}
for loss, table in tables.items():
    together = l0path.fit(X, table, loss=loss, lambda2=1e-3, max_k=6)
    alone = [
        np.isin(true, l0path.fit(X, y, loss=loss, lambda2=1e-3, k=6).support(k=6))
        for y in table.T
    ]
    found = np.isin(true, together.support(k=6)).sum()
    print(f"{loss}: {found} of 6 together, {np.mean(alone) * 6:.1f} alone")

# %% [markdown]
# `predict` gives a column of means or probabilities for each response, and
# `model.refit()` a regression of statsmodels for each.

# %%
together.model(k=6).refit()[together.coef(k=6).columns[0]].summary().tables[1]

# %% [markdown]
# ## What to take along
#
# * `fit(X, Y)` chooses features for all responses at once; `coef`, `predict`,
#   `score_table`, `summary`, `compare` and `cv_fit` work as for one response, and
#   `loss=` may be any that is a sum over rows.
# * Responses that share their features find them with fewer rows than each would need.
# * Where responses have little in common, separate fits are the better question:
#   compare the held-out errors.
