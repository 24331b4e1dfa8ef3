"""Exchanges on a quadratic and chord steps after them, against NumPy, for one predictor of a row
and for several.
"""

import numpy as np
import pytest

from l0path.exchange import chord_steps

PAIRS = [(-1, -1), (0, -1), (2, -1), (-1, 0), (0, 0), (1, 0), (2, 0)]


def instance(q, k=3, K=4, seed=0):
    """(G, g, places in S, places of the column added) of a quadratic g'x + x'G x / 2 in q parts of
    K coefficients, and one more column of q.
    """
    rng = np.random.default_rng(seed)
    size = q * (K + 1)
    A = rng.standard_normal((3 * size, size))
    return A.T @ A, rng.standard_normal(size), np.arange(q * K), np.arange(q * K, size)


@pytest.mark.parametrize("q", [1, 2, 5])
def test_exchanges_and_chord_steps(q):
    G, g, S, added = instance(q)
    B = np.linalg.inv(G[np.ix_(S, S)])
    start, work = -B @ g[S], chord_steps.exchange_work(q, S.size)
    r, z = np.random.default_rng(1).standard_normal(G.shape[0]), np.empty(G.shape[0])
    for i, j in PAIRS:
        exchange, x = chord_steps.Exchange(i, j, work), np.empty(G.shape[0])
        if j >= 0:
            work.C[:] = G[added]
            x[added] = -g[added] - work.C[:, S] @ start
        change = chord_steps.exchanged(B, start, exchange, x)
        T = [l for l in S if i < 0 or l % 4 != i]
        T = np.array([*T, *(added if j >= 0 else [])])
        expected = np.zeros(G.shape[0])
        expected[T] = -np.linalg.solve(G[np.ix_(T, T)], g[T])
        np.testing.assert_allclose(x, expected, rtol=1e-10, atol=1e-12)
        assert change == pytest.approx(0.5 * g @ expected - 0.5 * g[S] @ start, abs=1e-12)
        slope, step = np.zeros(G.shape[0]), np.zeros(G.shape[0])
        slope[T] = r[T]
        step[T] = -np.linalg.solve(G[np.ix_(T, T)], r[T])
        promised = chord_steps.chord_step(B, exchange, slope, z)
        np.testing.assert_allclose(z, step, rtol=1e-10, atol=1e-12)
        assert promised == pytest.approx(-0.5 * r[T] @ step[T])


@pytest.mark.parametrize("q", [1, 3])
def test_combinations_are_told_apart(q):
    """A column that is a combination of the support may enter for a member of it."""
    G, g, S, added = instance(q)
    mix = np.zeros((q * 5, q * 5))
    mix[S, S] = 1.0
    for s in range(q):
        mix[added[s], [s * 4, s * 4 + 2]] = 1.0, 2.0
    G, g = mix @ G @ mix.T, mix @ g
    B = np.linalg.inv(G[np.ix_(S, S)])
    start, work = -B @ g[S], chord_steps.exchange_work(q, S.size)
    for i, clear in ((-1, False), (1, False), (0, True), (2, True)):
        exchange, x = chord_steps.Exchange(i, 0, work), np.empty(q * 5)
        work.C[:] = G[added]
        x[added] = -g[added] - work.C[:, S] @ start
        assert (chord_steps.exchanged(B, start, exchange, x) < np.inf) == clear
        if clear:  # the optimum is that of the support, for they span the same
            np.testing.assert_allclose(x @ mix, [*start, *np.zeros(q)], atol=1e-9)


@pytest.mark.parametrize("q", [1, 2])
def test_steps_that_learn_reach_the_optimum_of_another_quadratic(q):
    """With the inverse of a Hessian that is off, chord steps alone converge slowly."""
    G, g, S, added = instance(q)
    off = G * np.outer(np.linspace(0.8, 1.4, g.size), np.linspace(0.8, 1.4, g.size))
    B, work = np.linalg.inv(off[np.ix_(S, S)]), chord_steps.exchange_work(q, S.size)
    exchange, x = chord_steps.Exchange(1, 0, work), np.zeros(g.size)
    work.C[:] = off[added]
    assert chord_steps.exchanged(B, x[S], exchange, x.copy()) < np.inf
    secants = np.empty((2 * chord_steps.SECANTS + 2, g.size + 2))
    z, T = np.empty(g.size), np.arange(g.size)
    T = T[(T % 4 != 1) | (T >= S.size)]
    optimum = np.zeros(g.size)
    optimum[T] = -np.linalg.solve(G[np.ix_(T, T)], g[T])
    for step in range(9 * q):
        r = np.zeros(g.size)
        r[T] = (G @ x + g)[T]
        chord_steps.chord_step(B, exchange, r, z)
        chord_steps.take_step(B, exchange, secants, step, x, r, z)
    np.testing.assert_allclose(x, optimum, atol=1e-6)
