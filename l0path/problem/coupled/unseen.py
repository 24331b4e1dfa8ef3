"""The columns that a loss which is no sum over rows does not see."""

import numpy as np

from ..verbs import derivatives

PROBES = 3  # predictors whose slopes must all be orthogonal to a column that the loss does not see
ORTHOGONAL = 1e-11  # the cosine up to which they are


def orthogonal_columns(loss, y, weights, X, square, least=0.0):
    """The columns (p,) of a design that are orthogonal to the slopes at random predictors, and so
    change no value: one read of X. square (p,): the weighted mean square of the columns; least: a
    size of the slopes below which they are rounding.
    """
    slopes, rest = np.empty((PROBES, y.size)), np.empty(y.size)
    rng = np.random.default_rng(0)
    for one in slopes:
        derivatives(loss, y, rng.standard_normal(y.size), weights, one, rest)
    size = max(np.sqrt((slopes**2 / weights).sum(axis=1).max()), least)
    length = np.sqrt(square) * (1.0 + np.abs(X.center) / X.scale)
    return np.abs(X.correlate(slopes.T)).max(axis=1) <= ORTHOGONAL * size * length
