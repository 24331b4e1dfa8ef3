"""Depth-first search of subsets by sums of squares of sets and by what a column, or two, cost when
they leave: the kernels of leaps and bounds.

At a node some columns are in and m are candidates, of which at most t may join. Kept are the Schur
complement S of the Gram matrix given the columns that are in, c = what is left of their products
with y (scaled so that c_j^2 / S_jj is what j alone takes off the value), and the inverse side: B =
inv(S), b = B c, F = the value with all candidates in. A column j that

    joins     S, c: one pivot on j;  B, b: row and column j are struck out;  F stays
    leaves    B, b: one pivot on j, which adds b_j^2 / B_jj to F;  S, c: row and column j are struck
              out

Matrices are lower triangles; striking out moves the last row to the place of j.
"""

from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit

PAIRS = 8  # candidates at most among which two are looked for that must leave together


class Stack(NamedTuple):
    """Open nodes; those of level f have f columns in. L levels, p columns."""

    S: np.ndarray  # (L, p, p), the matrix of the candidates
    B: np.ndarray  # (L, p, p), its inverse
    c: np.ndarray  # (L, p), products with the residuals
    b: np.ndarray  # (L, p), coefficients
    entry_cost: np.ndarray  # (L, p), of candidates
    ident: np.ndarray  # (L, p), the candidates
    F: np.ndarray  # (L,), value with all candidates
    R: np.ndarray  # (L,), value with none
    member_cost: np.ndarray  # (L,), of the columns that are in
    least: np.ndarray  # (L,), least value of what is open
    m: np.ndarray  # (L,), number of candidates
    took: np.ndarray  # (L,), position of the one whose subtree was visited last, -1 for a new node
    into: np.ndarray  # (size,), columns that are in


class Space(NamedTuple):
    """Work space of a search, and the sets that it found."""

    w: np.ndarray  # (p,), a pivot row
    d: np.ndarray  # (p,), diagonal after a pivot
    e: np.ndarray  # (p,), c after a pivot
    cost: np.ndarray  # (p,), what leaving adds to F
    top: np.ndarray  # (p + 1,)
    largest: np.ndarray  # (p + 1,)
    delta: np.ndarray  # (p,), by ident: S - diag(delta) is positive semidefinite
    found: np.ndarray  # (rows, size), sets of columns, -1 beyond their end
    value: np.ndarray  # (rows,), their values


class Cut(NamedTuple):
    """Sets of values below the threshold are noted; once one of value v is known the threshold is
    shrink * v + slack at most. An infinite shrink keeps it.
    """

    threshold: float
    shrink: float
    slack: float


@njit
def row_of(A, j, m, w):
    """w[:m] = row j of the symmetric A[:m, :m], of which the lower triangle is kept."""
    for l in range(j + 1):
        w[l] = A[j, l]
    for l in range(j + 1, m):
        w[l] = A[l, j]


@njit
def strike(A, j, m):
    """Strike row and column j out of A[:m, :m]: the last takes their place."""
    last = m - 1
    if j == last:
        return
    for l in range(j):
        A[j, l] = A[last, l]
    for l in range(j + 1, last):
        A[l, j] = A[last, l]
    A[j, j] = A[last, last]


@njit
def pivot(A, x, j, m, w, out, y):
    """out, y = A, x after the pivot on j, row and column j struck out; out may be A, y may be x. w
    (m,) scratch.
    """
    row_of(A, j, m, w)
    d, g = w[j], x[j]
    for a in range(m):
        r = w[a] / d
        for l in range(a + 1):
            out[a, l] = A[a, l] - r * w[l]
        y[a] = x[a] - r * g
    strike(out, j, m)
    y[j] = y[m - 1]


@njit
def copy_without(A, x, j, m, out, y):
    """out, y = A[:m, :m], x[:m] with row and column j struck out."""
    for a in range(m):
        for l in range(a + 1):
            out[a, l] = A[a, l]
        y[a] = x[a]
    strike(out, j, m)
    y[j] = y[m - 1]


@njit
def record(space, number, value, into, f, first, second):
    """Note a set: the f columns that are in, and one or two more (-1 for none)."""
    row = space.found[number]
    for l in range(row.size):
        row[l] = into[l] if l < f else -1
    if first >= 0:
        row[f] = first
        f += 1
    if second >= 0:
        row[f] = second
    space.value[number] = value
    return number + 1


@njit
def lowered(cut, value):
    """The cut once a set of this value is known."""
    if cut.shrink == np.inf:
        return cut
    return Cut(min(cut.threshold, cut.shrink * value + cut.slack), cut.shrink, cut.slack)


