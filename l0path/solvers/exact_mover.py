"""Moves decided by the exact table of `exchange`: squared loss, no lambda1, no box."""
import numpy as np

from ..problem import Fit
from . import exchange
from .local_search import beyond, flat


class ExactMover:
    """Moves on the Gram matrix; one `exchange.State` follows the sweep by rank-one changes."""

    def __init__(self, model, lambda2, max_k, scale, settings):
        self.model, self.lambda2, self.scale, self.settings = model, float(lambda2), scale, settings
        self.width, self.capacity = -1, max_k + beyond(max_k) + model.problem.forced.size + 1
        self.at = None  # support (bytes) that the state holds

    def _load(self, fit):
        """Make the state hold the fit's support."""
        model = self.model
        if self.width != model.width:
            self.width = model.width
            self.state = exchange.new_state(self.width, self.capacity)
            self.locked = np.isin(model.W, model.problem.forced)
            usable = model.problem.usable[model.W]
            self.price = np.where(usable, 0.0, 1e300)
            self.at = None
        key = fit.support.tobytes()
        if self.at != key:
            k = fit.support.size
            self.state.S[:k] = model.where[fit.support]
            exchange.build(self.state, model.G, model.q, self.lambda2, self.width, k)
            self.at = key
        return fit.support.size

    def _fit(self, k):
        """The state as a Fit."""
        model, state = self.model, self.state
        support = model.W[state.S[:k]]
        order = np.argsort(support)
        support = support[order]
        self.at = support.tobytes()
        value = model.half_square - exchange.fitted_part(state, model.q, k)
        return Fit(support, state.b[:k][order], model.problem.shift, float(value))

    def _polish(self, k):
        tolerance = flat(self.model.half_square - exchange.fitted_part(self.state, self.model.q, k), self.scale, self.settings.tol)
        exchange.polish(self.state, self.model.G, self.model.q, self.lambda2, self.width, k, self.locked, self.price, tolerance, self.settings.max_swaps)
        self.model.tables += 1
        return self._fit(k)

    def forward(self, fit, polish=True):
        """One size up: the best addition, then swaps. None when no column is independent of the support."""
        k = self._load(fit)
        j, _ = exchange.best_addition(self.state, self.model.G, self.width, self.lambda2, self.price)
        if j < 0:
            return None
        self.at = None
        exchange.add(self.state, self.model.G, self.width, k, j)
        return self._polish(k + 1) if polish else self._fit(k + 1)

    def backward(self, fit, polish=True):
        """One size down: the cheapest removal, then swaps. None when only forced columns are left."""
        k = self._load(fit)
        i, _ = exchange.cheapest_drop(self.state, k, self.locked, self.price)
        if i < 0:
            return None
        self.at = None
        exchange.drop(self.state, self.width, k, i)
        return self._polish(k - 1) if polish else self._fit(k - 1)

    def polish(self, fit):
        """Swaps until none improves."""
        k = self._load(fit)
        self.at = None
        return self._polish(k)

    def drop_some(self, fit, positions):
        """The fit of the support without some of its members (positions in the sorted support)."""
        return self.model.refit(np.delete(fit.support, positions), 0.0, self.lambda2)
