"""Kernels of coordinate descent and of swaps with the other coefficients fixed;
`coordinate_descent` states the problem.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.dispatch import njit
from ..exchange.table import _keep
from ..problem.penalties import Interval, Separable, entry, threshold
from ..problem.verbs import along_a_column, derivatives_of_rows, loss_data, value_of_rows


class RowLoss(NamedTuple):
    """The loss of n rows: y, weights (n,); whether there is a free intercept."""

    loss: Any
    y: np.ndarray
    weights: np.ndarray
    intercept: bool


def row_loss(loss, y, weights, intercept):
    """The `RowLoss` of the record of a loss."""
    return RowLoss(loss_data(loss, along_a_column), y, weights, intercept)


class Coordinates(NamedTuple):
    """The cost's factor and the box of w columns, and which of them are in at any lambda0."""

    factor: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    fixed: np.ndarray


class Coordinate(NamedTuple):
    """The same of one column, with its cost."""

    cost: float
    lower: float
    upper: float
    fixed: bool


class Visit(NamedTuple):
    """Positions in the order of a sweep. Of those that are zero the first `sure` get the exact
    search, the others where `safety` times the estimate of their gain passes their cost.
    """

    order: np.ndarray
    sure: int
    safety: float


class StopRule(NamedTuple):
    """Sweeps end after n_stable without a change of the support, after one whose steps are below
    tol, or after max_sweeps.
    """

    n_stable: int
    max_sweeps: int
    tol: float


class Predicted(NamedTuple):
    """Coefficients, and the loss there."""

    b: np.ndarray  # (w,)
    eta: np.ndarray  # (n,)
    slopes: np.ndarray  # (n,)
    curvatures: np.ndarray  # (n,)
    trial: np.ndarray  # (n,), work space


class Leaving(NamedTuple):
    """Members that may leave. Without member i the correlation of column j is c_j + scale_i
    rows[index_i, j].
    """

    rows: np.ndarray
    index: np.ndarray  # (k,)
    scale: np.ndarray  # (k,)
    rho: np.ndarray  # (k,), what P loses with each; infinite: it stays
    member_cost: np.ndarray  # (k,), what leaving saves


class Entering(NamedTuple):
    """Columns that may enter."""

    c: np.ndarray  # (m,), correlations
    a: np.ndarray  # (m,), curvatures
    skip: np.ndarray  # (m,), bool
    factor: np.ndarray  # (m,), penalty factors
    lower: np.ndarray  # (m,), the box
    upper: np.ndarray  # (m,), the box


@njit
def cd_gram(penalty, G, b, c, order, columns, stop):
    """Cyclic descent for the squared loss, in place: b (w,), c (w,) = q - G b. G (capacity,
    capacity) Gram matrix; order: positions to visit. Returns the number of sweeps.
    """
    calm, w = 0, b.size
    for sweep in range(stop.max_sweeps):
        largest, changed = 0.0, False
        for j in order:
            old, a = b[j], G[j, j]
            box = Interval(columns.lower[j], columns.upper[j])
            new = threshold(penalty, c[j] + a * old, a, columns.factor[j], box, old)
            step = new - old
            if step != 0.0:
                b[j] = new
                for l in range(w):
                    c[l] -= step * G[j, l]
                largest = max(largest, abs(step))
                changed = changed or (new != 0.0) != (old != 0.0)
        calm = 0 if changed else calm + 1
        if calm >= stop.n_stable or (not changed and largest <= stop.tol):
            return sweep + 1
    return stop.max_sweeps


@njit
def probe(rows, eta, z, shift, room):
    """Mean loss, slope and curvature along z at eta + shift z; room (2,)."""
    F = along_a_column(rows.loss, rows.y, eta, rows.weights, z, shift, room)
    return F, room[0], room[1]


