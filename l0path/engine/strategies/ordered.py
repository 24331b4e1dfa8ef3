"""Exchanges of single columns for ordered classes, whose predictions are so close that they say
which sizes are searched again and which are decided by bounds.
"""

from ...exchange import local_search
from ...exchange.neighbourhoods.chord import OrderedNeighbourhood
from .columns import WIDE, ColumnExchanges, entering


class OrderedExchanges(ColumnExchanges):
    """Every size 0..max_k for one (lambda1, lambda2) under the loss of ordered classes, where a
    read of X costs less than the search between two of them.
    """

    oscillated = 0.5

    @staticmethod
    def serves(problem):
        """Whether it is for a problem."""
        return problem.loss.traits.response == "ordered" and problem.X.p < WIDE

    def improve(self):
        """Sweeps over the sizes until nothing improves; in the first round one sweep upwards, since
        the columns that the first check brings change most sizes. The oscillation is a way out
        later on.
        """
        first, self.first = self.first, False
        if first and self.settings.effort != "fast":
            local_search.sweep(self.pool, self.neighbourhood, True, self.done, self.clock.poll)
        else:
            self.sweep(self.done)

    def compare(self, supports):
        """The columns of the squared loss's path are at hand; a sweep finds supports as low."""

    def admitted(self, found):
        """Columns enter that are predicted to improve a size, which is then searched again; the
        other exchanges are refuted from outside the working columns.
        """
        if not isinstance(self.neighbourhood, OrderedNeighbourhood):
            return super().admitted(found)
        promising, where = [[c for c in one if c.change < 0.0] for one in found], self.model.where
        waiting = [any(where[c.into] < 0 for c in one) for one in promising]
        return entering(promising), waiting

    def improved(self, fit, candidates):
        """As `ColumnExchanges.improved`, with swaps with columns outside the working ones."""
        better = super().improved(fit, candidates)
        if better is fit and isinstance(self.neighbourhood, OrderedNeighbourhood):
            return self.neighbourhood.swap_outside(fit, candidates)
        return better
