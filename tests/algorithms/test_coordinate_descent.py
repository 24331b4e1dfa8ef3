"""Coordinate descent, partial swaps and the lambda0 path against definitions: grid search, exact
one-coordinate optima and enumeration over all columns.
"""

import numpy as np
import pytest
from oracles import (
    LOSSES,
    best_penalized,
    cd_stationary_gap,
    frozen_swap_improvement,
    instances,
    objective,
    restricted_keywords,
)
from problems import in_user_units, problem_of, wide_instance
from thinning import thinned

from l0path.algorithms.cd_kernels import Coordinates, StopRule, cd_gram, line, row_loss
from l0path.algorithms.coordinate_descent import CoordinateDescent, entry_gains
from l0path.algorithms.coordinate_solvers import make_descent
from l0path.core.control import Clock, Stop
from l0path.engine.lambda0.path import STEP, Lambda0Path
from l0path.engine.protocols import Session, Slice, ignore
from l0path.exchange.local_search import LocalSearch
from l0path.problem.losses import make_loss
from l0path.problem.penalties import Interval, entry, separable, threshold
from l0path.working_set.model import make_model

CD, CDPSI = CoordinateDescent(), LocalSearch(refit=False)
PENALTIES = [
    separable(0.5),
    separable(0.2, 0.3),
    separable(0.2, 0.0, 0.4),
    separable(0.1, 0.1, 0.1),
    separable(0.0, 0.2),
]
BOXES = [(-np.inf, np.inf), (-0.5, 0.8), (0.0, np.inf), (0.3, 2.0), (-1.0, -0.2)]


def path_of(d, settings=CD, max_k=None, model=None, listener=ignore, **how):
    """A finished Lambda0Path of an instance."""
    model = make_model(problem_of(d)) if model is None else model
    max_k = d["X"].shape[1] if max_k is None else max_k
    part = Slice(d["lambda1"], d["lambda2"], max_k)
    path = Lambda0Path(model, part, settings, Session(Clock(), listener), **how)
    path.run()
    return path


def gap(d, fit, lambda0):
    """How far a fit is from coordinate-wise optimal over all columns, by the oracle."""
    beta, beta0 = in_user_units(d, fit)
    return cd_stationary_gap(
        d["X"],
        d["y"],
        beta,
        beta0,
        lambda0,
        penalty_factor=d["penalty_factor"],
        **restricted_keywords(d),
    )


# -------------------- one coordinate


def threshold_by_grid(
    penalty, correlation, curvature, factor, lower, upper, grid=np.linspace(-4, 4, 160_001)
):
    b = grid[(grid >= lower) & (grid <= upper)]
    b = np.append(b, 0.0) if lower <= 0 <= upper else b
    cost = (
        curvature / 2 * b**2
        - correlation * b
        + penalty.lambda0 * factor * (b != 0)
        + penalty.lambda1 * abs(b)
        + penalty.lambda2 * b**2
    )
    return b[cost.argmin()]


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_threshold_is_the_grid_minimizer(penalty, box):
    for correlation in (-2.1, -0.31, 0.0, 0.17, 0.9, 2.4):
        for factor in (0.0, 0.7, 2.0):
            found = threshold(penalty, correlation, 1.3, factor, Interval(*box), 0.0)
            assert abs(found - threshold_by_grid(penalty, correlation, 1.3, factor, *box)) < 1e-4


def test_threshold_keeps_the_state_at_a_tie():
    penalty = separable(0.5, tie=1e-12)
    free = Interval(-np.inf, np.inf)
    assert threshold(penalty, 1.0, 1.0, 1.0, free, 0.0) == 0.0
    assert threshold(penalty, 1.0, 1.0, 1.0, free, 0.3) == 1.0


def test_entry_gains_is_entry_on_arrays():
    correlations, box = np.linspace(-3, 3, 41), (-0.5, 0.8)
    for penalty in PENALTIES:
        expected = [entry(penalty, z, 1.3, Interval(*box))[1] for z in correlations]
        np.testing.assert_allclose(
            entry_gains(correlations, 1.3, penalty.lambda1, penalty.lambda2, *box),
            expected,
            atol=1e-15,
        )


@pytest.mark.parametrize(
    "wrong",
    [dict(lambda0=-1.0), dict(lambda0=0.1, lambda1=float("nan")), dict(lambda0=0.1, lambda2=-1e-9)],
)
def test_penalties_are_checked(wrong):
    with pytest.raises(ValueError, match="numbers >= 0"):
        separable(**wrong)


@pytest.mark.parametrize(
    "wrong", [dict(tol=0.0), dict(max_sweeps=0), dict(n_stable=0), dict(screen_size=0)]
)
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CoordinateDescent(**wrong)


