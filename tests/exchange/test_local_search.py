"""The search behind the default path: efforts, swap sizes, blocks that only pay together, and the
pool's bookkeeping.
"""

import numpy as np
import pytest
from scipy.linalg import toeplitz

import l0path
from l0path.core.control import Clock
from l0path.engine.posing import resolved
from l0path.engine.protocols import Slice
from l0path.engine.request import request
from l0path.exchange import trials, verification
from l0path.exchange.local_search import SolutionPool, pairs_tried
from l0path.exchange.neighborhoods.choice import neighborhood_of
from l0path.exchange.neighborhoods.groups import GroupNeighborhood
from l0path.exchange.ranking import Wanted
from l0path.problem.penalties import separable
from l0path.problem.problem import Fit, pose
from l0path.solvers import LocalSearch
from l0path.working_set import gram
from l0path.working_set.groups import GroupModel
from l0path.working_set.model import make_model


def block_of_two(seed=0, n=200):
    """y is the difference of columns 0 and 1, which is invisible in either alone; ten decoys are
    each correlated 0.7 with it.
    """
    rng = np.random.default_rng(seed)
    z, shared = rng.standard_normal((2, n))
    X = np.column_stack(
        [shared + 0.05 * z, shared, *(z + rng.standard_normal(n) for _ in range(10))]
    )
    return X, z + 0.01 * rng.standard_normal(n)


def test_default_effort_finds_a_block_that_no_single_exchange_reaches():
    X, y = block_of_two()
    fast = l0path.fit(X, y, max_k=2, algorithm=LocalSearch(effort="fast"), certify=False)
    assert fast.support(k=2).tolist() != [
        0,
        1,
    ]  # the trap works: one exchange at a time stays with the decoys
    assert fast.details.optimality[2] == "refit_swap"
    default = l0path.fit(X, y, max_k=2, certify=False)
    assert default.support(k=2).tolist() == [0, 1]
    assert default.details.loss[2] < 0.01 * fast.details.loss[2]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_more_effort_is_never_worse(loss):
    sim = l0path.simulate.linear(120, 60, 10, rho=0.8, snr=2, random_state=4)
    y = sim.y if loss == "squared" else sim.y > 0
    paths = [
        l0path.fit(
            sim.X, y, loss=loss, lambda2=1e-2, max_k=12, algorithm=algorithm
        ).details.objective.to_numpy()
        for algorithm in (
            LocalSearch(effort="high"),
            LocalSearch(swap_size=2),
            LocalSearch(),
            LocalSearch(effort="fast"),
        )
    ]
    high, double, default, fast = paths
    assert (high <= default * (1 + 1e-9)).all()
    assert (double <= default * (1 + 1e-9)).all()
    assert default.mean() <= fast.mean() * (1 + 1e-9)
    assert (np.diff(high) < 0).all()


