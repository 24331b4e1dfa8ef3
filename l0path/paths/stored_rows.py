"""The rows of a fit in a path file, for `save(data=True)`: X as it is in memory, the response,
weights and offset, and with a formula the table that it was given. What is read is checked as a fit
checks it: kernels trust the indices of a sparse X, and the ranges of a response.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ..designs import Csc, Dense, Derived, as_design, check_finite, derived, in_memory
from ..formula.opening import BY_ROW
from ..problem.coupled.cox import cox_of
from ..problem.coupled.weibull import weibull_of
from ..problem.problem import Data, copies_of
from ..problem.responses import takes_zero
from .records import Meta, loss_of
from .stored_values import check_ascending, check_inside, check_kind, label_of, labels_from
from .stored_values import check_finite as check_numbers

NUMBERS, DATES = "biuf", "mM"  # kinds of dtypes
# arrays (n,) or (n, r) of `Data` that some fits have, by the least value that they may hold
BY_ROW_OF_FIT = {"offset": -math.inf, "counts": 0.0, "trials": 0.0}
MOST_LEVELS = 10  # of an index of a table
LABEL_BYTES = 16  # that a label of a row takes in memory, beside its code

# -------------------- writing


def rows_written(path: Any) -> tuple[dict, dict, int]:
    """(entry of the header, arrays, bytes that their columns take beyond them when they are read)
    of the rows of a path; ValueError where they are not in memory.
    """
    data, formula = path._source.data, path._meta.formula
    if data is None:
        raise ValueError(
            "data=True: the data are not kept with a loaded path; fit again, load a file that has "
            "them, or save without data="
        )
    if not in_memory(data.design):
        raise ValueError(
            f"data=True: X is a {type(data.design).__name__}, whose columns are not arrays in "
            "memory; save without data= and pass X= and y= after loading, or pickle the path, "
            "which refers to the file that X is in"
        )
    out = Columns()
    entry = {
        "X": _design_written(data.design, out),
        "class_weight": data.class_weight,
        "index": _index_written(data.index, out),
        "formula": None if formula is None else _formula_written(formula, out),
    }
    out.put("y", data.y)
    out.put("weights", data.weights)
    if data.loss.traits.response == "survival":
        out.put("start", data.loss.start)
        out.put("stop", data.loss.stop)
    if data.copies is not None:
        out.put("copies", data.copies.astype(np.int64))
    for name in BY_ROW_OF_FIT:
        if getattr(data, name) is not None:
            out.put(name, np.asarray(getattr(data, name), dtype=np.float64))
    return entry, out.arrays, out.more


class Columns:
    """Arrays of a file that belong to rows, by their names in it."""

    def __init__(self):
        self.arrays, self.count, self.more = {}, 0, 0

    def put(self, name, values):
        """Store an array under a name."""
        self.arrays[f"rows_{name}"] = values

    def column(self, values):
        """The entry of a column (n,), whose numbers, dates or codes of labels become an array;
        TypeError for values of another kind.
        """
        self.count += 1
        name = f"column{self.count}"
        values = _plain(values)
        if isinstance(values.dtype, np.dtype) and values.dtype.kind in NUMBERS + DATES:
            self.put(name, values.to_numpy())
            return {"name": name, "dtype": values.dtype.str}
        categories = isinstance(values.dtype, pd.CategoricalDtype)
        codes, labels = _coded(values)
        out = {
            "name": name,
            "labels": [label_of(label) for label in labels],
            "ordered": bool(values.dtype.ordered) if categories else None,
            "objects": values.dtype == object,
        }
        self.put(name, codes.astype(np.int32))
        self.more += LABEL_BYTES * len(values)
        return out


def _plain(values):
    """A Series whose numbers and bools have dtypes of NumPy; nullable ones, missing entries as
    NaN.
    """
    values, types = pd.Series(values), pd.api.types
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return values
    if isinstance(dtype, np.dtype):
        wide = dtype.kind in NUMBERS and (dtype.itemsize > 8 or not dtype.isnative)
        return values.astype(np.float64) if wide else values
    if types.is_bool_dtype(dtype) or types.is_numeric_dtype(dtype):
        if values.isna().any() or types.is_float_dtype(dtype):
            return pd.Series(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return values.astype(bool if types.is_bool_dtype(dtype) else np.int64)
    if types.is_string_dtype(dtype):
        return values
    raise TypeError(f"a column of dtype {dtype} cannot be stored")


def _coded(values):
    """(codes (n,), -1 where missing; labels) of categories, texts and objects."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy(), list(values.cat.categories)
    missing, known, codes = values.isna().to_numpy(), {}, np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        # 1, 1.0 and True are equal, and other labels
        codes[i] = -1 if missing[i] else known.setdefault((type(value), value), len(known))
    return codes, [label for _, label in known]


