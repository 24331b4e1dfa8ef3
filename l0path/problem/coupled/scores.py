"""Scores of a linear predictor on rows of survival times that its fit has not seen."""

from typing import NamedTuple

import numpy as np

from ..losses import mean_of_rows
from .baseline import Baseline, baseline_of, cumulative_hazards
from .event_times import Cox

TIMES = 256  # at which curves of all rows are held at once


class Undefined(ValueError):
    """The error that these rows do not define a score."""


class ScoredTimes(NamedTuple):
    """Survival times that a fit has not seen, and what it says of them.

    loss: of all rows; event, eta (n,): events, 0 or 1, and the predictor of the fit; train, test
    (n,): weights of the rows of the fit and of those that are scored, 0 for the others; baseline:
    that of the fit, None where it follows from the rows of `train`.
    """

    loss: Cox
    event: np.ndarray
    eta: np.ndarray
    train: np.ndarray
    test: np.ndarray
    baseline: Baseline | None = None

    def scored(self):
        """The rows that are scored alone."""
        seen = self.test > 0
        if not (self.event[seen] > 0).any():
            raise Undefined("these rows have no event, and scores of survival times need one")
        return self._replace(
            loss=self.loss.restricted(self.event, seen),
            event=self.event[seen],
            eta=self.eta[seen],
            train=np.zeros(int(seen.sum())),
            test=self.test[seen],
            baseline=self.baseline or baseline_of(self.loss, self.event, self.eta, self.train),
        )


# -------------------- partial likelihood and pairs


def _total(loss, event, eta, weights):
    """Minus the log partial likelihood of the rows of positive weight."""
    size = weights.sum()
    if not size > 0:
        return 0.0
    value = mean_of_rows(loss._replace(level=0.0), event, eta, weights / size)
    return (weights @ event) * (value + np.log(size))


def held_out_deviance(times):
    """The deviance of held-out rows for each of their events, in its difference form.

    It is twice the log partial likelihood that the training rows have more than these and the
    held-out rows together: risk sets of the held-out rows alone would be too small (Verweij & van
    Houwelingen, Statistics in Medicine 12, 1993). Where no row is one of training, as in scores of
    new rows, it is minus twice the log partial likelihood of the rows that are scored.

    Parameters
    ----------
    times : ScoredTimes

    Returns
    -------
    float
    """
    loss, event, eta, train, test, _ = times
    both = _total(loss, event, eta, np.maximum(train, test))
    return 2.0 * (both - _total(loss, event, eta, train)) / (test @ event)


def concordance(loss, event, eta, weights, more=None):
    """The share of comparable pairs of rows of positive weight of which the one with the earlier
    event has the larger eta (Harrell, Lee & Mark, Statistics in Medicine 15, 1996); equal eta count
    one half, pairs by the product of their weights. A pair is comparable if one row has an event
    while the other one is at risk, in the same stratum, and goes on. more (n,): what pairs count
    besides, by the row with the earlier event.

    Raises
    ------
    Undefined
        If there is no such pair.
    """
    right, total = 0.0, 0.0
    for i in np.flatnonzero((event > 0) & (weights > 0)):
        later = (loss.stop > loss.stop[i]) | ((loss.stop == loss.stop[i]) & (event == 0))
        later &= (loss.stratum == loss.stratum[i]) & (weights > 0)
        if loss.start.size:
            later &= loss.start < loss.stop[i]
        pair = weights[i] * weights[later] * (1.0 if more is None else more[i])
        right += pair @ ((eta[i] > eta[later]) + 0.5 * (eta[i] == eta[later]))
        total += pair.sum()
    if not total > 0:
        raise Undefined(
            "concordance needs an event in one row while another one is at risk, and these rows "
            "have none; use more rows, or fewer folds"
        )
    return float(right / total)


def harrell(times):
    """`concordance` of the rows that are scored."""
    return concordance(times.loss, times.event, times.eta, times.test)


def uno(times):
    """The concordance of Uno, Cai, Pencina, D'Agostino & Wei (Statistics in Medicine 30, 2011):
    pairs count 1 / G(t)^2, t the time of the earlier event, so that the share does not depend on
    the censoring.
    """
    times = times.scored()
    share = Censoring(times).before(times.loss.stop, times.loss.stratum)
    return concordance(times.loss, times.event, times.eta, times.test, share**-2.0)


