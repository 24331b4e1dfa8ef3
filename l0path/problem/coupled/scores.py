"""Scores of a linear predictor on rows of survival times that its fit has not seen."""

import numpy as np

from ..losses import mean_of_rows


def _total(loss, event, eta, weights):
    """Minus the log partial likelihood of the rows of positive weight."""
    size = weights.sum()
    value = mean_of_rows(loss._replace(level=0.0), event, eta, weights / size)
    return (weights @ event) * (value + np.log(size))


def held_out_deviance(loss, event, eta, train, test):
    """The deviance of held-out rows for each of their events, in its difference form.

    It is twice the log partial likelihood that the training rows have more than these and the
    held-out rows together: risk sets of the held-out rows alone would be too small (Verweij & van
    Houwelingen, Statistics in Medicine 12, 1993).

    Parameters
    ----------
    loss : Cox
        Of all rows.
    event, eta : ndarray of shape (n,)
        Events, 0 or 1, and the predictor of a fit to the training rows.
    train, test : ndarray of shape (n,)
        Weights of the training rows and of the held-out rows, 0 for the others.

    Returns
    -------
    float
    """
    more = _total(loss, event, eta, np.maximum(train, test)) - _total(loss, event, eta, train)
    return 2.0 * more / (test @ event)


def concordance(loss, event, eta, weights):
    """The share of comparable pairs of rows of positive weight of which the one with the earlier
    event has the larger eta (Harrell, Lee & Mark, Statistics in Medicine 15, 1996); equal eta count
    one half, pairs by the product of their weights. A pair is comparable if one row has an event
    while the other one is at risk, in the same stratum, and goes on.

    Raises
    ------
    ValueError
        If there is no such pair.
    """
    right, total = 0.0, 0.0
    for i in np.flatnonzero((event > 0) & (weights > 0)):
        later = (loss.stop > loss.stop[i]) | ((loss.stop == loss.stop[i]) & (event == 0))
        later &= (loss.stratum == loss.stratum[i]) & (weights > 0)
        if loss.start.size:
            later &= loss.start < loss.stop[i]
        pair = weights[i] * weights[later]
        right += pair @ ((eta[i] > eta[later]) + 0.5 * (eta[i] == eta[later]))
        total += pair.sum()
    if not total > 0:
        raise ValueError(
            "concordance needs an event in one row while another one is at risk, and these rows "
            "have none; use more rows, or fewer folds"
        )
    return float(right / total)
