"""The cumulative logit loss of ordered classes, whose thresholds are free: a loss that is no sum
over rows.

With codes y_i of K ordered classes 0..K-1, thresholds t_0 < ... < t_{K-2}, and s(u) = log(1 + e^u),

    P(y_i <= c) = 1 / (1 + exp(eta_i - t_c)),
    loss = min over t of  sum_i w_i (s(eta_i - t_{y_i}) + s(t_{y_i - 1} - eta_i))
                          - sum_c W_c log(1 - exp(t_{c-1} - t_c)),                            (O)

terms with thresholds that do not exist left out, W_c the weight of class c. At the best thresholds
its slopes in eta are those of (O) with t fixed, and its curvature is

    B = D - M H^-1 M',   D diagonal, M_ij = d^2 / d eta_i d t_j,   H_jl = d^2 / d t_j d t_l,

so that P z = L^-1 M'z with the tridiagonal H = L L'. A number added to every eta is added to the
thresholds. Source: McCullagh (JRSS B 42, 1980), the proportional odds model.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...core.elementary import binary_gap, exp_minus, log1p_unit
from ..traits import ORDERED, LossTraits
from ..verbs import (
    bound_of_rows,
    coupling_of_rows,
    derivatives_of_rows,
    least_value,
    rank_of,
    slope_along,
    value_of_rows,
)

THRESHOLD_STEPS = 100  # Newton steps for the thresholds
LONGEST_MOVE = 5.0  # of a threshold, or a quarter of the largest |eta|
LEAST_PIVOT = 1e-15  # share of a diagonal entry that elimination leaves at least
LAST_GAIN = 1e-13  # a decrement after which the next step would be lost in rounding


class Ordinal(NamedTuple):
    """The cumulative logit loss of `levels` ordered classes; y holds their codes."""

    traits = LossTraits(
        "ordinal",
        "ordered",
        math.inf,
        jumps=False,
        recession=ORDERED,
        bounded=False,
        likelihood=True,
        link="ordered",
        coupled=True,
        intercept=False,
    )

    levels: int

    def restricted(self, y, rows):
        """The loss of some rows."""
        return self


class BestThresholds(NamedTuple):
    """The best thresholds t (K - 1,) at a predictor; of H the diagonal and the entries beside it,
    (K - 1,) each; the weights of the classes (K,); loss (1,).
    """

    t: np.ndarray
    diagonal: np.ndarray
    beside: np.ndarray
    mass: np.ndarray
    loss: np.ndarray


@njit
def _rise(u):
    """(log(1 + e^u), its slope, its curvature)."""
    e = exp_minus(abs(u))
    small = 1.0 / (1.0 + e)
    slope = small if u > 0.0 else e * small
    return log1p_unit(e) + max(u, 0.0), slope, e * small * small


@njit
def _new_thresholds(loss, y, eta, weights):
    """Thresholds that fit the shares of the classes at the mean of eta."""
    m = loss.levels - 1
    work = np.zeros((3, m))
    best = BestThresholds(work[0], work[1], work[2], np.zeros(m + 1), np.zeros(1))
    mean, below = 0.0, 0.0
    for i in range(y.size):
        best.mass[int(y[i])] += weights[i]
        mean += weights[i] * eta[i]
    for j in range(m):
        below += best.mass[j]
        share = min(max(below, 1e-12), 1.0 - 1e-12)
        best.t[j] = mean + math.log(share / (1.0 - share))
    return best


@njit
def _descent(y, eta, weights, best, g):
    """(O) at best.t, with its gradient g in t, and H; inf where the thresholds are not ordered."""
    t, m, F = best.t, best.t.size, 0.0
    for j in range(m):
        g[j], best.diagonal[j], best.beside[j] = 0.0, 0.0, 0.0
    for j in range(1, m):
        d = t[j] - t[j - 1]
        if not d > 0.0:
            return math.inf
        q = 1.0 / math.expm1(d)
        h = best.mass[j] * q * (1.0 + q)
        F -= best.mass[j] * math.log(-math.expm1(-d))
        g[j] -= best.mass[j] * q
        g[j - 1] += best.mass[j] * q
        best.diagonal[j] += h
        best.diagonal[j - 1] += h
        best.beside[j - 1] -= h
    for i in range(y.size):
        c, w = int(y[i]), weights[i]
        if c < m:
            value, slope, curvature = _rise(eta[i] - t[c])
            F += w * value
            g[c] -= w * slope
            best.diagonal[c] += w * curvature
        if c > 0:
            value, slope, curvature = _rise(t[c - 1] - eta[i])
            F += w * value
            g[c - 1] += w * slope
            best.diagonal[c - 1] += w * curvature
    return F


@njit
def _solve(best, x):
    """x = H^-1 x, a tridiagonal system; pivots that are rounding are raised: where no row is near a
    threshold, the curvature along it is too small to be told from that.
    """
    m = x.size
    d = np.empty(m)
    for j in range(m):
        d[j] = best.diagonal[j]
        if j:
            ratio = best.beside[j - 1] / d[j - 1]
            d[j] -= ratio * best.beside[j - 1]
            x[j] -= ratio * x[j - 1]
        d[j] = max(d[j], LEAST_PIVOT * best.diagonal[j]) + 1e-300
    x[m - 1] /= d[m - 1]
    for j in range(m - 2, -1, -1):
        x[j] = (x[j] - best.beside[j] * x[j + 1]) / d[j]


@njit
def best_thresholds(loss, y, eta, weights):
    """The `BestThresholds` at a predictor, by Newton steps halved where they do not descend.

    Parameters
    ----------
    loss : Ordinal
    y, eta, weights : ndarray of shape (n,)
        Codes of the classes, all of which have a row, the predictor and the weights.
    """
    best = _new_thresholds(loss, y, eta, weights)
    m = best.t.size
    g, step, held, F = np.empty(m), np.zeros(m), best.t.copy(), math.inf
    last, longest = False, LONGEST_MOVE
    for i in range(y.size):
        longest = max(longest, 0.25 * abs(eta[i]))
    for _it in range(THRESHOLD_STEPS):
        value = _descent(y, eta, weights, best, g)
        if value > F + 1e-14 * (1.0 + abs(F)):
            for j in range(m):
                step[j] *= 0.5
                best.t[j] = held[j] - step[j]
            continue
        F = value
        if last:
            break
        for j in range(m):
            held[j], step[j] = best.t[j], g[j]
        _solve(best, step)
        gain = 0.0
        for j in range(m):
            gain += g[j] * step[j]
            step[j] = min(max(step[j], -longest), longest)
            best.t[j] = held[j] - step[j]
        last = gain <= LAST_GAIN * LAST_GAIN or (gain <= LAST_GAIN and _it > 0)
    best.loss[0] = F
    return best


@njit
def _curvatures(y, eta, weights, t, upper, lower):
    """Fill the curvatures of the terms with the upper and the lower threshold of each row, (n,)."""
    for i in range(y.size):
        c = int(y[i])
        upper[i] = weights[i] * _rise(eta[i] - t[c])[2] if c < t.size else 0.0
        lower[i] = weights[i] * _rise(t[c - 1] - eta[i])[2] if c > 0 else 0.0


@njit
def _seen_by_thresholds(y, upper, lower, z, out):
    """out (K - 1,) = -M'z for z (n,)."""
    for j in range(out.size):
        out[j] = 0.0
    for i in range(y.size):
        c = int(y[i])
        if c < out.size:
            out[c] += upper[i] * z[i]
        if c > 0:
            out[c - 1] += lower[i] * z[i]


