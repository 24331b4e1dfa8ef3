"""Exchanges with refit: what every add, drop and swap would change, all other coefficients re-optimised (spec D.4, A.7; Hazimeh & Mazumder 2020 freeze the others).

For the quadratic  F(b) = const - q'b + b'Gb / 2 + lambda2 ||b||^2  on a support S of size k, with B = (G_SS + 2 lambda2 I)^-1:

    b = B q_S,   V = G_{:,S} B,   c = q - G_{:,S} b,   s_j = G_jj + 2 lambda2 - V_j . G_{j,S}
    drop i: b_i^2 / (2 B_ii)      add j: -c_j^2 / (2 s_j)      swap i for j: b_i^2 / (2 B_ii) - (c_j + b_i V_ji / B_ii)^2 / (2 (s_j + V_ji^2 / B_ii))

`State` keeps these numbers for one support over the w working columns and changes them by rank one, O(k w) a move.
"""
from typing import NamedTuple

import numpy as np

from .._generic import njit
from .linear_algebra import invert

COLLINEAR = 1e-9  # a column keeps less than this share of its length outside the support: it counts as a combination of it


class State(NamedTuple):
    """One support on the working columns: S (capacity k), member (w,), inverse B (k, k), coefficients b (k,), V (w, k), c (w,), s (w,), scratch (3, max(w, k))."""

    S: np.ndarray
    member: np.ndarray
    B: np.ndarray
    b: np.ndarray
    V: np.ndarray
    c: np.ndarray
    s: np.ndarray
    scratch: np.ndarray


def new_state(width, capacity):
    """An empty state for `width` working columns and supports up to `capacity`."""
    capacity = max(capacity, 1)
    return State(np.zeros(capacity, np.int64), np.zeros(width, np.bool_), np.zeros((capacity, capacity)), np.zeros(capacity),
                 np.zeros((width, capacity)), np.zeros(width), np.zeros(width), np.zeros((4, max(width, capacity))))


@njit
def build(state, G, q, lambda2, w, k):
    """Fill the state anew for the support state.S[:k]: O(k^2 w). Returns the number of collinear members (their coefficients are zero)."""
    S, B, b, V, c, s = state.S, state.B, state.b, state.V, state.c, state.s
    for j in range(w):
        state.member[j] = False
    H = np.empty((k, k))
    for i in range(k):
        state.member[S[i]] = True
        for l in range(k):
            H[i, l] = G[S[i], S[l]]
        H[i, i] += 2.0 * lambda2
    weak = invert(H, k, B)
    for i in range(k):
        t = 0.0
        for l in range(k):
            t += B[i, l] * q[S[l]]
        b[i] = t
    g = np.empty(k)
    for j in range(w):
        cj, sj = q[j], G[j, j] + 2.0 * lambda2
        for l in range(k):
            g[l] = G[j, S[l]]
            cj -= g[l] * b[l]
        for i in range(k):
            t = 0.0
            for l in range(k):
                t += B[i, l] * g[l]
            V[j, i] = t
            sj -= t * g[i]
        c[j], s[j] = cj, sj
    return weak


@njit
def add(state, G, w, k, j0):
    """Add working column j0 to the support of size k by rank one: O(k w)."""
    S, B, b, V, c, s = state.S, state.B, state.b, state.V, state.c, state.s
    u, g = state.scratch[0], state.scratch[1]
    sigma = s[j0]
    t0 = c[j0] / sigma
    for i in range(k):
        u[i] = V[j0, i]
        g[i] = G[j0, S[i]]
        b[i] -= t0 * u[i]
    for i in range(k):
        for l in range(k):
            B[i, l] += u[i] * u[l] / sigma
        B[i, k] = -u[i] / sigma
        B[k, i] = -u[i] / sigma
    B[k, k] = 1.0 / sigma
    b[k] = t0
    for j in range(w):
        rho = G[j0, j]
        for i in range(k):
            rho -= V[j, i] * g[i]
        share = rho / sigma
        for i in range(k):
            V[j, i] -= share * u[i]
        V[j, k] = share
        c[j] -= rho * t0
        s[j] -= rho * share
    S[k] = j0
    state.member[j0] = True


