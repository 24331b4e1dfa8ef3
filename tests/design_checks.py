"""The verbs of a design against NumPy, and the memory that a task takes."""

import tracemalloc

import numpy as np


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


def assert_products(design, A, rng):
    """`correlate`, and `correlate_into` where there is one, against A'R."""
    n, p = A.shape
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


def assert_columns(design, A, rng):
    """`columns` and `dot` against A[:, J]; also no columns, repeated ones and any order."""
    n, p = A.shape
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


def assert_verbs(design, A, rng, mean_error=1e-12):
    """Every verb of `design` against the filled matrix A (n, p); `mean_error`: what rounding may do
    to a mean.
    """
    n, p = A.shape
    assert (design.n, design.p) == (n, p)
    assert repr(design)
    assert_products(design, A, rng)
    assert_columns(design, A, rng)
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


def peak(task):
    """Most bytes allocated by NumPy and Python while `task` runs."""
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
