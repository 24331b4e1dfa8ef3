"""`Path`: methods that compare solutions, draw and store them. Their code is in other modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from numpy.typing import ArrayLike

from ..core.types import Matrix, Rule, Selector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..cross_validation import CVPath
    from ..inspection.model_set import ModelSet
    from ..report import Page
    from .comparison import Comparison
    from .model import Model


class Showing:
    """Methods of `Path`, each with its full signature."""

    def compare(
        self,
        models: Sequence[Rule | Model | dict],
        *,
        standardized: bool = False,
        criteria: Sequence[str] = ("aic", "bic"),
        se: bool | str = False,
        **within: Unpack[Selector],
    ) -> Comparison:
        """Some models of the path side by side.

        Parameters
        ----------
        models : list
            Sizes (5), rules ("bic", a function), selectors as dicts ({"k": 5, "slice": 1},
            {"index": 7}), or Models of this path, in the order of the columns.
        standardized : bool, default False
            Whether coefficients are b_j = s_j beta_j, and the intercept that at the column means.
        criteria : sequence of str, default ("aic", "bic")
            Columns of `score_table`, such as "aic", "bic", "r2_adjusted", "cp".
        se : bool or str, default False
            True adds standard errors, those of `Path.refit`, and a name those of this `cov_type`,
            such as "HC3". The coefficients are then those of the refits, which have no penalty; of
            several classes log odds against the first one. They take no account of a choice by
            these rows.
        **within : int or float
            slice, lambda1, lambda2: the slice that sizes and rules are about, where there are
            several.

        Returns
        -------
        Comparison
            A DataFrame with a column for each model. Its rows are the coefficients by name, NaN
            (blank in print) where a model does not have the feature; `n`, `k`, the loss, the
            objective where this is not the loss, and the deviance ratio; the criteria, where the
            loss has a likelihood; what was checked (`optimality`), and the gap to the lower bound
            where there is one. Printing, `to_latex()` and `to_markdown()` round; the cells are the
            numbers themselves.

        Raises
        ------
        TypeError, ValueError, or LookupError
            If a selector names no solution, or several, or a criterion is unknown.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.compare([2, 3, 4])
        squared loss of Salary
        k                                 2        3        4
        coefficient (Intercept)      -47.96   -71.46    13.92
                    Hits              3.301    2.804    2.676
                    CRBI             0.6899   0.6825   0.6818
                    Division_W                         -140.0
                    PutOuts                   0.2736   0.2735
        fit         n                   263      263      263
                    k                     2        3        4
                    loss              58263    55607    53177
                    deviance_ratio   0.4252   0.4514   0.4754
        criterion   aic             3820.49  3810.21  3800.46
                    bic             3831.20  3824.50  3818.32
        check       optimality       global   global   global
                    gap               1e-08    1e-08    1e-08
        >>> table = path.compare([5, "bic"])
        >>> table.loc["fit"].loc["deviance_ratio"].astype(float).round(3).tolist()
        [0.491, 0.509]
        """
        from .comparison import compare

        return compare(self, models, standardized=standardized, criteria=criteria, se=se, **within)

    def plot(
        self,
        kind: str = "coef",
        x: str = "k",
        mark: dict | int | str | Callable | list | None = None,
        slice: int | None = None,
        ax: Axes | None = None,
        standardized: bool = True,
        *,
        k: int | float | Sequence[int] | None = None,
        labels: Mapping[str, str] | None = None,
        response: str | None = None,
        class_: Any = None,
    ) -> Axes:
        """Plot the path and return the Axes.

        The numbers behind a plot are `l0path.plots.data(path, kind, x=..., slice=..., k=...)`.

        Parameters
        ----------
        kind : str, default "coef"
            "coef": coefficients, with names at the right margin, those of the columns of the marked
            models, or the twelve largest of the last model; a coefficient that is in for one size
            alone is a point; a feature has the same colour in all plots of a path, and the columns
            of a group share one, distinguished by dashes and labels. "loss": mean loss and deviance
            ratio. "criteria": information criteria, as differences from their minima. "lambda0":
            the interval of lambda0 for which each size is best. "gap": the gap between objective
            and lower bound, in percent of the objective. "support": which features, or groups, are
            in, for every size, in the colours of the signs (blue: positive).
        x : str, default "k"
            "k", "lambda0" (logarithmic, falling to the right; the curves are steps, of the models
            that are best for some lambda0) or "l1" (sum of absolute standardised coefficients). It
            is used by the kinds coef, loss, criteria and gap.
        mark : dict, int, str, callable, or list, optional
            A selector as a dict ({"k": 5}), an index, or a rule ("bic", a function), or a list of
            these: vertical lines. None marks nothing.
        slice : int, optional
            The slice of a path with several. None takes that of `mark`, else the one that
            cross-validation chose where the path comes from `cv_fit`, else the one with most
            solutions and least shrinkage (the title says which). loss and gap show all.
        ax : Axes, optional
            The Axes to draw into. None makes a figure.
        standardized : bool, default True
            Whether coefficients are standardised, or in units of y and X.
        k : int, pair of int or range, optional
            The largest size to draw, (smallest, largest) or a range; np.inf means all. None means
            all, but for coefficients and supports with a `mark` five sizes beyond the largest one
            marked (half of it again, if that is more), and without one up to 30 of a path beyond
            k = 40 (the title says so). Labels are those of the largest
            size drawn; minima of criteria are those of the whole path.
        labels : dict, optional
            {name: text} of features, or groups, to be renamed in the plot.
        response : str, optional
            Of several responses: the one whose coefficients are drawn, with their signs. None draws
            the norms of the coefficients over all responses.
        class_ : optional
            The same of several classes.

        Returns
        -------
        Axes
            The Axes of matplotlib.

        Raises
        ------
        ValueError
            If kind, x, response or class_ is unknown, or k is no range.
        LookupError
            If a mark is not drawn.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> ax = path.plot("coef", mark="bic")
        >>> ax.figure.savefig("coefficients.png")  # doctest: +SKIP
        """
        from ..plots import plot

        return plot(
            self,
            kind,
            x,
            mark,
            slice,
            ax,
            standardized,
            **{"k": k, "labels": labels, "response": response, "class_": class_},
        )

    def plot_roc(
        self,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        rule: Rule | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        ax: Axes | None = None,
        label: str | None = None,
        **selector: Unpack[Selector],
    ) -> Axes:
        """ROC curve of one model of a path, by scikit-learn's RocCurveDisplay.

        The area under it with its 95 % confidence interval is in the legend (`l0path.plots.auc`),
        the positive class in the title. Curves drawn into the same `ax` take colours and dashes in
        turn.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design, optional
            The rows to be ranked. Without X and y these are the rows of the fit, which flatter the
            model.
        y : array-like of shape (m,), optional
            Their labels.
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        sample_weight, offset : array-like of shape (m,), optional
            Weights and offset of the rows.
        ax : Axes, optional
            The Axes to draw into. None makes a figure.
        label : str, optional
            The label of the curve. None names the size.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        Axes
            The Axes of matplotlib.

        Raises
        ------
        ValueError
            If the path does not classify, or only one class is in the rows.
        TypeError or LookupError
            If the selector names no solution, or several.
        """
        from ..plots import plot_roc

        return plot_roc(
            self,
            X,
            y,
            rule,
            sample_weight=sample_weight,
            offset=offset,
            ax=ax,
            label=label,
            **selector,
        )

    def plot_survival(
        self,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        rule: Rule | None = None,
        *,
        groups: int = 3,
        risk: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        strata: ArrayLike | str | None = None,
        ax: Axes | None = None,
        **selector: Unpack[Selector],
    ) -> Axes:
        """Survival curves of groups of rows by risk, for loss="cox".

        Rows are put into groups of about equal size by their linear predictor. The curves are
        Kaplan-Meier estimates with 95 % limits (`l0path.plots.kaplan_meier`); ticks are censored
        rows. The rows of the fit flatter the model: give new ones, or held-out predictions,
        `path.plot_survival(risk=cv.held_out("1se"))`.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design, optional
            The rows. Without X and y these are the rows of the fit.
        y : array-like, optional
            Their times and events.
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        groups : int, default 3
            The number of groups. Equal predictors stay together, so there may be fewer.
        risk : array-like of shape (n,), optional
            Other risk scores of the rows of the fit, in the place of a model; NaN leaves a row out.
        sample_weight, offset, strata : array-like of shape (m,), optional
            Weights, offset and strata of the rows. Strata are checked, and change no curve.
        ax : Axes, optional
            The Axes to draw into. None makes a figure.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        Axes
            The Axes of matplotlib.
        """
        from ..plots import plot_survival

        return plot_survival(
            self,
            X,
            y,
            rule,
            **{"sample_weight": sample_weight, "offset": offset, "strata": strata},
            **{"groups": groups, "risk": risk, "ax": ax, **selector},
        )

    def plot_calibration(
        self,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        rule: Rule | None = None,
        *,
        bins: int = 10,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        ax: Axes | None = None,
        label: str | None = None,
        **selector: Unpack[Selector],
    ) -> Axes:
        """Calibration curve of one model of a path: what was observed against what was predicted.

        It shows the share of positives against the mean probability in bins of about equal weight,
        with 95 % Wilson intervals, above a histogram of the probabilities (of the first curve in
        `ax`). A curve on the diagonal is well calibrated, a flatter one overfitted. The numbers are
        `l0path.plots.calibration(y, probability, bins, sample_weight)`.

        Several classes have a curve for each, ordered ones for each threshold. Numbers have their
        mean (`l0path.plots.calibration_of_means`), quantiles the share of responses below them.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design, optional
            The rows. Without X and y these are the rows of the fit, which flatter the model.
        y : array-like of shape (m,), optional
            Their responses or labels.
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        bins : int, default 10
            The number of bins. Equal probabilities stay together, so there may be fewer.
        sample_weight, offset : array-like of shape (m,), optional
            Weights and offset of the rows.
        ax : Axes, optional
            The Axes to draw into. None makes a figure.
        label : str, optional
            The label of the curve. None names the size.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        Axes
            The Axes of matplotlib.

        Raises
        ------
        ValueError
            If the loss has no probabilities or means (hinges, Cox), or bins < 1.
        TypeError or LookupError
            If the selector names no solution, or several.
        """
        from ..plots import plot_calibration

        return plot_calibration(
            self,
            X,
            y,
            rule,
            bins=bins,
            sample_weight=sample_weight,
            offset=offset,
            ax=ax,
            label=label,
            **selector,
        )

    def explore(
        self,
        file: str | PathLike | None = None,
        cv: CVPath | None = None,
        *,
        alternatives: int = 5,
        time_limit: float = 30,
        title: str | None = None,
        show: bool = False,
        near_best: ModelSet | None = None,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        progress: bool | None = None,
    ) -> Page:
        """A page to look through the path with slider and keyboard: one HTML file that is complete.

        For every model it shows its features with coefficients, where it lies on the curves of
        coefficients, fit, held-out score and bound, and the exchanges of one feature that come
        nearest. Slices have a selection list; best held-out score, one standard error and criteria
        have buttons. Two models stand side by side, the chosen one is downloaded as CSV or (where
        `Model.to_python` serves it) as code. With cv= it has prediction intervals. Of several
        responses or classes it shows the coefficients of one.

        Parameters
        ----------
        file : str or path, optional
            Where to write the page (it is overwritten). None writes nothing.
        cv : CVPath, optional
            The cross-validation of this path, for its held-out scores; `cv.explore()` is the same.
        alternatives : int, default 5
            Exchanges listed for each model, 0 for none (see `Path.alternatives`; not for groups,
            nor without the data).
        time_limit : float or None, default 30
            Seconds for the exchanges, None for no limit. The models chosen by scores and criteria
            come first, then the others by size. Ctrl-C ends them too.
        title : str, optional
            The title of the page. The default names the response.
        show : bool, default False
            Whether to open the page in a browser.
        near_best : ModelSet, optional
            Models nearly as good as the best one, of `Path.near_best`, for a section of their own:
            the signs of their columns (the first 100 models, the 40 most frequent columns), how
            often each column is in, and the sets of columns of which every model needs one.
        X, y : array-like, optional
            The data of the fit, needed for `alternatives` after loading a path.
        progress : bool, optional
            A bar on stderr that shows the exchanges, as in `l0path.fit`.

        Returns
        -------
        Page
            The page, which a notebook shows in a frame.

        Raises
        ------
        ValueError
            If cv is of another path, limits are out of range, or X and y are not those of the fit.
        TypeError
            If cv is no CVPath.
        OSError
            If the file cannot be written.
        """
        from ..report import explore

        return explore(
            self,
            file,
            cv,
            alternatives=alternatives,
            time_limit=time_limit,
            title=title,
            show=show,
            near_best=near_best,
            X=X,
            y=y,
            progress=progress,
        )

    def save(self, file: str | PathLike, *, data: bool = False) -> None:
        """Write the path to a file, which `l0path.load(file)` reads back.

        The data are left out unless data=True.

        Parameters
        ----------
        file : str or path
            The file to write, of any name; .npz is customary. It is replaced as a whole: where
            writing fails, a path that was there stays.
        data : bool, default False
            Whether the rows of the fit are stored too: X, y, weights and offset, and with a formula
            the whole table that it was given. The loaded path then gives refits, summaries, proofs
            and plots as this one does. Whoever has the file has the data: leave them out where rows
            are confidential.

        Raises
        ------
        ValueError
            If the loss is your own, whose code is never stored; for data=True if the path has no
            data, or X is not held in memory (files, clusters, designs of your own).
        OSError
            If the file cannot be written, for example because the disk is full.

        Examples
        --------
        >>> import l0path, os, tempfile
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y, max_k=3)
        >>> file = os.path.join(tempfile.mkdtemp(), "path.npz"); path.save(file, data=True)
        >>> l0path.load(file).certify(k=2).proven
        True
        """
        from .storage import save

        return save(self, file, data=data)

    def _repr_html_(self):
        """A header, the head of the table, and deviance ratio against k."""
        from ..report import path_html

        return path_html(self)
