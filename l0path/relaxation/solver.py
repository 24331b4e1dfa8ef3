"""Better dual points: the perspective relaxation of the best-subset problem, solved on working
columns, and its tangents evaluated over all columns.

    minimize over b0, b, z:   sum_i w_i l(y_i, o_i + b0 + z_i'b) + envelope(b, z)    (`perspective`)

Its optimum is the largest lower bound that `bounds` can give. All targets, sizes k or values of
lambda0, are solved side by side on one set of working columns by accelerated proximal gradient with
restarts; the dual points are the loss's slopes at the iterates. One batched read of X then turns
them into bounds over all columns and names the columns whose h_j exceeds the multiplier: these
enter. The restricted relaxation's value caps what any further read can give, which is how a target
knows that it is done.

This is the outer loop of the feature generating machine (Tan, Tsang & Wang, JMLR 15, 2014,
Algorithm 1) with a larger model: all z on the working columns instead of mixtures of the generated
blocks. Liu et al. (ICML 2017, Algorithm 1) climb the same dual by super-gradients. Both, and
proximal gradient over all columns, took several times as many reads for the same bound.
"""

from typing import NamedTuple

import numpy as np

from ..core.threads import one_blas_thread, run_each
from ..problem.conjugates import smooth
from ..problem.losses import smoothness
from .bounds import (
    Points,
    cardinality_bounds,
    dual_constant,
    gains,
    link,
    penalized_bounds,
    points_at,
    points_of_fits,
    with_constants,
)
from .descent import BOUND_STEPS, Descent, SmoothGram, SmoothRows
from .perspective import terms

BLENDS = 7  # points tried at once between two dual points, twice
STEPS_A_READ = 400  # proximal steps per read of X and target


class Improved(NamedTuple):
    """For t targets: the best point of each, lower (t,) bounds, relaxed (t,): values of the
    relaxation that no dual point can exceed, reads: batched reads of X.
    """

    points: Points
    lower: np.ndarray
    relaxed: np.ndarray
    reads: int


class _Targets(NamedTuple):
    """The targets of bounds: sizes (t,) or lambda0 (t,), the other None."""

    sizes: np.ndarray | None
    lambda0: np.ndarray | None

    def take(self, T):
        return _Targets(*(None if v is None else v[T] for v in self))

    def bounds(self, dual, points):
        """(t, m): the bound of each target by each point."""
        if self.sizes is None:
            return penalized_bounds(dual, points, self.lambda0)
        return cardinality_bounds(dual, points, int(self.sizes.max(initial=0)))[self.sizes]

    def taken(self, parts, tau, dual, W):
        """(m,): what the working columns take off C at tau (w, m), point m for target m."""
        h = link(dual, tau, W)[1]
        c = parts.counted
        out = h[~c].sum(axis=0)
        if self.sizes is None:
            return out + np.maximum(h[c] - self.lambda0 * parts.factor[c], 0.0).sum(axis=0)
        ranked = np.vstack(
            [np.zeros(out.size), np.cumsum(-np.sort(-np.maximum(h[c], 0.0), axis=0), axis=0)]
        )
        return out + ranked[np.minimum(self.sizes, ranked.shape[0] - 1), np.arange(out.size)]


def improve(
    dual,
    *,
    start=None,
    sizes=None,
    lambda0=None,
    steps=5,
    goal=None,
    tol=1e-3,
    coefficients=None,
    poll=None,
    patience=None,
):
    """`Improved` bounds for targets sizes (t,) or lambda0 (t,) by at most `steps` batched reads of
    X.

    start: `Points` to begin with (`points_of_fits`), None for those of the null model (one read).
        goal (t,): objectives known; a target is left alone once its bound is within tol |goal|
    of its goal, or within a tenth of that of the relaxation. coefficients: for each target
    (support, b) of a fit, where its descent begins. A dual with unbounded columns (see `Dual`) gets
    the bounds of `start` alone. poll(): asked before every read, True ends the search; what was
    found is returned. patience: so many reads in a row that gain less than tol |bound| for every
    target end it too.
    """
    targets = _Targets(
        None if sizes is None else np.asarray(sizes, dtype=np.int64),
        None if lambda0 is None else np.asarray(lambda0, dtype=np.float64),
    )
    if (sizes is None) == (lambda0 is None):
        raise ValueError("pass either sizes or lambda0")
    reads = 0
    if start is None:
        start, reads = points_of_fits(dual, [([], [])]), 1
    pool = _Pool(dual, targets, start)
    if not dual.unbounded.any():
        run = RestrictedRelaxation(dual, targets, pool, coefficients, goal, tol)
        idle, patience = 0, steps if patience is None else patience
        while reads < steps and idle < patience and not (poll is not None and poll()):
            before = pool.lower.copy()
            if not run.step():
                break
            reads += 1
            idle = 0 if (pool.lower - before > tol * np.abs(pool.lower)).any() else idle + 1
        return Improved(pool.points, pool.lower, run.relaxed, reads)
    return Improved(pool.points, pool.lower, np.full(pool.lower.size, np.inf), reads)


