"""The Cox partial likelihood: a loss that is no sum over rows.

With weights w (n,) that are positive, u_i = w_i exp(eta_i), the risk set R_g = {i: start_i < t_g <=
stop_i} and the deaths D_g of each event time t_g of each stratum,

    loss = (sum_t v_t log phi_t - sum_{deaths} w_i eta_i) / sum_{deaths} w_i,                   (L)
    phi_t = sum_{R_g} u_i - f_t sum_{D_g} u_i

A *term* t belongs to an event time g. Breslow's ties have one for each time, v_t = sum_{D_g} w_i
and f_t = 0; Efron's have one for each death, v_t the mean weight of D_g and f_t = 0, 1/d, .., (d -
1)/d for the d deaths. With pi_t (n,) the shares of the rows in phi_t, the curvature in eta is

    B = diag(v) - P'P,   v = sum_t v_t pi_t,   P z = (sqrt(v_t) pi_t'z)_t

over sum_{deaths} w_i. Sums over risk sets and times are cumulative, so value, slopes and P z cost
O(n). `level` is added so that the loss does not depend on the scale of the weights: it is the
negative log partial likelihood for each event where weights are whole numbers, which count rows.

Sources: Cox (JRSS B 34, 1972); Breslow (Biometrics 30, 1974); Efron (JASA 72, 1977), with weights
as in R's survival (Therneau & Grambsch, Modeling Survival Data, 2000, section 3.3).
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from .traits import MONOTONE, LossTraits
from .verbs import (
    bound_of_rows,
    coupling_of_rows,
    derivatives,
    derivatives_of_rows,
    least_value,
    rank_of,
    slope_along,
    unseen,
    value_of_rows,
)

LOOKS = 3  # predictors whose slopes must all be orthogonal to a column that the loss does not see
ORTHOGONAL = 1e-11  # the cosine up to which they are
CANCELLED = 1e-3  # share of a running sum below which what rows left it is summed anew


class Cox(NamedTuple):
    """The negative log partial likelihood of rows (start, stop], by `cox_of`. y holds the events, 0
    or 1.

    start (n,), or (0,) where all begin at minus infinity; stop, stratum (n,); efron; level: the log
    of the number of rows. order (n,): rows by stratum and stop; leave (n,) or (0,): rows by stratum
    and start; edges (s + 1,): where strata begin in both. deaths: rows by stratum and time; first
    (g + 1,): where event times begin in it; block (s + 1,): the event times of strata. upto, gone
    (g,): where `order` has the rows of the risk set from, and `leave` those that are to come.
    since, until (n,): the event times at which a row is at risk.
    term (g + 1,): the terms of event times; fraction, share: f_t, and v_t / sum_{D_g} w_i.
    """

    traits = LossTraits(
        "cox",
        "survival",
        math.inf,
        jumps=False,
        recession=MONOTONE,
        bounded=False,
        likelihood=True,
        coupled=True,
        intercept=False,
    )

    start: np.ndarray
    stop: np.ndarray
    stratum: np.ndarray
    efron: bool
    level: float
    order: np.ndarray
    leave: np.ndarray
    edges: np.ndarray
    deaths: np.ndarray
    first: np.ndarray
    block: np.ndarray
    upto: np.ndarray
    gone: np.ndarray
    since: np.ndarray
    until: np.ndarray
    term: np.ndarray
    fraction: np.ndarray
    share: np.ndarray

    def restricted(self, event, rows, level=None):
        """The loss of some rows (mask or indices), all of them of positive weight. event (n,): of
        all rows; level: by default that of this loss.
        """
        start = self.start[rows] if self.start.size else self.start
        level = self.level if level is None else level
        return cox_of(
            start,
            self.stop[rows],
            event[rows],
            stratum=self.stratum[rows],
            efron=self.efron,
            level=level,
        )


def cox_of(start, stop, event, *, stratum=None, efron=True, level=0.0):
    """The `Cox` loss of rows at risk in (start, stop] (n,); event (n,): 1 where one happened at
    stop. start: empty where all rows are at risk from the beginning. stratum (n,): whole numbers
    from 0.
    """
    n = stop.size
    stratum = np.zeros(n, np.int64) if stratum is None else np.asarray(stratum, np.int64)
    number = int(stratum.max(initial=-1)) + 1
    order = np.lexsort((stop, stratum))
    leave = np.lexsort((start, stratum)) if start.size else np.empty(0, np.int64)
    edges = np.searchsorted(stratum[order], np.arange(number + 1))
    deaths = order[event[order] > 0]
    new = np.append(True, (np.diff(stop[deaths]) > 0) | (np.diff(stratum[deaths]) > 0))
    first = np.append(np.flatnonzero(new[: deaths.size]), deaths.size)
    at, of = stop[deaths[first[:-1]]], stratum[deaths[first[:-1]]]
    block = np.searchsorted(of, np.arange(number + 1))
    upto = _places(order, stop, at, of, edges)
    gone = _places(leave, start, at, of, edges) if start.size else np.zeros_like(upto)
    since, until = block[stratum], np.empty(n, np.int64)
    for s in range(number):
        mine, times = stratum == s, at[block[s] : block[s + 1]]
        until[mine] = block[s] + np.searchsorted(times, stop[mine], "right")
        if start.size:
            since = since.copy()
            since[mine] = block[s] + np.searchsorted(times, start[mine], "right")
    size = np.diff(first)
    many = size if efron else np.ones_like(size)
    term = np.append(0, np.cumsum(many))
    within = np.arange(term[-1]) - np.repeat(term[:-1], many)
    whole = [order, leave, edges, deaths, first, block, upto, gone, since, until]
    return Cox(
        np.ascontiguousarray(start, dtype=np.float64),
        np.ascontiguousarray(stop, dtype=np.float64),
        np.ascontiguousarray(stratum),
        bool(efron),
        float(level),
        *(np.ascontiguousarray(one, dtype=np.int64) for one in whole),
        np.ascontiguousarray(term, dtype=np.int64),
        within / np.repeat(many, many),
        1.0 / np.repeat(many, many),
    )


def _places(order, time, at, of, edges):
    """The first of the rows `order`, sorted by stratum and time, with a time of at least `at` in
    stratum `of`.
    """
    out = np.empty(at.size, np.int64)
    for s in range(edges.size - 1):
        mine = of == s
        rows = order[edges[s] : edges[s + 1]]
        out[mine] = edges[s] + np.searchsorted(time[rows], at[mine])
    return out


class Risk(NamedTuple):
    """The sums at a predictor: u (n,) with the largest eta of its stratum taken off, tops; of event
    times, (g,): all at risk, the tied deaths, and their weight; fresh: whether the sum over the
    risk set is made anew; the weight of all deaths.
    """

    u: np.ndarray
    tops: np.ndarray
    sums: np.ndarray
    tied: np.ndarray
    weight: np.ndarray
    fresh: np.ndarray
    total: float


@njit
def at_risk(loss, eta, weights):
    """The `Risk` of a predictor."""
    n, groups = eta.size, loss.first.size - 1
    u, tops = np.empty(n), np.empty(loss.edges.size - 1)
    v, fresh, total = np.empty((3, groups)), np.zeros(groups, np.bool_), 0.0
    for s in range(tops.size):
        tops[s] = -np.inf
    for i in range(n):
        tops[loss.stratum[i]] = max(tops[loss.stratum[i]], eta[i])
    for i in range(n):
        u[i] = weights[i] * math.exp(eta[i] - tops[loss.stratum[i]])
    for g in range(groups):
        v[2, g] = 0.0
        for d in range(loss.first[g], loss.first[g + 1]):
            v[2, g] += weights[loss.deaths[d]]
        total += v[2, g]
    if loss.leave.size > 0:
        _mark_fresh(loss, u, fresh)
    sum_risk_sets(loss, fresh, u, v[0])
    sum_ties(loss, u, v[1])
    return Risk(u, tops, v[0], v[1], v[2], fresh, total)


@njit
def _mark_fresh(loss, u, fresh):
    """Mark the event times at which so much of a running sum over the risk set has left that
    rounding shows.
    """
    for s in range(loss.block.size - 1):
        total, peak = 0.0, 0.0
        enter, go = loss.edges[s + 1], loss.edges[s + 1]
        for g in range(loss.block[s + 1] - 1, loss.block[s] - 1, -1):
            while enter > loss.upto[g]:
                enter -= 1
                total += u[loss.order[enter]]
            peak = max(peak, total)
            while go > loss.gone[g]:
                go -= 1
                total -= u[loss.leave[go]]
            if not total > CANCELLED * peak:
                fresh[g] = True
                total = _anew(loss, u, g, s)
                peak = total


@njit
def _anew(loss, q, g, s):
    """The sum of q over the risk set of an event time of stratum s."""
    total, t = 0.0, loss.stop[loss.deaths[loss.first[g]]]
    for m in range(loss.upto[g], loss.edges[s + 1]):
        i = loss.order[m]
        if loss.start[i] < t:
            total += q[i]
    return total


@njit
def sum_risk_sets(loss, fresh, q, out):
    """out_g = sum of q over the risk set of every event time g."""
    for s in range(loss.block.size - 1):
        total = 0.0
        enter, go = loss.edges[s + 1], loss.edges[s + 1]
        for g in range(loss.block[s + 1] - 1, loss.block[s] - 1, -1):
            while enter > loss.upto[g]:
                enter -= 1
                total += q[loss.order[enter]]
            if loss.leave.size > 0:
                while go > loss.gone[g]:
                    go -= 1
                    total -= q[loss.leave[go]]
                if fresh[g]:
                    total = _anew(loss, q, g, s)
            out[g] = total


@njit
def sum_ties(loss, q, out):
    """out_g = sum of q over the deaths at every event time g."""
    for g in range(out.size):
        t = 0.0
        for d in range(loss.first[g], loss.first[g + 1]):
            t += q[loss.deaths[d]]
        out[g] = t


@njit
def sum_times(loss, steps, tree):
    """Make sums of `steps` (g,) over event times of which `over_times` takes those of a row: over
    those of a stratum up to each; where rows enter late, over pairs, fours and so on, of which no
    sum is a difference. tree (2 g,).
    """
    groups = steps.size
    if loss.leave.size > 0:
        for g in range(groups):
            tree[groups + g] = steps[g]
        for g in range(groups - 1, 0, -1):
            tree[g] = tree[2 * g] + tree[2 * g + 1]
        return
    for s in range(loss.block.size - 1):
        total = 0.0
        for g in range(loss.block[s], loss.block[s + 1]):
            total += steps[g]
            tree[g] = total


@njit
def over_times(loss, tree, i):
    """The sum over the event times at which row i is at risk, from what `sum_times` made."""
    left, right, total = loss.since[i], loss.until[i], 0.0
    if left >= right:
        return 0.0
    if loss.leave.size == 0:
        return tree[right - 1]
    left += tree.size // 2
    right += tree.size // 2
    while left < right:
        if left % 2 == 1:
            total += tree[left]
            left += 1
        if right % 2 == 1:
            right -= 1
            total += tree[right]
        left //= 2
        right //= 2
    return total


@njit
def _log_sums(loss, risk):
    """sum_t v_t log phi_t; inf where the rows at risk are all so far below others that their u are
    0.
    """
    value = 0.0
    for s in range(loss.block.size - 1):
        for g in range(loss.block[s], loss.block[s + 1]):
            for t in range(loss.term[g], loss.term[g + 1]):
                phi = risk.sums[g] - loss.fraction[t] * risk.tied[g]
                if not phi > 0.0:
                    return np.inf
                value += risk.weight[g] * loss.share[t] * (math.log(phi) + risk.tops[s])
    return value


@njit
def _of_deaths(loss, weights, eta):
    """sum_{deaths} w_i eta_i."""
    t = 0.0
    for d in range(loss.deaths.size):
        t += weights[loss.deaths[d]] * eta[loss.deaths[d]]
    return t


@value_of_rows.register(Cox)
def _(loss, y, eta, weights):
    risk = at_risk(loss, eta, weights)
    return loss.level + (_log_sums(loss, risk) - _of_deaths(loss, weights, eta)) / risk.total


@derivatives_of_rows.register(Cox)
def _(loss, y, eta, weights, slopes, curvatures):
    risk = at_risk(loss, eta, weights)
    groups, scale = risk.sums.size, 1.0 / risk.total
    steps, ties, hazard = np.empty(groups), np.empty(groups), np.empty(2 * groups)
    for g in range(groups):
        a, b = 0.0, 0.0
        for t in range(loss.term[g], loss.term[g + 1]):
            h = risk.weight[g] * loss.share[t] / (risk.sums[g] - loss.fraction[t] * risk.tied[g])
            a += h
            b += loss.fraction[t] * h
        steps[g], ties[g] = a, b
    sum_times(loss, steps, hazard)
    for i in range(y.size):
        curvatures[i] = risk.u[i] * over_times(loss, hazard, i) * scale
        slopes[i] = curvatures[i]
    for g in range(groups):
        for d in range(loss.first[g], loss.first[g + 1]):
            i = loss.deaths[d]
            curvatures[i] = max(curvatures[i] - risk.u[i] * ties[g] * scale, 0.0)
            slopes[i] = curvatures[i] - weights[i] * scale
    return loss.level + (_log_sums(loss, risk) - _of_deaths(loss, weights, eta)) * scale


@njit
def _means(loss, risk, z, room, sums, out):
    """out_t = pi_t'z for every term; room (n,), sums (2, g)."""
    for i in range(room.size):
        room[i] = risk.u[i] * z[i]
    sum_risk_sets(loss, risk.fresh, room, sums[0])
    sum_ties(loss, room, sums[1])
    for g in range(risk.sums.size):
        for t in range(loss.term[g], loss.term[g + 1]):
            f = loss.fraction[t]
            out[t] = (sums[0, g] - f * sums[1, g]) / (risk.sums[g] - f * risk.tied[g])