@njit
def drop(state, w, k, i0):
    """Remove position i0 from the support of size k by rank one; the last position takes its place. O(k w)."""
    S, B, b, V, c, s = state.S, state.B, state.b, state.V, state.c, state.s
    u = state.scratch[0]
    last = k - 1
    pivot = B[i0, i0]
    t0 = b[i0] / pivot
    for i in range(k):
        u[i] = B[i0, i] / pivot
    for i in range(k):
        b[i] -= t0 * B[i0, i]
    for j in range(w):
        v = V[j, i0]
        c[j] += t0 * v
        s[j] += v * v / pivot
        for i in range(k):
            V[j, i] -= v * u[i]
        V[j, i0] = V[j, last]
    for i in range(k):
        if i != i0:
            for l in range(k):
                B[i, l] -= u[i] * u[l] * pivot
    for i in range(k):
        B[i, i0] = B[i, last]
    for i in range(k):
        B[i0, i] = B[last, i]
    B[i0, i0] = B[last, last] if i0 != last else B[i0, i0]
    b[i0] = b[last]
    state.member[S[i0]] = False
    S[i0] = S[last]


@njit
def best_addition(state, G, w, lambda2, price):
    """The working column whose addition lowers F + price most, and by how much; (-1, 0) when none is independent of the support."""
    best, where = 0.0, -1
    for j in range(w):
        if not state.member[j] and state.s[j] > COLLINEAR * (G[j, j] + 2.0 * lambda2) and state.s[j] > 0.0 and price[j] < 1e299:
            gain = 0.5 * state.c[j] * state.c[j] / state.s[j] - price[j]
            if gain > best or where < 0:
                best, where = gain, j
    return where, best


@njit
def cheapest_drop(state, k, locked, price):
    """The unlocked position whose removal raises F + price least, and by how much; (-1, inf) when all are locked."""
    best, where = np.inf, -1
    for i in range(k):
        if not locked[state.S[i]]:
            cost = 0.5 * state.b[i] * state.b[i] / state.B[i, i] - price[state.S[i]]
            if cost < best:
                best, where = cost, i
    return where, best


@njit
def polish(state, G, q, lambda2, w, k, locked, price, tolerance, max_swaps):
    """Take the best improving swap until none improves by more than `tolerance`; returns the number of swaps, negative when max_swaps stopped it.

    price (w,): what a column costs by being in (lambda0 f_j; zeros on a support grid).

    Differs from the formula by testing  num^2 > 2 (drop_i - best) den  first: no division, so the scan over i is a vector loop, and the exact change is computed only for the few that pass.
    """
    S, B, b, V, c, s = state.S, state.B, state.b, state.V, state.c, state.s
    theta, inverse, limit = state.scratch[1], state.scratch[2], state.scratch[3]
    swaps = 0
    while True:
        best, best_i, best_j = -tolerance, -1, -1
        for i in range(k):
            free = not locked[S[i]]
            theta[i] = b[i] / B[i, i] if free else 0.0
            inverse[i] = 1.0 / B[i, i]
            limit[i] = b[i] * b[i] * inverse[i] - 2.0 * (best + price[S[i]]) if free else 1e300
        for j in range(w):
            if state.member[j]:
                continue
            cj, sj = c[j], s[j]
            extra = 2.0 * price[j]
            floor = COLLINEAR * (G[j, j] + 2.0 * lambda2)
            hits = 0
            for i in range(k):
                v = V[j, i]
                num = cj + theta[i] * v
                hits += num * num > (limit[i] + extra) * (sj + v * v * inverse[i])
            if hits == 0:
                continue
            for i in range(k):
                v = V[j, i]
                den = sj + v * v * inverse[i]
                num = cj + theta[i] * v
                if den > floor and num * num > (limit[i] + extra) * den:
                    change = 0.5 * (b[i] * b[i] * inverse[i] - num * num / den) + price[j] - price[S[i]]
                    if change < best:
                        best, best_i, best_j = change, i, j
            if best_j == j:
                for i in range(k):
                    if limit[i] < 1e299:
                        limit[i] = b[i] * b[i] * inverse[i] - 2.0 * (best + price[S[i]])
        if best_j < 0:
            return swaps
        if swaps >= max_swaps:
            return -swaps
        drop(state, w, k, best_i)
        add(state, G, w, k - 1, best_j)
        swaps += 1
        if swaps % 20 == 0:
            build(state, G, q, lambda2, w, k)


