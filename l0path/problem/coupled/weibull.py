"""The Weibull likelihood of survival times with a free shape: a loss that is no sum over rows.

With times T_i, events d_i, a hazard exp(b0 + eta) kappa T^(kappa - 1) and a_i = kappa log T_i + b0
+ eta_i, the loss is minus the mean log-likelihood of the times T, at the best constant and shape:

    loss = min over b0, kappa > 0 of  sum_i w_i (exp(a_i) - d_i (a_i + log kappa - log T_i)).    (W)

It is convex in (eta, b0, kappa), so that what is left is convex in eta. With v_i = w_i exp(a_i),
D = sum_i w_i d_i and the v-mean c of z = log T, its slopes are v_i - w_i d_i and its curvature is

    B = diag(v) - P'P,  P = [v / sqrt(D); v (z - c) / sqrt(h)],  h = sum_i v_i (z_i - c)^2 +
    D / kappa^2.

b0 has the closed form exp(b0) = D / sum_i w_i exp(kappa z_i + eta_i). The slope in kappa over D,
m - m_d - 1 / kappa with the mean m of z by w exp(kappa z + eta) and that of events m_d, rises in
kappa. A number added to every eta is taken off b0, and one added to every z (another unit of time)
adds it to the loss of every event, so z is centered. Where columns give the log times of all events
without error, and those of censored rows are no larger, kappa goes to infinity and the loss has no
lower bound: kappa ends at `most` then, which `recession` flags.

Source: Kalbfleisch & Prentice, The Statistical Analysis of Failure Time Data (2002), section 3.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled import numbers_at, part
from ...core.dispatch import njit, with_verbs
from ...core.elementary import entropy_rise, exp_minus
from ..traits import OUTLASTS, LossTraits
from ..verbs import Free, found_state, state_at
from .hazard import ParametricHazard

SHAPE_STEPS = 200  # Newton steps, or halvings of the interval, for the shape
LAST_STEP = 1e-8  # relative size of a Newton step after which the next one is lost in rounding
MOST_SPREAD = 1e7  # of shape times log time: errors of the log time beyond are rounding
CENTER, MOST = 0, 1  # places of numbers of `Weibull`
LOG_TIME = 1  # the place of an array


@with_verbs
class WeibullInKernels(NamedTuple):
    """The loss `Weibull` as its verbs take it, see `verbs.state_at`. Behind the first parts of its
    state at a predictor are b0, kappa, the v-mean of z, h and D of this module.
    """

    finder: int  # address of `state_of_rows`
    numbers: np.ndarray
    ints: np.ndarray
    memory: np.ndarray

    def state_of_rows(self, y, eta, weights, before, known, state):
        z, n, most = numbers_at(self, LOG_TIME), y.size, self.numbers[MOST]
        own, out = part(state, 1 + 2 * n, 6 + 2 * n), np.empty(4)
        events, dead, value = 0.0, 0.0, 0.0
        for i in range(n):
            events += weights[i] * y[i]
            dead += weights[i] * y[i] * z[i]
        dead /= events
        shape = min(_begin(z, weights), most)
        if before.size:
            there, move = part(known, 1 + 2 * n, 6 + 2 * n), 0.0
            for i in range(n):
                move -= known[1 + n + i] * (z[i] - there[2]) * (eta[i] - before[i])
            shape = min(max(there[1] + move / there[3], 0.5 * there[1]), 2.0 * there[1])
        shape = _find_shape(z, eta, weights, dead, min(shape, most), most, out)
        top, total = out[0], out[1]
        for i in range(n):
            v = weights[i] * exp_minus(top - (shape * z[i] + eta[i])) * (events / total)
            state[1 + i], state[1 + n + i] = v - weights[i] * y[i], v
            value += weights[i] * y[i] * (top - (shape * z[i] + eta[i]))
        log_times = dead + self.numbers[CENTER]
        state[0] = value + events * (1.0 + math.log(total / events) - math.log(shape) + log_times)
        own[0], own[1], own[2] = math.log(events / total) - top, shape, out[2]
        # at its end the shape does not move
        own[3] = math.inf if shape >= most else events * (out[3] + 1.0 / (shape * shape))
        own[4] = events

    def coupling_of_rows(self, y, eta, weights, Z, out):
        z, n, state = numbers_at(self, LOG_TIME), y.size, state_at(self, y, eta, weights)
        v, own = part(state, 1 + n, 1 + 2 * n), part(state, 1 + 2 * n, 6 + 2 * n)
        mean, level, slope = own[2], 1.0 / math.sqrt(own[4]), 1.0 / math.sqrt(own[3])
        for a in range(Z.shape[0]):
            column, first, second = Z[a], 0.0, 0.0
            for i in range(n):
                t = v[i] * column[i]
                first += t
                second += t * (z[i] - mean)
            out[a, 0], out[a, 1] = level * first, slope * second

    def bound_of_rows(self, y, weights, tangent, end):
        # Every term of (W) is convex in a_i or in kappa. Their slopes, moved along to the optimum
        # `end` of the quadratic model and the b0 and kappa there, balance each other, as in
        # `ordinal.OrdinalInKernels`.
        z, n = numbers_at(self, LOG_TIME), y.size
        state = state_at(self, y, tangent.start, weights)
        v, own = part(state, 1 + n, 1 + 2 * n), part(state, 1 + 2 * n, 6 + 2 * n)
        shape, mean, h, events = own[1], own[2], own[3], own[4]
        level, turn, bound = 0.0, 0.0, 0.0
        if h == math.inf:  # at the end of shapes there is none
            return -math.inf
        for i in range(n):
            t = v[i] * (end[i] - tangent.start[i])
            level -= t / events
            turn -= t * (z[i] - mean) / h
        for i in range(n):
            move = end[i] - tangent.start[i]
            d = move + level + turn * (z[i] - mean)
            if d < -1.0:
                return -math.inf
            bound += (tangent.slopes[i] + v[i] * d) * move - v[i] * entropy_rise(d)
        left = 1.0 - turn / shape
        if not left > 0.0:
            return -math.inf
        bound -= events * (left - 1.0 - math.log(left))
        return bound if abs(bound) < math.inf else -math.inf


@with_verbs
class Weibull(NamedTuple):
    """The loss (W) of rows at risk from 0 until `stop`, by `weibull_of`; y holds the events, 0 or
    1.
    """

    traits = LossTraits(
        "weibull",
        "survival",
        math.inf,
        jumps=False,
        recession=OUTLASTS,
        bounded=False,
        likelihood=True,
        coupled=True,
        intercept=False,
        dispersion=1,
        constant=True,
    )
    in_kernels = WeibullInKernels

    center: float  # that log times are counted from
    most: float  # the largest shape
    stop: np.ndarray  # (n,), times
    log_time: np.ndarray  # (n,), their logarithms less the center

    # what scores of survival times ask: no row enters late, and there are no strata
    start = property(lambda self: np.empty(0))
    stratum = property(lambda self: np.zeros(self.stop.size, np.int64))

    def restricted(self, event, rows):
        """The loss of some rows (mask or indices)."""
        return self._replace(stop=self.stop[rows], log_time=self.log_time[rows])

    def state_size(self):
        return 2, 1 + 5

    def rank_of(self):
        return 2

    def free_at(self, y, eta, weights):
        best = best_shape(self, y, eta, weights)
        return Free(best.level, baseline=ParametricHazard(0.0, best.shape))

    def has_ended(self, y, eta, weights):
        return best_shape(self, y, eta, weights).ended


def weibull_of(stop, event):
    """The `Weibull` loss of times (n,) > 0; event (n,): 1 where one happened then."""
    log_time = np.log(stop)
    center = float(log_time[event > 0].mean()) if event.any() else 0.0
    z = np.ascontiguousarray(log_time - center, dtype=np.float64)
    most = MOST_SPREAD / max(float(np.ptp(z)), np.finfo(float).tiny * MOST_SPREAD)
    return Weibull(center, most, np.ascontiguousarray(stop, dtype=np.float64), z)


def refuse_endless(loss, event):
    """Raise ValueError where rows, all of positive weight, have no best shape."""
    died, stop = event > 0, loss.stop
    if not died.any():
        raise ValueError(
            "there is no event in the rows of this fit, and a Weibull model needs two of different "
            "times; look at how events are coded (1: it happened, 0: censored), or take fewer folds"
        )
    if stop[died].min() == stop.max():
        raise ValueError(
            f"all events in the rows of this fit are at the last time, {stop.max():g}, so that the "
            "shape of a Weibull model is infinite; use loss='cox', or rows with events before"
        )


@njit
def _sums(z, eta, weights, shape, out):
    """Fill out (4,) with the largest a = shape z + eta, sum u of u = w exp(a - this), and the mean
    and the variance of z by u.
    """
    top, total, mean, square = -math.inf, 0.0, 0.0, 0.0
    for i in range(z.size):
        top = max(top, shape * z[i] + eta[i])
    for i in range(z.size):  # without branches, for vector units
        u = weights[i] * exp_minus(top - (shape * z[i] + eta[i]))
        total += u
        mean += u * z[i]
    mean /= total
    for i in range(z.size):
        u = weights[i] * exp_minus(top - (shape * z[i] + eta[i]))
        square += u * (z[i] - mean) * (z[i] - mean)
    out[0], out[1], out[2], out[3] = top, total, mean, square / total


@njit
def _find_shape(z, eta, weights, dead, shape, most, out):
    """The best shape, at most `most`, by Newton steps from `shape` within an interval that shrinks;
    out: the `_sums` there. dead: the mean of z of events.
    """
    low, high, last = 0.0, most, False
    for step in range(SHAPE_STEPS):
        _sums(z, eta, weights, shape, out)
        slope = out[2] - dead - 1.0 / shape
        if last or slope == 0.0 or (slope < 0.0 and shape >= most):
            break
        if slope > 0.0:
            high = shape
        else:
            low = shape
        move = -slope / (out[3] + 1.0 / (shape * shape))
        new = min(shape + move, most)
        last = abs(move) <= LAST_STEP * shape
        # every fourth step halves the interval, where Newton steps only creep
        if not last and (not low < new <= high or step % 4 == 3):
            new = math.sqrt(low * high) if low > 0.0 else 0.1 * shape
            last = high - low <= 1e-15 * high
        shape = new
    return shape


@njit
def _begin(z, weights):
    """A shape to begin with: that of the standard deviation of log times."""
    total, mean, square = 0.0, 0.0, 0.0
    for i in range(z.size):
        total += weights[i]
        mean += weights[i] * z[i]
    mean /= total
    for i in range(z.size):
        square += weights[i] * (z[i] - mean) * (z[i] - mean)
    return 1.3 / math.sqrt(square / total) if square > 0.0 else 1.0


class BestShape(NamedTuple):
    """The best constant and shape at a predictor, in the user's unit of time."""

    level: float  # b0
    shape: float  # kappa
    ended: bool  # whether the shape is the largest one of the loss, so that there is no best one


def best_shape(loss, y, eta, weights):
    """The `BestShape` at predictors eta (n,) of rows, those of weight 0 left out."""
    seen = weights > 0
    if not seen.all():
        loss = loss.restricted(y, seen)
    y, eta, weights = (np.ascontiguousarray(one[seen], dtype=float) for one in (y, eta, weights))
    level, shape = found_state(loss, y, eta, weights / weights.sum())[1 + 2 * y.size :][:2]
    return BestShape(float(level - shape * loss.center), float(shape), bool(shape >= loss.most))
