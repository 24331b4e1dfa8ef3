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
O(n). A row that stands for several is as many deaths d. `level`, the log of the number of rows, is
added: the loss is the negative log partial likelihood for each event, of weights whose mean is 1.

Sources: Cox (JRSS B 34, 1972); Breslow (Biometrics 30, 1974); Efron (JASA 72, 1977), with weights
as in R's survival (Therneau & Grambsch, Modeling Survival Data, 2000, section 3.3).
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled import indices_at, numbers_at, part
from ...core.dispatch import njit, with_verbs
from ..traits import MONOTONE, LossTraits
from ..verbs import state_at
from .event_times import (
    BLOCK,
    DEATHS,
    EDGES,
    FIRST,
    FRACTION,
    LEAVE,
    LEVEL,
    ORDER,
    SHARE,
    SINCE,
    TERM,
    UNTIL,
    UPTO,
    EventTimes,
    event_times,
)
from .risk_sets import fill_risk, in_units, means, of_deaths, over_times, risk_in, sum_times
from .unseen import orthogonal_columns

# slopes of this size are rounding: those of one death among others are about 1
LEAST_SLOPES = 1e-3
LEAST_SUM = 1e-290  # of u over a risk set: numbers from 1e-308 down lose their digits


@njit
def _at_risk(loss, y, eta, weights):
    """The `Risk` of a predictor."""
    return risk_in(loss, y.size, state_at(loss, y, eta, weights))


@njit
def _log_shares(loss, risk, eta, weights):
    """sum_t v_t log phi_t - sum_{deaths} w_i eta_i; inf where the rows at risk are all so far below
    others that their u have no digits left. Units of sums are taken off the eta of the deaths: a
    number that all rows share, which may be large, would leave its rounding in the difference.
    """
    deaths, first = indices_at(loss, DEATHS), indices_at(loss, FIRST)
    term, share = indices_at(loss, TERM), numbers_at(loss, SHARE)
    fraction, value = numbers_at(loss, FRACTION), 0.0
    for g in range(first.size - 1):
        for t in range(term[g], term[g + 1]):
            phi = risk.sums[g] - fraction[t] * risk.tied[g]
            if not phi > LEAST_SUM:
                return np.inf
            value += risk.weight[g] * share[t] * math.log(phi)
        for d in range(first[g], first[g + 1]):
            value += weights[deaths[d]] * (risk.units.tops[g] - eta[deaths[d]])
    return value


@njit
def _relative(loss, risk, start, end, move):
    """move = end - start, less a mean of its stratum, by u: the loss does not see it, and the
    moments of small moves do not drown in it.
    """
    order, edges = indices_at(loss, ORDER), indices_at(loss, EDGES)
    block = indices_at(loss, BLOCK)
    for s in range(block.size - 1):
        first, second = 0.0, 0.0
        for m in range(edges[s], edges[s + 1]):
            i = order[m]
            move[i] = end[i] - start[i]
            first += risk.u[i]
            second += risk.u[i] * move[i]
        if first > 0.0:
            for m in range(edges[s], edges[s + 1]):
                move[order[m]] -= second / first


