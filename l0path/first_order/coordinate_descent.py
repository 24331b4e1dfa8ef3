"""Coordinate descent and partial swaps for the penalised problem, on the working columns.

    minimise over (b0, b):   P = sum_i w_i loss(y_i, o_i + b0 + z_i'b) + lambda0 sum_j f_j [b_j != 0] + lambda1 ||b||_1 + lambda2 ||b||^2,   lower <= b <= upper      (P)

A coordinate enters, stays or leaves by its exact one-dimensional optimum (`penalties.threshold`;
other losses: a safeguarded Newton search, the true decrease decides), so P never rises and no
support comes back. Once the support rests, the restricted problem is solved exactly; what no
coordinate step changes then is *stationary*.
Sources: Dedieu, Hazimeh & Mazumder (JMLR 22:135, 2021), Algorithms 1, 2 (coordinate descent), 3
    (partial swaps);
Hazimeh & Mazumder (Oper. Res. 68(5), 2020), sections 2.2 (stationary points) and 3.
"""

from dataclasses import dataclass

import numpy as np

from ..core.status import FitStatus
from ..errors import check_tol
from ..problem.losses import derivatives, mean_loss, name_of
from ..problem.penalties import Interval, Separable, entry
from .cd_kernels import cd_gram, cd_rows, frozen_swaps, probe_entries

CHUNK = 50  # sweeps of one kernel call
SAFETY = {
    "logistic": 2.0,
    "squared_hinge": 4.0,
    "poisson": 3.0,
    "huber": 8.0,
    "smoothed_hinge": 8.0,
}  # the exact gain of an entry is at most this many times the quadratic estimate
PROBED = 8  # columns whose exact gain is always worked out, however small the estimate
FLAT = 1e-10  # relative change of P below which a swap is no improvement


@dataclass(frozen=True, kw_only=True)
class CoordinateDescent:
    """Settings of algorithm="cd": coordinate descent for every lambda0.

    Parameters
    ----------
    tol : float, default 1e-8
        A sweep whose largest step is below it has settled.
    max_sweeps : int, default 1000
        The largest number of sweeps of one solve.
    screen_size : int, default 1000
        The largest number of columns that seed the working set.
    n_stable : int, default 2
        Sweeps without a change of the support before it is refitted.
    """

    tol: float = 1e-8
    max_sweeps: int = 1000
    screen_size: int = 1000
    n_stable: int = 2

    def __post_init__(self):
        check_tol(self.tol)
        if min(self.max_sweeps, self.screen_size, self.n_stable) < 1:
            raise ValueError(
                f"max_sweeps={self.max_sweeps!r}, screen_size={self.screen_size!r} and "
                f"n_stable={self.n_stable!r} must be at least 1"
            )


def entry_gains(pull, curvature, lambda1, lambda2, lower=None, upper=None):
    """Gain of the best nonzero value of each coordinate (see `penalties.entry`), arrays that
    broadcast; without a box (|pull| - lambda1)_+^2 / (2 (curvature + 2 lambda2)).
    """
    s = np.maximum(curvature + 2.0 * lambda2, 1e-300)
    u = np.maximum(np.abs(pull) - lambda1, 0.0)
    if lower is None:
        return u * u / (2.0 * s)
    b = np.clip(np.copysign(u, pull) / s, lower, upper)
    return pull * b - 0.5 * s * b * b - lambda1 * np.abs(b)


