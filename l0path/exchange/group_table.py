"""Kernels on groups of columns: exact exchanges of blocks through Schur complements, and the scores
that screen groups.

Let B = (G_SS + 2 lambda2 I)^-1, b = B q_S, D = B G_Sg, s = G_gg + 2 lambda2 I - G_gS D, c = q_g -
G_gS b. For a quadratic with everything else re-optimised

    adding g       lowers F by   c' s^-1 c / 2
    dropping A     raises F by   b_A' B_AA^-1 b_A / 2
    A against g    changes F by  b_A' B_AA^-1 b_A / 2 - c*' s*^-1 c* / 2,
                   c* = c + D_A' B_AA^-1 b_A,   s* = s + D_A' B_AA^-1 D_A,

the block form of the exchange of single columns in `exchange` (Schur complements of the inverse).
"""

import math

import numpy as np

from ..core.dispatch import njit
from .table import COLLINEAR


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
def _forward(L, d, x):
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
        _forward(L, d, x)
        for i in range(d):
            T[j, i] = x[i]
    trace, square = 0.0, 0.0
    for j in range(d):
        for i in range(d):
            x[i] = T[i, j]
        _forward(L, d, x)
        trace += x[j]
        for i in range(d):
            square += x[i] * x[i]
    mean = trace / d
    return mean + math.sqrt(max(square / d - mean * mean, 0.0) * (d - 1.0))


@njit
def drops(B, b, members, roots, beta, loss):
    """For members i, columns members[i]..members[i + 1] of the support: L with L L' = B_AA in roots
    (K, largest member), row by row, beta = L^-1 b_A, loss_i = |beta|^2 / 2.
    """
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
        for r in range(d):
            t = b[left + r]
            for l in range(r):
                t -= roots[left + r, l] * beta[left + l]
            beta[left + r] = t / roots[left + r, r]
            total += beta[left + r] * beta[left + r]
        loss[i] = 0.5 * total


@njit
def _swap(roots, beta, left, e, D, first, d, c, s, scale, E, t, L, x):
    """Gain c*' s*^-1 c* / 2 of a group against the member at left..left + e."""
    for j in range(d):  # E[j] = L_A^-1 D_A for column j of the group
        for r in range(e):
            u = D[left + r, first + j]
            for l in range(r):
                u -= roots[left + r, l] * E[j, l]
            E[j, r] = u / roots[left + r, r]
    for i in range(d):
        u = c[first + i]
        for r in range(e):
            u += E[i, r] * beta[left + r]
        x[i] = u
        for j in range(i + 1):
            u = s[i, j]
            for r in range(e):
                u += E[i, r] * E[j, r]
            t[i, j] = u
    _factor(t, d, scale, L)
    return 0.5 * _forward(L, d, x)


@njit
def exchanges(
    rows,
    D,
    members,
    roots,
    beta,
    loss,
    c,
    blocks,
    at,
    starts,
    skip,
    twice,
    first,
    last,
    widest,
    ceiling,
    added,
    gain,
    change,
    group,
    member,
):
    """The best exchanges with the groups first..last. rows, D (K, w) = G_S,W and B G_S,W;
    blocks[at[g]:] row by row G_gg; starts (m + 1,) columns of the groups; twice = 2 lambda2.

    gain, added (r,): changes and groups of the best additions, ascending; change, group, member
    (r,): those of the swaps below `ceiling`. Returns how many of both. A swap is refuted without
    its block where t s - 2 |c| sqrt(h t) - |c|^2 >= twice the worst kept, t = b_A' B_AA^-1 b_A, h
    >= largest eigenvalue of A^-1 G_gS D, s = 1 - h, A = G_gg + 2 lambda2 I, norms in the metric of
    A (the block form of the bound in `outside`).
    """
    size = max(widest, 1)
    A, M, s, L = (
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size)),
    )
    LA, T, E, t = (
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, max(size, roots.shape[1]))),
        np.empty((size, size)),
    )
    x, scale, plus, swaps, room = np.empty(size), np.empty(size), 0, 0, change.size
    for g in range(first, last):
        if skip[g]:
            continue
        begin, d = starts[g], starts[g + 1] - starts[g]
        for i in range(d):
            for j in range(d):
                A[i, j] = blocks[at[g] + i * d + j] + (twice if i == j else 0.0)
            scale[i] = A[i, i]
            for j in range(i + 1):
                M[i, j] = 0.0
        for l in range(rows.shape[0]):
            for i in range(d):
                u = rows[l, begin + i]
                for j in range(i + 1):
                    M[i, j] += u * D[l, begin + j]
        for i in range(d):
            for j in range(i + 1):
                s[i, j] = A[i, j] - M[i, j]
                s[j, i], M[j, i] = s[i, j], M[i, j]
            x[i] = c[begin + i]
        _factor(A, d, scale, LA)
        size2 = _forward(LA, d, x)  # |c|^2 in the metric of A
        h = max(_largest(LA, M, d, x, T), 0.0)
        for i in range(d):
            x[i] = c[begin + i]
        _factor(s, d, scale, L)
        plus = _insert(-0.5 * _forward(L, d, x), g, -1, gain, added, member, plus, False)
        norm, rest = math.sqrt(size2), 1.0 - h
        for i in range(members.size - 1):
            worst = change[room - 1] if swaps == room else ceiling
            tau = math.sqrt(2.0 * loss[i])
            if (
                rest > 0.0
                and tau * rest >= norm * math.sqrt(h)
                and tau * tau * rest - 2.0 * norm * math.sqrt(h) * tau - size2 >= 2.0 * worst
            ):
                continue
            e = members[i + 1] - members[i]
            d_f = loss[i] - _swap(roots, beta, members[i], e, D, begin, d, c, s, scale, E, t, L, x)
            if d_f < worst:
                swaps = _insert(d_f, g, i, change, group, member, swaps, True)
    return plus, swaps


@njit
def _insert(value, g, i, values, groups, members, count, both):
    """Put (value, g, i) into the ascending lists, the highest falls out where they are full;
    returns how many there are.
    """
    room = values.size
    if count == room and not value < values[room - 1]:
        return count
    at = min(count, room - 1)
    while at > 0 and values[at - 1] > value:
        values[at], groups[at] = values[at - 1], groups[at - 1]
        if both:
            members[at] = members[at - 1]
        at -= 1
    values[at], groups[at] = value, g
    if both:
        members[at] = i
    return min(count + 1, room)


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
            out[r, g] = _forward(L, d, x)
