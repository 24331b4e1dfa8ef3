"""Exchanges of a fit decided one after another: by refits, by chord steps (`trials`), or for
ordered classes by bounds and refits (`ordered.trials`).

A decision is a generator `decide(model, fit, pairs, shrinkage, aim)`. It goes through the exchanges
`pairs` (2, m), out and into, of columns, -1 for none, all of which change the size of the fit
alike, and yields (number, fit) of those that may lie below the target of an `Aim`, the fit None
where that is all that is known. shrinkage: lambda1 and lambda2.
"""

from dataclasses import dataclass

import numpy as np

from ..core.status import FitStatus
from ..problem.problem import Fit
from ..working_set.newton import CONVERGED, MAX_ITER, rows_of
from . import trials
from .ordered.trials import first_below
from .ranking import exchanged_supports, roles
from .trials import Exchanges, Goal

# exchanges that are tried by the curvatures of a fit close by although all are to be refuted: where
# one pays it is mostly the first (0.94 of the time of a logistic path, 1000 x 1000, in speed.py)
GUESSED = 1


@dataclass
class Aim:
    """What exchanges are to come below."""

    target: float  # may be lowered between two exchanges
    thorough: bool = False  # whether others must be refuted, not only be guessed to lie above it
    tie: float | None = None  # a number where the lowest exchange is wanted, see `trials.Goal`


def exchanges_of(model, fit, pairs):
    """The `Exchanges` of pairs (out, into) of columns, -1 for none, with the working columns; all
    change the size of the fit alike.
    """
    out, into = np.ascontiguousarray(pairs)  # other strides would compile another kernel
    out = fit.support.searchsorted(out) if out.size and out[0] >= 0 else out
    return Exchanges(out, model.where[into] if into.size and into[0] >= 0 else into)


def unranked_swaps(model, fit, first, ranked):
    """The swaps (m, 2), out and into, with working columns from position `first` on that count
    although the quadratic of a fit does not rank them: where few rows have a curvature, columns are
    combinations of the support there that are none. Only a refit tells. ranked (r, 2): those that
    it ranks.
    """
    part = roles(model.problem, fit, model.W[first:], 0.0)
    listed = np.ones((fit.support.size, part.skip.size), dtype=bool)
    listed[np.ix_(~part.locked, ~part.skip)] = False
    at = exchanges_of(model, fit, ranked.T)
    listed[at.out, at.into - first] = True
    out, into = np.nonzero(~listed)
    return np.array([fit.support[out], model.W[first + into]]).T


def by_refits(model, fit, pairs, shrinkage, aim):
    """Every loss, lambda1, boxes: refits from the coefficients of the fit. Where these are far out,
    because there is no finite optimum, the terms that have vanished there stay so in most of them,
    and bounds refute at once what steps from 0 would take to the infimum.
    """
    if not pairs.size:
        return
    supports, starts = exchanged_supports(fit.support, fit.b, *pairs)
    first = 0
    while first < len(supports):
        rest = supports[first:], starts[first:]
        e, new = model.first_below(*rest, fit.b0, shrinkage, aim.target)
        if new is None:
            break
        yield first + e, new
        first += e + 1


def by_chord_steps(model, fit, pairs, shrinkage, aim):
    """Smooth losses of any number of predictors of each row, no lambda1, no box: trials that take
    gradients only, and refits where these do not converge, or no quadratic is at hand.
    """
    table, m = None, pairs.shape[-1]
    if pairs.size and FitStatus.SEPARATED not in fit.flags:
        exchanges = exchanges_of(model, fit, pairs)
        table = model.local_table(fit, shrinkage[1], exchanges.into)
    if table is None:
        yield from by_refits(model, fit, pairs, shrinkage, aim)
        return
    # to refute takes many steps, and fewer by the curvatures of the fit itself
    first = GUESSED if aim.thorough else m
    yield from tried(model, fit, exchanges.of(slice(first)), table, aim)
    if first < m:
        table = model.local_table(fit, shrinkage[1], exchanges.into, closely=True)
        for e, new in tried(model, fit, exchanges.of(slice(first, None)), table, aim):
            yield first + e, new


