"""The best exchanges of one fit by a quadratic at it: exact for the squared loss without lambda1
and box, a ranking elsewhere.
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from .table import EQUAL, ExchangeList, ExchangeRule, in_steps, scan

NEVER = 1e300  # the cost of a column that may not enter


class Candidate(NamedTuple):
    """An exchange: drop the column `out` (-1: none), add the column `into` (-1: none); `change` is
    what the quadratic predicts for F.
    """

    change: float
    out: int
    into: int


class Wanted(NamedTuple):
    """The exchanges of a fit that a caller asks for.

    Parameters
    ----------
    target : float
        What an addition must lower F by, beside the cost of its column. It is entered as target +
        cost - gain.
    ceiling : float
        What the change by a swap must stay below.
    count : int
        How many are wanted; those of lowest change.
    """

    target: float
    ceiling: float
    count: int


class Roles(NamedTuple):
    """The part that m columns and the k members of a support may take in exchanges: skip (m,) may
    not enter, cost (m,) lambda0 f of entering; locked (k,) stays, member_cost (k,)
    lambda0 f of members.
    """

    skip: np.ndarray
    locked: np.ndarray
    cost: np.ndarray
    member_cost: np.ndarray


def entry_costs(factor, lambda0):
    """lambda0 f_j for factors f, an array; NEVER where f_j is infinite."""
    if not lambda0:
        return np.zeros(factor.size)
    return np.where(np.isfinite(factor), lambda0 * np.minimum(factor, NEVER), NEVER)


def roles(problem, fit, J, lambda0):
    """The `Roles` of columns J (indices) in exchanges of a fit."""
    k, may_enter = fit.support.size, problem.usable.copy()
    may_enter[fit.support] = False
    skip = ~may_enter[J]
    locked, member_cost = problem.locked(fit.support), np.zeros(k)
    if lambda0:
        member_cost = np.where(locked, 0.0, lambda0 * problem.factor[fit.support])
    return Roles(skip, locked, entry_costs(problem.factor[J], lambda0), member_cost)


def combinations_count(model, penalty):
    """Whether columns that are combinations of a support can improve it: signs, bounds or near
    combinations matter.
    """
    return bool(penalty.lambda1 or model.boxed or model.near is not None)


def new_list(*shape):
    """Room for exchanges: (change, column, position)."""
    return np.empty(shape), np.empty(shape, np.int64), np.empty(shape, np.int64)


def scanned(model, fit, quadratic, columns, penalty, wanted):
    """(change, column, position) of the best exchanges of a fit with `columns` (indices, which the
    columns of the quadratic stand for), ascending: numbers of `columns`, and positions in the
    support, -1 for an addition.
    """
    part = roles(model.problem, fit, columns, penalty.lambda0)
    model.tables += 1
    found = new_list(wanted.count)
    rule = ExchangeRule(
        penalty.lambda1,
        penalty.lambda2,
        combinations_count(model, penalty),
        wanted.target,
        wanted.ceiling,
        EQUAL * abs(float(fit.value)),
    )
    u = quadratic.B @ quadratic.rows
    count = scan(quadratic, u, fit.b, part, rule, ExchangeList(*found))
    return tuple(kept[:count] for kept in found)


def ranked(model, fit, quadratic, columns, penalty, wanted):
    """The best exchanges of a fit with `columns`, ascending: list of Candidate."""
    change, column, position = scanned(model, fit, quadratic, columns, penalty, wanted)
    found = change, columns[column], position
    return candidates(fit.support, found, wanted.count, EQUAL * abs(fit.value))


def candidates(support, found, count, tie):
    """The `count` lowest of the exchanges `found` = (change, column, position in the support) as a
    list of Candidate, ascending in steps of `tie`; ties go to the smaller column.
    """
    change, into, position = found
    best = np.lexsort((position, into, in_steps(change, tie)))[:count]
    out = np.append(support, -1)[position[best]]  # position -1 is an addition
    return list(map(Candidate, change[best].tolist(), out.tolist(), into[best].tolist()))


def exchanged_supports(support, b, out, into):
    """Supports after exchanges that all change their size alike.

    Parameters
    ----------
    support, b : ndarray of shape (k,)
        Sorted columns and their coefficients.
    out, into : ndarray of shape (m,)
        The column dropped and the column added by each exchange, -1 for none.

    Returns
    -------
    (supports, starts)
        Two arrays with a row for each exchange: sorted columns, and their coefficients before it,
        0 for the column added.
    """
    size = support.size - int(out[0] >= 0) + int(into[0] >= 0)
    supports, starts = np.empty((out.size, size), np.int64), np.empty((out.size, size))
    _exchange(support, b, out, into, supports, starts)
    return supports, starts


@njit
def _exchange(support, b, out, into, supports, starts):
    """Fill the arrays that `exchanged_supports` returns."""
    for e in range(out.size):
        new, at = into[e], 0
        for i in range(support.size + 1):
            if new >= 0 and (i == support.size or new < support[i]):
                supports[e, at], starts[e, at] = new, 0.0
                new, at = -1, at + 1
            if i < support.size and support[i] != out[e]:
                supports[e, at], starts[e, at] = support[i], b[i]
                at += 1
