"""Coordinate descent and partial swaps for the penalized problem, on the working columns.

    minimize over (b0, b):   P = sum_i w_i loss(y_i, o_i + b0 + z_i'b)
                                 + lambda0 sum_j f_j [b_j != 0] + lambda1 ||b||_1
                                 + lambda2 ||b||^2,   lower <= b <= upper                     (P)

A coordinate enters, stays or leaves by its exact one-dimensional optimum (`penalties.threshold`;
other losses: a safeguarded Newton search, the true decrease decides), so P never rises and no
support comes back. Once the support no longer changes, the restricted problem is solved exactly;
what no coordinate step changes then is *stationary*. Sources: Dedieu, Hazimeh & Mazumder (JMLR
22:135, 2021), Algorithms 1, 2 (coordinate descent), 3
    (partial swaps);
Hazimeh & Mazumder (Oper. Res. 68(5), 2020), sections 2.2 (stationary points) and 3.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.status import FitStatus
from ..errors import check_tol
from ..exchange.table import ExchangeList
from ..problem.penalties import Separable
from ..problem.solution import present
from .cd_kernels import Coordinates, Entering, Leaving, frozen_swaps

NO_IMPROVEMENT = 1e-10  # relative change of P below which a swap is no improvement


@dataclass(frozen=True, kw_only=True)
class CoordinateDescent:
    """Settings of algorithm="cd": coordinate descent for every lambda0.

    Parameters
    ----------
    tol : float, default 1e-8
        A sweep whose largest step is below it has converged.
    max_sweeps : int, default 1000
        The largest number of sweeps of one solve.
    screen_size : int, default 1000
        The largest number of features that seed the working set.
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


def entry_gains(correlation, curvature, lambda1, lambda2, lower=None, upper=None):
    """Gain of the best nonzero value of each coordinate (see `penalties.entry`), arrays that
    broadcast; without a box (|correlation| - lambda1)_+^2 / (2 (curvature + 2 lambda2)).
    """
    s = np.maximum(curvature + 2.0 * lambda2, 1e-300)
    u = np.maximum(np.abs(correlation) - lambda1, 0.0)
    if lower is None:
        return u * u / (2.0 * s)
    b = np.clip(np.copysign(u, correlation) / s, lower, upper)
    return correlation * b - 0.5 * s * b * b - lambda1 * np.abs(b)


class Sides(NamedTuple):
    """Both sides of swaps of a fit with columns J. Without member i the correlation on column j is
    c_j + scale_i rows[index_i, j].
    """

    rows: np.ndarray
    index: np.ndarray  # (k,)
    scale: np.ndarray  # (k,)
    c: np.ndarray  # (m,), correlations
    a: np.ndarray  # (m,), curvatures
    rho: np.ndarray  # (k,), what P without the costs loses with each member
    J: Any  # slice or indices of the m columns


