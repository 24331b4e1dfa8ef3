"""Exchanges on the quadratic at a fit, and chord steps after them: Newton steps with the inverse
Hessian that is at hand there, so that a step costs a gradient, O(n k), and no Hessian, O(n k^2).

A row may have q predictors. The coefficients of a support are q parts of K numbers, those of its k
columns and the intercept (`working_set.newton`); the q numbers of a column that is added follow. A
member leaves with its q numbers one after another, a column enters so, each by a change of rank
one. With B the inverse Hessian before, B_l its column l, C the second derivatives of number a with
those that are there and A its own,

    l leaves:   B - B_l B_l' / B_ll
    a enters:   u = B C,  s = A - C'u;  B + u u' / s,  -u / s beside it and 1 / s below
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from ..working_set.linear_algebra import COLLINEAR

SECANTS = 4  # steps from which the next one learns
WEAK = 1e-13  # share of its diagonal entry at which a pivot counts as none


class ExchangeWork(NamedTuple):
    """What is known of the column added and of the member dropped."""

    K: int  # coefficients of the support in one predictor
    C: np.ndarray  # (q, q K + q), second derivatives of the column added with the support, then own
    U: np.ndarray  # (q, q K + q), u of each of its numbers
    left: np.ndarray  # (q,), 1 / s of each
    W: np.ndarray  # (q, q K + q), B_l of each number of the member dropped
    gone: np.ndarray  # (q,), 1 / B_ll of each


class Exchange(NamedTuple):
    """One exchange."""

    i: int  # position in the support that is dropped, -1 for none
    j: int  # working column that is added, -1 for none
    work: ExchangeWork  # as `exchanged` leaves it


@njit
def exchange_work(q, size):
    """An `ExchangeWork` to be filled, of a support with `size` coefficients."""
    U, inverse = np.empty((3, q, size + q)), np.empty((2, q))
    return ExchangeWork(size // q, U[0], U[1], inverse[0], U[2], inverse[1])


@njit
def exchanged(B, start, exchange, x):
    """Fill x (q K + q,) with the optimum of the quadratic after an exchange. Returns by how much
    it lies above that of the support, inf where the column added is a combination of the others, or
    the one dropped has no clear curvature.

    start (q K,): the optimum on the support. On entry the work has the second derivatives C of the
    column added, and the last q numbers of x are its downhill slopes at `start`.
    """
    K, C, U, left, W, gone = exchange.work
    q, size, change = gone.size, start.size, 0.0
    for l in range(size):
        x[l] = start[l]
    for s in range(q if exchange.i >= 0 else 0):
        at = s * K + exchange.i
        for l in range(size):
            W[s, l] = B[at, l]
        _leave(exchange, W[s], s)
        if not W[s, at] > WEAK * B[at, at]:
            return np.inf
        gone[s] = 1.0 / W[s, at]
        t = x[at] * gone[s]
        change += 0.5 * x[at] * t
        for l in range(size):
            x[l] -= t * W[s, l]
        x[at] = 0.0
    for s in range(q):
        if exchange.j < 0:
            x[size + s] = 0.0
            continue
        _multiply(B, exchange, C[s], U[s], s)
        t, pivot = x[size + s], C[s, size + s]
        for l in range(size):
            t -= C[s, l] * (x[l] - start[l])
        for l in range(size, size + s):
            t -= C[s, l] * x[l]
        for l in range(size + s):
            pivot -= C[s, l] * U[s, l]
        if not pivot > COLLINEAR * C[s, size + s]:
            return np.inf
        left[s] = 1.0 / pivot
        change -= 0.5 * t * t * left[s]
        t *= left[s]
        x[size + s] = t
        for l in range(size + s):
            x[l] -= t * U[s, l]
    return change


@njit
def _leave(exchange, z, count):
    """Turn z = B r into that of the inverse Hessian without the first `count` numbers of the member
    dropped.
    """
    K, W, gone = exchange.work.K, exchange.work.W, exchange.work.gone
    for s in range(count):
        at = s * K + exchange.i
        t = z[at] * gone[s]
        for l in range(K * gone.size):
            z[l] -= t * W[s, l]
        z[at] = 0.0


@njit
def _multiply(B, exchange, r, z, count):
    """Fill z with B' r, B' the inverse Hessian without the member dropped and with the first
    `count` numbers of the column added.
    """
    U, left, size = exchange.work.U, exchange.work.left, B.shape[0]
    for l in range(size):
        t = 0.0
        for m in range(size):
            t += B[l, m] * r[m]
        z[l] = t
    _leave(exchange, z, left.size if exchange.i >= 0 else 0)
    for s in range(count):
        t = r[size + s]
        for l in range(size + s):
            t -= U[s, l] * r[l]
        t *= left[s]
        z[size + s] = t
        for l in range(size + s):
            z[l] -= U[s, l] * t


@njit
def chord_step(B, exchange, r, z):
    """Fill z (q K + q,) with the chord step for the gradient r (q K + q,), which is 0 at what is
    not in the support; returns the decrease that it promises.
    """
    promised, added = 0.0, exchange.work.left.size if exchange.j >= 0 else 0
    _multiply(B, exchange, r, z, added)
    for l in range(B.shape[0] + added):
        promised += 0.5 * r[l] * z[l]
        z[l] = -z[l]
    for l in range(B.shape[0] + added, z.size):
        z[l] = 0.0
    return promised


@njit
def take_step(B, exchange, secants, step, x, r, z):
    """Move x by the chord step z for the gradient r, or rather, from the second step on, by that of
    limited-memory BFGS, whose first inverse Hessian is that of the chord step (Nocedal, Math. Comp.
    35, 1980): chord steps converge linearly, these faster. z becomes the step taken.

    secants (2 SECANTS + 2, q K + q + 2) is kept from step to step: the last steps but one, what
    they changed of the gradient, and then the last step and the gradient before it; the last two
    columns are work space.
    """
    size, newest, oldest = x.size, (step - 1) % SECANTS, max(step - SECANTS, 0)
    last, before, share, curved = 2 * SECANTS, 2 * SECANTS + 1, size, size + 1
    for l in range(size):
        if step > 0:
            secants[newest, l] = secants[last, l]
            secants[SECANTS + newest, l] = r[l] - secants[before, l]
        secants[before, l] = r[l]
    for back in range(step - oldest):
        at = (step - 1 - back) % SECANTS
        t = u = 0.0
        for l in range(size):
            t += secants[at, l] * secants[SECANTS + at, l]
            u += secants[at, l] * r[l]
        u = u / t if t > 0.0 else 0.0
        secants[at, curved], secants[at, share] = t, u
        for l in range(size):
            r[l] -= u * secants[SECANTS + at, l]
    if step > 0:
        chord_step(B, exchange, r, z)
    for number in range(oldest, step):
        at, t = number % SECANTS, 0.0
        if secants[at, curved] > 0.0:
            for l in range(size):
                t += secants[SECANTS + at, l] * z[l]
            t = secants[at, share] + t / secants[at, curved]
            for l in range(size):
                z[l] -= t * secants[at, l]
    for l in range(size):
        secants[last, l] = z[l]
        x[l] += z[l]