def _design_written(design, out):
    """The entry of a design of arrays, or of the one whose columns its features are made of."""
    base = getattr(design, "base", design)
    if isinstance(base, Csc):
        out.put("data", base.data)
        out.put("indices", base.indices.astype(_index_dtype(design.n)))
        out.put("indptr", base.indptr.astype(np.int64))
        return {"sparse": True}
    X = base.X
    if X.dtype.itemsize > 8 or not X.dtype.isnative:
        X = X.astype(np.float64)
    if not (X.flags.c_contiguous or X.flags.f_contiguous):  # in the order that it is read in
        X = np.array(X, order="F" if abs(X.strides[0]) <= abs(X.strides[1]) else "C")
    out.put("X", X)
    return {"sparse": False, "dtype": X.dtype.str}


def _index_dtype(n):
    """The dtype of row numbers below n."""
    return np.int32 if n < 2**31 else np.int64


def _index_written(index, out):
    """The entry of the labels of rows, None where there are none, or of a kind that is not
    stored.
    """
    if index is None:
        return None
    if isinstance(index, pd.RangeIndex) and index.name is None:
        return {"range": [index.start, index.stop, index.step]}
    names = [name if isinstance(name, str) else None for name in index.names]
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    try:
        return {"names": names, "levels": [out.column(pd.Series(values)) for values in levels]}
    except TypeError:
        return None


def _formula_written(formula, out):
    """The entry of the table of a formula, or None without one; columns of other kinds than
    numbers, texts, categories and dates are left out.
    """
    if formula.table is None:
        return None
    columns = []
    for j, name in enumerate(formula.table.columns):
        try:
            columns.append([name, out.column(formula.table.iloc[:, j])])
        except TypeError:
            continue
    out.put("kept", formula.kept)
    return {
        "columns": columns,
        "index": _index_written(formula.table.index, out),
        "by_row": {name: _given_written(value, out) for name, value in formula.by_row.items()},
    }


def _given_written(value, out):
    """The entry of an argument by row: the name of a column, one number, or values."""
    if isinstance(value, str):
        return {"column": value}
    values = value.to_numpy() if isinstance(value, (pd.Series, pd.DataFrame)) else np.asarray(value)
    if values.ndim == 0:
        return {"number": float(values)}
    if values.ndim == 1:
        return {"values": out.column(values)}
    return {"table": [out.column(values[:, j]) for j in range(values.shape[1])]}


# -------------------- reading


