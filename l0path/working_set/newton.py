"""Restricted optima: the best coefficients on a given support, for every loss, with lambda1,
lambda2 and a box.

    minimise over b0, b:   sum_i w_i loss(y_i, o_i + b0 + z_i'b) + lambda1 ||b||_1 + lambda2 ||b||^2,   lower <= b <= upper      (R)

A quadratic (R) is solved by `solve_quadratic` (active signs and bounds); any other by damped Newton
steps, each a quadratic of that kind.
"""

import math

import numpy as np

from ..core.dispatch import njit
from ..problem.losses import ETA_CAP, derivatives, fenchel_gap, mean_loss, slope
from .linear_algebra import cholesky, cholesky_solve

CONVERGED, MAX_ITER, REJECTED, SEPARATED = 0, 1, 2, 3
FAR = 20.0  # |eta - offset| beyond which a fit may be running off to infinity


@njit
def solve_quadratic(H, q, l1, lower, upper, x, max_rounds):
    """argmin x'Hx / 2 - q'x + sum_j l1_j |x_j| over lower <= x <= upper, in place from the start x;
    all arrays (k,), H (k, k).

    Cholesky on the coordinates that are neither zero under an l1 nor at a bound, moved to the first
    sign change or bound on the way, and a coordinate sweep that lets others in. Returns the largest
    violation of the optimality conditions, relative to max |q|.
    """
    k = x.size
    L, z, free = np.empty((k, k)), np.empty(k), np.empty(k, np.int64)
    scale = 1e-300
    for j in range(k):
        scale = max(scale, abs(q[j]) + l1[j])
        x[j] = min(max(x[j], lower[j]), upper[j])
    worst = np.inf
    for turn in range(max_rounds):
        if turn > 0:  # a sweep of exact coordinate steps; the first turn trusts the start's signs
            for j in range(k):
                t = q[j] + H[j, j] * x[j]
                for l in range(k):
                    t -= H[j, l] * x[l]
                t = (t - l1[j] if t > l1[j] else t + l1[j] if t < -l1[j] else 0.0) / max(
                    H[j, j], 1e-300
                )
                x[j] = min(max(t, lower[j]), upper[j])
        for _step in range(k + 1):  # solve on the free coordinates, shortened to the first crossing
            m = 0
            for j in range(k):
                inside = (x[j] > lower[j] and x[j] < upper[j]) or (
                    turn == 0 and lower[j] < upper[j] and l1[j] == 0.0
                )
                if inside and (x[j] != 0.0 or l1[j] == 0.0):
                    free[m] = j
                    m += 1
            if m == 0:
                break
            for a in range(m):
                i = free[a]
                z[a] = q[i] - (l1[i] if x[i] > 0.0 else -l1[i] if x[i] < 0.0 else 0.0)
                for l in range(k):
                    z[a] -= H[i, l] * x[l]
                for c in range(a + 1):
                    L[a, c] = H[i, free[c]]
            cholesky(L, m)
            cholesky_solve(L, m, z)
            length, hit, corner = 1.0, -1, 0.0
            for a in range(m):
                i = free[a]
                end = x[i] + z[a]
                edge = end
                if l1[i] > 0.0 and end * x[i] < 0.0:
                    edge = 0.0
                edge = min(max(edge, lower[i]), upper[i])
                if edge != end and z[a] != 0.0:
                    share = (edge - x[i]) / z[a]
                    if share < length:
                        length, hit, corner = max(share, 0.0), a, edge
            for a in range(m):
                x[free[a]] += length * z[a]
            if hit < 0:
                break
            x[free[hit]] = corner
        worst = 0.0
        for j in range(k):
            t = q[j]
            for l in range(k):
                t -= H[j, l] * x[l]
            worst = max(worst, _violation(t, x[j], l1[j], lower[j], upper[j]))
        if worst <= 1e-13 * scale:
            break
    return worst / scale


@njit
def _violation(t, x, l1, lower, upper):
    """How far the downhill slope t at x is from optimal: 0 where no move lowers l1 |x| - t x within
    the bounds.
    """
    up = t - (l1 if x >= 0.0 else -l1)  # gain per unit upwards
    down = -t - (l1 if x <= 0.0 else -l1)
    worst = 0.0
    if x < upper:
        worst = max(worst, up)
    if x > lower:
        worst = max(worst, down)
    return worst


