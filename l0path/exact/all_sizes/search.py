"""Leaps and bounds over the subsets of all sizes at once: the search around its kernel.

    value of a set T:  1/2 sum_i w_i y_i^2 - 1/2 q_T' inv(S_TT) q_T,
                       S = Z'diag(w)Z + 2 lambda2 I,   q = Z'diag(w)y

and for several responses the sum of their values, which have S in common.

Sources: Furnival & Wilson (Technometrics 16, 1974), Gatu & Kontoghiorghes (Journal of Computational
and Graphical Statistics 15, 2006), and those of `exact.leaps`, which searches one size, or one
lambda0, at a time.
"""

import math
from collections import deque
from typing import Protocol

import numpy as np
from scipy.linalg import eigvalsh

from ...core.status import SearchEnd
from ...core.threads import one_blas_thread, run_each
from ...relaxation.splitting import SPLIT_SHARE
from ..leaps import (
    BETWEEN_POLLS,
    DEALS_BETWEEN_POLLS,
    MOST_COLUMNS,
    MOST_SUBTREES,
    WORKERS,
    ended,
    hold,
    parts_of,
    refused_where_too_dependent,
    subtrees,
)
from .kernel import ROOT, Buffers, OpenNodes, Thresholds, search
from .response_kernel import OpenResponses

LOOKED_INTO = 1e-4  # length that a unit column keeps beside others, below which this is looked into
FIRST_PORTION = 1e5
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
    usable = problem.usable
    return (
        problem.quadratic
        and problem.groups is None
        and not lambda1
        and int(usable.sum()) <= MOST_COLUMNS
        and not np.isfinite(problem.lower[usable]).any()
        and not np.isfinite(problem.upper[usable]).any()
    )


