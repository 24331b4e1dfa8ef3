"""Branch and bound for the best model of a size, or of a lambda0: perspective relaxations at the
nodes, bounded over all columns by weak duality in batched reads.

    lower = min over open nodes of their bounds  <=  optimum  <=  upper = the best model met

A node holds columns that are in and columns that are out; its relaxation (`nodes.relaxation`) is
solved on the working columns (`nodes`) and its dual point is then correlated with all columns, by
their products with the working ones (`nodes.all_columns`) or in one read for many nodes: columns
that would take more off the bound than those counted become working ones, and columns that the
node fixes (`nodes.fixing`) are in or out below it. The best node comes first: its models are all
computed where few columns are to come (`nodes.completing`), else `nodes.branching` splits it.

Sources: Hazimeh, Mazumder & Saab (Mathematical Programming 196, 2022) for the tree, the node solver
and bounds from residuals, penalized with a box; Bertsimas & Shioda (Computational Optimization and
Applications 43, 2009) for sizes. Their tree needs a finite box, ours a ridge or a box.
"""

import heapq
import math

import numpy as np

from ..core.status import SearchEnd
from ..core.threads import one_blas_thread
from ..designs.disk.column_blocks import ColumnBlocks
from ..problem.conjugates import smooth
from ..problem.problem import EPS
from ..relaxation.bounds import base, gains, largest, points_at
from ..relaxation.path_bounds import copied
from .contest import Contest
from .nodes.branching import Gains, RelaxedPoint, most_fractional, shares
from .nodes.columns import JOINING, Node, NodeColumns
from .nodes.completing import Completions
from .nodes.fixing import fixed_by_steps, fixed_by_value
from .nodes.newton import NodeNewton
from .nodes.penalty import Branch, QuadraticLoss
from .nodes.relaxation import NodeLimits, Relaxed, relax

# nodes split at a time, at most: their children share a read of X (four times as many of a file)
BATCH = 16
TREE_TURNS = 60  # Newton steps of a relaxation
LATER = 10  # of those below the root, for losses that are not quadratic
RESOLVED = 8  # times a node is solved again with more working columns
# operations, and columns, of a Gram matrix up to which all columns work from the first node on
WHOLE_GRAM, WHOLE_COLUMNS = 1 << 30, 2048
ROUND = 10  # every so many nodes, and at all of the first 50, the relaxation is rounded to a model


