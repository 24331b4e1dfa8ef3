"""The quadratic at a fit under a loss of q predictors of each row, and the table from which
exchanges are ranked and tried (`trials`). As it is dear for many exchanges, those that it ranks are
first chosen by the table of several responses (`response_table`), on a quadratic with the mean
curvature of the fit.
"""

from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...working_set.linear_algebra import COLLINEAR, filled, invert, products
from .. import trials
from ..table import START, ExchangeList, _keep


class ClassQuadratic:
    """The quadratic at a fit of a `MultinomialModel`. Coefficients are in the order of
    `working_set.newton`, q parts of those of the columns of the support and of the intercept.

    `clear`: whether every direction has a clear curvature; else nothing may be asked of it.
    """

    def __init__(self, model, fit, lambda2):
        self.model, self.lambda2, self.S = model, float(lambda2), model.where[fit.support]
        _, self.slopes, self.curvatures = model.derivatives(fit)
        q, k, pair, total = len(self.slopes), self.S.size, 0, 0.0
        K = k + int(model.problem.intercept)
        A = np.ones((K, self.slopes.shape[1]))
        np.take(model.Z, self.S, axis=0, out=A[:k])
        H = np.empty((q, K, q, K))
        for s in range(q):
            for t in range(s + 1):
                weighted = A * self.curvatures[pair]
                H[s, :, t] = H[t, :, s] = weighted @ A.T
                pair += 1
            total += float(self.curvatures[pair - 1].sum())
        self.mean = max(total / q, 1e-8)  # curvature
        H, ridge, x = H.reshape(q * K, q * K), np.zeros((q, K)), np.empty((q, K))
        ridge[:, :k], x[:, :k] = 2.0 * self.lambda2, fit.b.T
        x[:, k:] = (model.T @ fit.b0)[:, None]
        H.ravel()[:: q * K + 1] += ridge.ravel()
        self.B = np.empty(H.shape)
        # where next to nothing is left of the loss, the inverse is beyond all numbers
        self.clear = invert(H, x.size, self.B) == 0 and bool(np.isfinite(self.B).all())
        if not self.clear:
            return
        self.step = self.B @ -(self.slopes @ A.T + ridge * x).ravel()
        self.x, self.last = x.ravel() + self.step, None

    @property
    def size(self):
        """How many numbers are held."""
        return self.slopes.size + self.curvatures.size + self.B.size

    def preselected(self, fit, first, closed, count):
        """The `count` `Exchanges` with working columns from position `first` on that the table of
        several responses ranks first, None where columns of the support are combinations. closed:
        the working columns that may not enter, and the members that stay; additions if all do.
        """
        found = np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64)
        among = Among(self.model.G, *closed, first, self.mean, self.lambda2 / self.mean)
        rows = self.model.row_data(self.model.Z)
        kept = preselect(rows, self.S, fit.b, self.slopes, among, ExchangeList(*found))
        return None if kept < 0 else trials.Exchanges(found[2][:kept], found[1][:kept])

    def table(self, exchanges):
        """The `LocalTable` of the fit for some exchanges, the last one where it has their
        columns.
        """
        return self.predicted(exchanges)[0] if self._lacking(exchanges.into) else self.last

    def _lacking(self, J):
        """Whether the last table lacks one of some working columns, -1 for none."""
        if self.last is None:
            return True
        place = self.last.place
        return J.size > 0 and (J.max() >= place.size or place[J[J >= 0]].min(initial=0) < 0)

    def predicted(self, exchanges):
        """(`table` for some exchanges, what F changes by after each of them), inf for columns that
        are combinations.
        """
        change, rows, lacking = np.empty(exchanges.out.size), self.model.row_data(self.model.Z), 0
        if self._lacking(exchanges.into):
            lacking, q, size, width = change.size, len(self.slopes), self.x.size, self.model.width
            self.last = trials.LocalTable(
                S=self.S,
                x=self.x,
                B=self.B,
                lambda2=self.lambda2,
                scale=1.0,
                curvatures=self.curvatures,
                center=np.zeros(width),
                place=np.full(width, -1),
                c=np.empty(q * lacking),
                diagonal=np.empty(len(self.curvatures) * lacking),
                rows=np.empty((size, q * lacking)),
                index=np.arange(size),
            )
        predict(rows, self.last, lacking, self.slopes, self.step, exchanges, change)
        return self.last, change

    def removals(self):
        """(k,) what it costs to drop each member of the support."""
        members = np.arange(self.S.size)
        return self.predicted(trials.Exchanges(members, np.full(members.size, -1)))[1]


