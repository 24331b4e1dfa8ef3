"""Lower bounds for the solutions of a fit, slice by slice: weak duality at the slopes of the fits,
which the checks of all columns know already, then two reads of X for better dual points;
and those that algorithms with dual points of their own bring along.
"""

import math
from functools import cache

import numpy as np

from .. import relaxation
from ..core.status import GLOBAL_GAP, FitStatus, Optimality, relative_gap
from ..problem.dependence import dependent, described

# batched reads of X after that of the fits; at n = 1000, p = 10000 a third one lowers the median
# gap of sizes 0..20 from 0.194 to 0.193 and takes half the path's time
FIT_READS = 2
HELD_ENTRIES = 1 << 23  # of the dual points held at a time, (n + p) for each solution
COPIED_ENTRIES = 1 << 25  # entries of X up to which its columns are copied for a split
QUICK_SPLIT = 2e10  # n p^2 up to which a split is made where a ridge gives bounds without it


def divided(problem, gram=None):
    """The diagonal split off the Gram matrix (see `relaxation.split`), which tightens bounds beside
    a ridge too; None where there is none, or X is too large to be copied for it.
    """
    return relaxation.split(problem, gram=gram) if copied(problem) else None


def copied(problem):
    """Whether the columns of a squared loss may be copied for a split."""
    return problem.quadratic and problem.X.n * int(problem.usable.sum()) <= COPIED_ENTRIES


def standardized(problem, solution):
    """(support, b) of a solution, in the problem's units, without columns that the problem has
    not; b is (k,), or (k, q) with several predictors.
    """
    kept = problem.usable[solution.support]
    support = solution.support[kept]
    b = (solution.beta[kept].T * problem.X.scale[support]).T
    return support, b if problem.turn is None else b @ np.linalg.pinv(problem.turn)


def bounded(problem, solution, bound):
    """The solution with a lower bound of its objective, -inf for none: "global" once the gap is
    closed, of a separated model, too, whose objective is an infimum (on a grid of lambda0 it is
    not). No loss is below `floor`; beyond the objective a bound is rounding.
    """
    if not math.isfinite(bound):
        return solution
    bound = min(max(bound, problem.floor - problem.noise), solution.objective)
    bound = float(np.fmax(bound, solution.lower_bound))
    # the floor alone, which complete separation reaches, compares no sets
    searched = bound > problem.floor + problem.noise
    infimum = solution.separated and math.isnan(solution.lambda0) and searched
    reached = solution.status == "converged" or infimum
    closed = reached and relative_gap(solution.objective, bound) <= GLOBAL_GAP
    return solution._replace(
        lower_bound=bound, optimality=Optimality.GLOBAL if closed else solution.optimality
    )


def rows_of_slices(solutions):
    """(number, rows) of the slices of solutions, of the rows that have an optimum; slices without
    any are left out.
    """
    for number in dict.fromkeys(s.slice for s in solutions):
        rows = [
            i
            for i, s in enumerate(solutions)
            if s.slice == number and s.status != FitStatus.SEPARATED
        ]
        if rows:
            yield number, rows


def bound_solutions(problem, solutions, *, poll=None, model=None, names=None):
    """Give the solutions of a path lower bounds, in place in the list; returns notes. poll(): asked
    before every read of X, True ends it, and what is not bounded then stays as it is.

    model: that of the fits, whose `verified_slopes` save a read of X. names: of the columns, for
    the
        notes; None for their numbers.
    The bounds of a size are those of the best model of at most k unforced columns, those of a
    lambda0 of (P) itself. Separated solutions have no optimum and get none.
    """
    poll = poll or (lambda: False)
    diagonal = cache(lambda: divided(problem))
    unbounded = {}
    for number, rows in rows_of_slices(solutions):
        if poll():
            continue
        lambda1, lambda2 = solutions[rows[0]].lambda1, solutions[rows[0]].lambda2
        needed = lambda2 == 0 or problem.X.n * float(problem.usable.sum()) ** 2 <= QUICK_SPLIT
        dual = relaxation.dual_problem(
            problem, lambda1, lambda2, split=diagonal() if needed else None
        )
        if not dual.bounded:
            if problem.quadratic or any(math.isnan(solutions[i].lower_bound) for i in rows):
                unbounded[number] = lambda1
            continue
        step = max(1, HELD_ENTRIES // (problem.X.n + problem.X.p))
        for part in (rows[start : start + step] for start in range(0, len(rows), step)):
            if poll():
                break
            for i, bound in zip(
                part, _bounds(dual, [solutions[i] for i in part], poll, model), strict=True
            ):
                solutions[i] = bounded(problem, solutions[i], bound)
    return _notes(problem, unbounded, len({s.slice for s in solutions}), names)


def bound_by_slopes(problem, solutions, a, model=None):
    """The solutions of one slice with the lower bounds that dual points a (n, m) give, each point
    for all of them: one read of X, so that the bounds hold over all columns.

    model: as in `bound_solutions`; slopes that it knows compete. Nothing is done for m = 0, or
        where no dual point says anything.
    """
    rows = [i for i, s in enumerate(solutions) if s.status != FitStatus.SEPARATED]
    if not rows or not a.shape[1]:
        return solutions
    few, out = [solutions[i] for i in rows], list(solutions)
    dual = relaxation.dual_problem(problem, few[0].lambda1, few[0].lambda2)
    if not dual.bounded:
        return solutions
    step = max(1, HELD_ENTRIES // (problem.X.n + problem.X.p))
    bounds = np.full(len(few), -math.inf)
    for start in range(0, max(a.shape[1], len(few)), step):
        fits = [standardized(problem, s) for s in few[start : start + step]]
        sources = [relaxation.evaluate(dual, a[:, start : start + step])] + (
            [] if model is None or not fits else [_from_verification(dual, few, fits, model)[0]]
        )
        for points in sources:
            for what, values in targets(few).items():
                found = (
                    relaxation.penalized_bounds(dual, points, values)
                    if what == "lambda0"
                    else relaxation.cardinality_bounds(dual, points, int(values.max()))[values]
                )
                bounds = np.maximum(bounds, found.max(axis=1, initial=-math.inf))
    for i, bound in zip(rows, bounds, strict=True):
        out[i] = bounded(problem, out[i], bound)
    return out


def _from_verification(dual, solutions, fits, model):
    """`Points` of the slopes of solutions of one slice that the model knows, fits their
    standardized coefficients; and the numbers of these.
    """
    known, a, tau, rounding_factor = model.verified_slopes(
        fits, solutions[0].lambda1, solutions[0].lambda2
    )
    J = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(fits[i][0] for i in known)]))
    U = np.zeros((J.size, len(known)))
    for m, i in enumerate(known):
        U[np.searchsorted(J, fits[i][0]), m] = fits[i][1]
    return relaxation.points_of_slopes(dual, a, tau, (J, U), rounding_factor), known


