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

from .table import COLLINEAR


class ResponseTable(NamedTuple):
    """The changes of F by exchanges of a fit with m columns: drop (k,), inf where a member is
    locked; add (m,), inf where a column may not enter or is a combination of the support; swap
    (k, m), inf where a column may not enter, and the drop alone where it is a combination.
    """

    drop: np.ndarray
    add: np.ndarray
    swap: np.ndarray


def removals(b, B, kept, locked):
    """The increase of F by the removal of each member (k,), inf for those locked; 0 for members
    that are combinations of others.
    """
    out = np.zeros(len(b))
    out[kept] = 0.5 * (b[kept] ** 2).sum(axis=1) / np.diagonal(B)
    out[locked] = np.inf
    return out


def additions(quadratic, lambda2, skip):
    """(change of F by each column, V, s, ||c||^2, the columns that are combinations)."""
    rows, a = quadratic.rows[quadratic.kept], quadratic.a + 2.0 * lambda2
    V = quadratic.B @ rows
    s = a - np.einsum("ij,ij->j", rows, V)
    size = np.einsum("ij,ij->i", quadratic.c, quadratic.c)
    closed = skip | (s <= COLLINEAR * a) | (s <= 0.0)
    change = np.full(s.size, np.inf)
    np.divide(size, -2.0 * s, out=change, where=~closed)
    return change, V, s, size


def all_exchanges(fit, quadratic, lambda2, skip, locked):
    """The ResponseTable of a fit.

    Parameters
    ----------
    fit : Fit
    quadratic : ResponseQuadratic
        F near it on m columns.
    lambda2 : float
    skip : ndarray of shape (m,)
        The columns that may not enter.
    locked : ndarray of shape (k,)
        The members that stay.
    """
    B, kept = quadratic.B, quadratic.kept
    add, V, s, size = additions(quadratic, lambda2, skip)
    drop = removals(fit.b, B, kept, locked)
    b, inverse = fit.b[kept], 1.0 / np.diagonal(B)[:, None]
    U = V * inverse
    num = b @ quadratic.c.T
    num *= 2.0
    num += U * (b**2).sum(axis=1)[:, None]
    num *= U
    num += size
    U *= V
    U += s  # what the column keeps beside the others
    np.putmask(U, U <= COLLINEAR * (quadratic.a + 2.0 * lambda2), np.inf)  # combinations gain 0
    num /= U
    num *= -0.5
    num += drop[kept][:, None]
    swap = num
    if kept.size < len(fit.b):
        swap = np.full((len(fit.b), size.size), np.inf)
        swap[kept] = num
    swap[:, skip] = np.inf
    swap[locked] = np.inf
    return ResponseTable(drop, add, swap)
