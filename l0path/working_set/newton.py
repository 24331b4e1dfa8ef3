"""Restricted optima of any loss: the best coefficients on a given support, with lambda1, lambda2
and a box.

    minimize over b0, b:   sum_i w_i loss(y_i, o_i + b0 + z_i'b) + lambda1 ||b||_1
                           + lambda2 ||b||^2,   lower <= b <= upper                  (R)

Damped Newton steps, each a quadratic that `solve_quadratic` solves.

A loss may take q linear predictors of each row, those of the contrasts of classes. Vectors of the
rows then hold q parts of n numbers, curvatures one part for each pair s >= t of predictors, (0, 0),
(1, 0), (1, 1), ...; coefficients x hold q parts of K = k + 1 numbers, those of the columns and the
intercept, or of K = k without one.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import part
from ..core.dispatch import njit
from ..problem.losses import ETA_CAP
from ..problem.traits import FAR_OUT, SEPARATES
from ..problem.verbs import (
    Tangent,
    bound_of_rows,
    derivatives_of_rows,
    loss_data,
    origin_of,
    reach_of_rows,
    slope_along,
    value_of_rows,
)
from .linear_algebra import (
    cholesky,
    cholesky_solve,
    copy,
    couple,
    filled,
    invert,
    predictor,
    products,
    rounding,
    weighted_gram,
    weighted_square,
)
from .quadratic import solve_quadratic, violation

CONVERGED, MAX_ITER, REJECTED, SEPARATED = 0, 1, 2, 3  # how a descent ends
STEPPED, STUCK = 4, 5  # how a step ends, beside REJECTED: F is lower, or no step lowers it
ASTRAY = 6  # a descent that did not begin: its start is too high

# The tolerances of a descent, in the order in which it meets them. Most stand some powers of ten
# above rounding, 1e-16; no benchmark is on record for any of them.
LINE_STEPS = 25  # slopes that a line search may ask for
MOST_DAMPINGS = 30  # trials of one step, tenfold more damping each
FLATTEST = 1e-12  # damping, of the mean curvature, without which no system is solved
FIRST_DAMPING = 1e-3  # of its unit, after an undamped step that failed, if none was before
LEAST_DAMPING = 1e-9  # of its unit: below it there is none
UNSOLVED = 0.1  # of the violation, left by an undamped step: the model has no optimum in reach
UNSOLVED_SIZE = 1e-10  # the same, of the size of what the quadratic model is summed from
SOLVED = 1e-9  # of the violation, left by a step whose end may bound F from below
SOLVED_SIZE = 1e-12  # the same, of the size of what the quadratic model is summed from
INFEASIBLE = 1e-9  # of the size of a dual point: slopes that make it none
REACH = 2.0  # times the coefficients at either end of a step, an optimum lies nearer
MAY_PROMISE = 2.0  # times what a step promises, F may fall yet: else its bound is worked out
SUFFICIENT = 1e-4  # share of the promised decrease that an accepted step has
SHORTEST = 1e-4  # share of a step that a line search leaves of it
UNSEEN = 1e-13  # of the level of F: a decrease that F does not show
TRUSTED = 0.75  # share of the promised decrease after which damping ends
NEAR = 1e-6  # of the level: after a step that promised no more, the Hessian stays as it is
ARRIVING = 0.1  # of what the step before promised: only then, for on a way that does not end each
# step promises a share of the one before, and curvature falls with it
NO_PROMISE = 1e-11  # of the level: after a step that promised no more, a fit has converged
NO_PROMISE_STALE = 1e-15  # the same, with a Hessian from the step before
NO_PROMISE_LEFT = 1e-14  # the same, where steps no longer gain
FLAT = 1e-4  # of the scale of slopes: a violation beyond it is no optimum, whatever is promised
ROUNDED = 1e-13  # of the scale of slopes: a violation below it is what rounding has left
NO_VIOLATION = 1e-11  # of the scale of slopes, where steps no longer gain
LITTLE_VIOLATION = 1e-7  # of the scale of slopes, where no step lowers F: a fit has converged
NEAR_BY = 10.0  # |eta - offset|; farther out a fit may be on its way to separation
WEAKEST = 1e-14  # added to the largest diagonal entry of a Hessian of which directions are asked
NO_CURVATURE = 1e-9  # of its largest diagonal entry, along a direction: it is lost


class LossRows(NamedTuple):
    """A loss and the n rows it is summed over."""

    loss: tuple  # as `verbs.loss_data` gives it
    y: np.ndarray  # (n,)
    weights: np.ndarray  # (n,), which sum to one
    offset: np.ndarray  # (q n,)
    intercept: bool  # whether one is fitted, for each predictor
    Z: np.ndarray  # (w, n), a working column in each row


def rows_of(problem, Z):
    """The `LossRows` of a problem with the working columns Z (w, n)."""
    p = problem
    return LossRows(loss_data(p.loss), p.y, p.weights, p.offset, p.intercept, Z)


class Shrinkage(NamedTuple):
    """The shrinkage terms of (R): lambda1 ||b||_1 + lambda2 ||b||^2."""

    lambda1: float
    lambda2: float


class Box(NamedTuple):
    """Bounds of the coefficients."""

    lower: np.ndarray  # (k,)
    upper: np.ndarray  # (k,)


class Stopping(NamedTuple):
    """The rule that ends a descent."""

    target: float  # it ends as REJECTED once F cannot fall below
    capped: int  # how the loss recedes (`problem.traits`): it ends as SEPARATED; 0 for never
    smooth: bool  # whether no curvature of the loss jumps
    max_iter: int  # steps
    highest: float = np.inf  # F at a start above which it ends as ASTRAY


class NewtonModel(NamedTuple):
    """The quadratic model of F at x, m = q K numbers."""

    x: np.ndarray  # (m,)
    H: np.ndarray  # (m, m), the Hessian
    grad: np.ndarray  # (m,), without lambda1
    l1: np.ndarray  # (m,), lambda1, 0 for intercepts
    ridge: np.ndarray  # (m,), lambda2, 0 for intercepts
    lower: np.ndarray  # (m,), the box
    upper: np.ndarray  # (m,)
    squares: np.ndarray  # (m,), squared lengths of the columns, the units of damping
    rhs: np.ndarray  # (m,), work space
    diagonal: np.ndarray  # (m,), work space
    new: np.ndarray  # (m,), the minimizer


class RowWork(NamedTuple):
    """Numbers of every row, and work space."""

    slopes: np.ndarray  # (q n,), of the loss at x, with the weights in them
    curvatures: np.ndarray  # (q (q + 1) / 2 n,), likewise
    eta: np.ndarray  # (q n,), the predictors at x
    end: np.ndarray  # (q n,), the predictors where a step ends
    scratch: np.ndarray  # (q n,)
    sums: np.ndarray  # (K,), products of a column of ones
    block: np.ndarray  # (k, k), a block of the Hessian, of more than one predictor


class StepStart(NamedTuple):
    """Numbers from which a step starts."""

    F: float
    mean_curvature: float
    unit: float  # of damping: the mean curvature, or 1 where that is less
    level: float  # the size that rounding of F is relative to
    violation: float  # largest one of the optimality conditions
    stale: bool  # whether H is that of an earlier point
    damping: float
    first: float  # damping after an undamped step that failed


@njit
def shrinkage(x, l1, ridge):
    """sum_a l1_a |x_a| + ridge_a x_a^2."""
    t = 0.0
    for a in range(x.size):
        t += l1[a] * abs(x[a]) + ridge[a] * x[a] * x[a]
    return t


@njit
def line_minimum(rows, model, start, end):
    """The share t in [0, 1] of the step from x to `new` at which F is least, by bisection and
    secants on its slope; start, end (q n,) predictors.
    """
    loss, y, weights, x, l1, ridge = rows.loss, rows.y, rows.weights, model.x, model.l1, model.ridge
    low, high, t, low_slope, high_slope = 0.0, 1.0, 0.5, 0.0, 0.0
    for step in range(LINE_STEPS):
        slope_t = slope_along(loss, y, weights, start, end, t)
        for a in range(x.size):
            d = model.new[a] - x[a]
            now = x[a] + t * d
            slope_t += 2.0 * ridge[a] * now * d + l1[a] * d * (
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
def predictors(rows, S, x, eta):
    """Fill eta (q n,) with the predictors of the coefficients x (q K,) of the columns S."""
    k, n = S.size, rows.y.size
    K = k + 1 if rows.intercept else k
    for s in range(eta.size // n):
        level, i = x[s * K + k] if rows.intercept else 0.0, s * n
        b, offset = part(x, s * K, s * K + k), part(rows.offset, i, i + n)
        predictor(rows.Z, S, b, level, offset, part(eta, i, i + n))


@njit
def derivatives_at(rows, S, b, level, eta, slopes, curvatures):
    """Fill the predictors eta (n,) of coefficients b (k,) of the columns S and an intercept, under
    a loss of one predictor, and its derivatives there, see `verbs.derivatives_of_rows`.
    """
    predictor(rows.Z, S, b, level, rows.offset, eta)
    derivatives_of_rows(rows.loss, rows.y, eta, rows.weights, slopes, curvatures)


@njit
def gradient(rows, S, model, slopes):
    """Fill the gradient of the loss + ridge at x; slopes (q n,) with the weights in them."""
    x, grad, k, n = model.x, model.grad, S.size, rows.y.size
    K = k + 1 if rows.intercept else k
    for s in range(slopes.size // n):
        D, total = part(slopes, s * n, s * n + n), 0.0
        products(rows.Z, S, D, part(grad, s * K, s * K + k))
        if rows.intercept:
            for i in range(n):
                total += D[i]
            grad[s * K + k] = total
    for a in range(x.size):
        grad[a] += 2.0 * model.ridge[a] * x[a]


@njit
def hessian(rows, S, model, work, eta):
    """Fill the Hessian of the loss + ridge at eta (q n,); returns its trace."""
    H, sums, k, n, pair, trace = model.H, work.sums, S.size, rows.y.size, 0, 0.0
    q, K = eta.size // n, k + 1 if rows.intercept else k
    block = H if q == 1 else work.block
    for s in range(q):
        for t in range(s + 1):
            v = part(work.curvatures, pair * n, pair * n + n)
            total = weighted_gram(rows.Z, S, v, block, sums, part(work.scratch, 0, n))
            pair += 1
            if q == 1:
                couple(rows, S, eta, H)
            else:
                _put_block(block, s * K, t * K, H)
            if rows.intercept:
                for a in range(k):
                    H[s * K + a, t * K + k] = H[t * K + k, s * K + a] = sums[a]
                    H[s * K + k, t * K + a] = H[t * K + a, s * K + k] = sums[a]
                H[s * K + k, t * K + k] = H[t * K + k, s * K + k] = total
    for a in range(q * K):
        H[a, a] += 2.0 * model.ridge[a]
        trace += H[a, a]
    return trace


@njit
def _put_block(block, i, j, H):
    """H[i:, j:] and H[j:, i:] = a symmetric block."""
    for a in range(block.shape[0]):
        for b in range(block.shape[0]):
            H[i + a, j + b] = H[j + a, i + b] = block[a, b]


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
def value_at(rows, S, model, x, eta):
    """F at x; leaves the predictors there in eta."""
    predictors(rows, S, x, eta)
    loss = value_of_rows(rows.loss, rows.y, eta, rows.weights)
    return loss + shrinkage(x, model.l1, model.ridge)


@njit
def refit(rows, S, shrunk, box, x, stopping, eta):
    """Solve (R) on the working columns S from the start x, in place: returns (status, F, violation)
    and leaves eta (q n,) at the solution.

    rows, shrunk, box, stopping: records of this module; S (k,), x (q K,). Newton with a line
    search; where that fails (losses whose curvature vanishes have singular Hessians) damped,
    tenfold more after a refused step, tenfold less after an accepted one, and where the quadratic
    model has no optimum within reach. Gives up with REJECTED once weak duality shows that F cannot
    fall below the target (`verbs.bound_of_rows`). With stopping.capped > 0 (no shrinkage) it ends
    as SEPARATED when (SEPARATES) eta - offset predicts every class without error, if the box lets
    it go on that way, or when predictors are farther than FAR_OUT from the offset and the curvature
    along some direction has vanished; x is then cut back to |eta - offset| <= 30, while F stays as
    low as it was, or the 0 that is approached.
    """
    n, capped = rows.y.size, stopping.capped
    model, reference = begin(rows, S, shrunk, box, x)
    work, held, span = row_work(rows, S.size, eta), filled(x.size, 0.0), np.empty(2)
    F = value_at(rows, S, model, x, eta)
    if F > stopping.highest:
        return ASTRAY, F, np.inf
    damping, first, unmoved, scale, worst, status = 0.0, np.inf, -1.0, 0.0, np.inf, MAX_ITER
    far, margin = _reach(rows, eta, span)
    trace, near, close, before = 1e-300, False, False, np.inf
    if far <= ETA_CAP:
        copy(x, held)
    for _it in range(stopping.max_iter):
        derivatives_of_rows(rows.loss, rows.y, eta, rows.weights, work.slopes, work.curvatures)
        gradient(rows, S, model, work.slopes)
        if not near:
            trace = max(hessian(rows, S, model, work, eta), 1e-300)
        unit = max(trace / reference, 1.0)
        middle = origin_of(rows.loss, work.slopes, eta)
        size, level = _sizes(work.slopes, eta, 0.0, shrunk.lambda1, abs(F) + 1e-300)
        about = level  # without what a row far out moves all predictors by
        if middle != 0.0:
            size, about = _sizes(work.slopes, eta, middle, shrunk.lambda1, abs(F) + 1e-300)
        worst, scale = _largest_violation(model), max(scale, size)
        copy(eta, work.eta)
        first = min(first, FIRST_DAMPING * unit)
        here = StepStart(F, trace / reference, unit, level, worst, near, damping, first)
        outcome, value, promised, damping = _descend(rows, S, model, work, here, stopping.target)
        if outcome == REJECTED:
            return REJECTED, F, worst
        if outcome == STUCK:
            copy(work.eta, eta)
            # from a start at which the loss overflows no step is known to lower it
            if F < np.inf and (worst <= LITTLE_VIOLATION * scale or close):
                status = CONVERGED
            break
        gain = F - value
        F = value
        idle, here_by = gain <= rounding(n) * level, capped == 0 or far <= NEAR_BY
        # where F hardly depends on b (weights that are far apart) the slopes have to be small, too
        flat = worst <= FLAT * scale and (idle or promised <= NO_PROMISE * max(about, level))
        if flat and here_by:
            flat = _flat_by_column(rows, S, model, work.slopes, ROUNDED * scale)
        copy(model.new, x)
        # farther out it may be on its way to separation
        quiet = stopping.smooth and damping == 0.0 and here_by
        # so close that the Hessian stays as it is
        stale, near = near, quiet and promised <= min(NEAR * about, ARRIVING * before)
        before = promised
        damped = damping > 0.0  # a damped step promises little however far the optimum is
        # where the model predicted the step well, it is trusted again; where it did so for a damped
        # step, F may be straight for a long way, and less damping will do
        trusted = gain > TRUSTED * promised
        first = max(0.1 * damping, LEAST_DAMPING * unit) if damped and trusted else np.inf
        damping = 0.0 if trusted or damping <= LEAST_DAMPING * unit else 0.1 * damping
        if capped > 0:
            far, margin = _reach(rows, eta, span)
            if capped == SEPARATES and margin > 0.0 and _unbounded(model):
                status, F = SEPARATED, 0.0
                break
            if far <= ETA_CAP:
                copy(x, held)
        # after an undamped step that promised next to nothing a smooth loss is far closer still:
        # quadratically, and with a Hessian from one step before nearly so
        promised_little = NO_PROMISE_STALE if stale else NO_PROMISE
        converged = quiet and flat and promised <= promised_little * about
        # what rounding of predictors may leave
        close |= quiet and promised <= promised_little * level
        little = worst <= NO_VIOLATION * scale
        little |= promised <= NO_PROMISE_LEFT * level and not damped
        if converged or (idle and flat and little):
            status = CONVERGED
            break
        if promised == 0.0 and damping == unmoved:
            break  # as all steps to come it ends where it began
        unmoved = damping if promised == 0.0 else -1.0
    if capped > 0 and status != SEPARATED and far > FAR_OUT[capped] and diverged(model):
        status = SEPARATED
        _cut_back(rows, S, model, work, held)
    return status, F, worst


@njit
def begin(rows, S, shrunk, box, x):
    """The model at the start x, which is moved into the box, without derivatives, and the sum of
    its `squares`.
    """
    m, k = x.size, S.size
    v, H = np.empty((9, m)), np.empty((m, m))
    l1, ridge, lower, upper, squares = v[0], v[1], v[2], v[3], v[4]
    model = NewtonModel(x, H, v[5], l1, ridge, lower, upper, squares, v[6], v[7], v[8])
    K, reference = k + 1 if rows.intercept else k, 0.0
    for at in range(m):
        a = at % K
        l1[at], ridge[at], lower[at], upper[at], squares[at] = 0.0, 0.0, -np.inf, np.inf, 1.0
        if a < k:
            l1[at], ridge[at] = shrunk.lambda1, shrunk.lambda2
            lower[at], upper[at] = box.lower[a], box.upper[a]
            x[at] = min(max(x[at], lower[at]), upper[at])
            # curvatures as if every row's were 1: damping starts from these where no row is curved
            squares[at] = weighted_square(rows.Z[S[a]], rows.weights) if at < K else squares[a]
        reference += squares[at]
    return model, max(reference, 1e-300)


@njit
def inverse_hessian(rows, S, lambda2, x, at, B, step):
    """Fill B (m, m) with the inverse Hessian of F at the coefficients x (m,) of the columns S, and
    step (m,) with the Newton step there; returns the number of weak pivots.

    at: predictors, and slopes and curvatures of the loss in them.
    """
    eta, slopes, curvatures = at
    k, m = S.size, x.size
    box = Box(filled(k, -np.inf), filled(k, np.inf))
    model, _ = begin(rows, S, Shrinkage(0.0, lambda2), box, x)
    own = row_work(rows, k, eta)
    work = RowWork(slopes, curvatures, eta, own.end, own.scratch, own.sums, own.block)
    gradient(rows, S, model, slopes)
    hessian(rows, S, model, work, eta)
    weak = invert(model.H, m, B)
    for a in range(m):
        step[a] = 0.0
        for c in range(m):
            step[a] -= B[a, c] * model.grad[c]
    return weak


@njit
def row_work(rows, k, eta):
    """The `RowWork` of k columns."""
    n = rows.y.size
    q = eta.size // n
    pairs, parts = (q * (q + 1)) // 2, k if q > 1 else 0
    block, sums = np.empty((parts, parts)), np.empty(k + 1)
    v = np.empty((3, q * n))
    return RowWork(v[0], np.empty(pairs * n), v[1], eta, v[2], sums, block)


@njit
def _largest_violation(model):
    """Largest violation of the optimality conditions at x."""
    worst, x = 0.0, model.x
    for a in range(x.size):
        t = violation(-model.grad[a], x[a], model.l1[a], model.lower[a], model.upper[a])
        worst = max(worst, t)
    return worst


@njit
def _flat_by_column(rows, S, model, slopes, left):
    """Whether every violation at x is at most FLAT of what its entry of the gradient is summed
    from, or what rounding has left. A column may have next to no part in F (where it varies in rows
    of next to no weight alone) and an optimum that is known as well as any other.
    """
    x, k, n = model.x, S.size, rows.y.size
    K = k + 1 if rows.intercept else k
    for at in range(x.size):
        s, a = at // K, at % K
        t = violation(-model.grad[at], x[at], model.l1[at], model.lower[at], model.upper[at])
        if t <= left:
            continue
        size, D = model.l1[at] + 2.0 * model.ridge[at] * abs(x[at]), part(slopes, s * n, s * n + n)
        if a < k:
            z = rows.Z[S[a]]
            for i in range(n):
                size += abs(D[i] * z[i])
        else:
            for i in range(n):
                size += abs(D[i])
        if t > FLAT * size:
            return False
    return True


@njit
def _off_by(model, tangent, end, left, extra):
    """How much lower than a bound by `bound_of_rows` F may be. Its dual point is feasible but for
    slopes that `newton_step` has left, those of the damping `extra` among them: F falls by these on
    the way to an optimum that is about as far out as the step. Infinite where they are no rounding
    of what the dual point sums, which they are not where the loss is about to overflow.
    """
    x, new, reach, damped, size = model.x, model.new, 0.0, 0.0, 0.0
    for a in range(x.size):
        damped = max(damped, extra * model.squares[a] * abs(new[a] - x[a]))
        reach += abs(x[a]) + abs(new[a])
    if end.size == tangent.curvatures.size:  # one predictor
        for i in range(end.size):
            size += abs(tangent.slopes[i] + tangent.curvatures[i] * (end[i] - tangent.start[i]))
        if left + damped > INFEASIBLE * size:
            return np.inf
    return REACH * reach * (left + damped)


@njit
def _descend(rows, S, model, work, here, target):
    """One step from x to `new` that lowers F: undamped with a line search first, then damped ever
    more. Returns (STEPPED, STUCK or REJECTED; F there, decrease promised, damping).

    here: a `StepStart`. An undamped step counts only where it solves the quadratic model: without
    curvature the model has no optimum, and a bound would be taken for one.
    """
    x, new, F, eta = model.x, model.new, here.F, work.end
    value, promised, noise = F, 0.0, rounding(eta.size) * here.level
    blind = max(UNSEEN * here.level, noise)  # a decrease that F does not show
    damping, solved = here.damping, 0.0
    for _attempt in range(MOST_DAMPINGS):
        promised, left, size = newton_step(model, FLATTEST * here.mean_curvature + damping)
        if damping == 0.0 and not left <= max(UNSOLVED * here.violation, UNSOLVED_SIZE * size):
            damping = here.first
            continue
        solved = max(SOLVED * here.violation, SOLVED_SIZE * size)
        value = value_at(rows, S, model, new, eta)
        if (
            F - MAY_PROMISE * promised > target
            and damping == 0.0
            and not here.stale
            and left <= solved
        ):
            bound = F + shrinkage(new, model.l1, model.ridge)
            bound -= shrinkage(x, model.l1, model.ridge)
            tangent = Tangent(work.eta, work.slopes, work.curvatures)
            bound += bound_of_rows(rows.loss, rows.y, rows.weights, tangent, eta)
            if bound > target + blind:
                bound -= _off_by(model, tangent, eta, left, FLATTEST * here.mean_curvature)
                if bound > target + blind:
                    return REJECTED, F, promised, damping
        accepted = value <= F - SUFFICIENT * promised or (promised <= blind and value <= F + noise)
        if not accepted and damping == 0.0 and promised > blind:
            length = line_minimum(rows, model, work.eta, eta)
            for a in range(x.size):
                new[a] = x[a] + length * (new[a] - x[a])
            value = value_at(rows, S, model, new, eta)
            accepted = value <= F - SUFFICIENT * length * promised and length > SHORTEST
        if accepted:
            return STEPPED, value, promised, damping
        damping = max(10.0 * damping, here.first)
    return STUCK, value, promised, damping


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
def _reach(rows, eta, span):
    """(how far predictors are from the offset at most; the least margin of a class), see
    `verbs.reach_of_rows`; span (2,): scratch.
    """
    reach_of_rows(rows.loss, rows.y, eta, rows.offset, span)
    return span[0], span[1]


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
        R[a, a] += WEAKEST * largest
    if cholesky(R, m) > 0:
        return True
    # what a coordinate keeps while all others follow: pivots of the first ones do not, and weights
    # that are far apart can hide a direction from all pivots
    move, most = np.empty(m), 0.0
    for a in range(m):
        for c in range(m):
            move[c] = 1.0 if c == a else 0.0
        most = max(most, cholesky_solve(R, m, move)[a])
    return most * NO_CURVATURE * largest > 1.0


@njit
def _cut_back(rows, S, model, work, held):
    """Bring x, and the predictors with it, back towards `held` to |eta - offset| <= 30."""
    x, share, offset, eta = model.x, 1.0, rows.offset, work.end
    predictors(rows, S, held, work.scratch)
    for i in range(eta.size):
        to, here = eta[i] - offset[i], work.scratch[i] - offset[i]
        if abs(to) > ETA_CAP:
            share = min(share, max((math.copysign(ETA_CAP, to) - here) / (to - here), 0.0))
    for a in range(x.size):
        x[a] = held[a] + share * (x[a] - held[a])
    predictors(rows, S, x, eta)
