"""Bars: whole, on stderr, closed whatever happens, by themselves only where somebody watches."""

import os
import subprocess
import sys
import time
import types

import numpy as np
import pytest

import l0path
from l0path.core.progress import Bar


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    return X, X[:, :3] @ np.array([2.0, -1.0, 0.5]) + 0.3 * rng.standard_normal(60)


@pytest.fixture
def bars(monkeypatch):
    """The bars that were shown, as they ended."""
    import tqdm.auto

    made = []

    class Spy(tqdm.auto.tqdm):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            made.append(self)

        def close(self):
            self.closed = True
            super().close()

    monkeypatch.setattr(tqdm.auto, "tqdm", Spy)
    yield made
    assert all(getattr(bar, "closed", False) for bar in made)


def test_every_bar_ends_full(data, bars, capsys, tmp_path):
    X, y = data
    l0path.fit(X, y, lambda2=[1.0, 0.1], max_k=4, progress=True)
    l0path.fit(X, y, lambda0="grid", algorithm="cd", progress=True)
    l0path.fit(X, y, algorithm="exact", max_k=3, progress=True)
    l0path.cv_fit(X, y, cv=3, max_k=2, progress=True, random_state=0)
    l0path.nested_cv(X, y, outer=2, cv=2, max_k=2, progress=True, random_state=0)
    l0path.designs.convert(X, tmp_path / "X.npy", progress=True)
    l0path.knockoff_filter(X, y, max_k=2, progress=True, random_state=0)
    ends = [(bar.desc.rstrip(": "), bar.n, bar.total) for bar in bars if bar.total is not None]
    assert [name for name, _, _ in ends] == ["l0path"] * 3 + [
        "l0path proofs",
        "l0path",
        "l0path folds",
        "l0path outer folds",
        "l0path convert",
        "l0path",
    ]
    assert all(n == total for _, n, total in ends) and ends[0][1] == 10
    lines = [bar.desc.rstrip(": ") for bar in bars if bar.total is None]
    assert set(lines) == {
        "l0path reads X",
        "l0path compares all models",
        "l0path lower bounds",
        "l0path knockoffs",
    }
    assert lines.count("l0path lower bounds") == 1
    out, err = capsys.readouterr()
    assert out == "" and "l0path folds: 100%" in err


def test_certify_says_where_it_is(data, bars, capsys):
    path = l0path.fit(*data, lambda2=0.01, max_k=3)
    path.certify(k=2, progress=True)
    path.certify(k=2, progress=True, algorithm=l0path.solvers.IntegralityGeneration())
    assert [bar.desc.rstrip(": ") for bar in bars] == ["l0path certify"] * 2
    path.near_best(k=2, progress=True)
    assert bars[-1].desc.rstrip(": ") == "l0path compares all models"
    l0path.best_subset(*data, progress=True)
    assert bars[-1].desc.rstrip(": ") == "l0path compares all models" and len(bars) > 4
    assert capsys.readouterr().err.count("l0path certify: 00:0") >= 2


def test_a_bar_is_closed_when_the_work_is_stopped(data, bars):
    def stop(model):
        raise KeyboardInterrupt

    path = l0path.fit(*data, progress=True, on_solution=stop)
    searched = next(bar for bar in bars if bar.total is not None)
    assert path.status.startswith("interrupted") and searched.n < searched.total
    with pytest.raises(RuntimeError, match="broken"), Bar(True, "a", 3):
        raise RuntimeError("broken")


def test_silence_unless_asked(data, capsys):
    l0path.fit(*data, max_k=2).certify(k=1)
    l0path.cv_fit(*data, cv=2, max_k=1)
    with Bar(False, "nothing", 3) as bar:
        bar.update(), bar.say("text"), bar.shorten(1)
    out, err = capsys.readouterr()
    assert out == "" and "%|" not in err and "l0path c" not in err.replace("l0path: compiling", "")