class Walker:
    """A search under way: stack, space, and the levels base .. f that are open (none where f <
    base). responses: (q,) for q responses, () for one, which has verbs of its own.
    """

    def __init__(self, p, levels, responses=()):
        record = OpenResponses if responses else OpenNodes
        size, own = max(p, 1), (levels, *responses, p)
        self.stack = record(
            S=np.zeros((levels, p, p)),
            B=np.zeros((levels, p, p)),
            c=np.zeros(own),
            b=np.zeros(own),
            ident=np.zeros((levels, p), dtype=np.int64),
            order=np.zeros((levels, p), dtype=np.int64),
            low=np.zeros((levels, p), dtype=np.int64),
            F=np.zeros(levels),
            R=np.zeros(levels),
            m=np.zeros(levels, dtype=np.int64),
            took=np.zeros(levels, dtype=np.int64),
            first=np.zeros(levels, dtype=np.int64),
            last=np.zeros(levels, dtype=np.int64),
            least=np.full((levels, p + 1), -math.inf),
            beta=np.zeros(own),
            into=np.full(size, -1),
        )
        notes = p * (p + 1) + 64
        self.space = Buffers(
            w=np.zeros(size),
            d=np.zeros(size),
            e=np.zeros((*responses, size)),
            cost=np.zeros(size),
            gain=np.zeros(size),
            delta=np.zeros(size),
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
    def open(self):
        return self.f >= self.base

    def least(self):
        """(p + 1,): what no set that is still to be looked at is below, by size."""
        s, out = self.stack, np.full(self.stack.least.shape[1], math.inf)
        for level in range(self.base, self.f + 1):
            part = slice(s.first[level], s.last[level] + 1)
            out[part] = np.minimum(out[part], s.least[level, part])
        return out

    def load(self, task):
        """Begin a task."""
        s, f, m = self.stack, len(task.into), task.ident.size
        s.S[f, :m, :m], s.B[f, :m, :m], s.ident[f, :m] = task.S, task.B, task.ident
        s.c[f, ..., :m], s.b[f, ..., :m], s.beta[f, ..., :m] = task.c.T, task.b.T, task.b.T
        s.order[f, :m] = np.argsort(-squares(task.b) / np.diag(task.B), kind="stable")
        s.low[f, :m] = np.arange(m)
        s.F[f], s.R[f], s.m[f], s.took[f] = task.full, task.value, m, ROOT
        s.first[f], s.last[f], s.least[f] = f + 2, f + m - 2, task.full
        s.into[:f] = task.into
        self.base = self.f = f
        self._restrict(f)

    def share(self, other):
        """Take over the uppermost open level of another walker that has more than one."""
        f = other.base
        for mine, its in zip(self.stack[:-1], other.stack[:-1], strict=True):
            mine[f] = its[f]
        self.stack.into[:f] = other.stack.into[:f]
        self.base = self.f = f
        self._restrict(f)
        other.base += 1
        other.part = max(other.part, other.base)

    def _restrict(self, level):
        """Let the next part of the search be what is open from a level on: for its candidates alone
        more can be taken off the diagonal than for all (`_separate`).
        """
        s, m = self.stack, self.stack.m[level]
        self.part, self.spent, self.enough = level, 0.0, self.patience * float(m) ** 3
        B, b = s.B[level, :m, :m], s.b[level, ..., :m]
        weight = _weights(squares(b.T) / np.diag(B), int(s.last[level]) - level)
        self.space.delta[s.ident[level, :m]] = _separate(s.S[level, :m, :m], B, weight)

    def work(self, cut, portion, limit):
        """Search on for a portion of entries; returns ([(value, set)] noted, entries visited).

        A part that takes long is divided: the search goes on in deeper levels alone, and comes back
        level by level, the faster the less there is to do.
        """
        notes, left, found = [], portion, self.space
        if self.spent > self.enough and self.f > self.part:
            self._restrict((self.part + self.f + 1) // 2)
            self.step = 1
        while self.open and left > 0:
            before = left
            self.f, number, nodes, left = search(
                self.stack, found, self.part, self.f, cut, left, limit
            )
            self.nodes += nodes
            self.spent += before - left
            notes += [
                (found.value[i], found.found[i][found.found[i] >= 0].astype(np.int64))
                for i in range(number)
            ]
            if self.f >= self.part:
                break  # the portion is used up, or the notes are full
            if self.part > self.base:
                self.step = 2 * self.step if self.spent < self.enough else 1
                self._restrict(max(self.base, self.part - self.step))
        return notes, portion - left


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


class AllSizes:
    """One search. problem: without groups and box (`servable`); lambda2; wanted: what it looks for;
    workers: searches side by side, on whose number, and not on that of threads, rests what is
    found; model: working columns, whose Gram matrix saves a read of X; most: columns of a set.

    operations: entries of matrices that were visited, and what refits count. A set is called worse
    only beyond `margin`, what rounding can hide: see `Leaps`.
    """

    def __init__(self, problem, lambda2, wanted, *, workers=WORKERS, model=None, most=None):
        self.problem, self.lambda2, self.wanted = problem, lambda2, wanted
        self.operations, self.nodes, self.margin, self.made = 0.0, 0, 0.0, 0
        self.unknown = False  # whether a set that may be wanted has a value that is not known
        self.seen = set()
        # first short: what is found then ends much of the search where the kernel learns nothing
        self.portion = BETWEEN_POLLS if math.isfinite(wanted.shrink) else FIRST_PORTION
        with one_blas_thread():
            S, c, value = self._products(model)
            S, c, value, self.held_spread = hold(S, c, value, np.flatnonzero(self.is_held))
            free = ~self.is_held
            self.held, self.J = self.J[self.is_held], self.J[free]
            S, c, m = S[np.ix_(free, free)], c[free], self.J.size
            self.most = m if most is None else min(m, most)
            self.spare = refused_where_too_dependent(S, self.most)
            self.parts = parts_of(self.spare, self.most)
            self.more, self.tasks = self._tasks(S, c, value), deque()
            self.tasks.append(next(self.more))
            longest = np.diag(self.tasks[0].B).max(initial=0.0)  # what none keeps the inverse of
            self.near_dependence = bool(self.spare or longest * LOOKED_INTO**2 > 1.0)
        levels = self.most + 1 if self.spare else max(self.most - 2, 1)
        self.walkers = [Walker(m, levels, c.shape[1:]) for _ in range(workers)]

    def _products(self, model):
        """(S, c, value of the empty model), columns scaled to unit diagonal and c by sqrt(1/2):
        c_j^2 is what column j alone takes off, its sum for several responses (m, q).
        """
        problem = self.problem
        y = problem.y.reshape(problem.X.n, -1)
        J = np.flatnonzero(problem.usable)
        at = None if model is None else model.where[J]
        if at is not None and (at >= 0).all():
            S, q = model.G[np.ix_(at, at)], model.q[at]
        else:
            Z = problem.X.columns(J)
            S = (problem.weights[:, None] * Z).T @ Z
            q = (Z.T @ (problem.weights[:, None] * y)).reshape(-1, *problem.y.shape[1:])
        S[np.diag_indices(J.size)] += 2.0 * self.lambda2
        scale = 1.0 / np.sqrt(np.diag(S))
        self.half = 0.5 * float((problem.weights @ y**2).sum())
        self.J, self.is_held = J, np.isin(J, problem.forced)
        return S * np.outer(scale, scale), math.sqrt(0.5) * (scale * q.T).T, self.half

    def _tasks(self, S, c, value):
        """The search, in parts without dependent columns, one after another."""
        costs, terms = np.zeros(len(S)), self.J.size + self.held.size + sum(c.shape[1:])
        for task in subtrees(S, c, value, costs, self.most, self.wanted.alone):
            rounding = task.rounding(terms, self.held_spread, self.half)
            self.operations += SUBTREE_OPERATIONS if self.made else 0.0
            self.margin, self.made = max(self.margin, rounding), self.made + 1
            yield task
        self.more = None

    def cutoffs(self):
        """The cutoffs that `wanted` asks for. Where adding a column need not improve a set, one of
        a size that is not asked for may be filled up to the next that is, and has its cutoff.
        """
        out = self.wanted.cutoffs(self.J.size + 1)
        if not self.spare:
            return out
        for size in range(out.size - 2, -1, -1):
            out[size] = out[size + 1] if out[size] == -math.inf else out[size]
        return np.minimum.accumulate(out)

    def lower(self):
        """(sizes,): lower bounds, by size, on the sets that were not offered; without dependent
        columns, -inf for sizes that are not wanted.
        """
        out = self.cutoffs()
        if self.more is not None or self.unknown:
            return np.minimum(out, 0.0)
        for walker in self.walkers:
            if walker.open:
                out = np.minimum(out, walker.least() - self.margin)
        for task in self.tasks:
            out = np.minimum(out, task.full - self.margin)
        return out

    def run(self, budget=math.inf, poll=None):
        """Search until nothing is open ("closed"), so many operations are done in all
        ("node_limit"), poll() is True ("stopped"), dependent columns make too many parts
        ("too_many"), or a fit proves nothing ("too_close").
        """
        while True:
            self._deal(budget)
            active = [walker for walker in self.walkers if walker.open]
            end = ended(self, active, self.operations >= budget, poll)
            if end is not None:
                return SearchEnd.TOO_CLOSE if self.unknown and end == SearchEnd.CLOSED else end
            if active:
                self._search(active, budget)

    def _search(self, active, budget):
        """Let workers search a portion, and collect their results."""
        threshold = self.cutoffs() + self.margin
        portion = int(min(self.portion, (budget - self.operations) / len(active) + 1.0))
        self.portion = min(2.0 * self.portion, BETWEEN_POLLS)
        found = [None] * len(active)

        def work(i):
            cut = Thresholds(threshold.copy(), self.wanted.shrink, 2.0 * self.margin)
            found[i] = active[i].work(cut, portion, 1 << 62)

        run_each(work, len(active))
        self.operations += sum(visited for _, visited in found)
        self.nodes = sum(walker.nodes for walker in self.walkers)
        notes = [note for noted, _ in found for note in noted]
        for value, at in sorted(notes, key=lambda note: note[0]):
            self._offer(value, at)

    def _offer(self, value, at):
        """Offer the set at positions `at`, if it may be wanted."""
        if at.size > self.most or not value < self.cutoffs()[at.size] + self.margin:
            return
        self.know(np.concatenate([self.held, self.J[at]]))

    def know(self, support):
        """Let a set of columns, held ones included, compete, unless it did before."""
        support = np.sort(support)
        if support.tobytes() not in self.seen:
            self.seen.add(support.tobytes())
            self.operations += REFIT_OPERATIONS
            known = self.wanted.offer(support, support.size - self.held.size)
            self.unknown = self.unknown or not known

    def _begin(self, task, walker):
        """Offer the sets of a task that its matrices show at once, and load it for the others."""
        into, m = np.array(task.into, dtype=np.int64), task.ident.size
        f, cost = into.size, squares(task.b) / np.diag(task.B)
        self._offer(task.value, into)
        if m:
            self._offer(task.full, np.concatenate([into, task.ident]))
        gain = squares(task.c) / np.diag(task.S)
        for a in np.argsort(-gain, kind="stable") if m > 1 else ():
            if not task.value - gain[a] < self.cutoffs()[f + 1] + self.margin:
                break
            self._offer(task.value - gain[a], np.append(into, task.ident[a]))
        for a in np.argsort(cost, kind="stable") if m > 2 else ():
            if not task.full + cost[a] < self.cutoffs()[f + m - 1] + self.margin:
                break
            others = np.delete(task.ident, a)
            self._offer(task.full + cost[a], np.concatenate([into, others]))
        if m >= 4:
            walker.load(task)

    def _deal(self, budget):
        """Give idle walkers a task, or the uppermost open level of the one with the most; a task
        may show at once that nothing is in it.
        """
        deals = DEALS_BETWEEN_POLLS
        for walker in self.walkers:
            while not walker.open and (self.tasks or self.more is not None):
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
                if (task.full < self.cutoffs()[len(task.into) :] + self.margin).any():
                    self._begin(task, walker)
            if not walker.open:
                busy = max(self.walkers, key=lambda other: other.f - other.base)
                if busy.f > busy.base:
                    walker.share(busy)
