"""Arguments of `fit` with one entry for each row (the response, weights, offsets) or each column
(choices, bounds, penalty factors). Every message names the argument, its value and the remedy.
"""

import numpy as np
import pandas as pd

from ..core.arguments import finite, number, shown, vector
from ..core.tables import pandas_of
from ..designs.names import column_index, places_of
from ..errors import refuse_masked
from ..problem.coupled.arguments import survival_loss, survival_notes
from ..problem.coupled.ordered_classes import ordered_response, refuse_texts_without_order
from ..problem.groups import by_label
from ..problem.losses import CLASSIFICATION, COUPLED, make_loss, traits_named
from ..problem.problem import row_weights as normalized_weights
from ..problem.responses import LARGEST_EXPONENT, without_mean
from ..problem.several import LARGEST_RESPONSE, offsets_of_responses
from .responses import (
    BY_OUTCOME,
    check_ends,
    check_signs,
    class_numbers,
    is_several,
    refuse_amounts,
    table_of_classes,
    table_of_responses,
)

# difference of offsets beyond which exp counts rows of coupled losses as none beside others
FARTHEST_OFFSETS = 300.0
MOST_ROWS = 2.0**53  # beyond it whole numbers have gaps


def responses(y, n, loss, pos_label, baseline=None):
    """(y float64 (n,) or (n, r), names of several responses or None, classes or None, notes).
    baseline: of several classes, the one that comes first.
    """
    if is_several(y, loss) and pos_label is None:
        return *table_of_responses(y, n, loss), None, []
    if traits_named(loss).by_class:
        if pos_label is not None:
            raise ValueError("pos_label= is for two classes, not loss='multinomial'; leave it out")
        series = _complete(y, n)
        classes = _classes(series, loss)
        refuse_amounts(series, classes)
        if baseline is not None:
            if baseline not in classes:
                raise ValueError(
                    f"baseline={shown(baseline)} is not a class of y, which has "
                    f"{', '.join(map(shown, classes))}; name one of these"
                )
            classes = sorted(classes, key=lambda label: label != baseline)
        return table_of_classes(series, classes), tuple(map(str, classes)), tuple(classes), []
    target, classes, notes = response(y, n, loss, pos_label)
    return target, None, classes, notes


def responded(y, n, a, weights, counts, own=None):
    """(y, the loss, names of several responses or None, classes or None, notes); weights, counts
    (n,) or None: those of `Data`. own: the record of a loss of the user's own, which is taken as it
    is.
    """
    if a.loss == "ordinal":
        series = _complete(y, n)
        classes = tuple(_classes(series, a.loss))
        refuse_texts_without_order(series, classes)
        refuse_amounts(series, classes, ordered=True)
        return (
            *ordered_response(class_numbers(series, classes), classes, weights),
            None,
            classes,
            [],
        )
    if a.loss in COUPLED:
        event, record = survival_loss(
            y,
            n,
            weights,
            counts,
            loss=a.loss,
            strata=a.strata,
            ties=a.parameters.get("ties", "efron"),
        )
        seen = weights > 0
        notes = survival_notes(event[seen], record.stop[seen], a) if a.loss == "cox" else []
        return event, record, None, None, notes
    baseline = a.parameters.get("baseline")
    target, *others = responses(y, n, a.loss, a.pos_label, baseline)
    if own is not None:
        return target, own, *others
    # a number that is not given is 1 until a pilot fit
    needed = traits_named(a.loss).parameter
    numbers = {name: one for name, one in a.parameters.items() if name == needed}
    record = make_loss(a.loss, **numbers)
    return target, record if baseline is None else record._replace(baseline=1.0), *others


def response(y, n, loss, pos_label=None):
    """(y float64 (n,), classes or None, notes): classes become -1 / 1, `pos_label` 1."""
    if loss in CLASSIFICATION:
        refuse_shares(y, loss)
    series = _complete(y, n)
    if loss in CLASSIFICATION:
        return _labels(series, loss, pos_label)
    if pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} names a class, but loss={loss!r} takes numbers; leave it out"
        )
    return _numbers(series, loss)


