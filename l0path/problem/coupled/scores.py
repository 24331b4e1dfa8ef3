"""Scores of a linear predictor on rows of survival times that its fit has not seen."""

from typing import NamedTuple

import numpy as np

from ..verbs import mean_of_rows
from .baseline import baseline_of, cumulative_hazards
from .cox import Cox
from .hazard import Baseline, ParametricHazard
from .weibull import Weibull

CELLS = 2**22  # numbers of the curves of all rows that are held at once


class Undefined(ValueError):
    """The error that these rows do not define a score."""


class ScoredTimes(NamedTuple):
    """Survival times that a fit has not seen, with its predictions for them."""

    loss: Cox | Weibull  # of all rows, the level of a partial likelihood that of the fit
    event: np.ndarray  # (n,), 0 or 1
    eta: np.ndarray  # (n,), predictor of the fit
    train: np.ndarray  # (n,), weights of the rows of the fit, 0 for the others
    test: np.ndarray  # (n,), weights of the rows that are scored, 0 for the others
    # of the fit; None where it follows from the rows of `train`
    baseline: Baseline | ParametricHazard | None = None

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


def minus_log_likelihood(loss, event, eta, weights):
    """Minus the log partial likelihood of the rows of positive weight."""
    size = weights.sum()
    if not size > 0:
        return 0.0
    value = mean_of_rows(loss._replace(level=0.0), event, eta, weights / size)
    return (weights @ event) * (value + np.log(size))


def held_out_deviance(times):
    """The deviance of held-out rows for each of their events, on the scale of the rows of the fit;
    of a Weibull model -2 log likelihood for each row.

    Let M(rows) be minus the log partial likelihood of some rows, their weights scaled to the sum n,
    the number of rows of the fit, so that risk sets of fewer rows are as large as those of all. On
    training rows the deviance is 2 M / events. Of the held-out rows of a fold it is

        2 (M(training and held-out rows) - M(training rows)) / (events of the held-out rows)

    because risk sets of the held-out rows alone would hold too few (Verweij & van Houwelingen,
    Statistics in Medicine 12, 1993), and of new rows 2 M(new rows) / events. Without that scaling
    the three would differ by logarithms of numbers of rows, which no model changes.

    Parameters
    ----------
    times : ScoredTimes

    Returns
    -------
    float
    """
    loss, event, eta, train, test, _ = times
    if not loss.traits.partial:
        level, shape, _ = times.baseline or baseline_of(loss, event, eta, train)
        log_time = np.log(loss.stop)
        a = level + eta + shape * log_time
        with np.errstate(over="ignore"):
            rows = np.exp(a) - event * (a + np.log(shape) - log_time)
        return 2.0 * float(test[test > 0] @ rows[test > 0] / test.sum())

    def scaled(weights):
        size = weights.sum()
        if not size > 0:
            return 0.0
        return (weights @ event) * mean_of_rows(loss, event, eta, weights / size)

    return 2.0 * (scaled(np.maximum(train, test)) - scaled(train)) / (test @ event)


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
    codes = np.unique(eta, return_inverse=True)[1]
    right = total = most = 0.0
    for s in np.unique(loss.stratum):
        mine = (loss.stratum == s) & (weights > 0)
        first = mine & (event > 0)
        pairs = weights[first] * (1.0 if more is None else more[first])
        asked = loss.stop[first], codes[first]
        # of an event and a censored row at one time the event is first
        later = _beyond(asked, (loss.stop[mine], event[mine] == 0, codes[mine], weights[mine]))
        right, total = right + pairs @ later[0], total + pairs @ later[1]
        most += pairs @ later[1]
        if loss.start.size:  # rows that enter at the time of the event or later
            entry = loss.start[mine], np.ones(mine.sum(), bool), codes[mine], weights[mine]
            outside = _beyond(asked, entry)
            right, total = right - pairs @ outside[0], total - pairs @ outside[1]
    if not total > 1e-12 * most:  # a difference of sums, which rounding may leave above 0
        raise Undefined(
            "concordance needs an event in one row while another one is at risk, and these rows "
            "have none; use more rows, or fewer folds"
        )
    return float(right / total)


