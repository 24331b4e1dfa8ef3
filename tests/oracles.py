"""Slow, obviously right definitions, independent of the package: what the fast code is compared
with.

    minimize over (beta0, beta), lower <= beta <= upper,
        sum_i w_i loss(y_i, o_i + beta0 + x_i'beta) / sum_i w_i                            (P)
        + lambda0 sum_j f_j [b_j != 0] + lambda1 ||b||_1 + lambda2 ||b||_2^2
    b_j = s_j beta_j;  s_j = weighted standard deviation around c_j if standardize, else 1;  c_j =
    weighted mean with an intercept, else 0

X (n, p), y (n,), weights (n,) or None, offset (n,) or None, lower and upper numbers or (p,), beta
(p,) in the user's units. A column with s_j = 0 has coefficient 0. `gamma` is the width of the
smoothed hinge, `delta` the threshold of Huber's loss, in units of y. `same` in a signature stands
for the keywords loss, weights, offset, lambda1, lambda2, lower, upper, standardize, intercept,
gamma, delta, alike in all functions.
"""

from itertools import combinations
from math import comb

import numpy as np
from oracle_instances import (  # noqa: F401, part of what this module offers
    _response,
    fit_keywords,
    instance,
    instances,
    objective_keywords,
    restricted_keywords,
    separated,
)
from oracle_losses import CLASSES, EVERY, FAMILIES, LOSSES  # noqa: F401, likewise
from oracle_minimizer import Convex, minimize, solve  # noqa: F401, likewise
from scipy.optimize import lsq_linear


def scaling(X, *, weights=None, standardize=True, intercept=True):
    """(c, s) of (P): the centers and scales of the columns; s is 0 for a column that is constant up
    to rounding.
    """
    X = np.asarray(X, float)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    w = w / w.sum()
    c = w @ X if intercept else np.zeros(X.shape[1])
    if not standardize:
        return c, np.ones(X.shape[1])
    s = np.sqrt(w @ (X - c) ** 2)
    return c, np.where(s > 1e-13 * np.abs(X).max(axis=0, initial=0), s, 0.0)


def objective(
    X, y, beta, beta0=0.0, *, loss="squared", weights=None, offset=None, lambda0=0.0,
    lambda1=0.0, lambda2=0.0, standardize=True, intercept=True, penalty_factor=None, gamma=0.25,
    delta=1.345,
):  # fmt: skip
    """(P) at (beta, beta0), in the user's units; bounds are not looked at."""
    X, y, beta = (np.asarray(a, float) for a in (X, y, beta))
    w = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    o = np.zeros(len(X)) if offset is None else np.asarray(offset, float)
    f = np.ones(X.shape[1]) if penalty_factor is None else np.asarray(penalty_factor, float)
    b = scaling(X, weights=w, standardize=standardize, intercept=intercept)[1] * beta
    mean_loss = w @ EVERY[loss].value(y, o + beta0 + X @ beta, gamma, delta) / w.sum()
    return float(mean_loss + lambda0 * f @ (b != 0) + lambda1 * np.abs(b).sum() + lambda2 * (b @ b))


def _convex(
    X,
    y,
    support,
    *,
    loss,
    weights,
    offset,
    lambda1,
    lambda2,
    lower,
    upper,
    standardize,
    intercept,
    gamma,
    delta,
):
    """The convex problem on a support in standardized coefficients b, the intercept of the centered
    columns last; (problem, columns, c, s).
    """
    X, y = np.asarray(X, float), np.asarray(y, float)
    n, p = X.shape
    w = np.ones(n) if weights is None else np.asarray(weights, float)
    o = np.zeros(n) if offset is None else np.asarray(offset, float)
    lower, upper = (np.broadcast_to(np.asarray(bound, float), (p,)) for bound in (lower, upper))
    c, s = scaling(X, weights=w, standardize=standardize, intercept=intercept)
    support = np.asarray(support, int)
    out = np.setdiff1d(np.arange(p), support)
    if np.any(lower[out] > 0) or np.any(upper[out] < 0):
        raise ValueError("a column off the support has a box without 0")
    rows = w > 0
    left = np.sqrt(w[rows] / w.sum() @ (X[rows] - c) ** 2)  # of a constant column only rounding is
    alive = (s > 0) & (left > 1e-13 * np.abs(X[rows]).max(axis=0))
    columns = support[alive[support]]
    q = columns.size
    A = np.empty((rows.sum(), q + intercept))
    A[:, :q] = (X[np.ix_(rows, columns)] - c[columns]) / s[columns]
    A[:, q:] = 1.0
    shrunk = (np.arange(q + intercept) < q).astype(float)
    low, high = np.full(q + intercept, -np.inf), np.full(q + intercept, np.inf)
    low[:q], high[:q] = lower[columns] * s[columns], upper[columns] * s[columns]
    problem = Convex(
        A,
        y[rows],
        w[rows] / w.sum(),
        o[rows],
        lambda1 * shrunk,
        lambda2 * shrunk,
        low,
        high,
        loss,
        float(gamma),
        float(delta),
    )
    return problem, columns, c, s


