"""A design whose columns are held by the workers of a Dask cluster: right-hand sides travel to
them, products come back.

Everything a worker holds is the result of a task that the scheduler can run again: a shard is read
from its source, what was sent is kept in the task that sends it. So a worker that dies takes
nothing with it: the scheduler reads its shards anew on the others, and only what they had computed
and not yet sent is computed again. Each shard's tasks go to the worker that read it; any other may
take them once it is gone.
"""

import pickle
from hashlib import blake2b
from itertools import pairwise

import dask
import distributed
import numpy as np
from dask.sizeof import sizeof

from l0path.core import threads as pool
from l0path.designs.checks import right_hand_sides
from l0path.designs.dense import Dense
from l0path.designs.disk.bed import Packed
from l0path.designs.disk.column_blocks import ColumnBlocks
from l0path.designs.disk.sources import ArraySource

# shards for each thread of the cluster: those of a worker that dies are shared by the others
SHARDS = 2
STRIP = 1 << 20  # entries made at a time on a worker
SMALL = 1 << 18  # bytes that rather travel with each task than take a round trip of their own
SHARE = 0.2  # of the memory of the workers, for Gram rows


class Sharded(ColumnBlocks):
    """Design over shards of columns on the workers of `client` (a `dask.distributed.Client`), made
    by `blocks(source, client=client)`; verbs as `ColumnBlocks`.

    cuts (s + 1,) first columns of the shards, and p. sent, received: bytes of arrays that went to
    the shards and came back, each counted for every shard that it went to.
    """

    # products come over the network: nothing is written in place
    traits = ColumnBlocks.traits._replace(in_place=False, shards=True)

    def __init__(self, source, client, memory_limit=1 << 30, shards=None):
        super().__init__(source, memory_limit)
        if not isinstance(client, distributed.Client):
            raise TypeError(
                f"client={client!r} must be a dask.distributed.Client: distributed.Client(cluster)"
            )
        workers = client.nthreads()
        if not workers:
            raise ValueError(
                f"client={client!r} has no workers; start some, or wait for them: "
                "client.wait_for_workers(1)"
            )
        number = SHARDS * sum(workers.values()) if shards is None else _checked(shards)
        self.client, self.cuts = client, _cuts(self.p, min(number, self.p), source.chunk[1])
        places = sorted(workers)
        self.homes = [places[i % len(places)] for i in range(len(self.cuts) - 1)]
        self.sent = self.received = 0
        self._side = (None, None)  # digest and future of the right-hand sides sent last
        self.shards = self._load()

    def __getstate__(self):
        raise TypeError(
            "a design on a Dask cluster cannot be sent to another process; with n_jobs=None folds "
            "and subsamples run here, one after another, and their products on the cluster"
        )

    def __repr__(self):
        homes = f"{len(self.shards)} shards on {len(set(self.homes))} workers"
        return f"Sharded(n={self.n}, p={self.p}, source={self.source!r}, {homes})"

    @property
    def gram_rows(self):
        """Number of Gram rows (p float64 each) that fit into their share of the workers' memory."""
        memory = [
            worker["memory_limit"]
            for worker in self.client.scheduler_info(n_workers=-1)["workers"].values()
        ]
        return max(1, int(SHARE * sum(memory) / (8 * self.p))) if memory and all(memory) else self.p

    # -- tasks

    def submit(self, i, function, *arguments, **options):
        """Future of function(*arguments) on the worker of shard i; arguments that are futures are
        their results there.
        """
        with dask.config.set(
            {"distributed.admin.large-graph-warning-threshold": "1TB"}
        ):  # large arguments are meant: the task that holds them can be run again
            return self.client.submit(
                function,
                *arguments,
                pure=False,
                workers=[self.homes[i]],
                allow_other_workers=True,
                **options,
            )

    def send(self, i, *arrays):
        """Future of a tuple of arrays on the worker of shard i."""
        self.sent += sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))
        return self.submit(i, _same, *arrays)

    def share(self, value, nbytes):
        """One value for all shards, which they are given as an argument: itself if it is small,
        else a future, which workers pass on to each other.
        """
        if nbytes < SMALL:
            self.sent += nbytes * len(self.homes)
            return value
        self.sent += nbytes * len(set(self.homes))
        return self.submit(0, _only, value)

    def gather(self, futures):
        """The results of futures."""
        out = self.client.gather(futures)
        self.received += sum(_nbytes(part) for part in out)
        return out

    def wait(self, futures):
        """The futures once they are done; the first error is raised here."""
        distributed.wait(futures)
        for future in futures:
            if future.status == "error":
                future.result()
        return futures

    def _load(self):
        """Futures of the shards, each a small design in the memory of a worker; back when they are
        there. What a task needs must be held here until it ran, or the scheduler forgets it.
        """
        source, spans = self.source, list(pairwise(self.cuts))
        if not isinstance(source, ArraySource) or source.what == "Zarr array":
            whole = self.submit(
                0, _only, pickle.dumps(source)
            )  # bytes, so that the scheduler does not open the file
            shards = [
                self.submit(i, _read, whole, start, stop, retries=2)
                for i, (start, stop) in enumerate(spans)
            ]
        else:
            parts = [source.array[:, start:stop] for start, stop in spans]
            if source.what == "Dask array":
                parts = [
                    self.client.compute(part, workers=[home], allow_other_workers=True)
                    for part, home in zip(parts, self.homes, strict=True)
                ]
            shards = [
                self.submit(
                    i, _block, part if isinstance(part, distributed.Future) else np.asarray(part)
                )
                for i, part in enumerate(parts)
            ]
        return self.wait(shards)

    def _inside(self, start, stop):
        """(shard, start, stop within it, its first column) of the shards that hold start:stop."""
        for i, (first, last) in enumerate(pairwise(self.cuts)):
            if first < stop and last > start:
                yield i, max(start - first, 0), min(stop, last) - first, first

    def _sides_of(self, R):
        """Future of right-hand sides; those sent last are not sent again, because ranges of columns
        are asked for one after another.
        """
        digest = blake2b(np.ascontiguousarray(R.T).tobytes(), digest_size=16).digest()
        with self._lock:
            known, future = self._side
            if known != digest or getattr(future, "status", "") in ("lost", "error", "cancelled"):
                future = self.share(R, R.nbytes)
                self._side = digest, future
        return future

    # -- verbs

    def _products(self, R, start, stop):
        """Pairs (slice of the columns start:stop, X_part' R)."""
        side, places = self._sides_of(R), list(self._inside(start, stop))
        self.passes += (stop - start) / self.p
        parts = self.gather(
            [
                self.submit(i, _correlate, self.shards[i], side, left, right)
                for i, left, right, _ in places
            ]
        )
        return [
            (slice(first + left - start, first + right - start), part)
            for (_, left, right, first), part in zip(places, parts, strict=True)
        ]

    @right_hand_sides
    def correlate(self, R, start=0, stop=None):
        """X[:, start:stop]' R: (stop - start, m) for R (n, m), (stop - start,) for R (n,). R goes
        to every worker, the product comes back.
        """
        if (
            self._made
            and (start, stop) == (0, self.p)
            and (out := self._made_before(R)) is not None
        ):
            return out
        out = np.empty((max(stop - start, 0), R.shape[1]))
        if out.size:
            for place, part in self._products(R, start, stop):
                out[place] = part
        return out

    def correlate_into(self, A, out, start=0):
        """out (m, q) = A X[:, start:start + q] for A (m, n): `correlate` transposed, into rows of a
        larger array.
        """
        for place, part in (
            self._products(np.asarray(A, dtype=np.float64).T, start, start + out.shape[1])
            if out.size
            else ()
        ):
            out[:, place] = part.T

    def _runs(self, J, order):
        """All positions at once: each shard sends its own."""
        if len(order):
            yield np.array(order)

    def _fetch(self, J, places, out):
        """out[:, places] = the columns J, ascending, as they are stored."""
        owner = np.searchsorted(self.cuts, J, side="right") - 1
        groups = [(int(i), np.flatnonzero(owner == i)) for i in np.unique(owner)]
        parts = self.gather(
            [
                self.submit(i, _columns, self.shards[i], J[at] - self.cuts[i], self.source.dtype)
                for i, at in groups
            ]
        )
        for (_, at), part in zip(groups, parts, strict=True):
            out[:, places[at]] = part

    def moments(self, weights, center):
        """Weighted mean and second moment about it, each (p,), as `Dense.moments`; products that
        were foreseen are made in the same pass.
        """
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        ahead, self._awaited = (np.column_stack(self._awaited) if self._awaited else None), []
        sides = self.share(
            (weights, ahead), weights.nbytes * (1 + (0 if ahead is None else ahead.shape[1]))
        )
        parts = self.gather(
            [
                self.submit(i, _moments, shard, sides, bool(center))
                for i, shard in enumerate(self.shards)
            ]
        )
        self.passes += 1
        if ahead is not None:
            self._keep_made(ahead, np.hstack([part[2] for part in parts]))
        return np.concatenate([part[0] for part in parts]), np.concatenate(
            [part[1] for part in parts]
        )

    def nonfinite(self):
        """Number of NaN and infinite entries per column, (p,)."""
        self.passes += 1
        return np.concatenate(
            self.gather([self.submit(i, _nonfinite, shard) for i, shard in enumerate(self.shards)])
        )

    def take_rows(self, rows):
        """Dense design of some rows (distinct, ascending), a float64 copy here."""
        rows = np.asarray(rows, dtype=np.intp)
        self.passes += 1
        return Dense(
            np.asfortranarray(
                np.hstack(
                    self.gather(
                        [self.submit(i, _rows, shard, rows) for i, shard in enumerate(self.shards)]
                    )
                )
            )
        )


