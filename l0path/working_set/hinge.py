"""The hinge on the working columns: restricted optima, by smoothed hinges that narrow and a linear
system that ends them, or by linear programming where there is no ridge.

    minimise over b0 and lower <= b <= upper                                                   (H)
        sum_i w_i max(0, 1 - y_i (o_i + b0 + z_i'b)) + lambda1 ||b||_1 + lambda2 ||b||^2

Rows have margins m_i = y_i eta_i below, at or above 1, and slopes a_i = -y_i w_i, -y_i u_i (0 <=
u_i <= w_i) or 0. Given which rows are where, and which coefficients are at bounds or zero,
optimality is a linear system in b, b0 and u:

    2 lambda2 b_j + lambda1 sign(b_j) + z_j'a = 0   (j free)
    sum a = 0                                       (free intercept)
    y_i eta_i = 1                                   (rows at the kink)

The smoothed hinge of width gamma lies below the hinge by at most gamma / 2, and its slopes are dual
points of the hinge: the rows where it is curved are those at the kink once gamma is small enough,
and the dual value at its slopes says when that is so. Sources: Lee & Mangasarian (SSVM: A smooth
support vector machine, Computational Optimization and Applications 20, 2001) for smoothing and
Newton steps; Hastie, Rosset, Tibshirani & Zhu (The entire regularization path for the support
vector machine, JMLR 5, 2004) for the linear system of the three sets of rows.
"""

import numpy as np
import scipy

from ..core.status import FitStatus
from ..problem.conjugates import feasible
from ..problem.losses import Hinge, SmoothedHinge
from ..problem.problem import Fit
from ..problem.verbs import derivatives
from . import newton
from .columns import WorkingColumns
from .gram import GramModel
from .rows import RowModel, refit_in_turn
from .several.responses import ResponseModel

WIDTHS = 0.1 ** np.arange(1.0, 11.0)  # of the smoothed hinges, one after the other
# relative gap at which a restricted optimum is one; the search goes on until TIGHT_GAP is met or
# the widths are used up
CLOSED_GAP = 1e-11
TIGHT_GAP = 1e-9  # a larger gap at the end is flagged


