"""Depth-first search of the best subsets of all sizes at once: the kernels.

At a node f columns are in and m are candidates; its sets have f + t columns. It keeps the Schur
complement S of the Gram matrix given the columns that are in, c = what is left of their products
with y (scaled so that c_j^2 / S_jj is what j alone takes off the value), and the inverse side: B =
inv(S), b = B c; and two values: R with no candidate and F with all of them. A column j that

    joins     S, c: one pivot on j;  B, b: row and column j are struck out;  F stays
    leaves    B, b: one pivot on j, which adds b_j^2 / B_jj to F;  S, c: row and column j are struck
              out

Matrices are lower triangles; striking out moves the last row to the place of j. The candidate that
costs most to leave out joins, its subtree is searched, then it leaves.

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

Of several responses c and b have a row each. Their values add up, so that the square of an entry of
c or b is the sum of the squares of its column; there is no perspective relaxation.

Columns may cost something to enter beyond what thresholds hold, e_j. What the columns that are in
cost is part of F and R. A set that leaves none of the r costliest candidates out pays for them, and
t candidates that stay add to F what all have of delta_j b_j^2 less their own delta_j b_j^2 - e_j.
"""

from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from .perspective import close_sizes, pays, sort, tighten

PAIRS = 8  # candidates at most among which two are looked for that must leave together
ROOT, JOINED = -2, -1  # `took` of a node that no search has looked at, and of one just opened
# mean delta of unit columns, below which sums of delta_j b_j^2 take more time than they save
LEAST_SHARE = 0.05
TIGHTENED = 2  # times the entries of a matrix, what its relaxation counts in the work of a node


class OpenNodes(NamedTuple):
    """Open nodes; those of level f have f units in. L levels, m units of p columns (columns: m =
    p), q responses.
    """

    S: np.ndarray  # (L, p, p), the matrix of the candidates, lower triangle
    B: np.ndarray  # (L, p, p), its inverse, lower triangle
    c: np.ndarray  # (L, q, p), products with the residuals
    b: np.ndarray  # (L, q, p), coefficients
    ident: np.ndarray  # (L, m), the candidates
    order: np.ndarray  # (L, m), their positions, first those that cost most to leave out
    high: np.ndarray  # (L, m), the same by delta_j b_j^2 - e_j; -1 first where it is not known
    F: np.ndarray  # (L,), value with all candidates
    R: np.ndarray  # (L,), value with none
    m: np.ndarray  # (L,), number of candidates
    took: np.ndarray  # (L,), position of the candidate that joined last
    first: np.ndarray  # (L,), smallest open size
    last: np.ndarray  # (L,), largest open size
    least: np.ndarray  # (L, m + 1), by size, a lower bound on the sets of the node
    # of columns: (L, m), of the relaxation, where the next node of a level begins
    beta: np.ndarray
    # of groups: (L, m + 1), candidate a has the columns start[a] .. start[a + 1]
    start: np.ndarray
    into: np.ndarray  # (m,), units that are in


class Buffers(NamedTuple):
    """Work space of a search, and the sets that it found."""

    w: np.ndarray  # (p,), a pivot row
    d: np.ndarray  # (p,), diagonal after a pivot
    e: np.ndarray  # (q, p), c after a pivot
    cost: np.ndarray  # (p,), what leaving adds to F
    gain: np.ndarray  # (p,), delta_j b_j^2 - e_j
    delta: np.ndarray  # (p,), by ident
    entry: np.ndarray  # (p,), e_j >= 0, by ident
    M: np.ndarray  # (p, p)
    top: np.ndarray  # (p,)
    found: np.ndarray  # (rows, p), sets of columns, -1 beyond their end
    value: np.ndarray  # (rows,), their values


class Thresholds(NamedTuple):
    """Sets of s columns of values below threshold[s] are noted. Once one of value v is known it is
    shrink * v + slack at most; an infinite shrink keeps it.

    each: where sets of all sizes compete, what a column adds to their values, e_j aside, so that
    threshold[s] is what is left of a limit for all of them; -1 where every size is for itself.
    """

    threshold: np.ndarray
    shrink: float
    slack: float
    each: float = -1.0


# -------------------- matrices


@njit
def squares(x, j):
    """The sum of the squares of column j of x (q, m)."""
    total = 0.0
    for s in range(x.shape[0]):
        total += x[s, j] * x[s, j]
    return total


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
    """out, y = A, x (q, m) after the pivot on j, row and column j struck out; out may be A, y may
    be x. w (m,) scratch.
    """
    row_of(A, j, m, w)
    d = w[j]
    for a in range(m):
        r = w[a] / d
        for l in range(a + 1):
            out[a, l] = A[a, l] - r * w[l]
    strike(out, j, m)
    for s in range(x.shape[0]):
        g = x[s, j] / d
        for a in range(m):
            y[s, a] = x[s, a] - w[a] * g
        y[s, j] = y[s, m - 1]