@value_of_rows.register(Ordinal)
def _(loss, y, eta, weights):
    return best_thresholds(loss, y, eta, weights).loss[0]


@derivatives_of_rows.register(Ordinal)
def _(loss, y, eta, weights, slopes, curvatures):
    best = best_thresholds(loss, y, eta, weights)
    for i in range(y.size):
        c = int(y[i])
        slopes[i], curvatures[i] = 0.0, 0.0
        if c < best.t.size:
            _, slope, curvature = _rise(eta[i] - best.t[c])
            slopes[i] += weights[i] * slope
            curvatures[i] += weights[i] * curvature
        if c > 0:
            _, slope, curvature = _rise(best.t[c - 1] - eta[i])
            slopes[i] -= weights[i] * slope
            curvatures[i] += weights[i] * curvature
    return best.loss[0]


@rank_of.register(Ordinal)
def _(loss):
    return loss.levels - 1


@coupling_of_rows.register(Ordinal)
def _(loss, y, eta, weights, Z, out):
    best = best_thresholds(loss, y, eta, weights)
    upper, lower, m = np.empty(y.size), np.empty(y.size), best.t.size
    _curvatures(y, eta, weights, best.t, upper, lower)
    for a in range(Z.shape[0]):
        _seen_by_thresholds(y, upper, lower, Z[a], out[a])
        under = 0.0  # of L in the row before, times what is beside
        for j in range(m):
            d = math.sqrt(max(best.diagonal[j] - under * under, 1e-300))
            out[a, j] = (out[a, j] - (under * out[a, j - 1] if j else 0.0)) / d
            under = best.beside[j] / d


