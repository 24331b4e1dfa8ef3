"""Projected gradient methods for k-sparse problems, plain and accelerated.

    minimise over (b0, w):  F = sum_i w_i loss(y_i, o_i + b0 + z_i'w) + lambda1 ||w||_1 + lambda2 ||w||^2,   at most k unforced w_j nonzero, lower <= w <= upper      (K)
    T(z) = best k of  clip(soft(z - step grad F(z), step lambda1))                                                                                                        (M)

A fixed point of (M) is *stationary*; the larger the step, the fewer there are, so by default steps
are as long as the descent of F allows. The intercept and forced columns follow the gradient and are
always kept. Sources: Alcantara & Lee, Accelerated Projected Gradient Algorithms for Sparsity
Constrained Optimization Problems, equations (5) map, (12)-(20) extrapolation, (24) residual,
Algorithms 1 and 2; Blumensath & Davies (2010), normalised steps; Foucart (SIAM J. Numer. Anal. 49,
2011), hard thresholding pursuit; Li & Lin (NIPS 2015), monotone APG ("pg_ll").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.status import FitStatus, Optimality
from ..errors import check_tol
from ..problem.losses import smoothness
from ..working_set.starts import slopes_at
from . import extrapolation
from .operators import Outcome, all_columns, working_columns

VARIANTS = ("pg", "apg", "pg+", "apg+", "pg_ll", "htp")
STEPS = ("fixed", "backtracking", "normalised")
LONGEST = 1e4  # steps are at most this many times 0.99 / L
DECREASE = 1e-3  # share of ||w - z||^2 / (2 step) by which a step must lower F
HALVINGS = 60


@dataclass(frozen=True, kw_only=True)
class ProjectedGradient:
    """Settings of the projected gradient algorithms, which solve every size.

    Parameters
    ----------
    variant : str, default "pg"
        "pg"; "apg" extrapolates along moves that keep the support; "pg+" and "apg+" solve on a
        support that has rested; "pg_ll" takes Nesterov's points, made monotone; "htp" refits after
        every map.
    paper_defaults : bool, default False
        Whether to take constants, step and Newton steps of the papers, on all p columns, from zero,
        where a later size starts from the one before. Else scale-free rules on the working columns,
        from a refitted start to a refitted fixed point.
    step : str, optional
        "fixed" 0.99 / L; "backtracking" from the Barzilai-Borwein length; "normalised" ||g_J||^2 /
        g_J'Hg_J, backtracked. None means "fixed" with paper_defaults, else "backtracking".
    identify : int, optional
        Maps without a change of support before it is solved on. None means 2, and 5 with
        paper_defaults.
    tol : float, default 1e-6
        The residual (24) at which the maps have settled.
    max_iter : int, optional
        Maps per size. None means 1000, and 10 000 with paper_defaults.
    polish : bool, default False
        Whether swaps with refit (local search) follow at every size, checked over all columns, and
        then a map.
    """

    variant: str = "pg"
    paper_defaults: bool = False
    step: str | None = None
    identify: int | None = None
    tol: float = 1e-6
    max_iter: int | None = None
    polish: bool = False

    def __post_init__(self):
        if self.variant not in VARIANTS:
            raise ValueError(
                f"variant={self.variant!r} is not known; choose one of {', '.join(VARIANTS)}"
            )
        if self.step is not None and self.step not in STEPS:
            raise ValueError(
                f"step={self.step!r} is not known; choose one of {', '.join(STEPS)}, or None"
            )
        check_tol(self.tol)
        for name in ("identify", "max_iter"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, np.integer)) and value >= 1):
                raise ValueError(f"{name}={value!r} must be a whole number >= 1, or None")

    @property
    def rule(self) -> str:
        """The step rule in force."""
        return self.step or ("fixed" if self.paper_defaults else "backtracking")

    @property
    def maps(self) -> int:
        """Most maps per size."""
        return self.max_iter or (10_000 if self.paper_defaults else 1000)

    @property
    def patience(self) -> int:
        """Maps without a change of support before it is solved on."""
        return self.identify or (5 if self.paper_defaults else 2)

    def check(self, problem: Any, lambda1: float, lambda2: float) -> None:
        """Refuse what the method cannot take."""
        if self.rule == "fixed" and not math.isfinite(smoothness(problem.loss)):
            raise ValueError(
                "step='fixed' needs a loss of bounded curvature, which poisson has not; use "
                "ProjectedGradient(step='backtracking')"
            )

    def solver(self, model: Any, lambda1: float, lambda2: float, scale: float) -> Any:
        """The solver of a model's sizes, for `SparsePath`."""
        return GradientSolver(model, lambda1, lambda2, self, scale)


