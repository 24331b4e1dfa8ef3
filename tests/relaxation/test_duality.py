"""Lower bounds by weak duality and safe rules, against enumeration: no bound above an optimum, no
optimum cut, and the relaxation solved to its known optimum.
"""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import (
    CLASSES,
    LOSSES,
    conjugate_by_search,
    every_ridge,
    every_support,
    instances,
    restricted_keywords,
    scaling,
)
from scipy.optimize import linprog, minimize_scalar

from l0path import relaxation
from l0path.core.control import Clock
from l0path.designs import as_design
from l0path.engine.protocols import Session, Slice
from l0path.engine.size_path import SizePath
from l0path.engine.strategies.columns import ColumnExchanges
from l0path.problem.losses import Hinge, make_loss
from l0path.problem.problem import Data, pose
from l0path.problem.verbs import slope, value
from l0path.relaxation.bounds import link
from l0path.relaxation.perspective import Terms, envelope, prox
from l0path.relaxation.safe_rules import fix_cardinality, fix_penalised
from l0path.solvers import LocalSearch
from l0path.working_set.hinge import make_model

ALL = [*LOSSES, "hinge"]


def record(name):
    return Hinge() if name == "hinge" else make_loss(name, 0.25, 1.345)


def problem_of(d):
    """The package's `Problem` of an oracle's instance."""
    design, names, _, _ = as_design(d["X"])
    n, p = d["X"].shape
    wide = {
        key: np.broadcast_to(d.get(key, default), p).astype(float)
        for key, default in (("lower", -np.inf), ("upper", np.inf))
    }
    loss = (
        Hinge()
        if d["loss"] == "hinge"
        else make_loss(d["loss"], d.get("gamma", 0.25), d.get("delta", 1.345))
    )
    weights = np.ones(n) if d.get("weights") is None else d["weights"]
    data = Data(
        design=design,
        y=np.asarray(d["y"], float),
        loss=loss,
        weights=weights,
        offset=d.get("offset"),
        intercept=d.get("intercept", True),
        standardize=d.get("standardize", True),
        factor=d.get("penalty_factor", np.ones(p)),
        forced=np.array(d.get("forced", []), dtype=np.int64),
        excluded=np.zeros(p, bool),
        names=names,
        **wide,
    )
    return pose(data)


