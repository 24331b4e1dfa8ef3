"""`Path.score`, `Model.score`: every metric of one solution on given rows."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.describing import described_by
from ..core.types import Matrix, Rule, Selector
from ..cross_validation import scoring
from ..paths import Path
from ..paths.predicting import missing_offset
from ..paths.records import sums_over_rows
from .refits import new_rows


@described_by(Path.score)
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
    sums_over_rows(self, "score")
    s = self.solutions[self.index(rule, **selector)]
    rows = new_rows(self, X, y, sample_weight, offset)
    if self.meta.has_offset and rows.offset is None:
        raise missing_offset(self, X, "score")
    weights = np.ones(rows.design.n) if rows.weights is None else rows.weights
    if not weights.sum() > 0:
        raise ValueError("sample_weight sums to zero; give at least one row a positive weight")
    held = scoring.HeldOutRows(
        rows.y,
        self._link(rows.design, s) + (0.0 if rows.offset is None else rows.offset),
        weights,
        self,
    )
    out = {}
    for name in scoring.metrics_for(self.loss):
        out[name] = _value(name, held)
        if name == "mse":
            out["rmse"] = np.sqrt(out["mse"])
        if name == "misclassification":
            out["accuracy"] = 1.0 - out["misclassification"]
    return pd.Series(out, dtype=float, name="score")


def _value(name, held):
    """One metric; NaN where these rows do not define it (auc of one class, r2 of one row)."""
    seen = held.y[held.weights > 0]
    if (name == "auc" and np.unique(seen).size < 2) or (name == "r2" and len(seen) < 2):
        return np.nan
    return scoring.score(scoring.metric_of(name, held.path.loss), held)
