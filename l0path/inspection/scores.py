"""`Path.score`, `Model.score`: every metric of one solution on given rows."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.types import Matrix, Rule, Selector
from ..cross_validation import scoring
from ..paths import Path
from .refits import new_rows


def score(
    self: Path,
    X: Matrix,
    y: ArrayLike | None = None,
    rule: Rule | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    **selector: Unpack[Selector],
) -> pd.Series:
    """Every metric of one solution on the rows X, y.

    Parameters
    ----------
    X : array-like of shape (m, p), DataFrame, sparse matrix or design
        The rows, as in `Path.predict` (a DataFrame by column names).
    y : array-like of shape (m,), optional
        Their responses, in the units or labels of the fit. After a fit by a formula None takes the
        left side of X.
    rule : int, str or callable, optional
        A size, a criterion or a function of the path, as in `Path.index`.
    sample_weight : array-like of shape (m,), optional
        Weights >= 0 of the rows. None means 1 for each.
    offset : array-like of shape (m,) or str, optional
        The offset. It is needed if the fit had one that X does not hold.
    **selector : int or float
        k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

    Returns
    -------
    Series
        For the squared, Huber and Poisson losses deviance, mse, rmse, mae and r2. For classes
        deviance, auc, misclassification and accuracy, and brier for the logistic loss. They are the
        metrics of `cv_fit`; auc is NaN where the rows hold one class only.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
    >>> path.score(data.X, data.y, k=6).round(2).to_dict()
    {'deviance': 99600.4, 'mse': 99600.4, 'rmse': 315.6, 'mae': 218.61, 'r2': 0.51}
    """
    s = self.solutions[self.index(rule, **selector)]
    rows = new_rows(self, X, y, sample_weight, offset)
    if self.meta.has_offset and rows.offset is None:
        raise ValueError(
            "the fit had an offset: pass offset=, one value per row of X (zeros to score without)"
        )
    weights = np.ones(rows.design.n) if rows.weights is None else rows.weights
    if not weights.sum() > 0:
        raise ValueError("sample_weight sums to zero; give at least one row a positive weight")
    held = scoring.Held(
        rows.y,
        self._link(rows.design, s) + (0.0 if rows.offset is None else rows.offset),
        weights,
        self,
    )
    out = {}
    for name in (name for name, losses in scoring.USES.items() if self.loss in losses):
        out[name] = _value(name, held)
        if name == "mse":
            out["rmse"] = np.sqrt(out["mse"])
        if name == "misclassification":
            out["accuracy"] = 1.0 - out["misclassification"]
    return pd.Series(out, dtype=float, name="score")


def _value(name, held):
    """One metric; NaN where these rows do not define it (auc of one class, r2 of one row)."""
    seen = held.y[held.weights > 0]
    if (name == "auc" and np.unique(seen).size < 2) or (name == "r2" and seen.size < 2):
        return np.nan
    return scoring.score(scoring.metric_of(name, held.path.loss), held)
