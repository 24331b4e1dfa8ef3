"""A diagonal split off in single precision: what it promises for sparse coefficients, and that no
bound from it exceeds an enumerated optimum.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from dual_problems import problem_of

import l0path
from l0path import relaxation
from l0path.relaxation import splitting
from l0path.relaxation.safe_rules import fix_cardinality


@pytest.fixture
def small(monkeypatch):
    """Let the split serve few columns, and blocks of rows be small."""
    monkeypatch.setattr(splitting, "FEWEST_SPARSE", 0)
    monkeypatch.setattr(splitting, "SUMMED_ROWS", 16)
    monkeypatch.setattr(splitting, "FACTOR_ROWS", 3)


def draw(seed):
    """(X, y, kind): columns of many kinds; an origin far away, copies and constants among them."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(25, 70)), int(rng.integers(4, 11))
    X = rng.standard_normal((n, p))
    kind = ("plain", "alike", "far", "copy", "constant", "scales", "near")[seed % 7]
    if kind == "alike":
        X += 2.0 * rng.standard_normal((n, 1))
    elif kind == "far":
        X[:, 0] += 1e4
    elif kind == "copy":
        X[:, 1] = X[:, 0]
    elif kind == "constant":
        X[:, 1] = 3.0
    elif kind == "scales":
        X *= 10.0 ** rng.integers(-8, 9, p)
    elif kind == "near":
        X[:, 1] = X[:, 0] + 1e-3 * rng.standard_normal(n)
    y = X[:, [0, 2]] @ (rng.standard_normal(2) / X[:, [0, 2]].std(axis=0))
    return X, y + rng.standard_normal(n) * rng.uniform(0.1, 2.0), kind


def optimum(problem, k, lambda2):
    """(the least objective of at most k columns, the sets within rounding of it)."""
    J = np.flatnonzero(problem.usable)
    values = {}
    for S in (S for m in range(k + 1) for S in combinations(J, m)):
        Z = problem.X.columns(np.array(S, dtype=int))
        root = np.sqrt(problem.weights)
        A = np.vstack([root[:, None] * Z, np.sqrt(2.0 * lambda2) * np.eye(len(S))])
        y = np.concatenate([root * problem.y, np.zeros(len(S))])
        b = np.linalg.lstsq(A, y, rcond=None)[0]
        values[S] = 0.5 * float(((y - A @ b) ** 2).sum())
    least = min(values.values())
    return least, [S for S, v in values.items() if v <= least * (1 + 1e-9) + 1e-14]


def checked(seed):
    """Compare bounds and fixed columns of one instance with enumeration; whether there was a split
    and the share of columns that were fixed.
    """
    X, y, _ = draw(seed)
    rng = np.random.default_rng(seed)
    weights = None if seed % 2 else rng.uniform(0.2, 3.0, y.size)
    problem = problem_of({"X": X, "y": y, "loss": "squared", "weights": weights})
    k, lambda2, most = int(rng.integers(1, 4)), [0.0, 1e-4][seed % 2], 4
    d = relaxation.sparse_split(problem, most + k)
    if d is None:
        return False, 0.0
    dual = relaxation.dual_problem(problem, 0.0, lambda2, split=d)
    dual = replace(dual, tangent_size=most)
    least, best = optimum(problem, k, lambda2)
    found = relaxation.improve(dual, sizes=[k], goal=np.array([least]), steps=4, tol=1e-9)
    assert found.lower[0] <= least * (1 + 1e-10) + 1e-14
    out, into = (v[:, 0] for v in fix_cardinality(dual, found.points, [k], [least]))
    for S in best:
        member = np.isin(np.arange(problem.X.p), S)
        assert not (out & member).any()
        assert len(S) < k or not (into & ~member).any()
    return True, float((out | into).mean())


@pytest.mark.parametrize("count", [21, pytest.param(700, marks=pytest.mark.slow)])
def test_no_bound_exceeds_an_enumerated_optimum_and_no_rule_cuts_one(small, count):
    served, fixed = zip(*(checked(seed) for seed in range(count)), strict=True)
    assert np.mean(served) > 0.5 and np.mean(fixed) > 0.1


@pytest.mark.parametrize("seed", range(6))
def test_the_split_leaves_sparse_coefficients_a_nonnegative_form(small, seed):
    X, y, _ = draw(seed)
    problem = problem_of({"X": X, "y": y, "loss": "squared"})
    d = relaxation.sparse_split(problem, 3)
    if d is None:
        return
    Z = problem.X.columns(np.arange(problem.X.p)) * np.sqrt(problem.weights)[:, None]
    for S in combinations(np.flatnonzero(problem.usable), 3):
        A = Z[:, S]
        assert np.linalg.eigvalsh(A.T @ A - np.diag(d[list(S)]))[0] > 0.0


@pytest.mark.parametrize("size", [1, 2, 3, 7, 9, 20])
def test_a_factor_by_blocks_tells_where_a_matrix_is_positive_definite(small, size):
    rng = np.random.default_rng(size)
    A = rng.standard_normal((30, size))
    A /= np.linalg.norm(A, axis=0)
    least = np.linalg.eigvalsh(A.T @ A)[0]
    G = np.triu(A.T @ A).astype(np.float32, order="F")
    kept = G.copy()
    for t in (0.0, 0.5 * least, least - 1e-4):
        assert splitting._has_factor(G, t)
    for t in (least + 1e-4, least + 0.1, 1.5):
        assert not splitting._has_factor(G, t)
    np.testing.assert_array_equal(G, kept)
    G[0, -1] = np.nan
    assert not splitting._has_factor(G, 0.0)


def test_dependent_columns_have_no_split(small):
    for kind in (3, 10):
        X, y, name = draw(kind)
        assert name == "copy"
        problem = problem_of({"X": X, "y": y, "loss": "squared"})
        assert relaxation.sparse_split(problem, 5) is None


def test_denser_points_of_tangency_are_made_sparser_or_refused(small):
    X, y, _ = draw(0)
    problem = problem_of({"X": X, "y": y, "loss": "squared"})
    dual = relaxation.dual_problem(problem, split=relaxation.sparse_split(problem, 4))
    dual = replace(dual, tangent_size=2)
    J, U = np.arange(X.shape[1]), np.arange(1.0, X.shape[1] + 1.0)[:, None]
    sparse = np.where(np.arange(X.shape[1])[:, None] >= X.shape[1] - 2, U, 0.0)
    points, same = relaxation.points_at(dual, J, U), relaxation.points_at(dual, J, sparse)
    np.testing.assert_allclose(points.tau, same.tau, rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="more than 2 coefficients"):
        relaxation.evaluate(dual, points.a, (J, U))


@pytest.mark.slow
def test_certificates_are_those_of_the_whole_split(small, monkeypatch):
    for seed in range(70):
        X, y, _ = draw(seed)
        path = l0path.fit(X, y, max_k=3, lambda2=1e-4, certify=False)
        for k in range(1, len(path)):
            quick = path.certify(k=k, node_limit=10**6)
            with monkeypatch.context() as plain:
                plain.setattr(splitting, "FEWEST_SPARSE", 10**9)
                whole = path.certify(k=k, node_limit=10**6)
            assert quick.status == whole.status
            assert quick.incumbent == pytest.approx(whole.incumbent, rel=1e-9)
