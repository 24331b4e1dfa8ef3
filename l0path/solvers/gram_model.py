"""The squared loss on the working columns: their Gram matrix says everything, and no row is touched after it is made."""
import numpy as np

from ..designs import threads
from ..problem import Fit
from . import newton
from .linear_algebra import invert
from .working_columns import READ, Quadratic, WorkingColumns


class GramModel(WorkingColumns):
    """Squared loss: G (w, w) Gram matrix of the working columns, q (p,) their products with y, and Gram rows over all p columns for those that were ever read."""

    def __init__(self, problem):
        super().__init__(problem)
        p = problem
        self.q_all = np.where(p.usable, p.X.products(p.weights, p.y), 0.0)
        self.reads += 1
        self.half_square = 0.5 * float(p.weights @ (p.y * p.y))
        self.G = np.empty((0, 0))
        self.q = np.empty(0)
        self.row_of = {}  # index -> its row in self.rows
        self.rows = np.empty((0, p.X.p))

    def _extend(self, old, new):
        capacity = self.Z.shape[0]
        if self.G.shape[0] != capacity:
            G = np.empty((capacity, capacity))
            G[:old, :old] = self.G[:old, :old]
            self.G = G
        block = (self.Z[old:new] * self.problem.weights) @ self.Z[:new].T
        self.G[old:new, :new] = block
        self.G[:new, old:new] = block.T
        self.q = self.q_all[self.W]

    def null(self, lambda1, lambda2):
        """The fit with forced columns only."""
        return self.refit(self.problem.forced, lambda1, lambda2)

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns."""
        self.refits += 1
        at = self.where[support]
        G, q = self.G[np.ix_(at, at)], self.q[at]
        H = G + 2.0 * lambda2 * np.eye(at.size)
        x = np.zeros(at.size) if start is None else np.array(start, dtype=np.float64)
        violation = newton.solve_quadratic(H, q, np.full(at.size, float(lambda1)), *self.bounds_of(support), x, 200) if at.size else 0.0
        value = self.half_square - q @ x + 0.5 * x @ (G @ x) + lambda1 * np.abs(x).sum() + lambda2 * x @ x
        return Fit(support, x, self.problem.shift, float(value), () if violation < 1e-8 else ("not_converged",))

    def inverse(self, fit, lambda2):
        """B of a fit."""
        at = self.where[fit.support]
        B = np.empty((at.size, at.size))
        invert(self.G[np.ix_(at, at)] + 2.0 * lambda2 * np.eye(at.size), at.size, B)
        return B

    def quadratic(self, fit, lambda2, first=0):
        """On the working columns, from position `first` on."""
        rows = self.G[self.where[fit.support], first : self.width]
        return Quadratic(rows, self.q[first:] - fit.b @ rows, np.ascontiguousarray(np.diagonal(self.G)[first : self.width]), self.inverse(fit, lambda2))

    def read(self, supports):
        """Fetch the Gram rows over all p columns of every member of the supports that is not cached yet: one batched read of X."""
        new = [j for j in dict.fromkeys(np.concatenate(supports).tolist()) if j not in self.row_of]
        if not new:
            return 0
        have, p = len(self.row_of), self.problem.X.p
        if have + len(new) > self.rows.shape[0]:
            rows = np.empty((max(have + len(new) + 64, 2 * self.rows.shape[0]), p))
            rows[:have] = self.rows[:have]
            self.rows = rows
        self.problem.X.gram_rows(new, self.problem.weights, self.rows[have : have + len(new)], self.Z[self.where[new]], READ)
        self.row_of.update({j: have + i for i, j in enumerate(new)})
        self.reads += 1
        return len(new)

    def violators(self, fits, targets, *, lambda1, lambda2, lambda0=0.0, ceilings, keep):
        """For each fit its best keep[i] exchanges over all p columns (see `scan`)."""
        self.read([fit.support for fit in fits])
        out = [None] * len(fits)

        def check(i):
            fit, target, ceiling, most = fits[i], targets[i], ceilings[i], keep[i]
            index = np.array([self.row_of[j] for j in fit.support.tolist()], dtype=np.int64)
            B = self.inverse(fit, lambda2)
            bound = np.linalg.eigvalsh(B)[-1] * (1 + 1e-9) if B.size else 0.0
            out[i] = self.scan(Quadratic(self.rows, self.q_all, self.problem.square, B), fit, index=index, lambda1=lambda1, lambda2=lambda2, lambda0=lambda0, target=target,
                               ceiling=ceiling, keep=most, bound=bound, split=len(fits) == 1)

        threads.run_each(check, len(fits))
        return out
