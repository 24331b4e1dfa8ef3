"""Kernels of coordinate descent and of swaps with the rest frozen; what they solve is stated in
`coordinate_descent`.
"""

import numpy as np

from ..core.dispatch import njit
from ..exchange.table import _keep
from ..problem.losses import curvature as second
from ..problem.losses import derivatives, mean_loss, slope, value
from ..problem.penalties import Interval, Separable, entry, threshold


@njit
def cd_gram(penalty, G, w, b, c, order, factor, lower, upper, n_stable, max_sweeps, tol):
    """Cyclic descent for the squared loss, in place: b (w,), c (w,) = q - G b. G (capacity,
    capacity) Gram matrix; order: positions to visit.

    Ends after n_stable sweeps without a change of the support, or one whose steps are below tol;
    returns the number of sweeps.
    """
    calm = 0
    for sweep in range(max_sweeps):
        largest, changed = 0.0, False
        for j in order:
            old, a = b[j], G[j, j]
            new = threshold(
                penalty, c[j] + a * old, a, factor[j], Interval(lower[j], upper[j]), old
            )
            step = new - old
            if step != 0.0:
                b[j] = new
                for l in range(w):
                    c[l] -= step * G[j, l]
                largest = max(largest, abs(step))
                changed = changed or (new != 0.0) != (old != 0.0)
        calm = 0 if changed else calm + 1
        if calm >= n_stable or (not changed and largest <= tol):
            return sweep + 1
    return max_sweeps


@njit
def probe(loss, y, weights, eta, z, shift):
    """Mean loss, slope and curvature along z at eta + shift z."""
    F, d, h = 0.0, 0.0, 0.0
    for i in range(y.size):
        e = eta[i] + shift * z[i]
        F += weights[i] * value(loss, y[i], e)
        d += weights[i] * z[i] * slope(loss, y[i], e)
        h += weights[i] * z[i] * z[i] * second(loss, y[i], e)
    return F, d, h


@njit
def line(loss, y, weights, eta, z, old, lambda1, lambda2, lower, upper):
    """(t, gain, F): t minimises F = sum_i w_i loss(eta_i + (t - old) z_i) + lambda1 |t| + lambda2
    t^2 on the box; gain is by how much t beats 0 (or the box's end next to 0).

    Newton steps on the side of 0 that goes down, kept in a shrinking bracket: a step that leaves it
    is halved, or doubled while there is no far end (curvature may vanish, values may overflow).
    """
    start = min(max(0.0, lower), upper)
    F0, d, h = probe(loss, y, weights, eta, z, start - old)
    F0 += lambda1 * abs(start) + lambda2 * start * start
    d += 2.0 * lambda2 * start
    h += 2.0 * lambda2
    if start < upper and d + (lambda1 if start >= 0.0 else -lambda1) < 0.0:
        way, limit = 1.0, upper
    elif start > lower and d + (lambda1 if start > 0.0 else -lambda1) > 0.0:
        way, limit = -1.0, lower
    else:
        return start, 0.0, F0
    kink = lambda1 * (way if start == 0.0 else 1.0 if start > 0.0 else -1.0)
    near, far, t, best, gain = start, limit, start, start, 0.0
    d += kink
    t = old if way * (old - start) > 0.0 else start - d / h if h > 1e-12 * abs(d) else start + way
    t = t if way * (limit - t) > 0.0 else limit
    for _step in range(40):
        F, d, h = probe(loss, y, weights, eta, z, t - old)
        F += lambda1 * abs(t) + lambda2 * t * t
        d += 2.0 * lambda2 * t + kink
        h += 2.0 * lambda2
        if F < 1e300 and F0 - F > gain:
            best, gain = t, F0 - F
        if not F < 1e300 or way * d > 0.0:
            far = t
        else:
            near = t
            if t == limit:
                break
        if F < 1e300 and d * d <= h * max(
            1e-11 * min(gain, F), 1e-16 * F
        ):  # what a further step promises
            break
        new = t - d / h if F < 1e300 and h > 1e-12 * abs(d) else far
        if not (way * (new - near) > 0.0 and way * (far - new) > 0.0):
            new = 0.5 * (near + far) if abs(far) < 1e300 else start + 2.0 * (t - start)
        if abs(new - t) <= 1e-13 * abs(t):
            break
        t = new
    return best, gain, F0 - gain


@njit
def probe_entries(loss, penalty, y, weights, eta, Z, at, lower, upper, out, gains):
    """Exact optimum out (m,) and gain (m,) of the columns `at`, zero at present, each alone; lower,
    upper (w,).
    """
    for e in range(at.size):
        j = at[e]
        out[e], gains[e], _ = line(
            loss, y, weights, eta, Z[j], 0.0, penalty.lambda1, penalty.lambda2, lower[j], upper[j]
        )


@njit
def member_step(
    loss, penalty, y, weights, eta, z, slopes, curvatures, F, b, price, fixed, lower, upper, trial
):
    """New value of a nonzero (or fixed) coordinate: one Newton step if it lowers F and the
    coordinate is far from leaving, else the exact search. `trial` (n,) is scratch.
    """
    lambda1, lambda2 = penalty.lambda1, penalty.lambda2
    d, h = 2.0 * lambda2 * b + (lambda1 if b > 0.0 else -lambda1), 2.0 * lambda2
    for i in range(y.size):
        d += slopes[i] * z[i]
        h += curvatures[i] * z[i] * z[i]
    if b != 0.0 and h > 0.0 and (fixed or 0.5 * h * b * b > 20.0 * (price + penalty.tie)):
        t = min(max(b - d / h, lower), upper)
        if 0.5 * h * (t - b) * (t - b) <= 1e-17 * F:
            return b
        if t * b > 0.0:
            for i in range(y.size):
                trial[i] = eta[i] + (t - b) * z[i]
            if (
                mean_loss(loss, y, trial, weights)
                + lambda1 * (abs(t) - abs(b))
                + lambda2 * (t * t - b * b)
                <= F
            ):
                return t
    t, gain, end = line(loss, y, weights, eta, z, b, lambda1, lambda2, lower, upper)
    if not fixed and gain < price - penalty.tie:
        return 0.0
    return t if end <= F + lambda1 * abs(b) + lambda2 * b * b else b


