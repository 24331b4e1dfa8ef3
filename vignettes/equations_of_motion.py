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
# # Equations of motion: the few terms that drive the Lorenz system, with a proof
#
# A trajectory is measured, and the differential equation behind it is wanted. Brunton, Proctor and Kutz (2016) write each derivative as a sum of terms from a library, and look for a sum of very few: a best subset. Here the terms are found by the method that the package is
# made for, and a proof says that no other choice of as many terms fits better. The data are simulated, so we know what is to be found.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp
from scipy.signal import savgol_filter
from sklearn.preprocessing import PolynomialFeatures

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer levels of noise and draws, the same cells
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6b6b6b"
NAMES = ["x", "y", "z"]
pd.set_option("display.width", 160, "display.precision", 4)


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# # A trajectory, with noise
#
# The Lorenz system is $x' = 10 (y - x)$, $y' = x (28 - z) - y$, $z' = x y - \tfrac{8}{3} z$: seven terms in all. We record 4000 points over eight units of time and add noise of standard deviation 0.5 to each coordinate, a sixteenth of the spread of $x$.


# %% tags=["thumbnail"]
def lorenz(_, u):
    """The slope of the Lorenz system."""
    x, y, z = u
    return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z


step = 0.002
times = np.arange(0, 8, step)
clean = solve_ivp(lorenz, (0, 8), [-8, 8, 27], t_eval=times, rtol=1e-10, atol=1e-10).y.T
noisy = clean + 0.5 * np.random.default_rng(0).standard_normal(clean.shape)

figure = plt.figure(figsize=(10, 4.2), layout="constrained")
ax = figure.add_subplot(1, 2, 1, projection="3d")
ax.plot(*noisy.T, ".", color=ORANGE, markersize=1, alpha=0.5)
ax.plot(*clean.T, color=BLUE, linewidth=0.8)
ax.set(xlabel="x", ylabel="y", zlabel="z", title="measured (points) and true (line)")
ax = figure.add_subplot(1, 2, 2)
for name, series, color in zip(NAMES, noisy.T, (BLUE, ORANGE, GREEN), strict=True):
    ax.plot(times, series, color=color, linewidth=0.7)
    ax.text(8.1, series[-1], name, color=color, va="center")
plain(ax, xlabel="time", ylabel="coordinate", title="the same over time")
plt.show()

# %% [markdown]
# # Derivatives and a library
#
# Derivatives come from local polynomials (a filter of Savitzky and Golay), which smooths the noise away and leaves the ends out. The library has all 35 products of x, y and z up to degree four. Many are nearly combinations of others along the
# trajectory, and this is why the choice of terms is hard: some of the correlations below come close to one.


# %%
def smoothed(path, width=61):
    """(coordinates, derivatives) from local polynomials, without the ends."""
    inside = slice(width, -width)
    values = savgol_filter(path, width, 4, axis=0)
    return values[inside], savgol_filter(path, width, 4, deriv=1, delta=step, axis=0)[inside]


values, slopes = smoothed(noisy)
library = PolynomialFeatures(degree=4)
terms = pd.DataFrame(library.fit_transform(values), columns=library.get_feature_names_out(NAMES))
R = np.corrcoef(terms.to_numpy()[:, 1:].T)
figure, ax = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
image = ax.imshow(R, cmap="RdBu_r", vmin=-1, vmax=1)
figure.colorbar(image, ax=ax, label="correlation")
ax.set(title=f"{terms.shape[1]} terms, correlations of 34", xlabel="term", ylabel="term")
plt.show()
off = np.abs(R[np.triu_indices(len(R), 1)])
print(f"{(off > 0.95).mean():.0%} of all pairs of terms have a correlation above 0.95 in size")

# %% [markdown]
# # The best terms of every size
#
# `L0Equations` fits each derivative by best subsets. A path says how the error falls with the number of terms, and where it stops to matter. Rows of `path.details` that say `global` are proven (filled points below): leaps and bounds has gone through all subsets of 35 terms, most of them without looking.

# %%
model = l0path.L0Equations(max_k=8, prove=False).fit(terms, slopes)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for ax, name, path in zip(axes, NAMES, model.paths_, strict=True):
    table = path.details
    ax.semilogy(table.k, 1 - table.deviance_ratio, color=GREY, linewidth=1)
    proven = table.optimality == "global"
    ax.semilogy(table.k[proven], (1 - table.deviance_ratio)[proven], "o", color=BLUE)
    ax.semilogy(table.k[~proven], (1 - table.deviance_ratio)[~proven], "o", color=ORANGE, mfc="w")
    plain(ax, xlabel="terms", title=f"{name}'", ylabel="share not explained" if name == "x" else "")