@njit
def fitted_part(state, q, k):
    """q_S'b_S / 2: how far the support's optimum lies below the empty quadratic."""
    t = 0.0
    for i in range(k):
        t += q[state.S[i]] * state.b[i]
    return 0.5 * t


@njit
def scan(rows, index, B, b, c, products, a, skip, locked, price, paid, lambda1, lambda2, bound, target, ceiling, start, stop, change, column, position):
    """The best exchanges and additions of one support among columns start..stop, by the exact change on the quadratic; returns how many were kept.

    rows (r, p) with rows[index[i], j - start_of_rows] = G_{S_i, j}; B (k, k), b (k,) of the support; c (columns,) residual
    products, or with `products` the plain products q, from which b'g is taken here in the same read; a, price, skip (columns,); locked, paid (k,): positions that stay, prices of the members.
    Kept are the len(change) lowest of: swaps with change < ceiling, and additions (position -1) that lower F by more than target + price_j, entered as change = target + price_j - gain.
    One entry a column when ceiling <= 0 (a search for violators), every pair otherwise (a ranking). With lambda1 the gain is (|c| - lambda1)_+^2 / (2 s), exact while no sign changes.
    bound >= ||B||_2 prunes, where ceiling <= 0: with A_j = a_j + 2 lambda2, h = bound sum_i G_ij^2 >= g'Bg and t = min_i |b_i| / sqrt(B_ii), no swap improves if |c_j| <= t (sqrt(A_j) - sqrt(h)).
    """
    k, kept, room = b.size, 0, change.size
    g, u = np.empty(k), np.empty(k)
    t, dearest = np.inf, 0.0
    for i in range(k):
        if not locked[i]:
            t = min(t, abs(b[i]) / np.sqrt(B[i, i]))
            dearest = max(dearest, paid[i])
    prune = ceiling <= 0.0
    for j in range(start, stop):
        if skip[j]:
            continue
        A = a[j] + 2.0 * lambda2
        h, cj = 0.0, c[j]
        for i in range(k):
            g[i] = rows[index[i], j]
            h += g[i] * g[i]
            cj -= b[i] * g[i]
        h *= bound
        if not products:
            cj = c[j]
        size = max(abs(cj) - lambda1, 0.0)
        if prune and h < A and price[j] >= dearest and size <= t * (np.sqrt(A) - np.sqrt(h)) and size * size <= 2.0 * (target + price[j]) * (A - h):
            continue
        s = A
        for i in range(k):
            x = 0.0
            for l in range(k):
                x += B[i, l] * g[l]
            u[i] = x
            s -= x * g[i]
        best, best_i = np.inf, -2
        worst = change[room - 1] if kept == room else np.inf
        if s > COLLINEAR * A:
            d = target + price[j] - 0.5 * size * size / s
            if d < min(0.0, ceiling) and d < worst:
                best, best_i = d, -1
        for i in range(k):
            if locked[i]:
                continue
            den = s + u[i] * u[i] / B[i, i]
            if den <= COLLINEAR * A:
                continue
            num = max(abs(cj + b[i] / B[i, i] * u[i]) - lambda1, 0.0)
            d = 0.5 * (b[i] * b[i] / B[i, i] - num * num / den) + price[j] - paid[i]
            if d < ceiling and d < worst:
                if ceiling > 0.0:
                    kept = _keep(d, j, i, change, column, position, kept)
                    worst = change[room - 1] if kept == room else np.inf
                elif d < best:
                    best, best_i = d, i
        if best_i > -2:
            kept = _keep(best, j, best_i, change, column, position, kept)
    return kept


@njit
def _keep(d, j, i, change, column, position, kept):
    """Insert (d, j, i) into the ascending list; ties keep the smaller column first."""
    at = kept if kept < change.size else kept - 1
    if kept == change.size and d >= change[at]:
        return kept
    while at > 0 and change[at - 1] > d:
        change[at], column[at], position[at] = change[at - 1], column[at - 1], position[at - 1]
        at -= 1
    change[at], column[at], position[at] = d, j, i
    return min(kept + 1, change.size)
