"""Restricted optima from the rows of X by orthogonal factorizations, for columns that are almost
linear combinations of each other: a Gram matrix has the square of their condition.
"""

import numpy as np
from scipy.linalg import solve_triangular

from ..problem.losses import smoothness
from ..problem.problem import EPS
from ..problem.traits import NO_RECESSION
from ..problem.verbs import derivatives_with_sizes, mean_loss, origin
from .columns import CONDITION
from .curvature import curved

LEAST_PROMISE = 1e-13  # of what the objective is summed from: a step that promises less is the last
OPTIMAL = 1e-9  # the same, for a point to be called an optimum
FREE = (-np.inf, np.inf)
LEAST_CURVATURE = 1e-8  # of the largest, which every row keeps in a quadratic model
# the same of a Hessian in an orthonormal basis: beside a row far from the others more would hide
# what these say
CURVED = 1e-13
ANY = 1e-300  # the curvature of a row whose slope has vanished, too
SHORTEST = 1e-3  # share of an undamped step, below which damped ones are tried
TRUSTED = 0.75  # share of the promised decrease after which damping ends


def least_squares(A, y, lambda1, lower, upper, start):
    """argmin ||A x - y||^2 / 2 + sum_j lambda1_j |x_j| over lower <= x <= upper, by active sets.

    Coordinates that are neither 0 under a lambda1 nor at a bound are free. They go to their
    optimum, or to the first sign change or bound on the way, by singular values of their columns;
    then the one held coordinate whose gradient is largest is set free. Directions that keep less
    than 1 / CONDITION of the length of their columns count as none.

    Parameters
    ----------
    A : ndarray of shape (m, k)
        At least as many rows as columns.
    y : ndarray of shape (m,)
    lambda1, lower, upper : ndarray of shape (k,)
        Weights of the absolute values (>= 0), and bounds, infinite for none.
    start : ndarray of shape (k,)
        Where to begin.

    Returns
    -------
    x : ndarray of shape (k,)
    optimal : bool
        Whether no coordinate that is held would lower the objective.

    References
    ----------
    Lawson & Hanson (1974), Solving Least Squares Problems, chapter 23; bounds as in Stark & Parker,
    Computational Statistics 10 (1995).
    """
    if not start.size:
        return np.empty(0), True
    unit = np.linalg.norm(A, axis=0)
    unit[unit == 0.0] = 1.0
    Q, R = np.linalg.qr(A / unit)
    face = _Face(R, Q.T @ y, lambda1 / unit, lower * unit, upper * unit, start * unit)
    blocked = np.zeros(unit.size, dtype=bool)
    for _ in range(20 * (unit.size + 2)):
        face.descend()
        j, side = face.entering(blocked)
        if j < 0:
            return np.clip(face.x / unit, lower, upper), True
        before = face.x.copy()
        blocked[j] = not face.enter(j, side)
        if not np.array_equal(before, face.x):
            blocked[:] = False
    return np.clip(face.x / unit, lower, upper), False


