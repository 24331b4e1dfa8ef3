"""`plot_recovery`: what of a known truth the models of each size have found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .numbers import sizes
from .style import DASHES, PALETTE, end_labels, new_axes, short, tidy, whole_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = {
    "rates": ["precision", "recall", "f1"],
    "counts": ["true_positives", "false_positives"],
    "error": ["estimation_error"],
}
MEASURE_LABELS = {
    "rates": "share",
    "counts": "features",
    "error": "error of the coefficients, relative",
}


def plot_recovery(
    recovery: pd.DataFrame | dict,
    kind: str = "rates",
    *,
    k: int | Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot tables of `diagnostics.support_recovery` against the size and return the Axes.

    Models whose support is exact carry a ring.

    Parameters
    ----------
    recovery : DataFrame or dict
        One table, or {name: table} to compare methods by one column.
    kind : str, default "rates"
        "rates": precision, recall and f1. "counts": true and false positives. "error": ||b - beta||
        / ||beta||. Or one column of the table, such as "f1", which is what several tables need.
    k : int, pair of int or range, optional
        The largest size to draw, (smallest, largest) or a range. None means all.
    ax : Axes, optional
        The Axes to draw into. None makes a figure.

    Returns
    -------
    Axes
        The Axes of matplotlib.

    Raises
    ------
    ValueError
        If the kind is unknown, a column has no values, or several tables come with a kind of
        several columns.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.linear(200, 50, 8, rho=0.5, snr=3, random_state=1)
    >>> path = l0path.fit(data.X, data.y, max_k=20)
    >>> table = l0path.diagnostics.support_recovery(path, data)
    >>> ax = l0path.plots.plot_recovery(table)
    """
    tables = recovery if isinstance(recovery, dict) else {"": recovery}
    columns = _columns(kind, len(tables))
    ax, new = new_axes(ax)
    ends, exact = [], []
    for name, table in tables.items():
        part = _between(table, k)
        for column in columns:
            number = len(ends)
            color = PALETTE[number % len(PALETTE)]
            dash = DASHES[number % len(DASHES)]
            shown, value = _values(part, column, k)
            hit = _draw(ax, shown["k"].to_numpy(), value, shown["exact"], (color, dash))
            said = column.replace("_", " ") if len(columns) > 1 or not name else ""
            end = shown["k"].iloc[-1], value[-1]
            ends.append((*end, ": ".join(text for text in (name, said) if text), color))
            exact += hit.tolist()
    whole_ticks(ax.xaxis)
    at = ", ".join(map(str, sorted(set(exact))[:6]))
    tidy(
        ax,
        "features in the model, k",
        MEASURE_LABELS.get(kind, columns[0].replace("_", " ")),
        f"ring: exactly the true support (k = {at})" if exact else None,
    )
    if set(columns) <= set(MEASURES["rates"]):
        ax.set_ylim(-0.03, 1.05)
    elif set(columns) <= set(MEASURES["counts"]):
        whole_ticks(ax.yaxis)
    x, y, names, colors = ([end[i] for end in ends] for i in range(4))
    end_labels(ax, x, y, short(names), colors, new)
    return ax


def _columns(kind, count):
    """The columns that a kind draws, for so many tables."""
    columns = MEASURES.get(kind, [kind])
    known = [*MEASURES, *(c for cs in MEASURES.values() for c in cs)]
    if kind not in known:
        raise ValueError(f"kind={kind!r} is not known; choose one of {', '.join(known)}")
    if count > 1 and len(columns) > 1:
        raise ValueError(
            f"kind={kind!r} has several columns; compare tables by one, such as kind='f1'"
        )
    return columns


def _between(table, k):
    """The rows of a table at the sizes asked for, in their order."""
    if not isinstance(table, pd.DataFrame) or "exact" not in table:
        raise TypeError(
            f"recovery must be a table of l0path.diagnostics.support_recovery, or {{name: "
            f"table}}, got {type(table).__name__}"
        )
    low, high = sizes(k)
    return table[table["k"].between(low, high)].sort_values("k", kind="stable")


def _values(table, column, k):
    """(rows where a column has values, these values)."""
    value = table[column].to_numpy(dtype=float)
    shown = np.isfinite(value)
    if not shown.any():
        raise ValueError(
            f"{column} has no values: "
            + (
                "coefficients are needed for it, so give support_recovery the true ones"
                if column == "estimation_error"
                else f"no size is in k={k!r}"
            )
        )
    return table[shown], value[shown]


def _draw(ax, at, value, exact, look):
    """One curve, with rings where the support is exact; the sizes of these."""
    color, dash = look
    ax.plot(
        at,
        value,
        color=color,
        linestyle=dash,
        linewidth=1.5,
        marker="o",
        markersize=3,
        zorder=3,
        clip_on=False,
    )
    hit = exact.to_numpy(dtype=bool)
    ax.plot(
        at[hit],
        value[hit],
        "o",
        color=color,
        markersize=8,
        markerfacecolor="none",
        markeredgewidth=1.2,
        zorder=4,
        clip_on=False,
    )
    return at[hit]
