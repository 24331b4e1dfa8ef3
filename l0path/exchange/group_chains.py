"""Moves of several groups at once, foretold by the quadratic at a fit: a chain of groups comes, and
as many others leave one at a time, the one that costs least first.

Let B, b be those of `group_table`, and J the columns of a chain. With M = H_JJ - G_JS B G_SJ, the
step x = M^-1 c_J lowers F by c_J' x / 2, b becomes b - B G_SJ x, and B on S gains L L', L = B G_SJ
root^-T with M = root root'. The removal of a group A that follows costs b_A' B_AA^-1 b_A / 2 and
takes W W' off B, W = B_SA root^-T with B_AA = root root'. Of B itself only the blocks of the groups
follow these changes, and the columns that a removal asks for. With q responses each has its b and
c, and changes are sums over them.
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from .group_table import forward_solve
from .table import COLLINEAR

NEAR = 1000 * COLLINEAR  # share of its square that a column of a chain must keep


class Growth(NamedTuple):
    """The quadratic at a fit with m columns beside its own K: rows (m, K) their second derivatives
    with these, U (m, K) = rows B, gradients c (q, m) and second derivatives H (m, m).
    """

    rows: np.ndarray
    U: np.ndarray
    c: np.ndarray
    H: np.ndarray


class Chains(NamedTuple):
    """Sets of groups that may come: chain i has the groups ids[at[i]]..ids[at[i + 1]], and the
    columns places[starts[i]]..places[starts[i + 1]] of a `Growth`.
    """

    ids: np.ndarray
    at: np.ndarray
    places: np.ndarray
    starts: np.ndarray


class Present(NamedTuple):
    """The groups `inside` (G,) of a fit, those that each needs (G, G), and whether all are needed
    or one of them.
    """

    inside: np.ndarray
    needs: np.ndarray
    strong: bool


class Work(NamedTuple):
    """For one chain: root (d, d) of a matrix, x (q, d), b (q, K), blocks (K, widest) of the members
    row by row; shifts (r, K) and their signs, whose squares are added to B; who is inside (G,).
    """

    root: np.ndarray
    x: np.ndarray
    b: np.ndarray
    blocks: np.ndarray
    shifts: np.ndarray
    sign: np.ndarray
    inside: np.ndarray


@njit
def _root(A, d, floor):
    """Replace the lower triangle of A[:d, :d] by its Cholesky factor; whether every column keeps
    more than the share `floor` of its square.
    """
    for i in range(d):
        square = A[i, i]
        for j in range(i + 1):
            t = A[i, j]
            for l in range(j):
                t -= A[i, l] * A[j, l]
            if j < i:
                A[i, j] = t / A[j, j]
            elif t > floor * square:
                A[i, i] = math.sqrt(t)
            else:
                return False
    return True


@njit
def _shift(work, count, members, at):
    """Add the shift of that number to the blocks, and take x[:, at] times it off b."""
    b, blocks, shifts, sign = work.b, work.blocks, work.shifts, work.sign[count]
    for s in range(b.shape[0]):
        for a in range(b.shape[1]):
            b[s, a] -= work.x[s, at] * shifts[count, a]
    for i in range(members.size - 1):
        left, right = members[i], members[i + 1]
        for a in range(left, right):
            t = sign * shifts[count, a]
            for l in range(left, a + 1):
                blocks[a, l - left] += t * shifts[count, l]


@njit
def _grow(quadratic, growth, columns, work):
    """Let columns of a growth come: the decrease of F, -1 where they are nearly combinations."""
    d, root, x, K = columns.size, work.root, work.x, work.b.shape[1]
    for i in range(d):
        for j in range(i + 1):
            t = growth.H[columns[i], columns[j]]
            for a in range(K):
                t -= growth.rows[columns[i], a] * growth.U[columns[j], a]
            root[i, j] = t
    for i in range(d):  # against what the column has beside nothing, not beside the fit
        if not root[i, i] > NEAR * growth.H[columns[i], columns[i]]:
            return -1.0
    if not _root(root, d, NEAR):
        return -1.0
    total = 0.0
    for s in range(x.shape[0]):
        for i in range(d):
            x[s, i] = growth.c[s, columns[i]]
        total += forward_solve(root, d, x[s])
    for i in range(d):
        for a in range(K):
            work.shifts[i, a] = growth.U[columns[i], a]
        for l in range(i):
            for a in range(K):
                work.shifts[i, a] -= root[i, l] * work.shifts[l, a]
        for a in range(K):
            work.shifts[i, a] /= root[i, i]
        work.sign[i] = 1.0
        _shift(work, i, quadratic.members, i)
    return 0.5 * total


@njit
def _may_leave(g, present, inside):
    """Whether nothing that is inside needs group g."""
    needs = present.needs
    for h in range(inside.size):
        if inside[h] and needs[h, g]:
            if present.strong:
                return False
            others = 0
            for f in range(inside.size):
                others += inside[f] and needs[h, f] and f != g
            if others == 0:
                return False
    return True


@njit
def _cost(members, i, work):
    """What the removal of member i costs; leaves the root of its block, and root^-1 b. NaN where
    rounding hides what a column keeps.
    """
    left, d, root, x, total = members[i], members[i + 1] - members[i], work.root, work.x, 0.0
    for r in range(d):
        for l in range(r + 1):
            root[r, l] = work.blocks[left + r, l]
    if not _root(root, d, 1e-14):
        return np.nan
    for s in range(x.shape[0]):
        for r in range(d):
            x[s, r] = work.b[s, left + r]
        total += forward_solve(root, d, x[s])
    return 0.5 * total


@njit
def _remove(quadratic, i, count, work):
    """Let member i leave, whose cost was asked for last; returns the number of shifts."""
    B, members, shifts, sign = quadratic.B, quadratic.members, work.shifts, work.sign
    left, d, root, K = members[i], members[i + 1] - members[i], work.root, work.b.shape[1]
    for r in range(d):
        for a in range(K):
            shifts[count + r, a] = B[left + r, a]
        for m in range(count):
            t = sign[m] * shifts[m, left + r]
            for a in range(K):
                shifts[count + r, a] += t * shifts[m, a]
    for r in range(d):
        for l in range(r):
            for a in range(K):
                shifts[count + r, a] -= root[r, l] * shifts[count + l, a]
        for a in range(K):
            shifts[count + r, a] /= root[r, r]
    for r in range(d):
        sign[count + r] = -1.0
        _shift(work, count + r, members, r)
    return count + d


@njit
def foretell(quadratic, growth, chains, present, widest, values):
    """Fill values (C, most + 1) with the changes of F on the quadratic at a fit after each of some
    chains has come, and after each of the removals that follow, as many as groups came: of members
    that nothing else needs. inf where there is none, -inf where columns are too nearly dependent to
    say.

    quadratic : a `GroupQuadratic`, of its fields members, ids, B and b; widest: the most columns of
        a member.
    """
    members, ids, B, (q, K) = quadratic.members, quadratic.ids, quadratic.B, quadratic.b.shape
    most, longest = 0, 0
    for i in range(chains.at.size - 1):
        most = max(most, chains.starts[i + 1] - chains.starts[i])
        longest = max(longest, chains.at[i + 1] - chains.at[i])
    size = max(most, widest)
    work = Work(
        np.empty((size, size)),
        np.empty((q, size)),
        np.empty((q, K)),
        np.empty((K, widest)),
        np.empty((most + longest * widest, K)),
        np.empty(most + longest * widest),
        np.empty(present.inside.size, np.bool_),
    )
    for e in range(chains.at.size - 1):
        for i in range(values.shape[1]):
            values[e, i] = np.inf
        for s in range(q):
            for a in range(K):
                work.b[s, a] = quadratic.b[s, a]
        for i in range(members.size - 1):
            for a in range(members[i], members[i + 1]):
                for l in range(members[i], a + 1):
                    work.blocks[a, l - members[i]] = B[a, l]
        for g in range(work.inside.size):
            work.inside[g] = present.inside[g]
        for l in range(chains.at[e], chains.at[e + 1]):
            work.inside[chains.ids[l]] = True
        columns = chains.places[chains.starts[e] : chains.starts[e + 1]]
        gain = _grow(quadratic, growth, columns, work)
        number, count = chains.at[e + 1] - chains.at[e], columns.size
        if gain < 0.0:
            for i in range(values.shape[1]):
                values[e, i] = -np.inf
            continue
        values[e, 0] = -gain
        for step in range(1, number + 1):
            best, least = -1, np.inf
            for i in range(ids.size):
                if work.inside[ids[i]] and _may_leave(ids[i], present, work.inside):
                    cost = _cost(members, i, work)
                    if not cost < np.inf:
                        best, least = -1, -np.inf
                        break
                    if cost < least:
                        best, least = i, cost
            values[e, step] = values[e, step - 1] + least
            if best < 0:
                break
            if step < number:
                _cost(members, best, work)
                count = _remove(quadratic, best, count, work)
                work.inside[ids[best]] = False
