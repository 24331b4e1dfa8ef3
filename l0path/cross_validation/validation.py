"""Scores of a path on rows that it has not seen: `Path.validate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import same_index
from ..core.describing import described_by
from ..core.types import Matrix
from ..engine.arguments import coded, row_weights
from ..paths import Path
from ..paths.new_rows import baseline_of_model
from ..paths.predicting import column_named, given_offset, linear_predictor, missing_offset
from ..problem.coupled.arguments import loss_of_new_rows
from ..problem.coupled.scores import ScoredTimes
from ..problem.families.trials import shares_of
from ..problem.problem import copies_of
from .result import CVPath
from .scoring import HeldOutRows, in_classes, metric_of, score

BY_ROW = ("sample_weight", "freq_weight", "trials", "offset", "strata")


class UnseenRows(NamedTuple):
    """Rows that a fit has not seen."""

    design: Any
    y: np.ndarray  # (n,), as the loss takes it
    weights: np.ndarray  # (n,), as those of `Data`
    counts: np.ndarray | None  # (n,), as those of `Data`
    trials: np.ndarray | None  # (n,), as those of `Data`
    importance: bool  # as that of `Data`
    offset: np.ndarray | None  # (n,)
    loss: Any  # of survival times; None for others


def new_rows(path, X, y, **by_row):
    """The `UnseenRows` of arguments of `Model.score` and the like; by_row: sample_weight,
    freq_weight, trials, offset and strata, None for those that are not given.
    """
    by_row = {**dict.fromkeys(BY_ROW), **by_row}
    for name in ("strata", "sample_weight", "freq_weight", "trials"):
        if isinstance(by_row[name], str):
            by_row[name] = column_named(X, by_row[name], name)
    same_index(X=X, y=y, **by_row)
    strata = by_row["strata"]
    X, y, by_row = path._given(X, y, **by_row)
    offset = by_row["offset"]
    if X is None or y is None:
        raise ValueError("y is missing: pass the responses of these rows together with X=")
    design, _ = path._new_design(X)
    y, trials = shares_of(y, by_row["trials"], design.n, path._meta.loss)
    weights, counts, importance = row_weights(
        by_row["sample_weight"], by_row["freq_weight"], trials, design.n
    )
    if path._meta.has_offset and offset is None:
        raise missing_offset(path, X, "score")
    shift = None if offset is None else given_offset(path._meta, offset, design.n)
    if path._meta.traits.response == "survival":
        events, loss = loss_of_new_rows(y, weights, counts, by_row["strata"], path._meta)
        return UnseenRows(design, events, weights, counts, None, importance, shift, loss)
    if strata is not None:
        raise ValueError(f"strata is for loss='cox', and this path has loss={path._meta.loss!r}")
    target = coded(y, design.n, path._meta)
    return UnseenRows(design, target, weights, counts, trials, importance, shift, None)


def rows_of_fit(path):
    """The rows of the fit in the form of `UnseenRows`."""
    data = path._data()
    survival = path._meta.traits.response == "survival"
    return UnseenRows(
        data.design,
        data.y,
        data.weights,
        None,
        None,
        path._meta.importance,
        data.offset,
        data.loss if survival else None,
    )


def held_out(path, rows, i):
    """The `HeldOutRows` of `UnseenRows` with solution i."""
    eta, times = linear_predictor(rows.design, rows.offset, path._solutions[i]), None
    if rows.loss is not None:
        none, baseline = np.zeros(eta.size), baseline_of_model(path, i)
        loss = rows.loss
        if loss.traits.partial:
            loss = loss._replace(level=float(np.log(path._meta.rows_at_risk)))
        times = ScoredTimes(loss, rows.y, eta, none, rows.weights, baseline)
    if path._meta.ordered:
        y, eta = in_classes(path._loss_record(), path._solutions[i], rows.y, eta)
        return HeldOutRows(y, eta, rows.weights, path, times)
    return HeldOutRows(rows.y, eta, rows.weights, path, times)


@described_by(Path.validate)
def validate(
    self: Path,
    X: Matrix,
    y: ArrayLike | None = None,
    scoring: str | Callable | None = None,
    sample_weight: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    strata: ArrayLike | str | None = None,
    *,
    freq_weight: ArrayLike | str | None = None,
    trials: ArrayLike | str | None = None,
) -> CVPath:
    metric = metric_of(scoring, self._meta.loss)
    given = {"sample_weight": sample_weight, "freq_weight": freq_weight, "trials": trials}
    rows = new_rows(self, X, y, **given, offset=offset, strata=strata)
    weights, m = rows.weights, copies_of(rows.weights, rows.counts).sum()
    means, spread = np.empty(len(self)), np.full(len(self), np.nan)
    for i in range(len(self)):
        held = held_out(self, rows, i)
        means[i] = score(metric, held)
        if metric.rows is not None and m > 1:
            with np.errstate(over="ignore", invalid="ignore"):
                square = np.average((metric.rows(held) - means[i]) ** 2, weights=weights)
            spread[i] = np.sqrt(square * m / (m - 1.0))
    folds = pd.DataFrame({"validation": means}, index=pd.RangeIndex(len(self)))
    return CVPath(
        self,
        folds,
        pd.DataFrame(False, index=folds.index, columns=folds.columns),
        scoring=metric.name,
        greater_is_better=metric.greater_is_better,
        status=f"validated on {rows.design.n} rows",
        over_rows=(spread, spread / np.sqrt(m)),
    )
