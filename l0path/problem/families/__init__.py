"""Families of responses beyond the losses of `problem.losses`, one module each: importing them
makes them known by name.
"""

from ..losses import NAMES
from .amounts import Gamma, Tweedie
from .counts import NegativeBinomial
from .own import own_loss
from .quantiles import Quantile
from .shares import Binomial

__all__ = ["Binomial", "Gamma", "NegativeBinomial", "Quantile", "Tweedie", "own_loss"]

NAMES.update(
    {kind.traits.name: kind for kind in (Gamma, NegativeBinomial, Binomial, Tweedie, Quantile)}
)