@njit
def copy_without(A, x, j, m, out, y):
    """out, y = A[:m, :m], x[:, :m] with row and column j struck out."""
    for a in range(m):
        for l in range(a + 1):
            out[a, l] = A[a, l]
    strike(out, j, m)
    for s in range(x.shape[0]):
        for a in range(m):
            y[s, a] = x[s, a]
        y[s, j] = y[s, m - 1]


# -------------------- sets that are noted


@njit
def note(space, cut, size, value, number):
    """Note the value of a set, and lower the thresholds. Returns the number of notes."""
    space.value[number] = value
    if cut.shrink != np.inf:
        if cut.each < 0.0:
            limit = cut.shrink * value + cut.slack
            cut.threshold[size] = min(cut.threshold[size], limit)
        else:
            limit = cut.shrink * (value + cut.each * size) + cut.slack
            for s in range(cut.threshold.size):
                cut.threshold[s] = min(cut.threshold[s], limit - cut.each * s)
    return number + 1


@njit
def note_more(stack, space, f, more, cut, value, number):
    """Note the set of the columns that are in at level f and of the candidates `more`, three
    positions, of which the last may be -1, if with what these cost it is below its threshold.
    Returns the number of notes.
    """
    row, ident, size = space.found[number], stack.ident[f], f
    for a in range(row.size):
        row[a] = stack.into[a] if a < f else -1
    for j in more:
        if j >= 0:
            row[size] = ident[j]
            value += space.entry[ident[j]]
            size += 1
    return note(space, cut, size, value, number) if value < cut.threshold[size] else number


@njit
def note_but(stack, space, f, i, l, cut, value, number):
    """Note the set of all columns of level f but the candidates i and l, if with what they cost it
    is below its threshold. Returns the number of notes.
    """
    row, m, ident, size = space.found[number], stack.m[f], stack.ident[f], f
    row[:] = -1
    for a in range(f):
        row[a] = stack.into[a]
    for a in range(m):
        if a != i and a != l:
            row[size] = ident[a]
            value += space.entry[ident[a]]
            size += 1
    return note(space, cut, size, value, number) if value < cut.threshold[size] else number


@njit
def add_pairs(stack, space, f, j, cut, number):
    """Note sets of the columns that are in at level f, candidate j where j >= 0, and two candidates
    more. Returns the number of notes.

    The loops over all pairs have no division: v < threshold <=> u^2 > (one - threshold) d, of
    several responses the sum of their u^2.
    """
    S, c, m, q = stack.S[f], stack.c[f], stack.m[f], stack.c.shape[1]
    w, d, e, between, gain = space.w, space.d, space.e, space.cost, space.gain
    size, root, value, e1 = f + 2 + (j >= 0), 1.0, stack.R[f], space.e[0]
    if j >= 0:
        row_of(S, j, m, w)
        root = 1.0 / np.sqrt(w[j])
        value -= squares(c, j) / w[j]
    for a in range(m):
        w[a] = root * w[a] if j >= 0 else 0.0
        d[a] = S[a, a] - w[a] * w[a]
    for s in range(q):
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
        if q == 1:
            g = e1[i] * inverse
            for l in range(i):
                t = S[i, l] - r * w[l]
                u = e1[l] - t * g
                hits += u * u > over * (d[l] - t * t * inverse)
        else:
            for l in range(i):
                between[l] = S[i, l] - r * w[l]
                gain[l] = 0.0
            for s in range(q):
                g = e[s, i] * inverse
                for l in range(i):
                    u = e[s, l] - between[l] * g
                    gain[l] += u * u
            for l in range(i):
                hits += gain[l] > over * (d[l] - between[l] * between[l] * inverse)
        if hits == 0:
            continue
        for l in range(i):
            t, more = (S[i, l] - r * w[l]) * inverse, 0.0
            left = d[l] - t * t * d[i]
            for s in range(q):
                u = e[s, l] - t * e[s, i]
                more += u * u
            if l != j and left > 0.0 and one - more / left < cut.threshold[size]:
                number = note_more(stack, space, f, (i, l, j), cut, one - more / left, number)
    return number


@njit
def both_out(B, b, cost, i, l):
    """What leaving out the candidates i and l adds to F; infinite where rounding does not tell."""
    r, more = B[max(i, l), min(i, l)] / B[i, i], 0.0
    left = B[l, l] - r * r * B[i, i]
    for s in range(b.shape[0]):
        u = b[s, l] - r * b[s, i]
        more += u * u
    return cost[i] + more / left if left > 0.0 else np.inf


@njit
def drop_pairs(stack, space, f, cut, number):
    """Note sets of all columns of level f but two candidates. Returns the number of notes."""
    B, b, order, m = stack.B[f], stack.b[f], stack.order[f], stack.m[f]
    size, cost, F = f + m - 2, space.cost, stack.F[f]
    for at in range(m - 1, 0, -1):
        i = order[at]
        if not F + cost[i] < cut.threshold[size]:
            break
        for before in range(at - 1, -1, -1):
            l = order[before]
            if not F + cost[l] < cut.threshold[size]:
                break
            value = F + both_out(B, b, cost, i, l)
            if value < cut.threshold[size]:
                number = note_but(stack, space, f, i, l, cut, value, number)
    return number


