"""Losses with a kink on the working columns, the hinge and the check loss of quantiles: restricted
optima, by smoothed losses that narrow and a linear system that ends them, or by linear programming
where there is no ridge.

    minimize over b0 and lower <= b <= upper                                                   (H)
        sum_i w_i l(y_i, o_i + b0 + z_i'b) + lambda1 ||b||_1 + lambda2 ||b||^2

    l(y, eta) = max(low (eta - y), high (eta - y)) + l(y, y)
    hinge     low = -1, high = 0 for y = 1; low = 0, high = 1 for y = -1
    check     low = -t, high = 1 - t

Rows have predictors eta_i below, at or above y_i, and slopes a_i = w_i low, u_i with w_i low <= u_i
<= w_i high, or w_i high. Given which rows are where, and which coefficients are at bounds or zero,
optimality is a linear system in b, b0 and u:

    2 lambda2 b_j + lambda1 sign(b_j) + z_j'a = 0   (j free)
    sum a = 0                                       (free intercept)
    eta_i = y_i                                     (rows at the kink)

The smoothed loss of a width is within a share of the width of the loss, and its slopes are dual
points of it: the rows where it is curved are those at the kink once the width is small enough, and
the dual value at its slopes says when that is so.

Without a ridge the slopes solve a linear program, the dual of (H): maximize sum_i a_i (o_i - y_i)
where Z'a = 0 and w low <= a <= w high, with terms for lambda1 and bounds.

Rows beyond the curved piece of the smoothed loss at its optimum are on a known side, where the loss
is linear. Their means take their place, so that few rows are left. Those that the optimum sends to
the other side come back, until there are none: then it is the optimum of all rows.

Sources: Lee & Mangasarian (SSVM: A smooth support vector machine, Computational Optimization and
Applications 20, 2001) for smoothing and Newton steps; Hastie, Rosset, Tibshirani & Zhu (The entire
regularization path for the support vector machine, JMLR 5, 2004) for the linear system of the three
sets of rows; Portnoy & Koenker (The Gaussian hare and the Laplacian tortoise, Statistical Science
12, 1997), section 5, for the rows whose side is known.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np
import scipy
from scipy.linalg import solve_triangular

from ..core.status import FitStatus
from ..problem.conjugates import feasible, interval, smooth
from ..problem.problem import Fit
from ..problem.responses import null_start
from ..problem.verbs import derivatives
from . import newton
from .columns import APART, WorkingColumns, orthogonal_basis
from .edges import along_edges
from .refits import refit_in_turn

NEARER = 0.1  # share of the width of the loss at which a linear program is begun
NARROWER = 0.1 ** np.arange(10.0)  # widths of the smoothed losses, times that of the loss
# relative gap at which a restricted optimum is one; the search goes on until TIGHT_GAP is met or
# the widths are used up
CLOSED_GAP = 1e-11
TIGHT_GAP = 1e-9  # a larger gap at the end is flagged
MOST_AT_KINK = 100  # rows of a linear system, beside two for each coefficient
FEW_ROWS = 200  # so many are not taken together
ROWS_OF_PROGRAM = 1000  # more rows that are curved call for a narrower width
ROUNDING = 1e-14  # of the scale of y: what objectives that are as good differ by
AT_END = 1e-9  # of a row's range of slopes: nearer to its ends a slope is at the end
ZERO = 1e-9  # of the scale of y: a residual, or of lambda1: what its slope lacks
NOT_UNIQUE = "not_unique"  # flag of a fit whose coefficients are not the only best ones


class KinkedModel(WorkingColumns):
    """The hinge and the check loss: restricted optima with their dual points; no exchanges, which
    belong to smooth losses.
    """

    def null(self, lambda1, lambda2):
        """The fit with forced columns only."""
        return self.refit(self.problem.forced, lambda1, lambda2)

    def refit(self, support, lambda1, lambda2, start=None, target=np.inf):
        """Best coefficients on a support of working columns, from a start (b, b0); flagged
        NOT_CONVERGED where weak duality does not confirm them to TIGHT_GAP, and NOT_UNIQUE where
        others are as good.
        """
        self.refits += 1
        box, Z = self.bounds_of(support), self.Z[self.where[support]]
        more = {"lambda1": lambda1, "lambda2": lambda2, "start": start}
        return restricted_optimum(self.problem, support, Z, box, **more)


def restricted_optimum(problem, support, Z, box, *, lambda1, lambda2, start=None):
    """The Fit on a support whose columns, of a loss with a kink, are the rows of Z (k, n).

    Parameters
    ----------
    problem : Problem
        Of the loss.
    support : ndarray of int of shape (k,)
        The columns.
    Z : ndarray of shape (k, n)
        Their standardized values.
    box : pair of ndarray of shape (k,)
        Lower and upper bounds of the coefficients.
    lambda1, lambda2 : float
        The shrinkage.
    start : tuple (b (k,), b0), optional
        Coefficients to start from.

    Returns
    -------
    Fit
        Flagged as `KinkedModel.refit` says.
    """
    few = _Restricted(problem, np.ascontiguousarray(Z), float(lambda1), float(lambda2), *box)
    b, b0, value, gap, unique = few.optimum(start)
    # a dual value above the objective is one of slopes that are not feasible
    closed = abs(gap) <= TIGHT_GAP * max(abs(value), 1e-3 * few.scale)
    flags = () if closed else (FitStatus.NOT_CONVERGED,)
    return Fit(support, b, b0, value, flags if unique else (*flags, NOT_UNIQUE))


class _Restricted:
    """(H) on the columns Z (k, n), one a row. scale: of y, 1 for classes."""

    def __init__(self, problem, Z, lambda1, lambda2, lower, upper):
        self.problem = problem
        self.Z = Z
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.lower = lower
        self.upper = upper
        self.every = np.arange(Z.shape[0])
        self.low, self.high = (problem.weights * end for end in interval(problem.loss, problem.y))
        self.width, self.soft = problem.loss.width, smooth(problem.loss)
        self.scale = max(float(problem.weights @ np.abs(problem.y)), self.width)

    def value(self, b, b0):
        """(objective, eta - y (n,))."""
        p = self.problem
        beyond = p.offset + b0 + b @ self.Z - p.y
        loss = np.where(beyond > 0.0, self.high, self.low) @ beyond
        shrunk = self.lambda1 * np.abs(b).sum() + self.lambda2 * (b @ b)
        return float(loss + shrunk), beyond

    def bound(self, a):
        """The dual value of slopes a (n,), moved into the domain: no coefficients have a lower
        objective.
        """
        p = self.problem
        a = feasible(p.loss, p.y, p.weights, p.intercept, a[:, None])[:, 0]
        tau = self.Z @ a
        reduced = np.abs(tau) - self.lambda1
        with np.errstate(divide="ignore", invalid="ignore"):
            b = np.where(reduced > 0, -np.sign(tau) * reduced / (2.0 * self.lambda2), 0.0)
        b = np.clip(b, self.lower, self.upper)
        with np.errstate(invalid="ignore"):
            h = np.where(
                np.isfinite(b), -tau * b - self.lambda1 * np.abs(b) - self.lambda2 * b * b, np.inf
            )
        return float(p.offset @ a - p.y @ a - h.sum())

    def smoothed(self, width, b, b0, eta):
        """The intercept of the optimum of the smoothed loss of a width, from coefficients b (k,)
        and b0; b and the predictor eta (n,) are left in place.
        """
        kind, (Z, R) = type(self.soft), self.basis
        x = np.append(b if R is None else R @ b, [b0] * self.problem.intercept)
        refit_in_turn(
            newton.rows_of(self.problem, Z)._replace(loss=kind(*self.soft[:-1], width)),
            self.every[None],
            newton.Shrinkage(self.lambda1, self.lambda2),
            newton.Box(self.lower[None], self.upper[None]),
            x[None],
            newton.Stopping(np.inf, 0, False, 200),
            eta,
        )
        b[:] = x[: b.size] if R is None else solve_triangular(R, x[: b.size])
        return float(x[-1]) if self.problem.intercept else b0

    @cached_property
    def basis(self):
        """(columns, R) of Newton steps, Z = R' columns: orthogonal ones where those of Z are nearly
        dependent, on which steps do not arrive, and b has neither shrinkage nor bounds; else Z and
        None.
        """
        free = not (self.lambda1 or self.lambda2 or np.isfinite([self.lower, self.upper]).any())
        found = orthogonal_basis(self.Z) if free and len(self.Z) > 1 else None
        if found is None:
            return self.Z, None
        R = found[1]
        near = (np.abs(np.diagonal(R)) < APART * np.linalg.norm(R, axis=0)).any()
        return found if near else (self.Z, None)

    def first(self, start):
        """(b, b0) to start from."""
        p = self.problem
        if start is not None:
            return np.array(start[0], dtype=np.float64), float(start[1])
        b0 = null_start(p.loss, p.y, p.offset, p.weights) if p.intercept else 0.0
        return np.clip(np.zeros(self.every.size), self.lower, self.upper), b0

    def optimum(self, start):
        """(b, b0, objective, gap, whether b and b0 are the only best ones), from a start (b, b0) or
        None: that of few rows, those on a known side of the kink taken together.
        """
        n, k = self.problem.y.size, self.every.size
        b, b0 = self.first(start)
        if k + self.problem.intercept == 0:
            return b, b0, self.value(b, b0)[0], 0.0, True
        eta, width, most = np.empty(n), self.width, max(ROWS_OF_PROGRAM, 20 * (k + 1))
        if n <= FEW_ROWS:
            found = self.solve(b, b0)
            return found or self.unclosed(b, self.smoothed(width, b, b0, eta))
        while True:
            b0 = self.smoothed(width, b, b0, eta)
            beyond = eta - self.problem.y
            inside = np.abs(beyond) <= width
            if np.count_nonzero(inside) <= most:
                break
            width *= 0.3
        while True:
            found = self.together(inside, beyond > 0.0).solve(b, b0)
            if found is not None:
                x, x0, _, gap, unique = found
                value, moved = self.value(x, x0)
                unclear = (moved > 0.0) != (beyond > 0.0)
                unclear = ~inside & (unclear | (np.abs(moved) <= ZERO * self.scale))
                if not unclear.any():
                    return x, x0, value, gap, unique
                inside, b, b0 = inside | unclear, x, x0
            elif inside.all():
                return self.unclosed(b, b0)
            else:
                width *= 4.0
                inside |= (np.abs(beyond) <= width) | (width > 1e3 * self.width)

    def unclosed(self, b, b0):
        """`optimum` where a linear program was not solved: that of the smoothed loss."""
        return b, b0, self.value(b, b0)[0], np.inf, True

    def together(self, inside, above):
        """The problem whose rows that are not inside are means of those of one sign and one side of
        the kink: it is the same for coefficients that leave them there.
        """
        p = self.problem
        kinds = 2 * above + (self.low == 0.0)  # the slopes of classes depend on theirs
        rows = [np.flatnonzero(~inside & (kinds == kind)) for kind in range(4)]
        rows = [each for each in rows if each.size]
        weight = [p.weights[each].sum() for each in rows]

        def all_of(x):
            pairs = zip(rows, weight, strict=True)
            means = [x[..., each] @ p.weights[each] / w for each, w in pairs]
            return np.concatenate([x[..., inside], *(np.atleast_2d(m).T for m in means)], axis=-1)

        few = replace(
            p,
            y=all_of(p.y[None])[0],
            offset=all_of(p.offset[None])[0],
            weights=np.append(p.weights[inside], weight),
        )
        Z = np.ascontiguousarray(all_of(self.Z))
        return _Restricted(few, Z, self.lambda1, self.lambda2, self.lower, self.upper)

    def solve(self, b, b0):
        """`optimum` of all rows at once."""
        if self.lambda2 > 0.0 and b.size:
            return *self.narrow(b, b0), True
        return self.program(b, b0)

    def narrow(self, b, b0):
        """(b, b0, objective, gap) with a ridge: Newton on ever narrower smoothed losses, each
        followed by the linear system of its rows.
        """
        p, n, b = self.problem, self.problem.y.size, b.copy()
        best, top = (b, b0, np.inf), -np.inf
        eta, slopes, curved = np.empty(n), np.empty(n), np.empty(n)
        for width in self.width * NARROWER:
            b0 = self.smoothed(width, b, b0, eta)
            loss = type(self.soft)(*self.soft[:-1], width)
            derivatives(loss, p.y, eta, p.weights, slopes, curved)
            kink, points, converged = curved > 0, [(b, b0, slopes, 0.0)], True
            if np.count_nonzero(kink) <= MOST_AT_KINK + 2 * b.size:  # more are not at the kink
                # near the optimum, where objectives differ by rounding, only these are exact
                exact = self.polished(b, b0, eta, kink)
                points.append((*exact, ROUNDING * self.scale))
                converged = self.converged(*exact, kink, eta > p.y)
            for x, x0, a, tie in points:
                value = self.value(x, x0)[0]
                best = (x.copy(), x0, value) if value <= best[2] + tie else best
                top = max(top, self.bound(a))
            # objectives do not show where rows of next to no weight are
            if converged and best[2] - top <= CLOSED_GAP * max(abs(best[2]), 1e-3 * self.scale):
                break
        return *best, best[2] - top

    def polished(self, b, b0, eta, kink):
        """(b, b0, slopes) of the linear system with these rows at the kink, the others on their
        sides of it; before the last width slopes need not be feasible.
        """
        p = self.problem
        free = (b > self.lower) & (b < self.upper) & ((b != 0.0) | (self.lambda1 == 0.0))
        F, E, m = np.flatnonzero(free), np.flatnonzero(kink), int(p.intercept)
        a = np.where(kink, 0.0, np.where(eta < p.y, self.low, self.high))
        f, e = F.size, E.size
        A, rhs = np.zeros((f + m + e, f + m + e)), np.zeros(f + m + e)
        # in units of the columns at these rows: rounding beside long ones may be all of a short one
        unit = np.abs(self.Z[np.ix_(F, E)]).max(axis=1, initial=np.sqrt(2.0 * self.lambda2))
        A[:f, :f] = np.diag(2.0 * self.lambda2 / unit**2)
        Z = self.Z[F] / unit[:, None]
        A[:f, f + m :], A[f + m :, :f] = Z[:, E], Z[:, E].T
        held = np.where(free, 0.0, b)
        rhs[:f] = -Z @ a - self.lambda1 * np.sign(b[F]) / unit
        if m:
            A[f, f + m :], A[f + m :, f] = 1.0, 1.0
            rhs[f] = -a.sum()
        rhs[f + m :] = (p.y - p.offset - (0.0 if m else b0) - held @ self.Z)[E]
        x = np.linalg.lstsq(A, rhs, rcond=1e-13)[0]
        # refined, for slopes of light rows and short columns may be small beside the others
        x += np.linalg.lstsq(A, rhs - A @ x, rcond=1e-13)[0]
        out = held.copy()
        out[F] = np.clip(x[:f] / unit, self.lower[F], self.upper[F])
        a[E] = x[f + m :]
        return out, float(x[f]) if m else b0, a

    def converged(self, b, b0, a, kink, above):
        """Whether the rows are where `polished` took them to be: those at the kink have slopes a
        within their ranges, the others are above and below it.
        """
        room, beyond = AT_END * (self.high - self.low), self.value(b, b0)[1]
        within = (a >= self.low - room) & (a <= self.high + room)
        there = (above == (beyond > 0.0)) | (np.abs(beyond) <= ZERO * self.scale)
        return bool(np.where(kink, within, there).all())

    def program(self, b, b0):
        """(b, b0, objective, gap, whether b and b0 are the only best ones) without a ridge, from a
        start (b, b0): the linear program of the slopes a (n,), by steps along edges from the
        optimum of a narrow smoothed loss where these end, else by HiGHS; None where it has no
        solution.
        """
        p, k, m = self.problem, self.every.size, int(self.problem.intercept)
        A, cost, box = np.vstack([self.Z, np.ones((m, p.y.size))]), p.offset - p.y, []
        box.append(np.column_stack([self.low, self.high]))
        # z_j'a is within lambda1 of 0, beyond where the coefficient is at a bound
        above, below = np.isfinite(self.upper), np.isfinite(self.lower)
        spread = [(self.every, 0.0, -self.lambda1, self.lambda1)] if self.lambda1 else []
        spread += [(np.flatnonzero(above), -self.upper[above], 0.0, np.inf)]
        spread += [(np.flatnonzero(below), -self.lower[below], -np.inf, 0.0)]
        for J, rate, least, most in spread:
            own = np.zeros((k + m, J.size))
            own[J, np.arange(J.size)] = 1.0
            A = np.hstack([A, own])
            cost = np.append(cost, np.broadcast_to(rate, J.size))
            box.append(np.full((J.size, 2), [least, most]))
        box = np.vstack(box)
        if not (above | below).any():
            b = b.copy()
            b0 = self.smoothed(NEARER * self.width, b, b0, np.empty(p.y.size))
            found = along_edges(A, cost, box, np.append(b, [b0] * m), ZERO * self.scale)
            found = None if found is None else self.reported(*found)
            if found and abs(found[3]) <= CLOSED_GAP * max(abs(found[2]), self.scale):
                return found
        # the tolerances of a program are absolute: slopes are counted in units between those of the
        # lightest and of the heaviest row
        ranges = self.high - self.low
        unit = np.sqrt(ranges[ranges > 0.0].min() * ranges.max())
        found = scipy.optimize.linprog(
            -cost,
            A_eq=A,
            b_eq=np.zeros(k + m),
            bounds=box / unit,
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status != 0:
            return None
        return self.reported(found.eqlin.marginals, unit * found.x)

    def reported(self, x, a):
        """What `program` returns, from parameters x (k + m,) and slopes a, those of the rows
        first.
        """
        k, m = self.every.size, int(self.problem.intercept)
        a = a[: self.problem.y.size]
        b, tau = np.clip(x[:k], self.lower, self.upper), self.Z @ a
        if self.lambda1:
            b[np.abs(tau) < (1.0 - ZERO) * self.lambda1] = 0.0
        b0 = float(x[k]) if m else 0.0
        value, beyond = self.value(b, b0)
        return b, b0, value, self.gap(value, a, b, tau), self.unique(a, b, tau, beyond)

    def gap(self, value, a, b, tau):
        """What the dual value of slopes a (n,) lacks of the objective of b; slopes that a free
        coefficient lacks to be feasible count by its size.
        """
        p = self.problem
        excess = np.maximum(np.abs(tau) - self.lambda1, 0.0)
        bound = np.where(tau < 0.0, self.upper, self.lower)
        finite = np.isfinite(bound)
        rate = np.where(finite, np.sign(-tau) * np.where(finite, bound, 0.0), -np.abs(b))
        return value - float((p.offset - p.y) @ a - excess @ rate)

    def unique(self, a, b, tau, beyond):
        """Whether no other coefficients are as good: no direction keeps the rows whose slopes are
        within their range at the kink, and the others, and the coefficients, on their sides.
        """
        m, excess = int(self.problem.intercept), np.abs(tau) - self.lambda1
        near = ZERO * max(self.lambda1, float(self.problem.weights.max()))
        at_low, at_high, zero = b <= self.lower, b >= self.upper, np.zeros(b.size, dtype=bool)
        if self.lambda1:
            zero = b == 0.0
        ended = at_low | at_high | zero
        # whose slope holds them where they are
        held = np.where(zero, excess < -near, ended & (excess > near)) | (self.lower == self.upper)
        C = np.flatnonzero(~held)
        room = AT_END * (self.high - self.low)
        kink = (a > self.low + room) & (a < self.high - room)
        M = np.vstack([self.Z[C], np.ones((m, a.size))])
        if not M.shape[0]:
            return True
        rank = np.linalg.matrix_rank(M[:, kink])
        if rank == M.shape[0]:
            return True
        ends = np.flatnonzero(~kink & (np.abs(beyond) <= ZERO * self.scale))
        if not ends.size and not ended[C].any():
            return False
        sides = np.where(a[ends] > 0.5 * (self.low + self.high)[ends], -1.0, 1.0)
        low = np.where(at_low[C] | (zero[C] & (tau[C] < 0.0)), 0.0, -1.0)
        high = np.where(at_high[C] | (zero[C] & (tau[C] > 0.0)), 0.0, 1.0)
        low, high = np.append(low, [-1.0] * m), np.append(high, [1.0] * m)
        sides = (sides * M[:, ends]).T
        if rank == M.shape[0] - 1:  # one line keeps the rows at the kink where they are
            d = np.linalg.svd(M[:, kink])[0][:, -1]
            ways = [way for way in (d, -d) if (sides @ way <= AT_END).all()]
            return not any(((way >= low - AT_END) & (way <= high + AT_END)).all() for way in ways)
        toward = np.cos(np.arange(1.0, M.shape[0] + 1.0))  # nothing special about any direction
        for sign in (1.0, -1.0):
            found = scipy.optimize.linprog(
                sign * toward,
                A_ub=sides,
                b_ub=np.zeros(ends.size),
                A_eq=M[:, kink].T,
                b_eq=np.zeros(int(kink.sum())),
                bounds=np.column_stack([low, high]),
                method="highs-ds",
            )
            if found.x is None or found.fun < -1e-7:
                return False
        return True
