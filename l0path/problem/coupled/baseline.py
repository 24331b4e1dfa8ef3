"""The baseline hazards of a fitted partial likelihood."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..losses import restricted


class Baseline(NamedTuple):
    """Breslow's estimator (Biometrics 30, 1974): the cumulative hazard of a row whose predictor is
    `center`. In each stratum it is 0 before the first event time, does not change between two, and
    at each rises by the weight of the events over S = sum w_i exp(eta_i - center) of the rows at
    risk. Under Efron's ties d events of one time, with mean weight w and the sum T of
    w_i exp(eta_i - center), leave the rows at risk by d-ths: it rises by the sum of
    w / (S - j/d T) over j = 0..d-1, as in R's `survfit` (Therneau & Grambsch, Modeling Survival
    Data, 2000, section 10.2.3).

    times (g,): event times by stratum; block (s + 1,): where strata begin in it; hazard (g,): from
    each of these times on.
    """

    times: np.ndarray
    block: np.ndarray
    center: float
    hazard: np.ndarray


def baseline_of(loss, event, eta, weights):
    """The `Baseline` of a model.

    Parameters
    ----------
    loss : Cox
        Of the rows of the fit.
    event, eta, weights : ndarray of shape (n,)
        Events, 0 or 1, the predictor and the weights of these rows.

    Returns
    -------
    Baseline
    """
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
    baseline : Baseline
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
    stratum = np.zeros(new.size, np.int64) if stratum is None else stratum
    total = np.empty((new.size, times.size))
    for s in np.unique(stratum):
        part = slice(*baseline.block[s : s + 2])
        at = np.searchsorted(baseline.times[part], times, side="right")
        total[stratum == s] = np.append(0.0, baseline.hazard[part])[at]
    with np.errstate(over="ignore", invalid="ignore"):
        hazards = np.exp(new - baseline.center)[:, None] * total
    return times, np.where(total > 0, hazards, 0.0)  # exp may be infinite
