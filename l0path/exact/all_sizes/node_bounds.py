"""Bounds for a set of columns and for what is left of it when some of them leave, from one fit.

No model of some of the columns V is below

    L(V) = inf over (b0, b), b on V, of  sum_i w_i l(y_i, o_i + b0 + z_i'b) + lambda2 ||b||^2

Every point a (n,) with z_j'a = 0 for the columns j of V without a ridge, sum a = 0 with an
intercept, and a_i / w_i in the domain of the conjugate l* gives, by weak duality,

    L(V) >= sum_i a_i o_i - sum_i w_i l*(y_i, a_i / w_i) - sum_j (z_j'a)^2 / (4 lambda2)

The minimizer of the quadratic model at a fit of V, with the columns R that are left alone, gives
such a point for R: the slopes that the model foretells there, whose products with the columns of R
vanish. So one fit bounds all sets V less some columns. Where such a point leaves the domain, there
is no bound. For the squared loss the model is the loss, and the bounds are the values.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ...core.status import FitStatus
from ...problem.conjugates import conjugate, interval
from ...problem.problem import EPS
from .subtrees import NOTHING

# share of its square that a column keeps beside others, below which it is not clear whether it is
# their combination; below NOTHING it is
UNCLEAR = 1e-9
INFEASIBLE = 1e-10  # |z_j'a| relative to sum |z_j a|, beyond which a point counts as infeasible


class UnclearColumns(Exception):
    """Columns are so nearly dependent that their products do not determine what they explain."""


class LeavingBounds(NamedTuple):
    """Of m sets, each V less some columns: lower bounds (m,), estimates of their values (m,), and
    (b, b0) at which a fit of each may start.
    """

    lower: np.ndarray
    estimate: np.ndarray
    starts: list


def independent(H, unclear=False):
    """(kept, B): positions of columns that explain the others of a semidefinite matrix, and the
    inverse of their part. UnclearColumns, if `unclear`, where a column keeps more than NOTHING of
    its square beside others, but less than UNCLEAR.
    """
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    if not unit.size:
        return np.empty(0, dtype=np.int64), H.copy()
    L, order, rank, _ = lapack.dpstrf(H * unit[:, None] * unit, tol=NOTHING, lower=1)
    if unclear and rank and L[rank - 1, rank - 1] ** 2 < UNCLEAR:
        raise UnclearColumns
    kept = order[:rank] - 1
    if not rank:  # no column has any curvature
        return kept, np.empty((0, 0))
    B, _ = lapack.dpotri(np.asfortranarray(L[:rank, :rank]), lower=1)
    B = np.tril(B) + np.tril(B, -1).T
    return kept, B * unit[kept, None] * unit[kept]


def left_out(B, b, out):
    """(what leaving out the positions `out` adds to b'inv(B)b / 2, s with B_OO s = b_O)."""
    step = np.linalg.solve(B[out[:, None], out], b[out])
    return 0.5 * float(np.vdot(b[out], step)), step


def each_left_out(B, b, parts):
    """(m,) what leaving out each of the positions `parts` adds, as `left_out`, together for parts
    of as many columns; b (k,) or (k, r).
    """
    out, count = np.zeros(len(parts)), np.array([part.size for part in parts])
    b = b if b.ndim > 1 else b[:, None]
    for size in np.unique(count[count > 0]):
        at = np.flatnonzero(count == size)
        O = np.array([parts[i] for i in at])
        step = np.linalg.solve(B[O[:, :, None], O[:, None, :]], b[O])
        out[at] = 0.5 * (b[O] * step).sum(axis=(1, 2))
    return out


# -------------------- squared loss


class GramNodes:
    """Sets of columns under a squared loss, by products of columns alone; the value of several
    responses, q (p, r), is a sum over them.
    """

    def __init__(self, model, lambda2):
        self.model, self.lambda2 = model, lambda2

    def cost(self, columns, parts):
        """Operations of a set of columns from which so many parts may leave."""
        several = 4.0 if self.model.problem.turn is not None else 1.0
        return several * (2e4 + float(columns) ** 3 + 1e3 * parts)

    def at(self, columns, start=None):
        """The `GramSet` of columns."""
        model, at = self.model, self.model.where[columns]
        S = model.G[at[:, None], at]
        S[np.diag_indices(at.size)] += 2.0 * self.lambda2
        return GramSet(S, model.q[at], model.half_square)


class GramSet:
    """One of them: its value, and a lower bound of it that no rounding exceeds."""

    attained = True

    def __init__(self, S, q, half):
        self.S, self.q, self.half = S, q, half
        self.kept, self.B = independent(S, True)
        self.b = self.B @ q[self.kept]
        self.value = half - 0.5 * float(np.vdot(q[self.kept], self.b))
        # see `AllSizes`
        spread = np.sqrt(np.maximum(np.diagonal(self.B) * np.diagonal(S)[self.kept], 1.0)).sum()
        self.margin = (q.size + 16) * EPS * half * (float(spread) + 1.0) ** 2
        self.lower = self.value - self.margin

    def without(self, parts):
        """`LeavingBounds` of the set without each of some parts, arrays of positions."""
        lower, place = np.empty(len(parts)), np.argsort(self.kept)
        if self.kept.size == len(self.q):
            lower[:] = self.lower + each_left_out(self.B, self.b, [place[part] for part in parts])
            parts = ()
        for i, part in enumerate(parts):
            rest = np.delete(np.arange(len(self.q)), part)
            lower[i] = GramSet(self.S[np.ix_(rest, rest)], self.q[rest], self.half).lower
        return LeavingBounds(lower, lower, [None] * lower.size)


# -------------------- every smooth loss


class RowNodes:
    """Sets of columns under any smooth convex loss, by Newton fits. kind: `RowSet`, or one that is
    derived from it.
    """

    def __init__(self, model, lambda2, kind):
        self.model, self.problem, self.lambda2, self.kind = model, model.problem, lambda2, kind
        # a loss that couples rows has no intercept, or eliminates it
        free = self.problem.intercept and not self.problem.loss.traits.coupled
        self.ones = np.ones((int(free), self.problem.X.n))

    def cost(self, columns, parts):
        """Operations of a set of columns from which so many parts may leave."""
        several = float(self.problem.predictors) ** 2
        rows = float(self.problem.X.n) * columns
        return several * (1e5 + rows * (5.0 * columns + 3.0 * parts))

    def at(self, columns, start=None):
        """The set of columns; start (b, b0)."""
        return self.kind(self, self.model.refit(columns, 0.0, self.lambda2, start))


class RowSet:
    """A set of columns under a loss that is a sum over rows: its value, and a lower bound of its
    infimum. x (q,): the coefficients of the fit, and the intercept; A (q, n) their columns; H, rhs:
    the quadratic model there.
    """

    def __init__(self, nodes, fit):
        self.nodes, self.fit, self.value = nodes, fit, fit.value
        self.attained = FitStatus.NOT_CONVERGED not in fit.flags
        model, ones = nodes.model, nodes.ones
        self.A = A = np.vstack([model.Z[model.where[fit.support]], ones])
        self.near = near = model.derivatives(fit)
        self.x = x = np.append(fit.b, np.full(len(ones), fit.b0))
        self.base = near.eta - x @ A  # what no coefficient changes
        ridge = np.append(np.full(fit.b.size, 2.0 * nodes.lambda2), np.zeros(len(ones)))
        self.expand(self.curvatures(), A @ near.slopes, ridge)

    def curvatures(self):
        """The Hessian (q, q) of the loss at the fit."""
        return (self.A * self.near.v) @ self.A.T

    def expand(self, H, g, ridge):
        """Make the quadratic model at x of a loss with gradient g (q,) and Hessian H (q, q), and
        of a ridge (q,), and bound the set.
        """
        self.H, x = H, self.x
        self.H[np.diag_indices(x.size)] += ridge
        self.rhs = self.H @ x - g - ridge * x
        self.kept, self.B = independent(self.H)
        self.best = np.zeros(x.size)
        self.best[self.kept] = self.B @ self.rhs[self.kept]
        self.lower = float(self._dual(self.best[None], np.ones((1, x.size), dtype=bool))[0])

    def positions(self, part):
        """The entries of x that columns (positions) have."""
        return part

    def start(self, end, rest):
        """(b, b0) at which a fit may start, of coefficients (q,), those that are left (q,) bool."""
        k = self.fit.b.size
        return end[:k][rest[:k]], float(end[k]) if end.size > k else self.fit.b0

    def without(self, parts):
        """`LeavingBounds` of the set without each of some parts, arrays of positions."""
        q, parts = self.x.size, [self.positions(part) for part in parts]
        ends, rest = np.zeros((len(parts), q)), np.ones((len(parts), q), dtype=bool)
        estimate, place = np.empty(len(parts)), np.argsort(self.kept)
        for i, part in enumerate(parts):
            rest[i, part] = False
            if self.kept.size == q:
                more, step = left_out(self.B, self.best[self.kept], place[part])
                ends[i, self.kept] = self.best[self.kept] - self.B[:, place[part]] @ step
                ends[i, part] = 0.0
            else:
                others = np.flatnonzero(rest[i])
                kept, B = independent(self.H[np.ix_(others, others)])
                ends[i, others[kept]] = B @ self.rhs[others[kept]]
                apart = ends[i] - self.best
                more = 0.5 * float(apart @ self.H @ apart)
            estimate[i] = self.value + more
        starts = [self.start(end, others) for end, others in zip(ends, rest, strict=True)]
        return LeavingBounds(self._dual(ends, rest), estimate, starts)

    def _dual(self, ends, rest):
        """(m,) values of the slopes that the quadratic model foretells at `ends` (m, q), its
        minimizers with the columns `rest` (m, q) alone; -inf where they are infeasible.

        Rounding leaves products d of a point with its columns. A point whose products vanish is
        near: to first order its value differs by x'd, and then by less than d'inv(H)d. Twice the
        first and all of the second is taken off, besides what rounding of the sums can hide.
        """
        p, A = self.nodes.problem, self.A
        w, lambda2 = p.weights, self.nodes.lambda2
        with np.errstate(all="ignore"):
            r = (self.near.slopes + self.near.v * ((ends - self.x) @ A)) / w
            r = np.clip(r, *interval(p.loss, p.y))
            a, own = w * r, w * conjugate(p.loss, p.y, r)
            value = a @ self.base - own.sum(axis=1)
            left, size = np.where(rest, a @ A.T, 0.0), np.abs(a) @ np.abs(A).T
            taken = 16.0 * EPS * (np.abs(own).sum(axis=1) + np.abs(a) @ np.abs(self.base))
            if lambda2:
                free = self.fit.b.size
                value -= (left[:, :free] ** 2).sum(axis=1) / (4.0 * lambda2)
                left[:, :free] = 0.0
            feasible = (np.abs(left) <= INFEASIBLE * size).all(axis=1)
            left_kept = left[:, self.kept]
            taken += 2.0 * (np.abs(left) * np.abs(ends)).sum(axis=1)
            taken += np.einsum("ij,jk,ik->i", left_kept, self.B, left_kept)
            value -= taken
        return np.where(feasible & np.isfinite(value), value, -np.inf)
