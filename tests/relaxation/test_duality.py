"""Conjugates, dual points, lower bounds by weak duality and safe rules, against enumeration: no
bound above an optimum, no optimum cut.
"""

import warnings
from functools import cache

import numpy as np
import pytest
from dual_problems import problem_of, wide
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
from scipy.optimize import linprog

from l0path import relaxation
from l0path.problem.losses import Hinge, make_loss
from l0path.problem.verbs import slope, value
from l0path.relaxation.perspective import Terms, envelope, prox
from l0path.relaxation.safe_rules import fix_cardinality, fix_penalized

ALL = [*LOSSES, "hinge"]


def record(name):
    return Hinge() if name == "hinge" else make_loss(name, 0.25, 1.345)


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


@pytest.mark.parametrize("intercept", [True, False])
def test_tangents_whose_slopes_are_infinite_on_both_sides_have_an_infinite_loss(intercept):
    law, y, w = make_loss("tweedie", power=1.5), np.array([1.0, 1.0, 0.0]), np.full(3, 1 / 3)
    far = np.asfortranarray([[-1e4, 0.1], [1e4, 0.2], [0.0, 0.3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, total, shift = relaxation.tangents(law, y, w, far, intercept, np.zeros(2))
    assert total[0] == np.inf and shift[0] == 0.0
    assert np.isfinite(total[1]) and (shift[1] != 0) == intercept


# -------------------- the perspective penalty


@pytest.mark.parametrize(
    "lambda1, ridge, box",
    [(0.0, 0.01, np.inf), (0.1, 0.3, np.inf), (0.0, 0.01, 0.3), (0.05, 0.2, 0.5), (0.0, 0.0, 0.4)],
)
def test_prox_is_a_minimizer_and_meets_its_size(lambda1, ridge, box):
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
    penalized = [
        optima(table, lambda S, price=price: table[S][0] + price * f[list(S)].sum())
        for price in lambda0
    ]
    best = np.array([v for v, _ in at_most])
    for points in (start, better.points, priced.points):
        assert (relaxation.cardinality_bounds(dual, points, free) <= best[:, None]).all()
        assert (
            relaxation.penalized_bounds(dual, points, lambda0)
            <= np.array([v for v, _ in penalized])[:, None]
        ).all()
    assert (better.lower <= better.relaxed + 1e-9 * np.abs(best)).all() and (
        (better.relaxed <= best + 1e-2 * np.abs(best)).all() or not improve
    )
    trials = [
        (fix_cardinality, better.points, sizes, at_most),
        (fix_penalized, priced.points, lambda0, penalized),
    ]
    for m in range(start.constant.size):
        trials += [
            (fix_cardinality, start.take([m] * sizes.size), sizes, at_most),
            (fix_penalized, start.take([m] * lambda0.size), lambda0, penalized),
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
        np.mean(fixed["fix_cardinality", 0.0]) > 0.1 and np.mean(fixed["fix_penalized", 0.0]) > 0.1
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
