"""Depth-first search of the best subsets of all sizes for several responses: verbs of its nodes.

The tree, the bounds and the search are those of `kernel`, and so are the records, in which c and b
are (levels, q, p), a row for each of q responses. The value of a set is a sum over the responses,
and so is what columns cost when they leave. A bound for every response adds up to one for their
sum: wherever `kernel` has the square of an entry of c or b, here is the sum of the squares. There
is no perspective relaxation.
"""

import numpy as np

from ...core.dispatch import njit
from ..nodes.leaps import copy_without, pivot, row_of
from .kernel import (
    OpenNodes,
    add_pairs,
    close_by_relaxation,
    costs,
    drop_pairs,
    entries,
    joint_cost,
    note_but,
    note_more,
    take_in,
    take_out,
)


class OpenResponses(OpenNodes):
    """`OpenNodes` of several responses."""


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


@add_pairs.register(OpenResponses)
def open_responses_add_pairs(stack, space, f, j, cut, number):
    """The loops over all pairs have no division: v < threshold <=> sum of u^2 > (one - threshold)
    d.
    """
    S, c, m = stack.S[f], stack.c[f], stack.m[f]
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
                value_of_both = one - gain[l] / left
                number = note_more(stack, space, f, (i, l, j), cut, value_of_both, number)
    return number


@drop_pairs.register(OpenResponses)
def open_responses_drop_pairs(stack, space, f, cut, number):
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
            r = B[max(i, l), min(i, l)] / B[i, i]
            left, more = B[l, l] - r * r * B[i, i], 0.0
            for s in range(b.shape[0]):
                u = b[s, l] - r * b[s, i]
                more += u * u
            if left > 0.0 and one + more / left < cut.threshold[size]:
                number = note_but(stack, space, f, i, l, cut, one + more / left, number)
    return number


@costs.register(OpenResponses)
def open_responses_costs(stack, space, f):
    B, b, ident = stack.B[f], stack.b[f], stack.ident[f]
    for a in range(stack.m[f]):
        space.gain[a] = squares(b, a)
        space.cost[a] = space.gain[a] / B[a, a]
        space.gain[a] *= space.delta[ident[a]]


@joint_cost.register(OpenResponses)
def open_responses_joint_cost(stack, space, f, last, least):
    B, b, cost, order = stack.B[f], stack.b[f], space.cost, stack.order[f]
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


@close_by_relaxation.register(OpenResponses)
def open_responses_close_by_relaxation(stack, space, f, cut):
    return True, 0


@take_out.register(OpenResponses)
def open_responses_take_out(stack, f, j, w):
    m = stack.m[f]
    stack.F[f] += squares(stack.b[f], j) / stack.B[f, j, j]
    pivot_all(stack.B[f], stack.b[f], j, m, w, stack.B[f], stack.b[f])
    for s in range(stack.c.shape[1]):
        stack.c[f, s, j] = stack.c[f, s, m - 1]


@take_in.register(OpenResponses)
def open_responses_take_in(stack, f, j, w):
    g, m, b = f + 1, stack.m[f], stack.b
    pivot_all(stack.S[f], stack.c[f], j, m, w, stack.S[g], stack.c[g])
    copy_without(stack.B[f], b[f, 0], j, m, stack.B[g], b[g, 0])
    for s in range(1, b.shape[1]):
        for a in range(m):
            b[g, s, a] = b[f, s, a]
        b[g, s, j] = b[g, s, m - 1]
    stack.R[g] = stack.R[f] - squares(stack.c[f], j) / stack.S[f, j, j]


@entries.register(OpenResponses)
def open_responses_entries(stack, m, pairs):
    q = stack.c.shape[1]
    return m * m * (1 + q) // 2 if pairs else m * (m + 2 * q)
