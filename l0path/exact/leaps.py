"""Leaps and bounds: the best least squares models of a size, or of a lambda0, of few columns with
more rows than columns or a ridge.

    value of a set T:  1/2 sum_i w_i y_i^2 - 1/2 q_T' inv(S_TT) q_T + lambda0 sum_T f_j,
                       S = Z'diag(w)Z + 2 lambda2 I,   q = Z'diag(w)y

No set of the candidates of a node is below the value of all of them, and one of at most t has to
leave candidates out, which costs. The candidate that costs most to leave out joins, its subtree is
searched, then it leaves; the last two columns of a set are found by a scan of all pairs.

Sources: Furnival & Wilson (Technometrics 16, 1974) for the bound by the value of all candidates and
for inverses beside products, pivot by pivot; Gatu & Kontoghiorghes (Journal of Computational and
Graphical Statistics 15, 2006) for the order of candidates by what their leaving costs, made anew
near the root. Differences: the order is made at every node, because with the inverse it costs no
factorization; the bound adds what the (t + 1)th costliest candidate, or two of the t + 2 costliest,
cost to leave out, or what a diagonal taken out of S says of all that leave (with a ridge 0.1 in
unit-variance columns, a tenth of the nodes at p = 100); one size (or lambda0) is searched at a
time, from the best model known.
"""

import math
from collections import deque
from itertools import islice

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular

from ..core.status import SearchEnd
from ..core.threads import one_blas_thread, run_each
from ..problem.problem import EPS
from .contest import Contest
from .nodes.leaps import Cut, Space, Stack, search

# searches side by side: their number does not depend on that of threads, so neither does what they
# find
WORKERS = 4
BETWEEN_POLLS = 4e6  # entries of matrices that a worker visits between polls: about 5 ms
# pivot of a unit column given others, below which it counts as a combination of them
DEPENDENT = 1e-8
NOTHING = 1e-13  # pivot below which a column adds nothing, as in refits
READY = 512  # searches that are made ready at a time, where dependent columns split one
MOST_SUBTREES = 1 << 16  # of them at most
DEALS_BETWEEN_POLLS = 64  # of them that are evaluated between polls
MOST_COLUMNS = 200  # columns at most: every open level holds two matrices


def searchable(dual):
    """The reason why `Leaps` cannot search a problem, or ""."""
    problem = dual.problem
    if not problem.quadratic:
        return f"leaps and bounds needs a squared loss, not {type(problem.loss).__name__.lower()}"
    if dual.lambda1 > 0:
        return f"leaps and bounds needs lambda1 = 0, not {dual.lambda1}"
    used = _used(dual)
    if np.isfinite(dual.lower[used]).any() or np.isfinite(dual.upper[used]).any():
        return "leaps and bounds needs coefficients without bounds"
    return (
        f"leaps and bounds takes {MOST_COLUMNS} features at most, not {used.sum()}"
        if used.sum() > MOST_COLUMNS
        else ""
    )


def _used(dual):
    return dual.problem.usable & ((dual.lower != 0) | (dual.upper != 0))


