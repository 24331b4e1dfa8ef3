"""The pieces of projected gradients: which columns are kept, step lengths, views of X and
conjugate directions.
"""

import numpy as np
import pytest
from oracles import instances
from problems import plain, problem_of
from scipy import sparse

from l0path.algorithms import extrapolation
from l0path.algorithms.operators import (
    all_columns,
    largest,
    top_eigenvalue,
    working_columns,
    working_rows,
)
from l0path.problem.verbs import mean_loss
from l0path.working_set.model import make_model

LOSSES = ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson")


def test_largest_takes_ties_by_column_number():
    score, index = np.array([1.0, 3.0, 2.0, 2.0, 2.0]), np.array([4, 3, 2, 0, 1])
    assert largest(score, 2, index).tolist() == [1, 3]
    assert largest(score, 3, index).tolist() == [1, 3, 4]
    assert largest(score, 0, index).size == 0
    assert largest(score, 9, index).tolist() == [0, 1, 2, 3, 4]


def test_choose_is_the_best_of_all_supports():
    rng = np.random.default_rng(0)
    for lambda1, box in ((0.0, np.inf), (0.4, np.inf), (0.3, 0.5)):
        d = plain(
            rng.normal(size=(9, 6)),
            rng.normal(size=9),
            lambda1=lambda1,
            lower=-box * np.ones(6),
            upper=2 * box * np.ones(6),
            forced=[4],
            penalty_factor=np.where(np.arange(6) == 4, 0.0, 1.0),
        )
        view = all_columns(problem_of(d), lambda1, 0.0)
        for step in (0.3, 1.7):
            raw = rng.normal(size=6) * 2

            def cost(u, j, raw=raw, step=step, lambda1=lambda1):
                return 0.5 * (u - raw[j]) ** 2 + step * lambda1 * np.abs(u)

            J, u = view.choose(raw, step, 2)
            assert J.size == 3 and 4 in J
            grid = np.linspace(
                -box if np.isfinite(box) else -6, 2 * box if np.isfinite(box) else 6, 60_001
            )
            saved = np.array([cost(0.0, j) - cost(grid, j).min() for j in range(6)])
            saved[4] = np.inf
            assert sorted(J) == sorted(np.argsort(-saved)[:3])
            assert sum(cost(v, j) for v, j in zip(u, J, strict=True)) == pytest.approx(
                sum(cost(grid, j).min() for j in J), abs=1e-6
            )


def test_lanczos_finds_the_largest_eigenvalue():
    A = np.random.default_rng(3).normal(size=(30, 12))
    assert top_eigenvalue(lambda v: A.T @ (A @ v), np.ones(12)) == pytest.approx(
        np.linalg.eigvalsh(A.T @ A)[-1], rel=1e-5
    )
    assert top_eigenvalue(lambda v: v, np.zeros(3)) == 0.0


def test_opposite_columns_do_not_cancel_where_the_largest_eigenvalue_is_sought():
    a = np.random.default_rng(0).normal(size=20)
    X = np.column_stack([a, -a, a, -a])
    view = all_columns(problem_of(plain(X, a)), 0.0, 0.0).measure()
    assert view.spread == pytest.approx(4 * (a @ a) / 20, rel=1e-12)


@pytest.mark.parametrize("d", list(instances(6, 8, LOSSES)), ids=LOSSES)
def test_views_agree_with_each_other_and_with_differences(d):
    problem = problem_of(d)
    model = make_model(problem)
    model.grow(np.arange(problem.X.p))
    views = [
        all_columns(problem, 0.0, 0.3),
        working_rows(model, 0.0, 0.3),
        working_columns(model, 0.0, 0.3),
    ]
    rng = np.random.default_rng(1)
    w, other, b0 = (
        rng.normal(size=problem.X.p) * 0.3,
        rng.normal(size=problem.X.p) * 0.3,
        0.0 if problem.quadratic or not problem.intercept else 0.2,
    )
    spreads = []
    for view in views:
        x, y = view.at(w, b0), view.at(other, b0)
        value = (
            mean_loss(
                problem.loss,
                problem.y,
                problem.offset + problem.X.dot(view.index, w) + b0,
                problem.weights,
            )
            + 0.3 * w @ w
        )
        assert x.value == pytest.approx(value, rel=1e-10)
        slope, bend = view.along(x, y)
        t = 1e-5
        ahead, back = view.between(x, y, t), view.between(x, y, -t)
        assert slope == pytest.approx((ahead.value - back.value) / (2 * t), rel=1e-5, abs=1e-7)
        assert slope == pytest.approx(view.gradient(x)[0] @ (y.w - x.w), rel=1e-9)
        assert bend == pytest.approx(
            (view.along(ahead, y)[0] / (1 - t) - view.along(back, y)[0] / (1 + t)) / (2 * t),
            rel=0.3,
        )
        spreads.append(view.measure().spread)
        J = np.array([0, 2])
        g, diagonal, product = view.local(x, J, problem.X.columns(view.index[J]))
        assert g[:2] == pytest.approx(view.gradient(x)[0][J], rel=1e-9)
        assert product(np.eye(g.size)[0])[0] == pytest.approx(diagonal[0], rel=1e-9)
    assert spreads == pytest.approx([spreads[0]] * 3, rel=1e-4)


def test_extrapolation_is_the_line_minimizer_and_keeps_the_box():
    rng = np.random.default_rng(2)
    d = plain(rng.normal(size=(40, 3)), rng.normal(size=40), upper=0.1)
    view = all_columns(problem_of(d), 0.0, 0.0).measure()
    previous, x = view.at(np.array([0.0, 0.0, 0.05])), view.at(np.array([0.01, -0.03, 0.06]))
    slope, bend = view.along(x, view.between(previous, x, 2.0))
    t = -slope / bend
    ahead = view.between(previous, x, 2.0)
    values = [view.between(x, ahead, s).value for s in (0.99 * t, t, 1.01 * t)]
    assert values[1] <= min(values)  # equations (17), (18): exact for the squared loss
    z = extrapolation.extrapolate(view, previous, x, number=0, step=1.0, paper=False)
    assert z.value <= x.value and (z.w <= 0.1 + 1e-15).all()
    assert (
        extrapolation.extrapolate(view, x, previous, number=0, step=1.0, paper=False) is previous
        or slope > 0
    )


def test_conjugate_directions_solve_and_stop():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(80, 30))
    H, g = A.T @ A, rng.normal(size=30)
    counts = []
    for n in (0.0, 1e6):  # n = 0: no share of progress is small enough
        products = []
        p = extrapolation.conjugate_directions(
            lambda v, products=products: products.append(v) or H @ v, np.diagonal(H), g, n, 60
        )
        counts.append(len(products))
        if n == 0.0:
            assert p == pytest.approx(-np.linalg.solve(H, g), rel=1e-6)
        assert g @ p < 0
    assert (
        2 <= counts[1] < counts[0] / 2
    )  # the share of progress is 1 at the first product, so there are always two


def test_gradient_on_some_columns_is_that_part_of_the_gradient():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 40)) * (rng.random((20, 40)) < 0.2)
    for loss, y in (("squared", rng.normal(size=20)), ("logistic", np.sign(rng.normal(size=20)))):
        for design in (X, sparse.csc_array(X)):
            view = all_columns(problem_of(plain(design, y, loss)), 0.0, 0.1)
            w = np.zeros(40)
            w[[3, 8, 30]] = rng.normal(size=3)
            x = view.at(w)
            for J in (np.array([3, 8, 30]), np.arange(40)):
                assert view.gradient_on(x, J) == pytest.approx(view.gradient(x)[0][J], abs=1e-12)
