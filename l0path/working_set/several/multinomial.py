"""The multinomial loss on the working columns: restricted optima by Newton's method, and Gram
matrices without weights for the quadratics that rank exchanges.

Coefficients are those of the r - 1 contrasts of `several.contrasts`, so they sum to zero over the
classes. P_i are the probabilities of row i, T (r - 1, r) the contrasts:

    gradient (Z'diag(w)(P - Y)) T' + 2 lambda2 b,
    Hessian  sum_i w_i z_i z_i' x T (diag P_i - P_i P_i') T'  (Kronecker) + 2 lambda2 I.

Exchanges are ranked with mean * G for the Hessian, mean = sum_i w_i (1 - |P_i|^2) / (r - 1), the
mean of the eigenvalues of the second factor.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...core.status import FitStatus
from ...problem.losses import Squared
from ...problem.problem import Fit
from ...problem.several import log_losses, probabilities
from .responses import FitState, ResponseModel, ResponseQuadratic

LEAST_GAIN = 1e-15  # of the objective: a Newton step that gains less is the last
STEP_HALVINGS = 40
HELD = 128  # quadratics that are held


class MultinomialModel(ResponseModel):
    """Working columns of a multinomial problem; q_all are those of the slopes at the null fit."""

    smooth = False

    def __init__(self, problem):
        self.problem, self.T, self.held = problem, problem.turn, {}
        n, q = problem.X.n, len(self.T)
        none = np.empty((0, n))
        x = self._newton(none, np.zeros((int(problem.intercept), q)), 0.0)[0]
        self.start = x[0] if problem.intercept else np.zeros(q)
        D = (problem.y - probabilities(problem.offset + self.start @ self.T)) @ self.T.T
        flat = replace(problem, loss=Squared(), y=np.ascontiguousarray(D), turn=np.eye(q))
        super().__init__(flat)
        self.flat_problem, self.problem = flat, problem

    def proxy(self):
        """The squared loss of the slopes at the null fit, with the same working columns."""
        out = ResponseModel(self.flat_problem)
        out.grow(self.W)
        return out

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns, from start = (b, b0); every refit is
        run to its end, whatever the target.
        """
        self.refits += 1
        k, m = support.size, int(self.problem.intercept)
        x = np.zeros((k + m, len(self.T)))
        if m:
            x[k] = self.start
        if start is not None:
            x[:k] = start[0]
            if m:
                x[k] = self.T @ start[1]
        x, value, done = self._newton(self.Z[self.where[support]], x, lambda2)
        b0 = x[k] @ self.T if m else np.zeros(self.T.shape[1])
        return Fit(support, x[:k], b0, value, () if done else (FitStatus.NOT_CONVERGED,))

    def _newton(self, Z, x, lambda2):
        """(x, F, whether it converged) from coefficients x (k, q), the intercepts in its last row
        where there are some; Z (k, n).
        """
        p = self.problem
        A = np.vstack([Z, np.ones((1, p.X.n))]) if p.intercept else Z
        ridge = np.full((len(A), 1), 2.0 * lambda2)
        ridge[len(Z) :] = 0.0

        def at(x):
            eta = p.offset + (A.T @ x) @ self.T
            with np.errstate(over="ignore", invalid="ignore"):
                value = p.weights @ log_losses(p.y, eta) + 0.5 * float((ridge * x * x).sum())
            return float(value), eta

        value, eta = at(x)
        for _ in range(100 if len(A) else 0):
            P = probabilities(eta)
            g = A @ ((p.weights[:, None] * (P - p.y)) @ self.T.T) + ridge * x
            step = self._step(A, P, ridge, g)
            gain = float((g * step).sum())
            # losses are differences of numbers of the size of eta
            rounding = 1e-15 * (1.0 + float(p.weights @ np.abs(eta).max(axis=1)))
            size = 1.0
            for _ in range(STEP_HALVINGS):
                new = x - size * step
                found = at(new)
                if found[0] <= value - 1e-4 * size * gain + rounding:
                    break
                size *= 0.5
            if found[0] <= value:
                x, value, eta = new, *found
            if gain <= LEAST_GAIN * abs(value) + 0.1 * rounding:
                return x, value, True
        return x, value, not len(A)

    def _step(self, A, P, ridge, g):
        """The Newton step H^-1 g, (K, q)."""
        (K, q), w = g.shape, self.problem.weights
        PT = P @ self.T.T
        H = np.empty((q, K, q, K))
        for a in range(q):
            for b in range(a + 1):
                v = w * ((P * (self.T[a] * self.T[b])).sum(axis=1) - PT[:, a] * PT[:, b])
                H[a, :, b] = (A * v) @ A.T
                if b < a:
                    H[b, :, a] = H[a, :, b].T
        H = H.reshape(q * K, q * K)
        # a trace of a ridge, so that dependent columns have a step
        trace = 1e-12 * max(float(np.trace(H)) / len(H), 1e-300)
        H[np.diag_indices_from(H)] += np.tile(ridge[:, 0], q) + trace
        return cho_solve(cho_factor(H, check_finite=False), g.T.ravel()).reshape(q, K).T

    # -------------------- quadratics that rank

    def _slopes(self, fit):
        """(-dF by rows and contrasts (n, q), mean curvature) of a fit."""
        p = self.problem
        eta = p.offset + (self.Z[self.where[fit.support]].T @ fit.b) @ self.T + fit.b0
        P = probabilities(eta)
        mean = float(p.weights @ (1.0 - (P * P).sum(axis=1))) / len(self.T)
        return (p.weights[:, None] * (p.y - P)) @ self.T.T, max(mean, 1e-8)

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
