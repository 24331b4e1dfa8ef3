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

from ..compiled import part
from ..core.dispatch import njit
from ..working_set.linear_algebra import COLLINEAR, copy

SECANTS = 4  # steps from which the next one learns
WEAK = 1e-13  # share of a diagonal entry at which a pivot counts as none


class Exchange(NamedTuple):
    """One exchange, and what `exchanged` finds of it."""

    i: int  # position in the support that is dropped, -1 for none
    j: int  # working column that is added, -1 for none
    K: int  # coefficients of the support in one predictor
    C: np.ndarray  # (q, q K), second derivatives of the column added with the support
    U: np.ndarray  # (q, q K), C B_T
    left: np.ndarray  # (q, q), its own; then the inverse of what T leaves of them
    block: np.ndarray  # (q, q), B_ii^-1
    taken: np.ndarray  # (q,), work space


@njit
def exchange_room(q, size):
    """An `Exchange` to be filled, of a support with `size` coefficients."""
    U, left = np.empty((2, q, size)), np.empty((2, q, q))
    return Exchange(-1, -1, size // q, U[0], U[1], left[0], left[1], np.empty(q))


@njit
def of_pair(room, i, j):
    """The exchange "drop i, add j" in the room of another one."""
    return Exchange(i, j, room.K, room.C, room.U, room.left, room.block, room.taken)


@njit
def exchanged(B, start, exchange, x):
    """Fill x (q K + q,) with the optimum of the quadratic after an exchange. Returns by how much
    it lies above that of the support, inf where the column added is a combination of the others, or
    the one dropped has no clear curvature.

    start (q K,): the optimum on the support. On entry exchange.C and exchange.left are the second
    derivatives of the column added, and the last q numbers of x its downhill slopes at `start`.
    """
    C, U, left, q, size = exchange.C, exchange.U, exchange.left, exchange.left.shape[0], start.size
    own, change, K = part(x, size, size + q), 0.0, exchange.K
    copy(start, part(x, 0, size))
    if exchange.i >= 0:
        for s in range(q):
            for t in range(q):
                exchange.block[s, t] = B[s * K + exchange.i, t * K + exchange.i]
        if not _invert(exchange.block, exchange.taken):
            return np.inf
        _leave(B, exchange, x)
        for s in range(q):
            change += 0.5 * exchange.taken[s] * start[s * K + exchange.i]
    if exchange.j < 0:
        for s in range(q):
            own[s] = 0.0
        return change
    for s in range(q):
        for l in range(size):
            t = 0.0
            for m in range(size):
                t += B[l, m] * C[s, m]
            U[s, l] = t
        _leave(B, exchange, U[s])
        floor = COLLINEAR * left[s, s]
        for t in range(s + 1):
            taken = 0.0
            for l in range(size):
                taken += U[t, l] * C[s, l]
            left[s, t] -= taken
            left[t, s] = left[s, t]
        if not left[s, s] > floor:
            return np.inf
        for l in range(size):
            own[s] -= C[s, l] * (x[l] - start[l])
    if not _invert(left, exchange.taken):
        return np.inf
    copy(own, exchange.taken)
    _multiply(left, exchange.taken, own)
    for s in range(q):
        change -= 0.5 * exchange.taken[s] * own[s]
    _give_way(exchange, x)
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
def _multiply(A, x, out):
    """out = A x for a small A (q, q)."""
    for s in range(x.size):
        t = 0.0
        for u in range(x.size):
            t += A[s, u] * x[u]
        out[s] = t


@njit
def _leave(B, exchange, z):
    """Turn z = B r, with r = 0 at the member that leaves, into B_T r, in place. Leaves B_ii^-1 z_i
    in exchange.taken.
    """
    i, K, taken, block, size = exchange.i, exchange.K, exchange.taken, exchange.block, B.shape[0]
    if i < 0:
        return
    for s in range(taken.size):
        t = 0.0
        for u in range(taken.size):
            t += block[s, u] * z[u * K + i]
        taken[s] = t
    for s in range(taken.size):
        t = taken[s]
        for l in range(size):
            z[l] -= t * B[s * K + i, l]
    for s in range(taken.size):
        z[s * K + i] = 0.0


@njit
def _give_way(exchange, z):
    """Take off z (q K + q,) what its last q numbers, the step of the column added, move the others
    by.
    """
    U, size = exchange.U, exchange.U.shape[1]
    for s in range(U.shape[0]):
        t = z[size + s]
        for l in range(size):
            z[l] -= U[s, l] * t


@njit
def chord_step(B, exchange, r, z):
    """Fill z (q K + q,) with the chord step for the gradient r (q K + q,), which is 0 at what is
    not in the support; returns the decrease that it promises.
    """
    U, size = exchange.U, B.shape[0]
    for l in range(size):
        t = 0.0
        for m in range(size):
            t -= B[l, m] * r[m]
        z[l] = t
    _leave(B, exchange, z)
    for s in range(U.shape[0]):
        z[size + s] = t = 0.0
        if exchange.j >= 0:
            for l in range(size):
                t += U[s, l] * r[l]
            exchange.taken[s] = t - r[size + s]
    if exchange.j >= 0:
        _multiply(exchange.left, exchange.taken, part(z, size, z.size))
        _give_way(exchange, z)
    promised = 0.0
    for l in range(z.size):
        promised -= 0.5 * r[l] * z[l]
    return promised


@njit
def secants_room(size):
    """Room for what `learn` keeps of steps of `size` numbers, one row each: SECANTS steps, what
    they changed of the gradient, then the last step, the gradient before it, and work space.
    """
    return np.empty((2 * SECANTS + 3, size))


@njit
def learn(secants, r, step):
    """Keep how the gradient changed to r since the step before."""
    last, before, at = secants[2 * SECANTS], secants[2 * SECANTS + 1], (step - 1) % SECANTS
    for l in range(r.size):
        if step > 0:
            secants[at, l] = last[l]
            secants[SECANTS + at, l] = r[l] - before[l]
        before[l] = r[l]


@njit
def accelerate(B, exchange, secants, step, z):
    """Turn the chord step z, for the gradient that was learned last, into that of limited-memory
    BFGS, whose first inverse Hessian is that of the chord step (Nocedal, Math. Comp. 35, 1980):
    chord steps converge linearly, these faster.
    """
    oldest, r = max(step - SECANTS, 0), secants[2 * SECANTS + 2]
    copy(secants[2 * SECANTS + 1], r)
    share, curved = np.empty(SECANTS), np.empty(SECANTS)
    for back in range(step - oldest):
        at = (step - 1 - back) % SECANTS
        curved[at], share[at] = 0.0, 0.0
        for l in range(r.size):
            curved[at] += secants[at, l] * secants[SECANTS + at, l]
            share[at] += secants[at, l] * r[l]
        share[at] = share[at] / curved[at] if curved[at] > 0.0 else 0.0
        for l in range(r.size):
            r[l] -= share[at] * secants[SECANTS + at, l]
    if step > 0:
        chord_step(B, exchange, r, z)
    for number in range(oldest, step):
        at = number % SECANTS
        if curved[at] > 0.0:
            along = 0.0
            for l in range(r.size):
                along += secants[SECANTS + at, l] * z[l]
            change = share[at] + along / curved[at]
            for l in range(r.size):
                z[l] -= secants[at, l] * change
    copy(z, secants[2 * SECANTS])
