"""Neighbors of a solution, one exchange away: every pair (a member out, a column of all p in),
ranked by the quadratic of `l0path.exchange.table`, decided by refits.

For the squared loss without lambda1 and box the ranking is the exact change of the objective;
elsewhere it is that of the local quadratic, and refits of the best pairs decide.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..core.status import FitStatus
from ..engine.reported import Reporting
from ..exchange.table import COLLINEAR
from ..problem.problem import pose, row_weights
from ..working_set.model import make_model

TABLE_ENTRIES = 1 << 22  # entries of the table of changes made at a time: 32 MB
PROGRAM = 1e6  # operations that a linear program counts for


class ExchangePairs(NamedTuple):
    """Exchanges, the most favorable first: out, into column indices, change of the objective by
    the table; three (m,) arrays.
    """

    out: np.ndarray
    into: np.ndarray
    change: np.ndarray


def fit_data(path, X=None, y=None):
    """The data of the fit, with the columns that it left out because they equal another one: they
    may stand in for it. For a loaded path from X, y, with the fit's forced, penalized and excluded
    columns.
    """
    if X is None and y is not None:
        raise ValueError("pass X= together with y=")
    data = path._data(X, y)
    if data is path._source.data:
        return replace(data, copies=None)
    return replace(
        data,
        factor=path._meta.factor,
        forced=path._meta.forced,
        excluded=np.isinf(path._meta.factor) | path._meta.excluded,
    )


def value_at(s, fit):
    """The loss + shrinkage that exchanges are compared with: that of a solution, and of a mixture,
    which is no optimum, that of the shrunken `Fit` of its support.
    """
    return s.loss + s.shrinkage if s.relax == 1.0 else float(fit.value)


def check_refitted(path, fit, value):
    """Refuse the solution of a loaded path that its refit lies below."""
    if path._source.data is None and fit.value < value - 1e-6 * max(
        abs(value), 1e-6 * path._meta.null_loss
    ):
        raise ValueError(
            "the path was fitted with bounds that a path file does not hold; fit again to use this "
            "method"
        )


class Around(ABC):
    """The exchanges around solution `index` of a path, whatever its units are.

    `units`: its members; `locked`: those that stay; `names`: of all units; `factor`: their penalty
    factors; `fit`: its restricted optimum; `value`: its objective; `exact`: whether the table of
    exchanges decides by itself. A subclass has `prepare` and `first`.
    """

    exact = False

    def __init__(self, path, index, X=None, y=None):
        data = fit_data(path, X, y)
        self.solution = s = path._solutions[index]
        self.problem = pose(data)
        self.names = path._meta.unit_labels
        self.factor = self.problem.unit_factor
        self.reporting = Reporting(self.problem, data, row_weights(data))
        self.lambda0 = s.lambda0 if path._meta.grid == "lambda0" else 0.0
        self.prepare()
        self.fit = self.first()
        self.value = value_at(s, self.fit)
        check_refitted(path, self.fit, self.value)

    @abstractmethod
    def prepare(self):
        """Set the working columns `model`, `units` and `locked`."""

    @abstractmethod
    def first(self):
        """The restricted optimum of the units."""

    def found(self):
        """The `Fit` of the solution as the search found it, by its own coefficients."""
        return self.reporting.start(self.solution)._replace(flags=self.solution.flags)

    def cost_change(self, out, into):
        """Change of lambda0 sum f by an exchange; 0 on a support grid."""
        return self.lambda0 * (self.factor[into] - self.factor[out]) if self.lambda0 else 0.0


class Neighbors(Around):
    """The exchanges of columns."""

    def prepare(self):
        """See `Around`."""
        s = self.solution
        self.units, self.locked = s.support, np.isin(s.support, self.problem.forced)
        self.exact = self.problem.closed_form(s.lambda1)
        self.model = make_model(self.problem)
        self.model.grow(s.support)

    def first(self):
        """See `Around`."""
        s, here = self.solution, self.found()
        return here if FitStatus.SEPARATED in s.flags else self._refit(s.support, here, np.inf)

    @property
    def total(self):
        """Number of exchanges."""
        outside = self.problem.usable.copy()
        outside[self.fit.support] = False
        return int((~self.locked).sum()) * int(outside.sum())

    @property
    def cost(self):
        """Operations of all exchanges."""
        each = self.problem.X.n * (self.fit.support.size + 2.0) ** 2
        return self.total * (each + (PROGRAM if self.reporting.needed else 0.0))

    def without(self, i):
        """The Fit without member i; None where its box leaves out 0."""
        j = self.units[i]
        return (
            None
            if self.problem.lower[j] > 0 or self.problem.upper[j] < 0
            else self.refit(np.delete(self.units, i))
        )

    def worth(self, i):
        """Increase of loss + shrinkage when member i leaves."""
        return self.refit(np.delete(self.units, i)).value - self.value

    def every(self):
        """All exchanges, unranked: ExchangePairs with a change of 0."""
        outside = self.problem.usable.copy()
        outside[self.fit.support] = False
        out, into = np.meshgrid(
            self.fit.support[~self.locked], np.flatnonzero(outside), indexing="ij"
        )
        return ExchangePairs(out.ravel(), into.ravel(), np.zeros(out.size))

    def refit(self, support, start=None, target=np.inf):
        """The Fit on a sorted support, from the coefficients that it shares with `start`; None once
        `target` is out of reach.
        """
        start = self.fit if start is None else start
        if not self.reporting.needed:
            return self._refit(support, start, target)
        fit = self._refit(support, start, target + self.problem.loss.above)
        s = self.solution
        return None if fit is None else self.reporting.fit(fit, s.lambda1, s.lambda2)

    def _refit(self, support, start, target):
        """`refit` by the loss of the search."""
        self.model.grow(support)
        b = np.zeros((support.size, *start.b.shape[1:]))
        b[np.isin(support, start.support)] = start.b[np.isin(start.support, support)]
        s = self.solution
        return self.model.refit(support, s.lambda1, s.lambda2, (b, start.b0), target)

    def swapped(self, out, into, target=np.inf):
        """The Fit after an exchange."""
        support = self.fit.support
        return self.refit(np.sort(np.append(support[support != out], into)), target=target)

    def _quadratic(self):
        """(first column, rows (k, m), gradient (m,), diagonal (m,), B (k, k)) for ranges of columns
        that cover all p.
        """
        fit, X, model, lambda2 = self.fit, self.problem.X, self.model, self.solution.lambda2
        if self.problem.quadratic:
            model.read([fit.support])
            at, B = [model.row_of[j] for j in fit.support.tolist()], model.inverse(fit, lambda2)

            def part(start, stop):
                rows = model.rows[at, start:stop]
                c = model.q_all[start:stop] - fit.b @ rows
                return rows, c, self.problem.square[start:stop], B

        elif self.problem.loss.traits.coupled:

            def part(start, stop):
                Z = np.ascontiguousarray(X.columns(np.arange(start, stop)).T)
                return model.exact(fit, lambda2, Z)

        else:
            held = model.weighted(fit, lambda2)
            R, curvature = np.column_stack([-held.slopes, held.ZV.T]), held.v.sum()

            def part(start, stop):
                C = X.correlate(R, start, stop)
                return C[:, 1:].T, C[:, 0], curvature * self.problem.square[start:stop], held.B

        step = max(256, TABLE_ENTRIES // (fit.support.size + 1))
        for start in range(0, X.p, step):
            yield start, *part(start, min(start + step, X.p))

    def table(self):
        """(first column, change (k, m)) for ranges of columns that cover all p: the objective's
        change by each exchange, inf where there is none.
        """
        fit, lambda1, lambda2 = self.fit, self.solution.lambda1, self.solution.lambda2
        usable, factor = self.problem.usable.copy(), self.problem.factor
        usable[fit.support] = False
        for start, rows, c, a, B in self._quadratic():
            J = slice(start, start + c.size)
            U, A, pivot = B @ rows, a + 2.0 * lambda2, np.diagonal(B)[:, None]
            b = fit.b[:, None]
            den = A - np.einsum("ij,ij->j", rows, U) + U**2 / pivot
            num = np.maximum(np.abs(c + b / pivot * U) - lambda1, 0.0)
            ok = np.broadcast_to(usable[J] & ~self.locked[:, None], den.shape)
            free = den > COLLINEAR * A
            if lambda1 or self.problem.boxed:  # combinations of the others count, see `exchange`
                den = np.where(free, den, A)
            else:
                ok = ok & free
            with np.errstate(over="ignore", invalid="ignore"):
                change = 0.5 * (b**2 / pivot - num**2 / np.where(ok, den, 1.0))
            if self.lambda0:
                change = change + self.lambda0 * (
                    np.where(usable[J], factor[J], 0.0) - factor[fit.support][:, None]
                )
            yield start, np.where(ok, np.nan_to_num(change, nan=1e300), np.inf)

    def ranked(self, count):
        """The `count` most favorable exchanges of all: ExchangePairs."""
        return self._pairs(
            [
                entry
                for start, change in self.table()
                for entry in [_least(change.ravel(), count, change.shape[1], start)]
            ],
            count,
        )

    def ranked_each(self, count):
        """For each member the `count` most favorable exchanges of it: list of ExchangePairs."""
        found = [[] for _ in range(self.fit.support.size)]
        for start, change in self.table():
            for i, row in enumerate(change):
                value, _, column = _least(row, count, row.size, start)
                found[i].append((value, np.full(value.size, i), column))
        return [self._pairs(parts, count) for parts in found]

    def _pairs(self, parts, count):
        if not parts:
            return ExchangePairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        change, i, j = (np.concatenate(part) for part in zip(*parts, strict=True))
        best = np.lexsort((i, j, change))[:count]
        return ExchangePairs(
            self.fit.support[i[best]], j[best], change[best] + (self.fit.value - self.value)
        )


def _least(flat, count, width, start):
    """(values, rows, columns) of the `count` smallest finite entries of a flattened table whose
    first column is `start`.
    """
    at = np.argpartition(flat, count - 1)[:count] if count < flat.size else np.arange(flat.size)
    at = at[np.isfinite(flat[at])]
    return flat[at], at // width, at % width + start
