"""Search for the distance of one solution from the optimum: all models of its size where they are
few, else rounds of better dual points and of safe rules (`bounding`), then searches of the columns
that they leave. `Path.certify` and algorithm="exact" are made of it.
"""

import math
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from .. import relaxation
from ..core.progress import Bar
from ..core.status import GLOBAL_GAP, End, FitStatus, SearchEnd, relative_gap
from ..problem.dependence import from_rows, nearly_dependent
from ..problem.problem import row_weights
from ..working_set.model import make_model
from ..working_set.ties import first_of_their_kind
from .all_sizes.choice import BestOfOne, why_not_served
from .all_sizes.enumeration import models_of
from .bounding import Bounding
from .contest import COPIED_WHOLE, BranchAndBound, around, compact
from .fit_enumeration import MOST_FITS, FitEnumeration, enumerable, spares_one
from .hinge_tree import tree_of
from .integrality_generation import IntegralityGeneration, generate
from .leaps import Leaps, searchable
from .pair_scan import PairScan, scannable
from .result import (
    NO_BOUNDS,
    WHY_ENDED,
    CertificateResult,
    assumptions,
    hidden_within_box,
    in_place_of,
    too_dependent,
    why_hidden,
    why_no_optimum,
    why_not_compared,
)
from .tree import Tree

# in time, of the search that gets along better with the number of rows: leaps and bounds, trees
FAVORED_LEAPS, FAVORED_TREE = 4.0, 16.0
FIRST_TURN = 0.1  # seconds of a search's first turn, where two take turns
TIMED_FITS = 8  # by which the time is told that all of them take
MOST_ROUNDS = 20  # rounds of bounding and fixing


