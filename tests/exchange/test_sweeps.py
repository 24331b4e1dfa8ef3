"""Sweeps over the sizes: one and several responses agree where they must."""

import numpy as np
import pytest

from l0path.exchange import table, table_sweeps


def swept(products, G, K):
    """The best supports of sizes 0..K after a sweep up, one down, an oscillation and restarts."""
    w, q = len(G), table.by_column(products)
    cost = np.zeros(w)
    cost[3] = 1e300  # a column that may not enter
    columns = table.Columns(G, q, 0.0, w, np.zeros(w, np.bool_), cost)
    state = table.new_state(w, K + 4, q.shape[1])
    table.clear(state, columns)
    best = table_sweeps.new_best_supports(K, K, q.shape[1])
    best.value[0] = 10.0
    limits = table_sweeps.Limits(10.0, 1e-10, 1e-14, 0.0, 0, 100)
    noise = np.exp(np.random.default_rng(1).standard_normal((K + 1, K + 1)))
    restarts = table_sweeps.restarts(np.full(K + 1, 2), noise)
    for move, start in (
        (table_sweeps.sweep(True), 0),
        (table_sweeps.sweep(False), K),
        (table_sweeps.oscillation(K + 3), 0),
        (restarts, 2),
    ):
        table_sweeps.make_move(state, best, columns, limits, move, start)
    return best


def test_spare_responses_change_no_sweep():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12)) + rng.standard_normal((40, 1))
    X[:, 7] = X[:, 2]  # a copy: no support holds both
    q, G, K = X.T @ rng.standard_normal(40), X.T @ X, 5
    one = swept(q, G, K)
    several = swept(np.column_stack([0.6 * q, np.zeros(12), 0.8 * q]), G, K)
    for k in range(1, K + 1):
        order, other = np.argsort(one.S[k]), np.argsort(several.S[k])
        assert several.S[k][other].tolist() == one.S[k][order].tolist()
        assert several.value[k] == pytest.approx(one.value[k], rel=1e-10)
        S = one.S[k, :k]
        b = np.linalg.solve(G[np.ix_(S, S)], q[S])
        np.testing.assert_allclose(one.b[k, :k, 0], b, rtol=1e-9)
        at = several.S[k, :k]
        b = np.linalg.solve(G[np.ix_(at, at)], q[at])
        np.testing.assert_allclose(several.b[k, :k], np.outer(b, [0.6, 0.0, 0.8]), rtol=1e-9)
    assert not {2, 7} <= set(one.S[K]) and 3 not in one.S[1:, 0]


@pytest.mark.parametrize("seed", range(4))
def test_a_state_that_is_built_anew_knows_what_a_near_combination_keeps(seed):
    """Beside the others each column keeps 1e-4 of its length, 1e-8 of its square. Products with an
    inverse of size 1e8 would lose all of that to rounding, and sizes would end before it enters.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((27, 5))
    X[-1] = 5e4 * rng.standard_normal(5)
    q, w = table.by_column(X.T @ rng.standard_normal((27, 2))), 5
    columns = table.Columns(X.T @ X, q, 0.0, w, np.zeros(w, np.bool_), np.zeros(w))
    state = table.new_state(w, w, 2)
    for j in range(w):
        support = np.delete(np.arange(w), j)
        state.S[: w - 1] = support
        table.build(state, columns, w - 1)
        b, left, *_ = np.linalg.lstsq(X[:, support], X[:, j], rcond=None)
        assert state.s[j] == pytest.approx(left[0], rel=1e-3)
        assert state.V[j, : w - 1] == pytest.approx(b, rel=1e-3, abs=1e-6)
        assert not state.member[j]
        assert state.member.sum() == state.count[0] == w - 1


def test_dependent_members_of_a_state_that_is_built_anew_get_no_coefficient():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4))
    X[:, 2] = X[:, 0] - X[:, 1]
    y = rng.standard_normal(20)
    columns = table.Columns(
        X.T @ X, table.by_column(X.T @ y), 0.0, 4, np.zeros(4, np.bool_), np.zeros(4)
    )
    state = table.new_state(4, 4, 1)
    state.S[:3] = [0, 1, 2]
    table.build(state, columns, 3)
    b = np.linalg.lstsq(X[:, :2], y, rcond=None)[0]
    assert state.b[0, :3] == pytest.approx([*b, 0.0])
    assert abs(state.s[2]) <= 1e-12 * columns.G[2, 2]
