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

from ...core.dispatch import with_verbs
from ..losses import named
from ..responses import EPS, rounding
from ..traits import LossTraits
from ..verbs import value


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

    def value(self, y, eta):
        r, h = y - eta, self.width
        if abs(r) <= h:
            return 0.25 * r * r / h + (self.quantile - 0.5) * r + 0.25 * h
        return self.quantile * r if r > 0.0 else (self.quantile - 1.0) * r

    def slope(self, y, eta):
        return 0.5 - self.quantile - min(max(0.5 * (y - eta) / self.width, -0.5), 0.5)

    def curvature(self, y, eta):
        return 0.5 / self.width if abs(y - eta) <= self.width else 0.0

    def fenchel_gap(self, y, eta, at, dual):
        u = 0.5 - self.quantile - dual
        if abs(u) > 0.5:
            return math.inf
        return self.width * (u * u - 0.25) + dual * (y - eta) + value(self, y, eta)

    def smoothness(self):
        return 0.5 / self.width

    def reported(self):
        return Check(self.quantile, self.width)

    def conjugate(self, y, r):
        return y * r + self.width * ((0.5 - self.quantile - r) ** 2 - 0.25)

    def interval(self, y):
        return np.full(y.shape, -self.quantile), np.full(y.shape, 1.0 - self.quantile)

    def conjugate_slope(self, y, r):
        return y - 2.0 * self.width * (0.5 - self.quantile - r)

    def null_start(self, y, offset, weights):
        r = y - offset
        order = np.argsort(r, kind="stable")
        at = np.searchsorted(np.cumsum(weights[order]), self.quantile)
        return float(r[order[min(at, r.size - 1)]])

    def saturated(self, y):
        return np.full(y.shape, self.width * (0.25 - (self.quantile - 0.5) ** 2))

    def rounding(self, y, weights, size):
        return 8 * EPS * size

    def unit_deviance(self, y, eta, rows):
        """Twice the check loss, not smoothed."""
        r = y - eta
        return 2.0 * np.where(r > 0, self.quantile * r, (self.quantile - 1.0) * r)

    def log_constant(self, y, trials=None):
        """What rounding leaves of the loss of a row that is fitted."""
        return rounding(self, y, None, np.abs(y))

    def log_likelihood(self, constant, n):
        """Of mean check losses, with the scale of maximum likelihood; inf where every row is
        fitted.
        """
        density = math.log(self.quantile * (1.0 - self.quantile)) - 1.0

        def of_losses(mean_loss):
            with np.errstate(divide="ignore"):
                fitted = mean_loss <= constant
                return np.where(fitted, np.inf, n * (density - np.log(np.maximum(mean_loss, 0.0))))

        return of_losses


@with_verbs
class Check(NamedTuple):
    """Check loss of a quantile, for results: it has no curvature. width: that of the smoothed loss
    that stands in for it in a search.
    """

    traits = Quantile.traits._replace(jumps=True, bounded=False)

    quantile: float
    width: float

    def value(self, y, eta):
        r = y - eta
        return self.quantile * r if r > 0.0 else (self.quantile - 1.0) * r

    def slope(self, y, eta):
        return -self.quantile if y > eta else 1.0 - self.quantile

    def smooth(self):
        return Quantile(self.quantile, self.width)

    def conjugate(self, y, r):
        return y * r

    interval = Quantile.interval
    null_start = Quantile.null_start
    rounding = Quantile.rounding
    unit_deviance = Quantile.unit_deviance
