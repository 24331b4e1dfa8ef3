"""The support path over the number of groups of which some need others in every model: exchanges
of single groups that keep the hierarchy, and moves of several groups at once.

A group that pays only together with what it needs is not found by single additions. So each set is
also grown by a group with all that it lacks, and shrunk to its size again, a group at a time; every
set on the way competes for its size.
"""

import numpy as np

from ...exchange import group_ranking
from ...exchange.neighbourhoods.closed import ClosedNeighbourhood
from .groups import GroupExchanges

WHOLE_MOVES = 40  # of one set, those of the groups that promise most


class ClosedExchanges(GroupExchanges):
    """Every size 0..max_k for one (lambda1, lambda2) among sets of groups that keep a hierarchy.

    Claims compare a model with others of this kind: "refit_swap" with those that one addition or
    swap of single groups leads to.
    """

    kind = ClosedNeighbourhood

    def __init__(self, model, part, settings, session):
        super().__init__(model, part, settings, session)
        self.moved = set()

    def seed(self):
        """All groups."""
        self.groups.grow(np.flatnonzero(self.groups.free))

    def improve(self):
        """Sweeps, and moves of several groups, until neither improves a size."""
        super().improve()
        while self._move_sets() and self.settings.effort != "fast":
            self.sweep(self.done)

    def _move_sets(self):
        """Moves of several groups from each size; True if one improved a size."""
        improved, pool = False, self.pool
        for k in sorted(pool.fits):
            fit = pool.fits.get(k)
            if fit is None or fit.key in self.moved:
                continue
            self.moved.add(fit.key)
            for chain in self._chains(fit):
                self.clock.poll()
                improved |= self._grown_and_shrunk(fit, chain)
        return improved

    def _chains(self, fit):
        """Sets of two groups or more, one with all that it lacks, that may be added to a fit."""
        hierarchy, inside = self.problem.groups.hierarchy, self.neighbourhood.inside(fit.groups)
        lacking = np.flatnonzero(self.groups.free & ~inside & ~hierarchy.met(inside))
        if lacking.size > WHOLE_MOVES:
            best = self._additions(fit, inside.size)
            gain = np.full(inside.size, -np.inf)
            gain[[g for _, g in best]] = [-change for change, _ in best]
            lacking = lacking[np.argsort(-gain[lacking], kind="stable")[:WHOLE_MOVES]]
        free = self.groups.free
        return [chain for g in lacking for chain in hierarchy.chains(g, inside, free)]

    def _additions(self, fit, most):
        """[(change, group)] of the best additions, those too that lack what they need."""
        return group_ranking.table(self.groups, fit, None, most).additions

    def _grown_and_shrunk(self, fit, chain):
        """Add groups to a fit and remove as many others; True if a size improved."""
        new = self.groups.refit(np.union1d(fit.groups, chain), fit)
        improved = self.pool.update(new)
        for _ in chain:
            drops = [g for _, g in self.neighbourhood.drops(new) if g not in chain]
            if not drops:
                break
            new = self.groups.refit(new.groups[new.groups != drops[0]], new)
            improved |= self.pool.update(new)
        return improved
