"""The numbers behind the plots, as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import is_whole
from ..paths import Path
from ..paths.criteria import score_table

PATH_PLOTS = ("coef", "loss", "criteria", "lambda0", "gap", "support")
AXES = ("k", "lambda0", "l1")
CRITERIA = ("aic", "aicc", "bic", "ebic", "gic", "mbic", "cp")
ERROR_RATE = 0.05  # 1 - coverage of the intervals


def data(
    path: Path,
    kind: str = "coef",
    *,
    x: str = "k",
    slice: int | None = None,
    k: int | Sequence[int] | None = None,
    standardized: bool = True,
    response: str | None = None,
    class_: Any = None,
) -> pd.DataFrame:
    """The numbers of `path.plot(kind)`.

    Parameters
    ----------
    path : Path
        The path.
    kind : str, default "coef"
        The kind of plot, as in `Path.plot`.
    x : str, default "k"
        "k", "lambda0" or "l1", as in `Path.plot`.
    slice : int, optional
        The slice of a path with several. None takes the one that `Path.plot` takes, except for loss
        and gap.
    k : int, pair of int or range, optional
        The largest size, or (smallest, largest), to be shown. None means all.
    standardized : bool, default True
        Whether coefficients are those of columns with standard deviation 1, or in units of y and X.
    response : str, optional
        Of several responses: the one whose coefficients are given. None gives norms over all.
    class_ : optional
        The same of several classes.

    Returns
    -------
    DataFrame
        One row per solution drawn, labeled by its index, with the columns below.

    Notes
    -----
    The columns depend on the kind:

    - coef: x, then a column per feature that ever enters: its coefficient, 0 where it is not in.
      With x="lambda0" also low and high, the interval of lambda0 that the row holds for. Of several
      responses or classes it is the norm of the coefficients, unless one is named.
    - loss: x, slice, loss, deviance_ratio, of all slices unless one is named.
    - criteria: x, then the criteria of `path.score_table()` less their minima (over solutions with
      finite values).
    - lambda0: k, low, high: the interval of lambda0 for which a size is best; on a lambda0 grid k,
      lambda0.
    - gap: x, slice, objective, lower_bound, gap.
    - support: as coef over k; 0 marks features that are not in. With groups a column per group: the
      norm of its coefficients, 0 where it is not in.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
    >>> l0path.plots.data(path, "lambda0").head(2).round(1)
           k      low     high
    index
    0      0  32584.5  58034.5
    1      1  10519.2  32584.5
    """
    if kind not in PATH_PLOTS:
        raise ValueError(f"kind={kind!r} is not known; choose one of {', '.join(PATH_PLOTS)}")
    if x not in AXES:
        raise ValueError(f"x={x!r} is not known; choose one of {', '.join(AXES)}")
    if kind in ("lambda0", "support"):
        x = "k"
    low, high = sizes(k)
    if slice is None and kind not in ("loss", "gap"):
        slice = default_slice(path)
    rows = path._rows(slice)
    frame = _lambda0(path, rows) if kind == "lambda0" else _axis(path, rows, x)
    shown = np.array([low <= path._solutions[i].k <= high for i in frame.index], dtype=bool)
    if kind == "lambda0":
        return frame.loc[shown]
    table = path.details.loc[frame.index]
    if kind in ("loss", "gap"):
        for name in (
            "slice",
            *(
                ("loss", "deviance_ratio")
                if kind == "loss"
                else ("objective", "lower_bound", "gap")
            ),
        ):
            frame[name] = table[name]
    elif kind == "criteria":
        scores = score_table(path).loc[frame.index]
        separated = np.array([path._solutions[i].separated for i in frame.index], dtype=bool)
        for name in [name for name in CRITERIA if name in scores]:
            value = scores[name].where(np.isfinite(scores[name]) & ~separated)
            frame[name] = value - value.min()
    else:
        every = coefficients(path, standardized, one_of(path, response, class_))
        coef = every.T.loc[frame.index]
        coef = coef.loc[:, (coef.loc[shown] != 0).any()]
        frame = pd.concat(
            [
                frame,
                _norms(path, coef) if kind == "support" and path._meta.groups is not None else coef,
            ],
            axis=1,
        )
    return frame.loc[shown]


def one_of(path, response, class_):
    """The name of the response, or the class, that is meant, as text; None for no one."""
    meta = path._meta
    given = response if class_ is None else class_
    if given is None:
        return None
    name, other = ("class_", "response") if meta.classes is not None else ("response", "class_")
    if (response is not None and class_ is not None) or (class_ is None) == (name == "class_"):
        raise ValueError(f"{other}={given!r} is for other paths; this one takes {name}=")
    known = [] if meta.responses is None else [str(one) for one in meta.response_index]
    if str(given) not in known:
        what = f"choose one of {', '.join(known)}" if known else "it has one response; leave it out"
        raise ValueError(f"{name}={given!r}: not one of this path; {what}")
    return str(given)


def coefficients(path, standardized, of=None):
    """`path.coef()` of the features with the rows of the table as columns; with several responses
    those of one of them (its name as text), or the norm of the coefficients of a feature over them.
    """
    every = path._every_coef(standardized)
    if path._meta.responses is not None and of is not None:
        values = every.to_numpy().reshape(len(every), len(path), -1)
        at = [str(one) for one in path._meta.response_index].index(of)
        every = pd.DataFrame(values[:, :, at], index=every.index)
    elif path._meta.responses is not None:
        values = every.to_numpy().reshape(len(every), len(path), -1)
        every = pd.DataFrame(np.linalg.norm(values, axis=2), index=every.index)
    every = every.iloc[len(path._meta.first_names) :]
    return every.set_axis(pd.RangeIndex(len(path)), axis=1)


def sizes(k):
    """(smallest, largest) size to be shown, of k: None, a largest size or a pair."""
    pair = (
        (0, np.inf)
        if k is None
        else (0, k)
        if isinstance(k, (int, np.integer)) or (isinstance(k, float) and k == np.inf)
        else tuple(k)
        if isinstance(k, (tuple, list, range))
        else ()
    )
    pair = (pair[0], pair[-1]) if isinstance(k, range) and len(k) else pair
    if (
        isinstance(k, bool)
        or len(pair) != 2
        or not all(isinstance(v, (int, np.integer)) or v == np.inf for v in pair)
        or not 0 <= pair[0] <= pair[1]
    ):
        raise ValueError(
            f"k={k!r} must be the largest size to draw, or (smallest, largest), or a range"
        )
    return pair


def families(path, names):
    """{feature: label of its group}, of the first that is chosen in the last model with it; without
    groups {feature: feature}.
    """
    units = path._meta.units
    at, out = {name: j for j, name in enumerate(path._meta.names)}, {}
    for s in path._solutions:
        for g in s.units[::-1]:
            out |= dict.fromkeys(units.of(g).tolist(), units.labels[g])
    return {name: str(out[at[name]]) for name in names}


def _sizes(path, s):
    """|b_j| of a solution, the norm over several responses."""
    b = np.abs((s.beta.T * path._meta.scale[s.support]).T)
    return b if b.ndim == 1 else np.linalg.norm(b, axis=1)


def ranks(path):
    """{label of a group, or feature: its place in the order in which they enter the path}: by the
    smallest size that has it, then by its largest coefficient in a model of that size.
    """
    first = {}
    for s in path._solutions:
        b = _sizes(path, s)
        for j, size in zip(s.support.tolist(), b.tolist(), strict=True):
            if size > 0:
                first[j] = min(first.get(j, (s.k, -size)), (s.k, -size))
    order = sorted(first, key=lambda j: (*first[j], j))
    names = [path._meta.names[j] for j in order]
    family = families(path, names)
    return {label: i for i, label in enumerate(dict.fromkeys(family[name] for name in names))}


def _norms(path, coef):
    """A column per group that ever enters: the norm of its coefficients (models by features) where
    it is chosen.
    """
    groups, out = path._meta.groups, {}
    at = {path._meta.names[j]: j for j in range(path.p)}
    columns = np.array([at[name] for name in coef.columns], dtype=int)
    chosen = [path._solutions[i].groups for i in coef.index]
    for g in np.unique(np.concatenate([*chosen, np.empty(0, dtype=int)])).astype(int).tolist():
        inside = np.array([g in those for those in chosen])
        out[str(groups.labels[g])] = np.where(
            inside,
            np.sqrt((coef.to_numpy()[:, np.isin(columns, groups.of(g))] ** 2).sum(axis=1)),
            0.0,
        )
    return pd.DataFrame(out, index=coef.index)


def default_slice(path):
    """The slice that the first cross-validation of the path chose, if there was one; else the
    slice with the most solutions, among these the one with the least shrinkage (the last).
    """
    if "slice" in path._source.extra:
        return path._source.extra["slice"]
    slices = [s.slice for s in path._solutions]
    return max(sorted(set(slices)), key=lambda s: (slices.count(s), s)) if slices else None


def intervals(path, rows):
    """(n, 2) of [low, high) of lambda0 in which each of these rows is best: the hull's on a support
    grid, from its value down to the next on a lambda0 grid.
    """
    if path._meta.grid == "support":
        return np.array(
            [[path._solutions[i].lambda0_low, path._solutions[i].lambda0_high] for i in rows]
        ).reshape(-1, 2)
    value = np.array([path._solutions[i].lambda0 for i in rows])
    high, low = value.copy(), np.append(value[1:], 0.0)
    start = np.array(
        [
            i == 0 or path._solutions[rows[i - 1]].slice != path._solutions[rows[i]].slice
            for i in range(len(rows))
        ],
        dtype=bool,
    )
    high[start], low[np.append(start[1:], True)] = np.inf, 0.0
    return np.column_stack([low, high])


def _finite(edges):
    """Intervals with their open ends (infinity, 0) put half as far again beyond the outermost
    finite edges, so that they can be drawn on a log axis.
    """
    finite = edges[np.isfinite(edges) & (edges > 0)]
    if not finite.size:
        return np.where(edges > 1, 1.0, np.where(edges > 0, edges, 0.1))
    margin = max((finite.max() / finite.min()) ** 0.06, 1.2)
    return np.where(
        edges == np.inf, finite.max() * margin, np.where(edges <= 0, finite.min() / margin, edges)
    )


def _axis(path, rows, x):
    """A frame with the x of each row; lambda0 leaves out rows that are best for none, and adds low
    and high.
    """
    solutions = [path._solutions[i] for i in rows]
    if x == "lambda0":
        edges = intervals(path, rows)
        hull = np.flatnonzero(~np.isnan(edges).any(axis=1))
        edges = (
            np.concatenate(
                [
                    _finite(edges[[i for i in hull if solutions[i].slice == s]])
                    for s in dict.fromkeys(solutions[i].slice for i in hull)
                ]
            )
            if hull.size
            else np.empty((0, 2))
        )
        return pd.DataFrame(
            {"lambda0": edges[:, 0], "low": edges[:, 0], "high": edges[:, 1]},
            index=pd.Index([rows[i] for i in hull], name="index"),
        )
    index = pd.Index(rows, name="index")
    if x == "l1":
        return pd.DataFrame(
            {"l1": [float(_sizes(path, s).sum()) for s in solutions]},
            index=index,
        )
    return pd.DataFrame({"k": [s.k for s in solutions]}, index=index)


def _lambda0(path, rows):
    frame = _axis(path, rows, "lambda0")
    frame.insert(0, "k", [path._solutions[i].k for i in frame.index])
    return (
        frame.drop(columns="lambda0")
        if path._meta.grid == "support"
        else frame.drop(columns=["low", "high"])
    )


def auc(
    y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None, level: float = 0.95
) -> pd.Series:
    """Area under the ROC curve with its confidence interval.

    Parameters
    ----------
    y : array-like of shape (m,)
        True or 1 for positive rows, else 0 or -1.
    score : array-like of shape (m,)
        Scores, larger for rows more likely positive.
    sample_weight : array-like of shape (m,), optional
        Weights >= 0, with Kish's effective numbers of rows. None means 1 for each row.
    level : float, default 0.95
        The level of the interval, in (0, 1).

    Returns
    -------
    Series
        auc, low and high.

    Raises
    ------
    ValueError
        If the rows are of one class.

    Notes
    -----
    The area is the probability that a positive row has a larger score than a negative one, ties
    counted half. Its variance is that of DeLong, DeLong & Clarke-Pearson (Biometrics 44, 1988): the
    variance over the positive rows of the share of negative rows below each, divided by their
    number, and the same for the negative rows. low and high are auc -+ z se within [0, 1]. The rows
    are taken as independent, and the scores as given: held-out scores of several folds come from
    several models, which the interval does not count.

    Examples
    --------
    >>> import l0path
    >>> l0path.plots.auc([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.5, 0.8, 0.9]).round(3).to_dict()
    {'auc': 0.889, 'low': 0.581, 'high': 1.0}
    """
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise ValueError(f"level={level!r} must be a number in (0, 1)")
    y, score = np.asarray(y) > 0, np.asarray(score, dtype=float)
    w = np.ones(score.size) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    y, score, w = (part[w > 0] for part in (y, score, w))
    if y.all() or not y.any():
        raise ValueError(f"y has only one class in these {y.size} rows; an area needs both")
    area, square = 0.0, 0.0
    for own, others in ((y, ~y), (~y, y)):
        order = np.argsort(score[others], kind="stable")
        below = np.concatenate([[0.0], np.cumsum(w[others][order])]) / w[others].sum()
        left, right = (
            below[np.searchsorted(score[others][order], score[own], side=side)]
            for side in ("left", "right")
        )
        wins = 0.5 * (left + right)
        mean = np.average(wins, weights=w[own])
        count = w[own].sum() ** 2 / (w[own] ** 2).sum()
        if own is y:
            area = mean
        spread = np.average((wins - mean) ** 2, weights=w[own])
        square += spread / (count - 1.0) if count > 1 else np.inf
    half = NormalDist().inv_cdf(0.5 + 0.5 * level) * np.sqrt(square)
    return pd.Series({"auc": area, "low": max(0.0, area - half), "high": min(1.0, area + half)})


def calibration(
    y: ArrayLike, probability: ArrayLike, bins: int = 10, sample_weight: ArrayLike | None = None
) -> pd.DataFrame:
    """The numbers behind a calibration curve.

    Parameters
    ----------
    y : array-like of shape (m,)
        True or 1 for positives, else 0 or -1.
    probability : array-like of shape (m,)
        Probabilities of the positive class.
    bins : int, default 10
        The number >= 1 of bins. Rows of equal probability are in one bin.
    sample_weight : array-like of shape (m,), optional
        Weights >= 0. None means 1 for each row.

    Returns
    -------
    DataFrame
        One row per bin of about equal weight: the mean probability, the share of positives, low and
        high of its 95 % Wilson interval (JASA 22, 1927, by statsmodels), and n, the number of rows.
    """
    from statsmodels.stats.proportion import proportion_confint

    w = np.ones(np.size(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    y, rows = np.asarray(y) > 0, []
    for inside, mean, count in _bins(probability, w, bins):
        share = np.average(y[inside], weights=w[inside])
        limits = proportion_confint(share * count, count, alpha=ERROR_RATE, method="wilson")
        rows.append((mean, share, *limits, inside.size))
    return pd.DataFrame(rows, columns=["probability", "share", "low", "high", "n"])


def calibration_of_means(
    y: ArrayLike, prediction: ArrayLike, bins: int = 10, sample_weight: ArrayLike | None = None
) -> pd.DataFrame:
    """The numbers behind a calibration curve of predicted means, such as those of counts.

    Parameters
    ----------
    y, prediction : array-like of shape (m,)
        The response, and its predicted means.
    bins : int, default 10
        The number >= 1 of bins, as in `calibration`.
    sample_weight : array-like of shape (m,), optional
        Weights >= 0; for shares the numbers of trials. None means 1 for each row.

    Returns
    -------
    DataFrame
        One row per bin: the mean prediction, the mean of y, low and high of its 95 % interval
        (normal, by the spread of y in the bin; NaN for one row), and n, the number of rows.
    """
    y = np.asarray(y, dtype=float)
    w = np.ones(y.size) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    rows = []
    for inside, predicted, count in _bins(prediction, w, bins):
        mean, half = np.average(y[inside], weights=w[inside]), np.nan
        if count > 1:
            square = np.average((y[inside] - mean) ** 2, weights=w[inside])
            half = NormalDist().inv_cdf(1.0 - 0.5 * ERROR_RATE) * np.sqrt(square / (count - 1.0))
        rows.append((predicted, mean, mean - half, mean + half, inside.size))
    return pd.DataFrame(rows, columns=["prediction", "mean", "low", "high", "n"])


def _bins(prediction, w, bins):
    """(rows, their mean prediction, their effective number) of bins of about equal weight w."""
    if not is_whole(bins) or bins < 1:
        raise ValueError(f"bins={bins!r} must be a whole number >= 1")
    used = np.flatnonzero(w > 0)
    p, w = np.asarray(prediction, dtype=float)[used], w[used]
    _, at = np.unique(p, return_inverse=True)
    each = np.bincount(at, weights=w)
    middle = (np.cumsum(each) - 0.5 * each) / w.sum()  # where in the order of all weight it lies
    bin_of = np.minimum((middle * bins).astype(int), bins - 1)[at]
    for b in np.unique(bin_of):
        inside = bin_of == b
        count = w[inside].sum() ** 2 / (w[inside] ** 2).sum()
        yield used[inside], np.average(p[inside], weights=w[inside]), count
