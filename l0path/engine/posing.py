"""From a request to the setting of its search: the problem, and what X decides where the user does
not, which is copies of columns, sizes, and grids of lambda1 and lambda2.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..core.arguments import some
from ..core.control import Control
from ..core.status import End
from ..core.tables import pandas_of
from ..designs import Dense, Derived
from ..designs.copies import without_copies
from ..problem.conjugates import smooth
from ..problem.coupled.arguments import given_anew
from ..problem.losses import Hinge, name_of, smoothness
from ..problem.problem import (
    Problem,
    checksum,
    counted_for_sizes,
    counted_trials,
    pose,
    row_weights,
    with_loss,
)
from ..problem.problem import constant as constant_up_to_rounding
from ..working_set.model import make_model
from ..working_set.starts import null_gradient
from .grids import Grid, Ridges
from .registry import newton_steps, search_settings
from .request import Arguments, Plan, Request, data_of
from .strategies.pilots import pilot_loss

MOST_LOOKED_INTO = 64  # columns that count as constant, whose values are looked at


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The data that all stages of a run share.

    Attributes
    ----------
    request : Request
        What was asked for, with what X decides.
    problem : Problem
        The problem in the solvers' units.
    control : Control
        What ends the run.
    weights : ndarray of shape (n,)
        Weights of all rows, sum 1.
    working_set : GramModel or RowModel
        The columns at hand; of a smoothed hinge where the loss is the hinge.
    hinge : KinkedModel, optional
        The working columns of the hinge itself, which has no exchanges: its supports are those of
        a smoothed hinge, its coefficients its own.
    route : Plan
        The plan of the search; that of the path to start from where models are proven.
    slices : tuple of pairs
        The values (lambda1, lambda2).
    max_k : int
        The largest size.
    free : int
        How many columns, or groups, may be chosen.
    notes : tuple of str
        What was noticed before the search.
    cut : str
        What became of a max_k beyond the columns, empty where it was kept.
    memo : dict
        What `assemble` computes once.
    """

    request: Request
    problem: Problem
    control: Control
    weights: np.ndarray
    working_set: Any
    hinge: Any
    route: Plan
    slices: tuple
    max_k: int
    free: int
    notes: tuple
    cut: str
    memo: dict = field(default_factory=dict)


def resolved(request, clock):
    """(the request with what X decides, its Problem): copies of columns, the number of the loss
    that a pilot fit finds, and notes on both. Nothing but the problem is new where an earlier fit
    found them.
    """
    problem = pose(request.data, request.row_counts, request.all_rows)
    if request.resolved:
        return request, problem
    data, notes = request.data, list(request.notes)
    if request.pilot:
        loss, more = pilot_loss(problem, clock.over)
        notes += more
        data, problem = replace(data, loss=loss), with_loss(problem, loss)
    notes += [*_fractional_note(data), *_constant_notes(data, problem)]
    pairs, more = without_copies(data, problem, _any_ridge(request))
    usable = problem.usable.copy()
    usable[pairs[:, 0]] = False
    return (
        replace(
            request,
            data=replace(data, copies=pairs),
            notes=(*notes, *more),
            resolved=True,
            pilot=False,
        ),
        replace(problem, usable=usable),
    )


def _fractional_note(data):
    """A note on counts that are no whole numbers, of which the negative binomial distribution has
    none.
    """
    if name_of(data.loss) != "negative_binomial":
        return []
    odd = int(np.count_nonzero(data.y[data.weights > 0] % 1.0))
    text = "likelihood and theta are those of its formula with gamma functions"
    return [f"{odd} counts of y are no whole numbers; {text}"] if odd else []


def _constant_notes(data, problem):
    """Notes about columns that are never chosen, because they are constant (or, under `derived`
    names, products that are), or because a loss that couples rows does not see them.
    """
    constant = np.flatnonzero(~problem.usable & ~data.excluded)
    if not constant.size:
        return []
    many = f"{constant.size} constant feature{'s' if constant.size > 1 else ''}"
    if (problem.square[constant] > 0).any():
        others = {"survival": "constant in every risk set"}
        kind = others.get(data.loss.traits.response, "that the loss does not see")
        plain = not data.loss.traits.coupled
        many = f"{many} or products of them" if plain else f"{many.replace('constant ', '')} {kind}"
    notes = [f"{many}, never chosen: {some(constant, data.names)}"]
    barely_varying, tiny = _in_last_digits(data, constant)
    if barely_varying.size:
        notes.append(
            "features that differ from a constant in their last digits only count as constant; if "
            "these differences matter, subtract a value near the mean from the feature first: "
            + some(barely_varying, data.names)
        )
    if tiny.size:
        notes.append(
            "features whose squares are too small for floating point numbers count as constant; "
            f"multiply them by a number: {some(tiny, data.names)}"
        )
    return notes


