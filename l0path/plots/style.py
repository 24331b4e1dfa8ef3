"""Appearance of the plots: axes with thin spines, a palette that color-blind readers can tell
apart, and labels in the margin that do not overlap.
"""

import numpy as np

from ..core.colors import NEGATIVE, POSITIVE, key, signs  # noqa: F401, for plots

PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#E69F00",
    "#000000",
)  # Okabe & Ito (2008), without the yellow
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)))
GRAY, PALE = "#6b6b6b", "#c9c9c9"
FONT_SIZE = 9  # points
TICK_STEPS = (
    (1, 2, 5),
    (1, 1.5, 2, 3, 5, 7),
    (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    tuple(np.arange(1, 10, 0.25).tolist()),
)  # of the ticks of a logarithmic axis in a decade
LABEL_LENGTH = 26  # characters of a label


def new_axes(ax, size=(7.2, 4.4)):
    """`ax`, or the axes of a new figure; the second value says whether it is new."""
    if ax is not None:
        from matplotlib.axes import Axes

        if not isinstance(ax, Axes):
            raise TypeError(f"ax={ax!r} must be Axes of matplotlib to draw into, or None")
        return ax, False
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax, True


def ink(color):
    """The color, darkened until text in it stands out from white by 4.5 : 1 (relative luminances,
    WCAG 2.1).
    """
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(color))
    while (
        1.05
        / (
            np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
            @ (0.2126, 0.7152, 0.0722)
            + 0.05
        )
        < 4.5
    ):
        rgb = 0.95 * rgb
    return tuple(rgb.tolist())


def tidy(ax, xlabel, ylabel, title=None):
    """Thin spines on two sides, outward ticks, labels."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_linewidth(0.8)
        ax.spines[side].set_color(GRAY)
    ax.tick_params(width=0.8, length=3.5, color=GRAY, labelsize=FONT_SIZE)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if title:
        ax.set_title(title, loc="left", fontsize=FONT_SIZE + 1, color=GRAY, pad=8)


def whole_ticks(axis):
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, nbins=12, min_n_ticks=1))


def log_ticks(ax):
    """A logarithmic x axis that falls to the right, so that models grow to the right."""
    ax.set_xscale("log")
    low, high = sorted(ax.get_xlim())
    log_labels(ax.xaxis, low, high)
    ax.set_xlim(high, low)


def log_labels(axis, low, high):
    """Plain numbers as labels of a logarithmic axis with a short range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if high / low < 50:
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        for steps in TICK_STEPS:  # the coarsest that shows at least four
            ticks = np.outer(decades, steps).ravel()
            if np.count_nonzero((ticks >= low) & (ticks <= high)) >= 4:
                break
        axis.set_major_locator(LogLocator(subs=steps, numticks=99))
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.6g}"))
        axis.set_minor_formatter(NullFormatter())


def _begin(names):
    """The common beginning of all names."""
    least, most = min(names), max(names)
    return least[: next((i for i, letter in enumerate(least) if letter != most[i]), len(least))]


def short(names, longest=LABEL_LENGTH):
    """Names fit for a margin: what long names begin and end with in common is left out, then they
    are cut in the middle; left whole where that would make two of them equal.
    """
    if max(map(len, names), default=0) <= longest:
        return list(names)
    head = _begin(names) if len(names) > 1 else ""
    tail = _begin([name[len(head) :][::-1] for name in names])[::-1] if len(names) > 1 else ""
    head, tail = (part if len(part) > 5 else "" for part in (head, tail))
    inner = [name[len(head) : len(name) - len(tail)] for name in names]
    if all(inner):
        names = [("…" if head else "") + part + ("…" if tail else "") for part in inner]
    end = longest // 3
    cut = [
        name if len(name) <= longest else f"{name[: longest - end - 1]}…{name[-end:]}"
        for name in names
    ]
    return [whole if cut.count(part) > 1 else part for whole, part in zip(names, cut, strict=True)]


