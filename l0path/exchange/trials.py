"""Exchanges tried by chord steps (`chord_steps`), which take gradients only.

From the restricted optimum b of a support S (B the inverse of its Hessian) the quadratic predicts
the optimum after "drop i, add j". There the loss F and the gradient g are exact, and F -
PROMISE_FACTOR g'B'g / 2, with B' the inverse after the exchange, is what no further descent is
expected to pass. Where that is above the target, weak duality decides: slopes + v (eta' - eta),
with v the curvatures of the table and eta' the predictor after the chord step, is dual feasible,
and its value is what no descent passes (`verbs.bound_of_rows`). What is neither refuted nor below
the target is left to a refit.
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from ..problem.verbs import drawn_back_rows, dual_gain_of_rows
from ..working_set.linear_algebra import copy
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
    v, w = np.empty((5, k + 1)), np.empty((5, n))
    secants = np.empty((2 * SECANTS + 3, k + 2))
    trial = Trial(v[0], v[1], v[2], w[0], w[1], secants, v[3], v[4], w[2], w[3], w[4])
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
    ahead, dual, left, moved, k = trial.ahead, trial.dual, 0.0, 0, table.S.size
    gain = dual_gain_of_rows(loss, y, weights, eta, slopes, ahead, dual)
    if abs(gain) < np.inf:  # mostly all rows are within
        return gain, left, moved
    gain = drawn_back_rows(loss, y, weights, eta, slopes, ahead, dual, trial.moved)
    for m in range(y.size):
        away = trial.moved[m]
        if away == 0.0:
            continue
        moved += 1
        left += away
        for l in range(k + 1):
            at = table.S[l] if l < k else exchange.j
            if l != exchange.i and at >= 0:
                trial.r[l] += away * (rows.Z[at, m] - table.mean[at])
    return gain, left, moved


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
