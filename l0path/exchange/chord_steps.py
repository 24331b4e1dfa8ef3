"""Chord steps: Newton steps after an exchange, with the inverse Hessian that the table of exchanges
at a fit has at hand, so that a step costs a gradient, O(n k), and no Hessian, O(n k^2).
"""

from typing import NamedTuple

import numpy as np

from ..compiled import part
from ..core.dispatch import njit
from ..problem.verbs import value_and_slopes
from ..working_set.linear_algebra import copy, predictor, products
from .table import COLLINEAR

SECANTS = 4  # steps from which the next one learns


class LocalTable(NamedTuple):
    """The quadratic at a fit from which chord steps start. Second derivatives and curvatures are
    to be multiplied by `scale`.
    """

    S: np.ndarray  # (k,), the support, as positions in W
    b: np.ndarray  # (k,), coefficients
    b0: float  # intercept
    lambda2: float
    B: np.ndarray  # (k, k), (scale G_SS + 2 lambda2)^-1
    c: np.ndarray  # (w,), -dF/db
    rows: np.ndarray  # rows[index[l], j]: second derivative with member l and along j, centered
    index: np.ndarray  # (k,)
    diagonal: np.ndarray  # (w,), second derivatives, centered
    mean: np.ndarray  # (w,), means of the columns for the curvatures
    scale: float
    total: float  # sum of the curvatures
    curvatures: np.ndarray  # (n,), of rows


class Exchange(NamedTuple):
    """One exchange."""

    i: int  # position in the support that is dropped
    j: int  # working column that is added, -1 for none
    s: float  # what the other members T leave of its curvature
    u: np.ndarray  # (k,), B_T G_Tj


class Trial(NamedTuple):
    """The arrays of a trial; the last of k + 1 entries is that of the column added."""

    x: np.ndarray  # (k + 1,), coefficients
    r: np.ndarray  # (k + 1,), gradient
    z: np.ndarray  # (k + 1,), chord step
    eta: np.ndarray  # (n,), predictor
    slopes: np.ndarray  # (n,)
    secants: np.ndarray  # (2 SECANTS + 3, k + 2), see learn
    end: np.ndarray  # (k + 1,), coefficients of a dual point
    move: np.ndarray  # (k + 1,), step to a dual point
    ahead: np.ndarray  # (n,), predictor of a dual point
    dual: np.ndarray  # (n,), the dual point
    moved: np.ndarray  # (n,), by how much rows of it are drawn back


@njit
def moved_intercept(rows, table, j, before, after):
    """The change of the intercept when coefficients (k,) become (k + 1,) and the weighted mean of
    the predictor stays.
    """
    shift = 0.0
    if rows.intercept:
        for l in range(before.size):
            shift -= table.mean[table.S[l]] * (after[l] - before[l])
        shift -= table.mean[j] * after[before.size] if j >= 0 else 0.0
    return shift


@njit
def learn(secants, r, g0, step):
    """Keep the change of the gradient (r (k + 1,), g0) since the step before. Rows of secants: the
    last SECANTS steps, what they changed, then the last step, the gradient there, and work space.
    """
    k = r.size
    last, gradient = secants[2 * SECANTS], secants[2 * SECANTS + 1]
    at = (step - 1) % SECANTS
    for l in range(k + 1):
        here = r[l] if l < k else g0
        if step > 0:
            secants[at, l] = last[l]
            secants[SECANTS + at, l] = here - gradient[l]
        gradient[l] = here


