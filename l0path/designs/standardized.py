"""Columns centered and scaled on the fly, over all rows or some of them, whatever design lies
below.
"""

from __future__ import annotations

import numpy as np

from l0path.core import threads as pool
from l0path.designs.dense import Dense

from ..core.types import Design
from .protocol import traits_of

# columns with |center| beyond this many scales are centered before a product: the short formula
# would lose 4 digits or more
FAR_FROM_ORIGIN = 1e4
BLOCK_ENTRIES = 1 << 20  # entries of a block of centered columns: 8 MB
SUM_ROUNDING = 1e-12  # share of the sum of |r_i| up to which the sum of r_i is rounding
READ = 1 << 22  # entries of X'R made at a time where they cannot be made in place: 32 MB


class Reordered:
    """The columns `places` of a design, for what predictions and refits ask of new rows: sums and
    copies of a few columns.
    """

    def __init__(self, design: Design, places: list[int]) -> None:
        self.design, self.places = design, np.asarray(places, dtype=np.intp)
        self.n, self.p = design.n, self.places.size

    def columns(self, J: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """X[:, J] as a float64 copy (n, len(J)) in Fortran order."""
        return self.design.columns(self.places[J], out)

    def dot(self, J: np.ndarray, b: np.ndarray) -> np.ndarray:
        """X[:, J] b: (n,) for b (len(J),), (n, m) for b (len(J), m)."""
        return self.design.dot(self.places[J], b)


class Standardized:
    """Design (X - 1 c') / s restricted to `rows`: c = center (p,), s = scale (p,), nonzero; rows a
    sorted index array, or None for all rows.

    Products use (X - 1c')'R = X'R - c (1'R), so X is neither copied nor, when sparse, filled. That
    difference loses log10(|c| / s) digits; columns with |c| > 1e4 s are therefore centered block by
    block before the product.
    """

    def __init__(
        self, design: Design, center: np.ndarray, scale: np.ndarray, rows: np.ndarray | None = None
    ) -> None:
        self.design, self.traits = design, traits_of(design)
        self.center = np.asarray(center, dtype=np.float64)
        self.scale = np.asarray(scale, dtype=np.float64)
        self.rows = None if rows is None else np.asarray(rows, dtype=np.intp)
        self.n, self.p = design.n if rows is None else self.rows.size, design.p
        self._far = np.abs(self.center) > FAR_FROM_ORIGIN * self.scale
        self._any_far = bool(self._far.any())

    def __repr__(self):
        return f"Standardized({self.design!r}, n={self.n})"

    def _scatter(self, R):
        """R (n, ...) placed in all rows of the design below, zeros elsewhere."""
        if R.shape[0] != self.n:
            raise ValueError(f"expected {self.n} rows, one per active row, got {R.shape[0]}")
        if self.rows is None:
            return R
        full = np.zeros((self.design.n, *R.shape[1:]))
        full[self.rows] = R
        return full

    def correlate(self, R: np.ndarray, start: int = 0, stop: int | None = None) -> np.ndarray:
        """((X - 1c')'R / s)[start:stop]: (stop - start, m) for R (n, m), (stop - start,) for R
        (n,).
        """
        R = np.asarray(R, dtype=np.float64)
        if R.ndim == 1:
            return self.correlate(R[:, None], start, stop)[:, 0]
        return self._correlate(R, start, self.p if stop is None else stop, self.design.correlate)

    def correlate_above(
        self, R: np.ndarray, least: np.ndarray, start: int, stop: int
    ) -> np.ndarray:
        """`correlate` for R (n, m) where entries of at most least (m,) in size do not matter: they
        may come out smaller. Products of columns are then left out by a bound, if R sums to zero or
        columns are not centered.
        """
        total, size = np.abs(R.sum(axis=0)), np.abs(R).sum(axis=0)
        if not self.traits.bounded_products or (
            self.center[start:stop].any() and (total > SUM_ROUNDING * size).any()
        ):
            return self.correlate(R, start, stop)
        return self._correlate(
            R,
            start,
            stop,
            lambda R, start, stop: self.design.correlate_above(R, least, self.scale, start, stop),
        )

    def _correlate(self, R, start, stop, products):
        """`correlate`, X'R by `products`."""
        far = np.flatnonzero(self._far[start:stop]) if self._any_far else np.empty(0, dtype=np.intp)
        if far.size == stop - start > 0:
            out = np.empty((stop - start, R.shape[1]))
        else:
            out = products(self._scatter(R), start, stop)
            total, step = R.sum(axis=0), max(1, BLOCK_ENTRIES // (8 * max(R.shape[1], 1)))

            def finish(first, last):
                block = out[first:last]
                block -= self.center[start + first : start + last, None] * total
                block /= self.scale[start + first : start + last, None]

            pool.run(finish, [*range(0, stop - start, step), stop - start])
        width = max(1, BLOCK_ENTRIES // max(self.design.n, 1))
        for first in range(0, far.size, width):
            block = far[first : first + width]
            out[block] = self.columns(start + block).T @ R
        return out

    def correlate_into(self, A: np.ndarray, out: np.ndarray, start: int = 0) -> None:
        """out (m, q) = A ((X - 1c') / s)[:, start:start + q] for A (m, n): `correlate` transposed,
        straight into rows of a larger array.
        """
        here = slice(start, start + out.shape[1])
        if not self.traits.in_place or self._far[here].any():
            step = max(256, READ // max(A.shape[0], 1))
            for first in range(0, out.shape[1], step):
                last = min(first + step, out.shape[1])
                out[:, first:last] = self.correlate(A.T, start + first, start + last).T
            return
        self.design.correlate_into(
            A if self.rows is None else np.ascontiguousarray(self._scatter(A.T).T), out, start
        )
        center, scale, total = self.center[here], self.scale[here], A.sum(axis=1)

        def finish(i, _):
            out[i] -= center * total[i]
            out[i] /= scale

        pool.run(finish, range(A.shape[0] + 1), None if out.size > BLOCK_ENTRIES else 1)

    def stored(self) -> tuple:
        """(X' (p, n), center, scale) for kernels that read whole columns where they lie, of all
        rows; () where they cannot.
        """
        return (
            (self.design.X.T, self.center, self.scale)
            if self.rows is None and self.traits.stored_columns
            else ()
        )

    def products(self, weights: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Z'(w y), (p,), Z the standardized columns; (p, q) for y (n, q)."""
        return self.correlate((weights * y.T).T)

    def gram_rows(
        self, J: np.ndarray, weights: np.ndarray, out: np.ndarray, columns: np.ndarray | None = None
    ) -> None:
        """Fill out (len(J), p) with Z'diag(w) z_u for u in J; columns (len(J), n): the z_u, one a
        row, where they are at hand.
        """
        self.correlate_into((self.columns(J).T if columns is None else columns) * weights, out)

    def columns(self, J: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """((X_J - 1 c_J') / s_J)[rows] as a float64 copy (n, len(J)) in Fortran order; `out` of
        this kind is filled, if given.
        """
        J = np.asarray(J, dtype=np.intp)
        if out is not None and self.rows is None and isinstance(self.design, Dense):
            width = max(1, BLOCK_ENTRIES // (8 * max(self.n, 1)))

            def part(start, stop):
                block, j = out[:, start:stop], J[start:stop]
                self.design.columns(j, block)
                block -= self.center[j]
                block /= self.scale[j]

            pool.run(part, [*range(0, J.size, width), J.size])
            return out
        if out is not None:
            width = max(1, BLOCK_ENTRIES // max(self.n, 1))
            for start in range(0, J.size, width):
                out[:, start : start + width] = self.columns(J[start : start + width])
            return out
        W = self.design.columns(J)
        if self.rows is not None:
            W = W.T.take(self.rows, axis=1).T
        W -= self.center[J]
        W /= self.scale[J]
        return W

    def dot(self, J: np.ndarray, b: np.ndarray) -> np.ndarray:
        """((X_J - 1 c_J') / s_J)[rows] b: (n,) for b (len(J),), (n, m) for b (len(J), m)."""
        J, b = np.asarray(J, dtype=np.intp), np.asarray(b, dtype=np.float64)
        near = np.flatnonzero(~self._far[J]) if self._any_far else slice(None)
        steep = b[near] / self.scale[J[near]].reshape((-1,) + (1,) * (b.ndim - 1))
        out = self.design.dot(J[near], steep) - self.center[J[near]] @ steep
        if self.rows is not None:
            out = out[self.rows]
        if self._any_far:
            far = np.flatnonzero(self._far[J])
            width = max(1, BLOCK_ENTRIES // max(self.design.n, 1))
            for start in range(0, far.size, width):
                block = far[start : start + width]
                out += self.columns(J[block]) @ b[block]
        return out

    def moments(self, weights: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean (0 unless `center`) and second moment about it of the standardized columns,
        each (p,); weights (n,) sum to one.
        """
        mean, second = self.design.moments(
            self._scatter(np.asarray(weights, dtype=np.float64)), True
        )
        away = (mean - self.center) / self.scale
        second = second / self.scale**2
        return (away, second) if center else (np.zeros(self.p), second + away**2)

    def nonfinite(self) -> np.ndarray:
        """Number of NaN and infinite entries per column in the active rows, (p,)."""
        count = self.design.nonfinite()
        if self.rows is not None:
            for j in np.flatnonzero(count):
                count[j] = np.count_nonzero(~np.isfinite(self.design.columns([j])[self.rows]))
        return count
