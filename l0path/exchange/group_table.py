"""Kernels on groups of columns: exact exchanges of blocks through Schur complements, and the scores
that screen groups.

Let B = (G_SS + 2 lambda2 I)^-1, b = B q_S, D = B G_Sg, s = G_gg + 2 lambda2 I - G_gS D, c = q_g -
G_gS b. For a quadratic with everything else re-optimized

    adding g       lowers F by   c' s^-1 c / 2
    dropping A     raises F by   b_A' B_AA^-1 b_A / 2
    A against g    changes F by  b_A' B_AA^-1 b_A / 2 - c*' s*^-1 c* / 2,
                   c* = c + D_A' B_AA^-1 b_A,   s* = s + D_A' B_AA^-1 D_A,

the block form of the exchange of single columns in `exchange` (Schur complements of the inverse).
With q responses each has its b and c, and changes are sums over them.
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from .table import COLLINEAR, NONE, ExchangeList, _keep


@njit
def _factor(A, d, scale, L):
    """Lower Cholesky factor of A[:d, :d]; rows whose pivot is below COLLINEAR times scale_i are
    inert (pivot 1e150).
    """
    for i in range(d):
        for j in range(i + 1):
            t = A[i, j]
            for l in range(j):
                t -= L[i, l] * L[j, l]
            if j < i:
                L[i, j] = t / L[j, j]
            else:
                L[i, i] = math.sqrt(t) if t > COLLINEAR * scale[i] and t > 0.0 else 1e150
    return d


@njit
def forward_solve(L, d, x):
    """x = L^-1 x in place; returns |x|^2."""
    total = 0.0
    for i in range(d):
        t = x[i]
        for l in range(i):
            t -= L[i, l] * x[l]
        x[i] = t / L[i, i]
        total += x[i] * x[i]
    return total


@njit
def _largest(L, M, d, x, T):
    """Bound on the largest eigenvalue of L^-1 M L^-T, M symmetric: m + sd sqrt(d - 1), m and sd
    mean and deviation of the eigenvalues (Wolkowicz & Styan, Linear Algebra Appl. 29, 1980).
    """
    for j in range(d):
        for i in range(d):
            x[i] = M[i, j]
        forward_solve(L, d, x)
        for i in range(d):
            T[j, i] = x[i]
    trace, square = 0.0, 0.0
    for j in range(d):
        for i in range(d):
            x[i] = T[i, j]
        forward_solve(L, d, x)
        trace += x[j]
        for i in range(d):
            square += x[i] * x[i]
    mean = trace / d
    return mean + math.sqrt(max(square / d - mean * mean, 0.0) * (d - 1.0))


class Removals(NamedTuple):
    """The removal of each member of a fit, member i with the columns members[i]..members[i + 1] of
    the support: Cholesky factors `roots` (K, widest member) of B_AA, row by row, beta (q, K) =
    root^-1 b_A, and the increase `loss` of F.
    """

    members: np.ndarray
    roots: np.ndarray
    beta: np.ndarray
    loss: np.ndarray


class BestOfGroups(NamedTuple):
    """Room for the best exchanges of groups, ascending."""

    gain: np.ndarray  # of additions
    added: np.ndarray  # the group that additions add
    change: np.ndarray  # by swaps
    group: np.ndarray  # that swaps add
    member: np.ndarray  # number of the member that goes
    tie: float  # by how much changes may differ that count as equal


class Work(NamedTuple):
    """Work space for a group at a time; d is the widest group."""

    A: np.ndarray  # (d, d), G_gg + 2 lambda2 I
    M: np.ndarray  # (d, d), G_gS B G_Sg
    s: np.ndarray  # (d, d), A - M
    L: np.ndarray  # (d, d), factor of s
    LA: np.ndarray  # (d, d), factor of A
    T: np.ndarray  # (d, d), a copy
    E: np.ndarray  # (d, widest of all)
    x: np.ndarray  # (d,)
    scale: np.ndarray  # (d,), diagonal of A


@njit
def drops(B, b, removals):
    """Fill the roots, beta and loss of the Removals of a fit with inverse B and coefficients b
    (q, K).
    """
    members, roots, beta, loss = removals
    for i in range(members.size - 1):
        left, d = members[i], members[i + 1] - members[i]
        for r in range(d):
            for l in range(r + 1):
                t = B[left + r, left + l]
                for m in range(l):
                    t -= roots[left + r, m] * roots[left + l, m]
                if l < r:
                    roots[left + r, l] = t / roots[left + l, l]
                else:
                    roots[left + r, r] = (
                        math.sqrt(t) if t > 1e-14 * B[left + r, left + r] and t > 0.0 else 1e150
                    )
        total = 0.0
        for s in range(b.shape[0]):
            for r in range(d):
                t = b[s, left + r]
                for l in range(r):
                    t -= roots[left + r, l] * beta[s, left + l]
                beta[s, left + r] = t / roots[left + r, r]
                total += beta[s, left + r] * beta[s, left + r]
        loss[i] = 0.5 * total


@njit
def _work(size, widest):
    return Work(
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, widest)),
        np.empty(size),
        np.empty(size),
    )


@njit
def _diagonal_block(part, D, g, ridge_diag, work):
    """Fill A, M, s and scale for group g of a Crossing; D = B rows."""
    starts, at, values = part.blocks
    A, M, s, scale = work.A, work.M, work.s, work.scale
    begin, d = starts[g], starts[g + 1] - starts[g]
    for i in range(d):
        for j in range(d):
            A[i, j] = values[at[g] + i * d + j] + (ridge_diag if i == j else 0.0)
        scale[i] = A[i, i]
        for j in range(i + 1):
            M[i, j] = 0.0
    for l in range(part.rows.shape[0]):
        for i in range(d):
            u = part.rows[l, begin + i]
            for j in range(i + 1):
                M[i, j] += u * D[l, begin + j]
    for i in range(d):
        for j in range(i + 1):
            s[i, j] = A[i, j] - M[i, j]
            s[j, i], M[j, i] = s[i, j], M[i, j]


@njit
def _swap(removals, i, c, D, first, d, work):
    """Gain c*' s*^-1 c* / 2 of a group, the columns first..first + d, against member i."""
    roots, beta, E, x, t = removals.roots, removals.beta, work.E, work.x, work.T
    left, e, total = removals.members[i], removals.members[i + 1] - removals.members[i], 0.0
    for j in range(d):  # E[j] = L_A^-1 D_A for column j of the group
        for r in range(e):
            u = D[left + r, first + j]
            for l in range(r):
                u -= roots[left + r, l] * E[j, l]
            E[j, r] = u / roots[left + r, r]
    for k in range(d):
        for j in range(k + 1):
            u = work.s[k, j]
            for r in range(e):
                u += E[k, r] * E[j, r]
            t[k, j] = u
    _factor(t, d, work.scale, work.L)
    for s in range(c.shape[0]):
        for k in range(d):
            u = c[s, first + k]
            for r in range(e):
                u += E[k, r] * beta[s, left + r]
            x[k] = u
        total += forward_solve(work.L, d, x)
    return 0.5 * total


