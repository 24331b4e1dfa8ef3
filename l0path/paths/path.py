"""`Path`: all solutions of a fit as one object with a table, coefficients by name and predictions.
Methods that need more (select, plot, refit, ...) are bound in `l0path/__init__`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Unpack, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.status import End
from ..core.types import Matrix, Rule, Selector
from ..designs import Derived, Reordered, as_design, derived
from ..designs.names import INTERCEPT, column_names
from ..formula import Encoded
from ..problem.losses import CLASSIFICATION, canonical_name, make_loss, mean_of_rows
from ..problem.problem import Data
from . import offsets
from .model import Model
from .records import Meta, Solution, Source

COLUMNS = [
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


class Path:
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

    # bound in `l0path/__init__`, from modules that stand above this one
    alternatives: Callable[..., pd.DataFrame]
    certify: Callable[..., Any]
    compare: Callable[..., Any]
    explore: Callable[..., Any]
    plot: Callable[..., Any]
    plot_calibration: Callable[..., Any]
    plot_roc: Callable[..., Any]
    refit: Callable[..., Any]
    save: Callable[..., None]
    score: Callable[..., pd.Series]
    score_table: Callable[..., pd.DataFrame]
    select: Callable[..., int]
    summary: Callable[..., Any]
    validate: Callable[..., Any]

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
        self.rounds = pd.DataFrame(list(rounds))
        self._source = source or Source()
        self._table = None

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
    def delta(self) -> float | None:
        """The threshold of the Huber loss in units of y, the same for all models; None for other
        losses.
        """
        return self.meta.loss_parameter if self.loss == "huber" else None

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
            self._table = pd.DataFrame(rows, columns=COLUMNS[:-1])
            self._table[COLUMNS[-1]] = pd.Series(self._chosen(), dtype=object)
        return self._table.copy()

    def _chosen(self):
        """What each solution chose, as one text: names of columns, or labels of groups."""
        groups = self.meta.groups
        labels = self.meta.names if groups is None else groups.labels
        chosen = [(s.support if groups is None else s.groups).tolist() for s in self.solutions]
        name = {j: str(labels[j]) for j in {j for own in chosen for j in own}}  # some are made
        return [", ".join([name[j] for j in own]) for own in chosen]

    def _row(self, s):
        gap = (s.objective - s.lower_bound) / max(abs(s.objective), 1e-12)
        return {
            "k": s.k,
            "n_nonzero": int(np.count_nonzero(s.beta)),
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
            "converged": s.status == "converged",
            "status": s.status,
            "optimality": s.optimality,
            "flags": s.noticed,
        }

    def __len__(self):
        return len(self.solutions)

    def __iter__(self):
        return (Model(self, i) for i in range(len(self)))

    def __getstate__(self):
        return {**self.__dict__, "_source": Source(), "_table": None}

    def __repr__(self):
        sizes = [s.k for s in self.solutions]
        slices = len({s.slice for s in self.solutions})
        span = f"k = {min(sizes)}..{max(sizes)}" if sizes else "no solution"
        many = f" for each of {slices} slices (lambda1, lambda2)" if slices > 1 else ""
        dropped = f", {self.n_dropped} rows dropped" if self.n_dropped else ""
        about = f", {self.meta.about}" if self.meta.about else ""
        return (
            f"<l0path.Path: {self.meta.loss} loss{about}, penalty {self.penalty}, n = {self.n}, "
            f"p = {self.p}{dropped}; {len(self)} solutions, {span}{many}; {self.status}>"
        )

    # -- choosing one solution

    def index(
        self,
        rule: Rule | None = None,
        *,
        k: int | None = None,
        lambda0: float | None = None,
        index: int | None = None,
        slice: int | None = None,
        lambda1: float | None = None,
        lambda2: float | None = None,
    ) -> int:
        """The index of the one solution that a selector names.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size (5 is the same as k=5), a criterion such as "aic" or "bic", or a function of the
            path that returns an index.
        k : int, optional
            The size.
        lambda0 : float, optional
            A value of the grid (to 1e-8, relative), or on a path of sizes any value in a model's
            interval [lambda0_low, lambda0_high).
        index : int, optional
            The row of `table`.
        slice : int, optional
            The number of the slice, where there are several.
        lambda1, lambda2 : float, optional
            The penalties of the slice, where there are several.

        Returns
        -------
        int
            A row of `table`.

        Raises
        ------
        LookupError
            If no solution, or several, match; neighbours or slices are named.
        TypeError
            Unless exactly one of rule, k, lambda0 and index is given.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.index(6), path.index(k=6), path.index(lambda0=1500.0), path.index("bic")
        (6, 6, 6, 6)
        """
        given = [
            name
            for name, value in (("rule", rule), ("k", k), ("lambda0", lambda0), ("index", index))
            if value is not None
        ]
        if len(given) != 1:
            raise TypeError(
                "choose a solution by exactly one of k=, lambda0=, index= or a rule such as "
                f"'bic'; got {', '.join(given) or 'none'}"
            )
        if isinstance(rule, (int, np.integer)) and not isinstance(rule, bool):
            given, k, rule = ["k"], int(rule), None
        if index is not None:
            if (
                isinstance(index, (bool, np.bool_))
                or not isinstance(index, (int, np.integer))
                or not -len(self) <= index < len(self)
            ):
                raise LookupError(
                    f"index={index!r} is not on the path; it has rows 0..{len(self) - 1}"
                )
            return int(index) % len(self)
        rows = self._rows(slice, lambda1, lambda2)
        if rule is not None:
            return self._by_rule(rule, rows)
        slices = sorted({self.solutions[i].slice for i in rows})
        if len(slices) > 1:
            shown = "; ".join(
                f"slice={s}: lambda1={a:.4g}, lambda2={b:.4g}" for s, a, b in self._slices(slices)
            )
            raise LookupError(
                f"{given[0]}={k if k is not None else lambda0!r} needs one slice, the path has "
                f"{len(slices)}; add slice=, lambda1= or lambda2= ({shown})"
            )
        return self._by_size(k, rows) if k is not None else self._by_lambda0(lambda0, rows)

    def _slices(self, slices):
        seen = {s.slice: (s.slice, s.lambda1, s.lambda2) for s in self.solutions}
        return [seen[s] for s in slices]

    def _rows(self, slice, lambda1, lambda2):
        rows = list(range(len(self)))
        for name, value in (("slice", slice), ("lambda1", lambda1), ("lambda2", lambda2)):
            if value is not None:
                if not isinstance(value, (int, float, np.integer, np.floating)):
                    raise TypeError(
                        f"{name}={value!r} must be a number, that of a slice of the path"
                    )
                have = sorted({getattr(self.solutions[i], name) for i in rows})
                rows = [
                    i
                    for i in rows
                    if abs(getattr(self.solutions[i], name) - value) <= 1e-8 * abs(value)
                ]
                if not rows:
                    raise LookupError(
                        f"{name}={value!r} is not on the path; it has {name} in {have[:20]}"
                    )
        return rows

    def _by_rule(self, rule, rows):
        if callable(rule):
            i = rule(self)
            if (
                isinstance(i, (bool, np.bool_))
                or not isinstance(i, (int, np.integer))
                or not 0 <= i < len(self)
            ):
                raise LookupError(
                    f"the rule {rule!r} returned {i!r}; it must return the index of a row of "
                    f"path.table, an integer in 0..{len(self) - 1}"
                )
            return int(i)
        return self.select(rule, rows=rows)

    def _by_size(self, k, rows):
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
            raise TypeError(f"k={k!r} must be a whole number, the size of a model")
        sized = [i for i in rows if self.solutions[i].k == k]
        if not sized:
            below, above = (
                [self.solutions[i].k for i in rows if self.solutions[i].k < k],
                [self.solutions[i].k for i in rows if self.solutions[i].k > k],
            )
            near = [
                f"k={max(below)}" if below else "",
                f"k={min(above)}" if above else "",
            ]
            found = [size for size in near if size]
            sizes = f"size{' is' if len(found) == 1 else 's are'}"
            raise LookupError(
                f"k={k} is not on the path; the nearest {sizes} {' and '.join(found) or 'none'}"
            )
        return min(sized, key=lambda i: (self.solutions[i].loss + self.solutions[i].shrinkage, i))

    def _by_lambda0(self, value, rows):
        if not isinstance(value, (int, float, np.number)) or not value >= 0:
            raise LookupError(f"lambda0={value!r} must be a number >= 0")
        if self.meta.grid == "lambda0":
            hit = [
                i
                for i in rows
                if abs(self.solutions[i].lambda0 - value) <= 1e-8 * max(abs(value), 1e-300)
            ]
            grid = np.array([self.solutions[i].lambda0 for i in rows])
            near = _neighbours(grid, value)
            remedy = f"the nearest on the grid are {near}; fit with lambda0={value:.6g}"
        else:
            hit = [
                i
                for i in rows
                if self.solutions[i].lambda0_low <= value < self.solutions[i].lambda0_high
            ]
            low = min(
                (
                    self.solutions[i].lambda0_low
                    for i in rows
                    if not np.isnan(self.solutions[i].lambda0_low)
                ),
                default=np.nan,
            )
            remedy = f"the path covers lambda0 >= {low:.6g}; raise max_k to go below"
        if not hit:
            raise LookupError(f"lambda0={value!r} is not on the path: {remedy}")
        return hit[0]

    # -- what a solution says

    def model(self, rule: Rule | None = None, **selector: Unpack[Selector]) -> Model:
        """The `Model` that a selector names.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        Model
            One solution of the path.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.model(6)  # or path.model(k=6)
        <l0path.Model: k = 6, loss 49800.2, deviance ratio 0.5087, refit_swap; AtBat, Hits, Walks,
        CRBI, Division_W, PutOuts>
        >>> path.model("bic").features
        ['AtBat', 'Hits', 'Walks', 'CRBI', 'Division_W', 'PutOuts']
        """
        return Model(self, self.index(rule, **selector))

    def support(self, rule: Rule | None = None, **selector: Unpack[Selector]) -> np.ndarray:
        """The column indices of a solution, ascending, forced ones included.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        ndarray of int
            Indices of columns of X.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.support(k=6)
        array([ 0,  1,  5, 11, 14, 15])
        """
        return self.solutions[self.index(rule, **selector)].support.copy()

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
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        Series or DataFrame
            A Series with "(Intercept)" first, whose name is the index of the solution, for classes
            with what the coefficients speak for, "P(y = 'b')". Without a selector a DataFrame with
            one column per solution and the rows that ever enter. Its columns are the sizes k on a
            path of sizes, (slice, k) where that has several slices, and rows of `table` on a
            lambda0 grid.

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
        if rule is None and not selector:
            ever = (
                np.arange(self.p)
                if full
                else np.unique(np.concatenate([s.support for s in self.solutions])).astype(int)
            )
            names = pd.Index([INTERCEPT, *(self.meta.names[j] for j in ever)], name="feature")
            columns = [self._coef(s, ever, standardized) for s in self.solutions]
            values = np.column_stack(columns) if columns else np.empty((len(names), 0))
            return pd.DataFrame(values, index=names, columns=self._labels())
        i = self.index(rule, **selector)
        s = self.solutions[i]
        which = np.arange(self.p) if full else s.support
        return pd.Series(
            self._coef(s, which, standardized),
            index=pd.Index([INTERCEPT, *(self.meta.names[j] for j in which)], name="feature"),
            name=self.meta.about or i,
        )

    def _labels(self):
        """Labels of the solutions as columns of a table: sizes, (slice, k), or rows."""
        sizes = pd.Index([s.k for s in self.solutions], name="k", dtype=np.int64)
        slices = [s.slice for s in self.solutions]
        if len(set(slices)) > 1:
            sizes = pd.MultiIndex.from_arrays([slices, sizes], names=["slice", "k"])
        on_grid = self.meta.grid == "lambda0" or not sizes.is_unique
        return pd.RangeIndex(len(slices), name="index") if on_grid else sizes

    def _coef(self, s, which, standardized):
        beta = np.zeros(self.p)
        beta[s.support] = s.beta * (self.meta.scale[s.support] if standardized else 1.0)
        intercept = s.intercept + (self.meta.center[s.support] @ s.beta if standardized else 0.0)
        return np.concatenate([[intercept], beta[which]])

    def loss_record(self) -> Any:
        """The loss as a record for `l0path.problem.losses`.

        Returns
        -------
        NamedTuple
            The loss with its parameters, such as the `delta` of the Huber loss.
        """
        name, parameter = self.meta.loss, self.meta.loss_parameter
        return make_loss(
            canonical_name(name, exact=True),
            *(
                [parameter, 1.0]
                if name == "smoothed_hinge"
                else [0.25, parameter if parameter is not None else 1.0]
            ),
        )

    @overload
    def predict(
        self,
        X: Matrix,
        rule: None = None,
        *,
        type: str | None = None,
        offset: ArrayLike | None = None,
    ) -> np.ndarray | pd.DataFrame: ...
    @overload
    def predict(
        self,
        X: Matrix,
        rule: Rule | None = None,
        *,
        type: str | None = None,
        offset: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> np.ndarray | pd.Series: ...
    def predict(
        self,
        X: Matrix,
        rule: Rule | None = None,
        *,
        type: str | None = None,
        offset: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> np.ndarray | pd.Series | pd.DataFrame:
        """Predictions of one solution, or of all, for new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows. A DataFrame, or a design whose file names its columns, is taken by column
            names, and needs only those that the model uses (without a selector: any model). Others
            may be absent, or hold missing values, text or unknown levels. An array has all p
            columns. After a fit by a formula X is a DataFrame of the columns that the terms of the
            model use, in any order.
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`. Without any selector
            all solutions predict.
        type : str, optional
            "response" for the mean, "link" for the linear predictor, or "class" for labels. None
            means "response" where the loss has a mean, and "link" for the hinge losses.
        offset : array-like of shape (m,) or str, optional
            The offset, or the name of a column of the DataFrame X. It is needed if the fit had one,
            unless that was a column, which is looked up in X, or a term of a formula, which is
            computed anew.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        ndarray, Series, or DataFrame
            A Series with the index of X for a DataFrame, else an array of shape (m,). Without a
            selector one column per solution.

        Raises
        ------
        ValueError
            If columns that the model uses are absent, or hold missing values or levels that the fit
            did not know. Nothing is guessed.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.predict(data.X.head(2), k=6).round(1)
        0    573.4
        1    746.7
        Name: Salary, dtype: float64
        >>> path.predict(data.X.head(2)).shape  # every model
        (2, 20)
        """
        bare = rule is None and not selector
        chosen = range(len(self)) if bare else [self.index(rule, **selector)]
        used = [self.solutions[i].support for i in chosen]
        design, index = self._new_design(
            X, np.unique(np.concatenate([np.empty(0, dtype=np.int64), *used]))
        )
        eta = (
            np.column_stack([self._link(design, self.solutions[i]) for i in chosen])
            if chosen
            else np.empty((design.n, 0))
        )
        shift = offsets.of_rows(self, X, offset, design.n)
        if shift is not None:
            eta = eta + shift[:, None]
        out = self._transform(eta, type)
        if bare:
            return pd.DataFrame(out, index=index) if index is not None else out
        return (
            pd.Series(out[:, 0], index=index, name=self.meta.response)
            if index is not None
            else out[:, 0]
        )

    def _link(self, design, s):
        return (
            s.intercept + design.dot(s.support, s.beta)
            if s.support.size
            else np.full(design.n, s.intercept)
        )

    def _transform(self, eta, type):
        loss = self.meta.loss
        if type is None:
            type = "link" if loss in CLASSIFICATION - {"logistic"} else "response"
        if type == "link":
            return eta
        if type == "response":
            if loss in CLASSIFICATION - {"logistic"}:
                raise ValueError(
                    f"type='response' needs a loss with a mean; {loss} has none: use type='link' "
                    "or 'class', or fit loss='logistic' for probabilities"
                )
            with np.errstate(over="ignore"):
                return (
                    1.0 / (1.0 + np.exp(-eta))
                    if loss == "logistic"
                    else np.exp(eta)
                    if loss == "poisson"
                    else eta
                )
        if type == "class":
            if self.classes is None:
                raise ValueError(
                    f"type='class' needs a classification loss; this path has loss={loss!r}"
                )
            unknown = np.isnan(eta).reshape(len(eta), -1).any(axis=1)
            if unknown.any():
                raise ValueError(
                    f"X has NaN in columns of the model in {unknown.sum()} rows, the first at "
                    f"position {unknown.argmax()}, which have no class; drop or impute them, or "
                    "take type='link'"
                )
            return np.asarray(self.classes)[(eta > 0).astype(int)]
        raise ValueError(f"type={type!r} is not known; choose None, 'link', 'response' or 'class'")

    def _new_design(self, X, needed=None):
        """X for prediction, columns in the order of the fit: by name for a DataFrame or a file with
        names (of a fit to an array: one that has all names), by position else. A fit to a derived
        design takes X's own columns, a formula's a DataFrame of the columns it names (or the p
        encoded columns of an array). needed: the features that will be read, so that tables by name
        need to hold no others; None: all.
        """
        encoding = self.meta.formula
        if isinstance(X, Encoded) or (encoding is not None and isinstance(X, (pd.DataFrame, dict))):
            X = X if isinstance(X, Encoded) else encoding.encode(X, needed)
            return as_design(X.X)[0], X.index
        made = self.meta.names if isinstance(self.meta.names, Derived) else None
        if made is not None and isinstance(getattr(X, "names", None), Derived):
            if X.names != made:
                raise ValueError(
                    f"X has other {made.what} than the fit; pass X's own columns, which are then "
                    "expanded as in the fit"
                )
            return X, None
        names, by_name = (
            (self.meta.names, self.meta.by_name) if made is None else (made.base, made.by_name)
        )
        if needed is not None:
            needed = (
                needed
                if made is None
                else np.unique(np.asarray(made.parents(needed), dtype=np.int64))
            )
        framed = isinstance(X, pd.DataFrame)
        known = column_names(X.columns) if framed else getattr(X, "names", None)
        index = X.index if framed else None
        if index is not None or (isinstance(known, list) and known != names):
            found = self._by_names(X, known, names, by_name, needed, made is not None)
            if found is not None:
                return found if made is None else derived(found, made), index
        design, _, index, _ = as_design(X)
        if design.p != len(names):
            raise ValueError(
                f"X has {design.p} columns, the fit had {len(names)}; pass the same columns in the "
                "same order"
            )
        return design if made is None else derived(design, made), index

    def _by_names(self, X, known, names, by_name, needed, whole):
        """The design of a table (its columns: known) with the columns `names` of the fit, of which
        only those `needed` need be there; None where it is to be read by position. whole: absent
        columns are made zeros, for designs that are built of them.
        """
        place = {name: j for j, name in reversed(list(enumerate(known)))}
        wanted = names if needed is None else [names[j] for j in needed]
        missing = [name for name in wanted if name not in place]
        if by_name and missing:
            raise ValueError(
                f"X lacks {len(missing)} of the columns "
                f"{'of the fit' if needed is None else 'that the model uses'}: "
                f"{', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}"
            )
        if not by_name and (
            missing or (len(known) == len(names) and any(name not in place for name in names))
        ):
            return None
        if needed is None:
            needed = np.arange(len(names))
        at = [place[name] for name in wanted]
        if not isinstance(X, pd.DataFrame):
            places = np.full(len(names), -1)
            places[needed] = at
            return Reordered(X, places)
        part = as_design(X.iloc[:, at] if at else np.zeros((len(X), 1)))[0]
        if len(at) == len(names):
            return part
        if whole:
            table = np.zeros((len(X), len(names)))
            table[:, needed] = part.columns(np.arange(len(at)))
            return as_design(table)[0]
        places = np.full(len(names), -1)
        places[needed] = np.arange(len(at))
        return Reordered(part, places)

    def _given(self, X, y, **by_row):
        """(X, y, by_row) of rows for scores and refits: after a fit by a formula y may be None,
        which takes the left side of the DataFrame X and leaves incomplete rows out. An offset that
        is in X is found there.
        """
        by_row["offset"] = offsets.named(self, X, by_row.get("offset"))
        if not isinstance(X, pd.DataFrame):
            return X, y, by_row
        if self.meta.formula is None:
            kept = [name != self.meta.offset_name for name in column_names(X.columns)]
            return X if all(kept) else X.loc[:, kept], y, by_row
        return self.meta.formula.rows(X, y, **by_row)

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
        s = self.solutions[self.index(rule, **selector)]
        data = self.data(X, y)
        from ..problem.problem import row_weights

        eta = self._link(data.design, s) + (0.0 if data.offset is None else data.offset)
        b = s.beta * self.meta.scale[s.support]
        value = (
            mean_of_rows(data.loss, data.y, eta, row_weights(data))
            + s.lambda1 * np.abs(b).sum()
            + s.lambda2 * b @ b
        )
        if self.meta.grid == "lambda0":
            forced = np.isin(s.support, self.meta.forced)
            value += (
                s.lambda0 * self.meta.groups.factor[s.groups].sum()
                if self.meta.groups is not None
                else s.lambda0 * self.meta.factor[s.support][~forced & (s.beta != 0)].sum()
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
            The checked and standardised data.

        Raises
        ------
        ValueError
            If X or y is not the one of the fit, by a checksum of some columns.
        """
        data = self._source.data
        if X is not None:
            X, y, by_row = self._given(X, y)
            if y is None:
                raise ValueError("pass y= together with X=")
            from ..engine.inputs import again

            data = again(self, X, y, by_row["offset"])
        if data is None:
            raise ValueError(
                "the data are not kept with a loaded path: pass X= and y=, those of the fit"
            )
        if self.meta.checksum:
            from ..problem.problem import checksum

            if checksum(data) != self.meta.checksum:
                raise ValueError(
                    "X or y differ from those of the fit (checksum); pass the X and y that the "
                    "path was fitted on, unchanged"
                )
        return data

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


def _neighbours(grid, value):
    """The grid values next to `value`, for messages."""
    below, above = grid[grid < value], grid[grid > value]
    return (
        " and ".join(
            [
                f"{x:.6g}"
                for x in ([below.max()] if below.size else [])
                + ([above.min()] if above.size else [])
            ]
        )
        or "none"
    )
