"""Several responses as arguments of `fit`: Y and the weights of the responses, and what is not
served with them. Nothing of X is read here.
"""

import numpy as np
import pandas as pd

from ..core.arguments import finite, number, shown
from ..core.tables import pandas_of
from ..designs.names import column_names
from ..designs.protocol import traits_of
from ..errors import refuse_masked
from ..exact.contest import BranchAndBound
from ..exchange.local_search import LocalSearch
from ..problem.losses import CLASSIFICATION, takes_several, traits_named
from ..problem.responses import takes_zero
from ..problem.several import LARGEST_RESPONSE, has_free_number, indicators
from .grids import Grid

BY_OUTCOME = (
    "pass loss='binomial' (docs/families.md), or give each outcome a row, y = 1 with freq_weight "
    "= the number of successes and y = 0 with that of failures: fit(pd.concat([X, X]), "
    "np.repeat([1, 0], len(X)), loss='logistic', "
    "freq_weight=np.concatenate([successes, failures]))"
)


def is_several(y, loss):
    """Whether y is a table of several responses, for a loss that takes it."""
    shape = y.shape if isinstance(y, (pd.DataFrame, np.ndarray)) else ()
    if isinstance(y, (list, tuple)) and len(y) and isinstance(y[0], (list, tuple, np.ndarray)):
        shape = np.shape(y)
    return takes_several(loss) and len(shape) == 2 and shape[1] > 1


def table_of_responses(y, n, loss, known=None):
    """(Y (n, r) float64, names of the responses) for a loss, by its name; of classes -1 and 1.
    known: the names of the fit, by which a DataFrame of other rows is read.
    """
    y = pandas_of(y, "y")
    refuse_masked(y, "y")
    framed = isinstance(y, pd.DataFrame)
    if framed and known is not None and set(known) <= set(column_names(y.columns)):
        at = {name: j for j, name in enumerate(column_names(y.columns))}
        y = y.iloc[:, [at[name] for name in known]]
    if np.ndim(y) != 2 or (known is not None and np.shape(y)[1] != len(known)):
        raise ValueError(
            f"y has shape {np.shape(y)}; the fit had {len(known)} responses: pass one column for "
            "each"
        )
    r = np.shape(y)[1]
    names = column_names(y.columns) if framed else [f"y{j}" for j in range(r)]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ValueError(f"y has several columns named {twice!r}; give each response its own name")
    kinds = list(y.dtypes) if framed else [np.asarray(y).dtype]
    binary = loss in CLASSIFICATION
    for name, kind in zip(names, kinds, strict=False):
        whole = pd.api.types.is_bool_dtype(kind)
        if not pd.api.types.is_numeric_dtype(kind) or (whole and not binary):
            raise ValueError(
                f"y has dtype {kind}{f' in {name}' if framed else ''}; several responses are "
                + ("0 and 1, or False and True" if binary else "numbers")
                + ("" if binary or not whole else "; loss='logistic' takes False and True")
            )
    Y = np.array(y.to_numpy(dtype=np.float64, na_value=np.nan) if framed else y, dtype=np.float64)
    if len(Y) != n:
        raise ValueError(f"X has {n} rows but y has {len(Y)}; pass one row of responses per row")
    finite(Y, "y")
    top = np.abs(Y).max(axis=0)
    extreme = np.flatnonzero((top > LARGEST_RESPONSE) | ((top > 0) & (top < 1 / LARGEST_RESPONSE)))
    if extreme.size:
        raise ValueError(
            f"y has values up to {top[extreme[0]]:.3g} in {names[extreme[0]]}, whose squares leave "
            "the range of floating point numbers; rescale them"
        )
    return np.ascontiguousarray(_coded_table(Y, loss, names)), tuple(names)


