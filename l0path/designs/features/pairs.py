"""The products of columns that a polynomial design has, their names, and the expansion of new rows:
everything of a degree-2 expansion but the numbers.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from l0path.core.dispatch import njit
from l0path.designs.features.derived import Derived


class Pairs(Derived):
    """The features x_j of p0 columns, then products (x_j - c_j)(x_k - c_k), k >= j.

    The products are ordered by j, then k. As a sequence it holds their names, which are made when
    asked for.

    Parameters
    ----------
    base : list of str
        The p0 names.
    center : ndarray of shape (p0,)
        The numbers c.
    offsets : ndarray of shape (p0 + 1,)
        The products of column j are number offsets[j] to offsets[j + 1] - 1.
    partner : ndarray of int
        The k of the products.
    by_name : bool, default False
        Whether X was a DataFrame.
    """

    stored = ("center", "offsets", "partner")
    what = "products, or other centers,"

    def __init__(
        self,
        base: list[str],
        center: np.ndarray,
        offsets: np.ndarray,
        partner: np.ndarray,
        by_name: bool = False,
    ) -> None:
        super().__init__(base, by_name)
        self.center = np.asarray(center, dtype=np.float64)
        self.offsets = np.asarray(offsets, dtype=np.int64)
        self.partner = np.asarray(partner, dtype=np.int32)

    def __len__(self):
        return len(self.base) + self.partner.size

    def _name_of(self, j: int) -> str:
        """The name of feature j: of a column, of its square, or of a product."""
        p0 = len(self.base)
        if j < p0:
            return self.base[j]
        return self._name(bisect_right(self.offsets, j - p0) - 1, int(self.partner[j - p0]))

    def __iter__(self):
        yield from self.base
        for j in range(len(self.base)):
            for k in self.partner[self.offsets[j] : self.offsets[j + 1]].tolist():
                yield self._name(j, k)

    def _name(self, j, k):
        return f"{self.base[j]}^2" if j == k else f"{self.base[j]}:{self.base[k]}"

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """Position of a name; "b:a" is "a:b". ValueError if there is no such feature."""
        at = self.base_places()
        place = at[name] if name in at else self._product(name, at)
        if place is None:
            raise ValueError(f"there is no feature {name!r}")
        return place

    def ambiguous(self) -> str | None:
        """The first name of a column that is also the name of a product; None where there is
        none.
        """
        at = self.base_places()
        return next(
            (
                name
                for name in self.base
                if (":" in name or name.endswith("^2")) and self._product(name, at) is not None
            ),
            None,
        )

    def _product(self, name, at):
        """Position of the product of this name, None if there is none; at: positions of the
        columns.
        """
        if name.endswith("^2") and name[:-2] in at:
            pairs = [(at[name[:-2]],) * 2]
        else:
            cuts = [i for i, letter in enumerate(name) if letter == ":"]
            pairs = [
                tuple(sorted((at[name[:i]], at[name[i + 1 :]])))
                for i in cuts
                if name[:i] in at and name[i + 1 :] in at
            ]
        for j, k in pairs:
            t = int(
                self.offsets[j]
                + np.searchsorted(self.partner[self.offsets[j] : self.offsets[j + 1]], k)
            )
            if t < self.offsets[j + 1] and self.partner[t] == k:
                return len(self.base) + t
        return None

    def repeated(self, second: np.ndarray) -> np.ndarray:
        """Products with a column that is constant on the rows in which the features have the given
        second moments (p,), as a rare column may be in a fold: they are multiples of their other
        factor, plus a constant.
        """
        p0 = len(self.base)
        constant = second[:p0] == 0
        if not constant.any():
            return np.empty(0, dtype=np.int64)
        return p0 + np.flatnonzero(
            np.repeat(constant, np.diff(self.offsets)) | constant[self.partner]
        )

    def parents(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(j, k) of the features J that are products, as arrays; both are the column itself where a
        feature is a column.
        """
        J = np.asarray(J, dtype=np.int64)
        t = np.maximum(J - len(self.base), 0)
        product = len(self.base) <= J
        left = np.searchsorted(self.offsets, t, side="right") - 1
        right = self.partner[t] if self.partner.size else t
        return np.where(product, left, J).astype(np.intp), np.where(product, right, J).astype(
            np.intp
        )


def dense_pairs(p, squares, keep=None):
    """(offsets, partner) of all pairs j < k of p columns, and of (j, j) where squares[j]; keep(j,
    K): bool, which partners K of j to list.
    """
    offsets, parts = np.zeros(p + 1, dtype=np.int64), []
    for j in range(p):
        K = np.arange(j if squares[j] else j + 1, p, dtype=np.int32)
        K = K if keep is None else K[keep(j, K)]
        parts.append(K)
        offsets[j + 1] = offsets[j] + K.size
    return offsets, np.concatenate(parts)


@njit
def _count_pairs(pattern, least, offsets, partner, fill):
    """offsets[j + 1] = number of k >= j that share at least `least` rows with j; with `fill` these
    k go to partner[offsets[j]:], in no order.
    """
    indptr, indices, places = pattern.indptr, pattern.indices, pattern.places
    ends, across, p = pattern.ends, pattern.across, indptr.size - 1
    shared, touched = np.zeros(p, np.int64), np.empty(p, np.int64)
    for j in range(p):
        met, count = 0, 0
        for e in range(indptr[j], indptr[j + 1]):
            for g in range(places[e], ends[indices[e]]):
                k = across[g]
                if shared[k] == 0:
                    touched[met] = k
                    met += 1
                shared[k] += 1
        for m in range(met):
            k = touched[m]
            if shared[k] >= least:
                if fill:
                    partner[offsets[j] + count] = k
                count += 1
            shared[k] = 0
        if not fill:
            offsets[j + 1] = count


def sparse_pairs(table, least, squares, keep=None):
    """(offsets, partner) of the pairs of columns that are both nonzero in at least `least` rows of
    a sparse table (see `SparseTable`).
    """
    p, none = table.base.p, np.empty(0, np.int32)
    offsets = np.zeros(p + 1, dtype=np.int64)
    least = int(least)
    _count_pairs(table.pattern, least, offsets, none, False)
    offsets = np.cumsum(offsets)
    partner = np.empty(offsets[-1], dtype=np.int32)
    _count_pairs(table.pattern, least, offsets, partner, True)
    kept = np.ones(partner.size, dtype=bool)
    for j in range(p):
        here = slice(offsets[j], offsets[j + 1])
        partner[here].sort()
        if not squares[j] and here.stop > here.start and partner[here.start] == j:
            kept[here.start] = False
        if keep is not None:
            kept[here] &= keep(j, partner[here])
    return np.concatenate([[0], np.cumsum(kept)])[offsets], partner[kept]
