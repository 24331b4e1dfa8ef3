"""One size by projected gradients: the loops of the variants, and the moves that they share. The
map (M) and what is solved are stated in `projected_gradient`.
"""

import math

import numpy as np

from ..core.status import FitStatus, Optimality
from . import extrapolation
from .operators import SizeOutcome

LONGEST_STEP = 1e4  # steps are at most this many times 0.99 / L
DECREASE = 1e-3  # share of ||w - z||^2 / (2 step) by which a step must lower F
HALVINGS = 60


class GradientRun:
    """One size: the loop's state, and the moves that all variants share."""

    def __init__(self, solver, k, poll, watch):
        self.solver = solver
        self.view = solver.view
        self.settings = solver.settings
        self.k = k
        self.poll = poll
        self.watch = watch
        self.floor = (0.999 if self.settings.paper_defaults else 0.99) / self.view.lipschitz
        self.noise = 1e-14 * solver.scale
        # the next step
        self.length = 10.0 * self.floor if self.settings.rule != "fixed" else self.floor
        self.longest, self.maps, self.J = self.floor, 0, None

    def size_of(self, *points):
        """Unforced columns that any of the points uses."""
        used = np.zeros(self.view.m, dtype=bool)
        for x in points:
            used |= x.w != 0.0
        return int(np.count_nonzero(used & self.view.selectable))

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
        if self.settings.rule != "normalized":
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
        longest = LONGEST_STEP * self.floor
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
        if solver.traits.all_columns:
            model.grow(support)
        fit = model.refit(support, solver.lambda1, solver.lambda2, (x.w[J], x.b0))
        self.watch("refit", fit.value)
        return fit

    def outcome(self, fit, status, step):
        status = FitStatus.SEPARATED if FitStatus.SEPARATED in fit.flags else status
        return SizeOutcome(fit, self.maps, status, step)

    def refit_and_map(self, x):
        """Refit on the support of x and map once more with the longest step that F allows:
        (SizeOutcome, None) if that stays, else (SizeOutcome, where it went).
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
                best, ahead = self.refit_and_map(x)
                if ahead is None:
                    return best
                previous, x, unchanged = None, ahead, 0
        return self.outcome(self.refit(self.J, x), FitStatus.MAX_ITER, step)

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
                best, ahead = self.refit_and_map(x)
                if ahead is None:
                    return best
                previous = far = x = ahead
                t_old, t = 0.0, 1.0
        return self.outcome(self.refit(self.J, x), FitStatus.MAX_ITER, step)

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
        return self.outcome(best, FitStatus.MAX_ITER, step)

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
