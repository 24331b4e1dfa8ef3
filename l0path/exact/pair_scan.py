"""The best least squares models of one or two columns, by computing all of them.

    value of {i}:     v - t_i^2 / 2
    value of {i, j}:  v - (t_i^2 + t_j^2 - 2 r t_i t_j) / (2 (1 - r^2)),
                      t_j = c_j / sqrt(s_j),  r = G_ij / sqrt(s_i s_j)

A (n, p) are the columns times the root of the weights, less their projection on the forced columns
(with a ridge: on those extended by sqrt(2 lambda2) I), c = A'y, G = A'A, s_j = G_jj + 2 lambda2, v
the value of the forced columns alone. Where 1 - |r| < NEAR_COPY the same value is computed from the
difference d of the two unit columns, which no cancellation touches:

    (t_i^2 + t_j^2 - 2 r t_i t_j) / (1 - r^2) = 2 ((d'y)^2 / ||d||^2 + sign(r) t_i t_j) / (1 + |r|),
    1 - |r| = ||d||^2 / 2

It takes n p^2 / 2 operations. Source: the normal equations of two columns.
"""

import math

import numpy as np

from ..core.status import SearchEnd
from ..core.threads import one_blas_thread
from ..designs.disk.column_blocks import ColumnBlocks
from ..problem.problem import EPS
from ..working_set.columns import CLAIMED
from .beside_forced import BesideForced, confirms, rounding_of_values
from .contest import Contest

PAIR_OPERATIONS = 1e11  # n p^2 / 2 (one column: n p) up to which all models are computed
PAIR_BLOCK = 384  # columns of a block: the products of two blocks stay in cache
PAIR_ENTRIES = 1 << 25  # entries of A up to which it is held; beyond, blocks are fetched again
NEAR_COPY = 1e-5  # 1 - |r| below which a pair is computed from its difference
MORE_REFITS = 8  # models that are refitted beyond those that are wanted: rounding may change ranks
ROUNDED = 1e-13  # length below which a column, or a difference of two, is rounding


def scannable(problem, *, size, lambda1):
    """Whether `PairScan` serves a size of a problem."""
    J = candidates(problem)
    used = np.union1d(J, problem.forced)
    return (
        problem.one_gram
        and lambda1 == 0
        and 1 <= size <= min(2, J.size)
        and 0.5 * problem.X.n * float(J.size) ** size <= PAIR_OPERATIONS
        and (size == 1 or problem.X.n * J.size <= PAIR_ENTRIES or not on_disk(problem))
        and not np.isfinite(problem.lower[used]).any()
        and not np.isfinite(problem.upper[used]).any()
    )


def on_disk(problem):
    """Whether X is read from files, by whose blocks it would have to be read many times."""
    return isinstance(problem.X.design, ColumnBlocks)


def candidates(problem):
    """Columns that may be chosen."""
    free = problem.usable & ((problem.lower != 0) | (problem.upper != 0))
    free[problem.forced] = False
    return np.flatnonzero(free)


def _unclear(square, rounding_scale):
    """Whether lengths are more than rounding, but too little for any claim."""
    length = np.sqrt(square)
    return (length > 64.0 * EPS * rounding_scale) & (length * CLAIMED <= rounding_scale)


