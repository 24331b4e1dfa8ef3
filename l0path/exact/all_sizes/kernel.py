"""Depth-first search of the best subsets of all sizes at once: the kernels.

Verbs of the nodes are those of one response; `response_kernel` has those of several.

A node has f columns in and m candidates; its sets have f + t columns. As in `exact.nodes.leaps` it
keeps S, c (what the columns that are in leave) and B = inv(S), b = B c, and two values: R with no
candidate and F with all of them. The candidate that costs most to leave out joins, then leaves.

Sets with t <= 2 are read off S and c: those with one candidate at the root, those with two where a
column has joined (all others were met before). Sets with t >= m - 2 are read off B and b in the
same way, where a column has left. So a node is divided for 3 <= t <= m - 3 alone, and of these
sizes for those that it can still improve: a set of t of m candidates adds to F at least

    b_j^2 / B_jj of the (t + 1)th costliest candidate: of any t + 1 one has to leave;
    the least joint cost of two of the t + 2 costliest;
    the sum of the m - t smallest delta_j b_j^2, where S - diag(delta) is positive semidefinite at
        the root: leaving out O costs b_O' inv(B_OO) b_O, and inv(B_OO) - diag(delta_O) is a Schur
        complement of S - diag(delta), and thus positive semidefinite;
    the perspective relaxation with delta (`perspective`), of which that sum is the first step.
"""

from typing import NamedTuple

import numpy as np

from ...core.dispatch import generic, njit
from ..nodes.leaps import PAIRS, _joint, copy_without, pivot, row_of, strike
from .perspective import close_sizes, pays, sort, tighten

ROOT, JOINED = -2, -1  # `took` of a node that no search has looked at, and of one just opened
TIGHTENED = 2  # times the entries of a matrix, what its relaxation counts in the work of a node


class OpenNodes(NamedTuple):
    """Open nodes; those of level f have f columns in. L levels, p columns. Of q responses c, b and
    beta are (L, q, p).
    """

    S: np.ndarray  # (L, p, p), the matrix of the candidates
    B: np.ndarray  # (L, p, p), its inverse
    c: np.ndarray  # (L, p), products with the residuals
    b: np.ndarray  # (L, p), coefficients
    ident: np.ndarray  # (L, p), the candidates
    order: np.ndarray  # (L, p), their positions by descending cost of leaving
    low: np.ndarray  # (L, p), their positions by ascending delta_j b_j^2
    F: np.ndarray  # (L,), value with all candidates
    R: np.ndarray  # (L,), value with none
    m: np.ndarray  # (L,), number of candidates
    took: np.ndarray  # (L,), position of the candidate that joined last
    first: np.ndarray  # (L,), smallest open size
    last: np.ndarray  # (L,), largest open size
    least: np.ndarray  # (L, p + 1), by size, a lower bound on the sets of the node
    beta: np.ndarray  # (L, p), of the relaxation, where the next node of a level begins
    into: np.ndarray  # (p,), columns that are in


class Buffers(NamedTuple):
    """Work space of a search, and the sets that it found."""

    w: np.ndarray  # (p,), a pivot row
    d: np.ndarray  # (p,), diagonal after a pivot
    e: np.ndarray  # (p,), c after a pivot
    cost: np.ndarray  # (p,), what leaving adds to F
    gain: np.ndarray  # (p,)
    delta: np.ndarray  # (p,), by ident
    M: np.ndarray  # (p, p)
    top: np.ndarray  # (p,)
    found: np.ndarray  # (rows, p), sets of columns, -1 beyond their end
    value: np.ndarray  # (rows,), their values


class Thresholds(NamedTuple):
    """Sets of s columns of values below threshold[s] are noted. Once one of value v is known it is
    shrink * v + slack at most; an infinite shrink keeps it.
    """

    threshold: np.ndarray
    shrink: float
    slack: float


@njit
def note(space, cut, size, value, number):
    """Note the value of a set, and lower the threshold of its size. Returns the number of notes."""
    space.value[number] = value
    if cut.shrink != np.inf:
        cut.threshold[size] = min(cut.threshold[size], cut.shrink * value + cut.slack)
    return number + 1


@njit
def note_more(stack, space, f, more, cut, value, number):
    """Note the set of the columns that are in at level f and of the candidates `more`, three
    positions, of which the last may be -1. Returns the number of notes.
    """
    row, ident, size = space.found[number], stack.ident[f], f
    for a in range(row.size):
        row[a] = stack.into[a] if a < f else -1
    for j in more:
        if j >= 0:
            row[size] = ident[j]
            size += 1
    return note(space, cut, size, value, number)


