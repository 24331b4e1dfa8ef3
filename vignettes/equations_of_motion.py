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
# # Equations of motion: the few terms that drive the Lorenz system, with a proof
#
# A trajectory is measured, and the differential equation behind it is wanted. Brunton,
# Proctor and Kutz (2016) write each derivative as a sum of terms from a library, and
# look for a sum of very few: a best subset. Here the terms are found by the method that
# the package is made for, and a proof says that no other choice of as many terms fits
# better. The data are simulated, so we know what is to be found.

# %%
import l0path
import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp
from sklearn.preprocessing import PolynomialFeatures

from common import (
    lorenz,
    share_not_explained,
    smoothed,
    trajectory_and_series,
    true_and_fitted,
)

# %% [markdown]
# ## A trajectory, with noise
#
# The Lorenz system has seven terms in all: $x' = 10 (y - x)$, $y' = x (28 - z) - y$,
# $z' = x y - \tfrac{8}{3} z$. We record 4000 points over eight units of time and add
# noise of standard deviation 0.5 to each coordinate, a sixteenth of the spread of $x$.

# %% tags=["thumbnail"]
step = 0.002
times = np.arange(0, 8, step)
start, exact = [-8, 8, 27], {"rtol": 1e-10, "atol": 1e-10}
clean = solve_ivp(lorenz, (0, 8), start, t_eval=times, **exact).y.T
noisy = clean + 0.5 * np.random.default_rng(0).standard_normal(clean.shape)
trajectory_and_series(times, clean, noisy)

# %% [markdown]
# ## Derivatives and a library
#
# Derivatives come from local polynomials (a filter of Savitzky and Golay), which
# smooths the noise away and leaves the ends out. The library has all 35 products of x,
# y and z up to degree four. Many are nearly combinations of others along the
# trajectory, and this is why the choice of terms is hard: some of the correlations
# below come close to one.

# %%
values, slopes = smoothed(noisy, step)
library = PolynomialFeatures(degree=4)
made = library.fit_transform(values)
terms = pd.DataFrame(made, columns=library.get_feature_names_out(["x", "y", "z"]))
R = np.corrcoef(made[:, 1:].T)
off = np.abs(R[np.triu_indices(len(R), 1)])
print(f"{(off > 0.95).mean():.0%} of all pairs of terms have a correlation above 0.95")

# %% [markdown]
# ## The best terms of every size
#
# `L0Equations` fits each derivative by best subsets. A path says how the error falls
# with the number of terms, and where it stops to matter. Rows of `path.details` that
# say `global` are proven (filled points below): leaps and bounds has gone through all
# subsets of 35 terms, most of them without looking.

# %%
model = l0path.L0Equations(max_k=8, prove=False).fit(terms, slopes)
share_not_explained(model.paths_)
for name, path, k in zip("xyz", model.paths_, (2, 3, 2), strict=True):
    print(f"{name}': {', '.join(path.model(k=k).features)}")

# %% [markdown]
# The curves bend at two, three and two terms, where the Lorenz system has its terms.
# With these sizes the search is asked for a proof of each equation; `proven_` says
# whether it was found.

# %%
model = l0path.L0Equations(k=[2, 3, 2]).fit(terms, slopes)
found = pd.DataFrame(model.coef_, index=["x'", "y'", "z'"], columns=terms.columns)
print("proven:", model.proven_)
found.loc[:, (found != 0).any()]

# %% [markdown]
# ## What the equations predict
#
# The fitted equations are integrated from the true start. The Lorenz system is chaotic,
# so any error grows; what counts is how long the two stay together, and that both go
# around the same two centres.

# %%
again = solve_ivp(
    lambda _, u: model.coef_ @ library.transform(u[None])[0],
    (0, 8),
    clean[0],
    t_eval=times[::5],
    rtol=1e-6,
).y.T
true_and_fitted(times, clean, again)

# %% [markdown]
# ## With PySINDy
#
# PySINDy has libraries, ways to differentiate, and much else. `L0Equations` is an
# optimizer for it: `pysindy.SINDy(optimizer=l0path.L0Equations(k=[2, 3, 2]))`. Where
# the package is installed, the cell below runs it on the same trajectory.

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
    sindy.fit(noisy, t=step, feature_names=["x", "y", "z"])
    sindy.print()
    print("proven:", sindy.optimizer.proven_)
