"""From a request to a path: pose, search every slice (lambda1, lambda2), assemble, bound, prove.

Every stage returns what it has, whatever ends it: see `core.control.Control`.
"""

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.cutting_planes import FeatureGenerating
from ..compiled import HELPING_PROCESSES
from ..core import threads
from ..core.control import Clock, Control, Stop, deferred_interrupts
from ..core.describing import spans
from ..core.progress import Bar
from ..core.status import GLOBAL_GAP, End, FitStatus, Optimality, relative_gap
from ..core.warnings import warn_user
from ..errors import ConvergenceWarning, SeparationWarning
from ..exchange.local_search import flat
from ..formula import marginality_notes
from ..paths import Model, Path
from ..paths.records import Source
from ..paths.separation import consequence, remedy, story
from ..problem.losses import OWN_LOSSES, name_of
from ..relaxation.path_bounds import bound_by_slopes, bound_solutions, bounded, rows_of_slices
from ..relaxation.tangent_bounds import bound_by_tangents
from . import assemble
from .assemble import SolvedSlice
from .costs import cost_of, refuse_too_large
from .costs.kernels import kinds_of_kernels
from .grids import Ridges
from .lambda0.path import Lambda0Path
from .mixing import with_mixtures
from .posing import prepared
from .protocols import Point, Session, Slice
from .proving.proofs import all_sizes, is_proven, one_by_one
from .registry import algorithm_of
from .strategies.groups import relaxation_bounds


class Fitted(NamedTuple):
    """A path, with the request and the working columns of its fit.

    Attributes
    ----------
    path : Path
        The result.
    request : Request
        What was asked for, with what X decided: a further fit of the same data starts from it.
    working_set : GramModel or RowModel
        The columns at hand. It holds Gram rows over all columns, so it should not be kept where
        they are not needed.
    """

    path: Path
    request: Any
    working_set: Any


def run(request, clock=None) -> Fitted:
    """The path of a request. clock: that of the run of which this one is a part."""
    clock = Clock(request.plan.time_limit) if clock is None else clock
    if not request.resolved:
        refuse_too_large(request)
        if request.progress:
            print(f"l0path: {cost_of(request)}", file=sys.stderr)
    with (
        threads.limited(request.n_jobs),
        HELPING_PROCESSES.compiling(*kinds_of_kernels(request), n_jobs=request.n_jobs),
        deferred_interrupts(clock),
    ):
        with Bar(request.progress, "l0path reads X", since=clock.started, leave=False):
            setting = prepared(request, Control(clock, keeps=request.row_counts is None))
        slices, total = [], len(setting.slices) * (setting.max_k + 1)
        with Bar(request.progress, "l0path", total, "model", clock.started) as bar:
            for number in range(len(setting.slices)):
                slices += _search(setting, number, slices, bar)
        solutions = [s for one in slices for s in one.solutions]
        notes = _notes(setting, slices)
        with Bar(request.progress, "l0path compares all models", since=clock.started, leave=False):
            solutions, reached = all_sizes(setting, solutions, lambda s: _tell(setting, s, notes))
        notes += reached
        if setting.control.error is not None:
            _raise_lost(setting, slices, solutions, notes)
        solutions, unbounded = _bounds(setting, solutions)
        if algorithm_of(request.plan.settings).proves:
            solutions, unproven = one_by_one(setting, solutions, lambda s: _tell(setting, s, notes))
            bounded_all = all(math.isfinite(s.lower_bound) for s in solutions)
            notes = [*notes, *unproven, *([] if bounded_all else unbounded)]
        else:
            notes = [*notes, *unbounded]
        reporting = assemble.reporting(setting)
        if setting.control.error is not None:
            # rows of the loss itself need reads of X, which are lost
            _raise_lost(setting, slices, [] if reporting.needed else solutions, notes)
        if reporting.needed:
            solutions = [reporting.solution(s) for s in solutions]
            solutions = assemble.rehulled(solutions, reporting.problem)
        solutions, mixing = with_mixtures(setting, solutions)
        told = [] if request.resolved else _response_among_columns(setting, solutions)
        path = _path(setting, slices, solutions, [*notes, *reporting.note(), *mixing, *told])
    return Fitted(path, setting.request, setting.working_set)


