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

from ...compiled import part
from ...core.dispatch import njit, with_verbs
from ...core.elementary import exp_minus, log1p_unit
from ..traits import ORDERED, LossTraits
from ..verbs import Free, found_state, state_at

THRESHOLD_STEPS = 100  # Newton steps for the thresholds
LONGEST_MOVE = 5.0  # of a threshold, or a quarter of the largest |eta|
LEAST_PIVOT = 1e-15  # share of a diagonal entry that elimination leaves at least
LAST_GAIN = 1e-13  # a decrement after which the next step would be lost in rounding
NO_TERM = -1e4  # the place of a term that does not exist: its value and its slopes are 0 there


@with_verbs
class OrdinalInKernels(NamedTuple):
    """The loss `Ordinal` as its verbs take it, see `verbs.state_at`. Its state at a predictor are
    the numbers of a `BestThresholds`.
    """

    finder: int  # address of `state_of_rows`
    numbers: np.ndarray
    ints: np.ndarray
    memory: np.ndarray

    def state_of_rows(self, y, eta, weights, before, known, state):
        # with no predictor before, `known` are thresholds to begin from, or none
        levels, n = int(self.numbers[0]), y.size
        if before.size:
            there, move, known = best_in(levels, n, known), np.empty(n), np.empty(levels - 1)
            for i in range(n):
                move[i] = eta[i] - before[i]
            seen_by_thresholds(y, there, move, known)
            solve_thresholds(there, known)
            for j in range(known.size):
                known[j] += there.t[j]
        best = best_in(levels, n, state)
        find_thresholds(best, y, eta, weights, known)
        upper, lower, state[0] = best.upper, best.lower, best.loss[0]
        for i in range(n):
            state[1 + i] = upper.slope[i] - lower.slope[i]
            state[1 + n + i] = upper.curvature[i] + lower.curvature[i]

    def coupling_of_rows(self, y, eta, weights, Z, out):
        best = _best(self, y, eta, weights)
        P = np.empty((best.t.size, y.size))
        fill_coupling(y, best, P)
        for a in range(Z.shape[0]):
            for j in range(P.shape[0]):
                total, z, row = 0.0, Z[a], P[j]
                for i in range(y.size):
                    total += z[i] * row[i]
                out[a, j] = total

    def bound_of_rows(self, y, weights, tangent, end):
        # Every term of (O) is convex in a sum of eta and t. Slopes of all terms, moved along to the
        # optimum `end` of the quadratic model and its thresholds, balance each other there: each
        # term then lies above its conjugate, as in `verbs.bound_of_rows`.
        n, m, total = y.size, int(self.numbers[0]) - 1, 0.0
        eta, best = tangent.start, _best(self, y, tangent.start, weights)
        move, along, shift = np.empty(n), np.empty(n), np.empty(m)
        for i in range(n):
            move[i] = end[i] - eta[i]
        seen_by_thresholds(y, best, move, shift)
        solve_thresholds(best, shift)
        for i in range(n):
            along[i] = move[i] - shift[min(int(y[i]), m - 1)]
        total += _risen(best.upper, along, weights)
        for i in range(n):
            along[i] = shift[max(int(y[i]) - 1, 0)] - move[i]
        total += _risen(best.lower, along, weights)
        for j in range(1, m):
            d, q = shift[j] - shift[j - 1], 1.0 / math.expm1(best.t[j] - best.t[j - 1])
            r = q - q * (1.0 + q) * d
            total -= best.mass[j] * (r * d + spacing_gap(q, r))
        return total if abs(total) < math.inf else -math.inf


@with_verbs
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
    in_kernels = OrdinalInKernels

    levels: int

    def state_size(self):
        return 2 + 6, 1 + thresholds_size(self.levels, 0)

    def rank_of(self):
        return self.levels - 1

    def least_value(self, y, weights):
        return 0.0

    def free_at(self, y, eta, weights):
        return Free(thresholds=thresholds_of(self, y, eta, weights))


class RowTerms(NamedTuple):
    """The terms of one of the two sums of (O)."""

    at: np.ndarray  # (n,), the predictor less the threshold, or the other way round
    slope: np.ndarray  # (n,), in it, times the weights; 0 where there is no such threshold
    curvature: np.ndarray  # (n,), likewise


class BestThresholds(NamedTuple):
    """The best thresholds at a predictor, of K classes; H is the Hessian in them."""

    t: np.ndarray  # (K - 1,)
    diagonal: np.ndarray  # (K - 1,), of H
    beside: np.ndarray  # (K - 1,), the entries of H beside it
    mass: np.ndarray  # (K,), the weights of the classes
    loss: np.ndarray  # (1,)
    upper: RowTerms  # terms of rows with their upper threshold
    lower: RowTerms  # terms of rows with their lower threshold


