"""Checks of supports over ranges of all columns: here, or on the workers of a cluster, where the
Gram rows of their columns then stay and only the best exchanges come back.
"""

from itertools import pairwise

import numpy as np

from ..core import threads
from ..designs.standardized import Standardized
from . import updates
from .screening import foretold

# of `replay.RANGE` columns in a task at most, and tasks at least where there are so many columns
RANGES = 16


def check_range(
    rows, q, a, usable, price, supports, tape, steps, twice, lambda1, room, start, stop
):
    """For each support a list of (change, column, position), together its best exchanges with the
    columns start..stop, `room` at least if there are so many; arguments as in `replay.replay`.
    """
    e, J = supports.size.size, np.empty(stop - start, np.int64)
    if np.isfinite(supports.norm).all():
        J = J[
            : updates.survivors(rows, q, a, usable, price, supports, twice, lambda1, start, stop, J)
        ]
    else:
        J = start + np.flatnonzero(usable[start:stop])
    lists = [[] for _ in range(e)]
    for left in range(0, J.size, updates.RANGE):
        some, found = J[left : left + updates.RANGE], np.zeros(e, np.int64)
        change, column, position = (
            np.empty((e, room)),
            np.empty((e, room), np.int64),
            np.empty((e, room), np.int64),
        )
        updates.replay(
            rows,
            q,
            a,
            price,
            supports,
            tape,
            steps,
            twice,
            lambda1,
            some,
            some.size,
            change,
            column,
            position,
            found,
        )
        for i, k in enumerate(found.tolist()):
            if k:
                lists[i].append((change[i, :k], column[i, :k], position[i, :k]))
    return lists


