"""Prediction intervals and prediction sets from the folds of a cross-validation.

CV+ (Barber, Candes, Ramdas & Tibshirani, Annals of Statistics 49, 2021, section 3): with mu_f the
fit without fold f, f(i) the fold of row i and R_i = |y_i - mu_f(i)(x_i)|, the interval at x ends at
the quantiles of

    mu_f(i)(x) - R_i    and    mu_f(i)(x) + R_i,    i = 1..n,

of ranks floor(alpha (n + 1)) and ceil((1 - alpha) (n + 1)), with alpha = 1 - level. With "minmax"
it goes from min_f mu_f(x) - Q to max_f mu_f(x) + Q, Q being the quantile of the R_i.

For classes a label c is in the set of x where fewer than (1 - alpha) (n + 1) rows have a score s_i
below that of c at x by the fit without their fold; scores are 1 less the probability of the class
(Romano, Sesia & Candes, NeurIPS 2020, with that score), or minus the margin for a hinge.
"""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import level as checked_level
from ..core.describing import described_by
from ..core.types import Matrix, Rule, Selector
from ..cross_validation import CVPath
from ..paths import Path
from ..paths.predicting import class_predictors, linear_predictor

KINDS_OF_INTERVAL = ("cv+", "minmax")
SORTED_AT_ONCE = 1 << 22  # entries of (new rows, rows of the fit) that are sorted at a time
ENDS_OF_RESPONSES = {"counts": (0.0, np.inf), "positive": (0.0, np.inf), "amounts": (0.0, np.inf)}
ENDS_OF_RESPONSES |= {"shares": (0.0, 1.0)}


class ScoredRows(NamedTuple):
    """Rows of the fit with their scores by a fold that left them out.

    fold (h,): its number; score (h,): the residual, or the score of the class; weight (h,): 1 for
    each row without sample weights, shared where several folds left a row out.
    """

    fold: np.ndarray
    score: np.ndarray
    weight: np.ndarray


@described_by(CVPath.predict_interval)
def predict_interval(
    self: CVPath,
    X: Matrix,
    rule: Rule | None = None,
    *,
    level: float = 0.9,
    method: str = "cv+",
    offset: ArrayLike | None = None,
    data: tuple | None = None,
    **selector: Unpack[Selector],
) -> pd.DataFrame:
    alpha = 1.0 - checked_level(level)
    if method not in KINDS_OF_INTERVAL:
        raise ValueError(f"method={method!r} is not known; choose 'cv+' or 'minmax'")
    _refuse_unserved(self)
    i = self.select(rule, **selector)
    fits = Path(self._meta, [matched[i] for matched in self._fits])
    if data is None and self._source.data is None:
        raise ValueError(
            "the data are not kept with a loaded cross-validation: pass data=(X, y), those of the "
            "fit"
        )
    rows = self._data(*(data or (None, None)))
    if self.classes is not None:
        if method != "cv+":
            raise ValueError(f"method={method!r} is for intervals; sets of classes take 'cv+'")
        return _sets(self, fits, rows, X, offset, alpha)
    new = fits.predict(X, offset=offset)
    index = new.index if isinstance(new, pd.DataFrame) else pd.RangeIndex(len(new))
    new = np.asarray(new)
    held = _held_out(self, fits, rows, lambda y, eta: np.abs(y - self._transform(eta, None)))
    if method == "minmax":
        spread = _quantiles(held.score[None, :], held.weight, alpha)[0]
        low, high = new.min(axis=1) - spread, new.max(axis=1) + spread
    else:
        low, high = _by_row(new, held, alpha)
    low, high = _possible(self, low, high)
    return pd.DataFrame({"low": low, "high": high}, index=index)


def _possible(path, low, high):
    """The parts of intervals in which responses can be; no end is -0.0."""
    least, most = ENDS_OF_RESPONSES.get(path._meta.traits.response, (-np.inf, np.inf))
    return np.clip(low, least, most) + 0.0, np.clip(high, least, most) + 0.0


def intervals_of_fit(cv: CVPath, i: int, level: float, count: int) -> np.ndarray:
    """Intervals of the rows of the fit, for a picture.

    Parameters
    ----------
    cv : CVPath
        With the folds, and the data in memory.
    i : int
        The row of `path.table`.
    level : float
        As of `predict_interval`.
    count : int
        The most rows. They are evenly spaced in the order of their predictions.

    Returns
    -------
    ndarray of shape (m, 4)
        Prediction by all rows, response, and the ends of the interval, ascending by prediction.

    Raises
    ------
    ValueError
        Where `predict_interval` has no intervals.
    """
    _refuse_unserved(cv)
    path, rows = cv, cv._data()
    fits = Path(path._meta, [matched[i] for matched in cv._fits])

    def predicted(solution):
        return path._transform(linear_predictor(rows.design, rows.offset, solution), None)

    middle, seen = predicted(path._solutions[i]), np.flatnonzero(rows.weights > 0)
    order = seen[np.argsort(middle[seen], kind="stable")]
    at = order[np.unique(np.linspace(0, order.size - 1, count).round().astype(int))]
    held = _held_out(cv, fits, rows, lambda y, eta: np.abs(y - path._transform(eta, None)))
    new = np.column_stack([predicted(solution)[at] for solution in fits._solutions])
    low, high = _by_row(new, held, 1.0 - level)
    return np.column_stack([middle[at], rows.y[at], *_possible(path, low, high)])


