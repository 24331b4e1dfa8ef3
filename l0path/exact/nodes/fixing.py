"""Columns that no better model of a node has, or that all have, without a visit of the children
that would show it: by the node's own dual point, and by one point for each child.

At the relaxed solution b some columns A lie between their kinks, with the Hessian H there. In the
child without a column j of A, b_j goes to zero; in the child that has j, the slope of its cost
goes. While the others of A keep their slopes, b moves along column j of inv(H) in both, so that one
matrix product gives the products of all columns with the new residuals of all children. Every b
gives a dual point: its value bounds the child, whether or not the step ends near the child's
optimum.

Source: Guyard, Herzet, Elvira & Arslan (A new branch-and-bound pruning framework for L0-regularized
    problems, ICML 2024) prune children by the dual point of the node; the steps are ours.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ...core.dispatch import njit
from .branching import WHOLE, expected, freed, shares
from .penalty import Branch, bound

CLEAR = 1e-10  # share of a diagonal entry that a clearly positive pivot keeps


class ChildSteps(NamedTuple):
    """The steps to the children of a node."""

    A: np.ndarray  # (a,), columns that move
    at: np.ndarray  # (m,), the places in A of those that are probed
    V: np.ndarray  # (m, a), their rows of inv(H)
    D: np.ndarray  # (m, w), V G_A: what these steps take off c
    # (2, m), what leaving out, and taking in, should add to the bound; -1: not enough
    gain: np.ndarray


class ChildSpace(NamedTuple):
    """Arrays that are filled: c and h (w,) of a child, best (size,), and fixed (m,): -1 for columns
    that no better model has, 1 for those that all have, else 0.
    """

    c: np.ndarray
    h: np.ndarray
    best: np.ndarray
    fixed: np.ndarray


def fixed_by_value(value, h, free, cutoff, cost=None, top=None):
    """(out, into), (w,) bool: free columns with which, or without which, no model of the node is
    below the cutoff (see `relaxation.safe_rules`).

    value: a bound of the node, of which the columns take off h each, the free ones up to their
    number that may come in, or what exceeds their cost (w,); top, for sizes: the gains of all free
    columns, that number + 1 of the largest.
    """
    if not -np.inf < value < cutoff < np.inf:
        return np.zeros((2, h.size), dtype=bool)
    if cost is not None:
        excess = np.maximum(h - cost, 0.0)
        return free & (value + excess + cost - h > cutoff), free & (value + excess > cutoff)
    out = free & (value + top[-2] - np.maximum(h, 0.0) > cutoff)
    return out, free & (value + h - top[-1] > cutoff)


def fixed_by_steps(loss, penalty, branch, point, limits):
    """(out, into), (w,) bool: columns with 0 < z < 1 with which, or without which, no model of the
    node is below the cutoff.
    """
    value = point.value
    z = shares(penalty, point.multiplier * penalty.factor, branch.state, point.b)
    masks = np.zeros((2, z.size), dtype=bool)
    A, V = directions(loss.G, penalty, branch.state, point.b, z)
    if not A.size or not -np.inf < value < limits.cutoff < np.inf:
        return masks
    gain = np.empty((2, A.size))
    expected(penalty, point, A, V.diagonal().copy(), z, gain)
    gain[value + gain <= limits.cutoff] = -1.0
    at = np.flatnonzero((gain > 0.0).any(axis=0))
    if at.size:
        steps = ChildSteps(A, at, V[at], V[at] @ loss.G[A], np.ascontiguousarray(gain[:, at]))
        fixed = np.zeros(at.size, dtype=np.int8)
        space = ChildSpace(*np.empty((2, z.size)), np.empty(max(branch.size, 1)), fixed)
        fix(loss, penalty, branch, point, steps, limits, space)
        masks[0, A[at[fixed < 0]]], masks[1, A[at[fixed > 0]]] = True, True
    return masks


def directions(G, penalty, state, b, z):
    """(A, inv(H)): the columns that are neither zero nor at their bounds; none where H is not
    clearly positive definite.
    """
    A = np.flatnonzero((b != 0) & (b > penalty.lower) & (b < penalty.upper))
    none = A[:0], np.empty((0, 0))
    if not A.size:
        return none
    H, at = G[np.ix_(A, A)], np.arange(A.size)
    linear = (state[A] == 0) & (z[A] < 1.0 - WHOLE)
    H[at, at] += np.where(linear, 0.0, 2.0 * penalty.ridge[A])
    diagonal = H[at, at]
    L, weak = dpotrf(H, lower=1)
    if weak or (L[at, at] ** 2 <= CLEAR * diagonal).any():
        return none
    V = dpotri(L, lower=1)[0]
    V += V.T  # above the diagonal it was zero
    V[at, at] *= 0.5
    return A, V


@njit
def fix(loss, penalty, branch, point, steps, limits, space):
    """Fill `space.fixed` for the probed columns."""
    state, size = branch.state, branch.size
    for i in range(steps.at.size):
        j, v = steps.A[steps.at[i]], steps.V[i, steps.at[i]]
        space.fixed[i] = 0
        if steps.gain[0, i] > 0.0:
            state[j] = -1
            step = -point.b[j] / v
            value = bound_after(loss, penalty, branch, point, (steps, i, step), limits.gamma, space)
            space.fixed[i] = 1 if value > limits.cutoff else 0
        if space.fixed[i] == 0 and steps.gain[1, i] > 0.0:
            state[j] = 1
            step = freed(penalty, point, j, v)[0]
            step = step if point.b[j] > 0.0 else -step
            child = Branch(state, size - 1 if size > 0 else size)
            value = bound_after(loss, penalty, child, point, (steps, i, step), limits.gamma, space)
            space.fixed[i] = -1 if value > limits.cutoff else 0
        state[j] = 0


@njit
def bound_after(loss, penalty, branch, point, move, gamma, space):
    """A bound of the node `branch`: the dual value at b + step inv(H) e_j, move = (steps, the place
    of j, step).
    """
    steps, i, step = move
    b, q, c = point.b, loss.q, space.c
    start, total, top, reach = loss.half, 0.0, 0.0, 0.0
    for j in range(c.size):
        c[j] = point.c[j] - step * steps.D[i, j]
        start -= 0.5 * b[j] * (q[j] - c[j])
        total += abs(b[j])
        top, reach = max(top, loss.G[j, j]), max(reach, abs(q[j]))
    for l in range(steps.A.size):
        j, d = steps.A[l], step * steps.V[i, l]
        start -= 0.5 * d * (q[j] - c[j])
        total += abs(d)
    slack = 2.0 * gamma * (reach + total * top)  # of c, a sum of two products
    start -= 8.0 * gamma * loss.half + total * slack
    return bound(start, penalty, branch, point.multiplier, c, slack, space.h, space.best)
