"""Least squares with absolute values and bounds by active sets: every pattern of signs and bounds
is the slow twin, optimality conditions where columns depend on each other.
"""

import numpy as np
import pytest
from near_optima import optimum

from l0path.working_set.least_squares import least_squares
from l0path.working_set.linear_algebra import cholesky


def problem(seed):
    """(Z, y, lambda1, lower, upper): two of the columns may lie near to each other."""
    rng = np.random.default_rng(seed)
    k, n, gap = int(rng.integers(1, 5)), int(rng.integers(5, 30)), 10.0 ** -rng.uniform(0, 9)
    Z = rng.normal(size=(n, k))
    if k > 1:
        Z[:, 1] = Z[:, 0] * rng.choice([1.0, -2.0]) + gap * Z[:, 1]
    Z *= 10.0 ** rng.uniform(-2, 2, k)
    reach = rng.choice([1.0, 1.0 / gap])
    lower = np.where(rng.random(k) < 0.4, -reach * rng.random(k), -np.inf)
    upper = np.where(rng.random(k) < 0.4, reach * rng.random(k), np.inf)
    lambda1 = 10.0 ** rng.uniform(-12, 0) * (rng.random() < 0.7)
    return Z, rng.normal(size=n) + Z[:, -1], lambda1, lower, upper


@pytest.mark.parametrize("seed", range(40))
def test_no_pattern_of_signs_and_bounds_is_better(seed):
    Z, y, lambda1, lower, upper = problem(seed)
    n, k = Z.shape
    A, target = Z / np.sqrt(n), y / np.sqrt(n)
    best = optimum(Z, y, lower, upper, loss="squared", lambda1=lambda1)
    for start in (np.zeros(k), np.clip(np.ones(k), lower, upper)):
        x, optimal = least_squares(A, target, np.full(k, lambda1), lower, upper, start)
        rest = y - Z.astype(np.longdouble) @ x
        found = float(0.5 * np.mean(rest**2) + lambda1 * np.abs(x).sum())
        assert optimal and (lower <= x).all() and (x <= upper).all()
        assert found <= best * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("copy", [1.0, -1.0, 3.0])
@pytest.mark.parametrize("lambda1", [0.0, 0.1])
def test_copies_share_as_the_penalty_asks(copy, lambda1):
    """A copy of larger scale is cheaper; one at its bound leaves the rest to the other."""
    a = np.random.default_rng(1).normal(size=20)
    A, y = np.column_stack([a, copy * a]), 2.0 * a
    one = least_squares(a[:, None], y, np.array([lambda1]), *np.array([[-9.0], [9.0]]), np.zeros(1))
    free = np.full(2, np.inf)
    x, optimal = least_squares(A, y, np.full(2, lambda1), -free, free, np.zeros(2))
    fitted = x[0] + copy * x[1]
    assert optimal
    if lambda1 and abs(copy) > 1:
        assert x[0] == 0.0 and fitted > one[0][0]
    else:
        np.testing.assert_allclose(fitted, one[0][0], rtol=1e-12)
    x, _ = least_squares(A, y, np.full(2, lambda1), -free, np.array([0.5, np.inf]), np.zeros(2))
    assert x[0] <= 0.5 and x[0] + copy * x[1] >= one[0][0] - 1e-12


def test_no_columns():
    x, optimal = least_squares(np.empty((3, 0)), np.ones(3), *[np.empty(0)] * 4)
    assert x.size == 0 and optimal


@pytest.mark.parametrize("k", [0, 1, 3, 4, 7, 30])
def test_a_factor_with_weak_pivots(k):
    rng = np.random.default_rng(k)
    Z = rng.normal(size=(60, k))
    copies = np.arange(k) >= k - k // 5
    Z[:, copies] = Z[:, : copies.sum()]
    L = np.full((k + 1, k + 1), np.nan)
    L[:k, :k] = Z.T @ Z
    assert cholesky(L, k) == copies.sum()
    L, first = np.tril(L[:k, :k]), ~copies
    assert (np.diagonal(L)[copies] == 1e150).all()
    kept = np.ix_(first, first)
    np.testing.assert_allclose(L[kept] @ L[kept].T, (Z.T @ Z)[kept], rtol=1e-9, atol=1e-11)
