"""The working groups: which groups' columns are at hand, restricted optima on unions of groups, the
quadratic at a fit, and Gram blocks.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from ..core import threads
from ..core.dispatch import njit
from ..core.status import FitStatus
from ..problem.dependence import LEAST_EIGENVALUE, from_rows
from .curvature import curved
from .least_squares import inverse_by_rows
from .linear_algebra import COLLINEAR

BLOCK_TASKS = 32  # of a read of all groups for each thread at most
# of columns held while Gram blocks of all groups are made: 1 MB stay in cache
GROUP_ENTRIES = 1 << 17
RIDGE_SHARE = 1e-8  # share of the largest square of a column that a ridge must be for that
INVERSES = 64  # that are held


class GroupFit(NamedTuple):
    """A `Fit` with its groups, ascending, forced features included; support is the union of their
    usable columns.
    """

    support: np.ndarray
    b: np.ndarray
    b0: float
    value: float
    flags: tuple
    groups: np.ndarray

    @property
    def units(self):
        """The units that sizes count: the groups."""
        return self.groups

    @property
    def key(self):
        """The groups as bytes."""
        return self.groups.tobytes()


class GroupQuadratic(NamedTuple):
    """A quadratic at a fit, with K independent columns of its support."""

    at: np.ndarray  # (K,), the columns, positions in W, those of members first
    members: np.ndarray  # member i has the columns members[i] .. members[i + 1]
    ids: np.ndarray  # ids[i] is the group of member i
    B: np.ndarray  # (K, K), inverse Hessian
    b: np.ndarray  # (K,), coefficients
    ZV: np.ndarray | None = None  # (K, n), the columns times the curvatures
    slopes: np.ndarray | None = None  # (n,), -dF by rows
    v: np.ndarray | None = None  # (n,), curvatures; None for the squared loss
    eta: np.ndarray | None = None  # (n,), predictor
    coupled: np.ndarray | None = None  # (K, r), what a coupled loss takes off, see RowModel.coupled


class GroupBlocks(NamedTuple):
    """Gram blocks of m groups: group g has the columns starts[g]..starts[g + 1], and its block row
    by row from values[at[g]] on; starts, at (m + 1,).
    """

    starts: np.ndarray
    at: np.ndarray
    values: np.ndarray


class Crossing(NamedTuple):
    """The quadratic at a fit with the m columns of several groups: rows (K, m) = G_{S, columns},
    gradient c (m,), Gram blocks.
    """

    rows: np.ndarray
    c: np.ndarray
    blocks: GroupBlocks


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
        self.closed = self.problem.quadratic and not lambda1 and not self.problem.boxed
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
        if self.problem.quadratic:
            G = self.model.G
            self.blocks = np.concatenate(
                [
                    self.blocks,
                    *(
                        G[J[:, None], J].ravel()
                        for J in np.split(
                            self.places[self.starts[-len(new) - 1] :], np.cumsum(sizes)[:-1]
                        )
                    ),
                ]
            )
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
            B, kept = self._inverse(at, G)
            if len(self.inverses) >= INVERSES:
                self.inverses.pop(next(iter(self.inverses)))
            self.inverses[groups.tobytes()] = B, kept
            b = np.zeros(support.size)
            q = model.q[at]
            b[kept] = B @ q[kept]
            b[kept] += B @ (q - G @ b - 2.0 * self.lambda2 * b)[kept]
            value = model.half_square - q @ b + 0.5 * b @ (G @ b) + self.lambda2 * b @ b
            return GroupFit(support, b, self.problem.shift, float(value), (), groups)
        shared = None
        # coefficients without a finite optimum are far out
        if start is not None and FitStatus.SEPARATED not in start.flags:
            b = carried(start, support)
            shared = b if self.problem.quadratic else (b, start.b0)
        fit = model.refit(support, self.lambda1, self.lambda2, shared, target)
        return None if fit is None else GroupFit(*fit, groups)

    def first_below(self, sets, start, target):
        """(number, GroupFit) of the first of several sets of groups (ascending arrays) whose refit
        from the fit `start` lies below a target, or is no optimum; -1 and None where there is none.
        """
        if self.problem.quadratic or FitStatus.SEPARATED in start.flags:
            return self.first_of(sets, start, target)
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

    def first_of(self, sets, start, target):
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
        root, y = np.sqrt(self.problem.weights), self.problem.y
        A = self.model.Z[at] * root
        M = A.T @ A
        M[np.diag_indices_from(M)] += 2.0 * self.lambda2
        b = A @ cho_solve(
            cho_factor(M.T, lower=True, overwrite_a=True, check_finite=False),
            root * y,
            check_finite=False,
        )
        residual = root * y - b @ A
        return b, self.problem.shift, float(0.5 * residual @ residual + self.lambda2 * b @ b), ()

    def _inverse(self, at, G=None):
        """B on independent ones of the working columns `at`, and which these are; G: their Gram
        matrix, where it is at hand.
        """
        if self.more_columns_than_rows(at.size):
            B, kept = inverse_by_rows(
                self.model.Z[at] * np.sqrt(self.problem.weights), 2.0 * self.lambda2
            )
        else:
            G = self.model.G[at[:, None], at] if G is None else G
            B, kept = inverse(G + 2.0 * self.lambda2 * np.eye(at.size) if self.lambda2 else G)
        self.weak |= kept.size < at.size
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
        B, kept = self.inverses.get(fit.groups.tobytes()) or self._inverse(at)
        inflation = np.diagonal(B) * (np.diagonal(model.G)[at[kept]] + 2.0 * self.lambda2)
        if kept.size * inflation.max(initial=0.0) * LEAST_EIGENVALUE <= 1.0:
            return fit
        part = fit._replace(support=fit.support[kept], b=fit.b[kept])
        found, b = from_rows(model, part, self.lambda2), np.zeros(at.size)
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
        at, more = self.model.where[order], ()
        held = self.inverses.get(fit.key)
        if held is not None and held[1].size == order.size:
            place = np.searchsorted(fit.support, order)
            B, kept = held[0][place[:, None], place], np.arange(order.size)
        elif self.problem.quadratic:
            B, kept = self._inverse(at)
        else:
            eta, slopes, v = self.model.derivatives(fit)
            Z, ZV, coupled = curved(self.problem, eta, v, self.model.Z[at])
            if self.more_columns_than_rows(at.size) and not self.problem.loss.traits.coupled:
                B, kept = inverse_by_rows(Z * np.sqrt(v), 2.0 * self.lambda2)
            else:
                H = ZV @ Z.T - coupled @ coupled.T
                H[np.diag_indices_from(H)] += 2.0 * self.lambda2
                B, kept = inverse(H)
            if kept.size < at.size:
                ZV, coupled = ZV[kept], coupled[kept]
            more = (ZV, slopes, v, eta, coupled)
        members = np.searchsorted(owner[kept], np.arange(ids.size + 1)).astype(np.int64)
        b = (
            B @ self.model.q[at[kept]]
            if self.closed
            else fit.b[np.searchsorted(fit.support, order[kept])]
        )
        return GroupQuadratic(at[kept], members, ids, B, b, *more)

    def against(self, fit, quadratic, which):
        """The Crossing of the quadratic at a fit with the working groups `which`, a slice."""
        left, right = which.start, which.stop
        J = self.places[self.starts[left] : self.starts[right]]
        starts, at = self.starts[left : right + 1] - self.starts[left], self.at[left : right + 1]
        if self.problem.quadratic:
            G, q, support = self.model.G, self.model.q, self.model.where[fit.support]
            rows = G[quadratic.at[:, None], J]
            c = q[J] - (quadratic.b @ rows if self.closed else fit.b @ G[support[:, None], J])
            return Crossing(rows, c, GroupBlocks(starts, at, self.blocks))
        first = int(J[0]) if J.size else 0
        in_order = np.array_equal(J, np.arange(first, first + J.size))
        Z = self.model.Z[first : first + J.size] if in_order else self.model.Z[J]
        at = at - at[0]
        blocks = GroupBlocks(starts, at, np.empty(at[-1]))
        if not self.problem.loss.traits.coupled:
            blocks_of(Z, quadratic.v, self.problem.intercept, blocks, 0, right - left)
            return Crossing(quadratic.ZV @ Z.T, -(Z @ quadratic.slopes), blocks)
        Z, ZB, coupled = curved(self.problem, quadratic.eta, quadratic.v, Z)
        for g in range(right - left):
            own = slice(starts[g], starts[g + 1])
            block = ZB[own] @ Z[own].T - coupled[own] @ coupled[own].T
            blocks.values[at[g] : at[g + 1]] = block.ravel()
        rows = quadratic.ZV @ Z.T - quadratic.coupled @ coupled.T
        return Crossing(rows, -(Z @ quadratic.slopes), blocks)

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

    def slopes(self, fit):
        """(dF, curvatures) of a fit by rows, (n,) each."""
        return self.model.derivatives(fit)[1:]


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
