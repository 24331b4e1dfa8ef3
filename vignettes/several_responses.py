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
# # Several responses, one set of columns
#
# A table `Y` of several responses can be fitted column by column: each response then
# chooses its own features. `l0path.fit(X, Y)` asks another question: which few features
# serve *all* responses? A feature is chosen for all of them or for none, and each
# response has a coefficient of its own for it.
#
# Two things are gained. The responses lend each other strength: a feature that helps
# each of them a little is found, where each alone would miss it. And the list is short:
# one set of measurements instead of several. This page shows the first on simulated
# data, where the truth is known, and the second on spectra of meat.

# %%
import l0path
import numpy as np
from l0path.datasets import load_tecator

from common import (
    SHORT,
    coefficient_maps,
    drawn,
    errors_of_contents,
    joint_and_separate,
    one_by_one,
    shares_found,
    slopes_by_size,
    spectra_and_slopes,
)

# %% [markdown]
# ## Weak signals that add up
#
# Twelve responses depend on the same 6 of 60 features, and the noise of each response
# is larger than its signal.

# %%
X, Y, B = drawn(80, seed=1)
path = l0path.fit(X, Y, max_k=12)
path.details[["k", "n_features", "loss", "deviance_ratio", "optimality"]].head(8)

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
# ## Fat, water and protein from one spectrum
#
# A spectrometer shines near infrared light through minced meat and reads the absorbance
# at 100 wavelengths. From it follow fat, water and protein, in percent. A cheap device
# would measure a few wavelengths only, and it should not need other ones for each of
# the three.

# %%
data = load_tecator(["fat", "water", "protein"])
X, Y, train = data.X.diff(axis=1).iloc[:, 1:], data.y, data.train
spectra_and_slopes(data, X)

# %% [markdown]
# The height of a spectrum says how thick the sample is, its slope what is in it; so the
# features are the differences of neighbours. Fat varies four times as much as protein,
# and its errors would decide alone: `losses.Squared(response_weights=...)` with one
# over the variance brings the three to one scale.

# %%
loss = l0path.losses.Squared(response_weights=1.0 / Y[train].var())
cv = l0path.cv_fit(
    X[train], Y[train], loss=loss, max_k=10, cv=5, random_state=0, lambda2=0
)
cv.scores[["k", "cv_mean", "cv_se"]].T

# %%
separate = {
    name: l0path.fit(X[train], Y.loc[train, name], max_k=10, certify=False)
    for name in Y
}
errors_of_contents(X[~train], Y[~train], cv, separate, range(1, 11))

# %% [markdown]
# Three sets of two or three slopes are six slopes to be measured, three sets of four
# are nine. For the same number of them, one common set predicts about as well or
# better: each slope works for all three. The errors of one test sample of 43 go up and
# down by chance; the cross-validation above is the steadier judge of the size.

# %%
coef = cv.coef(k=4, standardized=True).iloc[1:] / Y[train].std()
slopes_by_size(cv, 4, coef)

# %% [markdown]
# The heat map has a row for each response. At three of the four slopes fat and water
# have coefficients of opposite sign, for meat that has more of one has less of the
# other. The fourth, at 892 nm, is there for protein; the other two hardly use it.
# Below, the slopes that each size chooses. What each of them is worth, and what could
# stand in for it, says the summary:

# %%
cv.model(k=4).summary()

# %% [markdown]
# ## What to take along
#
# * `fit(X, Y)` chooses columns for all responses at once; `coef`, `predict`,
#   `score_table`, `summary`, `compare` and `cv_fit` work as for one response.
# * Responses that share their features find them with fewer rows than each would need.
# * Bring responses to one scale (`losses.Squared(response_weights=...)`) unless large
#   ones are to count more.
# * Where responses have little in common, separate fits are the better question:
#   compare the held-out errors, as here.
