"""Depth-first search of the best subsets of all sizes for several responses: the kernels.

The tree, the bounds and the matrices are those of `kernel`, and so are the records, in which c and
b are (levels, q, p), a row for each of q responses. The value of a set is a sum over the responses,
and so is what columns cost when they leave. A bound for every response adds up to one for their
sum: wherever `kernel` has the square of an entry of c or b, here is the sum of the squares.
"""

import numpy as np

from ...core.dispatch import njit
from ..nodes.leaps import PAIRS, copy_without, pivot, row_of, strike
from .kernel import JOINED, note, renumber
from .perspective import sort


@njit
def squares(x, j):
    """The sum of the squares of column j of x (q, m)."""
    total = 0.0
    for s in range(x.shape[0]):
        total += x[s, j] * x[s, j]
    return total


@njit
def pivot_all(A, x, j, m, w, out, y):
    """out, y = A, x (q, m) after the pivot on j, row and column j struck out, as `pivot`."""
    pivot(A, x[0], j, m, w, out, y[0])
    for s in range(1, x.shape[0]):
        g = x[s, j] / w[j]
        for a in range(m):
            y[s, a] = x[s, a] - w[a] * g
        y[s, j] = y[s, m - 1]


@njit
def add_pairs(stack, space, f, j, cut, number):
    """Note sets of the columns that are in at level f, candidate j where j >= 0, and two candidates
    more. Returns the number of notes.

    The loops over all pairs have no division: v < threshold <=> sum of u^2 > (one - threshold) d.
    """
    S, c, ident, m, into = stack.S[f], stack.c[f], stack.ident[f], stack.m[f], stack.into
    w, d, e, between, gain = space.w, space.d, space.e, space.cost, space.gain
    size, root, value = f + 2 + (j >= 0), 1.0, stack.R[f]
    if j >= 0:
        row_of(S, j, m, w)
        root = 1.0 / np.sqrt(w[j])
        value -= squares(c, j) / w[j]
    for a in range(m):
        w[a] = root * w[a] if j >= 0 else 0.0
        d[a] = S[a, a] - w[a] * w[a]
    for s in range(c.shape[0]):
        first = root * c[s, j] if j >= 0 else 0.0
        for a in range(m):
            e[s, a] = c[s, a] - w[a] * first
        if j >= 0:
            e[s, j] = 0.0
    if j >= 0:
        d[j] = 1.0
    for i in range(m):
        if i == j or not d[i] > 0.0:
            continue
        one, inverse, r, hits = value - squares(e, i) / d[i], 1.0 / d[i], w[i], 0
        over = one - cut.threshold[size]
        for l in range(i):
            between[l] = S[i, l] - r * w[l]
            gain[l] = 0.0
        for s in range(c.shape[0]):
            g = e[s, i] * inverse
            for l in range(i):
                u = e[s, l] - between[l] * g
                gain[l] += u * u
        for l in range(i):
            hits += gain[l] > over * (d[l] - between[l] * between[l] * inverse)
        if hits == 0:
            continue
        for l in range(i):
            left = d[l] - between[l] * between[l] / d[i]
            if l != j and left > 0.0 and one - gain[l] / left < cut.threshold[size]:
                row = space.found[number]
                for a in range(row.size):
                    row[a] = into[a] if a < f else -1
                row[f], row[f + 1] = ident[i], ident[l]
                if j >= 0:
                    row[f + 2] = ident[j]
                number = note(space, cut, size, one - gain[l] / left, number)
    return number


@njit
def drop_pairs(stack, space, f, cut, number):
    """Note sets of all columns of level f but two candidates. Returns the number of notes."""
    B, b, order, ident, m = stack.B[f], stack.b[f], stack.order[f], stack.ident[f], stack.m[f]
    size, cost, into = f + m - 2, space.cost, stack.into
    for at in range(m - 1, 0, -1):
        i = order[at]
        one = stack.F[f] + cost[i]
        if not one < cut.threshold[size]:
            break
        for before in range(at - 1, -1, -1):
            l = order[before]
            if not stack.F[f] + cost[l] < cut.threshold[size]:
                break
            r = B[max(i, l), min(i, l)] / B[i, i]
            left, more = B[l, l] - r * r * B[i, i], 0.0
            for s in range(b.shape[0]):
                u = b[s, l] - r * b[s, i]
                more += u * u
            if left > 0.0 and one + more / left < cut.threshold[size]:
                row, a = space.found[number], f
                row[:] = -1
                for q in range(f):
                    row[q] = into[q]
                for q in range(m):
                    if q != i and q != l:
                        row[a] = ident[q]
                        a += 1
                number = note(space, cut, size, one + more / left, number)
    return number


