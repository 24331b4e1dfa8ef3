"""Leaps and bounds over all sizes for several responses: its kernels, and the proofs of default
fits, against least squares of every response on every subset.
"""

import math

import numpy as np
import pytest
from asked import asked
from recomputed import objective_of
from test_all_sizes import Below, least_by_size
from test_leaps import data, dependent, enumerated

import l0path
from l0path.exact.all_sizes.search import AllSizes
from l0path.problem.problem import pose

REL = 1e-9


def responses(X, seed, r):
    """Responses of a few columns each, in different units."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((X.shape[1], r)) * (rng.random((X.shape[1], 1)) < 0.5)
    return (X / X.std(axis=0)) @ B + 1.5 * rng.standard_normal((len(X), r)) + rng.normal(size=r)


def summed(X, Y, v=None, **options):
    """{support: the least value of all responses together}: see `test_leaps.enumerated`."""
    v = np.ones(Y.shape[1]) if v is None else v
    tables = [enumerated(X, np.ascontiguousarray(y), **options) for y in Y.T]
    return {
        support: sum(weight * table[support] for weight, table in zip(v, tables, strict=True))
        for support in tables[0]
    }


FITS = [
    {},
    {"sample_weight": True, "response_weights": True},
    {"fit_intercept": False, "standardize": False},
    {"lambda2": 0.05, "response_weights": True},
    {"always_include": [2, 5]},
    {"exclude": [1], "always_include": [4], "sample_weight": True},
]
NAMES = {"sample_weight": "weights", "fit_intercept": "intercept", "always_include": "forced"}
NAMES |= {"exclude": "excluded", "response_weights": "v"}


def drawn(number, n=30, p=9, r=3):
    """(X, Y, options of a fit, those of the enumeration)."""
    X, options = data(number, n, p)[0], dict(FITS[number])
    rng = np.random.default_rng(number)
    for name, size in (("sample_weight", n), ("response_weights", r)):
        if name in options:
            options[name] = rng.uniform(0.2, 3.0, size)
    return X, responses(X, number, r), options, {NAMES.get(k, k): v for k, v in options.items()}


@pytest.mark.parametrize("number", range(len(FITS)))
def test_best_sets_of_all_sizes_are_found_without_any_start(number):
    X, Y, options, same = drawn(number, r=2 + number % 3)
    problem = pose(l0path.fit(X, Y, max_k=0, certify=False, **asked(options))._source.data)
    least = least_by_size(summed(X, Y, **same), len(same.get("forced", ())))
    for workers in (1, 4):
        wanted = Below(problem, np.full(10, math.inf), options.get("lambda2", 0.0), alone=True)
        search = AllSizes(problem, options.get("lambda2", 0.0), wanted, workers=workers)
        assert search.run() == "closed" and search.nodes > 1
        for k, value in least.items():
            assert wanted.upper[k] == pytest.approx(value, rel=REL)


@pytest.mark.parametrize(
    ("kind", "quantile"), [(None, 0.02), (None, 1.0), ("sums", 0.3), ("1e-2", 0.5)]
)
def test_all_sets_below_a_value_are_found(kind, quantile):
    X = data(5, 30, 9)[0] if kind is None else dependent(kind)[0]
    Y = responses(X, 5, 3)
    problem, table = pose(l0path.fit(X, Y, max_k=0, certify=False)._source.data), summed(X, Y)
    by_size = [[v for s, v in table.items() if len(s) == k] for k in range(10)]
    upper = np.array([np.quantile(values, quantile) for values in by_size]) * (1 + 1e-7)
    wanted = Below(problem, upper)
    search, last = AllSizes(problem, 0.0, wanted, workers=1), -math.inf
    while search.run(search.operations + 2e3) != "closed":
        lower = search.lower()
        missing = [(s, v) for s, v in table.items() if s not in wanted.found]
        assert all(lower[len(s)] <= v * (1 + REL) for s, v in missing)
        assert search.operations > last
        last = search.operations
    assert set(wanted.found) == {s for s, v in table.items() if v < upper[len(s)]}


@pytest.mark.parametrize("number", range(len(FITS)))
def test_a_default_fit_proves_all_sizes(number):
    X, Y, options, same = drawn(number, p=10)
    path = l0path.fit(X, Y, **asked(options))
    least = least_by_size(summed(X, Y, **same), len(same.get("forced", ())))
    assert (path.details.optimality == "global").all() and not path.notes
    assert path.details.k.max() == max(least)
    for row in path.details.itertuples():
        assert row.objective == pytest.approx(least[row.k], rel=2e-8)
        assert row.lower_bound <= least[row.k] * (1 + REL)
        assert row.gap <= 1e-6


@pytest.mark.parametrize("kind", ["copies", "sums", "1e-2", "1e-4", "constant"])
def test_degenerate_columns_are_served(kind):
    X, y = dependent("copies" if kind == "constant" else kind)
    if kind == "constant":
        X[:, 4] = 7.0
    Y = np.column_stack([y, responses(X[:, :4], 1, 2)])
    path, grid = l0path.fit(X, Y), l0path.fit(X, Y, lambda0="grid")
    if kind == "constant":
        X[0, 4] = 8.0  # for the scale of a column that is left out
    table = summed(X, Y, excluded=(4,) if kind == "constant" else ())
    least = least_by_size(table, 0)
    assert (path.details.optimality == "global").all()
    for row in path.details.itertuples():
        assert row.objective == pytest.approx(least[row.k], rel=2e-6)
        assert row.lower_bound <= least[row.k] * (1 + REL)
    assert (grid.details.optimality == "global").all()
    for row in grid.details.itertuples():
        best = min(value + row.lambda0 * k for k, value in least.items())
        assert row.objective == pytest.approx(best, rel=2e-6)
        assert row.lower_bound <= best * (1 + REL)


def test_five_and_twenty_columns_are_proven_by_default_whatever_the_threads():
    X = data(1, 80, 25, active=6)[0]
    Y = responses(X, 1, 3)
    paths = [l0path.fit(X, Y, n_jobs=jobs) for jobs in (1, 2)]
    for path in paths:
        assert len(path) == 26 and (path.details.optimality == "global").all() and not path.notes
    assert paths[0].details.equals(paths[1].details)
    certificate = l0path.fit(X, Y, max_k=6, certify=False).certify(k=5, n_best=3)
    assert certificate.proven and len(certificate.best) == 3
    assert certificate.lower_bound == pytest.approx(objective_of(paths[0], k=5), rel=1e-6)


def test_two_perfect_responses_and_one_that_is_their_sum():
    X = data(2, 30, 8)[0]
    Y = np.column_stack([X[:, 0] - X[:, 1], X[:, 1] + X[:, 2]])
    path = l0path.fit(X, np.column_stack([Y, Y.sum(axis=1), np.ones(30)]))
    assert (path.details.optimality == "global").all() and path.support(k=3).tolist() == [0, 1, 2]
    table = summed(X, np.column_stack([Y, Y.sum(axis=1)]))
    for row in path.details.itertuples():
        best = min(value for support, value in table.items() if len(support) <= row.k)
        assert row.objective == pytest.approx(best, rel=1e-7, abs=1e-9)
