"""`CVPath.plot`: held-out scores of a path with their standard errors, and the choices made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..cross_validation import CVPath
from . import style
from .draw import plot
from .drawing import axis, shrinkage, xlabel
from .numbers import sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCORE_LABELS = {"min": "best score", "sparse": "as good", "1se": "one standard error"}


def plot_cv(cv, kind, x, mark, slice, ax, *, standardized, k, labels, response, class_, log):
    """The plot of a kind, for `CVPath.plot`: the scores, or a plot of the path."""
    if kind == "scores":
        marked = ("min", "1se") if mark is None else [mark] if isinstance(mark, str) else mark
        return plot_scores(cv, ax, marked, x=x, slice=slice, k=k, log=log)
    if log:
        raise ValueError(f"log=True is for kind='scores'; leave it out for kind={kind!r}")
    more = {"k": k, "labels": labels, "response": response, "class_": class_}
    return plot(cv, kind, x or "k", mark, slice, ax, standardized, **more)


def plot_scores(
    cv: CVPath,
    ax: Axes | None = None,
    mark: Sequence[str] = ("min", "1se"),
    *,
    x: str | None = None,
    slice: int | None = None,
    k: int | Sequence[int] | None = None,
    log: bool = False,
) -> Axes:
    """Held-out scores with their standard errors, and the choices `mark`."""
    table = cv.scores
    if x is None:
        x = "k" if table["lambda0"].isna().all() else "lambda0"
    if x not in ("k", "lambda0"):
        raise ValueError(f"x={x!r} is not known; choose 'k' or 'lambda0'")
    if x == "lambda0" and table["lambda0"].isna().any():
        raise ValueError("x='lambda0' needs a path on a lambda0 grid; use x='k'")
    low, high = sizes(k)
    chosen = {which: index for which in mark if (index := _index(cv, which)) is not None}
    number = np.array([s.slice for s in cv._solutions])
    many = len(set(number.tolist()))
    of_sizes = slice is None and many > 1 and table["lambda0"].isna().all()
    if slice is None:
        slice = number[table.index.get_loc(next(iter(chosen.values())))] if chosen else number[0]
    ax, _ = style.new_axes(ax)
    inside = table["k"].between(low, high).to_numpy()
    drawn = table[(number == slice) & inside]
    if of_sizes:  # the best of each, of whatever slice
        best = [_index(cv, k=int(k)) for k in sorted(set(table["k"][inside]))]
        drawn = table.loc[[i for i in best if i is not None]]
    if drawn.empty:
        raise LookupError(
            f"slice={slice!r}, k={k!r}: no such solution on the path; it has slices "
            f"{sorted(set(number.tolist()))}, sizes {table['k'].min()} to {table['k'].max()}"
        )
    for other in sorted(set(number.tolist()) - (set() if of_sizes else {slice})):
        part = table[(number == other) & inside]
        ax.plot(part[x], part["cv_mean"], color=style.PALE, linewidth=0.9, zorder=1)
    if "1se" in chosen:
        _band(ax, cv, table, chosen.get("min", _index(cv, "min")))
    _main(ax, drawn, x)
    _limits(ax, drawn, log)
    axis(ax, x)
    lines = []
    if of_sizes:
        lines.append(f"blue: the best of {many} shrinkages for each size; gray: each of them")
    elif many > 1:
        shown = shrinkage(cv._solutions[np.flatnonzero(number == slice)[0]])
        lines.append(f"blue: {shown}; gray: the other {many - 1} shrinkages")
    if "1se" in chosen:
        lines.append("green: within one standard error of the best")
    scoring = cv._scoring
    squared = scoring == "deviance" and cv._meta.traits.gaussian
    style.tidy(
        ax,
        xlabel(cv, x),
        "held-out mean squared error" if squared else f"held-out {scoring}",
        "\n".join(lines) or None,
    )
    _choices(
        ax, table, {which: i for which, i in chosen.items() if low <= table.loc[i, "k"] <= high}, x
    )
    return ax


def _index(cv, which=None, **selector):
    """The index of a choice; None where it is not defined (one fold has no standard error)."""
    try:
        return cv.select(which, **selector)
    except LookupError:
        return None


def _band(ax, cv, table, best):
    """The scores within one standard error of the best."""
    mean, se = table.loc[best, "cv_mean"], table.loc[best, "cv_se"]
    edge = mean - se if cv._greater else mean + se
    ax.axhspan(*sorted((mean, edge)), color=style.PALETTE[2], alpha=0.12, linewidth=0, zorder=0)
    ax.axhline(edge, color=style.PALETTE[2], linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)


def _main(ax, drawn, x):
    color = style.PALETTE[0]
    se = drawn["cv_se"].to_numpy()
    ax.plot(
        drawn[x], drawn["cv_mean"], color=color, linewidth=1.3, marker="o", markersize=4, zorder=3
    )
    if np.isfinite(se).any():
        ax.errorbar(
            drawn[x],
            drawn["cv_mean"],
            yerr=np.where(np.isfinite(se), se, 0.0),
            fmt="none",
            ecolor=color,
            alpha=0.45,
            elinewidth=1.1,
            capsize=2,
            zorder=2,
        )


def _limits(ax, drawn, log):
    """All scores with their bars in view; on a logarithmic axis bars that reach below a third of
    the least score are cut.
    """
    mean, se = drawn["cv_mean"].to_numpy(), drawn["cv_se"].to_numpy()
    finite = np.isfinite(mean)
    if not finite.any():
        return
    se = np.where(np.isfinite(se), se, 0.0)
    low, high = (mean - se)[finite].min(), (mean + se)[finite].max()
    if log:
        least = mean[finite].min()
        if least <= 0:
            raise ValueError(
                f"log=True needs positive scores, the least is {least:.4g}; leave log=False"
            )
        low = max(low, least / 3.0)
        ax.set_yscale("log")
        margin = max(high / low, 1.01) ** 0.05
        style.log_labels(ax.yaxis, low, high)
        ax.set_ylim(low / margin, high * margin)
        return
    margin = 0.05 * (high - low) or 0.5
    ax.set_ylim(low - margin, high + margin)


def _choices(ax, table, chosen, x):
    """A line and a label for every choice; equal ones share it."""
    groups = {}
    for which, index in chosen.items():
        groups.setdefault(index, []).append(which)
    marks = []
    for index, names in groups.items():
        row = table.loc[index]
        color = style.PALETTE[1] if "min" in names else style.PALETTE[2]
        text = (
            " = ".join(SCORE_LABELS.get(name, str(name)) for name in names)
            + f": k = {int(row['k'])}"
        )
        marks.append((row[x], text, color))
        ax.plot(
            row[x],
            row["cv_mean"],
            "o",
            color=color,
            markersize=8,
            markeredgecolor="white",
            zorder=5,
        )
    style.mark_lines(ax, marks)
