"""The best models of a number of units, or of a lambda0, by refitting every set of them. Of groups
at most MOST_GROUPS may be chosen, 4096 sets, or there are as many sets that keep a hierarchy; of
columns there are up to MOST_FITS sets. It serves every loss, box and shrinkage.
"""

import math
from itertools import combinations

import numpy as np

from ..core.status import FitStatus, SearchEnd
from ..formula.hierarchy import STRONG
from ..working_set.model import make_model
from .all_sizes.nested import refits_bound
from .all_sizes.subtrees import MOST_COLUMNS
from .contest import Contest
from .integrality_generation import IntegralityGeneration

MOST_GROUPS = 12  # groups that may be chosen at most
MOST_FITS = 1e6  # sets of columns that are refitted at most


def enumerable(groups, usable):
    """Whether all sets of the groups that may be chosen are compared."""
    if groups.hierarchy is not None:
        return closed_sets(groups, usable) is not None
    return int(groups.selectable(usable).sum()) <= MOST_GROUPS


def closed_sets(groups, usable):
    """All sets of groups that may be chosen, beside the forced ones, and keep the hierarchy: a list
    of tuples, smaller sets first; None where they are more than 2^MOST_GROUPS.
    """
    hierarchy, forced = groups.hierarchy, groups.factor == 0
    free, held, sets = groups.selectable(usable), forced.copy(), [()]
    needs = hierarchy.less(forced).needs
    while (left := free & ~held).any():  # parents come first
        g = int(np.flatnonzero(left & ~(needs & left).any(axis=1))[0])
        held[g], own = True, set(np.flatnonzero(needs[g]).tolist())
        if hierarchy.rule == STRONG:
            sets += [(*S, g) for S in sets if own.issubset(S)]
        else:
            sets += [(*S, g) for S in sets if not own or not own.isdisjoint(S)]
        if len(sets) > 2**MOST_GROUPS:
            return None
    return sorted((tuple(sorted(S)) for S in sets), key=lambda S: (len(S), S))


def spares_one(problem, member, limit, value):
    """Whether the best closed set `member` (G,) of its size is within the limit without one of its
    groups, too; value(model, support) -> (value, fit) of columns. A smaller set that is as good
    grows to others of the size, which tell, except where a hierarchy leaves it one way to grow.
    """
    if problem.hierarchy is None:
        return False
    model, inside = make_model(problem), member | (problem.unit_factor == 0)
    return any(
        value(model, problem.columns_of(np.setdiff1d(np.flatnonzero(inside), g)))[0] <= limit
        for g in np.flatnonzero(problem.hierarchy.removable(inside) & member)
    )


def refuse_groups(data, settings, lambda1):
    """Raise ValueError where the groups of `Data` cannot be searched with these settings."""
    if isinstance(settings, IntegralityGeneration):
        raise ValueError(
            "integrality generation searches among models of k features, but there are groups: use "
            "algorithm='exact', or certify with algorithm=None, which compare all sets of groups"
        )
    bounded = np.isfinite(data.lower).any() or np.isfinite(data.upper).any()
    if enumerable(data.groups, ~data.excluded) or not (
        lambda1 or bounded or not refits_bound(data.loss)
    ):
        return
    count = int(data.groups.selectable(~data.excluded).sum())
    if data.groups.hierarchy is not None:
        raise ValueError(
            "with lambda1, bounds on coefficients, the hinge or a loss of your own, "
            "algorithm='exact' and certify compare all sets of terms that keep the hierarchy, "
            f"which is done for at most {2**MOST_GROUPS} of them; here, with {count} terms that "
            "may be chosen, there are more. Name some of them in exclude= or always_include=, or "
            "fit with algorithm='swap' (certify=True and lambda2= give bounds)"
        )
    raise ValueError(
        "with lambda1, bounds on coefficients, the hinge or a loss of your own, algorithm='exact' "
        "and certify compare all sets of groups (with a formula: of terms), which is done for at "
        f"most {MOST_GROUPS} groups that may be chosen; here there are {count}. Name some of them "
        "in exclude= or always_include=, fit with algorithm='swap' (certify=True and lambda2= give "
        "bounds), or search single columns without groups= (with a formula: groups=False)"
    )


class FitEnumeration(Contest):
    """One search. problem; refit(support) -> `Fit` for columns; size (units besides forced ones) or
    lambda0; n_best: how many of the best sets are wanted; fits: {units as bytes: fit} of earlier
    searches with the same shrinkage, which this one extends, None where none are kept.

    best: [(value, fit)], ascending, at least two where there are two; lower: no model is below it;
    nodes: sets compared; `open_units`: numbers of the chosen units of a set whose refit did not
    converge, None for none. `run` may be called again to go on.
    """

    def __init__(self, problem, *, refit, size=None, lambda0=None, n_best=1, fits=None):
        self.problem, self.refit, self.n_best = problem, refit, max(n_best, 2)
        self.fits, self.lambda0 = fits, 0.0 if lambda0 is None else lambda0
        self.held, self.free = problem.held_units, np.flatnonzero(problem.free_units)
        m = self.free.size
        sizes = range(m + 1) if size is None else [min(size, m)]
        if problem.hierarchy is None:
            self.total = sum(math.comb(m, k) for k in sizes)
            self.todo = (one for k in sizes for one in combinations(self.free.tolist(), k))
        else:
            closed = closed_sets(problem.groups, problem.usable)
            every = [one for one in closed if len(one) in sizes]
            self.total, self.todo = len(every), iter(every)
        self.best, self.nodes, self.lower, self.open_units = [], 0, -math.inf, None

    def run(self, poll=None):
        """Refit sets until all are ("closed"), or poll() is True ("stopped"); "no_optimum" where a
        set has none that could be computed.
        """
        if not self.nodes:
            self.lower = self._below_all()
        while self.nodes < self.total:
            if poll is not None and poll():
                return SearchEnd.STOPPED
            self._compare(np.array(next(self.todo), dtype=np.int64))
        if self.open_units is not None:
            return SearchEnd.NO_OPTIMUM
        self.lower = self.best[0][0]
        return SearchEnd.CLOSED

    def _below_all(self):
        """The value of the fit on everything that may be chosen, which no model is below; the floor
        of the problem where these are so many columns that this one fit, which nothing ends
        early, may take longer than all others.
        """
        if int(self.problem.usable.sum()) > MOST_COLUMNS:
            return self.problem.floor
        every = self._fit(np.union1d(self.held, self.free))
        return self.problem.floor if FitStatus.NOT_CONVERGED in every.flags else every.value

    def _fit(self, units):
        """The fit of a set of units, ascending."""
        known = None if self.fits is None else self.fits.get(units.tobytes())
        if known is not None:
            return known
        fit = self.problem.fit_of(self.refit(self.problem.columns_of(units)), units)
        if self.fits is not None:
            self.fits[units.tobytes()] = fit
        return fit

    def _compare(self, chosen):
        """Compare the set of held units and `chosen` with the best one."""
        fit = self._fit(np.union1d(self.held, chosen))
        self.nodes += 1
        if FitStatus.NOT_CONVERGED in fit.flags:
            self.open_units = chosen if self.open_units is None else self.open_units
            return
        cost = self.lambda0 * float(self.problem.unit_factor[chosen].sum())
        self.accept(fit.value + cost, fit)
