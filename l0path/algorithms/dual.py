"""The dual problem of a loss with lambda1 and a ridge, as ascents need it: one point at a time.
`relaxation.bounds` has it for many points and any box.
"""

import numpy as np

from ..problem.conjugates import balanced, conjugate, conjugate_slope, convexity, interval
from ..problem.losses import name_of
from ..problem.verbs import derivatives
from .coordinate_descent import entry_gains
from .operators import largest, working_columns

EXAMINED = 10  # steps between refits of the support at hand
# gap, relative to the null value, that counts as none; bounds are lowered by a third of it
NO_GAP = 3e-9


def needs_ridge(name, problem, lambda2):
    """Dual ascent needs lambda2 > 0, which makes the link from dual to primal a function, and a
    conjugate that is strongly convex.
    """
    if not lambda2 > 0:
        raise ValueError(
            f"lambda2={lambda2!r}: {name} needs lambda2 > 0, a ridge that makes the dual finite; "
            "pass lambda2=1e-2 or larger (the bound is tighter the larger it is), "
            "or use algorithm='swap'"
        )
    if not problem.loss.traits.bounded:
        raise ValueError(
            f"loss={name_of(problem.loss)!r} has no bounded curvature, which {name} "
            "needs for its steps; use algorithm='swap' or 'pg'"
        )


def project(a, low, high, weights, anchor=None):
    """The point of low <= x <= high nearest to a in the norm weighted by `weights`; with `anchor`,
    a point of the box, of those with sum_i weights_i (x_i - anchor_i) = 0.

    For one vector six times as fast as `relaxation.feasible`, which takes many: an ascent comes
    here at every step.
    """
    inside = np.minimum(np.maximum(a, low), high)
    if anchor is None:
        return inside
    total, away = float(weights @ anchor), a - anchor
    left, right, shift = float(away.min()), float(away.max()), 0.0
    for _ in range(
        100
    ):  # the sum falls as the shift grows, piecewise linearly: Newton steps, kept in a bracket
        gap = float(weights @ inside) - total
        left, right = (max(left, shift), right) if gap > 0.0 else (left, min(right, shift))
        if abs(gap) <= 1e-16 or right - left <= 1e-15 * max(abs(left), abs(right)):
            break
        inner = float(weights @ ((inside > low) & (inside < high)))
        shift = shift + gap / inner if inner > 0.0 else left
        if not left < shift < right:
            shift = 0.5 * (left + right)
        inside = np.minimum(np.maximum(a - shift, low), high)
    return inside


def balance(a, weights):
    """a with the heavier of its signs scaled down so that sum_i weights_i a_i = 0; the domain holds
    0, so it is not left.
    """
    return balanced((weights * a)[:, None])[:, 0] / weights


class DualProblem:
    """D of a problem at one (lambda1, lambda2 > 0), for dual variables a_i in units of the loss's
    slope (`relaxation` has w_i a_i); its sum over columns is the caller's.

    `tied`: an intercept asks for sum_i w_i a_i = 0 (a squared loss had it taken out). least:
    smallest second derivative of the conjugates.
    """

    def __init__(self, problem, lambda1, lambda2):
        self.problem, self.lambda1, self.lambda2 = problem, float(lambda1), float(lambda2)
        self.low, self.high = interval(problem.loss, problem.y)
        self.tied = problem.free_intercept
        self.zero = np.zeros(problem.y.size)
        self.least = convexity(problem.loss)

    def project(self, a):
        """The nearest feasible point."""
        if not self.tied:
            return project(a, self.low, self.high, self.problem.weights)
        return balance(
            project(a, self.low, self.high, self.problem.weights, self.zero), self.problem.weights
        )

    def smooth_part(self, a):
        """sum_i w_i (o_i a_i - loss*(y_i, a_i)) of a feasible a."""
        p = self.problem
        return float(p.weights @ (p.offset * a - conjugate(p.loss, p.y, a)))

    def slope_part(self, a, rows=slice(None)):
        """o_i less the conjugate's slope, of a (m,) on some rows: with z_i'b(a) the super-gradient
        of D in the metric of the weights.
        """
        p = self.problem
        return p.offset[rows] - conjugate_slope(p.loss, p.y[rows], a)

    def link(self, correlation, lower, upper, boxed):
        """b (m,) that attains h, and h, for correlation = -Z'(w a): `relaxation.link` for one
        ridge, as fast as steps of an ascent need it.
        """
        b = np.copysign(np.maximum(np.abs(correlation) - self.lambda1, 0.0), correlation) / (
            2.0 * self.lambda2
        )
        if boxed:
            return np.clip(b, lower, upper), entry_gains(
                correlation, 0.0, self.lambda1, self.lambda2, lower, upper
            )
        return b, self.lambda2 * b * b

    def of_predictor(self, eta):
        """The feasible dual point a_i = loss'(y_i, eta_i) of a fit."""
        p, a, scratch = self.problem, np.empty(eta.size), np.empty(eta.size)
        derivatives(p.loss, p.y, eta, np.ones(eta.size), a, scratch)
        return self.project(a)


