"""Survival times with predictors, their fits, and the best of all supports by enumeration."""

import warnings

import numpy as np
import pytest
import survival

import l0path
from l0path.errors import SeparationWarning


def drawn(seed, n=36, p=6, **more):
    """(X, Times) with degenerate columns: a copy, an opposite, a constant one, a combination."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 3] = X[:, 0] + 0.4 * rng.standard_normal(n)
    times = survival.draw(rng, n, eta=0.8 * X[:, 0] - 0.8 * X[:, 1], **more)
    if seed % 3 == 0:
        X[:, 4] = 2.0 - 3.0 * X[:, 1]
    if seed % 4 == 0:
        X[:, 5] = 7.0
    if seed % 5 == 0:
        X[:, 2] = X[:, 0] + X[:, 1]
    return X, times


def response(times):
    """y as `fit` takes it."""
    if np.isfinite(times.start).any():
        return np.column_stack([times.start, times.stop, times.event])
    return np.column_stack([times.stop, times.event])


def fitted(X, times, **arguments):
    stratum = times.stratum if times.stratum.max() > 0 else None
    whole, weighing = np.array_equal(times.weights, np.round(times.weights)), {}
    if np.ptp(times.weights) > 0:
        weighing = {"freq_weight" if whole else "sample_weight": times.weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        return l0path.fit(
            X,
            response(times),
            strata=stratum,
            **{"loss": "cox", **weighing, **arguments},
        )


def least(X, times, path, **settings):
    """The enumerated least values of the sizes of a path."""
    return survival.enumerated(X, times, [s.k for s in path._solutions], **settings)


def compare(path, expected):
    """Every size as low as enumerated, and none lower."""
    found = path.details["objective"].to_numpy()
    assert found == pytest.approx(np.array(expected), rel=1e-8, abs=1e-9)
    assert (found >= np.array(expected) * (1 - 1e-10) - 1e-10).all()


CASES = [
    {"seed": 1},
    {"seed": 2, "entry": True},
    {"seed": 3, "strata": 2, "weighted": True},
    {"seed": 4, "entry": True, "strata": 2},
    {"seed": 5, "weighted": True},
    {"seed": 8, "tied": False},
]