def wide(seed=0, n=80, p=300, k=6, rho=0.6, loss="squared", noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    signal = X[:, np.linspace(0, p - 1, k).astype(int)].sum(axis=1)
    y = (
        signal + rng.normal(size=n) * noise
        if loss == "squared"
        else np.where(signal + rng.logistic(size=n) > 0, 1.0, -1.0)
    )
    return {"X": X, "y": y, "loss": loss}


def response(loss, n, rng):
    return (
        rng.choice([-1.0, 1.0], n)
        if loss in (*CLASSES, "hinge")
        else rng.poisson(2.0, n).astype(float)
        if loss == "poisson"
        else rng.normal(size=n)
    )


# -------------------- conjugates and dual points


@pytest.mark.parametrize("loss", ALL)
def test_conjugates_are_suprema_and_their_domains_end_where_they_are_infinite(loss):
    rng = np.random.default_rng(1)
    for y in response(loss, 4, rng):
        low, high = (float(bound[0]) for bound in relaxation.interval(record(loss), np.array([y])))
        assert low <= 0 <= high
        for r in (max(low, -0.9), max(low, -0.5), 0.0, min(high, 0.4), min(high, 0.8)):
            found = float(relaxation.conjugate(record(loss), np.array([y]), np.array([r]))[0])
            assert found == pytest.approx(conjugate_by_search(loss, y, r), abs=2e-6)
        for beyond in (low - 0.1, high + 0.1):
            assert (
                not np.isfinite(beyond) or conjugate_by_search(loss, y, beyond) > 2.0
            )  # grows without end


@pytest.mark.parametrize("loss", ALL)
@pytest.mark.parametrize("intercept", [True, False])
def test_dual_points_are_made_feasible_by_the_shortest_way(loss, intercept):
    rng = np.random.default_rng(2)
    n, m = 40, 5
    y, w = response(loss, n, rng), rng.uniform(0.1, 2, n)
    w /= w.sum()
    a = w[:, None] * rng.normal(size=(n, m)) * [0.1, 1, 1, 10, 100]
    before = a.copy()
    out = relaxation.feasible(record(loss), y, w, intercept, a)
    np.testing.assert_array_equal(a, before)
    low, high = (bound[:, None] for bound in relaxation.interval(record(loss), y))
    r = out / w[:, None]
    assert (r >= low - 1e-15).all() and (r <= high + 1e-15).all()
    if intercept:
        assert (np.abs(out.sum(axis=0)) <= 1e-15 * np.abs(out).sum(axis=0)).all()
    other = relaxation.feasible(record(loss), y, w, intercept, w[:, None] * rng.normal(size=(n, m)))
    inner = ((a - out) * (other - out) / w[:, None]).sum(
        axis=0
    )  # <= 0 for every feasible point at the nearest one
    assert (inner <= 1e-9 * (1 + np.abs(a / w[:, None]).max(axis=0))).all()
    np.testing.assert_allclose(
        relaxation.feasible(record(loss), y, w, intercept, out), out, atol=1e-14
    )


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("intercept", [True, False])
def test_tangents_are_slopes_and_attain_fenchels_equality(loss, intercept):
    rng = np.random.default_rng(3)
    n, m = 30, 3
    y, w, eta = (
        response(loss, n, rng),
        rng.uniform(0.1, 2, n),
        np.asfortranarray(rng.normal(size=(n, m))),
    )
    w /= w.sum()
    law = record(loss)
    a, total, shift = relaxation.tangents(law, y, w, eta, intercept, np.full(m, 0.3))
    moved = eta + shift
    np.testing.assert_allclose(
        total, [w @ [value(law, y[i], moved[i, j]) for i in range(n)] for j in range(m)], rtol=1e-12
    )
    np.testing.assert_allclose(
        a, [[w[i] * slope(law, y[i], moved[i, j]) for j in range(m)] for i in range(n)], atol=1e-12
    )
    if intercept:
        assert np.abs(a.sum(axis=0)).max() < 1e-14
    conjugates = (w[:, None] * relaxation.conjugate(law, y[:, None], a / w[:, None])).sum(axis=0)
    np.testing.assert_allclose(conjugates, (a * moved).sum(axis=0) - total, atol=1e-11)


# -------------------- the perspective penalty


@pytest.mark.parametrize(
    "lambda1, ridge, box",
    [(0.0, 0.01, np.inf), (0.1, 0.3, np.inf), (0.0, 0.01, 0.3), (0.05, 0.2, 0.5), (0.0, 0.0, 0.4)],
)
def test_prox_is_a_minimiser_and_meets_its_size(lambda1, ridge, box):
    rng = np.random.default_rng(4)
    w, m, sizes = 25, 4, np.array([1, 3, 8, 20])
    counted = np.arange(w) != 7
    record = Terms(
        lambda1,
        np.full((w, 1), ridge + 0.01 * (box == np.inf)),
        rng.uniform(0.5, 2, (w, 1)),
        np.full((w, 1), -box),
        np.full((w, 1), 2 * box),
        counted,
    )
    v, L = rng.normal(size=(w, m)), np.array([0.5, 1.0, 2.0, 3.0])
    for how in ({"sizes": sizes}, {"lambda0": np.array([0.3, 0.1, 0.03, 0.0])}):
        price = how.get("lambda0")

        def cost(b, z, price=price):
            return (L * (b - v) ** 2 / 2).sum(axis=0) + envelope(record, b, z, price)

        b, z, x = prox(record, v, L, **how)
        here = cost(b, z)
        if "sizes" in how:
            finite = np.isfinite(x)
            np.testing.assert_allclose(z[counted][:, finite].sum(axis=0), sizes[finite], rtol=1e-9)
            again = prox(record, v, L, sizes=sizes, start=x * 1.5)[0]
            np.testing.assert_allclose(again, b, atol=1e-9)
        for _ in range(300):
            z2 = np.clip(z + rng.normal(size=z.shape) * 0.2 * (rng.random(z.shape) < 0.2), 0, 1)
            z2[~counted] = 1
            if "sizes" in how:
                z2[counted] *= np.minimum(1, sizes / np.maximum(z2[counted].sum(axis=0), 1e-300))
            b2 = np.where(
                z2 > 0, b + rng.normal(size=b.shape) * 0.05 * (rng.random(b.shape) < 0.2), 0
            )
            b2 = np.clip(b2, -box * z2, 2 * box * z2) if np.isfinite(box) else b2
            assert (cost(b2, z2) >= here - 1e-10).all()


# -------------------- weak duality and safe rules


def dual_of(d, problem, table):
    """A dual whose bounds mean something: the problem's own ridge or box, a split for more rows
    than columns, or a box that holds all enumerated solutions.
    """
    s = scaling(
        d["X"], weights=d["weights"], standardize=d["standardize"], intercept=d["intercept"]
    )[1]
    plain = relaxation.dual_problem(problem, d["lambda1"], d["lambda2"])
    if not plain.unbounded.any():
        return plain
    diagonal = relaxation.split(problem)
    if diagonal is not None:
        return relaxation.dual_problem(problem, d["lambda1"], d["lambda2"], split=diagonal)
    M = 1.5 * max(np.abs(s * beta).max() for _, beta in table.values()) + 0.1
    dual = relaxation.dual_problem(problem, d["lambda1"], d["lambda2"], box=M)
    assert dual.conditional
    return dual


def points_of(d, problem, dual, table, rng):
    """Several dual points of very different quality; with a split its tangents."""
    p = problem.X.p
    s = scaling(
        d["X"], weights=d["weights"], standardize=d["standardize"], intercept=d["intercept"]
    )[1]
    best = min(table, key=lambda support: table[support][0] + 1e-3 * len(support))
    U = np.column_stack([np.zeros(p), s * table[best][1], 0.3 * rng.normal(size=p)])
    points = relaxation.points_at(dual, np.arange(p), U)
    if dual.split is not None:
        return points
    return relaxation.evaluate(
        dual, np.column_stack([points.a, problem.weights * rng.normal(size=problem.y.size)])
    )


def optima(table, objective):
    """Of the enumerated solutions those with the least objective, ties by 1e-9 counted in: (value,
    [nonzero (p,)]).
    """
    values = {support: objective(support) for support in table}
    best = min(values.values())
    return best, [
        np.abs(table[support][1]) > 1e-9
        for support, v in values.items()
        if v <= best + 1e-9 * abs(best)
    ]


def check(d, problem, dual, table, rng, fixed, improve):
    """Weak duality at every size and lambda0 and safety of all rules, for several points and two
    incumbents; counts what was fixed.
    """
    forced, f = set(d["forced"]), d["penalty_factor"]
    free = int(dual.counted.sum())
    start = points_of(d, problem, dual, table, rng)
    sizes, lambda0 = np.arange(free + 1), d["lambda0"] * np.array([1.0, 0.2])
    better = relaxation.improve(dual, start=start, sizes=sizes, steps=3 if improve else 0, tol=1e-3)
    priced = relaxation.improve(
        dual, start=start, lambda0=lambda0, steps=3 if improve else 0, tol=1e-3
    )
    at_most = [
        optima({S: v for S, v in table.items() if len(set(S) - forced) <= k}, lambda S: table[S][0])
        for k in sizes
    ]
    penalised = [
        optima(table, lambda S, price=price: table[S][0] + price * f[list(S)].sum())
        for price in lambda0
    ]
    best = np.array([v for v, _ in at_most])
    for points in (start, better.points, priced.points):
        assert (relaxation.cardinality_bounds(dual, points, free) <= best[:, None]).all()
        assert (
            relaxation.penalised_bounds(dual, points, lambda0)
            <= np.array([v for v, _ in penalised])[:, None]
        ).all()
    assert (better.lower <= better.relaxed + 1e-9 * np.abs(best)).all() and (
        (better.relaxed <= best + 1e-2 * np.abs(best)).all() or not improve
    )
    trials = [
        (fix_cardinality, better.points, sizes, at_most),
        (fix_penalised, priced.points, lambda0, penalised),
    ]
    for m in range(start.constant.size):
        trials += [
            (fix_cardinality, start.take([m] * sizes.size), sizes, at_most),
            (fix_penalised, start.take([m] * lambda0.size), lambda0, penalised),
        ]
    for fix, points, targets, known in trials:
        for slack in (0.0, 0.02):
            upper = [v + slack * abs(v) for v, _ in known]
            out, into = fix(dual, points, targets, upper)
            assert not (out & into).any() and not (out | into)[list(forced)].any()
            for m, (_, solutions) in enumerate(known):
                for nonzero in solutions:
                    assert not (out[:, m] & nonzero).any() and not (into[:, m] & ~nonzero).any()
            if improve and (points is better.points or points is priced.points):
                fixed.setdefault((fix.__name__, slack), []).append(
                    (out | into).sum() / max(dual.counted.sum() * len(targets), 1)
                )


@cache
def fractions(count):
    """Fractions fixed on `count` random instances, all of them checked: every loss, weights,
    offset, forced columns, factors, boxes, ridges, splits, with every fifth the points of
    `improve`.
    """
    rng, fixed = np.random.default_rng(0), {"instances": 0}
    for i, d in enumerate(instances(count - 6, seed=20, columns=(3, 5))):
        try:
            table = every_support(d["X"], d["y"], forced=d["forced"], **restricted_keywords(d))
        except RuntimeError:  # separated classes: no optimum on some support
            continue
        problem = problem_of(d)
        if problem.usable.all():
            check(d, problem, dual_of(d, problem, table), table, rng, fixed, i % 5 == 0)
            fixed["instances"] += 1
    for seed in range(6):
        d = wide(seed, n=60, p=12, k=4) | {
            "lambda0": 0.1,
            "lambda1": 0.0,
            "lambda2": [0.02, 0.2][seed % 2],
            "penalty_factor": np.ones(12),
            "forced": [],
        }
        d |= {"weights": None, "standardize": True, "intercept": True}
        problem = problem_of(d)
        Z = problem.X.columns(np.arange(12))
        table = every_ridge(
            Z.T @ (problem.weights[:, None] * Z),
            Z.T @ (problem.weights * problem.y),
            0.5 * problem.weights @ problem.y**2,
            d["lambda2"],
        )
        check(
            d, problem, relaxation.dual_problem(problem, 0.0, d["lambda2"]), table, rng, fixed, True
        )
        fixed["instances"] += 1
    return fixed


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_no_bound_exceeds_an_enumerated_optimum_and_no_rule_cuts_one(count):
    fixed = dict(fractions(count))
    assert fixed.pop("instances") == count
    assert min(len(v) for v in fixed.values()) >= count // 5
    assert (
        np.mean(fixed["fix_cardinality", 0.0]) > 0.1 and np.mean(fixed["fix_penalised", 0.0]) > 0.1
    )


@pytest.mark.parametrize("shrunk", [True, False])
def test_hinge_bounds_hold_for_the_linear_programs_they_are_about(shrunk):
    """Hinge with lambda1 and a box: every support by linear programming; dual points come from the
    smoothed hinge.
    """
    rng = np.random.default_rng(5)
    for seed in range(4):
        d = wide(seed, n=30, p=4, k=2, loss="hinge") | {
            "standardize": False,
            "intercept": bool(seed % 2),
            "offset": 0.2 * rng.normal(size=30),
            "lower": -0.6,
            "upper": 0.5,
        }
        lambda1 = 0.02 * shrunk
        problem = problem_of(d)
        dual = relaxation.dual_problem(problem, lambda1, 0.0)
        Z, n = problem.X.columns(np.arange(4)), 30
        table = {}
        for bits in range(16):
            S = [j for j in range(4) if bits >> j & 1]
            A = -problem.y[:, None] * np.column_stack(
                [Z[:, S], np.ones(n)]
            )  # 1 - y (o + z'b + b0) <= slack, |b| <= t
            rows = np.hstack([A, np.zeros((n, len(S))), -np.eye(n)])
            absolute = np.zeros((2 * len(S), rows.shape[1]))
            for i in range(len(S)):
                absolute[2 * i, [i, len(S) + 1 + i]], absolute[2 * i + 1, [i, len(S) + 1 + i]] = (
                    (1, -1),
                    (-1, -1),
                )
            free = (None, None) if d["intercept"] else (0, 0)
            found = linprog(
                np.r_[np.zeros(len(S) + 1), np.full(len(S), lambda1), problem.weights],
                np.vstack([rows, absolute]),
                np.r_[problem.y * problem.offset - 1, np.zeros(2 * len(S))],
                bounds=[(-0.6, 0.5)] * len(S) + [free] + [(0, None)] * (len(S) + n),
            )
            table[tuple(S)] = found.fun
        best = np.array([min(v for S, v in table.items() if len(S) <= k) for k in range(5)])
        out = relaxation.improve(dual, sizes=np.arange(5), steps=4)
        assert (
            (out.lower <= best + 1e-9).all()
            and (out.lower > best - 0.1).all()
            and out.lower[4] > best[4] - 0.02
        )
        fixed, into = fix_cardinality(dual, out.points, np.arange(5), best)
        for k in range(5):
            for S, v in table.items():
                if len(S) <= k and v <= best[k] + 1e-9:
                    assert not fixed[list(S), k].any()
            assert not into[:, 0].any()


# -------------------- the relaxation is solved


def test_known_optima_of_the_relaxation():
    """n = 12, p = 6: the best bound of the penalised problem, found by an independent convex solver
    (six digits), below the enumerated optimum in every case.
    """
    i, j = np.arange(1, 13)[:, None], np.arange(1, 7)
    X = np.sin(i * j + 0.5 * j**2) + 0.3 * np.cos(2 * i + j)
    zeta = 1.5 * X[:, 0] - 1.2 * X[:, 2] + 0.8 * X[:, 4]
    regression, classes = (
        zeta + 0.5 * np.sin(7 * i[:, 0]),
        np.where(zeta + np.cos(5 * i[:, 0]) > 0, 1.0, -1.0),
    )
    known = [
        ("squared", 0.05, 0.0, 0.1, 0.434388, 0.434386),
        ("squared", 0.05, 0.03, 0.1, 0.491100, 0.490991),
        ("logistic", 0.02, 0.0, 0.02, 0.474195, 0.466550),
        ("squared_hinge", 0.03, 0.0, 0.05, 0.373000, 0.363180),
        ("smoothed_hinge", 0.03, 0.0, 0.05, 0.366077, 0.358847),
        ("huber", 0.04, 0.0, 0.05, 0.312253, 0.311662),
    ]
    for loss, lambda0, lambda1, lambda2, *best in known:
        for intercept, value_at in zip((False, True), best, strict=True):
            y = regression if loss in ("squared", "huber") else classes
            problem = problem_of(
                {
                    "X": X,
                    "y": y,
                    "loss": loss,
                    "standardize": False,
                    "intercept": intercept,
                    "gamma": 0.5,
                    "delta": 1.0,
                }
            )
            out = relaxation.improve(
                relaxation.dual_problem(problem, lambda1, lambda2),
                lambda0=[lambda0],
                steps=8,
                tol=1e-6,
            )
            assert out.lower[0] == pytest.approx(value_at, abs=2e-6) and out.relaxed[
                0
            ] == pytest.approx(value_at, abs=2e-6)


@pytest.mark.parametrize("ridge", [0.1, 0.5, 10.0])
def test_duality_is_not_strong_in_general_and_the_gap_stays_open(ridge):
    """X = I, y = (1, 1), k = 1: optimum 1/2 - 1 / (4 + 8 ridge), best bound 2 ridge / (1 + 4 ridge)
    with ridge / 2 on b^2; the gap is positive for every ridge.
    """
    problem = problem_of(
        {
            "X": np.eye(2),
            "y": np.ones(2),
            "loss": "squared",
            "standardize": False,
            "intercept": False,
        }
    )
    out = relaxation.improve(
        relaxation.dual_problem(problem, 0.0, ridge / 2), sizes=[1], steps=6, tol=1e-8
    )
    best, optimum = 2 * ridge / (1 + 4 * ridge), 0.5 - 1 / (4 + 8 * ridge)
    assert out.lower[0] == pytest.approx(best, rel=1e-6) and best < optimum and out.lower[0] <= best


def test_a_strong_ridge_and_clear_columns_close_the_gap():
    d = wide(3, n=200, p=500, k=5, rho=0.0, noise=0.3)
    problem = problem_of(d)
    ridge = 4 * 0.3 * np.sqrt(2 * np.log(500) / 200) / 2
    S = np.linspace(0, 499, 5).astype(int)
    Z, w = problem.X.columns(S), problem.weights
    b = np.linalg.solve(Z.T @ (w[:, None] * Z) + 2 * ridge * np.eye(5), Z.T @ (w * problem.y))
    objective = 0.5 * w @ (problem.y - Z @ b) ** 2 + ridge * b @ b
    dual = relaxation.dual_problem(problem, 0.0, ridge)
    points = relaxation.evaluate(dual, (w * (Z @ b - problem.y))[:, None])
    bound = relaxation.cardinality_bounds(dual, points, 5)[5, 0]
    assert objective * (1 - 1e-9) <= bound <= objective
    out, into = fix_cardinality(dual, points, [5], [objective])
    assert into[S, 0].all() and out[:, 0].sum() == 495


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_working_columns_find_the_bounds_of_all_columns_within_few_reads(loss):
    d = wide(1, n=100, p=400, loss=loss)
    problem, sizes = problem_of(d), np.array([1, 3, 6, 10])
    dual = relaxation.dual_problem(problem, 0.0, 0.05)
    reads = []
    real, count = problem.X.correlate, lambda R, *args: reads.append(R.shape[1]) or real(R, *args)
    problem.X.correlate = count
    out = relaxation.improve(dual, sizes=sizes, steps=12, tol=1e-4)
    assert len(reads) == out.reads <= 12
    assert (out.lower <= out.relaxed).all() and (
        out.lower >= out.relaxed - 2e-3 * np.abs(out.relaxed)
    ).all()
    np.testing.assert_allclose(
        relaxation.cardinality_bounds(dual, out.points, 10)[sizes, np.arange(4)],
        out.lower,
        rtol=1e-12,
    )
    few = relaxation.improve(dual, sizes=sizes, steps=3, tol=1e-4)
    assert (few.lower <= out.lower + 1e-9).all() and few.reads <= 3
    enough = relaxation.improve(dual, sizes=sizes, steps=12, goal=out.lower * 0.9)
    assert enough.reads < out.reads and (enough.lower >= 0.89 * out.lower).all()


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_penalised_targets_on_working_columns(loss):
    d = wide(1, n=100, p=400, loss=loss) | {
        "penalty_factor": np.random.default_rng(3).uniform(0.5, 2.0, 400)
    }
    problem, lambda0 = problem_of(d), np.array([0.3, 0.1, 0.03])
    dual = relaxation.dual_problem(problem, 0.01, 0.05)
    out = relaxation.improve(dual, lambda0=lambda0, steps=12, tol=1e-4)
    assert (
        out.reads <= 12
        and (out.lower <= out.relaxed).all()
        and (out.lower >= out.relaxed - 2e-3 * np.abs(out.relaxed)).all()
    )
    np.testing.assert_allclose(
        relaxation.penalised_bounds(dual, out.points, lambda0).diagonal(), out.lower, rtol=1e-12
    )
    assert (np.diff(out.lower) < 0).all()  # a lower price, a lower optimum


def test_a_poll_ends_the_search_and_what_was_found_is_kept():
    dual = relaxation.dual_problem(problem_of(wide(1, n=60, p=100)), 0.0, 0.05)
    asked = []
    out = relaxation.improve(
        dual, sizes=[2, 4], steps=10, tol=1e-6, poll=lambda: asked.append(0) or len(asked) == 3
    )
    assert out.reads == 3 and np.isfinite(out.lower).all() and np.isfinite(out.relaxed).all()


def test_problems_without_a_column_to_choose():
    X = np.column_stack([np.ones(20), np.linspace(-1, 1, 20)])
    y = X[:, 1] + 0.1 * np.sin(9 * X[:, 1])
    for chosen in (
        {"X": X[:, :1]},
        {"X": X, "forced": [1], "penalty_factor": np.array([1.0, 0.0])},
    ):
        problem = problem_of({"y": y, "loss": "squared"} | chosen)
        dual = relaxation.dual_problem(problem, 0.0, 0.1)
        out = relaxation.improve(dual, sizes=[0, 1], steps=4, tol=1e-6)
        Z, w = problem.X.columns(problem.forced), problem.weights
        b = np.linalg.solve(
            Z.T @ (w[:, None] * Z) + 0.2 * np.eye(Z.shape[1]), Z.T @ (w * problem.y)
        )
        best = 0.5 * w @ (problem.y - Z @ b) ** 2 + 0.1 * b @ b
        np.testing.assert_allclose(out.lower, best, rtol=1e-4)
        assert (out.lower <= best).all()
        out, into = fix_penalised(dual, out.points, [0.1, 0.2], [best, best])
        assert not out.any() and not into.any()


def test_bounds_of_fits_are_a_start_and_coefficients_too():
    d = wide(2, n=100, p=200)
    problem = problem_of(d)
    dual = relaxation.dual_problem(problem, 0.0, 0.05)
    S = np.sort(np.linspace(0, 199, 6).astype(int))
    Z, w = problem.X.columns(S), problem.weights
    b = np.linalg.solve(Z.T @ (w[:, None] * Z) + 0.1 * np.eye(6), Z.T @ (w * problem.y))
    start = relaxation.points_of_fits(dual, [(S, b)])
    np.testing.assert_allclose(start.a[:, 0], w * (Z @ b - problem.y), atol=1e-12)
    out = relaxation.improve(
        dual, start=start, sizes=[5, 6], steps=0, coefficients=[(S, b), (S, b)]
    )
    np.testing.assert_array_equal(
        out.lower, relaxation.cardinality_bounds(dual, start, 6)[[5, 6], 0]
    )
    more = relaxation.improve(
        dual, start=start, sizes=[5, 6], steps=8, coefficients=[(S, b), (S, b)]
    )
    assert (more.lower > out.lower).all() and start.constant.size == 1


# -------------------- scaling, splitting, boxes


def test_every_size_gets_the_best_multiple_of_a_point():
    d = wide(4, n=60, p=40)
    problem = problem_of(d)
    dual = relaxation.dual_problem(problem, 0.0, 0.1)
    points = relaxation.evaluate(dual, (-problem.weights * problem.y * 0.2)[:, None])
    found = relaxation.cardinality_bounds(dual, points, 5)[:, 0]

    def plain(factor, k):
        multiple = relaxation.evaluate(dual, points.a * factor)
        return multiple.constant[0] - np.sort(relaxation.gains(dual, multiple, 0))[::-1][:k].sum()

    for k in range(6):
        best = minimize_scalar(
            lambda factor, k=k: -plain(factor, k),
            bounds=(0.0, 20.0),
            method="bounded",
            options={"xatol": 1e-9},
        ).x
        assert found[k] == pytest.approx(plain(best, k), rel=1e-9) and found[k] > max(
            plain(0.8 * best, k), plain(1.2 * best, k)
        )


@pytest.mark.parametrize(
    "lambda1, ridge, box",
    [(0.0, 0.1, np.inf), (0.2, 0.1, 0.5), (0.1, 0.0, 0.5), (0.1, 0.0, np.inf)],
)
def test_gains_are_maxima_rounded_up_by_little(lambda1, ridge, box):
    problem = problem_of(wide(9, n=30, p=20) | {"lower": -box / 2, "upper": box})
    dual = relaxation.dual_problem(problem, lambda1, ridge)
    points = relaxation.evaluate(dual, (-0.3 * problem.weights * problem.y)[:, None])
    b, h = link(dual, points.tau[:, 0])
    found = relaxation.gains(dual, points, 0)
    assert (found >= h).all() and (found <= h + 1e-12).all()
    grid = np.linspace(-5, 5, 100_001)[:, None]
    grid = np.clip(grid, dual.lower, dual.upper)
    values = -points.tau[:, 0] * grid - lambda1 * np.abs(grid) - ridge * grid**2
    np.testing.assert_allclose(h, values.max(axis=0), atol=1e-4)
    np.testing.assert_allclose(b, grid[values.argmax(axis=0), np.arange(20)], atol=1e-2)


def test_a_split_leaves_a_positive_definite_matrix_and_gives_bounds_without_ridge():
    d = wide(5, n=200, p=30, k=5)
    problem = problem_of(d)
    Z = problem.X.columns(np.arange(30))
    G = Z.T @ (problem.weights[:, None] * Z)
    diagonal = relaxation.split(problem)
    assert (diagonal > 0).all() and np.linalg.eigvalsh(G - np.diag(diagonal))[0] > 0
    dual = relaxation.dual_problem(problem, 0.0, 0.0, split=diagonal)
    assert dual.bounded and not dual.conditional
    out = relaxation.improve(dual, sizes=[0, 5, 30], steps=10, tol=1e-6)
    full = (
        0.5 * problem.weights @ (problem.y - Z @ np.linalg.lstsq(Z, problem.y, rcond=None)[0]) ** 2
    )
    null = 0.5 * problem.weights @ problem.y**2
    np.testing.assert_allclose(out.lower[[0, 2]], [null, full], rtol=1e-4)
    weaker = relaxation.improve(
        relaxation.dual_problem(
            problem, 0.0, 0.0, split=np.full(30, 0.98 * np.linalg.eigvalsh(G)[0])
        ),
        sizes=[5],
        steps=10,
        tol=1e-6,
    )
    assert out.lower[1] >= weaker.lower[0]
    with pytest.raises(ValueError, match="at="):
        relaxation.evaluate(dual, problem.y[:, None])
    assert relaxation.split(problem_of(wide(5, n=20, p=30))) is None
    assert relaxation.split(problem_of(wide(5, n=60, p=10, loss="logistic"))) is None
    with pytest.raises(ValueError, match="split="):
        relaxation.dual_problem(problem_of(wide(5, n=60, p=10, loss="logistic")), split=np.ones(10))


def test_without_ridge_and_box_nothing_is_known_and_a_box_makes_it_conditional():
    problem = problem_of(wide(6, n=30, p=50))
    dual = relaxation.dual_problem(problem, 0.0, 0.0)
    assert not dual.bounded
    out = relaxation.improve(dual, sizes=[0, 2], steps=4)
    assert np.isfinite(out.lower[0]) and np.isneginf(out.lower[1])
    assert not fix_cardinality(dual, out.points, [0, 2], [10.0, 10.0])[0][:, 1].any()
    boxed = relaxation.dual_problem(problem, 0.0, 0.0, box=2.0)
    assert boxed.conditional and boxed.bounded
    assert relaxation.improve(boxed, sizes=[2], steps=4).lower[0] > 0
    lasso = relaxation.dual_problem(problem, 0.1, 0.0)
    assert lasso.bounded and not lasso.conditional
    assert np.isfinite(relaxation.improve(lasso, sizes=[2], steps=4).lower[0])
    for wrong in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="box="):
            relaxation.dual_problem(problem, box=wrong)
    with pytest.raises(ValueError, match="sizes or lambda0"):
        relaxation.improve(dual)


