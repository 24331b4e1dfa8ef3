"""Refits of columns that separate: which coefficients have no finite estimate."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..problem.recession import SAME_SIGN
from ..problem.traits import (
    EMPTIES,
    FAR_OUT,
    FILLS,
    MONOTONE,
    NO_RECESSION,
    ORDERED,
    OUTLASTS,
    SEPARATES,
    nearer,
)
from ..problem.verbs import restricted
from ..working_set.limits import left_of

OF_ROWS = (SEPARATES, EMPTIES, FILLS)  # losses that have a term for each row, but several classes

DOES = {
    EMPTIES: "send the rates of some rows to zero",
    FILLS: "send the shares of some rows to 0 or 1",
    MONOTONE: "make the partial likelihood monotone",
    OUTLASTS: "send the hazards of some rows to zero",
}


class RefitLimit(NamedTuple):
    """What is left of a likelihood that has no maximum, for all m parameters of a refit in the
    order of statsmodels.

    Attributes
    ----------
    infinite : list of str
        The names of features, and of the intercept, with an infinite coefficient.
    sign : ndarray of shape (m,)
        0 for a parameter that has an estimate; 1 or -1 for one that is infinite with this sign; NaN
        for one that is infinite with either sign.
    params : ndarray of shape (m,)
        The parameters near the supremum, finite stand-ins of what is infinite among them.
    root : ndarray of shape (m, v)
        Directions of parameters that change the terms that are left.
    open : ndarray of shape (m, f)
        Those that change none of them: linear functions of parameters that they move have no
        estimate.
    inverse : ndarray of shape (v, v)
        The inverse Hessian of the mean loss along `root`.
    left : ndarray of bool of shape (n,)
        The rows whose terms are left; None where terms belong to several rows, or rows have several
        terms.
    """

    infinite: list
    sign: np.ndarray
    params: np.ndarray
    root: np.ndarray
    open: np.ndarray
    inverse: np.ndarray
    left: np.ndarray | None

    def covariance(self, n):
        """(m, m) the covariance of the parameters from n rows, of which linear functions that have
        an estimate may be taken.
        """
        return self.root @ (self.inverse / n) @ self.root.T

    def estimable(self, contrasts):
        """Whether linear functions (r, m) of the parameters have an estimate: (r,)."""
        contrasts = np.atleast_2d(contrasts)
        moved = np.abs(contrasts @ self.open).max(axis=1, initial=0.0)
        size = np.abs(contrasts) @ np.abs(np.hstack([self.root, self.open])).max(axis=1, initial=0)
        return moved <= SAME_SIGN * size

    def with_number(self, value):
        """The same with a number of the loss, which has an estimate, after the parameters."""
        m, v = self.root.shape
        root = np.zeros((m + 1, v + 1))
        root[:m, :v], root[m, v] = self.root, 1.0
        return self._replace(
            sign=np.append(self.sign, 0.0),
            params=np.append(self.params, value),
            root=root,
            open=np.vstack([self.open, np.zeros(self.open.shape[1])]),
        )


def limit_in(results, path, s, rows, loss=None):
    """The `RefitLimit` of a refit, of the rows of positive weight; None where the likelihood has a
    maximum, and without a look where no predictor is far from 0.

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
    if loss.traits.recession == NO_RECESSION or not far_out(loss, eta, rows.weights):
        return None
    return limit_of_refit(
        restricted(loss, rows.y, keep),
        rows.y[keep],
        A,
        [path._meta.names[j] for j in s.support],
        intercept=path._meta.intercept,
        weights=rows.weights[keep],
        offset=None if rows.offset is None else rows.offset[keep],
    )


def far_out(loss, eta, weights):
    """Whether predictors of weighted rows are so far out that coefficients may be infinite: at half
    of the distance from which a path looks, because other solvers stop early. NaN is.
    """
    recession = loss.traits.recession
    far = np.abs(eta).max(initial=0.0) + nearer(recession, weights)
    return not far < 0.5 * FAR_OUT[recession]


