"""Restricted optima on supports of working columns by Newton steps (`newton`), and the infima of
supports that have no finite optimum (`limits`).
"""

import math
from functools import cached_property

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..core.dispatch import njit
from ..core.status import FitStatus
from ..problem.losses import smoothness
from ..problem.problem import EPS, Fit
from ..problem.recession import VANISHED, Directions, Untold
from ..problem.responses import null_start
from ..problem.traits import FAR_OUT, NO_RECESSION, OUTLASTS, SEPARATES, nearer
from ..problem.verbs import along_the_way, has_ended, mean_loss
from . import newton
from .columns import CLAIMED
from .least_squares import from_rows
from .limits import NOT_FAR, SHOWN, has_optimum, limit_of

# in logarithms: steps end where a term of margin m and weight w has w exp(-m) = 1e-15 of the loss
# left, which for weights 1 / n of n rows is beyond the distance at which curvatures are looked at
LOST = 10.0
HIGHER = 1e-9  # of what steps had reached: a fit from rows that ends above it is no optimum
EARLY = 15  # Newton steps after which directions that are known are tried


class NewtonRefits:
    """Refits of working columns, for a class of `WorkingColumns`: one predictor of each row.

    Coefficients b (k,) and their `level`, the intercept, are those of `limits.Limit`. Losses of
    several predictors overwrite what depends on their shapes.
    """

    # |eta| beyond which a fit without shrinkage is refitted, which looks for separation
    REACH = 10.0

    def begin_refits(self, problem):
        """Set what refits remember."""
        traits, self.loss, self.rows_at_hand = problem.loss.traits, problem.loss, None
        self.recession, self.smooth = traits.recession, not traits.jumps
        self.nearer = nearer(traits.recession, problem.weights)
        # the fits of supports without a finite optimum by their bytes, and None of such as have one
        # although curvatures have vanished to rounding
        self.limits = {}
        self.untold = set()  # of those with None where linear programs did not tell, the bytes
        self.directions = Directions()

    def row_data(self, Z):
        """The `newton.LossRows` of the problem with the columns Z (w, n)."""
        if self.rows_at_hand is None or self.rows_at_hand.Z is not Z:
            self.rows_at_hand = self.rows_with(Z)
        return self.rows_at_hand

    def rows_with(self, Z):
        """`row_data` made anew."""
        return newton.rows_of(self.problem, Z)

    def begin(self, start, k):
        """Coefficients and the level where Newton steps begin: copies of `start`, the b and b0 of a
        fit, or 0 and the intercept of the null model.
        """
        if start is not None:
            return np.array(start[0], dtype=np.float64), float(start[1])
        p = self.problem
        level = null_start(p.loss, p.y, p.offset, p.weights) if p.intercept else 0.0
        return np.zeros(k), level

    def packed(self, b, level):
        """The coefficients x of `newton.refit`."""
        return np.append(b, level) if self.problem.intercept else b.copy()

    def unpacked(self, x, level):
        """(b, level) of coefficients of `newton.refit`; `level` where none is fitted."""
        return (x[:-1], float(x[-1])) if self.problem.intercept else (x, level)

    def fit_of(self, support, b, level, value, flags=()):
        """The Fit with these coefficients."""
        return Fit(support, b, float(level), value, flags)

    @cached_property
    def null_value(self):
        """F without columns: refits that start above it have gone astray."""
        none = np.empty(0, dtype=np.int64)
        return self.value_at(self.fit_of(none, *self.begin(None, 0), 0.0), 0.0)

    def value_at(self, fit, lambda2):
        """F at the coefficients of a fit, which need not be an optimum."""
        rows, b = self.row_data(self.Z), fit.b.ravel()
        eta = fit.b.T @ self.Z[self.where[fit.support]] + self.level(fit)
        value = mean_loss(self.loss, rows.y, eta.ravel() + rows.offset, rows.weights)
        return value + lambda2 * float(b @ b)

    def level(self, fit):
        """The intercept of a fit, as predictors (n,) or (q, n) have it added."""
        return fit.b0

    def margins(self, eta):
        """The margins by which predictors eta favor the class of each row over each other one."""
        return self.problem.y * eta

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns, from a start (b, b0); None once
        `target` is out of reach. Where they have no finite optimum the value is the infimum, and
        the loss of the coefficients is close to it (`limits`).
        """
        p, k = self.problem, support.size
        b, level = self.begin(start, k)
        lower, upper = self.bounds_of(support)
        free = lambda1 == 0.0 and lambda2 == 0.0 and not _closed(lower, upper)
        capped = self.recession if free else NO_RECESSION
        known = self.limits.get(support.tobytes()) if capped else None
        if known is not None:
            return known
        self.refits += 1
        at = np.ascontiguousarray(self.where[support])
        # a bound from coefficients that Newton steps cannot tell apart refutes nothing
        target = np.inf if self.hidden(support, lambda2) else float(target)
        rules = newton.Shrinkage(float(lambda1), float(lambda2)), newton.Box(lower, upper)
        basis = self.basis(support, at) if free else (self.Z, at, None)
        highest = np.inf if start is None else self.null_value
        rules = *rules, target, capped
        found, eta = self._descended(support, basis, (b, level), rules, highest)
        # columns that cancel, one of which has left: from such a start, where a loss of exp(eta) is
        # 1e300 and one that is straight far out has no curvature, steps take hundreds
        if start is not None and (found[0] == newton.ASTRAY or not np.isfinite(found[1])):
            return self.refit(support, lambda1, lambda2, None, target)
        if found[0] == newton.MAX_ITER and free and basis[2] is None and at.size > 1:
            # columns may be so nearly dependent that steps on them do not arrive
            basis = self.orthogonal(at)
            if basis[2] is not None:
                rules = *rules[:2], np.inf, capped
                found, eta = self._descended(support, basis, found[2:], rules)
        status, value, b, level = found
        R = basis[2]
        if status == newton.REJECTED:
            return None
        if status == newton.SEPARATED:
            return self.limits[support.tobytes()]
        # slopes of a fit that is not perfect are no rounding
        still = status == newton.MAX_ITER and not p.perfect(value, 0.0)
        if still and b.ndim == 1 and np.isfinite(smoothness(p.loss)):
            still = not value - p.floor <= self._rounding_at_floor(at, b, level)
        flags = (FitStatus.NOT_CONVERGED,) if still or not np.isfinite(value) else ()
        # beside a row far from the others a Hessian in the units of columns says nothing of these
        slow, starts = still and capped == NO_RECESSION, []
        if R is None and b.ndim == 1 and (slow or self.hidden(support, lambda2)):
            starts = [(b, level), self.begin(None, k)]
        elif capped and R is not None and b.ndim == 1 and np.abs(eta - p.offset).max() > NOT_FAR:
            # where such a row has lost its curvature, steps have ended before the optimum
            starts = [(b, level)]
        if starts:
            reached = value
            b, level, value, flags = self._on_rows(at, lambda1, lambda2, (lower, upper), starts)
            eta = p.offset + level + b @ self.Z[at]
            if value > reached + HIGHER * abs(reached) and not p.perfect(value, 0.0):
                flags = (FitStatus.NOT_CONVERGED,)  # no optimum is above what steps have reached
        found = self.fit_of(support, b, level, value, flags)
        off = self.runs_off(capped, found, eta)
        if off and capped and self._falls(support, value, (b, level), eta):
            return self.limits[support.tobytes()]
        if (free and support.tobytes() in self.untold) or self.ended(eta):
            return found._replace(flags=(FitStatus.NOT_CONVERGED,))
        return found

    def _rounding_at_floor(self, at, b, level):
        """How much above its floor rounding of the predictors leaves a loss of bounded curvature
        that is as low as it can be in every row.
        """
        size = np.abs(b) @ np.abs(self.Z[at]) + abs(level)
        off = EPS * (at.size + 1) * size
        return smoothness(self.problem.loss) * float(self.problem.weights @ off**2)

    def polished(self, fits):
        """Fits without shrinkage, after more steps where their columns are nearly dependent."""
        every = np.unique(np.concatenate([np.empty(0, dtype=int), *(fit.support for fit in fits)]))
        if self.clearly_apart(every):  # the usual case, at the cost of one fit
            return fits
        return [
            fit if fit.flags or self.clearly_apart(fit.support) else self._polished(fit)
            for fit in fits
        ]

    def _polished(self, fit):
        """The fit after more steps in an orthogonal basis of its columns: coefficients that cancel
        leave rounding in F, 1e-13 of it, at which steps on the columns end, while predictors are
        1e-6 from the optimum.
        """
        J = fit.support
        Z = self.Z[self.where[J]]
        Q, R, order = qr(Z.T, mode="economic", pivoting=True)
        length = np.abs(np.diagonal(R))
        r = int(np.count_nonzero(length > length[0] / CLAIMED))
        root, change = np.sqrt(self.problem.X.n), np.zeros_like(fit.b)
        basis = np.ascontiguousarray(root * Q[:, :r].T), np.arange(r), None
        at, level = self.begin((R[:r] @ fit.b[order] / root, fit.b0), r)
        unbounded = newton.Box(np.full(r, -np.inf), np.full(r, np.inf))
        rules = newton.Shrinkage(0.0, 0.0), unbounded, np.inf, NO_RECESSION
        (status, value, b, level), _ = self._descended(J, basis, (at, level), rules)
        # what a direction below CLAIMED had added is not in the basis
        if status != newton.CONVERGED or value > fit.value + HIGHER * abs(fit.value):
            return fit
        change[order[:r]] = solve_triangular(R[:r, :r], root * (b - at))
        new = self.fit_of(J, fit.b + change, level, value)
        return fit._replace(b=new.b, b0=new.b0, value=value)

    def _descended(self, support, basis, start, rules, highest=np.inf):
        """((status, F, b, level), predictors) after Newton steps on a support by a basis (Z, S, R),
        see `WorkingColumns.basis`, from a start (b, level). rules: shrinkage, box, target, capped
        of `newton`, as is highest. Where it ends as separated, `limits` has the fit.
        """
        (Z, S, R), (b, level), (shrunk, box, target, capped) = basis, start, rules
        rows = self.row_data(Z)
        x = self.packed(b if R is None else R @ b, level)
        most = self.stopping(target, capped == NO_RECESSION, highest)
        # a known direction ends a descent of hundreds of steps, where what it leaves is told soon
        soon = capped in SHOWN and bool(self.directions.gone) and most.max_iter > EARLY
        steps = most._replace(max_iter=EARLY) if soon else most
        while True:
            status, value, eta = refit_alone(rows, S, shrunk, box, x, steps)
            b, level = self.unpacked(x, level)
            b = b if R is None else solve_triangular(R, b)
            early = soon and status == newton.MAX_ITER
            if not (early or status == newton.SEPARATED):
                break
            if self._falls(support, value, (b, level), eta, search=not early):
                status = newton.SEPARATED
                break
            # where none is known the descent goes on; where there is none curvature has vanished
            # to rounding only, and it may go as far as it must
            steps, soon = most if early else self.stopping(target, True), False
        return (status, value, b, level), eta

    def _falls(self, support, value, coefficients, eta, search=True):
        """Whether the loss falls for ever on a support for which Newton steps ended at a value of
        F, with coefficients (b, level) and the predictors eta; `limits` has the fit at the infimum
        then. search: whether linear programs are asked where no direction that is known tells.
        """
        key, p, (b, level) = support.tobytes(), self.problem, coefficients
        if self.limits.get(key) is not None:
            return True
        offset = self.row_data(self.Z).offset
        margins = self.margins(eta - offset)
        if value == 0.0 and self.recession == SEPARATES and margins.min() > 0.0:
            # complete separation: the way to the fit goes on, past the offset. Of close copies a
            # linear program may have missed it
            far = ((VANISHED - self.margins(offset)) / margins).max()
            flags = (FitStatus.SEPARATED,)
            self.limits[key] = self.fit_of(support, far * b, far * level, 0.0, flags)
            return True
        # a direction that was found on some of its columns since may have been missed before
        if key not in self.limits or self.directions.inside(support):
            box, Z = self.bounds_of(support), self.Z[self.where[support]]
            found = new = None
            try:
                known = self.directions, support
                found = limit_of(p, Z, *box, b, level, known=known, search=search)
                if found is None and not search:
                    return False
                self.untold.discard(key)
            except Untold:
                self.untold.add(key)
            if found is not None:
                flags = (FitStatus.SEPARATED,)
                known = found.reached and not self.too_close(support)
                if self.recession == OUTLASTS:
                    known = known and not self.ended(p.offset + found.coef @ Z)
                flags += () if known else (FitStatus.NOT_CONVERGED,)
                new = self.fit_of(support, found.coef, found.level, found.value, flags)
            self.limits[key] = new
        return self.limits[key] is not None

    def stopping(self, target, shrunk, highest=np.inf):
        """The rule that ends refits; shrunk: whether there is shrinkage."""
        capped = NO_RECESSION if shrunk else self.recession
        return newton.Stopping(
            float(target), capped, self.smooth, min(self.max_iter, 1000), highest
        )

    def runs_off(self, capped, fit, eta):
        """Whether a fit may be far along a direction of recession that the curvatures did not show,
        because weights are far apart.
        """
        far_apart = 0.0 < self.nearer > LOST - math.log(eta.size)
        if not (capped and far_apart and np.isfinite(fit.value)):
            return False
        # steps may end at half of the distance: curvatures are not what they are asked for here
        offset, p = self.row_data(self.Z).offset, self.problem
        if np.abs(eta - offset).max() + self.nearer <= 0.5 * FAR_OUT[capped]:
            return False
        b, level = self.begin((fit.b, fit.b0), 0)
        # a Hessian of nearly dependent columns would show nothing
        Z, S, R = self.basis(fit.support, np.ascontiguousarray(self.where[fit.support]))
        b = b if R is None else R @ b
        return not has_optimum(p, Z[S], *self.bounds_of(fit.support), b, level)

    def ended(self, eta):
        """Whether a number that the loss finds for every predictor has come to an end of its range,
        so that the fit with predictors eta is no optimum.
        """
        p = self.problem
        return has_ended(p.loss, p.y, eta, p.weights)

    def _on_rows(self, at, lambda1, lambda2, bounds, starts):
        """(b, b0, value, flags) of the working columns `at`, which are nearly dependent, the best
        ones from some starts (b, b0).
        """
        found = [
            from_rows(
                self.problem,
                self.Z[at],
                lambda1,
                lambda2,
                bounds=bounds,
                start=begin,
                max_iter=self.max_iter,
            )
            for begin in starts
        ]
        b, b0, value, optimal = min(found, key=lambda one: one[2])
        return b, b0, value, () if optimal else (FitStatus.NOT_CONVERGED,)


def _closed(lower, upper):
    """Whether every column of a support has two finite bounds (there are columns)."""
    return lower.size > 0 and bool(np.isfinite(lower).all() and np.isfinite(upper).all())


def is_above(status, F, stopping):
    """Whether a refit that ended so cannot lie below the target of a `newton.Stopping`."""
    return status == newton.REJECTED or (status == newton.CONVERGED and F >= stopping.target)


above = njit(is_above)  # that of kernels


def refit_alone(rows, S, shrunk, box, x, stopping):
    """(status, F, predictors) of the refit of one support (k,), see `refit_in_turn`; x (q K,), from
    which it starts, becomes its coefficients.
    """
    eta, of_one = np.empty(rows.offset.size), newton.Box(box.lower[None], box.upper[None])
    _, status, value, _ = refit_in_turn(rows, S[None], shrunk, of_one, x[None], stopping, eta)
    return status, value, eta


@njit
def refit_in_turn(rows, S, shrunk, box, x, stopping, eta):
    """Refit supports of one size, see `newton.refit`, until one may lie below the target.

    S and the bounds of the box have a support per row, (m, k), as have the coefficients x (m, q K)
    from which it starts. Returns (e, status, F, violation) of the first row e that is neither
    rejected nor converged at the target or above, of the last row where there is none, and leaves
    the coefficients in x[e], the predictors in eta.
    """
    last = S.shape[0] - 1
    way = newton.LossRows(
        along_the_way(rows.loss, rows.y), rows.y, rows.weights, rows.offset, rows.intercept, rows.Z
    )
    for e in range(last + 1):
        of_e = newton.Box(box.lower[e], box.upper[e])
        status, F, violation = newton.refit(way, S[e], shrunk, of_e, x[e], stopping, eta)
        if e == last or not above(status, F, stopping):
            break
    return e, status, F, violation
