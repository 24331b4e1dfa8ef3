"""Additions to the results of statsmodels: the label that says who chose the
columns, predictions for new data, and the terms that `anova_lm` asks for.
"""

from __future__ import annotations

import textwrap
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core import forward
from ..core.describing import model_line, signed
from ..core.tables import pandas_of
from ..formula.frames import text_named
from .separated_refits import estimated, separated, unbounded

NO_CLUSTERS = "cov_type='cluster' needs cov_kwds={'groups': labels}, one label for each row"
WEIGHTED = (
    "the fit had weights, which a path file does not hold: pass freq_weight= and sample_weight= "
    "(times the class weights) as in the fit"
)
WIDTH = 78  # of the texts below a summary


class RefitRows(NamedTuple):
    """The rows of a refit: design, y (classes -1, 1), offset (n,) or None, index of the frame or
    None; same: they are the rows of the fit; weights (n,), counts and trials (n,) or None, and
    importance: as those of `Data`; labels: those of the covariance, by name; chose: how many of the
    rows have chosen the columns, None where that is not known; whole: whether they were taken for
    being complete in the columns of the model.
    """

    design: object
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray | None
    index: object
    same: bool
    counts: np.ndarray | None = None
    trials: np.ndarray | None = None
    importance: bool = False
    labels: dict = {}
    chose: int | None = None
    whole: bool = False

    def importances(self, keep):
        """The importance of some rows, of mean 1 over these and their copies; None: all the
        same.
        """
        if not self.importance:
            return None
        copies = np.ones(len(keep)) if self.counts is None else self.counts[keep]
        w = self.weights[keep] / copies
        w = w if self.trials is None else w / self.trials[keep]
        return w * (copies.sum() / (copies @ w))


class Origin(NamedTuple):
    """Where the results of a refit come from: the path, the solution, the `RefitRows`, and the loss
    of these rows.
    """

    path: Any
    solution: Any
    rows: RefitRows
    loss: Any


class ModelTerm(NamedTuple):
    """A term by its name and its factors."""

    text: str
    factors: tuple

    def name(self):
        """The name of the term, as patsy gives it."""
        return self.text

    __str__ = name


class ModelTerms:
    """The terms of a model as `anova_lm` reads them, whether statsmodels goes by patsy or by
    formulaic: terms in the order of the columns, the intercept (of that package) first where there
    is one; names of the columns; and {name: slice of its columns}. Called with a table of new
    rows it returns (None, array of their columns), which is how marginaleffects asks for them;
    encode: makes these of a DataFrame.
    """

    def __init__(self, intercept, terms, column_names, slices, encode):
        self.encode, self._first = encode, intercept is not None
        self.terms = [*([] if intercept is None else [intercept]), *terms]
        self.column_names, self._slices = column_names, slices
        self.term_names = [*([] if intercept is None else ["Intercept"]), *map(str, terms)]

    def __getstate__(self):
        # patsy's term of the intercept refuses to be pickled: it is asked for again
        return self.__dict__ | {"terms": self.terms[self._first :]}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self._first:
            self.terms = [_intercept(), *self.terms]

    @property
    def design_info(self):
        """Itself: patsy's name for what holds the terms."""
        return self

    @property
    def model_spec(self):
        """Itself: formulaic's name for what holds the terms."""
        return self

    def __call__(self, table):
        return None, self.encode(pandas_of(table)).to_numpy()

    def slice(self, term):
        """The columns of a term, given as it is or by its name."""
        name = str(term) if isinstance(term, (str, ModelTerm)) else "Intercept"
        return self._slices["Intercept" if name == "1" else name]

    get_slice = slice


def describe(results, path, s, rows):
    """Add the label, predictions, terms and texts to the results of statsmodels."""
    inner: Any = getattr(results, "_results", results)
    inner.selection = label(s, path, rows, getattr(inner, "infinite", ()))
    inner.origin = Origin(path, s, rows, path._loss_record())
    _name_intervals(results)
    kind = type(inner)
    names = inner.model.exog_names[: inner.model.exog.shape[1]]  # without alpha
    inner.summary = partial(_summary, kind.summary, inner)
    inner.summary2 = partial(_summary2, kind.summary2, inner)
    for name in ("predict", "get_prediction"):
        method = getattr(inner, name, None)
        if method is not None:
            setattr(inner, name, partial(_predict, method, path, s, names))
    _tell_terms(inner.model, names, path, s, rows)
    results.__class__ = _shown(type(results))


