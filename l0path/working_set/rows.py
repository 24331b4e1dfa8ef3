"""Every loss but the squared one on the working columns: restricted optima by Newton on their rows,
and the quadratic that ranks exchanges.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..problem.losses import Squared, smoothness
from ..problem.problem import Fit
from ..problem.recession import ordered_optimum
from ..problem.responses import pseudo_response
from ..problem.traits import FAR_OUT, NO_RECESSION, ORDERED
from ..problem.verbs import multiplies, sizes_of_curvatures
from . import newton
from .columns import Quadratic, WorkingColumns
from .curvature import (
    CURVATURE_BYTES,
    OF_ALL,
    Derivatives,
    InverseHessian,
    Local,
    LocalTable,
    WeightedGrams,
    curved,
    invert_some,
    taken_off,
    with_intercept,
)
from .gram import GramModel
from .groups import RowCurvature
from .linear_algebra import weighted_squares
from .refits import NewtonRefits, refit_in_turn
from .several.ordered import clear_optimum, ordered_table

# bytes of slopes and their products with all columns that are kept for bounds
SLOPE_BYTES = 1 << 28
STEEPEST = 1e100  # the largest slope of a row: its products with columns are finite
RECENT_NUMBERS = 2 << 20  # numbers in the curvatures that are kept of the last fits


class Weighted(NamedTuple):
    """The curvature at a fit."""

    eta: np.ndarray  # (n,), predictor
    slopes: np.ndarray  # (n,)
    v: np.ndarray  # (n,), curvatures
    ZV: np.ndarray  # (k, n), columns of the support, centered with an intercept, times v
    B: np.ndarray  # (k, k), inverse of their Hessian
    coupled: np.ndarray  # `RowModel.coupled` of them


class RowModel(NewtonRefits, WorkingColumns):
    """Every loss but the squared one: restricted optima by Newton on the rows, exchanges ranked on
    the quadratic with weights w_i loss''(eta_i).
    """

    BATCH = 1 << 22  # entries of the right-hand sides of one read: 32 MB

    def __init__(self, problem):
        super().__init__(problem)
        traits = problem.loss.traits
        self.begin_refits(problem)
        # losses with flat pieces: a small share of the largest curvature keeps the ranking informed
        # where no row is curved at present
        floor = traits.curvature_floor
        self.curvature_floor = floor * smoothness(problem.loss) if floor else 0.0
        # whether predicted changes, with the whole curvature of the fit, are so close to those of
        # refits that few of these decide; Cox's loss bends more on the way
        self.sharp = self.recession == ORDERED
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
        # the last fit, its Local, and the `local_table` once that was asked for
        self.latest = None, None, None
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

    def squares(self, null):
        """(columns, curvature): the squared loss whose path starts that of this one, on the same
        working columns, and how many times it is this loss at the null fit.
        """
        return self.flat(), max(float(self.derivatives(null).v.sum()), 1e-12)

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

    def first_below(self, supports, starts, b0, shrinkage, target):
        """As `WorkingColumns.first_below`, in one kernel except for supports that need a second
        refit.
        """
        limits = self.stopping(target, any(shrinkage), self.null_value)
        capped = limits.capped
        if self.near is not None or (capped and self.boxed) or not supports.size:
            return super().first_below(supports, starts, b0, shrinkage, target)
        at, eta, m = self.where[supports], np.empty(self.problem.X.n), len(starts)
        lower, upper = self.bounds_of(supports)
        rows, shrunk = self.row_data(self.Z), newton.Shrinkage(*shrinkage)
        more = int(self.problem.intercept)
        x = np.column_stack([starts, np.full((m, more), b0)])
        first = 0
        while first < m:
            box = newton.Box(lower[first:], upper[first:])
            passed, status, value, _ = refit_in_turn(
                rows, at[first:], shrunk, box, x[first:], limits, eta
            )
            e = first + passed
            self.refits += passed + 1
            fit = Fit(supports[e].copy(), *self.unpacked(x[e].copy(), b0), value, ())
            if status == newton.REJECTED:
                break  # the last one
            done = status == newton.CONVERGED and np.isfinite(value)
            if not done or self.runs_off(capped, fit, eta):
                fit = self.refit(supports[e].copy(), *shrinkage, (starts[e], b0), target)
            if fit is not None and (fit.value < target or fit.flags):
                return e, fit
            first = e + 1
        return -1, None

    def runs_off(self, capped, fit, eta):
        """As in `NewtonRefits`; of ordered classes, whose curvatures are differences, whatever the
        weights.
        """
        p = self.problem
        if self.ended(eta):
            return True
        if capped != ORDERED:
            return super().runs_off(capped, fit, eta)
        if np.abs(eta - p.offset).max() + self.nearer <= FAR_OUT[NO_RECESSION]:
            return False
        if clear_optimum(p.y, self.weighted(fit, 0.0)):
            return False
        return not ordered_optimum(p, self.Z[self.where[fit.support]], eta)

    def derivatives(self, fit):
        """The Derivatives of a fit."""
        p = self.problem
        eta, slopes, v = np.empty(p.X.n), np.empty(p.X.n), np.empty(p.X.n)
        S, rows = np.ascontiguousarray(self.where[fit.support]), self.row_data(self.Z)
        newton.derivatives_at(rows, S, fit.b, fit.b0, eta, slopes, v)
        if multiplies(p.loss):
            v = sizes_of_curvatures(p.loss, p.y, eta, p.weights)
        if self.curvature_floor:
            v = np.maximum(v, self.curvature_floor * p.weights)
        if fit.value == np.inf:  # slopes may be infinite, too
            slopes, v = np.clip(slopes, -STEEPEST, STEEPEST), np.minimum(v, STEEPEST)
        return Derivatives(eta, slopes, v)

    def curvature(self, fit):
        """The RowCurvature at a fit."""
        return RowCurvature(self.problem, self.Z, *self.derivatives(fit))

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
            S, rows = np.ascontiguousarray(self.where[fit.support]), self.row_data(self.Z)
            table = ordered_table(rows, S, fit, lambda2, self.thresholds)
            self.thresholds = table.best.t
            return table
        eta, slopes, v = self.derivatives(fit)
        Z, ZV, coupled = curved(p, eta, v, self.Z[self.where[fit.support]])
        H = ZV @ Z.T
        H -= coupled @ coupled.T
        B = np.empty_like(H)
        invert_some(H, np.arange(len(H)), 1.0, float(lambda2), B)
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
        before, local, _ = self.latest
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
        self.latest = fit, local, None
        return local

    def local_table(self, fit, lambda2, into, closely=False):
        """The `LocalTable` of a fit, by the curvatures of one close by, of all working columns; or
        `closely`, by its own, of the working columns `into`.
        """
        local = self.local(fit, lambda2)
        if closely and local.gram is not None:
            return self._own_table(fit, lambda2, into)
        if self.latest[2] is None:
            self.latest = fit, local, self._table_of(fit, local, lambda2)
        return self.latest[2]

    def _table_of(self, fit, local, lambda2):
        """`local_table` anew."""
        x, center, v = fit.b, local.mean, local.v if local.gram is None else local.gram.v
        if self.problem.intercept:
            x = np.empty(fit.b.size + 1)
            x[:-1], x[-1] = fit.b, fit.b0 + center[local.at] @ fit.b
        return LocalTable(
            S=local.at,
            x=x,
            B=local.inverse.B,
            lambda2=float(lambda2),
            scale=local.scale,
            curvatures=v[None],
            center=center,
            place=OF_ALL,
            c=local.c,
            diagonal=local.diagonal,
            rows=local.rows,
            index=local.inverse.index,
        )

    def _own_table(self, fit, lambda2, into):
        """`local_table` by the curvatures of the fit."""
        p, at, S = self.problem, self.weighted(fit, lambda2), self.where[fit.support]
        place = np.full(self.width, -1)
        place[into[into >= 0]] = 0
        J = np.flatnonzero(place == 0)
        place[J] = np.arange(J.size)
        Z, x, center, diagonal = self.Z[J], fit.b, np.zeros(self.width), np.empty(J.size)
        inverse, total = InverseHessian(at.B, np.arange(S.size)), max(float(at.v.sum()), 1e-300)
        if p.intercept:
            center[J], center[S] = Z @ at.v / total, self.Z[S] @ at.v / total
            x, inverse = np.append(x, fit.b0 + center[S] @ x), with_intercept(*inverse, total)
        weighted_squares(Z, at.v, p.intercept, diagonal)
        return LocalTable(
            S=np.ascontiguousarray(S),
            x=x,
            B=inverse.B,
            lambda2=float(lambda2),
            scale=1.0,
            curvatures=at.v[None],
            center=center,
            place=place,
            c=-(Z @ at.slopes),
            diagonal=diagonal,
            rows=at.ZV @ Z.T,
            index=inverse.index,
        )

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
        rows = local.rows[local.index, first : self.width]
        rows *= local.scale
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
