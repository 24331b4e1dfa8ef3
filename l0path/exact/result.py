"""The parts of a certificate: the result of a search, what it rests on, and why there is no
proof, in words.
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.status import GLOBAL_GAP, FitStatus, Optimality, SearchEnd, relative_gap
from ..problem.dependence import HIDDEN, dependent, described
from ..problem.problem import Fit
from ..problem.solution import in_user_units
from ..problem.traits import MONOTONE, SENT
from ..relaxation.path_bounds import bounded, outnumbered
from .bounding import IN_BOX, TWICE

LOOKED_AT = 1e8  # n p^2 up to which a certificate looks for linear combinations: some 0.1 s
# of an objective: rounding that is smaller changes no proof
TOLD_APART = 1e-9
NO_BOUNDS = "features without ridge and without a box leave a search no bounds"
# how a search over all sizes may end without a proof
WHY_ENDED = {
    SearchEnd.NO_OPTIMUM: "a model of this size or a smaller one has no finite optimum",
    SearchEnd.TOO_CLOSE: "features are almost linear combinations of others, and their fits prove "
    "nothing; leave some out with exclude=, or fit with a ridge, lambda2=1e-3",
}
TIME_OVER = "the time limit ended the search; raise time_limit"
# why sets may be missing, by the status of a search over all sizes that was stopped
WHY_STOPPED = {
    "max_models": "there are more than max_models={most} models; raise it, or lower within=",
    "time_limit": TIME_OVER,
    "interrupted": "Ctrl-C ended the search",
}
# why there is no proof, by the status of a certificate, where nothing else kept a search from it
WHY_NO_PROOF = {
    "time_limit": TIME_OVER,
    "interrupted": "Ctrl-C ended the search",
    "node_limit": "the node limit ended the search; raise node_limit",
    "gap_not_closed": "the gap was not closed, or a fit has not converged",
}
MOST_NAMES = 5  # names in a message


class CertificateResult(NamedTuple):
    """The result of a search, in units of the problem."""

    fit: Fit | None  # a better model than the given one
    lower: float  # of the objective of every model
    loss: float  # no best model has a smaller mean loss
    best: list  # the n_best best models, where several are wanted
    nodes: int  # solved
    # "optimal", or what ended the search: "time_limit", "node_limit", "interrupted" or
    # "gap_not_closed"
    status: str
    unique: bool  # whether there is one best model
    conditional: bool  # whether it holds for models within an assumed box only
    assumptions: list
    into: np.ndarray  # units that every best model has
    out: np.ndarray  # units that no best model has
    searched: str  # what was searched, "" where the bound alone decided


def hidden(problem, lambda2, length=HIDDEN):
    """[(column, [columns])] that rounding hides beside others, where no ridge sets them apart: see
    `problem.dependence`; length: what they keep of theirs at most.
    """
    if 2.0 * lambda2 > length**2 * problem.square.max(initial=0.0):
        return []
    J = np.flatnonzero(problem.usable)
    return dependent(problem, (max(2e-14, problem.rounding(J)), length))


def told_apart_by_box(dual, objective, size=None, lambda0=None):
    """Whether a box keeps coefficients so small that rounding of a Gram matrix moves no objective
    of a model of `size` chosen columns, or at lambda0, by more than TOLD_APART of `objective`.
    """
    with np.errstate(invalid="ignore"):
        reach = np.maximum(-dual.lower, dual.upper) * np.sqrt(dual.problem.square)
    reach = np.where(dual.problem.usable, reach, 0.0)
    forced, chosen = reach[~dual.counted].sum(), np.sort(reach[dual.counted])[::-1]
    most = size
    if size is None:  # no better model pays for more columns than these
        cost = lambda0 * float(dual.problem.factor[dual.counted].min(initial=np.inf))
        most = int(min(objective / cost, chosen.size)) if cost > 0 else chosen.size
    moved = dual.gamma * (forced + chosen[:most].sum()) ** 2
    return bool(moved <= TOLD_APART * abs(objective))


def hidden_within_box(dual, lambda2, objective, **target):
    """`hidden`, nothing where a box tells columns of a squared loss apart (`told_apart_by_box`)."""
    if dual.problem.quadratic and told_apart_by_box(dual, objective, **target):
        return []
    return hidden(dual.problem, lambda2)


def why_hidden(found, names):
    """The reason why the columns that `hidden` has found keep searches from a proof."""
    return (
        "almost linear combinations, which searches do not tell from true ones; leave some out "
        f"with exclude=, or fit with a ridge, lambda2=1e-3: {described(found, names)}"
    )


def too_dependent(problem, names):
    """Why leaps and bounds does not end: dependent columns of a problem."""
    if outnumbered(problem):
        return (
            f"X has {int(problem.usable.sum())} features and {problem.X.n} rows, too many features "
            "for leaps and bounds without a ridge; ask for a smaller k, fit with a ridge "
            "(lambda2=0.1, or 0.01), or leave features out with exclude="
        )
    found = dependent(problem)
    return (
        f"{len(found)} features are linear combinations of earlier ones (or nearly so), too many "
        "for leaps and bounds; leave some out with exclude=, or fit with a ridge, lambda2=1e-3: "
        f"{described(found, names)}"
    )


def why_no_optimum(loss, solution):
    """The reason why the bounds of a solution that has no finite optimum are not computed, "" for
    none.
    """
    remedy = "add a little shrinkage, lambda2=1e-3"
    monotone = loss.traits.recession == MONOTONE
    if solution.status == FitStatus.SEPARATED:
        how = "the likelihood is monotone in the features"
        if not monotone:
            sent = SENT.get(loss.traits.recession)
            how = f"the features send {sent}" if sent else "the features separate the classes"
        return f"{how}, so the model has no finite optimum; {remedy}"
    return ""


def models_without_optimum(problem, path):
    """The reason why a search over all sizes misses sets where some have no finite optimum."""
    recession = problem.loss.traits.recession
    do = "make the likelihood monotone" if recession == MONOTONE else "separate the classes"
    do = f"send {SENT[recession]}" if recession in SENT else do
    apart = [s for s in path._solutions if s.status == FitStatus.SEPARATED]
    if not apart:
        return (
            "some models have no finite optimum, or none that was reached, as where features "
            f"{do}: these are not among the models; leave such features out with exclude="
        )
    support = min(apart, key=lambda s: s.k).support
    names = ", ".join(path.names[j] for j in support[:MOST_NAMES])
    names += ", ..." if support.size > MOST_NAMES else ""
    return (
        f"features {do} (such as {names}), so models with them have no finite optimum and are not "
        "among the models; leave such features out with exclude="
    )


def why_not_compared(search, ended, names, labels):
    """The reason why a search that computes every model has no proof, "" where it has one; names of
    columns, labels of groups.
    """
    if ended == SearchEnd.TOO_CLOSE:
        return (
            f"{', '.join(names[j] for j in search.close)} are so close to each other that their "
            "fit is not accurate enough; nothing is called proven"
        )
    if ended == SearchEnd.NO_OPTIMUM:
        return (
            f"the model of {', '.join(str(labels[g]) for g in search.open_units)} has no finite "
            "optimum, or none that was reached, so the others cannot be compared with it; add a "
            "little shrinkage, lambda2=1e-3"
        )
    return ""


def assumptions(search):
    """The assumptions of the result of a `CertificateSearch`, as texts; an assumed box first."""
    out, bounds, data = [], search.bounds, search.data
    if bounds.conditional:
        how = "as given"
        if isinstance(search.given, str):
            how = f"{TWICE:g} times the largest |b_j| of this model"
        out.append(
            f"assumes |b_j| <= {bounds.box:.6g} in standardized units ({how}): bound and fixed "
            "features hold only for models within it"
        )
    copies = 0 if data.copies is None else len(data.copies)
    if (out_of_it := int((~bounds.whole.usable).sum()) - copies) > 0:
        which = "feature that is" if out_of_it == 1 else "features that are"
        stays = "stays" if out_of_it == 1 else "stay"
        out.append(f"{out_of_it} {which} excluded or constant {stays} out")
    if copies:
        which = "feature equal to another one is" if copies == 1 else "features equal to others are"
        out.append(
            f"{copies} {which} left out, which changes no optimum; each can stand in for the one "
            "it equals"
        )
    out += kept_hierarchy(bounds.whole)
    open_ = search.status() != "optimal"
    if search.unsearched and open_ and not bounds.reason and not search.obstacle:
        out.append(f"the search did not branch: {search.unsearched}")
    if bounds.reason and not math.isfinite(bounds.lower):
        out.append(f"no lower bound: {bounds.reason}")
    alone = bounds.by_tangents or not bounds.reason
    if search.obstacle and alone and open_:
        out.append(f"no proof: {search.obstacle}")
    elif open_ and not any(text.startswith("no ") for text in out):
        why = search.obstacle or bounds.reason or WHY_NO_PROOF[search.status()]
        if why == TIME_OVER and outnumbered(bounds.whole):
            why += ", ask for a smaller k, or fit with a larger lambda2, whose bounds are tighter"
        out.append(f"no proof: {why}")
    return out


def combinations_of_columns(problem, lambda2, names):
    """A list of one text that names columns which are linear combinations of others, as R's
    `alias`, or of none; [] beside a ridge, with more columns than rows, and where it takes long.
    """
    J = np.flatnonzero(problem.usable)
    if lambda2 or J.size >= problem.X.n or problem.X.n * float(J.size) ** 2 > LOOKED_AT:
        return []
    found = dependent(problem, (0.0, max(2e-14, problem.rounding(J))))
    if not found:
        return []
    what = "1 feature is a linear combination" if len(found) == 1 else ""
    what = what or f"{len(found)} features are linear combinations"
    return [f"{what} of others, so different models can be the same: {described(found, names)}"]


def kept_hierarchy(problem):
    """What a claim assumes where models keep a hierarchy: a list of one text, or of none."""
    hierarchy = problem.hierarchy
    if hierarchy is None or not hierarchy.needs.any():
        return []
    return [f"among models that keep the hierarchy of terms, heredity={hierarchy.rule!r}"]


def in_place_of(solution, fit, problem, data, weights):
    """A fit of a search as a `Solution` in the place of the one that was searched; weights (n,) of
    all rows.
    """
    chosen = int(problem.free_units[fit.units].sum())
    return in_user_units(
        problem,
        data,
        weights,
        fit,
        number=solution.slice,
        k=solution.k if math.isnan(solution.lambda0) else chosen,
        lambda0=solution.lambda0,
        lambda1=solution.lambda1,
        lambda2=solution.lambda2,
        optimality=Optimality.STATIONARY,
    )


def is_better(found, solution):
    """Whether a `Solution` that a search has found is to take the place of another one: it is
    lower, and by more than rounding where it has fewer columns or groups than the size asked for.
    """
    if not found.objective < solution.objective:
        return False
    fewer = math.isnan(solution.lambda0) and found.units.size < solution.units.size
    return not fewer or relative_gap(solution.objective, found.objective) > GLOBAL_GAP


def certified(solution, result, problem, data, weights):
    """The solution, or the better model that the search has found, with its bound; one that rests
    on an assumed box is flagged, and closes nothing, and one from an earlier box is forgotten.
    """
    s = solution
    if result.fit is not None:
        found = in_place_of(s, result.fit, problem, data, weights)
        if is_better(found, s):
            s = found._replace(lambda0_low=math.nan, lambda0_high=math.nan)
    if result.conditional or IN_BOX in s.flags:
        s = s._replace(lower_bound=math.nan, flags=tuple(f for f in s.flags if f != IN_BOX))
    s = bounded(problem, s, result.lower)
    if not result.conditional:
        return s
    weaker = Optimality.STATIONARY if s.optimality == Optimality.GLOBAL else s.optimality
    return s._replace(optimality=weaker, flags=(*s.flags, IN_BOX))
