"""`Path`: all solutions of a fit as one object with a table, coefficients by name and predictions.

Its methods stand in files by subject; those of packages above have a line that imports them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.describing import spans
from ..core.hints import refuse_attribute
from ..core.printed import Table
from ..core.status import End, FitStatus
from ..core.types import Matrix, Rule, Selector
from ..problem.problem import Data, row_weights
from ..problem.responses import reported
from ..problem.several import summed_loss
from ..problem.solution import Solution, present
from .choosing import Choosing
from .inspecting import Inspecting
from .model import Model
from .new_rows import NewRows, with_baselines
from .predicting import Predicting
from .records import Meta, Source, by_response, loss_of
from .showing import Showing

TABLE = [
    "k",
    "n_nonzero",
    "slice",
    "lambda0",
    "lambda1",
    "lambda2",
    "objective",
    "loss",
    "deviance_ratio",
    "lambda0_low",
    "lambda0_high",
    "lower_bound",
    "gap",
    "converged",
    "status",
    "optimality",
    "flags",
    "features",
]


KNOWN_OF_ROWS = ("slice", "sigma2")  # numbers in `Source.extra` that stay when the data go


class Path(Choosing, Predicting, NewRows, Inspecting, Showing):
    """A whole path of models, one for every size or every value of lambda0.

    A model is chosen by a selector: its size (5, or k=5), lambda0=, index=, or a rule such as
    "bic". Where there are several slices, slice=, lambda1= or lambda2= says which one is meant.

    Attributes
    ----------
    status : str
        How the path ended: "complete: ...", or what stopped it.
    end : End
        The same as a value: complete, separated (larger sizes separate the classes), time_limit,
        stopped (by on_solution) or interrupted (Ctrl-C). `end.finished` says whether nothing cut
        the path short.
    notes : list of str
        What was noticed.
    rounds : DataFrame
        The record of the search, one row per round.
    """

    def __init__(
        self,
        meta: Meta,
        solutions: Iterable[Solution],
        status: str = "",
        notes: Sequence[str] = (),
        rounds: Sequence[dict] = (),
        source: Source | None = None,
        *,
        end: End = End.COMPLETE,
    ) -> None:
        self.meta, self.solutions = meta, [s.in_texts() for s in solutions]
        self.status, self.end, self.notes = status, End(end), list(notes)
        self._rounds = list(rounds)
        self._source = source or Source()
        self._table = None

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name):
            refuse_attribute(self, name)

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """The record of the search, one row per round."""
        return Table(self._rounds)

    @property
    def names(self) -> list[str]:
        """Names of the p columns."""
        return list(self.meta.names)

    @property
    def n(self) -> int:
        """The number of rows of X."""
        return self.meta.n

    @property
    def p(self) -> int:
        """The number of columns of X."""
        return self.meta.p

    @property
    def classes(self) -> tuple | None:
        """The labels (negative, positive) of a classification, else None."""
        return self.meta.classes

    @property
    def responses(self) -> list[str] | None:
        """The names of several responses, else None."""
        return None if self.meta.responses is None else list(self.meta.responses)

    @property
    def penalty(self) -> str:
        """The terms in force: "L0", "L0L1", "L0L2" or "L0L1L2"."""
        return self.meta.penalty

    @property
    def n_dropped(self) -> int:
        """The number of rows that a formula dropped because of missing values."""
        return 0 if self.meta.formula is None else self.meta.formula.n_dropped

    @property
    def loss(self) -> str:
        """The name of the loss."""
        return self.meta.loss

    @property
    def table(self) -> pd.DataFrame:
        """A DataFrame with one row per solution.

        The row label is the index that selectors take. The last column, `features`, names what was
        chosen, forced ones included: columns, or with groups the groups or terms.
        """
        if self._table is None:
            rows = [self._row(s) for s in self.solutions]
            self._table = pd.DataFrame(rows, columns=TABLE[:-1])
            self._table[TABLE[-1]] = pd.Series(self._chosen(), dtype=object)
        return Table(self._table.copy())

    def _chosen(self):
        """The features of each solution as one text: names of columns, or labels of groups."""
        groups = self.meta.groups
        labels = self.meta.names if groups is None else groups.labels
        chosen = [(s.support if groups is None else s.groups).tolist() for s in self.solutions]
        name = {j: str(labels[j]) for j in {j for own in chosen for j in own}}  # some are made
        return [", ".join([name[j] for j in own]) for own in chosen]

    def _row(self, s):
        gap = (s.objective - s.lower_bound) / max(abs(s.objective), 1e-12)
        return {
            "k": s.k,
            "n_nonzero": s.n_nonzero,
            "slice": s.slice,
            "lambda0": s.lambda0,
            "lambda1": s.lambda1,
            "lambda2": s.lambda2,
            "objective": s.objective,
            "loss": s.loss,
            "deviance_ratio": self.meta.deviance_ratio(s.loss),
            "lambda0_low": s.lambda0_low,
            "lambda0_high": s.lambda0_high,
            "lower_bound": s.lower_bound,
            "gap": gap,
            "converged": s.status == FitStatus.CONVERGED,
            "status": s.status,
            "optimality": s.optimality,
            "flags": s.noticed,
        }

    def __len__(self):
        return len(self.solutions)

    def __iter__(self):
        return (Model(self, i) for i in range(len(self)))

    def __getstate__(self):
        formula, data = self.meta.formula, self._source.data
        rows = {} if formula is None or data is None else formula.rows_of_fit()
        kept = {"_table": None, "_formula_rows": rows, "solutions": with_baselines(self)}
        return self.__dict__ | kept

    def __setstate__(self, state):
        rows = state.pop("_formula_rows", {})
        self.__dict__.update(state)
        if rows and self._source.data is not None:
            self.meta.formula.__dict__.update(rows)

    def without_data(self) -> Path:
        """The same path without X and y, as `l0path.load` gives it.

        Its pickle has the size of the models alone. Methods that need the data take X= and y=.

        Returns
        -------
        Path

        Examples
        --------
        >>> import l0path, pickle
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y, max_k=3)
        >>> whole, small = len(pickle.dumps(path)), len(pickle.dumps(path.without_data()))
        >>> small < whole / 2
        True
        """
        out = copy.copy(self)
        known = {name: one for name, one in self._source.extra.items() if name in KNOWN_OF_ROWS}
        out.solutions, out._source = with_baselines(self), Source(extra=known)
        if self.meta.formula is not None:
            out.meta = replace(self.meta, formula=copy.copy(self.meta.formula))
        return out

    def __repr__(self):
        slices = len({s.slice for s in self.solutions})
        span = f"k = {spans(s.k for s in self.solutions)}" if self.solutions else "no solution"
        many = f" for each of {slices} slices (lambda1, lambda2)" if slices > 1 else ""
        dropped = f", {self.n_dropped} rows dropped" if self.n_dropped else ""
        about = f", {self.meta.about}" if self.meta.about else ""
        dropped += f", {self.meta.heredity} heredity" if self.meta.heredity else ""
        if self.meta.responses is not None:
            counted = "responses" if self.classes is None else "classes"
            about = f", {len(self.meta.responses)} {counted}"
        return (
            f"<l0path.Path: {self.meta.loss} loss{about}, penalty {self.penalty}, n = {self.n}, "
            f"p = {self.p}{dropped}; {len(self)} solutions, {span}{many}; {self.status}>"
        )

    # -- choosing one solution

    @overload
    def coef(
        self, rule: None = None, *, standardized: bool = False, full: bool = False
    ) -> pd.DataFrame: ...
    @overload
    def coef(
        self,
        rule: Rule | None = None,
        *,
        standardized: bool = False,
        full: bool = False,
        **selector: Unpack[Selector],
    ) -> pd.Series: ...
    def coef(
        self,
        rule: Rule | None = None,
        *,
        standardized: bool = False,
        full: bool = False,
        baseline: object = None,
        **selector: Unpack[Selector],
    ) -> pd.Series | pd.DataFrame:
        """The intercept and the coefficients of one solution, or of all, in units of y and X.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`. Without any selector
            all solutions are returned.
        standardized : bool, default False
            Whether to return b_j = s_j beta_j, and the intercept at the column means.
        full : bool, default False
            Whether all p columns are listed, instead of the chosen ones.
        baseline : object, optional
            A class of the multinomial loss whose coefficients are taken off those of all classes,
            so that they are log odds against it. None leaves them with the sum zero over the
            classes.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        Series or DataFrame
            A Series with "(Intercept)" first (survival times have none), whose name is the index of
            the solution, for classes with what the coefficients speak for, "P(y = 'b')". Without a
            selector a DataFrame with one column per solution and the rows that ever enter. Its
            columns are the sizes k on a path of sizes, (slice, k) where that has several slices,
            and rows of `table` on a lambda0 grid. With several responses the coefficients of one
            solution are a DataFrame too, features by responses; those of all, (k, response).

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.coef(k=2).round(3)
        feature
        (Intercept)   -47.956
        Hits            3.301
        CRBI            0.690
        Name: 2, dtype: float64
        >>> path.coef(k=2, standardized=True).round(1).to_dict()
        {'(Intercept)': 535.9, 'Hits': 148.7, 'CRBI': 222.7}
        >>> path.coef()[[1, 2]].loc[lambda table: (table != 0).any(axis=1)].round(2)
        k                 1      2
        feature
        (Intercept)  274.58 -47.96
        Hits           0.00   3.30
        CRBI           0.79   0.69
        """
        base = self._baseline(baseline)
        if rule is None and not selector:
            ever = (
                np.arange(self.p)
                if full
                else np.unique(np.concatenate([s.support for s in self.solutions])).astype(int)
            )
            names = self.meta.rows_of_coefficients(ever)
            columns = [base(self._coef(s, ever, standardized)) for s in self.solutions]
            values = np.column_stack(columns) if columns else np.empty((len(names), 0))
            labels = self._labels()
            if self.meta.responses is not None:
                labels = by_response(labels, self.meta.response_index)
            return pd.DataFrame(values, index=names, columns=labels)
        self, i = self._at(rule, **selector)
        s = self.solutions[i]
        which = np.arange(self.p) if full else s.support
        index = self.meta.rows_of_coefficients(which)
        values = base(self._coef(s, which, standardized))
        if self.meta.responses is not None:
            return pd.DataFrame(values, index=index, columns=self.meta.response_index)
        return pd.Series(values, index=index, name=self.meta.about or i)

    def _baseline(self, label):
        """The coefficients of the baseline class, subtracted from those of all classes."""
        if label is None:
            return lambda values: values
        if self.meta.responses is None or self.classes is None or label not in self.classes:
            raise ValueError(
                f"baseline={label!r} is not a class of a multinomial fit"
                + (f"; its classes are {', '.join(self.meta.responses)}" if self.responses else "")
            )
        at = list(self.classes).index(label)
        return lambda values: values - values[:, [at]]

    def _labels(self):
        """Labels of the solutions as columns of a table: sizes, (slice, k), or rows."""
        sizes = pd.Index([s.k for s in self.solutions], name="k", dtype=np.int64)
        slices = [s.slice for s in self.solutions]
        if len(set(slices)) > 1:
            sizes = pd.MultiIndex.from_arrays([slices, sizes], names=["slice", "k"])
        on_grid = self.meta.grid == "lambda0" or not sizes.is_unique
        return pd.RangeIndex(len(slices), name="index") if on_grid else sizes

    def _coef(self, s, which, standardized):
        beta = np.zeros((self.p, *s.beta.shape[1:]))
        beta[s.support] = (s.beta.T * (self.meta.scale[s.support] if standardized else 1.0)).T
        shift = self.meta.center[s.support] @ s.beta if standardized else 0.0
        first = [s.intercept + shift] if s.thresholds is None else s.thresholds - shift
        return np.concatenate([first, beta[which]] if self.meta.first_names else [beta[which]])

    def loss_record(self, X: Matrix | None = None, y: ArrayLike | None = None) -> Any:
        """The loss as a record for `l0path.problem.losses`.

        Parameters
        ----------
        X, y : array-like, optional
            The data of the fit. They are needed after loading a path of survival times alone, whose
            loss depends on the times.

        Returns
        -------
        NamedTuple
            The loss with its parameters, such as `delta`.
        """
        if self.meta.traits.response == "survival":
            return self.data(X, y).loss
        return loss_of(self.meta)

    def objective(
        self,
        rule: Rule | None = None,
        *,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> float:
        """The objective of a solution, computed anew from its coefficients and the data.

            loss + lambda1 ||b||_1 + lambda2 ||b||_2^2  (+ lambda0 sum_j f_j [b_j != 0] on a lambda0
            grid)

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        X, y : array-like, optional
            The data of the fit, needed after loading a path.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        float
            The objective, in units of the mean loss.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> round(path.objective(k=6), 1)
        49800.2
        """
        self, i = self._at(rule, **selector)
        s = self.solutions[i]
        data = self.data(X, y)
        eta = self._link(data.design, s) + (0.0 if data.offset is None else data.offset)
        b = (s.beta.T * self.meta.scale[s.support]).T
        if data.responses is not None:
            b = (b * np.sqrt(data.response_weights)).ravel()
        value = (
            summed_loss(reported(data.loss), data.y, eta, row_weights(data), data.response_weights)
            + s.lambda1 * np.abs(b).sum()
            + s.lambda2 * b @ b
        )
        if self.meta.grid == "lambda0":
            forced = np.isin(s.support, self.meta.forced)
            value += (
                s.lambda0 * self.meta.groups.factor[s.groups].sum()
                if self.meta.groups is not None
                else s.lambda0 * self.meta.factor[s.support][~forced & present(s.beta)].sum()
            )
        return float(value)

    def data(self, X: Matrix | None = None, y: ArrayLike | None = None) -> Data:
        """The data of the fit.

        Parameters
        ----------
        X, y : array-like, optional
            The data of the fit, needed after loading a path.

        Returns
        -------
        Data
            The checked data in the units of X and y, with weights, offset and bounds.

        Raises
        ------
        ValueError
            If X or y are missing, or differ from those of the fit by a checksum of some columns.
        """
        from ..engine.posing import data_of_fit

        return data_of_fit(self, X, y)

    def slice(self, i: int) -> Path:
        """The path of one slice, a pair (lambda1, lambda2), with rows numbered anew.

        Parameters
        ----------
        i : int
            The number of the slice, from 0.

        Returns
        -------
        Path
            The solutions of this slice.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters()
        >>> path = l0path.fit(data.X, data.y, lambda2=[0.1, 0.01], max_k=5)
        >>> len(path), len(path.slice(1))
        (12, 6)
        >>> path.slice(1).table.lambda2.unique()
        array([0.01])
        """
        if isinstance(i, (bool, np.bool_)) or not isinstance(i, (int, np.integer)):
            raise TypeError(f"slice({i!r}): give the number of a slice, as in path.table")
        rows = self._rows(i, None, None)
        return Path(
            self.meta,
            [self.solutions[r]._replace(slice=0) for r in rows],
            self.status,
            self.notes,
            self.rounds.to_dict("records"),
            self._source,
            end=self.end,
        )
