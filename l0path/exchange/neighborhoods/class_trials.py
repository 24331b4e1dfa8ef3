"""Exchanges tried by chord steps, which take gradients only, under a loss of q predictors of each
row.

From the restricted optimum of a support S the quadratic with its Hessian H (`class_quadratic`)
predicts the optimum after "drop i, add j". There the loss F, its slopes and the gradient are exact.
Slopes + V u, for the move u of the predictors by a chord step with H after the exchange and the
curvatures V of the fit in S, balance the gradient of the ridge where that step ends: weak duality
bounds the optimum from below (`verbs.dual_gain_of_rows`).
"""

from typing import NamedTuple

import numpy as np

from ...compiled import part
from ...core.dispatch import njit
from ...problem.verbs import drawn_back_rows, dual_gain_of_rows, value_and_slopes
from ...working_set.linear_algebra import add_columns, cholesky, cholesky_solve, copy, products
from ..trials import DRAWN_BACK, PROMISE_FACTOR
from .class_quadratic import Added, add_column

MOST_TRIES = 4  # chord steps after which an exchange that no bound refutes is left to a refit
SLOW = 0.8  # of what a step before promised: chord steps that promise more do not converge
BOUND_SLACK = 1e-12  # of F, by which a bound must be above the target
FARTHEST = 200.0  # predictors beyond which coefficients are no start of a refit


class ClassExchange(NamedTuple):
    """One exchange under q predictors."""

    i: int  # position in the support that is dropped
    j: int  # working column that is added, -1 for none
    added: Added  # what is known of j beside the support
    E: np.ndarray  # (q, q), the rows of its U at i, over its factor
    M: np.ndarray  # (q, q), factor of the block of i in the inverse Hessian with j


class ClassTrial(NamedTuple):
    """The arrays of a trial: K coefficients of the support for each of q predictors."""

    main: np.ndarray  # (q K,), coefficients of the support
    own: np.ndarray  # (q,), those of the column added
    right: np.ndarray  # (q K,), gradient in main
    left: np.ndarray  # (q,), gradient in own
    step: np.ndarray  # (q K,), chord step in main
    stepped: np.ndarray  # (q,), chord step in own
    end: np.ndarray  # (q K,), coefficients of a dual point
    end_own: np.ndarray  # (q,), that of the column added
    eta: np.ndarray  # (q n,), predictors
    slopes: np.ndarray  # (q n,)
    ahead: np.ndarray  # (q n,), predictors of a dual point
    dual: np.ndarray  # (q n,), the dual point
    moved: np.ndarray  # (q n,), work space


class ClassGoal(NamedTuple):
    """The ridge; the value below which F must be able to fall; whether only a bound refutes, else
    also what chord steps promise.
    """

    lambda2: float
    target: float
    thorough: bool


@njit
def work_space(q, n, size):
    """The `ClassTrial` of `size` coefficients of a support."""
    v, own, w = np.empty((4, size)), np.empty((4, q)), np.empty((5, q * n))
    return ClassTrial(
        v[0], own[0], v[1], own[1], v[2], own[2], v[3], own[3], w[0], w[1], w[2], w[3], w[4]
    )


@njit
def first_open(rows, table, exchanges, goal, x):
    """The number of the first of the exchanges (m, 2) of a fit that is not refuted, -1 where all
    are; x (K + 1, q) has its coefficients: those of the support (0 at the one dropped), the
    intercepts, and those of the column added; where they are no good start those of the fit.

    goal: a `ClassGoal`. Returns (number, whether x is a good start).
    """
    (K, q), n = table.x.shape, rows.y.size
    size = q * K
    C, F = np.empty((4, q, size)), np.empty((3, q, q))
    v, own, z = np.empty(size), np.empty((2, q)), np.empty(table.V.shape)
    added = Added(C[0], C[1], F[0], v, own[0], own[1], np.empty(1))
    trial = work_space(q, n, size)
    for e in range(len(exchanges)):
        i, j = exchanges[e, 0], exchanges[e, 1]
        exchange = ClassExchange(i, j, added, F[1], F[2])
        found = 0
        if add_column(rows, table, j, goal.lambda2, added, z) and _start(table, exchange, trial):
            found = _one(rows, table, exchange, goal, trial)
        if found >= 0:
            for s in range(q):
                for a in range(K):
                    x[a, s] = trial.main[s * K + a] if found else table.x[a, s]
                x[K, s] = trial.own[s] if found else 0.0
            return e, found == 1
    return -1, False


