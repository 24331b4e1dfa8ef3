"""Restricted optima of any loss: the best coefficients on a given support, with lambda1, lambda2
and a box.

    minimize over b0, b:   sum_i w_i loss(y_i, o_i + b0 + z_i'b) + lambda1 ||b||_1
                           + lambda2 ||b||^2,   lower <= b <= upper                  (R)

Damped Newton steps, each a quadratic that `solve_quadratic` solves.
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from ..problem.losses import ETA_CAP
from ..problem.traits import FAR_OUT, SEPARATES
from ..problem.verbs import Tangent, derivatives, dual_bound, mean_loss, origin, slope_along
from .linear_algebra import (
    cholesky,
    copy,
    couple,
    filled,
    predictor,
    products,
    rounding,
    weighted_gram,
    weighted_square,
)
from .quadratic import solve_quadratic, violation

CONVERGED, MAX_ITER, REJECTED, SEPARATED = 0, 1, 2, 3


class LossRows(NamedTuple):
    """A loss and the n rows it is summed over: y, weights, offset (n,), whether an intercept is
    fitted, and Z (w, n), a working column per row.
    """

    loss: tuple
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    intercept: bool
    Z: np.ndarray


def rows_of(problem, Z):
    """The `LossRows` of a problem with the working columns Z (w, n)."""
    p = problem
    return LossRows(p.loss, p.y, p.weights, p.offset, p.intercept, Z)


class Shrinkage(NamedTuple):
    """The shrinkage terms of (R): lambda1 ||b||_1 + lambda2 ||b||^2."""

    lambda1: float
    lambda2: float


class Box(NamedTuple):
    """Bounds of the coefficients, (k,) each."""

    lower: np.ndarray
    upper: np.ndarray


class Stopping(NamedTuple):
    """The rule that ends a descent: once F cannot fall below `target`; as separated (`capped`: how
    the loss recedes, as in `problem.traits`); after max_iter steps. smooth: whether no curvature
    jumps.
    """

    target: float
    capped: int
    smooth: bool
    max_iter: int


class NewtonModel(NamedTuple):
    """The quadratic model of F at x = (b, b0), m = k + 1 numbers, or m = k without an intercept: H
    (m, m), and of shape (m,) grad, l1, bounds lower and upper, squares (squared lengths of the
    columns, in whose units damping is counted), rhs and diagonal (work space), and the minimizer
    `new`.
    """

    x: np.ndarray
    H: np.ndarray
    grad: np.ndarray
    l1: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    squares: np.ndarray
    rhs: np.ndarray
    diagonal: np.ndarray
    new: np.ndarray


class RowWork(NamedTuple):
    """Of every row, (n,): weighted slopes and curvatures of the loss at x, the predictor eta at x
    and that where a step ends, and scratch.
    """

    slopes: np.ndarray
    curvatures: np.ndarray
    eta: np.ndarray
    end: np.ndarray
    scratch: np.ndarray


class StepStart(NamedTuple):
    """Numbers from which a step starts: F; the mean curvature, and that or 1 as the unit of
    damping; level, the size that rounding of F is relative to; the violation of the optimality
    conditions; whether H is that of an earlier point; the damping.
    """

    F: float
    mean_curvature: float
    unit: float
    level: float
    violation: float
    stale: bool
    damping: float


@njit
def shrinkage(b, lambda1, lambda2):
    """lambda1 ||b||_1 + lambda2 ||b||^2."""
    t = 0.0
    for a in range(b.size):
        t += lambda1 * abs(b[a]) + lambda2 * b[a] * b[a]
    return t


@njit
def line_minimum(rows, shrunk, start, end, b, x):
    """The share t in [0, 1] of the step (b, start) -> (x, end) at which F is least, by bisection
    and secants on its slope; start, end (n,) predictors.
    """
    loss, y, weights = rows.loss, rows.y, rows.weights
    low, high, t, low_slope, high_slope = 0.0, 1.0, 0.5, 0.0, 0.0
    for step in range(25):
        slope_t = slope_along(loss, y, weights, start, end, t)
        for a in range(b.size):
            d = x[a] - b[a]
            now = b[a] + t * d
            slope_t += 2.0 * shrunk.lambda2 * now * d + shrunk.lambda1 * d * (
                1.0 if now > 0.0 else -1.0 if now < 0.0 else 0.0
            )
        if slope_t < 0.0:
            low, low_slope = t, slope_t
        else:
            high, high_slope = t, slope_t
        if high - low < 1e-3 * high or slope_t == 0.0:
            break
        t = 0.5 * (low + high)
        if step % 2 == 1 and low_slope < 0.0 < high_slope:
            t = low + (high - low) * min(max(low_slope / (low_slope - high_slope), 0.05), 0.95)
    return low if low > 0.0 else t


@njit
def gradient(rows, S, slopes, lambda2, x, grad):
    """Gradient of the loss + ridge at x = (b, b0); slopes (n,) with the weights in them."""
    k, total = S.size, 0.0
    products(rows.Z, S, slopes, grad)
    for a in range(k):
        grad[a] += 2.0 * lambda2 * x[a]
    if rows.intercept:
        for i in range(slopes.size):
            total += slopes[i]
        grad[k] = total


@njit
def hessian(rows, S, lambda2, model, work, eta):
    """Hessian of the loss + ridge at eta (n,); returns its trace."""
    k, H = S.size, model.H
    total = weighted_gram(rows.Z, S, work.curvatures, H, model.rhs, work.scratch)
    couple(rows, S, eta, H)
    trace = 0.0
    for a in range(k):
        H[a, a] += 2.0 * lambda2
        trace += H[a, a]
    if rows.intercept:
        for a in range(k):
            H[a, k] = model.rhs[a]
            H[k, a] = model.rhs[a]
        H[k, k] = total
        trace += total
    return trace


@njit
def newton_step(model, extra):
    """Minimizer `new` of the quadratic model with `extra` times squares (m,) on its diagonal;
    returns the decrease that the model without it promises, the violation of the optimality
    conditions of the model that is left, and the size that rounding of it is relative to.
    """
    x, H, grad, l1, new = model.x, model.H, model.grad, model.l1, model.new
    m, size = x.size, 1e-300
    for a in range(m):
        new[a] = x[a]
        t = -grad[a]
        for c in range(m):
            t += H[a, c] * x[c]
        model.rhs[a] = t + extra * model.squares[a] * x[a]
        size = max(size, abs(model.rhs[a]) + l1[a])
    for a in range(m):
        model.diagonal[a] = H[a, a]
        H[a, a] += extra * model.squares[a]
    left = size * solve_quadratic(H, model.rhs, l1, model.lower, model.upper, new, 50)
    for a in range(m):
        H[a, a] = model.diagonal[a]  # subtracting would leave rounding of a large `extra`
    promised = 0.0
    for a in range(m):
        t = grad[a]
        for c in range(m):
            t += 0.5 * H[a, c] * (new[c] - x[c])
        promised -= t * (new[a] - x[a]) + l1[a] * (abs(new[a]) - abs(x[a]))
    return promised, left, size


@njit
def value_at(rows, S, shrunk, x, b0, eta):
    """F at x = (b, b0) (b0 apart when there is no intercept to fit); leaves eta there."""
    k = S.size
    predictor(rows.Z, S, x[:k], x[k] if rows.intercept else b0, rows.offset, eta)
    loss = mean_loss(rows.loss, rows.y, eta, rows.weights)
    return loss + shrinkage(x[:k], shrunk.lambda1, shrunk.lambda2)


@njit
def refit(rows, S, shrunk, box, b, b0, stopping, eta):
    """Solve (R) on the working columns S from the start (b, b0), in place: returns (status, F, b0,
    violation) and leaves eta at the solution.

    rows, shrunk, box, stopping: records of this module; S, b (k,). Newton with a line search; where
    that fails (losses whose curvature vanishes have singular Hessians) damped, tenfold more after a
    refused step, tenfold less after an accepted one, and where the quadratic model has no optimum
    within reach. Gives up with REJECTED once weak duality shows that F cannot fall below the target
    (`dual_bound`). With stopping.capped > 0 (no shrinkage) it ends as SEPARATED when (SEPARATES)
    eta - offset predicts every class without error, if the box lets it go on that way, or when
    |eta - offset| > FAR_OUT and the curvature along some direction has vanished; (b, b0) is then
    cut back to |eta - offset| <= 30, while F stays as low as it was, or the 0 that is approached.
    """
    n, capped = rows.y.size, stopping.capped
    model, reference = _start(rows, S, shrunk.lambda1, box, b, b0)
    work = RowWork(np.empty(n), np.empty(n), np.empty(n), eta, np.empty(n))
    x, held = model.x, filled(model.x.size, 0.0)
    F = value_at(rows, S, shrunk, x, b0, eta)
    damping, scale, worst, status = 0.0, 0.0, np.inf, MAX_ITER
    far, margin = _reach(rows.y, eta, rows.offset)
    trace, near, close = 1e-300, False, False
    if far <= ETA_CAP:
        copy(x, held)
    for _it in range(stopping.max_iter):
        derivatives(rows.loss, rows.y, eta, rows.weights, work.slopes, work.curvatures)
        gradient(rows, S, work.slopes, shrunk.lambda2, x, model.grad)
        if not near:
            trace = max(hessian(rows, S, shrunk.lambda2, model, work, eta), 1e-300)
        unit = max(trace / reference, 1.0)
        middle = origin(rows.loss, work.slopes, eta)
        size, level = _sizes(work.slopes, eta, 0.0, shrunk.lambda1, abs(F) + 1e-300)
        about = level  # without what a row far out moves all predictors by
        if middle != 0.0:
            size, about = _sizes(work.slopes, eta, middle, shrunk.lambda1, abs(F) + 1e-300)
        worst, scale = _largest_violation(model), max(scale, size)
        copy(eta, work.eta)
        here = StepStart(F, trace / reference, unit, level, worst, near, damping)
        outcome, value, promised, damping = _descend(
            rows, S, shrunk, model, work, here, b0, stopping.target
        )
        if outcome == REJECTED:
            return REJECTED, F, b0, worst
        if outcome == MAX_ITER:
            copy(work.eta, eta)
            status = CONVERGED if worst <= 1e-7 * scale or close else MAX_ITER
            break
        gain = F - value
        F = value
        copy(model.new, x)
        # farther out it may be on its way to separation
        quiet = stopping.smooth and damping == 0.0 and (capped == 0 or far <= 10.0)
        # so close that the Hessian stays as it is
        stale, near = near, quiet and promised <= 1e-6 * about
        damped = damping > 0.0  # a damped step promises little however far the optimum is
        # where the model predicted the step well, it is trusted again
        damping = 0.0 if gain > 0.75 * promised or damping <= 1e-9 * unit else 0.1 * damping
        if capped > 0:
            far, margin = _reach(rows.y, eta, rows.offset)
            if capped == SEPARATES and margin > 0.0 and _unbounded(model):
                status, F = SEPARATED, 0.0
                break
            if far <= ETA_CAP:
                copy(x, held)
        # after an undamped step that promised next to nothing a smooth loss is far closer still:
        # quadratically, and with a Hessian from one step before nearly so; where F hardly depends
        # on b (weights that are far apart) the slopes have to be small, too
        promised_little = 1e-15 if stale else 1e-11
        flat = worst <= 1e-4 * scale
        converged = quiet and flat and promised <= promised_little * about
        # what rounding of predictors may leave
        close |= quiet and promised <= promised_little * level
        little = worst <= 1e-11 * scale or (flat and promised <= 1e-14 * level and not damped)
        if converged or (gain <= rounding(n) * level and little):
            status = CONVERGED
            break
    if capped > 0 and status != SEPARATED and far > FAR_OUT[capped] and diverged(model):
        status = SEPARATED
        _cut_back(rows, S, b0, model, work, held)
    for a in range(S.size):
        b[a] = x[a]
    return status, F, x[S.size] if rows.intercept else b0, worst


@njit
def _start(rows, S, lambda1, box, b, b0):
    """The model at the start (b, b0) within the box, without derivatives, and the sum of its
    `squares`.
    """
    k = S.size
    m = k + 1 if rows.intercept else k
    v, l1, squares = np.empty((5, m)), filled(m, 0.0), filled(m, 1.0)
    lower, upper = filled(m, -np.inf), filled(m, np.inf)
    H = np.empty((m, m))
    model = NewtonModel(v[0], H, v[1], l1, lower, upper, squares, v[2], v[3], v[4])
    reference = 0.0
    for a in range(k):
        model.l1[a], model.lower[a], model.upper[a] = lambda1, box.lower[a], box.upper[a]
        model.x[a] = min(max(b[a], box.lower[a]), box.upper[a])
        # curvatures as if every row's were 1: damping starts from these where no row is curved
        model.squares[a] = weighted_square(rows.Z[S[a]], rows.weights)
        reference += model.squares[a]
    if rows.intercept:
        model.x[k] = b0
        reference += 1.0
    return model, max(reference, 1e-300)


@njit
def _largest_violation(model):
    """Largest violation of the optimality conditions at x."""
    worst, x = 0.0, model.x
    for a in range(x.size):
        t = violation(-model.grad[a], x[a], model.l1[a], model.lower[a], model.upper[a])
        worst = max(worst, t)
    return worst


@njit
def _descend(rows, S, shrunk, model, work, here, b0, target):
    """One step from x to `new` that lowers F: undamped with a line search first, then damped ever
    more. Returns (CONVERGED: accepted | MAX_ITER: none | REJECTED, F there, decrease promised,
    damping).

    here: a `StepStart`; b0: the intercept where none is fitted. An undamped step counts only where
    it solves the quadratic model: without curvature the model has no optimum, and a bound would be
    taken for one.
    """
    k, x, new, F, eta = S.size, model.x, model.new, here.F, work.end
    value, promised, noise = F, 0.0, rounding(eta.size) * here.level
    blind = max(1e-13 * here.level, noise)  # a decrease that F does not show
    damping, solved = here.damping, 0.0
    for _attempt in range(30):
        promised, left, size = newton_step(model, 1e-12 * here.mean_curvature + damping)
        if damping == 0.0 and not left <= max(0.1 * here.violation, 1e-10 * size):
            damping = 1e-3 * here.unit
            continue
        solved = max(1e-9 * here.violation, 1e-12 * size)
        value = value_at(rows, S, shrunk, new, b0, eta)
        if F - 2.0 * promised > target and damping == 0.0 and not here.stale and left <= solved:
            bound = F + shrinkage(new[:k], shrunk.lambda1, shrunk.lambda2)
            bound -= shrinkage(x[:k], shrunk.lambda1, shrunk.lambda2)
            tangent = Tangent(work.eta, work.slopes, work.curvatures)
            bound += dual_bound(rows.loss, rows.y, rows.weights, tangent, eta)
            if bound > target + blind:
                return REJECTED, F, promised, damping
        accepted = value <= F - 1e-4 * promised or (promised <= blind and value <= F + noise)
        if not accepted and damping == 0.0 and promised > blind:
            length = line_minimum(rows, shrunk, work.eta, eta, x[:k], new[:k])
            for a in range(x.size):
                new[a] = x[a] + length * (new[a] - x[a])
            value = value_at(rows, S, shrunk, new, b0, eta)
            accepted = value <= F - 1e-4 * length * promised and length > 1e-4
        if accepted:
            return CONVERGED, value, promised, damping
        damping = max(10.0 * damping, 1e-3 * here.unit)
    return MAX_ITER, value, promised, damping


@njit
def _sizes(slopes, eta, middle, largest, total):
    """Largest |slope|, and the size of what the loss is summed from, which may cancel (poisson,
    large y): sum |slope (eta - middle)|; counted from `largest` and `total`.
    """
    for i in range(slopes.size):
        largest = max(largest, abs(slopes[i]))
        total += abs(slopes[i] * (eta[i] - middle))
    return largest, total


@njit
def _reach(y, eta, offset):
    """Largest |eta - offset| and least margin y (eta - offset)."""
    far, margin = 0.0, np.inf
    for i in range(y.size):
        far = max(far, abs(eta[i] - offset[i]))
        margin = min(margin, y[i] * (eta[i] - offset[i]))
    return far, margin


@njit
def _unbounded(model):
    """Whether the box lets one go on for ever in the direction x."""
    for a in range(model.x.size):
        d = model.x[a]
        if (d > 0.0 and model.upper[a] < np.inf) or (d < 0.0 and model.lower[a] > -np.inf):
            return False
    return True


@njit
def diverged(model):
    """Whether some direction has lost all curvature, counted in columns of unit mean square: the
    fit may run off to infinity along it, which `recession.recedes` decides, bounds included. model:
    a record with H and `squares`.
    """
    H, squares = model.H, model.squares
    m = squares.size
    R, largest = np.empty((m, m)), 1.0
    # backwards: an intercept goes first, so that the others are centered by the curvatures as they
    # are now
    for a in range(m):
        for c in range(m):
            unit = math.sqrt(squares[m - 1 - a] * squares[m - 1 - c])
            R[a, c] = H[m - 1 - a, m - 1 - c] / max(unit, 1e-300)
        largest = max(largest, R[a, a])
    for a in range(m):
        R[a, a] += 1e-14 * largest
    weak = cholesky(R, m)
    smallest = np.inf
    for a in range(m):
        smallest = min(smallest, R[a, a] * R[a, a])
    return weak > 0 or smallest < 1e-9 * largest


@njit
def _cut_back(rows, S, b0, model, work, held):
    """Bring x, and the predictor with it, back towards `held` to |eta - offset| <= 30."""
    k, x, share, offset, eta = S.size, model.x, 1.0, rows.offset, work.end
    predictor(rows.Z, S, held[:k], held[k] if rows.intercept else b0, offset, work.scratch)
    for i in range(eta.size):
        to, here = eta[i] - offset[i], work.scratch[i] - offset[i]
        if abs(to) > ETA_CAP:
            share = min(share, max((math.copysign(ETA_CAP, to) - here) / (to - here), 0.0))
    for a in range(x.size):
        x[a] = held[a] + share * (x[a] - held[a])
    predictor(rows.Z, S, x[:k], x[k] if rows.intercept else b0, offset, eta)
