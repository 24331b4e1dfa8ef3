"""Exchanges tried by chord steps: Newton steps with the inverse Hessian that the table of exchanges
has at hand, so that a trial costs gradients, O(n k) each, and no Hessian, O(n k^2).

From the restricted optimum b of a support S (B the inverse of its Hessian) the quadratic foretells
the optimum after "drop i, add j". There the loss F and the gradient g are exact, and F - SAFETY
g'B'g / 2, with B' the inverse after the exchange, is what no further descent is expected to pass.
Where that is above the target, weak duality decides: slopes + v (eta' - eta), with v the curvatures
of the table and eta' the predictor after the chord step, is dual feasible, and its value is what no
descent passes (`newton.dual_bound`). What is neither refuted nor below the target is left to a
refit.
"""

import numpy as np

from ..core.dispatch import njit
from ..problem.losses import fenchel_gap, mean_loss, slope
from ..working_set.linear_algebra import predictor
from .table import COLLINEAR

# what an exchange may promise and still be asked for its bound: the Hessian may be that of a fit
# close by
SAFETY = 3.0
TRIES = 6  # chord steps after which an exchange that is not refuted is taken for better
MOST = 40  # those after which an exchange is left to a refit that no bound has refuted yet
CLOSING = 12  # chord steps that bring the exchange taken to its optimum
DRAWN_BACK = 4  # chord steps for a dual point within its domain
SECANTS = 4  # steps from which the next one learns
SETTLED = 1e-12  # share of F that descent may still promise there


@njit
def attempt(
    loss,
    y,
    weights,
    offset,
    Z,
    S,
    b,
    b0,
    lambda2,
    intercept,
    B,
    c,
    rows,
    index,
    diagonal,
    mean,
    scale,
    total,
    out,
    into,
    any_below,
    target,
    best,
    curvatures,
    proof,
):
    """Try exchanges of a fit with support S (k,) working positions, b (k,), b0: number e drops
    position out[e] (-1: none) and adds the working column into[e] (-1: none).

    Z (w, n); c (w,) = -dF/db at the fit; rows[index[l], j], diagonal (w,): centred second
    derivatives with member l and along j, to be multiplied by `scale`; mean (w,), total: means for
    the curvatures and their sum; curvatures (n,), times `scale`: those of rows; B (k, k) = (scale
    G_SS + 2 lambda2)^-1. any_below: take the first exchange that comes below target or that no
    bound has refuted after TRIES steps; else go through all and take the lowest below target that
    is found. proof: refute by bounds only, not by SAFETY. Returns (e, F, intercept, promised,
    reach), e = -1 if there is none; what descent from there still promises, and max |eta - offset|.
    best (k + 1,) has the coefficients of S, 0 at the one dropped, and that of the column added.
    """
    k, n = b.size, y.size
    x, u, r, z, g = np.empty(k + 1), np.zeros(k), np.zeros(k + 1), np.zeros(k + 1), np.zeros(k)
    end, move, secants = np.empty(k + 1), np.empty(k + 1), np.empty((2 * SECANTS + 3, k + 2))
    eta, slopes, ahead, dual = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    found, lowest, level_found = -1, target, b0
    for e in range(out.size):
        i, j = out[e], into[e]
        s = _foretell(b, lambda2, B, c, rows, index, diagonal, scale, i, j, x, u, g)
        if not s > 0.0:
            continue
        level = b0
        if intercept:
            for l in range(k):
                level -= mean[S[l]] * (x[l] - b[l])
            level -= mean[j] * x[k] if j >= 0 else 0.0
        for step in range(MOST):
            F, g0 = _gradient(
                loss,
                y,
                weights,
                offset,
                Z,
                S,
                x,
                level,
                lambda2,
                intercept,
                mean,
                i,
                j,
                eta,
                slopes,
                r,
            )
            promised = _direction(B, u, s, r, i, j, g0, total, z)
            _learn(secants, r, g0, step)
            hopeless = F - SAFETY * promised > lowest
            last = step == MOST - 1 or (step >= TRIES - 1 and not hopeless)
            last = last or not F < np.inf  # where it overflows, only a refit can tell
            if hopeless and not proof:
                break
            if (
                hopeless
                and F
                + _least_change(
                    (loss, y, weights, eta, slopes),
                    (Z, S, B, mean, scale, curvatures, lambda2),
                    (i, j, u, s),
                    (x, z, r),
                    (g0, total if intercept else np.inf),
                    (ahead, dual, end, move),
                )
                > lowest
            ):
                break
            if F < lowest or (last and any_below):
                found, lowest, level_found = e, F, level
                best[:] = x
                break
            shift = _accelerate(secants, B, u, s, i, j, total, step, z, g0 / total)
            level = _step(S, mean, intercept, shift, j, z, x, level)
        if found >= 0 and any_below:
            break
    if found < 0:
        return found, lowest, level_found, 0.0, 0.0
    i, j, level = out[found], into[found], level_found
    s = _foretell(b, lambda2, B, c, rows, index, diagonal, scale, i, j, x, u, g)
    x[:] = best
    F, promised = lowest, np.inf
    for step in range(CLOSING):
        F, g0 = _gradient(
            loss, y, weights, offset, Z, S, x, level, lambda2, intercept, mean, i, j, eta, slopes, r
        )
        before, promised = promised, _direction(B, u, s, r, i, j, g0, total, z)
        level_found = level
        best[:] = x
        if promised <= SETTLED * abs(F) or not promised < 0.5 * before:
            break
        _learn(secants, r, g0, step)
        shift = _accelerate(secants, B, u, s, i, j, total, step, z, g0 / total)
        level = _step(S, mean, intercept, shift, j, z, x, level)
    reach = 0.0
    for m in range(n):
        reach = max(reach, abs(eta[m] - offset[m]))
    return found, F, level_found, promised, reach