@njit
def _start(table, exchange, trial):
    """The coefficients that the quadratic predicts after an exchange; False where the member that
    leaves has no clear curvature.
    """
    (K, q), added, i = table.x.shape, exchange.added, exchange.i
    E, M = exchange.E, exchange.M
    for s in range(q):
        trial.own[s] = added.own[s] if exchange.j >= 0 else 0.0
        for a in range(K):
            trial.main[s * K + a] = table.x[a, s] + added.step[s * K + a]
    if i < 0:
        return True
    for t in range(q if exchange.j >= 0 else 0):
        for s in range(q):
            E[t, s] = added.U[s, t * K + i]
        cholesky_solve(added.factor, q, E[t])
    for s in range(q):
        for t in range(s + 1):
            M[s, t] = table.B[s * K + i, t * K + i]
            for u in range(q if exchange.j >= 0 else 0):
                M[s, t] += added.U[u, s * K + i] * E[t, u]
    if cholesky(M, q):
        return False
    _without(table, exchange, trial.main, trial.own)
    return True


@njit
def _without(table, exchange, main, own):
    """Take the member that leaves out of a step of the quadratic (main, own), in place."""
    (K, q), i, E, added = table.x.shape, exchange.i, exchange.E, exchange.added
    y = np.empty(q)
    for s in range(q):
        y[s] = main[s * K + i]
    cholesky_solve(exchange.M, q, y)
    for t in range(q):
        column = table.B[t * K + i]
        for l in range(main.size):
            main[l] -= y[t] * column[l]
    for u in range(q if exchange.j >= 0 else 0):
        both = 0.0
        for t in range(q):
            both += E[t, u] * y[t]
        own[u] += both
        for l in range(main.size):
            main[l] -= both * added.U[u, l]
    for s in range(q):
        main[s * K + i] = 0.0


@njit
def _chord(table, exchange, trial):
    """The chord step for the gradient (trial.right, trial.left); returns half its gain."""
    (K, q), added, B = table.x.shape, exchange.added, table.B
    right, left, step, stepped = trial.right, trial.left, trial.step, trial.stepped
    if exchange.i >= 0:
        for s in range(q):
            right[s * K + exchange.i] = 0.0
    for l in range(step.size):
        t = 0.0
        for m in range(step.size):
            t += B[l, m] * right[m]
        step[l] = t
    for s in range(q):
        stepped[s] = 0.0
    if exchange.j >= 0:
        for s in range(q):
            t = left[s]
            for l in range(step.size):
                t -= added.U[s, l] * right[l]
            stepped[s] = t
        cholesky_solve(added.factor, q, stepped)
        for s in range(q):
            for l in range(step.size):
                step[l] -= added.U[s, l] * stepped[s]
    if exchange.i >= 0:
        _without(table, exchange, step, stepped)
    gain = 0.0
    for l in range(step.size):
        gain += right[l] * step[l]
    for s in range(q if exchange.j >= 0 else 0):
        gain += left[s] * stepped[s]
    return 0.5 * gain


@njit
def _add_predictors(rows, table, j, main, own, u):
    """Add to u (q n,) the predictors of coefficients, without offset."""
    (K, q), k, n = table.x.shape, table.S.size, rows.y.size
    for s in range(q):
        out = part(u, s * n, s * n + n)
        if rows.intercept:
            level = main[s * K + k]
            for m in range(n):
                out[m] += level
        add_columns(rows.Z, table.S, part(main, s * K, s * K + k), out)
        if j >= 0:
            column, t = rows.Z[j], own[s]
            for m in range(n):
                out[m] += t * column[m]


@njit
def _value(rows, table, exchange, lambda2, trial):
    """(F at the coefficients of the trial, the largest |predictor|); leaves the slopes."""
    eta, far = trial.eta, 0.0
    copy(rows.offset, eta)
    _add_predictors(rows, table, exchange.j, trial.main, trial.own, eta)
    for m in range(eta.size):
        far = max(far, abs(eta[m] - rows.offset[m]))
    F = value_and_slopes(rows.loss, rows.y, eta, rows.weights, trial.slopes)
    return F + lambda2 * _ridge(table, trial.main, trial.own), far


@njit
def _balance(rows, table, j, D, trial):
    """Leave the products of D (q n,) with the columns, and with the intercept, in trial.right and
    trial.left.
    """
    (K, q), k, n = table.x.shape, table.S.size, rows.y.size
    for s in range(q):
        slopes, total, t = part(D, s * n, s * n + n), 0.0, 0.0
        if rows.intercept:
            for m in range(n):
                total += slopes[m]
            trial.right[s * K + k] = total
        products(rows.Z, table.S, slopes, part(trial.right, s * K, s * K + k))
        if j >= 0:
            column = rows.Z[j]
            for m in range(n):
                t += slopes[m] * column[m]
        trial.left[s] = t


