"""The settings records of the algorithms, as `algorithm=` of `fit` takes them."""

from .exact.contest import BranchAndBound
from .exact.integrality_generation import IntegralityGeneration
from .exchange.local_search import LocalSearch
from .first_order.coordinate_descent import CoordinateDescent
from .first_order.dual_iht import DualIHT
from .first_order.primal_dual import PrimalDual
from .first_order.projected_gradient import ProjectedGradient
from .relaxation.cutting_planes import FeatureGenerating

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