@njit
def _size(L, c, first, d, x):
    """c' (L L')^-1 c of the columns first..first + d, c (q, m): a sum over the responses."""
    total = 0.0
    for s in range(c.shape[0]):
        for i in range(d):
            x[i] = c[s, first + i]
        total += forward_solve(L, d, x)
    return total


@njit
def exchanges(removals, part, D, skip, ridge_diag, widest, ceiling, best):
    """The best exchanges of a fit with the groups of a Crossing `part` (D = B part.rows); skip (m,
    1 + members): the groups that do not enter, and the members that do not leave for each of those
    that do; ridge_diag = 2 lambda2.

    Fills the BestOfGroups with additions, and with swaps below `ceiling`; returns how many of
    both. A swap is refuted without its block where t s - 2 |c| sqrt(h t) - |c|^2 >= twice the worst
    kept, t = b_A' B_AA^-1 b_A, h >= largest eigenvalue of A^-1 G_gS D, s = 1 - h, A = G_gg + 2
    lambda2 I, norms in the metric of A (the block form of the bound in `screening`).
    """
    additions = ExchangeList(best.gain, best.added, np.empty(best.gain.size, np.int64))
    exchanged = ExchangeList(best.change, best.group, best.member)
    change, tie = best.change, best.tie
    work = _work(max(widest, 1), max(widest, 1, removals.roots.shape[1]))
    x, plus, swaps, capacity = work.x, 0, 0, change.size
    for g in range(skip.shape[0]):
        if skip[g, 0]:
            continue
        begin, d = part.blocks.starts[g], part.blocks.starts[g + 1] - part.blocks.starts[g]
        _diagonal_block(part, D, g, ridge_diag, work)
        _factor(work.A, d, work.scale, work.LA)
        size2 = _size(work.LA, part.c, begin, d, x)  # |c|^2 in the metric of A
        h = max(_largest(work.LA, work.M, d, x, work.T), 0.0)
        _factor(work.s, d, work.scale, work.L)
        plus = _keep(-0.5 * _size(work.L, part.c, begin, d, x), g, NONE, additions, plus, tie)
        norm, rest = math.sqrt(size2), 1.0 - h
        for i in range(removals.loss.size):
            if skip[g, 1 + i]:
                continue
            worst = change[capacity - 1] if swaps == capacity else ceiling
            tau = math.sqrt(2.0 * removals.loss[i])
            if (
                rest > 0.0
                and tau * rest >= norm * math.sqrt(h)
                and tau * tau * rest - 2.0 * norm * math.sqrt(h) * tau - size2 >= 2.0 * worst
            ):
                continue
            d_f = removals.loss[i] - _swap(removals, i, part.c, D, begin, d, work)
            if d_f < worst:
                swaps = _keep(d_f, g, i, exchanged, swaps, tie)
    return plus, swaps


@njit
def scores(C, columns, blocks, ridge, widest, first, last, out):
    """out[r, g] = C_rg' (G_gg + ridge I)^-1 C_rg for the groups first..last: twice what a group
    gains where the support is orthogonal to it. C (m, p), out (m, G); blocks: GroupBlocks.
    """
    starts, at, values = blocks
    size = max(widest, 1)
    A, L, x, scale = np.empty((size, size)), np.empty((size, size)), np.empty(size), np.empty(size)
    for g in range(first, last):
        left, d = starts[g], starts[g + 1] - starts[g]
        for i in range(d):
            for j in range(i + 1):
                A[i, j] = values[at[g] + i * d + j] + (ridge if i == j else 0.0)
            scale[i] = A[i, i]
        _factor(A, d, scale, L)
        for r in range(C.shape[0]):
            for i in range(d):
                x[i] = C[r, columns[left + i]]
            out[r, g] = forward_solve(L, d, x)
