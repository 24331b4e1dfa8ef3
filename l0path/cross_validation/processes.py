"""Many paths, one after another or in processes: seeds, numbers of processes, and one warning of
each kind.
"""

import gc
import warnings

import numpy as np

from ..core.arguments import is_whole
from ..core.control import imported_whole
from ..core.warnings import warn_user
from ..errors import ConvergenceWarning, SeparationWarning

IN_FOLDS = {
    SeparationWarning: "a support has no finite optimum (separated classes, or a monotone "
    "likelihood); pass lambda2=1e-3 to have one",
    ConvergenceWarning: "some models did not converge; add a little lambda2, or allow more steps: "
    "algorithm=l0path.solvers.LocalSearch(max_iter=10_000)",
}


def check_jobs(n_jobs):
    """Raise ValueError unless n_jobs is a number of processes."""
    if n_jobs is not None and (not is_whole(n_jobs) or (n_jobs < 1 and n_jobs != -1)):
        raise ValueError(
            f"n_jobs={n_jobs!r} must be None, -1 (all processors) or a whole number >= 1"
        )


def processes(n_jobs, most):
    """Number of processes to use, at most the given one; 1 within a process of joblib."""
    joblib = imported_whole("joblib")
    nested = getattr(joblib.parallel.get_active_backend()[0], "nesting_level", 0) or 0
    return 1 if nested else min(joblib.effective_n_jobs(n_jobs), most)


def draw_seed(random_state):
    """A whole number that draws folds or subsets of rows."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(
            (np.random.default_rng() if random_state is None else random_state).integers(2**31 - 1)
        )
    if not is_whole(random_state) or not 0 <= random_state < 2**32:
        raise ValueError(
            f"random_state={random_state!r} must be None, a whole number in [0, 2**32) or a numpy "
            "Generator"
        )
    return int(random_state)


def in_worker(call, *arguments):
    """The call, and nothing of it left in cycles: joblib waits a second at the end for files of
    arrays that a worker still holds.
    """
    out = call(*arguments)
    gc.collect()
    return out


def in_processes(jobs, call, arguments):
    """Results of call(*a), a in arguments, as they come, from joblib's backend in force."""
    joblib = imported_whole("joblib")
    delayed = joblib.delayed(in_worker)
    try:
        pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    except ValueError:  # a backend that returns everything at once
        pool = joblib.Parallel(n_jobs=jobs)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*tasks which were still being processed"
        )  # told by the status
        yield from pool(delayed(call, *a) for a in arguments)


def warn_once(full, folds, total, what="folds"):
    """One warning of each kind, whatever the number of folds; anything unforeseen once each."""
    for kind, words in IN_FOLDS.items():
        told = [text for category, text in full if category is kind]
        count = sum(any(category is kind for category, _ in fold) for fold in folds)
        inside = f"in {count} of {total} {what} {words}" if count else ""
        if told:
            warn_user(kind(told[0] + (f" (also {inside})" if inside else "")))
        elif inside:
            warn_user(kind(inside))
    every = [*full, *(pair for fold in folds for pair in fold)]
    for category, text in dict.fromkeys(pair for pair in every if pair[0] not in IN_FOLDS):
        warn_user(category(text))
