"""Exchanges on the quadratic at a fit, and chord steps after them: Newton steps with the inverse
Hessian that is at hand there, so that a step costs a gradient, O(n k), and no Hessian, O(n k^2).

A row may have q predictors. The coefficients of a support S are q parts of K numbers, those of its
k columns and the intercept (`working_set.newton`); the q numbers of a column that is added follow.
With B (q K, q K) the inverse Hessian on S, B_i its columns and B_ii its block of a member i, C
(q, q K) the second derivatives of the column added with S and A (q, q) its own,

    drop i:   B_T = B - B_i B_ii^-1 B_i',   T = S without i
    add j:    U = C B_T,   A - U C' of its curvature is left
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from ..working_set.linear_algebra import COLLINEAR

SECANTS = 4  # steps from which the next one learns
WEAK = 1e-13  # share of a diagonal entry at which a pivot counts as none


class ExchangeWork(NamedTuple):
    """What is known of the column added and of the member dropped."""

    K: int  # coefficients of the support in one predictor
    C: np.ndarray  # (q, q K), second derivatives of the column added with the support
    U: np.ndarray  # (q, q K), C B_T
    left: np.ndarray  # (q, q), its own; then the inverse of what T leaves of them
    block: np.ndarray  # (q, q), B_ii^-1
    taken: np.ndarray  # (q,), work space


class Exchange(NamedTuple):
    """One exchange."""

    i: int  # position in the support that is dropped, -1 for none
    j: int  # working column that is added, -1 for none
    work: ExchangeWork  # as `exchanged` leaves it


@njit
def exchange_work(q, size):
    """An `ExchangeWork` to be filled, of a support with `size` coefficients."""
    U, left = np.empty((2, q, size)), np.empty((3, q, q))
    return ExchangeWork(size // q, U[0], U[1], left[0], left[1], left[2, 0])


@njit
def exchanged(B, start, exchange, x):
    """Fill x (q K + q,) with the optimum of the quadratic after an exchange. Returns by how much
    it lies above that of the support, inf where the column added is a combination of the others, or
    the one dropped has no clear curvature.

    start (q K,): the optimum on the support. On entry the work has in C and in `left` the second
    derivatives of the column added, and the last q numbers of x are its downhill slopes at `start`.
    """
    K, C, U, left, block, taken = exchange.work
    q, size, change = taken.size, start.size, 0.0
    for l in range(size):
        x[l] = start[l]
    if exchange.i >= 0:
        for s in range(q):
            for t in range(q):
                block[s, t] = B[s * K + exchange.i, t * K + exchange.i]
        if not _invert(block, taken):
            return np.inf
        _leave(B, exchange, x)
        for s in range(q):
            change += 0.5 * taken[s] * start[s * K + exchange.i]
    for s in range(q if exchange.j >= 0 else 0):
        for l in range(size):
            t = 0.0
            for m in range(size):
                t += B[l, m] * C[s, m]
            U[s, l] = t
        _leave(B, exchange, U[s])
        floor = COLLINEAR * left[s, s]
        for u in range(s + 1):
            t = 0.0
            for l in range(size):
                t += U[u, l] * C[s, l]
            left[s, u] -= t
            left[u, s] = left[s, u]
        if not left[s, s] > floor:
            return np.inf
        for l in range(size):
            x[size + s] -= C[s, l] * (x[l] - start[l])
    if exchange.j >= 0 and not _invert(left, taken):
        return np.inf
    for s in range(q):
        taken[s] = x[size + s] if exchange.j >= 0 else 0.0
    _enter(exchange, x)
    for s in range(q):
        change -= 0.5 * taken[s] * x[size + s]
    return change


@njit
def _invert(A, diagonal):
    """Replace the symmetric A (q, q) by its inverse; False where a pivot is not clearly positive.
    diagonal (q,): work space. Of one number, which is the rule, it takes one division.
    """
    q = diagonal.size
    for s in range(q):
        diagonal[s] = A[s, s]
    for s in range(q):
        if not A[s, s] > WEAK * diagonal[s]:
            return False
        inverse = 1.0 / A[s, s]
        A[s, s] = 1.0
        for t in range(q):
            A[s, t] *= inverse
        for u in range(q):
            if u != s:
                share, A[u, s] = A[u, s], 0.0
                for t in range(q):
                    A[u, t] -= share * A[s, t]
    return True


@njit
def _leave(B, exchange, z):
    """Turn z = B r, with r = 0 at the member that leaves, into B_T r, in place. Leaves B_ii^-1 z_i
    in `taken`.
    """
    i, K, block, taken = exchange.i, exchange.work.K, exchange.work.block, exchange.work.taken
    if i < 0:
        return
    for s in range(taken.size):
        t = 0.0
        for u in range(taken.size):
            t += block[s, u] * z[u * K + i]
        taken[s] = t
    for s in range(taken.size):
        t = taken[s]
        for l in range(B.shape[0]):
            z[l] -= t * B[s * K + i, l]
    for s in range(taken.size):
        z[s * K + i] = 0.0


@njit
def _enter(exchange, z):
    """Fill the last q numbers of z (q K + q,) with the step of the column added whose downhill
    slopes are in `taken`, 0 for none, and let the others make room for it.
    """
    U, left, taken = exchange.work.U, exchange.work.left, exchange.work.taken
    size = U.shape[1]
    for s in range(taken.size):
        t = 0.0
        for u in range(taken.size if exchange.j >= 0 else 0):
            t += left[s, u] * taken[u]
        z[size + s] = t
        for l in range(size if exchange.j >= 0 else 0):
            z[l] -= U[s, l] * t


@njit
def chord_step(B, exchange, r, z):
    """Fill z (q K + q,) with the chord step for the gradient r (q K + q,), which is 0 at what is
    not in the support; returns the decrease that it promises.
    """
    U, taken, size, promised = exchange.work.U, exchange.work.taken, B.shape[0], 0.0
    for l in range(size):
        t = 0.0
        for m in range(size):
            t -= B[l, m] * r[m]
        z[l] = t
    _leave(B, exchange, z)
    for s in range(taken.size if exchange.j >= 0 else 0):
        t = -r[size + s]
        for l in range(size):
            t += U[s, l] * r[l]
        taken[s] = t
    _enter(exchange, z)
    for l in range(z.size):
        promised -= 0.5 * r[l] * z[l]
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
