"""The best exchanges of one fit by a quadratic at it: exact for the squared loss without lambda1
and box, a ranking elsewhere.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..compiled import views
from ..core.dispatch import njit
from ..working_set.linear_algebra import COLLINEAR
from .response_table import scan_responses
from .table import EQUAL, NONE, START, ExchangeList, _keep, ascending

NEVER = 1e300  # the cost of a column that may not enter
TOGETHER = 32  # columns that `scan` ranks side by side


class Candidate(NamedTuple):
    """An exchange: drop the column `out` (-1: none), add the column `into` (-1: none); `change` is
    what the quadratic predicts for F.
    """

    change: float
    out: int
    into: int


class Candidates(Sequence):
    """Exchanges of one fit, ascending: a sequence of Candidate that is kept as arrays, for a fit
    may have hundreds of which none is looked at alone.

    change, out, into : ndarray of shape (m,)
    """

    def __init__(self, change, out, into):
        self.change, self.out, self.into = change, out, into

    def __len__(self):
        return self.change.size

    def __getitem__(self, at):
        return Candidate(float(self.change[at]), int(self.out[at]), int(self.into[at]))

    def of(self, which):
        """Some of them."""
        return Candidates(self.change[which], self.out[which], self.into[which])


def entering(found):
    """The columns that enter by `Candidates` of several fits, ascending."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *(one.into for one in found)]))


class Wanted(NamedTuple):
    """The exchanges of a fit that a caller asks for.

    Parameters
    ----------
    target : float
        What an addition must lower F by, beside the cost of its column. It is entered as target +
        cost - gain.
    ceiling : float
        What the change by a swap must stay below.
    count : int
        How many are wanted; those of lowest change.
    swaps : bool
        Whether swaps count, or additions only.
    """

    target: float
    ceiling: float
    count: int
    swaps: bool = True


class Roles(NamedTuple):
    """The part that m columns and the k members of a support may take in exchanges: skip (m,) may
    not enter, cost (m,) lambda0 f of entering; locked (k,) stays, member_cost (k,)
    lambda0 f of members.
    """

    skip: np.ndarray
    locked: np.ndarray
    cost: np.ndarray
    member_cost: np.ndarray


class ExchangeRule(NamedTuple):
    """The rule by which exchanges are compared."""

    lambda1: float
    lambda2: float
    dependent: bool  # whether combinations of a support count
    target: float  # by how much an addition must lower F, beside the cost of its column
    ceiling: float  # below which the change by a swap must be
    tie: float  # by how much changes may differ that count as equal


class Bounds(NamedTuple):
    """A range of columns, first..last, and the bound that a change must stay below."""

    first: int
    last: int
    below: float


def entry_costs(factor, lambda0):
    """lambda0 f_j for factors f, an array; NEVER where f_j is infinite."""
    if not lambda0:
        return np.zeros(factor.size)
    return np.where(np.isfinite(factor), lambda0 * np.minimum(factor, NEVER), NEVER)


def roles(problem, fit, J, lambda0):
    """The `Roles` of columns J (indices) in exchanges of a fit."""
    S, may_enter = fit.support, problem.usable.copy()
    may_enter[S] = False
    skip, locked = ~may_enter[J], problem.locked(S)
    if not lambda0:
        return Roles(skip, locked, np.zeros(J.size), np.zeros(S.size))
    member_cost = np.where(locked, 0.0, lambda0 * problem.factor[S])
    return Roles(skip, locked, entry_costs(problem.factor[J], lambda0), member_cost)


def combinations_count(model, penalty):
    """Whether columns that are combinations of a support can improve it: signs, bounds or near
    combinations matter.
    """
    return bool(penalty.lambda1 or model.boxed or model.near is not None)


def new_list(*shape):
    """Room for exchanges: (change, column, position)."""
    return np.empty(shape), np.empty(shape, np.int64), np.empty(shape, np.int64)