class _Pool:
    """The best point seen for every target."""

    def __init__(self, dual, targets, start):
        self.dual, self.targets = dual, targets
        found = targets.bounds(dual, start)
        best = found.argmax(axis=1)
        self.lower, self.points = found[np.arange(best.size), best], start.take(best)

    def add(self, points):
        """Compare new points with the best one of every target."""
        found = self.targets.bounds(self.dual, points)
        best = found.argmax(axis=1)
        value = found[np.arange(best.size), best]
        gain = np.flatnonzero(value > self.lower)
        self.lower[gain] = value[gain]
        for old, new in zip(self.points, points, strict=True):
            old[..., gain] = new[..., best[gain]]


def _blend(dual, targets, old, new):
    """Points (1 - s) old + s new, one for each target, at the s in [0, 1] that is best for it:
    bounds are concave in s, and tau is linear, so this needs no read of X.

    The search looks at the columns alone that take most off at either end; what it returns is
    evaluated over all columns like any other point.
    """
    share = np.empty(old.constant.size)

    def search(m):
        h = np.maximum(
            *(np.where(dual.counted, gains(dual, points, m), 0.0) for points in (old, new))
        )
        count = 100 + 4 * (int(targets.sizes[m]) if targets.lambda0 is None else 100)
        J = np.union1d(
            dual.problem.forced,
            np.argpartition(-h, count)[:count] if h.size > count else np.arange(h.size),
        )
        few, target = terms(dual, J), targets.take(np.full(BLENDS, m))
        ends = [
            (points.a[:, [m]], points.tau[J, m][:, None], points.constant[m])
            for points in (old, new)
        ]
        best, width = 0.5, 0.5
        for _ in range(2):
            s = np.clip(np.linspace(best - width, best + width, BLENDS), 0.0, 1.0)
            a, tau, constant = ((1.0 - s) * x + s * y for x, y in zip(*ends, strict=True))
            constant = constant if dual.split is not None else dual_constant(dual, a)
            best = s[(constant - target.taken(few, tau, dual, J)).argmax()]
            width = 2.0 * width / (BLENDS - 1)
        share[m] = best

    with one_blas_thread():
        run_each(search, share.size)
    a, tau, constant, _, size, rounding_factor = (
        (1.0 - share) * x + share * y for x, y in zip(old, new, strict=True)
    )
    points = with_constants(dual, a, tau)._replace(rounding_factor=rounding_factor)
    return points if dual.split is None else points._replace(constant=constant, size=size)


