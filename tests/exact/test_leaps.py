"""Leaps and bounds against enumeration: sizes, lambda0, n_best, forced and dependent columns,
ill-conditioned ones, early ends and resumption.
"""

import math
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from oracles import scaling
from thinning import thinned

import l0path
from l0path import relaxation
from l0path.designs import as_design
from l0path.exact.leaps import Leaps, searchable
from l0path.problem.losses import make_loss
from l0path.problem.problem import Data, pose
from l0path.working_set.model import make_model

REL = 1e-9  # by which rounding may part two values of a set


def posed(
    X,
    y,
    *,
    weights=None,
    intercept=True,
    standardize=True,
    forced=(),
    excluded=(),
    factor=None,
    lower=-math.inf,
    loss="squared",
):
    n, p = X.shape
    out = np.zeros(p, dtype=bool)
    out[list(excluded)] = True
    return pose(
        Data(
            design=as_design(X)[0],
            y=y,
            loss=make_loss(loss),
            weights=np.ones(n) if weights is None else weights,
            intercept=intercept,
            standardize=standardize,
            lower=np.full(p, lower),
            upper=np.full(p, math.inf),
            factor=np.ones(p) if factor is None else factor,
            forced=np.array(forced, dtype=np.int64),
            excluded=out,
            names=[f"x{j}" for j in range(p)],
        )
    )


def leaps_of(
    problem,
    *,
    lambda2=0.0,
    size=None,
    lambda0=None,
    gap=0.0,
    node_limit=None,
    split=True,
    **more,
):
    model = make_model(problem)

    def refit(support):
        model.grow(support)
        fit = model.refit(support, 0.0, lambda2)
        price = (
            0.0
            if lambda0 is None
            else lambda0 * float(problem.factor[np.setdiff1d(support, problem.forced)].sum())
        )
        return fit.value + price, tuple(map(int, support))

    dual = relaxation.dual_problem(
        problem, 0.0, lambda2, split=relaxation.split(problem) if split else None
    )
    return Leaps(
        dual,
        size=size,
        lambda0=lambda0,
        refit=refit,
        settings=SimpleNamespace(gap=gap, node_limit=node_limit),
        **more,
    )


def enumerated(
    X, y, *, weights=None, intercept=True, standardize=True, forced=(), excluded=(), lambda2=0.0
):
    """{support with the forced columns, sorted: its least 1/2 sum w r^2 + lambda2 ||b||^2}, by
    least squares on rows that the ridge is added to.
    """
    w = np.ones(len(y)) if weights is None else weights
    w = w / w.sum()
    c, s = scaling(X, weights=w, standardize=standardize, intercept=intercept)
    Z, v = np.sqrt(w)[:, None] * (X - c) / s, np.sqrt(w) * (y - (w @ y if intercept else 0.0))
    free, out = [j for j in range(X.shape[1]) if j not in {*forced, *excluded}], {}
    for k in range(len(free) + 1):
        m = k + len(forced)
        ridge, target = np.sqrt(2.0 * lambda2) * np.eye(m), np.r_[v, np.zeros(m)]
        for chosen in combinations(free, k):
            T = sorted((*chosen, *forced))
            A = np.vstack([Z[:, T], ridge])
            b = np.linalg.lstsq(A, target, rcond=None)[0]
            out[tuple(T)] = 0.5 * float(np.sum((A @ b - target) ** 2))
    return out


def agree(search, values, scale):
    """The best supports of a search are those of enumeration, ties aside, and have its values."""
    least = sorted(values.values())[: search.n_best]
    assert [value for value, _ in search.best] == pytest.approx(least, rel=REL, abs=1e-11 * scale)
    for value, support in search.best:
        assert values[support] == pytest.approx(value, rel=REL, abs=1e-11 * scale)
    assert search.lower == search.upper


def data(seed, n, p, rho=0.7, active=4):
    rng = np.random.default_rng(seed)
    X = np.sqrt(1 - rho) * rng.standard_normal((n, p)) + np.sqrt(rho) * rng.standard_normal((n, 1))
    return X * rng.uniform(0.1, 10.0, p), X[:, rng.permutation(p)[:active]] @ rng.choice(
        [-1.0, 1.0], active
    ) + rng.standard_normal(n)


CASES = [
    {},
    {"weights": True},
    {"intercept": False},
    {"standardize": False},
    {"lambda2": 0.05},
    {"forced": (2, 5)},
    {"excluded": (1,), "forced": (4,)},
    {"weights": True, "intercept": False, "standardize": False, "lambda2": 1e-3, "forced": (0,)},
]


def case(number, n=30, p=9):
    options = dict(CASES[number])
    X, y = data(number, n, p)
    if "weights" in options:
        options["weights"] = np.random.default_rng(number).uniform(0.2, 3.0, n)
    lambda2 = options.pop("lambda2", 0.0)
    return X, y, options, lambda2


