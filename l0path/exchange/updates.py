"""Checks of many supports over all columns: the walk from one support to the next is recorded once
on their members, then replayed on every range of columns.

A step of the walk changes V = G_{:,S} B, c and s of a column by rank one (see `exchange`), so that
a check of the next support costs O(k) a column where a table made anew costs O(k^2). Columns in a
range are independent of each other: ranges run side by side on the threads, and how they are cut
never shows.
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from .table import COLLINEAR, REFRESH, START, _keep, add, build, drop

BUILD, ADD, DROP, CHECK = range(4)
RANGE = 512  # columns looked at together: V of 50 members fits the cache
RANKING = 1e299  # a ceiling from which on every pair is wanted


class Supports(NamedTuple):
    """The e supports to be checked, by numbers among their r members.

    S (e, K) members, size (e,) how many; b (e, K + 1) coefficients and, last, min_i |b_i| /
    sqrt(B_ii) over those that may go; target, ceiling (e,): what an addition must gain, what a swap
    must reach (RANKING: every pair counts); norm (e,) >= ||B||_2, inf where nothing is to be
    pruned; index, row, locked, paid (r,): columns of the members, where their Gram rows stand, who
    stays, prices; dependent: combinations of a support count too.
    """

    S: np.ndarray
    b: np.ndarray
    size: np.ndarray
    target: np.ndarray
    ceiling: np.ndarray
    norm: np.ndarray
    index: np.ndarray
    row: np.ndarray
    locked: np.ndarray
    paid: np.ndarray
    dependent: bool


class Tape(NamedTuple):
    """A walk of T steps: kind (T,); what (T,): member that comes, position that goes, or number of
    the support; size (T,) before the step; x, y, z (T, K) and number (T, 2) what a column needs for
    it; B (e, K, K) inverses to start anew from.
    """

    kind: np.ndarray
    what: np.ndarray
    size: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    number: np.ndarray
    B: np.ndarray


def new_tape(supports):
    """An empty tape, long enough for the supports."""
    e, K = supports.S.shape
    T = int(2 * e + (supports.size // 2 + 1).sum())
    return Tape(
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
def record(state, members, supports, follow, tape):
    """Walk through the supports and write the tape; returns its length. With `follow` the
    coefficients are those of the quadratic's optimum, else the given ones, and each support starts
    anew.

    state, members: a `State` and the `Columns` of the r members.
    """
    T = START
    for e in range(supports.size.size):
        k, strange = supports.size[e], 0
        for i in range(k):
            strange += not state.member[supports.S[e, i]]
        steps = state.count[0] - k + 2 * strange
        if e == 0 or not follow or state.count[1] + steps > REFRESH or 2 * steps > k:
            for i in range(k):
                state.S[i] = supports.S[e, i]
            build(state, members, k)
            for i in range(k):
                if not follow:
                    state.b[i] = supports.b[e, i]
                tape.x[T, i] = state.b[i]
                tape.y[T, i] = state.S[i]
                for l in range(k):
                    tape.B[e, i, l] = state.B[i, l]
            tape.kind[T], tape.what[T], tape.size[T] = BUILD, e, k
            T += 1
        else:
            T = _walk(state, members, supports.S[e], k, tape, T)
        tape.kind[T], tape.what[T], tape.size[T] = CHECK, e, k
        supports.b[e, -1] = 1e100
        for i in range(k):
            free = not supports.locked[state.S[i]]
            tape.x[T, i] = state.b[i] / state.B[i, i] if free else 0.0
            tape.y[T, i] = 1.0 / state.B[i, i]
            tape.z[T, i] = (
                state.b[i] * state.b[i] / state.B[i, i] - 2.0 * supports.paid[state.S[i]]
                if free
                else 1e300
            )
            supports.S[e, i] = state.S[i]  # positions follow the walk from here on
            supports.b[e, i] = state.b[i]
            if free:
                supports.b[e, -1] = min(supports.b[e, -1], abs(state.b[i]) / np.sqrt(state.B[i, i]))
        T += 1
    return T


@njit
def _walk(state, members, S, k, tape, T):
    """Drop what S[:k] lacks, add what it has more, and write each step on the tape."""
    mark = state.scratch[4]
    for i in range(state.count[0]):
        mark[state.S[i]] = 0.0
    for i in range(k):
        mark[S[i]] = 1.0
    for i in range(state.count[0] - 1, -1, -1):
        if mark[state.S[i]] == 0.0:
            tape.kind[T], tape.what[T], tape.size[T] = DROP, i, state.count[0]
            pivot = state.B[i, i]
            tape.number[T, 0], tape.number[T, 1] = state.b[i] / pivot, 1.0 / pivot
            for l in range(state.count[0]):
                tape.x[T, l] = state.B[i, l] / pivot
            drop(state, members, i)
            T += 1
    for a in range(k):
        j = S[a]
        if not state.member[j]:
            tape.kind[T], tape.what[T], tape.size[T] = ADD, j, state.count[0]
            tape.number[T, 0], tape.number[T, 1] = state.c[j] / state.s[j], 1.0 / state.s[j]
            for l in range(state.count[0]):
                tape.x[T, l] = state.V[j, l]
                tape.y[T, l] = members.G[j, state.S[l]]
            add(state, members, j)
            T += 1
    return T


@njit
def survivors(rows, q, a, usable, price, supports, twice, lambda1, start, stop, column):
    """Write the columns of start..stop that may have an exchange below the ceiling with some
    support; returns how many.

    With A = a_j + 2 lambda2, h = ||B||_2 sum_i G_ij^2 >= g'Bg and t = min_i |b_i| / sqrt(B_ii)
    there is no such swap if |c_j| <= sqrt(t^2 - 2 ceiling) sqrt(A) - t sqrt(h), and no such
    addition if c_j^2 <= 2 (target - ceiling) (A - h), a ceiling below 0 taken as 0. Proof for the
    swap: its num is at most |c_j| + |b_i| |V_ji| / B_ii, its den A - g'Bg + V_ji^2 / B_ii, and
    V_ji^2 / B_ii <= g'Bg <= h. Prices must not fall below those of the members.
    """
    count, h, c, held = 0, np.empty(RANGE), np.empty(RANGE), np.empty(RANGE)
    for left in range(
        start, stop, RANGE
    ):  # few columns, so that the Gram rows stay in the cache from one support to the next
        m = min(RANGE, stop - left)
        held[:] = 0.0
        for e in range(supports.size.size):
            k = supports.size[e]
            for j in range(m):
                h[j], c[j] = 0.0, q[left + j]
            S, b = supports.S[e], supports.b[e]
            i = 0
            while i + 4 <= k:
                g0, g1 = (
                    rows[supports.row[S[i]], left : left + m],
                    rows[supports.row[S[i + 1]], left : left + m],
                )
                g2, g3 = (
                    rows[supports.row[S[i + 2]], left : left + m],
                    rows[supports.row[S[i + 3]], left : left + m],
                )
                b0, b1, b2, b3 = b[i], b[i + 1], b[i + 2], b[i + 3]
                for j in range(m):
                    h[j] += g0[j] * g0[j] + g1[j] * g1[j] + g2[j] * g2[j] + g3[j] * g3[j]
                    c[j] -= b0 * g0[j] + b1 * g1[j] + b2 * g2[j] + b3 * g3[j]
                i += 4
            while i < k:
                g0, b0 = rows[supports.row[S[i]], left : left + m], b[i]
                for j in range(m):
                    h[j] += g0[j] * g0[j]
                    c[j] -= b0 * g0[j]
                i += 1
            t, bound, target, ceiling = (
                supports.b[e, -1],
                supports.norm[e],
                supports.target[e],
                supports.ceiling[e],
            )
            slack = max(ceiling, 0.0)
            least = np.sqrt(max(t * t - 2.0 * slack, 0.0))
            for j in range(m):
                A = a[left + j] + twice
                rest = A - bound * h[j]
                size = max(abs(c[j]) - lambda1, 0.0)
                swap = least > 0.0 and size <= least * np.sqrt(A) - t * np.sqrt(A - rest)
                safe = (
                    rest > 0.0
                    and swap
                    and size * size <= 2.0 * (target + price[left + j] - slack) * rest
                )
                held[j] += 0.0 if safe else 1.0
        for j in range(m):
            if held[j] > 0.0 and usable[left + j]:
                column[count] = left + j
                count += 1
    return count


@njit
def replay(
    rows,
    q,
    a,
    price,
    supports,
    tape,
    T,
    twice,
    lambda1,
    columns,
    m,
    change,
    column,
    position,
    found,
):
    """Replay a tape on m columns and keep for each support the change.shape[1] best exchanges, by
    the exact change on the quadratic; found (e,) how many there are.

    rows (r, p) Gram rows over all columns; q, a (p,) products with y and diagonal; price (p,).
    Kept are the lowest of: swaps with change < ceiling, and additions (position -1) that lower F by
    more than target + price_j, entered as change = target + price_j - gain. One entry a column when
    ceiling <= 0 (a search for violators), every pair otherwise (a ranking). With lambda1 the gain
    is (|c| - lambda1)_+^2 / (2 s), exact while no sign changes.
    """
    r, K = supports.row.size, tape.x.shape[1]
    G, V = np.empty((r, m)), np.empty((K, m))
    A, c, s, rho, score, extra = (
        np.empty(m),
        np.empty(m),
        np.empty(m),
        np.empty(m),
        np.empty(m),
        np.empty(m),
    )
    for j in range(m):
        A[j], extra[j] = a[columns[j]] + twice, 2.0 * price[columns[j]]
    for i in range(r):
        row = supports.row[i]
        for j in range(m):
            G[i, j] = rows[row, columns[j]]
    for at in range(T):
        kind, what, k = tape.kind[at], tape.what[at], tape.size[at]
        x, y, z = tape.x[at], tape.y[at], tape.z[at]
        if kind == BUILD:
            for j in range(m):
                c[j], s[j] = q[columns[j]], A[j]
            for i in range(k):
                v, B = V[i], tape.B[what, i]
                g = G[int(y[i])]
                for j in range(m):
                    v[j] = 0.0
                    c[j] -= x[i] * g[j]
                for l in range(0, k, 4):  # four members a pass
                    b0, b1, b2, b3 = (
                        B[l],
                        B[l + 1] if l + 1 < k else 0.0,
                        B[l + 2] if l + 2 < k else 0.0,
                        B[l + 3] if l + 3 < k else 0.0,
                    )
                    g0, g1, g2, g3 = (
                        G[int(y[l])],
                        G[int(y[min(l + 1, k - 1)])],
                        G[int(y[min(l + 2, k - 1)])],
                        G[int(y[min(l + 3, k - 1)])],
                    )
                    for j in range(m):
                        v[j] += b0 * g0[j] + b1 * g1[j] + b2 * g2[j] + b3 * g3[j]
                for j in range(m):
                    s[j] -= v[j] * g[j]
        elif kind == ADD:
            g, new = G[what], V[k]
            for j in range(m):
                rho[j] = g[j]
            for i in range(k):
                v, w = V[i], y[i]
                for j in range(m):
                    rho[j] -= w * v[j]
            inverse, step = tape.number[at, 1], tape.number[at, 0]
            for j in range(m):
                new[j] = rho[j] * inverse
                c[j] -= rho[j] * step
                s[j] -= rho[j] * new[j]
            for i in range(k):
                v, w = V[i], x[i]
                for j in range(m):
                    v[j] -= w * new[j]
        elif kind == DROP:
            out, last = V[what], V[k - 1]
            inverse, step = tape.number[at, 1], tape.number[at, 0]
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
        else:
            found[what] = _best(
                V,
                A,
                c,
                s,
                score,
                extra,
                supports,
                what,
                k,
                x,
                y,
                z,
                lambda1,
                columns,
                m,
                change[what],
                column[what],
                position[what],
            )


@njit
def _best(
    V,
    A,
    c,
    s,
    score,
    extra,
    supports,
    e,
    k,
    theta,
    inverse,
    limit,
    lambda1,
    columns,
    m,
    change,
    column,
    position,
):
    """The best exchanges of support e among m columns. One vector pass finds the columns where some
    pair may count, without division; these few are then looked at pair by pair.
    """
    ceiling, target, room, kept = supports.ceiling[e], supports.target[e], change.size, START
    ranking = ceiling >= RANKING
    bar = 2.0 * (target if ranking else target - ceiling)
    for j in range(m):
        size = max(abs(c[j]) - lambda1, 0.0)
        score[j] = size * size - (bar + extra[j]) * s[j]
    for i in range(k):
        v, t, w, bar = V[i], theta[i], inverse[i], limit[i] - 2.0 * ceiling
        for j in range(m):
            num = max(abs(c[j] + t * v[j]) - lambda1, 0.0)
            f = num * num - (bar + extra[j]) * (s[j] + v[j] * v[j] * w)
            score[j] = f if f > score[j] else score[j]
    for i in range(k):  # the members themselves take no part
        column_i, low, high = supports.index[supports.S[e, i]], 0, m
        while low < high:
            middle = (low + high) // 2
            if columns[middle] < column_i:
                low = middle + 1
            else:
                high = middle
        if low < m and columns[low] == column_i:
            score[low] = -1.0
    for j in range(m):
        if not score[j] > 0.0:
            continue
        best, best_i, price = np.inf, -2, 0.5 * extra[j]
        worst = change[room - 1] if kept == room else np.inf
        left = s[j] if s[j] > COLLINEAR * A[j] else A[j] if supports.dependent else 0.0
        if left > 0.0:
            size = max(abs(c[j]) - lambda1, 0.0)
            d = target + price - 0.5 * size * size / left
            if d < (0.0 if ranking else ceiling) and d < worst:
                best, best_i = d, -1
        for i in range(k):
            if limit[i] > 1e299:
                continue
            v = V[i, j]
            den = s[j] + v * v * inverse[i]
            if den <= COLLINEAR * A[j]:
                if not supports.dependent:
                    continue
                den = A[j]
            num = max(abs(c[j] + theta[i] * v) - lambda1, 0.0)
            d = 0.5 * (limit[i] - num * num / den) + price
            if d < ceiling and d < worst:
                if ranking:
                    kept = _keep(d, columns[j], i, change, column, position, kept)
                    worst = change[room - 1] if kept == room else np.inf
                elif d < best:
                    best, best_i = d, i
        if best_i > -2:
            kept = _keep(best, columns[j], best_i, change, column, position, kept)
    return kept