class _Face:
    """The state of `least_squares` in units of the columns: the point x, which coordinates are
    free, and the signs (k,) that their absolute values have.
    """

    def __init__(self, R, y, l1, lower, upper, x):
        self.R, self.y, self.l1, self.lower, self.upper = R, y, l1, lower, upper
        self.x = np.clip(x, lower, upper)
        self.sign = np.sign(self.x) * (l1 > 0)
        inside = (self.x > lower) & (self.x < upper)
        self.free = inside & ((self.x != 0) | (l1 == 0))

    def step(self):
        """(d (free,), whether it is a ray): where the free coordinates go, to their optimum or on a
        ray along which only the absolute values fall.
        """
        U, s, V = np.linalg.svd(self.R[:, self.free], full_matrices=False)
        tilt = V @ (self.l1 * self.sign)[self.free]
        flat = s <= s[0] / CONDITION
        if np.abs(tilt[flat]).max(initial=0.0) > 1e-10 * self.l1[self.free].max():
            return -(tilt[flat] @ V[flat]), True
        size = np.where(flat, 1.0, s)
        part = (U.T @ (self.y - self.R @ self.x) - tilt / size) / size
        return np.where(flat, 0.0, part) @ V, False

    def descend(self):
        """Go to the optimum of the free coordinates; those that meet 0 or a bound are held."""
        for again in range(4 * self.free.size + 4):
            if not self.free.any():
                return
            d, ray = self.step()
            J = np.flatnonzero(self.free)
            end = np.clip(self.x[J] + d * (1e300 if ray else 1.0), self.lower[J], self.upper[J])
            crossed = (self.l1[J] > 0) & (end * self.sign[J] < 0)
            end[crossed] = 0.0
            cut = crossed | (end != self.x[J] + d) if not ray else crossed | (np.abs(end) < 1e299)
            share = np.full(J.size, np.inf)
            moving = cut & (d != 0)
            share[moving] = np.maximum((end - self.x[J])[moving] / d[moving], 0.0)
            hit = int(np.argmin(share))
            if ray and not np.isfinite(share[hit]):
                return
            if not share[hit] < 1.0 and not ray:
                self.x[J] += d
                if again:
                    return  # the second time with the residual of the first, which refines it
                continue
            self.x[J] += share[hit] * d
            self.x[J[hit]] = end[hit]
            self.free[J[hit]] = False
            if end[hit] == 0.0:
                self.sign[J[hit]] = 0.0

    def entering(self, blocked):
        """(coordinate, direction) that lowers the objective most for its length, -1 for none.

        At the optimum of the free coordinates the gradient along these is known, and only what
        other columns have beside them counts: large coefficients of free columns do not blur it.
        """
        U, s, V = np.linalg.svd(self.R[:, self.free], full_matrices=False)
        weak = s <= s.max(initial=0.0) / CONDITION
        U, s, V = U[:, ~weak], s[~weak], V[~weak]
        beside = np.eye(self.y.size) - U @ U.T
        residual, along = beside @ (beside @ (self.R @ self.x - self.y)), U.T @ self.R
        columns = beside @ (self.R - U @ along)
        g = columns.T @ residual - ((V @ (self.l1 * self.sign)[self.free]) / s) @ along
        error = np.abs(self.R) @ np.abs(self.x) + np.abs(self.y)
        noise = np.linalg.norm(columns.T @ (beside * error), axis=1)
        at_zero = (self.x == 0) & (self.l1 > 0)
        up = -g - np.where(at_zero | (self.x > 0), self.l1, -self.l1)
        down = g - np.where(at_zero | (self.x < 0), self.l1, -self.l1)
        up[(self.x >= self.upper) | self.free | blocked] = -np.inf
        down[(self.x <= self.lower) | self.free | blocked] = -np.inf
        gain = np.maximum(up, down) - 4.0 * EPS * self.x.size * noise
        j = int(np.argmax(gain))
        return (j, 1.0 if up[j] >= down[j] else -1.0) if gain[j] > 0.0 else (-1, 0.0)

    def enter(self, j, side):
        """Set coordinate j free in a direction; False, and held as before, where its optimum is not
        on that side, which rounding can do.
        """
        self.free[j], old = True, self.sign[j]
        if self.l1[j] > 0:
            self.sign[j] = np.sign(self.x[j]) or side
        d, _ = self.step()
        good = d[np.flatnonzero(self.free) == j][0] * side > 0.0
        if not good:
            self.free[j], self.sign[j] = False, old
        return bool(good)


