"""Columns that are almost linear combinations of others, which a Gram matrix cannot tell from true
ones: compared with least squares by orthogonal factorisation on every subset.
"""

from itertools import combinations

import numpy as np
import pytest

import l0path


def least(X, y, k, intercept):
    """(value, support) of the best k columns, each subset by a QR on centred, scaled columns."""
    Z, target = (X - X.mean(axis=0), y - y.mean()) if intercept else (X, y)
    Z = Z / np.linalg.norm(Z, axis=0)
    best = (np.inf, ())
    for S in combinations(range(X.shape[1]), k):
        Q, _ = np.linalg.qr(Z[:, S])
        rest = target - Q @ (Q.T @ target)
        best = min(best, (0.5 * float(np.mean((rest - Q @ (Q.T @ rest)) ** 2)), S))
    return best


def far(seed, away, n=200):
    """Four columns far from the origin, y without an intercept to take that up."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X + away, X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=n)


def copies(seed, apart, n=200):
    """Two columns that differ by a little noise, which is what y is made of."""
    rng = np.random.default_rng(seed)
    a, e, c = rng.normal(size=(3, n))
    X = np.column_stack([a, a + apart * e, c])
    return X, (X[:, 1] - X[:, 0]) / apart + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("away", [1e3, 1e5, 1e6])
def test_columns_far_from_the_origin(seed, away):
    X, y = far(seed, away)
    path = l0path.fit(X, y, fit_intercept=False)
    assert path.table.k.tolist() == [0, 1, 2, 3, 4]
    for s in path.solutions[1:]:
        value, support = least(X, y, s.k, False)
        assert s.objective == pytest.approx(value, rel=1e-6) and s.support.tolist() == list(support)


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("apart", [1e-3, 1e-5, -1e-5, 1e-7])
def test_near_copies(seed, apart):
    X, y = copies(seed, apart)
    for sign in (1.0, -2.0):
        path = l0path.fit(X * [1.0, sign, 1.0], y)
        assert path.table.k.tolist() == [0, 1, 2, 3]
        for s in path.solutions[1:]:
            value, support = least(X, y, s.k, True)
            assert s.objective == pytest.approx(value, rel=1e-6)
            assert s.support.tolist() == list(support) or s.k == 1
        if abs(apart) < 1e-4:
            assert any("x0, x1" in note and "almost" in note for note in path.notes)
            assert not path.table.optimality.eq("refit_swap").any()


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-7])
def test_near_sums(apart):
    """One column is the sum of two others but for a little noise, which is what y is made of."""
    rng = np.random.default_rng(8)
    a, b, c, e = rng.normal(size=(4, 100))
    X = np.column_stack([a, b, c, a + b + apart * e])
    y = e + 0.1 * rng.normal(size=100)
    path = l0path.fit(X, y)
    assert path.table.k.tolist() == [0, 1, 2, 3, 4]
    for k in (3, 4):
        assert path.model(k=k).objective == pytest.approx(least(X, y, k, True)[0], rel=1e-6)
    assert any("x0, x1, x3" in note for note in path.notes) == (apart < 1e-4)


def test_true_copies_are_none():
    """What rounding leaves between proportional columns is no difference."""
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, 50))
    X = np.column_stack([a, a / 3.0, b, -0.1 * a])
    path = l0path.fit(X, a + b + 0.1 * rng.normal(size=50))
    assert path.table.k.max() == 2 and not any("almost" in note for note in path.notes)
