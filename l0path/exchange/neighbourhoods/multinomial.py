"""Moves under the multinomial loss: ranked by the table of several responses, on a quadratic with
the mean curvature of the fit, and decided by refits.
"""

import numpy as np

from .. import response_table
from ..ranking import Candidate
from .refit import RefitNeighbourhood


class MultinomialNeighbourhood(RefitNeighbourhood):
    """`RefitNeighbourhood` of a MultinomialModel."""

    def _closed(self, fit, first):
        """Working columns from `first` on that may not enter, and members that stay."""
        p, W = self.model.problem, self.model.W[first:]
        locked = np.isin(fit.support, p.forced, assume_unique=True)
        return ~p.usable[W] | np.isin(W, fit.support), locked

    def _ranked_additions(self, fit, first, most):
        """The `most` best (-gain, column) among the working columns from position `first` on."""
        self.model.tables += 1
        quadratic, mean = self.model.quadratic(fit, self.lambda2, first)
        skip = self._closed(fit, first)[0]
        change = mean * response_table.additions(quadratic, self.lambda2 / mean, skip)[0]
        best = np.argsort(change, kind="stable")[:most]
        W = self.model.W[first:]
        return [(float(change[j]), int(W[j])) for j in best if np.isfinite(change[j])]

    def _remove(self, fit):
        """The best of the three removals ranked first; None when only forced columns are left."""
        _, units = self.removable(fit)
        return self._lowest(fit, [(int(j), -1) for j in units[:3]])

    def _ranked_swaps(self, fit, first, keep):
        """The `keep` first swaps with working columns from position `first` on: Candidates."""
        self.model.tables += 1
        quadratic, mean = self.model.quadratic(fit, self.lambda2, first)
        skip, locked = self._closed(fit, first)
        swap = response_table.table(fit, quadratic, self.lambda2 / mean, skip, locked).swap
        best = np.argsort(swap, axis=None, kind="stable")[:keep]
        i, j = np.unravel_index(best, swap.shape)
        W = self.model.W[first:]
        return [
            Candidate(float(mean * swap[a, b]), int(fit.support[a]), int(W[b]))
            for a, b in zip(i, j, strict=True)
            if np.isfinite(swap[a, b])
        ]

    def removable(self, fit):
        """The quadratic cost of removing each unforced column, ascending, and the columns."""
        _, mean = self.model.quadratic(fit, self.lambda2, self.model.width)
        B, kept = self.model.kept_inverse(fit.support, self.lambda2 / mean)
        locked = np.isin(fit.support, self.model.problem.forced, assume_unique=True)
        loss = response_table.removals(fit.b, B, kept, locked)
        order = np.argsort(loss, kind="stable")[: int((~locked).sum())]
        return loss[order], fit.support[order]
