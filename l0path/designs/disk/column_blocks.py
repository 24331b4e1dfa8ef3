"""A matrix that does not fit in memory as a design: read block by block into a few buffers, every
block a small design of its own, with sums in float64.

`opening.blocks` makes it. A pass over X gives each block to all right-hand sides; sources whose
blocks threads may read side by side are read so, others are read ahead by one thread. A column's
blocks always come in the order of their rows, one at a time, so results do not depend on the number
of threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np

from l0path.core import threads as pool
from l0path.designs.checks import checked_columns, right_hand_sides
from l0path.designs.dense import Dense, dot_by_copies
from l0path.designs.disk.sources import bytes_of_chunks, shape_of
from l0path.designs.protocol import DesignTraits

OWN = 1 << 20  # bytes of a block that one thread reads and uses while it is in its cache
BROAD = 64  # columns of a block of long ones, so that products are worth their overhead
AHEAD = 32  # blocks ahead of which the system is told
RUN = 32  # blocks that a thread takes at a time at most
# bytes that are rather read than skipped between two columns that are asked for
LARGEST_GAP = 1 << 16
GRAM = 0.6  # share of the budget for Gram rows over all columns


class ColumnBlocks:
    """Design over a source (see `sources`), with at most `memory_limit` bytes of X in memory.

    Its methods are those of `Dense`. It is made by `opening.blocks`.

    Attributes
    ----------
    passes : float
        How often all of X was read so far (a part of its columns counts as that part).
    """

    traits = DesignTraits(
        memory_limit=True, gram_rows=True, prefetch=True, in_place=True, row_subsets=True
    )

    def __init__(self, source: Any, memory_limit: int = 1 << 30) -> None:
        self.source, self.memory_limit = source, int(memory_limit)
        self.n, self.p, self.names = source.n, source.p, source.names
        self.passes = 0.0
        self._awaited, self._made = (
            [],
            {},
        )  # right-hand sides that will be asked for; their products
        self._start()

    def _start(self):
        self._kept, self._held, self._lock = OrderedDict(), 0, threading.Lock()

    def __getstate__(self):
        return {
            **{
                name: value
                for name, value in self.__dict__.items()
                if name not in ("_kept", "_held", "_lock")
            },
            "_awaited": [],
            "_made": {},
        }

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._start()

    def __repr__(self):
        limit = f"memory_limit={self.memory_limit / 1e6:.0f} MB"
        return f"ColumnBlocks(n={self.n}, p={self.p}, source={self.source!r}, {limit})"

    @property
    def nbytes(self) -> int:
        """Bytes that X takes where it is stored."""
        return self.source.nbytes

    @property
    def entries(self) -> int:
        """Numbers that a float64 copy of X would hold."""
        return self.n * self.p

    @property
    def gram_rows(self) -> int:
        """Number of Gram rows (p float64 each) that fit into their share of the budget."""
        left = self.memory_limit - self.memory_limit // 8 - bytes_of_chunks(self.source)
        return max(1, int(min(GRAM * self.memory_limit, left) / (8 * self.p)))

    # -- passes

    def _shape(self, width, memory):
        """(height, width) of blocks of a range of `width` columns that take about `memory`
        bytes.
        """
        if self.source.parallel:
            column = self.source.nbytes / self.p
            return (
                (self.n, min(max(int(memory // column), 1), width))
                if column <= memory
                else (max(int(self.n * memory // column), 1), 1)
            )
        return shape_of(self.source, width, memory // self.source.dtype.itemsize)

    def _cuts(self, start, stop, width):
        """Column numbers from start to stop, at multiples of width."""
        return (
            [start, *range((start // width + 1) * width, stop, width), stop]
            if stop > start
            else [start]
        )

    def _rows(self, height):
        return [slice(top, min(top + height, self.n)) for top in range(0, self.n, height)]

    def _pass(self, task, start, stop):
        """task(rows, left, right, block) for blocks that cover the columns start:stop, each
        column's from the top down; tasks run side by side for different columns.
        """
        if stop <= start:
            return
        self.passes += (stop - start) / self.p
        with pool.one_blas_thread():
            (self._side_by_side if self.source.parallel else self._read_ahead)(task, start, stop)

    def _side_by_side(self, task, start, stop):
        most, column = self.memory_limit // (8 * pool.count()), self.source.nbytes // self.p
        height, width = self._shape(stop - start, min(max(OWN, BROAD * column), most))
        buffers, size = [], int(np.ceil(height * width / self.n * column)) + width

        def part(first, last):
            buffer = buffers.pop() if buffers else np.empty(size, dtype=np.uint8)
            self.source.ahead(min(first + AHEAD * width, stop), min(last + AHEAD * width, stop))
            with pool.limited(1):
                for left, right in pairwise(self._cuts(first, last, width)):
                    for rows in self._rows(height):
                        task(rows, left, right, self.source.read(rows, left, right, buffer))
            buffers.append(buffer)

        pool.run(
            part,
            self._cuts(
                start, stop, max(min(RUN, (stop - start) // (8 * pool.count() * width)), 1) * width
            ),
        )

    def _read_ahead(self, task, start, stop):
        height, width = self._shape(stop - start, self.memory_limit // 16)
        places = [
            (rows, left, right)
            for left, right in pairwise(self._cuts(start, stop, width))
            for rows in self._rows(height)
        ]
        with ThreadPoolExecutor(1, thread_name_prefix="l0path read") as reader:
            coming = reader.submit(self.source.read, *places[0])
            for i, (rows, left, right) in enumerate(places):
                block = coming.result().X
                coming = (
                    reader.submit(self.source.read, *places[i + 1]) if i + 1 < len(places) else None
                )

                def part(first, last, rows=rows, left=left, block=block):
                    with pool.limited(1):
                        task(rows, first, last, Dense(block[:, first - left : last - left], 0))

                pool.run(
                    part,
                    [
                        *range(
                            left, right, max(1, min((1 << 18) // block.shape[0] + 1, stop - start))
                        ),
                        right,
                    ],
                )

    def _sides(self, R):
        """side(rows): the right-hand sides R (n, m) as a block of these rows takes them."""
        R = np.asfortranarray(R)
        return lambda rows: R if rows.stop - rows.start == self.n else R[rows]

    # -- verbs

    def foresee(self, R: np.ndarray) -> None:
        """Announce right-hand sides R (n, m): the next `moments` computes their products in the
        same read of X, and `correlate` then returns these.
        """
        self._awaited += [np.array(r, dtype=np.float64) for r in np.asarray(R).T]

    def _made_before(self, R):
        """X'R from what was foreseen, (p, m), or None; each is handed out once."""
        keys = [_key(r) for r in R.T]
        with self._lock:
            if not all(key in self._made for key in keys):
                return None
            return np.column_stack([self._made.pop(key) for key in keys])

    def _keep_made(self, R, products):
        """Keep products (m, p) of R (n, m) until they are asked for."""
        with self._lock:
            self._made = {_key(r): product for r, product in zip(R.T, products, strict=True)}

    @right_hand_sides
    def correlate(self, R: np.ndarray, start: int = 0, stop: int | None = None) -> np.ndarray:
        """X[:, start:stop]' R: (stop - start, m) for R (n, m), (stop - start,) for R (n,). One read
        of X for all m.
        """
        if (
            self._made
            and (start, stop) == (0, self.p)
            and (out := self._made_before(R)) is not None
        ):
            return out
        out, side = np.zeros((stop - start, R.shape[1])), self._sides(R)

        def task(rows, first, last, block):
            out[first - start : last - start] += block.correlate(side(rows))

        self._pass(task, start, stop)
        return out

    def correlate_into(self, A: np.ndarray, out: np.ndarray, start: int = 0) -> None:
        """out (m, q) = A X[:, start:start + q] for A (m, n): `correlate` transposed, straight into
        rows of a larger array.
        """
        side = self._sides(A.T)

        def task(rows, first, last, block):
            if rows.start:
                out[:, first - start : last - start] += block.correlate(side(rows)).T
            else:
                out[:, first - start : last - start] = block.correlate(side(rows)).T

        self._pass(task, start, start + out.shape[1])

    def columns(self, J: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """X[:, J] as a float64 copy (n, len(J)) in Fortran order; `out` of this kind is filled, if
        given. Columns asked for lately are kept, as many as an eighth of the budget holds.
        """
        J = checked_columns(J, self.p)
        out = np.empty((self.n, J.size), order="F") if out is None else out
        most, missing = self.memory_limit // 8, []
        with self._lock:
            for k, j in enumerate(J.tolist()):
                if j in self._kept:
                    self._kept.move_to_end(j)
                    out[:, k] = self._kept[j]
                else:
                    missing.append(k)
        missing = (
            np.array(missing, dtype=np.intp)[np.argsort(J[missing], kind="stable")]
            if missing
            else np.empty(0, dtype=np.intp)
        )
        for run in self._runs(J, missing):
            self._fetch(J[run], run, out)
        with self._lock:
            for k in missing[::-1]:
                column = out[:, k].astype(self.source.dtype)
                if int(J[k]) not in self._kept and column.nbytes <= most:
                    self._kept[int(J[k])] = column
                    self._held += column.nbytes
            while self._held > most:
                self._held -= self._kept.popitem(last=False)[1].nbytes
        return out

    def _runs(self, J, order):
        """The positions `order`, ascending by column, in groups that are read together: in one
        chunk, or with little between them.
        """
        across = self.source.chunk[1]
        near = max(LARGEST_GAP * self.p // max(self.source.nbytes, 1), 1)
        most = max(self.memory_limit // 16 // (8 * self.n), across if self.source.decoded else 1)
        run = []
        for k in order:
            if run and (
                J[k] - J[run[0]] >= most
                or (J[k] - J[run[-1]] > near and J[k] // across != J[run[-1]] // across)
            ):
                yield np.array(run)
                run = []
            run.append(k)
        if run:
            yield np.array(run)

    def _fetch(self, J, places, out):
        """out[:, places] = the columns J, ascending, read from the first to the last of them."""
        left, right = int(J[0]), int(J[-1]) + 1
        for rows in self._rows(self._shape(right - left, self.memory_limit // 16)[0]):
            block = self.source.read(rows, left, right)
            out[rows, places] = block.columns(J - left)

    def dot(self, J: np.ndarray, b: np.ndarray) -> np.ndarray:
        """X[:, J] b: (n,) for b (len(J),), (n, m) for b (len(J), m)."""
        return dot_by_copies(self, J, b, min(self.memory_limit // 16, 1 << 23) // 8)

    def moments(self, weights: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean and second moment about it, each (p,), as `Dense.moments`; blocks one above
        the other are merged as there. Announced products are made in the same read.
        """
        weights = np.asarray(weights, dtype=np.float64)
        ahead, self._awaited = (np.column_stack(self._awaited) if self._awaited else None), []
        side = None if ahead is None else self._sides(ahead)
        products = None if ahead is None else np.zeros((ahead.shape[1], self.p))
        pivot, mean, second = np.zeros((3, self.p))

        def task(rows, start, stop, block):
            with np.errstate(over="ignore", invalid="ignore"):  # threads do not inherit it
                cols, w = slice(start, stop), weights[rows]
                if products is not None:
                    products[:, cols] += block.correlate(side(rows)).T
                if rows.stop - rows.start == self.n:
                    pivot[cols], second[cols] = block.moments(w, center)
                    return
                total = w.sum()
                if total == 0:
                    return
                middle, spread = block.moments(w / total, center)
                mass = weights[: rows.start].sum() if rows.start else 0.0
                if mass == 0:
                    pivot[cols] = middle
                step = middle - pivot[cols] - mean[cols]
                second[cols] += total * spread + step**2 * (mass * total / (mass + total))
                mean[cols] += step * (total / (mass + total))

        self._pass(task, 0, self.p)
        mean += pivot
        if products is not None:
            self._keep_made(ahead, products)
        return mean, second

    def nonfinite(self) -> np.ndarray:
        """Number of NaN and infinite entries per column, (p,)."""
        count = np.zeros(self.p, dtype=np.int64)
        if self.source.dtype.kind != "f":
            return count

        def task(rows, start, stop, block):
            count[start:stop] += block.nonfinite()

        self._pass(task, 0, self.p)
        return count

    def take_rows(self, rows: np.ndarray) -> Dense:
        """Dense design of some rows (distinct, ascending), a float64 copy."""
        taken = np.asarray(rows, dtype=np.intp)
        out = np.empty((taken.size, self.p), order="F")

        def task(here, start, stop, block):
            inside = slice(*np.searchsorted(taken, [here.start, here.stop]))
            out[inside, start:stop] = block.columns(np.arange(stop - start))[
                taken[inside] - here.start
            ]

        self._pass(task, 0, self.p)
        return Dense(out)


def _key(r):
    """Digest of a right-hand side; -0.0 counts as 0.0."""
    return blake2b((np.asarray(r, dtype=np.float64) + 0.0).tobytes(), digest_size=16).digest()
