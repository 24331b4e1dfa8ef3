"""`cv_fit`: the fit on all rows, then one path for each fold, one after another or in processes."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterable
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
from ..core.control import Clock, Control
from ..core.progress import Bar
from ..core.status import End
from ..core.types import Matrix, Seed
from ..core.warnings import recorded
from ..engine.plan import default_max_k
from ..engine.run import solve
from ..errors import ConvergenceWarning, SeparationWarning
from ..fitting import fit
from ..problem.losses import canonical_name
from ..problem.problem import known_of
from .comparing import fold_scores
from .result import CVPath, linear_predictor
from .scoring import HeldOutRows, metric_of, score
from .splits import check_arguments, make_splits, repeats_of
from .together import groups_of, run_together

# whether folds take their products from those of all rows (`designs.shared`); off only to measure
# what that saves
SHARE = True


class Task(NamedTuple):
    """One piece of a fold's path: slices by their numbers in the full fit, as (lambda1, lambda2)
    pairs, with the plan that solves them and what is known of all rows (AllRows or None).
    """

    numbers: tuple
    pairs: list
    plan: object
    known: object = None


class Outcome(NamedTuple):
    """A fold's solutions; `end` says what cut it short, None if nothing did; warnings as (category,
    text).
    """

    number: int
    solutions: list
    end: End | None
    warnings: list


def cv_fit(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    cv: int | Iterable | Any = 10,
    scoring: str | Callable | None = None,
    groups_cv: ArrayLike | None = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: Seed = None,
    time_limit: float | None = None,
    progress: bool = False,
    **arguments: Any,
) -> CVPath:
    """Fit a path on all rows, and score each of its solutions by cross-validation.

    In every fold the path is solved anew on the training rows alone: standardisation, class
    weights, screening and the choice of columns see no held-out row. Only what defines the
    solutions to be compared comes from the fit on all rows: its slices (lambda1, lambda2), its
    largest size, the values of a lambda0 grid, and the `delta` of the Huber loss. Folds are matched
    by size k within a slice, or by lambda0. Where the path of a fold ends early (a separated or
    perfect fit, fewer rows), its last solution is repeated, and marked in `cv.repeated`.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix, design or str
        As in `l0path.fit`, or a formula with a DataFrame as y. Levels, knots and centres of a
        formula are those of all rows, in every fold.
    y : array-like of shape (n,), DataFrame or None
        The response, as in `l0path.fit`.
    cv : int, splitter, iterable, or array-like, default 10
        The number of folds (shuffled, and stratified for classes; as many folds as rows is
        leave-one-out), a scikit-learn splitter, an iterable of (train, test) row indices or masks,
        or fold ids, one label per row. Training rows that are repeated count as often as they
        appear.
    scoring : str, scorer, or callable, optional
        "deviance", "mse", "mae", "r2", "auc", "misclassification", "brier", a name or scorer of
        scikit-learn, or f(y, prediction, sample_weight), which is a loss unless
        `f.greater_is_better = True`. None means "deviance": the mean of 2 (loss - loss of a perfect
        prediction), which is the mean squared error for the squared loss and -2 mean log-likelihood
        for the logistic loss; for the hinge losses it is the mean loss itself. A metric that fails
        for the first solution does so before the folds are solved.
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
    random_state : int, Generator, or None
        The seed of the folds. None draws one, which `cv.random_state` holds.
    time_limit : float, optional
        Seconds for everything: the fit on all rows, then the folds. At the limit, or at Ctrl-C,
        folds that did not finish are left out. Without a limit several folds of a squared loss
        advance at a time.
    progress : bool, default False
        Whether bars on stderr show the fit on all rows and the folds.
    **arguments : Any
        The other arguments of `l0path.fit`. `sample_weight` weighs training and held-out rows,
        `class_weight` training rows only; every fold counts the same in cv_mean. `on_solution` is
        called for the fit on all rows.

    Returns
    -------
    CVPath
        The path with its held-out scores. `model("min")` and `model("1se")` are the choices.

    Raises
    ------
    ValueError or TypeError
        If an argument is not one of the above. The message names the argument, its value and the
        remedy.
    TimeoutError
        If fewer than two folds finished in time. Its `path` is the fit on all rows.
    KeyboardInterrupt
        If Ctrl-C came before two folds had finished.

    Notes
    -----
    Folds share work, but never a choice. Sums over training rows (moments, X'y, Gram rows of the
    columns that enter a support) are those over all rows less those over the held-out rows, so that
    one pass over X serves every fold. Rounding is 1e-15 to 1e-14, and scores are those of folds run
    alone. Shared products and copies of held-out rows take at most 256 MB, or half of X where that
    is more. Folds that leave out more than half of the rows or of the weight, repeat rows, or
    balance classes anew read X themselves.

    The folds do not start from the columns that the fit on all rows worked with. That would be
    faster, and biased: those columns were found with the held-out responses.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 12))
    >>> y = X[:, 2] - 2 * X[:, 7] + 0.1 * rng.standard_normal(80)
    >>> l0path.cv_fit(X, y, cv=5, max_k=4, random_state=1).model("1se").support
    array([2, 7])
    """
    X, y, arguments = formula.at_the_door(X, y, {**arguments, "cv": cv, "groups_cv": groups_cv})
    cv, groups_cv = arguments.pop("cv"), arguments.pop("groups_cv")
    table = X.X if isinstance(X, formula.Encoded) else X
    same_index(X=table, y=y, cv=cv, groups_cv=groups_cv)
    check_arguments(cv, n_repeats, groups_cv)
    metric = metric_of(scoring, canonical_name(arguments.get("loss", "squared"), exact=True))
    if n_jobs is not None and (
        isinstance(n_jobs, bool)
        or not isinstance(n_jobs, (int, np.integer))
        or (n_jobs < 1 and n_jobs != -1)
    ):
        raise ValueError(
            f"n_jobs={n_jobs!r} must be None, -1 (all processors) or a whole number >= 1"
        )
    seed = draw_seed(random_state)
    started = time.time()
    with recorded() as caught:
        path = fit.__wrapped__(
            X,
            y,
            n_jobs=n_jobs,
            random_state=seed,
            time_limit=time_limit,
            progress=progress,
            **arguments,
        )
    models = [path._source.extra.pop("model")]
    if not len(path) and time_limit is not None:
        _too_few(path, None, 0, "all", time_limit)
    if path.end == End.INTERRUPTED:
        raise KeyboardInterrupt(f"cv_fit was interrupted in the fit on all rows ({path.status})")
    data = path._source.data
    splits = make_splits(
        cv,
        data,
        table,
        groups_cv=groups_cv,
        n_repeats=n_repeats,
        seed=seed,
    )
    _, test = splits[0]
    score(
        metric,
        HeldOutRows(
            data.y[test],
            linear_predictor(data.design, data.offset, path.solutions[0])[test],
            data.weights[test],
            path,
        ),
    )  # a metric that fails does so before the folds are solved
    outcomes, end = _run_folds(
        data,
        tasks(path),
        splits,
        models,
        n_jobs,
        None if time_limit is None else started + time_limit,
        progress,
    )
    if len(outcomes) < min(2, len(splits)):
        _too_few(path, end, len(outcomes), len(splits), time_limit)
    out = assemble(path, data, splits, outcomes, metric, seed, end)
    warn_once(
        [(w.category, str(w.message)) for w in caught],
        [outcome.warnings for outcome in outcomes],
        len(splits),
    )
    return out


def draw_seed(random_state):
    """A whole number that draws folds or subsets of rows."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(
            (np.random.default_rng() if random_state is None else random_state).integers(2**31 - 1)
        )
    if (
        isinstance(random_state, (bool, np.bool_))
        or not isinstance(random_state, (int, np.integer))
        or not 0 <= random_state < 2**32
    ):
        raise ValueError(
            f"random_state={random_state!r} must be None, a whole number in [0, 2**32) or a numpy "
            "Generator"
        )
    return int(random_state)


