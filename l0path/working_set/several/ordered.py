"""The quadratic at a fit of ordered classes, their thresholds eliminated."""

import math
from typing import NamedTuple

import numpy as np

from ...compiled import part
from ...core.dispatch import njit
from ...problem.coupled.ordinal import (
    BestThresholds,
    fill_coupling,
    thresholds_in,
    thresholds_size,
)
from ...problem.recession import LEAST_SPREAD, SURE
from ...problem.verbs import rank_of, state_of_rows
from ..linear_algebra import invert_with_ridge, predictor, products


class OrderedTable(NamedTuple):
    """The quadratic at a fit of ordered classes, k features and K classes."""

    S: np.ndarray  # (k,), the support, as positions in W
    b: np.ndarray  # (k,), coefficients
    F: float  # the value
    lambda2: float
    eta: np.ndarray  # (n,), predictor
    v: np.ndarray  # (n,), curvatures
    g: np.ndarray  # (k,), gradient
    H: np.ndarray  # (k, k), Hessian, with the ridge
    B: np.ndarray  # (k, k), its inverse
    state: np.ndarray  # of the loss at that predictor, see `verbs.state_size`
    best: BestThresholds  # the best thresholds
    stack: np.ndarray  # (k + K, n), the three that follow
    ZV: np.ndarray  # (k, n), the members times the curvatures
    slopes: np.ndarray  # (n,)
    P: np.ndarray  # (K - 1, n), whose products with the members are taken off the curvature
    coupled: np.ndarray  # (k, K - 1), these products


def ordered_table(rows, S, fit, lambda2, thresholds):
    """The `OrderedTable` of a fit on the working columns S.

    Parameters
    ----------
    rows : newton.LossRows
        The loss, the rows and the working columns.
    S : ndarray of int of shape (k,)
        Positions of the support in the working columns.
    fit : Fit
        Coefficients and value.
    lambda2 : float
        The ridge.
    thresholds : ndarray of shape (K - 1,) or (0,)
        Thresholds from which the best ones are sought, or none.
    """
    k, n, m = S.size, rows.y.size, rank_of(rows.loss)
    stack, square, wide = np.empty((k + 1 + m, n)), np.empty((2, k, k)), np.empty((2, n))
    state = np.empty(1 + 2 * n + thresholds_size(m + 1, n))
    table = OrderedTable(
        S,
        fit.b,
        float(fit.value),
        float(lambda2),
        wide[0],
        wide[1],
        np.empty(k),
        square[0],
        square[1],
        state,
        thresholds_in(m + 1, n, state[1 + 2 * n :]),
        stack,
        stack[:k],
        stack[k],
        stack[k + 1 :],
        np.empty((k, m)),
    )
    _fill(rows, thresholds, table)
    return table


@njit
def _fill(rows, thresholds, table):
    """Fill a table of which the support, coefficients, value and ridge are known."""
    S, v, ZV, P, H, best, k = table.S, table.v, table.ZV, table.P, table.H, table.best, table.S.size
    predictor(rows.Z, S, table.b, 0.0, rows.offset, table.eta)
    state_of_rows(rows.loss, rows.y, table.eta, rows.weights, np.empty(0), thresholds, table.state)
    upper, lower = best.upper, best.lower
    for i in range(v.size):
        v[i] = upper.curvature[i] + lower.curvature[i]
        table.slopes[i] = upper.slope[i] - lower.slope[i]
    fill_coupling(rows.y, best, P)
    for a in range(k):
        z, out = rows.Z[S[a]], ZV[a]
        for i in range(v.size):
            out[i] = z[i] * v[i]
        products(rows.Z, part(S, 0, a + 1), out, H[a])
        products(P, np.arange(P.shape[0]), z, table.coupled[a])
    products(rows.Z, S, table.slopes, table.g)
    for a in range(k):
        table.g[a] += 2.0 * table.lambda2 * table.b[a]
        H[a, a] += 2.0 * table.lambda2
        for c in range(a + 1):
            t = H[a, c]
            for j in range(P.shape[0]):
                t -= table.coupled[a, j] * table.coupled[c, j]
            H[a, c], H[c, a] = t, t
    invert_with_ridge(H.copy(), k, table.B)


@njit
def clear_optimum(y, at):
    """`recession.ordered_optimum` where it can be told by the Hessian in the coefficients: a term
    of curvature h has a'H^-1 a <= 1 / h, and the least eigenvalue of H is at least
    1 / trace(H^-1).

    Parameters
    ----------
    y : ndarray of shape (n,)
        Codes of the classes.
    at : OrderedTable
        At a fit without a penalty.

    Returns
    -------
    bool
        False where that is not shown.
    """
    best, m, k, decrement, lowest = at.best, at.best.t.size, at.g.size, 0.0, 1.0
    least, reach = math.inf, 0.0
    for i in range(y.size):
        if y[i] < m:
            least = min(least, best.upper.curvature[i])
        if y[i] > 0:
            least = min(least, best.lower.curvature[i])
    for j in range(1, m):
        q = 1.0 / math.expm1(best.t[j] - best.t[j - 1])
        between = best.mass[j] * q * (1.0 + q)
        least = min(least, between)
        reach = max(reach, (1.0 + 2.0 * q) ** 2 / between)
    for a in range(k):
        lowest = min(lowest, at.B[a, a])
        for c in range(k):
            decrement += at.g[a] * at.B[a, c] * at.g[c]
    if not (least > 0.0 and decrement >= 0.0 and lowest > 0.0):
        return False
    reach = max(reach, 1.0 / least)
    trace, share = _trace_of_inverse(at)
    # of a column without length the share is below 1
    sure = trace * LEAST_SPREAD < 1.0 and share > 0.5
    return sure and decrement * reach < SURE * SURE


@njit
def _trace_of_inverse(at):
    """The trace of the inverse Hessian in coefficients and thresholds, both scaled to a unit
    diagonal, inf where it is singular; and the least entry of a coefficient on its diagonal.
    """
    best, B, k, m = at.best, at.B, at.g.size, at.best.t.size
    trace, share = 0.0, 1.0
    for a in range(k):
        unit = at.H[a, a]
        for j in range(m):
            unit += at.coupled[a, j] * at.coupled[a, j]
        trace += unit * B[a, a]
        share = min(share, unit * B[a, a])
    L, crossed = np.zeros((m, m)), np.zeros((m, k))  # of H_tt = K K' the inverse of K; H_tt^-1 H_tb
    pivot, under = 0.0, 0.0
    for j in range(m):
        left = best.diagonal[j] - under * under
        if not left > 0.0:
            return math.inf, share
        pivot = math.sqrt(left)
        for l in range(j + 1):
            L[j, l] = ((1.0 if l == j else 0.0) - (under * L[j - 1, l] if j else 0.0)) / pivot
        under = best.beside[j] / pivot
    for j in range(m):
        for l in range(j, m):
            trace += best.diagonal[j] * L[l, j] * L[l, j]
            for a in range(k):
                crossed[j, a] += L[l, j] * at.coupled[a, l]
        for a in range(k):
            for c in range(k):
                trace += best.diagonal[j] * crossed[j, a] * B[a, c] * crossed[j, c]
    return trace, share
