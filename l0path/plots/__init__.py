"""Numbers behind plots, and plots that belong to no other object. Those of paths, models and
cross-validations are their methods `plot`. They draw into `ax` (or a new figure) and return it; no
global style is set.
"""

from .numbers import auc, calibration, calibration_of_means, data
from .recovery import plot_recovery
from .survival import kaplan_meier

__all__ = ["auc", "calibration", "calibration_of_means", "data", "kaplan_meier", "plot_recovery"]
