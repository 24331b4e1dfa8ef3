"""The colors of signs, the same in every picture of the package, and keys of colors."""

POSITIVE, NEGATIVE = "#0072B2", "#D55E00"  # of Okabe & Ito (2008): color-blind readers see both
KEY_SIZE = 9  # points


def signs():
    """The color map of signed numbers, from negative to positive ones; of sizes its upper half."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signs", [NEGATIVE, "#ffffff", POSITIVE])


def key(ax, entries, **where):
    """A legend of colored patches: [(color, alpha, text)]."""
    from matplotlib.patches import Patch

    handles = [Patch(color=color, alpha=alpha, label=text) for color, alpha, text in entries]
    style = {"frameon": False, "fontsize": KEY_SIZE, "handlelength": 1.2}
    return ax.legend(handles=handles, **style | where)
