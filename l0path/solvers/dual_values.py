"""Conjugate losses and the dual values of the L0 problems: what bounds an optimum from below.

    D(a) = sum_i w_i (o_i a_i - loss*(y_i, a_i)) - S(h),   h_j = max_{lower <= b <= upper} -t_j b - lambda1 |b| - lambda2 b^2,   t = Z'(w a)                              (D)
    S = sum of the k largest h_j (k-sparse), or sum_j (h_j - lambda0 f_j)_+ (penalised); forced columns always count whole

holds D(a) <= optimum for every a in the domain of the conjugates with sum_i w_i a_i = 0 where an intercept is free. a (n,) is the dual variable of a row, in units of the loss's slope.
Sources: Liu et al. (Dual Iterative Hard Thresholding, ICML 2017), section 2; Ren & Qian, Dynamic Incremental Optimization for Best Subset Selection, equations (7)-(8), made to hold with a
box, weights and offsets; smoothed hinge: Shalev-Shwartz & Zhang (2013).
"""
from functools import singledispatch

import numpy as np

from ..losses import Huber, Logistic, SmoothedHinge, Squared, SquaredHinge, derivatives
from .coordinate_descent import entry_gains

INSIDE = 1e-12  # logistic: how far from the ends of its domain a dual variable stays, so that the conjugate's slope is finite


@singledispatch
def conjugate(loss, y, a):
    """loss*(y, a) = sup_eta a eta - loss(y, eta), (n,), for a in the domain."""
    raise TypeError(f"no conjugate for {type(loss).__name__}")


@singledispatch
def conjugate_slope(loss, y, a):
    """Derivative of the conjugate in a: the predictor whose slope a is."""
    raise TypeError(f"no conjugate for {type(loss).__name__}")


@singledispatch
def domain(loss, y):
    """Ends of the interval of a on which the conjugate is finite, two (n,) arrays around 0."""
    raise TypeError(f"no conjugate for {type(loss).__name__}")


@singledispatch
def convexity(loss):
    """(least, largest) second derivative of the conjugate on its domain; the least again where there is no largest."""
    raise TypeError(f"no conjugate for {type(loss).__name__}")


@conjugate.register(Squared)
@conjugate.register(Huber)
def _(loss, y, a):
    return 0.5 * a * a + y * a


@conjugate_slope.register(Squared)
@conjugate_slope.register(Huber)
def _(loss, y, a):
    return a + y


@domain.register(Squared)
def _(loss, y):
    return np.full(y.size, -np.inf), np.full(y.size, np.inf)


@domain.register(Huber)
def _(loss, y):
    return np.full(y.size, -loss.delta), np.full(y.size, loss.delta)


@convexity.register(Squared)
@convexity.register(Huber)
def _(loss):
    return 1.0, 1.0


@conjugate.register(Logistic)
def _(loss, y, a):
    q = np.clip(-y * a, 0.0, 1.0)
    return q * np.log(np.maximum(q, 1e-300)) + (1.0 - q) * np.log(np.maximum(1.0 - q, 1e-300))


@conjugate_slope.register(Logistic)
def _(loss, y, a):
    q = np.clip(-y * a, INSIDE, 1.0 - INSIDE)
    return -y * np.log(q / (1.0 - q))


@domain.register(Logistic)
@domain.register(SmoothedHinge)
def _(loss, y):
    return np.where(y > 0, -1.0, 0.0), np.where(y > 0, 0.0, 1.0)


@convexity.register(Logistic)
def _(loss):
    return 4.0, 4.0


@conjugate.register(SquaredHinge)
def _(loss, y, a):
    return y * a + 0.25 * a * a


@conjugate_slope.register(SquaredHinge)
def _(loss, y, a):
    return y + 0.5 * a


@domain.register(SquaredHinge)
def _(loss, y):
    return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)


@convexity.register(SquaredHinge)
def _(loss):
    return 0.5, 0.5


