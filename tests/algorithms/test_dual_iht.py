"""Dual values and dual iterative hard thresholding against brute force: conjugates by search, weak
duality, bounds below enumerated optima, and instances whose gap is known not to close.
"""

from functools import partial

import numpy as np
import pytest
from oracles import best_subsets, instances, restricted, restricted_keywords
from problems import plain, problem_of, solver_path, wide_instance
from scipy.optimize import minimize_scalar

from l0path.algorithms.dual import DualProblem, balance, project
from l0path.algorithms.one_size import solve_size
from l0path.problem.conjugates import conjugate, conjugate_slope, convexity, interval
from l0path.problem.losses import make_loss
from l0path.problem.verbs import slope, value
from l0path.solvers import DualIHT
from l0path.working_set.model import make_model

solve_k = partial(solve_size, settings=DualIHT())

LOSSES = ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber")
RECORDS = [make_loss(name, 0.4, 0.9) for name in LOSSES]
SETTINGS = [
    DualIHT(),
    DualIHT(blocks=4),
    DualIHT(paper_defaults=True),
    DualIHT(blocks=4, paper_defaults=True),
]
NAMES = ["dual_iht", "stochastic", "dual_iht*", "stochastic*"]


def dual_points(loss, y):
    """A few dual variables inside the domain."""
    low, high = (max(min(end[0], 3.0), -3.0) for end in interval(loss, np.array([y])))
    return low + (high - low) * np.array([0.03, 0.2, 0.5, 0.8, 0.97])


# -------------------- conjugates


