"""Steps over sets of groups that keep a hierarchy: every set that is reached is closed."""

import numpy as np

from ...working_set.groups import GroupFit
from .gram import GramNeighborhood


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
