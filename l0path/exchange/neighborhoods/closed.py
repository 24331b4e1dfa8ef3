"""Steps over sets of groups that keep a hierarchy: every set that is reached is closed."""

import numpy as np

from ...working_set.groups import GroupFit
from .. import group_ranking
from .gram import GramNeighborhood
from .groups import GroupNeighborhood


class ClosedNeighborhood(GroupNeighborhood):
    """Additions, removals and swaps of single groups after which every group has what it needs.

    Every closed set is reached from every other one by additions and removals of this kind.
    """

    @property
    def hierarchy(self):
        """The hierarchy of the groups."""
        return self.model.problem.groups.hierarchy

    def inside(self, groups):
        """(G,) the groups of a set."""
        out = np.zeros(self.model.free.size, dtype=bool)
        out[groups] = True
        return out

    def table(self, fit):
        """The GroupTable of the exchanges that keep the hierarchy."""
        if fit.key not in self.tables:
            self.tables[fit.key], *at_fit = group_ranking.closed_table(self.model, fit, self.tried)
            if self.trials:
                self._keep(fit, group_ranking.own_table(self.model, fit, *at_fit))
        return self.tables[fit.key]

    def additions(self, fit, most):
        """[(change, group)] of the best additions, those too that lack what they need."""
        return group_ranking.table(self.model, fit, None, most).additions

    def drops(self, fit):
        """[(increase of F, group)] of the removals that nothing else in a fit needs."""
        may_leave = self.hierarchy.removable(self.inside(fit.groups))
        return [(x, g) for x, g in super().drops(fit) if may_leave[g]]

    def _near(self, fit):
        near = self.model.near_groups()
        if not near:
            return near
        inside = self.inside(fit.groups)
        met = self.hierarchy.met(inside)
        return [g for g in near if met[g] and not inside[g]][: self.tried]

    def _near_swaps(self, fit):
        pairs = super()._near_swaps(fit)
        return [pair for pair in pairs if self.hierarchy.closed(self._after(fit, *pair[1:]))]

    def _after(self, fit, out, into):
        inside = self.inside(fit.groups)
        inside[out], inside[into] = False, True
        return inside

    def without(self, fit, units):
        """The fit without some of its groups, and without those that need them."""
        inside = self.inside(np.setdiff1d(fit.groups, units))
        return self.model.refit(np.flatnonzero(self.hierarchy.largest(inside)), fit)


class ClosedGramNeighborhood(GramNeighborhood):
    """A GramNeighborhood of groups of one column each, under the strong rule: all sets on its way
    are closed. Its fits are `GroupFit`s.
    """

    def __init__(self, groups, max_k, scale, settings):
        self.hierarchy, self.groups = groups.problem.groups.hierarchy, groups
        self.owner = np.zeros(groups.problem.X.p, dtype=np.int64)
        self.owner[groups.columns] = np.repeat(np.arange(groups.free.size), np.diff(groups.start))
        super().__init__(groups.model, groups.lambda2, max_k, scale, settings)

    def _columns(self, q):
        owner, may = self.owner[self.model.W], self.groups.free.copy()
        may[self.groups.forced] = True
        may &= ~(self.hierarchy.needs & ~may).any(axis=1)
        needs = np.ascontiguousarray(self.hierarchy.needs[owner[:, None], owner])
        return super()._columns(q)._replace(cost=np.where(may[owner], 0.0, 1e300), needs=needs)

    def _of_groups(self, fit):
        return GroupFit(*fit, np.sort(self.owner[fit.support]))

    def _fit(self):
        return self._of_groups(super()._fit())

    def _found(self, best, k):
        return self._of_groups(super()._found(best, k))
