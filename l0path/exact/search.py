"""How far one solution is from optimal: all models of its size where they are few, else rounds of
better dual points and of safe rules, then a branch-and-bound search of what they leave.
`Path.certify` and algorithm="exact" are made of it.
"""

import math
import time
from dataclasses import replace

import numpy as np

from .. import relaxation
from ..core.progress import Bar
from ..core.status import FitStatus, Optimality
from ..designs import Dense, Standardized
from ..problem.dependence import HIDDEN, dependent, described, from_rows
from ..problem.losses import Hinge
from ..problem.solution import in_user_units
from ..relaxation.path_bounds import (
    CLOSED,
    DENSE,
    REMEDY,
    bounded,
    divided,
    relative_gap,
    standardized,
    starting_points,
    targets,
    why_unbounded,
)
from ..relaxation.safe_rules import fix_cardinality, fix_penalised
from ..working_set.hinge import make_model
from ..working_set.ties import first_of_their_kind
from .group_enumeration import GroupEnumeration
from .hinge_tree import HingeTree
from .integrality_generation import IntegralityGeneration, generate
from .leaps import Leaps, searchable
from .pair_scan import PairScan, scannable
from .tree import BranchAndBound, Tree

READS = 60  # batched reads of X in a round, at most, where no search can follow
PATIENCE = 6  # reads in a row that gain less than half of CLOSED end a round
FAVOUR = 4.0  # of leaps and bounds, in time
PORTION = 0.1  # seconds of a search's first turn, where two take turns
LOOKS = 10  # reads in a round before a search
GLANCES = 2  # the same before leaps and bounds
ROUNDS = 20  # rounds of bounding and fixing
BARE_READS = 3  # for the bound of the loss without any penalty
SHARES = (
    0.0,
    0.25,
    0.5,
    0.7,
    0.8,
    0.9,
    0.95,
    0.98,
    0.99,
    0.999,
)  # of the shrinkage, for the bound of the loss alone
IN_BOX = "bound_in_box"  # flag of a row whose bound holds within an assumed box
TWICE = 2.0  # times the largest |b_j| of the incumbent: box="auto"


def compact(problem):
    """(the problem of the usable columns alone, their indices); the problem itself where a copy of
    them would take more than 256 MB.
    """
    J = np.flatnonzero(problem.usable)
    if problem.X.n * J.size > DENSE:
        return problem, np.arange(problem.X.p)
    X = Standardized(Dense(problem.X.columns(J)), np.zeros(J.size), np.ones(J.size))
    parts = {
        name: getattr(problem, name)[J] for name in ("factor", "lower", "upper", "square", "usable")
    }
    return replace(problem, X=X, forced=np.searchsorted(J, problem.forced), **parts), J


