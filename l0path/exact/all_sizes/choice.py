"""Choice of the search over all sizes that serves a problem, and the best sets of one size or
lambda0 by it.
"""

import math

import numpy as np

from ...core.status import FitStatus, SearchEnd
from ...problem.dependence import basic, from_rows
from ...problem.traits import MONOTONE
from ...working_set.columns import CLAIMED
from ...working_set.model import make_model
from ..result import hidden, why_hidden
from .coupled_bounds import sets_of_columns
from .enumeration import Enumeration, enumerable, models_of
from .group_search import GroupSizes, group_sizes
from .nested import NestedSearch, servable_nested
from .node_bounds import UnclearColumns
from .scores import BestSets, Score
from .search import AllSizes, servable
from .subtrees import MOST_COLUMNS

# of a search for one solution, some 2 s, where others can follow
FIRST_OPERATIONS = 2e9
MOST_PARTS = 32  # that dependent columns make of a search, where all models can be computed instead
FEW_OPERATIONS = 2e7  # of models that are all computed before other searches: some 20 ms


def refits(problem, model, lambda2, infima=True):
    """refit(units) -> (value, fit), as `SetsWanted` compare them: inf for one whose fit did not
    converge. infima: whether a set without a finite optimum has its infimum, or inf as well.
    """

    def refit(units):
        columns = problem.columns_of(units)
        model.grow(columns)
        fit = model.refit(columns, 0.0, lambda2)
        if problem.quadratic:
            found = from_rows(model, fit, lambda2)
            # of columns that others of the set explain least squares have coefficients, too
            spare = found is not fit and problem.groups is not None and not lambda2
            fit = basic(problem, found) if spare else found
        known = FitStatus.NOT_CONVERGED not in fit.flags if infima else not fit.flags
        return fit.value if known else math.inf, problem.fit_of(fit, units)

    return refit


def by_trees(problem, lambda2):
    """Whether trees can search the columns: with a ridge, under losses that are sums over rows of
    one predictor.
    """
    return bool(problem.by_rows and problem.groups is None and lambda2)


def serves_nested(problem, lambda1, lambda2):
    """Whether `NestedSearch` serves a problem."""
    return servable_nested(problem, lambda1) and not by_trees(problem, lambda2)


def make_search(model, lambda1, lambda2, wanted, like=None, **options):
    """`AllSizes` for columns and `GroupSizes` for most groups under a squared loss, of one response
    or several, `NestedSearch` for what else it serves. Where columns are so nearly dependent that
    none of them tells them apart, or too many are for `AllSizes`, `Enumeration` if sets are few
    enough; None where none serves.

    like: an earlier search of the same problem and lambda2, from which one of groups takes what
    does not depend on what is wanted. options: of `AllSizes`.
    """
    if isinstance(like, GroupSizes):
        return GroupSizes(like.task, wanted)
    search = _tree_of_sets(model, lambda1, lambda2, wanted, **options)
    return search or (None if lambda1 else enumeration(model.problem, lambda2, wanted))


def enumeration(problem, lambda2, wanted, operations=math.inf):
    """An `Enumeration` of the sets that are wanted, None where they are too many, or would take
    more operations.
    """
    count = problem.units_to_choose
    sizes = np.flatnonzero(wanted.cutoffs(count + 1) > -math.inf)
    if not enumerable(problem, sizes):
        return None
    if models_of(count, sizes) * float(min(problem.X.n, count)) > operations:
        return None
    if hidden(problem, lambda2, 1.0 / CLAIMED):
        return None  # not even rows tell these columns apart
    return Enumeration(problem, lambda2, wanted)


def _tree_of_sets(model, lambda1, lambda2, wanted, **options):
    """`make_search` without enumeration."""
    problem = model.problem
    try:
        if servable(problem, lambda1):
            search = AllSizes(problem, lambda2, wanted, model=model, **options)
            if search.parts > MOST_PARTS:
                listed = enumeration(problem, lambda2, wanted, FIRST_OPERATIONS)
                search = search if listed is None else listed
            near = isinstance(search, AllSizes) and search.near_dependence
        elif serves_nested(problem, lambda1, lambda2):
            model.grow(np.flatnonzero(problem.usable))
            search = group_sizes(model, lambda2, wanted) or NestedSearch(model, lambda2, wanted)
            near = True
        else:
            return None
    except ValueError:  # too many dependent columns
        return None
    return None if near and hidden(problem, lambda2) else search


