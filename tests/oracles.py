"""Slow, obviously right definitions, independent of the package: what the fast code is compared
with.

    minimise over (beta0, beta), lower <= beta <= upper,
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

from collections.abc import Callable
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit


class Loss(NamedTuple):
    """value, slope and curvature (first and second derivative in eta), each f(y, eta, gamma,
    delta); largest curvature f(gamma), infinite for poisson.
    """

    value: Callable
    slope: Callable
    curvature: Callable
    largest: Callable


def _smoothed_hinge(y, eta, gamma, delta):
    gap = 1 - y * eta
    return np.where(gap <= 0, 0.0, np.where(gap > gamma, gap - gamma / 2, gap**2 / (2 * gamma)))


def _huber(y, eta, gamma, delta):
    r = np.abs(eta - y)
    return np.where(r <= delta, r**2 / 2, delta * r - delta**2 / 2)


def _in_hinge(y, eta, gamma, delta):
    return ((1 - y * eta > 0) & (1 - y * eta < gamma)) / gamma


LOSSES = {
    "squared": Loss(
        lambda y, eta, *_: (y - eta) ** 2 / 2,
        lambda y, eta, *_: eta - y,
        lambda y, eta, *_: np.ones_like(eta),
        lambda gamma: 1.0,
    ),
    "logistic": Loss(
        lambda y, eta, *_: np.logaddexp(0, -y * eta),
        lambda y, eta, *_: -y * expit(-y * eta),
        lambda y, eta, *_: expit(eta) * expit(-eta),
        lambda gamma: 0.25,
    ),
    "squared_hinge": Loss(
        lambda y, eta, *_: np.maximum(0, 1 - y * eta) ** 2,
        lambda y, eta, *_: -2 * y * np.maximum(0, 1 - y * eta),
        lambda y, eta, *_: 2.0 * (y * eta < 1),
        lambda gamma: 2.0,
    ),
    "smoothed_hinge": Loss(
        _smoothed_hinge,
        lambda y, eta, gamma, _: -y * np.clip((1 - y * eta) / gamma, 0, 1),
        _in_hinge,
        lambda gamma: 1 / gamma,
    ),
    "huber": Loss(
        _huber,
        lambda y, eta, _, delta: np.clip(eta - y, -delta, delta),
        lambda y, eta, _, delta: 1.0 * (np.abs(eta - y) < delta),
        lambda gamma: 1.0,
    ),
    "poisson": Loss(
        lambda y, eta, *_: np.exp(eta) - y * eta,
        lambda y, eta, *_: np.exp(eta) - y,
        lambda y, eta, *_: np.exp(eta),
        lambda gamma: np.inf,
    ),
}
# of these `delta` is theta, the power and the quantile, and `gamma` the width of the quantile's
FAMILIES = {
    "gamma": Loss(
        lambda y, eta, *_: y * np.exp(-eta) + eta,
        lambda y, eta, *_: 1 - y * np.exp(-eta),
        lambda y, eta, *_: y * np.exp(-eta),
        lambda gamma: np.inf,
    ),
    "negative_binomial": Loss(
        lambda y, eta, _, theta: (y + theta) * np.logaddexp(0, eta - np.log(theta)) - y * eta,
        lambda y, eta, _, theta: (y + theta) * expit(eta - np.log(theta)) - y,
        lambda y, eta, _, theta: (
            (y + theta) * expit(eta - np.log(theta)) * expit(np.log(theta) - eta)
        ),
        lambda gamma: np.inf,
    ),
    "binomial": Loss(
        lambda y, eta, *_: np.logaddexp(0, eta) - y * eta,
        lambda y, eta, *_: expit(eta) - y,
        lambda y, eta, *_: expit(eta) * expit(-eta),
        lambda gamma: 0.25,
    ),
    "tweedie": Loss(
        lambda y, eta, _, p: (
            y * np.exp((1 - p) * eta) / (p - 1) + (np.exp((2 - p) * eta) - 1) / (2 - p)
        ),
        lambda y, eta, _, p: np.exp((2 - p) * eta) - y * np.exp((1 - p) * eta),
        lambda y, eta, _, p: (2 - p) * np.exp((2 - p) * eta) + (p - 1) * y * np.exp((1 - p) * eta),
        lambda gamma: np.inf,
    ),
    "quantile": Loss(
        lambda y, eta, h, t: (
            (t - 0.5) * (y - eta)
            + np.where(abs(y - eta) <= h, (y - eta) ** 2 / (4 * h) + h / 4, abs(y - eta) / 2)
        ),
        lambda y, eta, h, t: 0.5 - t - np.clip((y - eta) / (2 * h), -0.5, 0.5),
        lambda y, eta, h, t: (np.abs(y - eta) < h) / (2 * h),
        lambda gamma: 0.5 / gamma,
    ),
}
EVERY = LOSSES | FAMILIES
CLASSES = ("logistic", "squared_hinge", "smoothed_hinge")


def scaling(X, *, weights=None, standardize=True, intercept=True):
    """(c, s) of (P): the centres and scales of the columns; s is 0 for a column that is constant up
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