class Proof:
    """Bounds and fixings of one solution so far. `problem` loses the columns that were fixed: those
    out are not usable any more, those in are forced, at the price `paid`.
    """

    def __init__(
        self,
        problem,
        data,
        weights,
        solution,
        *,
        clock,
        box=None,
        settings=None,
        n_best=1,
        bar=None,
        known=None,
    ):
        self.whole = self.problem = problem
        self.data, self.weights, self.solution, self.clock = data, weights, solution, clock
        self.settings, self.n_best, self.bar = (
            BranchAndBound() if settings is None else settings,
            n_best,
            Bar(False, "") if bar is None else bar,
        )
        self.penalised = not math.isnan(solution.lambda0)
        self.known = known
        units = problem.X.p if problem.groups is None else len(problem.groups.labels)
        self.into, self.out = np.zeros(units, dtype=bool), np.zeros(units, dtype=bool)
        self.given, self.box, self.conditional = box, self.checked(box), False
        self.lower = (
            solution.lower_bound
            if math.isfinite(solution.lower_bound) and IN_BOX not in solution.flags
            else -math.inf
        )
        self.loss, self.paid, self.reason, self.last = problem.floor - problem.noise, 0.0, "", None
        self.obstacle = ""  # what kept a search from a proof, beside missing bounds
        self.nodes, self.ended, self.best, self.models = 0, "", [], []
        self.values, self.others, self.unique, self.searched = [], -math.inf, False, ""

    def checked(self, box):
        """The box as a number, "auto" filled in."""
        if box is None:
            return None
        largest = float(np.abs(standardized(self.whole, self.solution)[1]).max(initial=0.0))
        if isinstance(box, str) and box == "auto":
            return TWICE * largest or None
        if (
            isinstance(box, (bool, str))
            or not isinstance(box, (int, float, np.number))
            or not 0 < box < math.inf
        ):
            raise ValueError(
                f"box={box!r} must be a positive number, a bound on |b_j| in standardised units, "
                "or 'auto'"
            )
        if box < largest:
            raise ValueError(
                f"box={box!r} leaves out the solution itself, whose largest |b_j| is "
                f"{largest:.6g}; give a larger one, or 'auto'"
            )
        return float(box)

    def gap(self):
        return relative_gap(self.solution.objective, self.lower)

    def run(self):
        """Compute all models where they are few; else bound and fix in turn until the gap is
        closed, nothing is fixed any more or the time is up, and search what is left.
        """
        if self.solution.status == FitStatus.SEPARATED:
            self.reason = (
                "the columns separate the classes, so the model has no finite optimum; add a "
                "little shrinkage, lambda2=1e-3"
            )
            return
        if self.solution.left_out:
            self.reason = (
                "the search left out columns that separate the classes: over all columns the size "
                "need not have a finite optimum; add a little shrinkage, lambda2=1e-3"
            )
            return
        every = self.every_model()
        if every is None:
            self.bound_and_search()
        else:
            self.compare(every)
        self.conclude()

    def every_model(self):
        """A search that computes every model of the size, or None where they are too many."""
        s, problem = self.solution, self.problem
        model = make_model(problem)
        target = {"lambda0": s.lambda0} if self.penalised else {"size": s.k}
        if problem.groups is not None:

            def refit(support):
                model.grow(support)
                return model.refit(support, s.lambda1, s.lambda2)

            return GroupEnumeration(
                problem, refit=refit, n_best=self.n_best, known=self.known, **target
            )
        if (
            self.penalised
            or isinstance(self.settings, IntegralityGeneration)
            or not scannable(problem, size=s.k, lambda1=s.lambda1)
        ):
            return None
        return PairScan(
            problem,
            size=s.k,
            lambda2=s.lambda2,
            refit=lambda support: self.value(model, support),
            n_best=self.n_best,
        )

    def compare(self, search):
        """Let a search compute every model."""
        self.ended = search.run(self.poll([search]))
        self.searched = f"all {search.nodes} models compared"
        if self.ended == "stopped":
            self.searched = f"{search.nodes} models compared"
        elif self.ended == "too_close":
            names = ", ".join(self.data.names[j] for j in search.close)
            self.obstacle = (
                f"{names} are so close to each other that their fit is not accurate enough; "
                "nothing is called proven"
            )
        elif self.ended == "no_optimum":
            labels = self.whole.groups.labels
            names = ", ".join(str(labels[g]) for g in search.open_groups)
            self.obstacle = (
                f"the model of {names} has no finite optimum, or none that was reached, so the "
                "others cannot be compared with it; add a little shrinkage, lambda2=1e-3"
            )
        best = [(value, fit) for value, fit in search.best if fit is not None]
        self.take_over(np.arange(self.whole.X.p), search.nodes, search.lower, best)

    def conclude(self):
        """Fix every column where one best model is proved to be the only one: all other models are
        worse by more than what a gap counts as closed.
        """
        grouped = self.whole.groups
        if grouped is None:
            counted = self.whole.usable.copy()
            counted[self.whole.forced] = False
            member = np.isin(np.arange(counted.size), self.solution.support) & counted
        else:
            counted = grouped.choosable(self.whole.usable)
            member = np.isin(np.arange(counted.size), self.solution.groups) & counted
        copied = [] if self.data.copies is None else self.data.copies[:, 1]
        if member[copied].any():
            return  # a copy in the place of its column is as good
        if not self.penalised and self.into.sum() == self.solution.k:
            self.unique = self.status() == "optimal"
            self.out = counted & ~self.into  # no room for another column beside those
        if self.status() != "optimal" or not self.values or self.conditional:
            return
        best, p = self.values[0], self.whole
        null = 0.5 * float(p.weights @ p.y**2)  # with y = -1, 1 too: what a perfect fit is 0 beside
        slack = CLOSED * abs(best) + 1e-13 * null + p.noise
        if member.sum() == counted.sum() or not self.others > best + slack:
            return  # a set of all columns can hold some that nothing needs
        if self.penalised and self.solution.lambda0 == 0:
            return
        self.into, self.out, self.unique = member, counted & ~member, True

    def bound_and_search(self):
        """Rounds of bounds and of safe rules, then a search of what they leave."""
        for _ in range(ROUNDS):
            if self.clock.over() or not self.round() or self.gap() <= self.settings.gap:
                break
        self.bare_loss()
        if (self.gap() > self.settings.gap or self.n_best > 1) and not self.clock.over():
            self.search(self.dual())

    def dual(self):
        """The dual problem of what is left."""
        s = self.solution
        return relaxation.dual_problem(
            self.problem, s.lambda1, s.lambda2, box=self.box, split=divided(self.problem)
        )

    def round(self):
        """One round; whether it fixed a column."""
        s, dual = self.solution, self.dual()
        self.conditional |= dual.conditional
        if not dual.bounded:
            self.reason = f"{why_unbounded(self.problem, self.data.names)}; {REMEDY}"
            return False
        fit, goal = standardized(self.problem, s), np.array([s.objective - self.paid])
        reads, patience = (
            (READS, PATIENCE)
            if dual.open.any()
            else (GLANCES, 1)
            if not searchable(dual)
            else (LOOKS, 2)
        )
        if self.penalised:
            target = targets([s])
        else:
            target = {"sizes": np.array([s.k - int(self.into.sum())])}
        self.last = dual, target
        found = relaxation.improve(
            dual,
            start=starting_points(dual, [fit], s.lambda2),
            goal=goal,
            coefficients=[fit],
            steps=reads,
            tol=0.5 * CLOSED,
            patience=patience,
            poll=self.clock.over,
            **target,
        )
        # what was fixed cuts models that are worse than the incumbent, so this much is known of
        # them
        self.lower = max(self.lower, min(float(found.lower[0]) + self.paid, s.objective))
        self.loss = max(self.loss, self.least_loss(dual, found.points, float(goal[0]), target))
        fix = fix_penalised if self.penalised else fix_cardinality
        worst = goal if self.n_best == 1 else np.array([self.seeds()])
        out, into = (rule[:, 0] for rule in fix(dual, found.points, *target.values(), worst))
        return self.take(out, into)

    def least_loss(self, dual, points, goal, target):
        """The least mean loss of a best model: loss + r (rest) >= D_r, the bound at the share r of
        every penalty, and loss + rest <= goal give loss >= (D_r - r goal) / (1 - r).
        """
        s, best, split = self.solution, -math.inf, 0.0 if dual.split is None else 0.5 * dual.split
        for r in SHARES:
            less = replace(
                dual, lambda1=r * s.lambda1, ridge=np.full(dual.ridge.size, r * s.lambda2) + split
            )
            if self.penalised:
                bound = relaxation.penalised_bounds(less, points, [r * s.lambda0])[0, 0]
            else:
                size = int(target["sizes"][0])
                bound = relaxation.cardinality_bounds(less, points, size)[size, 0]
            if math.isfinite(bound):
                best = max(best, (bound - r * goal) / (1.0 - r))
        return best

    def bare_loss(self):
        """The least mean loss again, from dual points of the loss alone, for a split diagonal:
        points of a penalised problem may say less of it than least squares on all columns does.
        """
        s = self.solution
        if self.last is None or self.gap() <= CLOSED or self.clock.over():
            return
        dual, target = self.last
        if dual.split is None or not (self.penalised or s.lambda1 or s.lambda2):
            return
        bare, fit = (
            replace(dual, lambda1=0.0, ridge=0.5 * dual.split),
            standardized(dual.problem, s),
        )
        target = {"lambda0": np.zeros(1)} if self.penalised else target
        found = relaxation.improve(
            bare,
            start=starting_points(bare, [fit], 0.0),
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
        if self.penalised:
            self.paid = self.solution.lambda0 * float(self.whole.factor[self.into].sum())
        return True

    def search(self, dual):
        """Branch and bound on what is left of the problem."""
        if searchable(dual) and dual.open.any():
            self.ended = "columns without ridge and without a box leave a search no bounds"
            return
        s = self.solution
        if self.n_best > 1 and not self.models:
            self.seeds()
        problem, J = compact(self.problem)
        box = None if self.box is None else np.broadcast_to(self.box, (self.whole.X.p,))[J]
        dual = relaxation.dual_problem(
            problem, s.lambda1, s.lambda2, box=box, split=divided(problem)
        )
        model = make_model(replace(problem, lower=dual.lower, upper=dual.upper))
        model.grow(problem.forced)
        target = (
            {"size": s.k - int(self.into.sum())} if not self.penalised else {"lambda0": s.lambda0}
        )
        if isinstance(self.settings, IntegralityGeneration):
            self.generate(problem, J, box, target)
            return
        searches = self.searches(dual, model, np.flatnonzero(np.isin(J, s.support)), target, J)
        if not searches:
            self.reason = self.reason or self.obstacle
            return
        for one in searches:
            if self.n_best == 1:
                one.accept(s.objective - self.paid, None)
            else:
                for support in self.models:
                    if np.isin(support, J).all():  # else a column of it was fixed out meanwhile
                        one.offer(np.searchsorted(J, support))
        self.ended, one = self.take_turns(searches)
        if self.ended == "too_many":
            self.obstacle = self.too_dependent(problem, J)
        what = "leaps and bounds" if isinstance(one, Leaps) else "branch and bound"
        count = sum(other.nodes for other in searches)
        self.searched = f"{what}: {count} node{'' if count == 1 else 's'}"
        self.take_over(
            J,
            sum(other.nodes for other in searches),
            max(other.lower for other in searches),
            [(value, fit) for value, fit in one.best if fit is not None],
            one.cutoff if self.n_best > 1 else -math.inf,
        )

    def searches(self, dual, model, start, target, J):
        """The searches that can serve the dual: the tree, and for a squared loss with few columns
        leaps and bounds, which needs no ridge and is the faster the smaller it is.
        """
        problem, out, options = (
            dual.problem,
            [],
            {
                "settings": self.settings,
                "n_best": self.n_best,
                "refit": lambda support: self.value(model, support),
                "start": start,
                **target,
            },
        )
        hidden = self.hidden(problem)
        if hidden:
            self.lower = max(self.lower, self.whole.floor)
            self.obstacle = (
                "almost linear combinations, which searches do not tell from true ones; leave some "
                "out with exclude=, or fit with a ridge, lambda2=1e-3: "
                + described(hidden, [self.data.names[j] for j in J])
            )
            return out
        if not searchable(dual):
            try:
                out.append(Leaps(dual, **options))
            except ValueError:
                self.obstacle = self.too_dependent(problem, J)
        if not dual.open.any():
            out.append(
                (HingeTree if isinstance(dual.problem.loss, Hinge) else Tree)(dual, **options)
            )
        return out

    def hidden(self, problem):
        """[(column, [columns])] that rounding hides beside others, where no ridge sets them apart:
        see `problem.dependence`.
        """
        if 2.0 * self.solution.lambda2 > HIDDEN**2 * problem.square.max(initial=0.0):
            return []
        J = np.flatnonzero(problem.usable)
        return dependent(problem, (max(2e-14, problem.rounding(J)), HIDDEN))

    def too_dependent(self, problem, J):
        """Why leaps and bounds do not end: dependent columns of the problem of columns J."""
        found = dependent(problem)
        return (
            f"{len(found)} columns are linear combinations of earlier ones (or nearly so), too "
            "many for leaps and bounds; leave some out with exclude=, or fit with a ridge, "
            f"lambda2=1e-3: {described(found, [self.data.names[j] for j in J])}"
        )

    def take_turns(self, searches):
        """(how they ended, the one with the best models): searches have the word in turn, each time
        twice as long, until one has closed the gap or none may go on.
        """
        ended, portion, live, asked = "stopped", PORTION, list(searches), self.poll(searches)
        while live and not self.clock.over():
            for one in list(live):
                turn = (
                    time.perf_counter() + portion * (FAVOUR if isinstance(one, Leaps) else 1.0)
                    if len(live) > 1
                    else math.inf
                )
                ended = one.run(lambda turn=turn: asked() or time.perf_counter() > turn)
                if ended == "closed":
                    return ended, one
                if self.n_best == 1:
                    for other in searches:
                        other.accept(*one.best[0])
                if ended in ("node_limit", "too_many"):
                    live.remove(one)
                if self.clock.over():
                    break
            portion *= 2.0
        return ended, min(searches, key=lambda one: one.upper)

    def generate(self, problem, J, box, target):
        """Integrality generation in place of the tree."""
        s = self.solution
        fits = [np.searchsorted(J, s.support)] if np.isin(s.support, J).all() else []
        found = generate(
            problem,
            lambda1=s.lambda1,
            lambda2=s.lambda2,
            box=box,
            fits=fits,
            settings=self.settings,
            poll=self.poll([]),
            **target,
        )
        self.ended = found.status
        self.searched = f"integrality generation: {found.nodes} nodes"
        fits = [(math.nan, found.fit)] if found.fit is not None else []
        self.take_over(J, found.nodes, found.lower, fits, -math.inf)

    def take_over(self, J, nodes, lower, best, others=math.inf):
        """What a search of the compact problem with columns J has found: best [(value, fit)],
        ascending; others: no model that is not among them is below it.
        """
        self.nodes, self.values = nodes, [value + self.paid for value, _ in best]
        self.others = min([others + self.paid, *self.values[1:]])
        self.best = [fit._replace(support=J[fit.support]) for _, fit in best[: self.n_best]]
        self.lower = max(self.lower, lower + self.paid)
        if not (
            self.penalised or self.solution.lambda1 or self.solution.lambda2 or self.conditional
        ):
            self.loss = max(self.loss, self.lower)  # the objective is the loss
        self.improve()

    def value(self, model, support):
        """(what the search compares, the fit) of a support of the compact problem."""
        model.grow(support)
        s, problem = self.solution, model.problem
        fit = model.refit(support, s.lambda1, s.lambda2)
        if problem.quadratic and not s.lambda1 and not problem.boxed:
            fit = from_rows(model, fit, s.lambda2)
        price = (
            s.lambda0 * float(problem.factor[np.setdiff1d(support, problem.forced)].sum())
            if self.penalised
            else 0.0
        )
        return fit.value + price, fit

    def poll(self, searches):
        """Whether to stop, asked by the searches at every batch of nodes; shows their progress."""
        if self.bar.bar is None:
            return self.clock.over

        def poll():
            upper = min(
                (one.upper + self.paid for one in searches), default=self.solution.objective
            )
            lower = max((one.lower + self.paid for one in searches), default=self.lower)
            self.bar.say(
                f"k = {self.solution.k}, objective {upper:.6g}, bound {lower:.6g}, gap "
                f"{relative_gap(upper, lower):.2g}, {sum(one.nodes for one in searches)} nodes"
            )
            return self.clock.over()

        return poll

    def improve(self):
        """Take over the best model of the search, if it is better."""
        if self.best:
            fit = self.best[0]
            if self.conditional:  # a box that is assumed bounds what is proved, not the model
                model = make_model(self.whole)
                model.grow(fit.support)
                fit = model.refit(fit.support, self.solution.lambda1, self.solution.lambda2)
            shrunk = bool(self.solution.lambda1 or self.solution.lambda2)
            fit = first_of_their_kind(self.whole, fit, shrunk)
            s = self.in_units(fit, self.size(fit))
            if s.objective < self.solution.objective:
                self.solution = s._replace(lambda0_low=math.nan, lambda0_high=math.nan)
        self.lower = min(self.lower, self.solution.objective)

    def size(self, fit):
        """How many columns, or groups, of a fit are chosen."""
        if self.whole.groups is not None:
            return int((self.whole.groups.factor[fit.groups] > 0).sum())
        return fit.support.size - self.whole.forced.size

    def in_units(self, fit, k):
        """A fit of the search as a `Solution` in the place of the one that is proved."""
        s = self.solution
        return in_user_units(
            self.whole,
            self.data,
            self.weights,
            fit,
            number=s.slice,
            k=k if self.penalised else s.k,
            lambda0=s.lambda0,
            lambda1=s.lambda1,
            lambda2=s.lambda2,
            optimality=Optimality.STATIONARY,
        )

    def seeds(self):
        """The value (less what is paid) of the n_best-th of some models around the solution,
        infinite where there are fewer; they are kept in `models`.
        """
        s, problem = self.solution, self.problem
        model = make_model(problem)
        loose = np.setdiff1d(s.support, problem.forced)
        others = np.setdiff1d(np.flatnonzero(problem.usable), s.support)
        gains = np.abs(problem.X.correlate(problem.weights * problem.y))[others]
        others = others[np.argsort(-gains, kind="stable")[: 2 * self.n_best]]
        supports = [
            s.support,
            *(np.sort(np.append(s.support[s.support != i], j)) for i in loose for j in others),
        ]
        values = []
        for support in supports:
            values.append(self.value(model, support)[0])
        order = np.argsort(values, kind="stable")[: self.n_best]
        self.models = [supports[i] for i in order]
        return values[order[-1]] if order.size == self.n_best else math.inf

    def status(self):
        """ "optimal", or what ended the search: "time_limit", "node_limit", "interrupted",
        "gap_not_closed".
        """
        if not self.conditional and (
            self.ended == "closed" or (self.n_best == 1 and self.gap() <= self.settings.gap)
        ):
            return "optimal"
        if self.clock.pressed:
            return "interrupted"
        return (
            "node_limit"
            if self.ended == "node_limit"
            else "time_limit"
            if self.clock.over() and (self.searched or not self.reason)
            else "gap_not_closed"
        )

    def assumptions(self):
        """What the certificate rests on, as text; an assumed box first."""
        out = []
        if self.conditional:
            how = (
                f"{TWICE:g} times the largest |b_j| of this model"
                if isinstance(self.given, str)
                else "as given"
            )
            out.append(
                f"assumes |b_j| <= {self.box:.6g} in standardised units ({how}): bound and fixed "
                "columns hold only for models within it"
            )
        copies = 0 if self.data.copies is None else len(self.data.copies)
        if (out_of_it := int((~self.whole.usable).sum()) - copies) > 0:
            out.append(f"{out_of_it} columns that are excluded or constant stay out")
        if copies:
            out.append(
                f"{copies} columns equal to another one are left out, which changes no optimum; "
                "each can stand in for the one it equals"
            )
        if (
            not self.reason
            and not self.obstacle
            and self.ended not in ("", "closed", "stopped", "stalled", "node_limit")
        ):
            out.append(f"nothing was branched on: {self.ended}")
        if self.reason and not math.isfinite(self.lower):
            out.append(f"no lower bound: {self.reason}")
        if self.obstacle and not self.reason and self.status() != "optimal":
            out.append(f"no proof: {self.obstacle}")
        return out

    def row(self):
        """The solution with its bound; one that rests on an assumed box is flagged, and closes
        nothing, and one from an earlier box is forgotten.
        """
        s = self.solution
        if self.conditional or IN_BOX in s.flags:
            s = s._replace(lower_bound=math.nan, flags=tuple(f for f in s.flags if f != IN_BOX))
        s = bounded(self.whole, s, self.lower)
        return (
            s._replace(
                optimality=Optimality.STATIONARY
                if s.optimality == Optimality.GLOBAL
                else s.optimality,
                flags=(*s.flags, IN_BOX),
            )
            if self.conditional
            else s
        )