@njit
def leaf(stack, space, f, j, value, t, cut, number):
    """Visit the set that is in at level f, with candidate j where j >= 0, and all that have one or
    (t > 1) two candidates more; value: that of the set, costs included.

    Returns (cut, number of sets noted). The pair loop has no division: v < threshold <=> u^2 >
    (value - g_i - threshold) d.
    """
    S, c, entry_cost, ident = stack.S[f], stack.c[f], stack.entry_cost[f], stack.ident[f]
    m, into = stack.m[f], stack.into
    w, d, e = space.w, space.d, space.e
    if j >= 0:
        row_of(S, j, m, w)
    for a in range(m):
        r = w[a] / w[j] if j >= 0 else 0.0
        d[a] = S[a, a] - r * w[a] if j >= 0 else S[a, a]
        e[a] = c[a] - r * c[j] if j >= 0 else c[a]
    if j >= 0:
        d[j], e[j] = 1.0, 0.0
        into[f] = ident[j]
        f += 1
    if value < cut.threshold:
        number = record(space, number, value, into, f, -1, -1)
        cut = lowered(cut, value)
    for i in range(m):
        if i == j or not d[i] > 0.0:
            continue
        one = value + entry_cost[i] - e[i] * e[i] / d[i]
        if one < cut.threshold:
            number = record(space, number, one, into, f, ident[i], -1)
            cut = lowered(cut, one)
        if t > 1 and _pairs(S, w, d, e, entry_cost, i, j, one - cut.threshold):
            for l in range(i):
                s = S[i, l] - w[i] * w[l] / w[j] if j >= 0 else S[i, l]
                left, u = d[l] - s * s / d[i], e[l] - s * e[i] / d[i]
                if l != j and left > 0.0:
                    two = one + entry_cost[l] - u * u / left
                    if two < cut.threshold:
                        number = record(space, number, two, into, f, ident[i], ident[l])
                        cut = lowered(cut, two)
    return cut, number


@njit
def _pairs(S, w, d, e, entry_cost, i, j, over):
    """Whether a candidate before i beats the threshold beside i, which alone is `over` it."""
    inverse, hits = 1.0 / d[i], 0
    r, g = (w[i] / w[j], e[i] * inverse) if j >= 0 else (0.0, e[i] * inverse)
    if j >= 0:
        for l in range(i):
            s = S[i, l] - r * w[l]
            u = e[l] - s * g
            hits += u * u > (over + entry_cost[l]) * (d[l] - s * s * inverse)
    else:
        for l in range(i):
            s = S[i, l]
            u = e[l] - s * g
            hits += u * u > (over + entry_cost[l]) * (d[l] - s * s * inverse)
    return hits > 0


@njit
def bound(B, b, entry_cost, ident, cheapest, m, t, space):
    """(what every set of at most t of m candidates adds to F at least, costs included; the
    candidate that costs most to leave out).

    Of any r + 1 candidates a set of r leaves out one, of any r + 2 two: with the costs b_j^2 / B_jj
    of leaving in descending order a set of r adds the (r + 1)th largest, the least joint cost of
    two of the first r + 2, and r times the least entry cost, at least; and one that leaves out none
    of the r costliest pays their costs. Every candidate that leaves adds delta_j b_j^2 besides:
    leaving out O costs b_O' inv(B_OO) b_O, and inv(B_OO) is a Schur complement of S - diag(delta) +
    diag(delta), of which the first part is positive semidefinite.
    """
    cost, top = space.cost, space.top
    for a in range(m):
        cost[a] = b[a] * b[a] / B[a, a]
    size = min(t + 2, m)
    for a in range(m):  # insertion into the `size` largest
        l = min(a, size)
        while l > 0 and cost[top[l - 1]] < cost[a]:
            top[l] = top[l - 1]
            l -= 1
        top[l] = a
    one, member_cost = np.inf, 0.0
    for r in range(min(t, m) + 1):
        one = min(one, member_cost + (cost[top[r]] if r < m else 0.0))
        if r < m:
            member_cost += entry_cost[top[r]]
    two, joint = np.inf, np.inf
    for r in range(min(t, m) + 1):
        if r + 1 >= m:
            joint = 0.0
        else:
            joint = _joint(B, b, cost, top, r + 1, joint) if r + 1 < PAIRS else cost[top[r]]
        two = min(two, r * cheapest + joint)
    return max(one, two, _sum(b, entry_cost, ident, m, min(t, m), space)), top[0]


@njit
def _sum(b, entry_cost, ident, m, t, space):
    """Least sum of delta_j b_j^2 over candidates left out and of costs over the others, t at
    most.
    """
    total, largest, delta = 0.0, space.largest, space.delta
    for l in range(t):
        largest[l] = 0.0
    for a in range(m):
        gain = delta[ident[a]] * b[a] * b[a]
        total += gain
        gain -= entry_cost[a]
        if t > 0 and gain > largest[t - 1]:
            l = t - 1
            while l > 0 and largest[l - 1] < gain:
                largest[l] = largest[l - 1]
                l -= 1
            largest[l] = gain
    for l in range(t):
        total -= largest[l]
    return total


