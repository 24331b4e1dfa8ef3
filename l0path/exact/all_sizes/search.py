"""Leaps and bounds over the subsets of all sizes at once: the search around its kernel.

    value of a set T:  1/2 sum_i w_i y_i^2 - 1/2 q_T' inv(S_TT) q_T,
                       S = Z'diag(w)Z + 2 lambda2 I,   q = Z'diag(w)y

and for several responses the sum of their values, which have S in common.

No set of the candidates of a node is below the value of all of them, and one of so many has to
leave candidates out, which costs. The candidate that costs most to leave out joins, its subtree is
searched, then it leaves; the last two columns of a set are found by a scan of all pairs.

Sources: Furnival & Wilson (Technometrics 16, 1974) for the bound by the value of all candidates and
for inverses beside products, pivot by pivot; Gatu & Kontoghiorghes (Journal of Computational and
Graphical Statistics 15, 2006) for the order of candidates by what their leaving costs, made anew
near the root. Differences: the order is made at every node, because with the inverse it costs no
factorization; the bound adds what the (t + 1)th costliest candidate, or two of the t + 2 costliest,
cost to leave out, or what a diagonal taken out of S says of all that leave.
"""

import math
from collections import deque
from itertools import islice
from typing import Protocol

import numpy as np
from scipy.linalg import eigvalsh

from ...core.status import SearchEnd
from ...core.threads import one_blas_thread, run_each
from ...relaxation.splitting import SPLIT_SHARE
from .kernel import ROOT, Buffers, OpenNodes, Thresholds, search
from .perspective import LEAST_DELTA
from .scores import Offers
from .subtrees import (
    MOST_COLUMNS,
    MOST_SUBTREES,
    hold,
    parts_of,
    refused_where_too_dependent,
    subtrees,
)

# searches side by side: their number does not depend on that of threads, so neither does what they
# find
WORKERS = 4
BETWEEN_POLLS = 4e6  # entries of matrices that a worker visits between polls: about 5 ms
FIRST_PORTION = 1e5
READY = 2  # parts that are made at first: without dependent columns there is no second one
DEALS_BETWEEN_POLLS = 64  # of them that are evaluated between polls
LOOKED_INTO = 1e-4  # length that a unit column keeps beside others, below which this is looked into
LEAST_WEIGHT = 0.2  # of a candidate in the diagonal; with much less, sweeps converge slowly
REFIT_OPERATIONS = 1e5  # what one refit counts in a budget of operations
SUBTREE_OPERATIONS = 5e5  # what each further part without dependent columns counts


class SetsWanted(Protocol):
    """The sets that a search looks for. shrink: once a set of value v is known, others of its size
    are wanted below shrink * v alone; inf: they stay wanted; alone: sets with columns that add
    nothing are not wanted.
    """

    shrink: float
    alone: bool

    def cutoffs(self, sizes: int) -> np.ndarray:
        """(sizes,): the value below which a set of 0, 1, ... columns is wanted, -inf for none. Of
        groups (sizes, coefficients) where it depends on the number of coefficients, too.
        """

    def offer(self, support: np.ndarray, size: int) -> bool:
        """Compare a set of columns, of which `size` were chosen, with the best one. Returns whether
        its value is known.
        """


def servable(problem, lambda1):
    """Whether columns of a problem can be searched, whatever their number."""
    few = int(problem.usable.sum()) <= MOST_COLUMNS
    return few and problem.groups is None and problem.closed_form(lambda1)


def open_nodes(levels, m, p, q):
    """`OpenNodes` of so many levels, for m units of p columns and q responses."""
    return OpenNodes(
        S=np.zeros((levels, p, p)),
        B=np.zeros((levels, p, p)),
        c=np.zeros((levels, q, p)),
        b=np.zeros((levels, q, p)),
        ident=np.zeros((levels, m), dtype=np.int64),
        order=np.zeros((levels, m), dtype=np.int64),
        high=np.zeros((levels, m), dtype=np.int64),
        F=np.zeros(levels),
        R=np.zeros(levels),
        m=np.zeros(levels, dtype=np.int64),
        took=np.zeros(levels, dtype=np.int64),
        first=np.zeros(levels, dtype=np.int64),
        last=np.zeros(levels, dtype=np.int64),
        least=np.full((levels, m + 1), -math.inf),
        beta=np.zeros((levels, m)),
        start=np.zeros((levels, m + 1), dtype=np.int64),
        into=np.full(max(m, 1), -1),
    )


