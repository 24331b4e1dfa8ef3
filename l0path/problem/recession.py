"""Directions of coefficients along which a loss falls for ever."""

import numpy as np
import scipy

from .coupled.ordinal import best_thresholds
from .traits import MONOTONE, ORDERED, held_by

NO_STEP = 1e-6  # a coefficient of a direction below this share of the largest is 0
LEAST_SPREAD = 1e-8  # least eigenvalue of a Hessian of unit diagonal that is not taken for rounding
SURE = 0.1  # below 1, so that rounding does not matter


def separating(Z, y, intercept, lower, upper, held=None):
    """The columns that separate the classes quasi-completely (Albert & Anderson, Biometrika 71,
    1984).

    A direction d of the coefficients and the intercept with y_i eta_i >= 0 on all observations and
    > 0 on some, eta_i = d0 + z_i'd, takes the logistic loss down for ever. Of these, scaled to
    sum_i y_i eta_i = n, the one of least sum |d_j| is taken, which uses few columns. Under the
    Poisson loss such a direction has eta_i <= 0 where the count is 0, and eta_i = 0 elsewhere.

    Parameters
    ----------
    Z : ndarray of shape (k, n)
        Columns, one a row.
    y : ndarray of shape (n,)
        Classes, -1 and 1, or the sign that the predictor of each row may have.
    intercept : bool
        Whether the direction may move the intercept.
    lower, upper : ndarray of shape (k,)
        Bounds; a finite one allows no step to its side.
    held : ndarray of bool of shape (n,), optional
        Observations whose eta may not change: those of positive counts.

    Returns
    -------
    ndarray of int
        Positions of the columns in Z, ascending; empty where there is no such direction.
    """
    k, n = Z.shape
    Z = Z / np.sqrt(np.mean(Z * Z, axis=1, keepdims=True))
    A = np.vstack([Z, -Z, np.ones((int(intercept), n))]).T * y[:, None]
    held = np.zeros(n, dtype=bool) if held is None else held
    steps = [(0.0, None if np.isinf(bound) else 0.0) for bound in (*upper, *lower)]
    found = scipy.optimize.linprog(
        np.repeat([1.0, 0.0], [2 * k, int(intercept)]),
        A_ub=-A[~held],
        b_ub=np.zeros(n - held.sum()),
        A_eq=np.vstack([A[held], A[~held].sum(axis=0)]),
        b_eq=np.append(np.zeros(held.sum()), float(n)),
        bounds=steps + [(None, None)] * int(intercept),
    )
    if found.x is None:
        return np.empty(0, dtype=np.int64)
    d = np.abs(found.x[:k] - found.x[k : 2 * k])
    return np.flatnonzero(d > NO_STEP * d.max(initial=0.0))


def separating_classes(Z, codes, r, intercept):
    """The columns that separate several classes (Albert & Anderson, Biometrika 71, 1984).

    A direction D (k, r) of the coefficients and d0 (r,) of the intercepts, along which no predictor
    z_i'D_c + d0_c of a row overtakes that of its class, and some fall behind, takes the multinomial
    loss down for ever. Of these, scaled so that the differences sum to n, the one of least
    sum |D_jc| is taken, which uses few columns.

    Parameters
    ----------
    Z : ndarray of shape (k, n)
        Columns, one a row.
    codes : ndarray of int of shape (n,)
        Numbers 0..r-1 of the classes.
    r : int
        The number of classes.
    intercept : bool
        Whether the direction may move the intercepts.

    Returns
    -------
    ndarray of int
        Positions of the columns in Z, ascending; empty where there is no such direction.
    """
    k, n = Z.shape
    A, free = _margins(Z, codes, r, intercept)
    D = _fewest(A, free, n, [(0.0, None)] * (2 * k * r)).reshape(r, k).max(axis=0)
    return np.flatnonzero(D > NO_STEP * D.max(initial=0.0))


