"""What the models on the working columns share: which columns these are, exchanges of a quadratic among them.

A column's number among all p is its *index*, its place among the working columns W its *position*.
"""
from typing import NamedTuple

import numpy as np

from ..designs import threads
from .exchange import scan

READ = 1 << 22  # entries of X'R made at a time: 32 MB


class Quadratic(NamedTuple):
    """F near a fit: rows (k, m) = G_{S, columns}, gradient c (m,), diagonal a (m,), inverse B (k, k) of G_SS + 2 lambda2 I."""

    rows: np.ndarray
    c: np.ndarray
    a: np.ndarray
    B: np.ndarray


class Candidate(NamedTuple):
    """An exchange: drop the column `out` (-1: none), add the column `into` (-1: none); `change` of F that the quadratic foretells."""

    change: float
    out: int
    into: int


class WorkingColumns:
    """The working columns: W (indices), where (p,) positions or -1, Z (capacity, n) one column a row."""

    def __init__(self, problem):
        self.problem = problem
        self.width = 0
        self.where = np.full(problem.X.p, -1, dtype=np.int64)
        self.W = np.empty(0, dtype=np.int64)
        self.Z = np.empty((0, problem.X.n))
        self.refits = self.tables = self.reads = 0
        self.max_iter = 1000

    def grow(self, J):
        """Add columns J (indices, new ones only are taken) to W; True if any was new."""
        J = np.asarray(J, dtype=np.int64)
        J = np.unique(J[self.where[J] < 0])
        if not J.size:
            return False
        old, new = self.width, self.width + J.size
        if new > self.Z.shape[0]:
            Z = np.empty((max(new, int(1.5 * self.Z.shape[0])), self.problem.X.n))
            Z[:old] = self.Z[:old]
            self.Z = Z
        self.Z[old:new] = self.problem.X.columns(J).T
        self.where[J] = np.arange(old, new)
        self.W = np.concatenate([self.W, J])
        self.width = new
        self._extend(old, new)
        return True

    def _extend(self, old, new):
        pass

    def bounds_of(self, support):
        """Box of a support, two (k,) arrays."""
        return self.problem.lower[support], self.problem.upper[support]

    def share(self, other):
        """Use the working columns of another model, which has all of this one's."""
        old = self.width
        self.Z, self.W, self.where, self.width = other.Z, other.W, other.where, other.width
        self._extend(old, self.width)

    def terms(self, fit, J, lambda0):
        """What an exchange of a fit with columns J has to know of them: skip (m,) unusable or in the support, locked (k,) forced, price (m,) and paid (k,) lambda0 f."""
        p = self.problem
        skip = ~p.usable[J]
        if fit.support.size:  # np.isin would sort both
            skip |= fit.support[np.minimum(np.searchsorted(fit.support, J), fit.support.size - 1)] == J
        locked = np.isin(fit.support, p.forced, assume_unique=True) if p.forced.size else np.zeros(fit.support.size, dtype=bool)
        price = np.where(np.isfinite(p.factor[J]), lambda0 * np.minimum(p.factor[J], 1e300), 1e300) if lambda0 else np.zeros(J.size)
        paid = np.where(locked, 0.0, lambda0 * p.factor[fit.support]) if lambda0 else np.zeros(fit.support.size)
        return skip, locked, price, paid

    def scan(self, quadratic, fit, *, lambda1, lambda2, lambda0=0.0, target=1e300, ceiling, keep, columns=None, first=0, bound=np.inf, index=None, split=False):
        """Best exchanges of a fit among `columns` (indices that the quadratic's columns stand for), ascending by change: list of Candidate. split: use the thread pool.

        index: where the support's rows stand in quadratic.rows; quadratic.c then holds the products q with y instead of those with the residual.
        """
        J = np.arange(first, first + quadratic.c.size) if columns is None else columns
        skip, locked, price, paid = self.terms(fit, J, lambda0)
        products = index is not None
        index = np.arange(fit.support.size) if index is None else index
        self.tables += 1
        return _scan_ranges(quadratic, index, products, fit, skip, locked, price, paid, lambda1, lambda2, bound, target, ceiling, keep, J, split)


def _scan_ranges(quadratic, index, products, fit, skip, locked, price, paid, lambda1, lambda2, bound, target, ceiling, keep, J, split):
    """Run `exchange.scan` over the columns, in ranges on the thread pool if `split`, and merge; ties go to the smaller column, so the ranges never show."""
    m = J.size
    edges = [*range(0, m, max(2048, -(-m // (4 * threads.count())))), m] if split else [0, m]
    found = []

    def task(start, stop):
        change, column, position = np.empty(keep), np.empty(keep, np.int64), np.empty(keep, np.int64)
        count = scan(quadratic.rows, index, quadratic.B, fit.b, quadratic.c, products, quadratic.a, skip, locked, price, paid, lambda1, lambda2, bound, target, ceiling,
                     start, stop, change, column, position)
        found.append((change[:count], column[:count], position[:count]))

    threads.run(task, edges)
    change, column, position = (np.concatenate(parts) for parts in zip(*found, strict=True))
    best = np.lexsort((position, J[column], change))[:keep]
    return [Candidate(float(change[e]), -1 if position[e] < 0 else int(fit.support[position[e]]), int(J[column[e]])) for e in best]