@njit
def _least_change(rows, table, exchange, step, level, work):
    """What no descent on the support after an exchange falls below, less F here; -inf where no
    bound was found. Changes r of `step`.

    rows: loss, y, weights, eta, slopes (n,) here; table: Z, S, B, mean, scale, curvatures, lambda2;
    exchange: position dropped, column added, its u and s; step: x, the chord step z, r (k + 1,);
    level: derivative in the intercept, sum of the curvatures (inf without an intercept); work: two
    arrays (n,) and two (k + 1,).

    The dual point slopes + scale curvatures d, with d the change of the predictor after the chord
    step, has X'dual = -2 lambda2 (x - z) on the support. Rows whose curvature was much larger than
    it is here leave the domain of the conjugate with it: they are drawn back towards their slopes,
    and a further chord step takes up what that leaves of the equation.
    """
    loss, y, weights, eta, slopes = rows
    Z, S, B, mean, scale, curvatures, lambda2 = table
    i, j, u, s = exchange
    x, z, r = step
    left, total = level
    ahead, dual, end, move = work
    k, n = S.size, y.size
    end[:] = x
    move[:] = z
    ahead[:] = eta
    dual[:] = slopes
    for _round in range(DRAWN_BACK):
        for m in range(n):
            dual[m] -= scale * curvatures[m] * ahead[m]
        _look_ahead(Z, S, j, move, -left / total, mean, ahead)
        change, left, moved = 0.0, 0.0, 0
        for l in range(k + 1):
            end[l] -= move[l]
            change += lambda2 * (end[l] * end[l] - x[l] * x[l])
            r[l] = 0.0
        for m in range(n):
            dual[m] += scale * curvatures[m] * ahead[m]
            w = weights[m]
            inverse = 1.0 / w
            gap = fenchel_gap(loss, y[m], eta[m], slopes[m] * inverse, dual[m] * inverse)
            if gap < np.inf:
                change += dual[m] * (ahead[m] - eta[m]) - w * gap
                continue
            moved += 1
            away = slopes[m] - dual[m]
            away += _drawn_back(loss, y[m], eta[m], slopes[m] / w, -away / w) * w
            dual[m] += away
            left += away
            for l in range(k + 1):
                at = S[l] if l < k else j
                if l != i and at >= 0:
                    r[l] += away * (Z[at, m] - mean[at])
        if moved == 0:
            return change
        if moved > 0.1 * n:
            break
        _direction(B, u, s, r, i, j, left, total, move)
    return -np.inf


@njit
def _drawn_back(loss, y, eta, at, step):
    """A share of `step` with which the slope `at` stays within the domain of the conjugate."""
    for _halving in range(10):
        step *= 0.5
        if fenchel_gap(loss, y, eta, at, at + step) < np.inf:
            return 0.5 * step
    return 0.0


@njit
def _look_ahead(Z, S, j, z, shift, mean, eta):
    """Move the predictor eta (n,) by the chord step -z (k + 1,), whose intercept moves by `shift`
    and by the means.
    """
    k = S.size
    for l in range(k + 1):
        at = S[l] if l < k else j
        if at >= 0:
            shift += mean[at] * z[l]
    for m in range(eta.size):
        eta[m] += shift
    for l in range(k + 1):
        at = S[l] if l < k else j
        if at >= 0 and z[l] != 0.0:
            column, t = Z[at], z[l]
            for m in range(eta.size):
                eta[m] -= t * column[m]


@njit
def _learn(secants, r, g0, step):
    """Keep the change of the gradient (r (k + 1,), g0) since the step before. Rows of secants: the
    last SECANTS steps, what they changed, then the last step, the gradient there, and room.
    """
    k = r.size
    steps, changes, last = secants[:SECANTS], secants[SECANTS : 2 * SECANTS], secants[-3:]
    at = (step - 1) % SECANTS
    for l in range(k + 1):
        here = r[l] if l < k else g0
        if step > 0:
            steps[at, l] = last[0, l]
            changes[at, l] = here - last[1, l]
        last[1, l] = here