plt.show()
pd.concat({f"{n}'": p.table[["deviance_ratio", "optimality", "features"]][:5] for n, p in zip(NAMES, model.paths_, strict=True)})

# %% [markdown]
# The curves bend at two, three and two terms, where the Lorenz system has its terms. With these sizes the search is asked for a proof of each equation; `proven_` says whether it was found.

# %%
model = l0path.L0Equations(k=[2, 3, 2]).fit(terms, slopes)
found = pd.DataFrame(model.coef_, index=[f"{n}'" for n in NAMES], columns=terms.columns)
print(found.loc[:, (found != 0).any()])
print("proven:", model.proven_)

# %% [markdown]
# # What the equations predict
#
# The fitted equations are integrated from the true start. The Lorenz system is chaotic, so any error grows; what counts is how long the two stay together, and that both go around the same two centres.


# %%
def slope_of(coef):
    """The right-hand side of fitted equations."""
    return lambda _, u: coef @ library.transform(np.asarray(u)[None])[0]


again = solve_ivp(slope_of(model.coef_), (0, 8), clean[0], t_eval=times[::5], rtol=1e-6).y.T
figure, ax = plt.subplots(figsize=(9, 2.8), layout="constrained")
ax.plot(times, clean[:, 0], color=BLUE, label="true")
ax.plot(times[::5], again[:, 0], "--", color=ORANGE, label="fitted equations")
plain(ax, xlabel="time", ylabel="x")
ax.legend(frameon=False, ncols=2, loc="lower left")
plt.show()

# %% [markdown]
# # Against thresholds
#
# The usual search is sequentially thresholded least squares: fit all terms, set small coefficients to zero, fit the rest again, and so on. It needs a threshold, and its choice depends on how terms are scaled. We count how often each method finds the seven terms and no other, over levels of noise;
# the thresholds are the best of a grid in hindsight, and best subsets are told the number of terms.


# %%
def thresholded(A, slopes, threshold):
    """Support of sequentially thresholded least squares, one row for each equation."""
    kept = np.ones((slopes.shape[1], A.shape[1]), dtype=bool)
    for t, row in enumerate(kept):
        while row.any():
            coef = np.zeros(A.shape[1])
            coef[row] = np.linalg.lstsq(A[:, row], slopes[:, t], rcond=None)[0]
            if (np.abs(coef[row]) > threshold).all():
                break
            row &= np.abs(coef) > threshold
    return kept


truth = np.array([found.columns.isin(which) for which in (["x", "y"], ["x", "y", "x z"], ["z", "x y"])])
levels, draws = ([0.1, 0.6], 1) if SHORT else ([0.1, 0.2, 0.4, 0.6, 0.8, 1.0], 5)
rows = []
for level in levels:
    for seed in range(draws):
        values, slopes = (part[::4] for part in smoothed(clean + level * np.random.default_rng(seed).standard_normal(clean.shape)))
        A = library.transform(values)
        best = l0path.L0Equations(k=[2, 3, 2], prove=False).fit(A, slopes).ind_
        others = [thresholded(A, slopes, threshold) for threshold in (0.05, 0.1, 0.2, 0.5)]
        rows.append({"noise": level, "best subset": (best == truth).all(), "thresholds": any((o == truth).all() for o in others)})
share = pd.DataFrame(rows).groupby("noise").mean()
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for name, color in (("best subset", BLUE), ("thresholds", ORANGE)):
    ax.plot(share.index, share[name], "o-", color=color)
    ax.text(share.index[-1] * 1.03, share[name].iloc[-1], name, color=color, va="center")
plain(ax, xlabel="standard deviation of the noise", ylabel="share of draws with the seven terms", ylim=(-0.05, 1.05))
plt.show()
share

# %% [markdown]
# A proof is about the data at hand. Where noise in the coordinates goes into the terms themselves, least squares prefers other terms from some level on, and the proven best three terms of $y'$ are no longer the true ones. Better data or better derivatives help there, a longer search does not.
#
# # With PySINDy
#
# PySINDy has libraries, ways to differentiate, and much else. `L0Equations` is an optimizer for it: `pysindy.SINDy(optimizer=l0path.L0Equations(k=[2, 3, 2]))`. Where the package is installed, the cell below runs it on the same trajectory.

# %%
try:
    import pysindy
except ImportError:
    print("PySINDy is not installed here: pip install pysindy")
else:
    sindy = pysindy.SINDy(
        optimizer=l0path.L0Equations(k=[2, 3, 2]),
        feature_library=pysindy.PolynomialLibrary(degree=3),
        differentiation_method=pysindy.SmoothedFiniteDifference(),
    )
    sindy.fit(noisy, t=step, feature_names=NAMES)
    sindy.print()
    print("proven:", sindy.optimizer.proven_)
