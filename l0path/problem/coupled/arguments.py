"""Survival times as `fit` takes them, and the loss that is made of them."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...core.arguments import shown
from ...core.tables import pandas_of
from ...errors import refuse_masked
from ..problem import copies_of
from .cox import cox_of
from .ordered_classes import refuse_what_ordinal_lacks
from .weibull import refuse_endless, weibull_of

TIES = ("efron", "breslow")
# names of columns by which they are told apart, whatever their order
EVENTS, MOMENTS = {"event", "status"}, {"time", "start", "stop"}
FORMS = (
    "pass a structured array (event, time), a DataFrame or array with the columns (time, event) or "
    '(start, stop, event), or a formula "Surv(time, event) ~ ..."'
)


class Rows(NamedTuple):
    """Times (n,) of rows at risk in (start, stop] (start empty: from the beginning), and whether an
    event ends them, 0 or 1.
    """

    start: np.ndarray
    stop: np.ndarray
    event: np.ndarray


def rows_of(y, n, loss="cox"):
    """The `Rows` of a response in any of the forms that `fit` takes; loss: its name."""
    if y is None:
        raise ValueError(f"y is missing: loss={loss!r} needs times and events; {FORMS}")
    y = pandas_of(y, "y")
    refuse_masked(y, "y")
    columns = _columns(y, loss)
    sizes = {len(column) for column in columns}
    if sizes != {n}:
        raise ValueError(f"X has {n} rows but y has {max(sizes)}; pass one time per row of X")
    event = _events(columns[-1])
    names = ("time",) if len(columns) == 2 else ("start", "stop")
    times = [_times(column, name) for column, name in zip(columns, names, strict=False)]
    if len(times) == 1:
        _refuse_negative(times[0])
        return Rows(np.empty(0), times[0], event)
    start, stop = times
    bad = np.flatnonzero(~(start < stop))
    if bad.size:
        i = bad[0]
        raise ValueError(
            f"y has {bad.size} rows whose start is not before their stop, the first at position "
            f"{i}: ({start[i]:g}, {stop[i]:g}]; a row is at risk in (start, stop], leave out rows "
            "without time at risk"
        )
    return Rows(start, stop, event)


def _refuse_negative(time):
    """Refuse times before the start of observation. Where rows have a start of their own, the
    origin of time is free.
    """
    bad = np.flatnonzero(time < 0)
    if bad.size:
        raise ValueError(
            f"y has {bad.size} negative time{'s' if bad.size > 1 else ''}, the first at position "
            f"{bad[0]}: {time[bad[0]]:g}; times count from 0, the start of observation: mend or "
            "drop those rows, or pass (start, stop, event) if rows have starts of their own"
        )


def _columns(y, loss):
    """The columns of a response: times first, the event last."""
    names = []
    if isinstance(y, np.ndarray) and y.dtype.names:
        names, parts = y.dtype.names, [y[name] for name in y.dtype.names]
    elif isinstance(y, pd.DataFrame):
        names, parts = y.columns, [y.iloc[:, j] for j in range(y.shape[1])]
    else:
        values = np.asarray(y)
        if values.ndim != 2:
            raise ValueError(
                f"y has shape {values.shape}, and loss={loss!r} needs times and events; {FORMS}"
            )
        parts = list(values.T)
    if len(parts) not in (2, 3):
        raise ValueError(f"y has {len(parts)} columns, and loss={loss!r} takes 2 or 3; {FORMS}")
    truths = [j for j, part in enumerate(parts) if pd.api.types.is_bool_dtype(part.dtype)]
    if len(truths) > 1:
        raise ValueError(f"y has {len(truths)} columns of True and False; {FORMS}")
    names = [str(name).lower() for name in names]
    called = [j for j, name in enumerate(names) if name in EVENTS]
    if not truths and len(called) == 1 and {*names} <= EVENTS | MOMENTS:
        truths = called
    last = truths[0] if truths else len(parts) - 1
    times = [j for j in range(len(parts)) if j != last]
    if len(times) == 2 and [names[j] for j in times if j < len(names)] == ["stop", "start"]:
        times.reverse()
    return [parts[j] for j in (*times, last)]


def _events(column):
    """Events (n,), 0 or 1."""
    values = pd.Series(column)
    if values.isna().any():
        raise ValueError(
            f"y has {int(values.isna().sum())} missing events, the first at position "
            f"{int(values.isna().to_numpy().argmax())}; drop those rows from X and y"
        )
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(~np.isin(numbers, (0.0, 1.0)))
    if bad.size:
        raise ValueError(
            f"y has the event {shown(values.iloc[bad[0]])} at position {bad[0]}, and events are 0 "
            "or 1, or False or True (1: it happened, 0: censored); recode it, such as status == 2, "
            f"or swap the columns if they are in another order: {FORMS}"
        )
    return numbers.copy()  # pandas may give a view that cannot be written: another kind of array


def _times(column, name):
    """Times (n,), all finite."""
    if getattr(column.dtype, "kind", "") in "mM":
        since = "(date - first_date)" if column.dtype.kind == "M" else name
        raise ValueError(
            f"y has values of {name} of dtype {column.dtype}, and times are numbers; pass days, "
            f"say: {since} / pd.Timedelta(days=1)"
        )
    values = pd.to_numeric(pd.Series(column), errors="coerce")
    out = values.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(~np.isfinite(out))
    if bad.size:
        raise ValueError(
            f"y has {bad.size} values of {name} that are no finite numbers, the first at position "
            f"{bad[0]}; drop those rows from X and y"
        )
    return out.copy()


def strata_of(value, n):
    """(numbers of strata (n,), their labels) from labels, one per row; None: all rows are one."""
    if value is None:
        return None, None
    labels = pd.Series(value.to_numpy() if isinstance(value, pd.Series) else np.asarray(value))
    if labels.size != n:
        raise ValueError(f"strata has {labels.size} values, X has {n} rows; pass one per row of X")
    if labels.isna().any():
        raise ValueError(
            f"strata has {int(labels.isna().sum())} missing values; give these rows a stratum of "
            "their own, or drop them"
        )
    numbers, known = pd.factorize(labels)
    return numbers.astype(np.int64), tuple(known)


def strata_of_rows(value, n, labels):
    """Numbers (n,) of the strata of new rows, by the labels of a fit; None: it had one stratum."""
    if labels is None or value is None:
        if (labels is None) != (value is None):
            remedy = (
                f"pass strata=, one label for each row of X, of {_listed(labels)}; a table X that "
                "has the column that strata= named in the fit, or those that strata(...) of a "
                "formula names, has them"
                if value is None
                else "leave strata out"
            )
            had = "had no strata" if labels is None else f"had {len(labels)} strata"
            raise ValueError(f"the fit {had}; {remedy}")
        return None
    numbers, given = strata_of(value, n)
    place = {label: s for s, label in enumerate(labels)}
    unknown = [label for label in given if label not in place]
    if unknown:
        raise ValueError(
            f"strata holds {shown(unknown[0])}, which is no stratum of the fit: it had "
            f"{_listed(labels)}"
        )
    return np.array([place[label] for label in given], dtype=np.int64)[numbers]


def _listed(labels):
    """The first labels as a text."""
    return ", ".join(map(shown, labels[:5])) + (", ..." if len(labels) > 5 else "")


def ties_of(loss):
    """The method by which a `Cox` loss counts events at the same time."""
    return "efron" if loss.efron else "breslow"


def survival_loss(y, n, weights, counts, *, loss, strata, ties):
    """(events (n,), the record of a loss of that name) of the arguments of `fit`; weights, counts
    (n,) or None: those of `Data`.
    """
    if loss == "weibull":
        return _weibull(y, n, weights)
    if ties not in TIES:
        raise ValueError(f"ties={ties!r} is not known; choose 'efron' or 'breslow'")
    return _loss(y, n, weights, counts, strata_of(strata, n)[0], ties)


def survival_notes(event, stop, a):
    """What the user should be told about events (n,) and times (n,) of a partial likelihood; a: the
    arguments.
    """
    said = []
    if event.sum() == 1 and a.k is None and a.max_k is None:
        said.append(
            "y has one event, and max_k is by default half of their number, 0; pass max_k= for "
            "models with columns"
        )
    if event.all() and np.ptp(stop) == 0:
        said.append(
            "every row of y has its event at the same time, so no column raises the partial "
            "likelihood: larger models are no better than the one without columns"
        )
    return said


def loss_of_new_rows(y, weights, counts, strata, meta):
    """(events (n,), the record of the loss) of rows that a fit with this `Meta` has not seen, with
    its numbers of strata.
    """
    n = weights.size
    if not meta.traits.partial:
        strata_of_rows(strata, n, None)
        return _weibull(y, n, weights, new=True)
    return _loss(y, n, weights, counts, strata_of_rows(strata, n, meta.strata), meta.ties)


def _loss(y, n, weights, counts, stratum, ties):
    rows = rows_of(y, n)
    if not (rows.event[weights > 0] > 0).any():
        raise ValueError(
            "y has no event in the rows of positive weight, and a partial likelihood needs one; "
            "look at how events are coded (1: it happened, 0: censored)"
        )
    record = cox_of(
        rows.start,
        rows.stop,
        rows.event,
        stratum=stratum,
        efron=ties == "efron",
        level=float(np.log(copies_of(weights, counts).sum())),
        counts=counts,
    )
    return rows.event, record


def _weibull(y, n, weights, new=False):
    """(events (n,), the `Weibull` loss) of a response; new: whether its rows are to be scored."""
    rows = rows_of(y, n, "weibull")
    if rows.start.size:
        raise ValueError(
            "y has times of entry, and loss='weibull' has rows that are at risk from 0 on: pass "
            "(time, event), or loss='cox'"
        )
    bad = np.flatnonzero(rows.stop == 0)
    if bad.size:
        raise ValueError(
            f"y has {bad.size} time{'s' if bad.size > 1 else ''} of 0, the first at position "
            f"{bad[0]}, and a Weibull likelihood needs times above 0: leave out rows that were not "
            "observed at all; of an event within the first unit of time pass a part of that unit"
        )
    loss, seen = weibull_of(rows.stop, rows.event), weights > 0
    if not new:
        refuse_endless(loss.restricted(rows.event, seen), rows.event[seen])
    return rows.event, loss


def served(a):
    """The arguments with fit_intercept= decided, after what does not go with their loss was
    refused.
    """
    if a.loss != "cox":
        refuse_survival_only(a)
    if a.loss == "ordinal":
        refuse_what_ordinal_lacks(a)
        return replace(a, fit_intercept=False)
    if a.loss == "cox":
        refuse_what_cox_lacks(a)
    if a.loss == "weibull":
        refuse_what_weibull_lacks(a)
        return replace(a, fit_intercept=False)
    own = None if isinstance(a.loss, str) else a.loss.traits
    if own is not None and own.coupled:
        _refuse_what_own_rows_lack(a, own)
    seen = a.loss != "cox" if own is None else own.intercept
    return replace(a, fit_intercept=seen) if a.fit_intercept is None else a


def _refuse_what_own_rows_lack(a, traits):
    """Raise ValueError for arguments that a loss of the user's own of all rows has no use for."""
    if a.fit_intercept and not traits.intercept:
        raise ValueError(
            f"fit_intercept=True: loss={traits.name!r} does not see a constant "
            "(intercept=False); leave fit_intercept out, or pass False"
        )