@njit
def _accelerate(secants, B, u, s, i, j, total, step, z, shift):
    """Turn the chord step -z (k + 1,), -shift of the intercept, into that of limited-memory BFGS,
    whose first inverse Hessian is that of the chord step (Nocedal, Math. Comp. 35, 1980): chord
    steps converge linearly, these faster. Returns the new shift.
    """
    k = z.size
    steps, changes, last = secants[:SECANTS], secants[SECANTS : 2 * SECANTS], secants[-3:]
    q, share = last[2], np.zeros(SECANTS)
    oldest = max(step - SECANTS, 0)
    q[:] = last[1]
    for back in range(step - oldest):
        at = (step - 1 - back) % SECANTS
        curved = 0.0
        for l in range(k + 1):
            curved += steps[at, l] * changes[at, l]
            share[at] += steps[at, l] * q[l]
        share[at] = share[at] / curved if curved > 0.0 else 0.0
        for l in range(k + 1):
            q[l] -= share[at] * changes[at, l]
    if step > 0:
        _direction(B, u, s, q[:k], i, j, q[k], total, z)
        shift = q[k] / total
    for number in range(oldest, step):
        at = number % SECANTS
        curved, along = 0.0, 0.0
        for l in range(k + 1):
            curved += steps[at, l] * changes[at, l]
            along += changes[at, l] * (z[l] if l < k else shift)
        if curved > 0.0:
            for l in range(k + 1):
                change = steps[at, l] * (share[at] - along / curved)
                if l < k:
                    z[l] += change
                else:
                    shift += change
    for l in range(k + 1):
        last[0, l] = -z[l] if l < k else -shift
    return shift


@njit
def _step(S, mean, intercept, shift, j, z, x, level):
    """Take the step -z, -shift of the intercept; returns the intercept after it."""
    k = S.size
    for l in range(k + 1):
        x[l] -= z[l]
    if intercept:
        level -= shift
        for l in range(k):
            level += mean[S[l]] * z[l]
        level += mean[j] * z[k] if j >= 0 else 0.0
    return level


@njit
def _foretell(b, lambda2, B, c, rows, index, diagonal, scale, i, j, x, u, g):
    """x (k + 1,): the quadratic's optimum without member i and with working column j; u = B_T g for
    T = S without i, g = G_Tj. Returns j's curvature given T, 0 where it is a combination of T.
    """
    k = b.size
    for l in range(k):
        x[l] = b[l]
        u[l] = 0.0
    x[k] = 0.0
    if i >= 0:
        theta = b[i] / B[i, i]
        for l in range(k):
            x[l] -= theta * B[l, i]
        x[i] = 0.0
    if j < 0:
        return 1.0
    A = scale * diagonal[j] + 2.0 * lambda2
    pull = c[j]
    for l in range(k):
        t = scale * rows[index[l], j]
        pull -= t * (x[l] - b[l])
        g[l] = t if l != i else 0.0
    for l in range(k):
        t = 0.0
        for m in range(k):
            t += B[l, m] * g[m]
        u[l] = t
    _without(B, i, u)
    s = A
    for l in range(k):
        s -= u[l] * g[l]
    if not s > COLLINEAR * A:
        return 0.0
    x[k] = pull / s
    for l in range(k):
        x[l] -= u[l] * x[k]
    return s


@njit
def _without(B, i, z):
    """Turn z = B r (r_i = 0) into B_T r for T = S without i; nothing to do for i = -1."""
    if i >= 0:
        t = z[i] / B[i, i]
        for l in range(B.shape[0]):
            z[l] -= t * B[l, i]
        z[i] = 0.0


@njit
def _gradient(
    loss, y, weights, offset, Z, S, x, level, lambda2, intercept, mean, i, j, eta, slopes, r
):
    """F at x (k + 1,) and the intercept `level`; r: its gradient along the centred columns (0 for
    what is not in the support). Returns (F, derivative in the intercept).
    """
    k, n = S.size, y.size
    predictor(Z, S, x[:k], level, offset, eta)
    if j >= 0:
        column, t = Z[j], x[k]
        for m in range(n):
            eta[m] += t * column[m]
    F, g0 = mean_loss(loss, y, eta, weights), 0.0
    for m in range(n):
        slopes[m] = weights[m] * slope(loss, y[m], eta[m])
        g0 += slopes[m]
    if not intercept:
        g0 = 0.0
    for l in range(k + 1):
        at = S[l] if l < k else j
        r[l] = 0.0
        if l == i or at < 0:
            continue
        column, t = Z[at], 0.0
        for m in range(n):
            t += slopes[m] * column[m]
        r[l] = t + 2.0 * lambda2 * x[l] - mean[at] * g0
        F += lambda2 * x[l] * x[l]
    return F, g0


@njit
def _direction(B, u, s, r, i, j, g0, total, z):
    """z (k + 1,) = B' r, the chord step, from B_T and j's u and s; returns the decrease it
    promises, r'B'r / 2, with the intercept's.
    """
    k = B.shape[0]
    for l in range(k):
        t = 0.0
        for m in range(k):
            t += B[l, m] * r[m]
        z[l] = t
    _without(B, i, z[:k])
    z[k] = 0.0
    if j >= 0:
        t = r[k]
        for l in range(k):
            t -= u[l] * r[l]
        z[k] = t / s
        for l in range(k):
            z[l] -= u[l] * z[k]
    promised = 0.5 * g0 * g0 / total
    for l in range(k + 1):
        promised += 0.5 * r[l] * z[l]
    return promised
