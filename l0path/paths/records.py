"""The data of a path beside its rows: one `Meta` for the fit, plain data in the user's units, and
the `Source` that is kept in memory.
"""

import pickle
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ..core.arguments import shown
from ..designs import in_memory
from ..designs.names import INTERCEPT
from ..problem.groups import one_each
from ..problem.losses import OWN_LOSSES, canonical_name, kind_named, make_loss, traits_named
from ..problem.solution import in_use
from ..problem.specified import RECORDS, ResponsesRecord


@dataclass(frozen=True, kw_only=True)
class Meta:
    """Facts that all models of a path share. center, scale (p,): of the standardization; null_loss:
    mean loss of intercept and offset alone; n_eff: the n of the criteria, the number of rows of
    positive weight (or events), copies among them; weighted: whether some rows count more than
    others, or more than once; floor: mean loss of
    predicting every y, 0 except for poisson; has_offset: whether new rows need an offset besides
    the terms offset(...) of a formula; offset_name, strata_name: the columns of a table that these
    are in.
    """

    names: list
    n: int
    p: int
    n_eff: float
    loss: str
    loss_parameter: float | None
    intercept: bool
    standardize: bool
    null_loss: float
    center: np.ndarray
    scale: np.ndarray
    forced: np.ndarray
    factor: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    excluded: np.ndarray
    classes: tuple | None = None
    penalty: str = "L0"
    algorithm: str = "swap"
    grid: str = "support"
    has_offset: bool = False
    offset_name: str | None = None
    strata_name: str | None = None
    weighted: bool = False
    by_name: bool = False
    booleans: tuple = ()  # names of columns of a table X, without a formula, of True and False
    # (column of X, text column of the file, level) that the command line coded as 0 and 1; the
    # first level of a column has no column of X, ""
    coded: tuple = ()
    response: str | None = None
    random_state: int | None = None
    checksum: str = ""
    groups: Any = None  # `l0path.problem.groups.Groups`
    formula: Any = None  # `l0path.formula.Formula`
    # mean of log(y!) for poisson: what the negative log-likelihood has beyond the loss; for
    # Tweedie's loss the logarithms and weights of positive y (2, n)
    log_constant: float | np.ndarray = 0.0
    floor: float = 0.0
    trials: float | None = None  # of shares, their sum over the rows, by weights of mean 1
    events: float | None = None  # of survival times, the weight of the events
    copies: float | None = None  # of survival times, the rows of positive weight, with copies
    # features, or groups, that may be chosen beside the forced; None: of files written before
    units_to_choose: int | None = None
    importance: bool = False  # whether rows, or classes, have weights that are no numbers of rows
    loss_numbers: tuple = ()  # all numbers of the loss record, where it has more than one
    responses: tuple | None = None  # names of several responses
    response_weights: np.ndarray | None = None
    strata: tuple | None = None  # labels of the strata of survival times
    stratum: np.ndarray | None = None  # (n,) the numbers of the strata of the rows
    ties: str | None = None  # "efron" or "breslow", of partial likelihoods

    @property
    def traits(self):
        """The `LossTraits` of the loss."""
        return traits_named(canonical_name(self.loss, exact=True))

    @property
    def n_events(self):
        """The number of events of survival times, copies among them; None for other responses."""
        return self.n_eff if self.traits.partial else None

    @property
    def baseline(self):
        """The class with which the coefficients of the others are compared; None for none."""
        return self.classes[0] if self.traits.by_class and any(self.loss_numbers) else None

    def number(self, name):
        """The number of the loss of this name, such as "delta"; None where it has no such one."""
        return self.loss_parameter if self.traits.parameter == name else None

    @property
    def units(self):
        """The `Groups` that sizes count, which may be features."""
        return self.groups or one_each(self.names, self.factor)

    def in_use(self, solution):
        """The units of a solution that are not in every model: columns with a coefficient that is
        not 0, or chosen groups.
        """
        units = in_use(solution.support, solution.beta, solution.groups)
        return units[self.units.factor[units] > 0].astype(np.int64)

    @property
    def unit_labels(self):
        """What the units are called that sizes count: names of features, or labels of groups."""
        return self.units.labels

    @property
    def unlike_terms(self):
        """Whether groups, or terms, that may be chosen have several columns, so that the best model
        by a criterion need not be the best one of its number of terms.
        """
        units = self.units
        chosen = np.isfinite(units.factor) & (units.factor > 0)
        return bool((np.diff(units.start)[chosen] > 1).any())

    @property
    def pseudo(self):
        """Whether the likelihood is a pseudo-likelihood: weighted, its dispersion known."""
        return self.importance and self.traits.likelihood and not self.traits.free_scale

    @property
    def likelihood_size(self):
        """What a mean loss of known dispersion is multiplied by in the log-likelihood: the number
        of rows; of shares the trials, of partial likelihoods the events, by weights of mean 1.
        """
        sizes = (self.trials, self.events if self.traits.partial else None)
        return next((size for size in sizes if size is not None), self.n_eff)

    @property
    def n_sizes(self):
        """The number of rows, or of events of survival times, that default sizes are half of."""
        return self.n_eff if self.events is None or self.traits.partial else self.events

    @property
    def rows_at_risk(self):
        """Of survival times, the number of rows of the fit, copies among them."""
        return self.n if self.copies is None else self.copies  # None: of files written before

    @property
    def heredity(self):
        """The rule of the hierarchy that the models keep, "strong" or "weak"; "" for none."""
        hierarchy = self.units.hierarchy
        return "" if hierarchy is None or not hierarchy.needs.any() else hierarchy.rule

    def deviance_ratio(self, loss):
        """1 - (loss - floor) / (null_loss - floor) of a mean loss: the share of the null deviance
        that is explained; NaN where there is none to explain, or the floor is not known.
        """
        null = self.null_loss - self.floor
        return 1.0 - (loss - self.floor) / null if 0 < null < np.inf else np.nan

    @property
    def several(self):
        """Whether there are several responses, each with predictors of its own."""
        return self.responses is not None and not self.traits.by_class

    @property
    def ordered(self):
        """Whether the response is ordered classes."""
        return self.traits.response == "ordered"

    @property
    def response_index(self):
        """The names of several responses, or of ordered classes, as labels of columns."""
        return pd.Index(
            list(map(str, self.classes)) if self.ordered else self.responses, name="response"
        )

    @property
    def first_names(self):
        """The names of what stands before the coefficients: the intercept, or the thresholds
        between ordered classes, "low|high"; none where a constant is not seen, as by Cox's loss.
        """
        if not self.ordered:
            seen = self.traits.intercept or self.traits.constant
            return [INTERCEPT] if seen else []
        return [f"{low}|{high}" for low, high in pairwise(self.classes)]

    def rows_of_coefficients(self, columns):
        """The labels of the rows of `Path.coef` with these columns (indices)."""
        return pd.Index([*self.first_names, *(self.names[j] for j in columns)], name="feature")

    @property
    def about(self):
        """The quantity that the linear predictor of a classification speaks for: "P(y = 'b')" where
        the loss has probabilities, "positive class 'b'" else; "" for real responses.
        """
        if self.classes is None or self.responses is not None or self.ordered:
            return ""
        label = shown(self.classes[1])
        if self.traits.link:
            return f"P({self.response or 'y'} = {label})"
        return f"positive class {label}"


