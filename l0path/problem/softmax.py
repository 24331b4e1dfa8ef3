"""The multinomial loss as kernels take it: of q = r - 1 predictors of each row, for the contrasts
of r classes (`several.contrasts`).

With T (q, r) the contrasts and u (q,) the predictors of a row of class y, those of the classes are
e = T'u, P = exp(e) / sum exp(e) their probabilities:

    value      log sum exp(e) - e_y
    slopes     T (P - Y),                      Y the indicator of y
    curvature  T (diag P - P P') T'

The conjugate at slopes T (p - Y) is sum p log p for shares p, so that weak duality leaves the
divergence KL(p || P) of a row. In arrays of all rows q parts of n numbers follow each other, and a
part of curvatures for each pair s >= t of contrasts (`working_set.newton`).
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit, with_verbs
from ..core.elementary import entropy_rise, exp_minus, log1p_unit
from .several import contrasts
from .verbs import dual_gain_of_rows, value_and_slopes

LN2 = math.log(2.0)
HIDDEN = 1e-14  # a probability, or a change of one, that rounding of slopes hides


@with_verbs
class Softmax(NamedTuple):
    """-log P(class), of the predictors of contrasts; y has the numbers of classes."""

    contrasts: np.ndarray  # (q r,), T, row by row
    # (q r,), U with P - Y = U'T (P - Y): the rows of T, less the first class where T leaves it out
    back: np.ndarray
    classes: int  # r

    def value_of_rows(self, y, eta, weights):
        return shares(self, y, eta, weights, np.empty((self.classes, y.size)))

    def value_and_slopes(self, y, eta, weights, slopes):
        P = np.empty((self.classes, y.size))
        value = shares(self, y, eta, weights, P)
        slopes_of(self, own_contrasts(self, y), P, slopes)
        _weigh(weights, slopes)
        return value

    def derivatives_of_rows(self, y, eta, weights, slopes, curvatures):
        r, n, T, pair = self.classes, y.size, self.contrasts, 0
        P, own = np.empty((r, n)), own_contrasts(self, y)
        value = shares(self, y, eta, weights, P)
        slopes_of(
            self, own, P, slopes
        )  # which are means of contrasts beyond those of the own class
        for s in range(predictors_of(self)):
            for t in range(s + 1):
                v = curvatures[pair * n : pair * n + n]
                for i in range(n):
                    v[i] = -slopes[s * n + i] * slopes[t * n + i]
                for c in range(r):
                    a, b = T[s * r + c], T[t * r + c]
                    for i in range(n):
                        v[i] += (a - own[s, i]) * (b - own[t, i]) * P[c, i]
                pair += 1
        _weigh(weights, slopes)
        _weigh(weights, curvatures)
        return value

    def slope_along(self, y, weights, start, end, t):
        at, slopes, total = np.empty(start.size), np.empty(start.size), 0.0
        for i in range(at.size):
            at[i] = start[i] + t * (end[i] - start[i])
        value_and_slopes(self, y, at, weights, slopes)
        for i in range(at.size):
            total += slopes[i] * (end[i] - start[i])
        return total

    def reach_of_rows(self, y, eta, offset, out):
        # by how much predictors of the classes differ in a row
        r, n, far, margin = self.classes, y.size, 0.0, math.inf
        u, e, low, high = np.empty(eta.size), np.empty((r, n)), np.empty(n), np.empty(n)
        for i in range(eta.size):
            u[i] = eta[i] - offset[i]
        of_classes(self, u, e)
        for c in range(r):
            for i in range(n):
                low[i] = e[c, i] if c == 0 else min(low[i], e[c, i])
                high[i] = e[c, i] if c == 0 else max(high[i], e[c, i])
        for i in range(n):
            far = max(far, high[i] - low[i])
        for i in range(n):
            own, best = int(y[i]), -math.inf
            for c in range(r):
                best = max(best, e[c, i]) if c != own else best
            margin = min(margin, e[own, i] - best)
            if not margin > 0.0:  # nobody asks by how much
                break
        out[0], out[1] = far, margin
        return 0.0

    def bound_of_rows(self, y, weights, tangent, end):
        # the dual point has the shares p = P (1 + d), d = e - P'e for moves e of the classes
        r, n, bound, least = self.classes, y.size, 0.0, 0.0
        P, e, u, mean = np.empty((r, n)), np.empty((r, n)), np.empty(end.size), np.empty(n)
        shares(self, y, tangent.start, weights, P)
        for i in range(end.size):
            u[i] = end[i] - tangent.start[i]
        of_classes(self, u, e)
        for c in range(r):
            for i in range(n):
                t = P[c, i] * e[c, i]
                mean[i] = t if c == 0 else mean[i] + t
        for i in range(n):
            bound += weights[i] * (mean[i] - e[int(y[i]), i])
        for c in range(r):
            for i in range(n):
                d = e[c, i] - mean[i]
                least = min(least, d)
                bound += weights[i] * P[c, i] * (d * d - entropy_rise(d))
        return bound if least >= -1.0 else -math.inf

    def dual_gain_of_rows(self, y, weights, eta, slopes, ahead, dual):
        n, gain, least = y.size, 0.0, 0.0
        share, change, inverse = np.empty(n), np.empty(n), _inverse(weights)
        for i in range(eta.size):
            gain += dual[i] * (ahead[i] - eta[i])
        for c in range(self.classes):
            _shares_of_dual(self, y, inverse, slopes, dual, c, share, change)
            for i in range(n):
                P, d = share[i], change[i]
                least = min(least, _left(P, d))
                gain -= weights[i] * _gap(P, d)
        return gain if least >= 0.0 else -math.inf

    def drawn_back_rows(self, y, weights, eta, slopes, ahead, dual, moved):
        n = y.size
        share, change, kept, inverse = np.empty(n), np.empty(n), np.empty(n), _inverse(weights)
        for i in range(n):
            kept[i] = 1.0
        for c in range(self.classes):
            _shares_of_dual(self, y, inverse, slopes, dual, c, share, change)
            for i in range(n):
                if _left(share[i], change[i]) < 0.0:
                    kept[i] = min(kept[i], 0.5 * max(share[i], HIDDEN) / abs(change[i]))
        for s in range(predictors_of(self)):
            for i in range(n):
                at = s * n + i
                moved[at] = (kept[i] - 1.0) * (dual[at] - slopes[at])
                dual[at] += moved[at]
        # all rows are within now
        return dual_gain_of_rows(self, y, weights, eta, slopes, ahead, dual)


def softmax_of(r, baseline=False):
    """The `Softmax` of r classes, with the contrasts of `several.contrasts`."""
    T = contrasts(r, baseline)
    U = T - np.eye(r)[0] if baseline else T
    return Softmax(T.ravel(), U.ravel(), r)


def softmax_by_class(r):
    """The `Softmax` of a predictor for each of r classes: T is the identity, q = r."""
    return Softmax(np.eye(r).ravel(), np.eye(r).ravel(), r)


@njit
def predictors_of(loss):
    """q."""
    return loss.contrasts.size // loss.classes


@njit
def of_classes(loss, u, e):
    """Fill e (r, n) with the predictors of the classes by those of the contrasts, u (q n,)."""
    r, n = e.shape
    for c in range(r):
        for i in range(n):
            e[c, i] = 0.0
        for s in range(predictors_of(loss)):
            t, at = loss.contrasts[s * r + c], s * n
            for i in range(n):
                e[c, i] += t * u[at + i]


@njit
def _halve(r, top, total):
    """Halve sums (n,), at most r, until none is above 2, for a logarithm without a call; top gets
    the logarithms of what is taken off. Within `shares` its loops would be ten times slower.
    """
    halved = r
    while halved > 2:
        halved = (halved + 1) // 2
        for i in range(top.size):
            above = total[i] > 2.0
            top[i] += LN2 if above else 0.0
            total[i] *= 0.5 if above else 1.0


@njit
def shares(loss, y, u, weights, P):
    """The mean loss at u (q n,); P (r, n) has the probabilities. inf, and equal ones, where an
    entry is no number.
    """
    (r, n), F, size = P.shape, 0.0, 0.0
    top, likeliest, rest, total = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    of_classes(loss, u, P)
    # class by class, for vector units
    for c in range(r):
        for i in range(n):
            size += abs(P[c, i])
            above = c == 0 or P[c, i] > top[i]
            likeliest[i] = float(c) if above else likeliest[i]
            top[i] = P[c, i] if above else top[i]
    if not size < np.inf:  # an entry is no number, and `exp_minus` takes numbers
        for c in range(r):
            for i in range(n):
                P[c, i] = 1.0 / r
        return np.inf
    for i in range(n):
        F += weights[i] * (top[i] - P[int(y[i]), i])
    for c in range(r):
        for i in range(n):
            P[c, i] = exp_minus(top[i] - P[c, i])
    # the likeliest class, whose term is 1, apart: a small loss is known to all its digits
    for c in range(r):
        for i in range(n):
            more = P[c, i] if likeliest[i] != c else 0.0
            rest[i] = more if c == 0 else rest[i] + more
    for i in range(n):
        total[i] = 1.0 + rest[i]
    for c in range(r):
        for i in range(n):
            P[c, i] /= total[i]
    for i in range(n):
        top[i] = 0.0
    _halve(r, top, total)
    for i in range(n):
        F += weights[i] * (top[i] + log1p_unit(rest[i] if top[i] == 0.0 else total[i] - 1.0))
    return F


@njit
def own_contrasts(loss, y):
    """(q, n), the contrasts of each row's own class."""
    out = np.empty((predictors_of(loss), y.size))
    for s in range(out.shape[0]):
        for i in range(y.size):
            out[s, i] = loss.contrasts[s * loss.classes + int(y[i])]
    return out


