"""Refits of the multinomial loss: where a finite optimum is certain, against linear programs."""

import numpy as np
import pytest

import l0path
from l0path.problem.losses import Multinomial
from l0path.problem.recession import face_of, functions_of, inseparable_classes
from l0path.problem.several import contrasts, indicators
from l0path.working_set import limits
from l0path.working_set.linear_algebra import cholesky
from l0path.working_set.several import softmax


def drawn(rng):
    """(rows of a problem of small integers, all its columns): some are separated, some almost."""
    n, k, r = rng.integers(6, 40), rng.integers(1, 4), rng.integers(2, 5)
    Z = rng.integers(-2, 3, size=(k, n)).astype(float)
    if rng.random() < 0.3:
        Z[-1] = rng.random(n) < 0.2
    signal = rng.choice([1.0, 4.0, 50.0]) * rng.normal(size=(r, k)) @ Z
    codes = np.argmax(signal + rng.gumbel(size=(r, n)), axis=0)
    weights = np.full(n, 1.0 / n)
    rows = softmax.ClassRows(codes, weights, np.zeros((r, n)), contrasts(r), True, Z)
    return rows._replace(intercept=bool(rng.random() < 0.8)), np.arange(k)


def is_certain(rows, S, steps):
    """Whether a finite optimum is certain after some Newton steps, and by how much predictors
    differ there.
    """
    (r, n), K, q = rows.offset.shape, S.size + rows.intercept, len(rows.T)
    x, held, eta = np.zeros((K, q)), np.zeros((K, q)), np.empty((r, n))
    limits = softmax.DescentLimits(0.0, np.inf, False, steps)
    softmax.refit_classes(rows, S, limits, x, held, eta)
    work = softmax.work_space(r, q, n, S.size, K)
    g, H = np.empty((q, K)), np.zeros((q * K, q * K))
    softmax.value_at(rows, S, 0.0, x, work, eta)
    softmax.gradient(rows, S, 0.0, x, work, g)
    softmax.hessian(rows, S, 0.0, work, H)
    full = np.tril(H) + np.tril(H, -1).T
    if cholesky(H, q * K):
        return False, 0.0
    gain = g.ravel() @ np.linalg.solve(full, g.ravel())
    return softmax.finite_optimum(rows, S, H, gain), np.ptp(eta, axis=0).max()


def check(seeds):
    """No problem that a linear program calls separated is certain, and weights show the others;
    counts.
    """
    certain, far, separated = 0, 0, 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rows, S = drawn(rng)
        Z = rows.Z
        if np.linalg.matrix_rank(np.vstack([Z, np.ones((int(rows.intercept), Z.shape[1]))])) < (
            len(Z) + rows.intercept
        ):
            continue
        problem = rows.Z, rows.codes, len(rows.T) + 1, rows.intercept
        none, y = np.full(len(Z), np.inf), indicators(rows.codes, len(rows.T) + 1)
        functions = functions_of(Multinomial(), y, Z, rows.intercept, -none, none)
        found = face_of(functions) is not None
        if np.unique(rows.codes).size > len(rows.T):  # an empty class has no finite intercept
            assert inseparable_classes(*problem) == (not found), seed
        sure, distance = is_certain(rows, S, int(rng.choice([3, 10, 20, 60])))
        assert not (sure and found), seed
        certain, separated = certain + sure, separated + found
        far += sure and distance > softmax.FAR_APART
    return certain, far, separated


def test_no_separated_classes_have_a_finite_optimum():
    certain, _, separated = check(range(60))
    assert certain > 10 and separated > 10


@pytest.mark.slow
def test_no_separated_classes_have_a_finite_optimum_in_many_problems():
    certain, far, separated = check(range(1000, 4000))
    assert certain > 400 and far > 5 and separated > 500


def test_predictors_far_apart_need_no_linear_program(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    y = np.argmax(12.0 * X[:, :2] @ rng.normal(size=(2, 3)) + rng.gumbel(size=(80, 3)), axis=1)
    monkeypatch.setattr(limits, "inseparable_classes", None)
    path = l0path.fit(X, y, loss="multinomial", certify=False)
    eta = path.predict(X, k=3, type="link")
    assert np.ptp(eta, axis=1).max() > softmax.FAR_APART
    assert not any(s.separated for s in path._solutions)


@pytest.mark.parametrize("intercept", [True, False])
def test_largest_length_of_a_row(intercept):
    """The exact one is that of NumPy, the other one is not below it."""
    rng = np.random.default_rng(3)
    Z, S = rng.normal(size=(9, 31)), np.array([6, 0, 3, 8, 2])
    rows = softmax.ClassRows(
        np.zeros(31, int), np.ones(31), np.zeros((2, 31)), contrasts(2), intercept, Z
    )
    A = np.vstack([Z[S], np.ones((int(intercept), 31))])
    C = rng.normal(size=(len(A), len(A)))
    B = np.zeros((2 * len(A), 2 * len(A)))  # the block of a larger array
    B[: len(A), : len(A)] = C @ C.T
    wanted = np.einsum("ai,ab,bi->i", A, C @ C.T, A).max()
    assert softmax._largest_length(rows, S, B, True) == pytest.approx(wanted)
    assert softmax._largest_length(rows, S, B, False) >= wanted