def _tell_terms(regression, names, path, s, rows):
    """Let a regression of statsmodels look as if a formula of its own had made it, for what other
    packages read: its terms, and for marginaleffects its variables.
    """
    terms = terms_of(path, s, partial(encoded, path, s, names))
    regression.data.model_spec = regression.data.design_info = terms
    if not isinstance(regression.data, RefitData):
        regression.data.__class__ = _with_terms(type(regression.data))
    frame = frame_of(regression, names, path, s, rows)
    if frame is not None:
        response, *variables = frame.columns
        regression.data.frame = frame
        regression.formula = f"{response} ~ {' + '.join(variables) or '1'}"
        if not isinstance(regression.endog_names, str):  # counts of successes and of failures
            regression.data.ynames = response


class RefitData:
    """Data of a regression of statsmodels with the terms of a refit. A pickle has them: statsmodels
    leaves terms out, and makes them again by a formula of its own, which a refit does not have. A
    class of statsmodels gets it as a base (`_with_terms`).
    """

    def __getstate__(self):
        return self.__dict__.copy()

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __reduce_ex__(self, protocol):
        kind = next(one for one in type(self).__mro__[1:] if one is not RefitData)
        return _restored_data, (kind,), self.__getstate__()


@cache
def _with_terms(kind):
    """The class of statsmodels with the pickles of `RefitData`."""
    return type(kind.__name__, (RefitData, kind), {"__module__": kind.__module__})


def _restored_data(kind):
    """Data without contents, for pickle."""
    made = _with_terms(kind)
    return made.__new__(made)


class Refit:
    """How the results of a refit are shown: the model first, then who chose its features. A class
    of statsmodels gets it as a base (`_shown`), because Python asks the class for a text.
    """

    def _estimates(self):
        """The coefficients with standard errors and p-values as a table; of several classes the
        coefficients alone.
        """
        with quiet(self):
            params = pd.DataFrame(estimated(self))
            if params.shape[1] > 1:  # log odds against the first class
                return params.set_axis(map(str, self.origin.path.classes[1:]), axis=1)
            numbers = {"coef": params.iloc[:, 0], "se": self.bse, "p": self.pvalues}
            return pd.DataFrame({name: np.asarray(v) for name, v in numbers.items()}, params.index)

    def estimates(
        self, level: float = 0.95, *, exponentiate: bool = False, p_values: bool | None = None
    ) -> pd.DataFrame:
        """The table of a paper: the coefficients with their intervals, and with p-values where
        these hold; see `Model.refit`.

        Parameters
        ----------
        level : float, default 0.95
            The level of each interval, as in `Model.conf_int`.
        exponentiate : bool, default False
            Whether exp of coefficients and of the ends of intervals is shown: odds ratios
            (logistic, binomial, ordinal, multinomial), hazard ratios (Cox), ratios of means (losses
            with a log mean). That of an intercept is the odds, or the mean, where all features are
            0.
        p_values : bool, optional
            Whether the table has p-values. None: where they hold, which they do not if the features
            were chosen on rows of the refit. True: in any case. False: never.

        Returns
        -------
        DataFrame
            A row for each coefficient by its name, of several classes for each (class, name); the
            columns "estimate" (or "odds_ratio", "hazard_ratio", "ratio_of_means"), "lower" and
            "upper", and "p_value" where asked for. It prints rounded, with a title and a note
            (`attrs`), which says which rows have chosen the features, and why there are no
            p-values. `to_latex`, `to_markdown` and `to_html` print it for a paper.
        """
        return forward.estimates(self, level, exponentiate, p_values)

    def _made_by(self):
        return f"statsmodels' {type(self.model).__name__}"

    def _line(self):
        path, s = self.origin.path, self.origin.solution
        names, table = [path._meta.names[j] for j in s.support], self._estimates()
        known = "coef" in table and set(names) <= set(table.index)
        chosen = signed(names, table["coef"][names]) if known else list(map(str, names))
        return model_line(path._meta.response, s.k, chosen)

    def _repr_html_(self):
        return forward.refit_html(self)

    def __repr__(self):
        try:
            return f"<l0path refit: {self._line()}\n  {self._made_by()}, {self.selection}>"
        except Exception:  # a repr must not raise
            return object.__repr__(self)

    def __reduce_ex__(self, protocol):
        kind = next(one for one in type(self).__mro__[1:] if one is not Refit)
        return _restored, (kind,), super().__reduce_ex__(protocol)[2]