def from_rows(problem, Z, lambda1, lambda2, *, bounds, start, max_iter):
    """The restricted optimum of any loss that has curvatures, by Newton steps each of which is a
    `least_squares` problem on the rows.

    A step that does not lower the objective is shortened and, where that does not help, repeated
    with curvature added to every row, which damps what is fitted and not the coefficients.

    Parameters
    ----------
    problem : Problem
    Z : ndarray of shape (k, n)
        The columns of the support.
    lambda1, lambda2 : float
    bounds : pair of ndarray of shape (k,)
    start : (b, b0)
        Where to begin.
    max_iter : int

    Returns
    -------
    b : ndarray of shape (k,)
    b0 : float
    value : float
    optimal : bool
        Whether a step that is not damped promises next to nothing any more.
    """
    p, k, coupled = problem, Z.shape[0], problem.loss.traits.coupled
    seen = np.ones(p.X.n, dtype=bool) if coupled else p.weights > 0.0
    y, weights, offset, Z = p.y[seen], p.weights[seen], p.offset[seen], Z[:, seen]
    A = np.column_stack([Z.T, np.ones(y.size)]) if p.intercept else Z.T
    more = A.shape[1] - k
    l1 = np.append(np.full(k, float(lambda1)), np.zeros(more))
    low, high = (
        np.append(side, np.full(more, end)) for side, end in zip(bounds, FREE, strict=True)
    )
    ridge = np.eye(k, A.shape[1]) * np.sqrt(2.0 * lambda2)
    x = np.clip(np.append(start[0], np.full(more, start[1])), low, high)
    fixed = offset if p.intercept else offset + start[1]
    slopes, curvatures, idle = np.empty(y.size), np.empty(y.size), 0
    least = damping = CURVED if coupled else 0.0
    basis = np.linalg.qr(Z.T) if coupled else None

    def shrinkage(x):
        return float(l1 @ np.abs(x)) + lambda2 * float(x[:k] @ x[:k])

    def at(x):
        """(x, predictors, F) at coefficients x."""
        eta = fixed + A @ x
        return x, eta, mean_loss(p.loss, y, eta, weights) + shrinkage(x)

    def rounding(x):
        """What rounding leaves of the predictors (n,)."""
        return EPS * (np.abs(fixed) + np.abs(A) @ np.abs(x))

    (x, eta, F), optimal, beside_jumps = at(x), False, False
    for _ in range(max_iter if np.isfinite(F) else 0):
        derivatives_with_sizes(p.loss, y, eta, weights, slopes, curvatures)
        if beside_jumps:
            off = 4.0 * rounding(x)
            _go_beyond_jumps(p.loss, y, weights, (eta - off, eta + off), slopes, curvatures)
        level = abs(F) + float(np.abs(slopes * eta).sum()) + 1e-300
        about = abs(F) + float(np.abs(slopes * (eta - origin(p.loss, slopes, eta))).sum()) + 1e-300
        if coupled:
            model = _of_basis(p, basis, eta, curvatures, slopes)
        else:
            most = _most_curved(p, curvatures, y, weights)
            kept = curvatures + _least_curved(p.loss, most, slopes)
        undamped = None  # what a step promises without damping, once that is asked for
        for _attempt in range(1 if beside_jumps else 30):
            if coupled:
                M, from_x = model(damping)
            else:
                root = np.sqrt(kept + damping * most)
                M, from_x = root[:, None] * A, slopes / root
            rows = np.append(M @ x - from_x, np.zeros(k))
            new, _ = least_squares(np.vstack([M, ridge]), rows, l1, low, high, x)
            move = M @ (new - x)
            promised = shrinkage(x) - shrinkage(new) - float(from_x @ move + 0.5 * move @ move)
            end, share = at(new), 1.0
            if damping <= least:
                undamped = promised
                while not end[2] <= F - 1e-4 * share * promised and share > SHORTEST:
                    share *= 0.5
                    end = at(x + share * (new - x))
            after = end[2]
            if after <= F - 1e-4 * share * promised or promised <= LEAST_PROMISE * about:
                break
            damping = 10.0 * damping if coupled else max(10.0 * damping, 1e-3)
        gain, noise = F - after, float(np.abs(slopes) @ rounding(x))
        idle = 0 if gain > EPS * level else idle + 1
        if after < F:
            x, eta, F = end
        trusted, ended = gain > TRUSTED * promised, promised <= LEAST_PROMISE * about or idle > 1
        if beside_jumps:
            if gain <= OPTIMAL * about:
                break
            beside_jumps = optimal = False
        elif ended and undamped is None:
            # beside a row far out, which damping holds, damped steps promise nothing
            trusted = True
        elif ended:
            # a promise below 0 is rounding, and F is not known better than what it is summed from
            optimal = abs(undamped) <= OPTIMAL * about + noise
            if not p.loss.traits.jumps:
                break
            beside_jumps = trusted = True
        damping = least if trusted else max(0.03 * damping, least)
    return x[:k], float(x[k]) if more else float(start[1]), float(F), bool(optimal)