class Tree(Contest):
    """One search. dual: the problem, without the columns that are fixed; size (chosen columns at
    most) or lambda0; refit(support) -> (value, what is kept of it) for a support of the problem;
    start: columns that work from the first node on; n_best: how many of the best supports are
        wanted; around: (columns, m), only models that lack at most m of these columns are looked
        for.

    allowed: (p,) bool, the columns that may be split, None for all (`allow`); a node without a
        fractional one among them rests, at the bound of its relaxation.
    best: [(value, what was kept)] of the best supports so far, ascending; lower: no model is below
        it (nor, for a size, with fewer columns). `run` may be called again to go on.
    """

    width = 0.0  # of a smoothed hinge, if there is one
    # asked before the relaxation of a node that is not quadratic: True leaves it the bound it has
    poll = None

    def __init__(
        self, dual, *, size=None, lambda0=None, refit, settings, n_best=1, start=(), around=((), 0)
    ):
        problem = dual.problem
        self.dual, self.size, self.lambda0, self.refit = dual, size, lambda0, refit
        self.settings, self.n_best = settings, n_best
        self.loss = smooth(problem.loss)
        self.rounding = (problem.X.n + 16) * EPS
        self.work = NodeColumns(dual)
        self.half = 0.5 * float(problem.weights @ problem.y**2) if problem.quadratic else 0.0
        self.columns = int(dual.counted.sum())
        # nodes at a time: at most, and one in so many of those that wait; fewer reads where X is on
        # disk
        self.batch = (4 * BATCH, 1) if isinstance(problem.X.design, ColumnBlocks) else (BATCH, 4)
        self.best, self.seen, self.allowed = [], set(), None
        ridge_alone = problem.quadratic and not np.isfinite(dual.upper[problem.usable]).any()
        self.gains = Gains(self) if ridge_alone else None
        self.heap, self.nodes, self.count = [], 0, 0
        self.near, self.away = np.asarray(around[0], dtype=np.int64), around[1]
        self.work.grow(np.union1d(problem.forced, np.union1d(start, self.near)))
        self.completions = Completions(dual, self.half, self.rounding)
        usable = np.flatnonzero(problem.usable)
        few = usable.size <= WHOLE_COLUMNS and problem.X.n * usable.size**2 <= WHOLE_GRAM
        if few and copied(problem):
            self.work.grow(usable)
        self.complete = problem.quadratic and self.work.W.size == usable.size

    def _root(self):
        """The node of all models."""
        s = math.sqrt(self.lambda0) if self.size is None else self.work.first_root(self.size)
        return Node(-math.inf, *np.empty((3, 0), dtype=np.int64), np.empty(0), s, 0.0)

    @property
    def lower(self):
        """A lower bound for every model that is not in `best`."""
        return (
            -math.inf
            if not self.nodes
            else min(self.heap[0][0] if self.heap else math.inf, self.cutoff)
        )

    def run(self, poll=None):
        """Solve the root, if that is still to be done, and split nodes until the gap is closed
        ("closed"), node_limit is met ("node_limit"), poll() is True ("stopped"), or the lowest node
        may not be split ("resting").
        """
        limit = math.inf if self.settings.node_limit is None else self.settings.node_limit
        with one_blas_thread():
            if not self.nodes:
                self._solve_nodes([self._root()])
            self.poll = poll  # the root is solved at any rate
            while self.heap and self.heap[0][0] < self.cutoff:
                if poll is not None and poll():
                    return SearchEnd.STOPPED
                if self.nodes >= limit:
                    return SearchEnd.NODE_LIMIT
                if self.heap[0][2].split < 0:
                    return SearchEnd.NO_BRANCH
                gap = self.settings.gap * abs(self.upper)
                if self.n_best == 1 and self.upper - self.heap[0][0] <= gap:
                    return SearchEnd.CLOSED
                nodes = []
                most, share = self.batch
                while (
                    self.heap
                    and len(nodes)
                    < min(most, 1 + len(self.heap) // share, (limit - self.nodes + 1) // 2)
                    and self.heap[0][0] < self.cutoff
                    and self.heap[0][2].split >= 0
                ):
                    nodes.append(heapq.heappop(self.heap)[2])
                left = [node for node in nodes if not self._completed(node)]
                self._solve_nodes([child for node in left for child in self._children(node)])
        self.heap = []
        return SearchEnd.CLOSED

    def _completed(self, node):
        """Whether all models of the node were computed (`nodes.completing`)."""
        size, work = self.left(node), self.work
        if self.near.size or self.allowed is not None or not self.completions.may(size, self.nodes):
            return False
        into, out, at = (work.W[places] for places in (node.into, node.out, node.at))
        return self.completions.compare(self, into, out, size, (at, node.b))

    def allow(self, columns):
        """Let these columns, None for all, be split from now on, in all open nodes."""
        self.allowed = None
        if columns is not None:
            self.allowed = np.zeros(self.dual.problem.X.p, dtype=bool)
            self.allowed[columns] = True
        heap, self.heap = self.heap, []
        for bound, count, node in heap:
            heapq.heappush(
                self.heap,
                (bound, count, node._replace(split=self._branch(node, *self._spread(node)))),
            )

    def fractional(self, node):
        """(columns, their z) of a node's relaxation with 0 < z < 1, the largest first."""
        z = self._z(node, *self._spread(node))
        at = np.flatnonzero((z > 1e-7) & (z < 1 - 1e-7))
        at = at[np.argsort(-z[at], kind="stable")]
        return self.work.W[at], z[at]

    def _spread(self, node):
        """(state, b), both (w,), of a node."""
        b = np.zeros(self.work.W.size)
        b[node.at] = node.b
        return self._state(node), b

    def _children(self, node):
        """The two nodes with the column of `split` out, and in."""
        j = np.array([node.split])
        kept = node.at != node.split
        yield self._near(
            node._replace(
                out=np.concatenate([node.out, j]), at=node.at[kept], b=node.b[kept], split=-1
            )
        )
        yield node._replace(into=np.concatenate([node.into, j]), split=-1)

    def _near(self, node):
        """The node with what is left of `around` in, once as many of these columns are out as may
        be.
        """
        if not self.near.size:
            return node
        near = self.work.position[self.near]
        if np.isin(near, node.out).sum() < self.away:
            return node
        rest = near[~np.isin(near, node.out) & ~np.isin(near, node.into)]
        return node._replace(into=np.concatenate([node.into, rest]))

    def _cost(self):
        """(w,): what each working column costs, None for sizes."""
        return None if self.size is not None else self.lambda0 * self.work.penalty.factor

    def _state(self, node):
        state = np.where(self.work.counted, 0, 1).astype(np.int8)
        state[node.into], state[node.out] = 1, -1
        return state

    def left(self, node):
        return -1 if self.size is None else self.size - node.into.size

    def resolve_lowest(self):
        """Solve the node of the lowest bound again."""
        self._solve_nodes([heapq.heappop(self.heap)[2]])

    def _solve_nodes(self, nodes):
        """Solve nodes, bound them over all columns, and put those that may hold a better model on
        the heap.
        """
        for _ in range(RESOLVED):
            if not nodes:
                return
            solved = self._relaxed(nodes)
            nodes, fresh = [], []
            checked = [(node, None) for node in solved] if self.complete else self._checked(solved)
            for node, J in checked:
                if J is not None and J.size and node.bound < self.cutoff:
                    nodes.append(node)
                    fresh.append(J)
                else:
                    self._keep(node)
            if fresh:
                self.work.grow(np.unique(np.concatenate(fresh)))
                self.complete = self.dual.problem.quadratic and self.work.W.size == int(
                    self.dual.problem.usable.sum()
                )
        for node in nodes:
            self._keep(node)

    def _keep(self, node):
        """Put a node on the heap, unless its bound says that it holds nothing better."""
        if node.bound < self.cutoff and self._leaf(
            node
        ):  # what was fixed may leave one model alone
            return
        self.nodes += 1
        if not node.bound < self.cutoff:
            return
        state, b = self._spread(node)
        if self.nodes <= 50 or self.nodes % ROUND == 0:
            self._round(node, state, b)
        if node.bound < self.cutoff:
            self.count += 1
            heapq.heappush(
                self.heap,
                (node.bound, self.count, node._replace(split=self._branch(node, state, b))),
            )

    def _leaf(self, node):
        """Whether the node holds one model alone, which is then compared with the best: as many
        columns are in as may be, or no more are free than may still come in.
        """
        left, work = self.left(node), self.work
        free = self.columns - node.into.size - node.out.size
        if (self.size is None and free > 0) or (left > 0 and free > left):
            return False
        if self.size is not None and left < 0:  # `around` leaves no such model
            return True
        self.nodes += 1
        into = np.concatenate([self.dual.problem.forced, work.W[node.into]])
        if left != 0 and free > 0:
            rest = self.dual.counted.copy()
            rest[work.W[node.into]] = rest[work.W[node.out]] = False
            into = np.concatenate([into, np.flatnonzero(rest)])
        if (
            self.size is None
            or into.size == self.size + self.dual.problem.forced.size
            or self.n_best == 1
        ):
            self.offer(into)
        return True

    def _relaxed(self, nodes):
        """The nodes with their relaxations on the working columns, without those that hold one
        model alone, which has then competed.
        """
        work, out = self.work, []
        for node in nodes:
            if not self._leaf(node):
                out.append(node)
        B, s = np.zeros((work.W.size, len(out)), order="F"), np.array([node.s for node in out])
        for m, node in enumerate(out):
            B[node.at, m] = node.b
        shift, bounds = np.array([node.shift for node in out]), np.full(len(out), -math.inf)
        states, fixed = [self._state(node) for node in out], []
        if self.dual.problem.quadratic:
            for m, node in enumerate(out):
                left = self.left(node)
                branch = Branch(states[m], left)
                bounds[m], s[m], found = self.solve(branch, s[m], B[:, m])
                if self.complete:
                    fixed.append(self._fixed_of_all(branch, s[m], bounds[m], found))
        else:
            self._newton(out, states, B, s, shift)
        done = []
        for m, node in enumerate(out):
            at = np.flatnonzero(B[:, m])
            node = node._replace(at=at, b=B[at, m], s=float(s[m]), shift=float(shift[m]))
            done.append(self._narrowed(node, bounds[m], *fixed[m]) if self.complete else node)
        return done

    def solve(self, branch, s, b):
        """(bound on the working columns, s, `Relaxed`) from the start b (w,), overwritten."""
        work, limits = self.work, NodeLimits(self.cutoff, TREE_TURNS, self.rounding)
        found = Relaxed(b, *np.empty((2, b.size)))
        loss = QuadraticLoss(work.G, work.q, self.half)
        return *relax(loss, work.penalty, branch, s, limits, found, work.space), found

    def _fixed_of_all(self, branch, s, value, found):
        """(out, into), (w,) bool: what a node of bound `value` fixes, where all columns work."""
        work, free = self.work, branch.state == 0
        top = None if self.size is None else largest(found.h[free], branch.size + 1)
        out, into = fixed_by_value(value, found.h, free, self.cutoff, self._cost(), top)
        multiplier = s * s if self.lambda0 is None else self.lambda0
        point = RelaxedPoint(found.b, found.c, multiplier, value)
        loss = QuadraticLoss(work.G, work.q, self.half)
        limits = NodeLimits(self.cutoff, 0, self.rounding)
        less, more = fixed_by_steps(loss, work.penalty, branch, point, limits)
        return out | less, (into | more) & ~(out | less)

    def _narrowed(self, node, value, out, into):
        """The node with a bound of it, and columns that this bound fixes."""
        bound = max(node.bound, value)
        if not (out.any() or into.any()):
            return node._replace(bound=bound)
        kept = ~out[node.at]
        more = np.concatenate([node.out, np.flatnonzero(out)])
        into = np.concatenate([node.into, np.flatnonzero(into)])
        return self._near(
            node._replace(bound=bound, at=node.at[kept], b=node.b[kept], out=more, into=into)
        )

    def _newton(self, nodes, states, B, s, shift):
        """Relaxations of a loss that is not quadratic, in place, on the working columns; for the
        hinge: whether its width is what some bound lacks.
        """
        coarse = False
        for m, node in enumerate(nodes):
            if self.poll is not None and self.poll():
                return False
            s[m], shift[m], lack = NodeNewton(self, states[m], self.left(node), B[:, m]).run(
                s[m], shift[m], LATER if node.into.size + node.out.size else TREE_TURNS
            )
            coarse |= lack
        return coarse

    def _checked(self, nodes):
        """The same as `_read`, from products with all columns where these are few enough."""
        if not self.work.few(self.rounding):
            return self._read(nodes)
        out = []
        for node in nodes:
            value, fixed, J = self.work.bound_over_all(
                node, self.left(node), self.lambda0, self.cutoff
            )
            out.append((self._narrowed(node, value, fixed < 0, fixed > 0), J))
        return out

    def _read(self, nodes):
        """[(node with its bound over all columns, columns that should become working ones)]: one
        read of X.
        """
        if not nodes:
            return []
        work, dual = self.work, self.dual
        U = np.zeros((work.W.size, len(nodes)))
        for m, node in enumerate(nodes):
            U[node.at, m] = node.b
        points = points_at(dual, work.W, U, np.array([node.shift for node in nodes]))
        return [self._bounded(node, points, m) for m, node in enumerate(nodes)]

    def _bounded(self, node, points, m):
        """(the node with the bound of point m and what it fixes, columns outside W that take more
        off than those counted).
        """
        work, dual, left = self.work, self.dual, self.left(node)
        h = gains(dual, points, m)
        start = base(dual, points, m, h)
        into = work.W[node.into]
        start -= h[into].sum()
        free = dual.counted.copy()
        free[into] = False
        free[work.W[node.out]] = False
        if self.size is None:
            cost = self.lambda0 * dual.problem.factor
            start += cost[into].sum()
            excess = np.where(free, np.maximum(h - cost, 0.0), 0.0)
            value, above, top = start - excess.sum(), np.where(free, h - cost, -1.0), None
        else:
            g = np.where(free, np.maximum(h, 0.0), -1.0)
            top = largest(g, left + 1)
            # a column enters that takes more off than the last of those counted would, were W all
            # there is
            known = np.sort(g[work.W])[::-1]
            value = start - top[:left].sum()
            above = g - max(known[left - 1] if left <= known.size else 0.0, 1e-300)
        above[work.W] = -1.0
        J = np.flatnonzero(above > 0)
        if J.size > JOINING:
            J = J[np.argpartition(-above[J], JOINING)[:JOINING]]
        fixed = fixed_by_value(value, h[work.W], free[work.W], self.cutoff, self._cost(), top)
        return self._narrowed(node, value, *fixed), J

    def _z(self, node, state, b):
        """(w,) z of the relaxation on free columns; 0 elsewhere."""
        multiplier = node.s**2 if self.size is not None else self.lambda0
        return shares(self.work.penalty, multiplier * self.work.penalty.factor, state, b)

    def _branch(self, node, state, b):
        """The free column of the largest gains, where a ridge alone makes the relaxation of a
        squared loss; else that whose z is closest to one half; where all are whole the largest.
        Where not all columns are `allowed`: one of those that are, or -1.
        """
        z, work, j = self._z(node, state, b), self.work, -1
        if self.allowed is not None:
            z = np.where(self.allowed[work.W], z, 0.0)
        elif self.gains is not None:
            j = self.gains.best(node, state, z, b)
        j = most_fractional(z) if j < 0 else j
        if j >= 0:
            return j
        if self.allowed is not None:
            return -1
        free = np.flatnonzero(state == 0)
        if not free.size:  # the free columns are zero in every relaxation so far
            self.work.grow(np.flatnonzero(self.dual.counted & (self.work.position < 0))[:1])
            return self.work.W.size - 1
        return int(free[np.abs(b[free]).argmax()])

    def _round(self, node, state, b):
        """Offer the model of the columns that are in and the free ones of the largest z."""
        z, work, left = self._z(node, state, b), self.work, self.left(node)
        if left < 0:
            chosen = np.flatnonzero(z > 0.5)
        else:
            chosen = np.argsort(np.where(state == 0, -z, 1.0), kind="stable")[:left]
            chosen = chosen[state[chosen] == 0]
        if left < 0 or chosen.size == left:
            self.offer(work.W[np.concatenate([np.flatnonzero(state == 1), chosen])])
