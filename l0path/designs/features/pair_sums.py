"""Sums over rows of products of two columns, sum_i r_i z_ij z_ik for many listed pairs (j, k): a
symmetric product Z'diag(r)Z cut into blocks, of which only the listed entries are kept.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from l0path.core import threads as pool
from l0path.core.dispatch import njit
from l0path.designs.csc import Csc

ACROSS = 64  # columns j of one block of Z'diag(r)Z
# share of a block that must be listed for a matrix product to be worth it; below, the products are
# formed in tiles
DENSE = 0.25
BOUNDED_TOGETHER = 16  # columns of a block whose products a bound is asked about together
# share of rows and columns of a block that must be reached for the bound not to be asked further
FULL = 0.8
COPIED = 0.5  # share of columns up to which copying them is cheaper than multiplying all
SLACK = 1e-10  # relative, for the rounding of bounds on sums
PAIR_TILE = 1 << 17  # entries of such a tile: 1 MB


class PairRange(NamedTuple):
    """The pairs number start to stop - 1 of a list: column j makes the pairs number offsets[j] to
    offsets[j + 1] - 1, with the columns `partner`.
    """

    offsets: np.ndarray
    partner: np.ndarray
    start: int
    stop: int


class Pattern(NamedTuple):
    """Positions of the entries of a sparse matrix, by columns and by rows.

    Entries number indptr[j] to indptr[j + 1] - 1 are column j's, in rows `indices`, and stand at
    `places` by rows; those of row i end before ends[i] there, in columns `across`.
    """

    indptr: np.ndarray
    indices: np.ndarray
    places: np.ndarray
    ends: np.ndarray
    across: np.ndarray


class Factors(NamedTuple):
    """The three factors of sum_i r_i u_ij v_ik: u as stored by columns, v by rows, r (n,)."""

    u: np.ndarray
    v: np.ndarray
    r: np.ndarray


class DenseTable:
    """Centered columns Z (n, p0): kept as float64 in Fortran order from the first sum on."""

    def __init__(self, base, center):
        self.base, self.center = base, center

    @cached_property
    def Z(self):
        """X - 1 c', (n, p0)."""
        Z = self.base.columns(np.arange(self.base.p))
        Z -= self.center
        return Z

    @property
    def largest(self):
        """Largest |z_ij|."""
        return max(float(self.Z.max(initial=0.0)), -float(self.Z.min(initial=0.0)))

    def columns(self, J):
        """Z[:, J], (n, len(J))."""
        return self.base.columns(J) - self.center[J]

    def sums(self, R, pairs, out, start, stop, least=None):
        """out (stop - start, m) = sum_i R_im z_ij z_ik for the pairs number start to stop - 1; out
        may have any strides.

        least (m, p0): sums that `weights_of` proves to be at most least[m, j] may be 0.
        """
        here = PairRange(pairs.offsets, pairs.partner, start, stop)
        self._sums(self.Z, R, here, out, least)

    def weights_of(self, R):
        """nu (m, p0), nu_mj^2 = sum_i |R_im| z_ij^2, so that |sum_i R_im z_ij z_ik| <= nu_mj
        nu_mk.
        """
        out = np.empty((R.shape[1], self.base.p))
        A = np.abs(R).T
        step = max(1, PAIR_TILE // max(R.shape[0], 1))
        for start in range(0, self.base.p, step):
            out[:, start : start + step] = A @ self.Z[:, start : start + step] ** 2
        return np.sqrt(out)

    def moments(self, weights, pairs):
        """(sum_i w_i z_ij z_ik, sum_i w_i (z_ij z_ik)^2) of all pairs."""
        total = pairs.partner.size
        every = PairRange(pairs.offsets, pairs.partner, 0, total)
        mean, second = np.empty((total, 1)), np.empty((total, 1))
        self._sums(self.Z, weights[:, None], every, mean)
        self._sums(self.Z * self.Z, weights[:, None], every, second)
        return mean[:, 0], second[:, 0]

    def _sums(self, Z, R, pairs, out, least=None):
        start, stop = pairs.start, pairs.stop
        if stop <= start:
            return
        nu = None if least is None else self.weights_of(R) * (1 + SLACK)
        first, last = (
            int(np.searchsorted(pairs.offsets, t, side="right")) - 1 for t in (start, stop - 1)
        )
        R = np.asfortranarray(R)

        def block(a, b):
            low, high = max(int(pairs.offsets[a]), start), min(int(pairs.offsets[b]), stop)
            if high <= low:
                return
            counts = np.diff(np.clip(pairs.offsets[a : b + 1], low, high))
            j, k = np.repeat(np.arange(b - a), counts), pairs.partner[low:high].astype(np.intp)
            left, right = int(k.min()), int(k.max()) + 1
            if high - low < DENSE * (b - a) * (right - left):
                self._tiles(Z, R, j + a, k, out[low - start : high - start])
                return
            entries = j * (right - left) + (k - left)
            for m in range(R.shape[1]):
                if nu is None:
                    product = (Z[:, a:b] * R[:, m : m + 1]).T @ Z[:, left:right]
                else:
                    sides = Z[:, a:b], Z[:, left:right]
                    product = self._above(
                        *sides, R[:, m], nu[m, a:b], nu[m, left:right], least[m, a:b]
                    )
                out[low - start : high - start, m] = product.reshape(-1)[entries]

        with pool.one_blas_thread():
            pool.run(block, [*range(first, last + 1, ACROSS), last + 1])

    @staticmethod
    def _above(A, B, r, own, other, least):
        """A'diag(r)B, zeros where the bound refutes, with own and other the `weights_of` of the
        columns of A and B: columns of A by falling weight, BOUNDED_TOGETHER at a time, with those
        columns of B that any of them reaches.
        """
        if np.mean(own * np.quantile(other, 1 - FULL) > least) > FULL:  # hardly anything is refuted
            return (A * r[:, None]).T @ B
        out = np.zeros((A.shape[1], B.shape[1]))
        order = np.argsort(-own, kind="stable")
        most = other.max()
        for top in range(0, order.size, BOUNDED_TOGETHER):
            rows = order[top : top + BOUNDED_TOGETHER]
            rows = rows[own[rows] * most > least[rows]]
            if not rows.size:
                continue
            reached = np.flatnonzero(other * own[rows].max() > least[rows].min())
            weighted = (A[:, rows] * r[:, None]).T
            if reached.size > COPIED * other.size:
                out[rows] = weighted @ B
            else:
                out[np.ix_(rows, reached)] = weighted @ B[:, reached]
        return out

    @staticmethod
    def _tiles(Z, R, j, k, out):
        width = max(1, PAIR_TILE // max(Z.shape[0], 1))
        for start in range(0, j.size, width):
            here = slice(start, start + width)
            tile = Z[:, j[here]]
            tile *= Z[:, k[here]]
            out[here] = tile.T @ R


@njit
def _pair_sums(factors, pattern, pairs, first, last, wanted, out):
    """out[t - start] = sum_i r_i u_ij v_ik for the pairs t of the columns first..last - 1 that lie
    in the range `pairs`; 0 for columns not wanted (p0,).
    """
    u, v, r = factors.u, factors.v, factors.r
    indptr, indices, places = pattern.indptr, pattern.indices, pattern.places
    ends, across, partner, start = pattern.ends, pattern.across, pairs.partner, pairs.start
    slot = np.full(wanted.size, -1, np.int64)  # where the sum with each partner stands in out
    for j in range(first, last):
        low, high = max(pairs.offsets[j], start), min(pairs.offsets[j + 1], pairs.stop)
        if low >= high:
            continue
        out[low - start : high - start] = 0.0
        if not wanted[j]:
            continue
        for t in range(low, high):
            slot[partner[t]] = t - start
        for e in range(indptr[j], indptr[j + 1]):
            i = indices[e]
            factor = u[e] * r[i]
            if factor != 0.0:
                for g in range(places[e], ends[i]):
                    at = slot[across[g]]
                    if at >= 0:
                        out[at] += factor * v[g]
        for t in range(low, high):
            slot[partner[t]] = -1


class SparseTable:
    """A sparse X by columns and by rows; products of centered columns follow from those of X:
    (x_j - c_j)(x_k - c_k) = x_j x_k - c_k x_j - c_j x_k + c_j c_k.
    """

    def __init__(self, base, center):
        self.base, self.center = base, center
        rows = base.indices.astype(np.int64)
        of = np.repeat(np.arange(base.p), np.diff(base.indptr))
        order = np.argsort(rows, kind="stable")  # by rows, in a row by columns
        across, self.values = of[order].astype(np.uint32), base.data[order]
        ends = np.cumsum(np.bincount(rows, minlength=base.n))
        places = np.empty(rows.size, dtype=np.int64)
        places[order] = np.arange(rows.size)
        self.pattern = Pattern(base.indptr, base.indices, places, ends, across)
        self.work = np.concatenate([[0], np.cumsum(ends[rows] - places)])[base.indptr]

    @property
    def largest(self):
        """Largest |z_ij|."""
        return float(np.abs(self.base.data).max(initial=0.0)) + float(
            np.abs(self.center).max(initial=0.0)
        )

    def columns(self, J):
        """Z[:, J], (n, len(J))."""
        return self.base.columns(J) - self.center[J]

    def weights_of(self, R):
        """The same as in `DenseTable`, with a margin for the rounding of expanded squares of
        centered columns.
        """
        c, A = self.center, np.abs(R)
        single = self.base.correlate(A) if c.any() else 0.0
        squares = self._squared().correlate(A)
        return np.sqrt(
            np.maximum(squares - 2.0 * c[:, None] * single + c[:, None] ** 2 * A.sum(axis=0), 0.0)
            + SLACK * (squares + c[:, None] ** 2 * A.sum(axis=0))
        ).T

    def _squared(self):
        """The design of X^2, entry by entry."""
        squares = Csc.__new__(Csc)
        squares.__dict__.update(self.base.__dict__, data=self.base.data**2)
        return squares

    def sums(self, R, pairs, out, start, stop, least=None):
        """The same as in `DenseTable`; `least` leaves out all pairs of a first factor or none."""
        c, single, wanted = self.center, None, np.ones((R.shape[1], self.base.p), dtype=bool)
        if least is not None:
            nu = self.weights_of(R) * (1 + SLACK)
            # partners come after the first factor
            wanted = nu * np.maximum.accumulate(nu[:, ::-1], axis=1)[:, ::-1] > least
        if c.any():
            single, total = self.base.correlate(R), R.sum(axis=0)
        here = PairRange(pairs.offsets, pairs.partner, int(start), int(stop))
        for m in range(R.shape[1]):
            factors = Factors(self.base.data, self.values, np.ascontiguousarray(R[:, m]))
            raw = self._raw(factors, here, wanted[m])
            if single is not None:
                j, k = self._parents(here)
                raw -= c[k] * single[j, m]
                raw -= c[j] * (single[k, m] - c[k] * total[m])
                raw[~wanted[m][j]] = 0.0
            out[:, m] = raw

    def _parents(self, pairs):
        counts = np.diff(np.clip(pairs.offsets, pairs.start, pairs.stop))
        return np.repeat(np.arange(counts.size), counts), pairs.partner[pairs.start : pairs.stop]

    def _raw(self, factors, pairs, wanted=None):
        """sum_i r_i u_ij v_ik for a range of pairs, with the pattern of X; 0 where the first
        factor is not wanted (p0,).
        """
        out, base = np.empty(pairs.stop - pairs.start), self.base
        wanted = np.ones(base.p, dtype=bool) if wanted is None else wanted
        marks = np.linspace(0, self.work[-1], 8 * pool.count() + 1)[1:-1]
        cuts = (
            [
                0,
                *np.unique(np.clip(np.searchsorted(self.work, marks), 1, base.p - 1)).tolist(),
                base.p,
            ]
            if base.p > 1
            else [0, 1]
        )

        def part(first, last):
            _pair_sums(factors, self.pattern, pairs, first, last, wanted, out)

        pool.run(part, cuts)
        return out

    def moments(self, weights, pairs):
        """The same as in `DenseTable`; the squares of centered columns are expanded into sums over
        X and X^2.
        """
        total, c = pairs.partner.size, self.center
        every = PairRange(pairs.offsets, pairs.partner, 0, total)
        w = np.ascontiguousarray(weights, dtype=np.float64)
        x, y = self.base.data, self.values
        mean = np.empty((total, 1))
        self.sums(w[:, None], pairs, mean, 0, total)
        second = self._raw(Factors(x * x, y * y, w), every)
        if c.any():
            j, k = self._parents(every)
            base = self.base
            one, two, mass = base.correlate(w), self._squared().correlate(w), w.sum()
            a, b = c[j], c[k]
            second -= 2 * b * self._raw(Factors(x * x, y, w), every)
            second -= 2 * a * self._raw(Factors(x, y * y, w), every)
            second += 4 * a * b * self._raw(Factors(x, y, w), every)
            second += b * b * (two[j] - 2 * a * one[j] + a * a * mass) + a * a * (
                two[k] - 2 * b * one[k]
            )
        return mean[:, 0], second
