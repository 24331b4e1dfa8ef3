"""`Path`: hazards, probabilities of survival, and scores of new rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.arguments import finite, same_index
from ..problem.coupled.arguments import strata_of_rows
from ..problem.coupled.baseline import baseline_of, cumulative_hazards, event_times
from .predicting import linear_predictor, strata_of_table


def cumulative_hazard(model, X, *, times, offset, strata):
    """The cumulative hazards of new rows, as `Model.survival` gives them."""
    path, i = model.path, model._index
    meta = path._meta
    if meta.traits.response != "survival":
        raise ValueError(
            f"hazards are those of loss='cox' and 'weibull'; this path has loss={meta.loss!r}"
        )
    if times is not None:
        times = finite(np.atleast_1d(np.asarray(times, dtype=np.float64)), "times")
    baseline = baseline_of_model(path, i)
    same_index(X=X, strata=strata)
    strata = strata_of_table(path, X, strata)
    new = path.predict(X, index=i, type="link", offset=offset)
    stratum = strata_of_rows(strata, len(new), meta.strata)
    at, hazards = cumulative_hazards(baseline, np.asarray(new), stratum, times)
    index = new.index if isinstance(new, pd.Series) else None
    return pd.DataFrame(hazards, index=index, columns=pd.Index(at, name="time"))


def baseline_of_model(path, i):
    """The `Baseline` of a solution: that of the rows of the fit, or the one that was stored."""
    s, data = path._solutions[i], path._source.data
    if s.baseline is None and data is None:
        raise ValueError(
            "the file of this path holds no baseline hazard; fit again and save the path anew"
        )
    return s.baseline if data is None else _baseline(data, s)


def with_baselines(path):
    """The solutions of a path with their baseline hazards, for files and pickles, which do not hold
    the data; those of another loss as they are.
    """
    data = path._source.data
    if data is None or data.loss.traits.response != "survival":
        return path._solutions
    return [s._replace(baseline=_baseline(data, s)) for s in path._solutions]


def _baseline(data, s):
    if not data.loss.traits.partial:
        return s.baseline._replace(times=event_times(data.loss, data.y, data.weights))
    eta = linear_predictor(data.design, data.offset, s)
    return baseline_of(data.loss, data.y, eta, data.weights)
