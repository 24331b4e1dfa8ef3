"""Small data for the tests of bad and odd input."""

import numpy as np
import pandas as pd
import pytest

import l0path

N, P = 40, 5


def data(seed=0, n=N, p=P):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] - 2 * X[:, 2] + rng.normal(size=n)


X, Y = data()


Z = np.where(Y > 0, 1, -1)


FRAME = pd.DataFrame(X, columns=list("abcde"))


def with_entry(a, at, value):
    out = np.array(a, dtype=float)
    out[at] = value
    return out


def assert_refused(changed, error, message):
    """A fit to X and Y, but for what is changed, ends with an error of this message."""
    arguments = {"X": X, "y": Y} | changed
    with pytest.raises(error, match=message):
        l0path.fit(arguments.pop("X"), arguments.pop("y"), **arguments)
