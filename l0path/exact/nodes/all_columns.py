"""The bound of a node over all columns, from products of the working columns with all of them: no
read of X, one compiled call for a node.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...working_set.linear_algebra import subtract_rows
from .penalty import bound, insert, members

MOST_PRODUCTS = 1 << 24  # entries of the products of working columns with all columns, at most


class WholeModel(NamedTuple):
    """The squared loss over all columns."""

    # (rows, p), products of working columns, in their order, with all, less the split
    G: np.ndarray
    q: np.ndarray  # (p,), Z'diag(w)y
    position: np.ndarray  # (p,), the row of each column; -1 for those that do not work
    half: float  # sum w y^2 / 2
    top: float  # the largest square of a column
    gamma: float  # relative rounding of a product


class BoundOverAll(NamedTuple):
    """Arrays that are filled: c = q - G b and h, what each column takes off the bound, (p,); fixed
    (w,): -1 for free working columns that no better model has, 1 for those that all have; entering
    (r,): columns that should become working ones.
    """

    c: np.ndarray
    h: np.ndarray
    fixed: np.ndarray
    entering: np.ndarray


@njit
def bound_over_all(every, penalty, branch, multiplier, W, b, cutoff, found):
    """(bound of a node over all columns, number of columns in `entering`) at the relaxed solution
    b (w,) of the working columns W; penalty and branch.state are those of all columns, (p,).

    A column enters that takes more off the bound than the last of those counted would if the
    working columns were all there are.
    """
    G, q, _, half, top, gamma = every
    c, h, fixed, entering = found
    c[:] = q
    subtract_rows(G, members(b), b, c)
    start, total = half * (1.0 - 8.0 * gamma), 0.0
    for i in range(b.size):
        start -= 0.5 * b[i] * (q[W[i]] - c[W[i]])
        total += abs(b[i])
    size = branch.size
    slack = gamma * (math.sqrt(2.0 * half * top) + total * top)
    best = np.empty(max(size, 1))
    value = bound(start, penalty, branch, multiplier, c, slack, h, best)
    edge, number, last, after = 0.0, 0, 0.0, 0.0
    if size > 0:
        edge, (last, after) = _kth(h, branch.state, W, size), _last(h, branch.state, size)
    if size != 0:
        number = _entering(every, penalty, branch, multiplier, edge, h, entering)
    for i in range(W.size):
        j = W[i]
        fixed[i] = 0
        if branch.state[j] != 0 or not -np.inf < value < cutoff < np.inf:
            continue
        if size < 0:
            cost = multiplier * penalty.factor[j]
            excess = max(h[j] - cost, 0.0)
            out, into = value + excess + cost - h[j] > cutoff, value + excess > cutoff
        else:
            out, into = value + last - h[j] > cutoff, value + h[j] - after > cutoff
        fixed[i] = -1 if out else 1 if into else 0
    return value, number


@njit
def _kth(h, state, W, size):
    """The size-th largest h of the free working columns, 0 where there are fewer."""
    most, held = np.zeros(size), 0
    for i in range(W.size):
        if state[W[i]] == 0:
            held = insert(most, held, size, h[W[i]])
    return most[size - 1]


@njit
def _last(h, state, size):
    """The size-th and the next largest h of all free columns, 0 where there are fewer."""
    most, held = np.zeros(size + 1), 0
    for j in range(h.size):
        if state[j] == 0 and h[j] > 0.0:
            held = insert(most, held, size + 1, h[j])
    return most[size - 1], most[size]


@njit
def _entering(every, penalty, branch, multiplier, edge, h, entering):
    """Fill `entering` with the columns of the largest excess; returns their number."""
    most, held, free = np.zeros(entering.size), 0, -np.inf
    for turn in range(2):
        number = 0
        for j in range(h.size):
            if every.position[j] >= 0 or branch.state[j] != 0:
                continue
            above = h[j] - (
                max(edge, 1e-300) if branch.size >= 0 else multiplier * penalty.factor[j]
            )
            if above > 0.0 and turn == 0:
                held = insert(most, held, most.size, above)
            elif above > 0.0 and above >= free and number < entering.size:
                entering[number] = j
                number += 1
        free = most[held - 1] if held else np.inf
    return number
