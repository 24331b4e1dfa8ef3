"""A sparse matrix in compressed column form as a design; only stored entries are read, and it is
never filled.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from l0path.core import threads as pool
from l0path.core.dispatch import njit
from l0path.designs.checks import checked_columns, right_hand_sides
from l0path.designs.protocol import DesignTraits

WORTH_THREADS = 200_000  # multiplications below which a product runs on the calling thread


@njit
def _correlate_one(data, indices, indptr, r, start, stop, out):
    """out[j - start] = x_j' r for start <= j < stop."""
    for j in range(start, stop):
        total = 0.0
        for t in range(indptr[j], indptr[j + 1]):
            total += data[t] * r[indices[t]]
        out[j - start] = total


@njit
def _correlate_many(data, indices, indptr, R, start, stop, out):
    """out[j - start, :] = x_j' R for start <= j < stop, R (n, m) in C order."""
    m = R.shape[1]
    for j in range(start, stop):
        row = out[j - start]
        for k in range(m):
            row[k] = 0.0
        for t in range(indptr[j], indptr[j + 1]):
            value, source = data[t], R[indices[t]]
            for k in range(m):
                row[k] += value * source[k]


@njit
def _accumulate(data, indices, indptr, J, B, out):
    """out += X[:, J] B for B (len(J), m), out (n, m)."""
    for c in range(J.size):
        j = J[c]
        for t in range(indptr[j], indptr[j + 1]):
            i = indices[t]
            for k in range(B.shape[1]):
                out[i, k] += data[t] * B[c, k]


@njit
def _fill(data, indices, indptr, J, out):
    """out[c, :] = x_J[c], for out (len(J), n) of zeros."""
    for c in range(J.size):
        j = J[c]
        for t in range(indptr[j], indptr[j + 1]):
            out[c, indices[t]] = data[t]


@njit
def _moments(data, indices, indptr, weights, center, mean, second):
    """Weighted mean (0 unless center) and second moment about it per column: stored entries
    centered one by one, the zeros by their weight.
    """
    rows, total = 0, 0.0
    for i in range(weights.size):
        total += weights[i]
        if weights[i] > 0.0:
            rows += 1
    for j in range(mean.size):
        stored, mass, middle = 0, 0.0, 0.0
        smallest, largest = np.inf, -np.inf
        for t in range(indptr[j], indptr[j + 1]):
            w, x = weights[indices[t]], data[t]
            if w > 0.0:
                stored += 1
                mass += w
                middle += w * x
                smallest, largest = min(smallest, x), max(largest, x)
        rest = max(total - mass, 0.0) if stored < rows else 0.0
        if stored < rows:
            smallest, largest = min(smallest, 0.0), max(largest, 0.0)
        middle = middle / total if center else 0.0
        if center and smallest == largest:
            mean[j], second[j] = smallest, 0.0
            continue
        square, shift = rest * middle * middle, -rest * middle
        for t in range(indptr[j], indptr[j + 1]):
            w = weights[indices[t]]
            if w > 0.0:
                gap = data[t] - middle
                square += w * gap * gap
                shift += w * gap
        if center:  # what rounding left in the mean
            shift /= total
            square = max(square - total * shift * shift, 0.0)
            middle += shift
        mean[j], second[j] = middle, square


