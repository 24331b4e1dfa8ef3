"""The protocol of exact searches: a search runs until it has ended or is stopped, knows how far
models can still be better, and keeps the best ones met.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from ..core.arguments import is_whole
from ..core.status import SearchEnd
from ..designs import Dense, Standardized
from ..exchange.local_search import LocalSearch

COPIED_WHOLE = 1 << 25  # entries of X up to which the usable columns are copied for a search


class ExactSearch(Protocol):
    """Looks for the best models of a problem. lower: no model outside `best` is below it; upper:
    the value of the worst model kept; best: [(value, what was kept)], ascending; nodes: how many
    nodes (models, sets) were evaluated.
    """

    lower: float
    upper: float
    best: list[tuple[float, Any]]
    nodes: int

    def run(self, poll: Callable[[], bool] | None = None) -> SearchEnd:
        """Search until the end, or until poll() is True; may be called again to go on."""


@dataclass(frozen=True, kw_only=True)
class BranchAndBound:
    """Settings of algorithm="exact": branch and bound for every model of the path.

    Parameters
    ----------
    gap : float, default 1e-6
        The relative gap at which a search ends.
    node_limit : int, optional
        The largest number of nodes solved for a size or lambda0. None means no limit.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters()
    >>> settings = l0path.solvers.BranchAndBound(gap=0.01)
    >>> path = l0path.fit(data.X, data.y, algorithm=settings, max_k=3)
    >>> bool((path.details.gap <= 0.01).all())
    True
    """

    gap: float = 1e-6
    node_limit: int | None = None
    # the algorithm of the path whose models the searches start from
    start: ClassVar[LocalSearch] = LocalSearch()

    def __post_init__(self):
        if (
            isinstance(self.gap, bool)
            or not isinstance(self.gap, (int, float, np.number))
            or not 0 <= self.gap < math.inf
        ):
            raise ValueError(f"gap={self.gap!r} must be a number >= 0, relative to the objective")
        if self.node_limit is not None and (not is_whole(self.node_limit) or self.node_limit < 1):
            raise ValueError(
                f"node_limit={self.node_limit!r} must be a whole number >= 1, or None for no limit"
            )


def restricted(problem, J):
    """The problem of columns J, ascending, alone: a copy of them."""
    parts = {
        name: getattr(problem, name)[J] for name in ("factor", "lower", "upper", "square", "usable")
    }
    X = Standardized(Dense(problem.X.columns(J)), np.zeros(J.size), np.ones(J.size))
    return replace(problem, X=X, forced=np.searchsorted(J, problem.forced), **parts)


def compact(problem):
    """(the problem of the usable columns alone, their indices); the problem itself where a copy of
    them would take more than 256 MB.
    """
    J = np.flatnonzero(problem.usable)
    if problem.X.n * J.size > COPIED_WHOLE:
        return problem, np.arange(problem.X.p)
    return restricted(problem, J), J


def around(problem, solution, count):
    """The support of a solution, and those that have one of 2 count columns of large correlation
    with y in the place of one of its own.
    """
    removable = np.setdiff1d(solution.support, problem.forced)
    others = np.setdiff1d(np.flatnonzero(problem.usable), solution.support)
    gains = np.abs(problem.X.correlate(problem.weights * problem.y))[others]
    others = others[np.argsort(-gains, kind="stable")[: 2 * count]]
    swaps = [
        np.sort(np.append(solution.support[solution.support != i], j))
        for i in removable
        for j in others
    ]
    return [solution.support, *swaps]


class Contest:
    """The n_best best models that a search has met. best: [(value, what was kept)], ascending;
    seen: supports that were offered; refit, settings, n_best as in `Tree`.
    """

    @property
    def upper(self):
        """Value of the worst model that is kept, infinite while fewer than n_best are known."""
        return self.best[self.n_best - 1][0] if len(self.best) >= self.n_best else math.inf

    @property
    def cutoff(self):
        """Nodes with a larger bound hold nothing that is wanted, up to half the gap asked for."""
        upper = self.upper  # asked for several times at every node
        return upper if upper == math.inf else upper - 0.5 * self.settings.gap * abs(upper)

    def offer(self, support):
        """Compare a support of the problem with the best model."""
        key = np.sort(np.asarray(support, dtype=np.int64))
        if key.tobytes() in self.seen:
            return
        self.seen.add(key.tobytes())
        self.accept(*self.refit(key))

    def accept(self, value, kept):
        """Compare a model of known value with the best one."""
        if value < self.upper:
            self.best = sorted([*self.best, (value, kept)], key=lambda model: model[0])[
                : self.n_best
            ]
