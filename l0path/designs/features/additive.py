"""Piecewise-linear features of single columns as a design: feature maps of the histogram
intersection kernel, which exist as numbers only where a solver asks for some of them.

Column j has knots t_0 < ... < t_m; feature l of it has the step h_l = t_l - t_{l-1} and rises over
it by sqrt(h_l),

    phi_l(x) = (clip(x, t_{l-1}, t_l) - clip(0, t_{l-1}, t_l)) / sqrt(h_l)
    K(x, z)  = sum_l phi_l(x) phi_l(z) = min(|x - a|, |z - a|) where x and z lie on the same side of
    a = clip(0, t_0, t_m), else 0

K is exactly this where x, z and a are knots, up to h_l / 4 for two numbers within one step; beyond
t_0 and t_m a feature is constant. A feature is 0 at x = 0, so that a sparse X stays sparse. With X
>= 0 and t_0 = 0 it is min(x, z). A sum over rows of r_i phi_l(x_i) is sqrt(h_l) times the r_i of
rows above t_l, and of those within the step their share: one pass over the n rows gives the
features of a column all together, whatever m is. With knots at all values of the column it gives
the kernel's exact score, sum_l (phi_l'r)^2 = sum_ii' r_i r_i' K(x_i, x_i').

Source: Maji, Berg & Malik, Efficient Classification for Additive Kernel SVMs (IEEE TPAMI 35, 2013):
    piecewise-linear encodings; the kernels as groups of features: Tan, Tsang & Wang (JMLR 15,
    2014).
`l0path.designs.additive` is the door.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from l0path.core import threads as pool
from l0path.designs.checks import checked_columns, right_hand_sides
from l0path.designs.csc import Csc
from l0path.designs.dense import Dense, dot_by_copies
from l0path.designs.features.derived import MOST, Derived, DerivedDesign
from l0path.designs.features.step_sums import Entries, Steps, moments, sums

STEP_TILE = 1 << 17  # entries of X read at a time: 1 MB
STEPS = 1 << 16  # of a column at most


class Levels(Derived):
    """Names of piecewise-linear features: x[1], x[2], ... for the steps of column x.

    Parameters
    ----------
    base : list of str
        The p0 names.
    offsets : ndarray of shape (p0 + 1,)
        Column j has the features offsets[j] to offsets[j + 1] - 1.
    low, high : ndarray of shape (p,)
        The knots on both sides of each feature's step.
    by_name : bool, default False
        Whether X was a DataFrame.
    """

    stored = ("offsets", "low", "high")
    what = "knots"

    def __init__(
        self,
        base: list[str],
        offsets: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        by_name: bool = False,
    ) -> None:
        super().__init__(base, by_name)
        self.offsets = np.asarray(offsets, dtype=np.int64)
        self.low = np.asarray(low, dtype=np.float64)
        self.high = np.asarray(high, dtype=np.float64)

    def __len__(self):
        return self.low.size

    def _name_of(self, l: int) -> str:
        """The name of feature l: the column and the number of the step."""
        j = int(self.parents(l))
        return f"{self.base[j]}[{l - self.offsets[j] + 1}]"

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """Position of a name; ValueError if there is no such feature."""
        column, _, step = name.rpartition("[")
        j, step = self.base_places().get(column, -1), step[:-1]
        if (
            j < 0
            or not name.endswith("]")
            or not step.isdecimal()
            or not 1 <= int(step) <= self.offsets[j + 1] - self.offsets[j]
        ):
            raise ValueError(f"there is no feature {name!r}")
        return int(self.offsets[j]) + int(step) - 1

    def parents(self, L: np.ndarray) -> np.ndarray:
        """Columns of X that features L are made from."""
        return np.searchsorted(self.offsets, L, side="right") - 1


class Additive(DerivedDesign):
    """Design of the piecewise-linear features of a Dense or Csc base design (n, p0) that `Levels`
    describe: the verbs of `Dense`. Beside X, two bytes are kept for each of its entries.
    """

    def __init__(self, base: Dense | Csc, names: Levels) -> None:
        super().__init__(base, names)
        self.sparse = isinstance(base, Csc)

    def __repr__(self):
        return (
            f"Additive(n={self.n}, p={self.p}: piecewise-linear features of {self.base.p} columns)"
        )

    @property
    def groups(self) -> dict[str, range]:
        """{column of X: its features}, as `fit(groups=)` takes them; constant columns have none."""
        ends = self.names.offsets.tolist()
        return {
            name: range(ends[j], ends[j + 1])
            for j, name in enumerate(self.names.base)
            if ends[j + 1] > ends[j]
        }

    def _cuts(self, first, last):
        """Ranges of the columns first:last with about STEP_TILE entries each."""
        if not self.sparse:
            return [*range(first, last, max(1, STEP_TILE // max(self.n, 1))), last]
        ends = self.base.indptr
        inner = np.searchsorted(
            ends,
            np.arange(ends[first] + STEP_TILE, max(ends[last], ends[first] + STEP_TILE), STEP_TILE),
        )
        return [first, *np.unique(inner[(inner > first) & (inner < last)]).tolist(), last]

    def _entries(self, a, b):
        """(values, rows, ends) of the columns a:b, see `Entries`."""
        if self.sparse:
            return self.base.data, self.base.indices, self.base.indptr[a : b + 1].astype(np.int64)
        return (
            self.base.columns(np.arange(a, b)).T.reshape(-1),
            np.empty(0, np.uint32),
            np.arange(b - a + 1) * self.n,
        )

    @cached_property
    def _bins(self):
        """The step that every stored entry of X lies in, counted from the first of its column."""
        offsets, high = self.names.offsets, self.names.high
        bins = np.zeros(
            self.base.data.size if self.sparse else self.n * self.base.p, dtype=np.uint16
        )

        def part(a, b):
            values, _, ends = self._entries(a, b)
            shift = 0 if self.sparse else a * self.n
            for j in range(a, b):
                here = slice(ends[j - a], ends[j - a + 1])
                steps = high[offsets[j] : offsets[j + 1]]
                bins[shift + here.start : shift + here.stop] = np.minimum(
                    np.searchsorted(steps, values[here]), max(steps.size - 1, 0)
                )

        pool.run(part, self._cuts(0, self.base.p))
        return bins

    def _columnwise(self, kernel, first, last, more, outs):
        """kernel(entries of a range of columns, their steps, *more, the range's part of every
        array in `outs`), for ranges that cover the columns first:last.
        """
        names, bins = self.names, self._bins
        offsets = names.offsets

        def part(a, b):
            here = slice(offsets[a] - offsets[first], offsets[b] - offsets[first])
            kernel(
                Entries(
                    *self._entries(a, b), bins if self.sparse else bins[a * self.n : b * self.n]
                ),
                Steps(offsets[a : b + 1], names.low, names.high),
                *more,
                *(out[here] for out in outs),
            )

        pool.run(part, self._cuts(first, last))

    @right_hand_sides
    def correlate(self, R: np.ndarray, start: int = 0, stop: int | None = None) -> np.ndarray:
        """X[:, start:stop]' R: (stop - start, m) for R (n, m), (stop - start,) for R (n,). One read
        of X's columns for all m.
        """
        if stop <= start:
            return np.empty((0, R.shape[1]))
        first, last = int(self.names.parents(start)), int(self.names.parents(stop - 1)) + 1
        origin = self.names.offsets[first]
        out = np.empty((self.names.offsets[last] - origin, R.shape[1]))
        self._columnwise(sums, first, last, (np.ascontiguousarray(R),), (out,))
        return out[start - origin : stop - origin]

    def columns(self, J: np.ndarray) -> np.ndarray:
        """X[:, J] as a float64 copy (n, len(J)) in Fortran order."""
        J = checked_columns(J, self.p)
        out = np.empty((self.n, J.size), order="F")
        parents, at = np.unique(self.names.parents(J), return_inverse=True)
        order = np.argsort(at, kind="stable")
        width = max(1, STEP_TILE // max(self.n, 1))
        for start in range(0, parents.size, width):
            X = self.base.columns(parents[start : start + width])
            for i in order[
                np.searchsorted(at[order], start) : np.searchsorted(at[order], start + width)
            ].tolist():
                low, high = self.names.low[J[i]], self.names.high[J[i]]
                out[:, i] = (
                    np.clip(X[:, at[i] - start], low, high) - min(max(0.0, low), high)
                ) / np.sqrt(high - low)
        return out

    def dot(self, J: np.ndarray, b: np.ndarray) -> np.ndarray:
        """X[:, J] b: (n,) for b (len(J),), (n, m) for b (len(J), m)."""
        return dot_by_copies(self, J, b, 8 * STEP_TILE)

    def moments(self, weights: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean (0 unless `center`) and second moment about it, each (p,), for weights (n,)
        that sum to one.
        """
        mean, second = np.empty(self.p), np.empty(self.p)
        self._columnwise(
            moments,
            0,
            self.base.p,
            (np.ascontiguousarray(weights, dtype=np.float64), bool(center)),
            (mean, second),
        )
        return mean if center else np.zeros(self.p), second

    def nonfinite(self) -> np.ndarray:
        """Number of NaN and infinite entries per column, (p,): none, because `additive` refuses an
        X that has any.
        """
        return np.zeros(self.p, dtype=np.int64)


