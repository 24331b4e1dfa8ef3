"""Moves of several groups at once, where some groups need others in every model.

A group that pays only together with what it needs is not found by single additions. So each set is
also grown by a group with all that it lacks, and shrunk to its size again, a group at a time; every
set on the way competes for its size.
"""

import numpy as np
from scipy.linalg import lapack

from ...core.status import End
from ...exchange import group_chains, group_ranking, perturbation
from ...exchange.neighborhoods.gram import GramNeighborhood
from ...formula.hierarchy import STRONG, NoHierarchy
from ...working_set.groups import GroupQuadratic

WHOLE_MOVES = 40  # of one set, those of the groups that promise most
RESTARTS = 4  # of every size, where they run in kernels
KEPT = 1e-6  # share of its square that a column keeps beside others from which it is clearly apart
# share of a gain by which the value after a move may be off where it is not exact, and of several
# classes, whose quadratic has one curvature for all rows
MARGIN, CLASSES_MARGIN = 0.1, 0.6


class SetMoves:
    """The moves of several groups of a `GroupExchanges` whose groups keep a hierarchy.

    Claims of the search compare a model with others that keep it: "refit_swap" with those that one
    addition or swap of single groups leads to.
    """

    def __init__(self, search):
        self.search, self.pool, self.problem = search, search.pool, search.problem
        self.groups, self.clock = search.groups, search.clock
        self.moved, self.ends = set(), set()  # keys of fits that moves, and an end, were tried from
        # whether a quadratic ranks the moves
        self.ranked = not (self.problem.boxed or self.groups.lambda1)

    def in_kernels(self):
        """The neighborhood whose sweeps run in kernels, where tables are exact and the groups are
        single columns that are clearly independent, each of which needs all of its parents; None
        elsewhere.
        """
        search, groups = self.search, self.groups
        model = search.model
        if not (groups.exact and groups.widest == 1) or search.apart:
            return None
        if self.problem.hierarchy.rule != STRONG or model.width >= self.problem.X.n:
            return None
        if groups.forced.size != self.problem.forced.size:
            return None
        H = model.G[: model.width, : model.width] + 2.0 * groups.lambda2 * np.eye(model.width)
        unit = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-280))
        L, weak = lapack.dpotrf(H * unit * unit[:, None], lower=1)
        if weak or np.diagonal(L).min() ** 2 <= KEPT:
            return None
        last, scale, settings = self.pool.last, search.scale, search.settings
        return GramNeighborhood(model, groups.lambda2, last, scale, settings, units=groups)

    def run(self, first):
        """Moves of several groups until none improves a size, each followed by sweeps; random
        restarts before in the first round where they run in kernels, in which they cost little.
        """
        search = self.search
        fast = search.settings.effort == "fast"
        if first and search.neighborhood.compiled and not fast:
            rng = np.random.default_rng(0)  # a fixed seed: the path depends on the data only
            perturbation.perturb(
                self.pool, search.neighborhood, rng, RESTARTS, search.done, self.clock.poll
            )
        while self._move_sets() and not fast:
            search.sweep(search.done)
        while self._past_the_end():
            search.sweep(search.done)

    def _past_the_end(self):
        """Whether sizes go on where every single group that may be added is a combination of those
        chosen: together with another one it may let in a third that is none.
        """
        pool, fit = self.pool, self.pool.fits[self.pool.last]
        perfect = pool.perfect(fit.value, pool.scale)
        if pool.end != End.SATURATED or perfect or fit.key in self.ends:
            return False
        self.ends.add(fit.key)
        for chain in self._chains(fit):
            self.clock.poll()
            if pool.last + chain.size > self.search.largest:
                continue
            new = self.groups.refit(np.union1d(fit.groups, chain), fit)
            if new.value < fit.value - pool.tolerance(fit.value):
                pool.last, pool.end = self.search.largest, ""
                self._grown_and_shrunk(fit, chain)
                return True
        return False

    def _move_sets(self):
        """Moves of several groups from each size; True if one improved a size."""
        improved, pool = False, self.pool
        for k in sorted(pool.fits):
            fit = pool.fits.get(k)
            if fit is None or fit.key in self.moved:
                continue
            self.moved.add(fit.key)
            chains = self._chains(fit)
            if not chains:
                continue
            values = self._predicted(fit, chains) if self.ranked else None
            promising = self._promising(k, chains, values)
            for i, chain in enumerate(chains):
                if promising[i]:
                    self.clock.poll()
                    if self._grown_and_shrunk(fit, chain):
                        improved, promising = True, self._promising(k, chains, values)
        return improved

    def _promising(self, size, chains, values):
        """(C,) whether chains may improve a size, from that to which they lead down to that of the
        fit, by the values `_predicted`; all of them where there are none.
        """
        if values is None:
            return np.ones(len(chains), dtype=bool)
        counts = np.array([chain.size for chain in chains])
        most = int(counts.max())
        goals = np.full(2 * most + 1, -np.inf)  # nothing is below the size of the fit
        goals[: most + 1] = [self._goal(k) for k in range(size + most, size - 1, -1)]
        return (values < goals[most - counts[:, None] + np.arange(most + 1)]).any(axis=1)

    def _goal(self, size):
        """Below what a value improves the best fit known of a size."""
        held = self.pool.fits.get(size)
        if size > self.pool.last:
            return -np.inf
        return np.inf if held is None else held.value - self.pool.tolerance(held.value)

    def _predicted(self, fit, chains):
        """For C chains the values (C, most + 1) that the quadratic at a fit predicts, exactly for
        the squared loss, of the fit grown by each and shrunk to its size again, see `group_chains`.
        """
        model, hierarchy = self.groups, self.problem.hierarchy
        counts, ids = [chain.size for chain in chains], np.concatenate(chains)
        groups = np.unique(ids)
        model.grow(groups)
        quadratic, growth = self._growth(fit, groups)
        # places of the columns of each chain among those of all the groups
        first = np.append(0, np.cumsum(np.diff(model.start)[groups]))
        at, number = np.cumsum([0, *counts]), np.searchsorted(groups, ids)
        sizes = first[number + 1] - first[number]
        ends = np.cumsum([0, *sizes])
        places = np.repeat(first[number] - ends[:-1], sizes) + np.arange(ends[-1])
        values = np.empty((len(chains), max(counts) + 1))
        group_chains.foretell(
            GroupQuadratic(*quadratic[:5]),  # what the kernel reads: compiled once for all losses
            growth,
            group_chains.Chains(ids, at, places, ends[at]),
            group_chains.Present(
                self.search.steps.inside(fit.groups), hierarchy.needs, hierarchy.rule == STRONG
            ),
            max(int(np.diff(quadratic.members).max(initial=1)), 1),
            values,
        )
        margin = MARGIN if self.problem.turn is None else CLASSES_MARGIN
        return values + (fit.value if model.exact else fit.value + margin * values[:, :1])

    def _growth(self, fit, groups):
        """The quadratic at a fit, and the `Growth` of it by the columns of some working groups, one
        group after another.
        """
        model = self.groups
        quadratic = model.quadratic(fit)
        curvature = quadratic.curvature
        new = curvature.columns(model.model.where[model.columns[model.one_by_one(groups)[0]]])
        rows, H = curvature.product(new, quadratic.columns), curvature.product(new, new)
        H[np.diag_indices_from(H)] += 2.0 * model.lambda2
        c = curvature.downhill(new, quadratic.b, rows.T)
        return quadratic, group_chains.Growth(rows, rows @ quadratic.B, c, H)

    def _chains(self, fit):
        """Sets of two groups or more, one with all that it lacks, that may be added to a fit."""
        hierarchy, inside = self.problem.hierarchy, self.search.steps.inside(fit.groups)
        lacking = np.flatnonzero(self.groups.free & ~inside & ~hierarchy.met(inside))
        if lacking.size > WHOLE_MOVES:
            # those too that lack what they need
            ranked = group_ranking.table(self.groups, fit, None, inside.size, NoHierarchy())
            best = ranked[0].additions
            gain = np.full(inside.size, -np.inf)
            gain[[g for _, g in best]] = [-change for change, _ in best]
            lacking = lacking[np.argsort(-gain[lacking], kind="stable")[:WHOLE_MOVES]]
        return hierarchy.chains(lacking, inside, self.groups.free)

    def _grown_and_shrunk(self, fit, chain):
        """Add groups to a fit and remove as many others; True if a size improved."""
        new = self.groups.refit(np.union1d(fit.groups, chain), fit)
        improved = self.pool.update(new)
        for _ in chain:
            drops = [g for _, g in self.search.steps.drops(new) if g not in chain]
            if not drops:
                break
            new = self.groups.refit(new.groups[new.groups != drops[0]], new)
            improved |= self.pool.update(new)
        return improved