def _go_beyond_jumps(loss, y, weights, sides, slopes, curvatures):
    """Take the curvatures on both sides of the predictors, within rounding, where they are less,
    with the slopes there: a row far out that has its curvature on one side only seems to hold all
    coefficients where it is, while these may go on to the other side.
    """
    near, v = np.empty_like(slopes), np.empty_like(curvatures)
    for eta in sides:
        derivatives_with_sizes(loss, y, eta, weights, near, v)
        less = v < curvatures
        slopes[less], curvatures[less] = near[less], v[less]


def _most_curved(p, curvatures, y, weights):
    """The largest curvatures (n,) that rows may have."""
    bound = smoothness(p.loss)
    if not np.isfinite(bound):  # poisson: what is there now, or is at the null model
        bound = max(float((curvatures / weights).max()), float(weights @ y))
    return bound * weights


def _least_curved(loss, most, slopes):
    """The curvatures (n,) that rows keep, so that their slopes can be written as differences; rows
    without a slope keep none.

    Where a loss falls for ever its slope vanishes with its curvature, and what is kept does, too:
    beside a row that is a million times as far out as the others it would bring steps to a halt.
    """
    if loss.traits.recession == NO_RECESSION:
        return np.where(slopes != 0.0, LEAST_CURVATURE * most, ANY)
    return LEAST_CURVATURE * np.minimum(most, np.abs(slopes)) + ANY


def _of_basis(p, basis, eta, curvatures, slopes):
    """model(damping) = (M (k, k), c (k,)) at a predictor of a loss whose rows are coupled: it is
    c'M d + ||M d||^2 / 2 for a move d of the coefficients of columns Q R = `basis`.

    The Hessian is computed for the orthonormal Q, so that it does not square the condition of the
    columns.
    """
    Q, R = basis
    Z, ZB, P = curved(p, eta, curvatures, np.ascontiguousarray(Q.T))
    s, V = np.linalg.eigh(ZB @ Z.T - P @ P.T)
    # so far out that no row has a curvature, damping is in units of slopes: steps would have no end
    level = max(float(s.max(initial=0.0)), LEAST_CURVATURE * float(np.abs(slopes).max()), ANY)
    slope = V.T @ (Q.T @ slopes)

    def model(damping):
        root = np.sqrt(np.maximum(s, 0.0) + damping * level)
        return (V * root).T @ R, slope / root

    return model


def inverse_by_rows(A, ridge):
    """(A A' + ridge I)^-1 = (I - A (A'A + ridge I)^-1 A') / ridge for A (K, n), K > n, and that all
    K columns are kept.
    """
    M = A.T @ A
    M[np.diag_indices_from(M)] += ridge
    C = solve_triangular(np.linalg.cholesky(M), A.T, lower=True, check_finite=False)
    B = C.T @ C
    B /= -ridge
    B[np.diag_indices_from(B)] += 1.0 / ridge
    return B, np.arange(A.shape[0])
