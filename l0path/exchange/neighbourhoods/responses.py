"""Moves under several responses, decided by the exact table of `response_table`, or by refits where
near combinations are among the working columns, which the table does not see.
"""

import numpy as np

from ...problem.problem import Fit
from .. import response_table, table
from ..local_search import flat
from ..ranking import Candidate
from .protocol import Reach
from .refit import RefitNeighbourhood


class ResponseRefits(RefitNeighbourhood):
    """`RefitNeighbourhood` of a ResponseModel: moves are ranked by the table of several responses.
    Where near combinations are known, columns that the table takes for combinations may enter.
    """

    def _quadratic(self, fit, first):
        """(the quadratic on the working columns from position `first` on, what F is times it)."""
        return self.model.quadratic(fit, self.lambda2, first), 1.0

    def _closed(self, fit, first):
        """Working columns from `first` on that may not enter, and members that stay."""
        p, W = self.model.problem, self.model.W[first:]
        return ~p.usable[W] | np.isin(W, fit.support), p.locked(fit.support)

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
        swap = response_table.table(fit, quadratic, self.lambda2 / mean, skip, locked).swap
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


class ResponseNeighbourhood:
    """Moves of a ResponseModel, a `protocol.Neighbourhood`; one `table.State` follows them by
    rank-one changes. Supports whose polish found nothing are remembered as long as the working
    columns are the same.
    """

    compiled, undecided = False, frozenset()  # no exchange is left to a refit

    def __init__(self, model, lambda2, scale, settings):
        self.model, self.lambda2, self.scale, self.settings = model, float(lambda2), scale, settings
        self.width, self.capacity, self.polished = -1, 0, set()

    def _widen(self, size):
        """Follow the working columns, with room for a support of so many."""
        model = self.model
        if self.width == model.width and size <= self.capacity:
            return
        self.width, self.capacity, self.polished = model.width, 2 * size + 20, set()
        q, p = model.q_all.shape[1], model.problem
        self.state = table.new_state(self.width, self.capacity)
        self.more = response_table.Coefficients(
            np.ascontiguousarray(model.q),
            np.zeros((q, self.capacity)),
            np.zeros((self.width, q)),
        )
        self.columns = table.Columns(
            model.G,
            np.zeros(self.width),
            2.0 * self.lambda2,
            self.width,
            np.isin(model.W, p.forced),
            np.where(p.usable[model.W], 0.0, 1e300),
        )
        response_table.build_all(self.state, self.columns, self.more, 0)

    def _load(self, fit):
        """Make the state hold the fit's support."""
        k, at = fit.support.size, self.model.where[fit.support]
        self._widen(k + 1)
        state = self.state
        if state.count[0] != k or not state.member[at].all() or state.count[1] > table.REFRESH:
            state.S[:k] = at
            response_table.build_all(state, self.columns, self.more, k)

    def _fit(self):
        """The state as a Fit."""
        model, state, k = self.model, self.state, int(self.state.count[0])
        S = state.S[:k]
        support = model.W[S]
        order = np.argsort(support)
        b = self.more.b[:, :k].T
        value = model.half_square - 0.5 * float((self.more.products[S] * b).sum())
        return Fit(support[order], np.ascontiguousarray(b[order]), model.problem.shift, value)

    def _polished(self):
        """The state after swaps, as a Fit."""
        fit = self._fit()
        if fit.key in self.polished:
            return fit
        tolerance = flat(fit.value, self.scale, self.settings.tol)
        most = self.settings.max_swaps
        tables = response_table.polish_all(self.state, self.columns, self.more, tolerance, most)
        self.model.tables += tables
        fit = fit if tables == 1 else self._fit()
        if tables <= most:
            self.polished.add(fit.key)
        return fit

    def add(self, fit, polish=True):
        """One size up: the best addition, then swaps. None when no column is independent of the
        support.
        """
        self._load(fit)
        j = response_table.best_column(self.state, self.columns, self.more)
        if j < 0:
            return None
        response_table.add_one(self.state, self.columns, self.more, j)
        return self._polished() if polish else self._fit()

    def drop(self, fit, polish=True):
        """One size down: the cheapest removal, then swaps. None when only forced columns are
        left.
        """
        self._load(fit)
        state, k = self.state, int(self.state.count[0])
        loss = (self.more.b[:, :k] ** 2).sum(axis=0) / np.diagonal(state.B)[:k]
        loss[self.columns.locked[state.S[:k]]] = np.inf
        if not np.isfinite(loss).any():
            return None
        response_table.drop_one(state, self.columns, self.more, int(np.argmin(loss)))
        return self._polished() if polish else self._fit()

    def swap(self, fit, thorough=False):
        """Swaps until none improves: the table is exact, so all are always tried."""
        self._load(fit)
        return self._polished()

    def refit(self, support, fit=None, target=np.inf):
        """The fit of a sorted support."""
        return self.model.refit(support, 0.0, self.lambda2)

    def without(self, fit, units):
        """The fit without some of its columns."""
        support = np.setdiff1d(fit.support, units, assume_unique=True)
        self._widen(support.size + len(units) + 1)
        self.state.S[: support.size] = self.model.where[support]
        response_table.build_all(self.state, self.columns, self.more, support.size)
        return self._fit()

    def removable(self, fit):
        """The norm of the coefficients of each unforced column, ascending, and the columns."""
        self._widen(fit.support.size)
        free = np.flatnonzero(~self.columns.locked[self.model.where[fit.support]])
        size = np.linalg.norm(fit.b[free], axis=1)
        order = np.argsort(size, kind="stable")
        return size[order], fit.support[free[order]]

    def refined(self, fit):
        """The fit made anew: rank-one changes leave rounding."""
        new = self.refit(fit.support)
        return new if np.isfinite(new.value) else fit

    def reach(self, last):
        """Half as many columns again as the last size."""
        return Reach(last // 2, int(0.9 * self.model.problem.n_eff) - 1, True)
