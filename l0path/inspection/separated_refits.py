"""Refits of columns that separate: which coefficients have no finite estimate."""

from __future__ import annotations

import numpy as np

from ..problem.losses import restricted
from ..problem.traits import EMPTIES, FAR_OUT, FILLS, MONOTONE, NO_RECESSION
from ..working_set.limits import separation_of

DOES = {
    EMPTIES: "send the rates of some rows to zero",
    FILLS: "send the shares of some rows to 0 or 1",
    MONOTONE: "make the partial likelihood monotone",
}


def infinite_in(results, path, s, rows, loss=None):
    """Names of the coefficients of a refit that have no finite estimate; [] without a look where no
    predictor is far from 0.

    Parameters
    ----------
    results : Any
        Those of statsmodels.
    path, s, rows : Path, Solution, RefitRows
    loss : record of `l0path.problem.losses`, optional
        Of these rows, where it holds their times.
    """
    loss = path._loss_record() if loss is None else loss
    keep = np.flatnonzero(rows.weights > 0)
    A, k = rows.design.columns(s.support)[keep], s.support.size
    params = np.asarray(results.params, dtype=np.float64)
    explicit = path._meta.intercept and not path._meta.ordered and path._meta.ties is None
    beta = params[int(explicit) :][:k]  # thresholds, and numbers of the loss, come after
    eta = A @ beta + (params[0] if explicit else 0.0)
    if path._meta.ordered or path._meta.ties:  # their constant is not in params
        eta = eta - eta.mean(axis=0)
    if loss.traits.recession == NO_RECESSION or not far_out(loss, eta):
        return []
    return infinite_coefficients(
        restricted(loss, rows.y, keep),
        rows.y[keep],
        A,
        [path._meta.names[j] for j in s.support],
        intercept=path._meta.intercept,
        weights=rows.weights[keep],
        offset=None if rows.offset is None else rows.offset[keep],
    )


def far_out(loss, eta):
    """Whether predictors are so far out that coefficients may be infinite: at half of the distance
    from which a path looks, because other solvers stop early. NaN is.
    """
    return not np.abs(eta).max(initial=0.0) < 0.5 * FAR_OUT[loss.traits.recession]


def infinite_coefficients(loss, y, A, names, *, intercept, weights=None, offset=None):
    """Names of the coefficients that have no finite estimate of maximum likelihood.

    Parameters
    ----------
    loss : record of `l0path.problem.losses`
        Of these rows: Cox's has their times.
    y : ndarray of shape (n,), or (n, r) of indicators
        As in `Problem.y`.
    A : ndarray of shape (n, k)
        Columns without a constant.
    names : list of str
    intercept : bool
    weights, offset : ndarray of shape (n,), optional
    """
    found = separation_of(loss, y, A, intercept=intercept, weights=weights, offset=offset)
    if found is None:
        return []
    infinite = np.nan_to_num(found.coef_sign, nan=1.0).reshape(len(names), -1).any(axis=1)
    first = intercept and not loss.traits.response == "ordered" and np.any(found.level_sign != 0)
    return ["(Intercept)"] * bool(first) + [
        n for n, one in zip(names, infinite, strict=True) if one
    ]


def separated(loss, names):
    """A sentence about coefficients that have no finite estimate; loss: what has its traits."""
    listed = ", ".join(map(str, names[:8])) + (", ..." if len(names) > 8 else "")
    does = DOES.get(loss.traits.recession, "separate the classes")
    one = len(names) == 1
    return (
        f"without shrinkage the features {does}, so the {'coefficient' if one else 'coefficients'} "
        f"of {listed} {'is' if one else 'are'} infinite, and {'its' if one else 'their'} estimates "
        "and standard errors in the refit mean nothing; choose a smaller k"
    )
