"""Refits of several classes, with or without an order, in statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.warnings import again, recorded
from .separated_refits import limit_of_refit, separated

COVARIANCE = ("cov_type", "cov_kwds", "use_t")  # what the first of two fits does not need
NO_STEP = 1e-4  # of a standard error


class NoOptimumError(ValueError):
    """A likelihood of several classes without a finite optimum, or none that was reached."""


def fit_ordered(path, s, table, how):
    """The results of the proportional odds model of statsmodels in terms of thresholds. It is
    fitted in terms of the first one and logarithms of differences, which may be any numbers.
    table: a `refits.RefitTable`.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel
    from statsmodels.tools.sm_exceptions import ConvergenceWarning

    from .threshold_models import ThresholdModel

    labels, at = [str(label) for label in path.classes], table.endog
    codes = pd.Categorical.from_codes(at.astype(np.int64), labels, ordered=True)
    y = pd.Series(codes, index=at.index, name=at.name)
    options = {"offset": table.offset, "distr": "logit"}
    kinds = OrderedModel, ThresholdModel
    if table.weights is not None:
        from .weighted_regressions import WeightedOrderedModel, WeightedThresholdModel

        kinds = WeightedOrderedModel, WeightedThresholdModel
        options["row_weights"] = table.weights
    model = kinds[0](y, table.exog, **options)
    start = np.concatenate([s.beta, s.thresholds[:1], np.log(np.diff(s.thresholds))])
    how = {"start_params": start, "disp": 0, "maxiter": 1000, "method": "bfgs", "gtol": 1e-8} | how
    with recorded() as caught:
        found = model.fit(**{name: value for name, value in how.items() if name not in COVARIANCE})
    said = found.mle_retvals
    if said and not said.get("converged", True) and _is_optimum(model, found.params.to_numpy()):
        # slopes that are differences cannot get as close to 0 as they are asked to
        said["converged"] = True
        caught = [w for w in caught if w.category is not ConvergenceWarning]
    again(caught)
    k = table.exog.shape[1]
    start = np.concatenate(
        [found.params.to_numpy()[:k], model.transform_threshold_params(found.params)[1:-1]]
    )
    with recorded() as caught:  # the first fit has said whether it converged
        results = kinds[1](y, table.exog, **options).fit(**{**how, "start_params": start})
    again(w for w in caught if w.category is not ConvergenceWarning)
    results._results.mle_retvals = found.mle_retvals
    return results


def _is_optimum(model, params):
    """Whether a Newton step from the parameters would move each by next to none of its standard
    error.
    """
    slopes, H = model.score(params), model.hessian(params)
    try:
        return bool(0.0 <= slopes @ np.linalg.solve(-H, slopes) <= NO_STEP**2)
    except np.linalg.LinAlgError:
        return False


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
    first = [np.atleast_2d(s.intercept)] if path._meta.intercept else []
    start = np.vstack([*first, s.beta])
    how = {"start_params": (start[:, 1:] - start[:, :1]).ravel(order="F"), "disp": 0} | how
    with recorded() as caught:
        try:
            results = model.fit(**{"maxiter": 100, **how})
        except np.linalg.LinAlgError:
            results = None
    overflows = any(issubclass(w.category, RuntimeWarning) for w in caught)
    if results is None or overflows or not results.mle_retvals["converged"]:
        A = table.exog.to_numpy()[:, int(path._meta.intercept) :]
        limit = limit_of_refit(
            path._loss_record(),
            np.eye(len(path.classes))[codes],
            A,
            [path._meta.names[j] for j in s.support],
            intercept=path._meta.intercept,
        )
        raise NoOptimumError(
            "the refit, which has no penalty, did not converge: "
            + (
                separated(path._loss_record(), limit.infinite)
                if limit is not None
                else "these features nearly separate the classes; choose a smaller k, or pass "
                "method='bfgs'"
            )
        )
    again(caught)
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
