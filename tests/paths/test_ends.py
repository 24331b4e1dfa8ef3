"""`path.end` says as a value what `path.status` says to people, in memory and on disk."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import l0path
from l0path.core.control import Clock, Control, Stop
from l0path.core.status import End

DATA = Path(__file__).resolve().parents[1] / "data"


def sample(n=40, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 1] - X[:, 3] + rng.standard_normal(n)


def interrupted(model):
    raise KeyboardInterrupt


def cut_short(how):
    """A path that ended as `how` says."""
    X, y = sample()
    if how == "complete":
        return l0path.fit(X, y, max_k=3)
    if how == "separated":
        with pytest.warns(l0path.errors.SeparationWarning):
            return l0path.fit(X, X[:, 0] > 0, loss="logistic", max_k=3)
    if how == "time_limit":
        return l0path.fit(X, y, time_limit=1e-9)
    on_solution = interrupted if how == "interrupted" else (lambda model: model.k == 1)
    return l0path.fit(X, y, max_k=3, on_solution=on_solution)


@pytest.mark.parametrize("how", ["complete", "separated", "time_limit", "stopped", "interrupted"])
def test_the_end_of_a_path_is_a_value_and_is_stored(how, tmp_path):
    path = cut_short(how)
    assert path._end == End(how) and path._end.finished == (how in ("complete", "separated"))
    path.save(tmp_path / "path.npz")
    assert l0path.load(tmp_path / "path.npz")._end is path._end
    if len(path):
        assert path.slice(0)._end is path._end
        assert path.certify(index=0).path._end is path._end


@pytest.mark.parametrize("how", ["complete", "separated", "time_limit", "stopped", "interrupted"])
def test_files_without_an_end_get_it_from_their_status(how, tmp_path):
    path = cut_short(how)
    path.save(tmp_path / "path.npz")
    with np.load(tmp_path / "path.npz") as stored:
        arrays = dict(stored)
    header = json.loads(bytes(arrays["header"]).decode())
    assert header.pop("end") == how
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez_compressed(tmp_path / "older.npz", **arrays)
    assert l0path.load(tmp_path / "older.npz")._end is path._end


@pytest.mark.parametrize("file", sorted(DATA.glob("path_0_1_*.npz")), ids=lambda file: file.stem)
def test_paths_of_version_0_1_have_an_end(file):
    path = l0path.load(file)
    assert path._end.finished and path.status.startswith(("complete", "ended at"))


def test_a_solution_that_is_shown_on_the_way_belongs_to_a_running_path():
    ends = []
    l0path.fit(*sample(), max_k=2, on_solution=lambda model: ends.append(model.path._end))
    assert ends and set(ends) == {End.RUNNING} and not End.RUNNING.finished


def test_a_cross_validation_has_an_end_too(tmp_path):
    X, y = sample()
    cv = l0path.cv_fit(X, y, cv=3, max_k=2, random_state=0)
    cv.save(tmp_path / "cv.npz")
    assert (
        cv._end is l0path.load(tmp_path / "cv.npz")._end is cv.rescore("mae")._end is End.COMPLETE
    )
    older = tmp_path / "older.npz"
    with zipfile.ZipFile(tmp_path / "cv.npz") as stored, zipfile.ZipFile(older, "w") as out:
        for name in stored.namelist():
            content = stored.read(name)
            if name == "header.json":
                header = json.loads(content)
                header.update(status="time_limit reached; 2 of 3 folds finished", end=None)
                content = json.dumps(header)
            out.writestr(name, content)
    assert l0path.load(older)._end is End.TIME_LIMIT


def test_the_first_thing_that_ends_a_run_is_remembered():
    control = Control(Clock())
    with control.stage():
        pass
    assert control.end is None and control.reason == ""
    with control.stage(" while models were proved"):
        raise Stop("time_limit of 1 s reached", End.TIME_LIMIT)
    with control.stage():
        raise KeyboardInterrupt
    assert control.end is End.TIME_LIMIT and control.inconsistent
    assert control.reason == "time_limit of 1 s reached while models were proved"
    with pytest.raises(ValueError, match="not ours"), control.stage():
        raise ValueError("not ours")
