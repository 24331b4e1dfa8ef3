"""The multinomial loss in contrasts of its classes, against its definition by NumPy."""

import numpy as np
import pytest
from scipy.special import xlogy

from l0path.problem import verbs
from l0path.problem.several import contrasts, indicators, log_losses, probabilities
from l0path.problem.softmax import softmax_by_class, softmax_of

N = 23


def drawn(r, seed=0, baseline=False):
    """(loss, y, predictors of contrasts (q n,), weights)."""
    rng = np.random.default_rng(seed)
    y, u = rng.integers(r, size=N).astype(float), 2.0 * rng.normal(size=(r - 1) * N)
    return softmax_of(r, baseline), y, u, rng.dirichlet(np.ones(N))


def slopes_of(P, y, weights, T):
    """(q n,) slopes of probabilities P (n, r)."""
    return ((weights[:, None] * (P - indicators(y, len(T[0])))) @ T.T).T.ravel()


def divergence(p, P, weights):
    """sum_i w_i KL(p_i || P_i)."""
    return weights @ (xlogy(p, p) - xlogy(p, P)).sum(axis=1)


@pytest.mark.parametrize("r", [2, 3, 4, 7])
@pytest.mark.parametrize("kind", ["centered", "by_class", "baseline"])
def test_values_and_derivatives(r, kind):
    loss, y, u, weights = drawn(r, baseline=kind == "baseline")
    T, q = contrasts(r, kind == "baseline"), r - 1
    if kind == "by_class":  # a predictor for each class
        loss, T, q, u = softmax_by_class(r), np.eye(r), r, np.append(u, u[:N])
    eta = u.reshape(q, N).T @ T
    P, value = probabilities(eta), weights @ log_losses(indicators(y, r), eta)
    slopes, v = np.empty(q * N), np.empty(q * (q + 1) // 2 * N)
    assert verbs.mean_loss(loss, y, u, weights) == pytest.approx(value, rel=1e-13)
    assert verbs.derivatives(loss, y, u, weights, slopes, v) == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(slopes, slopes_of(P, y, weights, T), atol=1e-15)
    pair = 0
    for s in range(q):
        for t in range(s + 1):
            wanted = (P * T[s] * T[t]).sum(axis=1) - (P @ T[s]) * (P @ T[t])
            np.testing.assert_allclose(v[pair * N : pair * N + N], weights * wanted, atol=1e-15)
            pair += 1
    end = u + 0.3 * np.cos(np.arange(u.size))
    along = verbs._asked(verbs.slope_along, loss, y, weights, u, end, 0.25)
    step, at = 1e-5, u + 0.25 * (end - u)
    sides = [verbs.mean_loss(loss, y, at + h * (end - u), weights) for h in (step, -step)]
    assert along == pytest.approx((sides[0] - sides[1]) / (2.0 * step), abs=1e-8)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
def test_predictors_that_are_no_numbers(bad):
    loss, y, u, weights = drawn(3)
    u[:2] = bad
    assert not verbs.mean_loss(loss, y, u, weights) < np.inf


@pytest.mark.parametrize("r", [2, 4])
def test_reach_is_that_of_the_classes(r):
    loss, y, u, _ = drawn(r)
    offset, out = np.linspace(-1.0, 1.0, u.size), np.empty(2)
    verbs._asked(verbs.reach_of_rows, loss, y, u, offset, out)
    e = (u - offset).reshape(r - 1, N).T @ contrasts(r)
    assert out[0] == pytest.approx(np.ptp(e, axis=1).max())
    assert not out[1] > 0.0
    right = (indicators(y, r) @ contrasts(r).T).T.ravel()  # the class of a row has the largest one
    verbs._asked(verbs.reach_of_rows, loss, y, offset + right, offset, out)
    assert out[1] == pytest.approx(1.0)


@pytest.mark.parametrize("r", [2, 3, 5])
@pytest.mark.parametrize("size", [1e-3, 0.3])
@pytest.mark.parametrize("baseline", [False, True])
def test_bounds_are_dual_values(r, size, baseline):
    """Both are at most the value of the dual point with the shares p, to third order."""
    loss, y, u, weights = drawn(r, baseline=baseline)
    T, q = contrasts(r, baseline), r - 1
    rng = np.random.default_rng(5)
    move = size * rng.normal(size=u.size)
    P = probabilities(u.reshape(q, N).T @ T)
    slopes, v = np.empty(q * N), np.empty(q * (q + 1) // 2 * N)
    verbs.derivatives(loss, y, u, weights, slopes, v)
    e = move.reshape(q, N).T @ T
    p = P * (1.0 + e - (P * e).sum(axis=1, keepdims=True))
    assert p.min() > 0.0
    dual = slopes_of(p, y, weights, T)
    wanted = dual @ move - divergence(p, P, weights)
    found = [
        verbs.dual_bound(loss, y, weights, verbs.Tangent(u, slopes, v), u + move),
        verbs._asked(verbs.dual_gain_of_rows, loss, y, weights, u, slopes, u + move, dual),
    ]
    for one in found:
        assert one <= wanted + 1e-14
        assert one == pytest.approx(wanted, abs=size**3)
    kept, moved = dual.copy(), np.empty(q * N)
    gain = verbs._asked(verbs.drawn_back_rows, loss, y, weights, u, slopes, u + move, kept, moved)
    assert gain == pytest.approx(found[1], abs=1e-15) and not moved.any() and (kept == dual).all()


@pytest.mark.parametrize("r", [2, 3])
@pytest.mark.parametrize("baseline", [False, True])
def test_rows_outside_the_domain_are_drawn_back(r, baseline):
    loss, y, u, weights = drawn(r, baseline=baseline)
    T, q = contrasts(r, baseline), r - 1
    P = probabilities(u.reshape(q, N).T @ T)
    slopes, p = slopes_of(P, y, weights, T), P.copy()
    p[4] = np.append(1.2, np.full(q, -0.2 / q))  # no shares
    dual = slopes_of(p, y, weights, T)
    at = u, slopes, u.copy()
    assert verbs._asked(verbs.dual_gain_of_rows, loss, y, weights, *at, dual) == -np.inf
    moved, before = np.empty(q * N), dual.copy()
    gain = verbs._asked(verbs.drawn_back_rows, loss, y, weights, *at, dual, moved)
    assert gain > -np.inf
    np.testing.assert_allclose(dual, before + moved)
    assert np.flatnonzero(np.abs(moved.reshape(q, N)).sum(axis=0)).tolist() == [4]


def test_shares_that_rounding_hides():
    """Next to certain rows take part in a dual point although their smallest shares are rounding;
    a change of such a share that is more is not taken.
    """
    loss, y, _, weights = drawn(3)
    T = contrasts(3)
    u = 80.0 * (indicators(y, 3) @ T.T).T.ravel()
    P = probabilities(u.reshape(2, N).T @ T)
    slopes = slopes_of(P, y, weights, T)
    verb, at = verbs.dual_gain_of_rows, (loss, y, weights, u, slopes, u)
    noise = 1e-16 * weights.min() * np.cos(np.arange(2 * N))
    assert verbs._asked(verb, *at, slopes + noise) == pytest.approx(0.0, abs=1e-12)
    assert verbs._asked(verb, *at, slopes + 1e5 * noise) == -np.inf


def test_small_losses_and_slopes_are_known_to_all_their_digits():
    # a row far on its own side: its loss is the sum of the odds of the other classes
    loss, y, weights = softmax_of(3), np.array([0.0, 2.0]), np.array([0.7, 0.3])
    e = np.array([[32.0, 1.0, -1.5], [-2.0, 0.5, 30.0]])
    u = (e @ np.linalg.pinv(contrasts(3))).T.ravel()  # e up to a constant of each row
    odds = np.exp(np.array([e[0, 1:] - e[0, 0], e[1, :2] - e[1, 2]]))
    slopes, curvatures = np.empty(4), np.empty(6)
    value = verbs.derivatives(loss, y, u, weights, slopes, curvatures)
    np.testing.assert_allclose(value, weights @ np.log1p(odds.sum(axis=1)), rtol=1e-12)
    P = np.zeros((2, 3))
    P[0, 1:], P[1, :2] = odds / (1.0 + odds.sum(axis=1, keepdims=True))
    gap = P.copy()
    gap[[0, 1], [0, 2]] = -P.sum(axis=1)
    theirs = weights * (contrasts(3) @ gap.T)
    np.testing.assert_allclose(slopes.reshape(2, 2), theirs, rtol=1e-12)
