"""Regressions of statsmodels with weights of rows, which it does not have: the log-likelihood of a
row times its weight, a pseudo-likelihood.

This module is imported when such a refit is asked for, because it imports statsmodels.
"""

from __future__ import annotations

import numpy as np
import statsmodels.api as sm
from scipy.special import digamma, polygamma
from statsmodels.miscmodels.ordinal_model import OrderedModel

from .threshold_models import ThresholdModel


class Weights:
    """The weights of a model.

    Parameters
    ----------
    endog, exog
        As of the model.
    row_weights : ndarray of shape (n,)
        The weights.
    **options
        As of the model.
    """

    def __init__(self, endog, exog, row_weights, **options):
        super().__init__(endog, exog, **options)
        self.row_weights = row_weights
        self._init_keys.append("row_weights")  # a summary makes the model of no features


class Weighted(Weights):
    """The weights of a model whose derivatives are differences of `loglikeobs`."""

    def loglikeobs(self, params):
        """The weighted log-likelihood of each row."""
        return self.row_weights * super().loglikeobs(params)


class WeightedOrderedModel(Weighted, OrderedModel):
    """Ordered classes with weights."""


class WeightedThresholdModel(Weighted, ThresholdModel):
    """The same in terms of thresholds."""


class WeightedMNLogit(Weights, sm.MNLogit):
    """Several classes with weights."""

    def _probabilities(self, params):
        return self.cdf(self.exog @ params.reshape(self.K, -1, order="F"))

    def loglikeobs(self, params):
        """The weighted log-likelihood of each row."""
        return self.row_weights * (self.wendog * np.log(self._probabilities(params))).sum(axis=1)

    def loglike(self, params):
        """The sum of `loglikeobs`."""
        return self.loglikeobs(params).sum()

    def score_obs(self, params):
        """Its derivatives by row."""
        return self.row_weights[:, None] * super().score_obs(params)

    def score(self, params):
        """The sums of `score_obs`."""
        return self.score_obs(params).sum(axis=0)

    def hessian(self, params):
        """The second derivatives of `loglike`."""
        P = self._probabilities(params)[:, 1:]
        out = np.empty((P.shape[1], self.K, P.shape[1], self.K))
        for i in range(P.shape[1]):
            for j in range(P.shape[1]):
                each = self.row_weights * P[:, i] * (P[:, j] - (i == j))
                out[i, :, j] = (self.exog * each[:, None]).T @ self.exog
        return out.reshape(P.shape[1] * self.K, -1)


class WeightedNegativeBinomial(Weights, sm.NegativeBinomial):
    """Counts with variance mean + alpha mean^2 (NB2) with weights.

    With r = 1 / alpha the log-likelihood of a row is log Gamma(y + r) - log Gamma(r) -
    log y! + r log(r / (r + mean)) + y log(mean / (r + mean)).
    """

    def _initialize(self):
        """Statsmodels keeps the functions of the likelihood as attributes of the object."""
        super()._initialize()
        self.loglikeobs, self.score, self.hessian = self._rows, self._sums, self._curvature

    def _rows(self, params):
        """The weighted log-likelihood of each row."""
        return self.row_weights * self._ll_nb2(params)

    def _parts(self, params):
        """(alpha, r, means) at parameters; during a fit the last of these may be log alpha."""
        alpha = np.exp(params[-1]) if self._transparams else params[-1]
        return alpha, 1.0 / alpha, self.predict(params)

    def score_obs(self, params):
        """Its derivatives by row."""
        alpha, r, mean = self._parts(params)
        y = self.endog
        in_r = digamma(y + r) - digamma(r) + np.log(r / (r + mean)) + (mean - y) / (r + mean)
        last = -in_r * r * r * (alpha if self._transparams else 1.0)
        first = (y - mean) / (1.0 + alpha * mean)
        return self.row_weights[:, None] * np.column_stack([self.exog * first[:, None], last])

    def _sums(self, params):
        """The sums of `score_obs`."""
        return self.score_obs(params).sum(axis=0)

    def _curvature(self, params):
        """The second derivatives of `loglike` in the coefficients and alpha."""
        alpha, r, mean = self._parts(params)
        y, w, k = self.endog, self.row_weights, self.exog.shape[1]
        in_r = digamma(y + r) - digamma(r) + np.log(r / (r + mean)) + (mean - y) / (r + mean)
        twice = polygamma(1, y + r) - polygamma(1, r) + alpha - 1.0 / (r + mean)
        twice = twice - (mean - y) / (r + mean) ** 2
        eta = -mean * (1.0 + alpha * y) / (1.0 + alpha * mean) ** 2
        both = -mean * (y - mean) / (1.0 + alpha * mean) ** 2
        out = np.empty((k + 1, k + 1))
        out[:k, :k] = (self.exog * (w * eta)[:, None]).T @ self.exog
        out[:k, k] = out[k, :k] = self.exog.T @ (w * both)
        out[k, k] = w @ (twice * r**4 + 2.0 * in_r * r**3)
        return out
