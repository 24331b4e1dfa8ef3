"""Gram rows over all columns of a design on a cluster, each worker having those of its shards."""

from itertools import pairwise

import numpy as np

from ...core import threads
from ..standardized import Standardized


def on_cluster(X):
    """Whether the columns of a standardized design are in shards on workers."""
    return type(X) is Standardized and X.traits.shards


class ShardGram:
    """Gram rows of a problem over all columns; batches are kept in the order in which they were
    made.

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

    def batches_of(self, i):
        """The batches of rows of shard i, an argument of `submit`."""
        return [batch[i] for batch in self.batches]

    def submit(self, function, *arguments):
        """Futures of function(shard, static, common, *arguments) for every shard; an argument that
        can be called is called with the number of the shard.
        """
        design = self.design
        return [
            design.submit(
                function,
                design.shards[i],
                self.static[i],
                self.common,
                *(a(i) if callable(a) else a for a in arguments),
            )
            for i in range(len(self.spans))
        ]

    def answers(self, function, *arguments):
        """The results of `submit`, one for each shard."""
        return self.design.gather(self.submit(function, *arguments))

    def release(self):
        """Let go of what the rows were made from, once they were used."""
        self._held = []

    def make(self, A):
        """Start making the rows of A (m, n), one standardized column a row; they stay where they
        are made.
        """
        side = self.design.share(A, A.nbytes)
        self.batches.append(self.submit(_gram_rows, side))
        self._held.append(side)  # until the rows are there: the scheduler would forget it
        self.design.passes += 1

    def forget(self, places):
        """Keep only the rows at these places, in their order."""
        kept = self.submit(_chosen, np.array(places, dtype=np.intp), self.batches_of)
        self.design.wait(kept)
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


def standardized(shard, static, common):
    """The standardized columns of a shard, on its worker."""
    return Standardized(shard, static[0], static[1], common[0])


def _gram_rows(shard, static, common, A):
    out = np.empty((A.shape[0], shard.p))
    with threads.limited(1):
        standardized(shard, static, common).gram_rows(None, common[1], out, A)
    return out


def _chosen(shard, static, common, places, batches):
    return np.concatenate(batches)[places]
