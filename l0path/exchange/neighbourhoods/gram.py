"""Moves decided by the exact table of `exchange`: squared loss, no lambda1, no box."""

import numpy as np

from ...core.status import End
from ...problem.problem import Fit
from .. import table, table_sweeps
from ..local_search import flat
from .protocol import Reach, columns_by_size


def beyond(last):
    """How many columns beyond the last size an oscillation goes."""
    return last + 20


class GramNeighbourhood:
    """Moves on the Gram matrix; one `exchange.State` follows the sweep by rank-one changes, and
    whole sweeps run in kernels (`table_sweeps`).
    """

    compiled = True

    def __init__(self, model, lambda2, max_k, scale, settings):
        self.model, self.lambda2, self.scale, self.settings = model, float(lambda2), scale, settings
        self.width, self.forced = -1, model.problem.forced.size
        self.capacity = max_k + beyond(max_k) + self.forced + 1
        self.held, self.known = (
            None,
            {},
        )  # supports by size as the kernels see them; the Fit of the store that each stands for
        perfect = model.problem.floor + 1e-13 * scale + model.problem.noise
        self.limits = table_sweeps.Limits(
            float(model.half_square),
            0.01 * settings.tol,
            flat(0.0, scale, settings.tol),
            float(perfect),
            self.forced,
            settings.max_swaps,
        )

    def _widen(self):
        """Follow the working columns: when W grew the state starts anew, and every step is worth
        taking again.
        """
        model = self.model
        if self.width != model.width:
            self.width = model.width
            self.state = table.new_state(self.width, self.capacity)
            price = np.where(model.problem.usable[model.W], 0.0, 1e300)
            self.columns = table.Columns(
                model.G,
                model.q,
                2.0 * self.lambda2,
                self.width,
                model.problem.locked(model.W),
                price,
            )
            table.build(self.state, self.columns, 0)
            if self.held is not None:
                self.held.fresh[:2] = True

    def _load(self, fit):
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
        return Fit(support[order], state.b[:k][order], model.problem.shift, float(value))

    def _polish(self):
        tolerance = flat(
            self.model.half_square - table.fitted_part(self.state, self.columns),
            self.scale,
            self.settings.tol,
        )
        table.polish(self.state, self.columns, tolerance, self.settings.max_swaps)
        self.model.tables += 1
        return self._fit()

    def add(self, fit, polish=True):
        """One size up: the best addition, then swaps. None when no column is independent of the
        support.
        """
        self._load(fit)
        if not table.add_best(self.state, self.columns):
            return None
        return self._polish() if polish else self._fit()

    def drop(self, fit, polish=True):
        """One size down: the cheapest removal, then swaps. None when only forced columns are
        left.
        """
        self._load(fit)
        i = table.cheapest_drop(self.state, self.columns)
        if i < 0:
            return None
        table.drop(self.state, self.columns, i)
        return self._polish() if polish else self._fit()

    def swap(self, fit, thorough=False):
        """Swaps until none improves: the table is exact, so all are always tried."""
        self._load(fit)
        return self._polish()

    def refined(self, fit):
        """The fit as it is: rank-one steps are renewed often enough."""
        return fit

    def without(self, fit, units):
        """The fit without some of its columns."""
        support = np.setdiff1d(fit.support, units, assume_unique=True)
        return self.model.refit(support, 0.0, self.lambda2)

    def removable(self, fit):
        """|b| of the unforced columns, ascending, and the columns."""
        return columns_by_size(fit, self.model.problem)

    def reach(self, last):
        """Far, because steps cost next to nothing: more than twice the last size."""
        return Reach(beyond(last), int(0.9 * self.model.problem.n_eff) - 1, True)

    # -------------------- whole sweeps

    def show(self, store):
        """Give the kernels the fits of the pool that they did not make; returns how many sizes they
        hold, size 0 included.
        """
        self._widen()
        if self.held is None:
            self.held = table_sweeps.new_held(store.last, store.last + self.forced)
        held = self.held
        held.note[table_sweeps.IMPROVED], held.note[table_sweeps.LAST] = 0, store.last
        for k, fit in store.fits.items():
            if self.known.get(k) is not fit:
                size = fit.support.size
                held.S[k, :size], held.b[k, :size], held.value[k], held.fresh[:, k] = (
                    self.model.where[fit.support],
                    fit.b,
                    fit.value,
                    (True, True, False),
                )
                self.known[k] = fit
        return held.value.size

    def _push(self, store):
        """Bring what the kernels improved into the store; True if there was anything."""
        held = self.held
        for k in np.flatnonzero(held.fresh[2] & np.isfinite(held.value)).tolist():
            size = k + self.forced
            support = self.model.W[held.S[k, :size]]
            order = np.argsort(support)
            fit = Fit(
                support[order],
                held.b[k, :size][order],
                self.model.problem.shift,
                float(held.value[k]),
            )
            held.fresh[2, k] = False
            if store.offer(fit):
                self.known[k] = fit
        if held.note[table_sweeps.SATURATED]:
            store.finish(int(held.note[table_sweeps.LAST]), End.SATURATED)
            held.note[table_sweeps.SATURATED] = 0
        self.model.tables += int(held.note[table_sweeps.TABLES])
        held.note[table_sweeps.TABLES] = 0
        return bool(held.note[table_sweeps.IMPROVED])

    def walk(self, pool, poll, move, at, end=-1):
        """Make a `table_sweeps.Move` from the place `at` on, in steps that end with the place
        `end`; True if any size improved.
        """
        self.show(pool)
        improved = False
        while True:
            poll()
            at = table_sweeps.walk(self.state, self.held, self.columns, self.limits, move, at)
            improved |= self._push(pool)
            if at == end:
                return improved
