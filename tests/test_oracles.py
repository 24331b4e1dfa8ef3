"""The oracles against published values, statsmodels, finite differences and each other."""

import math
import time
import warnings

import numpy as np
import oracles
import pytest
from golden_instances import GOLDEN, golden_data
from oracles import LOSSES, best_penalized, best_subsets, objective, restricted


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row[0]}-{row[1]}-{row[3]}")
def test_golden_instance(row):
    loss, intercept, lambda0, lambda1, lambda2, values, support, optimum = row
    X, y = golden_data(loss)
    same = dict(
        loss=loss,
        intercept=bool(intercept),
        lambda1=lambda1,
        lambda2=lambda2,
        standardize=False,
        gamma=0.5,
        delta=1.0,
    )
    best = best_subsets(X, y, 4, **same)
    assert " ".join(f"{best[k][0]:.6f}" for k in range(5)) == values
    value, found = best_penalized(X, y, lambda0, **same)
    assert f"{value:.6f}" == f"{optimum:.6f}" and found == tuple(j - 1 for j in support)


def test_golden_size_winners_of_the_smoothed_hinge_are_not_nested():
    X, y = golden_data("smoothed_hinge")
    same = {"loss": "smoothed_hinge", "lambda2": 0.05, "standardize": False, "gamma": 0.5}
    assert best_subsets(X, y, 2, intercept=False, **same)[2][1] == (2, 4)
    assert [best_subsets(X, y, 3, **same)[k][1] for k in (1, 2, 3)] == [(2,), (2, 5), (0, 2, 4)]


@pytest.mark.parametrize("name", LOSSES)
def test_slope_and_curvature_are_derivatives(name):
    loss, h = LOSSES[name], 1e-5
    eta = np.linspace(-3.0123, 3, 401)
    for y in (-1.0, 1.0) if name in oracles.CLASSES else (0.0, 2.0):
        for gamma, delta in ((0.25, 1.345), (1.0, 0.3)):
            slope = (
                loss.value(y, eta + h, gamma, delta) - loss.value(y, eta - h, gamma, delta)
            ) / (2 * h)
            np.testing.assert_allclose(loss.slope(y, eta, gamma, delta), slope, atol=1e-8)
            difference = (
                loss.slope(y, eta + h, gamma, delta) - loss.slope(y, eta - h, gamma, delta)
            ) / (2 * h)
            smooth = loss.curvature(y, eta - h, gamma, delta) == loss.curvature(
                y, eta + h, gamma, delta
            )
            smooth |= name in ("logistic", "poisson")
            assert smooth.mean() > 0.98
            np.testing.assert_allclose(
                loss.curvature(y, eta, gamma, delta)[smooth], difference[smooth], atol=1e-7
            )
            assert np.all(loss.curvature(y, eta, gamma, delta) <= loss.largest(gamma))


def test_known_loss_values():
    at = {name: float(loss.value(1.0, np.array(-0.5), 0.5, 1.0)) for name, loss in LOSSES.items()}
    expected = {
        "squared": 1.125,
        "logistic": math.log1p(math.exp(0.5)),
        "squared_hinge": 2.25,
        "smoothed_hinge": 1.25,
        "huber": 1.0,
    }
    assert at == pytest.approx(expected | {"poisson": math.exp(-0.5) + 0.5}, rel=1e-15)


