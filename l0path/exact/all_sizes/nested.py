"""The best sets of units of all sizes by one search, for every smooth convex loss: "leaps for
generalized linear models", and for groups.

A unit is a column or a group of columns; the columns of several groups are their union. A node is a
set of units, some of which may leave. No set of the node has a smaller infimum than all its units
have, so that a lower bound of this one bounds the node, for every size. What the quadratic model at
the fit of all units says of leaving one of them bounds the node's children before they are fitted
(`node_bounds`). The units whose leaving costs most leave first, with all others still free to
leave, so that the largest parts have the largest bounds. Where groups keep a hierarchy, the sets
are the closed ones: with a unit leaves what needs it.

Sources: Furnival & Wilson (Technometrics 16, 1974) for the bound and the tree; Gatu &
Kontoghiorghes (Journal of Computational and Graphical Statistics 15, 2006) for the order. Lawless &
Singhal (Biometrics 34, 1978) bound generalized linear models by the quadratic model itself, which
is an approximation; here it gives dual points, whose values are bounds.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.status import FitStatus, SearchEnd
from ...core.threads import one_blas_thread
from ...problem.conjugates import interval
from ...problem.losses import Hinge
from .coupled_bounds import sets_of_columns
from .node_bounds import UnclearColumns
from .scores import Offers
from .search import REFIT_OPERATIONS


class OpenNode(NamedTuple):
    """units (ascending) of a set, and those of them that may leave, the first one with all after
    it; bound: no set of the node has a smaller infimum; start: (b, b0) of a fit, or None.
    """

    units: np.ndarray
    free: np.ndarray
    bound: float
    start: object


def refits_bound(loss):
    """Whether fits of a loss give bounds: it is smooth, and has a conjugate or, where it couples
    rows or classes, a bound by weak duality.
    """
    known = interval.dispatch(type(loss)) is not interval.dispatch(object)
    coupled = loss.traits.coupled or loss.traits.by_class
    return coupled or (known and not isinstance(loss, Hinge))


def servable_nested(problem, lambda1):
    """Whether sets of columns, or groups, of a problem can be searched, whatever their number."""
    return not (lambda1 or problem.boxed) and refits_bound(problem.loss)


class NestedSearch(Offers):
    """One search. model: working columns that hold every usable one (`servable_nested`); lambda2;
    wanted: `SetsWanted`, which is offered groups where there are groups, else columns.

    operations: what nodes and refits count. A set that has no finite optimum is never offered, and
    one whose fit did not converge is not compared: nothing is claimed of sizes from its own on.
    """

    refit_operations = REFIT_OPERATIONS

    def __init__(self, model, lambda2, wanted):
        super().__init__(wanted)
        self.problem = problem = model.problem
        self.oracle = sets_of_columns(model, lambda2)
        self.groups = problem.groups
        self.hierarchy = problem.hierarchy
        self.held, self.J = problem.held_units, np.flatnonzero(problem.free_units)
        self.nodes = 0
        self.unconverged = False  # whether a fit without a finite optimum need not be separated
        # (sizes,), or (sizes, coefficients) where scores depend on their number
        self.threshold = wanted.cutoffs(self.J.size + 1)
        self.unattained = np.full(self.threshold.shape, math.inf)
        every = self.closed(np.arange(self.J.size))
        self.stack = [OpenNode(every, every, problem.floor - problem.noise, None)]

    def closed(self, units):
        """The largest part of a set of units (ascending) in which every unit has those that it
        needs.
        """
        if self.hierarchy is None:
            return units
        inside = self._inside(np.append(self.held, self.J[units]))
        return units[self.hierarchy.largest(inside)[self.J[units]]]

    def _inside(self, support):
        """(G,) whether a group is in a set, held ones included."""
        out = np.zeros(len(self.groups.labels), dtype=bool)
        out[support] = True
        return out

    def columns(self, units):
        """Columns of a set of units, ascending, with those that every model has."""
        return self.problem.columns_of(np.sort(np.concatenate([self.held, self.J[units]])))

    def parts(self, columns, units, free):
        """Positions among the columns of a set of those that leave with each unit that may."""
        if self.groups is None:
            return list(np.searchsorted(columns, self.J[free])[:, None])
        mine = [self.groups.of(g) for g in self.J[units]]
        held = [self.groups.of(g) for g in self.held]
        times = np.bincount(
            np.concatenate([self.problem.forced, *held, *mine]).astype(np.int64),
            minlength=self.problem.X.p,
        )
        out = []
        for g in self.J[free]:
            own = self.groups.of(g)
            own = own[(times[own] == 1) & self.problem.usable[own]]
            out.append(np.searchsorted(columns, own))
        return out

    def lower(self):
        """(sizes,), or (sizes, coefficients): lower bounds, by the number of units, or of units and
        coefficients, on the sets that were not offered.
        """
        out = self.unattained
        for axis in range(out.ndim):
            out = np.minimum.accumulate(out, axis=axis)
        out = np.minimum(self.threshold, out)
        for node in self.stack:
            for at in zip(*self._cells(node, 1), strict=True):
                # of so many coefficients or more
                part = at if len(at) == 1 else (at[0], slice(at[1], None))
                out[part] = np.minimum(out[part], node.bound)
        return out

    @property
    def optimum_missing(self):
        """Whether a set that might be wanted has no finite optimum."""
        return bool((self.unattained < self.threshold).any())

    def run(self, budget=math.inf, poll=None):
        """Search until nothing is open ("closed"), so many operations are done ("node_limit"),
        poll() is True ("stopped"), columns are too nearly dependent ("too_close"), or a set that
        may be wanted has no finite optimum ("no_optimum").
        """
        with one_blas_thread():
            while self.stack:
                if poll is not None and poll():
                    return SearchEnd.STOPPED
                if self.operations >= budget:
                    return SearchEnd.NODE_LIMIT
                node = self.stack[-1]
                if self._open(node, node.bound, 1):
                    try:
                        children = self._expand(node)
                    except UnclearColumns:
                        return SearchEnd.TOO_CLOSE
                    self.stack.pop()
                    self.stack.extend(children)
                else:
                    self.stack.pop()
        return SearchEnd.NO_OPTIMUM if self.optimum_missing else SearchEnd.CLOSED

    def _open(self, node, bound, own):
        """Whether a set of a node may be wanted; own: with the set of all its units."""
        return bool((bound < self.threshold[self._cells(node, own)]).any())

    def _cells(self, node, own):
        """Where the sets of a node are in arrays such as `threshold`, with the least number of
        coefficients that sets of so many units can have; own: with the set of all its units.
        """
        sizes = np.arange(node.units.size - node.free.size, node.units.size + own)
        if self.counts is None:
            return (sizes,)
        least = self.counts.least(self.J[node.units], self.J[node.free])
        return sizes, least[: sizes.size]

    def _expand(self, node):
        """The children of a node, the one that is to be searched first at the end."""
        columns = self.columns(node.units)
        self.nodes += 1
        self.operations += self.oracle.cost(columns.size, node.free.size)
        here = self.oracle.at(columns, node.start)
        bound = max(node.bound, here.lower)
        self._offer(node.units, here, bound)
        if not node.free.size or not self._open(node, bound, 0):
            return []
        found = here.without(self.parts(columns, node.units, node.free))
        lower, children = np.maximum(found.lower, bound), []
        order = np.argsort(-found.estimate, kind="stable")
        for at, i in enumerate(order):
            less = node.units[node.units != node.free[i]]
            units, free = self.closed(less), node.free[order[at + 1 :]]
            start = found.starts[i]
            if units.size < less.size:  # what needs a unit leaves with it, or the node is empty
                there, may_leave = np.zeros((2, self.J.size), dtype=bool)
                there[units], may_leave[free] = True, True
                if not may_leave[less[~there[less]]].all():
                    continue
                free, start = free[there[free]], None
            child = OpenNode(units, free, float(lower[i]), start)
            if self._open(child, child.bound, 1):
                children.append(child)
        return children

    def _offer(self, units, here, bound):
        """Offer a set if it may be wanted."""
        support = np.concatenate([self.held, self.J[units]])
        at = self.cell(support)
        if not here.attained:
            self.unconverged |= FitStatus.SEPARATED not in here.fit.flags
            self.unattained[at] = min(self.unattained[at], bound)
        elif bound < self.threshold[at]:
            if not self.know(support):
                self.unconverged = True
                self.unattained[at] = min(self.unattained[at], bound)

    def know(self, support):
        """See `Offers`; a set that does not keep the hierarchy takes no part."""
        if self.hierarchy is not None and not self.hierarchy.closed(self._inside(support)):
            return True
        known = super().know(support)
        self.threshold = self.wanted.cutoffs(self.J.size + 1)
        return known
