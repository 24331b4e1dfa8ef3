"""Coordinate descent on the Gram matrix of the working columns (squared loss), and on their rows
(all other losses).
"""

import numpy as np

from ..problem.penalties import Interval, entry
from ..problem.verbs import derivatives, mean_loss
from .cd_kernels import Predicted, StopRule, Visit, cd_gram, cd_rows, probe_entries, row_loss
from .coordinate_descent import CoordinateDescent, CoordinateSolver, Sides, entry_gains

CHUNK = 50  # sweeps of one kernel call
LARGEST_SLOPE = 1e100  # of the loss at a row, in rankings
PROBED = 8  # columns whose exact gain is always worked out, however small the estimate


class GramSolver(CoordinateSolver):
    """Squared loss: everything from the Gram matrix of the working columns."""

    def _state(self, fit):
        """b (w,), c (w,) = q - G b of a fit."""
        at = self.model.where[fit.support]
        b = np.zeros(self.width)
        b[at] = fit.b
        return at, b, self.model.q - fit.b @ self.model.G[at, : self.width]

    def _gains(self, c):
        """The gains of the columns of W at the correlations c (w,), were they to enter."""
        diagonal = np.diagonal(self.model.G)[: self.width]
        return entry_gains(c, diagonal, self.lambda1, self.lambda2, self.lower, self.upper)

    def descend(self, penalty, fit):
        """Up to CHUNK sweeps: (sweeps, support, start of a refit)."""
        at, b, c = self._state(fit)
        gains = self._gains(c)
        order, _ = self._order(at, gains)
        s = self.settings
        stop = StopRule(s.n_stable, CHUNK, s.tol)
        sweeps = cd_gram(penalty, self.model.G, b, c, order, self.columns, stop)
        support, b = self._support(b)
        return sweeps, support, (b, fit.b0)

    def lambda0_entry(self, fit):
        """Largest lambda0 at which a column of W would enter, lambda_lo of the support: max_j
        gain_j / f_j.
        """
        self._refresh()
        at, _, c = self._state(fit)
        gains = self._gains(c)
        free = self.enters & (self.factor > 0)
        free[at] = False
        return float((gains[free] / self.factor[free]).max(initial=0.0))

    def removal(self, fit, c):
        """rho_i = F(b - b_i e_i) - F(b) = b_i c_i + a_i b_i^2 / 2 - lambda1 |b_i| - lambda2 b_i^2,
        c (k,) = -slopes.
        """
        return (
            fit.b * c
            + 0.5 * self.problem.square[fit.support] * fit.b**2
            - self.lambda1 * np.abs(fit.b)
            - self.lambda2 * fit.b**2
        )

    def _swap(self, lambda0, fit, n_best):
        at, _, c = self._state(fit)
        penalty, G, w = self.penalty(lambda0), self.model.G, self.width
        a, rho = np.ascontiguousarray(np.diagonal(G)[:w]), self.removal(fit, c[at])
        sides = Sides(G, at, fit.b, c, a, rho, self.model.W)
        found = self.table(penalty, fit, sides, -self.tolerance(fit), 1)
        if not found:
            return None
        _, out, into = found[0]
        j = self.model.where[into]
        correlation = c[j] + fit.b[np.searchsorted(fit.support, out)] * G[self.model.where[out], j]
        box = Interval(self.lower[j], self.upper[j])
        return out, into, entry(penalty, correlation, G[j, j], box)[0]