@njit
def line(rows, penalty, eta, z, old, lower, upper):
    """(t, gain, F): t minimizes F = sum_i w_i loss(eta_i + (t - old) z_i) + lambda1 |t| + lambda2
    t^2 on the box; gain is by how much t beats 0 (or the box's end next to 0).

    Newton steps on the side of 0 that goes down, kept in a shrinking bracket: a step that leaves it
    is halved, or doubled while there is no far end (curvature may vanish, values may overflow).
    Where F is above that at the start, a step is at least half of the bracket: on an exponential of
    a far row Newton steps are short.
    """
    lambda1, lambda2, start = penalty.lambda1, penalty.lambda2, min(max(0.0, lower), upper)
    room = np.empty(2)
    F0, d, h = probe(rows, eta, z, start - old, room)
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
        F, d, h = probe(rows, eta, z, t - old, room)
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
        # what a further step promises
        if F < 1e300 and d * d <= h * max(1e-11 * min(gain, F), 1e-16 * F):
            break
        new = t - d / h if F < 1e300 and h > 1e-12 * abs(d) else far
        if not (way * (new - near) > 0.0 and way * (far - new) > 0.0):
            new = 0.5 * (near + far) if abs(far) < 1e300 else start + 2.0 * (t - start)
        elif F > F0 and way * (new - near) > 0.5 * way * (far - near):
            new = 0.5 * (near + far)
        if abs(new - t) <= 1e-13 * abs(t):
            break
        t = new
    return best, gain, F0 - gain


@njit
def probe_entries(rows, penalty, eta, Z, at, columns, out, gains):
    """Exact optimum out (m,) and gain (m,) of the columns `at`, zero at present, each alone."""
    for e in range(at.size):
        j = at[e]
        low, high = columns.lower[j], columns.upper[j]
        out[e], gains[e], _ = line(rows, penalty, eta, Z[j], 0.0, low, high)


@njit
def _along(point, z):
    """Slope and curvature of the mean loss along z (n,)."""
    d, h = 0.0, 0.0
    for i in range(z.size):
        d += point.slopes[i] * z[i]
        h += point.curvatures[i] * z[i] * z[i]
    return d, h


@njit
def member_step(rows, penalty, point, F, z, b, column):
    """New value of a nonzero (or fixed) coordinate: one Newton step if it lowers F and the
    coordinate is far from leaving, else the exact search.
    """
    lambda1, lambda2 = penalty.lambda1, penalty.lambda2
    d, h = _along(point, z)
    d += 2.0 * lambda2 * b + (lambda1 if b > 0.0 else -lambda1)
    h += 2.0 * lambda2
    far = column.fixed or 0.5 * h * b * b > 20.0 * (column.cost + penalty.tie)
    if b != 0.0 and h > 0.0 and far:
        t = min(max(b - d / h, column.lower), column.upper)
        if 0.5 * h * (t - b) * (t - b) <= 1e-17 * F:
            return b
        if t * b > 0.0:
            for i in range(z.size):
                point.trial[i] = point.eta[i] + (t - b) * z[i]
            found = value_of_rows(rows.loss, rows.y, point.trial, rows.weights)
            found += lambda1 * (abs(t) - abs(b)) + lambda2 * (t * t - b * b)
            if found <= F:
                return t
    t, gain, end = line(rows, penalty, point.eta, z, b, column.lower, column.upper)
    if not column.fixed and gain < column.cost - penalty.tie:
        return 0.0
    return t if end <= F + lambda1 * abs(b) + lambda2 * b * b else b


@njit
def entering(rows, penalty, point, z, column, safety):
    """The value at which a column that is zero enters, 0 where it does not. safety: 0 for the exact
    search at any rate, else see `Visit`.
    """
    d, h = _along(point, z)
    h += 2.0 * penalty.lambda2
    u = max(abs(d) - penalty.lambda1, 0.0)
    if not u > 0.0 or (safety > 0.0 and not safety * u * u > 2.0 * h * column.cost):
        return 0.0
    new, gain, _ = line(rows, penalty, point.eta, z, 0.0, column.lower, column.upper)
    return new if gain > column.cost + penalty.tie else 0.0


