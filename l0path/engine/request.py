"""From the arguments of `fit` to a `Request`: the data and the plan of a path, checked.

Every message names the argument, its value and the remedy. X is not read here, except for its
missing values where `pose` would not see them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from .. import formula
from ..core.arguments import flag, is_whole, same_index, whole
from ..core.hints import refuse_unknown
from ..designs import as_design, check_finite
from ..designs.names import column_names
from ..errors import refuse_masked
from ..problem.coupled.arguments import served, strata_of
from ..problem.families.own import check_derivatives, record_named
from ..problem.families.trials import loss_meant, shares_of
from ..problem.groups import group_factor, make_groups, with_factors, with_hierarchy
from ..problem.losses import OWN_LOSSES, canonical_name, name_of
from ..problem.problem import Data
from ..problem.specified import told_apart
from . import arguments as checks
from . import registry, responses
from .grids import Grid, Ridges, lambdas


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The arguments of `l0path.fit` besides X and y, with their defaults; `parameters` are those of
    the record of the loss, by their names in `problem`.
    """

    loss: Any = "squared"
    parameters: dict = field(default_factory=dict)
    algorithm: Any = "swap"
    k: Any = None
    max_k: int | None = None
    lambda0: Any = None
    lambda1: Any = None
    lambda2: Any = None
    fit_intercept: bool | None = None
    standardize: bool = True
    sample_weight: Any = None
    freq_weight: Any = None
    trials: Any = None
    class_weight: Any = None
    pos_label: Any = None
    offset: Any = None
    lower: Any = -math.inf
    upper: Any = math.inf
    always_include: Any = None
    exclude: Any = None
    penalty_factor: Any = None
    groups: Any = None
    heredity: Any = "auto"
    feature_names: Any = None
    strata: Any = None
    time_limit: float | None = None
    certify: bool | str = "auto"
    n_jobs: int | None = None
    random_state: Any = None
    progress: bool | None = None
    on_solution: Callable | None = None


