"""Exchanges of ordered classes, tried from the optimum that the quadratic of a fit predicts.

There the loss is evaluated, with the thresholds that its second derivatives at the fit foretell,
and a chord step in coefficients and thresholds gives a dual point. With slopes s there and the
curvatures h of the fit, its slopes s + h d, d the change of each term by that step, balance the
gradient of the ridge; weak duality then bounds every descent on the support from below. What the
bound leaves open takes the step, and is refitted after a few.
"""

from typing import NamedTuple

import numpy as np

from ...compiled import part
from ...core.dispatch import njit
from ...problem.coupled.ordinal import (
    seen_by_thresholds,
    solve_thresholds,
    threshold_terms,
)
from ...problem.verbs import rank_of
from ...working_set import newton
from ...working_set.linear_algebra import (
    add_columns,
    copy,
    predictor,
    products,
    rounding,
    weighted_square,
)
from ...working_set.refits import above, is_above, refit_in_turn
from ..chord_steps import Exchange, chord_step, exchange_work, exchanged
from .joint import (
    LEFT_BY_STEP,
    Joint,
    balance_thresholds,
    conjugate_gaps,
    joint_refit,
    joint_room,
    reduced_slopes,
    take_step,
)

FAR_START = 30.0  # a predictor beyond which predicted coefficients are no start of a refit
CHORD_STEPS = 4  # that an exchange may take until a refit decides


class OrderedTrial(NamedTuple):
    """The arrays of a trial; the last of k + 1 entries is that of the column added."""

    x: np.ndarray  # (k + 1,), coefficients, at first the optimum that the quadratic predicts
    r: np.ndarray  # (k + 1,), gradient
    z: np.ndarray  # (k + 1,), chord step
    start: np.ndarray  # (k,), the optimum without an exchange
    at: Joint  # the predictor and thresholds
    numbers: np.ndarray  # 0 .. k - 1


def first_below(rows, table, exchanges, at, stopping, found):
    """Try exchanges of a fit of ordered classes, in their order, until a refit may lie below the
    target.

    rows: a `newton.LossRows`; exchanges: the `Exchanges` of m exchanges; at (m, k'): the
    supports after them, as positions in W; stopping: a `newton.Stopping`. What bounds at the
    predicted optimum and after some chord steps do not refute is refitted from there.

    Returns (e, refits, status, F), e = -1 where all are refuted, and leaves its coefficients, its
    predictor and thresholds in found = (b (k',), eta (n,), t (K - 1,)).
    """
    (b, eta, _), first, refits, k = found, 0, 0, found[0].size
    shrunk = newton.Shrinkage(0.0, table.lambda2)
    box = newton.Box(np.full((1, k), -np.inf), np.full((1, k), np.inf))
    while first < at.shape[0]:
        rest = exchanges.of(slice(first, None))
        e, more, status, F = first_undecided(rows, table, rest, at[first:], stopping, found)
        refits += more
        if e < 0:
            break
        e += first
        if status == newton.MAX_ITER:
            _, status, F, _ = refit_in_turn(
                rows, at[e : e + 1], shrunk, box, b[None], stopping, eta
            )
        if not is_above(status, F, stopping):
            return e, refits, status, F
        first = e + 1
    return -1, refits, newton.REJECTED, np.inf


@njit
def first_undecided(rows, table, exchanges, at, stopping, found):
    """As `first_below`, but status MAX_ITER leaves the decision to `newton.refit`, from b."""
    b, eta, t = found
    k, refits = table.b.size, 0
    v, joint = np.empty((3, k + 1)), joint_room(rank_of(rows.loss) + 1, rows.y.size)
    trial = OrderedTrial(v[0], v[1], v[2], np.empty(k), joint, np.arange(k))
    work = exchange_work(1, k)
    copy(table.best.mass, joint.there.mass)
    for l in range(k):
        trial.start[l] = table.b[l]
        for m in range(k):
            trial.start[l] -= table.B[l, m] * table.g[m]
    for e in range(at.shape[0]):
        exchange = Exchange(exchanges.out[e], exchanges.into[e], work)
        clear, A = _predict(rows, table, exchange, trial)
        if clear and _refuted(rows, table, exchange, A, stopping, trial):
            continue
        refits += 1
        status, F = _refit(rows, table, exchange, at[e], stopping, trial, clear, b)
        if not above(status, F, stopping):
            copy(trial.at.eta, eta)
            copy(trial.at.there.t, t)
            return e, refits, status, F
    return -1, refits, newton.REJECTED, np.inf


@njit
def _refit(rows, table, exchange, S, stopping, trial, clear, b):
    """Refit the support S (k',) after an exchange from where its trial ended, if that is `clear`
    and not too far out; returns (status, F), and leaves the coefficients in b, the predictor in
    trial.at.eta. MAX_ITER: `newton.refit` must decide, from b.
    """
    eta, far = trial.at.eta, 0.0
    for m in range(eta.size):
        far = max(far, abs(eta[m] - rows.offset[m]))
    near = clear and far <= FAR_START
    if near:
        _start(table, exchange, S, trial.x, b)
        predictor(rows.Z, S, b, 0.0, rows.offset, eta)
        status, F = joint_refit(rows, S, table.lambda2, stopping, b, trial.at)
        if status != newton.MAX_ITER:
            return status, F
    _start(table, exchange, S, trial.x if near else table.b, b)
    return newton.MAX_ITER, np.inf


