"""Displays in a notebook of one model, of a nested cross-validation, of a stability selection and
of a knockoff filter: the text of their repr, their table, and a small picture.
"""

from html import escape

import numpy as np
import pandas as pd

from .html import COLORS, HEAD, _safe, _side_by_side, _table, picture


def _page(thing, *parts):
    return f"<p><code>{escape(repr(thing))}</code></p>" + _side_by_side(*parts)


def _head(frame, where):
    """The first rows of a table, and how many there are beyond."""
    more = len(frame) - HEAD
    text = f'<p style="font-size:85%;margin:2px 0">{more} more rows in {where}</p>'
    return _table(frame.head(HEAD)) + (text if more > 0 else "")


def _bars(ax, values, line, xlabel):
    """Horizontal bars with names, the first on top, and a dashed line."""
    from ..plots import style

    at = np.arange(len(values))
    ax.barh(at, values.to_numpy(), height=0.7, color=COLORS[0])
    ax.set_yticks(at, style.short([str(name) for name in values.index], 18))
    ax.set_ylim(max(len(values), 1) - 0.4, -0.6)
    if np.isfinite(line):
        ax.axvline(line, color=COLORS[-1], linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set_xlabel(xlabel)


@_safe
def model_html(model):
    """The coefficients of a `Model`, in the user's units and standardized."""
    every, standardized = (
        model.path.coef(index=model._index, standardized=standardized)
        for standardized in (False, True)
    )
    if model.path._meta.responses is not None:
        return _page(model, _table(every), "")
    coef = pd.DataFrame({"coefficient": every, "standardized": standardized})
    rest = coef["standardized"].iloc[len(model.path._meta.first_names) :]
    largest = rest.reindex(rest.abs().sort_values(ascending=False, kind="stable").index).head(HEAD)
    svg = (
        picture(
            lambda ax: _bars(ax, largest, 0.0, "standardized coefficient"),
            "the largest standardized coefficients",
        )
        if len(largest)
        else ""
    )
    return _page(model, _table(coef), svg)


@_safe
def nested_html(nested):
    """The model chosen in each outer fold of a `NestedCV` and its score."""
    table = nested.table.drop(
        columns=[name for name in nested.table.columns if nested.table[name].isna().all()]
    )

    def draw(ax):
        at = np.arange(1, len(table) + 1)
        ax.plot(at, table["score"], "o", color=COLORS[0], markersize=4, label="outer score")
        ax.plot(at, table["inner_mean"], "x", color=COLORS[1], markersize=4, label="inner score")
        ax.axhline(nested.mean, color=COLORS[0], linewidth=0.9, linestyle=(0, (4, 3)))
        ax.set(xlabel="outer fold", ylabel=nested.scoring)
        ax.legend(frameon=False, fontsize=6)

    svg = picture(draw, f"{nested.scoring} by outer fold")
    return _page(nested, _head(table, "nested.table"), svg)


@_safe
def stability_html(result):
    """The columns of a `StabilitySelection` that were chosen most often."""
    top = result.frequency.sort_values(ascending=False, kind="stable").head(HEAD)
    svg = picture(
        lambda ax: _bars(ax, top, result.threshold, f"frequency at k = {result.k}"),
        "selection frequencies",
    )
    return _page(result, _head(result.table, "result.table"), svg)


@_safe
def knockoffs_html(result):
    """The columns that a `KnockoffFilter` selected, and the largest statistics."""
    order = result.statistic.abs().sort_values(ascending=False, kind="stable").index
    largest = result.statistic.reindex(order)
    frame = pd.DataFrame({"statistic": largest, "selected": largest.index.isin(result.selected)})
    svg = picture(
        lambda ax: _bars(ax, largest.head(HEAD), result.threshold, "statistic"),
        "the largest statistics",
    )
    return _page(result, _head(frame[frame["statistic"] != 0], "result.statistic"), svg)