def _margins(Z, codes, r, intercept):
    """What a direction of coefficients (r k,), class by class, of columns of unit mean square, and
    of intercepts (r,) adds to the predictor of the class of each row over those of the others: two
    sparse matrices of n (r - 1) rows.
    """
    n = Z.shape[1]
    Z = Z / np.sqrt(np.maximum(np.mean(Z * Z, axis=1, keepdims=True), 1e-300))
    rows = np.repeat(np.arange(n), r - 1)
    others = np.array([c for y in codes for c in range(r) if c != y])
    signs = np.equal.outer(codes[rows], np.arange(r)).astype(float)
    signs -= np.equal.outer(others, np.arange(r))
    A = scipy.sparse.hstack(
        [scipy.sparse.csr_array(Z.T[rows] * signs[:, [c]]) for c in range(r)], format="csr"
    )
    return A, scipy.sparse.csr_array(signs[:, : r * intercept])


def inseparable_classes(Z, codes, r, intercept):
    """Whether weights show that no direction separates several classes, see `separating_classes`.

    Let m >= 0 be the margins A d of such a direction d, whose coefficients sum to zero over the
    classes, and eta_i (r,) its predictors. With weights v >= 1 and rho = A'v, sum(m) <= v'm =
    rho'd <= |rho| |d|. On the other hand a row adds at least range(eta_i) >= |eta_i| / sqrt(r), so
    that sum(m) >= sum |eta_i|^2 / (sqrt(r) max |eta_i|) >= |d| L / (sqrt(r) max |z_i|), L the least
    eigenvalue of Z Z', z_i with a 1 for an intercept. Where |rho| sqrt(r) max |z_i| < L only d = 0
    is left. The weights come from a linear program, which is mostly 10 times faster than that for a
    direction; they are checked.

    Parameters
    ----------
    Z, codes, r, intercept
        See `separating_classes`.

    Returns
    -------
    bool
        False where that is not shown.
    """
    A, free = _margins(Z, codes, r, intercept)
    whole = scipy.sparse.hstack([A, free], format="csc").T
    found = scipy.optimize.linprog(
        np.ones(whole.shape[1]), A_eq=whole, b_eq=np.zeros(whole.shape[0]), bounds=(1.0, None)
    )
    if found.x is None:
        return False
    unit = Z / np.sqrt(np.maximum(np.mean(Z * Z, axis=1, keepdims=True), 1e-300))
    unit = np.vstack([unit, np.ones((int(intercept), Z.shape[1]))])
    left = np.linalg.norm(whole @ np.maximum(found.x, 1.0)) * np.sqrt(r)
    left *= np.sqrt((unit * unit).sum(axis=0).max())
    values = np.linalg.eigvalsh(unit @ unit.T)
    return bool(values[0] > LEAST_SPREAD * values[-1] and left < 0.5 * values[0])


def separating_ordered(Z, codes, lower, upper):
    """The columns that separate ordered classes: along a direction d of the coefficients and of the
    thresholds between classes, no predictor z_i'd comes nearer to a threshold of its class, and
    some go away from one.

    Parameters
    ----------
    Z : ndarray of shape (k, n)
        Columns, one a row.
    codes : ndarray of shape (n,)
        Numbers 0..K-1 of the classes.
    lower, upper : ndarray of shape (k,)
        Bounds; a finite one allows no step to its side.

    Returns
    -------
    ndarray of int
        Positions of the columns in Z, ascending; empty where there is no such direction.
    """
    n = Z.shape[1]
    Z = Z / np.sqrt(np.maximum(np.mean(Z * Z, axis=1, keepdims=True), 1e-300))
    codes = np.asarray(codes, dtype=np.int64)
    m = int(codes.max())  # thresholds
    below, above = np.flatnonzero(codes < m), np.flatnonzero(codes > 0)
    A = scipy.sparse.csr_array(np.vstack([-Z.T[below], Z.T[above]]))
    places = np.concatenate([codes[below], codes[above] - 1])
    signs = np.repeat([1.0, -1.0], [below.size, above.size])
    shape = (places.size, m)
    free = scipy.sparse.csr_array((signs, (np.arange(places.size), places)), shape=shape)
    steps = [(0.0, None if np.isinf(bound) else 0.0) for bound in (*upper, *lower)]
    d = _fewest(A, free, n, steps)
    return np.flatnonzero(d > NO_STEP * d.max(initial=0.0))


