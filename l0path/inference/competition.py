"""The competition of columns with their knockoffs: both side by side as data of one path, the
importance of each on it, and the threshold beyond which columns are selected.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..designs import as_design
from ..problem.problem import Data
from ..problem.verbs import restricted


class Match(NamedTuple):
    """Columns and their knockoffs side by side, as data of one path: the forced columns, then one
    of each pair, then the other.
    """

    data: Data
    columns: np.ndarray  # (m,) the columns that compete
    swapped: np.ndarray  # (m,) whether the knockoff stands first

    def statistic(self, Z, p):
        """W (p,) from the importance Z of all columns of the path, 0 where a column does not
        compete.
        """
        first, second = Z[self.data.forced.size :].reshape(2, self.columns.size)
        sign = np.sign(first - second) * np.where(self.swapped, -1.0, 1.0)
        W = np.zeros(p)
        W[self.columns] = np.maximum(first, second) * sign + 0.0  # no -0
        return W


def pair_up(data, A, copies, rows, columns, rng):
    """The `Match` of columns of A (n, p) with those of the knockoffs (n, p), in random order."""
    swapped = rng.random(columns.size) < 0.5
    own, twins = A[:, columns], copies[:, columns]
    first, second = np.where(swapped, twins, own), np.where(swapped, own, twins)
    at = np.concatenate([data.forced, columns, columns])
    names = np.array([str(name) for name in data.names], dtype=object)
    twin = np.array([f"~{name}" for name in names], dtype=object)
    labels = [
        *names[data.forced],
        *np.where(swapped, twin[columns], names[columns]),
        *np.where(swapped, names[columns], twin[columns]),
    ]
    design, labels, *_ = as_design(
        np.asfortranarray(np.hstack([A[:, data.forced], first, second])), labels
    )
    pairs = replace(
        data,
        design=design,
        y=data.y[rows],
        loss=restricted(data.loss, data.y, rows),
        weights=data.weights[rows],
        counts=None if data.counts is None else data.counts[rows],
        trials=None if data.trials is None else data.trials[rows],
        offset=None if data.offset is None else data.offset[rows],
        lower=data.lower[at],
        upper=data.upper[at],
        factor=data.factor[at],
        forced=np.arange(data.forced.size),
        excluded=np.zeros(at.size, dtype=bool),
        names=labels,
        copies=None,  # those of X, by its columns: none of them competes
    )
    return Match(pairs, columns, swapped)


def importance(path, statistic):
    """Z (p,) of each column of a path: see `knockoff_filter`. Over several slices the largest."""
    weights = path._meta.response_weights
    Z, top = np.zeros(path.p), max(s.k for s in path._solutions)
    slices = {}
    for s in path._solutions:
        slices.setdefault(s.slice, []).append(s)
    for part in slices.values():
        own = np.zeros(path.p)
        for s in part:
            b = lengths(s.beta, weights) * path._meta.scale[s.support]
            J, b = s.support[b > 0], b[b > 0]
            own[J] = (
                own[J] + b if statistic == "coefficient" else np.maximum(own[J], top + 1.0 - s.k)
            )
        Z = np.maximum(Z, own)
    return Z


def lengths(beta, weights=None):
    """|b_j| (k,) of coefficients (k,), or the lengths of the rows of (k, r) for responses of these
    weights, or classes.
    """
    if beta.ndim == 1:
        return np.abs(beta)
    return np.linalg.norm(beta if weights is None else beta * np.sqrt(weights), axis=1)


def threshold_of(W, fdr, plus=True):
    """The least t > 0 among |W| with (plus + #{W <= -t}) / max(1, #{W >= t}) <= fdr, inf if there
    is none: Barber & Candes (2015), equations (1.8), plus=False, and (1.9).
    """
    for t in np.unique(np.abs(W[W != 0])):
        if (int(plus) + (W <= -t).sum()) / max(1, (W >= t).sum()) <= fdr:
            return float(t)
    return math.inf
