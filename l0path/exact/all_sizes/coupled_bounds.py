"""Bounds for sets of columns, as in `node_bounds`, for losses that couple rows, for several classes
and for several responses; and the choice among all of them.

A loss F that couples rows gives, for the slopes a that the quadratic model at a fit foretells at
its minimizer `end`, a value of weak duality (`verbs.bound_of_rows`),

    F(eta) >= F(start) + bound + a'(eta - end)  for every predictor eta,

so that with u_j = z_j'a no model of the columns is below

    F(start) + bound - u'end - ||u||^2 / (4 lambda2),

and without a ridge below F(start) + bound, where u vanishes. Under the multinomial loss the
probabilities p_i that are linear in the step give, where they are not negative,

    sum_i w_i ((p_i - Y_i)'o_i + entropy(p_i)) - ||u||^2 / (4 lambda2),   u = Z'diag(w)(p - Y)T'.

Source: the conjugate of log sum exp is the negative entropy; Boyd & Vandenberghe, Convex
Optimization, 2004, section 3.3.
"""

import numpy as np

from ...problem.problem import EPS
from ...problem.several import probabilities
from ...problem.verbs import Tangent, coupled_columns, dual_bound, mean_loss
from .node_bounds import INFEASIBLE, GramNodes, LeavingBounds, RowNodes, RowSet

OF_TERMS = 64.0 * EPS  # of the largest terms of a sum over rows, what rounding of it can hide


def within_rounding(one, u, error, size, end):
    """(whether products u of a dual point with the columns are no more than rounding, what they
    can hide of its value): see `RowSet._dual`.

    Parameters
    ----------
    one : RowSet
        Its inverse of the Hessian, B of the columns `kept`.
    u, error, size, end : ndarray of shape (q,)
        The products, what rounding can change them by, the sizes of their terms, and the
        coefficients.
    """
    left = np.abs(u) + error
    at = left[one.kept]
    hidden = 2.0 * float(left @ np.abs(end)) + float(at @ one.B @ at)
    return bool((np.abs(u) <= INFEASIBLE * size + error).all()), hidden


class BoundByBound(RowSet):
    """A set of columns whose bounds are computed one after another, by `_dual_value`."""

    def _dual(self, ends, rest):
        """See `RowSet`."""
        both = zip(ends, rest, strict=True)
        return np.array([self._dual_value(end, others) for end, others in both])


# -------------------- losses that couple rows


class CoupledSet(BoundByBound):
    """A set of columns under a loss that couples rows."""

    def curvatures(self):
        """See `RowSet`."""
        p, near, A = self.nodes.problem, self.near, self.A
        self.loss = mean_loss(p.loss, p.y, near.eta, p.weights)
        self.slopes, self.products = A @ near.slopes, (A * near.v) @ A.T
        taken = coupled_columns(p.loss, p.y, near.eta, p.weights, A)
        self.products -= taken @ taken.T
        # what the products are made of, before what cancels
        self.lengths = np.sqrt((A * A) @ near.v)
        self.sums = np.abs(A) @ np.abs(near.slopes)
        return self.products.copy()

    def _dual_value(self, end, rest):
        p, near, lambda2 = self.nodes.problem, self.near, self.nodes.lambda2
        move = end - self.x
        far = near.eta + move @ self.A
        tangent = Tangent(near.eta, near.slopes, near.v)
        with np.errstate(all="ignore"):
            value = self.loss + dual_bound(p.loss, p.y, p.weights, tangent, far)
            u = np.where(rest, self.slopes + self.products @ move, 0.0)
            size = self.sums + self.lengths * float(self.lengths @ np.abs(move))
            error = np.where(rest, 16.0 * EPS * size, 0.0)
            apart = np.abs(far - near.eta).max()  # whose powers may overflow, to infinity
            # bounds by weak duality have moments of the step up to its fourth
            terms = abs(self.loss) + float(np.abs(near.eta).max()) + apart + apart**4
            taken = OF_TERMS * terms
            if lambda2:
                value -= float(u @ end) + float(u @ u) / (4.0 * lambda2)
                taken += float(error @ (np.abs(end) + (np.abs(u) + error) / lambda2))
                feasible = True
            else:
                feasible, hidden = within_rounding(self, u, error, size, end)
                taken += hidden
            value -= taken
        return value if feasible and np.isfinite(value) else -np.inf


# -------------------- several classes