def refuse_shares(y, loss):
    """Refuse counts of successes and failures, and proportions, where classes are needed."""
    if isinstance(y, pd.DataFrame):
        shape, values = y.shape, y.iloc[:, 0] if y.shape[1] == 1 else None
    else:
        values = y if isinstance(y, pd.Series) else np.asarray(y)
        shape = values.shape
    if len(shape) == 2 and shape[1] == 2:
        raise ValueError(
            f"y has 2 columns; if they count successes and failures, {BY_OUTCOME}. loss={loss!r} "
            "takes one label per row"
        )
    if values is None or not pd.api.types.is_float_dtype(values.dtype):
        return
    values = np.asarray(pd.Series(values).to_numpy(dtype=np.float64, na_value=np.nan))
    inside = values[(values > 0) & (values < 1)]
    if inside.size and ((values >= 0) & (values <= 1) | np.isnan(values)).all():
        raise ValueError(
            f"y holds proportions, such as {inside[0]:.4g}, and loss={loss!r} takes two classes; "
            f"{BY_OUTCOME}. If these numbers are labels of classes, pass y.astype(str)"
        )


def coded(y, n, meta):
    """y (n,) of other rows as the fit with this `Meta` coded it: classes -1 / 1 by the labels of
    the fit; one of them alone will do. (n, r) for r responses.
    """
    loss, classes = meta.loss, meta.classes
    if meta.traits.by_class:
        return table_of_classes(_complete(y, n), classes)
    if meta.responses is not None:
        return table_of_responses(y, n, loss, meta.responses)[0]
    if classes is None:
        return response(y, n, loss)[0]
    series = _complete(y, n)
    if meta.traits.response == "ordered":
        return class_numbers(series, classes).astype(np.float64)
    negative, positive = ((series == label).to_numpy(dtype=bool) for label in classes)
    unknown = np.flatnonzero(~(negative | positive))
    if unknown.size:
        raise ValueError(
            f"y holds the label {shown(series.iloc[unknown[0]])}, which is not a class of the fit: "
            f"it had {shown(classes[0])} and {shown(classes[1])}; pass rows of these classes"
        )
    return np.where(positive, 1.0, -1.0)


def _complete(y, n):
    """y as a Series of length n without missing values."""
    if y is None:
        raise ValueError("y is missing: pass one response per row of X")
    y = pandas_of(y, "y")
    refuse_masked(y, "y")
    if isinstance(y, pd.DataFrame):
        if y.shape[1] != 1:
            raise ValueError(
                f"y has {y.shape[1]} columns, and this loss takes one response (docs/responses.md "
                f"lists those that take several); pass one, for example y[{y.columns[0]!r}]"
            )
        y = y.iloc[:, 0]
    series = (
        y
        if isinstance(y, pd.Series)
        else pd.Series(y)
        if isinstance(y, (pd.api.extensions.ExtensionArray, pd.Index))
        else None
    )
    values = np.asarray(y) if series is None else series
    if series is None:
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            several = ", and this loss takes one response" * (values.ndim == 2)
            raise ValueError(
                f"y has shape {values.shape}{several}; pass one response per row, a vector of "
                f"length {n}"
            )
        series = pd.Series(values)
    if len(series) != n:
        raise ValueError(f"X has {n} rows but y has {len(series)}; pass one response per row")
    if series.isna().any():
        raise ValueError(
            f"y has {int(series.isna().sum())} missing values of {n}, the first at position "
            f"{int(np.flatnonzero(series.isna())[0])}; drop those rows from X and y"
        )
    return series


