"""Losses of the user's own that fall for ever along a direction: what is said of their fits, and
that nothing is said of fits with an optimum.
"""

import math
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from own_rows import PoissonOwn

import l0path
from l0path.engine.request import request
from l0path.errors import SeparationWarning
from l0path.problem.families.endless import falls_for_ever
from l0path.problem.problem import pose
from l0path.problem.recession import face_of, functions_of
from l0path.problem.traits import EMPTIES, NO_RECESSION, SEPARATES
from l0path.working_set.model import make_model


@l0path.own_loss("logistic_by_hand")
class Logistic(NamedTuple):
    def value(self, y, eta):
        m = y * eta
        return math.log1p(math.exp(-abs(m))) + max(-m, 0.0)

    def slope(self, y, eta):
        e = math.exp(-abs(eta))
        return -y * (e if y * eta > 0 else 1.0) / (1.0 + e)

    def curvature(self, y, eta):
        e = math.exp(-abs(eta))
        return e / (1.0 + e) ** 2


@l0path.own_loss("exponential")
class Exponential(NamedTuple):
    def value(self, y, eta):
        return math.exp(-y * eta)

    def slope(self, y, eta):
        return -y * math.exp(-y * eta)

    def curvature(self, y, eta):
        return y * y * math.exp(-y * eta)


@l0path.own_loss("squared_hinge_by_hand", jumps=True, largest_curvature=2.0)
class SquaredHinge(NamedTuple):
    """Its optimum is attained, but not unique, where it separates."""

    def value(self, y, eta):
        return max(1.0 - y * eta, 0.0) ** 2

    def slope(self, y, eta):
        return -2.0 * y * max(1.0 - y * eta, 0.0)

    def curvature(self, y, eta):
        return 2.0 if y * eta < 1.0 else 0.0


@l0path.own_loss("breslow_by_hand", intercept=False)
class Breslow(NamedTuple):
    """Cox's loss, y = times of events, and minus those of censored rows."""

    def value(self, y, eta, weights):
        total = 0.0
        for i in range(y.size):
            if y[i] > 0:
                risk = 0.0
                for j in range(y.size):
                    if abs(y[j]) >= y[i]:
                        risk += weights[j] * math.exp(eta[j] - eta[i])
                total += weights[i] * math.log(risk)
        return total

    def slope(self, y, eta, weights, out):
        out[:] = 0.0
        for i in range(y.size):
            if y[i] > 0:
                risk = 0.0
                for j in range(y.size):
                    if abs(y[j]) >= y[i]:
                        risk += weights[j] * math.exp(eta[j] - eta[i])
                out[i] -= weights[i]
                for j in range(y.size):
                    if abs(y[j]) >= y[i]:
                        out[j] += weights[i] * weights[j] * math.exp(eta[j] - eta[i]) / risk

    def curvature(self, y, eta, weights, z, out):
        out[:] = 0.0
        for i in range(y.size):
            if y[i] > 0:
                risk, mean = 0.0, 0.0
                for j in range(y.size):
                    if abs(y[j]) >= y[i]:
                        u = weights[j] * math.exp(eta[j] - eta[i])
                        risk += u
                        mean += u * z[j]
                for j in range(y.size):
                    if abs(y[j]) >= y[i]:
                        u = weights[j] * math.exp(eta[j] - eta[i])
                        out[j] += weights[i] * u * (z[j] - mean / risk) / risk


