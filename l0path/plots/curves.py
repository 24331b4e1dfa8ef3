"""Plots of the fit of models of every size: loss, criteria, intervals of lambda0, bounds."""

import numpy as np

from ..core.status import GLOBAL_GAP
from . import numbers, style
from .drawing import X_LABELS, axis, curve, position, shades, shrinkage_of, spaced, xlabel

CRITERION_LABELS = {name: name.upper() for name in numbers.CRITERIA} | {
    "aicc": "AICc",
    "mbic": "mBIC",
    "cp": "Cp",
}


def loss(plot):
    """Mean loss of all slices; with one slice the deviance ratio at the right."""
    path, ax, x = plot.path, plot.ax, plot.x
    groups = [part for _, part in plot.frame.groupby("slice", sort=True)]
    ends = []
    for part, color in zip(groups, shades(len(groups)), strict=True):
        at, value = curve(part, x, part["loss"].to_numpy())
        marker = None if x == "lambda0" else "o"
        ax.plot(at, value, color=color, linewidth=1.5, marker=marker, markersize=3)
        ends.append((at[-1], value[-1], shrinkage_of(path, part), color))
    plot.dress(f"mean {path._meta.loss.replace('_', ' ')} loss", plot.title)
    if len(groups) == 1:
        deviance_axis(ax, path._meta.floor, path._meta.null_loss - path._meta.floor)
    else:
        plot.end_labels([ends[g] for g in spaced(len(groups))])


def deviance_axis(ax, floor, null):
    """The deviance ratio as a second vertical axis, where the null model has a deviance."""
    if not 0 < null < np.inf:
        return
    right = ax.secondary_yaxis(
        "right",
        functions=(lambda v: 1.0 - (v - floor) / null, lambda v: (1.0 - v) * null + floor),
    )
    right.set_ylabel("deviance ratio")
    right.tick_params(width=0.8, length=3.5, color=style.GRAY, labelsize=style.FONT_SIZE)
    right.spines["right"].set(linewidth=0.8, color=style.GRAY)


def criteria(plot):
    """Information criteria as differences from their minima."""
    path, ax, frame, x = plot.path, plot.ax, plot.frame, plot.x
    names = [name for name in numbers.CRITERIA if name in frame and frame[name].notna().any()]
    colors = dict(zip(names, style.PALETTE, strict=False))
    ends, top, at_zero = [], 0.0, {}
    for name in names:
        at, value = curve(frame, x, frame[name].to_numpy())
        ax.plot(at, value, color=colors[name], linewidth=1.5)
        for best in frame.index[frame[name] == 0.0][:1]:
            at_zero.setdefault(position(frame, best, x), []).append(name)
        known = np.flatnonzero(np.isfinite(value))
        ends.append((at[known[-1]], value[known[-1]]))
        top = max(top, value[known[-1]], np.nanmedian(value))
    for where, together in at_zero.items():  # a point around a point, so that none hides another
        for i, name in enumerate(together):
            size = 7 + 5 * (len(together) - 1 - i)
            look = {"color": colors[name], "markersize": size, "markeredgecolor": "white"}
            ax.plot(where, 0.0, "o", zorder=5 + 0.1 * i, clip_on=False, **look)
    ax.set_ylim(-0.04 * top, 1.1 * top if top > 0 else 1.0)
    plot.dress("difference from the minimum", plot.title)
    least = {
        name: path._solutions[frame[name].idxmin()].k if (frame[name] == 0.0).any() else None
        for name in names
    }
    texts = [
        CRITERION_LABELS[name] if k is None else f"{CRITERION_LABELS[name]}, least at k = {k}"
        for name, k in least.items()
    ]  # None: least at a size that is not drawn
    plot.end_labels(
        [(*end, text, colors[name]) for end, text, name in zip(ends, texts, names, strict=True)]
    )


def lambda0(plot):
    """The interval of lambda0 for which each size is best."""
    path, ax, frame = plot.path, plot.ax, plot.frame
    k, color = frame["k"].to_numpy(), style.PALETTE[0]
    if "low" in frame:
        at, size = np.column_stack([frame["high"], frame["low"]]).ravel(), np.repeat(k, 2)
        ax.plot(at, size, color=style.PALE, linewidth=0.9, zorder=1)
        ax.hlines(k, frame["low"], frame["high"], color=color, linewidth=2.4, zorder=2)
        number = path._solutions[frame.index[0]].slice
        sizes = sorted(
            s.k
            for s in path._solutions
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
                fontsize=style.FONT_SIZE,
                color=style.GRAY,
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
    axis(ax, "lambda0")
    style.whole_ticks(ax.yaxis)
    style.tidy(ax, X_LABELS["lambda0"], xlabel(path, "k"), plot.title)


def gap(plot):
    """The gap between objective and lower bound, in percent of the objective."""
    path, ax, frame, x = plot.path, plot.ax, plot.frame, plot.x
    groups = [part for _, part in frame.groupby("slice", sort=True)]
    ends = []
    for part, color in zip(groups, shades(len(groups)), strict=True):
        at = np.sqrt(part["low"] * part["high"]) if x == "lambda0" else part[x]
        at, share = at.to_numpy(), 100.0 * np.maximum(part["gap"].to_numpy(), 0.0)
        proven = np.isfinite(share) & (share <= 100.0 * GLOBAL_GAP)
        share = np.where(proven, 0.0, share)
        ax.fill_between(at, 0.0, share, where=np.isfinite(share), color=color, alpha=0.18, lw=0)
        ax.plot(at, share, color=color, linewidth=1.5, marker="o", markersize=3, clip_on=False)
        for i in np.flatnonzero(np.isfinite(share))[-1:]:
            ends.append((at[i], share[i], shrinkage_of(path, part), color))
    above = frame["gap"].max() > GLOBAL_GAP
    ax.set_ylim(0.0, None if above else 1.0)
    plot.dress("gap to the lower bound, % of the objective (0: proven)")
    missing = int(frame["gap"].isna().sum())
    if missing:
        style.message(ax, f"{missing} of {len(frame)} models carry no lower bound", 0.92)
    elif len(groups) > 1:
        plot.end_labels([ends[g] for g in spaced(len(groups))])
