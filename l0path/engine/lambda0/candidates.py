"""Supports of other algorithms, which effort="high" compares with those found."""

from ...algorithms.coordinate_descent import CoordinateDescent
from ...exchange.local_search import LocalSearch
from ..protocols import Session
from .path import Lambda0Path


def candidates_from(model, part, clock):
    """Supports that coordinate descent, and coordinate descent with partial swaps, visit on their
    lambda0 paths; none where it does not serve the problem.
    """
    supports = []
    if not model.problem.by_rows:
        return supports
    for settings in (CoordinateDescent(), LocalSearch(refit=False)):
        path = Lambda0Path(model, part, settings, Session(clock))
        path.run()
        supports += [fit.support for fit in path.fill(part.max_k).values()]
    return supports