@njit
def predict(rows, table, lacking, slopes, step, exchanges, change):
    """Fill change (m,) with what the quadratic of a `LocalTable` predicts for exchanges, once the
    table has what it is lacking of their columns: it has room for `lacking` of them, 0 where it has
    them. slopes (q, n) at the fit; step (q K,): the Newton step there, at the end of which the
    table counts.
    """
    q, n, k, m, number = slopes.shape[0], rows.y.size, table.S.size, lacking, 0
    K, weighted, along = k + 1 if rows.intercept else k, np.empty(n), np.empty(k)
    for e in range(exchanges.into.size if lacking > 0 else 0):
        j, pair = exchanges.into[e], 0
        if j < 0 or table.place[j] >= 0:
            continue
        table.place[j] = number
        z = rows.Z[j]
        for s in range(q):
            t = 0.0
            for i in range(n):
                t -= slopes[s, i] * z[i]
            table.c[s * m + number] = t
            for u in range(s + 1):
                V, total, square = table.curvatures[pair], 0.0, 0.0
                for i in range(n):
                    t = V[i] * z[i]
                    weighted[i] = t
                    total += t
                    square += t * z[i]
                table.diagonal[pair * m + number] = square
                products(rows.Z, table.S, weighted, along)
                for a in range(K):
                    t = along[a] if a < k else total
                    table.rows[s * K + a, u * m + number] = t
                    table.rows[u * K + a, s * m + number] = t
                pair += 1
        for s in range(q):
            for l in range(step.size):
                table.c[s * m + number] -= step[l] * table.rows[l, s * m + number]
        number += 1
    trials.predict_exchanges(table, q, exchanges, change)


class Among(NamedTuple):
    """The working columns that may enter, and the quadratic of several responses."""

    G: np.ndarray  # (w, w), Gram matrix of the working columns
    closed: np.ndarray  # (w - first,), bool: the columns that may not enter
    locked: np.ndarray  # (k,), bool: the members that stay
    first: int  # position of the first working column that may enter
    mean: float  # what F is times the quadratic: the mean curvature
    lambda2: float  # its ridge


@njit
def preselect(rows, S, b, slopes, among, found):
    """Keep in `found`, an `ExchangeList`, the swaps that the table of several responses ranks
    first, or the additions where all members stay: how many, -1 where columns of the support are
    combinations. The changes are those of `response_table.all_exchanges`.

    S (k,), b (k, q): the support, as positions in W, and its coefficients; slopes (q, n).
    """
    G, first, kept, (k, q) = among.G, among.first, START, b.shape
    A, B, ridge, swaps = np.empty((k, k)), np.empty((k, k)), 2.0 * among.lambda2, False
    size, V, inner = filled(k, 0.0), np.empty(k), np.empty(k)
    c, every = np.empty((q, among.closed.size)), np.arange(first, first + among.closed.size)
    for i in range(k):
        swaps |= not among.locked[i]
        for s in range(q):
            size[i] += b[i, s] * b[i, s]
        for l in range(k):
            A[i, l] = G[S[i], S[l]]
        A[i, i] += ridge
    if invert(A, k, B):
        return -1
    for s in range(q):
        products(rows.Z, every, slopes[s], c[s])
    for e in range(every.size):
        if among.closed[e]:
            continue
        j, total = every[e], 0.0
        whole = G[j, j] + ridge
        left = whole
        for i in range(k):
            V[i], inner[i] = 0.0, 0.0
            for l in range(k):
                V[i] += B[i, l] * G[j, S[l]]
            left -= V[i] * G[j, S[i]]
        for s in range(q):
            t = -c[s, e] / among.mean
            total += t * t
            for i in range(k):
                inner[i] += t * b[i, s]
        if not swaps and left > COLLINEAR * whole:
            kept = _keep(-0.5 * total / left, j, -1, found, kept, 0.0)
        for i in range(k):
            u = V[i] / B[i, i]
            rest = left + V[i] * u
            if not among.locked[i] and rest > COLLINEAR * whole:
                gain = total + u * (2.0 * inner[i] + u * size[i])
                change = 0.5 * (size[i] / B[i, i] - gain / rest)
                kept = _keep(change, j, i, found, kept, 0.0)
    return kept