def stalled(history, tol, scale):
    """Whether neither the best bound nor the running mean's, the two columns of `history`, has
    grown by more than tol, relative, over its later half, at least five looks.

    The mean starts low: while it climbs, the ascent goes on although the best, which may be that of
    the start, does not move.
    """
    back = max(5, len(history) // 2)
    if len(history) <= back:
        return False
    (best, mean), (old_best, old_mean) = history[-1], history[-1 - back]
    return max(best - old_best, mean - old_mean) <= tol * max(abs(best), 1e-6 * scale)


def diverged(a):
    """Whether steps that are too long (`paper_defaults` with a small lambda2) have blown a dual
    point up.
    """
    return not np.abs(a).max() <= 1e100


class DualSizes:
    """Sizes of a model with dual points: their values on the working columns, and what a read of
    all columns needs. bounds: {k: D over all columns}; lambda2: of the models, that of `dual` may
    be larger.
    """

    def __init__(self, model, dual, lambda2, scale):
        self.model, self.dual, self.scale = model, dual, scale
        self.lambda1, self.lambda2 = dual.lambda1, float(lambda2)
        self.width, self.view, self.Z, self.bounds, self.refits = -1, None, None, {}, {}

    def renew(self):
        """Renew the view of the working columns; whether they have grown."""
        grown = self.width != self.model.width
        if grown:
            self.width = self.model.width
            self.view = working_columns(self.model, self.dual.lambda1, self.dual.lambda2)
            self.Z = self.model.Z[: self.width]
        return grown

    def top(self, correlation, k):
        """Positions of b(a)'s support, its values there and the sum of its h."""
        view = self.view
        b, h = self.dual.link(correlation, view.lower, view.upper, view.boxed)
        J = largest(
            np.where(view.selectable, h, -1.0), min(k, int(view.selectable.sum())), view.index
        )
        J = np.sort(np.concatenate([J, np.flatnonzero(view.forced)])) if view.forced.any() else J
        return J, b[J], float(h[J].sum())

    def dual_of(self, fit):
        """The dual point a_i = loss'(eta_i) of a fit."""
        Z = self.Z[self.model.where[fit.support]]
        return self.dual.of_predictor(self.model.problem.predictor(fit, Z))

    def margin(self):
        """The amount by which a bound is lowered to allow for rounding."""
        return NO_GAP / 3.0 * self.scale

    def right_side(self, outcome):
        """(n,) w a: what X is read with."""
        return self.model.problem.weights * outcome.alpha

    def scores(self, outcome, correlation, columns):
        """h of columns (slice) for correlation = -Z'(w a)."""
        p = self.model.problem
        return self.dual.link(correlation, p.lower[columns], p.upper[columns], p.boxed)[1]

    def reach(self, edge):
        """The largest |correlation| up to which no h exceeds `edge`; bounds on coefficients only
        lower h.
        """
        return self.dual.lambda1 + 2.0 * np.sqrt(self.dual.lambda2 * edge) if edge >= 0.0 else 0.0

    def counted(self, outcome):
        """(h of the k working columns that count at an outcome, the sum of theirs and of the forced
        ones).
        """
        correlation = -(self.Z @ self.right_side(outcome))
        J, _, total = self.top(
            correlation, outcome.fit.support.size - self.model.problem.forced.size
        )
        h = self.dual.link(correlation, self.view.lower, self.view.upper, self.view.boxed)[1]
        return h[J][self.view.selectable[J]], total

    def threshold(self, outcome):
        """The least h among the k of the working columns that count: what a column outside must
        pass to lower D.
        """
        return float(self.counted(outcome)[0].min(initial=np.inf))

    def refit(self, units):
        """The restricted optimum on some columns and the forced ones, remembered."""
        support = np.union1d(units, self.model.problem.forced)
        key = support.tobytes()
        if key not in self.refits:
            self.model.grow(support)
            self.refits[key] = self.model.refit(support, self.lambda1, self.lambda2)
        return self.refits[key]

    def closed(self, k, fit):
        """Whether the bound of size k over all columns meets the value of a fit, up to rounding."""
        return fit.value - self.bounds.get(k, -np.inf) <= NO_GAP * self.scale and not fit.flags

    def profile(self):
        """Further columns of `path.rounds`, beside the reads."""
        return {}
