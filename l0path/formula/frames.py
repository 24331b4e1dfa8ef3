"""Rows and columns of a DataFrame for a formula: complete rows and what goes with them, plain
dtypes, and what was learned as JSON.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ..designs.names import column_names
from ..errors import refuse_masked

FOLDS = ("cv", "outer")


def complete(data, used, by_row):
    """(keep (n,) bool, by_row): rows without missing values in the columns used; what belongs to
    rows, at these; text names a column.
    """
    keep = ~data[used].isna().to_numpy().any(axis=1)
    if not keep.any():
        raise ValueError(
            "every row of data has a missing value in a column that is used (most in "
            f"{counted(missing(data, used))} of {len(data)} rows); leave that column out of the "
            "formula, or impute it"
            if len(keep)
            else "data has no rows"
        )
    return keep, {name: _at_rows(value, keep, name, data) for name, value in by_row.items()}


def missing(data, used):
    """{column: how many rows lack it} of the columns used that are not complete, most first."""
    count = data[used].isna().sum()
    count = count[count > 0].sort_values(ascending=False, kind="stable")
    return {name: int(number) for name, number in count.items()}


def counted(missing, most=6):
    """Columns with their numbers of missing values as text: "a 37, b 7"."""
    items = [f"{name} {number}" for name, number in list(missing.items())[:most]]
    more = len(missing) - most
    return ", ".join(items) + (f" and {more} more columns" if more > 0 else "")


def alike_but_for_blanks(data):
    """Notes on text columns of which two levels differ by blanks at their ends only."""
    out = []
    for name, dtype in data.dtypes.items():
        if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_datetime64_any_dtype(dtype):
            continue
        levels = [level for level in data[name].unique() if isinstance(level, str)]
        bare = {}
        for level in levels:
            bare.setdefault(level.strip(), []).append(level)
        alike = next((same for same in bare.values() if len(same) > 1), None)
        if alike:
            out.append(
                f"column {name} has the levels {' and '.join(map(repr, alike[:3]))}, which differ "
                f"by blanks only and are taken as different; data[{name!r}].str.strip() joins them"
            )
    return out


def _at_rows(value, keep, name, data):
    """An argument restricted to the rows of data that are kept, if it has a value for each row: an
    array, a Series of the same index, fold ids or (train, test) pairs. A column's name, and all
    else, is returned as it is.
    """
    if isinstance(value, str):
        return data.loc[keep, value].to_numpy()
    if isinstance(value, (pd.Series, pd.DataFrame)) and not value.index.equals(data.index):
        raise ValueError(
            f"data and {name} have different indexes; align them first (for example {name} = "
            f"{name}.loc[data.index]) or pass {name}.to_numpy()"
        )
    refuse_masked(value, name)
    if name in FOLDS:
        return (
            value
            if not isinstance(value, Iterable) or hasattr(value, "split")
            else _folds(value, keep)
        )
    value = value.to_numpy() if isinstance(value, (pd.Series, pd.DataFrame)) else np.asarray(value)
    if value.ndim and value.shape[0] != keep.size:
        raise ValueError(
            f"{name} has {value.shape[0]} values, data has {keep.size} rows: pass one per row of "
            "data, before rows with missing values are dropped"
        )
    return value[keep] if value.ndim else value.item()


def _folds(value, keep):
    """Fold ids, or (train, test) pairs of rows of data, for the rows that are kept."""
    items = list(value)
    if items and all(pd.api.types.is_scalar(item) for item in items):
        if len(items) != keep.size:
            raise ValueError(
                f"cv (fold ids) has {len(items)} labels, data has {keep.size} rows: pass one per "
                "row of data"
            )
        return np.array(items)[keep]
    place = np.cumsum(keep) - 1

    def moved(rows):
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool and rows.shape == keep.shape else rows
        if (
            rows.dtype.kind not in "iu"
            or rows.ndim != 1
            or (rows.size and not -keep.size <= rows.min() <= rows.max() < keep.size)
        ):
            raise ValueError(
                f"cv: (train, test) must be indices of the {keep.size} rows of data, or masks of "
                "that length"
            )
        return place[rows[keep[rows]]]

    return [tuple(moved(part) for part in pair) for pair in items]


def text_named(data):
    """A frame whose column names are text."""
    if all(isinstance(name, str) for name in data.columns):
        return data
    return data.set_axis(column_names(data.columns), axis=1)


def readied(data, used):
    """Columns as formulaic understands them: nullable numbers and bools as NumPy's, text as
    objects, objects that are all numbers as numbers.
    """
    rows, out = data[list(dict.fromkeys(used))], {}
    for name, dtype in rows.dtypes.items():
        if isinstance(dtype, np.dtype) and dtype.kind in "iufb":
            continue
        column, types = rows[name], pd.api.types
        if types.is_object_dtype(column.dtype):
            column = column.infer_objects()
        if (
            isinstance(column.dtype, pd.CategoricalDtype)
            or types.is_datetime64_any_dtype(column.dtype)
            or types.is_timedelta64_dtype(column.dtype)
        ):
            pass
        elif types.is_bool_dtype(column.dtype):
            column = column.astype(bool)
        elif types.is_numeric_dtype(column.dtype) and not isinstance(column.dtype, np.dtype):
            column = column.astype(np.int64 if types.is_integer_dtype(column.dtype) else np.float64)
        elif types.is_string_dtype(column.dtype):
            column = column.astype(object)
        out[name] = column
    return rows.assign(**out)


def present(rows):
    """Rows whose categories are those that occur: a level without rows would be a column of zeros,
    and new rows of it would pass for the first level.
    """
    return rows.assign(
        **{
            name: column.cat.remove_unused_categories()
            for name, column in rows.items()
            if isinstance(column.dtype, pd.CategoricalDtype)
        }
    )


def without_contrasts(state):
    """An encoder's state less what formulaic keeps for show."""
    return {
        key: without_contrasts(value) if isinstance(value, dict) else value
        for key, value in state.items()
        if key != "contrasts"
    }


def packed(value):
    """JSON of nested dicts (any keys), lists, arrays and scalars; TypeError for anything else."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, dict):
        return {"dict": [[packed(key), packed(v)] for key, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return [packed(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} cannot be stored")


def unpacked(value):
    """The inverse of `packed`."""
    if isinstance(value, dict):
        return (
            np.array(value["array"])
            if "array" in value
            else {unpacked(key): unpacked(v) for key, v in value["dict"]}
        )
    return [unpacked(v) for v in value] if isinstance(value, list) else value
