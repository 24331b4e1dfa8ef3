"""`Path.plot`: one function per kind, all fed by `numbers.data`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.describing import described_by
from ..paths import Path
from . import numbers, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = 12  # names in the margin, at most; with groups of several columns half as many more
READABLE = 30  # the largest size of coefficients and supports drawn by default
ROWS = 40  # features of the support map, at most
XLABEL = {
    "k": "predictors in the model, k",
    "lambda0": r"$\lambda_0$ (log scale, falling)",
    "l1": "sum of |standardised coefficients|",
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
) -> Axes:
    marks = [
        (m, _index(self, m, slice))
        for m in (mark if isinstance(mark, list) else [] if mark is None else [mark])
    ]
    one = kind not in ("loss", "gap")
    if slice is None and one:
        slice = self.solutions[marks[0][1]].slice if marks else numbers.default_slice(self)
    cut = ""
    if k is None and kind in ("coef", "support"):
        k, cut = _readable(self, slice, [i for _, i in marks])
    frame = numbers.data(self, kind, x=x, slice=slice, k=k, standardized=standardized)
    x = "k" if kind == "support" else "lambda0" if kind == "lambda0" else x
    size = (
        (7.2, min(max(1.6 + 0.24 * min(frame.shape[1] - 1, ROWS), 2.6), 11.0))
        if kind == "support"
        else (7.2, 4.4)
    )
    ax, new = style.new_axes(ax, size)
    title = "; ".join(filter(None, [_title(self, slice) if one else None, cut])) or None
    if frame.empty or (x == "k" and kind in ("coef", "support") and frame.shape[1] == 1):
        style.tidy(ax, _xlabel(self, x), "")
        style.message(
            ax,
            "no predictor is in any model"
            if len(frame)
            else r"no model is best for any $\lambda_0$"
            if x == "lambda0" and len(self)
            else "no solution",
        )
        return ax
    texts = Labels(labels or {})
    DRAW[kind](self, ax, frame, x, title, new, standardized, texts)
    axis = _split(frame, x)[0] if kind in ("coef", "support") else frame
    if kind == "support":
        axis = axis.assign(k=np.arange(len(axis)))  # columns of the map
    style.mark_lines(ax, [(_position(axis, i, x), _name(self, m, i), "#222222") for m, i in marks])
    return ax


class Labels(dict):
    """Texts of features or groups; a name that has none stands for itself."""

    def __missing__(self, name):
        return name


def _readable(path, slice, marked):
    """(largest size drawn, words for the title) where nobody asked for sizes."""
    largest = max((s.k for s in path.solutions if s.slice == slice), default=0)
    most = max([READABLE, *(path.solutions[i].k + 2 for i in marked)])
    if largest <= max(READABLE + 10, most):
        return None, ""
    return most, f"sizes up to {most} of {largest}; k=np.inf draws all"


def _index(path, mark, slice):
    """The index that a mark names."""
    within = {} if slice is None else {"slice": slice}
    if isinstance(mark, dict):
        return path.index(**{**within, **mark})
    if isinstance(mark, (int, np.integer)) and not isinstance(mark, bool):
        return path.index(index=mark)
    return path.index(mark) if callable(mark) else path.index(mark, **within)


def _name(path, mark, i):
    rule = (
        mark
        if isinstance(mark, str)
        else getattr(mark, "__name__", None)
        if callable(mark)
        else None
    )
    return (
        f"k = {path.solutions[i].k}"
        if rule in (None, "<lambda>")
        else f"{rule}: k = {path.solutions[i].k}"
    )


def _position(frame, i, x):
    if i not in frame.index:
        raise LookupError(
            f"mark names solution {i}, which this plot does not show (its slice, or no lambda0 for "
            f"which it is best); drawn are {list(frame.index[:20])}"
        )
    row = frame.loc[i]
    return np.sqrt(row["low"] * row["high"]) if x == "lambda0" and "low" in frame else row[x]


def _title(path, slice):
    """Which slice is shown, when there are several."""
    slices = {s.slice: (s.lambda1, s.lambda2) for s in path.solutions}
    if len(slices) < 2:
        return None
    return f"slice {slice} of {len(slices)}: " + _shrinkage(*slices[slice])


def _shrinkage(lambda1, lambda2):
    parts = [
        rf"$\lambda_{name}$ = {value:.3g}"
        for name, value in (("1", lambda1), ("2", lambda2))
        if value
    ]
    return ", ".join(parts) or "no shrinkage"


def _xlabel(path, x):
    return (
        "terms or groups in the model, k"
        if x == "k" and path.meta.groups is not None
        else XLABEL[x]
    )


def _axis(ax, x):
    if x == "lambda0":
        style.log_ticks(ax)
    elif x == "k":
        style.whole_ticks(ax.xaxis)


def _curve(frame, x, values):
    """Points of a curve: as they are, or, against lambda0, both ends of each interval."""
    if x != "lambda0":
        return frame[x].to_numpy(), values
    return np.column_stack([frame["high"], frame["low"]]).ravel(), np.repeat(values, 2)


def _entered(values):
    """Zeros as NaN, but for those next to a nonzero value, so that no line runs along zero."""
    out = values != 0
    near = out | np.append(out[1:], False) | np.append(False, out[:-1])
    return np.where(near, values, np.nan)


def _split(frame, x):
    """The columns that say where, and those of the features (which may have any name)."""
    count = 3 if x == "lambda0" else 1
    return frame.iloc[:, :count], frame.iloc[:, count:]


def _coef(path, ax, frame, x, title, new, standardized, labels):
    frame, values = _split(frame, x)
    every = path.coef(standardized=True).set_axis(path.table.index, axis=1)
    weight = every.iloc[1:].T.loc[frame.index, values.columns].abs()
    family = numbers.families(path, values.columns)
    last = weight.iloc[-1]
    order = [
        name for name in last.sort_values(ascending=False, kind="stable").index if last[name] > 0
    ]
    shown = list(dict.fromkeys(family[name] for name in order))[:LABELS]
    members = {label: [name for name in order if family[name] == label] for label in shown}
    look = _looks(path, members)
    wide = sum(map(len, members.values())) <= LABELS * 3 // 2  # room for a label of each column
    top = [name for label in shown for name in (members[label] if wide else members[label][:1])]
    names = [
        labels[name] if wide or len(members[family[name]]) == 1 else labels[family[name]]
        for name in top
    ]
    markers = {"marker": "o", "markersize": 3 if len(frame) <= 30 else 2} if x != "lambda0" else {}
    ax.axhline(0, color=style.GREY, linewidth=0.6, zorder=1)
    ends = []
    for name in [
        *(n for n in values if n not in look),
        *(n for n in look if n not in top),
        *top[::-1],
    ]:
        at, b = _curve(frame, x, values[name].to_numpy())
        color, dash = look.get(name, (style.FAINT, "-"))
        ax.plot(
            at,
            _entered(b),
            color=color,
            linestyle=dash,
            linewidth=1.5 if name in look else 0.9,
            zorder=3 if name in look else 2,
            **markers,
        )
        ends.append((at[-1], b[-1]))
    _axis(ax, x)
    style.tidy(
        ax,
        _xlabel(path, x),
        ("standardised coefficient" if standardized else "coefficient")
        + (f", {path.meta.about}" if path.meta.about else ""),
        title,
    )
    ends = ends[::-1][: len(top)]
    style.end_labels(
        ax, [e[0] for e in ends], [e[1] for e in ends], names, [look[name][0] for name in top], new
    )


def _looks(path, members):
    """{feature: (colour, dash)} of the features of {group: features}: a group has the colour of its
    place in the order in which groups enter the path, whatever part of the path is drawn.
    """
    place, out = numbers.ranks(path), {}
    for label, names in members.items():
        i = place[label]
        for m, name in enumerate(names):
            dash = (i // len(style.PALETTE) + m) % len(style.DASHES)
            out[name] = (style.PALETTE[i % len(style.PALETTE)], style.DASHES[dash])
    return out


def _shades(count):
    """`count` blues from light to dark."""
    from matplotlib import colormaps

    return (
        [colormaps["viridis"](v) for v in np.linspace(0.78, 0.0, count)]
        if count > 1
        else [style.PALETTE[0]]
    )


def _loss(path, ax, frame, x, title, new, standardized, labels):
    groups = list(frame.groupby("slice", sort=True))
    colors = _shades(len(groups))
    for (_, part), color in zip(groups, colors, strict=True):
        at, loss = _curve(part, x, part["loss"].to_numpy())
        ax.plot(
            at,
            loss,
            color=color,
            linewidth=1.5,
            marker=None if x == "lambda0" else "o",
            markersize=3,
        )
    _axis(ax, x)
    style.tidy(ax, _xlabel(path, x), f"mean {path.loss.replace('_', ' ')} loss", title)
    if len(groups) == 1:
        floor = path.meta.floor
        null = path.meta.null_loss - floor
        if null > 0:
            right = ax.secondary_yaxis(
                "right",
                functions=(lambda v: 1.0 - (v - floor) / null, lambda v: (1.0 - v) * null + floor),
            )
            right.set_ylabel("deviance ratio")
            right.tick_params(width=0.8, length=3.5, color=style.GREY, labelsize=style.SMALL)
            right.spines["right"].set(linewidth=0.8, color=style.GREY)
        return
    shown = sorted(
        set(np.linspace(0, len(groups) - 1, min(len(groups), LABELS)).round().astype(int).tolist())
    )
    ends = [_curve(groups[g][1], x, groups[g][1]["loss"].to_numpy()) for g in shown]
    names = [
        _shrinkage(
            *(
                getattr(path.solutions[groups[g][1].index[0]], name)
                for name in ("lambda1", "lambda2")
            )
        )
        for g in shown
    ]
    style.end_labels(
        ax,
        [e[0][-1] for e in ends],
        [e[1][-1] for e in ends],
        names,
        [colors[g] for g in shown],
        new,
    )


NAMED = {name: name.upper() for name in numbers.CRITERIA} | {"aicc": "AICc", "mbic": "mBIC"}


def _criteria(path, ax, frame, x, title, new, standardized, labels):
    names = [name for name in numbers.CRITERIA if name in frame and frame[name].notna().any()]
    colors = dict(zip(names, style.PALETTE, strict=False))
    ends, top, at_zero = [], 0.0, {}
    for name in names:
        at, value = _curve(frame, x, frame[name].to_numpy())
        ax.plot(at, value, color=colors[name], linewidth=1.5)
        for best in frame.index[frame[name] == 0.0][:1]:
            at_zero.setdefault(_position(frame, best, x), []).append(name)
        known = np.flatnonzero(np.isfinite(value))
        ends.append((at[known[-1]], value[known[-1]]))
        top = max(top, value[known[-1]], np.nanmedian(value))
    for where, together in at_zero.items():  # a point around a point, so that none hides another
        for i, name in enumerate(together):
            size = 7 + 5 * (len(together) - 1 - i)
            look = {"color": colors[name], "markersize": size, "markeredgecolor": "white"}
            ax.plot(where, 0.0, "o", zorder=5 + 0.1 * i, clip_on=False, **look)
    ax.set_ylim(-0.04 * top, 1.1 * top if top > 0 else 1.0)
    _axis(ax, x)
    style.tidy(ax, _xlabel(path, x), "difference from the minimum", title)
    least = {
        name: path.solutions[frame[name].idxmin()].k if (frame[name] == 0.0).any() else None
        for name in names
    }
    texts = [
        NAMED[name] if k is None else f"{NAMED[name]}, least at k = {k}"
        for name, k in least.items()
    ]  # None: least at a size that is not drawn
    style.end_labels(
        ax, [e[0] for e in ends], [e[1] for e in ends], texts, [colors[name] for name in names], new
    )


def _lambda0(path, ax, frame, x, title, new, standardized, labels):
    k, color = frame["k"].to_numpy(), style.PALETTE[0]
    if "low" in frame:
        at, size = np.column_stack([frame["high"], frame["low"]]).ravel(), np.repeat(k, 2)
        ax.plot(at, size, color=style.FAINT, linewidth=0.9, zorder=1)
        ax.hlines(k, frame["low"], frame["high"], color=color, linewidth=2.4, zorder=2)
        number = path.solutions[frame.index[0]].slice
        sizes = sorted(
            s.k
            for s in path.solutions
            if s.slice == number and np.isnan(s.lambda0_low) and k.min() <= s.k <= k.max()
        )
        if sizes:
            text = ", ".join(map(str, sizes[:10])) + (", ..." if len(sizes) > 10 else "")
            ax.text(
                0.02,
                0.97,
                rf"best for no $\lambda_0$: k = {text}",
                transform=ax.transAxes,
                ha="left",
                va="top",
                fontsize=style.SMALL,
                color=style.GREY,
            )
    else:
        ax.plot(
            frame["lambda0"],
            k,
            color=color,
            linewidth=1.2,
            drawstyle="steps-post",
            marker="o",
            markersize=3,
        )
    _axis(ax, "lambda0")
    style.whole_ticks(ax.yaxis)
    style.tidy(ax, XLABEL["lambda0"], _xlabel(path, "k"), title)


def _gap(path, ax, frame, x, title, new, standardized, labels):
    groups = [part for _, part in frame.groupby("slice", sort=True)]
    ends = []
    for part, color in zip(groups, _shades(len(groups)), strict=True):
        at = (
            part[x].to_numpy() if x != "lambda0" else np.sqrt(part["low"] * part["high"]).to_numpy()
        )
        top, low = part["objective"].to_numpy(), part["lower_bound"].to_numpy()
        ax.fill_between(at, low, top, where=np.isfinite(low), color=color, alpha=0.18, linewidth=0)
        ax.plot(at, top, color=color, linewidth=1.5, marker="o", markersize=3)
        ax.plot(
            at,
            low,
            color=color,
            linewidth=1.2,
            linestyle=(0, (4, 2)),
            marker="o",
            markersize=2.5,
            markerfacecolor="white",
        )
        known = np.flatnonzero(np.isfinite(low))
        ends += [
            (at[-1], top[-1], "objective", color),
            *([(at[known[-1]], low[known[-1]], "lower bound", color)] if known.size else []),
        ]
    _axis(ax, x)
    style.tidy(ax, _xlabel(path, x), "objective: loss + penalties")
    missing = int(frame["gap"].isna().sum())
    if missing:
        style.message(ax, f"{missing} of {len(frame)} models carry no lower bound", 0.92)
        return
    if len(groups) > 1:
        kept = sorted(
            set(
                np.linspace(0, len(groups) - 1, min(len(groups), LABELS))
                .round()
                .astype(int)
                .tolist()
            )
        )
        ends = [
            (
                *ends[2 * g][:2],
                _shrinkage(
                    *(
                        getattr(path.solutions[groups[g].index[0]], name)
                        for name in ("lambda1", "lambda2")
                    )
                ),
                ends[2 * g][3],
            )
            for g in kept
        ]
    style.end_labels(ax, *([end[i] for end in ends] for i in range(4)), new)


def _support(path, ax, frame, x, title, new, standardized, labels):
    frame, b = _split(frame, "k")
    count = (b != 0).sum()
    kept = count.sort_values(ascending=False, kind="stable").index[:ROWS]
    b = b[[name for name in b if name in set(kept)]]
    first = (b != 0).to_numpy().argmax(axis=0)
    b = b.iloc[:, np.lexsort((-count[b.columns].to_numpy(), first))]
    relative = b.T.to_numpy() / np.maximum(b.abs().max(axis=1).to_numpy(), 1e-300)
    shade = np.sign(relative) * (0.25 + 0.75 * np.abs(relative))  # small ones stay visible
    signed = path.meta.groups is None  # a group has a norm, no sign
    mesh = ax.imshow(
        np.where(relative == 0, np.nan, shade),
        cmap="PuOr_r",
        vmin=-1,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, len(b) - 0.5, b.shape[1] - 0.5, -0.5),
    )
    step = max(1, -(-len(b) // 20))
    ax.set_xticks(np.arange(0, len(b), step), frame["k"].to_numpy()[::step])
    ax.set_yticks(np.arange(b.shape[1]), style.short([labels[name] for name in b]))
    if len(b) <= 60:
        ax.set_xticks(np.arange(len(b) + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(b.shape[1] + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=0.8)
    style.tidy(ax, _xlabel(path, "k"), "", title)
    ax.tick_params(which="minor", length=0)
    if b.shape[1] < count.size:
        what = "predictors" if path.meta.groups is None else "groups"
        ax.text(
            0.01,
            0.01,
            f"{count.size - b.shape[1]} more {what}\nare in fewer models",
            transform=ax.transAxes,
            ha="left",
            va="bottom",
            fontsize=style.SMALL,
            color=style.GREY,
        )
    bar = ax.get_figure().colorbar(
        mesh, ax=ax, fraction=0.03, pad=0.02, ticks=[-1, 0, 1] if signed else [0, 1]
    )
    bar.ax.set_yticklabels(["−", "0", "+"] if signed else ["0", "1"])
    if not signed:
        bar.ax.set_ylim(0, 1)
    bar.set_label("relative to the\nmodel's largest", fontsize=style.SMALL)
    bar.outline.set_visible(False)


DRAW = {
    "coef": _coef,
    "loss": _loss,
    "criteria": _criteria,
    "lambda0": _lambda0,
    "gap": _gap,
    "support": _support,
}
