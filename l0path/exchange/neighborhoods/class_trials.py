"""Exchanges tried under the multinomial loss by chord steps, which take gradients only.

From the restricted optimum of a support S the quadratic with its Hessian H (`class_quadratic`)
predicts the optimum after "drop i, add j". There the loss F, the probabilities P and the gradient
are exact. A chord step -d, with H after the exchange, changes the predictors of row i by -e_i, and
with the curvatures of the fit in S, p_i = P_i - (diag P0_i - P0_i P0_i') e_i balances the gradient
of the ridge at x - d. Where no p_i is negative, weak duality bounds the optimum from below:

    F >= F(x) - sum_i w_i KL(p_i || P_i) - lambda2 ||d||^2.
"""

from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...core.elementary import entropy_rise
from ...working_set.linear_algebra import add_columns, cholesky, cholesky_solve, copy, products
from ...working_set.newton import REJECTED
from ...working_set.several.softmax import mean_loss_of, refit_classes
from ..trials import DRAWN_BACK, PROMISE_FACTOR
from .class_quadratic import Added, add_column

MOST_TRIES = 4  # chord steps after which an exchange that no bound refutes is left to a refit
SLOW = 0.8  # of what a step before promised: chord steps that promise more do not converge
BOUND_SLACK = 1e-12  # of F, by which a bound must be above the target
FARTHEST = 200.0  # predictors beyond which coefficients are no start of a refit


class ClassExchange(NamedTuple):
    """One exchange under q contrasts."""

    i: int  # position in the support that is dropped
    j: int  # working column that is added, -1 for none
    added: Added  # what is known of j beside the support
    E: np.ndarray  # (q, q), the rows of its U at i, over its factor
    M: np.ndarray  # (q, q), factor of the block of i in the inverse Hessian with j


class ClassTrial(NamedTuple):
    """The arrays of a trial: K coefficients of the support for each of q contrasts, r classes."""

    main: np.ndarray  # (q K,), coefficients of the support
    own: np.ndarray  # (q,), those of the column added
    right: np.ndarray  # (q K,), gradient in main
    left: np.ndarray  # (q,), gradient in own
    step: np.ndarray  # (q K,), chord step in main
    stepped: np.ndarray  # (q,), chord step in own
    total: np.ndarray  # (q K,), a sum of steps
    u: np.ndarray  # (q, n), predictors of the contrasts
    eta: np.ndarray  # (r, n), predictors of the classes
    P: np.ndarray  # (r, n), probabilities
    p: np.ndarray  # (r, n), those of a dual point
    D: np.ndarray  # (q, n), slopes
    mean: np.ndarray  # (n,), work space


class ClassGoal(NamedTuple):
    """The ridge; the value below which F must be able to fall; whether only a bound refutes, else
    also what chord steps promise.
    """

    lambda2: float
    target: float
    thorough: bool


@njit
def work_space(r, q, n, size):
    """The `ClassTrial` of `size` coefficients of a support."""
    v, own = np.empty((4, size)), np.empty((4, q))
    A, B = np.empty((3, r, n)), np.empty((2, q, n))
    return ClassTrial(
        v[0], own[0], v[1], own[1], v[2], own[2], v[3], B[0], A[0], A[1], A[2], B[1], np.empty(n)
    )


@njit
def first_open(rows, table, exchanges, goal, x):
    """The number of the first of the exchanges (m, 2) of a fit that is not refuted, -1 where all
    are; x (K + 1, q) has its coefficients: those of the support (0 at the one dropped), the
    intercepts, and those of the column added; where they are no good start those of the fit.

    goal: a `ClassGoal`. Returns (number, whether x is a good start).
    """
    (K, q), (r, n) = table.x.shape, table.P.shape
    size = q * K
    C, F = np.empty((4, q, size)), np.empty((3, q, q))
    v, own, z = np.empty(size), np.empty((2, q)), np.empty(table.V.shape)
    added = Added(C[0], C[1], F[0], v, own[0], own[1], np.empty(1))
    trial = work_space(r, q, n, size)
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
def first_below(rows, table, W, exchanges, goal, limits, rejected):
    """The first of the exchanges (m, 2) of a fit that is not refuted and whose refit does not end
    below its target either.

    goal: a `ClassGoal`; limits: the `DescentLimits` of refits; W (w,) the indices of the working
    columns. rejected (m,) is True where a refit ended because the target is out of reach.

    Returns (number, -1 where all are refuted; status, F and far of `refit_classes`; the positions
    S of the support, by their indices; coefficients x, and those held), see `refit_classes`.
    """
    (K, q), first, m = table.x.shape, 0, len(exchanges)
    start, eta = np.empty((K + 1, q)), np.empty(table.P.shape)
    while first < m:
        e = first_open(rows, table, exchanges[first:], goal, start)[0]
        if e < 0:
            break
        e += first
        S, x = _exchanged(table, W, exchanges[e, 0], exchanges[e, 1], start)
        held = np.empty(x.shape)
        status, F, far = refit_classes(rows, S, limits, x, held, eta)
        if status != REJECTED:
            return e, status, F, far, S, x, held
        rejected[e], first = True, e + 1
    return -1, REJECTED, np.inf, 0.0, np.empty(0, np.int64), start[:0], start[:0]