def _raise_lost(setting, slices, solutions, notes):
    """Raise the loss of a cluster, with the path of what was solved before."""
    error = setting.control.error
    if solutions:
        error.path = _path(setting, slices, solutions, notes)
        error.args = (f"{error} ({len(solutions)} models are in this error's .path)",)
    raise error


# -------------------- search


def _search(setting, number, earlier, bar):
    """Search a slice; whatever stops it, its solutions are kept.

    Returns
    -------
    list of SolvedSlice
        The slice; empty where the run ended before the slice began.
    """
    if setting.control.end:
        return []
    part = Slice(*setting.slices[number], setting.max_k, compare_single=_compares_single(setting))
    starts = earlier[-1].starts if earlier else ()
    # Folds are averaged: beside a ridge the supports of the slice before are a start that is good
    # enough. Of 4736 sizes of four slices (24 simulated sets) 2.5 % are worse without these
    # restarts, by 0.07 % in the median; without a ridge more are, and by more. Beside a strong
    # ridge no start is needed: at ten times the mean square of a column, which the default grid
    # begins with, 6 of some 5500 sizes of 18 simulated sets are worse, by 0.002 % at most.
    # Where refits decide, few exchanges of each fit are refuted: of some 18,500 sizes of folds
    # with more rows than columns none changes, of 4400 with fewer 3.6 % are worse and 3.4 % better.
    strong = part.lambda2 > 5.0 * float(setting.problem.square.max(initial=0.0))
    warm = strong or (bool(starts) and part.lambda2 > 0)
    thorough = not (warm and setting.request.row_counts is not None)
    seen = set()

    def listener(point):
        if point.k not in seen:
            bar.update()
        seen.add(point.k)
        if setting.request.on_solution is not None:
            found = assemble.solution(setting, number, part, point)
            _tell(setting, found, _notes(setting, earlier))

    engine = _engine(
        setting,
        setting.working_set,
        part,
        Session(setting.control.clock, listener, None, starts, thorough),
    )
    if engine is None:
        return []
    if isinstance(engine, Lambda0Path):
        solved = _lambda0_rows(setting, number, part, engine.result)
    else:
        solved = _size_rows(setting, number, part, engine)
    if not setting.control.end:
        bar.shorten(setting.max_k + 1 - len(seen))  # sizes that this slice does not have
    return [solved]


def _tell(setting, found, notes):
    """Show a solution to on_solution, which may end the path."""
    request = setting.request
    if request.on_solution is None:
        return
    source, found = Source(request.data, request.plan), assemble.reporting(setting).solution(found)
    path = Path(assemble.meta_of(setting), [found], "running", notes, (), source, end=End.RUNNING)
    if request.on_solution(Model(path, 0)) is True:
        raise Stop("stopped by on_solution", End.STOPPED)


def _compares_single(setting):
    """Whether models of one column, or group, are compared with all others: not in folds, whose
    claims nobody sees.
    """
    if setting.request.row_counts is not None:
        return False
    published = getattr(setting.request.plan.settings, "paper_defaults", False)
    return setting.request.plan.grid == "support" and setting.hinge is None and not published


def _engine(setting, model, part, session):
    """An engine that has run on the model of a problem for a slice; None where it was stopped
    before it was made.
    """
    seed, engine = setting.request.plan.random_state, None
    own = isinstance(seed, np.random.Generator)
    rng = seed if own else np.random.default_rng(0 if seed is None else seed)
    with setting.control.stage():
        most = min(setting.max_k, model.problem.units_to_choose)
        session = session._replace(rng=rng, supports=tuple(session.supports))
        make = algorithm_of(setting.route.settings).engine
        engine = make(model, setting.route, part._replace(max_k=most), session)
        engine.run()
    return engine