def tasks(path):
    """The Tasks that make a fold's path comparable with `path`: the same slices and sizes, or the
    same lambda0 values in each slice.
    """
    plan, pairs, grids = path._source.plan, {}, {}
    for s in path.solutions:
        pairs[s.slice] = (s.lambda1, s.lambda2)
        grids.setdefault(s.slice, []).append(s.lambda0)
    if plan.grid != "lambda0":
        plan = replace(plan, sizes=None, max_k=max(s.k for s in path.solutions))
        return [Task(tuple(pairs), list(pairs.values()), plan)]
    plan = replace(
        plan,
        max_k=default_max_k(path.meta.groups, path.p, path.meta.n_eff)
        if plan.max_k is None
        else plan.max_k,
    )
    alike = {}
    for number, values in grids.items():
        alike.setdefault(tuple(values), []).append(number)
    return [
        Task(tuple(numbers), [pairs[i] for i in numbers], replace(plan, lambda0=np.array(values)))
        for values, numbers in alike.items()
    ]


def fit_fold(number, data, todo, train, deadline, single):
    """Solve the tasks on the training rows (indices, repeated ones counted as often) without a copy
    of X.
    """
    with recorded() as caught, threads.limited(1) if single else nullcontext():
        solutions, end = _solve(data, todo, train, deadline)
    return Outcome(number, solutions, end, [(w.category, str(w.message)) for w in caught])


