"""Steps of a lambda0 path: a point is solved on working columns and verified over all columns."""

import numpy as np

from ...core.status import FitStatus, Optimality
from ...exchange.decisions import unranked_swaps
from ...exchange.local_search import LocalSearch, pairs_tried
from ...exchange.ranking import Candidate, Wanted, exchanged_supports, ranked
from ...problem.penalties import separable
from .checks import EntryCheck, ExchangeCheck, PartialSwapCheck

RANKED = 20  # exchanges tried on the way where a table only ranks


class DescentSteps:
    """Coordinate descent.

    Parameters
    ----------
    descent : CoordinateSolver
        Coordinate descent on the working columns.
    poll : callable
        Raises where the search has to end.
    """

    optimality_if_verified, refits = Optimality.CD, False

    def __init__(self, descent, poll):
        self.descent, self.poll = descent, poll

    def solve(self, lambda0, start):
        """The fit at a lambda0 from another one."""
        return self.descent.solve(lambda0, start, self.poll)

    def restart(self, lambda0, start):
        """A quick look at a lambda0 from another fit, which leaves what it meets among the best of
        their sizes.
        """
        return self.descent.solve(lambda0, start, self.poll)

    def checks(self, dynamic):
        """The checks over all columns; dynamic: for the grid that the path makes."""
        return [EntryCheck(self.descent, dynamic)]


class PartialSwapSteps(DescentSteps):
    """Coordinate descent and swaps in which the other coefficients stay as they are."""

    optimality_if_verified = Optimality.SWAP

    def __init__(self, descent, poll, settings):
        super().__init__(descent, poll)
        self.max_swaps, self.n_best = settings.max_swaps, settings.n_best or RANKED

    def solve(self, lambda0, start):
        """The fit at a lambda0 from another one."""
        return self.descent.solve_swaps(lambda0, start, self.max_swaps, self.n_best, self.poll)

    def checks(self, dynamic):
        """Entries, then partial swaps."""
        swaps = PartialSwapCheck(self.descent, self.n_best, self.poll)
        return [*super().checks(dynamic), swaps]


class ExchangeSteps(DescentSteps):
    """Coordinate descent, and columns added, dropped and swapped with everything refitted."""

    refits = True

    def __init__(self, descent, poll, settings):
        super().__init__(descent, poll)
        self.settings, self.max_swaps = settings, settings.max_swaps
        self.exact = descent.problem.closed_form(descent.lambda1)
        self.optimality_if_verified = (
            Optimality.REFIT_SWAP if self.exact else Optimality.REFIT_SWAP_M
        )
        # (support, lambda0, working columns, thorough) that no exchange improves
        self.failed = set()
        self.undecided = set()  # (support, lambda0) with an exchange whose refit did not converge

    def solve(self, lambda0, start):
        """The fit at a lambda0 from another one."""
        fit = super().solve(lambda0, start)
        for _ in range(self.max_swaps):
            better = self.best_exchange(lambda0, fit)
            if better is None:
                break
            fit = super().solve(lambda0, better)
        return fit

    def checks(self, dynamic):
        """Entries, then exchanges."""
        return [*super().checks(dynamic), ExchangeCheck(self)]

    def tried(self, fit):
        """How many exchanges of a fit are refuted before it is verified."""
        return pairs_tried(self.settings, self.descent.problem.refit_rows, fit.support.size)

    def best_exchange(self, lambda0, fit, thorough=False):
        """A fit with one column added, dropped or swapped and all else refitted whose P is lower,
        or None: ranked by the quadratic, decided by refits, of as many as are `tried` if thorough.
        """
        descent = self.descent
        key = (fit.key, lambda0, descent.model.width, thorough)
        if key in self.failed or FitStatus.SEPARATED in fit.flags:
            return None
        ceiling = descent.objective(lambda0, fit) - descent.tolerance(fit)
        most = self.tried(fit) if thorough else min(RANKED, self.tried(fit))
        candidates = self._candidates(lambda0, fit, most)
        if thorough and not self.exact:
            candidates += self._unranked(fit, candidates)[: max(most - len(candidates), 0)]
        for c in candidates:
            self.poll()
            out, into = np.array([c.out]), np.array([c.into])
            (support,), (b,) = exchanged_supports(fit.support, fit.b, out, into)
            target = ceiling - lambda0 * descent.cost(support)
            new = descent.refit(support, (b, fit.b0), target)
            if new is None:
                continue
            if descent.objective(lambda0, new) < ceiling:
                return new
            if FitStatus.NOT_CONVERGED in new.flags:
                self.undecided.add((fit.key, lambda0))
        self.failed.add(key)
        return None

    def _unranked(self, fit, candidates):
        """The swaps that the quadratic of a fit does not rank, see `unranked_swaps`."""
        swaps = [(c.out, c.into) for c in candidates if c.out >= 0 and c.into >= 0]
        left = unranked_swaps(self.descent.model, fit, 0, np.array(swaps, int).reshape(-1, 2))
        return [Candidate(0.0, int(out), int(into)) for out, into in left]

    def _candidates(self, lambda0, fit, most):
        """The exchanges that are ranked best, in the order in which they are tried, at most `most`
        where the ranking is no table.
        """
        descent, model = self.descent, self.descent.model
        quadratic, tolerance = model.quadratic(fit, descent.lambda2), descent.tolerance(fit)
        keep, ceiling = (1, -tolerance) if self.exact else (most, 1e300)
        penalty = separable(lambda0, descent.lambda1, descent.lambda2)
        best = list(ranked(model, fit, quadratic, model.W, penalty, Wanted(0.0, ceiling, keep)))
        removable = ~np.isin(fit.support, model.problem.forced)
        square = model.in_units(fit) ** 2
        square = square if square.ndim == 1 else square.sum(axis=1)
        loss = square / (2.0 * np.diagonal(quadratic.B))
        change = loss - lambda0 * descent.factor_all[fit.support]
        best += [
            Candidate(change[i], int(fit.support[i]), -1)
            for i in np.flatnonzero(removable)
            if not self.exact or change[i] < -tolerance
        ]
        return sorted(best)[: max(keep, 2)]


def steps_of(settings, descent, poll):
    """The steps that a settings record asks for."""
    if not isinstance(settings, LocalSearch):
        return DescentSteps(descent, poll)
    return (ExchangeSteps if settings.refit else PartialSwapSteps)(descent, poll, settings)