def limit_of_refit(loss, y, A, names, *, intercept, weights=None, offset=None):
    """The `RefitLimit` of a likelihood on columns; None where it has a maximum, or linear programs
    do not tell.

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
    left = left_of(loss, y, A, intercept=intercept, weights=weights, offset=offset)
    if left is None:
        return None
    recession, coefs, sign, H = loss.traits.recession, left.coefs, left.sign, left.hessian
    k, width = len(names), 1 if np.ndim(y) == 1 else np.shape(y)[1] - 1
    infinite = np.nan_to_num(sign[:coefs], nan=1.0).reshape(k, -1).any(axis=1)
    first = intercept and recession != ORDERED and np.any(sign[coefs:] != 0)
    # statsmodels has the intercept first, thresholds last, and several classes one after another
    order = np.arange(sign.size)
    if recession != ORDERED:
        order = np.concatenate([order[coefs:].reshape(-1, width), order[:coefs].reshape(k, width)])
        order = order.ravel(order="F")
    return RefitLimit(
        ["(Intercept)"] * bool(first) + [n for n, one in zip(names, infinite, strict=True) if one],
        sign[order],
        left.params[order],
        left.root[order],
        left.open[order],
        np.linalg.pinv(H, hermitian=True) if H.size else H,
        ~left.gone if recession in OF_ROWS and np.ndim(y) == 1 else None,
    )


def take_limit(results, limit, covariance):
    """Give results of statsmodels the parameters and the covariance of a `RefitLimit`. Standard
    errors and covariances of what is infinite are NaN, and its intervals the whole line.
    """
    inner = getattr(results, "_results", results)
    inner.infinite, inner.limit = limit.infinite, limit
    inner.params = limit.params.reshape(np.shape(inner.params), order="F")
    take_covariance(results, covariance)
    without = limit.sign != 0.0
    inner.cov_params_default = np.where(without[:, None] | without, np.nan, covariance)
    inner.conf_int = partial(_intervals, type(inner).conf_int, inner)


def take_covariance(results, covariance):
    """Give results of statsmodels the covariance of the parameters, (m, m), NaN for a parameter
    that has none; also of linear functions of the others.
    """
    inner = getattr(results, "_results", results)
    inner.covariance = inner.cov_params_default = covariance
    inner.cov_params = partial(_covariance, type(inner).cov_params, inner)


def _covariance(method, results, r_matrix=None, *args, **kwargs):
    """The covariance of statsmodels; that of linear functions of parameters from all of these."""
    if r_matrix is None or args or set(kwargs) - {"cov_p"} or kwargs.get("cov_p") is not None:
        return method(results, r_matrix, *args, **kwargs)
    R, limit = np.atleast_2d(np.asarray(r_matrix, dtype=float)), getattr(results, "limit", None)
    unknown = np.isnan(np.diagonal(results.covariance))
    without = (R[:, unknown] != 0.0).any(axis=1)
    if limit is not None:
        without |= ~limit.estimable(R)
    S, covariance = R[:, ~unknown], results.covariance[~unknown][:, ~unknown]
    found = np.where(without[:, None] | without, np.nan, S @ covariance @ S.T)
    return found if np.ndim(r_matrix) > 1 else found[0, 0]


def _intervals(method, results, *args, **kwargs):
    return unbounded(method(results, *args, **kwargs), results)


def unbounded(ends, results):
    """Intervals, an array or a table of their two ends, with the whole line for parameters that are
    infinite.
    """
    limit = getattr(results, "limit", None)
    if limit is None:
        return ends
    whole = np.flatnonzero(limit.sign != 0.0)
    if isinstance(ends, pd.DataFrame):
        ends = ends.copy()
        ends.iloc[whole] = [-np.inf, np.inf]
        return ends
    ends = np.array(ends, dtype=float)
    ends.reshape(-1, 2)[whole] = [-np.inf, np.inf]
    return ends


def estimated(results):
    """The parameters of a refit with what is infinite as such, of either sign as NaN; in the form
    that the results have them in.
    """
    params, limit = results.params, getattr(results, "limit", None)
    if limit is None:
        return params
    without = limit.sign != 0.0
    values = limit.params.copy()
    values[without] = limit.sign[without] * np.inf
    values = values.reshape(np.shape(params), order="F")
    if isinstance(params, pd.DataFrame):
        return pd.DataFrame(values, index=params.index, columns=params.columns)
    return pd.Series(values, index=params.index) if isinstance(params, pd.Series) else values


def separated(loss, names):
    """A sentence about coefficients that have no finite estimate; loss: what has its traits."""
    listed = ", ".join(map(str, names[:8])) + (", ..." if len(names) > 8 else "")
    does = DOES.get(loss.traits.recession, "separate the classes")
    one = len(names) == 1
    return (
        f"without shrinkage the features {does}, so the {'coefficient' if one else 'coefficients'} "
        f"of {listed} {'is' if one else 'are'} infinite and {'has' if one else 'have'} no standard "
        f"{'error' if one else 'errors'}; choose a smaller k"
    )
