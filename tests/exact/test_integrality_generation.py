"""The hinge's restricted optima, its tree, and integrality generation, against enumeration with
linear and quadratic programs of the tests' own.
"""

import importlib.util
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from thinning import thinned

import l0path
from l0path import relaxation
from l0path.engine.request import request
from l0path.exact.contest import BranchAndBound
from l0path.exact.hinge_tree import HingeTree
from l0path.exact.integrality_generation import IntegralityGeneration, generate
from l0path.problem.losses import Hinge, canonical_name, make_loss, name_of
from l0path.problem.problem import pose
from l0path.working_set.hinge import NOT_UNIQUE, KinkedModel
from l0path.working_set.model import make_model

CASES = {  # lambda1, lambda2, box, intercept, size, lambda0, forced
    "ridge": (0.0, 0.05, np.inf, True, 3, None, None),
    "all terms": (0.02, 0.05, 0.2, True, 3, None, None),
    "no intercept": (0.02, 0.01, np.inf, False, 4, None, None),
    "priced": (0.0, 0.01, np.inf, True, None, 0.02, None),
    "box alone": (0.0, 0.0, 0.5, True, None, 0.02, None),
    "lasso in a box": (0.01, 0.0, 0.5, True, 3, None, None),
    "forced": (0.0, 0.05, np.inf, True, 2, None, [1]),
    "priced and forced": (0.0, 0.05, np.inf, True, None, 0.01, [1]),
}


