"""One pool of threads for work that releases the interpreter lock. How columns are split over it
never changes a result: every column belongs to one task.
"""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from operator import itemgetter
from threading import Lock, local

import scipy.linalg  # noqa: F401  loads SciPy's BLAS, so that the controller below finds it too
from threadpoolctl import ThreadpoolController

_lock = Lock()
_pools = {}
_own = local()
_blas = {"controller": None, "users": 0, "limit": None}


def count():
    """Threads to use, at most 32: OMP_NUM_THREADS if it is a whole number, so that one variable
    rules BLAS too, else the processors this process may use.
    """
    if getattr(_own, "count", None):
        return _own.count
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return min(int(wanted), 32)
    usable = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(usable, 32)


def run(task, bounds, threads=None):
    """Call task(bounds[i], bounds[i + 1]) for every i, on `threads` threads (default `count()`),
    this one among them; the first error is raised here, and ends the work.

    Each thread takes the next range when it has done one: threads are handed work once a call, not
    once a range, which for ranges of a third of a millisecond takes a tenth of the time.
    """
    ranges = list(pairwise(bounds))
    threads = count() if threads is None and len(ranges) > 1 else threads
    if len(ranges) <= 1 or threads == 1:
        for start, stop in ranges:
            task(start, stop)
        return
    left, errors = deque(enumerate(ranges)), []

    def work():
        while True:
            try:
                at, (start, stop) = left.popleft()
            except IndexError:  # nothing is left
                return
            try:
                task(start, stop)
            except BaseException as error:
                left.clear()
                errors.append((at, error))

    with _lock:
        if threads not in _pools:
            _pools[threads] = ThreadPoolExecutor(threads - 1, thread_name_prefix="l0path")
        pool = _pools[threads]
    helpers = [pool.submit(work) for _ in range(min(threads, len(ranges)) - 1)]
    try:
        work()
    finally:
        left.clear()  # after an interruption nothing new begins
        for helper in helpers:
            if not helper.cancel():  # one that never began, because its thread was busy, is let go
                helper.result()
    if errors:
        raise min(errors, key=itemgetter(0))[1]


def run_each(task, number):
    """Call task(i) for i in 0..number - 1 on the threads, one at a time each."""
    run(lambda i, _: task(i), range(number + 1))


@contextmanager
def one_blas_thread():
    """BLAS on one thread inside, for small products: threads of BLAS wait for each other after
    each, which a busy neighbor makes many times slower.

    The limit holds for the whole process, so users are counted: the first sets it, the last lifts
    it.
    """
    with _lock:
        if _blas["users"] == 0:
            if _blas["controller"] is None:
                _blas["controller"] = ThreadpoolController()
            _take_control()
            _blas["limit"] = _blas["controller"].limit(limits=1, user_api="blas")
        _blas["users"] += 1
    try:
        yield
    finally:
        with _lock:
            _blas["users"] -= 1
            if _blas["users"] == 0:
                _take_control()
                _blas["limit"].restore_original_limits()


def _take_control():
    """Let this Python thread set limits: threadpoolctl lets the first that did keep the right while
    it lives, and ignores others.
    """
    for library in _blas["controller"].lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@contextmanager
def limited(n_jobs):
    """At most n_jobs threads for the work started inside by this Python thread (None: no limit of
    ours, -1: all); one thread binds BLAS too.
    """
    if n_jobs is None or n_jobs == -1:
        yield
        return
    if isinstance(n_jobs, bool) or int(n_jobs) != n_jobs or n_jobs < 1:
        raise ValueError(f"n_jobs={n_jobs!r} must be None, -1 or a whole number >= 1")
    before, _own.count = getattr(_own, "count", None), int(n_jobs)
    try:
        if n_jobs == 1:
            with one_blas_thread():
                yield
        else:
            yield
    finally:
        _own.count = before


def _forget():
    """A forked child has no threads of its parent: drop the pools, the lock, and a limit that
    another thread of the parent had set.
    """
    global _lock
    _lock = Lock()
    _pools.clear()
    if _blas["users"]:
        _take_control()
        _blas["limit"].restore_original_limits()
        _blas["users"] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
