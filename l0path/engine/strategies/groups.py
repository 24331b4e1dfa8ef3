"""The support path over the number of groups: every size on the working groups by additions,
removals and swaps with refit, then a check of every size over all groups; the best of them enter,
repeat.

Where all groups are working groups, a squared loss without lambda1, box, overlap or collinear
columns decides every exchange exactly ("refit_swap"). Elsewhere it is the m groups that score best
at a size (c' G_gg^-1 c for the residuals of its fit, and of the fit without its cheapest group)
whose exchanges are all decided, or, where tables only rank, the m best of all exchanges that refits
refute ("refit_swap_m").
"""

from typing import NamedTuple

import numpy as np

from ...algorithms.cutting_planes import FeatureGenerating
from ...core import threads
from ...core.status import Optimality
from ...exchange import perturbation
from ...exchange.local_search import LocalSearch, SolutionPool
from ...exchange.neighborhoods.groups import GroupNeighborhood
from ...exchange.verification.groups import scores, scores_of_responses
from ...working_set.groups import GroupModel
from ...working_set.starts import scale_of
from ..rounds import Rounds
from .exchanges import ExchangeStrategy
from .generating import Generation
from .moves import SetMoves


class GroupLimits(NamedTuple):
    """The numbers of columns, and of their entries, up to which all groups are working groups from
    the start; beyond them the `seed` groups of best score are.
    """

    columns: int = 2000
    entries: int = 1 << 25
    seed: int = 50