class CoordinateSolver:
    """Coordinate descent for one (lambda1, lambda2) on the working columns of a model; `visited`
    keeps every support that was refitted.
    """

    def __init__(self, model, lambda1, lambda2, settings, scale):
        self.model, self.problem, self.settings, self.scale = model, model.problem, settings, scale
        self.lambda1, self.lambda2, self.tie = float(lambda1), float(lambda2), 1e-12 * scale
        self.visited, self.best, self.stationary, self.width = {}, {}, {}, -1
        p = self.problem
        self.selectable = p.usable & np.isfinite(p.factor)  # columns that may enter, (p,)
        self.selectable[p.forced] = False
        self.factor_all = np.where(np.isfinite(p.factor), p.factor, 1e300)
        self.factor_all[p.forced] = 0.0
        self.even = (
            np.ptp(self.factor_all[self.selectable]) == 0.0 if self.selectable.any() else True
        )

    def objective(self, lambda0, fit):
        """P of a fit."""
        return fit.value + lambda0 * self.cost(fit.support)

    def cost(self, support):
        """sum f_j over a support."""
        return float(self.factor_all[support].sum())

    def tolerance(self, fit):
        """The least decrease of the objective that counts as an improvement of this fit."""
        return NO_IMPROVEMENT * max(abs(fit.value), 1e-6 * self.scale)

    def _refresh(self):
        """Numbers of the working columns, renewed when W has grown."""
        if self.width != self.model.width:
            W, p = self.model.W, self.problem
            self.width = W.size
            self.factor, self.lower, self.upper = self.factor_all[W], p.lower[W], p.upper[W]
            self.fixed = np.isin(W, p.forced)
            self.columns = Coordinates(self.factor, self.lower, self.upper, self.fixed)
            self.enters = self.selectable[W]

    def penalty(self, lambda0):
        return Separable(float(lambda0), self.lambda1, self.lambda2, self.tie)

    def refit(self, support, start, target=np.inf):
        """The restricted optimum on a support, without its zeros, or None once `target` is out of
        its reach; a support is not solved twice.
        """
        key = support.tobytes()
        if key not in self.visited:
            fit = self.model.refit(support, self.lambda1, self.lambda2, start, target)
            if fit is None:
                return None
            if fit.value == np.inf and self.problem.quadratic:  # dependent columns
                fit = self.model.on_rows(support, self.lambda2)[0]
            keep = present(fit.b) | np.isin(support, self.problem.forced)
            self.keep(
                key, fit if keep.all() else fit._replace(support=support[keep], b=fit.b[keep])
            )
        return self.visited[key]

    def keep(self, key, fit):
        """Remember a restricted optimum; the best of each size may fill one that the path passes
        over.
        """
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
        best = min(seen, key=lambda other: self.objective(lambda0, other), default=fit)
        return (
            best
            if self.objective(lambda0, best) < self.objective(lambda0, fit) - self.tolerance(fit)
            else None
        )

    def solve(self, lambda0, start, poll=lambda: None, converged=True):
        """A stationary point of (P) on W from a start (a Fit; `converged`: it is the optimum on its
        support): descend, refit, until the support no longer changes.
        """
        fit, sweeps, penalty = start, 0, self.penalty(lambda0)
        while FitStatus.SEPARATED not in fit.flags:
            poll()
            self._refresh()
            spent, support, start = self.descend(penalty, fit)
            sweeps += spent
            if converged and np.array_equal(support, fit.support):
                return fit
            fit, converged = self.refit(support, start), True
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
            new = self.solve(lambda0, swapped, poll, converged=False)
            if not self.objective(lambda0, new) < self.objective(lambda0, fit):
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
            or self.stationary.get(key) == self.model.width
        ):
            return None
        self._refresh()
        found = self._swap(lambda0, fit, n_best)
        if found is None:
            self.stationary[key] = self.model.width
            return None
        out, into, b = found
        keep = fit.support != out
        support, values = np.append(fit.support[keep], into), np.append(fit.b[keep], b)
        order = np.argsort(support)
        return fit._replace(support=support[order], b=values[order])

    def table(self, penalty, fit, sides, ceiling, keep):
        """`frozen_swaps` of a fit with the `Sides` of an exchange: [(change, out, into)]."""
        p, J = self.problem, sides.J
        numbers = np.arange(p.X.p)[J]
        skip = ~self.selectable[J]
        skip[np.isin(numbers, fit.support)] = True
        rho = np.where(np.isin(fit.support, p.forced), 1e300, sides.rho)
        member_cost = penalty.lambda0 * self.factor_all[fit.support]
        members = Leaving(sides.rows, sides.index, sides.scale, rho, member_cost)
        box = p.lower[J], p.upper[J]
        entrants = Entering(sides.c, sides.a, skip, self.factor_all[J], *box)
        pairs = ExchangeList(np.empty(keep), np.empty(keep, np.int64), np.empty(keep, np.int64))
        count = frozen_swaps(penalty, members, entrants, ceiling, pairs)
        return [
            (float(pairs.change[e]), int(fit.support[i]), int(numbers[j]))
            for e, (i, j) in enumerate(zip(pairs.position[:count], pairs.column, strict=False))
        ]

    def _order(self, at, gains):
        """Positions to visit: the support, then columns by decreasing gain per cost (ties:
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
