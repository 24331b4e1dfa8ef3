"""`CVPath`: held-out scores of every solution of a path, and the choice they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.describing import spans
from ..core.hints import refuse_attribute
from ..core.printed import Table
from ..core.status import End
from ..core.types import Matrix, Rule, Selector
from ..engine.posing import default_max_k
from ..paths import Model, Path
from ..paths.criteria import RULES
from ..paths.predicting import class_predictors, linear_predictor
from .showing import ShowingScores
from .splits import spread

CV_RULES = ("min", "1se")
SELECTORS = ("k", "lambda0", "index", "slice", "lambda1", "lambda2")
SCORED = [
    "k",
    "lambda0",
    "lambda1",
    "lambda2",
    "n_nonzero",
    "cv_mean",
    "cv_sd",
    "cv_se",
    "n_folds",
]
# means closer than this (relative) are equal: sums of the same numbers in another order
SAME = 1e-12


class CVPath(ShowingScores):
    """A path with held-out scores, as `cv_fit` and `Path.validate` return it.

    Attributes
    ----------
    path : Path
        The fit on all rows.
    folds, repeated : DataFrame
        The score of each solution (row) in each fold (column), and whether the path of the fold
        ended before that size (or lambda0), so that its last solution stands in.
    scoring, greater_is_better : str, bool
        The metric, and whether large values of it are good.
    splits, repeats : list of (train, test), ndarray of shape (n_folds,)
        The row indices of each column of `folds`, and its repeat, 0 without repeats.
    random_state : int or None
        The seed that drew the folds.
    status, notes : str, list of str
        How the cross-validation ended, and what was noticed.
    end : End
        The same as a value: complete, time_limit or interrupted.

    Notes
    -----
    `table` has the columns k, lambda0, lambda1, lambda2, n_nonzero, cv_mean, cv_sd, cv_se and
    n_folds. cv_mean is the plain mean of the fold scores, cv_sd their sample standard deviation s,
    and cv_se = s / sqrt(number of folds). With repeats both are averaged over the repeats r of m_r
    folds, which cut the same rows anew:

        cv_sd = sqrt(mean s_r^2),    cv_se = sqrt(mean s_r^2 / m_r)

    Folds share training rows and are positively correlated, so cv_se is optimistic; no unbiased
    estimate exists (Bengio & Grandvalet, Journal of Machine Learning Research 5, 2004).
    """

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
        self.path, self.folds, self.repeated, self.scoring, self.greater_is_better = (
            path,
            folds,
            repeated,
            scoring,
            greater_is_better,
        )
        self.splits, self.random_state = splits, random_state
        self.status, self.end, self.notes = status, End(end), list(notes)
        self.repeats = np.zeros(folds.shape[1], dtype=np.int64) if repeats is None else repeats
        self._fits, self._spread = fits, over_rows
        self._endless = np.array([s.separated for s in path.solutions], dtype=bool)
        for matched in fits or ():
            self._endless |= [s.separated for s in matched]
        self._notes = list(notes)  # without those about the choice, which depend on the metric
        try:
            best = path.solutions[self.index("min")]
        except LookupError:
            return
        self.notes += self._left_out() + self._edges(best)
        path._source.extra.setdefault("slice", best.slice)  # the slice of the path's plots

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name):
            refuse_attribute(self, name, "path")

    @property
    def table(self) -> pd.DataFrame:
        """A DataFrame of the scores, with the rows of `path.table`."""
        mean, sd, se = self._scores()
        scores = {"cv_mean": mean, "cv_sd": sd, "cv_se": se, "n_folds": self.folds.shape[1]}
        return Table(self.path.table.assign(**scores)[SCORED])

    def _scores(self):
        """(mean, standard deviation, standard error) of the scores of each solution."""
        scores = self.folds.to_numpy()
        with np.errstate(invalid="ignore"):
            sd, se = spread(scores, self.repeats) if self._spread is None else self._spread
            return scores.mean(axis=1), sd, se

    def index(self, which: Rule | None = None, **selector: Unpack[Selector]) -> int:
        """The index of a solution, by its score or by a selector.

        Parameters
        ----------
        which : str, int, or callable, default "min"
            "min" for the best score, where ties go to the fewest nonzeros. "1se" for the fewest
            nonzeros, then the best score, of all solutions whose score is within one cv_se of the
            best (Breiman, Friedman, Olshen & Stone 1984, section 3.4.3); coefficients are counted
            that are not 0, so a term of five columns counts as five. Else a size, a criterion or a
            function of the path, as in `Path.index`; a criterion chooses among the rows of `table`,
            while `cv.path.model("bic")` compares all sets of terms.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`. With "min" and "1se",
            slice, lambda1 and lambda2 restrict the choice.

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
        >>> cv.index(), cv.index("1se"), cv.index(k=3)
        (8, 2, 3)
        """
        if which is None and not selector.keys() & {"k", "lambda0", "index"}:
            which = "min"
        if isinstance(which, str) and which.lower() not in (*CV_RULES, *RULES):
            raise ValueError(
                f"which={which!r} is not known; choose 'min' (the best score) or '1se' (the fewest "
                f"features within one standard error of it), a criterion ({', '.join(RULES)}), "
                "a size (5, or k=5), or a callable taking the path"
            )
        if not isinstance(which, str) or which not in CV_RULES:
            if isinstance(which, str) and not selector:  # rows have scores, other models have none
                return self.path.select(which, rows=range(len(self.path)))
            return self.path.index(which, **selector)
        if selector.keys() - {"slice", "lambda1", "lambda2"}:
            raise TypeError(
                f"choose a solution by which={which!r} or by {', '.join(selector)}, not both"
            )
        rows = self.path._rows(*(selector.get(name) for name in ("slice", "lambda1", "lambda2")))
        mean, _, se = self._scores()
        loss = -mean if self.greater_is_better else mean
        count = [s.n_nonzero for s in self.path.solutions]
        rows = [i for i in rows if not np.isnan(loss[i])]
        whole = [i for i in rows if not self.path.solutions[i].separated]
        rows = [i for i in whole if not self._endless[i]] or whole or rows
        if not rows:
            raise LookupError(f"which={which!r}: no solution has a score in every fold")
        least = min(loss[i] for i in rows)
        tolerance = SAME * abs(least) if np.isfinite(least) else 0.0
        best = min((i for i in rows if loss[i] <= least + tolerance), key=lambda i: (count[i], i))
        if which == "min":
            return int(best)
        if np.isnan(se[best]):
            raise LookupError(
                "which='1se' needs standard errors: two folds or more, or a metric that is a mean "
                "over rows; use which='min'"
            )
        near = [i for i in rows if loss[i] <= least + se[best] + tolerance]
        return int(min(near, key=lambda i: (count[i], loss[i], i)))

    def model(self, which: Rule | None = None, **selector: Unpack[Selector]) -> Model:
        """The `Model`, fitted on all rows, that `CVPath.index` chooses.

        Parameters
        ----------
        which, **selector : as in CVPath.index
            The choice. Without one, it is "min".

        Returns
        -------
        Model
            One solution of `path`.
        """
        return self.path.model(index=self.index(which, **selector))

    def coef(
        self,
        which: Rule | None = None,
        *,
        standardized: bool = False,
        full: bool = False,
        baseline: object = None,
        **selector: Unpack[Selector],
    ) -> pd.Series | pd.DataFrame:
        """The coefficients of the fit on all rows, as `Path.coef` gives them.

        Parameters
        ----------
        which, **selector : as in CVPath.index
            The choice. Without one, it is "min".
        standardized, full : bool, default False
            Whether to standardise the coefficients, and whether to list all p columns, as in
            `Path.coef`.
        baseline : object, optional
            A class of the multinomial loss against which coefficients are log odds.

        Returns
        -------
        Series or DataFrame
            "(Intercept)" and the coefficients, in units of y and X; a DataFrame for several
            responses or classes.
        """
        i = self.index(which, **selector)
        return self.path.coef(index=i, standardized=standardized, full=full, baseline=baseline)

    def predict(
        self,
        X: Matrix,
        which: Rule | None = None,
        *,
        type: str | None = None,
        offset: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> np.ndarray | pd.Series:
        """Predictions for new rows by the fit on all rows, as `Path.predict` makes them.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows, as in `Path.predict`.
        which, **selector : as in CVPath.index
            The choice. Without one, it is "min".
        type : str, optional
            "response", "link" or "class", as in `Path.predict`.
        offset : array-like of shape (m,) or str, optional
            The offset of the new rows, if the fit had one.

        Returns
        -------
        ndarray of shape (m,) or Series
            A Series with the index of X for a DataFrame.
        """
        return self.path.predict(X, index=self.index(which, **selector), type=type, offset=offset)

    def held_out(
        self,
        which: Rule | None = None,
        type: str | None = None,
        *,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> np.ndarray:
        """Predictions of each row by the folds that left it out.

        Parameters
        ----------
        which, **selector : as in CVPath.index
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
            raise ValueError(
                "held_out belongs to cv_fit; for a validation set use path.predict(X, ...)"
            )
        i = self.index(which, **selector)
        data = self.path.data(X, y)
        shape = data.y.shape
        if self.path.meta.ordered and type != "link":
            shape = len(data.y), len(self.path.classes)
        total, times = np.zeros(shape), np.zeros(shape)
        for (_, test), fits in zip(self.splits, self._fits, strict=True):
            eta = linear_predictor(data.design, data.offset, fits[i])[test]
            eta = eta if type == "link" else class_predictors(fits[i], eta)
            np.add.at(total, test, eta if type == "class" else self.path._transform(eta, type))
            np.add.at(times, test, 1.0)
        if type == "class":
            if not times.all():
                raise ValueError(
                    f"type='class': {np.count_nonzero(times == 0)} rows are in no fold, so they "
                    "have no held-out class; use type='link', which is NaN there"
                )
            return self._labelled(self.path._transform(total, "class"))
        return self._labelled(
            np.divide(total, times, out=np.full(times.shape, np.nan), where=times > 0)
        )

    def _chosen(self, which, options):
        """The index that `which` and the selectors among the options name; these are taken out."""
        names = [name for name in SELECTORS if name in options]
        return self.index(which, **{name: options.pop(name) for name in names})

    def refit(self, which: Rule | None = None, **options: Any) -> Any:
        """Statsmodels results of the chosen model, as in `Path.refit`: `cv.refit("1se",
        cov_type="HC3")`.

        Parameters
        ----------
        which, **options : as in CVPath.index
            The choice ("min" if there is none), and the options of `Path.refit`.

        Returns
        -------
        Any
            The results of statsmodels. The rows of the fit chose the columns of the model and its
            size.
        """
        return self.path.refit(index=self._chosen(which, options), **options)

    def summary(self, which: Rule | None = None, **options: Any) -> Any:
        """The `Summary` of the chosen model, as in `Path.summary`.

        Parameters
        ----------
        which, **options : as in CVPath.index
            The choice (without one, "min"), and the options of `Path.summary`.

        Returns
        -------
        Summary
            A table with one row per feature.
        """
        return self.path.summary(index=self._chosen(which, options), **options)

    def certify(self, which: Rule | None = None, **options: Any) -> Any:
        """The `Certificate` of the chosen model, as in `Path.certify`.

        Parameters
        ----------
        which, **options : as in CVPath.index
            The choice (without one, "min"), and the options of `Path.certify`.

        Returns
        -------
        Certificate
            The result for the fit on all rows; nothing is said about the folds.
        """
        return self.path.certify(index=self._chosen(which, options), **options)

    def _labelled(self, values):
        """Values by row, with the row labels of a formula's data where they are at hand."""
        meta = self.path.meta
        if meta.formula is None or meta.formula.index is None:
            return values
        if values.ndim == 2:
            return pd.DataFrame(values, index=meta.formula.index, columns=meta.response_index)
        return pd.Series(values, index=meta.formula.index, name=meta.response)

    def _left_out(self):
        """A note on the models that are no choice because they have no finite optimum."""
        out = [s for s, endless in zip(self.path.solutions, self._endless, strict=True) if endless]
        if not out:
            return []
        sizes = {s.k for s in out}
        which = f"k = {spans(sizes) if len(sizes) > 1 else min(sizes)}"
        shrunk = any(s.lambda1 or s.lambda2 for s in self.path.solutions)
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

    def _edges(self, best):
        """Notes where the best solution lies at an edge of the values that were tried."""
        notes = []
        for name in ("lambda1", "lambda2"):
            tried = sorted({getattr(s, name) for s in self.path.solutions})
            at = getattr(best, name)
            if len(tried) > 1 and at in (tried[0], tried[-1]):
                notes.append(
                    f"the best score is at the {'smallest' if at == tried[0] else 'largest'} "
                    f"{name} tried, {at:.4g}; widen the grid"
                )
        sizes, meta, plan = (
            {s.k for s in self.path.solutions},
            self.path.meta,
            self.path._source.plan,
        )
        groups = meta.groups
        asked = (
            0
            if plan is None
            else default_max_k(groups, meta.p, meta.n_eff)
            if plan.max_k is None
            else plan.max_k
        )  # a path that ended before had no more columns, or no use for them
        data = self.path._source.data
        copies = 0 if data is None or data.copies is None else len(data.copies)
        free = (
            int((~meta.excluded).sum()) - len(meta.forced) - copies
            if groups is None
            else int((np.isfinite(groups.factor) & (groups.factor > 0)).sum())
        )
        if len(sizes) > 1 and best.k == max(sizes) and asked <= best.k < free:
            notes.append(f"the best score is at the largest size tried, k = {best.k}; raise max_k")
        return notes

    def __len__(self):
        return len(self.path)

    def __repr__(self):
        table, parts = self.table, []
        for which in CV_RULES:
            try:
                i = self.index(which)
            except LookupError:
                continue
            parts.append(
                f"{which}: k = {table.k[i]}, {table.cv_mean[i]:.4g}"
                + (f" (se {table.cv_se[i]:.2g})" if np.isfinite(table.cv_se[i]) else "")
            )
        folds = f"{self.folds.shape[1]} folds" if self.splits is not None else "validation rows"
        return (
            f"<l0path.CVPath: {self.path.loss} loss, {folds}, scoring {self.scoring}; "
            f"{'; '.join(parts) or 'no score'}; {self.status}>"
        )
