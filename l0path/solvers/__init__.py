"""Solvers and their settings records."""
from .coordinate_descent import CoordinateDescent
from .dual_iht import DualIHT
from .local_search import LocalSearch
from .primal_dual import PrimalDual
from .projected_gradient import ProjectedGradient

__all__ = ["CoordinateDescent", "DualIHT", "LocalSearch", "PrimalDual", "ProjectedGradient"]
