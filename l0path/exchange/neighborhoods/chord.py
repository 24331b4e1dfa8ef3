"""Steps ranked by the table of exchanges on the local quadratic and tried by chord steps
(`trials`), or for ordered classes by bounds and refits: losses without a sign or bound to respect
(no lambda1, no box).
"""

import numpy as np

from ...core.status import FitStatus
from ...problem.losses import mean_of_rows
from ...problem.problem import Fit
from ...working_set.newton import CONVERGED, MAX_ITER, rows_of
from .. import trials
from ..ordered.trials import first_below
from ..ranking import exchanged_supports, roles
from ..trials import OF_ALL, Exchanges, Goal, LocalTable
from .refit import RefitNeighborhood, sides


class ChordNeighborhood(RefitNeighborhood):
    """A RefitNeighborhood whose trials take gradients only, and which turns to a refit where chord
    steps do not converge.
    """

    remembers = False  # what a guess refuted on the way is not refuted

    def __init__(self, model, lambda1, lambda2, scale, settings):
        super().__init__(model, lambda1, lambda2, scale, settings)
        self.exact = {}  # support -> its fit by Newton's method

    def refined(self, fit):
        """The fit as Newton's method leaves it, see `by_newton`."""
        key = fit.key
        if fit.flags or not fit.support.size:
            return fit
        most = fit.value + self._tolerance(fit.value)
        if key not in self.exact or not self.exact[key].value <= most:
            new = self.model.refit(fit.support, 0.0, self.lambda2, (fit.b, fit.b0))
            self.exact[key] = by_newton(fit, new, most - fit.value)
        return self.exact[key]

    def _lowest(self, fit, pairs):
        """The lowest fit after one of the exchanges `pairs` (out, into), -1 for none; None without
        pairs.
        """
        if not pairs or FitStatus.SEPARATED in fit.flags:
            return super()._lowest(fit, pairs)
        goal = Goal(np.inf, False, False, self._tolerance(fit.value))
        return attempt(self.model, fit, self._exchanges(fit, pairs), self.lambda2, goal)[0]

    def _first_below(self, fit, pairs, target, thorough=False):
        """As in `RefitNeighborhood`; on the way a guess will do, the last word is had by bounds."""
        if not len(pairs) or FitStatus.SEPARATED in fit.flags or not fit.support.size:
            return super()._first_below(fit, pairs, target)
        exchanges, first = self._exchanges(fit, pairs), 0
        goal = Goal(target, True, thorough)
        while first < len(pairs):
            rest = exchanges.of(slice(first, None))
            new, at = attempt(self.model, fit, rest, self.lambda2, goal)
            if at < 0:
                break
            if new is not None and new.value < target:
                return first + at, new
            self._refused(fit, new)
            first += at + 1
        return -1, None

    def _unranked(self, fit, first, ranked):
        """As in `RefitNeighborhood`: where few rows have a curvature, columns are combinations of
        the support there that are none. Only a refit tells.
        """
        part = roles(self.model.problem, fit, self.model.W[first:], 0.0)
        listed = np.ones((fit.support.size, part.skip.size), dtype=bool)
        listed[np.ix_(~part.locked, ~part.skip)] = False
        at = self._exchanges(fit, ranked)
        listed[at.out, at.into - first] = True
        out, into = np.nonzero(~listed)
        return np.array([fit.support[out], self.model.W[first + into]]).T


