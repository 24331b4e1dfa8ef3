"""Projected gradients against a plain NumPy twin, enumeration, their own fixed-point map, and the
small examples of Alcantara & Lee; the path of all sizes that every k-sparse solver shares.
"""

from functools import cache, partial

import numpy as np
import pytest
from oracles import best_subsets, instances, restricted, restricted_keywords
from problems import in_user_units, plain, problem_of, solver_path, wide_instance
from scipy import sparse

import l0path
from l0path.core.control import Clock, Stop
from l0path.designs import as_design
from l0path.engine.protocols import Session, Slice
from l0path.engine.size_path import SizePath
from l0path.engine.strategies.columns import ColumnExchanges
from l0path.engine.strategies.sparse import SparseSizes
from l0path.exchange.ranking import Wanted
from l0path.exchange.verification import violators
from l0path.first_order import extrapolation
from l0path.first_order.one_size import solve_size
from l0path.first_order.operators import (
    all_columns,
    largest,
    top_eigenvalue,
    working_columns,
    working_rows,
)
from l0path.first_order.projected_gradient import STEP_RULES, VARIANTS
from l0path.problem.penalties import separable
from l0path.problem.problem import Data, pose
from l0path.problem.verbs import derivatives, mean_loss
from l0path.solvers import LocalSearch, ProjectedGradient
from l0path.working_set.hinge import make_model

solve_k = partial(solve_size, settings=ProjectedGradient())

LOSSES = ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson")
SETTINGS = [ProjectedGradient(variant=variant) for variant in VARIANTS]
PAPERS = [ProjectedGradient(variant=variant, paper_defaults=True) for variant in VARIANTS]


@cache
def enumerated():
    """Twelve instances with their best subsets, worked out once."""
    out = []
    for d in instances(12, 5, LOSSES):
        d["lambda2"] = max(d["lambda2"], 1e-3)
        out.append(
            (d, best_subsets(d["X"], d["y"], 3, forced=d["forced"], **restricted_keywords(d)))
        )
    return out


def full_gradient(problem, fit, lambda2):
    """Gradient of the smooth part over all columns, (p,), by the design alone."""
    eta = (
        problem.offset + problem.X.dot(fit.support, fit.b) + (0.0 if problem.quadratic else fit.b0)
    )
    slopes, curvatures = np.empty(eta.size), np.empty(eta.size)
    derivatives(problem.loss, problem.y, eta, problem.weights, slopes, curvatures)
    g = problem.X.correlate(slopes)
    g[fit.support] += 2.0 * lambda2 * fit.b
    return g, float(slopes.sum())


# -------------------- the pieces


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


def test_extrapolation_is_the_line_minimiser_and_keeps_the_box():
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


# -------------------- definition


def twin(Z, w, y, k, steps):
    """Projected gradient by its definition, squared loss: w <- H_k(w - grad / L'), (0.999 / L, from
    zero), residual (24); returns the support and the number of maps.
    """
    L = np.linalg.eigvalsh(Z.T @ (w[:, None] * Z))[-1]
    b, step, count = np.zeros(Z.shape[1]), 0.999 / L, 0
    while count < steps:
        count += 1
        g = Z.T @ (w * (Z @ b - y))
        new, raw = np.zeros_like(b), b - step * g
        keep = np.argsort(-np.abs(raw), kind="stable")[:k]
        new[keep] = raw[keep]
        residual = np.linalg.norm(new - b) / (1 + np.linalg.norm(b) + step * np.linalg.norm(g))
        b = new
        if residual < 1e-6:
            break
    return np.flatnonzero(b), count


@pytest.mark.parametrize("seed", range(4))
def test_paper_pg_is_its_definition(seed):
    d = wide_instance(seed, n=40, p=60, k=4, rho=0.5, lambda2=0.0)
    problem = problem_of(d)
    support, count = twin(problem.X.columns(np.arange(60)), problem.weights, problem.y, 4, 10_000)
    outcome = solve_k(make_model(problem), 4, settings=ProjectedGradient(paper_defaults=True))
    assert outcome.fit.support.tolist() == support.tolist()
    assert abs(outcome.iterations - count) <= 2
    value, beta, _ = restricted(d["X"], d["y"], support)
    assert outcome.fit.value == pytest.approx(value, rel=1e-9)
    assert in_user_units(d, outcome.fit)[0] == pytest.approx(beta, abs=1e-8)


