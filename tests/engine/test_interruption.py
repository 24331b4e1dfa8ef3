"""Stopping early, calling from two threads, and what a fit leaves behind: nothing solved is lost,
nothing global is touched.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import oracles
import pytest
from asked import loss_with
from recomputed import objective_of
from thinning import thinned

import l0path
from l0path.core.control import imported_whole
from l0path.exchange.local_search import LocalSearch

ROOT = Path(__file__).resolve().parents[2]


def data(n=120, p=400, seed=0, loss="squared"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] += 0.9 * X[:, j - 1]
    signal_part = X[:, 10] - 0.8 * X[:, 12] + 0.6 * X[:, 20] - 0.5 * X[:, 21]
    return X, oracles._response(loss, signal_part, rng)


X, Y = data()
Z = data(loss="logistic")[1]
LONG = dict(
    max_k=25,
    loss="logistic",
    lambda2=np.geomspace(1, 1e-3, 400),
    algorithm=LocalSearch(effort="high"),
    random_state=0,
)  # many seconds of search, if nothing stops it


def check(path):
    """What there is, is right: sizes of each slice in order, objectives recomputed, unverified
    sizes named in the status.
    """
    for _, part in path.details.groupby("slice"):
        assert part.k.tolist() == list(range(len(part)))
    assert len(path) >= 1
    y = Y if path.loss.name == "squared" else Z
    for i, s in enumerate(path._solutions):
        beta = np.zeros(X.shape[1])
        beta[s.support] = s.beta
        assert s.objective == pytest.approx(
            oracles.objective(X, y, beta, s.intercept, loss=path.loss.name, lambda2=s.lambda2),
            rel=1e-9,
        )
        assert objective_of(path, index=i) == pytest.approx(s.objective, rel=1e-9)
        assert s.optimality != "unverified" or s.slice == path._solutions[-1].slice
    unverified = (path.details.optimality == "unverified").sum()
    assert f"{unverified} of {len(path)} unverified" in path.status


@pytest.mark.parametrize("limit", [1e-9, 0.02, 0.3])
def test_time_limit_returns_what_is_solved(limit):
    l0path.fit(X, Z, max_k=3, loss="logistic", lambda2=0.01)
    started = time.perf_counter()
    path = l0path.fit(X, Z, time_limit=limit, **LONG)
    assert time.perf_counter() - started < limit + 1.5
    assert path.status.startswith(f"time_limit of {limit:g} s reached; k = 0..")
    check(path)


def test_a_tiny_time_limit_still_gives_the_null_model():
    path = l0path.fit(X, Y, time_limit=1e-9, max_k=25)
    assert path.model(k=0).objective == pytest.approx(((Y - Y.mean()) ** 2).mean() / 2, rel=1e-12)
    assert (path.details.optimality.iloc[1:] == "unverified").all()


def test_time_limit_of_a_row_loss_and_of_slices():
    A, z = data(80, 150, 1, "logistic")
    l0path.fit(A, z, loss="logistic", lambda2=0.01, max_k=2)
    path = l0path.fit(A, z, loss="logistic", lambda2=l0path.grid(n=500), max_k=15, time_limit=0.2)
    assert path.status.startswith("time_limit") and path.details.slice.nunique() < 500
    for i, s in enumerate(path._solutions):
        assert objective_of(path, index=i) == pytest.approx(s.objective, rel=1e-9)


def test_a_generous_time_limit_changes_nothing():
    a, b = l0path.fit(X, Y, max_k=6), l0path.fit(X, Y, max_k=6, time_limit=1000)
    assert (
        a.details.objective.tolist() == b.details.objective.tolist()
        and a.status == b.status == "complete: k = 0..6"
    )


@contextmanager
def ctrl_c_after(seconds):
    """SIGINT in the main thread, once; a late one is waited for, so that it cannot fall into
    another test.
    """
    fired, inside = [], False

    def alarm(number, frame):
        if (
            not inside or frame.f_code.co_filename == contextlib.__file__
        ):  # on the way into the block, or out of it: a little later
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
            return
        fired.append(number)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        inside = True  # no call after this: Python would look for signals
        yield
        while not fired:
            time.sleep(0.001)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_returns_what_is_solved():
    l0path.fit(X, Z, max_k=3, loss="logistic", lambda2=0.01)
    with ctrl_c_after(0.25):
        path = l0path.fit(X, Z, **LONG)
    assert path.status.startswith("interrupted (Ctrl-C); k = 0..")
    check(path)


@pytest.mark.parametrize(
    ("options", "delay"),
    thinned(
        2,
        [dict(max_k=25), dict(max_k=12, loss="logistic", lambda2=0.01)],
        [0.001, 0.003, 0.006, 0.01, 0.015, 0.02, 0.03, 0.05],
    ),
)
def test_ctrl_c_at_any_moment_returns_sound_points(delay, options):
    path = None
    before = signal.getsignal(signal.SIGINT)
    with ctrl_c_after(delay):
        path = l0path.fit(X, Z if options.get("loss") else Y, **options)
    assert signal.getsignal(signal.SIGINT) is before
    if path is not None and path.status.startswith(
        "interrupted"
    ):  # None: it fell before the fit, or between the fit and its name
        check(path)
    again = l0path.fit(X, Z if options.get("loss") else Y, **options)
    assert again.status == f"complete: k = 0..{options['max_k']}"


def test_a_second_ctrl_c_acts_at_once():
    def listener(model):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    started = time.perf_counter()
    path = l0path.fit(X, Y, max_k=3, on_solution=listener)
    assert time.perf_counter() - started < 4 and path.status.startswith("interrupted")
    check(path)


def test_ctrl_c_sent_to_the_process():
    def listener(model):
        if model.k == 4:
            os.kill(os.getpid(), signal.SIGINT)

    path = l0path.fit(X, Z, on_solution=listener, **LONG)
    assert path.status.startswith("interrupted (Ctrl-C)") and len(path) >= 5
    check(path)


def test_ctrl_c_raised_in_the_callback():
    def listener(model):
        if model.k == 2:
            raise KeyboardInterrupt

    path = l0path.fit(X, Z, on_solution=listener, **LONG)
    assert path.status.startswith("interrupted") and len(path) >= 3
    check(path)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_on_solution_sees_every_size_as_a_usable_model(loss):
    A, y = data(80, 30, 2, loss)
    seen = {}

    def listener(model):
        assert isinstance(model, l0path.Model) and model.coef.size == model.support.size + 1
        assert model.predict(A[:3]).shape == (3,) and model.features == [
            f"x{j}" for j in model.support
        ]
        seen[model.k] = (model.objective, model.support.tolist(), model.optimality)

    path = l0path.fit(A, y, loss=loss, lambda2=0.01, max_k=5, on_solution=listener)
    assert path.status == "complete: k = 0..5" and sorted(seen) == [0, 1, 2, 3, 4, 5]
    for s in path._solutions:
        assert seen[s.k] == (s.objective, s.support.tolist(), s.optimality)


def test_on_solution_true_stops_and_other_values_do_not():
    path = l0path.fit(X, Z, on_solution=lambda model: model.k == 3, **LONG)
    assert (
        path.status.startswith("stopped by on_solution; k = 0..")
        and path.model(k=3, slice=0).optimality == "refit_swap_m"
    )
    check(path)
    assert l0path.fit(X, Y, max_k=4, on_solution=lambda model: "yes").status == "complete: k = 0..4"
    path = l0path.fit(X, Z, on_solution=lambda model: True, **LONG)
    assert path.model(k=0, slice=0).k == 0 and path.status.startswith("stopped")


def test_errors_of_the_callback_reach_the_caller():
    def listener(model):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        l0path.fit(X, Y, max_k=3, on_solution=listener)


def test_stopping_on_slices_keeps_the_finished_ones():
    count = []
    path = l0path.fit(
        X,
        Y,
        lambda2=l0path.grid(n=5),
        max_k=4,
        on_solution=lambda model: (
            count.append(model.details["slice"]) or (model.details["slice"] == 2 and model.k == 4)
        ),
    )
    assert path.details.slice.unique().tolist() == [0, 1, 2] and set(count) == {0, 1, 2}
    assert (path.details[path.details.slice < 2].optimality != "unverified").all()


def test_two_python_threads_at_once_give_the_serial_answers():
    jobs = [("squared", 3), ("logistic", 4), ("squared", 5), ("huber", 6)]
    serial = [
        l0path.fit(
            *data(90, 300, seed, loss),
            loss=loss_with(loss, delta=1.0),
            max_k=8,
            lambda2=0.01,
        )
        for loss, seed in jobs
    ]
    for _ in range(2):
        results, errors = {}, []

        def work(i, results=results, errors=errors):
            try:
                loss, seed = jobs[i]
                results[i] = l0path.fit(
                    *data(90, 300, seed, loss),
                    loss=loss_with(loss, delta=1.0),
                    max_k=8,
                    lambda2=0.01,
                    n_jobs=[None, 1][i % 2],
                )
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(jobs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        for i, path in enumerate(serial):
            assert [s.support.tolist() for s in path._solutions] == [
                s.support.tolist() for s in results[i]._solutions
            ]
            np.testing.assert_allclose(
                results[i].table.objective, path.details.objective, rtol=1e-9
            )


def test_global_random_states_are_untouched():
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)
    numpy_state, python_state = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    l0path.fit(X, Y, max_k=4, algorithm=LocalSearch(effort="high"), random_state=3)
    l0path.fit(X, Y, max_k=2)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert random.getstate() == python_state


def test_random_state_decides_high_effort():
    runs = [
        l0path.fit(X, Y, max_k=8, algorithm=LocalSearch(effort="high"), random_state=s)
        for s in (5, 5, np.random.default_rng(5))
    ]
    for run in runs[1:]:
        assert run.details.objective.tolist() == runs[0].table.objective.tolist()
    assert (
        runs[0].table.objective <= l0path.fit(X, Y, max_k=8).details.objective * (1 + 1e-9)
    ).all()


PROBE = """
import json, pkgutil, importlib, sys
import numpy as np, l0path
rng = np.random.default_rng(0)
X = rng.normal(size=(100, 300))
y = X[:, 3] - X[:, 7] + rng.normal(size=100)
before = set(sys.modules)
path = l0path.fit(X, y)
lazy = sorted(m for m in ("statsmodels", "sklearn", "matplotlib", "tqdm") if m in sys.modules)
kernels = {}
for name, module in list(sys.modules.items()):
    if name.split(".")[0] == "l0path":
        for value in vars(module).values():
            if hasattr(value, "signatures") and hasattr(value, "py_func"):
                made = value.py_func
                kernels[f"{made.__module__}.{made.__name__}"] = len(value.signatures)
print(json.dumps({"kernels": kernels, "lazy": lazy, "k": int(path.table.k.max())}))
"""


def probe():
    """The kernels that a fresh interpreter has for a default squared fit, compiled or loaded."""
    out = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        check=False,
    )
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


def test_a_default_squared_fit_compiles_few_kernels_and_imports_nothing_heavy():
    found = probe()
    compiled = sum(found["kernels"].values())
    assert 1 <= compiled <= 6, found["kernels"]
    assert found["lazy"] == [] and found["k"] == 50


def test_an_import_is_whole_before_an_interruption_is_heard(tmp_path, monkeypatch):
    """Else a module that was imported in part stays so in this process."""
    (tmp_path / "slow_to_import.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\nWHOLE = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        imported_whole("slow_to_import")
    assert imported_whole("slow_to_import").WHOLE
    assert signal.getsignal(signal.SIGINT) is before
