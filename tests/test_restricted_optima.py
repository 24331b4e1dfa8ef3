"""Restricted optima of every loss but the squared one: "converged" means that the optimality
conditions hold, and a refit that gives up has a bound for it.

The conditions are checked here with NumPy, and the objective against SciPy's L-BFGS-B.
"""

import warnings

import numpy as np
import pytest
from asked import asked, loss_with
from scipy.optimize import minimize

import l0path
from l0path.problem import losses, verbs
from l0path.problem.problem import pose
from l0path.working_set import newton
from l0path.working_set.model import make_model
from l0path.working_set.refits import refit_in_turn

GAMMA = 0.25
LOSSES = ("logistic", "poisson", "huber", "squared_hinge", "smoothed_hinge")


def value_and_slope(loss, delta, y, eta):
    """Loss and its derivative in eta, by rows: written down anew."""
    m = y * eta
    if loss == "logistic":
        return np.logaddexp(0, -m), -y / (1 + np.exp(np.clip(m, -700, 700)))
    if loss == "poisson":
        e = np.exp(np.clip(eta, -700, 700))
        return e - y * eta, e - y
    if loss == "huber":
        r = eta - y
        a = np.abs(r)
        return np.where(a <= delta, r * r / 2, delta * a - delta**2 / 2), np.clip(r, -delta, delta)
    gap = np.maximum(1 - m, 0)
    if loss == "squared_hinge":
        return gap**2, -2 * y * gap
    inside = gap < GAMMA
    return (
        np.where(inside, gap**2 / (2 * GAMMA), gap - GAMMA / 2),
        -y * np.where(inside, gap / GAMMA, 1.0),
    )


def instance(seed):
    """A random restricted problem: columns with copies, opposites and proportions, a box at 0 or
    elsewhere, shrinkage, weights, offset.
    """
    rng = np.random.default_rng(seed)
    loss = LOSSES[seed % 5]
    n, k = int(rng.choice([8, 15, 40])), int(rng.integers(1, 5))
    X = rng.normal(size=(n, k)) if rng.random() < 0.7 else np.exp(rng.normal(size=(n, k)))
    if k > 1 and rng.random() < 0.3:
        X[:, -1] = X[:, 0] * rng.choice([1.0, -1.0, 3.0])
    eta = X @ rng.normal(size=k) * rng.choice([0.2, 1.0])
    if loss == "huber":
        y = eta + rng.standard_t(2, size=n)
    elif loss == "poisson":
        y = rng.poisson(np.exp(np.clip(eta, -3, 3))).astype(float)
        y[0] = 2.0
    else:
        y = np.where(eta + rng.logistic(size=n) > 0, 1.0, -1.0)
        y[:2] = -1.0, 1.0
    given = {
        "loss": loss,
        "fit_intercept": bool(rng.random() < 0.5),
        "standardize": bool(rng.random() < 0.7),
        "sample_weight": rng.uniform(0.1, 2.0, n) if rng.random() < 0.3 else np.ones(n),
        "offset": rng.normal(size=n) * 0.5 if rng.random() < 0.3 else np.zeros(n),
        "lower": rng.choice([-np.inf, 0.0, -0.3, 0.2], p=[0.4, 0.35, 0.15, 0.1], size=k),
        "upper": rng.choice([np.inf, 0.4, 0.25], p=[0.7, 0.2, 0.1], size=k),
        "lambda1": float(rng.choice([0.0, 0.02], p=[0.7, 0.3])),
        "lambda2": float(rng.choice([0.0, 1e-3, 0.1], p=[0.5, 0.3, 0.2])),
    }
    if rng.random() < 0.3:
        given["lower"], given["upper"] = -given["upper"], -given["lower"]
    if loss == "huber":
        given["delta"] = float(rng.choice([0.05, 0.5, 2.0]))
    if seed % 7 == 0:  # nothing is curved at 0, and a bound lies there
        given |= {"fit_intercept": False, "offset": np.zeros(n), "lambda1": 0.0, "lambda2": 0.0}
        given |= {"lower": np.zeros(k), "upper": np.full(k, np.inf)}
    return X, y, given


