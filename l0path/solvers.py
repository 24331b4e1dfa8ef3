"""The settings records of the algorithms, as `algorithm=` of `fit` takes them."""

from .algorithms.coordinate_descent import CoordinateDescent
from .algorithms.cutting_planes import FeatureGenerating
from .algorithms.dual_iht import DualIHT
from .algorithms.primal_dual import PrimalDual
from .algorithms.projected_gradient import ProjectedGradient
from .exact.contest import BranchAndBound
from .exact.integrality_generation import IntegralityGeneration
from .exchange.local_search import LocalSearch

__all__ = [
    "BranchAndBound",
    "CoordinateDescent",
    "DualIHT",
    "FeatureGenerating",
    "IntegralityGeneration",
    "LocalSearch",
    "PrimalDual",
    "ProjectedGradient",
]