def least_loss(model, solution):
    """A lower bound on every mean loss, by the model of all columns; -inf where the objective is
    the loss.
    """
    if not (solution.lambda2 or solution.lambda0 > 0):
        return -math.inf
    columns = np.flatnonzero(model.problem.usable)
    model.grow(columns)
    try:
        return sets_of_columns(model, 0.0).at(columns).lower
    except UnclearColumns:
        return -math.inf


def few_columns(problem, lambda2):
    """Whether there are so few columns that fits on all of them bound others. Without trees for
    the loss, a ridge will do.
    """
    count = int(problem.usable.sum())
    alone = not problem.by_rows
    return count < problem.n_eff or bool(alone and lambda2 and count <= MOST_COLUMNS)


def why_not_served(problem, solution, names):
    """The reason why no search over sets of all sizes serves a solution of a loss that couples
    rows, or of several responses or classes.
    """
    if solution.lambda1 or problem.boxed:
        return "with lambda1, or bounds on coefficients, no subsets are searched for this response"
    if not few_columns(problem, solution.lambda2):
        what = "events" if problem.loss.traits.recession == MONOTONE else "rows"
        return (
            f"subsets are searched where features are fewer than {what}, or with a ridge where "
            f"they are at most {MOST_COLUMNS}; leave features out with exclude="
        )
    if solution.lambda0 >= 0 and problem.even_cost is None:
        return "subsets are searched where all features cost the same"
    found = hidden(problem, solution.lambda2)
    return why_hidden(found, names) if found else ""


class BestOfOne:
    """The n_best best sets of one size, or of one lambda0, by a search over sets of all sizes.

    best: [(value, fit)], ascending, at least two where there are two; others, lower,
    loss: lower bounds on all other sets, on all sets, and on the mean loss of all sets; ended,
    nodes: of the search; ended is None where none serves; searched: what was searched, as a text.
    """

    def __init__(self, problem, solution, n_best, clock, node_limit=None):
        s, model = solution, make_model(problem)
        self.best, self.lower, self.others, self.nodes = [], -math.inf, -math.inf, 0
        self.ended, self.loss, self.searched = None, -math.inf, ""
        penalized = not math.isnan(s.lambda0)
        cost, most = problem.even_cost, problem.units_to_choose
        if penalized and cost is None:
            return
        penalty = np.full(most + 1, math.inf)
        if penalized:
            penalty = s.lambda0 * cost * np.arange(most + 1.0)
        elif s.k <= most:
            penalty[s.k] = 0.0
        score = Score(penalty, problem.n_eff, 1.0)
        wanted = BestSets(score, refits(problem, model, s.lambda2), n_best=max(n_best, 2))
        options = {} if penalized else {"most": s.k}
        few, search = few_columns(problem, s.lambda2), None
        if few:
            search = make_search(model, s.lambda1, s.lambda2, wanted, **options)
        elif not s.lambda1:
            # beside a ridge others get along with more columns than rows
            most = FEW_OPERATIONS if s.lambda2 else math.inf
            search = enumeration(problem, s.lambda2, wanted, most)
        if search is None:
            return
        self.loss = least_loss(model, s) if few else -math.inf
        if np.isfinite(penalty[s.units.size - search.held.size]):
            search.know(s.units)
        many = problem.one_gram and not isinstance(search, Enumeration)
        budget = FIRST_OPERATIONS if many else math.inf

        def over():
            return clock.over() or (node_limit is not None and search.nodes >= node_limit)

        self.ended = search.run(budget, over)
        if self.ended in (SearchEnd.NODE_LIMIT, SearchEnd.TOO_MANY):
            listed = enumeration(problem, s.lambda2, wanted)
            if listed is not None:
                search, self.ended = listed, listed.run(math.inf, over)
        self.nodes = search.nodes
        self.searched = f"leaps and bounds: {self.nodes} node{'' if self.nodes == 1 else 's'}"
        if isinstance(search, Enumeration):
            self.searched = search.told()
        if self.ended == SearchEnd.STOPPED and not clock.over():
            self.ended = SearchEnd.NODE_LIMIT
        self.best = [(value, fit) for value, _, _, fit in wanted.found]
        self.others = wanted.bound(search.lower())
        self.lower = min([self.others, *(value for value, _ in self.best)])
