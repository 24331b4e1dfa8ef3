"""Proofs that models of a path are optimal: all sizes by one search where that is cheap, and each
row by a search of its own.
"""

import math
from collections import deque

from ...core.progress import Bar
from ...core.status import GLOBAL_GAP, End, FitStatus, Optimality, SearchEnd, relative_gap
from ...exact.all_sizes.choice import make_search, refits, serves_nested
from ...exact.all_sizes.rows import PenalisedRows, SizeRows
from ...exact.contest import BranchAndBound
from ...exact.result import certified, in_place_of, is_better
from ...exact.search import CertificateSearch
from ...exchange.local_search import LocalSearch
from ...relaxation.path_bounds import COPIED_ENTRIES, bounded
from ...working_set.ties import first_of_their_kind
from .. import assemble

AUTOMATIC_UNITS = 50  # columns, or groups, up to which certify="auto" searches all sizes
# of its search, some 20 ms; or twice the entries of X that the path has read, if that is more
LEAST_OPERATIONS = 2e7
# of the search with which algorithm="exact" begins: with a ridge trees may be the faster ones
EXACT_OPERATIONS, BESIDE_A_RIDGE = 1e11, 4e9
# of the one that bounds rows for certify=True under other losses than the squared one
BOUNDING_OPERATIONS = 1e9
SHARE_OF_TIME = 0.5  # of the time left that it may take
PROOF_GOES_ON = "; algorithm='exact' or path.certify(k=...) goes on"
LEAST_ROUND = 0.05  # of the time limit, below which no further round begins


def all_sizes(setting, solutions, tell):
    """(solutions, notes) with better models and proofs from one search over all sizes, where there
    are more observations than columns: by default for a squared loss and few columns or groups,
    for certify=True for other losses too where nothing else bounds them, for algorithm="exact"
    whatever the loss. What certify="auto" does rests on a budget of operations,
    and on no clock but that of the run. tell(solution) shows one that has changed.
    """
    request, control, out = setting.request, setting.control, list(solutions)
    proves = isinstance(request.plan.settings, BranchAndBound)
    if control.end or not solutions or not _asked(setting, proves):
        return out, []
    reached = []
    with control.stage(" while models were proved"):
        for number, (lambda1, lambda2) in enumerate(setting.slices):
            at = _rows(setting, out, number)
            if at and not lambda1 and (proves or _serves(setting, lambda2)):
                reached.append(_search(setting, out, at, lambda2, proves))
            control.clock.poll()
        for new, old in zip(out, solutions, strict=True):
            if new is not old:
                tell(new)
    if any(new is not old for new, old in zip(out, solutions, strict=True)):
        out = _rehulled(out, solutions, setting.problem)
    done, of = (sum(part) for part in zip(*reached, strict=True)) if reached else (0, 0)
    if done == of or proves:
        return out, []
    return out, [
        f"certify={request.certify!r} proved {done} of {of} models within its budget of operations"
        + PROOF_GOES_ON
    ]


def _asked(setting, proves):
    """Whether all sizes are to be searched."""
    request, problem = setting.request, setting.problem
    few = int(problem.usable.sum()) < problem.n_eff and setting.hinge is None
    if proves:
        return few and request.plan.settings.node_limit is None
    if (
        not few
        or problem.boxed
        or not any(_serves(setting, lambda2) for _, lambda2 in setting.slices)
    ):
        return False
    return asked_by_default(request, problem.units_to_choose)


def _serves(setting, lambda2):
    """Whether certify= has a search over all sizes prove, or bound, the models of a slice: of a
    squared loss, and for certify=True of other smooth losses, except for columns of a loss of rows
    beside a ridge, which has bounds and trees of its own.
    """
    problem = setting.problem
    if problem.quadratic:
        return True
    held = problem.X.n * int(problem.usable.sum()) <= COPIED_ENTRIES  # all columns are at hand then
    alone = held and serves_nested(problem, 0.0, lambda2)
    return setting.request.certify is True and (alone or not problem.by_rows)


def asked_by_default(request, units):
    """Whether certify= and the algorithm of a request have all sizes searched where so many columns
    or groups can be chosen, and the data allow it.
    """
    settings = request.plan.settings
    return (
        bool(request.certify)
        and request.row_counts is None
        and isinstance(settings, LocalSearch)
        and settings.refit
        and units <= AUTOMATIC_UNITS
    )


def _rows(setting, solutions, number):
    """The rows of a slice that a search over all sizes can serve: not those of a lambda0 beyond
    max_k, nor of unequal costs.
    """
    problem = setting.problem
    at = [
        i
        for i, s in enumerate(solutions)
        if s.slice == number and s.status != FitStatus.NOT_CONVERGED and "max_k" not in s.flags
    ]
    return at if setting.request.plan.grid == "support" or problem.even_cost is not None else []


