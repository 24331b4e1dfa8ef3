"""Counts whose variance exceeds their mean.

    loss                        value, eta = log of the mean                              y
    negative_binomial(theta)    (y + theta) log(1 + exp(eta) / theta) - y eta             >= 0

The variance of a row is mean + mean^2 / theta; with theta to infinity it is the Poisson loss. With
s = eta - log(theta) it is a logistic loss of weight y + theta, whose conjugate it has, for slopes
-y <= r <= theta and q = (r + y) / (y + theta):

    (y + theta) (q log q + (1 - q) log(1 - q)) + (r + y) log theta

Source: Venables & Ripley, Modern Applied Statistics with S (2002), section 7.4.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.elementary import binary_gap, exp_minus, log1p_unit
from ..losses import CLASS_MARGIN, named
from ..responses import EPS, poisson_start
from ..traits import EMPTIES, LossTraits

LARGEST_THETA = 1e8  # beyond it counts are as good as Poisson
LEAST_THETA = 1e-6
LARGEST_SQUARED = 1e150  # means of extreme offsets, squared, are to be finite


@named
class NegativeBinomial(NamedTuple):
    """Negative binomial deviance up to a constant, log link, variance mean + mean^2 / theta."""

    traits = LossTraits(
        "negative_binomial",
        "counts",
        math.inf,
        jumps=False,
        link="log",
        recession=EMPTIES,
        bounded=False,
        likelihood=True,
        dispersion=1,
        parameter="theta",
        pilot="theta",
    )

    theta: float

    def value(self, y, eta):
        s = eta - math.log(self.theta)
        soft = log1p_unit(exp_minus(abs(s))) + (s if s > 0.0 else 0.0)
        return (y + self.theta) * soft - y * eta

    def slope(self, y, eta):
        s = eta - math.log(self.theta)
        e = exp_minus(abs(s))
        return (y + self.theta) * (1.0 if s > 0.0 else e) / (1.0 + e) - y

    def curvature(self, y, eta):
        e = exp_minus(abs(eta - math.log(self.theta)))
        return (y + self.theta) * e / ((1.0 + e) * (1.0 + e))

    def fenchel_gap(self, y, eta, at, dual):
        total = y + self.theta
        return total * binary_gap((at + y) / total, (dual - at) / total)

    def conjugate(self, y, r):
        from scipy.special import xlog1py, xlogy

        total = y + self.theta
        q = np.clip((r + y) / total, 0.0, 1.0)
        return total * (xlogy(q, q) + xlog1py(1.0 - q, -q) + q * math.log(self.theta))

    def interval(self, y):
        return -y, np.full(y.shape, self.theta)

    def conjugate_slope(self, y, r):
        q = np.clip((r + y) / (y + self.theta), CLASS_MARGIN, 1.0 - CLASS_MARGIN)
        return math.log(self.theta) + np.log(q / (1.0 - q))

    def null_start(self, y, offset, weights):
        return poisson_start(y, offset, weights)

    def saturated(self, y):
        return (y + self.theta) * np.log1p(y / self.theta) - y * np.log(np.where(y > 0, y, 1.0))

    def rounding(self, y, weights, size):
        parts = (y + self.theta) * np.log1p(y / self.theta) + y * np.abs(np.log(np.maximum(y, 1.0)))
        return 16 * EPS * max(float(weights @ parts), 1.0)

    def log_constant(self, y, trials=None):
        from scipy.special import gammaln

        theta = self.theta
        return gammaln(theta) + gammaln(y + 1.0) - gammaln(y + theta) + y * math.log(theta)


def theta_of(y, mean, weights):
    """The theta of largest likelihood given the means, between 1e-6 and 1e8; at 1e8 the counts vary
    no more than Poisson's.

    The root of the score in log theta is found by Brent's method, between points around the theta
    of the moments: far above it the score is rounding, whose sign says nothing.

    Parameters
    ----------
    y, mean, weights : ndarray of shape (n,)
        Counts, their means, and weights of the rows.

    Returns
    -------
    float
    """
    from scipy.optimize import brentq
    from scipy.special import digamma

    # the likelihood at large theta rises towards Poisson's where the excess of variance is not > 0
    square = np.minimum(mean, LARGEST_SQUARED) ** 2
    excess = float(weights @ (np.minimum(np.abs(y - mean), LARGEST_SQUARED) ** 2 - y))
    if excess <= 0:
        return LARGEST_THETA
    counts, place = np.unique(y, return_inverse=True)
    mass = np.bincount(place, weights)

    def score(log_theta):
        theta = math.exp(log_theta)
        each = np.log(theta / (theta + mean)) + (mean - y) / (theta + mean)
        return float(mass @ (digamma(counts + theta) - digamma(theta)) + weights @ each)

    low, high = math.log(LEAST_THETA), math.log(LARGEST_THETA)
    left = right = min(max(math.log(max(float(weights @ square) / excess, 1e-300)), low), high)
    if score(left) > 0:
        while score(right) > 0:
            if right == high:
                return LARGEST_THETA
            left, right = right, min(right + 1.0, high)
    else:
        while score(left) <= 0:
            if left == low:
                return LEAST_THETA
            left, right = max(left - 1.0, low), left
    return math.exp(brentq(score, left, right, xtol=1e-13, rtol=1e-14))
