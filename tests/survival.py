"""Survival data drawn for tests, and the partial likelihood of Cox by its definition: every risk
set is summed anew.
"""

from typing import NamedTuple

import numpy as np


class Times(NamedTuple):
    """Rows at risk in (start, stop] (start -inf: from the beginning), whether each ends with an
    event (0 or 1), weights, and strata: (n,) each.
    """

    start: np.ndarray
    stop: np.ndarray
    event: np.ndarray
    weights: np.ndarray
    stratum: np.ndarray


def draw(rng, n, *, entry=False, strata=1, weighted=False, eta=None, tied=True):
    """Times of n rows, many of them tied, with hazards exp(eta)."""
    hazard = np.exp(np.zeros(n) if eta is None else eta)
    life = rng.exponential(size=n) / hazard
    censored = rng.exponential(2.0, n)
    stop = np.minimum(life, censored)
    stop = np.ceil(4.0 * stop) if tied else stop
    event = (life <= censored).astype(float)
    event[np.argmin(stop)] = 1.0
    start = stop - np.ceil(rng.exponential(4.0, n)) if entry else np.full(n, -np.inf)
    weights = rng.uniform(0.3, 2.0, n) if weighted else np.ones(n)
    stratum = np.unique(rng.integers(0, strata, n), return_inverse=True)[1]
    return Times(start, stop, event, weights, stratum)


def terms(times, efron):
    """(weight, at risk (n,), deaths (n,)) of every term of the log partial likelihood: those at
    risk count less by a share of the tied deaths.
    """
    start, stop, event, weights, stratum = times
    for s in np.unique(stratum):
        for t in np.unique(stop[(event > 0) & (stratum == s)]):
            risk = (stratum == s) & (stop >= t) & (start < t)
            tied = (stratum == s) & (stop == t) & (event > 0)
            d = int(tied.sum())
            if not efron:
                yield weights[tied].sum(), risk * 1.0
                continue
            for r in range(d):
                yield weights[tied].mean(), risk - tied * (r / d)


def log_likelihood(times, eta, efron=True):
    """The log partial likelihood at eta (n,), as R's survival weighs it."""
    u = times.weights * np.exp(eta)
    total = (times.weights * times.event) @ eta
    return float(total - sum(v * np.log(risk @ u) for v, risk in terms(times, efron)))


def derivatives(times, eta, efron=True):
    """(gradient (n,), Hessian (n, n)) of minus the log partial likelihood in eta."""
    u = times.weights * np.exp(eta)
    gradient, hessian = -times.weights * times.event, np.zeros((eta.size, eta.size))
    for v, risk in terms(times, efron):
        share = risk * u / (risk @ u)
        gradient = gradient + v * share
        hessian += v * (np.diag(share) - np.outer(share, share))
    return gradient, hessian


def loss(times, eta, efron=True):
    """Minus the log partial likelihood for each event, weights taken as numbers of rows where they
    are whole, and scaled to a mean of 1 where they are not.
    """
    w = times.weights
    scale = 1.0 if np.array_equal(w, np.round(w)) else w.size / w.sum()
    events = scale * w @ times.event
    return -log_likelihood(times._replace(weights=scale * w), eta, efron) / events