@njit
def _start(table, exchange, S, x, b):
    """Fill b (k',) of the support S with x (k + 1,), or with x (k,) and 0 for the column added."""
    k, l = table.b.size, 0
    for a in range(S.size):
        if S[a] == exchange.j:
            b[a] = x[k] if x.size > k else 0.0
            continue
        l += l == exchange.i
        b[a] = x[l]
        l += 1


@njit
def _predict(rows, table, exchange, trial):
    """Fill trial.x, its predictor and the thresholds foretold there for an exchange. Returns
    whether the quadratic is clear about it (`exchanged`), and the curvature along the column added.
    """
    x, b, at, k, A = trial.x, table.b, trial.at, table.b.size, 0.0
    if exchange.j >= 0:
        x[k] = _along(rows, table, exchange, trial)
        A = exchange.work.C[0, k]
        for l in range(k):
            x[k] -= exchange.work.C[0, l] * (trial.start[l] - b[l])
    if not exchanged(table.B, trial.start, exchange, x) < np.inf:
        return False, A
    for l in range(k):
        trial.z[l] = x[l] - b[l]
    trial.z[k] = x[k]
    _moved(rows, table, exchange.j, trial)
    copy(table.eta, at.eta)
    copy(table.best.t, at.there.t)
    seen_by_thresholds(rows.y, table.best, at.move, at.shift)
    solve_thresholds(table.best, at.shift)
    take_step(at)
    return True, A


@njit
def _moved(rows, table, j, trial):
    """Fill the move of the predictor with what a step trial.z does to it."""
    move, k = trial.at.move, table.b.size
    for m in range(move.size):
        move[m] = 0.0
    add_columns(rows.Z, table.S, part(trial.z, 0, k), move)
    if j >= 0:
        z, t = rows.Z[j], trial.z[k]
        for m in range(move.size):
            move[m] += t * z[m]


@njit
def _along(rows, table, exchange, trial):
    """Leave the second derivatives of the column added where `exchanged` expects them; returns its
    downhill slope.
    """
    z, P, G = rows.Z[exchange.j], table.P, exchange.work.C[0]
    products(table.ZV, trial.numbers, z, G)
    A, c = weighted_square(z, table.v) + 2.0 * table.lambda2, 0.0
    for r in range(P.shape[0]):
        row, t = P[r], 0.0
        for m in range(z.size):
            t += row[m] * z[m]
        A -= t * t
        for l in range(trial.start.size):
            G[l] -= table.coupled[l, r] * t
    for m in range(z.size):
        c -= z[m] * table.slopes[m]
    G[trial.start.size] = A
    return c


@njit
def _refuted(rows, table, exchange, A, stopping, trial):
    """Whether the bound by a chord step from the predicted optimum, or from where such steps led,
    is above the target; A: the curvature along the column added. Steps end where the loss is below
    the target, or does not fall.
    """
    at, x, r, z, k, n = trial.at, trial.x, trial.r, trial.z, table.b.size, rows.y.size
    target, j, held = stopping.target, exchange.j, np.inf
    level = abs(table.F)
    for m in range(n if target < np.inf else 0):
        level += abs(table.slopes[m] * table.eta[m])
    for _step in range(CHORD_STEPS if target < np.inf else 0):
        F = threshold_terms(rows.y, at.eta, rows.weights, at.there, at.rest)
        for l in range(k + 1):
            F += table.lambda2 * x[l] * x[l]
        if not target < F < held:
            return False
        reduced_slopes(rows.y, table.best, at)
        products(rows.Z, table.S, at.slopes, r)
        r[k] = 0.0
        if j >= 0:
            column = rows.Z[j]
            for m in range(n):
                r[k] += column[m] * at.slopes[m]
        for l in range(k + 1):
            r[l] = r[l] + 2.0 * table.lambda2 * x[l] if l != exchange.i else 0.0
        promised = chord_step(table.B, exchange, r, z)
        sure = F - promised > target and _in_balance(table, exchange, A, trial)
        bound, held = F, F
        for l in range(k + 1):
            bound -= table.lambda2 * z[l] * z[l]
            x[l] += z[l]
        _moved(rows, table, j, trial)
        balance_thresholds(rows.y, table.best, at)
        if sure:
            bound -= conjugate_gaps(rows.y, rows.weights, table.best, at)
            if bound > target + max(1e-13, rounding(n)) * level:
                return True
        take_step(at)
    return False


@njit
def _in_balance(table, exchange, A, trial):
    """Whether the chord step solves its equations, as a dual point must."""
    G, r, z = exchange.work.C[0], trial.r, trial.z
    i, j, k = exchange.i, exchange.j, table.b.size
    most, left = 0.0, 0.0
    for l in range(k + 1 if j >= 0 else k):
        if l == i:
            continue
        t = r[l] + (A if l == k else G[l] if j >= 0 else 0.0) * z[k]
        for m in range(k):
            t += (table.H[l, m] if l < k else G[m]) * z[m]
        most, left = max(most, abs(r[l])), max(left, abs(t))
    return left <= LEFT_BY_STEP * most