@slope_along.register(Ordinal)
def _(loss, y, weights, start, end, t):
    n, total = y.size, 0.0
    eta, slopes, rest = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        eta[i] = start[i] + t * (end[i] - start[i])
    derivatives_of_rows(loss, y, eta, weights, slopes, rest)
    for i in range(n):
        total += slopes[i] * (end[i] - start[i])
    return total


@bound_of_rows.register(Ordinal)
def _(loss, y, weights, tangent, end):
    # Every term of (O) is convex in a sum of eta and t. Slopes of all terms, moved along to the
    # optimum `end` of the quadratic model and its thresholds, balance each other there: each term
    # then lies above its conjugate, as in `verbs.bound_of_rows`.
    n, m, total = y.size, loss.levels - 1, 0.0
    eta, best = tangent.start, best_thresholds(loss, y, tangent.start, weights)
    upper, lower, move, shift = np.empty(n), np.empty(n), np.empty(n), np.empty(m)
    _curvatures(y, eta, weights, best.t, upper, lower)
    for i in range(n):
        move[i] = end[i] - eta[i]
    _seen_by_thresholds(y, upper, lower, move, shift)
    _solve(best, shift)
    for i in range(n):
        c, w = int(y[i]), weights[i]
        if c < m:
            _, slope, curvature = _rise(eta[i] - best.t[c])
            d = move[i] - shift[c]
            total += w * ((slope + curvature * d) * d - binary_gap(slope, curvature * d))
        if c > 0:
            _, slope, curvature = _rise(best.t[c - 1] - eta[i])
            d = shift[c - 1] - move[i]
            total += w * ((slope + curvature * d) * d - binary_gap(slope, curvature * d))
    for j in range(1, m):
        d, q = shift[j] - shift[j - 1], 1.0 / math.expm1(best.t[j] - best.t[j - 1])
        r = q - q * (1.0 + q) * d
        if not r > 0.0:
            return -math.inf
        gap = r * math.log(r / q) - (1.0 + r) * math.log((1.0 + r) / (1.0 + q))
        total -= best.mass[j] * (r * d + gap)
    return total if abs(total) < math.inf else -math.inf


@least_value.register(Ordinal)
def _(loss, y, weights):
    return 0.0


def log_probabilities(t, eta):
    """log P(y = c) (..., K) at predictors eta (...,) with thresholds t (K - 1,)."""
    eta = np.asarray(eta)[..., None]
    edges = np.concatenate([[-np.inf], t, [np.inf]])
    with np.errstate(divide="ignore", over="ignore"):
        gaps = np.log(-np.expm1(-np.diff(edges)))
        return gaps - np.logaddexp(0.0, eta - edges[1:]) - np.logaddexp(0.0, edges[:-1] - eta)


def thresholds_of(loss, y, eta, weights):
    """The best thresholds (K - 1,) at predictors eta (n,) of rows, those of weight 0 left out."""
    seen = weights > 0
    y, eta, weights = (np.ascontiguousarray(one[seen], dtype=float) for one in (y, eta, weights))
    return best_thresholds(loss, y, eta, weights / weights.sum()).t