class Convex(NamedTuple):
    """minimise over t:  sum_i w_i loss(y_i, o_i + a_i't) + sum_j (l1_j |t_j| + l2_j t_j^2),  low <=
    t <= high;  A (n, q), w sums to one.
    """

    A: np.ndarray
    y: np.ndarray
    w: np.ndarray
    o: np.ndarray
    l1: np.ndarray
    l2: np.ndarray
    low: np.ndarray
    high: np.ndarray
    loss: str
    gamma: float
    delta: float

    def value(self, t):
        rows = EVERY[self.loss].value(self.y, self.o + self.A @ t, self.gamma, self.delta)
        return float(self.w @ rows + self.l1 @ np.abs(t) + self.l2 @ t**2)

    def gradient(self, t):
        """Gradient of all but the l1 term, and the size of what was summed, which makes tolerances
        relative.

        The logistic slope has no cancellation, so there the size is that of the slopes alone and
        separated classes never pass for converged.
        """
        eta = self.o + self.A @ t
        slope = EVERY[self.loss].slope(self.y, eta, self.gamma, self.delta)
        rows = (
            np.abs(slope)
            if self.loss == "logistic"
            else np.abs(slope) + np.abs(self.y) + np.abs(eta)
        )
        size = (self.w * rows) @ np.abs(self.A) + self.l1 + 2 * self.l2 * np.abs(t)
        return (self.w * slope) @ self.A + 2 * self.l2 * t, max(size.max(initial=0.0), 1e-300)

    def root_hessian(self, t):
        """R with R'R = Hessian of all but the l1 term: better conditioned than the Hessian
        itself.
        """
        curvature = self.w * EVERY[self.loss].curvature(
            self.y, self.o + self.A @ t, self.gamma, self.delta
        )
        return np.vstack([self.A * np.sqrt(curvature)[:, None], np.diag(np.sqrt(2 * self.l2))])


def smallest_subgradient(problem, t, gradient):
    """The element of least size of subdifferential plus normal cone of the box at t: zero exactly
    at a minimum (KKT).
    """
    l1 = problem.l1
    up = gradient + np.where(t >= 0, l1, -l1)  # derivative to the right, and to the left
    down = gradient + np.where(t > 0, l1, -l1)
    return np.where(
        (up < 0) & (t < problem.high), up, np.where((down > 0) & (t > problem.low), down, 0.0)
    )


def _newton_step(root, gradient, floor):
    """-(R'R)^-1 g with curvatures below `floor` raised to it."""
    _, values, vectors = np.linalg.svd(root, full_matrices=False)
    return -vectors.T @ ((vectors @ gradient) / np.maximum(values**2, floor))


def _direction(problem, t, g, floor):
    """Newton direction on the coordinates that may move; those that would leave t's orthant or box
    at once are held; else steepest descent.
    """
    root = problem.root_hessian(t)
    kink = (problem.l1 > 0) & (t == 0)
    free = (g != 0) | (~kink & (t > problem.low) & (t < problem.high))
    while free.any():
        d = np.zeros_like(t)
        d[free] = _newton_step(root[:, free], g[free], floor)
        leaves = free & (
            (kink & (d * g > 0)) | ((t <= problem.low) & (d < 0)) | ((t >= problem.high) & (d > 0))
        )
        if not leaves.any():
            break
        free &= ~leaves
    return d if free.any() and d @ g < 0 else -g / max(np.linalg.norm(root, 2) ** 2, floor)


