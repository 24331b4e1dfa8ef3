"""Neighbors of a solution, one exchange of groups away: every pair (a chosen group out, one of all
others in), decided by refits; where they are many, the groups that score best are tried.

The score of a group outside is twice what it takes off the objective by itself, c' G_gg^-1 c for
the slopes c of the fit without the member that it replaces (`verification.groups.scores`).
"""

import numpy as np

from ..core.status import FitStatus
from ..exchange.verification.groups import scores
from ..working_set.groups import GroupModel
from ..working_set.model import make_model
from .neighbors import Around, ExchangePairs

# columns up to which every exchange may be refitted: their Gram matrix is held then
GRAM_COLUMNS = 2000


class GroupNeighbors(Around):
    """The exchanges of groups; units are their numbers."""

    def prepare(self):
        """See `Around`."""
        s = self.solution
        self.model = GroupModel(make_model(self.problem), s.lambda1, s.lambda2)
        self.model.grow(s.groups)
        self.units = s.groups
        self.locked = np.isin(self.units, self.model.forced)
        free = self.model.free.copy()
        free[self.units] = False
        self.outside = np.flatnonzero(free)  # that may come in

    def first(self):
        """See `Around`."""
        s, here = self.solution, self.found()
        return here if FitStatus.SEPARATED in s.flags else self.model.refit(s.groups, here)

    def _instead_of(self, g):
        """The groups outside that keep the hierarchy in the place of member g."""
        return self.outside[self.model.hierarchy.instead(g, self._inside())[self.outside]]

    def _inside(self):
        return np.isin(np.arange(self.model.free.size), self.units)

    @property
    def total(self):
        """Number of exchanges."""
        return sum(self._instead_of(g).size for g in self.units[~self.locked])

    @property
    def cost(self):
        """Operations of all exchanges, inf where their columns are too many to hold."""
        size = self.fit.support.size + 2.0
        return (
            self.total * size**2 * (size if self.model.closed else self.problem.X.n)
            if np.unique(self.model.columns).size <= GRAM_COLUMNS
            else np.inf
        )

    def every(self):
        """All exchanges, unranked: ExchangePairs with a change of 0."""
        each = [(g, self._instead_of(g)) for g in self.units[~self.locked]]
        out = np.repeat([g for g, _ in each], [into.size for _, into in each]).astype(np.int64)
        into = np.concatenate([np.empty(0, dtype=np.int64), *(into for _, into in each)])
        return ExchangePairs(out, into, np.zeros(out.size))

    def without(self, i):
        """The Fit without member i; None where its box leaves out 0, or another one needs it."""
        if not self.model.hierarchy.removable(self._inside())[self.units[i]]:
            return None
        return self._rest(i)

    def worth(self, i):
        """Increase of loss + shrinkage when member i leaves, with those that need it."""
        inside = self._inside()
        inside[self.units[i]] = False
        units = np.flatnonzero(self.model.hierarchy.largest(inside))
        return self._refit(units).value - self.value

    def _rest(self, i):
        """The Fit of the members but i, whether they keep the hierarchy or not; None where its box
        leaves out 0.
        """
        own = self.problem.groups.of(self.units[i])
        if (self.problem.lower[own] > 0).any() or (self.problem.upper[own] < 0).any():
            return None
        return self._refit(np.delete(self.units, i))

    def _refit(self, units, target=np.inf):
        """The Fit of groups by the loss that results are about; None once `target` is out of
        reach.
        """
        if not self.reporting.needed:
            return self.model.refit(units, self.fit, target)
        fit = self.model.refit(units, self.fit, target + self.problem.loss.above)
        s = self.solution
        return None if fit is None else self.reporting.fit(fit, s.lambda1, s.lambda2)

    def swapped(self, out, into, target=np.inf):
        """The Fit after an exchange."""
        return self._refit(np.sort(np.append(self.units[self.units != out], into)), target)

    def _scores(self, fits):
        """Scores (m, G) of all groups at m fits."""
        sides = [self.model.model.derivatives(fit)[1:] for fit in fits]
        return scores(
            self.model,
            np.column_stack([-slopes for slopes, _ in sides]),
            np.array([float(v.sum()) for _, v in sides]),
        )

    def ranked_each(self, count):
        """For each member the `count` groups of best score in its place: list of ExchangePairs."""
        members = [i for i in np.flatnonzero(~self.locked) if self._instead_of(self.units[i]).size]
        fits = {i: self._rest(i) for i in members}
        members = np.array([i for i in members if fits[i] is not None], dtype=np.int64)
        empty = ExchangePairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        out = [empty] * self.units.size
        if not members.size or not self.outside.size:
            return out
        fits = [fits[i] for i in members]
        found = self._scores(fits)
        for i, fit, score in zip(members, fits, found, strict=True):
            into = self._instead_of(self.units[i])
            change = (
                fit.value
                - self.value
                - 0.5 * score[into]
                + np.array([self.cost_change(self.units[i], g) for g in into])
            )
            best = np.lexsort((into, change))[:count]
            out[i] = ExchangePairs(np.full(best.size, self.units[i]), into[best], change[best])
        return out

    def ranked(self, count):
        """The `count` most favorable exchanges by these scores: ExchangePairs."""
        out, into, change = (
            np.concatenate(part) for part in zip(*self.ranked_each(count), strict=True)
        )
        best = np.lexsort((out, into, change))[:count]
        return ExchangePairs(out[best], into[best], change[best])
