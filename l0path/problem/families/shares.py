"""Successes of so many trials in every row.

    loss        value, eta = logit of the probability, y = successes / trials      y
    binomial    log(1 + exp(eta)) - y eta                                          0 <= y <= 1

The weight of a row is its number of trials (times its sample weight), so that the loss is that of
`logistic` on one row for each trial. Its conjugate, for slopes -y <= r <= 1 - y and q = r + y:

    q log q + (1 - q) log(1 - q)

The log-likelihood has the binomial coefficients of the rows; the n of the criteria is the number of
rows, each as often as `freq_weight` says.

Source: McCullagh & Nelder, Generalized Linear Models (1989), chapter 4.
"""

from typing import NamedTuple

import numpy as np

from ...core.elementary import binary_gap, exp_minus, log1p_unit
from ..losses import CLASS_MARGIN, named
from ..responses import EPS
from ..traits import FILLS, LossTraits


@named
class Binomial(NamedTuple):
    """Binomial deviance of shares up to a constant, logit link."""

    traits = LossTraits(
        "binomial",
        "shares",
        0.25,
        jumps=False,
        entry_safety=2.0,
        link="logit",
        recession=FILLS,
        likelihood=True,
    )

    def value(self, y, eta):
        return log1p_unit(exp_minus(abs(eta))) + (eta if eta > 0.0 else 0.0) - y * eta

    def slope(self, y, eta):
        e = exp_minus(abs(eta))
        return (1.0 if eta > 0.0 else e) / (1.0 + e) - y

    def curvature(self, y, eta):
        e = exp_minus(abs(eta))
        return e / ((1.0 + e) * (1.0 + e))

    def fenchel_gap(self, y, eta, at, dual):
        return binary_gap(at + y, dual - at)

    def conjugate(self, y, r):
        from scipy.special import xlog1py, xlogy

        q = np.clip(r + y, 0.0, 1.0)
        return xlogy(q, q) + xlog1py(1.0 - q, -q)

    def interval(self, y):
        return -y, 1.0 - y

    def conjugate_slope(self, y, r):
        q = np.clip(r + y, CLASS_MARGIN, 1.0 - CLASS_MARGIN)
        return np.log(q / (1.0 - q))

    def null_start(self, y, offset, weights):
        mean = float(weights @ y)
        return float(np.log(mean / (1.0 - mean)))

    def saturated(self, y):
        from scipy.special import xlog1py, xlogy

        return -(xlogy(y, y) + xlog1py(1.0 - y, -y))

    def rounding(self, y, weights, size):
        return 16 * EPS

    def log_constant(self, y, trials=None):
        """Less the logarithm of the binomial coefficient, for each trial."""
        from scipy.special import gammaln

        t = np.maximum(trials, 1e-300)
        return (gammaln(t * y + 1.0) + gammaln(t * (1.0 - y) + 1.0) - gammaln(t + 1.0)) / t
