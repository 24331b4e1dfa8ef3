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
# # The penalties of L0Learn and glmnet, and what they are here
#
# L0Learn and glmnet describe a model by its penalty, and a penalty means something only
# together with the scale of the loss and of the features. This page brings penalties of
# both to the scale of `l0path.fit`, shows that the answers are then the same, and draws
# the paths: along the penalty of L0Learn, along the penalty of the lasso, and along the
# size.

# %%
import l0path
import numpy as np
from l0path.datasets import load_hitters
from sklearn.linear_model import ElasticNet

from common import SHORT, lasso_and_subsets, walk_along_lambda0

# %% [markdown]
# | | L0Learn | glmnet | here |
# |---|---|---|---|
# | loss | sum over the rows | mean over the rows | mean over the rows |
# | features | brought to unit length, the response too | standardized | standardized |
# | cost of a feature | `lambda` | none | `lambda0` |
# | L1 | `gamma`, with `penalty = "L0L1"` | `lambda alpha` | `lambda1` |
# | ridge | `gamma`, with `penalty = "L0L2"` | `lambda (1 - alpha) / 2` | `lambda2` |
# | a grid | `nLambda`, `nGamma` | `nlambda` | `lambda0=l0path.grid(n=100)`, `"grid"` |
# | own values | `lambdaGrid = list(...)` | `lambda =` | `lambda0=[...]`, `lambda2=[...]` |
#
# ## L0Learn
#
# `l0learn_scale` has the factors that bring penalties of L0Learn to the scale of `fit`.
# The salaries of 263 baseball players, at three penalties:

# %%
hitters = load_hitters()
X, y = hitters.X, hitters.y
scale = l0path.losses.l0learn_scale(y)
same = l0path.fit(X, y, lambda0=scale.lambda0 * np.array([0.1, 0.03, 0.01]))
same.details[["lambda0", "n_features", "loss", "deviance_ratio"]]

# %% [markdown]
# `lambda0="grid"` with `algorithm="CDPSI"` walks as L0Learn does: each penalty is a
# little below the one at which the model must change. What it cannot show are sizes
# that are best at no penalty; and a walk that changes few features at a time, the
# others being held, can also miss models that are. A path along the size has them all:

# %%
path = l0path.fit(X, y)
walk = l0path.fit(X, y, lambda0="grid", algorithm="CDPSI")
walk_along_lambda0(path, walk)

# %% [markdown]
# ## glmnet
#
# With `lambda0=[0]`, that is without a cost of features, the problem is the elastic
# net, and this package solves it too. As a proof, the elastic net of scikit-learn (the
# same objective as glmnet's, on standardized features) against ours:

# %%
Z = (X - X.mean()) / X.std(ddof=0)
for alpha, size in ((1.0, 100.0), (1.0, 2.0), (0.5, 100.0), (0.5, 2.0)):
    penalty = {"lambda1": size * alpha, "lambda2": size * (1 - alpha) / 2}
    ours = l0path.fit(X, y, lambda0=[0.0], **penalty)
    net = ElasticNet(alpha=size, l1_ratio=alpha, max_iter=100_000, tol=1e-10)
    coef = ours.coef(index=0, standardized=True, full=True).drop("(Intercept)")
    apart = np.abs(coef - net.fit(Z, y).coef_).max() / np.abs(net.coef_).max()
    print(f"alpha {alpha}, lambda {size:g}: relative difference {apart:.0e}")

# %% [markdown]
# So the two paths can be drawn side by side from one package: the lasso, which shrinks
# everything and takes features in gently, and best subsets, which do not shrink. Look
# at `k = 7`: for one size two features in grey take over, with large coefficients of
# opposite signs (careers' hits and times at bat, nearly the same information). The
# lasso does not do such things. They are a reason to look at a path before using it, or
# to add a small `lambda2`.

# %% tags=["thumbnail"]
most = np.abs(Z.T @ (y - y.mean())).max() / len(y)
grid = np.geomspace(1.02 * most, 0.3, 12 if SHORT else 40)
lasso_and_subsets(l0path.fit(X, y, lambda0=[0.0], lambda1=grid), path)

# %% [markdown]
# ## What to take along
#
# * Penalties here do not depend on the number of rows, and not on the units of the
#   features. They do depend on the units of the response.
# * A model of size k needs no penalty at all: ask for `k`, and add `lambda2` where
#   features are nearly the same or classes can be separated.
