"""Moves decided by the exact table of `exchange`: squared loss, no lambda1, no box."""

import numpy as np

from ..core.status import End
from ..problem.problem import Fit
from . import table, table_sweeps
from .local_search import beyond, flat


class ExactMover:
    """Moves on the Gram matrix; one `exchange.State` follows the sweep by rank-one changes, and
    whole sweeps run in kernels (`sweeps`).
    """

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
                np.isin(model.W, model.problem.forced),
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

    def forward(self, fit, polish=True):
        """One size up: the best addition, then swaps. None when no column is independent of the
        support.
        """
        self._load(fit)
        if not table.add_best(self.state, self.columns):
            return None
        return self._polish() if polish else self._fit()

    def backward(self, fit, polish=True):
        """One size down: the cheapest removal, then swaps. None when only forced columns are
        left.
        """
        self._load(fit)
        i = table.cheapest_drop(self.state, self.columns)
        if i < 0:
            return None
        table.drop(self.state, self.columns, i)
        return self._polish() if polish else self._fit()

    def polish(self, fit):
        """Swaps until none improves."""
        self._load(fit)
        return self._polish()

    def refined(self, fit):
        """The fit as it is: rank-one steps are renewed often enough."""
        return fit

    def drop_some(self, fit, positions):
        """The fit of the support without some of its members (positions in the sorted support)."""
        return self.model.refit(np.delete(fit.support, positions), 0.0, self.lambda2)

    # -------------------- whole sweeps

    def _pull(self, store):
        """Show the kernels what the store holds that they did not make."""
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

    def search(self, store, poll):
        """Sweeps up and down the sizes until nothing improves (once each with effort "fast")."""
        improved = True
        while improved:
            improved = False
            for up in (True, False):
                self._pull(store)
                at = 0 if up else store.last
                while at >= 0:
                    poll()
                    at = table_sweeps.sweep(
                        self.state, self.held, self.columns, self.limits, up, at
                    )
                    improved |= self._push(store)
            improved &= self.settings.effort != "fast"

    def overshoot(self, store, poll):
        """Add columns far beyond the last size, then remove the cheapest down to it: blocks of
        columns that only pay together (collinear ones) come in whole and stay. True if any size
        improved.
        """
        if store.last not in store.fits or store.end:
            return False
        self._pull(store)
        top = min(
            store.last + beyond(store.last),
            self.width - self.forced,
            int(0.9 * self.model.problem.n_eff) - self.forced - 1,
        )
        stage = 0
        while True:
            poll()
            stage = table_sweeps.overshoot(
                self.state, self.held, self.columns, self.limits, top, stage
            )
            improved = self._push(store)
            if not stage:
                return improved

    def kick(self, store, rng, rounds, poll):
        """Escape: from the best fit of each size drop a few members, add the best ones instead,
        polish; sweeps spread what improves.
        """
        for _ in range(rounds):
            self._pull(store)
            counts = 2 + rng.integers(np.clip(np.arange(self.held.value.size) // 3, 1, 6))
            noise = np.exp(0.7 * rng.standard_normal((counts.size, counts.size)))
            at, improved = 2, False
            while at >= 0:
                poll()
                at = table_sweeps.kick(
                    self.state, self.held, self.columns, self.limits, counts, noise, at
                )
                improved |= self._push(store)
            if improved:
                self.search(store, poll)
