"""Designs against their definition: plain NumPy on the filled float64 matrix."""

import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

import l0path
from l0path.core import threads
from l0path.designs import Csc, Dense, Numbered, Standardized, as_design, check_finite, duplicates

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


def numbers(rng, n, p, dtype="float64"):
    """A matrix (n, p) of small numbers, about half of them zero, that every dtype can hold."""
    return (rng.integers(0, 9, size=(n, p)) * rng.integers(0, 2, size=(n, p))).astype(dtype)


def weights_of(rng, n):
    """Weights that sum to one, the first one zero when there are others."""
    weights = rng.uniform(0.5, 2.0, n)
    weights[0] *= n == 1
    if n == 1:
        weights[:] = 1.0
    return weights / weights.sum()


def moments_by_definition(A, weights, center):
    """Slow twin of `moments`, in extended precision."""
    A, weights = A.astype(np.longdouble), weights.astype(np.longdouble)
    mean = weights @ A if center else np.zeros(A.shape[1])
    return mean.astype(float), (weights @ (A - mean) ** 2).astype(float)


def assert_verbs(design, A, rng, mean_error=1e-12):
    """Every verb of `design` against the filled matrix A (n, p); `mean_error`: what rounding may do
    to a mean.
    """
    n, p = A.shape
    assert (design.n, design.p) == (n, p)
    assert repr(design)
    for m in (1, 2, 3, 7):
        R = rng.normal(size=(n, m))
        out = design.correlate(R)
        assert out.dtype == np.float64 and out.flags.c_contiguous and out.shape == (p, m)
        np.testing.assert_allclose(out, A.T @ R, rtol=1e-11, atol=1e-10)
        np.testing.assert_allclose(
            design.correlate(np.asfortranarray(R), p // 3, p - 1),
            A[:, p // 3 : p - 1].T @ R,
            rtol=1e-11,
            atol=1e-10,
        )
        assert design.correlate(R, 1, 1).shape == (0, m)
        if hasattr(design, "correlate_into"):
            wide = np.full((m + 2, p + 3), np.pi)
            design.correlate_into(np.ascontiguousarray(R.T), wide[1:-1, 2 : p + 1], 1)
            np.testing.assert_allclose(
                wide[1:-1, 2 : p + 1], R.T @ A[:, 1:], rtol=1e-11, atol=1e-10
            )
            wide[1:-1, 2 : p + 1] = np.pi
            assert (wide == np.pi).all()
    r = rng.normal(size=n)
    np.testing.assert_allclose(design.correlate(r), A.T @ r, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(design.correlate(r, start=1), A[:, 1:].T @ r, rtol=1e-11, atol=1e-10)
    for J in (np.array([], dtype=int), np.array([p - 1, 0, p - 1]), rng.integers(0, p, 2 * p)):
        W = design.columns(J)
        assert (
            W.dtype == np.float64
            and W.flags.f_contiguous
            and W.flags.writeable
            and W.shape == (n, J.size)
        )
        np.testing.assert_allclose(W, A[:, J], rtol=1e-12, atol=1e-12)
        if hasattr(design, "correlate_into"):
            into = np.full((J.size, n), np.pi)
            design.columns(J, into.T)
            np.testing.assert_array_equal(into.T, W)
        for b in (rng.normal(size=J.size), rng.normal(size=(J.size, 3))):
            np.testing.assert_allclose(design.dot(J, b), A[:, J] @ b, rtol=1e-11, atol=1e-10)
    for weights in (np.full(n, 1 / n), weights_of(rng, n)):
        for center in (True, False):
            for got, wanted in zip(
                design.moments(weights, center),
                moments_by_definition(A, weights, center),
                strict=True,
            ):
                np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=mean_error)
    assert design.nonfinite().tolist() == [0] * p
    if hasattr(design, "take_rows"):
        rows = np.flatnonzero(rng.integers(0, 2, n))
        part = design.take_rows(rows)
        assert (
            (part.n, part.p) == (rows.size, p)
            and 8 * part.entries <= 16 * max(rows.size * p, 1)
            and design.nbytes >= 0
        )
        np.testing.assert_allclose(part.columns(np.arange(p)), A[rows], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            part.correlate(np.ones(rows.size)), A[rows].sum(axis=0), rtol=1e-11, atol=1e-10
        )


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


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1), (700, 130), (130, 700)])
@pytest.mark.parametrize("layout", LAYOUTS)
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


def peak(task):
    """Most bytes allocated by NumPy and Python while `task` runs."""
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


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


