"""The relaxation of a node of a search tree for a loss that is not quadratic, on its working
columns: quadratics with the loss's own second derivatives, each minimized with the perspective
penalty by `relaxation.relax` on the columns that are nonzero or leave zero, and a line search
on the relaxation's value. Its duality gap says when to stop: what is asked is to cut the node off,
or else a bound good enough to choose where to split. The number of steps hardly depends on the
loss, nor on the ridge.

Source: Newton steps with a penalty that is not smooth are those of Lee, Sun & Saunders (Proximal
    Newton-type methods for minimizing composite functions, SIAM Journal on Optimization 24, 2014).
"""

import math

import numpy as np

from ...problem.conjugates import tangents
from ...problem.verbs import derivatives, mean_loss
from ...relaxation.bounds import dual_constant
from .penalty import LEAVE_ZERO, Branch, Penalty, QuadraticLoss, bound, least_cost
from .relaxation import NodeLimits, Relaxed, relax

QUADRATIC_TURNS = 20  # Newton steps of a quadratic with the perspective penalty
# mean curvature of the columns below which some is added: where no row is curved the quadratic has
# no minimum to go to
FLAT_CURVATURE = 0.05
# of the mean curvature, added to all: fewer rows are curved than columns are working where a root
# is weak
ADDED = 1e-3
BLIND = 0.05  # of the value: the same where no model is known yet
# of what the value of a node's relaxation lacks to be cut off: width and Newton steps may leave so
# much
LEFT_OPEN = 0.3


