"""Displays in a notebook of one model, of sets of models, of refits, of data, of costs, of a nested
cross-validation, of a stability selection and of a knockoff filter: what was found, its table, and
a small picture.
"""

from html import escape

import numpy as np
import pandas as pd

from ..core import colors
from .html import (
    COLORS,
    HEAD,
    _model_first,
    _pairs,
    _safe,
    _short,
    _side_by_side,
    _table,
    picture,
)


def _page(thing, *parts):
    return f"<p><code>{escape(repr(thing))}</code></p>" + _side_by_side(*parts)


def _head(frame, where):
    """The first rows of a table, and how many there are beyond."""
    more = len(frame) - HEAD
    text = f'<p style="font-size:85%;margin:2px 0">{more} more rows in {where}</p>'
    return _table(frame.head(HEAD)) + (text if more > 0 else "")


def _bars(ax, values, line, xlabel, signed=False):
    """Horizontal bars with names, the first on top, and a dashed line; signed: in the colors of
    signs.
    """
    from ..plots import style

    at, values_ = np.arange(len(values)), values.to_numpy()
    color = np.where(values_ < 0, colors.NEGATIVE, colors.POSITIVE) if signed else COLORS[0]
    ax.barh(at, values_, height=0.7, color=color)
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
    about = (model.path._meta.about, model._chosen_by)
    score = f"loss {model.loss:.6g}, deviance ratio {model.deviance_ratio:.4f}, {model.optimality}"
    top = _model_first(model._line(), score, *filter(None, about))
    if model.path._meta.responses is not None:
        return top + _table(every)
    coef = pd.DataFrame({"coefficient": every, "standardized": standardized})
    rest = coef["standardized"].iloc[len(model.path._meta.first_names) :]
    largest = rest.reindex(rest.abs().sort_values(ascending=False, kind="stable").index).head(HEAD)
    svg = (
        picture(
            lambda ax: _bars(ax, largest, 0.0, "standardized coefficient", signed=True),
            "the largest standardized coefficients",
        )
        if len(largest)
        else ""
    )
    return top + _side_by_side(_table(coef), svg)


@_safe
def model_set_html(found):
    """The best model of a `ModelSet`, the first ones, and the share of the models that each feature
    is in.
    """
    table = found.table.drop(columns="deviance_ratio")
    for name in {"features", "groups"} & set(table):
        table[name] = [_short(text) for text in table[name]]
    table[found.score] = [f"{value:.6g}" for value in found.scores]
    table.index = range(1, len(table) + 1)
    top = found.frequencies.head(HEAD)
    svg = (
        picture(
            lambda ax: _bars(ax, 100 * top, np.nan, "in % of the models"),
            "the share of the models that the most frequent features are in",
        )
        if len(top)
        else ""
    )
    said = f"the best of {found._said()}"
    return _model_first(found.models[0]._line(), said) + _side_by_side(
        _head(table, "its table"), svg
    )


@_safe
def refit_html(results):
    """The model of a refit, the table of its coefficients, and which rows chose the features."""
    said = escape(results.selection[0].upper() + results.selection[1:])
    note = f'<p style="font-size:85%;max-width:60em">{said}.</p>'
    about = f"refitted to {results.origin.rows.design.n} rows by {results._made_by()}"
    return _model_first(results._line(), about) + _table(results._estimates()) + note


@_safe
def dataset_html(data):
    """The response and the features of a `Dataset`, its first rows, and where it comes from."""
    y = data.y if isinstance(data.y, pd.DataFrame) else data.y.to_frame()
    first = pd.concat([y, data.X.iloc[:, :HEAD]], axis=1).head(4)
    more = data.X.shape[1] - HEAD
    text = f"and {more} more features; " if more > 0 else ""
    about = escape(" ".join(data.description.split("\n\n")[0].split()))
    return (
        f"<p><b>{escape(data.name)}</b>: {escape(data._said())}</p>{_table(first)}"
        f'<p style="font-size:85%;max-width:60em">{text}{about}</p>'
    )


@_safe
def cost_html(cost):
    """The table of a `FitCost`."""
    return f"<p><b>Before the fit</b></p>{_pairs(cost._rows())}"


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
