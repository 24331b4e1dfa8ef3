"""Survival curves of risk groups, by Kaplan and Meier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import finite, vector, whole
from ..cross_validation.validation import held_out, new_rows
from ..engine.arguments import row_weights
from ..paths.predicting import linear_predictor
from ..problem.coupled.arguments import rows_of
from .style import DASHES, FONT_SIZE, GRAY, PALETTE, end_labels, ink, new_axes, short, tidy

if TYPE_CHECKING:
    pass

MOST_CURVES = 12  # predicted curves of rows in a plot
NORMAL = 1.959963984540054  # the 97.5 % point of the normal distribution


def kaplan_meier(
    y: ArrayLike, sample_weight: ArrayLike | None = None, freq_weight: ArrayLike | None = None
) -> pd.DataFrame:
    """The Kaplan-Meier estimate of the probability of no event until each time.

        S(t) = prod_{events at u <= t} (1 - d_u / n_u)

    d_u is the weight of the events at u, n_u that of the rows at risk.

    Parameters
    ----------
    y : array-like
        Times and events, in the forms that `l0path.fit` takes for loss="cox".
    sample_weight : array-like of shape (n,), optional
        Importance of rows, numbers >= 0, which are divided by their mean. None means 1 for each.
    freq_weight : array-like of shape (n,), optional
        How many rows each row stands for. None means 1.

    Returns
    -------
    DataFrame
        A row for each time of an event or of censoring. survival; low and high, limits of 95 % by
        Greenwood's variance on the scale of log(-log S) (NaN where S is 0 or 1); at_risk and
        events, weights.

    References
    ----------
    - Kaplan & Meier, Journal of the American Statistical Association 53, 1958.

    Examples
    --------
    >>> import l0path
    >>> y = [[1, 1], [2, 0], [3, 1], [4, 0]]  # time, event
    >>> l0path.plots.kaplan_meier(y)["survival"].round(3).to_dict()
    {1.0: 0.75, 2.0: 0.75, 3.0: 0.375, 4.0: 0.375}
    """
    n = len(y)
    rows = rows_of(y if isinstance(y, (np.ndarray, pd.DataFrame)) else np.asarray(y), n)
    return _estimate(rows, row_weights(sample_weight, freq_weight, None, n)[0])


def _estimate(rows, w):
    """The table of `kaplan_meier` of `Rows` with weights (n,) as they are."""
    at = np.unique(rows.stop[w > 0])
    ends = np.searchsorted(at, rows.stop)
    inside = ends < at.size
    gone = np.bincount(ends[inside], w[inside], minlength=at.size)
    events = np.bincount(ends[inside], (w * rows.event)[inside], minlength=at.size)
    risk = np.cumsum(gone[::-1])[::-1]
    if rows.start.size:  # rows that enter at the time or later are not at risk yet
        entering = np.bincount(np.searchsorted(at, rows.start, "right"), w, minlength=at.size + 1)
        risk = risk - np.cumsum(entering[::-1])[::-1][1:]
    stay = 1.0 - np.divide(events, risk, out=np.zeros(at.size), where=risk > 0)
    survival = np.cumprod(stay)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.cumsum((1.0 - stay) / (stay * risk)))
        width = np.exp(NORMAL * spread / np.abs(np.log(survival)))
        low, high = survival**width, survival ** (1.0 / width)
    unknown = ~((survival > 0) & (survival < 1))
    columns = {
        "survival": survival,
        "low": np.where(unknown, np.nan, low),
        "high": np.where(unknown, np.nan, high),
        "at_risk": risk,
        "events": events,
    }
    return pd.DataFrame(columns, index=pd.Index(at, name="time"))


def risk_groups(risk, groups):
    """Numbers (n,) of groups of about equal size, from the lowest risk (0) up; equal risks stay
    together.
    """
    inner = np.arange(1, groups) / groups
    return np.searchsorted(np.unique(np.quantile(risk, inner)), risk, side="left")


def plot_survival(model, X, y, *, groups, risk, ax, **beside):
    """Survival curves of groups of rows by risk, for `Model.plot`; beside: the weights, offset and
    strata of the rows X.
    """
    path = model.path
    if path._meta.traits.response != "survival":
        raise ValueError(
            "survival curves are those of loss='cox' and 'weibull'; this path has "
            f"{path._meta.loss!r}"
        )
    if X is not None and y is None and risk is None and not _has_times(path, X):
        return _predicted(model, X, ax, beside)
    groups = whole(groups, "groups", 1)
    if risk is not None and X is not None:
        raise ValueError("risk= is about the rows of the fit: leave out X and y")
    if risk is not None:
        score, loss, event, weights = _of_the_fit(path, risk)
    else:
        score, loss, event, weights = _of_model(path, model._index, X, y, beside)
    seen = (weights > 0) & np.isfinite(score)
    start = loss.start[seen] if loss.start.size else np.empty(0)
    columns = [part for part in (start, loss.stop[seen], event[seen]) if part.size]
    numbers = risk_groups(score[seen], groups)
    return _draw(ax, np.column_stack(columns), numbers, weights[seen], groups)


def _has_times(path, X):
    """Whether a table holds the times and events of the left side of a formula."""
    formula = path._meta.formula
    return formula is not None and set(formula.used(left=True)) <= set(getattr(X, "columns", ()))


def _predicted(model, X, ax, beside):
    """The predicted curves of a few rows, by their labels."""
    if beside["sample_weight"] is not None:
        raise ValueError("sample_weight goes with X and y; leave it out for predicted curves")
    curves = model.survival(X, offset=beside["offset"], strata=beside["strata"])
    if not 1 <= len(curves) <= MOST_CURVES:
        raise ValueError(
            f"X has {len(curves)} rows, and curves are drawn for 1 to {MOST_CURVES}: pass a few "
            "typical rows, or y= too for the curves of groups of rows"
        )
    ax, new = new_axes(ax)
    times, ends = curves.columns.to_numpy(dtype=float), []
    named = isinstance(X, pd.DataFrame) and not isinstance(X.index, pd.RangeIndex)
    labels = [str(label) if named else f"row {i}" for i, label in enumerate(curves.index)]
    chances = curves.to_numpy()
    if times[0] > 0.0:
        times, chances = np.append(0.0, times), np.insert(chances, 0, 1.0, axis=1)
    shown = short(labels)
    for i, chance in enumerate(chances):
        color, dash = PALETTE[i % len(PALETTE)], DASHES[i // len(PALETTE)]
        ax.step(times, chance, where="post", color=color, linestyle=dash, linewidth=1.6)
        ends.append((times[-1], chance[-1], shown[i], color))
    ax.set_ylim(-0.02, 1.02)
    tidy(ax, "time", "predicted probability of no event", f"k = {model.k}")
    end_labels(ax, *([end[j] for end in ends] for j in range(4)), new)
    return ax


def _of_the_fit(path, risk):
    """(risk, loss, events, weights) of the rows of the fit; NaN: not drawn."""
    data = path._data()
    given = vector(risk, data.design.n, "risk")
    finite(given[np.isfinite(given)], "risk")
    return given, data.loss, data.y, data.weights


def _of_model(path, i, X, y, beside):
    """The same by solution i, for the rows given, or those of the fit; beside: their weights,
    offset and strata.
    """
    if (X is None) != (y is None) and path._meta.formula is None:
        raise ValueError("pass X= and y= together, or neither for the rows of the fit")
    if X is None:
        if any(value is not None for value in beside.values()):
            raise ValueError("sample_weight, offset and strata go with X and y; leave them out")
        data = path._data()
        eta = linear_predictor(data.design, data.offset, path._solutions[i])
        return eta, data.loss, data.y, data.weights
    # strata do not matter for the order of the risks
    labels = path._meta.strata
    if beside["strata"] is None and labels is not None:
        beside = beside | {"strata": np.full(len(X if y is None else y), labels[0])}
    held = held_out(path, new_rows(path, X, y, **beside), i)
    return held.eta, held.times.loss, held.y, held.weights


def _draw(ax, y, numbers, weights, asked):
    """The curves of the groups, with bands of 95 %, a tick for each censored time and the numbers
    at risk; asked: how many groups were wanted.
    """
    many = int(numbers.max()) + 1
    ax, new = new_axes(ax, (6.4, 4.9 + 0.3 * many))
    names = {1: ["all rows"], 2: ["lower risk", "higher risk"]}.get(
        many, ["lowest risk", *[f"group {g + 1}" for g in range(1, many - 1)], "highest risk"]
    )
    if many == 3:
        names[1] = "medium risk"
    tables = []
    for g in range(many):
        mine = numbers == g
        table = _estimate(rows_of(y[mine], int(mine.sum())), weights[mine])
        tables.append((PALETTE[g % len(PALETTE)], y[mine], weights[mine]))
        color = PALETTE[g % len(PALETTE)]
        time = np.append(0.0 if y.shape[1] == 2 else y[mine, 0].min(), table.index)
        survival = np.append(1.0, table["survival"])
        said = f"{names[g]} (n = {mine.sum()}, {int(y[mine, -1].sum())} events)"
        ax.step(time, survival, where="post", color=color, linewidth=1.6, label=said)
        low, high = (
            np.append(1.0, table[side].fillna(table["survival"])) for side in ("low", "high")
        )
        ax.fill_between(time, low, high, step="post", color=color, alpha=0.12, linewidth=0)
        lost = table[table["at_risk"].diff(-1).fillna(table["at_risk"]) > table["events"]]
        ax.plot(lost.index, lost["survival"], "|", color=color, markersize=5, markeredgewidth=0.8)
    ax.set(ylim=(-0.02, 1.02))
    ax.set_xlim(left=0.0 if y.shape[1] == 2 and y[:, 0].min() >= 0 else None)
    tidy(ax, "time", "probability of no event")
    sizes, title = np.bincount(numbers), "bands: 95 %, ticks: censored"
    if many < asked or sizes.max() - sizes.min() > 1 + 0.1 * numbers.size / many:
        title += "\ngroups differ in size: rows of equal risk stay together"
    ax.legend(  # above the axes, where no curve is
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=1 if many == 1 else 2,
        frameon=False,
        fontsize=FONT_SIZE,
        title=title,
        title_fontsize=FONT_SIZE,
        alignment="left",
    )
    if new:
        ax.get_figure().draw_without_rendering()  # the layout fixes the height
    _numbers_at_risk(ax, tables)
    return ax


def _numbers_at_risk(ax, tables):
    """The numbers of rows at risk at the ticks of the time axis, below it: a line for each group,
    (color, times and events, weights), in its color.
    """
    low, high = ax.get_xlim()
    ticks = [t for t in ax.get_xticks() if low <= t <= high]
    ax.set_xticks(ticks)
    where = ax.get_xaxis_transform()
    look = {"fontsize": FONT_SIZE, "va": "top", "clip_on": False, "transform": where}
    figure = ax.get_figure()
    line = 1.5 * FONT_SIZE / 72 * figure.dpi / max(ax.get_window_extent().height, 1.0)
    ax.text(low, -3.0 * line, "at risk", ha="left", color=GRAY, **look)
    for g, (color, y, weights) in enumerate(tables):
        start = y[:, 0] if y.shape[1] == 3 else np.full(len(y), -np.inf)
        stop = y[:, -2]
        for t in ticks:
            inside = (stop >= t) & (start < t) if np.isfinite(start).any() else stop >= t
            text = f"{weights[inside].sum():g}" if _whole(weights) else f"{inside.sum()}"
            ax.text(t, -(4.0 + g) * line, text, ha="center", color=ink(color), **look)


def _whole(weights):
    """Whether weights are whole numbers, so that they count rows."""
    return bool((weights == np.floor(weights)).all())
