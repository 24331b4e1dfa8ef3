"""Moves under several responses that are decided by refits, where near combinations are among the
working columns, which tables do not see.
"""

import numpy as np

from .. import response_table
from ..ranking import Candidate
from .refit import RefitNeighborhood


class ResponseRefits(RefitNeighborhood):
    """`RefitNeighborhood` of a ResponseModel: moves are ranked by the table of several responses.
    Where near combinations are known, columns that the table takes for combinations may enter.
    """

    def _quadratic(self, fit, first):
        """(the quadratic on the working columns from position `first` on, what F is times it)."""
        return self.model.quadratic(fit, self.lambda2, first), 1.0

    def _closed(self, fit, first):
        """Working columns from `first` on that may not enter, and members that stay."""
        p = self.model.problem
        closed = ~p.usable[self.model.W]
        closed[self.model.where[fit.support]] = True
        return closed[first:], p.locked(fit.support)

    def _ranked_additions(self, fit, first, most):
        """The `most` best (-gain, column) among the working columns from position `first` on."""
        self.model.tables += 1
        quadratic, mean = self._quadratic(fit, first)
        skip, W = self._closed(fit, first)[0], self.model.W[first:]
        change = response_table.additions(quadratic, self.lambda2 / mean, skip)[0]
        if self.model.near is not None:
            for j in np.flatnonzero(~skip & np.isinf(change) & np.isin(W, self.model.near)):
                support = np.sort(np.append(fit.support, W[j]))
                change[j] = 0.0 if self.lambda2 or not self.model.dependent(support) else np.inf
        best = np.argsort(change, kind="stable")[:most]
        best = best[np.isfinite(change[best])]
        return list(zip((mean * change[best]).tolist(), W[best].tolist(), strict=True))

    def _remove(self, fit):
        """The best of the three removals ranked first; None when only forced columns are left."""
        return self._lowest(fit, [(int(j), -1) for j in self.removable(fit)[1][:3]])

    def _ranked_swaps(self, fit, first, keep):
        """The `keep` first swaps with working columns from position `first` on: Candidates."""
        self.model.tables += 1
        quadratic, mean = self._quadratic(fit, first)
        skip, locked = self._closed(fit, first)
        swap = response_table.all_exchanges(fit, quadratic, self.lambda2 / mean, skip, locked).swap
        change, W = swap.ravel(), self.model.W[first:]
        best = np.argsort(change, kind="stable")[:keep]
        best = best[np.isfinite(change[best])]
        out, into = np.unravel_index(best, swap.shape)
        out, into, change = fit.support[out].tolist(), W[into].tolist(), mean * change[best]
        return [Candidate(*one) for one in zip(change.tolist(), out, into, strict=True)]

    def removable(self, fit):
        """The quadratic cost of removing each unforced column, ascending, and the columns."""
        _, mean = self._quadratic(fit, self.model.width)
        B, kept = self.model.kept_inverse(fit.support, self.lambda2 / mean)
        locked = self.model.problem.locked(fit.support)
        loss = response_table.removals(fit.b, B, kept, locked)
        order = np.argsort(loss, kind="stable")[: int((~locked).sum())]
        return loss[order], fit.support[order]