def _size_rows(setting, number, part, engine):
    """The `SolvedSlice` of sizes."""
    plan, result = setting.request.plan, engine.result

    def tolerance(fit):
        return flat(fit.value, result.scale, result.tol) + setting.working_set.rounding_of(fit)

    points = assemble.below_none(result.points, tolerance)
    rows = assemble.solutions_of(setting, number, part, points)
    rows, intervals, x = assemble.with_intervals(setting, rows, engine)
    saturated, notes = assemble.is_saturated(setting, result), ()
    if saturated:
        which = f"slice {number}: " if len(setting.slices) > 1 else ""
        notes = (which + assemble.why_saturated(result, setting.problem),)
    separated = assemble.separated_points(result.points)
    last = None
    if result.separated is not None:
        last = result.last, result.separated, result.tied
    if plan.grid == "lambda0":
        rows, more = assemble.on_lambda0(setting, result.optimality_if_verified, rows, intervals, x)
        notes += more
    elif plan.sizes is not None:
        rows, more = _asked_for(setting, rows)
        notes += more
    own = plan.grid == "support" and any(math.isfinite(p.lower_bound) for p in result.points)
    rows = rows if own else _with_slopes(setting, result, rows)
    return SolvedSlice(
        [_own_bound(row, result) for row in rows] if plan.grid == "support" else rows,
        _numbered(number, result.rounds),
        result.starts,
        notes,
        assemble.near_note(setting.working_set, setting.request.data.names),
        separated,
        last,
        saturated,
    )


def _own_bound(row, result):
    """A row with its objective as bound, up to what counts as no change, where it was compared with
    all others of its size and no bound had closed the gap.
    """
    if row.optimality != Optimality.GLOBAL or row.status != FitStatus.CONVERGED:
        return row
    if relative_gap(row.objective, row.lower_bound) <= GLOBAL_GAP:
        return row
    return row._replace(lower_bound=row.objective - flat(row.objective, result.scale, result.tol))


def _asked_for(setting, rows):
    """(the rows of the sizes asked for, and the last one where some are beyond it; notes)."""
    sizes = setting.request.plan.sizes
    kept = [row for row in rows if row.k in sizes]
    lost = [k for k in sizes if k not in {row.k for row in kept}]
    if not lost or setting.control.end:
        return kept, ()
    note = (
        f"k = {', '.join(map(str, lost))} {'are' if len(lost) > 1 else 'is'} beyond the largest "
        f"size that could be fitted, {rows[-1].k}"
    )
    return kept if rows[-1] in kept else [*kept, rows[-1]], (note,)


def _lambda0_rows(setting, number, part, result):
    """The `SolvedSlice` of a lambda0 path, a row for each value."""
    rows = assemble.solutions_of(setting, number, part, result.points)
    null = assemble.solution(setting, number, part, Point(0, result.null, ""))
    last = result.points[-1].lambda0_low if result.points else 0.0
    rows = assemble.with_hull(setting.problem, null, rows, last)
    return SolvedSlice(
        _with_slopes(setting, result, rows),
        _numbered(number, result.rounds),
        result.starts,
        result.notes,
        assemble.near_note(setting.working_set, setting.request.data.names),
        assemble.separated_points(result.points),
    )


def _numbered(number, rounds):
    return [{"slice": number, "round": r, **row} for r, row in enumerate(rounds)]


def _with_slopes(setting, result, rows):
    """Rows of a slice of a fit to all rows with the bounds that the dual points of its search give,
    where it has any and was not stopped: one read of X.
    """
    control = setting.control
    if control.end or setting.request.row_counts is not None or control.clock.over():
        return rows
    return bound_by_slopes(setting.problem, rows, result.dual_points, setting.working_set)


def _notes(setting, slices):
    """The notes so far; a note that several slices share is given once."""
    notes = list(setting.notes)
    for one in slices:
        if one.near and one.near not in notes:
            notes.append(one.near)
        notes += one.notes
    return notes


# -------------------- bound


