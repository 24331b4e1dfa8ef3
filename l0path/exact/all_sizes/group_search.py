"""Leaps and bounds over the sets of groups of all sizes at once, for a squared loss: the search
around its kernels (`group_kernel`).

It serves groups that share no column, keep no weak hierarchy, and whose columns are no combinations
of those of others; `nested` serves the rest. Values and sources: see `search`.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh, get_lapack_funcs

from ...core.status import SearchEnd
from ...core.threads import one_blas_thread
from ...formula.hierarchy import STRONG
from ...relaxation.splitting import SPLIT_SHARE
from .group_kernel import GroupBuffers, GroupNodes, search
from .kernel import ROOT, Thresholds
from .node_bounds import UNCLEAR
from .scores import Offers
from .search import BETWEEN_POLLS, FIRST_PORTION, REFIT_OPERATIONS
from .subtrees import DEPENDENT, MOST_COLUMNS, NOTHING, Subtree, hold

# up to so many groups a search without kernels takes less time than compiling these
FEW_GROUPS = 12


class GroupProducts(NamedTuple):
    """Products of the columns of G groups, which have p columns together."""

    units: np.ndarray  # (G,), the groups
    start: np.ndarray  # unit a has the columns start[a] .. start[a + 1]
    S: np.ndarray  # (p, p)
    c: np.ndarray  # (p,) or (p, q)
    held: np.ndarray  # units in every set
    value: float  # of the held units alone
    half: float  # value of no column
    terms: int  # how many terms sums have, whose rounding counts
    spread: float  # of the columns held, see subtrees.hold
    needs: np.ndarray  # (G, G), whether a unit needs another; (0, 0) for no hierarchy


def group_sizes(model, lambda2, wanted):
    """A `GroupSizes` of a problem with groups; None where it does not serve it."""
    problem, groups = model.problem, model.problem.groups
    if groups is None or not problem.quadratic:
        return None
    free = np.flatnonzero(problem.free_units)
    if groups.hierarchy is not None:
        if groups.hierarchy.rule != STRONG:
            return None
        inside = problem.free_units
        inside[problem.held_units] = True
        free = free[groups.hierarchy.largest(inside)[free]]
    if free.size <= FEW_GROUPS or int(problem.usable.sum()) > MOST_COLUMNS:
        return None
    products = _products(model, lambda2, free)
    return None if products is None else GroupSizes(products, wanted)


def _products(model, lambda2, free):
    """The `GroupProducts` of the groups `free`, without columns that others of their group explain;
    None where groups share columns, or explain one another.
    """
    problem, groups = model.problem, model.problem.groups
    always = problem.held_units
    held = problem.columns_of(always)
    allowed = problem.usable.copy()
    allowed[held] = False
    parts = [groups.of(g)[allowed[groups.of(g)]] for g in free]
    columns = np.concatenate([held, *parts])
    if np.unique(columns).size < columns.size:
        return None
    at = model.where[columns]
    S, q = model.G[np.ix_(at, at)], model.q[at]
    S[np.diag_indices(at.size)] += 2.0 * lambda2
    scale = 1.0 / np.sqrt(np.diag(S))
    y = problem.y.reshape(problem.X.n, -1)
    half = 0.5 * float((problem.weights @ y**2).sum())
    S, c, value = S * np.outer(scale, scale), math.sqrt(0.5) * (scale * q.T).T, half
    S, c, value, spread = hold(S, c, value, range(held.size))
    kept, sizes, first = [], [], held.size
    for part in parts:
        inside = slice(first, first + part.size)
        at, clear = _explaining(S[inside, inside])
        if not clear or not at.size:
            return None
        kept.append(first + at)
        sizes.append(at.size)
        first += part.size
    kept = np.concatenate(kept)
    S, c = S[np.ix_(kept, kept)], c[kept]
    if _explaining(S, DEPENDENT)[0].size < kept.size:
        return None
    start = np.append(0, np.cumsum(sizes))
    terms = columns.size + sum(c.shape[1:])
    needs = np.zeros((0, 0), dtype=bool)
    if groups.hierarchy is not None:
        needs = np.ascontiguousarray(groups.hierarchy.needs[np.ix_(free, free)])
    return GroupProducts(free, start, S, c, always, value, half, terms, spread, needs)


def _explaining(S, tol=NOTHING):
    """(positions of columns that explain the others up to `tol` of their squares, ascending;
    whether each of them is clearly no combination of others).
    """
    L, order, rank, _ = get_lapack_funcs("pstrf", (S,))(S, tol=tol, lower=1)
    clear = not rank or L[rank - 1, rank - 1] ** 2 >= UNCLEAR
    return np.sort(order[:rank] - 1), clear


class GroupSizes(Offers):
    """One search. products: a `GroupProducts`; wanted: `SetsWanted`, which is offered groups.

    operations: entries of matrices that were visited, and what refits count. A set is called worse
    only beyond `margin`, what rounding can hide: see `AllSizes`.
    """

    refit_operations = REFIT_OPERATIONS
    spare = False  # a set of s groups is below all of its parts, so that sizes need not compete

    def __init__(self, products, wanted, shares=None):
        super().__init__(wanted)
        self.products, self.J, self.held = products, products.units, products.held
        self.nodes, self.f = 0, -1
        self.value, self.begun = products.value, False
        self.portion = FIRST_PORTION  # first short: what is found then ends much of the search
        p = products
        with one_blas_thread():
            root = Subtree((), np.arange(len(p.S)), p.S, p.c, p.value, np.zeros(len(p.S)))
            self.full = root.full
            self.margin = root.rounding(p.terms, p.spread, p.half)
            size = int(np.diff(p.start).max())
            self.shares = _separate(p.start, p.S, root.B, size) if shares is None else shares
            self.stack, self.space = _arrays(p, root, self.shares)

    def another(self, wanted):
        """A search of its own in the same products, for other sets."""
        return GroupSizes(self.products, wanted, self.shares)

    def cutoffs(self):
        """(sizes,) the cutoffs that `wanted` asks for; where they depend on the number of
        coefficients, those of the fewest.
        """
        out = self.wanted.cutoffs(self.J.size + 1)
        return out if out.ndim == 1 else out.max(axis=1)

    def lower(self):
        """(sizes,): lower bounds, by number of groups, on the sets that were not offered."""
        out = self.cutoffs()
        if not self.begun:
            return np.minimum(out, self.full - self.margin)
        if self.unknown:
            return np.minimum(out, 0.0)
        for level in range(self.f + 1):
            part = slice(self.stack.first[level], self.stack.last[level] + 1)
            out[part] = np.minimum(out[part], self.stack.least[level, part] - self.margin)
        return out

    def run(self, budget=math.inf, poll=None):
        """Search until nothing is open ("closed"), so many operations are done ("node_limit"),
        poll() is True ("stopped"), or a fit proves nothing ("too_close").
        """
        if not self.begun:
            self._offer(self.value, np.empty(0, dtype=np.int64))
            self._offer(self.full, np.arange(self.J.size))
            self.begun, self.f = True, 0
        while self.f >= 0:
            if poll is not None and poll():
                return SearchEnd.STOPPED
            if self.operations >= budget:
                return SearchEnd.NODE_LIMIT
            self._search(int(min(self.portion, budget - self.operations)) + 1)
            self.portion = min(2.0 * self.portion, BETWEEN_POLLS)
        return SearchEnd.TOO_CLOSE if self.unknown else SearchEnd.CLOSED

    def _search(self, portion):
        """Search for a portion of entries, and offer the sets that are found."""
        threshold, found = self.cutoffs() + self.margin, self.space
        cut = Thresholds(threshold, self.wanted.shrink, 2.0 * self.margin)
        self.f, number, nodes, left = search(self.stack, found, self.f, cut, portion)
        self.nodes += nodes
        self.operations += portion - left
        for i in np.argsort(found.value[:number], kind="stable"):
            self._offer(found.value[i], found.found[i][found.found[i] >= 0])

    def _offer(self, value, at):
        """Offer the set of the units at positions `at`, if it may be wanted."""
        cutoffs, support = self.wanted.cutoffs(self.J.size + 1), self.J[at]
        support = np.concatenate([self.held, support])
        size = at.size if cutoffs.ndim == 1 else (at.size, self.wanted.counts.of(support))
        if value < cutoffs[size] + self.margin:
            self.know(support)


def _arrays(products, root, shares):
    """The `GroupNodes` of a search that begins at a `Subtree`, and its `GroupBuffers`; shares: of
    `_separate`.
    """
    units, start, S, c = products[:4]
    m, p, q = units.size, len(S), c.size // len(c)
    size = int(np.diff(start).max())
    stack = GroupNodes(
        S=np.zeros((m, p, p)),
        B=np.zeros((m, p, p)),
        c=np.zeros((m, q, p)),
        b=np.zeros((m, q, p)),
        start=np.zeros((m, m + 1), dtype=np.int64),
        ident=np.zeros((m, m), dtype=np.int64),
        order=np.zeros((m, m), dtype=np.int64),
        high=np.zeros((m, m), dtype=np.int64),
        F=np.zeros(m),
        R=np.zeros(m),
        m=np.zeros(m, dtype=np.int64),
        took=np.zeros(m, dtype=np.int64),
        first=np.zeros(m, dtype=np.int64),
        last=np.zeros(m, dtype=np.int64),
        least=np.zeros((m, m + 1)),
        into=np.zeros(m, dtype=np.int64),
    )
    stack.S[0], stack.B[0], stack.c[0], stack.b[0] = S, root.B, c.T, root.b.T
    stack.start[0] = start
    stack.ident[0] = stack.order[0] = stack.high[0] = np.arange(m)
    stack.F[0], stack.R[0], stack.m[0], stack.took[0] = root.full, root.value, m, ROOT
    stack.first[0], stack.last[0], stack.least[0] = 1, m - 1, root.full
    notes = m * (m + 1) + 64
    space = GroupBuffers(
        w=np.zeros((size, p)),
        block=np.zeros((size, size)),
        u=np.zeros((q, size)),
        cost=np.zeros(m),
        gain=np.zeros(m),
        inside=np.zeros(m, dtype=bool),
        delta=shares,
        needs=products.needs,
        found=np.zeros((notes, m), dtype=np.int16),
        value=np.zeros(notes),
    )
    return stack, space


def _separate(start, S, B, size):
    """(m, size, size) blocks D_g with S - D positive semidefinite, in proportion to inv(B_gg), at
    the upper left of each.
    """
    widths, R, blocks = np.diff(start), np.zeros(S.shape), []
    delta = np.zeros((widths.size, size, size))
    for width in np.unique(widths):  # the groups of as many columns together
        at = np.flatnonzero(widths == width)
        J = start[at][:, None] + np.arange(width)
        J = J[:, :, None], J[:, None, :]
        R[J] = np.linalg.cholesky(B[J])
        blocks.append((at, width, np.linalg.inv(R[J])))
    spectrum = eigvalsh(R.T @ S @ R, check_finite=False)
    share = SPLIT_SHARE * spectrum[0] if spectrum[0] > 1e-9 * spectrum[-1] else 0.0
    for at, width, half in blocks:
        delta[at, :width, :width] = share * (half.transpose(0, 2, 1) @ half)
    return delta
