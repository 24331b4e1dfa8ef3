"""`cv_fit`: the fit on all rows, then one path for each fold, one after another or in processes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .. import formula
from ..core import threads
from ..core.arguments import same_index
from ..core.control import Clock, ClusterError, Control
from ..core.hints import hands_on
from ..core.progress import Bar
from ..core.status import End
from ..core.types import Matrix, Seed
from ..core.warnings import recorded
from ..designs.protocol import traits_of
from ..engine.costs import refuse_too_large
from ..engine.grids import SHARES, Grid, Lambda, Ridges, lambdas, ridges, shares
from ..engine.mixing import mixtures
from ..engine.posing import default_max_k
from ..engine.request import ARGUMENTS, Request, request
from ..engine.run import run as fit_request
from ..problem.families.trials import loss_meant
from ..problem.losses import canonical_name
from ..problem.problem import all_rows_of
from .comparing import fold_scores
from .processes import check_jobs, draw_seed, in_processes, in_worker, processes, warn_once
from .result import CVPath
from .scoring import held_out_rows, metric_of, score
from .splits import check_arguments, make_splits, repeats_of
from .together import groups_of, planned, run_together

# whether folds take their products from those of all rows (`designs.shared`); off only to measure
# what that saves
SHARED_PRODUCTS = True


class FoldTask(NamedTuple):
    """One piece of a fold's path: slices by their numbers in the full fit, None for mixtures that
    it does not offer, and the `Request` that solves them.
    """

    numbers: tuple
    request: Request


class FoldOutcome(NamedTuple):
    """The solutions of a fold; `end` is the reason for which it was cut short, or None; warnings as
    (category, text).
    """

    number: int
    solutions: list
    end: End | None
    warnings: list


@hands_on(*ARGUMENTS)
def cv_fit(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    cv: int | Iterable | Any = 10,
    scoring: str | Callable | None = None,
    groups_cv: ArrayLike | None = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    lambda2: Lambda = "auto",
    relax: float | Sequence[float] | None = None,
    random_state: Seed = None,
    time_limit: float | None = None,
    progress: bool | None = None,
    **arguments: Any,
) -> CVPath:
    """Fit a path on all rows, and score each of its solutions by cross-validation.

    In every fold the path is solved anew on the training rows alone: standardization, class
    weights, screening and the choice of columns see no held-out row. Only what defines the
    solutions to be compared comes from the fit on all rows: its slices (lambda1, lambda2 and
    the share of a mixture), its largest size, the values of a lambda0 grid, and the `delta` of the
    Huber loss. Folds are matched by size k within a slice, or by lambda0. Where the path of a fold
    ends early (a separated or perfect fit, fewer rows), its last solution is repeated, and `notes`
    say so.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix, design or str
        As in `l0path.fit`, or a formula with a DataFrame as y. Levels, knots and centers of a
        formula are those of all rows, in every fold.
    y : array-like of shape (n,), DataFrame or None
        The response, as in `l0path.fit`.
    cv : int, splitter, iterable, or array-like, default 10
        The number of folds (shuffled, and stratified for classes; as many folds as rows is
        leave-one-out), a scikit-learn splitter, an iterable of (train, test) row indices or masks,
        or fold ids, one label per row. Training rows that are repeated count as often as they
        appear.
    scoring : str, scorer, or callable, optional
        "deviance", "mse", "rmse", "mae", "r2", "auc", "misclassification", "brier", a name or
        scorer of scikit-learn, or f(y, prediction, sample_weight), which is a loss unless
        `f.greater_is_better = True`. None means "deviance": the mean of 2 (loss - loss of a perfect
        prediction), which is the mean squared error for the squared loss and -2 mean log-likelihood
        for the logistic loss; for the hinge losses it is the mean loss itself. loss="cox" takes
        "deviance", what the held-out rows add to -2 log partial likelihood, for each of their
        events and as if there were as many rows as in all folds, "concordance", Harrell's,
        "concordance_uno", Uno's, and "integrated_brier", see `Model.score`; loss="weibull" the
        same, with the mean of -2 log likelihood. A metric that fails for the first solution does so
        before the folds are solved.
    groups_cv : array-like of shape (n,) or str, optional
        Labels of rows that stay together in a fold, and with a formula also the name of a column.
        None keeps no rows together.
    n_repeats : int, default 1
        Repeats of an integer cv; repeat r shuffles with random_state + r. Repeats make cv_mean
        depend less on how the rows were cut. They add no data, so cv_se is computed within each
        repeat and averaged, and does not shrink with them.
    n_jobs : int, optional
        The number of processes, of one thread each (joblib; `joblib.parallel_config` sets the
        backend, and the number when this is None). None without a configuration means one process
        with all threads.
    lambda2 : float, sequence of float, "auto", "grid" or `l0path.grid`, default "auto"
        Weights of ||b||_2^2, as in `l0path.fit`. "auto" takes 0, 0.1, 1 and 10 times the unit in
        the Notes, and 0.01 too for classes under the losses "logistic", "multinomial" and
        "ordinal". Where a lambda1 is given it takes 0 alone. None means 0.
    relax : float or sequence of float, optional
        Shares g from 0 to 1. Every shrunken model b is also offered as the mixture
        g b + (1 - g) b', where b' is the fit without shrinkage on the support of b, intercepts
        mixed likewise: g = 1 is the shrunken model, which is always offered, g = 0 the one without
        shrinkage. None means (0, 0.5, 1) for lambda2="auto", and 1 where lambda2 is given. Where
        the columns of a support separate the classes, so that the fit without shrinkage has no
        finite optimum, its mixtures are not offered.
    random_state : int, Generator, or None
        The seed of the folds. None draws one, which `cv.folds.attrs` holds.
    time_limit : float, optional
        Seconds for everything: the fit on all rows, then the folds. At the limit, or at Ctrl-C,
        folds that did not finish are left out. Without a limit several folds of a squared loss
        advance at a time.
    progress : bool, optional
        Bars on stderr that show the fit on all rows and the folds, as in `l0path.fit`. With True a
        line says first what all of this costs (`l0path.fit_cost`).
    **arguments : Any
        The other arguments of `l0path.fit`. `sample_weight` weighs training and held-out rows,
        `class_weight` training rows only; every fold counts the same in cv_mean. `on_solution` is
        called for the fit on all rows.

    Returns
    -------
    CVPath
        The path with its held-out scores. `model("min")`, `model("sparse")` and `model("1se")` are
        the choices.

    Raises
    ------
    ValueError or TypeError
        If an argument is not one of the above. The message names the argument, its value and the
        remedy.
    TimeoutError
        If fewer than two folds finished in time. Its `path` is the fit on all rows.
    KeyboardInterrupt
        If Ctrl-C came before two folds had finished. The fit on all rows, as far as it came, is
        its attribute `path`.

    Notes
    -----
    The unit of the ridges of "auto" is c m. c is the curvature of the loss in the linear predictor,
    the largest that it has (1 for the squared loss, 1/4 for the logistic loss), or where it has no
    bound (poisson) its mean at the null model. m is the mean over the columns of
    sum w_i z_ij^2 / sum w_i, z_j the column as the penalty sees it, about its mean: 1 with
    standardize=True. A ridge of r units leaves 1 / (1 + 2 r) of the coefficient of a standardized
    column that is uncorrelated with the others under a squared loss: 0.83, 0.33 and 0.05. Classes
    that features separate have no optimum without a ridge, and are predicted much better with 0.01
    units than with 0.1 (docs/choosing.md has figures).

    Folds share work, but never a choice. Sums over training rows (moments, X'y, Gram rows of the
    features that enter a support) are those over all rows less those over the held-out rows, so
    that one pass over X serves every fold. Rounding is 1e-15 to 1e-14, and scores are those of
    folds run alone. Shared products and copies of held-out rows take at most 256 MB, or half of X
    where that is more. Folds that leave out more than half of the rows or of the weight, repeat
    rows, or balance classes anew read X themselves.

    The folds do not start from the features that the fit on all rows worked with. That would be
    faster, and biased: those features were found with the held-out responses.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 12))
    >>> y = X[:, 2] - 2 * X[:, 7] + 0.1 * rng.standard_normal(80)
    >>> l0path.cv_fit(X, y, cv=5, max_k=4, random_state=1).model("1se").support
    array([2, 7])
    """
    began = time.perf_counter()
    X, y, arguments = formula.open_formula(X, y, {**arguments, "cv": cv, "groups_cv": groups_cv})
    cv, groups_cv = arguments.pop("cv"), arguments.pop("groups_cv")
    same_index(X=table_of(X), y=y, cv=cv, groups_cv=groups_cv)
    check_arguments(cv, n_repeats, groups_cv)
    loss = loss_meant(arguments.get("loss", "squared"), y, arguments.get("trials"))
    metric = metric_of(scoring, canonical_name(loss, exact=True))
    check_jobs(n_jobs)
    seed = draw_seed(random_state)
    deadline = None if time_limit is None else time.time() + time_limit
    given = {"n_jobs": n_jobs, "random_state": seed, "time_limit": time_limit, **arguments}
    with recorded() as caught:
        asked = asked_for(X, y, lambda2, relax, progress=progress, **given)
        refuse_too_large(asked)  # before rows are drawn
        asked, splits = with_folds(asked, X, cv, groups_cv, n_repeats, seed)
        path, asked, working_set = fit_request(asked)
    if not len(path) and time_limit is not None:
        _too_few(path, None, 0, "all", time_limit)
    if path._end == End.INTERRUPTED:
        _too_few(path, path._end, 0, len(splits), time_limit)
    first = next(held_out_rows(path, asked.data, path._solutions[:1], splits[0]))
    score(metric, first)  # fails before folds are solved
    jobs = processes(n_jobs, len(splits))
    all_rows = all_rows_of(working_set, jobs) if SHARED_PRODUCTS else None
    del working_set  # its memory goes with the last reference
    folds = Folds(tasks(path, asked.part(all_rows=all_rows)), splits, jobs, n_jobs is not None)
    try:
        outcomes, end = _run_folds(folds, deadline, progress, began)
    except ClusterError as error:
        error.path = path
        error.args = (f"{error} (the fit on all rows is in this error's .path)",)
        raise
    if len(outcomes) < min(2, len(splits)):
        _too_few(path, end, len(outcomes), len(splits), time_limit)
    out = assemble(path, folds, outcomes, end, metric, seed)
    warn_once(
        [(w.category, str(w.message)) for w in caught],
        [outcome.warnings for outcome in outcomes],
        len(splits),
    )
    return out


def asked_for(X, y, lambda2, relax, **given):
    """The `Request` of a path with ridges and mixtures: the arguments lambda2 and relax of
    `cv_fit`, and other arguments of `fit`.
    """
    auto = isinstance(lambda2, str) and lambda2 == "auto"
    lambda1 = lambdas(given.get("lambda1"), "lambda1")
    if auto and (isinstance(lambda1, Grid) or (lambda1 is not None and lambda1.any())):
        auto, lambda2 = False, None  # the shrinkage is given
    relax = shares((SHARES if auto else 1.0) if relax is None else relax)
    asked = request(X, y, lambda2=Ridges() if auto else lambda2, **given)
    plan = replace(asked.plan, relax=relax)
    if auto:
        plan = replace(plan, lambda2=ridges(asked.data.loss.traits.recession))
    return replace(asked, plan=plan)


def asked_of(
    X,
    y=None,
    *,
    cv,
    groups_cv=None,
    n_repeats=1,
    lambda2="auto",
    relax=None,
    random_state=None,
    **arguments,
):
    """The `Request` of a `cv_fit` with these arguments, which knows of its folds. X is not read."""
    X, y, given = formula.open_formula(X, y, {**arguments, "cv": cv, "groups_cv": groups_cv})
    cv, groups_cv = given.pop("cv"), given.pop("groups_cv")
    check_arguments(cv, n_repeats, groups_cv)
    seed = draw_seed(random_state)
    asked = asked_for(X, y, lambda2, relax, random_state=seed, **given)
    return with_folds(asked, X, cv, groups_cv, n_repeats, seed)[0]


def table_of(X):
    """The table of an encoded formula, or X itself."""
    return X.X if isinstance(X, formula.Encoded) else X


def with_folds(asked, X, cv, groups_cv, n_repeats, seed):
    """(the `Request` of the fit on all rows, which now knows of its folds, [(train, test)]). X is
    not read. seed: a whole number.
    """
    table, settings = table_of(X), {"groups_cv": groups_cv, "n_repeats": n_repeats, "seed": seed}
    splits = make_splits(cv, asked.data, table, **settings)
    return replace(
        asked, folds=planned(asked, splits, processes(asked.n_jobs, len(splits)))
    ), splits


class Folds(NamedTuple):
    """The fits of a cross-validation: the tasks of a fold, (train, test) of every fold, processes,
    and whether each fold has one thread.
    """

    tasks: list
    splits: list
    jobs: int
    single: bool

    @property
    def data(self):
        """The data of all rows."""
        return self.tasks[0].request.data


def tasks(path, part):
    """The FoldTasks that make a fold's path comparable with `path`: the same slices and sizes, or
    the same lambda0 values in each slice. part: the `Request` of the path, for further fits.
    """
    plan, pairs, grids, mixed = part.plan, {}, {}, {}
    for s in path._solutions:
        if s.relax < 1.0:
            mixed[s.lambda1, s.lambda2, s.relax] = s.slice
            continue
        pairs[s.slice] = (s.lambda1, s.lambda2)
        grids.setdefault(s.slice, []).append(s.lambda0)
    if plan.grid != "lambda0":
        plan = replace(plan, sizes=None, max_k=max(s.k for s in path._solutions))
        return [_task(part, plan, pairs, mixed)]
    if plan.max_k is None:
        plan = replace(plan, max_k=default_max_k(path._meta.groups, path.p, path._meta.n_sizes))
    alike = {}
    for number, values in grids.items():
        alike.setdefault(tuple(values), []).append(number)
    return [
        _task(part, replace(plan, lambda0=np.array(values)), {i: pairs[i] for i in numbers}, mixed)
        for values, numbers in alike.items()
    ]


def _task(part, plan, pairs, mixed):
    """The FoldTask of slices {number: (lambda1, lambda2)} and their mixtures.

    mixed: the numbers that these have in the full fit, by (lambda1, lambda2, g); those that it does
    not offer have none.
    """
    slices = tuple(pairs.values())
    further = [mixed.get((*slices[i], g)) for i, g in mixtures(slices, plan.relax)]
    return FoldTask((*pairs, *further), replace(part, plan=plan, slices=slices))


def fit_fold(number, todo, train, deadline, single):
    """Solve the tasks on the training rows (indices, repeated ones counted as often) without a copy
    of X.
    """
    with recorded() as caught, threads.limited(1) if single else nullcontext():
        solutions, end = _solve(todo, train, deadline)
    return FoldOutcome(number, solutions, end, [(w.category, str(w.message)) for w in caught])


def _solve(todo, train, deadline, clock=None):
    """(solutions of all tasks, the `End` that cut them short or None)."""
    solutions = []
    for task in todo:
        left = None if deadline is None else deadline - time.time()
        if left is not None and left <= 0:
            return solutions, End.TIME_LIMIT
        counts = np.bincount(train, minlength=task.request.data.design.n).astype(np.float64)
        plan = replace(task.request.plan, time_limit=left)
        path = fit_request(replace(task.request, plan=plan, row_counts=counts), clock).path
        for s in path._solutions:
            if task.numbers[s.slice] is not None:
                solutions.append(s._replace(slice=task.numbers[s.slice]))
        late = deadline is not None and time.time() >= deadline
        if late or not path._end.finished:
            interrupted = path._end == End.INTERRUPTED
            return solutions, End.INTERRUPTED if interrupted else End.TIME_LIMIT
    return solutions, None


def fit_group(numbers, todo, trains, deadline, single):
    """FoldOutcomes of a group of folds, those that were interrupted last. A group of more than one
    advances together (see `together`) and has no deadline.
    """
    if len(numbers) == 1:
        return [fit_fold(numbers[0], todo, trains[0], deadline, single)]
    clock = Clock()

    def calls(gather):
        met = [task._replace(request=_meeting(task.request, gather)) for task in todo]
        return [partial(_solve, met, train, None, clock) for train in trains]

    results, told = run_together(calls, len(numbers), clock, 1 if single else threads.count())
    outcomes = [
        FoldOutcome(number, *result, caught)
        for number, result, caught in zip(numbers, results, told, strict=True)
    ]
    if clock.interrupted and not any(
        outcome.end for outcome in outcomes
    ):  # too late for any of them, not for what follows
        outcomes[-1] = outcomes[-1]._replace(end=End.INTERRUPTED)
    return sorted(outcomes, key=lambda outcome: outcome.end is not None)


def _meeting(part, gather):
    """The request of a fold whose reads of Gram rows wait for those of the others."""
    return replace(part, all_rows=part.all_rows.meeting(gather))


def _run_folds(folds, deadline, progress, began):
    """(finished FoldOutcomes by fold number, the `End` that cut the run short or None)."""
    outcomes, end, control = [], None, Control(Clock())
    splits, all_rows, solved = folds.splits, folds.tasks[0].request.all_rows, fit_group
    if traits_of(folds.data.design).memory_limit:  # X is read from disk
        gc.collect()
        solved = partial(in_worker, fit_group)  # Gram rows of a fold would outlive it in cycles
    groups = groups_of(
        len(splits),
        all_rows if deadline is None else None,
        folds.jobs,
        max(test.size for _, test in splits) / folds.data.design.n,
    )
    single = folds.single or folds.jobs > 1
    arguments = (
        (group, folds.tasks, [splits[i][0] for i in group], deadline, single) for group in groups
    )
    with control.stage(), Bar(progress, "l0path folds", len(splits), "fold", began) as bar:
        for outcome in chain.from_iterable(
            (solved(*a) for a in arguments)
            if folds.jobs == 1
            else in_processes(folds.jobs, fit_group, arguments)
        ):
            end = outcome.end or end
            if outcome.end == End.INTERRUPTED:
                break
            if outcome.end is None:
                outcomes.append(outcome)
                bar.update()
    return sorted(outcomes, key=lambda outcome: outcome.number), control.end or end


def _too_few(path, end, done, total, time_limit):
    """Nothing to average: say why. The error has the path, as far as it came."""
    kept = f"the fit on all rows ({path.status}) is in this error's .path"
    if end == End.INTERRUPTED:
        error = KeyboardInterrupt(f"cv_fit was interrupted after {done} of {total} folds; {kept}")
    else:
        error = TimeoutError(
            f"time_limit={time_limit:g} s was over after {done} of {total} folds; raise "
            f"time_limit, or lower cv or max_k; {kept}"
        )
    error.path = path
    raise error


def assemble(path, folds, outcomes, end, metric, seed):
    """Match every fold's solutions with the full fit's, and score them on the rows left out."""
    splits = folds.splits
    numbers = [outcome.number for outcome in outcomes]
    repeated, fits, notes = np.zeros((len(path), len(outcomes)), dtype=bool), [], []
    for column, outcome in enumerate(outcomes):
        matched, repeated[:, column] = match(
            outcome.solutions, path._solutions, path._meta.grid == "lambda0"
        )
        fits.append(matched)
    scores = fold_scores(path, folds.data, [splits[i] for i in numbers], fits, metric)
    index = path.table.index
    short = repeated.any(axis=0)
    if short.any():
        first = path._solutions[int(np.flatnonzero(repeated.any(axis=1))[0])]
        notes.append(
            f"{short.sum()} of {short.size} folds ended before the full fit did (first at k = "
            f"{first.k}); their last solution is repeated"
        )
    overlap = [i for i in numbers if np.isin(splits[i][1], splits[i][0]).any()]
    if overlap:
        notes.append(
            f"{len(overlap)} folds (first: fold {overlap[0]}) are scored on rows they were trained "
            "on; their scores are too good"
        )
    whole = len(outcomes) == len(splits)
    status = (
        f"complete: {len(outcomes)} folds"
        if whole
        else f"{end.reason}; {len(outcomes)} of {len(splits)} folds finished, the others are left "
        "out"
    )
    columns = pd.Index(numbers, name="fold")
    return CVPath(
        path,
        pd.DataFrame(scores, index=index, columns=columns),
        pd.DataFrame(repeated, index=index, columns=columns),
        scoring=metric.name,
        greater_is_better=metric.greater_is_better,
        splits=[splits[i] for i in numbers],
        repeats=repeats_of(splits)[numbers],
        fits=fits,
        random_state=seed,
        status=status,
        end=End.COMPLETE if whole else end,
        notes=notes,
    )


def match(solutions, wanted, by_lambda0):
    """(the fold's solution for each wanted one, whether an earlier one had to stand in): same slice
    and k, else the largest smaller k; or same lambda0, else the smallest larger one.
    """
    slices = {}
    for s in solutions:
        slices.setdefault(s.slice, {})[-s.lambda0 if by_lambda0 else s.k] = s
    out, repeated = [], np.zeros(len(wanted), dtype=bool)
    for i, s in enumerate(wanted):
        have, at = slices[s.slice], -s.lambda0 if by_lambda0 else s.k
        if at not in have:
            repeated[i] = True
            at = max((x for x in have if x <= at), default=min(have))
        out.append(have[at])
    return out, repeated
