"""The best least squares models of some sizes, by computing all of them from the rows of X: it
serves columns that are combinations of others, exactly or nearly, and more columns than rows.

A set of columns grows one by one, in the order of the columns. With each that joins, what it
explains is taken off those after it and off y (modified Gram-Schmidt, y as a column of its own): a
set costs as many operations as a triangular factor of X has rows, and its condition is not squared,
as it would be by a Gram matrix. With e_j what is left of column j beside a set T, and r of y,

    value of T and j  =  value of T - (e_j'r)^2 / (2 e_j'e_j).

Rounding moves a value by at most about eps v0 sum_j 1 / |e_j| over the columns that joined, v0 the
value of no columns. A set whose value may be wanted up to that is refitted from the rows.

Source: Bjorck, BIT 7 (1967), on modified Gram-Schmidt for least squares.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...core.status import SearchEnd
from ...core.threads import one_blas_thread
from ...problem.problem import EPS
from .scores import Offers

MOST_MODELS = 1e7  # models that are computed at most
HELD_ENTRIES = 1 << 25  # entries of what is left of columns, over all levels: 256 MB
FIRST_MODELS, MODELS_BETWEEN_POLLS = 20_000, 1_000_000
NOTES = 2048  # sets that a kernel notes at a time
# length that columns leave of a unit column, below which it may be none at all where rounding is as
# large
NO_LENGTH = 1e-10
# sum of 1 / length of the columns of a set from which its value, by the best of fits, may be off by
# more than the 1e-6 of a claim, because columns are rounded before anything is computed (against
# rational numbers: 5e-6 at 1e11, 1e-6 at 1e10, 1e-7 at 1e9)
UNSURE = 3e9


class OpenSets(NamedTuple):
    """Sets under way; those of level f have f columns. L levels, m columns, q responses."""

    E: np.ndarray  # (L, m, r), what is left of each column
    y: np.ndarray  # (L, q, r), what is left of the responses
    value: np.ndarray  # (L,)
    spread: np.ndarray  # (L,), the sum of 1 / length of the columns that joined
    at: np.ndarray  # (L,), the next column of each
    into: np.ndarray  # (L,), the columns that joined


class Noted(NamedTuple):
    """Sets noted: value, slack (notes,), what rounding may have made of it, and columns (notes,
    size).
    """

    value: np.ndarray
    slack: np.ndarray
    columns: np.ndarray


@njit
def compare(sets, f, cut, rounding, limit, noted):
    """Go on with the sets of as many columns as there are levels, for `limit` models, or until the
    notes are full. A set is noted whose value less its slack is below `cut`; rounding: of lengths
    and of values, for a spread of 1.

    Returns
    -------
    f, number, models
        The level that is open, -1 for none; sets noted; models computed.
    """
    m, r, q = sets.E.shape[1], sets.E.shape[2], sets.y.shape[1]
    size, number, models, parts, (unit, scale) = sets.at.size, 0, 0, 0, rounding
    while f >= 0 and models + parts < limit:
        if f == size - 1:
            j = sets.at[f]
            while j < m and number < noted.value.size:
                value, more = sets.value[f], 0.0
                square = 0.0
                for i in range(r):
                    square += sets.E[f, j, i] * sets.E[f, j, i]
                length = math.sqrt(square)
                if length > unit * sets.spread[f]:
                    more = 1.0 / length
                    for a in range(q):
                        product = 0.0
                        for i in range(r):
                            product += sets.E[f, j, i] * sets.y[f, a, i]
                        value -= 0.5 * product * product / square
                elif unit * sets.spread[f] > NO_LENGTH:
                    more = math.inf  # nobody knows
                slack = scale * (sets.spread[f] + more)
                if value - slack < cut:
                    noted.value[number], noted.slack[number] = value, slack
                    for i in range(size - 1):
                        noted.columns[number, i] = sets.into[i]
                    noted.columns[number, size - 1] = j
                    number += 1
                models += 1
                j += 1
            sets.at[f] = j
            if j < m:
                return f, number, models
            f -= 1
            continue
        new = sets.at[f]
        if new > m - (size - f):
            f -= 1
            continue
        sets.at[f], sets.at[f + 1], sets.into[f] = new + 1, new + 1, new
        _join(sets, f, new, unit)
        f += 1
        parts += 1
    return f, number, models


@njit
def _join(sets, f, new, unit):
    """What is left after column `new` has joined the set of level f, on the next level."""
    m, r, q = sets.E.shape[1], sets.E.shape[2], sets.y.shape[1]
    square = 0.0
    for i in range(r):
        square += sets.E[f, new, i] * sets.E[f, new, i]
    length = math.sqrt(square)
    nothing = not length > unit * sets.spread[f]
    sets.value[f + 1], sets.spread[f + 1] = sets.value[f], sets.spread[f]
    if not nothing:
        sets.spread[f + 1] += 1.0 / length
    elif unit * sets.spread[f] > NO_LENGTH:
        sets.spread[f + 1] = math.inf
    for a in range(q):
        product = 0.0
        for i in range(r):
            product += sets.E[f, new, i] * sets.y[f, a, i]
        share = 0.0 if nothing else product / square
        if not nothing:
            sets.value[f + 1] -= 0.5 * product * share
        for i in range(r):
            sets.y[f + 1, a, i] = sets.y[f, a, i] - share * sets.E[f, new, i]
    for j in range(new + 1, m):
        product = 0.0
        if not nothing:
            for i in range(r):
                product += sets.E[f, new, i] * sets.E[f, j, i]
            product /= square
        for i in range(r):
            sets.E[f + 1, j, i] = sets.E[f, j, i] - product * sets.E[f, new, i]


def models_of(count, sizes):
    """The number of sets of these sizes of so many columns."""
    return sum(math.comb(count, int(s)) for s in sizes)


def enumerable(problem, sizes):
    """Whether `Enumeration` serves sets of these sizes of the columns of a problem."""
    count = problem.units_to_choose
    largest = max(sizes, default=0)
    return (
        problem.closed_form(0.0)
        and problem.groups is None
        and count * float(min(problem.X.n, count + 1)) * max(largest, 1) <= HELD_ENTRIES
        and models_of(count, sizes) <= MOST_MODELS
    )


class Enumeration(Offers):
    """One search (`enumerable`), with what `AllSizes` has: lambda2; wanted: `SetsWanted`, asked for
    the sizes that are searched.

    nodes: models computed; operations: entries of what is left of columns that were read. `run` may
    be called again to go on.
    """

    def __init__(self, problem, lambda2, wanted):
        super().__init__(wanted)
        self.problem, self.lambda2, self.nodes = problem, lambda2, 0
        self.held, self.J = problem.held_units, np.flatnonzero(problem.free_units)
        self.most = self.J.size
        with one_blas_thread():
            self._leave_held()
        self.todo = np.flatnonzero(wanted.cutoffs(self.J.size + 1) > -math.inf).tolist()[::-1]
        self.total = models_of(self.J.size, self.todo)
        self.portion, self.sets, self.f = FIRST_MODELS, None, -1

    def _leave_held(self):
        """Set what the held columns leave: E (m, r), y (q, r), value, spread; the columns in the
        order of what each adds alone, and what the columns from each on leave of y in all.
        """
        problem, root = self.problem, np.sqrt(self.problem.weights)
        both = np.concatenate([self.held, self.J])
        A, Y = root[:, None] * problem.X.columns(both), problem.y.reshape(problem.X.n, -1)
        Y = root[:, None] * Y
        if self.lambda2:
            A = np.vstack([A, math.sqrt(2.0 * self.lambda2) * np.eye(both.size)])
            Y = np.vstack([Y, np.zeros((both.size, Y.shape[1]))])
        A /= np.sqrt((A**2).sum(axis=0))
        self.half, beyond = 0.5 * float((Y**2).sum()), 0.0
        if A.shape[0] > both.size:
            Q, A = np.linalg.qr(A)
            inside = Q.T @ Y
            beyond, Y = 0.5 * float(((Y - Q @ inside) ** 2).sum()), inside
        A, Y = np.ascontiguousarray(A.T), np.ascontiguousarray(Y.T)
        # rounding of lengths, and of values, for a spread of 1
        self.unit = 16.0 * (A.shape[1] + 16.0) * EPS
        self.margin = self.unit * self.half
        spread = 1.0
        for i in range(self.held.size):
            spread, Y, less = self._after(A, Y, i, spread)
            A[i + 1 :] = less
        A = A[self.held.size :]
        gain = ((A @ Y.T) ** 2).sum(axis=1) / np.maximum((A**2).sum(axis=1), 1e-300)
        order = np.argsort(-gain, kind="stable")
        self.J, self.E, self.y = self.J[order], np.ascontiguousarray(A[order]), Y
        self.value, self.spread = beyond + 0.5 * float((Y**2).sum()), spread
        self.suffix = self._suffixes(beyond)

    def _after(self, A, Y, i, spread):
        """(spread, Y, A after column i) when that joins."""
        length = float(np.sqrt(A[i] @ A[i]))
        if not length > self.unit * spread:
            return math.inf if self.unit * spread > NO_LENGTH else spread, Y, A[i + 1 :]
        e = A[i] / length
        Y = Y - np.outer(Y @ e, e)
        return spread + 1.0 / length, Y, A[i + 1 :] - np.outer(A[i + 1 :] @ e, e)

    def _suffixes(self, beyond):
        """(m + 1,) what no set of the columns from each on is below: what all of them leave; 0 from
        where rounding decides.
        """
        out = np.zeros(self.J.size + 1)
        A, Y, spread = self.E[::-1].copy(), self.y, self.spread
        out[-1] = self.value
        for i in range(self.J.size):
            spread, Y, A = self._after(A, Y, 0, spread)
            if self.unit * spread > NO_LENGTH**0.5:
                break
            left = beyond + 0.5 * float((Y**2).sum())
            out[self.J.size - 1 - i] = max(left - self.margin * spread, 0.0)
        return out

    def lower(self):
        """(sizes,): lower bounds, by size, on the sets that were not offered; -inf for sizes that
        are not wanted.
        """
        out = self.wanted.cutoffs(self.J.size + 1)
        if self.unknown:
            return np.minimum(out, 0.0)
        out[self.todo] = np.minimum(out[self.todo], self.suffix[0])
        if self.f >= 0:
            size, first = self.sets.at.size, max(int(self.sets.at[0]) - 1, 0)
            out[size] = min(out[size], self.suffix[first])
        return out

    def told(self):
        """What was searched, as a text."""
        if self.nodes >= self.total:
            return f"all {self.nodes} models compared"
        done = ", the others are bounded" if self.f < 0 and not self.todo else ""
        return f"{self.nodes} of {self.total} models compared{done}"

    def run(self, budget=math.inf, poll=None):
        """Compute models until all are ("closed"), so many operations are done ("node_limit"), or
        poll() is True ("stopped"); "too_close" where a fit proves nothing.
        """
        with one_blas_thread():
            while self.f >= 0 or self.todo:
                if poll is not None and poll():
                    return SearchEnd.STOPPED
                if self.operations >= budget:
                    return SearchEnd.NODE_LIMIT
                if self.f < 0:
                    self._begin(self.todo.pop())
                else:
                    self._go_on(budget)
        return SearchEnd.TOO_CLOSE if self.unknown else SearchEnd.CLOSED

    def _begin(self, size):
        """Begin the sets of a size."""
        if not size:
            self.know(self.held)
            self.nodes += 1
            return
        m, r, q = *self.E.shape, len(self.y)
        self.sets = OpenSets(
            np.empty((size, m, r)),
            np.empty((size, q, r)),
            np.empty(size),
            np.empty(size),
            np.zeros(size, dtype=np.int64),
            np.zeros(size, dtype=np.int64),
        )
        self.sets.E[0], self.sets.y[0] = self.E, self.y
        self.sets.value[0], self.sets.spread[0] = self.value, self.spread
        self.noted = Noted(
            np.empty(NOTES), np.empty(NOTES), np.empty((NOTES, size), dtype=np.int64)
        )
        self.f = 0

    def _go_on(self, budget):
        """Compute a portion of the models of a size, and offer those that may be wanted."""
        size, rows, rounding = self.sets.at.size, self.E.shape[1], (self.unit, self.margin)
        cut = self.wanted.cutoffs(self.J.size + 1)[size]
        if not self.suffix[max(int(self.sets.at[0]) - 1, 0)] < cut:
            self.f = -1  # nothing that is left can be wanted
            return
        portion = int(min(self.portion, (budget - self.operations) / rows + 1.0))
        self.f, number, models = compare(self.sets, self.f, cut, rounding, portion, self.noted)
        self.portion = min(2 * self.portion, MODELS_BETWEEN_POLLS)
        self.nodes, self.operations = self.nodes + models, self.operations + float(models) * rows
        value, slack = self.noted.value[:number], self.noted.slack[:number]
        for i in np.argsort(value, kind="stable"):
            if value[i] - slack[i] < self.wanted.cutoffs(self.J.size + 1)[size]:
                self.know(np.concatenate([self.held, self.J[self.noted.columns[i]]]))
                self.unknown = self.unknown or slack[i] > UNSURE * self.margin
