"""The common part of the three procedures: the arguments of `fit` resolved in one place, subsets of
rows drawn by seeds of their own, and paths on them, one after another or in processes.
"""

import math
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..core import threads
from ..core.arguments import is_whole, shown
from ..core.control import Clock, Control, Stop, deferred_interrupts
from ..core.progress import Bar
from ..core.status import End
from ..core.warnings import recorded
from ..cross_validation.processes import check_jobs, in_processes, processes
from ..engine.costs import tell_if_long
from ..engine.posing import default_max_k, resolved
from ..engine.request import request
from ..engine.run import run as fit_request
from ..problem.losses import name_of
from ..problem.problem import constant, counted_for_sizes
from ..problem.responses import without_mean
from ..problem.several import class_codes

OURS = {
    "k": "the path needs every size; pass max_k= for its largest",
    "lambda0": "sizes are compared, not values of lambda0",
    "certify": "certify one path with l0path.fit(X, y, certify=True)",
    "on_solution": "use it in l0path.fit",
    "time_limit": "",
    "progress": "",
}


class Resolved(NamedTuple):
    """The arguments of `fit`, with what X decides, as a `Request` for further fits
    (plan.max_k None: not given), and how many columns or groups compete.
    """

    request: object
    competing: int


def resolve(X, y, arguments, check=None):
    """`Resolved` from the arguments of `fit`: the only place that sees X, y and options as the user
    gave them. check(data) refuses what is not served, before X is read.
    """
    for name in arguments:
        if OURS.get(name):
            raise TypeError(f"{name}={arguments[name]!r} has no meaning here: {OURS[name]}")
    if arguments.get("max_k") is not None:
        whole(arguments["max_k"], "max_k", 1)
    asked = request(X, y, **arguments)
    if check is not None:
        check(asked.data)
    clock = Clock(asked.plan.time_limit)
    control = Control(clock)
    with threads.limited(asked.n_jobs), deferred_interrupts(clock), control.stage():
        asked, _ = resolved(asked, clock)
        clock.poll()
    if control.end == End.INTERRUPTED:
        raise KeyboardInterrupt
    if control.end:
        raise TimeoutError(f"no path was begun ({control.reason}); raise time_limit")
    data, asked = asked.data, asked.part()
    competing = int(data.units.selectable(moving(data) & ~data.excluded).sum())
    if competing < 1:
        raise ValueError("no feature of X competes: all are constant, excluded or always included")
    return Resolved(asked, competing)


def with_limit(arguments, time_limit):
    """The arguments of `fit` with the time limit, where there is one."""
    return arguments if time_limit is None else {**arguments, "time_limit": time_limit}


def moving(data, centered=None):
    """(p,) whether a column takes more than one value (with an intercept, or where the loss does
    not see a constant), or is not zero, on the rows of positive weight.
    """
    if centered is None:
        centered = data.intercept or not data.loss.traits.intercept
    w = data.weights / data.weights.sum()
    mean, second = data.design.moments(w, centered)
    return ~constant(mean, second) if centered else second > 0


