"""Costs of a fit before it is run: the memory it takes, what it reads, and roughly how long."""

from .counting import Counts, FoldCounts, counted
from .report import FitCost, cost_of, refuse_too_large, tell_if_long

__all__ = [
    "Counts",
    "FitCost",
    "FoldCounts",
    "cost_of",
    "counted",
    "refuse_too_large",
    "tell_if_long",
]