class GradientSolver:
    """Sizes of one (lambda1, lambda2) by projected gradients, on the working columns, or on all p
    of them with paper_defaults (`everywhere`).
    """

    two_way, taken = True, 20

    def __init__(self, model, lambda1, lambda2, settings, scale):
        settings.check(model.problem, lambda1, lambda2)
        self.model, self.lambda1, self.lambda2, self.settings, self.scale = (
            model,
            float(lambda1),
            float(lambda2),
            settings,
            scale,
        )
        self.everywhere, self.width, self.view, self.bounds = settings.paper_defaults, -1, None, {}

    def refresh(self):
        """Renew the view when W has grown."""
        width = 0 if self.everywhere else self.model.width
        if self.width != width:
            self.width = width
            make = all_columns if self.everywhere else working_columns
            source = self.model.problem if self.everywhere else self.model
            curvature = 1.0
            if not math.isfinite(smoothness(self.model.problem.loss)):
                curvature = float(
                    self.model.derivatives(self.model.null(self.lambda1, self.lambda2))[2].sum()
                )
            self.view = make(source, self.lambda1, self.lambda2).measure(curvature)

    def solve(self, k, start, poll=lambda: None, watch=None):
        """Outcome of size k from a Fit; watch(name, F) hears of every point: "extrapolated",
        "solved", "map", "refit", and of every residual (24) by watch("residual", value).
        """
        self.refresh()
        if k > int(self.view.open.sum()):
            raise ValueError(
                f"k={k} exceeds the {int(self.view.open.sum())} columns that can be chosen"
            )
        run = _Run(self, k, poll, watch or (lambda name, value: None))
        x = self.view.of_fit(start)
        if np.count_nonzero(x.w[self.view.open]) > k:
            J, _ = self.view.choose(np.where(self.view.open, x.w, 0.0), 0.0, k)
            start = run.refit(J, x)
            x = self.view.of_fit(start)
        return (
            run.pursue(x, start)
            if self.settings.variant == "htp"
            else run.nesterov(x)
            if self.settings.variant == "pg_ll"
            else run.descend(x)
        )

    def right_side(self, outcome):
        """(n,) slopes at an outcome: what X is read with to verify it."""
        return slopes_at(self.model, outcome.fit)

    def scores(self, outcome, pull, columns):
        """What columns (slice) outside the support gain in a map of the outcome's step at its fit;
        pull (m,) = -Z' slopes.
        """
        p, raw = self.model.problem, outcome.step * pull
        u = np.clip(
            np.copysign(np.maximum(np.abs(raw) - outcome.step * self.lambda1, 0.0), raw),
            p.lower[columns],
            p.upper[columns],
        )
        return raw * u - 0.5 * u * u - outcome.step * self.lambda1 * np.abs(u)

    def threshold(self, outcome):
        """What a column outside must gain to enter: the least gain among the unforced support, b^2
        / 2 where its slope is zero (more at a bound).
        """
        fit = outcome.fit
        b = fit.b[~np.isin(fit.support, self.model.problem.forced)]
        return float((0.5 * b * b).min(initial=np.inf))

    def judge(self, outcome, outside):
        """Nothing to add to what the map over all columns says."""
        return outcome

    def closed(self, k, fit):
        """No bound, no proof."""
        return False