@rank_of.register(Cox)
def _(loss):
    return loss.fraction.size


@coupling_of_rows.register(Cox)
def _(loss, y, eta, weights, Z, S, out):
    risk = at_risk(loss, eta, weights)
    room, sums = np.empty(eta.size), np.empty((2, risk.sums.size))
    for a in range(S.size):
        _means(loss, risk, Z[S[a]], room, sums, out[a])
        for g in range(risk.sums.size):
            for t in range(loss.term[g], loss.term[g + 1]):
                out[a, t] *= math.sqrt(risk.weight[g] * loss.share[t] / risk.total)


@slope_along.register(Cox)
def _(loss, y, weights, start, end, t):
    n = start.size
    eta, move = np.empty(n), np.empty(n)
    for i in range(n):
        move[i] = end[i] - start[i]
        eta[i] = start[i] + t * move[i]
    risk = at_risk(loss, eta, weights)
    means = np.empty(loss.fraction.size)
    _means(loss, risk, move, eta, np.empty((2, risk.sums.size)), means)
    slope = -_of_deaths(loss, weights, move)
    for g in range(risk.sums.size):
        for m in range(loss.term[g], loss.term[g + 1]):
            slope += risk.weight[g] * loss.share[m] * means[m]
    return slope / risk.total


@njit
def _relative(loss, risk, start, end, move):
    """move = end - start, less its mean by u in each stratum: the loss does not see it, and the
    moments of small moves do not drown in it.
    """
    for s in range(risk.tops.size):
        first, second = 0.0, 0.0
        for m in range(loss.edges[s], loss.edges[s + 1]):
            i = loss.order[m]
            move[i] = end[i] - start[i]
            first += risk.u[i]
            second += risk.u[i] * move[i]
        for m in range(loss.edges[s], loss.edges[s + 1]):
            move[loss.order[m]] -= second / first


