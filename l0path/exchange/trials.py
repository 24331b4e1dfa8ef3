"""Exchanges tried by chord steps (`chord_steps`), which take gradients only, under a loss of any
number of predictors of each row.

From the restricted optimum of a support S the quadratic with an inverse Hessian B predicts the
optimum after "drop i, add j". There the loss F and the gradient g are exact, and F - PROMISE_FACTOR
g'B'g / 2, with B' the inverse after the exchange, is what no further descent is expected to pass.
Where that is above the target, weak duality decides: slopes + V (eta' - eta), with V the curvatures
of the table and eta' the predictors after the chord step, is dual feasible, and its value is what
no descent passes (`verbs.dual_gain_of_rows`). What is neither refuted nor below the target is left
to a refit.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import part
from ..core import threads
from ..core.dispatch import njit
from ..problem.verbs import drawn_back_rows, dual_gain_of_rows, value_and_slopes
from ..working_set.linear_algebra import copy, predictor, products
from ..working_set.newton import REACH
from .chord_steps import SECANTS, Exchange, chord_step, exchange_work, exchanged, take_step

# what an exchange may promise and still be asked for its bound: the Hessian may be that of a fit
# close by
PROMISE_FACTOR = 3.0
TRIES = 6  # chord steps after which an exchange that is not refuted is taken for better
MOST_STEPS = 40  # those after which an exchange is left to a refit that no bound has refuted yet
CLOSING = 12  # chord steps that bring the exchange taken to its optimum
DRAWN_BACK = 4  # chord steps for a dual point within its domain
SMALL_PROMISE = 1e-12  # share of F that descent may still promise there
BOUND_SLACK = 1e-12  # share of F by which a bound must be above the target
# rows times coefficients of the exchanges to be refuted that are worth a thread: to hand it work
# takes a fifth of a millisecond, these take about two
SHARED = 1 << 20


class Exchanges(NamedTuple):
    """Exchanges of a fit: positions dropped from the support and working positions added, -1 for
    none; two arrays.
    """

    out: np.ndarray
    into: np.ndarray

    def of(self, which):
        """Some of them."""
        return Exchanges(self.out[which], self.into[which])


class Goal(NamedTuple):
    """The aim of trials."""

    target: float  # the value that an exchange must come below
    first: bool  # whether the first such exchange is taken, or one that is left open; else the best
    thorough: bool  # whether bounds alone refute
    tie: float = 0.0  # by how much an exchange must be below one before it to be taken in its place
    closing: int = CLOSING  # chord steps towards the optimum of the exchange taken, at least 1


class Trial(NamedTuple):
    """The arrays of trials; the last q of q K + q entries are those of the column added."""

    x: np.ndarray  # (q K + q,), coefficients
    r: np.ndarray  # (q K + q,), gradient
    z: np.ndarray  # (q K + q,), chord step
    end: np.ndarray  # (q K + q,), coefficients of a dual point
    move: np.ndarray  # (q K + q,), step to a dual point
    left: np.ndarray  # (q K + q,), what a dual point leaves of its equations
    ridge: np.ndarray  # (q K + q,), lambda2, 0 for intercepts
    secants: np.ndarray  # see `chord_steps.take_step`
    eta: np.ndarray  # (q n,), predictors
    slopes: np.ndarray  # (q n,)
    ahead: np.ndarray  # (q n,), predictors of a dual point
    dual: np.ndarray  # (q n,), the dual point
    moved: np.ndarray  # (q n,), by how much rows of it are drawn back


class Found(NamedTuple):
    """The exchange that trials end with."""

    e: int  # its number, -1 for none
    F: float  # the value at its coefficients
    promised: float  # what descent from there still promises
    reach: float  # the largest |predictor - offset|
    x: np.ndarray  # (q K + q,), its coefficients, 0 at the one dropped; intercepts at the `center`


def tried(rows, table, exchanges, goal):
    """The `Found` of exchanges of a fit, tried in their order. Proofs mostly refute all exchanges:
    several threads share these, and the first exchange that is found counts.
    """
    size = table.x.size + rows.offset.size // rows.y.size
    number, parts = exchanges.out.size, {}

    def piece(left, right):
        some = exchanges if right - left == number else exchanges.of(slice(left, right))
        x = np.empty(size)
        parts[left] = Found(*attempt(rows, table, some, goal, x), x)

    most = min(number * rows.y.size * size // SHARED, number) if goal.thorough else 1
    pieces = min(threads.count(), most) if most > 1 else 1
    if pieces == 1:
        piece(0, number)
        return parts[0]
    threads.run(piece, [number * i // pieces for i in range(pieces + 1)])
    left = min((left for left in parts if parts[left].e >= 0), default=None)
    return parts[0] if left is None else parts[left]._replace(e=left + parts[left].e)


@njit
def predict_exchanges(table, q, exchanges, change):
    """Fill change (m,) with what the quadratic of a `LocalTable` predicts for exchanges; inf for
    columns that are combinations.
    """
    work, x = exchange_work(q, table.x.size), np.empty(table.x.size + q)
    for e in range(change.size):
        change[e] = _predict(table, Exchange(exchanges.out[e], exchanges.into[e], work), x)


@njit
def attempt(rows, table, exchanges, goal, best):
    """Try exchanges of a fit, in their order.

    rows: a `newton.LossRows`; table: a `LocalTable` of the fit; goal: with `first` take the first
    exchange that comes below the target or that no bound has refuted after TRIES steps; else go
    through all and take the lowest below the target that is found; with `thorough` refute by bounds
    only, not by PROMISE_FACTOR.

    Returns (e, F, promised, reach) of a `Found`, and leaves its coefficients in best (q K + q,).
    """
    found, F, promised, reach, target = -1, np.inf, np.inf, np.inf, goal.target
    q, size = best.size - table.x.size, best.size
    v, w, work = np.empty((7, size)), np.empty((5, q * rows.y.size)), exchange_work(q, size - q)
    secants, k = np.empty((2 * SECANTS + 2, size + 2)), table.S.size
    trial = Trial(v[0], v[1], v[2], v[3], v[4], v[5], v[6], secants, w[0], w[1], w[2], w[3], w[4])
    for l in range(size):
        trial.ridge[l] = table.lambda2
    for s in range(q if rows.intercept else 0):
        trial.ridge[s * (k + 1) + k] = 0.0
    for e in range(exchanges.out.size):
        exchange = Exchange(exchanges.out[e], exchanges.into[e], work)
        taken, value, left = goal.first, np.inf, np.inf  # of a flat quadratic a refit decides
        if _predict(table, exchange, trial.x) < np.inf:
            taken, value, left = _one(rows, table, exchange, trial, goal, target)
        if taken:
            found, F, promised, target = e, value, left, value - goal.tie
            copy(trial.x, best)
            reach = 0.0 if F < np.inf else np.inf
            for m in range(trial.eta.size if F < np.inf else 0):
                reach = max(reach, abs(trial.eta[m] - rows.offset[m]))
            if goal.first:
                break
    return found, F, promised, reach


@njit
def _predict(table, exchange, x):
    """Fill x with the optimum of the quadratic after an exchange, and return the change of F that
    it predicts, see `exchanged`.
    """
    C, q, size, pair = exchange.work.C, exchange.work.left.size, table.x.size, 0
    m = table.c.size // q
    if exchange.j >= 0:
        at = table.place[exchange.j] if table.place.size > 0 else exchange.j
        for s in range(q):
            x[size + s] = table.c[s * m + at]
            for l in range(size):
                row = table.index[l]
                C[s, l] = table.scale * table.rows[row, s * m + at] if row >= 0 else 0.0
            for t in range(s + 1):
                C[s, size + t] = table.scale * table.diagonal[pair * m + at]
                pair += 1
            C[s, size + s] += 2.0 * table.lambda2
    return exchanged(table.B, table.x, exchange, x)


@njit
def _one(rows, table, exchange, trial, goal, target):
    """Try one exchange from the coefficients in trial.x, and bring it towards its optimum if it is
    taken: (whether it is, F, what descent still promises).
    """
    closing, F, promised = 0, np.inf, np.inf
    for step in range(MOST_STEPS + goal.closing):
        F, before = _gradient(rows, table, exchange, trial), promised
        promised = chord_step(table.B, exchange, trial.r, trial.z)
        known = F < np.inf  # where it overflows, only a refit can tell
        if closing == 0:
            hopeless = known and F - PROMISE_FACTOR * promised > target
            last = step >= MOST_STEPS - 1 or (step >= TRIES - 1 and not hopeless) or not known
            if hopeless and (
                not goal.thorough or _refuted(rows, table, exchange, trial, F, target)
            ):
                break
            taken = F < target or (last and goal.first)
            if not taken and step >= MOST_STEPS - 1:
                break
            closing = 1 if taken else 0
        elif promised < 0.5 * before:
            closing += 1
        else:
            closing = goal.closing
        if closing == goal.closing or (closing > 0 and promised <= SMALL_PROMISE * abs(F)):
            break
        take_step(table.B, exchange, trial.secants, step, trial.x, trial.r, trial.z)
    return closing > 0, F, promised


@njit
def _predictors(rows, table, j, x, base, out):
    """Fill out (q n,) with base (q n,) and the predictors of coefficients x (q K + q,)."""
    S, k, n, size = table.S, table.S.size, rows.y.size, table.x.size
    K = k + 1 if rows.intercept else k
    for s in range(x.size - size):
        b, u, own = part(x, s * K, s * K + k), part(out, s * n, s * n + n), x[size + s]
        level = x[s * K + k] if rows.intercept else 0.0
        for a in range(k):
            level -= table.center[S[a]] * b[a]
        if j >= 0:
            level -= table.center[j] * own
        predictor(rows.Z, S, b, level, part(base, s * n, s * n + n), u)
        if j >= 0:
            column = rows.Z[j]
            for m in range(n):
                u[m] += own * column[m]


@njit
def _gradient(rows, table, exchange, trial):
    """F at trial.x; leaves its gradient in trial.r, 0 for what is not in the support."""
    x, r, ridge = trial.x, trial.r, trial.ridge
    _predictors(rows, table, exchange.j, x, rows.offset, trial.eta)
    F = value_and_slopes(rows.loss, rows.y, trial.eta, rows.weights, trial.slopes)
    _products(rows, table, exchange, trial.slopes, r)
    for l in range(x.size):  # of the member dropped x is 0
        F += ridge[l] * x[l] * x[l]
        r[l] += 2.0 * ridge[l] * x[l]
    return F


@njit
def _products(rows, table, exchange, D, r):
    """Fill r (q K + q,) with what slopes D (q n,) in the predictors are in the coefficients, 0 for
    what is not in the support.
    """
    S, j, k, n, size = table.S, exchange.j, table.S.size, rows.y.size, table.x.size
    K = k + 1 if rows.intercept else k
    for s in range(r.size - size):
        slopes, total, own = part(D, s * n, s * n + n), 0.0, 0.0
        products(rows.Z, S, slopes, part(r, s * K, s * K + k))
        for m in range(n if rows.intercept else 0):
            total += slopes[m]
        for a in range(k):
            r[s * K + a] -= table.center[S[a]] * total
        if rows.intercept:
            r[s * K + k] = total
        if j >= 0:
            column = rows.Z[j]
            for m in range(n):
                own += slopes[m] * column[m]
            own -= table.center[j] * total
        r[size + s] = own
        if exchange.i >= 0:
            r[s * K + exchange.i] = 0.0


@njit
def _refuted(rows, table, exchange, trial, F, target):
    """Whether a bound shows that an exchange and any descent on its support stay above the target.

    The dual point slopes + V (ahead - eta), with `ahead` the predictors after the chord step, has
    X'dual = -2 lambda2 (x + z) on the support. Rows whose curvature was much larger than it is here
    leave the domain of the conjugate with it: they are drawn back towards their slopes, and a
    further chord step takes up what that leaves of the equation.
    """
    loss, y, weights, eta, slopes = rows.loss, rows.y, rows.weights, trial.eta, trial.slopes
    x, end, move, ahead, dual = trial.x, trial.end, trial.move, trial.ahead, trial.dual
    copy(x, end)
    copy(trial.z, move)
    copy(eta, ahead)
    copy(slopes, dual)
    for _round in range(DRAWN_BACK):
        _extrapolate(rows, table, exchange.j, trial)
        gain, moved = dual_gain_of_rows(loss, y, weights, eta, slopes, ahead, dual), 0
        if not abs(gain) < np.inf:  # mostly all rows are within
            gain = drawn_back_rows(loss, y, weights, eta, slopes, ahead, dual, trial.moved)
            for m in range(eta.size):
                moved += trial.moved[m] != 0.0
        for l in range(x.size):
            end[l] += move[l]
            gain += trial.ridge[l] * (end[l] * end[l] - x[l] * x[l])
        if moved == 0:
            bound = F + gain - BOUND_SLACK * abs(F)
            if bound > target:
                bound -= _off_by(rows, table, exchange, trial)
            return bound > target
        if moved > 0.1 * eta.size:
            break
        _products(rows, table, exchange, trial.moved, trial.left)
        chord_step(table.B, exchange, trial.left, move)
    return False


@njit
def _off_by(rows, table, exchange, trial):
    """How much lower than the value of a dual point F may be, which X'dual = -2 lambda2 (x + z)
    leaves through rounding: steps far out are lost in that of the predictors.
    """
    _products(rows, table, exchange, trial.dual, trial.left)
    off = 0.0
    for l in range(trial.x.size):
        left = abs(trial.left[l] + 2.0 * trial.ridge[l] * trial.end[l])
        off += REACH * left * (abs(trial.x[l]) + abs(trial.end[l]))
    return off


@njit
def _extrapolate(rows, table, j, trial):
    """Move the predictors trial.ahead by the step trial.move, and trial.dual by what the curvatures
    make of it.
    """
    ahead, moved, n, pair = trial.ahead, trial.moved, rows.y.size, 0
    _predictors(rows, table, j, trial.move, ahead, moved)
    for l in range(ahead.size):
        ahead[l] = moved[l] - ahead[l]  # the move
    for s in range(ahead.size // n):
        left, to_left = part(ahead, s * n, s * n + n), part(trial.dual, s * n, s * n + n)
        for t in range(s + 1):
            V, right = table.curvatures[pair], part(ahead, t * n, t * n + n)
            for m in range(n):
                to_left[m] += table.scale * V[m] * right[m]
            to_right = part(trial.dual, t * n, t * n + n)
            for m in range(n if t < s else 0):
                to_right[m] += table.scale * V[m] * left[m]
            pair += 1
    copy(moved, ahead)
