"""Sums over risk sets and over event times, cumulative in O(n)."""

import math
from typing import NamedTuple

import numpy as np

from ...compiled import indices_at, numbers_at, part
from ...core.dispatch import njit
from .event_times import (
    BLOCK,
    DEATHS,
    EDGES,
    FIRST,
    FRACTION,
    GONE,
    LEAVE,
    ORDER,
    SINCE,
    START,
    STOP,
    TERM,
    UNTIL,
    UPTO,
)

WIDE = 600.0  # difference of eta beyond which exp of it has few digits left, or none
CANCELLED = 1e-3  # share of a running sum below which what rows left it is summed anew


class Units(NamedTuple):
    """The units of sums over risk sets: those of an event time g are times exp(-tops[g]). tops
    (g,): the largest eta of a stratum; where eta differ so much (`wide`) that exp(eta - top) of
    some would be 0, the largest one of the rows that are at risk then or later; where rows enter
    late, too, the largest one of the risk set, and every sum is made anew. Rows that are at risk at
    no event time do not count. A row has those of the last event time at which it is at risk, its
    own eta where sums are made anew. own (n,): the logs of these, filled where `wide`. shrink (g,):
    exp(top - that of the time before).
    """

    tops: np.ndarray
    shrink: np.ndarray
    own: np.ndarray
    wide: bool


class Risk(NamedTuple):
    """Sums over risk sets at a predictor, in their `Units`; g event times."""

    u: np.ndarray  # (n,), of rows
    units: Units
    sums: np.ndarray  # (g,), over all rows at risk
    tied: np.ndarray  # (g,), over the tied deaths
    weight: np.ndarray  # (g,), of the tied deaths
    fresh: np.ndarray  # (g,), 1 where the sum over the risk set is made anew, 0 elsewhere
    total: float  # weight of all deaths


@njit
def risk_in(loss, n, state):
    """The `Risk` of n rows in the state of a `Cox` loss, see `verbs.state_size`."""
    first = indices_at(loss, FIRST)
    g, own = first.size - 1, 1 + 2 * n
    at = own + 2 + 2 * n
    shrink, tops = part(state, at + g, at + 2 * g), part(state, at, at + g)
    units = Units(tops, shrink, part(state, own + 2 + n, at), state[own + 1] > 0.0)
    at += 2 * g
    return Risk(
        part(state, own + 2, own + 2 + n),
        units,
        part(state, at, at + g),
        part(state, at + g, at + 2 * g),
        part(state, at + 2 * g, at + 3 * g),
        part(state, at + 3 * g, at + 4 * g),
        state[own],
    )


@njit
def fill_risk(loss, eta, weights, state):
    """Fill the `Risk` of a predictor, in the state of a loss."""
    deaths, first = indices_at(loss, DEATHS), indices_at(loss, FIRST)
    since, until = indices_at(loss, SINCE), indices_at(loss, UNTIL)
    n, groups = eta.size, first.size - 1
    at = risk_in(loss, n, state)
    wide = _fill_units(loss, eta, at.units)
    own, total = 1 + 2 * n, 0.0
    units = Units(at.units.tops, at.units.shrink, at.units.own, wide)
    u, fresh = at.u, at.fresh
    for i in range(n):
        if until[i] > since[i]:
            unit = units.own[i] if wide else units.tops[until[i] - 1]
            u[i] = weights[i] * math.exp(eta[i] - unit)
        else:
            u[i] = 0.0  # at risk at no event time
    for g in range(groups):
        at.weight[g], fresh[g] = 0.0, 0.0
        for d in range(first[g], first[g + 1]):
            at.weight[g] += weights[deaths[d]]
        total += at.weight[g]
    state[own], state[own + 1] = total, 1.0 if wide else 0.0
    sum_risk_sets(loss, units, fresh, u, at.sums, True)
    sum_ties(loss, units, u, at.tied)


@njit
def _fill_units(loss, eta, units):
    """Fill the `Units` at a predictor; returns whether they are `wide`."""
    order, leave = indices_at(loss, ORDER), indices_at(loss, LEAVE)
    edges, block = indices_at(loss, EDGES), indices_at(loss, BLOCK)
    upto, since = indices_at(loss, UPTO), indices_at(loss, SINCE)
    until = indices_at(loss, UNTIL)
    wide, tops, shrink = False, units.tops, units.shrink
    for s in range(block.size - 1):
        top, least, enter = -np.inf, np.inf, edges[s + 1]
        for m in range(edges[s], enter):
            i = order[m]
            if until[i] > since[i]:
                top = max(top, eta[i])
                least = min(least, eta[i])
        apart = top - least > WIDE
        if apart:
            wide, top = True, -np.inf
        for g in range(block[s + 1] - 1, block[s] - 1, -1):
            shrink[g] = 1.0
            if apart:
                while enter > upto[g]:
                    enter -= 1
                    i = order[enter]
                    if until[i] > since[i]:
                        top = max(top, eta[i])
                if g + 1 < block[s + 1]:
                    shrink[g + 1] = math.exp(tops[g + 1] - top)
            tops[g] = top
    if wide and leave.size > 0:
        for i in range(eta.size):
            units.own[i] = eta[i]
        _tops_of_sets(loss, eta, tops)
    elif wide:
        for i in range(eta.size):
            at_none = until[i] <= since[i]
            units.own[i] = 0.0 if at_none else tops[until[i] - 1]
    return wide