def restricted(
    X, y, support, *, loss="squared", weights=None, offset=None, lambda1=0.0,
    lambda2=0.0, lower=-np.inf, upper=np.inf, standardize=True, intercept=True, gamma=0.25,
    delta=1.345,
):  # fmt: skip
    """(value, beta (p,), beta0): the minimum of loss + shrinkage over coefficients on `support`
    (any order); (P) without lambda0.

    Raises RuntimeError when KKT fails by more than 1e-8 relative: so for separated classes under an
    unshrunk logistic loss, which have no minimum.
    """
    shrink = dict(lambda1=lambda1, lambda2=lambda2, lower=lower, upper=upper)
    record = dict(
        loss=loss,
        weights=weights,
        offset=offset,
        standardize=standardize,
        intercept=intercept,
        gamma=gamma,
        delta=delta,
    )
    problem, columns, c, s = _convex(X, y, support, **shrink, **record)
    t = solve(problem)
    beta = np.zeros(np.shape(X)[1])
    beta[columns] = t[: columns.size] / s[columns]
    return problem.value(t), beta, float(t[-1] - c @ beta) if intercept else 0.0


def check_residual(X, y, support, beta, beta0, *, quantile, loss="quantile", gamma=0.0, **given):
    """What the conditions of optimality of a check loss lack, at coefficients on a support: the
    least |0 - subgradient|, over the slopes that rows at the kink may have (bounded least squares),
    each slope in units of what it sums, as rounding is: columns may have any unit.
    """
    given = dict(weights=None, offset=None, lambda1=0.0, lambda2=0.0, lower=-np.inf,
                 upper=np.inf, standardize=True, intercept=True) | given  # fmt: skip
    problem, columns, c, s = _convex(X, y, support, loss=loss, gamma=1.0, delta=quantile, **given)
    t = beta[columns] * s[columns]
    if given["intercept"]:
        t = np.append(t, beta0 + c @ beta)
    r = problem.y - problem.o - problem.A @ t
    rounding = 16 * np.finfo(float).eps * (np.abs(problem.A) @ np.abs(t))
    kink = np.abs(r) <= 1e-8 * max(1.0, np.abs(problem.y).max()) + rounding
    slopes = np.where(r > 0, -quantile, 1.0 - quantile) * problem.w
    size = problem.w @ np.abs(problem.A) + problem.l1 + 2 * problem.l2 * np.abs(t)
    fixed = (slopes[~kink] @ problem.A[~kink] + 2 * problem.l2 * t) / size
    parts = [(problem.A[kink] * problem.w[kink][:, None]).T / size[:, None]]
    ends = [(np.full(kink.sum(), -quantile), np.full(kink.sum(), 1.0 - quantile))]
    eye = np.eye(t.size)
    for j in range(t.size):
        if problem.l1[j]:
            sign = np.sign(t[j]) if abs(t[j]) > 1e-9 else 0.0
            parts.append(problem.l1[j] / size[j] * eye[:, [j]])
            ends.append(([sign or -1.0], [(sign or 1.0) + 1e-12]))
        if t[j] >= problem.high[j] - 1e-9:
            parts.append(eye[:, [j]])
            ends.append(([0.0], [np.inf]))
        if t[j] <= problem.low[j] + 1e-9:
            parts.append(eye[:, [j]])
            ends.append(([-np.inf], [0.0]))
    if not t.size:
        return 0.0
    low, high = (np.concatenate([end[i] for end in ends]) for i in (0, 1))
    A = np.hstack(parts)
    if not A.shape[1]:
        return float(np.abs(fixed).max())
    # from within the bounds one comes to 1e-7 of them only
    found = lsq_linear(A, -fixed, (low, high), method="bvls", tol=1e-14, max_iter=100 * low.size)
    return float(np.abs(A @ found.x + fixed).max())


