"""The hazards of fitted survival times."""

from itertools import pairwise

import numpy as np

from ..losses import restricted
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
    center = float(np.average(eta, weights=weights))  # exp of a predictor far from 0 may overflow
    u = weights * np.exp(eta - center)
    sets = list(loss.risk_sets())
    steps = np.array([_step(weights[tied], u[tied], u[at].sum(), loss.efron) for tied, at in sets])
    times = np.array([loss.stop[tied[0]] for tied, _ in sets])
    # the last strata may have no row of positive weight
    block = np.pad(loss.block, (0, strata + 1 - loss.block.size), mode="edge")
    for begin, end in pairwise(block):
        steps[begin:end] = np.cumsum(steps[begin:end])
    return Baseline(times, block, center, steps)


def event_times(loss, event, weights):
    """The event times of rows of positive weight, ascending."""
    return np.unique(loss.stop[(event > 0) & (weights > 0)])


def _step(w, u, at_risk, efron):
    """By how much the hazard rises at a time whose d events have the weights w (d,), and the
    weights times exp(predictor) u (d,).
    """
    if not efron:
        return w.sum() / at_risk
    return (w.mean() / (at_risk - np.arange(w.size) / w.size * u.sum())).sum()


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
        total[stratum == s] = np.append(0.0, baseline.hazard[part])[at]
    with np.errstate(over="ignore", invalid="ignore"):
        hazards = np.exp(new - baseline.center)[:, None] * total
    return times, np.where(total > 0, hazards, 0.0)  # exp may be infinite
