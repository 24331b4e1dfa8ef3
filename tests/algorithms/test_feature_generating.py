"""The feature generating machine against enumeration: values, bounds, groups, degree-2 features,
bad input.
"""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from generated_problems import LOSSES, response, small
from oracles import best_subsets, instances, restricted, restricted_keywords
from problems import plain, problem_of, solver_path
from scipy import sparse
from thinning import thinned

import l0path
from l0path.algorithms.one_size import solve_size
from l0path.engine.strategies.generating import Generation, JoinLimits
from l0path.solvers import FeatureGenerating
from l0path.working_set.model import make_model

UNBOUNDED = ("poisson", "gamma")  # curvature
solve_k = partial(solve_size, settings=FeatureGenerating())


# -------------------- sizes


@pytest.mark.parametrize(
    "settings",
    [
        FeatureGenerating(),
        FeatureGenerating(budget=2),
        FeatureGenerating(paper_defaults=True),
        FeatureGenerating(C=1e4),
        FeatureGenerating(polish=True),
    ],
    ids=["default", "budget", "paper", "C", "polish"],
)
def test_values_and_bounds_against_enumeration(settings):
    reached = total = 0
    for d in instances(7, 5, (*LOSSES, "smoothed_hinge", "huber", *UNBOUNDED)):
        d |= {"lambda2": 0.1, "lower": -np.inf, "upper": np.inf}
        path = solver_path(d, settings, 3)
        best = best_subsets(d["X"], d["y"], 3, forced=d["forced"], **restricted_keywords(d))
        for k, fit in path.pool.fits.items():
            assert fit.value >= best[k][0] - 1e-9 * abs(best[k][0])
            assert fit.value == pytest.approx(
                restricted(d["X"], d["y"], fit.support, **restricted_keywords(d))[0], rel=1e-7
            )
            if k:
                valid = path.solver.valid
                assert path.bound(k) <= best[k][0] if valid else np.isnan(path.bound(k))
                assert valid == (settings.ridge(path.model.problem, 0.1) <= 0.1)
                F, D = path.solver.relaxed[k]
                assert D <= F and (settings.paper_defaults or settings.C or F - D <= 0.1 * abs(F))
            reached += fit.value <= best[k][0] * (1 + 1e-7)
            total += 1
    assert reached >= 0.8 * total
    assert {"blocks", "relaxation_gap"} <= set(path.rounds[-1])


@pytest.mark.parametrize("ridge", [0.1, 0.5, 10.0])
def test_a_gap_that_cannot_close_is_reported(ridge):
    """X = I, y = (1, 1), k = 1, penalty ridge / 2 ||b||^2: optimum 1/2 - 1 / (4 (1 + 2 ridge)),
    relaxation 2 ridge / (1 + 4 ridge), which two blocks solve.
    """
    outcome = solve_k(
        make_model(problem_of(plain(np.eye(2), np.ones(2)))),
        1,
        lambda2=ridge / 2,
        settings=FeatureGenerating(tol=1e-9),
    )
    assert outcome.fit.value == pytest.approx(0.5 - 1 / (4 * (1 + 2 * ridge)), rel=1e-10)
    assert outcome.bound == pytest.approx(
        2 * ridge / (1 + 4 * ridge), abs=1e-6
    ) and outcome.bound <= 2 * ridge / (1 + 4 * ridge)
    assert not outcome.proven and outcome.relaxed == pytest.approx(outcome.bound, abs=2e-6)


