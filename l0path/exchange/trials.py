"""Exchanges tried by chord steps (`chord_steps`), which take gradients only.

From the restricted optimum b of a support S (B the inverse of its Hessian) the quadratic predicts
the optimum after "drop i, add j". There the loss F and the gradient g are exact, and F -
PROMISE_FACTOR g'B'g / 2, with B' the inverse after the exchange, is what no further descent is
expected to pass. Where that is above the target, weak duality decides: slopes + v (eta' - eta),
with v the curvatures of the table and eta' the predictor after the chord step, is dual feasible,
and its value is what no descent passes (`losses.dual_bound`). What is neither refuted nor below the
target is left to a refit.

For ordered classes the thresholds move along, by what the second derivatives at the fit foretell;
the bound is `ordinal.conjugate_gaps`, and refits start from the predicted optimum
(`first_ordered`).
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from ..problem.coupled.ordinal import BestThresholds, conjugate_gaps, foretold, thresholds_room
from ..problem.verbs import along_the_way, fenchel_gap
from ..working_set import newton
from ..working_set.linear_algebra import (
    COLLINEAR,
    add_columns,
    copy,
    filled,
    products,
    rounding,
    weighted_square,
)
from .chord_steps import (
    SECANTS,
    Exchange,
    Trial,
    direction,
    gradient,
    learn,
    moved_intercept,
    predict,
    take_step,
)

# what an exchange may promise and still be asked for its bound: the Hessian may be that of a fit
# close by
PROMISE_FACTOR = 3.0
TRIES = 6  # chord steps after which an exchange that is not refuted is taken for better
MOST_STEPS = 40  # those after which an exchange is left to a refit that no bound has refuted yet
CLOSING = 12  # chord steps that bring the exchange taken to its optimum
DRAWN_BACK = 4  # chord steps for a dual point within its domain
SMALL_PROMISE = 1e-12  # share of F that descent may still promise there
# the share of the gradient that a chord step may leave, for a bound
BALANCED = 1e-9
FARTHEST = 30.0  # a predictor beyond which predicted coefficients are no start of a refit


class Exchanges(NamedTuple):
    """Exchanges of a fit: positions dropped from the support and working positions added, -1 for
    none; two arrays.
    """

    out: np.ndarray
    into: np.ndarray

    def of(self, which):
        """Some of them."""
        return Exchanges(self.out[which], self.into[which])


class Goal(NamedTuple):
    """The aim of trials: with `first` the first exchange below `target`, else the lowest of all;
    with `thorough` (and `first`) only a bound refutes. `tie`: by how much an exchange must be below
    one before it to be taken in its place.
    """

    target: float
    first: bool
    thorough: bool
    tie: float = 0.0


@njit
def attempt(rows, table, exchanges, goal, best):
    """Try exchanges of a fit, in their order.

    rows: a `newton.LossRows`; table: a `LocalTable` of the fit; goal: with `first` take the first
    exchange that comes below the target or that no bound has refuted after TRIES steps; else go
    through all and take the lowest below the target that is found; with `thorough` refute by bounds
    only, not by PROMISE_FACTOR.

    Returns (e, F, intercept, promised, reach), e = -1 if there is none; what descent from there
    still promises, and max |eta - offset|. best (k + 1,) has the coefficients of S, 0 at the one
    dropped, and that of the column added.
    """
    k, n = table.b.size, rows.y.size
    v, w = np.empty((5, k + 1)), np.empty((4, n))
    secants = np.empty((2 * SECANTS + 3, k + 2))
    trial = Trial(v[0], v[1], v[2], w[0], w[1], secants, v[3], v[4], w[2], w[3])
    u, g = np.empty(k), np.empty(k)
    found, lowest, level = -1, goal.target, table.b0
    for e in range(exchanges.out.size):
        i, j = exchanges.out[e], exchanges.into[e]
        exchange = Exchange(i, j, predict(table, i, j, trial.x, u, g), u)
        if exchange.s > 0.0:
            taken, F, here = _one(rows, table, exchange, trial, goal, lowest)
            if taken:
                found, lowest, level = e, F - goal.tie, here
                copy(trial.x, best)
                if goal.first:
                    break
    if found < 0:
        return found, lowest, level, 0.0, 0.0
    i, j = exchanges.out[found], exchanges.into[found]
    exchange = Exchange(i, j, predict(table, i, j, trial.x, u, g), u)
    F, level, promised = _closed_in(rows, table, exchange, trial, best, level)
    reach = 0.0
    for m in range(n):
        reach = max(reach, abs(trial.eta[m] - rows.offset[m]))
    return found, F, level, promised, reach


@njit
def _one(rows, table, exchange, trial, goal, lowest):
    """Try one exchange from the coefficients in trial.x: (whether it is taken, F, intercept)."""
    level = table.b0 + moved_intercept(rows, table, exchange.j, table.b, trial.x)
    for step in range(MOST_STEPS):
        F, g0 = gradient(rows, table, exchange, trial, level)
        promised = direction(table, exchange, trial.r, g0, trial.z)
        learn(trial.secants, trial.r, g0, step)
        hopeless = F - PROMISE_FACTOR * promised > lowest
        last = step == MOST_STEPS - 1 or (step >= TRIES - 1 and not hopeless)
        last = last or not F < np.inf  # where it overflows, only a refit can tell
        if hopeless and (
            not goal.thorough or F + _least_change(rows, table, exchange, trial, g0) > lowest
        ):
            break
        if F < lowest or (last and goal.first):
            return True, F, level
        level = take_step(rows, table, exchange, trial, step, g0, level)
    return False, np.inf, level


@njit
def _closed_in(rows, table, exchange, trial, best, level):
    """Bring the exchange taken, with the coefficients `best`, to its optimum: (F, intercept, what
    descent still promises).
    """
    F, promised, level_best = np.inf, np.inf, level
    copy(best, trial.x)
    for step in range(CLOSING):
        F, g0 = gradient(rows, table, exchange, trial, level)
        before, promised = promised, direction(table, exchange, trial.r, g0, trial.z)
        level_best = level
        copy(trial.x, best)
        if promised <= SMALL_PROMISE * abs(F) or not promised < 0.5 * before:
            break
        learn(trial.secants, trial.r, g0, step)
        level = take_step(rows, table, exchange, trial, step, g0, level)
    return F, level_best, promised


@njit
def _least_change(rows, table, exchange, trial, left):
    """A lower bound on the change of F by an exchange and any descent on its support; -inf where no
    bound was found. Changes trial.r. left: the derivative in the intercept.

    The dual point slopes + scale curvatures d, with d the change of the predictor after the chord
    step, has X'dual = -2 lambda2 (x - z) on the support. Rows whose curvature was much larger than
    it is here leave the domain of the conjugate with it: they are drawn back towards their slopes,
    and a further chord step takes up what that leaves of the equation.
    """
    x, r, end, move = trial.x, trial.r, trial.end, trial.move
    total = table.total if rows.intercept else np.inf
    copy(x, end)
    copy(trial.z, move)
    copy(trial.eta, trial.ahead)
    copy(trial.slopes, trial.dual)
    for _round in range(DRAWN_BACK):
        _extrapolate(rows, table, exchange.j, move, -left / total, trial)
        change = 0.0
        for l in range(x.size):
            end[l] -= move[l]
            change += table.lambda2 * (end[l] * end[l] - x[l] * x[l])
            r[l] = 0.0
        gain, left, moved = _dual_gain(rows, table, exchange, trial)
        if moved == 0:
            return change + gain
        if moved > 0.1 * rows.y.size:
            break
        direction(table, exchange, r, left, move)
    return -np.inf


@njit
def _dual_gain(rows, table, exchange, trial):
    """The value of trial.dual over F here, by the rows within the domain of the conjugate; the
    others, `moved`, are drawn back, and what that leaves of the equation is added to trial.r and
    returned for the intercept: (gain, left, moved).
    """
    loss, y, weights, eta, slopes = rows.loss, rows.y, rows.weights, trial.eta, trial.slopes
    ahead, dual = trial.ahead, trial.dual
    gain, left, moved, k = 0.0, 0.0, 0, table.S.size
    for m in range(y.size):  # without branches, for vector units: mostly all rows are within
        w = weights[m]
        inverse = 1.0 / w
        gap = fenchel_gap(loss, y[m], eta[m], slopes[m] * inverse, dual[m] * inverse)
        gain += dual[m] * (ahead[m] - eta[m]) - w * gap
    if abs(gain) < np.inf:
        return gain, left, moved
    gain = 0.0
    for m in range(y.size):
        w = weights[m]
        inverse = 1.0 / w
        gap = fenchel_gap(loss, y[m], eta[m], slopes[m] * inverse, dual[m] * inverse)
        if gap < np.inf:
            gain += dual[m] * (ahead[m] - eta[m]) - w * gap
            continue
        moved += 1
        away = slopes[m] - dual[m]
        away += _drawn_back(loss, y[m], eta[m], slopes[m] / w, -away / w) * w
        dual[m] += away
        left += away
        for l in range(k + 1):
            at = table.S[l] if l < k else exchange.j
            if l != exchange.i and at >= 0:
                trial.r[l] += away * (rows.Z[at, m] - table.mean[at])
    return gain, left, moved


@njit
def _drawn_back(loss, y, eta, at, step):
    """A share of `step` with which the slope `at` stays within the domain of the conjugate."""
    for _halving in range(10):
        step *= 0.5
        if fenchel_gap(loss, y, eta, at, at + step) < np.inf:
            return 0.5 * step
    return 0.0


@njit
def _extrapolate(rows, table, j, z, shift, trial):
    """Move the predictor trial.ahead by the chord step -z (k + 1,), whose intercept moves by
    `shift` and by the means, and trial.dual by what the curvatures make of it.
    """
    S, Z, ahead, dual = table.S, rows.Z, trial.ahead, trial.dual
    k = S.size
    for m in range(ahead.size):
        dual[m] -= table.scale * table.curvatures[m] * ahead[m]
    for l in range(k + 1):
        at = S[l] if l < k else j
        if at >= 0:
            shift += table.mean[at] * z[l]
    for m in range(ahead.size):
        ahead[m] += shift
    for l in range(k + 1):
        at = S[l] if l < k else j
        if at >= 0 and z[l] != 0.0:
            column, t = Z[at], z[l]
            for m in range(ahead.size):
                ahead[m] -= t * column[m]
    for m in range(ahead.size):
        dual[m] += table.scale * table.curvatures[m] * ahead[m]


class OrderedTable(NamedTuple):
    """The quadratic at a fit of ordered classes: its support S (k,) as positions in W, b (k,), F,
    lambda2; predictor eta, slopes and curvatures (n,); the gradient g (k,), the Hessian H (k, k)
    with the ridge, and its inverse B; V (k, n), the members times the curvatures; P (r, n), whose
    products with the members, coupled (k, r), are taken off; the best thresholds; total: no
    intercept moves.
    """

    S: np.ndarray
    b: np.ndarray
    F: float
    lambda2: float
    eta: np.ndarray
    slopes: np.ndarray
    v: np.ndarray
    g: np.ndarray
    H: np.ndarray
    B: np.ndarray
    V: np.ndarray
    P: np.ndarray
    coupled: np.ndarray
    best: BestThresholds
    total: float = np.inf


class OrderedTrial(NamedTuple):
    """Of length k + 1, the last for the column added: the optimum x that the quadratic predicts
    after an exchange, gradient r, chord step z. G (k,): second derivatives of that column with the
    members, u (k,) = B_T G; start (k,): the optimum without an exchange. Of length n: the predictor
    eta at x, its move from the fit, slopes. there: the thresholds foretold; rest (K - 1,):
    what they leave of their gradient; numbers 0..k-1.
    """

    x: np.ndarray
    r: np.ndarray
    z: np.ndarray
    G: np.ndarray
    u: np.ndarray
    start: np.ndarray
    eta: np.ndarray
    move: np.ndarray
    slopes: np.ndarray
    there: BestThresholds
    rest: np.ndarray
    numbers: np.ndarray


@njit
def first_ordered(rows, table, exchanges, at, stopping, b, eta):
    """Try exchanges of a fit of ordered classes, in their order, until a refit may lie below the
    target.

    rows: a `newton.LossRows`; at (m, k'): the supports after the m exchanges, as positions in W;
    stopping: a `newton.Stopping`. What the bound at the predicted optimum does not refute is
    refitted from there.

    Returns (e, refits, status, F), e = -1 where all are refuted, and leaves its coefficients in b
    (k',), its predictor in eta.
    """
    k, n, size, refits = table.b.size, rows.y.size, at.shape[1], 0
    v, w = np.empty((6, k + 1)), np.empty((3, n))
    room, rest, numbers = thresholds_room(rows.loss.levels, n), table.best.t.copy(), np.arange(k)
    trial = OrderedTrial(
        v[0], v[1], v[2], v[3, :k], v[4, :k], v[5, :k], w[0], w[1], w[2], room, rest, numbers
    )
    way = newton.LossRows(
        along_the_way(rows.loss, rows.y), rows.y, rows.weights, rows.offset, rows.intercept, rows.Z
    )
    shrunk = newton.Shrinkage(0.0, table.lambda2)
    box = newton.Box(filled(size, -np.inf), filled(size, np.inf))
    for l in range(k):
        trial.start[l] = table.b[l]
        for m in range(k):
            trial.start[l] -= table.B[l, m] * table.g[m]
    for e in range(at.shape[0]):
        i, j = exchanges.out[e], exchanges.into[e]
        A, s = _foretell(rows, table, i, j, trial)
        if s > 0.0 and _out_of_reach(rows, table, Exchange(i, j, s, trial.u), A, stopping, trial):
            continue
        far = 0.0
        for m in range(n):
            far = max(far, abs(trial.eta[m] - rows.offset[m]))
        near, l = s > 0.0 and far <= FARTHEST, 0
        for a in range(size):
            if at[e, a] == j:
                b[a] = trial.x[k] if near else 0.0
                continue
            l += l == i
            b[a] = trial.x[l] if near else table.b[l]
            l += 1
        refits += 1
        status, F, _, _ = newton.refit(way, at[e], shrunk, box, b, 0.0, stopping, eta)
        if status != newton.REJECTED and not (status == newton.CONVERGED and F >= stopping.target):
            return e, refits, status, F
    return -1, refits, newton.REJECTED, np.inf


@njit
def _foretell(rows, table, i, j, trial):
    """Fill trial.x, its predictor and move for "drop i, add j". Returns the curvature along j and
    what of it is left given the other members, 0 where that is next to nothing.
    """
    x, G, u, B, b = trial.x, trial.G, trial.u, table.B, table.b
    k, A, s = b.size, 1.0, 1.0
    copy(trial.start, x[:k])
    x[k] = 0.0
    if i >= 0:
        t = x[i] / B[i, i]
        for l in range(k):
            x[l] -= t * B[l, i]
        x[i] = 0.0
    if j >= 0:
        c, A = _along(rows, table, j, trial)
        s = A
        for l in range(k):
            u[l] = 0.0
            for m in range(k):
                u[l] += B[l, m] * G[m] if m != i else 0.0
        t = u[i] / B[i, i] if i >= 0 else 0.0
        for l in range(k):
            u[l] = 0.0 if l == i else u[l] - t * B[l, i]
            s -= u[l] * G[l]
            c -= G[l] * (x[l] - b[l])
        if not s > COLLINEAR * A:
            return A, 0.0
        x[k] = c / s
        for l in range(k):
            x[l] -= u[l] * x[k]
    for l in range(k):
        trial.z[l] = x[l] - b[l]
    trial.z[k] = x[k]
    _moved(rows, table, j, trial)
    for m in range(trial.eta.size):
        trial.eta[m] = table.eta[m] + trial.move[m]
    return A, s


@njit
def _moved(rows, table, j, trial):
    """Fill trial.move with what a step trial.z does to the predictor."""
    move, k = trial.move, table.b.size
    for m in range(move.size):
        move[m] = 0.0
    add_columns(rows.Z, table.S, trial.z[:k], move)
    if j >= 0:
        z, t = rows.Z[j], trial.z[k]
        for m in range(move.size):
            move[m] += t * z[m]


@njit
def _along(rows, table, j, trial):
    """Fill trial.G for working column j; returns minus its slope, and its curvature."""
    z, P, G = rows.Z[j], table.P, trial.G
    products(table.V, trial.numbers, z, G)
    A, c = weighted_square(z, table.v) + 2.0 * table.lambda2, 0.0
    for r in range(P.shape[0]):
        row, t = P[r], 0.0
        for m in range(z.size):
            t += row[m] * z[m]
        A -= t * t
        for l in range(G.size):
            G[l] -= table.coupled[l, r] * t
    for m in range(z.size):
        c -= z[m] * table.slopes[m]
    return c, A


@njit
def _out_of_reach(rows, table, exchange, A, stopping, trial):
    """Whether the bound by the chord step from the predicted optimum is above the target. A: the
    curvature along the column added.
    """
    target, i, j = stopping.target, exchange.i, exchange.j
    x, r, z, k, n = trial.x, trial.r, trial.z, table.b.size, rows.y.size
    if not target < np.inf:
        return False
    F = foretold(rows.y, trial.eta, rows.weights, table.best, trial.move, trial)
    for l in range(k + 1):
        F += table.lambda2 * x[l] * x[l]
    if not target < F < np.inf:
        return False
    products(rows.Z, table.S, trial.slopes, r)
    r[k] = 0.0
    if j >= 0:
        column = rows.Z[j]
        for m in range(n):
            r[k] += column[m] * trial.slopes[m]
    for l in range(k + 1):
        r[l] = r[l] + 2.0 * table.lambda2 * x[l] if l != i else 0.0
    promised = direction(table, exchange, r, 0.0, z)
    if F - promised <= target or not _in_balance(table, exchange, A, trial):
        return False
    level = abs(table.F)
    for m in range(n):
        level += abs(table.slopes[m] * table.eta[m])
    for l in range(k + 1):
        F -= table.lambda2 * z[l] * z[l]
        z[l] = -z[l]
    _moved(rows, table, j, trial)
    F -= conjugate_gaps(rows.y, rows.weights, table.best, trial)
    return F > target + max(1e-13, rounding(n)) * level


@njit
def _in_balance(table, exchange, A, trial):
    """Whether the chord step solves its equations, as a dual point must."""
    G, r, z, i, j, k = trial.G, trial.r, trial.z, exchange.i, exchange.j, table.b.size
    most, left = 0.0, 0.0
    for l in range(k + 1 if j >= 0 else k):
        if l == i:
            continue
        t = r[l] - (A if l == k else G[l] if j >= 0 else 0.0) * z[k]
        for m in range(k):
            t -= (table.H[l, m] if l < k else G[m]) * z[m]
        most, left = max(most, abs(r[l])), max(left, abs(t))
    return left <= BALANCED * most