@bound_of_rows.register(Cox)
def _(loss, y, weights, slopes, curvatures, start, end, scale):
    # The dual point is sum_t v_t p_t less the deaths, p_ti = pi_ti (1 + d), d = scale (move_i -
    # pi_t'move): shares of the rows at risk where d >= -1. Its conjugate is at most the entropy of
    # the p_t, and (1 + d) log(1 + d) <= d + d^2 / 2 - d^3 / 6 + d^4 / 3 there, so that four moments
    # of move in each risk set bound it.
    n, groups = start.size, loss.first.size - 1
    risk = at_risk(loss, start, weights)
    move, power, room = np.empty(n), np.empty(n), np.empty(n)
    sums, moments = np.empty((2, groups)), np.empty((4, loss.fraction.size))
    _relative(loss, risk, start, end, move)
    for i in range(n):
        power[i] = 1.0
    bound = -_of_deaths(loss, weights, move)
    for m in range(4):
        for i in range(n):
            power[i] *= move[i]
        _means(loss, risk, power, room, sums, moments[m])
    for s in range(loss.block.size - 1):
        least, enter = np.inf, loss.edges[s + 1]
        for g in range(loss.block[s + 1] - 1, loss.block[s] - 1, -1):
            while enter > loss.upto[g]:
                enter -= 1
                least = min(least, move[loss.order[enter]])
            for t in range(loss.term[g], loss.term[g + 1]):
                a, b, c, d = moments[0, t], moments[1, t], moments[2, t], moments[3, t]
                if scale * (least - a) < -1.0:
                    return -np.inf
                second = max(b - a * a, 0.0)
                third = c - 3.0 * a * b + 2.0 * a * a * a
                fourth = max(d - 4.0 * a * c + 6.0 * a * a * b - 3.0 * a * a * a * a, 0.0)
                entropy = 0.5 * second - scale * third / 6.0 + scale * scale * fourth / 3.0
                gain = a + scale * second - scale * scale * entropy
                bound += risk.weight[g] * loss.share[t] * gain
    return bound / risk.total


