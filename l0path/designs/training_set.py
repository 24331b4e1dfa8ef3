"""Products of a training set from those of all rows, less those of the rows held out: what the
folds of a cross-validation share.

With Z the columns standardized over all rows, w the weights there (sum one), v <= w those of the
training rows, d = w - v those of the rows held out, V = sum v:

    a = (Z'w - Z_D'd) / V,   S = (sum w z^2 - sum_D d z^2) / V - a^2     mean and variance of the
                                                                         training rows, in the units
                                                                         of Z; r = sqrt(S)
    G_ju = ((Z'diag(w) z_u - Z_D'diag(d) z_u) / V - a a_u)_j / (r_j r_u)  Gram rows of the columns
    standardized over the training rows

One pass over X for a column u serves every fold; a fold adds |D| p multiplications. Only sums are
shared, never a choice: a fold's numbers are those it would find alone, up to rounding.

Rounding: every entry of Z'diag(w)Z is at most 1 in size, so a Gram entry is wrong by at most about
    4 n eps / (V r_j r_u), eps = 2.2e-16, as against n eps of the direct product.
V >= 1/2 and r^2 >= 1/10 are asked for, so at most 80 times as much (measured: 1e-15 to 1e-14);
columns whose variance falls below a tenth without the held-out rows (rare values, outliers) are
read directly. Columns far from the origin lose nothing, because Z is centered before anything is
subtracted.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np

from l0path.core import threads as pool
from l0path.designs.dense import Dense
from l0path.designs.protocol import traits_of
from l0path.designs.standardized import BLOCK_ENTRIES, Standardized

from ..core.types import Design

# share of a column's variance that must be left without the held-out rows, else it is read directly
LEAST_VARIANCE = 0.1
# scales from the origin beyond which held-out columns are centered before their mean is taken
OFF = 30.0
# bytes of Gram rows and held-out rows that are cached, at least; half of X where that is more
CACHE_BYTES = 1 << 28
BITE = 1 << 16  # entries of Gram rows made at a time by one thread: 512 KB
_last = {}  # token -> GramRows: what this process keeps between the folds that are sent to it


def bytes_allowed(design: Design, jobs: int = 1) -> float:
    """Most bytes of shared products and copies of held-out rows in each of some processes."""
    traits = traits_of(design)
    if traits.memory_limit:
        return design.memory_limit / jobs
    return max(CACHE_BYTES, design.nbytes / 2 if traits.row_subsets else 0) / jobs


class GramRows:
    """Rows Z'diag(w) z_u over all p columns, by u, at most `capacity` of them."""

    def __init__(self, p, capacity, members=(), rows=None):
        self.capacity, self.token = int(capacity), uuid.uuid4().hex
        members = list(members)[: self.capacity]
        self.at = {u: i for i, u in enumerate(members)}
        self.rows = np.empty((0, p)) if rows is None else rows[: len(members)]
        self._lock = threading.Lock()

    def __getstate__(self):
        state = {name: value for name, value in self.__dict__.items() if name != "_lock"}
        return state | {"rows": self.rows[: len(self.at)]}

    def __setstate__(self, state):
        self.__dict__.update(state, _lock=threading.Lock())

    def missing(self, J):
        """Columns of J whose rows are not here, as many as there is room for."""
        return [u for u in J if u not in self.at][: max(self.capacity - len(self.at), 0)]

    def fetch(self, J, make):
        """(rows, places): where the rows of the columns J stand, -1 beyond the capacity; make(new,
        out) fills rows that are new.
        """
        with self._lock:
            new, have = self.missing(J), len(self.at)
            if new:
                self._reserve(have + len(new))
                make(new, self.rows[have : have + len(new)])
                self.at.update({u: have + i for i, u in enumerate(new)})
            return self.rows, np.array([self.at.get(u, -1) for u in J], dtype=np.intp)

    def _reserve(self, number):
        """Make room for so many rows: a new array, because others may be reading the old one;
        memory is taken as it is filled.
        """
        if number > self.rows.shape[0]:
            rows = np.empty((self.capacity, self.rows.shape[1]))
            rows[: len(self.at)] = self.rows[: len(self.at)]
            self.rows = rows


