"""`Path.certify` for survival times, several and ordered classes, and several responses: bounds of
nodes and claims against enumeration by other solvers, degenerate columns and data without a finite
optimum included.
"""

import warnings
from itertools import combinations

import numpy as np
import pytest
import survival
from class_samples import (
    LABELS,
    best_of_size,
    classes_drawn,
    classes_optimum,
    ordered_drawn,
    ordered_optimum,
    responses_drawn,
)
from recomputed import objective_of
from thinning import thinned

import l0path
from l0path.errors import SeparationWarning
from l0path.exact.all_sizes.coupled_bounds import sets_of_columns
from l0path.inspection.neighbors import fit_data
from l0path.paths import Path
from l0path.problem.problem import pose
from l0path.working_set.model import make_model

KINDS = ("cox", "multinomial", "ordinal", "several")
P = 5


def survival_times(seed):
    """(X with degenerate columns, Times): ties, and by turns late entry, strata and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((36, P))
    X[:, 3] = X[:, 0] + 0.4 * rng.standard_normal(36)
    kinds = (X[:, 0], -2.0 * X[:, 1], X[:, 0] + X[:, 1], np.full(36, 7.0), X[:, 4])
    X[:, 4] = kinds[seed % len(kinds)]
    how = {"entry": seed % 2 == 1, "strata": 1 + (seed % 3 == 0), "weighted": seed % 4 == 1}
    return X, survival.draw(rng, 36, eta=0.9 * X[:, 0] - 0.7 * X[:, 1], **how)


def instance(kind, seed, lambda2=0.0):
    """(X, y, arguments of `fit`, function of a support that has its least value)."""
    if kind == "cox":
        X, times = survival_times(seed)
        parts = [times.stop, times.event]
        if np.isfinite(times.start).any():
            parts = [times.start, *parts]
        Z, ties = survival.standardized(X, times.weights)[0], ("efron", "breslow")[seed % 2]
        how = {
            "loss": l0path.losses.Cox(ties=ties),
            "strata": times.stratum if times.stratum.max() else None,
        }

        def least(S):
            problem = survival.Problem(
                Z[:, list(S)], times, np.zeros(len(X)), ties == "efron", 0.0, lambda2
            )
            return survival.minimum(problem)[0]

        y, weights = np.column_stack(parts), times.weights
        weights = None if np.ptp(weights) == 0 else weights
    else:
        draw = {
            "multinomial": classes_drawn,
            "ordinal": ordered_drawn,
            "several": responses_drawn,
        }
        X, y, rng = draw[kind](seed)
        X, how = X[:, :P], {}
        weights = rng.uniform(0.5, 2.0, len(X)) if seed % 2 else None

        def least(S):
            if kind == "several":
                chosen = best_of_size(X[:, list(S)], y, 0, weights=weights, lambda2=lambda2)
                every = best_of_size(
                    X[:, list(S)], y, 0, weights=weights, lambda2=lambda2, forced=range(len(S))
                )
                return (every if S else chosen)[0]
            if kind == "multinomial":
                return classes_optimum(X, y, list(S), lambda2, weights)
            return ordered_optimum(X, y, list(S), lambda2=lambda2, weights=weights)

    loss = "squared" if kind == "several" else kind
    return X, y, {"loss": loss, "lambda2": lambda2, "sample_weight": weights, **how}, least


def fitted(X, y, how, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        return l0path.fit(X, y, certify=False, **how, **more)


QUICK = [(0, 0.0), (2, 0.05)], [(1, 0.0)], [(1, 0.05)], [(2, 0.0)]
CASES = [
    pytest.param(kind, seed, lambda2, marks=[] if (seed, lambda2) in quick else pytest.mark.slow)
    for kind, quick in zip(KINDS, QUICK, strict=True)
    for seed in range(12)
    for lambda2 in (0.0, 0.05)
]


def enumerate_sets(kind, seed, lambda2):
    """(X, y, arguments of `fit`, least value of every set of columns that vary)."""
    X, y, how, least = instance(kind, seed, lambda2)
    columns = [j for j in range(P) if np.ptp(X[:, j]) > 0]
    sets = [S for k in range(len(columns) + 1) for S in combinations(columns, k)]
    return X, y, how, {S: least(S) for S in sets}


def of_size(values, k):
    """All values of a size, ascending."""
    return sorted(value for S, value in values.items() if len(S) == k)


def share_of_close_bounds(nodes, values):
    """The share of the sets of columns that a fit bounds by their value; no bound of a set, nor of
    one less a column or two, may be above the least value.
    """
    close = 0
    for S in values:
        here = nodes.at(np.array(S, dtype=np.int64))
        parts = [np.array([i]) for i in range(len(S))]
        parts += [np.array([i, i + 1]) for i in range(len(S) - 1)]
        bounds = here.without(parts).lower if S else ()
        close += here.lower >= values[S] - 1e-7
        assert here.lower <= values[S] + 1e-9
        for part, bound in zip(parts, bounds, strict=True):
            least = values[tuple(np.delete(S, part).tolist())]
            assert bound <= least + 1e-9 * max(1.0, abs(least)), (S, part)
    return close / len(values)


@pytest.mark.parametrize(("kind", "seed", "lambda2"), CASES)
def test_bounds_of_nodes_and_proofs_are_those_of_enumeration(kind, seed, lambda2):
    X, y, how, values = enumerate_sets(kind, seed, lambda2)
    path = fitted(X, y, how, max_k=3)
    problem = pose(fit_data(path, None, None))
    for steps in (1, 1000):  # the value of a fit that was stopped is no bound
        model = make_model(problem, steps)
        model.grow(np.flatnonzero(problem.usable))
        close = share_of_close_bounds(sets_of_columns(model, lambda2), values)
    assert close > 0.9
    for k in range(len(path)):
        least = of_size(values, k)
        one, two = path.certify(k=k), path.certify(k=k, n_best=2)
        for found in (one, two):
            assert found.lower_bound <= least[0] * (1 + 1e-8)
            assert found.status == "optimal" and found.proven
            assert found.incumbent == pytest.approx(least[0], rel=1e-7)
            assert found.model.optimality == "global"
        assert len(two.best) == min(2, len(least))
        for model, value in zip(two.best, least, strict=False):
            assert model.objective == pytest.approx(value, rel=1e-7)
        if two.unique:
            assert len(least) == 1 or least[1] > least[0] * (1 + 1e-7)
            assert two.fixed_in.tolist() == path.support(k=k).tolist()
        assert two.deviance_ratio_bound >= two.model.deviance_ratio - 2e-6


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_bad_model_is_replaced(kind):
    X, y, how, _ = instance(kind, 3, 0.02)
    path = fitted(X, y, how, max_k=2)
    best = path._solutions[2].support.tolist()
    others = [j for j in range(P) if j != best[0] and np.ptp(X[:, j]) > 0]
    bad = fitted(X[:, others], y, how, max_k=2)._solutions[2]
    worse = bad._replace(support=np.array(others)[bad.support])
    rows = [*path._solutions[:2], worse]
    planted = Path(path._meta, rows, path.status, path.notes, (), path._source)
    found = planted.certify(k=2)
    assert found.proven and found.incumbent == pytest.approx(objective_of(path, k=2), rel=1e-8)
    assert found.incumbent < worse.objective and planted._solutions[2] is worse
    assert found.model.support.tolist() == best
    assert found.model.predict(X).shape == path.predict(X, k=2).shape


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_lambda0_are_proven(kind):
    X, y, how, _ = instance(kind, 2)
    sizes = fitted(X, y, how)
    values = [sizes.certify(index=i).lower_bound for i in range(len(sizes))]
    path = fitted(X, y, how, lambda0=l0path.grid(n=4))
    for i, s in enumerate(path._solutions):
        best = min(value + s.lambda0 * k for k, value in enumerate(values))
        found = path.certify(index=i)
        assert found.proven and found.incumbent == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("loss", ["cox", "ordinal", "multinomial"])
def test_without_a_finite_optimum_the_infimum_is_proven_or_nothing(loss):
    rng = np.random.default_rng(0)
    X, n = rng.standard_normal((26, 4)), 26
    X[:, 3] = np.arange(n) - 6.0 * X[:, 2]  # columns 2 and 3 together order the rows
    y = np.array(LABELS)[np.digitize(np.arange(n), [8, 17])]
    if loss == "ordinal":
        y = np.digitize(np.arange(n), [8, 17])
    if loss == "cox":
        y = np.column_stack([n + 1.0 - np.arange(n), np.ones(n)])
    path = fitted(X, y, {"loss": loss}, max_k=2)
    assert [s.status for s in path._solutions] == ["converged", "converged", "separated"]
    first, last = path.certify(k=1), path.certify(k=2)
    assert not last.proven or last.incumbent == pytest.approx(objective_of(path, k=2), abs=1e-9)
    values = [classes_optimum(X, y, [j], 0.0) for j in range(4) if loss == "multinomial"]
    if loss == "cox":
        none, Z = np.zeros(n), survival.standardized(X, np.ones(n))[0]
        times = survival.Times(none - np.inf, *y.T, none + 1.0, none.astype(int))
        values = [survival.minimum(survival.Problem(Z[:, [j]], times, none))[0] for j in range(4)]
    assert path.certify(k=0).proven and first.proven
    if values:
        assert first.incumbent == pytest.approx(min(values), rel=1e-7)


def test_limits_leave_a_bound_that_holds():
    X, y, how, least = instance("cox", 0, 0.3)
    best = min(least(S) for S in combinations(range(P), 2))
    path = fitted(X, y, how, max_k=2)
    stopped = path.certify(k=2, node_limit=1, n_best=2)
    assert stopped.status == "node_limit" and not stopped.proven
    assert 0.5 * best < stopped.lower_bound <= best * (1 + 1e-9)
    shrunk = fitted(X, y, how, max_k=2, lambda1=0.01).certify(k=2)
    assert shrunk.proven and shrunk.search == "all 10 models compared"


def test_an_assumed_box_bounds_many_columns():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 40))
    y = np.column_stack([rng.exponential(size=30), rng.uniform(size=30) < 0.8])
    path = fitted(X, y, {"loss": "cox"}, max_k=6)  # more models than are compared one by one
    plain, boxed = (path.certify(k=6, box=box, time_limit=2) for box in (None, "auto"))
    assert not np.isfinite(plain.lower_bound) and "fewer than" in " ".join(plain.assumptions)
    assert np.isfinite(boxed.lower_bound) and not boxed.proven
    assert boxed.assumptions[0].startswith("assumes |b_j|")
    Y = rng.standard_normal((30, 2))
    with pytest.raises(ValueError, match=r"box=.*several responses"):
        fitted(X, Y, {}, max_k=2).certify(k=2, box=1.0)


def test_groups_and_formulas_are_proven():
    X, times = survival_times(5)
    groups = [[0, 1], [2], [3, 4]]
    y = np.column_stack([times.stop, times.event])
    path = fitted(X, y, {"loss": "cox"}, groups=groups, max_k=2)
    times = times._replace(start=np.full(len(X), -np.inf), weights=np.ones(len(X)))
    Z = survival.standardized(X, np.ones(len(X)))[0]
    for k in range(3):
        least = min(
            survival.minimum(
                survival.Problem(
                    Z[:, sorted(j for g in S for j in groups[g])],
                    times._replace(stratum=np.zeros(len(X), dtype=int)),
                    np.zeros(len(X)),
                )
            )[0]
            for S in combinations(range(3), k)
        )
        found = path.certify(k=k)
        assert found.proven and found.incumbent == pytest.approx(least, rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_programs_are_refused_by_name(kind):
    X, y, how, _ = instance(kind, 3)
    path = fitted(X, y, how, max_k=1)
    with pytest.raises(ValueError, match="integrality generation serves one response"):
        path.certify(k=1, algorithm=l0path.solvers.IntegralityGeneration())


@pytest.mark.parametrize("kind", ["multinomial", "ordinal", "several"])
def test_many_groups_are_proven(kind):
    draw = {"multinomial": classes_drawn, "ordinal": ordered_drawn, "several": responses_drawn}
    X, y, _ = draw[kind](3, n=60, p=15)
    groups = [*range(13), 12, 12]
    how = {"loss": "squared" if kind == "several" else kind}
    path = fitted(X, y, how, groups=groups, max_k=1)
    found = path.certify(k=1, n_best=2)
    values = []
    for g in range(13):
        columns = np.flatnonzero(np.array(groups) == g).tolist()
        alone = fitted(X, y, how, always_include=columns, max_k=0)
        values.append(objective_of(alone, k=0))
    assert found.proven and found.search.startswith("leaps and bounds")
    for model, value in zip(found.best, sorted(values), strict=False):
        assert model.objective == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("forced", [[], [0, 1]])
def test_a_model_beside_which_there_is_no_column_is_proven(forced):
    X, Y, _ = responses_drawn(0)
    X = X[:, :2] if forced else np.ones((len(X), 2))
    for limits in ({}, {"n_best": 2}):
        found = l0path.fit(X, Y, always_include=forced).certify(k=0, **limits)
        best, support = best_of_size(X, Y, 0, forced=forced)
        assert found.proven and found.incumbent == pytest.approx(best, rel=1e-9)
        assert found.model.support.tolist() == support
    codes = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.7]))
    times = np.column_stack([np.arange(1.0, len(X) + 1), np.ones(len(X))])
    for loss, y in (("ordinal", codes), ("multinomial", codes), ("cox", times)):
        path = l0path.fit(X, y, loss=loss, always_include=forced)
        assert path.certify(k=0).proven


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_the_model_of_no_coefficient_is_proven(offset):
    X, y, _ = classes_drawn(0)
    offset = offset * np.random.default_rng(0).standard_normal((len(X), 3))
    how = {"loss": "multinomial", "fit_intercept": False, "offset": offset}
    found = fitted(X, y, how, max_k=1).certify(k=0)
    assert found.proven and found.lower_bound == pytest.approx(found.incumbent, rel=1e-9)


PENALTIES = {
    "lasso": {"lambda1": 0.02},
    "lasso and ridge": {"lambda1": 0.02, "lambda2": 0.05},
    "box": {"lower": -0.3, "upper": 0.4},
    "costs": {"lambda1": 0.01, "lambda2": 0.01, "penalty_factor": [1.0, 2.0, 1.0, 0.5, 1.0]},
}


@pytest.mark.parametrize(
    ("kind", "penalty"),
    thinned(3, KINDS, PENALTIES),
)
def test_models_with_lambda1_or_bounds_are_compared_with_all_others(kind, penalty):
    """On sizes and on lambda0 values, of which every set is fitted as one that must be there."""
    given = PENALTIES[penalty]
    if kind == "multinomial" and "lower" in given:
        pytest.skip("coefficients of contrasts have no bounds")
    X, y, how, _ = instance(kind, 0)
    how = {**how, **given}
    costs = np.array(how.pop("penalty_factor", np.ones(P)))
    sets = [list(S) for k in range(P + 1) for S in combinations(range(P), k)]
    values = [fitted(X, y, how, max_k=0, always_include=S).details.objective[0] for S in sets]
    with_factors = {"penalty_factor": costs} if "penalty_factor" in given else {}
    path = l0path.fit(X, y, algorithm="exact", max_k=3, **how)
    for k, objective in enumerate(path.details.objective):
        least = min(value for S, value in zip(sets, values, strict=True) if len(S) == k)
        assert objective == pytest.approx(least, rel=1e-8)
    prices = [0.2, 0.03, 0.005]
    grid = l0path.fit(X, y, algorithm="exact", lambda0=prices, **how, **with_factors)
    for price, objective in zip(prices, grid.details.objective, strict=True):
        every = [v + price * costs[S].sum() for S, v in zip(sets, values, strict=True)]
        assert objective == pytest.approx(min(every), rel=1e-8)
    assert {*path.details.optimality, *grid.details.optimality} == {"global"}