def scanned(model, fit, quadratic, columns, penalty, wanted):
    """(change, column, position) of the best exchanges of a fit with `columns` (indices, which the
    columns of the quadratic stand for), ascending: numbers of `columns`, and positions in the
    support, -1 for an addition.
    """
    part = roles(model.problem, fit, columns, penalty.lambda0)
    if not wanted.swaps:
        part = part._replace(locked=np.ones_like(part.locked))
    model.tables += 1
    rule = ExchangeRule(
        penalty.lambda1,
        penalty.lambda2,
        combinations_count(model, penalty),
        wanted.target,
        wanted.ceiling,
        EQUAL * abs(float(fit.value)),
    )
    u, found = quadratic.B @ quadratic.rows, new_list(wanted.count)
    ranks = scan if fit.b.ndim == 1 else scan_responses
    b = model.in_units(fit)
    count = ranks(quadratic, u, b, part, rule, ExchangeList(*found))
    change, column, position = found
    return change[:count], column[:count], position[:count]


@njit
def scan(quadratic, u, b, part, rule, found):
    """The best exchanges and additions of one support among m columns, by the exact change on the
    quadratic; returns how many were kept.

    quadratic: rows (k, m) = G_{S, columns}, B (k, k), c, a (m,); u (k, m) = B rows; b (k,)
    coefficients; part: the `Roles` of columns and members; rule: an `ExchangeRule`. Kept in `found`
    are the lowest below the ceiling of: swaps, and additions (position -1) that lower F by more
    than target + cost_j, entered as change = target + cost_j - gain. With lambda1 the gain is (|c|
    - lambda1)_+^2 / (2 s), exact while no sign changes.
    """
    B, c, change = quadratic.B, quadratic.c, found.change
    k, kept, capacity = b.size, START, change.size
    s, hits = np.empty(TOGETHER), np.empty(TOGETHER, np.int64)
    for first in range(0, c.size, TOGETHER):
        size = min(TOGETHER, c.size - first)
        worst = change[capacity - 1] if kept == capacity else rule.ceiling
        within = Bounds(first, first + size, worst)
        _mark(quadratic, u, b, part, rule, within, s, hits)
        for e in range(size):
            j = first + e
            if part.skip[j]:
                continue
            worst = change[capacity - 1] if kept == capacity else rule.ceiling
            A = quadratic.a[j] + 2.0 * rule.lambda2
            d = addition_change(c[j], s[e], A, rule, part.cost[j])
            if d < min(0.0, worst):
                kept = _keep(d, j, NONE, found, kept, rule.tie)
            for i in range(k if hits[e] > 0 else 0):
                if part.locked[i]:
                    continue
                d = swap_change(B[i, i], b[i], u[i, j], c[j], s[e], A, rule.lambda1, rule.dependent)
                d += part.cost[j] - part.member_cost[i]
                if d < worst:
                    kept = _keep(d, j, i, found, kept, rule.tie)
                    worst = change[capacity - 1] if kept == capacity else rule.ceiling
    return kept


@njit
def _mark(quadratic, u, b, part, rule, within, s, hits):
    """Fill s, what the support leaves of curvatures, for the columns `within` some `Bounds`, and
    count in `hits` their swaps whose `swap_change` may lie below the bound: without divisions, and
    with room for rounding.
    """
    first, last, worst = within
    B, lambda1, ridge = quadratic.B, rule.lambda1, 2.0 * rule.lambda2
    a, c = views.part(quadratic.a, first, last), views.part(quadratic.c, first, last)
    cost = views.part(part.cost, first, last)
    for e in range(a.size):
        s[e], hits[e] = a[e] + ridge, 0
    for i in range(b.size):
        row = views.part(quadratic.rows[i], first, last)
        ui = views.part(u[i], first, last)
        for e in range(a.size):
            s[e] -= ui[e] * row[e]
    for i in range(b.size):
        if part.locked[i]:
            continue
        inverse, ui = 1.0 / B[i, i], views.part(u[i], first, last)
        theta, rise = b[i] * inverse, b[i] * b[i] * inverse
        limit = rise - 2.0 * (part.member_cost[i] + worst)
        limit -= 1e-12 * (rise + 2.0 * (part.member_cost[i] + abs(worst)))
        for e in range(a.size):
            v, A = ui[e], a[e] + ridge
            den = s[e] + v * v * inverse
            counts = den > COLLINEAR * A
            den = den if counts else A
            num = max(abs(c[e] + theta * v) - lambda1, 0.0)
            near = num * num * (1.0 + 1e-12) >= (limit + 2.0 * cost[e]) * den
            hits[e] += near & (counts | rule.dependent)