class OrderedNeighborhood(RefitNeighborhood):
    """A RefitNeighborhood of ordered classes, where bounds at the optima that the quadratic of the
    fit predicts refute most exchanges, and refits start from there.
    """

    def addition(self, fit, column, target):
        """The refit with one more column; None once `target` is out of reach."""
        return self._first_below(fit, [(-1, column)], target)[1]

    def _first_below(self, fit, pairs, target, thorough=False):
        """As in `RefitNeighborhood`."""
        if not len(pairs) or not fit.support.size or FitStatus.SEPARATED in fit.flags:
            return super()._first_below(fit, pairs, target)
        model, lambda2 = self.model, self.lambda2
        out, into = sides(pairs)
        supports, starts = exchanged_supports(fit.support, fit.b, out, into)
        if not supports.size:
            return super()._first_below(fit, pairs, target)
        rows, table, at, into_at, first = *self._placed(fit, supports, into), 0
        exchanges = Exchanges(np.where(out >= 0, np.searchsorted(fit.support, out), -1), into_at)
        b = np.empty(supports.shape[1])
        eta, thresholds = np.empty(model.problem.X.n), np.empty_like(table.best.t)
        stopping = model.stopping(target, lambda2)
        while first < len(pairs):
            rest = exchanges.of(slice(first, None))
            e, refits, status, value = first_below(
                rows, table, rest, at[first:], stopping, (b, eta, thresholds)
            )
            model.refits += refits
            if e < 0:
                break
            e += first
            model.grow(into[e : e + 1][into[e : e + 1] >= 0])
            model.thresholds = thresholds
            flags = () if status == CONVERGED else (FitStatus.NOT_CONVERGED,)
            new = Fit(supports[e].copy(), b.copy(), fit.b0, value, flags)
            known = status in (CONVERGED, MAX_ITER) and np.isfinite(value)
            if not known or model.runs_off(stopping.capped, new, eta):
                new = model.refit(new.support, 0.0, lambda2, (starts[e], fit.b0), target)
            if new is not None and new.value < target:
                return e, new
            self._refused(fit, new)
            first = e + 1
        return -1, None

    def _placed(self, fit, supports, into):
        """Rows with all columns of some exchanges, those of W if these are all; the table of the
        fit, the supports after them and the columns added, as positions there.
        """
        model = self.model
        table, problem, where = model.weighted(fit, self.lambda2), model.problem, model.where
        if (where[into] >= 0).all() or (into < 0).all():
            into_at = np.where(into >= 0, where[into], -1)
            return rows_of(problem, model.Z), table, where[supports], into_at
        J = np.union1d(fit.support, into)
        Z, outside = model.Z[where[J]], where[J] < 0
        Z[outside] = problem.X.columns(J[outside]).T
        table = table._replace(S=np.searchsorted(J, fit.support))
        return rows_of(problem, Z), table, np.searchsorted(J, supports), np.searchsorted(J, into)

    def swap_among(self, fit, candidates):
        """The fit after the first of some swaps that a refit confirms, which is polished on the
        way, its column now in W; the fit itself where all are refuted. A column need not be in W.
        """
        failed = self.failed.setdefault(fit.key, set())
        swaps = [(c.out, c.into) for c in candidates if c.out >= 0]
        swaps = [pair for pair in swaps if pair not in failed]
        e, new = self._first_below(fit, swaps, fit.value - self._tolerance(fit.value))
        failed.update(swaps if new is None else swaps[:e])
        return fit if new is None else self.swap(new)


def by_newton(fit, new, tolerance):
    """The refit `new` of a fit that trials made; the fit as it is where that ends above it, as
    steps may along which a loss falls for ever.
    """
    if new.value <= fit.value + tolerance:
        return new
    return fit._replace(flags=(FitStatus.NOT_CONVERGED,))


def attempt(model, fit, exchanges, lambda2, goal, table=None):
    """Try exchanges of a fit of a RowModel by chord steps: (Fit, number) of the one that the goal
    asks for, number -1 if there is none. table: a `LocalTable` of the fit, where one is at hand.
    """
    table = local_table(model, fit, lambda2) if table is None else table
    found = trials.tried(rows_of(model.problem, model.Z), table, exchanges, goal)
    if found.e < 0:
        return None, found.e
    out, into = exchanges.out[found.e : found.e + 1], exchanges.into[found.e : found.e + 1]
    out = fit.support[out] if out[0] >= 0 else out
    into = model.W[into] if into[0] >= 0 else into
    k, at, b0 = fit.support.size, exchanges.into[found.e], fit.b0
    (support,), (b,) = exchanged_supports(fit.support, found.x[:k], out, into)
    if at >= 0:
        b[np.searchsorted(support, into[0])] = found.x[-1]
    if model.problem.intercept:
        b0 = float(found.x[k] - table.center[table.S] @ found.x[:k])
        b0 -= float(table.center[at] * found.x[-1]) if at >= 0 else 0.0
    closed = found.promised <= trials.SMALL_PROMISE * abs(found.F)
    if closed and (found.reach + model.nearer < model.REACH or lambda2 > 0):
        return Fit(support, b, b0, found.F), found.e
    # where columns nearly separate the classes, or the loss overflows, steps may have gone astray
    start = exchanged_supports(fit.support, fit.b, out, into)[1][0]
    p = model.problem
    eta = start @ model.Z[model.where[support]] + (p.offset + fit.b0)
    before = mean_of_rows(p.loss, p.y, eta, p.weights) + lambda2 * float(start @ start)
    if not found.F < before:
        b, b0 = start, fit.b0
    return model.refit(support, 0.0, lambda2, (b, b0), goal.target), found.e


def local_table(model, fit, lambda2):
    """The `LocalTable` of a fit by the curvatures of one close by."""
    local = model.local(fit, lambda2)
    x, center, v = fit.b, local.mean, local.v if local.gram is None else local.gram.v
    if model.problem.intercept:
        x = np.empty(fit.b.size + 1)
        x[:-1], x[-1] = fit.b, fit.b0 + center[local.at] @ fit.b
    return LocalTable(
        S=local.at,
        x=x,
        B=local.inverse.B,
        lambda2=float(lambda2),
        scale=local.scale,
        curvatures=v[None],
        center=center,
        place=OF_ALL,
        c=local.c,
        diagonal=local.diagonal,
        rows=local.rows,
        index=local.inverse.index,
    )