class CertificateSearch:
    """The search for a proof of one solution (`paths.Solution`) of a problem. group_fits: fits of
    sets of groups, which searches with the same shrinkage share.
    """

    def __init__(
        self,
        problem,
        data,
        solution,
        *,
        clock,
        box=None,
        settings=None,
        n_best=1,
        bar=None,
        group_fits=None,
    ):
        self.data, self.solution, self.clock = data, solution, clock
        self.settings = BranchAndBound() if settings is None else settings
        self.n_best, self.bar = n_best, Bar(False, "") if bar is None else bar
        self.group_fits, self.given = group_fits, box
        self.bounds = Bounding(problem, solution, names=data.names, clock=clock, box=box)
        self.fit = None
        # what kept a search from a proof, beside missing bounds; why there was none
        self.obstacle = self.unsearched = ""
        self.nodes, self.ended, self.searched, self.best, self.models = 0, None, "", [], []
        self.values, self.others, self.unique = [], -math.inf, False

    @property
    def result(self):
        """`CertificateResult`, at any time."""
        b = self.bounds
        return CertificateResult(
            self.fit,
            b.lower,
            b.loss,
            self.best,
            self.nodes,
            self.status(),
            self.unique,
            b.conditional,
            assumptions(self),
            b.into,
            b.out,
            self.searched,
        )

    def run(self):
        """Compute all models where they are few; else bound and fix in turn until the gap is
        closed, nothing is fixed any more or the time is up, and search what is left.
        """
        every = self.every_model()
        if every is not None:
            self.compare(every)
        elif not self.nested_search():
            apart = why_no_optimum(self.bounds.problem.loss, self.solution)
            if apart:
                self.bounds.reason = apart
            else:
                with self.time_left_for_fits():
                    self.bound_and_search()
            self.compare_fits()
        self.conclude()
        return self.result

    def every_model(self):
        """A search that computes every model of the size, or None where they are too many."""
        s, problem = self.solution, self.bounds.problem
        if problem.groups is not None:
            every = enumerable(problem.groups, problem.usable)
            return self.all_fits(self.group_fits) if every else None
        if (
            self.bounds.penalized
            or isinstance(self.settings, IntegralityGeneration)
            or not scannable(problem, size=s.k, lambda1=s.lambda1)
        ):
            return None
        model = make_model(problem)
        return PairScan(
            problem,
            size=s.k,
            lambda2=s.lambda2,
            refit=lambda support: self.value(model, support),
            n_best=self.n_best,
        )

    def all_fits(self, fits=None):
        """A search that refits every set of units; fits: of earlier ones, see `FitEnumeration`."""
        problem = self.bounds.problem
        model = make_model(problem)
        if not problem.quadratic and problem.X.n * int(problem.usable.sum()) <= COPIED_WHOLE:
            model.grow(np.flatnonzero(problem.usable))
            if model.negligible_ridge(self.solution.lambda2):
                model.find_near()  # which are fitted on an orthogonal basis
        return FitEnumeration(
            problem,
            refit=lambda support: self.fit_on(model, support),
            n_best=self.n_best,
            fits=fits,
            **self.target,
        )

    def fits_to_compare(self):
        """A search that refits every model of columns, None where they are too many, or a squared
        loss has what takes its place.
        """
        bounds = self.bounds
        if bounds.whole.groups is not None or not isinstance(self.settings, BranchAndBound):
            return None
        if self.given is not None or self.settings.node_limit is not None:
            return None
        count = bounds.problem.units_to_choose
        sizes = range(count + 1) if bounds.penalized else [self.target["size"]]
        few = min(sizes) >= 0 and models_of(count, sizes) <= MOST_FITS
        return self.all_fits() if few else None

    @contextmanager
    def time_left_for_fits(self):
        """Let what comes before `compare_fits` take half of the time, where the other half would do
        for this one, by the time that some fits take.
        """
        clock, every = self.clock, None
        if clock.limit is not None and not clock.over():
            every = self.fits_to_compare()
        if every is not None:
            began, tried = time.perf_counter(), min(TIMED_FITS, every.total)
            ended = every.run(lambda: every.nodes >= tried or clock.over())
            took = (time.perf_counter() - began) / max(every.nodes, 1)
            if ended == SearchEnd.STOPPED and took * every.total < 0.5 * clock.left():
                self.clock = self.bounds.clock = clock.within(0.5 * clock.left())
        try:
            yield
        finally:
            self.clock = self.bounds.clock = clock

    def compare_fits(self):
        """Refit every model, where they are few enough, and nothing else has proven one."""
        if self.status() == "optimal" or self.clock.over():
            return
        every = self.fits_to_compare()
        if every is not None:
            self.compare(every)
        elif self.bounds.whole.groups is None:
            self.obstacle = self.obstacle or (
                f"there are more than {MOST_FITS:.0e} models, too many to compare all of them"
            )

    def nested_search(self):
        """`search_all_sizes`, which leaves time for fits of all models where these are slow."""
        if self.bounds.problem.quadratic:
            return self.search_all_sizes()
        with self.time_left_for_fits():
            return self.search_all_sizes()

    def search_all_sizes(self):
        """Search as for all sizes; whether that has ended. What it knows is kept in any case."""
        if self.given is not None or not isinstance(self.settings, BranchAndBound):
            return False
        whole, limit = self.bounds.whole, self.settings.node_limit
        if self.clock.over() or not (limit is None or self.bounds.by_tangents):
            return False
        one = BestOfOne(whole, self.solution, self.n_best, self.clock, limit)
        if one.ended is None:
            if self.bounds.by_tangents:
                self.obstacle = why_not_served(whole, self.solution, self.data.names)
            return False
        self.searched = one.searched
        self.take_over(np.arange(whole.X.p), one.nodes, one.lower, one.best, one.others)
        self.bounds.loss = max(self.bounds.loss, one.loss)
        self.obstacle = WHY_ENDED.get(one.ended, self.obstacle)
        self.ended = one.ended if one.ended in (SearchEnd.CLOSED, SearchEnd.NODE_LIMIT) else None
        return one.ended == SearchEnd.CLOSED

    def compare(self, search):
        """Let a search compute every model."""
        self.ended = search.run(self.poll([search]))
        every = "" if self.ended == SearchEnd.STOPPED else "all "
        self.searched = f"{every}{search.nodes} models compared"
        labels = getattr(self.bounds.whole.groups, "labels", self.data.names)
        self.obstacle = why_not_compared(search, self.ended, self.data.names, labels)
        best = [one for one in search.best if one[1] is not None]
        # a model whose fit was not reached may be as good as the best one
        others = math.inf if self.ended == SearchEnd.CLOSED else search.lower
        self.take_over(np.arange(self.bounds.whole.X.p), search.nodes, search.lower, best, others)

    def conclude(self):
        """Fix every column where one best model is proved to be the only one: all other models are
        worse by more than what a gap counts as closed.
        """
        best = self.solution if self.fit is None else self.fit
        counted = self.bounds.whole.free_units
        member = np.isin(np.arange(counted.size), best.units) & counted
        copied = [] if self.data.copies is None else self.data.copies[:, 1]
        if member[copied].any():
            return  # a copy in the place of its column is as good
        if not self.bounds.penalized and self.bounds.into.sum() == self.solution.k:
            self.unique = self.status() == "optimal"
            self.bounds.out = counted & ~self.bounds.into  # no room for another column beside those
        if self.status() != "optimal" or not self.values or self.bounds.conditional:
            return
        least, p = self.values[0], self.bounds.whole
        # with y = -1, 1 too: what a perfect fit is 0 beside
        null = 0.5 * float((p.weights @ p.y**2).sum())
        slack = GLOBAL_GAP * abs(least) + p.left_of_perfect(null)
        if member.sum() == counted.sum() or not self.others > least + slack:
            return  # a set of all columns can hold some that nothing needs
        # in the units of X coefficients may lose digits of what the search has compared
        given = self.solution
        if self.fit is not None:
            given = in_place_of(given, self.fit, p, self.data, row_weights(self.data))
        if not self.others > given.objective + slack:
            return
        if self.solution.lambda0 == 0 or spares_one(p, member, least + slack, self.value):
            return
        self.bounds.into, self.bounds.out, self.unique = member, counted & ~member, True

    def bound_and_search(self):
        """Rounds of bounds and of safe rules, then a search of the remaining problem."""
        bounds = self.bounds
        if bounds.by_tangents:
            return bounds.tangents()
        for _ in range(MOST_ROUNDS):
            if self.clock.over():
                break
            worst = None if self.n_best == 1 else self.seeds()
            if not bounds.round(worst) or bounds.gap <= self.settings.gap:
                break
        bounds.bare_loss()
        if (bounds.gap > self.settings.gap or self.n_best > 1) and not self.clock.over():
            self.search(bounds.dual())

    def search(self, dual):
        """Search the remaining problem."""
        bounds, s = self.bounds, self.solution
        if searchable(dual) and dual.unbounded.any():
            self.unsearched = NO_BOUNDS
            return
        if self.n_best > 1 and not self.models:
            self.seeds()
        problem, J = compact(bounds.problem)
        box = None if bounds.box is None else np.full(J.size, bounds.box)
        diagonal = None if dual.split is None else dual.split[J]
        dual = relaxation.dual_problem(problem, s.lambda1, s.lambda2, box=box, split=diagonal)
        if isinstance(self.settings, IntegralityGeneration):
            self.generate(problem, J, box)
            return
        searches = self.searches(dual, np.flatnonzero(np.isin(J, s.support)), J)
        if not searches:
            bounds.reason = bounds.reason or self.obstacle
            return
        self.offer_supports(searches, J)
        self.ended, one = self.take_turns(searches)
        if self.ended == SearchEnd.TOO_MANY:
            self.obstacle = too_dependent(problem, self.names(J))
        what = "leaps and bounds" if isinstance(one, Leaps) else "branch and bound"
        count = sum(other.nodes for other in searches)
        self.searched = f"{what}: {count} node{'' if count == 1 else 's'}"
        self.take_over(
            J,
            count,
            max(other.lower for other in searches),
            [(value, fit) for value, fit in one.best if fit is not None],
            one.cutoff if self.n_best > 1 else -math.inf,
        )

    def offer_supports(self, searches, J):
        """Start searches of the columns J from the models that are known."""
        for one in searches:
            if self.n_best == 1:
                one.accept(self.solution.objective - self.bounds.member_cost, None)
            else:
                for support in self.models:
                    if np.isin(support, J).all():  # else a column of it was fixed out meanwhile
                        one.offer(np.searchsorted(J, support))

    @property
    def target(self):
        """The size or lambda0 of the problem without its fixed columns."""
        if self.bounds.penalized:
            return {"lambda0": self.solution.lambda0}
        return {"size": self.solution.k - int(self.bounds.into.sum())}

    def searches(self, dual, start, J):
        """The searches that can serve the dual: the tree, and for a squared loss with few columns
        leaps and bounds, which needs no ridge and is the faster the smaller it is.
        """
        problem, out = dual.problem, []
        model = make_model(replace(problem, lower=dual.lower, upper=dual.upper))
        model.grow(problem.forced)
        options = {
            "settings": self.settings,
            "n_best": self.n_best,
            "refit": lambda support: self.value(model, support),
            "start": start,
            **self.target,
        }
        known = self.bounds.objective - self.bounds.member_cost
        found = hidden_within_box(dual, self.solution.lambda2, known, **self.target)
        if found:
            self.bounds.lower = max(self.bounds.lower, self.bounds.whole.floor)
            self.obstacle = why_hidden(found, self.names(J))
            return out
        if not searchable(dual):
            try:
                out.append(Leaps(dual, **options))
            except ValueError:
                self.obstacle = too_dependent(problem, self.names(J))
        if not dual.unbounded.any():
            out.append(tree_of(dual, **options))
        return out

    def take_turns(self, searches):
        """(how they ended, the one with the best models): searches have the word in turn, each time
        twice as long, until one has closed the gap or none may go on.
        """
        ended, turn = SearchEnd.STOPPED, FIRST_TURN
        live, asked, problem = list(searches), self.poll(searches), self.bounds.problem
        # the fit on all columns, the bound of leaps, says little where rows are fewer
        tall = problem.X.n > problem.usable.sum()
        favored, more = (Leaps, FAVORED_LEAPS) if tall else (Tree, FAVORED_TREE)
        while live and not self.clock.over():
            for one in list(live):
                end = math.inf
                if len(live) > 1:
                    share = more if isinstance(one, favored) else 1.0
                    end = time.perf_counter() + turn * share
                ended = one.run(lambda end=end: asked() or time.perf_counter() > end)
                if ended == SearchEnd.CLOSED:
                    return ended, one
                if self.n_best == 1:
                    for other in searches:
                        other.accept(*one.best[0])
                if ended in (SearchEnd.NODE_LIMIT, SearchEnd.TOO_MANY):
                    live.remove(one)
                if self.clock.over():
                    break
            turn *= 2.0
        return ended, min(searches, key=lambda one: one.upper)

    def generate(self, problem, J, box):
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
            **self.target,
        )
        self.ended = found.status
        self.searched = f"integrality generation: {found.nodes} nodes"
        fits = [(found.upper, found.fit)] if found.fit is not None else []
        self.take_over(J, found.nodes, found.lower, fits, -math.inf)

    def take_over(self, J, nodes, lower, best, others=math.inf):
        """Take over the result of a search of the compact problem with columns J: best [(value,
        fit)], ascending; others: no model that is not among them is below it.
        """
        self.nodes, self.values = nodes, [value + self.bounds.member_cost for value, _ in best]
        self.others = min([others + self.bounds.member_cost, *self.values[1:]])
        self.best = [fit._replace(support=J[fit.support]) for _, fit in best[: self.n_best]]
        self.bounds.lower = max(self.bounds.lower, lower + self.bounds.member_cost)
        if not (
            self.bounds.penalized
            or self.solution.lambda1
            or self.solution.lambda2
            or self.bounds.conditional
        ):
            self.bounds.loss = max(self.bounds.loss, self.bounds.lower)  # the objective is the loss
        self.improve()

    def fit_on(self, model, support):
        """The fit of a support, from the rows where normal equations would spoil it."""
        model.grow(support)
        s, problem = self.solution, model.problem
        fit = model.refit(support, s.lambda1, s.lambda2)
        if problem.closed_form(s.lambda1):
            fit = from_rows(model, fit, s.lambda2)
        elif problem.quadratic and nearly_dependent(model, support, s.lambda2):
            fit = model.within(support, s.lambda1, s.lambda2, fit.b)
        return fit

    def value(self, model, support):
        """(what the search compares, the fit) of a support of the compact problem."""
        fit, s, problem = self.fit_on(model, support), self.solution, model.problem
        cost = (
            s.lambda0 * float(problem.factor[np.setdiff1d(support, problem.forced)].sum())
            if self.bounds.penalized
            else 0.0
        )
        return fit.value + cost, fit

    def poll(self, searches):
        """Whether to stop, asked by the searches at every batch of nodes; shows their progress."""

        def poll():
            if self.bar.bar is None:
                return self.clock.over()
            upper = min(
                (one.upper + self.bounds.member_cost for one in searches),
                default=self.solution.objective,
            )
            lower = max(
                (one.lower + self.bounds.member_cost for one in searches), default=self.bounds.lower
            )
            self.bar.say(
                f"k = {self.solution.k}, objective {upper:.6g}, bound {lower:.6g}, gap "
                f"{relative_gap(upper, lower):.2g}, {sum(one.nodes for one in searches)} nodes"
            )
            return self.clock.over()

        return poll

    def names(self, J):
        """Names of columns."""
        return [self.data.names[j] for j in J]

    def improve(self):
        """Take over the best model of the search, if it is better than the one given."""
        bounds, s = self.bounds, self.solution
        if self.best:
            fit, cost = self.best[0], self.values[0] - self.best[0].value
            if bounds.conditional:  # a box that is assumed bounds what is proved, not the model
                model = make_model(bounds.whole)
                model.grow(fit.support)
                fit = model.refit(fit.support, s.lambda1, s.lambda2)
            if not fit.value + cost >= bounds.objective:
                bounds.objective = fit.value + cost
                self.fit = first_of_their_kind(bounds.whole, fit, bool(s.lambda1 or s.lambda2))
        bounds.lower = min(bounds.lower, bounds.objective)

    def seeds(self):
        """The value (less the members' cost) of the n_best-th of some models around the solution,
        infinite where there are fewer; they are kept in `models`.
        """
        model = make_model(self.bounds.problem)
        found = sorted(
            ((self.value(model, support)[0], i), support)
            for i, support in enumerate(around(model.problem, self.solution, self.n_best))
        )[: self.n_best]
        self.models = [support for _, support in found]
        return found[-1][0][0] if len(found) == self.n_best else math.inf

    def status(self):
        """ "optimal", or what ended the search: "time_limit", "node_limit", "interrupted",
        "gap_not_closed".
        """
        if any(FitStatus.NOT_CONVERGED in fit.flags for fit in self.best):
            return "time_limit" if self.clock.over() else "gap_not_closed"
        if not self.bounds.conditional and (
            self.ended == SearchEnd.CLOSED
            or (self.n_best == 1 and self.bounds.gap <= self.settings.gap)
        ):
            return "optimal"
        if self.clock.interrupted:
            return str(End.INTERRUPTED)
        return str(
            SearchEnd.NODE_LIMIT
            if self.ended == SearchEnd.NODE_LIMIT
            else End.TIME_LIMIT
            if self.clock.over() and (self.searched or not self.bounds.reason)
            else "gap_not_closed"
        )
