"""Scores of a path on rows it has not seen: `Path.validate`, bound in `l0path/__init__`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import same_index
from ..core.describing import described_by
from ..core.types import Matrix
from ..engine.arguments import coded, sample_weights
from ..paths import Path
from ..paths.predicting import given_offset, linear_predictor, missing_offset
from ..paths.records import sums_over_rows
from ..problem.problem import effective_rows
from .result import CVPath
from .scoring import HeldOutRows, metric_of, score


@described_by(Path.validate)
def validate(
    self: Path,
    X: Matrix,
    y: ArrayLike | None = None,
    scoring: str | Callable | None = None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
) -> CVPath:
    sums_over_rows(self, "validate")
    same_index(X=X, y=y, sample_weight=sample_weight, offset=offset)
    X, y, by_row = self._given(X, y, sample_weight=sample_weight, offset=offset)
    sample_weight, offset = by_row["sample_weight"], by_row["offset"]
    if y is None:
        raise ValueError("y is missing: pass the responses of the validation rows")
    metric = metric_of(scoring, self.loss)
    design, _ = self._new_design(X)
    target = coded(y, design.n, self.meta)
    weights = sample_weights(sample_weight, design.n)
    if self.meta.has_offset and offset is None:
        raise missing_offset(self, X, "score")
    shift = None if offset is None else given_offset(self.meta, offset, design.n)
    m = effective_rows(weights)
    means, spread = np.empty(len(self)), np.full(len(self), np.nan)
    for i, s in enumerate(self.solutions):
        held = HeldOutRows(target, linear_predictor(design, shift, s), weights, self)
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
