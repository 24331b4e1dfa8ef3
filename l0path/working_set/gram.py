"""The squared loss on the working columns: their Gram matrix says everything, and no row is touched
after it is made.
"""

from typing import NamedTuple

import numpy as np

from ..core import threads
from ..core.status import FitStatus
from ..designs.cluster.shard_gram import ShardGram, on_cluster
from ..problem.problem import Fit
from .columns import CONDITION, Quadratic, WorkingColumns
from .curvature import Derivatives
from .groups import GramCurvature
from .least_squares import least_squares
from .linear_algebra import invert
from .quadratic import solve_quadratics

GRAM_STRIP = 64  # rows of G made at a time
SLICE = 2048  # columns of a task of `verified_slopes`
TINY_RIDGE = 1e-10  # of the mean square of columns: a ridge in tables that only rank


class FitState(NamedTuple):
    """A fit as a check over all columns sees it: F is `scale` times a quadratic with the Gram
    matrix.
    """

    scale: float
    B: np.ndarray  # (k, k), inverse Hessian of F
    c: np.ndarray | None = None  # (p, q), downhill slopes; None: those of the squared loss


class GramModel(WorkingColumns):
    """Squared loss: G (w, w) Gram matrix of the working columns, q (w,) their products with y, and
    Gram rows over all p columns for those that were ever read. With several responses y (n, r) the
    products are (w, r), and coefficients (k, r).
    """

    def __init__(self, problem):
        super().__init__(problem)
        p = problem
        self.q_all = np.where(p.usable, p.X.products(p.weights, p.y).T, 0.0).T
        self.reads += 1
        # coefficients of several responses are those of the user times these
        self.roots = np.ones(1)
        if p.turn is not None and p.turn.shape[0] == p.turn.shape[1]:
            self.roots = 1.0 / np.diagonal(p.turn)
        self.half_square = 0.5 * float(np.sum(p.weights @ (p.y * p.y)))
        self.G = np.empty((0, 0))
        self.q = self.q_all[:0]
        self.row_of = {}  # index -> its row in self.rows
        self._rows = np.empty((0, p.X.p))
        self._spare = {}  # lambda2 -> see `_forced_spare`
        self.capacity = p.X.design.gram_rows if p.X.traits.gram_rows else p.X.p
        self._cluster = None

    def flat(self):
        """The squared loss whose Gram rows screen all columns: this one."""
        return self

    @property
    def members(self):
        """Number of columns with Gram rows over all p columns."""
        return len(self.row_of)

    @property
    def cluster(self):
        """The Gram rows on the workers (`ShardGram`), None where the columns are here."""
        if self._cluster is None and on_cluster(self.problem.X):
            self._cluster = ShardGram(self.problem, self.q_all)
        return self._cluster

    @property
    def rows(self):
        """Gram rows over all p columns (at least `members` of them, p), in this process."""
        return self._rows if self.cluster is None else self.cluster.rows()

    def _extend(self, old, new):
        capacity = self.Z.shape[0]
        if self.G.shape[0] != capacity:
            G = np.empty((capacity, capacity))
            G[:old, :old] = self.G[:old, :old]
            self.G = G
        weights = self.problem.weights
        even = weights[0] if (weights == weights[0]).all() else None

        def part(top, bottom):
            """The rows top..bottom up to the diagonal, and their mirror image."""
            Z = self.Z[top:bottom]
            block = (Z if even is not None else Z * weights) @ self.Z[:bottom].T
            if even is not None:
                block *= even
            self.G[top:bottom, :bottom] = block
            self.G[:bottom, top:bottom] = block.T

        threads.run(part, [*range(old, new, GRAM_STRIP), new])
        self.q = self.q_all[self.W]

    def correlations(self, J):
        """As `WorkingColumns.correlations`, from the Gram matrix."""
        at, unit = self.where[J], np.sqrt(np.maximum(self.problem.square[J], 1e-300))
        return self.G[at[:, None], at] / unit / unit[:, None]

    def null(self, lambda1, lambda2):
        """The fit with forced columns only."""
        if self.problem.forced.size > 1 and self.near is None and self.negligible_ridge(lambda2):
            self.find_near()  # which a Gram matrix does not tell apart
        return self.refit(self.problem.forced, lambda1, lambda2)

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns, from a start (b, b0)."""
        self.refits += 1
        at = self.where[support]
        b = np.zeros((at.size, *self.q.shape[1:])) if start is None else start[0]
        if (lambda1 or self.boxed) and self.hidden(support, lambda2):
            return self.within(support, lambda1, lambda2, b)
        if self.near is not None and self.negligible_ridge(lambda2) and not (lambda1 or self.boxed):
            fit, rank = self.on_rows(support, lambda2)
            independent = rank == support.size - self._forced_spare(lambda2)
            return fit if independent else fit._replace(value=np.inf)
        G, q = self.G[at[:, None], at], self.q[at]
        H = G + 2.0 * lambda2 * np.eye(at.size)
        each = np.ascontiguousarray(np.atleast_2d(q.T))
        x, violation = np.array(b.T, dtype=np.float64, order="C").reshape(each.shape), 0.0
        l1, *box = self._of_each(support, lambda1, len(each))
        if support.size:  # a first fit compiles it only where there is something to solve
            violation = solve_quadratics(H, each, l1, *box, x, 200)
        paid = float((l1 * np.abs(x)).sum()) if lambda1 else 0.0
        x = np.ascontiguousarray(x.T).reshape(q.shape)
        value = self.half_square - np.vdot(q, x) + 0.5 * np.vdot(x, G @ x)
        value += paid + lambda2 * np.vdot(x, x)
        return Fit(
            support,
            x,
            self.problem.shift,
            float(value),
            () if violation < 1e-8 else (FitStatus.NOT_CONVERGED,),
        )

    def _of_each(self, support, lambda1, count):
        """lambda1 and the bounds of the coefficients of a support, for each of `count` responses:
        three arrays (count, k).
        """
        low, high = self.bounds_of(support)
        if count == 1:  # the usual case: small fits have many refits
            return np.full((1, support.size), float(lambda1)), low[None], high[None]
        roots = np.broadcast_to(self.roots, count)[:, None] * np.ones(support.size)
        return lambda1 * roots, roots * low, roots * high

    def on_rows(self, support, lambda2):
        """(Fit, rank) by an orthogonal factorization of the columns (and of the ridge), whose error
        grows with their condition and not with its square; rank: of these up to CONDITION.
        """
        p, root, k = self.problem, np.sqrt(self.problem.weights), support.size
        A, y = (self.Z[self.where[support]] * root).T, (root * p.y.T).T
        if lambda2:
            A = np.vstack([A, np.sqrt(2.0 * lambda2) * np.eye(k)])
            y = np.concatenate([y, np.zeros((k, *y.shape[1:]))])
        unit = np.sqrt(np.maximum(p.square[support], 1e-300))
        b, _, rank, _ = np.linalg.lstsq(A / unit, y, rcond=1.0 / CONDITION)
        b = (b.T / unit).T
        residual = y - A @ b
        return Fit(support, b, p.shift, 0.5 * float(np.vdot(residual, residual))), int(rank)

    def _gram(self):
        return self.G[: self.width, : self.width]

    def _forced_spare(self, lambda2):
        """Number of forced columns that are combinations of other forced ones."""
        forced = self.problem.forced
        if forced.size and lambda2 not in self._spare:
            self._spare[lambda2] = forced.size - self.on_rows(forced, lambda2)[1]
        return self._spare.get(lambda2, 0)

    def within(self, support, lambda1, lambda2, b):
        """Like `on_rows` with lambda1 and within the bounds, from coefficients b: Fit."""
        p, k, root = self.problem, support.size, np.sqrt(self.problem.weights)
        A = (self.Z[self.where[support]] * root).T
        A = np.vstack([A, np.sqrt(2.0 * lambda2) * np.eye(k)])
        each, value, flags = np.atleast_2d(root * p.y.T), 0.0, ()
        out = np.array(np.atleast_2d(b.T), dtype=np.float64)
        l1, *boxes = self._of_each(support, lambda1, len(each))
        for s, (y, low, high) in enumerate(zip(each, *boxes, strict=True)):
            y = np.append(y, np.zeros(k))
            out[s], optimal = least_squares(A, y, l1[s], low, high, out[s])
            residual = y - A @ out[s]
            value += 0.5 * float(residual @ residual) + float(l1[s] @ np.abs(out[s]))
            flags = flags if optimal else (FitStatus.NOT_CONVERGED,)
        return Fit(support, np.ascontiguousarray(out.T).reshape(b.shape), p.shift, value, flags)

    def derivatives(self, fit):
        """The Derivatives of a fit."""
        p, eta = self.problem, self.Z[self.where[fit.support]].T @ fit.b
        return Derivatives(eta, (p.weights * (eta - p.y).T).T, p.weights)

    def curvature(self, fit):
        """The GramCurvature at a fit."""
        return GramCurvature(self, fit)

    def downhill(self, fit, at, b, rows):
        """As `GramCurvature.downhill` of the working columns at some positions."""
        return self.q[at].T - b @ rows

    def gram_blocks(self, places):
        """As `WorkingColumns.gram_blocks`."""
        return [self.G[J[:, None], J].ravel() for J in places]

    def inverse(self, fit, lambda2):
        """B of a fit."""
        at = self.where[fit.support]
        B, H = np.empty((at.size, at.size)), self.G[at[:, None], at]
        diagonal = np.einsum("ii->i", H)  # a view
        diagonal += 2.0 * lambda2
        if invert(H.copy(), at.size, B):  # dependent columns, which a trace of a ridge tells apart
            diagonal += TINY_RIDGE * np.trace(H) / at.size
            invert(H, at.size, B)
        return B

    def quadratic(self, fit, lambda2, first=0):
        """The quadratic model on the working columns, from position `first` on."""
        rows = self.G[self.where[fit.support], first : self.width]
        return Quadratic(
            rows,
            self.q[first:] - rows.T @ fit.b,
            np.ascontiguousarray(np.diagonal(self.G)[first : self.width]),
            self.inverse(fit, lambda2),
        )

    def gradients(self, fits):
        """[(downhill slopes (p, q) of all columns, what F is times the quadratic with their Gram
        matrix)] of fits of several responses, in one read of X.
        """
        self.reads += 1
        C = self.problem.X.correlate(np.hstack([-self.derivatives(fit).slopes for fit in fits]))
        return [(c, 1.0) for c in np.split(C, len(fits), axis=1)]

    def over_all(self, fits, lambda2):
        """The FitState of each fit for a check over all columns."""
        return [FitState(1.0, self.inverse(fit, lambda2)) for fit in fits]

    def of_all(self, fit, state, columns):
        """The Quadratic on a slice of all p columns, from the Gram rows of the support."""
        rows = self.rows[[self.row_of[j] for j in fit.support.tolist()], columns]
        c = self.q_all[columns] - rows.T @ fit.b if state.c is None else state.c[columns]
        return Quadratic(state.scale * rows, c, state.scale * self.problem.square[columns], state.B)

    def read(self, supports):
        """Fetch the Gram rows over all p columns of every member of the supports that is not cached
        yet: one batched read of X.
        """
        wanted = dict.fromkeys(np.concatenate(supports).tolist())
        new = [j for j in wanted if j not in self.row_of]
        if not new:
            return 0
        if len(self.row_of) + len(new) > self.capacity:
            self._forget(wanted)
        have, p = len(self.row_of), self.problem.X.p
        if self.cluster is not None:
            self.cluster.make(self.Z[self.where[new]])
        else:
            if have + len(new) > self._rows.shape[0]:
                rows = np.empty(
                    (max(min(3 * (have + len(new)), self.capacity), have + len(new)), p)
                )  # memory that is not written costs nothing
                rows[:have] = self._rows[:have]
                self._rows = rows
            self.problem.X.gram_rows(
                new,
                self.problem.weights,
                self._rows[have : have + len(new)],
                self.Z[self.where[new]],
            )
        self.row_of.update({j: have + i for i, j in enumerate(new)})
        self.reads += 1
        return len(new)

    def _forget(self, wanted):
        """Let go of all Gram rows but those of the columns `wanted`."""
        kept = sorted((i, j) for j, i in self.row_of.items() if j in wanted)
        if self.cluster is not None:
            self.cluster.forget([i for i, _ in kept])
        else:
            for at, (i, _) in enumerate(kept):
                if at < i:
                    self._rows[at] = self._rows[i]
        self.row_of = {j: at for at, (_, j) in enumerate(kept)}

    def batches(self, fits):
        """Positions of the fits in groups whose Gram rows can be held together, as slices."""
        first, members = 0, set()
        for i, fit in enumerate(fits):
            more = members | set(fit.support.tolist())
            if len(more) > self.capacity and i > first:
                yield slice(first, i)
                first, more = i, set(fit.support.tolist())
            members = more
        yield slice(first, len(fits))

    def verified_slopes(self, fits, lambda1, lambda2):
        """Slopes that checks over all columns have computed: a_i = w_i (z_i'b - y_i) of fits,
        pairs (support, b): the numbers of the fits whose Gram rows are all at hand (m of them), a
        (n, m), tau (p, m) = Z'a = Gram rows times b less Z'(w y), and rounding_factor (m,), what
        rounding of tau is proportional to (see `relaxation.points_of_slopes`). No read of X. For
        any lambda1 and lambda2.
        """
        p = self.problem
        known = [
            i
            for i, (support, _) in enumerate(fits)
            if all(j in self.row_of for j in support.tolist())
        ]
        norm = np.sqrt(p.weights @ (p.y * p.y))
        rounding_scale = np.sqrt(p.square) + np.abs(p.X.center) / p.X.scale
        a = np.empty((p.X.n, len(known)), order="F")
        tau = np.empty((p.X.p, len(known)), order="F")
        rounding_factor = np.empty(len(known))
        C = np.zeros((len(known), len(self.row_of)))
        for m, i in enumerate(known):
            support, b = fits[i]
            a[:, m] = p.weights * (b @ self.Z[self.where[support]] - p.y)
            C[m, [self.row_of[j] for j in support.tolist()]] = b
            rounding_factor[m] = 2.0 * (norm + np.abs(b) @ rounding_scale[support])

        def part(start, stop):
            tau[start:stop] = (C @ self.rows[: C.shape[1], start:stop] - self.q_all[start:stop]).T

        with threads.one_blas_thread():
            threads.run(part, [*range(0, p.X.p, SLICE), p.X.p])
        return known, a, tau, rounding_factor
