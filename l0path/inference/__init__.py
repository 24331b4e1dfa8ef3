"""Inference about the columns after a selection: how stable their choice is, p-values and
intervals from rows that had no part in it, and sets with a controlled false discovery rate.
"""

from .knockoffs import KnockoffFilter, knockoff_filter
from .splitting import aggregate_p_values, split_inference
from .stability import StabilitySelection, stability_selection

__all__ = [
    "KnockoffFilter",
    "StabilitySelection",
    "aggregate_p_values",
    "knockoff_filter",
    "split_inference",
    "stability_selection",
]
