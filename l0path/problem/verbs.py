"""Verbs that solvers ask of a loss. They are chosen by the class of its record, in Python and in
kernels.

A loss that is a sum over rows registers the verbs of one row: `value`, `slope`, `curvature`, and
`fenchel_gap` if bounds are to refute exchanges. The verbs of all rows below then sum these. A loss
that couples rows (the partial likelihood of Cox) registers the verbs of all rows instead:

    value_of_rows         the loss at a predictor eta (n,)
    derivatives_of_rows   its slopes, and v (n,) of its curvature B = diag(v) - P'P in eta
    slope_along           its slope along a line between two predictors
    coupling_of_rows      P z for columns z, and `rank_of`, the number of rows of P
    curvature_times       B z for columns z, and `hessian_of_rows`, by a loss without P: then v is
                          B 1, which an intercept needs
    bound_of_rows         a lower bound by weak duality; without one it refutes nothing
    origin_of             a number that may be taken off every predictor
    along_the_way         the loss with a memory of predictors, if that makes it faster

Its traits say `coupled`. Whoever makes Hessians, or tables of exchanges, takes off (P Z')'(P Z')
from what v gives (`coupled_columns`). Python calls the functions at the end, which are compiled.
"""

import math
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from ..core.dispatch import generic, njit

SIGNS = 4  # products from which the diagonal of a curvature is estimated

# -------------------- one row


@generic
def value(loss, y, eta):
    """Loss of one row."""
    raise TypeError("this loss has no value")


@generic
def slope(loss, y, eta):
    """First derivative in eta."""
    raise TypeError("this loss has no slope")


@generic
def curvature(loss, y, eta):
    """Second derivative in eta (one of its values where it jumps)."""
    raise TypeError("this loss has no curvature")


@generic
def fenchel_gap(loss, y, eta, at, dual):
    """At least l*(dual) + l(eta) - dual eta, where l* is the conjugate of the loss of one row in
    eta and `at` its slope at eta; inf where l* is infinite, and for losses without one, of which
    no exchange is then refuted by a bound.
    """
    return math.inf


# -------------------- all rows


class Tangent(NamedTuple):
    """A predictor, and what `derivatives_of_rows` fills there: (n,) each."""

    start: np.ndarray
    slopes: np.ndarray
    curvatures: np.ndarray


@generic
def value_of_rows(loss, y, eta, weights):
    """The loss at eta (n,); weights (n,) sum to one."""
    total = 0.0
    for i in range(y.size):
        total += weights[i] * value(loss, y[i], eta[i])
    return total


@generic
def derivatives_of_rows(loss, y, eta, weights, slopes, curvatures):
    """Fill slopes (n,) and v (n,) = `curvatures`, with the weights in them; returns the loss."""
    total = 0.0
    for i in range(y.size):
        total += weights[i] * value(loss, y[i], eta[i])
        slopes[i] = weights[i] * slope(loss, y[i], eta[i])
        curvatures[i] = weights[i] * curvature(loss, y[i], eta[i])
    return total


@generic
def origin_of(loss, slopes, eta):
    """What a predictor eta (n,) is counted from where sizes of it are compared: 0, unless a number
    added to every predictor changes nothing.
    """
    return 0.0


@njit
def middle(slopes, eta):
    """The mean of eta (n,) by the sizes of the slopes (n,), which a row far out hardly has."""
    size, total = 0.0, 0.0
    for i in range(eta.size):
        size += abs(slopes[i])
        total += abs(slopes[i]) * eta[i]
    return total / size if size > 0.0 else 0.0


@generic
def along_the_way(loss, y):
    """The loss for kernels that go from one predictor to the next: it may remember where it was."""
    return loss


@generic
def slope_along(loss, y, weights, start, end, t):
    """The derivative of the loss in t at start + t (end - start)."""
    total = 0.0
    for i in range(y.size):
        d = end[i] - start[i]
        total += weights[i] * slope(loss, y[i], start[i] + t * d) * d
    return total


@generic
def rank_of(loss):
    """The number of rows of P; 0 for a loss that is a sum over rows."""
    return 0


@generic
def coupling_of_rows(loss, y, eta, weights, Z, out):
    """out (k, rank_of) = Z P' at eta; Z (k, n) has a column in each row."""


@generic
def curvature_times(loss, y, eta, weights, Z, out):
    """out (k, n) = Z B at eta, of a coupled loss that has no P; Z (k, n) has a column in each
    row.
    """


