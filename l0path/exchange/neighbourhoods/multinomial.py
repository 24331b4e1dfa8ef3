"""Moves under the multinomial loss: preselected by the table of several responses, on a quadratic
with the mean curvature of the fit, ranked by the quadratic with its Hessian, decided by refits.
"""

import numpy as np

from ...core.status import FitStatus
from .. import response_table
from ..ranking import Candidate
from .class_quadratic import ClassTable, fill_table, predict
from .class_trials import Goal, first_open
from .refit import RefitNeighbourhood, exchanged

PRESELECTED = 3  # times as many exchanges as are wanted are ranked by the Hessian of the fit
HELD_NUMBERS = 1 << 20  # numbers in the tables of fits that are held


class MultinomialNeighbourhood(RefitNeighbourhood):
    """`RefitNeighbourhood` of a MultinomialModel."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.tables, self.thorough = {}, False

    def _table(self, fit):
        """The `ClassTable` of a fit, None where its Hessian is singular."""
        key = fit.key
        if key not in self.tables:
            model = self.model
            rows, (k, q), n = model.class_rows(), fit.b.shape, model.problem.X.n
            S, K = np.ascontiguousarray(model.where[fit.support]), k + int(rows.intercept)
            x = np.vstack([fit.b, model.T @ fit.b0]) if rows.intercept else fit.b.copy()
            P, D, V = np.empty((q + 1, n)), np.empty((q, n)), np.empty((q * (q + 1) // 2, n))
            table = ClassTable(S, x, np.empty((q * K, q * K)), np.empty(q * K), P, D, V)
            weak = fill_table(rows, S, self.lambda2, x, table)
            size = max(P.size + D.size + V.size + table.B.size, 1)
            while len(self.tables) > HELD_NUMBERS // size:
                self.tables.pop(next(iter(self.tables)))
            self.tables[key] = None if weak else table
        return self.tables[key]

    def _predicted(self, fit, pairs):
        """The changes (m,) that the quadratic of a fit predicts for exchanges `pairs` (out, into);
        None where its Hessian is singular.
        """
        table = self._table(fit) if pairs and FitStatus.SEPARATED not in fit.flags else None
        if table is None:
            return None
        change = np.empty(len(pairs))
        exchanges = self._positions(fit, pairs)
        predict(self.model.class_rows(), table, exchanges, self.lambda2, change)
        return change

    def _first_below(self, fit, pairs, target):
        """As in `RefitNeighbourhood`; chord steps refute most exchanges, and start refits."""
        table = self._table(fit) if pairs and FitStatus.SEPARATED not in fit.flags else None
        if table is None:
            return super()._first_below(fit, pairs, target)
        exchanges, rows = self._positions(fit, pairs), self.model.class_rows()
        goal, first = Goal(self.lambda2, float(target), self.thorough), 0
        x = np.empty((len(table.x) + 1, table.x.shape[1]))
        while first < len(pairs):
            e, good = first_open(rows, table, exchanges[first:], goal, x)
            if e < 0:
                break
            first += e + 1
            new = self._refit_from(fit, pairs[first - 1], x if good else None, target)
            if new is not None and new.value < target:
                return first - 1, new
            self._refused(fit, new)
        return -1, None

    def _refit_from(self, fit, pair, x, target):
        """The refit after an exchange from the coefficients x of `first_open`, or those of fit."""
        support = exchanged(fit.support, *pair)
        if x is None:
            return self.refit(support, fit, target)
        k, j = fit.support.size, np.searchsorted(support, pair[1])
        b = x[:k][fit.support != pair[0]]
        b = b if pair[1] < 0 else np.insert(b, j, x[-1], axis=0)
        start = (b, x[k] @ self.model.T if len(x) > k + 1 else fit.b0)
        return self.model.refit(support, self.lambda1, self.lambda2, start, target)

    def _positions(self, fit, pairs):
        """Exchanges (m, 2) of columns as positions in the support and in W, -1 for none."""
        exchanges = np.array(pairs, dtype=np.int64)
        out, into = exchanges.T
        out[out >= 0] = np.searchsorted(fit.support, out[out >= 0])
        into[into >= 0] = self.model.where[into[into >= 0]]
        return exchanges

    def swap(self, fit, thorough=False):
        """As in `RefitNeighbourhood`; on the way only swaps that are predicted to pay are tried."""
        self.thorough = thorough
        try:
            return super().swap(fit, thorough)
        finally:
            self.thorough = False

    def _additions_tried(self, fit):
        """Two: the quadratic has the curvatures of the fit."""
        return 2

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
        best = np.argsort(change, kind="stable")[: PRESELECTED * most]
        best, W = best[np.isfinite(change[best])], self.model.W[first:]
        change, into = change[best], W[best].tolist()
        predicted = self._predicted(fit, [(-1, j) for j in into])
        change = change if predicted is None else predicted
        return sorted(zip(change.tolist(), into, strict=True))[:most]

    def _remove(self, fit):
        """The best of the two removals ranked first; None when only forced columns are left."""
        pairs = [(int(j), -1) for j in self.removable(fit)[1]]
        predicted = self._predicted(fit, pairs)
        if predicted is not None:
            pairs = [pairs[e] for e in np.argsort(predicted, kind="stable")[:2]]
        return self._lowest(fit, pairs[:3])

    def _ranked_swaps(self, fit, first, keep):
        """The `keep` first swaps with working columns from position `first` on: Candidates."""
        self.model.tables += 1
        quadratic, mean = self.model.quadratic(fit, self.lambda2, first)
        skip, locked = self._closed(fit, first)
        swap = response_table.table(fit, quadratic, self.lambda2 / mean, skip, locked).swap
        change, W = swap.ravel(), self.model.W[first:]
        most = min(PRESELECTED * keep, change.size)
        best = np.argpartition(change, most - 1)[:most] if most else np.empty(0, np.int64)
        best = best[np.isfinite(change[best])]
        best = best[np.argsort(change[best], kind="stable")]
        out, into = np.unravel_index(best, swap.shape)
        pairs = list(zip(fit.support[out].tolist(), W[into].tolist(), strict=True))
        predicted = self._predicted(fit, pairs)
        change = mean * change[best] if predicted is None else predicted
        found = [
            Candidate(float(change[e]), *pairs[e])
            for e in np.argsort(change, kind="stable")[:keep]
            if np.isfinite(change[e])
        ]
        return found if self.thorough else [one for one in found if one.change < 0.0]

    def removable(self, fit):
        """The quadratic cost of removing each unforced column, ascending, and the columns."""
        _, mean = self.model.quadratic(fit, self.lambda2, self.model.width)
        B, kept = self.model.kept_inverse(fit.support, self.lambda2 / mean)
        locked = np.isin(fit.support, self.model.problem.forced, assume_unique=True)
        loss = response_table.removals(fit.b, B, kept, locked)
        order = np.argsort(loss, kind="stable")[: int((~locked).sum())]
        return loss[order], fit.support[order]
