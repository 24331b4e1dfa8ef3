"""Containers that users pass as X: arrays, frames and their names, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from design_checks import assert_verbs, numbers

from l0path.designs import Csc, Dense, Numbered, Standardized, as_design, check_finite


def test_names_of_arrays_and_frames():
    A = np.arange(6.0).reshape(2, 3)
    design, names, index, notes = as_design(A)
    assert (
        isinstance(design, Dense) and names == ["x0", "x1", "x2"] and index is None and notes == []
    )
    assert as_design(A.tolist(), feature_names=["a", 1, "c"])[1] == ["a", "1", "c"]
    frame = pd.DataFrame(A, columns=["a", 2, ("b", 1)], index=["r", "s"])
    _, names, index, notes = as_design(frame)
    assert names == ["a", "2", "('b', 1)"] and index.equals(frame.index) and notes == []
    assert as_design(frame, feature_names=names)[3] == []
    _, names, _, notes = as_design(frame, feature_names=["u", "v", "w"])
    assert names[0] == "a" and "feature_names was not used" in notes[0]


def test_numbered_names_are_those_of_a_list():
    names, held = Numbered(12), [f"x{j}" for j in range(12)]
    assert (
        names == held
        and held == names
        and list(names) == held
        and names[3] == "x3"
        and names[-1] == "x11"
        and names[2:5] == held[2:5]
        and names[np.int64(7)] == "x7"
    )
    assert (
        names == Numbered(12)
        and names != Numbered(11)
        and names != held[:-1]
        and names != [*held[:-1], "y"]
        and names != "x"
    )
    for name in held:
        assert name in names and names.index(name) == held.index(name)
    for name in ("x12", "x01", "x-1", "x", "y1", "x1 ", "x\u0661", "", 3, None):
        assert name not in names
        with pytest.raises(ValueError, match="x0 to x11"):
            names.index(name)
    with pytest.raises(IndexError):
        names[12]


def test_repeated_names_are_numbered_and_said():
    frame = pd.DataFrame(np.ones((2, 6)), columns=["a", "b", "a", "a.1", "a", "b"])
    before = frame.copy()
    _, names, _, notes = as_design(frame)
    assert names == ["a", "b", "a.2", "a.1", "a.3", "b.1"]
    assert len(notes) == 1 and "a.2, a.3, b.1" in notes[0] and "position" in notes[0]
    pd.testing.assert_frame_equal(frame, before)
    assert as_design(np.ones((2, 3)), feature_names=["z", "z", "z"])[1] == ["z", "z.1", "z.2"]


def test_frame_of_one_dtype_is_read_in_place():
    A = np.random.default_rng(16).normal(size=(50, 8))
    for dtype in ("float64", "float32", "int8"):
        frame = pd.DataFrame(A.astype(dtype))
        assert np.shares_memory(as_design(frame)[0].X, frame.to_numpy(copy=False))


@pytest.mark.parametrize(
    "columns, dtype",
    [
        (["float64", "int8", "bool"], "float64"),
        (["float32", "bool", "int8"], "float32"),
        (["float32", "int32"], "float64"),
        (["int8", "bool"], "int8"),
        (["uint64", "int64"], "float64"),
        (["Int64", "Float32", "boolean"], "float64"),
        (["float64", "Int8"], "float64"),
    ],
)
def test_frames_of_mixed_dtypes(columns, dtype):
    rng = np.random.default_rng(17)
    A = numbers(rng, 12, len(columns))
    A[:, [j for j, name in enumerate(columns) if name.startswith("bool")]] %= 2
    frame = pd.DataFrame(
        {
            f"c{j}": pd.array(A[:, j].astype("float64"), dtype="float64").astype(name)
            for j, name in enumerate(columns)
        }
    )
    before = frame.copy()
    design = as_design(frame)[0]
    assert design.X.dtype == dtype
    assert_verbs(design, A, rng)
    pd.testing.assert_frame_equal(frame, before)


def test_missing_values_of_nullable_columns_are_found_by_the_finiteness_check():
    frame = pd.DataFrame(
        {
            "a": [1.0, 2.0, 3.0],
            "b": pd.array([1, None, None], dtype="Int64"),
            "c": pd.array([True, False, None], dtype="boolean"),
        }
    )
    design, names, _, _ = as_design(frame)
    with pytest.raises(
        ValueError, match=r"3 entries in 2 of 3 columns: b \(2\), c \(1\); drop those rows"
    ):
        check_finite(design, names)


def test_arrow_columns():
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "a": pd.array([1, 2, None], dtype="int64[pyarrow]"),
            "b": pd.array([True, False, True], dtype="bool[pyarrow]"),
        }
    )
    design, _, _, _ = as_design(frame)
    assert design.nonfinite().tolist() == [1, 0]
    np.testing.assert_array_equal(design.columns([1])[:, 0], [1.0, 0.0, 1.0])
    with pytest.raises(TypeError, match=r"s \("):
        as_design(frame.assign(s=pd.array(["u", "v", "w"], dtype="string[pyarrow]")))


def test_sparse_frames_stay_sparse():
    A = numbers(np.random.default_rng(18), 10, 4)
    design = as_design(pd.DataFrame.sparse.from_spmatrix(sp.csc_array(A)))[0]
    assert isinstance(design, Csc)
    np.testing.assert_array_equal(design.columns(np.arange(4)), A)
    mixed = pd.DataFrame(
        {
            "a": A[:, 0],
            "b": pd.arrays.SparseArray(A[:, 1]),
            "c": pd.arrays.SparseArray(A[:, 2], fill_value=0.0),
        }
    )
    np.testing.assert_array_equal(as_design(mixed)[0].columns([0, 1, 2]), A[:, :3])


def test_columns_that_are_not_numbers_are_refused_by_name():
    frame = pd.DataFrame({
        "ok": [1.0, 2.0], "city": ["u", "v"], "kind": pd.Categorical([1, 2]),
        "day": pd.to_datetime(["2020-01-01", "2020-01-02"]),
        "wave": [1j, 2j], "thing": np.array([1, 2], dtype=object), "span": pd.to_timedelta([1, 2]),
    })  # fmt: skip
    with pytest.raises(
        TypeError,
        match=r"city \(.*kind \(category\), day \(.*wave \(complex128\), thing \(object\) and 1 "
        r"more.*C\(b\)",
    ) as caught:
        as_design(frame)
    assert "ok" not in str(caught.value).split(";")[0] and "astype(float)" in str(caught.value)


@pytest.mark.parametrize(
    "X, error, words",
    [
        (np.ones(3), ValueError, r"one dimension.*X\.reshape\(-1, 1\)"),
        ([1.0, 2.0], ValueError, r"one dimension.*Reshape your data"),
        (pd.Series([1.0, 2.0]), ValueError, "to_frame"),
        (sp.coo_array(np.ones(3)), ValueError, "one dimension"),
        (np.ones((2, 2, 2)), ValueError, "3 dimensions"),
        (np.array(1.0), ValueError, "0 dimensions"),
        (np.ones((0, 2)), ValueError, r"0 sample\(s\)"),
        (
            np.ones((2, 0)),
            ValueError,
            r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required",
        ),
        (pd.DataFrame(index=[0, 1]), ValueError, r"0 feature\(s\)"),
        (sp.csc_array((0, 3)), ValueError, r"0 sample\(s\)"),
        (np.ones((2, 2), dtype=complex), TypeError, "Complex data not supported"),
        (sp.csc_array(np.ones((2, 2), dtype=complex)), TypeError, "Complex data not supported"),
        (
            np.array([[1, 2.5]], dtype=object),
            TypeError,
            r"dtype object, not numbers; if every value is a number, pass "
            r"X\.astype\(float\).*l0path\.fit\(",
        ),
        (np.array([["1", "b"]]), TypeError, "not numbers"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), TypeError, "datetime64"),
        ([[1, 2], [3]], ValueError, "rows of equal length"),
        (np.ma.masked_equal([[1.0, 2.0]], 2.0), ValueError, "1 masked"),
    ],
)
def test_what_is_not_a_table_of_real_numbers_is_refused(X, error, words):
    with pytest.raises(error, match=words):
        as_design(X)


def test_feature_names_of_the_wrong_length():
    with pytest.raises(ValueError, match="feature_names has 2 names but X has 3 columns"):
        as_design(np.ones((2, 3)), feature_names=["a", "b"])


def test_a_design_passes_through():
    design = Standardized(Dense(np.eye(3)), np.zeros(3), np.ones(3))
    assert as_design(design)[0] is design
    assert as_design(design)[1] == ["x0", "x1", "x2"]
    design.names = ["a", "b", "c"]
    assert as_design(design)[1] == ["a", "b", "c"]
    assert as_design(design, feature_names=["u", "v", "w"])[1] == ["u", "v", "w"]


def test_finiteness_error_names_five_columns():
    A = np.ones((4, 8))
    A[0, :7], A[1, 2] = np.nan, np.inf
    design, names, _, _ = as_design(A)
    with pytest.raises(
        ValueError,
        match=r"NaN or infinity: 8 entries in 7 of 8 columns: x0 \(1\), x1 \(1\), x2 \(2\), x3 "
        r"\(1\), x4 \(1\), \.\.\.; drop",
    ):
        check_finite(design, names)
    check_finite(Dense(np.ones((4, 8))), names)