class ClassSet(BoundByBound):
    """A set of columns under the multinomial loss. x has the q coefficients of a column one after
    another, the intercepts last.
    """

    def __init__(self, nodes, fit):
        self.nodes, self.fit, self.value = nodes, fit, fit.value
        self.attained = not fit.flags
        p, T, model = nodes.problem, nodes.problem.turn, nodes.model
        self.A = A = np.vstack([model.Z[model.where[fit.support]], nodes.ones])
        x = np.vstack([fit.b, (T @ fit.b0)[None][: len(nodes.ones)]])
        self.x, self.P = x.ravel(), probabilities(p.offset + (A.T @ x) @ T)
        g = A @ (p.weights[:, None] * ((self.P - p.y) @ T.T))
        ridge = np.zeros(x.shape)
        ridge[: len(fit.b)] = 2.0 * nodes.lambda2
        self.expand(self.curvatures(), g.ravel(), ridge.ravel())

    def curvatures(self):
        """See `RowSet`: blocks of the products of the columns, for every two contrasts."""
        p, T, A = self.nodes.problem, self.nodes.problem.turn, self.A
        (q, _), K, PT = T.shape, len(A), self.P @ T.T
        H = np.empty((K, q, K, q))
        for s in range(q):
            for t in range(s + 1):
                v = p.weights * (self.P @ (T[s] * T[t]) - PT[:, s] * PT[:, t])
                H[:, s, :, t] = H[:, t, :, s] = (A * v) @ A.T
        return H.reshape(K * q, K * q)

    def positions(self, part):
        """See `RowSet`."""
        q = len(self.nodes.problem.turn)
        return (part[:, None] * q + np.arange(q)).ravel()

    def start(self, end, rest):
        """See `RowSet`."""
        T, k = self.nodes.problem.turn, len(self.fit.b)
        x = end.reshape(-1, len(T))
        left = rest.reshape(-1, len(T))[:k, 0]
        return x[:k][left], x[k] @ T if len(x) > k else self.fit.b0

    def _dual_value(self, end, rest):
        p, T, lambda2, A = self.nodes.problem, self.nodes.problem.turn, self.nodes.lambda2, self.A
        step = (A.T @ (end - self.x).reshape(len(A), len(T))) @ T
        with np.errstate(all="ignore"):
            P = self.P * (1.0 + step - (self.P * step).sum(axis=1, keepdims=True))
            if not (P >= 0.0).all():
                return -np.inf
            own = (P - p.y) * p.offset - P * np.log(np.where(P > 0.0, P, 1.0))
            value = float(p.weights @ own.sum(axis=1))
            a = p.weights[:, None] * ((P - p.y) @ T.T)
            u = np.where(rest, (A @ a).ravel(), 0.0)
            size = (np.abs(A) @ np.abs(a)).ravel()
            error = 16.0 * EPS * size
            taken = OF_TERMS * float(p.weights @ np.abs(own).sum(axis=1))
            if lambda2:
                free = self.fit.b.size
                value -= float(u[:free] @ u[:free]) / (4.0 * lambda2)
                taken += float(error[:free] @ (np.abs(u[:free]) + error[:free])) / lambda2
                u[:free], error[:free] = 0.0, 0.0
            feasible, hidden = within_rounding(self, u, error, size, end)
            value -= taken + hidden
        return value if feasible and np.isfinite(value) else -np.inf


# -------------------- several responses


class ResponseNodes:
    """Sets of columns under several responses of a loss of rows, which share nothing but them: what
    bounds each response bounds their sum.
    """

    def __init__(self, model, lambda2):
        self.model, self.shares = model, model.shares_of_each
        self.each = [RowNodes(one, lambda2, RowSet) for one in model.alike()]

    def cost(self, columns, parts):
        """Operations of a set of columns from which so many parts may leave."""
        return sum(one.cost(columns, parts) for one in self.each)

    def at(self, columns, start=None):
        """The `ResponseSet` of columns; start: (b, b0) of each response."""
        starts = [None] * len(self.each) if start is None else start
        sets = [one.at(columns, own) for one, own in zip(self.each, starts, strict=True)]
        return ResponseSet(self, columns, sets)


class ResponseSet:
    """One of them, by the `RowSet` of each response."""

    def __init__(self, nodes, columns, sets):
        self.shares, self.sets = nodes.shares, sets
        self.attained = all(one.attained for one in sets)
        self.value = float(self.shares @ [one.value for one in sets])
        self.lower = float(self.shares @ [one.lower for one in sets])
        self.fit = nodes.model.together(columns, [one.fit for one in sets], self.value)

    def without(self, parts):
        """`LeavingBounds` of the set without each of some parts, arrays of positions."""
        found = [one.without(parts) for one in self.sets]
        lower = self.shares @ np.array([one.lower for one in found])
        estimate = self.shares @ np.array([one.estimate for one in found])
        return LeavingBounds(
            lower, estimate, list(zip(*(one.starts for one in found), strict=True))
        )


def sets_of_columns(model, lambda2):
    """The sets of working columns, as their loss asks: `GramNodes`, `ResponseNodes`, or `RowNodes`
    of one kind.
    """
    problem, traits = model.problem, model.problem.loss.traits
    if problem.quadratic:
        return GramNodes(model, lambda2)
    if problem.of_each:
        return ResponseNodes(model, lambda2)
    kind = ClassSet if traits.by_class else CoupledSet if traits.coupled else RowSet
    return RowNodes(model, lambda2, kind)
