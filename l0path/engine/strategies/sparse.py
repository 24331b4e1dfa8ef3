"""Every size 0..max_k by a k-sparse solver: sweeps with warm starts on the working columns, then
one batched read of all columns that says which must join.

Solvers run on the working columns W because a read of the full matrix costs as much as hundreds of
their steps: what a solver asserts (a fixed point of its map, a bound) is then checked over all p
columns for every size in one product, columns that would change it enter W, and the sizes they
touch go on from where they were. A solver that has `all_columns` works on all of them and needs no
check; one that is `both_ways` ends where its start leads it, so sizes are also entered from above;
`max_entering` columns may join for one size at a time.
"""

import numpy as np

from ...algorithms.one_size import ROUNDS, outside
from ...core.status import FitStatus
from ...exchange import local_search
from ...exchange.local_search import LocalSearch, SolutionPool
from ...exchange.neighborhoods.choice import neighborhood_of
from ...exchange.ranking import Wanted, entering
from ...exchange.verification import violators
from ...problem.penalties import separable
from ...working_set.starts import scale_of, seed_at
from ..sizes import SizeStrategy


class SparseSizes(SizeStrategy):
    """Every size 0..max_k at one (lambda1, lambda2), for a settings record that has `check` and
    `solver`. A size is verified when no column outside W would change what its solver asserts.
    """

    def __init__(self, model, part, settings, session):
        self.settings, problem = settings, model.problem
        model.grow(problem.forced)
        null = model.null(float(part.lambda1), float(part.lambda2))
        self.scale = scale_of(model, null)
        self.solver = settings.solver(model, part.lambda1, part.lambda2, self.scale)
        free = int(problem.usable.sum()) - problem.forced.size
        largest = min(part.max_k, free)
        pool = SolutionPool(null, problem.forced.size, largest, self.scale, perfect=problem.perfect)
        super().__init__(model, pool, part, session)
        self.outcomes, self.stale, self.turns = {}, set(), 0
        search = LocalSearch(effort="fast")
        self.exact = problem.closed_form(self.lambda1)
        self._near = 0  # how many columns of near combinations are known
        self.neighborhood = neighborhood_of(model, part, self.scale, search, trials=False)

    def start(self):
        """Seed the working columns, and compare the supports of the session."""
        width = self.problem.forced.size + self.pool.last
        if not self.solver.traits.all_columns and self.model.width <= width:
            seed_at(self.model, self.pool.fits[0], max(100, 4 * self.pool.last))
        for support in self.session.supports:
            self.offer_support(support)
        self.stale = set(range(1, self.pool.last + 1))

    def unfinished(self):
        """Columns have joined that change some size."""
        return bool(self.stale) and self.turns < ROUNDS

    def improve(self):
        """Solve the sizes that have changed, in turn."""
        self.turns += 1
        self._tell_apart()
        self.solve_sizes(sorted(self.stale), -1)
        if self.solver.traits.all_columns:
            return
        if self.solver.traits.both_ways:
            self.solve_sizes(sorted(self.stale - {self.pool.last}, reverse=True), 1)
        if self.settings.polish:
            self.polish()
        elif self.solver.traits.proposes:
            self.nest()

    def unverified(self):
        """Sizes that were solved and are not verified."""
        return [k for k in sorted(self.outcomes) if k in self.pool.fits and not self.is_verified(k)]

    def profile(self):
        """The numbers for `Rounds.end`."""
        counts = self.solver.profile()
        return self.model, self.model.members, len(self.verified), counts

    def _tell_apart(self):
        """Let refits decide moves between sizes where near combinations are among the working
        columns (see `ExchangeStrategy`).
        """
        found = self.model.near_columns(self.lambda2)
        if found == self._near:
            return
        self.exact, self._near = False, found
        self.neighborhood = neighborhood_of(
            self.model, self.part, self.scale, self.neighborhood.settings, refits=True
        )
        self.refit_all(lambda new, old: new.value < old.value)

    def solve_sizes(self, sizes, side):
        """Solve sizes in turn: from their own fit first where they have one, and from the fit one
        size below (side = -1) or above (1).
        """
        for k in sizes:
            if k > self.pool.last:
                continue
            starts = [self.pool.fits.get(k) if side < 0 else None, self.pool.fits.get(k + side)]
            if starts[0] is None and starts[1] is None:
                starts[1] = self.pool.fits[max(j for j in self.pool.fits if j < k)]
            if not self.solver.traits.both_ways and starts[0] is not None:
                starts = starts[:1]
            for start in starts:
                if start is not None and k <= self.pool.last:
                    self.clock.poll()
                    self.keep(k, self.solver.solve(k, start, self.clock.poll))
            if not self.settings.paper_defaults:
                self.fall(k)

    def fall(self, k):
        """See that one more column costs nothing: where size k is worse than k - 1, the best
        addition to the latter takes its place.
        """
        below, held = self.pool.fits.get(k - 1), self.pool.fits.get(k)
        if (
            below is None
            or held is None
            or held.value <= below.value + self.pool.tolerance(below.value)
            or FitStatus.SEPARATED in below.flags
        ):
            return
        new = self.neighborhood.add(below, polish=False)
        if new is not None:
            self.keep(k, self.solver.solve(k, new, self.clock.poll))

    def nest(self):
        """Let the cheapest removal from every size, and the best addition to it, compete for the
        sizes beside it.
        """
        for step, sizes, side in (
            (self.neighborhood.drop, range(self.pool.last, 1, -1), -1),
            (self.neighborhood.add, range(1, self.pool.last), 1),
        ):
            for k in sizes:
                fit = self.pool.fits.get(k)
                if (
                    fit is not None
                    and k + side in self.pool.fits
                    and FitStatus.SEPARATED not in fit.flags
                ):
                    self.clock.poll()
                    new = step(fit, polish=False)
                    if new is not None and new.value < self.pool.fits[k + side].value:
                        self.keep(k + side, self.solver.solve(k + side, new, self.clock.poll))

    def keep(self, k, outcome):
        """Let an outcome compete for its size; of equal fits the later one is kept, whose step or
        dual point knows more columns.
        """
        held = self.outcomes.get(k)
        if (
            self.pool.update(outcome.fit)
            or held is None
            or (
                k in self.pool.fits
                and outcome.fit.support.tobytes() == self.pool.fits[k].support.tobytes()
            )
        ):
            self.outcomes[k] = outcome
        elif outcome.alpha is not None:  # a worse fit, maybe a better bound
            self.outcomes[k] = outcome._replace(fit=self.pool.fits[k])
        for j in [j for j in self.outcomes if j not in self.pool.fits]:
            del self.outcomes[j]

    def polish(self):
        """One local search over the sizes (swaps with refit, on W), then the solver from its
        results.
        """
        local_search.search(self.pool, self.neighborhood, set(), self.clock.poll)
        for k in range(1, self.pool.last + 1):
            fit = self.pool.fits.get(k)
            if (
                fit is None
                or FitStatus.SEPARATED in fit.flags
                or (k in self.outcomes and self.outcomes[k].fit is fit)
            ):
                continue
            self.clock.poll()
            self.keep(k, self.solver.solve(k, fit, self.clock.poll))

    def verify(self, sizes):
        """Check sizes over all columns: those that no column outside W would change are verified,
        the others are to be solved again on the larger W.
        """
        fits, self.stale = self.pool.fits, set()
        if self.solver.traits.all_columns:
            for k in sizes:
                self._mark_verified(k)
            return
        sizes = [k for k in sizes if FitStatus.SEPARATED not in fits[k].flags]
        if not sizes:
            return
        self.clock.poll()
        found = outside(
            self.model, self.solver, [self.outcomes[k]._replace(fit=fits[k]) for k in sizes]
        )
        better, joining = self.exchanged(sizes) if self.settings.polish else set(), []
        changed = set()
        for k, (score, J) in zip(sizes, found, strict=True):
            if k not in fits:  # a swap ended the sizes before it
                continue
            self.outcomes[k] = self.solver.certified(self.outcomes[k]._replace(fit=fits[k]), score)
            if k in better:
                continue
            if self.outcomes[k].proven or not J.size:
                self._mark_verified(k)
            else:
                changed.add(k)
                joining.append(J[: self.solver.traits.max_entering])
        grew = bool(joining) and self.model.grow(np.unique(np.concatenate(joining)))
        self.stale = better | changed if grew else better

    def exchanged(self, sizes):
        """Swaps with refit over all p columns, as `ColumnExchanges` checks them: what the working
        columns lack joins them, and the sizes (a set) that this improves take the swaps. A read or
        two of X.
        """
        pool, model, search = self.pool, self.model, self.neighborhood.settings
        sizes = [k for k in sizes if not (k in self.outcomes and self.outcomes[k].proven)]
        if not sizes:
            return set()
        fits = [pool.fits[k] for k in sizes]
        wanted = [
            Wanted(1e300, -pool.tolerance(fit.value), self.solver.traits.max_entering)
            if self.exact
            else Wanted(
                1e300,
                1e300,
                local_search.pairs_tried(search, model.problem.n_eff, fit.support.size),
            )
            for fit in fits
        ]
        found = violators(model, fits, wanted, separable(0.0, self.lambda1, self.lambda2))
        model.grow(entering(found))
        better = set()
        for k, fit, candidates in zip(sizes, fits, found, strict=True):
            self.clock.poll()
            if (
                candidates
                and k in pool.fits
                and pool.update(self.neighborhood.swap(fit, thorough=True))
            ):
                better.add(k)
        return better

    def _mark_verified(self, k):
        """Mark a size verified and tell the listener, where the solver came to an end of its
        own.
        """
        outcome = self.outcomes[k]
        if outcome.status != FitStatus.MAX_ITER or outcome.alpha is not None:
            self.mark_verified(k)

    def dual_points(self):
        """Dual points of the sizes (n, m), weights included."""
        found = [
            outcome.alpha
            for _, outcome in sorted(self.outcomes.items())
            if outcome.alpha is not None
        ]
        return (
            self.model.problem.weights[:, None] * np.column_stack(found)
            if found
            else np.empty((self.model.problem.X.n, 0))
        )

    def next_value(self):
        """Value of one more column than the last size, by its best addition in W, which the columns
        of largest slope there join first; None when there is none.
        """
        seed_at(self.model, self.pool.fits[self.pool.last], 20)
        new = self.neighborhood.add(self.pool.fits[self.pool.last], polish=False)
        return None if new is None else new.value
