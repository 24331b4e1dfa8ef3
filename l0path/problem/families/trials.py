"""The two forms of counts of successes and failures: two columns, or shares with the numbers of
trials as weights.
"""

import numpy as np
import pandas as pd

from ...core.arguments import finite, vector
from ...core.tables import pandas_of
from ...errors import refuse_masked
from ..specified import told_apart
from .own import take_undecorated


def in_two_columns(y):
    """Whether y has two columns."""
    return np.ndim(y) == 2 and np.shape(y)[1] == 2


def loss_meant(loss, y, sample_weight=None):
    """The loss that is meant: glmnet's name "binomial" is `logistic` where y has classes, and a
    record of the user's own is known from then on. A structured array of times and events is
    refused with another loss than "cox".

    Parameters
    ----------
    loss : str or record
        What the user gave.
    y : array-like
        Classes, shares, two columns of counts, or what another loss takes.
    sample_weight : array-like or None
        With weights, fractional numbers (floats) of which all are 0 or 1 are shares that happen to
        be, and not classes: the weights are the numbers of trials.

    Returns
    -------
    str or record
    """
    loss = told_apart(loss)[0]
    take_undecorated(loss)
    if isinstance(y, np.ndarray) and y.dtype.names and loss != "cox":
        raise ValueError(
            f"y is a structured array with the fields {', '.join(y.dtype.names)}, and loss="
            f"{loss!r} takes numbers or labels; pass loss='cox' if they are times and events, or "
            "one field, such as y['time']"
        )
    if not isinstance(loss, str) or loss != "binomial" or in_two_columns(y):
        return loss
    values = pd.Series(np.ravel(y)) if not isinstance(y, pd.Series) else y
    kinds = pd.api.types
    if not kinds.is_numeric_dtype(values.dtype) or kinds.is_bool_dtype(values.dtype):
        return "logistic"
    if (
        sample_weight is not None
        and kinds.is_float_dtype(values.dtype)
        and values.isin([0, 1]).all()
    ):
        return loss
    inside = (values > 0) & (values < 1)
    return loss if inside.any() or values.nunique() > 2 else "logistic"  # or counts without trials


def trials_of(y, sample_weight, n=None):
    """(shares (n,), weights (n,), trials (n,)) of counts of successes and failures, or of shares
    whose sample weights are the trials; n: the rows that X has, where that is known.
    """
    if not in_two_columns(y):
        trials = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        return y, sample_weight, trials
    y = pandas_of(y, "y")
    refuse_masked(y, "y")
    counts = np.asarray(y, dtype=np.float64)
    if n is not None and len(counts) != n:
        raise ValueError(f"X has {n} rows but y has {len(counts)}; pass one response per row")
    finite(counts.ravel(), "y")
    if (counts < 0).any():
        raise ValueError(
            f"y has {(counts < 0).sum()} negative values (smallest {counts.min():g}); the two "
            "columns count successes and failures"
        )
    trials = counts.sum(axis=1)
    shares = np.where(trials > 0, counts[:, 0] / np.where(trials > 0, trials, 1.0), 0.5)
    if isinstance(y, pd.DataFrame):
        shares = pd.Series(shares, index=y.index)
    if sample_weight is None:
        return shares, trials, trials
    return shares, vector(sample_weight, len(counts), "sample_weight") * trials, trials
