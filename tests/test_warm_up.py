"""Kernels compiled by several processes: which kernels, who may start processes, and that they meet
in the folder of kernels.
"""

import gc
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numba.core.caching import NullCache

import l0path
from l0path import warm
from l0path.compiled import HELPING_PROCESSES, KernelCache, cache, processes
from l0path.compiled.cache import KERNEL_FOLDERS
from l0path.core import dispatch
from l0path.exchange import table
from l0path.problem import losses, verbs
from l0path.working_set import linear_algebra

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def many(monkeypatch, tmp_path):
    """A machine on which several processes may compile."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr(processes, "free_memory", lambda: 64 * processes.GIBIBYTE)
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(processes.JOBS_VARIABLE, raising=False)
    return tmp_path


def test_processes_are_as_many_as_cores_memory_and_the_user_allow(many, monkeypatch):
    monkeypatch.setattr(processes, "cores", lambda: 3)
    assert processes.jobs() == processes.jobs(-1) == 3
    assert processes.jobs(2) == 2 and processes.jobs(1) == 1
    monkeypatch.setattr(processes, "cores", lambda: 64)
    assert processes.jobs() == 4
    monkeypatch.setattr(processes, "free_memory", lambda: int(2.5 * processes.GIBIBYTE))
    assert processes.jobs() == 2
    monkeypatch.setattr(processes, "free_memory", lambda: 0)
    assert processes.jobs() == 1


def test_cores_follow_the_affinity(many, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5})
    assert processes.cores() == 1
    assert processes.free_memory() > 0


@pytest.mark.parametrize("case", ["worker", "no executable", "not Python", "frozen", "variable"])
def test_where_no_process_is_started(many, monkeypatch, case):
    monkeypatch.setattr(processes, "cores", lambda: 4)
    assert processes.jobs() == 4
    if case == "worker":
        monkeypatch.setattr(multiprocessing.current_process(), "_name", "LokyProcess-1")
    elif case == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    elif case == "variable":
        monkeypatch.setenv(processes.JOBS_VARIABLE, "1")
    else:
        executable = "" if case == "no executable" else "/usr/sbin/uwsgi"
        monkeypatch.setattr(sys, "executable", executable)
    assert processes.jobs() == 1


def test_no_process_is_started_where_kernels_cannot_be_stored(many, monkeypatch):
    monkeypatch.setattr(processes, "cores", lambda: 4)
    (many / "file").write_text("")
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(many / "file" / "below"))
    assert processes.jobs() == 1


def test_processes_that_cannot_be_started_are_done_without(many, monkeypatch):
    def refuse(*_, **__):
        raise OSError("no processes here")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(KERNEL_FOLDERS, "shared", False)
    assert processes.start(["squared"], 3) == [] and not KERNEL_FOLDERS.shared


def test_processes_start_once_a_kind_at_the_first_kernel_that_is_missing(monkeypatch):
    asked = []
    monkeypatch.setattr(processes, "jobs", lambda: 3)
    monkeypatch.setattr(
        processes, "start", lambda kinds, count: asked.append((kinds, count)) or [None] * count
    )
    beside = processes.Beside()
    beside.begin()  # outside a fit
    for _ in range(2):
        with beside.compiling("squared"):
            with beside.compiling("squared", n_jobs=1):
                beside.begin()
            assert asked in ([], [(["squared"], 2)])
            beside.begin()
    assert asked == [(["squared"], 2)] and beside.count == 2
    assert HELPING_PROCESSES.begin in KernelCache.on_missing


def kernel(x):
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return total


def test_entered_kernels_are_those_that_python_calls():
    X, y = np.random.default_rng(0).standard_normal((2, 30))

    def run():
        verbs.mean_loss(losses.Squared(), X, y, np.full(30, 1 / 30))

    # only where the kernel is not compiled for these kinds of arguments already
    fresh = sys.modules["numba"].njit(kernel)
    found = processes.entered(lambda: (fresh(X), fresh(X), fresh(X[::2]), run()))
    mine = [kinds for entered, kinds in found if entered is fresh]
    assert [str(kinds[0]) for kinds in mine] == ["array(float64, 1d, C)", "array(float64, 1d, A)"]
    assert not fresh.signatures and fresh(X) == pytest.approx(X.sum())


def test_kernels_that_kernels_call_are_not_entered():
    A, L = np.eye(2), np.empty((2, 2))
    found = [
        kernel for kernel, _ in processes.entered(lambda: linear_algebra.invert(A[:, ::-1], 2, L))
    ]
    assert found == [linear_algebra.invert]


def test_callees_are_compiled_into_their_callers():
    """A callee that Python has not called has no compiled form of its own; once it is called it is
    compiled for Python too, with the same result.
    """
    inner, outer = dispatch.njit(_inner), None
    scope = {"inner": inner}
    exec("def outer(x): return inner(x) + inner(x)", scope)
    scope["outer"].__module__ = "l0path.nowhere"
    outer = dispatch.njit(scope["outer"])
    outer._cache = inner._cache = NullCache()
    x = np.arange(3.0)
    assert outer(x) == 6.0 and not inner.signatures
    assert inner(x) == 3.0 and len(inner.signatures) == 1 and outer(x) == 6.0
    assert gc.isenabled()


def _inner(x):
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return total


_inner.__module__ = "l0path.nowhere"


def test_a_share_is_what_nobody_has_begun(monkeypatch):
    """One kernel is stored, one is claimed by another process, one cannot be stored. The process
    that fits begins with the first, so this one begins with the last.
    """
    algebra = (linear_algebra.cholesky, linear_algebra.invert, linear_algebra.predictor)
    kernels = [table.add, table.drop, *algebra]
    names = {"add": "claimed", "cholesky": "stored"}
    order = []
    monkeypatch.setattr(processes, "entered", lambda run: [(kernel, ()) for kernel in kernels])
    monkeypatch.setattr(
        KernelCache,
        "entry",
        lambda self, kinds: None if self.dispatcher is table.drop else self.dispatcher.__name__,
    )
    monkeypatch.setattr(cache.Folders, "state", lambda self, name: names.get(name))
    monkeypatch.setattr(KERNEL_FOLDERS, "shared", False)
    monkeypatch.setattr(
        type(table.add), "compile", lambda kernel, kinds: order.append(kernel.__name__) or 1 / 0
    )
    processes.compile_share(None)
    assert order == ["predictor", "invert"]


def test_one_process_waits_for_an_entry_that_another_claimed(tmp_path, monkeypatch):
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path))
    one, other = cache.Folders(), cache.Folders()
    one.shared = other.shared = True
    folder = tmp_path / "l0path"
    assert one.writable() and not one.elsewhere("entry")  # claimed by one
    (folder / "entry").write_bytes(b"")
    assert other.elsewhere("entry")  # stored by one
    one.release("entry")
    assert [path.name for path in folder.iterdir()] == ["entry"]
    assert not one.elsewhere("left")
    os.utime(folder / "left.claim", (0, 0))  # of a process that was ended long ago
    began = time.monotonic()
    assert not other.elsewhere("left") and time.monotonic() - began < cache.LONGEST_WAIT
    other.release_all()
    other.shared = False
    assert not other.elsewhere("another") and len(list(folder.iterdir())) == 1


def test_a_process_beside_compiles_what_a_fit_enters(tmp_path):
    """As `processes.start` calls it: a script of the user's is not run, nor found in its folder."""
    (tmp_path / "l0path.py").write_text("raise SystemExit('the wrong module')")
    command = [sys.executable, "-P", "-m", "l0path", "warm-up", "--beside", "moments"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=300)
    names = {path.name.partition("-")[0] for path in (tmp_path / "l0path").iterdir()}
    assert any(name.startswith("l0path.designs.kernels.") for name in names)
    assert all(path.suffix == cache.ENDING for path in (tmp_path / "l0path").iterdir())


