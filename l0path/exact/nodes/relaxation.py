"""The perspective relaxation of a quadratic model at one node of a search tree: some columns are
in, some out, the others free. One compiled kernel for sizes and for multipliers.

    minimize over b, z:   half - q'b + b'Gb / 2 + lambda1 ||b||_1
                          + sum_in r_j b_j^2 + sum_free [ r_j b_j^2 / z_j + price_j z_j ],
                          lower <= b <= upper,   |b_j| <= M_j z_j,   0 <= z_j <= 1

with multiplier_j = lambda0 f_j given, or equal multipliers s^2 at which the free z sum to `size`.
For a multiplier and rho = min(sqrt(multiplier / r), M) a free column costs (multiplier / rho + r
rho) |b| up to rho, where z = |b| / rho, and multiplier + r b^2 beyond (see
`relaxation.perspective`). Given which columns are linear, beyond rho, at their bounds and zero,
optimality is a linear system in b, and s is one more unknown, bordered by sum z = size: Newton
steps on it from the parent's solution, each followed by a look at where it has led columns, end
with the exact relaxation after a few turns. Where they do not, sweeps of coordinate descent move
columns between the four before each step. No bound depends on that: any b gives a dual point (see
`relaxation.bounds`). The columns that may be nonzero are few, and their part of G is copied.

Source: Hazimeh, Mazumder & Saab (Sparse regression at scale: branch-and-bound rooted in first-order
    optimization, Mathematical Programming 196, 2022), sections 3 and 4, solve the penalized node by
coordinate descent with a box; sizes, and the bordered system, are ours.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...working_set.linear_algebra import cholesky, cholesky_solve, subtract_rows
from .inside import (
    bounds_hold,
    edge_of,
    gathered,
    leap,
    place,
    refresh,
    search,
    sweep,
    total,
)
from .penalty import EDGE, LINEAR, QUADRATIC, bound, enter, members, shape

# turns of Newton steps from where the last ones led, and steps of a turn; no sweeps before them
DIRECT, DIRECT_STEPS = 12, 4
# moves of the multiplier in a later turn, until the free z sum to about `size`, and sweeps of
# coordinate descent before each: with one sweep, Newton steps on correlated columns changed parts
# for long
NODE_SWEEPS, SWEEPS_EACH = 5, 4
# turns of plain Newton steps; later ones search along them at a fixed multiplier, and the
# multiplier is bracketed
FAST = 20
SEARCHED_STEPS = 20  # steps of a later turn
SOLVED = 1e-13  # of the null loss: what a sweep still changes once a node is solved


class NodeLimits(NamedTuple):
    """A node ends once its bound exceeds `cutoff`, or after `turns` turns; gamma: relative rounding
    of products.
    """

    cutoff: float
    turns: int
    gamma: float


class Relaxed(NamedTuple):
    """Arrays (w,) that are filled: b, the start and then the relaxed solution, c = q - G b, and h,
    what each column takes off the bound.
    """

    b: np.ndarray
    c: np.ndarray
    h: np.ndarray


class Scratch(NamedTuple):
    """M (w, w) at least, x, t (w,), and step (w,), the last Newton step of the columns inside."""

    M: np.ndarray
    x: np.ndarray
    t: np.ndarray
    step: np.ndarray


class Bracket(NamedTuple):
    """Roots of multipliers between which that of the node lies."""

    low: float
    high: float


@njit
def direction(at, s, size, scratch):
    """Fill the step with the Newton step of b to the optimum of the current parts (see the module),
    returns (that of s, whether the Hessian is clearly positive; if not there are no steps); size <
    0: multipliers stand. c must be that of b.
    """
    M, x, t, step = scratch
    loss, penalty, state, b, c, part = at
    ridge = penalty.ridge
    m, J, v = 0, np.empty(b.size, dtype=np.int64), np.zeros(b.size)
    for j in range(b.size):
        step[j] = 0.0
        if part[j] == LINEAR or part[j] == QUADRATIC:
            J[m] = j
            m += 1
    lack, less = float(size), 0.0  # sum z = size, linearized: lack = v'step + less ds
    for i in range(m):
        j = J[i]
        row, into = loss.G[j], M[i]
        for l in range(i + 1):
            into[l] = row[J[l]]
        side = 1.0 if b[j] > 0.0 else -1.0
        x[i], t[i] = c[j] - side * penalty.lambda1, 0.0
        if part[j] == QUADRATIC:
            M[i, i] += 2.0 * ridge[j]
            x[i] -= 2.0 * ridge[j] * b[j]
        else:
            box, factor = edge_of(penalty, j, b[j]), penalty.factor[j]
            rho, slope = shape(s * s * factor, ridge[j], box)
            x[i] -= side * slope
            root = 2.0 * math.sqrt(ridge[j] * factor) if rho < box else 2.0 * s * factor / rho
            t[i] = side * root
            v[i] = side / rho
            lack -= abs(b[j]) / rho
            less -= abs(b[j]) / (rho * s) if rho < box else 0.0
    for j in range(b.size):
        lack -= 1.0 if state[j] == 0 and (part[j] == QUADRATIC or part[j] == EDGE) else 0.0
    if cholesky(M, m) > 0:
        return 0.0, False
    cholesky_solve(M, m, x)
    ds = 0.0
    if size >= 0:
        cholesky_solve(M, m, t)
        ds = _multiplier_step(v, x, t, m, lack, less, s)
    for i in range(m):
        step[J[i]] = x[i] - ds * t[i]
    return ds, True


@njit
def _multiplier_step(v, x, t, m, lack, less, s):
    """The step of s with which the linearized sum of z meets the size."""
    down, across = 0.0, 0.0
    for i in range(m):
        down += v[i] * x[i]
        across += v[i] * t[i]
    return min(max((lack - down) / (less - across), -0.9 * s), 4.0 * s) if less < across else 0.0


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
def boxed(penalty):
    """Whether some column has a box. There sweeps are better than `direct`: its columns seldom stay
    on their parts.
    """
    for j in range(penalty.upper.size):
        if penalty.upper[j] < np.inf or penalty.lower[j] > -np.inf:
            return True
    return False


@njit
def met(at, size, s):
    """Whether the free z sum to the size."""
    return size <= 0 or abs(total(at, s * s) / size - 1.0) <= 1e-6


@njit
def direct(at, size, s, scratch):
    """Newton steps, from the parts on which b lies, until they lead to other parts no more: (s,
    whether they have ended, whether the Hessians are clearly positive). Columns only go to zero
    here, none leaves it again.
    """
    sweep(at, s * s, False)
    place(at, s * s)
    for turn in range(DIRECT_STEPS):
        ds, positive = direction(at, s, size, scratch)
        if not positive:
            return s, False, False
        s += ds
        leap(at, scratch.step)
        ended = place(at, s * s) == 0
        if ended or turn + 1 < DIRECT_STEPS:
            refresh(at)
        if ended:
            return s, bounds_hold(at, s * s) and met(at, size, s), True
    return s, False, True


@njit
def balance(at, size, s):
    """Sweeps until the free z sum to about the size, the multiplier moving with them: (s, whether
    the node is solved on these columns).
    """
    change = 0.0
    for _ in range(NODE_SWEEPS):
        for _ in range(SWEEPS_EACH):
            change = sweep(at, s * s, True)
            if change <= SOLVED * at.loss.half:
                break
        if size <= 0:
            break
        ratio = total(at, s * s) / size
        if 0.7 < ratio < 1.4:
            break
        s *= min(max(ratio, 0.5), 2.0)
    return s, change <= SOLVED * at.loss.half and met(at, size, s)


@njit
def descend(at, size, s, bracket, scratch):
    """The relaxation at the multiplier s^2, by Newton steps with line searches and sweeps, and the
    next multiplier within the bracket of its root: (s, bracket).
    """
    for _ in range(SEARCHED_STEPS):
        direction(at, s, -1, scratch)
        search(at, s * s, scratch.step)
        refresh(at)
        if sweep(at, s * s, True) < 1e-12 * at.loss.half:
            break
    if size <= 0:
        return s, bracket
    low, high = bracket
    if total(at, s * s) > size:
        low = max(low, s)
    else:
        high = min(high, s)
    to = s + direction(at, s, size, scratch)[0]
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
    kept, bracket = Relaxed(np.zeros(w), np.zeros(w), np.zeros(w)), Bracket(0.0, np.inf)
    top, kept_s, solved, positive = -np.inf, s, False, not boxed(penalty)
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
        at = gathered(loss, penalty, branch, A, found)
        directly = positive and turn < DIRECT
        if directly:
            s, solved, positive = direct(at, branch.size, s, scratch)
        if not (directly and positive):
            s, solved = balance(at, branch.size, s)
            if turn < FAST:
                s += direction(at, s, branch.size, scratch)[0]
                leap(at, scratch.step)
            else:
                s, bracket = descend(at, branch.size, s, bracket, scratch)
        for i in range(A.size):
            found.b[A[i]] = at.b[i]
            inside[A[i]] = at.b[i] != 0.0 or at.state[i] > 0
    copy(kept, found)
    return top, kept_s