class Csc:
    """Design over a SciPy sparse matrix (n, p) in compressed column form, without repeated entries;
    arrays are shared, data that are not float64 cast.
    """

    traits = DesignTraits(contents=True, row_subsets=True)

    def __init__(self, X: scipy.sparse.csc_array, threads: int | None = None) -> None:
        """`threads`: how many to use; None leaves it to `l0path.core.threads.count`. Results do
        not depend on it.
        """
        self.n, self.p = X.shape
        self.data = np.ascontiguousarray(X.data, dtype=np.float64)
        indices = np.ascontiguousarray(X.indices)
        self.indices = indices.view(
            f"u{indices.itemsize}"
        )  # unsigned: compiled code then need not ask whether an index counts from the end
        self.indptr = np.ascontiguousarray(X.indptr)
        self.threads = threads

    def __repr__(self):
        return f"Csc(n={self.n}, p={self.p}, stored={self.data.size})"

    @property
    def nbytes(self) -> int:
        """Bytes that X takes as it is stored."""
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes

    @property
    def entries(self) -> int:
        """Numbers that a copy of X would hold, indices counted."""
        return 2 * self.data.size

    def contents(self, J: np.ndarray) -> Iterator[bytes | None]:
        """Bytes that are equal where columns J are, one after the other; None for a constant
        column. Stored zeros count as zeros.
        """
        for j in J:
            data = self.data[self.indptr[j] : self.indptr[j + 1]]
            indices = self.indices[self.indptr[j] : self.indptr[j + 1]]
            if not data.all():
                data, indices = data[data != 0], indices[data != 0]
            constant = data.size == 0 or (data.size == self.n and (data == data[0]).all())
            yield None if constant else indices.tobytes() + data.tobytes()

    def take_rows(self, rows: np.ndarray) -> Csc:
        """Design of some rows (distinct, ascending), a copy of their stored entries."""
        place = np.full(self.n, -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        at = place[self.indices]
        held = at >= 0
        indptr = np.concatenate([[0], np.cumsum(held)])[self.indptr]
        return Csc(
            scipy.sparse.csc_array(
                (self.data[held], at[held].astype(np.int32), indptr), shape=(len(rows), self.p)
            ),
            self.threads,
        )

    def _bounds(self, start, stop, work):
        """Cuts of the columns start:stop into parts with about as many stored entries each; a
        single part when there is little work.
        """
        threads = pool.count() if self.threads is None else self.threads
        if threads == 1 or work < WORTH_THREADS:
            return [start, stop]
        marks = np.linspace(self.indptr[start], self.indptr[stop], 4 * threads + 1)[1:-1]
        cuts = np.clip(np.searchsorted(self.indptr, marks), start, stop)
        return [start, *np.unique(cuts).tolist(), stop]

    @right_hand_sides
    def correlate(self, R: np.ndarray, start: int = 0, stop: int | None = None) -> np.ndarray:
        """X[:, start:stop]' R: (stop - start, m) for R (n, m), (stop - start,) for R (n,). One read
        of X for all m.
        """
        R, out, one = np.ascontiguousarray(R), np.empty((stop - start, R.shape[1])), R.shape[1] == 1
        kernel, source, target = (
            (_correlate_one, R.reshape(-1), out.reshape(-1)) if one else (_correlate_many, R, out)
        )

        def part(first, last):
            kernel(
                self.data,
                self.indices,
                self.indptr,
                source,
                first,
                last,
                target[first - start : last - start],
            )

        work = int(self.indptr[stop] - self.indptr[start]) * (1 if one else R.shape[1])
        pool.run(part, self._bounds(start, stop, work), self.threads)
        return out

    def columns(self, J: np.ndarray) -> np.ndarray:
        """X[:, J] as a float64 copy (n, len(J)) in Fortran order; only these columns are filled."""
        J = checked_columns(J, self.p)
        out = np.zeros((J.size, self.n))
        _fill(self.data, self.indices, self.indptr, J, out)
        return out.T

    def dot(self, J: np.ndarray, b: np.ndarray) -> np.ndarray:
        """X[:, J] b: (n,) for b (len(J),), (n, m) for b (len(J), m)."""
        J, b = checked_columns(J, self.p), np.ascontiguousarray(b, dtype=np.float64)
        if b.shape[0] != J.size:
            raise ValueError(f"b has {b.shape[0]} rows but J has {J.size} columns")
        if b.ndim == 1:
            return self.dot(J, b[:, None])[:, 0]
        out = np.zeros((self.n, b.shape[1]))
        _accumulate(self.data, self.indices, self.indptr, J, b, out)
        return out

    def moments(self, weights: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean and second moment about it, each (p,), for weights (n,) that sum to one;
        the mean is 0 unless `center`.
        """
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        mean, second = np.empty(self.p), np.empty(self.p)

        def part(start, stop):
            _moments(
                self.data,
                self.indices,
                self.indptr[start : stop + 1],
                weights,
                bool(center),
                mean[start:stop],
                second[start:stop],
            )

        pool.run(part, self._bounds(0, self.p, 4 * self.data.size), self.threads)
        return mean, second

    def nonfinite(self) -> np.ndarray:
        """Number of NaN and infinite entries per column, (p,)."""
        with np.errstate(all="ignore"):
            if np.isfinite(self.data.sum()):
                return np.zeros(self.p, dtype=np.int64)
        bad = np.flatnonzero(~np.isfinite(self.data))
        return np.bincount(np.searchsorted(self.indptr, bad, side="right") - 1, minlength=self.p)