def test_results_do_not_depend_on_threads():
    X = sp.random_array((2000, 3000), density=0.05, format="csc", rng=np.random.default_rng(14))
    X.data[:50] *= 1e6
    rng, weights = np.random.default_rng(15), np.full(2000, 1 / 2000)
    for m in (1, 3, 20):
        R = rng.normal(size=(2000, m))
        out = [Csc(X, threads=count).correlate(R) for count in (1, 2, 3)]
        assert np.array_equal(out[0], out[1]) and np.array_equal(out[0], out[2])
        assert np.array_equal(Csc(X, threads=2).correlate(R, 100, 2900), out[0][100:2900])
    assert np.array_equal(
        Csc(X, threads=1).moments(weights, True), Csc(X, threads=2).moments(weights, True)
    )


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_results_of_cast_tiles_do_not_depend_on_threads(monkeypatch, dtype, order):
    X = np.asarray(numbers(np.random.default_rng(22), 300, 4000, dtype), order=order)[::2, ::2]
    R, weights = np.random.default_rng(23).normal(size=(150, 10)), np.full(150, 1 / 150)
    out = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        out.append(
            (Dense(X).correlate(R), Dense(X).correlate(R[:, :1]), *Dense(X).moments(weights, True))
        )
    assert all(
        np.array_equal(a, b) for other in out[1:] for a, b in zip(out[0], other, strict=True)
    )


def test_blas_threads_are_given_back():
    def limits():
        return [
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        ]

    before = limits()
    with threads.one_blas_thread():
        assert set(limits()) == {1}
        with threads.one_blas_thread():
            pass
        assert set(limits()) == {1}
    with pytest.raises(ZeroDivisionError), threads.one_blas_thread():
        raise ZeroDivisionError
    assert limits() == before


def test_two_python_threads_at_once():
    X = sp.random_array((3000, 2000), density=0.1, format="csc", rng=np.random.default_rng(24))
    dense, sparse, R = (
        Dense(X.toarray().astype("float32")),
        Csc(X, threads=2),
        np.random.default_rng(25).normal(size=(3000, 6)),
    )
    wanted = dense.correlate(R), sparse.correlate(R)
    with ThreadPoolExecutor(4) as callers:
        for kind, got in callers.map(
            lambda i: (i % 2, (dense, sparse)[i % 2].correlate(R)), range(16)
        ):
            assert np.array_equal(got, wanted[kind])


def test_thread_count_follows_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads.count() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert 1 <= threads.count() <= 32


def test_an_error_in_a_thread_reaches_the_caller():
    def task(left, right):
        if left == 2:
            raise RuntimeError("part 2")

    for count in (1, 2):
        with pytest.raises(RuntimeError, match="part 2"):
            threads.run(task, [0, 1, 2, 3], count)


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


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_work_in_a_forked_child():
    import multiprocessing

    X = sp.random_array((1000, 3000), density=0.1, format="csc", rng=np.random.default_rng(21))
    design = Csc(X, threads=2)
    wanted = design.correlate(np.ones(1000))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert np.array_equal(
            pool.apply_async(design.correlate, (np.ones(1000),)).get(timeout=60), wanted
        )


class VerbsAlone:
    """A user's design: the verbs that are asked of every design, and nothing else."""

    def __init__(self, X):
        self.n, self.p = X.shape
        self._held = Dense(X)

    def correlate(self, R, start=0, stop=None):
        return self._held.correlate(R, start, stop)

    def columns(self, J):
        return self._held.columns(J)

    def dot(self, J, b):
        return self._held.dot(J, b)

    def moments(self, weights, center):
        return self._held.moments(weights, center)

    def nonfinite(self):
        return self._held.nonfinite()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "logistic"},
        {"algorithm": "cd"},
        {"algorithm": "dual_iht", "lambda2": 0.1},
        {"groups": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]},
    ],
    ids=["squared", "logistic", "descent", "dual", "groups"],
)
def test_a_design_with_the_documented_verbs_alone_is_enough(options):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 10)) + 5.0
    X[:, 9] = X[:, 1]  # a copy
    y = X[:, 1] - X[:, 4] + 2.0 * rng.normal(size=60)
    y = np.where(y > 0, 1.0, -1.0) if options.get("loss") == "logistic" else y
    wanted, got = (l0path.fit(A, y, max_k=3, **options) for A in (X, VerbsAlone(X)))
    assert len(wanted.solutions) > 2
    assert [s.support.tolist() for s in got.solutions] == [
        s.support.tolist() for s in wanted.solutions
    ]
    np.testing.assert_allclose(got.predict(X), wanted.predict(X), rtol=1e-8)


def test_folds_and_certificates_of_a_design_with_the_documented_verbs_alone():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 8))
    y = X[:, 1] - X[:, 4] + 2.0 * rng.normal(size=60)
    wanted, got = (l0path.cv_fit(A, y, max_k=3, cv=3, random_state=0) for A in (X, VerbsAlone(X)))
    np.testing.assert_allclose(got.table.cv_mean, wanted.table.cv_mean, rtol=1e-8)
    assert got.path.certify(k=3).proven and wanted.path.certify(k=3).proven