@njit
def cd_rows(rows, penalty, Z, visit, columns, point, b0, stop):
    """Cyclic descent on the rows, in place: `point` at its b and at b0; Z (w, n) a column per
    row; the intercept once a sweep. Returns (sweeps, b0). In the first sweep every column gets the
    exact search.
    """
    order, ones, free = visit.order, np.ones(rows.y.size), Separable(0.0, 0.0, 0.0, 0.0)
    # not True: a constant would compile a second kernel
    intercept = Coordinate(0.0, -np.inf, np.inf, rows.y.size > 0)
    b, F, calm = point.b, _derive(rows, point), 0
    for sweep in range(stop.max_sweeps):
        largest, changed = 0.0, False
        for e in range(-1 if rows.intercept else 0, order.size):
            j = order[e] if e >= 0 else -1
            z = Z[j] if e >= 0 else ones
            old = b[j] if e >= 0 else b0
            if e < 0:
                new = member_step(rows, free, point, F, z, old, intercept)
            else:
                cost, fixed = penalty.lambda0 * columns.factor[j], columns.fixed[j]
                column = Coordinate(cost, columns.lower[j], columns.upper[j], fixed)
                if old != 0.0 or fixed:
                    new = member_step(rows, penalty, point, F, z, old, column)
                else:
                    safety = 0.0 if sweep == 0 or e < visit.sure else visit.safety
                    new = entering(rows, penalty, point, z, column, safety)
            step = new - old
            if step == 0.0:
                continue
            for i in range(z.size):
                point.eta[i] += step * z[i]
            F = _derive(rows, point)
            largest = max(largest, abs(step))
            if e < 0:
                b0 = new
            else:
                b[j] = new
                changed = changed or (new != 0.0) != (old != 0.0)
        calm = 0 if changed else calm + 1
        if calm >= stop.n_stable or (not changed and largest <= stop.tol):
            return sweep + 1, b0
    return stop.max_sweeps, b0


@njit
def _derive(rows, point):
    """The mean loss; slopes and curvatures are filled."""
    loss, y, weights = rows.loss, rows.y, rows.weights
    return derivatives_of_rows(loss, y, point.eta, weights, point.slopes, point.curvatures)


@njit
def frozen_swaps(penalty, members, entrants, ceiling, found):
    """Fill an `ExchangeList` with swaps with all other coefficients frozen, lowest change of P
    first: member i leaves (rho_i), column j enters at its own optimum; returns how many were kept.

    change_ij = rho_i - gain_ij + lambda0 (f_j - f_i): Hazimeh & Mazumder (2020), section 3, one
    O(1) formula for each pair. With ceiling <= 0 one entry a column, else every pair.
    """
    change, rho, member_cost, a = found.change, members.rho, members.member_cost, entrants.a
    kept, capacity, k = 0, change.size, rho.size
    for j in range(a.size):
        if entrants.skip[j]:
            continue
        half = 0.5 / max(a[j] + 2.0 * penalty.lambda2, 1e-300)
        cost = penalty.lambda0 * entrants.factor[j]
        best, who = np.inf, -1
        for i in range(k):
            correlation = entrants.c[j] + members.scale[i] * members.rows[members.index[i], j]
            u = max(abs(correlation) - penalty.lambda1, 0.0)
            worst = change[capacity - 1] if kept == capacity else np.inf
            if rho[i] - half * u * u + cost - member_cost[i] >= min(ceiling, worst):
                continue
            box = Interval(entrants.lower[j], entrants.upper[j])
            _, gain = entry(penalty, correlation, a[j], box)
            d = rho[i] - gain + cost - member_cost[i]
            if d < ceiling and d < worst:
                if ceiling > 0.0:
                    kept = _keep(d, j, i, found, kept, 0.0)
                elif d < best:
                    best, who = d, i
        if who >= 0:
            kept = _keep(best, j, who, found, kept, 0.0)
    return kept
