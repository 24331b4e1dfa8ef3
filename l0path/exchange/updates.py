"""Checks of many supports over all columns: the rank-one updates that lead from one support to the
next are recorded once on their members, then applied to every range of columns.

An update changes V = G_{:,S} B, c and s of a column by rank one (see `table`), so that the check of
the next support costs O(k) for each column, where a new table costs O(k^2). The columns of a range
are independent of each other: ranges run side by side on the threads, and the results do not depend
on where they are cut.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import views
from ..core.dispatch import njit
from .table import COLLINEAR, REFRESH, START, ExchangeList, _keep, add, build, drop

BUILD, ADD, DROP, CHECK = range(4)
RANGE = 512  # columns evaluated together: V of 50 members fits the cache
RANKING = 1e299  # a ceiling from which on every pair is wanted


class Supports(NamedTuple):
    """The e supports to be checked, by numbers among their r members."""

    S: np.ndarray  # (e, K), members
    # (e, K + 1), coefficients and, last, min_i |b_i| / sqrt(B_ii) over those that may go
    b: np.ndarray
    size: np.ndarray  # (e,), how many members
    target: np.ndarray  # (e,), what an addition must gain
    ceiling: np.ndarray  # (e,), what a swap must reach; RANKING: every pair counts
    tie: np.ndarray  # (e,), by how much changes may differ that count as equal
    norm: np.ndarray  # (e,), >= ||B||_2; inf where nothing is to be pruned
    index: np.ndarray  # (r,), columns of the members
    row: np.ndarray  # (r,), where their Gram rows stand
    locked: np.ndarray  # (r,), bool: who stays
    member_cost: np.ndarray  # (r,)
    dependent: bool  # whether combinations of a support count too


class UpdateRecord(NamedTuple):
    """T steps, and the numbers by which each updates a column.

    BUILD  x = b, y = the members, and B of the support
    ADD    x = V_j, y = G_jS, number = (c_j, 1) / s_j of the member j that is added
    DROP   x = B_i / B_ii, number = (b_i, 1) / B_ii of the position i that is dropped
    CHECK  x = b_i / B_ii, 0 where i stays; y = 1 / B_ii; z = b_i^2 / B_ii less twice the cost of i
    """

    kind: np.ndarray  # (T,), BUILD, ADD, DROP or CHECK
    what: np.ndarray  # (T,), member added, position dropped, or number of the support
    size: np.ndarray  # (T,), before the step
    x: np.ndarray  # (T, K)
    y: np.ndarray  # (T, K)
    z: np.ndarray  # (T, K)
    number: np.ndarray  # (T, 2)
    B: np.ndarray  # (e, K, K), inverses where a support is built anew


class AllColumns(NamedTuple):
    """All p columns that are checked."""

    rows: np.ndarray  # (r, p), Gram rows
    q: np.ndarray  # (p,), products with y
    square: np.ndarray  # (p,), mean squares
    usable: np.ndarray  # (p,), bool
    cost: np.ndarray  # (p,), of being in


class UpdateSequence(NamedTuple):
    """Supports and the updates that lead through them."""

    supports: Supports
    record: UpdateRecord
    steps: int  # number of updates
    ridge_diag: float  # 2 lambda2
    lambda1: float


class BestExchanges(NamedTuple):
    """The best exchanges of each of e supports."""

    change: np.ndarray  # (e, capacity), ascending
    column: np.ndarray  # (e, capacity)
    position: np.ndarray  # (e, capacity), -1 for an addition
    count: np.ndarray  # (e,), how many there are


class Part(NamedTuple):
    """m columns to which updates are applied."""

    columns: np.ndarray  # (m,), their numbers
    G: np.ndarray  # (r, m), Gram rows of the members
    V: np.ndarray  # (K, m)
    A: np.ndarray  # (m,), a + 2 lambda2
    c: np.ndarray  # (m,), gradients
    s: np.ndarray  # (m,), curvature that is left
    rho: np.ndarray  # (m,), work space
    score: np.ndarray  # (m,), work space
    extra: np.ndarray  # (m,), twice the cost


def new_record(supports):
    """An empty record, long enough for the supports."""
    e, K = supports.S.shape
    T = int(2 * e + (supports.size // 2 + 1).sum())
    return UpdateRecord(
        np.empty(T, np.int64),
        np.empty(T, np.int64),
        np.empty(T, np.int64),
        np.empty((T, K)),
        np.empty((T, K)),
        np.empty((T, K)),
        np.empty((T, 2)),
        np.empty((e, K, K)),
    )


@njit
def record_updates(state, members, supports, follow, record):
    """Go through the supports and record each step; returns the number of steps. With `follow` the
    coefficients are those of the quadratic's optimum, else the given ones, and each support is
    built anew.

    state, members: a `State` and the `Columns` of the r members.
    """
    T = START
    for e in range(supports.size.size):
        k, n_new = supports.size[e], 0
        for i in range(k):
            n_new += not state.member[supports.S[e, i]]
        steps = state.count[0] - k + 2 * n_new
        if e == 0 or not follow or state.count[1] + steps > REFRESH or 2 * steps > k:
            for i in range(k):
                state.S[i] = supports.S[e, i]
            build(state, members, k)
            for i in range(k):
                if not follow:
                    state.b[0, i] = supports.b[e, i]
                record.x[T, i] = state.b[0, i]
                record.y[T, i] = state.S[i]
                for l in range(k):
                    record.B[e, i, l] = state.B[i, l]
            record.kind[T], record.what[T], record.size[T] = BUILD, e, k
            T += 1
        else:
            T = _next_support(state, members, supports.S[e], k, record, T)
        record.kind[T], record.what[T], record.size[T] = CHECK, e, k
        supports.b[e, -1] = 1e100
        for i in range(k):
            free = not supports.locked[state.S[i]]
            record.x[T, i] = state.b[0, i] / state.B[i, i] if free else 0.0
            record.y[T, i] = 1.0 / state.B[i, i]
            loss = state.b[0, i] * state.b[0, i] / state.B[i, i]
            record.z[T, i] = loss - 2.0 * supports.member_cost[state.S[i]] if free else 1e300
            supports.S[e, i] = state.S[i]  # positions follow the updates from here on
            supports.b[e, i] = state.b[0, i]
            if free:
                supports.b[e, -1] = min(
                    supports.b[e, -1], abs(state.b[0, i]) / np.sqrt(state.B[i, i])
                )
        T += 1
    return T


@njit
def _next_support(state, members, S, k, record, T):
    """Drop the members that are not in S[:k], add those that are missing, and record each step."""
    mark = state.scratch[4]
    for i in range(state.count[0]):
        mark[state.S[i]] = 0.0
    for i in range(k):
        mark[S[i]] = 1.0
    for i in range(state.count[0] - 1, -1, -1):
        if mark[state.S[i]] == 0.0:
            record.kind[T], record.what[T], record.size[T] = DROP, i, state.count[0]
            pivot = state.B[i, i]
            record.number[T, 0], record.number[T, 1] = state.b[0, i] / pivot, 1.0 / pivot
            for l in range(state.count[0]):
                record.x[T, l] = state.B[i, l] / pivot
            drop(state, members, i)
            T += 1
    for a in range(k):
        j = S[a]
        if not state.member[j]:
            record.kind[T], record.what[T], record.size[T] = ADD, j, state.count[0]
            record.number[T, 0], record.number[T, 1] = state.c[j, 0] / state.s[j], 1.0 / state.s[j]
            for l in range(state.count[0]):
                record.x[T, l] = state.V[j, l]
                record.y[T, l] = members.G[j, state.S[l]]
            add(state, members, j)
            T += 1
    return T


@njit
def unscreened(columns, sequence, start, stop, column):
    """Write the columns of start..stop that may have an exchange below the ceiling with some
    support; returns how many.

    With A = a_j + 2 lambda2, h = ||B||_2 sum_i G_ij^2 >= g'Bg and t = min_i |b_i| / sqrt(B_ii)
    there is no such swap if |c_j| <= sqrt(t^2 - 2 ceiling) sqrt(A) - t sqrt(h), and no such
    addition if c_j^2 <= 2 (target - ceiling) (A - h), a ceiling below 0 taken as 0. Proof for the
    swap: its num is at most |c_j| + |b_i| |V_ji| / B_ii, its den A - g'Bg + V_ji^2 / B_ii, and
    V_ji^2 / B_ii <= g'Bg <= h. Costs must not fall below those of the members.
    """
    count, h, c, held = 0, np.empty(RANGE), np.empty(RANGE), np.empty(RANGE)
    supports = sequence.supports
    # few columns, so that the Gram rows stay in the cache from one support to the next
    for first in range(start, stop, RANGE):
        m = min(RANGE, stop - first)
        for j in range(m):
            held[j] = 0.0
        for e in range(supports.size.size):
            for j in range(m):
                h[j], c[j] = 0.0, columns.q[first + j]
            _products(columns.rows, supports, e, first, views.part(h, 0, m), views.part(c, 0, m))
            t, bound = supports.b[e, -1], supports.norm[e]
            target, ceiling = supports.target[e], supports.ceiling[e]
            slack = max(ceiling, 0.0)
            least = np.sqrt(max(t * t - 2.0 * slack, 0.0))
            for j in range(m):
                A = columns.square[first + j] + sequence.ridge_diag
                rest = A - bound * h[j]
                size = max(abs(c[j]) - sequence.lambda1, 0.0)
                swap = least > 0.0 and size <= least * np.sqrt(A) - t * np.sqrt(A - rest)
                safe = (
                    rest > 0.0
                    and swap
                    and size * size <= 2.0 * (target + columns.cost[first + j] - slack) * rest
                )
                held[j] += 0.0 if safe else 1.0
        for j in range(m):
            if held[j] > 0.0 and columns.usable[first + j]:
                column[count] = first + j
                count += 1
    return count


@njit
def _products(rows, supports, e, first, h, c):
    """h += sum_i G_ij^2 and c -= sum_i b_i G_ij over the members i of support e, for the m columns
    from `left` on; four members a pass.
    """
    k, m, S, b = supports.size[e], h.size, supports.S[e], supports.b[e]
    i = 0
    while i + 4 <= k:
        g0 = rows[supports.row[S[i]], first : first + m]
        g1 = rows[supports.row[S[i + 1]], first : first + m]
        g2 = rows[supports.row[S[i + 2]], first : first + m]
        g3 = rows[supports.row[S[i + 3]], first : first + m]
        b0, b1, b2, b3 = b[i], b[i + 1], b[i + 2], b[i + 3]
        for j in range(m):
            h[j] += g0[j] * g0[j] + g1[j] * g1[j] + g2[j] * g2[j] + g3[j] * g3[j]
            c[j] -= b0 * g0[j] + b1 * g1[j] + b2 * g2[j] + b3 * g3[j]
        i += 4
    while i < k:
        g0, b0 = rows[supports.row[S[i]], first : first + m], b[i]
        for j in range(m):
            h[j] += g0[j] * g0[j]
            c[j] -= b0 * g0[j]
        i += 1


@njit
def apply_updates(columns, sequence, chosen, found):
    """Apply a sequence of updates to the chosen columns (m,). `found` takes for each support the
    best exchanges, up to its capacity, by the exact change on the quadratic.

    These are the lowest of: swaps with change < ceiling, and additions (position -1) that lower F
    by more than target + cost_j, entered as change = target + cost_j - gain. One entry a column
    when ceiling <= 0 (a search for violators), every pair otherwise (a ranking). With lambda1 the
    gain is (|c| - lambda1)_+^2 / (2 s), exact while no sign changes.
    """
    supports, record, m = sequence.supports, sequence.record, chosen.size
    r, K = supports.row.size, record.x.shape[1]
    v = np.empty((6, m))
    G, V = np.empty((r, m)), np.empty((K, m))
    part = Part(chosen, G, V, v[0], v[1], v[2], v[3], v[4], v[5])
    for j in range(m):
        part.A[j] = columns.square[chosen[j]] + sequence.ridge_diag
        part.extra[j] = 2.0 * columns.cost[chosen[j]]
    for i in range(r):
        row = supports.row[i]
        for j in range(m):
            G[i, j] = columns.rows[row, chosen[j]]
    for at in range(sequence.steps):
        kind = record.kind[at]
        if kind == BUILD:
            _build_part(columns.q, record, at, part)
        elif kind == ADD:
            _add_part(record, at, part)
        elif kind == DROP:
            _drop_part(record, at, part)
        else:
            found.count[record.what[at]] = _best(part, sequence, at, found)


@njit
def _build_part(q, record, at, part):
    """V, c and s of a part anew."""
    k, x, y = record.size[at], record.x[at], record.y[at]
    V, G, c, s = part.V, part.G, part.c, part.s
    m = c.size
    for j in range(m):
        c[j], s[j] = q[part.columns[j]], part.A[j]
    for i in range(k):
        v, B = V[i], record.B[record.what[at], i]
        g = G[np.int64(y[i])]
        for j in range(m):
            v[j] = 0.0
            c[j] -= x[i] * g[j]
        for l in range(0, k, 4):  # four members a pass
            b0 = B[l]
            b1 = B[l + 1] if l + 1 < k else 0.0
            b2 = B[l + 2] if l + 2 < k else 0.0
            b3 = B[l + 3] if l + 3 < k else 0.0
            g0, g1 = G[np.int64(y[l])], G[np.int64(y[min(l + 1, k - 1)])]
            g2, g3 = G[np.int64(y[min(l + 2, k - 1)])], G[np.int64(y[min(l + 3, k - 1)])]
            for j in range(m):
                v[j] += b0 * g0[j] + b1 * g1[j] + b2 * g2[j] + b3 * g3[j]
        for j in range(m):
            s[j] -= v[j] * g[j]


@njit
def _add_part(record, at, part):
    """V, c and s of a part after a member was added."""
    k, x, y, V = record.size[at], record.x[at], record.y[at], part.V
    c, s, rho = part.c, part.s, part.rho
    g, new, m = part.G[record.what[at]], V[k], c.size
    inverse, step = record.number[at, 1], record.number[at, 0]
    for j in range(m):
        rho[j] = g[j]
    for i in range(k):
        v, w = V[i], y[i]
        for j in range(m):
            rho[j] -= w * v[j]
    for j in range(m):
        new[j] = rho[j] * inverse
        c[j] -= rho[j] * step
        s[j] -= rho[j] * new[j]
    for i in range(k):
        v, w = V[i], x[i]
        for j in range(m):
            v[j] -= w * new[j]


@njit
def _drop_part(record, at, part):
    """V, c and s of a part after a member was dropped; the last one takes its place."""
    k, x, V, c, s, rho = record.size[at], record.x[at], part.V, part.c, part.s, part.rho
    out, last, m = V[record.what[at]], V[k - 1], c.size
    inverse, step = record.number[at, 1], record.number[at, 0]
    for j in range(m):
        rho[j] = out[j]
        c[j] += step * rho[j]
        s[j] += rho[j] * rho[j] * inverse
    for i in range(k):
        v, w = V[i], x[i]
        for j in range(m):
            v[j] -= w * rho[j]
    for j in range(m):
        out[j] = last[j]


@njit
def _best(part, sequence, at, found):
    """The best exchanges of the support at step `at`. One vector pass without division finds the
    columns where some pair may count; the pairs of these few columns are then evaluated.
    """
    supports, record, e = sequence.supports, sequence.record, sequence.record.what[at]
    k, theta, inverse, limit = record.size[at], record.x[at], record.y[at], record.z[at]
    V, c, s, score, extra = part.V, part.c, part.s, part.score, part.extra
    m, kept, ceiling, target = c.size, START, supports.ceiling[e], supports.target[e]
    bar = 2.0 * (target if ceiling >= RANKING else target - ceiling)
    for j in range(m):
        size = max(abs(c[j]) - sequence.lambda1, 0.0)
        score[j] = size * size - (bar + extra[j]) * s[j]
    for i in range(k):
        v, t, w, bar = V[i], theta[i], inverse[i], limit[i] - 2.0 * ceiling
        for j in range(m):
            num = max(abs(c[j] + t * v[j]) - sequence.lambda1, 0.0)
            f = num * num - (bar + extra[j]) * (s[j] + v[j] * v[j] * w)
            score[j] = f if f > score[j] else score[j]
    for i in range(k):  # the members themselves take no part
        own, low, high = supports.index[supports.S[e, i]], 0, m
        while low < high:
            middle = (low + high) // 2
            if part.columns[middle] < own:
                low = middle + 1
            else:
                high = middle
        if low < m and part.columns[low] == own:
            score[low] = -1.0
    for j in range(m):
        if score[j] > 0.0:
            kept = _pairs(part, sequence, at, j, found, kept)
    return kept


@njit
def _pairs(part, sequence, at, j, found, kept):
    """Keep the exchanges of the support at step `at` with column j of a part that count; returns
    how many are kept.
    """
    supports, record, e = sequence.supports, sequence.record, sequence.record.what[at]
    theta, inverse, limit = record.x[at], record.y[at], record.z[at]
    change, tie = found.change[e], supports.tie[e]
    mine = ExchangeList(change, found.column[e], found.position[e])
    capacity, ceiling = change.size, supports.ceiling[e]
    ranking = ceiling >= RANKING
    c, s, A, cost = part.c[j], part.s[j], part.A[j], 0.5 * part.extra[j]
    best, best_i = np.inf, -2
    worst = change[capacity - 1] if kept == capacity else np.inf
    remainder = s if s > COLLINEAR * A else A if supports.dependent else 0.0
    if remainder > 0.0:
        size = max(abs(c) - sequence.lambda1, 0.0)
        d = supports.target[e] + cost - 0.5 * size * size / remainder
        if d < (0.0 if ranking else ceiling) and d < worst:
            best, best_i = d, -1
    for i in range(record.size[at]):
        if limit[i] > 1e299:
            continue
        v = part.V[i, j]
        den = s + v * v * inverse[i]
        if den <= COLLINEAR * A:
            if not supports.dependent:
                continue
            den = A
        num = max(abs(c + theta[i] * v) - sequence.lambda1, 0.0)
        d = 0.5 * (limit[i] - num * num / den) + cost
        if d < ceiling and d < worst:
            if ranking:
                kept = _keep(d, part.columns[j], i, mine, kept, tie)
                worst = change[capacity - 1] if kept == capacity else np.inf
            elif d < best - tie:
                best, best_i = d, i
    if best_i > -2:
        kept = _keep(best, part.columns[j], best_i, mine, kept, tie)
    return kept
