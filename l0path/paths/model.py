"""`Model`: one solution of a path."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.hints import refuse_attribute
from ..core.types import Matrix

if TYPE_CHECKING:
    from .path import Path


class Model:
    """One solution of a path: its columns, coefficients, and what was checked.

    Attributes
    ----------
    index : int
        The row of `path.table`.
    k, n_nonzero : int
        The number of chosen columns (with groups: groups) that were not forced, and the number of
        coefficients that are not 0.
    slice : int
        The number of the pair (lambda1, lambda2) on the path.
    lambda0, lambda1, lambda2 : float
        The penalties, in units of the mean loss.
    objective, loss : float
        The objective, and the weighted mean loss that is part of it.
    deviance_ratio : float
        The share of the null deviance that the model explains; R^2 for the squared loss.
    lower_bound, gap : float
        A lower bound of the objective, and (objective - lower_bound) / max(|objective|, 1e-12). NaN
        where none was computed.
    lambda0_low, lambda0_high : float
        The values of lambda0 for which the model is the best of its path. NaN if there are none.
    converged : bool
        Whether the coefficients are those of the restricted optimum, to the accuracy asked for.
    status, flags : str
        How the fit of this model ended, and what was noticed, such as separated classes.
    optimality : str
        What was verified, such as "refit_swap" or "global" (docs/problem.md).
    chosen_by : str
        With terms of several columns, such as factors, and a criterion: which models it compared,
        all sets of terms or the rows of the path alone, and why. Else "".

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

    k: int
    n_nonzero: int
    slice: int
    lambda0: float
    lambda1: float
    lambda2: float
    objective: float
    loss: float
    deviance_ratio: float
    lambda0_low: float
    lambda0_high: float
    lower_bound: float
    gap: float
    converged: bool
    status: str
    optimality: str
    flags: str

    def __init__(self, path: Path, index: int, chosen_by: str = "") -> None:
        self.path, self.index, self.chosen_by = path, int(index), chosen_by
        self._row = path._row(path.solutions[self.index])

    def __getattr__(self, name):
        row = self.__dict__.get("_row", {})
        if name in row:
            return row[name]
        refuse_attribute(self, name, "path")

    def __dir__(self):
        return sorted({*super().__dir__(), *self.__dict__.get("_row", {})})

    @property
    def support(self) -> np.ndarray:
        """Indices of the chosen columns, ascending, forced ones included."""
        return self.path.solutions[self.index].support.copy()

    @property
    def features(self) -> list[str]:
        """Names of the chosen columns."""
        return [self.path.meta.names[j] for j in self.path.solutions[self.index].support]

    @property
    def groups(self) -> list:
        """Labels of the chosen groups, forced ones included; without groups, the `features`."""
        chosen = self.path.solutions[self.index].groups
        if chosen is None:
            return self.features
        return [self.path.meta.groups.labels[g] for g in chosen]

    @property
    def exchanges(self) -> int | None:
        """The number m of exchanges that were tried where `optimality` is "refit_swap_m", else
        None.
        """
        return self.path.solutions[self.index].exchanges

    @property
    def intercept(self) -> float | pd.Series:
        """The intercept in the units of y, a Series for several responses or thresholds."""
        value, meta = self.path.solutions[self.index].intercept, self.path.meta
        if meta.responses is not None:
            return pd.Series(value, index=meta.response_index, name="intercept")
        if meta.ordered:
            thresholds = self.path.solutions[self.index].thresholds
            return pd.Series(thresholds, index=meta.first_names, name="threshold")
        return float(value)

    @property
    def coef(self) -> pd.Series | pd.DataFrame:
        """The intercept, as "(Intercept)", and the coefficients of the chosen columns, in units of
        y and X; a DataFrame with a column for each of several responses.
        """
        return self.path.coef(index=self.index)

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
        return self.path.predict(X, index=self.index, type=type, offset=offset)

    def summary(self, X: Matrix | None = None, y: ArrayLike | None = None) -> Any:
        """The `Summary` of this model, as `Path.summary` makes it.

        Parameters
        ----------
        X, y : array-like, optional
            The data of the fit, needed after loading a path.

        Returns
        -------
        Summary
            A table with one row per feature.
        """
        return self.path.summary(index=self.index, X=X, y=y)

    def refit(
        self,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | str | None = None,
        freq_weight: ArrayLike | str | None = None,
        trials: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        **options: Any,
    ) -> Any:
        """Statsmodels results of the unpenalised fit on the columns of this model, as in
        `Path.refit`.

        Parameters
        ----------
        X, y : array-like, optional
            Other rows than those of the fit, as in `Path.refit`.
        sample_weight, freq_weight, trials, offset : array-like of shape (m,) or str, optional
            Those of these rows, as in `Path.refit`.
        **options : Any
            cov_type, cov_kwds, scale, and other options of statsmodels.

        Returns
        -------
        Any
            The results of statsmodels.
        """
        rows = {"sample_weight": sample_weight, "freq_weight": freq_weight, "trials": trials}
        return self.path.refit(index=self.index, X=X, y=y, offset=offset, **rows, **options)

    def conf_int(
        self,
        level: float = 0.95,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Confidence intervals of the coefficients by the unpenalised refit of `Path.refit`.

        The rows of the fit have chosen the columns, and intervals by them are too short; rows X and
        y that had no part in it give valid ones. `attrs["selection"]` of the table says which rows
        these are.

        Parameters
        ----------
        level : float, default 0.95
            The level of each interval, between 0 and 1. They are not simultaneous.
        X, y : array-like, optional
            Other rows than those of the fit, as in `Path.refit`.
        **options : Any
            As in `Path.refit`: cov_type, cov_kwds, rows, weights of the rows.

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
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
            raise ValueError(f"level={level!r} must be a number between 0 and 1")
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
        self, n: int = 10, X: Matrix | None = None, y: ArrayLike | None = None
    ) -> pd.DataFrame:
        """The nearest models, one exchange away, as `Path.alternatives` lists them.

        Parameters
        ----------
        n : int, default 10
            The number of models.
        X, y : array-like, optional
            The data of the fit, needed after loading a path.

        Returns
        -------
        DataFrame
            One row per exchange, the best first.
        """
        return self.path.alternatives(index=self.index, n=n, X=X, y=y)

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
        return self.path.certify(index=self.index, **options)

    def score(
        self,
        X: Matrix,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | str | None = None,
        freq_weight: ArrayLike | str | None = None,
        trials: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        strata: ArrayLike | str | None = None,
    ) -> pd.Series:
        """Every metric of this model on other rows, as `Path.score` computes them.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The rows, as in `Path.predict`.
        y : array-like of shape (m,), optional
            Their responses. After a fit by a formula None takes the left side of X.
        sample_weight, freq_weight, trials, offset : array-like of shape (m,) or str, optional
            As in `Path.score`.
        strata : array-like of shape (m,) or str, optional
            Their strata, if the fit had some.

        Returns
        -------
        Series
            One number per metric.
        """
        rows = {"sample_weight": sample_weight, "freq_weight": freq_weight, "trials": trials}
        return self.path.score(X, y, index=self.index, offset=offset, strata=strata, **rows)

    def to_python(self) -> str:
        """The model as Python code: a module that needs NumPy alone.

        Its function `predict(data)` reads the columns of the model by name from a DataFrame or a
        dictionary, and returns what `Path.predict` returns by default: the mean of the response,
        the probability of the second class, or (hinge losses, survival times) the linear predictor.
        For several responses it returns an array with a column for each, for several and for
        ordered classes one of their probabilities. The terms of a formula are written out: columns,
        levels of factors, arithmetic, log, exp, sqrt and abs.

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
        from ..report import python_code

        return python_code(self)

    def to_sql(self) -> str:
        """The model as an SQL expression over the columns of a table.

        Names of columns are in double quotes, text in single quotes, as in the SQL standard. The
        functions EXP, LN, SQRT, ABS and POWER are used where the link or a formula needs them. The
        value is what `Path.predict` returns by default. For several responses, and for several and
        ordered classes, there is an expression for each of them, named by it.

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
        from ..report import sql_expression

        return sql_expression(self)

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
        from ..report import sklearn_model

        return sklearn_model(self)

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
        from ..cross_validation.storage import save_model

        return save_model(self, file, data=data)

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
        return str(self.path.meta.response or "y")

    def __maketables_stat__(self, key: str) -> Any:
        """A number of the model for maketables: "N", "r2", or a column of `Path.details`."""
        if key == "N":
            return self.path.n
        if key == "r2":
            return self.deviance_ratio if self.path.loss == "squared" else None
        return self._row.get(key)

    def _repr_html_(self):
        from ..report import model_html

        return model_html(self)

    def __repr__(self):
        shown = ", ".join(self.features[:6]) + (", ..." if len(self.features) > 6 else "")
        about = f"{self.path.meta.about}, " if self.path.meta.about else ""
        return (
            f"<l0path.Model: {about}k = {self.k}, loss {self.loss:.6g}, deviance ratio "
            f"{self.deviance_ratio:.4f}, {self.optimality}; {shown or 'intercept only'}"
            + (f"; {self.chosen_by}>" if self.chosen_by else ">")
        )