def _line_search(problem, t, d):
    """Minimise along d up to the first kink or bound, by bisection on the slope; the unit step is
    taken when it is good enough.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(
            d > 0, (problem.high - t) / d, np.where(d < 0, (problem.low - t) / d, np.inf)
        )
        to_zero = np.where((problem.l1 > 0) & (t * d < 0), -t / d, np.inf)
    stop = np.minimum(reach, to_zero).min(initial=np.inf)
    sign = np.where(t != 0, np.sign(t), np.sign(d))

    def slope(step):
        with np.errstate(over="ignore"):
            return d @ (problem.gradient(t + step * d)[0] + problem.l1 * sign)

    start, right = slope(0.0), min(1.0, stop)
    here = slope(right)
    while here < 0.1 * start and right < min(stop, 1e12):
        right = min(4 * right, stop)
        here = slope(right)
    left = 0.0
    for _ in range(60):
        if here <= 0.1 * abs(start):
            break
        middle = (left + right) / 2
        at_middle = slope(middle)
        if at_middle > 0.1 * abs(start):
            right = middle
        elif at_middle < 0.1 * start:
            left = middle
        else:
            right, here = middle, at_middle
    moved = np.clip(t + right * d, problem.low, problem.high)
    if right == stop:
        moved[to_zero <= right] = 0.0
        moved = np.where(reach <= right, np.where(d > 0, problem.high, problem.low), moved)
    return moved, right


def minimise(problem, *, tolerance=1e-14, max_steps=500):
    """Minimiser of a `Convex` problem of unit columns (see `solve`) by Newton steps on the free
    coordinates with a line search.

    Where the loss has no curvature the step is damped as by Levenberg and Marquardt: `floor` falls
    while unit steps are good, and grows otherwise.
    """
    t = np.clip(np.zeros(problem.A.shape[1]), problem.low, problem.high)
    scale = t.size * min(EVERY[problem.loss].largest(problem.gamma), 1e3)
    best, best_residual, since, floor = t, np.inf, 0, 1e-3 * scale
    for _ in range(max_steps):
        gradient, size = problem.gradient(t)
        g = smallest_subgradient(problem, t, gradient)
        residual = np.abs(g).max(initial=0.0) / size
        best, best_residual, since = (
            (t, residual, 0) if residual < best_residual else (best, best_residual, since + 1)
        )
        if residual <= tolerance or (since >= 4 and best_residual < 1e-11):
            break
        t, step = _line_search(problem, t, _direction(problem, t, g, floor))
        floor = min(
            max(floor * (0.1 if step >= 1 else 4.0 if step < 0.5 else 1.0), 1e-14 * scale), scale
        )
    return best


def ridge(problem):
    """Closed form of the squared loss without l1 and box: least squares on rows sqrt(w) and a
    diagonal sqrt(2 l2).
    """
    root = np.sqrt(problem.w)
    A = np.vstack([problem.A * root[:, None], np.diag(np.sqrt(2 * problem.l2))])
    return np.linalg.lstsq(
        A, np.append((problem.y - problem.o) * root, np.zeros(problem.l2.size)), rcond=1e-13
    )[0]


def solve(problem):
    """Minimiser of a `Convex` problem; raises RuntimeError when KKT fails by more than 1e-8
    relative to the sizes of what the gradient sums.
    """
    unit = np.sqrt(problem.w @ problem.A**2)
    unit[unit == 0] = 1.0
    scaled = problem._replace(
        A=problem.A / unit,
        l1=problem.l1 / unit,
        l2=problem.l2 / unit**2,
        low=problem.low * unit,
        high=problem.high * unit,
    )
    plain = (
        problem.loss == "squared"
        and not problem.l1.any()
        and np.isinf(problem.low).all()
        and np.isinf(problem.high).all()
    )
    t = ridge(scaled) if plain else minimise(scaled)
    gradient, size = scaled.gradient(t)
    residual = np.abs(smallest_subgradient(scaled, t, gradient)).max(initial=0.0) / size
    if not residual <= 1e-8:
        raise RuntimeError(
            f"{problem.loss}: KKT residual {residual:.1e}: no minimum (separated classes?), or a "
            "very ill-conditioned one"
        )
    return np.clip(t / unit, problem.low, problem.high)


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
    """The convex problem on a support in standardised coefficients b, the intercept of the centred
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


def best_penalised(X, y, lambda0, *, penalty_factor=None, forced=(), excluded=(), **same):
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
        best = solve(one)
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
    intercept of the centred columns too; lambda0 counts where factors differ.

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
    the centred columns is held fixed.
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


def separated(X, y, weights=None, intercept=True):
    """True if some direction separates the classes, also weakly: the unshrunk logistic loss then
    has no minimum.
    """
    keep = np.ones(len(y), bool) if weights is None else np.asarray(weights) > 0
    A = (np.column_stack([X, np.ones(len(y))]) if intercept else np.asarray(X, float))[
        keep
    ] * np.asarray(y)[keep, None]
    found = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    return -found.fun > 1e-9


