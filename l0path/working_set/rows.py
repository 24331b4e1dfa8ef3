"""Every loss but the squared one on the working columns: restricted optima by Newton on their rows,
and the quadratic that ranks exchanges.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..core.dispatch import njit
from ..core.status import FitStatus
from ..problem.losses import Squared, smoothness
from ..problem.problem import Fit
from ..problem.recession import Directions, ordered_optimum
from ..problem.responses import null_start, pseudo_response
from ..problem.traits import FAR_OUT, NO_RECESSION, ORDERED, SEPARATES
from ..problem.verbs import along_the_way, derivatives_with_sizes, multiplies
from . import newton
from .columns import Quadratic, WorkingColumns
from .curvature import CURVATURE_BYTES, Derivatives, Local, WeightedGrams, curved, taken_off
from .gram import GramModel
from .least_squares import from_rows
from .limits import VANISHED, limit_of
from .linear_algebra import gather_rows, invert, predictor, weighted_squares
from .several.ordered import clear_optimum, ordered_table

# bytes of slopes and their products with all columns that are kept for bounds
SLOPE_BYTES = 1 << 28
RECENT_NUMBERS = 1 << 20  # numbers in the curvatures that are kept of the last fits


class Weighted(NamedTuple):
    """The curvature at a fit."""

    eta: np.ndarray  # (n,), predictor
    slopes: np.ndarray  # (n,)
    v: np.ndarray  # (n,), curvatures
    ZV: np.ndarray  # (k, n), columns of the support, centered with an intercept, times v
    B: np.ndarray  # (k, k), inverse of their Hessian
    coupled: np.ndarray  # `RowModel.coupled` of them


class RowModel(WorkingColumns):
    """Every loss but the squared one: restricted optima by Newton on the rows, exchanges ranked on
    the quadratic with weights w_i loss''(eta_i).
    """

    BATCH = 1 << 22  # entries of the right-hand sides of one read: 32 MB
    # |eta| beyond which a fit without shrinkage is refitted, which looks for separation
    REACH = 10.0

    def __init__(self, problem):
        super().__init__(problem)
        traits = problem.loss.traits
        self.recession = traits.recession
        # losses with flat pieces: a small share of the largest curvature keeps the ranking informed
        # where no row is curved at present
        floor = traits.curvature_floor
        self.curvature_floor = floor * smoothness(problem.loss) if floor else 0.0
        self.smooth = not traits.jumps
        # whether the curvature of a fit close by will do
        self.shares = self.smooth and not traits.coupled
        self.grams = WeightedGrams(problem.intercept)
        self.locals = {}
        self._held = 0
        self._flat = None
        # a dictionary once slopes and their products with all columns are to be kept: see
        # `verified_slopes`
        self.seen = None
        self.recent = {}  # `weighted` of the last fits
        # the fits of supports without a finite optimum by their bytes, and None of such as have one
        # although curvatures have vanished to rounding
        self.limits = {}
        self.directions = Directions()
        self.latest = None, None  # the last fit and its Local
        self.thresholds = np.empty(0)  # of ordered classes, best at the last fit

    @property
    def members(self):
        """Number of columns with (unweighted) Gram rows over all p columns."""
        return 0 if self._flat is None else self._flat.members

    def flat(self):
        """The squared loss of the `pseudo_response` on the same working columns: its path is a
        surrogate that gives warm starts, its Gram rows screen all p columns for every fit.
        """
        if self._flat is None:
            p = self.problem
            _, slopes, _ = self.derivatives(self.null(0.0, 0.0))
            y = pseudo_response(p.loss, slopes / p.weights)
            y -= p.weights @ y if p.intercept else 0.0
            none = np.full(p.X.p, np.inf)
            self._flat = GramModel(
                replace(
                    p,
                    loss=Squared(),
                    y=y,
                    offset=np.zeros_like(y),
                    lower=-none,
                    upper=none,
                    floor=0.0,
                    noise=0.0,
                )
            )
            self.reads += self._flat.reads
            self._flat.share(self)
        return self._flat

    def grow(self, J):
        """Add columns J (indices, new ones only are taken) to W; True if any was new."""
        if self._flat is None:
            return super().grow(J)
        grew = self._flat.grow(J)
        self.share(self._flat)
        return grew

    def null(self, lambda1, lambda2):
        """The fit with forced columns only."""
        return self.refit(self.problem.forced, lambda1, lambda2)

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns, from a start (b, b0); None once
        `target` is out of reach. Where they have no finite optimum the value is the infimum, and
        the loss of the coefficients is close to it (`limits`).
        """
        p, k = self.problem, support.size
        b, b0 = self._begin(start, k)
        lower, upper = self.bounds_of(support)
        free = lambda1 == 0.0 and lambda2 == 0.0 and not self._closed(lower, upper)
        capped = self.recession if free else NO_RECESSION
        known = self.limits.get(support.tobytes()) if capped else None
        if known is not None:
            return known
        self.refits += 1
        eta = np.empty(p.X.n)
        at = np.ascontiguousarray(self.where[support])
        # a bound from coefficients that Newton steps cannot tell apart refutes nothing
        target = np.inf if self.hidden(support, lambda2) else float(target)
        rules = newton.Shrinkage(float(lambda1), float(lambda2)), newton.Box(lower, upper)
        basis = self.basis(support, at) if free else (self.Z, at, None)
        found = self._descended(support, basis, (b, b0), (*rules, target, capped), eta)
        if found[0] == newton.MAX_ITER and free and basis[2] is None and at.size > 1:
            # columns may be so nearly dependent that steps on them do not arrive
            basis = self.orthogonal(at)
            if basis[2] is not None:
                found = self._descended(support, basis, found[2:], (*rules, np.inf, capped), eta)
        status, value, b, b0 = found
        R = basis[2]
        if status == newton.REJECTED:
            return None
        if status == newton.SEPARATED:
            return self.limits[support.tobytes()]
        if start is not None and not np.isfinite(value):  # a start at which the loss overflows
            return self.refit(support, lambda1, lambda2, None, target)
        still = status == newton.MAX_ITER and not p.perfect(value, 0.0)  # slopes are no rounding
        flags = (FitStatus.NOT_CONVERGED,) if still or not np.isfinite(value) else ()
        # beside a row far from the others a Hessian in the units of columns says nothing of these
        slow = still and capped == NO_RECESSION
        if R is None and (slow or self.hidden(support, lambda2)):
            b, b0, value, flags = self._on_rows(at, lambda1, lambda2, (lower, upper), (b, b0))
        found = Fit(support, b, b0, value, flags)
        if self.runs_off(capped, found, eta) and self._falls(found, eta):
            return self.limits[support.tobytes()]
        return found

    def _descended(self, support, basis, start, rules, eta):
        """(status, F, b, b0) after Newton steps on a support by a basis (Z, S, R), see
        `WorkingColumns.basis`, from a start (b, b0). rules: shrinkage, box, target, capped of
        `newton`; eta (n,) is left at the end. Where it ends as separated, `limits` has the fit.
        """
        (Z, S, R), (b, b0), (shrunk, box, target, capped) = basis, start, rules
        if R is not None:
            b = R @ b
        for limited in (capped, NO_RECESSION):
            _, status, value, b0, _ = refit_in_turn(
                newton.rows_of(self.problem, Z),
                S[None],
                shrunk,
                newton.Box(box.lower[None], box.upper[None]),
                b[None],
                b0,
                newton.Stopping(target, limited, self.smooth, min(self.max_iter, 1000)),
                eta,
            )
            back = b if R is None else solve_triangular(R, b)
            if status != newton.SEPARATED or self._falls(Fit(support, back, b0, value), eta):
                # else curvature has vanished to rounding only, and a second descent may go as far
                # as it must
                break
        return status, value, back, b0

    def _falls(self, fit, eta):
        """Whether the loss falls for ever on the columns of a fit at which Newton steps ended, with
        the predictor eta; `limits` has the fit at the infimum then.
        """
        key, p = fit.support.tobytes(), self.problem
        if key not in self.limits:
            margins = p.y * (eta - p.offset)
            if fit.value == 0.0 and self.recession == SEPARATES and margins.min() > 0.0:
                # complete separation: the way to the fit goes on, past the offset
                far = ((VANISHED - p.y * p.offset) / margins).max()
                self.limits[key] = Fit(
                    fit.support, far * fit.b, far * fit.b0, 0.0, (FitStatus.SEPARATED,)
                )
                return True
            box, Z = self.bounds_of(fit.support), self.Z[self.where[fit.support]]
            known = self.directions, fit.support
            found, new = limit_of(p, Z, *box, fit.b, fit.b0, known=known), None
            if found is not None:
                flags = (FitStatus.SEPARATED,)
                flags += () if found.reached else (FitStatus.NOT_CONVERGED,)
                new = Fit(fit.support, found.coef, found.level, found.value, flags)
            self.limits[key] = new
        return self.limits[key] is not None

    def first_below(self, supports, starts, b0, shrinkage, target):
        """As `WorkingColumns.first_below`, in one kernel except for supports that need a second
        refit.
        """
        limits = self.stopping(target, any(shrinkage))
        capped = limits.capped
        if self.near is not None or (capped and self.boxed) or not supports.size:
            return super().first_below(supports, starts, b0, shrinkage, target)
        at, b, eta, m = self.where[supports], starts.copy(), np.empty(self.problem.X.n), len(starts)
        lower, upper = self.bounds_of(supports)
        rows, shrunk = newton.rows_of(self.problem, self.Z), newton.Shrinkage(*shrinkage)
        first = 0
        while first < m:
            box = newton.Box(lower[first:], upper[first:])
            passed, status, value, level, _ = refit_in_turn(
                rows, at[first:], shrunk, box, b[first:], b0, limits, eta
            )
            e = first + passed
            self.refits += passed + 1
            fit = Fit(supports[e].copy(), b[e].copy(), level, value, ())
            if status == newton.REJECTED:
                break  # the last one
            done = status == newton.CONVERGED and np.isfinite(value)
            if not done or self.runs_off(capped, fit, eta):
                fit = self.refit(supports[e].copy(), *shrinkage, (starts[e], b0), target)
            if fit is not None and (fit.value < target or fit.flags):
                return e, fit
            first = e + 1
        return -1, None

    def stopping(self, target, shrunk):
        """The rule that ends refits; shrunk: whether there is shrinkage."""
        capped = NO_RECESSION if shrunk else self.recession
        return newton.Stopping(float(target), capped, self.smooth, min(self.max_iter, 1000))

    def runs_off(self, capped, fit, eta):
        """Whether a fit may be far along a direction of recession that the curvatures, which are
        differences under a coupled loss, did not show.
        """
        p = self.problem
        if capped != ORDERED or np.abs(eta - p.offset).max() <= FAR_OUT[0]:
            return False
        if clear_optimum(p.y, self.weighted(fit, 0.0)):
            return False
        return not ordered_optimum(p, self.Z[self.where[fit.support]], eta)

    def _closed(self, lower, upper):
        """Whether every column of a support has two finite bounds (there are columns)."""
        return lower.size > 0 and bool(np.isfinite(lower).all() and np.isfinite(upper).all())

    def _on_rows(self, at, lambda1, lambda2, bounds, start):
        """(b, b0, value, flags) of the working columns `at`, which are nearly dependent."""
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
            for begin in (start, self._begin(None, at.size))
        ]
        b, b0, value, optimal = min(found, key=lambda one: one[2])
        return b, b0, value, () if optimal else (FitStatus.NOT_CONVERGED,)

    def _begin(self, start, k):
        """Coefficients (k,) and the intercept where Newton steps begin: copies of `start`, or 0 and
        the intercept of the null model.
        """
        if start is not None:
            return np.array(start[0], dtype=np.float64), float(start[1])
        p = self.problem
        level = null_start(p.loss, p.y, p.offset, p.weights) if p.intercept else 0.0
        return np.zeros(k), level

    def derivatives(self, fit):
        """The Derivatives of a fit."""
        p = self.problem
        eta, slopes, v = np.empty(p.X.n), np.empty(p.X.n), np.empty(p.X.n)
        predictor(
            self.Z, np.ascontiguousarray(self.where[fit.support]), fit.b, fit.b0, p.offset, eta
        )
        derivatives_with_sizes(p.loss, p.y, eta, p.weights, slopes, v)
        if self.curvature_floor:
            v = np.maximum(v, self.curvature_floor * p.weights)
        return Derivatives(eta, slopes, v)

    def weighted(self, fit, lambda2):
        """A `Weighted` of the support, an `OrderedTable` for ordered classes; the last ones are
        kept.
        """
        key = fit.support.tobytes(), fit.b.tobytes(), fit.b0, lambda2
        held = self.recent.get(key)
        if held is None:
            held = self.recent[key] = self._weighted(fit, lambda2)
            while len(self.recent) > max(RECENT_NUMBERS // (held.ZV.size + 1), 1):
                del self.recent[next(iter(self.recent))]
        return held

    def _weighted(self, fit, lambda2):
        """`weighted` anew."""
        p = self.problem
        if self.recession == ORDERED:
            S, rows = np.ascontiguousarray(self.where[fit.support]), newton.rows_of(p, self.Z)
            table = ordered_table(rows, S, fit, lambda2, self.thresholds)
            self.thresholds = table.best.t
            return table
        eta, slopes, v = self.derivatives(fit)
        Z, ZV, coupled = curved(p, eta, v, self.Z[self.where[fit.support]])
        H = ZV @ Z.T - coupled @ coupled.T
        diagonal = H.ravel()[:: H.shape[0] + 1]
        diagonal += 2.0 * lambda2
        diagonal += 1e-10 * diagonal.sum() / max(diagonal.size, 1) + 1e-300
        B = np.empty_like(H)
        invert(H, fit.support.size, B)
        return Weighted(eta, slopes, v, ZV, B, coupled)

    def exact(self, fit, lambda2, Z):
        """The quadratic on columns Z (m, n), exact to second order."""
        at = self.weighted(fit, lambda2)
        k, a = fit.support.size, np.empty(Z.shape[0])
        if multiplies(self.problem.loss):
            Z, BZ, _ = curved(self.problem, at.eta, at.v, Z)
            a[:] = np.einsum("ij,ij->i", Z, BZ)
        else:
            weighted_squares(Z, at.v, self.problem.intercept, a)
        # one product with all of these, so that Z is read once
        if self.recession == ORDERED:
            some = at.stack @ Z.T
            coupled = some[k + 1 :]
        else:
            some = np.vstack([at.ZV, at.slopes[None]]) @ Z.T
            coupled = self.coupled(at.eta, Z).T
        a -= np.einsum("ij,ij->j", coupled, coupled)
        return Quadratic(some[:k] - at.coupled @ coupled, -some[k], a, at.B)

    def coupled(self, eta, Z):
        """The part of a coupled loss that is subtracted from the curvatures of columns Z (m, n),
        one a row, at a predictor: the product of two such (m, r), r = 0 for a sum over rows.
        """
        return taken_off(self.problem, eta, Z)

    def _kept_exact(self, fit, lambda2, first):
        """`exact` on the working columns from position `first` on; kept, because verifications
        come back to what a search asked for, and extended by columns that came later.
        """
        key = fit.support.tobytes(), f"{fit.value:.9e}", lambda2
        start, kept = self.locals.get(key, (first, None))
        if kept is None or first < start:
            start, kept, stop = first, None, first
        else:
            stop = start + kept.c.size
        if kept is None or stop < self.width:
            more = self.exact(fit, lambda2, self.Z[stop : self.width])
            kept = more if kept is None else kept.beside(more)
            self._held += 8 * (more.rows.size + more.B.size)
            if self._held > CURVATURE_BYTES:
                self.locals, self._held = {}, 8 * (kept.rows.size + kept.B.size)
            self.locals[key] = start, kept
        return kept.after(first - start)

    def local(self, fit, lambda2):
        """The Local model of a restricted optimum on all working columns; kept, because sweeps come
        back.
        """
        before, local = self.latest
        if before is fit and local.width == self.width:
            return local
        key = fit.support.tobytes(), f"{fit.value:.9e}"
        local = self.locals.get(key)
        if local is None or (local.gram is not None and not local.gram.kept):
            p, at = self.problem, np.ascontiguousarray(self.where[fit.support])
            derivatives = self.derivatives(fit)
            gram = self.grams.near(derivatives.v, self.Z, self.width, at.size)
            local = Local(gram, at, derivatives, p.intercept, lambda2, self.Z)
            self.locals[key] = local
            self._held += local.bytes + 8 * self.width * (3 + at.size * (local.gram is None))
            if self._held > CURVATURE_BYTES:
                self.locals, self._held = {key: local}, local.bytes
        local.extend(self.Z, self.width)
        self.latest = fit, local
        return local

    def inverse(self, fit, lambda2):
        """B of a fit."""
        return self.local(fit, lambda2).B if self.shares else self.weighted(fit, lambda2).B

    def quadratic(self, fit, lambda2, first=0):
        """On the working columns from position `first` on: exact gradient; curvatures of a fit
        close by, where they do not jump.
        """
        if not self.shares:
            return self._kept_exact(fit, lambda2, first)
        local = self.local(fit, lambda2)
        rows = np.empty((fit.support.size, self.width - first))
        gather_rows(local.rows, local.index, first, local.scale, rows)
        diagonal = local.diagonal[first : self.width] * local.scale
        return Quadratic(rows, local.c[first:], diagonal, local.B)

    def keep_slopes(self, fits, R, products, penalty):
        """Remember slopes R (n, m) of fits and their products with all columns, (m, p); the oldest
        are dropped beyond SLOPE_BYTES bytes.
        """
        for i, fit in enumerate(fits):
            key = penalty.lambda1, penalty.lambda2, fit.support.tobytes()
            self.seen[key] = R[:, i], products[i]
        room = max(SLOPE_BYTES // (8 * (R.shape[0] + products.shape[1])), 1)
        for key in list(self.seen)[: max(len(self.seen) - room, 0)]:
            del self.seen[key]

    def remember_slopes(self):
        """As `WorkingColumns.remember_slopes`."""
        self.seen = {}

    def verified_slopes(self, fits, lambda1, lambda2):
        """`GramModel.verified_slopes` for what checks with `seen` switched on left behind: the
        slopes of fits of the same support and shrinkage, summed over the rows of X (rounding_factor
        None).
        """
        held = {} if self.seen is None else self.seen
        keys = [(lambda1, lambda2, support.tobytes()) for support, _ in fits]
        known = [i for i, key in enumerate(keys) if key in held]
        a, tau = (
            np.empty((size, len(known)), order="F") for size in (self.problem.X.n, self.problem.X.p)
        )
        for m, i in enumerate(known):
            a[:, m], tau[:, m] = held[keys[i]]
        return known, a, tau, None


@njit
def refit_in_turn(rows, S, shrunk, box, b, b0, stopping, eta):
    """Refit supports of one size, see `newton.refit`, until one may lie below the target.

    S, b, and the bounds of the box have a support per row, (m, k); b0 is the intercept from which
    all start. Returns (e, status, F, b0, violation) of the first row e that is neither rejected nor
    converged at the target or above, of the last row where there is none, and leaves the
    coefficients in b[e], the predictor in eta.
    """
    last = S.shape[0] - 1
    way = newton.LossRows(
        along_the_way(rows.loss, rows.y), rows.y, rows.weights, rows.offset, rows.intercept, rows.Z
    )
    for e in range(last + 1):
        of_e = newton.Box(box.lower[e], box.upper[e])
        status, F, intercept, violation = newton.refit(
            way, S[e], shrunk, of_e, b[e], b0, stopping, eta
        )
        above = status == newton.REJECTED or (status == newton.CONVERGED and F >= stopping.target)
        if e == last or not above:
            break
    return e, status, F, intercept, violation
