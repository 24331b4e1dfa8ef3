"""Columns that a node fixes by steps towards its children, against enumeration: boxes with unequal
sides, columns without room, of zeros, copied, opposite or nearly combinations of others.
"""

from itertools import combinations

import numpy as np
import pytest
from oracles import restricted
from problems import plain, problem_of

import l0path
from l0path.exact.nodes.branching import RelaxedPoint
from l0path.exact.nodes.columns import NodeColumns
from l0path.exact.nodes.fixing import fixed_by_steps
from l0path.exact.nodes.penalty import Branch, QuadraticLoss
from l0path.exact.nodes.relaxation import NodeLimits, Relaxed, relax
from l0path.relaxation import dual_problem


def posed(rng, p):
    """(X, y, keywords of the box and the ridge)."""
    n = int(rng.integers(p // 2 + 2, 3 * p))
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1)) * rng.choice([0.0, 1.0])
    near = X[:, 0] + X[:, 1] + 1e-6 * X[:, 2]
    X[:, 5] = (X[:, 0], -X[:, 1], np.zeros(n), near, X[:, 5])[rng.integers(5)]
    y = X[:, :3] @ rng.choice([-1.0, 1.0], 3) + 0.7 * rng.normal(size=n)
    lower, upper = -rng.uniform(0.3, 2.0, p), rng.uniform(0.3, 2.0, p)
    lower[rng.random(p) < 0.2] = 0.0
    upper[rng.random(p) < 0.1] = 0.0
    return X, y, {"lower": lower, "upper": upper, "lambda2": float(rng.choice([0.0, 0.01, 0.1]))}


def checked(seed, p=7):
    """How many columns some cutoffs fix at a random node of a random problem."""
    rng = np.random.default_rng(seed)
    X, y, asked = posed(rng, p)
    problem = problem_of(plain(X, y, lower=asked["lower"], upper=asked["upper"]))
    dual = dual_problem(problem, 0.0, asked["lambda2"])
    work = NodeColumns(dual)
    work.grow(np.arange(p))
    half = 0.5 * float(problem.weights @ y**2)
    state = rng.choice([-1, 0, 0, 0, 0, 1], p).astype(np.int8)
    into, out = np.flatnonzero(state == 1), np.flatnonzero(state == -1)
    size = int(rng.integers(1, 4)) if seed % 2 else -1
    lambda0 = 0.0 if seed % 2 else float(rng.choice([0.01, 0.03, 0.1])) * half
    gamma = (problem.X.n + 16) * np.finfo(float).eps
    branch, loss = Branch(state, size), QuadraticLoss(work.G, work.q, half)
    found = Relaxed(np.zeros(p), *np.empty((2, p)))
    limits = NodeLimits(np.inf, int(rng.integers(2, 40)), gamma)  # some end early
    root = np.sqrt(lambda0) if size < 0 else 0.3
    value, s = relax(loss, work.penalty, branch, root, limits, found, np.empty((p, p)))
    point = RelaxedPoint(found.b, found.c, lambda0 if size < 0 else s * s, value)

    same = {**asked, "standardize": False, "intercept": False}
    free = np.flatnonzero(state == 0)
    least = np.full((2, p), np.inf)  # of the models of the node without, and with, a column
    for k in range((free.size if size < 0 else min(size, free.size)) + 1):
        for chosen in combinations(free, k):
            members = np.concatenate([into, np.array(chosen, dtype=np.int64)])
            model = restricted(X, y, members, **same)[0] + lambda0 * members.size
            inside = np.isin(np.arange(p), members).astype(int)
            least[inside, np.arange(p)] = np.minimum(least[inside, np.arange(p)], model)
    number = 0
    for share in (1e-6, 1e-3, 0.01, 0.03, 0.1, 0.3):
        cutoff = value + share * half
        limits = NodeLimits(cutoff, 0, gamma)
        less, more = fixed_by_steps(loss, work.penalty, branch, point, limits)
        assert not (less & more).any()
        assert not less[[*into, *out]].any()
        assert not more[[*into, *out]].any()
        assert (least[1, less] > cutoff - 1e-11 * half).all()
        assert (least[0, more] > cutoff - 1e-11 * half).all()
        number += less.sum() + more.sum()
    assert (state[into] == 1).all()
    assert (state[free] == 0).all()
    return number


def test_columns_are_fixed_only_where_enumeration_fixes_them():
    assert sum(checked(seed) for seed in range(8)) > 0


@pytest.mark.slow
def test_columns_are_fixed_only_where_enumeration_fixes_them_at_length():
    assert sum(checked(seed) for seed in range(100, 400)) > 300


def test_chains_of_useless_columns_are_no_nodes():
    """Without steps towards the children every useless column of the relaxation took two nodes, 73
    in all."""
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.normal(size=(120, 120)))[0][:60]
    X /= np.linalg.norm(X, axis=0)
    y = X[:, :3] @ [2.0, -1.5, 1.0] + 0.06 * np.random.default_rng(1).normal(size=60)
    box = {"lower": -3.0, "upper": 3.0, "fit_intercept": False, "standardize": False}
    path = l0path.fit(X, y, lambda0=[0.1 / 60], max_k=8, certify=False, **box)
    found = path.certify(index=0)
    assert found.status == "optimal"
    assert found.nodes <= 20
