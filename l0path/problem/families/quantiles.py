"""Quantiles of a real response.

    loss                         value, r = y - eta                                        y
    quantile(quantile, width)    r^2 / (4 h) + (t - 1/2) r + h / 4 for |r| <= h = width    real
                                 t r for r > h, (t - 1) r for r < -h

It is the check loss of the quantile t, its corner replaced by a parabola: the mean of the check
loss over residuals that differ by up to h. Its conjugate, for slopes -t <= r <= 1 - t:

    y r + h (1/2 - t - r)^2 - h / 4

Its likelihood is that of the density exp(-value / s) / Z(s) of a row, whose scale s is that of
maximum likelihood. Without the smoothing it is the asymmetric Laplace distribution, Z = s /
(t (1 - t)) and s the mean check loss; with it

    Z = s e^(-t h / s) / t + s e^(-(1 - t) h / s) / (1 - t)
        + e^(-t (1 - t) h / s) sqrt(4 pi h s) (Phi(2 t u) - Phi(-2 (1 - t) u)),  u = sqrt(h / (2 s))

Sources: Koenker & Bassett, Econometrica 46 (1978); Fernandes, Guerre & Horta, Journal of Business &
Economic Statistics 39 (2021); He, Pan, Tan & Zhou, Journal of Econometrics 232 (2023); Koenker &
Machado, JASA 94 (1999), for the likelihood; Lee, Noh & Park, JASA 109 (2014), for its BIC.
"""

import math
from typing import NamedTuple

import numpy as np

from ..conjugates import conjugate, conjugate_slope, interval
from ..losses import named, smoothness
from ..responses import EPS, log_likelihood, null_start, rounding, saturated, unit_deviance
from ..traits import LossTraits
from ..verbs import curvature, fenchel_gap, slope, value

FITTED = 1e-12  # share of the least loss above which a mean loss has a scale


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


@log_likelihood.register(Quantile)
def _(loss, constant, n):
    """With the scale of maximum likelihood; inf where every row is fitted."""
    from scipy.optimize import minimize_scalar

    least = float(saturated(loss, np.zeros(1))[0])

    def best(total):
        if not total > least * (1.0 + FITTED):
            return np.inf
        # the scale lies between what the mean is above the least loss and the double of it
        above = math.log(total - least)
        found = minimize_scalar(
            lambda s: total * math.exp(-s) + _log_mass(loss, math.exp(s)),
            bounds=(above - 1.0, math.log(2.0) + above + 1.0),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return -n * found.fun

    return lambda mean_loss: np.array([best(float(each)) for each in np.atleast_1d(mean_loss)])


def _log_mass(loss, s):
    """The logarithm of Z(s)."""
    from scipy.special import ndtr

    t, h = loss.quantile, loss.width
    u = math.sqrt(0.5 * h / s)
    # times e^(t (1 - t) h / s), whose power no part exceeds
    tails = math.exp(-(t * t) * h / s) / t + math.exp(-((1.0 - t) ** 2) * h / s) / (1.0 - t)
    middle = math.sqrt(4.0 * math.pi * h * s) * (ndtr(2.0 * t * u) - ndtr(-2.0 * (1.0 - t) * u))
    return math.log(s * tails + middle) - t * (1.0 - t) * h / s