def ordered_optimum(problem, Z, eta):
    """Whether it is certain that ordered classes have a finite optimum on some columns, by the
    derivatives at a predictor.

    The loss (O) of `coupled.ordinal` is a sum of terms w f(a'x) in x = (coefficients, thresholds)
    whose curvatures fall no faster than |f'''| <= r f''. Along a direction d with d'Hd = 1 the
    slope is at least -g at the start, g^2 = gradient'H^-1 gradient, and the curvature at a distance
    t at least exp(-R t), R^2 = max r^2 a'H^-1 a. Where g R < 1 the slope becomes positive on every
    way out, and the loss falls for ever on none. Source: Bach (Electronic Journal of Statistics 4,
    2010), proposition 2.

    Parameters
    ----------
    problem : Problem
        Of the loss "ordinal", without a penalty.
    Z : ndarray of shape (k, n)
        Columns, one a row.
    eta : ndarray of shape (n,)
        A predictor, an offset with it.

    Returns
    -------
    bool
        False where that is not shown.
    """
    best = best_thresholds(problem.loss, problem.y, eta, problem.weights)
    codes, t = problem.y.astype(np.int64), np.eye(best.t.size)
    below, above = np.flatnonzero(codes < t.shape[0]), np.flatnonzero(codes > 0)
    with np.errstate(over="ignore"):
        q = 1.0 / np.expm1(np.diff(best.t))
    between = np.hstack([np.zeros((q.size, len(Z))), np.diff(t, axis=0)])
    A = np.vstack(
        [
            np.hstack([Z.T[below], -t[codes[below]]]),
            np.hstack([-Z.T[above], t[codes[above] - 1]]),
            between,
        ]
    )
    rate = np.concatenate([np.ones(below.size + above.size), 1.0 + 2.0 * q])
    mass = best.mass[1:-1]
    slope = [best.upper.slope[below], best.lower.slope[above], -mass * q]
    curvature = [best.upper.curvature[below], best.lower.curvature[above], mass * q * (1.0 + q)]
    H, gradient = (A.T * np.concatenate(curvature)) @ A, np.concatenate(slope) @ A
    unit = np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    values, vectors = np.linalg.eigh(H / unit[:, None] / unit)
    if not values[0] > LEAST_SPREAD:
        return False
    root = vectors / np.sqrt(values)
    decrement = np.linalg.norm(gradient / unit @ root)
    reach = np.linalg.norm(A / unit @ root, axis=1)
    return bool(decrement * (rate * reach).max() < SURE)


def _fewest(A, free, total, steps):
    """|d| of the direction (d, e) of least sum |d_j| with A d + free e >= 0 that sums to `total`;
    zeros where there is none. steps: bounds of the positive parts of d, then of the negative ones.
    """
    m, e = A.shape[1], free.shape[1]
    whole = scipy.sparse.hstack([A, -A, free], format="csr")
    found = scipy.optimize.linprog(
        np.repeat([1.0, 0.0], [2 * m, e]),
        A_ub=-whole,
        b_ub=np.zeros(whole.shape[0]),
        A_eq=scipy.sparse.csr_array(whole.sum(axis=0)[None]),
        b_eq=[float(total)],
        bounds=steps + [(None, None)] * e,
    )
    return np.zeros(m) if found.x is None else np.abs(found.x[:m] - found.x[m : 2 * m])


