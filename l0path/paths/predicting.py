"""`Path.predict`: new rows in the columns of the fit, and predictions for them.

Offsets of new rows are given, in a column of the table, or made by the terms offset(...) of a
formula.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.arguments import finite, same_index, vector
from ..core.tables import pandas_of
from ..designs.names import column_names
from ..formula import Encoded
from ..problem.coupled.ordinal import log_probabilities
from ..problem.families.trials import in_two_columns, shares_of
from ..problem.several import offsets_of_responses


def shares_in_one(meta, y, by_row):
    """(y, by_row) with shares and trials in the place of counts of successes and failures."""
    if y is None or not in_two_columns(y) or meta.traits.response != "shares":
        return y, by_row
    y, trials = shares_of(y, by_row.get("trials"), len(y), meta.loss)
    return y, by_row | {"trials": trials}


def class_predictors(s, eta):
    """The log probabilities (m, K) of ordered classes at linear predictors (m,) of a solution, as
    predictors of the classes; eta itself of other losses.
    """
    return eta if s.thresholds is None else log_probabilities(s.thresholds, eta)


def with_coded(X, coded, names):
    """A table with the columns of 0 and 1 of these names that the command line made of text
    columns, where it has the text; coded: that of `Meta`.
    """
    made, known = {}, {}
    for _, column, level in coded:
        known.setdefault(column, []).append(level)
    for name, column, level in coded:
        if name not in names or name in X.columns or column not in X.columns:
            continue
        lacking = int(X[column].isna().sum())
        if lacking:
            raise ValueError(f"column {column} has {lacking} missing values; drop those rows")
        text = _as_text(X[column], known[column])
        new = sorted(set(text) - set(known[column]))
        if new:
            levels = ", ".join(known[column][:8]) + ", ..." * (len(known[column]) > 8)
            raise ValueError(
                f"column {column} has the level {new[0]!r}, which the fit did not have (it had "
                f"{levels}); leave those rows out"
            )
        made[name] = (text == level).astype(float)
    return X.assign(**made)


def _as_text(column, known):
    """The levels of a column as the fit read them. Whole numbers beside missing values are read as
    1.0, and as 1 where the fit had text in the same column.
    """
    text = column.astype(str)
    if pd.api.types.is_float_dtype(column) and not set(text) <= set(known):
        if (column % 1 == 0).all():
            return column.astype("Int64").astype(str)
    return text


def linear_predictor(design, offset, s):
    """o + beta0 + x'beta of a solution for all rows of a design: (n,), or (n, r) for r
    responses.
    """
    eta = s.intercept + (
        design.dot(s.support, s.beta) if s.support.size else np.zeros((design.n, *s.beta.shape[1:]))
    )
    return eta if offset is None else eta + offset


def given_offset(meta, given, n):
    """The offset of new rows as an array: (n,), or (n, r) for r responses."""
    if meta.responses is not None:
        return offsets_of_responses(given, (n, len(meta.responses)))
    return finite(vector(given, n, "offset"), "offset")


def offset_of_table(path, X, given):
    """The offset of new rows without the terms of a formula: `given`, which may name a column of
    the DataFrame X, else the column that the fit named, if X has it; None without.
    """
    name = given if isinstance(given, str) else path._meta.offset_name if given is None else None
    if name is None:
        return given
    X = pandas_of(X)
    columns = column_names(X.columns) if isinstance(X, pd.DataFrame) else []
    if name in columns:
        return X.iloc[:, columns.index(name)]
    if given is None:
        return None
    raise ValueError(
        f"offset={given!r} is not a column of X; pass a DataFrame that has it, or one offset per "
        "row of X"
    )


def strata_of_table(path, X, given):
    """The strata of new rows: `given`, which may name a column of the DataFrame X, else those of
    the terms strata(...) of a formula, or the column that the fit named, if X has it; None without.
    """
    meta, X = path._meta, pandas_of(X)
    if given is None and meta.formula is not None:
        given = meta.formula.labels("strata", X)
    if given is None and isinstance(X, pd.DataFrame) and meta.strata_name in X.columns:
        given = meta.strata_name
    return column_named(X, given) if isinstance(given, str) else given


def column_named(X, name, argument="strata"):
    """The column of X of a name, which an argument gave."""
    X = pandas_of(X)
    if not isinstance(X, pd.DataFrame) or name not in X.columns:
        raise ValueError(
            f"{argument}={name!r} is not a column of X; pass a DataFrame that has it, or one value "
            "for each row of X"
        )
    return X[name]


def missing_offset(path, X, purpose):
    """The error that asks for the argument offset= of new rows; the terms offset(...) of a formula
    are named where it has some, because they do not stand for the argument.
    """
    meta, beside = path._meta, ""
    if meta.formula is not None and meta.formula.offsets:
        terms = " and ".join(f"offset({expression})" for expression in meta.formula.offsets)
        beside = f" besides {terms} of its formula, which is made from X and added"
        if not isinstance(X, (pd.DataFrame, Encoded)):
            beside = f" besides {terms} of its formula; give the sum of all of them"
    column = meta.offset_name
    where = f"X lacks the column {column}, which held it: add it, or " if column else ""
    return ValueError(
        f"the fit had an offset{beside}: {where}pass offset=, one value per row of X (zeros to "
        f"{purpose} without)"
    )


def offset_of_rows(path, X, given, n):
    """The offset of new rows, the terms of the formula in it, or None: (n,), or (n, r) or (n, 1)
    for r responses. ValueError where the fit had an offset that is nowhere.
    """
    X = pandas_of(X)
    same_index(X=X, offset=given)
    meta, given = path._meta, offset_of_table(path, X, given)
    if given is None and meta.has_offset:
        raise missing_offset(path, X, "predict")
    total = None if given is None else given_offset(meta, given, n)
    if meta.formula is None or not meta.formula.offsets or isinstance(X, Encoded):
        return total
    if isinstance(X, pd.DataFrame):
        own = meta.formula.offset(X)
        own = own if meta.responses is None else own[:, None]
        return own + (0.0 if total is None else total)
    if total is None:
        raise ValueError(
            "the formula has terms offset(...): pass a DataFrame with their columns, or offset=, "
            "one value per row of X"
        )
    return total