class AllRows:
    """Products of all rows of a design, computed by the fit on all rows.

    Parameters
    ----------
    X : Standardized
        The design.
    weights : ndarray of shape (n,)
        Weights that sum to one.
    square : ndarray of shape (p,)
        Mean squares of the columns.
    intercept : bool
        Whether the fit has an intercept.
    y : ndarray of shape (n,), optional
        The response of a squared loss.
    products : ndarray of shape (p,), optional
        Z'(w y) of a squared loss.
    members, rows : ndarray, optional
        Gram rows that the fit made, and their columns. In another process the Gram rows gathered
        there are kept from one fold to the next.
    jobs : int, default 1
        The number of threads.
    """

    def __init__(
        self,
        X: Design,
        weights: np.ndarray,
        square: np.ndarray,
        intercept: bool,
        *,
        y: np.ndarray | None = None,
        products: np.ndarray | None = None,
        members: Sequence[int] = (),
        rows: np.ndarray | None = None,
        jobs: int = 1,
    ) -> None:
        self.X = X
        self.weights = weights
        self.square = square
        self.intercept = intercept
        self.y = y
        self.products = products
        self.mean = X.correlate(weights) if intercept else np.zeros(X.p)  # what rounding left of it
        self.full = (
            weights
            if X.rows is None
            else np.bincount(X.rows, weights=weights, minlength=X.design.n)
        )
        self.budget = bytes_allowed(X.design, jobs)
        capacity = int(0.25 * self.budget / (8 * X.p))
        if X.traits.memory_limit and rows is not None and rows.shape[0] > capacity:
            rows = rows[: min(len(members), capacity)].copy()  # the others are let go
        self.store = GramRows(X.p, capacity, members, rows)
        self.gather = None  # where folds that advance together meet before a read

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.store.token not in _last:
            _last.clear()
            _last[self.store.token] = self.store
        self.store = _last[self.store.token]

    def meeting(self, gather: Any) -> AllRows:
        """The same products for folds that advance together: gather.bring(columns, read) makes one
        read for all of them.
        """
        out = object.__new__(AllRows)
        out.__dict__.update(self.__dict__, gather=gather)
        return out

    def less(self, keep: np.ndarray, weights: np.ndarray) -> TrainingSet | None:
        """The `HeldOut` of a training set with row counts `keep` (n,) and `weights` (n,) of sum
        one; None where the products must, or should, be computed from the training rows themselves.
        """
        v = self.full * keep
        d, V = self.full - v, v.sum()
        rows = np.flatnonzero(d)
        design = self.X.design
        if (
            not self.X.traits.row_subsets
            or not 0 < 2 * rows.size <= self.X.n
            or V < 0.5
            or d.min() < 0
            or 8 * design.entries * rows.size / design.n > 0.25 * self.budget
        ):
            return None
        if (
            np.abs(v / V - weights).max() > 1e-13 * weights.max()
        ):  # weights of their own, such as balanced classes
            return None
        held = HeldOut(self, rows, d[rows], V, weights)
        return held if held.awkward.size <= self.X.p // 10 else None

    def rows(self, J: np.ndarray) -> np.ndarray:
        """(rows, places) of Gram rows of the columns J over all p columns."""

        def make(new, out):
            self.X.gram_rows(new, self.weights, out)

        if self.gather is not None:
            self.gather.bring(self.store.missing(J), lambda new: self.store.fetch(new, make))
        return self.store.fetch(J, make)


