"""`NestedCV`: methods whose code is in other modules or packages."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ShowingOuterScores:
    """Methods of `NestedCV`, each with its full signature."""

    def plot_roc(self, *, ax: Axes | None = None, label: str | None = None) -> Axes:
        """ROC curve of the held-out predictions of a nested cross-validation.

        Each row is ranked by the model of the outer fold that has seen it neither in the fit nor in
        the choice of the model.

        Parameters
        ----------
        ax, label : as in Path.plot_roc
            The Axes to draw into (None makes a figure), and the label of the curve.

        Returns
        -------
        Axes
            The Axes of matplotlib.
        """
        from ..plots import plot_nested_roc

        return plot_nested_roc(self, ax=ax, label=label)

    def plot_calibration(
        self, *, bins: int = 10, ax: Axes | None = None, label: str | None = None
    ) -> Axes:
        """Calibration curve of the held-out predictions of a nested cross-validation.

        Parameters
        ----------
        bins : int, default 10
            The number of bins, as in `Path.plot_calibration`.
        ax, label : as in Path.plot_roc
            The Axes to draw into (None makes a figure), and the label of the curve.

        Returns
        -------
        Axes
            The Axes of matplotlib.
        """
        from ..plots import plot_nested_calibration

        return plot_nested_calibration(self, bins=bins, ax=ax, label=label)

    def save(self, file: str | PathLike) -> None:
        """Write the nested cross-validation to a file, which `l0path.load(file)` reads back.

        It holds the table, the chosen models, the folds, the held-out predictions, and the response
        and weights that the plots and scores of them need; X is never in it.

        Parameters
        ----------
        file : str or path
            The file to write. One that is there is replaced as a whole.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        from .storage import save_nested

        return save_nested(self, file)

    def _repr_html_(self):
        """The model chosen in each outer fold of a `NestedCV` and its score."""
        from ..report import nested_html

        return nested_html(self)
