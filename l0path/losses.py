"""The losses as `loss=` of `fit` takes them: records with the numbers that belong to each."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .problem.specified import (
    Binomial,
    Cox,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    LossRecord,
    Multinomial,
    NegativeBinomial,
    Ordinal,
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredHinge,
    Tweedie,
    Weibull,
)

__all__ = [
    "Binomial",
    "Cox",
    "Gamma",
    "Hinge",
    "Huber",
    "L0LearnScale",
    "Logistic",
    "LossRecord",
    "Multinomial",
    "NegativeBinomial",
    "Ordinal",
    "Poisson",
    "Quantile",
    "SmoothedHinge",
    "Squared",
    "SquaredHinge",
    "Tweedie",
    "Weibull",
    "l0learn_scale",
]


class L0LearnScale(NamedTuple):
    """Factors that turn penalties of L0Learn into those of `l0path.fit`.

    Attributes
    ----------
    lambda0, lambda1, lambda2 : float
        What a penalty of L0Learn is multiplied by.
    """

    lambda0: float
    lambda1: float
    lambda2: float


def l0learn_scale(y: ArrayLike, loss: str | LossRecord = "squared") -> L0LearnScale:
    """Factors that turn penalties given in the scale of L0Learn into those of `l0path.fit`.

    L0Learn divides y by its standard deviation, and sums the losses of classes over the rows;
    `l0path.fit` takes the mean loss in the units of y. The factors hold for standardize=True, an
    intercept, and no weights.

    Parameters
    ----------
    y : array-like of shape (n,)
        The response.
    loss : str or record, default "squared"
        The loss: one of numbers has the factors var(y), sd(y) and 1, one of classes 1 / n,
        1 / sqrt(n) and 1.

    Returns
    -------
    L0LearnScale
        The factors.

    References
    ----------
    Hazimeh, Mazumder & Nonet, Journal of Machine Learning Research 24:205, 2023.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> y = np.array([1.0, 2.0, 4.0, 5.0])
    >>> l0path.losses.l0learn_scale(y).lambda0
    2.5
    """
    values = np.asarray(y)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"y has shape {values.shape}; pass one response, a vector of n numbers")
    name = loss.name if isinstance(loss, LossRecord) else loss
    if name in ("logistic", "squared_hinge", "smoothed_hinge", "hinge"):
        return L0LearnScale(1.0 / values.size, 1.0 / math.sqrt(values.size), 1.0)
    if name not in ("squared", "huber"):
        raise ValueError(f"loss={loss!r}: L0Learn has the squared loss and losses of two classes")
    return L0LearnScale(float(values.var()), float(values.std()), 1.0)