def posed(seed, loss, n=50, p=7, box=np.inf, intercept=True, forced=None):
    """A `Problem` with weights and an offset, its classes not quite explained by three columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    y = np.where(X[:, :3].sum(axis=1) + rng.standard_normal(n) > 0.3, 1, -1)
    given = dict(
        sample_weight=rng.integers(1, 4, n).astype(float),
        offset=0.2 * rng.standard_normal(n),
        fit_intercept=intercept,
        lower=-box,
        upper=box,
        always_include=forced,
    )
    return pose(request(X, y, loss=loss, algorithm="exact", **given).data)


def restricted_program(problem, S, lambda1, lambda2):
    """The restricted optimum of the hinge's value: linear programming without a ridge; with one the
    smooth quadratic program of the losses u_i, up and down by sequential programming.
    """
    Z, n, k, p = problem.X.columns(S), problem.X.n, len(S), problem
    A = -np.hstack([p.y[:, None] * Z, -p.y[:, None] * Z, p.y[:, None], np.eye(n)])
    low, high = p.lower[S], p.upper[S]
    limits = (
        [(0, high[j]) for j in range(k)]
        + [(0, -low[j]) for j in range(k)]
        + [(None, None) if p.intercept else (0, 0)]
        + [(0, None)] * n
    )
    cost, right = np.r_[np.full(2 * k, lambda1), 0.0, p.weights], p.y * p.offset - 1
    found = linprog(
        cost,
        A,
        right,
        bounds=[
            tuple(None if v is not None and np.isinf(v) else v for v in pair) for pair in limits
        ],
    )
    if not lambda2:
        return found.fun

    def value(x):
        return cost @ x + lambda2 * ((x[:k] - x[k : 2 * k]) ** 2).sum()

    def slope(x):
        d = 2 * lambda2 * (x[:k] - x[k : 2 * k])
        return cost + np.r_[d, -d, np.zeros(n + 1)]

    start = np.r_[np.zeros(2 * k + 1), np.maximum(1 - p.y * p.offset, 0)]
    out = minimize(
        value,
        start,
        jac=slope,
        bounds=[
            tuple(None if v is not None and np.isinf(v) else v for v in pair) for pair in limits
        ],
        constraints={"type": "ineq", "fun": lambda x: right - A @ x, "jac": lambda x: -A},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return out.fun


def best_of_all(problem, lambda1, lambda2, size, lambda0):
    """(value, support) of the best model by enumeration with refits."""
    model, free = make_model(problem), np.setdiff1d(np.flatnonzero(problem.usable), problem.forced)
    out = (np.inf, None)
    for k in [size] if size is not None else range(free.size + 1):
        for chosen in combinations(free, k):
            S = np.union1d(problem.forced, np.array(chosen, dtype=np.int64))
            model.grow(S)
            out = min(
                out, (model.refit(S, lambda1, lambda2).value + (lambda0 or 0.0) * k, S.tolist())
            )
    return out


@pytest.mark.parametrize(
    ("lambda1", "lambda2", "box", "intercept"),
    [
        (0, 0.1, np.inf, True),
        (0, 1e-3, np.inf, False),
        (0.03, 0.02, 0.3, True),
        (0, 10.0, np.inf, True),
        (0, 0, 0.6, True),
        (0.02, 0, np.inf, True),
    ],
)
def test_restricted_hinge_optima_are_those_of_a_program(lambda1, lambda2, box, intercept):
    for seed in range(3):
        problem = posed(seed, "hinge", n=30, box=box, intercept=intercept)
        model = KinkedModel(problem)
        for S in (np.array([0]), np.array([1, 3, 4]), np.arange(7)):
            model.grow(S)
            fit, want = (
                model.refit(S, lambda1, lambda2),
                restricted_program(problem, S, lambda1, lambda2),
            )
            assert set(fit.flags) <= {NOT_UNIQUE} or (lambda2 == 0 and fit.value < 1e-12)
            assert (
                fit.value <= want * (1 + 1e-9) + 1e-12
            )  # the program's own accuracy is the worse of the two
            assert fit.value >= want - 1e-6
            eta = problem.offset + fit.b0 + problem.X.columns(S) @ fit.b
            assert (
                abs(
                    problem.weights @ np.maximum(1 - problem.y * eta, 0)
                    + lambda1 * np.abs(fit.b).sum()
                    + lambda2 * fit.b @ fit.b
                    - fit.value
                )
                < 1e-12
            )
            assert (fit.b >= problem.lower[S]).all() and (fit.b <= problem.upper[S]).all()


def test_a_restricted_hinge_optimum_is_confirmed_by_weak_duality():
    """The dual value of the columns alone meets the value: without a flag there is nothing below
    it.
    """
    problem = posed(3, "hinge", n=400, p=12)
    model = KinkedModel(problem)
    model.grow(np.arange(12))
    fit = model.refit(np.arange(12), 0.0, 0.01)
    assert fit.flags == ()
    out = relaxation.improve(relaxation.dual_problem(problem, 0.0, 0.01), sizes=[12], steps=20)
    assert (
        out.lower[0] <= fit.value and fit.value - out.lower[0] < 0.05 * fit.value
    )  # the stand-in's width is 0.1
    assert model.null(0.0, 0.01).value >= fit.value


@pytest.mark.parametrize(("case", "seed"), thinned(2, CASES, (0, 1)))
def test_a_hinge_tree_proves_the_enumerated_optimum(case, seed):
    lambda1, lambda2, box, intercept, size, lambda0, forced = CASES[case]
    problem = posed(seed, "hinge", box=box, intercept=intercept, forced=forced)
    best, _ = best_of_all(problem, lambda1, lambda2, size, lambda0)
    model = KinkedModel(problem)

    def refit(S):
        model.grow(S)
        fit = model.refit(S, lambda1, lambda2)
        return fit.value + (lambda0 or 0.0) * (S.size - problem.forced.size), fit

    tree = HingeTree(
        relaxation.dual_problem(problem, lambda1, lambda2),
        size=size,
        lambda0=lambda0,
        refit=refit,
        settings=BranchAndBound(gap=1e-6),
    )
    assert tree.run() == "closed"
    assert abs(tree.best[0][0] - best) <= 1e-9 * best and best * (1 - 1e-6) <= tree.lower <= best


@pytest.mark.parametrize(
    ("loss", "case"),
    thinned(2, ("hinge", "squared_hinge", "logistic", "smoothed_hinge", "squared"), CASES),
)
def test_generation_finds_and_proves_the_enumerated_optimum(loss, case):
    lambda1, lambda2, box, intercept, size, lambda0, forced = CASES[case]
    problem = posed(5, loss, box=box, intercept=intercept, forced=forced)
    best, support = best_of_all(problem, lambda1, lambda2, size, lambda0)
    out = generate(
        problem,
        size=size,
        lambda0=lambda0,
        lambda1=lambda1,
        lambda2=lambda2,
        settings=IntegralityGeneration(gap=1e-5, enter=2),
    )
    assert out.status == "closed" and 0 <= out.gap <= 1e-5
    assert (
        abs(out.upper - best) <= 1e-9 * best
        and out.lower <= best
        and out.support.tolist() == support
    )
    lower, binary = [r.lower for r in out.rounds], [r.binary for r in out.rounds]
    assert (
        all(a <= b + 1e-12 for a, b in pairwise(lower))
        and binary == sorted(binary)
        and max(lower) <= best
    )
    assert (
        np.isin(np.setdiff1d(support, problem.forced), out.binary).all()
        or lambda0 is not None
        or len(out.rounds) == 1
    )


@pytest.mark.parametrize("case", ["box alone", "lasso in a box"])
def test_linear_programs_agree(case):
    lambda1, lambda2, box, intercept, size, lambda0, forced = CASES[case]
    problem = posed(6, "hinge", box=box, intercept=intercept, forced=forced)
    best, support = best_of_all(problem, lambda1, lambda2, size, lambda0)
    out = generate(
        problem,
        size=size,
        lambda0=lambda0,
        lambda1=lambda1,
        lambda2=lambda2,
        settings=IntegralityGeneration(solver="highs", gap=1e-6),
    )
    assert (
        out.status == "closed"
        and abs(out.upper - best) <= 1e-9 * best
        and out.support.tolist() == support
    )
    assert best * (1 - 1e-6) <= out.lower <= best and out.rounds[-1].binary <= 7


@pytest.mark.skipif(
    importlib.util.find_spec("pyscipopt") is None, reason="SCIP is not installed (extra mip)"
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("loss", "case"),
    [
        ("hinge", "ridge"),
        ("hinge", "all terms"),
        ("hinge", "priced and forced"),
        ("squared_hinge", "priced"),
        ("hinge", "box alone"),
    ],
)
def test_quadratic_programs_of_scip_agree(loss, case):
    lambda1, lambda2, box, intercept, size, lambda0, forced = CASES[case]
    problem = posed(7, loss, n=30, p=5, box=box, intercept=intercept, forced=forced)
    best, support = best_of_all(problem, lambda1, lambda2, size, lambda0)
    out = generate(
        problem,
        size=size,
        lambda0=lambda0,
        lambda1=lambda1,
        lambda2=lambda2,
        settings=IntegralityGeneration(solver="scip", gap=1e-4),
    )
    assert (
        abs(out.upper - best) <= 1e-9 * best
        and out.support.tolist() == support
        and out.gap <= 1e-4
        and out.lower <= best * (1 + 1e-6)
    )


def test_an_assumed_box_is_said_and_a_stop_leaves_a_bound():
    problem = posed(8, "hinge", p=9)
    whole = generate(problem, size=3, lambda2=0.02)
    boxed = generate(problem, size=3, lambda2=0.02, box=10.0)
    assert (
        not whole.conditional
        and boxed.conditional
        and abs(whole.upper - boxed.upper) <= 2e-4 * whole.upper
    )
    stopped = generate(problem, size=3, lambda2=0.02, poll=lambda: True)
    assert (
        stopped.status in ("stopped", "closed")
        and stopped.lower <= whole.upper <= stopped.upper + 1e-12
        and stopped.gap >= whole.gap
    )
    limited = generate(
        problem, size=3, lambda2=0.02, settings=IntegralityGeneration(node_limit=1, gap=1e-8)
    )
    assert limited.status == "node_limit" and limited.lower <= whole.upper


def test_a_path_of_the_smoothed_hinge_gives_the_model_to_start_from():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 400))
    y = np.where(X[:, [3, 100, 399]].sum(axis=1) + 0.5 * rng.standard_normal(200) > 0, 1, -1)
    path = l0path.fit(X, y, loss=l0path.losses.SmoothedHinge(width=0.1), lambda2=0.05, max_k=4)
    problem = pose(request(X, y, loss="hinge", algorithm="exact").data)
    out = generate(
        problem,
        size=3,
        lambda2=0.05,
        fits=[path.support(k=3)],
        settings=IntegralityGeneration(gap=1e-4),
    )
    assert (
        out.support.tolist() == [3, 100, 399] and out.status == "closed" and out.binary.size < 100
    )


def test_the_hinge_is_a_loss_of_exact_solving_alone():
    assert (
        make_loss("hinge") == Hinge()
        and name_of(Hinge(0.01)) == "hinge"
        and canonical_name("hinge", exact=True) == "hinge"
    )
    with pytest.raises(ValueError, match="algorithm='exact'"):
        canonical_name("hinge")
    X, y = np.arange(20.0).reshape(10, 2), np.repeat([0, 1], 5)
    for algorithm in ("swap", "cd", "dual_iht", "pg"):
        with pytest.raises(ValueError, match=r"loss='hinge'.*algorithm='exact'"):
            l0path.fit(X, y, loss="hinge", algorithm=algorithm)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (dict(size=1, lambda0=0.1, lambda2=0.1), ValueError, "either size or lambda0"),
        (dict(lambda2=0.1), ValueError, "either size or lambda0"),
        (dict(size=1), ValueError, "lambda2=0"),
        (
            dict(size=1, lambda2=0.1, settings=IntegralityGeneration(solver="highs")),
            ValueError,
            "lambda2=0.1",
        ),
        (dict(size=1, lambda2=0.1, box=-1.0), ValueError, "box=-1.0"),
    ],
)
def test_what_cannot_be_solved_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        generate(posed(1, "hinge"), **given)


def test_settings_and_losses_are_checked():
    for wrong, words in (
        (dict(solver="gurobi"), "solver='gurobi'"),
        (dict(gap=-1.0), "gap=-1.0"),
        (dict(enter=0), "enter=0"),
    ):
        with pytest.raises(ValueError, match=words):
            IntegralityGeneration(**wrong)
    with pytest.raises(ValueError, match="loss='logistic'"):
        generate(
            posed(1, "logistic", box=1.0), size=1, settings=IntegralityGeneration(solver="highs")
        )


@pytest.mark.skipif(importlib.util.find_spec("pyscipopt") is not None, reason="SCIP is installed")
def test_without_scip_the_extra_is_named():
    with pytest.raises(ImportError, match=r"l0path\[mip\]"):
        generate(
            posed(1, "hinge"), size=1, lambda2=0.1, settings=IntegralityGeneration(solver="scip")
        )
