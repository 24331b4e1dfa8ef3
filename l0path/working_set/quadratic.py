"""Quadratics with an l1 norm and a box: active signs and bounds, by plain loops."""

import math
from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from .linear_algebra import cholesky, cholesky_solve


class QuadraticProgram(NamedTuple):
    """minimize over x (k,):  x'Hx / 2 - q'x + sum_j l1_j |x_j|,  lower <= x <= upper."""

    H: np.ndarray  # (k, k)
    q: np.ndarray  # (k,)
    l1: np.ndarray  # (k,)
    lower: np.ndarray  # (k,)
    upper: np.ndarray  # (k,)


@njit
def solve_quadratic(H, q, l1, lower, upper, x, max_rounds):
    """argmin x'Hx / 2 - q'x + sum_j l1_j |x_j| over lower <= x <= upper, in place from the start x;
    all arrays (k,), H (k, k).

    Cholesky on the coordinates that are neither zero under an l1 nor at a bound, moved to the first
    sign change or bound on the way, and a coordinate sweep that lets others in. Returns the largest
    violation of the optimality conditions, relative to max |q|, as they are and (the slopes of a
    short column are small beside those of long ones) in units of the roots of the diagonal of H.
    """
    k = x.size
    program = QuadraticProgram(H, q, l1, lower, upper)
    L, z, free = np.empty((k, k)), np.empty(k), np.empty(k, np.int64)
    scale, own, unit = 1e-300, 1e-300, np.empty(k)
    for j in range(k):
        unit[j] = math.sqrt(max(H[j, j], 1e-300))
        scale = max(scale, abs(q[j]) + l1[j])
        own = max(own, (abs(q[j]) + l1[j]) / unit[j])
        x[j] = min(max(x[j], lower[j]), upper[j])
    worst = np.inf
    for turn in range(max_rounds):
        if turn > 0:  # the first turn trusts the start's signs
            _sweep(program, x)
        for _step in range(k + 1):
            if _to_first_crossing(program, x, turn == 0, L, z, free):
                break
        worst = 0.0
        for j in range(k):
            t = violation(_correlation(program, x, j), x[j], l1[j], lower[j], upper[j])
            worst = max(worst, t / max(min(scale, own * unit[j]), 1e-300))
        if worst <= 1e-13:
            break
    return worst


@njit
def solve_quadratics(H, q, l1, lower, upper, x, max_rounds):
    """`solve_quadratic` for each row of q, l1, lower, upper and x, (r, k): the largest
    violation.
    """
    worst = 0.0
    for r in range(q.shape[0]):
        found = solve_quadratic(H, q[r], l1[r], lower[r], upper[r], x[r], max_rounds)
        worst = max(worst, found)
    return worst


@njit
def _correlation(program, x, j):
    """Coordinate j of q - H x."""
    t = program.q[j]
    for l in range(x.size):
        t -= program.H[j, l] * x[l]
    return t


@njit
def _sweep(program, x):
    """A sweep of exact coordinate steps, in place."""
    H, l1 = program.H, program.l1
    for j in range(x.size):
        t = _correlation(program, x, j) + H[j, j] * x[j]
        t = t - l1[j] if t > l1[j] else t + l1[j] if t < -l1[j] else 0.0
        x[j] = min(max(t / max(H[j, j], 1e-300), program.lower[j]), program.upper[j])


@njit
def _to_first_crossing(program, x, first, L, z, free):
    """Solve on the free coordinates, in place, shortened to the first crossing of a zero or bound;
    whether there was none. first: coordinates without an l1 are free where a bound holds them too.
    """
    H, l1, lower, upper = program.H, program.l1, program.lower, program.upper
    m = 0
    for j in range(x.size):
        inside = (x[j] > lower[j] and x[j] < upper[j]) or (
            first and lower[j] < upper[j] and l1[j] == 0.0
        )
        if inside and (x[j] != 0.0 or l1[j] == 0.0):
            free[m] = j
            m += 1
    for a in range(m):
        i = free[a]
        shrinkage = l1[i] if x[i] > 0.0 else -l1[i] if x[i] < 0.0 else 0.0
        z[a] = _correlation(program, x, i) - shrinkage
        for c in range(a + 1):
            L[a, c] = H[i, free[c]]
    cholesky(L, m)
    cholesky_solve(L, m, z)
    length, hit, corner = 1.0, -1, 0.0
    for a in range(m):
        i = free[a]
        end = x[i] + z[a]
        edge = end
        if l1[i] > 0.0 and end * x[i] < 0.0:
            edge = 0.0
        edge = min(max(edge, lower[i]), upper[i])
        if edge != end and z[a] != 0.0:
            share = (edge - x[i]) / z[a]
            if share < length:
                length, hit, corner = max(share, 0.0), a, edge
    for a in range(m):
        x[free[a]] += length * z[a]
    if hit >= 0:
        x[free[hit]] = corner
    return hit < 0


@njit
def violation(t, x, l1, lower, upper):
    """The distance of the downhill slope t at x from optimality: 0 where no move lowers l1 |x| - t
    x within the bounds.
    """
    up = t - (l1 if x >= 0.0 else -l1)  # gain per unit upwards
    down = -t - (l1 if x <= 0.0 else -l1)
    worst = 0.0
    if x < upper:
        worst = max(worst, up)
    if x > lower:
        worst = max(worst, down)
    return worst
