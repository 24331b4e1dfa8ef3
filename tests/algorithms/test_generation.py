"""The pieces of the feature generating machine against definitions: its relaxation by a generic
solver, its projection by optimality conditions.
"""

from itertools import combinations

import numpy as np
import pytest
from generated_problems import LOSSES, small
from problems import problem_of
from scipy.optimize import minimize
from thinning import thinned

from l0path.algorithms.dual import DualProblem
from l0path.algorithms.generation import Pool, generate, ranked_units, widened
from l0path.relaxation.blocks import NO_BLOCKS, Blocks, project, shares, support_norm
from l0path.relaxation.subproblem import RowSubproblem, SolveLimits, SquaredSubproblem
from l0path.working_set.model import make_model


def whole(d):
    """Model of an instance with all columns at work, its DualProblem, its Pool."""
    model = make_model(problem_of(d))
    model.grow(np.arange(model.problem.X.p))
    dual = DualProblem(model.problem, d["lambda1"], d["lambda2"])
    return model, dual, Pool(model, dual, False)


def relaxation(d, budget):
    """min over (w, b0) and 0 <= z <= 1, sum z <= budget (forced columns aside) of the mean loss +
    lambda2 sum w^2 / z, by SLSQP on rows: (R) with all scalings.
    """
    X, y, n, p = d["X"], d["y"], *d["X"].shape
    weights = np.full(n, 1 / n) if d["weights"] is None else d["weights"] / d["weights"].sum()
    offset = np.zeros(n) if d["offset"] is None else d["offset"]
    free, r = np.setdiff1d(np.arange(p), d["forced"]), d["lambda2"]

    def value(x):
        w, b0, z = x[:p], x[p] if d["intercept"] else 0.0, np.ones(p)
        z[free] = x[p + 1 :]
        eta = offset + b0 + X @ w
        if d["loss"] == "squared":
            loss, slope = 0.5 * (y - eta) ** 2, eta - y
        elif d["loss"] == "logistic":
            loss, slope = np.logaddexp(0.0, -y * eta), -y / (1.0 + np.exp(y * eta))
        else:
            gap = np.maximum(0.0, 1.0 - y * eta)
            loss, slope = gap**2, -2.0 * y * gap
        g = weights * slope
        return weights @ loss + r * (w * w / z).sum(), np.concatenate(
            [
                X.T @ g + 2 * r * w / z,
                [g.sum() if d["intercept"] else 0.0],
                (-r * w * w / z**2)[free],
            ]
        )

    start = np.concatenate([np.zeros(p + 1), np.full(free.size, min(budget / free.size, 1.0))])
    limits = [(None, None)] * (p + 1) + [(1e-7, 1.0)] * free.size
    total = {
        "type": "ineq",
        "fun": lambda x: budget - x[p + 1 :].sum(),
        "jac": lambda x: np.concatenate([np.zeros(p + 1), -np.ones(free.size)]),
    }
    found = minimize(
        value,
        start,
        jac=True,
        bounds=limits,
        constraints=[total],
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    return float(found.fun)


def posed(pool, lists, budget=1, apart=False, **limits):
    """A Subproblem on blocks of the listed units, or with a block for each of them."""
    blocks = NO_BLOCKS
    for units in lists:
        blocks = blocks.with_units(pool, np.array(units), apart)
    forced = pool.problem.forced
    free = NO_BLOCKS._replace(columns=forced, v=np.zeros(forced.size))
    kind = SquaredSubproblem if pool.problem.quadratic else RowSubproblem
    return kind(pool, blocks, free, budget, limits=SolveLimits(**limits))


def driven(sub):
    """A Subproblem at its end."""
    for _ in range(40):
        if sub.count and not sub.lambda1:
            sub.alternate(sub.value(), lambda: None)
        sub.descend(sub.value(), lambda: None)
    return sub


# -------------------- the pieces


def test_projection_meets_its_optimality_conditions():
    """x - u + ratio (sum ||x_h||) x_h / ||x_h|| = 0 on the blocks that stay, ||u_h|| <= ratio sum
    ||x_h|| on those that vanish.
    """
    rng = np.random.default_rng(0)
    for _ in range(40):
        count = int(rng.integers(1, 6))
        owner = np.repeat(np.arange(count), rng.integers(1, 4, count))
        u, ratio = (
            rng.normal(size=owner.size) * rng.choice([0.1, 1.0, 5.0], count)[owner],
            float(rng.choice([0.01, 0.5, 20.0])),
        )
        x = project(u, owner, count, ratio)
        norm, size = (np.sqrt(np.bincount(owner, v * v, minlength=count)) for v in (x, u))
        stays = norm > 0
        assert stays.any() and (size[~stays] <= ratio * norm.sum() * (1 + 1e-12)).all()
        slack = x - u + ratio * norm.sum() * x / np.where(stays, norm, 1.0)[owner]
        assert np.abs(slack[stays[owner]]).max() <= 1e-12 * size.max() * (1 + ratio)
    assert project(np.zeros(3), np.array([0, 0, 1]), 2, 0.5).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_support_norm_shares_and_projection(budget):
    """No scaling within the budget makes the sum of norm^2 / d smaller; x_h = u_h - ratio x_h / d_h
    at the shares d of x, blocks that vanish have ||u_h|| / ratio at most the least ||x_h|| / d_h.
    """
    rng = np.random.default_rng(budget)
    for _ in range(40):
        count = int(rng.integers(1, 9))
        norm = rng.exponential(size=count) ** 2 * (rng.random(count) < 0.8)
        d = shares(norm, budget)
        assert (
            (d >= 0).all()
            and d.max() <= 1
            and d.sum() <= budget * (1 + 1e-12)
            and (d[norm > 0] > 0).all()
        )
        best = float((norm[norm > 0] ** 2 / d[norm > 0]).sum())
        assert support_norm(norm, budget) == pytest.approx(best, rel=1e-12, abs=1e-300)
        for _ in range(20):
            other = rng.random(count) ** rng.choice([0.2, 1.0, 5.0])
            other = np.minimum(other * budget / other.sum(), 1.0)
            assert (norm**2 / other).sum() >= best * (1 - 1e-12)
        owner = np.repeat(np.arange(count), rng.integers(1, 4, count))
        u, ratio = (
            rng.normal(size=owner.size) * rng.choice([0.0, 0.1, 1.0, 5.0], count)[owner],
            float(rng.choice([0.01, 0.5, 20.0])),
        )
        x = project(u, owner, count, ratio, budget)
        size, before = (np.sqrt(np.bincount(owner, v * v, minlength=count)) for v in (x, u))
        d, stays = shares(size, budget), size > 0
        assert np.abs((x - u + ratio * x / np.where(stays, d, 1.0)[owner])[stays[owner]]).max(
            initial=0.0
        ) <= 1e-11 * (before.max() + 1e-300) * (1 + ratio)
        part = stays & (d < 1)
        level = (size / np.where(stays, d, 1.0))[part]
        assert np.ptp(level) <= 1e-9 * level.max() if part.any() else stays.sum() <= budget
        assert (
            before[~stays]
            <= ratio * (level if part.any() else size[stays]).min(initial=np.inf) * (1 + 1e-9)
        ).all()


@pytest.mark.parametrize(
    ("changes", "loss", "wide"),
    thinned(
        2,
        [
            {},
            {"intercept": True, "weights": np.arange(1.0, 31.0), "forced": [3]},
            {"lambda1": 0.02},
        ],
        LOSSES,
        [False, True],
    ),
)
def test_subproblem_is_optimal(loss, changes, wide):
    """Theorem 4: the blocks in use have the same, largest score, its root is 2 r sum ||v_h||; and F
    meets D, by proximal steps alone too; systems on the rows say the same.
    """
    limits = {"stall": 0.0, "wide": 0.0 if wide else 10.0}
    d = small(loss, 1, **changes)
    pool, lists, ridge = whole(d)[2], ([0, 1], [1, 2], [4, 5], [0, 5]), d["lambda2"]
    sub = driven(posed(pool, lists, **limits))
    assert sub.wide == wide and sub.count == 4
    g = sub.gradient(sub.x)
    assert (
        0 <= sub.value() - sub.bound(g) + 1e-13 and sub.value() - sub.bound(g) <= 1e-7 * sub.value()
    )
    reduced = np.maximum(np.abs(g) - d["lambda1"], 0.0)[sub.slot[: sub.split]]
    scores, norms = (
        np.sqrt(np.bincount(sub.owner, v**2, minlength=4)) for v in (reduced, sub.x.x[: sub.split])
    )
    assert 2 * ridge * norms.sum() == pytest.approx(scores.max(), rel=1e-3)
    assert scores[norms > 1e-3 * norms.sum()] == pytest.approx(scores.max(), rel=1e-3)
    alone = posed(pool, lists, **limits)
    for _ in range(30):
        alone.descend(alone.value(), lambda: None)
    assert alone.value() == pytest.approx(sub.value(), rel=1e-6)
    step = (
        posed(pool, lists, 2, True, **limits)
        .newton(sub.at(np.zeros(sub.slot.size), 0.0), np.linspace(0.2, 1.0, sub.used.size))
        .w
    )
    other = posed(pool, lists, 2, True, wide=10.0 if wide else 0.0)
    assert other.wide != wide and other.newton(
        other.at(np.zeros(other.slot.size), 0.0), np.linspace(0.2, 1.0, sub.used.size)
    ).w == pytest.approx(step, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_all_blocks_at_once_are_the_relaxation(loss):
    """(S) over all C(6, B) blocks is (R), because every scaling is a mixture of them; and so is (S)
    with a block for each unit and the budget B.
    """
    d = small(loss, 2, intercept=True)
    pool = whole(d)[2]
    for budget in (1, 2, 4):
        exact = relaxation(d, budget)
        assert driven(
            posed(pool, combinations(range(6), budget), stall=0.0)
        ).value() == pytest.approx(exact, rel=2e-5)
        assert driven(
            posed(pool, [range(4), range(2, 6)], budget, True, stall=0.0)
        ).value() == pytest.approx(exact, rel=2e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {
            "intercept": True,
            "weights": np.arange(1.0, 31.0),
            "forced": [3],
            "offset": np.linspace(-0.3, 0.3, 30),
        },
    ],
    ids=["plain", "options"],
)
def test_generated_blocks_reach_the_relaxation_from_both_sides(loss, changes):
    for seed, budget, published in ((0, 1, False), (1, 2, True), (1, 2, False), (2, 3, False)):
        d = small(loss, seed, **changes)
        pool = whole(d)[2]
        exact, heard = relaxation(d, budget), {"relaxation": [], "bound": []}
        found = generate(
            pool,
            budget,
            most=200,
            tol=0.0 if published else 1e-7,
            scale=1.0,
            published=published,
            offer=lambda *_: 1.0,
            watch=lambda name, value, heard=heard: heard[name].append(value),
        )
        assert (
            max(heard["bound"]) <= exact + 1e-7 <= min(heard["relaxation"]) + 2e-6
        )  # weak duality at every look; SLSQP ends a little high
        assert (np.diff(heard["relaxation"]) <= 1e-12).all() and (
            np.diff(heard["bound"]) >= 0
        ).all()
        assert found.value - found.bound <= 2e-4 * exact and found.value == pytest.approx(
            exact, rel=2e-4
        )


def test_units_are_ranked_widened_and_cut():
    score, ids = np.array([5.0, 1.0, -1.0, 4.0, 3.0, 4.0]), np.arange(6)
    assert widened(np.array([1]), score, ids, 3).tolist() == [
        0,
        1,
        3,
    ]  # ties go to the smaller column
    assert widened(np.array([0, 1, 4]), score, ids, 2).tolist() == [0, 4]
    assert widened(np.array([2]), score, ids, 9).tolist() == [0, 1, 3, 4, 5]
    blocks = Blocks(
        np.array([0, 4, 1, 4]),
        np.array([0, 4, 1, 4]),
        np.array([0, 0, 1, 1]),
        np.array([0.1, -3.0, 0.5, 1.0]),
    )
    assert ranked_units(blocks, score, ids, 2).tolist() == [1, 4]
    assert ranked_units(blocks, score, ids, 4).tolist() == [0, 1, 3, 4]
    left = blocks.only(np.array([False, True]))
    assert (
        left.count == 1
        and left.columns.tolist() == [1, 4]
        and left.block.tolist() == [0, 0]
        and ranked_units(NO_BLOCKS, score, ids, 2).tolist() == [0, 3]
    )
