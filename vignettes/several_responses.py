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
# # Several responses, one set of columns
#
# A table `Y` of several responses can be fitted column by column: each response then chooses its own features. `l0path.fit(X, Y)` asks another question: which few features serve *all* responses? A feature is
# chosen for all of them or for none, and each response has a coefficient of its own for it.
#
# Two things are gained. The responses lend each other strength: a feature that helps each of them a little is found, where each alone would miss it. And the list is short: one set of measurements instead of
# several. This page shows the first on simulated data, where the truth is known, and the second on spectra of meat.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from l0path.datasets import load_tecator

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer repetitions, the same cells
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 3)
JOINT, SEPARATE, GREY = "#0072B2", "#D55E00", "#6b6b6b"

# %% [markdown]
# ## Weak signals that add up
#
# Twelve responses depend on the same 6 of 60 features, and the noise of each response is larger than its signal.


# %%
def drawn(n, seed, p=60, k=6, r=12):
    """Features X (n, p), responses Y (n, r), and the true coefficients (p, r)."""
    rng = np.random.default_rng(seed)
    X, B = rng.standard_normal((n, p)), np.zeros((p, r))
    B[rng.choice(p, k, replace=False)] = rng.normal(scale=0.5, size=(k, r))
    return X, X @ B + rng.normal(scale=1.5, size=(n, r)), B


def one_by_one(X, Y, k):
    """Coefficients (p, r) of k features for each response by itself."""
    paths = [l0path.fit(X, y, max_k=k, certify=False) for y in Y.T]
    return np.column_stack([path.coef(k=k, full=True).iloc[1:] for path in paths])


X, Y, B = drawn(80, seed=1)
path = l0path.fit(X, Y, max_k=12)
path.details[["k", "n_features", "loss", "deviance_ratio", "optimality"]].head(8)

# %% [markdown]
# `k` counts features, `n_features` coefficients: twelve for each feature. The size may be left to BIC, which counts all of them.

# %%
print("chosen by BIC:", path.model("bic").k, "features; all of them true:", set(path.support("bic")) <= set(np.flatnonzero(B.any(axis=1))))