def _restored(kind):
    """Results without contents, for pickle."""
    shown = _shown(kind)
    return shown.__new__(shown)


@cache
def _shown(kind):
    """The class of statsmodels with the texts of `Refit`."""
    return type(kind.__name__, (Refit, kind), {"__module__": kind.__module__})


def _name_intervals(results):
    """Let conf_int of the results have the rows of the parameters and the columns "lower" and
    "upper", as statsmodels has it for several classes.
    """
    results.conf_int = partial(_intervals, results.conf_int, results)


def _intervals(method, results, alpha=0.05, **of):
    """The intervals of statsmodels as a table with names; of: `cols`, for regressions that take
    it.
    """
    found = unbounded(method(alpha=alpha, **of), getattr(results, "_results", results))
    if getattr(results.params, "ndim", 1) == 2:  # several classes: named by statsmodels
        return found
    index = getattr(found, "index", None)
    if index is None:
        index = pd.Index(results.model.exog_names)[of.get("cols") or slice(None)]
    return pd.DataFrame(np.asarray(found), index=index, columns=["lower", "upper"])


def refit_each(path, s, rows, how, refit_rows):
    """{name: results of statsmodels} of several responses, on the columns that they share."""
    out, n = {}, len(rows.y)
    for j, name in enumerate(path._meta.responses):
        offset = None if rows.offset is None else rows.offset.reshape(n, -1)[:, j]
        one = s._replace(beta=s.beta[:, j], intercept=s.intercept[j])
        part = rows._replace(y=rows.y[:, j], offset=offset)
        results = refit_rows(path, one, part, **how)
        describe(results, path, one, part)
        results.model.data.ynames = name
        out[name] = results
    return out


def describe_survival(results, path, s, rows, loss=None):
    """Add the label to results of PHReg, OrderedModel or WeibullRegression; their summary ends with
    it. loss: that of the rows, where it holds their times.
    """
    inner: Any = getattr(results, "_results", results)
    inner.selection = label(s, path, rows, getattr(inner, "infinite", ()))
    inner.origin = Origin(path, s, rows, path._loss_record() if loss is None else loss)
    _name_intervals(results)
    whole = path._meta.ordered or path._meta.traits.constant
    shown = _summary if whole else _summary2
    inner.summary = partial(shown, type(inner).summary, inner)
    if whole:
        columns = inner.model.exog_names[: inner.model.exog.shape[1]]  # without thresholds, shapes
        inner.predict = partial(_predict, inner.predict, path, s, columns)
        _tell_terms(inner.model, columns, path, s, rows)
    results.__class__ = _shown(type(results))


def label(s, path, rows, infinite=()):
    """A sentence that says which rows chose the columns, which penalty is absent, which number of
    the loss is estimated anew, and which coefficients are infinite (names).
    """
    anew = ""
    if path._meta.number("theta") is not None:
        anew = (
            f"; theta was estimated anew with the coefficients (1 / alpha), where the path has "
            f"theta = {path._meta.number('theta'):.4g}"
        )
    apart = "; " + separated(path._meta, infinite) if infinite else ""
    return _chosen_by(s, path, rows) + _unpenalized(s) + anew + _weighted(path, rows) + apart


def _weighted(path, rows):
    """That weights made a pseudo-likelihood."""
    if not pseudo_likelihood(path, rows):
        return ""
    return (
        "; sample and class weights make a pseudo-likelihood: standard errors are those of the "
        "sandwich unless cov_type= asks for others"
    )


def pseudo_likelihood(path, rows):
    """Whether weights of importance make a pseudo-likelihood of a loss whose dispersion is
    known.
    """
    traits = path._meta.traits
    return rows.importance and traits.likelihood and not traits.free_scale


def _unpenalized(s):
    """That the refit has no penalty where the model had one."""
    had = " and ".join(
        f"{name} = {value:.4g}"
        for name, value in (("lambda1", s.lambda1), ("lambda2", s.lambda2))
        if value > 0
    )
    if not had:
        return ""
    return (
        f"; without penalty: the model of the path was shrunk by {had}, this refit is not, so its "
        "coefficients differ from those of path.coef"
    )


