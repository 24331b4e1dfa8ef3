"""The baseline hazard of a fitted partial likelihood."""

import numpy as np

from ..losses import restricted


def cumulative_hazards(loss, event, eta, weights, new, times=None):
    """Cumulative hazards of new predictors by Breslow's estimator (Biometrics 30, 1974).

    Between two event times it does not change, and at each it rises by the weight of the events
    over sum w_i exp(eta_i) of the rows at risk.

    Parameters
    ----------
    loss : Cox
        Of the rows of the fit, in one stratum.
    event, eta, weights : ndarray of shape (n,)
        Events, 0 or 1, the predictor and the weights of these rows.
    new : ndarray of shape (m,)
        Predictors of other rows.
    times : ndarray of shape (q,), optional
        None takes the event times.

    Returns
    -------
    times : ndarray of shape (q,)
    hazards : ndarray of shape (m, q)
    """
    seen = weights > 0
    if not seen.all():
        loss = restricted(loss, event, seen)
        event, eta, weights = event[seen], eta[seen], weights[seen]
    center = float(np.average(eta, weights=weights))  # exp of a predictor far from 0 may overflow
    u = weights * np.exp(eta - center)
    sets = list(loss.risk_sets())
    steps = np.array([weights[tied].sum() / u[at].sum() for tied, at in sets])
    known = np.array([loss.stop[tied[0]] for tied, _ in sets])
    times = known if times is None else times
    total = np.append(0.0, np.cumsum(steps))[np.searchsorted(known, times, side="right")]
    with np.errstate(over="ignore"):
        return times, np.exp(new - center)[:, None] * total