class NodeNewton:
    """One node: its relaxation on the working columns, b (w,) in place."""

    def __init__(self, tree, state, size, b):
        self.tree, self.work, self.state, self.size, self.b = tree, tree.work, state, size, b
        self.branch = Branch(state, size)
        b[(state < 0) | ((state == 0) & (size == 0))] = 0.0
        np.clip(b, self.work.penalty.lower, self.work.penalty.upper, out=b)

    def run(self, s, shift, turns):
        """(s, shift, whether the hinge's width is what the bound lacks) of the relaxation, ended as
        soon as its gap is a small share of what the node lacks to be cut off.
        """
        tree, problem = self.tree, self.tree.dual.problem
        damping = 0.0
        for turn in range(turns):
            if turn == 0:
                eta = self._predictor(self.b)
                a, shift, value = self._at(eta, self.b, s, shift)
                if not np.isfinite(a).all():  # losses overflow at the solution of the node above
                    penalty = self.work.penalty
                    self.b[:] = np.clip(0.0, penalty.lower, penalty.upper)
                    eta = self._predictor(self.b)
                    a, shift, value = self._at(eta, self.b, s, 0.0)
            bound, sharp, gradient = self._bounds(a, s)
            cutoff = tree.cutoff
            target = (
                max(LEFT_OPEN * (cutoff - value), 0.2 * tree.settings.gap * abs(tree.upper))
                if math.isfinite(cutoff)
                else BLIND * abs(value)
            )
            if bound >= cutoff or value - sharp <= 0.5 * target or turn == turns - 1:
                break
            damping, s, step = self._step(eta + shift, gradient, s, damping)
            if step is None:
                if damping >= 1.0:
                    break
                damping = max(10.0 * damping, 0.01)
                continue
            eta, a, shift, value, damping, moved = self._search(eta, step, s, shift, value, damping)
            if not moved and damping > 1e3:
                break
        if bound >= cutoff or value - sharp > 0.5 * target or tree.width == 0.0:
            return s, shift, False
        hinge = float(
            mean_loss(problem.loss, problem.y, eta + shift, problem.weights)
        ) + self._penalty(self.b, s)
        return s, shift, (hinge - bound) - (value - sharp) > 0.5 * target

    def _predictor(self, b):
        rows = np.flatnonzero(b)
        return self.work.Z[:, rows] @ b[rows] + self.tree.dual.problem.offset

    def _penalty(self, b, s):
        return least_cost(self.work.penalty, self.branch, self._multiplier(s), b)

    def _multiplier(self, s):
        return self.tree.lambda0 if self.size < 0 else s * s

    def _at(self, eta, b, s, shift):
        """(slopes, intercept, value of the relaxation)."""
        p = self.tree.dual.problem
        a, loss, shift = tangents(
            p.loss, p.y, p.weights, eta[:, None], p.intercept, np.array([shift])
        )
        return a[:, 0], float(shift[0]), float(loss[0]) + self._penalty(b, s)

    def _bounds(self, a, s):
        """(bound of the relaxation on the working columns, for the hinge also that of the smoothed
        hinge's, gradient (w,)) at slopes a.
        """
        tree, work, p = self.tree, self.work, self.tree.dual.problem
        gradient = work.Z.T @ a
        constant = float(dual_constant(tree.dual, a[:, None])[0])
        h, best = np.empty(work.W.size), np.empty(max(self.size, 1))
        multiplier, branch = self._multiplier(s), self.branch
        value = bound(constant, work.penalty, branch, multiplier, -gradient, 0.0, h, best)
        # a loss of width 0 may have slopes whose squares are beyond all numbers
        width = self.tree.width
        above = 0.5 * width * float((a * a / p.weights).sum()) if width else 0.0
        return value, value - above, gradient

    def _columns(self, gradient, s):
        """Positions of the columns a step may move: nonzero, in, or leaving zero at the multiplier,
        the strongest first.
        """
        tree, work = self.tree, self.work
        free = (self.state == 0) & (self.b == 0) & (self.size != 0)
        box = np.where(gradient < 0, work.penalty.upper, -work.penalty.lower)
        multiplier = self._multiplier(s) * work.penalty.factor
        with np.errstate(divide="ignore", invalid="ignore"):
            rho = np.minimum(np.sqrt(multiplier / work.penalty.ridge), box)
            edge = np.where(rho > 0, multiplier / rho + work.penalty.ridge * rho, 0.0)
        excess = np.where(free & (box > 0), np.abs(gradient) - tree.dual.lambda1 - edge, 0.0)
        if self.size > 0:  # the multiplier may fall: the largest correlations are near
            excess = np.where(free & (box > 0), np.abs(gradient) - tree.dual.lambda1, 0.0)
        fresh = np.flatnonzero(excess > 0)
        if fresh.size > LEAVE_ZERO + max(self.size, 0):
            fresh = fresh[
                np.argpartition(-excess[fresh], LEAVE_ZERO + max(self.size, 0))[
                    : LEAVE_ZERO + max(self.size, 0)
                ]
            ]
        return np.union1d(np.flatnonzero((self.b != 0) | (self.state > 0)), fresh)

    def _step(self, eta, gradient, s, damping):
        """(damping, s, step (w,)) of the quadratic at the present point, minimized with the
        penalty.
        """
        tree, work, p = self.tree, self.work, self.tree.dual.problem
        J = self._columns(gradient, s)
        slopes, v = np.empty(p.y.size), np.empty(p.y.size)
        derivatives(tree.loss, p.y, eta, p.weights, slopes, v)
        rows = np.flatnonzero(v)
        Z = work.Z[np.ix_(rows, J)]
        total = v.sum()
        if p.intercept and total > 0:
            Z = Z - v[rows] @ Z / total
        G = (Z.T * v[rows]) @ Z
        mean = np.trace(G) / max(J.size, 1)
        G[np.diag_indices_from(G)] += max(damping * mean, ADDED * mean, FLAT_CURVATURE - mean)
        b = self.b[J]
        q = G @ b - gradient[J]
        part = Penalty(tree.dual.lambda1, *(np.ascontiguousarray(x[J]) for x in work.penalty[1:]))
        new = Relaxed(b.copy(), *np.empty((2, J.size)))
        loss, limits = QuadraticLoss(G, q, 1.0), NodeLimits(math.inf, QUADRATIC_TURNS, 0.0)
        branch = Branch(self.state[J], self.size)
        root = relax(loss, part, branch, s, limits, new, np.empty((J.size, J.size)))[1]
        step = np.zeros(self.b.size)
        step[J] = new.b - b
        return damping, root, step if step.any() else None

    def _search(self, eta, step, s, shift, value, damping):
        """Move b along the step as far as its value falls: (eta, a, shift, value, damping,
        moved).
        """
        ahead, start = self._predictor(self.b + step) - eta, self.b.copy()
        share = 1.0
        for _ in range(12):
            b = start + share * step if share < 1.0 else start + step
            a, to, found = self._at(eta + share * ahead, b, s, shift)
            if found < value or math.isinf(value):
                self.b[:] = b
                return (
                    eta + share * ahead,
                    a,
                    to,
                    found,
                    0.2 * damping if share == 1.0 else max(damping, 1e-4),
                    True,
                )
            share *= 0.4
        return (
            eta,
            self._at(eta, self.b, s, shift)[0],
            shift,
            value,
            max(10.0 * damping, 1e-3),
            False,
        )
