"""Lower bounds by tangents of the loss, for losses that couple rows.

A convex loss F lies above its tangent at any predictor eta: with its slopes a there,

    F(o + Z b) >= F(eta) + a'(o + Z b - eta).

What the penalties and bounds allow the right side to fall to is a sum over columns, of which a
model of size k has the k largest, and a model at lambda0 those that are worth their cost.
"""

import math

import numpy as np

from ..core.status import FitStatus
from ..problem.verbs import derivatives
from .path_bounds import bounded, standardized

SUMMED = 1e-12  # of what a bound is summed from


def bound_by_tangents(problem, solutions, poll):
    """Give the solutions of a path lower bounds, in place in the list; returns notes. The tangents
    are those at the fits of a slice, each for all of its sizes: a read of X for a slice. poll():
    asked before every read, True ends it.
    """
    for number in dict.fromkeys(s.slice for s in solutions):
        rows = [i for i, s in enumerate(solutions) if s.slice == number]
        finite = [i for i in rows if solutions[i].status != FitStatus.SEPARATED]
        if not finite or poll():
            continue
        few = [solutions[i] for i in finite]
        for i, bound in zip(finite, _bounds(problem, few), strict=True):
            solutions[i] = bounded(problem, solutions[i], bound)
    if any(math.isnan(s.lower_bound) for s in solutions if s.status != FitStatus.SEPARATED):
        return [
            "no lower bounds in slices with lambda2 = 0 and no finite bounds on every column; fit "
            "with a ridge (lambda2=1e-3)"
        ]
    return []


def _bounds(problem, solutions):
    """(t,) the largest bound of every solution of a slice; -inf for none."""
    base, gains, margin = _tangents(problem, solutions)
    base = base - gains[problem.forced].sum(axis=0) - margin
    free = np.flatnonzero(problem.selectable)
    gains, out = gains[free], np.empty(len(solutions))
    largest = np.cumsum(-np.sort(-gains, axis=0), axis=0)
    for i, s in enumerate(solutions):
        if math.isnan(s.lambda0):
            less = largest[s.k - 1] if s.k else 0.0
        else:
            cost = np.where(np.isfinite(problem.factor[free]), s.lambda0 * problem.factor[free], 0)
            less = np.maximum(gains - cost[:, None], 0.0).sum(axis=0)
        out[i] = np.max(base - less)
    return np.where(np.isfinite(out), out, -np.inf)


def _tangents(problem, solutions):
    """(values (t,) of the tangents at b = 0, what each column lowers them by at most (p, t), what
    rounding leaves (t,)).
    """
    p, lambda1, lambda2 = problem, solutions[0].lambda1, solutions[0].lambda2
    slopes, base, size = np.empty((len(solutions), p.X.n)), [], []
    room = np.empty(p.X.n)
    for one, s in zip(slopes, solutions, strict=True):
        support, b = standardized(p, s)
        move = p.X.columns(support) @ b if support.size else np.zeros(p.X.n)
        value = derivatives(p.loss, p.y, p.offset + move, p.weights, one, room)
        base.append(value - one @ move)
        size.append(abs(value) + np.abs(one) @ np.abs(move))
    g = p.X.correlate(np.ascontiguousarray(slopes.T))
    with np.errstate(divide="ignore", invalid="ignore"):
        b = -np.sign(g) * np.maximum(np.abs(g) - lambda1, 0.0) / (2.0 * lambda2)
    b = np.where(np.abs(g) > lambda1, b, 0.0)
    b = np.clip(b, p.lower[:, None], p.upper[:, None])
    with np.errstate(invalid="ignore"):
        gains = -(g * b + lambda1 * np.abs(b) + lambda2 * b * b)
    gains = np.where(p.usable[:, None], np.where(np.isnan(gains), np.inf, gains), 0.0)
    return np.array(base), gains, SUMMED * (np.array(size) + gains.max(axis=0, initial=0.0))
