"""Solvers and their settings records."""

from .branch_and_bound import BranchAndBound
from .coordinate_descent import CoordinateDescent
from .dual_iht import DualIHT
from .feature_generating import FeatureGenerating
from .integrality_generation import IntegralityGeneration
from .local_search import LocalSearch
from .primal_dual import PrimalDual
from .projected_gradient import ProjectedGradient

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