@njit
def _tops_of_sets(loss, eta, tops):
    """tops (g,): the largest eta at risk at every event time."""
    order, edges = indices_at(loss, ORDER), indices_at(loss, EDGES)
    deaths, first = indices_at(loss, DEATHS), indices_at(loss, FIRST)
    block, upto = indices_at(loss, BLOCK), indices_at(loss, UPTO)
    start, stop = numbers_at(loss, START), numbers_at(loss, STOP)
    for s in range(block.size - 1):
        for g in range(block[s], block[s + 1]):
            tops[g], t = -np.inf, stop[deaths[first[g]]]
            for m in range(upto[g], edges[s + 1]):
                i = order[m]
                if start[i] < t:
                    tops[g] = max(tops[g], eta[i])


@njit
def in_units(units, q, i, g):
    """q_i in the units of an event time g."""
    if not units.wide or q[i] == 0.0:  # 0: at risk at no event time, or far below others
        return q[i]
    return q[i] * math.exp(units.own[i] - units.tops[g])


@njit
def _anew(loss, units, q, g, s):
    """The sum of q over the risk set of an event time of stratum s."""
    order, edges = indices_at(loss, ORDER), indices_at(loss, EDGES)
    deaths, first = indices_at(loss, DEATHS), indices_at(loss, FIRST)
    upto, start = indices_at(loss, UPTO), numbers_at(loss, START)
    stop = numbers_at(loss, STOP)
    total, t = 0.0, stop[deaths[first[g]]]
    for m in range(upto[g], edges[s + 1]):
        i = order[m]
        if start[i] < t:
            total += in_units(units, q, i, g)
    return total


@njit
def sum_risk_sets(loss, units, fresh, q, out, mark):
    """out_g = sum of q over the risk set of every event time g; it is made anew at the times that
    `fresh` marks. mark: whether those are marked first at which so much of the running sum has left
    that rounding shows.
    """
    order, leave = indices_at(loss, ORDER), indices_at(loss, LEAVE)
    edges, block = indices_at(loss, EDGES), indices_at(loss, BLOCK)
    upto, gone = indices_at(loss, UPTO), indices_at(loss, GONE)
    for s in range(block.size - 1):
        if units.wide and leave.size > 0:
            for g in range(block[s], block[s + 1]):
                out[g] = _anew(loss, units, q, g, s)
            continue
        total, peak = 0.0, 0.0
        enter, go = edges[s + 1], edges[s + 1]
        for g in range(block[s + 1] - 1, block[s] - 1, -1):
            while enter > upto[g]:
                enter -= 1
                total += q[order[enter]]
            if leave.size > 0:
                peak = max(peak, total)
                while go > gone[g]:
                    go -= 1
                    total -= in_units(units, q, leave[go], g)
                if mark and not total > CANCELLED * peak:
                    fresh[g] = 1.0
                if fresh[g] > 0.0:
                    total = _anew(loss, units, q, g, s)
                    peak = total
            out[g] = total
            total *= units.shrink[g]
            peak *= units.shrink[g]


@njit
def sum_ties(loss, units, q, out):
    """out_g = sum of q over the deaths at every event time g."""
    deaths, first = indices_at(loss, DEATHS), indices_at(loss, FIRST)
    for g in range(out.size):
        t = 0.0
        for d in range(first[g], first[g + 1]):
            t += in_units(units, q, deaths[d], g)
        out[g] = t


@njit
def sum_times(loss, units, steps, tree):
    """Make sums of `steps` (g,) over event times of which `over_times` takes those of a row: over
    those of a stratum up to each; where rows enter late, over pairs, fours and so on, of which no
    sum is a difference. tree (2 g,).
    """
    leave, block = indices_at(loss, LEAVE), indices_at(loss, BLOCK)
    groups = steps.size
    if leave.size > 0:
        for g in range(groups):
            tree[groups + g] = steps[g]
        for g in range(groups - 1, 0, -1):
            tree[g] = tree[2 * g] + tree[2 * g + 1]
        return
    for s in range(block.size - 1):
        total = 0.0
        for g in range(block[s], block[s + 1]):
            total = total * units.shrink[g] + steps[g]
            tree[g] = total


@njit
def over_times(times, late, units, tree, i):
    """The sum over the event times (left, right) at which row i is at risk, from what `sum_times`
    made, in the units of the row; late: whether rows enter late.
    """
    (left, right), total = times, 0.0
    if left >= right:
        return 0.0
    if not late:
        return tree[right - 1]
    half = tree.size // 2
    if units.wide:  # one event time after the other
        for g in range(left, right):
            total += tree[half + g] * math.exp(units.own[i] - units.tops[g])
        return total
    left += half
    right += half
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
def of_deaths(loss, weights, eta):
    """sum_{deaths} w_i eta_i."""
    deaths = indices_at(loss, DEATHS)
    t = 0.0
    for d in range(deaths.size):
        t += weights[deaths[d]] * eta[deaths[d]]
    return t


@njit
def means(loss, risk, z, room, sums, out):
    """out_t = pi_t'z for every term; room (n,), sums (2, g)."""
    term, fraction = indices_at(loss, TERM), numbers_at(loss, FRACTION)
    for i in range(room.size):
        room[i] = risk.u[i] * z[i]
    sum_risk_sets(loss, risk.units, risk.fresh, room, sums[0], False)
    sum_ties(loss, risk.units, room, sums[1])
    for g in range(risk.sums.size):
        for t in range(term[g], term[g + 1]):
            f = fraction[t]
            out[t] = (sums[0, g] - f * sums[1, g]) / (risk.sums[g] - f * risk.tied[g])
