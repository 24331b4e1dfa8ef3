"""The common part of searches by exchanges of columns and of groups: rounds of sweeps with an
oscillation in the first one, and ways out of local optima once every size is verified.
"""

from abc import ABC, abstractmethod

import numpy as np

from ...core.status import End, Optimality
from ...exchange import perturbation
from ..sizes import SizeStrategy


class ExchangeStrategy(SizeStrategy, ABC):
    """A search by exchanges of units; a subclass has `settings` (`LocalSearch`), a `neighborhood`,
    `exact` (whether tables show all exchanges as they are), and verifies.
    """

    def __init__(self, model, pool, part, session):
        super().__init__(model, pool, part, session)
        self.scale, self.largest = pool.scale, pool.last
        self.rng = np.random.default_rng(0) if session.rng is None else session.rng
        self.done, self.first, self.ways = set(), True, self.ways_out()
        self.apart = False  # whether refits decide because of near combinations

    @abstractmethod
    def ways_out(self):
        """A generator of ways out of the local optima found, each of which a round follows."""

    def gram(self):
        """The columns whose Gram matrix ranks exchanges."""
        return self.model

    @abstractmethod
    def use_refits(self):
        """Let refits decide every exchange."""

    @property
    def optimality_if_verified(self):
        """All exchanges, or those of a ranking; nothing where near combinations are among the
        working columns of several responses, whose tables do not see them.
        """
        if self.apart and self.problem.turn is not None:
            return Optimality.UNVERIFIED
        return Optimality.REFIT_SWAP if self.exact else Optimality.REFIT_SWAP_M

    def optimality(self, k):
        """The class that was checked for the best model of size k."""
        found, undecided = super().optimality(k), self.neighborhood.undecided
        if found == Optimality.GLOBAL or not undecided:
            return found
        return Optimality.UNVERIFIED if self.pool.fits[k].key in undecided else found

    def offer_all(self):
        """Compare the supports of the session with the best ones of their sizes."""
        for units in self.session.supports:
            self.offer_support(units)

    def unfinished(self):
        """Whether sizes are unverified, or a way out of local optima was tried."""
        return self.first or bool(self.unverified()) or next(self.ways, False)

    def improve(self):
        """Sweeps over the sizes until nothing improves, in the first round with an oscillation
        beyond the last one.
        """
        self.sweep(self.done)
        first, self.first = self.first, False
        if first and self.settings.effort != "fast":
            if perturbation.oscillate(self.pool, self.neighborhood, self.clock.poll):
                self.sweep(self.done)

    def tell_apart(self):
        """Let refits decide where near combinations are among the working columns: the tables of
        exchanges, which are made of Gram matrices, do not see them.
        """
        pool, gram = self.pool, self.gram()
        known = gram.near.size if self.apart else 0
        if gram.near_columns(self.lambda2) == known:
            return
        self.apart, self.verified = True, {}
        self.use_refits()
        if pool.end == End.SATURATED:
            pool.last, pool.end = self.largest, ""
        self.refit_all()
        self.verified[0] = pool.fits[0].key
