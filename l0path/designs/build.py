"""The design of an X: the only file that knows NumPy, SciPy and pandas containers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from ..core.tables import pandas_of
from ..core.types import Design, Matrix
from ..errors import refuse_masked
from .checks import DATES, ENCODE, check_dtype, check_shape
from .csc import Csc
from .dense import Dense
from .features.derived import Derived
from .names import INTERCEPT, Numbered, column_names, unique
from .protocol import is_design


def as_design(
    X: Matrix, feature_names: Sequence[str] | None = None
) -> tuple[Design, Sequence[str], pd.Index | None, list[str]]:
    """The design of X, with its names and index.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix or design
        It is not copied where it can be read in place.
    feature_names : sequence of str, optional
        Names of the columns of an array or sparse X. None means x0, x1, ...

    Returns
    -------
    (design, names, index, notes)
        The design, p names, the index of a DataFrame (else None), and what the user should be told.
    """
    X = pandas_of(X)
    notes, index = [], None
    if is_design(X):
        design, names = X, getattr(X, "names", None) if feature_names is None else feature_names
    elif isinstance(X, pd.DataFrame):
        design, index = _from_frame(X), X.index
        names = column_names(X.columns)
        if feature_names is not None and [str(name) for name in feature_names] != [
            str(name) for name in names
        ]:
            notes.append(
                "feature_names was not used: X is a DataFrame and its columns name the features"
            )
    else:
        if type(X) is not np.ndarray and scipy.sparse.issparse(X):
            design = _from_sparse(X)
        else:
            entries = X if type(X) is np.ndarray else _entries(X)
            check_dtype(entries.dtype)
            check_shape(entries.shape)
            design = Dense(entries)
        names = feature_names
    if names is None:
        return design, Numbered(design.p), index, notes
    if isinstance(names, Derived) or (isinstance(names, Numbered) and len(names) == design.p):
        return design, names, index, notes  # made when asked for, and without repeats
    names = [str(name) for name in names]
    if len(names) != design.p:
        raise ValueError(
            f"feature_names has {len(names)} names but X has {design.p} columns; pass one name per "
            "column"
        )
    names, repeats = unique(names)
    if repeats:
        shown = ", ".join(repeats[:5]) + (", ..." if len(repeats) > 5 else "")
        what = "names, and that of the intercept," if f"{INTERCEPT}.1" in repeats else "names"
        notes.append(
            f"repeated column {what} were numbered ({shown}); predict takes columns by position"
        )
    return design, names, index, notes


def _entries(X):
    """The array of nested lists, or of an object that NumPy reads as an array."""
    refuse_masked(X, "X")
    try:
        entries = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"X is not a table of numbers: {error}; pass rows of equal length"
        ) from error
    if entries.dtype == object and not entries.shape:
        _refuse_object(X)
    return entries


def _refuse_object(X):
    """Refuse an object that is no table: NumPy makes a single entry of it."""
    from scipy.sparse.linalg import LinearOperator  # slow to import, and needed here alone

    kind = type(X).__name__
    if isinstance(X, LinearOperator):
        raise TypeError(
            f"X is a {kind} of SciPy, from which columns cannot be read; pass the matrix that it "
            "was made of, X @ np.eye(X.shape[1]) if that fits into memory, or an object with the "
            "methods of a design (l0path.designs.Dense shows them)"
        )
    raise TypeError(
        f"X has dtype object, not numbers: it is of type {kind}; pass a two-dimensional array, a "
        "DataFrame, a sparse matrix, or an object with the methods of a design "
        "(l0path.designs.Dense shows them)"
    )


def _from_sparse(X):
    """Sparse design of a SciPy sparse matrix or array of any format; X is left as it is."""
    check_dtype(X.dtype)
    check_shape(X.shape)
    columns = X.tocsc()
    columns = scipy.sparse.csc_array(
        (columns.data, columns.indices, columns.indptr), shape=X.shape
    )  # a new object on the same arrays: flags set below are its own
    columns.check_format(full_check=True)  # kernels trust the indices
    if not columns.has_canonical_format:
        columns = columns.copy()
        columns.sum_duplicates()
    return Csc(columns)


def _from_frame(X):
    """Design of a DataFrame whose columns are all numeric or bool; one that is stored as one block
    is read in place.
    """
    dtypes = list(X.dtypes)
    numeric = {dtype: _is_real(dtype) for dtype in set(dtypes)}
    refused = [
        f"{name} ({dtype})"
        for name, dtype in zip(X.columns, dtypes, strict=True)
        if not numeric[dtype]
    ]
    if refused:
        shown = ", ".join(refused[:5]) + (
            f" and {len(refused) - 5} more" if len(refused) > 5 else ""
        )
        remedy = (
            "convert object columns of numbers with astype(float); "
            if any(pd.api.types.is_object_dtype(dtype) for dtype in dtypes)
            else ""
        )
        how = DATES if all(is_date(dtype) for dtype in dtypes if not numeric[dtype]) else ENCODE
        raise TypeError(f"X has columns that are not real numbers: {shown}; {remedy}{how}")
    check_shape(X.shape)
    kinds = set(dtypes)
    if all(isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 for dtype in kinds):
        return _from_sparse(X.sparse.to_coo())
    if all(isinstance(dtype, np.dtype) for dtype in kinds):
        return Dense(X.to_numpy(dtype=np.result_type(*kinds), copy=False))
    out = np.empty(X.shape, order="F")
    for j in range(X.shape[1]):
        out[:, j] = X.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
    return Dense(out)


def is_date(dtype):
    """Whether a dtype of pandas holds dates or spans of time."""
    types = pd.api.types
    return types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype)


def _is_real(dtype):
    """Whether a pandas or NumPy dtype holds real numbers or bools."""
    types = pd.api.types
    return (
        (types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype))
        and not types.is_complex_dtype(dtype)
        and not isinstance(dtype, pd.CategoricalDtype)
    )
