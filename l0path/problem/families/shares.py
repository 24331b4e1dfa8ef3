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
from ..conjugates import CLASS_MARGIN, conjugate, conjugate_slope, interval
from ..losses import named
from ..responses import EPS, log_constant, null_start, rounding, saturated
from ..traits import FILLS, LossTraits
from ..verbs import curvature, fenchel_gap, slope, value


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


@value.register(Binomial)
def binomial_value(loss, y, eta):
    return log1p_unit(exp_minus(abs(eta))) + (eta if eta > 0.0 else 0.0) - y * eta


@slope.register(Binomial)
def binomial_slope(loss, y, eta):
    e = exp_minus(abs(eta))
    return (1.0 if eta > 0.0 else e) / (1.0 + e) - y


@curvature.register(Binomial)
def binomial_curvature(loss, y, eta):
    e = exp_minus(abs(eta))
    return e / ((1.0 + e) * (1.0 + e))


@fenchel_gap.register(Binomial)
def binomial_fenchel_gap(loss, y, eta, at, dual):
    return binary_gap(at + y, dual - at)


@conjugate.register(Binomial)
def binomial_conjugate(loss, y, r):
    from scipy.special import xlog1py, xlogy

    q = np.clip(r + y, 0.0, 1.0)
    return xlogy(q, q) + xlog1py(1.0 - q, -q)


@interval.register(Binomial)
def binomial_interval(loss, y):
    return -y, 1.0 - y


@conjugate_slope.register(Binomial)
def binomial_conjugate_slope(loss, y, r):
    q = np.clip(r + y, CLASS_MARGIN, 1.0 - CLASS_MARGIN)
    return np.log(q / (1.0 - q))


@null_start.register(Binomial)
def binomial_null_start(loss, y, offset, weights):
    mean = float(weights @ y)
    return float(np.log(mean / (1.0 - mean)))


@saturated.register(Binomial)
def binomial_saturated(loss, y):
    from scipy.special import xlog1py, xlogy

    return -(xlogy(y, y) + xlog1py(1.0 - y, -y))


@rounding.register(Binomial)
def binomial_rounding(loss, y, weights, size):
    return 16 * EPS


@log_constant.register(Binomial)
def binomial_log_constant(loss, y, trials=None):
    """Less the logarithm of the binomial coefficient, for each trial."""
    from scipy.special import gammaln

    t = np.maximum(trials, 1e-300)
    return (gammaln(t * y + 1.0) + gammaln(t * (1.0 - y) + 1.0) - gammaln(t + 1.0)) / t
