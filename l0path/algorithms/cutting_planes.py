"""Feature generating machine: a convex relaxation of every size is solved by cutting planes, each
the `budget` columns of a worst case; what was generated is refitted without the relaxation's bias.

    R_B  see `generation`: for the ridge r = lambda2 and B = k its optimum is the best bound on size
    k that weak duality gives; the gap of R_B itself, F - D, closes, the gap of size k need not
    candidates for size k:  the k columns of every worst case, and each time the k columns of
    largest coefficients; each is refitted with the lambda2 of the fit (de-biasing), the best one is
    kept;
                            the cheapest removal from size k + 1 and the best addition to size k - 1

With lambda2 = 0 the relaxation has the ridge r = 1 / (2 n C) instead: it generates, but bounds
nothing. By default the machine runs on the working columns, for all sizes at once, and every size
is checked against all columns in one batched read, after which the columns that lower its dual
value join.
Source: Tan, Tsang & Wang, Towards Ultrahigh Dimensional Feature Selection for Big Data (JMLR 15,
    2014): Algorithm 1, Section 5 (de-biasing is after Figure 5; their C is 1 / (2 n r) here).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arguments import whole_fields
from ..relaxation.blocks import NO_BLOCKS
from .dual import DualProblem, DualSizes
from .generation import GroupPool, Pool, generate, ranked_units
from .operators import SizeOutcome, SolverTraits

DEFAULT_C = 10.0


@dataclass(frozen=True, kw_only=True)
class FeatureGenerating:
    """Settings of the feature generating machine, cutting planes on the relaxation of every size.

    It is for losses that are sums over rows, and features (or groups) without bounds.

    Parameters
    ----------
    budget : int, optional
        The largest number of features (groups) of a block. None means the size k, whose relaxation
        bounds size k. With fewer the bound of size k is valid, but not the best one; sizes below
        the budget use their own k.
    C : float, optional
        The weight of the summed loss against ||b||^2 / 2 while features are generated, r = 1 / (2 n
        C). None means r = lambda2, and C = 10 where lambda2 = 0. Refits have the lambda2 of the
        fit. Bounds are given where r <= lambda2.
    polish : bool, default False
        Whether swaps with refit (local search) follow at every size on what was generated, checked
        over all features. This is the recommended use.
    tol : float, default 1e-3
        The gap, relative to the objective of size k, at which solving the relaxation ends. Between
        two blocks the relaxation is solved for all scalings of the features that were generated.
    max_iter : int, optional
        The largest number of blocks for one size. None means 30, or 10 where r > lambda2.
    paper_defaults : bool, default False
        Whether to take Algorithm 1 as published: each block read from all p features, mixtures of
        blocks only, C = 10 whatever lambda2, at most 10 blocks (max_iter), until one lowers F by
        less than a share `tol` of the first F, and no swaps.

    References
    ----------
    - Tan, Tsang & Wang, Journal of Machine Learning Research 15, 2014.
    """

    budget: int | None = None
    C: float | None = None
    polish: bool = False
    tol: float = 1e-3
    max_iter: int | None = None
    paper_defaults: bool = False

    def __post_init__(self):
        for name in ("tol", "C"):
            value = getattr(self, name)
            if not (value is None and name == "C") and not (
                isinstance(value, (int, float, np.integer, np.floating)) and 0 < value < np.inf
            ):
                raise ValueError(
                    f"{name}={value!r} must be a positive number"
                    + (", or None for that of lambda2" if name == "C" else "")
                )
        whole_fields(self, budget=1, max_iter=1)

    def blocks(self, bounding: bool) -> int:
        """The largest number of blocks of one solve, small where blocks only generate features."""
        return self.max_iter or (30 if bounding and not self.paper_defaults else 10)

    def size(self, k: int) -> int:
        """The number of features, or groups, of a block for size k."""
        return k if self.budget is None else min(k, self.budget)

    def ridge(self, problem: Any, lambda2: float) -> float:
        """The ridge r of the relaxation."""
        if self.C is None and lambda2 > 0 and not self.paper_defaults:
            return float(lambda2)
        return 1.0 / (2.0 * problem.n_eff * (self.C or DEFAULT_C))

    def check(self, problem: Any, lambda1: float, lambda2: float) -> None:
        """Raise ValueError, with the remedy, for problems that the method does not solve."""
        if problem.boxed:
            raise ValueError(
                "lower= and upper= bound coefficients, which feature_generating takes apart into "
                "blocks that have no bounds of their own; leave them infinite, "
                "or use algorithm='swap', 'pg' or 'dual_iht'"
            )

    def solver(self, model: Any, lambda1: float, lambda2: float, scale: float) -> Any:
        """The solver of single sizes, on the working columns."""
        return GeneratingSolver(model, lambda1, lambda2, self, scale)


class GeneratingSolver(DualSizes):
    """Sizes of one (lambda1, lambda2) by cutting planes on the working columns, or on all p of them
    with paper_defaults; a size starts from the blocks of the size below, widened by a column.

    relaxed: {k: (F, D)} of R_B, D over all p columns: F - D >= 0 is a valid gap of the relaxation,
        not of size k.
    """

    def __init__(self, model, lambda1, lambda2, settings, scale):
        settings.check(model.problem, lambda1, lambda2)
        self.ridge = settings.ridge(model.problem, lambda2)
        super().__init__(model, DualProblem(model.problem, lambda1, self.ridge), lambda2, scale)
        self.settings = settings
        self.valid = self.ridge <= self.lambda2 * (1 + 1e-12)
        self.traits = SolverTraits(settings.paper_defaults, proposes=True, prunes=True)
        self.pool = Pool(model, self.dual, settings.paper_defaults)
        self.held, self.kept, self.done = {}, {}, {}
        self.relaxed, self.made = {}, 0

    def size(self, fit):
        """k of a fit."""
        return fit.support.size - self.model.problem.forced.size

    def units_of(self, fit):
        """Unforced units of a fit."""
        return np.setdiff1d(fit.support, self.model.problem.forced)

    def solve(self, k, start, poll=lambda: None, watch=None):
        """Outcome of size k: the best refit among the candidates met (a start's included), D of the
        relaxation on the working columns as `bound`.
        """
        if k > self.pool.free:
            raise ValueError(f"k={k} exceeds the {self.pool.free} features that can be chosen")
        self.renew()
        watch = watch or (lambda name, value: None)
        start = self.model.null(self.lambda1, self.lambda2) if start is None else start
        run = Candidates(k, self.refit, watch)
        if self.size(start) == k:
            run.keep(start)
        found = self.generated(k, start, run, poll, watch)
        alpha = self.dual.project(found.slopes / self.model.problem.weights)
        outcome = SizeOutcome(
            run.fit, found.made, found.status, bound=found.bound, alpha=alpha, relaxed=found.value
        )
        return self.certified(outcome, np.empty(0)) if self.traits.all_columns else outcome

    def generated(self, k, start, run, poll, watch):
        """`GeneratedBlocks` for size k, that of the last call where no column has joined since;
        run: the candidates.
        """
        if k in self.done and (self.traits.all_columns or self.done[k] == self.model.width):
            run.keep(self.kept[k])
            return self.held[k]._replace(made=0)
        budget = self.settings.size(k)
        blocks, forced = self.first_blocks(k, start)
        found = generate(
            self.pool,
            budget,
            blocks=blocks,
            forced=forced,
            most=self.settings.blocks(self.valid),
            tol=self.settings.tol,
            scale=self.scale,
            published=self.settings.paper_defaults,
            offer=run.offer,
            poll=poll,
            watch=watch,
        )
        self.renew()
        self.held[k], self.kept[k], self.done[k] = found, run.fit, self.model.width
        self.made += found.made
        return found

    def first_blocks(self, k, start):
        """(blocks, forced coefficients) to begin with: those of the last call for this size; of the
        nearest smaller size, or else the start's support.
        """
        if k in self.held:
            return self.held[k].blocks, self.held[k].forced
        near = max((j for j in self.held if j < k), default=None)
        if near is not None:
            return self.held[near].blocks, self.held[near].forced
        units = self.units_of(start)
        return (
            NO_BLOCKS.with_units(self.pool, units, not self.settings.paper_defaults)
            if units.size
            else NO_BLOCKS
        ), None

    def certified(self, outcome, outside):
        """The outcome with D over all p columns, for the relaxation and, where it says something,
        for size k: columns outside W push the least out of the sums.
        """
        k = self.size(outcome.fit)
        score, _, taken = self.pool.scores(self.right_side(outcome))
        score = np.sort(np.concatenate([score[score >= 0.0], outside]))[::-1]
        base = self.dual.smooth_part(outcome.alpha) - taken - self.margin()
        lower = base - float(score[: self.settings.size(k)].sum())
        self.relaxed[k] = outcome.relaxed, max(lower, self.relaxed.get(k, (0.0, -np.inf))[1])
        if not self.valid:
            return outcome
        self.bounds[k] = max(base - float(score[:k].sum()), self.bounds.get(k, -np.inf))
        proven = self.closed(k, outcome.fit)
        return outcome._replace(
            bound=self.bounds[k], proven=proven, status="proven" if proven else outcome.status
        )

    def profile(self):
        """Further columns of `path.rounds`: blocks made so far, and the largest relative
        gap (F - D) / |F| of a relaxation.
        """
        return {
            "blocks": self.made,
            "relaxation_gap": max(
                ((F - D) / max(abs(F), 1e-6 * self.scale) for F, D in self.relaxed.values()),
                default=np.nan,
            ),
        }


class GroupGeneratingSolver(GeneratingSolver):
    """The same for groups of a `GroupModel`: blocks are of working groups, with paper_defaults of
    all. A group's score is the sum of its columns' h; where groups overlap a column counts in each,
    which is a relaxation too: of the columns of a model each can be given to one of its groups.
    """

    def __init__(self, groups, settings, scale):
        super().__init__(groups.model, groups.lambda1, groups.lambda2, settings, scale)
        self.groups = groups
        self.pool = GroupPool(
            groups.model, self.dual, groups.problem.groups, groups.inside, self.traits.all_columns
        )

    def size(self, fit):
        return fit.groups.size - self.groups.forced.size

    def units_of(self, fit):
        return np.setdiff1d(fit.groups, self.groups.forced)

    def refit(self, units):
        groups = np.union1d(units, self.groups.forced)
        key = groups.tobytes()
        if key not in self.refits:
            self.refits[key] = self.groups.refit(groups)
        return self.refits[key]

    def check(self, outcomes, most):
        """(outcomes with their bounds over all groups, for each the groups outside the working ones
        that lower its D, at most `most`, best first), in one read of X.
        """
        score = self.pool.outside(
            np.column_stack([self.right_side(outcome) for outcome in outcomes])
        )
        found, joining = [], []
        for outcome, outside in zip(outcomes, score.T, strict=True):
            k, own = self.size(outcome.fit), self.pool.scores(self.right_side(outcome))[0]
            edge = (
                -np.partition(-own, k - 1)[k - 1] if 0 < k <= int(self.groups.inside.sum()) else 0.0
            )
            best = np.argsort(-outside, kind="stable")[: max(most, k)]
            found.append(
                self.certified(outcome, outside[best][outside[best] >= 0.0]) if k else outcome
            )
            joining.append(best[:most][outside[best[:most]] > max(edge, 0.0) * (1 + 1e-9)])
        return found, joining


class Candidates:
    """The best refit of the supports that cutting planes propose for size k."""

    def __init__(self, k, refit, watch):
        self.k, self.refit, self.watch, self.fit = k, refit, watch, None

    def keep(self, fit):
        """Compare a fit with the best one of its size."""
        self.watch("refit", fit.value)
        if self.fit is None or fit.value < self.fit.value:
            self.fit = fit

    def offer(self, units, blocks, score, ids):
        """Refit the units of a worst case, if they are k, and the k units of largest coefficients;
        the value of the best fit so far.
        """
        if units.size == self.k:
            self.keep(self.refit(units))
        self.keep(self.refit(ranked_units(blocks, score, ids, self.k)))
        return self.fit.value