def _response(loss, signal, rng):
    if loss in CLASSES:
        return np.where(signal + rng.logistic(size=signal.size) > 0, 1.0, -1.0)
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(0.4 * signal + 0.7, -2, 3))).astype(float)
    if loss == "binomial":
        return rng.binomial(6, expit(signal)) / 6
    if loss in ("gamma", "negative_binomial", "tweedie"):
        mean = np.exp(np.clip(0.4 * signal + 0.7, -2, 3))
        if loss == "gamma":
            return rng.gamma(2.0, mean / 2.0)
        several = rng.poisson(rng.gamma(1.5, mean / 1.5))
        return several * (1.0 if loss == "negative_binomial" else rng.uniform(0.2, 2, mean.size))
    return signal + (
        rng.normal(size=signal.size) if loss == "squared" else rng.standard_t(2, size=signal.size)
    )


def _bounds(p, rng):
    """Bounds (lower, upper) of p coefficients, each finite for about half of them."""
    lower = np.where(rng.random(p) < 0.5, -np.inf, -rng.uniform(0, 0.6, p))
    return lower, np.where(rng.random(p) < 0.5, np.inf, rng.uniform(0.1, 0.6, p))


def instance(loss, rng, columns=(4, 8)):
    """One random small problem with a random mixture of options; see `instances`."""

    def maybe(chance):
        return bool(rng.random() < chance)

    n, p = int(rng.integers(25, 61)), int(rng.integers(columns[0], columns[1] + 1))
    common = rng.normal(size=(n, 1)) * rng.choice([0.0, 0.5, 1.5])
    X = (rng.normal(size=(n, p)) + common) * np.exp(rng.normal(size=p) * 0.5) + rng.normal(
        size=p
    ) * maybe(0.5)
    truth = np.zeros(p)
    truth[rng.choice(p, 3, replace=False)] = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.4, 1.2, 3)
    y = _response(loss, (X - X.mean(axis=0)) / X.std(axis=0) @ truth, rng)
    weights = (
        (rng.uniform(0.2, 2, n) if maybe(0.5) else rng.integers(0, 4, n).astype(float))
        if maybe(0.4)
        else None
    )
    forced = (
        sorted(rng.choice(p, int(rng.integers(1, 3)), replace=False).tolist())
        if maybe(0.25)
        else []
    )
    factor = rng.uniform(0.5, 2, p) if maybe(0.3) else np.ones(p)
    factor[forced] = 0.0
    lower, upper = _bounds(p, rng) if maybe(0.3) else (np.full(p, -np.inf), np.full(p, np.inf))
    intercept, size = maybe(0.75), 0.25 if loss == "logistic" else 1.0
    out = dict(
        loss=loss,
        X=X,
        y=y,
        weights=weights,
        offset=rng.normal(size=n) * 0.3 if maybe(0.25) else None,
        lower=lower,
        upper=upper,
    )
    out |= dict(
        penalty_factor=factor,
        forced=forced,
        standardize=maybe(0.75),
        intercept=intercept,
        gamma=float(rng.choice([0.25, 0.5])),
        delta=1.345,
    )
    out["lambda0"] = float(size * 10 ** rng.uniform(-2.5, -1))
    out["lambda1"] = float(size * 10 ** rng.uniform(-3, -1)) if maybe(0.3) else 0.0
    out["lambda2"] = float(size * 10 ** rng.uniform(-4, -0.5)) if maybe(0.5) else 0.0
    if (
        loss == "logistic"
        and not out["lambda1"]
        and not out["lambda2"]
        and separated(X, y, weights, intercept)
    ):
        out["lambda2"] = 1e-2
    return out


def instances(count, seed, losses=tuple(LOSSES), columns=(4, 8)):
    """`count` random problems of n = 25..60, p in the range of `columns`, cycling over `losses`;
    dicts with X, y, lambda0, penalty_factor, forced and the keywords of `same`.

    The unshrunk logistic loss gets classes that overlap in all columns (or else lambda2 = 0.01).
    Forced columns have penalty factor 0.
    """
    rng = np.random.default_rng(seed)
    for i in range(count):
        yield instance(losses[i % len(losses)], rng, columns)


def restricted_keywords(d):
    """The keywords `same` of an instance: `best_subsets(d["X"], d["y"], 3, forced=d["forced"],
    **restricted_keywords(d))`.
    """
    return {
        key: value
        for key, value in d.items()
        if key not in ("X", "y", "lambda0", "penalty_factor", "forced")
    }


def objective_keywords(d):
    """The keywords of `objective` for an instance."""
    return {
        key: value for key, value in d.items() if key not in ("X", "y", "forced", "lower", "upper")
    }


def fit_keywords(d):
    """The same problem in the words of the public surface: keywords of `l0path.fit`, without X, y
    and lambda0.
    """
    names = {"weights": "sample_weight", "intercept": "fit_intercept", "forced": "always_include"}
    return {
        names.get(key, key): value for key, value in d.items() if key not in ("X", "y", "lambda0")
    }
