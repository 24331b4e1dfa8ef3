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

from .table import COLLINEAR, in_steps


class ResponseTable(NamedTuple):
    """The changes of F by exchanges of a fit with m columns: drop (k,), inf where a member is
    locked; add (m,), inf where a column may not enter or is a combination of the support; swap
    (k, m), inf where a column may not enter, and the drop alone where it is a combination.
    """

    drop: np.ndarray
    add: np.ndarray
    swap: np.ndarray


def all_exchanges(fit, quadratic, lambda2, skip, locked, dependent=False):
    """The ResponseTable of a fit.

    Parameters
    ----------
    fit : Fit
    quadratic : Quadratic
        F near it on m columns.
    lambda2 : float
    skip : ndarray of shape (m,)
        The columns that may not enter.
    locked : ndarray of shape (k,)
        The members that stay.
    dependent : bool
        Whether combinations of a support count, for what a step of their coefficient alone gains.
    """
    rows, c, a, B = quadratic
    b, A, inverse = fit.b, a + 2.0 * lambda2, 1.0 / np.diagonal(B)[:, None]
    V = B @ rows
    s = A - np.einsum("ij,ij->j", rows, V)
    size, square = np.einsum("ij,ij->i", c, c), (b**2).sum(axis=1)
    instead = A if dependent else np.inf  # of what a combination keeps beside the others
    drop = 0.5 * square * inverse[:, 0]
    drop[locked] = np.inf
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
    return ResponseTable(drop, add, num)


def best_exchanges(fit, quadratic, part, rule, count):
    """(change, column, position) of the best exchanges of a fit, as `ranking.scan` keeps them, for
    the `Roles` of the columns and an `ExchangeRule` without lambda1.
    """
    found = all_exchanges(
        fit, quadratic, rule.lambda2, part.skip, part.locked, dependent=rule.dependent
    )
    swap = found.swap + part.cost - part.member_cost[:, None]
    add = rule.target + part.cost + found.add
    add[~(add < 0.0)] = np.inf
    change = np.vstack([add, swap]).T.ravel()
    change[~(change < rule.ceiling)] = np.inf
    best = np.argsort(in_steps(change, rule.tie), kind="stable")[:count]
    best = best[change[best] < np.inf]
    column, position = np.divmod(best, 1 + fit.support.size)
    return change[best], column, position - 1
