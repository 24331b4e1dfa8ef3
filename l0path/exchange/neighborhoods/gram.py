"""Moves decided by the exact table of `exchange`: squared loss, no lambda1, no box."""

import numpy as np

from ...core.status import End
from ...problem.problem import Fit
from .. import table, table_sweeps
from ..local_search import flat
from .protocol import Reach, columns_by_size, most_columns


class GramNeighborhood:
    """Moves on the Gram matrix; one `exchange.State` follows the sweep by rank-one changes, and
    whole sweeps run in kernels (`table_sweeps`). units: by default the columns; or a GroupModel
    whose groups are single columns and keep the strong rule, so that all sets are closed.
    """

    compiled, undecided = True, frozenset()  # no exchange is left to a refit

    def __init__(self, model, lambda2, max_k, scale, settings, *, units=None):
        self.units = model if units is None else units
        self.model, self.lambda2, self.scale, self.settings = model, float(lambda2), scale, settings
        self.width, self.forced = -1, model.problem.forced.size
        self.capacity = max_k + self._beyond(max_k) + self.forced + 1
        # supports by size as the kernels see them; the Fit of the pool that each stands for
        self.best, self.shown = None, {}
        perfect = model.problem.floor + 1e-13 * scale + model.problem.noise
        self.limits = table_sweeps.Limits(
            float(model.half_square),
            0.01 * settings.tol,
            flat(0.0, scale, settings.tol),
            float(perfect),
            self.forced,
            settings.max_swaps,
        )

    def _beyond(self, last):
        """The number of columns by which an oscillation exceeds the last size: as many and more, as
        steps cost next to nothing; half as many with several responses, whose tables cost more.
        """
        return last + 20 if self.model.q.ndim == 1 else last // 2

    def _widen(self):
        """Follow the working columns: when W grew the state starts anew, and every step is worth
        taking again.
        """
        model = self.model
        if self.width != model.width:
            self.width = model.width
            self.columns = self._columns()
            self.state = table.new_state(self.width, self.capacity, self.columns.q.shape[1])
            table.clear(self.state, self.columns)
            if self.best is not None:
                self.best.fresh[:2] = True

    def _columns(self):
        """The `table.Columns` of the working columns."""
        model = self.model
        q = table.by_column(model.q)
        cost = np.where(self.units.may_enter(), 0.0, 1e300)
        locked, needs = model.problem.locked(model.W), self.units.needs()
        return table.Columns(model.G, q, 2.0 * self.lambda2, self.width, locked, cost, needs)

    def _coefficients(self, b):
        """Coefficients (k, q) as those of a Fit, (k,) of one response."""
        return b.reshape(len(b), *self.model.q.shape[1:])

    def _best_supports(self, last, size):
        """An empty record of the best supports up to size `last`, of at most `size` columns."""
        return table_sweeps.new_best_supports(last, size, self.columns.q.shape[1])

    def _move_to(self, fit):
        """Make the state hold the fit's support."""
        self._widen()
        k, at = fit.support.size, self.model.where[fit.support]
        if (
            self.state.count[0] != k
            or not self.state.member[at].all()
            or self.state.count[1] > table.REFRESH
        ):
            self.state.S[:k] = at
            table.build(self.state, self.columns, k)

    def _fit(self):
        """The state as a Fit."""
        model, state, k = self.model, self.state, int(self.state.count[0])
        support = model.W[state.S[:k]]
        order = np.argsort(support)
        value = model.half_square - table.fitted_part(state, self.columns)
        b = self._coefficients(state.b[:, :k].T)[order]
        return self.units.as_units(Fit(support[order], b, model.problem.shift, float(value)))

    def _tie(self):
        """The largest difference between exchanges of the state that count as equal."""
        value = self.model.half_square - table.fitted_part(self.state, self.columns)
        return flat(value, self.scale, self.settings.tol)

    def _polish(self):
        table.polish(self.state, self.columns, self._tie(), self.settings.max_swaps)
        self.model.tables += 1
        return self._fit()

    def add(self, fit, polish=True):
        """One size up: the best addition, then swaps. None when no column is independent of the
        support.
        """
        self._widen()
        # the sweep of one size: one more kernel that Python enters would take a second to compile
        size, k = fit.support.size, fit.support.size - self.forced
        best = self._best_supports(k + 1, size + 1)
        best.S[k, :size], best.value[k] = self.model.where[fit.support], fit.value
        limits = self.limits if polish else self.limits._replace(max_swaps=0)
        up = table_sweeps.sweep(True)
        table_sweeps.make_move(self.state, best, self.columns, limits, up, k)
        self.model.tables += polish
        return self._found(best, k + 1) if np.isfinite(best.value[k + 1]) else None

    def drop(self, fit, polish=True):
        """One size down: the cheapest removal, then swaps. None when only forced columns are
        left.
        """
        self._move_to(fit)
        i = table.cheapest_drop(self.state, self.columns, self._tie())
        if i < 0:
            return None
        table.drop(self.state, self.columns, i)
        return self._polish() if polish else self._fit()

    def swap(self, fit, thorough=False):
        """Swaps until none improves: the table is exact, so all are always tried."""
        self._move_to(fit)
        return self._polish()

    def refined(self, fit):
        """The fit as it is: rank-one steps are renewed often enough."""
        return fit

    def without(self, fit, units):
        """The fit without some of its columns."""
        support = np.setdiff1d(fit.support, units, assume_unique=True)
        return self.model.refit(support, 0.0, self.lambda2)

    def removable(self, fit):
        """As `Neighborhood.removable`, by the sizes of coefficients."""
        return columns_by_size(fit, self.model.problem)

    def reach(self, last):
        """As `Neighborhood.reach`."""
        most = int(0.9 * self.model.problem.n_eff) - 1
        return Reach(self._beyond(last), most_columns(self.model, self.lambda2, most), True)

    # -------------------- whole sweeps

    def show(self, pool):
        """Give the kernels the fits of the pool that they did not make; returns the number of
        sizes, size 0 included.
        """
        self._widen()
        if self.best is None:
            self.best = self._best_supports(pool.last, pool.last + self.forced)
        best = self.best
        best.counters[table_sweeps.IMPROVED], best.counters[table_sweeps.LAST] = 0, pool.last
        for k, fit in pool.fits.items():
            if self.shown.get(k) is not fit:
                size = fit.support.size
                best.S[k, :size] = self.model.where[fit.support]
                best.b[k, :size] = table.by_column(fit.b)
                best.value[k] = fit.value
                best.fresh[:, k] = (True, True, False)
                self.shown[k] = fit
        return best.value.size

    def _found(self, best, k):
        """The fit of size k of a BestSupports."""
        size = k + self.forced
        support = self.model.W[best.S[k, :size]]
        order = np.argsort(support)
        b, value = self._coefficients(best.b[k, :size])[order], float(best.value[k])
        return self.units.as_units(Fit(support[order], b, self.model.problem.shift, value))

    def _push(self, pool):
        """Update the pool by the fits that the kernels improved; True if there were any."""
        best = self.best
        for k in np.flatnonzero(best.fresh[2] & np.isfinite(best.value)).tolist():
            fit = self._found(best, k)
            best.fresh[2, k] = False
            if pool.update(fit):
                self.shown[k] = fit
        if best.counters[table_sweeps.SATURATED]:
            pool.finish(int(best.counters[table_sweeps.LAST]), End.SATURATED)
            best.counters[table_sweeps.SATURATED] = 0
        self.model.tables += int(best.counters[table_sweeps.TABLES])
        best.counters[table_sweeps.TABLES] = 0
        return bool(best.counters[table_sweeps.IMPROVED])

    def make_move(self, pool, poll, move, at, end=-1):
        """Make a `table_sweeps.Move` from the place `at` on, in steps that end with the place
        `end`; True if any size improved.
        """
        self.show(pool)
        improved = False
        while True:
            poll()
            at = table_sweeps.make_move(self.state, self.best, self.columns, self.limits, move, at)
            improved |= self._push(pool)
            if at == end:
                return improved