@njit
def swap_change(pivot, b, v, c, s, A, lambda1, dependent):
    """Change of F when a member with coefficient b, pivot = B_ii, gives way to a column with v =
    u_i and curvature A, of which the support leaves s; where that is a combination of the others
    inf, or with `dependent` that of a step of its coefficient alone.
    """
    den = s + v * v / pivot
    if den <= COLLINEAR * A:
        if not dependent:
            return np.inf
        den = A
    num = max(abs(c + b / pivot * v) - lambda1, 0.0)
    return 0.5 * (b * b / pivot - num * num / den)


@njit
def addition_change(c, s, A, rule, cost):
    """target + cost - gain of adding a column with c and curvature A, of which the support leaves
    s; inf where it is a combination of the support and those do not count.
    """
    left = s if s > COLLINEAR * A else A if rule.dependent else 0.0
    if not left > 0.0:
        return np.inf
    size = max(abs(c) - rule.lambda1, 0.0)
    return rule.target + cost - 0.5 * size * size / left


def ranked(model, fit, quadratic, columns, penalty, wanted):
    """The best exchanges of a fit with `columns`, as `Candidates`."""
    change, column, position = scanned(model, fit, quadratic, columns, penalty, wanted)
    found = change, columns[column], position
    return candidates(fit.support, found, wanted.count, EQUAL * abs(fit.value))


def candidates(support, found, count, tie):
    """The `Candidates` that are the `count` lowest of the exchanges `found` = (change, column,
    position in the support), ascending in steps of `tie`; ties go to the smaller column.
    """
    change, into, position = found
    if not change.size:  # as at most sizes of an exact verification
        return Candidates(change, position, into)
    best = ascending(change, tie, into, position)[:count]
    out = np.append(support, -1)[position[best]]  # position -1 is an addition
    return Candidates(change[best], out, into[best])


def exchanged_supports(support, b, out, into):
    """Supports after exchanges that all change their size alike.

    Parameters
    ----------
    support : ndarray of shape (k,)
        Sorted columns.
    b : ndarray of shape (k,) or (k, q)
        Their coefficients.
    out, into : ndarray of shape (m,)
        The column dropped and the column added by each exchange, -1 for none.

    Returns
    -------
    (supports, starts)
        Two arrays with a row for each exchange: sorted columns, and their coefficients before it,
        0 for the column added.
    """
    size = support.size - int(out[0] >= 0) + int(into[0] >= 0)
    q = 1 if b.ndim == 1 else b.shape[1]
    supports, starts = np.empty((out.size, size), np.int64), np.empty((out.size, size, q))
    _exchange(support, np.ascontiguousarray(b).reshape(-1, q), out, into, supports, starts)
    return supports, starts.reshape(out.size, size, *b.shape[1:])


@njit
def _exchange(support, b, out, into, supports, starts):
    """Fill the arrays that `exchanged_supports` returns."""
    for e in range(out.size):
        new, at = into[e], 0
        for i in range(support.size + 1):
            if new >= 0 and (i == support.size or new < support[i]):
                supports[e, at] = new
                for s in range(b.shape[1]):
                    starts[e, at, s] = 0.0
                new, at = -1, at + 1
            if i < support.size and support[i] != out[e]:
                supports[e, at] = support[i]
                for s in range(b.shape[1]):
                    starts[e, at, s] = b[i, s]
                at += 1
