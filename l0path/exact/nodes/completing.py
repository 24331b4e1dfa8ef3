"""The best models of a node with few columns still to come, by computing all of them that a dual
point of the node does not exclude: where rows are few and the ridge is weak this takes less than
the tree of relaxations below the node.

A dual point from which the columns that are in leave `start`, and of which column j takes off h_j,
bounds the node with J besides by start - sum_J h_j. With the columns in order of h, the models that
it does not exclude are easily listed. Let S be the columns that are in, M = Z_S'diag(w)Z_S + 2
ridge = L L', and for other columns i and j

    w_j = inv(L) Z_S'diag(w)z_j,   c_j = z_j'diag(w)y - w_j'inv(L)q_S,
    d_j = z_j'diag(w)z_j + 2 ridge_j - w_j'w_j,   t_j = c_j / sqrt(d_j),
    r_ij = (z_i'diag(w)z_j - w_i'w_j) / sqrt(d_i d_j),

then S with j is below S alone by t_j^2 / 2, and S with i and j by more than edge / 2 where

    t_i^2 d_j + t_j^2 d_i - 2 t_i t_j g > edge (d_i d_j - g^2),   d = 1,   g = r_ij.

Once a column a is in besides, t_j becomes t_j - r_aj t_a, d_j 1 - r_aj^2, g r_ij - r_ai r_aj, and
edge less by t_a^2. Models of two and three columns are sieved by this in single precision, with a
margin for its rounding; those that remain are computed in double precision and refitted.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from ...core.dispatch import njit
from ...relaxation.bounds import base, gains, largest, points_at
from ...relaxation.path_bounds import copied

PAIRED_COLUMNS = 1 << 13  # columns whose Gram matrix is held in single precision
GRAM_OPERATIONS = 1 << 22  # of that matrix, at most, for each node that was solved before it
KEPT_ROWS = 1 << 22  # entries of the products of columns that are in with all columns
WEAKEST = 3e-3  # least ridge that is served, of the largest square of a column
LISTED = 256  # models that are let through at a time, at most
SINGLE_ROUNDING = 2.0**-24
TO_COME = 3  # columns to come, at most
MODELS_EACH = 1 << 11  # models of a node that are computed, at most, for each column of X


class Rest(NamedTuple):
    """The m columns to come, by descending h, given the s columns that are in."""

    F: np.ndarray  # (m,), their indices
    h: np.ndarray  # (m,)
    W: np.ndarray  # (s, m)
    c: np.ndarray  # (m,)
    d: np.ndarray  # (m,)
    value: float  # of the model of the columns that are in, lowered by rounding


class Sieve(NamedTuple):
    """Columns to come in single precision."""

    F: np.ndarray  # (m,), their indices
    h: np.ndarray  # (m,), in double precision
    unit: np.ndarray  # (m,), 1 / sqrt(d)
    W: np.ndarray  # (s, m), times unit
    t: np.ndarray  # (m,)


class Moved(NamedTuple):
    """(m,) each, once column a is in: r_aj, d_j, t_j and their squares."""

    r: np.ndarray
    d: np.ndarray
    t: np.ndarray
    squares: np.ndarray


class Completions:
    """Models of the nodes of a squared loss with a ridge alone; `half` is the loss of zero, gamma
    the relative rounding of a product.
    """

    def __init__(self, dual, half, gamma):
        problem = dual.problem
        self.problem, self.half, self.gamma = problem, half, gamma
        split = 0.0 if dual.split is None else dual.split
        self.ridge = 2.0 * dual.ridge - split  # 2 lambda2
        self.dual, self.square = dual, problem.square
        usable = problem.usable
        self.top = float(np.max(self.square[usable] + self.ridge[usable], initial=0.0))
        self.least = float(np.min(self.ridge[usable], initial=np.inf))
        self.served = (
            copied(problem)
            and dual.lambda1 == 0
            and not np.isfinite(dual.lower[usable]).any()
            and not np.isfinite(dual.upper[usable]).any()
            and self.least > WEAKEST * self.top
        )
        self.rows, self.G, self.q = {}, None, None

    def may(self, size, nodes):
        """Whether nodes with `size` columns to come are served, after so many nodes."""
        if not self.served or not 1 <= size <= TO_COME:
            return False
        p = self.problem.X.p
        cheap = p <= PAIRED_COLUMNS and self.problem.X.n * p**2 <= GRAM_OPERATIONS * nodes
        return size == 1 or self.G is not None or cheap

    def compare(self, contest, into, out, size, relaxed):
        """Offer a `Contest` the best models of the forced columns, those of `into`, and `size`
        others without those of `out`; whether no other model of them is below its cutoff. relaxed:
        (columns, their coefficients), of which the dual point is made.
        """
        J, b = relaxed
        points = points_at(self.dual, J, b[:, None])
        h = gains(self.dual, points, 0)
        start = base(self.dual, points, 0, h) - h[into].sum()
        free, S = self.dual.counted.copy(), np.concatenate([self.problem.forced, into])
        free[S] = free[out] = False
        free, complete = np.flatnonzero(free), False
        h, most = h[free], MODELS_EACH * self.problem.X.p
        top = largest(h, size - 1).sum()
        while contest.cutoff < np.inf and not complete:
            before = contest.cutoff
            need = start - before
            if math.comb(int(np.count_nonzero(size * h >= need)), size) > most:
                return False
            at = np.flatnonzero(h >= need - top)
            at = at[np.argsort(-h[at], kind="stable")]
            if at.size < size:
                return True
            F, g = free[at], h[at]
            if size > 1 and models_at_most(g, size, need, most) > most:
                return False
            rest = self._rest(S, F, g)
            models, complete = self._listed(rest, size, before, need)
            for value, J in models:
                if value < contest.cutoff:
                    contest.offer(np.concatenate([S, J]))
            if contest.cutoff == before:
                return complete
        return complete

    def _products(self, S):
        """(s, p) products of columns S with all columns."""
        X, weights = self.problem.X, self.problem.weights
        if self.q is None:
            self.q = X.correlate(weights * self.problem.y)
        S = S.tolist()
        fresh = [j for j in S if j not in self.rows]
        if (len(self.rows) + len(fresh)) * X.p > KEPT_ROWS:
            self.rows, fresh = {}, S
        if fresh:
            found = X.correlate(weights[:, None] * X.columns(np.array(fresh)))
            self.rows.update((j, found[:, i].copy()) for i, j in enumerate(fresh))
        return np.array([self.rows[j] for j in S]).reshape(len(S), X.p)

    def _rest(self, S, F, h):
        """The columns F, of descending h, given columns S."""
        P = self._products(S)
        M = P[:, S]
        M[np.arange(S.size), np.arange(S.size)] += self.ridge[S]
        L = dpotrf(M, lower=1)[0] if S.size else M
        W = solve_triangular(L, P[:, F], lower=True) if S.size else np.empty((0, F.size))
        x = solve_triangular(L, self.q[S], lower=True) if S.size else np.empty(0)
        d = np.maximum(self.square[F] + self.ridge[F] - (W**2).sum(axis=0), self.ridge[F])
        # rounding perturbs H; times |b|_1^2 <= s 2 half / least
        rounded = 4.0 * (S.size + TO_COME) ** 2 * self.gamma * self.half * self.top / self.least
        value = self.half - 0.5 * float(x @ x) - rounded
        return Rest(F, h, W, self.q[F] - x @ W, d, value)

    def _gram(self):
        """The products of all columns, in single precision."""
        if self.G is None:
            X = self.problem.X
            Z = np.sqrt(self.problem.weights)[:, None] * X.columns(np.arange(X.p))
            self.G = np.empty((X.p, X.p), dtype=np.float32)
            for start in range(0, X.p, 512):
                self.G[start : start + 512] = Z[:, start : start + 512].T @ Z
        return self.G

    def _listed(self, rest, size, goal, need):
        """([(value, columns)] of the models with `size` columns to come that can be below `goal`
        and whose h sum to `need` at least, the best first, and whether these are all); the values
        are bounds.
        """
        F, h, W, c, d, value = rest
        t = c / np.sqrt(d)
        if size == 1:
            order = np.argsort(-np.abs(t), kind="stable")
            order = order[value - 0.5 * t[order] ** 2 < goal]
            places, number = order[:LISTED, None], order.size
        else:
            unit, edge, most = 1.0 / np.sqrt(d), 2.0 * (value - goal), float((t**2).max())
            rounded = 2.0 * (W.shape[0] + 8) * SINGLE_ROUNDING * self.top / self.least  # of r
            margin = rounded * (96.0 * most + 16.0 * abs(edge))
            single = [np.ascontiguousarray(v, dtype=np.float32) for v in (unit, W * unit, t)]
            limits = np.array([edge, margin], dtype=np.float32)
            places, columns = np.empty((LISTED, size), dtype=np.int64), Sieve(F, h, *single)
            kernel = pairs if size == 2 else triples
            number = kernel(self._gram(), columns, need, limits, places)
            places = places[: min(number, LISTED)]
        gain = self._gains(rest, places)
        order = np.argsort(-gain, kind="stable")
        order = order[value - gain[order] < goal]
        return [(float(value - gain[i]), F[places[i]]) for i in order], number <= LISTED

    def _gains(self, rest, places):
        """(k,): how far models with the columns of `places` (k, size) are below that without."""
        F, (k, size) = rest.F[places], places.shape
        Z = self.problem.X.columns(F.ravel()).reshape(self.problem.X.n, k, size)
        W = rest.W[:, places]
        H = np.einsum("i,ika,ikb->kab", self.problem.weights, Z, Z) - np.einsum(
            "ika,ikb->kab", W, W
        )
        H[:, np.arange(size), np.arange(size)] += self.ridge[F]
        c = rest.c[places]
        return 0.5 * (c * np.linalg.solve(H, c[:, :, None])[:, :, 0]).sum(axis=1)


@njit
def models_at_most(h, size, need, most):
    """How many sets of two or three columns have h, descending, that sum to `need` at least; some
    number above `most` where they are more.
    """
    if size == 2:
        return _pairs_at_most(h, 0, need)
    total = 0
    for i in range(h.size - 2):
        count = _pairs_at_most(h, i + 1, need - h[i])
        total += count
        if count == 0 or total > most:
            break
    return total


@njit
def _pairs_at_most(h, start, need):
    """The same for two columns from place `start` on."""
    total, end = 0, h.size
    for i in range(start, h.size - 1):
        while end > i + 1 and h[i] + h[end - 1] < need:
            end -= 1
        if end <= i + 1:
            break
        total += end - i - 1
    return total


@njit
def correlations(G, columns, i, end, row):
    """Fill row[j] with r_ij, i < j < end."""
    start, products, scale, W = i + 1, G[columns.F[i]], columns.unit[i], columns.W
    # slices: an index that might be negative would keep these loops from vector units
    F, unit, row = columns.F[start:end], columns.unit[start:end], row[start:end]
    for j in range(row.size):
        row[j] = products[F[j]]
    for j in range(row.size):
        row[j] *= scale * unit[j]
    for k in range(W.shape[0]):
        factor, others = W[k, i], W[k, start:end]
        for j in range(row.size):
            row[j] -= factor * others[j]


@njit
def sieve(row, moved, i, end, limits, hits):
    """List in `hits` the places j, i < j < end, whose columns may be in with that of i (see the
    module); returns their number.
    """
    r, d, t, squares = moved
    start, edge, least, ri, di, ti = i + 1, limits[0], -limits[1], r[i], d[i], t[i] + t[i]
    slope, some, count = squares[i] - di * edge, 0, 0
    r, d, t, squares = r[start:end], d[start:end], t[start:end], squares[start:end]
    row = row[start:end]
    for j in range(row.size):
        g = row[j] - ri * r[j]
        some += d[j] * slope + di * squares[j] + g * (edge * g - ti * t[j]) > least
    if some == 0:
        return 0
    for j in range(row.size):
        g = row[j] - ri * r[j]
        # whatever the order of these sums, what was counted is listed
        if d[j] * slope + di * squares[j] + g * (edge * g - ti * t[j]) > least + least:
            hits[count] = start + j
            count += 1
    return count


@njit
def pairs(G, columns, need, limits, found):
    """Fill `found` (rows, 2) with pairs of places in F that pass the sieve; returns their number,
    or more than there are rows where not all fit.
    """
    h, t = columns.h, columns.t
    m, number, end = h.size, 0, h.size
    row, hits = np.empty(m, dtype=np.float32), np.empty(m, dtype=np.int64)
    moved = Moved(np.zeros_like(t), np.ones_like(t), t, t * t)
    for i in range(m - 1):
        while end > i + 1 and h[i] + h[end - 1] < need:
            end -= 1
        if end <= i + 1:
            break
        correlations(G, columns, i, end, row)
        count = sieve(row, moved, i, end, limits, hits)
        for l in range(count):
            if number == found.shape[0]:
                return number + 1
            found[number, 0], found[number, 1] = i, hits[l]
            number += 1
    return number


@njit
def triples(G, columns, need, limits, found):
    """The same for three columns, found (rows, 3)."""
    h, t = columns.h, columns.t
    m, number, rows, end = h.size, 0, 0, h.size
    while rows < m - 1 and h[0] + h[rows] + h[rows + 1] >= need:
        rows += 1
    R, hits = np.empty((rows, m), dtype=np.float32), np.empty(m, dtype=np.int64)
    for i in range(rows):
        while end > i + 1 and h[0] + h[i] + h[end - 1] < need:
            end -= 1
        correlations(G, columns, i, end, R[i])
    r, d, u, squares = np.zeros((4, m), dtype=np.float32)
    moved, inner = Moved(r, d, u, squares), limits.copy()
    one = np.float32(1.0)
    for a in range(rows):
        if a > m - 3 or h[a] + h[a + 1] + h[a + 2] < need:
            break
        end = m
        while end > a + 2 and h[a] + h[a + 1] + h[end - 1] < need:
            end -= 1
        row, ta = R[a], t[a]
        for j in range(a + 1, end):
            r[j] = row[j]
            d[j] = one - row[j] * row[j]
            u[j] = t[j] - row[j] * ta
            squares[j] = u[j] * u[j]
        inner[0] = limits[0] - ta * ta
        for i in range(a + 1, end - 1):
            while end > i + 1 and h[a] + h[i] + h[end - 1] < need:
                end -= 1
            if end <= i + 1:
                break
            count = sieve(R[i], moved, i, end, inner, hits)
            for l in range(count):
                if number == found.shape[0]:
                    return number + 1
                found[number, 0], found[number, 1], found[number, 2] = a, i, hits[l]
                number += 1
    return number