class Walker:
    """A search under way: stack, space, and the levels base .. f that are open (none where f <
    base). entry (p,): what columns cost to enter, beyond thresholds; q: how many responses.
    """

    def __init__(self, entry, levels, q=1):
        p = entry.size
        size, notes = max(p, 1), p * (p + 1) + 64
        self.stack = open_nodes(levels, p, p, q)
        self.space = Buffers(
            w=np.zeros(size),
            d=np.zeros(size),
            e=np.zeros((q, size)),
            cost=np.zeros(size),
            gain=np.zeros(size),
            delta=np.zeros(size),
            entry=entry,
            M=np.zeros((size, size)),
            top=np.zeros(size, dtype=np.int64),
            found=np.zeros((notes, size), dtype=np.int16),
            value=np.zeros(notes),
        )
        self.base, self.f, self.nodes = 0, -1, 0
        self.part, self.step, self.spent, self.enough = 0, 1, 0.0, 0.0
        # entries that a part of the search visits before it is divided, in m^3 of m candidates:
        # many times what their eigenvalues cost
        self.patience = 10.0

    @property
    def is_open(self):
        """Whether anything is left to be searched."""
        return self.f >= self.base

    def least(self):
        """(p + 1,): what no set that is still to be looked at is below, by size."""
        s, out = self.stack, np.full(self.stack.least.shape[1], math.inf)
        for level in range(self.base, self.f + 1):
            part = slice(s.first[level], s.last[level] + 1)
            out[part] = np.minimum(out[part], s.least[level, part])
        return out

    def open(self, task, ident, shown):
        """Open the level of a task with the candidates `ident`, of whose sets those with less than
        `shown` candidates, or without less of them, are known.
        """
        s, f, m, p = self.stack, len(task.into), ident.size, len(task.S)
        s.S[f, :p, :p], s.B[f, :p, :p], s.ident[f, :m] = task.S, task.B, ident
        s.c[f, :, :p], s.b[f, :, :p] = task.c.T, task.b.T
        s.order[f, :m] = s.high[f, :m] = np.arange(m)
        s.F[f], s.R[f] = task.least, task.value + task.member_cost
        s.m[f], s.took[f], s.least[f] = m, ROOT, task.least
        s.first[f], s.last[f] = f + shown, f + m - shown
        s.into[:f] = task.into
        self.base = self.f = f

    def load(self, task):
        """Begin a task."""
        self.open(task, task.ident, 2)
        self.stack.beta[self.f] = self.stack.b[self.f, 0]
        self._restrict(self.f)

    def share(self, other):
        """Take over the uppermost open level of another walker that has more than one."""
        f = other.base
        for mine, its in zip(self.stack[:-1], other.stack[:-1], strict=True):
            mine[f] = its[f]
        self.stack.into[:f] = other.stack.into[:f]
        self.base, self.f, self.patience = f, f, other.patience
        if other.part == f:  # what was taken off for all of its candidates
            self.space.delta[:] = other.space.delta
            self.part, self.spent = f, 0.0
            self.enough = self.patience * float(self.stack.m[f]) ** 3
        else:
            self._restrict(f)
        other.base += 1
        other.part = max(other.part, other.base)

    def _restrict(self, level):
        """Let the next part of the search be what is open from a level on: for its candidates alone
        more can be taken off the diagonal than for all (`_separate`).
        """
        s, m = self.stack, self.stack.m[level]
        self.part, self.spent = level, 0.0
        B, b = s.B[level, :m, :m], s.b[level, :, :m]
        weight = _weights((b**2).sum(axis=0) / np.diag(B), int(s.last[level]) - level)
        delta = self.space.delta[s.ident[level, :m]] = _separate(s.S[level, :m, :m], B, weight)
        if not delta.sum() > LEAST_DELTA * m:  # so little that the next one may wait
            self.patience *= 16.0
        self.enough = self.patience * float(m) ** 3

    def work(self, cut, portion, limit):
        """Search on for a portion of entries and at most `limit` nodes; returns (values and sets
        noted, -1 beyond their end, entries visited).

        A part that takes long is divided: the search goes on in deeper levels alone, and comes back
        level by level, the faster the less there is to do.
        """
        values, sets, left, found = [], [], portion, self.space
        if self.spent > self.enough and self.f > self.part:
            self._restrict((self.part + self.f + 1) // 2)
            self.step = 1
        while self.is_open and left > 0 and limit > 0:
            before = left
            self.f, number, nodes, left = search(
                self.stack, found, self.part, self.f, cut, left, limit
            )
            self.nodes, limit = self.nodes + nodes, limit - nodes
            self.spent += before - left
            values.append(found.value[:number].copy())
            sets.append(found.found[:number].copy())
            if self.f >= self.part:
                break  # the portion or the limit is used up, or the notes are full
            if self.part > self.base:
                self.step = 2 * self.step if self.spent < self.enough else 1
                self._restrict(max(self.base, self.part - self.step))
        return values, sets, portion - left


def _weights(cost, most):
    """(m,) how much of the diagonal candidates should have, from what they cost to leave out: one
    that is far from being chosen in a set of `most` needs little.
    """
    if not 0 < most < len(cost):
        return np.ones(len(cost))
    last = np.partition(cost, len(cost) - most)[len(cost) - most]
    return np.minimum(LEAST_WEIGHT + cost / max(last, 1e-300), 1.0)


def _separate(S, B, weight):
    """(m,) delta with S - diag(delta) positive semidefinite, in proportion to weight / diag(B): see
    `relaxation.split`; B = inv(S).
    """
    if not len(S):
        return np.empty(0)
    root = np.sqrt(weight / np.diag(B))
    spectrum = eigvalsh(S / np.multiply.outer(root, root), check_finite=False)
    share = spectrum[0] if spectrum[0] > 1e-9 * spectrum[-1] else 0.0
    return SPLIT_SHARE * share * root**2


def squares(x):
    """(m,) squares of products x (m,), or their sums over the responses, for x (m, q)."""
    return x**2 if x.ndim == 1 else (x**2).sum(axis=1)


def products(problem, lambda2, J, model=None):
    """(S, c, value without columns) of the columns J, which are scaled to unit diagonal, and c by
    sqrt(1/2): c_j^2 is what column j alone takes off, its sum for several responses (m, q). model:
    working columns, whose Gram matrix saves a read of X where it holds all of J.
    """
    y = problem.y.reshape(problem.X.n, -1)
    at = None if model is None else model.where[J]
    if at is not None and (at >= 0).all():
        S, q = model.G[np.ix_(at, at)], model.q[at]
    else:
        Z = problem.X.columns(J)
        S = (problem.weights[:, None] * Z).T @ Z
        q = (Z.T @ (problem.weights[:, None] * y)).reshape(-1, *problem.y.shape[1:])
    S[np.diag_indices(J.size)] += 2.0 * lambda2
    scale = 1.0 / np.sqrt(np.diag(S))
    half = 0.5 * float((problem.weights @ y**2).sum())
    return S * np.outer(scale, scale), math.sqrt(0.5) * (scale * q.T).T, half


class SearchOfSizes(Offers):
    """The control of a search (`AllSizes` for columns, `GroupSizes` for groups), which differs by
    the state and the kernel of its walkers. wanted: what it looks for; portion: what a walker
    visits between polls.

    operations: entries of matrices that were visited, and what refits count. A set is called worse
    only beyond `margin`, what rounding can hide. A subclass sets J and held (`Offers`), most: units
    of a set; tasks: parts of the search that wait, more: an iterator of further ones, None for
    none; walkers; and begins a task, `_begin(task, walker)`.
    """

    refit_operations = REFIT_OPERATIONS
    margin, made, more, node_limit = 0.0, 0, None, None
    each = -1.0  # what every unit costs alike, where sets of all sizes compete: see `Thresholds`

    def __init__(self, wanted, portion=BETWEEN_POLLS):
        super().__init__(wanted)
        self.most_portion = portion
        # first short: what is found then ends much of the search where the kernel learns nothing
        first = portion if math.isfinite(wanted.shrink) else FIRST_PORTION
        self.portion = min(first, portion)

    @property
    def nodes(self):
        """How many nodes were solved."""
        return sum(walker.nodes for walker in self.walkers)

    def limits(self):
        """The cutoffs that `wanted` asks for; where they depend on the number of coefficients,
        those of the fewest. Where adding a column need not improve a set, and sets with columns
        that add nothing are not wanted, a set stands for those that it may be filled up to: one of
        a size that is not asked for has the cutoff of the next that is, and none is wanted that is
        not better than what smaller ones have to be.
        """
        out = self.wanted.cutoffs(self.J.size + 1)
        out = out if out.ndim == 1 else out.max(axis=1)
        if not (self.spare and self.wanted.alone):
            return out
        for size in range(out.size - 2, -1, -1):
            out[size] = out[size + 1] if out[size] == -math.inf else out[size]
        return np.minimum.accumulate(out)

    def _alike(self):
        """(sizes,): what sets cost by what all units cost alike."""
        return max(self.each, 0.0) * np.arange(self.J.size + 1)

    def cutoffs(self):
        """The limits, less what all units cost alike."""
        return self.limits() - self._alike()

    def lower(self):
        """(sizes,): lower bounds, by size, on the sets that were not offered; without dependent
        columns, -inf for sizes that are not wanted.
        """
        limits = self.limits()
        if self.more is not None or self.unknown:
            return np.minimum(limits, 0.0)
        least = [task.least for task in self.tasks]
        least += [walker.least() for walker in self.walkers if walker.is_open]
        for bound in least:
            limits = np.minimum(limits, bound - self.margin + self._alike())
        return limits

    def run(self, budget=math.inf, poll=None):
        """Search until nothing is open ("closed"), so many operations are done in all, or as many
        nodes as there may be ("node_limit"), poll() is True ("stopped"), dependent columns make too
        many parts ("too_many"), or a fit proves nothing ("too_close").
        """
        while True:
            self._deal(budget)
            active = [walker for walker in self.walkers if walker.is_open]
            if not active and not self.tasks:
                if self.more is None:
                    return SearchEnd.TOO_CLOSE if self.unknown else SearchEnd.CLOSED
                if self.made >= MOST_SUBTREES:
                    return SearchEnd.TOO_MANY
            if poll is not None and poll():
                return SearchEnd.STOPPED
            nodes_left = (1 << 60 if self.node_limit is None else self.node_limit) - self.nodes
            if self.operations >= budget or nodes_left <= 0:
                return SearchEnd.NODE_LIMIT
            if active:
                self._search(active, budget, nodes_left)

    def _search(self, active, budget, nodes_left):
        """Let workers search a portion, and collect their results."""
        threshold, count = self.cutoffs() + self.margin, len(active)
        portion = int(min(self.portion, (budget - self.operations) / count + 1.0))
        self.portion = min(2.0 * self.portion, self.most_portion)
        found = [None] * count

        def work(i):
            cut = Thresholds(threshold.copy(), self.wanted.shrink, 2.0 * self.margin, self.each)
            share = nodes_left // count + (i < nodes_left % count)
            found[i] = active[i].work(cut, portion, share)

        run_each(work, count)
        self.operations += sum(visited for *_, visited in found)
        values = np.concatenate([part for one in found for part in one[0]])
        sets = np.concatenate([part for one in found for part in one[1]])
        sizes, cut = (sets >= 0).sum(axis=1), self.cutoffs() + self.margin
        for i in np.argsort(values, kind="stable").tolist():
            if sizes[i] <= self.most and values[i] < cut[sizes[i]]:
                self._compare(values[i], sets[i, : sizes[i]])
                cut = self.cutoffs() + self.margin

    def _offer(self, value, at):
        """Offer the set at positions `at`, if it may be wanted."""
        cut = self.cutoffs() + self.margin
        if at.size <= self.most and value < cut[at.size]:
            self._compare(value, at)

    def _compare(self, value, at):
        """Offer a set of a size of which sets of its value may be wanted."""
        support = np.concatenate([self.held, self.J[at]])
        if self.counts is not None:
            cut = self.wanted.cutoffs(self.J.size + 1)[self.cell(support)]
            if not value < cut + self.margin:
                return
        self.know(support)

    def _deal(self, budget):
        """Give idle walkers a task, or the uppermost open level of the one with the most; a task
        may show at once that nothing is in it.
        """
        deals = DEALS_BETWEEN_POLLS
        for walker in self.walkers:
            while not walker.is_open and (self.tasks or self.more is not None):
                if not deals or self.operations >= budget:
                    break
                deals -= 1
                if not self.tasks:
                    if self.made >= MOST_SUBTREES:
                        break
                    with one_blas_thread():
                        self.tasks.extend([task for task in [next(self.more, None)] if task])
                    continue
                task = self.tasks.popleft()
                if (task.least < self.cutoffs()[len(task.into) :] + self.margin).any():
                    self._begin(task, walker)
            if not walker.is_open:
                busy = max(self.walkers, key=lambda other: other.f - other.base)
                if busy.f > busy.base:
                    walker.share(busy)


class AllSizes(SearchOfSizes):
    """One search of columns. problem: without groups and box (`servable`); lambda2; wanted: what it
    looks for; workers: searches side by side, on whose number, and not on that of threads, rests
    what is found; model: working columns, whose Gram matrix saves a read of X; most: columns of a
    set; costs (p,): what columns add to values, where sets of all sizes compete, as for a lambda0:
    then cutoffs hold costs; node_limit: nodes at most; portion: see `SearchOfSizes`.

    margin: what rounding of products, inverses and pivots can hide:  (m + 16) eps v0 (sum_j
    sqrt(VIF_j))^2,  v0 the value without columns, VIF_j = S_jj inv(S)_jj (pivots are exact for
    matrices perturbed by eps relative to their diagonals; coefficients are at most sqrt(2 v0
    inv(S)_jj), products with residuals at most sqrt(2 v0 S_jj)). A column of which the columns that
    are in leave less than 1e-13 of the square adds nothing, as in refits.
    """

    def __init__(
        self,
        problem,
        lambda2,
        wanted,
        *,
        workers=WORKERS,
        model=None,
        most=None,
        costs=None,
        node_limit=None,
        portion=BETWEEN_POLLS,
    ):
        super().__init__(wanted, portion)
        self.node_limit = node_limit
        with one_blas_thread():
            J = np.flatnonzero(problem.usable)
            S, c, self.half = products(problem, lambda2, J, model)
            free = ~np.isin(J, problem.forced)
            S, c, value, self.held_spread = hold(S, c, self.half, np.flatnonzero(~free))
            self.held, self.J = J[~free], J[free]
            S, c, m = S[np.ix_(free, free)], c[free], self.J.size
            own = np.zeros(m) if costs is None else costs[self.J]
            self.each = -1.0 if costs is None else float(own.min()) if m else 0.0
            self.entry = own - max(self.each, 0.0)  # of columns, beyond `each`
            self.most = m if most is None else min(m, most)
            self.spare = refused_where_too_dependent(S, self.most)
            self.parts = parts_of(self.spare, self.most)
            self.more = self._tasks(S, c, value)
            self.tasks = deque(islice(self.more, READY))
            longest = np.diag(self.tasks[0].B).max(initial=0.0)  # what none keeps the inverse of
            self.near_dependence = bool(self.spare or longest * LOOKED_INTO**2 > 1.0)
        levels = self.most + 1 if self.spare else max(self.most - 2, 1)
        q = c.size // max(len(c), 1)
        self.walkers = [Walker(self.entry, levels, max(q, 1)) for _ in range(workers)]

    def _tasks(self, S, c, value):
        """The search, in parts without dependent columns, one after another."""
        terms = self.J.size + self.held.size + sum(c.shape[1:])
        for task in subtrees(S, c, value, self.entry, self.most, self.wanted.alone):
            rounding = task.rounding(terms, self.held_spread, self.half)
            self.operations += SUBTREE_OPERATIONS if self.made else 0.0
            self.margin, self.made = max(self.margin, rounding), self.made + 1
            yield task
        self.more = None

    def _begin(self, task, walker):
        """Offer the sets of a task that its matrices show at once, and load it for the others."""
        into, m = np.array(task.into, dtype=np.int64), task.ident.size
        f, cost, none = into.size, squares(task.b) / np.diag(task.B), task.value + task.member_cost
        self._offer(none, into)
        if m:
            self._offer(task.least, np.concatenate([into, task.ident]))
        gain = squares(task.c) / np.diag(task.S)
        for a in np.argsort(-gain, kind="stable") if m > 1 else ():
            if not none - gain[a] < self.cutoffs()[f + 1] + self.margin:
                break
            self._offer(none - gain[a], np.append(into, task.ident[a]))
        for a in np.argsort(cost, kind="stable") if m > 2 else ():
            if not task.least + cost[a] < self.cutoffs()[f + m - 1] + self.margin:
                break
            others = np.delete(task.ident, a)
            self._offer(task.least + cost[a], np.concatenate([into, others]))
        if m >= 4:
            walker.load(task)