class GroupExchanges(ExchangeStrategy):
    """Every size 0..max_k for one (lambda1, lambda2) by exchanges of groups, and moves of several
    ones where they keep a hierarchy. `tried`: the m of "refit_swap_m".

    generating: settings of the feature generating machine, which then finds the models of all sizes
    first; exchanges follow where these settings ask for `polish`, else a size is what was generated
    for it, with its coefficients at their best.
    """

    limits = GroupLimits()

    def __init__(self, model, part, settings, session, generating=None):
        self.settings = settings
        self.groups = GroupModel(model, part.lambda1, part.lambda2)
        null = self.groups.refit(self.groups.forced)
        pool = SolutionPool(
            null,
            self.groups.forced.size,
            min(part.max_k, int(self.groups.free.sum())),
            scale_of(model, null),
            settings.tol,
            model.problem.perfect,
        )
        super().__init__(model, pool, part, session)
        self.decide_by_steps()
        self.tried, self.screened = self.neighborhood.tried, set()
        self.moves = None if self.problem.hierarchy is None else SetMoves(self)
        self.generation = None
        if generating is not None:
            self.generation = Generation(self, generating)
            self.solver = self.generation.solver

    def phases(self):
        """Generation where it is asked for, then exchanges."""
        return (self,) if self.generation is None else (self.generation, self)

    def start(self):
        """Seed the working groups, and compare the sets of groups of the session; whole sweeps run
        in kernels where they can keep a hierarchy.
        """
        if self.generation is None:
            self.seed()
        self.tell_apart()
        self.offer_all()
        if self.moves is not None:
            self.neighborhood = self.moves.in_kernels() or self.neighborhood

    def sweep(self, done):
        """As `SizeStrategy.sweep`, unless what was generated is not to be polished."""
        if self.generation is None or self.generation.polish:
            super().sweep(done)

    def improve(self):
        """Sweeps anew, for groups that have entered since are not known to earlier steps; then
        moves of several groups.
        """
        first, self.done = self.first, set()
        super().improve()
        if self.moves is not None:
            self.moves.run(first)

    def ways_out(self):
        """Random restarts with effort "high"."""
        if self.settings.effort == "high":
            perturbation.perturb(self.pool, self.neighborhood, self.rng, 10, set(), self.clock.poll)
            yield True

    def use_refits(self):
        """Let refits decide every exchange."""
        self.groups.exact = False
        self.decide_by_steps()

    def decide_by_steps(self):
        """Steps of single groups, none of them known: `steps`, of which kernels may be ahead."""
        self.steps = GroupNeighborhood(self.groups, self.scale, self.settings)
        self.neighborhood = self.steps

    def seed(self):
        """All groups where they are few or keep a hierarchy, else those of best score at the null
        fit.
        """
        columns, n = np.count_nonzero(np.bincount(self.groups.columns)), self.problem.X.n
        few = columns <= self.limits.columns and columns * n <= self.limits.entries
        if few or self.moves is not None:
            self.groups.grow(np.flatnonzero(self.groups.free))
        else:
            self._screen([0], max(self.limits.seed, 2 * self.pool.last), plain=True)
            self.sweep(set())
            # what the largest size leaves: cheap to read, and the check of all sizes then starts
            # from better ones
            self._screen([max(self.pool.fits)], 2 * self.tried, plain=True)

    def _screen(self, sizes, most, plain=False):
        """Let the `most` groups of best score at each size into the working groups, by reads of X
        with the slopes of their fits (plain: as they are only); True if there was a new one.
        """
        owner, score = self._scores(sizes, plain)
        new = []
        for k, row in zip(owner, score, strict=True):
            row[self.pool.fits[k].groups] = -1.0
            best = (
                np.argpartition(-row, most - 1)[:most] if most < row.size else np.arange(row.size)
            )
            new.append(best[row[best] > 0.0])
        return self.groups.grow(np.unique(np.concatenate(new)))

    def _scores(self, sizes, plain):
        """(sizes, scores (m, G) of all groups for each of them) of `_screen`."""
        fits = [self.pool.fits[k] for k in sizes]
        if self.problem.turn is not None:
            return sizes, scores_of_responses(self.groups, fits)
        sides, mass, owner = [], [], []
        keys = self.screened | {fit.key for fit in fits}
        for k, fit in zip(sizes, fits, strict=True):
            slopes, v, shifted = self._slopes(fit, keys)
            for column in [-slopes, *([] if plain else shifted)]:
                sides.append(column)
                mass.append(float(v.sum()))
                owner.append(k)
        known = (
            self.model.q_all[None]
            if self.problem.quadratic and sizes == [0] and not self.pool.n_forced
            else None
        )
        return owner, scores(self.groups, np.column_stack(sides), np.array(mass), known)

    def _slopes(self, fit, keys):
        """(slopes, curvatures, [right-hand side after the removal of the cheapest group, by the
        quadratic]) of a fit, by rows; nothing is removed where what is left is among the sets
        `keys`.
        """
        p, model = self.problem, self.model
        _, slopes, v = model.derivatives(fit)
        cheap = self.neighborhood.drops(fit)[:1]
        if not cheap or fit.groups[fit.groups != cheap[0][1]].tobytes() in keys:
            return slopes, v, []
        state = self.groups.quadratic(fit)
        Z = model.Z[state.at]
        if p.free_intercept:
            Z = Z - (Z @ v / v.sum())[:, None]
        i = int(np.flatnonzero(state.ids == cheap[0][1])[0])
        A = slice(state.members[i], state.members[i + 1])
        step = state.B[:, A] @ np.linalg.lstsq(state.B[A, A], state.b[0, A], rcond=None)[0]
        return slopes, v, [-slopes + v * (step @ Z)]

    def verify(self, sizes):
        """Check sizes over all groups: those whose best-scoring groups are working groups already,
        and that no exchange among these improves, are verified; all, unless exchanges are asked
        for.
        """
        if self.generation is not None and not self.generation.polish:
            for k in sizes:
                self.mark_verified(k)
            return
        fits = self.pool.fits
        new = [k for k in sizes if fits[k].key not in self.screened]
        if new and not self.groups.whole:
            self.clock.poll()
            grew = self._screen(new, self.tried)
            self.screened.update(fits[k].key for k in new)
            if grew:
                self.tell_apart()
                return
        for k in sizes:
            self.clock.poll()
            if self.groups.whole or (k in fits and fits[k].key in self.screened):
                self._confirm(k)

    def _confirm(self, k):
        """Verified when neither a swap nor an addition, which would beat the next size,
        improves.
        """
        fit = self.pool.fits.get(k)
        if fit is None:
            return
        better = self.neighborhood.swap(fit, thorough=True)
        improved = better is not fit and self.pool.update(better)
        if k + 1 in self.pool.fits:
            larger = self.neighborhood.add(fit, polish=False)
            improved |= larger is not None and self.pool.update(larger)
        if not improved and self.pool.fits.get(k) is fit:
            self.mark_verified(k)

    @property
    def exact(self):
        """Whether the tables have shown all exchanges as they are."""
        return self.groups.exact and self.groups.whole and not self.groups.weak

    @property
    def optimality_if_verified(self):
        """As in `ExchangeStrategy`; of generated models, that coefficients are at their best."""
        if self.generation is not None:
            return Optimality.STATIONARY
        return super().optimality_if_verified

    def next_value(self):
        """Value of one more group than the last size, by its best addition; None when there is
        none.
        """
        fit = self.pool.fits[self.pool.last]
        with threads.one_blas_thread():
            if self.groups.exact and not self.neighborhood.compiled:
                additions = self.neighborhood.table(fit).additions
                return fit.value + additions[0][0] if additions else None
            new = self.neighborhood.add(fit, polish=False)
        return None if new is None else new.value

    def refit(self, fit):
        """The fit of the same groups made anew."""
        return self.groups.refit(fit.groups)

    def offer_support(self, groups):
        """Compare a set of groups found elsewhere with the best one of its size."""
        if 0 < groups.size - self.pool.n_forced <= self.pool.last:
            self.pool.update(self.groups.refit(groups))


def relaxation_bounds(model, part, session):
    """(D, costs) of the relaxations of a slice: D_k (last + 1,), which no model of k groups falls
    below (NaN: not known), and the penalty factors of the groups that may be chosen.
    """
    settings = LocalSearch(effort="fast")
    sizes = GroupExchanges(model, part, settings, session, FeatureGenerating())
    with threads.one_blas_thread():
        sizes.offer_all()
        Rounds().run(sizes.generation)
    D = [sizes.pool.fits[0].value, *(sizes.bound(k) for k in range(1, sizes.pool.last + 1))]
    return np.array(D), sizes.problem.groups.factor[sizes.groups.free]