# names of the arguments of `l0path.fit`, for functions that hand them on
ARGUMENTS = (*(one.name for one in fields(Arguments) if one.name != "parameters"), "data", "env")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The settings of a path: everything but the data. lambda0, lambda1, lambda2 are arrays, a
    `Grid`, or None (which is 0 for lambda1 and lambda2). grid: "support" or "lambda0". relax: the
    shares g < 1 of the mixtures of shrunken models, see `problem.solution.mixed`.
    """

    settings: Any
    grid: str = "support"
    sizes: tuple | None = None
    max_k: int | None = None
    lambda0: Any = None
    lambda1: Any = None
    lambda2: Any = None
    relax: tuple = ()
    time_limit: float | None = None
    random_state: int | None = None

    def least_shrinkage(self):
        """The least lambda1 and lambda2 that will be asked for; 1 stands for a grid that follows
        from the data.
        """
        return tuple(
            0.0
            if given is None or isinstance(given, Ridges)
            else 1.0
            if isinstance(given, Grid)
            else float(given.min())
            for given in (self.lambda1, self.lambda2)
        )


@dataclass(frozen=True, kw_only=True)
class Request:
    """The data and settings of a path: everything that X itself does not decide.

    Attributes
    ----------
    data : Data
        The data in the user's units.
    plan : Plan
        How they are solved.
    notes : tuple of str
        What the user should be told.
    by_name : bool
        Whether new rows are taken by the names of their columns.
    booleans : tuple of str
        Names of the columns of a table X, without a formula, that hold True and False.
    response, offset_name, strata_name : str, optional
        The name of the response, and of the columns of the user's table that are the offset and the
        strata.
    formula : Formula, optional
        What the columns were made by.
    resolved : bool
        Whether what X decides (copies of columns, the threshold of the Huber loss) is in the data.
    pilot : bool
        Whether the threshold of the Huber loss is still to be found.
    certify, progress, on_solution, n_jobs
        As in `l0path.fit`.
    row_counts : ndarray of shape (n,), optional
        How often each row counts in a training set. None means once.
    all_rows : AllRows, optional
        Products of all rows, from which those of a training set follow.
    slices : tuple of pairs, optional
        The values (lambda1, lambda2) of an earlier fit.
    folds : costs.FoldCounts, optional
        The folds whose fits follow this one. They count in the cost that is told beforehand.
    """

    data: Data
    plan: Plan
    notes: tuple = ()
    by_name: bool = False
    booleans: tuple = ()
    response: str | None = None
    formula: Any = None
    offset_name: str | None = None
    strata_name: str | None = None
    resolved: bool = False
    pilot: bool = False
    certify: bool | str = False
    progress: bool | None = None
    on_solution: Callable | None = None
    n_jobs: int | None = None
    row_counts: np.ndarray | None = None
    all_rows: Any = None
    slices: tuple | None = None
    folds: Any = None

    def part(self, **changes):
        """The request of a further fit of the same data, or of rows of them: nobody listens, and
        what X decided stays.
        """
        same = {"data": self.data, "plan": self.plan, "resolved": True, "progress": False}
        return Request(**{**same, **changes})


def request(X, y=None, *, data=None, **given) -> Request:
    """The `Request` of the arguments of `fit`. data: the DataFrame of a formula, in the place of y.

    Raises
    ------
    ValueError or TypeError
        If an argument is not one of those of `fit`, or not allowed.
    """
    given = given if data is None else {**given, "data": data}
    X, y, given = formula.open_formula(X, y, given)
    refuse_unknown("fit", given, ARGUMENTS)
    given["loss"], given["parameters"] = told_apart(given.get("loss", "squared"))
    given["loss"] = loss_meant(given["loss"], y, given.get("trials"))
    a = _checked(Arguments(**given))
    table = X if isinstance(X, formula.Encoded) else formula.Encoded(X, None, None)
    heredity, groups, kept = formula.asked_hierarchy(
        a.heredity, table, a.groups, registry.without_hierarchy(a)
    )
    data, notes = data_of(table, y, replace(a, heredity=heredity, groups=groups))
    plan = _plan(a)
    registry.refuse(plan.settings, data, *plan.least_shrinkage())
    responses.refuse_unserved(data, plan, a)
    if responses.shrinks(plan.lambda1):
        data = replace(data, apart=True)
    by_name = _taken_by_name(table.X, a.feature_names, data.names)
    return Request(
        data=data,
        plan=plan,
        notes=(*formula.notes(table.formula), *kept, *notes),
        by_name=by_name,
        booleans=_booleans(table.X) if by_name and table.formula is None else (),
        response=y.name if isinstance(y, pd.Series) and isinstance(y.name, str) else None,
        formula=table.formula,
        offset_name=table.offset,
        strata_name=table.strata,
        pilot=responses.needs_pilot(data.loss, a.parameters),
        certify="auto" if isinstance(a.certify, str) else bool(a.certify),
        progress=a.progress,
        on_solution=a.on_solution,
        n_jobs=a.n_jobs,
    )


def _checked(a):
    """The arguments with the loss by its own name, and those refused that nothing else checks."""
    automatic = isinstance(a.certify, str) and a.certify == "auto"
    if not automatic and not isinstance(a.certify, (bool, np.bool_)):
        raise TypeError(f"certify={a.certify!r} must be True, False or 'auto'")
    if a.on_solution is not None and not callable(a.on_solution):
        raise TypeError(f"on_solution={a.on_solution!r} must be a function of one Model, or None")
    if a.n_jobs is not None and not is_whole(a.n_jobs):
        raise TypeError(f"n_jobs={a.n_jobs!r} must be None, -1 or a whole number >= 1")
    name = canonical_name(a.loss, exact=registry.proves(a.algorithm))
    if name in OWN_LOSSES:
        _refuse_for_own(name, a)
        return served(a if not isinstance(a.loss, str) else replace(a, loss=record_named(name)))
    return served(replace(a, loss=name))


def _refuse_for_own(name, a):
    """Refuse arguments that need the conjugate of the loss, which a loss of one's own lacks."""
    if not isinstance(a.certify, str) and a.certify:
        raise ValueError(
            f"certify=True needs the conjugate of the loss, which loss={name!r} of your own "
            "does not have; leave it out"
        )
    settings = registry.settings_of(a.algorithm)
    row = registry.algorithm_of(settings)
    if row.proves or row.ridge or not row.boxes:
        raise ValueError(
            f"algorithm={a.algorithm!r} needs the conjugate of the loss, which loss={name!r} of "
            "your own does not have; use 'swap'"
        )


