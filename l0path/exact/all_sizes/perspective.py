"""Bounds of a node for all sizes by the perspective relaxation, improved by coordinate descent.

With D = diag(delta) and M = S - D positive semidefinite, leaving out candidates adds to F

    min (beta - b)'S(beta - b)  >=  min sum_j delta_j (beta_j - b_j)^2 + 2 w'(beta - b) - v'w,

w = M v: the tangent of the part with M at b + v, for any v. What is left is a sum over candidates:
one that stays adds -w_j^2 / delta_j, one that leaves g_j = delta_j (b_j - w_j / delta_j)^2 more. So
the m - t smallest g_j bound the sets of t candidates, all t at once. The best v is beta - b for the
minimizer beta of the relaxation with beta_j^2 / z_j in place of beta_j^2 in the part with D, and
0 <= z <= 1, sum z = t; steps for single coefficients come near to it. v = 0 is the bound by the sum
of delta_j b_j^2.

Sources: Frangioni & Gentile (Operations Research Letters 35, 2007) for the diagonal, Xie & Deng
(SIAM Journal on Optimization 30, 2020) and Hazimeh, Mazumder & Saab (Mathematical Programming 196,
2022) for coordinate steps and node bounds of the relaxation; tangents for all sizes at once are our
own.
"""

import numpy as np

from ...core.dispatch import njit
from ...problem.problem import EPS

SWEEPS = 2  # over the coefficients of a node; further ones leave out few nodes more
# mean delta of unit columns, below which the relaxation takes more time than it saves
LEAST_DELTA = 0.15


@njit
def sort(order, key, m, keep):
    """Let order[:keep] be those of the permutation order[:m] that have the largest keys, in
    descending order: insertion, for it is nearly sorted.
    """
    for a in range(1, m):
        j, l = order[a], min(a, keep - 1)
        if l < 0 or (a > l and not key[j] > key[order[l]]):
            continue
        order[a] = order[l]
        while l > 0 and key[order[l - 1]] < key[j]:
            order[l] = order[l - 1]
            l -= 1
        order[l] = j


@njit
def close_sizes(stack, f, first, last, cut):
    """Let first .. last be the open sizes of level f, without those at both ends that their bounds
    close. Whether any is left.
    """
    least = stack.least[f]
    while first <= last and not least[first] < cut.threshold[first]:
        first += 1
    while first <= last and not least[last] < cut.threshold[last]:
        last -= 1
    stack.first[f], stack.last[f] = first, last
    return first <= last


@njit
def pays(stack, space, f):
    """Whether the relaxation of level f can be expected to save time."""
    total = 0.0
    for a in range(stack.m[f]):
        total += space.delta[stack.ident[f, a]]
    return total > LEAST_DELTA * stack.m[f]


@njit
def _load(stack, space, f):
    """M, v and w of level f, and the order in which its candidates begin. Returns the sum of
    |v|.
    """
    S, b, m, beta, moved = stack.S[f], stack.b[f, 0], stack.m[f], stack.beta[f], 0.0
    v, w, M = space.d, space.w, space.M
    for a in range(m):
        for l in range(a):
            M[a, l] = S[a, l]
            M[l, a] = S[a, l]
        M[a, a] = S[a, a] - space.delta[stack.ident[f, a]]
        v[a], w[a], space.top[a] = beta[a] - b[a], 0.0, stack.high[f, a]
        moved += abs(v[a])
    for a in range(m):
        if v[a] != 0.0:
            for l in range(m):
                w[l] += v[a] * M[a, l]
    return moved


@njit
def _bound(stack, space, f, cut, moved):
    """Bound the open sizes of level f by v and w; whether any is left.

    moved: the sum of |v| and of the steps that led to w, of which rounding is a multiple: w has an
    error of some EPS m moved, and the bound that of w times 2 (beta - b) - v.
    """
    b, m, ident, least = stack.b[f, 0], stack.m[f], stack.ident[f], stack.least[f]
    v, w, g, top = space.d, space.w, space.e[0], space.top
    total, length = stack.F[f], 0.0
    for a in range(m):
        delta = space.delta[ident[a]]
        step = w[a] / delta
        entry = space.entry[ident[a]]
        g[a] = delta * (b[a] - step) * (b[a] - step) - entry
        total += entry - (v[a] + step) * w[a]
        length += abs(v[a]) + 2.0 * (abs(step) + abs(b[a]))
    total -= 16.0 * EPS * m * moved * length
    sort(top, g, m, m)
    first, last = stack.first[f], stack.last[f]
    for t in range(m - 1, 1, -1):
        total += g[top[t]]
        if t <= last - f and t >= first - f:
            least[f + t] = max(least[f + t], total)
    return close_sizes(stack, f, first, last, cut)


@njit
def _sweep(stack, space, f, multiplier):
    """One step for every coefficient of level f; `multiplier`: what a candidate costs, e_j aside.
    Returns the sum of the steps.
    """
    b, m, ident, beta, moved = stack.b[f, 0], stack.m[f], stack.ident[f], stack.beta[f], 0.0
    v, w, M = space.d, space.w, space.M
    for j in range(m):
        delta, A = space.delta[ident[j]], M[j, j]
        cost = max(multiplier + space.entry[ident[j]], 0.0)
        slope = A * beta[j] - w[j] + delta * b[j]
        size, threshold = abs(slope), np.sqrt(delta * cost)
        if size <= threshold:
            x = 0.0
        elif (size - threshold) * np.sqrt(delta) <= A * np.sqrt(cost):
            x = (size - threshold) / A
        else:
            x = size / (A + delta)
        step = (x if slope > 0.0 else -x) - beta[j]
        if step != 0.0:
            beta[j] += step
            v[j] += step
            moved += abs(step)
            for l in range(m):
                w[l] += step * M[j, l]
    return moved


@njit
def tighten(stack, space, f, cut):
    """Bound the open sizes of level f by the relaxation of the one in their middle; whether any is
    left.
    """
    moved = _load(stack, space, f)
    some = _bound(stack, space, f, cut, moved)
    for _ in range(SWEEPS):
        if not some:
            break
        t = (stack.first[f] + stack.last[f]) // 2 - f
        weakest, next_one = space.e[0, space.top[t - 1]], space.e[0, space.top[t]]
        moved += _sweep(stack, space, f, 0.5 * (weakest + next_one))
        some = _bound(stack, space, f, cut, moved)
    return some
