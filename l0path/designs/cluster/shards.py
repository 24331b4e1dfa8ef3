"""A design whose columns are held by the workers of a Dask cluster: right-hand sides travel to
them, products come back.

Everything a worker holds is the result of a task that the scheduler can run again: a shard is read
from its source, what was sent is kept in the task that sends it. So a worker that dies takes
nothing with it: the scheduler reads its shards anew on the others, and only what they had computed
and not yet sent is computed again. A shard is bound to a worker only while it is read for the first
time, which spreads the shards evenly. Afterwards its tasks go where the shard is, because it is the
largest of their arguments, and no task is bound to an address: a bound one would wait for ever once
all workers were gone for a moment, since new workers come with new addresses.
"""

import asyncio
import concurrent.futures
import pickle
import time
from collections import Counter
from concurrent.futures import CancelledError
from contextlib import contextmanager
from hashlib import blake2b
from itertools import pairwise, starmap

import dask
import distributed
import numpy as np
from dask.sizeof import sizeof
from distributed.comm import CommClosedError

from l0path.core import threads as pool
from l0path.core.arguments import is_whole
from l0path.core.control import ClusterError
from l0path.designs.checks import right_hand_sides
from l0path.designs.dense import Dense
from l0path.designs.disk.bed import BedSource, Packed
from l0path.designs.disk.column_blocks import ColumnBlocks
from l0path.designs.disk.sources import ArraySource