def _bounds(setting, solutions):
    """(solutions with lower bounds, notes on those that have none); those that are not reached in
    time stay NaN.
    """
    request, control, out = setting.request, setting.control, list(solutions)
    groups = setting.problem.groups is not None
    proves = algorithm_of(request.plan.settings).proves
    if request.certify is not True and (groups or not proves):
        return out, []
    notes = []
    bar = Bar(request.progress, "l0path lower bounds", since=control.clock.started)
    with control.stage(" while bounds were computed"), bar:
        if not setting.problem.by_rows:
            notes = bound_by_tangents(setting.problem, out, control.clock.over)
        elif groups:
            notes = _group_bounds(setting, out)
        else:
            shared = request.row_counts is None and not control.inconsistent
            # with algorithm="exact" what the search over all sizes has proven needs no bound
            left = [i for i, s in enumerate(out) if not (proves and is_proven(s))]
            rows = [out[i] for i in left]
            notes = bound_solutions(
                setting.problem,
                rows,
                poll=lambda: bar.say("") or control.clock.over(),
                model=setting.working_set if shared else None,
                names=request.data.names,
            )
            for i, row in zip(left, rows, strict=True):
                out[i] = row
        control.clock.poll()
    return out, notes


def _group_bounds(setting, solutions):
    """Give models of groups the lower bounds of the relaxations of the feature generating machine,
    or of tangents where coefficients have bounds, in place in the list; returns notes.
    """
    problem = setting.problem
    if all(math.isfinite(s.lower_bound) or s.status == FitStatus.SEPARATED for s in solutions):
        return []
    if setting.hinge is not None:
        return ["no lower bounds: those on groups are for losses that have slopes, not the hinge"]
    if problem.boxed:
        return bound_by_tangents(problem, solutions, setting.control.clock.over)
    without = [number for number, (_, lambda2) in enumerate(setting.slices) if not lambda2 > 0]
    if not isinstance(setting.request.plan.settings, FeatureGenerating):
        for number, rows in rows_of_slices(solutions):
            if number in without:
                continue
            part = Slice(*setting.slices[number], setting.max_k)
            starts = tuple(solutions[i].groups for i in rows)
            session = Session(setting.control.clock, supports=starts)
            D, costs = relaxation_bounds(setting.working_set, part, session)
            for i in rows:
                bound = _relaxed(solutions[i], D, costs, problem.floor)
                solutions[i] = bounded(problem, solutions[i], bound)
    unproven = {s.slice for s in solutions if math.isnan(s.lower_bound)}
    without = [number for number in without if number in unproven]
    if not without:
        return []
    return [
        f"no lower bounds in slice {', '.join(map(str, without))}: those on groups need a ridge; "
        "fit with lambda2=1e-3"
    ]


def _relaxed(s, D, costs, floor):
    """The bound of a solution from those D_k of the sizes; NaN where there is none.

    On a lambda0 grid no model has an objective below the least D_k + lambda0 f k, f the cost of a
    group; beyond the last size the least value of the loss stands for D_k.
    """
    last = D.size - 1
    if math.isnan(s.lambda0):
        return float(D[s.k]) if s.k <= last else math.nan
    cost = s.lambda0 * costs.max(initial=0.0)
    beyond = [floor + cost * (last + 1)] if last < costs.size else []
    return float(np.min([*(D + cost * np.arange(last + 1)), *beyond]))


# -------------------- the path


def _path(setting, slices, solutions, notes):
    """The Path with its status, notes and one warning of each kind."""
    request, problem = setting.request, setting.problem
    status, end = _status(setting, slices, solutions)
    bad = [s.k for s in solutions if s.status == FitStatus.NOT_CONVERGED]
    if bad:
        warn_user(
            ConvergenceWarning(
                f"{len(bad)} of {len(solutions)} models did not converge (first k = {bad[0]}); "
                "add a little lambda2, or allow more steps: "
                "algorithm=l0path.solvers.LocalSearch(max_iter=10_000)"
            )
        )
    if request.formula is not None and request.row_counts is None:
        constant = np.flatnonzero(~problem.usable & ~request.data.excluded)
        models = [(s.k, s.support) for s in solutions]
        shrunk = problem.boxed or any(a or b for a, b in setting.slices)
        notes = [*notes, *marginality_notes(request.formula, models, constant, shrunk)]
    rounds = [row for one in slices for row in one.rounds]
    source = Source(request.data, request.plan)
    return Path(assemble.meta_of(setting), solutions, status, notes, rounds, source, end=end)