def selected(s, path, rows):
    """Whether some of the rows have chosen the columns among others; None where it is not known
    whether these are rows of the fit.
    """
    if s.support.size in (path._meta.forced.size, path.p):
        return False
    return True if rows.same else None if rows.chose is None else rows.chose > 0


def _chosen_by(s, path, rows):
    """A phrase that names the rows that chose the columns."""
    n, many, chosen = rows.design.n, rows.chose, s.support.size
    of = f"the {chosen} of {path.p} features"
    if rows.whole and not rows.same:
        part = "an unknown number" if many is None else str(many)
        return (
            f"all rows: {n} rows are complete in the features of the model, and {part} of them "
            f"also chose {of}, so standard errors, p-values and intervals are too optimistic; the "
            "log-likelihood and criteria of this refit do not compare with those of the path, "
            "which are about other rows"
        )
    if not rows.same and many is None:
        return (
            f"{n} rows given to refit: the rows of the fit are not kept with a loaded path, so "
            "standard errors and p-values hold if none of these rows had a part in choosing the "
            "features"
        )
    if not rows.same and not many:
        return (
            f"held-out rows: {n} rows given to refit, none of which is a row of the fit; standard "
            "errors and p-values hold if these rows had no part in choosing the features"
        )
    if not selected(s, path, rows):
        forced = chosen == path._meta.forced.size
        return (
            "no selection among the features: the model holds "
            + (f"all {path.p}" if not forced else "those of always_include alone" if chosen
               else "the intercept alone")
            + ", so standard errors and p-values hold if the size was not chosen by these rows"
        )  # fmt: skip
    these = f"these {n} rows" if rows.same or many == n else f"{many} of these {n} rows"
    return (
        f"conditional on selection: {these} also chose {of}, so standard errors, p-values and "
        "intervals are too optimistic; refit(X=, y=) on new rows gives valid ones"
    )


def _shown_by(method, results, *args, **kwargs):
    """A summary of statsmodels, in which infinite coefficients are shown as such."""
    out, params = method(results, *args, **kwargs), results.params
    if getattr(results, "limit", None) is None:
        return out
    # the first summary has left all that it computes of the coefficients in its cache
    results.params = estimated(results)
    try:
        return method(results, *args, **kwargs)
    finally:
        results.params = params


def quiet(results):
    """No warning of overflow in a summary of coefficients that are infinite."""
    return np.errstate(all="ignore" if getattr(results, "infinite", ()) else None)


def _summary(method, results, *args, **kwargs):
    """The summary of statsmodels with the label at its end."""
    with quiet(results):
        out = _shown_by(method, results, *args, **kwargs)
    text = results.selection[0].upper() + results.selection[1:]
    words = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    out.extra_txt = "\n".join([*words, *(["", out.extra_txt] if out.extra_txt else [])])
    return out


def _summary2(method, results, *args, **kwargs):
    """The same for summary2."""
    with quiet(results):
        out = _shown_by(method, results, *args, **kwargs)
    out.add_text(results.selection[0].upper() + results.selection[1:])
    return out


def _predict(method, path, s, names, exog=None, *args, **kwargs):
    """Predictions of statsmodels; a DataFrame is taken by the names of its columns, and encoded as
    in the fit where it holds the columns of a formula.
    """
    if exog is not None and not args:
        kwargs.setdefault("transform", False)  # statsmodels would encode it by a formula of its own
    if isinstance(exog, pd.DataFrame) and list(exog.columns) != list(names):
        exog = exog[names] if set(names) <= set(exog.columns) else encoded(path, s, names, exog)
    return method(exog, *args, **kwargs)


def encoded(path, s, names, table):
    """The columns of a refit, by their names, of new rows: a DataFrame."""
    design, index = path._new_design(table, s.support)
    exog = pd.DataFrame(
        design.columns(s.support),
        columns=names[len(names) - s.support.size :],
        index=table.index if index is None else index,
    )
    if len(names) > s.support.size:
        exog.insert(0, names[0], 1.0)
    return exog


