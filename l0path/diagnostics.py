"""Comparing fitted models with a known truth: how many of the true columns were found, and how near
the coefficients are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .core import forward
from .errors import refuse_masked
from .paths import Path
from .simulate import Simulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["support_recovery"]

RECOVERY_COLUMNS = [
    "k",
    "true_positives",
    "false_positives",
    "precision",
    "recall",
    "f1",
    "exact",
    "estimation_error",
]
TYPES = {"k": np.int64, "true_positives": np.int64, "false_positives": np.int64, "exact": bool}


def support_recovery(path_or_coefficients: Path | ArrayLike, truth: Any) -> pd.DataFrame:
    """Agreement of each model with the true support and coefficients, one row per model.

    Parameters
    ----------
    path_or_coefficients : Path, array-like of shape (p, m) or (p,), or DataFrame
        A fitted path of one response, of several, or of classes (rows are those of `path.table`,
        with its labels and its k), or coefficients in units of y and X, without the intercept, one
        column per model (rows are 0..m-1 or the column labels).
    truth : Simulation, array-like of float, str, int or bool
        Anything with `.beta` of shape (p,), or p floats: the true coefficients; for r responses or
        classes a table of floats (p, r), or p floats, whose zeros tell the true support. Strings:
        the names of the true features, each once. Integers: their column indices. p booleans: which
        columns are true. Integers are always indices, so write coefficients as floats.

    Returns
    -------
    DataFrame
        With S the columns whose fitted coefficient is not 0 and T the true columns, the columns of
        the table in the Notes.

    Raises
    ------
    TypeError or ValueError
        If lengths or types do not fit, or a coefficient is NaN.

    Notes
    -----
        k                  the size k: path.table's k, else |S|
        true_positives     |S and T|
        false_positives    |S not T|
        precision          |S and T| / |S|
        recall             |S and T| / |T|
        f1                 2 |S and T| / (|S| + |T|)
        exact              S = T
        estimation_error   ||b - beta||_2 / ||beta||_2, NaN when only the support is known

    A share of nothing is 1: the empty model has precision 1 (it claims nothing false), an empty
    truth has recall 1, and f1 is 1 when both are empty. With beta = 0 the estimation error is 0 for
    b = 0 and inf otherwise.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.linear(100, 20, 3, random_state=1)
    >>> path = l0path.fit(data.X, data.y, max_k=4)
    >>> table = l0path.diagnostics.support_recovery(path, data)
    >>> table[["k", "true_positives", "false_positives", "exact"]].loc[2:]
       k  true_positives  false_positives  exact
    2  2               2                0  False
    3  3               3                0   True
    4  4               3                1  False
    """
    names = _names(path_or_coefficients)
    labels, sizes, models = _models(path_or_coefficients)
    true, beta, rows = None, None, []
    for i, b in enumerate(models):
        if true is None:
            true, beta = _truth(truth, names, *b.shape)
        rows.append(_row(b, true, beta, sizes[i] if sizes is not None else np.count_nonzero(b)))
    return pd.DataFrame(rows, columns=RECOVERY_COLUMNS, index=labels).astype(TYPES)


def _row(b, true, beta, k):
    """One row of the table: b (p,) or (p, r) fitted, true (p,) booleans, beta as b, or None."""
    if len(b) != true.size:
        raise ValueError(
            f"a model has {b.size} coefficients but the first model has {true.size}; all must "
            "belong to the same features"
        )
    if np.isnan(b).any():
        raise ValueError("the coefficients hold NaN; drop the models that were not solved")
    chosen = b != 0.0 if b.ndim == 1 else (b != 0.0).any(axis=1)
    hits, found, wanted = int((chosen & true).sum()), int(chosen.sum()), int(true.sum())
    return (
        int(k),
        hits,
        found - hits,
        hits / found if found else 1.0,
        hits / wanted if wanted else 1.0,
        2.0 * hits / (found + wanted) if found + wanted else 1.0,
        hits == found == wanted,
        _relative_error(b, beta),
    )


def _relative_error(b, beta):
    """||b - beta||_2 / ||beta||_2; NaN without beta; 0 or inf when beta = 0."""
    if beta is None:
        return math.nan
    distance, size = float(np.linalg.norm(b - beta)), float(np.linalg.norm(beta))
    if size == 0.0:
        return math.inf if distance > 0.0 else 0.0
    return distance / size


def _names(source):
    """The names of the features of models, None where they have none."""
    if isinstance(source, Path):
        first = len(source._meta.first_names)
        return source.coef(index=source.table.index[0], full=True).index[first:]
    return source.index if isinstance(source, pd.DataFrame | pd.Series) else None


def _models(source):
    """Row labels, sizes (or None) and an iterable of coefficient vectors (p,), one at a time."""
    if isinstance(source, Path):
        index, first = source.table.index, len(source._meta.first_names)
        return (
            index,
            source.table["k"].to_numpy(),
            (source.coef(index=i, full=True).to_numpy(dtype=np.float64)[first:] for i in index),
        )
    if isinstance(source, pd.DataFrame):
        if "(Intercept)" in source.index:
            raise ValueError(
                'the coefficients have a row "(Intercept)", so they may hold only the features '
                "that ever enter; pass the path itself, "
                "or one row for each of the p features and none for the intercept"
            )
        labels = source.columns
    else:
        labels = None
    refuse_masked(source, "coefficients")
    try:
        b = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"expected a path or coefficients (p, m), got {type(source).__name__}"
        ) from None
    if b.ndim == 1:
        b = b[:, None]
    if b.ndim != 2:
        raise ValueError(
            f"coefficients have shape {b.shape}; pass (p, m), a column per model, or a path"
        )
    if b.shape[0] == 0 or b.shape[1] == 0:
        raise ValueError(f"coefficients have shape {b.shape}; there is no model to compare")
    return (labels if labels is not None else pd.RangeIndex(b.shape[1])), None, b.T


def _truth(truth, names, p, r=None):
    """The true support (p,) as booleans and the true coefficients (p,), None if only the support is
    known; of r responses or classes the coefficients are a table (p, r), and a vector of numbers
    tells the support alone.
    """
    if isinstance(truth, Simulation):
        truth = np.asarray(truth.beta, dtype=np.float64)
    refuse_masked(truth, "truth")
    values = np.asarray(truth)
    if r is not None and values.shape == (p, r) and values.dtype.kind == "f":
        found, _ = _truth(np.abs(values).sum(axis=1), names, p)
        return found, values
    if values.ndim != 1:
        raise ValueError(
            f"truth has shape {values.shape}; pass p={p} coefficients, p booleans or the indices "
            "of the true features"
        )
    kind = "i" if values.size == 0 else values.dtype.kind
    if kind in "iu":
        return _mask(values.astype(np.intp), p), None
    if kind in "UO" and all(isinstance(name, str) for name in values):
        return _mask(_places(values, names), p), None
    if kind not in "fb":
        raise TypeError(
            f"truth has type {values.dtype}; pass floats (coefficients), names or integers "
            "(indices) of features, booleans or a simulation"
        )
    if values.size != p:
        remedy = (
            "coefficients need one value per feature; feature indices must be integers"
            if kind == "f"
            else "a mask needs one value per feature"
        )
        raise ValueError(
            f"truth has {values.size} values but the models have {p} coefficients: {remedy}"
        )
    if kind == "b":
        return values, None
    if not np.isfinite(values).all():
        raise ValueError("truth has coefficients that are not finite; give the finite true values")
    return values != 0.0, values.astype(np.float64) if r is None else None


def _places(wanted, names):
    """The column indices of features by their names."""
    if names is None:
        raise TypeError(
            "truth has names of features, but the models have none; pass a path or a DataFrame of "
            "coefficients, or indices"
        )
    places = pd.Index(names).get_indexer_for(wanted)
    if (places < 0).any():
        raise ValueError(
            f"truth has the feature {str(wanted[places < 0][0])!r}, which the models do not have; "
            f"they have {', '.join(map(str, names[:5]))}{', ...' if len(names) > 5 else ''}"
        )
    return places


def _mask(indices, p):
    """Column indices as p booleans."""
    if indices.size and (indices.min() < 0 or indices.max() >= p):
        raise ValueError(
            f"truth has feature indices from {indices.min()} to {indices.max()} but the models "
            f"have features 0 to {p - 1}"
        )
    mask = np.zeros(p, dtype=bool)
    mask[indices] = True
    if mask.sum() != indices.size:
        raise ValueError(
            "truth repeats a feature; give each once (integers are indices: write "
            "coefficients as floats, e.g. beta.astype(float))"
        )
    return mask


def plot_recovery(
    recovery: pd.DataFrame | dict,
    kind: str = "rates",
    *,
    k: int | Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot tables of `support_recovery` against the size: `l0path.plots.plot_recovery`."""
    return forward.plot_recovery(recovery, kind, k=k, ax=ax)