@njit
def _exchanged(table, W, i, j, start):
    """(positions, by their indices; coefficients) of the support of a table without its position i
    and with the working column j, for coefficients `start` of `first_open`.
    """
    (K, q), k, at, left = table.x.shape, table.S.size, 0, j >= 0
    m = k - (i >= 0) + (j >= 0)
    S, x = np.empty(m, np.int64), np.empty((m + K - k, q))
    for a in range(k + 1):
        if left and (a == k or W[j] < W[table.S[a]]):
            S[at], left = j, False
            copy(start[K], x[at])
            at += 1
        if a < k and a != i:
            S[at] = table.S[a]
            copy(start[a], x[at])
            at += 1
    if K > k:
        copy(start[k], x[m])
    return S, x


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
def _predictors(rows, table, j, main, own, trial):
    """Leave in trial.eta (r, n) the predictors of the classes by coefficients, without offset."""
    (K, q), k, u, eta = table.x.shape, table.S.size, trial.u, trial.eta
    for s in range(q):
        level = main[s * K + k] if rows.intercept else 0.0
        for m in range(u.shape[1]):
            u[s, m] = level
        add_columns(rows.Z, table.S, main[s * K : s * K + k], u[s])
        if j >= 0:
            column, t = rows.Z[j], own[s]
            for m in range(u.shape[1]):
                u[s, m] += t * column[m]
    for c in range(eta.shape[0]):
        for m in range(u.shape[1]):
            eta[c, m] = 0.0
        for s in range(q):
            t = rows.T[s, c]
            for m in range(u.shape[1]):
                eta[c, m] += t * u[s, m]


@njit
def _value(rows, table, exchange, lambda2, trial):
    """(F at the coefficients of the trial, the largest |predictor|); leaves trial.P."""
    _predictors(rows, table, exchange.j, trial.main, trial.own, trial)
    (r, n), eta, far = trial.P.shape, trial.eta, 0.0
    for c in range(r):
        for m in range(n):
            far = max(far, abs(eta[c, m]))
            eta[c, m] += rows.offset[c, m]
    # p[0] is filled anew by `_refuted`
    F = mean_loss_of(rows, eta, trial.mean, trial.p[0], trial.P)
    return F + lambda2 * _ridge(table, trial.main, trial.own), far


@njit
def _gradient(rows, table, j, lambda2, trial):
    """Leave the gradient of F in trial.right and trial.left."""
    (K, q), (r, n), k, T = table.x.shape, trial.P.shape, table.S.size, rows.T
    for s in range(q):
        D = trial.D[s]
        for m in range(n):
            D[m] = -T[s, rows.codes[m]]
        for c in range(r):
            t = T[s, c]
            for m in range(n):
                D[m] += t * trial.P[c, m]
        _balance_of(rows, table, j, D, s, trial)
        for a in range(k):
            trial.right[s * K + a] += 2.0 * lambda2 * trial.main[s * K + a]
        trial.left[s] += 2.0 * lambda2 * trial.own[s]


@njit
def _balance_of(rows, table, j, D, s, trial):
    """Weigh the slopes D (n,) of contrast s; leave their products with the columns, and with the
    intercept, in trial.right and trial.left.
    """
    K, k, total = table.x.shape[0], table.S.size, 0.0
    for m in range(D.size):
        D[m] *= rows.weights[m]
        total += D[m]
    if rows.intercept:
        trial.right[s * K + k] = total
    products(rows.Z, table.S, D, trial.right[s * K : s * K + k])
    t = 0.0
    if j >= 0:
        column = rows.Z[j]
        for m in range(D.size):
            t += D[m] * column[m]
    trial.left[s] = t


