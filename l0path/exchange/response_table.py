"""All exchanges of a support under several responses, with one Gram matrix: the gain of a column is
a sum over the responses.

With B = (G_SS + 2 lambda2 I)^-1, coefficients b (k, q), gradients c (m, q), V = B G_{S, columns}
and s_j = G_jj + 2 lambda2 - V_j . G_{S, j}, as in `table`:

    drop i:        ||b_i||^2 / (2 B_ii)
    add j:         -||c_j||^2 / (2 s_j)
    swap i for j:  ||b_i||^2 / (2 B_ii) - ||c_j + b_i V_ij / B_ii||^2 / (2 (s_j + V_ij^2 / B_ii))

The norm is over the responses: ||c_j||^2 + 2 V_ij b_i . c_j / B_ii + V_ij^2 ||b_i||^2 / B_ii^2,
whose inner products are one product of matrices. `ResponseTable` holds all of them for a check over
all columns.
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from ..working_set.linear_algebra import COLLINEAR, filled
from .table import NONE, START, _keep


class ResponseTable(NamedTuple):
    """The changes of F by exchanges of a fit with m columns: add (m,), inf where a column may not
    enter or is a combination of the support; swap (k, m), inf where a column may not enter or a
    member is locked, and the drop alone where it is a combination.
    """

    add: np.ndarray
    swap: np.ndarray


def all_exchanges(b, quadratic, lambda2, skip, locked, dependent=False):
    """The ResponseTable of a fit.

    Parameters
    ----------
    b : ndarray of shape (k, q)
        The coefficients of a fit, as `WorkingColumns.in_units` gives them.
    quadratic : Quadratic
        F near the fit on m columns.
    lambda2 : float
    skip : ndarray of shape (m,)
        The columns that may not enter.
    locked : ndarray of shape (k,)
        The members that stay.
    dependent : bool
        Whether combinations of a support count, for what a step of their coefficient alone gains.
    """
    rows, c, a, B = quadratic
    A, inverse = a + 2.0 * lambda2, 1.0 / np.diagonal(B)[:, None]
    V = B @ rows
    s = A - np.einsum("ij,ij->j", rows, V)
    size, square = np.einsum("ij,ij->i", c, c), (b**2).sum(axis=1)
    # of what a combination keeps beside the others; a column without curvature has nothing to gain
    instead = np.where(A > 0.0, A, np.inf) if dependent else np.inf
    drop = 0.5 * square * inverse[:, 0]
    add = np.full(s.size, np.inf)
    own = np.where(s > COLLINEAR * A, s, instead)
    np.divide(size, -2.0 * own, out=add, where=~skip & (own < np.inf) & (own > 0.0))
    U = V * inverse
    num = b @ c.T
    num *= 2.0
    num += U * square[:, None]
    num *= U
    num += size
    U *= V
    U += s  # what the column keeps beside the others
    U = np.where(U <= COLLINEAR * A, instead, U)
    num /= U
    num *= -0.5
    num += drop[:, None]
    num[:, skip] = np.inf
    num[locked] = np.inf
    return ResponseTable(add, num)


@njit
def scan_responses(quadratic, u, b, part, rule, found):
    """`ranking.scan` of several responses: b (k, q), gradients c (m, q), no lambda1."""
    B, rows, c = quadratic.B, quadratic.rows, quadratic.c
    (k, q), kept, square = b.shape, START, filled(b.shape[0], 0.0)
    for i in range(k):
        for s in range(q):
            square[i] += b[i, s] * b[i, s]
    for j in range(quadratic.a.size):
        if part.skip[j]:
            continue
        whole, size = quadratic.a[j] + 2.0 * rule.lambda2, 0.0
        left, instead = whole, whole if rule.dependent else np.inf
        for i in range(k):
            left -= u[i, j] * rows[i, j]
        for s in range(q):
            size += c[j, s] * c[j, s]
        own = left if left > COLLINEAR * whole else instead
        if 0.0 < own < np.inf:
            d = rule.target + part.cost[j] - 0.5 * size / own
            if d < min(0.0, rule.ceiling):
                kept = _keep(d, j, NONE, found, kept, rule.tie)
        for i in range(k):
            if part.locked[i]:
                continue
            share, inner = u[i, j] / B[i, i], 0.0
            for s in range(q):
                inner += b[i, s] * c[j, s]
            own = left + u[i, j] * share
            own = own if own > COLLINEAR * whole else instead
            d = 0.5 * (
                square[i] / B[i, i] - (size + share * (2.0 * inner + share * square[i])) / own
            )
            d += part.cost[j] - part.member_cost[i]
            if d < rule.ceiling:
                kept = _keep(d, j, i, found, kept, rule.tie)
    return kept