def _classes(series, loss):
    """The labels of y in sorted (or category) order, two or more."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        present = set(series.unique())
        classes = [c for c in series.cat.categories if c in present]
    else:
        classes = list(series.unique())
        try:
            classes = sorted(classes)
        except TypeError as error:
            raise TypeError(
                f"y mixes labels that cannot be sorted: {', '.join(map(shown, classes[:4]))}; "
                "convert them to one type, for example y.astype(str)"
            ) from error
    if any(isinstance(c, (float, np.floating)) and not np.isfinite(c) for c in classes):
        finite(series.to_numpy(dtype=np.float64), "y")
    if len(classes) == 1:
        raise ValueError(f"y has one class only, {shown(classes[0])}; loss={loss!r} needs two")
    return classes


def _continuous(series, classes):
    """Whether the labels are amounts rather than classes: numbers, of which some are not whole or
    which are more than 20.
    """
    if isinstance(series.dtype, pd.CategoricalDtype) or not all(
        isinstance(c, (int, float, np.number)) and not isinstance(c, bool) for c in classes
    ):
        return False
    return len(classes) > 20 or any(float(c) != round(float(c)) for c in classes)


def _labels(series, loss, pos_label=None):
    """Two classes of any dtype, mapped to -1 and 1 in sorted (or category) order, or with
    `pos_label` as 1.
    """
    classes = _classes(series, loss)
    if len(classes) > 2 and _continuous(series, classes):
        raise ValueError(
            f"y has {len(classes)} different numbers in {len(series)} rows, such as "
            f"{classes[0]:.4g}, and looks continuous, while loss={loss!r} takes two classes; use "
            "loss='squared', or two classes of your own, such as y > c"
        )
    if len(classes) > 2:
        raise ValueError(
            f"y has {len(classes)} classes "
            f"({', '.join(map(shown, classes[:5]))}{', ...' if len(classes) > 5 else ''}); use "
            "loss='multinomial', or fit one against the rest with `y == c`"
        )
    if pos_label is not None:
        if pos_label not in classes:
            raise ValueError(
                f"pos_label={shown(pos_label)} is not a class of y, which has "
                f"{shown(classes[0])} and {shown(classes[1])}; name one of these"
            )
        classes = sorted(classes, key=lambda label: label == pos_label)
    out = np.where((series == classes[1]).to_numpy(dtype=bool), 1.0, -1.0)
    return out, tuple(classes), []


def _numbers(series, loss):
    """A real response."""
    types = pd.api.types
    if (
        isinstance(series.dtype, pd.CategoricalDtype)
        or types.is_bool_dtype(series.dtype)
        or not types.is_numeric_dtype(series.dtype)
        or types.is_complex_dtype(series.dtype)
    ):
        if types.is_object_dtype(series.dtype) and all(
            isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in series
        ):
            series = series.astype(float)
        else:
            raise ValueError(
                f"y has dtype {series.dtype}, loss={loss!r} needs real numbers; for two classes "
                "use loss='logistic'"
            )
    out = finite(series.to_numpy(dtype=np.float64, na_value=np.nan), "y")
    top = float(np.abs(out).max())
    if top > LARGEST_RESPONSE or 0 < top < 1 / LARGEST_RESPONSE:
        raise ValueError(
            f"y has values up to {top:.3g} in size, whose squares leave the range of floating "
            "point numbers; rescale y"
        )
    notes = []
    what = traits_named(loss).response
    if what == "shares" and ((out < 0) | (out > 1)).any():
        raise ValueError(
            f"y has values from {out.min():g} to {out.max():g}; loss={loss!r} takes two columns, "
            "successes and failures, or shares between 0 and 1"
        )
    if what not in ("real", "shares"):
        check_signs(out, loss, what)
    elif np.unique(out[:1000]).size == 2 and np.unique(out).size == 2:
        notes.append(f"y has two values only, under loss={loss!r}; for classes use loss='logistic'")
    return out.copy(), None, notes


def sample_weights(value, n):
    """Nonnegative weights (n,), not all zero."""
    if value is None:
        return np.ones(n)
    out = finite(vector(value, n, "sample_weight"), "sample_weight").copy()
    if (out < 0).any():
        raise ValueError(
            f"sample_weight has {(out < 0).sum()} negative values (smallest {out.min():g}); "
            "weights must be >= 0, 0 leaves a row out"
        )
    if not out.any():
        raise ValueError(
            "sample_weight is zero in every row; give at least one row a positive weight"
        )
    return out


def freq_weights(value, n):
    """How many rows each row stands for: whole numbers >= 0 (n,), not all zero; None as it is."""
    if value is None:
        return None
    out = finite(vector(value, n, "freq_weight"), "freq_weight").copy()
    odd = out[(out < 0) | (out != np.floor(out))]
    if odd.size:
        raise ValueError(
            f"freq_weight has {odd.size} values that are no whole numbers >= 0 (such as "
            f"{odd[0]:g}); it says how many rows a row stands for. Pass weights of importance or "
            "precision as sample_weight"
        )
    if not out.any():
        raise ValueError("freq_weight is zero in every row; give at least one row a positive one")
    if out.sum() >= MOST_ROWS:
        raise ValueError(
            f"freq_weight counts {out.sum():.3g} rows, beyond the whole numbers that floating "
            "point has; pass sample_weight, whose scale does not matter"
        )
    return out


def row_weights(sample_weight, freq_weight, trials, n):
    """(weights (n,), counts (n,) or None, importance) of `Data`: sample weights of mean 1 over the
    rows that count, times how many rows each stands for, times the trials of shares (n,) or None;
    and whether the first differ.
    """
    counts = freq_weights(freq_weight, n)
    copies = np.ones(n) if counts is None else counts
    exists = copies > 0 if trials is None else (copies > 0) & (trials > 0)
    weights = sample_weights(sample_weight, n)
    seen = exists & (weights > 0)
    if not seen.any():
        raise ValueError(
            "the weights (sample_weight, freq_weight and trials, multiplied) are zero in every "
            "row; give at least one row a positive weight"
        )
    size = weights[seen].max()
    importance = bool(weights[seen].min() < size)
    if importance:  # divided by the largest one first, so that no sum overflows
        weights = np.where(seen, weights / size, 0.0)
        weights = weights / (copies[seen] @ weights[seen] / copies[seen].sum())
    else:
        weights = seen.astype(np.float64)
    return weights * copies * (1.0 if trials is None else trials), counts, importance


def offsets(value, weights, loss, shape):
    """Offsets (n,) whose losses (of that name) are finite numbers in every row of positive weight;
    (n, r) where that is the shape of y.
    """
    if len(shape) == 2:
        return offsets_of_responses(value, shape)
    out = finite(vector(value, weights.size, "offset"), "offset")
    rates = traits_named(loss).link == "log"
    most = LARGEST_EXPONENT if rates else LARGEST_RESPONSE
    top = float(np.abs(out[weights > 0]).max())
    if top > most:
        why = "exp(offset) would" if rates else "their losses"
        raise ValueError(
            f"offset has values up to {top:.3g} in size, {why} leave the range of floating point "
            "numbers; " + ("give the logarithm of the exposure" if rates else "rescale it")
        )
    apart = float(np.ptp(out[weights > 0]))
    if loss in COUPLED and apart > FARTHEST_OFFSETS:
        raise ValueError(
            f"offset differs by up to {apart:.3g} between rows; loss={loss!r} takes at most "
            f"{FARTHEST_OFFSETS:g}, beyond which probabilities leave the range of floating point "
            "numbers; rescale it"
        )
    return out


def check_classes(data, loss):
    """Refuse a response that is one class, or zero, on the rows that count."""
    full = normalized_weights(data)
    if data.loss.traits.by_class and not (full @ data.y > 0).all():
        unseen = data.classes[int(np.flatnonzero(full @ data.y <= 0)[0])]
        raise ValueError(
            f"y has no row of positive weight in the class {shown(unseen)}; leave its rows out"
        )
    several = data.several
    binary = loss in CLASSIFICATION if several else data.y.ndim == 1 and data.classes is not None
    check_ends(data, full > 0, loss)
    for s, y in enumerate(data.y.T if several else [data.y]):
        of = f" of {data.responses[s]}" if several else ""
        if binary and np.unique(y[full > 0]).size < 2:
            raise ValueError(
                f"y{of} has one class only on the rows with positive weight; a classification "
                "needs both"
            )
        if without_mean(data.loss, full @ y):
            raise ValueError(
                f"y{of} is zero in every row with positive weight; loss={loss!r} has no finite "
                "intercept then"
            )


# -------------------- columns


def which(value, names, name):
    """Column indices (sorted, unique) from names, integer indices or a boolean mask."""
    p = len(names)
    if value is None:
        return np.empty(0, dtype=np.int64)
    refuse_masked(value, name)
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        value = [value]
    try:
        value = list(value)
    except TypeError as error:
        raise TypeError(
            f"{name} takes column names, integer indices or a boolean mask of length p = {p}, got "
            f"{value!r}"
        ) from error
    if len(value) == p and all(isinstance(v, (bool, np.bool_)) for v in value):
        return np.flatnonzero(value).astype(np.int64)
    place, out = places_of(names), []
    for v in value:
        j = column_index(v, names, place, name)
        if j is None:
            raise TypeError(
                f"{name} takes column names, integer indices or a boolean mask of length p = {p}, "
                f"got {v!r}"
            )
        out.append(j)
    return np.unique(np.array(out, dtype=np.int64))


def bound(value, names, name, default):
    """Bounds (p,) from a scalar, a vector, or a dict / Series by column name; NaN is refused."""
    p = len(names)
    if by_label(value):
        out = np.full(p, default)
        for key, v in dict(value).items():
            out[which(key, names, name)] = number(v, f"{name}[{key!r}]")
    else:
        out = vector(value, p, name, "column of X").copy()
    if np.isnan(out).any():
        raise ValueError(f"{name} contains NaN; use {default} for no bound")
    return out


def costs(penalty_factor, always_include, exclude, names):
    """(factor (p,), forced, excluded) of single columns: indices from names, masks and factors of 0
    and inf.
    """
    p = len(names)
    if by_label(penalty_factor):
        factor = np.ones(p)
        for key, value in dict(penalty_factor).items():
            factor[which(key, names, "penalty_factor")] = number(value, f"penalty_factor[{key!r}]")
    else:
        factor = (
            np.ones(p)
            if penalty_factor is None
            else vector(penalty_factor, p, "penalty_factor", "column of X").copy()
        )
    if np.isnan(factor).any() or (factor < 0).any():
        raise ValueError(
            "penalty_factor must be >= 0 (0: always in, inf: never in), got NaN or negative values"
        )
    forced = np.union1d(
        which(always_include, names, "always_include"), np.flatnonzero(factor == 0)
    ).astype(np.int64)
    out = np.union1d(which(exclude, names, "exclude"), np.flatnonzero(np.isinf(factor))).astype(
        np.int64
    )
    both = np.intersect1d(forced, out)
    if both.size:
        raise ValueError(
            f"always_include and exclude both name {', '.join(names[j] for j in both[:5])}; a "
            "feature is either in or out"
        )
    factor[forced] = 0.0
    return factor, forced, out


def check_box(low, high, forced, excluded, names):
    bad = np.flatnonzero(low > high)
    if bad.size:
        j = bad[0]
        raise ValueError(
            f"lower > upper for {bad.size} features, the first {names[j]}: {low[j]:g} > "
            f"{high[j]:g}; swap them"
        )
    bad = np.flatnonzero((np.isposinf(low) | np.isneginf(high)) & ~excluded)
    if bad.size:
        j = bad[0]
        raise ValueError(
            f"lower and upper leave no number for {names[j]}: [{low[j]:g}, {high[j]:g}]; give "
            "finite bounds, or -inf and inf for none"
        )
    free = ~excluded
    free[forced] = False
    bad = np.flatnonzero(free & ((low > 0) | (high < 0)))
    if bad.size:
        j = bad[0]
        raise ValueError(
            f"the bounds of {names[j]}, [{low[j]:g}, {high[j]:g}], do not contain 0, so the "
            "feature could not be left out; widen them, or put the feature into always_include"
        )