def _coded_table(Y, loss, names):
    """Several responses Y (n, r) as their loss takes them: of classes -1 and 1 for 0 and 1."""
    if loss in CLASSIFICATION:
        odd = np.flatnonzero(((Y != 0.0) & (Y != 1.0)).any(axis=0))
        if odd.size:
            value = Y[(Y[:, odd[0]] != 0.0) & (Y[:, odd[0]] != 1.0), odd[0]][0]
            two = f"; if they count successes and failures, {BY_OUTCOME}" * (len(names) == 2)
            raise ValueError(
                f"y has {len(names)} columns, and {value:g} in {names[odd[0]]}; several responses "
                f"of loss={loss!r} are 0 and 1, or False and True{two}"
            )
        return 2.0 * Y - 1.0
    what = traits_named(loss).response
    if what in NUMBERS:
        check_signs(Y, loss, what)
    return Y


MOST_NUMBERS = 20  # as many different numbers may be classes whatever else they are
ROWS_OF_A_CLASS = 10  # what more numbers than that need on average, to be taken for classes


def refuse_amounts(y, classes, ordered=False, remedy="loss='squared'", before=""):
    """Refuse numbers (Series) that look like amounts, of which each would be a class: more than
    `MOST_NUMBERS`, and some of them not whole, or (unless they are ordered) with few rows each.
    remedy, before: parts of the message.
    """
    if len(classes) <= MOST_NUMBERS or not pd.api.types.is_numeric_dtype(y.dtype):
        return
    fractions = any(c != np.floor(c) for c in classes)
    if fractions or (not ordered and len(y) < ROWS_OF_A_CLASS * len(classes)):
        raise ValueError(
            f"{before}y has {len(classes)} different numbers"
            f"{', some of which are not whole,' if fractions else ''} in {len(y)} rows, and each "
            f"would be a class; use {remedy} if they are amounts, or pass "
            "y.astype(str) as labels (ordered ones as pd.Categorical)"
        )


def class_numbers(y, classes):
    """Numbers (n,) of the classes of labels y (Series)."""
    codes = pd.Index(classes).get_indexer(pd.Index(y))
    if (codes < 0).any():
        at = int(np.flatnonzero(codes < 0)[0])
        raise ValueError(
            f"y holds the label {shown(y.iloc[at])}, which is not a class of the fit: it had "
            + ", ".join(map(shown, classes))
        )
    return codes


def table_of_classes(y, classes):
    """Indicators (n, r) of the classes, for labels y (Series)."""
    return indicators(class_numbers(y, classes), len(classes))


def class_weights(value, classes, loss):
    """None, "balanced" or the weights of the classes: of (negative, positive), or of all of several
    classes.
    """
    if value is None:
        return None
    if classes is None:
        several = loss in CLASSIFICATION
        raise ValueError(
            f"class_weight={value!r} "
            + ("is for one response" if several else "needs a classification loss")
            + f", not {'several of ' * several}loss={loss!r}; use sample_weight"
        )
    if isinstance(value, str):
        if value != "balanced":
            raise ValueError(
                f"class_weight={value!r} is not known; use 'balanced' or a dict {{label: weight}}"
            )
        return value
    if not isinstance(value, dict):
        raise TypeError(f"class_weight={value!r} must be 'balanced' or a dict {{label: weight}}")
    unknown = [key for key in value if key not in classes]
    if unknown:
        raise ValueError(
            f"class_weight names {unknown[0]!r}, which is not a class; the classes are "
            + (", " if len(classes) > 2 else " and ").join(map(shown, classes))
        )
    each = tuple(number(value.get(c, 1.0), f"class_weight[{shown(c)}]") for c in classes)
    if not all(np.isfinite(w) and w > 0 for w in each):
        raise ValueError(f"class_weight={value!r}: weights must be positive numbers")
    return each


def weights_of_responses(value, names):
    """Positive weights (r,) of several responses; None stands for 1 each."""
    if names is None:
        if value is not None:
            raise ValueError(
                f"response_weights={value!r} is for several responses; y has one: leave it out"
            )
        return None
    if value is None:
        return np.ones(len(names))
    if isinstance(value, (dict, pd.Series)):
        unknown = [name for name in dict(value) if str(name) not in names]
        if unknown:
            raise ValueError(
                f"response_weights names {unknown[0]!r}; the responses are {', '.join(names[:8])}"
            )
        given = {str(name): v for name, v in dict(value).items()}
        value = [given.get(name, 1.0) for name in names]
    try:
        out = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):  # told below
        out = np.empty(0)
    if out.shape != (len(names),) or not (np.isfinite(out) & (out > 0)).all():
        raise ValueError(
            f"response_weights={value!r} must be {len(names)} positive numbers, one per response"
        )
    return out


