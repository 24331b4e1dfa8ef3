"""The functions that methods of results call and that need these results themselves, most of them
of packages above, by name: `forward.plot_cv` is the function `plot_cv` of `plots.scores`. They are
imported when they are asked for, so that a fit loads neither plots nor reports. No other module
imports anything from a package above its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what methods return, for type checkers
    from ..cross_validation import CVPath
    from ..inspection import Certificate, ModelSet, Summary
    from ..report import Page

    __all__ = ["CVPath", "Certificate", "ModelSet", "Page", "Summary"]

MODULES = {
    "best_model": "paths.criteria",
    "compare": "paths.comparison",
    "of_larger_sizes": "paths.criteria",
    "save": "paths.storage",
    "score_table": "paths.criteria",
    "select": "paths.criteria",
    "larger_sizes": "engine.posing",
    "data_of_fit": "engine.posing",
    "compare_cv": "cross_validation.comparing",
    "difference": "cross_validation.comparing",
    "metrics": "cross_validation.comparing",
    "rescore": "cross_validation.comparing",
    "save_cv": "cross_validation.storage",
    "save_nested": "cross_validation.storage",
    "validate": "cross_validation",
    "save_model": "cross_validation.storage",
    "alternatives": "inspection",
    "best_by": "inspection",
    "certify": "inspection",
    "certify_by": "inspection.all_models",
    "certify_size": "inspection.all_models",
    "estimates": "inspection.estimates",
    "near_best": "inspection",
    "refit": "inspection",
    "score": "inspection",
    "summary": "inspection",
    "predict_interval": "inference.prediction_intervals",
    "plot": "plots.draw",
    "plot_cv": "plots.scores",
    "plot_cv_calibration": "plots.classes",
    "plot_cv_roc": "plots.classes",
    "plot_knockoffs": "plots.inference",
    "plot_model": "plots.model",
    "plot_model_set": "plots.model",
    "plot_nested_calibration": "plots.classes",
    "plot_nested_roc": "plots.classes",
    "plot_recovery": "plots",
    "plot_stability": "plots.inference",
    "certificate_html": "report",
    "cost_html": "report",
    "cv_html": "report",
    "explore": "report",
    "knockoffs_html": "report",
    "model_html": "report",
    "model_set_html": "report",
    "nested_html": "report",
    "path_html": "report",
    "python_code": "report",
    "refit_html": "report",
    "sklearn_model": "report",
    "sql_expression": "report",
    "stability_html": "report",
    "summary_html": "report",
}


def __getattr__(name):
    """The function of a name."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"..{MODULES[name]}", __package__), name)
