"""Exchanges of ordered classes, tried at the optimum that the quadratic of a fit predicts.

There the loss is evaluated once, with the thresholds that its second derivatives at the fit
foretell, and a chord step in coefficients and thresholds gives a dual point. With slopes s there
and the curvatures h of the fit, its slopes s + h d, d the change of each term by that step, balance
the gradient of the ridge; weak duality then bounds every descent on the support from below.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...core.elementary import binary_gap
from ...problem.coupled.ordinal import (
    BestThresholds,
    seen_by_thresholds,
    solve_thresholds,
    threshold_terms,
    thresholds_room,
)
from ...problem.verbs import along_the_way
from ...working_set import newton
from ...working_set.linear_algebra import (
    COLLINEAR,
    add_columns,
    copy,
    filled,
    products,
    rounding,
    weighted_square,
)
from ..chord_steps import Exchange, direction

LEFT_OVER = 1e-9  # the share of the gradient that a chord step may leave, for a bound
FAR_START = 30.0  # a predictor beyond which predicted coefficients are no start of a refit


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
    eta at x, its move from the fit, slopes. there: the thresholds predicted; rest (K - 1,):
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
        A, s = _predict(rows, table, i, j, trial)
        if s > 0.0 and _out_of_reach(rows, table, Exchange(i, j, s, trial.u), A, stopping, trial):
            continue
        far = 0.0
        for m in range(n):
            far = max(far, abs(trial.eta[m] - rows.offset[m]))
        near, l = s > 0.0 and far <= FAR_START, 0
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
def _predict(rows, table, i, j, trial):
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
    F = predicted_loss(rows.y, trial.eta, rows.weights, table.best, trial.move, trial)
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
    return left <= LEFT_OVER * most


@njit
def predicted_loss(y, eta, weights, best, move, trial):
    """(O) at a predictor eta (n,), a `move` (n,) away from that of `best`, with the thresholds that
    the second derivatives at `best` foretell there.

    Fills trial.there, a `BestThresholds`; trial.rest (K - 1,) = H^-1 times the gradient in the
    thresholds; and trial.slopes (n,), those in eta once a step -rest has been taken.
    """
    there, rest, slopes, m = trial.there, trial.rest, trial.slopes, best.t.size
    seen_by_thresholds(y, best, move, there.t)
    solve_thresholds(best, there.t)
    for j in range(m):
        there.t[j] += best.t[j]
    for c in range(best.mass.size):
        there.mass[c] = best.mass[c]
    F = threshold_terms(y, eta, weights, there, rest)
    if not F < math.inf:
        return F
    solve_thresholds(best, rest)
    for i in range(y.size):
        c = int(y[i])
        t = there.upper.slope[i] - there.lower.slope[i]
        t += best.upper.curvature[i] * rest[c] if c < m else 0.0
        slopes[i] = t + (best.lower.curvature[i] * rest[c - 1] if c > 0 else 0.0)
    return F


@njit
def conjugate_gaps(y, weights, best, trial):
    """What weak duality leaves of (O) below its value at `predicted_loss`: the sum of the gaps of
    the conjugates of all terms, for slopes there plus the second derivatives at `best` times the
    step trial.move (n,) of the predictor and that of the thresholds which balances it; inf where it
    leaves their domain.
    """
    n, m, total, there, move = y.size, best.t.size, 0.0, trial.there, trial.move
    shift = np.empty(m)
    seen_by_thresholds(y, best, move, shift)
    solve_thresholds(best, shift)
    for j in range(m):
        shift[j] -= trial.rest[j]
    for i in range(n):
        c, w = int(y[i]), weights[i]
        if w == 0.0:
            continue
        inverse = 1.0 / w
        if c < m:
            d = best.upper.curvature[i] * (move[i] - shift[c])
            total += w * binary_gap(there.upper.slope[i] * inverse, d * inverse)
        if c > 0:
            d = best.lower.curvature[i] * (shift[c - 1] - move[i])
            total += w * binary_gap(there.lower.slope[i] * inverse, d * inverse)
    for j in range(1, m):
        d, q = shift[j] - shift[j - 1], 1.0 / math.expm1(there.t[j] - there.t[j - 1])
        bent = 1.0 / math.expm1(best.t[j] - best.t[j - 1])
        r = q - bent * (1.0 + bent) * d
        if not r > 0.0:
            return math.inf
        total += best.mass[j] * (r * math.log(r / q) - (1.0 + r) * math.log((1.0 + r) / (1.0 + q)))
    return total if total < math.inf else math.inf
