"""Groups by the feature generating machine: generation of candidates for all sizes."""

from typing import NamedTuple

import numpy as np

from ...algorithms.cutting_planes import GroupGeneratingSolver
from ...algorithms.operators import SizeOutcome
from ...core.status import FitStatus


class JoinLimits(NamedTuple):
    """The largest number of groups that join for one size at a time, and of their columns, unless
    one block has more.
    """

    groups: int = 60
    columns: int = 500


class Generation:
    """The phase that generates: rounds of solving the sizes on the working groups, each from the
    one below, and a read of X for all of them, after which groups that lower the dual value of a
    size join.
    """

    limits = JoinLimits()

    def __init__(self, sizes, settings):
        self.sizes, self.pool, self.groups = sizes, sizes.pool, sizes.groups
        self.solver = GroupGeneratingSolver(sizes.groups, settings, sizes.scale)
        self.polish = settings.polish
        self.most = max(
            self.pool.last, min(self.limits.groups, self.limits.columns // self.groups.widest)
        )
        self.stale, self.outcomes = [], []

    def start(self):
        """All sizes, with the groups that lower the dual value of the null fit."""
        self.stale, solver = list(range(1, self.pool.last + 1)), self.solver
        if not solver.traits.all_columns:
            solver.renew()
            null = self.pool.fits[0]
            first = SizeOutcome(null, 0, "", alpha=solver.dual_of(null))
            _, (J,) = solver.check([first], self.most)
            self.groups.grow(J)

    def unfinished(self):
        """Groups have joined for some size."""
        return bool(self.stale)

    def improve(self):
        """Solve the sizes for which groups have joined."""
        pool, poll = self.pool, self.sizes.clock.poll
        self.outcomes = []
        for k in self.stale:
            if k > pool.last:
                break
            poll()
            start = pool.fits[max(j for j in pool.fits if j <= k)]
            outcome = self.solver.solve(k, start, poll)
            pool.update(outcome.fit)
            self.groups.grow(outcome.fit.groups)
            self.outcomes.append(outcome)
        if not self.solver.traits.all_columns:  # the published form has no such proposals
            self.propose()

    def propose(self):
        """Let the cheapest removal from every size, and the best addition to it where its inverse
        is quick, compete for the sizes beside it.
        """
        pool, neighborhood = self.pool, self.sizes.neighborhood
        for step, sizes in (
            (neighborhood.drop, range(pool.last, 1, -1)),
            (neighborhood.add, range(1, pool.last)),
        ):
            for k in sizes:
                fit = pool.fits.get(k)
                if (
                    fit is not None
                    and FitStatus.SEPARATED not in fit.flags
                    and (
                        step == neighborhood.drop
                        or not self.groups.more_columns_than_rows(fit.support.size)
                    )
                ):
                    self.sizes.clock.poll()
                    new = step(fit, polish=False)
                    if new is not None:
                        pool.update(new)

    def unverified(self):
        """The sizes that were solved."""
        return [self.solver.size(outcome.fit) for outcome in self.outcomes]

    def verify(self, sizes):
        """Bound these sizes over all groups, and let those that lower a dual value join."""
        self.stale = []
        if not sizes or self.solver.traits.all_columns:
            return
        self.sizes.clock.poll()
        outcomes, joining = self.solver.check(self.outcomes, self.most)
        self.stale = [
            self.solver.size(outcome.fit)
            for outcome, J in zip(outcomes, joining, strict=True)
            if J.size and not outcome.proven
        ]
        self.groups.grow(np.unique(np.concatenate(joining)))

    def profile(self):
        """The numbers for `Rounds.end`: no size is verified yet."""
        return self.sizes.model, self.groups.members, 0, self.solver.profile()
