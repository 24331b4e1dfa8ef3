"""Exchanges refuted by chord steps under the multinomial loss, against optima found by SciPy."""

import numpy as np
import pytest
from class_samples import class_model
from scipy.optimize import minimize

from l0path.exchange.decisions import by_chord_steps, by_refits
from l0path.exchange.local_search import LocalSearch
from l0path.exchange.neighborhoods.refit import RefitNeighborhood
from l0path.exchange.trials import Exchanges, Goal, tried

N, W, R = 40, 7, 3
PAIRS = np.array([(-1, 1), (-1, 4), (0, -1), (2, -1), (0, 1), (1, 4), (2, 6), (0, 6)])


def optimum(model, S, lambda2):
    """The least F of columns S, by SciPy in the coordinates of the contrasts."""
    A, p = model.Z[S].T, model.problem
    k, q = len(S), R - 1
    A = np.column_stack([A, np.ones(N)]) if p.intercept else A

    def F(flat):
        x = flat.reshape(-1, q)
        eta = p.offset + A @ x @ model.T
        top = eta.max(axis=1, keepdims=True)
        total = np.exp(eta - top).sum(axis=1)
        P = np.exp(eta - top) / total[:, None]
        own = eta[p.y > 0.0]
        value = p.weights @ (top[:, 0] + np.log(total) - own) + lambda2 * (x[:k] ** 2).sum()
        g = A.T @ (p.weights[:, None] * (P - p.y)) @ model.T.T
        g[:k] += 2.0 * lambda2 * x[:k]
        return value, g.ravel()

    start = np.zeros(A.shape[1] * q)
    return minimize(F, start, jac=True, method="BFGS", options={"gtol": 1e-9}).fun


def instance(seed, intercept, lambda2, size=1.0):
    """(model, table of the fit of columns 0, 2, 3). Strong columns, so that probabilities are
    near 0 and 1 and quadratics are poor.
    """
    rng = np.random.default_rng(seed)
    Z = size * rng.normal(size=(W, N))
    Z[5] = Z[0] + 2.0 * Z[2]  # a combination of the support
    Z[6] = Z[0] + 0.05 * rng.normal(size=N)  # next to a copy
    eta = 2.0 * np.outer(Z[0], [1.0, -1.0, 0.0]) + np.outer(Z[3] + Z[4], [0.0, 1.5, -1.5])
    codes = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
    weights = rng.uniform(0.5, 1.5, N)
    model = class_model(Z, codes, weights, 0.3 * rng.normal(size=(N, R)), intercept)
    fit = model.refit(np.array([0, 2, 3]), 0.0, lambda2)
    return model, model.local_table(fit, lambda2, np.arange(W))


def first_open(model, table, pairs, target):
    """What trials of the pairs (out, into) find, where bounds alone refute."""
    exchanges = Exchanges(*np.array(pairs).T.copy())
    goal = Goal(target, True, True, closing=1)
    return tried(model.row_data(model.Z), table, exchanges, goal)


@pytest.mark.parametrize(("intercept", "lambda2"), [(True, 0.01), (True, 0.05), (False, 0.02)])
@pytest.mark.parametrize("seed", range(3))
def test_no_exchange_that_reaches_the_target_is_refuted(seed, intercept, lambda2):
    model, table = instance(seed, intercept, lambda2)
    refuted = 0
    for i, j in PAIRS.tolist():
        S = [*np.delete(table.S, i if i >= 0 else []), *([j] if j >= 0 else [])]
        best = optimum(model, S, lambda2)
        for margin in (1e-7, 0.01, 0.3):
            found = first_open(model, table, [(i, j)], best * (1.0 + margin))
            assert found.e == 0 and found.F >= best * (1.0 - 1e-7)
        refuted += first_open(model, table, [(i, j)], 0.97 * best).e == -1
    assert refuted >= 6  # of 8: bounds that never refute would pass the other check


