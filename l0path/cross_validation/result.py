"""`CVPath`: held-out scores of every solution of a path, and the choice they lead to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core import forward
from ..core.arguments import is_whole
from ..core.describing import spans
from ..core.hints import refuse_attribute
from ..core.printed import Table
from ..core.status import End
from ..core.types import Matrix, Rule, Selector
from ..paths import Model, Path
from ..paths.criteria import RULES
from ..paths.path import SLICES, check_selector
from ..paths.predicting import class_predictors, linear_predictor
from .splits import spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..paths.comparison import Comparison
    from .comparing import Which

CV_RULES = ("min", "sparse", "1se")
SCORED = [
    "k",
    "lambda0",
    "lambda1",
    "lambda2",
    "relax",
    "n_features",
    "cv_mean",
    "cv_sd",
    "cv_se",
    "n_folds",
]
# means closer than this (relative) are equal: sums of the same numbers in another order
SAME = 1e-12


def _not_shrunk(s):
    """A key that ascends from the solution with most shrinkage; of those without any, from that of
    a search without any.
    """
    return -s.relax * s.lambda1, -s.relax * s.lambda2, s.lambda1, s.lambda2


class CVPath(Path):
    """A path with held-out scores, as `cv_fit` and `Path.validate` return it.

    It is the `Path` of the fit on all rows, with three more rules: "min", the best score, the
    choice where no selector is given, "sparse", the fewest coefficients that the folds do not tell
    from it, and "1se", the smallest model within one standard error of it. `cv.model()`,
    `cv.model("1se").refit()`, `cv.predict(X)` and `cv[5]` are as those of a path; of several models
    of a size `cv[5]` is the one with the best score.

    Its rows are those of the slices (lambda1, lambda2), and behind them those of mixtures: `relax`
    is the share g of the shrunken model in g b + (1 - g) b', where b' is the fit without shrinkage
    on the support of b. A model with g < 1 has the optimality "relaxed": its objective is that of
    its own coefficients, which are no optimum.

    Attributes
    ----------
    folds : DataFrame
        The score of each model (row) in each fold (column). `folds.attrs` has the metric
        (`scoring`), whether large values of it are good (`greater_is_better`), and the seed that
        drew the folds (`random_state`).
    splits : list of (train, test)
        The row indices of each fold; None after `Path.validate`.
    status, notes : str, list of str
        How the cross-validation ended, and what was noticed.

    Notes
    -----
    `scores` has the columns k, lambda0, lambda1, lambda2, relax, n_features, cv_mean, cv_sd, cv_se
    and n_folds. cv_mean is the plain mean of the fold scores, cv_sd their sample standard deviation
    s, and cv_se = s / sqrt(number of folds). With repeats both are averaged over the repeats r of
    m_r folds, which cut the same rows anew:

        cv_sd = sqrt(mean s_r^2),    cv_se = sqrt(mean s_r^2 / m_r)

    Folds share training rows and are positively correlated, so cv_se is optimistic; no unbiased
    estimate exists (Bengio & Grandvalet, Journal of Machine Learning Research 5, 2004).
    """

    _default: ClassVar[str | None] = "min"

    def __init__(
        self,
        path: Path,
        folds: pd.DataFrame,
        repeated: pd.DataFrame,
        *,
        scoring: str,
        greater_is_better: bool,
        splits: list | None = None,
        repeats: np.ndarray | None = None,
        fits: list | None = None,
        random_state: int | None = None,
        status: str = "",
        end: End = End.COMPLETE,
        notes: Sequence[str] = (),
        over_rows: tuple | None = None,
    ) -> None:
        super().__init__(path._meta, (), status, notes, path._rounds, path._source, end=End(end))
        # the path itself, whose own status, end and notes a file holds beside those of the folds
        self._solutions, self._path = path._solutions, path
        self.folds, self._repeated, self._scoring = folds, repeated, scoring
        self.folds.attrs.update(
            random_state=random_state, scoring=scoring, greater_is_better=greater_is_better
        )
        self._greater, self.splits, self._seed = greater_is_better, splits, random_state
        self._repeats = np.zeros(folds.shape[1], dtype=np.int64) if repeats is None else repeats
        self._fits, self._spread = fits, over_rows
        self._endless = np.array([s.separated for s in path._solutions], dtype=bool)
        for matched in fits or ():
            self._endless |= [s.separated for s in matched]
        self._notes = list(notes)  # without those about the choice, which depend on the metric
        try:
            best = path._solutions[self.select("min")]
        except LookupError:
            self.notes = [*path.notes, *self.notes]
            return
        self.notes = [*path.notes, *self.notes, *self._left_out(), *self._edges(best)]
        path._source.extra.setdefault("slice", best.slice)  # the slice of the path's plots

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name):
            refuse_attribute(self, name)

    @property
    def scores(self) -> pd.DataFrame:
        """A DataFrame of the scores, with the rows of `table`."""
        mean, sd, se = self._scores()
        scores = {"cv_mean": mean, "cv_sd": sd, "cv_se": se, "n_folds": self.folds.shape[1]}
        return Table(self.details.assign(**scores)[SCORED])

    def _scores(self):
        """(mean, standard deviation, standard error) of the scores of each solution."""
        scores = self.folds.to_numpy()
        with np.errstate(invalid="ignore"):
            sd, se = spread(scores, self._repeats) if self._spread is None else self._spread
            return scores.mean(axis=1), sd, se

    def select(self, rule: Rule | None = None, **selector: Any) -> int:
        """The row of `table` of the one model that a score or a selector names.

        Parameters
        ----------
        rule : str, int, or callable, default "min"
            "min" for the best score. "sparse" for the fewest coefficients of all models whose score
            is within half a standard error of the best, where the standard error is that of the
            difference of both over the folds. "1se" for the fewest of all models whose score is
            within one cv_se of the best (Breiman, Friedman, Olshen & Stone 1984, section 3.4.3).
            Coefficients are counted that are not 0, so a term of five columns counts as five. Ties
            go to the fewest coefficients, then to the best score, then to more shrinkage. Else a
            size, a criterion or a function of the path, as in `Path.select`.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, relax and the others of `Path.select`. With
            the three rules slice, lambda1, lambda2 and relax restrict the choice. A size, or a
            lambda0, that several slices have takes the best score of theirs.

        Returns
        -------
        int
            A row of `table`. NaN scores are never chosen. Models without a finite optimum, on all
            rows or in a fold (they are separated there), are chosen only if there is no other:
            their held-out loss depends on how far their coefficients went.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> cv = l0path.cv_fit(data.X, data.y, cv=5, max_k=8, random_state=1)
        >>> cv.model().k, cv.model("sparse").k, cv.model("1se").k
        (8, 7, 2)
        >>> cv.model(k=3).details[["k", "lambda2", "relax"]].to_dict()
        {'k': 3, 'lambda2': 0.1, 'relax': 1.0}
        """
        check_selector(selector)
        if rule is None and not selector.keys() & {"k", "lambda0", "index"}:
            rule = "min"
        rule = rule.lower() if isinstance(rule, str) else rule
        if isinstance(rule, str) and rule not in (*CV_RULES, *RULES):
            raise ValueError(
                f"rule={rule!r} is not known; choose 'min' (the best score), 'sparse' (the fewest "
                "coefficients within half a paired standard error of it) or '1se' (the fewest "
                f"within one standard error of it), a criterion ({', '.join(RULES)}), "
                "a size (5, or k=5), or a callable taking the path"
            )
        if not isinstance(rule, str) or rule not in CV_RULES:
            candidates = self._of_each_slice(rule, selector)
            if candidates:
                return self._best_score(candidates, "min")
            return super().select(rule, **selector)
        if selector.keys() - set(SLICES):
            raise TypeError(
                f"choose a solution by rule={rule!r} or by {', '.join(selector)}, not both"
            )
        return self._best_score(self._rows(**selector), rule)

    def _of_each_slice(self, rule, selector):
        """The rows that a size, or a lambda0, names: one of each slice that has it. Empty for other
        selectors, and where there is one slice.
        """
        size = selector.get("k") if rule is None else rule
        by = "k" if is_whole(size) else "lambda0"
        names = set() if rule is not None else {by}
        within = {name: value for name, value in selector.items() if name in SLICES}
        if callable(rule) or isinstance(rule, str) or selector.keys() - set(SLICES) != names:
            return []
        slices = {}
        for i in self._rows(**within):
            slices.setdefault(self._solutions[i].slice, []).append(i)
        found = []
        for rows in slices.values() if len(slices) > 1 else ():
            try:
                found.append(
                    self._by_size(int(size), rows)
                    if by == "k"
                    else self._by_lambda0(selector["lambda0"], rows)
                )
            except LookupError as error:
                missing = error
        if len(slices) > 1 and not found:
            raise missing
        return found

    def _best_score(self, rows, rule):
        """The row of the choice by a rule of `CV_RULES` among these rows."""
        mean, _, se = self._scores()
        loss = -mean if self._greater else mean
        rows = [i for i in rows if not np.isnan(loss[i])]
        whole = [i for i in rows if not self._solutions[i].separated]
        rows = [i for i in whole if not self._endless[i]] or whole or rows
        if not rows:
            raise LookupError(f"rule={rule!r}: no solution has a score in every fold")

        def near(rows):
            """Those of the rows with the best score."""
            least = min(loss[i] for i in rows)
            tolerance = SAME * abs(least) if np.isfinite(least) else 0.0
            return [i for i in rows if loss[i] <= least + tolerance], least + tolerance

        def fewest(rows):
            """The row of fewest coefficients, then best score, then most shrinkage."""
            count = {i: self._solutions[i].n_nonzero for i in rows}
            rows = near([i for i in rows if count[i] == min(count.values())])[0]
            return min(rows, key=lambda i: (_not_shrunk(self._solutions[i]), i))

        tied, limit = near(rows)
        best = fewest(tied)
        if rule == "min":
            return int(best)
        if rule == "1se":
            margin = np.full(loss.size, se[best])
        else:
            margin = 0.5 * self._paired(best)
        if np.isnan(margin[best]):
            raise LookupError(
                f"rule={rule!r} needs standard errors: two folds or more"
                + (", or a metric that is a mean over rows" if rule == "1se" else "")
                + "; use rule='min'"
            )
        return int(fewest([i for i in rows if loss[i] <= limit + margin[i]]))

    def _paired(self, best):
        """The standard errors (solutions,) of the differences of scores from one of them."""
        folds = self.folds.to_numpy()
        with np.errstate(invalid="ignore"):  # a metric may be infinite
            return spread(folds - folds[best], self._repeats)[1]

    def held_out(
        self,
        rule: Rule | None = None,
        type: str | None = None,
        *,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> np.ndarray:
        """Predictions of each row by the folds that left it out.

        Parameters
        ----------
        rule, **selector : as in CVPath.select
            The choice. Without one, it is "min".
        type : str, optional
            As in `Path.predict`. Repeats are averaged: "response" over the responses, "link" over
            the linear predictors. "class" is the side on which the mean linear predictor lies.
        X, y : array-like, optional
            The data of the fit, needed after loading or pickling only.

        Returns
        -------
        ndarray of shape (n,) or Series
            NaN for a row in no fold. After a fit by a formula a Series with the labels of the rows
            that were used.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> cv = l0path.cv_fit(data.X, data.y, cv=5, max_k=8, random_state=1)
        >>> cv.held_out("1se")[:3].round(0)
        array([ 509.,  550., 1024.])
        """
        if self.splits is None:
            raise ValueError("held_out belongs to cv_fit; for a validation set use predict(X, ...)")
        i = self.select(rule, **selector)
        data = self._data(X, y)
        shape = data.y.shape
        if self._meta.ordered and type != "link":
            shape = len(data.y), len(self.classes)
        total, times = np.zeros(shape), np.zeros(shape)
        for (_, test), fits in zip(self.splits, self._fits, strict=True):
            eta = linear_predictor(data.design, data.offset, fits[i])[test]
            eta = eta if type == "link" else class_predictors(fits[i], eta)
            np.add.at(total, test, eta if type == "class" else self._transform(eta, type))
            np.add.at(times, test, 1.0)
        if type == "class":
            if not times.all():
                raise ValueError(
                    f"type='class': {np.count_nonzero(times == 0)} rows are in no fold, so they "
                    "have no held-out class; use type='link', which is NaN there"
                )
            return self._labeled(self._transform(total, "class"))
        return self._labeled(
            np.divide(total, times, out=np.full(times.shape, np.nan), where=times > 0)
        )

    def predict_interval(
        self,
        X: Matrix,
        rule: Rule | None = None,
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
        rule, **selector : as in CVPath.select
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
        return forward.predict_interval(
            self, X, rule, level=level, method=method, offset=offset, data=data, **selector
        )

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
        return forward.metrics(self, scoring, X=X, y=y)

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
        return forward.rescore(self, scoring, X=X, y=y)

    def difference(
        self,
        other: CVPath,
        rule: Which = "min",
        other_rule: Which = None,
    ) -> pd.Series:
        """The score of one model less that of another on the same folds, fold by fold.

        Differences between hard and easy folds, which both scores share, drop out, so the standard
        error of the difference is often smaller than those of the two scores.

        Parameters
        ----------
        other : CVPath
            The cross-validation of the same rows, folds and metric: of another loss, formula or
            penalty, or this one, for two models of one path.
        rule : str, int, callable, or dict, default "min"
            The choice of the model in this one, as in `CVPath.model`.
        other_rule : str, int, callable, or dict, optional
            The choice in the other one. None means the same as `rule`.

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
        {'difference': -11619.0, 'se': 5869.0, 'se_corrected': 8804.0, 'n_folds': 5.0}
        """
        return forward.difference(self, other, rule, other_rule)

    def compare(
        self,
        models: Sequence[Rule | Model | dict],
        *,
        names: Sequence[str] | None = None,
        standardized: bool = False,
        criteria: Sequence[str] = (),
        se: bool | str = False,
        ci: float | None = None,
        exponentiate: bool = False,
        **within: Unpack[Selector],
    ) -> Comparison:
        """Some models side by side, fitted on all rows, with their held-out scores.

        Parameters
        ----------
        models : list
            As in `Path.compare`, with the rules "min", "sparse" and "1se", too.
        names : list of str, optional
            The heads of the columns, as in `Path.compare`.
        standardized : bool, default False
            Whether coefficients are b_j = s_j beta_j, and the intercept that at the column means.
        criteria : sequence of str, default ()
            Columns of `Path.score_table` to be shown too, such as "aic" and "bic".
        se : bool or str, default False
            Whether standard errors are shown, as in `Path.compare`.
        ci : float, optional
            The level of confidence intervals, as in `Path.compare`.
        exponentiate : bool, default False
            Whether exp of the coefficients is shown, as in `Path.compare`.
        **within : int or float
            slice, lambda1, lambda2, relax: the slice that sizes and rules are about, where there
            are several.

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
        cv_mean     116500.0     128100.0
        cv_se        17000.0      18400.0
        """
        return forward.compare_cv(
            self,
            models,
            names=names,
            standardized=standardized,
            criteria=criteria,
            se=se,
            ci=ci,
            exponentiate=exponentiate,
            **within,
        )

    def plot(
        self,
        kind: str = "scores",
        x: str | None = None,
        mark: dict | int | str | Callable | Sequence | None = None,
        slice: int | None = None,
        ax: Axes | None = None,
        standardized: bool = True,
        *,
        k: int | float | Sequence[int] | None = None,
        labels: Mapping[str, str] | None = None,
        response: str | None = None,
        class_: Any = None,
        log: bool = False,
    ) -> Axes:
        """Plot the scores, with bars of one standard error, or the path, and return the Axes.

        Where there are several slices, of each size the best score of all is drawn, and those of
        each slice are thin lines. The choices `mark` are labeled. Repeats of the folds do not
        shorten the bars.

        Parameters
        ----------
        kind : str, default "scores"
            "scores", or a kind of `Path.plot`: coef, loss, criteria, lambda0, gap or support, with
            its arguments.
        x : str, optional
            "k" or "lambda0". None takes k on a path of sizes.
        mark : dict, int, str, callable, or list, optional
            The models to mark, as in `Path.plot`. For the scores rules, None for "min" and "1se".
        slice : int, optional
            The slice with bars. None takes the best of each size, on a lambda0 grid the slice of
            the best score.
        ax : Axes, optional
            The Axes to draw into. None makes a figure.
        standardized : bool, default True
            As in `Path.plot`; not for the scores.
        labels, response, class_ : optional
            As in `Path.plot`; not for the scores.
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
        'features in the model, k'
        """
        more = {"k": k, "labels": labels, "response": response, "class_": class_, "log": log}
        return forward.plot_cv(self, kind, x, mark, slice, ax, standardized=standardized, **more)

    def plot_roc(
        self,
        rule: Rule | None = None,
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
        rule : str, int, or callable, default "min"
            The choice, as in `CVPath.select`.
        X, y : array-like, optional
            The data of the fit, needed after loading or pickling only.
        ax, label : as in Model.plot
            The Axes to draw into (None makes a figure), and the label of the curve.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, relax, as in `CVPath.select`.

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
        return forward.plot_cv_roc(self, rule, X=X, y=y, ax=ax, label=label, **selector)

    def plot_calibration(
        self,
        rule: Rule | None = None,
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
        rule : str, int, or callable, default "min"
            The choice, as in `CVPath.select`.
        bins : int, default 10
            The number of bins, as in `Model.plot`.
        X, y : array-like, optional
            The data of the fit, needed after loading or pickling only.
        ax, label : as in Model.plot
            The Axes to draw into (None makes a figure), and the label of the curve.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, relax, as in `CVPath.select`.

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
        return forward.plot_cv_calibration(
            self, rule, bins=bins, X=X, y=y, ax=ax, label=label, **selector
        )

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
        return forward.save_cv(self, file, data=data)

    def _labeled(self, values):
        """Values by row, with the row labels of a formula's data where they are at hand."""
        meta = self._meta
        if meta.formula is None or meta.formula.index is None:
            return values
        if values.ndim == 2:
            return pd.DataFrame(values, index=meta.formula.index, columns=meta.response_index)
        return pd.Series(values, index=meta.formula.index, name=meta.response)

    def _left_out(self):
        """A note on the models that are no choice because they have no finite optimum."""
        out = [s for s, endless in zip(self._solutions, self._endless, strict=True) if endless]
        if not out:
            return []
        sizes = {s.k for s in out}
        which = f"k = {spans(sizes) if len(sizes) > 1 else min(sizes)}"
        shrunk = any(s.lambda1 or s.lambda2 for s in self._solutions)
        remedy = "" if shrunk else "; pass lambda2=1e-3 to compare them"
        chosen = (
            "every model is one, so that scores depend on how far coefficients went"
            if self._endless.all()
            else "they are not chosen, because their held-out loss has no limit"
        )
        return [
            f"without shrinkage models of {which} have no finite optimum on all rows, or in a fold "
            f"(separation); {chosen}{remedy}"
        ]

    def _larger_sizes(self, s):
        return self._path._larger_sizes(s)  # how the path ended counts, not how the folds did

    def _edges(self, best):
        """Notes where the best solution lies at an edge of the values that were tried."""
        notes = []
        whole = [s for s, out in zip(self._solutions, self._endless, strict=True) if not out]
        for name in ("lambda1", "lambda2"):
            tried = {getattr(s, name) for s in self._solutions}
            at = getattr(best, name)
            if len(tried) < 2 or not best.n_nonzero:
                continue
            of_size = [getattr(s, name) for s in whole if s.k == best.k]
            end = "largest" if at == max(tried) else ""
            if not end and at == min(of_size, default=0.0) > 0.0:  # there is nothing below 0
                end = "smallest"
            if end:
                finite = "" if end == "largest" or at == min(tried) else " with a finite optimum"
                notes.append(
                    f"the best score is at the {end} {name} tried{finite}, {at:.4g}; widen the "
                    f"grid: {name}=[...]"
                )
        if self._larger_sizes(best):
            notes.append(
                f"the best score is at the largest size tried, k = {best.k}, and larger ones may "
                f"be better; raise max_k="
            )
        return notes

    def _without_data(self):
        out = super()._without_data()
        out._path = self._path._without_data()
        return out

    def __repr__(self):
        table, parts = self.scores, []
        several = [name for name in ("lambda2", "relax") if table[name].nunique() > 1]
        for which in CV_RULES:
            try:
                i = self.select(which)
            except LookupError:
                continue
            parts.append(
                f"{which}: k = {table.k[i]}, "
                + "".join(f"{name} {table[name][i]:.4g}, " for name in several)
                + f"{table.cv_mean[i]:.4g}"
                + (f" (se {table.cv_se[i]:.2g})" if np.isfinite(table.cv_se[i]) else "")
            )
        folds = f"{self.folds.shape[1]} folds" if self.splits is not None else "validation rows"
        return (
            f"<l0path.CVPath: {self._meta.loss} loss, {folds}, scoring {self._scoring}; "
            f"{'; '.join(parts) or 'no score'}; {self.status}>"
        )

    def _repr_html_(self):
        """The choices, and the held-out score against k."""
        return forward.cv_html(self)
