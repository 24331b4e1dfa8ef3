"""Searches within boxes against enumeration: equal and unequal sides, one side alone, no width,
columns that are copies, opposite, constant or nearly combinations of others, weights, forced
columns.
"""

import numpy as np
import pytest
from oracles import best_penalized, best_subsets
from problems import plain, problem_of

import l0path
from l0path.exact.result import told_apart_by_box
from l0path.relaxation import dual_problem, split


def boxes(p, rng):
    """(lower, upper), both (p,), of one of five kinds."""
    kind = rng.integers(5)
    upper = rng.uniform(0.1, 0.8, p)
    if kind == 0:
        return -upper, upper
    if kind == 1:
        return -rng.uniform(0.05, 0.8, p), upper
    if kind == 2:
        return np.zeros(p), upper
    if kind == 3:
        return np.where(rng.random(p) < 0.4, 0.0, -upper), np.where(rng.random(p) < 0.4, 0.0, upper)
    return -upper, np.where(rng.random(p) < 0.3, np.inf, upper)


def posed(rng):
    """(X, y, keywords of a fit, keywords of the oracle, forced columns): n may be below p."""
    n, p = int(rng.integers(5, 20)), 7
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1)) * rng.choice([0.0, 1.5])
    spoiled = rng.integers(6)
    if spoiled < 4:
        X[:, 5] = (X[:, 0], -X[:, 1], np.ones(n), X[:, 0] + 1e-7 * X[:, 2])[spoiled]
    y = X[:, :3] @ rng.choice([-1.0, 1.0], 3) + rng.normal(size=n)
    lower, upper = boxes(p, rng)
    forced = [int(rng.integers(5))] if rng.random() < 0.3 else []
    weights = rng.uniform(0.3, 2.0, n) if rng.random() < 0.4 else None
    intercept = bool(rng.random() < 0.6)
    unbounded = not (np.isfinite(lower).all() and np.isfinite(upper).all())
    lambda2 = 0.01 if unbounded else float(rng.choice([0.0, 0.02]))
    asked = {"lower": lower, "upper": upper, "lambda2": lambda2, "standardize": False}
    fit = {**asked, "sample_weight": weights, "fit_intercept": intercept, "always_include": forced}
    return X, y, fit, {**asked, "weights": weights, "intercept": intercept}, forced


def checked(seed):
    """Nodes searched for one random problem, by size and by lambda0, after every claim was compared
    with enumeration.
    """
    rng = np.random.default_rng(seed)
    X, y, asked, same, forced = posed(rng)
    path = l0path.fit(X, y, max_k=3, certify=False, **asked)
    constant = [5] if np.ptp(X[:, 5]) == 0 and same["intercept"] else []
    values = best_subsets(X, y, 3, forced=forced, excluded=constant, **same)
    nodes, scale = 0, 0.5 * np.average(y**2, weights=asked["sample_weight"])
    for k in (2, 3):
        if k not in path.details.k.values:
            continue
        found = path.certify(k=k, gap=1e-9)
        best = min(values[j][0] for j in range(k + 1))
        assert found.lower_bound <= best + 1e-10 * scale
        assert found.incumbent >= best - 1e-10 * scale
        if found.status == "optimal":
            assert found.incumbent <= best + 1e-8 * scale
        nodes += found.nodes
    lambda0 = 0.02 * scale
    found = l0path.fit(X, y, lambda0=[lambda0], certify=False, **asked).certify(index=0, gap=1e-9)
    factor = np.ones(7)
    factor[forced] = 0.0
    best = best_penalized(
        X, y, lambda0, penalty_factor=factor, forced=forced, excluded=constant, **same
    )[0]
    assert found.lower_bound <= best + 1e-10 * scale
    assert found.status == "optimal" and found.incumbent <= best + 1e-8 * scale
    return nodes + found.nodes


def test_claims_within_boxes_equal_enumeration(monkeypatch):
    """Random small problems; searches of trees are among them, where all columns work from the
    first node on and where they come in one after another.
    """
    nodes = sum(checked(seed) for seed in range(3))
    monkeypatch.setattr("l0path.exact.tree.WHOLE_GRAM", 0)
    assert nodes + sum(checked(seed) for seed in range(3, 5)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_claims_within_boxes_equal_enumeration_at_length(monkeypatch, whole):
    if not whole:
        monkeypatch.setattr("l0path.exact.tree.WHOLE_GRAM", 0)
    assert sum(checked(seed) for seed in range(100, 500)) > 1000


def test_near_copies_within_a_box_are_fitted_from_rows():
    """Two columns that differ by 1e-7: the Gram matrix ends their fit too early, and the bound of
    the search was above the optimum by 4e-8 of it.
    """
    assert checked(138) > 0


def test_small_boxes_tell_columns_apart():
    """A box matters where rounding of the Gram matrix times its coefficients moves objectives."""
    problem = problem_of(plain(np.random.default_rng(0).normal(size=(9, 11)), np.arange(9.0)))
    for box, told in ((1.0, True), (1e4, False), (None, False)):
        dual = dual_problem(problem, box=box)
        assert told_apart_by_box(dual, 1.0, size=3) == told
        assert told_apart_by_box(dual, 1.0, lambda0=0.3) == told


def test_near_combinations_within_a_box_are_told_apart():
    """Powers of one variable are nearly combinations of each other, all of them beside more columns
    than rows exactly so; a box keeps coefficients too small for rounding to hide anything.
    """
    t = np.linspace(-1.0, 1.0, 14)
    X = np.column_stack([t**j for j in range(1, 17)])
    y = np.sin(3.0 * t) + 0.1 * np.cos(40.0 * t)
    box = {"lower": -1.0, "upper": 1.0, "standardize": False}
    path = l0path.fit(X, y, max_k=3, certify=False, **box)
    found = path.certify(k=3)
    best = best_subsets(X, y, 3, **box)
    assert found.status == "optimal"
    assert found.incumbent == pytest.approx(best[3][0], rel=1e-9)


def test_diagonal_split_off_many_columns():
    """The Gram matrix stays positive definite, and hardly more can be split off."""
    X = np.random.default_rng(3).normal(size=(700, 420))
    X[:, 1:] += 0.7 * X[:, :-1]
    problem = problem_of(plain(X, X[:, 0]))
    d = split(problem)
    Z = problem.X.columns(np.arange(420))
    G = (problem.weights[:, None] * Z).T @ Z
    root = np.sqrt(1.0 / np.diag(np.linalg.inv(G)))
    least = np.linalg.eigvalsh(G / np.outer(root, root))[0]
    assert np.linalg.eigvalsh(G - np.diag(d))[0] > 0
    assert (d >= 0.9 * least * root**2).all()