def test_the_seed_matters_to_high_effort_only():
    sim = l0path.simulate.linear(80, 40, 8, rho=0.7, snr=2, random_state=1)
    tables = [
        l0path.fit(sim.X, sim.y, max_k=10, random_state=seed).details for seed in (None, 1, 2)
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_settings_are_checked():
    for bad, message in (
        ({"effort": "heroic"}, "effort='heroic'"),
        ({"swap_size": 0}, "swap_size=0"),
        ({"n_best": 0}, "n_best=0"),
        ({"max_swaps": 0}, "max_swaps=0"),
    ):
        with pytest.raises(ValueError, match=message):
            LocalSearch(**bad)


def test_pairs_tried_follow_the_cost_of_a_refit():
    assert pairs_tried(LocalSearch(n_best=7), 10**6, 50) == 7
    assert pairs_tried(LocalSearch(), 10**6, 5) == 20
    assert pairs_tried(LocalSearch(), 60, 1) == 500
    assert 20 < pairs_tried(LocalSearch(), 1000, 5) < 500


def test_n_best_is_recorded_with_the_model():
    sim = l0path.simulate.logistic(150, 20, 4, random_state=2)
    path = l0path.fit(sim.X, sim.y, loss="logistic", max_k=4, algorithm=LocalSearch(n_best=7))
    assert [model.details["exchanges"] for model in path] == [None, None, *[7] * 3]
    assert (
        "(7 exchanges tried)" in str(path.model(k=2).summary()) and not path.details["flags"].any()
    )
    assert path.details.optimality.tolist() == ["global"] * 2 + ["refit_swap_m"] * 3


def test_store_keeps_the_best_of_each_size_and_ends_at_a_perfect_fit():
    def fit(*support, value, flags=()):
        return Fit(np.array(support, dtype=np.int64), np.ones(len(support)), 0.0, value, flags)

    pool = SolutionPool(fit(value=1.0), 0, 3, 1.0)
    assert pool.update(fit(1, value=0.5))
    assert not pool.update(fit(2, value=0.5 * (1 - 1e-12)))  # no improvement beyond rounding
    assert pool.update(fit(2, value=0.4))
    assert not pool.update(fit(1, 2, 3, 4, value=0.1))  # beyond the last size
    assert pool.update(fit(1, 2, 3, value=0.2))
    assert pool.update(fit(1, 2, value=0.0))
    assert (pool.last, pool.end) == (2, "saturated")
    assert sorted(pool.fits) == [0, 1, 2]


@pytest.mark.parametrize("rho", [0.0, 0.9])
@pytest.mark.parametrize("ceiling", [-1e-9, 0.01])
def test_violators_are_all_the_exchanges_that_refits_find(rho, ceiling):
    n, p, target = 60, 120, 0.05
    sim = l0path.simulate.linear(n, p, 8, rho=rho, snr=2, random_state=3)
    path = l0path.fit(sim.X, sim.y, max_k=6, lambda2=1e-6, algorithm=LocalSearch(effort="fast"))
    model = gram.GramModel(pose(path._source.data))
    model.grow(np.arange(p))
    rng = np.random.default_rng(0)
    supports = [
        *(np.sort(rng.choice(p, k, replace=False)) for k in (1, 2, 4)),
        *(path.support(k=k) for k in (3, 4, 5, 6)),
    ]  # near each other and far: both ways of the walk
    fits = [model.refit(support, 0.0, 1e-6) for support in supports]
    found = {}
    for prune in (False, True):
        found[prune] = verification.gram.violators(
            model,
            fits,
            [Wanted(target, ceiling, p)] * len(fits),
            separable(0.0, 0.0, 1e-6),
            verification.gram.RangeLimits(prune_from=0 if prune else p + 1),
        )
    for fit, plain, pruned in zip(fits, found[False], found[True], strict=True):
        change = {}
        for j in np.setdiff1d(np.arange(p), fit.support).tolist():
            added = (
                model.refit(np.sort(np.append(fit.support, j)), 0.0, 1e-6).value
                - fit.value
                + target
            )
            change[j] = min(
                added,
                *(
                    model.refit(np.sort(np.append(np.delete(fit.support, i), j)), 0.0, 1e-6).value
                    - fit.value
                    for i in range(fit.support.size)
                ),
            )
        wanted = {j: v for j, v in change.items() if v < ceiling}
        for candidates in (plain, pruned):
            assert {c.into for c in candidates} == set(wanted)
            assert max((abs(c.change - wanted[c.into]) for c in candidates), default=0.0) < 1e-9


def test_coefficients_of_a_long_walk_stay_exact():
    """Kept supports are refined: after hundreds of rank-one changes on nearly collinear columns the
    coefficients solve their normal equations.
    """
    rng = np.random.default_rng(5)
    common = rng.standard_normal(150)
    X = common[:, None] + 1e-3 * rng.standard_normal((150, 80))
    y = X[:, :5] @ [300.0, -200.0, 100.0, 150.0, -350.0] + 0.05 * rng.standard_normal(150)
    path = l0path.fit(X, y, max_k=20)
    for k in (5, 12, 20):
        S = path.support(k=k)
        A = np.column_stack([np.ones(150), X[:, S]])
        residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
        assert path.details.loss[k] == pytest.approx(residual @ residual / 300, rel=1e-7)


@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_threads_share_exchanges_that_are_to_be_refuted(monkeypatch, loss):
    """The first one that is not refuted counts, whichever thread finds one first."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    eta = X[:, :3].sum(axis=1) + rng.logistic(size=80)
    y = eta > 0 if loss == "logistic" else np.digitize(eta, [-1.0, 1.0])
    one = l0path.fit(X, y, loss=loss, n_jobs=1)
    run, shared = trials.threads.run, []

    def counted(task, bounds, *more):
        shared.append(len(bounds) - 1)
        run(task, bounds, *more)

    monkeypatch.setattr(trials, "SHARED", 1)
    monkeypatch.setattr(trials.threads, "run", counted)
    two = l0path.fit(X, y, loss=loss, n_jobs=2)
    assert 2 in shared
    for a, b in zip(one._solutions, two._solutions, strict=True):
        assert a.support.tolist() == b.support.tolist() and a.optimality == b.optimality
        assert a.objective == pytest.approx(b.objective, rel=1e-12)


@pytest.mark.parametrize(("loss", "seed"), [("logistic", 1), ("ordinal", 7), ("multinomial", 1)])
def test_beside_a_ridge_few_rows_do_not_end_an_oscillation(loss, seed):
    """Weights are rows that are repeated: 12 rows find what 30 do, with more columns than rows on
    the way.
    """
    rng = np.random.default_rng(seed)
    X, times = rng.normal(size=(12, 30)), rng.integers(1, 5, size=12)
    y = rng.integers(0, 2 if loss == "logistic" else 3, 12)
    told = {"loss": loss, "lambda2": 1e-3, "max_k": 10}
    few = l0path.fit(X, y, sample_weight=times, **told)
    many = l0path.fit(X.repeat(times, axis=0), y.repeat(times), **told)
    np.testing.assert_allclose(few.details.objective, many.details.objective, rtol=1e-7)


@pytest.mark.parametrize("unit", [None, np.arange(30) // 2])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_an_oscillation_reaches_all_columns_beside_a_ridge_only(loss, unit):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 30)), np.arange(12) % 2
    reached = []
    for lambda2 in (0.0, 1e-12, 1e-3):  # 1e-12 tells no columns apart
        _, problem = resolved(request(X, y, loss=loss, groups=unit, max_k=4), Clock())
        model, settings = make_model(problem), LocalSearch()
        if unit is None:
            found = neighborhood_of(model, Slice(0.0, lambda2, 4), 1.0, settings)
        else:
            found = GroupNeighborhood(GroupModel(model, 0.0, lambda2), 1.0, settings)
        reached.append(found.reach(4).columns)
    assert reached == ([6.0, 6.0, 30] if unit is not None else [9, 9, 30])


def test_an_exchange_that_leaves_nothing_of_y_ends_the_sizes_that_wait_for_theirs():
    """Sizes 45 and 46 both have an exchange that pays, and that of 45 fits y: 46 is gone then."""
    (n, p), coef, rho = (50, 1000), np.ones(1000), 0.35
    coef[5:] = 0.5 ** np.arange(1, p - 4)
    variance = coef @ toeplitz(rho ** np.arange(p)) @ coef / 3.5247726659387624
    rng = np.random.default_rng([348, 8])
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    y = X @ coef + np.sqrt(variance) * rng.standard_normal(n)
    told = {"max_k": n - 1, "fit_intercept": False, "lambda2": [0.0, 0.1, 1.0, 10.0]}
    path = l0path.fit(np.asfortranarray(X), y, certify=False, **told)
    plain = path.details[path.details.lambda2 == 0.0]
    assert plain.k.iloc[-1] < n - 1 and plain.objective.iloc[-1] < 1e-12 * plain.objective.iloc[0]