def conditions(X, y, given, s):
    """(objective, largest violation of the optimality conditions, unit of it) of a solution with
    all columns, in columns of the scale that the fit counts in; and the least objective that
    L-BFGS-B finds from there and from 0.
    """
    w = given["sample_weight"] / given["sample_weight"].sum()
    center = w @ X if given["fit_intercept"] else np.zeros(X.shape[1])
    scale = np.sqrt(w @ (X - center) ** 2) if given["standardize"] else np.ones(X.shape[1])
    Z, ones = (X - center) / scale, float(given["fit_intercept"])
    lower, upper = given["lower"] * scale, given["upper"] * scale
    l1, l2, delta = given["lambda1"], given["lambda2"], given.get("delta")

    def smooth(x):
        v, g = value_and_slope(given["loss"], delta, y, given["offset"] + ones * x[-1] + Z @ x[:-1])
        b = x[:-1]
        return w @ v + l2 * b @ b, np.append(Z.T @ (w * g) + 2 * l2 * b, ones * (w @ g))

    b = np.zeros(X.shape[1])
    b[s.support] = s.beta * scale[s.support]
    x = np.append(b, s.intercept + s.beta @ center[s.support])
    F, grad = smooth(x)
    up = grad + l1 * np.where(np.append(b, 1.0) >= 0, 1, -1) * np.append(np.ones(b.size), 0)
    down = grad + l1 * np.where(np.append(b, 1.0) > 0, 1, -1) * np.append(np.ones(b.size), 0)
    edge = 1e-12 * (1 + np.abs(x))
    may_rise = x < np.append(upper, np.inf) - edge
    may_fall = x > np.append(lower, -np.inf) + edge
    violation = max(np.max(-up[may_rise], initial=0.0), np.max(down[may_fall], initial=0.0))
    unit = float(np.max(np.abs(np.column_stack([Z, np.ones(y.size)])).T @ (w * (np.abs(y) + 1))))
    # |b| = u + v with u, v >= 0, so that L-BFGS-B sees a smooth function
    k = b.size

    def split(t):
        f, g = smooth(np.append(t[:k] - t[k : 2 * k], t[-1]))
        return f + l1 * t[: 2 * k].sum(), np.concatenate([g[:k] + l1, -g[:k] + l1, g[k:]])

    box = [(max(a, 0.0), max(c, 0.0)) for a, c in zip(lower, upper, strict=True)]
    box += [(max(-c, 0.0), max(-a, 0.0)) for a, c in zip(lower, upper, strict=True)]
    box = [(a, None if np.isinf(c) else c) for a, c in box] + [(None, None)]
    best = np.inf
    for start in (
        np.zeros(2 * k + 1),
        np.concatenate([np.maximum(b, 0), np.maximum(-b, 0), x[-1:]]),
    ):
        found = minimize(
            split, start, jac=True, method="L-BFGS-B", bounds=box,
            options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10},
        )  # fmt: skip
        best = min(best, float(found.fun))
    return F + l1 * np.abs(b).sum(), violation, unit, best