# shards for each thread of the cluster: those of a worker that dies are shared by the others
SHARDS = 2
STRIP = 1 << 20  # entries made at a time on a worker
SMALL = 1 << 18  # bytes that rather travel with each task than take a round trip of their own
SHARE = 0.2  # of the memory of the workers, for Gram rows
FILLED = 0.8  # of the memory of a worker; with more in use Dask starts no tasks on it
PROCESS = 220_000_000  # bytes of a worker process that has loaded Dask, numba and this package
STALL = 60.0  # seconds without progress after which a cluster is given up
TICK = 1.0  # seconds between two looks at the state of the cluster
ACTIVE = ("executing", "long-running", "flight")  # tasks that run, or whose data is on its way


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
        self.client = client
        workers = self._threads()
        if not workers:
            raise ValueError(
                f"client={client!r} has no workers; start some, or wait for them: "
                "client.wait_for_workers(1)"
            )
        number = SHARDS * sum(workers.values()) if shards is None else _checked(shards)
        self.cuts = _cuts(self.p, min(number, self.p), source.chunk[1])
        places = sorted(workers)
        self.homes = [places[i % len(places)] for i in range(len(self.cuts) - 1)]
        self._refuse_too_large(workers)
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
        memory = [worker["memory_limit"] for worker in self._workers().values()]
        return max(1, int(SHARE * sum(memory) / (8 * self.p))) if memory and all(memory) else self.p

    def _workers(self):
        """What the scheduler knows of each worker, by address."""
        with self._own_words():
            return self.client.scheduler_info(n_workers=-1)["workers"]

    def _threads(self):
        """Number of threads of each worker, by address."""
        with self._own_words():
            return self.client.nthreads()

    def _refuse_too_large(self, threads):
        """Raise MemoryError where the shards of a worker, and the room to work on them, exceed the
        memory at which Dask starts no more tasks on it.

        The room is the larger of what reading takes (a copy of a shard for each thread) and of the
        worker's share of Gram rows.
        """
        packed = isinstance(self.source, BedSource)
        column = self.source.width if packed else self.n * self.source.dtype.itemsize
        sizes = [int((stop - start) * column) for start, stop in pairwise(self.cuts)]
        for address, worker in sorted(self._workers().items()):
            limit = worker["memory_limit"]
            mine = [size for home, size in zip(self.homes, sizes, strict=True) if home == address]
            if not limit or not mine:
                continue
            used = max(PROCESS, worker["metrics"].get("memory", 0))
            room = int(max(max(mine) * min(threads[address], len(mine)), SHARE * limit))
            need = used + sum(mine) + room
            if need > FILLED * limit:
                raise MemoryError(
                    f"worker {address} has memory_limit {_size(limit)}, of which Dask fills "
                    f"{FILLED:.0%} before it stops, and needs {_size(need)}: {_size(sum(mine))} "
                    f"for {len(mine)} shards of X ({self.n} x {self.p}, {_size(sum(sizes))}), "
                    f"{_size(room)} to read and to work on them, {_size(used)} for the process; "
                    "start more workers, raise memory_limit, or read X from disk: blocks(source) "
                    "without client="
                )

    # -- tasks

    def submit(self, function, *arguments, **options):
        """Future of function(*arguments); arguments that are futures are their results on the
        worker. A task goes where the largest of these is.
        """
        with (
            self._own_words(),
            dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}),
        ):  # large arguments are meant: the task that holds them can be run again
            return self.client.submit(function, *arguments, pure=False, **options)

    def send(self, i, *arrays):
        """Future of a tuple of arrays on the worker of shard i."""
        self.sent += sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))
        return self.submit(_beside, self.shards[i], *arrays)

    def share(self, value, nbytes):
        """One value for all shards, which they are given as an argument: itself if it is small,
        else a future, which workers pass on to each other.
        """
        if nbytes < SMALL:
            self.sent += nbytes * len(self.homes)
            return value
        self.sent += nbytes * len(set(self.homes))
        return self.submit(_only, value)

    def gather(self, futures):
        """The results of futures."""
        client, watch = self.client, _Watch(self)
        self.wait(futures)
        with self._own_words():
            # in pieces of time: a worker that dies now has its results made again
            job = asyncio.run_coroutine_threadsafe(
                client.gather(futures, asynchronous=True), client.loop.asyncio_loop
            )
            try:
                while not job.done():
                    concurrent.futures.wait([job], timeout=TICK)
                    if not job.done():
                        watch.check(futures)
                out = job.result()
            finally:
                job.cancel()
        self.received += sum(_nbytes(part) for part in out)
        return out

    def wait(self, futures, lost=None):
        """The futures once they are done; the first error is raised here.

        lost(workers) is called where some of them cannot run although there are workers; it may
        replace futures in the list.
        """
        watch = _Watch(self)
        with self._own_words():
            while True:
                try:
                    distributed.wait(list(futures), timeout=TICK)
                    break
                except TimeoutError:
                    workers = watch.check(futures)
                if lost is not None and workers:
                    lost(sorted(workers))
            for future in futures:
                if future.status == "error":
                    future.result()
        return futures

    @contextmanager
    def _own_words(self):
        """What Dask raises where workers or the scheduler are lost, as a `ClusterError`."""
        again = "connect a new distributed.Client and make X again with blocks(source, client=)"
        try:
            yield
        except distributed.scheduler.KilledWorker as error:
            raise ClusterError(
                f"workers died {error.allowed_failures + 1} times while they ran the task "
                f"{_what(error.task)}, the last one {error.last_worker.address}; most often they "
                "ran out of memory: see their logs, start more workers or raise their "
                "memory_limit, then make X again with blocks(source, client=)"
            ) from error
        except (CancelledError, CommClosedError) as error:
            raise ClusterError(
                f"the scheduler{self._scheduler()} was lost or restarted, and with it the shards "
                f"of X; {again}"
            ) from error
        except Exception as error:
            if isinstance(error, ClusterError) or self.client.status == "running":
                raise
            raise ClusterError(
                f"the client has no connection to the scheduler{self._scheduler()} (it is "
                f"{self.client.status}); {again}"
            ) from error

    def _scheduler(self):
        address = getattr(self.client.scheduler, "address", "")  # a closed client has none
        return f" {address}" if address else ""

    def _load(self):
        """Futures of the shards, each a small design in the memory of a worker; back when they are
        there. What a task needs must be held here until it ran, or the scheduler forgets it.
        """
        source, spans = self.source, list(pairwise(self.cuts))
        if not isinstance(source, ArraySource) or source.what == "Zarr array":
            # bytes, so that the scheduler does not open the file
            whole = pickle.dumps(source)
            whole = self.share(whole, len(whole))
            tasks = [(_read, whole, start, stop) for start, stop in spans]
        else:
            parts = [source.array[:, start:stop] for start, stop in spans]
            if source.what == "Dask array":
                with self._own_words():
                    parts = self.client.compute(parts)
            else:
                parts = [np.asarray(part) for part in parts]
            tasks = [(_block, part) for part in parts]

        def begun(i):
            home = {"workers": [self.homes[i]], "allow_other_workers": True}
            return self.submit(*tasks[i], retries=2, **home)

        def lost(workers):
            """Begin again what waits for a worker that is gone."""
            states = self._states(shards)
            for i, shard in enumerate(shards):
                if states.get(shard.key) == "no-worker":
                    self.homes[i] = workers[i % len(workers)]
                    shards[i] = begun(i)

        shards = [begun(i) for i in range(len(tasks))]
        self.wait(shards, lost)
        self._ask("set_restrictions", worker={shard.key: () for shard in shards})
        return shards

    def _states(self, futures):
        """The scheduler's state of the task of each future, by key."""
        return self._ask("get_task_status", keys=[future.key for future in futures])

    def _ask(self, question, **arguments):
        """The scheduler's answer to one of its own calls."""
        with self._own_words():
            return self.client.sync(getattr(self.client.scheduler, question), **arguments)

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
                self.submit(_correlate, self.shards[i], side, left, right)
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
                self.submit(_columns, self.shards[i], J[at] - self.cuts[i], self.source.dtype)
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
                self.submit(_moments, shard, sides, bool(center))
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
            self.gather([self.submit(_nonfinite, shard) for i, shard in enumerate(self.shards)])
        )

    def take_rows(self, rows):
        """Dense design of some rows (distinct, ascending), a float64 copy here."""
        rows = np.asarray(rows, dtype=np.intp)
        self.passes += 1
        return Dense(
            np.asfortranarray(
                np.hstack(
                    self.gather(
                        [self.submit(_rows, shard, rows) for i, shard in enumerate(self.shards)]
                    )
                )
            )
        )