class Subtree:
    """A search to be done: columns that are in, ident of the m candidates, S (m, m) their Schur
    complement, B, c, b, entry_cost, value of the columns that are in, their cost member_cost, and
    least, a bound. c, b (m,), or (m, q) for q responses.
    """

    def __init__(self, into, ident, S, c, value, entry_cost, *, spread=0.0):
        """entry_cost: of all columns; spread: of the columns that are in, see `hold`."""
        self.into, self.ident, self.S, self.c, self.value = into, ident, S, c, value
        self.entry_cost, self.member_cost = entry_cost[ident], float(entry_cost[list(into)].sum())
        L = np.linalg.cholesky(S) if ident.size else np.empty((0, 0))
        half = solve_triangular(L, np.eye(ident.size), lower=True) if ident.size else L
        self.B = half.T @ half
        self.b = half.T @ (half @ c)
        self.full = value - float(np.sum((half @ c) ** 2))
        self.least = self.full + self.member_cost
        self.spread = float(np.sqrt(np.maximum(np.diag(self.B), 1.0)).sum()) + spread

    def rounding(self, columns, held, half):
        """A bound on the rounding of values: see `Leaps`. half: the value without columns; held:
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


class Worker:
    """A search under way: stack, space, and the levels base .. f that are open (none where f <
    base).
    """

    def __init__(self, m, size, levels, delta):
        rows, matrices = (levels, m), (levels, m, m)
        self.stack = Stack(
            S=np.zeros(matrices),
            B=np.zeros(matrices),
            c=np.zeros(rows),
            b=np.zeros(rows),
            entry_cost=np.zeros(rows),
            ident=np.zeros(rows, dtype=np.int64),
            F=np.zeros(levels),
            R=np.zeros(levels),
            member_cost=np.zeros(levels),
            least=np.full(levels, math.inf),
            m=np.zeros(levels, dtype=np.int64),
            took=np.full(levels, -1),
            into=np.full(size, -1),
        )
        notes = m * (m + 1) + 64
        self.space = Space(
            w=np.zeros(m),
            d=np.zeros(m),
            e=np.zeros(m),
            cost=np.zeros(m),
            top=np.zeros(m + 1, dtype=np.int64),
            largest=np.zeros(m + 1),
            delta=delta,
            found=np.zeros((notes, size), dtype=np.int16),
            value=np.zeros(notes),
        )
        self.base, self.f, self.nodes = 0, -1, 0

    @property
    def busy(self):
        return self.f >= self.base

    @property
    def least(self):
        return float(self.stack.least[self.base : self.f + 1].min(initial=math.inf))

    def push(self, task):
        """Begin a task."""
        s, f, m = self.stack, len(task.into), task.ident.size
        s.S[f, :m, :m] = task.S
        s.B[f, :m, :m] = task.B
        s.c[f, :m] = task.c
        s.b[f, :m] = task.b
        s.entry_cost[f, :m] = task.entry_cost
        s.ident[f, :m] = task.ident
        s.F[f] = task.full
        s.R[f] = task.value
        s.member_cost[f] = task.member_cost
        s.least[f] = task.least
        s.m[f] = m
        s.took[f] = -1
        s.into[:f] = task.into
        self.base = self.f = f

    def share(self, other):
        """Take over the uppermost open level of another worker that has more than one."""
        f = other.base
        for mine, its in zip(self.stack[:-1], other.stack[:-1], strict=True):
            mine[f] = its[f]
        self.stack.into[:f] = other.stack.into[:f]
        self.base = self.f = f
        other.base += 1

    def work(self, size, cut, portion, limit):
        """Search on for a portion of entries; returns [(value, set)] of what was noted."""
        stack, space = self.stack, self.space
        self.f, number, nodes = search(stack, space, self.base, self.f, size, cut, portion, limit)
        self.nodes += nodes
        return [(self.space.value[i], self.space.found[i].copy()) for i in range(number)]


def ended(search, active, spent, poll):
    """The reason why a search by subtrees ends now, None while it goes on.

    Parameters
    ----------
    search : Leaps or AllSizes
        Its `tasks`, the subtrees that wait; `more`, the dependent columns that may make further
        ones; and `made`, their number so far.
    active : list
        The workers that have a subtree.
    spent : bool
        Whether the budget is used up.
    poll : callable, optional
        Returns True to stop.
    """
    if not active and not search.tasks and (search.more is None or search.made >= MOST_SUBTREES):
        return SearchEnd.CLOSED if search.more is None else SearchEnd.TOO_MANY
    if poll is not None and poll():
        return SearchEnd.STOPPED
    return SearchEnd.NODE_LIMIT if spent else None


class Leaps(Contest):
    """One search. dual: the problem, without the columns that are fixed (`searchable`); size
    (chosen columns at most) or lambda0; refit(support) -> (value, what is kept of it) for a support
    of the problem; settings: gap, relative, at which it ends, and node_limit; n_best: how many of
    the best supports are wanted.

    best: [(value, what was kept)] of the best supports so far, ascending; lower: no model is below
        it (nor, for a size, with fewer columns). `run` may be called again to go on.
    A set is called worse only beyond `margin`, what rounding of products, inverses and pivots can
    hide:  (m + 16) eps v0 (sum_j sqrt(VIF_j))^2,  v0 the value without columns, VIF_j = S_jj
    inv(S)_jj (pivots are exact for matrices perturbed by eps relative to their diagonals;
    coefficients are at most sqrt(2 v0 inv(S)_jj), products with residuals at most sqrt(2 v0 S_jj)).
    A column of which the columns that are in leave less than 1e-13 of the square adds nothing, as
    in refits.
    """

    def __init__(
        self,
        dual,
        *,
        size=None,
        lambda0=None,
        refit,
        settings,
        n_best=1,
        start=(),
        portion=BETWEEN_POLLS,
    ):
        reason = searchable(dual)
        if reason:
            raise ValueError(f"{reason}; search by branch and bound")
        self.dual = dual
        self.size = size
        self.lambda0 = lambda0
        self.refit = refit
        self.settings = settings
        self.n_best = n_best
        self.best, self.seen, self.nodes, self.portion = [], set(), 0, portion
        with one_blas_thread():
            S, c, value = self._products()
            self.dependent = _rank(S)[0] < len(S)  # exactly or nearly
            S, c, value = self._hold(S, c, value)
            m = self.J.size
            self.most = m if size is None else min(size, m)
            spare = refused_where_too_dependent(S, self.most)
            self.margin, self.made, self.more = 0.0, 0, self._tasks(S, c, value)
            self.tasks = deque(islice(self.more, READY))
        levels = max(self.most + 1 if spare else self.most - 2, 1)
        self.workers = [
            Worker(max(m, 1), max(self.most, 1), levels, self.delta) for _ in range(WORKERS)
        ]

    def _products(self):
        """(S, c, value of the empty model), columns scaled to unit diagonal and c by sqrt(1/2):
        c_j^2 is what column j alone takes off; S - diag(delta) is positive semidefinite.
        """
        dual, problem = self.dual, self.dual.problem
        J = np.flatnonzero(_used(dual))
        Z = problem.X.columns(J)
        ridge = dual.ridge[J] if dual.split is None else dual.ridge[J] - 0.5 * dual.split[J]
        S = (problem.weights[:, None] * Z).T @ Z
        S[np.diag_indices(J.size)] += 2.0 * np.maximum(ridge, 0.0)
        scale = 1.0 / np.sqrt(np.diag(S))
        c = math.sqrt(0.5) * scale * (Z.T @ (problem.weights * problem.y))
        self.half = 0.5 * float(problem.weights @ problem.y**2)
        self.J, self.delta = J, 2.0 * dual.ridge[J] * scale**2
        self.entry_cost = (
            np.zeros(J.size) if self.size is not None else self.lambda0 * problem.factor[J]
        )
        return S * np.outer(scale, scale), c, self.half

    def _hold(self, S, c, value):
        """Let the columns in that every model has: forced ones, and, at a lambda0, those without a
        entry_cost.
        """
        held = np.isin(self.J, self.dual.problem.forced)
        if self.size is None:
            held |= self.entry_cost == 0
        S, c, value, self.held_spread = hold(S, c, value, np.flatnonzero(held))
        self.held, free = self.J[held], ~held
        self.J, self.entry_cost, self.delta = self.J[free], self.entry_cost[free], self.delta[free]
        return S[np.ix_(free, free)], c[free], value

    def _tasks(self, S, c, value):
        """The search, in parts without dependent columns, one after another."""
        alone = self.n_best == 1 and self.size is not None
        for task in subtrees(S, c, value, self.entry_cost, self.most, alone):
            terms = self.J.size + len(self.held)
            rounding = task.rounding(terms, self.held_spread, self.half)
            self.margin, self.made = max(self.margin, rounding), self.made + 1
            yield task
        self.more = None

    @property
    def lower(self):
        """A lower bound for every set that is not in `best`."""
        if self.more is not None:  # no value of searches that are still to be made is negative
            return min(0.0, self.cutoff)
        least = min(
            [task.least for task in self.tasks]
            + [worker.least for worker in self.workers if worker.busy],
            default=math.inf,
        )
        return min(least - self.margin, self.cutoff)

    def run(self, poll=None):
        """Search until nothing is open ("closed"), node_limit is met ("node_limit"), dependent
        columns split it into too many searches ("too_many"), or poll() is True ("stopped").
        """
        limit = 1 << 62 if self.settings.node_limit is None else int(self.settings.node_limit)
        shrink = 1.0 - 0.5 * self.settings.gap if self.n_best == 1 else math.inf
        while True:
            self._deal()
            active = [worker for worker in self.workers if worker.busy]
            end = ended(self, active, self.nodes >= limit, poll)
            if end is not None:
                return end
            if not active:
                continue
            cut = Cut(self.cutoff + self.margin, shrink, 2.0 * self.margin)
            rest, found = min(limit - self.nodes, 1 << 60), [()] * len(active)

            def work(i, active=active, cut=cut, rest=rest, found=found):
                share = rest // len(active) + (i < rest % len(active))
                found[i] = active[i].work(self.most, cut, self.portion, share)

            run_each(work, len(active))
            self.nodes = sum(worker.nodes for worker in self.workers)
            for value, at in sorted(
                (note for notes in found for note in notes), key=lambda note: note[0]
            ):
                self._offer_set(value, at[at >= 0])

    def _offer_set(self, value, at):
        """Offer the set at positions `at`, if it may be wanted; of several best sets all have the
        full size.
        """
        if value < self.cutoff + self.margin and (
            self.n_best == 1 or self.size is None or len(at) == self.most
        ):
            self.offer(np.concatenate([self.held, self.J[np.asarray(at, dtype=np.int64)]]))

    def _deal(self):
        """Give workers without work a task, or the uppermost open level of the worker with the
        most.
        """
        deals = DEALS_BETWEEN_POLLS
        for worker in self.workers:
            if worker.busy:
                continue
            while not worker.busy and deals:
                if not self.tasks and self.more is not None and self.made < MOST_SUBTREES:
                    with one_blas_thread():
                        self.tasks.extend(islice(self.more, 1))
                if not self.tasks:
                    break
                task, deals = self.tasks.popleft(), deals - 1
                if task.least < self.cutoff + self.margin:
                    self._offer_set(task.value + task.member_cost, task.into)
                    worker.push(task)
            if not worker.busy:
                busy = max(self.workers, key=lambda other: other.f - other.base)
                if busy.f > busy.base:
                    worker.share(busy)


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