def _refuse_unserved(cv):
    meta = cv._meta
    if cv.splits is None:
        raise ValueError(
            "predict_interval needs the folds of cv_fit; the rows of validate belong to no fold"
        )
    if meta.traits.response == "survival":
        raise ValueError(
            "predict_interval has no intervals for censored times; model.survival(X) gives "
            "survival curves"
        )
    if meta.traits.response == "real" and not meta.traits.intercept:
        raise ValueError(
            f"predict_interval has no intervals for loss={meta.loss!r}, which does not see a "
            "constant, so that its predictor is no prediction of y"
        )
    if meta.trials is not None:
        raise ValueError(
            "predict_interval takes rows of equal standing, and y has counts of trials; give each "
            "trial a row of its own, with loss='logistic', for sets of outcomes"
        )
    if meta.several:
        raise ValueError(
            "predict_interval serves one number or class per row, and y has several responses; "
            "fit them one by one"
        )


def _held_out(cv, fits, rows, scores):
    """The `ScoredRows` rows; scores(y, eta) (m,) are those of m rows with predictor eta."""
    n = len(rows.y)
    # how many rows each row stands for, 1 each without weights, times an importance of mean 1
    whole = rows.weights * (cv._meta.n_eff / rows.weights.sum())
    times = np.zeros(n)
    for _, test in cv.splits:
        np.add.at(times, test, 1.0)
    fold, score, weight = [], [], []
    for f, (_, test) in enumerate(cv.splits):
        test = np.asarray(test)[whole[test] > 0]
        one = fits._solutions[f]
        eta = class_predictors(one, linear_predictor(rows.design, rows.offset, one)[test])
        fold.append(np.full(test.size, f))
        score.append(scores(rows.y[test], eta))
        weight.append(whole[test] / times[test])
    return ScoredRows(np.concatenate(fold), np.concatenate(score), np.concatenate(weight))


def _by_row(new, held, alpha):
    """(low, high) (m,) of new rows with predictions new (m, folds)."""
    low, high = np.empty(len(new)), np.empty(len(new))
    step = max(SORTED_AT_ONCE // max(held.score.size, 1), 1)
    for start in range(0, len(new), step):
        part = slice(start, min(start + step, len(new)))
        centers = new[part][:, held.fold]
        high[part] = _quantiles(centers + held.score, held.weight, alpha)
        with np.errstate(invalid="ignore"):  # an infinite error of an infinite mean
            below = held.score - centers
        low[part] = -_quantiles(np.where(np.isnan(below), np.inf, below), held.weight, alpha)
    return low, high


def _quantiles(values, weight, alpha):
    """The least value of each row of `values` (m, h) with a weight of (1 - alpha) (W + 1) at or
    below it, W being the sum of the weights (h,); infinite where there is none.
    """
    target = (1.0 - alpha) * (weight.sum() + 1.0)
    order = np.argsort(values, axis=1)
    below = np.cumsum(weight[order], axis=1)
    enough = below >= target * (1.0 - 1e-12)
    first = enough.argmax(axis=1)
    found = np.take_along_axis(values, np.take_along_axis(order, first[:, None], 1), 1)[:, 0]
    return np.where(enough.any(axis=1), found, np.inf)


def _sets(cv, fits, rows, X, offset, alpha):
    """A DataFrame of bool with a column for each class: whether it is in the set of a new row."""
    classes, kind = list(cv.classes), "response" if cv._meta.traits.link else "link"

    def scores(values):  # (m, classes), small for a class that fits
        if kind == "link":  # a hinge
            return np.stack([values, -values], axis=1)
        return 1.0 - values if values.ndim == 2 else np.stack([values, 1.0 - values], axis=1)

    def own(y, eta):
        at = y.argmax(axis=1) if y.ndim == 2 else y if len(classes) > 2 else y > 0
        of_all = scores(cv._transform(eta, kind))
        return np.take_along_axis(of_all, at.astype(int)[:, None], axis=1)[:, 0]

    held, index, below = _held_out(cv, fits, rows, own), None, 0.0
    for f, s in enumerate(fits._solutions):
        values = Path(cv._meta, [s]).predict(X, type=kind, index=0, offset=offset)
        index = values.index if isinstance(values, (pd.Series, pd.DataFrame)) else index
        here = held.fold == f
        order = np.argsort(held.score[here])
        known = held.score[here][order]
        reached = np.append(0.0, np.cumsum(held.weight[here][order]))
        below = below + reached[np.searchsorted(known, scores(np.asarray(values)), side="left")]
    target = (1.0 - alpha) * (held.weight.sum() + 1.0)
    return pd.DataFrame(below < target * (1.0 - 1e-12), columns=classes, index=index)
