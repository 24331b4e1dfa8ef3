"""Parts of a search tree against their definitions: bounds from products of working columns with
all columns, the column at which a node is split, Gram matrices that are cut.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from oracles import restricted
from problems import plain, problem_of

from l0path.exact.nodes.branching import RelaxedPoint, expected_gains
from l0path.exact.nodes.columns import Node, NodeColumns
from l0path.exact.nodes.penalty import Penalty
from l0path.relaxation import dual_problem, least_squares, split, splitting
from l0path.relaxation.splitting import GramMatrix


def spoiled(rng, n=12, p=7):
    """(X, y) with a column that is a copy, opposite, proportional or constant, or none."""
    X = rng.normal(size=(n, p))
    kind = rng.integers(5)
    if kind < 4:
        X[:, 5] = (X[:, 0], -X[:, 1], 3.0 * X[:, 2], np.ones(n))[kind]
    return X, X[:, :2] @ [1.0, -1.0] + rng.normal(size=n)


def by_definition(problem, dual, b, into, out, left, lambda0):
    """The value of the dual function at the slopes of b (p,), written down plainly, and h (p,)."""
    Z = problem.X.columns(np.arange(problem.X.p))
    residual = problem.y - Z @ b
    c = Z.T @ (problem.weights * residual)
    value = problem.weights @ (0.5 * residual**2 + residual * (Z @ b))
    h = np.zeros(b.size)
    for j in range(b.size):
        low, high = dual.lower[j], dual.upper[j]
        best = np.clip(c[j] / (2.0 * dual.ridge[j]), low, high)
        h[j] = c[j] * best - dual.ridge[j] * best**2
    free = [j for j in range(b.size) if j not in (*into, *out)]
    value -= h[into].sum()
    if lambda0 is None:
        return value - np.sort(h[free])[::-1][:left].sum(), h
    return value + lambda0 * len(into) - np.maximum(h[free] - lambda0, 0.0).sum(), h


@pytest.mark.parametrize("seed", range(12))
def test_bound_of_a_node_over_all_columns_is_that_of_its_definition(seed):
    rng = np.random.default_rng(seed)
    X, y = spoiled(rng)
    lower, upper = -rng.uniform(0.05, 0.8, 7), rng.uniform(0.1, 0.8, 7)
    if seed % 3 == 0:
        lower, upper = np.zeros(7), np.where(rng.random(7) < 0.5, np.inf, upper)
    problem = problem_of(plain(X, y, lower=lower, upper=upper))
    dual = dual_problem(problem, 0.0, 0.02)
    work = NodeColumns(dual)
    work.grow([4, 0, 2])
    assert work.few(1e-14)
    b = np.zeros(7)
    b[work.W] = np.clip(rng.normal(size=3), lower[work.W], upper[work.W])
    one = np.arange(1)
    node = Node(-np.inf, one, one + 1, np.arange(3), b[work.W], 1.0, 0.0)
    b[0], node.b[1] = 0.0, 0.0  # column 0 is out
    lambda0, left = (None, 2) if seed % 2 else (0.01, -1)
    cutoff = 0.5 * float(problem.weights @ y**2)
    value, _, entering = work.bound_over_all(node, left, lambda0, cutoff)
    expected, h = by_definition(problem, dual, b, [4], [0], left, lambda0)
    assert value == pytest.approx(expected, abs=1e-11 * max(cutoff, 1.0))
    assert value <= expected + 1e-15
    others = np.array([1, 3, 5, 6])
    edge = lambda0 if lambda0 is not None else sorted([h[2], 0.0])[-left]
    assert set(entering) == set(others[h[others] > edge + 1e-12])
    work.grow([6, 1])  # products are made for the columns that come later, too
    assert work.few(1e-14)
    later = work.bound_over_all(node, left, lambda0, cutoff)
    assert later[0] == value and later[1].size == 5

    same = {"lower": lower, "upper": upper, "lambda2": 0.02}
    same |= {"standardize": False, "intercept": False}
    sets = [s for size in range(8) for s in combinations(range(7), size) if 4 in s and 0 not in s]
    for j, what in zip(work.W, later[1], strict=True):
        if what:  # no model of the node with j (or without it) is below the cutoff
            for s in sets:
                if (j in s) == (what < 0) and (lambda0 is not None or len(s) <= 3):
                    least = restricted(X, y, s, **same)[0] + (lambda0 or 0.0) * len(s)
                    assert least > cutoff * (1.0 - 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_expected_gains_of_a_split_are_those_of_the_quadratic_of_the_other_columns(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(9, 6))
    G, ridge, b, multiplier = A.T @ A, rng.uniform(0.1, 1.0, 6), rng.normal(size=6), 0.3
    z = np.array([0.4, 1.0, 0.9, 0.1, 1.0, 0.0])
    b[5] = 0.0
    J, slope = np.flatnonzero(b), 2.0 * np.sqrt(multiplier * ridge)
    H = G[np.ix_(J, J)] + np.diag(np.where(z[J] == 1.0, 2.0 * ridge[J], 0.0))

    def quadratic(x, i):  # less its value at b, its minimum; column i in, and without its slope
        j, d = J[i], x - b[J]
        free = multiplier + ridge[j] * x[i] ** 2 - slope[j] * np.sign(b[j]) * x[i]
        return 0.5 * d @ H @ d + free

    expected = np.full((2, J.size), -1.0)
    for i, j in enumerate(J):
        if 0.0 < z[j] < 1.0:
            e, rest = np.eye(J.size)[i], np.delete(np.arange(J.size), i)
            expected[0, i] = (
                0.5
                * b[j] ** 2
                * (H[i, i] - H[i, rest] @ np.linalg.solve(H[np.ix_(rest, rest)], H[rest, i]))
            )
            right = H @ b[J] + slope[j] * np.sign(b[j]) * e
            expected[1, i] = quadratic(
                np.linalg.solve(H + 2.0 * ridge[j] * np.outer(e, e), right), i
            )
    penalty = Penalty(0.0, ridge, np.full(6, -np.inf), np.full(6, np.inf), np.ones(6))
    gain, space = np.empty((2, J.size)), np.empty((6, 6))
    point = RelaxedPoint(b, b, multiplier, 0.0)
    assert expected_gains(G, penalty, point, J, z, gain, space)
    np.testing.assert_allclose(gain, expected, rtol=1e-10)
    G[:, 2], G[2] = G[:, 0], G[0]  # copies, both on the linear piece: no Hessian to go by
    assert not expected_gains(G, penalty, point, J, z, gain, space)


@pytest.mark.parametrize("lambda2", [0.0, 1e-4, 3.0])
def test_a_gram_matrix_is_cut_for_fewer_columns_and_solves_every_ridge(lambda2):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 6)), rng.normal(size=20)
    problem, gram = problem_of(plain(X, y)), GramMatrix()
    for columns in (range(6), [0, 2, 3], [2]):
        few = replace(problem, usable=np.isin(np.arange(6), columns))
        kept, made = split(few, gram=gram), split(few)
        np.testing.assert_allclose(kept, made, rtol=1e-10)
        J, b = least_squares(few, lambda2, gram)
        A = X[:, J]
        exact = np.linalg.solve(A.T @ A / 20 + 2.0 * lambda2 * np.eye(J.size), A.T @ y / 20)
        np.testing.assert_allclose(b, exact, rtol=1e-8, atol=1e-9)
    X[:, 5] = X[:, 0]
    assert split(problem_of(plain(X, y))) is None


@pytest.mark.parametrize("step", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("unit", [1.0, 1e25, 1e-25])
def test_a_factor_in_single_precision_proves_nothing_and_spoils_nothing(monkeypatch, step, unit):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
    X[:, 5] = X[:, 0] + step * X[:, 5]
    X *= unit
    monkeypatch.setattr(splitting, "WHOLE_SPECTRUM", 3)
    monkeypatch.setattr(splitting, "LANCZOS_STEPS", 8)
    monkeypatch.setattr(splitting, "FEW_STEPS", 4)
    problem = problem_of(plain(X, y))
    gram = GramMatrix()
    G = X.T @ X / 60
    diagonal = split(problem, gram=gram)
    if step < 1e-5:  # as before, no diagonal where the least eigenvalue is not safely positive
        assert diagonal is None
    else:
        assert np.linalg.eigvalsh((G - np.diag(diagonal)) / unit**2)[0] > 0
        scaled = diagonal * np.diag(np.linalg.inv(G / unit**2)) / unit**2
        assert np.ptp(scaled) < 1e-3 * scaled.max()
    for lambda2 in (0.0, 1e-4 * unit**2):
        _, b = least_squares(problem, lambda2, gram)
        slopes = X.T @ (y - X @ b) / 60 - 2.0 * lambda2 * b
        assert np.abs(slopes).max() < 1e-8 * np.abs(X.T @ y / 60).max()
