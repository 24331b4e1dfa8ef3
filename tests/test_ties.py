"""Ties between a column and others that say the same (equal, opposite, proportional) go to the
smaller index, whatever the algorithm, and to no column that costs or may do less. Where different
columns do as much for the fit, rounding does not choose among them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import oracles
import pytest
from asked import loss_with

import l0path

ROOT = Path(__file__).resolve().parents[1]


def problem(ratio, loss="squared", n=60):
    """Columns 3 and 4 are `ratio` times columns 1 and 0."""
    a, b, c = np.random.default_rng(0).normal(size=(3, n))
    signal = 2 * b - a + 0.5 * c + 0.3 * np.random.default_rng(1).normal(size=n)
    y = signal if loss == "squared" else np.where(signal + 1.5 * a * c > 0, 1.0, -1.0)
    return np.column_stack([a, b, c, ratio * b, ratio * a]), y


def check(path, X, y, loss, **words):
    twins = {3: 1, 4: 0}
    for s in path._solutions:
        chosen = set(s.support.tolist())
        assert all(twins[j] in chosen for j in chosen & set(twins))
        beta = np.zeros(5)
        beta[s.support] = s.beta
        own = oracles.objective(X, y, beta, s.intercept, loss=loss, **words)
        assert own == pytest.approx(s.objective, rel=1e-9)


@pytest.mark.parametrize("ratio", [-1.0, 3.0, -0.1])
@pytest.mark.parametrize("words", [{}, {"lambda2": 0.01}, {"lambda1": 0.01}])
@pytest.mark.parametrize("algorithm", ["swap", "cd", "pg", "htp", "feature_generating"])
def test_the_smaller_index_is_chosen(algorithm, words, ratio):
    X, y = problem(ratio)
    path = l0path.fit(X, y, algorithm=algorithm, max_k=3, **words)
    check(path, X, y, "squared", **words)


def test_a_dummy_and_its_complement():
    """Opposite but for a constant, which the intercept takes."""
    X, y = problem(1.0)
    X = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0, X[:, 1]]).astype(float)
    for sign in (1.0, -1.0):
        target = X[:, 0] + sign * X[:, 1] + 0.5 * X[:, 2] + 0.1 * y
        path = l0path.fit(X, target)
        for s in path._solutions[1:]:
            assert s.support.tolist() in ([0], [2], [0, 2])
            own = oracles.restricted(X, target, s.support.tolist())[0]
            assert s.objective == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "huber"])
@pytest.mark.parametrize("ratio", [-1.0, 3.0])
def test_with_other_losses(loss, ratio):
    X, y = problem(ratio, loss if loss == "logistic" else "squared")
    more = {"delta": 0.5} if loss == "huber" else {}
    path = l0path.fit(X, y, loss=loss_with(loss, **more), max_k=3, lambda2=1e-3)
    check(path, X, y, loss, lambda2=1e-3, **more)


def test_unstandardized_columns_of_other_length_tie_without_a_penalty_only():
    X, y = problem(3.0)
    path = l0path.fit(X, y, standardize=False, max_k=3)
    check(path, X, y, "squared", standardize=False)
    path = l0path.fit(X, y, standardize=False, max_k=3, lambda2=0.01)
    assert path.support(k=1).tolist() == [3]  # the longer column is shrunk less


def test_bounds_and_factors_are_part_of_what_a_column_says():
    X, y = problem(-1.0)
    bounds = {"lower": [-np.inf, 0, 0, -np.inf, -np.inf], "upper": [np.inf, np.inf, 9, 0, np.inf]}
    path = l0path.fit(X, y, max_k=1, **bounds)  # x3 mirrors x1, bounds included
    assert path.support(k=1).tolist() == [1]
    path = l0path.fit(X, y, max_k=1, lower=[-9, -9, -9, 0, 0])  # x3 has no way down
    assert path.support(k=1).tolist() == [1]
    path = l0path.fit(X, y, max_k=1, upper=[9, 0.0, 9, 9, 9])
    assert path.support(k=1).tolist() == [3]
    factor = np.array([1.0, 2.0, 1.0, 1.0, 1.0])
    path = l0path.fit(X, y, lambda0=[0.05], penalty_factor=factor, algorithm="CDPSI")
    assert 3 in path.support(index=0) and 1 not in path.support(index=0)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_supports_of_a_shrunk_slice_do_not_carry_another_past_full_rank(loss):
    X, y = problem(-2.0, loss)
    for A, rank in ((X, 3), (np.column_stack([X[:, :3], X[:, 0] + X[:, 1]]), 3)):
        path = l0path.fit(A, y, loss=loss, lambda2=[0.2, 0])
        sizes = path.details.groupby("slice").k.max().tolist()
        assert sizes == [A.shape[1], rank]


@pytest.mark.parametrize(
    "ratio, words",
    [(-1.0, {"lambda2": 1e-3}), (1.0, {"lambda2": 1e-3}), (-3.0, {"standardize": False})],
)
def test_a_proof_shows_the_smaller_index(ratio, words):
    """Searches for a proof replace what local search has found."""
    for seed in (10, 11, 12):
        rng, p = np.random.default_rng(seed), 6
        X = rng.standard_normal((12, p))
        for j in range(1, p):
            X[:, j] = 0.95 * X[:, j - 1] + np.sqrt(1 - 0.95**2) * X[:, j]
        y = X @ rng.choice([-1.0, 1.0], p) + 0.3 * rng.standard_normal(12)
        path = l0path.fit(np.hstack([X, ratio * X]), y, algorithm="exact", max_k=2, **words)
        own = {"standardize": words.get("standardize", True), "lambda2": words.get("lambda2", 0.0)}
        for s in path._solutions:
            chosen = set(s.support.tolist())
            assert all(j < p or j - p in chosen for j in chosen)
            beta = np.zeros(2 * p)
            beta[s.support] = s.beta
            Z = np.hstack([X, ratio * X])
            value = oracles.objective(Z, y, beta, s.intercept, loss="squared", **own)
            assert value == pytest.approx(s.objective, rel=1e-9)


# -------------------- different columns that do as much for the fit

LIKE = {
    "squared": {},
    "ridge": {"lambda2": 0.01},
    "lambda1": {"lambda1": 0.01},
    "logistic": {"loss": "logistic", "lambda2": 0.01},
    "groups": {"groups": True},
}


def symmetric(kind, seed):
    """X (n, p), y (n,) on which many exchanges change the objective alike."""
    rng, n, p = np.random.default_rng(seed), 32, 12
    if kind == "signs":
        X = rng.choice([-1.0, 1.0], (n, p))
    elif kind == "orthogonal":
        X = np.ones((1, 1))
        while len(X) < n:
            X = np.block([[X, X], [X, -X]])
        X = X[:, 1 + rng.permutation(n - 1)[:p]]
    else:  # the columns are shifts of each other
        first = rng.integers(-2, 3, n).astype(float)
        X = np.column_stack([np.roll(first, j) for j in range(p)])
    return X, X[:, : p // 2].sum(axis=1) + rng.integers(-2, 3, n)


def supports(X, y, words):
    """Supports of all sizes up to 8."""
    words = dict(words)
    if words.get("loss") == "logistic":
        y = np.where(y > 0, 1.0, -1.0)
    if words.pop("groups", False):
        words["groups"] = np.arange(X.shape[1]) // 2
    path = l0path.fit(X, y, max_k=8, **words)
    return [s.support.tolist() for s in path._solutions], path.details.objective.to_numpy()


@pytest.mark.parametrize("kind", ["signs", "orthogonal", "shifts"])
@pytest.mark.parametrize("like", LIKE)
def test_rounding_does_not_choose_among_exchanges_that_do_the_same(kind, like):
    """Noise of 1e-13 in X and y, a hundred times that of another processor or another BLAS."""
    for seed in range(2):
        X, y = symmetric(kind, seed)
        expected, objective = supports(X, y, LIKE[like])
        for draw in range(2):
            rng = np.random.default_rng(100 * seed + draw)
            A = X * (1.0 + 1e-13 * rng.uniform(-1, 1, X.shape))
            b = y * (1.0 + 1e-13 * rng.uniform(-1, 1, y.shape))
            found, other = supports(A, b, LIKE[like])
            assert found == expected
            np.testing.assert_allclose(other, objective, rtol=1e-10)


INSTRUCTIONS = f"""
import json, sys
sys.path.append({str(ROOT / "tests")!r})
import test_ties
print(json.dumps([
    test_ties.supports(*test_ties.symmetric(kind, seed), like)[0]
    for kind in ("signs", "orthogonal", "shifts")
    for seed in range(8)
    for like in test_ties.LIKE.values()
]))
"""


@pytest.mark.slow
def test_instruction_sets_give_the_same_supports():
    """Kernels compiled for the oldest 64-bit processor of this kind, and for the one at hand."""
    found = []
    for name in ({}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}):
        done = subprocess.run(
            [sys.executable, "-c", INSTRUCTIONS],
            env={**os.environ, "PYTHONPATH": str(ROOT), **name},
            capture_output=True,
            text=True,
            timeout=1200,
        )
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
