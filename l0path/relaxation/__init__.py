"""Lower bounds of best-subset problems by weak duality: conjugates, bounds for every size and
lambda0 from one dual point, better points, and a diagonal to split off where there is no ridge.
"""

from ..problem.conjugates import conjugate, feasible, interval, tangents
from .bounds import (
    Dual,
    Points,
    cardinality_bounds,
    dual_problem,
    evaluate,
    gains,
    penalized_bounds,
    points_at,
    points_of_fits,
    points_of_slopes,
)
from .solver import Improved, improve
from .splitting import GramMatrix, least_squares, sparse_split, split

__all__ = [
    "Dual",
    "GramMatrix",
    "Improved",
    "Points",
    "cardinality_bounds",
    "conjugate",
    "dual_problem",
    "evaluate",
    "feasible",
    "gains",
    "improve",
    "interval",
    "least_squares",
    "penalized_bounds",
    "points_at",
    "points_of_fits",
    "points_of_slopes",
    "sparse_split",
    "split",
    "tangents",
]
