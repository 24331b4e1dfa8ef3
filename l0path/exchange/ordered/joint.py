"""Newton steps for the coefficients and the thresholds of ordered classes at once.

With the terms of (O) of `problem.coupled.ordinal` each convex in a sum of eta and t, a step costs
one evaluation of them and products with the columns; thresholds are eliminated from it by their
tridiagonal second derivatives. Those of an earlier point serve as long as no predictor has moved
far from there.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...core.elementary import binary_gap
from ...problem.coupled.ordinal import (
    BestThresholds,
    fill_coupling,
    seen_by_thresholds,
    solve_thresholds,
    spacing_gap,
    threshold_terms,
    thresholds_room,
)
from ...problem.traits import FAR_OUT, ORDERED
from ...problem.verbs import rank_of
from ...working_set.linear_algebra import (
    add_columns,
    cholesky,
    cholesky_solve,
    copy,
    products,
    rounding,
    weighted_gram,
    weighted_square,
)
from ...working_set.newton import CONVERGED, MAX_ITER, REJECTED, diverged

JOINT_STEPS = 15  # after which the search with safeguards takes over
DRIFT = 0.3  # how far a predictor or threshold may move until curvatures are computed anew
LEFT_BY_STEP = 1e-9  # the share of the gradient that a step may leave, for a bound


class Joint(NamedTuple):
    """A predictor and K - 1 thresholds, and a step from them."""

    eta: np.ndarray  # (n,), predictor
    move: np.ndarray  # (n,), its step
    slopes: np.ndarray  # (n,), in eta, once -rest has been added to the thresholds
    there: BestThresholds  # the thresholds, with the terms at them
    rest: np.ndarray  # (K - 1,), gradient in the thresholds times the inverse of their Hessian
    shift: np.ndarray  # (K - 1,), step of the thresholds


class JointMetric(NamedTuple):
    """Second derivatives at a predictor and thresholds."""

    eta: np.ndarray  # (n,), predictor
    best: BestThresholds  # the thresholds, with the terms at them
    H: np.ndarray  # (k, k), Hessian in the coefficients, thresholds eliminated, with the ridge
    L: np.ndarray  # (k, k), its Cholesky factor
    squares: np.ndarray  # (k,), squared lengths of the columns
    r: np.ndarray  # (k,), minus the gradient somewhere
    z: np.ndarray  # (k,), H^-1 r


@njit
def joint_room(levels, n):
    """A `Joint` to be filled."""
    v, w = np.empty((3, n)), np.empty((2, levels - 1))
    return Joint(v[0], v[1], v[2], thresholds_room(levels, n), w[0], w[1])


@njit
def reduced_slopes(y, best, at):
    """Turn at.rest, the gradient in the thresholds, into that times their inverse second
    derivatives at `best`, and fill at.slopes.
    """
    rest, slopes, m = at.rest, at.slopes, at.rest.size
    upper, lower = at.there.upper.slope, at.there.lower.slope
    solve_thresholds(best, rest)
    for i in range(y.size):
        c = int(y[i])
        t = upper[i] - lower[i]
        t += best.upper.curvature[i] * rest[c] if c < m else 0.0
        slopes[i] = t + (best.lower.curvature[i] * rest[c - 1] if c > 0 else 0.0)


@njit
def balance_thresholds(y, best, at):
    """Fill at.shift, the step of the thresholds that goes with at.move."""
    seen_by_thresholds(y, best, at.move, at.shift)
    solve_thresholds(best, at.shift)
    for j in range(at.shift.size):
        at.shift[j] -= at.rest[j]


@njit
def take_step(at):
    """Add the step to the predictor and the thresholds."""
    for i in range(at.eta.size):
        at.eta[i] += at.move[i]
    for j in range(at.shift.size):
        at.there.t[j] += at.shift[j]


@njit
def conjugate_gaps(y, weights, best, at):
    """What weak duality leaves of (O) below its value at at.there: the sum of the gaps of the
    conjugates of all terms, for slopes there plus the second derivatives at `best` times the step
    of the predictor and the thresholds; inf where it leaves their domain.
    """
    m, total, there, move, shift = best.t.size, 0.0, at.there, at.move, at.shift
    for i in range(y.size):
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
        total += best.mass[j] * spacing_gap(q, r)
    return total if total < math.inf else math.inf


@njit
def joint_refit(rows, S, lambda2, stopping, b, at):
    """The optimum on the working columns S (k,) from the start b (k,), of which at.eta is the
    predictor, and the thresholds at.there.t.

    stopping: a `newton.Stopping`. Returns (status, F): CONVERGED, REJECTED once weak duality shows
    that F cannot fall below the target, or MAX_ITER where `newton.refit` must decide: where a step
    does not descend, or curvature has vanished.
    """
    k, n, y = S.size, rows.y.size, rows.y
    held, before, drift, last, level = math.inf, math.inf, math.inf, False, 0.0
    best, w = thresholds_room(rank_of(rows.loss) + 1, n), np.empty((3, k))
    metric = JointMetric(np.empty(n), best, np.empty((k, k)), np.empty((k, k)), w[0], w[1], w[2])
    z = metric.z
    for _it in range(JOINT_STEPS):
        F = threshold_terms(y, at.eta, rows.weights, at.there, at.rest)
        for a in range(k):
            F += lambda2 * b[a] * b[a]
        if not F <= held + rounding(n) * level:
            return MAX_ITER, F
        if last:
            gone = stopping.capped > 0 and _may_run_off(rows, S, metric, at.eta)
            return MAX_ITER if gone else CONVERGED, F
        fresh = not drift <= DRIFT
        if fresh and not _measure(rows, S, lambda2, at, metric):
            return MAX_ITER, F
        promised, level = _step(rows, S, lambda2, b, metric, at)
        level += abs(F)
        if F - promised > stopping.target and _balanced(metric):
            bound = F - conjugate_gaps(y, rows.weights, best, at)
            for a in range(k):
                bound -= lambda2 * z[a] * z[a]
            if bound > stopping.target + max(1e-13, rounding(n)) * level:
                return REJECTED, F
        for a in range(k):
            b[a] += z[a]
        take_step(at)
        drift = _drift(metric, at)
        # of steps with curvatures of a point close by, each leaves the same share of the last
        share = min(promised / before, 1.0) if not fresh and before > 0.0 else 1.0
        last = drift <= DRIFT and promised * share <= 1e-16 * level
        held, before = F, promised
    return MAX_ITER, held


@njit
def _measure(rows, S, lambda2, at, metric):
    """Fill the metric at a point, the terms of which are known; False where it is singular."""
    best, there, k, n = metric.best, at.there, S.size, at.eta.size
    copy(at.eta, metric.eta)
    copy(there.t, best.t)
    copy(there.mass, best.mass)
    copy(there.diagonal, best.diagonal)
    copy(there.beside, best.beside)
    copy(there.upper.curvature, best.upper.curvature)
    copy(there.lower.curvature, best.lower.curvature)
    v, P, of_column = np.empty(n), np.empty((best.t.size, n)), np.empty((best.t.size, k))
    for i in range(n):
        v[i] = there.upper.curvature[i] + there.lower.curvature[i]
    weighted_gram(rows.Z, S, v, metric.H, np.empty(k), np.empty(n))
    fill_coupling(rows.y, best, P)
    for j in range(best.t.size):
        products(rows.Z, S, P[j], of_column[j])
    for a in range(k):
        for c in range(a + 1):
            t = metric.H[a, c] + (2.0 * lambda2 if a == c else 0.0)
            for j in range(best.t.size):
                t -= of_column[j, a] * of_column[j, c]
            metric.H[a, c], metric.H[c, a], metric.L[a, c] = t, t, t
    return cholesky(metric.L, k) == 0


@njit
def _step(rows, S, lambda2, b, metric, at):
    """Fill metric.r and z, at.move and at.shift: the step from b. Returns the decrease that it
    promises, and sum |slope eta|.
    """
    r, z, promised, level = metric.r, metric.z, 0.0, 0.0
    reduced_slopes(rows.y, metric.best, at)
    products(rows.Z, S, at.slopes, r)
    for a in range(b.size):
        r[a] = -r[a] - 2.0 * lambda2 * b[a]
        z[a] = r[a]
    cholesky_solve(metric.L, b.size, z)
    for a in range(b.size):
        promised += 0.5 * r[a] * z[a]
    for i in range(at.eta.size):
        at.move[i] = 0.0
        level += abs(at.slopes[i] * at.eta[i])
    add_columns(rows.Z, S, z, at.move)
    balance_thresholds(rows.y, metric.best, at)
    return promised, level


@njit
def _balanced(metric):
    """Whether the step z solves H z = r, as a dual point must."""
    H, r, z, most, left = metric.H, metric.r, metric.z, 0.0, 0.0
    for a in range(z.size):
        t = r[a]
        for c in range(z.size):
            t -= H[a, c] * z[c]
        most, left = max(most, abs(r[a])), max(left, abs(t))
    return left <= LEFT_BY_STEP * most


@njit
def _drift(metric, at):
    """The furthest that a predictor or a threshold is from where curvatures were computed."""
    furthest, t, held = 0.0, at.there.t, metric.best.t
    for i in range(at.eta.size):
        furthest = max(furthest, abs(at.eta[i] - metric.eta[i]))
    for j in range(t.size):
        furthest = max(furthest, abs(t[j] - held[j]))
    return furthest if furthest < math.inf else math.inf


@njit
def _may_run_off(rows, S, metric, eta):
    """Whether a predictor is far out and some direction has lost all curvature."""
    far = 0.0
    for i in range(eta.size):
        far = max(far, abs(eta[i] - rows.offset[i]))
    if not far > FAR_OUT[ORDERED]:
        return False
    for a in range(S.size):
        metric.squares[a] = weighted_square(rows.Z[S[a]], rows.weights)
    return diverged(metric)
