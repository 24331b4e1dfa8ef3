"""Every algorithm through `l0path.fit`, against enumeration: losses, designs, both grids, boxes and
forced columns, weights, bounds, errors, folds and what stops a fit early.
"""

import time
from functools import cache

import numpy as np
import oracles
import pytest
from asked import asked
from recomputed import objective_of
from scipy import sparse
from thinning import diagonals, slow_but, thinned

import l0path
from l0path.engine.registry import names
from l0path.solvers import DualIHT, FeatureGenerating, PrimalDual, ProjectedGradient

DUAL = ("dual_iht", "stochastic_dual_iht", "primal_dual")
SPARSE = (
    "pg",
    "apg",
    "pg+",
    "apg+",
    "pg_ll",
    "htp",
    "dual_iht",
    "stochastic_dual_iht",
    "feature_generating",
)
NEW = (*SPARSE, "primal_dual")
LOSSES = tuple(oracles.LOSSES)
PAIRS = [
    (name, loss)
    for name in NEW
    for loss in LOSSES
    if not (loss == "poisson" and name in (*DUAL, "feature_generating"))
]
# losses differ in the steps that they allow, not in how an algorithm uses them
SOME_PAIRS = slow_but(diagonals(3, NEW, LOSSES), PAIRS)
POLISHED = {
    "pg": ProjectedGradient(polish=True),
    "htp": ProjectedGradient(variant="htp", polish=True),
    "dual_iht": DualIHT(polish=True),
    "feature_generating": FeatureGenerating(polish=True),
}
MAX_K = 4