@pytest.mark.parametrize(
    "loss", ["logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson"]
)
def test_line_finds_the_minimum_along_a_column(loss):
    rng, record = np.random.default_rng(3), make_loss(loss)
    y = (
        rng.poisson(2.0, 50).astype(float)
        if loss == "poisson"
        else rng.normal(size=50) * 3
        if loss == "huber"
        else rng.choice([-1.0, 1.0], 50)
    )
    z, eta, w = rng.normal(size=50) + 0.4 * y, rng.normal(size=50), np.full(50, 0.02)
    for old, lambda1, lambda2, box in (
        (0.0, 0.0, 0.1, (-9.0, 9.0)),
        (0.7, 0.1, 0.0, (-9.0, 9.0)),
        (-0.4, 0.0, 0.0, (-0.1, 0.2)),
        (0.5, 0.0, 0.0, (0.4, 3.0)),
    ):
        grid = np.append(np.linspace(*box, 9001), np.clip(0.0, *box))
        shifted = eta[:, None] + (grid - old) * z[:, None]
        cost = (
            w @ LOSSES[loss].value(y[:, None], shifted, 0.25, 1.0)
            + lambda1 * abs(grid)
            + lambda2 * grid**2
        )
        rows, shrunk = row_loss(record, y, w, False), separable(0.0, lambda1, lambda2)
        t, gain, end = line(rows, shrunk, eta, z, old, *box)
        assert end <= cost.min() + 1e-12 and end >= cost.min() - 1e-5
        assert abs(cost[-1] - end - gain) < 1e-12 and box[0] <= t <= box[1]


@pytest.mark.parametrize("reach", [100.0, 1400.0, 1e5])
def test_line_finds_the_minimum_before_the_exponential_of_a_far_row(reach):
    rng = np.random.default_rng(8)
    z, y, w = rng.normal(size=40), rng.gamma(2.0, size=40), np.full(40, 1.0)
    y *= np.exp(-0.5 * z)
    z[7], w[7] = reach, 1e-8
    eta, rows = np.zeros(40), row_loss(make_loss("gamma"), y, w / w.sum(), False)
    eta[7] = 0.12 * reach  # the predictor there has room for a step to -0.12
    t, gain, end = line(rows, separable(0.0), eta, z, 0.0, -np.inf, np.inf)
    grid = np.linspace(-0.6, 0.0, 60_001)
    with np.errstate(over="ignore"):
        shifted = eta[:, None] + grid * z[:, None]
        cost = rows.weights @ (y[:, None] * np.exp(-shifted) + shifted)
    assert grid[0] < t < grid[-1] and gain > 0.01
    assert end <= cost.min() + 1e-12 and end == pytest.approx(cost.min(), rel=1e-4)


# -------------------- descent


def test_every_gram_sweep_lowers_the_objective():
    d = wide_instance(lambda1=0.02)
    model = make_model(problem_of(d))
    model.grow(np.arange(150))
    w, q = model.width, model.q
    G, penalty, free = model.G, separable(0.02, 0.02, 1e-2), np.full(model.width, np.inf)

    def value(b):
        return (
            0.5 * b @ G[:w, :w] @ b
            - q @ b
            + 0.02 * np.count_nonzero(b)
            + 0.02 * np.abs(b).sum()
            + 1e-2 * b @ b
        )

    b, c = np.zeros(w), q.copy()
    columns = Coordinates(np.ones(w), -free, free, np.zeros(w, dtype=bool))
    values = [value(b)]
    for _ in range(30):
        cd_gram(penalty, G, b, c, np.arange(w), columns, StopRule(1, 1, 1e-12))
        values.append(value(b))
        np.testing.assert_allclose(c, q - G[:w, :w] @ b, atol=1e-12)
    assert np.all(np.diff(values) <= 1e-14) and values[-1] < values[0]


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_a_descent_from_a_fit_descends_and_leaves_its_start_alone(loss):
    d = wide_instance(loss=loss if loss == "squared" else "logistic") | {"loss": loss}
    model = make_model(problem_of(d))
    model.grow(np.arange(120))
    start = model.refit(np.array([3, 40, 77]), 0.0, 1e-2)
    kept, X, y = start.b.copy(), d["X"].copy(), d["y"].copy()
    fit = make_descent(model, 0.0, 1e-2).solve(0.01, start)
    descent = make_descent(model, 0.0, 1e-2)
    assert descent.objective(0.01, fit) < descent.objective(0.01, start)
    assert descent.lambda0_entry(fit) <= 0.01 * (1 + 1e-9)
    assert np.array_equal(start.b, kept) and np.array_equal(d["X"], X) and np.array_equal(d["y"], y)
    again = make_descent(model, 0.0, 1e-2).solve(0.01, fit)
    assert np.array_equal(again.support, fit.support) and again.value == fit.value


