"""Losses of q predictors of each row on the working columns: restricted optima by Newton's method,
and Gram matrices without weights for the quadratics that rank exchanges.

Of several classes the coefficients are those of the r - 1 contrasts of `several.contrasts`, so they
sum to zero over the classes. Exchanges are ranked with mean * G for the Hessian of
`problem.softmax`, mean = sum_i w_i (1 - |P_i|^2) / (r - 1), the mean of the eigenvalues of the
matrices T (diag P_i - P_i P_i') T'.

Several responses of a loss of rows have a predictor each (`problem.response_sum`). On a given
support they have nothing to do with each other: a `RowModel` of each finds its optimum there, or
the infimum that it has without one. Where the mean curvatures m_r of the responses differ, as those
of rare and frequent counts do, exchanges are ranked in the coefficients sqrt(m_r / mean) b_r, of
which all have the curvature mean * G.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from ...core.dispatch import njit
from ...problem.losses import Squared
from ...problem.problem import Fit
from ...problem.response_sum import response_sum
from ...problem.several import centered, class_codes, has_free_number
from ...problem.softmax import softmax_by_class, softmax_of
from ...problem.verbs import derivatives, loss_data
from .. import newton
from ..columns import CONDITION, Quadratic, WorkingColumns
from ..curvature import Derivatives, LocalTable
from ..gram import FitState, GramModel
from ..groups import GramCurvature, inverse
from ..linear_algebra import products
from ..refits import NewtonRefits, refit_alone
from ..rows import RowModel

HELD = 128  # quadratics that are held
HELD_NUMBERS = 1 << 20  # numbers in the Hessians of fits that are held
LEAST_UNIT = 1e-8  # of the mean curvature, that of a response in a ranking


class ClassHessian(NamedTuple):
    """The Hessian of a fit, for a table of exchanges."""

    table: LocalTable  # of the columns that were asked for last
    slopes: np.ndarray  # (q, n)
    step: np.ndarray  # (q K,), the Newton step at the fit, at the end of which the table counts


class PredictorsModel(NewtonRefits, GramModel):
    """Working columns of a problem with q predictors of each row; q_all are those of the slopes at
    the null fit. T (q, r) brings the predictors, and their coefficients, back to the user's r
    classes or responses.
    """

    sharp = rough = True  # by `local_table`, and by `quadratic`

    def __init__(self, problem):
        WorkingColumns.__init__(self, problem)
        self.T, self.held = problem.turn, {}
        self.back = np.linalg.pinv(self.T)  # (r, q)
        self.hessians, self.held_numbers, self.recent = {}, 0, {}
        self.begin_refits(problem)
        # of each response that is fitted alone; none of several classes
        self.each = [RowModel(one) for one in problem.of_each]
        if self.each:
            self.shares_of_each = 1.0 / np.diagonal(self.T) ** 2  # weights of the responses
            self.loss = response_sum(problem.loss, problem.y, np.sqrt(self.shares_of_each))
            self.codes = np.zeros(len(problem.y))  # which it does not read
        else:
            self.loss = softmax_of(self.T.shape[1], problem.loss.baseline)
            self.codes = class_codes(problem.y).astype(np.float64)
            # with a predictor for each class
            self.class_rows = newton.LossRows(
                loss_data(softmax_by_class(self.T.shape[1])),
                self.codes,
                problem.weights,
                problem.offset.T.flatten(),
                problem.intercept,
                np.empty((0, 0)),
            )
        self.turned_offset = (problem.offset @ self.back).T.flatten()  # (q n,)
        self.start = np.zeros(len(self.T))
        self.start = self.refit(np.empty(0, np.int64), 0.0, 0.0).b0 @ self.back
        null = Fit(np.empty(0, np.int64), np.empty((0, len(self.T))), self.start @ self.T, 0.0)
        D = -self.derivatives(null).slopes.T / problem.weights[:, None]
        none = np.full(problem.X.p, np.inf)
        self.flat_problem = replace(
            problem,
            loss=Squared(),
            y=np.ascontiguousarray(D),
            turn=np.eye(len(self.T)),
            lower=-none,
            upper=none,
        )
        super().__init__(self.flat_problem)
        self.problem, self.boxed = problem, problem.boxed

    def grow(self, J):
        """As in `WorkingColumns`."""
        grew = super().grow(J)
        for one in self.each:
            one.share(self)
        return grew

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """As in `NewtonRefits`; of each response alone, if these have a loss of rows."""
        if not self.each:
            return super().refit(support, lambda1, lambda2, start, target)
        self.refits += 1
        each, found, value = self.alike(), [], 0.0
        least = self.shares_of_each * [one.problem.floor for one in each]
        for s, one in enumerate(each):
            begin = None if start is None else (start[0][:, s] * self.T[s, s], start[1][s])
            left = (target - value - least[s + 1 :].sum()) / self.shares_of_each[s]
            fit = one.refit(support, lambda1, lambda2, begin, left)
            if fit is None:
                return None
            found.append(fit)
            value += self.shares_of_each[s] * fit.value
        return self.together(support, found, value)

    def _descended(self, support, basis, start, rules, highest=np.inf):
        """As in `NewtonRefits`. Under lambda1 classes have a coefficient each, and the number
        common to those of a column is what makes the penalties least.
        """
        shrunk, box, target, _ = rules
        if not (shrunk.lambda1 and has_free_number(self.problem.loss)):
            return super()._descended(support, basis, start, rules, highest)
        (_, S, _), (b, level), r = basis, start, self.T.shape[1]
        rows, (b, level) = self.class_rows._replace(Z=self.Z), (b @ self.T, level @ self.T)
        b = centered(b, shrunk.lambda1, shrunk.lambda2)
        x = (np.vstack([b, level]) if rows.intercept else b).T.flatten()
        most = self.stopping(target, True, highest)
        status, value, eta = refit_alone(rows, S, shrunk, box, x, most)
        x = x.reshape(r, -1).T @ self.back
        b, level = (x[:-1], x[-1]) if rows.intercept else (x, start[1])
        return (status, value, np.ascontiguousarray(b), level), eta

    def alike(self):
        """The models of each response, which know of the columns what this one knows."""
        for one in self.each:
            one.near, one.unclear, one.close = self.near, self.unclear, self.close
            one.max_iter = self.max_iter
        return self.each

    def together(self, support, fits, value):
        """The Fit of the fits of each response."""
        b = np.column_stack([fit.b for fit in fits]) / np.diagonal(self.T)
        flags = tuple(dict.fromkeys(flag for fit in fits for flag in fit.flags))
        return Fit(support, b, np.array([fit.b0 for fit in fits]), float(value), flags)

    def _polished(self, fit):
        """As in `NewtonRefits`."""
        if not self.each:
            return super()._polished(fit)
        each = zip(self.alike(), self.problem.fits_of_each(fit), strict=True)
        new = self.together(fit.support, [one._polished(own) for one, own in each], fit.value)
        return fit._replace(b=new.b, b0=new.b0)  # which may be one of groups

    def rows_with(self, Z):
        """As in `NewtonRefits`, the predictors are those of the contrasts."""
        p, loss = self.problem, loss_data(self.loss)
        return newton.LossRows(loss, self.codes, p.weights, self.turned_offset, p.intercept, Z)

    def begin(self, start, k):
        """As in `NewtonRefits`; b (k, q), levels (q,)."""
        if start is None:
            return np.zeros((k, len(self.T))), self.start
        return start[0], start[1] @ self.back

    def level(self, fit):
        """As in `NewtonRefits`."""
        return (fit.b0 @ self.back)[:, None]

    def packed(self, b, level):
        """As in `NewtonRefits`."""
        return (np.vstack([b, level]) if self.problem.intercept else b).T.flatten()

    def unpacked(self, x, level):
        """As in `NewtonRefits`."""
        x = np.ascontiguousarray(x.reshape(len(self.T), -1).T)
        return (x[:-1], x[-1]) if self.problem.intercept else (x, level)

    def fit_of(self, support, b, level, value, flags=()):
        """As in `NewtonRefits`; its intercepts are those of the classes, or of the responses."""
        b0 = level * np.diagonal(self.T) if self.each else level @ self.T
        return Fit(support, b, b0, value, flags)

    def margins(self, eta):
        """As in `NewtonRefits`, one after another."""
        e = eta.reshape(len(self.T), -1).T @ self.T
        own = np.take_along_axis(e, self.codes[:, None].astype(np.int64), axis=1)
        return (own - e)[self.codes[:, None] != np.arange(e.shape[1])]

    def value_at(self, fit, lambda2):
        """As in `NewtonRefits`."""
        if not self.each:
            return super().value_at(fit, lambda2)
        each = zip(self.each, self.problem.fits_of_each(fit), strict=True)
        return float(self.shares_of_each @ [one.value_at(own, lambda2) for one, own in each])

    def squares(self, null):
        """As `RowModel.squares`: the squared loss of the slopes at the null fit."""
        out = GramModel(self.flat_problem)
        out.grow(self.W)
        self.reads += out.reads
        return out, self._downhill(null)[1]

    def independent(self, support, shrunk):
        """Positions of columns of a support of which its others are combinations, where no
        shrinkage tells them apart; all of them where responses are fitted alone.
        """
        if self.each or shrunk or self.boxed:
            return super().independent(support, shrunk)
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
        if self.each:
            found = self._derivatives_of_each(fit)
        else:
            found = self._derivatives_of_classes(fit)
        while len(self.recent) > HELD_NUMBERS // sum(part.size for part in found):
            del self.recent[next(iter(self.recent))]
        self.recent[key] = found
        return found

    def _derivatives_of_each(self, fit):
        """`derivatives` of responses, which share no curvature."""
        roots, pair, own = np.sqrt(self.shares_of_each), 0, self.problem.fits_of_each(fit)
        each = [one.derivatives(own) for one, own in zip(self.each, own, strict=True)]
        q, n = len(each), self.codes.size
        out = Derivatives(np.empty((q, n)), np.empty((q, n)), np.zeros((q * (q + 1) // 2, n)))
        for s, (eta, slopes, v) in enumerate(each):
            pair += s
            out.eta[s], out.slopes[s], out.v[pair] = roots[s] * eta, roots[s] * slopes, v
            pair += 1
        return out

    def _derivatives_of_classes(self, fit):
        """`derivatives` of several classes."""
        q, n = len(self.T), self.codes.size
        eta = (fit.b.T @ self.Z[self.where[fit.support]] + self.level(fit)).ravel()
        eta += self.turned_offset
        slopes, v = np.empty(q * n), np.empty(q * (q + 1) // 2 * n)
        derivatives(self.loss, self.codes, eta, self.problem.weights, slopes, v)
        return Derivatives(eta.reshape(q, n), slopes.reshape(q, n), v.reshape(-1, n))

    def _slopes(self, fit):
        """(-dF by rows and predictors (n, q), mean curvature, units (q,)) of a fit: slopes over
        their units are those of coefficients times their units, all of which have the mean
        curvature.
        """
        _, slopes, v = self.derivatives(fit)
        q = len(slopes)
        own = [float(v[s * (s + 3) // 2].sum()) for s in range(q)]
        mean, units = max(sum(own) / q, 1e-8), np.ones(q)
        if self.each:
            units = np.sqrt(np.maximum(np.array(own) / mean, LEAST_UNIT))
        return -slopes.T, mean, units

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
        c, mean, _ = self._downhill(fit)
        rows = mean * self.G[self.where[fit.support], first : self.width]
        a = mean * self.G.diagonal()[first : self.width]
        return Quadratic(rows, c[first:], a, self.inverse(fit, lambda2))

    def _downhill(self, fit):
        """(downhill slopes of the working columns (w, q), mean curvature, units) of a fit, see
        `_slopes`.
        """
        key = fit.key, fit.value
        held = self.held.get(key)
        if held is None or len(held[0]) < self.width:
            R, mean, units = self._slopes(fit)
            if len(self.held) >= HELD:
                self.held.pop(next(iter(self.held)))
            held = self.held[key] = self.Z[: self.width] @ R / units, mean, units
        return held

    def in_units(self, fit):
        """As in `WorkingColumns`."""
        return fit.b * self._downhill(fit)[2] if self.each else fit.b

    def local_table(self, fit, lambda2, into, closely=True):
        """As `RowModel.local_table`, closely in any case, of the working columns `into`, -1 for
        none; None where some direction has no clear curvature.
        """
        key = *_numbers(fit), lambda2
        if key not in self.hessians:
            self.hessians[key] = self._hessian(fit, float(lambda2))
        held = self.hessians[key]
        if held is not None and _lacking(held.table.place, into):
            (q, size), place = (len(self.T), held.table.x.size), np.full(self.width, -1)
            place[into[into >= 0]] = 0
            wanted = np.flatnonzero(place == 0)
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
        at, S = self.derivatives(fit), np.ascontiguousarray(self.where[fit.support])
        x = self.packed(fit.b, self.level(fit)[:, 0])
        B, step, none = np.empty((x.size, x.size)), np.empty(x.size), np.empty(0)
        flat = Derivatives(*(part.ravel() for part in at))
        weak = newton.inverse_hessian(self.row_data(self.Z), S, lambda2, x, flat, B, step)
        # where next to nothing is left of the loss, the inverse is beyond all numbers
        if weak or not np.isfinite(B).all():
            return None
        _, slopes, curvatures = at
        self.held_numbers += slopes.size + curvatures.size + B.size
        if self.held_numbers > HELD_NUMBERS:
            self.hessians, self.held_numbers, self.recent = {}, 0, {}
        table = LocalTable(
            S=S,
            x=x + step,
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
        C = self.problem.X.correlate(np.hstack([R for R, *_ in found]))
        self.reads += 1
        each = np.split(C, len(fits), axis=1)
        return [(c / units, mean) for c, (_, mean, units) in zip(each, found, strict=True)]

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
    some = np.empty(table.curvatures.shape[0])  # whether two predictors share any curvature
    for pair in range(some.size):
        some[pair] = 0.0
        for i in range(n):
            some[pair] = max(some[pair], abs(table.curvatures[pair, i]))
    for at in range(m):
        z, pair = rows.Z[wanted[at]], 0
        for s in range(q):
            t = 0.0
            for i in range(n):
                t -= slopes[s, i] * z[i]
            table.c[s * m + at] = t
            for u in range(s + 1):
                V, total, square = table.curvatures[pair], 0.0, 0.0
                for a in range(k):
                    along[a] = 0.0
                for i in range(n if some[pair] > 0.0 else 0):
                    t = V[i] * z[i]
                    weighted[i] = t
                    total += t
                    square += t * z[i]
                table.diagonal[pair * m + at] = square
                if some[pair] > 0.0:
                    products(rows.Z, table.S, weighted, along)
                for a in range(K):
                    t = along[a] if a < k else total
                    table.rows[s * K + a, u * m + at] = t
                    table.rows[u * K + a, s * m + at] = t
                pair += 1
        for s in range(q):
            for l in range(step.size):
                table.c[s * m + at] -= step[l] * table.rows[l, s * m + at]
