"""The two forms of counts of successes and failures: two columns, or shares with the numbers of
trials.
"""

import numpy as np
import pandas as pd

from ...core.arguments import finite, vector
from ...core.tables import pandas_of
from ...errors import refuse_masked
from ..losses import SURVIVAL, traits_named
from ..specified import told_apart
from .own import take_undecorated


def in_two_columns(y):
    """Whether y has two columns."""
    return np.ndim(y) == 2 and np.shape(y)[1] == 2


def loss_meant(loss, y, trials=None):
    """The loss that is meant: glmnet's name "binomial" is `logistic` where y has classes, and a
    record of the user's own is known from then on. A structured array of times and events is
    refused with another loss than those of survival times.

    Parameters
    ----------
    loss : str or record
        What the user gave.
    y : array-like
        Classes, shares, two columns of counts, or what another loss takes.
    trials : array-like or None
        The numbers of trials. With them y is shares, also where all happen to be 0 or 1.

    Returns
    -------
    str or record
    """
    loss = told_apart(loss)[0]
    take_undecorated(loss)
    if isinstance(y, np.ndarray) and y.dtype.names and loss not in SURVIVAL:
        raise ValueError(
            f"y is a structured array with the fields {', '.join(y.dtype.names)}, and loss="
            f"{loss!r} takes numbers or labels; pass loss='cox' if they are times and events, or "
            "one field, such as y['time']"
        )
    if not isinstance(loss, str) or loss != "binomial" or in_two_columns(y):
        return loss
    if trials is not None:
        return loss
    values = pd.Series(np.ravel(y)) if not isinstance(y, pd.Series) else y
    kinds = pd.api.types
    if not kinds.is_numeric_dtype(values.dtype) or kinds.is_bool_dtype(values.dtype):
        return "logistic"
    inside = (values > 0) & (values < 1)
    return loss if inside.any() or values.nunique() > 2 else "logistic"  # or counts without trials


def shares_of(y, trials, n, loss):
    """(y, trials (n,) or None) as a loss of that name takes them: shares and the numbers of their
    trials, of counts of successes and failures in two columns too; n: the rows of X.
    """
    if traits_named(loss).response != "shares":
        if trials is not None:
            raise ValueError(
                f"trials= goes with shares under loss='binomial', and not with loss={loss!r}; for "
                "rows that stand for several pass freq_weight="
            )
        return y, None
    if not in_two_columns(y):
        return y, _trials(trials, n)
    if trials is not None:
        raise ValueError(
            "trials= goes with shares, and y has two columns of counts, whose sums are the trials; "
            "leave it out"
        )
    y = pandas_of(y, "y")
    refuse_masked(y, "y")
    counts = np.asarray(y, dtype=np.float64)
    if len(counts) != n:
        raise ValueError(f"X has {n} rows but y has {len(counts)}; pass one response per row")
    finite(counts.ravel(), "y")
    if (counts < 0).any():
        raise ValueError(
            f"y has {(counts < 0).sum()} negative values (smallest {counts.min():g}); the two "
            "columns count successes and failures"
        )
    trials = counts.sum(axis=1)
    shares = np.where(trials > 0, counts[:, 0] / np.where(trials > 0, trials, 1.0), 0.5)
    return (pd.Series(shares, index=y.index) if isinstance(y, pd.DataFrame) else shares), trials


def _trials(value, n):
    """Numbers of trials >= 0 (n,), by default 1."""
    if value is None:
        return np.ones(n)
    trials = finite(vector(value, n, "trials"), "trials").copy()
    if (trials < 0).any() or not trials.any():
        raise ValueError(
            f"trials has values from {trials.min():g} to {trials.max():g}; pass the number of "
            "trials of each row, >= 0 and not all 0"
        )
    return trials