def refuse_what_cox_lacks(a):
    """Raise ValueError for arguments that the partial likelihood has no use for."""
    if a.fit_intercept:
        raise ValueError(
            "fit_intercept=True: a partial likelihood has no intercept, the baseline hazard takes "
            "its place; leave fit_intercept out"
        )
    _refuse_classes(a)


def refuse_what_weibull_lacks(a):
    """Raise ValueError for arguments that the Weibull likelihood has no use for."""
    if a.fit_intercept is not None and not a.fit_intercept:
        raise ValueError(
            f"fit_intercept={a.fit_intercept!r}: the intercept and the shape of loss='weibull' are "
            "always free; leave fit_intercept out"
        )
    _refuse_classes(a)


def _refuse_classes(a):
    """Raise ValueError for arguments of classes with survival times."""
    given = {
        "class_weight": (a.class_weight, "use sample_weight"),
        "pos_label": (a.pos_label, "events are coded 1, censored rows 0"),
    }
    for name, (value, remedy) in given.items():
        if value is not None:
            raise ValueError(f"{name}={value!r} is not served for loss={a.loss!r}; {remedy}")


def refuse_survival_only(a):
    """Raise ValueError for arguments of survival times with another loss."""
    if a.strata is not None:
        given = f"strata={a.strata!r}" if isinstance(a.strata, str) else "strata="
        raise ValueError(
            f"{given} is for loss='cox', not loss={a.loss!r}; leave it out, or pass loss='cox'"
        )


def given_anew(meta):
    """The `Meta` of a path; ValueError where X and y are not all of the data."""
    if meta.strata is not None and meta.stratum is None:
        raise ValueError(
            "the path was fitted with strata, and its file, written by an earlier version, does "
            "not hold those of the rows; fit again to use this method"
        )
    return meta
