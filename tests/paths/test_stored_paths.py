"""Paths in files and pickles: what comes back, and which files are refused."""

import json

import numpy as np
import pandas as pd
import pytest
from path_samples import FRAME, NAMES, X, Y, Z, framed_path, same_solutions, support_path
from recomputed import objective_of

import l0path


def test_names_that_were_not_given(tmp_path):
    path = l0path.fit(X, Y, max_k=2, always_include="x3", penalty_factor={"x1": 2.0})
    path.save(tmp_path / "path")
    back = l0path.load(tmp_path / "path")
    assert (
        back.names == path.names == [f"x{j}" for j in range(6)]
        and back.coef(k=1).equals(path.coef(k=1))
        and "x3" in path.model(k=1).features
    )
    frame = pd.DataFrame(X, columns=path.names)[
        ["x5", "x4", "x3", "x2", "x1", "x0"]
    ]  # one that has all names is taken by them
    np.testing.assert_array_equal(back.predict(frame, k=2), path.predict(X, k=2))
    with pytest.raises(ValueError, match="there is no column 'x6'; the columns are x0, x1, x2"):
        l0path.fit(X, Y, exclude="x6")


def test_notes_odd_names_and_parameters_survive(tmp_path):
    odd = [*NAMES[:3], 'quote " \\ newline \n', "\u4e2d", ""]
    path = l0path.fit(
        np.column_stack([X[:, :4], np.ones(50), X[:, 5]]),
        Y,
        loss="huber",
        feature_names=odd,
        max_k=2,
        lambda2=0.1,
    )
    path.save(tmp_path / "odd")
    back = l0path.load(tmp_path / "odd")
    assert (
        back.names == odd
        and back.notes == path.notes
        and path.notes
        and back._meta.loss_parameter == path._meta.loss_parameter
    )
    assert objective_of(
        back, k=2, X=np.column_stack([X[:, :4], np.ones(50), X[:, 5]]), y=Y
    ) == pytest.approx(objective_of(path, k=2), rel=1e-14)


def test_what_is_not_a_path_file_is_refused_with_the_reason(tmp_path):
    file = tmp_path / "path"
    support_path().save(file)
    whole = file.read_bytes()
    with pytest.raises(FileNotFoundError, match="nothing"):
        l0path.load(tmp_path / "nothing")
    for content in (
        b"",
        b"not a path",
        whole[: len(whole) // 2],
        whole[:-1],
        whole[:300] + bytes([whole[300] ^ 255]) + whole[301:],
        whole[len(whole) // 2 :],
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="damaged"):
            l0path.load(file)
    np.save(tmp_path / "array.npy", X)
    np.savez(tmp_path / "arrays.npz", X=X)
    np.savez(tmp_path / "objects.npz", header=np.array([{}], dtype=object))
    for name in ("array.npy", "arrays.npz", "objects.npz"):
        with pytest.raises(ValueError, match=f"{name} is not a path file"):
            l0path.load(tmp_path / name)
    with pytest.raises(ValueError, match="is a folder"):
        l0path.load(tmp_path)


def test_any_changed_byte_is_harmless_or_refused(tmp_path):
    file = tmp_path / "path"
    support_path().save(file)
    whole = file.read_bytes()
    refused = 0
    for at in np.linspace(0, len(whole) - 1, 150).astype(int):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        try:
            back = l0path.load(file)
        except ValueError as error:
            refused += "damaged" in str(error)
        else:
            same_solutions(support_path(), back)
    assert refused > 50


def test_other_versions_and_inconsistent_files_are_refused(tmp_path):
    file = tmp_path / "path.npz"
    support_path().save(file)
    with np.load(file) as stored:
        arrays = dict(stored)
    header = json.loads(arrays["header"].tobytes())

    def rewritten(changes, **replaced):
        text = np.frombuffer(json.dumps(header | changes).encode(), dtype=np.uint8)
        np.savez(file, **arrays | {"header": text} | replaced)
        return file

    with pytest.raises(ValueError, match=r"version 99.*fit again"):
        l0path.load(rewritten({"version": 99}))
    with pytest.raises(ValueError, match="'other' of version"):
        l0path.load(rewritten({"format": "other"}))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({"meta": {}}))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({}, numbers=arrays["numbers"][:-1]))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({}, beta=arrays["beta"][:-1]))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({}, sizes=arrays["sizes"] + 1))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({}, support=arrays["support"] + 100))
    assert len(l0path.load(rewritten({}))) == 7


def test_methods_that_need_data_take_them_after_loading(tmp_path):
    support_path().save(tmp_path / "path")
    back = l0path.load(tmp_path / "path")
    with pytest.raises(ValueError, match="pass X= and y="):
        objective_of(back, k=2)
    with pytest.raises(ValueError, match="pass y="):
        objective_of(back, k=2, X=X)
    assert objective_of(back, k=2, X=X, y=Y) == pytest.approx(
        objective_of(support_path(), k=2), rel=1e-14
    )
    assert objective_of(back, k=2, X=np.asfortranarray(X), y=list(Y)) == pytest.approx(
        objective_of(support_path(), k=2), rel=1e-12
    )
    for A, y in ((X + 1e-9, Y), (X, Y + 1e-9), (X[::-1], Y[::-1]), (X[:-1], Y[:-1])):
        with pytest.raises(ValueError, match="differ from those of the fit"):
            objective_of(back, k=2, X=A, y=y)
    framed_path().save(tmp_path / "framed")
    assert objective_of(
        l0path.load(tmp_path / "framed"), k=2, X=FRAME, y=pd.Series(Z, index=FRAME.index)
    ) == pytest.approx(objective_of(framed_path(), k=2), rel=1e-14)


def test_a_design_changed_after_the_fit_is_refused():
    A = X.copy()
    path = l0path.fit(A, Y, max_k=2)
    assert objective_of(path, k=2) == pytest.approx(path.details.objective[2], rel=1e-12)
    A[3, 1] += 1.0
    with pytest.raises(ValueError, match="checksum"):
        objective_of(path, k=2)


def test_weights_and_offsets_are_not_in_a_file(tmp_path):
    for extra in (dict(sample_weight=np.linspace(1, 2, 50)), dict(offset=np.ones(50))):
        l0path.fit(X, Y, max_k=1, **extra).save(tmp_path / "path")
        with pytest.raises(ValueError, match="offset or weights"):
            objective_of(l0path.load(tmp_path / "path"), k=1, X=X, y=Y)


def test_cp_of_a_loaded_path_has_the_noise_variance_of_the_fit(tmp_path):
    path = l0path.fit(X, Y, max_k=3)
    path.save(tmp_path / "path")
    back = l0path.load(tmp_path / "path")
    pd.testing.assert_frame_equal(back.score_table(), path.score_table())
    assert back.select("cp") == path.select("cp") and np.isfinite(back.score_table().cp).all()
