"""Leaps and bounds over all sizes at once against enumeration, and what certify="auto" makes of it:
forced and dependent columns, weights, a ridge, lambda0, early ends, and where it spends nothing.
"""

import math

import numpy as np
import pytest
from test_leaps import CASES, REL, case, data, dependent, enumerated, posed
from thinning import thinned

import l0path
from l0path.engine.proving import proofs
from l0path.exact.all_sizes.search import AllSizes, Walker
from l0path.working_set.model import make_model


class Below:
    """All sets below a value given by size; with `alone`, the best one of each size."""

    def __init__(self, problem, upper, lambda2=0.0, alone=False):
        self.upper, self.lambda2, self.found, self.alone = np.array(upper), lambda2, {}, alone
        self.shrink, self.model = 1.0 if alone else math.inf, make_model(problem)

    def cutoffs(self, sizes):
        return self.upper[:sizes].copy()

    def offer(self, support, size):
        self.model.grow(support)
        value = self.model.refit(support, 0.0, self.lambda2).value
        if value < self.upper[size]:
            self.found[tuple(map(int, support))] = value
        if self.alone:
            self.upper[size] = min(self.upper[size], value)
        return value < math.inf


def least_by_size(table, held):
    """{size: the least value of a set of at most so many columns besides the held ones}."""
    out = {}
    for k in range(max(map(len, table)) - held + 1):
        out[k] = min(value for support, value in table.items() if len(support) - held <= k)
    return out


@pytest.mark.parametrize(("workers", "number"), thinned(2, [1, 4], range(len(CASES))))
def test_best_sets_of_all_sizes_are_found_without_any_start(number, workers):
    X, y, options, lambda2 = case(number)
    problem, held = posed(X, y, **options), len(options.get("forced", ()))
    least = least_by_size(enumerated(X, y, lambda2=lambda2, **options), held)
    wanted = Below(problem, np.full(10, math.inf), lambda2, alone=True)
    search = AllSizes(problem, lambda2, wanted, workers=workers)
    assert search.run() == "closed"
    scale = problem.y.var()
    for k, value in least.items():
        assert wanted.upper[k] == pytest.approx(value, rel=REL, abs=1e-11 * scale)
    np.testing.assert_array_equal(search.lower(), wanted.upper[: search.J.size + 1])


@pytest.mark.parametrize("kind", [None, "copies", "sums", "1e-2"])
@pytest.mark.parametrize("quantile", [0.02, 0.3, 1.0])
def test_all_sets_below_a_value_are_found(kind, quantile):
    X, y = data(5, 30, 9) if kind is None else dependent(kind)
    problem, table = posed(X, y), enumerated(X, y)
    by_size = [[v for s, v in table.items() if len(s) == k] for k in range(10)]
    upper = np.array([np.quantile(values, quantile) for values in by_size]) * (1 + 1e-7)
    if quantile == 0.3:
        upper[[0, 4, 9]] = -math.inf
    wanted = Below(problem, upper)
    search = AllSizes(problem, 0.0, wanted, workers=1)
    assert search.run() == "closed"
    assert set(wanted.found) == {s for s, v in table.items() if v < upper[len(s)]}


def test_a_search_ended_early_has_valid_bounds_and_goes_on_to_the_same_end():
    X, y = data(8, 40, 11, rho=0.9)
    problem = posed(X, y)
    table = enumerated(X, y)
    least = np.array(list(least_by_size(table, 0).values()))
    wanted = Below(problem, np.full(12, math.inf), alone=True)
    search, last, ends = AllSizes(problem, 0.0, wanted, workers=1), -math.inf, 0
    while search.run(search.operations + 50.0) != "closed":
        lower = np.minimum(search.lower(), wanted.upper)
        assert (lower <= least * (1 + REL)).all() and (lower >= last - 1e-15).all()
        last, ends = lower, ends + 1
    assert ends >= 5
    np.testing.assert_allclose(wanted.upper, least, rtol=REL)


# -------------------- certify="auto"


FITS = [
    {},
    {"sample_weight": True},
    {"fit_intercept": False, "standardize": False},
    {"lambda2": 0.05},
    {"always_include": [2, 5]},
    {"exclude": [1], "always_include": [4], "max_k": 4},
    {"penalty_factor": np.array([1.0, 2, 1, 0.5, 1, 1, 3, 1, 1])},
    {"k": [3, 6]},
    {"offset": True},
]


