"""Verification on the workers of a cluster: the Gram rows of their columns stay there, and only the
best exchanges come back.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...core import threads
from ...designs.cluster.shard_gram import standardized
from .. import updates
from ..ranking import Roles, entry_costs
from .ranges import Block, best_exchanges, first_of, joined, leaders, lowest, proposed, tasks


class Place(NamedTuple):
    """The first column of a shard, and the penalty factors of its columns, None where they cost
    nothing.
    """

    first: int
    factor: np.ndarray | None


def best_exchanges_on_workers(held, sequence, lambda0, counts, limits):
    """For each support of a sequence a list of (change, column, position), the best counts[e] of
    each shard; held: ShardGram.
    """
    arrays = (*sequence.supports, *sequence.record)
    sent = held.design.share(
        (sequence, lambda0, counts, limits.ranges), sum(np.asarray(a).nbytes for a in arrays)
    )
    factor = held.problem.factor
    parts = held.answers(
        _best_exchanges,
        sent,
        lambda i: Place(held.spans[i].start, factor[held.spans[i]] if lambda0 else None),
        held.batches_of,
    )
    held.release()
    return [[part[e] for part in parts] for e in range(len(counts))]


def leading_on_workers(held, R, most):
    """For each column of R (n, m) the `most` usable columns of largest |z'R| / ||z||, (m, most):
    each shard sends its own.
    """
    sent = held.design.share(R, R.nbytes)
    held.design.passes += 1
    return first_of(held.answers(_leading, sent, most, lambda i: held.spans[i].start), most)


def proposals_of_workers(held, R, screenings, members, question):
    """For each Screening its best exchanges with all columns, which cost nothing, see `proposed`.
    R (n, m) negative slopes; members: their `Roles` for no column.
    """
    sent = held.design.share(
        (R, screenings, members, question), R.nbytes + sum(one.B.nbytes for one in screenings)
    )
    held.design.passes += 1
    parts = held.answers(_proposals, sent, lambda i: held.spans[i].start, held.batches_of)
    return [
        lowest([part[i] for part in parts], one.wanted.count, one.tie / one.total)
        for i, one in enumerate(screenings)
    ]


# -- what runs on the workers, one thread a task


def _own(a):
    """An array as the kernels are compiled for: contiguous and writable, which one that came over
    the network need not be.
    """
    return np.require(a, requirements=["C", "W"]) if isinstance(a, np.ndarray) else a


def _mine(record):
    """A record with arrays as the kernels are compiled for."""
    return type(record)(*map(_own, record))


def _best_exchanges(shard, static, common, sent, place, batches):
    first, factor = place
    sequence, lambda0, counts, most = sent
    sequence = sequence._replace(supports=_mine(sequence.supports), record=_mine(sequence.record))
    square, usable, q = map(_own, static[2:])
    cost = np.zeros(shard.p) if factor is None else entry_costs(factor, lambda0)
    lists = [[] for _ in counts]
    with threads.limited(1):
        for at in (slice(*cut) for cut in pairwise(tasks(shard.p, most))):
            left, size = at.start, at.stop - at.start
            rows = (
                np.concatenate([batch[:, at] for batch in batches])
                if batches
                else np.empty((0, size))
            )
            here = sequence.supports._replace(index=sequence.supports.index - (first + left))
            columns = updates.AllColumns(rows, q[at], square[at], usable[at], cost[at])
            found = best_exchanges(columns, sequence._replace(supports=here), max(counts), 0, size)
            for one, some in zip(lists, found, strict=True):
                one += [
                    (change, column + (first + left), position) for change, column, position in some
                ]
    return [joined(parts, most) for parts, most in zip(lists, counts, strict=True)]


def _leading(shard, static, common, R, most, first):
    with threads.limited(1):
        return leaders(
            standardized(shard, static, common).correlate(R), static[2], static[3], most, first
        )


def _proposals(shard, static, common, sent, first, batches):
    R, screenings, members, question = sent
    square, usable = map(_own, static[2:4])
    rows = (
        _own(batches[0])
        if len(batches) == 1
        else np.concatenate(batches)
        if batches
        else np.empty((0, shard.p))
    )
    none, out = np.zeros(shard.p), []
    with threads.limited(1):
        C = standardized(shard, static, common).correlate(R).T
        for c, one, member in zip(C, screenings, members, strict=True):
            inside = one.support[(one.support >= first) & (one.support < first + shard.p)] - first
            skip = ~usable
            skip[inside] = True
            part = Roles(skip, _own(member.locked), none, _own(member.member_cost))
            out.append(proposed(_mine(one), Block(rows, c, square, first), part, question))
    return out
