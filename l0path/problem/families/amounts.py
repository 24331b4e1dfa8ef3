"""Amounts that are positive, or positive and sometimes zero, with the logarithm as link.

    loss              value, eta = log of the mean                                    y
    gamma             y exp(-eta) + eta                                               > 0
    tweedie(power)    y exp(-a eta) / a + (exp(b eta) - 1) / b                        >= 0
                      a = power - 1, b = 2 - power, for 1 < power < 2;
                      power = 2 is the gamma loss, whose y are > 0

Both are the negative log-likelihood times the dispersion phi, up to what does not depend on eta:
the variance of a row is phi mean^power, that of gamma phi mean^2. Conjugates, r a slope:

    gamma             t log(t / y) - t, t = 1 - r                                     r <= 1
    tweedie           r eta - value at the eta whose slope is r, found by Newton      all r for
                      steps                                                           y > 0, r >= 0
                                                                                      for y = 0

Sources: McCullagh & Nelder, Generalized Linear Models (1989), chapter 8; Jorgensen, The Theory of
Dispersion Models (1997), chapter 4; the series of the Tweedie density is that of Dunn & Smyth,
Statistics and Computing 15 (2005).
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.elementary import entropy_rise, exponential
from ..conjugates import conjugate_slope
from ..losses import named
from ..responses import EPS, likelihood_constant, log_likelihood, saturated
from ..traits import EMPTIES, LossTraits
from .tweedie_density import BestDispersion

DUAL_MARGIN = 1e-12  # how far from the end of its domain a dual slope is taken, relative
ROOT_STEPS = 10  # Newton steps of one row, from the linear change of its slope
GAP_CLOSED = 1e-7  # the last of them, in the predictor
# the part of the null model in the means of a working response, that of y is 1: of 0.03, 0.1, 0.3
# and 1 the best one for the time and the objectives of paths with shapes 0.2 to 2
NULL_SHARE = 0.3
SHAPE_STEPS = 100  # Newton steps of one number


@named
class Gamma(NamedTuple):
    """Gamma deviance up to a constant, log link."""

    traits = LossTraits(
        "gamma",
        "positive",
        math.inf,
        jumps=False,
        link="log",
        bounded=False,
        likelihood=True,
        dispersion=1,
    )

    def value(self, y, eta):
        return y * exponential(-eta) + eta

    def slope(self, y, eta):
        return 1.0 - y * exponential(-eta)

    def curvature(self, y, eta):
        return y * exponential(-eta)

    def fenchel_gap(self, y, eta, at, dual):
        share = 1.0 - at  # y / mean
        if dual > 1.0 or share <= 0.0:
            return math.inf
        return share * entropy_rise((at - dual) / share)

    def conjugate(self, y, r):
        from scipy.special import xlogy

        t = np.maximum(1.0 - r, 0.0)
        return xlogy(t, t) - t * (1.0 + np.log(y))

    def interval(self, y):
        return np.full(y.shape, -np.inf), np.ones(y.shape)

    def conjugate_slope(self, y, r):
        return np.log(y) - np.log(np.maximum(1.0 - r, DUAL_MARGIN))

    def null_start(self, y, offset, weights):
        shifted = np.log(y) - offset  # y exp(-offset) alone may overflow
        top = float(shifted.max())
        return top + float(np.log(weights @ np.exp(shifted - top)))

    def pseudo_response(self, slopes):
        """The working response of Fisher scoring, z = log m + (y - m) / m with weights 1, at means
        m between y and those of the null model, m0: with t = y / m0, z - log m0 at m = (t + a) m0 /
        (1 + a). The logarithm makes large effects linear; a keeps rows near 0 from prevailing.
        """
        t, a = 1.0 - slopes, NULL_SHARE
        return np.log((t + a) / (1.0 + a)) + a * (t - 1.0) / (t + a)

    def saturated(self, y):
        return 1.0 + np.log(y)

    def rounding(self, y, weights, size):
        return 16 * EPS * (1.0 + float(weights @ np.abs(np.log(y))))

    def log_constant(self, y, trials=None):
        return np.log(y)

    def log_likelihood(self, constant, n):
        """With the shape nu = 1 / phi of maximum likelihood, log nu - digamma(nu) = half the mean
        deviance.
        """
        from scipy.special import gammaln

        def of(mean_loss):
            half = np.atleast_1d(np.asarray(mean_loss, dtype=float)) - constant - 1.0
            out = np.full(half.shape, np.inf)
            for i in np.flatnonzero(half > 0):
                nu = shape_of(float(half[i]))
                out[i] = n * (nu * math.log(nu) - gammaln(nu) - constant - nu * (half[i] + 1.0))
            return out

        return of


@named
class Tweedie(NamedTuple):
    """Tweedie deviance up to a constant, log link; the variance is phi mean^power."""

    traits = LossTraits(
        "tweedie",
        "amounts",
        math.inf,
        jumps=False,
        link="log",
        recession=EMPTIES,
        bounded=False,
        likelihood=True,
        parameter="power",
        dispersion=1,
    )

    power: float

    def value(self, y, eta):
        a, b = self.power - 1.0, 2.0 - self.power
        rate = math.expm1(b * eta) / b if b > 0.0 else eta
        return (y * math.exp(-a * eta) / a if y > 0.0 else 0.0) + rate

    def slope(self, y, eta):
        a, b = self.power - 1.0, 2.0 - self.power
        return math.exp(b * eta) - (y * math.exp(-a * eta) if y > 0.0 else 0.0)

    def curvature(self, y, eta):
        a, b = self.power - 1.0, 2.0 - self.power
        return b * math.exp(b * eta) + (a * y * math.exp(-a * eta) if y > 0.0 else 0.0)

    def fenchel_gap(self, y, eta, at, dual):
        """With d = t - eta for the t of slope `dual`, found by Newton steps: dual d less the rise
        of the loss. What the last step leaves of the equation is added with its square, for it
        counts to second order. Infinity where steps do not converge.
        """
        a, b = self.power - 1.0, 2.0 - self.power
        if y <= 0.0 or b <= 0.0:
            share = at if y <= 0.0 else 1.0 - at  # the mean to the power b; y / mean
            rise = dual - at if y <= 0.0 else at - dual
            if share <= 0.0 or share + rise < 0.0:
                return math.inf
            return share * entropy_rise(rise / share) / (b if y <= 0.0 else 1.0)
        up, down = math.exp(b * eta), y * math.exp(-a * eta)
        d = (dual - at) / (b * up + a * down)
        for _step in range(ROOT_STEPS):
            rise, fall = math.expm1(b * d), math.expm1(-a * d)
            left = at + up * rise - down * fall - dual
            bend = b * up * (1.0 + rise) + a * down * (1.0 + fall)
            if abs(left) <= GAP_CLOSED * bend:
                gap = dual * d - up * rise / b - down * fall / a
                return max(gap, 0.0) + left * left / bend
            d -= left / bend
        return math.inf

    def takes_zero(self):
        return self.power < 2.0

    def conjugate(self, y, r):
        """r eta - value at the root; a slope that is left changes it to second order only."""
        eta = conjugate_slope(self, y, r)
        a, b = self.power - 1.0, 2.0 - self.power
        y = np.broadcast_to(y, eta.shape)
        rate = np.expm1(b * eta) / b if b > 0.0 else eta
        found = r * eta - np.where(y > 0, y * np.exp(-a * eta) / a, 0.0) - rate
        return np.where((y == 0) & (r <= 0), 1.0 / b if b > 0.0 else np.inf, found)

    def interval(self, y):
        zero, most = np.where(y > 0, -np.inf, 0.0), np.inf if self.power < 2.0 else 1.0
        return zero, np.full(y.shape, most)

    def conjugate_slope(self, y, r):
        """The root of exp(b eta) - y exp(-a eta) = r: Newton steps within a bracket, on the side
        where they cannot overshoot.
        """
        y, r = np.broadcast_arrays(np.asarray(y, float), np.asarray(r, float))
        a, b = self.power - 1.0, 2.0 - self.power
        if b == 0.0:
            return np.log(y) - np.log(np.maximum(1.0 - r, DUAL_MARGIN)) / a
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # both terms of a slope r > 0 are at most exp(b eta), of r < 0 at least -y exp(-a eta)
            rising = np.log(np.maximum(r, DUAL_MARGIN)) / b
            falling = (np.log(y) - np.log(np.maximum(-r, DUAL_MARGIN))) / a
            saddle = np.log(np.maximum(y, DUAL_MARGIN))  # the root of r = 0, as a + b = 1
            eta = np.where(
                y > 0,
                np.where(r > 0, np.maximum(rising, saddle), np.minimum(falling, saddle)),
                rising,
            )
            for _ in range(SHAPE_STEPS):
                up = np.exp(b * eta)
                down = np.where(y > 0, y * np.exp(-a * eta), 0.0)
                step = (up - down - r) / (b * up + a * down)
                step = np.clip(np.where(np.isfinite(step), step, 0.0), -2.0, 2.0)
                eta = np.where(y > 0, eta - step, eta)
                if np.abs(np.where(y > 0, step, 0.0)).max(initial=0.0) <= 4 * EPS:
                    break
        return eta

    def null_start(self, y, offset, weights):
        middle = float(weights @ offset)
        return float(np.log(max(float(weights @ y), 1e-12))) - middle

    def saturated(self, y):
        a, b = self.power - 1.0, 2.0 - self.power
        if b == 0.0:
            return 1.0 + np.log(y)
        return np.where(y > 0, y**b / a + (y**b - 1.0) / b, -1.0 / b)

    def rounding(self, y, weights, size):
        return 16 * EPS * max(float(weights @ np.abs(saturated(self, y))), 1.0)

    def likelihood_constant(self, y, weights, trials=None):
        """Logarithms of the y that are positive, and the shares of the weights that they have (2,
        n); for the power 2 as for the gamma loss.
        """
        if self.power == 2.0:
            return likelihood_constant(Gamma(), y, weights)
        some = (y > 0) & (weights > 0)
        return np.array([np.log(y[some]), weights[some]])

    def log_likelihood(self, constant, n):
        if self.power == 2.0:
            return log_likelihood(Gamma(), constant, n)
        best = BestDispersion(self.power, *constant)
        return lambda mean_loss: n * np.array([best(each) for each in np.atleast_1d(mean_loss)])


def shape_of(half):
    """nu with log nu - digamma(nu) = half > 0, by Newton steps on log nu from the start of Minka
    (2002).
    """
    from scipy.special import digamma, polygamma

    nu = (3.0 - half + math.sqrt((half - 3.0) ** 2 + 24.0 * half)) / (12.0 * half)
    for _ in range(SHAPE_STEPS):
        step = (math.log(nu) - digamma(nu) - half) / (1.0 - nu * float(polygamma(1, nu)))
        nu *= math.exp(-step)
        if abs(step) <= 4 * EPS:
            break
    return nu
