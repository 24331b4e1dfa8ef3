"""All exchanges of a support under several responses, with one Gram matrix: the gain of a column is
a sum over the responses.

With B = (G_SS + 2 lambda2 I)^-1, coefficients b (k, q), gradients c (m, q), V = B G_{S, columns}
and s_j = G_jj + 2 lambda2 - V_j . G_{S, j}, as in `table`:

    drop i:        ||b_i||^2 / (2 B_ii)
    add j:         -||c_j||^2 / (2 s_j)
    swap i for j:  ||b_i||^2 / (2 B_ii) - ||c_j + b_i V_ij / B_ii||^2 / (2 (s_j + V_ij^2 / B_ii))

The norm is over the responses: ||c_j||^2 + 2 V_ij b_i . c_j / B_ii + V_ij^2 ||b_i||^2 / B_ii^2,
whose inner products are one product of matrices. `ResponseTable` holds all of them for a check over
all columns. On the working columns a `ResponseState` follows the support by rank-one changes, and
the sweeps of `table_sweeps` go over the sizes with it.
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from . import table, table_sweeps
from .table import COLLINEAR, NONE, REFRESH


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


class ResponseState(NamedTuple):
    """One support under q responses on w working columns."""

    plain: table.State  # a state without a response, whose arrays are the fields S to holding
    S: np.ndarray  # (capacity,), the support
    member: np.ndarray  # (w,), bool
    B: np.ndarray  # (capacity, capacity), inverse
    V: np.ndarray  # (w, capacity)
    s: np.ndarray  # (w,), curvature that is left
    scratch: np.ndarray  # (5, max(w, capacity)), work space
    count: np.ndarray  # (2,), size k, and rank-one changes since the last build
    holding: np.ndarray  # (w,), how many members need a column
    b: np.ndarray  # (q, capacity), coefficients
    c: np.ndarray  # (w, q), gradients
    products: np.ndarray  # (w, q), of the columns with the responses


def new_state(products, capacity):
    """An empty state for the working columns with these products (w, q), and supports up to
    `capacity`.
    """
    products = np.ascontiguousarray(products)
    plain, b = table.new_state(len(products), capacity), np.zeros((products.shape[1], capacity))
    arrays = (getattr(plain, name) for name in ResponseState._fields[1:9])
    return ResponseState(plain, *arrays, b, products.copy(), products)


def clear(state, columns):
    """Make the state hold the empty support."""
    table.clear(state.plain, columns)
    state.c[:] = state.products


@njit
def _build(state, columns, k):
    """`build` of a ResponseState."""
    table.build(state.plain, columns, k)
    S, B, b, c = state.S, state.B, state.b, state.c
    for r in range(b.shape[0]):
        for i in range(k):
            t = 0.0
            for l in range(k):
                t += B[i, l] * state.products[S[l], r]
            b[r, i] = t
    for j in range(columns.w):
        for r in range(b.shape[0]):
            t = state.products[j, r]
            for i in range(k):
                t -= columns.G[j, S[i]] * b[r, i]
            c[j, r] = t


@njit
def _add(state, columns, j0):
    """`add` of a ResponseState: O((k + q) w)."""
    table.add(state.plain, columns, j0)
    B, V, b, c, k = state.B, state.V, state.b, state.c, state.count[0] - 1
    for r in range(b.shape[0]):
        t = c[j0, r]
        b[r, k] = B[k, k] * t
        for i in range(k):
            b[r, i] += B[i, k] * t
        for j in range(columns.w):
            c[j, r] -= V[j, k] * t


@njit
def _drop(state, columns, i0):
    """`drop` of a ResponseState."""
    B, V, b, c, last = state.B, state.V, state.b, state.c, state.count[0] - 1
    for r in range(b.shape[0]):
        t = b[r, i0] / B[i0, i0]
        for i in range(last + 1):
            b[r, i] -= t * B[i, i0]
        b[r, i0] = b[r, last]
        for j in range(columns.w):
            c[j, r] += t * V[j, i0]
    table.drop(state.plain, columns, i0)


@njit
def _add_best(state, columns, tie):
    """`table.add_best` of a ResponseState."""
    best, where = 0.0, NONE
    for j in range(columns.w):
        s, A = state.s[j], columns.G[j, j] + columns.ridge_diag
        if state.member[j] or s <= COLLINEAR * A or s <= 0.0 or columns.cost[j] > 1e299:
            continue
        t = 0.0
        for r in range(state.c.shape[1]):
            t += state.c[j, r] * state.c[j, r]
        if where < 0 or 0.5 * t > (best + tie) * s:
            best, where = 0.5 * t / s, j
    if where >= 0:
        _add(state, columns, where)
    return where >= 0


@njit
def _square(state, i):
    """The squared norm of the coefficients at position i."""
    t = 0.0
    for r in range(state.b.shape[0]):
        t += state.b[r, i] * state.b[r, i]
    return t


@njit
def _cheapest_drop(state, columns, tie):
    """`table.cheapest_drop` of a ResponseState."""
    best, where = np.inf, NONE
    for i in range(state.count[0]):
        if not columns.locked[state.S[i]]:
            rise = 0.5 * _square(state, i) / state.B[i, i]
            if rise < best - tie:
                best, where = rise, i
    return where


@njit
def _polish(state, columns, tolerance, max_swaps):
    """`table.polish` of a ResponseState."""
    S, B, V, s, b, c = state.S, state.B, state.V, state.s, state.b, state.c
    k, q, swaps = state.count[0], b.shape[0], 0
    inner, size, inverse, limit = (
        state.scratch[1],
        state.scratch[2],
        state.scratch[3],
        state.scratch[4],
    )
    while True:
        best, best_i, best_j = -tolerance, NONE, NONE
        for i in range(k):
            size[i], inverse[i] = _square(state, i), 1.0 / B[i, i]
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
                        best, best_i, best_j = change - tolerance, i, j
            if best_j == j:
                for i in range(k):
                    if limit[i] < 1e299:
                        limit[i] = size[i] * inverse[i] - 2.0 * best
        if best_j < 0:
            return swaps + 1
        if swaps >= max_swaps:
            return -swaps
        _drop(state, columns, best_i)
        _add(state, columns, best_j)
        swaps += 1
        if state.count[1] > REFRESH:
            _build(state, columns, k)


@njit
def _refine(state, columns):
    """`refine` of a ResponseState."""
    S, k, residual, off, length = state.S, state.count[0], state.scratch[1], 0.0, 0.0
    for r in range(state.b.shape[0]):
        b = state.b[r]
        for i in range(k):
            t = state.products[S[i], r] - columns.ridge_diag * b[i]
            for l in range(k):
                t -= columns.G[S[i], S[l]] * b[l]
            residual[i] = t
        for i in range(k):
            t = 0.0
            for l in range(k):
                t += state.B[i, l] * residual[l]
            length = max(length, abs(b[i]))
            off = max(off, abs(t))
            b[i] += t
    return off / max(length, 1e-300)


# -------------------- what sweeps ask of the state, see `table_sweeps`


@table_sweeps.build.register(ResponseState)
def response_state_build(state, columns, k):
    _build(state, columns, k)


@table_sweeps.add.register(ResponseState)
def response_state_add(state, columns, j0):
    _add(state, columns, j0)


@table_sweeps.drop.register(ResponseState)
def response_state_drop(state, columns, i0):
    _drop(state, columns, i0)


@table_sweeps.add_best.register(ResponseState)
def response_state_add_best(state, columns, tie):
    return _add_best(state, columns, tie)


@table_sweeps.cheapest_drop.register(ResponseState)
def response_state_cheapest_drop(state, columns, tie):
    return _cheapest_drop(state, columns, tie)


@table_sweeps.polish.register(ResponseState)
def response_state_polish(state, columns, tolerance, max_swaps):
    return _polish(state, columns, tolerance, max_swaps)


@table_sweeps.fitted_part.register(ResponseState)
def response_state_fitted_part(state, columns):
    t = 0.0
    for i in range(state.count[0]):
        for r in range(state.b.shape[0]):
            t += state.products[state.S[i], r] * state.b[r, i]
    return 0.5 * t


@table_sweeps.refine.register(ResponseState)
def response_state_refine(state, columns):
    return _refine(state, columns)


@table_sweeps.coefficient_size.register(ResponseState)
def response_state_coefficient_size(state, i):
    return math.sqrt(_square(state, i))


@table_sweeps.copy_coefficients.register(ResponseState)
def response_state_copy_coefficients(state, out):
    for i in range(state.count[0]):
        for r in range(state.b.shape[0]):
            out[i, r] = state.b[r, i]