# -------------------- nodes


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
    B, b, order, high, m = stack.B[f], stack.b[f], stack.order[f], stack.high[f], stack.m[f]
    cost, gain, least, ident = space.cost, space.gain, stack.least[f], stack.ident[f]
    first, last = max(stack.first[f], f + 2), min(stack.last[f], f + m - 2)
    F, rest, one, paid, joint, share, costs = stack.F[f], 0.0, np.inf, 0.0, np.inf, 0.0, 0.0
    for a in range(m):
        square, delta, entry = squares(b, a), space.delta[ident[a]], space.entry[ident[a]]
        cost[a], gain[a] = square / B[a, a], delta * square - entry
        share, costs, rest = share + delta, costs + entry, rest + delta * square
    sort(order, cost, m, max(last - f + 2, 1))
    by_sum = share > LEAST_SHARE * m or costs > 0.0
    if by_sum:
        for a in range(m if high[0] < 0 else 0):
            high[a] = a
        sort(high, gain, m, last - f)
    else:
        high[0], rest = -1, 0.0
    for t in range(last - f + 1):
        rest -= gain[high[t - 1]] if by_sum and t > 0 else 0.0
        one = min(one, paid + cost[order[t]])
        paid += space.entry[ident[order[t]]]
        if t >= first - f:
            least[f + t] = max(least[f + t], F + max(rest, one))
    some = close_sizes(stack, f, first, last, cut)
    first, last = stack.first[f], stack.last[f]
    if first - f + 1 < PAIRS and some:
        for t in range(min(last - f + 1, PAIRS - 1)):
            i = order[t + 1]
            for a in range(t + 1):
                l = order[a]
                both = both_out(B, b, cost, i, l)
                joint = min(joint, max(both if both < np.inf else 0.0, cost[l]))
            if t >= first - f:
                least[f + t] = max(least[f + t], F + joint)
        some = close_sizes(stack, f, first, last, cut)
    return some


@njit
def leave(stack, f, j, w):
    """Candidate j of level f, whose subtree was visited, leaves."""
    m, c, b = stack.m[f], stack.c[f], stack.b[f]
    stack.F[f] += squares(b, j) / stack.B[f, j, j]
    pivot(stack.B[f], b, j, m, w, stack.B[f], b)
    strike(stack.S[f], j, m)
    for s in range(c.shape[0]):
        c[s, j] = c[s, m - 1]
    renumber(stack.order[f], j, m)
    if stack.high[f, 0] >= 0:
        renumber(stack.high[f], j, m)
    stack.m[f] = m - 1
    stack.ident[f, j], stack.beta[f, j] = stack.ident[f, m - 1], stack.beta[f, m - 1]


@njit
def descend(stack, space, f, j):
    """Open level f + 1, in which candidate j of level f is in."""
    g, m, ident, beta = f + 1, stack.m[f], stack.ident, stack.beta
    pivot(stack.S[f], stack.c[f], j, m, space.w, stack.S[g], stack.c[g])
    copy_without(stack.B[f], stack.b[f], j, m, stack.B[g], stack.b[g])
    for a in range(m):
        ident[g, a], beta[g, a] = ident[f, a], beta[f, a]
        stack.order[g, a], stack.high[g, a] = stack.order[f, a], stack.high[f, a]
    ident[g, j], beta[g, j] = ident[f, m - 1], beta[f, m - 1]
    renumber(stack.order[g], j, m)
    if stack.high[g, 0] >= 0:
        renumber(stack.high[g], j, m)
    for s in range(stack.first[f], stack.last[f] + 1):
        stack.least[g, s] = stack.least[f, s]
    stack.into[f], entry = ident[f, j], space.entry[ident[f, j]]
    stack.R[g] = stack.R[f] - squares(stack.c[f], j) / stack.S[f, j, j] + entry
    stack.F[g], stack.m[g], stack.took[g] = stack.F[f] + entry, m - 1, JOINED
    stack.first[g], stack.last[g] = stack.first[f], stack.last[f]


@njit
def search(stack, space, base, f, cut, work, limit):
    """Go on from level f until nothing is left above level `base`, `work` entries of matrices were
    visited, `limit` nodes were solved, or the notes are full. Returns (f, sets noted, nodes, work
    left).
    """
    number, nodes, room = 0, 0, space.value.size - space.w.size * space.w.size
    q, first, last = stack.c.shape[1], stack.first, stack.last
    while f >= base and work > 0 and nodes < limit and number <= room:
        took = stack.took[f]
        if took >= 0:
            leave(stack, f, took, space.w)
        m = stack.m[f]
        nodes += 1
        work -= 1 + m * (m if q == 1 else m + 2 * q)
        some = m >= 4 and bound(stack, space, f, cut)
        if some and q == 1 and pays(stack, space, f):
            some = tighten(stack, space, f, cut)
            work -= TIGHTENED * m * m
        if not some:
            f -= 1
            continue
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
            work -= m * m if q == 1 else m * m * (1 + q) // 2
        if first[f] > last[f]:
            f -= 1
        elif last[f] > f + 3:
            descend(stack, space, f, best)
            f += 1
    return f, number, nodes, work