def _status(setting, slices, solutions):
    """(text, End) of a path, with a warning where columns separate the classes."""
    problem, control = setting.problem, setting.control
    control.finish()
    largest = max((s.k for s in solutions), default=0)
    reach = f"k = {spans(s.k for s in solutions)}" if solutions else "nothing"
    lasts = [one.last for one in slices if one.last is not None]
    told = _separated(setting, slices)
    if lasts and not control.end:
        k, fit, tied = min(lasts, key=lambda last: last[0])
        what = consequence(problem, fit, setting.request.data.names, setting.request.formula)
        counted = f"{problem.units.unit}s"
        status = f"ended at k = {k}: its {counted} {what}, so no objective is lower"
        if tied > 1:
            status += f"; {tied} supports of this size that do so were found"
        earlier = f" ({told})" if told and told != f"at k = {k} {counted} {what}" else ""
        if isinstance(setting.request.plan.lambda2, Ridges):  # the remedy is among the slices
            kept = f"complete: {reach}{_short_of(setting, largest)}"
            return f"{kept}; without shrinkage it {status}{earlier}", End.COMPLETE
        warn_user(SeparationWarning(f"{status}{earlier}; {remedy(problem.loss)}"))
        return f"{status}; {remedy(problem.loss)}{earlier}", End.SEPARATED
    if control.end:
        unverified = sum(s.optimality == Optimality.UNVERIFIED for s in solutions)
        status = f"{control.reason}; {reach} solved, {unverified} of {len(solutions)} unverified"
        return status, control.end
    if told and isinstance(setting.request.plan.lambda2, Ridges):
        told = f"without shrinkage {told}"
    elif told:
        told = f"{told}; {remedy(problem.loss)}"
        warn_user(SeparationWarning(told))
    status = f"complete: {reach}{_short_of(setting, largest)}"
    endless = _endless(setting, solutions)
    if endless:
        warn_user(SeparationWarning(endless))
        status += f"; {endless}"
    end = End.SATURATED if slices and all(one.saturated for one in slices) else End.COMPLETE
    return status + (f"; {told}" if told else ""), end


def _response_among_columns(setting, solutions):
    """A list of at most one text: of the columns that are a model by themselves, the one that is
    the response, number for number or class for class. Fits of folds do not look.
    """
    request = setting.request
    data, first = request.data, [s.support[0] for s in solutions if len(s.support) == 1]
    if data.y.ndim != 1 or data.loss.traits.coupled or not first:
        return []
    columns = np.unique(first)
    for j, x in zip(columns, data.design.columns(columns).T, strict=True):
        if data.classes is not None:
            ones, others = x[data.y > 0], x[data.y < 0]
            same = np.ptp(ones) == 0 and np.ptp(others) == 0 and ones[0] != others[0]
        else:
            same = np.array_equal(x, data.y)
        if same:
            return [f"column {data.names[j]!r} equals y; if it is a copy of it, leave it out of X"]
    return []


def _separated(setting, slices):
    """A text on the models without a finite optimum, "" where there are none. Of fits of folds
    nobody reads it: it says no more than that there are some.
    """
    if setting.request.row_counts is not None:
        some = any(one.separated for one in slices)
        return "models have no finite optimum" if some else ""
    models = {(k, fit.key): fit for one in slices for k, fit in one.separated}
    fits = [(k, fit) for (k, _), fit in sorted(models.items(), key=lambda item: item[0][0])]
    request = setting.request
    return (fits and story(setting.problem, fits, request.data.names, request.formula)) or ""


def _endless(setting, solutions):
    """A text on models from which a loss of the user's own falls for ever, "" where none is."""
    name = name_of(setting.problem.loss)
    sizes = {s.k for s in solutions if s.separated} if name in OWN_LOSSES else ()
    return sizes and (
        f"k = {spans(sizes)}: the loss {name!r} falls for ever along a direction of the "
        "coefficients, which have no finite optimum; add a little shrinkage, lambda2=1e-3"
    )


def _short_of(setting, largest):
    """The status text of a complete path that does not reach the requested max_k."""
    plan = setting.request.plan
    asked = None if plan.grid == "lambda0" else plan.max_k
    if setting.cut:
        return f" ({setting.cut})"
    return "" if asked is None or largest >= asked else f" (not max_k = {asked}, see notes)"
