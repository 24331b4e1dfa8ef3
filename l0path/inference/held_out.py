"""Tests of chosen columns on held-out rows, without a penalty: one part of sample splitting."""

import math
import warnings
from typing import NamedTuple

import numpy as np

from ..core.warnings import recorded
from ..errors import SeparationWarning
from ..inspection.class_refits import NoOptimumError
from ..inspection.refits import RefitRows, refit_rows
from ..inspection.survival_refits import CoupledRows, maximum_likelihood, robust_covariance
from ..problem.responses import without_mean
from ..problem.several import predictors
from ..problem.verbs import restricted
from ..working_set.limits import left_of


class Split(NamedTuple):
    """One split. Each column has as many tests, one after another: arrays are (m tests,)."""

    support: np.ndarray  # (m,), the columns chosen
    estimate: np.ndarray  # on the held-out rows; NaN where these do not identify it
    error: np.ndarray  # standard errors, likewise
    p_value: np.ndarray  # likewise
    freedom: float  # degrees of freedom; inf: normal
    separated: bool = False  # whether the columns separate the classes of the held-out rows
    tests: int = 1  # of a column


def tested(path, s, data, held):
    """The `Split` of a solution s of a path, tested on the rows of `Data` with a weight in `held`
    (n,).
    """
    q = predictors(data.loss.traits, data.responses)
    unknown = np.full(s.support.size * q, np.nan)
    nothing = Split(s.support, unknown, unknown, unknown, math.inf, tests=q)
    if not s.support.size:
        return nothing
    if data.loss.traits.coupled:
        return _by_likelihood(data, s.support, held, nothing)
    rows = RefitRows(data.design, data.y, held, data.offset, None, False)
    rows = rows._replace(counts=data.counts, trials=data.trials, importance=_important(data, held))
    if data.responses is None:
        if without_mean(data.loss, held @ data.y):
            return nothing
        return _by_refit(path, s, rows, data, nothing)
    if data.loss.traits.by_class:
        try:
            return _by_refit(path, s, rows, data, nothing)
        except NoOptimumError:
            return _of_separated(data, s.support, held, nothing)
    parts = []
    for j in range(q):
        one = s._replace(beta=s.beta[:, j], intercept=s.intercept[j])
        offset = None if rows.offset is None else rows.offset[:, j]
        part = rows._replace(y=np.ascontiguousarray(rows.y[:, j]), offset=offset)
        parts.append(_by_refit(path, one, part, data, nothing._replace(tests=1)))
    if any(one.estimate.size != s.support.size for one in parts):
        return nothing
    arrays = [
        np.column_stack([getattr(one, name) for one in parts]).ravel()
        for name in ("estimate", "error", "p_value")
    ]
    return nothing._replace(
        estimate=arrays[0], error=arrays[1], p_value=arrays[2], freedom=parts[0].freedom
    )


def _important(data, held):
    """Whether rows have weights of importance that differ; class weights serve the choice only."""
    if not data.importance:
        return False
    seen, each = held > 0, held
    for multiple in (data.counts, data.trials):
        each = each if multiple is None else each / np.where(seen, multiple, 1.0)
    return bool(np.ptp(each[seen]) > 0)


def _by_refit(path, s, rows, data, nothing):
    """The `Split` of a refit in statsmodels; nothing: the one that says nothing."""
    from statsmodels.tools.sm_exceptions import SingularMatrixWarning

    with recorded() as caught:
        results = refit_rows(path, s, rows)
    if any(w.category is SeparationWarning for w in caught):
        return _of_separated(data, s.support, rows.weights, nothing)
    if results.df_resid <= 0:
        return nothing
    for w in caught:
        # `identified` says which coefficients mean nothing
        if w.category is not SingularMatrixWarning:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    exog = results.model.exog
    columns = slice(int(path._meta.intercept), exog.shape[1])  # a dispersion may come after them
    params, bse, pvalues = (
        v.to_numpy()[columns].reshape(s.support.size, -1)
        for v in (results.params, results.bse, results.pvalues)
    )
    known = identified(exog)[columns, None] & np.isfinite(bse) & (bse > 0)
    estimate, error, p_value = (np.where(known, v, np.nan).ravel() for v in (params, bse, pvalues))
    freedom = float(results.df_resid) if getattr(results, "use_t", False) else math.inf
    return nothing._replace(estimate=estimate, error=error, p_value=p_value, freedom=freedom)


def _by_likelihood(data, support, held, nothing):
    """The `Split` of survival times, or ordered classes, by maximum likelihood."""
    keep = held > 0
    names = [data.names[j] for j in support]
    offset = None if data.offset is None else data.offset[keep]
    A, loss = data.design.columns(support)[keep], restricted(data.loss, data.y, keep)
    counts = None if data.counts is None else data.counts[keep]
    rows = CoupledRows(A, names, data.y[keep], loss, held[keep], counts, offset)
    found = maximum_likelihood(rows)
    if not found.attained:
        return _of_separated(data, support, held, nothing)
    covariance = found.covariance
    if _important(data, held):
        covariance = robust_covariance(rows, found)
    return _with_tests(nothing, found.params, np.sqrt(np.diag(covariance)), found.known)


def _with_tests(split, estimate, error, known):
    """A `Split` with the normal tests of coefficients, of those that are known."""
    from scipy.stats import norm

    known = known & (error > 0.0) & np.isfinite(error)
    estimate, error = np.where(known, estimate, np.nan), np.where(known, error, np.nan)
    p_value = 2.0 * norm.sf(np.abs(estimate / error))
    return split._replace(estimate=estimate, error=error, p_value=p_value)


def _of_separated(data, support, held, nothing):
    """The `Split` of columns that separate the rows: those of their coefficients that have a finite
    estimate, by the terms of the likelihood that are left. None where a covariance would need a
    dispersion or the scores of rows, or a number of the loss is estimated with the coefficients.
    """
    traits, nothing = data.loss.traits, nothing._replace(separated=True)
    if _important(data, held) or traits.free_scale or traits.parameter == "theta":
        return nothing
    keep = held > 0
    found = left_of(
        restricted(data.loss, data.y, keep),
        data.y[keep],
        data.design.columns(support)[keep],
        intercept=data.intercept,
        weights=held[keep],
        offset=None if data.offset is None else data.offset[keep],
    )
    if found is None:
        return nothing
    # the mean of a partial likelihood is one over events
    n = float(held[keep] @ data.y[keep] if traits.partial else held[keep].sum())
    coef, error = found.params[: found.coefs], np.sqrt(found.variance[: found.coefs] / n)
    return _with_tests(nothing, coef, error, found.sign[: found.coefs] == 0.0)


def identified(A):
    """Whether each coefficient of least squares on A (n, m) is the same in all its solutions:
    nothing in the null space of A moves it.
    """
    size = np.linalg.norm(A, axis=0)
    scaled = A / np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    null = vectors[:, values <= 1e-12 * values[-1]]
    return (np.abs(null).max(axis=1, initial=0.0) < 1e-6) & (size > 0)