def leading(problem, Z, lower, upper):
    """The columns that make a partial likelihood monotone (Bryson & Johnson, Technometrics 23,
    1981).

    Along a direction d of the coefficients, eta = Z'd, it rises for ever where every event has the
    largest eta of its risk set, and some risk set has a smaller one. Of such directions, scaled so
    that these differences sum to n, the one of least sum |d_j| is taken. Differences that a
    direction violates are added to a linear program until there are none.

    Parameters
    ----------
    problem : Problem
        Of the loss "cox".
    Z : ndarray of shape (k, n)
        Columns, one a row.
    lower, upper : ndarray of shape (k,)
        Bounds; a finite one allows no step to its side.

    Returns
    -------
    ndarray of int
        Positions of the columns in Z, ascending; empty where there is no such direction.
    """
    k, n = Z.shape
    if not k:
        return np.empty(0, dtype=np.int64)
    Z = Z / np.sqrt(np.maximum(np.mean(Z * Z, axis=1, keepdims=True), 1e-300))
    sets = list(problem.loss.risk_sets())
    total = sum(
        (Z[:, tied].sum(axis=1) * at.size - Z[:, at].sum(axis=1) * tied.size) / at.size
        for tied, at in sets
    )
    steps = [(0.0, None if np.isinf(bound) else 0.0) for bound in (*upper, *lower)]
    rows = np.empty((0, k))
    while True:
        A = np.hstack([rows, -rows])
        found = scipy.optimize.linprog(
            np.ones(2 * k),
            A_ub=-A if A.size else None,
            b_ub=np.zeros(len(A)) if A.size else None,
            A_eq=np.append(total, -total)[None],
            b_eq=[float(n)],
            bounds=steps,
        )
        if found.x is None:
            return np.empty(0, dtype=np.int64)
        d = found.x[:k] - found.x[k:]
        eta = d @ Z
        slack = 1e-7 * max(np.abs(eta).max(), 1.0)
        new = [
            Z[:, i] - Z[:, at[eta[at].argmax()]]
            for tied, at in sets
            for i in tied[eta[tied] < eta[at].max() - slack]
        ]
        if not new:
            size = np.abs(d)
            return np.flatnonzero(size > NO_STEP * size.max(initial=0.0))
        rows = np.vstack([rows, new])


def recedes(recession, problem, Z, lower, upper):
    """Whether the loss falls for ever along some direction d of the coefficients of Z (k, n) and
    the intercept that the box allows: a linear program.

    SEPARATES   y_i eta_i >= 0 for all rows and > 0 for some: the classes are separated, if not
    every row is (Albert & Anderson, Biometrika 71, 1984)
    EMPTIES     eta_i = 0 where y_i > 0, eta_i <= 0 where y_i = 0 and < 0 for some
    FILLS       eta_i = 0 where 0 < y_i < 1, eta_i <= 0 where y_i = 0, >= 0 where y_i = 1, not all 0
    MONOTONE    see `leading`
    ORDERED     see `separating_ordered`
    """
    if recession == MONOTONE:
        return leading(problem, Z, lower, upper).size > 0
    if recession == ORDERED:
        return separating_ordered(Z, problem.y, lower, upper).size > 0
    signs, held = held_by(recession, problem.y)
    Z = Z / np.sqrt(np.mean(Z * Z, axis=1, keepdims=True))
    A = np.column_stack([Z.T, np.ones(problem.y.size)]) if problem.intercept else Z.T
    A = A * signs[:, None]
    bounds = [
        (0.0 if np.isfinite(low) else -1.0, 0.0 if np.isfinite(high) else 1.0)
        for low, high in zip(lower, upper, strict=True)
    ] + [(-1.0, 1.0)] * problem.intercept
    found = scipy.optimize.linprog(
        -A[~held].sum(axis=0),
        A_ub=-A[~held],
        b_ub=np.zeros((~held).sum()),
        A_eq=A[held] if held.any() else None,
        b_eq=np.zeros(held.sum()) if held.any() else None,
        bounds=bounds,
    )
    return found.status != 0 or -found.fun > 1e-6 * problem.y.size
