"""Path files: written whole or not at all, read member by member, and those of version 0.1."""

import json
import os
import stat
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import l0path

HERE = Path(__file__).parent / "data"
RNG = np.random.default_rng(3)
X = pd.DataFrame(RNG.standard_normal((40, 6)), columns=list("abcdef"))


Y = X["a"] - X["d"] + 0.1 * RNG.standard_normal(40)


@cache
def support_path():
    return l0path.fit(X, Y, max_k=3)


@pytest.mark.parametrize("name", ["classes", "formula", "products", "steps"])
def test_files_of_0_1_are_read(name, monkeypatch):
    path = l0path.load(HERE / f"path_0_1_{name}.npz")
    coef = pd.read_csv(HERE / f"path_0_1_{name}.csv", index_col=0)
    np.testing.assert_allclose(path.coef(), coef, rtol=1e-14)
    assert list(path.coef().index) == list(coef.index)
    monkeypatch.syspath_prepend(HERE)
    from make_paths_of_0_1 import data

    frame = data()
    last = path.model(index=-1)
    assert np.isfinite(last.predict(frame.drop(columns="y"))).all()
    if name == "classes":
        assert path.classes == ("high", "low")
        eta = last.intercept + frame[last.features].to_numpy() @ last.coef[last.features]
        np.testing.assert_allclose(last.predict(frame, type="link"), eta)


def test_a_save_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "path.npz"
    support_path().save(file)
    before = file.read_bytes()

    def full(stream, **arrays):
        stream.write(b"half a file")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(
        OSError, match=r"could not be written \(No space left.*unchanged.*path\.npz"
    ):
        support_path().save(file)
    assert file.read_bytes() == before and os.listdir(tmp_path) == ["path.npz"]
    monkeypatch.undo()
    with pytest.raises(
        IsADirectoryError, match=r"it is a folder.*unchanged; add the name of a file"
    ):
        support_path().save(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"could not be written.*unchanged; make the folder"
    ):
        support_path().save(tmp_path / "none" / "path.npz")


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_save_keeps_modes_and_follows_links(tmp_path):
    old, link = tmp_path / "old.npz", tmp_path / "link.npz"
    old.write_bytes(b"")
    old.chmod(0o640)
    link.symlink_to(old.name)
    support_path().save(link)
    assert link.is_symlink() and stat.S_IMODE(old.stat().st_mode) == 0o640
    assert l0path.load(old).coef().equals(support_path().coef())
    mask = os.umask(0o027)
    try:
        support_path().save(tmp_path / "new.npz")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new.npz").stat().st_mode) == 0o640
    dangling = tmp_path / "dangling.npz"
    dangling.symlink_to("there.npz")
    support_path().save(dangling)
    assert (tmp_path / "there.npz").is_file() and dangling.is_symlink()
    support_path().save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("file", [None, 5, 2.5])
def test_what_is_no_file_name_is_refused(file):
    with pytest.raises(TypeError, match=r"file=.* must be the name of a file"):
        support_path().save(file)
    with pytest.raises(TypeError, match=r"file=.* must be the name of a file"):
        l0path.load(file)
    with pytest.raises(TypeError, match=r"file=.* must be the name of a file.*model\.npz"):
        support_path().model(k=1).save(file)
    if file is not None:
        with pytest.raises(TypeError, match=r"file=.* must be the name of a file.*path\.html"):
            support_path().explore(file)


def test_a_model_comes_back_with_its_path(tmp_path):
    model = support_path().model(k=2)
    model.save(tmp_path / "model.npz")
    back = l0path.load(tmp_path / "model.npz")
    assert isinstance(back, l0path.Model) and repr(back) == repr(model)
    pd.testing.assert_series_equal(back.coef, model.coef, check_exact=True)
    pd.testing.assert_frame_equal(back.path.details, model.path.details, check_exact=True)
    assert back.predict(X).equals(model.predict(X))


def members(path, file):
    """{name: array} of a path file."""
    path.save(file)
    with np.load(file) as stored:
        return {name: stored[name] for name in stored.files}


def header(arrays, change):
    """The arrays with another header."""
    text = json.loads(arrays["header"].tobytes())
    change(text)
    return {**arrays, "header": np.frombuffer(json.dumps(text).encode(), dtype=np.uint8)}