def spread(wanted, height, low=-np.inf, high=np.inf):
    """Positions as near as may be to `wanted` (least squares), in the same order, at least `height`
    apart and, if there is room, within [low, high].

    Pool adjacent violators on wanted - rank * height: what is left of the order constraint when the
    gaps are taken out.
    """
    wanted = np.asarray(wanted, dtype=float)
    order = np.argsort(wanted, kind="stable")
    gaps = np.arange(wanted.size) * height
    blocks = []
    for value in wanted[order] - gaps:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, m), (b, n) = blocks[-2:]
            blocks[-2:] = [[(a * m + b * n) / (m + n), m + n]]
    out = np.repeat([value for value, _ in blocks], [count for _, count in blocks])
    if wanted.size and np.isfinite(low) and np.isfinite(high):
        out = (
            np.clip(out, low, max(high - gaps[-1], low))
            if high - gaps[-1] >= low
            else np.full(wanted.size, (low + high - gaps[-1]) / 2)
        )
    placed = np.empty(wanted.size)
    placed[order] = out + gaps
    return placed


def end_labels(ax, x, y, names, colors, new):
    """Names in the right margin beside the curve ends (x_i, y_i), spread so that none overlap, with
    a hairline to the end, dotted where the curve ends before others; the Annotation objects.
    """
    if not len(names):
        return []
    figure = ax.get_figure()
    if new:
        figure.draw_without_rendering()  # the layout fixes the height
    ax.get_xlim(), ax.get_ylim()  # limits that are still to be set are set now
    box = ax.get_window_extent()
    height = 1.45 * FONT_SIZE * figure.dpi / 72 / box.height
    ends = ax.transAxes.inverted().transform(ax.transData.transform(np.column_stack([x, y])))
    early, at = ends[:, 0] < ends[:, 0].max() - 1e-9, ends[:, 1]
    placed = spread(at, height, -0.02, 1.02)
    out = []
    for i, name in enumerate(names):
        line = {
            "arrowstyle": "-",
            "linestyle": ":" if early[i] else "-",
            "relpos": (0.0, 0.5),
            "color": colors[i],
            "linewidth": 0.6,
            "shrinkA": 0,
            "shrinkB": 1,
        }
        out.append(
            ax.annotate(
                name,
                xy=(x[i], y[i]),
                xycoords="data",
                xytext=(1.05, placed[i]),
                textcoords="axes fraction",
                ha="left",
                va="center",
                fontsize=FONT_SIZE,
                color=ink(colors[i]),
                arrowprops=line,
                annotation_clip=False,
            )
        )
    return out


def mark_lines(ax, marks):
    """Dashed vertical lines, (x, text, color) each, with their names above the axes, in a second
    row where they are near one another.
    """
    ax.get_xlim(), ax.get_ylim()
    at = [
        ax.transAxes.inverted().transform(ax.transData.transform((x, ax.get_ylim()[0])))[0]
        for x, _, _ in marks
    ]
    last = {0: -np.inf, 1: -np.inf}
    for i in np.argsort(at, kind="stable"):
        x, text, color = marks[i]
        level = int(at[i] - last[0] < 0.4 and last[1] < last[0])
        last[level] = at[i]
        side = "left" if at[i] < 0.12 else "right" if at[i] > 0.88 else "center"
        ax.axvline(x, color=color, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        ax.annotate(
            text,
            xy=(x, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3 + level * (FONT_SIZE + 3)),
            textcoords="offset points",
            ha=side,
            va="bottom",
            fontsize=FONT_SIZE,
            color=ink(color),
            annotation_clip=False,
        )
    title = ax.get_title(loc="left")
    if title and marks:
        ax.set_title(
            title,
            loc="left",
            fontsize=FONT_SIZE + 1,
            color=GRAY,
            pad=8 + (FONT_SIZE + 3) * sum(np.isfinite(v) for v in last.values()),
        )


def message(ax, text, height=0.5):
    """A sentence in the middle of the axes, where there is nothing to draw, or higher."""
    ax.text(
        0.5,
        height,
        text,
        transform=ax.transAxes,
        ha="center",
        va="center",
        color=GRAY,
        fontsize=FONT_SIZE + 1,
    )