@conjugate.register(SmoothedHinge)
def _(loss, y, a):
    return y * a + 0.5 * loss.gamma * a * a


@conjugate_slope.register(SmoothedHinge)
def _(loss, y, a):
    return y + loss.gamma * a


@convexity.register(SmoothedHinge)
def _(loss):
    return loss.gamma, loss.gamma


def project(a, low, high, weights, anchor=None):
    """The point of low <= x <= high nearest to a in the norm weighted by `weights`; with `anchor`, a point of the box, of those with sum_i weights_i (x_i - anchor_i) = 0."""
    inside = np.minimum(np.maximum(a, low), high)
    if anchor is None:
        return inside
    total, away = float(weights @ anchor), a - anchor
    left, right, shift = float(away.min()), float(away.max()), 0.0
    for _ in range(100):  # the sum falls as the shift grows, piecewise linearly: Newton steps, kept in a bracket
        gap = float(weights @ inside) - total
        left, right = (max(left, shift), right) if gap > 0.0 else (left, min(right, shift))
        if abs(gap) <= 1e-16 or right - left <= 1e-15 * max(abs(left), abs(right)):
            break
        inner = float(weights @ ((inside > low) & (inside < high)))
        shift = shift + gap / inner if inner > 0.0 else left
        if not left < shift < right:
            shift = 0.5 * (left + right)
        inside = np.minimum(np.maximum(a - shift, low), high)
    return inside


def balance(a, weights):
    """a with the heavier of its signs scaled down so that sum_i weights_i a_i = 0; the domain holds 0, so it is not left."""
    up, down = float(weights @ np.maximum(a, 0.0)), float(weights @ np.maximum(-a, 0.0))
    if up > down:
        return np.where(a > 0.0, a * (down / up), a)
    return np.where(a < 0.0, a * (up / down), a) if down > up else a


class DualProblem:
    """(D) of a problem at one (lambda1, lambda2 > 0). `tied`: an intercept asks for sum_i w_i a_i = 0 (a squared loss had it taken out)."""

    def __init__(self, problem, lambda1, lambda2):
        self.problem, self.lambda1, self.lambda2 = problem, float(lambda1), float(lambda2)
        self.low, self.high = domain(problem.loss, problem.y)
        self.tied = problem.intercept and not problem.quadratic
        self.zero = np.zeros(problem.y.size)
        self.least, self.largest = convexity(problem.loss)

    def project(self, a):
        """The nearest feasible point."""
        if not self.tied:
            return project(a, self.low, self.high, self.problem.weights)
        return balance(project(a, self.low, self.high, self.problem.weights, self.zero), self.problem.weights)

    def smooth_part(self, a):
        """sum_i w_i (o_i a_i - loss*(y_i, a_i)) of a feasible a."""
        p = self.problem
        return float(p.weights @ (p.offset * a - conjugate(p.loss, p.y, a)))

    def slope_part(self, a, rows=slice(None)):
        """o_i less the conjugate's slope, of a (m,) on some rows: with z_i'b(a) the super-gradient of D in the metric of the weights."""
        p = self.problem
        return p.offset[rows] - conjugate_slope(p.loss, p.y[rows], a)

    def link(self, pull, lower, upper, boxed):
        """b (m,) that attains h, and h, for pull = -t."""
        b = np.copysign(np.maximum(np.abs(pull) - self.lambda1, 0.0), pull) / (2.0 * self.lambda2)
        if boxed:
            return np.clip(b, lower, upper), entry_gains(pull, 0.0, self.lambda1, self.lambda2, lower, upper)
        return b, self.lambda2 * b * b

    def of_predictor(self, eta):
        """The feasible point a_i = loss'(y_i, eta_i), the dual partner of a fit."""
        p, a, scratch = self.problem, np.empty(eta.size), np.empty(eta.size)
        derivatives(p.loss, p.y, eta, np.ones(eta.size), a, scratch)
        return self.project(a)
