"""The best models of a node with few columns still to come, by computing all of them that a dual
point of the node does not exclude: where rows are few and the ridge is weak this takes less than
the tree of relaxations below the node.

A dual point from which the columns that are in leave `start`, and of which column j takes off h_j,
bounds the node with J besides by start - sum_J h_j. With the columns in order of h, the models that
it does not exclude are easily listed. Let S be the columns that are in, M = Z_S'diag(w)Z_S + 2
ridge = L L', and for every other column j

    w_j = inv(L) Z_S'diag(w)z_j,   c_j = z_j'diag(w)y - w_j'inv(L)q_S,
    d_j = z_j'diag(w)z_j + 2 ridge_j - w_j'w_j,   t_j = c_j / sqrt(d_j),

then S with j is below S alone by t_j^2 / 2, and S with i and j by

    (t_i^2 + t_j^2 - 2 r t_i t_j) / (2 (1 - r^2)),   r = (z_i'diag(w)z_j - w_i'w_j) / sqrt(d_i d_j)

(see `pair_scan`). Pairs are sieved in single precision, with a margin for its rounding; those that
remain are computed in double precision and refitted.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from ...core.dispatch import njit
from ...relaxation.bounds import base, gains, points_at

PAIRED_COLUMNS = 1 << 13  # columns whose Gram matrix is held in single precision
GRAM_OPERATIONS = 1 << 22  # of that matrix, at most, for each node that was solved before it
KEPT_ROWS = 1 << 22  # entries of the products of columns that are in with all columns
WEAKEST = 1e-4  # least ridge that is served, of the largest square of a column
LISTED = 256  # models that are let through at a time, at most
SINGLE_ROUNDING = 2.0**-24  # rounding of single precision
TO_COME = 3  # columns to come, at most
MOST_MODELS = 1 << 21  # models of a node that are computed, at most, where there are three to come


class Rest(NamedTuple):
    """The columns to come, by descending h: F (m,) their indices, h (m,), and W (s, m), c and d
    (m,) given the columns S (s,) that are in; value: that of the model S, lowered by rounding.
    """

    S: tuple
    F: np.ndarray
    h: np.ndarray
    W: np.ndarray
    c: np.ndarray
    d: np.ndarray
    value: float


class Sieve(NamedTuple):
    """In single precision, unit (m,) = 1 / sqrt(d), W (s, m) times `unit`, and t (m,) of columns
    F (m,).
    """

    F: np.ndarray
    unit: np.ndarray
    W: np.ndarray
    t: np.ndarray


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
            problem.quadratic
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
        while contest.cutoff < np.inf:
            before = contest.cutoff
            need = start - before
            F = np.flatnonzero(free)
            most = np.sort(h[F])[::-1][: size - 1].sum()
            F = F[h[F] >= need - most]
            F = F[np.argsort(-h[F], kind="stable")]
            if F.size < size:
                return True
            if size > 2 and models_at_most(h[F], size, need) > MOST_MODELS:
                return False
            complete = self._offer(contest, self.rest(S, F, h[F]), size, need)
            if complete or contest.cutoff == before:
                return complete
        return False

    def _offer(self, contest, rest, size, need):
        """Offer the models of `rest` with `size` columns to come whose h sum to `need` at least;
        whether these are all that are below the cutoff.
        """
        if size > 2:
            h, complete = rest.h, True
            for i in range(rest.F.size - size + 1):
                if h[i : i + size].sum() < need or not complete:
                    break
                last = (
                    i + 1 + int((h[i + 1 :] >= need - h[i] - h[i + 1 : i + size - 1].sum()).sum())
                )
                if last - i >= size:
                    inner = self.joined(rest, i, last)
                    complete = self._offer(contest, inner, size - 1, need - h[i])
            return complete
        found, complete = (
            ones(rest, contest.cutoff) if size == 1 else self._twos(rest, contest.cutoff, need)
        )
        for value, J in found:
            if value < contest.cutoff:
                contest.offer(np.concatenate([np.array(rest.S, dtype=np.int64), J]))
        return complete

    def _products(self, S):
        """(s, p) products of columns S with all columns."""
        X, weights = self.problem.X, self.problem.weights
        if self.q is None:
            self.q = X.correlate(weights * self.problem.y)
        fresh = [j for j in S if j not in self.rows]
        if (len(self.rows) + len(fresh)) * X.p > KEPT_ROWS:
            self.rows, fresh = {}, list(S)
        if fresh:
            found = X.correlate(weights[:, None] * X.columns(np.array(fresh)))
            self.rows.update((j, found[:, i].copy()) for i, j in enumerate(fresh))
        return np.array([self.rows[j] for j in S]).reshape(len(S), X.p)

    def rest(self, S, F, h):
        """The columns F, of descending h, given columns S."""
        S = tuple(int(j) for j in S)
        P, at = self._products(S), list(S)
        M = P[:, at]
        M[np.arange(len(S)), np.arange(len(S))] += self.ridge[at]
        L = dpotrf(M, lower=1)[0] if S else M
        W = solve_triangular(L, P[:, F], lower=True) if S else np.empty((0, F.size))
        x = solve_triangular(L, self.q[at], lower=True) if S else np.empty(0)
        d = np.maximum(self.square[F] + self.ridge[F] - (W**2).sum(axis=0), self.ridge[F])
        # rounding perturbs H; times |b|_1^2 <= s 2 half / least
        rounded = 4.0 * (len(S) + TO_COME) ** 2 * self.gamma * self.half * self.top / self.least
        value = self.half - 0.5 * float(x @ x) - rounded
        return Rest(S, F, h, W, self.q[F] - x @ W, d, value)

    def joined(self, rest, i, last):
        """What is left of `rest` from place i + 1 up to `last` once the column of place i is in."""
        at, j = slice(i + 1, last), int(rest.F[i])
        W = rest.W[:, at]
        row = (self._products([j])[0][rest.F[at]] - rest.W[:, i] @ W) / np.sqrt(rest.d[i])
        x = rest.c[i] / np.sqrt(rest.d[i])
        F = rest.F[at]
        d = np.maximum(rest.d[at] - row**2, self.ridge[F])
        value = rest.value - 0.5 * x * x
        return Rest(
            (*rest.S, j), F, rest.h[at], np.vstack([W, row]), rest.c[at] - x * row, d, value
        )

    def _gram(self):
        """The products of all columns, in single precision."""
        if self.G is None:
            X = self.problem.X
            Z = np.sqrt(self.problem.weights)[:, None] * X.columns(np.arange(X.p))
            self.G = np.empty((X.p, X.p), dtype=np.float32)
            for start in range(0, X.p, 512):
                self.G[start : start + 512] = Z[:, start : start + 512].T @ Z
        return self.G

    def _twos(self, rest, goal, need):
        """The pairs of two columns below `goal`, as `ones`."""
        S, F, h, W, c, d, value = rest
        if value <= goal:
            return [], False
        unit, edge = 1.0 / np.sqrt(d), 2.0 * (value - goal)
        t = c * unit
        most = float((t**2).max(initial=0.0))
        rounded = 2.0 * (len(S) + 8) * SINGLE_ROUNDING * self.top / self.least  # of r
        margin = (rounded + 8.0 * SINGLE_ROUNDING) * (2.0 * most + 4.0 * edge)
        single = [np.ascontiguousarray(v, dtype=np.float32) for v in (unit, W * unit, t)]
        last = np.searchsorted(-h, h - need, side="right")  # of each row: h_i + h_j >= need
        found = np.empty((LISTED, 2), dtype=np.int64)
        limits = np.array([edge, margin], dtype=np.float32)
        number = sieve(self._gram(), Sieve(F, *single), last, limits, found)
        i, j = found[: min(number, LISTED)].T
        # once more, in double precision
        X, weights = self.problem.X, self.problem.weights
        r = weights @ (X.columns(F[i]) * X.columns(F[j])) - (W[:, i] * W[:, j]).sum(axis=0)
        r *= unit[i] * unit[j]
        gain = (t[i] ** 2 + t[j] ** 2 - 2.0 * r * t[i] * t[j]) / (2.0 * (1.0 - r * r))
        order = np.argsort(-gain, kind="stable")
        order = order[value - gain[order] < goal]
        return [(float(value - gain[a]), F[[i[a], j[a]]]) for a in order], number <= LISTED


def models_at_most(h, size, need):
    """How many sets of `size` columns have h, descending, that sum to `need` at least: no fewer."""
    if size == 2:
        last = np.searchsorted(-h, h - need, side="right")
        return int(np.maximum(last - np.arange(h.size) - 1, 0).sum())
    total = 0
    for i in range(h.size - size + 1):
        if h[i : i + size].sum() < need or total > MOST_MODELS:
            break
        total += models_at_most(h[i + 1 :], size - 1, need - h[i])
    return total


def ones(rest, goal):
    """([(value, columns)] of the models with one column to come that can be below `goal`, the best
    first, and whether these are all); the values are bounds.
    """
    found = rest.value - 0.5 * rest.c**2 / rest.d
    order = np.argsort(found, kind="stable")
    order = order[found[order] < goal]
    models = [(float(found[i]), rest.F[i : i + 1]) for i in order[:LISTED]]
    return models, order.size <= LISTED


@njit
def sieve(G, columns, last, limits, found):
    """Fill `found` (rows, 2) with pairs of places i < j < last_i in F for which t_i^2 + t_j^2 - 2 r
    t_i t_j > edge (1 - r^2) - margin, limits = (edge, margin); returns their number, or more than
    there are rows where not all fit.
    """
    F, unit, W, t = columns
    number, row, edge, margin = 0, np.empty(F.size, dtype=np.float32), limits[0], limits[1]
    for i in range(F.size - 1):
        end = last[i]
        if end <= i + 1:
            break
        ti, scale, products, count = t[i], unit[i], G[F[i]], 0
        for j in range(i + 1, end):
            row[j] = products[F[j]] * unit[j]
        for j in range(i + 1, end):
            row[j] *= scale
        for k in range(W.shape[0]):
            factor, others = W[k, i], W[k]
            for j in range(i + 1, end):
                row[j] -= factor * others[j]
        start, twice = ti * ti - edge + margin, ti + ti
        for j in range(i + 1, end):
            count += start + t[j] * t[j] + row[j] * (edge * row[j] - twice * t[j]) > 0
        for j in range(i + 1, end if count else 0):
            if start + t[j] * t[j] + row[j] * (edge * row[j] - twice * t[j]) > 0:
                if number == found.shape[0]:
                    return number + 1
                found[number, 0], found[number, 1] = i, j
                number += 1
    return number
