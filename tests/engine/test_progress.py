"""Bars: whole, on stderr, closed whatever happens, and not there unless asked for."""

import subprocess
import sys
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
    ends = [(bar.desc.rstrip(": "), bar.n, bar.total) for bar in bars if bar.total is not None]
    assert [name for name, _, _ in ends] == ["l0path"] * 3 + [
        "l0path proofs",
        "l0path",
        "l0path folds",
        "l0path outer folds",
        "l0path convert",
    ]
    assert all(n == total for _, n, total in ends) and ends[0][1] == 10
    assert [bar.desc.rstrip(": ") for bar in bars if bar.total is None] == ["l0path lower bounds"]
    out, err = capsys.readouterr()
    assert out == "" and "l0path folds: 100%" in err


def test_certify_says_where_it_is(data, bars, capsys):
    path = l0path.fit(*data, lambda2=0.01, max_k=3)
    path.certify(k=2, progress=True)
    path.certify(k=2, progress=True, algorithm=l0path.solvers.IntegralityGeneration())
    assert [bar.desc.rstrip(": ") for bar in bars] == ["l0path certify"] * 2
    assert capsys.readouterr().err.count("l0path certify: 00:0") >= 2


def test_a_bar_is_closed_when_the_work_is_stopped(data, bars):
    def stop(model):
        raise KeyboardInterrupt

    path = l0path.fit(*data, progress=True, on_solution=stop)
    assert path.status.startswith("interrupted") and bars[0].n < bars[0].total
    with pytest.raises(RuntimeError, match="broken"), Bar(True, "a", 3):
        raise RuntimeError("broken")


def test_silence_unless_asked(data, capsys):
    l0path.fit(*data, max_k=2).certify(k=1)
    l0path.cv_fit(*data, cv=2, max_k=1)
    with Bar(False, "nothing", 3) as bar:
        bar.update(), bar.say("text"), bar.shorten(1)
    out, err = capsys.readouterr()
    assert out == "" and "%|" not in err and "l0path c" not in err.replace("l0path: compiling", "")
    code = (
        "import sys, numpy as np, l0path; X = np.random.default_rng(0).standard_normal((30, 3)); "
        "l0path.fit(X, X[:, 0]); assert 'tqdm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


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
