"""Primal-dual dynamic incremental solver for the lambda0 problem with a ridge: dual ascent bounds,
coordinate descent improves, columns join and leave by what the dual says.

    minimize over (b0, b):   P = sum_i w_i loss(y_i, o_i + b0 + z_i'b)
                                 + sum_j (lambda0 f_j [b_j != 0] + lambda1 |b_j| + lambda2 b_j^2),
                             lower <= b <= upper,   lambda2 > 0                               (P)
    D(a) = sum_i w_i (o_i a_i - loss*(y_i, a_i)) - sum_j (h_j - lambda0 f_j)_+  <=  P(b)      (D)
    b_j(a) = argmax_b -t_j b - lambda1 |b| - lambda2 b^2  where that is h_j >= lambda0 f_j,
             else 0;   t = Z'(w a)                                                            (L)

Source: Ren & Qian, Dynamic Incremental Optimization for Best Subset Selection: dual (8), link (11),
    coordinate step (13), radius (15), screening (16), Algorithms 1 (ascent), 2 (columns that
join) and 3 (which). Two departures, unless `paper_defaults`: the ascent follows the super-gradient
at b(a), not at the improved primal, which is none, and its steps are safe ones. The gap need not
close (the largest D is the perspective relaxation's optimum): it is reported, and rule (16) is used
with D and the radius of all p columns, for which it holds without strong duality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.arguments import whole_fields
from ..core.status import FitStatus
from ..errors import check_tol
from ..problem.losses import smoothness
from ..problem.problem import Fit
from ..working_set.columns import PRODUCTS_AT_ONCE
from ..working_set.starts import scale_of, seed_at, slopes_at
from .coordinate_descent import entry_gains
from .coordinate_solvers import make_descent
from .dual import EXAMINED, NO_GAP, DualProblem, balance, diverged, needs_ridge, stalled
from .operators import working_columns


@dataclass(frozen=True, kw_only=True)
class PrimalDual:
    """Settings of the primal-dual solver for one lambda0, for lambda2 > 0 and bounded curvature.

    Parameters
    ----------
    primal_step : bool, default True
        Whether coordinate descent starts from the dual point. False is dual ascent alone, for
        comparison.
    paper_defaults : bool, default False
        Whether to take Algorithm 1 as printed: steps 1 / (mu t), and features join until rule (16)
        excludes the others.
    step : float, optional
        A constant step of the ascent. None takes safe steps.
    include : float, default 4.0
        The number of features that join at a time, in units of log p.
    tol : float, default 1e-4
        The relative gap, or progress of the bound over the later half of the steps (at least 50),
        below which an ascent ends.
    max_iter : int, default 300
        The largest number of steps of one ascent.
    max_rounds : int, default 50
        The largest number of reads of all features.
    """

    primal_step: bool = True
    paper_defaults: bool = False
    step: float | None = None
    include: float = 4.0
    tol: float = 1e-4
    max_iter: int = 300
    max_rounds: int = 50

    def __post_init__(self):
        check_tol(self.tol)
        if not self.include > 0:
            raise ValueError(f"include={self.include!r} must be a positive number")
        if self.step is not None and not self.step > 0:
            raise ValueError(
                f"step={self.step!r} must be a positive number, or None for safe steps"
            )
        whole_fields(self, max_iter=1, max_rounds=1)

    def check(self, problem: Any, lambda1: float, lambda2: float) -> None:
        """Raise ValueError, with the remedy, for problems that the method does not solve."""
        needs_ridge("primal_dual", problem, lambda2)


class Certified(NamedTuple):
    """A solution for one lambda0."""

    fit: Fit
    objective: float  # P
    bound: float  # at most P of every b; NaN: not asked for
    iterations: int
    status: str
    alpha: Any  # (n,), dual point
    excluded: np.ndarray  # (p,), columns that no optimum uses
    reads: int  # of X

    @property
    def gap(self):
        """P less bound."""
        return self.objective - self.bound

    @property
    def proven(self):
        """Whether the gap is closed, up to rounding."""
        return self.status == "proven"


class PrimalDualSolver:
    """lambda0 values of one (lambda1, lambda2); each starts from the dual point of the last.
    `descent`: a `CoordinateSolver` to share, whose refits are remembered.
    """

    def __init__(self, model, lambda1, lambda2, settings, scale, descent=None):
        settings.check(model.problem, lambda1, lambda2)
        self.model, self.problem, self.settings, self.scale = model, model.problem, settings, scale
        self.lambda1, self.lambda2 = float(lambda1), float(lambda2)
        self.dual = DualProblem(model.problem, lambda1, lambda2)
        self.descent = descent or make_descent(model, lambda1, lambda2, scale=scale)
        self.usable = self.descent.selectable | np.isin(
            np.arange(model.problem.X.p), model.problem.forced
        )
        self.a, self.width = self.dual.project(np.zeros(model.problem.X.n)), -1

    def refresh(self, excluded):
        """Working columns that may still be used: their positions, rows and penalty factors."""
        model, p = self.model, self.problem
        if self.width != model.width:
            self.width = model.width
            self.spread = working_columns(model, self.lambda1, self.lambda2).measure().spread
        self.at = np.flatnonzero(self.usable[model.W] & ~excluded[model.W])
        self.index = model.W[self.at]
        self.Z = model.Z[: model.width] if self.at.size == model.width else model.Z[self.at]
        self.locked = np.isin(self.index, p.forced)
        self.factor = self.descent.factor_all[self.index]

    def penalized_sum(self, correlation, cost, columns, locked):
        """sum_j (h_j - price_j)_+ of (D), the coefficients of (L) and h; forced columns (`locked`)
        count whole. correlation = -t.
        """
        p = self.problem
        b, h = self.dual.link(correlation, p.lower[columns], p.upper[columns], p.boxed)
        keep = locked | (h >= cost)
        return float((h - np.where(locked, 0.0, cost))[keep].sum()), np.where(keep, b, 0.0), h

    def solve(self, lambda0, start=None, poll=lambda: None, all_columns=True):
        """`Certified` solution at a lambda0, from a Fit (the optimum on its support; default:
        forced columns only). all_columns=False: on the working columns alone, without a bound.
        """
        p, s = self.problem, self.settings
        fit = self.model.null(self.lambda1, self.lambda2) if start is None else start
        excluded = np.zeros(p.X.p, dtype=bool)
        bound = -np.inf
        alpha = self.a
        steps = 0
        status = "max_rounds"
        reads = 0
        while reads < s.max_rounds:
            poll()
            self.refresh(excluded)
            ascent = PenalisedAscent(self, lambda0, fit)
            ended = ascent.run(poll)
            fit, steps = ascent.fit, steps + ascent.steps
            if s.primal_step:
                fit = self.descent.solve(lambda0, fit, poll)
            self.a = ascent.best_a
            if not all_columns:
                return Certified(
                    fit,
                    self.descent.objective(lambda0, fit),
                    math.nan,
                    steps,
                    ended,
                    self.a,
                    excluded,
                    0,
                )
            value, h, t = self.read(lambda0, self.a, fit)
            reads += 1
            if value > bound:
                bound, alpha = value, self.a
            top = self.descent.objective(lambda0, fit)
            if top - bound <= NO_GAP * self.scale and not fit.flags:
                status = "proven"
                break
            if top - bound <= s.tol * abs(top):
                status = "gap_below_tol"
                break
            excluded |= self.exclude(lambda0, value, top, h, t)
            if not self.include(lambda0, h, t, excluded):
                status = ended if ended in (FitStatus.MAX_ITER, "diverged") else "gap_not_closed"
                break
        return Certified(
            fit, self.descent.objective(lambda0, fit), bound, steps, status, alpha, excluded, reads
        )

    def read(self, lambda0, a, fit):
        """D(a) over all p columns less a margin, h (p,) and correlations (p, 2): -t, and minus the
        slopes at the fit. One read of X.
        """
        p = self.problem
        R = np.column_stack([p.weights * a, slopes_at(self.model, fit)])
        correlations = np.empty((p.X.p, 2))
        step = max(256, PRODUCTS_AT_ONCE // 2)
        for start in range(0, p.X.p, step):
            stop = min(start + step, p.X.p)
            correlations[start:stop] = -p.X.correlate(R, start, stop)
        self.model.reads += 1
        cost = lambda0 * self.descent.factor_all
        locked = np.isin(np.arange(p.X.p), p.forced)
        _, _, h = self.penalized_sum(correlations[:, 0], cost, slice(None), locked)
        over = np.where(locked, h, np.where(self.usable, np.maximum(h - cost, 0.0), 0.0))
        value = self.dual.smooth_part(a) - float(over.sum()) - NO_GAP / 3.0 * self.scale
        return value, h, correlations

    def exclude(self, lambda0, bound, top, h, correlations):
        """(p,) columns that are zero in every optimum, by a bound and the value `top` of a fit:
        rule (16) where no box is about, and D + (lambda0 f_j - h_j)_+ > top, which needs convexity
        only.
        """
        p, safe = self.problem, 1e-9 * self.scale
        cost = lambda0 * self.descent.factor_all
        out = bound + np.maximum(cost - h, 0.0) > top + safe
        if not p.boxed:
            radius = np.sqrt(2.0 * smoothness(p.loss) * p.square * max(top - bound + safe, 0.0))
            out |= np.abs(correlations[:, 0]) + radius < (
                2.0 * np.sqrt(cost * self.lambda2) + self.lambda1
            ) * (1 - 1e-9)
        out[p.forced] = False
        return out | ~self.usable

    def include(self, lambda0, h, correlations, excluded):
        """Algorithm 3: the ceil(include log p) columns of largest |t_j| among those outside that
        would lower D or P; True if any joined. paper_defaults: among all that rule (16) leaves.
        """
        p, model = self.problem, self.model
        cost = lambda0 * self.descent.factor_all
        able = self.usable & ~excluded & (model.where < 0)
        if not self.settings.paper_defaults:
            box = (p.lower, p.upper) if p.boxed else (None, None)
            gain = entry_gains(
                correlations[:, 1], smoothness(p.loss) * p.square, self.lambda1, self.lambda2, *box
            )
            able &= (h > cost) | (p.loss.traits.entry_safety * gain > cost)
        rank = np.where(able, np.abs(correlations).max(axis=1), -1.0)
        count = min(math.ceil(self.settings.include * math.log(max(p.X.p, 2))), int(able.sum()))
        return model.grow(np.argsort(-rank, kind="stable")[:count])


class PenalisedAscent:
    """Algorithm 1 on the working columns."""

    def __init__(self, solver, lambda0, fit):
        self.solver, self.lambda0, self.fit, self.a = solver, float(lambda0), fit, solver.a
        self.cost = self.lambda0 * solver.factor
        self.best, self.best_a, self.steps, self.tried = -np.inf, self.a, 0, set()
        self.mean, self.weight = np.zeros_like(self.a), 0.0
        self.offer(fit)

    def top(self):
        """P of the best fit."""
        return self.solver.descent.objective(self.lambda0, self.fit)

    def evaluate(self, a):
        """Let a dual point compete: the coefficients b(a) on the working columns."""
        s = self.solver
        total, b, _ = s.penalized_sum(
            -(s.Z @ (s.problem.weights * a)), self.cost, s.index, s.locked
        )
        value = self.value = s.dual.smooth_part(a) - total
        if value > self.best:
            self.best, self.best_a = value, a
        return b

    def offer(self, fit):
        """Compare a fit, and its dual point a_i = loss'(eta_i), with the best ones."""
        s = self.solver
        if fit is self.fit or s.descent.objective(self.lambda0, fit) < self.top():
            self.fit = fit
            Z = s.model.Z[s.model.where[fit.support]]
            self.evaluate(s.dual.of_predictor(s.problem.predictor(fit, Z)))

    def improve(self, b, poll):
        """The primal from b(a): coordinate descent (13) until the support no longer changes, then a
        refit; without the primal step a refit alone. Once per support. Returns the fit.
        """
        s = self.solver
        J = np.flatnonzero((b != 0.0) | s.locked)
        J = J[np.argsort(s.index[J])]
        support = s.index[J]
        key = support.tobytes()
        if key not in self.tried:
            self.tried.add(key)
            if s.settings.primal_step:
                self.offer(
                    s.descent.solve(
                        self.lambda0,
                        Fit(support, b[J], self.fit.b0, math.nan),
                        poll,
                        converged=False,
                    )
                )
            else:
                self.offer(s.descent.refit(support, (b[J], self.fit.b0)))

    def rate(self, t):
        """The step number t."""
        s = self.solver
        if s.settings.step is not None:
            return s.settings.step
        if s.settings.paper_defaults:
            return 1.0 / (s.dual.least * t)
        L = s.dual.least + s.spread / (2.0 * s.lambda2)
        return min(1.0 / L, 2.0 / (s.dual.least * t + 2.0 * L))

    def run(self, poll):
        """Ascend until the gap is small, the bound stalls or max_iter steps were taken: the
        status.
        """
        s, settings, history = self.solver, self.solver.settings, []
        for t in range(1, settings.max_iter + 1):
            b, self.steps = self.evaluate(self.a), t
            self.weight += t
            self.mean += t / self.weight * (self.a - self.mean)
            if t % EXAMINED == 1:
                poll()
                self.improve(b, poll)
                b_mean = self.evaluate(
                    balance(self.mean, s.problem.weights) if s.dual.tied else self.mean
                )
                mean_value = self.value
                self.improve(b_mean, poll)
                history.append((self.best, mean_value))
                if self.top() - self.best <= settings.tol * abs(self.top()):
                    return "gap_below_tol"
                if stalled(history, settings.tol, s.scale):
                    return "gap_not_closed"
            J = np.flatnonzero(b)
            ahead = b[J] @ s.Z[J]
            if settings.paper_defaults and settings.primal_step:
                ahead = self.fit.b @ s.model.Z[s.model.where[self.fit.support]]
            self.a = s.dual.project(self.a + self.rate(t) * (s.dual.slope_part(self.a) + ahead))
            if diverged(self.a):
                return "diverged"
        return FitStatus.MAX_ITER


def solve_lambda0(
    model, lambda0, *, lambda1=0.0, lambda2, settings=None, start=None, poll=lambda: None
):
    """`Certified` solution of (P) at one lambda0 over all p columns: what it starts from are the
    forced columns and the ceil(include log p) of largest slope (Algorithm 2), or what W holds.
    """
    settings = settings or PrimalDual()
    settings.check(model.problem, lambda1, lambda2)
    model.grow(model.problem.forced)
    null = model.null(lambda1, lambda2)
    solver = PrimalDualSolver(model, lambda1, lambda2, settings, scale_of(model, null))
    if model.width <= model.problem.forced.size:
        seed_at(model, null, math.ceil(settings.include * math.log(max(model.problem.X.p, 2))))
    if start is not None:
        model.grow(start.support)
    return solver.solve(lambda0, start, poll)
