"""Lower bounds by tangents of the loss: for losses that couple rows, several responses, and groups
under losses of rows that the relaxations of groups do not serve.

A convex loss F lies above its tangent at any predictor eta: with its slopes a there,

    F(o + Z b) >= F(eta) + a'(o + Z b - eta).

What the penalties and bounds allow the right side to fall to is a sum over columns, of which a
model of size k has the k largest, and a model at lambda0 those that are worth their cost. The
intercepts have no penalty: at their optimum the slopes sum to zero. The thresholds of ordered
classes are at their best for every predictor, which leaves F convex in it.
"""

import math

import numpy as np

from ..core.status import FitStatus
from ..problem.several import has_free_number, log_losses, probabilities
from ..problem.verbs import derivatives
from . import bounds
from .path_bounds import bounded, rows_of_slices, standardized

SUMMED = 1e-12  # of what a bound is summed from
POLISHED = 8  # Newton steps of the intercepts alone
BALANCED = 1e-13  # slopes that sum to more give no bound


def bound_by_tangents(problem, solutions, poll):
    """Give the solutions of a path lower bounds, in place in the list; returns notes. The tangents
    are those at the fits of a slice, each for all of its sizes: a read of X for a slice. poll():
    asked before every read, True ends it.
    """
    for _, rows in rows_of_slices(solutions):
        if poll():
            continue
        few = [solutions[i] for i in rows]
        for i, bound in zip(rows, tangent_bounds(problem, few), strict=True):
            solutions[i] = bounded(problem, solutions[i], bound)
    if any(math.isnan(s.lower_bound) for s in solutions if s.status != FitStatus.SEPARATED):
        return [
            "no lower bounds in slices with lambda2 = 0 and no finite bounds on every feature; fit "
            "with a ridge (lambda2=1e-3)"
        ]
    return []


def tangent_bounds(problem, solutions):
    """(t,) the largest bound of every solution of a slice; -inf for none."""
    tangents = _tangents_of_rows if problem.by_rows else _tangents
    base, gains, margin = tangents(problem, solutions)
    base = base - gains[problem.forced].sum(axis=0) - margin
    gains, factor = _of_units(problem, gains)
    out = np.empty(len(solutions))
    largest = np.cumsum(-np.sort(-gains, axis=0), axis=0)
    for i, s in enumerate(solutions):
        if math.isnan(s.lambda0):
            less = largest[s.k - 1] if s.k else 0.0
        else:
            less = np.maximum(gains - s.lambda0 * factor[:, None], 0.0).sum(axis=0)
        out[i] = np.max(base - less)
    return np.where(np.isfinite(out), out, -np.inf)


def _of_units(problem, gains):
    """(what each column, or group, that may be chosen lowers the tangents by at most, their costs
    for lambda0 = 1). Groups that share a column count it each.
    """
    units, free = problem.units, np.flatnonzero(problem.free_units)
    own = gains[units.columns]
    own[np.isin(units.columns, problem.forced)] = 0.0
    out = np.zeros((len(units.labels), gains.shape[1]))
    np.add.at(out, units.owners(), own)
    return out[free], units.factor[free]


def _tangents(problem, solutions):
    """(values (t,) of the tangents at b = 0, what each column lowers them by at most (p, t), what
    rounding leaves (t,)).
    """
    p, lambda1, lambda2 = problem, solutions[0].lambda1, solutions[0].lambda2
    turn = np.eye(1) if p.turn is None else p.turn
    slopes, base, size = [], [], []
    for s in solutions:
        support, b = standardized(p, s)
        move = p.X.columns(support) @ b if support.size else np.zeros((p.X.n, *b.shape[1:]))
        value, one = _value_and_slopes(p, move, s)
        slopes.append(one)
        base.append(value - np.vdot(one, move))
        size.append(abs(value) + np.vdot(np.abs(one), np.abs(move)))
    g = p.X.correlate(np.column_stack(slopes)).reshape(p.X.p, len(solutions), -1)
    weights = 1.0
    if not p.loss.traits.by_class and (lambda1 or p.boxed):  # of each response
        weights = np.diagonal(turn) ** -2.0
        g = g @ turn
    elif lambda1 and has_free_number(p.loss):  # each class has a coefficient
        g = g @ turn
    gains = _lowered(g, (lambda1, lambda2), p.lower[:, None, None], p.upper[:, None, None])
    gains = np.where(p.usable[:, None], (weights * gains).sum(axis=2), 0.0)
    return np.array(base), gains, SUMMED * (np.array(size) + gains.max(axis=0, initial=0.0))


