"""The lambda0 path: stationary points of the penalized problem for falling lambda0, each next value
just below the one at which a column must enter.

A support S with its restricted optimum is stationary for lambda0 in [lambda_lo(S), lambda_up(S)],
lambda_lo = max_j gain_j / f_j over the columns outside; the *dynamic grid* goes from lambda0 to
0.99 lambda_lo, so no value is spent inside an interval (Hazimeh & Mazumder, Oper. Res. 68(5), 2020,
section 4.1; Dedieu, Hazimeh & Mazumder, JMLR 22:135, 2021). The whole path is solved on the working
columns, then all its points are checked over all p columns in one batched read; violators join, and
the path resumes at the first point they touch.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...algorithms.coordinate_descent import CoordinateDescent
from ...algorithms.coordinate_solvers import make_descent
from ...algorithms.primal_dual import PrimalDual, PrimalDualSolver
from ...core import threads
from ...core.status import FitStatus, Optimality
from ...exchange.local_search import LocalSearch
from ...exchange.neighborhoods.choice import neighborhood_of
from ...problem.problem import Fit
from ...working_set.starts import null_value, seed
from ..grids import Grid
from ..protocols import Point, Slice, SliceResult
from ..rounds import Rounds
from .refits import RefitSolver, RefitSteps
from .steps import steps_of

STEP = 0.99  # the next lambda0 is this share of lambda_lo
HUGE = 1e200  # a lambda0 at which only columns of factor 0 enter


class Solved(NamedTuple):
    """One lambda0 with its fit."""

    lambda0: float
    fit: Fit
    lambda_lo: float  # the fit is stationary down to it
    verified: bool = False  # over all p columns
    optimality: str = Optimality.UNVERIFIED  # as good as this says


@dataclass
class Progress:
    """The state of the checks of a support at a lambda0.

    Attributes
    ----------
    passed : int
        How many checks over all columns it has passed.
    lambda_lo : float
        It is stationary down to this value, over all columns; NaN before the first check.
    width : int
        The number of working columns when it was solved.
    reported : bool
        Whether the listener has heard of it.
    from_there : bool
        Whether a descent at this lambda0 has started from this support, looking back.
    stays : bool
        Whether it was solved again, looking back, and stayed.
    """

    passed: int = 0
    lambda_lo: float = float("nan")
    width: int = 0
    reported: bool = False
    from_there: bool = False
    stays: bool = False


def without_optimum(fit):
    """Whether a fit has no finite optimum, or a loss that is beyond all numbers."""
    return FitStatus.SEPARATED in fit.flags or not np.isfinite(fit.value)


class Lambda0Path:
    """Points for falling lambda0 at one (lambda1, lambda2); those found before an interruption are
    kept.

    settings: CoordinateDescent; PrimalDual, whose points are stationary for coordinate descent too;
        LocalSearch(refit=False) for partial swaps, LocalSearch() for adds, drops and swaps
    with refit. lambda0: values of one's own, each of which is solved; a `Grid` or None: the dynamic
    grid, at most its number of values and max_k unforced columns.
    """

    def __init__(self, model, part, settings, session, *, lambda0=None):
        self.model, self.max_k = model, part.max_k
        self.dynamic = lambda0 or Grid() if lambda0 is None or isinstance(lambda0, Grid) else None
        self.lambda1, self.lambda2 = float(part.lambda1), float(part.lambda2)
        self.settings, self.session, self.clock = settings, session, session.clock
        self.grid = (
            None
            if self.dynamic is not None
            else np.sort(np.asarray(lambda0, dtype=np.float64).ravel())[::-1]
        )
        problem = model.problem
        self.exact = problem.closed_form(self.lambda1)
        model.grow(problem.forced)
        null = model.null(self.lambda1, self.lambda2)
        self.scale = max(abs(null_value(problem, null)), 1e-300)
        own = settings if isinstance(settings, CoordinateDescent) else CoordinateDescent()
        solver, steps = (make_descent, steps_of) if problem.by_rows else (RefitSolver, RefitSteps)
        self.descent = solver(model, self.lambda1, self.lambda2, own, self.scale)
        self.ascent = (
            PrimalDualSolver(model, self.lambda1, self.lambda2, settings, self.scale, self.descent)
            if isinstance(settings, PrimalDual)
            else None
        )
        self.descent.keep(null.support.tobytes(), null)
        self.steps = steps(settings=settings, descent=self.descent, poll=self.clock.poll)
        self.checks = self.steps.checks(dynamic=self.grid is None)
        self.null, self.points, self.rounds, self.notes = null, [], Rounds(), []
        self.progress = defaultdict(Progress)  # by (lambda0, support)
        self.unreached = []  # points of an earlier round that this one has not come to yet
        # lambda0: the dual point (n,) of the last ascent there, in units of the loss's slope
        self.duals = {}

    # -------------------- rounds

    def run(self):
        """Rounds of solving on W and checking over all columns, until every point is verified."""
        with (
            threads.one_blas_thread()
        ):  # products on W are small; full-width ones use the design's own threads
            self._run()
            self._tell_apart()

    def _tell_apart(self):
        """Fit the points from the rows where near combinations are among the working columns, and
        take back what was checked of them: gains and exchanges came from Gram matrices, which do
        not see such columns.
        """
        best = self.descent.best
        if not self.model.near_columns(self.lambda2):
            return
        self.exact = False
        for k in list(best):
            best[k] = self._again(best[k])
        for i, point in enumerate(self.points):
            self.points[i] = point._replace(
                fit=self._again(point.fit), verified=False, optimality=Optimality.UNVERIFIED
            )

    def _again(self, fit):
        """The fit of a support made anew, if that has an optimum."""
        new = self.model.refit(fit.support, self.lambda1, self.lambda2)
        return new if np.isfinite(new.value) else fit

    def _run(self):
        if self.descent.selectable.any():
            self._seed()
        first = 0
        try:
            while first is not None:
                self.rounds.begin()
                self._solve(first)
                self.rounds.check(len(self.points))
                first = self._verify()
                if first is None and self.grid is not None:
                    first = self._restart_backwards()
                verified = sum(point.verified for point in self.points)
                self.rounds.end(self.model, self.model.members, verified)
        # an interrupt between rounds: what an earlier round solved further down is still worth
        # having
        finally:
            low = self.points[-1].lambda0 if self.points else np.inf
            self.points += [point for point in self.unreached if point.lambda0 < low]
            self.unreached = []

    def _seed(self):
        """Columns without a cost, then those most correlated with the null slopes."""
        size = self.descent.settings.screen_size
        free = np.flatnonzero(self.descent.selectable & (self.descent.factor_all == 0))
        if self.model.width <= self.model.problem.forced.size:
            seed(self.model, self.null, min(self.max_k, max(size // 4, 1)), extra=free)
        else:
            self.model.grow(free)

    def _solve(self, first):
        """Solve the path on W from point number `first` on."""
        old, self.points = self.points, self.points[:first]
        self.unreached, self.notes = old[first:], []
        fit = self.points[-1].fit if self.points else self._base()
        while (lambda0 := self._next(fit)) is not None:
            self.clock.poll()
            if without_optimum(fit):  # a grid of one's own goes on: nothing below has a minimum
                self.points.append(Solved(lambda0, fit, np.nan))
                continue
            fit = self._solve_at(lambda0, fit)
            while (rival := self._rival(lambda0, fit)) is not None:
                better = self._solve_at(lambda0, rival)
                if not self.descent.objective(lambda0, better) < self.descent.objective(
                    lambda0, fit
                ):
                    break
                fit = better
            if self.grid is None and self.size(fit) > self.max_k:
                self.notes.append(
                    "the lambda0 path ends at "
                    f"{self.size(self.points[-1].fit) if self.points else 0} features: the next "
                    f"value would pass max_k={self.max_k}"
                )
                break
            low = np.nan if without_optimum(fit) else self.descent.lambda0_entry(fit)
            self.points.append(Solved(lambda0, fit, low))
            self._progress(lambda0, fit).width = self.model.width
        self.unreached = []

    def _restart_backwards(self):
        """Start every point from the next one, which has more columns; the number of the first
        point that has a better start now, None when none has.
        """
        first = None
        for i in range(len(self.points) - 2, -1, -1):
            here, start = self.points[i], self.points[i + 1].fit
            if not self._progress(here.lambda0, start).from_there and not without_optimum(start):
                self._progress(here.lambda0, start).from_there = True
                self.steps.restart(here.lambda0, start)
            progress = self._progress(here.lambda0, here.fit)
            if self._rival(here.lambda0, here.fit) is not None and not progress.stays:
                progress.stays = True
                first = i
        return first

    def _rival(self, lambda0, fit):
        """A better start among all fits seen. For a grid of one's own only: on the dynamic grid it
        would follow the lower convex hull and pass over most sizes (5 of 50 left, once).
        """
        return None if self.grid is None else self.descent.rival(lambda0, fit)

    def dual_points(self):
        """(n, m): the dual points that ascents found at the path's lambda0 values, weights
        included; m = 0 for other algorithms.
        """
        found = [self.duals[point.lambda0] for point in self.points if point.lambda0 in self.duals]
        return (
            self.model.problem.weights[:, None] * np.column_stack(found)
            if found
            else np.empty((self.model.problem.X.n, 0))
        )

    def size(self, fit):
        """Unforced columns of a fit."""
        return fit.support.size - self.model.problem.forced.size

    def _base(self):
        """The fit above every lambda0: forced columns, and those of factor 0 that help."""
        if (
            without_optimum(self.null)
            or not (self.descent.factor_all[self.descent.selectable] == 0).any()
        ):
            return self.null
        return self.steps.restart(HUGE, self.null)

    def _next(self, fit):
        """The next lambda0 of the path, None at its end."""
        count = len(self.points)
        if self.grid is not None:
            return float(self.grid[count]) if count < self.grid.size else None
        if not count:
            falls = self.model.width and not without_optimum(fit)
            self._first = self.descent.lambda0_entry(fit) if falls else 0.0
            return self._first
        last = self.points[-1]
        if without_optimum(fit) or count >= self.dynamic.most or self.size(fit) >= self.max_k:
            return None
        if not last.lambda_lo > 1e-9 * self._first or self.model.problem.perfect(
            fit.value, self.scale
        ):
            self.notes.append("the lambda0 path ends where no further feature lowers the loss")
            return None
        value = STEP * min(last.lambda_lo, last.lambda0)
        return value if value >= (self.dynamic.ratio or 0.0) * self._first else None

    def _solve_at(self, lambda0, start):
        """The solver of the settings at one lambda0."""
        # the first value of the dynamic grid is the last at which the null fit is stationary: it is
        # shown there
        if self.ascent is not None and (self.points or self.grid is not None):
            out = self.ascent.solve(lambda0, start, self.clock.poll, all_columns=False)
            start, self.duals[lambda0] = out.fit, out.alpha
        return self.steps.solve(lambda0, start)

    # -------------------- verification

    def _progress(self, lambda0, fit):
        """The `Progress` of the support of a fit at a lambda0."""
        return self.progress[lambda0, fit.key]

    def _verify(self):
        """Check the points over all p columns; the number of the first one that must be solved
        again, None when all are verified.
        """
        for number, check in enumerate(self.checks):
            while True:
                self.clock.poll()
                todo = self._awaiting(number)
                if not todo:
                    break
                width = self.model.width
                first = self._first_improved(check, number, todo)
                if first is not None:
                    return first
                if self.model.width == width:
                    break
        self._report()
        return None

    def _awaiting(self, number):
        """The points that have passed as many checks. One that an earlier check left unverified
        stays so: its search ended early.
        """
        return [
            i
            for i, point in enumerate(self.points)
            if not without_optimum(point.fit)
            and self._progress(point.lambda0, point.fit).passed == number
        ]

    def _first_improved(self, check, number, todo):
        """Run a check on points; the number of the first one that something improves and that is
        worth solving again, None where there is none.

        Where W has not grown since a point was solved, its search ended early (max_swaps,
        max_sweeps) and would end there again: it stays unverified.
        """
        first = None
        points = [self.points[i] for i in todo]
        for i, point, verdict in zip(todo, points, check(points), strict=True):
            progress = self._progress(point.lambda0, point.fit)
            if verdict.improves and first is None and self.model.width > progress.width:
                first = i
            if verdict.passes and not verdict.improves:
                progress.passed = number + 1
                if not np.isnan(verdict.lambda_lo):
                    progress.lambda_lo = verdict.lambda_lo
        return first

    def _report(self):
        """Mark the points that have passed all checks verified, and tell the listener of each
        once.
        """
        for i, point in enumerate(self.points):
            progress = self._progress(point.lambda0, point.fit)
            if progress.passed < len(self.checks) or FitStatus.NOT_CONVERGED in point.fit.flags:
                continue
            self.points[i] = point._replace(
                lambda_lo=progress.lambda_lo,
                verified=True,
                optimality=self.steps.optimality_if_verified,
            )
            if not progress.reported:
                progress.reported = True
                self.session.listener(self.point(self.points[i]))

    # -------------------- results

    def point(self, solved):
        """A `Solved` as a `Point`."""
        k, lambda_lo = self.size(solved.fit), solved.lambda_lo
        return Point(k, solved.fit, solved.optimality, np.nan, solved.lambda0, lambda_lo)

    @property
    def result(self):
        """The models solved so far; valid at any time."""
        ended = [s.fit for s in self.points if FitStatus.SEPARATED in s.fit.flags]
        return SliceResult(
            points=tuple(map(self.point, self.points)),
            null=self.null,
            last=self.max_k,
            end="",
            separated=min(ended, key=self.size, default=None),
            scale=self.scale,
            tol=self.descent.settings.tol,
            optimality_if_verified=self.steps.optimality_if_verified,
            dual_points=self.dual_points(),
            rounds=tuple(self.rounds),
            notes=tuple(self.notes),
        )

    # -------------------- sizes

    def best_by_size(self):
        """{k: best Fit of k unforced columns} among all supports that were refitted on the way."""
        return dict(sorted(self.descent.best.items()))

    def fill(self, max_k):
        """A fit of every size up to max_k, on W: the best one met against the best addition to size
        k - 1 going up and the cheapest removal from k + 1 going down.

        Swaps follow where the settings have them with refit. Additions from outside W are not
        looked at: these fits are not verified.
        """
        best, polish = self.best_by_size(), self.steps.refits
        top = min(max_k, int(self.descent.selectable.sum()))
        settings = self.settings if isinstance(self.settings, LocalSearch) else LocalSearch()
        part = Slice(self.lambda1, self.lambda2, max(top, *best) + 1)
        steps = neighborhood_of(
            self.model, part, self.scale, settings, trials=False, refits=not self.exact
        )
        for up in (True, False):
            for k in range(1, top + 1) if up else range(top, 0, -1):
                near = best.get(k - 1 if up else k + 1)
                if near is None or FitStatus.SEPARATED in near.flags:
                    continue
                self.clock.poll()
                new = steps.add(near, polish) if up else steps.drop(near, polish)
                if new is not None and (k not in best or new.value < best[k].value):
                    best[k] = new
        return {k: best[k] for k in sorted(best) if k <= max_k}
