"""The support path over the number of groups of which some need others in every model: exchanges
of single groups that keep the hierarchy, and moves of several groups at once.

A group that pays only together with what it needs is not found by single additions. So each set is
also grown by a group with all that it lacks, and shrunk to its size again, a group at a time; every
set on the way competes for its size.
"""

import numpy as np
from scipy.linalg import lapack

from ...core.status import End
from ...exchange import group_chains, group_ranking, perturbation
from ...exchange.neighborhoods.closed import ClosedGramNeighborhood
from ...formula.hierarchy import STRONG, NoHierarchy
from ...working_set.groups import GroupQuadratic
from .groups import GroupExchanges

WHOLE_MOVES = 40  # of one set, those of the groups that promise most
RESTARTS = 4  # of every size, where they run in kernels
KEPT = 1e-6  # share of its square that a column keeps beside others from which it is clearly apart
MARGIN = 0.1  # share of a gain by which the value after a move may be off where it is not exact


class ClosedExchanges(GroupExchanges):
    """Every size 0..max_k for one (lambda1, lambda2) among sets of groups that keep a hierarchy.

    Claims compare a model with others of this kind: "refit_swap" with those that one addition or
    swap of single groups leads to.
    """

    def __init__(self, model, part, settings, session):
        super().__init__(model, part, settings, session)
        self.moved, self.ends = set(), set()  # keys of fits that moves, and an end, were tried from
        self.steps = self.neighborhood  # single steps, also where sweeps run in kernels
        # whether a quadratic ranks the moves
        self.ranked = not (self.problem.boxed or self.groups.lambda1)

    def seed(self):
        """All groups."""
        self.groups.grow(np.flatnonzero(self.groups.free))

    def start(self):
        """As `GroupExchanges.start`; whole sweeps run in kernels where they can."""
        super().start()
        if self._in_kernels():
            self.neighborhood = ClosedGramNeighborhood(
                self.groups, self.pool.last, self.scale, self.settings
            )

    def _in_kernels(self):
        """Whether tables are exact and the groups are single columns that are clearly independent,
        each of which needs all of its parents.
        """
        model, groups = self.model, self.groups
        if not (groups.exact and groups.widest == 1) or self.apart or model.q.ndim > 1:
            return False
        if self.problem.groups.hierarchy.rule != STRONG or model.width >= self.problem.X.n:
            return False
        if groups.forced.size != self.problem.forced.size:
            return False
        H = model.G[: model.width, : model.width] + 2.0 * groups.lambda2 * np.eye(model.width)
        unit = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-280))
        L, weak = lapack.dpotrf(H * unit * unit[:, None], lower=1)
        return not weak and np.diagonal(L).min() ** 2 > KEPT

    def use_refits(self):
        """As `GroupExchanges.use_refits`."""
        super().use_refits()
        self.steps = self.neighborhood

    def next_value(self):
        """As `GroupExchanges.next_value`."""
        if not self.neighborhood.compiled:
            return super().next_value()
        new = self.neighborhood.add(self.pool.fits[self.pool.last], polish=False)
        return None if new is None else new.value

    def improve(self):
        """Sweeps, and moves of several groups, until neither improves a size; random restarts first
        where they run in kernels, in which they cost little.
        """
        first = self.first
        super().improve()
        if first and self.neighborhood.compiled and self.settings.effort != "fast":
            rng = np.random.default_rng(0)  # a fixed seed: the path depends on the data only
            poll, search = self.clock.poll, (self.pool, self.neighborhood)
            perturbation.perturb(*search, rng, RESTARTS, self.done, poll)
        while self._move_sets() and self.settings.effort != "fast":
            self.sweep(self.done)
        while self._past_the_end():
            self.sweep(self.done)

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
            if pool.last + chain.size > self.largest:
                continue
            new = self.groups.refit(np.union1d(fit.groups, chain), fit)
            if new.value < fit.value - pool.tolerance(fit.value):
                pool.last, pool.end = self.largest, ""
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
            goals = self._goals(k, max(chain.size for chain in chains))
            for i, chain in enumerate(chains):
                self.clock.poll()
                if not self.ranked or (values[i] < goals[-values[i].size :]).any():
                    if self._grown_and_shrunk(fit, chain):
                        improved, goals = True, self._goals(k, goals.size - 1)
        return improved

    def _goals(self, size, more):
        """(more + 1,) below what values of the sizes from size + more down to size improve."""
        return np.array([self._goal(k) for k in range(size + more, size - 1, -1)])

    def _goal(self, size):
        """Below what a value improves the best fit known of a size."""
        held = self.pool.fits.get(size)
        if size > self.pool.last:
            return -np.inf
        return np.inf if held is None else held.value - self.pool.tolerance(held.value)

    def _predicted(self, fit, chains):
        """For each chain the values (count + 1,) that the quadratic at a fit predicts, exactly for
        the squared loss, of the fit grown by it and shrunk to its size again, see `group_chains`.
        """
        model, hierarchy = self.groups, self.problem.groups.hierarchy
        counts, ids = [chain.size for chain in chains], np.concatenate(chains)
        groups = np.unique(ids)
        model.grow(groups)
        quadratic, growth = self._growth(fit, groups)
        # places of the columns of each chain among those of all the groups
        first = np.cumsum([0, *(model.of(g).size for g in groups)])
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
                self.steps.inside(fit.groups), hierarchy.needs, hierarchy.rule == STRONG
            ),
            max(int(np.diff(quadratic.members).max(initial=1)), 1),
            values,
        )
        values += fit.value if model.exact else fit.value + MARGIN * values[:, :1]
        return [row[: count + 1] for row, count in zip(values, counts, strict=True)]

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
        hierarchy, inside = self.problem.groups.hierarchy, self.steps.inside(fit.groups)
        lacking = np.flatnonzero(self.groups.free & ~inside & ~hierarchy.met(inside))
        if lacking.size > WHOLE_MOVES:
            best = self._additions(fit, inside.size)
            gain = np.full(inside.size, -np.inf)
            gain[[g for _, g in best]] = [-change for change, _ in best]
            lacking = lacking[np.argsort(-gain[lacking], kind="stable")[:WHOLE_MOVES]]
        return hierarchy.chains(lacking, inside, self.groups.free)

    def _additions(self, fit, most):
        """[(change, group)] of the best additions, those too that lack what they need."""
        return group_ranking.table(self.groups, fit, None, most, NoHierarchy())[0].additions

    def _grown_and_shrunk(self, fit, chain):
        """Add groups to a fit and remove as many others; True if a size improved."""
        new = self.groups.refit(np.union1d(fit.groups, chain), fit)
        improved = self.pool.update(new)
        for _ in chain:
            drops = [g for _, g in self.steps.drops(new) if g not in chain]
            if not drops:
                break
            new = self.groups.refit(new.groups[new.groups != drops[0]], new)
            improved |= self.pool.update(new)
        return improved
