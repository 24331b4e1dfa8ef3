"""Exchanges of single columns under several responses (`problem.several`): the search of
`columns`, with the tables of `exchange.response_table`.
"""

from ...core.status import Optimality
from ...exchange import perturbation
from ...exchange.neighbourhoods.choice import neighbourhood_of
from .columns import ColumnExchanges


class ResponseExchanges(ColumnExchanges):
    """Every size 0..max_k for one lambda2. Where near combinations are among the working columns
    nothing is claimed, because the tables do not see them.
    """

    screening_passes = 0

    @property
    def claim(self):
        """All exchanges; nothing with near combinations."""
        return Optimality.UNVERIFIED if self.apart else Optimality.REFIT_SWAP

    def use_refits(self):
        """Fit near combinations from the rows, and forget what was found without."""
        self.neighbourhood = neighbourhood_of(self.model, self.part, self.scale, self.settings)

    def restart(self, with_others):
        """Effort "high": random restarts and double swaps."""
        if with_others:
            perturbation.perturb(
                self.store, self.neighbourhood, self.rng, 30, self.done, self.clock.poll
            )
            if perturbation.double_swaps(self.store, self.neighbourhood, 5, self.clock.poll):
                self.sweep(self.done)

    def compare_single(self):
        """The check of size 1 has compared all columns, unless there are forced ones."""
        held = self.store.fits.get(1)
        if held is None or self.apart or self.problem.forced.size or not self.is_verified(1):
            return
        self.store.compared = held.key
        self.session.listener(self.point(1))