def test_objective_spelled_out():
    """(P) written row by row in Python floats, with every option on."""
    rng = np.random.default_rng(3)
    X, y, w, o = (
        rng.normal(size=(9, 3)) * [1, 5, 0.2] + 2,
        rng.normal(size=9),
        rng.uniform(0, 2, 9),
        rng.normal(size=9),
    )
    beta, beta0, f = np.array([0.5, 0.0, -2.0]), 0.7, np.array([1.0, 2.0, 0.5])
    total, expected = math.fsum(w), 0.0
    for i in range(9):
        expected += w[i] * (y[i] - o[i] - beta0 - math.fsum(X[i] * beta)) ** 2 / 2 / total
    for j in (0, 2):
        c = math.fsum(w * X[:, j]) / total
        b = beta[j] * math.sqrt(math.fsum(w * (X[:, j] - c) ** 2) / total)
        expected += 0.1 * f[j] + 0.2 * abs(b) + 0.3 * b * b
    options = dict(weights=w, offset=o, lambda0=0.1, lambda1=0.2, lambda2=0.3, penalty_factor=f)
    assert objective(X, y, beta, beta0, **options) == pytest.approx(expected, rel=1e-13)
    assert objective(X, y, beta, beta0, **options | {"weights": 5 * w}) == pytest.approx(
        expected, rel=1e-13
    )


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_restricted_is_the_unpenalized_fit_of_statsmodels(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import statsmodels.api as sm
    rng = np.random.default_rng(5)
    X, w, o = rng.normal(size=(80, 5)) + 1, rng.uniform(0.5, 2, 80), 0.2 * rng.normal(size=80)
    y = oracles._response(loss, X @ [0.8, 0, -0.5, 0, 0], rng)
    family = {
        "squared": sm.families.Gaussian,
        "logistic": sm.families.Binomial,
        "poisson": sm.families.Poisson,
    }[loss]()
    for columns, intercept in (([0, 2, 3], True), ([1, 2], False)):
        exog = sm.add_constant(X[:, columns]) if intercept else X[:, columns]
        endog = (y + 1) / 2 if loss == "logistic" else y
        reference = (
            sm.GLM(endog, exog, family=family, offset=o, var_weights=w)
            .fit(tol=1e-14, maxiter=100)
            .params
        )
        value, beta, beta0 = restricted(
            X, y, columns, loss=loss, weights=w, offset=o, intercept=intercept
        )
        np.testing.assert_allclose(
            np.append(beta0, beta[columns]) if intercept else beta[columns], reference, rtol=1e-8
        )
        assert value == pytest.approx(
            objective(X, y, beta, beta0, loss=loss, weights=w, offset=o), rel=1e-13
        )
        if loss == "logistic":
            plain = restricted(X, y, columns, loss=loss, intercept=intercept)[0]
            assert plain == pytest.approx(
                -sm.Logit(endog, exog).fit(disp=0, tol=1e-12).llf / 80, rel=1e-12
            )


def kkt_violation(d, beta, beta0, support):
    """Largest failure of stationarity at (beta, beta0) in standardized coefficients, written out
    from (P) with finite differences of the objective.
    """
    options, s = (
        oracles.objective_keywords(d) | {"lambda0": 0.0},
        oracles.scaling(d["X"], weights=d["weights"], standardize=d["standardize"])[1],
    )
    here, worst, h = objective(d["X"], d["y"], beta, beta0, **options), 0.0, 1e-5
    moves = [(np.eye(beta.size)[j] * sign * h / s[j], 0.0) for j in support for sign in (-1, 1)]
    for move, shift in [*moves, *([(0 * beta, h), (0 * beta, -h)] if d["intercept"] else [])]:
        if np.all(beta + move >= d["lower"]) and np.all(beta + move <= d["upper"]):
            worst = max(
                worst, (here - objective(d["X"], d["y"], beta + move, beta0 + shift, **options)) / h
            )
    return worst


@pytest.mark.parametrize("loss", LOSSES)
def test_restricted_is_stationary_feasible_and_its_value_is_the_objective(loss):
    rng = np.random.default_rng(7)
    for d in oracles.instances(25, 11, [loss]):
        support = sorted({*rng.choice(d["X"].shape[1], 3, replace=False).tolist(), *d["forced"]})
        value, beta, beta0 = restricted(d["X"], d["y"], support, **oracles.restricted_keywords(d))
        assert value == pytest.approx(
            objective(
                d["X"], d["y"], beta, beta0, **oracles.objective_keywords(d) | {"lambda0": 0.0}
            ),
            rel=1e-12,
        )
        assert (
            np.all(beta >= d["lower"] - 1e-12)
            and np.all(beta <= d["upper"] + 1e-12)
            and not np.delete(beta, support).any()
        )
        assert kkt_violation(d, beta, beta0, support) < 1e-7


@pytest.mark.parametrize("lambda2", [0.0, 0.3])
def test_newton_agrees_with_the_closed_form(lambda2):
    for d in oracles.instances(10, 13, ["squared"]):
        same = oracles.restricted_keywords(d) | dict(
            lambda1=0.0, lambda2=lambda2, lower=-np.inf, upper=np.inf
        )
        problem = oracles._convex(d["X"], d["y"], [0, 1, 3], **same)[0]
        closed, newton = oracles.solve(problem), oracles.minimize(problem)
        np.testing.assert_allclose(newton, closed, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loss", LOSSES)
def test_hard_designs(loss, count):
    """Equal columns, nearly equal columns, wild scales, narrow kinks of the loss: solved, and the
    value that equal columns give is the same.
    """
    rng = np.random.default_rng(17)
    for d in oracles.instances(count, 19, [loss]):
        same = oracles.restricted_keywords(d) | dict(
            lambda1=0.0, lower=-np.inf, upper=np.inf, gamma=0.02, delta=0.05
        )
        same["lambda2"] = 1e-3 if loss == "logistic" else 0.0
        X = d["X"].copy()
        X[:, 1] = X[:, 0] + 1e-5 * rng.normal(size=len(X))
        X[:, 2] *= 1e4
        assert restricted(X, d["y"], [0, 1, 2], **same)[0] <= restricted(X, d["y"], [0, 2], **same)[
            0
        ] * (1 + 1e-9)
        X[:, 1] = X[:, 0]
        if loss != "logistic":  # a ridge divides a coefficient among equal columns and pays less
            assert restricted(X, d["y"], [0, 1, 2], **same)[0] == pytest.approx(
                restricted(X, d["y"], [0, 2], **same)[0], rel=1e-9
            )


def test_no_minimum_and_wrong_boxes_raise():
    X, y = np.linspace(-1, 1, 20)[:, None] ** [1, 2], np.repeat([-1.0, 1.0], 10)
    with pytest.raises(RuntimeError, match="KKT residual"):
        restricted(X, y, [0], loss="logistic")
    assert oracles.separated(X, y) and restricted(X, y, [0], loss="squared_hinge")[0] < 1e-25
    with pytest.raises(ValueError, match="box without 0"):
        restricted(X, y, [1], lower=[0.5, -1])


def test_a_constant_column_gets_zero_and_a_forced_box_is_kept():
    X = np.column_stack([np.full(30, 0.1), np.random.default_rng(0).normal(size=(30, 2))])
    y = X @ [0, 1.0, -1.0] + 3
    value, beta, beta0 = restricted(X, y, [0, 1, 2])
    assert (
        value < 1e-28 and beta == pytest.approx([0, 1, -1], abs=1e-12) and beta0 == pytest.approx(3)
    )
    assert restricted(X, y, [0, 1], loss="huber", lower=[-1, 2.0, 0], upper=[1, 5, 0])[1][1] == 2.0


SEVERAL = pytest.mark.parametrize("columns", [(4, 5), pytest.param((4, 8), marks=pytest.mark.slow)])


@SEVERAL
def test_penalized_optimum_is_on_the_support_path(columns):
    for d in oracles.instances(12, 23, columns=columns):
        same, p = oracles.restricted_keywords(d), d["X"].shape[1]
        best = best_subsets(d["X"], d["y"], p, forced=d["forced"], **same)
        values = [best[k][0] for k in sorted(best)]
        assert np.all(np.diff(values) <= 1e-10)
        factor = np.ones(p)
        factor[d["forced"]] = 0.0
        value, support = best_penalized(
            d["X"], d["y"], d["lambda0"], penalty_factor=factor, forced=d["forced"], **same
        )
        assert value == pytest.approx(
            min(v + d["lambda0"] * k for k, v in enumerate(values)), rel=1e-10
        )
        assert set(d["forced"]) <= set(support)


@SEVERAL
def test_global_optima_are_locally_optimal_and_bad_supports_are_not(columns):
    found = 0
    for d in oracles.instances(12, 29, columns=columns):
        same = oracles.restricted_keywords(d)
        options = dict(forced=d["forced"], **same)
        best = best_subsets(d["X"], d["y"], 3, **options)
        value, support = best[2]
        _, beta, beta0 = restricted(d["X"], d["y"], support, **same)
        assert oracles.refit_swap_improvement(d["X"], d["y"], support, value, **options) <= 1e-10
        assert oracles.frozen_swap_improvement(d["X"], d["y"], beta, beta0, **options) <= 1e-10
        worst = tuple(sorted([*d["forced"], *oracles._chosen(d["X"], d["forced"], ())[-2:]]))
        value, beta, beta0 = restricted(d["X"], d["y"], worst, **same)
        refit = oracles.refit_swap_improvement(d["X"], d["y"], worst, value, **options)
        frozen = oracles.frozen_swap_improvement(d["X"], d["y"], beta, beta0, **options)
        if (
            np.count_nonzero(beta) == len(worst)
            # else a zero coefficient can be dropped for nothing, which the frozen search does not
            # look
            # at
        ):
            assert frozen <= refit + 1e-10
            found += frozen > 1e-3
    assert found >= 3


@SEVERAL
def test_penalized_optimum_has_no_coordinate_gap(columns):
    for d in oracles.instances(12, 31, columns=columns):
        same, factor = oracles.restricted_keywords(d), d["penalty_factor"]
        value, support = best_penalized(
            d["X"], d["y"], d["lambda0"], penalty_factor=factor, forced=d["forced"], **same
        )
        _, beta, beta0 = restricted(d["X"], d["y"], support, **same)
        gap = oracles.cd_stationary_gap(
            d["X"], d["y"], beta, beta0, d["lambda0"], penalty_factor=factor, **same
        )
        assert 0 <= gap <= 1e-10
        beta[support[-1]] *= 0.5
        worse = objective(d["X"], d["y"], beta, beta0, **oracles.objective_keywords(d))
        gap = oracles.cd_stationary_gap(
            d["X"], d["y"], beta, beta0, d["lambda0"], penalty_factor=factor, **same
        )
        assert gap <= worse - value + 1e-10


def test_coordinate_gap_at_zero_is_the_closed_form():
    """Squared loss, null model, unit columns: the best entry gains (|x_j'y| / n)^2 / (2 + 4
    lambda2) - lambda0.
    """
    X, y = golden_data("squared")
    z = (X - X.mean(axis=0)).T @ y / 12 / X.std(axis=0)
    gap = oracles.cd_stationary_gap(X, y, np.zeros(6), y.mean(), 0.01, lambda2=0.1)
    assert gap == pytest.approx((z**2).max() / 2.4 - 0.01, rel=1e-12)


def test_instances_mix_options_and_are_reproducible():
    first, again = (list(oracles.instances(120, 37)) for _ in range(2))
    assert all(
        np.array_equal(a["X"], b["X"]) and np.array_equal(a["y"], b["y"])
        for a, b in zip(first, again, strict=True)
    )
    assert {d["loss"] for d in first} == set(LOSSES)
    for key in ("weights", "offset"):
        assert 10 < sum(d[key] is not None for d in first) < 110
    for key in ("forced", "lambda1", "lambda2", "standardize", "intercept"):
        assert 10 < sum(bool(d[key]) for d in first) < 110
    assert 10 < sum(np.isfinite(d["lower"]).any() for d in first) < 110
    assert all(25 <= len(d["y"]) <= 60 and 4 <= d["X"].shape[1] <= 8 for d in first)
    assert set(oracles.fit_keywords(first[0])) >= {
        "loss",
        "sample_weight",
        "always_include",
        "fit_intercept",
        "lower",
        "offset",
    }


def test_enumeration_of_a_glm_takes_seconds():
    d = next(oracles.instances(1, 41, ["logistic"]))
    X, y = np.random.default_rng(1).normal(size=(40, 8)), np.where(np.arange(40) % 2, 1.0, -1.0)
    start = time.perf_counter()
    best_penalized(X, y, d["lambda0"], loss="logistic", lambda1=0.01, lambda2=0.01)
    assert time.perf_counter() - start < 10