def _in_last_digits(data, columns):
    """Those of the first columns of a matrix in memory that are constant but for rounding, and
    those whose squares underflow.
    """
    if not isinstance(data.design, Dense):
        return columns[:0], columns[:0]
    first, w = columns[:MOST_LOOKED_INTO], data.weights[data.weights > 0]
    Z = data.design.columns(first)[data.weights > 0]
    mean = w @ Z / w.sum()
    barely_varying = constant_up_to_rounding(mean, w @ (Z - mean) ** 2 / w.sum())
    varies = np.ptp(Z, axis=0) > 0
    tiny = varies & (np.abs(Z - mean).max(axis=0) > 1e-8 * np.abs(mean))
    return first[barely_varying & varies & ~tiny], first[tiny]


def _any_ridge(request):
    """Whether lambda2 > 0 in any slice."""
    if request.slices is not None:
        return any(lambda2 > 0 for _, lambda2 in request.slices)
    lambda2 = request.plan.lambda2
    if lambda2 is None or isinstance(lambda2, Grid):
        return lambda2 is not None
    return bool((lambda2 > 0).any())


def prepared(request, control):
    """The `Setting` of a run: the problem, sizes, slices, and the columns at hand."""
    request, problem = resolved(request, control.clock)
    plan, free = request.plan, problem.units_to_choose
    want = plan.max_k
    if want is None:
        want = default_max_k(
            request.data.groups, problem.X.p, counted_for_sizes(request.data, request.row_counts)
        )
    max_k, cut = max(min(want, free), 0), ""
    if plan.max_k is not None and max_k < want:
        cut = f"max_k = {want} was cut to {max_k}, the number of usable {problem.units.unit}s"
    hinge = make_model(problem) if isinstance(problem.loss, Hinge) else None
    soft = problem if hinge is None else replace(problem, loss=smooth(problem.loss))
    model = make_model(soft, newton_steps(plan.settings))
    model.grow(problem.forced)
    if request.certify is True:
        model.remember_slopes()
    slices = request.slices
    return Setting(
        request=request,
        problem=problem,
        control=control,
        weights=row_weights(request.data, request.row_counts),
        working_set=model,
        hinge=hinge,
        route=replace(plan, settings=search_settings(plan.settings)),
        slices=_slices(problem, model, plan) if slices is None else tuple(slices),
        max_k=max_k,
        free=free,
        notes=(*request.notes, cut) if cut else request.notes,
        cut=cut,
    )


def _slices(problem, model, plan):
    """(lambda1, lambda2) pairs, largest shrinkage first. A grid of lambda2 starts at the curvature
    of the loss, so that the largest halves the coefficients or more.
    """
    null = model.null(0.0, 0.0)
    lambda1 = np.zeros(1) if plan.lambda1 is None else plan.lambda1
    lambda2 = np.zeros(1) if plan.lambda2 is None else plan.lambda2
    if isinstance(lambda1, Grid):
        gradient = null_gradient(model, null)
        if problem.turn is not None:  # coefficients are those times the roots of weights, or of
            gradient = gradient @ problem.turn  # contrasts of classes
        top = float(np.abs(gradient).max(initial=0.0))
        lambda1 = lambda1.values("lambda1", max(top, 1e-300))
    if isinstance(lambda2, Grid):
        top = curvature(problem, model, null)
        if isinstance(lambda2, Ridges):
            top *= mean_square(problem)
        lambda2 = lambda2.values("lambda2", top)
    return tuple((float(a), float(b)) for a in lambda1 for b in lambda2)


def curvature(problem, model, null):
    """The curvature of the mean loss in eta: the largest that the loss has, or where it has no
    bound, as that of counts, its mean at the null model.
    """
    top = smoothness(problem.loss)
    return top if math.isfinite(top) else float(model.derivatives(null)[2].sum())


def mean_square(problem):
    """The mean over the columns that may be chosen of their mean squares: 1 where they are
    standardized. Times `curvature` it is the unit of `Ridges`, a ridge that shrinks the coefficient
    of an average column to a third of that without one.
    """
    free = problem.usable
    return float(problem.square[free].mean()) if free.any() else 1.0