def test_fits_of_groups_and_certificates_say_what_they_will_need(monkeypatch):
    asked = []
    compiling = HELPING_PROCESSES.compiling
    monkeypatch.setattr(
        HELPING_PROCESSES,
        "compiling",
        lambda *kinds, **options: asked.append(kinds) or compiling(**options),
    )
    X, y = np.random.default_rng(0).standard_normal((2, 30, 4))[0], np.arange(30.0)
    l0path.fit(X, y, groups=[0, 0, 1, 1], max_k=1)
    path = l0path.fit(X, y, lambda2=0.1, max_k=2, certify=True)
    path.certify(k=2)
    l0path.fit(X, y, max_k=1, algorithm="cd", lambda0="grid")
    l0path.fit(X, y, max_k=1)
    l0path.fit(X, y, max_k=1, certify=False)
    l0path.fit(np.tile(X, 13), y, max_k=1)  # too many columns for the proof of all sizes
    l0path.fit(X, y > 9, loss="logistic", max_k=1, lambda2=0.1)
    assert asked == [
        ("squared:groups",),
        ("squared", "squared:sizes", "squared:certify"),
        ("squared:certify",),
        (),
        ("squared", "squared:sizes"),
        ("squared",),
        ("squared",),
        ("logistic",),
    ]
    for kind in ("squared:groups", "squared:certify", "squared:sizes"):
        warm.recipes([kind])


