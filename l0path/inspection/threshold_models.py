"""Proportional odds in terms of thresholds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from statsmodels.miscmodels.ordinal_model import OrderedModel


class ThresholdModel(OrderedModel):
    """The `OrderedModel` of statsmodels whose parameters are the thresholds themselves, "low|high",
    not the first one and logarithms of differences.
    """

    def _initialize_labels(self, labels, k_levels=None):
        """Labels of the classes, and names of the thresholds."""
        super()._initialize_labels(labels, k_levels)
        names = [f"{low}|{high}" for low, high in pairwise(labels)]
        self.exog_names[-len(names) :] = names

    def transform_threshold_params(self, params):
        """The thresholds with infinity at both ends."""
        return np.concatenate(([-np.inf], params[-(self.k_levels - 1) :], [np.inf]))

    def transform_reverse_threshold_params(self, params):
        """The parameters of thresholds: the finite ones."""
        return params[:-1]
