"""The functions of a loss that results need: where its intercept starts, what a perfect prediction
costs, its log-likelihood, the mean it predicts, and random responses.

They are verbs: the methods of a loss with their names are what they do for it, and a loss without
one gets the default.
"""

import numpy as np

from ..core.dispatch import generic_in_python
from .several import probabilities
from .traits import EMPTIES

EPS = float(np.finfo(float).eps)
LARGEST_EXPONENT = 700.0  # exp of more than 709 overflows


@generic_in_python
def null_start(loss, y, offset, weights):
    """Intercept near the null model's, where Newton steps start; arrays (n,), weights of sum 1."""
    return float(weights @ y)


def poisson_start(y, offset, weights):
    """The intercept of the null model of counts."""
    top = float(offset.max())  # exp(offset) alone may overflow
    mean = float(weights @ y)
    return float(np.log(max(mean, 1e-12)) - top - np.log(weights @ np.exp(offset - top)))


@generic_in_python
def reported(loss):
    """The loss that results are about: that of the search, unless it was smoothed for that."""
    return loss


@generic_in_python
def pseudo_response(loss, slopes):
    """(n,) the response, beyond the null model, of the squared loss whose path starts that of the
    loss; slopes (n,): d loss / d eta of rows at the null model.
    """
    return -slopes


@generic_in_python
def takes_zero(loss):
    """Whether the loss of y = 0 is bounded below, of those whose y are not negative."""
    return loss.traits.response != "positive"


@generic_in_python
def saturated(loss, y):
    """(n,) the loss of predicting every y: the least value of a row; -inf where it is not known."""
    return np.zeros(y.shape)


@generic_in_python
def unit_deviance(loss, y, eta, rows):
    """(n,) the deviance of rows whose losses at eta are `rows`: twice what they have beyond
    `saturated`, and for losses without a mean the loss itself.
    """
    if not loss.traits.link:
        return rows
    least = saturated(loss, y)
    return 2.0 * (rows - np.where(np.isfinite(least), least, 0.0))


@generic_in_python
def rounding(loss, y, weights, size):
    """A bound on the rounding of the least mean loss; size: largest |y| before an intercept was
    taken off.
    """
    return 0.0


@generic_in_python
def log_constant(loss, y, trials=None):
    """(n,) what the negative log-likelihood of a row has beyond the loss, or (for likelihoods with
    a scale) what `log_likelihood` needs of y. trials (n,): those of shares.
    """
    return np.zeros(y.shape)


@generic_in_python
def likelihood_constant(loss, y, weights, trials=None):
    """The mean of `log_constant`; for Tweedie's loss the rows themselves, in an array. weights
    (n,) sum to one.
    """
    return float(np.sum(weights @ log_constant(loss, y, trials)))


@generic_in_python
def log_likelihood(loss, constant, n):
    """A function of mean losses (m,): the log-likelihoods (m,) of models of n rows; constant:
    `likelihood_constant`.
    """
    return lambda mean_loss: -n * (mean_loss + constant)


def mean_at(link, eta):
    """The mean of the response at linear predictors eta, for the link of `LossTraits`."""
    with np.errstate(over="ignore"):
        if link == "logit":
            return 1.0 / (1.0 + np.exp(-eta))
        if link in ("softmax", "ordered"):
            return probabilities(eta)
        return np.exp(eta) if link == "log" else eta


def without_mean(loss, total):
    """Whether no intercept is finite because y is zero in every row; total: the weighted sum of
    y.
    """
    return loss.traits.recession == EMPTIES and not total > 0
