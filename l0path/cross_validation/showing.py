"""`CVPath`: methods whose code is in other modules or packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd
from numpy.typing import ArrayLike

from ..core.types import Matrix, Rule, Selector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..paths import Model
    from ..paths.comparison import Comparison
    from ..report import Page
    from .comparing import Which
    from .result import CVPath


class ShowingScores:
    """Methods of `CVPath`, each with its full signature."""

    def compare(
        self,
        models: Sequence[Rule | Model | dict],
        *,
        standardized: bool = False,
        criteria: Sequence[str] = (),
        se: bool | str = False,
        **within: Unpack[Selector],
    ) -> Comparison:
        """Some models side by side, fitted on all rows, with their held-out scores.

        Parameters
        ----------
        models : list
            As in `Path.compare`: sizes (5), selectors as dicts ({"k": 5, "slice": 1}), Models of
            `path`, and rules, here also "min" and "1se", as in `CVPath.index`.
        standardized : bool, default False
            Whether coefficients are b_j = s_j beta_j, and the intercept that at the column means.
        criteria : sequence of str, default ()
            Columns of `Path.score_table` to be shown too, such as "aic" and "bic".
        se : bool or str, default False
            Whether standard errors are shown, as in `Path.compare`.
        **within : int or float
            slice, lambda1, lambda2: the slice that sizes and rules are about, where there are
            several.

        Returns
        -------
        Comparison
            The table of `Path.compare`, with the part "cross-validation": `cv_mean` and `cv_se`,
            the mean score over the folds and its standard error, in units of `scoring`.

        Raises
        ------
        TypeError, ValueError, or LookupError
            If a selector names no solution, or several, or a criterion is unknown.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> cv = l0path.cv_fit(data.X, data.y, cv=5, max_k=8, random_state=1)
        >>> table = cv.compare(["min", "1se"])
        >>> table.columns.tolist()
        ['min (k = 8)', '1se (k = 2)']
        >>> table.loc["cross-validation"].astype(float).round(-2)
                 min (k = 8)  1se (k = 2)
        cv_mean     119100.0     128100.0
        cv_se        14700.0      18400.0
        """
        from .comparing import compare

        return compare(self, models, standardized=standardized, criteria=criteria, se=se, **within)

    def rescore(
        self,
        scoring: str | Callable | None = None,
        *,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
    ) -> CVPath:
        """The same cross-validation with the scores of another metric, without any new fit.

        Parameters
        ----------
        scoring : str, scorer, or callable, optional
            The metric, as in `cv_fit`. None means "deviance".
        X, y : array-like, optional
            The data of the fit, needed after loading or pickling only.

        Returns
        -------
        CVPath
            The same path, folds and fits, with scores and choices by `scoring`.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> cv = l0path.cv_fit(data.X, data.y, cv=5, max_k=8, random_state=1)
        >>> cv.rescore("mae").model("1se").k
        2
        """
        from .comparing import rescore

        return rescore(self, scoring, X=X, y=y)

    def metrics(
        self,
        scoring: Sequence | None = None,
        *,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
    ) -> pd.DataFrame:
        """Several metrics of every solution from one cross-validation.

        Parameters
        ----------
        scoring : list, optional
            Metrics as in `cv_fit`. None takes all named metrics that are defined for the loss; one
            that is not for some fold (the AUC where a class is missing) is NaN, with a warning.
        X, y : array-like, optional
            The data of the fit, needed after loading or pickling only.

        Returns
        -------
        DataFrame
            The rows of `table`: k, and for every metric its mean over the folds and its standard
            error ("auc", "auc_se", ...).

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> cv = l0path.cv_fit(data.X, data.y, cv=5, max_k=8, random_state=1)
        >>> cv.metrics(["mse", "r2"]).columns.tolist()
        ['k', 'mse', 'mse_se', 'r2', 'r2_se']
        """
        from .comparing import metrics

        return metrics(self, scoring, X=X, y=y)

    def predict_interval(
        self,
        X: Matrix,
        which: Rule | None = None,
        *,
        level: float = 0.9,
        method: str = "cv+",
        offset: ArrayLike | None = None,
        data: tuple | None = None,
        **selector: Unpack[Selector],
    ) -> pd.DataFrame:
        """Prediction intervals for new rows, or sets of classes, from the held-out predictions.

        The interval joins the residual of each row of the fit, by the fold that left it out, with
        that fold's own prediction for the new row (CV+; Barber, Candès, Ramdas & Tibshirani,
        Annals of Statistics 49, 2021).

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows, as in `Path.predict`.
        which, **selector : as in CVPath.index
            The choice. Without one, it is "min".
        level : float, default 0.9
            The share of new rows whose responses the intervals are to cover, between 0 and 1.
        method : {"cv+", "minmax"}, default "cv+"
            "minmax" goes from the smallest to the largest prediction of the folds, less and plus
            the quantile of the residuals: wider, with a stronger guarantee.
        offset : array-like of shape (m,) or str, optional
            The offset of the new rows, if the fit had one.
        data : tuple (X, y), optional
            The data of the fit, needed after loading or pickling only.

        Returns
        -------
        DataFrame
            The columns low and high, in units of y; infinite where the rows are too few for the
            level. For classes a column of bool for each: whether it is in the set, which may be
            empty.

        Raises
        ------
        ValueError
            For survival times, several responses, counts of trials, and after `validate`.

        Notes
        -----
        For exchangeable rows, K folds of n rows in all and a size that was fixed
        beforehand, the chance that a new row is covered is at least 2 level - 1 - sqrt(2 / n) by
        "cv+", and at least `level` by "minmax". In practice "cv+" covers about `level`. A size
        chosen on the same folds, grouped or ordered splits, repeats and weights have no such
        guarantee; the guide to choosing a size has simulated coverages.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> cv = l0path.cv_fit(data.X, data.y, cv=5, max_k=8, random_state=1)
        >>> cv.predict_interval(data.X.head(2), k=6).shape
        (2, 2)
        """
        from ..inference.prediction_intervals import predict_interval

        return predict_interval(
            self, X, which, level=level, method=method, offset=offset, data=data, **selector
        )

    def difference(
        self,
        other: CVPath,
        which: Which = "min",
        other_which: Which = None,
    ) -> pd.Series:
        """The score of one model less that of another on the same folds, fold by fold.

        Differences between hard and easy folds, which both scores share, drop out, so the standard
        error of the difference is often smaller than those of the two scores.

        Parameters
        ----------
        other : CVPath
            The cross-validation of the same rows, folds and metric: of another loss, formula or
            penalty, or this one, for two models of one path.
        which : str, int, callable, or dict, default "min"
            The choice of the model in this one, as in `CVPath.model`.
        other_which : str, int, callable, or dict, optional
            The choice in the other one. None means the same as `which`.

        Returns
        -------
        Series
            difference: the mean over the folds, in units of the metric; negative where the score of
            this model is the smaller one. se: its standard error, made as cv_se is, which is
            optimistic because training sets overlap. se_corrected: the standard error below.
            n_folds: the number of folds.

        Raises
        ------
        ValueError
            If folds or metrics differ. Pass both the same cv= and random_state=, or the same fold
            ids.

        Notes
        -----
        The corrected standard error is that of Nadeau & Bengio (Machine Learning 52, 2003),
        with s^2 the variance over the J folds:

            se_corrected = sqrt((1 / J + n_test / n_train) s^2)

        Where the two models were chosen by the same scores, the difference is optimistic;
        `nested_cv` compares whole procedures.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> cv = l0path.cv_fit(data.X, data.y, cv=5, max_k=8, random_state=1)
        >>> cv.difference(cv, "min", "1se").round(0).to_dict()
        {'difference': -9024.0, 'se': 10063.0, 'se_corrected': 15095.0, 'n_folds': 5.0}
        """
        from .comparing import difference

        return difference(self, other, which, other_which)

    def plot(
        self,
        ax: Axes | None = None,
        mark: Sequence[str] = ("min", "1se"),
        *,
        x: str | None = None,
        slice: int | None = None,
        k: int | Sequence[int] | None = None,
        log: bool = False,
    ) -> Axes:
        """Plot the scores of a `CVPath`, with bars of one standard error, and return the Axes.

        The choices `mark` are labelled; scores of other slices are thin lines. Repeats of the folds
        do not shorten the bars.

        Parameters
        ----------
        ax : Axes, optional
            The Axes to draw into. None makes a figure.
        mark : sequence of str, default ("min", "1se")
            Choices to label.
        x : str, optional
            "k" or "lambda0". None takes k on a support grid.
        slice : int, optional
            The slice with bars. None takes that of the best score.
        k : int, pair of int or range, optional
            The largest size to draw, (smallest, largest) or a range. None means all.
        log : bool, default False
            Whether scores, which must be positive, are on a logarithmic axis. It shows the floor of
            a curve that falls far.

        Returns
        -------
        Axes
            The Axes of matplotlib.

        Raises
        ------
        ValueError
            If x, k or log does not fit.
        LookupError
            If the path does not have the slice.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> cv = l0path.cv_fit(data.X, data.y, cv=5, max_k=6, random_state=1)
        >>> ax = cv.plot()
        >>> ax.get_xlabel()
        'predictors in the model, k'
        """
        from ..plots import plot_cv

        return plot_cv(self, ax, mark, x=x, slice=slice, k=k, log=log)

    def plot_roc(
        self,
        which: Rule | None = None,
        *,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        ax: Axes | None = None,
        label: str | None = None,
        **selector: Unpack[Selector],
    ) -> Axes:
        """ROC curve of the held-out predictions of all folds together: `cv.plot_roc("1se")`.

        Rows are weighted as in the fit. Within a fold the ranking is fair; between folds intercepts
        differ, so the area is not the mean of the areas of the folds, which is `scoring="auc"`.

        Parameters
        ----------
        which : str, int, or callable, default "min"
            The choice, as in `CVPath.index`.
        X, y : array-like, optional
            The data of the fit, needed after loading or pickling only.
        ax, label : as in Path.plot_roc
            The Axes to draw into (None makes a figure), and the label of the curve.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `CVPath.index`.

        Returns
        -------
        Axes
            The Axes of matplotlib.

        Examples
        --------
        >>> import l0path; data = l0path.datasets.load_wdbc()
        >>> cv = l0path.cv_fit(data.X, data.y, loss="logistic", lambda2=1e-3, max_k=3, cv=3)
        >>> ax = cv.plot_roc("min")
        """
        from ..plots import plot_cv_roc

        return plot_cv_roc(self, which, X=X, y=y, ax=ax, label=label, **selector)

    def plot_calibration(
        self,
        which: Rule | None = None,
        *,
        bins: int = 10,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        ax: Axes | None = None,
        label: str | None = None,
        **selector: Unpack[Selector],
    ) -> Axes:
        """Calibration of the held-out predictions of all folds: `cv.plot_calibration("1se")`.

        Parameters
        ----------
        which : str, int, or callable, default "min"
            The choice, as in `CVPath.index`.
        bins : int, default 10
            The number of bins, as in `Path.plot_calibration`.
        X, y : array-like, optional
            The data of the fit, needed after loading or pickling only.
        ax, label : as in Path.plot_roc
            The Axes to draw into (None makes a figure), and the label of the curve.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `CVPath.index`.

        Returns
        -------
        Axes
            The Axes of matplotlib.

        Examples
        --------
        >>> import l0path; data = l0path.datasets.load_wdbc()
        >>> cv = l0path.cv_fit(data.X, data.y, loss="logistic", lambda2=1e-3, max_k=3, cv=3)
        >>> ax = cv.plot_calibration("min", bins=5)
        """
        from ..plots import plot_cv_calibration

        return plot_cv_calibration(self, which, bins=bins, X=X, y=y, ax=ax, label=label, **selector)

    def explore(self, file: str | PathLike | None = None, **options: Any) -> Page:
        """The page of `Path.explore` for `cv.path`, with its held-out scores.

        Parameters
        ----------
        file : str or path, optional
            Where to write the page (it is overwritten). None writes nothing.
        **options : Any
            The options of `Path.explore`.

        Returns
        -------
        Page
            The page, which a notebook shows in a frame.
        """
        from ..report import explore_cv

        return explore_cv(self, file, **options)

    def save(self, file: str | PathLike, *, data: bool = False) -> None:
        """Write the cross-validation to a file: the path, the scores, the folds and their models.

        The data are left out unless data=True: `held_out` and `rescore` then take X= and y= after
        `l0path.load(file)`.

        Parameters
        ----------
        file : str or path
            The file to write. One that is there is replaced as a whole.
        data : bool, default False
            Whether the rows of the fit are stored too, as in `Path.save`: held-out predictions and
            their plots, other scores and refits then need nothing else. Whoever has the file has
            the data.

        Raises
        ------
        ValueError
            For data=True if there are no data in memory.
        OSError
            If the file cannot be written.
        """
        from .storage import save_cv

        return save_cv(self, file, data=data)

    def _repr_html_(self):
        """The choices, and the held-out score against k."""
        from ..report import cv_html

        return cv_html(self)
