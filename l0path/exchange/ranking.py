"""The best exchanges of one fit by a quadratic at it: exact for the squared loss without lambda1
and box, a ranking elsewhere.
"""

from typing import NamedTuple

import numpy as np

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
    """Which exchanges of a fit are wanted.

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
    skip, k = ~problem.usable[J], fit.support.size
    if k:  # np.isin would sort both
        skip |= fit.support[np.minimum(np.searchsorted(fit.support, J), k - 1)] == J
    locked, member_cost = np.zeros(k, dtype=bool), np.zeros(k)
    if problem.forced.size:
        locked = np.isin(fit.support, problem.forced, assume_unique=True)
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
    count = scan(quadratic, fit.b, part, rule, ExchangeList(*found))
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
    return [
        Candidate(
            float(change[e]), -1 if position[e] < 0 else int(support[position[e]]), int(into[e])
        )
        for e in best
    ]
