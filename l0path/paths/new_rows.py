"""`Path`: hazards, probabilities of survival, and scores of new rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import finite, same_index
from ..core.tables import pandas_of
from ..core.types import Matrix, Rule, Selector
from ..problem.coupled.arguments import strata_of_rows
from ..problem.coupled.baseline import baseline_of, cumulative_hazards
from .predicting import linear_predictor

if TYPE_CHECKING:
    from ..cross_validation import CVPath


class NewRows:
    """Methods of `Path` for new rows, beside predictions."""

    def cumulative_hazard(
        self,
        X: Matrix,
        rule: Rule | None = None,
        *,
        times: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        strata: ArrayLike | str | None = None,
        **selector: Unpack[Selector],
    ) -> pd.DataFrame:
        """Cumulative hazards of new rows by a model of loss="cox".

        The baseline hazard goes with the ties of the fit: Breslow's estimator for "breslow", its
        correction for tied events (as in R's `survfit`) for "efron".

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows, as in `Path.predict`.
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        times : array-like of shape (q,), optional
            Times in the units of y. None takes the event times of the fit.
        offset : array-like of shape (m,) or str, optional
            As in `Path.predict`.
        strata : array-like of shape (m,) or str, optional
            If the fit had strata: those of the new rows, or the name of a column of the DataFrame
            X. The baseline hazard of a row is that of its stratum.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        DataFrame
            A row for each row of X, a column for each time.

        Raises
        ------
        ValueError
            If the loss is another one, or if strata are missing, or unknown to the fit.

        Examples
        --------
        >>> import numpy as np, l0path
        >>> X = np.array([[0.0], [1.0], [0.0], [1.0]])
        >>> y = np.array([[1.0, 1], [2, 1], [3, 0], [4, 1]])  # time, event
        >>> path = l0path.fit(X, y, loss="cox")
        >>> path.cumulative_hazard(X[:1], k=0, times=[0.5, 1, 2]).round(2).to_numpy()
        array([[0.  , 0.25, 0.58]])
        """
        self, i = self._at(rule, **selector)
        meta = self.meta
        if meta.traits.response != "survival":
            raise ValueError(f"hazards are those of loss='cox'; this path has loss={meta.loss!r}")
        if times is not None:
            times = finite(np.atleast_1d(np.asarray(times, dtype=np.float64)), "times")
        baseline = baseline_of_model(self, i)
        same_index(X=X, strata=strata)
        if isinstance(strata, str):
            strata = column_named(X, strata)
        if strata is None and meta.formula is not None:
            strata = meta.formula.labels("strata", pandas_of(X))
        new = self.predict(X, index=i, type="link", offset=offset)
        stratum = strata_of_rows(strata, len(new), meta.strata)
        at, hazards = cumulative_hazards(baseline, np.asarray(new), stratum, times)
        index = new.index if isinstance(new, pd.Series) else None
        return pd.DataFrame(hazards, index=index, columns=pd.Index(at, name="time"))

    def survival(
        self,
        X: Matrix,
        rule: Rule | None = None,
        *,
        times: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        strata: ArrayLike | str | None = None,
        **selector: Unpack[Selector],
    ) -> pd.DataFrame:
        """Probabilities of no event until given times, exp(-H) of `Path.cumulative_hazard` H.

        Parameters
        ----------
        X, rule, times, offset, strata, **selector
            As in `Path.cumulative_hazard`.

        Returns
        -------
        DataFrame
            A row for each row of X, a column for each time.

        Examples
        --------
        >>> import numpy as np, l0path
        >>> X = np.array([[0.0], [1.0], [0.0], [1.0]])
        >>> y = np.array([[1.0, 1], [2, 1], [3, 0], [4, 1]])  # time, event
        >>> path = l0path.fit(X, y, loss="cox")
        >>> path.survival(X[:1], k=0, times=[0.5, 1, 2]).round(2).to_numpy()
        array([[1.  , 0.78, 0.56]])
        """
        return np.exp(
            -self.cumulative_hazard(X, rule, times=times, offset=offset, strata=strata, **selector)
        )

    def score(
        self,
        X: Matrix,
        y: ArrayLike | None = None,
        rule: Rule | None = None,
        *,
        sample_weight: ArrayLike | str | None = None,
        freq_weight: ArrayLike | str | None = None,
        trials: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        strata: ArrayLike | str | None = None,
        **selector: Unpack[Selector],
    ) -> pd.Series:
        """Every metric of one solution on the rows X, y.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The rows, as in `Path.predict` (a DataFrame by column names).
        y : array-like of shape (m,), optional
            Their responses, in the units or labels of the fit. After a fit by a formula None takes
            the left side of X.
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        sample_weight, freq_weight, trials : array-like of shape (m,) or str, optional
            As in `l0path.fit`, or names of columns of the DataFrame X. They multiply. None means 1
            for each row.
        offset : array-like of shape (m,) or str, optional
            The offset. It is needed if the fit had one that X does not hold.
        strata : array-like of shape (m,) or str, optional
            If the fit had strata: those of the rows, or the name of a column of the DataFrame X.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        Series
            For numeric responses deviance, mse, rmse, mae and r2. For classes deviance,
            misclassification, accuracy and auc, and brier where there are probabilities. They are
            the metrics of `cv_fit`; auc is NaN where the rows lack a class. For loss="cox"
            deviance, -2 log partial likelihood of these rows for each event, with weights whose sum
            is the number n of rows of the fit (of m new rows: 2 log(n / m) more than with weights
            of 1), so that it compares with that of the fit and of folds, concordance,
            concordance_uno and integrated_brier (see `score_over_time`); NaN where
            these rows do not define them.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.score(data.X, data.y, k=6).round(2).to_dict()
        {'deviance': 99600.4, 'mse': 99600.4, 'rmse': 315.6, 'mae': 218.61, 'r2': 0.51}
        """
        from ..inspection import score

        return score(
            self,
            X,
            y,
            rule,
            sample_weight=sample_weight,
            freq_weight=freq_weight,
            trials=trials,
            offset=offset,
            strata=strata,
            **selector,
        )

    def validate(
        self,
        X: Matrix,
        y: ArrayLike | None = None,
        scoring: str | Callable | None = None,
        sample_weight: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        strata: ArrayLike | str | None = None,
        *,
        freq_weight: ArrayLike | str | None = None,
        trials: ArrayLike | str | None = None,
    ) -> CVPath:
        """Score every solution on validation rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The validation rows.
        y : array-like of shape (m,), optional
            Their responses. Labels must be classes of the fit; one of them alone will do where the
            metric allows. After a fit by a formula None takes the left side of the DataFrame X, and
            leaves incomplete rows out.
        scoring : str, scorer, or callable, optional
            The metric, as in `cv_fit`. None means "deviance".
        sample_weight : array-like of shape (m,) or str, optional
            Weights >= 0 of the rows, of which only the proportions matter. None means 1 for each.
        offset : array-like of shape (m,) or str, optional
            The offset of the rows. It is needed if the fit had one.
        strata : array-like of shape (m,) or str, optional
            If the fit had strata: those of the rows, or the name of a column of the DataFrame X.
        freq_weight, trials : array-like of shape (m,) or str, optional
            How many rows each row stands for, and the numbers of trials of shares, as in
            `l0path.fit`. They multiply the weights. None means 1 for each row.

        Returns
        -------
        CVPath
            The scores, with one column "validation" and n_folds = 1.

        Notes
        -----
        For metrics that are means over rows (deviance, mse, mae, brier, misclassification)
        cv_sd is the weighted standard deviation over the rows and cv_se = cv_sd / sqrt(m), with m
        the number of rows of positive weight, each as often as freq_weight says. For other metrics
        both are NaN, and "1se" raises an error.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> train, test = data.X.index[::2], data.X.index[1::2]
        >>> path = l0path.fit(data.X.loc[train], data.y[train], max_k=8)
        >>> path.validate(data.X.loc[test], data.y[test]).model("1se").features
        ['Hits', 'CRBI']
        """
        from ..cross_validation import validate

        return validate(
            self,
            X,
            y,
            scoring,
            sample_weight,
            offset,
            strata,
            freq_weight=freq_weight,
            trials=trials,
        )

    def score_over_time(
        self,
        X: Matrix,
        y: ArrayLike | None = None,
        rule: Rule | None = None,
        *,
        times: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        strata: ArrayLike | str | None = None,
        **selector: Unpack[Selector],
    ) -> pd.DataFrame:
        """Scores over time of a model of loss="cox": how well it separates, at each time, the rows
        with an event until then from the others.

        Weights account for censored rows: an event at t_i counts 1 / G(t_i), and a row at risk
        after t counts 1 / G(t) in the Brier score. G is the Kaplan-Meier estimate of the share of
        rows that are not censored yet, from the rows X, y (those of the same stratum).

        Parameters
        ----------
        X, y, rule, sample_weight, offset, strata, **selector
            As in `Path.score`.
        times : array-like of shape (q,), optional
            Times. None takes those of the events in y before the last time in y.

        Returns
        -------
        DataFrame
            A row for each time t. auc: the share of pairs of a row with an event until t and one
            without, in the same stratum, of which the former is at higher risk. brier: the mean of
            (S - [no event until t])^2, where S is `Path.survival`.

        Raises
        ------
        ValueError
            If the loss is another one, or y has times of entry.

        References
        ----------
        - Uno, Cai, Tian & Wei, Journal of the American Statistical Association 102, 2007 (auc).
        - Graf, Schmoor, Sauerbrei & Schumacher, Statistics in Medicine 18, 1999 (brier).

        Examples
        --------
        >>> import numpy as np, l0path
        >>> X = np.array([[0.0], [3.0], [1.0], [2.0], [0.0]])
        >>> y = np.array([[5.0, 1], [2, 1], [3, 0], [4, 1], [6, 0]])  # time, event
        >>> path = l0path.fit(X, y, loss="cox", lambda2=0.1)
        >>> path.score_over_time(X, y, k=1, times=[2, 4]).round(2).to_dict("list")
        {'auc': [1.0, 1.0], 'brier': [0.06, 0.04]}
        """
        from ..inspection import score_over_time

        return score_over_time(
            self,
            X,
            y,
            rule,
            times=times,
            sample_weight=sample_weight,
            offset=offset,
            strata=strata,
            **selector,
        )


def baseline_of_model(path, i):
    """The `Baseline` of a solution: that of the rows of the fit, or the one that was stored."""
    s, data = path.solutions[i], path._source.data
    if s.baseline is None and data is None:
        raise ValueError(
            "the file of this path holds no baseline hazard; fit again and save the path anew"
        )
    return s.baseline if data is None else _baseline(data, s)


def with_baselines(path):
    """The solutions of a path with their baseline hazards, for files and pickles, which do not hold
    the data; those of another loss as they are.
    """
    data = path._source.data
    if data is None or data.loss.traits.response != "survival":
        return path.solutions
    return [s._replace(baseline=_baseline(data, s)) for s in path.solutions]


def _baseline(data, s):
    eta = linear_predictor(data.design, data.offset, s)
    return baseline_of(data.loss, data.y, eta, data.weights)


def column_named(X, name, argument="strata"):
    """The column of X of a name, which an argument gave."""
    X = pandas_of(X)
    if not isinstance(X, pd.DataFrame) or name not in X.columns:
        raise ValueError(
            f"{argument}={name!r} is not a column of X; pass a DataFrame that has it, or one value "
            "for each row of X"
        )
    return X[name]
