"""Quantiles of a real response.

    loss                         value, r = y - eta                                        y
    quantile(quantile, width)    r^2 / (4 h) + (t - 1/2) r + h / 4 for |r| <= h = width    real
                                 t r for r > h, (t - 1) r for r < -h

It is the check loss of the quantile t, its corner replaced by a parabola: the mean of the check
loss over residuals that differ by up to h. Its conjugate, for slopes -t <= r <= 1 - t:

    y r + h (1/2 - t - r)^2 - h / 4

Sources: Koenker & Bassett, Econometrica 46 (1978); Fernandes, Guerre & Horta, Journal of Business &
Economic Statistics 39 (2021); He, Pan, Tan & Zhou, Journal of Econometrics 232 (2023).
"""

import math
from typing import NamedTuple

import numpy as np

from ..conjugates import conjugate, conjugate_slope, interval
from ..losses import named, smoothness
from ..responses import EPS, null_start, rounding, saturated, unit_deviance
from ..traits import LossTraits
from ..verbs import curvature, fenchel_gap, slope, value


@named
class Quantile(NamedTuple):
    """Check loss of a quantile, smoothed over a width."""

    traits = LossTraits(
        "quantile",
        "real",
        math.inf,
        True,
        0.02,
        link="identity",
        parameter="quantile",
        pilot="width",
    )

    quantile: float
    width: float


@smoothness.register(Quantile)
def _(loss):
    return 0.5 / loss.width


@value.register(Quantile)
def _(loss, y, eta):
    r, h = y - eta, loss.width
    if abs(r) <= h:
        return 0.25 * r * r / h + (loss.quantile - 0.5) * r + 0.25 * h
    return loss.quantile * r if r > 0.0 else (loss.quantile - 1.0) * r


@slope.register(Quantile)
def _(loss, y, eta):
    return 0.5 - loss.quantile - min(max(0.5 * (y - eta) / loss.width, -0.5), 0.5)


@curvature.register(Quantile)
def _(loss, y, eta):
    return 0.5 / loss.width if abs(y - eta) <= loss.width else 0.0


@fenchel_gap.register(Quantile)
def _(loss, y, eta, at, dual):
    u = 0.5 - loss.quantile - dual
    if abs(u) > 0.5:
        return math.inf
    return loss.width * (u * u - 0.25) + dual * (y - eta) + value(loss, y, eta)


@conjugate.register(Quantile)
def _(loss, y, r):
    return y * r + loss.width * ((0.5 - loss.quantile - r) ** 2 - 0.25)


@interval.register(Quantile)
def _(loss, y):
    return np.full(y.shape, -loss.quantile), np.full(y.shape, 1.0 - loss.quantile)


@conjugate_slope.register(Quantile)
def _(loss, y, r):
    return y - 2.0 * loss.width * (0.5 - loss.quantile - r)


@null_start.register(Quantile)
def _(loss, y, offset, weights):
    r = y - offset
    order = np.argsort(r, kind="stable")
    at = np.searchsorted(np.cumsum(weights[order]), loss.quantile)
    return float(r[order[min(at, r.size - 1)]])


@saturated.register(Quantile)
def _(loss, y):
    return np.full(y.shape, loss.width * (0.25 - (loss.quantile - 0.5) ** 2))


@rounding.register(Quantile)
def _(loss, y, weights, size):
    return 8 * EPS * size


@unit_deviance.register(Quantile)
def _(loss, y, eta, rows):
    """Twice the check loss, not smoothed."""
    r = y - eta
    return 2.0 * np.where(r > 0, loss.quantile * r, (loss.quantile - 1.0) * r)