class Descent:
    """Coordinate descent for one (lambda1, lambda2) on the working columns of a model; `visited`
    keeps every support that was refitted.
    """

    def __init__(self, model, lambda1, lambda2, settings, scale):
        self.model, self.problem, self.settings, self.scale = model, model.problem, settings, scale
        self.lambda1, self.lambda2, self.tie = float(lambda1), float(lambda2), 1e-12 * scale
        self.visited, self.best, self.resting, self.width = {}, {}, {}, -1
        p = self.problem
        self.open = p.usable & np.isfinite(p.factor)  # columns that may enter, (p,)
        self.open[p.forced] = False
        self.factor_all = np.where(np.isfinite(p.factor), p.factor, 1e300)
        self.factor_all[p.forced] = 0.0
        self.even = np.ptp(self.factor_all[self.open]) == 0.0 if self.open.any() else True

    def price(self, lambda0, fit):
        """P of a fit."""
        return fit.value + lambda0 * float(self.factor_all[fit.support].sum())

    def tolerance(self, fit):
        """What counts as an improvement at this fit."""
        return FLAT * max(abs(fit.value), 1e-6 * self.scale)

    def _refresh(self):
        """Numbers of the working columns, renewed when W has grown."""
        if self.width != self.model.width:
            W, p = self.model.W, self.problem
            self.width = W.size
            self.factor, self.lower, self.upper = self.factor_all[W], p.lower[W], p.upper[W]
            self.fixed = np.isin(W, p.forced)
            self.enters = self.open[W]

    def penalty(self, lambda0):
        return Separable(float(lambda0), self.lambda1, self.lambda2, self.tie)

    def refit(self, support, start):
        """The restricted optimum on a support, its zeros left out; what was solved before is not
        solved again.
        """
        key = support.tobytes()
        if key not in self.visited:
            fit = self.model.refit(support, self.lambda1, self.lambda2, start)
            if fit.value == np.inf and self.problem.quadratic:  # dependent columns
                fit = self.model.on_rows(support, self.lambda2)[0]
            keep = (fit.b != 0) | np.isin(support, self.problem.forced)
            self.keep(
                key, fit if keep.all() else fit._replace(support=support[keep], b=fit.b[keep])
            )
        return self.visited[key]

    def keep(self, key, fit):
        """Remember a restricted optimum; the best of each size competes elsewhere (harvest)."""
        self.visited[key] = fit
        k = fit.support.size - self.problem.forced.size
        if k not in self.best or fit.value < self.best[k].value - self.tolerance(fit):
            self.best[k] = fit

    def rival(self, lambda0, fit):
        """The best fit seen so far at this lambda0 if it beats `fit`, or None."""
        seen = [
            other
            for other in self.best.values()
            if not {FitStatus.SEPARATED, FitStatus.NOT_CONVERGED} & set(other.flags)
        ]
        best = min(seen, key=lambda other: self.price(lambda0, other), default=fit)
        return (
            best
            if self.price(lambda0, best) < self.price(lambda0, fit) - self.tolerance(fit)
            else None
        )

    def solve(self, lambda0, start, poll=lambda: None, settled=True):
        """A stationary point of (P) on W from a start (a Fit; `settled`: it is the optimum on its
        support): descend, refit, until the support rests.
        """
        fit, sweeps, penalty = start, 0, self.penalty(lambda0)
        while FitStatus.SEPARATED not in fit.flags:
            poll()
            self._refresh()
            spent, support, coefficients = self.descend(penalty, fit)
            sweeps += spent
            if settled and np.array_equal(support, fit.support):
                return fit
            fit, settled = self.refit(support, coefficients), True
            if sweeps >= self.settings.max_sweeps:
                return (
                    fit
                    if FitStatus.NOT_CONVERGED in fit.flags
                    else fit._replace(flags=(*fit.flags, FitStatus.NOT_CONVERGED))
                )
        return fit

    def solve_swaps(self, lambda0, start, max_swaps, n_best, poll=lambda: None):
        """A stationary point that no partial swap on W improves either: swap the best pair,
        descend, repeat (Algorithm 3 of DHM with m = 1).
        """
        fit = self.solve(lambda0, start, poll)
        for _ in range(max_swaps):
            swapped = self.swap(lambda0, fit, n_best)
            if swapped is None:
                break
            poll()
            new = self.solve(lambda0, swapped, poll, settled=False)
            if not self.price(lambda0, new) < self.price(lambda0, fit):
                break
            fit = new
        return fit

    def swap(self, lambda0, fit, n_best):
        """The fit with one pair exchanged (others frozen, not refitted) so that P falls, or None;
        what W has shown to rest is remembered.
        """
        key = fit.support.tobytes() if self.even else (fit.support.tobytes(), lambda0)
        if (
            fit.support.size == self.problem.forced.size
            or FitStatus.SEPARATED in fit.flags
            or self.resting.get(key) == self.model.width
        ):
            return None
        self._refresh()
        found = self._swap(lambda0, fit, n_best)
        if found is None:
            self.resting[key] = self.model.width
            return None
        out, into, b = found
        keep = fit.support != out
        support, values = np.append(fit.support[keep], into), np.append(fit.b[keep], b)
        order = np.argsort(support)
        return fit._replace(support=support[order], b=values[order])

    def table(self, penalty, fit, rows, index, scale, c, a, rho, J, ceiling, keep):
        """`frozen_swaps` of a fit against the columns J (slice or indices), which rows, c and a are
        about: [(change, out, into)].
        """
        p = self.problem
        numbers = np.arange(p.X.p)[J]
        skip = ~self.open[J]
        skip[np.isin(numbers, fit.support)] = True
        rho = np.where(np.isin(fit.support, p.forced), 1e300, rho)
        change, column, position = (
            np.empty(keep),
            np.empty(keep, np.int64),
            np.empty(keep, np.int64),
        )
        factor, paid = self.factor_all[J], penalty.lambda0 * self.factor_all[fit.support]
        count = frozen_swaps(
            penalty,
            rows,
            index,
            scale,
            c,
            a,
            rho,
            skip,
            factor,
            paid,
            p.lower[J],
            p.upper[J],
            ceiling,
            change,
            column,
            position,
        )
        return [
            (float(change[e]), int(fit.support[position[e]]), int(numbers[column[e]]))
            for e in range(count)
        ]

    def _order(self, at, gains):
        """Positions to visit: the support, then columns by decreasing gain for their price (ties:
        smaller column).
        """
        free = self.enters.copy()
        free[at] = False
        rest = np.flatnonzero(free)
        ranked = rest[
            np.lexsort((self.model.W[rest], -gains[rest] / np.maximum(self.factor[rest], 1e-100)))
        ]
        return np.concatenate([at, ranked]), at.size

    def _support(self, b):
        """Sorted support and its coefficients from b (w,)."""
        at = np.flatnonzero((b != 0) | self.fixed)
        at = at[np.argsort(self.model.W[at])]
        return self.model.W[at], b[at]