def rows_read(entry: dict, meta: Meta, stored: Any) -> Data:
    """The `Data` of an entry of a header and the arrays of its file; the table of a formula goes
    into that of the `Meta`.
    """
    n, several = meta.n, () if meta.responses is None else (len(meta.responses),)
    check_kind(entry, dict, "rows")
    design = _design(entry["X"], meta, stored)
    check_finite(design, meta.names)
    y = stored.array("rows_y", np.float64, (n, *several))
    weights = stored.array("rows_weights", np.float64, (n,))
    check_numbers(y, "responses")
    check_numbers(weights, "weights")
    if (weights < 0).any() or not weights.any():
        raise ValueError("weights of rows are below 0, or all 0")
    given = {}
    for name, least in BY_ROW_OF_FIT.items():
        if f"rows_{name}" in stored:
            shape = (n, *several) if name == "offset" else (n,)
            given[name] = stored.array(f"rows_{name}", np.float64, shape)
            check_numbers(given[name], name)
            if (given[name] < least).any():
                raise ValueError(f"{name} of rows are below {least}")
    copies = None
    if "rows_copies" in stored:
        copies = stored.array("rows_copies", np.int64, (range(meta.p), 2))
        check_inside(copies, meta.p, "copies of columns")
    if meta.formula is not None and entry["formula"] is not None:
        _read_table(entry["formula"], meta.formula, n, stored)
    return Data(
        design=design,
        y=y,
        loss=_loss(meta, y, weights, given.get("counts"), stored),
        weights=weights,
        class_weight=_class_weight(entry["class_weight"], meta),
        intercept=meta.intercept and not meta.traits.constant,
        standardize=meta.standardize,
        lower=meta.lower,
        upper=meta.upper,
        factor=meta.factor,
        forced=meta.forced,
        excluded=meta.excluded,
        names=meta.names,
        classes=meta.classes,
        groups=meta.groups,
        importance=meta.importance,
        copies=copies,
        responses=meta.responses,
        response_weights=meta.response_weights,
        apart="L1" in meta.penalty,
        strata=meta.strata,
        index=_index(entry["index"], n, stored),
        **given,
    )


def _design(entry, meta, stored):
    """The design of X, or of the features of its columns."""
    features = isinstance(meta.names, Derived)
    n, p = meta.n, len(meta.names.base) if features else meta.p
    if entry["sparse"]:
        start = stored.array("rows_indptr", np.int64, (p + 1,))
        if start[0] != 0 or (np.diff(start) < 0).any() or (np.diff(start) > n).any():
            raise ValueError("columns of X do not fit together")
        indices = stored.array("rows_indices", _index_dtype(n), (int(start[-1]),))
        check_inside(indices, n, "rows of X")
        check_ascending(indices, start[1:-1], "rows of a column of X")
        values = stored.array("rows_data", np.float64, (int(start[-1]),))
        base = as_design(scipy.sparse.csc_array((values, indices, start), shape=(n, p)))[0]
    else:
        base = Dense(stored.array("rows_X", _dtype(entry["dtype"], NUMBERS), (n, p)))
    return derived(base, meta.names) if features else base


def _dtype(text, kinds):
    """The dtype of a text, one of these kinds, of eight bytes at most."""
    check_kind(text, str, "dtype")
    dtype = np.dtype(text)
    if dtype.kind not in kinds or dtype.itemsize > 8:
        raise ValueError(f"dtype {text[:50]!r} is none of arrays of rows")
    return dtype


def _loss(meta, y, weights, counts, stored):
    """The record of the loss, after the response was checked against it."""
    what, fitting = meta.traits.response, True
    if what == "survival":
        stop = stored.array("rows_stop", np.float64, (meta.n,))
        start = stored.array("rows_start", np.float64, (range(0, meta.n + 1, meta.n),))
        check_numbers(stop, "times")
        check_numbers(start, "times")
        seen = y[weights > 0]
        if (
            not np.isin(y, (0.0, 1.0)).all()
            or not seen.any()
            or (start.size and not (start < stop).all())
        ):
            raise ValueError("times and events are none of this loss")
        if not meta.traits.partial:
            if start.size or not (stop > 0).all():
                raise ValueError("times are none of this loss")
            return weibull_of(stop, y)
        return cox_of(
            start,
            stop,
            y,
            stratum=meta.stratum,
            efron=meta.ties == "efron",
            level=float(np.log(copies_of(weights, counts).sum())),
            counts=counts,
        )
    loss = loss_of(meta)
    if what == "ordered":
        fitting = np.isin(y, np.arange(len(meta.classes))).all()
    elif what == "classes":
        several = meta.traits.by_class
        fitting = np.isin(y, (0.0, 1.0) if several else (-1.0, 1.0)).all()
        fitting = fitting and (not several or (y.sum(axis=1) == 1).all())
    elif what == "shares":
        fitting = ((y >= 0) & (y <= 1)).all()
    elif what != "real":
        fitting = (y >= 0).all() and (takes_zero(loss) or (y > 0).all())
    if not fitting:
        raise ValueError(f"responses are none of loss={meta.loss!r}")
    return loss


