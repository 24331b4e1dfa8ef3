"""fit("y ~ a + C(b)", data, ...): arguments that go with a formula, turned into those that go with
arrays.
"""

from collections import Counter
from collections.abc import Sized

import numpy as np
import pandas as pd

from ..core.arguments import same_index, vector
from ..core.tables import pandas_of
from ..designs.names import column_names
from .encoding import Encoded, Formula, checked_env
from .expressions import has_dot, tight
from .frames import FOLDS, alike_but_for_blanks, complete, counted, missing, text_named

OF_TIMES = ("cox", "weibull")  # losses whose response is Surv(...)

# arguments by row that may name a column of a table X without a formula, too
NAMED = ("sample_weight", "freq_weight", "trials", "offset", "strata")
BY_ROW = (*NAMED, "groups_cv")


def open_formula(X, y, arguments):
    """(X, y, arguments) as `fit` was given them, with a formula opened, and with the columns of a
    DataFrame that offset=, strata=, weights and trials= name taken out of X.
    """
    if isinstance(X, str):
        return opened(X, y, arguments)
    arguments = dict(arguments)
    if arguments.pop("env", None) is not None:
        raise ValueError("env= holds functions of a formula, and X is none; leave it out")
    if isinstance(y, str):
        _refuse_text(y)
    X, y = pandas_of(X), pandas_of(y, "y")
    named = {word: arguments.get(word) for word in NAMED}
    named = {word: name for word, name in named.items() if isinstance(name, str)}
    if not named:
        return X, y, arguments
    table, taken = X, {}
    for word, name in named.items():
        taken[word] = _column(table, y, word, name)
    out = set(named.values())
    X = X.loc[:, [column not in out for column in column_names(X.columns)]]
    if named.keys() & {"offset", "strata"}:
        X = Encoded(X, None, X.index, named.get("offset"), named.get("strata"))
    return X, y, {**arguments, **taken}


def _refuse_text(y):
    """Refuse the name of a column, or a formula, in the place of the response."""
    if "~" in y:
        raise TypeError(f"y={y!r} is a formula, which comes first: l0path.fit({y!r}, table)")
    raise TypeError(
        f"y is the text {y!r}: pass the response itself, l0path.fit(table.drop(columns={y!r}), "
        f"table[{y!r}]), or a formula first, l0path.fit('{y} ~ .', table)"
    )


def _column(X, y, word, name):
    """The column of X of this name, for the argument `word`."""
    given = f"{word}={name!r}"
    one = "one label per row" if word == "strata" else f"one {word} per row"
    if not isinstance(X, pd.DataFrame):
        raise TypeError(
            f"{given} names a column, and X is a {type(X).__name__} without names: pass a "
            f"DataFrame, or {one}"
        )
    same_index(X=X, y=y)
    at = [j for j, column in enumerate(column_names(X.columns)) if column == name]
    if len(at) != 1:
        raise ValueError(f"{given} names {len(at)} columns of X; pass the name of one, or {one}")
    return X.iloc[:, at[0]].rename(None)


def opened(text, data, arguments):
    """(Encoded, y, arguments) of fit(text, data, **arguments): the formula's rows, with arguments
    by row, by column name and by term turned into those of arrays.
    """
    arguments = dict(arguments)
    env = checked_env(arguments.pop("env", None))
    data = arguments.pop("data", None) if data is None else data
    beside = [arguments.get(name) for name in (*BY_ROW, *FOLDS)]
    ordered = any(isinstance(rows, Sized) and not isinstance(rows, str) for rows in beside)
    data = pandas_of(data, "data", ordered=ordered)
    if not isinstance(data, pd.DataFrame):
        raise TypeError(
            f"data is {'missing' if data is None else 'a ' + type(data).__name__}: with a formula "
            f"pass a pandas DataFrame, l0path.fit({text!r}, data)"
        )
    if arguments.get("feature_names") is not None:
        raise ValueError("feature_names= names the columns of an array; a formula names its own")
    data = text_named(data)
    by_row = {
        name: arguments[name] for name in (*BY_ROW, *FOLDS) if arguments.get(name) is not None
    }
    named = {name: value for name, value in by_row.items() if isinstance(value, str)}
    for name, column in named.items():
        if column not in data.columns:
            raise ValueError(
                f"{name}={column!r} is not a column of data; pass the name of one, or one value "
                "per row"
            )
    formula = Formula(
        text, [name for name in data.columns if not (has_dot(text) and name in named.values())]
    )  # "." does not stand for weights and the like
    formula.check(env)
    formula.env = {name: env[name] for name in formula.own}
    repeated = [
        name
        for name, count in Counter(data.columns).items()
        if count > 1 and name in {*formula.used(), *formula.used(left=True), *named.values()}
    ]
    if repeated:
        raise ValueError(f"data has the column {repeated[0]!r} more than once; rename one")
    _refuse_times(formula, _named(arguments.get("loss", "squared")))
    _fit_intercept(formula, arguments)
    used = [*formula.used(left=True), *formula.used(), *formula.of_rows(), *named.values()]
    used = list(dict.fromkeys(used))
    formula.table = data
    formula.by_row = {name: value for name, value in by_row.items() if name in BY_ROW}
    keep, by_row = complete(data, used, by_row)
    formula.n_dropped, formula.kept = int((~keep).sum()), keep
    formula.missing = missing(data, used)
    data = data[used] if keep.all() else data.loc[keep, used]
    formula.blanks = alike_but_for_blanks(data)
    encoded, y = formula.learn(data), formula.response(data)
    encoded = encoded._replace(offset=named.get("offset"), strata=named.get("strata"))
    formula.index, terms = data.index, formula.offset(data)
    if terms is not None:
        other = by_row.get("offset")
        formula.other_offset = other is not None
        by_row["offset"] = terms + (0.0 if other is None else vector(other, len(data), "offset"))
    by_row |= _labels_of_rows(formula, data, arguments)
    return encoded, y, {**arguments, **by_row, **_by_term(formula, arguments)}


