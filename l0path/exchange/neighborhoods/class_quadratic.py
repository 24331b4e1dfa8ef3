"""The quadratic at a fit under a loss of q predictors of each row: what it predicts for exchanges,
and the table from which these are tried.

The coefficients of a support are in the order of `working_set.newton`, q parts of those of its
columns and of the intercept. Predictions are those of `chord_steps.exchanged`, for all exchanges at
once: with B the inverse Hessian, x the optimum on the support, c_j the downhill slopes of column j
there, U_j = C_j B and s_j = A_j - U_j C_j' what the support leaves of its second derivatives,

    drop i:        x_i' B_ii^-1 x_i / 2
    add j:         -c_j' s_j^-1 c_j / 2
    swap i for j:  x_i' B_ii^-1 x_i / 2 - c' s^-1 c / 2,   c = c_j + U_ji B_ii^-1 x_i,
                                                           s = s_j + U_ji B_ii^-1 U_ji'
"""

import numpy as np

from ...working_set.linear_algebra import COLLINEAR, invert
from ..trials import LocalTable

WEAK = 1e-13  # share of its diagonal entry at which a pivot counts as none, see `cholesky`


class ClassQuadratic:
    """The quadratic at a fit of a `MultinomialModel`. `clear`: whether every direction has a clear
    curvature; else nothing may be asked of it.
    """

    def __init__(self, model, fit, lambda2):
        self.model, self.lambda2, self.S = model, float(lambda2), model.where[fit.support]
        _, self.slopes, self.curvatures = model.derivatives(fit)
        self.q, k = len(self.slopes), self.S.size
        A = self._members()
        x = model.packed(*model.begin((fit.b, fit.b0), k))
        ridge = np.full((self.q, len(A)), 2.0 * self.lambda2)
        ridge[:, k:] = 0.0
        H, self.B = self._products(A, A), np.empty((x.size, x.size))
        H[np.diag_indices(x.size)] += ridge.ravel()
        self.clear = invert(H, x.size, self.B) == 0
        gradient = (self.slopes @ A.T).ravel() + ridge.ravel() * x
        self.step = -self.B @ gradient
        self.x = x + self.step

    @property
    def size(self):
        """How many numbers are held."""
        return self.slopes.size + self.curvatures.size + self.B.size

    def _members(self):
        """The columns of the support, and that of the intercept (K, n)."""
        A = self.model.Z[self.S]
        return np.vstack([A, np.ones(A.shape[1])]) if self.model.problem.intercept else A

    def _products(self, A, Z):
        """The second derivatives of columns A with columns Z, for all pairs of predictors."""
        out, pair = np.empty((self.q, len(A), self.q, len(Z))), 0
        for s in range(self.q):
            for t in range(s + 1):
                out[s, :, t] = (A * self.curvatures[pair]) @ Z.T
                out[t, :, s] = out[s, :, t]
                pair += 1
        return out.reshape(self.q * len(A), -1)

    def table(self, J):
        """The `LocalTable` of the fit, with the working columns J (positions) to be added."""
        Z, width = self.model.Z[J], self.model.width
        rows, place = self._products(self._members(), Z), np.full(width, -1)
        place[J] = np.arange(J.size)
        return LocalTable(
            S=self.S,
            x=self.x,
            B=self.B,
            lambda2=self.lambda2,
            scale=1.0,
            curvatures=self.curvatures,
            center=np.zeros(width),
            place=place,
            c=-(self.slopes @ Z.T).ravel() - self.step @ rows,
            diagonal=(self.curvatures @ (Z * Z).T).ravel(),
            rows=rows,
            index=np.arange(self.x.size),
        )

    def removals(self):
        """(k,) what it costs to drop each member of the support."""
        x, B = self._of_members(np.arange(self.S.size))
        return 0.5 * (x * np.linalg.solve(B, x[:, :, None])[:, :, 0]).sum(axis=1)

    def _of_members(self, i):
        """(x_i (m, q), B_ii (m, q, q)) of members at positions i (m,) of the support."""
        K = self.x.size // self.q
        x, B = self.x.reshape(self.q, K), self.B.reshape(self.q, K, self.q, K)
        return x.T[i], B[:, i, :, i]

    def changes(self, table, exchanges):
        """(m,) by how much F changes after `Exchanges` with columns of a table, inf for columns
        that are combinations: additions only, or swaps and removals.
        """
        q, K = self.q, self.x.size // self.q
        m, (s, t) = table.c.size // q, np.tril_indices(q)
        own = np.empty((m, q, q))
        own[:, s, t] = own[:, t, s] = table.diagonal.reshape(-1, m).T
        own += 2.0 * self.lambda2 * np.eye(q)
        C = np.ascontiguousarray(table.rows.T).reshape(q, m, -1)
        U = C @ self.B
        left = own - np.einsum("sal,tal->ast", U, C)
        U = U.reshape(q, m, q, K)
        change, adds, drops = np.zeros(exchanges.out.size), exchanges.into >= 0, exchanges.out >= 0
        at = table.place[exchanges.into[adds]]
        c, left, own = table.c.reshape(q, m).T[at], left[at], own[at]
        if drops.any():
            change[drops] = self.removals()[exchanges.out[drops]]
            swaps, i = drops[adds], exchanges.out[adds & drops]
            x, B = self._of_members(i)
            Ui = U[:, at[swaps], :, i]
            part = np.linalg.solve(B, np.concatenate([Ui.transpose(0, 2, 1), x[:, :, None]], 2))
            left[swaps] += Ui @ part[:, :, :q]
            c[swaps] += (Ui @ part[:, :, q:])[:, :, 0]
        change[adds] -= _gains(own, left, c)
        return change


def _gains(own, left, c):
    """(m,) c' left^-1 c / 2 by elimination, for some c (m, q) and left (m, q, q), which are changed;
    -inf where next to nothing of a pivot, or of the curvatures `own`, is left.
    """
    gain, pivots = np.zeros(len(c)), np.einsum("ass->as", left).copy()
    flat = (pivots <= COLLINEAR * np.einsum("ass->as", own)).any(axis=1)
    for s in range(c.shape[1]):
        pivot = left[:, s, s].copy()
        flat |= ~(pivot > WEAK * pivots[:, s])
        pivot[flat] = 1.0
        gain += 0.5 * c[:, s] ** 2 / pivot
        ratio = left[:, s + 1 :, s] / pivot[:, None]
        c[:, s + 1 :] -= ratio * c[:, s, None]
        left[:, s + 1 :, s + 1 :] -= ratio[:, :, None] * left[:, None, s, s + 1 :]
    gain[flat] = -np.inf
    return gain
