"""Kernels compiled side by side: while this process runs a fit, and compiles what it meets, others
of the same Python compile what it will need. They meet in the folder of kernels, where a claim on
an entry says that somebody compiles it.

Such a process runs a tiny fit of the same kind with every kernel as plain Python, which takes a
second and tells which kernels are entered with which kinds of arguments (`entered`), and compiles
these. Of numba this uses `Dispatcher._compile_for_args`, which may return any callable.
"""

import atexit
import contextlib
import multiprocessing
import os
import site
import subprocess
import sys
import threading
from pathlib import Path

from numba.core.dispatcher import Dispatcher

from .cache import KERNEL_FOLDERS
from .reach import PACKAGE

JOBS_VARIABLE = "L0PATH_COMPILE_JOBS"  # most processes that compile; 1: this one alone
MOST_JOBS = 4
GIBIBYTE = 2**30


def cores():
    """Processors that this process may use: its affinity, and the quota of its cgroup."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        count = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        count = min(count, max(int(quota) // int(period), 1))
    return count


def measured_memory():
    """Bytes that can still be taken: of the machine with its swap space, and of this process's
    cgroup, whose cached files can be dropped; None where neither can be told.
    """
    free, group = None, Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError, KeyError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes = {name: rest.split()[0] for name, _, rest in (line.partition(":") for line in lines)}
        free = (int(sizes["MemAvailable"]) + int(sizes.get("SwapFree", 0))) * 1024
    with contextlib.suppress(OSError, ValueError):
        most = int((group / "memory.max").read_text())
        taken = int((group / "memory.current").read_text())
        cached = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        left = most - taken + int(cached.get("inactive_file", 0))
        free = left if free is None else min(free, left)
    return None if free is None else max(free, 0)


def free_memory():
    """Bytes that can still be taken, 8 GiB where that cannot be told."""
    free = measured_memory()
    return 8 * GIBIBYTE if free is None else free


def jobs(n_jobs=None):
    """Processes that may compile at once, this one among them.

    Parameters
    ----------
    n_jobs : int, optional
        What the user asked for; -1 or None is as many as make sense.

    Returns
    -------
    int
        1 inside worker processes (joblib, multiprocessing, Dask), in programs that are not started
        by a Python interpreter, and where kernels cannot be stored; else at most `MOST_JOBS`, one
        per core and one per free GiB.
    """
    name = Path(sys.executable or "").name.lower()
    alone = multiprocessing.current_process().name != "MainProcess"
    frozen = getattr(sys, "frozen", False) or not name.startswith(("python", "pypy"))
    if n_jobs == 1 or alone or frozen or not KERNEL_FOLDERS.writable():
        return 1
    most = MOST_JOBS
    with contextlib.suppress(ValueError):
        most = int(os.environ.get(JOBS_VARIABLE, most))
    if n_jobs is not None and n_jobs > 0:
        most = min(most, n_jobs)
    return max(min(most, cores(), free_memory() // GIBIBYTE), 1)


def start(kinds, count):
    """Start `count` processes that compile what these kinds of fits enter.

    Returns
    -------
    list of subprocess.Popen
        Those that could be started.
    """
    environment = {**os.environ, JOBS_VARIABLE: "1", "OMP_NUM_THREADS": "1", "L0PATH_QUIET": "1"}
    home = str(Path(__file__).resolve().parents[2])
    if home not in [*site.getsitepackages(), site.getusersitepackages()]:  # a checkout
        paths = [home, *filter(None, [environment.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    started = []
    for _ in range(count):
        command = [sys.executable, "-P", "-m", PACKAGE, "warm-up", "--beside", *kinds]
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except (OSError, ValueError):
            break
        atexit.register(end, process)
        started.append(process)
    if started:
        KERNEL_FOLDERS.shared = True
    return started


def end(process):
    """End a process that is not needed any more."""
    with contextlib.suppress(OSError):
        process.kill()
        process.wait()


class Beside:
    """Processes beside one fit, started when the first kernel is not found on disk."""

    def __init__(self):
        self.kinds = ()
        self.begun = set()
        self.count = 0  # processes that were started

    @contextlib.contextmanager
    def compiling(self, *kinds, n_jobs=None):
        """Within the block, kernels that are not found are those of these kinds of fits."""
        before, self.kinds = self.kinds, kinds if n_jobs != 1 else ()
        try:
            yield
        finally:
            self.kinds = before

    def begin(self):
        """Start the processes, once per kind. The cache calls it when a kernel must be compiled."""
        kinds = [kind for kind in self.kinds if kind not in self.begun]
        if kinds:
            self.begun.update(kinds)
            self.count += len(start(kinds, jobs() - 1))


HELPING_PROCESSES = Beside()


def entered(run):
    """[(kernel, kinds of its arguments)] that `run()` enters from Python, found by running kernels
    as plain Python.
    """
    found, here = {}, threading.local()

    def plainly(kernel, *args, **options):
        inside = getattr(here, "inside", False)  # called by another kernel
        if not inside:
            found.setdefault((kernel, tuple(map(kernel.typeof_pyval, args))))

        def run_plainly(*args, **options):
            here.inside = True
            try:
                return kernel.py_func(*args, **options)
            finally:
                here.inside = inside

        return run_plainly

    as_it_was = Dispatcher._compile_for_args
    Dispatcher._compile_for_args = plainly
    try:
        run()
    finally:
        Dispatcher._compile_for_args = as_it_was
    return list(found)


def compile_share(run):
    """Compile, beside other processes, what `run()` enters: always the last kernel that nobody has
    begun, for the process that fits begins with the first. So processes that begin at any time
    share the work, and wait for each other near its end alone.
    """
    KERNEL_FOLDERS.shared = True

    def as_far_as_it_goes():  # Python raises where a kernel gives inf: what was entered counts
        with contextlib.suppress(Exception):
            run()

    for kernel, kinds in reversed(entered(as_far_as_it_goes)):
        name = kernel._cache.entry(kinds)
        if name is not None and KERNEL_FOLDERS.state(name) is None:
            with contextlib.suppress(Exception):  # the fit itself will meet the error
                kernel.compile(kinds)