def _labels_of_rows(formula, data, arguments):
    """{"strata": labels, "groups_cv": labels} of the rows by terms strata(...) and cluster(...):
    folds that are drawn keep clusters together.
    """
    out, strata = {}, formula.labels("strata", data)
    if strata is not None:
        if arguments.get("strata") is not None:
            raise ValueError(
                f"formula {formula.text!r} has strata(...), and strata= is given too; leave one out"
            )
        out["strata"] = strata
    clusters = formula.labels("cluster", data)
    drawn = any(isinstance(arguments.get(name), int) for name in FOLDS)
    if clusters is not None and drawn and arguments.get("groups_cv") is None:
        out["groups_cv"] = clusters
    return out


def notes(formula):
    """The notes of a path about its rows; formula: a `Formula` or None."""
    if formula is None:
        return []
    dropped = formula.n_dropped
    said = [
        f"{dropped} row{'s' if dropped > 1 else ''} with missing values dropped "
        f"({counted(formula.missing)})"
    ]
    return [*(said if dropped else []), *formula.blanks]


def _named(loss):
    """The name of a loss given by name or record; a record of the user's own as it is."""
    return loss if isinstance(loss, str) else getattr(loss, "name", loss)


def _refuse_times(formula, loss):
    """Refuse Surv(...) on the left with a loss of another response."""
    if formula.left.startswith("Surv(") and loss not in OF_TIMES:
        raise ValueError(
            f"formula {formula.text!r}: {formula.left} is a response of survival times, which "
            f"loss={loss!r} does not take; pass loss='cox'"
        )


def _fit_intercept(formula, arguments):
    given, loss = arguments.get("fit_intercept"), _named(arguments.get("loss"))
    own = getattr(loss, "traits", None)  # of a loss of the user's own
    if (isinstance(loss, str) and loss == "cox") or (own is not None and not own.intercept):
        return  # a baseline hazard is in the place of an intercept, or nothing
    if given is not None and bool(given) != formula.intercept:
        remedy = (
            'write "- 1" into the formula'
            if formula.intercept
            else 'take "- 1" or "+ 0" out of the formula'
        )
        raise ValueError(
            f"fit_intercept={given!r} contradicts the formula {formula.text!r}, which has "
            f"{'an' if formula.intercept else 'no'} intercept; leave fit_intercept out, or {remedy}"
        )
    arguments["fit_intercept"] = formula.intercept


def _by_term(formula, arguments):
    """Arguments about columns with terms replaced by their columns, and groups: a term of several
    columns is one, unless groups=False or groups of other kinds are given.
    """
    columns = {term: [formula.names[j] for j in at] for term, at in formula.terms}
    by_text = {tight(term): names for term, names in columns.items()}
    groups, out = arguments.get("groups"), {"feature_names": formula.names}
    labels = set(map(str, groups)) if isinstance(groups, dict) else set()

    def names_of(entry):
        if not isinstance(entry, str) or entry in formula.names or entry in labels:
            return [entry]
        return by_text.get(tight(entry).replace("^", "**"), [entry])

    def columns_of(members):
        return [
            column
            for entry in ([members] if isinstance(members, (str, int, np.integer)) else members)
            for column in names_of(entry)
        ]

    for name in ("always_include", "exclude"):
        value = arguments.get(name)
        if isinstance(value, str) or (
            isinstance(value, (list, tuple, set)) and any(isinstance(v, str) for v in value)
        ):
            out[name] = [
                column
                for entry in ([value] if isinstance(value, str) else value)
                for column in names_of(entry)
            ]
    for name in ("lower", "upper", "penalty_factor"):
        value = arguments.get(name)
        if isinstance(value, dict) or (
            isinstance(value, pd.Series) and not pd.api.types.is_integer_dtype(value.index)
        ):
            out[name] = {
                column: v for entry, v in dict(value).items() for column in names_of(entry)
            }
    formula.counts_terms = groups is None or groups is True
    if groups is None or groups is True or groups is False:
        wide = groups is not False and any(len(names) > 1 for names in columns.values())
        out["groups"] = [term for term, at in formula.terms for _ in at] if wide else None
    elif isinstance(groups, dict):
        out["groups"] = {label: columns_of(members) for label, members in groups.items()}
    elif (
        isinstance(groups, (list, tuple))
        and groups
        and all(isinstance(members, (list, tuple, set)) for members in groups)
    ):
        out["groups"] = [columns_of(members) for members in groups]
    return out