def instance(seed, kind, n=50):
    """(X, y) with a response that depends on x0, and columns of all sorts: with seed % 4 = 1 copies
    and a constant, 2 nearly dependent columns, 3 rare marks, which often separate rows.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    if seed % 4 == 1:
        X[:, 1], X[:, 2] = X[:, 0], 1.0
    if seed % 4 == 2:
        X[:, 1] = X[:, 0] + 1e-5 * rng.standard_normal(n)
    if seed % 4 == 3:
        X[:, 2:] = rng.uniform(size=(n, 3)) < 0.08
    f = rng.choice([0.3, 1.0, 3.0]) * X[:, 0]
    if kind == "counts":
        return X, rng.poisson(np.exp(np.minimum(f, 4.0) + rng.choice([-1.0, 3.0]))).astype(float)
    return X, np.where(f + rng.logistic(size=n) > 0, 1.0, -1.0)


SLOW = pytest.mark.slow  # kernels of new losses
PAIRS = [
    (Logistic(), "logistic", "classes", SEPARATES),
    pytest.param(PoissonOwn(), "poisson", "counts", EMPTIES, marks=SLOW),
    pytest.param(SquaredHinge(), "squared_hinge", "classes", NO_RECESSION, marks=SLOW),
]


@pytest.mark.parametrize("own, built_in, kind, recession", PAIRS)
def test_a_fit_falls_for_ever_where_a_linear_program_says_so(own, built_in, kind, recession):
    seen = set()
    for seed in range(4) if built_in == "logistic" else range(20):
        X, y = instance(seed, kind)
        problem = pose(request(X, y, loss=built_in).data)
        model, by_hand = make_model(problem, 1000), replace(problem, loss=own)
        model.grow(np.arange(5))
        for support in (np.array([0]), np.array([0, 2]), np.array([0, 2, 3, 4])):
            support = support[problem.usable[support]]
            Z, none = model.Z[model.where[support]], np.full(support.size, np.inf)
            expected = recession != NO_RECESSION and (
                face_of(functions_of(problem.loss, problem.y, Z, problem.intercept, -none, none))
                is not None
            )
            fit = model.refit(support, 0.0, 0.0)
            assert falls_for_ever(by_hand, fit, False) == expected
            assert not falls_for_ever(by_hand, fit, True)
            assert not falls_for_ever(problem, fit, False)
            seen.add(expected)
    assert seen == ({False} if recession == NO_RECESSION else {False, True})


def test_bounds_end_the_way():
    X, y = instance(0, "classes")
    X[:, 3] = 0.0
    X[np.flatnonzero(y > 0)[:4], 3] = 1.0
    problem = pose(request(X, y, loss="logistic").data)
    model = make_model(problem, 1000)
    model.grow(np.arange(5))
    fit = model.refit(np.array([0, 3]), 0.0, 0.0)
    for low, high, expected in ((0.0, np.inf, True), (-np.inf, 50.0, False), (0.0, 50.0, False)):
        lower, upper = np.full(5, -np.inf), np.full(5, np.inf)
        lower[3], upper[3] = low, high
        boxed = replace(problem, loss=Logistic(), lower=lower, upper=upper)
        assert falls_for_ever(boxed, fit, False) == expected


@SLOW
def test_large_counts_do_not_overflow():
    data = l0path.simulate.poisson(60, 4, 2, scale=0.1, random_state=0)
    y = data.y + 1500.0
    assert np.exp(700.0) < np.inf and y.mean() > 710
    one, other = (l0path.fit(data.X, y, loss=loss, max_k=3) for loss in (PoissonOwn(), "poisson"))
    assert one.details.features.tolist() == other.details.features.tolist()
    np.testing.assert_allclose(one.details.deviance_ratio, other.details.deviance_ratio, atol=1e-8)


# -------------------- paths


def separable(kind):
    """(X, y) where x3 is 1 in some rows of one side only."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 5))
    if kind == "times":
        y = rng.exponential(size=40) * np.where(rng.uniform(size=40) < 0.4, -1.0, 1.0)
    elif kind == "counts":
        y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    else:
        y = np.where(X[:, 0] + rng.logistic(size=40) > 0, 1.0, -1.0)
    side = {"times": y < 0, "counts": y == 0, "classes": y > 0}[kind]
    X[:, 3] = 0.0
    X[np.flatnonzero(side)[:6], 3] = 1.0
    return X, y


@SLOW
@pytest.mark.parametrize("lambda0", [None, "grid"])
@pytest.mark.parametrize(
    "loss, kind",
    [(Logistic(), "classes"), (Exponential(), "classes"), (PoissonOwn(), "counts"),
     (Breslow(), "times")],
)  # fmt: skip
def test_a_path_says_which_models_have_no_optimum(loss, kind, lambda0):
    X, y = separable(kind)
    more = {"loss": loss, "max_k": 4, "lambda0": lambda0}
    with pytest.warns(SeparationWarning, match=r"falls for ever.*lambda2=1e-3"):
        path = l0path.fit(X, y, **more)
    apart = [s for s in path._solutions if s.separated]
    assert apart and all(3 in s.support and s.optimality == "unverified" for s in apart)
    assert all(s.separated for s in path._solutions if 3 in s.support)
    assert "falls for ever" in path.status and path.status.startswith("complete")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shrunk = l0path.fit(X, y, lambda2=1e-3, **more)
        others = l0path.fit(np.delete(X, 3, axis=1), y, **more)
    for one in (shrunk, others):
        assert {s.status for s in one._solutions} == {"converged"}


@SLOW
def test_rows_that_are_separated_whole():
    X, _ = instance(0, "classes")
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    for loss in (Logistic(), Exponential()):
        with pytest.warns(SeparationWarning, match="k = 2"):
            path = l0path.fit(X, y, loss=loss, max_k=3)
        assert [s.separated for s in path._solutions[:3]] == [False, False, True]
    assert l0path.fit(X, y, loss=SquaredHinge(), max_k=2)._solutions[-1].status == "converged"
    with pytest.warns(SeparationWarning, match=r"k = 0"):
        assert l0path.fit(X, np.ones(50), loss=Logistic(), max_k=0)._solutions[0].separated


@SLOW
def test_a_search_ends_where_steps_leave_a_fit_worse():
    """Chord steps came lower than Newton steps from where they ended, and each in turn was taken
    for an improvement, without end.
    """
    rng = np.random.default_rng(105)
    rng.choice(3)
    X = rng.standard_normal((20, 6))
    rng.integers(6)
    X[:, 2:] = rng.uniform(size=(20, 4)) < rng.choice([0.03, 0.1, 0.3])
    scaled = X / np.maximum(X.std(axis=0), 1e-12)
    f = rng.choice([0.3, 1.0, 3.0]) * (scaled[:, 0] + 0.5 * scaled[:, 3])
    rng.uniform(size=2)
    y = np.where(f - f.mean() + rng.logistic(size=20) > 0, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = l0path.fit(X, y, loss=Exponential(), max_k=4, time_limit=60)
    assert path._end == "complete"
