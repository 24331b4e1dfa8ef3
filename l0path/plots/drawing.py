"""The common part of the plots of a path: a plot in the making, its axes and its curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..paths import Path
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 12  # names in the margin, at most; with groups of several columns half as many more
X_LABELS = {
    "k": "features in the model, k",
    "lambda0": r"$\lambda_0$ (log scale, falling)",
    "l1": "sum of |standardized coefficients|",
}


class Labels(dict):
    """Texts of features or groups; a name that has none stands for itself."""

    def __missing__(self, name):
        return name


@dataclass(frozen=True)
class Drawing:
    """A plot of a path in the making.

    Attributes
    ----------
    path : Path
        The path.
    ax : Axes
        The Axes to draw into.
    new : bool
        Whether the figure was made for this plot.
    frame : DataFrame
        The numbers, as of `l0path.plots.data`.
    x : str
        "k", "lambda0" or "l1": the horizontal axis.
    title : str or None
        Which slice and sizes are shown, where that has to be said.
    standardized : bool
        Whether coefficients are standardized.
    labels : Labels
        Texts of features or groups.
    """

    path: Path
    ax: Axes
    new: bool
    frame: pd.DataFrame
    x: str
    title: str | None
    standardized: bool
    labels: Labels
    of: str | None = None  # the response, or class, whose coefficients are drawn
    named: tuple = ()  # names of columns that are named first: those of the marked models

    @property
    def norms(self):
        """What is normed where coefficients have no sign, "" where they have one."""
        meta = self.path._meta
        if meta.responses is None or self.of is not None:
            return ""
        what = "classes" if meta.classes is not None else "responses"
        return f"{len(meta.responses)} {what}"

    def dress(self, ylabel, title=None):
        """Ticks of the horizontal axis, labels of both, and the title."""
        axis(self.ax, self.x)
        style.tidy(self.ax, xlabel(self.path, self.x), ylabel, title)

    def end_labels(self, ends):
        """Names in the right margin: (x, y, name, color) of the end of each curve."""
        style.end_labels(self.ax, *([end[i] for end in ends] for i in range(4)), self.new)


def xlabel(path, x):
    return (
        "terms or groups in the model, k"
        if x == "k" and path._meta.groups is not None
        else X_LABELS[x]
    )


def axis(ax, x):
    if x == "lambda0":
        style.log_ticks(ax)
    elif x == "k":
        style.whole_ticks(ax.xaxis)


def curve(frame, x, values):
    """Points of a curve: as they are, or, against lambda0, both ends of each interval."""
    if x != "lambda0":
        return frame[x].to_numpy(), values
    return np.column_stack([frame["high"], frame["low"]]).ravel(), np.repeat(values, 2)


def entered(values):
    """Zeros as NaN, except those next to a run of nonzero values, so that no line runs along zero.
    A value between two zeros is a point by itself: lines to it would be a spike.
    """
    out = values != 0
    left, right = np.append(False, out[:-1]), np.append(out[1:], False)
    run = out & (left | right)
    near = out | np.append(run[1:], False) | np.append(False, run[:-1])
    return np.where(near, values, np.nan)


def split(frame, x):
    """The columns that say where, and those of the features (which may have any name)."""
    count = 3 if x == "lambda0" else 1
    return frame.iloc[:, :count], frame.iloc[:, count:]


def shrinkage(s):
    """The shrinkage of a solution as text."""
    parts = [
        rf"$\lambda_{name}$ = {value:.3g}"
        for name, value in (("1", s.lambda1), ("2", s.lambda2))
        if value
    ]
    if s.relax < 1.0:
        parts.append(f"relax = {s.relax:.3g}")
    return ", ".join(parts) or "no shrinkage"


def shades(count):
    """`count` blues from light to dark."""
    from matplotlib import colormaps

    return (
        [colormaps["viridis"](v) for v in np.linspace(0.78, 0.0, count)]
        if count > 1
        else [style.PALETTE[0]]
    )


def spaced(count):
    """Places of `MOST_LABELS` of so many curves at most, evenly spaced."""
    places = np.linspace(0, count - 1, min(count, MOST_LABELS))
    return sorted(set(places.round().astype(int).tolist()))


def shrinkage_of(path, part):
    """The shrinkage of the slice that rows of `l0path.plots.data` belong to, as text."""
    return shrinkage(path._solutions[part.index[0]])


def position(frame, i, x):
    if i not in frame.index:
        raise LookupError(
            f"mark names solution {i}, which this plot does not show (its slice, or no lambda0 for "
            f"which it is best); drawn are {list(frame.index[:20])}"
        )
    row = frame.loc[i]
    return np.sqrt(row["low"] * row["high"]) if x == "lambda0" and "low" in frame else row[x]
