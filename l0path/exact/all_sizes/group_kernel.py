"""Depth-first search of the best sets of groups of columns of all sizes at once: the kernels.

The tree is that of `kernel`, with groups in place of columns: a node has f groups in and m
candidates, and keeps S, c (what the groups that are in leave), B = inv(S), b = B c, and the values
R without candidates and F with all of them. The group that costs most to leave out joins, then
leaves. Columns of a group stand side by side. The state is `kernel.OpenNodes`.

Sets with one candidate are read off S and c where a group has joined, those without one candidate
off B and b where one has left; so a node is divided for 2 <= t <= m - 2 alone. A set of t of m
candidates adds to F at least

    b_g' inv(B_gg) b_g of the (t + 1)th costliest group: of any t + 1 one has to leave;
    the sum of the m - t smallest b_g' D_g b_g, where S - D is positive semidefinite at the root for
        D with blocks D_g: leaving out O costs b_O' inv(B_OO) b_O, and inv(B_OO) - D_O is a Schur
        complement of S - D, and thus positive semidefinite.

Where groups keep a strong hierarchy, only sets are noted that do, and with a group leaves what
needs it; without it nothing is left of a node in which such a group is in.

Every vector c, b has a row for each of q responses, whose values add up.
"""

from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from .kernel import JOINED, note, row_of
from .perspective import close_sizes, sort

PER_NODE = 2  # of both matrices, what a node counts in the work


class GroupBuffers(NamedTuple):
    """Work space of a search over groups of s columns at most, and the sets that it found."""

    w: np.ndarray  # (s, p)
    block: np.ndarray  # (s, s)
    u: np.ndarray  # (q, s)
    cost: np.ndarray  # (G,)
    gain: np.ndarray  # (G,)
    inside: np.ndarray  # (G,)
    delta: np.ndarray  # (G, s, s), blocks D_g by ident
    needs: np.ndarray  # (G, G), whether a group needs another; (0, 0) where none does
    found: np.ndarray  # (rows, G), sets of groups, -1 beyond their end
    value: np.ndarray  # (rows,), their values


class Span(NamedTuple):
    """The columns low .. high of the first k, which are those of one group."""

    low: int
    high: int
    k: int


@njit
def span_of(stack, f, g):
    """The `Span` of candidate g of level f."""
    return Span(stack.start[f, g], stack.start[f, g + 1], stack.start[f, stack.m[f]])


@njit
def eliminate(A, x, span, space):
    """Fill w (s, k) = inv(L) A_g and u (q, s) = inv(L) x_g, LL' = A_gg, for the columns g of a
    `Span` of A (k, k) and x (q, k). Returns x_g' inv(A_gg) x_g, summed over the responses.
    """
    low, high, k = span
    w, u, total = space.w, space.u, 0.0
    for s in range(high - low):
        row_of(A, low + s, k, w[s])
        for r in range(x.shape[0]):
            u[r, s] = x[r, low + s]
        for t in range(s):
            e, wt = w[t, low + s], w[t]
            for l in range(k):
                w[s, l] -= e * wt[l]
            for r in range(x.shape[0]):
                u[r, s] -= e * u[r, t]
        scale = 1.0 / np.sqrt(max(w[s, low + s], 1e-300))
        for l in range(k):
            w[s, l] *= scale
        for r in range(x.shape[0]):
            u[r, s] *= scale
            total += u[r, s] * u[r, s]
    return total


@njit
def strike(A, x, span, space, pivots, out, y):
    """out, y = A, x less w'w and w'u of the first `pivots` rows of `eliminate`, with the columns of
    a `Span` struck out, and the order of the others kept. out may be A, y may be x.
    """
    low, high, k = span
    w, u, size = space.w, space.u, high - low
    for i in range(k):
        if low <= i < high:
            continue
        to = i if i < low else i - size
        row, new, front = A[i], out[to], min(i + 1, low)
        for l in range(front):
            new[l] = row[l]
        for l in range(high, i + 1):
            new[l - size] = row[l]
        for s in range(pivots):
            t, ws = w[s, i], w[s]
            for l in range(front):
                new[l] -= t * ws[l]
            for l in range(high, i + 1):
                new[l - size] -= t * ws[l]
        for r in range(x.shape[0]):
            t = x[r, i]
            for s in range(pivots):
                t -= w[s, i] * u[r, s]
            y[r, to] = t