@pytest.mark.parametrize("loss", RECORDS, ids=LOSSES)
@pytest.mark.parametrize("y", [1.0, -1.0])
def test_conjugates_are_suprema(loss, y):
    for a in dual_points(loss, y):
        found = minimize_scalar(
            lambda e, a=a: value(loss, y, e) - a * e,
            bounds=(-60, 60),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert conjugate(loss, np.array([y]), np.array([a]))[0] == pytest.approx(
            -found.fun, abs=1e-7
        )
        eta = float(conjugate_slope(loss, np.array([y]), np.array([a]))[0])
        assert slope(loss, y, eta) == pytest.approx(a, abs=1e-9)
        t = 1e-6
        near = conjugate(loss, np.full(2, y), np.array([a - t, a + t]))
        assert eta == pytest.approx((near[1] - near[0]) / (2 * t), abs=1e-4)


@pytest.mark.parametrize("loss", RECORDS, ids=LOSSES)
def test_conjugates_are_as_convex_as_they_say(loss):
    y = np.ones(5)
    a = dual_points(loss, 1.0)
    bends = (conjugate_slope(loss, y, a + 1e-5) - conjugate_slope(loss, y, a - 1e-5)) / 2e-5
    assert (bends >= convexity(loss) * (1 - 1e-4)).all()
    assert bends.min() == pytest.approx(convexity(loss), rel=1e-3)


def test_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    for trial in range(30):
        n = 6
        low, high = (
            -rng.uniform(0, 1, n) * (rng.random(n) < 0.8),
            rng.uniform(0, 1, n) * (rng.random(n) < 0.8),
        )
        if trial % 3 == 0:
            low[:2], high[2:4] = -np.inf, np.inf
        w, a = rng.uniform(0.1, 1, n), 2 * rng.normal(size=n)
        anchor = np.clip(rng.normal(size=n), low, high) if trial % 2 else np.zeros(n)
        x = project(a, low, high, w, anchor)
        assert (low <= x).all() and (x <= high).all()
        assert w @ x == pytest.approx(w @ anchor, abs=1e-12)
        shift = (a - x)[
            (x > low) & (x < high)
        ]  # optimality: one multiplier for all inner rows, and the clipped ones beyond it
        if shift.size:
            assert shift == pytest.approx(np.full(shift.size, shift[0]), abs=1e-9)
            assert x == pytest.approx(np.clip(a - shift[0], low, high), abs=1e-9)
    assert project(np.array([2.0, -3.0]), np.zeros(2), np.ones(2), np.ones(2)).tolist() == [
        1.0,
        0.0,
    ]
    even = balance(np.array([1.0, 2.0, -1.0]), np.array([0.5, 0.25, 0.25]))
    assert even @ [0.5, 0.25, 0.25] == pytest.approx(0.0) and even[2] == -1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_weak_duality(loss):
    """Any dual point is below any k-sparse point, also with boxes, offsets, weights, forced columns
    and lambda1.
    """
    rng = np.random.default_rng(2)
    for d in instances(6, 17, (loss,)):
        d["lambda2"] = max(d["lambda2"], 1e-2)
        model = make_model(problem_of(d))
        model.grow(np.arange(model.problem.X.p))
        solver = DualIHT().solver(model, d["lambda1"], d["lambda2"], 1.0)
        solver.refresh()
        dual, p = solver.dual, model.problem
        best = best_subsets(d["X"], d["y"], 2, forced=d["forced"], **restricted_keywords(d))
        for _ in range(15):
            a = dual.project(rng.normal(size=p.X.n) * rng.choice([0.1, 1.0, 3.0]) - 0.5 * p.y)
            assert not dual.tied or abs(p.weights @ a) < 1e-12
            for k in (1, 2):
                assert solver.value(a, k)[0] <= best[k][0] + 1e-10


def test_gap_identity():
    """P(b(a)) - D(a) = sum_i w_i (loss + loss* - a_i u_i) at u = Z b(a)."""
    d = plain(
        np.random.default_rng(3).normal(size=(30, 6)),
        np.random.default_rng(4).normal(size=30),
        lambda2=0.2,
    )
    model = make_model(problem_of(d))
    model.grow(np.arange(6))
    solver = DualIHT().solver(model, 0.0, 0.2, 1.0)
    solver.refresh()
    p = model.problem
    for a in np.random.default_rng(5).normal(size=(4, 30)):
        D, J, b, _ = solver.value(a, 2)
        u = b @ solver.Z[J]
        primal = 0.5 * p.weights @ (u - p.y) ** 2 + 0.2 * b @ b
        assert primal - D == pytest.approx(
            p.weights @ (0.5 * (u - p.y) ** 2 + conjugate(p.loss, p.y, a) - a * u), rel=1e-9
        )


# -------------------- the solver


@pytest.mark.parametrize("settings", SETTINGS, ids=NAMES)
def test_bounds_and_values_against_enumeration(settings):
    reached = total = 0
    for d in instances(5, 5, LOSSES):
        d["lambda2"] = 0.1
        path = solver_path(d, settings, 3)
        best = best_subsets(d["X"], d["y"], 3, forced=d["forced"], **restricted_keywords(d))
        for k, fit in path.pool.fits.items():
            assert fit.value >= best[k][0] - 1e-9 * abs(best[k][0])
            assert fit.value == pytest.approx(
                restricted(d["X"], d["y"], fit.support, **restricted_keywords(d))[0], rel=1e-7
            )
            if k:
                assert path.bound(k) <= best[k][0]
                assert path.optimality(k) == ("global" if path.outcomes[k].proven else "stationary")
                if path.outcomes[k].proven:
                    assert fit.value == pytest.approx(best[k][0], rel=1e-8)
            reached += fit.value <= best[k][0] * (1 + 1e-7)
            total += 1
    assert reached >= (0.8 if settings.paper_defaults else 0.95) * total


@pytest.mark.parametrize(
    ("ridge", "gap"), [(0.1, 0.291667 - 0.142857), (0.5, 0.041667), (10.0, 0.488095 - 0.487805)]
)
@pytest.mark.parametrize(
    "settings",
    [DualIHT(tol=1e-8, max_iter=3000), DualIHT(tol=1e-8, max_iter=3000, blocks=2)],
    ids=["dual_iht", "stochastic"],
)
def test_a_gap_that_cannot_close_is_reported(settings, ridge, gap):
    """X = I, y = (1, 1), k = 1: optimum 1/2 - 1 / (4 (1 + 2 ridge)), best dual value 2 ridge / (1 +
    4 ridge), for the penalty ridge / 2 ||b||^2.
    """
    d = plain(np.eye(2), np.ones(2))
    outcome = solve_k(make_model(problem_of(d)), 1, lambda2=ridge / 2, settings=settings)
    assert outcome.fit.value == pytest.approx(0.5 - 1 / (4 * (1 + 2 * ridge)), rel=1e-10)
    assert outcome.bound <= 2 * ridge / (1 + 4 * ridge)
    assert outcome.gap == pytest.approx(gap, abs=2e-6)
    assert not outcome.proven and outcome.status != "proven"
    assert outcome.fit.support.tolist() == [0]


def test_the_gap_closes_where_the_signal_beats_the_ridge():
    """lambda_ridge = 4 sigma sqrt(2 log p / n) / b_min is beyond what a saddle point needs: proven,
    and a smaller ridge is not.
    """
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 300))
    y = X[:, :5].sum(axis=1) + 0.2 * rng.normal(size=200)
    large = 2 * 0.2 * 4 * np.sqrt(2 * np.log(300) / 200)
    proven = solve_k(
        make_model(problem_of(plain(X, y, standardize=True, intercept=True))), 5, lambda2=large
    )
    assert (
        proven.proven
        and proven.status == "proven"
        and proven.fit.support.tolist() == [0, 1, 2, 3, 4]
    )
    assert 0 <= proven.gap <= 1e-8
    weak = solve_k(
        make_model(problem_of(plain(X, y, standardize=True, intercept=True))), 5, lambda2=1e-3
    )
    assert not weak.proven and weak.gap > 0 and weak.fit.support.tolist() == [0, 1, 2, 3, 4]


