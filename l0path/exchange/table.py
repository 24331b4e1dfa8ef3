"""Exchanges with refit: what every add, drop and swap would change, all other coefficients
re-optimized (Hazimeh & Mazumder 2020 freeze the others).

For the quadratic  F(b) = const - q'b + b'Gb / 2 + lambda2 ||b||^2  on a support S of size k, with B
= (G_SS + 2 lambda2 I)^-1:

    b = B q_S,   V = G_{:,S} B,   c = q - G_{:,S} b,   s_j = G_jj + 2 lambda2 - V_j . G_{j,S}
    drop i:        b_i^2 / (2 B_ii)
    add j:         -c_j^2 / (2 s_j)
    swap i for j:  b_i^2 / (2 B_ii) - (c_j + b_i V_ji / B_ii)^2 / (2 (s_j + V_ji^2 / B_ii))

Under q responses each has its b and c, and squares of these are sums over the responses: B, V and s
are the same for all of them.

`State` keeps these numbers for one support over the w working columns and changes them by rank one,
O((k + q) w) a move.
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from ..working_set.linear_algebra import COLLINEAR, WEAK

NONE, START = (
    np.int64(-1),
    np.int64(0),
)  # typed: a plain number would compile a second kernel for the constant
# rank-one changes after which a state is built anew, so that rounding does not pile up
REFRESH = 40


# share of F by which changes may differ that count as equal: rounding, which differs between
# processors, then chooses no exchange
EQUAL = 1e-10


def in_steps(changes, tie):
    """Changes (array) counted in steps of `tie`, so that those that count as equal are equal."""
    with np.errstate(over="ignore"):
        return np.rint(changes / tie) if tie > 0.0 else changes


def ascending(change, tie, *numbers):
    """The order of exchanges by their changes, in steps as of `in_steps`, then by these numbers,
    arrays of integers.
    """
    steps = in_steps(change, tie)
    order = np.argsort(steps, kind="stable")  # of lists that are ascending: in no time
    steps_there = steps[order]
    if (steps_there[1:] != steps_there[:-1]).all():
        return order
    return np.lexsort((*numbers[::-1], steps))


def in_order(tie):
    """Key to sort (change, index, ...) by: changes in steps as of `in_steps`, then indices."""

    def key(exchange):
        steps = exchange[0] / tie if tie > 0.0 else exchange[0]
        return round(steps) if abs(steps) < 1e15 else steps, *exchange[1:]

    return key


class State(NamedTuple):
    """One support on w working columns: see the head of this module."""

    S: np.ndarray  # (capacity,), the support
    member: np.ndarray  # (w,), bool
    B: np.ndarray  # (capacity, capacity), inverse
    b: np.ndarray  # (q, capacity), coefficients
    V: np.ndarray  # (w, capacity)
    c: np.ndarray  # (w, q), gradients
    s: np.ndarray  # (w,), curvature that is left
    scratch: np.ndarray  # (5, max(w, capacity, q)), work space
    count: np.ndarray  # (2,), size k, and rank-one changes since the last build
    lacking: np.ndarray  # (w,), how many columns that a column needs are outside
    holding: np.ndarray  # (w,), how many members need a column


class Columns(NamedTuple):
    """The quadratic on the w working columns."""

    G: np.ndarray  # (w, w) at least
    q: np.ndarray  # (w, q), products with the responses
    ridge_diag: float  # 2 lambda2
    w: int
    locked: np.ndarray  # (w,), bool: never dropped
    cost: np.ndarray  # (w,), of being in; 1e300: it may not enter
    # (w, w), bool: which columns each needs beside it in a support; (0, 0) where none does
    needs: np.ndarray = np.zeros((0, 0), np.bool_)


class ExchangeList(NamedTuple):
    """The best exchanges, ascending by change: arrays of one length; position -1 is an addition."""

    change: np.ndarray
    column: np.ndarray
    position: np.ndarray


def by_column(products):
    """Products with one response (w,), or with several (w, q), as `Columns.q`."""
    return np.ascontiguousarray(products.reshape(len(products), *(products.shape[1:] or (1,))))


def new_state(width, capacity, responses=1):
    """An empty state for `width` working columns and supports up to `capacity`."""
    capacity = max(capacity, 1)
    return State(
        np.zeros(capacity, np.int64),
        np.zeros(width, np.bool_),
        np.zeros((capacity, capacity)),
        np.zeros((responses, capacity)),
        np.zeros((width, capacity)),
        np.zeros((width, responses)),
        np.zeros(width),
        np.zeros((5, max(width, capacity, responses))),
        np.zeros(2, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
    )


def clear(state, columns):
    """Make the state hold the empty support."""
    w = columns.w
    state.count[:], state.member[:] = 0, False
    state.c[:] = columns.q[:w]
    state.s[:] = np.diagonal(columns.G)[:w] + columns.ridge_diag
    state.holding[:], state.lacking[:] = 0, columns.needs.sum(axis=1) if columns.needs.size else 0


@njit
def add(state, columns, j0):
    """Add working column j0 to the support by rank one: O((k + q) w)."""
    _append(state, columns, j0, state.s[j0])


@njit
def _append(state, columns, j0, sigma):
    """`add` of a column of which sigma is left beside the support; 1e300 for a combination of it,
    which gets coefficient zero.
    """
    S, B, b, V, c, s = state.S, state.B, state.b, state.V, state.c, state.s
    G, k = columns.G, state.count[0]
    u, g = state.scratch[0], state.scratch[1]
    for i in range(k):
        u[i] = V[j0, i]
        g[i] = G[j0, S[i]]
    for r in range(b.shape[0]):
        t0 = c[j0, r] / sigma
        for i in range(k):
            b[r, i] -= t0 * u[i]
        b[r, k] = t0
    for i in range(k):
        for l in range(k):
            B[i, l] += u[i] * u[l] / sigma
        B[i, k] = -u[i] / sigma
        B[k, i] = -u[i] / sigma
    B[k, k] = 1.0 / sigma
    for j in range(columns.w):
        rho = G[j0, j]
        for i in range(k):
            rho -= V[j, i] * g[i]
        share = rho / sigma
        for i in range(k):
            V[j, i] -= share * u[i]
        V[j, k] = share
        for r in range(b.shape[0]):
            c[j, r] -= rho * b[r, k]
        s[j] -= rho * share
        if columns.needs.size > 0:
            state.lacking[j] -= columns.needs[j, j0]
            state.holding[j] += columns.needs[j0, j]
    S[k] = j0
    state.member[j0] = True
    state.count[0] += 1
    state.count[1] += 1


@njit
def build(state, columns, k):
    """Fill the state anew for the support state.S[:k], by additions: O(k^2 w). What they leave of a
    curvature is known to rounding of it; products with an inverse that is at hand leave rounding
    of the condition. Collinear members get coefficient zero.
    """
    G, q, needs = columns.G, columns.q, columns.needs
    for j in range(columns.w):
        state.member[j], state.s[j] = False, G[j, j] + columns.ridge_diag
        for r in range(q.shape[1]):
            state.c[j, r] = q[j, r]
        if needs.size > 0:
            state.lacking[j], state.holding[j] = 0, 0
            for l in range(columns.w):
                state.lacking[j] += needs[j, l]
    state.count[0] = 0
    for i in range(k):
        j = state.S[i]
        weak = not state.s[j] > WEAK * (G[j, j] + columns.ridge_diag)
        _append(state, columns, j, 1e300 if weak else state.s[j])
    state.count[1] = 0


@njit
def drop(state, columns, i0):
    """Remove position i0 from the support by rank one; the last position takes its place. O((k + q)
    w).
    """
    S, B, b, V, c, s = state.S, state.B, state.b, state.V, state.c, state.s
    u, t0, k = state.scratch[0], state.scratch[1], state.count[0]
    last = k - 1
    pivot = B[i0, i0]
    for i in range(k):
        u[i] = B[i0, i] / pivot
    for r in range(b.shape[0]):
        t0[r] = b[r, i0] / pivot
        for i in range(k):
            b[r, i] -= t0[r] * B[i0, i]
        b[r, i0] = b[r, last]
    for j in range(columns.w):
        v = V[j, i0]
        for r in range(b.shape[0]):
            c[j, r] += t0[r] * v
        s[j] += v * v / pivot
        for i in range(k):
            V[j, i] -= v * u[i]
        V[j, i0] = V[j, last]
        if columns.needs.size > 0:
            state.lacking[j] += columns.needs[j, S[i0]]
            state.holding[j] -= columns.needs[S[i0], j]
    for i in range(k):
        if i != i0:
            for l in range(k):
                B[i, l] -= u[i] * u[l] * pivot
    for i in range(k):
        B[i, i0] = B[i, last]
    for i in range(k):
        B[i0, i] = B[last, i]
    B[i0, i0] = B[last, last] if i0 != last else B[i0, i0]
    state.member[S[i0]] = False
    S[i0] = S[last]
    state.count[0] -= 1
    state.count[1] += 1


@njit
def add_best(state, columns, tie):
    """Add the column that lowers F + cost most, whatever it gains, the first of those whose gains
    differ by no more than `tie`; False when none is independent of the support.
    """
    best, where = 0.0, NONE
    for j in range(columns.w):
        if (
            not state.member[j]
            and state.lacking[j] == 0
            and state.s[j] > COLLINEAR * (columns.G[j, j] + columns.ridge_diag)
            and state.s[j] > 0.0
            and columns.cost[j] < 1e299
        ):
            square = 0.0
            for r in range(state.c.shape[1]):
                square += state.c[j, r] * state.c[j, r]
            gain = 0.5 * square / state.s[j] - columns.cost[j]
            if gain > best + tie or where < 0:
                best, where = gain, j
    if where >= 0:
        add(state, columns, where)
    return where >= 0


@njit
def _square(state, i):
    """The squared norm of the coefficients at position i."""
    t = 0.0
    for r in range(state.b.shape[0]):
        t += state.b[r, i] * state.b[r, i]
    return t


@njit
def coefficient_size(state, i):
    """The norm of the coefficients at position i."""
    return math.sqrt(_square(state, i))


@njit
def cheapest_drop(state, columns, tie):
    """The unlocked position whose removal raises F + cost least, the first of those that differ by
    no more than `tie`; -1 when all are locked.
    """
    best, where = np.inf, NONE
    for i in range(state.count[0]):
        if not columns.locked[state.S[i]] and state.holding[state.S[i]] == 0:
            rise = 0.5 * _square(state, i) / state.B[i, i] - columns.cost[state.S[i]]
            if rise < best - tie:
                best, where = rise, i
    return where


@njit
def _hits(state, j, limit, extra):
    """How many swaps of column j for members may be as good as `polish` asks, under several
    responses: |c_j + b_i u|^2 by inner products of b_i and c_j.
    """
    b, c, k, hits, total = state.b, state.c, state.count[0], 0, 0.0
    inner, inverse, size = state.scratch[1], state.scratch[2], state.scratch[4]
    for i in range(k):
        inner[i] = 0.0
    for r in range(b.shape[0]):
        t = c[j, r]
        total += t * t
        for i in range(k):
            inner[i] += t * b[r, i]
    for i in range(k):
        u = state.V[j, i] * inverse[i]
        num = total + u * (2.0 * inner[i] + u * size[i])
        hits += num > (limit[i] + extra) * (state.s[j] + state.V[j, i] * u)
    return hits


@njit
def polish(state, columns, tolerance, max_swaps):
    """Take the best improving swap, the first of those that differ by no more than `tolerance`,
    until none improves by more; returns the number of tables of swaps evaluated, negative when
    max_swaps stopped it.

    Differs from the formula by testing  num^2 > 2 (drop_i - best) den  first: no division, so the
    scan over i is a vector loop, and the exact change is computed only for the few that pass.
    """
    S, B, b, V, c, s = state.S, state.B, state.b, state.V, state.c, state.s
    locked, cost, k, q = columns.locked, columns.cost, state.count[0], state.b.shape[0]
    # theta: b_i / B_ii of one response; of several the inner products of b_i and c_j
    theta, inverse, limit, size = (
        state.scratch[1],
        state.scratch[2],
        state.scratch[3],
        state.scratch[4],
    )
    swaps = 0
    while True:
        # `best` is what a swap must be below, so that rounding does not choose among equal ones
        best, best_i, best_j = -tolerance, NONE, NONE
        for i in range(k):
            free = not locked[S[i]] and state.holding[S[i]] == 0
            theta[i] = b[0, i] / B[i, i] if free else 0.0
            inverse[i], size[i] = 1.0 / B[i, i], _square(state, i)
            limit[i] = size[i] * inverse[i] - 2.0 * (best + cost[S[i]]) if free else 1e300
        for j in range(columns.w):
            if state.member[j] or state.lacking[j] > 0:
                continue
            cj, sj = c[j, 0], s[j]
            extra = 2.0 * cost[j]
            floor = COLLINEAR * (columns.G[j, j] + columns.ridge_diag)
            hits = 0
            if q == 1:
                for i in range(k):
                    v = V[j, i]
                    num = cj + theta[i] * v
                    hits += num * num > (limit[i] + extra) * (sj + v * v * inverse[i])
            else:
                hits = _hits(state, j, limit, extra)
            if hits == 0:
                continue
            for i in range(k):
                v = V[j, i]
                u, num = v * inverse[i], 0.0
                den = sj + v * u
                if not den > floor or (columns.needs.size > 0 and columns.needs[j, S[i]]):
                    continue
                for r in range(q):
                    t = c[j, r] + b[r, i] * u
                    num += t * t
                if num > (limit[i] + extra) * den:
                    change = 0.5 * (size[i] * inverse[i] - num / den) + cost[j] - cost[S[i]]
                    if change < best:
                        best, best_i, best_j = change - tolerance, i, j
            if best_j == j:
                for i in range(k):
                    if limit[i] < 1e299:
                        limit[i] = size[i] * inverse[i] - 2.0 * (best + cost[S[i]])
        if best_j < 0:
            return swaps + 1
        if swaps >= max_swaps:
            return -swaps
        drop(state, columns, best_i)
        add(state, columns, best_j)
        swaps += 1
        if state.count[1] > REFRESH:
            build(state, columns, k)


@njit
def fitted_part(state, columns):
    """q_S'b_S / 2: how far the support's optimum lies below the empty quadratic."""
    t = 0.0
    for i in range(state.count[0]):
        for r in range(state.b.shape[0]):
            t += columns.q[state.S[i], r] * state.b[r, i]
    return 0.5 * t


@njit
def refine(state, columns):
    """One step of refinement of the coefficients, for updates leave rounding: the largest change,
    as a share of the largest coefficient.
    """
    k, b, S, residual, off, length = (
        state.count[0],
        state.b,
        state.S,
        state.scratch[1],
        0.0,
        0.0,
    )
    for r in range(b.shape[0]):
        for i in range(k):
            t = columns.q[S[i], r] - columns.ridge_diag * b[r, i]
            for l in range(k):
                t -= columns.G[S[i], S[l]] * b[r, l]
            residual[i] = t
        for i in range(k):
            t = 0.0
            for l in range(k):
                t += state.B[i, l] * residual[l]
            length = max(length, abs(b[r, i]))
            off = max(off, abs(t))
            b[r, i] += t
    return off / max(length, 1e-300)


@njit
def _keep(d, j, i, found, kept, tie):
    """Insert (d, j, i) into the ascending list `found`; those within `tie` stay in the order in
    which they came.
    """
    change, column, position = found.change, found.column, found.position
    at = kept if kept < change.size else kept - 1
    if kept == change.size and d >= change[at] - tie:
        return kept
    while at > 0 and change[at - 1] > d + tie:
        change[at], column[at], position[at] = change[at - 1], column[at - 1], position[at - 1]
        at -= 1
    change[at], column[at], position[at] = d, j, i
    return min(kept + 1, change.size)