def _chosen(X, forced, excluded):
    return [j for j in range(np.shape(X)[1]) if j not in set(forced) | set(excluded)]


def _better(value, than):
    """Smaller by more than rounding, so that ties go to what came first: fewer columns, then
    smaller indices.
    """
    return value < than - 1e-12 * max(abs(than), 1e-300) if np.isfinite(than) else value < than


def best_subsets(X, y, max_k, *, forced=(), excluded=(), **same):
    """{k: (value, support)} for k = 0..max_k by enumeration: k chosen columns beside the forced
    ones, the support sorted and with the forced.
    """
    free, best = _chosen(X, forced, excluded), {}
    for k in range(min(max_k, len(free)) + 1):
        best[k] = (np.inf, ())
        for chosen in combinations(free, k):
            support = tuple(sorted((*chosen, *forced)))
            value = restricted(X, y, support, **same)[0]
            if _better(value, best[k][0]):
                best[k] = (value, support)
    return best


def best_penalized(X, y, lambda0, *, penalty_factor=None, forced=(), excluded=(), **same):
    """(value, support) of the global minimum of (P) by enumeration; forced columns are always in,
    at their penalty factor (give them 0).
    """
    f = np.ones(np.shape(X)[1]) if penalty_factor is None else np.asarray(penalty_factor, float)
    free, best = _chosen(X, forced, excluded), (np.inf, ())
    for k in range(len(free) + 1):
        for chosen in combinations(free, k):
            support = tuple(sorted((*chosen, *forced)))
            value = restricted(X, y, support, **same)[0] + lambda0 * f[list(support)].sum()
            if _better(value, best[0]):
                best = (value, support)
    return best


def every_support(X, y, *, forced=(), excluded=(), **same):
    """{support with the forced columns, sorted: (value, beta)} of all subsets of the usable
    columns.
    """
    free = _chosen(X, forced, excluded)
    supports = (
        tuple(sorted((*chosen, *forced)))
        for k in range(len(free) + 1)
        for chosen in combinations(free, k)
    )
    return {support: restricted(X, y, support, **same)[:2] for support in supports}


def every_ridge(G, c, half, lambda2):
    """{support: (value, b)} of  half - c'b + b'Gb / 2 + lambda2 ||b||^2  over all supports, by the
    normal equations: the squared loss with Gram matrix G = Z'WZ, c = Z'Wy, half = y'Wy / 2.
    """
    p, out = len(c), {}
    for k in range(p + 1):
        supports = np.array(list(combinations(range(p), k)), dtype=int).reshape(comb(p, k), k)
        H = G[supports[:, :, None], supports[:, None, :]] + 2 * lambda2 * np.eye(k)
        b = np.linalg.solve(H, c[supports][:, :, None])[:, :, 0]
        for support, x in zip(supports.tolist(), b, strict=True):
            full = np.zeros(p)
            full[support] = x
            out[tuple(support)] = (half - 0.5 * c[support] @ x, full)
    return out


def conjugate_by_search(loss, y, r, *, gamma=0.25, delta=1.345):
    """sup over eta of r eta - loss(y, eta) on a fine grid, wide enough for |r| of order one within
    the domain.
    """
    value = EVERY[loss].value if loss != "hinge" else lambda y, eta, *_: np.maximum(0, 1 - y * eta)
    eta = np.concatenate([np.linspace(-60, 60, 12_001), np.linspace(-3, 3, 60_001)])
    return float((r * eta - value(y, eta, gamma, delta)).max())


