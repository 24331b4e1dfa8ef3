"""The lambda0 path: stationary points of the penalised problem for falling lambda0, each next value
just below the one at which a column must enter.

A support S with its restricted optimum is stationary for lambda0 in [lambda_lo(S), lambda_up(S)],
lambda_lo = max_j gain_j / f_j over the columns outside; the *dynamic grid* goes from lambda0 to
0.99 lambda_lo, so no value is spent inside an interval (Hazimeh & Mazumder, Oper. Res. 68(5), 2020,
section 4.1; Dedieu, Hazimeh & Mazumder, JMLR 22:135, 2021). The whole path is solved on the working
columns, then all its points are checked over all p columns in one batched read; violators join, and
the path resumes at the first point they touch.
"""

from typing import NamedTuple

import numpy as np

from ..core import threads
from ..core.status import FitStatus, Optimality
from ..exchange.local_search import LocalSearch
from ..exchange.neighbourhoods.gram import GramNeighbourhood
from ..exchange.neighbourhoods.refit import RefitNeighbourhood
from ..exchange.ranking import Candidate, Wanted, ranked
from ..exchange.verification import violators
from ..first_order.coordinate_descent import CoordinateDescent, Sides, entry_gains
from ..first_order.coordinate_solvers import make_descent
from ..first_order.primal_dual import PrimalDual, PrimalDualSolver
from ..problem.penalties import separable
from ..problem.problem import Fit
from ..working_set.columns import PRODUCTS_AT_ONCE
from ..working_set.starts import seed
from .protocols import Point, Session, SliceResult
from .rounds import Rounds

STEP = 0.99  # the next lambda0 is this share of lambda_lo
TAKEN = 10  # violators a point may add to W in one round
HUGE = 1e200  # a lambda0 at which only columns of factor 0 enter


class Solved(NamedTuple):
    """One lambda0 with its fit: stationary down to lambda_lo; `verified` over all p columns, as
    good as `optimality` ("cd", "swap", "refit_swap", "refit_swap_m") says.
    """

    lambda0: float
    fit: Fit
    lambda_lo: float
    verified: bool = False
    optimality: str = Optimality.UNVERIFIED


