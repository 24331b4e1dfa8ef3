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
