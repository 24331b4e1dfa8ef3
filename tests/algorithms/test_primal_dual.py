"""The primal-dual solver for one lambda0 against enumeration, published values of a small instance,
and the gap that cannot close; screening never cuts an optimum.
"""

from functools import cache

import numpy as np
import pytest
from oracles import best_penalized, cd_stationary_gap, instances, restricted, restricted_keywords
from problems import in_user_units, plain, problem_of, wide_instance

from l0path.algorithms.coordinate_descent import CoordinateDescent
from l0path.algorithms.primal_dual import PrimalDualSolver, solve_lambda0
from l0path.core.control import Clock
from l0path.engine.lambda0.path import Lambda0Path
from l0path.engine.protocols import Session, Slice
from l0path.solvers import PrimalDual
from l0path.working_set.model import make_model

LOSSES = ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber")
SETTINGS = [
    PrimalDual(),
    PrimalDual(primal_step=False),
    PrimalDual(paper_defaults=True),
    PrimalDual(paper_defaults=True, step=0.05),
]
NAMES = ["default", "dual_alone", "paper", "paper_constant"]
# loss, intercept, lambda0, lambda1, lambda2, optimum, best dual value, of the instance below
# (optima by enumeration, dual values of the perspective relaxation)
GOLDEN = [
    ("squared", 0, 0.05, 0.0, 0.1, 0.440664, 0.434388),
    ("squared", 1, 0.05, 0.03, 0.1, 0.501068, 0.490991),
    ("logistic", 0, 0.02, 0.0, 0.02, 0.478482, 0.474195),
    ("logistic", 1, 0.02, 0.0, 0.02, 0.472717, 0.466550),
    ("squared_hinge", 1, 0.03, 0.0, 0.05, 0.384353, 0.363180),
    ("smoothed_hinge", 1, 0.03, 0.0, 0.05, 0.377107, 0.358847),
    ("huber", 1, 0.04, 0.0, 0.05, 0.317138, 0.311662),
]


@cache
def enumerated():
    """Fifteen instances with their optimum and its support, worked out once."""
    ridged = [d | {"lambda2": 0.3} for d in instances(15, 5, LOSSES)]
    return [
        (
            d,
            *best_penalized(
                d["X"],
                d["y"],
                d["lambda0"],
                penalty_factor=d["penalty_factor"],
                forced=d["forced"],
                **restricted_keywords(d),
            ),
        )
        for d in ridged
    ]


def small(loss, intercept, lambda1, lambda2):
    """Twelve rows, six columns of sines; regression or classes."""
    i, j = np.arange(1, 13)[:, None], np.arange(1, 7)[None]
    X = np.sin(i * j + 0.5 * j**2) + 0.3 * np.cos(2 * i + j)
    signal, i = 1.5 * X[:, 0] - 1.2 * X[:, 2] + 0.8 * X[:, 4], i[:, 0]
    classes = loss in ("logistic", "squared_hinge", "smoothed_hinge")
    y = np.where(signal + np.cos(5 * i) > 0, 1.0, -1.0) if classes else signal + 0.5 * np.sin(7 * i)
    return plain(
        X,
        y,
        loss,
        intercept=bool(intercept),
        gamma=0.5,
        delta=1.0,
        lambda1=lambda1,
        lambda2=lambda2,
    )


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row[0]}-{row[1]}")
def test_known_optima_and_dual_values(row):
    loss, intercept, lambda0, lambda1, lambda2, optimum, dual = row
    d = small(loss, intercept, lambda1, lambda2)
    out = solve_lambda0(
        make_model(problem_of(d)),
        lambda0,
        lambda1=lambda1,
        lambda2=lambda2,
        settings=PrimalDual(tol=1e-6, max_iter=3000),
    )
    assert out.objective == pytest.approx(optimum, abs=1e-6)
    assert dual - 1e-3 <= out.bound <= dual + 1e-6
    assert not out.proven and out.gap > 0


@pytest.mark.parametrize("settings", SETTINGS, ids=NAMES)
def test_bounds_screening_and_values_against_enumeration(settings):
    reached = excluded = 0
    for d, optimum, support in enumerated():
        out = solve_lambda0(
            make_model(problem_of(d)),
            d["lambda0"],
            lambda1=d["lambda1"],
            lambda2=0.3,
            settings=settings,
        )
        value = (
            restricted(d["X"], d["y"], out.fit.support, **restricted_keywords(d))[0]
            + d["lambda0"] * d["penalty_factor"][out.fit.support].sum()
        )
        assert out.objective == pytest.approx(value, rel=1e-7)
        assert out.objective >= optimum * (1 - 1e-9)
        assert out.bound <= optimum
        assert not out.excluded[list(support)].any()
        assert not out.proven or out.objective == pytest.approx(optimum, rel=1e-7)
        reached += out.objective <= optimum * (1 + 1e-7)
        excluded += int(out.excluded.sum())
    assert reached >= (14 if not settings.paper_defaults else 12)
    assert excluded > 5


