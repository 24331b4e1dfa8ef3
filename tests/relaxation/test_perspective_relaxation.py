"""The perspective relaxation solved to its known optimum: splits, boxes, dual points that need no
read of X, and invariances.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from dual_problems import problem_of, wide
from scipy.optimize import minimize_scalar

from l0path import relaxation
from l0path.core.control import Clock
from l0path.engine.protocols import Session, Slice
from l0path.engine.strategies.columns import ColumnExchanges
from l0path.relaxation.bounds import link
from l0path.relaxation.safe_rules import fix_cardinality, fix_penalized
from l0path.solvers import LocalSearch
from l0path.working_set.model import make_model

# -------------------- the relaxation is solved


def test_known_optima_of_the_relaxation():
    """n = 12, p = 6: the best bound of the penalized problem, found by an independent convex solver
    (six digits), below the enumerated optimum in every case.
    """
    i, j = np.arange(1, 13)[:, None], np.arange(1, 7)
    X = np.sin(i * j + 0.5 * j**2) + 0.3 * np.cos(2 * i + j)
    zeta = 1.5 * X[:, 0] - 1.2 * X[:, 2] + 0.8 * X[:, 4]
    regression, classes = (
        zeta + 0.5 * np.sin(7 * i[:, 0]),
        np.where(zeta + np.cos(5 * i[:, 0]) > 0, 1.0, -1.0),
    )
    known = [
        ("squared", 0.05, 0.0, 0.1, 0.434388, 0.434386),
        ("squared", 0.05, 0.03, 0.1, 0.491100, 0.490991),
        ("logistic", 0.02, 0.0, 0.02, 0.474195, 0.466550),
        ("squared_hinge", 0.03, 0.0, 0.05, 0.373000, 0.363180),
        ("smoothed_hinge", 0.03, 0.0, 0.05, 0.366077, 0.358847),
        ("huber", 0.04, 0.0, 0.05, 0.312253, 0.311662),
    ]
    for loss, lambda0, lambda1, lambda2, *best in known:
        for intercept, value_at in zip((False, True), best, strict=True):
            y = regression if loss in ("squared", "huber") else classes
            problem = problem_of(
                {
                    "X": X,
                    "y": y,
                    "loss": loss,
                    "standardize": False,
                    "intercept": intercept,
                    "gamma": 0.5,
                    "delta": 1.0,
                }
            )
            out = relaxation.improve(
                relaxation.dual_problem(problem, lambda1, lambda2),
                lambda0=[lambda0],
                steps=8,
                tol=1e-6,
            )
            assert out.lower[0] == pytest.approx(value_at, abs=2e-6) and out.relaxed[
                0
            ] == pytest.approx(value_at, abs=2e-6)


@pytest.mark.parametrize("ridge", [0.1, 0.5, 10.0])
def test_duality_is_not_strong_in_general_and_the_gap_stays_open(ridge):
    """X = I, y = (1, 1), k = 1: optimum 1/2 - 1 / (4 + 8 ridge), best bound 2 ridge / (1 + 4 ridge)
    with ridge / 2 on b^2; the gap is positive for every ridge.
    """
    problem = problem_of(
        {
            "X": np.eye(2),
            "y": np.ones(2),
            "loss": "squared",
            "standardize": False,
            "intercept": False,
        }
    )
    out = relaxation.improve(
        relaxation.dual_problem(problem, 0.0, ridge / 2), sizes=[1], steps=6, tol=1e-8
    )
    best, optimum = 2 * ridge / (1 + 4 * ridge), 0.5 - 1 / (4 + 8 * ridge)
    assert out.lower[0] == pytest.approx(best, rel=1e-6) and best < optimum and out.lower[0] <= best


def test_a_strong_ridge_and_clear_columns_close_the_gap():
    d = wide(3, n=200, p=500, k=5, rho=0.0, noise=0.3)
    problem = problem_of(d)
    ridge = 4 * 0.3 * np.sqrt(2 * np.log(500) / 200) / 2
    S = np.linspace(0, 499, 5).astype(int)
    Z, w = problem.X.columns(S), problem.weights
    b = np.linalg.solve(Z.T @ (w[:, None] * Z) + 2 * ridge * np.eye(5), Z.T @ (w * problem.y))
    objective = 0.5 * w @ (problem.y - Z @ b) ** 2 + ridge * b @ b
    dual = relaxation.dual_problem(problem, 0.0, ridge)
    points = relaxation.evaluate(dual, (w * (Z @ b - problem.y))[:, None])
    bound = relaxation.cardinality_bounds(dual, points, 5)[5, 0]
    assert objective * (1 - 1e-9) <= bound <= objective
    out, into = fix_cardinality(dual, points, [5], [objective])
    assert into[S, 0].all() and out[:, 0].sum() == 495


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_working_columns_find_the_bounds_of_all_columns_within_few_reads(loss):
    d = wide(1, n=100, p=400, loss=loss)
    problem, sizes = problem_of(d), np.array([1, 3, 6, 10])
    dual = relaxation.dual_problem(problem, 0.0, 0.05)
    reads = []
    real, count = problem.X.correlate, lambda R, *args: reads.append(R.shape[1]) or real(R, *args)
    problem.X.correlate = count
    out = relaxation.improve(dual, sizes=sizes, steps=12, tol=1e-4)
    assert len(reads) == out.reads <= 12
    assert (out.lower <= out.relaxed).all() and (
        out.lower >= out.relaxed - 2e-3 * np.abs(out.relaxed)
    ).all()
    np.testing.assert_allclose(
        relaxation.cardinality_bounds(dual, out.points, 10)[sizes, np.arange(4)],
        out.lower,
        rtol=1e-12,
    )
    few = relaxation.improve(dual, sizes=sizes, steps=3, tol=1e-4)
    assert (few.lower <= out.lower + 1e-9).all() and few.reads <= 3
    enough = relaxation.improve(dual, sizes=sizes, steps=12, goal=out.lower * 0.9)
    assert enough.reads < out.reads and (enough.lower >= 0.89 * out.lower).all()


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_penalized_targets_on_working_columns(loss):
    d = wide(1, n=100, p=400, loss=loss) | {
        "penalty_factor": np.random.default_rng(3).uniform(0.5, 2.0, 400)
    }
    problem, lambda0 = problem_of(d), np.array([0.3, 0.1, 0.03])
    dual = relaxation.dual_problem(problem, 0.01, 0.05)
    out = relaxation.improve(dual, lambda0=lambda0, steps=12, tol=1e-4)
    assert (
        out.reads <= 12
        and (out.lower <= out.relaxed).all()
        and (out.lower >= out.relaxed - 2e-3 * np.abs(out.relaxed)).all()
    )
    np.testing.assert_allclose(
        relaxation.penalized_bounds(dual, out.points, lambda0).diagonal(), out.lower, rtol=1e-12
    )
    assert (np.diff(out.lower) < 0).all()  # a lower price, a lower optimum


def test_a_poll_ends_the_search_and_what_was_found_is_kept():
    dual = relaxation.dual_problem(problem_of(wide(1, n=60, p=100)), 0.0, 0.05)
    asked = []
    out = relaxation.improve(
        dual, sizes=[2, 4], steps=10, tol=1e-6, poll=lambda: asked.append(0) or len(asked) == 3
    )
    assert out.reads == 3 and np.isfinite(out.lower).all() and np.isfinite(out.relaxed).all()


def test_problems_without_a_column_to_choose():
    X = np.column_stack([np.ones(20), np.linspace(-1, 1, 20)])
    y = X[:, 1] + 0.1 * np.sin(9 * X[:, 1])
    for chosen in (
        {"X": X[:, :1]},
        {"X": X, "forced": [1], "penalty_factor": np.array([1.0, 0.0])},
    ):
        problem = problem_of({"y": y, "loss": "squared"} | chosen)
        dual = relaxation.dual_problem(problem, 0.0, 0.1)
        out = relaxation.improve(dual, sizes=[0, 1], steps=4, tol=1e-6)
        Z, w = problem.X.columns(problem.forced), problem.weights
        b = np.linalg.solve(
            Z.T @ (w[:, None] * Z) + 0.2 * np.eye(Z.shape[1]), Z.T @ (w * problem.y)
        )
        best = 0.5 * w @ (problem.y - Z @ b) ** 2 + 0.1 * b @ b
        np.testing.assert_allclose(out.lower, best, rtol=1e-4)
        assert (out.lower <= best).all()
        out, into = fix_penalized(dual, out.points, [0.1, 0.2], [best, best])
        assert not out.any() and not into.any()


def test_bounds_of_fits_are_a_start_and_coefficients_too():
    d = wide(2, n=100, p=200)
    problem = problem_of(d)
    dual = relaxation.dual_problem(problem, 0.0, 0.05)
    S = np.sort(np.linspace(0, 199, 6).astype(int))
    Z, w = problem.X.columns(S), problem.weights
    b = np.linalg.solve(Z.T @ (w[:, None] * Z) + 0.1 * np.eye(6), Z.T @ (w * problem.y))
    start = relaxation.points_of_fits(dual, [(S, b)])
    np.testing.assert_allclose(start.a[:, 0], w * (Z @ b - problem.y), atol=1e-12)
    out = relaxation.improve(
        dual, start=start, sizes=[5, 6], steps=0, coefficients=[(S, b), (S, b)]
    )
    np.testing.assert_array_equal(
        out.lower, relaxation.cardinality_bounds(dual, start, 6)[[5, 6], 0]
    )
    more = relaxation.improve(
        dual, start=start, sizes=[5, 6], steps=8, coefficients=[(S, b), (S, b)]
    )
    assert (more.lower > out.lower).all() and start.constant.size == 1


# -------------------- scaling, splitting, boxes


def test_every_size_gets_the_best_multiple_of_a_point():
    d = wide(4, n=60, p=40)
    problem = problem_of(d)
    dual = relaxation.dual_problem(problem, 0.0, 0.1)
    points = relaxation.evaluate(dual, (-problem.weights * problem.y * 0.2)[:, None])
    found = relaxation.cardinality_bounds(dual, points, 5)[:, 0]

    def plain(factor, k):
        multiple = relaxation.evaluate(dual, points.a * factor)
        return multiple.constant[0] - np.sort(relaxation.gains(dual, multiple, 0))[::-1][:k].sum()

    for k in range(6):
        best = minimize_scalar(
            lambda factor, k=k: -plain(factor, k),
            bounds=(0.0, 20.0),
            method="bounded",
            options={"xatol": 1e-9},
        ).x
        assert found[k] == pytest.approx(plain(best, k), rel=1e-9) and found[k] > max(
            plain(0.8 * best, k), plain(1.2 * best, k)
        )


@pytest.mark.parametrize(
    "lambda1, ridge, box",
    [(0.0, 0.1, np.inf), (0.2, 0.1, 0.5), (0.1, 0.0, 0.5), (0.1, 0.0, np.inf)],
)
def test_gains_are_maxima_rounded_up_by_little(lambda1, ridge, box):
    problem = problem_of(wide(9, n=30, p=20) | {"lower": -box / 2, "upper": box})
    dual = relaxation.dual_problem(problem, lambda1, ridge)
    points = relaxation.evaluate(dual, (-0.3 * problem.weights * problem.y)[:, None])
    b, h = link(dual, points.tau[:, 0])
    found = relaxation.gains(dual, points, 0)
    assert (found >= h).all() and (found <= h + 1e-12).all()
    grid = np.linspace(-5, 5, 100_001)[:, None]
    grid = np.clip(grid, dual.lower, dual.upper)
    values = -points.tau[:, 0] * grid - lambda1 * np.abs(grid) - ridge * grid**2
    np.testing.assert_allclose(h, values.max(axis=0), atol=1e-4)
    np.testing.assert_allclose(b, grid[values.argmax(axis=0), np.arange(20)], atol=1e-2)


def test_a_split_leaves_a_positive_definite_matrix_and_gives_bounds_without_ridge():
    d = wide(5, n=200, p=30, k=5)
    problem = problem_of(d)
    Z = problem.X.columns(np.arange(30))
    G = Z.T @ (problem.weights[:, None] * Z)
    diagonal = relaxation.split(problem)
    assert (diagonal > 0).all() and np.linalg.eigvalsh(G - np.diag(diagonal))[0] > 0
    dual = relaxation.dual_problem(problem, 0.0, 0.0, split=diagonal)
    assert dual.bounded and not dual.conditional
    out = relaxation.improve(dual, sizes=[0, 5, 30], steps=10, tol=1e-6)
    full = (
        0.5 * problem.weights @ (problem.y - Z @ np.linalg.lstsq(Z, problem.y, rcond=None)[0]) ** 2
    )
    null = 0.5 * problem.weights @ problem.y**2
    np.testing.assert_allclose(out.lower[[0, 2]], [null, full], rtol=1e-4)
    weaker = relaxation.improve(
        relaxation.dual_problem(
            problem, 0.0, 0.0, split=np.full(30, 0.98 * np.linalg.eigvalsh(G)[0])
        ),
        sizes=[5],
        steps=10,
        tol=1e-6,
    )
    assert out.lower[1] >= weaker.lower[0]
    with pytest.raises(ValueError, match="at="):
        relaxation.evaluate(dual, problem.y[:, None])
    assert relaxation.split(problem_of(wide(5, n=20, p=30))) is None
    assert relaxation.split(problem_of(wide(5, n=60, p=10, loss="logistic"))) is None
    with pytest.raises(ValueError, match="split="):
        relaxation.dual_problem(problem_of(wide(5, n=60, p=10, loss="logistic")), split=np.ones(10))


def test_without_ridge_and_box_nothing_is_known_and_a_box_makes_it_conditional():
    problem = problem_of(wide(6, n=30, p=50))
    dual = relaxation.dual_problem(problem, 0.0, 0.0)
    assert not dual.bounded
    out = relaxation.improve(dual, sizes=[0, 2], steps=4)
    assert np.isfinite(out.lower[0]) and np.isneginf(out.lower[1])
    assert not fix_cardinality(dual, out.points, [0, 2], [10.0, 10.0])[0][:, 1].any()
    boxed = relaxation.dual_problem(problem, 0.0, 0.0, box=2.0)
    assert boxed.conditional and boxed.bounded
    assert relaxation.improve(boxed, sizes=[2], steps=4).lower[0] > 0
    lasso = relaxation.dual_problem(problem, 0.1, 0.0)
    assert lasso.bounded and not lasso.conditional
    assert np.isfinite(relaxation.improve(lasso, sizes=[2], steps=4).lower[0])
    for wrong in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="box="):
            relaxation.dual_problem(problem, box=wrong)
    with pytest.raises(ValueError, match="sizes or lambda0"):
        relaxation.improve(dual)


# -------------------- points without a read


@pytest.mark.parametrize(
    "d",
    [wide(3), wide(3, loss="logistic"), wide(4) | {"X": wide(4)["X"] + 1e3, "lambda1": 0.01}],
    ids=["squared", "logistic", "far"],
)
def test_checks_of_all_columns_leave_slopes_behind_that_give_the_bounds_of_a_read(d):
    problem = problem_of(d)
    model = make_model(problem)
    if not problem.quadratic:
        model.seen = {}
    lambda1 = d.get("lambda1", 0.0)
    path = ColumnExchanges(model, Slice(lambda1, 0.05, 5), LocalSearch(), Session(Clock()))
    path.run()
    fits = [(path.pool.fits[k].support, path.pool.fits[k].b) for k in range(1, 6)]
    dual = relaxation.dual_problem(problem, lambda1, 0.05)
    known, a, tau, rounding_factor = model.verified_slopes(
        [*fits, (np.array([7, 150, 151, 280]), np.ones(4))], lambda1, 0.05
    )
    assert known == list(range(5)) and a.shape == (80, 5) and tau.shape == (300, 5)
    fresh, read = (
        relaxation.points_of_slopes(dual, a, tau, rounding_factor=rounding_factor),
        relaxation.points_of_fits(dual, fits),
    )
    exact = problem.X.columns(np.arange(300)).T @ fresh.a
    assert (
        np.abs(fresh.tau - exact)
        <= dual.gamma * dual.rounding_scale[:, None] * fresh.rounding_factor + 1e-15
    ).all()
    low, usual = (
        relaxation.cardinality_bounds(dual, fresh, 5),
        relaxation.cardinality_bounds(dual, read, 5),
    )
    np.testing.assert_allclose(low, usual, rtol=1e-6, atol=1e-9 * np.abs(usual).max())
    for k in range(1, 6):
        assert (low[k] <= path.pool.fits[k].value).all()


def test_a_known_point_outside_the_domain_gives_a_lower_bound_still():
    """What making it feasible changes is counted: never above the bound of a read."""
    d = wide(5, loss="logistic")
    problem, rng = problem_of(d), np.random.default_rng(0)
    dual = relaxation.dual_problem(problem, 0.0, 0.05)
    a = relaxation.points_of_fits(dual, [([], [])]).a * (1.0 + 1e-3 * rng.standard_normal((80, 3)))
    known, read = (
        relaxation.points_of_slopes(dual, a, problem.X.correlate(a)),
        relaxation.evaluate(dual, a),
    )
    low, usual = (
        relaxation.cardinality_bounds(dual, known, 4),
        relaxation.cardinality_bounds(dual, read, 4),
    )
    assert (
        (low <= usual).all()
        and (low[1:] < usual[1:]).all()
        and (low > usual - 0.05 * np.abs(usual)).all()
    )


# -------------------- invariances


def bounds_of(d, lambda2=0.05, **how):
    dual = relaxation.dual_problem(problem_of(d), 0.0, lambda2)
    return relaxation.improve(dual, **({"sizes": [1, 3, 5], "steps": 6, "tol": 1e-5} | how))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_weights_are_repeated_rows_and_sparse_is_dense(loss):
    d = wide(7, n=50, p=60, loss=loss)
    d["X"][np.abs(d["X"]) < 0.5] = 0.0
    times = np.random.default_rng(0).integers(0, 3, 50)
    weighted = bounds_of(d | {"weights": times.astype(float)})
    repeated = bounds_of(d | {"X": np.repeat(d["X"], times, axis=0), "y": np.repeat(d["y"], times)})
    np.testing.assert_allclose(weighted.lower, repeated.lower, rtol=1e-6)
    sparse = bounds_of(d | {"X": sp.csc_array(d["X"])})
    np.testing.assert_allclose(sparse.lower, bounds_of(d).lower, rtol=1e-6)


def test_bounds_scale_with_the_square_of_y_and_stay_below_tight_optima():
    d = wide(8, n=50, p=30)
    plain = bounds_of(d)
    for c in (1e-6, 1e6):
        np.testing.assert_allclose(
            bounds_of(d | {"y": c * d["y"]}).lower, c * c * plain.lower, rtol=1e-6
        )
    # large means and tiny scales: rounding is what the margin is for; with all columns allowed the
    # bound is tight
    far = d | {"X": d["X"][:, :6] * 1e-3 + 1e3, "y": d["y"] + 1e5}
    problem = problem_of(far)
    Z, w = problem.X.columns(np.arange(6)), problem.weights
    b = np.linalg.solve(Z.T @ (w[:, None] * Z) + 0.1 * np.eye(6), Z.T @ (w * problem.y))
    objective = 0.5 * w @ (problem.y - Z @ b) ** 2 + 0.05 * b @ b
    dual = relaxation.dual_problem(problem, 0.0, 0.05)
    bound = relaxation.cardinality_bounds(
        dual, relaxation.evaluate(dual, (w * (Z @ b - problem.y))[:, None]), 6
    )[6, 0]
    assert objective * (1 - 1e-6) < bound <= objective
