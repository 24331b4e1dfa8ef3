"""The multinomial loss on the working columns: restricted optima by Newton's method, and Gram
matrices without weights for the quadratics that rank exchanges.

Coefficients are those of the r - 1 contrasts of `several.contrasts`, so they sum to zero over the
classes. Exchanges are ranked with mean * G for the Hessian of `problem.softmax`, mean = sum_i w_i
(1 - |P_i|^2) / (r - 1), the mean of the eigenvalues of the matrices T (diag P_i - P_i P_i') T'.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import qr

from ...problem.losses import Squared
from ...problem.problem import Fit
from ...problem.several import class_codes
from ...problem.softmax import softmax_of
from ...problem.verbs import derivatives, loss_data
from .. import newton
from ..columns import CONDITION, Quadratic, WorkingColumns
from ..curvature import Derivatives
from ..gram import FitState, GramModel
from ..groups import GramCurvature, inverse
from ..refits import NewtonRefits

HELD = 128  # quadratics that are held


class MultinomialModel(NewtonRefits, GramModel):
    """Working columns of a multinomial problem; q_all are those of the slopes at the null fit."""

    def __init__(self, problem):
        WorkingColumns.__init__(self, problem)
        self.T, self.held = problem.turn, {}
        self.begin_refits(problem)
        self.loss = softmax_of(self.T.shape[1])
        self.codes = class_codes(problem.y).astype(np.float64)
        self.turned_offset = (self.T @ problem.offset.T).ravel()  # (q n,)
        self.start, self.rows_at_hand = np.zeros(len(self.T)), None
        self.start = self.T @ self.refit(np.empty(0, np.int64), 0.0, 0.0).b0
        null = Fit(np.empty(0, np.int64), np.empty((0, len(self.T))), self.start @ self.T, 0.0)
        D = -self.derivatives(null).slopes.T / problem.weights[:, None]
        flat = replace(problem, loss=Squared(), y=np.ascontiguousarray(D), turn=np.eye(len(self.T)))
        super().__init__(flat)
        self.flat_problem, self.problem = flat, problem

    def row_data(self, Z):
        """As in `NewtonRefits`, the predictors are those of the contrasts."""
        p = self.problem
        if self.rows_at_hand is None or self.rows_at_hand.Z is not Z:
            self.rows_at_hand = newton.LossRows(
                loss_data(self.loss), self.codes, p.weights, self.turned_offset, p.intercept, Z
            )
        return self.rows_at_hand

    def begin(self, start, k):
        """As in `NewtonRefits`; b (k, q), levels (q,)."""
        if start is None:
            return np.zeros((k, len(self.T))), self.start
        return start[0], self.T @ start[1]

    def packed(self, b, level):
        """As in `NewtonRefits`."""
        return (np.vstack([b, level]) if self.problem.intercept else b).T.flatten()

    def unpacked(self, x, level):
        """As in `NewtonRefits`."""
        x = np.ascontiguousarray(x.reshape(len(self.T), -1).T)
        return (x[:-1], x[-1]) if self.problem.intercept else (x, level)

    def fit_of(self, support, b, level, value, flags=()):
        """As in `NewtonRefits`; its intercepts are those of the classes."""
        return Fit(support, b, level @ self.T, value, flags)

    def margins(self, eta):
        """As in `NewtonRefits`, one after another."""
        e = eta.reshape(len(self.T), -1).T @ self.T
        own = np.take_along_axis(e, self.codes[:, None].astype(np.int64), axis=1)
        return (own - e)[self.codes[:, None] != np.arange(e.shape[1])]

    def squares(self, null):
        """As `RowModel.squares`: the squared loss of the slopes at the null fit."""
        out = GramModel(self.flat_problem)
        out.grow(self.W)
        self.reads += out.reads
        return out, self._downhill(null)[1]

    def independent(self, support, lambda2):
        """Positions of columns of a support of which its others are combinations, where no ridge
        tells them apart.
        """
        if lambda2:
            return super().independent(support, lambda2)
        if not self.hidden(support, 0.0):
            at = self.where[support]
            return inverse(self.G[at[:, None], at])[1]
        # Gram matrices take near combinations for true ones
        unit = np.sqrt(np.maximum(self.problem.square[support], 1e-300))
        A = (self.Z[self.where[support]] * np.sqrt(self.problem.weights)).T / unit
        R, order = qr(A, mode="r", pivoting=True)
        sizes = np.abs(np.diagonal(R))
        return np.sort(order[: sizes.size][sizes > 2.0 * support.size / CONDITION])

    # -------------------- quadratics that rank

    def derivatives(self, fit):
        """The Derivatives of a fit, (q, n) except for the curvatures of pairs of contrasts
        (q (q + 1) / 2, n).
        """
        q, n = len(self.T), self.codes.size
        b, level = self.begin((fit.b, fit.b0), 0)
        eta = (b.T @ self.Z[self.where[fit.support]] + level[:, None]).ravel()
        eta += self.turned_offset
        slopes, v = np.empty(q * n), np.empty(q * (q + 1) // 2 * n)
        derivatives(self.loss, self.codes, eta, self.problem.weights, slopes, v)
        return Derivatives(eta.reshape(q, n), slopes.reshape(q, n), v.reshape(-1, n))

    def _slopes(self, fit):
        """(-dF by rows and contrasts (n, q), mean curvature) of a fit."""
        _, slopes, v = self.derivatives(fit)
        q = len(slopes)
        mean = sum(float(v[s * (s + 3) // 2].sum()) for s in range(q)) / q
        return -slopes.T, max(mean, 1e-8)

    def _by_rows(self, fit):
        return self.derivatives(fit).slopes.T

    def inverse(self, fit, lambda2):
        """As `GramModel.inverse`, by the mean curvature of the fit."""
        return self._inverse(fit, lambda2, self._downhill(fit)[1])

    def _inverse(self, fit, lambda2, mean):
        """`inverse` for a mean curvature."""
        return GramModel.inverse(self, fit, lambda2 / mean) / mean

    def quadratic(self, fit, lambda2, first=0):
        """As `GramModel.quadratic`, by the mean curvature of the fit."""
        c, mean = self._downhill(fit)
        rows = mean * self.G[self.where[fit.support], first : self.width]
        a = mean * np.diagonal(self.G)[first : self.width]
        return Quadratic(rows, c[first:], a, self.inverse(fit, lambda2))

    def _downhill(self, fit):
        """(downhill slopes of the working columns (w, q), mean curvature) of a fit."""
        key = fit.key, fit.value
        held = self.held.get(key)
        if held is None or len(held[0]) < self.width:
            R, mean = self._slopes(fit)
            if len(self.held) >= HELD:
                self.held.pop(next(iter(self.held)))
            held = self.held[key] = self.Z[: self.width] @ R, mean
        return held

    def curvature(self, fit):
        """As `GramModel.curvature`."""
        return GramCurvature(self, fit, self._downhill(fit)[1])

    def downhill(self, fit, at, b, rows):
        """As `GramModel.downhill`."""
        return self._downhill(fit)[0][at].T

    def gradients(self, fits):
        """As `GramModel.gradients`."""
        found = [self._slopes(fit) for fit in fits]
        C = self.problem.X.correlate(np.hstack([R for R, _ in found]))
        self.reads += 1
        each = np.split(C, len(fits), axis=1)
        return [(c, mean) for c, (_, mean) in zip(each, found, strict=True)]

    def over_all(self, fits, lambda2):
        """As `GramModel.over_all`, in one read of X."""
        each = self.gradients(fits)
        return [
            FitState(mean, self._inverse(fit, lambda2, mean), c)
            for fit, (c, mean) in zip(fits, each, strict=True)
        ]