def whole(value, name, least, most=None):
    """A whole number in [least, most]."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        raise ValueError(
            f"{name}={value!r} must be a whole number >= {least}"
            + (f" and at most {most}" if most is not None else "")
        )
    return int(value)


def share(value, name, low, high, closed=False):
    """A number in (low, high), or (low, high]."""
    inside = (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and (low < value < high or (closed and value == high))
    )
    if not inside:
        raise ValueError(
            f"{name}={value!r} must be a number in ({low:g}, {high:g}{']' if closed else ')'}"
        )
    return float(value)


def _numbered(data):
    """Whether classes are numbers or indicators, not -1 and 1."""
    return data.y.ndim > 1 or data.loss.traits.response == "ordered"


def strata(data, by_event=False):
    """The rows of positive weight by class, a list of arrays; those of two classes begin with the
    positive one. by_event: survival times by whether there was an event.
    """
    rows, y = np.flatnonzero(data.weights > 0), data.y
    if by_event and data.loss.traits.response == "survival":
        return [rows[y[rows] > 0], rows[y[rows] == 0]]
    if data.classes is None:
        return [rows]
    if not _numbered(data):
        return [rows[y[rows] > 0], rows[y[rows] < 0]]
    y = class_codes(y) if y.ndim > 1 else y
    return [rows[y[rows] == c] for c in range(len(data.classes))]


def both_classes(data, size):
    """Refuse shares of the rows that hold no row of a class."""
    few = None
    if data.classes is not None:
        sizes = [part.size for part in strata(data)]
        sizes = sizes if _numbered(data) else sizes[::-1]
        few = min(zip(sizes, data.classes, strict=True), key=lambda pair: pair[0])
    if few is not None and size * few[0] + 1e-9 < 1.0:
        raise ValueError(
            f"fraction={size:g} of the {few[0]} rows of class {shown(few[1])} is no row, and a "
            f"path needs {'both' if len(data.classes) == 2 else 'all'} classes; raise fraction, or "
            "add rows of that class"
        )


def draw(data, size, rng, sets=1, by_event=False):
    """`sets` disjoint arrays of about `size` * rows row indices each, drawn without replacement
    among the rows of positive weight; within each class, so that none loses one; by_event: see
    `strata`.
    """
    parts = [[] for _ in range(sets)]
    for stratum in strata(data, by_event):
        m, order = math.floor(size * stratum.size + 1e-9), rng.permutation(stratum)
        for i, part in enumerate(parts):
            part.append(order[i * m : (i + 1) * m])
    return [np.sort(np.concatenate(part)) for part in parts]


def on_rows(data, rows):
    """The data in which every row counts as often as it is among `rows`: weight 0 is no row, so X
    is not copied and nothing else of the other rows is seen.
    """
    times = np.bincount(rows, minlength=data.design.n).astype(np.float64)
    weights, counts, loss = data.weights * times, data.counts, data.loss
    if times.max() > 1:
        counts = times if counts is None else counts * times
        if loss.traits.partial:
            loss = loss.restricted(data.y, np.arange(data.design.n), counts=counts)
    return replace(data, weights=weights, counts=counts, loss=loss)


def path_on_rows(asked, rows, deadline=None, most=None):
    """The path of a request on some rows, its max_k the plan's or that of `fit` on so many rows, at
    most `most`. A path that was cut short is none: KeyboardInterrupt, Stop.
    """
    data, plan = on_rows(asked.data, rows), asked.plan
    if data.y.ndim == 1 and without_mean(data.loss, data.weights @ data.y):
        raise ValueError(
            "y is zero in every row of a random subset, so "
            f"loss={name_of(data.loss)!r} has no finite intercept there; raise fraction"
        )
    max_k = plan.max_k
    if max_k is None:
        max_k = default_max_k(data.groups, data.design.p, counted_for_sizes(data))
    left = None if deadline is None else deadline - time.time()
    if left is not None and left <= 0:
        raise Stop(End.TIME_LIMIT.reason, End.TIME_LIMIT)
    plan = replace(plan, max_k=max_k if most is None else min(max_k, most), time_limit=left)
    path = fit_request(replace(asked, data=data, plan=plan)).path
    if path._end == End.INTERRUPTED:
        raise KeyboardInterrupt
    if not path._end.finished:
        raise Stop(path.status, path._end)
    return path


class Runs(NamedTuple):
    """Results by number (those that finished), what ended the run early (an `End`, None where
    nothing did), and warnings of each as [(category, text)].
    """

    results: dict
    end: End | None
    warnings: list


def _one(call, number, single, arguments):
    """(number, result, warnings) of one call, on one thread if single."""
    with recorded() as caught, threads.limited(1) if single else threads.one_blas_thread():
        result = call(*arguments)
    return number, result, [(w.category, str(w.message)) for w in caught]


def run(call, items, *, n_jobs, progress, name, began, caller, max_k, remedy, fits=1):
    """`Runs` of call(*item), in processes or one after another. Ctrl-C and the time limit
    (`path_on_rows`) keep what has finished. Each item begins with its `Request`.

    Parameters
    ----------
    call : callable
        Makes one fit or several on some rows.
    items : list of tuple
        Its arguments.
    n_jobs, progress : int or None, bool or None
        As the user gave them.
    name : str
        What the bar counts.
    began : float
        When the user's call did (`time.perf_counter`).
    caller, max_k, remedy : str, int, str
        The name of the user's function, the largest size and what makes it shorter, for a call that
        takes long and says so.
    fits : int
        The number of fits of one call, which together cost as much as one on all rows.
    """
    check_jobs(n_jobs)
    results, warned, control = {}, [], Control(Clock())
    jobs = processes(n_jobs, len(items))
    asked = items[0][0]
    asked = replace(asked, plan=replace(asked.plan, max_k=max_k))
    tell_if_long(caller, asked, len(items), jobs, remedy, progress, each=fits)
    calls = ((call, i, n_jobs is not None or jobs > 1, item) for i, item in enumerate(items))
    with control.stage(), Bar(progress, f"l0path {name}", len(items), "path", began) as bar:
        for number, result, caught in (
            (_one(*c) for c in calls) if jobs == 1 else in_processes(jobs, _one, calls)
        ):
            results[number] = result
            warned.append(caught)
            bar.update()
    return Runs(results, control.end, warned)
