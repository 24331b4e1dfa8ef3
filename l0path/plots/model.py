"""Plots of one model: its coefficients, and the curves of its predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..inspection.model_set import NO_SIGN, signs
from . import style
from .classes import plot_calibration, plot_roc
from .survival import plot_survival

KINDS = ("coef", "roc", "calibration", "survival")


def plot_model(
    model, kind, X, y, *, level, bins, groups, risk, sample_weight, offset, strata, ax, label
):
    """One of the plots of `Model.plot`."""
    if not isinstance(kind, str):
        raise TypeError(
            f"kind is the first argument and a text, got {type(kind).__name__}; pass rows after "
            "it, as in plot('coef', X, y)"
        )
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose among {', '.join(map(repr, KINDS))}")
    if kind != "survival" and risk is not None:
        raise ValueError(f"risk= is for kind='survival'; leave it out for kind={kind!r}")
    rows = {"sample_weight": sample_weight, "offset": offset}
    if kind == "survival":
        rows["strata"] = strata
        return plot_survival(model, X, y, groups=groups, risk=risk, ax=ax, **rows)
    if kind == "coef":
        given = {name: v for name, v in {**rows, "strata": strata}.items() if v is not None}
        return _coefficients(model, X, y, level, given, ax)
    if strata is not None:
        raise ValueError(f"strata= is for kind='survival'; leave it out for kind={kind!r}")
    if kind == "roc":
        return plot_roc(model, X, y, ax=ax, label=label, **rows)
    return plot_calibration(model, X, y, bins=bins, ax=ax, label=label, **rows)


def _coefficients(model, X, y, level, given, ax):
    """Coefficients as points, the largest at the top, with intervals where other rows give them."""
    s, meta = model._solution, model.path._meta
    if X is None and given:
        raise ValueError(f"{', '.join(given)} go with X and y; leave them out")
    several = meta.responses is not None
    if X is not None and several:
        raise ValueError(
            "intervals are drawn for one response; leave out X and y, or use conf_int(X=, y=)"
        )
    names = [str(meta.names[j]) for j in s.support]
    scale = meta.scale[s.support][:, None]
    labels = meta.response_index if several else ["b"]
    values = s.beta.reshape(len(names), len(labels))
    ends = None
    if X is not None:
        # columns that are constant in these rows, or separate them, have no coefficient
        ends = model.conf_int(level, X, y, **given).reindex(names).to_numpy()
        ends = np.where(np.isinf(ends).any(axis=1, keepdims=True), np.nan, ends)
        values = ends.mean(axis=1, keepdims=True)
        ends = ends * scale
    table = pd.DataFrame(values * scale, index=names, columns=labels)
    size = np.nan_to_num(np.abs(table.to_numpy())).max(axis=1, initial=0.0)
    order = np.argsort(-size, kind="stable")
    place = np.empty(len(names))
    place[order] = np.arange(len(names))
    ax, _ = style.new_axes(ax, (6.4, 1.3 + 0.3 * max(len(names), 3)))
    ax.axvline(0.0, color=style.PALE, linewidth=0.9, zorder=1)
    if several:
        for r, response in enumerate(table.columns):
            color = style.PALETTE[r % len(style.PALETTE)]
            ax.plot(table.iloc[:, r], place, "o", color=color, markersize=5, label=str(response))
        if len(names):
            ax.legend(frameon=False, fontsize=style.FONT_SIZE)
    else:
        values = table["b"].to_numpy()
        colors = np.where(values >= 0, style.POSITIVE, style.NEGATIVE)
        if ends is not None:
            ax.hlines(place, *ends.T, colors=list(colors), linewidth=1.6, zorder=2)
        ax.scatter(values, place, c=list(colors), s=26, zorder=3)
        entries = [
            *([(style.POSITIVE, 1.0, "positive")] if (values >= 0).any() else []),
            *([(style.NEGATIVE, 1.0, "negative")] if (values < 0).any() else []),
        ]
        if len(names):
            above = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 2}
            style.key(ax, entries, **above, borderaxespad=0.2)  # where no interval is
    ax.set_yticks(place, style.short(names))
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    xlabel = "coefficient x standard deviation of the feature"
    if ends is not None:
        xlabel += f"\nrefit to other rows, {100 * level:g} % intervals"
    about = f", {meta.about}" if meta.about else ""
    style.tidy(ax, xlabel, "", f"k = {model.k}, {meta.loss.replace('_', ' ')} loss{about}")
    return ax


def plot_model_set(models, ax):
    """`ModelSet.plot`: models by features, in the colors of the signs of the coefficients."""
    ax, _ = style.new_axes(ax, (6.4, 4.8))
    meta = models._path._meta
    sign = np.zeros(models._member.shape)
    for row, solution in zip(sign, models._solutions, strict=True):
        row[solution.units] = signs(meta, solution)
    order, _ = models.ordered()
    here = sign[:, order]
    shown = np.ma.masked_equal(here, NO_SIGN)
    map_ = style.signs().with_extremes(bad="0.6")
    ax.imshow(shown, aspect="auto", cmap=map_, vmin=-1.2, vmax=1.2, interpolation="nearest")
    kinds = (
        (style.POSITIVE, "positive", (here > 0) & (here != NO_SIGN)),
        (style.NEGATIVE, "negative", (here < 0) & (here != NO_SIGN)),
        ("0.6", "in the model", here == NO_SIGN),
    )
    entries = [(color, 0.85, text) for color, text, there in kinds if there.any()]
    above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 3}
    style.key(ax, entries, **above, borderaxespad=0.2)
    names = style.short([str(name) for name in models._labels[order]])
    ax.set_xticks(range(len(order)), names, rotation=90)
    ax.yaxis.get_major_locator().set_params(integer=True)
    xlabel = f"{meta.units.unit}, the most frequent first"
    ax.set(ylabel="model, the best at the top", xlabel=xlabel)
    return ax
