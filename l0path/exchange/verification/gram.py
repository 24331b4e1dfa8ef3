"""Verification for the squared loss: every exchange of every fit with all p columns, by Gram rows.

The rank-one updates that lead from one support to the next are recorded on their members
(`updates`) and applied to ranges of columns.
"""

from typing import NamedTuple

import numpy as np

from ...core import threads
from ...working_set.gram import TINY_RIDGE
from .. import table, updates
from ..ranking import candidates, combinations_count, entry_costs, new_list
from .cluster import best_exchanges_on_workers, leading_on_workers
from .ranges import best_exchanges, first_of, leaders, tasks

TASK_COLUMNS = 1 << 16  # columns of a task of `leading`


class RangeLimits(NamedTuple):
    """The number of columns from which on a bound is worth its cost, and the largest number of
    ranges of `updates.RANGE` columns in a task.
    """

    prune_from: int = 4096
    ranges: int = 16


class Members(NamedTuple):
    """The columns of several supports: `index` (r,) ascending, the quadratic on them, what they
    cost (r,), and whether combinations of a support count.
    """

    index: np.ndarray
    quadratic: table.Columns
    member_cost: np.ndarray
    dependent: bool


def violators(model, fits, wanted, penalty, limits=RangeLimits()):
    """`verification.violators` for one batch."""
    p = model.problem
    model.read([fit.support for fit in fits])
    cost = entry_costs(p.factor, penalty.lambda0)
    members = _members(model, fits, penalty, cost)
    prune = (
        p.X.p >= limits.prune_from
        and max(one.ceiling for one in wanted) < updates.RANKING
        and not (members.member_cost.size and cost.min() < members.member_cost.max())
    )
    sequence = _sequence(
        _supports(model, fits, wanted, members, prune), members, float(penalty.lambda1)
    )
    counts = [one.count for one in wanted]
    if model.cluster is not None:
        lists = best_exchanges_on_workers(model.cluster, sequence, penalty.lambda0, counts, limits)
    else:
        lists = [[] for _ in fits]
        columns = updates.AllColumns(model.rows, model.q_all, p.square, p.usable, cost)

        def check(start, stop):
            found = best_exchanges(columns, sequence, max(counts), start, stop)
            for mine, parts in zip(lists, found, strict=True):
                mine += parts

        threads.run(check, tasks(p.X.p, limits.ranges))
    model.tables += len(fits)
    out = []
    for e, parts in enumerate(lists):
        support = members.index[sequence.supports.S[e, : sequence.supports.size[e]]]
        found = [np.concatenate(part) for part in zip(*parts, strict=True)] or new_list(0)
        tie = sequence.supports.tie[e]
        out.append(candidates(support, found, counts[e], tie))
    return out


def _members(model, fits, penalty, cost):
    """The Members of the fits."""
    p, index = model.problem, np.unique(np.concatenate([fit.support for fit in fits]))
    at, dependent = model.where[index], combinations_count(model, penalty)
    # members may depend on each other there: a trace of a ridge lets the table tell them apart
    trace = TINY_RIDGE * float(p.square[index].mean()) if dependent and index.size else 0.0
    columns = table.Columns(
        np.ascontiguousarray(model.G[np.ix_(at, at)]),
        table.by_column(model.q[at]),
        2.0 * float(penalty.lambda2) + trace,
        index.size,
        p.locked(index),
        np.zeros(index.size),
    )
    return Members(index, columns, np.where(columns.locked, 0.0, cost[index]), dependent)


def _supports(model, fits, wanted, members, prune):
    """The fits as `updates.Supports`; with `prune` each has a bound on ||B||."""
    e, K = len(fits), max(1, *(fit.support.size for fit in fits))
    S, b, norm = np.zeros((e, K), np.int64), np.zeros((e, K + 1)), np.full(e, np.inf)
    for i, fit in enumerate(fits):
        k, at = fit.support.size, np.searchsorted(members.index, fit.support)
        S[i, :k], b[i, :k] = at, fit.b
        if prune:
            G = members.quadratic.G[np.ix_(at, at)]
            values = np.linalg.eigvalsh(G) + members.quadratic.ridge_diag if k else np.ones(1)
            norm[i] = 1.0 / max(values[0] - 1e-13 * k * values[-1], 1e-300)
    return updates.Supports(
        S,
        b,
        np.array([fit.support.size for fit in fits]),
        np.array([one.target for one in wanted], dtype=np.float64),
        np.array([one.ceiling for one in wanted], dtype=np.float64),
        np.array([table.EQUAL * abs(fit.value) for fit in fits]),
        norm,
        members.index,
        np.array([model.row_of[j] for j in members.index.tolist()], dtype=np.int64),
        members.quadratic.locked,
        members.member_cost,
        members.dependent,
    )


def _sequence(supports, members, lambda1):
    """The updates that lead through the supports."""
    record = updates.new_record(supports)
    state = table.new_state(members.index.size, supports.S.shape[1])
    steps = updates.record_updates(
        state, members.quadratic, supports, not members.dependent, record
    )
    return updates.UpdateSequence(supports, record, steps, members.quadratic.ridge_diag, lambda1)


def leading(model, fits, most):
    """`verification.leading` for one response."""
    p, b = model.problem, np.zeros((len(fits), model.width))
    for row, fit in zip(b, fits, strict=True):
        row[model.where[fit.support]] = fit.b
    residual = b @ model.Z[: model.width]  # in place: n may be millions
    np.subtract(p.y, residual, out=residual)
    residual *= p.weights
    if model.cluster is not None:
        return list(leading_on_workers(model.cluster, residual.T, most))
    C = p.X.correlate(residual.T)
    cuts = [*range(0, p.X.p, TASK_COLUMNS), p.X.p]
    parts = [None] * (len(cuts) - 1)

    def rank(start, stop):
        own = slice(start, stop)
        parts[start // TASK_COLUMNS] = leaders(C[own], p.square[own], p.usable[own], most, start)

    threads.run(rank, cuts)
    return list(first_of(parts, most))
