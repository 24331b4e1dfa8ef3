"""The best models of a number of groups, or of a lambda0, by refitting every set of groups: at most
MOST_GROUPS that may be chosen, 4096 sets. It serves every loss, box and shrinkage.
"""

import math
from itertools import combinations

import numpy as np

from ..core.status import SearchEnd
from ..working_set.groups import GroupFit
from .all_sizes.nested import refits_bound
from .contest import Contest
from .integrality_generation import IntegralityGeneration

MOST_GROUPS = 12  # groups that may be chosen at most


def enumerable(groups, usable):
    """Whether all sets of the groups that may be chosen are compared."""
    return int(groups.selectable(usable).sum()) <= MOST_GROUPS


def refuse_groups(data, settings, lambda1):
    """Raise ValueError where the groups of `Data` cannot be searched with these settings."""
    if isinstance(settings, IntegralityGeneration):
        raise ValueError(
            "integrality generation searches among models of k columns, but there are groups: use "
            "algorithm='exact', or certify with algorithm=None, which compare all sets of groups"
        )
    bounded = np.isfinite(data.lower).any() or np.isfinite(data.upper).any()
    if enumerable(data.groups, ~data.excluded) or not (
        lambda1 or bounded or data.loss.traits.coupled or not refits_bound(data.loss)
    ):
        return
    count = int(data.groups.selectable(~data.excluded).sum())
    raise ValueError(
        "with lambda1, bounds on coefficients, the hinge or a loss of your own, algorithm='exact' "
        "and certify compare all sets of groups (with a formula: of terms), which is done for at "
        f"most {MOST_GROUPS} groups that may be chosen; here there are {count}. Name some of them "
        "in exclude= or always_include=, fit with algorithm='swap' (certify=True and lambda2= give "
        "bounds), or search single columns without groups= (with a formula: groups=False)"
    )


class GroupEnumeration(Contest):
    """One search. problem (with groups); refit(support) -> `Fit` for columns; size (groups besides
    forced ones) or lambda0; n_best: how many of the best sets are wanted; fits: {groups as bytes:
    GroupFit} of earlier searches with the same shrinkage, which this one extends.

    best: [(value, GroupFit)], ascending, at least two where there are two; lower: no model is below
    it; nodes: sets compared; `open_groups`: numbers of the groups of a set without an optimum that
    could be computed (its columns separate the classes, or the refit did not converge), None for
    none. `run` may be called again to go on.
    """

    def __init__(self, problem, *, refit, size=None, lambda0=None, n_best=1, fits=None):
        groups = problem.groups
        kept = np.bincount(
            groups.owners()[problem.usable[groups.columns]], minlength=len(groups.labels)
        )
        self.problem, self.refit, self.n_best = problem, refit, max(n_best, 2)
        self.fits = {} if fits is None else fits
        self.forced = np.flatnonzero((groups.factor == 0) & (kept > 0))
        self.free = np.flatnonzero(groups.selectable(problem.usable))
        self.lambda0 = 0.0 if lambda0 is None else lambda0
        sizes = range(self.free.size + 1) if size is None else [min(size, self.free.size)]
        every = [one for k in sizes for one in combinations(self.free.tolist(), k)][::-1]
        self.todo = [one for one in every if self._closed(one)]
        self.best, self.nodes, self.lower, self.open_groups = [], 0, -math.inf, None

    def _closed(self, chosen):
        """Whether the forced groups and `chosen` keep the hierarchy."""
        hierarchy = self.problem.groups.hierarchy
        if hierarchy is None:
            return True
        inside = np.zeros(len(self.problem.groups.labels), dtype=bool)
        inside[[*self.forced, *chosen]] = True
        return hierarchy.closed(inside)

    def run(self, poll=None):
        """Refit sets until all are ("closed"), or poll() is True ("stopped"); "no_optimum" where a
        set has none that could be computed.
        """
        if not self.nodes:  # the fit on all groups is below that on any of them
            every = self._fit(np.union1d(self.forced, self.free))
            self.lower = every.value if not every.flags else self.problem.floor
        while self.todo:
            if poll is not None and poll():
                return SearchEnd.STOPPED
            self._compare(np.array(self.todo.pop(), dtype=np.int64))
        if self.open_groups is not None:
            return SearchEnd.NO_OPTIMUM
        self.lower = self.best[0][0]
        return SearchEnd.CLOSED

    def _fit(self, groups):
        """The GroupFit of a set, ascending."""
        key = groups.tobytes()
        if key not in self.fits:
            columns = [self.problem.groups.of(g) for g in groups]
            support = np.unique(np.concatenate([*columns, self.problem.forced]))
            support = support[self.problem.usable[support]].astype(np.int64)
            self.fits[key] = GroupFit(*self.refit(support), groups)
        return self.fits[key]

    def _compare(self, chosen):
        """Compare the set of forced groups and `chosen` with the best one."""
        fit = self._fit(np.union1d(self.forced, chosen))
        self.nodes += 1
        if fit.flags:
            self.open_groups = chosen if self.open_groups is None else self.open_groups
            return
        cost = self.lambda0 * float(self.problem.groups.factor[chosen].sum())
        self.accept(fit.value + cost, fit)
