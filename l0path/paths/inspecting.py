"""`Path`: methods that look at one solution. Their code is in packages above this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd
from numpy.typing import ArrayLike

from ..core.types import Matrix, Rule, Selector, Settings
from ..relaxation.path_bounds import GLOBAL_GAP

if TYPE_CHECKING:
    from ..inspection import Certificate, Summary


class Inspecting:
    """Methods of `Path`, each with its full signature."""

    def summary(
        self,
        rule: Rule | None = None,
        *,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> Summary:
        """`Summary` of one solution: what each feature contributes, and which column could replace
        it.

        With groups, each row is about a chosen group.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        X, y : array-like, optional
            The data of the fit, needed after loading a path. Data that differ are refused.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

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
          others are fitted again. Forced columns have it too. NaN if the bounds of the coefficient
          leave out 0.
        - best_exchange: the column outside whose exchange for the feature, all others fitted again,
          gives the least objective. None for forced columns, or when no column is left.
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
        >>> path.summary(k=2).table[["increase_if_dropped", "best_exchange"]].round(1)
                 increase_if_dropped best_exchange
        feature
        Hits             10519.2          Runs
        CRBI             23597.1         CRuns
        """
        from ..inspection import summary

        return summary(self, rule, X=X, y=y, **selector)

    def alternatives(
        self,
        rule: Rule | None = None,
        *,
        n: int = 10,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> pd.DataFrame:
        """The nearest models: the best of all exchanges of one feature for another column.

        With groups a chosen group is exchanged for another group.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        n : int, default 10
            The number of exchanges, those with the least objective.
        X, y : array-like, optional
            The data of the fit, needed after loading a path.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

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

        Forced columns stay. Only one exchange is made: nothing is searched beyond. The table leaves
        out columns that keep less than 3e-5 of their length beside the other chosen ones. Models
        whose columns separate the classes are compared by the infimum of their objective.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.alternatives(k=2, n=2)[["dropped", "added", "relative", "proven"]].round(3)
          dropped  added  relative  proven
        0    Hits   Runs     0.012    True
        1    CRBI  CRuns     0.018    True
        """
        from ..inspection import alternatives

        return alternatives(self, rule, n=n, X=X, y=y, **selector)

    def refit(
        self,
        rule: Rule | None = None,
        *,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        freq_weight: ArrayLike | str | None = None,
        trials: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        cov_type: str | None = None,
        cov_kwds: dict | None = None,
        scale: float | str | None = None,
        strata: ArrayLike | str | None = None,
        rows: str | None = None,
        **selector: Any,
    ) -> Any:
        """Statsmodels results of the unpenalised fit on the chosen (and forced) columns.

        The intercept is as in the fit. Parameters are named as in `path.coef`, "(Intercept)" first.
        lambda1, lambda2 and bounds play no part.

        Without X and y (or with those of the fit, as a loaded path needs) the rows have also chosen
        the columns: the results say so, in `results.selection` and in `results.summary()`,
        "conditional on selection". With new X and y they say "held-out rows", and the inference is
        honest as long as these rows had no part in the choice. Rows of the fit among the new ones
        are recognised by their labels and values (without labels by their values), and counted.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
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
            squared loss they are used with Student's t as classical ones are, clustered ones with
            the number of clusters less one as degrees of freedom (use_t=False takes the normal
            distribution). For the Huber loss "H1", "H2" or "H3"; for loss="cox" "nonrobust",
            "robust" or "cluster". None means "nonrobust", "H1" for the Huber loss, and the sandwich
            where sample_weight makes a pseudo-likelihood: "HC0", and "robust" for Cox regressions.
        cov_kwds : dict, optional
            Its options, such as {"groups": labels} for "cluster" (one label per row, after a
            formula also of the rows of the data before incomplete ones were dropped; or the name of
            a column of X, or of the data of the formula) or {"maxlags": 4}.
        scale : float or str, optional
            The dispersion. "X2" for the Poisson and logistic losses: Pearson's chi-squared over its
            degrees of freedom, which gives the standard errors of a quasi-Poisson or quasi-binomial
            model. "dev": the deviance over them. A number, which for the squared loss is a known
            error variance. None leaves it to the model.
        strata : array-like of shape (m,) or str, optional
            After loss="cox" with strata: those of the rows X, or the name of a column of X.
        rows : str, optional
            "all" takes every row that is complete in the columns of the model: rows of X, or
            without X those of the data of a formula (a fit to arrays has complete rows only). A fit
            takes the rows that are complete in *all* columns. The results say how many of the rows
            have chosen the columns. Their log-likelihood is that of other rows than the path's, so
            that criteria do not compare.
        **selector : Any
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`. All other names go to
            statsmodels' `fit` (`use_t=True`, `maxiter=`).

        Returns
        -------
        Any
            The results of statsmodels. `results.predict(new)` takes a DataFrame of the columns that
            X had (after a formula: of those on its right side), and
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

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> results = path.refit(k=2)
        >>> results.bse.round(3).to_dict()
        {'(Intercept)': 55.982, 'Hits': 0.482, 'CRBI': 0.067}
        >>> results.selection[:24]
        'conditional on selection'
        >>> path.refit(k=2, cov_type="HC3").bse.round(3).to_dict()
        {'(Intercept)': 80.976, 'Hits': 0.72, 'CRBI': 0.103}
        >>> train, test = data.X.index[::2], data.X.index[1::2]
        >>> path = l0path.fit(data.X.loc[train], data.y[train])
        >>> path.refit(k=2, X=data.X.loc[test], y=data.y[test]).selection[:13]
        'held-out rows'
        """
        from ..inspection import refit

        return refit(
            self,
            rule,
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
            **selector,
        )

    def certify(
        self,
        rule: Rule | None = None,
        *,
        time_limit: float = 30,
        n_best: int = 1,
        criterion: str | None = None,
        gap: float = GLOBAL_GAP,
        node_limit: int | None = None,
        box: float | str | None = None,
        algorithm: Settings | None = None,
        progress: bool | None = None,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> Certificate:
        """`Certificate` of one solution: a bound for all models of its size, and what the best ones
        share.

        The lower bound holds for the objective of every model of the size (on a lambda0 grid: of
        every model). First come rounds that improve the dual points and apply safe rules, which fix
        columns, for as long as they gain something. Fixed columns leave the problem, which tightens
        the bounds of the next round. Then branch and bound searches the remaining models, until the
        gap is closed or a limit is met. Ctrl-C ends it too. In every case the certificate holds the
        best model found and the bound reached. Survival times, ordered classes, several classes and
        several responses are searched by leaps and bounds over fits: the fit of all columns that
        are left bounds every model of some of them.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        time_limit : float or None, default 30
            Seconds. None means no limit.
        n_best : int, default 1
            How many of the best supports are wanted, all of the size of the solution.
            `certificate.best` lists them, and "optimal" then says that no other support is better
            than the last of them.
        criterion : str, optional
            As in `best_subset`: the n_best best least squares models of *all* sizes.
        gap : float, default 1e-6
            The relative gap at which the search ends.
        node_limit : int, optional
            The largest number of nodes of the search. None means no limit.
        box : float or str, optional
            M > 0, a bound of every |b_j| in standardised units, for problems with lambda2 = 0 that
            have no other bound (a squared loss with more rows than columns has one). "auto" takes
            twice the largest |b_j| of the solution. It is assumed and not proved: `assumptions`
            says so, and nothing is called proven under it. None assumes nothing. Not for several
            responses or classes.
        algorithm : settings record, optional
            `BranchAndBound` or `IntegralityGeneration` of `l0path.solvers`. None means the first,
            with the gap and node_limit given here.
        progress : bool, optional
            A line on stderr (in a notebook below the cell) that shows seconds, objective, bound,
            gap and nodes: True at once, False never, None as in `l0path.fit`.
        X, y : array-like, optional
            The data of the fit, needed after loading a path.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        Certificate
            What is proved. The path does not change: `certificate.path` is a copy with the row
            bounded and, where a better subset was found, replaced. Where the gap is closed to 1e-6
            its optimality is "global".

        Raises
        ------
        ValueError
            If a limit, n_best or the gap is out of range, or a box is not positive or leaves the
            solution out.
        TypeError or LookupError
            If the selector names no solution, or several.

        References
        ----------
        - box="auto": Bertsimas, King & Mazumder, Annals of Statistics 44, 2016.
        - n_best is nbest of `regsubsets` in the R package leaps.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> certificate = path.certify(k=3, n_best=2)
        >>> certificate.status, certificate.proven
        ('optimal', True)
        >>> [model.features for model in certificate.best]
        [['Hits', 'CRBI', 'PutOuts'], ['Hits', 'CRBI', 'Division_W']]
        """
        from ..inspection import certify

        return certify(
            self,
            rule,
            time_limit=time_limit,
            **{"n_best": n_best, "criterion": criterion, "gap": gap, "node_limit": node_limit},
            box=box,
            algorithm=algorithm,
            progress=progress,
            X=X,
            y=y,
            **selector,
        )
