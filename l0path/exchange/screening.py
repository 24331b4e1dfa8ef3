"""Columns that may enter an exchange, found among all p by the quadratic with one Gram matrix for
all fits: one entry a column, most columns refuted by a bound.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import views
from ..core.dispatch import njit
from .ranking import TOGETHER, addition_change, swap_change
from .table import _keep

BOUNDED = 512  # columns whose bounds are computed together


class Some(NamedTuple):
    """Some columns of a block, side by side."""

    column: np.ndarray  # their numbers
    g: np.ndarray  # (k, TOGETHER), their rows
    u: np.ndarray  # (k, TOGETHER), B g
    left: np.ndarray  # what is left of their curvature
    best: np.ndarray  # the lowest change
    position: np.ndarray  # that gives way for it; -1: none, -2: no exchange


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
    b, change = screen.b, found.change
    k, kept, capacity = b.size, 0, change.size
    u, v, h = np.empty((2, k, TOGETHER)), np.empty((2, TOGETHER)), np.empty(BOUNDED)
    numbers, count = np.empty((2, TOGETHER), np.int64), 0
    some = Some(numbers[0], u[0], u[1], v[0], v[1], numbers[1])
    t, max_cost = np.inf, 0.0
    for i in range(k):
        if not part.locked[i]:
            t = min(t, abs(b[i]) / np.sqrt(screen.B[i, i]))
            max_cost = max(max_cost, part.member_cost[i])
    m = block.c.size
    for j in range(m):
        if j % BOUNDED == 0:
            _squares(block, screen, j, views.part(h, 0, min(BOUNDED, m - j)))
        worst = change[capacity - 1] if kept == capacity else rule.ceiling
        A, cost, most = block.square[j] + 2.0 * rule.lambda2, part.cost[j], h[j % BOUNDED]
        gain, s, refuted = max(abs(block.c[j]) - rule.lambda1, 0.0), A - most, part.skip[j]
        if s > 0.0 and rule.target + cost - 0.5 * gain * gain / s >= min(worst, 0.0):
            root = np.sqrt(most)
            N = t * t * s - 2.0 * gain * root * t - gain * gain
            lost = N >= 0.0 and t * s >= gain * root and 0.5 * N / A + cost - max_cost >= worst
            refuted = refuted or lost or t == np.inf
        if not refuted:
            some.column[count] = j
            count += 1
        if count == TOGETHER or (j == m - 1 and count > 0):
            _exchange_some(block, screen, part, rule, some, count)
            for e in range(count):
                worst = change[capacity - 1] if kept == capacity else rule.ceiling
                if some.best[e] < worst:
                    i = some.position[e]
                    kept = _keep(some.best[e], some.column[e], i, found, kept, rule.tie)
            count = 0
    return kept


@njit
def _squares(block, screen, first, h):
    """Fill h, a bound on g'B g of the columns of a block from `first` on."""
    for e in range(h.size):
        h[e] = 0.0
    for i in range(screen.b.size):
        row = block.rows[screen.index[i], first : first + h.size]
        for e in range(h.size):
            h[e] += row[e] * row[e]
    for e in range(h.size):
        h[e] *= screen.bound


@njit
def _exchange_some(block, screen, part, rule, some, count):
    """Fill the lowest change of the `count` first of some columns."""
    B, b, k, ridge = screen.B, screen.b, screen.b.size, 2.0 * rule.lambda2
    for i in range(k):
        row, gi = block.rows[screen.index[i]], some.g[i]
        for e in range(count):
            gi[e] = row[some.column[e]]
    for e in range(count):
        some.left[e] = block.square[some.column[e]] + ridge
    for i in range(k):
        gi, ui = some.g[i], some.u[i]
        for e in range(count):
            ui[e] = 0.0
        for l in range(k):
            share, gl = B[i, l], some.g[l]
            for e in range(count):
                ui[e] += share * gl[e]
        for e in range(count):
            some.left[e] -= ui[e] * gi[e]
    c, A, cost = np.empty(TOGETHER), np.empty(TOGETHER), np.empty(TOGETHER)
    for e in range(count):
        j = some.column[e]
        c[e], A[e], cost[e] = block.c[j], block.square[j] + ridge, part.cost[j]
        d = addition_change(c[e], some.left[e], A[e], rule, cost[e])
        some.best[e], some.position[e] = (d, -1) if d < 0.0 else (np.inf, -2)
    for i in range(k):
        if part.locked[i]:
            continue
        pivot, coefficient, off, ui = B[i, i], b[i], part.member_cost[i], some.u[i]
        for e in range(count):
            d = swap_change(
                pivot, coefficient, ui[e], c[e], some.left[e], A[e], rule.lambda1, rule.dependent
            )
            d += cost[e] - off
            lower = d < some.best[e]
            some.best[e] = d if lower else some.best[e]
            some.position[e] = i if lower else some.position[e]
