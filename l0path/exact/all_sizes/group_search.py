"""Leaps and bounds over the sets of groups of all sizes at once, for a squared loss: what differs
from the search over columns (`search`), beside the kernels (`group_kernel`).

It serves groups that share no column, keep no weak hierarchy, and whose columns are no combinations
of those of others; `nested` serves the rest.
"""

from collections import deque
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh, get_lapack_funcs

from ...core.threads import one_blas_thread
from ...formula.hierarchy import STRONG
from ...relaxation.splitting import SPLIT_SHARE
from .group_kernel import GroupBuffers, search
from .node_bounds import UNCLEAR
from .search import SearchOfSizes, Walker, open_nodes, products
from .subtrees import DEPENDENT, MOST_COLUMNS, NOTHING, Subtree, hold

# up to so many groups a search without kernels takes less time than compiling these
FEW_GROUPS = 12


class GroupTask(NamedTuple):
    """The search over G groups, which have p columns together, as it begins."""

    units: np.ndarray  # (G,), the groups
    start: np.ndarray  # unit a has the columns start[a] .. start[a + 1]
    held: np.ndarray  # units in every set
    root: Subtree  # its candidates are the columns
    margin: float  # what rounding can hide
    delta: np.ndarray  # (G, s, s), see `_separate`
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
    with one_blas_thread():
        task = _task(model, lambda2, free)
    return None if task is None else GroupSizes(task, wanted)


def _task(model, lambda2, free):
    """The `GroupTask` of the groups `free`, without columns that others of their group explain;
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
    S, c, half = products(problem, lambda2, columns, model)
    S, c, value, spread = hold(S, c, half, range(held.size))
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
    root = Subtree((), np.arange(len(S)), S, c, value, np.zeros(len(S)))
    margin = root.rounding(columns.size + sum(c.shape[1:]), spread, half)
    needs = np.zeros((0, 0), dtype=bool)
    if groups.hierarchy is not None:
        needs = np.ascontiguousarray(groups.hierarchy.needs[np.ix_(free, free)])
    return GroupTask(free, start, always, root, margin, _separate(start, S, root.B), needs)


def _explaining(S, tol=NOTHING):
    """(positions of columns that explain the others up to `tol` of their squares, ascending;
    whether each of them is clearly no combination of others).
    """
    L, order, rank, _ = get_lapack_funcs("pstrf", (S,))(S, tol=tol, lower=1)
    clear = not rank or L[rank - 1, rank - 1] ** 2 >= UNCLEAR
    return np.sort(order[:rank] - 1), clear


class GroupWalker(Walker):
    """The search of a `GroupTask` under way, which is not divided."""

    def __init__(self, task):
        m, p, size = task.units.size, len(task.root.S), task.delta.shape[1]
        q, notes = task.root.c.size // p, m * (m + 1) + 64
        self.task, self.stack = task, open_nodes(m, m, p, q)
        self.space = GroupBuffers(
            w=np.zeros((size, p)),
            block=np.zeros((size, size)),
            u=np.zeros((q, size)),
            cost=np.zeros(m),
            gain=np.zeros(m),
            inside=np.zeros(m, dtype=bool),
            delta=task.delta,
            needs=task.needs,
            found=np.zeros((notes, m), dtype=np.int16),
            value=np.zeros(notes),
        )
        self.base, self.f, self.nodes = 0, -1, 0

    def load(self, root):
        """Begin at the root."""
        self.open(root, np.arange(self.task.units.size), 1)
        self.stack.start[0] = self.task.start

    def work(self, cut, portion, limit):
        """See `Walker`; there is no limit of nodes."""
        found = self.space
        self.f, number, nodes, left = search(self.stack, found, self.f, cut, portion)
        self.nodes += nodes
        return [found.value[:number].copy()], [found.found[:number].copy()], portion - left


class GroupSizes(SearchOfSizes):
    """One search. task: a `GroupTask`; wanted: `SetsWanted`, which is offered groups."""

    def __init__(self, task, wanted):
        super().__init__(wanted)
        self.task, self.margin = task, task.margin
        self.J, self.held, self.most = task.units, task.held, task.units.size
        self.tasks, self.walkers = deque([task.root]), [GroupWalker(task)]

    def _begin(self, task, walker):
        """Offer the sets of no group and of all; the kernel notes the others."""
        self._offer(task.value, np.empty(0, dtype=np.int64))
        self._offer(task.least, np.arange(self.J.size))
        walker.load(task)


def _separate(start, S, B):
    """(m, size, size) blocks D_g with S - D positive semidefinite, in proportion to inv(B_gg), at
    the upper left of each.
    """
    widths, R, blocks = np.diff(start), np.zeros(S.shape), []
    delta = np.zeros((widths.size, widths.max(), widths.max()))
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
