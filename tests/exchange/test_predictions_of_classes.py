"""What the quadratic of a multinomial fit predicts for exchanges, against NumPy."""

import numpy as np
import pytest
from class_samples import class_model

from l0path.exchange.local_search import LocalSearch
from l0path.exchange.neighborhoods.refit import RefitNeighborhood
from l0path.exchange.trials import Exchanges
from l0path.problem.problem import Fit
from l0path.problem.several import contrasts

N, W, R = 30, 6, 3


def quadratic(model, S, x, lambda2):
    """(gradient, Hessian) of F at x, in the order contrast, column, of columns S and intercepts."""
    A, T, p = model.Z[S].T, model.T, model.problem
    if p.intercept:
        A = np.column_stack([A, np.ones(N)])
    eta = A @ x @ T
    P = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    ridge = 2.0 * lambda2 * np.diag([1.0] * len(S) + [0.0] * p.intercept)
    g = A.T @ (p.weights[:, None] * (P - p.y)) @ T.T + ridge @ x
    H = np.kron(np.eye(R - 1), ridge)
    for i in range(N):
        H += p.weights[i] * np.kron(
            T @ (np.diag(P[i]) - np.outer(P[i], P[i])) @ T.T, np.outer(A[i], A[i])
        )
    return g.T.ravel(), H


def least(g, H, free, fixed, value):
    """The least of g'd + d'H d / 2 where d[fixed] = value and only `free` move too."""
    d = np.zeros(len(g))
    d[fixed] = value
    d[free] = -np.linalg.solve(H[np.ix_(free, free)], g[free] + H[np.ix_(free, fixed)] @ d[fixed])
    return g @ d + 0.5 * d @ H @ d


@pytest.mark.parametrize(("intercept", "lambda2"), [(True, 0.0), (True, 0.02), (False, 0.02)])
def test_exchanges_of_the_quadratic(intercept, lambda2):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(W, N))
    Z[5] = Z[0] + 2.0 * Z[2]  # a combination of the support
    weights = rng.uniform(0.5, 1.5, N)
    codes = rng.integers(R, size=N)
    model = class_model(Z, codes, weights, np.zeros((N, R)), intercept)
    S, q = np.array([0, 2, 3]), R - 1
    K = len(S) + intercept
    x = rng.normal(size=(K, q)) / 2
    b0 = x[3] @ model.T if intercept else np.zeros(R)
    fit = Fit(S, x[:3], b0, 0.0)
    found = RefitNeighborhood(model, 0.0, lambda2, 1.0, LocalSearch())
    pairs = np.array([(-1, -1), (1, -1), (-1, 1), (-1, 4), (0, 4), (2, 1), (1, 4), (-1, 5), (0, 5)])
    changes = found._predicted(fit, Exchanges(*pairs.T.copy()))
    one = Exchanges(np.array([1]), np.array([-1]))
    assert changes[0] == 0.0 and changes[1] == found._predicted(fit, one)[0]
    base = least(*quadratic(model, S, x, lambda2), np.arange(q * K), [], 0.0)
    for (i, j), change in zip(pairs.tolist(), changes.tolist(), strict=True):
        if (i, j) == (-1, 5) and lambda2 == 0.0:
            assert change == np.inf
            continue
        columns = [*S, j] if j >= 0 else [*S]
        start = np.vstack([x[: len(S)], np.zeros((int(j >= 0), q)), x[len(S) :]])
        g, H = quadratic(model, np.array(columns), start, lambda2)
        every, size = np.arange(len(g)), len(start)
        fixed = [s * size + i for s in range(q)] if i >= 0 else []
        value = -start[i] if i >= 0 else 0.0
        expected = least(g, H, np.setdiff1d(every, fixed), fixed, value) - base
        np.testing.assert_allclose(change, expected, rtol=1e-9, atol=1e-12)


def test_a_quadratic_of_which_next_to_nothing_is_left_is_not_clear():
    codes = np.arange(N) % R
    model = class_model(contrasts(R)[:, codes], codes, np.ones(N), np.zeros((N, R)), False)
    for margin, clear in ((1.0, True), (600.0, True), (715.0, False)):
        fit = Fit(np.arange(2), margin * np.eye(2), np.zeros(R), 0.0)
        table = model.local_table(fit, 0.0, np.empty(0, np.int64))
        assert (table is not None) == clear