class GramDescent(Descent):
    """Squared loss: everything from the Gram matrix of the working columns."""

    def _state(self, fit):
        """b (w,), c (w,) = q - G b of a fit."""
        at = self.model.where[fit.support]
        b = np.zeros(self.width)
        b[at] = fit.b
        return at, b, self.model.q - fit.b @ self.model.G[at, : self.width]

    def descend(self, penalty, fit):
        """Up to CHUNK sweeps: (sweeps, support, coefficients)."""
        at, b, c = self._state(fit)
        gains = entry_gains(
            c,
            np.diagonal(self.model.G)[: self.width],
            self.lambda1,
            self.lambda2,
            self.lower,
            self.upper,
        )
        order, _ = self._order(at, gains)
        s = self.settings
        sweeps = cd_gram(
            penalty,
            self.model.G,
            self.width,
            b,
            c,
            order,
            self.factor,
            self.lower,
            self.upper,
            s.n_stable,
            CHUNK,
            s.tol,
        )
        return sweeps, *self._support(b)

    def exit_price(self, fit):
        """Largest lambda0 at which a column of W would enter, lambda_lo of the support: max_j
        gain_j / f_j.
        """
        self._refresh()
        at, _, c = self._state(fit)
        gains = entry_gains(
            c,
            np.diagonal(self.model.G)[: self.width],
            self.lambda1,
            self.lambda2,
            self.lower,
            self.upper,
        )
        free = self.enters & (self.factor > 0)
        free[at] = False
        return float((gains[free] / self.factor[free]).max(initial=0.0))

    def removal(self, fit, c):
        """rho_i = F(b - b_i e_i) - F(b) = b_i c_i + a_i b_i^2 / 2 - lambda1 |b_i| - lambda2 b_i^2,
        c (k,) = -slopes.
        """
        return (
            fit.b * c
            + 0.5 * self.problem.square[fit.support] * fit.b**2
            - self.lambda1 * np.abs(fit.b)
            - self.lambda2 * fit.b**2
        )

    def _swap(self, lambda0, fit, n_best):
        at, _, c = self._state(fit)
        penalty, G, w = self.penalty(lambda0), self.model.G, self.width
        found = self.table(
            penalty,
            fit,
            G,
            at,
            fit.b,
            c,
            np.ascontiguousarray(np.diagonal(G)[:w]),
            self.removal(fit, c[at]),
            self.model.W,
            -self.tolerance(fit),
            1,
        )
        if not found:
            return None
        _, out, into = found[0]
        j = self.model.where[into]
        pull = c[j] + fit.b[np.searchsorted(fit.support, out)] * G[self.model.where[out], j]
        return out, into, entry(penalty, pull, G[j, j], Interval(self.lower[j], self.upper[j]))[0]