@njit
def note_but(stack, space, f, i, l, cut, value, number):
    """Note the set of all columns of level f but the candidates i and l. Returns the number of
    notes.
    """
    row, m, size = space.found[number], stack.m[f], f
    row[:] = -1
    for a in range(f):
        row[a] = stack.into[a]
    for a in range(m):
        if a != i and a != l:
            row[size] = stack.ident[f, a]
            size += 1
    return note(space, cut, size, value, number)


# -------------------- verbs of the nodes


@generic
def add_pairs(stack, space, f, j, cut, number):
    """Note sets of the columns that are in at level f, candidate j where j >= 0, and two candidates
    more. Returns the number of notes.

    The loop over all pairs has no division: v < threshold <=> u^2 > (one - threshold) d.
    """
    S, c, m = stack.S[f], stack.c[f], stack.m[f]
    w, d, e = space.w, space.d, space.e
    size, root, value = f + 2 + (j >= 0), 1.0, stack.R[f]
    if j >= 0:
        row_of(S, j, m, w)
        root = 1.0 / np.sqrt(w[j])
        value -= c[j] * c[j] / w[j]
    for a in range(m):
        w[a] = root * w[a] if j >= 0 else 0.0
        d[a] = S[a, a] - w[a] * w[a]
        e[a] = c[a] - w[a] * root * c[j]
    if j >= 0:
        d[j], e[j] = 1.0, 0.0
    for i in range(m):
        if i == j or not d[i] > 0.0:
            continue
        one, inverse, r, hits = value - e[i] * e[i] / d[i], 1.0 / d[i], w[i], 0
        over, g = one - cut.threshold[size], e[i] / d[i]
        for l in range(i):
            t = S[i, l] - r * w[l]
            u = e[l] - t * g
            hits += u * u > over * (d[l] - t * t * inverse)
        if hits == 0:
            continue
        for l in range(i):
            t = S[i, l] - r * w[l]
            left, u = d[l] - t * t / d[i], e[l] - t * g
            if l != j and left > 0.0 and one - u * u / left < cut.threshold[size]:
                value_of_both = one - u * u / left
                number = note_more(stack, space, f, (i, l, j), cut, value_of_both, number)
    return number


@generic
def drop_pairs(stack, space, f, cut, number):
    """Note sets of all columns of level f but two candidates. Returns the number of notes."""
    B, b, order, m = stack.B[f], stack.b[f], stack.order[f], stack.m[f]
    size, cost = f + m - 2, space.cost
    for at in range(m - 1, 0, -1):
        i = order[at]
        one = stack.F[f] + cost[i]
        if not one < cut.threshold[size]:
            break
        for before in range(at - 1, -1, -1):
            l = order[before]
            if not stack.F[f] + cost[l] < cut.threshold[size]:
                break
            s = B[max(i, l), min(i, l)]
            left, u = B[l, l] - s * s / B[i, i], b[l] - s * b[i] / B[i, i]
            if left > 0.0 and one + u * u / left < cut.threshold[size]:
                number = note_but(stack, space, f, i, l, cut, one + u * u / left, number)
    return number


@generic
def costs(stack, space, f):
    """Fill what the candidates of level f cost when they leave, and delta_j b_j^2 (`gain`)."""
    B, b, ident = stack.B[f], stack.b[f], stack.ident[f]
    for a in range(stack.m[f]):
        space.cost[a] = b[a] * b[a] / B[a, a]
        space.gain[a] = space.delta[ident[a]] * b[a] * b[a]


@generic
def joint_cost(stack, space, f, last, least):
    """The smaller of `least` and what leaving out candidate order[last] with one of those before it
    adds to F.
    """
    return _joint(stack.B[f], stack.b[f], space.cost, stack.order[f], last, least)


@generic
def close_by_relaxation(stack, space, f, cut):
    """Bound the open sizes of level f by the perspective relaxation, where it pays. Returns
    (whether any is left, entries visited).
    """
    if not pays(stack, space, f):
        return True, 0
    return tighten(stack, space, f, cut), TIGHTENED * stack.m[f] * stack.m[f]


@generic
def take_out(stack, f, j, w):
    """The coefficients of level f, and its F, where candidate j leaves."""
    m = stack.m[f]
    stack.F[f] += stack.b[f, j] * stack.b[f, j] / stack.B[f, j, j]
    pivot(stack.B[f], stack.b[f], j, m, w, stack.B[f], stack.b[f])
    stack.c[f, j], stack.beta[f, j] = stack.c[f, m - 1], stack.beta[f, m - 1]


@generic
def take_in(stack, f, j, w):
    """The coefficients of level f + 1, and its R, where candidate j of level f is in."""
    g, m = f + 1, stack.m[f]
    pivot(stack.S[f], stack.c[f], j, m, w, stack.S[g], stack.c[g])
    copy_without(stack.B[f], stack.b[f], j, m, stack.B[g], stack.b[g])
    for a in range(m):
        stack.beta[g, a] = stack.beta[f, a]
    stack.beta[g, j] = stack.beta[f, m - 1]
    stack.R[g] = stack.R[f] - stack.c[f, j] * stack.c[f, j] / stack.S[f, j, j]


