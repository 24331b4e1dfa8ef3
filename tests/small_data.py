"""Small data for the tests of bad and odd input."""

import numpy as np

N, P = 40, 5


def data(seed=0, n=N, p=P):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] - 2 * X[:, 2] + rng.normal(size=n)


X, Y = data()


Z = np.where(Y > 0, 1, -1)