def _class_weight(value, meta):
    """The weights of classes of a header, None, "balanced", or a number for each class."""
    if value is None or value == "balanced":
        return value
    check_kind(value, list, "class_weight")
    for weight in value:
        check_kind(weight, float, "class_weight")
        if not 0 < weight < math.inf:
            raise ValueError(f"class_weight={weight} is not positive")
    if len(value) != len(meta.classes or ()):
        raise ValueError("class_weight has another number of classes")
    return tuple(map(float, value))


def _index(entry, n, stored):
    """The labels of n rows, None where none were stored."""
    if entry is None:
        return None
    if "range" in entry:
        for number in entry["range"]:
            check_kind(number, int, "labels of rows")
        index = pd.RangeIndex(*entry["range"])
        if len(index) != n:
            raise ValueError("labels of rows do not fit together")
        return index
    names, levels = entry["names"], entry["levels"]
    for name in names:
        check_kind(name, None | str, "names of labels of rows")
    if not 0 < len(levels) == len(names) <= MOST_LEVELS:
        raise ValueError("labels of rows do not fit together")
    found = [_column(level, n, stored) for level in levels]
    if len(found) == 1:
        return pd.Index(found[0], name=names[0])
    return pd.MultiIndex.from_arrays(found, names=names)


def _column(entry, n, stored):
    """The column (n,) of an entry, a Series."""
    name = f"rows_{entry['name']}"
    if "dtype" in entry:
        return pd.Series(stored.array(name, _dtype(entry["dtype"], NUMBERS + DATES), (n,)))
    codes = stored.array(name, np.int32, (n,))
    labels = labels_from(entry["labels"], "labels of a column")
    check_inside(codes[codes >= 0], len(labels), "labels of a column")
    if (codes < -1).any():
        raise ValueError("labels of a column are below -1")
    stored.allowance.take(LABEL_BYTES * n, "labels of a column")
    if entry["ordered"] is not None:
        check_kind(entry["ordered"], bool, "ordered")
        categories = pd.Index(labels)
        return pd.Series(pd.Categorical.from_codes(codes, categories, ordered=entry["ordered"]))
    values = np.empty(len(labels) + 1, dtype=object)
    values[:-1], values[-1] = labels, np.nan
    values = values[codes]
    return pd.Series(values, dtype=object if entry["objects"] else None)


def _read_table(entry, formula, n, stored):
    """Give a formula the table, the labels of its rows, and the arguments that go with them."""
    whole = n + formula.n_dropped
    kept = stored.array("rows_kept", bool, (whole,))
    if np.count_nonzero(kept) != n:
        raise ValueError("rows of the table do not fit together")
    columns = []
    for name, column in entry["columns"]:
        check_kind(name, str, "columns of the table")
        columns.append((name, _column(column, whole, stored)))
    if not columns:
        return
    names = [name for name, _ in columns]
    used = {*formula.used(), *formula.used(left=True), *formula.of_rows()}
    twice = sorted(name for name in used if names.count(name) > 1)
    if twice:
        raise ValueError(f"the table has the column {twice[0]!r} of its formula more than once")
    index = _index(entry["index"], whole, stored)
    table = pd.concat([values for _, values in columns], axis=1)
    table.columns = names
    if index is not None:
        table.index = index
    if not entry["by_row"].keys() <= set(BY_ROW):
        raise ValueError("arguments by row are none of a fit")
    formula.table, formula.kept = table, kept
    formula.index = table.index[kept]
    formula.by_row = {name: _given(value, table, stored) for name, value in entry["by_row"].items()}


def _given(entry, table, stored):
    """An argument by row."""
    if "column" in entry:
        if entry["column"] not in list(table.columns):
            raise ValueError(f"there is no column {entry['column']!r} of the table")
        return entry["column"]
    if "number" in entry:
        check_kind(entry["number"], float, "an argument by row")
        return float(entry["number"])
    if "values" in entry:
        return _column(entry["values"], len(table), stored).to_numpy()
    return np.column_stack([_column(one, len(table), stored) for one in entry["table"]])