@njit
def slopes_of(loss, own, P, slopes):
    """Fill slopes (q n,), without the weights, by the probabilities P (r, n) and `own_contrasts`.
    A row's own class has no term, so that small slopes are known to all their digits.
    """
    r, n = P.shape
    for s in range(predictors_of(loss)):
        D = slopes[s * n : s * n + n]
        for c in range(r):
            t = loss.contrasts[s * r + c]
            for i in range(n):
                more = (t - own[s, i]) * P[c, i]
                D[i] = more if c == 0 else D[i] + more


@njit
def _weigh(weights, values):
    """Multiply parts of n values by the weights (n,)."""
    n = weights.size
    for at in range(0, values.size, n):
        for i in range(n):
            values[at + i] *= weights[i]


@njit
def _inverse(weights):
    out = np.empty(weights.size)
    for i in range(out.size):
        out[i] = 1.0 / weights[i]
    return out


@njit
def _shares_of_dual(loss, y, inverse, slopes, dual, c, share, d):
    """Fill share and d (n,) with the probabilities of class c that slopes are those of, and with
    what a dual point adds to them; inverse (n,): of the weights.
    """
    n = y.size
    for i in range(n):
        share[i] = d[i] = 0.0
    for s in range(predictors_of(loss)):
        t, at = loss.back[s * loss.classes + c], s * n
        for i in range(n):
            share[i] += t * slopes[at + i]
            d[i] += t * (dual[at + i] - slopes[at + i])
    for i in range(n):
        share[i] = share[i] * inverse[i] + (1.0 if y[i] == c else 0.0)
        d[i] *= inverse[i]


@njit
def _left(P, d):
    """What a change d leaves of a probability P; below 0 also where P is too small to be known, and
    d is not.
    """
    return P + d if P >= HIDDEN else HIDDEN - abs(d)


@njit
def _gap(P, d):
    """P entropy_rise(d / P) as one fraction; of a change that rounding hides that of P to 0."""
    over = d * d * (3.0 * P + d if d >= 0.0 else 1.0)
    under = P * (6.0 * P + 4.0 * d) if d >= 0.0 else 2.0 * P + d
    return over / under if P >= HIDDEN else P
