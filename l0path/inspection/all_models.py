"""The best models of all sizes by a criterion, and all models nearly as good as the best:
`best_subset`, `Path.certify(criterion=)` and `Path.near_best`.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..compiled import HELPING_PROCESSES
from ..core.arguments import is_whole
from ..core.control import Clock, Control, deferred_interrupts
from ..core.describing import described_by
from ..core.progress import Bar
from ..core.status import GLOBAL_GAP, FitStatus, Optimality, SearchEnd, relative_gap
from ..core.types import Matrix
from ..engine.assemble import rehulled
from ..engine.reported import Reporting
from ..exact.all_sizes.choice import (
    by_trees,
    enumeration,
    few_columns,
    make_search,
    refits,
)
from ..exact.all_sizes.enumeration import MOST_MODELS, Enumeration, enumerable
from ..exact.all_sizes.nested import servable_nested
from ..exact.all_sizes.scores import (
    BestOfEach,
    BestSets,
    CoefficientCounts,
    LikelihoodScore,
    Score,
    SetsOfSmoothed,
)
from ..exact.all_sizes.search import servable
from ..exact.all_sizes.sized_tree import SizedTree
from ..exact.all_sizes.subtrees import MOST_COLUMNS
from ..exact.result import (
    WHY_ENDED,
    WHY_STOPPED,
    hidden,
    in_place_of,
    kept_hierarchy,
    models_without_optimum,
    too_dependent,
    why_hidden,
)
from ..fitting import fit
from ..paths import Model, Path
from ..paths.criteria import (
    MOST_TERMS,
    PERFECT,
    RULES,
    criteria_of_sizes,
    minus_twice_log_likelihood,
    noise_variance,
    observations,
)
from ..problem.losses import OWN_LOSSES
from ..problem.problem import pose, row_weights
from ..relaxation.path_bounds import bounded
from ..working_set.hinge import NOT_UNIQUE
from ..working_set.model import make_model
from .certificate import Certificate, check_limits
from .model_set import ModelSet
from .neighbors import fit_data

CHOICE_OPERATIONS = 2e9  # of such a comparison, some seconds
AGREEING = 1e-6  # of an objective: the models of two searches may differ by less


class BestModels(NamedTuple):
    """Result of a search for the best sets."""

    models: list  # the best first
    scores: np.ndarray  # theirs
    bound: float  # no other set has a smaller score
    ended: SearchEnd
    full: bool  # whether there are more than are kept
    nodes: int
    searched: str  # what was searched, as a text


def best_subset(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    criterion: str = "bic",
    n_best: int = 1,
    time_limit: float | None = None,
    **fit_options: Any,
) -> Certificate:
    """The proven best models over all sizes by an information criterion.

    A path gives the first models. Then one search over all sizes finds every set of features with a
    smaller criterion, or proves that there is none. Sizes that cannot hold the best model are not
    searched.

        minimize over sets S   -2 loglik(S) + penalty(|S|),  for Cp RSS(S) / sigma2 + penalty(|S|)

    With groups, or terms of a formula, S are sets of them, and penalty(S) is that of their number
    and of their coefficients, the rank of their columns.

    Under a squared loss -2 loglik is n (log(2 pi RSS / n) + 1). Other losses with a likelihood
    (logistic, Poisson, gamma, Cox, ordered and several classes, ...) and several responses are
    searched by leaps and bounds over fits.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix or design
        The features to choose from, at most 200 usable features, fewer than rows (survival times:
        than events).
    y : array-like of shape (n,), optional
        The response.
    criterion : str, default "bic"
        "aic", "aicc", "bic", "ebic", "gic", "mbic" or "cp", as in `Path.score_table`.
    n_best : int, default 1
        How many of the best models are wanted, of any sizes.
    time_limit : float, optional
        Seconds. None means no limit.
    **fit_options : Any
        Other arguments of `fit`, such as loss, sample_weight, always_include and exclude; no
        shrinkage or bounds.

    Returns
    -------
    Certificate
        `best` are the models, the best first; `proven` says whether no other one is better than the
        last of them. `incumbent` and `lower_bound` are values of the criterion.

    Raises
    ------
    ValueError
        If the criterion is not known, or models cannot be compared: shrinkage, bounds, no
        likelihood, or no more observations than features.

    References
    ----------
    Hofmann, Gatu, Kontoghiorghes, Colubi & Zeileis, Journal of Statistical Software 93(3), 2020
    (`lmSelect` of the R package lmSubsets).

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters()
    >>> best = l0path.best_subset(data.X, data.y, criterion="bic", n_best=3)
    >>> best.proven, [model.k for model in best.best]
    (True, [6, 8, 8])
    """
    began = time.perf_counter()
    criterion = _criterion(criterion)
    check_limits(n_best, time_limit)
    limited = {} if time_limit is None else {"time_limit": time_limit}
    path = fit(X, y, **{"certify": False, **limited, **fit_options})
    left = None if time_limit is None else max(time_limit - time.perf_counter() + began, 1e-3)
    show = fit_options.get("progress")
    return certify_by(path, criterion, n_best=n_best, time_limit=left, progress=show)


def certify_by(path, criterion, *, n_best=1, time_limit=30, progress=None, X=None, y=None):
    """`Path.certify(criterion=...)`."""
    began = time.perf_counter()
    criterion = _criterion(criterion)
    check_limits(n_best, time_limit)
    task = SetSearch(path, X, y)
    score = task.by_criterion(criterion)
    found = task.run(score, {"n_best": int(n_best)}, time_limit, progress)
    models, best = found.models, found.scores
    # a search that closes has left out what is above the last of the best models only
    bound = min(found.bound, best[0])
    proven = found.ended == SearchEnd.CLOSED
    unique = proven and len(best) > 1 and best[1] > best[0] + 1e-6
    units, free = models[0].path._solutions[0].units, task.problem.free_units
    inside, others = units[free[units]], np.setdiff1d(np.flatnonzero(free), units)
    none = np.empty(0, dtype=np.int64)
    return Certificate(
        model=models[0],
        incumbent=float(best[0]),
        lower_bound=float(bound),
        gap=float(best[0] - bound),
        proven=proven,
        deviance_ratio_bound=1.0,
        best=models,
        nodes=found.nodes,
        seconds=time.perf_counter() - began,
        status=task.status,
        assumptions=[
            f"over all sizes, by {criterion}",
            *kept_hierarchy(task.problem),
            *([f"no proof: {task.open}"] if task.status == "gap_not_closed" else []),
        ],
        fixed_in=inside if unique else none,
        fixed_out=others if unique else none,
        path=models[0].path,
        unique=unique,
        search=found.searched,
        criterion=criterion,
    )


def certify_size(path, index, *, n_best=1, time_limit=30, progress=None, X=None, y=None):
    """The `Certificate` of a row of a grid of sizes by a search of all sets of its size, of a loss
    that a search smooths: every set whose smoothed loss leaves a chance is fitted by the loss
    itself. None where no such search serves the path.
    """
    began, before = time.perf_counter(), path._solutions[index]
    try:
        task = SetSearch(path.slice(before.slice), X, y)
        score = task.of_size(before.k)
        found = task.run(score, {"n_best": max(int(n_best), 2)}, time_limit, progress)
    except ValueError:
        return None
    proven = found.ended == SearchEnd.CLOSED
    best, scores = found.models[: int(n_best)], found.scores
    s = best[0]._solution
    s = (
        s._replace(lambda0_low=math.nan, lambda0_high=math.nan)
        if (s.objective < before.objective - 1e-12 * abs(before.objective))
        else before
    )
    s = bounded(task.reporting.problem, s, min(found.bound, s.objective))
    rows = [*path._solutions[:index], s, *path._solutions[index + 1 :]]
    notes, rounds = [*path.notes], path.rounds.to_dict("records")
    rows = rehulled(rows, task.problem) if s.loss != before.loss else rows
    whole = Path(path._meta, rows, path.status, notes, rounds, path._source, end=path._end)
    model = Model(whole, index)
    unique = proven and (len(scores) < 2 or scores[1] > scores[0] + GLOBAL_GAP * abs(scores[0]))
    unique = unique and NOT_UNIQUE not in s.flags
    units, free = s.units, task.problem.free_units
    inside, others = units[free[units]], np.setdiff1d(np.flatnonzero(free), units)
    none = np.empty(0, dtype=np.int64)
    return Certificate(
        model=model,
        incumbent=s.objective,
        lower_bound=s.lower_bound,
        gap=relative_gap(s.objective, s.lower_bound),
        proven=proven,
        deviance_ratio_bound=path._meta.deviance_ratio(s.loss if proven else s.lower_bound),
        best=[model] if n_best == 1 else best,
        nodes=found.nodes,
        seconds=time.perf_counter() - began,
        status=task.status,
        assumptions=[
            *kept_hierarchy(task.problem),
            *([f"no proof: {task.open}"] if not proven and task.open else []),
        ],
        fixed_in=inside if unique else none,
        fixed_out=others if unique else none,
        path=whole,
        unique=unique,
        search=f"leaps and bounds: {found.nodes} node{'' if found.nodes == 1 else 's'}, models "
        "compared by the loss that was not smoothed",
    )


@described_by(Path.near_best)
def near_best(
    self: Path,
    k: int | None = None,
    *,
    within: float | None = None,
    criterion: str | None = None,
    max_models: int = 10_000,
    time_limit: float | None = None,
    progress: bool | None = None,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
) -> ModelSet:
    if isinstance(k, str):
        raise ValueError(f"k={k!r} is no size; a criterion is named by near_best(criterion={k!r})")
    if (k is None) == (criterion is None):
        raise ValueError(
            f"near_best has {'neither' if k is None else 'both'} k= {'nor' * (k is None) or 'and'} "
            "criterion=; give k= for models of one size, near_best(k=3), or criterion= for models "
            "of all sizes, near_best(criterion='bic')"
        )
    check_limits(max_models, time_limit, "max_models")
    within = (0.01 if criterion is None else 2.0) if within is None else within
    if (
        isinstance(within, bool)
        or not isinstance(within, (int, float, np.number))
        or (not 0 <= within < math.inf)
    ):
        raise ValueError(f"within={within!r} must be a number >= 0")
    size = None
    if is_whole(k) and k >= 0:
        size = int(k)
    task = SetSearch(self, X, y, ridge=criterion is None, size=size)
    problem = task.reporting.problem
    floor = problem.floor if criterion is None else 0.0
    if criterion is None:
        score, name = task.of_size(k), "objective"

        perfect = floor + problem.left_of_perfect(self._meta.null_loss - floor)

        def limit(best):
            most = best + within * (best - floor)
            # models that fit perfectly are equally good, whatever rounding leaves of them
            return max(most, perfect) if best <= perfect else most
    else:
        name = _criterion(criterion)
        score = task.by_criterion(name)

        def limit(best):
            return best + within

    found = task.run(score, {"limit": limit, "most": max_models}, time_limit, progress)
    return ModelSet(
        models=found.models,
        score=name,
        scores=found.scores,
        within=float(within),
        floor=floor,
        complete=found.ended == SearchEnd.CLOSED and not found.full,
        reason=task.open,
    )


class Choice(NamedTuple):
    """What criteria choose among all sets of terms: found, {name: (value, Solution)}, without the
    criteria for which no model is left; why: why sets were not compared, "" where all were.
    """

    found: dict
    why: str


def best_by(path, names, options):
    """The best models of a path by criteria, rows of the path or not.

    Parameters
    ----------
    path : Path
        Some of whose groups have several columns.
    names : sequence of str
        The criteria.
    options : dict
        p_total, sigma2 and ebic_gamma, as in `Path.score_table`.

    Returns
    -------
    Choice
        It is kept with the data of the path.
    """
    extra, out = path._source.extra, {}
    why = _why_not_compared(path)
    if why:
        return Choice({}, why)
    key = tuple(sorted(options.items()))
    missing = [name for name in names if (name, key) not in extra]
    if missing:
        extra |= {(name, key): one for name, one in _search(path, missing, options).items()}
    for name in names:
        one = extra[name, key]
        out |= one.found
        why = why or one.why
    return Choice(out, why)


def _search(path, names, options):
    """{name: `Choice` of it} by one search."""
    try:
        task = SetSearch(path)
        scores = [task.by_criterion(name, **options) for name in names]
        found, why = task.best_of_each(scores)
    except ValueError as error:
        return dict.fromkeys(names, Choice({}, str(error)))
    pairs = zip(names, found, strict=True)
    return {name: Choice({} if one is None else {name: one}, why) for name, one in pairs}


def _why_not_compared(path):
    """Why the sets of terms of a path are not compared by criteria, in short; "" if they are."""
    meta, path = path._meta, compared_slice(path)
    first = path._solutions[0]
    chosen = int((np.isfinite(meta.groups.factor) & (meta.groups.factor > 0)).sum())
    if chosen > MOST_TERMS:
        return (
            f"there are {chosen} terms, more than {MOST_TERMS}; path.certify(criterion=...) "
            "compares all sets"
        )
    if meta.grid != "support" or any(s.slice != first.slice for s in path._solutions):
        return "the path has several slices, or a grid of lambda0"
    if first.lambda1 or first.lambda2:
        return "models are shrunken, and criteria are for those that are not"
    if path._source.data is None:
        return "the data are not kept with a loaded path"
    return ""


def _criterion(given):
    """The name of a criterion, in lower case."""
    name = given.lower() if isinstance(given, str) else given
    if name not in RULES:
        raise ValueError(f"criterion={given!r} is not known; choose one of {', '.join(RULES)}")
    return name


def _unserved(problem, solution, loss, ridge):
    """Why the sets of a problem are not compared, each reason with its remedy; loss: its name;
    ridge: one is no reason.
    """
    count, lambda2, why = int(problem.usable.sum()), solution.lambda2, []
    if solution.lambda1:
        why.append(f"lambda1={solution.lambda1:g} shrinks coefficients; fit with lambda1=0")
    if lambda2 and not ridge:
        why.append(
            f"lambda2={lambda2:g}, and criteria are for models without shrinkage; fit with "
            "lambda2=0"
        )
    if problem.boxed:
        why.append("there are bounds on coefficients; fit without lower= and upper=")
    if problem.one_gram and count > MOST_COLUMNS:
        why.append(
            f"under the squared loss all models are compared for at most {MOST_COLUMNS} features, "
            f"and of more features those of a size k= that has at most {MOST_MODELS:,.0f} models; "
            f"here are {count} features: leave some out with exclude="
        )
    elif not problem.one_gram and not few_columns(problem, lambda2 if ridge else 0.0):
        rows = "events" if loss == "cox" else "rows"
        why.append(
            f"all models are compared for fewer features than {rows}, and here are {count} "
            f"features and {problem.n_eff:g} {rows}: leave features out with exclude="
        )
        if by_trees(problem, 1.0):
            why[-1] += ", or compare models of one size under a ridge: near_best(k=), lambda2 > 0"
        elif ridge:
            why[-1] += f" (under a ridge at most {MOST_COLUMNS} may stay)"
    if not why:
        why.append(f"all models are compared for smooth losses only, and loss={loss!r} is none")
    return (
        ". ".join(text[0].upper() + text[1:] if i else text for i, text in enumerate(why))
        + ". model.alternatives() lists the exchanges of one feature for any number of features"
    )


def compared_slice(path):
    """The slice without shrinkage of a path with several, where it has one; else the path."""
    slices = {s.slice: s for s in path._solutions}
    plain = [number for number, s in slices.items() if not (s.lambda1 or s.lambda2)]
    return path.slice(plain[0]) if len(slices) > 1 and plain else path


class SetSearch:
    """A search of all sets of columns of the data of a path, copies of columns among them; of those
    that keep a hierarchy where the path keeps one.

    status: as of `Certificate`; open: why sets may be missing, as a text, "" where none is; counts:
    `CoefficientCounts` of groups. size: the one that is asked for, if it is known.
    """

    def __init__(self, path, X=None, y=None, ridge=False, size=None):
        path = compared_slice(path)
        self.path, self.data = path, fit_data(path, X, y)
        self.status, self.open = "optimal", ""
        self.problem, self.row = pose(self.data), None
        self.reporting = Reporting(self.problem, self.data, row_weights(self.data))
        rows = [s for s in path._solutions if s.slice == path._solutions[0].slice]
        if len(rows) < len(path._solutions):
            raise ValueError("the path has several slices: take one of them, path.slice(i)")
        if path._meta.grid != "support":
            raise ValueError("models of a lambda0 grid are not compared; fit without lambda0=")
        if path._meta.loss in OWN_LOSSES:
            raise ValueError(
                f"the search over all models needs the conjugate of the loss, and loss="
                f"{path._meta.loss!r}, which is your own, has none; model.alternatives() compares "
                "models one exchange away"
            )
        first = rows[0]
        self.lambda2 = first.lambda2
        served = ridge or not self.lambda2
        squared = servable(self.problem, first.lambda1)
        nested = servable_nested(self.problem, first.lambda1)
        # of many columns the sets of a small size can all be computed
        listed = size is not None and not first.lambda1 and enumerable(self.problem, [size])
        self.size = size
        self.tree = nested and not squared and by_trees(self.problem, self.lambda2)
        nested = nested and (self.tree or few_columns(self.problem, self.lambda2))
        searched = served and (squared or nested)
        if not searched and not listed:
            raise ValueError(_unserved(self.problem, first, path._meta.loss, ridge))
        self.model, self.listed = make_model(self.problem), not searched
        if searched and not self.tree:
            self.model.grow(np.flatnonzero(self.problem.usable))
        self.most, self.counts = self.problem.units_to_choose, None

    def of_size(self, k):
        """The objective of models of k columns, or groups."""
        if not is_whole(k) or not 0 <= k <= self.most:
            raise ValueError(f"k={k!r} must be a whole number from 0 to {self.most}")
        penalty = np.full(self.most + 1, math.inf)
        penalty[k] = 0.0
        return Score(penalty, self.problem.n_eff, 1.0)

    def by_criterion(self, name, *, p_total=None, sigma2=None, ebic_gamma=1.0):
        """A criterion over all sizes for which it is defined; its arguments are those of
        `Path.score_table`.
        """
        path, n = self.path, self.path._meta.n_eff
        if name == "cp" and not path._meta.traits.gaussian:
            raise ValueError(
                "criterion='cp' is for a squared loss: it needs a noise variance; use 'aic'"
            )
        if self.most:
            value, _ = self.refit(self._every_unit())
            ratio = path._meta.deviance_ratio(value)
            # of a loss without a least value there is no ratio
            known = np.isfinite(path._meta.floor)
            if not (1.0 - ratio > PERFECT if known else value > -np.inf):
                raise ValueError(
                    "the model of all features fits perfectly, so that criteria choose nothing; "
                    "leave some features out with exclude="
                )
        if name == "cp" and sigma2 is None:
            sigma2 = noise_variance(path)
        penalty = self._penalty(name, p_total, ebic_gamma)
        if path._meta.traits.gaussian:
            every = observations(path._meta)  # of several responses
            less = 0.0
            if name != "cp":
                less = every * (math.log(every / n) - path._meta.log_constant)
            if path._meta.responses is not None and name != "cp":
                less += n * float(np.log(path._meta.response_weights).sum())
            return Score(penalty - less, every, 0.5 * sigma2 / n if name == "cp" else 0.0)
        twice = minus_twice_log_likelihood(path)
        traits = path._meta.traits  # the shape of a coupled loss is in its value already
        slope = twice(1.0) - twice(0.0) if traits.dispersion == 0 or traits.coupled else 0.0
        if slope:  # proportional to the loss, up to a constant
            return Score(penalty + float(twice(0.0)), n, 1.0 / float(slope))
        return LikelihoodScore(penalty, twice, self.reporting.problem.floor, path._meta.null_loss)

    def _every_unit(self):
        """All columns, or groups, that a model may have."""
        units = self.problem.units
        return np.flatnonzero(np.isfinite(units.factor) & units.with_columns(self.problem.usable))

    def _penalty(self, name, p_total, ebic_gamma):
        """What a criterion adds to -2 loglik of models of s columns, (sizes,), or of s groups with
        d coefficients, (sizes, coefficients): infinite where none can be compared.
        """
        path, sizes = self.path, np.arange(self.most + 1)
        same = {"p_total": p_total, "ebic_gamma": ebic_gamma}
        if self.problem.groups is None:
            held = int(self.problem.usable[self.problem.forced].sum())
            penalty = criteria_of_sizes(path, name, sizes, sizes + held, **same)
            room = sizes + held + path._meta.intercept < path._meta.n_eff
            return np.where(room, penalty, math.inf)
        if self.counts is None:
            self.counts = CoefficientCounts(self.problem)
        count = self.counts
        numbers = np.arange(count.everything + 1)
        s, d = np.meshgrid(sizes, numbers, indexing="ij")
        penalty = criteria_of_sizes(path, name, s.ravel(), d.ravel(), **same).reshape(s.shape)
        free = np.flatnonzero(self.problem.free_units)
        there = d >= count.least(free, free)[:, None]
        return np.where(there & (d + path._meta.intercept < path._meta.n_eff), penalty, math.inf)

    def refit(self, support):
        """(value, fit) of a support, by the loss that results are about."""
        value, fit = refits(self.problem, self.model, self.lambda2, infima=False)(support)
        if not self.reporting.needed:
            return value, fit
        fit = self.reporting.fit(fit, 0.0, self.lambda2)
        return math.inf if FitStatus.NOT_CONVERGED in fit.flags else fit.value, fit

    def wanted(self, score, **options):
        """The sets that are looked for: options of `BestSets`."""
        if self.reporting.needed:
            above = self.problem.loss.above
            return SetsOfSmoothed(score, self.refit, above=above, **options)
        return BestSets(score, self.refit, **options)

    def run(self, score, options, time_limit, progress):
        """`BestModels` for a score; options: of `BestSets`."""
        wanted = self.wanted(score, counts=self.counts, **options)
        clock = Clock(time_limit)
        control = Control(clock)
        ended, lower, nodes, searched = SearchEnd.STOPPED, np.empty(0), 0, ""
        with (
            HELPING_PROCESSES.compiling(),
            deferred_interrupts(clock),
            control.stage(),
            Bar(progress, "l0path compares all models", since=clock.started) as bar,
        ):
            if self.listed:
                search = enumeration(self.problem, self.lambda2, wanted)
            elif self.tree:
                search = SizedTree(self.problem, self.lambda2, self.size, wanted)
            else:
                search = make_search(self.model, 0.0, self.lambda2, wanted)
            if search is None:
                found = hidden(self.problem, self.lambda2)
                names = self.data.names
                raise ValueError(
                    f"no proof: {why_hidden(found, names)}"
                    if found
                    else too_dependent(self.problem, names)
                )
            self._offer_known(search, wanted)

            def poll():
                if bar.bar is not None:
                    bar.say(f"{search.nodes} nodes, {len(wanted.found)} models kept")
                return wanted.full or clock.over()

            ended = search.run(poll=poll)
            lower, nodes = search.lower(), search.nodes
            kind = "branch and bound" if self.tree else "leaps and bounds over all sizes"
            searched = f"{kind}: {nodes} nodes"
            if isinstance(search, Enumeration):
                searched = search.told()
        rows = self._solutions_of(wanted)
        lost = any(s.status == FitStatus.NOT_CONVERGED for s in rows)  # in the units of X
        if ended == SearchEnd.CLOSED and (lost or self._contradicted(wanted, search.held.size)):
            ended, lower = SearchEnd.TOO_CLOSE, np.minimum(lower, self.problem.floor)
        if ended in WHY_ENDED:
            self.status, self.open = "gap_not_closed", WHY_ENDED[ended]
            if ended == SearchEnd.NO_OPTIMUM:
                self.open = models_without_optimum(self.problem, self.path)
        if ended == SearchEnd.TOO_MANY:
            self.status, self.open = "gap_not_closed", too_dependent(self.problem, self.data.names)
        if control.end or ended == SearchEnd.STOPPED:
            self.status = "interrupted" if clock.interrupted else "time_limit"
        if wanted.full:
            self.status = "max_models"
            del wanted.found[wanted.most :], rows[wanted.most :]
        if self.status in WHY_STOPPED:
            self.open = WHY_STOPPED[self.status].format(most=wanted.most)
        if not wanted.found:
            raise ValueError(self._none_found())
        bound = wanted.bound(lower)
        scores = np.array([one[0] for one in wanted.found])
        return BestModels(self._models(rows), scores, bound, ended, wanted.full, nodes, searched)

    def best_of_each(self, scores):
        """([(score, `Solution`) of the best set by each of several scores, or None], why sets may
        be missing): one search, of at most CHOICE_OPERATIONS. Sets without a finite optimum take
        no part.
        """
        wanted = [self.wanted(one, n_best=1, counts=self.counts) for one in scores]
        with HELPING_PROCESSES.compiling():
            search = make_search(self.model, 0.0, 0.0, BestOfEach(wanted))
            if search is None:
                raise ValueError(too_dependent(self.problem, self.data.names))
            for s in self.path._solutions:
                if s.status == FitStatus.CONVERGED:
                    search.know(s.groups)
            ended = search.run(CHOICE_OPERATIONS)
        why = ""
        if ended == SearchEnd.NODE_LIMIT:
            why = "there are too many sets to compare; path.certify(criterion=...) takes its time"
        elif ended == SearchEnd.TOO_CLOSE:
            why = WHY_ENDED[ended]
        elif ended == SearchEnd.NO_OPTIMUM and search.unconverged:
            why = "the fits of some sets of terms did not converge"
        weights, before, out = row_weights(self.data), self.path._solutions[0], []
        for one in wanted:
            score, size, _, fitted = one.found[0] if one.found else (math.inf, 0, (), None)
            place = before._replace(k=size)
            problem, data = self.reporting.problem, self.reporting.data
            out.append(fitted and (score, in_place_of(place, fitted, problem, data, weights)))
        return out, why

    def _contradicted(self, wanted, held):
        """Whether the best model found is not the best one known: one of the path has a smaller
        score, or the path proved that there is none so good; held: units in every set.
        """
        best = wanted.found[0] if wanted.found else (math.inf, -1, (), None)
        for s in self.path._solutions:
            if s.status != FitStatus.CONVERGED:
                continue
            value, size = s.loss + s.shrinkage, s.units.size - held
            if size >= len(wanted.score.penalty):
                continue
            slack = AGREEING * abs(value) + self.problem.left_of_perfect(self.path._meta.null_loss)
            if wanted.score_of(s.units, size, value + slack) < best[0]:
                return True
            proven = s.optimality == Optimality.GLOBAL
            if proven and size == best[1] and best[3].value < value - slack:
                return True
        return False

    def _none_found(self):
        """The reason why a search has no model to show."""
        if self.status in ("time_limit", "interrupted"):
            return "no model was found before the time limit; give a longer one with time_limit="
        return (
            "no model that is compared has a finite optimum that its fit reached: features "
            "separate the classes, the likelihood is monotone, or fits did not converge; leave "
            "features out with exclude=, or fit with a ridge, lambda2=1e-3, and prove models of "
            "one size with path.certify(k=...)"
        )

    def _offer_known(self, search, wanted):
        """Start from the best models of the path, and those one column away from the best one."""
        held = search.held.size
        rows = [
            s
            for s in self.path._solutions
            if s.status == FitStatus.CONVERGED and s.units.size - held <= search.J.size
        ]
        scores = [wanted.score_of(s.units, s.units.size - held, s.loss + s.shrinkage) for s in rows]
        for i in np.argsort(scores, kind="stable")[: wanted.n_best or 1]:
            search.know(rows[i].units)
        if wanted.found and (wanted.n_best or 0) > 1:
            best = np.array(wanted.found[0][2], dtype=np.int64)
            for j in search.J:
                search.know(np.setxor1d(best, [j]))

    def _solutions_of(self, wanted):
        """The `Solution`s of the sets found."""
        before, weights = self.path._solutions[0], row_weights(self.data)
        problem, data = self.reporting.problem, self.reporting.data
        return [
            in_place_of(before._replace(k=size), fitted, problem, data, weights)
            for _, size, _, fitted in wanted.found
        ]

    def _models(self, rows):
        """The models of some `Solution`s, as a path of their own."""
        path, source = self.path, self.path._source  # that of a loaded path gets the data
        source = source if source.data is not None else replace(source, data=self.data)
        status = f"the {len(rows)} best models found"
        ranked = Path(path._meta, rows, status, path.notes, (), source)
        return [Model(ranked, i) for i in range(len(rows))]