@njit
def cd_rows(
    loss,
    penalty,
    y,
    weights,
    Z,
    order,
    b,
    b0,
    eta,
    slopes,
    curvatures,
    factor,
    lower,
    upper,
    fixed,
    intercept,
    sure,
    safety,
    n_stable,
    max_sweeps,
    tol,
):
    """Cyclic descent on the rows, in place: b (w,), eta, slopes, curvatures (n,) at (b, b0); Z (w,
    n) a column per row; the intercept once a sweep. Returns (sweeps, b0).

    A column out of the support gets the exact search in the first sweep, if it is among the first
    `sure` of the order, or if `safety` times the estimate (|slope| - lambda1)_+^2 / (2 (curvature +
    2 lambda2)) passes its price.
    """
    n = y.size
    ones, trial, free = np.ones(n), np.empty(n), Separable(0.0, 0.0, 0.0, 0.0)
    F = derivatives(loss, y, eta, weights, slopes, curvatures)
    calm = 0
    for sweep in range(max_sweeps):
        largest, changed = 0.0, False
        for e in range(-1 if intercept else 0, order.size):
            j = order[e] if e >= 0 else -1
            z = Z[j] if e >= 0 else ones
            old = b[j] if e >= 0 else b0
            if e < 0:
                new = member_step(
                    loss,
                    free,
                    y,
                    weights,
                    eta,
                    z,
                    slopes,
                    curvatures,
                    F,
                    old,
                    0.0,
                    True,
                    -np.inf,
                    np.inf,
                    trial,
                )
            elif old != 0.0 or fixed[j]:
                new = member_step(
                    loss,
                    penalty,
                    y,
                    weights,
                    eta,
                    z,
                    slopes,
                    curvatures,
                    F,
                    old,
                    penalty.lambda0 * factor[j],
                    fixed[j],
                    lower[j],
                    upper[j],
                    trial,
                )
            else:
                price = penalty.lambda0 * factor[j]
                d, h = 0.0, 2.0 * penalty.lambda2
                for i in range(n):
                    d += slopes[i] * z[i]
                    h += curvatures[i] * z[i] * z[i]
                u = max(abs(d) - penalty.lambda1, 0.0)
                new = 0.0
                if u > 0.0 and (sweep == 0 or e < sure or safety * u * u > 2.0 * h * price):
                    new, gain, _ = line(
                        loss,
                        y,
                        weights,
                        eta,
                        z,
                        0.0,
                        penalty.lambda1,
                        penalty.lambda2,
                        lower[j],
                        upper[j],
                    )
                    if not gain > price + penalty.tie:
                        new = 0.0
            step = new - old
            if step == 0.0:
                continue
            for i in range(n):
                eta[i] += step * z[i]
            F = derivatives(loss, y, eta, weights, slopes, curvatures)
            largest = max(largest, abs(step))
            if e < 0:
                b0 = new
            else:
                b[j] = new
                changed = changed or (new != 0.0) != (old != 0.0)
        calm = 0 if changed else calm + 1
        if calm >= n_stable or (not changed and largest <= tol):
            return sweep + 1, b0
    return max_sweeps, b0


@njit
def frozen_swaps(
    penalty,
    rows,
    index,
    scale,
    c,
    a,
    rho,
    skip,
    factor,
    paid,
    lower,
    upper,
    ceiling,
    change,
    column,
    position,
):
    """Swaps with all other coefficients frozen, lowest change of P first: member i leaves (rho_i),
    column j enters at its own optimum; returns how many were kept.

    The pull on j once i is gone is c_j + scale_i rows[index_i, j]; a, skip, factor, lower, upper
    (m,) belong to the columns, rho, paid (k,) to the members (rho infinite: stays). change_ij =
    rho_i - gain_ij + lambda0 (f_j - f_i): Hazimeh & Mazumder (2020), section 3, one O(1) formula
    for each pair. With ceiling <= 0 one entry a column, else every pair.
    """
    kept, room, k = 0, change.size, rho.size
    for j in range(c.size):
        if skip[j]:
            continue
        half = 0.5 / max(a[j] + 2.0 * penalty.lambda2, 1e-300)
        price = penalty.lambda0 * factor[j]
        best, who = np.inf, -1
        for i in range(k):
            pull = c[j] + scale[i] * rows[index[i], j]
            u = max(abs(pull) - penalty.lambda1, 0.0)
            worst = change[room - 1] if kept == room else np.inf
            if rho[i] - half * u * u + price - paid[i] >= min(ceiling, worst):
                continue
            _, gain = entry(penalty, pull, a[j], Interval(lower[j], upper[j]))
            d = rho[i] - gain + price - paid[i]
            if d < ceiling and d < worst:
                if ceiling > 0.0:
                    kept = _keep(d, j, i, change, column, position, kept)
                elif d < best:
                    best, who = d, i
        if who >= 0:
            kept = _keep(best, j, who, change, column, position, kept)
    return kept
