"""The rows of a refit before they are checked: those that are complete in the columns of a model,
labels of rows by the names of columns, and how many of the rows have chosen the model.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.tables import pandas_of
from ..designs.names import column_names
from ..formula import Encoded
from ..paths.predicting import offset_of_table

LABELS = ("groups", "time")  # options of a covariance that hold a label for each row
WEIGHTS = ("sample_weight", "freq_weight", "trials")
ALL = "all"
CHECKED = 64  # columns by which rows are recognized, beside those of the model
BLOCK = 1 << 23  # entries of X that are read at once


def prepared(path, s, X, y, by_row, whole):
    """(X, y, by_row) of rows given to a refit: names of columns are looked up, and incomplete rows
    are left out, those of a formula as in the fit.

    Parameters
    ----------
    path : Path
    s : Solution
        The model.
    X, y : as in `Model.refit`
        None stands for the rows of the fit.
    by_row : dict
        What belongs to rows, by name: an array, the name of a column, or None.
    whole : bool
        Whether all rows are taken that are complete in the columns of the model, those of the data
        of a formula where X is None.
    """
    X, y = pandas_of(X), pandas_of(y, "y")
    formula = path._meta.formula
    if X is not None:
        by_row = _found(path, X, by_row, WEIGHTS)
    if whole and X is None:
        if formula is None:
            return None, None, by_row  # the fit has taken complete rows only
        if formula.table is None:
            raise ValueError(
                "rows='all': the data of the formula are not kept with a loaded path; pass them as "
                "X="
            )
        kept = {name: formula.by_row.get(name) for name in by_row if name not in LABELS}
        X, by_row = formula.table, {**by_row, **kept}
    if X is None:
        return None, y, _found(path, None, by_row)
    by_row = {**by_row, "offset": offset_of_table(path, X, by_row.get("offset"))}
    if formula is not None and isinstance(X, pd.DataFrame):
        given = {name: value for name, value in by_row.items() if value is not None}
        if whole and y is not None:
            keep = complete_rows(X, formula.needed(s.support), y)
            X, y, given = X[keep], _at(y, keep), {n: _at(v, keep) for n, v in given.items()}
        if y is not None:
            given = _found(path, X, given)
        features = s.support if whole else None
        encoded, y, given = formula.rows(X, y, features=features, **given)
        return encoded, y, {**dict.fromkeys(by_row), **given}
    by_row = _found(path, X, by_row)
    if whole:
        names = [path._meta.names[j] for j in s.support]
        keep = complete_rows(X, names if isinstance(X, pd.DataFrame) else s.support, y)
        X, y, by_row = _at(X, keep), _at(y, keep), {n: _at(v, keep) for n, v in by_row.items()}
    return X, y, by_row


def complete_rows(X, columns, y):
    """(n,) whether rows have no missing value in y and in some columns of X: names of a table, or
    numbers.
    """
    if isinstance(X, pd.DataFrame):
        known = column_names(X.columns)
        at = [known.index(name) for name in columns if name in known]
        keep = X.iloc[:, at].notna().to_numpy().all(axis=1)
    elif isinstance(X, np.ndarray):
        keep = np.isfinite(X[:, columns].astype(np.float64)).all(axis=1)
    else:
        raise TypeError(
            f"rows='all' takes a table or an array X, not a {type(X).__name__}; pass the rows that "
            "are complete, without rows="
        )
    if y is not None:
        keep &= ~pd.isna(np.asarray(y)).reshape(len(keep), -1).any(axis=1)
    if not keep.any():
        raise ValueError(
            "rows='all': no row of X is complete in the features of the model and in y"
        )
    return keep


def _at(value, keep):
    """A value by row at some rows."""
    if value is None or isinstance(value, str):
        return value
    return value[keep] if isinstance(value, (pd.DataFrame, pd.Series)) else np.asarray(value)[keep]


def _found(path, X, by_row, those=LABELS):
    """by_row with labels that are names of columns replaced by these columns: those of a table X,
    of the data of a formula, or of the X of the fit.
    """
    return {
        name: column_of(path, X, name, value) if name in those and isinstance(value, str) else value
        for name, value in by_row.items()
    }


def column_of(path, X, name, column):
    """The labels (n,) in a column, as cov_kwds[name] asks, or weights by name."""
    formula = path._meta.formula
    table = formula.table if X is None and formula is not None else X
    known = column_names(table.columns) if isinstance(table, pd.DataFrame) else []
    if column in known:
        return table.iloc[:, known.index(column)].to_numpy()
    data = path._source.data
    if X is None and data is not None and column in list(map(str, data.names)):
        return data.design.columns(np.array([list(map(str, data.names)).index(column)]))[:, 0]
    asked = f"cov_kwds[{name!r}]" if name in LABELS else name
    raise ValueError(
        f"{asked}={column!r} is not a column of {'the data of the fit' if X is None else 'X'}; "
        "pass one label for each row"
    )


def index_of(X):
    """The labels of the rows of a table, else None."""
    return X.index if isinstance(X, (pd.DataFrame, Encoded)) else getattr(X, "row_index", None)


def recognized(path, s, rows, response):
    """`RefitRows` with the number of those that are rows of the fit; response: the arrays that the
    response of the rows is made of.
    """
    if rows.same:
        return rows._replace(chose=rows.design.n)
    return rows._replace(chose=rows_that_chose(path, s, rows, response))


def rows_that_chose(path, s, rows, response):
    """How many of some rows are rows of the fit, None where its data are not in memory.

    Rows are recognized by their labels and their values (y and up to 64 columns, those of the model
    among them). Where no row has the values of the fit's row of its label, though labels occur in
    both, or where there are no labels, by their values alone. Rows of weight 0 do not count.

    Parameters
    ----------
    path, s : Path, Solution
    rows : RefitRows
        The new rows. Of `whole` ones only the columns of the model are known.
    response : tuple of ndarray
        The arrays that their response is made of, as `Data.response`.

    Returns
    -------
    int or None
    """
    data = path._source.data
    if data is None:
        return None
    J = s.support
    if not rows.whole:
        spread = np.linspace(0, path.p - 1, min(path.p, CHECKED)).astype(np.int64)
        J = np.union1d(J, spread)
    own = _keys(data.design, J, data.response)[data.weights > 0]
    new = _keys(rows.design, J, response)
    used = rows.weights > 0
    new = new[used]
    if data.index is not None and rows.index is not None:
        a, b = _texts(data.index)[data.weights > 0], _texts(rows.index)[used]
        labeled = _shared(_joined(own, a), _joined(new, b))
        if labeled or not np.isin(b, a).any():
            return labeled
    return _shared(own, new)


def _keys(design, J, response):
    """(n,) numbers that are equal for rows of equal values."""
    parts = [np.asarray(a, dtype=np.float64).reshape(design.n, -1) for a in response if a.size]
    key = _hashed(np.hstack(parts))
    step = max(1, BLOCK // max(design.n, 1))
    for start in range(0, J.size, step):
        key = _joined(key, _hashed(design.columns(J[start : start + step])))
    return key


def _hashed(values):
    """(n,) uint64 of the rows of values (n, m)."""
    return pd.util.hash_pandas_object(pd.DataFrame(values + 0.0), index=False).to_numpy()


def _joined(a, b):
    """(n,) uint64 of pairs."""
    return pd.util.hash_pandas_object(pd.DataFrame({"a": a, "b": b}), index=False).to_numpy()


def _texts(index):
    """(n,) uint64 of labels, whatever their dtype."""
    return pd.util.hash_array(np.array([str(label) for label in index], dtype=object))


def _shared(own, new):
    """How many entries of `new` are in `own`, each of these used once."""
    values, counts = np.unique(new, return_counts=True)
    known, most = np.unique(own, return_counts=True)
    at = np.searchsorted(known, values)
    inside = (at < known.size) & (known[np.minimum(at, known.size - 1)] == values)
    return int(np.minimum(counts[inside], most[at[inside]]).sum())