@pytest.mark.parametrize(("n_best", "number"), thinned(2, [1, 7], range(len(CASES))))
def test_sizes_are_those_of_enumeration(number, n_best):
    X, y, options, lambda2 = case(number)
    problem = posed(X, y, **options)
    table, held = enumerated(X, y, lambda2=lambda2, **options), len(options.get("forced", ()))
    for size in range(10 - held):
        full = min(size, max(map(len, table)) - held)  # of several best sets all have the full size
        values = {
            support: value
            for support, value in table.items()
            if len(support) - held == full or (n_best == 1 and len(support) - held < full)
        }
        search = leaps_of(problem, lambda2=lambda2, size=size, n_best=n_best, split=size % 2 == 0)
        assert search.run() == "closed"
        if len(values) < n_best:
            assert len(search.best) == len(values) and search.upper == math.inf
        else:
            agree(search, values, problem.y.var())


@pytest.mark.parametrize(("n_best", "number"), thinned(2, [1, 5], range(len(CASES))))
def test_lambda0_is_that_of_enumeration(number, n_best):
    X, y, options, lambda2 = case(number)
    rng = np.random.default_rng(number)
    for even in (True, False):
        factor = (
            np.ones(9) if even else np.where(rng.random(9) < 0.2, 0.0, rng.uniform(0.3, 2.0, 9))
        )
        problem, forced = posed(X, y, factor=factor, **options), options.get("forced", ())
        table = enumerated(X, y, lambda2=lambda2, **options)
        for share in (3e-4, 3e-3, 0.03, 0.3):
            lambda0 = share * float(problem.y.var())
            values = {
                support: value + lambda0 * sum(factor[j] for j in support if j not in forced)
                for support, value in table.items()
            }
            if n_best > 1:  # columns without a price are always in
                values = {
                    support: value
                    for support, value in values.items()
                    if all(
                        j in support
                        for j in np.flatnonzero(factor == 0)
                        if j not in options.get("excluded", ())
                    )
                }
            search = leaps_of(problem, lambda2=lambda2, lambda0=lambda0, n_best=n_best)
            assert search.run() == "closed"
            agree(search, values, problem.y.var())


