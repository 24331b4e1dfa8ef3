"""Refits of several classes, with or without an order, in statsmodels."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from ..core.warnings import recorded


class NoOptimumError(ValueError):
    """A likelihood of several classes without a finite optimum, or none that was reached."""


def fit_ordered(path, s, table, how):
    """The results of the proportional odds model of statsmodels, whose thresholds are the first one
    and logarithms of differences. table: a `refits.RefitTable`.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    labels, at = [str(label) for label in path.classes], table.endog
    codes = pd.Categorical.from_codes(at.astype(np.int64), labels, ordered=True)
    y = pd.Series(codes, index=at.index, name=at.name)
    options = {"offset": table.offset, "distr": "logit"}
    if table.weights is None:
        model = OrderedModel(y, table.exog, **options)
    else:
        from .weighted_regressions import WeightedOrderedModel

        model = WeightedOrderedModel(y, table.exog, row_weights=table.weights, **options)
    start = np.concatenate([s.beta, s.thresholds[:1], np.log(np.diff(s.thresholds))])
    how = {"start_params": start, "disp": 0, "maxiter": 1000, "method": "bfgs", "gtol": 1e-8} | how
    return model.fit(**how)


def fit_classes(path, s, table, how):
    """The results of statsmodels' MNLogit: log odds of each class against the first one. table: a
    `refits.RefitTable`.
    """
    import statsmodels.api as sm

    odd = [name for name in ("cov_type", "cov_kwds", "scale") if name in how]
    sandwich = odd == ["cov_type"] and how["cov_type"] == "HC0"
    if sandwich or (odd == ["cov_type"] and how["cov_type"] == "nonrobust"):
        del how["cov_type"]
    elif odd:
        raise ValueError(
            f"{odd[0]}={how[odd[0]]!r}: statsmodels' MNLogit has the standard errors of maximum "
            f"likelihood and of the sandwich ('HC0') only; leave {odd[0]} out"
        )
    if table.offset is not None:
        raise ValueError(
            "statsmodels' MNLogit takes no offset, and the fit had one; fit without offset, or use "
            "R's VGAM"
        )
    codes, at = table.endog.to_numpy().astype(np.int64), table.endog
    absent = np.setdiff1d(np.arange(len(path.classes)), codes)
    if absent.size:
        raise ValueError(
            f"the rows of the refit have none of the class {path.classes[absent[0]]!r}; pass rows "
            "of every class"
        )
    labels = pd.Categorical.from_codes(codes, [str(label) for label in path.classes])
    y = pd.Series(labels, index=at.index, name=at.name)
    if table.weights is None:
        model = sm.MNLogit(y, table.exog)
    else:
        from .weighted_regressions import WeightedMNLogit

        model = WeightedMNLogit(y, table.exog, row_weights=table.weights)
    first = [np.atleast_2d(s.intercept)] if path.meta.intercept else []
    start = np.vstack([*first, s.beta])
    how = {"start_params": (start[:, 1:] - start[:, :1]).ravel(order="F"), "disp": 0} | how
    with recorded() as caught:
        try:
            results = model.fit(**{"maxiter": 100, **how})
        except np.linalg.LinAlgError:
            results = None
    overflows = any(issubclass(w.category, RuntimeWarning) for w in caught)
    if results is None or overflows or not results.mle_retvals["converged"]:
        raise NoOptimumError(
            "the refit, which has no penalty, did not converge: these columns separate the "
            "classes, or nearly so; choose a smaller k, or pass method='bfgs'"
        )
    for w in caught:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if sandwich:
        _take_sandwich(results)
    return results


def _take_sandwich(results):
    """Give results of several classes the covariance of the sandwich, H^-1 S'S H^-1 of the scores
    S of the rows.
    """
    inner, params = results._results, results.params.to_numpy().ravel(order="F")
    S, H = inner.model.score_obs(params), np.linalg.inv(inner.model.hessian(params))
    inner.cov_type, inner.cov_params_default = "HC0", H @ (S.T @ S) @ H
    inner.cov_kwds = {"description": "the sandwich of the scores of the rows"}
