"""Plots of coefficients and of supports."""

import numpy as np

from . import numbers, style
from .drawing import MOST_LABELS, curve, entered, split, xlabel

MOST_ROWS = 40  # features of the support map, at most


def coef(plot):
    """Coefficients against the size, lambda0 or their sum, the largest with their names."""
    path, ax, x, labels = plot.path, plot.ax, plot.x, plot.labels
    frame, values = split(plot.frame, x)
    every = numbers.coefficients(path, True, plot.of)
    weight = every.T.loc[frame.index, values.columns].abs()
    family = numbers.families(path, values.columns)
    last = weight.iloc[-1]
    order = [
        name for name in last.sort_values(ascending=False, kind="stable").index if last[name] > 0
    ]
    if plot.named:  # the columns of marked models, wherever their curves end
        largest = weight.max().sort_values(ascending=False, kind="stable").index
        order = [name for name in largest if name in plot.named]
    shown = list(dict.fromkeys(family[name] for name in order))[:MOST_LABELS]
    members = {label: [name for name in order if family[name] == label] for label in shown}
    style_of = styles(path, members)
    # room for a label of each column
    wide = sum(map(len, members.values())) <= MOST_LABELS * 3 // 2
    top = [name for label in shown for name in (members[label] if wide else members[label][:1])]
    names = [
        column_label(labels, name, family[name])
        if wide or len(members[family[name]]) == 1
        else labels[family[name]]
        for name in top
    ]
    markers = {"marker": "o", "markersize": 3 if len(frame) <= 30 else 2} if x != "lambda0" else {}
    ax.axhline(0, color=style.GRAY, linewidth=0.6, zorder=1)
    ends = []
    for name in [
        *(n for n in values if n not in style_of),
        *(n for n in style_of if n not in top),
        *top[::-1],
    ]:
        at, b = curve(frame, x, values[name].to_numpy())
        color, dash = style_of.get(name, (style.PALE, "-"))
        ax.plot(
            at,
            entered(b),
            color=color,
            linestyle=dash,
            linewidth=1.5 if name in style_of else 0.9,
            zorder=3 if name in style_of else 2,
            **markers,
        )
        end = np.flatnonzero(b)[-1:] if plot.named else []
        at_end = end[0] if len(end) else -1
        ends.append((at[at_end], b[at_end]))
    kind = "standardized coefficient" if plot.standardized else "coefficient"
    if plot.norms:
        kind = f"norm of the {kind}s ({plot.norms})"
    about = plot.of if plot.of is not None else path._meta.about
    plot.dress(kind + (f", {about}" if about else ""), plot.title)
    # the last curves drawn are those of `top`, in turn
    plot.end_labels(
        [
            (*end, text, style_of[name][0])
            for end, text, name in zip(ends[::-1], style.short(names), top, strict=False)
        ]
    )


def column_label(labels, name, group):
    """The text of a column: its own, or its name with the text of its group in that one's place,
    "Ethnicity[T.o]" for "race[T.o]".
    """
    if name in labels or group not in labels:
        return labels[name]
    return str(name).replace(str(group), labels[group], 1)


def styles(path, members):
    """{feature: (color, dash)} of the features of {group: features}: a group has the color of its
    place in the order in which groups enter the path, whatever part of the path is drawn.
    """
    place, out = numbers.ranks(path), {}
    for label, names in members.items():
        i = place[label]
        for m, name in enumerate(names):
            dash = (i // len(style.PALETTE) + m) % len(style.DASHES)
            out[name] = (style.PALETTE[i % len(style.PALETTE)], style.DASHES[dash])
    return out


def support(plot):
    """The features or groups in the model of every size."""
    path, ax, labels = plot.path, plot.ax, plot.labels
    frame, b = split(plot.frame, "k")
    count = (b != 0).sum()
    kept = count.sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
    b = b[[name for name in b if name in set(kept)]]
    first = (b != 0).to_numpy().argmax(axis=0)
    b = b.iloc[:, np.lexsort((-count[b.columns].to_numpy(), first))]
    relative = b.T.to_numpy() / np.maximum(b.abs().max(axis=1).to_numpy(), 1e-300)
    shade = np.sign(relative) * (0.25 + 0.75 * np.abs(relative))  # small ones stay visible
    # groups, and columns of several responses, have a norm and no sign
    signed = path._meta.groups is None and not plot.norms
    mesh = ax.imshow(
        np.where(relative == 0, np.nan, shade),
        cmap=style.signs(),
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
    style.tidy(ax, xlabel(path, "k"), "", plot.title)
    ax.tick_params(which="minor", length=0)
    if b.shape[1] < count.size:
        what = f"{path._meta.units.unit}s"
        ax.text(
            0.01,
            0.01,
            f"{count.size - b.shape[1]} more {what}\nare in fewer models",
            transform=ax.transAxes,
            ha="left",
            va="bottom",
            fontsize=style.FONT_SIZE,
            color=style.GRAY,
        )
    bar = ax.get_figure().colorbar(
        mesh, ax=ax, fraction=0.03, pad=0.02, ticks=[-1, 0, 1] if signed else [0, 1]
    )
    bar.ax.set_yticklabels(["−", "0", "+"] if signed else ["0", "1"])
    if not signed:
        bar.ax.set_ylim(0, 1)
    what = "coefficient" if signed else "norm"
    what += f" for {plot.of}" if plot.of is not None else ""
    bar.set_label(f"{what},\nrelative to the\nmodel's largest", fontsize=style.FONT_SIZE)
    bar.outline.set_visible(False)
