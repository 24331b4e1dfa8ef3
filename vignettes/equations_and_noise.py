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
# # Equations of motion: best subsets against thresholds
#
# Which terms are in the differential equation behind a trajectory? The usual search is
# sequentially thresholded least squares: fit all terms, set small coefficients to zero,
# fit the rest again, and so on. Best subsets look for the best few terms directly
# (`equations_of_motion.py`). This page counts how often each method finds the true
# terms, and shows where neither does.
#
# The Lorenz system has seven terms: $x' = 10 (y - x)$, $y' = x (28 - z) - y$,
# $z' = x y - \tfrac{8}{3} z$. The library has all 35 products of x, y and z up to
# degree four.

# %%
import numpy as np
from scipy.integrate import solve_ivp
from sklearn.preprocessing import PolynomialFeatures

from common import (
    SHORT,
    lorenz,
    nearly_the_same,
    recovery_by_noise,
    shares_recovered,
    smoothed,
)

# %% [markdown]
# ## Terms that stand in for one another
#
# Derivatives come from local polynomials, which smooth the noise away. Along the
# trajectory many products are nearly combinations of others. That is why the choice is
# hard: the picture shows the correlations of all pairs of terms.

# %%
step = 0.002
times, start = np.arange(0, 8, step), [-8, 8, 27]
clean = solve_ivp(lorenz, (0, 8), start, t_eval=times, rtol=1e-10, atol=1e-10).y.T
noisy = clean + 0.5 * np.random.default_rng(0).standard_normal(clean.shape)
library = PolynomialFeatures(degree=4).fit(clean)
names = library.get_feature_names_out(["x", "y", "z"])
nearly_the_same(library.transform(smoothed(noisy, step)[0]), names)

# %% [markdown]
# ## How often are the terms found?
#
# A threshold has to be chosen, and its choice depends on how terms are scaled. We count
# how often each method finds the seven terms and no other, over levels of noise; the
# thresholds are the best of a grid in hindsight, and best subsets are told the number
# of terms.

# %%
right = (["x", "y"], ["x", "y", "x z"], ["z", "x y"])
truth = np.array([np.isin(names, which) for which in right])
levels, draws = [0.1, 0.2, 0.4, 0.6, 0.8, 1.0], 2 if SHORT else 5
recovery_by_noise(shares_recovered(clean, step, library, truth, levels, draws))

# %% [markdown]
# A proof is about the data at hand. Where noise in the coordinates goes into the terms
# themselves, least squares prefers other terms from some level on, and the proven best
# three terms of $y'$ are no longer the true ones. Better data or better derivatives
# help there, a longer search does not.
#
# ## What to take along
#
# * Thresholds look at one coefficient after another, and terms that stand in for one
#   another divide the effect. Best subsets compare sets.
# * How many terms? The error against the size bends where the true terms are all in:
#   see the curves of `equations_of_motion.py`.
