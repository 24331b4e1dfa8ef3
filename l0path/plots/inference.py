"""Plots of inference after a selection: frequencies of `stability_selection`, statistics of
`knockoff_filter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..core.describing import described_by
from ..inference import KnockoffFilter, StabilitySelection
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@described_by(StabilitySelection.plot)
def plot_stability(
    self,
    kind: str = "frequency",
    *,
    n: int = 20,
    ax: Axes | None = None,
    labels: Mapping[str, str] | None = None,
) -> Axes:
    if kind not in ("frequency", "path"):
        raise ValueError(f"kind={kind!r} is not known; choose 'frequency' or 'path'")
    bars, texts = kind == "frequency", dict(labels or {})
    top = self.frequency[self.frequency > 0].sort_values(ascending=False, kind="stable").iloc[:n]
    ax, new = style.new_axes(
        ax, (7.2, min(1.4 + 0.26 * max(len(top), 3), 11.0)) if bars else (7.2, 4.4)
    )
    title = f"{self.n_subsamples} subsamples, " + (
        "with replacement" if self.bootstrap else f"{self.fraction:.0%} of the rows each"
    )
    if np.isfinite(self.expected_false):
        title += f"; at most {self.expected_false:.2g} false expected at k = {self.k}"
    if bars:
        _bars(ax, top, texts, set(self.selected), self.threshold)
        style.tidy(
            ax, f"share of subsamples whose model of size {self.k} holds the feature", "", title
        )
        ax.tick_params(axis="y", length=0)
        return ax
    marked = [name for name in self.selected if name in self.by_size.index][:n]
    sizes = self.by_size.columns.to_numpy()
    for row in self.by_size.drop(index=marked).to_numpy():
        ax.plot(sizes, row, color=style.PALE, linewidth=0.8, zorder=1)
    colors = [style.PALETTE[i % len(style.PALETTE)] for i in range(len(marked))]
    for name, color in zip(marked, colors, strict=True):
        ax.plot(
            sizes,
            self.by_size.loc[name],
            color=color,
            linewidth=1.6,
            marker="o" if len(sizes) <= 30 else None,
            markersize=3,
            zorder=3,
        )
    ax.axhline(self.threshold, color=style.GRAY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=2)
    ax.set_ylim(-0.03, 1.03)
    style.whole_ticks(ax.xaxis)
    style.tidy(ax, "features in the model, k", "share of subsamples", title)
    style.end_labels(
        ax,
        [sizes[-1]] * len(marked),
        [self.by_size.loc[name].iloc[-1] for name in marked],
        style.short([texts.get(name, name) for name in marked]),
        colors,
        new,
    )
    if len(sizes) > 1:
        style.mark_lines(ax, [(self.k, f"k = {self.k}", "#222222")])
    return ax


def _bars(ax, top, texts, selected, threshold):
    """Horizontal bars, the largest on top, with a line at the threshold."""
    at = np.arange(len(top))
    ax.barh(
        at,
        top.to_numpy(),
        height=0.7,
        color=[style.PALETTE[0] if name in selected else style.PALE for name in top.index],
    )
    ax.axvline(threshold, color=style.GRAY, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set_yticks(
        at, style.short([texts.get(name, name) for name in top.index]) if len(top) else []
    )
    ax.set_ylim(max(len(top), 1) - 0.4, -0.6)
    ax.set_xlim(0, 1.02)
    if not len(top):
        style.message(ax, "no feature was ever chosen")


@described_by(KnockoffFilter.plot)
def plot_knockoffs(
    self, *, n: int = 30, ax: Axes | None = None, labels: Mapping[str, str] | None = None
) -> Axes:
    ax, _ = style.new_axes(ax)
    W = self.statistic[self.statistic != 0]
    W = W.iloc[np.lexsort((-np.sign(W.to_numpy()), -W.abs().to_numpy()))]
    at, chosen = np.arange(1, len(W) + 1), (W >= self.threshold).to_numpy()
    losers = (W <= -self.threshold).to_numpy()
    for mask, color, text in (
        (chosen, style.PALETTE[0], f"selected: {chosen.sum()}"),
        (losers, style.PALETTE[1], f"knockoffs beyond the threshold: {losers.sum()}"),
        (~chosen & ~losers, style.PALE, f"neither: {(~chosen & ~losers).sum()}"),
    ):
        ax.vlines(
            at[mask],
            0,
            W.to_numpy()[mask],
            color=color,
            linewidth=2.0 if len(W) < 80 else 1.2,
            label=text,
            zorder=2,
        )
        ax.plot(at[mask], W.to_numpy()[mask], "o", color=color, markersize=4, zorder=3)
    ax.axhline(0, color=style.GRAY, linewidth=0.6)
    if np.isfinite(self.threshold):
        for value in (self.threshold, -self.threshold):
            ax.axhline(value, color=style.GRAY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    title = f"{self.kind}-X knockoffs, false discovery rate {self.fdr:g}" + (
        "" if np.isfinite(self.threshold) else ": no threshold, nothing selected"
    )
    style.whole_ticks(ax.xaxis)
    style.tidy(
        ax,
        "features by the size of their statistic",
        "W: original (up) against knockoff (down)",
        title,
    )
    span = W.abs().max() if len(W) else 1.0
    ax.set_ylim(-1.45 * span, 1.45 * span)
    if len(W):
        ax.legend(frameon=False, fontsize=style.FONT_SIZE, loc="lower right", handlelength=1.2)
    shown = np.flatnonzero(chosen)[:n]
    for i, name in zip(
        shown, style.short([(labels or {}).get(name, name) for name in W.index[shown]]), strict=True
    ):
        ax.annotate(
            name,
            (at[i], W.iloc[i]),
            xytext=(0, 5),
            textcoords="offset points",
            rotation=90,
            ha="center",
            va="bottom",
            fontsize=style.FONT_SIZE - 1,
            color=style.PALETTE[0],
        )
    return ax