def _solve(data, todo, train, deadline, clock=None):
    """(solutions of all tasks, the `End` that cut them short or None)."""
    keep, solutions = np.bincount(train, minlength=data.y.size).astype(np.float64), []
    for task in todo:
        left = None if deadline is None else deadline - time.time()
        if left is not None and left <= 0:
            return solutions, End.TIME_LIMIT
        path = solve(
            data,
            replace(task.plan, time_limit=left),
            keep=keep,
            known=task.known,
            slices=task.pairs,
            clock=clock,
        )
        solutions += [s._replace(slice=task.numbers[s.slice]) for s in path.solutions]
        late = deadline is not None and time.time() >= deadline
        if late or not path.end.finished:
            interrupted = path.end == End.INTERRUPTED
            return solutions, End.INTERRUPTED if interrupted else End.TIME_LIMIT
    return solutions, None


def fit_group(numbers, data, todo, trains, deadline, single):
    """Outcomes of a group of folds, those that were interrupted last. A group of more than one
    advances together (see `together`) and has no deadline.
    """
    if len(numbers) == 1:
        return [fit_fold(numbers[0], data, todo, trains[0], deadline, single)]
    clock = Clock()

    def calls(gather):
        met = [task._replace(known=task.known.meeting(gather)) for task in todo]
        return [partial(_solve, data, met, train, None, clock) for train in trains]

    results, told = run_together(calls, len(numbers), clock, 1 if single else threads.count())
    outcomes = [
        Outcome(number, *result, caught)
        for number, result, caught in zip(numbers, results, told, strict=True)
    ]
    if clock.pressed and not any(
        outcome.end for outcome in outcomes
    ):  # too late for any of them, not for what follows
        outcomes[-1] = outcomes[-1]._replace(end=End.INTERRUPTED)
    return sorted(outcomes, key=lambda outcome: outcome.end is not None)


