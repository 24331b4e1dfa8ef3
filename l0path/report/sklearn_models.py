"""A model as a fitted linear model of scikit-learn."""

from typing import Any

import numpy as np

from ..designs import Derived
from ..paths.model import Model


def sklearn_model(model: Model) -> Any:
    """A fitted linear model of scikit-learn; see `Model.to_sklearn`."""
    path, solution = model.path, model.path._solutions[model._index]
    meta = path._meta
    if meta.traits.response in ("survival", "ordered"):
        raise ValueError(
            f"to_sklearn is not served for loss={meta.loss!r}: scikit-learn has no estimator of "
            "it; take to_python()"
        )
    from sklearn import linear_model, svm

    if meta.formula is not None or isinstance(meta.names, Derived):
        raise ValueError(
            "the features of this model are made of the columns of the data (by a formula or a "
            "design), which linear models of scikit-learn do not do; take to_python(), or an "
            "estimator of l0path, which does"
        )
    if meta.has_offset:
        raise ValueError(
            "the fit had an offset, which linear models of scikit-learn do not have; take "
            "to_python(), whose function has an argument offset"
        )
    if meta.several and meta.traits.link != "identity":
        raise ValueError(
            f"no linear model of scikit-learn has several responses of loss={meta.loss!r}; take "
            "to_python(), or fit one response at a time"
        )
    coef, intercept = _coefficients(solution, meta)
    if meta.classes is not None:
        kind = linear_model.LogisticRegression
        if meta.traits.link not in ("logit", "softmax"):
            kind = svm.LinearSVC
        fitted, y = kind(), np.asarray(meta.classes)
    elif meta.traits.response == "shares":  # one trial of each row
        fitted, y = linear_model.LogisticRegression(), np.array([0, 1])
    elif meta.traits.link == "log":
        fitted, y = linear_model.PoissonRegressor(), np.array([1.0, 2.0])
    else:
        fitted, y = linear_model.LinearRegression(), np.zeros((2, len(coef)))
    X = np.zeros((len(y), meta.p))
    if meta.by_name:
        import pandas as pd

        X = pd.DataFrame(X, columns=list(meta.names))
    one = meta.classes is None and meta.responses is None and meta.traits.response != "shares"
    fitted.fit(X, y[:, 0] if one and y.ndim == 2 else y)  # zeros: what it has beside coefficients
    fitted.coef_ = coef[0] if one else coef
    fitted.intercept_ = intercept[0] if one else intercept  # converters to ONNX ask for a number
    return fitted


def _coefficients(solution, meta):
    """(coefficients (r, p), intercepts (r,)) as scikit-learn has them: a row for each response, or
    for each class in ascending order, one row for two classes.
    """
    beta = np.asarray(solution.beta, dtype=float)
    intercept = np.atleast_1d(np.asarray(solution.intercept, dtype=float)).copy()
    beta = beta.reshape(solution.support.size, intercept.size)
    coef = np.zeros((intercept.size, meta.p))
    coef[:, solution.support] = beta.T
    if meta.classes is None:
        return coef, intercept
    order = np.argsort(np.asarray(meta.classes))
    if meta.responses is None:  # the predictor of the second class of the path
        return (coef, intercept) if order[0] == 0 else (-coef, -intercept)
    coef, intercept = coef[order], intercept[order]
    if len(order) == 2:
        return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    return coef, intercept