def test_a_notebook_without_widgets_gets_text_and_no_warning(monkeypatch, capsys):
    import warnings

    def tqdm(**options):
        warnings.warn(
            "IProgress not found. Please update jupyter and ipywidgets.", UserWarning, stacklevel=2
        )
        print(options["desc"], file=sys.stderr)
        return types.SimpleNamespace(
            refresh=lambda: None, close=lambda: None, update=lambda count: None
        )

    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=tqdm))
    with Bar(True, "l0path", 2) as bar:
        bar.update()
    assert "l0path" in capsys.readouterr().err


# what a child process does whose stderr is a terminal; bars come after a tenth of a second there
WATCHED = """
import sys, time
import numpy as np
import l0path
from l0path.core import progress
progress.PATIENCE = 0.1
X = np.random.default_rng(0).standard_normal((40, 5))
y = X[:, 0] - X[:, 1]
slowly = lambda model: time.sleep(0.15)
"""


def in_terminal(code, *options):
    """What a Python process writes to the terminal that is its stderr."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    pytest.importorskip("termios").tcsetwinsize(theirs, (24, 100))
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTEST_CURRENT_TEST",)}
    environment.pop("L0PATH_QUIET", None)
    process = subprocess.Popen(
        [sys.executable, *options, "-c", WATCHED + code], env=environment, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 4096):
            seen += part
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0, seen.decode()
    return seen.decode()


def test_a_long_call_in_a_terminal_shows_a_bar_by_itself():
    seen = in_terminal(
        "import os, threading\n"
        "def again(**more): l0path.fit(X, y, max_k=3, on_solution=slowly, **more)\n"
        "again(); print('END', file=sys.stderr)\n"
        "l0path.nested_cv(X, y, outer=2, cv=2, max_k=2, random_state=0, scoring=lambda y, p, w:"
        " time.sleep(0.02) or 1.0)\n"
        "print('END', file=sys.stderr)\n"
        "again(progress=False)\n"
        "thread = threading.Thread(target=again); thread.start(); thread.join()\n"
        "os.environ['L0PATH_QUIET'] = '1'; again()\n"
        "print('END', file=sys.stderr)\n"
        "os.environ.pop('L0PATH_QUIET'); progress.PATIENCE = 60; again()\n"
    )
    first, nested, quiet, short = seen.split("END")
    assert "model" in first and "/4" in first and "l0path: about" not in first
    assert "outer folds" in nested and "l0path folds" not in nested and "reads X" not in nested
    assert quiet.split() == [] and short.split() == []


@pytest.mark.slow
def test_workers_and_redirected_calls_show_no_bars():
    seen = in_terminal(
        "import joblib\n"
        "fits = joblib.Parallel(2)(joblib.delayed(l0path.fit)(X, y, max_k=3, on_solution=slowly)"
        " for _ in range(2))\n"
    )
    assert "%|" not in seen and "reads X" not in seen
    done = subprocess.run(
        [sys.executable, "-c", WATCHED + "l0path.fit(X, y, max_k=3, on_solution=slowly)"],
        env={k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"},
        stderr=subprocess.PIPE,
        check=True,
    )
    assert b"%|" not in done.stderr


def test_a_bar_comes_while_nothing_is_counted_and_goes_with_the_block(bars, monkeypatch):
    """It needs no update: a thread shows it, with what was counted before."""
    from l0path.core import progress

    monkeypatch.setattr(progress, "interactive", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with Bar(None, "stage", 4) as bar:
        bar.update(3), bar.say("three")
        with Bar(None, "part", 2) as part:
            time.sleep(0.2)
        assert part.bar is None and bar.bar.n == 3 and not bar.bar.leave
    assert [one.desc.rstrip(": ") for one in bars] == ["stage"]
    with Bar(None, "later", 2, since=time.perf_counter() - 1) as bar:  # of a call that is old
        time.sleep(0.05)
        assert bar.bar is not None
    with Bar(False, "silent", 2), Bar(None, "part of a silent call", 2) as part:
        time.sleep(0.1)
        assert part.bar is None
    with pytest.raises(TypeError, match="progress='yes'"):
        Bar("yes", "wrong")