@pytest.mark.parametrize("kind", [*warm.OTHERS, *(f"huber:{part}" for part in warm.PARTS)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # plain Python warns where kernels give inf
def test_every_kind_of_fit_runs(kind):
    with np.errstate(all="ignore"):
        processes.entered(warm.recipes([kind]))


@pytest.mark.parametrize(
    "loss",
    ["cox", *(pytest.param(loss, marks=pytest.mark.slow) for loss in ("ordinal", "multinomial"))],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kernels_of_classes_and_survival_times_are_known_beforehand(loss):
    rng = np.random.default_rng(90012)
    X, z = rng.standard_normal((40, 3)), rng.standard_normal(40)
    y = np.digitize(z, [-0.5, 0.5])
    if loss == "cox":  # events of True and False make no other kind of array than numbers
        y = pd.DataFrame({"time": np.exp(z), "event": z < 1})
    cost = l0path.fit_cost(X, y, loss=loss)
    assert cost.reads > 0 and cost.kernels is not None
    with np.errstate(all="ignore"):
        known = processes.entered(warm.recipes([loss]))
        assert {*processes.entered(lambda: l0path.fit(X, y, loss=loss))} <= {*known}


def test_kinds_of_fits_that_are_known():
    with pytest.raises(ValueError, match="not known"):
        warm.recipes(["cubic"])
    with pytest.raises(ValueError, match="not known"):
        l0path.warm_up("cubic")


def test_the_tiny_fits_of_warm_up_start_no_processes(many, monkeypatch):
    """A kernel that is missing in a fit starts processes; `warm_up` has started them itself."""
    asked = []
    monkeypatch.setattr(processes, "cores", lambda: 4)
    monkeypatch.setattr(processes, "start", lambda kinds, count: asked.append(count) or [])
    monkeypatch.setattr(HELPING_PROCESSES, "begun", set())

    def run_a_fit(kinds):
        def run():
            for kind in set(kinds) - {"moments"}:
                with HELPING_PROCESSES.compiling(kind.partition(":")[0]):
                    HELPING_PROCESSES.begin()

        return run

    monkeypatch.setattr(warm, "recipes", run_a_fit)
    warm.warm_up("squared", verbose=False, n_jobs=1)
    assert asked == [0]
    warm.warm_up("logistic", verbose=False, n_jobs=3)
    assert asked == [0, 2]