@least_value.register(Cox)
def _(loss, y, weights):
    # deaths that leave every other row at risk behind: phi_t is (1 - f_t) u of the tied ones, and
    # equal eta among these are best
    of = np.add.reduceat(weights[loss.deaths], loss.first[:-1])
    v = np.repeat(of, np.diff(loss.term)) * loss.share
    total = of @ np.log(of) + v @ np.log1p(-loss.fraction)
    return float(loss.level + total / of.sum())


@unseen.register(Cox)
def _(loss, y, weights, X, square):
    # a column that is constant within every risk set: the slopes at any predictor are orthogonal to
    # it, and those at random ones to no other
    n, blind = y.size, np.zeros(X.p, dtype=bool)
    if loss.edges.size == 2 and not loss.start.size and loss.until.min() > 0:
        return blind  # all rows are in the first risk set
    slopes, rest = np.empty((LOOKS, n)), np.empty(n)
    rng = np.random.default_rng(0)
    for one in slopes:
        derivatives(loss, y, rng.standard_normal(n), weights, one, rest)
    size = np.sqrt((slopes**2 / weights).sum(axis=1).max())
    length = np.sqrt(square) * (1.0 + np.abs(X.center) / X.scale)
    return np.abs(X.correlate(slopes.T)).max(axis=1) <= ORTHOGONAL * size * length
