"""Ranges of all columns: the exchanges that they offer, exact or ranked, and those of largest
product with given right-hand sides. The same functions run here and on the workers of a cluster.
"""

from typing import NamedTuple

import numpy as np

from ...problem.penalties import Separable
from ...working_set.starts import rounded
from .. import updates
from ..ranking import ExchangeRule, Wanted, new_list
from ..screening import Screen, screen_exchanges
from ..table import ExchangeList, ascending


def best_exchanges(columns, sequence, capacity, start, stop):
    """For each support of a sequence a list of (change, column, position), together its best
    exchanges with the columns start..stop, `capacity` at least if there are so many.
    """
    supports, e = sequence.supports, sequence.supports.size.size
    if np.isfinite(supports.norm).all():
        J = np.empty(stop - start, np.int64)
        count = updates.unscreened(columns, sequence, start, stop, J)
        J = J[:count]
    else:
        J = start + np.flatnonzero(columns.usable[start:stop])
    lists = [[] for _ in range(e)]
    for first in range(0, J.size, updates.RANGE):
        some = J[first : first + updates.RANGE]
        found = updates.BestExchanges(*new_list(e, capacity), np.zeros(e, np.int64))
        updates.apply_updates(columns, sequence, some, found)
        for i, k in enumerate(found.count.tolist()):
            if k:
                kept = found.change[i, :k], found.column[i, :k], found.position[i, :k]
                lists[i].append(kept)
    return lists


def tasks(p, most):
    """Bounds of the ranges of p columns that tasks check, of at most `most` times updates.RANGE
    columns: a call has its cost, and all threads should have work.
    """
    return [*range(0, p, updates.RANGE * max(1, min(most, p // (most * updates.RANGE)))), p]


class Block(NamedTuple):
    """m columns from `first` on: Gram rows (r, m), right-hand sides c (m,), mean squares (m,)."""

    rows: np.ndarray
    c: np.ndarray
    square: np.ndarray
    first: int


class Screening(NamedTuple):
    """A fit as it screens all columns: by unweighted Gram rows times the mean curvature.

    Parameters
    ----------
    support, b : ndarray of shape (k,)
    total : float
        Sum of the curvatures, by which everything is divided.
    B : ndarray of shape (k, k)
        Inverse of G_SS + 2 lambda2 / total I.
    bound : float
        At least ||B||_2.
    rows : ndarray of shape (k,)
        Where the Gram rows of the support stand.
    wanted : Wanted
        In units of the objective.
    tie : float
        By how much changes may differ that count as equal, in units of the objective.
    """

    support: np.ndarray
    b: np.ndarray
    total: float
    B: np.ndarray
    bound: float
    rows: np.ndarray
    wanted: Wanted
    tie: float


class Question(NamedTuple):
    """The settings that all fits of a verification share: the penalty, and whether columns count
    that are combinations of a support.
    """

    penalty: Separable
    dependent: bool


def proposed(fit, block, part, question, found=None):
    """The best exchanges of a Screening with the columns of a block, together with those `found`
    before: (changes divided by the sum of curvatures, columns) ascending. part: `Roles` of the
    block.
    """
    total, most, target = fit.total, fit.wanted.count, fit.wanted.target
    full = found is not None and found[0].size == most
    ceiling = float(found[0][-1]) if full else fit.wanted.ceiling / total
    change, column, position = new_list(most)
    penalty = question.penalty
    rule = ExchangeRule(
        penalty.lambda1 / total,
        penalty.lambda2 / total,
        question.dependent,
        target / total,
        ceiling,
        fit.tie / total,
    )
    count = screen_exchanges(
        block._replace(c=block.c / total),
        Screen(fit.rows, fit.B, fit.b, fit.bound),
        part,
        rule,
        ExchangeList(change, column, position),
    )
    new = change[:count], block.first + column[:count]
    return lowest([new] if found is None else [found, new], most, rule.tie)


def lowest(parts, most, tie):
    """The `most` lowest exchanges of several (changes, columns), ascending in steps of `tie`; ties
    go to the smaller column.
    """
    change, column = (np.concatenate(part) for part in zip(*parts, strict=True))
    best = ascending(change, tie, column)[:most]
    return change[best], column[best]


def leaders(C, square, usable, most, first=0):
    """(score, column), (m, most or all) each: for each column of C (q, m) = Z'R the usable columns
    of largest |c| / sqrt(square), counted from `first`; a score of -1 is none.
    """
    score = rounded(np.abs(C.T) / np.sqrt(np.maximum(square, 1e-300)))
    score[:, ~usable] = -1.0
    top = np.argpartition(-score, min(most, usable.size) - 1, axis=1)[:, :most]
    return np.take_along_axis(score, top, axis=1), top + first


def first_of(parts, most):
    """The columns of the `most` largest scores in several `leaders`, (m, most); ties go to the part
    that comes first.
    """
    score, column = (np.hstack(part) for part in zip(*parts, strict=True))
    return np.take_along_axis(column, np.argsort(-score, axis=1, kind="stable")[:, :most], axis=1)


def joined(parts, count):
    """The `count` lowest exchanges of several lists of (change, column, position), ascending; ties
    go to the smaller column.
    """
    change, column, position = (
        (np.concatenate(part) for part in zip(*parts, strict=True)) if parts else new_list(0)
    )
    best = np.lexsort((position, column, change))[:count]
    return change[best], column[best], position[best]