# -------------------- over time


class Censoring:
    """G: Kaplan-Meier estimates of the share of rows that are not censored yet, by stratum. Of an
    event and a censored row at one time the event is first.
    """

    def __init__(self, times):
        loss, event, weights = times.loss, times.event, times.test
        if loss.start.size:
            raise Undefined(
                "rows that enter late (times of entry in y) have no score that weighs by the "
                "probability of censoring; use scoring='deviance' or 'concordance'"
            )
        self.steps = {}
        for s in np.unique(loss.stratum):
            mine = loss.stratum == s
            stop, w, dead = loss.stop[mine], weights[mine], event[mine] > 0
            at = np.unique(stop[~dead])
            left = [w[(stop > t) | ((stop == t) & ~dead)].sum() for t in at]
            gone = [w[(stop == t) & ~dead].sum() for t in at]
            kept = 1.0 - np.divide(gone, left) if at.size else np.empty(0)
            self.steps[int(s)] = at, np.append(1.0, np.cumprod(kept))

    def _share(self, t, stratum, side):
        out = np.ones(np.broadcast_shapes(np.shape(t), stratum.shape))
        t = np.broadcast_to(t, out.shape)
        for s, (at, share) in self.steps.items():
            mine = stratum == s
            out[mine] = share[np.searchsorted(at, t[mine], side)]
        return out

    def before(self, t, stratum):
        """G(t-) for rows with these times and strata."""
        return self._share(t, stratum, "left")

    def after(self, t, stratum):
        """G(t) for one time and rows of these strata."""
        return self._share(t, stratum, "right")


def over_time(times, at=None):
    """(times (q,), auc (q,), Brier scores (q,)) of the rows that are scored. at: the times, None
    for those of their events before their last time.
    """
    times = times.scored()
    loss, event, eta, _, weights, baseline = times
    censoring = Censoring(times)
    if at is None:
        at = np.unique(loss.stop[event > 0])
        at = at[at < loss.stop.max()]
        if not at.size:
            raise Undefined("these rows have no event before their last time")
    if not (at < loss.stop.max()).all():
        raise ValueError(
            f"times={at.max():g} is not before the last time of these rows, {loss.stop.max():g}; "
            "from then on nobody is at risk"
        )
    ends = weights / censoring.before(loss.stop, loss.stratum)
    codes = np.unique(eta, return_inverse=True)[1]
    auc, brier = np.empty((2, at.size))
    for begin in range(0, at.size, TIMES):
        part = at[begin : begin + TIMES]
        curves = np.exp(-cumulative_hazards(baseline, eta, loss.stratum, part)[1])
        for g, t in enumerate(part):
            case, control = (loss.stop <= t) & (event > 0), loss.stop > t
            goes_on = weights[control] / censoring.after(t, loss.stratum[control])
            squares = ends[case] @ curves[case, g] ** 2 + goes_on @ (1.0 - curves[control, g]) ** 2
            brier[begin + g] = squares / weights.sum()
            auc[begin + g] = _auc(codes, loss.stratum, (case, ends), (control, weights))
    return at, auc, brier


def _auc(codes, stratum, cases, controls):
    """The share of pairs of a case and a control of one stratum of which the case has the larger
    eta, whose order `codes` gives; NaN without pairs. cases, controls: (which (n,), weights (n,)).
    """
    right, total = 0.0, 0.0
    for s in np.unique(stratum[cases[0]]):
        one, other = (which & (stratum == s) for which, _ in (cases, controls))
        there = np.bincount(codes[other], controls[1][other], minlength=codes.max() + 1)
        below = np.cumsum(there) - 0.5 * there
        right += cases[1][one] @ below[codes[one]]
        total += cases[1][one].sum() * there.sum()
    return right / total if total > 0 else np.nan


def integrated_brier(times):
    """The mean over time of the Brier score of `over_time`, between the first and the last event
    before the last time (trapezoids).
    """
    at, _, brier = over_time(times)
    return float(np.trapezoid(brier, at) / (at[-1] - at[0]) if at.size > 1 else brier[0])
