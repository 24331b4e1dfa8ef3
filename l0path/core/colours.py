"""The colours of signs, the same in every picture of the package, and keys of colours."""

POSITIVE, NEGATIVE = "#0072B2", "#D55E00"  # of Okabe & Ito (2008): colour-blind readers see both
KEY_SIZE = 9  # points


def signs():
    """The colour map of signed numbers, from negative to positive ones; of sizes its upper half."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signs", [NEGATIVE, "#ffffff", POSITIVE])


def key(ax, entries, **where):
    """A legend of coloured patches: [(colour, alpha, text)]."""
    from matplotlib.patches import Patch

    handles = [Patch(color=color, alpha=alpha, label=text) for color, alpha, text in entries]
    look = {"frameon": False, "fontsize": KEY_SIZE, "handlelength": 1.2}
    return ax.legend(handles=handles, **look | where)
