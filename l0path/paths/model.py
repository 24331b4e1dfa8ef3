"""`Model`: one solution of a path."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core import forward
from ..core.arguments import level as checked_level
from ..core.arguments import same_index, vector
from ..core.describing import model_line, signed
from ..core.hints import refuse_attribute
from ..core.types import Matrix
from .records import one_response

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..core.forward import Summary
    from .path import Path


class Model:
    """One solution of a path: its features, coefficients, and what was checked.

    `path.model("bic")`, `path.model(k=5)` and `path[5]` give one. `details` has all numbers that
    the path holds of the model; the most frequent of them are attributes.

    Attributes
    ----------
    path : Path
        The path that the model is of. Where the best set of terms by a criterion is no row of the
        path that was asked, it is a path with this further row.
    details : Series
        The row of `path.details`: also slice and penalties, the mean loss, the interval of lambda0
        for which the model is the best one, how the fit ended, and flags. Its name is the row.
        `variables` lists the columns of the data that `predict` needs: of a formula, or of features
        that a design makes, those that the features are made of, and a column with the offset. With
        terms of several columns, such as factors, and a criterion, `chosen_by` says which models
        were compared, all sets of terms or the rows of the path alone, and why. It also says where
        a criterion takes the largest size that was fitted, though the data allow larger ones.
    k : int
        The number of chosen features (with groups: groups) that were not forced.
    objective, loss : float
        The objective, and the weighted mean loss that is part of it.
    deviance_ratio : float
        The share of the null deviance that the model explains; R^2 for the squared loss.
    lower_bound, gap : float
        A lower bound of the objective, and (objective - lower_bound) / max(|objective|, 1e-12): at
        most 1e-6 where the optimality is "global", NaN where none was computed.
    optimality : str
        What was verified, such as "refit_swap" or "global" (docs/problem.md).

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
    >>> model = path.model(k=6)
    >>> model.k, model.optimality, round(model.deviance_ratio, 3)
    (6, 'global', 0.509)
    >>> model.features
    ['AtBat', 'Hits', 'Walks', 'CRBI', 'Division_W', 'PutOuts']
    """

    def __init__(self, path: Path, index: int, chosen_by: str = "") -> None:
        self.path, self._index, self._chosen_by = path, int(index), chosen_by

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name):
            refuse_attribute(self, name, "path")

    @property
    def details(self) -> pd.Series:
        """The row of `path.details`, `variables`, and `chosen_by`."""
        row = self.path._row(self._solution)
        row["features"] = ", ".join(map(str, self.groups))
        row["variables"] = self.path._variables(self._solution.support)
        if self._chosen_by:
            row["chosen_by"] = self._chosen_by
        return pd.Series(row, name=self._index, dtype=object)

    @property
    def k(self) -> int:
        """The number of chosen features, or groups, that were not forced."""
        return self._solution.k

    @property
    def objective(self) -> float:
        """The mean loss and the penalties, in units of the mean loss."""
        return self._solution.objective

    @property
    def loss(self) -> float:
        """The weighted mean loss, without penalties."""
        return self._solution.loss

    @property
    def deviance_ratio(self) -> float:
        """The share of the null deviance that the model explains; R^2 for the squared loss."""
        return self.path._meta.deviance_ratio(self._solution.loss)

    @property
    def lower_bound(self) -> float:
        """A lower bound of the objective of every model of this size, within 1e-6 of its own
        objective where it is proven to be the best one; NaN without a bound.
        """
        return self.path._row(self._solution)["lower_bound"]

    @property
    def gap(self) -> float:
        """(objective - lower_bound) / max(|objective|, 1e-12); NaN without a bound."""
        return self.path._row(self._solution)["gap"]

    @property
    def optimality(self) -> str:
        """What was verified, such as "refit_swap" or "global"."""
        return self._solution.optimality

    @property
    def _solution(self):
        return self.path._solutions[self._index]

    @property
    def support(self) -> np.ndarray:
        """Indices of the chosen features, ascending, forced features included."""
        return self._solution.support.copy()

    @property
    def features(self) -> list[str]:
        """Names of the chosen features."""
        return [self.path._meta.names[j] for j in self._solution.support]

    @property
    def groups(self) -> list:
        """Labels of the chosen groups, forced groups included; without groups, the `features`."""
        chosen = self._solution.groups
        if chosen is None:
            return self.features
        return [self.path._meta.groups.labels[g] for g in chosen]

    @property
    def intercept(self) -> float | pd.Series:
        """The intercept in the units of y, a Series for several responses or thresholds."""
        value, meta = self._solution.intercept, self.path._meta
        if meta.responses is not None:
            return pd.Series(value, index=meta.response_index, name="intercept")
        if meta.ordered:
            thresholds = self._solution.thresholds
            return pd.Series(thresholds, index=meta.first_names, name="threshold")
        return float(value)

    @property
    def coef(self) -> pd.Series | pd.DataFrame:
        """The intercept, as "(Intercept)", and the coefficients of the chosen features, in units of
        y and X; a DataFrame with a column for each of several responses.
        """
        return self.path.coef(index=self._index)

    def predict(
        self, X: Matrix, type: str | None = None, *, offset: ArrayLike | None = None
    ) -> np.ndarray | pd.Series:
        """Predictions of this model for new rows, as `Path.predict` makes them.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows, as in `Path.predict`.
        type : str, optional
            "response", "link" or "class", as in `Path.predict`.
        offset : array-like of shape (m,), optional
            The offset of the new rows, if the fit had one.

        Returns
        -------
        ndarray of shape (m,) or Series
            A Series with the index of X for a DataFrame.
        """
        return self.path.predict(X, index=self._index, type=type, offset=offset)

    def score(
        self,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | str | None = None,
        freq_weight: ArrayLike | str | None = None,
        trials: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        strata: ArrayLike | str | None = None,
        times: ArrayLike | str | None = None,
    ) -> pd.Series | pd.DataFrame:
        """Every metric of this model on the rows X, y; for survival times also at given times.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design, optional
            The rows, as in `Path.predict` (a DataFrame by column names). None takes the rows of the
            fit, with its weights: they flatter the model, and the name of the result says that it
            is about them. Scores of rows that were held out are in `CVPath.scores`.
        y : array-like of shape (m,), optional
            Their responses, in the units or labels of the fit. After a fit by a formula None takes
            the left side of X.
        sample_weight, freq_weight, trials : array-like of shape (m,) or str, optional
            As in `l0path.fit`, or names of columns of the DataFrame X. They multiply. None means 1
            for each row.
        offset : array-like of shape (m,) or str, optional
            The offset. It is needed if the fit had one that X does not hold.
        strata : array-like of shape (m,) or str, optional
            If the fit had strata: those of the rows, or the name of a column of the DataFrame X.
            None takes the column that the fit named, if X has it.
        times : array-like of shape (q,) or "events", optional
            For survival times: times at which auc and brier are wanted, as in the Notes; "events"
            takes those of the events in y before the last time in y.

        Returns
        -------
        Series, or with times DataFrame
            For numeric responses deviance, mse, rmse, mae and r2. For classes deviance,
            misclassification, accuracy and auc, and brier where there are probabilities. They are
            the metrics of `cv_fit`; auc is NaN where the rows lack a class. For loss="cox"
            deviance, -2 log partial likelihood of these rows for each event, with weights whose sum
            is the number n of rows of the fit (of m new rows: 2 log(n / m) more than with weights
            of 1), so that it compares with that of the fit and of folds, concordance,
            concordance_uno and integrated_brier (the mean of brier over time); NaN
            where these rows do not define them. For loss="weibull" the same with -2 log likelihood
            for each row.

        Raises
        ------
        ValueError
            If times are given and the loss is another one, or y has times of entry; if X is missing
            and one of the others is given.

        Notes
        -----
        With times the result has a row for each time t: how well the model separates the rows with
        an event until then from the others. auc: the share of pairs of a row with an event until t
        and one without, in the same stratum, of which the former is at higher risk. brier: the mean
        of (S - [no event until t])^2, where S is `survival`. Weights account for censored rows: an
        event at t_i counts 1 / G(t_i), and a row at risk after t 1 / G(t) in the Brier score.
        G is the Kaplan-Meier estimate of the share of rows that are not censored yet, from the rows
        X, y (those of the same stratum).

        References
        ----------
        - Uno, Cai, Tian & Wei, Journal of the American Statistical Association 102, 2007 (auc).
        - Graf, Schmoor, Sauerbrei & Schumacher, Statistics in Medicine 18, 1999 (brier).

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.model(k=6).score(data.X, data.y).round(2).to_dict()
        {'deviance': 99600.4, 'mse': 99600.4, 'rmse': 315.6, 'mae': 218.61, 'r2': 0.51}
        >>> import numpy as np
        >>> X = np.array([[0.0], [3.0], [1.0], [2.0], [0.0]])
        >>> y = np.array([[5.0, 1], [2, 1], [3, 0], [4, 1], [6, 0]])  # time, event
        >>> path = l0path.fit(X, y, loss="cox", lambda2=0.1)
        >>> path.model(k=1).score(X, y, times=[2, 4]).round(2).to_dict("list")
        {'auc': [1.0, 1.0], 'brier': [0.06, 0.04]}
        """
        given = {"sample_weight": sample_weight, "freq_weight": freq_weight, "trials": trials}
        return forward.score(self, X, y, times=times, offset=offset, strata=strata, **given)

    def summary(
        self,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
    ) -> Summary:
        """`Summary` of this model: what each feature contributes, and which feature could replace
        it.

        With groups, each row is about a chosen group.

        Parameters
        ----------
        X, y : array-like, optional
            The data of the fit, needed after loading a path. Data that differ are refused.

        Returns
        -------
        Summary
            Its `table` has one row per feature of the support, and the columns described in the
            Notes.

        Notes
        -----
        The columns of `table`:

        - coef, standardized: the coefficient in units of y and X, and b_j = s_j beta_j.
        - increase_if_dropped: the increase of loss + shrinkage when the feature is left out and all
          others are fitted again. Forced features have it too. NaN if the bounds of the coefficient
          leave out 0.
        - best_exchange: the feature outside the model whose exchange for this feature, all others
        refitted,
          gives the least objective. None for forced features, or when no feature is left.
        - exchange_change: the change of the objective by that exchange. A positive value is worse,
          a negative value would improve the model.

        With groups best_exchange is the label of a group, and in place of the first two columns are

        - columns, norm: how many coefficients of the group are not zero, and the norm of its b_j. A
          column of several chosen groups counts in each; its coefficient is in `.coef` once.

        The exchanges are those of all p columns. They are exact for the squared loss without
        lambda1 and bounds. Else the local quadratic model ranks them, and refits decide among the
        best 20 of each feature, or among all where that is cheap. Exchanges of groups are all
        refitted where that is cheap, else the best 20 of each group by score.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.model(k=2).summary().table[["increase_if_dropped", "best_exchange"]].round(1)
                 increase_if_dropped best_exchange
        feature
        Hits             10519.2          Runs
        CRBI             23597.1         CRuns
        """
        return forward.summary(self, X=X, y=y)

    def refit(
        self,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | str | None = None,
        freq_weight: ArrayLike | str | None = None,
        trials: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        cov_type: str | None = None,
        cov_kwds: dict | None = None,
        scale: float | str | None = None,
        strata: ArrayLike | str | None = None,
        rows: str | None = None,
        **options: Any,
    ) -> Any:
        """Statsmodels results of the unpenalized fit on the chosen (and forced) features.

        The intercept is as in the fit. Parameters are named as in `coef`, "(Intercept)" first.
        lambda1, lambda2 and bounds play no part.

        Without X and y (or with those of the fit, as a loaded path needs) the rows have also chosen
        the columns: the results say so, in `results.selection` and in `results.summary()`,
        "conditional on selection". With new X and y they say "held-out rows", and the inference is
        honest as long as these rows had no part in the choice. Rows of the fit among the new rows
        are recognized by their labels and values (without labels by their values), and counted.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design, optional
            Rows other than those of the fit. After a fit by a formula X is a DataFrame.
        y : array-like of shape (m,), optional
            Their responses. After a fit by a formula y may be left out: it is the left side then.
        sample_weight, freq_weight, trials : array-like of shape (m,) or str, optional
            Those of these rows, as in `l0path.fit`, or names of columns of the DataFrame X. Weights
            of importance, class weights among them, are divided by their mean.
        offset : array-like of shape (m,), optional
            The offset of these rows.
        cov_type : str, optional
            The covariance of the coefficients, a name of statsmodels: "nonrobust", "HC0" to "HC3"
            (unequal variances), "cluster" (dependent rows), "HAC" (dependence in time). Under the
            squared loss they are used with Student's t as classical covariances are, clustered
            covariances with the number of clusters less one as degrees of freedom (use_t=False
            takes the normal distribution). "HC1" to "HC3" of generalized linear models are those
            of R's `sandwich::vcovHC`, for gamma and Tweedie regressions with the observed
            information (statsmodels has "HC0" under these names); negative binomial and ordinal
            regressions have "HC0" alone. For the Huber loss "H1", "H2" or "H3"; for
            survival times "nonrobust", "robust" or "cluster". None means "nonrobust", "H1" for the
            Huber loss, and the sandwich where sample_weight makes a pseudo-likelihood: "HC0", and
            "robust" for survival times.
        cov_kwds : dict, optional
            Its options, such as {"groups": labels} for "cluster" (one label per row, after a
            formula also of the rows of the data before incomplete rows were dropped; or the name of
            a column of X, or of the data of the formula) or {"maxlags": 4}.
        scale : float or str, optional
            The dispersion. "X2" for the Poisson and logistic losses: Pearson's chi-squared over its
            degrees of freedom, which gives the standard errors of a quasi-Poisson or quasi-binomial
            model. "dev": the deviance over them. A number, which for the squared loss is a known
            error variance. None leaves it to the model.
        strata : array-like of shape (m,) or str, optional
            After loss="cox" with strata: those of the rows X, or the name of a column of X. None
            takes the column that the fit named, if X has it.
        rows : str, optional
            "all" takes every row that is complete in the features of the model: rows of X, or
            without X those of the data of a formula (a fit to arrays has complete rows only). A fit
            takes the rows that are complete in *all* columns. The results say how many of the rows
            have chosen the features. Their log-likelihood is that of other rows than the path's, so
            that criteria do not compare.
        **options : Any
            Other arguments of statsmodels' `fit`, such as `use_t=True` and `maxiter=`.

        Returns
        -------
        Any
            The results of statsmodels. `results.estimates()` is their table for a paper: each
            coefficient, or with `exponentiate=True` odds, hazard or rate ratio, with its interval
            (`level=0.95`), and p-values where these hold. Where rows of the refit chose the
            features it has none, says why, and shows them by `p_values=True`. It has `to_latex`,
            `to_markdown` and `to_html`. `results.predict(new)` takes a DataFrame of the columns
            that X had (after a formula: of those on its right side), and
            `statsmodels.stats.anova.anova_lm(results)` has a row per term of the formula, or per
            column. For several responses a dict of results, by their names.

        Raises
        ------
        ValueError or TypeError
            If an argument is not one of the above, and for losses without a likelihood (hinge
            losses).

        Notes
        -----
        The models of statsmodels:

        - squared: OLS, and with weights WLS, of y - offset.
        - logistic, binomial: GLM Binomial. poisson: GLM Poisson. gamma and tweedie: GLM Gamma and
          Tweedie with the log link. Counts of rows are freq_weights, sample weights var_weights.
        - huber: RLM with HuberT at the delta of the fit, fixed in units of y, and the MAD of the
          residuals as scale.
        - negative_binomial: NegativeBinomial, which estimates theta anew. quantile: QuantReg.
          ordinal: OrderedModel. multinomial: MNLogit, whose coefficients are log odds against the
          first class; it takes no offset. Sample weights multiply the log-likelihood of a row, and
          both sides of a row of a quantile regression; RLM takes none. Rows that stand for several
          are repeated.
        - cox: PHReg. It takes no weights: with weights, or another cov_type, the columns are
          refitted here, by maximum partial likelihood, with the results that R's coxph has
          (`params`, `bse`, `pvalues`, `conf_int`, `cov_params`, `llf`, `summary`).
        - weibull: a likelihood model of the intercept, the coefficients (log hazard ratios) and
          log(shape), with the errors of R's survreg, robust and cluster ones too. Rows that stand
          for several are repeated.

        Where features separate the classes, or the likelihood has no maximum for another reason,
        the tables of the results (`summary()`, `estimates()`) show inf or -inf for an infinite
        coefficient, NaN where the sign is not determined. Its standard error, p-value and
        covariances are NaN, its interval is (-inf, inf). `params` has a finite stand-in, which
        predictions use. Other coefficients, and in `t_test` contrasts that have an estimate, have
        the estimates and standard errors of the rows that are not separated
        (several and ordered classes: with cov_type "nonrobust" and "HC0"; with others NaN).

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> results = path.model(k=2).refit()
        >>> results.bse.round(3).to_dict()
        {'(Intercept)': 55.982, 'Hits': 0.482, 'CRBI': 0.067}
        >>> results.selection[:24]
        'conditional on selection'
        >>> path.model(k=2).refit(cov_type="HC3").bse.round(3).to_dict()
        {'(Intercept)': 80.976, 'Hits': 0.72, 'CRBI': 0.103}
        >>> train, test = data.X.index[::2], data.X.index[1::2]
        >>> path = l0path.fit(data.X.loc[train], data.y[train])
        >>> results = path.model(k=2).refit(data.X.loc[test], data.y[test])
        >>> results.selection[:13]
        'held-out rows'
        >>> print(results.estimates().to_markdown())
        |  | estimate | lower | upper | p-value |
        | :--- | ---: | ---: | ---: | ---: |
        | (Intercept) | -120.1 | -259.2 | 19.04 | 0.0901 |
        | Hits | 3.639 | 2.438 | 4.839 | <0.0001 |
        | CRBI | 0.8041 | 0.6301 | 0.9781 | <0.0001 |
        """
        return forward.refit(
            self,
            X=X,
            y=y,
            sample_weight=sample_weight,
            freq_weight=freq_weight,
            trials=trials,
            offset=offset,
            cov_type=cov_type,
            cov_kwds=cov_kwds,
            scale=scale,
            strata=strata,
            rows=rows,
            **options,
        )

    def conf_int(
        self,
        level: float = 0.95,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Confidence intervals of the coefficients by the unpenalized refit of `refit`.

        The rows of the fit have chosen the features, and intervals by them are too short; rows X
        and y that had no part in the choice give valid intervals. `attrs["selection"]` of the table
        says which rows these are. `refit(...).estimates()` has the coefficients beside them, and
        odds or hazard ratios.

        Parameters
        ----------
        level : float, default 0.95
            The level of each interval, between 0 and 1. They are not simultaneous.
        X, y : array-like, optional
            Other rows than those of the fit, as in `refit`.
        **options : Any
            As in `refit`: cov_type, cov_kwds, rows, weights of the rows.

        Returns
        -------
        DataFrame
            The columns "lower" and "upper", in units of y (or of the linear predictor) per unit of
            the column; a row for each coefficient by its name, of several responses and classes for
            each pair (response, name).

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> train, test = data.X.index[::2], data.X.index[1::2]
        >>> model = l0path.fit(data.X.loc[train], data.y[train]).model(k=2)
        >>> model.conf_int(X=data.X.loc[test], y=data.y[test]).round(2)
                      lower  upper
        (Intercept) -259.19  19.04
        Hits           2.44   4.84
        CRBI           0.63   0.98
        """
        checked_level(level)
        found = self.refit(X, y, **options)
        if isinstance(found, dict):
            tables = {name: one.conf_int(1.0 - level) for name, one in found.items()}
            table = pd.concat(tables, names=["response", "feature"])
            found = next(iter(found.values()))
        else:
            table = found.conf_int(1.0 - level)
        table.attrs = {"level": level, "selection": found.selection}
        return table

    def alternatives(
        self,
        n: int = 10,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
    ) -> pd.DataFrame:
        """The nearest models: the best of all exchanges of one feature for another feature.

        With groups a chosen group is exchanged for another group.

        Parameters
        ----------
        n : int, default 10
            The number of exchanges, those with the least objective.
        X, y : array-like, optional
            The data of the fit, needed after loading a path.

        Returns
        -------
        DataFrame
            One row per exchange, the best first. dropped, added: names, or labels of groups.
            objective: that of the model after the exchange, all coefficients fitted again.
            relative: its difference to the objective of the model, divided by what that has beyond
            the least value of the loss, so that it does not depend on the units of y (negative:
            better than the model). proven: whether no single exchange better than those listed was
            missed.

        Notes
        -----
        proven is True for the squared loss without lambda1 and bounds, where the table of
        exchanges is exact, and where every exchange was refitted (20 000 or fewer, on few rows).
        Else the local quadratic model (for groups: their scores) ranks all exchanges, n + 100 are
        refitted, and proven is False.

        Forced features stay. Only one exchange is made: nothing is searched beyond. The table
        leaves out features that keep less than 3e-5 of their length beside the other chosen
        features. Models whose features separate the classes are compared by the infimum of their
        objective.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.model(k=2).alternatives(n=2)[["dropped", "added", "relative", "proven"]].round(3)
          dropped  added  relative  proven
        0    Hits   Runs     0.012    True
        1    CRBI  CRuns     0.018    True
        """
        return forward.alternatives(self, n=n, X=X, y=y)

    def certify(self, **options: Any) -> Any:
        """The `Certificate` of this model, as `Path.certify` finds it.

        Parameters
        ----------
        **options : Any
            All arguments of `Path.certify` but the selector.

        Returns
        -------
        Certificate
            What is proved about the model.
        """
        return self.path.certify(index=self._index, **options)

    def survival(
        self,
        X: Matrix,
        *,
        times: ArrayLike | None = None,
        type: str = "survival",
        offset: ArrayLike | str | None = None,
        strata: ArrayLike | str | None = None,
    ) -> pd.DataFrame:
        """Probabilities of no event until given times, for new rows, by a model of survival times.

        They are exp(-H) of the cumulative hazard H. Of loss="cox" the baseline hazard goes with the
        ties of the fit: Breslow's estimator for "breslow", its correction for tied events (as in
        R's `survfit`) for "efron". Of loss="weibull" H is exp(eta) t^shape with the linear
        predictor eta and the shape of `details`.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows, as in `Path.predict`.
        times : array-like of shape (q,), optional
            Times in the units of y. None takes the event times of the fit.
        type : {"survival", "cumulative_hazard"}, default "survival"
            The probabilities, or the cumulative hazards H.
        offset : array-like of shape (m,) or str, optional
            As in `Path.predict`.
        strata : array-like of shape (m,) or str, optional
            If the fit had strata: those of the new rows, or the name of a column of the DataFrame
            X. None takes the column that the fit named, if X has it. The baseline hazard of a row
            is that of its stratum.

        Returns
        -------
        DataFrame
            A row for each row of X, a column for each time.

        Raises
        ------
        ValueError
            If the loss is another one, type is unknown, or strata are missing, or unknown to the
            fit.

        Examples
        --------
        >>> import numpy as np, l0path
        >>> X = np.array([[0.0], [1.0], [0.0], [1.0]])
        >>> y = np.array([[1.0, 1], [2, 1], [3, 0], [4, 1]])  # time, event
        >>> model = l0path.fit(X, y, loss="cox").model(k=0)
        >>> model.survival(X[:1], times=[0.5, 1, 2]).round(2).to_numpy()
        array([[1.  , 0.78, 0.56]])
        >>> model.survival(X[:1], times=[0.5, 1, 2], type="cumulative_hazard").round(2).to_numpy()
        array([[0.  , 0.25, 0.58]])
        """
        from .new_rows import cumulative_hazard

        if type not in ("survival", "cumulative_hazard"):
            raise ValueError(
                f"type={type!r} is not known; choose 'survival' or 'cumulative_hazard'"
            )
        hazard = cumulative_hazard(self, X, times=times, offset=offset, strata=strata)
        return hazard if type == "cumulative_hazard" else np.exp(-hazard)

    def confusion(
        self,
        X: Matrix,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> pd.DataFrame:
        """The table of true and predicted classes of rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The rows, as in `Path.predict`.
        y : array-like of shape (m,), optional
            Their classes. After a fit by a formula None takes them from the table X, without the
            rows that have missing values.
        sample_weight, offset : array-like of shape (m,), optional
            The weights and the offset of the rows.

        Returns
        -------
        DataFrame
            Sums of weights (1 for each row without), a row for each true class and a column for
            each predicted one.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_wdbc()
        >>> path = l0path.fit(data.X, data.y, loss="logistic", lambda2=1e-3, max_k=3)
        >>> path.model(k=3).confusion(data.X, data.y).shape
        (2, 2)
        """
        if self.path.classes is None:
            one_response(self.path, "a table of true and predicted classes")
        given = {"sample_weight": sample_weight, "offset": offset}
        same_index(X=X, y=y, **given)
        X, y, given = self.path._given(X, y, **given)
        if y is None:
            raise ValueError("y is missing: pass the classes of these rows together with X=")
        predicted = self.predict(X, "class", offset=given["offset"])
        weights = given["sample_weight"]
        weights = np.ones(len(predicted)) if weights is None else weights
        weights = vector(weights, len(predicted), "sample_weight")
        table = pd.DataFrame({"true": np.asarray(y).ravel(), "predicted": np.asarray(predicted)})
        unknown = ~table["true"].isin(self.path.classes)
        if unknown.any():
            raise ValueError(
                f"y holds the label {table['true'][unknown].iloc[0]!r}, which is not a class of "
                "the fit"
            )
        out = table.assign(weight=weights).pivot_table(
            index="true", columns="predicted", values="weight", aggfunc="sum", fill_value=0.0
        )
        labels = list(self.path.classes)
        return out.reindex(index=labels, columns=labels, fill_value=0.0).rename_axis(
            index="true", columns="predicted"
        )

    def plot(
        self,
        kind: str = "coef",
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        *,
        level: float = 0.95,
        bins: int = 10,
        groups: int = 3,
        risk: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        strata: ArrayLike | str | None = None,
        ax: Axes | None = None,
        label: str | None = None,
    ) -> Axes:
        """Plot this model and return the Axes.

        Without X and y plots of predictions show the rows of the fit, which flatter the model.
        Curves drawn into the same `ax` take colors and dashes in turn.

        Parameters
        ----------
        kind : str, default "coef"
            "coef": the coefficients, in standard deviations of their features, in the colors of
            their signs; with X and y, rows that had no part in the choice, the coefficients of a
            refit to these rows, with intervals of this level. Intervals from the rows of the fit
            would be too short, and are not drawn.
            "roc": the ROC curve of two classes, by scikit-learn's RocCurveDisplay; the area under
            it with its 95 % interval (`l0path.plots.auc`) is in the legend.
            "calibration": what was observed against what was predicted: the share of positives
            against the mean probability in bins of about equal weight, with 95 % Wilson intervals,
            above a histogram of the probabilities; several classes have a curve for each, ordered
            classes for each threshold, numbers their mean, quantiles the share of responses below
            them (`l0path.plots.calibration`, `l0path.plots.calibration_of_means`).
            "survival": for survival times, Kaplan-Meier curves with 95 % limits
            (`l0path.plots.kaplan_meier`) of groups of rows by their linear predictor, and the
            numbers at risk. With X and without times and events: the predicted curves of these
            rows, at most 12, with the labels of their index.
        X : array-like of shape (m, p), DataFrame, sparse matrix or design, optional
            The rows.
        y : array-like of shape (m,), optional
            Their responses or labels, or times and events. After a formula None takes those in X.
        level : float, default 0.95
            The level of the intervals of "coef".
        bins : int, default 10
            The number of bins of "calibration". Equal predictions stay together, so there may be
            fewer.
        groups : int, default 3
            The number of groups of "survival", of about equal size.
        risk : array-like of shape (n,), optional
            Of "survival": other risk scores of the rows of the fit in the place of those of the
            model, such as `cv.held_out("1se")`; NaN leaves a row out.
        sample_weight, offset, strata : array-like of shape (m,), optional
            Weights, offset and strata of the rows X.
        ax : Axes, optional
            The Axes to draw into. None makes a figure.
        label : str, optional
            The label of a curve of "roc" or "calibration". None names the size.

        Returns
        -------
        Axes
            The Axes of matplotlib.

        Raises
        ------
        ValueError
            If the kind is unknown or not defined for the loss.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> ax = path.model("bic").plot()
        >>> ax.figure.savefig("model.png")  # doctest: +SKIP
        """
        rows = {"sample_weight": sample_weight, "offset": offset, "strata": strata}
        shown = {"level": level, "bins": bins, "groups": groups, "risk": risk}
        return forward.plot_model(self, kind, X, y, ax=ax, label=label, **rows, **shown)

    def to_python(self) -> str:
        """The model as Python code: a module that needs NumPy alone.

        Its function `predict(data)` reads the features of the model by name from a DataFrame or a
        dictionary, and returns what `Path.predict` returns by default: the mean of the response,
        the probability of the second class, or (hinge losses, survival times) the linear predictor.
        For several responses it returns an array with a column for each, for several and for
        ordered classes one of their probabilities. The terms of a formula are written out: columns,
        levels of factors, arithmetic, log, exp, sqrt and abs.

        A table whose column names repeat or have levels (a MultiIndex) is passed with the names
        that the path has given them, `X.set_axis(path.names, axis=1)`.

        Returns
        -------
        str
            The text of the module.

        Raises
        ------
        ValueError
            If a feature cannot be written out, such as a spline of a formula or a feature that a
            design of `l0path.designs` makes.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> module = {}
        >>> exec(path.model(k=2).to_python(), module)
        >>> module["predict"](data.X.head(2)).round(1)
        0    505.0
        1    564.7
        dtype: float64
        """
        return forward.python_code(self)

    def to_sql(self) -> str:
        """The model as an SQL expression over the columns of a table.

        Names of columns are in double quotes, text in single quotes, as in the SQL standard.
        Numbers have an exponent, so that they are floating point numbers, and columns that held
        True and False in the fit are read as such. The functions EXP, LN, SQRT, ABS and POWER are
        used where the link or a formula needs them. The value is what `Path.predict` returns by
        default. For several responses, and for several and ordered classes, there is an expression
        for each of them, named by it.

        Returns
        -------
        str
            The expression, or several with commas between them, for `SELECT <expression> FROM
            <table>`.

        Raises
        ------
        ValueError
            If a feature cannot be written out, as in `to_python`, or if the fit had an offset that
            is no term of a formula.
        """
        return forward.sql_expression(self)

    def to_sklearn(self) -> Any:
        """The model as a fitted linear model of scikit-learn, with all p coefficients.

        Returns
        -------
        LinearRegression, PoissonRegressor, LogisticRegression or LinearSVC
            The class that has the mean of the loss; `LinearSVC` for the hinge losses. Several
            responses are a `LinearRegression`, several classes a `LogisticRegression`, whose
            `coef_` has a row for each of them. Counts of successes are a `LogisticRegression` of
            the classes 0 and 1, and the second column of its `predict_proba` is the probability.
            Settings other than `coef_` and `intercept_` are the defaults of scikit-learn, and a
            further `fit` of it is a fit of scikit-learn.

        Raises
        ------
        ValueError
            If the model has a formula, features made by a design, or an offset, or is one of
            survival times or ordered classes, which scikit-learn has no estimator of.
        """
        return forward.sklearn_model(self)

    def save(self, file: str | PathLike, *, data: bool = False) -> None:
        """Write the model to a file, which `l0path.load(file)` reads back as a `Model`.

        The file holds the path of the model too, so that `model.path` is there after loading. The
        data are left out unless data=True.

        Parameters
        ----------
        file : str or path
            The file to write, of any name; .npz is customary. It is replaced as a whole.
        data : bool, default False
            Whether the rows of the fit are stored too, as in `Path.save`. Whoever has the file has
            the data.

        Raises
        ------
        ValueError
            If the loss is your own, whose code is never stored; for data=True if there are no data
            in memory.
        OSError
            If the file cannot be written, for example because the disk is full.

        Examples
        --------
        >>> import l0path, os, tempfile
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y, max_k=3)
        >>> file = os.path.join(tempfile.mkdtemp(), "model.npz"); path.model(k=2).save(file)
        >>> l0path.load(file).features
        ['Hits', 'CRBI']
        """
        return forward.save_model(self, file, data=data)

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        """Coefficients as the package maketables prints them. They have no standard errors, which
        a refit has: `maketables.ETable([model, model.refit()])`.
        """
        coef = self.coef
        if isinstance(coef, pd.DataFrame):  # several responses or classes
            coef = coef.T.stack()
            coef.index = [f"{of}: {name}" for of, name in coef.index]
        return pd.DataFrame({"b": coef, "se": np.nan, "t": np.nan, "p": np.nan})

    @property
    def __maketables_depvar__(self) -> str:
        """The name of the response, for maketables."""
        return str(self.path._meta.response or "y")

    def __maketables_stat__(self, key: str) -> Any:
        """A number of the model for maketables: "N", "r2", or a column of `Path.details`."""
        if key == "N":
            return self.path.n
        if key == "r2":
            return self.deviance_ratio if self.path._meta.loss == "squared" else None
        return self.details.get(key)

    def _repr_html_(self):
        return forward.model_html(self)

    def _line(self):
        """The model as a line: the response, the size, and what was chosen, each feature, or group
        of one, with its coefficient where it has one.
        """
        meta, s = self.path._meta, self._solution
        if meta.responses is not None:
            chosen = list(map(str, self.groups))
        else:
            of, units, chosen = dict(zip(s.support.tolist(), s.beta, strict=True)), meta.units, []
            for g in s.units:
                own, label = units.of(g), units.labels[g]
                alone = own.size == 1 and int(own[0]) in of
                chosen += signed([label], [of[int(own[0])]]) if alone else [str(label)]
        return model_line(meta.response, self.k, chosen)

    def __repr__(self):
        about = f"; {self.path._meta.about}" if self.path._meta.about else ""
        chosen_by = f"; {self._chosen_by}" if self._chosen_by else ""
        return (
            f"<l0path.Model: {self._line()}\n  loss {self.loss:.6g}, deviance ratio "
            f"{self.deviance_ratio:.4f}, {self.optimality}{about}{chosen_by}>"
        )