@njit
def _accelerate(table, exchange, trial, step, shift):
    """Turn the chord step -z (k + 1,), -shift of the intercept, into that of limited-memory BFGS,
    whose first inverse Hessian is that of the chord step (Nocedal, Math. Comp. 35, 1980): chord
    steps converge linearly, these faster. Returns the new shift.
    """
    secants, z = trial.secants, trial.z
    k, oldest = z.size, max(step - SECANTS, 0)
    last, q = secants[2 * SECANTS], secants[2 * SECANTS + 2]
    copy(secants[2 * SECANTS + 1], q)
    share, curved = np.empty(SECANTS), np.empty(SECANTS)
    for back in range(step - oldest):
        at = (step - 1 - back) % SECANTS
        curved[at], share[at] = 0.0, 0.0
        for l in range(k + 1):
            curved[at] += secants[at, l] * secants[SECANTS + at, l]
            share[at] += secants[at, l] * q[l]
        share[at] = share[at] / curved[at] if curved[at] > 0.0 else 0.0
        for l in range(k + 1):
            q[l] -= share[at] * secants[SECANTS + at, l]
    if step > 0:
        direction(table, exchange, part(q, 0, k), q[k], z)
        shift = q[k] / table.total
    for number in range(oldest, step):
        at = number % SECANTS
        if curved[at] > 0.0:
            along = secants[SECANTS + at, k] * shift
            for l in range(k):
                along += secants[SECANTS + at, l] * z[l]
            change = share[at] - along / curved[at]
            for l in range(k):
                z[l] += secants[at, l] * change
            shift += secants[at, k] * change
    for l in range(k):
        last[l] = -z[l]
    last[k] = -shift
    return shift


@njit
def take_step(rows, table, exchange, trial, step, g0, level):
    """Take the accelerated step; returns the intercept after it."""
    k, x, z = table.S.size, trial.x, trial.z
    shift = _accelerate(table, exchange, trial, step, g0 / table.total)
    for l in range(k + 1):
        x[l] -= z[l]
    if rows.intercept:
        level -= shift
        for l in range(k):
            level += table.mean[table.S[l]] * z[l]
        level += table.mean[exchange.j] * z[k] if exchange.j >= 0 else 0.0
    return level


@njit
def predict(table, i, j, x, u, g):
    """x (k + 1,): the quadratic's optimum without member i and with working column j; u = B_T g for
    T = S without i, g = G_Tj. Returns j's curvature given T, 0 where it is a combination of T.
    """
    B, b, scale = table.B, table.b, table.scale
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
    A = scale * table.diagonal[j] + 2.0 * table.lambda2
    correlation = table.c[j]
    for l in range(k):
        t = scale * table.rows[table.index[l], j]
        correlation -= t * (x[l] - b[l])
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
    x[k] = correlation / s
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
def gradient(rows, table, exchange, trial, level):
    """F at trial.x and the intercept `level`; trial.r: its gradient along the centered columns (0
    for what is not in the support). Returns (F, derivative in the intercept).
    """
    y, x, r = rows.y, trial.x, trial.r
    eta, slopes, lambda2 = trial.eta, trial.slopes, table.lambda2
    k, n = table.S.size, y.size
    predictor(rows.Z, table.S, part(x, 0, k), level, rows.offset, eta)
    if exchange.j >= 0:
        column, t = rows.Z[exchange.j], x[k]
        for m in range(n):
            eta[m] += t * column[m]
    F, g0 = value_and_slopes(rows.loss, y, eta, rows.weights, slopes), 0.0
    if rows.intercept:
        for m in range(n):
            g0 += slopes[m]
    products(rows.Z, table.S, slopes, r)
    if exchange.j >= 0:
        column, t = rows.Z[exchange.j], 0.0
        for m in range(n):
            t += slopes[m] * column[m]
        r[k] = t
    for l in range(k + 1):
        at = table.S[l] if l < k else exchange.j
        if l == exchange.i or at < 0:
            r[l] = 0.0
            continue
        r[l] += 2.0 * lambda2 * x[l] - table.mean[at] * g0
        F += lambda2 * x[l] * x[l]
    return F, g0


@njit
def direction(table, exchange, r, g0, z):
    """z (k + 1,) = B' r, the chord step, from B_T and the added column's u and s; returns the
    decrease it promises, r'B'r / 2, with the intercept's.
    """
    B, u = table.B, exchange.u
    k = B.shape[0]
    for l in range(k):
        t = 0.0
        for m in range(k):
            t += B[l, m] * r[m]
        z[l] = t
    _without(B, exchange.i, part(z, 0, k))
    z[k] = 0.0
    if exchange.j >= 0:
        t = r[k]
        for l in range(k):
            t -= u[l] * r[l]
        z[k] = t / exchange.s
        for l in range(k):
            z[l] -= u[l] * z[k]
    promised = 0.5 * g0 * g0 / table.total
    for l in range(k + 1):
        promised += 0.5 * r[l] * z[l]
    return promised
