"""The multinomial loss on the working columns: restricted optima by Newton's method, and Gram
matrices without weights for the quadratics that rank exchanges.

Coefficients are those of the r - 1 contrasts of `several.contrasts`, so they sum to zero over the
classes. Exchanges are ranked with mean * G for the Hessian of `several.softmax`, mean = sum_i w_i
(1 - |P_i|^2) / (r - 1), the mean of the eigenvalues of the matrices T (diag P_i - P_i P_i') T'.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from ...core.status import FitStatus
from ...problem.losses import Squared
from ...problem.problem import Fit
from ...problem.recession import Directions
from ...problem.several import class_codes, probabilities
from .. import newton
from ..columns import CONDITION
from ..limits import VANISHED, limit_of
from . import softmax
from .responses import FitState, ResponseModel, ResponseQuadratic

HELD = 128  # quadratics that are held


class RefitEnd(NamedTuple):
    """The end of `refit_classes`."""

    status: int
    value: float  # F
    far: float  # by how much predictors of a row differ
    S: np.ndarray  # (k,), positions of the columns
    x: np.ndarray  # (K, q), coefficients
    held: np.ndarray  # (K, q), the last ones within ETA_CAP


class MultinomialModel(ResponseModel):
    """Working columns of a multinomial problem; q_all are those of the slopes at the null fit."""

    smooth = False

    def __init__(self, problem):
        self.problem, self.T, self.held = problem, problem.turn, {}
        self.limits = {}  # the fits of supports without a finite optimum, by their bytes
        self.directions = Directions()
        self.codes, self.rows_at_hand = class_codes(problem.y), None
        self.turned_offset = np.ascontiguousarray(problem.offset.T)
        self.Z, self.W = np.empty((0, problem.X.n)), np.empty(0, dtype=np.int64)
        self.max_iter = 1000
        x = np.zeros((int(problem.intercept), len(self.T)))
        x = self._minimize(self.Z, np.empty(0, dtype=np.int64), x, 0.0)[2]
        self.start = x[0] if problem.intercept else np.zeros(len(self.T))
        D = (problem.y - probabilities(problem.offset + self.start @ self.T)) @ self.T.T
        flat = replace(problem, loss=Squared(), y=np.ascontiguousarray(D), turn=np.eye(len(self.T)))
        super().__init__(flat)
        self.flat_problem, self.problem = flat, problem

    def class_rows(self, Z=None):
        """The rows of the problem with the working columns, or with others Z."""
        p, Z = self.problem, self.Z if Z is None else Z
        if self.rows_at_hand is None or self.rows_at_hand.Z is not Z:
            self.rows_at_hand = softmax.ClassRows(
                self.codes, p.weights, self.turned_offset, self.T, p.intercept, Z
            )
        return self.rows_at_hand

    def proxy(self):
        """The squared loss of the slopes at the null fit, with the same working columns."""
        out = ResponseModel(self.flat_problem)
        out.grow(self.W)
        return out

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns, from start = (b, b0); None once
        `target` is out of reach. Without a ridge a support that separates the classes has no
        finite optimum: the value is the infimum, and the loss of the coefficients is close to it
        (`limits`).
        """
        known = None if lambda2 else self.limits.get(support.tobytes())
        if known is not None:
            return known
        self.refits += 1
        k, m = support.size, int(self.problem.intercept)
        x = np.zeros((k + m, len(self.T)))
        if m:
            x[k] = self.start
        if start is not None:
            x[:k] = start[0]
            if m:
                x[k] = self.T @ start[1]
        at = np.ascontiguousarray(self.where[support])
        Z, S, R = self.basis(support, at) if lambda2 == 0.0 else (self.Z, at, None)
        if R is not None:
            x[:k] = R @ x[:k]
        status, value, x, flags = self._minimize(Z, S, x, lambda2, float(target))
        if status == newton.REJECTED:
            return None
        if status == newton.MAX_ITER and start is not None:  # it may have begun far out
            again = self.refit(support, lambda1, lambda2, None, target)
            if again is None or again.value < value:
                return again
        if R is not None:
            x[:k] = solve_triangular(R, x[:k])
        return self._fit(support, value, x, flags)

    def after_steps(self, steps, lambda2, target):
        """The fit of working columns after `refit_classes` from there, a `RefitEnd`, whose steps
        may have been none.
        """
        support = self.W[steps.S]
        known = None if lambda2 else self.limits.get(support.tobytes())
        if known is not None:
            return known
        self.refits += 1
        if steps.status == newton.MAX_ITER:
            fit = self._fit(support, steps.value, steps.x, (FitStatus.NOT_CONVERGED,))
            start = None if self.near is None else (fit.b, fit.b0)
            again = self.refit(support, 0.0, lambda2, start, target)
            return again if again is None or start or again.value < fit.value else fit
        return self._fit(support, *self._judged(self.Z, steps, lambda2))

    def _fit(self, support, value, x, flags):
        """The fit with the coefficients x (K, q) of the contrasts."""
        k = support.size
        b0 = x[k] @ self.T if self.problem.intercept else np.zeros(self.T.shape[1])
        fit = Fit(support, x[:k], b0, value, flags)
        if FitStatus.SEPARATED in flags:
            self.limits[support.tobytes()] = fit
        return fit

    def independent(self, support):
        """Positions of columns of a support of which its others are combinations."""
        if not self.hidden(support, 0.0):
            return self.kept_inverse(support, 0.0)[1]
        # Gram matrices take near combinations for true ones
        unit = np.sqrt(np.maximum(self.problem.square[support], 1e-300))
        A = (self.Z[self.where[support]] * np.sqrt(self.problem.weights)).T / unit
        R, order = qr(A, mode="r", pivoting=True)
        sizes = np.abs(np.diagonal(R))
        return np.sort(order[: sizes.size][sizes > 2.0 * support.size / CONDITION])

    def _minimize(self, Z, at, x, lambda2, target=np.inf):
        """(status, F, coefficients (K, q), flags) of the columns `at` of Z, from x (K, q)."""
        held, eta = np.empty_like(x), np.empty((self.T.shape[1], self.problem.X.n))
        rows = self.class_rows(Z)
        limits = softmax.DescentLimits(float(lambda2), target, lambda2 == 0.0, self.max_iter)
        status, value, far = softmax.refit_classes(rows, at, limits, x, held, eta)
        steps = RefitEnd(status, value, far, at, x, held)
        return status, *self._judged(Z, steps, lambda2)

    def _judged(self, Z, steps, lambda2):
        """(F, coefficients, flags) after `refit_classes` on columns of Z."""
        status, value, far, at, x, _ = steps
        flags = (FitStatus.NOT_CONVERGED,) if status == newton.MAX_ITER else ()
        p, k = self.problem, at.size
        if status == newton.SEPARATED:  # complete separation: the way to x goes on, past offsets
            return 0.0, x * self._far_enough(Z[at], x), (FitStatus.SEPARATED,)
        if not lambda2 and far > softmax.FAR_APART and status != newton.REJECTED:
            none = np.full(k, np.inf)
            known = (self.directions, self.W[at]) if Z is self.Z else None  # else a basis of them
            found = limit_of(p, Z[at], -none, none, x[:k], x[k:], known=known)
            if found is not None:
                x = np.vstack([found.coef, found.level[None][: len(x) - k]])
                more = () if found.reached else (FitStatus.NOT_CONVERGED,)
                return found.value, x, (FitStatus.SEPARATED, *more)
        return value, x, flags

    def _far_enough(self, Z, x):
        """The number by which x (K, q), whose predictors are the largest ones for the class of
        every row, is multiplied so that the terms of all rows vanish.
        """
        A = np.vstack([Z, np.ones((len(x) - len(Z), Z.shape[1]))])
        margins = []
        for eta in (A.T @ x @ self.T, self.problem.offset):
            own = np.take_along_axis(eta, self.codes[:, None], axis=1)
            margins.append(np.delete((own - eta).ravel(), self._own_places()))
        return max(float(((VANISHED - margins[1]) / margins[0]).max()), 1.0)

    def _own_places(self):
        """The places of the classes of rows in a table (n, r), as one row after another."""
        r = self.T.shape[1]
        return np.arange(self.codes.size) * r + self.codes

    # -------------------- quadratics that rank

    def _slopes(self, fit):
        """(-dF by rows and contrasts (n, q), mean curvature) of a fit."""
        p = self.problem
        eta = p.offset + (self.Z[self.where[fit.support]].T @ fit.b) @ self.T + fit.b0
        P = probabilities(eta)
        mean = float(p.weights @ (1.0 - (P * P).sum(axis=1))) / len(self.T)
        return (p.weights[:, None] * (p.y - P)) @ self.T.T, max(mean, 1e-8)

    def _by_rows(self, fit):
        return self._slopes(fit)[0]

    def quadratic(self, fit, lambda2, first=0):
        """(ResponseQuadratic on the working columns from position `first` on, mean): F is mean
        times it.
        """
        key = fit.key, lambda2
        held = self.held.get(key)
        if held is None or held[0] < self.width:
            R, mean = self._slopes(fit)
            if len(self.held) >= HELD:
                self.held.pop(next(iter(self.held)))
            held = self.held[key] = self.width, (self.Z[: self.width] @ R) / mean, mean
        c, mean = held[1][first:], held[2]
        rows = self.G[self.where[fit.support], first : self.width]
        a = np.ascontiguousarray(np.diagonal(self.G)[first : self.width])
        return ResponseQuadratic(rows, c, a, *self.kept_inverse(fit.support, lambda2 / mean)), mean

    def over_all(self, fits, lambda2):
        """The FitState of each fit, in one read of X."""
        found = [self._slopes(fit) for fit in fits]
        C, q = self.problem.X.correlate(np.hstack([R for R, _ in found])), len(self.T)
        self.reads += 1
        out = []
        for i, (fit, (_, mean)) in enumerate(zip(fits, found, strict=True)):
            self.kept_inverse(fit.support, lambda2 / mean)
            out.append(FitState(mean, lambda2 / mean, C[:, i * q : (i + 1) * q] / mean))
        return out
