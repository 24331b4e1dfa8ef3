"""Weighted Gram matrices of the working columns: fits with similar curvatures share one, once there
are enough of them, so that a table of exchanges costs O(n w) and not O(n k w).
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..core import threads
from ..core.dispatch import njit
from ..problem.verbs import coupled_columns, multiplies, multiply_columns
from .linear_algebra import invert_with_ridge, weighted_squares

COLUMNS_WEIGHTED = 64  # working columns weighted at a time
# L1 distance of curvatures, each scaled to sum to one, up to which a Gram matrix serves
CLOSE = 0.6
# what the kept matrices may take together, and what the kept local models may take
CURVATURE_BYTES = 48 << 20
OF_ALL = np.empty(0, np.int64)  # `LocalTable.place` where the m columns are all working columns


def taken_off(problem, eta, Z):
    """The part of a coupled loss that is subtracted from the curvatures of columns Z (m, n), one a
    row, at a predictor: the product of two such (m, r), r = 0 for others.
    """
    p = problem
    if not p.loss.traits.coupled:
        return np.empty((Z.shape[0], 0))
    return coupled_columns(p.loss, p.y, eta, p.weights, Z)


def curved(problem, eta, v, Z):
    """(Z, ZB, P) of columns Z (m, n), one a row, at a predictor with curvatures v, with which the
    Hessian of a and b is (ZB)_a'Z_b - P_a'P_b: with an intercept less what it takes of them.
    """
    p = problem
    if not multiplies(p.loss):
        total = v.sum()
        if p.intercept and total > 0:
            Z = Z - (Z @ v / total)[:, None]
        return Z, Z * v, taken_off(p, eta, Z)
    ones = np.ones((int(p.intercept), Z.shape[1]))
    products = multiply_columns(p.loss, p.y, eta, p.weights, np.vstack([Z, ones]))
    ZB, of_ones = products[: len(Z)], products[len(Z) :]
    if of_ones.sum() > 0:
        level = (ZB.sum(axis=1) / of_ones.sum())[:, None]
        Z, ZB = Z - level, ZB - level * of_ones
    return Z, ZB, np.empty((len(Z), 0))


class WeightedGram:
    """G (w, w) = Z diag(v) Z' about the v-means if `centered`, for one v (n,): total = sum v, mean
    (w,), diagonal (w,). `extend` follows the working columns.
    """

    def __init__(self, v, centered):
        self.v = v
        self.centered = centered
        self.total = max(float(v.sum()), 1e-300)
        self.kept = True
        self.width, self.G, self.mean, self.diagonal = 0, np.empty((0, 0)), np.empty(0), np.empty(0)

    def extend(self, Z, width):
        """Take in the working columns up to `width` (rows of Z)."""
        if width == self.width:
            return
        old = self.width
        if self.G.shape[0] < width:
            G = np.empty((width + width // 4, width + width // 4))
            mean = np.zeros(width + width // 4)
            G[:old, :old], mean[:old] = self.G[:old, :old], self.mean[:old]
            self.G, self.mean = G, mean
        G, mean = self.G, self.mean

        def task(start, stop):
            ZV = Z[start:stop] * self.v
            if self.centered:
                mean[start:stop] = ZV.sum(axis=1) / self.total
            G[start:stop, :stop] = ZV @ Z[:stop].T

        threads.run(task, [*range(old, width, COLUMNS_WEIGHTED), width])
        for start in range(old, width, COLUMNS_WEIGHTED):
            stop = min(start + COLUMNS_WEIGHTED, width)
            if self.centered:
                G[start:stop, :stop] -= (self.total * mean[start:stop])[:, None] * mean[:stop]
            G[:stop, start:stop] = G[start:stop, :stop].T
        self.width, self.diagonal = width, np.ascontiguousarray(np.diagonal(G)[:width])


class WeightedGrams:
    """The matrices that were made. `near` gives the closest; where none is close it makes one as
    soon as that costs no more than the tables asked for there; the oldest go when memory is short.
    """

    def __init__(self, centered):
        self.centered, self.kept, self.shares = centered, [], np.empty((0, 0))
        self.asked, self.counts = np.empty((0, 0)), []

    def near(self, v, Z, width, k):
        """A WeightedGram of the first `width` rows of Z whose shape of curvatures lies within CLOSE
        of that of v, or None where it does not pay for supports of size k.
        """
        share = v / max(float(v.sum()), 1e-300)
        at = _closest(self.shares, share)
        if at < 0:
            asked = _closest(self.asked, share)
            if asked < 0:
                self.asked = np.vstack([self.asked.reshape(-1, v.size), share])[-16:]
                self.counts = [*self.counts, 0][-16:]
            self.counts[asked] += k
            if 2 * self.counts[asked] < width:
                return None
            self.asked = np.delete(self.asked, asked, axis=0)
            self.counts = self.counts[:asked] + (self.counts[asked + 1 :] if asked >= 0 else [])
            most = max(2, CURVATURE_BYTES // (12 * width**2 + 16 * v.size))
            for gram in self.kept[: max(0, len(self.kept) + 1 - most)]:
                gram.kept = False
            self.kept = [
                *(gram for gram in self.kept if gram.kept),
                WeightedGram(v.copy(), self.centered),
            ]
            self.shares = np.stack([gram.v / gram.total for gram in self.kept])
        gram = self.kept[at]
        gram.extend(Z, width)
        return gram


def _closest(shares, share):
    """Number of the row of `shares` that is closest to `share`, -1 where none lies within CLOSE."""
    return _nearest(shares, share, CLOSE) if shares.size else -1


@njit
def _nearest(shares, share, limit):
    """The row of `shares` (m, n) of least L1 distance to `share`, the first of them; -1 where none
    lies within the limit.
    """
    at = -1
    for r in range(shares.shape[0]):
        row, distance = shares[r], 0.0
        for i in range(share.size):
            distance += abs(row[i] - share[i])
        if distance < limit or (at < 0 and distance == limit):
            at, limit = r, distance
    return at


class Derivatives(NamedTuple):
    """Linear predictor of a fit, and slopes and curvatures of the loss in it times the weights, by
    rows: (n,) each.
    """

    eta: np.ndarray
    slopes: np.ndarray
    v: np.ndarray


@njit
def invert_some(G, index, scale, lambda2, B):
    """B (k, k) = (scale G_SS + 2 lambda2)^-1 for the rows and columns `index` (k,) of G, which may
    be dependent. Bounds of exchanges rest on it.
    """
    k = index.size
    H = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            H[i, j] = scale * G[index[i], index[j]]
        H[i, i] += 2.0 * lambda2
    invert_with_ridge(H, k, B)


class LocalTable(NamedTuple):
    """The quadratic at a fit from which chord steps start, for a support of k columns, K = k + 1
    with an intercept, q predictors of each row, and m working columns that may be added.

    Columns are counted from their `center`: an intercept is the predictor there. Second derivatives
    and curvatures are to be multiplied by `scale`.
    """

    S: np.ndarray  # (k,), the support, as positions in W
    x: np.ndarray  # (q K,), coefficients at the optimum of the quadratic, see `newton`
    B: np.ndarray  # (q K, q K), the inverse Hessian
    lambda2: float
    scale: float
    curvatures: np.ndarray  # (q (q + 1) / 2, n), of rows
    center: np.ndarray  # (w,), of the working columns; 0 without an intercept
    place: np.ndarray  # (w,), numbers of working columns among the m; (0,) where they are these
    c: np.ndarray  # (q m,), downhill slopes at x
    diagonal: np.ndarray  # (q (q + 1) / 2 m,), second derivatives of each column
    rows: np.ndarray  # rows[index[l], s m + j]: those of coefficient l with column j
    index: np.ndarray  # (q K,), -1 for an intercept that has none with centered columns


class InverseHessian(NamedTuple):
    """That of the coefficients of K = k + 1 columns, the last that of the intercept, where the
    others are centered, or of K = k without one.
    """

    B: np.ndarray  # (K, K)
    index: np.ndarray  # (K,), rows of second derivatives that are those of columns, -1 for none


def with_intercept(B, index, total):
    """The `InverseHessian` of centered columns with B (k, k) and curvatures that sum to `total`."""
    k = index.size
    whole, rows = np.zeros((k + 1, k + 1)), np.empty(k + 1, np.int64)
    whole[:k, :k], whole[k, k], rows[:k], rows[k] = B, 1.0 / total, index, -1
    return InverseHessian(whole, rows)


class Local:
    """The loss near a fit on the working columns: gradient exact, second order by a WeightedGram
    close by, or (gram None) by the fit's own curvatures v.

    index (k,): rows of `rows` that are the support's, at (k,) their positions in W; rows, diagonal
    (w,) times `scale` are centered second derivatives, mean (w,) the v-means, total = sum v; c (w,)
    = -dF/db; B (k, k) = (scale G_SS + 2 lambda2)^-1.
    """

    def __init__(self, gram, at, derivatives, centered, lambda2, Z):
        _, self.slopes, self.v = derivatives
        self.gram, self.at, self.centered, self.width, v = gram, at, centered, 0, self.v
        self.total = max(float(v.sum()), 1e-300)
        self.scale = 1.0 if gram is None else self.total / gram.total
        self.c = self._diagonal = self._mean = np.empty(0)
        self.own, self.index = np.empty((at.size, 0)), at
        if gram is None:
            self.ZV = Z[at]
            if centered:
                self.ZV -= (self.ZV @ v / self.total)[:, None]
            self.ZV *= v
            G, self.index = self.ZV @ Z[at].T, np.arange(at.size)
        else:
            self.ZV, G = None, gram.G
        self.B = np.empty((at.size, at.size))
        invert_some(G, self.index, self.scale, float(lambda2), self.B)

    def extend(self, Z, width):
        """Follow the working columns up to `width`."""
        if self.gram is not None:
            self.gram.extend(Z, width)
        if self.width == width:
            return
        new = Z[self.width : width]
        c = new @ self.slopes
        np.negative(c, out=c)
        self.c = np.append(self.c, c) if self.width else c
        if self.gram is None:
            mean = new @ self.v / self.total if self.centered else np.zeros(new.shape[0])
            self._mean = np.append(self._mean, mean)
            squares = np.empty(new.shape[0])
            weighted_squares(new, self.v, self.centered, squares)
            self._diagonal = np.append(self._diagonal, squares)
            self.own = np.concatenate([self.own, self.ZV @ new.T], axis=1)
        self.width = width

    @cached_property
    def inverse(self):
        """The `InverseHessian`."""
        if self.centered:
            return with_intercept(self.B, self.index, self.total)
        return InverseHessian(self.B, self.index)

    rows = property(lambda self: self.own if self.gram is None else self.gram.G)
    diagonal = property(lambda self: self._diagonal if self.gram is None else self.gram.diagonal)
    mean = property(lambda self: self._mean if self.gram is None else self.gram.mean)

    @property
    def bytes(self):
        """Bytes of its own arrays."""
        return 8 * (
            self.own.size
            + (0 if self.ZV is None else self.ZV.size)
            + 2 * self.slopes.size
            + 3 * self.c.size
            + 2 * self.B.size
        )
