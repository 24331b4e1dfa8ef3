"""`Path.certify`, `Model.certify`: how far one solution can be from the best of its size or lambda0, by weak duality and safe rules in turn."""
import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from .. import duality
from ..bounding import CLOSED, REMEDY, bounded, divided, relative_gap, standardized, targets, why_unbounded
from ..paths import Model, Path
from ..problem import pose
from ..screening import fix_cardinality, fix_penalised
from ..working_set import Clock, deferred_interrupts
from .neighbours import fit_data

READS = 60  # batched reads of X in a round, at most
PATIENCE = 6  # reads in a row that gain less than half of CLOSED end a round
ROUNDS = 20  # rounds of bounding and fixing
SHARES = (0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)  # of the shrinkage, for the bound of the loss alone
IN_BOX = "bound_in_box"  # flag of a row whose bound holds within an assumed box
TWICE = 2.0  # times the largest |b_j| of the incumbent: box="auto"


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What is proved about one solution.

    model: the `Model`, of `.path`; incumbent: its objective; lower_bound: of the objective of every model of at most k unforced columns (on a lambda0 grid: of every model), NaN where nothing is known
    gap: (incumbent - lower_bound) / max(|incumbent|, 1e-12), inf where nothing is known; proven: the gap is at most 1e-6 and no box was assumed
    deviance_ratio_bound: no best model has a larger deviance ratio; best: [model]; nodes: 0, nothing is branched on in this version; seconds
    status: "optimal" (proven), "time_limit", "interrupted", "gap_not_closed"; assumptions: what holds only under an assumption, and what the statement is about, as text
    fixed_in, fixed_out: indices of the unforced columns that every best model has, and that none has; path: a new path with the row bounded
    """

    model: Model
    incumbent: float
    lower_bound: float
    gap: float
    proven: bool
    deviance_ratio_bound: float
    best: list
    nodes: int
    seconds: float
    status: str
    assumptions: list
    fixed_in: np.ndarray
    fixed_out: np.ndarray
    path: Path = field(repr=False)

    def __repr__(self):
        m = self.model
        what = f"lambda0 = {m.lambda0:.4g}, k = {m.k}" if math.isfinite(m.lambda0) else f"k = {m.k}"
        bound = f"bound {self.lower_bound:.6g}, gap {self.gap:.2g}" if math.isfinite(self.gap) else "no bound"
        names = [self.model.path.meta.names[j] for j in self.fixed_in]
        inside = f": {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}" if names else ""
        lines = [f"<l0path.Certificate: {what}, {'proven optimal' if self.proven else self.status.replace('_', ' ')}",
                 f"  objective {self.incumbent:.6g}, {bound}; deviance ratio {m.deviance_ratio:.4f}, no best model above {self.deviance_ratio_bound:.4f}",
                 f"  {len(names)} columns in every best model{inside}; {len(self.fixed_out)} in none; {self.seconds:.2g} s", *(f"  {text}" for text in self.assumptions)]
        return "\n".join(lines) + ">"


def certify(self, rule=None, *, time_limit=30, n_best=1, box=None, X=None, y=None, **selector):
    """`Certificate` of one solution: a lower bound of the objective of every model of its size (on a lambda0 grid: of every model), and the columns that every best model, or none, has.

    Rounds of better dual points, as many as gain something, and of safe rules that fix columns; fixed columns leave the problem, which tightens the next round's bounds. There is no branching in this
    version: a gap that the perspective relaxation leaves stays open, status "gap_not_closed", and `nodes` is 0. A branch-and-bound search comes in a later version.

    time_limit: seconds, None for no limit; a round in progress ends at its next read of X. n_best: 1; more need the search. X, y: those of the fit, for a path read from a file. A selector as in
    `Path.model`. `path` does not change: `certificate.path` is a copy with the row's lower_bound, gap and, where the gap is closed, optimality "global".
    box: M > 0, a bound on |b_j| in standardised units, for problems with lambda2 = 0 that have no other bound (a squared loss with more rows than columns has); "auto" takes twice the largest |b_j| of
    the solution (as Bertsimas, King & Mazumder, Annals of Statistics 44, 2016, do in practice). It is assumed, not proved: stated in `assumptions`, and nothing is called proven under it.

    Raises ValueError for n_best > 1 or a box that is not positive or leaves the solution out, TypeError and LookupError for selectors.
    """
    began = time.perf_counter()
    if isinstance(n_best, bool) or n_best != 1:
        raise ValueError(f"n_best={n_best!r} needs branch and bound, which is not in this version; leave n_best=1, or see path.alternatives for models that are nearly as good")
    if time_limit is not None and (isinstance(time_limit, bool) or not isinstance(time_limit, (int, float, np.number)) or not time_limit > 0):
        raise ValueError(f"time_limit={time_limit!r} must be a positive number of seconds, or None")
    if self.meta.groups is not None:
        raise ValueError("certify bounds models of k columns; the path has groups=, for whose numbers there are no bounds in this version: fit without groups")
    index, clock = self.index(rule, **selector), Clock(time_limit)
    with deferred_interrupts(clock):
        data = fit_data(self, X, y)
        search = _Search(pose(replace(data, excluded=data.excluded | self.meta.excluded)), self.solutions[index], box, clock)
        try:
            search.run()
        except KeyboardInterrupt:
            clock.pressed = True
    return search.certificate(self, index, box, time.perf_counter() - began)


class _Search:
    """Bounds and fixings of one solution so far. `problem` loses the columns that were fixed: those out are not usable any more, those in are forced, at the price `paid`."""

    def __init__(self, problem, solution, box, clock):
        self.whole = self.problem = problem
        self.solution, self.clock = solution, clock
        self.penalised = not math.isnan(solution.lambda0)
        self.into, self.out = np.zeros(problem.X.p, dtype=bool), np.zeros(problem.X.p, dtype=bool)
        self.box, self.conditional = self.checked(box), False
        self.lower = solution.lower_bound if math.isfinite(solution.lower_bound) and IN_BOX not in solution.flags else -math.inf
        self.loss, self.paid, self.reason = problem.floor - problem.noise, 0.0, ""

    def checked(self, box):
        """The box as a number, "auto" filled in."""
        if box is None:
            return None
        largest = float(np.abs(standardized(self.whole, self.solution)[1]).max(initial=0.0))
        if isinstance(box, str) and box == "auto":
            return TWICE * largest or None
        if isinstance(box, (bool, str)) or not isinstance(box, (int, float, np.number)) or not 0 < box < math.inf:
            raise ValueError(f"box={box!r} must be a positive number, a bound on |b_j| in standardised units, or 'auto'")
        if box < largest:
            raise ValueError(f"box={box!r} leaves out the solution itself, whose largest |b_j| is {largest:.6g}; give a larger one, or 'auto'")
        return float(box)

    def gap(self):
        return relative_gap(self.solution.objective, self.lower)

    def run(self):
        """Bound and fix in turn until the gap is closed, nothing is fixed any more or the time is up."""
        if self.solution.status == "separated":
            self.reason = "the columns separate the classes, so the model has no finite optimum; add a little shrinkage, lambda2=1e-3"
            return
        for _ in range(ROUNDS):
            if self.clock.over() or not self.round() or self.gap() <= CLOSED:
                return

    def dual(self):
        """The dual problem of what is left."""
        s = self.solution
        return duality.dual_problem(self.problem, s.lambda1, s.lambda2, box=self.box, split=divided(self.problem))

    def round(self):
        """One round; whether it fixed a column."""
        s, dual = self.solution, self.dual()
        self.conditional |= dual.conditional
        if not dual.bounded:
            self.reason = f"{why_unbounded(self.problem)}; {REMEDY}"
            return False
        fit, goal = standardized(self.problem, s), np.array([s.objective - self.paid])
        if self.penalised:
            target = targets([s])
        else:
            target = {"sizes": np.array([s.k - int(self.into.sum())])}
        found = duality.improve(dual, start=duality.points_of_fits(dual, [fit]), goal=goal, coefficients=[fit], steps=READS, tol=0.5 * CLOSED, patience=PATIENCE, poll=self.clock.over, **target)
        # what was fixed cuts models that are worse than the incumbent, so this much is known of them
        self.lower = max(self.lower, min(float(found.lower[0]) + self.paid, s.objective))
        self.loss = max(self.loss, self.least_loss(dual, found.points, float(goal[0]), target))
        fix = fix_penalised if self.penalised else fix_cardinality
        out, into = (rule[:, 0] for rule in fix(dual, found.points, *target.values(), goal))
        return self.take(out, into)

    def least_loss(self, dual, points, goal, target):
        """The least mean loss of a best model: loss + r (rest) >= D_r, the bound at the share r of every penalty, and loss + rest <= goal give loss >= (D_r - r goal) / (1 - r)."""
        s, best, split = self.solution, -math.inf, 0.0 if dual.split is None else 0.5 * dual.split
        for r in SHARES:
            less = replace(dual, lambda1=r * s.lambda1, ridge=np.full(dual.ridge.size, r * s.lambda2) + split)
            if self.penalised:
                bound = duality.penalised_bounds(less, points, [r * s.lambda0])[0, 0]
            else:
                size = int(target["sizes"][0])
                bound = duality.cardinality_bounds(less, points, size)[size, 0]
            if math.isfinite(bound):
                best = max(best, (bound - r * goal) / (1.0 - r))
        return best

    def take(self, out, into):
        """Let fixed columns leave the problem; whether there are any."""
        if not (out | into).any():
            return False
        self.out |= out
        self.into |= into
        p = self.problem
        self.problem = replace(p, usable=p.usable & ~out, forced=np.union1d(p.forced, np.flatnonzero(into)).astype(p.forced.dtype))
        if self.penalised:
            self.paid = self.solution.lambda0 * float(self.whole.factor[self.into].sum())
        return True

    def status(self):
        if not self.conditional and self.gap() <= CLOSED:
            return "optimal"
        return "interrupted" if self.clock.pressed else "time_limit" if self.clock.over() and not self.reason else "gap_not_closed"

    def assumptions(self, box):
        """What the certificate rests on, as text; an assumed box first."""
        out = []
        if self.conditional:
            how = f"{TWICE:g} times the largest |b_j| of this model" if isinstance(box, str) else "as given"
            out.append(f"assumes |b_j| <= {self.box:.6g} in standardised units ({how}): bound and fixed columns hold only for models within it")
        if not self.whole.usable.all():
            out.append(f"{int((~self.whole.usable).sum())} columns that the fit left out (excluded, constant, or equal to an earlier one) stay out")
        return out + ([f"no lower bound: {self.reason}"] if self.reason and not math.isfinite(self.lower) else [])

    def row(self):
        """The solution with its bound; one that rests on an assumed box is flagged, and closes nothing, and one from an earlier box is forgotten."""
        s = self.solution
        if self.conditional or IN_BOX in s.flags:
            s = s._replace(lower_bound=math.nan, flags=tuple(f for f in s.flags if f != IN_BOX))
        s = bounded(self.whole, s, self.lower)
        return s._replace(optimality=self.solution.optimality, flags=(*s.flags, IN_BOX)) if self.conditional else s

    def certificate(self, path, index, box, seconds):
        """The `Certificate`, with the path's copy."""
        s, texts, null = self.row(), self.assumptions(box), path.meta.null_loss
        solutions = [*path.solutions[:index], s, *path.solutions[index + 1 :]]
        notes = [*path.notes, *([f"row {index}: {texts[0]}"] if self.conditional else [])]
        model = Model(Path(path.meta, solutions, path.status, notes, path.rounds.to_dict("records"), path._source), index)
        known = math.isfinite(s.lower_bound)
        status = self.status()
        return Certificate(model=model, incumbent=s.objective, lower_bound=s.lower_bound, gap=relative_gap(s.objective, s.lower_bound) if known else math.inf, proven=status == "optimal",
                           deviance_ratio_bound=1.0 - min(self.loss, s.loss) / null if null > 0 else math.nan, best=[model], nodes=0, seconds=seconds, status=status, assumptions=texts,
                           fixed_in=np.flatnonzero(self.into), fixed_out=np.flatnonzero(self.out), path=model.path)
