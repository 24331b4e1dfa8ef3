"""Neighbors of a solution of several responses or classes, one exchange away: ranked by the table
of `l0path.exchange.response_table`, which decides under the squared loss without lambda1 and
bounds; refits decide elsewhere.
"""

import numpy as np

from ..exchange import response_table
from ..exchange.verification.groups import scores_of_responses
from .group_neighbors import GroupNeighbors
from .neighbors import TABLE_ENTRIES, Neighbors


class ResponseNeighbors(Neighbors):
    """The exchanges of columns under several responses or classes."""

    def first(self):
        """See `Around`; coefficients in the user's units are no start."""
        s = self.solution
        return self.model.refit(s.support, s.lambda1, s.lambda2)

    def table(self):
        """As `Neighbors.table`."""
        fit, p = self.fit, self.problem
        self.model.read([fit.support])
        lambda2, dependent = self.solution.lambda2, bool(self.solution.lambda1 or p.boxed)
        state = self.model.over_all([fit], lambda2)[0]
        step = max(256, TABLE_ENTRIES // (fit.support.size + 1))
        for start in range(0, p.X.p, step):
            part = slice(start, min(start + step, p.X.p))
            skip = ~p.usable[part]
            inside = fit.support[(fit.support >= part.start) & (fit.support < part.stop)]
            skip[inside - start] = True
            quadratic = self.model.of_all(fit, state, part)
            b = self.model.in_units(fit)
            change = response_table.all_exchanges(
                b, quadratic, lambda2, skip, self.locked, dependent
            ).swap
            if self.lambda0:
                cost = np.where(skip, 0.0, p.factor[part])
                change = change + self.lambda0 * (cost - p.factor[fit.support][:, None])
            yield start, change


class ResponseGroupNeighbors(GroupNeighbors):
    """The exchanges of groups under several responses or classes."""

    def first(self):
        """As in `ResponseNeighbors`."""
        return self.model.refit(self.solution.groups)

    def _scores(self, fits):
        """As `GroupNeighbors._scores`."""
        return scores_of_responses(self.model, fits)
