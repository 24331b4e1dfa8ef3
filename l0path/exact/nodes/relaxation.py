"""The perspective relaxation of a quadratic model at one node of a search tree: some columns are
in, some out, the others free. One compiled kernel for sizes and for multipliers.

    minimise over b, z:   half - q'b + b'Gb / 2 + lambda1 ||b||_1
                          + sum_in r_j b_j^2 + sum_free [ r_j b_j^2 / z_j + price_j z_j ],
                          lower <= b <= upper,   |b_j| <= M_j z_j,   0 <= z_j <= 1

with multiplier_j = lambda0 f_j given, or equal multipliers s^2 at which the free z sum to `size`.
For a multiplier and rho = min(sqrt(multiplier / r), M) a free column costs (multiplier / rho + r
rho) |b| up to rho, where z = |b| / rho, and multiplier + r b^2 beyond (see
`relaxation.perspective`). Given which columns are linear, beyond rho, at their bounds and zero,
optimality is a linear system in b, and s is one more unknown, bordered by sum z = size: Newton
steps on it, each followed by a sweep of coordinate descent, which moves columns between the four,
end with the exact relaxation after a few turns. No bound depends on that: any b gives a dual point
(see `relaxation.bounds`).

Source: Hazimeh, Mazumder & Saab (Sparse regression at scale: branch-and-bound rooted in first-order
    optimization, Mathematical Programming 196, 2022), sections 3 and 4, solve the penalised node by
coordinate descent with a box; sizes, and the bordered system, are ours.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...working_set.linear_algebra import cholesky, cholesky_solve, subtract_rows
from .penalty import EDGE, LINEAR, QUADRATIC, ZERO, bound, cost, enter, members, move, shape, total

# moves of the multiplier in a turn, until the free z sum to about `size`, and sweeps of coordinate
# descent before each: with one sweep, Newton steps on correlated columns changed parts for long
NODE_SWEEPS, SWEEPS_EACH = 5, 4
# turns of plain Newton steps; later ones search along them at a fixed multiplier, and the
# multiplier is bracketed
FAST = 20
SEARCHED_STEPS = 20  # steps of a later turn
SOLVED = 1e-13  # of the null loss: what a sweep still changes once a node is solved


class QuadraticLoss(NamedTuple):
    """The loss half - q'b + b'Gb / 2: G (w, w) or larger, q (w,)."""

    G: np.ndarray
    q: np.ndarray
    half: float


class NodeLimits(NamedTuple):
    """A node ends once its bound exceeds `cutoff`, or after `turns` Newton steps; gamma: relative
    rounding of products.
    """

    cutoff: float
    turns: int
    gamma: float


class Relaxed(NamedTuple):
    """Arrays (w,) that are filled: b, the start and then the relaxed solution, c = q - G b, h, what
    each column takes off the bound, and part, where b lies.
    """

    b: np.ndarray
    c: np.ndarray
    h: np.ndarray
    part: np.ndarray


class Scratch(NamedTuple):
    """M (w, w) at least, x, t (w,), and step (w,), the last Newton step."""

    M: np.ndarray
    x: np.ndarray
    t: np.ndarray
    step: np.ndarray


class Bracket(NamedTuple):
    """Roots of multipliers between which that of the node lies."""

    low: float
    high: float


@njit
def sweep(loss, penalty, state, multiplier, A, found):
    """One pass of coordinate descent over columns A; b, c = q - G b on A, and part are kept up.
    Returns the largest change of the objective a move has made.
    """
    G, ridge, b, c, part = loss.G, penalty.ridge, found.b, found.c, found.part
    lower, upper, largest = penalty.lower, penalty.upper, 0.0
    for i in range(A.size):
        j = A[i]
        t = c[j] + G[j, j] * b[j]
        side = 1.0 if t > 0.0 else -1.0
        size, part[j] = move(
            abs(t) - penalty.lambda1,
            G[j, j],
            multiplier * penalty.factor[j],
            ridge[j],
            upper[j] if t > 0.0 else -lower[j],
            state[j] == 0,
        )
        step = side * size - b[j]
        if step != 0.0:
            b[j] += step
            for l in range(A.size):
                c[A[l]] -= step * G[j, A[l]]
            largest = max(largest, (G[j, j] + 2.0 * ridge[j]) * step * step)
    return largest


@njit
def direction(loss, penalty, branch, s, size, A, found, scratch):
    """Fill the step on A with the Newton step of b to the optimum of the current parts (see the
    module), returns that of s; 0 for size < 0: multipliers stand. c must be that of b on A.
    """
    M, x, t, step = scratch
    b, part, state, ridge = found.b, found.part, branch.state, penalty.ridge
    m, J, v = 0, np.empty(A.size, dtype=np.int64), np.zeros(A.size)
    for i in range(A.size):
        step[A[i]] = 0.0
        if part[A[i]] == LINEAR or part[A[i]] == QUADRATIC:
            J[m] = A[i]
            m += 1
    lack, less = float(size), 0.0  # sum z = size, linearised: lack = v'step + less ds
    for i in range(m):
        j = J[i]
        for l in range(i + 1):
            M[i, l] = loss.G[j, J[l]]
        side = 1.0 if b[j] > 0.0 else -1.0
        x[i], t[i] = found.c[j] - side * penalty.lambda1, 0.0
        if part[j] == QUADRATIC:
            M[i, i] += 2.0 * ridge[j]
            x[i] -= 2.0 * ridge[j] * b[j]
        else:
            box = penalty.upper[j] if b[j] > 0.0 else -penalty.lower[j]
            factor = penalty.factor[j]
            rho, slope = shape(s * s * factor, ridge[j], box)
            x[i] -= side * slope
            root = 2.0 * math.sqrt(ridge[j] * factor) if rho < box else 2.0 * s * factor / rho
            t[i] = side * root
            v[i] = side / rho
            lack -= abs(b[j]) / rho
            less -= abs(b[j]) / (rho * s) if rho < box else 0.0
    for i in range(A.size):
        j = A[i]
        lack -= 1.0 if state[j] == 0 and (part[j] == QUADRATIC or part[j] == EDGE) else 0.0
    if cholesky(M, m) > 0:
        return 0.0
    cholesky_solve(M, m, x)
    ds = 0.0
    if size >= 0:
        cholesky_solve(M, m, t)
        ds = _multiplier_step(v, x, t, m, lack, less, s)
    for i in range(m):
        step[J[i]] = x[i] - ds * t[i]
    return ds


@njit
def _multiplier_step(v, x, t, m, lack, less, s):
    """The step of s with which the linearised sum of z meets the size."""
    down, across = 0.0, 0.0
    for i in range(m):
        down += v[i] * x[i]
        across += v[i] * t[i]
    return min(max((lack - down) / (less - across), -0.9 * s), 4.0 * s) if less < across else 0.0


@njit
def leap(penalty, A, found, step):
    """Take the whole step; a linear column whose sign would turn stops at zero."""
    b = found.b
    for i in range(A.size):
        j = A[i]
        to = b[j] + step[j]
        if found.part[j] == LINEAR and to * b[j] <= 0.0:
            to = 0.0
        b[j] = min(max(to, penalty.lower[j]), penalty.upper[j])


@njit
def search(loss, penalty, state, multiplier, A, b, step):
    """Take the largest of the shares 1, 1/2, 1/4, ... of the step that lowers the objective at a
    fixed multiplier, or none.
    """
    before, start = cost(penalty, state, multiplier, A, b), np.empty(A.size)
    for i in range(A.size):
        start[i] = b[A[i]]
    share = 1.0
    for _ in range(12):
        for i in range(A.size):
            j = A[i]
            b[j] = min(max(start[i] + share * step[j], penalty.lower[j]), penalty.upper[j])
            if b[j] * start[i] < 0.0:
                b[j] = 0.0
        change = 0.0
        for i in range(A.size):
            d = b[A[i]] - start[i]
            if d != 0.0:
                change -= d * loss.q[A[i]]
                for l in range(A.size):
                    change += d * loss.G[A[i], A[l]] * (start[l] + 0.5 * (b[A[l]] - start[l]))
        if change + cost(penalty, state, multiplier, A, b) < before:
            return
        share *= 0.5
    for i in range(A.size):
        b[A[i]] = start[i]


@njit
def slack(gamma, loss, b):
    """A bound on the rounding error of c = q - G b: gamma times the largest entries that were
    summed.
    """
    size, top, reach = 0.0, 0.0, 0.0
    for j in range(b.size):
        size += abs(b[j])
        top = max(top, loss.G[j, j])
        reach = max(reach, abs(loss.q[j]))
    return gamma * (reach + size * top)


@njit
def descend(loss, penalty, branch, s, bracket, A, found, scratch):
    """The relaxation on columns A at the multiplier s^2, by Newton steps with line searches and
    sweeps, and the next multiplier within the bracket of its root: (s, bracket).
    """
    b, c, state, size = found.b, found.c, branch.state, branch.size
    for _ in range(SEARCHED_STEPS):
        direction(loss, penalty, branch, s, -1, A, found, scratch)
        search(loss, penalty, state, s * s, A, b, scratch.step)
        for i in range(A.size):
            c[A[i]] = loss.q[A[i]]
            for l in range(A.size):
                c[A[i]] -= loss.G[A[i], A[l]] * b[A[l]]
        if sweep(loss, penalty, state, s * s, A, found) < 1e-12 * loss.half:
            break
    if size <= 0:
        return s, bracket
    low, high = bracket
    if total(penalty, state, s * s, A, b) > size:
        low = max(low, s)
    else:
        high = min(high, s)
    to = s + direction(loss, penalty, branch, s, size, A, found, scratch)
    if low < to < high:
        s = to
    else:
        s = math.sqrt(max(low, 1e-3 * high) * high) if high < math.inf else 2.0 * s
    return s, Bracket(low, high)


@njit
def begin(branch, found):
    """Let b start from what the branch allows; (w,) bool: columns that are nonzero or in."""
    inside = np.zeros(found.b.size, dtype=np.bool_)
    for j in range(found.b.size):
        if branch.state[j] < 0 or (branch.size == 0 and branch.state[j] == 0):
            found.b[j] = 0.0
        inside[j] = found.b[j] != 0.0 or branch.state[j] > 0
        found.part[j] = ZERO
    return inside


@njit
def residual(loss, A, found):
    """Fill c = q - G b, b nonzero on A, and return half - b'(q + c) / 2 + b'c, the loss's part of
    the dual value.
    """
    b, c, out = found.b, found.c, loss.half
    for j in range(c.size):
        c[j] = loss.q[j]
    subtract_rows(loss.G, A, b, c)
    for i in range(A.size):
        out -= 0.5 * b[A[i]] * (loss.q[A[i]] - c[A[i]])
    return out


@njit
def balance(loss, penalty, branch, s, A, found):
    """Sweeps until the free z sum to about the size, the multiplier moving with them: (s, whether
    the node is solved on A).
    """
    change, ratio = 0.0, 1.0
    for _ in range(NODE_SWEEPS):
        for _ in range(SWEEPS_EACH):
            change = sweep(loss, penalty, branch.state, s * s, A, found)
            if change <= SOLVED * loss.half:
                break
        if branch.size <= 0:
            break
        ratio = total(penalty, branch.state, s * s, A, found.b) / branch.size
        if 0.7 < ratio < 1.4:
            break
        s *= min(max(ratio, 0.5), 2.0)
    return s, change <= SOLVED * loss.half and abs(ratio - 1.0) <= 1e-6


@njit
def copy(source, target):
    """Copy b, c and h."""
    for j in range(source.b.size):
        target.b[j], target.c[j], target.h[j] = source.b[j], source.c[j], source.h[j]


@njit
def relax(loss, penalty, branch, s, limits, found, M):
    """Solve one node: (bound, s), from the root s of a multiplier and the start in `found`, which
    becomes the relaxed solution of the largest bound. M: work space (w, w) at least.
    """
    w, gamma = found.b.size, limits.gamma
    inside, best = begin(branch, found), np.empty(max(branch.size, 1))
    scratch = Scratch(M, np.empty(w), np.empty(w), np.zeros(w))
    kept, bracket = Relaxed(np.zeros(w), np.zeros(w), np.zeros(w), found.part), Bracket(0.0, np.inf)
    top, kept_s, solved = -np.inf, s, False
    for turn in range(limits.turns):
        A = members(inside)
        start = residual(loss, A, found)
        over = slack(gamma, loss, found.b)
        value = bound(start, penalty, branch, s * s, found.c, over, found.h, best)
        value -= 8.0 * gamma * loss.half
        if value > top:
            top, kept_s = value, s
            copy(found, kept)
        if top > limits.cutoff:
            break
        fresh = enter(penalty, branch, s * s, found.c, inside, scratch.x)
        if solved and fresh == 0:
            break
        if fresh > 0:
            A = members(inside)
        s, solved = balance(loss, penalty, branch, s, A, found)
        if turn < FAST:
            s += direction(loss, penalty, branch, s, branch.size, A, found, scratch)
            leap(penalty, A, found, scratch.step)
        else:
            s, bracket = descend(loss, penalty, branch, s, bracket, A, found, scratch)
        for i in range(A.size):
            if found.b[A[i]] == 0.0 and branch.state[A[i]] == 0:
                inside[A[i]] = False
    copy(kept, found)
    return top, kept_s