@pytest.mark.parametrize(
    "settings", SETTINGS + PAPERS, ids=lambda s: s.variant + ("*" if s.paper_defaults else "")
)
def test_sizes_against_enumeration(settings):
    """No size is below the optimum, most are at it; every loss, with weights, offsets, boxes,
    forced columns and shrinkage.
    """
    reached = total = 0
    for d, best in enumerated():
        if d["loss"] == "poisson" and settings.paper_defaults:
            continue
        path = solver_path(d, settings, 3)
        for k, fit in path.pool.fits.items():
            assert fit.value >= best[k][0] - 1e-9 * abs(best[k][0])
            assert fit.value == pytest.approx(
                restricted(d["X"], d["y"], fit.support, **restricted_keywords(d))[0],
                rel=1e-7,
                abs=1e-9,
            )
            reached += fit.value <= best[k][0] + 1e-7 * abs(best[k][0])
            total += 1
            assert path.optimality(k) == "stationary"
    assert reached >= (0.9 if not settings.paper_defaults else 0.8) * total


@pytest.mark.parametrize("loss", LOSSES)
def test_a_fit_is_a_fixed_point_of_its_map_over_all_columns(loss):
    for d in instances(3, 31, (loss,)):
        d["lambda2"] = max(d["lambda2"], 1e-3)
        problem = problem_of(d)
        view = all_columns(problem, d["lambda1"], d["lambda2"])
        for settings in (
            ProjectedGradient(),
            ProjectedGradient(variant="apg+"),
            ProjectedGradient(variant="htp"),
            ProjectedGradient(step="normalised"),
        ):
            k = min(2, int(view.selectable.sum()))
            outcome = solve_k(
                make_model(problem),
                k,
                lambda1=d["lambda1"],
                lambda2=d["lambda2"],
                settings=settings,
            )
            assert outcome.status == "stationary"
            b = np.zeros(problem.X.p)
            b[outcome.fit.support] = outcome.fit.b
            g, g0 = full_gradient(problem, outcome.fit, d["lambda2"])
            J, u = view.choose(b - outcome.step * g, outcome.step, k)
            image = np.zeros(problem.X.p)
            image[J] = u
            assert image == pytest.approx(b, abs=2e-6 * max(1.0, outcome.step))
            assert not problem.intercept or problem.quadratic or abs(g0) < 1e-7


@pytest.mark.parametrize(
    "settings",
    SETTINGS + PAPERS[:5] + [ProjectedGradient(step=step) for step in STEP_RULES],
    ids=lambda s: f"{s.variant}{'*' if s.paper_defaults else ''}-{s.rule}",
)
def test_values_never_rise(settings):
    """Maps, extrapolations and Newton steps only go down: F(w+) <= F(z) <= F(w)."""
    for d in (
        wide_instance(3, n=60, p=80, k=5, lambda2=1e-3),
        wide_instance(4, n=60, p=80, k=5, lambda2=1e-3, loss="logistic"),
    ):
        seen = []
        outcome = solve_k(
            make_model(problem_of(d)),
            5,
            lambda2=1e-3,
            settings=settings,
            watch=lambda name, value, seen=seen: seen.append((name, value)),
        )
        kinds = {"pg_ll": {"chosen"}}.get(
            settings.variant,
            {"map", "extrapolated", "solved"}
            if settings.variant != "htp" or settings.rule == "fixed"
            else {"refit"},
        )
        values = np.array([value for name, value in seen if name in kinds])
        if settings.variant == "htp":
            values = np.minimum.accumulate(values)  # refused trials are heard of as well
        assert (np.diff(values) <= 1e-12).all()
        assert outcome.fit.value <= values.min(initial=np.inf) + 1e-12


def test_extrapolation_of_the_paper_saves_most_gradients_of_a_wide_design():
    """The fixed step of a wide X is short for each single column: the plain method creeps, the
    extrapolated one ends in a few maps. The constants are those of the sum loss, per ||d||^2.
    """
    rng = np.random.default_rng(0)
    for sparsely in (False, True):
        X = rng.normal(size=(30, 1500)) * (rng.random((30, 1500)) < (0.05 if sparsely else 1.0))
        for loss, y in (
            ("squared", 2.0 * X[:, 7] + rng.normal(size=30)),
            ("logistic", np.sign(X[:, 7] + rng.normal(size=30))),
        ):
            problem = problem_of(plain(sparse.csc_array(X) if sparsely else X, y, loss))
            plainly, faster = (
                solve_k(
                    make_model(problem),
                    1,
                    lambda2=1e-6,
                    settings=ProjectedGradient(variant=variant, paper_defaults=True),
                )
                for variant in ("pg", "apg")
            )
            assert faster.status == "converged"
            assert 4 * faster.iterations < plainly.iterations
            assert faster.fit.value <= plainly.fit.value + 1e-9


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


