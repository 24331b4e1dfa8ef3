"""Quantiles of a real response.

    loss                         value, r = y - eta                                        y
    quantile(quantile, width)    r^2 / (4 h) + (t - 1/2) r + h / 4 for |r| <= h = width    real
                                 t r for r > h, (t - 1) r for r < -h

    check(quantile)              t r for r > 0, (t - 1) r for r <= 0                        real

The first is the check loss of the quantile t, its corner replaced by a parabola: the mean of the
check loss over residuals that differ by up to h. It is above the check loss by h / 4 at most. The
supports of a path are those of the smoothed loss. On its support each model has the coefficients of
least check loss, and what a path reports is the check loss. The conjugates, for slopes
-t <= r <= 1 - t, are

    y r + h (1/2 - t - r)^2 - h / 4    and    y r

The likelihood is that of the asymmetric Laplace distribution, with the density
t (1 - t) / s exp(-check / s) of a row. By maximum likelihood its scale s is the mean check loss.

Sources: Koenker & Bassett, Econometrica 46 (1978); Fernandes, Guerre & Horta, Journal of Business &
Economic Statistics 39 (2021); He, Pan, Tan & Zhou, Journal of Econometrics 232 (2023); Koenker &
Machado, JASA 94 (1999), for the likelihood; Lee, Noh & Park, JASA 109 (2014), for its BIC.
"""

import math
from typing import NamedTuple

import numpy as np

from ..conjugates import conjugate, conjugate_slope, interval, smooth
from ..losses import named, smoothness
from ..responses import (
    EPS,
    log_constant,
    log_likelihood,
    null_start,
    reported,
    rounding,
    saturated,
    unit_deviance,
)
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
        likelihood=True,
        parameter="quantile",
        pilot="width",
        dispersion=1,
    )

    quantile: float
    width: float

    @property
    def above(self):
        """How far the loss can be above the check loss."""
        return 0.25 * self.width


class Check(NamedTuple):
    """Check loss of a quantile, for results: it has no curvature. width: that of the smoothed loss
    that stands in for it in a search.
    """

    traits = Quantile.traits._replace(jumps=True, bounded=False)

    quantile: float
    width: float


@smooth.register(Check)
def check_smooth(loss):
    return Quantile(loss.quantile, loss.width)


@reported.register(Quantile)
def quantile_reported(loss):
    return Check(loss.quantile, loss.width)


@value.register(Check)
def check_value(loss, y, eta):
    r = y - eta
    return loss.quantile * r if r > 0.0 else (loss.quantile - 1.0) * r


@slope.register(Check)
def check_slope(loss, y, eta):
    return -loss.quantile if y > eta else 1.0 - loss.quantile


@conjugate.register(Check)
def check_conjugate(loss, y, r):
    return y * r


@smoothness.register(Quantile)
def quantile_smoothness(loss):
    return 0.5 / loss.width


@value.register(Quantile)
def quantile_value(loss, y, eta):
    r, h = y - eta, loss.width
    if abs(r) <= h:
        return 0.25 * r * r / h + (loss.quantile - 0.5) * r + 0.25 * h
    return loss.quantile * r if r > 0.0 else (loss.quantile - 1.0) * r


@slope.register(Quantile)
def quantile_slope(loss, y, eta):
    return 0.5 - loss.quantile - min(max(0.5 * (y - eta) / loss.width, -0.5), 0.5)


@curvature.register(Quantile)
def quantile_curvature(loss, y, eta):
    return 0.5 / loss.width if abs(y - eta) <= loss.width else 0.0


@fenchel_gap.register(Quantile)
def quantile_fenchel_gap(loss, y, eta, at, dual):
    u = 0.5 - loss.quantile - dual
    if abs(u) > 0.5:
        return math.inf
    return loss.width * (u * u - 0.25) + dual * (y - eta) + value(loss, y, eta)


@conjugate.register(Quantile)
def quantile_conjugate(loss, y, r):
    return y * r + loss.width * ((0.5 - loss.quantile - r) ** 2 - 0.25)


@interval.register(Quantile)
@interval.register(Check)
def quantile_interval(loss, y):
    return np.full(y.shape, -loss.quantile), np.full(y.shape, 1.0 - loss.quantile)


@conjugate_slope.register(Quantile)
def quantile_conjugate_slope(loss, y, r):
    return y - 2.0 * loss.width * (0.5 - loss.quantile - r)


@null_start.register(Quantile)
@null_start.register(Check)
def quantile_null_start(loss, y, offset, weights):
    r = y - offset
    order = np.argsort(r, kind="stable")
    at = np.searchsorted(np.cumsum(weights[order]), loss.quantile)
    return float(r[order[min(at, r.size - 1)]])


@saturated.register(Quantile)
def quantile_saturated(loss, y):
    return np.full(y.shape, loss.width * (0.25 - (loss.quantile - 0.5) ** 2))


@rounding.register(Quantile)
@rounding.register(Check)
def quantile_rounding(loss, y, weights, size):
    return 8 * EPS * size


@unit_deviance.register(Quantile)
@unit_deviance.register(Check)
def quantile_unit_deviance(loss, y, eta, rows):
    """Twice the check loss, not smoothed."""
    r = y - eta
    return 2.0 * np.where(r > 0, loss.quantile * r, (loss.quantile - 1.0) * r)


@log_constant.register(Quantile)
def quantile_log_constant(loss, y, trials=None):
    """What rounding leaves of the loss of a row that is fitted."""
    return rounding(loss, y, None, np.abs(y))


@log_likelihood.register(Quantile)
def quantile_log_likelihood(loss, constant, n):
    """Of mean check losses, with the scale of maximum likelihood; inf where every row is fitted."""
    density = math.log(loss.quantile * (1.0 - loss.quantile)) - 1.0

    def of_losses(mean_loss):
        with np.errstate(divide="ignore"):
            fitted = mean_loss <= constant
            return np.where(fitted, np.inf, n * (density - np.log(np.maximum(mean_loss, 0.0))))

    return of_losses