def first_points(dual, solutions, fits, model=None):
    """`Points` of the slopes of solutions, fits their standardized coefficients: those that the
    model knows, the others by one read of X, which is not made for the null model alone.
    """
    if model is None:
        return starting_points(dual, fits, solutions[0].lambda2)
    points, known = _from_verification(dual, solutions, fits, model)
    missing = [
        fit for i, fit in enumerate(fits) if i not in set(known) and (fit[0].size or not known)
    ]
    if dual.split is not None:
        missing.append(relaxation.least_squares(dual.problem, solutions[0].lambda2))
    if not missing:
        return points
    read = relaxation.points_of_fits(dual, missing)
    return relaxation.Points(
        *(np.concatenate(pair, axis=-1) for pair in zip(points, read, strict=True))
    )


def _bounds(dual, solutions, poll, model):
    """(t,) lower bounds of the objectives of some solutions of one slice."""
    fits = [standardized(dual.problem, s) for s in solutions]
    start = first_points(dual, solutions, fits, model)
    goal = np.array([s.objective for s in solutions])
    return relaxation.improve(
        dual,
        start=start,
        goal=goal,
        coefficients=fits,
        steps=FIT_READS,
        poll=poll,
        **targets(solutions),
    ).lower


def starting_points(dual, fits, lambda2, gram=None):
    """The dual points of some fits and, for a split, of the fit on all columns: without it bounds
    can be lower than what least squares tells anybody. One read of X.
    """
    if dual.split is not None:
        fits = [*fits, relaxation.least_squares(dual.problem, lambda2, gram)]
    return relaxation.points_of_fits(dual, fits)


def targets(solutions):
    """The targets of `relaxation.improve` for these solutions: their lambda0, or on a support grid
    their sizes.
    """
    if solutions and not math.isnan(solutions[0].lambda0):
        return {"lambda0": np.array([s.lambda0 for s in solutions])}
    return {"sizes": np.array([s.k for s in solutions])}


def why_unbounded(problem, names=None):
    """Why a problem without ridge has no bounds; names: of the columns, None for their numbers."""
    if not problem.quadratic:
        return "with lambda2 = 0 and no finite box on every feature nothing bounds the coefficients"
    rows, columns = problem.X.n, int(problem.usable.sum())
    if rows * columns > COPIED_ENTRIES or rows > columns > relaxation.splitting.MOST_SPLIT:
        return (
            "with lambda2 = 0 bounds need the eigenvalues of the Gram matrix, and X has too many "
            "entries or features for that"
        )
    start = "with lambda2 = 0 and no finite box on every feature the bounds of a squared loss need"
    if columns >= rows:
        return f"{start} more rows than features, and X has {rows} rows and {columns} features"
    found = dependent(problem)
    which = described(found, range_names(problem) if names is None else names)
    return f"{start} linearly independent features; " + (
        f"linear combinations of earlier features (or nearly so): {which}"
        if found
        else "those of X are nearly dependent"
    )


def outnumbered(problem):
    """Whether a problem has no more rows than usable features. Bounds beside a small ridge are
    loose there.
    """
    return problem.X.n <= int(problem.usable.sum())


def unbounded_remedy(problem):
    """What gives bounds to a problem that has none."""
    box = "assume a box: path.certify(k=..., box=M)"
    if outnumbered(problem):
        return (
            "fit with a ridge that is not small (lambda2=0.1, or 0.01; the bounds of 1e-3 are "
            f"loose), ask for a smaller k, or {box}"
        )
    return f"fit with a ridge (lambda2=1e-3), or {box}"


def range_names(problem):
    """Names "column 0", "column 1", ... of the columns of a problem."""
    return [f"feature {j}" for j in range(problem.X.p)]


def _notes(problem, unbounded, slices, names):
    """unbounded: {number of a slice without bounds: its lambda1}."""
    if not unbounded:
        return []
    which = f" in slice {', '.join(map(str, sorted(unbounded)))}" if len(unbounded) < slices else ""
    remedy, few = unbounded_remedy(problem), int(problem.usable.sum()) < problem.n_eff
    if few and not (problem.quadratic or problem.boxed or any(unbounded.values())):
        remedy = f"path.certify(k=...) proves models by a search, without a ridge; or {remedy}"
    return [f"no lower bounds{which}: {why_unbounded(problem, names)}; {remedy}"]