def _beyond(asked, given):
    """(below (m,), all (m,)): the weight of given rows with a later time, of those with a smaller
    code (equal codes count one half) and of all. Both orders are sorted once, and pairs are counted
    between halves of halves, in m log(m)^2 operations.

    asked: (times (m,), codes (m,)); given: (times (q,), whether an equal time is later (q,), codes
    (q,), weights (q,)).
    """
    time, code = np.concatenate([asked[0], given[0]]), np.concatenate([asked[1], given[2]])
    weight = np.concatenate([np.zeros(len(asked[0])), given[3]])
    after = np.concatenate([np.full(len(asked[0]), 0.5), given[1]])
    order = np.lexsort((-after, -time))  # the latest first
    code, weight = code[order], weight[order]
    place = np.arange(order.size)
    question = order < len(asked[0])
    below = np.zeros(order.size)
    for bit in range(max(order.size - 1, 0).bit_length()):
        block = (place >> (bit + 1)) * (code.max() + 1)
        second = (place >> bit) & 1 == 1
        earlier, later = ~question & ~second, question & second
        sort = np.argsort(block[earlier] + code[earlier])
        keys = (block[earlier] + code[earlier])[sort]
        sums = np.append(0.0, np.cumsum(weight[earlier][sort]))
        wanted, begin = (block + code)[later], sums[np.searchsorted(keys, block[later])]
        below[later] += 0.5 * (sums[np.searchsorted(keys, wanted)] - begin)
        below[later] += 0.5 * (sums[np.searchsorted(keys, wanted, "right")] - begin)
    found = np.empty((2, order.size))
    found[:, order] = below, np.cumsum(weight)
    return found[:, : len(asked[0])]


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
            at, place = np.unique(stop[~dead], return_inverse=True)
            gone = np.bincount(place, w[~dead], minlength=at.size)
            order = np.argsort(stop)
            ends = np.append(np.cumsum(w[order][::-1])[::-1], 0.0)
            left = ends[np.searchsorted(stop[order], at)]
            events = np.searchsorted(at, stop[dead])
            same = events < at.size
            same[same] = at[events[same]] == stop[dead][same]
            left = left - np.bincount(events[same], w[dead][same], minlength=at.size)
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


def over_time(times, at=None, ranks=True):
    """(times (q,), auc (q,), Brier scores (q,)) of the rows that are scored. at: the times, None
    for those of their events before their last time; ranks: False leaves auc out (NaN).
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
    order = np.argsort(loss.stop)
    stop, event, eta, weights, stratum = (
        one[order] for one in (loss.stop, event, eta, weights, loss.stratum)
    )
    ends = np.where(event > 0, weights / censoring.before(stop, stratum), 0.0)
    codes = np.unique(eta, return_inverse=True)[1]
    auc, brier = np.full((2, at.size), np.nan)
    width = max(CELLS // stop.size, 1)
    for begin in range(0, at.size, width):
        block = slice(begin, begin + width)
        curves = np.exp(-cumulative_hazards(baseline, eta, stratum, at[block])[1])
        ended = np.searchsorted(stop, at[block], "right")
        brier[block] = _brier(curves, ended, (ends, weights, stratum), (censoring, at[block]))
        for g, many in enumerate(ended if ranks else ()):
            auc[begin + g] = _auc(codes, stratum, (slice(many), ends), (slice(many, None), weights))
    return at, auc, brier


def _brier(curves, ended, rows, when):
    """Brier scores (q,) at some times of rows by increasing time, of which `ended` (q,) end until
    then. curves (n, q): probabilities of no event; rows: weights of events, of rows, and strata;
    when: (censoring, times (q,)).
    """
    ends, weights, stratum = rows
    censoring, at = when
    first, last = ended.min(), ended.max()
    squares = ends[:first] @ curves[:first] ** 2
    for s in np.unique(stratum[first:]):
        share = censoring.after(at, np.full(at.size, s))
        share[share <= 0] = 1.0  # all rows of the stratum have ended: none of them goes on
        mine = last + np.flatnonzero(stratum[last:] == s)
        squares += weights[mine] @ (1.0 - curves[mine]) ** 2 / share
        between = first + np.flatnonzero(stratum[first:last] == s)  # at some of the times ended
        gone = between[:, None] < ended
        case = ends[between, None] * curves[between] ** 2
        control = weights[between, None] * (1.0 - curves[between]) ** 2 / share
        squares += np.where(gone, case, control).sum(axis=0)
    return squares / weights.sum()


def _auc(codes, stratum, cases, controls):
    """The share of pairs of a case and a control of one stratum of which the case has the larger
    eta, whose order `codes` gives; NaN without pairs. cases, controls: (which (slice), weights
    (n,)).
    """
    right, total = 0.0, 0.0
    (ended, ends), (others, weights) = cases, controls
    for s in np.unique(stratum[ended]):
        case = np.where(stratum[ended] == s, ends[ended], 0.0)
        control = np.where(stratum[others] == s, weights[others], 0.0)
        there = np.bincount(codes[others], control, minlength=codes.max() + 1)
        below = np.cumsum(there) - 0.5 * there
        right += case @ below[codes[ended]]
        total += case.sum() * there.sum()
    return right / total if total > 0 else np.nan


def integrated_brier(times):
    """The mean over time of the Brier score of `over_time`, between the first and the last event
    before the last time (trapezoids).
    """
    at, _, brier = over_time(times, ranks=False)
    return float(np.trapezoid(brier, at) / (at[-1] - at[0]) if at.size > 1 else brier[0])
