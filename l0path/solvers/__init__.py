"""Solvers and their settings records."""
from .coordinate_descent import CoordinateDescent
from .local_search import LocalSearch

__all__ = ["CoordinateDescent", "LocalSearch"]
