"""The working groups: which groups' columns are at hand, restricted optima on unions of groups, and
the tables of all exchanges of a fit with them.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular

from ..core import threads
from ..exchange.group_table import blocks_in_place, blocks_of, drops, exchanges, scores
from ..exchange.table import COLLINEAR

STRIP = 256  # columns of working groups in one task of a table
TASKS = 32  # of a read of all groups for each thread at most
READ = (
    1 << 17
    # entries of columns held while Gram blocks of all groups are made, 1 MB a task: they stay in
    # cache
)
TALL = 1.5  # columns a row from which inverses are made by systems on the rows
FAINT = 1e-8  # share of the largest square of a column that a ridge must be for that
KEPT = 64  # inverses that are held
HELD = 1 << 23  # entries of X'R of one read: 64 MB


class GroupFit(NamedTuple):
    """A `Fit` with its groups, ascending, forced ones included; support is the union of their
    usable columns.
    """

    support: np.ndarray
    b: np.ndarray
    b0: float
    value: float
    flags: tuple
    groups: np.ndarray

    @property
    def key(self):
        """The groups as bytes."""
        return self.groups.tobytes()


class Table(NamedTuple):
    """The best exchanges of a fit with the first `width` working groups: additions [(change,
    group)], swaps [(change, group out, group in)], ascending; drops {group: increase of F}.
    """

    width: int
    additions: list
    swaps: list
    drops: dict


class State(NamedTuple):
    """A quadratic at a fit: positions at (K,) in W of independent columns of its support, those of
    members first, member i at members[i]..members[i + 1], its group ids[i]; B (K, K), b (K,).

    slopes, v (n,): -dF and curvatures by rows, v None for the squared loss.
    """

    at: np.ndarray
    members: np.ndarray
    ids: np.ndarray
    B: np.ndarray
    b: np.ndarray
    ZV: np.ndarray | None = None
    slopes: np.ndarray | None = None
    v: np.ndarray | None = None


def inverse(H):
    """(B, kept): inverse of the positive semidefinite H on columns `kept` (indices, ascending) that
    are independent, all of them where they are; B is symmetric.
    """
    every = np.arange(len(H))
    if not len(H):
        return H.copy(), every
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    scaled = H * unit[:, None]
    scaled *= unit
    L, weak = lapack.dpotrf(scaled.T, lower=1, clean=1)
    if weak or np.diagonal(L).min() ** 2 <= COLLINEAR:
        _, order, rank, _ = lapack.dpstrf(scaled, tol=10 * COLLINEAR, lower=1)
        every = np.sort(order[:rank] - 1)
        unit, scaled = unit[every], scaled[np.ix_(every, every)]
        L, _ = lapack.dpotrf(scaled, lower=1, clean=1)
    B, _ = lapack.dpotri(L, lower=1, overwrite_c=1)  # what lies above the diagonal stays 0
    diagonal = np.diagonal(B).copy()
    B += B.T
    B[np.diag_indices_from(B)] = diagonal
    B *= unit[:, None]
    B *= unit
    return B, every


def of_rows(A, ridge):
    """(A A' + ridge I)^-1 = (I - A (A'A + ridge I)^-1 A') / ridge for A (K, n), K > n, and that all
    K columns are kept.
    """
    M = A.T @ A
    M[np.diag_indices_from(M)] += ridge
    C = solve_triangular(np.linalg.cholesky(M), A.T, lower=True, check_finite=False)
    B = C.T @ C
    B /= -ridge
    B[np.diag_indices_from(B)] += 1.0 / ridge
    return B, np.arange(A.shape[0])


class GroupModel:
    """Groups of a problem on a model of working columns. free (G,): groups that may be chosen;
    forced: those in every model; `closed`: refits have a closed form; `exact`: tables are exact
    too.
    """

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
        self.widest = int(sizes.max(initial=1))
        self.overlap = np.bincount(self.columns, minlength=1).max() > 1
        self.closed = self.problem.quadratic and not lambda1 and not self.problem.boxed
        self.exact = self.closed and not self.overlap
        self.weak = (
            False  # whether collinear columns were met, where a table is not the whole truth
        )
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
        if not len(groups):
            return np.empty(0, dtype=np.int64)
        columns = np.concatenate([self.of(g) for g in groups])
        return np.unique(columns) if self.overlap else np.sort(columns)

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
        new = [int(g) for g in groups if not self.inside[g]]
        if not new:
            return False
        new = list(dict.fromkeys(new))
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
                        G[np.ix_(J, J)].ravel()
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
            if self.tall(at.size):
                return GroupFit(support, *self._on_rows(at), groups)
            if model.near is not None and model.faint(self.lambda2):
                return GroupFit(*model.on_rows(support, self.lambda2)[0], groups)
            G = model.G[np.ix_(at, at)]
            B, kept = self._inverse(at, G)
            if len(self.inverses) >= KEPT:
                self.inverses.pop(next(iter(self.inverses)))
            self.inverses[groups.tobytes()] = B, kept
            b = np.zeros(support.size)
            q = model.q[at]
            b[kept] = B @ q[kept]
            b[kept] += B @ (q - G @ b - 2.0 * self.lambda2 * b)[kept]
            value = model.half_square - q @ b + 0.5 * b @ (G @ b) + self.lambda2 * b @ b
            return GroupFit(support, b, self.problem.shift, float(value), (), groups)
        shared = None
        if start is not None:
            b = np.zeros(support.size)
            b[np.isin(support, start.support)] = start.b[np.isin(start.support, support)]
            shared = b if self.problem.quadratic else (b, start.b0)
        fit = model.refit(support, self.lambda1, self.lambda2, shared, target)
        return None if fit is None else GroupFit(*fit, groups)

    def tall(self, count):
        """Whether so many columns are more than the rows by far, and the ridge is there to tell
        them apart.
        """
        return count > TALL * self.problem.X.n and self.lambda2 > FAINT * float(
            self.problem.square.max()
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
        rest = root * y - b @ A
        return b, self.problem.shift, float(0.5 * rest @ rest + self.lambda2 * b @ b), ()

    def _inverse(self, at, G=None):
        """B on independent ones of the working columns `at`, and which these are; G: their Gram
        matrix, where it is at hand.
        """
        if self.tall(at.size):
            B, kept = of_rows(self.model.Z[at] * np.sqrt(self.problem.weights), 2.0 * self.lambda2)
        else:
            G = self.model.G[np.ix_(at, at)] if G is None else G
            B, kept = inverse(G + 2.0 * self.lambda2 * np.eye(at.size) if self.lambda2 else G)
        self.weak |= kept.size < at.size
        return B, kept

    # -------------------- exchanges

    def state(self, fit):
        """The quadratic at a fit: exact for the squared loss, else to second order."""
        ids = fit.groups[~np.isin(fit.groups, self.forced, assume_unique=True)]
        own = [self.of(g) for g in ids]
        if self.overlap:  # what only one member has; the rest goes with none of them
            often = (
                np.bincount(
                    np.concatenate([*own, self.problem.forced, self.problem.forced]),
                    minlength=self.problem.X.p,
                )
                if own
                else None
            )
            own = [J[often[J] == 1] for J in own]
        order = np.concatenate([*own, np.empty(0, dtype=np.int64)])
        order = np.concatenate([order, np.setdiff1d(fit.support, order, assume_unique=True)])
        owner = np.concatenate(
            [
                *(np.full(J.size, i) for i, J in enumerate(own)),
                np.full(order.size - sum(J.size for J in own), ids.size),
            ]
        ).astype(np.int64)
        at, more = self.model.where[order], ()
        held = self.inverses.get(fit.key)
        if held is not None and held[1].size == order.size:
            place = np.searchsorted(fit.support, order)
            B, kept = held[0][place[:, None], place], np.arange(order.size)
        elif self.problem.quadratic:
            B, kept = self._inverse(at)
        else:
            _, slopes, v = self.model.derivatives(fit)
            Z, total = self.model.Z[at], v.sum()
            if self.problem.intercept and total > 0:
                Z = Z - (Z @ v / total)[:, None]
            ZV = Z * v
            B, kept = (
                of_rows(Z * np.sqrt(v), 2.0 * self.lambda2)
                if self.tall(at.size)
                else inverse(ZV @ Z.T + 2.0 * self.lambda2 * np.eye(at.size))
            )
            more = (ZV[kept], slopes, v)
        members = np.searchsorted(owner[kept], np.arange(ids.size + 1)).astype(np.int64)
        b = (
            B @ self.model.q[at[kept]]
            if self.closed
            else fit.b[np.searchsorted(fit.support, order[kept])]
        )
        return State(at[kept], members, ids, B, b, *more)

    def _drops(self, state):
        K = state.at.size
        roots, beta, loss = (
            np.empty((K, max(int(np.diff(state.members).max(initial=1)), 1))),
            np.empty(K),
            np.empty(state.ids.size),
        )
        drops(state.B, state.b, state.members, roots, beta, loss)
        return roots, beta, loss

    def drops(self, fit):
        """{group: increase of F by its removal}, by the quadratic at the fit."""
        state = self.state(fit)
        return dict(zip(state.ids.tolist(), self._drops(state)[2].tolist(), strict=True))

    def table(self, fit, known, keep):
        """The Table of a fit over all working groups: `known` (None, or that over the first of
        them) and those that came later.
        """
        state, first, last = self.state(fit), 0 if known is None else known.width, self.W.size
        self.model.tables += 1
        roots, beta, loss = self._drops(state)
        skip = ~self.free[self.W] | np.isin(self.W, fit.groups, assume_unique=True)
        quadratic = self.problem.quadratic
        blocks = self.blocks if quadratic else np.empty(self.at[-1])
        ceiling = 1e300 if not self.exact else 0.0
        found = []

        def part(left, right):
            J = self.places[self.starts[left] : self.starts[right]]
            starts, at = (
                self.starts[left : right + 1] - self.starts[left],
                self.at[left : right + 1],
            )
            if quadratic:
                rows = self.model.G[np.ix_(state.at, J)]
                c = (
                    self.model.q[J] - state.b @ rows
                    if self.closed
                    else self.model.q[J]
                    - fit.b @ self.model.G[np.ix_(self.model.where[fit.support], J)]
                )
            else:
                Z = self.model.Z[J]
                rows, c = state.ZV @ Z.T, -(Z @ state.slopes)
                blocks_of(Z, state.v, self.problem.intercept, starts, 0, right - left, at, blocks)
            if self.lambda1:
                c = np.sign(c) * np.maximum(np.abs(c) - self.lambda1, 0.0)
            plus, added, change, group, member = (
                np.empty(keep),
                np.empty(keep, np.int64),
                np.empty(keep),
                np.empty(keep, np.int64),
                np.empty(keep, np.int64),
            )
            count, swaps = exchanges(
                rows,
                np.ascontiguousarray(state.B @ rows),
                state.members,
                roots,
                beta,
                loss,
                c,
                blocks,
                at,
                starts,
                skip[left:right],
                2.0 * self.lambda2,
                0,
                right - left,
                self.widest,
                ceiling,
                added,
                plus,
                change,
                group,
                member,
            )
            found.append(
                (left, plus[:count], added[:count], change[:swaps], group[:swaps], member[:swaps])
            )

        threads.run(part, self._tasks(first, last))
        additions, swaps = ([], []) if known is None else (known.additions, known.swaps)
        for left, plus, added, change, group, member in found:
            additions = additions + [
                (float(x), int(self.W[left + g])) for x, g in zip(plus, added, strict=True)
            ]
            swaps = swaps + [
                (float(x), int(state.ids[i]), int(self.W[left + g]))
                for x, g, i in zip(change, group, member, strict=True)
            ]
        return Table(
            last,
            sorted(additions)[:keep],
            sorted(swaps, key=lambda s: (s[0], s[2], s[1]))[:keep],
            dict(zip(state.ids.tolist(), loss.tolist(), strict=True)),
        )

    def _tasks(self, first, last):
        """Bounds of ranges of working groups with about STRIP columns each."""
        if first == last:
            return [first]
        bounds = [first]
        for g in range(first, last):
            if self.starts[g + 1] - self.starts[bounds[-1]] > STRIP and g > bounds[-1]:
                bounds.append(g)
        return [*bounds, last]

    # -------------------- all groups

    def _all_blocks(self):
        """Gram blocks of every group with the problem's weights, in one read of X: (at (G + 1,),
        blocks).
        """
        if self.every is None:
            sizes = np.diff(self.start)
            at = np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64)
            X, weights, centred = self.problem.X, self.problem.weights, self.problem.intercept
            whole = getattr(X, "stored", tuple)()  # nothing is held of what is read where it lies
            blocks, bounds, most = (
                np.empty(at[-1]),
                [0],
                max(READ // max(X.n, 1), X.p // (TASKS * threads.count()) if whole else 1),
            )
            for g in range(sizes.size):
                if self.start[g + 1] - self.start[bounds[-1]] > most and g > bounds[-1]:
                    bounds.append(g)

            def part(left, right):
                J = self.columns[self.start[left] : self.start[right]]
                if whole:
                    blocks_in_place(
                        *whole, weights, centred, self.columns, self.start, left, right, at, blocks
                    )
                elif J.size:
                    blocks_of(
                        np.ascontiguousarray(X.columns(J).T),
                        weights,
                        centred,
                        self.start[left : right + 1] - self.start[left],
                        0,
                        right - left,
                        at[left : right + 1],
                        blocks,
                    )

            threads.run(part, [*bounds, sizes.size])
            self.model.reads += 1
            self.every = at, blocks
        return self.every

    def slopes(self, fit):
        """(dF, curvatures) of a fit by rows, (n,) each."""
        p = self.problem
        if p.quadratic:
            return p.weights * (
                fit.b @ self.model.Z[self.model.where[fit.support]] - p.y
            ), p.weights
        return self.model.derivatives(fit)[1:]

    def scores(self, R, mass, known=None):
        """(m, G) c' (mass G_gg + 2 lambda2 I)^-1 c of every group for the right-hand sides R (n,
        m), c = X_g'R; mass (m,): curvature in units of the weights. -1 for groups that may not be
        chosen. known (m, p): R'X, where it is at hand.
        """
        at, blocks = self._all_blocks()
        out, step = (
            np.full((R.shape[1], self.free.size), -1.0),
            max(1, HELD // max(self.problem.X.p, 1)),
        )
        for left in range(0, R.shape[1], step):
            right = min(left + step, R.shape[1])
            C = np.empty((right - left, self.problem.X.p)) if known is None else known[left:right]
            if known is None:
                self.problem.X.correlate_into(np.ascontiguousarray(R[:, left:right].T), C)
                self.model.reads += 1
            part = out[left:right]
            ridge = 2.0 * self.lambda2 / max(float(np.mean(mass[left:right])), 1e-300)

            def task(a, e, C=C, part=part, ridge=ridge):
                scores(C, self.columns, self.start, at, blocks, ridge, self.widest, a, e, part)

            threads.run(task, [*range(0, self.free.size, 512), self.free.size])
        out[:, ~self.free] = -1.0
        return out
