"""More from one cross-validation: other metrics of the same held-out predictions, and the paired
difference of two models on the same folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.describing import described_by
from ..core.printed import Table
from ..core.types import Matrix, Rule, Selector
from ..paths import Model
from ..paths.comparison import Comparison, chosen, scores_of, side_by_side
from .result import CVPath
from .scoring import Metric, UndefinedScore, held_out_rows, metric_of, metrics_for, scores
from .splits import spread

Which = Rule | None


def fold_scores(path, data, splits, fits, metric: Metric) -> np.ndarray:
    """(solutions, folds) scores: fits[f] are the solutions of fold f matched with those of the
    path; a solution that stands in for several is scored once.
    """
    out = np.empty((len(path), len(splits)))
    for column, (split, matched) in enumerate(zip(splits, fits, strict=True)):
        distinct = {id(s): s for s in matched}
        held = held_out_rows(path, data, list(distinct.values()), split)
        known = dict(zip(distinct, scores(metric, held), strict=True))
        out[:, column] = [known[id(s)] for s in matched]
    return out


@described_by(CVPath.compare)
def compare_cv(
    self: CVPath,
    models: Sequence[Rule | Model | dict],
    *,
    names: Sequence[str] | None = None,
    standardized: bool = False,
    criteria: Sequence[str] = (),
    se: bool | str = False,
    ci: float | None = None,
    exponentiate: bool = False,
    **within: Unpack[Selector],
) -> Comparison:
    scores = scores_of(self, criteria)
    at, labels = chosen(self, models, names, within, self.select)
    held_out = self.scores[["cv_mean", "cv_se"]]
    shown = {"standardized": standardized, "se": se, "ci": ci, "exponentiate": exponentiate}
    parts = {"criterion": scores, "cross-validation": held_out}
    out = side_by_side(self, at, labels, shown, **parts)
    out.attrs["title"] += f", held-out {self._scoring}"
    return out


@described_by(CVPath.rescore)
def rescore(
    self: CVPath,
    scoring: str | Callable | None = None,
    *,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
) -> CVPath:
    if self.splits is None:
        raise ValueError(
            "rescore and metrics are for the folds of cv_fit; these scores are of one validation "
            "set: cv[3].score(X, y) has all metrics of a model there, path.validate(X, y, "
            "scoring=...) one metric of all models"
        )
    metric, data = metric_of(scoring, self._meta.loss), self._data(X, y)
    scores = fold_scores(self, data, self.splits, self._fits, metric)
    return CVPath(
        self._path,
        pd.DataFrame(scores, index=self.folds.index, columns=self.folds.columns),
        self._repeated,
        scoring=metric.name,
        greater_is_better=metric.greater_is_better,
        splits=self.splits,
        repeats=self._repeats,
        fits=self._fits,
        random_state=self._seed,
        status=self.status,
        end=self._end,
        notes=self._notes,
    )


@described_by(CVPath.metrics)
def metrics(
    self: CVPath,
    scoring: Sequence | None = None,
    *,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
) -> pd.DataFrame:
    if isinstance(scoring, str) or callable(scoring):
        scoring = [scoring]
    by_default = scoring is None
    if by_default:
        loss = self._data(X, y).loss
        late = loss.traits.response == "survival" and loss.start.size > 0
        scoring = metrics_for(self._meta.loss, late)
    out = self.table[["k"]].copy()
    for one in scoring:
        try:
            again = rescore(self, one, X=X, y=y)
        except UndefinedScore as error:
            if not by_default:
                raise
            warnings.warn(f"{one} is NaN: {error}", stacklevel=2)
            out[one] = out[f"{one}_se"] = np.nan
            continue
        out[again._scoring] = again.scores["cv_mean"]
        out[f"{again._scoring}_se"] = again.scores["cv_se"]
    return Table(out)


@described_by(CVPath.difference)
def difference(
    self: CVPath,
    other: CVPath,
    rule: Which = "min",
    other_rule: Which = None,
) -> pd.Series:
    _same_folds(self, other)
    i = self.select(rule)
    j = other.select(rule if other_rule is None else other_rule)
    values = self.folds.loc[i].to_numpy() - other.folds.loc[j].to_numpy()
    count = values.size
    _, se = spread(values, self._repeats)
    ratio = np.mean([test.size / train.size for train, test in self.splits])
    with np.errstate(invalid="ignore", over="ignore"):  # as in `spread`
        corrected = np.sqrt((1.0 / count + ratio) * values.var(ddof=1)) if count > 1 else np.nan
    return pd.Series(
        {
            "difference": values.mean(),
            "se": float(se),
            "se_corrected": corrected,
            "n_folds": float(count),
        },
        name=f"{self._scoring}: k = {self._solutions[i].k} less k = {other._solutions[j].k}",
    )


def _same_folds(one, other):
    """Refuse pairs of cross-validations that cannot be compared fold by fold."""
    if not isinstance(other, CVPath):
        raise TypeError(f"other is a {type(other).__name__}; pass a CVPath, as cv_fit returns it")
    if one.splits is None or other.splits is None:
        raise ValueError("difference needs two cross-validations made by cv_fit")
    if one._scoring != other._scoring:
        raise ValueError(
            f"the scores are {one._scoring!r} and {other._scoring!r}; compare "
            "cv.rescore(scoring) of both by one metric"
        )
    same = len(one.splits) == len(other.splits) and all(
        np.array_equal(a, b)
        for pair, twin in zip(one.splits, other.splits, strict=True)
        for a, b in zip(pair, twin, strict=True)
    )
    if not same:
        raise ValueError(
            "the folds differ; pass both cv_fit the same cv= and random_state=, or the same fold "
            "ids"
        )
