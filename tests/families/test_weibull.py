"""Weibull survival with a free shape, loss="weibull": enumeration with another solver, derivatives,
invariances, R's survreg, separation, results, and what is refused.
"""

import shutil
import subprocess
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.optimize import minimize

import l0path
from l0path.errors import SeparationWarning
from l0path.problem import verbs
from l0path.problem.coupled.weibull import best_shape, weibull_of
from l0path.problem.verbs import bound_of_rows, coupling_of_rows, derivatives_of_rows

HIGH = l0path.solvers.LocalSearch(effort="high")


def drawn(seed, n=60, p=5, shape=1.6, censored=2.0):
    """X (n, p), times (n,) with ties, events (n,)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    eta = X[:, 0] - 0.7 * X[:, 1]
    time = (rng.exponential(size=n) * np.exp(1.0 - eta)) ** (1.0 / shape)
    end = rng.exponential(censored * np.median(time), size=n)
    event = (time <= end).astype(float)
    return X, np.ceil(20 * np.minimum(time, end)) / 20, event


def negative_log(A, time, event, w, offset, x):
    """(minus the mean log-likelihood, gradient) in x = (intercept, coefficients, log shape)."""
    z, shape = np.log(time), np.exp(x[-1])
    a = A @ x[:-1] + offset + shape * z
    e = np.exp(np.minimum(a, 300.0))
    value = w @ (e - event * (a + x[-1] - z))
    slope = w * (e - event)
    return value, np.append(A.T @ slope, slope @ (shape * z) - w @ event)


def optimum(X, time, event, support, *, weights=None, offset=None, lambda1=0.0, lambda2=0.0,
            low=-np.inf, high=np.inf):  # fmt: skip
    """The least objective on a support, by L-BFGS-B and trust regions, with standardized columns;
    a coefficient is the difference of two parts.
    """
    w = np.ones(len(X)) if weights is None else weights
    w, offset, Z = w / w.sum(), np.zeros(len(X)) if offset is None else offset, X[:, list(support)]
    Z = Z - w @ Z
    scale = np.sqrt(w @ Z**2)
    Z, k = Z / np.where(scale > 1e-9, scale, 1.0), Z.shape[1]
    A = np.column_stack([np.ones(len(X)), Z, -Z])

    def value(x):
        F, g = negative_log(A, time, event, w, offset, x)
        b = x[1 : k + 1] - x[k + 1 : -1]
        F += lambda1 * x[1:-1].sum() + lambda2 * b @ b
        g[1:-1] += lambda1 + 2 * lambda2 * np.concatenate([b, -b])
        return F, g

    box = [(None, None), *((0, h) for h in scale * high), *((0, h) for h in -scale * low)]
    box = [(a, None if b is None or not np.isfinite(b) else b) for a, b in box] + [(-5, 8)]
    start = np.zeros(2 * k + 2)
    start[0] = np.log(event.mean() / time.mean())
    options = {"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 50}
    for _ in range(5):
        start = minimize(value, start, jac=True, method="L-BFGS-B", bounds=box, options=options).x
    return value(start)[0]


def check_every_size(seed, p, max_k):
    X, time, event = drawn(seed, p=p)
    rng, same, given, forced = np.random.default_rng(1000 + seed), {}, {}, ()
    if seed % 2:
        same["weights"] = rng.integers(1, 4, len(X)).astype(float)
        given["freq_weight" if seed % 4 == 1 else "sample_weight"] = same["weights"]
    if seed % 3 == 1:
        same["offset"] = given["offset"] = 0.5 * rng.standard_normal(len(X))
    if seed % 3 == 2:
        forced = given["always_include"] = (1,)
    if seed % 5 == 1:
        same["lambda2"] = given["lambda2"] = 0.02
    if seed % 5 == 2:
        same["low"], same["high"] = given["lower"], given["upper"] = -0.3, 0.4
    if seed % 5 == 3:
        same["lambda1"] = given["lambda1"] = 0.01
    if seed % 6 == 0:  # a copy, and a constant
        X[:, -1], X[:, -2] = 2.0 * X[:, 0], 3.0
    table = scipy.sparse.csc_array(X) if seed % 4 == 2 else X
    y = np.column_stack([time, event])
    path = l0path.fit(table, y, loss="weibull", max_k=max_k, algorithm=HIGH, **given)
    assert len(path) > 1
    free = [j for j in range(p) if j not in forced and np.ptp(X[:, j])]
    for s in path._solutions:
        supports = [sorted({*S, *forced}) for S in combinations(free, s.k)]
        best = min(optimum(X, time, event, S, **same) for S in supports)
        assert s.status == "converged" and s.objective == pytest.approx(best, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_every_size_is_the_enumerated_best(seed):
    check_every_size(seed, p=5, max_k=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 70))
def test_every_size_is_the_enumerated_best_of_more_columns(seed):
    check_every_size(seed, p=8, max_k=3)


# -------------------- derivatives


def of_rows(seed):
    X, time, event = drawn(seed, n=25)
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.5, 2.0, 25)
    return weibull_of(time, event), event, rng.standard_normal(25), w / w.sum(), X, time


def best_value(eta, time, event, w):
    """The least value over the intercept and the shape, by a general solver."""
    found = minimize(
        lambda x: negative_log(np.ones((eta.size, 1)), time, event, w, eta, x),
        [0.0, 0.0],
        jac=True,
        method="BFGS",
        options={"gtol": 1e-12},
    )
    return found.fun, found.x


@pytest.mark.parametrize("seed", range(6))
def test_value_constant_and_shape_are_the_best_ones(seed):
    loss, event, eta, w, _, time = of_rows(seed)
    value, (level, log_shape) = best_value(eta, time, event, w)
    assert verbs.mean_loss(loss, event, eta, w) == pytest.approx(value, abs=1e-12)
    best = best_shape(loss, event, eta, w)
    assert (best.level, best.shape) == pytest.approx((level, np.exp(log_shape)), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_are_differences(seed):
    loss, event, eta, w, _, _ = of_rows(seed)
    n, h = eta.size, 1e-5
    slopes, v, P = np.empty(n), np.empty(n), np.empty((n, 2))
    verbs.derivatives(loss, event, eta, w, slopes, v)
    P = verbs.coupled_columns(loss, event, eta, w, np.eye(n))
    there, H = np.empty((2, n)), np.empty((n, n))
    for i in range(n):
        for side, one in zip((h, -h), there, strict=True):
            verbs.derivatives(loss, event, eta + side * np.eye(n)[i], w, one, np.empty(n))
        H[i] = (there[0] - there[1]) / (2 * h)
    values = [
        (verbs.mean_loss(loss, event, eta + h * e, w) - verbs.mean_loss(loss, event, eta - h * e, w))
        / (2 * h)
        for e in np.eye(n)
    ]
    np.testing.assert_allclose(slopes, values, atol=1e-9)
    np.testing.assert_allclose(np.diag(v) - P @ P.T, H, atol=1e-8)
    assert abs(slopes.sum()) < 1e-14
    assert np.linalg.eigvalsh(np.diag(v) - P @ P.T).min() > -1e-15


@pytest.mark.parametrize("seed", range(20))
def test_bounds_lie_below_the_optimum_they_are_about(seed):
    loss, event, eta, w, X, time = of_rows(seed)
    n, Z = eta.size, X[:, :2] - w @ X[:, :2]
    slopes, v = np.empty(n), np.empty(n)
    value = verbs.derivatives(loss, event, eta, w, slopes, v)
    P = verbs.coupled_columns(loss, event, eta, w, np.ascontiguousarray(Z.T))
    step = np.linalg.solve((Z.T * v) @ Z - P @ P.T, -Z.T @ slopes)
    bound = verbs.dual_bound(loss, event, w, verbs.Tangent(eta, slopes, v), eta + Z @ step)
    A = np.column_stack([np.ones(n), Z])
    found = minimize(
        lambda x: negative_log(A, time, event, w, eta, x), np.zeros(4), jac=True, method="BFGS",
        options={"gtol": 1e-11},
    )  # fmt: skip
    assert bound <= found.fun - value + 1e-12
    if np.abs(Z @ step).max() < 0.5:
        assert bound > -np.inf


@pytest.mark.parametrize("far", [1e-8, 1e-3, 1.0, 30.0, 1e3])
def test_shapes_are_found_from_far_predictors(far):
    rng = np.random.default_rng(3)
    _, time, event = drawn(0, n=200)
    loss, w = weibull_of(time, event), np.full(200, 1 / 200)
    for eta in (far * rng.standard_normal(200), -far * np.log(time), far * np.log(time)):
        best = best_shape(loss, event, eta, w)
        z, a = np.log(time), best.level + best.shape * np.log(time) + eta
        e = np.exp(a)
        size = (e + event) @ np.abs(z) + event.sum() / best.shape
        assert abs((e - event) @ z - event.sum() / best.shape) <= 1e-8 * size
        assert abs((e - event).sum()) <= 1e-8 * event.sum()


# -------------------- invariances


def test_the_unit_of_time_changes_the_intercept_and_the_jacobian_only():
    X, time, event = drawn(2)
    path = l0path.fit(X, np.column_stack([time, event]), loss="weibull", max_k=3)
    for unit in (1e-290, 1e-5, 365.25, 1e290):
        other = l0path.fit(X, np.column_stack([unit * time, event]), loss="weibull", max_k=3)
        for a, b in zip(path._solutions, other._solutions, strict=True):
            assert a.support.tolist() == b.support.tolist()
            np.testing.assert_allclose(a.beta, b.beta, rtol=1e-6)
            shape = a.baseline.shape
            assert b.baseline.shape == pytest.approx(shape, rel=1e-6)
            assert b.intercept == pytest.approx(a.intercept - shape * np.log(unit), rel=1e-6)
            assert b.loss == pytest.approx(a.loss + event.mean() * np.log(unit), abs=1e-9)


def test_orders_and_scales_of_columns_and_duplicated_rows_change_nothing():
    X, time, event = drawn(3)
    y = np.column_stack([time, event])
    path = l0path.fit(X, y, loss="weibull", max_k=3)
    order, scale = np.random.default_rng(0).permutation(5), 10.0 ** np.arange(-2, 3)
    other = l0path.fit((1e3 + X * scale)[:, order], y, loss="weibull", max_k=3)
    counts = np.random.default_rng(1).integers(1, 4, len(X))
    twice = l0path.fit(np.repeat(X, counts, 0), np.repeat(y, counts, 0), loss="weibull", max_k=3)
    counted = l0path.fit(X, y, loss="weibull", max_k=3, freq_weight=counts)
    for k in range(4):
        assert sorted(order[other.support(k=k)]) == path.support(k=k).tolist()
        assert other._solutions[k].loss == pytest.approx(path._solutions[k].loss, rel=1e-9)
        np.testing.assert_allclose(counted.coef(k=k), twice.coef(k=k), rtol=1e-6)
    a, b = counted.score_table(), twice.score_table()
    np.testing.assert_allclose(a[["loglik", "aic", "bic"]], b[["loglik", "aic", "bic"]], rtol=1e-9)


def test_every_form_of_the_response_is_the_same():
    X, time, event = drawn(4)
    table = pd.DataFrame({"time": time, "event": event == 1})
    record = np.zeros(60, dtype=[("event", bool), ("time", float)])
    record["event"], record["time"] = event == 1, time
    frame = pd.DataFrame(X, columns=list("abcde")).assign(months=time, died=event)
    paths = [
        l0path.fit(X, y, loss="weibull", max_k=2)
        for y in (np.column_stack([time, event]), table, table[["event", "time"]], record)
    ]
    paths.append(l0path.fit("Surv(months, died) ~ .", frame, loss="weibull", max_k=2))
    for other in paths[1:]:
        np.testing.assert_array_equal(other.coef(k=2), paths[0].coef(k=2))
