"""The perspective penalty of the columns of a node: for a multiplier (the L0 penalty with a ridge
or a box, convexified), for a size, and what the columns take off a dual bound; the loss of a node.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit

LEAVE_ZERO = 20  # columns that leave zero at a time
ZERO, LINEAR, QUADRATIC, EDGE = 0, 1, 2, 3


class Penalty(NamedTuple):
    """What w columns cost."""

    lambda1: float
    ridge: np.ndarray  # (w,)
    lower: np.ndarray  # (w,), the box
    upper: np.ndarray  # (w,), the box
    factor: np.ndarray  # (w,), of the multiplier


class QuadraticLoss(NamedTuple):
    """The loss half - q'b + b'Gb / 2: G (w, w) or larger, q (w,)."""

    G: np.ndarray
    q: np.ndarray
    half: float


class Branch(NamedTuple):
    """state (w,): 1 in, 0 free, -1 out; size: free columns that may come in, -1 where each
    has a cost.
    """

    state: np.ndarray
    size: int


@njit
def shape(multiplier, ridge, M):
    """(rho, slope): where a free column's cost turns from linear to quadratic, and its slope there;
    M > 0 its box on the side of b.
    """
    if multiplier <= 0.0:
        return 0.0, 0.0
    if ridge * M * M > multiplier:
        rho = math.sqrt(multiplier / ridge)
        return rho, 2.0 * math.sqrt(multiplier * ridge)
    return M, multiplier / M + ridge * M


@njit
def move(reduced, curvature, multiplier, ridge, M, free):
    """(|b|, part): the minimizer over 0 <= b <= M of curvature b^2 / 2 - reduced b + the column's
    cost without lambda1, and which part of it b lies on.
    """
    if reduced <= 0.0 or M <= 0.0:
        return 0.0, ZERO
    if free:
        rho, slope = shape(multiplier, ridge, M)
        b = (reduced - slope) / curvature if curvature > 0.0 else math.inf
        if rho > 0.0 and not b > rho:
            return (b, LINEAR) if b > 0.0 else (0.0, ZERO)
    b = reduced / (curvature + 2.0 * ridge)
    return (b, QUADRATIC) if b < M else (M, EDGE)


@njit
def members(inside):
    """Indices of the entries that are true, or not zero, ascending."""
    count = 0
    for j in range(inside.size):
        count += inside[j] != 0
    A = np.empty(count, dtype=np.int64)
    count = 0
    for j in range(inside.size):
        if inside[j] != 0:
            A[count] = j
            count += 1
    return A


@njit
def insert(best, held, size, value):
    """Let a value into the descending list of the `size` largest, of which `held` are there;
    returns how many are then.
    """
    if held < size:
        i = held
        held += 1
    elif value > best[size - 1]:
        i = size - 1
    else:
        return held
    while i > 0 and best[i - 1] < value:
        best[i] = best[i - 1]
        i -= 1
    best[i] = value
    return held


@njit
def bound(start, penalty, branch, multiplier, c, slack, h, best):
    """The dual value of the node at the slopes -c, all columns counted: start less what they take
    off. slack: rounding of c. h (w,) is filled; best (size,) is work space: the largest free h.
    """
    lambda1, ridge, lower, upper, factor = penalty
    out, held, state, size = start, 0, branch.state, branch.size
    for j in range(c.size):
        h[j] = 0.0
        if state[j] < 0:
            continue
        reduced, M = abs(c[j]) + slack - lambda1, upper[j] if c[j] > 0.0 else -lower[j]
        if reduced > 0.0 and M > 0.0:
            x = min(reduced / (2.0 * ridge[j]), M) if ridge[j] > 0.0 else M
            h[j] = reduced * x - ridge[j] * x * x
        if state[j] > 0:
            out -= h[j]
            if size < 0:
                out += multiplier * factor[j]
        elif size < 0:
            out -= max(h[j] - multiplier * factor[j], 0.0)
        elif h[j] > 0.0 and size > 0:
            held = insert(best, held, size, h[j])
    for i in range(held):
        out -= best[i]
    return out


@njit
def enter(penalty, branch, multiplier, c, inside, excess):
    """Let free columns that leave zero at this multiplier into `inside`, those of the largest
    excess where there are many; returns their number. excess (w,) is work space.
    """
    lambda1, ridge, lower, upper, factor = penalty
    found = 0
    for j in range(c.size):
        excess[j] = 0.0
        if not inside[j] and branch.state[j] == 0 and branch.size != 0:
            reduced, M = abs(c[j]) - lambda1, upper[j] if c[j] > 0.0 else -lower[j]
            if M > 0.0:
                excess[j] = reduced - shape(multiplier * factor[j], ridge[j], M)[1]
                found += excess[j] > 0.0
    edge = 0.0
    if found > LEAVE_ZERO:
        most, held = np.zeros(LEAVE_ZERO), 0
        for j in range(c.size):
            held = insert(most, held, LEAVE_ZERO, excess[j])
        edge = most[LEAVE_ZERO - 1]
    fresh = 0
    for j in range(c.size):
        if excess[j] > 0.0 and excess[j] >= edge:
            inside[j] = True
            fresh += 1
    return fresh


@njit
def least_cost(penalty, branch, multiplier, b):
    """The least perspective penalty of b (w,) over z: with a cost for each, or with the free z
    summing to `size` at most; infinite where no z will do.
    """
    lambda1, ridge, lower, upper, factor = penalty
    state, size = branch.state, branch.size
    free, most, total = 0, 0.0, 0.0
    for j in range(b.size):
        if b[j] != 0.0:
            total += lambda1 * abs(b[j])
            if state[j] != 0:
                total += ridge[j] * b[j] * b[j]
            else:
                free += 1
                most = max(most, math.sqrt(ridge[j]) * abs(b[j]))
                if ridge[j] == 0.0:
                    most = max(most, 1.0)
    s = 0.0
    if size < 0:
        for j in range(b.size):
            if state[j] == 0 and b[j] != 0.0:
                rho, slope = shape(
                    multiplier * factor[j], ridge[j], upper[j] if b[j] > 0.0 else -lower[j]
                )
                total += (
                    slope * abs(b[j])
                    if abs(b[j]) < rho
                    else multiplier * factor[j] + ridge[j] * b[j] * b[j]
                )
            elif state[j] > 0:
                total += multiplier * factor[j]
        return total
    if free > size:
        low, high = 0.0, most * free / max(size, 1) * 2.0 + 1e-300
        for _ in range(60):
            s = 0.5 * (low + high)
            if _mass(ridge, lower, upper, state, b, s) > size:
                low = s
            else:
                high = s
            if high - low <= 1e-12 * high:
                break
        s = high
        if _mass(ridge, lower, upper, state, b, s) > size * (1.0 + 1e-9):
            return math.inf
    for j in range(b.size):
        if state[j] == 0 and b[j] != 0.0:
            total += (
                ridge[j]
                * b[j]
                * b[j]
                / _part(ridge[j], upper[j] if b[j] > 0.0 else -lower[j], abs(b[j]), s)
            )
    return total


@njit
def _part(ridge, M, size, s):
    """The z of a coefficient at the root s of the multiplier."""
    z = math.sqrt(ridge) * size / s if s > 0.0 else 1.0
    return min(max(z, size / M), 1.0)


@njit
def _mass(ridge, lower, upper, state, b, s):
    """Sum of the free z at the root s of the multiplier."""
    total = 0.0
    for j in range(b.size):
        if state[j] == 0 and b[j] != 0.0:
            total += _part(ridge[j], upper[j] if b[j] > 0.0 else -lower[j], abs(b[j]), s)
    return total
