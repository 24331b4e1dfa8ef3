"""Degree-2 features as a design: the columns of X and products of two of them, which exist as
numbers only while a sum over rows is taken. `l0path.designs.polynomial` is the door.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from l0path.designs.checks import checked_columns, right_hand_sides
from l0path.designs.csc import Csc
from l0path.designs.dense import Dense, dot_by_copies
from l0path.designs.features.derived import MOST, DerivedDesign
from l0path.designs.features.pair_sums import DenseTable, SparseTable
from l0path.designs.features.pairs import Pairs, dense_pairs, sparse_pairs

BLOCK = 1 << 20  # entries of a block of products: 8 MB
LOSES = (
    1e-6  # share of the mean square below which a variance is taken anew, from centered products
)
# standard deviations from 0 beyond which sparse columns are not centered: the expanded formula
# would lose 4 digits or more
FAR = 100.0
# entries beyond have products whose squares leave the range of floating point numbers
LARGEST = 1e70


class Polynomial(DerivedDesign):
    """Design of x_j and (x_j - c_j)(x_k - c_k) for the pairs of a `Pairs`, over a Dense or Csc base
    design (n, p0): the verbs of `Dense`.
    """

    traits = DerivedDesign.traits._replace(in_place=True, bounded_products=True)

    heredity: str | None = None  # the rule that searches keep

    def __init__(self, base: Dense | Csc, names: Pairs, table: Any = None) -> None:
        super().__init__(base, names)
        self.table = (
            (SparseTable if isinstance(base, Csc) else DenseTable)(base, names.center)
            if table is None
            else table
        )

    def __repr__(self):
        made_of = f"{self.base.p} columns and {self.names.partner.size} products"
        return f"Polynomial(n={self.n}, p={self.p}: {made_of})"

    @right_hand_sides
    def correlate(self, R: np.ndarray, start: int = 0, stop: int | None = None) -> np.ndarray:
        """X[:, start:stop]' R: (stop - start, m) for R (n, m), (stop - start,) for R (n,)."""
        out = np.empty((stop - start, R.shape[1]))
        self._correlate(R, out, start, stop)
        return out

    def correlate_above(
        self, R: np.ndarray, least: np.ndarray, scale: np.ndarray, start: int, stop: int
    ) -> np.ndarray:
        """`correlate`, but entries (j, m) of at most least[m] * scale[j] in size may come out as 0.

        Products are left out that are so small by the Cauchy-Schwarz bound |sum_i r_i z_ij z_ik| <=
        nu_j nu_k, nu_j^2 = sum_i |r_i| z_ij^2. The bound is ours (Tan, Tsang & Wang, JMLR 15, 2014,
        Section 6.2, score every product).

        least (m,), scale (p,) positive. It is worth its cost where columns differ in size and
        `scale` does not make up for it; among columns of equal size nothing is left out.
        """
        own, p0 = min(max(self.base.p - start, 0), stop - start), self.base.p
        out = np.empty((stop - start, R.shape[1]))
        if own:
            out[:own] = self.base.correlate(R, start, start + own)
        first, last = start + own - p0, stop - p0
        if last > first:
            limits = np.full(p0, 1e300)  # by first factors: the least scale of their products
            rows = np.searchsorted(self.names.offsets, [first, last - 1], side="right") - 1
            edges = np.clip(self.names.offsets[rows[0] : rows[1] + 1], first, None)
            filled = np.diff(np.append(edges, last)) > 0
            limits[rows[0] : rows[1] + 1][filled] = np.minimum.reduceat(
                scale[p0 + first : p0 + last], edges[filled] - first
            )
            self.table.sums(
                np.asarray(R, dtype=np.float64),
                self.names,
                out[own:],
                first,
                last,
                least[:, None] * limits,
            )
        return out

    def correlate_into(self, A: np.ndarray, out: np.ndarray, start: int = 0) -> None:
        """out (m, q) = A X[:, start:start + q] for A (m, n): `correlate` transposed, straight into
        rows of a larger array.
        """
        self._correlate(A.T, out.T, start, start + out.shape[1])

    def _correlate(self, R, out, start, stop):
        own = min(max(self.base.p - start, 0), stop - start)
        if own:
            out[:own] = self.base.correlate(R, start, start + own)
        self.table.sums(R, self.names, out[own:], start + own - self.base.p, stop - self.base.p)

    def columns(self, J: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """X[:, J] as a float64 copy (n, len(J)) in Fortran order; `out` of this kind is filled, if
        given.
        """
        J = checked_columns(J, self.p)
        out = np.empty((self.n, J.size), order="F") if out is None else out
        own, products = np.flatnonzero(self.base.p > J), np.flatnonzero(self.base.p <= J)
        out[:, own] = self.base.columns(J[own])
        width = max(1, BLOCK // self.n)
        for start in range(0, products.size, width):
            here = products[start : start + width]
            j, k = self.names.parents(J[here])
            out[:, here] = self.table.columns(j) * self.table.columns(k)
        return out

    def dot(self, J: np.ndarray, b: np.ndarray) -> np.ndarray:
        """X[:, J] b: (n,) for b (len(J),), (n, m) for b (len(J), m)."""
        return dot_by_copies(self, J, b, BLOCK)

    def moments(self, weights: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean (0 unless `center`) and second moment about it, each (p,), for weights (n,)
        that sum to one.

        Of a product: S - mean^2 with S = sum_i w_i z_ij^2 z_ik^2; where less than a millionth of S
        is left, the column is formed and centered.
        """
        weights = np.asarray(weights, dtype=np.float64)
        mean, second = np.empty(self.p), np.empty(self.p)
        p0 = self.base.p
        mean[:p0], second[:p0] = self.base.moments(weights, center)
        mean[p0:], second[p0:] = self.table.moments(weights, self.names)
        if not center:
            mean[p0:] = 0.0
            return mean, np.maximum(second, 0.0)
        low = LOSES * second[p0:]
        second[p0:] -= mean[p0:] ** 2
        awkward, width = p0 + np.flatnonzero(second[p0:] <= low), max(1, BLOCK // self.n)
        for start in range(0, awkward.size, width):
            J = awkward[start : start + width]
            mean[J], second[J] = Dense(self.columns(J)).moments(weights, True)
        return mean, second

    def nonfinite(self) -> np.ndarray:
        """Number of NaN and infinite entries per column, (p,): none, because `polynomial` refuses
        an X that has any.
        """
        return np.zeros(self.p, dtype=np.int64)


def expand(base, names, *, interaction_only, center, heredity, parents, min_rows, by_name):
    """Polynomial of a Dense or Csc base design: see `l0path.designs.polynomial`."""
    c, second = (
        base.moments(np.full(base.n, 1.0 / base.n), True) if center else np.zeros((2, base.p))
    )
    far = (
        np.flatnonzero((np.abs(c) > FAR * np.sqrt(second)) & (second > 0))
        if isinstance(base, Csc)
        else ()
    )
    if len(far):
        raise ValueError(
            f"center=True would lose digits in {len(far)} sparse columns whose mean is more than "
            f"{FAR:g} standard deviations from 0, the first {names[far[0]]}; "
            "subtract a constant from them, or pass X as a dense array"
        )
    table = (SparseTable if isinstance(base, Csc) else DenseTable)(base, c)
    if table.largest > LARGEST:
        raise ValueError(
            f"X has entries up to {table.largest:.3g} in size, whose products are too large to be "
            "squared; rescale the columns"
        )
    squares = np.zeros(base.p, dtype=bool) if interaction_only else ~two_valued(base)
    keep, chosen = None, None
    if parents is not None:
        chosen = np.zeros(base.p, dtype=bool)
        chosen[parents] = True

        def keep(j, K):
            return chosen[K] & chosen[j] if heredity == "strong" else chosen[K] | chosen[j]

    most = base.p * (base.p + 1) // 2
    if isinstance(base, Csc):
        most = min(most, int(table.work[-1]) // min_rows)
        _limited(most, base.p)
        offsets, partner = sparse_pairs(table, min_rows, squares, keep)
    else:
        width = base.p if chosen is None else int(chosen.sum())
        most = (
            most
            if parents is None
            else width * (width + 1) // 2
            if heredity == "strong"
            else width * base.p
        )
        _limited(most, base.p)
        offsets, partner = dense_pairs(base.p, squares, keep)
    pairs = Pairs(names, c, offsets, partner, by_name)
    if (repeated := pairs.ambiguous()) is not None:
        raise ValueError(
            f"X has a column {repeated!r}, which is also the name of a product of its columns; "
            "rename it, or leave it out where it is that product"
        )
    return Polynomial(base, pairs, table)


def _limited(most, p):
    """Refuse more features than vectors of their length are acceptable for."""
    if most > MOST:
        raise ValueError(
            f"degree-2 features of {p} columns may be {most:.3g} in number, above {MOST:.0e}: pass "
            "heredity= with parents= (columns that a path of main effects chose), "
            "or for sparse X a larger min_rows= (rows in which both columns are nonzero)"
        )


def two_valued(base):
    """(p,) bool: columns with at most two different values, whose square says nothing new."""
    out = np.zeros(base.p, dtype=bool)
    if isinstance(base, Csc):
        for j in range(base.p):
            data = base.data[base.indptr[j] : base.indptr[j + 1]]
            data = np.append(data, 0.0) if data.size < base.n else data
            out[j] = bool(((data == data.min()) | (data == data.max())).all())
        return out
    width = max(1, BLOCK // base.n)
    for start in range(0, base.p, width):
        X = base.columns(np.arange(start, min(start + width, base.p)))
        out[start : start + width] = ((X == X.min(axis=0)) | (X == X.max(axis=0))).all(axis=0)
    return out
