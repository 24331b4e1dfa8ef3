"""Scores of a path on rows it has not seen: `Path.validate`, bound in `l0path/__init__`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import finite, same_index, vector
from ..core.types import Matrix
from ..engine.inputs import coded, sample_weights
from ..paths import Path
from ..problem.problem import effective_rows
from .result import CVPath, linear_predictor
from .scoring import Held, metric_of, score


def validate(
    self: Path,
    X: Matrix,
    y: ArrayLike | None = None,
    scoring: str | Callable | None = None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
) -> CVPath:
    """Score every solution on validation rows.

    Parameters
    ----------
    X : array-like of shape (m, p), DataFrame, sparse matrix or design
        The validation rows.
    y : array-like of shape (m,), optional
        Their responses. Labels must be classes of the fit; one of them alone will do where the
        metric allows. After a fit by a formula None takes the left side of the DataFrame X, and
        leaves incomplete rows out.
    scoring : str, scorer or callable, optional
        The metric, as in `cv_fit`. None means "deviance".
    sample_weight : array-like of shape (m,), optional
        Weights >= 0 of the rows. None means 1 for each.
    offset : array-like of shape (m,) or str, optional
        The offset of the rows. It is needed if the fit had one.

    Returns
    -------
    CVPath
        The scores, with one column "validation" and n_folds = 1.

    Notes
    -----
    For metrics that are means over rows (deviance, mse, mae, brier, misclassification) cv_sd is the
    weighted standard deviation over the rows and cv_se = cv_sd / sqrt(m), with m the sum of
    whole-number weights, else the number of rows of positive weight. For other metrics both are
    NaN, and "1se" raises an error.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters(); train, test = data.X.index[::2], data.X.index[1::2]
    >>> path = l0path.fit(data.X.loc[train], data.y[train], max_k=8)
    >>> path.validate(data.X.loc[test], data.y[test]).model("1se").features
    ['Hits', 'CRBI']
    """
    same_index(X=X, y=y, sample_weight=sample_weight, offset=offset)
    X, y, by_row = self._given(X, y, sample_weight=sample_weight, offset=offset)
    sample_weight, offset = by_row["sample_weight"], by_row["offset"]
    if y is None:
        raise ValueError("y is missing: pass the responses of the validation rows")
    metric = metric_of(scoring, self.loss)
    design, _ = self._new_design(X)
    target = coded(y, design.n, self.loss, self.classes)
    weights = sample_weights(sample_weight, design.n)
    if self.meta.has_offset and offset is None:
        raise ValueError(
            "the fit had an offset: pass offset=, one value per row of X (zeros to score without)"
        )
    shift = None if offset is None else finite(vector(offset, design.n, "offset"), "offset")
    m = effective_rows(weights)
    means, spread = np.empty(len(self)), np.full(len(self), np.nan)
    for i, s in enumerate(self.solutions):
        held = Held(target, linear_predictor(design, shift, s), weights, self)
        means[i] = score(metric, held)
        if metric.rows is not None and m > 1:
            with np.errstate(over="ignore", invalid="ignore"):
                square = np.average((metric.rows(held) - means[i]) ** 2, weights=weights)
            spread[i] = np.sqrt(square * m / (m - 1.0))
    folds = pd.DataFrame({"validation": means}, index=self.table.index)
    return CVPath(
        self,
        folds,
        pd.DataFrame(False, index=folds.index, columns=folds.columns),
        scoring=metric.name,
        greater_is_better=metric.greater_is_better,
        status=f"validated on {design.n} rows",
        over_rows=(spread, spread / np.sqrt(m)),
    )