@njit
def predictor(Z, S, b, b0, offset, eta):
    """eta = offset + b0 + sum_s b_s z_s; Z (w, n) has a working column per row."""
    for i in range(eta.size):
        eta[i] = offset[i] + b0
    for a in range(b.size):
        if b[a] != 0.0:
            z, x = Z[S[a]], b[a]
            for i in range(eta.size):
                eta[i] += x * z[i]


@njit
def weighted_gram(Z, S, v, H, h0, work):
    """H[a, c] = sum_i v_i z_ai z_ci (both triangles), h0[a] = sum_i v_i z_ai; returns sum v. Where
    most v are zero (hinges) the other rows are gathered first.
    """
    k, n, total, curved = S.size, v.size, 0.0, 0
    for i in range(n):
        total += v[i]
        curved += v[i] != 0.0
    if 2 * curved >= n:
        _weighted_gram(Z, S, v, H, h0, work)
        return total
    rows, few, weights, every = (
        np.empty(curved, np.int64),
        np.empty((k, curved)),
        np.empty(curved),
        np.arange(k),
    )
    at = 0
    for i in range(n):
        if v[i] != 0.0:
            rows[at], weights[at] = i, v[i]
            at += 1
    for a in range(k):
        z, out = Z[S[a]], few[a]
        for i in range(curved):
            out[i] = z[rows[i]]
    _weighted_gram(few, every, weights, H, h0, work[:curved])
    return total


@njit
def _weighted_gram(Z, S, v, H, h0, work):
    """The sums of `weighted_gram` over all rows."""
    k, n = S.size, v.size
    for a in range(k):
        z = Z[S[a]]
        t = 0.0
        for i in range(n):
            work[i] = v[i] * z[i]
            t += work[i]
        h0[a] = t
        for c in range(a + 1):
            other = Z[S[c]]
            t = 0.0
            for i in range(n):
                t += work[i] * other[i]
            H[a, c] = t
            H[c, a] = t


@njit
def weighted_squares(Z, v, centred, out):
    """out_j = sum_i v_i z_ji^2, less (sum_i v_i z_ji)^2 / sum v where `centred`; Z (w, n), v (n,),
    out (w,).
    """
    total = 0.0
    for i in range(v.size):
        total += v[i]
    for j in range(out.size):
        z = Z[j]
        first, second = 0.0, 0.0
        for i in range(v.size):
            t = v[i] * z[i]
            first += t
            second += t * z[i]
        out[j] = second - first * first / total if centred and total > 0.0 else second


@njit
def shrinkage(b, lambda1, lambda2):
    """lambda1 ||b||_1 + lambda2 ||b||^2."""
    t = 0.0
    for a in range(b.size):
        t += lambda1 * abs(b[a]) + lambda2 * b[a] * b[a]
    return t


