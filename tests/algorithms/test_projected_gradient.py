"""Projected gradients against a plain NumPy twin, enumeration, their own fixed-point map, and the
small examples of Alcantara & Lee.
"""

from functools import cache, partial

import numpy as np
import pytest
from oracles import best_subsets, instances, restricted, restricted_keywords
from problems import in_user_units, plain, problem_of, solver_path, wide_instance
from scipy import sparse

from l0path.algorithms.one_size import solve_size
from l0path.algorithms.operators import all_columns
from l0path.algorithms.projected_gradient import STEP_RULES, VARIANTS
from l0path.core.control import Clock
from l0path.designs import as_design
from l0path.engine.protocols import Session, Slice
from l0path.engine.strategies.sparse import SparseSizes
from l0path.problem.problem import Data, pose
from l0path.problem.verbs import derivatives
from l0path.solvers import ProjectedGradient
from l0path.working_set.model import make_model

solve_k = partial(solve_size, settings=ProjectedGradient())
LOSSES = ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson")
SETTINGS = [ProjectedGradient(variant=variant) for variant in VARIANTS]
PAPERS = [ProjectedGradient(variant=variant, paper_defaults=True) for variant in VARIANTS]


@cache
def enumerated():
    """An instance of every loss with its best subsets, worked out once."""
    out = []
    for d in instances(6, 5, LOSSES):
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
            ProjectedGradient(step="normalized"),
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
    thin.run()
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
