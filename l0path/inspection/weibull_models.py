"""Weibull regression of censored times, which statsmodels does not have."""

from __future__ import annotations

import numpy as np
from statsmodels.base.model import GenericLikelihoodModel


class WeibullRegression(GenericLikelihoodModel):
    """The likelihood of times (n,) whose hazard is exp(x'b) kappa t^(kappa - 1), in b and log
    kappa.

    Parameters
    ----------
    endog, exog
        Times, and columns with a constant.
    event, shift, row_weights : ndarray of shape (n,)
        Whether an event ends a row, 0 or 1; what is added to x'b; weights of rows.
    """

    def __init__(self, endog, exog, event, shift, row_weights):
        super().__init__(endog, exog, extra_params_names=["log(shape)"])
        self.event, self.shift, self.row_weights = event, shift, row_weights
        self.df_model = self.exog.shape[1] - 1
        self.df_resid = len(event) - self.exog.shape[1] - 1
        self.k_constant = 1

    def _parts(self, params):
        """(log t, kappa, the logarithm of the cumulative hazard) of the rows."""
        *b, log_shape = np.asarray(params)
        z, shape = np.log(self.endog), np.exp(log_shape)
        return z, shape, self.exog @ b + self.shift + shape * z

    def loglikeobs(self, params):
        """The weighted log-likelihood of each row."""
        z, shape, a = self._parts(params)
        return self.row_weights * (self.event * (a + np.log(shape) - z) - np.exp(a))

    def score_obs(self, params):
        """Its derivatives by row."""
        z, shape, a = self._parts(params)
        slope = self.event - np.exp(a)
        last = slope * shape * z + self.event
        return self.row_weights[:, None] * np.column_stack([self.exog * slope[:, None], last])

    def score(self, params):
        """The sums of `score_obs`."""
        return self.score_obs(params).sum(axis=0)

    def hessian(self, params):
        """The second derivatives of the log-likelihood."""
        z, shape, a = self._parts(params)
        A = np.column_stack([self.exog, shape * z])
        out = -(A.T * (self.row_weights * np.exp(a))) @ A
        out[-1, -1] += (self.row_weights * (self.event - np.exp(a))) @ (shape * z)
        return out

    def predict(self, params, exog=None, offset=0.0):
        """The linear predictor, the logarithm of the hazard at time 1 over kappa."""
        exog = self.exog if exog is None else exog
        return exog @ np.asarray(params)[: self.exog.shape[1]] + offset
