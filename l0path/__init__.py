"""Whole paths of best-subset models: L0-regularised and cardinality-constrained regression and
classification.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from . import datasets, designs, diagnostics, errors, plots, simulate, solvers
from .cross_validation import CVPath, NestedCV, cv_fit, load, nested_cv
from .engine.costs import FitCost
from .fit_costs import fit_cost
from .fitting import fit
from .inference import (
    KnockoffFilter,
    StabilitySelection,
    knockoff_filter,
    split_inference,
    stability_selection,
)
from .inspection import Certificate, ModelSet, Summary, best_subset
from .paths import Model, Path
from .problem.families import own_loss
from .warm import warm_up

if TYPE_CHECKING:
    from .estimators import L0Classifier as L0Classifier
    from .estimators import L0ClassifierCV as L0ClassifierCV
    from .estimators import L0Equations as L0Equations
    from .estimators import L0Regressor as L0Regressor
    from .estimators import L0RegressorCV as L0RegressorCV
    from .estimators import L0Survival as L0Survival
    from .estimators import L0SurvivalCV as L0SurvivalCV
    from .estimators import one_standard_error as one_standard_error

try:
    __version__ = version("l0path")
except PackageNotFoundError:  # run from a checkout that was not installed
    __version__ = "0"

LAZY = (
    "L0Classifier",
    "L0ClassifierCV",
    "L0Equations",
    "L0Regressor",
    "L0RegressorCV",
    "L0Survival",
    "L0SurvivalCV",
    "one_standard_error",
)  # from `estimators`, which imports scikit-learn: loaded at first use
__all__ = [
    "CVPath",
    "Certificate",
    "FitCost",
    "KnockoffFilter",
    "Model",
    "ModelSet",
    "NestedCV",
    "Path",
    "StabilitySelection",
    "Summary",
    "best_subset",
    "cv_fit",
    "datasets",
    "designs",
    "diagnostics",
    "errors",
    "fit",
    "fit_cost",
    "knockoff_filter",
    "load",
    "nested_cv",
    "own_loss",
    "plots",
    "simulate",
    "solvers",
    "split_inference",
    "stability_selection",
    "warm_up",
    *LAZY,
]


def __getattr__(name: str) -> Any:
    if name in ("estimators", "report"):
        return import_module(f".{name}", __name__)
    if name in LAZY:
        return getattr(import_module(".estimators", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    more = ("__version__", "estimators", "inspection", "report", "selection", "selection_inference")
    return sorted({*__all__, *more})