def thresholds_in(levels, n, room):
    """The `BestThresholds` of n rows whose numbers are in `room` (`thresholds_size`,)."""
    m, at = levels - 1, 4 * levels - 2
    return BestThresholds(
        part(room, 0, m),
        part(room, m, 2 * m),
        part(room, 2 * m, 3 * m),
        part(room, 3 * m, at - 1),
        part(room, at - 1, at),
        RowTerms(
            part(room, at, at + n),
            part(room, at + n, at + 2 * n),
            part(room, at + 2 * n, at + 3 * n),
        ),
        RowTerms(
            part(room, at + 3 * n, at + 4 * n),
            part(room, at + 4 * n, at + 5 * n),
            part(room, at + 5 * n, at + 6 * n),
        ),
    )


def thresholds_size(levels, n):
    """How many numbers a `BestThresholds` has."""
    return 4 * levels - 2 + 6 * n


_thresholds_in, _thresholds_size = njit(thresholds_in), njit(thresholds_size)  # those of kernels


@njit
def best_in(levels, n, state):
    """The `BestThresholds` in the state of an `Ordinal`, see `verbs.state_size`."""
    return _thresholds_in(levels, n, part(state, 1 + 2 * n, state.size))


@njit
def thresholds_room(levels, n):
    """A `BestThresholds` to be filled."""
    return _thresholds_in(levels, n, np.empty(_thresholds_size(levels, n)))


@njit
def _begin(best, y, eta, weights, known):
    """Thresholds that fit the shares of the classes at the mean of eta, or known ones, if they are
    not far from these; returns the longest step from there.
    """
    t, mass, n = best.t, best.mass, y.size
    mean, below, largest, near = 0.0, 0.0, 0.0, known.size > 0
    for c in range(mass.size):
        mass[c] = 0.0
    for i in range(n):
        mass[int(y[i])] += weights[i]
    for i in range(n):
        mean += weights[i] * eta[i]
        largest = max(largest, abs(eta[i]))
    longest = max(LONGEST_MOVE, 0.25 * largest)
    for j in range(t.size):
        below += mass[j]
        share = min(max(below, 1e-12), 1.0 - 1e-12)
        t[j] = mean + math.log(share / (1.0 - share))
        near = near and abs(known[j] - t[j]) <= 4.0 * longest
        near = near and (j == 0 or known[j] > known[j - 1])
    for j in range(t.size if near else 0):
        t[j] = known[j]
    return longest


@njit
def _rises(terms, weights):
    """Fill slopes and curvatures of s(u) = log(1 + e^u) at terms.at; returns the sum of w s(u)."""
    total, at, slope, curvature = 0.0, terms.at, terms.slope, terms.curvature
    for i in range(at.size):  # without branches, for vector units
        slope[i] = exp_minus(abs(at[i]))
    for i in range(at.size):
        u, w, e = at[i], weights[i], slope[i]
        small = 1.0 / (1.0 + e)
        slope[i] = w * small if u > 0.0 else w * e * small
        curvature[i] = w * e * small * small
        total += w * (log1p_unit(e) + max(u, 0.0))
    return total


@njit
def threshold_terms(y, eta, weights, best, g):
    """(O) at best.t, with its gradient g in t, H, and the terms; inf where the thresholds are not
    ordered.
    """
    t, m, F = best.t, best.t.size, 0.0
    upper, lower = best.upper, best.lower
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
        c = int(y[i])
        upper.at[i] = eta[i] - t[c] if c < m else NO_TERM
        lower.at[i] = t[c - 1] - eta[i] if c > 0 else NO_TERM
    F += _rises(upper, weights) + _rises(lower, weights)
    for i in range(y.size):
        c = int(y[i])
        if c < m:
            g[c] -= upper.slope[i]
            best.diagonal[c] += upper.curvature[i]
        if c > 0:
            g[c - 1] += lower.slope[i]
            best.diagonal[c - 1] += lower.curvature[i]
    return F


@njit
def solve_thresholds(best, x):
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
def find_thresholds(best, y, eta, weights, known):
    """Fill the best thresholds by Newton steps, halved where they do not descend, from known
    thresholds (K - 1,) or none. Where these do not arrive, because a row far from the others draws
    the mean of the predictor away, they begin again where each threshold alone would be.
    """
    if not _descended(best, y, eta, weights, _begin(best, y, eta, weights, known)):
        _begin_apart(best, eta, weights)
        _descended(best, y, eta, weights, LONGEST_MOVE)


