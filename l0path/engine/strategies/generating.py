"""The support path over the number of groups by the feature generating machine; with `polish` it
generates for the search over groups, whose swaps are checked over all of them.
"""

import time

import numpy as np

from ...core import threads
from ...core.status import FitStatus, Optimality
from ...exchange.local_search import LocalSearch
from ...first_order.operators import SizeOutcome
from ...relaxation.cutting_planes import FeatureGenerating, GroupGeneratingSolver
from .groups import GroupPath

TAKEN, COLUMNS = (
    60,
    500,
)  # groups that join for one size at a time at most, and their columns, unless one block has more


class GeneratedGroups(GroupPath):
    """Every size 0..max_k for one (lambda1, lambda2); interface of `GroupPath`, whose search with
    swaps follows where the settings ask for `polish`.
    """

    def __init__(self, model, part, settings, session):
        super().__init__(model, part, LocalSearch(effort="fast"), session)
        self.generating = settings
        self.solver = GroupGeneratingSolver(self.groups, settings, self.scale)

    def relax(self):
        """Only the relaxations and their bounds, beginning from the sets of groups to start
        from.
        """
        with threads.one_blas_thread():
            for groups in self.session.supports:
                self.offer_support(groups)
            self._seed()

    def _seed(self):
        """Rounds of solving the sizes on the working groups, each from the one below, and a read of
        X for all of them, after which groups that lower the dual value of a size join.
        """
        store, solver = self.store, self.solver
        most = max(store.last, min(TAKEN, COLUMNS // self.groups.widest))
        stale = list(range(1, store.last + 1))
        if not solver.traits.all_columns:
            solver.renew()
            _, (J,) = solver.check(
                [SizeOutcome(store.fits[0], 0, "", alpha=solver.partner(store.fits[0]))], most
            )
            self.groups.grow(J)
        while stale:
            started, outcomes = time.perf_counter(), []
            for k in stale:
                if k > store.last:
                    break
                self.clock.poll()
                outcome = solver.solve(
                    k, store.fits[max(j for j in store.fits if j <= k)], self.clock.poll
                )
                store.offer(outcome.fit)
                self.groups.grow(outcome.fit.groups)
                outcomes.append(outcome)
            if not solver.traits.all_columns:  # the published form has no such proposals
                self._nest()
            solved, stale = time.perf_counter(), []
            if outcomes and not solver.traits.all_columns:
                self.clock.poll()
                outcomes, joining = solver.check(outcomes, most)
                stale = [
                    solver.size(outcome.fit)
                    for outcome, J in zip(outcomes, joining, strict=True)
                    if J.size and not outcome.proven
                ]
                self.groups.grow(np.unique(np.concatenate(joining)))
            m = self.model
            self.rounds.append(
                {
                    "reads": m.reads,
                    "working": m.width,
                    "members": self.groups.W.size,
                    "tables": m.tables,
                    "refits": m.refits,
                    "checked": len(outcomes),
                    "verified": 0,
                    "search_seconds": solved - started,
                    "verify_seconds": time.perf_counter() - solved,
                    **solver.profile(),
                }
            )

    def _nest(self):
        """Let the cheapest removal from every size, and the best addition to it where its inverse
        is quick, compete for the sizes beside it.
        """
        store = self.store
        for step, sizes in (
            (self.mover.drop, range(store.last, 1, -1)),
            (self.mover.add, range(1, store.last)),
        ):
            for k in sizes:
                fit = store.fits.get(k)
                if (
                    fit is not None
                    and FitStatus.SEPARATED not in fit.flags
                    and (step == self.mover.drop or not self.groups.tall(fit.support.size))
                ):
                    self.clock.poll()
                    new = step(fit, polish=False)
                    if new is not None:
                        store.offer(new)

    def _search(self, done):
        if self.generating.polish:
            super()._search(done)

    def _verify(self, sizes):
        """Swaps over all groups with `polish`; else a size is what was generated for it, with its
        coefficients at their best.
        """
        if self.generating.polish:
            super()._verify(sizes)
        else:
            for k in sizes:
                self.mark_verified(k)

    @property
    def claim(self):
        """The coefficients of a size are at their best."""
        return Optimality.STATIONARY

    def closed(self, k):
        """Whether the gap of size k is closed."""
        return self.solver.closed(k, self.store.fits[k])

    def bound(self, k):
        """What no fit of k groups falls below, NaN where there is none."""
        return self.solver.bounds.get(k, float("nan"))


def relaxation_bounds(model, part, session):
    """(D, costs) of the relaxations of a slice: D_k (last + 1,), which no model of k groups falls
    below (NaN: not known), and the penalty factors of the groups that may be chosen.
    """
    path = GeneratedGroups(model, part, FeatureGenerating(), session)
    path.relax()
    D = [path.store.fits[0].value, *(path.bound(k) for k in range(1, path.store.last + 1))]
    return np.array(D), path.problem.groups.factor[path.groups.free]