def test_fits_are_coordinatewise_optimal_over_all_columns():
    for loss in ("squared", "logistic"):
        d = wide_instance(1, n=60, p=150, k=5, loss=loss, lambda2=0.05)
        lambda0 = 0.02 if loss == "squared" else 0.01
        out = solve_lambda0(make_model(problem_of(d)), lambda0, lambda2=0.05)
        beta, beta0 = in_user_units(d, out.fit)
        assert (
            cd_stationary_gap(
                d["X"],
                d["y"],
                beta,
                beta0,
                lambda0,
                penalty_factor=d["penalty_factor"],
                **restricted_keywords(d),
            )
            < 1e-8
        )
        assert out.reads < 20 and out.bound < out.objective


def test_a_gap_that_cannot_close_is_reported():
    """n = p = 1, x = 1, y = sqrt 2, lambda0 = lambda2 = 1/2: the optimum is 1, the best dual value
    sqrt 2 - 1/2.
    """
    d = plain(np.ones((1, 1)), np.array([np.sqrt(2.0)]))
    out = solve_lambda0(
        make_model(problem_of(d)), 0.5, lambda2=0.5, settings=PrimalDual(tol=1e-9, max_iter=5000)
    )
    assert out.objective == pytest.approx(1.0)
    assert out.bound <= np.sqrt(2) - 0.5
    assert out.bound == pytest.approx(
        np.sqrt(2) - 0.5, abs=1e-4
    )  # super-gradient ascent is no faster at a kink
    assert not out.proven and out.status != "proven"


def test_the_gap_closes_under_a_large_ridge_and_columns_come_in_as_needed():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 500))
    y = X[:, :5].sum(axis=1) + 0.2 * rng.normal(size=200)
    model = make_model(problem_of(plain(X, y, standardize=True, intercept=True)))
    out = solve_lambda0(model, 0.05, lambda2=1.0)
    assert out.proven and out.fit.support.tolist() == [0, 1, 2, 3, 4]
    assert model.width < 150
    assert out.excluded.sum() == 0 or not out.excluded[:5].any()


def test_the_primal_step_helps():
    """Dual ascent alone reads its support off a dual that is not tight; coordinate descent repairs
    it.
    """
    better = worse = 0
    for seed in range(5):
        d = wide_instance(seed, n=60, p=80, k=6, lambda2=0.01)
        with_step, alone = (
            solve_lambda0(
                make_model(problem_of(d)), 0.03, lambda2=0.01, settings=PrimalDual(primal_step=step)
            ).objective
            for step in (True, False)
        )
        better += with_step < alone * (1 - 1e-9)
        worse += with_step > alone * (1 + 1e-9)
    assert better > worse


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_weights_are_repeated_rows(loss):
    d = wide_instance(4, n=50, p=60, k=4, loss=loss, lambda2=0.1)
    w = np.random.default_rng(0).integers(1, 4, 50)
    lambda0 = 0.03 if loss == "squared" else 0.01
    rows = solve_lambda0(
        make_model(problem_of(d | {"X": np.repeat(d["X"], w, axis=0), "y": np.repeat(d["y"], w)})),
        lambda0,
        lambda2=0.1,
    )
    weighted = solve_lambda0(
        make_model(problem_of(d | {"weights": w.astype(float)})), lambda0, lambda2=0.1
    )
    assert rows.fit.support.tolist() == weighted.fit.support.tolist()
    assert rows.objective == pytest.approx(weighted.objective, rel=1e-9)
    assert rows.bound == pytest.approx(weighted.bound, rel=1e-5)


def test_on_working_columns_it_serves_a_lambda0_path():
    """Its fits on W are stationary there, so that a path of lambda0 values can verify them as those
    of coordinate descent.
    """
    d = wide_instance(6, n=60, p=120, k=5, lambda2=0.05)
    model = make_model(problem_of(d))
    path = Lambda0Path(model, Slice(0.0, 0.05, 8), CoordinateDescent(), Session(Clock()))
    solver = PrimalDualSolver(model, 0.0, 0.05, PrimalDual(), path.scale, path.descent)
    path._solve_at = lambda lambda0, start: solver.solve(lambda0, start, all_columns=False).fit
    path.run()
    assert len(path.points) > 5 and all(point.verified for point in path.points)
    for point in path.points[::3]:
        beta, beta0 = in_user_units(d, point.fit)
        assert (
            cd_stationary_gap(
                d["X"],
                d["y"],
                beta,
                beta0,
                point.lambda0,
                penalty_factor=d["penalty_factor"],
                **restricted_keywords(d),
            )
            < 1e-8
        )


def test_what_it_cannot_take_is_refused():
    for bad, message in (
        ({"tol": 0}, "tol=0"),
        ({"include": -1}, "include=-1"),
        ({"step": 0}, "step=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"max_rounds": 0}, "max_rounds=0"),
    ):
        with pytest.raises(ValueError, match=message):
            PrimalDual(**bad)
    with pytest.raises(ValueError, match=r"primal_dual needs lambda2 > 0"):
        solve_lambda0(make_model(problem_of(wide_instance(0, n=30, p=10, k=2))), 0.1, lambda2=0.0)
    with pytest.raises(ValueError, match="poisson"):
        solve_lambda0(make_model(problem_of(next(instances(1, 1, ("poisson",))))), 0.1, lambda2=0.1)
