"""Cox's regression of statsmodels, with names."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from statsmodels.duration.hazard_regression import PHReg


class CoxRegression(PHReg):
    """`PHReg`, which says why packages that read its formula cannot go on."""

    @property
    def formula(self):
        """There is none: AttributeError, as from statsmodels, but with a reason."""
        raise AttributeError(
            "a Cox regression has no mean for marginal effects to be about; its coefficients are "
            "log hazard ratios (results.params), and Model.survival has probabilities"
        )


def named(results):
    """Results whose coefficients, errors, statistics and p-values have the names of columns."""
    names = results.model.exog_names
    results.params = pd.Series(results.params, index=names)
    for key in ("bse", "tvalues", "pvalues"):
        value = pd.Series(getattr(results, key), index=names)
        results._cache[key] = value  # where statsmodels keeps what it has computed
    for name in ("t_test", "wald_test", "f_test", "wald_test_terms"):
        setattr(results, name, partial(_unnamed, getattr(type(results), name), results))
    return results


def _unnamed(method, results, *args, **kwargs):
    """A test of statsmodels, which takes the coefficients for an array."""
    params = results.params
    results.params = np.asarray(params)  # an array already within another test
    try:
        return method(results, *args, **kwargs)
    finally:
        results.params = params
