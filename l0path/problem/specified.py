"""The losses as `loss=` of `fit` takes them: a record for each, with the numbers that belong to it.

A name as text, such as "huber", stands for the record with its defaults. The values of the losses
are stated in `losses`, `families` and `coupled`, where their verbs are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import number, shown
from .losses import MEANINGS, check_range


class LossRecord:
    """The common part of the records of losses that users make.

    Attributes
    ----------
    name : str
        The name of the loss, which `loss=` takes too.
    """

    name: ClassVar[str]
    # the names of the record's fields inside, where they differ
    inside: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        for one in fields(self):
            inside, value = self.inside.get(one.name, one.name), getattr(self, one.name)
            if inside in MEANINGS and not (value is None and one.default is None):
                value = number(value, one.name)
                check_range(inside, value, one.name)
                object.__setattr__(self, one.name, value)

    def __repr__(self) -> str:
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        given = ", ".join(f"{name}={shown(v)}" for name, v in known.items() if v is not None)
        return f"{type(self).__name__}({given})"

    def parameters(self) -> dict[str, Any]:
        """The numbers of the loss by the names that they have inside; those that are to be found
        from the data are left out.
        """
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {self.inside.get(k, k): v for k, v in given.items() if v is not None}


def _plain(weights):
    """Weights of responses as a dict or a tuple of numbers, which can be compared."""
    if isinstance(weights, (Mapping, pd.Series)):
        return {str(name): float(value) for name, value in dict(weights).items()}
    try:
        out = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        out = np.empty(0)
    if out.ndim != 1 or not out.size:
        raise ValueError(
            f"response_weights={weights!r} must be positive numbers, one per response, or "
            "{name: number}"
        )
    return tuple(out.tolist())


@dataclass(frozen=True, repr=False)
class ResponsesRecord(LossRecord):
    """The common part of the losses of rows, which take several responses: a table y (n, q) with
    one set of features, and coefficients of each response.
    """

    response_weights: ArrayLike | dict | None = field(default=None, kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        if self.response_weights is not None:
            object.__setattr__(self, "response_weights", _plain(self.response_weights))


@dataclass(frozen=True, repr=False)
class Squared(ResponsesRecord):
    """Half the squared error, (y - eta)^2 / 2: least squares.

    Parameters
    ----------
    response_weights : array-like of shape (q,) or dict, optional
        Weights > 0 of several responses: each multiplies the loss and the ridge of its response.
        None means 1 for each.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.linear(60, 8, 2, random_state=0)
    >>> l0path.fit(data.X, data.y, loss=l0path.losses.Squared()).loss
    Squared()
    """

    name: ClassVar[str] = "squared"
    response_weights: ArrayLike | dict | None = None


@dataclass(frozen=True, repr=False)
class Huber(ResponsesRecord):
    """Squared for residuals up to delta, linear beyond: outliers in y count less.

    Parameters
    ----------
    delta : float, optional
        The threshold > 0, in units of y. None takes it from the residuals of a robust pilot fit;
        `path.loss.delta` has it.
    response_weights : array-like of shape (q,) or dict, optional
        Weights > 0 of several responses, as in `Squared`.

    References
    ----------
    Huber, Annals of Mathematical Statistics 35(1), 1964.
    """

    name: ClassVar[str] = "huber"
    delta: float | None = None


@dataclass(frozen=True, repr=False)
class Quantile(LossRecord):
    """The check loss, whose minimum is a quantile of y: quantile regression.

    Parameters
    ----------
    level : float, default 0.5
        The quantile to predict, between 0 and 1.

    References
    ----------
    Koenker & Bassett, Econometrica 46(1), 1978.

    Examples
    --------
    >>> import l0path
    >>> l0path.losses.Quantile(0.9)
    Quantile(level=0.9)
    """

    name: ClassVar[str] = "quantile"
    inside: ClassVar[Mapping[str, str]] = {"level": "quantile"}
    level: float = 0.5


@dataclass(frozen=True, repr=False)
class Logistic(ResponsesRecord):
    """Log(1 + exp(-y eta)) for two classes -1 and 1: the negative log-likelihood.

    Parameters
    ----------
    response_weights : array-like of shape (q,) or dict, optional
        Weights > 0 of several responses, as in `Squared`.
    """

    name: ClassVar[str] = "logistic"


@dataclass(frozen=True, repr=False)
class SquaredHinge(ResponsesRecord):
    """max(0, 1 - y eta)^2 for two classes -1 and 1: a support vector machine.

    Parameters
    ----------
    response_weights : array-like of shape (q,) or dict, optional
        Weights > 0 of several responses, as in `Squared`.
    """

    name: ClassVar[str] = "squared_hinge"


@dataclass(frozen=True, repr=False)
class SmoothedHinge(ResponsesRecord):
    """The hinge with its corner replaced by a parabola, for two classes.

    Parameters
    ----------
    width : float, default 0.25
        The width > 0 of the parabola, in units of y eta.
    response_weights : array-like of shape (q,) or dict, optional
        Weights > 0 of several responses, as in `Squared`.

    References
    ----------
    Liu et al., ICML 2017, section 3.
    """

    name: ClassVar[str] = "smoothed_hinge"
    inside: ClassVar[Mapping[str, str]] = {"width": "gamma"}
    width: float = 0.25


@dataclass(frozen=True, repr=False)
class Hinge(LossRecord):
    """max(0, 1 - y eta) for two classes -1 and 1, with algorithm="exact" only."""

    name: ClassVar[str] = "hinge"


@dataclass(frozen=True, repr=False)
class Poisson(ResponsesRecord):
    """exp(eta) - y eta for counts y >= 0: the negative log-likelihood with the log link.

    Parameters
    ----------
    response_weights : array-like of shape (q,) or dict, optional
        Weights > 0 of several responses, as in `Squared`.
    """

    name: ClassVar[str] = "poisson"


@dataclass(frozen=True, repr=False)
class Gamma(ResponsesRecord):
    """eta + y exp(-eta) for amounts y > 0: the gamma likelihood with the log link.

    Parameters
    ----------
    response_weights : array-like of shape (q,) or dict, optional
        Weights > 0 of several responses, as in `Squared`.
    """

    name: ClassVar[str] = "gamma"


@dataclass(frozen=True, repr=False)
class NegativeBinomial(ResponsesRecord):
    """The negative log-likelihood of counts whose variance is mean + mean^2 / theta.

    Parameters
    ----------
    theta : float, optional
        The theta > 0. None takes it from a pilot fit. It is one number for the whole path;
        `path.loss.theta` has it.
    response_weights : array-like of shape (q,) or dict, optional
        Weights > 0 of several responses, as in `Squared`.
    """

    name: ClassVar[str] = "negative_binomial"
    theta: float | None = None


@dataclass(frozen=True, repr=False)
class Binomial(LossRecord):
    """The negative log-likelihood of successes and failures, in two columns or as shares with
    `trials=`.
    """

    name: ClassVar[str] = "binomial"


@dataclass(frozen=True, repr=False)
class Tweedie(ResponsesRecord):
    """Tweedie's loss for amounts y >= 0 with zeros, log link.

    Parameters
    ----------
    power : float, default 1.5
        The variance is proportional to mean^power; 1 < power <= 2.
    response_weights : array-like of shape (q,) or dict, optional
        Weights > 0 of several responses, as in `Squared`.
    """

    name: ClassVar[str] = "tweedie"
    power: float = 1.5


@dataclass(frozen=True, repr=False)
class Multinomial(LossRecord):
    """-log P(class) for several classes, P(r) proportional to exp(eta_r).

    Parameters
    ----------
    baseline : object, optional
        A class whose coefficients and intercept are 0: those of the others are log odds against it,
        which is what shrinkage and bounds are about then. It comes first in `path.classes`. None
        leaves all classes alike; the number common to their coefficients is free, and is what makes
        shrinkage least.
    """

    name: ClassVar[str] = "multinomial"
    baseline: Any = None


@dataclass(frozen=True, repr=False)
class Ordinal(LossRecord):
    """-log P(class) for ordered classes: the proportional odds model."""

    name: ClassVar[str] = "ordinal"


@dataclass(frozen=True, repr=False)
class Cox(LossRecord):
    """The negative log partial likelihood of times and events.

    Parameters
    ----------
    ties : str, default "efron"
        "efron" or "breslow": how events at the same time count.

    References
    ----------
    Cox, Journal of the Royal Statistical Society B 34(2), 1972; Efron, Journal of the American
    Statistical Association 72, 1977.
    """

    name: ClassVar[str] = "cox"
    ties: str = "efron"

    def __post_init__(self):
        if not isinstance(self.ties, str) or self.ties not in ("efron", "breslow"):
            raise ValueError(f"ties={self.ties!r} is not known; choose 'efron' or 'breslow'")


@dataclass(frozen=True, repr=False)
class Weibull(LossRecord):
    """The negative log-likelihood of times and events whose hazard is exp(eta) kappa t^(kappa - 1),
    kappa > 0 free: Weibull regression. Coefficients are log hazard ratios; those of the logarithm
    of time (accelerated failure) are -coefficient / kappa.

    References
    ----------
    Kalbfleisch & Prentice, The Statistical Analysis of Failure Time Data, 2002.
    """

    name: ClassVar[str] = "weibull"


RECORDS = (
    Squared,
    Huber,
    Quantile,
    Logistic,
    SquaredHinge,
    SmoothedHinge,
    Hinge,
    Poisson,
    Gamma,
    NegativeBinomial,
    Binomial,
    Tweedie,
    Multinomial,
    Ordinal,
    Cox,
    Weibull,
)


def told_apart(loss):
    """(the loss as a name or a record of the user's own, the parameters of its record)."""
    if isinstance(loss, type) and issubclass(loss, LossRecord):
        raise TypeError(f"loss={loss.__name__} is a class; pass a record: {loss.__name__}()")
    if isinstance(loss, LossRecord):
        return loss.name, loss.parameters()
    return loss, {}
