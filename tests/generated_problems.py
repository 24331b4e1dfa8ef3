"""Problems that several files of tests of the feature generating machine solve."""

import numpy as np
from problems import plain

LOSSES = ("squared", "logistic", "squared_hinge")


def response(loss, signal, rng):
    eta = signal + 0.5 * rng.normal(size=signal.size)
    return eta if loss == "squared" else np.where(eta > 0.3, 1.0, -1.0)


def small(loss, seed=0, n=30, p=6, ridge=0.05, **changes):
    """An instance with few columns, a common factor among them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.6 * rng.normal(size=(n, 1))
    y = response(loss, X[:, 0] - 0.7 * X[:, 1] + 0.5 * X[:, 2], rng)
    return plain(X, y, loss, lambda2=ridge, **changes)