@generic
def hessian_of_rows(loss, rows, S, eta, H):
    """Fill H[:k, :k] with Z_S B Z_S' at eta (n,) where the loss gives products with B; else H stays
    as v and P made it. rows: y, weights (n,) and the columns Z (w, n), one a row, of which S (k,)
    are asked for.
    """


@njit
def dual_gain(loss, y, w, eta, slope_here, dual, move):
    """What a row of weight w adds to the value of a dual point over that of the loss at eta, for
    predictors that have moved by `move`: dual move less w times the gap of the conjugate. The
    slope at eta and dual have w in them. -inf where dual leaves the domain of the conjugate.
    """
    inverse = 1.0 / w
    return dual * move - w * fenchel_gap(loss, y, eta, slope_here * inverse, dual * inverse)


@generic
def bound_of_rows(loss, y, weights, tangent, end):
    """A lower bound on the loss over these columns, less the loss at the start of `tangent`, by
    weak duality.

    The dual point is slopes + B (end - start), the slopes that the quadratic model foretells at its
    optimum `end` (n,): there it is feasible, whatever the loss does. -inf where it leaves the
    domain of the conjugate. The shrinkage at `end` comes on top.
    """
    total = 0.0
    for i in range(y.size):
        d = end[i] - tangent.start[i]
        here = tangent.slopes[i]
        dual = here + tangent.curvatures[i] * d
        # without branches, for vector units
        total += dual_gain(loss, y[i], weights[i], tangent.start[i], here, dual, d)
    return total if abs(total) < math.inf else -math.inf


@singledispatch
def least_value(loss, y, weights):
    """A lower bound on the value of a coupled loss."""
    return -math.inf


@singledispatch
def unseen(loss, y, weights, X, square):
    """The columns (p,) of a design that a coupled loss does not see, because they change no
    predictor but by what it takes off: one read of X, or none. square (p,): the weighted mean
    square of the columns.
    """
    return np.zeros(X.p, dtype=bool)


# -------------------- compiled


@njit
def mean_loss(loss, y, eta, weights):
    """`value_of_rows`."""
    return value_of_rows(loss, y, eta, weights)


@njit
def derivatives(loss, y, eta, weights, slopes, curvatures):
    """`derivatives_of_rows`."""
    return derivatives_of_rows(loss, y, eta, weights, slopes, curvatures)


@njit
def dual_bound(loss, y, weights, tangent, end):
    """`bound_of_rows`."""
    return bound_of_rows(loss, y, weights, tangent, end)


@njit
def _coupling(loss, y, eta, weights, Z, out):
    coupling_of_rows(loss, y, eta, weights, Z, out)


@njit
def _products(loss, y, eta, weights, Z, out):
    curvature_times(loss, y, eta, weights, Z, out)


@njit
def origin(loss, slopes, eta):
    """`origin_of`."""
    return origin_of(loss, slopes, eta)


def multiplies(loss):
    """Whether a loss gives its curvature as products with columns, and not by v and P."""
    return loss.traits.coupled and not rank_of(loss)


def derivatives_with_sizes(loss, y, eta, weights, slopes, curvatures):
    """`derivatives` where v is to say how large the curvatures of rows are: for a loss that
    `multiplies`, the diagonal of B as products with random signs estimate it. It is exact where
    that is all of B.
    """
    value = derivatives(loss, y, eta, weights, slopes, curvatures)
    if multiplies(loss):
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(SIGNS, y.size))
        products = multiply_columns(loss, y, eta, weights, signs)
        curvatures[:] = np.maximum((signs * products).mean(axis=0), 0.0)
    return value


def multiply_columns(loss, y, eta, weights, Z):
    """Z B (m, n) at a predictor, for columns Z (m, n), one a row, by a loss that `multiplies`."""
    out = np.empty(Z.shape)
    _products(loss, y, eta, weights, np.ascontiguousarray(Z), out)
    return out


def coupled_columns(loss, y, eta, weights, Z):
    """Z P' (m, rank_of) for columns Z (m, n), one a row, at a predictor: what the curvature of a
    coupled loss takes off is the product of two such.
    """
    out = np.empty((Z.shape[0], rank_of(loss)))
    _coupling(loss, y, eta, weights, np.ascontiguousarray(Z), out)
    return out
