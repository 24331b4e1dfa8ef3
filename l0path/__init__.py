"""Whole paths of best-subset models: L0-regularised and cardinality-constrained regression and
classification.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from . import datasets, designs, diagnostics, errors, inspection, plots, report, simulate, solvers
from .cross_validation import (
    CVPath,
    NestedCV,
    cv_fit,
    load,
    nested_cv,
    one_standard_error,
    validate,
)
from .fitting import fit
from .inference import (
    KnockoffFilter,
    StabilitySelection,
    knockoff_filter,
    split_inference,
    stability_selection,
)
from .inspection import Certificate, Summary
from .paths import Model, Path, comparison, criteria
from .warm import warm_up

if TYPE_CHECKING:
    from .estimators import L0Classifier as L0Classifier
    from .estimators import L0ClassifierCV as L0ClassifierCV
    from .estimators import L0Regressor as L0Regressor
    from .estimators import L0RegressorCV as L0RegressorCV

Path.summary, Path.refit, Path.alternatives, Path.score = (
    inspection.summary,
    inspection.refit,
    inspection.alternatives,
    inspection.score,
)
Path.certify = inspection.certify
Path.select, Path.score_table, Path.validate = criteria.select, criteria.score_table, validate
Path.compare = comparison.compare
Path.plot = plots.plot
CVPath.plot = plots.plot_cv
StabilitySelection.plot, KnockoffFilter.plot = plots.plot_stability, plots.plot_knockoffs
Path.explore, CVPath.explore = report.explore, report.explore_cv
Path.plot_roc, Path.plot_calibration, CVPath.plot_roc, CVPath.plot_calibration = (
    plots.plot_roc,
    plots.plot_calibration,
    plots.plot_cv_roc,
    plots.plot_cv_calibration,
)
NestedCV.plot_roc, NestedCV.plot_calibration = plots.plot_nested_roc, plots.plot_nested_calibration
diagnostics.plot_recovery = plots.plot_recovery
(
    Path._repr_html_,
    CVPath._repr_html_,
    inspection.Summary._repr_html_,
    inspection.Certificate._repr_html_,
) = report.path_html, report.cv_html, report.summary_html, report.certificate_html

Model._repr_html_, NestedCV._repr_html_ = report.model_html, report.nested_html
StabilitySelection._repr_html_ = report.stability_html
KnockoffFilter._repr_html_ = report.knockoffs_html

try:
    __version__ = version("l0path")
except PackageNotFoundError:  # run from a checkout that was not installed
    __version__ = "0"

LAZY = (
    "L0Classifier",
    "L0ClassifierCV",
    "L0Regressor",
    "L0RegressorCV",
)  # from `estimators`, which imports scikit-learn: loaded at first use
__all__ = [
    "CVPath",
    "Certificate",
    "KnockoffFilter",
    "Model",
    "NestedCV",
    "Path",
    "StabilitySelection",
    "Summary",
    "cv_fit",
    "datasets",
    "designs",
    "diagnostics",
    "errors",
    "fit",
    "knockoff_filter",
    "load",
    "nested_cv",
    "one_standard_error",
    "plots",
    "simulate",
    "solvers",
    "split_inference",
    "stability_selection",
    "warm_up",
    *LAZY,
]


def __getattr__(name: str) -> Any:
    if name == "estimators" or name in LAZY:
        module = import_module(".estimators", __name__)
        return module if name == "estimators" else getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    more = ("__version__", "estimators", "inspection", "report", "selection", "selection_inference")
    return sorted({*__all__, *more})