# -------------------- points without a read


@pytest.mark.parametrize(
    "d",
    [wide(3), wide(3, loss="logistic"), wide(4) | {"X": wide(4)["X"] + 1e3, "lambda1": 0.01}],
    ids=["squared", "logistic", "far"],
)
def test_checks_of_all_columns_leave_slopes_behind_that_give_the_bounds_of_a_read(d):
    problem = problem_of(d)
    model = make_model(problem)
    if not problem.quadratic:
        model.seen = {}
    lambda1 = d.get("lambda1", 0.0)
    path = ColumnExchanges(model, Slice(lambda1, 0.05, 5), LocalSearch(), Session(Clock()))
    SizePath(path).run()
    fits = [(path.pool.fits[k].support, path.pool.fits[k].b) for k in range(1, 6)]
    dual = relaxation.dual_problem(problem, lambda1, 0.05)
    known, a, tau, rounding_factor = model.verified_slopes(
        [*fits, (np.array([7, 150, 151, 280]), np.ones(4))], lambda1, 0.05
    )
    assert known == list(range(5)) and a.shape == (80, 5) and tau.shape == (300, 5)
    fresh, read = (
        relaxation.points_of_slopes(dual, a, tau, rounding_factor=rounding_factor),
        relaxation.points_of_fits(dual, fits),
    )
    exact = problem.X.columns(np.arange(300)).T @ fresh.a
    assert (
        np.abs(fresh.tau - exact)
        <= dual.gamma * dual.rounding_scale[:, None] * fresh.rounding_factor + 1e-15
    ).all()
    low, usual = (
        relaxation.cardinality_bounds(dual, fresh, 5),
        relaxation.cardinality_bounds(dual, read, 5),
    )
    np.testing.assert_allclose(low, usual, rtol=1e-6, atol=1e-9 * np.abs(usual).max())
    for k in range(1, 6):
        assert (low[k] <= path.pool.fits[k].value).all()


