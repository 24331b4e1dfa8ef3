"""Which engine serves a plan: the support path for refit swaps, the sparse path for k-sparse
solvers, the lambda0 path for penalised ones (a support grid is filled from it).
"""

import numpy as np

from ..core.status import End, Optimality
from ..exchange.local_search import LocalSearch, Store
from ..first_order.coordinate_descent import CoordinateDescent
from ..relaxation.cutting_planes import FeatureGenerating
from .generated_groups import GeneratedGroups
from .group_path import GroupPath
from .lambda0_path import PenalisedPath
from .size_path import SupportPath
from .sparse_path import SparsePath


def make_engine(model, plan, *, lambda1, lambda2, max_k, clock, rng, supports, listener):
    """An engine with run() and rounds, and either `store` (sizes; where it has them, `bound`) or
    `points` (lambda0 values). listener(k, fit, optimality, lambda0) hears of what is verified.
    """
    problem, settings = model.problem, plan.settings
    free = problem.usable.copy()
    free[problem.forced] = False
    even = np.unique(problem.factor[free]).size <= 1
    if problem.groups is not None:
        factor = problem.groups.factor[
            np.isfinite(problem.groups.factor) & (problem.groups.factor > 0)
        ]
        if plan.grid == "lambda0" and np.unique(factor).size > 1:
            raise ValueError(
                "penalty_factor= differs among the groups: they are chosen by their number, so "
                "lambda0 values cannot be served; use grid='support'"
            )
        path = GeneratedGroups if isinstance(settings, FeatureGenerating) else GroupPath
        engine = path(
            model,
            lambda1=lambda1,
            lambda2=lambda2,
            max_k=max_k,
            settings=settings,
            clock=clock,
            rng=rng,
            supports=supports,
        )
        engine.on_verified = lambda k, fit: listener(k, fit, engine.optimality(k), float("nan"))
        return engine
    if isinstance(settings, LocalSearch) and settings.refit and (plan.grid == "support" or even):
        engine = SupportPath(
            model,
            lambda1=lambda1,
            lambda2=lambda2,
            max_k=max_k,
            settings=settings,
            clock=clock,
            rng=rng,
            supports=supports,
        )
        if settings.effort == "high":
            engine.harvest = lambda: harvest(model, lambda1, lambda2, max_k, clock)
        engine.on_verified = lambda k, fit: listener(k, fit, engine.optimality(k), float("nan"))
        return engine
    if hasattr(settings, "solver"):
        if plan.grid == "lambda0" and not even:
            raise ValueError(
                f"penalty_factor= differs among the columns: {type(settings).__name__} chooses "
                "columns by their number, so it cannot serve lambda0 values; "
                "use grid='support', or algorithm='cd', 'swap' or 'primal_dual'"
            )
        engine = SparsePath(
            model,
            lambda1=lambda1,
            lambda2=lambda2,
            max_k=max_k,
            settings=settings,
            clock=clock,
            supports=supports,
        )
        engine.on_verified = lambda k, fit: listener(k, fit, engine.optimality(k), float("nan"))
        return engine
    path = PenalisedPath(
        model,
        lambda1=lambda1,
        lambda2=lambda2,
        max_k=max_k,
        n_lambda0=plan.n_lambda0,
        lambda0=plan.lambda0 if plan.grid == "lambda0" else None,
        settings=settings,
        clock=clock,
    )
    path.on_point = lambda point: listener(
        path.size(point.fit), point.fit, point.optimality, point.lambda0
    )
    return path if plan.grid == "lambda0" else FilledSizes(path, max_k)


def harvest(model, lambda1, lambda2, max_k, clock):
    """Supports that coordinate descent, and coordinate descent with partial swaps, visit on their
    lambda0 paths.
    """
    supports = []
    for settings in (CoordinateDescent(), LocalSearch(refit=False)):
        path = PenalisedPath(
            model, lambda1=lambda1, lambda2=lambda2, max_k=max_k, settings=settings, clock=clock
        )
        path.run()
        supports += [fit.support for fit in path.fill(max_k).values()]
    return supports


class FilledSizes:
    """Every size from a lambda0 path: the best fit that was met at each size, missing ones by the
    best addition below or the cheapest removal above.
    """

    def __init__(self, path, max_k):
        self.path, self.max_k = path, max_k
        problem = path.model.problem
        self.store = Store(
            path.null, problem.forced.size, max_k, path.scale, perfect=problem.perfect
        )
        self.finished = False

    rounds = property(lambda self: self.path.rounds)
    dual_slopes = property(lambda self: self.path.dual_slopes)

    def run(self):
        """Run the path, then fill; whatever ends it, the sizes met so far are kept."""
        try:
            self.path.run()
            fits = self.path.fill(self.max_k)
            self.finished = True
        except BaseException:
            fits = self.path.harvest()
            raise
        finally:
            for _, fit in sorted(fits.items()):
                self.store.offer(fit)
            sizes = sorted(self.store.fits)
            gap = next((k for k in range(len(sizes)) if sizes[k] != k), len(sizes))
            if self.finished and gap <= self.store.last:
                self.store.finish(gap - 1, self.store.end or End.SATURATED)

    def optimality(self, k):
        """What the lambda0 path checked about this support; "stationary": its coefficients are the
        best on it, no more.
        """
        key = self.store.fits[k].support.tobytes()
        checked = [
            point.optimality
            for point in self.path.points
            if point.verified and point.fit.support.tobytes() == key
        ]
        return (
            checked[0]
            if checked
            else Optimality.STATIONARY
            if self.finished
            else Optimality.UNVERIFIED
        )

    def next_value(self):
        """Nothing is known beyond max_k."""
        return None

    def supports_found(self):
        """Nothing to offer to other slices: each has its own lambda0 path."""
        return []
