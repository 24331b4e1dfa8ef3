"""Rows for the estimators of scikit-learn's kind."""

import numpy as np


def sample(kind="real", n=90, p=8, seed=0):
    """(X, y) with a response of numbers, or of two words where kind is not "real"."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 1.0
    eta = X[:, 1] - 0.7 * X[:, 4] - 0.3
    if kind == "real":
        return X, eta + 0.5 * rng.standard_normal(n)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-2 * eta)), "yes", "no")