class Lambda0Path:
    """Points for falling lambda0 at one (lambda1, lambda2); what is there when it is interrupted
    stays.

    settings: CoordinateDescent; PrimalDual, whose points are stationary for coordinate descent too;
        LocalSearch(refit=False) for partial swaps, LocalSearch() for adds, drops and swaps
    with refit. lambda0: a grid of one's own, solved at every value; None: the dynamic grid, at most
    n_lambda0 values and max_k unforced columns.
    """

    def __init__(self, model, part, settings, session, *, n_lambda0=100, lambda0=None):
        self.model, self.max_k, self.n_lambda0 = model, part.max_k, n_lambda0
        self.lambda1, self.lambda2 = float(part.lambda1), float(part.lambda2)
        self.settings, self.session, self.clock = settings, session, session.clock
        self.grid = (
            None
            if lambda0 is None
            else np.sort(np.asarray(lambda0, dtype=np.float64).ravel())[::-1]
        )
        searches = isinstance(self.settings, LocalSearch)
        self.n_best = (self.settings.n_best or 20) if searches else 0
        self.mode = "cd" if not searches else "refit" if self.settings.refit else "swap"
        problem = model.problem
        self.exact = problem.quadratic and self.lambda1 == 0 and not problem.boxed
        self.optimality = {
            "cd": "cd",
            "swap": "swap",
            "refit": Optimality.REFIT_SWAP if self.exact else Optimality.REFIT_SWAP_M,
        }[self.mode]
        model.grow(problem.forced)
        null = model.null(self.lambda1, self.lambda2)
        self.scale = max(abs(null.value), 1e-300)
        self.descent = make_descent(
            model,
            self.lambda1,
            self.lambda2,
            self.settings if isinstance(self.settings, CoordinateDescent) else CoordinateDescent(),
            self.scale,
        )
        self.ascent = (
            PrimalDualSolver(model, self.lambda1, self.lambda2, settings, self.scale, self.descent)
            if isinstance(self.settings, PrimalDual)
            else None
        )
        self.descent.keep(null.support.tobytes(), null)
        self.null, self.points, self.rounds, self.notes = null, [], Rounds(), []
        self._proven, self._known, self._tail = (
            {},
            {},
            [],
        )  # both by (lambda0, support): (stage, lambda_lo, told), width of W when solved
        self._failed, self._backwards, self._kept = set(), set(), set()
        # lambda0: the dual point (n,) of the last ascent there, in units of the loss's slope
        self._duals = {}

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
        model, best = self.model, self.descent.best
        if not (model.faint(self.lambda2) and (model.look_for_near() or model.near is not None)):
            return
        self.exact = False
        for k in list(best):
            best[k] = self._again(best[k])
        for i, point in enumerate(self.points):
            claim = {"verified": False, "optimality": Optimality.UNVERIFIED}
            self.points[i] = point._replace(fit=self._again(point.fit), **claim)

    def _again(self, fit):
        """The fit of a support made anew, if that has an optimum."""
        new = self.model.refit(fit.support, self.lambda1, self.lambda2)
        return new if np.isfinite(new.value) else fit

    def _run(self):
        if self.descent.open.any():
            self._seed()
        first = 0
        try:
            while first is not None:
                self.rounds.begin()
                self._solve(first)
                self.rounds.check(len(self.points))
                first = self._verify()
                if first is None and self.grid is not None:
                    first = self._look_back()
                verified = sum(point.verified for point in self.points)
                self.rounds.end(self.model, self.model.members, verified)
        # an interrupt between rounds: what an earlier round solved further down is still worth
        # having
        finally:
            low = self.points[-1].lambda0 if self.points else np.inf
            self.points += [point for point in self._tail if point.lambda0 < low]
            self._tail = []

    def _seed(self):
        """Columns without a price, then those most correlated with the null slopes."""
        size = self.descent.settings.screen_size
        free = np.flatnonzero(self.descent.open & (self.descent.factor_all == 0))
        if self.model.width <= self.model.problem.forced.size:
            seed(
                self.model, self.null, min(self.max_k, max(size // 4, 1)), self.lambda1, extra=free
            )
        else:
            self.model.grow(free)

    def _solve(self, first):
        """Solve the path on W from point number `first` on."""
        old, self.points = self.points, self.points[:first]
        self._tail, self.notes = old[first:], []
        fit = self.points[-1].fit if self.points else self._base()
        while (lambda0 := self._next(fit)) is not None:
            self.clock.poll()
            if (
                FitStatus.SEPARATED in fit.flags
            ):  # a grid of one's own goes on: nothing below has a minimum
                self.points.append(Solved(lambda0, fit, np.nan))
                continue
            fit = self._solve_at(lambda0, fit)
            while (rival := self._rival(lambda0, fit)) is not None:
                better = self._solve_at(lambda0, rival)
                if not self.descent.price(lambda0, better) < self.descent.price(lambda0, fit):
                    break
                fit = better
            if self.grid is None and self.size(fit) > self.max_k:
                self.notes.append(
                    "the lambda0 path ends at "
                    f"{self.size(self.points[-1].fit) if self.points else 0} columns: the next "
                    f"value would pass max_k={self.max_k}"
                )
                break
            separated = FitStatus.SEPARATED in fit.flags
            self.points.append(
                Solved(lambda0, fit, np.nan if separated else self.descent.exit_price(fit))
            )
            self._known[self._key(self.points[-1])] = self.model.width
        self._tail = []

    def _look_back(self):
        """Start every point from the next one, which has more columns; the number of the first
        point that has a better start now, None when none has.
        """
        first = None
        for i in range(len(self.points) - 2, -1, -1):
            here, start = self.points[i], self.points[i + 1].fit
            key = (here.lambda0, start.support.tobytes())
            if key not in self._backwards and FitStatus.SEPARATED not in start.flags:
                self._backwards.add(key)
                self.descent.solve(here.lambda0, start, self.clock.poll)
            if (
                self._rival(here.lambda0, here.fit) is not None
                and (here.lambda0, here.fit.support.tobytes()) not in self._kept
            ):
                self._kept.add((here.lambda0, here.fit.support.tobytes()))
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
        found = [
            self._duals[point.lambda0] for point in self.points if point.lambda0 in self._duals
        ]
        return (
            self.model.problem.weights[:, None] * np.column_stack(found)
            if found
            else np.empty((self.model.problem.X.n, 0))
        )

    def size(self, fit):
        """Unforced columns of a fit."""
        return fit.support.size - self.model.problem.forced.size

    def _base(self):
        """The fit above every price: forced columns, and those of factor 0 that help."""
        if (
            FitStatus.SEPARATED in self.null.flags
            or not (self.descent.factor_all[self.descent.open] == 0).any()
        ):
            return self.null
        return self.descent.solve(HUGE, self.null, self.clock.poll)

    def _next(self, fit):
        """The next lambda0 of the path, None at its end."""
        count = len(self.points)
        if self.grid is not None:
            return float(self.grid[count]) if count < self.grid.size else None
        if not count:
            self._first = (
                self.descent.exit_price(fit)
                if self.model.width and FitStatus.SEPARATED not in fit.flags
                else 0.0
            )
            return self._first
        last = self.points[-1]
        if (
            FitStatus.SEPARATED in fit.flags
            or count >= self.n_lambda0
            or self.size(fit) >= self.max_k
        ):
            return None
        if not last.lambda_lo > 1e-9 * self._first or self.model.problem.perfect(
            fit.value, self.scale
        ):
            self.notes.append("the lambda0 path ends where no further column lowers the loss")
            return None
        return STEP * min(last.lambda_lo, last.lambda0)

    def _solve_at(self, lambda0, start):
        """The solver of the settings at one lambda0."""
        if (
            self.ascent is not None and (self.points or self.grid is not None)
            # the first value of the dynamic grid is the last at which the null fit is stationary:
            # it is
            # shown there
        ):
            out = self.ascent.solve(lambda0, start, self.clock.poll, everywhere=False)
            start, self._duals[lambda0] = out.fit, out.alpha
        if self.mode == "cd":
            return self.descent.solve(lambda0, start, self.clock.poll)
        if self.mode == "swap":
            return self.descent.solve_swaps(
                lambda0, start, self.settings.max_swaps, self.n_best, self.clock.poll
            )
        fit = self.descent.solve(lambda0, start, self.clock.poll)
        for _ in range(self.settings.max_swaps):
            better = self._exchange(lambda0, fit)
            if better is None:
                break
            fit = self.descent.solve(lambda0, better, self.clock.poll)
        return fit

    def _exchange(self, lambda0, fit):
        """A fit with one column added, dropped or swapped and all else refitted whose P is lower,
        or None: ranked by the quadratic, decided by refits.
        """
        model, descent = self.model, self.descent
        key = (fit.support.tobytes(), lambda0, model.width)
        if key in self._failed or FitStatus.SEPARATED in fit.flags:
            return None
        quadratic, tolerance = model.quadratic(fit, self.lambda2), descent.tolerance(fit)
        keep, ceiling = (1, -tolerance) if self.exact else (self.n_best, 1e300)
        penalty = separable(lambda0, self.lambda1, self.lambda2)
        wanted = Wanted(0.0, ceiling, keep)
        best = ranked(model, fit, quadratic, model.W, penalty, wanted)
        loose = ~np.isin(fit.support, model.problem.forced)
        change = (
            fit.b**2 / (2.0 * np.diagonal(quadratic.B)) - lambda0 * descent.factor_all[fit.support]
        )
        best += [
            Candidate(change[i], int(fit.support[i]), -1)
            for i in np.flatnonzero(loose)
            if not self.exact or change[i] < -tolerance
        ]
        start = descent.price(lambda0, fit)
        for c in sorted(best)[: max(keep, 2)]:
            self.clock.poll()
            stay = fit.support != c.out
            support, b = (
                np.append(fit.support[stay], [c.into] if c.into >= 0 else []).astype(np.int64),
                np.append(fit.b[stay], [0.0] if c.into >= 0 else []),
            )
            order = np.argsort(support)
            new = descent.refit(support[order], descent.start(b[order], fit.b0))
            if descent.price(lambda0, new) < start - tolerance:
                return new
        self._failed.add(key)
        return None

    # -------------------- verification

    def _verify(self):
        """Check the points over all p columns; the number of the first one that must be solved
        again, None when all are verified.
        """
        checks = [self._check_entries] + {
            "cd": [],
            "swap": [self._check_swaps],
            "refit": [self._check_exchanges],
        }[self.mode]
        for stage, check in enumerate(checks):
            while True:
                self.clock.poll()
                todo = [
                    i
                    for i, point in enumerate(self.points)
                    if FitStatus.SEPARATED not in point.fit.flags
                    # one that an earlier check left unverified stays so: its search ended early
                    and self._proven.get(self._key(point), (0,))[0] == stage
                ]
                if not todo:
                    break
                width = self.model.width
                first = check(todo, stage + 1)
                if first is not None:
                    return first
                if self.model.width == width:
                    break
        for i, point in enumerate(self.points):
            proof = self._proven.get(self._key(point), (0, point.lambda_lo, False))
            if proof[0] == len(checks) and FitStatus.NOT_CONVERGED not in point.fit.flags:
                self.points[i] = point._replace(
                    lambda_lo=proof[1], verified=True, optimality=self.optimality
                )
                if not proof[2]:
                    self._proven[self._key(point)] = (*proof[:2], True)
                    self.session.listener(self.point(self.points[i]))
        return None

    def _key(self, point):
        return point.lambda0, point.fit.support.tobytes()

    def _check_entries(self, todo, stage):
        """Stationarity: no column outside W may enter at lambda0, nor (dynamic grid) at any price
        above the lambda_lo that made the next value.
        """
        points = [self.points[i] for i in todo]
        prices = np.array(
            [point.lambda0 if self.grid is not None else point.lambda_lo for point in points]
        )
        largest, candidates = self._outside(points, prices)
        self.model.grow(np.unique(np.concatenate([np.empty(0, np.int64), *candidates])))
        first = None
        for i, point, price, top, near in zip(
            todo, points, prices, largest, candidates, strict=True
        ):
            if self.model.problem.quadratic:
                low = max(top, point.lambda_lo)
            else:
                low = self.descent.exit_price(point.fit) if near.size else point.lambda_lo
            if low > price * (1 + 1e-9) + self.descent.tie:
                first = i if first is None and self._outdated(point) else first
            elif near.size < TAKEN and low <= point.lambda0 * (1 + 1e-9) + self.descent.tie:
                self._proven[self._key(point)] = (stage, low, False)
        return first

    def _outside(self, points, prices):
        """For each point the largest gain / f over all priced columns (an estimate but for the
        squared loss), and the worst columns outside W whose gain may pass price f.
        """
        model, descent, p = self.model, self.descent, self.model.problem
        fits = [point.fit for point in points]
        if p.quadratic:
            model.read([fit.support for fit in fits])
            C = np.zeros((len(fits), len(model.row_of)))
            for i, fit in enumerate(fits):
                C[i, [model.row_of[j] for j in fit.support.tolist()]] = fit.b
            safety, curvature = 1.0, np.ones(len(fits))
        else:
            parts = [model.derivatives(fit)[1:] for fit in fits]
            R = -np.column_stack([slopes for slopes, _ in parts])
            safety, curvature = descent.safety, np.array([v.sum() for _, v in parts])
            model.reads += 1
        largest, found = np.zeros(len(fits)), [[] for _ in fits]
        step = max(256, PRODUCTS_AT_ONCE // len(fits))
        for left in range(0, p.X.p, step):
            right = min(left + step, p.X.p)
            block = slice(left, right)
            pull = (
                model.q_all[block] - C @ model.rows[: C.shape[1], block]
                if p.quadratic
                else p.X.correlate(R, left, right).T
            )
            box = (p.lower[block], p.upper[block]) if p.boxed else (None, None)
            gains = entry_gains(
                pull, curvature[:, None] * p.square[block], self.lambda1, self.lambda2, *box
            )
            priced = descent.open[block] & (descent.factor_all[block] > 0)
            gains = np.where(priced, gains / np.where(priced, descent.factor_all[block], 1.0), 0.0)
            outside = model.where[block] < 0
            for i, fit in enumerate(fits):
                inside = fit.support[(fit.support >= left) & (fit.support < right)] - left
                gains[i, inside] = 0.0
                largest[i] = max(largest[i], gains[i].max(initial=0.0))
                over = np.flatnonzero(
                    outside & (safety * gains[i] > prices[i] * (1 + 1e-9) + descent.tie)
                )
                over = over[np.argsort(-gains[i, over], kind="stable")[:TAKEN]]
                found[i] += [(-gains[i, j], left + j) for j in over]
        return largest, [
            np.array([j for _, j in sorted(pairs)[:TAKEN]], dtype=np.int64) for pairs in found
        ]

    def _outdated(self, point):
        """Whether W has grown since the point was solved; if not, its search ended early
        (max_swaps, max_sweeps) and would end there again: it stays unverified.
        """
        return self.model.width > self._known[self._key(point)]

    def _settle(self, todo, stage, improves):
        """Points that nothing improves are proven up to `stage`; the number of the first other one
        that is worth solving again.
        """
        first = None
        for i, better in zip(todo, improves, strict=True):
            point = self.points[i]
            if not better:
                self._proven[self._key(point)] = (stage, *self._proven[self._key(point)][1:])
            elif first is None and self._outdated(point):
                first = i
        return first

    def _check_swaps(self, todo, stage):
        """Partial swaps over all p columns: exact for the squared loss; else the n_best pairs of
        the ranking, each refuted by the exact search.
        """
        fits = [self.points[i].fit for i in todo]
        prices = [self.points[i].lambda0 for i in todo]
        found = (
            self._swaps_gram(fits, prices)
            if self.model.problem.quadratic
            else self._swaps_rows(fits, prices)
        )
        self.model.tables += len(fits)
        self.model.grow(
            np.array(sorted({into for pairs in found for _, _, into in pairs}), dtype=np.int64)
        )
        if self.model.problem.quadratic:
            return self._settle(todo, stage, [bool(pairs) for pairs in found])
        return self._settle(
            todo,
            stage,
            [
                self.descent.swap(price, fit, self.n_best) is not None
                for fit, price in zip(fits, prices, strict=True)
            ],
        )

    def _swaps_gram(self, fits, prices):
        """Improving swaps of each fit over all columns, the TAKEN best columns each."""
        model, descent = self.model, self.descent
        model.read([fit.support for fit in fits])
        found = [[] for _ in fits]

        def task(start, stop):
            for i in range(start, stop):
                index = np.array(
                    [model.row_of[j] for j in fits[i].support.tolist()], dtype=np.int64
                )
                c = model.q_all.copy()
                for r, b in zip(index, fits[i].b, strict=True):
                    c -= b * model.rows[r]
                rho = descent.removal(fits[i], c[fits[i].support])
                square, every = model.problem.square, slice(None)
                sides = Sides(model.rows, index, fits[i].b, c, square, rho, every)
                ceiling = -descent.tolerance(fits[i])
                found[i] = descent.table(descent.penalty(prices[i]), fits[i], sides, ceiling, TAKEN)

        threads.run(task, list(range(len(fits) + 1)))
        return found

    def _swaps_rows(self, fits, prices):
        """The n_best pairs of the ranking of each fit over all columns; one read of X for as many
        fits as fit into a batch of right-hand sides.
        """
        model, descent, p, found, start = self.model, self.descent, self.model.problem, [], 0
        while start < len(fits):
            self.clock.poll()
            stop, sides = start, []
            while stop < len(fits) and (
                not sides
                or sum(part[0].size for part in sides) + p.X.n * fits[stop].support.size
                <= model.BATCH
            ):
                sides.append(descent.removal(fits[stop])[1:])
                stop += 1
            R = -np.concatenate([slopes for slopes, _, _ in sides]).T
            ranked = [[] for _ in sides]
            step = max(512, PRODUCTS_AT_ONCE // max(R.shape[1], 1))
            for left in range(0, p.X.p if R.shape[1] else 0, step):
                right = min(left + step, p.X.p)
                pulls, at = np.ascontiguousarray(p.X.correlate(R, left, right).T), 0
                for i, (slopes, rho, total) in enumerate(sides):
                    k, block, a = len(slopes), slice(left, right), total * p.square[left:right]
                    rows, few, none = pulls[at : at + k], np.arange(k), np.zeros(right - left)
                    both = Sides(rows, few, np.ones(k), none, a, rho, block)
                    penalty = descent.penalty(prices[start + i])
                    ranked[i] += descent.table(penalty, fits[start + i], both, 1e300, self.n_best)
                    at += k
            model.reads += 1
            found += [sorted(pairs)[: self.n_best] for pairs in ranked]
            start = stop
        return found

    def _check_exchanges(self, todo, stage):
        """Adds, drops and swaps with refit over all p columns (`verification.violators` under lambda0)."""
        found = []
        for i in todo:
            self.clock.poll()
            point = self.points[i]
            tolerance = self.descent.tolerance(point.fit)
            ceiling, keep = (-tolerance, TAKEN) if self.exact else (1e300, self.n_best)
            found += violators(
                self.model,
                [point.fit],
                [Wanted(tolerance, ceiling, keep)],
                separable(point.lambda0, self.lambda1, self.lambda2),
            )
        self.model.grow(
            np.array(sorted({c.into for candidates in found for c in candidates}), dtype=np.int64)
        )
        if self.exact:
            return self._settle(todo, stage, [bool(candidates) for candidates in found])
        return self._settle(
            todo,
            stage,
            [self._exchange(self.points[i].lambda0, self.points[i].fit) is not None for i in todo],
        )

    # -------------------- results

    def point(self, solved):
        """A `Solved` as a `Point`."""
        k, lambda_lo = self.size(solved.fit), solved.lambda_lo
        return Point(k, solved.fit, solved.optimality, np.nan, solved.lambda0, lambda_lo)

    @property
    def result(self):
        """What is solved, valid at any time."""
        separated = [s.fit for s in self.points if FitStatus.SEPARATED in s.fit.flags]
        return SliceResult(
            points=tuple(map(self.point, self.points)),
            null=self.null,
            last=self.max_k,
            end="",
            separated=min(separated, key=self.size, default=None),
            scale=self.scale,
            tol=self.descent.settings.tol,
            claim=self.optimality,
            dual_points=self.dual_points(),
            rounds=tuple(self.rounds),
            notes=tuple(self.notes),
        )

    def next_value(self):
        """Nothing is known beyond max_k."""
        return None

    # -------------------- sizes

    def best_by_size(self):
        """{k: best Fit of k unforced columns} among all supports that were refitted on the way."""
        return dict(sorted(self.descent.best.items()))

    def fill(self, max_k):
        """A fit of every size up to max_k, on W: `best_by_size` against the best addition to size k - 1
        going up and the cheapest removal from k + 1 going down.

        Swaps follow where the settings have them with refit. Additions from outside W are not
        looked at: these fits are not verified.
        """
        best, polish, top = (
            self.best_by_size(),
            self.mode == "refit",
            min(max_k, int(self.descent.open.sum())),
        )
        if self.exact:
            mover = GramNeighbourhood(
                self.model, self.lambda2, max(top, *best) + 1, self.scale, self._search()
            )
        else:
            mover = RefitNeighbourhood(
                self.model, self.lambda1, self.lambda2, self.scale, self._search()
            )
        for ahead in (True, False):
            for k in range(1, top + 1) if ahead else range(top, 0, -1):
                near = best.get(k - 1 if ahead else k + 1)
                if near is None or FitStatus.SEPARATED in near.flags:
                    continue
                self.clock.poll()
                new = mover.add(near, polish) if ahead else mover.drop(near, polish)
                if new is not None and (k not in best or new.value < best[k].value):
                    best[k] = new
        return {k: best[k] for k in sorted(best) if k <= max_k}

    def _search(self):
        return self.settings if isinstance(self.settings, LocalSearch) else LocalSearch()


def candidates_from(model, part, clock):
    """Supports that coordinate descent, and coordinate descent with partial swaps, visit on their
    lambda0 paths.
    """
    supports = []
    for settings in (CoordinateDescent(), LocalSearch(refit=False)):
        path = Lambda0Path(model, part, settings, Session(clock))
        path.run()
        supports += [fit.support for fit in path.fill(part.max_k).values()]
    return supports