class PairScan(Contest):
    """One search. problem, size (1 or 2 columns besides forced ones), lambda2; refit(support) ->
    (value, what is kept of it); n_best: how many of the best supports are wanted.

    best: [(value, what was kept)], ascending, at least two where there are two; lower: no model of
    at most `size` columns is below it; nodes: models computed; close: a support that is wanted, but
    whose refit differs from its scanned value, because its columns are too close to each other for
    the refit; None for none. `run` may be called again to go on.
    """

    def __init__(self, problem, *, size, lambda2, refit, n_best=1):
        self.problem, self.size, self.lambda2, self.refit = problem, size, lambda2, refit
        self.wanted, self.n_best = n_best, max(n_best, 2)
        self.best, self.seen, self.nodes, self.close = [], set(), 0, None
        self.J, self.lower, self.beside, self.blocks = candidates(problem), -math.inf, None, {}
        self.found = []  # (gain, i, j), positions in J, the best first
        self.unclear = None  # columns whose condition is beyond what anything is claimed of
        starts = range(0, self.J.size, PAIR_BLOCK)
        pairs = [(a, b) for a in starts for b in starts if a <= b]
        self.todo = ([(a, a) for a in starts] if size == 1 else pairs)[::-1]

    def run(self, poll=None):
        """Compute models until all are ("closed"), or poll() is True ("stopped"); "too_close" where
        a refit does not confirm the value of a model that is wanted.
        """
        with one_blas_thread():
            if self.beside is None:
                self._start()
            while self.todo and not (poll is not None and poll()):
                a, b = self.todo.pop()
                self._one(a) if self.size == 1 else self._two(a, b)
            self._compare()
        if self.todo:
            return SearchEnd.STOPPED
        return SearchEnd.CLOSED if self.close is None else SearchEnd.TOO_CLOSE

    def _start(self):
        """What the forced columns leave of y."""
        problem, F = self.problem, self.problem.forced
        rounded = ROUNDED * math.sqrt(problem.X.n + F.size)
        self.beside = BesideForced(
            problem, F, self.lambda2, lambda length: np.count_nonzero(length > rounded)
        )
        self.y, length = self.beside.left_of(self.beside.root * problem.y)
        self.half = 0.5 * float(length**2)
        self.value = 0.5 * float(self.y @ self.y)
        # held, because memory that is asked for again at every block takes as long as a product
        self.rooms = np.empty((2, min(PAIR_BLOCK, self.J.size) ** 2)) if self.size > 1 else None

    def _block(self, start):
        """(U, t, share, rough) of a block: columns scaled by 1 / sqrt(s_j), 0 where they add
        nothing, their products with y, the part 2 lambda2 / s_j of the ridge in s_j, and what the
        rounding of U is proportional to.
        """
        if start in self.blocks:
            return self.blocks[start]
        J, X = self.J[start : start + PAIR_BLOCK], self.problem.X
        A, full = self.beside.left_of(self.beside.root[:, None] * X.columns(J))
        rounding_scale = full + np.abs(X.center[J]) / X.scale[J]
        square = (A**2).sum(axis=0)
        some = np.sqrt(square) > ROUNDED * rounding_scale
        unclear = _unclear(square + 2.0 * self.lambda2, rounding_scale)
        if unclear.any():
            self.unclear = np.append(self.problem.forced, J[unclear.argmax()])
        unit = np.where(some, 1.0 / np.sqrt(np.where(some, square + 2.0 * self.lambda2, 1.0)), 0.0)
        U = A * unit
        out = U, self.y @ U, 2.0 * self.lambda2 * unit**2, rounding_scale * unit
        if self.J.size * X.n <= PAIR_ENTRIES:
            self.blocks[start] = out
        return out

    def _one(self, start):
        t = self._block(start)[1]
        self.nodes += t.size
        self._record(0.5 * t**2, start + np.arange(t.size), np.full(t.size, -1))

    def _two(self, left, right):
        """All pairs of two blocks."""
        (U, t, *_), (V, u, *_) = self._block(left), self._block(right)
        r, square = (room[: t.size * u.size].reshape(t.size, -1) for room in self.rooms)
        np.matmul(U.T, V, out=r)
        near = np.multiply(r, r, out=square) > (1.0 - NEAR_COPY) ** 2
        r *= -2.0 * t[:, None]
        r *= u
        r += (t**2)[:, None]
        r += u**2
        square -= 1.0
        square *= -2.0
        square[near] = 1.0
        gain = np.divide(r, square, out=r)
        gain[near] = -1.0
        if left == right:
            gain[np.tril_indices(t.size)] = -1.0
            near &= ~np.tri(t.size, dtype=bool)
        self.nodes += t.size * (t.size - 1) // 2 if left == right else gain.size
        i, j = np.nonzero(gain > self.least)
        self._record(gain[i, j], left + i, right + j)
        i, j = np.nonzero(near)
        for at in range(0, i.size, 4 * PAIR_BLOCK):
            part = slice(at, at + 4 * PAIR_BLOCK)
            self._record(self._near(left, right, i[part], j[part]), left + i[part], right + j[part])

    def _near(self, left, right, i, j):
        """Gains of pairs of columns that are nearly proportional, by their differences."""
        (U, t, share, rounding_scale), (V, u, other, uneven) = self._block(left), self._block(right)
        sign = np.where((U[:, i] * V[:, j]).sum(axis=0) < 0.0, -1.0, 1.0)
        d = U[:, i] - sign * V[:, j]
        square = (d**2).sum(axis=0) + share[i] + other[j]
        same = np.sqrt(square) <= ROUNDED * (rounding_scale[i] + uneven[j])
        unclear = _unclear(square, rounding_scale[i] + uneven[j])
        if unclear.any():
            at = unclear.argmax()
            self.unclear = self.J[[left + i[at], right + j[at]]]
        both = 2.0 - 0.5 * square  # 1 + |r|
        slope = (self.y @ d) ** 2 / np.where(same, 1.0, square)
        pair = (slope + sign * t[i] * u[j]) / both
        return np.where(same, 0.5 * np.maximum(t[i] ** 2, u[j] ** 2), pair)

    @property
    def least(self):
        """The gain below which a model is not worth a note."""
        return self.found[-1][0] if len(self.found) == self.n_best + MORE_REFITS else -1.0

    def _record(self, gain, i, j):
        """Keep the models of largest gain (arrays gain, i, j), of equal ones the first columns."""
        most = self.n_best + MORE_REFITS
        if gain.size > most:
            top = np.argsort(-gain, kind="stable")[:most]
            gain, i, j = gain[top], i[top], j[top]
        more = [(float(g), int(a), int(b)) for g, a, b in zip(gain, i, j, strict=True)]
        more += self.found
        self.found = sorted(more, key=lambda model: (-model[0], *model[1:]))[:most]

    def _compare(self):
        """Refit the models that were found; unless some are still to be computed, bound the others
        by them.
        """
        offers = []
        for gain, i, j in self.found:
            at = [i] if self.size == 1 else [i, j]
            support = np.sort(np.append(self.problem.forced, self.J[at]))
            if support.tobytes() not in self.seen:
                self.seen.add(support.tobytes())
                value, kept = self.refit(support)
                self.accept(value, kept)
                offers.append((self.value - gain, value, support))
        if self.todo:
            return
        last = self.best[min(self.wanted, len(self.best)) - 1][0]
        slack = rounding_of_values(self.problem, self.half)
        off = [
            (scanned, support)
            for scanned, value, support in offers
            if not confirms(value, scanned, slack) and min(scanned, value) <= last
        ]
        self.close = off[0][1] if off else self.unclear
        if self.unclear is None:
            self.lower = min([self.best[0][0], *(scanned for scanned, _ in off)])
