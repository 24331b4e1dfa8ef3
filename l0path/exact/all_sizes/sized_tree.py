"""All wanted sets of one size beside a ridge, for losses that are sums over rows of one predictor:
the tree of perspective relaxations (`exact.tree`), whose bounds are far better than those of fits
on more columns where columns are many.

A node is split while its bound lies below the value up to which sets are wanted, not below the
best value met, so that every wanted set is a leaf of some node, and is fitted there.
"""

import math

import numpy as np

from ...core.status import SearchEnd
from ...relaxation import dual_problem
from ..contest import BranchAndBound, compact
from ..tree import Tree
from .scores import Offers


class SizedTree(Offers):
    """One search. problem, of columns; lambda2 > 0; size: how many columns are chosen; wanted:
    `SetsWanted`, of this size alone.

    A set whose fit did not converge cannot be compared, and the search is not complete.

    held: columns of every set; J: those that may be chosen; nodes: how many were solved.
    """

    def __init__(self, problem, lambda2, size, wanted):
        super().__init__(wanted)
        self.problem, self.size = problem, size
        self.held, self.J = problem.held_units, np.flatnonzero(problem.free_units)
        part, self.columns = compact(problem)
        self.tree = _WantedLeaves(
            dual_problem(part, 0.0, lambda2),
            size=size,
            refit=None,  # `wanted` fits
            settings=BranchAndBound(gap=0.0),
            n_best=2,  # a leaf competes, whatever is known
        )
        self.tree.search = self

    @property
    def nodes(self):
        """How many nodes were solved."""
        return self.tree.nodes

    def run(self, poll=None):
        """Search until nothing is open ("closed"), poll() is True ("stopped"), or all was compared
        but fits that did not converge ("no_optimum").
        """
        ended = self.tree.run(poll)
        return SearchEnd.NO_OPTIMUM if ended == SearchEnd.CLOSED and self.unknown else ended

    def lower(self):
        """(sizes,): lower bounds, by size, on the sets that were not offered."""
        out = np.full(self.size + 1, -math.inf)
        least = self.problem.floor - self.problem.noise
        out[self.size] = least if self.unknown else max(self.tree.lower, least)
        return out


class _WantedLeaves(Tree):
    """The tree of a `SizedTree`, its `search`, which looks for all wanted sets."""

    @property
    def cutoff(self):
        """The value below which a set is wanted."""
        return float(self.search.wanted.cutoffs(self.size + 1)[self.size])

    upper = cutoff

    def offer(self, support):
        """Let a set of columns of the compact problem compete."""
        self.search.know(self.search.columns[support])
