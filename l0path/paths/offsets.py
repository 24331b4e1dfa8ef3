"""Offsets of new rows: given, in a column of the table, or made by the terms offset(...) of a
formula.
"""

import pandas as pd

from ..core.arguments import finite, same_index, vector
from ..designs.names import column_names
from ..formula import Encoded


def named(path, X, given):
    """The offset of new rows but for the terms of a formula: `given`, which may name a column of
    the DataFrame X, else the column that the fit named, if X has it; None without.
    """
    name = given if isinstance(given, str) else path.meta.offset_name if given is None else None
    if name is None:
        return given
    columns = column_names(X.columns) if isinstance(X, pd.DataFrame) else []
    if name in columns:
        return X.iloc[:, columns.index(name)]
    if given is None:
        return None
    raise ValueError(
        f"offset={given!r} is not a column of X; pass a DataFrame that has it, or one offset per "
        "row of X"
    )


def of_rows(path, X, given, n):
    """(n,) the offset of new rows, the terms of the formula in it, or None. ValueError where the
    fit had an offset that is nowhere.
    """
    same_index(X=X, offset=given)
    meta, given = path.meta, named(path, X, given)
    if given is None and meta.has_offset:
        where = (
            f"X lacks the column {meta.offset_name}, which held it: add it, or pass offset=, one"
            if meta.offset_name
            else "pass offset=, one"
        )
        raise ValueError(
            f"the fit had an offset: {where} value per row of X (zeros to predict without)"
        )
    total = None if given is None else finite(vector(given, n, "offset"), "offset")
    if meta.formula is None or not meta.formula.offsets or isinstance(X, Encoded):
        return total
    if isinstance(X, pd.DataFrame):
        return meta.formula.offset(X) + (0.0 if total is None else total)
    if total is None:
        raise ValueError(
            "the formula has terms offset(...): pass a DataFrame with their columns, or offset=, "
            "one value per row of X"
        )
    return total