def test_a_strong_ridge_is_proven_and_none_bounds_nothing():
    d = small("squared", 3, n=60, p=8)
    proven = solve_k(make_model(problem_of(d)), 2, lambda2=20.0)
    assert (
        proven.proven
        and proven.status == "proven"
        and tuple(proven.fit.support)
        == tuple(
            best_subsets(d["X"], d["y"], 2, **restricted_keywords(d | {"lambda2": 20.0}))[2][1]
        )
    )
    free = solve_k(make_model(problem_of(d)), 2)
    assert not free.proven and free.bound <= free.relaxed  # of the relaxation, not of the size
    path = l0path.fit(d["X"], d["y"], algorithm="feature_generating", max_k=3)
    assert (
        path.details.lower_bound[2:].isna().all()
        and (path.details.optimality[2:] == "stationary").all()
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_recovery_and_invariances(loss):
    """The true support is found among many columns; renumbered and rescaled columns give the same
    models; sparse X the same as dense.
    """
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 400))
    truth = [7, 120, 390]
    y = response(loss, 2 * X[:, truth] @ np.array([1.0, -1.0, 0.8]), rng)
    arguments = dict(loss=loss, lambda2=0.02, max_k=4, algorithm="feature_generating")
    path = l0path.fit(X, y, **arguments)
    assert (
        path.support(k=3).tolist() == truth
        and (path.details.gap >= 0).all()
        and path.rounds.working.iloc[-1] < 400
    )
    order, scales = rng.permutation(400), np.exp(rng.normal(size=400))
    moved = l0path.fit((X * scales)[:, order], y, **arguments)
    assert [sorted(order[s.support]) for s in moved._solutions] == [
        s.support.tolist() for s in path._solutions
    ]
    assert moved.details.objective.to_numpy() == pytest.approx(
        path.details.objective.to_numpy(), rel=1e-8
    )
    thin = X * (rng.random(X.shape) < 0.2)
    z = response(loss, 3 * thin[:, truth] @ np.array([1.0, -1.0, 0.8]), rng)
    a, b = (l0path.fit(A, z, **arguments) for A in (thin, sparse.csr_matrix(thin)))
    assert [s.support.tolist() for s in a._solutions] == [s.support.tolist() for s in b._solutions]
    assert a.details.objective.to_numpy() == pytest.approx(b.details.objective.to_numpy(), rel=1e-9)


def test_polish_is_the_search_by_swaps_on_what_was_generated():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 300))
    for j in range(1, 300):
        X[:, j] += 0.8 * X[:, j - 1]
    y = X[:, ::60].sum(axis=1) + rng.normal(size=80)
    alone, polished, swap = (
        l0path.fit(X, y, algorithm=a, max_k=8, lambda2=1e-3).details.objective.to_numpy()
        for a in (FeatureGenerating(), FeatureGenerating(polish=True), "swap")
    )
    assert (polished <= alone * (1 + 1e-9)).all() and (polished < alone * (1 - 1e-3)).any()
    assert (polished <= swap * 1.02).all()


def test_more_columns_than_the_first_working_ones_matter():
    """A read of all columns brings in what the first working columns lack: the paper's form, which
    reads all of them for every block, finds no better.
    """
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 500)) + 0.5 * rng.normal(size=(60, 1))
    y = X[:, 100] - X[:, 200] + 0.7 * X[:, 300] + 0.3 * rng.normal(size=60)
    a, b = (
        l0path.fit(X, y, algorithm=FeatureGenerating(tol=1e-4, **more), lambda2=0.3, max_k=4)
        for more in ({}, {"paper_defaults": True, "C": 1 / (2 * 60 * 0.3), "max_iter": 40})
    )
    assert a.details.objective.to_numpy() == pytest.approx(b.details.objective.to_numpy(), rel=1e-6)
    one, other = (path.details.lower_bound.to_numpy()[2:] for path in (a, b))
    assert one == pytest.approx(other, rel=5e-3)
    assert a.rounds.reads.iloc[-1] < b.rounds.reads.iloc[-1] / 3


# -------------------- groups, products


def best_groups(X, y, groups, size, **same):
    """The lowest value of the union of at most `size` groups, by enumeration."""
    return min(
        restricted(X, y, sorted(set().union(*(groups[g] for g in chosen))), **same)[0]
        for k in range(size + 1)
        for chosen in combinations(range(len(groups)), k)
    )


@pytest.mark.parametrize(("loss", "units"), thinned(2, LOSSES, ("disjoint", "overlapping")))
def test_groups_against_enumeration(loss, units):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 12))
    y = response(loss, X[:, [0, 1, 7, 8]] @ np.array([1.0, 0.8, -0.7, 0.6]), rng)
    groups = (
        [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8], [8, 9], [10, 11, 0]]
        if units == "overlapping"
        else [[0, 1], [2, 3, 4], [5, 6], [7, 8], [9], [10, 11]]
    )
    same = dict(loss=loss, lambda2=0.05)
    for polish in (False, True):
        path = l0path.fit(
            X, y, groups=groups, algorithm=FeatureGenerating(polish=polish), max_k=3, **same
        )
        assert path.details.k.tolist() == [0, 1, 2, 3] and set(path.details.optimality[1:]) <= {
            "stationary",
            "global",
        }
        for s in path._solutions:
            best = best_groups(X, y, groups, s.k, **same)
            assert s.objective == pytest.approx(
                restricted(X, y, s.support, **same)[0], rel=1e-7
            ) and s.objective >= best * (1 - 1e-9)
            assert not s.lower_bound > best * (1 + 1e-9)
            assert not polish or s.objective == pytest.approx(best, rel=1e-8)
        assert (
            path.details.lower_bound[1:].notna().all()
            and path.rounds.relaxation_gap.dropna().between(0, 0.1).all()
        )