class RowSolver(CoordinateSolver):
    """Coordinate descent for the other losses, on the rows of the working columns."""

    def __init__(self, model, lambda1, lambda2, settings, scale):
        super().__init__(model, lambda1, lambda2, settings, scale)
        p = self.problem
        self.safety = p.loss.traits.entry_safety
        self.rows = row_loss(p.loss, p.y, p.weights, p.intercept)

    def _estimates(self, fit):
        """Predictor, slopes, curvatures (n,) of a fit, and the estimated gains of W: second order,
        with the mean curvature.
        """
        eta, slopes, curvatures = self.model.derivatives(fit)
        correlation = -(self.model.Z[: self.width] @ slopes)
        return (
            eta,
            slopes,
            curvatures,
            entry_gains(
                correlation,
                curvatures.sum() * self.problem.square[self.model.W],
                self.lambda1,
                self.lambda2,
                self.lower,
                self.upper,
            ),
        )

    def descend(self, penalty, fit):
        """Up to CHUNK sweeps over the support and the columns that may enter by their estimate:
        (sweeps, support, start of a refit).
        """
        s = self.settings
        eta, slopes, curvatures, gains = self._estimates(fit)
        at = self.model.where[fit.support]
        b = np.zeros(self.width)
        b[at] = fit.b
        order, k = self._order(at, gains)
        rest = order[k:]
        near = self.safety * gains[rest] > penalty.lambda0 * self.factor[rest]
        near[:PROBED] = True
        order = np.concatenate([order[:k], rest[near]])
        point = Predicted(b, eta, slopes, curvatures, np.empty(eta.size))
        visit, stop = Visit(order, k + PROBED, self.safety), StopRule(s.n_stable, CHUNK, s.tol)
        sweeps, b0 = cd_rows(
            self.rows, penalty, self.model.Z, visit, self.columns, point, float(fit.b0), stop
        )
        support, b = self._support(b)
        return sweeps, support, (b, b0)

    def lambda0_entry(self, fit):
        """Largest lambda0 at which a column of W would enter, exact gains of the columns that come
        first by their estimate.
        """
        self._refresh()
        eta, _, _, gains = self._estimates(fit)
        order, k = self._order(self.model.where[fit.support], gains)
        rest = order[k:][self.factor[order[k:]] > 0]
        estimates, best = gains[rest] / self.factor[rest], 0.0
        for start in range(0, rest.size, PROBED):
            if start and self.safety * estimates[start] < best:
                break
            at = rest[start : start + PROBED]
            exact = self.exact_gains(eta, at)[1]
            best = max(best, float((exact / self.factor[at]).max()))
        return best

    def exact_gains(self, eta, at):
        """(optimum, gain) of the working columns `at`, each alone."""
        out, gains = np.empty(at.size), np.empty(at.size)
        penalty, Z = self.penalty(0.0), self.model.Z
        probe_entries(self.rows, penalty, eta, Z, at, self.columns, out, gains)
        return out, gains

    def removal(self, fit):
        """Without member i, others frozen: predictors (k, n), slopes (k, n), rho_i = F(b - b_i e_i)
        - F(b), and the mean curvature at the fit.
        """
        p = self.problem
        eta, _, curvatures = self.model.derivatives(fit)
        here = mean_loss(p.loss, p.y, eta, p.weights)
        without = eta - fit.b[:, None] * self.model.Z[self.model.where[fit.support]]
        slopes, scratch = np.empty_like(without), np.empty(eta.size)
        rho = np.array(
            [
                derivatives(p.loss, p.y, row, p.weights, out, scratch)
                for row, out in zip(without, slopes, strict=True)
            ]
        )
        # a predictor far away may overflow; slopes only rank the columns that could enter
        np.clip(slopes, -LARGEST_SLOPE, LARGEST_SLOPE, out=slopes)
        return (
            without,
            slopes,
            rho - here - self.lambda1 * np.abs(fit.b) - self.lambda2 * fit.b**2,
            curvatures.sum(),
        )

    def _swap(self, lambda0, fit, n_best):
        """The first of the n_best pairs by estimated change that the exact search confirms."""
        p, penalty, k = self.problem, self.penalty(lambda0), fit.support.size
        without, slopes, rho, total = self.removal(fit)
        W, w = self.model.W, self.width
        correlations = -(slopes @ self.model.Z[:w].T)
        a, few = total * p.square[W], np.arange(k)
        sides = Sides(correlations, few, np.ones(k), np.zeros(w), a, rho, W)
        ranked = self.table(penalty, fit, sides, 1e300, n_best)
        for _, out, into in ranked:
            i = int(np.searchsorted(fit.support, out))
            b, gain = self.exact_gains(without[i], self.model.where[[into]])
            if rho[i] - gain[0] + lambda0 * (
                self.factor_all[into] - self.factor_all[out]
            ) < -self.tolerance(fit):
                return out, into, b[0]
        return None


def make_descent(model, lambda1, lambda2, settings=None, scale=None):
    """The descent of a model's loss; scale: the size of P that tolerances refer to (default: its
    null value).
    """
    if scale is None:
        model.grow(model.problem.forced)
        scale = max(abs(model.null(lambda1, lambda2).value), 1e-300)
    kind = GramSolver if model.problem.quadratic else RowSolver
    return kind(model, lambda1, lambda2, settings or CoordinateDescent(), scale)