# -------------------- the path


@pytest.mark.parametrize("settings", [CD, CDPSI], ids=["cd", "cdpsi"])
def test_points_are_stationary_over_all_columns(settings):
    for d in instances(12, seed=5):
        path, seen = path_of(d, settings), []
        for point in path.points:
            assert point.verified or point.fit.flags
            if point.fit.flags:
                continue
            beta, beta0 = in_user_units(d, point.fit)
            same = restricted_keywords(d)
            plain = {key: value for key, value in same.items() if key not in ("lower", "upper")}
            assert abs(
                objective(d["X"], d["y"], beta, beta0, **plain) - point.fit.value
            ) < 1e-10 * max(1, abs(point.fit.value))
            assert gap(d, point.fit, point.lambda0) < 1e-8
            assert np.isin(d["forced"], point.fit.support).all()
            if settings is CDPSI and point.fit.support.size > len(d["forced"]):
                words = same | {"forced": d["forced"], "penalty_factor": d["penalty_factor"]}
                gain = frozen_swap_improvement(d["X"], d["y"], beta, beta0, point.lambda0, **words)
                assert gain < 1e-8
            seen.append(point.lambda0)
        assert seen == sorted(seen, reverse=True)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_dynamic_grid_goes_just_below_where_a_column_enters(loss):
    d = wide_instance(loss=loss, p=60, penalty_factor=np.random.default_rng(1).uniform(0.5, 2, 60))
    path = path_of(d, max_k=15)
    assert (
        len(path.points) > 5
        and path.points[0].fit.support.size == 0
        and path.points[0].lambda0 == path.points[0].lambda_lo
    )
    for here, there in zip(path.points, path.points[1:], strict=False):
        assert there.lambda0 == pytest.approx(STEP * here.lambda_lo, rel=1e-8)
        assert (
            gap(d, here.fit, here.lambda_lo * (1 + 1e-7)) < 1e-9
        )  # the support is stationary down to lambda_lo
        assert gap(d, here.fit, there.lambda0) > 0  # and no further
    assert all(point.fit.support.size <= 15 for point in path.points)


@pytest.mark.parametrize("settings", [CD, CDPSI, LocalSearch()], ids=["cd", "cdpsi", "refit"])
def test_a_grid_of_ones_own_is_solved_at_every_value(settings):
    for d in instances(6, seed=8):
        grid = np.geomspace(1, 1e-3, 9)[np.random.default_rng(0).permutation(9)] * 0.3
        path = path_of(d, settings, max_k=1, lambda0=grid)
        assert [point.lambda0 for point in path.points] == sorted(grid.tolist(), reverse=True)
        cost = np.array(
            [
                [path.descent.objective(value, point.fit) for point in path.points]
                for value in sorted(grid)[::-1]
            ]
        )
        usable = [i for i, point in enumerate(path.points) if not point.fit.flags]
        for i in usable:
            assert cost[i, i] <= cost[i, usable].min() + 1e-8  # no other point is better here
            assert gap(d, path.points[i].fit, path.points[i].lambda0) < 1e-8


def test_swaps_are_checked_over_all_columns():
    d = wide_instance(n=50, p=120, rho=0.5)
    path = path_of(d, CDPSI, max_k=12)
    assert path.model.width < 120 and all(
        point.verified and point.optimality == "swap" for point in path.points
    )
    for point in path.points[1:]:
        assert (
            frozen_swap_improvement(
                d["X"], d["y"], *in_user_units(d, point.fit), **restricted_keywords(d)
            )
            < 1e-9
        )


def test_refit_moves_come_near_the_global_minimum():
    hits, count = 0, 0
    for d in instances(12, seed=21):
        point = path_of(d, LocalSearch(), lambda0=[d["lambda0"]]).points[0]
        found = point.fit.value + d["lambda0"] * d["penalty_factor"][point.fit.support].sum()
        best, _ = best_penalized(
            d["X"],
            d["y"],
            d["lambda0"],
            penalty_factor=d["penalty_factor"],
            forced=d["forced"],
            **restricted_keywords(d),
        )
        assert found >= best - 1e-8
        hits, count = hits + (found <= best + 1e-7), count + 1
    assert hits >= count - 1