# %%
tables = {"truth": B, "one set for all responses": path.coef(k=6, full=True).iloc[1:].to_numpy(), "6 features for each by itself": one_by_one(X, Y, 6)}
largest = np.abs(B).max()
fig, axes = plt.subplots(3, 1, figsize=(9, 6.6), sharex=True, layout="constrained")
for ax, (title, table) in zip(axes, tables.items(), strict=True):
    image = ax.imshow(table.T, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest")
    ax.set(title=f"{title}: {int(table.any(axis=1).sum())} features", ylabel="response", yticks=[0, 5, 11])
    for j in np.flatnonzero(B.any(axis=1)):
        ax.plot(j, -0.9, "v", color="black", markersize=5, clip_on=False)
axes[-1].set_xlabel("feature (triangles: the true ones)")
fig.colorbar(image, ax=axes, label="coefficient", shrink=0.6)

# %% [markdown]
# Stripes are what a common set of features looks like. The joint fit has them where the truth has them. Fitted one by one, each response finds some true features and makes up for the others by chance
# neighbours: with 80 rows and so much noise it cannot know better, and together they use most of the features.
#
# How many rows does each way need? The share of true features among the six that are chosen, over repetitions:

# %%
sizes, repeats = ([40, 120] if SHORT else [30, 50, 80, 120, 200, 300]), (2 if SHORT else 10)
share = {"joint": [], "separate": []}
for n in sizes:
    joint, separate = [], []
    for seed in range(repeats):
        X, Y, B = drawn(n, seed)
        true = B.any(axis=1)
        joint.append(true[l0path.fit(X, Y, max_k=6, certify=False).support(k=6)].mean())
        separate.append(np.mean([true[column != 0].mean() for column in one_by_one(X, Y[:, :4], 6).T]))
    share["joint"].append(np.mean(joint))
    share["separate"].append(np.mean(separate))
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for (name, values), colour in zip(share.items(), (JOINT, SEPARATE), strict=True):
    ax.plot(sizes, values, "o-", color=colour, markersize=4, label={"joint": "one set for all", "separate": "each by itself"}[name])
ax.set(xlabel="rows", ylabel="true among the chosen", ylim=(0, 1.03), xscale="log")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
_ = ax.legend(frameon=False)

# %% [markdown]
# ## Fat, water and protein from one spectrum
#
# A spectrometer shines near infrared light through minced meat and reads the absorbance at 100 wavelengths. From it follow fat, water and protein, in percent. A cheap device would measure a few wavelengths
# only, and it should not need other ones for each of the three.

# %%
data = load_tecator(["fat", "water", "protein"])
X, Y, train = data.X.diff(axis=1).iloc[:, 1:], data.y, data.train  # the slope of a spectrum between neighbours
wavelength = np.array([float(name[2:]) for name in X.columns])
fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
order = np.argsort(Y["fat"].to_numpy())[:: 10 if SHORT else 3]
for ax, table, title in zip(axes, (data.X.iloc[:, 1:], X), ("absorbance", "slope"), strict=True):
    for i in order:
        ax.plot(wavelength, table.iloc[i], color=plt.cm.viridis(Y["fat"].iloc[i] / 50), linewidth=0.8)
    ax.set(xlabel="wavelength (nm)", title=title)
    ax.spines[["top", "right"]].set_visible(False)
fig.colorbar(plt.cm.ScalarMappable(plt.Normalize(0, 50), "viridis"), ax=axes, label="fat (%)")
Y.describe().loc[["mean", "std"]]

# %% [markdown]
# The height of a spectrum says how thick the sample is, its slope what is in it; so the features are the differences of neighbours. Fat varies four times as much as protein, and its errors would decide alone:
# `losses.Squared(response_weights=...)` with one over the variance brings the three to one scale.

# %%
weights = 1.0 / Y[train].var()
cv = l0path.cv_fit(X[train], Y[train], loss=l0path.losses.Squared(response_weights=weights), max_k=10, cv=5, random_state=0, lambda2=0)
path = cv
cv.scores[["k", "cv_mean", "cv_se"]].T

# %%
names, sizes = list(Y.columns), range(1, 11)
separate = {name: l0path.fit(X[train], Y.loc[train, name], max_k=10, certify=False) for name in names}


def error(name, one, k):
    """The root mean squared error of a response on the test sample."""
    predicted = one.predict(X[~train], k=k)
    return np.sqrt(np.mean((Y.loc[~train, name] - (predicted if predicted.ndim == 1 else predicted[name])) ** 2))


measured = {s: len(set().union(*(one.model(k=s).features for one in separate.values()))) for s in sizes}
few = [s for s in sizes if measured[s] <= 10]
fig, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained", sharex=True)
for ax, name in zip(axes, names, strict=True):
    ax.plot(sizes, [error(name, path, s) for s in sizes], "o-", color=JOINT, markersize=4, label="one set for all three")
    ax.plot([measured[s] for s in few], [error(name, separate[name], s) for s in few], "s--", color=SEPARATE, markersize=4, label="a set for each")
    ax.set(title=name, xlabel="slopes that are measured", ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("error on the test sample (%)")
axes[0].legend(frameon=False, fontsize=8)
pd.Series(measured, name="slopes that three sets of k need").to_frame().T

# %% [markdown]
# Three sets of two or three slopes are six slopes to be measured, three sets of four are nine. For the same number of them, one common set predicts about as well or better: each slope works for all three. The errors of one test sample of
# 43 go up and down by chance; the cross-validation above is the steadier judge of the size.

# %%
k = 4
coef = path.coef(k=k, standardized=True).iloc[1:] / Y[train].std()
fig, (top, low) = plt.subplots(2, 1, figsize=(9, 4.4), height_ratios=(2, 1.2), layout="constrained")
shown = coef.sort_index(key=lambda index: index.str[2:].astype(float))
limit = np.abs(shown.to_numpy()).max()
image = top.imshow(shown.T, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
top.set_xticks(range(k), [f"{name[2:]} nm" for name in shown.index])
top.set_yticks(range(3), shown.columns)
for (j, i), value in np.ndenumerate(shown.to_numpy()):
    top.text(j, i, f"{value:.1f}", ha="center", va="center", fontsize=9, color="white" if abs(value) > 0.6 * limit else "black")
fig.colorbar(image, ax=top, label="per sd of both")
for s in sizes:
    low.plot([float(name[2:]) for name in path.model(k=s).features], [s] * s, "s", color=JOINT, markersize=4)
low.set(xlabel="wavelength (nm)", ylabel="k", xlim=(848, 1052), yticks=[2, 4, 6, 8, 10])
low.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# The heat map has a row for each response. At three of the four slopes fat and water have coefficients of opposite sign, for meat that has more of one has less of the other. The fourth, at 892 nm, is there
# for protein; the other two hardly use it. Below, the slopes that each size chooses. What each of them is worth, and what could stand in for it, says the summary:

# %%
path.model(k=k).summary()

# %% [markdown]
# ## What to take along
#
# * `fit(X, Y)` chooses columns for all responses at once; `coef`, `predict`, `score_table`, `summary`, `compare` and `cv_fit` work as for one response.
# * Responses that share their features find them with fewer rows than each would need.
# * Bring responses to one scale (`losses.Squared(response_weights=...)`) unless large ones are to count more.
# * Where responses have little in common, separate fits are the better question: compare the held-out errors, as here.