def _value_and_slopes(problem, move, solution):
    """(value, slopes) of the loss at predictors `move`, (n,) or (n, q), of a solution and the best
    intercepts; -inf for the value where these were not found.
    """
    if problem.quadratic:
        return _of_squares(problem, move)
    if problem.of_each:
        return _of_each(problem, move, solution)
    if problem.loss.traits.by_class:
        return _of_classes(problem, move, solution)
    slopes, room = np.empty((2, move.size))
    eta = problem.offset + move
    return derivatives(problem.loss, problem.y, eta, problem.weights, slopes, room), slopes


def _lowered(g, shrinkage, lower, upper):
    """By how much coefficients within bounds lower g b + lambda1 |b| + lambda2 b^2 at most, for
    slopes g; infinite where nothing ends it. shrinkage: (lambda1, lambda2).
    """
    lambda1, lambda2 = shrinkage
    with np.errstate(divide="ignore", invalid="ignore"):
        b = -np.sign(g) * np.maximum(np.abs(g) - lambda1, 0.0) / (2.0 * lambda2)
        b = np.clip(np.where(np.abs(g) > lambda1, b, 0.0), lower, upper)
        gains = -(g * b + lambda1 * np.abs(b) + lambda2 * b * b)
    return np.where(np.isnan(gains), np.inf, gains)


def _tangents_of_rows(problem, solutions):
    """As `_tangents`, for a loss that is a sum over rows: by its conjugates, at the best
    intercept.
    """
    s = solutions[0]
    dual = bounds.dual_problem(problem, s.lambda1, s.lambda2)
    points = bounds.points_of_fits(dual, [standardized(problem, one) for one in solutions])
    gains = [bounds.gains(dual, points, m) for m in range(len(solutions))]
    return points.constant, np.column_stack(gains), dual.gamma * points.size


def _of_squares(problem, move):
    """(value, slopes (n, q)) of the squared loss at predictors move (n, q); columns and responses
    are centered, so that the best intercept is 0.
    """
    rest = move - problem.y
    one = problem.weights[:, None] * rest
    return 0.5 * float((one * rest).sum()), one


def _of_each(problem, move, solution):
    """(value, slopes (n, q)) of several responses of a loss of rows at predictors move (n, q) and
    the best intercepts; -inf for the value where they were not found.
    """
    value, slopes = 0.0, np.empty(move.shape)
    levels = solution.intercept + problem.X.center[solution.support] @ solution.beta
    for s, p in enumerate(problem.of_each):
        unit = problem.turn[s, s]
        eta = p.offset + unit * move[:, s]
        level, v, one = levels[s] if p.intercept else 0.0, np.empty(eta.size), np.empty(eta.size)
        for step in range(POLISHED + 1):
            own = derivatives(p.loss, p.y, eta + level, p.weights, one, v)
            if step == POLISHED or not p.intercept or not v.sum() > 0.0:
                break
            level -= one.sum() / v.sum()
        balanced = not p.intercept or abs(one.sum()) <= BALANCED * np.abs(one).sum()
        value += own / unit**2 if balanced else -np.inf
        slopes[:, s] = one / unit
    return value, slopes


def _of_classes(problem, move, solution):
    """(value, slopes (n, q)) of the multinomial loss at predictors move (n, q) of the contrasts and
    the best intercepts; -inf for the value where they were not found.
    """
    p, T = problem, problem.turn
    a = np.zeros(len(T))
    if p.intercept:
        a = T @ (solution.intercept + p.X.center[solution.support] @ solution.beta)
    for step in range(POLISHED + 1):
        eta = p.offset + (move + a) @ T
        P = probabilities(eta)
        one = p.weights[:, None] * ((P - p.y) @ T.T)
        if step == POLISHED or not p.intercept:
            break
        PT = P @ T.T
        H = (T * (p.weights @ P)) @ T.T - (p.weights[:, None] * PT).T @ PT
        a = a - np.linalg.lstsq(H, one.sum(axis=0), rcond=None)[0]
    balanced = not p.intercept or np.abs(one.sum(axis=0)).max() <= BALANCED
    return float(p.weights @ log_losses(p.y, eta)) if balanced else -np.inf, one