@njit
def _one(rows, table, exchange, goal, trial):
    """Try an exchange from the coefficients in the trial: -1 where it is refuted, else whether
    they are a good start of a refit, 0 or 1.
    """
    lambda2, target, thorough = goal.lambda2, goal.target, goal.thorough
    (K, q), before = table.x.shape, np.inf
    for step in range(MOST_TRIES):
        F, far = _value(rows, table, exchange, lambda2, trial)
        if not F < np.inf or far > FARTHEST:
            return 0
        if F < target:
            return 1
        _balance(rows, table, exchange.j, trial.slopes, trial)
        for s in range(q):
            trial.left[s] += 2.0 * lambda2 * trial.own[s]
            for a in range(table.S.size):
                trial.right[s * K + a] += 2.0 * lambda2 * trial.main[s * K + a]
        promised = _chord(table, exchange, trial)
        if not thorough and F - PROMISE_FACTOR * promised > target:
            return -1
        if F - promised > target and _refuted(rows, table, exchange, goal, F, trial):
            return -1
        if step == MOST_TRIES - 1 or promised > SLOW * before:
            return 1
        before = promised
        for l in range(trial.main.size):
            trial.main[l] -= trial.step[l]
        for s in range(q):
            trial.own[s] -= trial.stepped[s]
    return 1


@njit
def _refuted(rows, table, exchange, goal, F, trial):
    """Whether the bound of the module's head is above the target; leaves the chord step as it
    was.
    """
    step, stepped = trial.step.copy(), trial.stepped.copy()
    least = F + _least_change(rows, table, exchange, goal.lambda2, trial) - BOUND_SLACK * abs(F)
    copy(step, trial.step)
    copy(stepped, trial.stepped)
    return least >= goal.target


@njit
def _least_change(rows, table, exchange, lambda2, trial):
    """As `trials._least_change`, by the chord step in trial.step and trial.stepped."""
    loss, y, weights, eta, slopes = rows.loss, rows.y, rows.weights, trial.eta, trial.slopes
    ahead, dual, n = trial.ahead, trial.dual, rows.y.size
    copy(trial.main, trial.end)
    copy(trial.own, trial.end_own)
    copy(eta, ahead)
    copy(slopes, dual)
    for _round in range(DRAWN_BACK + 1):
        _extrapolate(rows, table, exchange.j, trial)
        gain = dual_gain_of_rows(loss, y, weights, eta, slopes, ahead, dual)
        if abs(gain) < np.inf:
            start, end = trial.main, trial.end
            change = _ridge(table, end, trial.end_own) - _ridge(table, start, trial.own)
            return lambda2 * change + gain
        drawn_back_rows(loss, y, weights, eta, slopes, ahead, dual, trial.moved)
        moved = 0
        for m in range(n):
            away = 0.0
            for s in range(table.x.shape[1]):
                away += abs(trial.moved[s * n + m])
            moved += away > 0.0
        if not 0 < moved <= 0.1 * n:
            break
        _balance(rows, table, exchange.j, trial.moved, trial)
        _chord(table, exchange, trial)
    return -np.inf


@njit
def _extrapolate(rows, table, j, trial):
    """Move the predictors trial.ahead by the chord step, and trial.dual by what the curvatures make
    of it.
    """
    move, n, pair = trial.moved, rows.y.size, 0
    for m in range(move.size):
        move[m] = 0.0
    _add_predictors(rows, table, j, trial.step, trial.stepped, move)
    for m in range(move.size):
        trial.ahead[m] -= move[m]
    for l in range(trial.end.size):
        trial.end[l] -= trial.step[l]
    for s in range(table.x.shape[1]):
        trial.end_own[s] -= trial.stepped[s]
        for t in range(s + 1):
            V, left, right = table.V[pair], s * n, t * n
            for m in range(n):
                trial.dual[left + m] -= V[m] * move[right + m]
            if t < s:
                for m in range(n):
                    trial.dual[right + m] -= V[m] * move[left + m]
            pair += 1


@njit
def _ridge(table, main, own):
    """The sum of squares of coefficients without the intercepts."""
    (K, q), out = table.x.shape, 0.0
    for s in range(q):
        out += own[s] * own[s]
        for a in range(table.S.size):
            out += main[s * K + a] * main[s * K + a]
    return out
