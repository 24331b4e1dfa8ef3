"""Solvers and their settings records."""
from .local_search import LocalSearch

__all__ = ["LocalSearch"]
