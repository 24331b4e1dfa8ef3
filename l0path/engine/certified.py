"""What a search for a proof says about a solution, in the user's units."""

import math

from ..core.status import Optimality
from ..exact.bounding import IN_BOX
from ..paths.records import in_user_units
from ..relaxation.path_bounds import bounded


def in_place_of(solution, fit, problem, data, weights):
    """A fit of a search as a `Solution` in the place of the one that was searched; weights (n,) of
    all rows.
    """
    if problem.groups is None:
        k = fit.support.size - problem.forced.size
    else:
        k = int((problem.groups.factor[fit.groups] > 0).sum())
    return in_user_units(
        problem,
        data,
        weights,
        fit,
        number=solution.slice,
        k=solution.k if math.isnan(solution.lambda0) else k,
        lambda0=solution.lambda0,
        lambda1=solution.lambda1,
        lambda2=solution.lambda2,
        optimality=Optimality.STATIONARY,
    )


def certified(solution, result, problem, data, weights):
    """The solution, or the better model that the search has found, with its bound; one that rests
    on an assumed box is flagged, and closes nothing, and one from an earlier box is forgotten.
    """
    s = solution
    if result.fit is not None:
        found = in_place_of(s, result.fit, problem, data, weights)
        if found.objective < s.objective:
            s = found._replace(lambda0_low=math.nan, lambda0_high=math.nan)
    if result.conditional or IN_BOX in s.flags:
        s = s._replace(lower_bound=math.nan, flags=tuple(f for f in s.flags if f != IN_BOX))
    s = bounded(problem, s, result.lower)
    if not result.conditional:
        return s
    weaker = Optimality.STATIONARY if s.optimality == Optimality.GLOBAL else s.optimality
    return s._replace(optimality=weaker, flags=(*s.flags, IN_BOX))
