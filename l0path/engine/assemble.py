"""From the results of engines to the rows of a path: fits in the user's units, lambda0 intervals
from the lower convex hull, rows for lambda0 values.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from ..core import threads
from ..core.arguments import some
from ..core.status import End, FitStatus, Optimality
from ..designs import Dense
from ..exchange.local_search import LocalSearch, pairs_tried
from ..exchange.neighborhoods.groups import groups_tried
from ..paths.records import Meta
from ..problem.coupled.arguments import ties_of
from ..problem.families.endless import falls_for_ever
from ..problem.losses import name_of
from ..problem.problem import checksum, copies_of, counted_trials
from ..problem.responses import likelihood_constant
from ..problem.solution import EXCHANGES, in_user_units
from ..relaxation.path_bounds import bounded
from ..working_set.ties import Twins
from .grids import Grid
from .protocols import Point, Slice
from .reported import Reporting

GATHERED = 1 << 22  # entries of columns that are held at a time: 32 MB


class SolvedSlice(NamedTuple):
    """The rows of one slice, with notes.

    Attributes
    ----------
    solutions : list of Solution
        In the user's units.
    rounds : list of dict
        The profile of the search.
    starts : tuple of ndarray
        Supports, or sets of groups, from which the next slice starts.
    notes : tuple of str
        What the user should be told.
    near : str
        A note on near combinations of columns, which several slices may have in common.
    separated : tuple of pairs
        (k, fit) of the models without a finite optimum.
    last : tuple, optional
        (k, fit, number of supports found that do as well) of the separated size that ends the
        slice.
    saturated : bool
        Whether the sizes end before max_k, because no other feature would change anything.
    """

    solutions: list
    rounds: list
    starts: tuple = ()
    notes: tuple = ()
    near: str = ""
    separated: tuple = ()
    last: tuple | None = None
    saturated: bool = False


# -------------------- fits in the user's units


def solution(setting, number, part: Slice, point: Point, predicted=None):
    """The `Solution` of a point of a slice. predicted: X beta, where it is known."""
    problem, model, optimality = setting.problem, setting.working_set, point.optimality
    fit = _first_of_a_kind(setting, point.fit, part)
    if fit is not point.fit:
        predicted = None  # opposite columns may differ by a constant
    shrunk = part.lambda1 or part.lambda2 or problem.boxed
    runs_off = problem.loss.traits.recession and not shrunk
    unclear = model.unclear or (runs_off and model.close)
    if unclear and model.negligible_ridge(part.lambda2) and fit.support.size:
        optimality = Optimality.UNVERIFIED
        if runs_off and np.isin(fit.support, model.near).sum() > 1:
            # whether the loss falls for ever along their difference is beyond what is computed
            fit = fit._replace(flags=(*fit.flags, FitStatus.NOT_CONVERGED))
    if setting.hinge is not None:
        fit = _of_the_hinge(setting, fit, part)
        if optimality != Optimality.UNVERIFIED:
            optimality = Optimality.STATIONARY
    if falls_for_ever(problem, fit, part.lambda1 or part.lambda2):
        fit = fit._replace(flags=(*fit.flags, FitStatus.SEPARATED))
    found = in_user_units(
        problem,
        setting.request.data,
        setting.weights,
        fit,
        number=number,
        k=point.k,
        lambda0=point.lambda0,
        lambda1=part.lambda1,
        lambda2=part.lambda2,
        optimality=optimality,
        free=setting.free,
        predicted=predicted,
    )
    settings = setting.route.settings
    if optimality == Optimality.REFIT_SWAP_M and isinstance(settings, LocalSearch):
        m = (
            pairs_tried(settings, problem.refit_rows, fit.support.size)
            if problem.groups is None
            else groups_tried(settings)
        )
        found = found._replace(flags=(*found.flags, f"{EXCHANGES}{m}"))
    return bounded(problem, found, point.lower_bound)


def _first_of_a_kind(setting, fit, part):
    """The fit with the columns of smallest index among equal and opposite ones."""
    if setting.problem.groups is not None or setting.control.inconsistent or not fit.support.size:
        return fit
    key = "shrunk" if part.lambda1 or part.lambda2 else "not shrunk"
    if key not in setting.memo:
        setting.memo[key] = Twins(setting.working_set, key == "not shrunk")
    return setting.memo[key].smallest(fit)


def _of_the_hinge(setting, fit, part):
    """The fit of the hinge itself on the support of one of a smoothed hinge."""
    setting.hinge.grow(fit.support)
    own = setting.hinge.refit(fit.support, part.lambda1, part.lambda2)
    return setting.problem.fit_of(own, fit.units)


def solutions_of(setting, number, part, points):
    """Solutions of many points."""
    fits = [point.fit for point in points]
    if not (part.lambda1 or part.lambda2 or setting.problem.boxed):
        fits = setting.working_set.polished(fits)
        points = [point._replace(fit=fit) for point, fit in zip(points, fits, strict=True)]
    known = _predictions(setting, fits)
    return [
        solution(setting, number, part, point, predicted)
        for point, predicted in zip(points, known, strict=True)
    ]


def below_none(points, tolerance):
    """Points of sizes, ascending, of which none claims what a smaller model contradicts: columns
    can be added with coefficients of 0. A fit above that of some of its columns has not converged,
    and a model above a smaller one is not the best of its size. Once a fit has not converged for
    this reason, the fits with which a larger model above a smaller one was compared are as
    doubtful, and nothing is claimed of that model.

    tolerance(fit): the decrease of its value that counts as one.
    """
    out, smaller, spoilt = [], [], False
    for point in sorted(points, key=lambda p: p.k):
        fit = point.fit
        limit = fit.value - tolerance(fit)
        lower = [f for f in smaller if f.value < limit]
        if any(np.isin(f.support, fit.support).all() for f in lower):
            flags = tuple(dict.fromkeys((*fit.flags, FitStatus.NOT_CONVERGED)))
            point, spoilt = point._replace(fit=fit._replace(flags=flags)), True
        elif lower and (spoilt or point.optimality == Optimality.GLOBAL):
            point = point._replace(optimality=Optimality.UNVERIFIED)
        smaller.append(fit)
        out.append(point)
    return out


def _predictions(setting, fits):
    """X beta of each fit, those of many by one product with the columns that they share; None for
    several responses and the hinge, and where X is not an array in memory.
    """
    design, start = setting.request.data.design, 0
    dense = isinstance(design, Dense)
    if setting.hinge is not None or not dense or setting.problem.turn is not None:
        yield from (None for _ in fits)
        return
    scale = setting.problem.X.scale
    while start < len(fits):
        stop = len(fits)
        while True:
            J = np.unique(np.concatenate([fit.support for fit in fits[start:stop]]))
            if max(J.size, stop - start) * design.n <= GATHERED or stop == start + 1:
                break
            stop = start + (stop - start) // 2
        coefficients = np.zeros((stop - start, J.size))
        for row, fit in zip(coefficients, fits[start:stop], strict=True):
            row[np.searchsorted(J, fit.support)] = fit.b / scale[fit.support]
        with threads.one_blas_thread():
            predicted = coefficients @ design.columns(J).T
        yield from predicted
        start = stop


# -------------------- lambda0


def hull(x, F):
    """Lower convex hull of the points (x_i, F_i) towards larger x: list of (i, low, high) with the
    lambda0 interval in which point i minimizes F + lambda0 x.

    Intervals are [low, high), adjoining, the first with high = inf; the last point's low is 0.
    Points that no lambda0 picks are left out.
    """
    order = sorted(range(len(x)), key=lambda i: (x[i], F[i]))
    chain = []
    for i in order:
        if chain and x[i] == x[chain[-1]]:
            continue
        while len(chain) >= 2:
            a, b = chain[-2], chain[-1]
            # b lies on or above the line from a to i
            if (F[b] - F[a]) * (x[i] - x[a]) >= (F[i] - F[a]) * (x[b] - x[a]):
                chain.pop()
            else:
                break
        if chain and F[i] >= F[chain[-1]]:
            continue
        chain.append(i)
    edges = [np.inf, *((F[a] - F[b]) / (x[b] - x[a]) for a, b in itertools.pairwise(chain)), 0.0]
    return [(i, float(edges[t + 1]), float(edges[t])) for t, i in enumerate(chain)]


def hull_grid(intervals, count):
    """Dynamic lambda0 values for hull intervals: the end of the null interval, then 1 % below each
    value at which the support changes (inside the next interval).
    """
    values = [intervals[0][1] if intervals[0][1] > 0 else 1.0]
    for _, low, high in intervals[1:]:
        values.append(
            0.99 * high if 0.99 * high > low else np.sqrt(low * high) if low > 0 else 0.5 * high
        )
    return np.array(values[:count])


def cost(problem, row):
    """sum f_j over the unforced columns (or groups) of a solution: what lambda0 multiplies."""
    return float(problem.unit_factor[row.units].sum())


def with_intervals(setting, rows, engine):
    """(rows with their lambda0 intervals, the intervals, costs). One column beyond max_k, by its
    best addition, bounds the last interval from below.
    """
    x = [cost(setting.problem, row) for row in rows]
    F = [row.loss + row.shrinkage for row in rows]
    # an interrupt raised by something else than Ctrl-C may fall where the working columns are
    # half updated: no kernel may run on them after it
    whole = (
        not setting.control.inconsistent
        and rows
        and rows[-1].k == engine.result.last == setting.max_k
    )
    beyond = engine.next_value() if whole else None
    if beyond is None:
        intervals = hull(x, F)
    else:
        pieces = hull([*x, x[-1] + 1.0], [*F, beyond])
        intervals = [piece for piece in pieces if piece[0] < len(rows)]
    if setting.control.end and intervals:
        # stopped early: what larger sizes would have taken over is not known
        intervals[-1] = (intervals[-1][0], float("nan"), intervals[-1][2])
    out = list(rows)
    for i, low, high in intervals:
        out[i] = out[i]._replace(lambda0_low=low, lambda0_high=high)
    return out, intervals, x


def with_hull(problem, null, rows, last):
    """Rows of a lambda0 path with their intervals, which start from the null model even where no
    lambda0 of the grid shows it; last: where the last one ends.
    """
    ends, out = [null, *rows], list(rows)
    pieces = hull([cost(problem, s) for s in ends], [s.loss + s.shrinkage for s in ends])
    for i, low, high in pieces:
        if low == 0.0 and last > 0.0:
            low = min(last, high)  # below it another column enters
        for at in [i - 1] if i else [t for t, s in enumerate(rows) if s.k == 0]:
            out[at] = out[at]._replace(lambda0_low=low, lambda0_high=high)
    return out


def on_lambda0(setting, optimality_if_verified, rows, intervals, x):
    """(rows for lambda0 values, notes): the dynamic grid of the hull, or the user's values, each
    with the stored model of least loss + shrinkage + lambda0 sum f.
    """
    plan = setting.request.plan
    F = np.array([row.loss + row.shrinkage for row in rows])
    dynamic = isinstance(plan.lambda0, Grid)
    values = plan.lambda0
    if dynamic:
        values = hull_grid(intervals, plan.lambda0.most)
        least = (plan.lambda0.ratio or 0.0) * max(values, default=0.0)
        values = [value for value in values if value >= least]
    out, short = [], 0
    floor = intervals[-1][1] if intervals else 0.0
    for value in values:
        i = intervals[len(out)][0] if dynamic else int(np.argmin(F + value * np.asarray(x)))
        row = rows[i]
        flags = row.flags
        if not dynamic and value < floor and not setting.control.end:
            flags, short = (*flags, "max_k"), short + 1
        # the only model of a size need not be the best for a lambda0
        only = row.optimality == Optimality.GLOBAL
        out.append(
            row._replace(
                lambda0=float(value),
                objective=float(F[i] + value * x[i]),
                flags=flags,
                lower_bound=float("nan"),
                optimality=optimality_if_verified if only else row.optimality,
            )
        )
    note = (
        f"{short} of the lambda0 values call for more than max_k = {setting.max_k} "
        f"{setting.problem.units.unit}s; their rows show the best model up to that size and carry "
        "the flag max_k"
    )
    return out, (note,) if short else ()


def rehulled(solutions, problem):
    """Solutions with the lambda0 intervals that hold now, after some were replaced by better ones.
    On a support grid those of the hull, the last size's ending where it did; on a lambda0 grid,
    which does not show every model of the hull, what other rows leave of the old ones.
    """
    out = list(solutions)
    for number in {s.slice for s in solutions if s.relax == 1.0}:  # mixtures have none
        rows = [i for i, s in enumerate(solutions) if s.slice == number]
        points = [solutions[i] for i in rows]
        x = [cost(problem, p) for p in points]
        F = [p.loss + p.shrinkage for p in points]
        if math.isnan(points[0].lambda0):
            last = points[-1].lambda0_low
            found = dict.fromkeys(range(len(rows)), (math.nan, math.nan))
            for i, low, high in hull(x, F):
                found[i] = min(last, high) if i == len(rows) - 1 else low, high
        else:
            found = {i: _left_over(i, points[i], x, F) for i in range(len(rows))}
        for i, (low, high) in found.items():
            out[rows[i]] = out[rows[i]]._replace(lambda0_low=low, lambda0_high=high)
    return out


def _left_over(i, point, x, F):
    """The part of a point's interval [low, high) that the other points (x_j, F_j) leave; NaN if
    none.
    """
    low, high = point.lambda0_low, point.lambda0_high
    for a, f in zip(x, F, strict=True):
        if a > x[i]:
            low = max(low, (F[i] - f) / (a - x[i]))
        elif a < x[i]:
            high = min(high, (f - F[i]) / (x[i] - a))
        elif f < F[i]:
            high = math.nan
    return (low, high) if low < high else (math.nan, math.nan)


# -------------------- notes


def near_note(model, names):
    """A note on columns that are almost combinations of each other, "" where there are none."""
    if model.near is None:
        return ""
    note = (
        f"{model.near.size} features are almost linear combinations of each other: beside the "
        "others they keep less than 1e-4 of their length. Models with them were fitted on their "
        "rows, which is slower and exact, and nothing is claimed without such fits: "
        f"{some(model.near, names)}"
    )
    ridge_note = (
        "; some keep less than 1e-12 of their length beside the others, too little for any claim"
    )
    return note + (ridge_note if model.unclear else "")


def is_saturated(setting, result):
    """Whether sizes end before max_k because no other feature would change anything."""
    short = result.last < min(setting.max_k, setting.problem.units_to_choose)
    return result.end == End.SATURATED and short


def why_saturated(result, problem):
    """A note on the size at which a path ends before max_k."""
    fit = next(point.fit for point in result.points if point.k == result.last)
    if not np.isfinite(fit.value):
        return (
            f"sizes end at k = {result.last}, where the loss is beyond all numbers: a row is too "
            "far out for the features in every model within their bounds; widen the bounds, or "
            "leave the row out"
        )
    why = (
        "the fit is perfect"
        if problem.perfect(fit.value, result.scale)
        else f"every other {problem.units.unit} is a linear combination of those chosen"
        + (" and the intercept" if problem.intercept else "")
        + " and would change nothing"
    )
    return f"sizes end at k = {result.last}, where {why}"


def separated_points(points):
    """((k, fit), ...) of the points without a finite optimum."""
    return tuple((point.k, point.fit) for point in points if FitStatus.SEPARATED in point.fit.flags)


# -------------------- what all rows share


def reporting(setting):
    """The `Reporting` of a run."""
    if "reporting" not in setting.memo:
        held = None if setting.control.inconsistent else setting.working_set
        setting.memo["reporting"] = Reporting(
            setting.problem, setting.request.data, setting.weights, setting.free, held
        )
    return setting.memo["reporting"]


def meta_of(setting):
    """The `Meta` of a path."""
    if "meta" not in setting.memo:
        setting.memo["meta"] = _meta(setting)
    return setting.memo["meta"]


def _meta(setting):
    request, problem = setting.request, setting.problem
    data, X, plan = request.data, problem.X, request.plan
    encoding, seed = request.formula, plan.random_state
    counts = request.row_counts
    named = encoding is None or encoding.other_offset or not encoding.offsets
    whole_seed = isinstance(seed, (int, np.integer))
    return Meta(
        names=data.names,
        n=data.design.n,
        p=data.design.p,
        n_eff=problem.n_eff,
        loss=name_of(data.loss),
        loss_parameter=_parameter(data.loss),
        loss_numbers=() if data.loss.traits.response == "survival" else tuple(data.loss),
        intercept=data.intercept or data.loss.traits.constant,
        standardize=data.standardize,
        null_loss=_null_loss(setting),
        center=X.center if data.intercept or data.loss.traits.constant else np.zeros(X.p),
        scale=X.scale,
        forced=problem.forced,
        factor=data.factor,
        lower=data.lower,
        upper=data.upper,
        excluded=data.excluded,
        classes=data.classes,
        penalty="L0"
        + ("L1" if any(a for a, _ in setting.slices) else "")
        + ("L2" if any(b for _, b in setting.slices) else ""),
        algorithm=type(plan.settings).__name__,
        grid=plan.grid,
        has_offset=data.offset is not None and named,
        offset_name=request.offset_name,
        strata_name=request.strata_name,
        weighted=_weighted(data),
        importance=data.importance,
        by_name=request.by_name,
        booleans=request.booleans,
        response=request.response,
        groups=data.groups,
        formula=encoding,
        random_state=seed if whole_seed else None,
        # it reads columns, which a lost cluster cannot send
        checksum=checksum(data) if counts is None and setting.control.error is None else "",
        log_constant=_likelihood_constant(setting),
        trials=None if data.trials is None else counted_trials(data, counts),
        events=_weight_of_events(data, counts),
        copies=_rows_at_risk(data, counts),
        units_to_choose=problem.units_to_choose,
        floor=reporting(setting).problem.floor,
        responses=data.responses,
        response_weights=data.response_weights,
        strata=data.strata,
        stratum=data.loss.stratum if data.strata is not None and counts is None else None,
        ties=ties_of(data.loss) if data.loss.traits.partial else None,
    )


def _weighted(data):
    """Whether weights were given: some rows count more than others, more than once, or not at all;
    rows of no trials do not count either.
    """
    out = data.weights == 0
    if data.trials is not None:
        out &= data.trials > 0
    return bool(data.importance or data.counts is not None or out.any())


def _likelihood_constant(setting):
    """What the log-likelihood of the data needs beside mean losses."""
    data, keep = setting.request.data, setting.request.row_counts
    if not data.loss.traits.gaussian:
        y, weights = data.y, setting.weights
        if data.several:  # all of them as one sample
            shares = data.response_weights / data.response_weights.sum()
            y, weights = y.T.ravel(), np.outer(shares, weights).ravel()
        return likelihood_constant(data.loss, y, weights, data.trials)
    if not data.importance:
        return 0.0
    # variances are divided by the weights, whose mean over the rows is 1
    copies = copies_of(data.weights, data.counts, keep)
    seen = copies > 0
    copies, w = copies[seen], setting.weights[seen]
    return -float(copies @ np.log(w / copies * copies.sum())) / float(copies.sum())


def _weight_of_events(data, keep):
    """The weight of the events of survival times, of which the mean over the rows is 1."""
    if data.loss.traits.response != "survival":
        return None
    w = data.weights if keep is None else data.weights * keep
    return float(_rows_at_risk(data, keep) * (w @ data.y) / w.sum())


def _rows_at_risk(data, keep):
    """The number of rows of survival times, copies among them."""
    if data.loss.traits.response != "survival":
        return None
    return float(copies_of(data.weights, data.counts, keep).sum())


def _parameter(loss):
    """The parameter of a loss, in units of y."""
    argument = loss.traits.parameter
    return loss._asdict()[argument] if argument else None


def _null_loss(setting):
    """The mean loss of intercept and offset alone."""
    model = setting.working_set if setting.hinge is None else setting.hinge
    fit = model.refit(np.empty(0, dtype=np.int64), 0.0, 0.0)._replace(value=0.0, flags=())
    null = solution(setting, 0, Slice(0.0, 0.0, 0), Point(0, fit, Optimality.GLOBAL))
    return reporting(setting).solution(null).loss
