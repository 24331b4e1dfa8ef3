"""Exchanges of single columns under several responses (`problem.several`): the search of
`columns`, with the tables of `exchange.response_table`.
"""

import numpy as np

from ...core.status import Optimality
from ...exchange import perturbation
from ...exchange.local_search import LocalSearch
from ...exchange.neighborhoods.choice import neighborhood_of
from ...exchange.verification.groups import scores_of_responses
from ..protocols import Session, Slice
from ..size_path import SizePath
from .closed import ClosedExchanges
from .columns import ColumnExchanges
from .groups import GroupExchanges


class ResponseExchanges(ColumnExchanges):
    """Every size 0..max_k for one lambda2. Where near combinations are among the working columns
    nothing is claimed, because the tables do not see them.
    """

    @property
    def optimality_if_verified(self):
        """All exchanges; nothing with near combinations."""
        return Optimality.UNVERIFIED if self.apart else Optimality.REFIT_SWAP

    def most_correlated(self, sizes, most):
        """The `most` columns of largest correlation with the residuals of each size, arrays; the
        norm over the responses.
        """
        model, p = self.model, self.problem
        fits = [self.pool.fits[k] for k in sizes]
        model.reads += 1
        C = p.X.correlate(np.hstack([-model.derivatives(fit).slopes for fit in fits]))
        score = np.linalg.norm(C.reshape(p.X.p, len(fits), -1), axis=2).T
        score /= np.sqrt(np.maximum(p.square, 1e-300))
        score[:, ~p.usable] = -1.0
        return list(np.argpartition(-score, most - 1, axis=1)[:, :most])

    def use_refits(self):
        """Fit near combinations from the rows, and forget the results found otherwise."""
        self.neighborhood = neighborhood_of(
            self.model, self.part, self.scale, self.settings, refits=True
        )

    def restart(self, with_others):
        """Effort "high": random restarts and double swaps."""
        if with_others:
            perturbation.perturb(
                self.pool, self.neighborhood, self.rng, 30, self.done, self.clock.poll
            )
            if perturbation.double_swaps(self.pool, self.neighborhood, 5, self.clock.poll):
                self.sweep(self.done)

    def compare_single(self):
        """The check of size 1 has compared all columns, unless there are forced ones."""
        held = self.pool.fits.get(1)
        if held is None or self.apart or self.problem.forced.size or not self.is_verified(1):
            return
        self.pool.compared = held.key
        self.session.listener(self.point(1))


class MultinomialExchanges(ColumnExchanges):
    """Every size 0..max_k for one lambda2 under the multinomial loss: the m exchanges ranked first
    are decided by refits. Where near combinations are among the working columns nothing is claimed.
    """

    @property
    def optimality_if_verified(self):
        """The exchanges ranked first; nothing with near combinations, which are not ranked."""
        return Optimality.UNVERIFIED if self.apart else Optimality.REFIT_SWAP_M

    def gram(self):
        """The columns whose Gram matrix ranks exchanges."""
        return self.model

    def start_from_squares(self):
        """The path of several responses, the slopes at the null fit, starts this one."""
        null, proxy = self.pool.fits[0], self.model.proxy()
        part = Slice(0.0, self.lambda2 / self.model.quadratic(null, 0.0)[1], self.pool.last)
        fast = LocalSearch(effort="fast", tol=self.settings.tol)
        path = SizePath(ResponseExchanges(proxy, part, fast, Session(self.clock)))
        path.run()
        self.model.reads += proxy.reads
        self.model.grow(proxy.W)
        for support in path.result.starts:
            self.offer_support(support)

    def offer_support(self, support):
        """Compare a support from elsewhere with the best of its size; the refit starts from the
        coefficients of the size before.
        """
        k = support.size - self.model.problem.forced.size
        if not 0 < k <= self.pool.last:
            return
        self.model.grow(support)
        if not self.lambda2 and self.model.dependent(support):
            return  # sizes end where every other column is a combination of those chosen
        near = self.pool.fits.get(k, self.pool.fits.get(k - 1, self.pool.fits[0]))
        held = self.pool.fits.get(k)
        target = np.inf if held is None else held.value - self.pool.tolerance(held.value)
        new = self.neighborhood.refit(support, near, target)
        if new is not None:
            self.pool.update(new)

    def use_refits(self):
        """Refits decide every exchange as it is; those of before did not know near combinations."""
        self.neighborhood.known.forget()

    def restart(self, with_others):
        """Effort "high": random restarts."""
        if with_others:
            perturbation.perturb(
                self.pool, self.neighborhood, self.rng, 10, self.done, self.clock.poll
            )

    def compare_single(self):
        """Models of one column are compared by refits of those ranked first only."""


class ResponseGroupExchanges(GroupExchanges):
    """Every number of groups 0..max_k for one lambda2 under several responses or classes: the m
    exchanges ranked first are decided by refits. Nothing is claimed with near combinations.
    """

    @property
    def optimality_if_verified(self):
        """The exchanges ranked first; nothing with near combinations, which are not ranked."""
        return Optimality.UNVERIFIED if self.apart else Optimality.REFIT_SWAP_M

    def compare_single(self):
        """Models of one group are compared by refits of those ranked first only."""

    def _screen(self, sizes, most, plain=False):
        """As `GroupExchanges._screen`, by the gradients at the fits as they are."""
        fits, new = [self.pool.fits[k] for k in sizes], []
        for fit, score in zip(fits, scores_of_responses(self.groups, fits), strict=True):
            score[fit.groups] = -1.0
            best = np.argsort(-score, kind="stable")[:most]
            new.append(best[score[best] > 0.0])
        return self.groups.grow(np.unique(np.concatenate(new)))


class ResponseClosedExchanges(ResponseGroupExchanges, ClosedExchanges):
    """`ResponseGroupExchanges` among sets of groups that keep a hierarchy."""