@njit
def _begin_apart(best, eta, weights):
    """Thresholds t_j at which the classes up to j have their share, by bisection: the best ones of
    each of two classes, which are ordered.
    """
    t, below, lowest, highest = best.t, 0.0, math.inf, -math.inf
    for i in range(eta.size):
        lowest, highest = min(lowest, eta[i]), max(highest, eta[i])
    for j in range(t.size):
        below += best.mass[j]
        share = min(max(below, 1e-12), 1.0 - 1e-12)
        logit = math.log(share / (1.0 - share))
        low, high = lowest + logit, highest + logit
        for _it in range(200):
            t[j] = 0.5 * (low + high)
            if not low < t[j] < high:
                break
            total = -share
            for i in range(eta.size):
                u = t[j] - eta[i]
                e = exp_minus(abs(u))
                total += weights[i] * (1.0 if u > 0.0 else e) / (1.0 + e)
            if total < 0.0:
                low = t[j]
            else:
                high = t[j]
        if j and not t[j] > t[j - 1]:
            t[j] = t[j - 1] + max(1e-3, 1e-12 * abs(t[j - 1]))


@njit
def _descended(best, y, eta, weights, longest):
    """Whether Newton steps from best.t, of at most the longest, arrive at the best thresholds."""
    m, last, done = best.t.size, False, False
    g, step, held, F = np.empty(m), np.zeros(m), best.t.copy(), math.inf
    for _it in range(THRESHOLD_STEPS):
        value = threshold_terms(y, eta, weights, best, g)
        if value > F + 1e-14 * (1.0 + abs(F)):
            for j in range(m):
                step[j] *= 0.5
                best.t[j] = held[j] - step[j]
            continue
        F = value
        if last:
            done = True
            break
        for j in range(m):
            held[j], step[j] = best.t[j], g[j]
        solve_thresholds(best, step)
        gain = 0.0
        for j in range(m):
            gain += g[j] * step[j]
        if gain <= LAST_GAIN * LAST_GAIN:
            done = True
            break
        for j in range(m):
            step[j] = min(max(step[j], -longest), longest)
            best.t[j] = held[j] - step[j]
        last = gain <= LAST_GAIN * min(F, 1.0)  # of the loss, which heavy rows may leave small
    best.loss[0] = F
    return done


@njit
def _best(loss, y, eta, weights):
    """The `BestThresholds` at a predictor."""
    return best_in(int(loss.numbers[0]), y.size, state_at(loss, y, eta, weights))


def best_thresholds(loss, y, eta, weights):
    """The `BestThresholds` of an `Ordinal` at a predictor.

    Parameters
    ----------
    loss : Ordinal
    y, eta, weights : ndarray of shape (n,)
        Codes of the classes, all of which have a row, the predictor and the weights.
    """
    state = found_state(loss, y, eta, weights)
    return thresholds_in(loss.levels, y.size, state[1 + 2 * y.size :])


@njit
def seen_by_thresholds(y, best, z, out):
    """out (K - 1,) = -M'z for z (n,)."""
    upper, lower = best.upper.curvature, best.lower.curvature
    for j in range(out.size):
        out[j] = 0.0
    for i in range(y.size):
        c = int(y[i])
        if c < out.size:
            out[c] += upper[i] * z[i]
        if c > 0:
            out[c - 1] += lower[i] * z[i]


@njit
def fill_coupling(y, best, P):
    """P (K - 1, n) = -L^-1 M', H = L L'."""
    upper, lower = best.upper.curvature, best.lower.curvature
    under = 0.0  # of L in the row before, times what is beside
    for j in range(P.shape[0]):
        scale = 1.0 / math.sqrt(max(best.diagonal[j] - under * under, 1e-300))
        for i in range(y.size):
            t = upper[i] if y[i] == j else lower[i] if y[i] == j + 1 else 0.0
            P[j, i] = scale * (t - under * P[j - 1, i] if j else t)
        under = best.beside[j] * scale


@njit
def spacing_gap(q, r):
    """The gap of the conjugate of -log(1 - exp(-u)) at the slope -r, where -q is that at u; inf
    outside its domain.
    """
    if not r > 0.0:
        return math.inf
    return r * math.log(r / q) - (1.0 + r) * math.log((1.0 + r) / (1.0 + q))


@njit
def _risen(terms, d, weights):
    """What weak duality leaves of sum w log(1 + e^u) along steps d (n,) of u; without branches."""
    total, outside, slope, curvature = 0.0, 0, terms.slope, terms.curvature
    for i in range(d.size):
        s, w, x = slope[i], weights[i], curvature[i] * d[i]
        outside += (s + x < 0.0) | (s + x > w)
        a, b, t = (s, w - s, x) if x >= 0.0 else (w - s, s, -x)
        high, low = a * (6.0 * a + 4.0 * t), 2.0 * b - t
        gap = t * t * ((3.0 * a + t) * low + high) / (high * low)
        total += (s + x) * d[i] - (gap if t > 0.0 else 0.0)
    return -math.inf if outside else total


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