def from_few_and_from_all(d, settings):
    """Two paths over one grid: W seeded with a few columns, and with all of them."""
    grid = np.geomspace(0.2, 0.01, 6) * (1.0 if d["loss"] == "squared" else 0.2)
    few, model = path_of(d, settings, lambda0=grid, max_k=2), make_model(problem_of(d))
    model.grow(np.arange(d["X"].shape[1]))
    full = path_of(d, settings, lambda0=grid, model=model)
    assert few.model.width < full.model.width == d["X"].shape[1]
    assert all(point.verified for point in few.points + full.points)
    return (
        few,
        full,
        [
            few.descent.objective(a.lambda0, a.fit) / full.descent.objective(b.lambda0, b.fit) - 1
            for a, b in zip(few.points, full.points, strict=True)
        ],
    )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("settings", [CoordinateDescent(screen_size=8), CDPSI], ids=["cd", "cdpsi"])
def test_a_small_working_set_finds_what_all_columns_find(loss, settings):
    few, full, excess = from_few_and_from_all(wide_instance(n=300, rho=0.0, loss=loss), settings)
    for a, b in zip(few.points[:3], full.points[:3], strict=True):
        assert np.array_equal(a.fit.support, b.fit.support)
    assert max(excess[:3]) < 1e-8
    # further down, and where neighbors are much alike, stationary points abound, and which one is
    # met depends on the order: neither way is the better one on average
    assert (
        np.mean(
            [
                from_few_and_from_all(wide_instance(seed=seed, loss=loss), settings)[2]
                for seed in range(6)
            ]
        )
        < 0.02
    )


def test_the_best_met_and_fill_give_every_size():
    path = path_of(wide_instance(), max_k=20)
    sizes = path.fill(20)
    assert sorted(sizes) == list(range(21)) and all(
        fit.support.size == k for k, fit in sizes.items()
    )
    assert np.all(np.diff([sizes[k].value for k in range(21)]) < 0)
    best = path.best_by_size()
    assert all(sizes[k].value <= best[k].value + 1e-12 for k in best if k <= 20)
    for point in path.points:
        assert best[point.fit.support.size].value <= point.fit.value * (1 + 1e-9)


# -------------------- interruption, listeners


class Impatient(Clock):
    """Stops at the poll of a given number."""

    def __init__(self, polls):
        super().__init__()
        self.left = polls

    def poll(self):
        self.left -= 1
        if self.left < 0:
            raise Stop("enough")


@pytest.mark.parametrize("polls", [0, 1, 5, 20, 60])
def test_an_interrupt_leaves_what_was_solved(polls):
    d = wide_instance()
    whole = path_of(d, max_k=20)
    session = Session(Impatient(polls))
    path = Lambda0Path(make_model(problem_of(d)), Slice(0.0, 1e-2, 20), CD, session)
    with pytest.raises(Stop):
        path.run()
    values = [point.lambda0 for point in path.points]
    assert values == sorted(values, reverse=True) and len(values) <= len(whole.points) + 20
    assert polls < 5 or values


def test_the_listener_hears_each_verified_point_once():
    heard = []
    path = path_of(wide_instance(), max_k=20, listener=heard.append)
    assert tuple(heard) == path.result.points
    assert all(point.optimality == "cd" for point in heard)
    assert path.rounds[-1]["verified"] == len(path.points)


@pytest.mark.parametrize(
    ("loss", "settings"),
    thinned(
        2,
        ("squared", "logistic"),
        (
            LocalSearch(refit=False, max_swaps=1),
            LocalSearch(max_swaps=1),
            CoordinateDescent(max_sweeps=1),
        ),
    ),
)
def test_a_search_that_ends_early_says_so_and_ends(loss, settings):
    path = path_of(
        wide_instance(loss=loss), settings, max_k=15, lambda0=np.geomspace(0.1, 0.005, 5)
    )
    assert len(path.points) == 5
    for point in path.points:
        assert point.verified == (point.optimality != "unverified")
        assert not point.verified or gap(wide_instance(loss=loss), point.fit, point.lambda0) < 1e-9


def test_columns_without_a_price_enter_first_and_infinite_ones_never():
    factor = np.ones(60)
    factor[7], factor[[0, 5]] = 0.0, np.inf
    d = wide_instance(p=60, penalty_factor=factor)
    path = path_of(d, max_k=10)
    assert all(7 in point.fit.support for point in path.points)
    assert not any(np.isin([0, 5], point.fit.support).any() for point in path.points)


def test_separated_classes_end_the_path():
    d = wide_instance(loss="logistic", n=40, lambda2=0.0)
    path = path_of(d, max_k=30)
    assert "separated" in path.points[-1].fit.flags and not any(
        "separated" in point.fit.flags for point in path.points[:-1]
    )
    own = path_of(d, max_k=30, lambda0=np.geomspace(0.3, 1e-5, 12))
    assert len(own.points) == 12
