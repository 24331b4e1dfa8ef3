"""Families of responses beyond the losses of `problem.losses`.

Every module of this folder is imported here, and a class with the decorator `losses.named` is known
by its name from then on.
"""

from importlib import import_module
from pkgutil import iter_modules

from .amounts import Gamma, Tweedie
from .counts import NegativeBinomial
from .own import own_loss
from .quantiles import Quantile
from .shares import Binomial

__all__ = ["Binomial", "Gamma", "NegativeBinomial", "Quantile", "Tweedie", "own_loss"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
