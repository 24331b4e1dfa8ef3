"""From a request to the setting of its search: the problem, and what X decides where the user does
not, which is copies of columns, sizes, grids of lambda1 and lambda2, and the threshold of the Huber
loss.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.arguments import some
from ..core.control import Control
from ..designs.copies import without_copies
from ..problem.conjugates import smooth
from ..problem.losses import Hinge, Huber, smoothness
from ..problem.problem import Problem, pose, row_weights, weighted_median
from ..working_set.hinge import make_model
from ..working_set.rows import RowModel
from ..working_set.starts import null_gradient
from .registry import search_settings
from .request import PENALTIES, Plan, Request

MAD_TO_SD = 1.482602218505602  # standard deviation of a normal variable over its MAD
SDS_OF_HUBER = 1.345  # thresholds of so many standard deviations: 95 % efficiency at the normal
PILOT_READS, PILOT_RENEWALS = 10, 50  # of X in a pilot path; of the threshold on its last support
ALL_EQUAL = 1e-9  # a MAD below this share of the spread of y is 0


def selectable(problem):
    """How many columns, or groups, may be chosen."""
    if problem.groups is not None:
        return int(problem.groups.selectable(problem.usable).sum())
    return int(problem.usable.sum()) - problem.forced.size


def unit(problem):
    """The unit that sizes count, for messages: "columns" or "groups"."""
    return "columns" if problem.groups is None else "groups"


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
    hinge : HingeModel, optional
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
    """(the request with what X decides, its Problem): copies of columns, the threshold of the Huber
    loss, and notes on both. Nothing but the problem is new where an earlier fit found them.
    """
    problem = pose(request.data, request.row_counts, request.all_rows)
    if request.resolved:
        return request, problem
    data, notes = request.data, list(request.notes)
    if request.pilot:
        delta, exact = huber_threshold(problem, clock.over)
        if exact:
            notes.append(
                "more than half of the residuals of a pilot fit are equal, so the threshold of the "
                f"Huber loss is a floor, delta = {delta:.4g}; pass delta= in units of y to set it"
            )
        data, problem = replace(data, loss=Huber(delta)), replace(problem, loss=Huber(delta))
    notes += _constant_notes(data, problem)
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


def _constant_notes(data, problem):
    """Notes about columns that are never chosen, because they are constant (or, under `derived`
    names, products that are).
    """
    constant = np.flatnonzero(~problem.usable & ~data.excluded)
    if not constant.size:
        return []
    more = " or products of them" if (problem.square[constant] > 0).any() else ""
    return [
        f"{constant.size} constant column{'s' if constant.size > 1 else ''}{more}, never chosen: "
        + some(constant, data.names)
    ]


def _any_ridge(request):
    """Whether lambda2 > 0 in any slice."""
    if request.slices is not None:
        return any(lambda2 > 0 for _, lambda2 in request.slices)
    if request.plan.lambda2 is None:
        return 2 in PENALTIES[request.plan.penalty]
    return bool((np.asarray(request.plan.lambda2) > 0).any())


def prepared(request, problem, control):
    """The `Setting` of a run: sizes, slices, and the columns at hand."""
    plan, free = request.plan, selectable(problem)
    want = plan.max_k
    if want is None:
        want = default_max_k(request.data.groups, problem.X.p, problem.n_eff)
    max_k, cut = max(min(want, free), 0), ""
    if plan.max_k is not None and max_k < want:
        cut = (
            f"max_k = {want} was cut to {max_k}, the number of usable "
            f"{'columns' if problem.groups is None else 'groups'}"
        )
    hinge = make_model(problem) if isinstance(problem.loss, Hinge) else None
    soft = problem if hinge is None else replace(problem, loss=smooth(problem.loss))
    model = columns_of(soft, plan)
    if request.certify:
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


def columns_of(problem, plan):
    """Working columns of a problem, none but the forced ones at first."""
    model = make_model(problem)
    model.max_iter = plan.max_iter
    model.grow(problem.forced)
    return model


def _slices(problem, model, plan):
    """(lambda1, lambda2) pairs, largest shrinkage first; default grids where the penalty names a
    term that is not given.
    """
    named = PENALTIES[plan.penalty]
    null = model.null(0.0, 0.0)
    lambda1, lambda2 = plan.lambda1, plan.lambda2
    if lambda1 is None:
        lambda1 = np.zeros(1)
        if 1 in named:
            top = float(np.abs(null_gradient(model, null)).max(initial=0.0))
            lambda1 = shrink_grid(max(top, 1e-300), plan.n_shrink)
    if lambda2 is None:
        top = smoothness(problem.loss)
        if not math.isfinite(top):
            # the curvature has no bound: its mean at the null model stands in
            top = float(model.derivatives(null)[2].sum())
        lambda2 = shrink_grid(top, plan.n_shrink) if 2 in named else np.zeros(1)
    return tuple((float(a), float(b)) for a in lambda1 for b in lambda2)


def shrink_grid(top, count):
    """`count` values from top down to 1e-4 top, geometric (ours start at the loss's curvature, so
    that the largest halves the coefficients or more).
    """
    return top * np.geomspace(1.0, 1e-4, count) if count > 1 else np.array([top])


def default_max_k(groups, p, n_eff):
    """min(p, n_eff // 2, 100); with groups (`Groups`, else None) their number for p, and n_eff // 2
    over their mean size.
    """
    if groups is not None:
        count = len(groups.labels)
        return int(min(count, max(1, n_eff // 2 * count // groups.columns.size), 100))
    return int(min(p, n_eff // 2, 100))


def huber_threshold(problem, over=lambda: False):
    """Threshold of the Huber loss from the residuals of a pilot path of that loss.

    The pilot adds one column at a time, the one of largest standardised gradient, while that is
    more than noise gives, sqrt(2 log p) standard errors (Donoho & Johnstone, Biometrika 81, 1994),
    up to k = min(p, n_eff / 10) columns (forced ones among them; groups count by their columns, the
    box and the shrinkage are left out). On every support the threshold is renewed from the
    residuals,

        delta = 1.345 * 1.4826 * MAD,

    MAD their weighted median size, and on the last support until it no longer changes: on that
    support it is what `rlm` of R's package MASS ends with. The factor 1.345 gives 95 % efficiency
    at normal errors (Huber, Annals of Mathematical Statistics 35, 1964). There is no correction for
    the coefficients fitted: with ten observations for each it would be 5 %, and the threshold of
    `rlm` would not be met. A pilot reads X at most ten times.

    Parameters
    ----------
    problem : Problem
        Its loss is ignored.
    over : callable
        Whether the time is up; the threshold is then the last one.

    Returns
    -------
    float
        The threshold in units of y, positive.
    bool
        Whether it is a floor, because more than half of the residuals are equal: 1.345 hundredths
        of the mean absolute deviation of y (1 where y does not vary).
    """
    pilot, support = _Pilot(problem), problem.forced
    wanted = min(int(problem.usable.sum()), int(problem.n_eff // 10)) - support.size
    fit = pilot.refit(support, None)
    for step in range(max(wanted, 0)):
        j = (
            None
            if over()
            else pilot.best_column(fit, step % -(-wanted // PILOT_READS) == 0, wanted)
        )
        if j is None:
            break
        at = int(np.searchsorted(fit.support, j))
        start = np.insert(fit.b, at, 0.0), fit.b0
        fit = pilot.refit(np.insert(fit.support, at, j), start)
    for _ in range(PILOT_RENEWALS):
        before = pilot.delta
        if over():
            break
        fit = pilot.refit(fit.support, (fit.b, fit.b0))
        if abs(pilot.delta - before) <= 1e-12 * before:
            break
    return pilot.delta, pilot.exact


class _Pilot:
    """The state of `huber_threshold`: the threshold, and a model of the loss with it on the working
    columns.
    """

    def __init__(self, problem):
        none = np.full(problem.X.p, np.inf)
        self.problem = replace(problem, lower=-none, upper=none, groups=None)
        r = problem.y - problem.offset
        if problem.intercept:
            r = r - weighted_median(r, problem.weights)
        self.spread = float(problem.weights @ np.abs(r))
        self.renew(r)
        self.model = self.made()
        self.model.grow(problem.forced)

    def renew(self, r):
        """Take the threshold from the residuals of a model."""
        w = self.problem.weights
        scale = MAD_TO_SD * float(weighted_median(np.abs(r), w))
        # an intercept between equal values and the others makes equal residuals that are not 0
        alike = float(weighted_median(np.abs(r - weighted_median(r, w)), w))
        self.exact = min(scale, alike) <= ALL_EQUAL * self.spread
        if self.exact:
            scale = 0.01 * self.spread if self.spread > 0 else 1.0 / SDS_OF_HUBER
        self.delta = SDS_OF_HUBER * scale

    def made(self):
        """A model of the loss with the threshold of now."""
        return RowModel(replace(self.problem, loss=Huber(self.delta)))

    def refit(self, support, start):
        """The fit on a support, from whose residuals the threshold is renewed."""
        model = self.made()
        model.share(self.model)
        self.model, self.used = model, self.delta
        fit = model.refit(support, 0.0, 0.0, start)
        eta, self.slopes, _ = model.derivatives(fit)
        self.renew(self.problem.y - eta)
        return fit

    def best_column(self, fit, all_columns, wanted):
        """The working column of largest standardised gradient, None if noise gives as much; look:
        take the largest ones of all p columns among the working columns first.
        """
        p, model = self.problem, self.model
        usable = np.flatnonzero(p.usable)
        if all_columns and model.width < usable.size:
            most = max(
                min(
                    2 * -(-wanted // PILOT_READS) + 10,
                    max(model.columns_in_memory // PILOT_READS, 4),
                ),
                1,
            )
            if usable.size > most * PILOT_READS:
                c = np.abs(p.X.correlate(self.slopes[:, None])[:, 0])
                usable = _largest(usable, c / np.sqrt(np.where(p.square > 0, p.square, 1.0)), most)
            model.grow(usable)
        J = model.W
        score = np.abs(model.Z[: model.width] @ self.slopes) / np.sqrt(p.square[J])
        score[~p.usable[J] | np.isin(J, fit.support)] = 0.0
        # slopes are w_i psi_i: noise in a standardised column gives |psi| / sqrt(n), |psi| their
        # root mean square
        psi = float(np.sqrt(self.slopes @ (self.slopes / p.weights)))
        noise = np.sqrt(2.0 * np.log(max(int(p.usable.sum()), 2)) / p.n_eff) * psi
        if not score.size or score.max() <= max(noise, ALL_EQUAL * min(self.used, self.spread)):
            return None
        return int(J[score == score.max()].min())


def _largest(J, score, most):
    """The `most` columns of J of largest score; ties go to the smaller column."""
    return J[np.argsort(-score[J], kind="stable")[:most]]
