"""Leaps and bounds over sets of groups of all sizes: its kernels, and the proofs of default fits,
against least squares on every set of groups.
"""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.exact.all_sizes import choice, group_search
from l0path.exact.all_sizes.group_search import group_sizes
from l0path.inspection.neighbors import fit_data
from l0path.problem.problem import pose
from l0path.working_set.model import make_model

REL = 1e-9
SIZES = [2, 1, 3, 2, 1, 2]


@pytest.fixture(autouse=True)
def for_few_groups(monkeypatch):
    """Small problems, which enumeration can check, are served too."""
    monkeypatch.setattr(group_search, "FEW_GROUPS", 0)


def drawn(seed, responses=1, kind=None):
    """(X, y, groups): six groups, some of which matter; kind: how columns depend on each other."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(SIZES)), SIZES)
    X = rng.standard_normal((40, labels.size)) + rng.standard_normal((40, 1))
    if kind == "within":  # dummies of all levels, and a copy within a group
        levels = rng.integers(3, size=40)
        X[:, labels == 2] = levels[:, None] == np.arange(3)
        X[:, 1] = X[:, 0]
    elif kind == "units":
        X *= 10.0 ** rng.uniform(-4, 4, labels.size)
    B = rng.standard_normal((labels.size, responses)) / X.std(axis=0)[:, None]
    Y = X @ (B * (rng.random((labels.size, 1)) < 0.4)) + 2.0 * rng.standard_normal((40, responses))
    return X, Y[:, 0] if responses == 1 else Y, labels


class Below:
    """All sets of groups below a value given by size; with `alone`, the best one of each size."""

    def __init__(self, problem, model, upper, lambda2, alone):
        self.upper, self.alone, self.shrink = np.array(upper), alone, 1.0 if alone else math.inf
        self.found, self.refit = {}, choice.refits(problem, model, lambda2)

    def cutoffs(self, sizes):
        return self.upper[:sizes].copy()

    def offer(self, support, size):
        value = self.refit(support)[0]
        if value < self.upper[size]:
            self.found[tuple(support.tolist())] = value
        if self.alone:
            self.upper[size] = min(self.upper[size], value)
        return value < math.inf


def posed(X, y, groups, **options):
    """(problem, model with all usable columns) of data."""
    path = l0path.fit(X, y, groups=groups, max_k=0, certify=False, **options)
    problem = pose(fit_data(path, None, None))
    model = make_model(problem)
    model.grow(np.flatnonzero(problem.usable))
    return problem, model


def table_of(X, y, labels, lambda2=0.0, weights=None, held=()):
    """{set of groups, with the held ones: the least value}, columns scaled as `fit` does it."""
    w = np.full(len(X), 1.0 / len(X)) if weights is None else weights / weights.sum()
    Y = y.reshape(len(X), -1)
    Z, Y = X - w @ X, Y - w @ Y
    size = np.sqrt(w @ Z**2)
    Z = np.where(size > 1e-12, Z / np.where(size > 1e-12, size, 1.0), 0.0)
    out, others = {}, [g for g in range(labels.max() + 1) if g not in held]
    for k in range(len(others) + 1):
        for chosen in combinations(others, k):
            A = np.sqrt(w)[:, None] * Z[:, np.isin(labels, [*held, *chosen])]
            A = np.vstack([A, math.sqrt(2.0 * lambda2) * np.eye(A.shape[1])])
            target = np.vstack([np.sqrt(w)[:, None] * Y, np.zeros((A.shape[1], Y.shape[1]))])
            b = np.linalg.lstsq(A, target, rcond=1e-12)[0]
            value = 0.5 * float(((target - A @ b) ** 2).sum())
            out[tuple(sorted([*held, *chosen]))] = value
    return out


CASES = [
    ({}, None, 1),
    ({"sample_weight": True}, "units", 1),
    ({"lambda2": 0.05}, None, 3),
    ({"always_include": [4]}, "within", 2),
    ({}, "within", 1),
    ({"lambda2": 0.02, "sample_weight": True, "always_include": [0]}, "units", 1),
]


def case(number):
    """(X, y, groups, options of a fit, those of the enumeration)."""
    options, kind, responses = CASES[number]
    X, y, labels = drawn(number, responses, kind)
    options, same = dict(options), {"lambda2": options.get("lambda2", 0.0)}
    if "sample_weight" in options:
        weights = np.random.default_rng(number).uniform(0.2, 3.0, len(X))
        options["sample_weight"] = same["weights"] = weights
    if "always_include" in options:
        same["held"] = [int(labels[options["always_include"][0]])]
    return X, y, labels, options, same


@pytest.mark.parametrize("number", range(len(CASES)))
def test_best_sets_of_all_sizes_are_found_without_any_start(number):
    X, y, labels, options, same = case(number)
    problem, model = posed(X, y, labels, **options)
    table, held = table_of(X, y, labels, **same), len(same.get("held", ()))
    wanted = Below(problem, model, np.full(7, math.inf), same["lambda2"], alone=True)
    search = group_sizes(model, same["lambda2"], wanted)
    assert search.run() == "closed" and search.nodes > 1
    for k in range(len(SIZES) - held + 1):
        least = min(v for s, v in table.items() if len(s) == held + k)
        assert wanted.upper[k] == pytest.approx(least, rel=REL)


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("quantile", [0.05, 0.5, 1.0])
def test_all_sets_below_a_value_are_found(number, quantile):
    X, y, labels, options, same = case(number)
    problem, model = posed(X, y, labels, **options)
    table, held = table_of(X, y, labels, **same), len(same.get("held", ()))
    by_size = [[v for s, v in table.items() if len(s) == held + k] for k in range(7 - held)]
    upper = [np.quantile(values, quantile) * (1.0 + 1e-7) for values in by_size]
    wanted = Below(problem, model, upper, same["lambda2"], alone=False)
    search, rounds = group_sizes(model, same["lambda2"], wanted), 0
    while search.run(search.operations + 50.0) != "closed":
        rounds, lower = rounds + 1, search.lower()
        missing = [(s, v) for s, v in table.items() if s not in wanted.found]
        assert all(lower[len(s) - held] <= v * (1.0 + REL) for s, v in missing)
    assert rounds > 2
    assert set(wanted.found) == {s for s, v in table.items() if v < upper[len(s) - held]}


@pytest.mark.parametrize("responses", [1, 2])
def test_sets_that_keep_a_hierarchy_are_compared_with_their_like(responses):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((70, 3)), columns=list("abc"))
    frame["f"] = rng.choice(list("uvw"), 70)
    frame["y"] = frame.a * frame.b + frame.a * (frame.f == "u") + 2.0 * rng.standard_normal(70)
    frame["z"] = frame.c + rng.standard_normal(70)
    left = "y + z" if responses == 2 else "y"
    formula = f"{left} ~ a + b + c + f + a:b + a:f + b:c"
    path = l0path.fit(formula, data=frame, heredity="strong")
    needs = {4: {0, 1}, 5: {0, 3}, 6: {1, 2}}
    labels = np.concatenate([np.full(size, g) for g, size in enumerate([1, 1, 1, 2, 1, 2, 1])])
    a, b, c = frame[["a", "b", "c"]].to_numpy().T
    f = np.array([frame.f == "v", frame.f == "w"])
    y = frame[["y", "z"]].to_numpy() if responses == 2 else frame.y.to_numpy()
    table = table_of(np.vstack([a, b, c, f, a * b, a * f, b * c]).T, y, labels)
    closed = {s for s in table if all(needs.get(g, set()) <= set(s) for g in s)}
    assert (path.details.optimality == "global").all() and len(path.details) == 8
    for row in path.details.itertuples():
        least = min(table[s] for s in closed if len(s) == row.k)
        assert row.objective == pytest.approx(least, rel=2e-8)
        assert row.lower_bound <= least * (1.0 + REL)


def test_default_fits_prove_all_sizes_of_many_groups():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((120, 44)), np.repeat(np.arange(22), 2)
    y = X[:, :6] @ rng.standard_normal(6) + 2.0 * rng.standard_normal(120)
    for target in (y, np.column_stack([y, rng.standard_normal(120)])):
        path = l0path.fit(X, target, groups=groups)
        assert (path.details.optimality == "global").all() and not path.notes


def test_groups_that_share_or_explain_columns_are_left_to_other_searches():
    X, y, labels = drawn(0)
    everything = Below(*posed(X, y, labels), np.full(7, math.inf), 0.0, alone=True)

    def served(X, groups):
        return group_sizes(posed(X, y, groups)[1], 0.0, everything) is not None

    assert served(X, labels)
    assert not served(X, [[0, 1], [1, 2], *([j] for j in range(3, X.shape[1]))])
    copies = X.copy()
    copies[:, 3:6] = copies[:, [0, 1, 6]]
    assert not served(copies, labels)
