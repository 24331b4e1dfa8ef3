"""The columns that a search begins with: those of largest slope at a fit."""

import numpy as np

from ..problem.verbs import derivatives


def slopes_at(model, fit):
    """Weights times d loss / d eta at a fit on working columns, (n,)."""
    return model.derivatives(fit).slopes


def rounded(scores):
    """Scores to 26 bits (the upper part of Veltkamp's splitting), so that rounding of products does
    not choose among columns that are equally good.
    """
    t = 134217729.0 * scores
    return t - (t - scores)


def seed_at(model, fit, count):
    """Put the `count` columns of largest slope at a fit (the null one at first), relative to their
    size, into W; ties go to the smaller column. One read of X.
    """
    p = model.problem
    g = np.abs(p.X.correlate(slopes_at(model, fit))) / np.sqrt(np.maximum(p.square, 1e-300))
    model.reads += 1
    g = rounded(g)
    g[~p.usable] = -1.0
    g[fit.support] = -1.0
    best = np.argsort(-g, kind="stable")[:count]
    model.grow(best[g[best] >= 0.0])


def null_gradient(model, null):
    """-d loss / d b_j at the null fit, (p,), or (p, q) for q responses, of the squared loss that
    starts the path: what seeds the working set.
    """
    problem = model.problem
    if problem.quadratic and not null.support.size:
        return model.q_all
    if problem.quadratic:
        residual = problem.y - problem.X.dot(null.support, null.b)
        slopes = -(problem.weights * residual.T).T
    else:
        return model.flat().q_all
    model.reads += 1
    return np.where(problem.usable, -problem.X.correlate(slopes).T, 0.0).T


def seed(model, null, max_k, extra=()):
    """Put the forced columns, `extra` and the most correlated columns into W."""
    problem = model.problem
    g = null_gradient(model, null)
    g = np.abs(g) if g.ndim == 1 else np.linalg.norm(g, axis=1)
    g = rounded(g / np.sqrt(np.maximum(problem.square, 1e-300)))
    g[~problem.usable] = -1.0
    count = min(
        int(problem.usable.sum()),
        max(min(100, model.columns_in_memory), 2 * max_k if problem.quadratic else 4 * max_k),
    )
    top = (
        np.argpartition(-g, count - 1)[:count]
        if 0 < count < g.size
        else np.flatnonzero(problem.usable)
    )
    model.grow(np.concatenate([np.asarray(extra, dtype=np.int64), top]))


def scale_of(model, null):
    """The size of F that tolerances refer to."""
    floor, value = model.problem.floor, null_value(model.problem, null)
    if not np.isfinite(floor):
        return abs(value) or 1.0
    return max(value - floor, 1e-300)


def null_value(problem, null):
    """The value of F at the null fit, or that of no coefficients at all, where bounds of forced
    features leave these out and it is lower.
    """
    p, n = problem, problem.X.n
    beyond = (p.lower[p.forced] > 0.0).any() or (p.upper[p.forced] < 0.0).any()
    if not beyond or p.turn is not None:
        return null.value
    return min(null.value, derivatives(p.loss, p.y, p.offset, p.weights, np.empty(n), np.empty(n)))
