"""Plots of paths, cross-validation, classifiers and recovery. They draw into `ax` (or a new figure)
and return it; no global style is set. The numbers behind those of a path come from `data`.
"""

from .classes import (
    plot_calibration,
    plot_cv_calibration,
    plot_cv_roc,
    plot_nested_calibration,
    plot_nested_roc,
    plot_roc,
)
from .draw import plot
from .inference import plot_knockoffs, plot_stability
from .numbers import auc, calibration, calibration_of_means, data
from .recovery import plot_recovery
from .scores import plot_cv
from .survival import kaplan_meier, plot_survival

__all__ = [
    "auc",
    "calibration",
    "calibration_of_means",
    "data",
    "kaplan_meier",
    "plot",
    "plot_calibration",
    "plot_cv",
    "plot_cv_calibration",
    "plot_cv_roc",
    "plot_knockoffs",
    "plot_nested_calibration",
    "plot_nested_roc",
    "plot_recovery",
    "plot_roc",
    "plot_stability",
    "plot_survival",
]
