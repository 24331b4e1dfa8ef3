"""The working groups: which groups' columns are at hand, restricted optima on unions of groups, the
quadratic at a fit, and Gram blocks.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from ..core import threads
from ..core.dispatch import njit
from ..core.status import FitStatus
from ..formula.hierarchy import NoHierarchy
from ..problem.dependence import LEAST_EIGENVALUE, from_rows
from ..problem.problem import GroupFit
from .curvature import curved
from .least_squares import inverse_by_rows
from .linear_algebra import COLLINEAR

BLOCK_TASKS = 32  # of a read of all groups for each thread at most
# of columns held while Gram blocks of all groups are made: 1 MB stay in cache
GROUP_ENTRIES = 1 << 17
RIDGE_SHARE = 1e-8  # share of the largest square of a column that a ridge must be for that
INVERSES = 64  # that are held


class GroupQuadratic(NamedTuple):
    """A quadratic at a fit, with K independent columns of its support."""

    at: np.ndarray  # (K,), the columns, positions in W, those of members first
    members: np.ndarray  # member i has the columns members[i] .. members[i + 1]
    ids: np.ndarray  # ids[i] is the group of member i
    B: np.ndarray  # (K, K), inverse Hessian
    b: np.ndarray  # (q, K), coefficients
    curvature: "GramCurvature | RowCurvature | None" = None
    columns: tuple = ()  # those of `at`, see `columns` of the curvature


class GroupBlocks(NamedTuple):
    """Gram blocks of m groups: group g has the columns starts[g]..starts[g + 1], and its block row
    by row from values[at[g]] on; starts, at (m + 1,).
    """

    starts: np.ndarray
    at: np.ndarray
    values: np.ndarray


class Crossing(NamedTuple):
    """The quadratic at a fit with the m columns of several groups: rows (K, m) = G_{S, columns},
    gradient c (q, m), Gram blocks.
    """

    rows: np.ndarray
    c: np.ndarray
    blocks: GroupBlocks


class GramCurvature(NamedTuple):
    """F near a fit, for q responses or one: `scale` times a quadratic that has the Gram matrix of
    the working columns. It is exact for the squared loss.

    The verbs of this class and the next: `columns` of the fit and those `beside` it at some
    positions in W, as tuples of arrays with an entry or a row for each; the `product` of two such,
    their second derivatives; downhill slopes; a root R of the Hessian R R', None for none; and
    Gram blocks.
    """

    model: "object"  # the GramModel
    fit: "object"
    scale: float = 1.0

    def columns(self, at):
        """The columns at some positions in W."""
        return (at,)

    beside = columns

    def product(self, some, others):
        """Second derivatives of some columns with others, (k, m)."""
        G = self.model.G[some[0][:, None], others[0]]
        return G if self.scale == 1.0 else self.scale * G

    def downhill(self, some, b, rows):
        """Downhill slopes of some columns, (q, m), beside columns with the coefficients b (q, K),
        with which they have the second derivatives `rows` (K, m).
        """
        return np.ascontiguousarray(self.model.downhill(self.fit, some[0], b, rows))

    def root(self, some):
        """The root of the Hessian of some columns, (k, n)."""
        return self.model.Z[some[0]] * np.sqrt(self.scale * self.model.problem.weights)

    def fill_blocks(self, some, blocks):
        """The GroupBlocks of some columns, from those of the Gram matrix."""
        return blocks._replace(values=self.scale * blocks.values)


class RowCurvature(NamedTuple):
    """F near a fit of a RowModel, to second order: see `GramCurvature`."""

    problem: "object"
    Z: np.ndarray  # (w, n), the working columns
    eta: np.ndarray  # (n,), predictor
    slopes: np.ndarray  # (n,), in it
    v: np.ndarray  # (n,), curvatures

    def columns(self, at):
        """The columns at some positions in W, see `curved`."""
        return curved(self.problem, self.eta, self.v, self.Z[at])

    def beside(self, at):
        """As `columns`, but that they need not be centered."""
        first = int(at[0]) if at.size else 0
        in_order = np.array_equal(at, np.arange(first, first + at.size))
        Z = self.Z[first : first + at.size] if in_order else self.Z[at]
        if self.problem.loss.traits.coupled:
            return curved(self.problem, self.eta, self.v, Z)
        return Z, Z, np.empty((at.size, 0))

    def product(self, some, others):
        """As in `GramCurvature`; the others need not be centered."""
        out = some[1] @ others[0].T
        if some[2].size:
            out -= some[2] @ others[2].T
        return out

    def downhill(self, some, b, rows):
        """As in `GramCurvature`."""
        return -(some[0] @ self.slopes)[None]

    def root(self, some):
        """As in `GramCurvature`."""
        return None if self.problem.loss.traits.coupled else some[0] * np.sqrt(self.v)

    def fill_blocks(self, some, blocks):
        """The GroupBlocks of some columns."""
        (Z, ZB, P), (starts, at, _) = some, blocks
        blocks = GroupBlocks(starts, at, np.empty(at[-1]))
        if not self.problem.loss.traits.coupled:
            blocks_of(Z, self.v, self.problem.intercept, blocks, 0, at.size - 1)
            return blocks
        for g in range(at.size - 1):
            own = slice(starts[g], starts[g + 1])
            block = ZB[own] @ Z[own].T - P[own] @ P[own].T
            blocks.values[at[g] : at[g + 1]] = block.ravel()
        return blocks


def inverse(H):
    """(B, kept): inverse of the positive semidefinite H on columns `kept` (indices, ascending) that
    are independent, all of them where they are; B is symmetric.
    """
    every = np.arange(len(H))
    if not len(H):
        return H.copy(), every
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-280))  # its square stays a number
    scaled = H * unit[:, None]
    scaled *= unit
    L, weak = lapack.dpotrf(scaled.T, lower=1, clean=1)
    if weak or np.diagonal(L).min() ** 2 <= COLLINEAR:
        _, order, rank, _ = lapack.dpstrf(scaled, tol=10 * COLLINEAR, lower=1)
        if np.diagonal(scaled).max() <= 10 * COLLINEAR:  # the first pivot is compared with nothing
            return np.empty((0, 0)), every[:0]
        every = np.sort(order[:rank] - 1)
        unit, scaled = unit[every], scaled[every[:, None], every]
        L, _ = lapack.dpotrf(scaled, lower=1, clean=1)
    B, _ = lapack.dpotri(L, lower=1, overwrite_c=1)  # what lies above the diagonal stays 0
    diagonal = np.diagonal(B).copy()
    B += B.T
    np.fill_diagonal(B, diagonal)
    B *= unit[:, None]
    B *= unit
    return B, every


def carried(fit, support):
    """The coefficients of a fit that the columns `support` (ascending) begin with: 0 for those that
    are not among its own.
    """
    b = np.zeros((support.size, *fit.b.shape[1:]))
    if support.size:
        place = np.searchsorted(support, fit.support)
        place[place == support.size] = 0
        same = support[place] == fit.support
        b[place[same]] = fit.b[same]
    return b


class GroupModel:
    """Groups of a problem on a model of working columns. free (G,): groups that may be chosen;
    forced: those in every model; `closed`: refits have a closed form; `exact`: tables are exact
    too.
    """

    columns_per_row = 1.5  # columns a row from which inverses are made by systems on the rows

    def __init__(self, model, lambda1, lambda2):
        self.model, self.problem, self.lambda1, self.lambda2 = (
            model,
            model.problem,
            float(lambda1),
            float(lambda2),
        )
        groups, usable = self.problem.groups, self.problem.usable
        self.hierarchy = groups.hierarchy or NoHierarchy()
        owner, kept = groups.owners(), usable[groups.columns]
        count = len(groups.labels)
        sizes = np.bincount(owner[kept], minlength=count)
        self.columns = groups.columns[kept]
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.forced = np.flatnonzero((groups.factor == 0) & (sizes > 0))
        self.free = np.isfinite(groups.factor) & (groups.factor > 0) & (sizes > 0)
        self.alone = groups.alone(self.free, self.forced)
        self.widest = int(sizes.max(initial=1))
        self.single = bool((sizes == 1).all())  # whether every group is one column
        self.overlap = np.bincount(self.columns, minlength=1).max() > 1
        self.closed = self.problem.closed_form(lambda1)
        self.exact = self.closed and not self.overlap
        self.weak = False  # whether collinear columns were met, which tables do not see
        self.inside, self.W = np.zeros(count, dtype=bool), np.empty(0, dtype=np.int64)
        self.places, self.starts = np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
        self.at, self.blocks = np.zeros(1, dtype=np.int64), np.empty(0)
        self.inverses = {}  # the last ones of `refit`
        self.every = None  # Gram blocks of all groups
        self.grow(self.forced)

    def of(self, g):
        """Usable columns of a group."""
        return self.columns[self.start[g] : self.start[g + 1]]

    def union(self, groups):
        """Columns of several groups, ascending."""
        columns = self.columns[self.one_by_one(groups)[0]]
        return np.unique(columns) if self.overlap else np.sort(columns)

    def one_by_one(self, groups):
        """(places, owner): where `columns` has those of several groups, one group after another,
        and the positions among these of the groups that they belong to.
        """
        groups = np.asarray(groups, dtype=np.int64)
        if self.single:
            return groups, np.arange(groups.size)
        first, sizes = self.start[groups], self.start[groups + 1] - self.start[groups]
        before = np.cumsum(sizes) - sizes
        return np.repeat(first - before, sizes) + np.arange(sizes.sum()), np.repeat(
            np.arange(groups.size), sizes
        )

    def near_groups(self):
        """Working groups that may be chosen and have columns of near combinations."""
        if self.exact or self.model.near is None:
            return []
        return [
            int(g) for g in self.W if self.free[g] and np.isin(self.of(g), self.model.near).any()
        ]

    @cached_property
    def owner(self):
        """(p,) the group of each column, where no two share one."""
        out = np.zeros(self.problem.X.p, dtype=np.int64)
        out[self.columns] = np.repeat(np.arange(self.free.size), np.diff(self.start))
        return out

    def may_enter(self):
        """As `WorkingColumns.may_enter`, of groups of one column under the strong rule."""
        may = self.free | np.isin(np.arange(self.free.size), self.forced)
        return (may & self.hierarchy.met(may))[self.owner[self.model.W]]

    def needs(self):
        """As `WorkingColumns.needs`, of groups of one column."""
        own = self.owner[self.model.W]
        return np.ascontiguousarray(self.hierarchy.needs[own[:, None], own])

    def as_units(self, fit):
        """A Fit of groups of one column as their GroupFit."""
        return GroupFit(*fit, np.sort(self.owner[fit.support]))

    @property
    def members(self):
        """Number of working groups."""
        return self.W.size

    @property
    def whole(self):
        """Whether every group that may be chosen is a working group."""
        return bool(self.inside[self.free].all())

    def grow(self, groups):
        """Add groups to the working groups; True if any was new."""
        groups = np.asarray(groups, dtype=np.int64)
        new = list(dict.fromkeys(groups[~self.inside[groups]].tolist()))
        if not new:
            return False
        self.model.grow(self.union(new))
        self.inside[new] = True
        self.W = np.append(self.W, new)
        sizes = self.start[np.array(new) + 1] - self.start[new]
        self.places = np.append(
            self.places, self.model.where[np.concatenate([self.of(g) for g in new])]
        )
        self.starts = np.append(self.starts, self.starts[-1] + np.cumsum(sizes))
        self.at = np.append(self.at, self.at[-1] + np.cumsum(sizes**2))
        places = np.split(self.places[self.starts[-len(new) - 1] :], np.cumsum(sizes)[:-1])
        self.blocks = np.concatenate([self.blocks, *self.model.gram_blocks(places)])
        return True

    # -------------------- restricted optima

    def refit(self, groups, start=None, target=np.inf):
        """The GroupFit of a set of groups (ascending array), from the coefficients it shares with
        the fit `start`; None once `target` is out of reach.
        """
        groups = np.asarray(groups, dtype=np.int64)
        self.grow(groups)
        support, model = self.union(groups), self.model
        if self.closed:
            model.refits += 1
            at = model.where[support]
            if self.more_columns_than_rows(at.size):
                return GroupFit(support, *self._on_rows(at), groups)
            if model.near is not None and model.negligible_ridge(self.lambda2):
                return GroupFit(*model.on_rows(support, self.lambda2)[0], groups)
            G = model.G[at[:, None], at]
            B, kept = self._inverse(G)
            if len(self.inverses) >= INVERSES:
                self.inverses.pop(next(iter(self.inverses)))
            self.inverses[groups.tobytes()] = B, kept
            q = model.q[at]
            b = np.zeros(q.shape)
            b[kept] = B @ q[kept]
            b[kept] += B @ (q - G @ b - 2.0 * self.lambda2 * b)[kept]
            value = model.half_square - np.vdot(q, b) + 0.5 * np.vdot(b, G @ b)
            value += self.lambda2 * np.vdot(b, b)
            return GroupFit(support, b, self.problem.shift, float(value), (), groups)
        shared, kept = None, model.independent(support, self.lambda1 or self.lambda2)
        # without a finite optimum coefficients are far out, from where bounds refute a target soon,
        # and where steps to an optimum had better not begin
        if start is not None and (target < np.inf or FitStatus.SEPARATED not in start.flags):
            shared = carried(start, support[kept]), start.b0
        fit = model.refit(support[kept], self.lambda1, self.lambda2, shared, target)
        if fit is None:
            return None
        b = np.zeros((support.size, *fit.b.shape[1:]))
        b[kept] = fit.b
        return GroupFit(support, b, *fit[2:], groups)

    def first_below(self, sets, start, target):
        """(number, GroupFit) of the first of several sets of groups (ascending arrays) whose refit
        from the fit `start` lies below a target, or is no optimum; -1 and None where there is none.
        """
        if self.closed or start.b.ndim > 1:
            return self._first_of(sets, start, target)
        for groups in sets if not self.whole else ():
            self.grow(groups)
        supports, first = [self.union(groups) for groups in sets], 0
        while first < len(sets):  # as many as have equally many columns at a time
            last = first + 1
            while last < len(sets) and supports[last].size == supports[first].size:
                last += 1
            some, shrinkage = supports[first:last], (self.lambda1, self.lambda2)
            starts = np.array([carried(start, support) for support in some])
            e, fit = self.model.first_below(np.array(some), starts, start.b0, shrinkage, target)
            if fit is not None:
                return first + e, GroupFit(*fit, sets[first + e])
            first = last
        return -1, None

    def _first_of(self, sets, start, target):
        """`first_below` by refits one at a time."""
        for e, groups in enumerate(sets):
            fit = self.refit(groups, start, target)
            if fit is not None and (fit.value < target or fit.flags):
                return e, fit
        return -1, None

    def more_columns_than_rows(self, count):
        """Whether so many columns are more than the rows by far, and the ridge is there to tell
        them apart.
        """
        return (
            count > self.columns_per_row * self.problem.X.n
            and self.lambda2 > RIDGE_SHARE * float(self.problem.square.max())
        )

    def _on_rows(self, at):
        """(b, b0, F, flags) of the working columns `at` by a system of n: b = A (A'A + 2 lambda2
        I)^-1 y, A = Z sqrt(w).
        """
        root = np.sqrt(self.problem.weights)
        A, y = self.model.Z[at] * root, (root * self.problem.y.T).T
        M = A.T @ A
        M[np.diag_indices_from(M)] += 2.0 * self.lambda2
        b = A @ cho_solve(
            cho_factor(M.T, lower=True, overwrite_a=True, check_finite=False),
            y,
            check_finite=False,
        )
        residual = y - A.T @ b
        value = 0.5 * np.vdot(residual, residual) + self.lambda2 * np.vdot(b, b)
        return b, self.problem.shift, float(value), ()

    def _inverse(self, H):
        """B on independent columns of a Hessian without the ridge, and which these are."""
        B, kept = inverse(H + 2.0 * self.lambda2 * np.eye(len(H)) if self.lambda2 else H)
        self.weak |= kept.size < len(H)
        return B, kept

    def refined(self, fit):
        """A fit of closed form at full accuracy: made from the rows where its columns are so nearly
        dependent that the normal equations have lost digits, as products of numbers far from their
        origins are.
        """
        model = self.model
        at = model.where[fit.support]
        if self.more_columns_than_rows(at.size) or model.near is not None:
            return fit
        B, kept = self.inverses.get(fit.key) or self._inverse(model.G[at[:, None], at])
        inflation = np.diagonal(B) * (np.diagonal(model.G)[at[kept]] + 2.0 * self.lambda2)
        if kept.size * inflation.max(initial=0.0) * LEAST_EIGENVALUE <= 1.0:
            return fit
        part = fit._replace(support=fit.support[kept], b=fit.b[kept])
        found, b = from_rows(model, part, self.lambda2), np.zeros(fit.b.shape)
        b[kept] = found.b
        return fit._replace(b=b, value=found.value)

    # -------------------- quadratics

    def quadratic(self, fit):
        """The quadratic at a fit: exact for the squared loss, else to second order."""
        ids = fit.groups[~np.isin(fit.groups, self.forced)] if self.forced.size else fit.groups
        places, owner = self.one_by_one(ids)
        order = self.columns[places]
        if self.overlap:  # what only one member has; the rest goes with none of them
            forced = self.problem.forced
            often = np.bincount(np.concatenate([order, forced, forced]), minlength=self.problem.X.p)
            order, owner = order[often[order] == 1], owner[often[order] == 1]
        if order.size < fit.support.size:
            others = np.setdiff1d(fit.support, order, assume_unique=True)
            order = np.concatenate([order, others])
            owner = np.append(owner, np.full(others.size, ids.size))
        place, kept = np.searchsorted(fit.support, order), np.arange(order.size)
        curvature = self.model.curvature(fit)
        columns = curvature.columns(self.model.where[order])
        held = self.inverses.get(fit.key)
        root = curvature.root(columns) if self.more_columns_than_rows(order.size) else None
        if held is not None and held[1].size == order.size:
            B = held[0][place[:, None], place]
        elif root is not None:
            B, kept = inverse_by_rows(root, 2.0 * self.lambda2)
        else:
            B, kept = self._inverse(curvature.product(columns, columns))
        b = np.ascontiguousarray(np.atleast_2d(self.model.in_units(fit)[place].T))
        if kept.size < order.size:  # the others have none, whichever a refit has kept
            whole, columns = columns, tuple(array[kept] for array in columns)
            rows = curvature.product(whole, columns)
            b = (b @ rows + curvature.downhill(columns, b, rows)) @ B
        members = np.searchsorted(owner[kept], np.arange(ids.size + 1)).astype(np.int64)
        at = self.model.where[order[kept]]
        return GroupQuadratic(at, members, ids, B, b, curvature, columns)

    def against(self, quadratic, which):
        """The Crossing of the quadratic at a fit with the working groups `which`, a slice."""
        left, right, curvature = which.start, which.stop, quadratic.curvature
        starts, at = self.starts[left : right + 1], self.at[left : right + 1]
        beside = curvature.beside(self.places[starts[0] : starts[-1]])
        own = GroupBlocks(starts - starts[0], at - at[0], self.blocks[at[0] : at[-1]])
        rows = curvature.product(quadratic.columns, beside)
        c = curvature.downhill(beside, quadratic.b, rows)
        return Crossing(rows, c, curvature.fill_blocks(beside, own))

    # -------------------- all groups

    def all_blocks(self):
        """GroupBlocks of every group with the problem's weights, in one read of X."""
        if self.every is None:
            at = np.concatenate([[0], np.cumsum(np.diff(self.start) ** 2)]).astype(np.int64)
            blocks = GroupBlocks(self.start, at, np.empty(at[-1]))
            self._fill(blocks)
            self.model.reads += 1
            self.every = blocks
        return self.every

    def _fill(self, blocks):
        """Read X and write the values of the blocks of all groups."""
        X, weights, centered = self.problem.X, self.problem.weights, self.problem.intercept
        whole = getattr(X, "stored", tuple)()  # nothing is held of what is read where it lies
        share = X.p // (BLOCK_TASKS * threads.count()) if whole else 1
        most, bounds = max(GROUP_ENTRIES // max(X.n, 1), share), [0]
        for g in range(self.free.size):
            if self.start[g + 1] - self.start[bounds[-1]] > most and g > bounds[-1]:
                bounds.append(g)

        def part(start, stop):
            J = self.columns[self.start[start] : self.start[stop]]
            if whole:
                blocks_in_place(whole, weights, centered, self.columns, blocks, start, stop)
            elif J.size:
                own = slice(start, stop + 1)
                some = GroupBlocks(
                    self.start[own] - self.start[start], blocks.at[own], blocks.values
                )
                Z = np.ascontiguousarray(X.columns(J).T)
                blocks_of(Z, weights, centered, some, 0, stop - start)

        threads.run(part, [*bounds, self.free.size])


@njit
def blocks_of(Z, weights, centered, blocks, first, last):
    """Write the values of the blocks Z_g diag(weights) Z_g', about the weighted means if
    `centered`, of the groups first..last, whose columns are rows of Z (m, n).
    """
    starts, at, values = blocks
    total = 0.0
    for i in range(weights.size):
        total += weights[i]
    work, most = np.empty(weights.size), 0
    for g in range(first, last):
        most = max(most, starts[g + 1] - starts[g])
    means = np.empty(most)
    for g in range(first, last):
        left, d = starts[g], starts[g + 1] - starts[g]
        for a in range(d):
            z, t = Z[left + a], 0.0
            for i in range(weights.size):
                work[i] = weights[i] * z[i]
                t += work[i]
            means[a] = t
            for j in range(0, a + 1, 4):  # four at a time, the last again where there are fewer
                j1, j2, j3 = min(j + 1, a), min(j + 2, a), min(j + 3, a)
                z0, z1, z2, z3 = Z[left + j], Z[left + j1], Z[left + j2], Z[left + j3]
                t0 = t1 = t2 = t3 = 0.0
                for i in range(weights.size):
                    u = work[i]
                    t0 += u * z0[i]
                    t1 += u * z1[i]
                    t2 += u * z2[i]
                    t3 += u * z3[i]
                row = at[g] + a * d
                values[row + j], values[row + j1] = t0, t1
                values[row + j2], values[row + j3] = t2, t3
        for a in range(d):
            for j in range(a + 1):
                t = values[at[g] + a * d + j]
                if centered and total > 0.0:
                    t -= means[a] * means[j] / total
                values[at[g] + a * d + j] = t
                values[at[g] + j * d + a] = t


@njit
def blocks_in_place(stored, weights, centered, columns, blocks, first, last):
    """`blocks_of` the columns columns[starts[g]:starts[g + 1]] of a design, stored = (X (p, n),
    center, scale) one column a row, centered and scaled on the way.
    """
    X, center, scale = stored
    most, two = 0, np.zeros(2, np.int64)
    for g in range(first, last):
        most = max(most, blocks.starts[g + 1] - blocks.starts[g])
    Z = np.empty((most, weights.size))
    for g in range(first, last):
        two[1] = blocks.starts[g + 1] - blocks.starts[g]
        for a in range(two[1]):
            j = columns[blocks.starts[g] + a]
            x, z, c, s = X[j], Z[a], center[j], 1.0 / scale[j]
            for i in range(weights.size):
                z[i] = (np.float64(x[i]) - c) * s
        own = GroupBlocks(two, blocks.at[g : g + 1], blocks.values)
        blocks_of(Z, weights, centered, own, 0, 1)