@njit
def explained(A, x, low, high, space):
    """x_g' inv(A_gg) x_g of the columns g = low .. high, summed over the responses."""
    L, total, q = space.block, 0.0, x.shape[0]
    if high - low == 1:
        for r in range(q):
            total += x[r, low] * x[r, low]
        return total / A[low, low]
    for s in range(high - low):
        for t in range(s + 1):
            e = A[low + s, low + t]
            for l in range(t):
                e -= L[s, l] * L[t, l]
            L[s, t] = e / L[t, t] if t < s else np.sqrt(max(e, 1e-300))
    for r in range(q):
        for s in range(high - low):
            e = x[r, low + s]
            for l in range(s):
                e -= L[s, l] * space.u[r, l]
            e /= L[s, s]
            space.u[r, s] = e
            total += e * e
    return total


@njit
def _gain(b, delta, low, high):
    """b_g' D_g b_g, summed over the responses."""
    total = 0.0
    for r in range(b.shape[0]):
        for s in range(high - low):
            t = 0.0
            for l in range(high - low):
                t += delta[s, l] * b[r, low + l]
            total += t * b[r, low + s]
    return total


@njit
def bound(stack, space, f, cut):
    """Bound the open sizes of level f; whether any is left between its first and last one."""
    B, b, order, high, m = stack.B[f], stack.b[f], stack.order[f], stack.high[f], stack.m[f]
    start, cost, gain, least = stack.start[f], space.cost, space.gain, stack.least[f]
    for a in range(m):
        cost[a] = explained(B, b, start[a], start[a + 1], space)
        gain[a] = _gain(b, space.delta[stack.ident[f, a]], start[a], start[a + 1])
    sort(order, cost, m, m)
    sort(high, gain, m, m)
    first, last = max(stack.first[f], f + 1), min(stack.last[f], f + m - 1)
    total, F = 0.0, stack.F[f]
    for t in range(m - 1, 0, -1):
        total += gain[high[t]]
        if t <= last - f and t >= first - f:
            least[f + t] = max(least[f + t], F + max(total, cost[order[t]]))
    return close_sizes(stack, f, first, last, cut)


@njit
def _closed(row, size, space):
    """Whether the groups row[:size] have all that they need."""
    inside, needs, closed = space.inside, space.needs, True
    for a in range(size):
        inside[row[a]] = True
    for a in range(size):
        for h in range(inside.size):
            closed &= inside[h] | (not needs[row[a], h])
    for a in range(size):
        inside[row[a]] = False
    return closed


@njit
def _note_set(stack, space, f, one, kept, cut, value, number):
    """Note the set of the groups that are in at level f with candidate `one` (`kept`), or with all
    candidates but this one (-1: with all), if it keeps the hierarchy. Returns the number of notes.
    """
    row, at, ident = space.found[number], f, stack.ident[f]
    row[:] = -1
    for a in range(f):
        row[a] = stack.into[a]
    for a in range(stack.m[f]):
        if (a == one) == kept:
            row[at] = ident[a]
            at += 1
    if space.needs.size > 0 and not _closed(row, at, space):
        return number
    return note(space, cut, at, value, number)


@njit
def read_off(stack, space, f, took, cut, number):
    """Note the sets of level f that are read off its matrices: with one candidate unless one has
    left before, without one unless one has just joined. Closes these sizes; returns the number of
    notes.
    """
    m, start, order = stack.m[f], stack.start[f], stack.order[f]
    if took < 0 and stack.first[f] <= f + 1:
        for a in range(m):
            value = stack.R[f] - explained(stack.S[f], stack.c[f], start[a], start[a + 1], space)
            if value < cut.threshold[f + 1]:
                number = _note_set(stack, space, f, a, True, cut, value, number)
    if took != JOINED and stack.last[f] >= f + m - 1:
        for at in range(m - 1, -1, -1):
            value = stack.F[f] + space.cost[order[at]]
            if not value < cut.threshold[f + m - 1]:
                break
            number = _note_set(stack, space, f, order[at], False, cut, value, number)
    stack.first[f], stack.last[f] = max(stack.first[f], f + 2), min(stack.last[f], f + m - 2)
    return number


