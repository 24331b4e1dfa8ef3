"""Paths that several files of tests look at."""

from functools import cache

import numpy as np
import pandas as pd

import l0path

NAMES = ["age", "bmi", "x-ray", "ä", "5", "z"]


def data(seed=0, n=50, p=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.arange(1, p + 1) + 3
    return X, X[:, 0] - X[:, 3] + 0.5 * X[:, 5] + rng.normal(size=n)


X, Y = data()


Z = np.where(Y + 4 * np.random.default_rng(1).normal(size=50) > np.median(Y), "yes", "no")


FRAME = pd.DataFrame(X, columns=NAMES, index=[f"r{i}" for i in range(50)])


@cache
def support_path():
    return l0path.fit(X, Y, lambda2=0.01, lambda1=0.02)


@cache
def framed_path():
    return l0path.fit(
        FRAME, pd.Series(Z, index=FRAME.index, name="outcome"), loss="logistic", max_k=4
    )


def same_solutions(a, b):
    """Bit by bit, NaN equal to NaN."""
    assert len(a) == len(b)
    for s, t in zip(a._solutions, b._solutions, strict=True):
        for field in s._fields:
            one, two = getattr(s, field), getattr(t, field)
            if isinstance(one, np.ndarray):
                assert one.dtype == two.dtype and np.array_equal(one, two)
            else:
                assert one == two or (one != one and two != two), field
                assert type(one) is type(two), field
