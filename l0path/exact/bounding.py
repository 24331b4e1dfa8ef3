"""Bounds of one solution without a search: rounds of better dual points and of safe rules,
which fix columns.
"""

import math
from dataclasses import replace

import numpy as np

from .. import relaxation
from ..core.status import GLOBAL_GAP, relative_gap
from ..relaxation.path_bounds import (
    copied,
    divided,
    standardized,
    starting_points,
    targets,
    unbounded_remedy,
    why_unbounded,
)
from ..relaxation.safe_rules import fix_cardinality, fix_penalized
from ..relaxation.tangent_bounds import tangent_bounds
from .leaps import searchable

MOST_READS = 60  # batched reads of X in a round, at most, where no search can follow
PATIENCE = 6  # reads in a row that gain less than half of GLOBAL_GAP end a round
BEFORE_TREE = 4  # reads in a round before a search of a tree, which solves its root quicker
BEFORE_LEAPS = 2  # the same before leaps and bounds
SPARSE_TANGENTS = 80  # nonzero coefficients of tangents of the first round, more with the size
BARE_READS = 3  # for the bound of the loss without any penalty
# of the shrinkage, for the bound of the loss alone
SHRINKAGE_SHARES = (0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
IN_BOX = "bound_in_box"  # flag of a row whose bound holds within an assumed box
TWICE = 2.0  # times the largest |b_j| of the incumbent: box="auto"


class Bounding:
    """Bounds and fixings of one solution so far. `problem` loses the columns that were fixed: those
    out are not usable any more, those in are forced, at the cost `member_cost`.

    lower: of the objective of every model; loss: of the mean loss of every best model; objective:
        of the best model known; into, out: masks of the units that are fixed; conditional: a box
        was assumed; reason: why there are no bounds, "" where there are.
    """

    def __init__(self, problem, solution, *, names, clock, box=None):
        self.whole = self.problem = problem
        self.solution, self.names, self.clock = solution, names, clock
        self.objective, self.penalized = solution.objective, not math.isnan(solution.lambda0)
        units = problem.unit_factor.size
        self.into, self.out = np.zeros(units, dtype=bool), np.zeros(units, dtype=bool)
        self.box, self.conditional = self.checked(box), False
        known = math.isfinite(solution.lower_bound) and IN_BOX not in solution.flags
        self.lower = solution.lower_bound if known else -math.inf
        self.loss, self.member_cost, self.reason = problem.floor - problem.noise, 0.0, ""
        self.last = None  # (dual, target) of the last round
        self.rounds = 0
        self.gram, self.split = relaxation.GramMatrix(), (None, None)  # problem and its diagonal

    @property
    def by_tangents(self):
        """Whether bounds are those of tangents: the loss couples rows, there are several responses
        or classes, or groups are chosen.
        """
        return not self.whole.by_rows or self.whole.groups is not None

    def tangents(self):
        """Bound the solution by the tangent of the loss at its fit."""
        problem = self.whole
        if self.box is not None:
            lower, upper = np.maximum(problem.lower, -self.box), np.minimum(problem.upper, self.box)
            problem, self.conditional = replace(problem, lower=lower, upper=upper), True
        bound = tangent_bounds(problem, [self.solution])[0]
        if math.isfinite(bound):
            self.lower = max(self.lower, min(float(bound), self.objective))
        elif not math.isfinite(self.lower):
            remedy = unbounded_remedy(problem)
            self.reason = f"without a ridge no tangent bounds a model: {remedy}"
            if problem.turn is not None:
                self.reason = "without a ridge no tangent bounds a model: fit with lambda2=1e-3"

    @property
    def gap(self):
        """Relative gap of the best model known."""
        return relative_gap(self.objective, self.lower)

    @property
    def target(self):
        """The size or lambda0 to be bounded, as `relaxation.improve` takes it."""
        if self.penalized:
            return targets([self.solution])
        return {"sizes": np.array([self.solution.k - int(self.into.sum())])}

    def checked(self, box):
        """The box as a number, "auto" filled in."""
        if box is None:
            return None
        if self.whole.turn is not None:
            raise ValueError(
                f"box={box!r} is not served for several responses or classes; leave it out, and "
                "fit with a ridge (lambda2=1e-3) for bounds"
            )
        largest = float(np.abs(standardized(self.whole, self.solution)[1]).max(initial=0.0))
        if isinstance(box, str) and box == "auto":
            return TWICE * largest or None
        if (
            isinstance(box, (bool, str))
            or not isinstance(box, (int, float, np.number))
            or not 0 < box < math.inf
        ):
            raise ValueError(
                f"box={box!r} must be a positive number, a bound on |b_j| in standardized units, "
                "or 'auto'"
            )
        if box < largest:
            raise ValueError(
                f"box={box!r} leaves out the solution itself, whose largest |b_j| is "
                f"{largest:.6g}; give a larger one, or 'auto'"
            )
        return float(box)

    def dual(self):
        """The dual problem of the remaining columns."""
        s = self.solution
        if self.split[0] is not self.problem:
            self.split = self.problem, divided(self.problem, self.gram)
        return relaxation.dual_problem(
            self.problem, s.lambda1, s.lambda2, box=self.box, split=self.split[1]
        )

    def sparse_dual(self):
        """The dual problem of the first round where a split for sparse coefficients saves time; its
        rules may leave few columns to the whole split. None elsewhere.
        """
        self.rounds += 1
        if self.penalized or self.rounds > 1 or not copied(self.problem):
            return None
        s, p = self.solution, self.problem
        most = SPARSE_TANGENTS + 2 * s.k
        d = relaxation.sparse_split(p, most + int(self.target["sizes"][0]) + p.forced.size)
        if d is None:
            return None
        dual = relaxation.dual_problem(p, s.lambda1, s.lambda2, box=self.box, split=d)
        return replace(dual, tangent_size=most)

    def round(self, worst=None):
        """One round; whether another one may do more. worst: the value (less the members' cost) of
        the worst model that is wanted, None where the best one alone is.
        """
        s, rough = self.solution, self.sparse_dual()
        dual = self.dual() if rough is None else rough
        self.conditional |= dual.conditional
        if not dual.bounded:
            why = why_unbounded(self.problem, self.names)
            self.reason = f"{why}; {unbounded_remedy(self.problem)}"
            return False
        fit, goal = standardized(self.problem, s), np.array([s.objective - self.member_cost])
        if dual.unbounded.any():
            reads, patience = MOST_READS, PATIENCE
        else:
            reads, patience = (BEFORE_LEAPS, 1) if not searchable(dual) else (BEFORE_TREE, 2)
            patience = patience if rough is None else 1
        target = self.target
        self.last = None if rough is not None else (dual, target)
        found = relaxation.improve(
            dual,
            start=relaxation.points_of_fits(dual, [fit])
            if rough is not None
            else starting_points(dual, [fit], s.lambda2, self.gram),
            goal=goal,
            coefficients=[fit],
            steps=reads,
            tol=0.5 * GLOBAL_GAP,
            patience=patience,
            poll=self.clock.over,
            **target,
        )
        # what was fixed cuts models that are worse than the incumbent, so this much is known of
        # them
        self.lower = max(self.lower, min(float(found.lower[0]) + self.member_cost, s.objective))
        self.loss = max(self.loss, self.least_loss(dual, found.points, float(goal[0]), target))
        # what no best model has is worse by more than what a gap counts as closed
        limit = goal + GLOBAL_GAP * abs(s.objective) if worst is None else np.array([worst])
        if self.penalized:
            values, minima = target["lambda0"], worst is None
            fixed = fix_penalized(dual, found.points, values, limit, minima=minima)
        else:
            fixed = fix_cardinality(dual, found.points, target["sizes"], limit)
        out, into = (rule[:, 0] for rule in fixed)
        return self.take(out, into) or rough is not None

    def least_loss(self, dual, points, goal, target):
        """The least mean loss of a best model: loss + r (rest) >= D_r, the bound at the share r of
        every penalty, and loss + rest <= goal give loss >= (D_r - r goal) / (1 - r).
        """
        s, best, split = self.solution, -math.inf, 0.0 if dual.split is None else 0.5 * dual.split
        for r in SHRINKAGE_SHARES:
            less = replace(
                dual, lambda1=r * s.lambda1, ridge=np.full(dual.ridge.size, r * s.lambda2) + split
            )
            if self.penalized:
                bound = relaxation.penalized_bounds(less, points, [r * s.lambda0])[0, 0]
            else:
                size = int(target["sizes"][0])
                bound = relaxation.cardinality_bounds(less, points, size)[size, 0]
            if math.isfinite(bound):
                best = max(best, (bound - r * goal) / (1.0 - r))
        return best

    def bare_loss(self):
        """The least mean loss again, from dual points of the loss alone, for a split diagonal:
        points of a penalized problem may say less of it than least squares on all columns does.
        """
        s = self.solution
        if self.last is None or self.gap <= GLOBAL_GAP or self.clock.over():
            return
        dual, target = self.last
        if dual.split is None or not (self.penalized or s.lambda1 or s.lambda2):
            return
        bare = replace(dual, lambda1=0.0, ridge=0.5 * dual.split)
        fit = standardized(dual.problem, s)
        target = {"lambda0": np.zeros(1)} if self.penalized else target
        found = relaxation.improve(
            bare,
            start=starting_points(bare, [fit], 0.0, self.gram),
            goal=np.array([s.loss]),
            coefficients=[fit],
            steps=BARE_READS,
            poll=self.clock.over,
            **target,
        )
        self.loss = max(self.loss, float(found.lower[0]))

    def take(self, out, into):
        """Let fixed columns leave the problem; whether there are any."""
        if not (out | into).any():
            return False
        self.out |= out
        self.into |= into
        p = self.problem
        self.problem = replace(
            p,
            usable=p.usable & ~out,
            forced=np.union1d(p.forced, np.flatnonzero(into)).astype(p.forced.dtype),
        )
        if self.penalized:
            self.member_cost = self.solution.lambda0 * float(self.whole.factor[self.into].sum())
        return True
