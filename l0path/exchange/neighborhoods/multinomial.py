"""Moves under the multinomial loss: preselected by the table of several responses, on a quadratic
with the mean curvature of the fit, ranked by the quadratic with its Hessian, decided by refits.
"""

from typing import NamedTuple

import numpy as np

from ...core.status import FitStatus
from ...problem.problem import Fit
from .class_quadratic import Among, rank, removals, table_at
from .class_trials import ClassGoal, first_open
from .responses import ResponseRefits

PRESELECTED = 3  # times as many exchanges as are wanted are ranked by the Hessian of the fit
HELD_NUMBERS = 1 << 20  # numbers in the tables of fits that are held


class Refitted(NamedTuple):
    """A support that was refitted: F there is at least `least`; its fit, None where refits ended
    before.
    """

    least: float
    fit: Fit | None


class KnownSupports:
    """The supports that were refitted: sweeps up and down the sizes come to the same ones, and a
    swap of the column that came last is a swap of the support before.

    The number of a support is the sum of random 64-bit numbers of its members.
    """

    def __init__(self):
        self.rng, self.held, self.size = np.random.default_rng(0), {}, 0
        self.numbers = np.zeros(1, np.int64)  # of no column, and of the working columns
        self.members = None  # positions asked for last, what their number is less each of them

    def _numbers(self, width):
        """The numbers of no column and of the working columns, `width` of them."""
        if self.numbers.size <= width:
            new = self.rng.integers(-(1 << 63), 1 << 63, width, np.int64)
            self.numbers = np.append(self.numbers, new)
        return self.numbers

    def after(self, S, exchanges, width):
        """The numbers, a list, of the supports after exchanges (m, 2) of the positions S."""
        numbers = self._numbers(width)
        if self.members is None or self.members[0] is not S:
            members = numbers[1 + np.append(S, -1)]
            self.members = S, members.sum() - members
        return (self.members[1][exchanges[:, 0]] + numbers[1 + exchanges[:, 1]]).tolist()

    def of(self, S, width):
        """The number of the support of positions S."""
        return int(self._numbers(width)[1 + S].sum())

    def forget(self):
        """Forget what was found."""
        self.held, self.size = {}, 0

    def note(self, number, fit, target):
        """Note a refit that was to come below a target: its fit, None where it could not."""
        if fit is not None and FitStatus.NOT_CONVERGED in fit.flags:
            return
        known = self.held.pop(number, None)
        if fit is None:
            self.held[number] = Refitted(
                target if known is None else max(target, known.least), None
            )
            return
        self.held[number], self.size = Refitted(fit.value, fit), self.size + fit.b.size
        while self.size > HELD_NUMBERS:
            oldest = self.held.pop(next(iter(self.held))).fit
            self.size -= 0 if oldest is None else oldest.b.size


