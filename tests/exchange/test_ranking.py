"""The exchanges that `ranking.scan` keeps, against a loop over all of them."""

import numpy as np
import pytest

from l0path.exchange.ranking import ExchangeRule, Roles, new_list, scan
from l0path.exchange.table import ExchangeList
from l0path.working_set.columns import Quadratic
from l0path.working_set.linear_algebra import COLLINEAR

S, CAPACITY, TIE = np.array([3, 40, 41, 66]), 25, 1e-9


def posed(ridge, seed=0, m=75):
    """(Quadratic on m columns, 75 = 2 * 32 + 11, at the optimum b of support S; b; the Gram matrix;
    its right-hand sides). Columns 5 and 50 are copies of 4, column 7 is one of member 3, 8 is a
    combination of members, 9 nearly one, 10 constant zero and 74 a multiple of 0.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, m))
    X[:, 5] = X[:, 50] = X[:, 4]
    X[:, 7] = X[:, 3]
    X[:, 8] = X[:, 40] - 2.0 * X[:, 41]
    X[:, 9] = X[:, 66] + 1e-9 * X[:, 6]
    X[:, 10] = 0.0
    X[:, 74] = 3.0 * X[:, 0]
    G, q = X.T @ X / 40, X.T @ (X[:, [0, 4, 40]].sum(axis=1) + rng.standard_normal(40)) / 40
    B = np.linalg.inv(G[np.ix_(S, S)] + 2.0 * ridge * np.eye(4))
    b = B @ q[S]
    return Quadratic(G[S], q - b @ G[S], np.diagonal(G).copy(), B), b, G, q


def part_of(seed, m, cost):
    """`Roles` where member 1 is locked, three columns and the members are skipped, costs are drawn
    up to `cost`, and column 12 may not enter by its cost.
    """
    rng = np.random.default_rng(seed)
    skip, costs = np.zeros(m, bool), cost * rng.random(m)
    skip[S] = skip[[0, 10, 33]] = True
    costs[[4, 5, 50]] = 0.5 * cost
    costs[12] = 1e300 if cost else 0.0
    return Roles(skip, np.array([False, True, False, False]), costs, cost * rng.random(4))


def change_of(quadratic, b, part, rule, i, j):
    """What `scan` enters for the exchange of member i (-1: none) and column j; inf for none."""
    B, A = quadratic.B, quadratic.a[j] + 2.0 * rule.lambda2
    u = B @ quadratic.rows[:, j]
    left, c, rise = A - u @ quadratic.rows[:, j], quadratic.c[j], 0.0
    if i >= 0:
        left, c = left + u[i] ** 2 / B[i, i], c + b[i] * u[i] / B[i, i]
        rise = 0.5 * b[i] ** 2 / B[i, i] - part.member_cost[i]
    if left <= COLLINEAR * A:
        if not rule.dependent:
            return np.inf
        left = A
    gain = 0.5 * max(abs(c) - rule.lambda1, 0.0) ** 2 / left
    return (rule.target if i < 0 else 0.0) + rise - gain + part.cost[j]


def scanned_one_by_one(quadratic, b, part, rule):
    """List of (change, column, position), by insertion of one exchange after the other."""
    kept = []
    for j in np.flatnonzero(~part.skip):
        for i in (-1, *np.flatnonzero(~part.locked)):
            d = change_of(quadratic, b, part, rule, i, j)
            full = len(kept) == CAPACITY
            if d >= min(rule.ceiling, 0.0 if i < 0 else np.inf) or (
                full and d >= kept[-1][0] - rule.tie
            ):
                continue
            at = next((a for a, one in enumerate(kept) if one[0] > d + rule.tie), len(kept))
            kept = [*kept[:at], (d, int(j), int(i)), *kept[at:]][:CAPACITY]
    return kept


def scanned(quadratic, b, part, rule):
    """The same by the kernel."""
    change, column, position = new_list(CAPACITY)
    found = ExchangeList(change, column, position)
    count = scan(quadratic, quadratic.B @ quadratic.rows, b, part, rule, found)
    return list(
        zip(change[:count], column[:count].tolist(), position[:count].tolist(), strict=True)
    )


@pytest.mark.parametrize("lambda1, cost, dependent, ceiling", [
    (0.0, 0.0, False, 1e300),
    (0.0, 0.3, False, 0.05),
    (0.1, 0.0, True, 1e300),
    (0.1, 0.3, True, 0.05),
    (0.02, 0.1, False, -0.001),
])  # fmt: skip
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_the_exchanges_kept_are_those_of_a_loop_over_all(lambda1, cost, dependent, ceiling, ridge):
    for seed in range(4):
        quadratic, b, _, _ = posed(ridge, seed)
        part = part_of(seed, quadratic.c.size, cost)
        rule = ExchangeRule(lambda1, ridge, dependent, 0.2, ceiling, TIE)
        wanted = scanned_one_by_one(quadratic, b, part, rule)
        found = scanned(quadratic, b, part, rule)
        assert [one[1:] for one in found] == [one[1:] for one in wanted]
        np.testing.assert_allclose([d for d, *_ in found], [d for d, *_ in wanted], atol=1e-9)


@pytest.mark.parametrize("lambda1, cost", [(0.0, 0.0), (0.05, 0.1)])
def test_a_swap_right_below_the_ceiling_is_kept(lambda1, cost):
    quadratic, b, _, _ = posed(0.05)
    part = part_of(0, quadratic.c.size, cost)
    rule = ExchangeRule(lambda1, 0.05, False, 0.2, 1e300, 0.0)
    changes = [d for d, _, i in scanned_one_by_one(quadratic, b, part, rule) if i >= 0]
    assert len(changes) > 10
    for d in changes[:8]:
        below = rule._replace(ceiling=d + 1e-9 * abs(d))
        wanted = scanned_one_by_one(quadratic, b, part, below)
        assert d in [one[0] for one in wanted]
        found = scanned(quadratic, b, part, below)
        assert len(wanted) < CAPACITY  # so that all below the ceiling are kept
        assert {one[1:] for one in found} == {one[1:] for one in wanted}


def test_changes_are_those_of_refits():
    ridge = 0.05
    quadratic, b, G, q = posed(ridge)
    part = part_of(0, q.size, 0.0)
    H = G + 2.0 * ridge * np.eye(q.size)

    def lowest(T):
        return -0.5 * q[T] @ np.linalg.solve(H[np.ix_(T, T)], q[T])

    found = scanned(quadratic, b, part, ExchangeRule(0.0, ridge, False, 0.0, 1e300, TIE))
    assert {i < 0 for _, _, i in found} == {False, True}
    for d, j, i in found:
        assert d == pytest.approx(lowest(np.append(S[np.arange(4) != i], j)) - lowest(S), abs=1e-10)