def oracle(X, y, options):
    """Enumeration for the options of a fit."""
    names = {"sample_weight": "weights", "fit_intercept": "intercept", "always_include": "forced"}
    names |= {"exclude": "excluded", "standardize": "standardize", "lambda2": "lambda2"}
    given = {names[name]: value for name, value in options.items() if name in names}
    return enumerated(X, y - options.get("offset", 0.0), **given)


@pytest.mark.parametrize("number", range(len(FITS)))
def test_a_default_fit_proves_all_sizes(number):
    X, y = data(number, 30, 9)
    options, rng = dict(FITS[number]), np.random.default_rng(number)
    for name in ("sample_weight", "offset"):
        if name in options:
            options[name] = rng.uniform(0.2, 3.0, 30)
    path = l0path.fit(X, y, **options)
    least = least_by_size(oracle(X, y, options), len(options.get("always_include", ())))
    assert (path.details.optimality == "global").all() and not path.notes
    for row in path.details.itertuples():
        assert row.objective == pytest.approx(least[row.k], rel=2e-6)
        assert row.lower_bound <= least[row.k] * (1 + REL)
        assert row.gap <= 1e-6


@pytest.mark.parametrize("kind", ["copies", "sums", "1e-2", "1e-4", "constant"])
def test_degenerate_columns_are_served(kind):
    X, y = dependent("copies" if kind == "constant" else kind)
    if kind == "constant":
        X[:, 4] = 7.0
    path = l0path.fit(X, y)
    if kind == "constant":
        X[0, 4] = 8.0  # for the scale of a column that is left out
    least = least_by_size(enumerated(X, y, excluded=(4,) if kind == "constant" else ()), 0)
    assert (path.details.optimality == "global").all()
    for row, model in zip(path.details.itertuples(), path, strict=True):
        assert row.objective == pytest.approx(least[row.k], rel=2e-6)
        assert row.lower_bound <= least[row.k] * (1 + REL)
        if kind in ("copies", "constant"):  # of equal columns the smaller ones are shown
            assert not {5, 7} & set(model.support.tolist())


@pytest.mark.parametrize("options", [{}, {"lambda2": 0.02}, {"always_include": [3]}])
def test_rows_of_lambda0_are_proven_among_models_of_all_sizes(options):
    X, y = data(3, 40, 9)
    table, held = oracle(X, y, options), len(options.get("always_include", ()))
    for lambda0 in ("grid", [0.001, 0.01, 0.1, 1.0, 10.0]):
        path = l0path.fit(X, y, lambda0=lambda0, **options)
        assert (path.details.optimality == "global").all()
        for row in path.details.itertuples():
            best = min(v + row.lambda0 * (len(s) - held) for s, v in table.items())
            assert row.objective == pytest.approx(best, rel=2e-6)
            assert row.lower_bound <= best * (1 + REL)


def test_a_model_that_exchanges_miss_is_found():
    """What exchanges stop at is not always the best model; then the row is replaced."""
    for seed, p in ((2, 14), (8, 14)):
        rng = np.random.default_rng(seed)
        L = np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))
        X = rng.standard_normal((40, p)) @ L.T
        y = X @ rng.choice([-1.0, 1.0], p) + rng.standard_normal(40)
        path, without = l0path.fit(X, y), l0path.fit(X, y, certify=False)
        assert (path.details.optimality == "global").all()
        better = path.details.objective < without.details.objective * (1 - 1e-6)
        assert better.any()
        assert path.details.objective[~better].equals(without.details.objective[~better])
        for k in path.details.k[better]:
            Z = np.c_[np.ones(40), X[:, path.support(k=k)]]
            rest = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
            assert path.model(k=k).objective == pytest.approx(rest @ rest / 80, rel=1e-9)


def test_results_do_not_depend_on_the_number_of_threads():
    X, y = data(2, 60, 14, rho=0.9)
    first, *others = (l0path.fit(X, y, n_jobs=n) for n in (1, 2, 4))
    for other in others:
        assert other.details.equals(first.details)


def test_a_search_beyond_its_budget_says_so_and_leaves_the_other_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 48)) + rng.standard_normal((100, 1))
    y = X @ rng.choice([-1.0, 1.0], 48) + 3.0 * rng.standard_normal(100)
    path, without = l0path.fit(X, y), l0path.fit(X, y, certify=False)
    reached = path.details.optimality == "global"
    assert 2 < reached.sum() < len(path)
    assert [f"proved {reached.sum()} of {len(path)} models" in note for note in path.notes] == [
        True
    ]
    rest = ["objective", "lower_bound", "optimality"]
    assert path.details[rest][~reached].equals(without.details[rest][~reached])


