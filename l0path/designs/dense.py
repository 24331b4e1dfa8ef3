"""A NumPy matrix as a design: read in place by BLAS when it is float64, else cast tile by tile, so
that no copy or cast of the whole matrix is ever made.
"""

from __future__ import annotations

import numpy as np

from l0path.core import threads as pool
from l0path.designs import kernels
from l0path.designs.checks import right_hand_sides
from l0path.designs.protocol import DesignTraits

# entries of a tile cast before a product: 2 MB as float64, which stays in cache, far below the 64
# MB allowed
TILE = 1 << 18
CACHED = 1 << 16  # entries of a tile that two passes read from cache
COPIED_ROWS = 512  # of neighboring columns that are copied at a time: the cache holds them
SMALL_MATRIX = 1 << 14  # entries up to which a matrix is read on the calling thread
COMPILED = 1 << 21  # entries from which on kernels are worth their compilation
OWN_ENTRIES = 1 << 18  # entries that a kernel is given at a time at least
TASKS = 32  # of a pass for each thread at most: a task has its cost
SIDE = 1024  # entries of a tile along the direction in which memory is contiguous


def tiles(X, start, stop, size):
    """Rectangles (rows, columns) of at most about `size` entries that cover X[:, start:stop], long
    in the direction in which memory is contiguous.
    """
    n, width = X.shape[0], stop - start
    by_column = abs(X.strides[0]) <= abs(X.strides[1])
    if by_column:
        height = max(1, min(n, max(SIDE, size // max(width, 1))))
        across = max(1, size // height)
    else:
        across = max(1, min(width, max(SIDE, size // max(n, 1)), size))
        height = max(1, size // across)
    for first in range(start, stop, across):
        for top in range(0, n, height):
            yield slice(top, min(top + height, n)), slice(first, min(first + across, stop))


def dot_by_copies(design, J, b, entries):
    """X[:, J] b of a design, for b (len(J),) or (len(J), m): copies of columns, of so many entries
    at a time, times their coefficients.
    """
    J, b = np.asarray(J, dtype=np.intp), np.asarray(b, dtype=np.float64)
    out, width = np.zeros((design.n, *b.shape[1:])), max(1, entries // max(design.n, 1))
    for start in range(0, J.size, width):
        out += design.columns(J[start : start + width]) @ b[start : start + width]
    return out


def _readable_by_blas(X):
    """Whether BLAS can read X (n, p) where it lies: float64, aligned, unit stride in one direction
    and no overlap in the other.
    """
    if X.dtype != np.float64 or not X.flags.aligned:
        return False
    (down, across), (n, p) = X.strides, X.shape
    return (across == 8 and down >= 8 * p and down % 8 == 0) or (
        down == 8 and across >= 8 * n and across % 8 == 0
    )


def _product(A, R):
    """A R for A (q, n), R (n, m): C order (q, m). One or two right-hand sides go one by one,
    because matrix-vector products are then faster.
    """
    if R.shape[1] > 2:
        return np.matmul(A, R)
    out = np.empty((A.shape[0], R.shape[1]))
    for k in range(R.shape[1]):
        out[:, k] = A @ np.ascontiguousarray(R[:, k])
    return out


def _readable_by_kernels(X):
    """Whether kernels can read X: float32 or float64, as a whole one column, or one row, after
    another.
    """
    return (
        X.dtype in (np.dtype(np.float32), np.dtype(np.float64))
        and X.dtype.isnative
        and X.flags.aligned
        and (X.flags.f_contiguous or X.flags.c_contiguous)
    )


class Dense:
    """Design over a two-dimensional array; its methods are what every design has.

    The array is never changed, copied or cast as a whole.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Of any order, any strides and any real dtype.
    compiled : int, default 2097152
        Entries from which on kernels multiply columns that lie one after another, and take the
        moments of columns or rows that do.
    """

    def __init__(self, X: np.ndarray, compiled: int = COMPILED) -> None:
        self.X = X
        self.n, self.p = X.shape
        self.in_place = _readable_by_blas(X)  # else tiles are cast before a product
        self.compiled = X.size >= compiled and _readable_by_kernels(X)
        self.by_column = self.compiled and X.flags.f_contiguous
        self.traits = DesignTraits(
            in_place=self.in_place or self.by_column,
            stored_columns=self.by_column,
            row_subsets=True,
        )

    def __repr__(self):
        return f"Dense(n={self.n}, p={self.p}, dtype={self.X.dtype})"

    @property
    def nbytes(self) -> int:
        """Bytes that X takes as it is stored."""
        return self.X.nbytes

    @property
    def entries(self) -> int:
        """Numbers that a float64 copy of X would hold."""
        return self.n * self.p

    def take_rows(self, rows: np.ndarray) -> Dense:
        """The design of some rows, a float64 copy in the order of X.

        Parameters
        ----------
        rows : ndarray of int
            Distinct indices, ascending.

        Returns
        -------
        Dense
            A design of these rows.
        """
        by_column = abs(self.X.strides[0]) <= abs(self.X.strides[1])
        part = self.X.T.take(rows, axis=1).T if by_column else self.X.take(rows, axis=0)
        return Dense(part.astype(np.float64, copy=False))

    def _blocks(self, start, stop, size):
        """Pairs of slices and the float64 tile they cut out; the tile may be overwritten at the
        next step.
        """
        scratch = None
        for rows, cols in tiles(self.X, start, stop, size):
            tile = self.X[rows, cols]
            if tile.dtype != np.float64 or not self.in_place:
                if scratch is None:
                    scratch = np.empty(tile.size)
                order = "F" if abs(tile.strides[0]) <= abs(tile.strides[1]) else "C"
                cast = scratch[: tile.size].reshape(tile.shape, order=order)
                np.copyto(cast, tile, casting="same_kind")
                tile = cast
            yield rows, cols, tile

    def _in_parts(self, part, start, stop):
        """part(left, right) for column ranges that cover start:stop, on our own threads, BLAS using
        one: same tiles, same sums for any number of threads.
        """
        if (stop - start) * self.n <= SMALL_MATRIX:
            return part(start, stop)
        width = min(max(TILE // self.n, 128), SIDE)
        with pool.one_blas_thread():
            pool.run(part, [*range(start, stop, width), stop])

    def _by_kernel(self, A, start, stop, out):
        """out (m, stop - start) = A X[:, start:stop], out in C order."""
        X, A = self.X.T, np.ascontiguousarray(A)
        pool.run(
            lambda first, last: kernels.products(X, A, first, last, start, out),
            [*range(start, stop, self._share(stop - start, 6)), stop],
        )

    def _share(self, width, unit):
        """Columns of a task of a kernel, a multiple of `unit`: how they are shared out never shows
        in a result.
        """
        return max(OWN_ENTRIES // self.n, width // (TASKS * pool.count()), unit) // unit * unit

    @right_hand_sides
    def correlate(self, R: np.ndarray, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Products X[:, start:stop]' R with all or some columns, one read of these columns.

        Parameters
        ----------
        R : ndarray of shape (n, m) or (n,)
            The vectors.
        start : int, default 0
            The first column.
        stop : int, optional
            The end of the range of columns. None means p.

        Returns
        -------
        ndarray of shape (stop - start, m) or (stop - start,)
            The products.
        """
        if self.by_column:
            out = np.empty((R.shape[1], stop - start))
            self._by_kernel(R.T, start, stop, out)
            return np.ascontiguousarray(out.T)
        if self.in_place:
            # ranges of columns on our own threads, not one threaded product: a busy neighbor then
            # delays one range, not every thread at every barrier
            width = max(256, -(-(stop - start) // (4 * pool.count())))
            if (stop - start) * self.n <= SMALL_MATRIX or stop - start <= width:
                return _product(self.X[:, start:stop].T, R)
            out = np.empty((stop - start, R.shape[1]))

            def direct(first, last):
                out[first - start : last - start] = _product(self.X[:, first:last].T, R)

            with pool.one_blas_thread():
                pool.run(direct, [*range(start, stop, width), stop])
            return out
        out = np.zeros((stop - start, R.shape[1]))

        def part(first, last):
            for rows, cols, tile in self._blocks(first, last, TILE):
                out[cols.start - start : cols.stop - start] += _product(tile.T, R[rows])

        self._in_parts(part, start, stop)
        return out

    def correlate_into(self, A: np.ndarray, out: np.ndarray, start: int = 0) -> None:
        """The products A X[:, start:start + q], straight into rows of a larger array.

        Parameters
        ----------
        A : ndarray of shape (m, n)
            The vectors, one a row.
        out : ndarray of shape (m, q)
            Where the products are written.
        start : int, default 0
            The first column.
        """
        stop = start + out.shape[1]
        if self.by_column and out.flags.c_contiguous:
            self._by_kernel(A, start, stop, out)
            return
        if not self.in_place:
            out[:] = self.correlate(A.T, start, stop).T
            return

        def direct(first, last):
            for rows in range(A.shape[0]) if A.shape[0] <= 2 else [slice(None)]:
                np.matmul(
                    A[rows], self.X[:, first:last], out=out[rows, first - start : last - start]
                )

        if (stop - start) * self.n <= SMALL_MATRIX:
            direct(start, stop)
            return
        with pool.one_blas_thread():
            pool.run(
                direct,
                [*range(start, stop, max(256, -(-(stop - start) // (4 * pool.count())))), stop],
            )

    def columns(self, J: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The columns X[:, J] as a float64 copy in Fortran order.

        Parameters
        ----------
        J : ndarray of int
            The columns.
        out : ndarray of shape (n, len(J)), optional
            An array of this kind that is filled. None makes one.

        Returns
        -------
        ndarray of shape (n, len(J))
            The copy.
        """
        J = np.asarray(J, dtype=np.intp)
        out = np.empty((self.n, J.size), order="F") if out is None else out
        if J.size > 1 and J[-1] - J[0] == J.size - 1 and J[0] >= 0 and (np.diff(J) == 1).all():
            for top in range(0, self.n, COPIED_ROWS):
                rows = slice(top, top + COPIED_ROWS)
                out[rows] = self.X[rows, J[0] : J[-1] + 1]
            return out
        if abs(self.X.strides[0]) <= abs(self.X.strides[1]):
            for k, j in enumerate(J):
                out[:, k] = self.X[:, j]
            return out
        height = max(1, CACHED // max(J.size, 1))
        for top in range(0, self.n, height):
            out[top : top + height] = self.X[top : top + height].take(J, axis=1)
        return out

    def dot(self, J: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The product X[:, J] b.

        Parameters
        ----------
        J : ndarray of int
            The columns.
        b : ndarray of shape (len(J),) or (len(J), m)
            The coefficients.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            The product.
        """
        return dot_by_copies(self, J, b, 4 * TILE)

    def moments(self, weights: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
        """The weighted mean of every column, and the second moment about it.

        Parameters
        ----------
        weights : ndarray of shape (n,)
            Weights >= 0 that sum to one. Rows of weight 0 take no part.
        center : bool
            Whether the second moment is about the mean. Else it is about 0, and 0 is returned as
            the mean.

        Returns
        -------
        (ndarray of shape (p,), ndarray of shape (p,))
            The means and the second moments.

        Notes
        -----
        Two passes are made over a cached tile. Tiles one above the other are merged as in Chan,
        Golub and LeVeque (1983), eq. 2.1, with means counted from the mean of the first tile, so
        that the merge loses nothing when they are large.
        """
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        if self.compiled:
            mean, second = self._moments_by_kernel(weights, bool(center))
            nonfinite = np.flatnonzero(~np.isfinite(second)) if not weights.all() else np.empty(0)
            if nonfinite.size:  # perhaps only in rows of weight 0, which take no part
                mean[nonfinite], second[nonfinite] = Dense(self.X[:, nonfinite], np.inf).moments(
                    weights, center
                )
            return mean, second
        pivot, mean, second, mass = np.zeros((4, self.p))
        positive = None if weights.all() else weights > 0

        def part(start, stop):
            with np.errstate(over="ignore", invalid="ignore"):  # threads do not inherit it
                measure(start, stop)

        def measure(start, stop):
            scratch = np.empty(0)
            for rows, cols, tile in self._blocks(start, stop, CACHED):
                w = weights[rows]
                if positive is not None:
                    tile, w = tile[positive[rows]], w[positive[rows]]
                total = w.sum()
                if total == 0:
                    continue
                if not center:
                    second[cols] += w @ (tile * tile)
                    continue
                middle = w @ tile / total
                if scratch.size < tile.size:
                    scratch = np.empty(tile.size)
                gap = scratch[: tile.size].reshape(
                    tile.shape, order="F" if abs(tile.strides[0]) <= abs(tile.strides[1]) else "C"
                )
                np.subtract(tile, middle, out=gap)
                shift = w @ gap / total  # what rounding left in `middle`
                gap *= gap
                if not mass[cols.start]:
                    pivot[cols] = middle
                before, step = mass[cols], middle - pivot[cols] + shift - mean[cols]
                second[cols] += (
                    w @ gap - total * shift**2 + step**2 * (before * total / (before + total))
                )
                mean[cols] += step * (total / (before + total))
                mass[cols] += total

        self._in_parts(part, 0, self.p)
        mean += pivot
        if center:
            self._flatten_constants(mean, second, weights)
        return mean, np.maximum(second, 0.0)

    def _moments_by_kernel(self, weights, center):
        X, kernel = (
            (self.X.T, kernels.moments_of_columns)
            if self.by_column
            else (self.X, kernels.moments_of_rows)
        )
        mean, second = np.empty((2, self.p))
        pool.run(
            lambda start, stop: kernel(X, weights, center, start, stop, mean, second),
            [*range(0, self.p, self._share(self.p, kernels.SIDE_BY_SIDE)), self.p],
        )
        if center and not self.by_column:
            self._flatten_constants(mean, second, weights)
        return mean, np.maximum(second, 0.0)

    def _flatten_constants(self, mean, second, weights):
        """Set second to exactly 0, and the mean to the value, where all entries of positive weight
        are equal; only columns at rounding level are looked at.
        """
        rows = np.flatnonzero(weights)
        for j in np.flatnonzero(second <= 1e-24 * mean**2):
            column = self.X[rows, j]
            if (column == column[0]).all():
                mean[j], second[j] = column[0], 0.0

    def nonfinite(self) -> np.ndarray:
        """The number of NaN and infinite entries of every column. A tile with a finite sum has
        none.

        Returns
        -------
        ndarray of shape (p,)
            The numbers.
        """
        count = np.zeros(self.p, dtype=np.int64)
        if self.X.dtype.kind != "f":
            return count
        with np.errstate(all="ignore"):
            for rows, cols in tiles(self.X, 0, self.p, TILE):
                tile = self.X[rows, cols]
                if not np.isfinite(tile.sum()):
                    count[cols] += np.count_nonzero(~np.isfinite(tile), axis=0)
        return count