def test_longer_steps_have_fewer_fixed_points():
    """X = I, y = (1, 1.05), one column: (1, 0) is a fixed point for the step 0.9 / L and not for
    0.99 / L (L = 1 / 2 is that of the mean loss).
    """
    problem = problem_of(plain(np.eye(2), np.array([1.0, 1.05])))
    view = all_columns(problem, 0.0, 0.0).measure()
    assert view.lipschitz == pytest.approx(0.5)
    x = view.at(np.array([1.0, 0.0]))
    for step, chosen in ((0.9, 0), (0.99, 1)):
        J, _ = view.choose(
            x.w - step / view.lipschitz * view.gradient(x)[0], step / view.lipschitz, 1
        )
        assert J.tolist() == [chosen]
    model = make_model(problem)
    model.grow(np.arange(2))
    outcome = solve_k(
        model,
        1,
        settings=ProjectedGradient(step="fixed"),
        start=model.refit(np.array([0]), 0.0, 0.0),
    )
    assert outcome.fit.support.tolist() == [1]


def test_default_steps_end_at_better_points_than_the_fixed_one():
    gain = []
    for seed in range(4):
        d = wide_instance(seed, n=100, p=300, k=10, rho=0.8, lambda2=0.0)
        adaptive, fixed = (
            solve_k(make_model(problem_of(d)), 10, settings=settings)
            for settings in (ProjectedGradient(), ProjectedGradient(paper_defaults=True))
        )
        gain.append(fixed.fit.value / adaptive.fit.value)
        assert adaptive.iterations < fixed.iterations
    assert np.median(gain) > 1.2


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_scale_of_y_and_the_order_of_columns_do_not_matter(variant):
    d = wide_instance(7, n=60, p=40, k=4, lambda2=1e-3)
    settings = ProjectedGradient(variant=variant)
    here = solve_k(make_model(problem_of(d)), 4, lambda2=1e-3, settings=settings)
    big = solve_k(
        make_model(problem_of(d | {"y": 1e4 * d["y"]})), 4, lambda2=1e-3, settings=settings
    )
    assert big.fit.support.tolist() == here.fit.support.tolist()
    assert big.fit.value == pytest.approx(1e8 * here.fit.value, rel=1e-8)
    order = np.random.default_rng(0).permutation(40)
    turned = solve_k(
        make_model(problem_of(d | {"X": d["X"][:, order]})), 4, lambda2=1e-3, settings=settings
    )
    assert sorted(order[turned.fit.support]) == here.fit.support.tolist()
    assert turned.fit.value == pytest.approx(here.fit.value, rel=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_weights_are_repeated_rows_and_sparse_is_dense(loss):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.4)
    eta = X[:, 0] - X[:, 1]
    y = {
        "squared": eta + 0.3 * rng.normal(size=40),
        "logistic": np.where(eta + rng.logistic(size=40) > 0, 1.0, -1.0),
        "poisson": rng.poisson(np.exp(0.5 * eta)).astype(float),
    }[loss]
    w = rng.integers(1, 4, 40)
    d = plain(X, y, loss, standardize=True, intercept=True, lambda2=1e-2)
    settings = ProjectedGradient(
        variant="apg", paper_defaults=loss == "logistic"
    )  # on all columns through the design, or on working columns
    rows = solver_path(d | {"X": np.repeat(X, w, axis=0), "y": np.repeat(y, w)}, settings, 4)
    weighted = solver_path(d | {"weights": w.astype(float)}, settings, 4)
    design, names, _, _ = as_design(sparse.csc_array(X))
    none = np.full(12, np.inf)
    data = Data(
        design=design,
        y=y,
        loss=problem_of(d).loss,
        weights=w.astype(float),
        lower=-none,
        upper=none,
        factor=np.ones(12),
        forced=np.empty(0, np.int64),
        excluded=np.zeros(12, bool),
        names=names,
    )
    thin = SparseSizes(make_model(pose(data)), Slice(0.0, 1e-2, 4), settings, Session(Clock()))
    SizePath(thin).run()
    for k in range(5):
        for other in (rows, thin):
            assert other.pool.fits[k].support.tolist() == weighted.pool.fits[k].support.tolist()
            assert other.pool.fits[k].value == pytest.approx(weighted.pool.fits[k].value, rel=1e-9)


