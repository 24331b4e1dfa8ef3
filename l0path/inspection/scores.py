"""`Path.score`, `Model.score`, `Path.score_over_time`: metrics of one solution on given rows."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import finite
from ..core.describing import described_by
from ..core.types import Matrix, Rule, Selector
from ..cross_validation import scoring
from ..cross_validation.validation import held_out, new_rows
from ..paths import Path
from ..problem.coupled.scores import Undefined, over_time


@described_by(Path.score)
def score(
    self: Path,
    X: Matrix,
    y: ArrayLike | None = None,
    rule: Rule | None = None,
    *,
    sample_weight: ArrayLike | str | None = None,
    freq_weight: ArrayLike | str | None = None,
    trials: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    strata: ArrayLike | str | None = None,
    **selector: Unpack[Selector],
) -> pd.Series:
    self, i = self._at(rule, **selector)
    given = {"sample_weight": sample_weight, "freq_weight": freq_weight, "trials": trials}
    held = held_out(self, new_rows(self, X, y, **given, offset=offset, strata=strata), i)
    out = {}
    for name in scoring.metrics_for(self.loss):
        out[name] = _value(name, held)
        if name == "mse":
            out["rmse"] = np.sqrt(out["mse"])
        if name == "misclassification":
            out["accuracy"] = 1.0 - out["misclassification"]
    return pd.Series(out, dtype=float, name="score")


def _value(name, held):
    """One metric; NaN where these rows do not define it (auc without a class, r2 of one row)."""
    try:
        return scoring.score(scoring.metric_of(name, held.path.loss), held)
    except (Undefined, scoring.UndefinedScore):
        return np.nan


@described_by(Path.score_over_time)
def score_over_time(
    self: Path,
    X: Matrix,
    y: ArrayLike | None = None,
    rule: Rule | None = None,
    *,
    times: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    strata: ArrayLike | str | None = None,
    **selector: Unpack[Selector],
) -> pd.DataFrame:
    self, i = self._at(rule, **selector)
    if self.meta.traits.response != "survival":
        raise ValueError(
            f"score_over_time is for loss='cox'; this path has loss={self.loss!r}: use score"
        )
    if times is not None:
        times = finite(np.atleast_1d(np.asarray(times, dtype=np.float64)), "times")
    rows = new_rows(self, X, y, sample_weight=sample_weight, offset=offset, strata=strata)
    held = held_out(self, rows, i)
    at, auc, brier = over_time(held.times, times)
    return pd.DataFrame({"auc": auc, "brier": brier}, index=pd.Index(at, name="time"))
