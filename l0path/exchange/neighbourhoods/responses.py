"""Moves under several responses, decided by the exact table of `response_table`."""

import numpy as np

from .. import response_table
from ..local_search import flat
from .protocol import Reach
from .refit import exchanged


class ResponseNeighbourhood:
    """Moves of a ResponseModel, a `protocol.Neighbourhood`. The end of a polish is remembered for
    each support, and the best addition, as long as the working columns are the same.
    """

    compiled = False

    def __init__(self, model, lambda2, scale, settings):
        self.model, self.lambda2, self.scale, self.settings = model, float(lambda2), scale, settings
        self.width, self.polished, self.added = -1, {}, {}

    def _fresh(self):
        """Forget what was found on fewer working columns."""
        if self.width != self.model.width:
            self.width, self.polished, self.added = self.model.width, {}, {}
            p, W = self.model.problem, self.model.W
            self.closed = ~p.usable[W]

    def _skip(self, fit):
        skip = self.closed.copy()
        skip[self.model.where[fit.support]] = True
        return skip

    def _locked(self, fit):
        return self.model.problem.locked(fit.support)

    def refit(self, support, fit=None, target=np.inf):
        """The fit of a sorted support."""
        return self.model.refit(support, 0.0, self.lambda2)

    def add(self, fit, polish=True):
        """One size up: the best addition, then swaps. None when no column is independent of the
        support.
        """
        self._fresh()
        if fit.key not in self.added:
            quadratic = self.model.quadratic(fit, self.lambda2)
            change = response_table.additions(quadratic, self.lambda2, self._skip(fit))[0]
            j = int(np.argmin(change)) if change.size else 0
            found = change.size and np.isfinite(change[j])
            into = int(self.model.W[j]) if found else -1
            self.added[fit.key] = self.refit(exchanged(fit.support, -1, into)) if found else None
        new = self.added[fit.key]
        if new is None or not np.isfinite(new.value):
            return None
        return self.swap(new) if polish else new

    def drop(self, fit, polish=True):
        """One size down: the cheapest removal, then swaps. None when only forced columns are
        left.
        """
        self._fresh()
        _, units = self.removable(fit)
        if not units.size:
            return None
        new = self.without(fit, units[:1])
        return self.swap(new) if polish else new

    def swap(self, fit, thorough=False):
        """Swaps until none improves: the table is exact, so all are always tried."""
        self._fresh()
        trail = []
        for _ in range(self.settings.max_swaps):
            known = self.polished.get(fit.key)
            if known is not None:
                fit = known
                break
            trail.append(fit.key)
            better = self._improved(fit)
            if better is None:
                break
            fit = better
        for key in trail:
            self.polished[key] = fit
        return fit

    def _improved(self, fit):
        """The fit after the best swap, None where none improves."""
        if not fit.support.size:
            return None
        quadratic = self.model.quadratic(fit, self.lambda2)
        self.model.tables += 1
        swap = response_table.table(
            fit, quadratic, self.lambda2, self._skip(fit), self._locked(fit)
        ).swap
        i, j = np.unravel_index(int(np.argmin(swap)), swap.shape)
        tolerance = flat(fit.value, self.scale, self.settings.tol)
        if not swap[i, j] < -tolerance:
            return None
        pair = int(fit.support[i]), int(self.model.W[j])
        new = self.refit(exchanged(fit.support, *pair))
        return new if new.value < fit.value else None  # the table and the refit agree to rounding

    def without(self, fit, units):
        """The fit without some of its columns."""
        return self.refit(np.setdiff1d(fit.support, units, assume_unique=True))

    def removable(self, fit):
        """The increase of F by the removal of each unforced column, ascending, and the columns."""
        B, kept = self.model.kept_inverse(fit.support, self.lambda2)
        locked = self._locked(fit)
        loss = response_table.removals(fit.b, B, kept, locked)
        order = np.argsort(loss, kind="stable")[: int((~locked).sum())]
        return loss[order], fit.support[order]

    def refined(self, fit):
        """The fit as it is: refits are exact."""
        return fit

    def reach(self, last):
        """Half as many columns again as the last size."""
        return Reach(last // 2, int(0.9 * self.model.problem.n_eff) - 1, True)