class MultinomialNeighborhood(ResponseRefits):
    """`ResponseRefits` of a MultinomialModel."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.tables, self.known = {}, KnownSupports()
        self.locked = np.zeros(self.model.problem.X.p, bool)  # columns that stay
        self.locked[self.model.problem.forced] = True
        self.usable = np.empty(0, bool)  # working columns that may enter

    def _table(self, fit):
        """The `ClassTable` of a fit, None where its Hessian is singular."""
        key = fit.key
        if key not in self.tables:
            model = self.model
            table = table_at(model, fit, self.lambda2)
            size = self.model.problem.X.n + (0 if table is None else table.V.size + table.B.size)
            while len(self.tables) > HELD_NUMBERS // size:
                self.tables.pop(next(iter(self.tables)))
            self.tables[key] = table
        return self.tables[key]

    def _ranked(self, fit, table, first, most, swaps):
        """The `most` exchanges (m, 2) with working columns from position `first` on that the
        quadratic ranks first, positions in the support and in W, and their changes; None where
        columns of the support are combinations.
        """
        self.model.tables += 1
        model = self.model
        if self.usable.size < model.width:
            self.usable = model.problem.usable[model.W]
        may_enter = self.usable.copy()
        may_enter[table.S] = False
        among = Among(model.G, may_enter, first, self.locked[fit.support], swaps)
        most_ranked = PRESELECTED * most
        exchanges, change = np.empty((most_ranked, 2), np.int64), np.empty(most_ranked)
        found = rank(model.row_data(model.Z), table, among, self.lambda2, exchanges, change)
        if found < 0:
            return None, None
        found = min(found, most)
        return exchanges[:found], change[:found]

    def addition(self, fit, column, target):
        """The refit with one more column; None once `target` is out of reach."""
        return self._first_below(fit, [(-1, column)], target)[1]

    def _first_below(self, fit, pairs, target):
        """As in `RefitNeighborhood`; chord steps refute most exchanges, and start refits."""
        table = self._table(fit) if pairs and FitStatus.SEPARATED not in fit.flags else None
        if table is None:
            return super()._first_below(fit, pairs, target)
        return self._first_of(fit, table, self._positions(fit, pairs), target)

    def refit(self, support, fit, target=np.inf):
        """As in `RefitNeighborhood`; a fit that is known is returned."""
        number = self.known.of(self.model.where[support], self.model.width)
        known = self.known.held.get(number)
        if known is not None and (known.least >= target or known.fit is not None):
            return known.fit
        new = super().refit(support, fit, target)
        self.known.note(number, new, target)
        return new

    def _first_of(self, fit, table, exchanges, target, thorough=False):
        """(number, fit) of the first of the exchanges (m, 2), positions in the support and in W,
        whose refit lies below `target`; -1 and None where there is none.
        """
        numbers, held = self.known.after(table.S, exchanges, self.model.width), self.known.held
        tried, last, better = [], -1, None
        for e, number in enumerate(numbers):
            known = held.get(number)
            if known is None or known.least < target:
                if known is not None and known.fit is not None:
                    last, better = e, known.fit
                    break
                tried.append(e)
        if not tried:
            return last, better
        model, exchanges, first = self.model, exchanges[tried], 0
        goal = ClassGoal(self.lambda2, float(target), thorough)
        x = np.empty((len(table.x) + 1, table.x.shape[1]))
        while first < len(tried):
            e, _ = first_open(model.row_data(model.Z), table, exchanges[first:], goal, x)
            if e < 0:
                break
            first += e + 1
            support, start = self._exchanged(fit, exchanges[first - 1], x)
            new = model.refit(support, 0.0, self.lambda2, start, goal.target)
            self.known.note(numbers[tried[first - 1]], new, target)
            if new is not None and new.value < target:
                last, better = tried[first - 1], new
                break
            self._refused(fit, new)
        return last, better

    def _exchanged(self, fit, exchange, x):
        """(support, (b, b0)) after an exchange, with the coefficients x of `first_open`."""
        (i, j), k = exchange.tolist(), fit.support.size
        gone = [*([i] if i >= 0 else []), *([k] if j < 0 else [])]
        support = np.delete(np.append(fit.support, self.model.W[j]), gone)
        b, order = np.delete(x[[*range(k), -1]], gone, axis=0), np.argsort(support)
        b0 = x[k] @ self.model.T if self.model.problem.intercept else fit.b0
        return support[order], (b[order], b0)

    def _positions(self, fit, pairs):
        """Exchanges (m, 2) of columns as positions in the support and in W, -1 for none."""
        where, members = self.model.where, fit.support.tolist()
        return np.array(
            [(members.index(i) if i >= 0 else -1, where[j] if j >= 0 else -1) for i, j in pairs]
        )

    def _improve(self, fit, first, keep, thorough):
        """As in `RefitNeighborhood`."""
        blind = FitStatus.SEPARATED in fit.flags or not fit.support.size
        table = None if blind else self._table(fit)
        exchanges, change = (
            (None, None) if table is None else self._ranked(fit, table, first, keep, True)
        )
        if change is None:
            return super()._improve(fit, first, keep, thorough)
        target, key = fit.value - self._tolerance(fit.value), fit.key
        # columns that came later must beat the first pairs of before
        last = self.last_ranked.get((key, keep), np.inf) if first else np.inf
        tried = slice(
            np.searchsorted(change, last, "right")
            if thorough
            else np.searchsorted(change, min(last, 0.0))
        )
        new = self._first_of(fit, table, exchanges[tried], target, thorough)[1]
        if new is None and change.size == keep:
            self.last_ranked[key, keep] = min(last, float(change[-1]))
        return new

    def _additions_tried(self, fit):
        """Two: the quadratic has the curvatures of the fit."""
        return 2

    def _ranked_additions(self, fit, first, most):
        """The `most` best (-gain, column) among the working columns from position `first` on."""
        blind = FitStatus.SEPARATED in fit.flags or self.model.near is not None
        table = None if blind else self._table(fit)
        if table is not None:
            exchanges, change = self._ranked(fit, table, first, most, False)
            if change is not None:
                return list(
                    zip(change.tolist(), self.model.W[exchanges[:, 1]].tolist(), strict=True)
                )
        return super()._ranked_additions(fit, first, most)

    def _remove(self, fit):
        """The best of the two removals ranked first; None when only forced columns are left."""
        may_leave = np.flatnonzero(~self.locked[fit.support])
        table = None if FitStatus.SEPARATED in fit.flags else self._table(fit)
        if table is None:
            return super()._remove(fit)
        first = fit.support[may_leave[np.argsort(removals(table)[may_leave], kind="stable")[:2]]]
        return self._lowest(fit, [(j, -1) for j in first.tolist()])

    def _quadratic(self, fit, first):
        return self.model.quadratic(fit, self.lambda2, first)