def refuse_unserved(data, plan, a):
    """Raise ValueError, with the remedy, for arguments that are not available with several
    responses.
    """
    if data.responses is None:
        return
    settings, what = plan.settings, ""
    classes = data.loss.traits.by_class
    search = (
        isinstance(settings, LocalSearch)
        and settings.refit
        and settings.neighborhood is None
        and settings.swap_size <= 2
    )
    if not search and not isinstance(settings, BranchAndBound):
        what = f"algorithm={a.algorithm!r}: use algorithm='swap' (swap_size at most 2) or 'exact'"
    elif has_free_number(data.loss) and data.boxed:
        what = (
            "bounds on coefficients of all classes, to which any number may be added: bound those "
            "of log odds against one class by loss=l0path.losses.Multinomial(baseline="
            f"{shown(data.classes[0])}), or leave lower= and upper= out"
        )
    elif traits_of(data.design).shards:
        what = "a design on a cluster"
    elif classes and "response_weights" in a.parameters:
        what = "response_weights="
    elif needs_pilot(data.loss, a.parameters):
        number = data.loss.traits.pilot
        what = (
            f"a {number} that is to be found from the data: pass "
            f"loss=l0path.losses.{type(data.loss).__name__}({number}=...), one for all of them"
        )
    if what and classes:
        raise ValueError(f"loss='multinomial' is not served with {what}")
    if what:
        raise ValueError(
            f"y has {len(data.responses)} responses, which are not served with {what}; or fit one "
            f"response at a time, for example {data.responses[0]}"
        )


def shrinks(penalty):
    """Whether some value of lambda1 or lambda2 of a `Plan` is not 0."""
    return isinstance(penalty, Grid) or (penalty is not None and bool(np.max(penalty) > 0))


def needs_pilot(loss, parameters):
    """Whether a number of the loss is to be found from the data; parameters: those given."""
    found = loss.traits.pilot
    return bool(found) and found not in parameters


# what a response that is not real may hold: whether 0 is in it, and its name
NUMBERS = {
    "counts": (True, "counts >= 0"),
    "positive": (False, "positive numbers; loss='tweedie' takes zeros too"),
    "amounts": (True, "numbers >= 0"),
}


def notes_of_offset(data):
    """A note about an offset of several classes that changes nothing."""
    if data.offset is None or not data.loss.traits.by_class:
        return []
    if not data.offset.any() or np.ptp(data.offset, axis=1).any():
        return []
    r = data.offset.shape[1]
    return [
        "offset has the same number for all classes of a row, which changes no probability; pass a "
        f"column for each class, of shape (n, {r})"
    ]


def check_signs(y, loss, what):
    """Refuse numbers that a loss has no value for; what: a key of `NUMBERS`."""
    zero, words = NUMBERS[what]
    bad = y < 0 if zero else y <= 0
    if bad.any():
        kind = "negative" if zero else "zero or negative"
        raise ValueError(
            f"y has {bad.sum()} {kind} values (smallest {y.min():g}); loss={loss!r} needs {words}"
        )


def check_ends(data, seen, loss):
    """Refuse shares that are all 0 or all 1, and zeros where a family has none; seen (n,): rows of
    positive weight; loss: its name.
    """
    if data.trials is not None and np.unique(data.y[seen]).tolist() in ([0.0], [1.0]):
        raise ValueError(
            f"y is {data.y[seen][0]:g} in every row with positive weight; loss={loss!r} has no "
            "finite intercept then"
        )
    if not takes_zero(data.loss) and (data.y == 0).any():
        raise ValueError(
            f"y has {(data.y == 0).sum()} zeros; loss={loss!r} with power=2 needs positive "
            "numbers: take a power below 2"
        )