@with_verbs
class CoxInKernels(NamedTuple):
    """The loss `Cox` as its verbs take it, see `verbs.state_at`. Its state at a predictor are the
    numbers of a `risk_sets.Risk`.
    """

    finder: int  # address of `state_of_rows`
    numbers: np.ndarray
    ints: np.ndarray
    memory: np.ndarray

    def state_of_rows(self, y, eta, weights, before, known, state):
        deaths, first = indices_at(self, DEATHS), indices_at(self, FIRST)
        since, until = indices_at(self, SINCE), indices_at(self, UNTIL)
        term, fraction = indices_at(self, TERM), numbers_at(self, FRACTION)
        share = numbers_at(self, SHARE)
        late = indices_at(self, LEAVE).size > 0
        fill_risk(self, eta, weights, state)
        n, risk = y.size, risk_in(self, y.size, state)
        slopes, curvatures = part(state, 1, 1 + n), part(state, 1 + n, 1 + 2 * n)
        groups, scale = risk.sums.size, 1.0 / risk.total
        steps, ties, hazard = np.empty(groups), np.empty(groups), np.empty(2 * groups)
        for g in range(groups):
            a, b = 0.0, 0.0
            for t in range(term[g], term[g + 1]):
                h = risk.weight[g] * share[t] / (risk.sums[g] - fraction[t] * risk.tied[g])
                a += h
                b += fraction[t] * h
            steps[g], ties[g] = a, b
        sum_times(self, risk.units, steps, hazard)
        for i in range(n):
            times = since[i], until[i]
            curvatures[i] = risk.u[i] * over_times(times, late, risk.units, hazard, i) * scale
            slopes[i] = curvatures[i]
        for g in range(groups):
            for d in range(first[g], first[g + 1]):
                i = deaths[d]
                tied = in_units(risk.units, risk.u, i, g) * ties[g] * scale
                curvatures[i] = max(curvatures[i] - tied, 0.0)
                slopes[i] = curvatures[i] - weights[i] * scale
        state[0] = self.numbers[LEVEL] + _log_shares(self, risk, eta, weights) * scale

    def coupling_of_rows(self, y, eta, weights, Z, out):
        term, share = indices_at(self, TERM), numbers_at(self, SHARE)
        risk = _at_risk(self, y, eta, weights)
        room, sums = np.empty(eta.size), np.empty((2, risk.sums.size))
        for a in range(Z.shape[0]):
            means(self, risk, Z[a], room, sums, out[a])
            for g in range(risk.sums.size):
                for t in range(term[g], term[g + 1]):
                    out[a, t] *= math.sqrt(risk.weight[g] * share[t] / risk.total)

    def bound_of_rows(self, y, weights, tangent, end):
        # The dual point is sum_t v_t p_t less the deaths, p_ti = pi_ti (1 + d), d = move_i -
        # pi_t'move: shares of the rows at risk where d >= -1. Its conjugate is at most the entropy
        # of the p_t, and (1 + d) log(1 + d) <= d + d^2 / 2 - d^3 / 6 + d^4 / 3 there, so that four
        # moments of move in each risk set bound it.
        order, edges = indices_at(self, ORDER), indices_at(self, EDGES)
        block, upto = indices_at(self, BLOCK), indices_at(self, UPTO)
        term, share = indices_at(self, TERM), numbers_at(self, SHARE)
        risk = _at_risk(self, y, tangent.start, weights)
        n, groups = end.size, risk.sums.size
        move, power, room = np.empty(n), np.empty(n), np.empty(n)
        sums, moments = np.empty((2, groups)), np.empty((4, share.size))
        _relative(self, risk, tangent.start, end, move)
        for i in range(n):
            power[i] = 1.0
        bound = -of_deaths(self, weights, move)
        for m in range(4):
            for i in range(n):
                power[i] *= move[i]
            means(self, risk, power, room, sums, moments[m])
        for s in range(block.size - 1):
            least, enter = np.inf, edges[s + 1]
            for g in range(block[s + 1] - 1, block[s] - 1, -1):
                while enter > upto[g]:
                    enter -= 1
                    least = min(least, move[order[enter]])
                for t in range(term[g], term[g + 1]):
                    a, b, c, d = moments[0, t], moments[1, t], moments[2, t], moments[3, t]
                    if least - a < -1.0:
                        return -np.inf
                    second = max(b - a * a, 0.0)
                    third = c - 3.0 * a * b + 2.0 * a * a * a
                    fourth = max(d - 4.0 * a * c + 6.0 * a * a * b - 3.0 * a * a * a * a, 0.0)
                    gain = a + 0.5 * second + third / 6.0 - fourth / 3.0
                    bound += risk.weight[g] * share[t] * gain
        return bound / risk.total


@with_verbs
class Cox(EventTimes):
    """The negative log partial likelihood of rows (start, stop], by `cox_of`. y holds the events, 0
    or 1. There are g event times in s strata.
    """

    __slots__ = ()
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
    in_kernels = CoxInKernels

    def restricted(self, event, rows, level=None, counts=None):
        """The loss of some rows (mask or indices), all of them of positive weight. event (n,): of
        all rows; level, and counts (n,) of all rows: by default those of this loss.
        """
        start = self.start[rows] if self.start.size else self.start
        level = self.level if level is None else level
        counts = self.counts if counts is None else counts
        return cox_of(
            start,
            self.stop[rows],
            event[rows],
            stratum=self.stratum[rows],
            efron=self.efron,
            level=level,
            counts=counts[rows] if counts.size else None,
        )

    def state_size(self):
        return 2 + 2, 1 + 2 + 6 * (self.first.size - 1)

    def rank_of(self):
        return self.fraction.size

    def least_value(self, y, weights):
        # deaths that leave every other row at risk behind: phi_t is (1 - f_t) u of the tied ones,
        # and equal eta among these are best
        of = np.add.reduceat(weights[self.deaths], self.first[:-1])
        v = np.repeat(of, np.diff(self.term)) * self.share
        total = of @ np.log(of) + v @ np.log1p(-self.fraction)
        return float(self.level + total / of.sum())

    def unseen(self, y, weights, X, square):
        # a column that is constant within every risk set: the slopes at any predictor are
        # orthogonal to it, and those at random ones to no other
        if self.edges.size == 2 and not self.start.size and self.until.min() > 0:
            return np.zeros(X.p, dtype=bool)  # all rows are in the first risk set
        return orthogonal_columns(self, y, weights, X, square, LEAST_SLOPES)


def cox_of(*rows, **options):
    """The `Cox` loss of rows, see `event_times`."""
    return Cox(*event_times(*rows, **options))
