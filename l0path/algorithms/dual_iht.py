"""Dual iterative hard thresholding: super-gradient ascent on the concave dual of the k-sparse
problem, with a bound on the optimum at every size.

    b(a) = best k of  clip(soft(-Z'(w a), lambda1) / (2 lambda2)),
    a <- project(a + step (o + Z b(a) - loss*'(a)))                                           (A)
    D(a) <= min over k-sparse b of P(b):  every dual point bounds the optimum from below; the two
    meet only under a condition on data and lambda2, which is checked, not assumed

Source: Liu, Yuan, Wang, Liu & Metaxas, Dual Iterative Hard Thresholding (ICML 2017): Algorithms 1
    (DIHT) and 2 (SDIHT), Theorem 1 (when primal and dual meet), Theorem 4 (steps 1 / (gamma t)).
The steps here are the smaller of that kind and 1 / L_D, L_D = largest loss*'' + lambda_max(Z'WZ) /
(2 lambda2), so that the ascent never diverges for small lambda2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arguments import whole_fields
from ..core.status import FitStatus
from ..errors import check_tol
from ..problem.losses import Squared
from .dual import (
    EXAMINED,
    NO_GAP,
    DualProblem,
    DualSizes,
    balance,
    diverged,
    needs_ridge,
    project,
    stalled,
)
from .operators import SizeOutcome, SolverTraits, top_eigenvalue

EPOCHS = 3  # epochs between them in the stochastic version


@dataclass(frozen=True, kw_only=True)
class DualIHT:
    """Settings of dual iterative hard thresholding, for lambda2 > 0 and losses of bounded
    curvature.

    Parameters
    ----------
    blocks : int, default 1
        Row blocks of the stochastic version. 1 takes all rows at once, which is "dual_iht".
    paper_defaults : bool, default False
        Whether to take the steps 1 / (gamma t) of the theorem, and blocks drawn with replacement,
        instead of safe steps and a fresh order of the blocks every epoch.
    tol : float, default 1e-4
        The relative gap, or progress of the bound over the later half of the steps (at least 50),
        below which the ascent ends.
    max_iter : int, optional
        Steps (stochastic: epochs) per size. None means 500, or 100 epochs.
    polish : bool, default False
        Whether swaps with refit (local search) follow at every size, checked over all features.
    seed : int, default 0
        The seed that draws the blocks.
    """

    blocks: int = 1
    paper_defaults: bool = False
    tol: float = 1e-4
    max_iter: int | None = None
    polish: bool = False
    seed: int = 0

    def __post_init__(self):
        check_tol(self.tol)
        whole_fields(self, blocks=1, max_iter=1, seed=0)

    @property
    def steps(self) -> int:
        """The largest number of steps, or epochs, for one size."""
        return self.max_iter or (500 if self.blocks == 1 else 100)

    def check(self, problem: Any, lambda1: float, lambda2: float) -> None:
        """Raise ValueError, with the remedy, for problems that the method does not solve."""
        needs_ridge(type(self).__name__, problem, lambda2)

    def solver(self, model: Any, lambda1: float, lambda2: float, scale: float) -> Any:
        """The solver of single sizes, on the working columns."""
        return DualSolver(model, lambda1, lambda2, self, scale)


class DualSolver(DualSizes):
    """Sizes of one (lambda1, lambda2) by dual ascent on the working columns; a size starts from the
    dual point of the size below. Bounds come from reads of all p columns (`judge`).
    """

    # the dual spreads over many more columns than k, so more of them join at a time
    traits = SolverTraits(max_entering=60, prunes=True)

    def __init__(self, model, lambda1, lambda2, settings, scale):
        settings.check(model.problem, lambda1, lambda2)
        super().__init__(model, DualProblem(model.problem, lambda1, lambda2), lambda2, scale)
        self.settings, self.points = settings, {}

    def refresh(self):
        """Compute the quantities that depend on W anew after it has grown."""
        if not self.renew():
            return
        self.spread = self.view.measure().spread
        if self.settings.blocks > 1:
            self.partitions = self._partitions()

    def _partitions(self):
        """Row blocks with their columns and spread. A free intercept keeps sum w a within a block
        as it is, so two partitions that cut across each other take turns.
        """
        n, m, weights = self.model.problem.X.n, self.settings.blocks, self.model.problem.weights
        order = np.random.default_rng(self.settings.seed).permutation(n)
        partitions = []
        for parts in [np.array_split(order, min(m, n))] + (
            [[order[i::m] for i in range(min(m, n))]] if self.dual.tied else []
        ):
            blocks = []
            for rows in parts:
                rows = np.sort(rows)
                Z, w = np.ascontiguousarray(self.Z[:, rows]), weights[rows]
                spread = top_eigenvalue(
                    lambda v, Z=Z, w=w: np.sqrt(w) * (Z.T @ (Z @ (np.sqrt(w) * v))),
                    np.sqrt(w) * (1.0 + np.abs(self.model.problem.y[rows])),
                )
                blocks.append((rows, Z, w, spread))
            partitions.append(blocks)
        return partitions

    def value(self, a, k):
        """D(a) on the working columns, the support that attains it, its values and the sum of its
        h.
        """
        J, b, total = self.top(-(self.Z @ (self.model.problem.weights * a)), k)
        return self.dual.smooth_part(a) - total, J, b, total

    def solve(self, k, start, poll=lambda: None, watch=None):
        """SizeOutcome of size k: the best restricted optimum among the supports met (a start's
        included), the best dual value, and whether they meet.
        """
        self.refresh()
        if k > int(self.view.selectable.sum()):
            raise ValueError(
                f"k={k} exceeds the {int(self.view.selectable.sum())} features that can be chosen"
            )
        run = SizeAscent(self, k, start, watch or (lambda name, value: None))
        status = run.stochastic(poll) if self.settings.blocks > 1 else run.full(poll)
        self.points[k] = run.best_a
        return SizeOutcome(
            run.fit, run.steps, status, bound=run.best, proven=status == "proven", alpha=run.best_a
        )

    def certified(self, outcome, outside):
        """The outcome with the bound that holds over all p columns: columns outside W, by
        descending h, push the least of the k out of the sum.
        """
        k = outcome.fit.support.size - self.model.problem.forced.size
        h, total = self.counted(outcome)
        inside = np.sort(h)
        merged = np.sort(np.concatenate([inside, outside]))[::-1][:k]
        value = (
            self.dual.smooth_part(outcome.alpha)
            - (total - float(inside.sum()))
            - float(merged.sum())
        )
        bound = max(value - self.margin(), self.bounds.get(k, -np.inf))
        self.bounds[k] = bound
        proven = self.closed(k, outcome.fit)
        status = (
            "proven"
            if proven
            else "gap_not_closed"
            if outcome.status == "proven"
            else outcome.status
        )
        return outcome._replace(bound=bound, proven=proven, status=status)


class SizeAscent:
    """One size: the best primal and the best dual point met so far."""

    def __init__(self, solver, k, start, watch):
        self.solver, self.k, self.watch, self.p = solver, k, watch, solver.model.problem
        self.scales = (
            isinstance(self.p.loss, Squared) and not solver.lambda1 and not solver.view.boxed
        )
        near = min(solver.points, key=lambda size: (abs(size - k), size), default=None)
        self.a = solver.dual.project(np.zeros(self.p.X.n) if near is None else solver.points[near])
        self.best, self.best_a, self.fit, self.steps = -np.inf, self.a, None, 0
        if start is not None:
            self.evaluate(self.a)
            if start.support.size == k + int(solver.view.forced.sum()):
                self.offer(start)
            else:
                self.evaluate(solver.dual_of(start))
            self.a = self.best_a  # the better of the last dual point and the partner of the start
        self.mean, self.weight = np.zeros_like(self.a), 0.0

    def offer(self, fit):
        """Compare a fit, and the dual point made of it, with the best ones."""
        self.watch("refit", fit.value)
        if self.fit is None or fit.value < self.fit.value:
            self.fit = fit
            self.evaluate(self.solver.dual_of(fit))

    def evaluate(self, a):
        """Let a dual point compete, and its best multiple where that is known; returns the support
        that attains its value.
        """
        value, J, b, total = self.solver.value(a, self.k)
        self.value = value
        self.watch("dual", value)
        if value > self.best:
            self.best, self.best_a = value, a
        if self.scales:
            self.scale(a, total)
        return J, b

    def scale(self, a, total):
        """Let the best multiple s a compete: D(s a) = -s w'(y a) - s^2 (w'a^2 / 2 + sum h), squared
        loss without lambda1 and box.
        """
        linear = float(self.p.weights @ (self.p.y * a))
        bend = float(self.p.weights @ (a * a)) + 2.0 * total
        if bend > 0.0 and 0.5 * linear * linear / bend > self.best:
            self.best, self.best_a = 0.5 * linear * linear / bend, a * (-linear / bend)

    def average(self, weight):
        """Running mean of the dual points, later ones weigh more: D is concave, so it does at least
        as well as they do on average.
        """
        self.weight += weight
        self.mean += weight / self.weight * (self.a - self.mean)

    def check_gap(self, J):
        """Refit on the support at hand, and try the mean as a dual point; "proven" once primal and
        dual meet.
        """
        self.offer(self.solver.refit(self.solver.view.index[J]))
        mean = balance(self.mean, self.p.weights) if self.solver.dual.tied else self.mean
        K, _ = self.evaluate(mean)
        self.mean_value = self.value
        self.offer(self.solver.refit(self.solver.view.index[K]))
        gap = self.fit.value - self.best
        self.watch("bound", self.best)
        self.watch("gap", gap)
        return (
            "proven"
            if gap <= NO_GAP / 3.0 * self.solver.scale
            else "gap_not_closed"
            if gap <= self.solver.settings.tol * abs(self.fit.value)
            else ""
        )

    def rate(self, t, largest, spread):
        """Step number t: 1 / (gamma t) with paper_defaults; else min(1 / L, 2 / (gamma t + 2 L)), L
        = largest + spread / (2 lambda2).
        """
        gamma = self.solver.dual.least
        if self.solver.settings.paper_defaults:
            return 1.0 / (gamma * t)
        L = largest + spread / (2.0 * self.solver.lambda2)
        return min(1.0 / L, 2.0 / (gamma * t + 2.0 * L))

    def full(self, poll):
        """Algorithm 1: all rows at once."""
        solver, dual = self.solver, self.solver.dual
        history = []
        for t in range(1, solver.settings.steps + 1):
            self.steps = t
            # at every step: the best of the iterates is often well above those that happen to be
            # examined
            J, b = self.evaluate(self.a)
            self.average(t)
            if t % EXAMINED == 1:
                poll()
                status = self.check_gap(J)
                history.append((self.best, self.mean_value))
                if status or stalled(history, solver.settings.tol, solver.scale):
                    return status or "gap_not_closed"
            self.a = dual.project(
                self.a
                + self.rate(t, dual.least, solver.spread)
                * (dual.slope_part(self.a) + b @ solver.Z[J])
            )
            if diverged(self.a):
                return "diverged"
        return self.check_gap(J) or FitStatus.MAX_ITER

    def stochastic(self, poll):
        """Algorithm 2: a block of rows at a time; -Z'(w a) is kept up to date and rebuilt every
        epoch.
        """
        solver, dual, p, s = self.solver, self.solver.dual, self.p, self.solver.settings
        rng, history = np.random.default_rng(s.seed), []
        for epoch in range(1, s.steps + 1):
            poll()
            self.average(epoch)
            self.steps = epoch
            if epoch % EPOCHS == 1:
                status = self.check_gap(self.evaluate(self.a)[0])
                history.append((self.best, self.mean_value))
                if status or stalled(history, s.tol, solver.scale):
                    return status or "gap_not_closed"
            blocks = solver.partitions[epoch % len(solver.partitions)]
            correlation = -(solver.Z @ (p.weights * self.a))
            self.a = self.a.copy()
            for turn, number in enumerate(
                rng.integers(len(blocks), size=len(blocks))
                if s.paper_defaults
                else rng.permutation(len(blocks))
            ):
                rows, Z, w, spread = blocks[number]
                J, b, _ = solver.top(correlation, self.k)
                step = (
                    self.rate((epoch - 1) * len(blocks) + turn + 1, dual.least, spread)
                    * len(blocks)
                    if s.paper_defaults
                    else self.rate(epoch, dual.least, spread)
                )
                old = self.a[rows]
                new = project(
                    old + step * (dual.slope_part(old, rows) + b @ Z[J]),
                    dual.low[rows],
                    dual.high[rows],
                    w,
                    old if dual.tied else None,
                )
                correlation -= Z @ (w * (new - old))
                self.a[rows] = new
                if diverged(new):
                    return "diverged"
            self.a = dual.project(self.a) if dual.tied else self.a
        return self.check_gap(J) or FitStatus.MAX_ITER
