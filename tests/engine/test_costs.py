"""`fit_cost` beside what fits do: peaks of resident memory, reads, refusals."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import l0path
from l0path.compiled import processes
from l0path.cross_validation.together import at_once
from l0path.engine.costs.counting import counted
from l0path.engine.request import request

# run in a process of its own, where the peak of resident memory can be set back
PEAKS = """
import gc, json, sys
import numpy as np, scipy.sparse as sp, l0path
from l0path.engine.costs import counted
from l0path.engine.request import request

def resident(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

def dense(n, p, order, dtype):
    rng = np.random.default_rng(0)
    shape = (p, n) if order == "F" else (n, p)
    if np.dtype(dtype).kind == "f":
        X = rng.standard_normal(shape, dtype=dtype)
    else:
        X = rng.integers(0, 9, shape, dtype=dtype)
    return X.T if order == "F" else X

def cases(cut):
    yield dense(60000 // cut, 200, "F", "f8"), {"max_k": 40}
    yield dense(2000 // cut, 6000 // cut, "C", "f8"), {"max_k": 60}
    yield dense(2000 // cut, 6000 // cut, "C", "f4"), {"max_k": 60}
    yield dense(2000 // cut, 6000 // cut, "F", "f4"), {"max_k": 60}
    yield dense(60000 // cut, 200, "C", "i1"), {"max_k": 40}
    X = sp.random(40000 // cut, 2000 // cut, 0.01, format="csc", random_state=0)
    yield X, {"max_k": 20}
    X = dense(20000 // cut, 1000 // cut, "F", "f8")
    yield l0path.designs.blocks(X, memory_limit="20MB"), {"max_k": 20}
    X = dense(20000 // cut, 600 // cut, "F", "f8")
    yield X, {"max_k": 10, "groups": [j // 3 for j in range(X.shape[1])]}
    yield dense(20000 // cut, 500 // cut, "F", "f8"), {"max_k": 8, "loss": "logistic"}
    yield dense(40000 // cut, 200 // cut, "F", "f8"), {"max_k": 20, "cv": 5, "lambda2": 0}
    yield dense(2000 // cut, 3000 // cut, "F", "f8"), {"max_k": 20, "cv": 10, "lambda2": 0}
    few = {"max_k": 5, "loss": "logistic", "cv": 3, "lambda2": 0}
    yield dense(20000 // cut, 300 // cut, "F", "f8"), few

for cut in (20, 1):
    for number, (X, more) in enumerate(cases(cut)):
        y = np.random.default_rng(1).standard_normal(X.shape[0] if hasattr(X, "shape") else X.n)
        y = np.where(y > 0, 1, -1) if "loss" in more else y
        gc.collect()
        cost = l0path.fit_cost(X, y, **more)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = resident("VmRSS")
        path = (l0path.cv_fit if "cv" in more else l0path.fit)(X, y, **more)
        if cut == 1:
            row = [number, cost.bytes_held, resident("VmHWM") - before]
            more.pop("cv", None)
            least = counted(request(X, y, **more)).least
            reads = l0path.fit_cost(X, y, **more).reads
            print(json.dumps([*row, least, reads, int(path.rounds["reads"].iloc[-1])]))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs /proc of Linux")
@pytest.mark.slow
def test_bytes_are_within_a_factor_of_two_of_the_peak():
    done = subprocess.run(
        [sys.executable, "-c", PEAKS],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
        check=True,
        # freed memory goes back to the system, so that no case uses that of an earlier one
        env={
            **os.environ,
            "MALLOC_MMAP_THRESHOLD_": "65536",
            "MALLOC_TRIM_THRESHOLD_": "0",
            "OMP_NUM_THREADS": "2",  # threads have working memory of their own
        },
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 12
    for number, told, peak, least, reads, done in rows:
        assert least <= peak, (number, least, peak)  # so nothing is refused that fits
        assert peak / 2 <= told <= 2 * peak, (number, told, peak)
        assert done / 3 <= reads <= 3 * done, (number, reads, done)


def plain(n=30, p=8):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] + rng.standard_normal(n)


def test_text_and_numbers_agree():
    X, y = plain()
    cost = l0path.fit_cost(X, y, max_k=3)
    assert cost.bytes_x == X.nbytes and cost.bytes_read == cost.reads * X.nbytes
    assert 0 < cost.seconds[0] < cost.seconds[1]
    assert f"reads of X: about {cost.reads} (" in str(cost) and str(cost) in repr(cost)
    assert l0path.fit_cost(sp.csc_array(X), y).bytes_x > 0
    assert l0path.fit_cost(X, y, algorithm="cd", lambda0="grid").kernels is None


def test_more_sizes_columns_or_rows_cost_more():
    X, y = plain(400, 300)
    least = l0path.fit_cost(X, y, max_k=5, algorithm="cd")  # whose kernels are not counted
    for more in (l0path.fit_cost(X, y, max_k=50, algorithm="cd"),):
        assert more.bytes_held > least.bytes_held
    wide, long = np.zeros((400, 3000)), np.zeros((4000, 300))
    assert l0path.fit_cost(wide, y, max_k=5, algorithm="cd").bytes_held > least.bytes_held
    y = np.zeros(4000)
    y[0] = 1.0
    assert l0path.fit_cost(long, y, max_k=5, algorithm="cd").bytes_held > least.bytes_held


def test_arguments_are_those_of_fit():
    X, y = plain()
    with pytest.raises(TypeError, match="max_size"):
        l0path.fit_cost(X, y, max_size=3)
    with pytest.raises(ValueError, match="tol=1"):
        l0path.fit_cost(X, y, algorithm=l0path.solvers.LocalSearch(tol=1.0))


class Reading:
    """A design that counts what is asked of it."""

    def __init__(self, n, p):
        self.n, self.p, self.asked = n, p, 0

    def _verb(self, *_):
        self.asked += 1
        raise AssertionError("X was read")

    correlate = columns = dot = moments = nonfinite = _verb


def test_a_fit_that_cannot_fit_is_refused_before_x_is_read(monkeypatch):
    monkeypatch.setattr(processes, "measured_memory", lambda: 50_000_000)
    X, y = Reading(200, 10**6), np.arange(200.0)
    with pytest.raises(MemoryError, match=r"max_k=40 needs at least .*designs.blocks") as refused:
        l0path.fit(X, y, max_k=40)
    assert "50 MB are free" in str(refused.value) and X.asked == 0
    splitter = Reading(0, 0)  # which is not asked for folds
    splitter.split = splitter._verb
    with pytest.raises(MemoryError, match=r"max_k=40 needs at least .*designs.blocks"):
        l0path.cv_fit(X, y, max_k=40, cv=splitter)
    assert X.asked == splitter.asked == 0
    cost = l0path.fit_cost(X, y, max_k=40, algorithm="cd")
    assert cost.bytes_held > cost.available == 50_000_000


def test_blocks_are_told_to_hold_less(monkeypatch):
    monkeypatch.setattr(processes, "measured_memory", lambda: 1000)
    X = l0path.designs.blocks(np.zeros((12, 200_000), dtype=np.float32), memory_limit="20MB")
    with pytest.raises(MemoryError, match=r"less than 20 MB to designs\.blocks"):
        l0path.fit(X, np.arange(12.0))


def test_nothing_is_refused_where_memory_is_not_known_or_enough(monkeypatch):
    X, y = plain()
    monkeypatch.setattr(processes, "measured_memory", lambda: None)
    assert l0path.fit_cost(X, y).available is None
    assert l0path.fit(X, y, max_k=2).status.startswith("complete")
    monkeypatch.setattr(processes, "measured_memory", lambda: 10_000_000)
    assert l0path.fit(X, y, max_k=2).status.startswith("complete")


def test_progress_begins_with_the_cost(capsys):
    X, y = plain()
    l0path.fit(X, y, max_k=2, progress=True)
    assert "memory beside X: about " in capsys.readouterr().err.splitlines()[0]
    l0path.fit(X, y, max_k=2)
    assert not capsys.readouterr().err


def test_folds_count_beside_the_fit_on_all_rows(capsys):
    X, y = plain()
    alone = l0path.fit_cost(X, y, max_k=3)
    folds = l0path.fit_cost(X, y, max_k=3, cv=5, lambda2=0)
    assert folds.folds == 5 and alone.folds == 0 and "on all rows, and of 5 folds" in str(folds)
    assert folds.reads == 6 * alone.reads and folds.bytes_read == folds.reads * X.nbytes
    assert folds.seconds[1] > 2 * alone.seconds[1]
    assert l0path.fit_cost(X, y, max_k=3, cv=5).reads == 4 * folds.reads  # four ridges
    more = {"n_repeats": 2, "scoring": "mae", "random_state": 1, "n_jobs": 2}
    assert l0path.fit_cost(X, y, cv=5, max_k=3, **more).folds == 10
    assert l0path.fit_cost(X, y, cv=np.arange(30) % 3).folds == 3
    l0path.cv_fit(X, y, cv=3, max_k=2, random_state=0, progress=True)
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("l0path: time: roughly")
    assert first.endswith("on all rows, and of 3 folds")


def test_folds_of_formulas_and_wrong_folds_are_as_in_cv_fit():
    X, y = plain()
    data = pd.DataFrame(X[:, :3], columns=list("abc")).assign(y=y, person=np.arange(30) // 3)
    cost = l0path.fit_cost("y ~ a + b + c", data, cv=4, groups_cv="person", max_k=2)
    assert cost.folds == 4
    for cv in (1, "5", 31):
        with pytest.raises((TypeError, ValueError)) as told:
            l0path.fit_cost(X, y, cv=cv)
        with pytest.raises(type(told.value)) as meant:
            l0path.cv_fit(X, y, cv=cv)
        assert str(told.value) == str(meant.value)


def test_folds_that_advance_together_hold_columns_of_their_own():
    """Their number is limited where there are so many rows that these would take many times X."""
    X = l0path.designs.Dense(np.zeros((1 << 12, 1 << 9)))
    assert at_once(X, 10, 1, 0.1, 20) == 10 and at_once(X, 10, 2, 0.1, 20) == 5
    tall = l0path.designs.Dense(np.broadcast_to(np.zeros((1, 200)), (4_000_000, 200)))
    assert at_once(tall, 10, 1, 0.1, 20) == 2  # 100 columns each, as much as X


def test_memory_of_a_cgroup_counts_without_its_cached_files(monkeypatch, tmp_path):
    files = {
        "/proc/meminfo": "MemAvailable: 9000 kB\nSwapFree: 1000 kB\n",
        "/sys/fs/cgroup/memory.max": "5000000",
        "/sys/fs/cgroup/memory.current": "4000000",
        "/sys/fs/cgroup/memory.stat": "anon 1\ninactive_file 700000\n",
    }

    def read(path):
        if str(path) not in files:
            raise FileNotFoundError(path)
        return files[str(path)]

    monkeypatch.setattr(processes.Path, "read_text", read)
    assert processes.measured_memory() == 1_700_000
    files["/sys/fs/cgroup/memory.max"] = "max"
    assert processes.measured_memory() == 10_000 * 1024
    files.clear()
    assert processes.measured_memory() is None and processes.free_memory() == 8 << 30


class Begun(Exception):
    pass


def test_long_calls_say_what_they_take_before_they_begin(capsys, monkeypatch):
    from l0path.cross_validation import nested
    from l0path.inference import rows

    def begin(*arguments, **more):
        raise Begun

    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2000), dtype=np.float32)
    y = X[:, 0] + rng.standard_normal(300)
    monkeypatch.delenv("L0PATH_QUIET", raising=False)
    monkeypatch.setattr(nested, "cv_fit", begin)
    monkeypatch.setattr(rows, "_one", begin)
    calls = {
        "nested_cv": lambda **more: l0path.nested_cv(
            X, y, outer=10, cv=50, random_state=0, n_jobs=1, **more
        ),
        "split_inference": lambda **more: l0path.split_inference(
            X, y, n_splits=20_000, random_state=0, n_jobs=1, **more
        ),
        "stability_selection": lambda **more: l0path.stability_selection(
            X, y, n_subsamples=100_000, k=20, random_state=0, n_jobs=1, **more
        ),
    }
    for name, call in calls.items():
        with pytest.raises(Begun):
            call()
        said = capsys.readouterr().err
        if name == "stability_selection":  # two of a pair on half of the rows each
            assert "makes 100000 fits" in said
        assert said.startswith(f"l0path: {name} makes ") and " in all; a smaller max_k=" in said
        assert re.search(r"roughly [\d.]+ \w+ to [\d.]+ \w+ in all", said)
        with pytest.raises(Begun):
            call(progress=False)
        assert not capsys.readouterr().err


def test_short_calls_say_nothing_and_time_nothing(capsys, monkeypatch):
    from l0path.engine.costs import report

    def never():
        raise AssertionError("speeds were timed for a short call")

    monkeypatch.setattr(report, "speeds", never)
    X, y = plain()
    l0path.nested_cv(X, y, outer=2, cv=2, max_k=2, random_state=0)
    l0path.split_inference(X[:, :5], y, n_splits=2, max_k=2, random_state=0)
    l0path.stability_selection(X, y, n_subsamples=4, k=1, random_state=0)
    assert not capsys.readouterr().err


def test_sizes_near_half_of_the_rows_cost_more_than_in_proportion():
    """Processor time was measured: tables of exchanges grow as the cube of the largest size."""
    X, y = plain(300, 400)
    few, many = (counted(request(X, y, max_k=k, certify=False)).others for k in (30, 120))
    assert many > 4**2 * few