class RowDescent(Descent):
    """Every other loss, on the rows of the working columns."""

    def __init__(self, model, lambda1, lambda2, settings, scale):
        super().__init__(model, lambda1, lambda2, settings, scale)
        self.safety = SAFETY[name_of(self.problem.loss)]

    def _estimates(self, fit):
        """Predictor, slopes, curvatures (n,) of a fit, and the estimated gains of W: second order,
        with the mean curvature.
        """
        eta, slopes, curvatures = self.model.derivatives(fit)
        pull = -(self.model.Z[: self.width] @ slopes)
        return (
            eta,
            slopes,
            curvatures,
            entry_gains(
                pull,
                curvatures.sum() * self.problem.square[self.model.W],
                self.lambda1,
                self.lambda2,
                self.lower,
                self.upper,
            ),
        )

    def refit(self, support, start):
        return super().refit(support, (start, self.b0))

    def descend(self, penalty, fit):
        """Up to CHUNK sweeps over the support and the columns that may enter by their estimate:
        (sweeps, support, coefficients).
        """
        p, s = self.problem, self.settings
        eta, slopes, curvatures, gains = self._estimates(fit)
        at = self.model.where[fit.support]
        b = np.zeros(self.width)
        b[at] = fit.b
        order, k = self._order(at, gains)
        rest = order[k:]
        near = self.safety * gains[rest] > penalty.lambda0 * self.factor[rest]
        near[:PROBED] = True
        order = np.concatenate([order[:k], rest[near]])
        sweeps, self.b0 = cd_rows(
            p.loss,
            penalty,
            p.y,
            p.weights,
            self.model.Z,
            order,
            b,
            float(fit.b0),
            eta,
            slopes,
            curvatures,
            self.factor,
            self.lower,
            self.upper,
            self.fixed,
            p.intercept,
            k + PROBED,
            self.safety,
            s.n_stable,
            CHUNK,
            s.tol,
        )
        return sweeps, *self._support(b)

    def exit_price(self, fit):
        """Largest lambda0 at which a column of W would enter, exact gains of the columns that come
        first by their estimate.
        """
        self._refresh()
        eta, _, _, gains = self._estimates(fit)
        order, k = self._order(self.model.where[fit.support], gains)
        rest = order[k:][self.factor[order[k:]] > 0]
        estimates, best = gains[rest] / self.factor[rest], 0.0
        for left in range(0, rest.size, PROBED):
            if left and self.safety * estimates[left] < best:
                break
            at = rest[left : left + PROBED]
            exact = self.exact_gains(eta, at)[1]
            best = max(best, float((exact / self.factor[at]).max()))
        return best

    def exact_gains(self, eta, at):
        """(optimum, gain) of the working columns `at`, each alone."""
        p, out, gains = self.problem, np.empty(at.size), np.empty(at.size)
        probe_entries(
            p.loss,
            self.penalty(0.0),
            p.y,
            p.weights,
            eta,
            self.model.Z,
            at,
            self.lower,
            self.upper,
            out,
            gains,
        )
        return out, gains

    def removal(self, fit):
        """Without member i, others frozen: predictors (k, n), slopes (k, n), rho_i = F(b - b_i e_i)
        - F(b), and the mean curvature at the fit.
        """
        p = self.problem
        eta, _, curvatures = self.model.derivatives(fit)
        here = mean_loss(p.loss, p.y, eta, p.weights)
        without = eta - fit.b[:, None] * self.model.Z[self.model.where[fit.support]]
        slopes, scratch = np.empty_like(without), np.empty(eta.size)
        rho = np.array(
            [
                derivatives(p.loss, p.y, row, p.weights, out, scratch)
                for row, out in zip(without, slopes, strict=True)
            ]
        )
        return (
            without,
            slopes,
            rho - here - self.lambda1 * np.abs(fit.b) - self.lambda2 * fit.b**2,
            curvatures.sum(),
        )

    def _swap(self, lambda0, fit, n_best):
        """The first of the n_best pairs by estimated change that the exact search confirms."""
        p, penalty, k = self.problem, self.penalty(lambda0), fit.support.size
        without, slopes, rho, total = self.removal(fit)
        W, w = self.model.W, self.width
        pulls = -(slopes @ self.model.Z[:w].T)
        ranked = self.table(
            penalty,
            fit,
            pulls,
            np.arange(k),
            np.ones(k),
            np.zeros(w),
            total * p.square[W],
            rho,
            W,
            1e300,
            n_best,
        )
        for _, out, into in ranked:
            i = int(np.searchsorted(fit.support, out))
            b, gain = self.exact_gains(without[i], self.model.where[[into]])
            if rho[i] - gain[0] + lambda0 * (
                self.factor_all[into] - self.factor_all[out]
            ) < -self.tolerance(fit):
                return out, into, b[0]
        return None


def make_descent(model, lambda1, lambda2, settings=None, scale=None):
    """The descent of a model's loss; scale: the size of P that tolerances refer to (default: its
    null value).
    """
    if scale is None:
        model.grow(model.problem.forced)
        scale = max(abs(model.null(lambda1, lambda2).value), 1e-300)
    kind = GramDescent if model.problem.quadratic else RowDescent
    return kind(model, lambda1, lambda2, settings or CoordinateDescent(), scale)


def solve_point(model, lambda0, lambda1, lambda2, start, settings=None):
    """A stationary point of (P) on the working columns of a model, from a Fit on some of them that
    is the optimum on its support.
    """
    return make_descent(model, lambda1, lambda2, settings).solve(lambda0, start)
