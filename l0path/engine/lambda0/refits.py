"""Points of a lambda0 path by exchanges and refits alone, under losses that couple rows or take
several predictors of each: none of their coordinates is moved with all others at rest.
"""

import numpy as np

from ...algorithms.coordinate_descent import CoordinateSolver
from ...exchange.ranking import Wanted, exchanged_supports, ranked, scanned
from ...exchange.verification import violators
from ...problem.penalties import separable
from .checks import ENTERING_POINT, EntryCheck, ExchangeCheck
from .steps import ExchangeSteps

ENTRIES = 5  # columns that rank first whose addition is refitted, for the value at which one enters


class RefitSolver(CoordinateSolver):
    """The supports of a lambda0 path and their restricted optima."""

    def __init__(self, model, lambda1, lambda2, settings, scale):
        super().__init__(model, lambda1, lambda2, settings, scale)
        self.entries = {}  # support, width known -> its `lambda0_entry`

    def solve(self, lambda0, start, poll=lambda: None, converged=True):
        """The start: it is the optimum on its support."""
        return start

    def dearest(self, lambda0):
        """The largest cost of a column that may enter."""
        return lambda0 * float(self.factor_all[self.selectable].max(initial=0.0))

    def lambda0_entry(self, fit):
        """Largest lambda0 at which a column of W would enter, all coefficients refitted: of those
        whose gains, over their costs, the quadratic of the fit ranks first.
        """
        key = fit.key, self.model.width
        if key not in self.entries:
            self.entries[key] = self._entry(fit)
        return self.entries[key]

    def _entry(self, fit):
        """`lambda0_entry` anew."""
        model, W = self.model, self.model.W
        shrinkage = separable(0.0, self.lambda1, self.lambda2)
        wanted = Wanted(0.0, 0.0, model.width, swaps=False)
        quadratic = model.quadratic(fit, self.lambda2)
        change, column, _ = scanned(model, fit, quadratic, W, shrinkage, wanted)
        costs = self.factor_all[W[column]]
        kept = costs > 0.0
        into = W[column[kept]]
        first = np.argsort(change[kept] / costs[kept], kind="stable")[:ENTRIES]
        best, none = 0.0, np.full(1, -1)
        for j in into[first]:
            (support,), (b,) = exchanged_supports(fit.support, fit.b, none, j[None])
            new = self.refit(support, (b, fit.b0))
            best = max(best, float((fit.value - new.value) / self.factor_all[j]))
        return best


class AdditionCheck(EntryCheck):
    """As `EntryCheck`, by the ranking of all columns; refits decide."""

    def outside(self, fits, values):
        """As in `EntryCheck`; how large a gain is at most is not known."""
        near = [self._near(fit, value) for fit, value in zip(fits, values, strict=True)]
        return np.full(len(fits), np.inf), near

    def _near(self, fit, lambda0):
        """Columns outside W that may enter at lambda0, the best ones: their gains may be larger
        than the quadratic of the fit predicts.
        """
        descent, most = self.descent, self.descent.dearest(lambda0)
        penalty = separable(lambda0, descent.lambda1, descent.lambda2)
        wanted = Wanted(-most, 0.0, ENTERING_POINT, swaps=False)
        (found,) = violators(self.model, [fit], [wanted], penalty)
        costs = lambda0 * descent.factor_all[found.into]
        gains = costs - most - found.change
        safety = self.model.problem.loss.traits.entry_safety
        return found.into[(self.model.where[found.into] < 0) & (safety * gains > costs)]


class RefitSteps(ExchangeSteps):
    """Columns added, dropped and swapped with everything refitted."""

    def restart(self, lambda0, start):
        """As `DescentSteps.restart`: exchanges are all there is."""
        return self.solve(lambda0, start)

    def _candidates(self, lambda0, fit, most):
        """As in `ExchangeSteps`, and additions that the ranking does not expect to pay."""
        found, descent = super()._candidates(lambda0, fit, most), self.descent
        if self.exact:
            return found
        dearest = descent.dearest(lambda0)
        wanted = Wanted(-dearest, 0.0, most, swaps=False)
        penalty = separable(lambda0, descent.lambda1, descent.lambda2)
        model, quadratic = descent.model, descent.model.quadratic(fit, descent.lambda2)
        more = ranked(model, fit, quadratic, model.W, penalty, wanted)
        known = {(c.out, c.into) for c in found}
        found += [
            c._replace(change=c.change + dearest) for c in more if (c.out, c.into) not in known
        ]
        return sorted(found)[: max(most, 2)]

    def checks(self, dynamic):
        """Additions, then exchanges."""
        return [AdditionCheck(self.descent, dynamic), ExchangeCheck(self)]