class RestrictedRelaxation:
    """The working columns, the iterates B (w, t) on them, and the bounds so far."""

    def __init__(self, dual, targets, pool, coefficients, goal, tol):
        self.dual, self.targets, self.pool = dual, targets, pool
        self.loss = smooth(dual.problem.loss)
        self.slack = 0.0 if self.loss is dual.problem.loss else 0.5 * self.loss.gamma
        t = pool.lower.size
        self.goal = np.full(t, np.inf) if goal is None else np.asarray(goal, dtype=np.float64)
        self.tol = tol
        self.relaxed, self.shift, self.x = np.full(t, np.inf), np.zeros(t), np.full(t, np.nan)
        self.curvature = np.full(t, np.nan)
        self.W, self.model, self.descended = np.empty(0, dtype=np.int64), None, False
        self.entering = self.W  # violators of the last read, let in before the next descent
        self.B = np.empty((0, t))
        fits = [] if coefficients is None else coefficients
        first = [dual.problem.forced, *(np.asarray(J, dtype=np.int64) for J, _ in fits)]
        with one_blas_thread():
            self._enter(
                np.concatenate(
                    [*first, *(self._violators(m, pool.points, m, 0.0) for m in range(t))]
                )
            )
        for m, (J, b) in enumerate(fits):
            self.B[np.searchsorted(self.W, J), m] = b

    def _violators(self, m, points, at, multiplier):
        """The columns, at most 50 + 5 k and 500, that take most off the bound of target m at a
        point and are not working yet.
        """
        h = gains(self.dual, points, at)
        h[~self.dual.counted] = 0.0
        if self.targets.sizes is None:
            h = h - self.targets.lambda0[m] * np.where(
                self.dual.counted, self.dual.problem.factor, 0.0
            )
            multiplier = 0.0 if self.W.size else -np.inf
            count = 50 + 5 * int((h > 0).sum())
        else:
            count = 50 + 5 * int(self.targets.sizes[m])
        h[~self.dual.counted] = -np.inf
        h[self.W] = -np.inf
        J = np.flatnonzero(h > multiplier)
        count = min(count, 500)
        return J if J.size <= count else J[np.argpartition(-h[J], count)[:count]]

    def _enter(self, J):
        """Let columns become working ones; W stays sorted."""
        W = np.union1d(self.W, J).astype(np.int64)
        B = np.zeros((W.size, self.B.shape[1]))
        B[np.searchsorted(W, self.W)] = self.B
        self.W, self.B = W, B
        # W only grows, so a Gram matrix is made from a smaller one
        small = self.dual.problem.quadratic and W.size <= 2 * self.dual.problem.X.n
        self.model = (SmoothGram if small else SmoothRows)(self.dual, W, self.model)
        self.terms = terms(self.dual, W)
        smooth, steep = smoothness(self.loss), self.model.largest()
        # no curvature along the working columns is larger; infinite for the Poisson loss
        self.top = steep * smooth
        guess = steep if np.isinf(smooth) else self.top
        self.curvature = (
            np.full(self.x.size, guess)
            if self.dual.problem.quadratic
            else np.where(np.isnan(self.curvature), guess, np.maximum(self.curvature, 0.1 * guess))
        )

    def _active(self):
        """Targets whose bound may still gain enough to be worth a read."""
        known = np.minimum(self.relaxed, self.goal)
        worth = self.tol * np.abs(np.where(np.isfinite(known), known, 1.0))
        return np.flatnonzero(
            (self.goal - self.pool.lower > worth) & (self.relaxed - self.pool.lower > 0.1 * worth)
        )

    def step(self):
        """Let violators in, solve the restricted relaxation for the active targets, read X once;
        False when no target is active.
        """
        T = self._active()
        if not T.size:
            return False
        with one_blas_thread():
            if self.entering.size:
                self._enter(self.entering)
            V = self._descend(T)
            predicted = self.model.predicted(V)
        points = points_at(self.dual, self.W, V, self.shift[T], predicted)
        if (
            self.descended
        ):  # the points of the start are too far from the best ones for a blend to gain anything
            self.pool.add(_blend(self.dual, self.targets.take(T), self.pool.points.take(T), points))
        self.pool.add(points)
        self.descended = True
        self.entering = np.concatenate(
            [self._violators(m, points, i, self._multiplier(m)) for i, m in enumerate(T)]
        )
        return True

    def _multiplier(self, m):
        """The least gain with which a column enters for target m: the multiplier at which
        its z sum to k.
        """
        x = self.x[m]
        return np.inf if x == 0 else 1.0 / (x * x) if np.isfinite(x) else 0.0

    def _descend(self, T):
        """Proximal steps for targets T until their restricted gaps are a tenth of the gaps still
        open; returns the points V (w, len(T)) of their best duals on the working columns.
        """
        V, best, relaxed = self.B[:, T].copy(), np.full(T.size, -np.inf), np.full(T.size, np.inf)
        live, state = np.arange(T.size), Descent(self, T)
        for _ in range(STEPS_A_READ // BOUND_STEPS):
            S = T[live]
            for _turn in range(BOUND_STEPS):
                state.advance()
            relaxed[live] = np.minimum(relaxed[live], state.value)
            better = state.bound > best[live]
            best[live[better]] = state.bound[better]
            V[:, live[better]] = state.at[:, better]
            self.B[:, S] = state.B
            self.x[S] = state.x
            self.shift[S] = state.shift
            self.curvature[S] = state.L
            ahead = np.minimum(relaxed[live], self.goal[S]) - np.maximum(self.pool.lower[S], -1e300)
            kept = relaxed[live] - best[live] > np.maximum(
                0.1 * ahead, 0.03 * self.tol * np.abs(relaxed[live])
            )
            live, state = live[kept], state.keep(kept)
            if not live.size:
                break
        # columns can only lower the relaxation, so each restricted value caps it
        self.relaxed[T] = np.minimum(self.relaxed[T], relaxed + self.slack)
        return V