@njit
def joint_cost(B, b, cost, order, last, least):
    """The smaller of `least` and what leaving out candidate order[last] with one of those before it
    adds to F.
    """
    i = order[last]
    for q in range(last):
        l = order[q]
        r = B[max(i, l), min(i, l)] / B[i, i]
        left, more = B[l, l] - r * r * B[i, i], 0.0
        for s in range(b.shape[0]):
            u = b[s, l] - r * b[s, i]
            more += u * u
        both = cost[i] + more / left if left > 0.0 else 0.0
        least = min(least, max(both, cost[l]))
    return least


@njit
def bound(stack, space, f, cut):
    """Bound the open sizes of level f; whether any is left between its first and last one."""
    B, b, order, low, m = stack.B[f], stack.b[f], stack.order[f], stack.low[f], stack.m[f]
    cost, gain, ident, least = space.cost, space.gain, stack.ident[f], stack.least[f]
    for a in range(m):
        gain[a] = squares(b, a)
        cost[a] = gain[a] / B[a, a]
        gain[a] *= space.delta[ident[a]]
    sort(order, cost, m, -1.0)
    sort(low, gain, m, 1.0)
    first, last = max(stack.first[f], f + 2), min(stack.last[f], f + m - 2)
    total, joint, F = 0.0, np.inf, stack.F[f]
    for a in range(m - 2):
        total += gain[low[a]]
        t = m - 1 - a
        if t <= last - f and t >= first - f:
            least[f + t] = max(least[f + t], F + max(total, cost[order[t]]))
    first, last = still_open(least, cut, first, last)
    if first - f + 1 < PAIRS and first <= last:
        for t in range(min(last - f + 1, PAIRS - 1)):
            joint = joint_cost(B, b, cost, order, t + 1, joint)
            if t >= first - f:
                least[f + t] = max(least[f + t], F + joint)
        first, last = still_open(least, cut, first, last)
    stack.first[f], stack.last[f] = first, last
    return first <= last


@njit
def still_open(least, cut, first, last):
    """(first, last) of the sizes between them that bounds leave open; first > last for none."""
    while first <= last and not least[first] < cut.threshold[first]:
        first += 1
    while first <= last and not least[last] < cut.threshold[last]:
        last -= 1
    return first, last


@njit
def leave(stack, f, j, w):
    """Candidate j of level f, whose subtree was visited, leaves."""
    m = stack.m[f]
    stack.F[f] += squares(stack.b[f], j) / stack.B[f, j, j]
    pivot_all(stack.B[f], stack.b[f], j, m, w, stack.B[f], stack.b[f])
    strike(stack.S[f], j, m)
    renumber(stack.order[f], j, m)
    renumber(stack.low[f], j, m)
    stack.m[f], stack.ident[f, j] = m - 1, stack.ident[f, m - 1]
    for s in range(stack.c.shape[1]):
        stack.c[f, s, j] = stack.c[f, s, m - 1]


@njit
def descend(stack, space, f, j):
    """Open level f + 1, in which candidate j of level f is in."""
    g, m, ident, b = f + 1, stack.m[f], stack.ident, stack.b
    pivot_all(stack.S[f], stack.c[f], j, m, space.w, stack.S[g], stack.c[g])
    copy_without(stack.B[f], b[f, 0], j, m, stack.B[g], b[g, 0])
    for s in range(1, b.shape[1]):
        for a in range(m):
            b[g, s, a] = b[f, s, a]
        b[g, s, j] = b[g, s, m - 1]
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
    stack.R[g] = stack.R[f] - squares(stack.c[f], j) / stack.S[f, j, j]
    stack.first[g], stack.last[g] = stack.first[f], stack.last[f]


@njit
def search(stack, space, base, f, cut, work, limit):
    """Go on from level f until nothing is left above level `base`, `work` entries of matrices were
    visited, `limit` nodes were solved, or the notes are full. Returns (f, sets noted, nodes, work
    left).
    """
    number, nodes, room = 0, 0, space.value.size - space.w.size * space.w.size
    q = stack.c.shape[1]
    while f >= base and work > 0 and nodes < limit and number <= room:
        took = stack.took[f]
        if took >= 0:
            leave(stack, f, took, space.w)
        m = stack.m[f]
        nodes += 1
        work -= 1 + m * (m + 2 * q)
        if m < 4 or not bound(stack, space, f, cut):
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
            work -= m * m * (1 + q) // 2
        if first[f] > last[f]:
            f -= 1
        elif last[f] > f + 3:
            descend(stack, space, f, best)
            f += 1
    return f, number, nodes, work