def test_a_known_point_outside_the_domain_gives_a_lower_bound_still():
    """What making it feasible changes is counted: never above the bound of a read."""
    d = wide(5, loss="logistic")
    problem, rng = problem_of(d), np.random.default_rng(0)
    dual = relaxation.dual_problem(problem, 0.0, 0.05)
    a = relaxation.points_of_fits(dual, [([], [])]).a * (1.0 + 1e-3 * rng.standard_normal((80, 3)))
    known, read = (
        relaxation.points_of_slopes(dual, a, problem.X.correlate(a)),
        relaxation.evaluate(dual, a),
    )
    low, usual = (
        relaxation.cardinality_bounds(dual, known, 4),
        relaxation.cardinality_bounds(dual, read, 4),
    )
    assert (
        (low <= usual).all()
        and (low[1:] < usual[1:]).all()
        and (low > usual - 0.05 * np.abs(usual)).all()
    )


# -------------------- invariances


def bounds_of(d, lambda2=0.05, **how):
    dual = relaxation.dual_problem(problem_of(d), 0.0, lambda2)
    return relaxation.improve(dual, **({"sizes": [1, 3, 5], "steps": 6, "tol": 1e-5} | how))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_weights_are_repeated_rows_and_sparse_is_dense(loss):
    d = wide(7, n=50, p=60, loss=loss)
    d["X"][np.abs(d["X"]) < 0.5] = 0.0
    times = np.random.default_rng(0).integers(0, 3, 50)
    weighted = bounds_of(d | {"weights": times.astype(float)})
    repeated = bounds_of(d | {"X": np.repeat(d["X"], times, axis=0), "y": np.repeat(d["y"], times)})
    np.testing.assert_allclose(weighted.lower, repeated.lower, rtol=1e-6)
    sparse = bounds_of(d | {"X": sp.csc_array(d["X"])})
    np.testing.assert_allclose(sparse.lower, bounds_of(d).lower, rtol=1e-6)


def test_bounds_scale_with_the_square_of_y_and_stay_below_tight_optima():
    d = wide(8, n=50, p=30)
    plain = bounds_of(d)
    for c in (1e-6, 1e6):
        np.testing.assert_allclose(
            bounds_of(d | {"y": c * d["y"]}).lower, c * c * plain.lower, rtol=1e-6
        )
    # large means and tiny scales: rounding is what the margin is for; with all columns allowed the
    # bound is tight
    far = d | {"X": d["X"][:, :6] * 1e-3 + 1e3, "y": d["y"] + 1e5}
    problem = problem_of(far)
    Z, w = problem.X.columns(np.arange(6)), problem.weights
    b = np.linalg.solve(Z.T @ (w[:, None] * Z) + 0.1 * np.eye(6), Z.T @ (w * problem.y))
    objective = 0.5 * w @ (problem.y - Z @ b) ** 2 + 0.05 * b @ b
    dual = relaxation.dual_problem(problem, 0.0, 0.05)
    bound = relaxation.cardinality_bounds(
        dual, relaxation.evaluate(dual, (w * (Z @ b - problem.y))[:, None]), 6
    )[6, 0]
    assert objective * (1 - 1e-6) < bound <= objective