@njit
def _renumber(order, g, m):
    """Strike position g out of order[:m]; those behind it move up."""
    at = 0
    for a in range(m):
        if order[a] != g:
            order[at] = order[a] - (order[a] > g)
            at += 1


@njit
def _forget(stack, f, g):
    """Strike candidate g out of the numbers of level f."""
    m, start = stack.m[f], stack.start[f]
    size = start[g + 1] - start[g]
    for a in range(g, m - 1):
        stack.ident[f, a] = stack.ident[f, a + 1]
    for a in range(g, m):
        start[a] = start[a + 1] - size
    _renumber(stack.order[f], g, m)
    _renumber(stack.high[f], g, m)
    stack.m[f] = m - 1


@njit
def leave(stack, space, f, g):
    """Candidate g of level f, whose subtree was visited, leaves, and with it what needs it. Returns
    the number of groups that leave, 0 where one that is in needs it.
    """
    one, needs, count = stack.ident[f, g], space.needs, 1
    if needs.size > 0:
        for l in range(f):
            if needs[stack.into[l], one]:
                return 0
        for a in range(stack.m[f] - 1, -1, -1):
            if needs[stack.ident[f, a], one]:
                _strike_out(stack, space, f, a)
                g -= a < g
                count += 1
    _strike_out(stack, space, f, g)
    return count


@njit
def _strike_out(stack, space, f, g):
    """Candidate g of level f leaves."""
    span = span_of(stack, f, g)
    S, B, c, b = stack.S[f], stack.B[f], stack.c[f], stack.b[f]
    stack.F[f] += eliminate(B, b, span, space)
    strike(B, b, span, space, span.high - span.low, B, b)
    strike(S, c, span, space, 0, S, c)
    _forget(stack, f, g)


@njit
def descend(stack, space, f, g):
    """Open level f + 1, in which candidate g of level f is in."""
    h, m, span = f + 1, stack.m[f], span_of(stack, f, g)
    S, B, c, b = stack.S[f], stack.B[f], stack.c[f], stack.b[f]
    stack.R[h] = stack.R[f] - eliminate(S, c, span, space)
    strike(S, c, span, space, span.high - span.low, stack.S[h], stack.c[h])
    strike(B, b, span, space, 0, stack.B[h], stack.b[h])
    for a in range(m):
        stack.ident[h, a] = stack.ident[f, a]
        stack.order[h, a], stack.high[h, a] = stack.order[f, a], stack.high[f, a]
        stack.start[h, a + 1] = stack.start[f, a + 1]
    stack.start[h, 0], stack.m[h], stack.into[f] = 0, m, stack.ident[f, g]
    _forget(stack, h, g)
    stack.F[h], stack.took[h] = stack.F[f], JOINED
    stack.first[h], stack.last[h] = stack.first[f], stack.last[f]
    for s in range(stack.first[f], stack.last[f] + 1):
        stack.least[h, s] = stack.least[f, s]


@njit
def search(stack, space, f, cut, work):
    """Go on from level f until nothing is left, `work` entries of matrices were visited, or the
    notes are full. Returns (f, sets noted, nodes, work left).
    """
    number, nodes, room = 0, 0, space.value.size - 2 * space.cost.size
    while f >= 0 and work > 0 and number <= room:
        took = stack.took[f]
        left_out = leave(stack, space, f, took) if took >= 0 else 1
        if left_out == 0:
            f -= 1
            continue
        all_in = f + stack.m[f]
        if left_out > 1 and stack.F[f] < cut.threshold[all_in]:
            number = _note_set(stack, space, f, -1, False, cut, stack.F[f], number)
        k = stack.start[f, stack.m[f]]
        nodes += 1
        work -= 1 + PER_NODE * k * k
        if stack.m[f] < 2 or not bound(stack, space, f, cut):
            f -= 1
            continue
        number = read_off(stack, space, f, took, cut, number)
        if stack.first[f] > stack.last[f]:
            f -= 1
            continue
        best = stack.order[f, 0]
        stack.took[f] = best
        descend(stack, space, f, best)
        f += 1
    return f, number, nodes, work