def _taken_by_name(X, feature_names, names):
    """Whether the columns of X bear the names of the fit: their own, and none repeated."""
    if isinstance(X, pd.DataFrame):
        own = column_names(X.columns)
    else:
        own = getattr(X, "names", None) if feature_names is None else None
    return isinstance(own, list) and [str(name) for name in own] == list(names)


def _booleans(X):
    """Names of the columns of a table that hold True and False."""
    if not isinstance(X, pd.DataFrame):
        return ()
    types = map(pd.api.types.is_bool_dtype, X.dtypes)
    return tuple(str(name) for name, flag in zip(X.columns, types, strict=True) if flag)


# -------------------- the data


def data_of(X, y, a, read=False):
    """(Data, notes) of arguments. read: missing values of X are looked for here, and not by `pose`,
    which does not see rows of weight 0.
    """
    labels_of_rows = X.index if isinstance(X, formula.Encoded) else None
    X = X.X if isinstance(X, formula.Encoded) else X
    by_row = ("sample_weight", "freq_weight", "trials", "offset", "strata")
    same_index(X=X, y=y, **{name: getattr(a, name) for name in by_row})
    if a.feature_names is not None and (
        isinstance(a.feature_names, (str, bytes)) or not np.iterable(a.feature_names)
    ):
        raise TypeError(
            f"feature_names={a.feature_names!r} must be a sequence of names, one per column of X"
        )
    own, a = (None, a) if isinstance(a.loss, str) else (a.loss, replace(a, loss=name_of(a.loss)))
    design, names, index, notes = as_design(X, a.feature_names)
    y, trials = shares_of(y, a.trials, design.n, a.loss)
    if read:
        check_finite(design, names)
    weights, counts, importance = checks.row_weights(
        a.sample_weight, a.freq_weight, trials, design.n
    )
    target, record, labels, classes, more = checks.responded(y, design.n, a, weights, counts, own)
    if not read and not weights.all():
        check_finite(design, names)
    offset = None if a.offset is None else checks.offsets(a.offset, weights, a.loss, target.shape)
    if own is not None:
        check_derivatives(own, target.ravel(), weights, flag(a.fit_intercept, "fit_intercept"))
    groups, columns, kept = _columns(design.p, names, a)
    data = Data(
        design=design,
        y=target,
        loss=record,
        weights=weights,
        counts=counts,
        importance=importance or a.class_weight is not None,
        class_weight=responses.class_weights(a.class_weight, classes, a.loss),
        offset=offset,
        intercept=flag(a.fit_intercept, "fit_intercept"),
        standardize=flag(a.standardize, "standardize"),
        names=names,
        trials=trials,
        classes=classes,
        groups=groups,
        responses=labels,
        response_weights=responses.weights_of_responses(
            a.parameters.get("response_weights"), labels
        ),
        strata=strata_of(a.strata, design.n)[1],
        index=index if labels_of_rows is None else labels_of_rows,
        **columns,
    )
    checks.check_classes(data, a.loss)
    return data, [*notes, *more, *kept, *responses.notes_of_offset(data), *_weight_notes(data)]