def test_settings_and_problems_are_checked():
    for bad, message in (
        ({"variant": "sgd"}, "variant='sgd'"),
        ({"step": "long"}, "step='long'"),
        ({"tol": 0}, "tol=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"identify": 1.5}, "identify=1.5"),
    ):
        with pytest.raises(ValueError, match=message):
            ProjectedGradient(**bad)
    d = next(instances(1, 1, ("poisson",)))
    with pytest.raises(ValueError, match="backtracking"):
        solve_k(make_model(problem_of(d)), 1, settings=ProjectedGradient(paper_defaults=True))
    with pytest.raises(ValueError, match="k=99 exceeds"):
        solve_k(make_model(problem_of(d)), 99)


# -------------------- every size


def test_path_reads_x_a_few_times_and_serves_an_engine():
    d, heard = wide_instance(5, lambda2=0.0), []
    path = solver_path(
        d, ProjectedGradient(variant="apg+"), 15, listener=lambda point: heard.append(point.k)
    )
    assert sorted(set(heard)) == sorted(path.pool.fits) == list(range(16))
    assert (np.diff([path.pool.fits[k].value for k in range(16)]) < 0).all()
    assert path.model.reads < 15 and path.model.width < 250
    assert [row["verified"] for row in path.rounds][-1] == 16
    assert path.next_value() < path.pool.fits[15].value
    assert [support.size for support in path.result().starts] == list(range(1, 16))
    assert np.isnan(path.bound(3))
    paper = solver_path(d, ProjectedGradient(variant="apg+", paper_defaults=True), 4)
    assert (
        paper.next_value() < paper.pool.fits[4].value
    )  # columns that no size has used are asked as well


def test_polish_leaves_no_swap_among_all_columns():
    d = wide_instance(2, lambda2=0.0)
    alone, polished = (
        solver_path(d, ProjectedGradient(variant="apg+", polish=polish), 12)
        for polish in (False, True)
    )
    values = np.array([[path.pool.fits[k].value for k in range(13)] for path in (alone, polished)])
    assert (values[1] <= values[0] * (1 + 1e-9)).all()
    assert values[1].sum() < 0.99 * values[0].sum()
    for k in range(1, 13):
        fit = polished.pool.fits[k]
        assert polished.neighbourhood.swap(fit).value >= fit.value * (1 - 1e-9)
        wanted = Wanted(1e300, -1e-8 * fit.value, 5)
        assert not violators(polished.model, [fit], [wanted], separable(0.0))[0]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_polish_looks_beyond_the_working_columns(loss):
    """Columns with a common factor: the map alone, with W full of decoys, once left polished paths
    at three times the objective of the default one.
    """
    rng = np.random.default_rng(4)
    X = np.sqrt(0.5) * rng.normal(size=(150, 1200)) + np.sqrt(0.5) * rng.normal(size=(150, 1))
    signal = X[:, ::80].sum(axis=1)
    y = signal - signal.mean() + rng.normal(size=150)
    y = y if loss == "squared" else np.sign(y)
    polished, plain, swap = (
        l0path.fit(X, y, loss=loss, lambda2=0.01, max_k=14, algorithm=a).table.objective
        for a in (ProjectedGradient(polish=True), "pg", "swap")
    )
    assert (polished <= plain * (1 + 1e-9)).all() and polished.iloc[-1] < 1.02 * swap.iloc[-1]


def test_time_limit_keeps_what_was_solved():
    clock = Clock(0.02)
    model = make_model(problem_of(wide_instance(1, p=1500)))
    settings = ProjectedGradient(variant="pg_ll")
    path = SparseSizes(model, Slice(0.0, 0.0, 40), settings, Session(clock))
    with pytest.raises(Stop):
        SizePath(path).run()
    assert 0 in path.pool.fits and len(path.pool.fits) < 41
    assert path.optimality(max(path.pool.fits)) in ("unverified", "stationary")


def test_supports_from_elsewhere_compete():
    d = wide_instance(2, lambda2=0.0)
    model = make_model(problem_of(d))
    search = ColumnExchanges(model, Slice(0.0, 0.0, 12), LocalSearch(), Session(Clock()))
    SizePath(search).run()
    path = solver_path(d, ProjectedGradient(), 12, supports=search.result().starts)
    assert all(path.pool.fits[k].value <= search.pool.fits[k].value * (1 + 1e-9) for k in range(13))


def test_degenerate_problems():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(30, 6))
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=30)
    options = dict(standardize=True, intercept=True)
    for settings in (
        ProjectedGradient(),
        ProjectedGradient(variant="apg+"),
        ProjectedGradient(variant="htp"),
    ):
        perfect = solver_path(plain(X, X[:, 0] - X[:, 1], **options), settings, 6)
        assert (perfect.pool.last, perfect.pool.end) == (2, "saturated")
        twins = solver_path(plain(np.column_stack([X, X, np.ones(30)]), y, **options), settings, 4)
        assert sorted(twins.pool.fits) == [0, 1, 2, 3, 4] and twins.pool.fits[
            2
        ].support.tolist() == [0, 1]
        apart = solver_path(
            plain(X, np.where(X[:, 0] > 0, 1.0, -1.0), "logistic", **options), settings, 6
        )
        assert (apart.pool.last, apart.pool.end) == (1, "separated") and apart.optimality(
            1
        ) == "unverified"
        flat = solver_path(plain(X, np.ones(30), **options), settings, 6)
        assert (flat.pool.last, flat.pool.end) == (0, "saturated")
