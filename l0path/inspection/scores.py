"""`Model.score`: metrics of one model on given rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import finite
from ..core.types import Matrix
from ..cross_validation import scoring
from ..cross_validation.validation import held_out, new_rows, rows_of_fit
from ..paths import Model
from ..problem.coupled.scores import Undefined, over_time

OF_FIT = "rows of the fit"  # the label of scores that are about them


def score(
    model: Model,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | str | None = None,
    freq_weight: ArrayLike | str | None = None,
    trials: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    strata: ArrayLike | str | None = None,
    times: ArrayLike | str | None = None,
) -> pd.Series | pd.DataFrame:
    """Every metric, or with times those over time, for `Model.score`."""
    path = model.path
    if times is not None and path._meta.traits.response != "survival":
        raise ValueError(
            f"times={times!r} is for loss='cox', and this path has loss={path._meta.loss!r}: leave "
            "it out"
        )
    given = {"sample_weight": sample_weight, "freq_weight": freq_weight, "trials": trials}
    given |= {"offset": offset, "strata": strata}
    named = next((name for name, one in {"y": y, **given}.items() if one is not None), "")
    if X is None and named:
        raise ValueError(
            f"{named}= is given and X is not: pass X= and y= together, or none of them for the "
            "rows of the fit"
        )
    rows = rows_of_fit(path) if X is None else new_rows(path, X, y, **given)
    held = held_out(path, rows, model._index)
    if times is not None:
        if isinstance(times, str):
            if times != "events":
                raise ValueError(f"times={times!r} is not known; pass numbers or 'events'")
            times = None
        else:
            times = finite(np.atleast_1d(np.asarray(times, dtype=np.float64)), "times")
        at, auc, brier = over_time(held.times, times)
        out = pd.DataFrame({"auc": auc, "brier": brier}, index=pd.Index(at, name="time"))
        return out.rename_axis(columns=OF_FIT if X is None else None)
    out = {}
    for name in scoring.metrics_for(path._meta.loss):
        out[name] = _value(name, held)
        if name == "mse":
            out["rmse"] = np.sqrt(out["mse"])
        if name == "misclassification":
            out["accuracy"] = 1.0 - out["misclassification"]
    return pd.Series(out, dtype=float, name=f"score, {OF_FIT}" if X is None else "score")


def _value(name, held):
    """One metric; NaN where these rows do not define it (auc without a class, r2 of one row)."""
    try:
        return scoring.score(scoring.metric_of(name, held.path._meta.loss), held)
    except (Undefined, scoring.UndefinedScore):
        return np.nan