def test_sizes_of_groups_propose_for_each_other():
    """No removal from a size is better than the size below, with many weak groups and a small
    ridge, where the relaxation says little.
    """
    rng = np.random.default_rng(13)
    n, G = 120, 60
    X = rng.normal(size=(n, 4 * G)) + 0.5 * rng.normal(size=(n, 1))
    y = X[:, :40] @ rng.normal(size=40) + 4 * rng.normal(size=n)
    groups = np.repeat(np.arange(G), 4)
    path = l0path.fit(
        X,
        y,
        groups=groups,
        algorithm="feature_generating",
        max_k=8,
        lambda2=0.01,
        standardize=False,
    )
    values = path.details.objective.to_numpy()
    for k in range(2, 9):
        chosen = path.model(k=k).groups
        less = min(
            restricted(
                X,
                y,
                np.flatnonzero(np.isin(groups, [g for g in chosen if g != out])),
                lambda2=0.01,
                standardize=False,
            )[0]
            for out in chosen
        )
        assert values[k - 1] <= less * (1 + 1e-9)
    assert path.rounds.relaxation_gap.dropna().iloc[-1] < 0.05


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_are_read_once_for_all_sizes(loss, monkeypatch):
    """From few working groups: the paper's form, which reads all groups for every block, finds no
    better and bounds no higher; bounds hold over all groups.
    """
    monkeypatch.setattr(Generation, "limits", JoinLimits(columns=1))
    rng = np.random.default_rng(11)
    n, ridge = 80, 0.1
    X = rng.normal(size=(n, 300)) + 0.7 * rng.normal(size=(n, 1))
    y = response(
        loss,
        X[:, 30:33].sum(axis=1) - X[:, 150:153].sum(axis=1) + 0.5 * X[:, 240:243].sum(axis=1),
        rng,
    )
    groups = [list(range(3 * g, min(3 * g + 4, 300))) for g in range(100)]  # neighbors overlap
    given = {"groups": groups, "lambda2": ridge, "max_k": 3, "loss": loss}
    a, b = (
        l0path.fit(X, y, algorithm=FeatureGenerating(tol=1e-4, **more), **given)
        for more in ({}, {"paper_defaults": True, "C": 1 / (2 * n * ridge), "max_iter": 60})
    )
    assert (a.details.objective <= b.details.objective * (1 + 1e-9)).all() and (
        a.details.lower_bound >= b.details.lower_bound * (1 - 5e-3)
    )[1:].all()
    best = best_groups(X, y, groups, 1, loss=loss, lambda2=ridge)
    assert a.details.lower_bound[1] <= best * (1 + 1e-9) and a.details.objective[
        1
    ] == pytest.approx(best, rel=1e-7)
    assert (
        len(a.rounds) > 2
        and a.rounds.reads.max() < b.rounds.reads.max() / 3
        and a.rounds.working.iloc[0] < a.rounds.working.iloc[-1] < 300
    )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_nested_groups_against_all_sets_of_them(loss):
    rng = np.random.default_rng(15)
    X = rng.normal(size=(80, 16))
    y = response(loss, X[:, 8:12].sum(axis=1) + X[:, 4] - X[:, 5], rng)
    groups = [list(range(a, a + w)) for w in (16, 8, 4, 2, 1) for a in range(0, 16, w)]
    given = {"groups": groups, "lambda2": 0.05, "max_k": 2, "loss": loss}
    path = l0path.fit(X, y, algorithm="feature_generating", **given)
    best = best_groups(X, y, groups, 1, loss=loss, lambda2=0.05)
    assert path.details.lower_bound[1] <= best * (1 + 1e-9)
    assert path.details.objective[1] == pytest.approx(best, rel=1e-7)
    assert (path.details.gap[1:] >= 0).all()