def dependent(kind, n=40):
    """Columns of which some are combinations of others, exactly or nearly."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 9))
    if kind == "copies":
        X[:, 5], X[:, 7] = X[:, 1], -3.0 * X[:, 2]
    elif kind == "sums":
        X[:, 8], X[:, 6] = X[:, 0] + X[:, 1] - X[:, 2], X[:, 3] - 2.0 * X[:, 4]
    else:
        X[:, 8] = X[:, 0] + X[:, 1] + float(kind) * rng.standard_normal(n)
    return X, X[:, 0] - X[:, 1] + X[:, 3] + 2.0 * X[:, 8] + rng.standard_normal(n)


@pytest.mark.parametrize("kind", ["copies", "sums", "1e-2", "1e-3", "1e-4", "1e-5"])
def test_dependent_columns_never_hide_a_model(kind):
    X, y = dependent(kind)
    table = enumerated(X, y)
    rel = (
        2e-6 if kind == "1e-5" else 1e-8
        # a column of which 1e-10 of the square is its own: normal equations, and so refits, keep no
        # more digits
    )
    for forced in ((), (8,), (0, 1, 2, 8)):
        problem = posed(X, y, forced=forced)
        for size in (1, 2, 3, 4, 6, 9 - len(forced)):
            values = {
                support: value
                for support, value in table.items()
                if set(forced) <= set(support) and len(support) - len(forced) <= size
            }
            search = leaps_of(problem, size=size)
            assert search.run() == "closed"
            assert values[search.best[0][1]] == pytest.approx(min(values.values()), rel=rel)
        lambda0 = 0.02 * problem.y.var()
        values = {
            support: value + lambda0 * (len(support) - len(forced))
            for support, value in table.items()
            if set(forced) <= set(support)
        }
        search = leaps_of(problem, lambda0=lambda0)
        assert search.run() == "closed"
        assert values[search.best[0][1]] == pytest.approx(min(values.values()), rel=rel)


@pytest.mark.parametrize(("n", "p"), [(12, 10), (11, 10), (10, 10), (8, 10), (13, 12)])
def test_rows_barely_more_or_fewer_than_columns(n, p):
    X, y = data(n, n, p, rho=0.2)
    problem, table = posed(X, y), enumerated(X, y)
    for size in range(1, 7):
        search = leaps_of(problem, size=size)
        assert search.run() == "closed"
        assert search.best[0][0] == pytest.approx(
            min(value for support, value in table.items() if len(support) <= size),
            rel=1e-7,
            abs=1e-10 * problem.y.var(),
        )


def test_too_many_dependent_columns_are_refused():
    X, y = data(1, 20, 60)
    with pytest.raises(
        ValueError,
        match="too many of 60 features are linear combinations of others for leaps and bounds; "
        "search by branch and bound",
    ):
        leaps_of(posed(X, y), size=8)


@pytest.mark.parametrize(
    ("options", "lambda1", "said"),
    [
        ({"lower": 0.0}, 0.0, "without bounds"),
        ({}, 0.1, "lambda1 = 0, not 0.1"),
        ({"loss": "logistic"}, 0.0, "squared loss, not logistic"),
    ],
)
def test_what_cannot_be_searched_says_why(options, lambda1, said):
    X, y = data(1, 30, 5)
    dual = relaxation.dual_problem(
        posed(X, np.sign(y) if "loss" in options else y, **options), lambda1, 0.1
    )
    assert said in searchable(dual)
    with pytest.raises(ValueError, match=said):
        Leaps(dual, size=2, refit=None, settings=None)


def test_columns_fixed_out_by_their_box_are_left_out():
    X, y = data(2, 40, 8)
    problem, table = posed(X, y), enumerated(X, y, excluded=(0, 3))
    lower, upper = np.full(8, -math.inf), np.full(8, math.inf)
    lower[[0, 3]] = upper[[0, 3]] = 0.0
    search = leaps_of(replace(problem, lower=lower, upper=upper), size=3)
    search.run()
    agree(
        search,
        {support: value for support, value in table.items() if len(support) <= 3},
        problem.y.var(),
    )


def hard(n=80, p=30):
    """A size of which leaves thousands of nodes: weak effects of many correlated columns."""
    rng = np.random.default_rng(5)
    X = (
        rng.standard_normal((n, p))
        @ np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))).T
    )
    return posed(X, X @ rng.standard_normal(p) + 6.0 * rng.standard_normal(n))


@pytest.mark.parametrize("target", [{"size": 6}, {"lambda0": 0.01}])
def test_stopped_searches_have_valid_bounds_and_go_on_to_the_same_end(target):
    problem = hard()
    if "lambda0" in target:
        target = {"lambda0": target["lambda0"] * problem.y.var()}
    whole = leaps_of(problem, **target)
    assert whole.run() == "closed"
    best = whole.best[0]
    target["portion"] = 3e3
    search, ends, last = leaps_of(problem, **target), [], -math.inf
    assert search.lower <= best[0]
    for nodes in range(20, 10**6, 20):
        search.settings.node_limit = nodes
        ends.append(search.run())
        assert search.lower <= best[0] + REL * best[0] and search.lower >= last - 1e-15
        last = search.lower
        if ends[-1] == "closed":
            break
    assert ends.count("node_limit") >= 3 and ends[-1] == "closed"
    assert search.best[0][1] == best[1]
    search = leaps_of(problem, **target)
    while search.run(iter([False, True]).__next__) == "stopped":
        assert search.lower <= best[0] + REL * best[0]
    assert search.best[0][1] == best[1]


def test_no_thread_count_changes_a_search(monkeypatch):
    problem = hard()
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        search = leaps_of(problem, size=6, gap=1e-3, portion=1e4)
        search.run()
        found.append((search.best, search.nodes, search.lower))
    assert found[0] == found[1]


def test_gap_ends_a_search_earlier():
    problem = hard()
    tight, loose = leaps_of(problem, size=7), leaps_of(problem, size=7, gap=0.1)
    for search in (tight, loose):
        search.run()
    assert loose.nodes < tight.nodes and loose.lower <= tight.upper
    assert loose.upper - loose.lower <= 0.1 * loose.upper


def test_a_ridge_spares_nodes_and_a_split_changes_nothing():
    """The diagonal that bounds nodes is made for the candidates of a part of the search."""
    problem, found = hard(), {}
    for lambda2 in (0.0, 0.3):
        for split in (False, True):
            search = leaps_of(problem, size=7, lambda2=lambda2, split=split)
            search.run()
            found[lambda2, split] = search.nodes, search.best
        assert found[lambda2, True] == found[lambda2, False]
    assert found[0.3, False][0] < found[0.0, False][0]


def test_an_offered_model_competes_and_spares_nodes():
    problem = hard()
    cold = leaps_of(problem, size=7)
    cold.run()
    warm = leaps_of(problem, size=7)
    warm.offer(cold.best[0][1])
    warm.run()
    assert warm.best == cold.best and warm.nodes <= cold.nodes


def test_diabetes_sizes_are_proven():
    d = l0path.datasets.load_diabetes(expansion=True)
    path = l0path.fit(d.X, d.y, k=range(9))
    problem = posed(d.X.to_numpy(), d.y.to_numpy())
    nodes = []
    for k in range(1, 9):
        search = leaps_of(problem, size=k, gap=1e-6)
        search.offer(path.support(k=k))
        assert search.run() == "closed"
        assert search.best[0][0] <= path.details.objective[path.details.k == k].iloc[0] * (1 + REL)
        assert search.upper - search.lower <= 1e-6 * search.upper
        nodes.append(search.nodes)
    assert max(nodes) < 20_000
