"""The parts of a search by leaps and bounds: columns that are combinations of others split it, and
columns that every set has join before it begins.
"""

import math

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular

from ...problem.problem import EPS

# pivot of a unit column given others, below which it counts as a combination of them
DEPENDENT = 1e-8
NOTHING = 1e-13  # pivot below which a column adds nothing, as in refits
MOST_SUBTREES = 1 << 16  # parts of a search at most
MOST_COLUMNS = 200  # columns at most: every open level holds two matrices


class Subtree:
    """A search to be done: columns that are in, ident of the m candidates, S (m, m) their Schur
    complement, B, c, b, value of the columns that are in, their cost member_cost, and least, a
    bound. c, b (m,), or (m, q) for q responses.
    """

    def __init__(self, into, ident, S, c, value, entry_cost, *, spread=0.0):
        """entry_cost: of all columns; spread: of the columns that are in, see `hold`."""
        self.into, self.ident, self.S, self.c, self.value = into, ident, S, c, value
        self.member_cost = float(entry_cost[list(into)].sum())
        L = np.linalg.cholesky(S) if ident.size else np.empty((0, 0))
        half = solve_triangular(L, np.eye(ident.size), lower=True) if ident.size else L
        self.B = half.T @ half
        self.b = half.T @ (half @ c)
        self.full = value - float(np.sum((half @ c) ** 2))
        self.least = self.full + self.member_cost
        self.spread = float(np.sqrt(np.maximum(np.diag(self.B), 1.0)).sum()) + spread

    def rounding(self, columns, held, half):
        """A bound on the rounding of values: see `AllSizes`. half: the value without columns; held:
        the spread of columns that every set has, see `hold`.
        """
        return (columns + 16) * EPS * half * (held + self.spread) ** 2


def subtrees(S, c, value, entry_cost, most, alone):
    """The `Subtree`s of a search, split at candidates that are combinations of others, until none
    is left: those that are in make others add nothing. One after another, as they are asked for.

    most: columns of a set; alone: sets with columns that add nothing are not wanted.
    """
    todo = [((), np.arange(len(S)), S, c, value, 0.0)]
    while todo:
        into, at, S, c, value, spread = todo.pop()
        nothing = np.diag(S) <= NOTHING
        if nothing.any() and alone:
            at, S, c = at[~nothing], S[np.ix_(~nothing, ~nothing)], c[~nothing]
        rank, order = _rank(S)
        if rank == at.size:
            yield Subtree(into, at, S, c, value, entry_cost, spread=spread)
            continue
        d = order[rank]
        rest = np.arange(at.size) != d
        if len(into) < most:
            T, x, v = swept(S, c, value, d)
            more = spread + _stretch(S[d, d])
            todo.append(((*into, int(at[d])), at[rest], T[np.ix_(rest, rest)], x[rest], v, more))
        todo.append((into, at[rest], S[np.ix_(rest, rest)], c[rest], value, spread))


def parts_of(spare, most):
    """About how many parts without dependent columns a search has, for so many spare ones."""
    return sum(math.comb(spare, among) for among in range(min(spare, most) + 1))


def refused_where_too_dependent(S, most):
    """Number of columns that are combinations of others; ValueError where that makes too many
    parts.
    """
    spare = len(S) - _rank(S)[0]
    if parts_of(spare, most) > MOST_SUBTREES:
        raise ValueError(
            f"too many of {len(S)} features are linear combinations of others for leaps and "
            "bounds; search by branch and bound, or use a ridge (lambda2=1e-3)"
        )
    return spare


def hold(S, c, value, held):
    """(S, c, value, spread) after the columns `held` have joined; spread: the sum of 1 / length
    that each keeps beside those before, by which rounding of what they explain grows.
    """
    spread = 0.0
    for j in held:
        spread += _stretch(S[j, j])
        S, c, value = swept(S, c, value, j)
    return S, c, value, spread


def _stretch(pivot):
    """By how much rounding grows where a column of this pivot joins: 1 / the length that it keeps
    beside those before.
    """
    return 1.0 / math.sqrt(pivot) if pivot > NOTHING else 1.0


def swept(S, c, value, j):
    """S, c and the value after column j has joined; a column that others explain adds nothing."""
    if S[j, j] <= NOTHING:
        return S, c, value
    r = S[:, j] / S[j, j]
    c_j = c[j]  # a number, or one for each response
    less = float(np.vdot(c_j, c_j)) / S[j, j]
    return S - np.outer(r, S[j]), c - np.multiply.outer(r, c_j), value - less


def _rank(S):
    """(rank, order): columns `order` of which the first `rank` explain the others up to DEPENDENT
    of their squares.
    """
    if not S.size:
        return 0, np.empty(0, dtype=np.int64)
    _, order, rank, _ = get_lapack_funcs("pstrf", (S,))(S, tol=DEPENDENT, lower=1)
    return int(rank), order - 1