def tasks(p):
    """Bounds of the ranges of p columns that tasks check: a call has its price, and all threads
    should have work.
    """
    return [*range(0, p, updates.RANGE * max(1, min(RANGES, p // (RANGES * updates.RANGE)))), p]


def leaders(C, square, usable, most, first=0):
    """(score, column), (m, most or all) each: for each column of C (q, m) = Z'R the usable columns
    of largest |c| / sqrt(square), counted from `first`; a score of -1 is none.
    """
    score = np.abs(C.T) / np.sqrt(np.maximum(square, 1e-300))
    score[:, ~usable] = -1.0
    top = np.argpartition(-score, min(most, usable.size) - 1, axis=1)[:, :most]
    return np.take_along_axis(score, top, axis=1), top + first


def leading(parts, most):
    """The columns of the `most` largest scores in several `leaders`, (m, most); ties go to the part
    that comes first.
    """
    score, column = (np.hstack(part) for part in zip(*parts, strict=True))
    return np.take_along_axis(column, np.argsort(-score, axis=1, kind="stable")[:, :most], axis=1)


def joined(parts, keep):
    """The `keep` lowest exchanges of several lists of (change, column, position), ascending; ties
    go to the smaller column.
    """
    change, column, position = (
        (np.concatenate(part) for part in zip(*parts, strict=True))
        if parts
        else (np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
    )
    best = np.lexsort((position, column, change))[:keep]
    return change[best], column[best], position[best]


def on_cluster(X):
    """Whether checks over the columns of a standardised design run where its shards are."""
    return type(X) is Standardized and hasattr(X.design, "shards")


class ClusterRows:
    """Gram rows of a problem over all columns, each worker having those of its shards; batches are
    kept in the order in which they were made.

    q (p,): products with y. What the workers need of the columns (center, scale, mean square,
    usable, q) is sent once.
    """

    def __init__(self, problem, q):
        X, self.problem = problem.X, problem
        self.design, self.batches, self._held, self._brought = X.design, [], [], None
        self.spans = [slice(*cut) for cut in pairwise(self.design.cuts)]
        self.static = [
            self.design.send(
                i,
                *(
                    np.ascontiguousarray(v[at])
                    for v in (X.center, X.scale, problem.square, problem.usable, q)
                ),
            )
            for i, at in enumerate(self.spans)
        ]
        self.common = self.design.share(
            (X.rows, problem.weights), problem.weights.nbytes * (1 + (X.rows is not None))
        )

    def _each(self, function, *arguments):
        """Futures of function(shard, static, common, *arguments of the shard)."""
        design = self.design
        return [
            design.submit(
                i,
                function,
                design.shards[i],
                self.static[i],
                self.common,
                *(a(i) if callable(a) else a for a in arguments),
            )
            for i in range(len(self.spans))
        ]

    def make(self, A):
        """Start making the rows of A (m, n), one standardised column a row; they stay where they
        are made.
        """
        side = self.design.share(A, A.nbytes)
        self.batches.append(self._each(_gram_rows, side))
        self._held.append(side)  # until the rows are there: the scheduler would forget it
        self.design.passes += 1

    def forget(self, places):
        """Keep only the rows at these places, in their order."""
        kept = self._each(
            _chosen, np.array(places, dtype=np.intp), lambda i: [batch[i] for batch in self.batches]
        )
        self.design.settle(kept)
        self.batches, self._held, self._brought = [kept], [], None

    def rows(self):
        """All rows (members, p) in this process, for what works on them here; only new ones are
        brought.
        """
        held = 0 if self._brought is None else self._brought[0]
        if held < len(self.batches):
            new = [np.hstack(self.design.gather(batch)) for batch in self.batches[held:]]
            self._brought = (
                len(self.batches),
                np.vstack(new if self._brought is None else [self._brought[1], *new]),
            )
        return np.empty((0, self.problem.X.p)) if self._brought is None else self._brought[1]

    def check(self, supports, tape, steps, twice, lambda1, factor, lambda0, keep):
        """`check_range` over all columns: for each support a list of (change, column, position),
        the best keep[e] of each shard.
        """
        walk = self.design.share(
            (supports, tape, steps, twice, lambda1, lambda0, keep),
            sum(np.asarray(a).nbytes for a in (*supports, *tape)),
        )
        parts = self.design.gather(
            self._each(
                _check,
                lambda i: factor[self.spans[i]] if lambda0 else None,
                walk,
                lambda i: self.spans[i].start,
                lambda i: [batch[i] for batch in self.batches],
            )
        )
        self._held = []
        return [[part[e] for part in parts] for e in range(supports.size.size)]

    def leading(self, R, most):
        """For each column of R (n, m) the `most` usable columns of largest |z'R| / ||z||, (m,
        most): each shard sends its own.
        """
        side = self.design.share(R, R.nbytes)
        self.design.passes += 1
        return leading(
            self.design.gather(self._each(_leading, side, most, lambda i: self.spans[i].start)),
            most,
        )

    def foretell(self, R, sides, lambda1, lambda2, dependent):
        """For each fit the best exchanges (change, column) by `foretold`, no column having a price;
        R (n, m) negative slopes.

        sides[i] = (total, B, bound, rows, most, target, ceiling, support, b, locked, paid).
        """
        side = self.design.share(
            (R, sides, lambda1, lambda2, dependent), R.nbytes + sum(s[1].nbytes for s in sides)
        )
        self.design.passes += 1
        parts = self.design.gather(
            self._each(
                _foretell,
                side,
                lambda i: self.spans[i].start,
                lambda i: [batch[i] for batch in self.batches],
            )
        )
        return [
            sorted(pair for part in parts for pair in part[i])[: sides[i][4]]
            for i in range(len(sides))
        ]


# -- what runs on the workers, one thread a task


def _own(a):
    """An array as the kernels are compiled for: contiguous and writable, which one that came over
    the network need not be.
    """
    return np.require(a, requirements=["C", "W"]) if isinstance(a, np.ndarray) else a


def _standardised(shard, static, common):
    return Standardized(shard, static[0], static[1], common[0])


def _gram_rows(shard, static, common, A):
    out = np.empty((A.shape[0], shard.p))
    with threads.limited(1):
        _standardised(shard, static, common).gram_rows(None, common[1], out, A)
    return out


def _chosen(shard, static, common, places, batches):
    return np.concatenate(batches)[places]


def _check(shard, static, common, factor, walk, first, batches):
    supports, tape, steps, twice, lambda1, lambda0, keep = walk
    supports, tape = type(supports)(*map(_own, supports)), type(tape)(*map(_own, tape))
    square, usable, q = map(_own, static[2:])
    price = (
        np.zeros(shard.p)
        if factor is None
        else np.where(np.isfinite(factor), lambda0 * np.minimum(factor, 1e300), 1e300)
    )
    lists = [[] for _ in keep]
    with threads.limited(1):
        for at in (slice(*cut) for cut in pairwise(tasks(shard.p))):
            left = at.start
            rows = (
                np.concatenate([batch[:, at] for batch in batches])
                if batches
                else np.empty((0, at.stop - left))
            )
            here = supports._replace(index=supports.index - (first + left))
            found = check_range(
                rows,
                q[at],
                square[at],
                usable[at],
                price[at],
                here,
                tape,
                steps,
                twice,
                lambda1,
                max(keep),
                0,
                at.stop - left,
            )
            for one, some in zip(lists, found, strict=True):
                one += [
                    (change, column + (first + left), position) for change, column, position in some
                ]
    return [joined(parts, most) for parts, most in zip(lists, keep, strict=True)]


def _leading(shard, static, common, R, most, first):
    with threads.limited(1):
        return leaders(
            _standardised(shard, static, common).correlate(R), static[2], static[3], most, first
        )


def _foretell(shard, static, common, side, first, batches):
    R, sides, lambda1, lambda2, dependent = side
    square, usable = map(_own, static[2:4])
    rows = (
        _own(batches[0])
        if len(batches) == 1
        else np.concatenate(batches)
        if batches
        else np.empty((0, shard.p))
    )
    none = np.zeros(shard.p)
    with threads.limited(1):
        C, out = _standardised(shard, static, common).correlate(R).T, []
        for c, (total, B, bound, index, most, target, ceiling, support, b, locked, paid) in zip(
            C, sides, strict=True
        ):
            skip, inside = (
                ~usable,
                support[(support >= first) & (support < first + shard.p)] - first,
            )
            skip[inside] = True
            change, column, position = (
                np.empty(most),
                np.empty(most, np.int64),
                np.empty(most, np.int64),
            )
            count = foretold(
                rows,
                np.array(index, dtype=np.int64),
                _own(B),
                _own(b),
                c / total,
                square,
                skip,
                _own(locked),
                none,
                _own(paid),
                lambda1 / total,
                lambda2 / total,
                dependent,
                bound,
                target,
                ceiling,
                0,
                shard.p,
                change,
                column,
                position,
            )
            out.append(
                [
                    (float(v), first + int(j))
                    for v, j in zip(change[:count], column[:count], strict=True)
                ]
            )
    return out