def _checked(shards):
    if not is_whole(shards) or shards < 1:
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


class _Watch:
    """Looks at a cluster whose tasks are waited for, and gives it up after `STALL` seconds without
    progress: no task has ended, none is running or on its way on a worker that is heard of.

    A task may take as long as it likes, because workers are heard of all the while.
    """

    def __init__(self, design):
        self.design, self.last, self.left, self.heard = design, time.monotonic(), None, {}

    def check(self, futures):
        """The workers that take tasks, by address; ClusterError after too long a time without
        progress.
        """
        left = [future for future in futures if future.status not in ("finished", "error")]
        workers = self.design._workers()
        heard = {address: worker["last_seen"] for address, worker in workers.items()}
        busy = [
            address
            for address, worker in workers.items()
            if heard[address] != self.heard.get(address)
            and any(map(worker["metrics"].get("task_counts", {}).get, ACTIVE))
        ]
        now = time.monotonic()
        if not left or busy or (self.left is not None and len(left) < self.left):
            self.last = now
        self.heard, self.left = heard, len(left)
        if now - self.last > STALL:
            raise ClusterError(self._story(left, workers, now - self.last))
        return {a: w for a, w in workers.items() if w.get("status", "running") == "running"}

    def _story(self, left, workers, seconds):
        states = self.design._states(left)
        kinds = Counter(f"{_what(f.key)} ({states.get(f.key)})" for f in left)
        tasks = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
        return (
            f"the cluster made no progress for {seconds:.0f} s. Tasks that wait: {tasks}. Workers: "
            + ("; ".join(starmap(_worker, sorted(workers.items()))) or "none")
            + ". Start workers, or end what fills their memory (a paused worker takes no tasks "
            "until it has memory again), then run it again with the same X: shards that were lost "
            "are read again"
        )


def _what(key):
    """The task of a key in words."""
    name = str(key).rsplit("-", 5)[0].strip("_") if isinstance(key, str) else str(key)
    return name.replace("_", " ")


def _worker(address, worker):
    """One line on a worker."""
    used, limit = worker["metrics"].get("memory", 0), worker["memory_limit"]
    of = f" of {_size(limit)}" if limit else ""
    silent = time.time() - worker["last_seen"]
    heard = f", not heard of for {silent:.0f} s" if silent > STALL / 2 else ""
    return f"{address} is {worker.get('status', 'running')}, {_size(used)}{of} in use{heard}"


def _size(nbytes):
    return f"{nbytes / 1e9:.2f} GB" if nbytes >= 1e9 else f"{nbytes / 1e6:.0f} MB"


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


def _beside(shard, *arrays):
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
