"""Columns that may enter an exchange, found among all p by the quadratic with one Gram matrix for
all fits: one entry a column, most columns refuted by a bound.
"""

import numpy as np

from ..core.dispatch import njit
from .table import COLLINEAR, _keep, share_left, swap_change


@njit
def foretold(
    rows,
    index,
    B,
    b,
    c,
    a,
    skip,
    locked,
    price,
    paid,
    lambda1,
    lambda2,
    dependent,
    bound,
    target,
    ceiling,
    start,
    stop,
    change,
    column,
    position,
):
    """For columns start..stop the best exchange of a support each; kept are the len(change) lowest
    below `ceiling`, ascending. Returns how many.

    rows (r, p) with rows[index[i], j] = G_{S_i, j}; B (k, k), b (k,); c, a, skip, price (p,);
    locked, paid (k,); additions count as target + price_j - gain, as in `exchange.scan`. A column
    is refuted without its k^2 products: with h >= g'Bg from bound >= ||B||_2, A = a_j + 2 lambda2,
    s = A - h and t = min_i |b_i| / sqrt(B_ii), a swap changes F by (t_i^2 - (c + t_i x)^2 / (s' +
    x^2)) / 2 for some |x| <= sqrt(h), s' >= s, hence by at least N / (2 A), N = t^2 s - 2 |c|
    sqrt(h) t - c^2, where N >= 0 and t >= |c| sqrt(h) / s.
    """
    k, kept, room = b.size, 0, change.size
    g, u = np.empty(k), np.empty(k)
    t, dearest = np.inf, 0.0
    for i in range(k):
        if not locked[i]:
            t = min(t, abs(b[i]) / np.sqrt(B[i, i]))
            dearest = max(dearest, paid[i])
    for j in range(start, stop):
        if skip[j]:
            continue
        A = a[j] + 2.0 * lambda2
        h = 0.0
        for i in range(k):
            g[i] = rows[index[i], j]
            h += g[i] * g[i]
        h *= bound
        worst = change[room - 1] if kept == room else ceiling
        size = max(abs(c[j]) - lambda1, 0.0)
        s = A - h
        if s > 0.0 and target + price[j] - 0.5 * size * size / s >= min(worst, 0.0):
            if t == np.inf:
                continue
            root = np.sqrt(h)
            N = t * t * s - 2.0 * size * root * t - size * size
            if N >= 0.0 and t * s >= size * root and 0.5 * N / A + price[j] - dearest >= worst:
                continue
        best, best_i = _best_exchange(
            B, b, c[j], A, g, u, locked, paid, lambda1, dependent, target, price[j]
        )
        if best < worst:
            kept = _keep(best, j, best_i, change, column, position, kept)
    return kept


@njit
def _best_exchange(B, b, c, A, g, u, locked, paid, lambda1, dependent, target, price):
    """(change, position) of the best exchange with one column: its addition (position -1) where
    that lowers F by more than target + price, or a swap.
    """
    s = share_left(B, g, A, u)
    best, best_i = np.inf, -2
    left = s if s > COLLINEAR * A else A if dependent else 0.0
    if left > 0.0:
        size = max(abs(c) - lambda1, 0.0)
        d = target + price - 0.5 * size * size / left
        if d < 0.0:
            best, best_i = d, -1
    for i in range(b.size):
        if not locked[i]:
            d = swap_change(B[i, i], b[i], u[i], c, s, A, lambda1, dependent) + price - paid[i]
            if d < best:
                best, best_i = d, i
    return best, best_i
