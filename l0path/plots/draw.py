"""`Path.plot`: one function per kind, all fed by `numbers.data`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arguments import is_whole
from ..core.describing import described_by
from ..core.warnings import warn_user
from ..paths import Path
from . import coefficients, curves, numbers, style
from .drawing import Drawing, Labels, position, shrinkage, split, xlabel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

READABLE = 30  # the largest size of coefficients and supports drawn by default
BEYOND = 5  # sizes drawn beyond the largest one that is marked, or half as many as it has columns
DRAW = {
    "coef": coefficients.coef,
    "loss": curves.loss,
    "criteria": curves.criteria,
    "lambda0": curves.lambda0,
    "gap": curves.gap,
    "support": coefficients.support,
}


@described_by(Path.plot)
def plot(
    self: Path,
    kind: str = "coef",
    x: str = "k",
    mark: dict | int | str | Callable | list | None = None,
    slice: int | None = None,
    ax: Axes | None = None,
    standardized: bool = True,
    *,
    k: int | float | Sequence[int] | None = None,
    labels: Mapping[str, str] | None = None,
    response: str | None = None,
    class_: Any = None,
) -> Axes:
    marks = [
        (m, _index(self, m, slice))
        for m in (mark if isinstance(mark, list) else [] if mark is None else [mark])
    ]
    one = kind not in ("loss", "gap")
    if slice is None and one:
        slice = self._solutions[marks[0][1]].slice if marks else numbers.default_slice(self)
    cut = ""
    if k is None and kind in ("coef", "support"):
        k, cut = _readable(self, slice, [i for _, i in marks])
    of = numbers.one_of(self, response, class_)
    what = {"response": response, "class_": class_}
    frame = numbers.data(self, kind, x=x, slice=slice, k=k, standardized=standardized, **what)
    if x == "l1" and kind in ("coef", "loss", "criteria", "gap"):
        _warn_of_turns(frame)
    x = "k" if kind == "support" else "lambda0" if kind == "lambda0" else x
    size = (
        (7.2, min(max(1.6 + 0.24 * min(frame.shape[1] - 1, coefficients.MOST_ROWS), 2.6), 11.0))
        if kind == "support"
        else (7.2, 4.4)
    )
    ax, new = style.new_axes(ax, size)
    title = "; ".join(filter(None, [_title(self, slice) if one else None, cut])) or None
    if frame.empty or (x == "k" and kind in ("coef", "support") and frame.shape[1] == 1):
        style.tidy(ax, xlabel(self, x), "")
        style.message(
            ax,
            "no feature is in any model"
            if len(frame)
            else r"no model is best for any $\lambda_0$"
            if x == "lambda0" and len(self)
            else "no solution",
        )
        return ax
    inside = dict.fromkeys(j for _, i in marks for j in self._solutions[i].support.tolist())
    named = tuple(self._meta.names[j] for j in inside) if kind == "coef" else ()
    DRAW[kind](
        Drawing(self, ax, new, frame, x, title, standardized, Labels(labels or {}), of, named)
    )
    axis = split(frame, x)[0] if kind in ("coef", "support") else frame
    if kind == "support":
        axis = axis.assign(k=np.arange(len(axis)))  # columns of the map
    style.mark_lines(ax, [(position(axis, i, x), _name(self, m, i), "#222222") for m, i in marks])
    return ax


def _readable(path, slice, marked):
    """(largest size drawn, words for the title) where nobody asked for sizes."""
    largest = max((s.k for s in path._solutions if s.slice == slice), default=0)
    most, spare = READABLE, 10
    if marked:  # some sizes beyond the largest one that is marked
        k = max(path._solutions[i].k for i in marked)
        most, spare = k + max(BEYOND, k // 2), 2
    if largest <= most + spare:
        return None, ""
    return most, f"sizes up to {most} of {largest}"


def _warn_of_turns(frame):
    """Warn where sums of coefficients fall while models grow."""
    if len(frame) and (np.diff(frame["l1"]) < 0).any():
        warn_user(
            UserWarning(
                "x='l1': the sum of the coefficients is smaller in some larger models, so that "
                "curves run backwards there; x='k' is easier to read"
            )
        )


def _index(path, mark, slice):
    """The index that a mark names."""
    within = {} if slice is None else {"slice": slice}
    if isinstance(mark, dict):
        return path.select(**{**within, **mark})
    if is_whole(mark):
        return path.select(index=mark)
    if isinstance(mark, str):  # a point of the figure, which shows the rows of the path
        return path.select(mark, rows=path._rows(slice))
    return path.select(mark, **within) if not callable(mark) else path.select(mark)


def _name(path, mark, i):
    rule = (
        mark
        if isinstance(mark, str)
        else getattr(mark, "__name__", None)
        if callable(mark)
        else None
    )
    if isinstance(mark, str) and path._meta.unlike_terms:
        rule = f"{mark} of these"
    return (
        f"k = {path._solutions[i].k}"
        if rule in (None, "<lambda>")
        else f"{rule}: k = {path._solutions[i].k}"
    )


def _title(path, slice):
    """The shrinkage of the models that are shown, where others have another one."""
    slices = {s.slice: s for s in path._solutions}
    if len(slices) < 2:
        return None
    return f"{shrinkage(slices[slice])} ({len(slices)} shrinkages were fitted)"
