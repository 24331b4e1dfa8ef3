"""The convex problem that the feature generating machine solves between two passes: a loss of some
columns, and a ridge whose scalings by blocks of columns share a budget.

    F(x) = sum_i w_i loss(y_i, o_i + b0 + sum_h z_i'x_h) + lambda1 ||x||_1
           + r (min over 0 <= d <= 1, sum d <= B of sum_h ||x_h||^2 / d_h + ||x_forced||^2),
           x_h on the columns of block h                                                      (S)
    D(a) = sum_i w_i (o_i a_i - loss*(y_i, a_i)) - sum_forced h_j
           - (sum of the B largest block scores),   score of a block = sum of its h_j,
           h_j = (|z_j'(w a)| - lambda1)_+^2 / (4 r)

With blocks of many units and B = 1 the ridge is r (sum_h ||x_h||)^2, the published form: a mixture
of blocks. With a block for every unit that was generated it has all scalings of these units, of
which the mixtures are a part: F is lower for the same columns, and where r is small, so that many
units have a share, it takes a fraction of the passes.

`solver` solves the same relaxation for many sizes or lambda0 side by side, with boxes and a split,
over columns alone. At n = 100, p = 300 and eight sizes its bounds were higher (by at most 2e-3 of
the objective, because it goes on until its gap is small beside F, not beside the model's value). It
took 0.5 to 0.9 of the time for ridges of 0.01 and more, and 2 to 40 times the time for weak ones
(0.001 and 1e-5, squared loss); alternation before its proximal steps did not change that.

Source: Tan, Tsang & Wang (JMLR 15, 2014): problem (35) and its optimality (Theorem 4), Algorithm 3
    (projection), Algorithm 4 (accelerated proximal gradient); Argyriou, Foygel & Srebro, Sparse
Prediction with the k-Support Norm (NIPS 2012): the norm for B > 1, Proposition 2.1. Departures,
each needed for convergence: the intercept is at its best at every point instead of having a line
search of its own, which no step may satisfy; the curvature tau never falls within a call and has no
upper limit; the momentum is (rho - 1) / rho_next; a step that raises F is taken again without it.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..problem.conjugates import tangents
from ..problem.verbs import derivatives
from .blocks import project, shares, support_norm

GAP_STEPS = 5  # steps between looks at the gap of (S)
PROXIMAL_STEPS = 1000  # steps of one solve of (S) at most
OF_THE_GAP = 0.1  # of the gap of the relaxation that the gap of (S) may be
FIRST = 1e-3  # relative gap of the first (S)
ALTERNATIONS = 2  # before proximal steps; 4 take 1.8 times as long for the same bounds
FRESH = 0.25  # share of the budget that new blocks start from, at most
STEP_TRIALS = 100  # trials of a step: beyond, what is left is rounding
GROWTH = 2.0  # by which tau grows where a step fails, and falls once at the start of a call


class SolveLimits(NamedTuple):
    """stall: share of the gap of (S) that GAP_STEPS steps must lower F by; wide: columns a row from
    which systems are solved on the rows.
    """

    stall: float = 1e-3
    wide: float = 1.5


class BlockPoint(NamedTuple):
    """Coefficients of blocks, and the loss there."""

    x: np.ndarray  # (E,), of all blocks and the forced columns
    w: np.ndarray  # (m,), their sums by column
    image: np.ndarray  # linear in w
    smooth: float  # the loss
    slopes: np.ndarray | None  # (n,), by rows
    shift: float  # intercept


def allowed(value, floor):
    """The gap at which a solve of (S) may stop: a share of that of (R), where a bound is known."""
    return max(
        OF_THE_GAP * (value - floor) if floor > -np.inf else FIRST * abs(value), 1e-12 * abs(value)
    )


def ridged(H, ridge):
    """H + 2 r I, in place."""
    H[np.diag_indices_from(H)] += 2.0 * ridge
    return H


def solution(H, q):
    """H^-1 q for a positive definite H, which is overwritten; None where rounding hides that it is
    definite.
    """
    try:
        return cho_solve(
            cho_factor(H.T, lower=True, overwrite_a=True, check_finite=False), q, check_finite=False
        )
    except np.linalg.LinAlgError:
        return None


class Subproblem:
    """(S) for some blocks and a budget of them. Columns that several blocks have are held once.

    A subclass holds the columns, `hold(at)` for their places among the working ones, and says what
    the loss is there: `product`, `valued`, `gradient`, `noise`, `curvature`, `newton`, `slopes`.
    """

    def __init__(self, pool, blocks, forced, budget=1, tau=0.0, limits=SolveLimits()):
        self.model, self.dual, self.problem = pool.model, pool.dual, pool.problem
        self.ridge, self.lambda1, self.limits = pool.dual.lambda2, pool.dual.lambda1, limits
        self.blocks, self.count, self.budget = blocks, blocks.count, budget
        self.owner = blocks.block
        self.used, self.slot = np.unique(
            np.concatenate([blocks.columns, forced.columns]), return_inverse=True
        )
        self.split = self.owner.size  # entries of blocks come first
        self.wide = self.used.size > limits.wide * self.problem.X.n
        self.hold(self.model.where[self.used])
        self.tau, self.steps = tau, 0
        self.x = self.at(np.concatenate([blocks.v, forced.v]), 0.0)

    def sums(self, x):
        """Coefficients by column (m,)."""
        return np.bincount(self.slot, x, minlength=self.used.size)

    def norms(self, x):
        """||x_h|| of the blocks, (count,)."""
        return np.sqrt(np.bincount(self.owner, x[: self.split] ** 2, minlength=self.count))

    def at(self, x, shift):
        """The BlockPoint of coefficients x."""
        w = self.sums(x)
        return self.valued(x, w, self.product(w), shift)

    def penalty(self, x):
        """The penalty of (S)."""
        free = x[self.split :]
        return self.ridge * (support_norm(self.norms(x), self.budget) + float(free @ free)) + (
            self.lambda1 * float(np.abs(x).sum()) if self.lambda1 else 0.0
        )

    def value(self, point=None):
        """F."""
        point = self.x if point is None else point
        return point.smooth + self.penalty(point.x)

    def bound(self, gradient):
        """D at the slopes of the current point, with the heaviest blocks for the B largest scores:
        at most the optimum of (S).
        """
        h = (np.maximum(np.abs(gradient) - self.lambda1, 0.0) ** 2 / (4.0 * self.ridge))[self.slot]
        score = np.bincount(self.owner, h[: self.split], minlength=self.count)
        heaviest = (
            score
            if score.size <= self.budget
            else np.partition(score, score.size - self.budget)[score.size - self.budget :]
        )
        return (
            self.x.smooth
            - float(self.x.w @ gradient)
            - float(heaviest.sum())
            - float(h[self.split :].sum())
        )

    def step(self, v, g):
        """The proximal step from v by tau, which grows until the loss is below its quadratic
        model.
        """
        noise = 1e-13 * self.noise(v)
        for _ in range(STEP_TRIALS):
            u = v.x - g[self.slot] / self.tau
            if self.lambda1:
                u = np.copysign(np.maximum(np.abs(u) - self.lambda1 / self.tau, 0.0), u)
            x = np.empty_like(u)
            x[: self.split] = project(
                u[: self.split], self.owner, self.count, 2.0 * self.ridge / self.tau, self.budget
            )
            x[self.split :] = u[self.split :] / (1.0 + 2.0 * self.ridge / self.tau)
            new, d = self.at(x, v.shift), x - v.x
            if (
                new.smooth
                <= v.smooth + float(g[self.slot] @ d) + 0.5 * self.tau * float(d @ d) + noise
            ):
                break
            self.tau *= GROWTH
        return new

    def begin(self, g):
        """tau at first: the curvature along the steepest descent, or less than the tau of the last
        call.
        """
        direction = -g[self.slot]
        square = float(direction @ direction)
        if not square > 0.0:
            return 1.0
        return self.curvature(self.sums(direction)) / square

    def descend(self, floor, poll):
        """Accelerated steps until the gap of (S) is `allowed` beside the bound `floor` of (R), or
        they come to rest. Returns the best D met.
        """
        v, rho, best = self.x, 1.0, -np.inf
        g = self.gradient(v)
        self.tau = self.tau / GROWTH if self.tau else max(self.begin(g), 1e-300)
        held = last = self.value()
        for count in range(PROXIMAL_STEPS):
            if count % GAP_STEPS == 0:
                poll()
                here = g if v is self.x else self.gradient(self.x)
                best = max(best, self.bound(here))
                if held - best <= allowed(held, floor) or (
                    count and last - held <= self.limits.stall * (held - best)
                ):
                    break
                last = held
            new = self.step(v, g)
            value = self.value(new)
            self.steps += 1
            if value > held:
                if v is self.x:  # what is left is rounding
                    break
                rho, v = 1.0, self.x
                g = self.gradient(v)
                continue
            later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * rho * rho))
            ahead, old = (rho - 1.0) / later, self.x
            rho, self.x, held = later, new, value
            v = (
                new
                if ahead == 0.0
                else self.valued(
                    new.x + ahead * (new.x - old.x),
                    new.w + ahead * (new.w - old.w),
                    new.image + ahead * (new.image - old.image),
                    new.shift,
                )
            )
            if not np.isfinite(v.smooth):  # an extrapolation beyond all numbers
                rho, v = 1.0, new
            g = self.gradient(v)
        return best

    def alternate(self, floor, poll):
        """Alternation: coefficients for fixed shares d_h of the blocks, then d_h by `shares` of
        ||v_h||; F falls. Quick where r is small and many blocks count, which is where `descend` is
        slow.

        With d_j = sum of d_h over the blocks of j the ridge is r sum_j w_j^2 / d_j: a Newton step
        on w, exact for a squared loss. Where that is at its best, ||v_h|| = d_h ||gradient_h|| / (2
        r); shares of d_h ||gradient_h||^2 go twice as far, and are taken while F falls.
        """
        d, column, best, bold = self.first_shares(), self.slot[: self.split], self.x, True
        held, point = self.value(), self.x
        for _ in range(ALTERNATIONS):
            poll()
            by_column = np.bincount(column, d[self.owner], minlength=self.used.size)
            by_column[self.slot[self.split :]] = 1.0
            point = self.newton(point, by_column)
            self.x = point._replace(
                x=np.append(d[self.owner] / by_column[column], np.ones(self.slot.size - self.split))
                * point.w[self.slot]
            )
            self.steps += 1
            gradient = self.gradient(point)
            value, norms = self.value(), self.norms(self.x.x)
            if value - self.bound(gradient) <= allowed(value, floor):
                break
            bold = bold and value <= held
            if value < held:
                held, best = value, self.x
            d = np.maximum(
                shares(norms * self.norms(gradient[self.slot]) if bold else norms, self.budget),
                1e-9 * d,
            )
        if held < self.value():
            self.x = best

    def first_shares(self):
        """Shares d_h (count,) to begin with: those of the coefficients, FRESH of the budget for
        blocks that have none yet.
        """
        if self.count <= self.budget:
            return np.ones(self.count)
        norms = self.norms(self.x.x)
        fresh = norms <= 0.0
        part = 1.0 if fresh.all() else min(FRESH, float(fresh.mean()))
        return np.where(
            fresh,
            min(part * self.budget / max(int(fresh.sum()), 1), 1.0),
            np.maximum((1.0 - part) * shares(norms, self.budget), 1e-12),
        )

    def split_up(self):
        """(blocks, forced coefficients) of the current point; blocks without any coefficients are
        left out.
        """
        norms, blocks = self.norms(self.x.x), self.blocks._replace(v=self.x.x[: self.split])
        return blocks.only(norms > 1e-7 * float(np.sqrt(norms @ norms))), self.x.x[self.split :]


class SquaredSubproblem(Subproblem):
    """(S) with a squared loss, on the Gram matrix of the columns, or with many columns on their
    rows.
    """

    def hold(self, at):
        """Hold the columns at these places: G, or Z in units of the roots of the weights."""
        model = self.model
        self.q = model.q[at]
        if self.wide:
            self.Z = model.Z[at] * np.sqrt(self.problem.weights)
        else:
            self.G = model.G[np.ix_(at, at)]

    def product(self, w):
        """The image G w of coefficients by column."""
        return self.Z @ (w @ self.Z) if self.wide else self.G @ w

    def valued(self, x, w, image, shift):
        """The point of coefficients whose image is known."""
        loss = float(self.model.half_square - self.q @ w + 0.5 * (w @ image))
        return BlockPoint(x, w, image, loss, None, 0.0)

    def gradient(self, point):
        """Gradient of the loss by column, (m,)."""
        return point.image - self.q

    def noise(self, point):
        """The size of what the loss at a point is summed from."""
        return self.model.half_square + float(np.abs(self.q * point.w).sum())

    def curvature(self, w):
        """The second derivative of the loss along w."""
        return float(w @ self.product(w))

    def newton(self, point, d):
        """The point at the best w with the ridge r sum_j w_j^2 / d_j. x stays, and so does all
        where rounding hides r.
        """
        root, p = np.sqrt(d), self.problem
        if self.wide:  # (A A' + 2 r I)^-1 A y = A (A'A + 2 r I)^-1 y
            A = root[:, None] * self.Z
            u = solution(ridged(A.T @ A, self.ridge), np.sqrt(p.weights) * p.y)
            u = None if u is None else A @ u
        else:
            u = solution(ridged(root[:, None] * self.G * root, self.ridge), root * self.q)
        return point if u is None else self.valued(point.x, root * u, self.product(root * u), 0.0)

    def slopes(self):
        """(n,) weights times the loss's slopes at the current point."""
        p = self.problem
        return p.weights * (self.x.w @ self.model.Z[self.model.where[self.used]] - p.y)


