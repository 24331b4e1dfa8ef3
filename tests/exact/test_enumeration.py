"""All models of some sizes, computed one by one: dependent columns, more columns than rows."""

import math
import time
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import rational_least_squares
from asked import loss_with

import l0path
from l0path.core.status import SearchEnd
from l0path.exact import search as exact_search
from l0path.exact.all_sizes import choice
from l0path.exact.all_sizes.enumeration import Enumeration
from l0path.exact.all_sizes.scores import BestSets, Score
from l0path.inspection.neighbors import fit_data
from l0path.problem.problem import pose
from l0path.working_set.model import make_model


def with_sums(seed, n, p, spare, responses=1):
    """(X, y): the last `spare` columns are sums of two earlier ones, small whole numbers."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, p)).astype(float)
    for j in range(p - spare, p):
        a, b = rng.choice(p - spare, 2, replace=False)
        X[:, j] = X[:, a] + X[:, b]
    Y = X[:, :responses] + X[:, [p - 1]] + 2 * rng.standard_normal((n, responses))
    return X, Y[:, 0] if responses == 1 else Y


def every_value(X, Y, k, lambda2=0.0, always=(), weights=None):
    """{set of k columns beside `always`: its value}, by least squares on centered columns."""
    w = np.full(len(X), 1 / len(X)) if weights is None else weights / weights.sum()
    Z, Y = X - w @ X, np.asarray(Y, dtype=float).reshape(len(X), -1)
    Y, root, out = Y - w @ Y, np.sqrt(w)[:, None], {}
    length = np.sqrt(w @ Z**2)
    for S in combinations([j for j in range(X.shape[1]) if j not in always], k):
        J = sorted([*S, *always])
        A = np.vstack([root * Z[:, J] / length[J], math.sqrt(2 * lambda2) * np.eye(len(J))])
        y = np.vstack([root * Y, np.zeros((len(J), Y.shape[1]))])
        b = np.linalg.lstsq(A, y, rcond=1e-12)[0]
        out[tuple(J)] = 0.5 * float(((y - A @ b) ** 2).sum())
    return out


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (40, {}),
        (40, {"lambda2": 0.1}),
        (40, {"always_include": [2, 11]}),
        (40, {"sample_weight": np.arange(40) % 3 + 0.5}),
        (9, {}),
        (9, {"lambda2": 0.1}),
    ],
)
@pytest.mark.parametrize("responses", [1, 2])
def test_the_best_sets_are_those_of_all_values(n, options, responses):
    X, Y = with_sums(1, n, 12, 4, responses)
    path = l0path.fit(X, Y, max_k=1, certify=False, **options)
    problem = pose(fit_data(path, None, None))
    lambda2 = options.get("lambda2", 0.0)
    more = {"always": options.get("always_include", ()), "weights": options.get("sample_weight")}
    for k in (1, 2, 3):
        true = every_value(X, Y, k, lambda2, **more)
        wanted_best = sorted(true.values())[:5]
        penalty = np.full(13, math.inf)
        penalty[k] = 0.0
        model = make_model(problem)
        refit = choice.refits(problem, model, lambda2)
        wanted = BestSets(Score(penalty, problem.n_eff, 1.0), refit, n_best=5)
        search = Enumeration(problem, lambda2, wanted)
        assert search.lower()[k] <= min(true.values()) + 1e-12
        assert search.run() == SearchEnd.CLOSED
        found = [one[0] for one in wanted.found]
        assert found == pytest.approx(wanted_best, rel=1e-9, abs=1e-12)
        assert wanted.found[0][3].value == pytest.approx(true[wanted.found[0][2]], abs=1e-10)


def test_a_search_that_is_stopped_keeps_its_bound_and_goes_on():
    X, y = with_sums(2, 60, 40, 12)
    path = l0path.fit(X, y, max_k=1, certify=False)
    problem, model = pose(fit_data(path, None, None)), None
    model = make_model(problem)
    penalty = np.full(41, math.inf)
    penalty[4] = 0.0
    wanted = BestSets(Score(penalty, 60.0, 1.0), choice.refits(problem, model, 0.0), n_best=1)
    search, bounds = Enumeration(problem, 0.0, wanted), []
    while search.run(budget=search.operations + 1.0) == SearchEnd.NODE_LIMIT:
        bounds.append(float(search.lower()[4]))
    best = wanted.found[0][0]
    assert len(bounds) > 2
    assert bounds == sorted(bounds)
    assert 0.0 < bounds[0] <= best
    reference = l0path.fit(X[:, :28], y, max_k=4, algorithm="exact")
    assert best <= reference.model(k=4).objective * (1 + 1e-9)


def test_many_dependent_columns_are_proven_and_named():
    X, y = with_sums(3, 80, 60, 25)
    path = l0path.fit(X, y, max_k=3)
    found = path.certify(k=3)
    assert found.proven
    assert found.nodes <= math.comb(60, 3)
    named = [text for text in found.assumptions if "25 features are linear combinations" in text]
    assert len(named) == 1
    assert "x35 (of " in named[0]
    by_fits = min(every_value(X, y, 3).values())
    assert found.incumbent == pytest.approx(by_fits, rel=1e-9)
    exact = l0path.fit(X, y, max_k=3, algorithm="exact")
    assert (exact.details.optimality == "global").all()
    assert exact.model(k=3).objective == pytest.approx(by_fits, rel=1e-9)
    listed = path.near_best(k=2, within=0.02)
    values = every_value(X, y, 2)
    limit = 1.02 * min(values.values())
    assert listed.complete
    assert len(listed.models) == sum(v <= limit * (1 + 1e-12) for v in values.values())


@pytest.mark.parametrize("origin", [1e4, 1e5])
def test_columns_that_gram_matrices_hide_are_compared_by_their_rows(origin):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((25, 5)) + origin
    X[0] *= 100.0
    y = X[:, 0] - origin + rng.standard_normal(25)
    y[0] = 0.0
    path = l0path.fit(X, y, max_k=5)
    for k in (1, 2, 3):
        true = rational_least_squares.values(X, y, k)
        best = min(true.values())
        listed = path.near_best(k=k, within=0.1)
        wanted = sorted(S for S, v in true.items() if v <= 1.1 * best)
        assert sorted(tuple(m.support.tolist()) for m in listed.models) == wanted
        found = path.certify(k=k)
        assert found.proven
        assert found.incumbent == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize(
    ("loss", "options"),
    [("logistic", {}), ("huber", {"lambda1": 0.01}), ("poisson", {"lower": 0.0})],
)
def test_other_losses_are_refitted_where_nothing_bounds_them(loss, options):
    """More columns than rows, or bounds on coefficients: every model is fitted."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 31))
    signal = X[:, 0] - X[:, 1] + rng.logistic(size=30)
    y = {"logistic": signal > 0, "huber": signal, "poisson": rng.poisson(np.exp(signal / 4))}[loss]
    record = loss_with(loss, delta=0.5)
    path = l0path.fit(X, y * 1.0, loss=record, max_k=2, certify=False, **options)
    found = path.certify(k=2)
    assert found.proven
    assert found.search == f"all {math.comb(31, 2)} models compared"
    for S in [(0, 1), (3, 9), tuple(path.support(k=2))]:
        forced = {"always_include": list(map(int, S)), "max_k": 0}
        other = l0path.fit(X, y * 1.0, loss=record, certify=False, **forced, **options)
        assert found.incumbent <= other.details.objective.iloc[0] * (1 + 1e-8)


def test_certificates_without_a_proof_say_why():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((40, 60)), rng.standard_normal(40)
    path = l0path.fit(X, y, max_k=10, certify=False)
    found = path.certify(k=10, time_limit=0.3)
    assert not found.proven
    assert any(text.startswith("no ") for text in found.assumptions)


def test_a_search_of_all_sizes_leaves_time_for_fits(monkeypatch):
    """34,220 logistic models of 60 columns take 5 s, and leaps and bounds, which went first, took
    all of a limit of 30 s without a proof.
    """

    def slow(problem, solution, n_best, clock, node_limit):
        while not clock.over():
            time.sleep(0.01)
        return SimpleNamespace(ended=None)

    monkeypatch.setattr(exact_search, "BestOfOne", slow)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    path = l0path.fit(X, X[:, 0] + rng.logistic(size=80) > 0, loss="logistic", max_k=3)
    found = path.certify(k=3, time_limit=4)
    assert found.proven and found.search == "all 220 models compared"
