"""Data for the tests of inference after a selection."""

import numpy as np
from lazy import lazy

optimize = lazy("scipy.optimize")


def sample(n=120, p=10, seed=0, loss="squared"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 3] = 0.6 * X[:, 1] + 0.8 * X[:, 3]
    eta = 1.5 * X[:, 1] - X[:, 4] + 0.3
    if loss == "logistic":
        return X, np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    return X, rng.poisson(np.exp(0.4 * eta)) if loss == "poisson" else eta + rng.standard_normal(n)