def test_groups_with_forced_ones_lambda0_and_interruption():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 60))
    y = X[:, :3].sum(axis=1) - X[:, 9:12].sum(axis=1) + rng.normal(size=80)
    arguments = dict(
        groups=np.repeat(np.arange(20), 3), lambda2=0.05, algorithm="feature_generating"
    )
    path = l0path.fit(X, y, always_include=[30], max_k=3, **arguments)
    assert all({30, 31, 32} <= set(s.support.tolist()) for s in path._solutions) and set(
        path.support(k=2).tolist()
    ) == {0, 1, 2, 9, 10, 11, 30, 31, 32}
    grid = l0path.fit(X, y, lambda0="grid", max_k=4, **arguments)
    assert grid.details.k.is_monotonic_increasing and grid.details.k.iloc[-1] >= 2
    heard = []
    stopped = l0path.fit(
        X,
        y,
        max_k=6,
        on_solution=lambda model: heard.append(model.k) or len(heard) == 2,
        **arguments,
    )
    assert stopped.status.startswith("stopped by on_solution") and len(heard) == 2
    late = l0path.fit(X, y, max_k=15, time_limit=1e-6, **arguments)
    assert late.status.startswith("time_limit") and late.details.optimality.iloc[-1] in (
        "unverified",
        "global",
    )
    polls = []

    def press(clock):
        polls.append(1)
        if len(polls) == 30:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("l0path.core.control.Clock.poll", press)
        pressed = l0path.fit(X, y, max_k=15, **arguments)
    assert pressed.status.startswith("interrupted (Ctrl-C)") and len(pressed) > 1


@pytest.mark.parametrize("thin", [False, True], ids=["dense", "sparse"])
def test_degree_two_features_are_never_stored(thin):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(120, 20)) * (rng.random((120, 20)) < (0.5 if thin else 1.0))
    y = X[:, 3] * X[:, 11] - X[:, 5] ** 2 + 0.7 * X[:, 1] + 0.2 * rng.normal(size=120)
    design = l0path.designs.polynomial(sparse.csc_matrix(X) if thin else X)
    path = l0path.fit(design, y, algorithm="feature_generating", max_k=3, lambda2=1e-2)
    columns = design.columns(np.arange(design.p))
    expanded = l0path.fit(columns, y, algorithm="feature_generating", max_k=3, lambda2=1e-2)
    assert [s.support.tolist() for s in path._solutions] == [
        s.support.tolist() for s in expanded._solutions
    ]
    assert path.details.objective.to_numpy() == pytest.approx(
        expanded.details.objective.to_numpy(), rel=1e-8
    )
    assert path.details.lower_bound.to_numpy() == pytest.approx(
        expanded.details.lower_bound.to_numpy(), rel=1e-6
    )
    assert set(path.model(k=3).features) == {"x1", "x3:x11", "x5^2"}


# -------------------- what it cannot take


def test_what_it_cannot_take_is_refused():
    for bad, message in (
        ({"budget": 0}, "budget=0 must be a whole number"),
        ({"budget": 1.5}, "budget=1.5"),
        ({"C": 0}, r"C=0 must be a positive number, or None"),
        ({"C": np.inf}, "C=inf"),
        ({"tol": -1}, "tol=-1"),
        ({"tol": None}, "tol=None"),
        ({"max_iter": True}, "max_iter=True"),
    ):
        with pytest.raises(ValueError, match=message):
            FeatureGenerating(**bad)
    d = small("squared", 0)
    with pytest.raises(ValueError, match="k=99 exceeds the 6 features"):
        solve_k(make_model(problem_of(d)), 99)
    for box in ({"lower": 0.0}, {"upper": 1.0}):
        with pytest.raises(
            ValueError, match=r"lower= and upper= bound coefficients.*or use algorithm='swap'"
        ):
            l0path.fit(d["X"], d["y"], algorithm="feature_generating", **box)


def test_columns_that_say_nothing():
    """Duplicates, zeros and fewer columns than sizes."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(40, 5))
    X = np.column_stack([X, X[:, 0], np.zeros(40), np.ones(40)])
    y = X[:, 0] - X[:, 2] + 0.1 * rng.normal(size=40)
    for lambda2 in (0.0, 0.1):
        path = l0path.fit(X, y, algorithm="feature_generating", max_k=20, lambda2=lambda2)
        # under a ridge a column and its copy share a coefficient, so the copy (5) counts, and it
        # ties with the column (0)
        assert path.details.k.tolist() == list(range(7 if lambda2 else 6))
        assert path.support(k=2).tolist() in ([[0, 2], [2, 5]] if lambda2 else [[0, 2]])
    faint = l0path.fit(
        X[:4] * 1e4,
        y[:4],
        algorithm="feature_generating",
        max_k=2,
        lambda2=1e-14,
        standardize=False,
    )  # a ridge that is lost in rounding
    assert (
        faint.details.objective.is_monotonic_decreasing
        and not (faint.details.lower_bound > faint.details.objective).any()
    )
    flat = l0path.fit(X, np.ones(40), algorithm="feature_generating", max_k=3)
    assert flat.details.k.tolist() == [0]
