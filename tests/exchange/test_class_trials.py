"""Exchanges refuted by chord steps under the multinomial loss, against optima found by SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize

from l0path.exchange.neighborhoods.class_quadratic import ClassTable, fill_table
from l0path.exchange.neighborhoods.class_trials import ClassGoal, first_below, first_open
from l0path.problem.several import contrasts
from l0path.working_set.several.softmax import ClassRows, DescentLimits, refit_classes

N, W, R = 40, 7, 3
PAIRS = np.array([(-1, 1), (-1, 4), (0, -1), (2, -1), (0, 1), (1, 4), (2, 6), (0, 6)])


def optimum(rows, S, lambda2):
    """The least F of columns S, by SciPy in the coordinates of the contrasts."""
    A = rows.Z[S].T
    k, q = len(S), R - 1
    A = np.column_stack([A, np.ones(N)]) if rows.intercept else A

    def F(flat):
        x = flat.reshape(-1, q)
        eta = rows.offset.T + A @ x @ rows.T
        top = eta.max(axis=1, keepdims=True)
        total = np.exp(eta - top).sum(axis=1)
        P = np.exp(eta - top) / total[:, None]
        own = eta[np.arange(N), rows.codes]
        value = rows.weights @ (top[:, 0] + np.log(total) - own) + lambda2 * (x[:k] ** 2).sum()
        g = A.T @ (rows.weights[:, None] * (P - np.eye(R)[rows.codes])) @ rows.T.T
        g[:k] += 2.0 * lambda2 * x[:k]
        return value, g.ravel()

    start = np.zeros(A.shape[1] * q)
    return minimize(F, start, jac=True, method="BFGS", options={"gtol": 1e-9}).fun


def instance(seed, intercept, lambda2):
    """(rows, table of the fit of columns 0, 2, 3). Strong columns, so that probabilities are near 0
    and 1 and quadratics are poor.
    """
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(W, N))
    Z[5] = Z[0] + 2.0 * Z[2]  # a combination of the support
    Z[6] = Z[0] + 0.05 * rng.normal(size=N)  # next to a copy
    eta = 2.0 * np.outer(Z[0], [1.0, -1.0, 0.0]) + np.outer(Z[3] + Z[4], [0.0, 1.5, -1.5])
    codes = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
    weights = rng.uniform(0.5, 1.5, N)
    weights /= weights.sum()
    offset = 0.3 * rng.normal(size=(R, N))
    rows = ClassRows(codes, weights, offset, contrasts(R), True, Z)._replace(intercept=intercept)
    S, q = np.array([0, 2, 3]), R - 1
    K = len(S) + intercept
    x, eta = np.zeros((K, q)), np.empty((R, N))
    refit_classes(rows, S, DescentLimits(lambda2, np.inf, False, 100), x, np.empty_like(x), eta)
    P, D, V = np.empty((R, N)), np.empty((q, N)), np.empty((q * (q + 1) // 2, N))
    table = ClassTable(S, x, np.empty((q * K, q * K)), np.empty(q * K), P, D, V)
    assert fill_table(rows, S, lambda2, x, table) == 0
    return rows, table


@pytest.mark.parametrize(("intercept", "lambda2"), [(True, 0.01), (True, 0.05), (False, 0.02)])
@pytest.mark.parametrize("seed", range(3))
def test_no_exchange_that_reaches_the_target_is_refuted(seed, intercept, lambda2):
    rows, table = instance(seed, intercept, lambda2)
    x, refuted = np.empty((len(table.x) + 1, R - 1)), 0
    for i, j in PAIRS.tolist():
        S = [*np.delete(table.S, i if i >= 0 else []), *([j] if j >= 0 else [])]
        best, one = optimum(rows, S, lambda2), np.array([(i, j)])
        for margin in (1e-7, 0.01, 0.3):
            goal = ClassGoal(lambda2, best * (1.0 + margin), True)
            assert first_open(rows, table, one, goal, x)[0] == 0
        refuted += first_open(rows, table, one, ClassGoal(lambda2, 0.97 * best, True), x)[0] == -1
    assert refuted >= 6  # of 8: bounds that never refute would pass the other check


def test_first_that_is_open():
    """The first exchange within reach is named with its coefficients; one with a combination of the
    support is left to a refit from those of the fit.
    """
    rows, table = instance(0, True, 0.0)
    x = np.empty((len(table.x) + 1, R - 1))
    exchanges = np.array([(0, 1), (-1, 5), (-1, 4)])
    assert first_open(rows, table, exchanges, ClassGoal(0.0, 0.0, True), x) == (1, False)
    np.testing.assert_array_equal(x[:-1], table.x)
    assert not x[-1].any()
    assert first_open(rows, table, exchanges, ClassGoal(0.0, np.inf, True), x) == (0, True)
    assert not x[0].any() and x[-1].all()


def test_predictors_that_overflow():
    """An exchange is left to a refit, and a refit from there ends."""
    rows, table = instance(0, True, 0.01)
    x = np.empty((len(table.x) + 1, R - 1))
    for size in (1e308, np.nan):
        table.x[:] = size
        found = first_open(rows, table, np.array([(-1, 4)]), ClassGoal(0.01, 0.5, True), x)
        assert found == (0, False)
        start, eta = np.full_like(table.x, size), np.empty((R, N))
        limits = DescentLimits(0.01, np.inf, False, 3)
        held = np.empty_like(start)
        assert not refit_classes(rows, table.S, limits, start, held, eta)[1] < np.inf


@pytest.mark.parametrize("intercept", [True, False])
def test_first_whose_refit_is_below(intercept):
    """The first exchange below a target, with its optimum; those before were refuted."""
    rows, table = instance(1, intercept, 0.01)
    W = np.array([2, 4, 5, 7, 1, 9, 6])  # indices of the working columns, ascending in S
    supports = [
        [*np.delete(table.S, i if i >= 0 else []), *([j] if j >= 0 else [])] for i, j in PAIRS
    ]
    values = np.array([optimum(rows, S, 0.01) for S in supports])
    for target in (values.min() * 1.001, np.median(values), values.min() * 0.999):
        rejected, goal = np.zeros(len(PAIRS), bool), ClassGoal(0.01, target, True)
        limits = DescentLimits(0.01, target, False, 100)
        found = first_below(rows, table, W, PAIRS, goal, limits, rejected)
        e, F, S, x = found[0], found[2], found[4], found[5]
        below = np.flatnonzero(values < target)
        assert e == (below[0] if below.size else -1)
        assert not rejected[below].any()
        if e >= 0:
            assert F == pytest.approx(values[e], rel=1e-7)
            assert sorted(supports[e], key=lambda s: W[s]) == S.tolist()
            assert x.shape == (len(S) + intercept, R - 1)