def _run_folds(data, todo, splits, models, n_jobs, deadline, progress):
    """(finished Outcomes by fold number, the `End` that cut the run short or None).

    models: a list of the one that was fitted to all rows, which is taken from it: with the last
    reference its memory goes.
    """
    import joblib

    single = n_jobs is not None
    nested = getattr(joblib.parallel.get_active_backend()[0], "nesting_level", 0) or 0
    jobs = 1 if nested else min(joblib.effective_n_jobs(n_jobs), len(splits))
    outcomes, end, control = [], None, Control(Clock())
    known, tight, solved = (
        known_of(models[0], jobs) if SHARE else None,
        hasattr(data.design, "memory_limit"),
        fit_group,
    )
    models.clear()
    if tight:
        gc.collect()
        solved = partial(_in_worker, fit_group)  # Gram rows of a fold would outlive it in cycles
    todo = [task._replace(known=known) for task in todo]
    groups = groups_of(
        len(splits),
        known if deadline is None else None,
        jobs,
        max(test.size for _, test in splits) / data.y.size,
    )
    arguments = (
        (group, data, todo, [splits[i][0] for i in group], deadline, single or jobs > 1)
        for group in groups
    )
    with control.stage(), Bar(progress, "l0path folds", len(splits), "fold") as bar:
        for outcome in chain.from_iterable(
            (solved(*a) for a in arguments)
            if jobs == 1
            else in_processes(jobs, fit_group, arguments)
        ):
            end = outcome.end or end
            if outcome.end == End.INTERRUPTED:
                break
            if outcome.end is None:
                outcomes.append(outcome)
                bar.update()
    return sorted(outcomes, key=lambda outcome: outcome.number), control.end or end


def _in_worker(call, *arguments):
    """The call, and nothing of it left in cycles: joblib waits a second at the end for files of
    arrays that a worker still holds.
    """
    out = call(*arguments)
    gc.collect()
    return out


def in_processes(jobs, call, arguments):
    """Results of call(*a), a in arguments, as they come, from joblib's backend in force."""
    import joblib

    delayed = joblib.delayed(_in_worker)
    try:
        pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    except ValueError:  # a backend that returns everything at once
        pool = joblib.Parallel(n_jobs=jobs)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*tasks which were still being processed"
        )  # told by the status
        yield from pool(delayed(call, *a) for a in arguments)


def _too_few(path, end, done, total, time_limit):
    """Nothing to average: say why."""
    if end == End.INTERRUPTED:
        raise KeyboardInterrupt(f"cv_fit was interrupted after {done} of {total} folds")
    error = TimeoutError(
        f"time_limit={time_limit:g} s was over after {done} of {total} folds; raise time_limit, or "
        "lower cv or max_k (the fit on all rows is in this error's .path)"
    )
    error.path = path
    raise error


def assemble(path, data, splits, outcomes, metric, seed, end):
    """Match every fold's solutions with the full fit's, and score them on the rows left out."""
    numbers = [outcome.number for outcome in outcomes]
    repeated, fits, notes = np.zeros((len(path), len(outcomes)), dtype=bool), [], []
    for column, outcome in enumerate(outcomes):
        matched, repeated[:, column] = match(
            outcome.solutions, path.solutions, path.meta.grid == "lambda0"
        )
        fits.append(matched)
    scores = fold_scores(path, data, [splits[i] for i in numbers], fits, metric)
    index = path.table.index
    short = repeated.any(axis=0)
    if short.any():
        first = path.solutions[int(np.flatnonzero(repeated.any(axis=1))[0])]
        notes.append(
            f"{short.sum()} of {short.size} folds ended before the full fit did (first at k = "
            f"{first.k}); their last solution is repeated, see cv.repeated"
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


REMEDY = {
    SeparationWarning: "a support separated the classes, so it has no finite optimum; pass "
    "lambda2=1e-3 to have one",
    ConvergenceWarning: "some models did not converge; raise max_iter, or add a little lambda2",
}


def warn_once(full, folds, total, what="folds"):
    """One warning of each kind, whatever the number of folds; anything unforeseen once each."""
    for kind, words in REMEDY.items():
        told = [text for category, text in full if category is kind]
        count = sum(any(category is kind for category, _ in fold) for fold in folds)
        inside = f"in {count} of {total} {what} {words}" if count else ""
        if told:
            warnings.warn(told[0] + (f" (also {inside})" if inside else ""), kind, stacklevel=3)
        elif inside:
            warnings.warn(inside, kind, stacklevel=3)
    every = [*full, *(pair for fold in folds for pair in fold)]
    for category, text in dict.fromkeys(pair for pair in every if pair[0] not in REMEDY):
        warnings.warn(text, category, stacklevel=3)