def refit_swap_improvement(X, y, support, value, *, forced=(), excluded=(), **same):
    """`value` less the best refitted value over all exchanges of one unforced column of the support
    for one outside; -inf if there is none.
    """
    inside = [j for j in support if j not in forced]
    outside = [j for j in _chosen(X, forced, excluded) if j not in support]
    values = [
        restricted(X, y, [*(set(support) - {i}), j], **same)[0] for i in inside for j in outside
    ]
    return value - min(values, default=np.inf)


def _one_coordinate(problem, t, j):
    """(value, t_j) of the least value over coordinate j of t alone; squared loss in closed form."""
    a, o = problem.A[:, j], problem.o + problem.A @ np.where(np.arange(t.size) == j, 0.0, t)
    one = problem._replace(
        A=a[:, None],
        o=o,
        **{name: getattr(problem, name)[[j]] for name in ("l1", "l2", "low", "high")},
    )
    if problem.loss == "squared":
        z = problem.w @ (a * (problem.y - o))
        b = (
            np.sign(z)
            * max(abs(z) - one.l1[0], 0.0)
            / max(problem.w @ a**2 + 2 * one.l2[0], 1e-300)
        )
        best = np.clip([b], one.low, one.high)
    else:
        best = solve(one, t[[j]])  # at 0 the loss may overflow
    moved = np.where(np.arange(t.size) == j, best[0], t)
    return problem.value(moved), best[0]


def _all_columns(X, y, beta, beta0, same):
    """The convex problem over all columns (box without 0 or not), and (beta, beta0) in its
    coordinates; columns, position of each column.
    """
    problem, columns, c, s = _convex(
        X, y, np.arange(np.shape(X)[1]), **(restricted.__kwdefaults__ | same)
    )
    beta = np.asarray(beta, float)
    t = np.append((s * beta)[columns], beta0 + c @ beta)[: problem.l1.size]
    if (
        problem.l1.size == columns.size
    ):  # no intercept to fit, yet one may be given: it is part of the offset
        problem = problem._replace(o=problem.o + beta0)
    return problem, columns.tolist(), t


def frozen_swap_improvement(
    X, y, beta, beta0=0.0, lambda0=0.0, *, penalty_factor=None, forced=(), excluded=(), **same
):
    """Best decrease of (P) over exchanges (b_i to 0, b_j optimal) with all else frozen, the
    intercept of the centered columns too; lambda0 counts where factors differ.

    (beta, beta0) in the user's units; the support is what is nonzero. -inf if there is no exchange.
    """
    f = np.ones(np.shape(X)[1]) if penalty_factor is None else np.asarray(penalty_factor, float)
    problem, columns, t = _all_columns(X, y, beta, beta0, same)
    here, best = problem.value(t), -np.inf
    inside = [i for i, j in enumerate(columns) if t[i] != 0 and j not in forced]
    outside = [
        i for i, j in enumerate(columns) if t[i] == 0 and j not in forced and j not in excluded
    ]
    for i in inside:
        without = np.where(np.arange(t.size) == i, 0.0, t)
        for j in outside:
            dearer = lambda0 * (f[columns[j]] - f[columns[i]])
            best = max(best, here - _one_coordinate(problem, without, j)[0] - dearer)
    return best


def cd_stationary_gap(
    X, y, beta, beta0=0.0, lambda0=0.0, *, penalty_factor=None, excluded=(), **same
):
    """Largest decrease of (P) by changing one b_j alone, exactly, to zero or not; the intercept of
    the centered columns is held fixed.
    """
    problem, columns, t = _all_columns(X, y, beta, beta0, same)
    f = np.ones(np.shape(X)[1]) if penalty_factor is None else np.asarray(penalty_factor, float)
    here, gap = problem.value(t), 0.0
    for i, j in enumerate(columns):
        if j in excluded:
            continue
        value, moved = _one_coordinate(problem, t, i)
        options = [value + lambda0 * f[j] * (moved != 0)]
        if problem.low[i] <= 0 <= problem.high[i]:
            options.append(problem.value(np.where(np.arange(t.size) == i, 0.0, t)))
        gap = max(gap, here + lambda0 * f[j] * (t[i] != 0) - min(options))
    return gap