@njit
def _one(rows, table, exchange, goal, trial):
    """Try an exchange from the coefficients in the trial: -1 where it is refuted, else whether
    they are a good start of a refit, 0 or 1.
    """
    lambda2, target, thorough = goal.lambda2, goal.target, goal.thorough
    before = np.inf
    for step in range(MOST_TRIES):
        F, far = _value(rows, table, exchange, lambda2, trial)
        if not F < np.inf or far > FARTHEST:
            return 0
        if F < target:
            return 1
        _gradient(rows, table, exchange.j, lambda2, trial)
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
        for s in range(trial.own.size):
            trial.own[s] -= trial.stepped[s]
    return 1


@njit
def _refuted(rows, table, exchange, goal, F, trial):
    """Whether the bound of the module's head is above the target. Rows that would have
    probabilities below zero are drawn back, and a further chord step takes up what that leaves of
    the balance; the first chord step is in trial.step and trial.stepped at the end again.
    """
    (r, n), total, rounds = trial.P.shape, trial.total, 0
    first, own, sum_own = trial.step.copy(), trial.stepped.copy(), trial.stepped.copy()
    for c in range(r):
        copy(trial.P[c], trial.p[c])
    copy(first, total)
    moved = _move(rows, table, exchange.j, trial)
    while 0 < moved <= 0.1 * n and rounds < DRAWN_BACK:
        _left_over(rows, table, exchange.j, trial)
        _chord(table, exchange, trial)
        for l in range(total.size):
            total[l] += trial.step[l]
        for s in range(own.size):
            sum_own[s] += trial.stepped[s]
        moved, rounds = _move(rows, table, exchange.j, trial), rounds + 1
    copy(first, trial.step)
    copy(own, trial.stepped)
    if moved > 0:
        return False
    least = F - goal.lambda2 * _ridge(table, total, sum_own) - BOUND_SLACK * abs(F)
    return least - _divergence(rows, trial) >= goal.target


@njit
def _move(rows, table, j, trial):
    """Move the probabilities trial.p by what a chord step makes of them; rows that would go below
    zero move by a share of it, and trial.eta has what is left of their moves. Returns the number
    of such rows.
    """
    _predictors(rows, table, j, trial.step, trial.stepped, trial)
    P0, p, eta, mean, moved = table.P, trial.p, trial.eta, trial.mean, 0
    r, n = p.shape
    for m in range(n):
        mean[m] = 0.0
    for c in range(r):
        for m in range(n):
            mean[m] += P0[c, m] * eta[c, m]
    low = 0.0
    for c in range(r):
        for m in range(n):
            eta[c, m] = P0[c, m] * (mean[m] - eta[c, m])
            p[c, m] += eta[c, m]
            low = min(low, p[c, m])
    if low >= 0.0:
        return 0
    for m in range(n):
        share = 1.0
        for c in range(r):
            if p[c, m] < 0.0:
                share = min(share, 0.5 * (p[c, m] - eta[c, m]) / -eta[c, m])
        for c in range(r):
            eta[c, m] *= 1.0 - share
            p[c, m] -= eta[c, m]
        moved += share < 1.0
    return moved


@njit
def _left_over(rows, table, j, trial):
    """The part of the balance that is missing after `_move`, in trial.right and trial.left."""
    q, (r, n), T = table.x.shape[1], trial.P.shape, rows.T
    for s in range(q):
        D = trial.D[s]
        for m in range(n):
            D[m] = 0.0
        for c in range(r):
            t = T[s, c]
            for m in range(n):
                D[m] -= t * trial.eta[c, m]
        _balance_of(rows, table, j, D, s, trial)


@njit
def _ridge(table, main, own):
    """The sum of squares of coefficients without the intercepts."""
    (K, q), out = table.x.shape, 0.0
    for s in range(q):
        out += own[s] * own[s]
        for a in range(table.S.size):
            out += main[s * K + a] * main[s * K + a]
    return out


@njit
def _divergence(rows, trial):
    """At least sum_i w_i KL(p_i || P_i): with p = P (1 + d) a row's share of it is P ((1 + d) log(1
    + d) - d).
    """
    (r, n), out = trial.P.shape, 0.0
    for c in range(r):
        P, p = trial.P[c], trial.p[c]
        for m in range(n):
            out += rows.weights[m] * P[m] * entropy_rise(p[m] / P[m] - 1.0)
    return out