def tried(model, fit, exchanges, table, aim):
    """Yield (number, fit or None) of the `Exchanges` of a fit that chord steps from its
    `LocalTable` do not show to stay above the target of an `Aim`.
    """
    one, last, rows = aim.tie is None, -1, model.row_data(model.Z)
    while last + 1 < exchanges.out.size:
        goal = Goal(float(aim.target), one, aim.thorough, 0.0 if one else aim.tie)
        rest = exchanges if last < 0 else exchanges.of(slice(last + 1, None))
        found = trials.tried(rows, table, rest, goal)
        if found.e < 0:
            break
        last += found.e + 1
        just = exchanges.of(slice(last, last + 1))
        yield last, _fit_of(model, fit, just, table, found, aim.target)
        if not one:
            break


def _fit_of(model, fit, exchange, table, found, target):
    """The fit after one exchange, the one that trials `found`: a refit where steps did not end."""
    q, (i,), (j,) = found.x.size - table.x.size, exchange.out, exchange.into
    out = fit.support[exchange.out] if i >= 0 else exchange.out
    into = model.W[exchange.into] if j >= 0 else exchange.into
    x, own, k = found.x[:-q].reshape(q, -1), found.x[-q:], fit.support.size
    held = x[:, :k].T.reshape(fit.b.shape)
    (support,), (b,) = exchanged_supports(fit.support, held, out, into)
    if j >= 0:
        b[np.searchsorted(support, into[0])] = own if b.ndim > 1 else own[0]
    if model.problem.intercept:
        level = x[:, k] - x[:, :k] @ table.center[table.S]
        level -= own * table.center[j] if j >= 0 else 0.0
        level = level if b.ndim > 1 else level[0]
    else:
        level = np.ravel(model.level(fit)) if b.ndim > 1 else fit.b0
    new, lambda2 = model.fit_of(support, b, level, found.F), table.lambda2
    closed = found.promised <= trials.SMALL_PROMISE * abs(found.F)
    if closed and (found.reach + model.nearer < model.REACH or lambda2 > 0):
        return new
    if found.F < fit.value:  # below all other coefficients of the support of the fit
        return model.refit(support, 0.0, lambda2, (new.b, new.b0), target)
    # where columns nearly separate the classes, or the loss overflows, steps may have gone astray
    start = exchanged_supports(fit.support, fit.b, out, into)[1][0]
    before = model.value_at(Fit(support, start, fit.b0, 0.0), lambda2)
    b, b0 = (new.b, new.b0) if found.F < before else (start, fit.b0)
    return model.refit(support, 0.0, lambda2, (b, b0), target)


def by_thresholds(model, fit, pairs, shrinkage, aim):
    """Ordered classes, no lambda1, no box: bounds at the optima that the quadratic of the fit
    predicts refute most exchanges, and refits start from there. A column added need not be in W; it
    is once a refit with it was not refuted.
    """
    supports = np.empty((0, 0))
    out, into = pairs
    if out.size and fit.support.size and FitStatus.SEPARATED not in fit.flags:
        supports, starts = exchanged_supports(fit.support, fit.b, out, into)
    if not supports.size:
        yield from by_refits(model, fit, pairs, shrinkage, aim)
        return
    rows, table, at, into_at, first = *_placed(model, fit, supports, into, shrinkage[1]), 0
    exchanges = Exchanges(np.where(out >= 0, np.searchsorted(fit.support, out), -1), into_at)
    b = np.empty(supports.shape[1])
    eta, thresholds = np.empty(model.problem.X.n), np.empty_like(table.best.t)
    while first < out.size:
        stopping = model.stopping(aim.target, shrinkage[1])
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
            start = starts[e], fit.b0
            new = model.refit(new.support, 0.0, shrinkage[1], start, aim.target)
        yield e, new
        first = e + 1


def _placed(model, fit, supports, into, lambda2):
    """Rows with all columns of some exchanges, those of W if these are all; the table of the fit,
    the supports after them and the columns added, as positions there.
    """
    table, problem, where = model.weighted(fit, lambda2), model.problem, model.where
    if (where[into] >= 0).all() or (into < 0).all():
        into_at = np.where(into >= 0, where[into], -1)
        return rows_of(problem, model.Z), table, where[supports], into_at
    J = np.union1d(fit.support, into)
    Z, outside = model.Z[where[J]], where[J] < 0
    Z[outside] = problem.X.columns(J[outside]).T
    table = table._replace(S=np.searchsorted(J, fit.support))
    return rows_of(problem, Z), table, np.searchsorted(J, supports), np.searchsorted(J, into)
