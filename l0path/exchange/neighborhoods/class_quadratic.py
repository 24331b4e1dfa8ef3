"""The quadratic at a fit under a loss of q predictors of each row, and the table from which
exchanges are ranked and tried (`trials`). As it is dear for many exchanges, those that it ranks are
first chosen by the table of several responses (`response_table`), on a quadratic with the mean
curvature of the fit.
"""

from functools import cache

import numpy as np

from ...core.dispatch import njit
from ...working_set.linear_algebra import COLLINEAR, invert
from .. import trials
from ..table import START, _keep


WEIGHTED = 1 << 20  # numbers of weighted columns that are held at a time


@cache
def pairs_of(q):
    """(q, q) numbers of the pairs of predictors s >= t, see `working_set.newton`."""
    out = np.empty((q, q), np.int64)
    out[np.tril_indices(q)] = np.arange(q * (q + 1) // 2)
    return np.maximum(np.tril(out), np.tril(out).T)


class ClassQuadratic:
    """The quadratic at a fit of a `MultinomialModel`. Coefficients are in the order of
    `working_set.newton`, q parts of those of the columns of the support and of the intercept.

    `clear`: whether every direction has a clear curvature; else nothing may be asked of it.
    """

    def __init__(self, model, fit, lambda2):
        self.model, self.lambda2, self.S = model, float(lambda2), model.where[fit.support]
        _, self.slopes, self.curvatures = model.derivatives(fit)
        A = self._members()
        x = model.packed(*model.begin((fit.b, fit.b0), self.S.size))
        ridge = np.full((len(self.slopes), len(A)), 2.0 * self.lambda2)
        ridge[:, self.S.size :] = 0.0
        ridge = ridge.ravel()
        H, self.B = self._products(A, A), np.empty((x.size, x.size))
        H.ravel()[:: x.size + 1] += ridge
        self.clear = invert(H, x.size, self.B) == 0
        self.step = -self.B @ ((self.slopes @ A.T).ravel() + ridge * x)
        self.x, self.last = x + self.step, None

    @property
    def size(self):
        """How many numbers are held."""
        return self.slopes.size + self.curvatures.size + self.B.size

    def _members(self):
        """The columns of the support, and that of the intercept (K, n)."""
        k, Z = self.S.size, self.model.Z
        A = np.ones((k + int(self.model.problem.intercept), Z.shape[1]))
        np.take(Z, self.S, axis=0, out=A[:k])
        return A

    def _products(self, A, Z):
        """The second derivatives of columns A (K, n) with columns Z (m, n), (q K, q m)."""
        q, (m, n), of_pairs = len(self.slopes), Z.shape, []
        together = max(WEIGHTED // max(m * n, 1), 1)
        for first in range(0, len(self.curvatures), together):
            some = self.curvatures[first : first + together, None] * Z
            of_pairs.append(A @ some.reshape(-1, n).T)
        found = np.concatenate(of_pairs, axis=1) if len(of_pairs) > 1 else of_pairs[0]
        found = found.reshape(len(A), len(self.curvatures), m)[:, pairs_of(q)]  # (K, q, q, m)
        return found.transpose(1, 0, 2, 3).reshape(q * len(A), q * m)

    def table(self, J):
        """The `LocalTable` of the fit, with the working columns J (positions) to be added; the last
        one where it has these.
        """
        if self.last is not None and J.max(initial=-1) < self.last.place.size:
            if (self.last.place[J] >= 0).all():
                return self.last
        Z, width = self.model.Z[J], self.model.width
        rows, place = self._products(self._members(), Z), np.full(width, -1)
        place[J] = np.arange(J.size)
        self.last = trials.LocalTable(
            S=self.S,
            x=self.x,
            B=self.B,
            lambda2=self.lambda2,
            scale=1.0,
            curvatures=self.curvatures,
            center=np.zeros(width),
            place=place,
            c=-(self.slopes @ Z.T).ravel() - self.step @ rows,
            diagonal=(self.curvatures @ (Z * Z).T).ravel(),
            rows=rows,
            index=np.arange(self.x.size),
        )
        return self.last

    def changes(self, table, exchanges):
        """(m,) what F changes by after some exchanges with columns of a table; inf for columns that
        are combinations.
        """
        change = np.empty(exchanges.out.size)
        trials.foretell(table, len(self.slopes), exchanges, change)
        return change

    def removals(self):
        """(k,) what it costs to drop each member of the support."""
        members = np.arange(self.S.size)
        drops = trials.Exchanges(members, np.full(members.size, -1))
        return self.changes(self.table(members[:0]), drops)


@njit
def preselect(quadratic, b, lambda2, skip, locked, found):
    """Keep in `found`, an `ExchangeList`, the swaps that the table of several responses ranks
    first, or the additions where all members are `locked` (k,): how many. The lists are those of
    `response_table.all_exchanges`.

    quadratic: a `ResponseQuadratic` with m columns; b (k, q) coefficients; skip (m,): the columns
    that may not enter.
    """
    B, c, kept, members, swaps = quadratic.B, quadratic.c, START, quadratic.kept, False
    k, size, V, inner = members.size, np.zeros(b.shape[0]), np.empty(b.shape[0]), np.empty(b.shape[0])
    for i in range(k):
        swaps |= not locked[members[i]]
        for s in range(b.shape[1]):
            size[i] += b[members[i], s] * b[members[i], s]
    for j in range(skip.size):
        if skip[j]:
            continue
        A, total = quadratic.a[j] + 2.0 * lambda2, 0.0
        left = A
        for i in range(k):
            V[i], inner[i] = 0.0, 0.0
            for l in range(k):
                V[i] += B[i, l] * quadratic.rows[members[l], j]
            left -= V[i] * quadratic.rows[members[i], j]
        for s in range(b.shape[1]):
            total += c[j, s] * c[j, s]
            for i in range(k):
                inner[i] += c[j, s] * b[members[i], s]
        if not swaps and left > COLLINEAR * A:
            kept = _keep(-0.5 * total / left, j, -1, found, kept, 0.0)
        for i in range(k):
            u = V[i] / B[i, i]
            rest = left + V[i] * u
            if not locked[members[i]] and rest > COLLINEAR * A:
                gain = total + u * (2.0 * inner[i] + u * size[i])
                change = 0.5 * (size[i] / B[i, i] - gain / rest)
                kept = _keep(change, j, members[i], found, kept, 0.0)
    return kept
