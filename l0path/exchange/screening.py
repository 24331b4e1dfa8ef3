"""Columns that may enter an exchange, found among all p by the quadratic with one Gram matrix for
all fits: one entry a column, most columns refuted by a bound.
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from .ranking import addition_change, swap_change
from .table import _keep


class Screen(NamedTuple):
    """A support by which columns are screened: index (k,), where its Gram rows stand; B (k, k), b
    (k,), and bound >= ||B||_2.
    """

    index: np.ndarray
    B: np.ndarray
    b: np.ndarray
    bound: float


@njit
def screen_exchanges(block, screen, part, rule, found):
    """The best exchange of a support for each column of a block; `found` keeps the lowest below the
    ceiling, ascending. Returns their number.

    block: rows (r, m) with rows[index[i], j] = G_{S_i, j}, c, square (m,); part: the
    `ranking.Roles`; additions count as target + cost_j - gain, as in `ranking.scan`. A column is
    refuted without its k^2 products: with h >= g'Bg from bound >= ||B||_2, A = a_j + 2 lambda2, s =
    A - h and t = min_i |b_i| / sqrt(B_ii), a swap changes F by (t_i^2 - (c + t_i x)^2 / (s' + x^2))
    / 2 for some |x| <= sqrt(h), s' >= s, hence by at least N / (2 A), N = t^2 s - 2 |c| sqrt(h) t -
    c^2, where N >= 0 and t >= |c| sqrt(h) / s.
    """
    B, b, change = screen.B, screen.b, found.change
    k, kept, capacity = b.size, 0, change.size
    g, u = np.empty(k), np.empty(k)
    t, max_cost = np.inf, 0.0
    for i in range(k):
        if not part.locked[i]:
            t = min(t, abs(b[i]) / np.sqrt(B[i, i]))
            max_cost = max(max_cost, part.member_cost[i])
    for j in range(block.c.size):
        if part.skip[j]:
            continue
        c, cost, A = block.c[j], part.cost[j], block.square[j] + 2.0 * rule.lambda2
        h = 0.0
        for i in range(k):
            g[i] = block.rows[screen.index[i], j]
            h += g[i] * g[i]
        h *= screen.bound
        worst = change[capacity - 1] if kept == capacity else rule.ceiling
        size = max(abs(c) - rule.lambda1, 0.0)
        s = A - h
        if s > 0.0 and rule.target + cost - 0.5 * size * size / s >= min(worst, 0.0):
            if t == np.inf:
                continue
            root = np.sqrt(h)
            N = t * t * s - 2.0 * size * root * t - size * size
            if N >= 0.0 and t * s >= size * root and 0.5 * N / A + cost - max_cost >= worst:
                continue
        s = share_left(B, g, A, u)
        best, best_i = addition_change(c, s, A, rule, cost), -1
        if not best < 0.0:
            best, best_i = np.inf, -2
        for i in range(k):
            if not part.locked[i]:
                d = swap_change(B[i, i], b[i], u[i], c, s, A, rule.lambda1, rule.dependent)
                d += cost - part.member_cost[i]
                if d < best:
                    best, best_i = d, i
        if best < worst:
            kept = _keep(best, j, best_i, found, kept, rule.tie)
    return kept


@njit
def share_left(B, g, A, u):
    """Fill u = B g for a column with g = G_{S, j}; returns what of its curvature A is left given
    the support, A - g'B g.
    """
    k, s = g.size, A
    for i in range(k):
        x = 0.0
        for l in range(k):
            x += B[i, l] * g[l]
        u[i] = x
        s -= x * g[i]
    return s