def frame_of(model, names, path, s, rows):
    """The response and the variables that the columns of a refit are made of, one row for each of
    its rows, as a DataFrame; None where they are not at hand: after a formula for rows that were
    given anew or a loaded path; and where predictions for new rows would lack the offset.
    """
    formula, linear = path._meta.formula, path._meta.traits.link == "identity"
    if rows.offset is not None and not linear:
        return None
    response = model.endog if model.endog.ndim == 1 else model.endog[:, 0] / model.endog.sum(axis=1)
    if formula is None:
        frame = pd.DataFrame(model.exog, columns=names).iloc[:, len(names) - s.support.size :]
    elif formula.table is None or not rows.same or formula.kept is None:
        return None
    else:
        table, needed = text_named(formula.table), formula.needed(s.support)
        if not set(needed) <= set(table.columns):
            return None  # a file does not hold columns of every kind
        frame = table[formula.kept][needed][rows.weights > 0].reset_index(drop=True)
        text = frame.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]]
        frame = frame.astype(dict.fromkeys(text, "category"))  # it refuses text
    name = str(path._meta.response or "y")
    if len(frame) != len(response) or name in frame.columns:
        return None
    frame.insert(0, name, response)
    return frame


def terms_of(path, s, encode):
    """`ModelTerms` of a model: those of the formula that have a column in it, else one for each
    column.
    """
    formula, shift = path._meta.formula, int(path._meta.intercept)
    names = [path._meta.names[j] for j in s.support]
    at = {int(j): i + shift for i, j in enumerate(s.support)}
    if formula is None:
        made = [(ModelTerm(str(path._meta.names[j]), (path._meta.names[j],)), [j]) for j in at]
    else:
        factors = {str(term): tuple(f.expr for f in term.factors) for term in formula.parsed()[1]}
        made = [
            (ModelTerm(name, factors.get(name, (name,))), members)
            for name, members in formula.terms
        ]
    inside = [(term, [at[j] for j in members if j in at]) for term, members in made]
    inside = [(term, places) for term, places in inside if places]
    slices = {str(term): slice(min(places), max(places) + 1) for term, places in inside}
    if shift:
        slices["Intercept"] = slice(0, 1)
    return ModelTerms(
        _intercept() if shift else None,
        [term for term, _ in inside],
        ["(Intercept)"] * shift + names,
        slices,
        encode,
    )


def _intercept():
    """The term that stands for the intercept in the package whose formulas statsmodels uses."""
    try:
        from statsmodels.formula._manager import FormulaManager
    except ImportError:  # versions that know patsy only
        from patsy.desc import INTERCEPT

        return INTERCEPT
    return FormulaManager().intercept_term


def exog_of(path, s, rows, keep):
    """The columns of the support with their names, the intercept first where the fit had one."""
    names = [path._meta.names[j] for j in s.support]
    A = rows.design.columns(s.support)[keep]
    if path._meta.intercept:
        A, names = np.column_stack([np.ones(len(A)), A]), ["(Intercept)", *names]
    return A, names


def _rows_before(formula):
    """Rows of a formula's data before incomplete rows were dropped; -1 after loading."""
    return -1 if formula.kept is None else formula.kept.size


def labels_by_row(name, path, rows):
    """Labels in the order of the rows of the refit; after a formula they may be of all rows of its
    data, incomplete ones included.
    """
    array = np.asarray(rows.labels[name])
    formula = path._meta.formula
    if array.ndim < 1 or (
        len(array) != rows.design.n
        and (formula is None or not rows.same or len(array) != _rows_before(formula))
    ):
        raise ValueError(
            f"cov_kwds[{name!r}] has shape {array.shape}, the refit has {rows.design.n} rows: pass "
            "one label for each row, or the name of a column"
        )
    if len(array) != rows.design.n:
        array = array[formula.kept]  # only the rows that the formula kept
    if pd.isna(array).any():
        raise ValueError(f"cov_kwds[{name!r}] has missing values; give every row a label")
    return pd.factorize(array)[0] if array.ndim == 1 and array.dtype.kind in "OUSM" else array


def refuse_one_cluster(labels):
    """Refuse the labels of rows that all are in one cluster, or a cluster has no other one to be
    compared with.
    """
    if labels.ndim == 1 and (labels == labels[0]).all():
        raise ValueError(
            "cov_kwds['groups'] has one label only, and cov_type='cluster' compares clusters; pass "
            "the labels of two clusters or more, or leave cov_type out"
        )
