"""Leaps and bounds for one model: the best least squares models of a size, or of a lambda0, of few
columns with more rows than columns or a ridge, by the search of `all_sizes`.
"""

import math
from dataclasses import replace

import numpy as np

from .all_sizes.search import BETWEEN_POLLS, AllSizes
from .all_sizes.subtrees import MOST_COLUMNS
from .contest import Contest


def searchable(dual):
    """The reason why `Leaps` cannot search a problem, or ""."""
    problem = dual.problem
    if not problem.quadratic:
        return f"leaps and bounds needs a squared loss, not {type(problem.loss).__name__.lower()}"
    if dual.lambda1 > 0:
        return f"leaps and bounds needs lambda1 = 0, not {dual.lambda1}"
    used = _used(dual)
    if np.isfinite(dual.lower[used]).any() or np.isfinite(dual.upper[used]).any():
        return "leaps and bounds needs coefficients without bounds"
    return (
        f"leaps and bounds takes {MOST_COLUMNS} features at most, not {used.sum()}"
        if used.sum() > MOST_COLUMNS
        else ""
    )


def _used(dual):
    return dual.problem.usable & ((dual.lower != 0) | (dual.upper != 0))


class Leaps(Contest):
    """One search. dual: the problem, without the columns that are fixed (`searchable`); size
    (chosen columns at most) or lambda0; refit(support) -> (value, what is kept of it) for a support
    of the problem; settings: gap, relative, at which it ends, and node_limit; n_best: how many of
    the best supports are wanted.

    best: [(value, what was kept)] of the best supports so far, ascending; lower: no model is below
        it (nor, for a size, with fewer columns). `run` may be called again to go on.
    It is what `AllSizes` looks for (`SetsWanted`): sets of its size alone, or of all sizes.
    """

    def __init__(
        self,
        dual,
        *,
        size=None,
        lambda0=None,
        refit,
        settings,
        n_best=1,
        start=(),
        portion=BETWEEN_POLLS,
    ):
        reason = searchable(dual)
        if reason:
            raise ValueError(f"{reason}; search by branch and bound")
        self.size, self.refit, self.settings, self.n_best = size, refit, settings, n_best
        self.best, self.seen = [], set()
        problem, costs = replace(dual.problem, usable=_used(dual)), None
        if size is None:
            # of several best models, too, all have the columns that cost nothing
            costs = lambda0 * problem.factor
            free = np.flatnonzero(problem.usable & (costs == 0))
            problem = replace(problem, forced=np.union1d(problem.forced, free))
        ridge = dual.ridge if dual.split is None else dual.ridge - 0.5 * dual.split
        lambda2 = max(float(ridge.max(initial=0.0)), 0.0)
        self.search = AllSizes(problem, lambda2, self, most=size, costs=costs, portion=portion)

    @property
    def nodes(self):
        """How many nodes were solved."""
        return self.search.nodes

    # -------------------- what `AllSizes` looks for

    @property
    def alone(self):
        """See `SetsWanted`."""
        return self.n_best == 1 and self.size is not None

    @property
    def shrink(self):
        """See `SetsWanted`."""
        return 1.0 - 0.5 * self.settings.gap if self.n_best == 1 else math.inf

    def cutoffs(self, sizes):
        """See `SetsWanted`."""
        out = np.full(sizes, self.cutoff)
        if self.size is not None:
            out[np.arange(sizes) != min(self.size, sizes - 1)] = -math.inf
        return out

    def offer(self, support, size=None):
        """Let a support of the problem compete; size: what it has beside the forced columns, where
        `AllSizes` offers it. Of several best sets all have the full size.
        """
        if size is None or self.n_best == 1 or self.size is None or size == self.search.most:
            super().offer(support)
        return True

    # -------------------- the search

    @property
    def lower(self):
        """A lower bound for every set that is not in `best`."""
        search, lower = self.search, self.search.lower()
        if self.size is not None:  # without dependent columns, larger sets are better
            smaller = search.spare and self.alone
            lower = lower[0 if smaller else search.most : search.most + 1]
        return float(lower.min())

    def run(self, poll=None):
        """Search until nothing is open ("closed"), node_limit is met ("node_limit"), dependent
        columns split it into too many searches ("too_many"), or poll() is True ("stopped").
        """
        self.search.node_limit = self.settings.node_limit
        return self.search.run(poll=poll)