def chosen_knots(values, bins):
    """Knots of a column from its distinct values (ascending): all of them, or bins + 1 at their
    quantiles, the least and the largest among them, and 0 where it lies between and bins > 1.
    """
    if bins is None or values.size <= bins + 1:
        return values
    knots = values[np.round(np.linspace(0, values.size - 1, bins + 1)).astype(np.int64)]
    if bins > 1 and knots[0] < 0.0 < knots[-1]:
        knots[1 + np.argmin(np.abs(knots[1:-1]))] = 0.0
    return knots


def distinct(base):
    """The distinct values of every column of a Dense or Csc design, ascending, one column after the
    other.
    """
    if isinstance(base, Csc):
        for start, stop in pairwise(base.indptr.tolist()):
            values = base.data[start:stop]
            yield np.unique(values if values.size == base.n else np.append(values, 0.0))
        return
    width = max(1, STEP_TILE // max(base.n, 1))
    for first in range(0, base.p, width):
        for column in base.columns(np.arange(first, min(first + width, base.p))).T:
            yield np.unique(column)


def step_design(base, names, bins, by_name):
    """Additive of a Dense or Csc base design: see `l0path.designs.additive`."""
    sizes, low, high = np.zeros(base.p, dtype=np.int64), [], []
    for j, values in enumerate(distinct(base)):
        knots = chosen_knots(
            np.union1d(values, [0.0]) if values[0] < 0.0 < values[-1] else values, bins
        )
        sizes[j] = knots.size - 1
        if sizes[j] > STEPS:
            raise ValueError(
                f"column {names[j]} has {values.size} different values, bins=None takes up to "
                f"{STEPS + 1}; pass a number of bins, 100 for example"
            )
        low.append(knots[:-1])
        high.append(knots[1:])
    if sizes.sum() > MOST:
        raise ValueError(
            f"bins={bins} makes {sizes.sum():.3g} features of {base.p} columns, above {MOST:.0e}; "
            "pass fewer bins"
        )
    if not sizes.any():
        raise ValueError("every column of X is constant; there is nothing to make features of")
    return Additive(
        base,
        Levels(
            names,
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate(low),
            np.concatenate(high),
            by_name,
        ),
    )
