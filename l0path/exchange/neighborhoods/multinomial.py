"""Moves under the multinomial loss: preselected by the table of several responses, on a quadratic
with the mean curvature of the fit, ranked by the quadratic with its Hessian, decided by refits.
"""

from typing import NamedTuple

import numpy as np

from ...core.status import FitStatus
from ...problem.problem import Fit
from ..ranking import roles
from ..trials import Goal, tried
from .class_quadratic import ClassQuadratic
from .refit import RefitNeighborhood

PRESELECTED = 3  # times as many exchanges as are wanted are ranked by the Hessian of the fit
HELD_NUMBERS = 1 << 20  # numbers in the quadratics of fits that are held
FARTHEST = 200.0  # predictors beyond which coefficients are no start of a refit


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
        """The numbers, a list, of the supports after `Exchanges` of the positions S."""
        numbers = self._numbers(width)
        if self.members is None or self.members[0] is not S:
            members = numbers[1 + np.append(S, -1)]
            self.members = S, members.sum() - members
        return (self.members[1][exchanges.out] + numbers[1 + exchanges.into]).tolist()

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


class MultinomialNeighborhood(RefitNeighborhood):
    """A RefitNeighborhood of a MultinomialModel."""

    remembers = False  # what a guess refuted on the way is not refuted

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.quadratics, self.known = {}, KnownSupports()
        self.sharp = True

    def _class_quadratic(self, fit):
        """The `ClassQuadratic` of a fit, None where its Hessian is singular."""
        key = fit.key
        if key not in self.quadratics:
            new = ClassQuadratic(self.model, fit, self.lambda2)
            while len(self.quadratics) > HELD_NUMBERS // new.size:
                self.quadratics.pop(next(iter(self.quadratics)))
            self.quadratics[key] = new if new.clear else None
        return self.quadratics[key]

    def _ranked(self, fit, quadratic, first, most, swaps=True):
        """(table, exchanges, changes) of the `most` swaps, or additions, with working columns from
        position `first` on that the quadratic ranks first; Nones where columns of the support are
        combinations.
        """
        self.model.tables += 1
        closed, locked, _, _ = roles(self.model.problem, fit, self.model.W[first:], 0.0)
        preselected = quadratic.preselected(
            fit, first, (closed, locked | (not swaps)), PRESELECTED * most
        )
        if preselected is None:
            return None, None, None
        table, change = quadratic.predicted(preselected)
        best = np.argsort(change, kind="stable")[:most]
        best = best[change[best] < np.inf]
        return table, preselected.of(best), change[best]

    def addition(self, fit, column, target):
        """The refit with one more column; None once `target` is out of reach."""
        return self._first_below(fit, [(-1, column)], target)[1]

    def _first_below(self, fit, pairs, target, thorough=False):
        """As in `RefitNeighborhood`; chord steps refute most exchanges, and start refits."""
        blind = not len(pairs) or FitStatus.SEPARATED in fit.flags
        quadratic = None if blind else self._class_quadratic(fit)
        if quadratic is None:
            return super()._first_below(fit, pairs, target)
        exchanges = self._exchanges(fit, pairs)
        return self._first_of(fit, quadratic.table(exchanges), exchanges, target, thorough)

    def refit(self, support, fit, target=np.inf):
        """As in `RefitNeighborhood`; a fit that is known is returned."""
        number = self.known.of(self.model.where[support], self.model.width)
        known = self.known.held.get(number)
        if known is not None and (known.least >= target or known.fit is not None):
            return known.fit
        new = super().refit(support, fit, target)
        self.known.note(number, new, target)
        return new

    def _first_of(self, fit, table, exchanges, target, thorough):
        """(number, fit) of the first of the exchanges whose refit lies below `target`; -1 and None
        where there is none.
        """
        model, held = self.model, self.known.held
        numbers = self.known.after(table.S, exchanges, model.width)
        left, last, better = [], -1, None
        for e, number in enumerate(numbers):
            known = held.get(number)
            if known is None or known.least < target:
                if known is not None and known.fit is not None:
                    last, better = e, known.fit
                    break
                left.append(e)
        goal = Goal(target, True, thorough, closing=1)
        while left:
            found = tried(model.row_data(model.Z), table, exchanges.of(left), goal)
            if found.e < 0:
                break
            e, left = left[found.e], left[found.e + 1 :]
            support, start = self._exchanged(fit, exchanges.out[e], exchanges.into[e], found)
            new = model.refit(support, 0.0, self.lambda2, start, target)
            self.known.note(numbers[e], new, target)
            if new is not None and new.value < target:
                return e, new
            self._refused(fit, new)
        return last, better

    def _exchanged(self, fit, i, j, found):
        """(support, (b, b0)) after an exchange, with the coefficients that trials found, or those
        of the fit where they are no good start.
        """
        T, k, b, b0 = self.model.T, fit.support.size, fit.b, fit.b0
        own = np.zeros((1, len(T)))
        if found.F < np.inf and found.reach <= FARTHEST:
            x, own = found.x[: -len(T)].reshape(len(T), -1).T, found.x[None, -len(T) :]
            b, b0 = x[:k], x[k] @ T if self.model.problem.intercept else b0
        gone = [*([i] if i >= 0 else []), *([k] if j < 0 else [])]
        support = np.delete(np.append(fit.support, self.model.W[j]), gone)
        b, order = np.delete(np.vstack([b, own]), gone, axis=0), np.argsort(support)
        return support[order], (b[order], b0)

    def _ranked_swaps(self, fit, first, keep):
        """As in `RefitNeighborhood`."""
        quadratic, table = self._class_quadratic(fit), None
        if quadratic is not None:
            table, exchanges, change = self._ranked(fit, quadratic, first, keep)
        if table is None:
            return super()._ranked_swaps(fit, first, keep)
        return change, np.array([fit.support[exchanges.out], self.model.W[exchanges.into]]).T

    def _additions_tried(self, fit):
        """Two: the quadratic has the curvatures of the fit."""
        return 2

    def _ranked_additions(self, fit, first, most):
        """The `most` best (-gain, column) among the working columns from position `first` on."""
        blind = FitStatus.SEPARATED in fit.flags or self.model.near is not None
        quadratic, table = None if blind else self._class_quadratic(fit), None
        if quadratic is not None:
            table, exchanges, change = self._ranked(fit, quadratic, first, most, swaps=False)
        if table is None:
            return super()._ranked_additions(fit, first, most)
        return list(zip(change.tolist(), self.model.W[exchanges.into].tolist(), strict=True))

    def _remove(self, fit):
        """The best of the two removals ranked first; None when only forced columns are left."""
        quadratic = None if FitStatus.SEPARATED in fit.flags else self._class_quadratic(fit)
        if quadratic is None:
            return super()._remove(fit)
        may_leave = np.flatnonzero(~self.model.problem.locked(fit.support))
        cost = quadratic.removals()[may_leave]
        first = fit.support[may_leave[np.argsort(cost, kind="stable")[:2]]]
        return self._lowest(fit, [(j, -1) for j in first.tolist()])
