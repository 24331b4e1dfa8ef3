"""Whether the best model of one column, or of one group, is the best of all: every other one is
bounded, and fitted where its bound does not decide.

Squared loss. From the optimum b of the forced columns F, with gradients -c_J = -Z_J'W(y - Z_F b)
and second derivatives H = Z'WZ + 2 lambda2 I, every model of F and the columns J has

    F(b_F + d_F, b_J) - F(b_F) >= b_J'S b_J / 2 - c_J'b_J + lambda1 |b_J|_1,
    S = H_JJ - H_JF H_FF^-1 H_FJ

because b is optimal: the linear part of the change along d_F, with lambda1 and the box, is never
negative, and the quadratic part is least at d_F = -H_FF^-1 H_FJ b_J. Without lambda1 and bounds on
F (and on groups) the least of the right-hand side is the change itself; elsewhere it bounds the
change, and models are fitted in the order of their bounds until no bound is below the best one.
Single columns cost the Gram rows of F, and nothing where there are none; groups cost a read of X.

Other losses. The first Newton step from the optimum of F gives a bound by weak duality
(`verbs.dual_bound`); what that leaves is fitted, until it converges or is refuted likewise.
"""

from itertools import pairwise

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..algorithms.coordinate_descent import entry_gains
from ..core import threads
from ..core.dispatch import njit
from ..core.status import FitStatus
from ..exchange.ranking import exchanged_supports
from ..exchange.table import COLLINEAR
from ..problem.dependence import LEAST_EIGENVALUE
from ..problem.verbs import Tangent, along_the_way, bound_of_rows, loss_data
from ..working_set.columns import NO_LENGTH, Unclear, independent_count
from ..working_set.quadratic import solve_quadratic
from ..working_set.rows import RowModel
from .beside_forced import AGREEMENT, BesideForced, confirms, rounding_of_values

COMPARED = 1e6  # n p up to which losses other than the squared one are served
AT_ONCE = 1 << 22  # entries of columns, or of Gram rows, that are held at a time: 32 MB
BOUNDED_AT_ONCE = 1 << 16  # entries of columns that are bounded together: they stay in the cache
MODELS_PER_POLL = 256  # models between two polls of the clock


def compare_all(model, pool, lambda1, lambda2, poll, groups=None):
    """Compare the best model of size 1 with all others of its size, and offer better ones; not
    under several responses or classes.

    Parameters
    ----------
    model : GramModel or RowModel
        The working columns of an engine that has run.
    pool : SolutionPool
        Its fits. `pool.compared` becomes the key of the fit of size 1 where that is the best of
        all: every other model was fitted to convergence, or is bounded from below by it.
    lambda1, lambda2 : float
        Shrinkage.
    poll : callable
        Called without arguments between models; whatever it raises ends the comparison.
    groups : GroupModel, optional
        Where groups are chosen rather than columns.
    """
    null, held, problem = pool.fits[0], pool.fits.get(1), model.problem
    if held is None or _unfit(null) or _unfit(held) or problem.turn is not None:
        return
    if not problem.quadratic and problem.X.n * float(problem.X.p) > COMPARED:
        return
    poll()
    kind = (SingleColumns if groups is None else SingleGroups) if problem.quadratic else SingleFits
    with threads.one_blas_thread():
        try:
            complete = kind(model, pool, lambda1, lambda2, poll, groups).run()
        except Unclear:
            return
    if complete and not _unfit(pool.fits[1]):
        pool.compared = pool.fits[1].key


def _unfit(fit):
    """Whether the value of a fit is neither an optimum nor an infimum."""
    return FitStatus.NOT_CONVERGED in fit.flags


class OneUnit(BesideForced):
    """The units that may be chosen, beside the forced columns F: numbers, columns, fits.

    A subclass has run() -> whether every unit was compared.
    """

    def __init__(self, model, pool, lambda1, lambda2, poll, groups):
        super().__init__(model.problem, pool.fits[0].support, lambda2, independent_count)
        self.model, self.pool, self.groups, self.null = model, pool, groups, pool.fits[0]
        self.lambda1, self.lambda2, self.poll = lambda1, lambda2, poll
        self.units = np.flatnonzero(self.problem.selectable if groups is None else groups.alone)
        self.inside = np.zeros(self.problem.X.p, dtype=bool)
        self.inside[self.forced] = True

    def of(self, i):
        """Columns that unit number i adds to the forced ones."""
        if self.groups is None:
            return self.units[i : i + 1]
        columns = self.groups.of(self.units[i])
        return columns[~self.inside[columns]]

    def bounded(self, J):
        """Whether any of the columns J has a finite bound."""
        p = self.problem
        return bool(np.isfinite(p.lower[J]).any() or np.isfinite(p.upper[J]).any())

    @property
    def mark(self):
        """The value below which a model is better than the best one so far."""
        return self.pool.fits[1].value - self.pool.tolerance(self.pool.fits[1].value)

    def residual(self):
        """The residual of the forced columns' optimum, extended like the columns of `left_of`."""
        p, fit = self.problem, self.null
        left = self.root * (p.y - p.X.dot(fit.support, fit.b))
        return np.append(left, -np.sqrt(2.0 * self.lambda2) * fit.b)

    def batches(self):
        """Ranges of units whose columns are held at a time."""
        left, held = 0, 0
        for i in range(self.units.size):
            size = self.of(i).size * self.problem.X.n
            if held and held + size > AT_ONCE:
                yield left, i
                left, held = i, 0
            held += size
        yield left, self.units.size


