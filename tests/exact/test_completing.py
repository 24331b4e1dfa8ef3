"""All models of a node with few columns to come, against enumeration: copied, opposite, constant
and nearly dependent columns among them.
"""

from itertools import combinations

import numpy as np
import pytest
from oracles import restricted
from problems import plain, problem_of

from l0path.exact.contest import BranchAndBound, Contest
from l0path.exact.nodes import completing
from l0path.exact.nodes.completing import Completions, models_at_most
from l0path.relaxation import dual_problem, split


class Offered(Contest):
    """A contest that keeps what it is offered; `goal` is the value of a model known before."""

    def __init__(self, refit, goal, n_best):
        self.refit, self.n_best, self.nodes = refit, n_best, 100
        self.settings, self.seen = BranchAndBound(gap=0.0), set()
        self.best = [(goal, None)] * n_best


def posed(rng, p):
    """(X, y, lambda2) with a degenerate column."""
    n = int(rng.integers(4, 3 * p))
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1)) * rng.choice([0.0, 1.0])
    near = X[:, 0] + X[:, 1] + 1e-6 * X[:, 2]
    X[:, 5] = (X[:, 0], -X[:, 1], np.zeros(n), near, np.ones(n), X[:, 5])[rng.integers(6)]
    y = X[:, :3] @ rng.choice([-1.0, 1.0], 3) + 0.7 * rng.normal(size=n)
    return X, y, float(rng.choice([1e-3, 0.01, 0.1, 1.0]))


def checked(seed, p=8):
    """Compare the models of a random node of a random problem; how many models were wanted."""
    rng = np.random.default_rng(seed)
    X, y, lambda2 = posed(rng, p)
    problem = problem_of(plain(X, y))
    few = X.shape[0] > p and seed % 3 == 0
    dual = dual_problem(problem, 0.0, lambda2, split=split(problem) if few else None)
    half, gamma = 0.5 * float(problem.weights @ y**2), (problem.X.n + 16) * np.finfo(float).eps
    every, size = Completions(dual, half, gamma), 1 + seed % 3
    into, out = np.split(rng.permutation(p)[: int(rng.integers(0, 5))], [int(rng.integers(0, 3))])
    free = np.setdiff1d(np.arange(p), np.concatenate([into, out]))
    same = {"lambda2": lambda2, "standardize": False, "intercept": False}
    values = {
        J: restricted(X, y, np.sort([*into, *J]).astype(int), **same)[0]
        for J in combinations(free, min(size, free.size))
    }
    known = {tuple(sorted([*into, *J])): value for J, value in values.items()}
    goal = float(np.quantile(list(known.values()), rng.choice([0.0, 0.1, 0.6])))
    contest = Offered(lambda S: (known[tuple(S)], tuple(S)), goal, 1 + seed % 2)
    relaxed = np.sort(rng.permutation(p)[:3]), 0.3 * rng.normal(size=3)
    assert every.may(size, 100) == every.served
    if not every.served or not every.compare(contest, into, out, size, relaxed):
        return 0
    wanted = sorted(value for value in known.values() if value < goal * (1 - 1e-12))
    wanted = wanted[: contest.n_best]
    np.testing.assert_allclose([value for value, _ in contest.best][: len(wanted)], wanted)
    return len(wanted)


def test_no_better_model_of_a_node_is_left_out():
    assert sum(checked(seed) for seed in range(20)) > 5


@pytest.mark.slow
def test_no_better_model_of_many_nodes_is_left_out():
    assert sum(checked(seed) for seed in range(20, 1500)) > 500


def test_few_models_at_a_time(monkeypatch):
    """With room for one model the rest are found in more turns, or the node is left as it was."""
    monkeypatch.setattr(completing, "LISTED", 1)
    assert sum(checked(seed) for seed in range(20)) > 2


def test_models_are_counted():
    rng = np.random.default_rng(0)
    for size in (2, 3):
        h = np.sort(rng.uniform(size=9))[::-1]
        need = float(rng.uniform(0.5, 1.5))
        count = sum(sum(chosen) >= need for chosen in combinations(h, size))
        assert models_at_most(h, size, need, 100) == count
        assert models_at_most(h, size, need, 0) > 0 or not count