WRONG = {
    "meta_center": lambda a: a[:-1],
    "meta_scale": lambda a: a.astype("U9"),
    "meta_factor": lambda a: a.astype(complex),
    "meta_excluded": lambda a: a.astype(float),
    "meta_lower": lambda a: a[None],
    "meta_forced": lambda a: np.array([99]),
    "numbers": lambda a: a[:, 1:],
    "sizes": lambda a: a[:-1],
    "support": lambda a: a.astype(float),
    "beta": lambda a: a.astype("float32"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arrays_of_other_dtypes_and_lengths_are_refused(name, tmp_path):
    arrays = members(support_path(), tmp_path / "path.npz")
    arrays[name] = WRONG[name](arrays[name])
    np.savez_compressed(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=r"bad\.npz is damaged"):
        l0path.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("make", [l0path.designs.polynomial, l0path.designs.additive])
def test_arrays_of_derived_features_are_checked(make, tmp_path):
    path = l0path.fit(make(X[["a", "b"]]), X["a"], max_k=1)
    arrays = members(path, tmp_path / "path.npz")
    own = [name for name in arrays if name.startswith(("pairs_", "levels_"))]
    assert own and l0path.load(tmp_path / "path.npz").coef().equals(path.coef())
    for name in own:
        for wrong in (arrays[name][:-1], arrays[name].astype("S3"), arrays[name][::-1] - 1):
            if (
                name in ("pairs_center", "levels_low", "levels_high")
                and wrong.size == arrays[name].size
                and wrong.dtype == float
            ):
                continue  # other numbers are another model, not a damaged file
            np.savez_compressed(tmp_path / "bad.npz", **{**arrays, name: wrong})
            with pytest.raises(ValueError, match=r"bad\.npz is damaged"):
                l0path.load(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h["meta"].update(p=10**9),
        lambda h: h["meta"].update(names=None, p=7),
        lambda h: h["meta"].update(names=["a"]),
        lambda h: h["text"].append(["converged", "global", []]),
        lambda h: h.pop("meta"),
    ],
)
def test_headers_that_do_not_fit_are_refused(change, tmp_path):
    arrays = members(support_path(), tmp_path / "path.npz")
    np.savez_compressed(tmp_path / "bad.npz", **header(arrays, change))
    with pytest.raises(ValueError, match=r"bad\.npz is damaged"):
        l0path.load(tmp_path / "bad.npz")


def zeros(archive, name, count, shape=None):
    """Write a member of `count` zero bytes, piece by piece; shape: what its head says."""
    with archive.open(name, "w", force_zip64=True) as stream:
        np.lib.format.write_array_header_1_0(
            stream,
            {"descr": "|u1", "fortran_order": False, "shape": shape or (count,)},
        )
        for _ in range(count >> 20):
            stream.write(bytes(1 << 20))


def test_members_are_not_unpacked_before_they_are_checked(tmp_path):
    """A file of 1 MB whose members claim 100 MB each takes no memory to speak of."""
    support_path().save(tmp_path / "path.npz")
    big = 100 << 20
    for name in ("stranger.npy", "beta.npy", "header.npy"):
        file = tmp_path / f"bomb_{name[:-4]}.npz"
        with (
            zipfile.ZipFile(tmp_path / "path.npz") as good,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out,
        ):
            for member in good.namelist():
                if member != name:
                    out.writestr(member, good.read(member))
            zeros(out, name, big)
    script = (
        "import sys, tracemalloc, l0path\n"
        "tracemalloc.start()\n"
        "for file in sys.argv[1:]:\n"
        "    try: print(l0path.load(file).n)\n"
        "    except ValueError as error: print('refused', 'damaged' in str(error))\n"
        "print(tracemalloc.get_traced_memory()[1] < 50e6)\n"
    )
    files = [str(tmp_path / f"bomb_{name}.npz") for name in ("stranger", "beta", "header")]
    done = subprocess.run(
        [sys.executable, "-c", script, *files],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(l0path.__file__).parents[1],
    )
    assert done.stdout.split("\n")[:4] == ["40", "refused True", "refused True", "True"]


def test_datasets_in_a_zip_file(tmp_path):
    root = Path(l0path.__file__).parents[1]
    data = l0path.datasets._find("README.md").parent
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as out:
        out.writestr("l0path/__init__.py", "")
        out.write(root / "l0path" / "datasets.py", "l0path/datasets.py")
        for name in ("README.md", "sonar.csv", "srbct.npz"):
            out.write(data / name, f"l0path/data/{name}")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from l0path import datasets\n"
        "print(datasets.load_sonar(), datasets.load_srbct(), "
        "len(datasets.load_sonar().description))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "app.zip")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "sonar: Class of 208 rows" in done.stdout
    assert "srbct: tumour of 83 rows" in done.stdout


def test_messages_name_the_argument(tmp_path):
    with pytest.raises(
        ValueError, match=r"scoring='accuracy' cannot score .*loss='squared'.*'mse'"
    ):
        l0path.cv_fit(X, X["a"] + X["b"] ** 2, cv=3, scoring="accuracy", max_k=1)
    with pytest.raises(TypeError, match="ax=5 must be Axes"):
        support_path().plot(ax=5)
    cv = l0path.cv_fit(X, X["a"] + X["b"] ** 2, cv=3, max_k=1, lambda2=0)
    with pytest.raises(TypeError, match="ax='foo' must be Axes"):
        cv.plot(ax="foo")
    stable = l0path.stability_selection(X, X["a"], max_k=1, n_subsamples=4, random_state=0)
    assert stable.k == 1
