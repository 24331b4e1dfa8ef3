"""`Path`: all models of a fit as one object, and the methods that are about all sizes.

What is about one model is in `l0path.paths.model`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core import forward
from ..core.arguments import is_whole
from ..core.describing import spans
from ..core.hints import refuse_attribute
from ..core.printed import Table
from ..core.status import GLOBAL_GAP, End, FitStatus, Optimality, relative_gap
from ..core.tables import pandas_of
from ..core.types import Matrix, Rule, Selector, Settings
from ..designs import Derived, Reordered, as_design, derived
from ..designs.names import column_names
from ..formula import Encoded
from ..problem.problem import Data
from ..problem.responses import mean_at
from ..problem.solution import Solution
from .model import Model
from .new_rows import with_baselines
from .predicting import (
    class_predictors,
    linear_predictor,
    offset_of_rows,
    offset_of_table,
    shares_in_one,
    strata_of_table,
    with_coded,
)
from .records import Meta, Source, by_response, loss_asked, loss_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..core.forward import Certificate, CVPath, ModelSet, Page
    from .comparison import Comparison

RULES = ("aic", "aicc", "bic", "ebic", "gic", "mbic", "cp")  # information criteria, see `criteria`
TABLE = ["k", "n_features", "objective", "deviance_ratio", "optimality", "features"]
DETAILS = [
    "k",
    "n_features",
    "slice",
    "lambda0",
    "lambda1",
    "lambda2",
    "relax",
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
    "exchanges",
    "flags",
    "features",
]


SHRINKAGE = ("lambda0", "lambda1", "lambda2", "relax")  # what may vary along a path besides k
SLICES = ("slice", "lambda1", "lambda2", "relax")  # selectors of slices
SELECTORS = ("k", "lambda0", "index", *SLICES)
OF_CRITERIA = "rows p_total sigma2 ebic_gamma separated".split()  # what a criterion may take

KNOWN_OF_ROWS = ("slice", "sigma2")  # numbers in `Source.extra` that stay when the data go


def check_selector(names: Iterable[str]) -> None:
    """TypeError for the name of a selector that there is not."""
    for name in names:
        if name not in (*SELECTORS, *OF_CRITERIA):
            raise TypeError(
                f"{name}= is not known; name the model by a criterion, such as model('bic'), a "
                f"size (model(5)), or {'=, '.join(SELECTORS)}=; with a criterion also by "
                f"{'=, '.join(OF_CRITERIA)}="
            )


class Path:
    """A whole path of models, one for every size or every value of lambda0.

    The path chooses, and the model answers: `path.model("bic")` or `path[5]` is one `Model`, which
    has predictions, summaries, refits and plots of its own. A model is chosen by a selector: its
    size (5, or k=5), lambda0=, index=, or a rule such as "bic". Where there are several slices,
    slice=, lambda1=, lambda2= or relax= says which one is meant.

    Attributes
    ----------
    status : str
        How the path ended: "complete: ...", or what stopped it.
    notes : list of str
        What was noticed.
    rounds : DataFrame
        The record of the search, one row per round.
    """

    _default: ClassVar[str | None] = None  # the rule where no selector is given
    _choice: int | None = None  # the row that is taken in its place: the command line's choice

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
        self._meta, self._solutions = meta, [s.in_texts() for s in solutions]
        self.status, self._end, self.notes = status, End(end), list(notes)
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
        return list(self._meta.names)

    @property
    def n(self) -> int:
        """The number of rows of X."""
        return self._meta.n

    @property
    def p(self) -> int:
        """The number of columns of X."""
        return self._meta.p

    @property
    def classes(self) -> tuple | None:
        """The labels (negative, positive) of a classification, else None."""
        return self._meta.classes

    @property
    def loss(self) -> Any:
        """The loss as a record of `l0path.losses` with the numbers that the fit found, such as
        `Huber(delta=...)`, which `fit(loss=path.loss)` takes; a loss of your own as it is.
        """
        return loss_asked(self._meta)

    @property
    def table(self) -> pd.DataFrame:
        """A DataFrame with one row per model; the row label is the index that selectors take.

        Its columns are the size k, n_features (the number of coefficients that are not 0), the
        objective, the share of the null deviance that is explained, what was checked (`optimality`)
        and the features that were chosen, forced features included: columns, or with groups the
        groups or terms. Where the path has several values of lambda0, lambda1, lambda2 or relax,
        they stand after k. `details` has all that is known of each model.
        """
        whole = self.details
        vary = [name for name in SHRINKAGE if whole[name].nunique() > 1]
        return Table(whole[[TABLE[0], *vary, *TABLE[1:]]])

    @property
    def details(self) -> pd.DataFrame:
        """`table` with all columns: also slices and penalties, the mean loss, the interval of
        lambda0 for which a model is the best one, lower bound and gap, whether and how the fit
        ended, the number of exchanges tried, and flags; of loss="weibull" the shape.
        """
        if self._table is None:
            rows = [self._row(s) for s in self._solutions]
            more = ["shape"] if self._meta.traits.constant else []
            self._table = pd.DataFrame(rows, columns=[*DETAILS[:-1], *more])
            self._table["exchanges"] = pd.array(self._table["exchanges"], dtype="Int64")
            self._table[DETAILS[-1]] = pd.Series(self._chosen(), dtype=object)
        return Table(self._table.copy())

    def _chosen(self):
        """The features of each solution as one text: names of columns, or labels of groups."""
        labels = self._meta.unit_labels
        chosen = [s.units.tolist() for s in self._solutions]
        name = {j: str(labels[j]) for j in {j for own in chosen for j in own}}  # some are made
        return [", ".join([name[j] for j in own]) for own in chosen]

    def _row(self, s):
        bound = s.lower_bound
        if s.optimality == Optimality.GLOBAL and math.isfinite(s.objective):
            # compared with all others, where no bound closed the gap
            closed = relative_gap(s.objective, bound) <= GLOBAL_GAP
            bound = bound if closed else s.objective
        shape = {} if s.shape is None else {"shape": s.shape}
        return {
            "k": s.k,
            "n_features": s.n_nonzero,
            "slice": s.slice,
            "lambda0": s.lambda0,
            "lambda1": s.lambda1,
            "lambda2": s.lambda2,
            "relax": s.relax,
            "objective": s.objective,
            "loss": s.loss,
            "deviance_ratio": self._meta.deviance_ratio(s.loss),
            "lambda0_low": s.lambda0_low,
            "lambda0_high": s.lambda0_high,
            "lower_bound": bound,
            "gap": relative_gap(s.objective, bound),
            "converged": s.status == FitStatus.CONVERGED,
            "status": s.status,
            "optimality": s.optimality,
            "exchanges": s.exchanges,
            "flags": s.noticed,
            **shape,
        }

    def __len__(self):
        return len(self._solutions)

    def __iter__(self):
        return (Model(self, i) for i in range(len(self)))

    def __getitem__(self, k):
        """The model of a size: `path[5]` is `path.model(k=5)`."""
        return self.model(k=k)

    def __getstate__(self):
        formula, data = self._meta.formula, self._source.data
        rows = {} if formula is None or data is None else formula.rows_of_fit()
        kept = {"_table": None, "_formula_rows": rows, "_solutions": with_baselines(self)}
        return self.__dict__ | kept

    def __setstate__(self, state):
        rows = state.pop("_formula_rows", {})
        self.__dict__.update(state)
        if rows and self._source.data is not None:
            self._meta.formula.__dict__.update(rows)

    def _without_data(self):
        """The same path without X and y, as `l0path.load` gives it."""
        out = copy.copy(self)
        known = {name: one for name, one in self._source.extra.items() if name in KNOWN_OF_ROWS}
        out._solutions, out._source = with_baselines(self), Source(extra=known)
        if self._meta.formula is not None:
            out._meta = replace(self._meta, formula=copy.copy(self._meta.formula))
        return out

    def __repr__(self):
        slices = len({s.slice for s in self._solutions})
        span = f"k = {spans(s.k for s in self._solutions)}" if self._solutions else "no solution"
        mixed = ", relax" if any(s.relax < 1.0 for s in self._solutions) else ""
        many = f" for each of {slices} slices (lambda1, lambda2{mixed})" if slices > 1 else ""
        lost = 0 if self._meta.formula is None else self._meta.formula.n_dropped
        dropped = f", {lost} rows dropped" if lost else ""
        about = f", {self._meta.about}" if self._meta.about else ""
        events = "" if self._meta.n_events is None else f", {self._meta.n_events:g} events"
        dropped += f", {self._meta.heredity} heredity" if self._meta.heredity else ""
        if self._meta.responses is not None:
            counted = "responses" if self.classes is None else "classes"
            about = f", {len(self._meta.responses)} {counted}"
        return (
            f"<l0path.Path: {self._meta.loss} loss{about}, penalty {self._meta.penalty}, "
            f"n = {self.n}{events}, p = {self.p}{dropped}; "
            f"{len(self)} solutions, {span}{many}; {self.status}>"
        )

    def _repr_html_(self):
        """A header, the head of the table, and deviance ratio against k."""
        return forward.path_html(self)

    # -- choosing one solution

    def model(self, rule: Rule | None = None, **selector: Unpack[Selector]) -> Model:
        """The `Model` that a selector names.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.select`. A path that the
            command line wrote takes the model that was chosen there if nothing is given.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, relax, as in `Path.select`.

        Returns
        -------
        Model
            One solution of the path. Where terms have several columns (factors, groups), a
            criterion chooses among all sets of at most 20 terms, and `details` says so, or why
            it was among the rows of the path alone. Of more than 20 features it is among the rows,
            and `details` says so unless these are proven to hold the best of all sets. A model that
            is no row is one of a path with a further row, `model.path`. Where a criterion takes the
            largest size that was fitted and the data allow larger ones, `details` and print say
            that too.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.model(6)  # or path.model(k=6)
        <l0path.Model: Salary, k = 6: AtBat -1.869, Hits +7.604, Walks +3.698, CRBI +0.643,
          Division_W -123, PutOuts +0.2643
          loss 49800.2, deviance ratio 0.5087, global>
        >>> path.model("bic").features
        ['AtBat', 'Hits', 'Walks', 'CRBI', 'Division_W', 'PutOuts']
        """
        path, index, chosen_by = self._best(rule, **selector)
        return Model(path, index, chosen_by)

    def _at(self, rule=None, **selector):
        """(path, row) of a selector: this path, or one with a further row (`best_model`)."""
        return self._best(rule, **selector)[:2]

    def _best(self, rule=None, **selector):
        """`_at`, and what there is to say about the choice, for `Model.details`."""
        if rule is None and not selector and self._choice is not None:
            return self, self._choice, ""
        if rule is None and not selector.keys() & {"k", "lambda0", "index"}:
            rule = self._default
        if isinstance(rule, str):
            if rule.lower() in RULES:
                if not selector:
                    return forward.best_model(self, rule)
                row = self.select(rule, **selector)
                told = "" if "rows" in selector else forward.of_larger_sizes(self, row, rule)
                return self, row, told
        return self, self.select(rule, **selector), ""

    def _larger_sizes(self, s):
        """Whether a solution has the largest size tried: `engine.posing.larger_sizes`."""
        return forward.larger_sizes(self, s)

    def _best_by(self, names, options):
        """The best models by criteria, of all sets of terms: `inspection.all_models.best_by`."""
        return forward.best_by(self, names, options)

    def select(
        self,
        rule: Rule | None = None,
        *,
        k: int | None = None,
        lambda0: float | None = None,
        index: int | None = None,
        slice: int | None = None,
        lambda1: float | None = None,
        lambda2: float | None = None,
        relax: float | None = None,
        rows: Sequence[int] | None = None,
        **options: Any,
    ) -> int:
        """The row of `table` of the one model that a selector names.

        A criterion chooses the model with its smallest value. Where terms have several columns
        (factors, groups), the best model by a criterion need not be a row of the path. All sets of
        at most 20 terms are compared, as in `Path.model`, unless there is shrinkage, bounds,
        several slices, or no data because the path was loaded; there the choice is among the rows,
        as it is for more than 20 features, and `Path.model` says so.

        Models whose likelihood has no finite maximum, or says nothing, take no part: those whose
        features separate the classes (unless separated=True), those of zero loss (up to rounding,
        squared loss), and models with df >= n.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size (5 is the same as k=5); a criterion, "aic", "aicc", "bic", "ebic", "gic", "mbic"
            or "cp" (squared loss only); or a function of the path that returns a row.
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
        relax : float, optional
            The share of the shrunken model in the models of the slice, on a path of `cv_fit`.
        rows : sequence of int, optional
            With a criterion: rows to choose among; no other model is compared. None means all.
        **options : float or bool
            With a criterion: p_total, sigma2, ebic_gamma and separated, as in `Path.score_table`.

        Returns
        -------
        int
            A row of `table`. Ties of a criterion (1e-10 relative) go to the fewest nonzeros, then
            to the first row.

        Raises
        ------
        LookupError
            If no model, or several, match, where neighbors or slices are named; or if a set of
            terms that is no row is better by the criterion: `Path.model` gives it.
        TypeError
            Unless exactly one of rule, k, lambda0 and index is given.
        ValueError
            If the criterion is unknown, or the loss has no likelihood.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.select(6), path.select(k=6), path.select(lambda0=1500.0)
        (6, 6, 6)
        >>> path.select("bic"), path.select("aic")
        (6, 10)
        """
        size = is_whole(rule)
        criterion = rule is not None and not size and not callable(rule)
        check_selector(options)
        if not criterion and (options or rows is not None):
            names = [*options, *(["rows"] if rows is not None else [])]
            raise TypeError(
                f"{'=, '.join(names)}= is for a choice by a criterion, such as model('bic'); leave "
                "it out, or name a criterion"
            )
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
        if size:
            given, k, rule = ["k"], int(rule), None
        if index is not None:
            if not is_whole(index) or not -len(self) <= index < len(self):
                raise LookupError(
                    f"index={index!r} is not on the path; it has rows 0..{len(self) - 1}"
                )
            return int(index) % len(self)
        given_slice = dict(zip(SLICES, (slice, lambda1, lambda2, relax), strict=True))
        within = self._rows(**given_slice)
        if criterion:
            if rows is None and any(value is not None for value in given_slice.values()):
                rows = within
            return forward.select(self, rule, rows=rows, **options)
        if rule is not None:
            return self._by_function(rule)
        rows = within
        slices = {self._solutions[i].slice: self._solutions[i] for i in rows}
        if len(slices) > 1:
            mixtures = any(s.relax < 1.0 for s in slices.values())
            shown = "; ".join(
                f"slice={number}: lambda1={s.lambda1:.4g}, lambda2={s.lambda2:.4g}"
                + (f", relax={s.relax:.4g}" if mixtures else "")
                for number, s in sorted(slices.items())
            )
            raise LookupError(
                f"{given[0]}={k if k is not None else lambda0!r} needs one slice, the path has "
                f"{len(slices)}; add slice=, lambda1={' or ' if not mixtures else ', '}lambda2="
                f"{' or relax=' if mixtures else ''} ({shown})"
            )
        return self._by_size(k, rows) if k is not None else self._by_lambda0(lambda0, rows)

    def _rows(self, slice=None, lambda1=None, lambda2=None, relax=None):
        """The rows of the slices that selectors name."""
        rows = list(range(len(self)))
        for name, value in zip(SLICES, (slice, lambda1, lambda2, relax), strict=True):
            if value is not None:
                if not isinstance(value, (int, float, np.integer, np.floating)):
                    raise TypeError(
                        f"{name}={value!r} must be a number, that of a slice of the path"
                    )
                have = sorted({getattr(self._solutions[i], name) for i in rows})
                rows = [
                    i
                    for i in rows
                    if abs(getattr(self._solutions[i], name) - value) <= 1e-8 * abs(value)
                ]
                if not rows:
                    raise LookupError(
                        f"{name}={value!r} is not on the path; it has {name} in {have[:20]}"
                    )
        return rows

    def _by_function(self, rule):
        i = rule(self)
        if not is_whole(i) or not 0 <= i < len(self):
            raise LookupError(
                f"the rule {rule!r} returned {i!r}; it must return the index of a row of "
                f"path.table, an integer in 0..{len(self) - 1}"
            )
        return int(i)

    def _by_size(self, k, rows):
        if not is_whole(k):
            raise TypeError(f"k={k!r} must be a whole number, the size of a model")
        sized = [i for i in rows if self._solutions[i].k == k]
        if not sized:
            below = [self._solutions[i].k for i in rows if self._solutions[i].k < k]
            above = [self._solutions[i].k for i in rows if self._solutions[i].k > k]
            near = [
                f"k={max(below)}" if below else "",
                f"k={min(above)}" if above else "",
            ]
            found = [size for size in near if size]
            sizes = f"size{' is' if len(found) == 1 else 's are'}"
            raise LookupError(
                f"k={k} is not on the path; the nearest {sizes} {' and '.join(found) or 'none'}"
            )
        return min(sized, key=lambda i: (self._solutions[i].loss + self._solutions[i].shrinkage, i))

    def _by_lambda0(self, value, rows):
        if not isinstance(value, (int, float, np.number)) or not value >= 0:
            raise LookupError(f"lambda0={value!r} must be a number >= 0")
        if self._meta.grid == "lambda0":
            hit = [
                i
                for i in rows
                if abs(self._solutions[i].lambda0 - value) <= 1e-8 * max(abs(value), 1e-300)
            ]
            grid = np.array([self._solutions[i].lambda0 for i in rows])
            near = _neighbors(grid, value)
            remedy = f"the nearest on the grid are {near}; fit with lambda0={value:.6g}"
        else:
            hit = [
                i
                for i in rows
                if self._solutions[i].lambda0_low <= value < self._solutions[i].lambda0_high
            ]
            low = min(
                (
                    self._solutions[i].lambda0_low
                    for i in rows
                    if not np.isnan(self._solutions[i].lambda0_low)
                ),
                default=np.nan,
            )
            remedy = f"the path covers lambda0 >= {low:.6g}; raise max_k to go below"
        if not hit:
            raise LookupError(f"lambda0={value!r} is not on the path: {remedy}")
        return hit[0]

    def support(self, rule: Rule | None = None, **selector: Unpack[Selector]) -> np.ndarray:
        """The column indices of a solution, ascending, forced features included.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.select`.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, relax, as in `Path.select`.

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
        path, index = self._at(rule, **selector)
        return path._solutions[index].support.copy()

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
            A size, a criterion or a function of the path, as in `Path.select`. "all" returns all
            models, and so does no selector, but of a `CVPath`, whose choice "min" is then meant.
        standardized : bool, default False
            Whether to return b_j = s_j beta_j, and the intercept at the column means.
        full : bool, default False
            Whether all p columns are listed, instead of the chosen features.
        baseline : object, optional
            A class of the multinomial loss whose coefficients are taken off those of all classes,
            so that they are log odds against it. None leaves them as the fit has them, see
            `l0path.losses.Multinomial`.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, relax, as in `Path.select`.

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
        if self._all(rule, selector):
            return self._every_coef(standardized, full, base)
        self, i = self._at(rule, **selector)
        s = self._solutions[i]
        which = np.arange(self.p) if full else s.support
        index = self._meta.rows_of_coefficients(which)
        values = base(self._coef(s, which, standardized))
        if self._meta.responses is not None:
            return pd.DataFrame(values, index=index, columns=self._meta.response_index)
        return pd.Series(values, index=index, name=self._meta.about or i)

    def _all(self, rule, selector):
        """Whether all models are asked for."""
        if isinstance(rule, str) and rule == "all":
            if selector:
                raise TypeError(f"'all' goes with no selector; leave out {', '.join(selector)}")
            return True
        return rule is None and not selector and self._default is None

    def _every_coef(self, standardized=False, full=False, base=np.asarray):
        """The coefficients of all models, as `coef` gives them."""
        ever = np.arange(self.p)
        if not full:
            ever = np.unique(np.concatenate([s.support for s in self._solutions])).astype(int)
        names = self._meta.rows_of_coefficients(ever)
        columns = [base(self._coef(s, ever, standardized)) for s in self._solutions]
        values = np.column_stack(columns) if columns else np.empty((len(names), 0))
        labels = self._labels()
        if self._meta.responses is not None:
            labels = by_response(labels, self._meta.response_index)
        return pd.DataFrame(values, index=names, columns=labels)

    def _baseline(self, label):
        """The coefficients of the baseline class, subtracted from those of all classes."""
        if label is None:
            return lambda values: values
        if not self._meta.traits.by_class or label not in self.classes:
            raise ValueError(
                f"baseline={label!r} is not a class of a multinomial fit"
                + (
                    f"; its classes are {', '.join(self._meta.responses)}"
                    if self._meta.responses
                    else ""
                )
            )
        at = list(self.classes).index(label)
        return lambda values: values - values[:, [at]]

    def _labels(self):
        """Labels of the solutions as columns of a table: sizes, (slice, k), or rows."""
        sizes = pd.Index([s.k for s in self._solutions], name="k", dtype=np.int64)
        slices = [s.slice for s in self._solutions]
        if len(set(slices)) > 1:
            sizes = pd.MultiIndex.from_arrays([slices, sizes], names=["slice", "k"])
        on_grid = self._meta.grid == "lambda0" or not sizes.is_unique
        return pd.RangeIndex(len(slices), name="index") if on_grid else sizes

    def _coef(self, s, which, standardized):
        beta = np.zeros((self.p, *s.beta.shape[1:]))
        beta[s.support] = (s.beta.T * (self._meta.scale[s.support] if standardized else 1.0)).T
        shift = self._meta.center[s.support] @ s.beta if standardized else 0.0
        first = [s.intercept + shift] if s.thresholds is None else s.thresholds - shift
        return np.concatenate([first, beta[which]] if self._meta.first_names else [beta[which]])

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
            A size, a criterion or a function of the path, as in `Path.select`. With "all", and
            without any selector but of a `CVPath`, all models predict.
        type : str, optional
            "response" for the mean, "link" for the linear predictor, "class" for labels, or for
            survival times "risk" for exp(linear predictor), the hazard relative to that of a row of
            zeros. None means "response" where the loss has a mean, and "link" for the hinge losses
            and survival times.
        offset : array-like of shape (m,) or str, optional
            The offset, or the name of a column of the DataFrame X. It is needed if the fit had one,
            unless that was a column, which is looked up in X, or a term of a formula, which is
            computed anew.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, relax, as in `Path.select`.

        Returns
        -------
        ndarray, Series, or DataFrame
            A Series with the index of X for a DataFrame, else an array of shape (m,). Without a
            selector one column per solution. With r responses a DataFrame with a column for each,
            or an array of shape (m, r); without a selector (m, solutions, r). NaN for rows with
            missing or infinite values in the columns that the model uses.

        Raises
        ------
        ValueError
            If columns that the model uses are absent, or hold levels that the fit has not seen. If
            they hold missing values after a fit by a formula, or with type="class". Nothing is
            guessed.

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
        bare = self._all(rule, selector)
        chosen = range(len(self))
        if not bare:
            self, row = self._at(rule, **selector)
            chosen = [row]
        used = [self._solutions[i].support for i in chosen]
        design, index = self._new_design(
            X, np.unique(np.concatenate([np.empty(0, dtype=np.int64), *used]))
        )
        with np.errstate(invalid="ignore"):  # rows with NaN or infinity have NaN predictions
            eta = (
                np.stack([self._link(design, self._solutions[i]) for i in chosen], axis=1)
                if chosen
                else np.empty((design.n, 0))
            )
            shift = offset_of_rows(self, X, offset, design.n)
            if shift is not None:
                eta = eta + shift[:, None]
            if self._meta.ordered and type != "link":
                pairs = zip(chosen, eta.T, strict=True)
                eta = [class_predictors(self._solutions[i], one) for i, one in pairs]
                eta = np.stack(eta, axis=1)
            out = self._transform(eta, type)
        if out.ndim == 3 and index is not None:
            return self._by_response(out, index, bare)
        if bare:
            return pd.DataFrame(out, index=index) if index is not None else out
        return (
            pd.Series(out[:, 0], index=index, name=self._meta.response)
            if index is not None
            else out[:, 0]
        )

    def _by_response(self, out, index, bare):
        """Predictions out (m, solutions, r) as a DataFrame."""
        labels = self._meta.response_index
        if not bare:
            return pd.DataFrame(out[:, 0], index=index, columns=labels)
        rows = pd.RangeIndex(len(self), name="index")
        return pd.DataFrame(
            out.reshape(len(index), -1), index=index, columns=by_response(rows, labels)
        )

    def _link(self, design, s):
        return linear_predictor(design, None, s)

    def _transform(self, eta, type):
        loss, link = self._meta.loss, self._meta.traits.link
        if type is None:
            type = "response" if link else "link"
        if type == "link":
            return eta
        if type == "risk" and self._meta.traits.response == "survival":
            with np.errstate(over="ignore"):
                return np.exp(eta)
        if type == "response":
            if self._meta.traits.response == "survival":
                raise ValueError(
                    f"type='response' needs a loss with a mean, and {loss} has none: use "
                    "type='risk' (the hazard beside the baseline) or 'link', or model.survival(X) "
                    "for probabilities"
                )
            if not link:
                raise ValueError(
                    f"type='response' needs a loss with a mean; {loss} has none: use type='link' "
                    "or 'class', or fit loss='logistic' for probabilities"
                )
            return mean_at(link, eta)
        if type == "class":
            binary = self._meta.traits.response == "classes" and self.classes is None
            if self.classes is None and not binary:
                raise ValueError(
                    f"type='class' needs a classification loss; this path has loss={loss!r}"
                )
            unknown = np.isnan(eta).reshape(len(eta), -1).any(axis=1)
            if unknown.any():
                raise ValueError(
                    f"X has NaN in features of the model in {unknown.sum()} rows, the first at "
                    f"position {unknown.argmax()}, which have no class; drop or impute them, or "
                    "take type='link'"
                )
            if binary:  # several responses of 0 and 1
                return (eta > 0).astype(int)
            if self._meta.traits.by_class or self._meta.ordered:
                likely = mean_at(link, eta).argmax(axis=-1)  # the first of equal probabilities
                return np.asarray(self.classes)[likely]
            return np.asarray(self.classes)[(eta > 0).astype(int)]
        if self._meta.traits.response == "survival":
            raise ValueError(
                f"type={type!r} is not known; choose None, 'link' or 'risk', or use "
                "model.survival(X, times=...)"
            )
        what = "is for loss='cox' or 'weibull'" if type == "risk" else "is not known"
        raise ValueError(
            f"type={type!r} {what}; choose None, 'link', 'response' or, for classes, 'class'"
        )

    def _new_design(self, X, needed=None):
        """X for prediction, columns in the order of the fit: by name for a DataFrame or a file with
        names (of a fit to an array: one that has all names), by position else. A fit to a derived
        design takes X's own columns, a formula's a DataFrame of the columns it names (or the p
        encoded columns of an array). needed: the features that will be read, so that tables by name
        need to hold no others; None: all.
        """
        X, encoding = pandas_of(X), self._meta.formula
        if self._meta.coded and isinstance(X, pd.DataFrame):
            every = np.arange(self.p) if needed is None else needed
            X = with_coded(X, self._meta.coded, {self._meta.names[j] for j in every})
        if isinstance(X, Encoded) or (encoding is not None and isinstance(X, (pd.DataFrame, dict))):
            X = X if isinstance(X, Encoded) else encoding.encode(X, needed)
            return as_design(X.X)[0], X.index
        made = self._meta.names if isinstance(self._meta.names, Derived) else None
        if made is not None and isinstance(getattr(X, "names", None), Derived):
            if X.names != made:
                raise ValueError(
                    f"X has other {made.what} than the fit; pass X's own columns, which are then "
                    "expanded as in the fit"
                )
            return X, None
        names, by_name = (
            (self._meta.names, self._meta.by_name) if made is None else (made.base, made.by_name)
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
        same = "the same columns in the same order"
        if encoding is not None:
            same = f"a DataFrame with the columns of the formula {encoding.text!r}"
            if isinstance(X, np.ndarray) and X.dtype == object:
                raise TypeError(f"X is an array of dtype object, which has no names; pass {same}")
        design, _, index, _ = as_design(X)
        if design.p != len(names):
            raise ValueError(f"X has {design.p} columns, the fit had {len(names)}; pass {same}")
        return design if made is None else derived(design, made), index

    def _variables(self, support):
        """Names of the columns of the data that predictions by these features need."""
        meta = self._meta
        if meta.formula is not None:
            needed = meta.formula.needed(support)
        elif isinstance(meta.names, Derived):
            parents = np.unique(np.asarray(meta.names.parents(support), dtype=np.int64))
            needed = [meta.names.base[j] for j in parents]
        else:
            needed = [meta.names[j] for j in support]
        extra = meta.offset_name
        return [*needed, *([extra] if extra is not None and extra not in needed else [])]

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
        which takes the left side of the DataFrame X and leaves incomplete rows out. An offset and
        strata that are in X are found there.
        """
        X, y = pandas_of(X), pandas_of(y, "y")
        y, by_row = shares_in_one(self._meta, y, by_row)
        by_row["offset"] = offset_of_table(self, X, by_row.get("offset"))
        if "strata" in by_row:
            by_row["strata"] = strata_of_table(self, X, by_row["strata"])
        if not isinstance(X, pd.DataFrame):
            return X, y, by_row
        if self._meta.formula is None:
            kept = [name != self._meta.offset_name for name in column_names(X.columns)]
            return X if all(kept) else X.loc[:, kept], y, by_row
        of_table = y is None
        X, y, by_row = self._meta.formula.rows(X, y, **by_row)
        return X, *(shares_in_one(self._meta, y, by_row) if of_table else (y, by_row))

    def score_table(
        self,
        p_total: int | None = None,
        sigma2: float | None = None,
        *,
        ebic_gamma: float = 1.0,
        separated: bool = False,
    ) -> pd.DataFrame:
        """Log-likelihood and information criteria of every solution, rows as `path.table`.

        Parameters
        ----------
        p_total : int, optional
            The number of columns at the beginning, when X holds those a screening left over; ebic,
            gic and mbic then charge for all of them. None means p.
        sigma2 : float, optional
            The noise variance for cp, in squared units of y. None means RSS / (n - rank) of the
            full model if n > p + 1 (and p <= 2000), else of the largest model on the path. NaN if
            that takes the data and the path was loaded from a file.
        ebic_gamma : float, default 1.0
            The parameter of ebic, from 0 (bic) to 1, which is consistent for any p that is a power
            of n.
        separated : bool, default False
            Whether rows whose features separate the classes take part. Their likelihood has no
            finite maximum, so otherwise everything but their df is NaN.

        Returns
        -------
        DataFrame
            A row for each solution. Where terms have several columns, the best model by a criterion
            need not be one of them: `Path.model` compares all sets of terms. The columns are
            loglik, df, aic, aicc, bic, ebic, gic and mbic, and for the squared loss also rss,
            r2_adjusted and cp. df counts nonzero coefficients, intercepts or thresholds, and the
            dispersion, scale or theta that the likelihood of some losses has (gamma, Tweedie,
            quantile, negative binomial), but not the variance of the squared loss. The loglik of a
            perfect fit is as large as rounding makes it, up to inf; `select` passes it over.

        Raises
        ------
        ValueError
            If the loss has no likelihood (such as the hinge and Huber losses). Choose there by
            `l0path.cv_fit`.

        Notes
        -----
        The formulas are at the top of `l0path.paths.criteria`. The `attrs` of the table
        say what went in: n (n_eff), p (features that compete: p_total less the forced features),
        ebic_gamma, sigma2 (squared loss), and `formulas`, the criteria as texts in these
        quantities, df, m = df (+ 1 under the squared loss) and chosen, the number of nonzero
        coefficients that were not forced.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.score_table()[["df", "aic", "bic", "cp"]].loc[5:7].round(1)
           df     aic     bic    cp
        5   6  3794.6  3816.1  21.6
        6   7  3787.2  3812.2  14.0
        7   8  3786.3  3814.9  13.1
        >>> path.score_table().attrs["n"]
        263.0
        """
        return forward.score_table(
            self, p_total, sigma2, ebic_gamma=ebic_gamma, separated=separated
        )

    def near_best(
        self,
        k: int | None = None,
        *,
        within: float | None = None,
        criterion: str | None = None,
        max_models: int = 10_000,
        time_limit: float | None = None,
        progress: bool | None = None,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
    ) -> ModelSet:
        """All models nearly as good as the best one, as a `ModelSet`.

        With k these are the models S of k features with objective(S) <= (1 + within) x the best
        objective of the size (where the least value of the loss is not 0, this value is first taken
        off both). With a criterion they are the models of any size with criterion(S) <= the best
        value + within. The loss is smooth, without lambda1; a ridge goes with k. Equal features
        count as different. Models without a finite optimum (separated classes) are not listed, and
        the set is not complete (Fisher et al., JMLR 2019).

        Parameters
        ----------
        k : int, optional
            The size of the models, in features or groups. None: all sizes, compared by `criterion`.
        within : float, optional
            The largest distance from the best model: a share of the objective beyond the least
            value of the loss (None means 0.01), or a difference of the criterion (None means 2).
        criterion : str, optional
            As in `best_subset`, for all sizes.
        max_models : int, default 10000
            The most models. Where there are more, the search ends, and the set is not complete.
        time_limit : float, optional
            Seconds. None means no limit.
        progress : bool, optional
            A line on stderr that shows seconds, models and nodes, as in `l0path.fit`.
        X, y : array-like, optional
            The data of the fit, needed after loading a path.

        Returns
        -------
        ModelSet
            The models, and what they have in common; `complete`: none is missing, else `reason`.

        Raises
        ------
        ValueError
            If an argument is out of range, or the problem is not served (see `best_subset`).

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.near_best(criterion="bic", within=2)
        <l0path.ModelSet: Salary, k = 6: AtBat -1.869, Hits +7.604, Walks +3.698, CRBI +0.643,
          Division_W -123, PutOuts +0.2643
          the best of 4 models with k = 6..8, bic within 2 of 3812.21; the list is complete>
        """
        return forward.near_best(
            self, k, within=within, criterion=criterion, X=X, y=y,
            **{"max_models": max_models, "time_limit": time_limit, "progress": progress},
        )  # fmt: skip

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
        """`Certificate` of one solution: a bound for all models of its size, and what the best
        models share.

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
            A size, a criterion or a function of the path, as in `Path.select`.
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
            M > 0, a bound of every |b_j| in standardized units, for problems with lambda2 = 0 that
            have no other bound (a squared loss with more rows than features has one). "auto" takes
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
            k, lambda0, index, slice, lambda1, lambda2, relax, as in `Path.select`.

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
        return forward.certify(
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
            None takes the column that the fit named, if X has it.
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
        return forward.validate(
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

    def compare(
        self,
        models: Sequence[Rule | Model | dict],
        *,
        names: Sequence[str] | None = None,
        standardized: bool = False,
        criteria: Sequence[str] = ("aic", "bic"),
        se: bool | str = False,
        ci: float | None = None,
        exponentiate: bool = False,
        **within: Unpack[Selector],
    ) -> Comparison:
        """Some models of the path side by side.

        Parameters
        ----------
        models : list
            Sizes (5), rules ("bic", a function), selectors as dicts ({"k": 5, "slice": 1},
            {"index": 7}), or Models of this path, in the order of the columns.
        names : list of str, optional
            The heads of the columns, one for each model. By default they tell what was asked for:
            "k = 5", "bic (k = 6)".
        standardized : bool, default False
            Whether coefficients are b_j = s_j beta_j, and the intercept that at the column means.
        criteria : sequence of str, default ("aic", "bic")
            Columns of `score_table`, such as "aic", "bic", "r2_adjusted", "cp".
        se : bool or str, default False
            True adds standard errors, those of `Model.refit`, and a name those of this `cov_type`,
            such as "HC3". The coefficients are then those of the refits, which have no penalty; of
            several classes log odds against the first one. They take no account of a choice by
            these rows.
        ci : float, optional
            A level, such as 0.95, adds the ends of confidence intervals, those of `Model.conf_int`,
            by the covariance that `se` names. What is said of `se` holds for them, too.
        exponentiate : bool, default False
            Whether exp of the coefficients, and of the ends of intervals, is shown: odds ratios
            (logistic, binomial, ordinal, multinomial), hazard ratios (Cox), ratios of means (losses
            with a log mean); that of an intercept is the odds, or the mean, where all features are
            0. Standard errors are then exp(b) se(b), by the delta method.
        **within : int or float
            slice, lambda1, lambda2, relax: the slice that sizes and rules are about, where there
            are several.

        Returns
        -------
        Comparison
            A DataFrame with a column for each model. Its rows are the coefficients by name, NaN
            (blank in print) where a model does not have the feature; `n`, `k`, the loss, the
            objective where this is not the loss, and the deviance ratio; the criteria, where the
            loss has a likelihood; what was checked (`optimality`), and the gap to the lower bound
            where there is one. The columns are named by texts, "k = 5". Printing, `to_latex()`,
            `to_markdown()` and `to_html()` round; the cells are the numbers themselves. There are
            no stars for significance: features that were chosen because they fit these rows well
            would have them whether or not they have an effect.

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
                                          k = 2       k = 3       k = 4
        coefficient (Intercept)          -47.96      -71.46       13.92
                    Hits                  3.301       2.804       2.676
                    CRBI                 0.6899      0.6825      0.6818
                    Division_W                                   -140.0
                    PutOuts                          0.2736      0.2735
        fit         n                       263         263         263
                    k                         2           3           4
                    loss                  58263       55607       53177
                    deviance_ratio       0.4252      0.4514      0.4754
        criterion   aic                 3820.49     3810.21     3800.46
                    bic                 3831.20     3824.50     3818.32
        check       optimality           global      global      global
                    gap              0 (proven)  0 (proven)  0 (proven)
        >>> table = path.compare([5, "bic"])
        >>> table.loc["fit"].loc["deviance_ratio"].astype(float).round(3).tolist()
        [0.491, 0.509]
        >>> data = l0path.datasets.load_birth_weights()
        >>> path = l0path.fit(data.X, data.y < 88, loss="logistic", max_k=2)
        >>> table = path.compare([1, 2], names=["one", "two"], ci=0.95, exponentiate=True)
        >>> print("\\n".join(table.to_markdown().splitlines()[:8]))
        |  | one | two |
        | :--- | ---: | ---: |
        | (Intercept) | 0.1033 | 0.0931 |
        |  | (0.0700, 0.1525) | (0.0621, 0.1396) |
        | white | 0.5153 | 0.5233 |
        |  | (0.3207, 0.8280) | (0.3250, 0.8428) |
        | cigarettes |  | 1.035 |
        |  |  | (1.007, 1.063) |
        """
        return forward.compare(
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
            models, or the twelve largest of the last model (a dotted line leads there from a curve
            that ends early); a coefficient that is in for one size alone is a point; a feature has
            the same color in all plots of a path, and the columns of a group share one,
            distinguished by dashes and labels. "loss": mean loss and deviance ratio. "criteria":
            information criteria, as differences from their minima. "lambda0": the interval of
            lambda0 for which each size is best. "gap": the gap between objective and lower bound,
            in percent of the objective. "support": which features, or groups, are in, for every
            size, in the colors of the signs (blue: positive).
        x : str, default "k"
            "k", "lambda0" (logarithmic, falling to the right; the curves are steps, of the models
            that are best for some lambda0) or "l1" (sum of absolute standardized coefficients). It
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
            Whether coefficients are standardized, or in units of y and X.
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
        return forward.plot(
            self,
            kind,
            x,
            mark,
            slice,
            ax,
            standardized,
            **{"k": k, "labels": labels, "response": response, "class_": class_},
        )

    def explore(
        self,
        file: str | PathLike | None = None,
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
        `Model.to_python` serves it) as code. The page of a `CVPath` has held-out scores and
        prediction intervals. Of several responses or classes it shows the coefficients of one.

        Parameters
        ----------
        file : str or path, optional
            Where to write the page (it is overwritten). None writes nothing.
        alternatives : int, default 5
            Exchanges listed for each model, 0 for none (see `Model.alternatives`; not for groups,
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
            the signs of their features (the first 100 models, the 40 most frequent features), how
            often each feature is in, and the sets of features of which every model needs one.
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
            If limits are out of range, or X and y are not those of the fit.
        OSError
            If the file cannot be written.
        """
        return forward.explore(
            self,
            file,
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
        return forward.save(self, file, data=data)

    def slice(self, i: int) -> Path:
        """The path of one slice, a pair (lambda1, lambda2) and a share `relax`, with rows numbered
        anew.

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
        >>> path.slice(1).details.lambda2.unique()
        array([0.01])
        """
        if not is_whole(i):
            raise TypeError(f"slice({i!r}): give the number of a slice, as in path.table")
        rows = self._rows(i)
        return Path(
            self._meta,
            [self._solutions[r]._replace(slice=0) for r in rows],
            self.status,
            self.notes,
            self.rounds.to_dict("records"),
            self._source,
            end=self._end,
        )

    def _loss_record(self, X=None, y=None):
        """The record of the loss that the solvers take; X, y: as in `_data`."""
        if self._meta.traits.response == "survival":
            return self._data(X, y).loss
        return loss_of(self._meta)

    def _data(self, X=None, y=None) -> Data:
        """The checked `Data` of the fit in the units of X and y, with weights, offset and bounds.
        X and y are needed after loading a path without data, and refused where they differ from
        those of the fit by a checksum.
        """
        return forward.data_of_fit(self, X, y)


def _neighbors(grid, value):
    """The grid values next to `value`, for messages."""
    below, above = grid[grid < value], grid[grid > value]
    near = [*([below.max()] if below.size else []), *([above.min()] if above.size else [])]
    return " and ".join(f"{x:.6g}" for x in near) or "none"