def test_more_steps_raise_the_bound_and_long_steps_are_caught():
    d = wide_instance(0, n=60, p=100, k=5, lambda2=0.05)
    bounds = [
        solve_k(
            make_model(problem_of(d)), 5, lambda2=0.05, settings=DualIHT(max_iter=steps, tol=1e-12)
        ).bound
        for steps in (20, 2000)
    ]
    assert bounds[1] > bounds[0]
    wild = problem_of(d | {"X": d["X"] * 1e3, "standardize": False})
    outcome = solve_k(make_model(wild), 5, lambda2=1e-6, settings=DualIHT(paper_defaults=True))
    assert outcome.fit.support.size == 5 and outcome.bound <= outcome.fit.value


def test_path_over_sizes_with_weights_and_seed():
    d = wide_instance(3, lambda2=0.1)
    path = solver_path(d, DualIHT(), 8)
    values, bounds = (
        [path.pool.fits[k].value for k in range(9)],
        [path.bound(k) for k in range(1, 9)],
    )
    assert (np.diff(values) <= 1e-12).all()
    assert all(bound <= value for bound, value in zip(bounds, values[1:], strict=True))
    assert path.model.reads < 20 and path.rounds[-1]["verified"] == 9
    again = solver_path(d, DualIHT(), 8)
    assert [again.pool.fits[k].value for k in range(9)] == values
    stochastic = [solver_path(d, DualIHT(blocks=5, seed=1), 3).bound(3) for _ in range(2)]
    assert stochastic[0] == stochastic[1]
    w = np.random.default_rng(0).integers(1, 4, 80)
    rows = solver_path(
        d | {"X": np.repeat(d["X"], w, axis=0), "y": np.repeat(d["y"], w)}, DualIHT(), 3
    )
    weighted = solver_path(d | {"weights": w.astype(float)}, DualIHT(), 3)
    for k in range(1, 4):
        assert rows.pool.fits[k].value == pytest.approx(weighted.pool.fits[k].value, rel=1e-9)
        assert rows.bound(k) == pytest.approx(weighted.bound(k), rel=1e-6)


def test_polish_and_the_best_multiple():
    d = wide_instance(2, lambda2=0.01)
    alone, polished = (solver_path(d, DualIHT(polish=polish), 8) for polish in (False, True))
    assert all(
        polished.pool.fits[k].value <= alone.pool.fits[k].value * (1 + 1e-9) for k in range(9)
    )
    model = alone.model
    solver, w, y = alone.solver, model.problem.weights, model.problem.y
    a = 0.3 * np.random.default_rng(0).normal(size=80) - y
    total = solver.top(-(solver.Z @ (w * a)), 3)[2]
    best = -(w @ (y * a)) / (w @ (a * a) + 2 * total)
    values = [solver.value(s * a, 3)[0] for s in (0.99 * best, best, 1.01 * best)]
    assert values[1] >= max(values)


def test_what_it_cannot_take_is_refused():
    for bad, message in (
        ({"blocks": 0}, "blocks=0"),
        ({"tol": -1}, "tol=-1"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"seed": -1}, "seed=-1"),
    ):
        with pytest.raises(ValueError, match=message):
            DualIHT(**bad)
    d = wide_instance(0, n=30, p=10, k=2)
    with pytest.raises(ValueError, match=r"lambda2=0.*lambda2=1e-2"):
        solve_k(make_model(problem_of(d)), 2, lambda2=0.0)
    counts = next(instances(1, 1, ("poisson",)))
    with pytest.raises(ValueError, match="poisson"):
        solve_k(make_model(problem_of(counts)), 1, lambda2=0.1)
    with pytest.raises(ValueError, match="k=99 exceeds"):
        solve_k(make_model(problem_of(d)), 99, lambda2=0.1)
    with pytest.raises(TypeError, match="no slope of a conjugate for Poisson"):
        DualProblem(problem_of(counts), 0.0, 0.1).slope_part(np.zeros(1), slice(1))


def test_a_watch_hears_of_fits_bounds_and_gaps():
    X, rng = np.random.default_rng(3).normal(size=(40, 60)), np.random.default_rng(4)
    for settings in (DualIHT(), DualIHT(blocks=4)):
        seen = {}
        d = plain(X, np.sign(X[:, 0] + 0.3 * rng.normal(size=40)), "logistic", lambda2=0.1)
        outcome = solve_k(
            make_model(problem_of(d)),
            4,
            lambda2=0.1,
            settings=settings,
            watch=lambda name, value, seen=seen: seen.setdefault(name, []).append(value),
        )
        assert min(seen["refit"]) == pytest.approx(outcome.fit.value, rel=1e-12)
        assert seen["bound"][-1] <= outcome.fit.value
        assert seen["gap"][-1] == pytest.approx(min(seen["refit"]) - seen["bound"][-1], abs=1e-12)
        assert max(seen["dual"]) >= seen["bound"][-1] - 1e-12