class HeldOut:
    """The rows that a fold leaves out: their block of Z (a copy of these rows only), weights d, and
    the moments of the rows that are left.

    mean, second (p,): of the training rows, in the user's units; away (p,): their mean in the units
    of Z; awkward: columns of which too little is left, read directly.
    """

    def __init__(self, all_rows, rows, d, V, weights):
        self.all_rows, self.rows, self.d, self.V = all_rows, rows, d, V
        X, out = all_rows.X, d.sum()
        part, self.filled = X.design.take_rows(rows), None
        self.block = Standardized(part, X.center, X.scale)
        if isinstance(part, Dense):
            self.filled = np.empty(
                (rows.size + 1, X.p), order="F"
            )  # centered and scaled once; below it the means of the training rows
            np.subtract(part.X, X.center, out=self.filled[:-1])
            self.filled[:-1] /= X.scale
            self.block = Standardized(Dense(self.filled[:-1]), np.zeros(X.p), np.ones(X.p))
        middle, second = self._moments(d / out)
        self.away, left = np.zeros(X.p), all_rows.square - out * second
        if all_rows.intercept:
            self.away = (all_rows.mean - out * middle) / V
            left -= V * out * (self.away - middle) ** 2  # Chan, Golub and LeVeque (1983), eq. 2.1
        constant = all_rows.square <= 0
        self.awkward = np.flatnonzero(~(left > LEAST_VARIANCE * V * all_rows.square) & ~constant)
        self.away[constant], left[constant] = 0.0, 0.0
        self.mean, self.second = X.center + X.scale * self.away, X.scale**2 * left / V
        if 0 < self.awkward.size <= X.p // 10:
            self._read_awkward(weights)
        if self.filled is not None:
            self.filled[-1] = self.away

    def removed(self, R, own, start, stop):
        """(Z_D'R + a own')[start:stop] transposed, (m, stop - start), for R (rows held out, m) and
        own (m,).
        """
        if self.filled is not None:
            return np.vstack([R, own]).T @ self.filled[:, start:stop]
        return self.block.correlate(R, start, stop).T + own[:, None] * self.away[start:stop]

    def _moments(self, share):
        """Mean and second moment of the held-out rows in the units of Z; columns off the origin are
        centered first, because a mean in the user's units is rounded like the mean's size.
        """
        X, intercept = self.all_rows.X, self.all_rows.intercept
        middle, second = self.block.moments(share, intercept)
        off = np.flatnonzero(np.abs(X.center) > OFF * X.scale)
        width = max(1, BLOCK_ENTRIES // share.size)
        for start in range(0, off.size, width):
            J = off[start : start + width]
            middle[J], second[J] = Dense(self.block.columns(J)).moments(share, intercept)
        return middle, second

    def _read_awkward(self, weights):
        X, width = self.all_rows.X, max(1, BLOCK_ENTRIES // self.all_rows.X.design.n)
        for start in range(0, self.awkward.size, width):
            J = self.awkward[start : start + width]
            self.mean[J], self.second[J] = Dense(X.design.columns(J)).moments(
                weights, self.all_rows.intercept
            )
        J = self.awkward
        self.away[J] = (self.mean[J] - X.center[J]) / X.scale[J]


class TrainingSet(Standardized):
    """Standardized training rows of a fold, whose Gram rows and products with y come from those of
    all rows (see above); other products are read directly.
    """

    def __init__(
        self, held: HeldOut, scale: np.ndarray, rows: np.ndarray, weights: np.ndarray, y: np.ndarray
    ) -> None:
        super().__init__(held.all_rows.X.design, held.mean, scale, rows)
        self.held, self.weights, self.y = held, weights, y
        self._shrink = np.where(held.second > 0, held.all_rows.X.scale / self.scale, 0.0)  # 1 / r
        self._awkward = held.awkward[held.second[held.awkward] > 0]
        self._direct = set(self._awkward.tolist())

    def products(self, weights: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Z'(w y), (p,)."""
        all_rows, held = self.held.all_rows, self.held
        if all_rows.y is None or not (
            np.array_equal(weights, self.weights) and np.array_equal(y, self.y)
        ):
            return super().products(weights, y)
        if weights @ (y * y) < LEAST_VARIANCE * (all_rows.weights @ (all_rows.y * all_rows.y)):
            return super().products(weights, y)
        at = held.rows if all_rows.X.rows is None else np.searchsorted(all_rows.X.rows, held.rows)
        taken = held.d * all_rows.y[at]
        middle = (all_rows.weights @ all_rows.y - taken.sum()) / held.V
        out = (
            (all_rows.products - held.block.correlate(taken)) / held.V - held.away * middle
        ) * self._shrink
        if self._awkward.size:
            out[self._awkward] = self._among_awkward((weights * y)[:, None])[:, 0]
        return out

    def gram_rows(
        self, J: np.ndarray, weights: np.ndarray, out: np.ndarray, columns: np.ndarray | None = None
    ) -> None:
        """Fill out (len(J), p) with Z'diag(w) z_u for u in J, see `Standardized.gram_rows`."""
        J = [int(u) for u in J]
        if not np.array_equal(weights, self.weights):
            return super().gram_rows(J, weights, out, columns)
        rows, places = self.held.all_rows.rows([u for u in J if u not in self._direct])
        places = dict(zip((u for u in J if u not in self._direct), places.tolist(), strict=True))
        shared = np.array([i for i, u in enumerate(J) if places.get(u, -1) >= 0], dtype=np.intp)
        alone = np.setdiff1d(np.arange(len(J)), shared)
        columns = self.columns(J).T if columns is None else columns
        if shared.size:
            self._subtract(
                [J[i] for i in shared], rows, np.array([places[J[i]] for i in shared]), out, shared
            )
            if self._awkward.size:
                out[np.ix_(shared, self._awkward)] = self._among_awkward(
                    (columns[shared] * weights).T
                ).T
        if alone.size:
            part = np.empty((alone.size, self.p))
            super().gram_rows([J[i] for i in alone], weights, part, columns[alone])
            out[alone] = part

    def _subtract(self, J, rows, places, out, target):
        """out[target[i]] = Gram row of J[i], from `rows[places[i]]` of all rows: column ranges on
        the threads.
        """
        held, shrink = self.held, self._shrink
        factor = shrink[J] / held.V
        R = held.d[:, None] * held.block.columns(J) * factor
        own = held.away[J] * shrink[J]

        def part(start, stop):
            with pool.limited(1):
                G = rows[places, start:stop]
                G *= factor[:, None]
                G -= held.removed(R, own, start, stop)
                G *= shrink[start:stop]
                out[target, start:stop] = G

        width = max(256, BITE // len(J))
        with pool.one_blas_thread():
            pool.run(part, [*range(0, self.p, width), self.p])

    def _among_awkward(self, R):
        """Z_J'R for the awkward columns J, (len(J), m)."""
        out, width = np.empty((self._awkward.size, R.shape[1])), max(1, BLOCK_ENTRIES // self.n)
        for start in range(0, out.shape[0], width):
            out[start : start + width] = self.columns(self._awkward[start : start + width]).T @ R
        return out