def test_nothing_is_spent_elsewhere(monkeypatch):
    calls = []

    real = proofs.make_search

    def counted(*args, **options):
        calls.append(1)
        return real(*args, **options)

    monkeypatch.setattr(proofs, "make_search", counted)
    X, y = data(1, 40, 6)
    two = np.where(y > 0, 1, 0)
    for options in (
        {"certify": False},
        {"lower": 0.0},
        {"lambda1": 0.01},
        {"loss": "huber"},
        {"algorithm": "cd"},
    ):
        l0path.fit(X, y, **options)
    l0path.fit(X, two, loss="logistic", lambda2=1e-3)
    l0path.fit(X[:6], y[:6])  # no more rows than columns
    wide = np.random.default_rng(0).standard_normal((60, 51))
    l0path.fit(wide, wide[:, 0] + wide[:, 1] ** 2, max_k=3)
    l0path.stability_selection(X, y, n_subsamples=4, random_state=0)
    assert not calls
    l0path.cv_fit(X, y, lambda2=0, random_state=0)
    assert len(calls) == 1
    l0path.L0Regressor(k=2).fit(X, y)
    assert len(calls) == 2


@pytest.mark.parametrize("value", ["yes", None, 1])
def test_other_values_are_refused(value):
    X, y = data(1, 30, 4)
    with pytest.raises(TypeError, match=r"certify=.* must be True, False or 'auto'"):
        l0path.fit(X, y, certify=value)


def test_time_that_some_sizes_did_not_use_goes_to_those_that_ran_out_of_it(monkeypatch):
    asked = []

    class Late(proofs.CertificateSearch):
        """The first search runs out of its time."""

        def run(self):
            asked.append(self.solution.k)
            late = len(asked) == 1
            return self.result._replace(status="time_limit") if late else super().run()

    monkeypatch.setattr(proofs, "CertificateSearch", Late)
    monkeypatch.setattr(proofs, "all_sizes", lambda setting, solutions, tell: (solutions, []))
    X, y = data(8, 40, 9, rho=0.9)
    settings = l0path.solvers.BranchAndBound(node_limit=10_000)  # each size by a search of its own
    path = l0path.fit(X, y, algorithm=settings, time_limit=600)
    assert len(set(asked)) > 1 and asked == [*sorted(set(asked)), asked[0]]
    assert (path.details.optimality == "global").all()


def test_a_search_that_takes_long_is_divided_and_finds_the_same(monkeypatch):
    real, levels = Walker._restrict, []

    def restrict(self, level):
        levels.append(level)
        real(self, level)

    monkeypatch.setattr(Walker, "_restrict", restrict)
    X, y = data(3, 60, 11, rho=0.6)
    problem, table = posed(X, y), enumerated(X, y)
    by_size = [[v for s, v in table.items() if len(s) == k] for k in range(12)]
    upper = np.array([np.quantile(values, 0.6) for values in by_size]) * (1 + 1e-7)
    wanted = Below(problem, upper)
    search, last = AllSizes(problem, 0.0, wanted, workers=2), -math.inf
    for walker in search.walkers:
        walker.patience = 0.05
    while search.run(budget=search.operations + 3e6) != "closed":
        lower = search.lower()
        assert all(
            lower[len(s)] <= v * (1 + 1e-9) for s, v in table.items() if s not in wanted.found
        )
        assert search.operations > last
        last = search.operations
    assert max(levels) > 1 and levels[-1] < max(levels)  # down and up again
    assert set(wanted.found) == {s for s, v in table.items() if v < upper[len(s)]}


@pytest.mark.parametrize("workers", [1, 4])
def test_parts_without_dependent_columns_count_and_the_clock_is_asked_between_them(workers):
    """Ten columns beyond the rank make hundreds of parts: a default fit of 31 weighted rows took
    half a minute, for none of them counted in its budget.
    """
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((11, 20)), rng.standard_normal(11)
    for budget, poll in ((1e7, None), (math.inf, lambda: True)):
        problem = posed(X, y)
        nothing = Below(problem, np.full(21, -1.0))
        search = AllSizes(problem, 0.0, nothing, workers=workers)
        assert search.run(budget, poll) == ("stopped" if poll else "node_limit")
        assert search.spare == 10 and search.made <= 70 and search.more is not None
        assert (search.lower() <= 0.0).all()
    weights = np.arange(11) % 2 + 5
    path = l0path.fit(X, y, sample_weight=weights, max_k=4)
    assert path.details.k.max() == 4 and (path.details.lower_bound.dropna() >= 0.0).all()