class HingeModel(WorkingColumns):
    """The hinge loss: restricted optima with their dual points; no exchanges, which belong to
    smooth losses.
    """

    def null(self, lambda1, lambda2):
        """The fit with forced columns only."""
        return self.refit(self.problem.forced, lambda1, lambda2)

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns, from a start (b, b0); flagged
        NOT_CONVERGED where weak duality does not confirm them to TIGHT_GAP.
        """
        p = self.problem
        self.refits += 1
        Z = self.Z[self.where[support]]
        few = _Restricted(
            p, np.ascontiguousarray(Z), float(lambda1), float(lambda2), *self.bounds_of(support)
        )
        if lambda2 > 0.0:
            b, b0, value, gap = few.narrow(start)
        else:
            b, b0, value, gap = few.program()
        flags = () if gap <= TIGHT_GAP * max(abs(value), 1e-3) else (FitStatus.NOT_CONVERGED,)
        return Fit(support, b, b0, value, flags)


def make_model(problem, max_iter=1000):
    """The working columns of a problem, none at first; max_iter: the steps of a refit at most."""
    if problem.turn is not None and not problem.quadratic:
        from .several.multinomial import MultinomialModel as kind  # kernels of this loss alone
    elif problem.turn is not None:
        kind = ResponseModel
    elif problem.quadratic:
        kind = GramModel
    else:
        kind = HingeModel if isinstance(problem.loss, Hinge) else RowModel
    model = kind(problem)
    model.max_iter = max_iter
    return model


class _Restricted:
    """(H) on the columns Z (k, n), one a row."""

    def __init__(self, problem, Z, lambda1, lambda2, lower, upper):
        self.problem, self.Z, self.lambda1, self.lambda2, self.lower, self.upper = (
            problem,
            Z,
            lambda1,
            lambda2,
            lower,
            upper,
        )
        self.every = np.arange(Z.shape[0])

    def value(self, b, b0):
        """(objective, margins (n,))."""
        p = self.problem
        margin = p.y * (p.offset + b0 + b @ self.Z)
        return float(p.weights @ np.maximum(1.0 - margin, 0.0)) + newton.shrinkage(
            b, self.lambda1, self.lambda2
        ), margin

    def bound(self, a):
        """The dual value of slopes a (n,), moved into the domain: no coefficients have a lower
        objective.
        """
        p = self.problem
        a = feasible(p.loss, p.y, p.weights, p.intercept, a[:, None])[:, 0]
        tau = self.Z @ a
        reduced = np.abs(tau) - self.lambda1
        with np.errstate(divide="ignore", invalid="ignore"):
            b = np.where(reduced > 0, -np.sign(tau) * reduced / (2.0 * self.lambda2), 0.0)
        b = np.clip(b, self.lower, self.upper)
        with np.errstate(invalid="ignore"):
            h = np.where(
                np.isfinite(b), -tau * b - self.lambda1 * np.abs(b) - self.lambda2 * b * b, np.inf
            )
        return float(p.offset @ a - p.y @ a - h.sum())

    def narrow(self, start):
        """(b, b0, objective, gap) with a ridge: Newton on ever narrower smoothed hinges, each
        followed by the linear system of its rows.
        """
        p, n = self.problem, self.problem.X.n
        b, b0 = (
            (np.zeros(self.every.size), float(p.weights @ p.y) if p.intercept else 0.0)
            if start is None
            else (np.array(start[0], dtype=np.float64), float(start[1]))
        )
        best, top = (b, b0, np.inf), -np.inf
        eta, slopes, curved = np.empty(n), np.empty(n), np.empty(n)
        for width in WIDTHS:
            loss = SmoothedHinge(float(width))
            b0 = refit_in_turn(
                newton.rows_of(p, self.Z)._replace(loss=loss),
                self.every[None],
                newton.Shrinkage(self.lambda1, self.lambda2),
                newton.Box(self.lower[None], self.upper[None]),
                b[None],
                b0,
                newton.Stopping(np.inf, 0, False, 200),
                eta,
            )[3]
            derivatives(loss, p.y, eta, p.weights, slopes, curved)
            for x, x0, a in ((b, b0, slopes), self.polished(b, b0, p.y * eta, curved > 0)):
                value = self.value(x, x0)[0]
                best = (x.copy(), x0, value) if value < best[2] else best
                top = max(top, self.bound(a))
            if best[2] - top <= CLOSED_GAP * max(abs(best[2]), 1e-3):
                break
        return *best, best[2] - top

    def polished(self, b, b0, margin, kink):
        """(b, b0, slopes) of the linear system with these rows at the kink, rows of a lower margin
        on its left; before the last width slopes need not be feasible.
        """
        p = self.problem
        free = (b > self.lower) & (b < self.upper) & ((b != 0.0) | (self.lambda1 == 0.0))
        F, E, m = np.flatnonzero(free), np.flatnonzero(kink), int(p.intercept)
        a = np.where(~kink & (margin < 1.0), -p.y * p.weights, 0.0)
        f, e = F.size, E.size
        A, rhs = np.zeros((f + m + e, f + m + e)), np.zeros(f + m + e)
        A[:f, :f] = 2.0 * self.lambda2 * np.eye(f)
        Z = self.Z[F]
        A[:f, f + m :], A[f + m :, :f] = Z[:, E], Z[:, E].T
        rhs[:f] = -Z @ a - self.lambda1 * np.sign(b[F])
        if m:
            A[f, f + m :], A[f + m :, f] = 1.0, 1.0
            rhs[f] = -a.sum()
        held = np.where(free, 0.0, b)
        rhs[f + m :] = (p.y - p.offset - (0.0 if m else b0) - held @ self.Z)[E]
        x = np.linalg.lstsq(A, rhs, rcond=1e-13)[0]
        out = held.copy()
        out[F] = np.clip(x[:f], self.lower[F], self.upper[F])
        a[E] = x[f + m :]
        return out, float(x[f]) if m else b0, a

    def program(self):
        """(b, b0, objective, gap) without a ridge, a linear program: b = up - down and the losses
        as variables.
        """
        from scipy.sparse import csr_array, diags_array, hstack  # slow, and rarely needed

        p, k, n = self.problem, self.every.size, self.problem.X.n
        YZ = csr_array((p.y * self.Z).T)
        shift = csr_array(p.y[:, None]) if p.intercept else csr_array((n, 0))
        A = -hstack([YZ, -YZ, shift, diags_array(np.ones(n))], format="csr")
        cost = np.concatenate([np.full(2 * k, self.lambda1), np.zeros(shift.shape[1]), p.weights])
        box = np.concatenate(
            [
                np.column_stack([np.maximum(self.lower, 0.0), np.maximum(self.upper, 0.0)]),
                np.column_stack([np.maximum(-self.upper, 0.0), np.maximum(-self.lower, 0.0)]),
                np.full((shift.shape[1], 2), [-np.inf, np.inf]),
                np.full((n, 2), [0.0, np.inf]),
            ]
        )
        found = scipy.optimize.linprog(
            cost,
            A_ub=A,
            b_ub=p.y * p.offset - 1.0,
            bounds=box,
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.x is None:
            return np.zeros(k), 0.0, self.value(np.zeros(k), 0.0)[0], np.inf
        b = np.clip(found.x[:k] - found.x[k : 2 * k], self.lower, self.upper)
        b0 = float(found.x[2 * k]) if p.intercept else 0.0
        value = self.value(b, b0)[0]
        return b, b0, value, value - found.fun
