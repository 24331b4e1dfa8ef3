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
# # Fat, water and protein from one spectrum
#
# A spectrometer shines near infrared light through minced meat and reads the absorbance
# at 100 wavelengths. From it follow fat, water and protein, in percent. A cheap device
# would measure a few wavelengths only, and it should not need other ones for each of
# the three. This page chooses one set of wavelengths for all three, and compares it
# with a set for each. Why several responses find their features with fewer rows is the
# subject of `several_responses.py`.

# %%
import l0path
from l0path.datasets import load_tecator

from common import errors_of_contents, slopes_by_size, spectra_and_slopes

# %%
data = load_tecator(["fat", "water", "protein"])
X, Y, train = data.X.diff(axis=1).iloc[:, 1:], data.y, data.train
spectra_and_slopes(data, X)

# %% [markdown]
# ## One scale, one set of slopes
#
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
# * `fit(X, Y)` chooses features for all responses at once.
# * Bring responses to one scale (`losses.Squared(response_weights=...)`) unless large
#   ones are to count more.
# * Where responses have little in common, separate fits are the better question:
#   compare the held-out errors, as here.