def loss_of(meta):
    """The record of the loss of a `Meta`, one that does not depend on the rows."""
    if meta.loss_numbers:
        return kind_named(meta.loss)(*meta.loss_numbers)
    return _loss_of_package(meta.loss, meta.traits.parameter, meta.loss_parameter)


@cache
def _loss_of_package(name, argument, parameter):
    """The record of a loss of the package, which scores ask for once for each model."""
    return make_loss(name, **({argument: parameter} if argument else {}))


def loss_asked(meta):
    """The loss of a `Meta` as the record of `l0path.losses` that asks for it, with the numbers that
    the fit found; a loss of the user's own as it is.
    """
    for record in RECORDS:
        if record.name == meta.loss:
            names = {inside: name for name, inside in record.inside.items()}
            argument = meta.traits.parameter
            given = {} if not argument else {names.get(argument, argument): meta.loss_parameter}
            if meta.ties is not None:
                given["ties"] = meta.ties
            if meta.baseline is not None:
                given["baseline"] = meta.baseline
            if meta.response_weights is not None and issubclass(record, ResponsesRecord):
                given["response_weights"] = tuple(meta.response_weights)
            return record(**given)
    return loss_of(meta)


@dataclass
class Source:
    """The data of a path and the settings that made it. Files hold them where they are asked to;
    pickles hold them, and refer to a file that X is read from.
    """

    data: Any = None
    plan: Any = None
    extra: dict = field(default_factory=dict)
    lost: str = ""  # why a pickle came back without the data

    def __getstate__(self):
        state, data = dict(self.__dict__), self.data
        if data is None:
            return state
        # what may not come back stands in bytes of its own, so that all else does: an X in a file,
        # or on a cluster, and the code of a loss
        apart = {} if in_memory(data.design) else {"design": data.design}
        if data.loss.traits.name in OWN_LOSSES:
            apart["loss"] = data.loss
        if not apart:
            return state
        try:
            raw = pickle.dumps(apart)
        except Exception as error:  # whatever a class of the user's raises
            return state | {"data": None, "lost": _reason(error)}
        return state | {"data": replace(data, **dict.fromkeys(apart)), "apart": raw}

    def __setstate__(self, state):
        apart = state.pop("apart", None)
        self.__dict__.update(state)
        if apart is None:
            return
        try:
            self.data = replace(self.data, **pickle.loads(apart))
        except Exception as error:  # there is no such file or class here
            self.data, self.lost = None, _reason(error)


def _reason(error):
    return f"{type(error).__name__}: {error}"


def by_response(labels, responses):
    """Labels of columns (solution, response), each label of a solution with every response."""
    rows = [(*(one if isinstance(one, tuple) else (one,)), r) for one in labels for r in responses]
    return pd.MultiIndex.from_tuples(rows, names=[*labels.names, responses.name])


def unordered(path, what):
    """Raise ValueError in methods that are not available for ordered classes."""
    if path._meta.ordered:
        raise ValueError(f"{what} is not served for loss={path._meta.loss!r}")


def one_response(path, what):
    """Raise ValueError in methods for one response where a path has several."""
    names = path._meta.responses
    if path._meta.traits.by_class:
        raise ValueError(f"{what} is not served for loss={path._meta.loss!r}")
    if names is not None:
        raise ValueError(
            f"{what} is not served for {len(names)} responses; fit one of them alone, for example "
            f"{names[0]}"
        )