def _search(setting, solutions, at, lambda2, proves):
    """(rows proven, rows) of a slice; its rows `at` are replaced in the list."""
    budget = _budget(setting, lambda2, proves)
    by_size = not proves and setting.request.plan.grid == "support"
    first = budget * (0.5 if by_size else 1.0)
    closed, spent, search = _attempt(setting, solutions, at, lambda2, first)
    # where the budget is too small for all sizes, it serves the smallest and the largest ones
    unproven = deque(i for i in at if solutions[i].optimality != Optimality.GLOBAL)
    while by_size and closed is False and unproven and spent < budget:
        i = unproven.popleft() if len(unproven) % 2 else unproven.pop()
        left = budget - spent
        ended, more, search = _attempt(setting, solutions, [i], lambda2, left, search)
        spent += more
        if not ended:
            break
    return sum(solutions[i].optimality == Optimality.GLOBAL for i in at), len(at)


def _attempt(setting, solutions, at, lambda2, budget, earlier=None):
    """(whether a search for the rows `at` has ended, operations that it took, the search); they are
    replaced in the list. None where no search serves them. earlier: a search for other rows.
    """
    problem, request, control = setting.problem, setting.request, setting.control
    model, rows = setting.working_set, [solutions[i] for i in at]
    proves = isinstance(request.plan.settings, BranchAndBound)
    refit = refits(problem, model, lambda2)
    if request.plan.grid == "support":
        wanted = SizeRows(rows, refit)
    else:
        wanted = PenalisedRows(rows, refit, problem.even_cost)
    options = {} if proves else {"workers": 1}
    options |= {"like": earlier, "most": wanted.most}
    search = make_search(model, 0.0, lambda2, wanted, **options)
    if search is None:
        return None, 0.0, None
    clock = control.clock
    if proves and clock.limit is not None:
        clock = clock.within(SHARE_OF_TIME * clock.left())
    ended = search.run(budget, clock.over)
    bounds = wanted.bounds(search.lower(), search.spare).tolist()
    for number, (i, s, bound) in enumerate(zip(at, rows, bounds, strict=True)):
        if number in wanted.found:
            fit = first_of_their_kind(problem, wanted.found[number], bool(lambda2))
            better = in_place_of(s, fit, problem, request.data, setting.weights)
            s = better if is_better(better, s) else s
        proven = bounded(problem, s, bound)
        # what certify="auto" has not finished it leaves without a bound
        whole = proven.optimality == Optimality.GLOBAL or request.certify is True or proves
        solutions[i] = proven if whole else s
    return ended == SearchEnd.CLOSED, search.operations, search


def _budget(setting, lambda2, proves):
    """Operations that a search over all sizes may take."""
    if proves:
        return BESIDE_A_RIDGE if lambda2 else EXACT_OPERATIONS
    if not setting.problem.quadratic:
        return BOUNDING_OPERATIONS
    read = setting.working_set.reads * setting.problem.X.n * int(setting.problem.usable.sum())
    return max(LEAST_OPERATIONS, 2.0 * read)


def _rehulled(solutions, before, problem):
    """The solutions with the lambda0 intervals that hold now, where a better model has come."""
    same = all(new.objective == old.objective for new, old in zip(solutions, before, strict=True))
    return solutions if same else assemble.rehulled(solutions, problem)


# -------------------- one by one


def one_by_one(setting, solutions, tell):
    """(solutions, notes): every solution that is not proven is searched for a better one until it
    is, each for its share of the time that is left. Time that some did not use goes to those that
    ran out of it, in further rounds. tell(solution) shows it.
    """
    request, control, out = setting.request, setting.control, list(solutions)
    if control.end:
        return out, []
    group_fits = {}  # fits of sets of groups, by shrinkage: sizes and lambda0 values share them
    bar = Bar(request.progress, "l0path proofs", len(out), "model", control.clock.started)
    todo = [i for i, s in enumerate(out) if not is_proven(s)]
    with control.stage(" while models were proved"), bar:
        bar.update(len(out) - len(todo))
        while todo:
            late = []
            for number, i in enumerate(todo):
                s = out[i]
                search = CertificateSearch(
                    setting.problem,
                    request.data,
                    s,
                    clock=control.clock.within(_share(control.clock, len(todo) - number)),
                    settings=request.plan.settings,
                    bar=bar,
                    group_fits=group_fits.setdefault((s.lambda1, s.lambda2), {}),
                )
                found = search.run()
                out[i] = certified(s, found, setting.problem, request.data, setting.weights)
                late += [i] if found.status == End.TIME_LIMIT else []
                bar.update()
                control.clock.poll()
                tell(out[i])
            enough = control.clock.left() > LEAST_ROUND * (control.clock.limit or math.inf)
            todo = late if enough else []
    out = assemble.rehulled(out, setting.problem)
    left = [s.k for s in out if s.optimality != Optimality.GLOBAL]
    if not left:
        return out, []
    return out, [
        f"{len(left)} of {len(out)} models are not proved optimal (k = "
        f"{', '.join(map(str, left[:10]))}{', ...' if len(left) > 10 else ''}): see gap"
    ]


def is_proven(solution):
    """Whether nothing is left to be proven of a solution."""
    return (
        solution.optimality == Optimality.GLOBAL
        and math.isfinite(solution.lower_bound)
        and relative_gap(solution.objective, solution.lower_bound) <= GLOBAL_GAP
    )


def _share(clock, parts):
    """Seconds of the first of so many solutions that are left, None without a limit."""
    return None if clock.limit is None else max(clock.left() / parts, 1e-3)
