"""Bounds of nodes of the search over all sizes against every set of their candidates."""

from itertools import combinations

import numpy as np
import pytest

from l0path.exact.all_sizes.kernel import Thresholds, search
from l0path.exact.all_sizes.search import Walker
from l0path.exact.all_sizes.subtrees import Subtree

M = 9  # candidates; bounds are kept for sets of 3 to 6 of them
SIZES = range(3, M - 2)


def node(seed, alike=0.0, rows=60):
    """(walker with one open node, S, c, value): columns, of which two are alike."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, M))
    X[:, 1] = alike * X[:, 0] + (1.0 - alike) * X[:, 1]
    X /= np.linalg.norm(X, axis=0)
    y = X @ np.ones(M) + 0.1 * rng.standard_normal(rows)
    S, c, value = X.T @ X, np.sqrt(0.5) * (X.T @ y), 0.5 * float(y @ y)
    walker = Walker(np.zeros(M), M)
    walker.load(Subtree((), np.arange(M), S, c, value, np.zeros(M)))
    return walker, S, c, value


def bounds(walker):
    """By size, after a look at the one open node, which stays open for `SIZES`."""
    cut = Thresholds(np.full(M + 1, -np.inf), np.inf, 0.0)
    cut.threshold[SIZES] = np.inf
    search(walker.stack, walker.space, 0, 0, cut, 1 << 40, 1)
    return walker.stack.least[0].copy()


def least_of_size(S, c, value, t):
    """The least value of t columns, by all of them."""
    return min(
        value - c[list(T)] @ np.linalg.solve(S[np.ix_(T, T)], c[list(T)])
        for T in combinations(range(M), t)
    )


@pytest.mark.parametrize("alike", [0.0, 0.4, 0.999])
def test_no_bound_is_above_the_best_set(alike):
    """For every size that is open, wherever the relaxation begins: at its own coefficients or at
    those of another node.
    """
    for seed in range(10):
        walker, S, c, value = node(seed, alike)
        best = [least_of_size(S, c, value, t) for t in SIZES]
        assert (bounds(walker)[SIZES] <= np.array(best) + 1e-12 * value).all()
        walker = node(seed, alike)[0]
        walker.stack.beta[0] = 2.0 * np.random.default_rng(seed).standard_normal(M)
        assert (bounds(walker)[SIZES] <= np.array(best) + 1e-12 * value).all()


@pytest.mark.parametrize("alike", [0.0, 0.4, 0.999])
def test_a_diagonal_leaves_a_positive_semidefinite_matrix(alike):
    """Whatever the largest size is that is open, and so the columns that matter; the bounds of the
    node stay below every set.
    """
    for seed in range(5):
        for most in SIZES:
            walker, S, c, value = node(seed, alike)
            walker.stack.last[0] = most
            walker._restrict(0)
            delta = walker.space.delta
            assert np.linalg.eigvalsh(S - np.diag(delta))[0] > -1e-12 and (delta > 0.0).all()
            best = [least_of_size(S, c, value, t) for t in SIZES if t <= most]
            assert (bounds(walker)[3 : most + 1] <= np.array(best) + 1e-12 * value).all()


def test_the_relaxation_says_more_than_its_diagonal():
    """It is left out where the diagonal is small."""
    better = 0
    for seed in range(10):
        walker, _, _, value = node(seed)
        plainly = node(seed)[0]
        assert walker.space.delta.mean() > 0.15
        plainly.space.delta[:] = 0.14 / walker.space.delta.mean() * walker.space.delta
        better += (bounds(walker) > bounds(plainly) + 1e-3 * value).any()
    assert better >= 8
