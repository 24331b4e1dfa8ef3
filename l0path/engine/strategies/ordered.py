"""Exchanges of single columns for ordered classes, whose predictions are so close that they say
which sizes are searched again and which are decided by bounds.
"""

from ...exchange import local_search
from ...exchange.local_search import ON_THE_WAY
from ...exchange.neighborhoods.chord import OrderedNeighborhood
from .columns import WIDE, ColumnExchanges, entering


class OrderedExchanges(ColumnExchanges):
    """Every size 0..max_k for one (lambda1, lambda2) under the loss of ordered classes, where a
    read of X costs less than the search between two of them.
    """

    @staticmethod
    def serves(problem):
        """Whether it is for a problem."""
        return problem.loss.traits.response == "ordered" and problem.X.p < WIDE

    def improve(self):
        """As `ColumnExchanges.improve`; in the first round one sweep upwards."""
        first, self.first = self.first, False
        if first and self.settings.effort != "fast":
            local_search.sweep(self.pool, self.neighborhood, True, self.done, self.clock.poll)
        else:
            self.sweep(self.done)

    def compare(self, supports):
        """The columns of the squared loss's path are at hand; a sweep finds supports as low."""

    def tried(self, fit):
        """As `ColumnExchanges.tried`; of a fit that was compared with all others the first ones
        are looked at for the sake of other sizes.
        """
        return ON_THE_WAY if fit.key == self.pool.compared else super().tried(fit)

    def admitted(self, found):
        """Columns enter that are predicted to improve a size, which is then searched again; the
        other exchanges are refuted from outside the working columns.
        """
        if not isinstance(self.neighborhood, OrderedNeighborhood):
            return super().admitted(found)
        promising, where = [[c for c in one if c.change < 0.0] for one in found], self.model.where
        waiting = [any(where[c.into] < 0 for c in one) for one in promising]
        return entering(promising), waiting

    def improved(self, fit, candidates):
        """As `ColumnExchanges.improved`, by the candidates alone: they are the swaps that a ranking
        of the working columns and of those proposed has first, unless additions are among them.
        """
        if not isinstance(self.neighborhood, OrderedNeighborhood):
            return super().improved(fit, candidates)
        if fit.key == self.pool.compared:
            return fit
        better = fit
        if any(c.out < 0 for c in candidates):
            better = super().improved(fit, candidates)
        return self.neighborhood.swap_among(fit, candidates) if better is fit else better
