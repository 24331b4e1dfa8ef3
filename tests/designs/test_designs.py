"""Designs against their definition: plain NumPy on the filled float64 matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from design_checks import assert_verbs, moments_by_definition, numbers, peak, weights_of
from hypothesis import given
from hypothesis import strategies as st
from thinning import thinned

from l0path.designs import Csc, Dense, Standardized, as_design, duplicates

FLOATS = ("float64", "float32", "float16")

DTYPES = (
    *FLOATS,
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    ">f8",
    ">i4",
)

FORMATS = ("csc", "csr", "coo", "bsr", "lil", "dok", "dia")

LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "every other row": lambda X: np.asfortranarray(np.repeat(X, 2, axis=0))[::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "row part": lambda X: np.vstack([X, X])[: X.shape[0]],
    "column part": lambda X: np.hstack([X, X])[:, : X.shape[1]],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_verbs(dtype, layout):
    rng = np.random.default_rng(1)
    X = LAYOUTS[layout](numbers(rng, 23, 11, dtype))
    before = X.copy()
    X.flags.writeable = False
    assert_verbs(Dense(X), X.astype(float), rng)
    assert_verbs(as_design(X)[0], X.astype(float), rng)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("layout", "shape"), thinned(2, LAYOUTS, [(1, 5), (5, 1), (1, 1), (700, 130), (130, 700)])
)
def test_dense_verbs_do_not_depend_on_tiles(monkeypatch, layout, shape):
    monkeypatch.setattr("l0path.designs.dense.TILE", 900)
    monkeypatch.setattr("l0path.designs.dense.CACHED", 700)
    monkeypatch.setattr("l0path.designs.dense.SIDE", 40)
    rng = np.random.default_rng(2)
    X = LAYOUTS[layout](rng.normal(size=shape))
    if shape[1] > 1:
        assert_verbs(Dense(X), X, rng)
    np.testing.assert_allclose(
        Dense(X.astype("float32")).correlate(np.ones(shape[0])),
        X.astype("float32").astype(float).sum(axis=0),
        atol=1e-11,
    )
    weights = weights_of(rng, shape[0])
    for got, wanted in zip(
        Dense(X + 1e5).moments(weights, True),
        moments_by_definition(X + 1e5, weights, True),
        strict=True,
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    "dtype", [dtype for dtype in DTYPES if dtype[0] != ">" and dtype != "float16"]
)
@pytest.mark.parametrize("kind", [sp.csc_matrix, sp.csc_array])
def test_csc_verbs(dtype, kind):
    rng = np.random.default_rng(3)
    X = kind(numbers(rng, 23, 11, dtype))
    assert_verbs(Csc(X), X.toarray().astype(float), rng)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert_verbs(Csc(X), X.toarray().astype(float), rng)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("wrap", [sp.csr_matrix, sp.csr_array])
def test_every_sparse_format_is_read_and_left_alone(form, wrap):
    rng = np.random.default_rng(4)
    A = numbers(rng, 20, 9)
    X = wrap(A).asformat(form)
    assert_verbs(as_design(X)[0], A, rng)
    assert X.format == form
    np.testing.assert_array_equal(X.toarray(), A)


def test_repeated_and_explicit_zero_entries_of_a_sparse_matrix():
    data, rows, starts = (
        np.array([1.0, 2.0, 4.0, 0.0, 5.0]),
        np.array([2, 0, 2, 1, 0]),
        np.array([0, 3, 5]),
    )
    X = sp.csc_array((data, rows, starts), shape=(4, 2))
    A = np.array([[2.0, 5.0], [0.0, 0.0], [5.0, 0.0], [0.0, 0.0]])
    assert_verbs(as_design(X)[0], A, np.random.default_rng(5))
    assert X.data.tolist() == [1.0, 2.0, 4.0, 0.0, 5.0] and X.indices.tolist() == [2, 0, 2, 1, 0]
    pairs = sp.coo_array((data, (rows, [0, 0, 0, 1, 1])), shape=(4, 2))
    assert_verbs(as_design(pairs)[0], A, np.random.default_rng(5))
    assert pairs.nnz == 5


def test_sparse_arrays_are_shared_when_they_can_be():
    X = sp.random_array((50, 20), density=0.2, format="csc", rng=np.random.default_rng(6))
    assert np.shares_memory(as_design(X)[0].data, X.data)


def test_sparse_indices_out_of_range_are_refused():
    X = sp.csc_array(np.eye(3))
    X.indices[1] = 7
    with pytest.raises(ValueError, match="indices"):
        as_design(X)


BASES = {
    "dense": lambda A: Dense(A),
    "dense F": lambda A: Dense(np.asfortranarray(A)),
    "float32": lambda A: Dense(A.astype("float32")),
    "sparse": lambda A: as_design(sp.csr_array(A))[0],
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("rows", [None, "some", "one"])
@pytest.mark.parametrize("far", ["none", "some", "all"])
def test_standardized_verbs(base, rows, far):
    rng = np.random.default_rng(7)
    A = numbers(rng, 24, 11)
    if far != "none":
        A[:, :: 2 if far == "some" else 1] += 2.0**21
    rows = {None: None, "some": np.flatnonzero(rng.random(24) < 0.6), "one": np.array([3])}[rows]
    center, scale = A.mean(axis=0), np.maximum(A.std(axis=0), 0.1)
    design = Standardized(BASES[base](A), center, scale, rows)
    assert design._far.sum() == {"none": 0, "some": 6, "all": 11}[far]
    Z = (A - center) / scale
    assert_verbs(
        design, Z if rows is None else Z[rows], rng, mean_error=1e-12 if far == "none" else 1e-9
    )


@pytest.mark.parametrize("base", ["dense", "dense F", "sparse"])
@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_standardized_products_keep_their_digits_at_mean_1e6(base, offset):
    rng = np.random.default_rng(8)
    A = 1e6 + rng.normal(size=(1000, 6)) * [1.0, 1.0, 10.0, 1e3, 1e5, 1e6]
    center, scale = A.mean(axis=0), A.std(axis=0)
    R = offset + rng.normal(size=(1000, 3))
    exact = (((A.astype(np.longdouble) - center) / scale).T @ R.astype(np.longdouble)).astype(float)
    design = Standardized(BASES[base](A), center, scale)
    np.testing.assert_allclose(design.correlate(R), exact, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(design.correlate(R, 1, 3), exact[1:3], rtol=1e-8, atol=1e-8)
    b = rng.normal(size=6)
    np.testing.assert_allclose(
        design.dot(np.arange(6), b), (A - center) / scale @ b, rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize(
    "make",
    [Dense, lambda A: Dense(np.asfortranarray(A)), lambda A: as_design(sp.csc_array(A))[0]],
    ids=["C", "F", "sparse"],
)
def test_moments_are_stable_at_mean_1e8(make):
    rng = np.random.default_rng(9)
    A = 1e8 + rng.normal(size=(3000, 40))
    weights = weights_of(rng, 3000)
    for center in (True, False):
        for got, wanted in zip(
            make(A).moments(weights, center), moments_by_definition(A, weights, center), strict=True
        ):
            np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -3.3e-9, 0.0, 7.0])
@pytest.mark.parametrize(
    "make", [Dense, lambda A: as_design(sp.csc_array(A))[0]], ids=["dense", "sparse"]
)
def test_constant_columns_have_no_second_moment(make, value):
    A = np.random.default_rng(10).normal(size=(997, 3))
    A[1:, 1] = value  # the first row has weight zero
    weights = weights_of(np.random.default_rng(11), 997)
    mean, second = make(A).moments(weights, True)
    assert second[1] == 0.0 and mean[1] == value and second[0] > 0.5
    np.testing.assert_allclose(make(A).moments(weights, False)[1][1], value**2, rtol=1e-12)


def test_rows_of_weight_zero_count_for_nothing_in_moments():
    rng = np.random.default_rng(12)
    A = numbers(rng, 30, 4)
    weights = np.r_[np.zeros(5), np.full(25, 1 / 25)]
    B = A.copy()
    B[:5] = 1e300
    for make in (Dense, lambda X: as_design(sp.csc_array(X))[0]):
        np.testing.assert_allclose(
            make(A).moments(weights, True), make(B).moments(weights, True), rtol=1e-13
        )
        np.testing.assert_allclose(
            make(A).moments(weights, True), make(A[5:]).moments(weights[5:], True), rtol=1e-13
        )


@pytest.mark.parametrize("dtype", FLOATS)
def test_nonfinite_counts_per_column(dtype):
    A = np.random.default_rng(13).normal(size=(30, 6)).astype(dtype)
    A[3, 1], A[4, 1], A[5, 4], A[6, 4], A[7, 4] = np.nan, np.inf, np.inf, -np.inf, np.nan
    wanted = [0, 2, 0, 0, 3, 0]
    assert Dense(A).nonfinite().tolist() == wanted
    assert Dense(np.asfortranarray(A)).nonfinite().tolist() == wanted
    assert as_design(sp.csr_array(A.astype(float)))[0].nonfinite().tolist() == wanted
    some = Standardized(Dense(A), np.zeros(6), np.ones(6), np.arange(4, 30))
    assert some.nonfinite().tolist() == [0, 1, 0, 0, 3, 0]


def test_finite_columns_whose_sum_overflows_are_finite():
    A = np.full((4, 2), 1e308)
    assert Dense(A).nonfinite().tolist() == [0, 0]
    assert as_design(sp.csc_array(A))[0].nonfinite().tolist() == [0, 0]
    assert Dense(np.full((4, 2), 6e4, dtype="float16")).nonfinite().tolist() == [0, 0]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("step", [1, 2])
def test_no_verb_copies_a_large_matrix(order, step):
    X = np.zeros((2500, 10_000 * step), dtype="float32", order=order)[
        :, ::step
    ]  # 100 MB of entries, 200 MB as float64
    design, R = as_design(X)[0], np.ones((2500, 20))
    weights = np.full(2500, 1 / 2500)
    for task in (
        lambda: design.correlate(R),
        lambda: design.moments(weights, True),
        design.nonfinite,
        lambda: design.dot(np.arange(10_000), np.ones(10_000)),
    ):
        assert peak(task) < 80e6
    standardized = Standardized(
        design, np.full(10_000, 1e6), np.ones(10_000), np.arange(0, 2500, 2)
    )
    assert peak(lambda: standardized.correlate(R[::2])) < 80e6


def test_float64_is_read_in_place():
    for X in (
        np.ones((500, 4000)),
        np.ones((500, 4000), order="F"),
        np.ones((1000, 4000))[::2],
        np.ones((500, 5000), order="F")[:, 7:4007],
    ):
        assert peak(lambda X=X: Dense(X).correlate(np.ones((500, 4)))) < 1e6


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_matrices_are_read_by_kernels(monkeypatch, dtype, order):
    monkeypatch.setattr("l0path.designs.dense.OWN_ENTRIES", 600)
    rng = np.random.default_rng(31)
    X = np.asarray(numbers(rng, 61, 300, dtype), order=order)
    assert (
        Dense(X, X.size).compiled
        and not Dense(X, X.size + 1).compiled
        and not Dense(X).compiled
        and not Dense(X[::2, ::2], 0).compiled
    )
    assert_verbs(Dense(X, 0), X.astype(float), rng)
    weights, R, out = np.full(61, 1 / 61), rng.normal(size=(61, 5)), []
    for count in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        out.append((Dense(X, 0).correlate(R), *Dense(X, 0).moments(weights, True)))
    assert all(np.array_equal(a, b) for a, b in zip(*out, strict=True))
    X = (X + 1e4).astype(dtype)
    X[:, 7], X[1:, 9] = X[0, 7], X[1, 9]
    weights[0], weights[5] = 0.0, 2 / 61
    mean, second = Dense(X, 0).moments(weights, True)
    for got, wanted in zip(
        (mean, second), moments_by_definition(X.astype(float), weights, True), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-13)
    assert second[7] == second[9] == 0.0 and mean[7] == X[0, 7] and mean[9] == X[1, 9]
    X[0, [3, 200]] = np.nan, np.inf
    np.testing.assert_allclose(
        np.array(Dense(X, 0).moments(weights, True)), (mean, second), rtol=1e-12, atol=1e-15
    )
    X[2, 11] = np.inf
    with np.errstate(invalid="ignore"):
        assert np.flatnonzero(~np.isfinite(Dense(X, 0).moments(weights, True)[1])).tolist() == [11]


def test_wrong_lengths_are_refused():
    A = np.eye(4)
    for design in (
        Dense(A),
        Dense(A.astype("float32")),
        as_design(sp.csc_array(A))[0],
        Standardized(Dense(A), np.zeros(4), np.ones(4), [0, 1, 2]),
    ):
        with pytest.raises(ValueError):
            design.correlate(np.ones(5))
    sparse = as_design(sp.csc_array(A))[0]
    with pytest.raises(ValueError, match="b has 1 rows but J has 2 columns"):
        sparse.dot([0, 1], [1.0])
    for J in ([4], [-5]):
        with pytest.raises(IndexError, match="out of range for a design of 4 columns"):
            sparse.columns(J)
    np.testing.assert_array_equal(sparse.columns([-1]), A[:, [-1]])


@given(st.data())
def test_all_designs_agree_on_small_matrices(data):
    n, p, m = (data.draw(st.integers(1, 6)) for _ in range(3))
    value = st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.1, 1e6, 1e6 + 1])
    A = np.array(
        data.draw(st.lists(st.lists(value, min_size=p, max_size=p), min_size=n, max_size=n))
    )
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    R, weights = rng.normal(size=(rows.size, m)), weights_of(rng, rows.size)
    mean, second = moments_by_definition(A[rows], weights, True)
    scale = np.where(second > 1e-12, np.sqrt(second), 1.0)
    Z = ((A - mean) / scale)[rows]
    for make in BASES.values():
        design = Standardized(
            make(A.astype("float32").astype(float) if make is BASES["float32"] else A),
            mean,
            scale,
            rows,
        )
        near = 1e-9 if make is not BASES["float32"] else 1e-6 / scale.min()
        np.testing.assert_allclose(design.correlate(R), Z.T @ R, rtol=1e-8, atol=near * 10)
        np.testing.assert_allclose(design.columns(np.arange(p)), Z, rtol=1e-9, atol=near)
        np.testing.assert_allclose(
            design.dot(np.arange(p), np.ones(p)), Z @ np.ones(p), rtol=1e-8, atol=near * 10
        )
        if make is not BASES["float32"]:
            np.testing.assert_allclose(
                design.moments(weights, True)[1], np.where(second > 1e-12, 1.0, 0.0), atol=1e-8
            )


@pytest.mark.parametrize("base", BASES)
def test_duplicates_are_exactly_the_equal_columns(base):
    rng = np.random.default_rng(19)
    A = rng.normal(size=(40, 60)).astype("float32").astype(float)
    A[:, [7, 31]] = A[:, [3]]
    A[:, 50] = A[:, 20]
    A[:, 51] = A[:, 20]
    A[5, 51] += 2.0**-20  # nearly equal
    A[:, 52:55] = [0.0, 0.0, 3.0]
    A[:, 55] = 3.0
    A[:, 56] = -A[:, 20]
    design = BASES[base](A)
    assert (
        duplicates(design)
        == duplicates(design, design.moments(np.full(40, 1 / 40), True)[1])
        == [(7, 3), (31, 3), (50, 20)]
    )


def test_duplicates_of_binary_columns_and_signed_zeros():
    rng = np.random.default_rng(20)
    A = (rng.random((8, 400)) < 0.5).astype(float)
    wanted, first = [], {}
    for j, column in enumerate(A.T):
        if column.min() != column.max():
            earlier = first.setdefault(column.tobytes(), j)
            wanted += [(j, earlier)] * (earlier != j)
    assert (
        duplicates(Dense(A))
        == duplicates(Dense(A), Dense(A).moments(np.full(8, 1 / 8), True)[1])
        == wanted
    )
    assert duplicates(Dense(A.astype(np.int8))) == wanted
    assert duplicates(Csc(sp.csc_array(A))) == wanted
    stored = sp.csc_array(
        (np.array([1.0, 0.0, 1.0, -0.0]), np.array([0, 1, 0, 2]), np.array([0, 2, 4])), shape=(3, 2)
    )  # zeros that are stored
    assert duplicates(Csc(stored)) == [(1, 0)]
    assert duplicates(Dense(np.array([[0.0, -0.0], [1.0, 1.0]]))) == [(1, 0)]