@pytest.mark.parametrize(("intercept", "lambda2"), [(True, 0.01), (False, 0.02)])
def test_steps_end_at_the_optimum(intercept, lambda2):
    model, table = instance(2, intercept, lambda2, 0.3)
    exchanges = Exchanges(*PAIRS.T.copy())
    rows = model.row_data(model.Z)
    best = [
        optimum(model, [*np.delete(table.S, [i] * (i >= 0)), *[j] * (j >= 0)], lambda2)
        for i, j in PAIRS.tolist()
    ]
    for e, least in enumerate(best):
        goal = Goal(np.inf, True, True, closing=40)
        found = tried(rows, table, exchanges.of([e]), goal)
        assert found.F == pytest.approx(least, rel=1e-9)
        x = found.x[:-2].reshape(2, -1).T  # coefficients counted from 0, and the intercepts
        columns = model.Z[[*table.S, max(PAIRS[e, 1], 0)]].T
        eta = columns @ np.vstack([x[:3], found.x[-2:]]) + (x[3] if intercept else 0.0)
        assert np.abs(eta).max() == pytest.approx(found.reach)
    lowest = tried(rows, table, exchanges, Goal(np.inf, False, False, closing=40))
    assert lowest.e == np.argmin(best) and lowest.F == pytest.approx(min(best), rel=1e-9)


def test_first_that_is_open():
    """The first exchange within reach is named with its coefficients; one with a combination of the
    support is left to a refit from those of the fit.
    """
    model, table = instance(1, True, 0.0)
    pairs = [(0, 1), (-1, 5), (-1, 4)]
    found = first_open(model, table, pairs, 0.0)
    assert found.e == 1 and not found.F < np.inf
    found = first_open(model, table, pairs, np.inf)
    x = found.x[:-2].reshape(2, -1)
    assert found.e == 0 and not x[:, 0].any() and x[:, 1:].all() and found.x[-2:].all()


def test_predictors_that_overflow():
    """An exchange is left to a refit, and a refit from there begins anew."""
    model, table = instance(0, True, 0.01)
    S = np.array([0, 2, 3])
    best = model.refit(S, 0.0, 0.01)
    for size in (1e308, np.nan):
        table.x[:] = size
        found = first_open(model, table, [(-1, 4)], 0.5)
        assert found.e == 0 and not (found.F < np.inf and found.reach < np.inf)
        with np.errstate(all="ignore"):
            again = model.refit(S, 0.0, 0.01, (np.full((3, R - 1), size), np.full(R, size)))
        assert again.value == best.value and again.flags == ()


@pytest.mark.parametrize("intercept", [True, False])
def test_refits_are_optima_and_are_rejected_above_the_target(intercept):
    model = instance(1, intercept, 0.01)[0]
    for S in ([0, 2, 3], [1, 4], [0, 3, 4, 6]):
        best = optimum(model, S, 0.01)
        fit = model.refit(np.array(S), 0.0, 0.01)
        assert fit.value == pytest.approx(best, rel=1e-8)
        assert model.refit(np.array(S), 0.0, 0.01, target=0.99 * best) is None
        below = model.refit(np.array(S), 0.0, 0.01, target=1.01 * best)
        assert below.value == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("decide", [by_refits, by_chord_steps])
def test_what_is_known_of_supports_is_not_asked_again(decide):
    """Refits of the first exchange below a target, and of the lowest, once each."""
    model = instance(1, True, 0.01)[0]
    fit = model.refit(np.array([0, 2, 3]), 0.0, 0.01)
    pairs = [(out, into) for out in (0, 2, 3) for into in (1, 4, 6)]
    steps = RefitNeighborhood(model, 0.0, 0.01, 1.0, LocalSearch(), decide)
    best = steps._lowest(fit, pairs)
    values = [
        model.refit(np.sort([*fit.support[fit.support != out], into]), 0.0, 0.01).value
        for out, into in pairs
    ]
    assert best.value == pytest.approx(min(values), rel=1e-9)
    refits, higher = model.refits, max(values) * 1.001
    assert steps._lowest(fit, pairs).key == best.key
    assert steps._first_below(fit, [pairs[int(np.argmin(values))]], higher).key == best.key
    assert steps._first_below(fit, pairs, min(values) * 0.999) is None
    assert steps.refit(best.support, fit) is best and model.refits == refits
    # a support that was refuted is asked again once more would do
    assert steps._first_below(fit, [pairs[int(np.argmax(values))]], higher).value < higher