class RowSubproblem(Subproblem):
    """(S) with a loss other than the squared one, on the rows of the columns."""

    def hold(self, at):
        """Hold the columns at these places."""
        self.Z = self.model.Z[at]

    def product(self, w):
        """The predictor (n,) of coefficients by column."""
        return w @ self.Z

    def valued(self, x, w, image, shift):
        """The point of coefficients whose predictor is known, at the best intercept, sought from
        shift.
        """
        p = self.problem
        a, loss, shift = tangents(
            p.loss,
            p.y,
            p.weights,
            np.asfortranarray((p.offset + image)[:, None]),
            p.intercept,
            np.array([shift]),
        )
        return BlockPoint(x, w, image, float(loss[0]), a[:, 0], float(shift[0]))

    def gradient(self, point):
        """Gradient of the loss by column, (m,)."""
        return self.Z @ point.slopes

    def noise(self, point):
        """The size of what the loss at a point is summed from."""
        return abs(point.smooth)

    def curvature(self, w):
        """The second derivative of the loss along w, or a bound on it."""
        ahead = self.product(w)
        if self.dual.least > 0.0:
            # curvature of the loss at most 1 / least: above the one needed, and never far
            return float(self.problem.weights @ (ahead * ahead)) / self.dual.least
        _, v = self.derivatives(self.x)
        return float(v @ (ahead * ahead))

    def newton(self, point, d):
        """The point after a Newton step on w with the ridge r sum_j w_j^2 / d_j, halved until that
        falls. x stays, and so does all where rounding hides r.
        """
        root, p = np.sqrt(d), self.problem
        _, v = self.derivatives(point)
        A = self.Z * (root[:, None] * np.sqrt(v))
        if p.intercept and v.sum() > 0.0:
            across = np.sqrt(v / v.sum())
            A -= np.outer(A @ across, across)
        u = np.divide(point.w, root)
        step = -(root * (self.Z @ point.slopes) + 2.0 * self.ridge * u)
        if self.wide:  # (A A' + 2 r I)^-1 = (I - A (A'A + 2 r I)^-1 A') / (2 r)
            inner = solution(ridged(A.T @ A, self.ridge), step @ A)
            step = None if inner is None else (step - A @ inner) / (2.0 * self.ridge)
        else:
            step = solution(ridged(A @ A.T, self.ridge), step)
        if step is None:
            return point
        step *= root
        image, t, before = step @ self.Z, 1.0, point.smooth + self.ridge * float(u @ u)
        for _ in range(30):
            w = point.w + t * step
            new = self.valued(point.x, w, point.image + t * image, point.shift)
            if new.smooth + self.ridge * float((w * w / d).sum()) <= before + 1e-13 * abs(before):
                return new
            t *= 0.5
        return point

    def derivatives(self, point):
        """(slopes, curvatures), (n,) each, of the weighted losses at a point."""
        p, slopes, v = self.problem, np.empty(self.problem.X.n), np.empty(self.problem.X.n)
        derivatives(p.loss, p.y, p.offset + point.image + point.shift, p.weights, slopes, v)
        return slopes, v

    def slopes(self):
        """(n,) weights times the loss's slopes at the current point."""
        return self.x.slopes
