"""The hazards of fitted survival times."""

from itertools import pairwise

import numpy as np

from ..verbs import restricted
from .hazard import Baseline, ParametricHazard
from .weibull import best_shape


def baseline_of(loss, event, eta, weights):
    """The `Baseline` of a model, or the `ParametricHazard` of a Weibull model.

    Parameters
    ----------
    loss : Cox or Weibull
        Of the rows of the fit.
    event, eta, weights : ndarray of shape (n,)
        Events, 0 or 1, the predictor and the weights of these rows.

    Returns
    -------
    Baseline or ParametricHazard
    """
    if not loss.traits.partial:
        best = best_shape(loss, event, eta, weights)
        return ParametricHazard(best.level, best.shape, event_times(loss, event, weights))
    strata, seen = loss.block.size - 1, weights > 0
    if not seen.all():
        loss = restricted(loss, event, seen)
        event, eta, weights = event[seen], eta[seen], weights[seen]
    sets = list(loss.risk_sets())
    logs = np.array([_log_step(weights, eta, tied, at, loss.efron) for tied, at in sets])
    times = np.array([loss.stop[tied[0]] for tied, _ in sets])
    # the last strata may have no row of positive weight
    block = np.pad(loss.block, (0, strata + 1 - loss.block.size), mode="edge")
    for begin, end in pairwise(block):
        logs[begin:end] = np.logaddexp.accumulate(logs[begin:end])
    return Baseline(times, block, logs)


def event_times(loss, event, weights):
    """The event times of rows of positive weight, ascending."""
    return np.unique(loss.stop[(event > 0) & (weights > 0)])


def _log_step(weights, eta, tied, at, efron):
    """The logarithm of the rise of the hazard at a time with the events `tied`, of the rows `at`
    that are at risk.
    """
    top, w = eta[at].max(), weights[tied]  # exp of a predictor far from 0 may overflow
    at_risk = (weights[at] * np.exp(eta[at] - top)).sum()
    if not efron:
        return np.log(w.sum() / at_risk) - top
    leaving = (weights[tied] * np.exp(eta[tied] - top)).sum()
    return np.log((w.mean() / (at_risk - np.arange(w.size) / w.size * leaving)).sum()) - top


def cumulative_hazards(baseline, new, stratum=None, times=None):
    """Cumulative hazards of rows.

    Parameters
    ----------
    baseline : Baseline or ParametricHazard
        That of a model.
    new : ndarray of shape (m,)
        Predictors of the rows.
    stratum : ndarray of shape (m,), optional
        Numbers of their strata. None: the first.
    times : ndarray of shape (q,), optional
        None takes the event times, those of all strata.

    Returns
    -------
    times : ndarray of shape (q,)
    hazards : ndarray of shape (m, q)
    """
    times = np.unique(baseline.times) if times is None else times
    if isinstance(baseline, ParametricHazard):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logs = np.log(np.maximum(times, 0.0))
            return times, np.exp((baseline.level + new)[:, None] + baseline.shape * logs)
    stratum = np.zeros(new.size, np.int64) if stratum is None else stratum
    total = np.empty((new.size, times.size))
    for s in np.unique(stratum):
        part = slice(*baseline.block[s : s + 2])
        at = np.searchsorted(baseline.times[part], times, side="right")
        total[stratum == s] = np.append(-np.inf, baseline.log_hazard[part])[at]
    with np.errstate(over="ignore"):  # exp may be infinite
        return times, np.where(total > -np.inf, np.exp(new[:, None] + total), 0.0)
