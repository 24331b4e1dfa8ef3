"""Several responses on the working columns: one Gram matrix for all of them, and coefficients and
products with a column for each response.
"""

from typing import NamedTuple

import numpy as np

from ...problem.problem import Fit
from ..columns import CONDITION
from ..curvature import Derivatives
from ..gram import GramModel
from ..groups import INVERSES, inverse


class ResponseQuadratic(NamedTuple):
    """F near a fit, with m columns and q responses."""

    rows: np.ndarray  # (k, m), G_{S, columns}
    c: np.ndarray  # (m, q), gradient
    a: np.ndarray  # (m,), diagonal
    B: np.ndarray  # inverse of G_SS + 2 lambda2 I on `kept`
    kept: np.ndarray  # positions in the support of independent columns


class FitState(NamedTuple):
    """A fit as a check over all columns sees it: F is `mean` times a quadratic with the Gram matrix
    and the ridge lambda2, whose gradient c (p, q) is known, or follows from q_all and Gram rows.
    """

    mean: float
    lambda2: float
    c: np.ndarray | None = None


class ResponseModel(GramModel):
    """`GramModel` of q responses: q_all (p, q), y (n, q), coefficients b (k, q)."""

    def __init__(self, problem):
        super().__init__(problem)
        self.q, self.inverses = self.q_all[:0], {}

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns; start and target are not looked at,
        for there is a closed form.
        """
        self.refits += 1
        if self.near is not None and self.negligible_ridge(lambda2):
            fit, rank = self.on_rows(support, lambda2)
            independent = rank == support.size - self._forced_spare(lambda2)
            return fit if independent else fit._replace(value=np.inf)
        at = self.where[support]
        G, q, (B, kept) = self.G[np.ix_(at, at)], self.q[at], self.kept_inverse(support, lambda2)
        b = np.zeros(q.shape)
        b[kept] = B @ q[kept]
        b[kept] += B @ (q - G @ b - 2.0 * lambda2 * b)[kept]
        value = self.half_square - (q * b).sum() + 0.5 * (b * (G @ b)).sum()
        value += lambda2 * (b * b).sum()
        return Fit(support, b, self.problem.shift, float(value))

    def kept_inverse(self, support, lambda2):
        """(B, positions of independent columns) of a support."""
        key = support.tobytes(), lambda2
        if key not in self.inverses:
            at = self.where[support]
            if len(self.inverses) >= INVERSES:
                self.inverses.pop(next(iter(self.inverses)))
            H = self.G[np.ix_(at, at)]
            H[np.diag_indices_from(H)] += 2.0 * lambda2
            self.inverses[key] = inverse(H)
        return self.inverses[key]

    def on_rows(self, support, lambda2):
        """(Fit, rank) by an orthogonal factorization, as `GramModel.on_rows`."""
        p, root, k = self.problem, np.sqrt(self.problem.weights), support.size
        A, y = (self.Z[self.where[support]] * root).T, root[:, None] * p.y
        if lambda2:
            A = np.vstack([A, np.sqrt(2.0 * lambda2) * np.eye(k)])
            y = np.vstack([y, np.zeros((k, y.shape[1]))])
        unit = np.sqrt(np.maximum(p.square[support], 1e-300))
        b, _, rank, _ = np.linalg.lstsq(A / unit, y, rcond=1.0 / CONDITION)
        b /= unit[:, None]
        return Fit(support, b, p.shift, 0.5 * float(((y - A @ b) ** 2).sum())), int(rank)

    def derivatives(self, fit):
        """The Derivatives of a fit, (n, q) except for the curvatures."""
        p = self.problem
        eta = self.Z[self.where[fit.support]].T @ fit.b
        return Derivatives(eta, p.weights[:, None] * (eta - p.y), p.weights)

    def quadratic(self, fit, lambda2, first=0):
        """The ResponseQuadratic on the working columns, from position `first` on."""
        rows = self.G[self.where[fit.support], first : self.width]
        a = np.ascontiguousarray(np.diagonal(self.G)[first : self.width])
        return self._at(fit, lambda2, rows, self.q[first:], a)

    def gradients(self, fits, lambda2):
        """[(gradient (p, q) over all columns of the quadratic at a fit, what F is times it)] of
        fits, in one read of X.
        """
        self.reads += 1
        C = self.problem.X.correlate(np.hstack([-self.derivatives(fit).slopes for fit in fits]))
        return [(c, 1.0) for c in np.split(C, len(fits), axis=1)]

    def over_all(self, fits, lambda2):
        """The state of each fit (FitState) for a check over all columns."""
        for fit in fits:
            self.kept_inverse(fit.support, lambda2)
        return [FitState(1.0, lambda2) for _ in fits]

    def of_all(self, fit, state, columns):
        """The ResponseQuadratic on a slice of all p columns, from the Gram rows of the support."""
        rows = self.rows[[self.row_of[j] for j in fit.support.tolist()], columns]
        c = state.c[columns] if state.c is not None else self.q_all[columns] - rows.T @ fit.b
        B, kept = self.kept_inverse(fit.support, state.lambda2)
        return ResponseQuadratic(rows, c, self.problem.square[columns], B, kept)

    def _at(self, fit, lambda2, rows, q, a):
        B, kept = self.kept_inverse(fit.support, lambda2)
        return ResponseQuadratic(rows, q - rows.T @ fit.b, a, B, kept)
