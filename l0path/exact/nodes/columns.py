"""Nodes of a search tree, and its working columns: those that were ever nonzero in a relaxation."""

import math
from typing import NamedTuple

import numpy as np

from .all_columns import MOST_PRODUCTS, BoundOverAll, WholeModel, bound_over_all
from .penalty import Branch, Penalty

# columns that become working ones for a node at a time
JOINING = 30


class Node(NamedTuple):
    """A node of a tree of columns."""

    bound: float  # lower bound of its sets
    into: np.ndarray  # positions in W of columns that are in
    out: np.ndarray  # positions of those that are out
    at: np.ndarray  # positions of nonzero relaxed coefficients
    b: np.ndarray  # these coefficients
    s: float  # root of the multiplier
    shift: float  # intercept
    split: int = -1  # position to branch on, -1 for none


class NodeColumns:
    """The working columns W (w,), positions in them are for ever: Z (n, w), q = Z'diag(w)y, the
    penalty's terms, and for the squared loss G (w, w) = Z'diag(w)Z less the split.
    """

    def __init__(self, dual):
        self.dual, self.W = dual, np.empty(0, dtype=np.int64)
        self.position = np.full(dual.problem.X.p, -1)
        self.Z = np.empty((dual.problem.X.n, 0), order="F")
        self.G = np.empty((0, 0))
        self.q = np.empty(0)
        self.space = np.empty((0, 0))
        self.across = self.every = self.found = None
        self.rows = 0  # of the products with all columns
        self.take()

    def first_root(self, size):
        """The root of the multiplier at which `size` working columns would leave zero by
        themselves.
        """
        c = np.sort(np.abs(self.q[self.counted]))[::-1]
        ridge = np.median(self.penalty.ridge) if self.W.size else 1.0
        largest = float(c[min(size, c.size - 1)]) if c.size else 1.0
        return max(largest, 1e-12) / (2.0 * math.sqrt(max(ridge, 1e-12)))

    def few(self, gamma):
        """Whether products of the working columns with all columns are few enough to be kept; they
        then are up to date. gamma: relative rounding of a product.
        """
        dual, problem = self.dual, self.dual.problem
        if not problem.quadratic or 2 * self.W.size * problem.X.p > MOST_PRODUCTS:
            return False
        if self.every is None:
            p, top = problem.X.p, float(np.max(problem.square[problem.usable], initial=0.0))
            q = problem.X.correlate(problem.weights * problem.y)
            half = 0.5 * float(problem.weights @ problem.y**2)
            self.every = WholeModel(np.empty((0, p)), q, self.position, half, top, gamma)
            factor = np.where(dual.counted, problem.factor, 0.0)
            self.across = Penalty(dual.lambda1, dual.ridge, dual.lower, dual.upper, factor)
            entering = np.empty(JOINING, dtype=np.int64)
            self.found = BoundOverAll(*np.empty((2, p)), np.empty(0, dtype=np.int8), entering)
        if self.rows < self.W.size:
            self._products(problem.weights[:, None] * self.Z[:, self.rows :])
        return True

    def bound_over_all(self, node, left, lambda0, cutoff):
        """(bound of a node over all columns, (w,) -1 for columns that it fixes out, 1 for those in,
        columns that should become working ones), after `few`.
        """
        W, b = self.W, np.zeros(self.W.size)
        state = np.where(self.dual.counted, 0, 1).astype(np.int8)
        state[W[node.into]], state[W[node.out]], b[node.at] = 1, -1, node.b
        if self.found.fixed.size != W.size:
            self.found = self.found._replace(fixed=np.empty(W.size, dtype=np.int8))
        found = self.found
        cost = 0.0 if lambda0 is None else lambda0
        value, number = bound_over_all(
            self.every, self.across, Branch(state, left), cost, W, b, cutoff, found
        )
        return value, found.fixed, found.entering[:number].copy()

    def _products(self, weighted):
        """Fill in the products of the working columns that came since, which times the weights are
        `weighted`.
        """
        dual, (known, w) = self.dual, (self.rows, self.W.size)
        G = self.every.G
        if G.shape[0] < w:
            G = np.empty((2 * w, dual.problem.X.p))
            G[:known] = self.every.G[:known]
            self.every = self.every._replace(G=G)
        G[known:w] = dual.problem.X.correlate(weighted).T
        if dual.split is not None:
            G[np.arange(known, w), self.W[known:]] -= dual.split[self.W[known:]]
        self.rows = w

    def take(self):
        dual, W = self.dual, self.W
        box = (np.ascontiguousarray(v[W]) for v in (dual.ridge, dual.lower, dual.upper))
        # forced columns cost nothing
        factor = np.where(dual.counted[W], dual.problem.factor[W], 0.0)
        self.penalty = Penalty(dual.lambda1, *box, factor)
        self.counted = dual.counted[W]

    def grow(self, J):
        """Let columns J, in this order, become working ones."""
        J = np.asarray(J, dtype=np.int64)
        J = J[self.position[J] < 0]
        if not J.size:
            return
        old, problem = self.W.size, self.dual.problem
        self.W = np.concatenate([self.W, J])
        self.position[J] = np.arange(old, self.W.size)
        Z = np.empty((self.Z.shape[0], self.W.size), order="F")
        Z[:, :old], Z[:, old:] = self.Z, problem.X.columns(J)
        weighted = problem.weights[:, None] * Z[:, old:]
        self.Z, self.q = Z, np.concatenate([self.q, weighted.T @ problem.y])
        self.take()
        if problem.quadratic:
            self._gram(old, weighted)

    def _gram(self, old, weighted):
        """G with the working columns from position `old` on, which times the weights are
        `weighted`.
        """
        w = self.W.size
        if 4 * old < w:  # half the work, as it is symmetric
            old, rooted = 0, np.sqrt(self.dual.problem.weights)[:, None] * self.Z
            G = rooted.T @ rooted
        else:
            G = np.empty((w, w))
            G[:old, :old] = self.G
            G[old:] = weighted.T @ self.Z
            G[:, old:] = G[old:].T
        if self.dual.split is not None:
            G[np.arange(old, w), np.arange(old, w)] -= self.dual.split[self.W[old:]]
        self.G = G
        if self.space.shape[0] < w:
            self.space = np.empty((2 * w, 2 * w))
