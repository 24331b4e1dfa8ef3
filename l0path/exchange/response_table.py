"""All exchanges of a support under several responses, with one Gram matrix: the gain of a column is
a sum over the responses.

With B = (G_SS + 2 lambda2 I)^-1, coefficients b (k, q), gradients c (m, q), V = B G_{S, columns}
and s_j = G_jj + 2 lambda2 - V_j . G_{S, j}, as in `table`:

    drop i:        ||b_i||^2 / (2 B_ii)
    add j:         -||c_j||^2 / (2 s_j)
    swap i for j:  ||b_i||^2 / (2 B_ii) - ||c_j + b_i V_ij / B_ii||^2 / (2 (s_j + V_ij^2 / B_ii))

The norm is over the responses: ||c_j||^2 + 2 V_ij b_i . c_j / B_ii + V_ij^2 ||b_i||^2 / B_ii^2,
whose inner products are one product of matrices. `ResponseTable` holds all of them for a check over
all columns. On the working columns a `table.State`, in which q = 0, follows the support by rank-one
changes, and with it `Coefficients` of the responses.
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from .table import COLLINEAR, NONE, REFRESH, add, build, drop


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


def table(fit, quadratic, lambda2, skip, locked):
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


class Coefficients(NamedTuple):
    """The part of q responses that a `table.State` lacks: products with the columns (w, q),
    coefficients (q, capacity), gradients c (w, q).
    """

    products: np.ndarray
    b: np.ndarray
    c: np.ndarray


@njit
def build_all(state, columns, more, k):
    """Fill the state and the coefficients anew for the support state.S[:k]."""
    build(state, columns, k)
    S, B, b, c = state.S, state.B, more.b, more.c
    for r in range(b.shape[0]):
        for i in range(k):
            t = 0.0
            for l in range(k):
                t += B[i, l] * more.products[S[l], r]
            b[r, i] = t
    for j in range(columns.w):
        for r in range(b.shape[0]):
            t = more.products[j, r]
            for i in range(k):
                t -= columns.G[j, S[i]] * b[r, i]
            c[j, r] = t


@njit
def add_one(state, columns, more, j0):
    """Add working column j0 to the support by rank one: O((k + q) w)."""
    add(state, columns, j0)
    B, V, b, c, k = state.B, state.V, more.b, more.c, state.count[0] - 1
    for r in range(b.shape[0]):
        t = c[j0, r]
        b[r, k] = B[k, k] * t
        for i in range(k):
            b[r, i] += B[i, k] * t
        for j in range(columns.w):
            c[j, r] -= V[j, k] * t


@njit
def drop_one(state, columns, more, i0):
    """Remove position i0 from the support by rank one; the last position takes its place."""
    B, V, b, c, last = state.B, state.V, more.b, more.c, state.count[0] - 1
    for r in range(b.shape[0]):
        t = b[r, i0] / B[i0, i0]
        for i in range(last + 1):
            b[r, i] -= t * B[i, i0]
        b[r, i0] = b[r, last]
        for j in range(columns.w):
            c[j, r] += t * V[j, i0]
    drop(state, columns, i0)


@njit
def best_column(state, columns, more):
    """The column that lowers F most, -1 where none is independent of the support."""
    best, where = -1.0, NONE
    for j in range(columns.w):
        s, A = state.s[j], columns.G[j, j] + columns.ridge_diag
        if state.member[j] or s <= COLLINEAR * A or s <= 0.0 or columns.cost[j] > 1e299:
            continue
        t = 0.0
        for r in range(more.c.shape[1]):
            t += more.c[j, r] * more.c[j, r]
        if t > best * s:
            best, where = t / s, j
    return where


@njit
def polish_all(state, columns, more, tolerance, max_swaps):
    """Take the best improving swap until none improves by more than `tolerance`, as
    `table.polish`; returns the number of tables looked at.
    """
    S, B, V, s, b, c = state.S, state.B, state.V, state.s, more.b, more.c
    k, q, tables = state.count[0], b.shape[0], 0
    inner, size, inverse, limit = (
        state.scratch[1],
        state.scratch[2],
        state.scratch[3],
        state.scratch[4],
    )
    while tables <= max_swaps:
        tables += 1
        best, best_i, best_j = -tolerance, NONE, NONE
        for i in range(k):
            size[i], inverse[i] = 0.0, 1.0 / B[i, i]
            for r in range(q):
                size[i] += b[r, i] * b[r, i]
            free = not columns.locked[S[i]]
            limit[i] = size[i] * inverse[i] - 2.0 * best if free else 1e300
        for j in range(columns.w):
            if state.member[j] or columns.cost[j] > 1e299:
                continue
            total, hits = 0.0, 0
            for i in range(k):
                inner[i] = 0.0
            for r in range(q):
                t = c[j, r]
                total += t * t
                for i in range(k):
                    inner[i] += t * b[r, i]
            for i in range(k):
                u = V[j, i] * inverse[i]
                num = total + u * (2.0 * inner[i] + u * size[i])
                hits += num > limit[i] * (s[j] + V[j, i] * u)
            if hits == 0:
                continue
            floor = COLLINEAR * (columns.G[j, j] + columns.ridge_diag)
            for i in range(k):
                u = V[j, i] * inverse[i]
                num, den = total + u * (2.0 * inner[i] + u * size[i]), s[j] + V[j, i] * u
                if den > floor and num > limit[i] * den:
                    change = 0.5 * (size[i] * inverse[i] - num / den)
                    if change < best:
                        best, best_i, best_j = change, i, j
            if best_j == j:
                for i in range(k):
                    if limit[i] < 1e299:
                        limit[i] = size[i] * inverse[i] - 2.0 * best
        if best_j < 0:
            return tables
        drop_one(state, columns, more, best_i)
        add_one(state, columns, more, best_j)
        if state.count[1] > REFRESH:
            build_all(state, columns, more, k)
    return tables
