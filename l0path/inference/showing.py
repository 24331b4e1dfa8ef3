"""`StabilitySelection` and `KnockoffFilter`: methods whose code is in packages above this one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core import forward

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ShowingFrequencies:
    """Methods of `StabilitySelection`, each with its full signature."""

    def plot(
        self,
        kind: str = "frequency",
        *,
        n: int = 20,
        ax: Axes | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Axes:
        """Plot selection frequencies of a `StabilitySelection` and return the Axes.

        The numbers are `frequency` and `by_size`.

        Parameters
        ----------
        kind : str, default "frequency"
            "frequency": a bar for each of the n features chosen most often at size k, those at or
            above the threshold (dashed) in color. "path": the frequency of every feature against
            the size of the model, the selected features colored and named, k marked.
        n : int, default 20
            The largest number of bars, or names.
        ax : Axes, optional
            The Axes to draw into. None makes a figure.
        labels : dict, optional
            {name: text} of features to be renamed in the plot.

        Returns
        -------
        Axes
            The Axes of matplotlib.

        Raises
        ------
        ValueError
            If the kind is unknown.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> options = {"k": 5, "n_subsamples": 20, "random_state": 1}
        >>> stable = l0path.stability_selection(data.X, data.y, **options)
        >>> ax = stable.plot()
        """
        return forward.plot_stability(self, kind, n=n, ax=ax, labels=labels)

    def _repr_html_(self):
        """The columns of a `StabilitySelection` that were chosen most often."""
        return forward.stability_html(self)


class ShowingCompetition:
    """Methods of `KnockoffFilter`, each with its full signature."""

    def plot(
        self, *, n: int = 30, ax: Axes | None = None, labels: Mapping[str, str] | None = None
    ) -> Axes:
        """Plot the statistics of a `KnockoffFilter` in order of size and return the Axes.

        Winners are above zero and losers below, with dashed lines at the threshold and its mirror
        image, and the selected features colored and named. The bars beyond the lower line estimate
        how many of those beyond the upper one are false. The numbers are `statistic` and
        `threshold`.

        Parameters
        ----------
        n : int, default 30
            The largest number of names.
        ax : Axes, optional
            The Axes to draw into. None makes a figure.
        labels : dict, optional
            {name: text} of features to be renamed in the plot.

        Returns
        -------
        Axes
            The Axes of matplotlib.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.simulate.linear(200, 30, 6, snr=5, random_state=1)
        >>> chosen = l0path.knockoff_filter(data.X, data.y, fdr=0.2, random_state=1)
        >>> ax = chosen.plot()
        """
        return forward.plot_knockoffs(self, n=n, ax=ax, labels=labels)

    def _repr_html_(self):
        """The columns that a `KnockoffFilter` selected, and the largest statistics."""
        return forward.knockoffs_html(self)