class SquaredUnits(OneUnit):
    """The squared loss: a subclass has gains() of all units, or bounds of them; refit(i); and
    foretells, whether sharpened(i, value) is the value of a unit's fit, and not only a bound.
    """

    def sharpened(self, i, value):
        """A sharper value of a unit than the bound `value`, where one is known."""
        return value

    def run(self):
        """Fit the units that may be better than the best, in the order of the predicted values."""
        p, pool = self.problem, self.pool
        slack = rounding_of_values(p, self.model.half_square)
        values = self.null.value - self.gains()
        for i in np.argsort(values, kind="stable"):
            if values[i] >= self.mark - slack:
                break
            self.poll()
            value = self.sharpened(i, values[i])
            if value >= self.mark - slack:
                continue
            fit = self.refit(i)
            off = self.foretells and not confirms(fit.value, value, slack)
            if _unfit(fit) or off:
                return False
            pool.update(fit)
            if fit.value < self.mark:  # a better one that the pool did not take
                return False
        held = pool.fits[1].value
        accurate = slack <= AGREEMENT * abs(held) or pool.perfect(held, pool.scale)
        return accurate and held >= values.min() - AGREEMENT * abs(held) - slack


class SingleColumns(SquaredUnits):
    """Single columns, by Gram rows of the forced ones."""

    foretells = True

    def gains(self):
        """Gains of all units, or bounds of them."""
        p, model, F = self.problem, self.model, self.forced
        self.exact = not F.size or not (self.lambda1 or self.bounded(F))
        gains, ridge = np.empty(self.units.size), 2.0 * self.lambda2
        if F.size:
            if F.size > model.capacity:
                raise Unclear
            model.read([F])
            self.held = model.rows, np.array([model.row_of[j] for j in F.tolist()])
            H = self.held[0][np.ix_(self.held[1][self.kept], F[self.kept])]
            factor = np.linalg.cholesky(H + ridge * np.eye(self.kept.size))
        step = max(AT_ONCE // max(F.size, 1), 1)
        for start in range(0, gains.size, step):
            J = self.units[start : start + step]
            correlation, s = model.q_all[J], p.square[J]
            if F.size:
                rows = self.held[0][np.ix_(self.held[1], J)]
                correlation = correlation - self.null.b @ rows
                U = solve_triangular(factor, rows[self.kept], lower=True)
                s = s - (U * U).sum(axis=0)
            shrunk = self.lambda1, self.lambda2, p.lower[J], p.upper[J]
            gains[start : start + step] = entry_gains(correlation, s, *shrunk)
            if F.size:
                doubtful = s + ridge <= 10.0 * COLLINEAR * (p.square[J] + ridge)
                gains[start + np.flatnonzero(doubtful)] = self._by_rows(J[doubtful])
        return gains

    def _by_rows(self, J):
        """Gains of columns of which the forced ones leave next to nothing."""
        p = self.problem
        if not J.size:
            return np.empty(0)
        if J.size * p.X.n > AT_ONCE:
            raise Unclear
        A, full = self.left_of(self.columns(J))
        square = (A * A).sum(axis=0)
        gone = np.sqrt(square) <= NO_LENGTH * full
        if not self.exact:
            if not gone.all():
                raise Unclear
            return np.full(J.size, np.inf)  # a fit decides
        gains = entry_gains(self.residual() @ A, square, 0.0, self.lambda2, p.lower[J], p.upper[J])
        return np.where(gone, 0.0, gains)

    def sharpened(self, i, value):
        """The value of a unit, from the Gram rows at hand."""
        if self.exact:
            return value
        p, j = self.problem, self.units[i]
        J = np.append(self.forced, j)
        G = np.empty((J.size, J.size))
        G[:-1] = self.held[0][np.ix_(self.held[1], J)]
        G[-1, :-1], G[-1, -1] = G[:-1, -1], p.square[j]
        q, x = self.model.q_all[J], np.append(self.null.b, 0.0)
        H = G + 2.0 * self.lambda2 * np.eye(J.size)
        l1 = np.full(J.size, float(self.lambda1))
        if solve_quadratic(H, q, l1, p.lower[J], p.upper[J], x, 200) > 1e-8:
            raise Unclear
        shrinkage = self.lambda1 * np.abs(x).sum() + self.lambda2 * x @ x
        return float(self.model.half_square - q @ x + 0.5 * x @ (G @ x) + shrinkage)

    def refit(self, i):
        """The fit of a unit."""
        support = np.union1d(self.forced, self.of(i))
        self.model.grow(support)
        return self.model.refit(support, self.lambda1, self.lambda2)


class SingleGroups(SquaredUnits):
    """Groups, by the rows of X."""

    def gains(self):
        """Gains of all units, or bounds of them: a read of X."""
        used = [self.forced, *(self.of(i) for i in range(self.units.size))]
        self.foretells = not (self.lambda1 or self.bounded(np.concatenate(used)))
        gains, y = np.zeros(self.units.size), self.residual()
        for start, stop in self.batches():
            self.poll()
            J = [self.of(i) for i in range(start, stop)]
            A, full = self.left_of(self.columns(np.concatenate(J)))
            if self.foretells:
                c = y @ A
            else:
                c = y[: self.root.size] @ self.columns(np.concatenate(J))
                c = np.sign(c) * np.maximum(np.abs(c) - self.lambda1, 0.0)
            starts = np.cumsum([0, *(columns.size for columns in J)])
            gains[start:stop] = self._gains(
                A / full, c / full, 2.0 * self.lambda2 / full**2, starts, y
            )
        return gains

    def _gains(self, A, c, ridge, starts, y):
        """Gains of the groups of unit columns A (starts: where each begins), c = A'y."""
        gains, sizes = np.zeros(starts.size - 1), np.diff(starts)
        for m in np.unique(sizes[sizes > 0]):
            which = np.flatnonzero(sizes == m)
            at = starts[which][:, None] + np.arange(m)
            T = A.T[at]
            S = T @ T.transpose(0, 2, 1) + ridge[at][:, :, None] * np.eye(m)
            good = np.linalg.eigvalsh(S)[:, 0] > LEAST_EIGENVALUE
            u = c[at][good]
            b = np.linalg.solve(S[good], u[:, :, None])[:, :, 0]
            gains[which[good]] = 0.5 * (u * b).sum(axis=1)
            for i, columns in zip(which[~good], at[~good], strict=True):
                gains[i] = self._gain(A[:, columns], c[columns], ridge[columns], y)
        return gains

    def _gain(self, A, c, ridge, y):
        """The gain of one group, by an orthogonal factorization."""
        m = c.size
        Q, R, order = qr(np.vstack([A, np.diag(np.sqrt(ridge))]), mode="economic", pivoting=True)
        length = np.abs(np.diagonal(R))
        if self.foretells:
            own = Q[:, length > NO_LENGTH].T @ np.append(y, np.zeros(m))
            return 0.5 * float(own @ own)
        if independent_count(length) < m:
            return np.inf  # a fit decides
        u = solve_triangular(R, c[order], trans="T")
        return 0.5 * float(u @ u)

    def refit(self, i):
        """The fit of a unit."""
        return self.groups.refit(np.union1d(self.groups.forced, self.units[i : i + 1]))


class SingleFits(OneUnit):
    """Other losses, on a model of their own."""

    def run(self):
        """Fit every unit that the bound of a first step does not refute."""
        self.own = RowModel(self.problem)
        self.own.max_iter, self.own.near = self.model.max_iter, self.model.near
        self.own.grow(self.forced)
        if self.own.negligible_ridge(self.lambda2):
            self._check_dependence()
        left = np.arange(self.units.size)
        if self.groups is None:
            left = left[~(self.first_bounds() > self.mark + 1e-12 * abs(self.mark))]
        self.own.grow(np.concatenate([self.forced, *(self.of(i) for i in left)]))
        for start in range(0, left.size, MODELS_PER_POLL):
            self.poll()
            for fit in self._fits(left[start : start + MODELS_PER_POLL], self.mark):
                if not (fit.value < self.mark or _unfit(fit)):
                    continue
                if _unfit(fit):
                    return False
                self.pool.update(fit)
        return True

    def _fits(self, which, target):
        """Fits of some units, except those that cannot come below the target."""
        fits = self._fits_of_columns if self.groups is None else self._fits_of_groups
        bounds, found = [*range(0, which.size, max(MODELS_PER_POLL // 16, 1)), which.size], {}

        def part(start, stop):
            found[start] = list(fits(which[start:stop], target))

        threads.run(part, bounds)
        return [fit for start in bounds[:-1] for fit in found[start]]

    def _fits_of_columns(self, which, target):
        """Fits of the columns that lie below the target, or did not converge."""
        added, null, first = self.units[which], self.null, 0
        supports, starts = exchanged_supports(self.forced, null.b, np.full(added.size, -1), added)
        while first < added.size:
            rest = supports[first:], starts[first:], null.b0
            e, fit = self.own.first_below(*rest, (self.lambda1, self.lambda2), target)
            if fit is None:
                return
            yield fit
            first += e + 1

    def _fits_of_groups(self, which, target):
        """Fits of the groups that can come below the target."""
        for i in which:
            support = np.union1d(self.forced, self.of(i))
            b = np.zeros(support.size)
            b[np.searchsorted(support, self.forced)] = self.null.b
            start = b, self.null.b0
            fit = self.own.refit(support, self.lambda1, self.lambda2, start, target)
            if fit is not None:
                yield self.problem.fit_of(
                    fit, np.union1d(self.groups.forced, self.units[i : i + 1])
                )

    def _check_dependence(self):
        """Unclear where a unit's columns are nearly dependent beside the forced ones."""
        if self.groups is None and not self.forced.size:
            return
        J = [self.of(i) for i in range(self.units.size)]
        A, full = self.left_of(self.columns(np.concatenate(J)))
        A /= full
        for start, stop in pairwise(np.cumsum([0, *(columns.size for columns in J)])):
            R = qr(A[:, start:stop], mode="r", pivoting=True)[0] if start < stop else A[:0]
            independent_count(np.abs(np.diagonal(R)))

    def first_bounds(self):
        """Lower bounds on the objectives of single columns by a first Newton step; -inf where
        that is not in closed form.
        """
        p, own, F, null = self.problem, self.own, self.forced, self.null
        none = np.full(self.units.size, -np.inf)
        if F.size and (self.lambda1 or self.bounded(F)):
            return none
        eta, slopes, v = own.derivatives(null)
        A = np.vstack([own.Z[own.where[F]], np.ones((int(p.intercept), p.X.n))])
        b = np.append(null.b, 0.0)[: len(A)]  # the intercept costs nothing
        penalized = np.arange(len(A)) < F.size
        held = own.coupled(eta, A)
        H = (A * v) @ A.T - held @ held.T + 2.0 * self.lambda2 * np.diag(penalized)
        if len(A) and not np.linalg.cond(H) < 1.0 / COLLINEAR:
            return none
        H = np.linalg.inv(H)
        first = -H @ (A @ slopes + 2.0 * self.lambda2 * penalized * b)
        before = self.lambda2 * float((b[penalized] ** 2).sum())

        def part(start, stop):
            J = self.units[start:stop]
            Z = np.empty((J.size, p.X.n))
            p.X.columns(J, Z.T)
            taken = own.coupled(eta, Z)
            cross = Z @ (A * v).T - taken @ held.T
            second, turned = (Z * Z) @ v - (taken * taken).sum(axis=1), cross @ H
            correlation = -(Z @ slopes) - cross @ first
            s = second - (cross * turned).sum(axis=1) + 2.0 * self.lambda2
            clear = s > LEAST_EIGENVALUE * (second + 2.0 * self.lambda2)
            x = np.sign(correlation) * np.maximum(np.abs(correlation) - self.lambda1, 0.0)
            x = np.clip(x / np.where(clear, s, 1.0), p.lower[J], p.upper[J])
            steps = first - turned * x[:, None]
            out, ends = np.empty(J.size), eta + steps @ A + x[:, None] * Z
            _dual_bounds(loss_data(p.loss), p.y, p.weights, Tangent(eta, slopes, v), ends, out)
            moved = ((b + steps)[:, penalized] ** 2).sum(axis=1) + x * x
            out += null.value + self.lambda2 * moved - before + self.lambda1 * np.abs(x)
            none[start:stop] = np.where(clear, out, -np.inf)

        width = max(BOUNDED_AT_ONCE // p.X.n, 1)
        threads.run(part, [*range(0, none.size, width), none.size])
        return none


@njit
def _dual_bounds(loss, y, weights, tangent, ends, out):
    """`verbs.bound_of_rows` for every predictor in the rows of ends (m, n): fills out (m,)."""
    way = along_the_way(loss, y)
    for j in range(out.size):
        out[j] = bound_of_rows(way, y, weights, tangent, ends[j])