def _weight_notes(data):
    """A note about weights that make a likelihood a pseudo-likelihood."""
    traits = data.loss.traits
    if not data.importance or traits.free_scale or not traits.likelihood:
        return []
    what = "sample_weight" if data.class_weight is None else "weights of rows or classes"
    return [
        f"{what}: importance, of mean 1; criteria are those of a pseudo-likelihood, and refits "
        "have the standard errors of the sandwich (rows that stand for several: freq_weight=)"
    ]


def _columns(p, names, a):
    """(Groups or None, {lower, upper, factor, forced, excluded}, notes) of p columns."""
    groups, notes = None, []
    if a.groups is None:
        factor, forced, out = checks.costs(a.penalty_factor, a.always_include, a.exclude, names)
    else:
        groups = make_groups(a.groups, names)
        groups, factor, forced, out = with_factors(
            groups,
            group_factor(a.penalty_factor, groups, names),
            a.always_include,
            a.exclude,
            lambda value, name: checks.which(value, names, name),
        )
        if isinstance(a.heredity, formula.Hierarchy):
            (groups, factor, forced, out), notes = with_hierarchy(groups, out, a.heredity)
    excluded = np.zeros(p, dtype=bool)
    excluded[out] = True
    lower = checks.bound(a.lower, names, "lower", -np.inf)
    upper = checks.bound(a.upper, names, "upper", np.inf)
    checks.check_box(lower, upper, forced, excluded, names)
    return (
        groups,
        {
            "lower": lower,
            "upper": upper,
            "factor": factor,
            "forced": forced,
            "excluded": excluded,
        },
        notes,
    )


# -------------------- the plan


def _plan(a):
    """Check everything of `fit` that does not depend on the data."""
    sizes, max_k = _sizes(a.k, a.max_k)
    lambda0 = lambdas(a.lambda0, "lambda0")
    if lambda0 is not None and sizes is not None:
        raise ValueError(
            "k= and lambda0= are two ways to choose models; give one of them. A path over lambda0 "
            "takes max_k=, and path.model(k=) chooses a size afterwards"
        )
    _check_limits(a.time_limit, a.random_state)
    return Plan(
        settings=registry.settings_of(a.algorithm),
        grid="support" if lambda0 is None else "lambda0",
        sizes=sizes,
        max_k=max_k,
        lambda0=lambda0,
        lambda1=lambdas(a.lambda1, "lambda1"),
        lambda2=lambdas(a.lambda2, "lambda2"),
        time_limit=a.time_limit,
        random_state=a.random_state,
    )


def _sizes(k, max_k):
    """(the sizes to keep, ascending, or None; the largest size or None)."""
    max_k = None if max_k is None else whole(max_k, "max_k", 0)
    if k is None:
        return None, max_k
    refuse_masked(k, "k")
    several = isinstance(k, (list, tuple, range, pd.Series, pd.Index))
    listed = list(k) if several or (isinstance(k, np.ndarray) and k.ndim) else [k]
    sizes = tuple(sorted({whole(v, "k", 0) for v in listed}))
    if not sizes:
        raise ValueError("k=[] is empty; give a size, a list of sizes, or None for all")
    if max_k is not None and max_k < sizes[-1]:
        raise ValueError(f"max_k={max_k!r} is below the largest k asked for, {sizes[-1]}")
    return sizes, sizes[-1] if max_k is None else max_k


def _check_limits(time_limit, random_state):
    if time_limit is not None and not (
        isinstance(time_limit, (int, float, np.integer, np.floating)) and time_limit > 0
    ):
        raise ValueError(f"time_limit={time_limit!r} must be a positive number")
    if (
        random_state is not None
        and not isinstance(random_state, np.random.Generator)
        and not (isinstance(random_state, (int, np.integer)) and random_state >= 0)
    ):
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer >= 0 or a numpy Generator"
        )