@njit
def line_minimum(loss, y, weights, start, end, b, x, lambda1, lambda2):
    """The share t in [0, 1] of the step (b, start) -> (x, end) at which F is least, by bisection
    and secants on its slope; start, end (n,) predictors.
    """
    low, high, t, low_slope, high_slope = 0.0, 1.0, 0.5, 0.0, 0.0
    for step in range(25):
        slope_t = 0.0
        for i in range(y.size):
            d = end[i] - start[i]
            slope_t += weights[i] * slope(loss, y[i], start[i] + t * d) * d
        for a in range(b.size):
            d = x[a] - b[a]
            now = b[a] + t * d
            slope_t += 2.0 * lambda2 * now * d + lambda1 * d * (
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
def gradient(Z, S, slopes, lambda2, intercept, x, grad):
    """Gradient of the loss + ridge at x = (b, b0)."""
    k = S.size
    for a in range(k):
        z = Z[S[a]]
        t = 0.0
        for i in range(slopes.size):
            t += slopes[i] * z[i]
        grad[a] = t + 2.0 * lambda2 * x[a]
    if intercept:
        t = 0.0
        for i in range(slopes.size):
            t += slopes[i]
        grad[k] = t


@njit
def hessian(Z, S, curvatures, lambda2, intercept, H, K, h0, work):
    """Hessian of the loss + ridge; returns its trace."""
    k = S.size
    total = weighted_gram(Z, S, curvatures, K, h0, work)
    trace = 0.0
    for a in range(k):
        for c in range(k):
            H[a, c] = K[a, c]
        H[a, a] += 2.0 * lambda2
        trace += H[a, a]
    if intercept:
        for a in range(k):
            H[a, k] = h0[a]
            H[k, a] = h0[a]
        H[k, k] = total
        trace += total
    return trace


@njit
def newton_step(H, grad, x, l1, lower, upper, extra, squares, rhs, new):
    """Minimiser `new` of the quadratic model with `extra` times squares (m,) on its diagonal;
    returns the decrease that the model without it promises, the violation of the optimality
    conditions of the model that is left, and the size that rounding of it is relative to.
    """
    m, size = x.size, 1e-300
    for a in range(m):
        new[a] = x[a]
        t = -grad[a]
        for c in range(m):
            t += H[a, c] * x[c]
        rhs[a] = t + extra * squares[a] * x[a]
        size = max(size, abs(rhs[a]) + l1[a])
    for a in range(m):
        H[a, a] += extra * squares[a]
    left = size * solve_quadratic(H, rhs, l1, lower, upper, new, 50)
    for a in range(m):
        H[a, a] -= extra * squares[a]
    promised = 0.0
    for a in range(m):
        t = grad[a]
        for c in range(m):
            t += 0.5 * H[a, c] * (new[c] - x[c])
        promised -= t * (new[a] - x[a]) + l1[a] * (abs(new[a]) - abs(x[a]))
    return promised, left, size


@njit
def dual_bound(loss, y, weights, slopes, curvatures, start, end, scale):
    """What no loss on these columns falls below, less the loss at `start`, by weak duality.

    The dual point is slopes + scale curvatures (end - start), the slopes that the quadratic model
    foretells at its optimum `end`: there it is feasible, whatever the loss does. -inf where it
    leaves the domain of the conjugate. All arrays (n,); slopes and curvatures have the weights in
    them. The shrinkage at `end` comes on top.
    """
    total = 0.0
    for i in range(y.size):
        d = end[i] - start[i]
        dual = slopes[i] + scale * curvatures[i] * d
        w = weights[i]
        gap = fenchel_gap(loss, y[i], start[i], slopes[i] / w, dual / w)
        if gap == np.inf:
            return -np.inf
        total += dual * d - w * gap
    return total


@njit
def value_at(loss, y, weights, offset, Z, S, lambda1, lambda2, intercept, x, b0, eta):
    """F at x = (b, b0) (b0 apart when there is no intercept to fit); leaves eta there."""
    k = S.size
    predictor(Z, S, x[:k], x[k] if intercept else b0, offset, eta)
    return mean_loss(loss, y, eta, weights) + shrinkage(x[:k], lambda1, lambda2)


@njit
def refit(
    loss,
    y,
    weights,
    offset,
    Z,
    S,
    lambda1,
    lambda2,
    lower,
    upper,
    intercept,
    b,
    b0,
    target,
    capped,
    smooth,
    max_iter,
    eta,
):
    """Solve (R) on the working columns S from the start (b, b0), in place: returns (status, F, b0,
    violation) and leaves eta at the solution.

    Z (w, n), lower, upper, b (k,). Newton with a line search; where that fails (losses whose
    curvature vanishes have singular Hessians) damped, tenfold more after a refused step, tenfold
    less after an accepted one, and where the quadratic model has no optimum within reach. Gives up
    with REJECTED once weak duality shows that F cannot fall below `target` (`dual_bound`). With
    capped > 0 (no shrinkage) it ends as SEPARATED when (capped = 1, logistic) eta - offset predicts
    every class without error, or when |eta - offset| > 20 and the curvature along some direction
    has vanished, if the box lets it go on that way; (b, b0) is then cut back to |eta - offset| <=
    30, while F stays as low as it was, or the 0 that is approached.
    smooth: the curvature of the loss has no jumps.
    """
    n, k = y.size, S.size
    m = k + 1 if intercept else k
    H, K, x, held = np.empty((m, m)), np.empty((k, k)), np.empty(m), np.zeros(m)
    grad, rhs, new, l1, lo, hi = (
        np.empty(m),
        np.empty(m),
        np.empty(m),
        np.zeros(m),
        np.full(m, -np.inf),
        np.full(m, np.inf),
    )
    h0, work, slopes, curvatures = np.empty(k), np.empty(n), np.empty(n), np.empty(n)
    squares = np.ones(
        m
        # of the columns, in whose units damping is counted: curvatures were every row's 1, which it
        # starts from where no row is curved
    )
    for a in range(k):
        l1[a], lo[a], hi[a] = lambda1, lower[a], upper[a]
        x[a] = min(max(b[a], lower[a]), upper[a])
        squares[a] = _square(Z[S[a]], weights)
    if intercept:
        x[k] = b0
    reference = max(squares.sum(), 1e-300)
    F = value_at(loss, y, weights, offset, Z, S, lambda1, lambda2, intercept, x, b0, eta)
    damping, scale, violation, status = 0.0, 0.0, np.inf, MAX_ITER
    far, margin = _reach(y, eta, offset)
    trace, near = 1e-300, False
    if far <= ETA_CAP:
        held[:] = x
    for _it in range(max_iter):
        derivatives(loss, y, eta, weights, slopes, curvatures)
        gradient(Z, S, slopes, lambda2, intercept, x, grad)
        if not near:
            trace = max(hessian(Z, S, curvatures, lambda2, intercept, H, K, h0, work), 1e-300)
        unit = max(trace / reference, 1.0)
        violation = 0.0
        size, level = _sizes(slopes, eta, lambda1, abs(F) + 1e-300)
        for a in range(m):
            violation = max(violation, _violation(-grad[a], x[a], l1[a], lo[a], hi[a]))
        scale = max(scale, size)
        work[:] = eta
        outcome, value, promised, damping = _descend(
            loss,
            y,
            weights,
            offset,
            Z,
            S,
            lambda1,
            lambda2,
            intercept,
            x,
            b0,
            H,
            grad,
            l1,
            lo,
            hi,
            squares,
            rhs,
            new,
            work,
            eta,
            F,
            target,
            damping,
            trace / reference,
            unit,
            level,
            slopes,
            curvatures,
            violation,
            near,
        )
        if outcome == REJECTED:
            return REJECTED, F, b0, violation
        if outcome == MAX_ITER:
            eta[:] = work
            status = CONVERGED if violation <= 1e-7 * scale else MAX_ITER
            break
        gain = F - value
        F = value
        x[:] = new
        quiet = (
            smooth and damping == 0.0 and (capped == 0 or far <= 10.0)
        )  # farther out it may be on its way to separation
        stale, near = (
            near,
            quiet and promised <= 1e-6 * level,
        )  # so close that the Hessian stays as it is
        # where the model foretold the step well, it is trusted again
        damping = 0.0 if gain > 0.75 * promised or damping <= 1e-9 * unit else 0.1 * damping
        if capped > 0:
            far, margin = _reach(y, eta, offset)
            if capped == 1 and margin > 0.0 and _unbounded(x, 0.0, held, lo, hi):
                status, F = SEPARATED, 0.0
                break
            if far <= ETA_CAP:
                held[:] = x
        # after an undamped step that promised next to nothing a smooth loss is far closer still:
        # quadratically, and with a Hessian from one step before nearly so
        settled = quiet and promised <= (1e-15 if stale else 1e-11) * level
        if settled or (
            gain <= rounding(n) * level
            and (violation <= 1e-11 * scale or (promised <= 1e-14 * level and damping == 0.0))
        ):
            status = CONVERGED
            break
    if (
        capped > 0
        and status != SEPARATED
        and far > FAR
        and _unbounded(x, 1.0, held, lo, hi)
        and _diverged(H, squares)
    ):
        status = SEPARATED
        predictor(Z, S, held[:k], held[k] if intercept else b0, offset, work)
        share = _share(work, eta, offset)
        x[:] = held + share * (x - held)
        predictor(Z, S, x[:k], x[k] if intercept else b0, offset, eta)
    for a in range(k):
        b[a] = x[a]
    return status, F, x[k] if intercept else b0, violation


@njit
def _descend(
    loss,
    y,
    weights,
    offset,
    Z,
    S,
    lambda1,
    lambda2,
    intercept,
    x,
    b0,
    H,
    grad,
    l1,
    lo,
    hi,
    squares,
    rhs,
    new,
    start,
    eta,
    F,
    target,
    damping,
    mean_curvature,
    unit,
    level,
    slopes,
    curvatures,
    violation,
    stale,
):
    """One step from x to `new` that lowers F: undamped with a line search first, then damped ever
    more. Returns (CONVERGED: accepted | MAX_ITER: none | REJECTED, F there, decrease promised,
    damping); `level`: the size that rounding of F is relative to; stale: H is that of an earlier
    point. An undamped step counts only where it solves the quadratic model: without curvature the
    model has no optimum, and a bound would be taken for one.
    """
    value, promised, noise = F, 0.0, rounding(y.size) * level
    blind = max(1e-13 * level, noise)  # a decrease that F does not show
    for _attempt in range(30):
        promised, left, size = newton_step(
            H, grad, x, l1, lo, hi, 1e-12 * mean_curvature + damping, squares, rhs, new
        )
        if damping == 0.0 and not left <= max(0.1 * violation, 1e-10 * size):
            damping = 1e-3 * unit
            continue
        value = value_at(loss, y, weights, offset, Z, S, lambda1, lambda2, intercept, new, b0, eta)
        if (
            F - 2.0 * promised > target
            and damping == 0.0
            and not stale
            and left <= max(1e-9 * violation, 1e-12 * size)
        ):
            bound = F + dual_bound(loss, y, weights, slopes, curvatures, start, eta, 1.0)
            k = S.size
            bound += shrinkage(new[:k], lambda1, lambda2) - shrinkage(x[:k], lambda1, lambda2)
            if bound > target + blind:
                return REJECTED, F, promised, damping
        accepted = value <= F - 1e-4 * promised or (promised <= blind and value <= F + noise)
        if not accepted and damping == 0.0 and promised > blind:
            k = S.size
            length = line_minimum(loss, y, weights, start, eta, x[:k], new[:k], lambda1, lambda2)
            for a in range(x.size):
                new[a] = x[a] + length * (new[a] - x[a])
            value = value_at(
                loss, y, weights, offset, Z, S, lambda1, lambda2, intercept, new, b0, eta
            )
            accepted = value <= F - 1e-4 * length * promised and length > 1e-4
        if accepted:
            return CONVERGED, value, promised, damping
        damping = max(10.0 * damping, 1e-3 * unit)
    return MAX_ITER, value, promised, damping


@njit
def rounding(n):
    """Error of F relative to what it is summed from: of one operation, and of n terms in some 32
    sums (vector units), where equal terms round alike.
    """
    return 1e-15 + 2e-18 * n


@njit
def _square(z, weights):
    """sum_i w_i z_i^2."""
    t = 0.0
    for i in range(z.size):
        t += weights[i] * z[i] * z[i]
    return t


@njit
def _sizes(slopes, eta, largest, total):
    """Largest |slope|, and the size of what the loss is summed from, which may cancel (poisson,
    large y): sum |slope eta|; counted from `largest` and `total`.
    """
    for i in range(slopes.size):
        largest = max(largest, abs(slopes[i]))
        total += abs(slopes[i] * eta[i])
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
def _unbounded(x, share, held, lower, upper):
    """Whether the box lets one go on for ever in the direction x - share held."""
    for a in range(x.size):
        d = x[a] - share * held[a]
        if (d > 0.0 and upper[a] < np.inf) or (d < 0.0 and lower[a] > -np.inf):
            return False
    return True


@njit
def _share(start, end, offset):
    """How far one may go from the predictor `start` to `end` with |eta - offset| <= 30; 1 at
    most.
    """
    share = 1.0
    for i in range(end.size):
        to, here = end[i] - offset[i], start[i] - offset[i]
        if abs(to) > ETA_CAP:
            share = min(share, max((math.copysign(ETA_CAP, to) - here) / (to - here), 0.0))
    return share


@njit
def _diverged(H, squares):
    """Whether some direction has lost all curvature, counted in columns of unit mean square (m,):
    the fit may run off to infinity along it, which `row_model.recedes` decides.
    """
    m = squares.size
    R, largest = np.empty((m, m)), 1.0
    for a in range(
        m
        # backwards: an intercept goes first, so that the others are centred by the curvatures as
        # they
        # are now
    ):
        for c in range(m):
            R[a, c] = H[m - 1 - a, m - 1 - c] / max(
                math.sqrt(squares[m - 1 - a] * squares[m - 1 - c]), 1e-300
            )
        largest = max(largest, R[a, a])
    for a in range(m):
        R[a, a] += 1e-14 * largest
    weak = cholesky(R, m)
    smallest = np.inf
    for a in range(m):
        smallest = min(smallest, R[a, a] * R[a, a])
    return weak > 0 or smallest < 1e-9 * largest