@njit
def _joint(B, b, cost, top, last, least):
    """The smaller of `least` and what leaving out candidate top[last] with one of those before it
    adds to F.
    """
    i = top[last]
    for q in range(last):
        l = top[q]
        s = B[max(i, l), min(i, l)]
        d = B[i, i] * B[l, l] - s * s
        both = (
            (b[i] * b[i] * B[l, l] - 2.0 * b[i] * b[l] * s + b[l] * b[l] * B[i, i]) / d
            if d > 0.0
            else 0.0
        )
        least = min(least, max(both, cost[l]))
    return least


@njit
def leave(stack, f, j, w):
    """Candidate j of level f, whose subtree was visited, leaves."""
    S, B, c, b, entry_cost, ident, F, _R, _member_cost, _least, m, took, _into = stack
    F[f] += b[f, j] * b[f, j] / B[f, j, j]
    pivot(B[f], b[f], j, m[f], w, B[f], b[f])
    strike(S[f], j, m[f])
    m[f] -= 1
    c[f, j], entry_cost[f, j], ident[f, j] = c[f, m[f]], entry_cost[f, m[f]], ident[f, m[f]]
    took[f] = -1


@njit
def search(stack, space, base, f, size, cut, work, limit):
    """Go on from level f until nothing is left above level `base`, `work` entries of matrices were
    visited, `limit` nodes were solved, or the notes are full.

    size: columns of a set at most. Returns (f, sets noted, nodes).
    """
    S, B, c, b, entry_cost, ident, F, R, member_cost, least, m, took, into = stack
    number, nodes, capacity = 0, 0, space.value.size - S.shape[1] * (S.shape[1] + 1) // 2 - 1
    while f >= base and work > 0 and nodes < limit and number <= capacity:
        work -= 1 + m[f] * m[f]
        if took[f] >= 0:
            leave(stack, f, took[f], space.w)
        nodes += 1
        left, cheapest = size - f, np.inf
        for a in range(m[f]):
            cheapest = min(cheapest, entry_cost[f, a])
        more, best = bound(
            B[f], b[f], entry_cost[f], ident[f], cheapest if m[f] else 0.0, m[f], left, space
        )
        least[f] = max(least[f], F[f] + member_cost[f] + more)
        over = cut.threshold - F[f] - member_cost[f]
        if m[f] == 0 or left == 0 or not least[f] < cut.threshold:
            f -= 1
            continue
        # where sets with three candidates more are not wanted, a scan ends the node
        whole = left <= 2 or over < 3.0 * cheapest
        value, gone = R[f] + member_cost[f], np.inf
        if not whole:
            value += entry_cost[f, best] - c[f, best] * c[f, best] / S[f, best, best]
            gone = b[f, best] * b[f, best] / B[f, best, best]
        # the bound of what is open at this level beside the subtree of `best`
        more = F[f] + member_cost[f] + gone
        took[f] = best
        if whole or left == 3 or over - entry_cost[f, best] < 3.0 * cheapest:
            j, t = (-1, left) if whole else (best, left - 1)
            cut, number = leaf(stack, space, f, j, value, t, cut, number)
            work -= m[f] * m[f]
            least[f] = max(least[f], more)
            f -= whole
        else:
            f = descend(stack, space, f, best, value)
            if value < cut.threshold:
                number = record(space, number, value, into, f, -1, -1)
                cut = lowered(cut, value)
            least[f], least[f - 1] = least[f - 1], max(least[f - 1], more)
            work -= m[f] * m[f]
    return f, number, nodes


@njit
def descend(stack, space, f, j, value):
    """Open level f + 1, in which candidate j of level f is in; value: that of the columns in,
    costs included. Returns f + 1.
    """
    S, B, c, b, entry_cost, ident, F, R, member_cost, _least, m, took, into = stack
    g = f + 1
    pivot(S[f], c[f], j, m[f], space.w, S[g], c[g])
    copy_without(B[f], b[f], j, m[f], B[g], b[g])
    m[g] = m[f] - 1
    for a in range(m[g]):
        entry_cost[g, a], ident[g, a] = entry_cost[f, a], ident[f, a]
    if j < m[g]:
        entry_cost[g, j], ident[g, j] = entry_cost[f, m[g]], ident[f, m[g]]
    into[f] = ident[f, j]
    member_cost[g] = member_cost[f] + entry_cost[f, j]
    F[g], R[g], took[g] = F[f], value - member_cost[g], -1
    return g
