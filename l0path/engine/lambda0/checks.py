"""Checks of the points of a lambda0 path over all p columns: what may enter, which partial swaps
and which exchanges improve. Columns that would change a point join the working ones.
"""

from typing import NamedTuple

import numpy as np

from ...algorithms.coordinate_descent import Sides, entry_gains
from ...core import threads
from ...exchange.ranking import Wanted
from ...exchange.verification import violators
from ...problem.penalties import separable
from ...working_set.columns import PRODUCTS_AT_ONCE

ENTERING_POINT = 10  # columns that may join for a point in one check


class Verdict(NamedTuple):
    """The outcome of a check of a point: whether something improves it, whether it passes (neither,
    where more columns have to be looked at first), and down to which lambda0 it is stationary (NaN:
    nothing new).
    """

    improves: bool
    passes: bool
    lambda_lo: float = float("nan")


def passed_where_unimproved(improves):
    """Verdicts of points that pass where nothing improves them."""
    return [Verdict(better, not better) for better in improves]


def joined(model, columns):
    """Let lists of columns join the working ones."""
    model.grow(np.array(sorted(set().union(*columns)), dtype=np.int64))


class EntryCheck:
    """Stationarity: no column outside W may enter at lambda0, nor (dynamic grid) at any value above
    the lambda_lo that made the next one.
    """

    def __init__(self, descent, dynamic):
        self.descent, self.model, self.dynamic = descent, descent.model, dynamic
        self.exact = self.model.problem.one_gram  # whether the largest gains are as they are

    def __call__(self, points):
        values = np.array([p.lambda_lo if self.dynamic else p.lambda0 for p in points])
        largest, near = self.outside([point.fit for point in points], values)
        joined(self.model, near)
        return [self._verdict(*case) for case in zip(points, values, largest, near, strict=True)]

    def _verdict(self, point, value, top, near):
        if self.exact:
            low = max(top, point.lambda_lo)
        else:
            low = self.descent.lambda0_entry(point.fit) if len(near) else point.lambda_lo
        improves = low > value * (1 + 1e-9) + self.descent.tie
        stationary = low <= point.lambda0 * (1 + 1e-9) + self.descent.tie
        return Verdict(improves, len(near) < ENTERING_POINT and stationary, low)

    def outside(self, fits, values):
        """For each fit the largest gain / f over all penalized columns (an estimate except for the
        squared loss), and the best columns outside W whose gain may pass value f.
        """
        descent, p = self.descent, self.model.problem
        correlations, curvature = self._correlations(fits)
        safety = p.loss.traits.entry_safety
        largest, found = np.zeros(len(fits)), [[] for _ in fits]
        step = max(256, PRODUCTS_AT_ONCE // len(fits))
        for start in range(0, p.X.p, step):
            block = slice(start, min(start + step, p.X.p))
            box = (p.lower[block], p.upper[block]) if p.boxed else (None, None)
            squares = curvature[:, None] * p.square[block]
            correlation = correlations(block)
            gains = entry_gains(correlation, squares, descent.lambda1, descent.lambda2, *box)
            penalized = descent.selectable[block] & (descent.factor_all[block] > 0)
            gains = np.where(
                penalized, gains / np.where(penalized, descent.factor_all[block], 1.0), 0.0
            )
            outside = self.model.where[block] < 0
            for i, fit in enumerate(fits):
                inside = fit.support[(fit.support >= start) & (fit.support < block.stop)] - start
                gains[i, inside] = 0.0
                largest[i] = max(largest[i], gains[i].max(initial=0.0))
                bar = values[i] * (1 + 1e-9) + descent.tie
                over = np.flatnonzero(outside & (safety * gains[i] > bar))
                over = over[np.argsort(-gains[i, over], kind="stable")[:ENTERING_POINT]]
                found[i] += [(-gains[i, j], start + int(j)) for j in over]
        return largest, [[j for _, j in sorted(pairs)[:ENTERING_POINT]] for pairs in found]

    def _correlations(self, fits):
        """(the correlations of all fits (m, width) with a block of columns as a function, their
        curvatures): from Gram rows, or one read of X.
        """
        model, p = self.model, self.model.problem
        if p.quadratic:
            model.read([fit.support for fit in fits])
            C = np.zeros((len(fits), len(model.row_of)))
            for i, fit in enumerate(fits):
                C[i, [model.row_of[j] for j in fit.support.tolist()]] = fit.b
            return (
                lambda block: model.q_all[block] - C @ model.rows[: C.shape[1], block],
                np.ones(len(fits)),
            )
        parts = [model.derivatives(fit)[1:] for fit in fits]
        R = -np.column_stack([slopes for slopes, _ in parts])
        model.reads += 1
        return (
            lambda block: p.X.correlate(R, block.start, block.stop).T,
            np.array([v.sum() for _, v in parts]),
        )


class PartialSwapCheck:
    """Partial swaps over all p columns: exact for the squared loss; else the n_best pairs of the
    ranking, each refuted by the exact search.
    """

    def __init__(self, descent, n_best, poll):
        self.descent, self.model, self.n_best, self.poll = descent, descent.model, n_best, poll

    def __call__(self, points):
        quadratic = self.model.problem.quadratic
        found = (self._by_gram_rows if quadratic else self._by_rows)(points)
        self.model.tables += len(points)
        joined(self.model, [[into for _, _, into in pairs] for pairs in found])
        if quadratic:
            return passed_where_unimproved([bool(pairs) for pairs in found])
        swap = self.descent.swap
        return passed_where_unimproved(
            [swap(p.lambda0, p.fit, self.n_best) is not None for p in points]
        )

    def _by_gram_rows(self, points):
        """Improving swaps of each point over all columns, the ENTERING_POINT best columns each."""
        model, descent = self.model, self.descent
        model.read([point.fit.support for point in points])
        found = [[] for _ in points]

        def task(start, stop):
            for i in range(start, stop):
                fit = points[i].fit
                index = np.array([model.row_of[j] for j in fit.support.tolist()], dtype=np.int64)
                c = model.q_all.copy()
                for r, b in zip(index, fit.b, strict=True):
                    c -= b * model.rows[r]
                rho, square = descent.removal(fit, c[fit.support]), model.problem.square
                sides = Sides(model.rows, index, fit.b, c, square, rho, slice(None))
                penalty, ceiling = descent.penalty(points[i].lambda0), -descent.tolerance(fit)
                found[i] = descent.table(penalty, fit, sides, ceiling, ENTERING_POINT)

        threads.run(task, list(range(len(points) + 1)))
        return found

    def _by_rows(self, points):
        """The n_best pairs of the ranking of each point over all columns; one read of X for as many
        points as fit into a batch of right-hand sides.
        """
        n, most, found, start = self.model.problem.X.n, self.model.BATCH, [], 0
        while start < len(points):
            self.poll()
            stop, parts, held = start, [], 0
            while stop < len(points) and (
                not parts or held + n * points[stop].fit.support.size <= most
            ):
                parts.append(self.descent.removal(points[stop].fit)[1:])
                held += parts[-1][0].size
                stop += 1
            found += self._ranked(points[start:stop], parts)
            start = stop
        return found

    def _ranked(self, points, parts):
        """The n_best pairs of some points, whose members are removed by `parts`: one read of X."""
        descent, p = self.descent, self.model.problem
        R = -np.concatenate([slopes for slopes, _, _ in parts]).T
        ranked = [[] for _ in points]
        step = max(512, PRODUCTS_AT_ONCE // max(R.shape[1], 1))
        for start in range(0, p.X.p if R.shape[1] else 0, step):
            block = slice(start, min(start + step, p.X.p))
            correlations, at = np.ascontiguousarray(p.X.correlate(R, block.start, block.stop).T), 0
            none = np.zeros(block.stop - start)
            for i, (point, (slopes, rho, total)) in enumerate(zip(points, parts, strict=True)):
                k, a = len(slopes), total * p.square[block]
                rows = correlations[at : at + k]
                sides = Sides(rows, np.arange(k), np.ones(k), none, a, rho, block)
                penalty = descent.penalty(point.lambda0)
                ranked[i] += descent.table(penalty, point.fit, sides, 1e300, self.n_best)
                at += k
        self.model.reads += 1
        return [sorted(pairs)[: self.n_best] for pairs in ranked]


class ExchangeCheck:
    """Adds, drops and swaps with refit over all p columns; where tables only rank, `best_exchange`
    of the search decides.
    """

    def __init__(self, steps):
        self.steps, self.descent, self.model = steps, steps.descent, steps.descent.model

    def __call__(self, points):
        steps, descent, found = self.steps, self.descent, []
        for point in points:
            steps.poll()
            tolerance = descent.tolerance(point.fit)
            most = steps.tried(point.fit)
            ceiling, keep = (-tolerance, ENTERING_POINT) if steps.exact else (1e300, most)
            wanted = [Wanted(tolerance, ceiling, keep)]
            penalty = separable(point.lambda0, descent.lambda1, descent.lambda2)
            found += violators(self.model, [point.fit], wanted, penalty)
        joined(self.model, [candidates.into for candidates in found])
        if steps.exact:
            return passed_where_unimproved([bool(candidates) for candidates in found])
        improves = [steps.best_exchange(p.lambda0, p.fit, True) is not None for p in points]
        return [
            Verdict(better, not better and (p.fit.key, p.lambda0) not in steps.undecided)
            for p, better in zip(points, improves, strict=True)
        ]
