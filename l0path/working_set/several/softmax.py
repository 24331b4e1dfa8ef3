"""Restricted optima of the multinomial loss by Newton's method, in kernels.

Coefficients x (K, q) are those of the q = r - 1 contrasts of r classes (`problem.several`), the
intercepts in the last row where there are some. P (r, n) are probabilities, T (q, r) contrasts:

    gradient  Z diag(w) (P - Y)' T' + 2 lambda2 b,
    Hessian   sum_i w_i z_i z_i' x T (diag P_i - P_i P_i') T'  (Kronecker) + 2 lambda2 I.

After a Newton step -d, whose predictors change by -e, the linearized probabilities p_i = P_i -
(diag P_i - P_i P_i') e_i balance the gradient of the ridge at b - d. Where they are not negative,
weak duality bounds the optimum from below:

    F >= F(b) - sum_i w_i KL(p_i || P_i) - lambda2 ||d||^2.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...core.elementary import entropy_rise, exp_minus, log1p_unit
from ...problem.losses import ETA_CAP
from ...problem.recession import LEAST_SPREAD, SURE
from ..linear_algebra import (
    add_columns,
    cholesky,
    cholesky_solve,
    copy,
    invert_factor,
    products,
    weighted_gram,
)
from ..newton import CONVERGED, FLAT, MAX_ITER, REJECTED, SEPARATED

LN2 = math.log(2.0)
LEAST_GAIN = 1e-15  # of the objective: a Newton step that gains less is the last
HIDDEN_GAIN = 1e-13  # of the objective: a gain that may be smaller than rounding of F
STEP_HALVINGS = 40
LOST = 1e-8  # share of a curvature, left by other directions, of which rounding is no small part
BALANCED = 1e-8  # of the largest slope of a row: those of columns, where no curvature is left
MORE_STEPS = 5  # after which slopes that are left there are taken for lost
FAR_APART = 15.0  # differences of predictors beyond which a fit may be running off to infinity


class ClassRows(NamedTuple):
    """The rows of a multinomial problem."""

    codes: np.ndarray  # (n,), of the classes
    weights: np.ndarray  # (n,)
    offset: np.ndarray  # (r, n)
    T: np.ndarray  # (q, r), contrasts of the classes
    intercept: bool  # whether there are any
    Z: np.ndarray  # (w, n), a working column in each row


class DescentLimits(NamedTuple):
    """The rules of a descent."""

    lambda2: float  # the ridge
    target: float  # the value below which F must be able to fall
    capped: bool  # whether separated classes are looked for
    max_iter: int  # largest number of steps


class ClassWork(NamedTuple):
    """Work space of Newton steps under q contrasts of r classes."""

    P: np.ndarray  # (r, n), probabilities
    trial: np.ndarray  # (r, n), predictors of a trial
    D: np.ndarray  # (q, n), slopes
    PT: np.ndarray  # (q, n), T P
    v: np.ndarray  # (n,)
    scratch: np.ndarray  # (n,)
    b: np.ndarray  # (k,)
    block: np.ndarray  # (k, k), of a Hessian
    h0: np.ndarray  # (k,), of a Hessian


@njit
def work_space(r, q, n, k, K):
    """The `ClassWork` of k columns, K coefficients for each of q contrasts, r classes, n rows."""
    V, N, b, h0 = np.empty((2 * q + 2, n)), np.empty((2 * r, n)), np.empty(k), np.empty(k)
    block = np.empty((k, k))
    v, scratch = V[2 * q], V[2 * q + 1]
    return ClassWork(N[:r], N[r:], V[:q], V[q : 2 * q], v, scratch, b, block, h0)


@njit
def change_of(rows, S, x, b, out):
    """out (r, n) += the change of the predictors by coefficients x (K, q); b (k,) is scratch."""
    k = S.size
    for c in range(out.shape[0]):
        for a in range(k):
            t = 0.0
            for s in range(x.shape[1]):
                t += x[a, s] * rows.T[s, c]
            b[a] = t
        add_columns(rows.Z, S, b, out[c])
        if rows.intercept:
            t = 0.0
            for s in range(x.shape[1]):
                t += x[k, s] * rows.T[s, c]
            for i in range(out.shape[1]):
                out[c, i] += t


@njit
def mean_loss_of(rows, eta, top, total, P):
    """The mean loss of predictors eta (r, n), offset included, and their probabilities in P; inf,
    and equal ones, where an entry is no number. top, total (n,): scratch.
    """
    (r, n), F, size = eta.shape, 0.0, 0.0
    # class by class, for vector units
    for c in range(r):
        for i in range(n):
            size += abs(eta[c, i])
            top[i] = eta[c, i] if c == 0 else max(top[i], eta[c, i])
    if not size < np.inf:  # an entry is no number, and `exp_minus` takes numbers
        for c in range(r):
            for i in range(n):
                P[c, i] = 1.0 / r
        return np.inf
    for c in range(r):
        for i in range(n):
            P[c, i] = exp_minus(top[i] - eta[c, i])
    for c in range(r):
        for i in range(n):
            total[i] = P[c, i] if c == 0 else total[i] + P[c, i]
    for c in range(r):
        for i in range(n):
            P[c, i] /= total[i]
    for i in range(n):
        top[i] -= eta[rows.codes[i], i]
    halved = r
    while halved > 2:  # a sum is at most r: halve those above 2, for a logarithm without a call
        halved = (halved + 1) // 2
        for i in range(n):
            above = total[i] > 2.0
            top[i] += LN2 if above else 0.0
            total[i] *= 0.5 if above else 1.0
    for i in range(n):
        F += rows.weights[i] * (top[i] + log1p_unit(total[i] - 1.0))
    return F


@njit
def value_at(rows, S, lambda2, x, work, eta):
    """F at x (K, q); leaves the predictors in eta and the probabilities in work.P."""
    for c in range(eta.shape[0]):
        copy(rows.offset[c], eta[c])
    change_of(rows, S, x, work.b, eta)
    F = mean_loss_of(rows, eta, work.scratch, work.v, work.P)
    if not F < np.inf:  # coefficients may be no numbers
        return F
    for a in range(S.size):
        for s in range(x.shape[1]):
            F += lambda2 * x[a, s] * x[a, s]
    return F


@njit
def gradient(rows, S, lambda2, x, work, g):
    """Gradient g (q, K) of F at x, whose probabilities are in work.P; leaves PT there."""
    (r, n), k, T = work.P.shape, S.size, rows.T
    for s in range(T.shape[0]):
        D, PT = work.D[s], work.PT[s]
        for i in range(n):
            PT[i] = 0.0
        for c in range(r):
            t = T[s, c]
            for i in range(n):
                PT[i] += t * work.P[c, i]
        for i in range(n):
            D[i] = rows.weights[i] * (PT[i] - T[s, rows.codes[i]])
        products(rows.Z, S, D, g[s])
        for a in range(k):
            g[s, a] += 2.0 * lambda2 * x[a, s]
        if rows.intercept:
            t = 0.0
            for i in range(n):
                t += D[i]
            g[s, k] = t


@njit
def curvatures(rows, work, s, t, v):
    """v (n,) = w_i (T (diag P_i - P_i P_i') T')_st for the contrasts s and t."""
    T = rows.T
    for i in range(v.size):
        v[i] = -work.PT[s, i] * work.PT[t, i]
    for c in range(T.shape[1]):
        both = T[s, c] * T[t, c]
        for i in range(v.size):
            v[i] += both * work.P[c, i]
    for i in range(v.size):
        v[i] *= rows.weights[i]


@njit
def hessian(rows, S, lambda2, work, H):
    """Hessian H (q K, q K) of F, its lower blocks; work has P and PT."""
    k = S.size
    K = k + 1 if rows.intercept else k
    for s in range(rows.T.shape[0]):
        for t in range(s + 1):
            curvatures(rows, work, s, t, work.v)
            total = weighted_gram(rows.Z, S, work.v, work.block, work.h0, work.scratch)
            for a in range(k):
                for b in range(k):
                    H[s * K + a, t * K + b] = work.block[a, b]
                if rows.intercept:
                    H[s * K + a, t * K + k] = work.h0[a]
                    H[s * K + k, t * K + a] = work.h0[a]
            if rows.intercept:
                H[s * K + k, t * K + k] = total
        for a in range(k):
            H[s * K + a, s * K + a] += 2.0 * lambda2


@njit
def bound_after(rows, S, lambda2, F, step, work):
    """The lower bound of the module's head for the Newton step -step (K, q) from where F is; -inf
    where the linearized probabilities are no probabilities.
    """
    P, e, mean, ridge, least = work.P, work.trial, work.v, 0.0, 0.0
    (r, n), divergence = P.shape, 0.0
    for c in range(r):
        for i in range(n):
            e[c, i] = 0.0
    change_of(rows, S, step, work.b, e)
    for c in range(r):
        for i in range(n):
            t = P[c, i] * e[c, i]
            mean[i] = t if c == 0 else mean[i] + t
    for c in range(r):
        for i in range(n):
            u = mean[i] - e[c, i]
            least = min(least, u)
            divergence += rows.weights[i] * P[c, i] * entropy_rise(u)
    if not least >= -1.0:
        return -math.inf
    for a in range(S.size):
        for s in range(step.shape[1]):
            ridge += step[a, s] * step[a, s]
    return F - divergence - lambda2 * ridge


@njit
def reach(rows, eta, work):
    """(by how much predictors, without offsets, differ in a row at most; whether every row has the
    largest one for its class).
    """
    (r, n), low, high, far = eta.shape, work.v, work.scratch, 0.0
    for c in range(r):
        for i in range(n):
            t = eta[c, i] - rows.offset[c, i]
            low[i] = t if c == 0 else min(low[i], t)
            high[i] = t if c == 0 else max(high[i], t)
    for i in range(n):
        far = max(far, high[i] - low[i])
    for i in range(n):
        y = rows.codes[i]
        own = eta[y, i] - rows.offset[y, i]
        for c in range(r):
            if c != y and not own > eta[c, i] - rows.offset[c, i]:
                return far, False
    return far, True


@njit
def after_step(before, eta, low, high):
    """A bound on what a Newton step gains after one that moved the predictors from `before` to eta
    (r, n), as a share of the gain of that one; low, high (n,): scratch.

    Along the step the Hessian changes by a factor within exp(-R) and exp(R), R the largest range
    over the classes of what predictors of a row change by (see `finite_optimum`). So the gradient
    there is at most (exp(R) - 1 - R) / R <= R exp(R) / 2 of that before, in the norm of the
    inverse Hessian, and that norm grows by exp(R / 2). Where a row is far out, R is 1 in every step
    and steps converge linearly, however little they gain.
    """
    r, n = eta.shape
    for c in range(r):
        for i in range(n):
            t = eta[c, i] - before[c, i]
            low[i] = t if c == 0 else min(low[i], t)
            high[i] = t if c == 0 else max(high[i], t)
    R = 0.0
    for i in range(n):
        R = max(R, high[i] - low[i])
    return 0.25 * R * R * math.exp(min(3.0 * R, 700.0))


@njit
def finite_optimum(rows, S, L, gain):
    """Whether it is certain that F without a ridge has a finite optimum, by L L' = its Hessian H at
    some x and gain = gradient'H^-1 gradient there; L (lower triangle) is overwritten.

    The third derivative of the loss of a row along a direction is at most its second one times the
    range over the classes of the change e of its predictors, and range(e)^2 <= 2 ||e||^2. With
    d'Hd = 1, ||e_i||^2 <= z_i'B z_i, B (K, K) the sum of the diagonal blocks of H^-1. So at a
    distance t along d the slope is at least -sqrt(gain) + (1 - exp(-R t)) / R, R^2 =
    2 max_i z_i'B z_i: where gain R^2 < 1 it becomes positive on every way out. Source: Bach
    (Electronic Journal of Statistics 4, 2010), proposition 2. False where that is not shown, or
    where the Hessian may be rounding.
    """
    k = S.size
    K = k + 1 if rows.intercept else k
    m, trace = L.shape[0], 0.0
    square, inverse = np.empty(m), np.empty((m, m))
    for a in range(m):
        square[a] = 0.0
        for b in range(a + 1):
            square[a] += L[a, b] * L[a, b]
    invert_factor(L, m, inverse)
    for a in range(m):
        trace += square[a] * inverse[a, a]
    for a in range(K):
        for b in range(K):
            for s in range(1, m // K):
                inverse[a, b] += inverse[s * K + a, s * K + b]
    # the least eigenvalue of H, of unit diagonal, is at least 1 / trace
    if not trace * LEAST_SPREAD < 1.0:
        return False
    least = 0.5 * SURE * SURE / gain if gain > 0.0 else np.inf
    return _largest_length(rows, S, inverse, False) < least or (
        _largest_length(rows, S, inverse, True) < least
    )


@njit
def _largest_length(rows, S, B, exact):
    """max_i z_i'B z_i over the rows, whose last entry is 1 where there are intercepts, for B (K, K)
    positive definite; unless `exact` the bound trace B max_i |z_i|^2.
    """
    k, n = S.size, rows.Z.shape[1]
    total, along, trace, most = np.empty(n), np.empty(n), 0.0, 0.0
    for i in range(n):
        total[i] = 1.0 if rows.intercept and not exact else 0.0
    for a in range(k + 1 if rows.intercept else k):
        trace += B[a, a]
        if not exact and a < k:
            z = rows.Z[S[a]]
            for i in range(n):
                total[i] += z[i] * z[i]
        elif exact:
            for i in range(n):
                along[i] = B[a, k] if rows.intercept else 0.0
            add_columns(rows.Z, S, B[a, :k], along)
            for i in range(n):
                total[i] += along[i] if a == k else along[i] * rows.Z[S[a], i]
    for i in range(n):
        most = max(most, total[i])
    return most if exact else trace * most


@njit
def _mean_size(rows, eta, most):
    """The weighted mean of the largest |eta| of a row, to which rounding of F is relative; most
    (n,): scratch.
    """
    out = 0.0
    for c in range(eta.shape[0]):
        for i in range(most.size):
            t = abs(eta[c, i])
            most[i] = t if c == 0 else max(most[i], t)
    for i in range(most.size):
        out += rows.weights[i] * most[i]
    return out


@njit
def _thinnest(L):
    """The least share of a diagonal entry of a Hessian L L' (lower triangle) that the entries
    before leave of it.
    """
    least = 1.0
    for a in range(L.shape[0]):
        square = 0.0
        for b in range(a + 1):
            square += L[a, b] * L[a, b]
        least = min(least, L[a, a] * L[a, a] / max(square, 1e-300))
    return least


@njit
def _largest(table):
    """The largest size of the entries of a table."""
    out = 0.0
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            out = max(out, abs(table[a, b]))
    return out


@njit
def _copy_table(source, target):
    for a in range(source.shape[0]):
        copy(source[a], target[a])


@njit
def refit_classes(rows, S, limits, x, held, eta):
    """Minimize F over the coefficients x (K, q) of the working columns S (k,) from where x is, in
    place; returns (status, F, far) and leaves the predictors in eta (r, n).

    Status: CONVERGED; MAX_ITER; REJECTED once a bound shows that F cannot fall below
    limits.target; with limits.capped SEPARATED, of value 0, where every row has the largest
    predictor for its class. far: by how much predictors of a row differ at the end, 0 where the
    last step shows a finite optimum. held: the last x at which predictors differed by at most
    ETA_CAP.
    """
    (r, n), (K, q), k = eta.shape, x.shape, S.size
    work = work_space(r, q, n, k, K)
    g, H, d = np.empty((q, K)), np.empty((q * K, q * K)), np.empty(q * K)
    step, new, lambda2 = np.empty((K, q)), np.empty((K, q)), limits.lambda2
    F, far, more = value_at(rows, S, lambda2, x, work, eta), 0.0, 0
    _copy_table(x, held)
    for _it in range(limits.max_iter if K else 0):
        gradient(rows, S, lambda2, x, work, g)
        hessian(rows, S, lambda2, work, H)
        weak, gain = cholesky(H, q * K), 0.0
        for s in range(q):
            copy(g[s], d[s * K : s * K + K])
        cholesky_solve(H, q * K, d)
        for s in range(q):
            for a in range(K):
                step[a, s] = d[s * K + a]
                gain += step[a, s] * g[s, a]
        if weak == 0 and F - 0.5 * gain >= limits.target:
            least = bound_after(rows, S, lambda2, F, step, work)
            if least >= limits.target + 1e-12 * abs(F):
                return REJECTED, F, far
        # losses are differences of numbers of the size of eta
        level = 1.0 + _mean_size(rows, eta, work.scratch)
        rounding = 1e-15 * level
        # a gain that rounding of F may hide: a full step is good although F does not show it
        slack = HIDDEN_GAIN * level if gain <= HIDDEN_GAIN * level else 0.0
        size, value = 1.0, F
        _copy_table(eta, work.trial)
        for _half in range(STEP_HALVINGS):
            for a in range(K):
                for s in range(q):
                    new[a, s] = x[a, s] - size * step[a, s]
            value = value_at(rows, S, lambda2, new, work, eta)
            if value <= F - 1e-4 * size * gain + max(rounding, slack):
                break
            size *= 0.5
        stalled = slack > 0.0 and F <= value <= F + slack
        if value <= F + slack:
            _copy_table(new, x)
            F = value
        else:
            value_at(rows, S, lambda2, x, work, eta)
        if limits.capped:
            far, all_largest = reach(rows, eta, work)
            if all_largest and far > 0.0:
                return SEPARATED, 0.0, far
            if far <= ETA_CAP:
                _copy_table(x, held)
        ahead = gain * after_step(work.trial, eta, work.scratch, work.v) if size == 1.0 else np.inf
        if stalled or min(gain, ahead) <= LEAST_GAIN * abs(F) + 0.1 * rounding:
            # what steps promise along a direction of next to no curvature is rounding
            balanced = BALANCED if weak > 0 else FLAT if _thinnest(H) < LOST else np.inf
            if balanced < np.inf:
                gradient(rows, S, lambda2, x, work, g)
                if not _largest(g) <= balanced * _largest(work.D):
                    more += 1
                    if more > MORE_STEPS:
                        return MAX_ITER, F, far
                    continue
            if limits.capped and weak == 0 and far > FAR_APART:
                far = 0.0 if finite_optimum(rows, S, H, gain) else far
            return CONVERGED, F, far
    return CONVERGED if K == 0 else MAX_ITER, F, far
