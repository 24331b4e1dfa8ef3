"""Whole paths of best-subset models: L0-regularized and cardinality-constrained regression and
classification.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from .compiled import collection_put_off

with collection_put_off():  # a third of the time to load these modules
    from . import designs, errors, losses, solvers
    from .engine.costs import FitCost
    from .engine.grids import grid
    from .fit_costs import fit_cost
    from .fitting import fit
    from .paths import Model, Path
    from .problem.families import own_loss
    from .warm import warm_up

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import diagnostics as diagnostics
    from . import plots as plots
    from . import simulate as simulate
    from .cross_validation import CVPath as CVPath
    from .cross_validation import NestedCV as NestedCV
    from .cross_validation import cv_fit as cv_fit
    from .cross_validation import load as load
    from .cross_validation import nested_cv as nested_cv
    from .estimators import L0Classifier as L0Classifier
    from .estimators import L0ClassifierCV as L0ClassifierCV
    from .estimators import L0Equations as L0Equations
    from .estimators import L0Regressor as L0Regressor
    from .estimators import L0RegressorCV as L0RegressorCV
    from .estimators import L0Survival as L0Survival
    from .estimators import L0SurvivalCV as L0SurvivalCV
    from .estimators import one_standard_error as one_standard_error
    from .inference import KnockoffFilter as KnockoffFilter
    from .inference import StabilitySelection as StabilitySelection
    from .inference import knockoff_filter as knockoff_filter
    from .inference import split_inference as split_inference
    from .inference import stability_selection as stability_selection
    from .inspection import Certificate as Certificate
    from .inspection import ModelSet as ModelSet
    from .inspection import Summary as Summary
    from .inspection import anova as anova
    from .inspection import best_subset as best_subset

try:
    __version__ = version("l0path")
except PackageNotFoundError:  # run from a checkout that was not installed
    __version__ = "0"

# what a fit does not need is loaded at its first use: the names of these modules, and modules
LOADED_AT_USE = {
    "cross_validation": ("CVPath", "NestedCV", "cv_fit", "load", "nested_cv"),
    "estimators": (
        "L0Classifier",
        "L0ClassifierCV",
        "L0Equations",
        "L0Regressor",
        "L0RegressorCV",
        "L0Survival",
        "L0SurvivalCV",
        "one_standard_error",
    ),
    "inference": (
        "KnockoffFilter",
        "StabilitySelection",
        "knockoff_filter",
        "split_inference",
        "stability_selection",
    ),
    "inspection": ("Certificate", "ModelSet", "Summary", "anova", "best_subset"),
}
MODULES = ("datasets", "diagnostics", "plots", "report", "simulate", *LOADED_AT_USE)
__all__ = [
    "FitCost",
    "Model",
    "Path",
    "datasets",
    "designs",
    "diagnostics",
    "errors",
    "fit",
    "fit_cost",
    "grid",
    "losses",
    "own_loss",
    "plots",
    "simulate",
    "solvers",
    "warm_up",
    *(name for names in LOADED_AT_USE.values() for name in names),
]


def __getattr__(name: str) -> Any:
    for module, names in LOADED_AT_USE.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    if name in MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"__version__", *__all__, *MODULES})