@generic
def entries(stack, m, pairs):
    """What a node of m candidates counts, or its `pairs`: entries of matrices."""
    return m * m


# -------------------- the search


@njit
def renumber(order, j, m):
    """Strike position j out of order[:m]; the last position takes its place."""
    a = 0
    for q in range(m):
        if order[q] != j:
            order[a] = j if order[q] == m - 1 else order[q]
            a += 1


@njit
def bound(stack, space, f, cut):
    """Bound the open sizes of level f; whether any is left between its first and last one."""
    order, low, m = stack.order[f], stack.low[f], stack.m[f]
    cost, gain, least = space.cost, space.gain, stack.least[f]
    costs(stack, space, f)
    sort(order, cost, m, -1.0)
    sort(low, gain, m, 1.0)
    first, last = max(stack.first[f], f + 2), min(stack.last[f], f + m - 2)
    total, F = 0.0, stack.F[f]
    for a in range(m - 2):
        total += gain[low[a]]
        t = m - 1 - a
        if t <= last - f and t >= first - f:
            least[f + t] = max(least[f + t], F + max(total, cost[order[t]]))
    some = close_sizes(stack, f, first, last, cut)
    first, last, joint = stack.first[f], stack.last[f], np.inf
    if first - f + 1 < PAIRS and some:
        for t in range(min(last - f + 1, PAIRS - 1)):
            joint = joint_cost(stack, space, f, t + 1, joint)
            if t >= first - f:
                least[f + t] = max(least[f + t], F + joint)
        some = close_sizes(stack, f, first, last, cut)
    return some


@njit
def leave(stack, f, j, w):
    """Candidate j of level f, whose subtree was visited, leaves."""
    m = stack.m[f]
    take_out(stack, f, j, w)
    strike(stack.S[f], j, m)
    renumber(stack.order[f], j, m)
    renumber(stack.low[f], j, m)
    stack.m[f], stack.ident[f, j] = m - 1, stack.ident[f, m - 1]


@njit
def descend(stack, space, f, j):
    """Open level f + 1, in which candidate j of level f is in."""
    g, m, ident = f + 1, stack.m[f], stack.ident
    take_in(stack, f, j, space.w)
    for a in range(m):
        ident[g, a], stack.order[g, a], stack.low[g, a] = (
            ident[f, a],
            stack.order[f, a],
            stack.low[f, a],
        )
    ident[g, j] = ident[f, m - 1]
    renumber(stack.order[g], j, m)
    renumber(stack.low[g], j, m)
    for s in range(stack.first[f], stack.last[f] + 1):
        stack.least[g, s] = stack.least[f, s]
    stack.into[f] = ident[f, j]
    stack.F[g], stack.m[g], stack.took[g] = stack.F[f], m - 1, JOINED
    stack.first[g], stack.last[g] = stack.first[f], stack.last[f]


@njit
def search(stack, space, base, f, cut, work, limit):
    """Go on from level f until nothing is left above level `base`, `work` entries of matrices were
    visited, `limit` nodes were solved, or the notes are full. Returns (f, sets noted, nodes, work
    left).
    """
    number, nodes, room = 0, 0, space.value.size - space.w.size * space.w.size
    while f >= base and work > 0 and nodes < limit and number <= room:
        took = stack.took[f]
        if took >= 0:
            leave(stack, f, took, space.w)
        m = stack.m[f]
        nodes += 1
        work -= 1 + entries(stack, m, False)
        some = m >= 4 and bound(stack, space, f, cut)
        if some:
            some, visited = close_by_relaxation(stack, space, f, cut)
            work -= visited
        if not some:
            f -= 1
            continue
        first, last = stack.first, stack.last
        if took != JOINED and last[f] == f + m - 2:
            number = drop_pairs(stack, space, f, cut, number)
        best = stack.order[f, 0]
        stack.took[f] = best
        for j in (-1, best):  # the pairs of this node, and of its first child where that ends there
            if j < 0 and (took >= 0 or first[f] > f + 2):
                continue
            if j >= 0:
                first[f], last[f] = max(first[f], f + 3), min(last[f], f + m - 3)
                if last[f] != f + 3 or first[f] > last[f]:
                    continue
            number = add_pairs(stack, space, f, j, cut, number)
            work -= entries(stack, m, True)
        if first[f] > last[f]:
            f -= 1
        elif last[f] > f + 3:
            descend(stack, space, f, best)
            f += 1
    return f, number, nodes, work