def default_max_k(groups, p, n_eff):
    """min(p, n_eff // 2, 100); with groups (`Groups`, else None) their number for p, and n_eff // 2
    over their mean size.
    """
    return min(_most(groups, p, n_eff), 100)


def _most(groups, p, n_eff):
    """The largest size that the numbers of rows and of columns, or groups, suggest."""
    if groups is not None:
        count = len(groups.labels)
        return int(min(count, max(1, n_eff // 2 * count // groups.columns.size)))
    return int(min(p, n_eff // 2))


def larger_sizes(path, s):
    """Whether a solution of a path has the largest size that was tried, although the data would
    allow larger ones: up to all features, or half of the rows.
    """
    meta, plan, groups = path._meta, path._source.plan, path._meta.groups
    sizes, free = {one.k for one in path._solutions}, meta.units_to_choose
    if plan is None:  # loaded: where nothing ended it before, max_k did
        whole = path._end == End.COMPLETE and meta.grid == "support"
        asked = max(sizes, default=0) if whole else np.inf
    else:
        default = default_max_k(groups, meta.p, meta.n_sizes)
        asked = default if plan.max_k is None else plan.max_k
    # a path that ended before had no more features, or no use for them
    if free is None or len(sizes) < 2 or not asked <= s.k == max(sizes):
        return False
    return s.k < min(free, _most(groups, meta.p, meta.n_eff))


# -------------------- the data of an earlier fit


def data_of_fit(path, X=None, y=None):
    """The `Data` that a path was fitted on: those kept in memory, or those of X and y."""
    data = path._source.data
    if X is not None:
        X, y, by_row = path._given(X, y, trials=None)
        if y is None:
            raise ValueError("pass y= together with X=")
        by_row.pop("strata", None)  # of a formula: the path has those of the fit
        data = _data_given_anew(path, X, y, **by_row)
    if data is None:
        lost = path._source.lost
        raise ValueError(
            "the data are not kept with a loaded path"
            + (f" ({lost})" if lost else "")
            + ": pass X= and y=, those of the fit"
        )
    if path._meta.checksum and checksum(data) != path._meta.checksum:
        raise ValueError(
            "X or y differ from those of the fit (checksum); pass the X and y that the "
            "path was fitted on, unchanged"
        )
    return data


def _data_given_anew(path, X, y, offset, trials):
    """Data for a loaded path from X and y given anew; weights, trials of shares, and an offset that
    no column of the table held, are not stored, so such paths need a new fit. trials: those of
    counts in two columns, else None.
    """
    meta, X = given_anew(path._meta), pandas_of(X)
    if isinstance(meta.names, Derived) or meta.formula is not None:
        X, _ = path._new_design(X)
    unknown = (
        "the path was fitted with an offset or weights, which a path file does not hold; fit again "
        "to use this method"
    )
    if (meta.has_offset and offset is None) or meta.weighted:
        raise ValueError(unknown)
    named = isinstance(X, pd.DataFrame) or isinstance(meta.names, Derived)
    two = meta.classes is not None and meta.responses is None and not meta.ordered
    arguments = Arguments(
        loss=meta.loss,
        fit_intercept=meta.intercept,
        standardize=meta.standardize,
        offset=offset,
        trials=trials,
        lower=meta.lower,
        upper=meta.upper,
        always_include=meta.forced,
        exclude=np.flatnonzero(meta.excluded),
        penalty_factor=meta.factor,
        feature_names=None if named else meta.names,
        strata=meta.stratum if meta.ties else None,
        parameters=_parameters(meta),
        pos_label=meta.classes[1] if two else None,
    )
    data = data_of(X, y, arguments, read=True)[0]
    if meta.trials is not None and not math.isclose(counted_trials(data), meta.trials):
        raise ValueError(unknown)
    loss = data.loss if meta.traits.response == "survival" else path._loss_record()
    return replace(data, loss=loss, groups=meta.groups, apart="L1" in meta.penalty)


def _parameters(meta):
    """What the record of the loss of a fit had, by the names in `problem`."""
    given = {
        "ties": meta.ties,
        "response_weights": meta.response_weights,
        "baseline": meta.baseline,
    }
    if meta.traits.parameter:
        given[meta.traits.parameter] = meta.loss_parameter
    return {name: value for name, value in given.items() if value is not None}
