"""Whole paths of best-subset models: L0-regularised and cardinality-constrained regression and classification."""
from importlib.metadata import PackageNotFoundError, version

from . import designs
from .fit import fit
from .paths import Model, Path, load

try:
    __version__ = version("l0path")
except PackageNotFoundError:  # run from a checkout that was not installed
    __version__ = "0"

__all__ = ["Model", "Path", "designs", "fit", "load"]