def check(seeds):
    """Converged restricted fits violate nothing and are not beaten; most fits converge."""
    converged = 0
    for seed in seeds:
        X, y, given = instance(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            path = l0path.fit(
                X, y, always_include=range(X.shape[1]), k=0, **asked({**given, "gamma": GAMMA})
            )
        s = path._solutions[-1]
        if s.status != "converged":
            continue
        converged += 1
        F, violation, unit, best = conditions(X, y, given, s)
        assert violation <= 1e-5 * unit, (seed, given["loss"], violation, unit)
        assert best >= F - 1e-6 * max(abs(F), 1.0), (seed, given["loss"], F, best)
    assert converged > 0.75 * len(seeds)


def test_converged_means_that_the_optimality_conditions_hold():
    check(range(60))


@pytest.mark.slow
def test_converged_means_that_the_optimality_conditions_hold_in_2000_fits():
    check(range(60, 2200))


def test_a_bound_at_zero_does_not_hold_a_coefficient_back():
    """Without curvature at the start the quadratic model has no optimum."""
    for loss in ("smoothed_hinge", "huber"):
        for seed in range(12):
            rng = np.random.default_rng(seed)
            x = rng.normal(size=30)
            eta = 2 * x + 0.5 * rng.normal(size=30)
            y = eta if loss == "huber" else np.where(eta > 0, 1, -1)
            sides = {"lower": 0.0} if seed % 2 else {"upper": 0.0}
            sign = 1.0 if seed % 2 else -1.0
            path = l0path.fit(
                sign * x[:, None],
                y,
                loss=loss_with(loss, delta=0.05),
                fit_intercept=False,
                k=1,
                **sides,
            )
            record = loss_with(loss, delta=0.05)
            free = l0path.fit(sign * x[:, None], y, loss=record, fit_intercept=False, k=1)
            s, t = path._solutions[-1], free._solutions[-1]
            assert s.objective == pytest.approx(t.objective, rel=1e-8)
            assert abs(s.beta[0]) > 0.5


@pytest.mark.parametrize("loss", LOSSES)
def test_the_fenchel_gap_is_not_below_its_definition(loss):
    """l*(a) + l(eta) - a eta, l* the sup over a fine grid; exact to third order near the slope."""
    delta = 0.7
    record = losses.make_loss(loss, GAMMA, delta)
    grid = np.linspace(-30, 30, 120001)
    rng = np.random.default_rng(0)
    for _ in range(60):
        y = float(rng.integers(0, 4)) if loss == "poisson" else float(rng.choice([-1, 1]))
        eta = float(rng.normal() * 1.5)
        v, at = (float(t) for t in value_and_slope(loss, delta, y, eta))
        values, _ = value_and_slope(loss, delta, y, grid)
        for step in (0.0, 1e-3, -1e-3, 0.05, -0.05, 0.4, -0.4):
            dual = at + step
            gap = verbs.fenchel_gap(record, y, eta, at, dual)
            truth = float((dual * grid - values).max()) + v - dual * eta
            assert gap >= truth - 1e-9
            if np.isfinite(gap) and abs(step) <= 1e-3:
                assert gap <= truth + 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_a_refit_that_gives_up_could_not_have_come_below_its_target(loss):
    """From the null fit and from one with another column, at targets around the optimum."""
    refused = 0
    for seed in range(LOSSES.index(loss), 60, 5):
        X, y, given = instance(seed)
        given = {**given, "lower": -np.inf, "lambda1": 0.0, "lambda2": 1e-3}
        given["upper"] = np.inf
        lambda1, lambda2 = given.pop("lambda1"), given["lambda2"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            path = l0path.fit(X, y, max_k=1, **asked({**given, "gamma": GAMMA}))
        model = make_model(pose(path._source.data))
        model.grow(np.arange(X.shape[1]))
        support = np.arange(X.shape[1])
        truth = model.refit(support, lambda1, lambda2)
        if truth.flags:
            continue
        for share in (1e-9, 1e-6, 1e-3, 0.1):
            above = truth.value + share * (abs(truth.value) + 1e-3)
            assert model.refit(support, lambda1, lambda2, None, above) is not None
            below = truth.value - share * (abs(truth.value) + 1e-3)
            refused += model.refit(support, lambda1, lambda2, None, below) is None
    assert refused > 5


def test_no_exchange_improves_where_every_one_was_tried():
    """m covers all exchanges of 6 columns: lognormal counts, where first steps overflow."""
    for seed in (293, 7, 11, 23, 41, 58):
        rng = np.random.default_rng(seed)
        n, p = int(rng.choice([30, 60, 150])), 6
        rng.choice(["gauss", "binary", "lognormal", "ar"])
        X = np.exp(rng.normal(size=(n, p)))
        b = rng.normal(size=p) * (rng.random(p) < 0.6)
        eta = (X - X.mean(0)) / X.std(0) @ b * 0.8
        y = rng.poisson(np.exp(np.clip(eta + 0.5, -4, 4))).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            path = l0path.fit(X, y, loss="poisson", max_k=2)
            for s in path._solutions[1:]:
                if s.status != "converged":
                    continue
                for out in s.support:
                    for into in np.setdiff1d(np.arange(p), s.support):
                        J = np.append(s.support[s.support != out], into)
                        other = l0path.fit(
                            X[:, J], y, loss="poisson", always_include=range(J.size), k=0
                        )._solutions[-1]
                        assert other.objective >= s.objective - 1e-7 * abs(s.objective)


def test_a_loss_that_is_straight_for_a_long_way_is_followed_to_its_end():
    """Two rows of Huber's loss 1e7 times as heavy as the others, whose slopes cancel: the others
    decide on the intercept, at 300 times the threshold. The ridge has all of the curvature.
    """
    light = 300 + 100 * np.random.default_rng(0).random(11)
    y, weights = np.append([-1000.0, 1000.0], light), np.append([1e7, 1e7], np.ones(11))
    X = np.append([1.0, -1.0], np.zeros(11))[:, None]
    record = loss_with("huber", delta=1.0)
    path = l0path.fit(X, y, sample_weight=weights, loss=record, max_k=1, lambda2=0.05)
    model, one = make_model(pose(path._source.data)), np.array([0])
    model.grow(one)
    rows, x, end = model.row_data(model.Z), np.zeros((1, 2)), np.full((1, 1), np.inf)
    rules = newton.Shrinkage(0.0, 0.05), newton.Box(-end, end)
    stopping = newton.Stopping(target=np.inf, capped=0, smooth=False, max_iter=40)
    _, status, *_ = refit_in_turn(rows, model.where[one][None], *rules, x, stopping, np.empty(13))
    slopes = value_and_slope("huber", 1.0, light, np.full(11, x[0, 1]))[1]
    assert status == newton.CONVERGED and abs(slopes.sum()) < 1e-6
