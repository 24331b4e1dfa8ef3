"""Projected gradient methods for k-sparse problems, plain and accelerated.

    minimize over (b0, w):  F = sum_i w_i loss(y_i, o_i + b0 + z_i'w) + lambda1 ||w||_1
                                + lambda2 ||w||^2,   at most k unforced w_j nonzero,
                            lower <= w <= upper                                               (K)
    T(z) = best k of  clip(soft(z - step grad F(z), step lambda1))                            (M)

A fixed point of (M) is *stationary*; the larger the step, the fewer there are, so by default steps
are as long as the descent of F allows. The intercept and forced columns follow the gradient and are
always kept. Sources: Alcantara & Lee, Accelerated Projected Gradient Algorithms for Sparsity
Constrained Optimization Problems, equations (5) map, (12)-(20) extrapolation, (24) residual,
Algorithms 1 and 2; Blumensath & Davies (2010), normalized steps; Foucart (SIAM J. Numer. Anal. 49,
2011), hard thresholding pursuit; Li & Lin (NIPS 2015), monotone APG ("pg_ll").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arguments import whole_fields
from ..errors import check_tol
from ..problem.losses import smoothness
from ..working_set.starts import slopes_at
from .gradient_run import GradientRun
from .operators import SolverTraits, all_columns, working_columns

VARIANTS = ("pg", "apg", "pg+", "apg+", "pg_ll", "htp")
STEP_RULES = ("fixed", "backtracking", "normalized")


@dataclass(frozen=True, kw_only=True)
class ProjectedGradient:
    """Settings of the projected gradient algorithms, which solve every size.

    Parameters
    ----------
    variant : str, default "pg"
        "pg"; "apg" extrapolates along moves that keep the support; "pg+" and "apg+" solve the
        problem on a support that has stayed the same; "pg_ll" takes Nesterov's points, made
        monotone; "htp" refits after every gradient step.
    paper_defaults : bool, default False
        Whether to take constants, step and Newton steps of the papers, on all p features, from
        zero, where a later size starts from the one before. Else scale-free rules on the working
        columns, from a refitted start to a refitted fixed point.
    step : str, optional
        "fixed" 0.99 / L; "backtracking" from the Barzilai-Borwein length; "normalized" ||g_J||^2 /
        g_J'Hg_J, backtracked. None means "fixed" with paper_defaults, else "backtracking".
    identify : int, optional
        The number of gradient steps without a change of the support, after which the problem is
        solved on it. None means 2, and 5 with paper_defaults.
    tol : float, default 1e-6
        The residual, equation (24) of the source, at which the projected gradient steps have
        converged.
    max_iter : int, optional
        The largest number of projected gradient steps for one size. None means 1000, and 10 000
        with paper_defaults.
    polish : bool, default False
        Whether swaps with refit (local search) follow at every size, checked over all features, and
        then one more gradient step.
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
        if self.step is not None and self.step not in STEP_RULES:
            raise ValueError(
                f"step={self.step!r} is not known; choose one of {', '.join(STEP_RULES)}, or None"
            )
        check_tol(self.tol)
        whole_fields(self, identify=1, max_iter=1)

    @property
    def rule(self) -> str:
        """The step rule in force."""
        return self.step or ("fixed" if self.paper_defaults else "backtracking")

    @property
    def maps(self) -> int:
        """The largest number of projected gradient steps for one size."""
        return self.max_iter or (10_000 if self.paper_defaults else 1000)

    @property
    def patience(self) -> int:
        """The number of gradient steps without a change of the support, after which it is solved
        on.
        """
        return self.identify or (5 if self.paper_defaults else 2)

    def check(self, problem: Any, lambda1: float, lambda2: float) -> None:
        """Raise ValueError, with the remedy, for problems that the method does not solve."""
        if self.rule == "fixed" and not math.isfinite(smoothness(problem.loss)):
            raise ValueError(
                "step='fixed' needs a loss of bounded curvature, which the Poisson loss does not "
                "have; use ProjectedGradient(step='backtracking')"
            )

    def solver(self, model: Any, lambda1: float, lambda2: float, scale: float) -> Any:
        """The solver of single sizes, on the working columns."""
        return GradientSolver(model, lambda1, lambda2, self, scale)


class GradientSolver:
    """Sizes of one (lambda1, lambda2) by projected gradients, on the working columns, or on all p
    of them with paper_defaults.
    """

    def __init__(self, model, lambda1, lambda2, settings, scale):
        settings.check(model.problem, lambda1, lambda2)
        self.model = model
        self.lambda1 = float(lambda1)
        self.lambda2 = float(lambda2)
        self.settings = settings
        self.scale = scale
        self.traits = SolverTraits(settings.paper_defaults, both_ways=True, max_entering=20)
        self.width, self.view, self.bounds = -1, None, {}

    def refresh(self):
        """Renew the view when W has grown."""
        width = 0 if self.traits.all_columns else self.model.width
        if self.width != width:
            self.width = width
            make = all_columns if self.traits.all_columns else working_columns
            source = self.model.problem if self.traits.all_columns else self.model
            curvature = 1.0
            if not math.isfinite(smoothness(self.model.problem.loss)):
                curvature = float(
                    self.model.derivatives(self.model.null(self.lambda1, self.lambda2))[2].sum()
                )
            self.view = make(source, self.lambda1, self.lambda2).measure(curvature)

    def solve(self, k, start, poll=lambda: None, watch=None):
        """SizeOutcome of size k from a Fit; watch(name, F) hears of every point: "extrapolated",
        "solved", "map", "refit", and of every residual (24) by watch("residual", value).
        """
        self.refresh()
        if k > int(self.view.selectable.sum()):
            raise ValueError(
                f"k={k} exceeds the {int(self.view.selectable.sum())} features that can be chosen"
            )
        run = GradientRun(self, k, poll, watch or (lambda name, value: None))
        x = self.view.of_fit(start)
        if np.count_nonzero(x.w[self.view.selectable]) > k:
            J, _ = self.view.choose(np.where(self.view.selectable, x.w, 0.0), 0.0, k)
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

    def scores(self, outcome, correlation, columns):
        """The gains of columns (slice) outside the support in a map of the outcome's step at its
        fit; correlation (m,) = -Z' slopes.
        """
        p, raw = self.model.problem, outcome.step * correlation
        u = np.clip(
            np.copysign(np.maximum(np.abs(raw) - outcome.step * self.lambda1, 0.0), raw),
            p.lower[columns],
            p.upper[columns],
        )
        return raw * u - 0.5 * u * u - outcome.step * self.lambda1 * np.abs(u)

    def threshold(self, outcome):
        """The gain above which a column outside enters: the least gain among the unforced support,
        b^2 / 2 where its slope is zero (more at a bound).
        """
        fit = outcome.fit
        b = fit.b[~np.isin(fit.support, self.model.problem.forced)]
        return float((0.5 * b * b).min(initial=np.inf))

    def certified(self, outcome, outside):
        """An empty result: the map over all columns has said everything."""
        return outcome

    def closed(self, k, fit):
        """False: there is no bound, and so no proof."""
        return False

    def profile(self):
        """No numbers beside those of the reads."""
        return {}