@cache
def data(loss, seed=3, n=60, p=7):
    """X with a common factor and a few zeros, y."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) + 0.7 * rng.normal(size=(n, 1))) * (rng.random((n, p)) < 0.8)
    return X, oracles._response(loss, X[:, 1] - 0.8 * X[:, 4] + 0.5 * X[:, 6], rng)


def shrunk(loss, name, value=0.05):
    """Arguments of a fit: a ridge where the method or the classes need one."""
    ridge = value if name in DUAL or loss in oracles.CLASSES else 0.0
    return {"loss": loss, "lambda2": ridge} | ({"delta": 1.345} if loss == "huber" else {})


def bounds(name, arguments):
    """Whether an algorithm brings bounds along."""
    return name in DUAL or (name == "feature_generating" and arguments["lambda2"] > 0)


@cache
def optima(loss, lambda2, seed=3):
    return {
        k: value
        for k, (value, _) in oracles.best_subsets(
            *data(loss, seed), MAX_K, loss=loss, lambda2=lambda2
        ).items()
    }


def check_rows(path, X, y, best, *, same):
    """No row is below the optimum of its size, every one is the optimum on its support, and no
    bound is above an optimum.
    """
    for s in path._solutions:
        loose = s.loss + s.shrinkage
        assert loose >= best[s.k] - 1e-9 * abs(best[s.k]) - 1e-12
        assert loose == pytest.approx(
            oracles.restricted(X, y, s.support, **same)[0], rel=1e-8, abs=1e-12
        )
        on_grid = s.k * s.lambda0 if np.isfinite(s.lambda0) else 0.0
        assert not s.lower_bound > best[s.k] + on_grid + 1e-9 * abs(best[s.k])
        assert s.optimality != "global" or loose == pytest.approx(
            best[s.k], rel=2e-6
        )  # a gap of 1e-6 is closed


# -------------------- losses, designs, grids


@pytest.mark.parametrize(("name", "loss"), SOME_PAIRS)
def test_support_grid_against_enumeration(name, loss):
    X, y = data(loss)
    arguments = shrunk(loss, name)
    best = optima(loss, arguments["lambda2"])
    dense, thin = (
        l0path.fit(A, y, algorithm=name, max_k=MAX_K, **asked(arguments))
        for A in (X, sparse.csc_matrix(X))
    )
    assert (
        dense.details.k.tolist() == list(range(MAX_K + 1))
        and dense.status == f"complete: k = 0..{MAX_K}"
    )
    check_rows(dense, X, y, best, same=arguments)
    assert set(dense.details.optimality[1:]) <= {"stationary", "cd", "global"}
    assert [s.support.tolist() for s in thin._solutions] == [
        s.support.tolist() for s in dense._solutions
    ]
    assert thin.details.objective.to_numpy() == pytest.approx(
        dense.details.objective.to_numpy(), rel=1e-9
    )
    # a column that was compared with all others has a bound whatever the algorithm
    searched = dense.details[1:][dense.details.optimality[1:] != "global"]
    has_bound = searched.lower_bound.notna()
    assert has_bound.all() if bounds(name, arguments) else not has_bound.any()


@pytest.mark.parametrize(("name", "loss"), SOME_PAIRS)
def test_lambda0_grid_against_enumeration(name, loss):
    X, y = data(loss)
    arguments = shrunk(loss, name)
    best = optima(loss, arguments["lambda2"])
    path = l0path.fit(X, y, algorithm=name, max_k=MAX_K, lambda0="grid", **asked(arguments))
    assert (
        path.details.k.iloc[0] == 0
        and 2 <= path.details.k.iloc[-1] <= MAX_K
        and path.details.k.is_monotonic_increasing
        and path.details.lambda0.is_monotonic_decreasing
    )
    check_rows(path, X, y, best, same=arguments)
    assert set(path.details.optimality) <= {"stationary", "cd", "global"}
    assert (
        (path.details.lower_bound.notna() & (path.details.gap < 1.0)).all()
        if bounds(name, arguments)
        else path.details.lower_bound.isna().all()
    )
    given = l0path.fit(
        X,
        y,
        algorithm=name,
        max_k=X.shape[1],
        lambda0=path.details.lambda0.to_numpy(),
        **asked(arguments),
    )
    for s in given._solutions:
        beta = np.zeros(X.shape[1])
        beta[s.support] = s.beta
        assert s.objective == pytest.approx(
            oracles.objective(X, y, beta, s.intercept, lambda0=s.lambda0, **arguments), rel=1e-9
        )
        least = min(
            value + s.lambda0 * k for k, value in optima_all(loss, arguments["lambda2"]).items()
        )
        assert s.objective >= least - 1e-9 * abs(
            s.objective
        ) - 1e-12 and not s.lower_bound > least + 1e-9 * abs(least)
        assert s.optimality != "global" or s.objective <= least * (1 + 2e-6)
        assert name in SPARSE or oracles.cd_stationary_gap(
            X, y, beta, s.intercept, s.lambda0, **arguments
        ) <= 1e-7 * max(s.objective, 1e-3)


@cache
def optima_all(loss, lambda2):
    X, y = data(loss)
    return {
        k: value
        for k, (value, _) in oracles.best_subsets(
            X, y, X.shape[1], loss=loss, lambda2=lambda2
        ).items()
    }


@pytest.mark.parametrize(
    ("name", "loss"), thinned(2, tuple(POLISHED), ("squared", "logistic", "huber"))
)
def test_polished_paths_mostly_reach_the_optimum(name, loss):
    hits = total = 0
    for seed in range(4):
        X, y = data(loss, seed)
        arguments = shrunk(loss, "dual_iht")
        path = l0path.fit(X, y, algorithm=POLISHED[name], max_k=MAX_K, **asked(arguments))
        best = optima(loss, arguments["lambda2"], seed)
        check_rows(path, X, y, best, same=arguments)
        hits += sum(s.objective <= best[s.k] * (1 + 1e-8) for s in path._solutions[1:])
        total += MAX_K
    assert hits >= total - 1


@cache
def with_options():
    """[(problem, its best objectives by size, its best penalized one)]."""
    found = []
    for d in oracles.instances(8, 41, ("squared", "logistic", "huber", "squared_hinge"), (4, 6)):
        d["lambda2"] = max(d["lambda2"], 1e-2)
        same = oracles.restricted_keywords(d) | {"forced": d["forced"]}
        best = oracles.best_subsets(d["X"], d["y"], 3, **same)
        same["penalty_factor"] = d["penalty_factor"]
        found.append((d, best, oracles.best_penalized(d["X"], d["y"], d["lambda0"], **same)[0]))
    return found


@pytest.mark.parametrize(("name", "half"), thinned(2, NEW, (0, 1)))
def test_random_options(name, half):
    """Boxes, forced columns, weights, offsets, lambda1, no intercept, own scales."""
    for d, best, value in with_options()[4 * half : 4 * half + 4]:
        same = oracles.restricted_keywords(d)
        options = oracles.fit_keywords(d)
        if name == "feature_generating" and (
            np.isfinite(d["lower"]).any() or np.isfinite(d["upper"]).any()
        ):
            with pytest.raises(
                ValueError,
                match=r"lower= and upper= bound coefficients, which feature_generating takes apart",
            ):
                l0path.fit(d["X"], d["y"], algorithm=name, max_k=3, **options)
            continue
        path = l0path.fit(d["X"], d["y"], algorithm=name, max_k=3, **options)
        assert path.details.k.tolist() == sorted(best)
        check_rows(path, d["X"], d["y"], {k: value for k, (value, _) in best.items()}, same=same)
        even = (
            np.ptp(d["penalty_factor"][np.setdiff1d(np.arange(d["X"].shape[1]), d["forced"])]) == 0
        )
        if name == "primal_dual" or even:
            other = l0path.fit(
                d["X"],
                d["y"],
                algorithm=name,
                lambda0=[d["lambda0"]],
                max_k=d["X"].shape[1],
                **options,
            )
            assert other._solutions[0].objective >= value - 1e-9 * abs(value)
        else:
            with pytest.raises(ValueError, match=r"penalty_factor= differs.*leave lambda0= out"):
                l0path.fit(d["X"], d["y"], algorithm=name, lambda0=[d["lambda0"]], **options)


@pytest.mark.parametrize(("name", "loss"), thinned(2, NEW, ("squared", "logistic")))
def test_weights_are_repeated_rows(name, loss):
    X, y = data(loss)
    times = np.random.default_rng(0).integers(0, 3, y.size)
    arguments = shrunk(loss, name, 0.2)
    a = l0path.fit(X, y, sample_weight=times, algorithm=name, max_k=3, **asked(arguments))
    b = l0path.fit(
        np.repeat(X, times, axis=0),
        np.repeat(y, times),
        algorithm=name,
        max_k=3,
        **asked(arguments),
    )
    assert a.details.objective.to_numpy() == pytest.approx(b.details.objective.to_numpy(), rel=1e-8)
    assert [s.support.tolist() for s in a._solutions] == [s.support.tolist() for s in b._solutions]


# -------------------- bounds


def test_a_strong_ridge_closes_the_gap_and_a_closed_gap_is_global():
    X, y = data("squared")
    path = l0path.fit(X, y, algorithm="dual_iht", lambda2=10.0, max_k=3)
    best = {k: v for k, (v, _) in oracles.best_subsets(X, y, 3, lambda2=10.0).items()}
    check_rows(path, X, y, best, same={"lambda2": 10.0})
    assert (
        (path.details.optimality == "global").all()
        and (path.details.gap < 1e-8).all()
        and (path.details.gap >= 0).all()
    )
    heard = []
    l0path.fit(
        X,
        y,
        algorithm="dual_iht",
        lambda2=10.0,
        max_k=3,
        on_solution=lambda model: heard.append((model.k, model.lower_bound)),
    )
    assert dict(heard) == pytest.approx(
        dict(zip(path.details.k, path.details.lower_bound, strict=True)), rel=1e-6
    )


def test_bounds_that_an_ascent_brings_along_hold_over_all_columns():
    """Against those of a later, longer ascent; most columns stay outside the working ones. Folds
    are not bounded.
    """
    for loss in ("squared", "logistic"):
        X, y = wide(loss)
        for grid in ({"lambda0": "grid"}, {}):
            path = l0path.fit(
                X, y, loss=loss, algorithm="primal_dual", lambda2=0.3, max_k=6, **grid
            )
            more = l0path.fit(
                X, y, loss=loss, algorithm="primal_dual", lambda2=0.3, max_k=6, certify=True, **grid
            )
            assert (
                path.rounds.working.iloc[-1] < 250
                and (path.details.gap.notna()).all()
                and path.details.gap.median() < 0.1
                and path.details.objective.equals(more.details.objective)
            )
            assert (more.details.gap <= path.details.gap + 1e-12).all() and (
                path.details.lower_bound <= more.details.objective
            ).all()


def test_bounds_of_a_fit_that_was_stopped_are_none_or_hold():
    X, y = wide()
    seen = []

    def stop(model):
        seen.append(model.k)
        return len(seen) == 3

    path = l0path.fit(X, y, algorithm="dual_iht", lambda2=0.5, max_k=6, on_solution=stop)
    full = l0path.fit(X, y, algorithm="swap", lambda2=0.5, max_k=6)
    assert path.status.startswith("stopped by on_solution")
    for s in path._solutions:
        assert not s.lower_bound > full.model(k=s.k).objective * (1 + 1e-9)


# -------------------- names, records, errors


def test_names_and_records_are_the_same():
    X, y = data("squared")
    for name, record in (
        ("apg+", ProjectedGradient(variant="apg+")),
        ("stochastic_dual_iht", DualIHT(blocks=10)),
        ("primal_dual", PrimalDual()),
        ("feature_generating", FeatureGenerating()),
    ):
        a, b = (
            l0path.fit(X, y, algorithm=algorithm, lambda2=0.1, max_k=3)
            for algorithm in (name, record)
        )
        assert a.details.equals(b.details) and a._meta.algorithm == type(record).__name__
    paper = l0path.fit(
        X, y, algorithm=ProjectedGradient(variant="apg+", paper_defaults=True), max_k=3
    )
    assert paper.details.k.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", DUAL)
def test_dual_methods_say_what_they_lack(name):
    X, y = data("squared")
    for arguments in ({}, {"lambda2": [0.1, 0.0]}, {"lambda1": l0path.grid(n=2)}):
        with pytest.raises(ValueError, match=r"needs lambda2 > 0.*pass lambda2=1e-2"):
            l0path.fit(X, y, algorithm=name, **asked(arguments))
    with pytest.raises(
        ValueError, match=r"loss='poisson' has no bounded curvature.*use algorithm='swap' or 'pg'"
    ):
        l0path.fit(*data("poisson"), loss="poisson", lambda2=0.1, algorithm=name)
    assert (
        l0path.fit(X, y, algorithm=name, lambda2=l0path.grid(n=2), max_k=2).details.slice.nunique()
        == 2
    )


def test_other_errors():
    X, y = data("poisson")
    with pytest.raises(ValueError, match="step='fixed' needs a loss of bounded curvature"):
        l0path.fit(X, y, loss="poisson", algorithm=ProjectedGradient(step="fixed"))
    with pytest.raises(
        ValueError, match=r"algorithm='iht' is not known; choose 'swap', 'cd', .*'primal_dual'"
    ):
        l0path.fit(X, y, algorithm="iht")
    for wrong in (ProjectedGradient, 3, None):
        with pytest.raises(TypeError, match="must be a name or a settings record"):
            l0path.fit(X, y, algorithm=wrong)
    factor = np.linspace(0.5, 1.5, X.shape[1])
    with pytest.raises(
        ValueError, match=r"penalty_factor= differs among the features: ProjectedGradient"
    ):
        l0path.fit(X, y, loss="poisson", algorithm="pg", lambda0="grid", penalty_factor=factor)
    assert l0path.fit(
        X, y, loss="poisson", algorithm="pg", max_k=2, penalty_factor=factor
    ).details.k.tolist() == [0, 1, 2]


# -------------------- folds, stopping


@cache
def wide(loss="squared", n=80, p=300):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] += 0.7 * X[:, j - 1]
    return X, oracles._response(loss, X[:, 10] - 0.8 * X[:, 12] + 0.6 * X[:, 40], rng)


@pytest.mark.parametrize(("name", "how"), thinned(3, NEW, ("together", "lambda0", "logistic")))
def test_cross_validation(name, how, monkeypatch):
    X, y = wide(p=90)
    arguments = asked(dict(cv=3, max_k=4, lambda2=0.1, algorithm=name, random_state=1))
    if how == "together":
        cv = l0path.cv_fit(X, y, **arguments)
        assert (
            cv.scores.k.tolist() == [0, 1, 2, 3, 4]
            and np.isfinite(cv.scores.cv_mean).all()
            and cv.scores.cv_mean.min() < cv.scores.cv_mean[0]
        )
        monkeypatch.setattr("l0path.cross_validation.together.WORTH", 0)
        assert l0path.cv_fit(X, y, **arguments).scores.cv_mean.to_numpy() == pytest.approx(
            cv.scores.cv_mean.to_numpy(), rel=1e-8
        )
        return
    more = {"lambda0": "grid"} if how == "lambda0" else {"loss": "logistic"}
    y = np.where(y > np.median(y), "b", "a") if how == "logistic" else y
    assert np.isfinite(l0path.cv_fit(X, y, **more, **arguments).scores.cv_mean).all()


@pytest.mark.parametrize(("name", "loss"), thinned(2, NEW, ("squared", "logistic")))
def test_a_time_limit_ends_a_fit(name, loss):
    X, y = wide(loss)
    arguments = dict(loss=loss, lambda2=np.geomspace(1, 1e-2, 300), max_k=20, algorithm=name)
    for limit in (1e-9, 0.1):
        started = time.perf_counter()
        path = l0path.fit(X, y, time_limit=limit, **asked(arguments))
        assert time.perf_counter() - started < limit + 1.5
        assert path.status.startswith(f"time_limit of {limit:g} s reached")
        for i, s in enumerate(path._solutions):
            assert objective_of(path, index=i) == pytest.approx(s.objective, rel=1e-9)


@pytest.mark.parametrize("name", ["apg+", "dual_iht", "primal_dual", "feature_generating"])
def test_ctrl_c_keeps_what_is_solved(name):
    X, y = wide("logistic")
    polls = []

    def press(clock):
        polls.append(1)
        if len(polls) == 40:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("l0path.core.control.Clock.poll", press)
        path = l0path.fit(
            X, y, loss="logistic", lambda2=np.geomspace(1, 1e-2, 50), max_k=10, algorithm=name
        )
    assert path.status.startswith("interrupted (Ctrl-C)") and len(path) >= 1


def test_all_names_are_listed_where_users_look():
    assert set(NEW) | {"swap", "cd", "CDPSI", "exact"} == set(names())
    assert all(f'"{name}"' in l0path.fit.__doc__ for name in names())