class _Run:
    """One size: the loop's state, and the moves that all variants share."""

    def __init__(self, solver, k, poll, watch):
        self.solver, self.view, self.settings, self.k, self.poll, self.watch = (
            solver,
            solver.view,
            solver.settings,
            k,
            poll,
            watch,
        )
        self.floor = (0.999 if self.settings.paper_defaults else 0.99) / self.view.lipschitz
        self.noise = 1e-14 * solver.scale
        self.length = (
            10.0 * self.floor if self.settings.rule != "fixed" else self.floor
        )  # the next step
        self.longest, self.maps, self.J = self.floor, 0, None

    def size_of(self, *points):
        """Unforced columns that any of the points uses."""
        used = np.zeros(self.view.m, dtype=bool)
        for x in points:
            used |= x.w != 0.0
        return int(np.count_nonzero(used & self.view.open))

    def mapped(self, z, gradient, step):
        """T(z) of (M): positions J and the Iterate."""
        g, g0 = gradient
        J, u = self.view.choose(z.w - step * g, step, self.k)
        w = np.zeros(self.view.m)
        w[J] = u
        return J, self.view.at(w, z.b0 - step * self.view.spread * g0)

    def step(self, z, gradient, length=None):
        """A map from z whose F is lower by DECREASE of its quadratic part; halved until it is.
        Returns (Iterate, step).
        """
        step = self.first(z, gradient) if length is None else length
        for _ in range(HALVINGS):
            self.J, new = self.mapped(z, gradient, step)
            moved = self.view.distance(z, new)
            if (
                self.settings.rule == "fixed"
                or new.value <= z.value - 0.5 * DECREASE * moved / step + self.noise
            ):
                break
            step = self.floor if self.floor < step < 2.0 * self.floor else 0.5 * step
        else:
            new = z
        self.maps += 1
        self.longest = max(self.longest, step)
        self._prepare(z, new)
        self.watch("map", new.value)
        return new, step

    def first(self, z, gradient):
        """The first step of a map."""
        if self.settings.rule != "normalised":
            return self.length
        g, g0 = gradient
        J = np.flatnonzero(z.w)
        if not J.size:
            J = largest_slopes(self.view, g, self.k)
        d = np.zeros(self.view.m)
        d[J] = g[J]
        ahead = z._replace(
            w=z.w + d,
            b0=z.b0 + self.view.spread * g0,
            image=z.image + self.view.image(d, self.view.spread * g0),
        )
        return self._clip(self.view.distance(z, ahead), self.view.along(z, ahead)[1])

    def _prepare(self, z, new):
        """The Barzilai-Borwein length of the next step: ||d||^2 / d'Hd of the move d = new - z."""
        if self.settings.rule == "backtracking":
            moved = self.view.distance(z, new)
            if moved > 0.0:
                self.length = self._clip(moved, self.view.along(z, new)[1])

    def _clip(self, square, curvature):
        longest = LONGEST * self.floor
        return (
            min(max(square / curvature, self.floor), longest)
            if curvature * longest > square
            else longest
        )

    def residual(self, z, gradient, new, step):
        """Equation (24): ||z - T(z)|| / (1 + ||z|| + step ||grad F(z)||), at the point whose
        gradient is known.
        """
        residual = math.sqrt(self.view.distance(z, new)) / (
            1.0 + float(np.linalg.norm(z.w)) + step * float(np.linalg.norm(gradient[0]))
        )
        self.watch("residual", residual)
        return residual

    def refit(self, J, x):
        """The restricted optimum on positions J, from the coefficients of x."""
        model, solver = self.solver.model, self.solver
        J = J[np.argsort(self.view.index[J])]
        support = self.view.index[J]
        if solver.everywhere:
            model.grow(support)
        fit = model.refit(
            support,
            solver.lambda1,
            solver.lambda2,
            x.w[J] if model.problem.quadratic else (x.w[J], x.b0),
        )
        self.watch("refit", fit.value)
        return fit

    def outcome(self, fit, status, step):
        status = FitStatus.SEPARATED if FitStatus.SEPARATED in fit.flags else status
        return Outcome(fit, self.maps, status, step)

    def settle(self, x):
        """Refit on the support of x and map once more with the longest step that F allows:
        (Outcome, None) if that stays, else (Outcome, where it went).
        """
        fit = self.refit(self.J, x)
        if FitStatus.SEPARATED in fit.flags or self.settings.paper_defaults:
            return self.outcome(
                fit, "converged", self.floor if self.settings.rule == "fixed" else self.length
            ), None
        z = self.view.of_fit(fit)
        held = self.J
        new, step = self.step(
            z,
            self.view.gradient(z),
            max(self.longest, self.length) if self.settings.rule != "fixed" else self.floor,
        )
        outside = np.setdiff1d(np.flatnonzero(new.w), held)
        self.longest = min(self.longest, step)
        moves = outside.size and new.value < fit.value - self.noise
        return self.outcome(fit, Optimality.STATIONARY, step), new if moves else None

    # -------------------- variants

    def descend(self, x):
        """ "pg", "apg", "pg+", "apg+": Algorithms 1 and 2 of Alcantara & Lee."""
        s, previous, unchanged, best = self.settings, None, 0, None
        plus, accelerated = s.variant.endswith("+"), s.variant.startswith("apg")
        while self.maps < s.maps:
            self.poll()
            same = previous is not None and self.size_of(x, previous) <= self.k
            unchanged = unchanged + 1 if same else 0
            z = x
            if plus and unchanged >= s.patience:
                z = self.solved(x, previous)
                unchanged = unchanged if z is not x else 0
            elif accelerated and same:
                z = extrapolation.extrapolate(
                    self.view,
                    previous,
                    x,
                    number=self.maps,
                    step=self.length,
                    paper=s.paper_defaults,
                )
                self.watch("extrapolated", z.value)
            gradient = self.view.gradient(z)
            new, step = self.step(z, gradient)
            still = self.residual(z, gradient, new, step) < s.tol
            previous, x = x, new
            if still:
                best, ahead = self.settle(x)
                if ahead is None:
                    return best
                previous, x, unchanged = None, ahead, 0
        return self.outcome(self.refit(self.J, x), "max_iter", step)

    def solved(self, x, previous):
        """F lowered on the support that x shares with the point before: the restricted optimum, or
        with paper_defaults one semismooth Newton step; x itself where that fails.
        """
        J = np.flatnonzero((x.w != 0.0) | (previous.w != 0.0) | self.view.forced)
        if self.settings.paper_defaults and not self.view.boxed and not self.view.lambda1:
            new = extrapolation.newton_step(
                self.view, x, J, self.solver.model.problem.X.columns(self.view.index[J])
            )
        else:
            fit = self.refit(J, x)
            new = None if FitStatus.SEPARATED in fit.flags else self.view.of_fit(fit)
        if new is None or new.value > x.value + self.noise:
            return x
        self.watch("solved", new.value)
        return new

    def nesterov(self, x):
        """ "pg_ll": maps from Nesterov's point y and from x; the lower one is next, so F never
        rises. Two gradients per iteration.
        """
        s, view, previous, far, t_old, t = self.settings, self.view, x, x, 0.0, 1.0
        while self.maps < s.maps:
            self.poll()
            if not math.isfinite(far.value):  # nothing is extrapolated from where exp overflows
                far = x
            y = view.at(
                x.w + t_old / t * (far.w - x.w) + (t_old - 1.0) / t * (x.w - previous.w),
                x.b0 + t_old / t * (far.b0 - x.b0) + (t_old - 1.0) / t * (x.b0 - previous.b0),
            )
            y = y if math.isfinite(y.value) else x
            gradient = view.gradient(x)
            near, step = self.step(x, gradient)
            J_near = self.J
            with np.errstate(over="ignore", invalid="ignore"):  # where exp(eta) is huge at y
                J_far, far = self.mapped(
                    y, view.gradient(y), self.floor
                )  # y has more than k columns: no descent from it can be asked for
            still = self.residual(x, gradient, near, step) < s.tol
            previous, t_old, t = x, t, 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
            x, self.J = (far, J_far) if far.value <= near.value else (near, J_near)
            self.watch("chosen", x.value)
            if still:
                self.J, x = (J_near, near) if near.value <= x.value else (self.J, x)
                best, ahead = self.settle(x)
                if ahead is None:
                    return best
                previous = far = x = ahead
                t_old, t = 0.0, 1.0
        return self.outcome(self.refit(self.J, x), "max_iter", step)

    def pursue(self, x, start):
        """ "htp": refit on the support of each map until it repeats; by default a map counts only
        if its refit lowers F, and is halved until it does.
        """
        s, step, seen = self.settings, self.floor, set()
        full = start.support.size == self.k + int(self.view.forced.sum())
        here = best = start if full else None  # fit at x, and the best one
        held = np.sort(self.view.position(start.support)) if full else None
        while self.maps < s.maps:
            self.poll()
            gradient = self.view.gradient(x)
            step = self.first(x, gradient)
            for _ in range(HALVINGS):
                J, _values = self.mapped(x, gradient, step)
                self.maps += 1
                if held is not None and np.array_equal(J, held):
                    return self.outcome(
                        best, Optimality.STATIONARY if here is best else "converged", step
                    )
                fit = self.refit(J, x)
                lower = best is None or fit.value < best.value - self.noise
                if lower or s.rule == "fixed" or step <= self.floor:
                    break
                step = max(0.5 * step, self.floor)
            if FitStatus.SEPARATED in fit.flags or (
                not lower and (s.rule != "fixed" or J.tobytes() in seen)
            ):
                return self.outcome(
                    fit if lower else best,
                    "cycled" if s.rule == "fixed" else Optimality.STATIONARY,
                    step,
                )
            here, best, held = fit, fit if lower else best, J
            seen.add(J.tobytes())
            z = self.view.of_fit(fit)
            self.length, x = self._next_length(x, z), z
        return self.outcome(best, "max_iter", step)

    def _next_length(self, x, z):
        moved = self.view.distance(x, z)
        return (
            self.length
            if self.settings.rule != "backtracking" or not moved
            else self._clip(moved, self.view.along(x, z)[1])
        )


def largest_slopes(view, g, k):
    """Positions of the k open columns of largest slope, and the forced ones: the support of a map
    from zero.
    """
    return view.choose(-g, 0.0, k)[0]
