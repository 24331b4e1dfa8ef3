"""Rows of a path whose loss was smoothed for the search, as rows of the loss itself."""

import math
from dataclasses import replace

from ..core.status import OF_SMOOTHED, FitStatus, Optimality
from ..problem.problem import Fit, with_loss
from ..problem.responses import reported
from ..problem.solution import FEWER, in_user_units
from ..relaxation.path_bounds import bounded
from ..working_set.hinge import restricted_optimum
from ..working_set.model import make_model


class Reporting:
    """What turns rows of the smoothed loss of a problem into rows of the loss itself: each gets the
    best coefficients on its support.

    Parameters
    ----------
    problem : Problem
        Of the smoothed loss.
    data : Data
        The data that it was made of.
    weights : ndarray of shape (n,)
        Those of all rows.
    free : int, default -1
        How many columns, or groups, may be chosen.
    working_set : RowModel, optional
        Working columns, among which those of the rows are looked for.
    """

    def __init__(self, problem, data, weights, free=-1, working_set=None):
        self.smoothed, self.weights, self.free = problem, weights, free
        self.working_set = working_set
        self.problem, self.data, loss = problem, data, reported(data.loss)
        self.needed = loss is not data.loss
        if self.needed:
            self.problem, self.data = with_loss(problem, loss), replace(data, loss=loss)

    def fit(self, fit, lambda1, lambda2):
        """The best fit on the support of another one, which it starts from."""
        found = restricted_optimum(
            self.problem,
            fit.support,
            self._columns(fit.support),
            (self.problem.lower[fit.support], self.problem.upper[fit.support]),
            lambda1=lambda1,
            lambda2=lambda2,
            start=(fit.b, fit.b0),
        )
        return fit._replace(b=found.b, b0=found.b0, value=found.value, flags=found.flags)

    def solution(self, s):
        """A `Solution` of the smoothed loss as one of the loss itself. Its bound is lower by what
        the smoothed loss can be above; what was verified of the smoothed loss is said to be so.
        """
        if not self.needed:
            return s
        found = in_user_units(
            self.problem,
            self.data,
            self.weights,
            self.fit(self.start(s), s.lambda1, s.lambda2),
            k=s.k,
            number=s.slice,
            lambda0=s.lambda0,
            lambda1=s.lambda1,
            lambda2=s.lambda2,
            optimality=s.optimality,
            free=self.free,
        )
        alone = math.isnan(s.lambda0) and s.k in (0, self.free)  # the only support of its size
        sole = found.optimality == Optimality.GLOBAL and alone
        optimality = found.optimality if sole else OF_SMOOTHED.get(s.optimality, s.optimality)
        old = [f for f in s.flags if f not in (FitStatus.NOT_CONVERGED, FEWER)]
        found = found._replace(
            lambda0_low=s.lambda0_low,
            lambda0_high=s.lambda0_high,
            optimality=optimality,
            flags=tuple(dict.fromkeys([*old, *found.flags])),
            thresholds=s.thresholds,
            baseline=s.baseline,
        )
        if math.isnan(s.lower_bound):
            return found
        return bounded(self.problem, found, s.lower_bound - self.smoothed.loss.above)

    def start(self, s):
        """A `Solution` as a fit in the units of the problem."""
        X = self.problem.X
        center = X.center[s.support] @ s.beta if self.data.intercept else 0.0
        b, b0 = s.beta * X.scale[s.support], float(s.intercept + center)
        return self.problem.fit_of(Fit(s.support, b, b0, s.loss + s.shrinkage), s.groups)

    def searched(self, s):
        """A `Solution` of the loss itself as one of the smoothed loss, the optimum on its support,
        without what is known of its optimality.
        """
        if not self.needed:
            return s
        model, start = make_model(self.smoothed), self.start(s)
        model.grow(s.support)
        fit = model.refit(s.support, s.lambda1, s.lambda2, (start.b, start.b0))
        return in_user_units(
            self.smoothed,
            replace(self.data, loss=self.smoothed.loss),
            self.weights,
            start._replace(b=fit.b, b0=fit.b0, value=fit.value, flags=fit.flags),
            k=s.k,
            number=s.slice,
            lambda0=s.lambda0,
            lambda1=s.lambda1,
            lambda2=s.lambda2,
            optimality=Optimality.STATIONARY,
        )

    def note(self):
        """What a path says of its loss, a list of one text or of none."""
        if not self.needed:
            return []
        width, t = self.smoothed.loss.width, self.smoothed.loss.quantile
        return [
            f"supports were searched under the check loss of the quantile {t:g}, smoothed over "
            f"width = {width:.4g} (in units of y); on its support each model has the coefficients "
            "of least check loss, and loss and objective are those of the check loss. An "
            "optimality that ends in _smoothed is about the smoothed loss, which is above the "
            f"check loss by at most width / 4 = {0.25 * width:.4g}"
        ]

    def _columns(self, support):
        """The standardized columns of a support, one a row."""
        held = self.working_set
        if held is not None and (held.where[support] >= 0).all():
            return held.Z[held.where[support]]
        return self.problem.X.columns(support).T
