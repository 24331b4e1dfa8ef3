"""The multinomial loss on the working columns: restricted optima by Newton's method, and Gram
matrices without weights for the quadratics that rank exchanges.

Coefficients are those of the r - 1 contrasts of `several.contrasts`, so they sum to zero over the
classes. Exchanges are ranked with mean * G for the Hessian of `problem.softmax`, mean = sum_i w_i
(1 - |P_i|^2) / (r - 1), the mean of the eigenvalues of the matrices T (diag P_i - P_i P_i') T'.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from ...core.dispatch import njit
from ...problem.losses import Squared
from ...problem.problem import Fit
from ...problem.several import class_codes
from ...problem.softmax import softmax_of
from ...problem.verbs import derivatives, loss_data
from .. import newton
from ..columns import CONDITION, Quadratic, WorkingColumns
from ..curvature import Derivatives, LocalTable
from ..gram import FitState, GramModel
from ..groups import GramCurvature, inverse
from ..linear_algebra import invert, products
from ..refits import NewtonRefits

HELD = 128  # quadratics that are held
HELD_NUMBERS = 1 << 20  # numbers in the Hessians of fits that are held


class ClassHessian(NamedTuple):
    """The Hessian of a fit, for a table of exchanges."""

    table: LocalTable  # of the columns that were asked for last
    slopes: np.ndarray  # (q, n)
    step: np.ndarray  # (q K,), the Newton step at the fit, at the end of which the table counts


class MultinomialModel(NewtonRefits, GramModel):
    """Working columns of a multinomial problem; q_all are those of the slopes at the null fit."""

    sharp = rough = True  # by `local_table`, and by `quadratic`

    def __init__(self, problem):
        WorkingColumns.__init__(self, problem)
        self.T, self.held = problem.turn, {}
        self.hessians, self.held_numbers, self.recent = {}, 0, {}
        self.begin_refits(problem)
        self.loss = softmax_of(self.T.shape[1])
        self.codes = class_codes(problem.y).astype(np.float64)
        self.turned_offset = (self.T @ problem.offset.T).ravel()  # (q n,)
        self.start = np.zeros(len(self.T))
        self.start = self.T @ self.refit(np.empty(0, np.int64), 0.0, 0.0).b0
        null = Fit(np.empty(0, np.int64), np.empty((0, len(self.T))), self.start @ self.T, 0.0)
        D = -self.derivatives(null).slopes.T / problem.weights[:, None]
        flat = replace(problem, loss=Squared(), y=np.ascontiguousarray(D), turn=np.eye(len(self.T)))
        super().__init__(flat)
        self.flat_problem, self.problem = flat, problem

    def rows_with(self, Z):
        """As in `NewtonRefits`, the predictors are those of the contrasts."""
        p, loss = self.problem, loss_data(self.loss)
        return newton.LossRows(loss, self.codes, p.weights, self.turned_offset, p.intercept, Z)

    def begin(self, start, k):
        """As in `NewtonRefits`; b (k, q), levels (q,)."""
        if start is None:
            return np.zeros((k, len(self.T))), self.start
        return start[0], self.T @ start[1]

    def level(self, fit):
        """As in `NewtonRefits`."""
        return (self.T @ fit.b0)[:, None]

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
        key = _numbers(fit)
        if key in self.recent:
            return self.recent[key]
        q, n = len(self.T), self.codes.size
        eta = (fit.b.T @ self.Z[self.where[fit.support]] + self.level(fit)).ravel()
        eta += self.turned_offset
        slopes, v = np.empty(q * n), np.empty(q * (q + 1) // 2 * n)
        derivatives(self.loss, self.codes, eta, self.problem.weights, slopes, v)
        while len(self.recent) > HELD_NUMBERS // (eta.size + slopes.size + v.size):
            del self.recent[next(iter(self.recent))]
        found = Derivatives(eta.reshape(q, n), slopes.reshape(q, n), v.reshape(-1, n))
        self.recent[key] = found
        return found

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

    def local_table(self, fit, lambda2, into):
        """As `RowModel.local_table`, by the curvatures of the fit, of the working columns `into`,
        -1 for none; None where some direction has no clear curvature.
        """
        key = *_numbers(fit), lambda2
        if key not in self.hessians:
            self.hessians[key] = self._hessian(fit, float(lambda2))
        held = self.hessians[key]
        if held is not None and _lacking(held.table.place, into):
            (q, size), place = (len(self.T), held.table.x.size), np.full(self.width, -1)
            wanted = np.unique(into[into >= 0])
            place[wanted], m = np.arange(wanted.size), wanted.size
            table = held.table._replace(
                center=np.zeros(self.width),
                place=place,
                c=np.empty(q * m),
                diagonal=np.empty(len(held.table.curvatures) * m),
                rows=np.empty((size, q * m)),
            )
            _fill(self.row_data(self.Z), table, held.slopes, held.step, wanted)
            held = self.hessians[key] = held._replace(table=table)
        return None if held is None else held.table

    def _hessian(self, fit, lambda2):
        """The `ClassHessian` of a fit, of no columns beside its own; None where it is singular."""
        _, slopes, curvatures = self.derivatives(fit)
        (q, n), S, pair = slopes.shape, self.where[fit.support], 0
        k, K = S.size, S.size + int(self.problem.intercept)
        A, H, ridge, x = np.ones((K, n)), np.empty((q, K, q, K)), np.zeros((q, K)), np.empty((q, K))
        np.take(self.Z, S, axis=0, out=A[:k])
        for s in range(q):
            for t in range(s + 1):
                H[s, :, t] = H[t, :, s] = (A * curvatures[pair]) @ A.T
                pair += 1
        ridge[:, :k], x[:, :k] = 2.0 * lambda2, fit.b.T
        x[:, k:] = (self.T @ fit.b0)[:, None]
        H, none = H.reshape(q * K, q * K), np.empty(0)
        H.ravel()[:: q * K + 1] += ridge.ravel()
        B = np.empty(H.shape)
        # where next to nothing is left of the loss, the inverse is beyond all numbers
        if invert(H, x.size, B) or not np.isfinite(B).all():
            return None
        step = B @ -(slopes @ A.T + ridge * x).ravel()
        self.held_numbers += slopes.size + curvatures.size + B.size
        if self.held_numbers > HELD_NUMBERS:
            self.hessians, self.held_numbers, self.recent = {}, 0, {}
        table = LocalTable(
            S=S,
            x=x.ravel() + step,
            B=B,
            lambda2=lambda2,
            scale=1.0,
            curvatures=curvatures,
            center=none,
            place=np.empty(0, np.int64),
            c=none,
            diagonal=none,
            rows=np.empty((x.size, 0)),
            index=np.arange(x.size),
        )
        return ClassHessian(table, slopes, step)

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


def _numbers(fit):
    """The support and the coefficients of a fit, as bytes."""
    return fit.support.tobytes(), fit.b.tobytes(), fit.b0.tobytes()


def _lacking(place, J):
    """Whether a table with these places lacks one of the working columns J, -1 for none."""
    J = J[J >= 0]
    return place.size == 0 or (J.size > 0 and (J.max() >= place.size or place[J].min() < 0))


@njit
def _fill(rows, table, slopes, step, wanted):
    """Fill a `LocalTable` with what it says of the working columns `wanted` (m,), its places
    0 .. m - 1. slopes (q, n) at the fit; step (q K,): the Newton step there.
    """
    q, n, k, m = slopes.shape[0], rows.y.size, table.S.size, wanted.size
    K, weighted, along = k + 1 if rows.intercept else k, np.empty(n), np.empty(k)
    for at in range(m):
        z, pair = rows.Z[wanted[at]], 0
        for s in range(q):
            t = 0.0
            for i in range(n):
                t -= slopes[s, i] * z[i]
            table.c[s * m + at] = t
            for u in range(s + 1):
                V, total, square = table.curvatures[pair], 0.0, 0.0
                for i in range(n):
                    t = V[i] * z[i]
                    weighted[i] = t
                    total += t
                    square += t * z[i]
                table.diagonal[pair * m + at] = square
                products(rows.Z, table.S, weighted, along)
                for a in range(K):
                    t = along[a] if a < k else total
                    table.rows[s * K + a, u * m + at] = t
                    table.rows[u * K + a, s * m + at] = t
                pair += 1
        for s in range(q):
            for l in range(step.size):
                table.c[s * m + at] -= step[l] * table.rows[l, s * m + at]