def _checked(shards):
    if isinstance(shards, bool) or not isinstance(shards, (int, np.integer)) or shards < 1:
        raise ValueError(
            f"shards={shards!r} must be a whole number >= 1, or None for {SHARDS} for each thread "
            "of the cluster"
        )
    return int(shards)


def _cuts(p, number, across):
    """First columns of `number` shards of about equal width, followed by p. They are multiples of
    `across`, the width of a chunk, where chunks are narrower than shards.
    """
    cuts = np.linspace(0, p, number + 1).round().astype(int)
    if 1 < across <= p // number:
        cuts[1:-1] = (cuts[1:-1] + across // 2) // across * across
    return np.unique(cuts).tolist()


def _nbytes(part):
    """Bytes of the arrays in a result."""
    return (
        sum(map(_nbytes, part)) if isinstance(part, (tuple, list)) else getattr(part, "nbytes", 0)
    )


@sizeof.register(Dense)
@sizeof.register(Packed)
def _size_of_shard(shard):
    """Bytes that the cluster counts for a shard."""
    return (shard.X if isinstance(shard, Dense) else shard.packed).nbytes


# -- what runs on the workers, one thread a task


def _only(value):
    return value


def _same(*arrays):
    return arrays


def _read(whole, start, stop):
    source = pickle.loads(whole)
    return source.read(slice(0, source.n), start, stop)


def _block(part):
    return Dense(np.require(part, requirements=["F", "W"]), 0)


def _correlate(shard, R, start, stop):
    with pool.limited(1):
        return (
            shard.correlate(R) if (start, stop) == (0, shard.p) else shard.correlate(R, start, stop)
        )


def _columns(shard, J, dtype):
    return shard.columns(J).astype(dtype, copy=False)


def _moments(shard, sides, center):
    weights, ahead = sides
    with pool.limited(1), np.errstate(over="ignore", invalid="ignore"):
        return *shard.moments(weights, center), None if ahead is None else np.ascontiguousarray(
            shard.correlate(ahead).T
        )


def _nonfinite(shard):
    return shard.nonfinite()


def _rows(shard, rows):
    out, step = np.empty((rows.size, shard.p), order="F"), max(1, STRIP // shard.n)
    for start in range(0, shard.p, step):
        J = np.arange(start, min(start + step, shard.p))
        out[:, J] = shard.columns(J)[rows]
    return out
