"""The columns of a node that may be nonzero, alone: sweeps of coordinate descent over them, where
their coefficients lie, and what these cost.
"""

from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...working_set.linear_algebra import subtract_rows
from .penalty import (
    EDGE,
    LINEAR,
    QUADRATIC,
    ZERO,
    Penalty,
    QuadraticLoss,
    members,
    move,
    shape,
)


class Inside(NamedTuple):
    """The m columns that may be nonzero, alone."""

    loss: QuadraticLoss
    penalty: Penalty
    state: np.ndarray  # (m,)
    b: np.ndarray  # (m,), coefficients
    c: np.ndarray  # (m,), q - G b
    part: np.ndarray  # (m,), where b lies


@njit
def gathered(loss, penalty, branch, A, found):
    """The columns A as an `Inside`, at b and c of `found`; their parts are not known."""
    m = A.size
    G, v = np.empty((m, m)), np.empty((7, m))
    state, part = np.empty(m, dtype=np.int8), np.empty(m, dtype=np.int64)
    for i in range(m):
        j = A[i]
        row = loss.G[j]
        for l in range(i + 1):
            G[i, l] = row[A[l]]
            G[l, i] = G[i, l]
        v[0, i], v[1, i], v[2, i] = penalty.ridge[j], penalty.lower[j], penalty.upper[j]
        v[3, i], v[4, i], v[5, i], v[6, i] = penalty.factor[j], loss.q[j], found.b[j], found.c[j]
        state[i], part[i] = branch.state[j], ZERO
    costs = Penalty(penalty.lambda1, v[0], v[1], v[2], v[3])
    return Inside(QuadraticLoss(G, v[4], loss.half), costs, state, v[5], v[6], part)


@njit
def edge_of(penalty, j, b):
    """The box of column j on the side of b."""
    return penalty.upper[j] if b > 0.0 else -penalty.lower[j]


@njit
def sweep(at, multiplier, every):
    """One pass of coordinate descent over all columns, or over those at zero or at their bounds; b,
    c and the parts of these are kept up. Returns the largest change of the objective a move has
    made.
    """
    loss, penalty, state, b, c, part = at
    ridge, lower, upper, largest = penalty.ridge, penalty.lower, penalty.upper, 0.0
    for j in range(b.size):
        if not every and b[j] != 0.0 and lower[j] < b[j] < upper[j]:
            continue
        row = loss.G[j]
        t = c[j] + row[j] * b[j]
        side = 1.0 if t > 0.0 else -1.0
        size, part[j] = move(
            abs(t) - penalty.lambda1,
            row[j],
            multiplier * penalty.factor[j],
            ridge[j],
            upper[j] if t > 0.0 else -lower[j],
            state[j] == 0,
        )
        step = side * size - b[j]
        if step != 0.0:
            b[j] += step
            for l in range(c.size):
                c[l] -= step * row[l]
            largest = max(largest, (row[j] + 2.0 * ridge[j]) * step * step)
    return largest


@njit
def place(at, multiplier):
    """Fill in the parts on which b lies; returns how many are not what they were."""
    penalty, changed = at.penalty, 0
    for j in range(at.b.size):
        size, part, box = abs(at.b[j]), QUADRATIC, edge_of(penalty, j, at.b[j])
        if at.state[j] == 0 and size == 0.0:
            part = ZERO
        elif (
            at.state[j] == 0
            and size < shape(multiplier * penalty.factor[j], penalty.ridge[j], box)[0]
        ):
            part = LINEAR
        elif size >= box:
            part = EDGE
        changed += at.part[j] != part
        at.part[j] = part
    return changed


@njit
def refresh(at):
    """Compute c = q - G b."""
    q, c = at.loss.q, at.c
    for j in range(c.size):
        c[j] = q[j]
    subtract_rows(at.loss.G, members(at.b), at.b, c)


@njit
def bounds_hold(at, multiplier):
    """Whether the columns at their bounds stay there. c must be that of b."""
    penalty = at.penalty
    for j in range(at.b.size):
        if at.part[j] == EDGE:
            side = 1.0 if at.b[j] > 0.0 else -1.0
            curvature, box = at.loss.G[j, j], edge_of(penalty, j, at.b[j])
            reduced = side * at.c[j] + curvature * abs(at.b[j]) - penalty.lambda1
            cost, free = multiplier * penalty.factor[j], at.state[j] == 0
            if move(reduced, curvature, cost, penalty.ridge[j], box, free)[1] != EDGE:
                return False
    return True


@njit
def leap(at, step):
    """Take the whole step; a linear column whose sign would turn stops at zero."""
    b, penalty = at.b, at.penalty
    for j in range(b.size):
        to = b[j] + step[j]
        if at.part[j] == LINEAR and to * b[j] <= 0.0:
            to = 0.0
        b[j] = min(max(to, penalty.lower[j]), penalty.upper[j])


@njit
def total(at, multiplier):
    """Sum of z over the free columns at the given multiplier."""
    penalty, b, out = at.penalty, at.b, 0.0
    for j in range(b.size):
        if at.state[j] == 0 and b[j] != 0.0:
            box = edge_of(penalty, j, b[j])
            rho = shape(multiplier * penalty.factor[j], penalty.ridge[j], box)[0]
            out += min(abs(b[j]) / rho, 1.0) if rho > 0.0 else 1.0
    return out


@njit
def cost(at, multiplier):
    """The penalty of b at the given multiplier."""
    penalty, b, out = at.penalty, at.b, 0.0
    for j in range(b.size):
        size = abs(b[j])
        if size > 0.0:
            each = multiplier * penalty.factor[j] if at.state[j] == 0 else 0.0
            rho, slope = shape(each, penalty.ridge[j], edge_of(penalty, j, b[j]))
            out += penalty.lambda1 * size
            out += slope * size if size < rho else each + penalty.ridge[j] * size * size
    return out


@njit
def search(at, multiplier, step):
    """Take the largest of the shares 1, 1/2, 1/4, ... of the step that lowers the objective at a
    fixed multiplier, or none.
    """
    b, penalty, loss = at.b, at.penalty, at.loss
    before, start, share = cost(at, multiplier), b.copy(), 1.0
    for _ in range(12):
        for j in range(b.size):
            b[j] = min(max(start[j] + share * step[j], penalty.lower[j]), penalty.upper[j])
            if b[j] * start[j] < 0.0:
                b[j] = 0.0
        change = 0.0
        for j in range(b.size):
            d = b[j] - start[j]
            if d != 0.0:
                row = loss.G[j]
                change -= d * loss.q[j]
                for l in range(b.size):
                    change += d * row[l] * (start[l] + 0.5 * (b[l] - start[l]))
        if change + cost(at, multiplier) < before:
            return
        share *= 0.5
    for j in range(b.size):
        b[j] = start[j]
