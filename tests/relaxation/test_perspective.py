"""The proximal map of the perspective penalty against a search over z, column by column."""

import numpy as np
import pytest

from l0path.relaxation.perspective import Terms, prox

W = 7


def drawn(seed):
    """Random `Terms` with a ridge, a box or both, and forced columns; some have no room."""
    rng = np.random.default_rng(seed)
    ridge = rng.choice([0.0, 0.3, 2.0], W)
    lower, upper = -rng.uniform(0.1, 2.0, W), rng.uniform(0.1, 2.0, W)
    free = (ridge > 0) & (rng.random(W) < 0.5)
    lower[free], upper[free] = -np.inf, np.inf
    upper[rng.random(W) < 0.2] = 0.0
    columns = (v[:, None] for v in (ridge, rng.uniform(0.5, 2.0, W), lower, upper))
    return Terms(rng.choice([0.0, 0.2]), *columns, rng.random(W) < 0.8)


def objective(terms, j, v, curvature, lambda0, b, z):
    """What the proximal map of column j minimizes over (b, z)."""
    cost = lambda0 * terms.factor[j, 0] * z if terms.counted[j] else 0.0
    square = np.divide(b * b, z, out=np.zeros_like(z), where=z > 0)
    fit = 0.5 * curvature * (b - v) ** 2
    return cost + terms.lambda1 * np.abs(b) + terms.ridge[j, 0] * square + fit


def least(terms, j, v, curvature, lambda0):
    """The least of it over a grid of z, at the best b for each."""
    z = np.linspace(0.0, 1.0, 4001) if terms.counted[j] else np.ones(1)
    size = max(curvature * abs(v) - terms.lambda1, 0.0) * z
    b = np.sign(v) * size / (curvature * z + 2.0 * terms.ridge[j, 0] + (z == 0))
    b = np.clip(b, *(np.where(z > 0, z * side[j, 0], 0.0) for side in (terms.lower, terms.upper)))
    return objective(terms, j, v, curvature, lambda0, b, z).min()


@pytest.mark.filterwarnings("ignore:invalid value encountered in multiply")  # 0 inf, not used
@pytest.mark.parametrize("seed", range(20))
def test_each_column_is_at_its_least_objective_for_a_multiplier(seed):
    rng, terms = np.random.default_rng(100 + seed), drawn(seed)
    v, curvature = rng.normal(size=(W, 4)), rng.uniform(0.5, 3.0, 4)
    v[rng.integers(W)] = 0.0
    lambda0 = np.array([0.0, 0.05, 0.4, 5.0])
    b, z, _ = prox(terms, v, curvature, lambda0=lambda0)
    for j, m in np.ndindex(v.shape):
        case = terms, j, v[j, m], curvature[m], lambda0[m]
        reached = objective(*case, b[j : j + 1, m], z[j : j + 1, m])[0]
        assert reached == pytest.approx(least(*case), abs=1e-6)
        room = (z[j, m] * side[j, 0] if z[j, m] > 0 else 0.0 for side in (terms.lower, terms.upper))
        assert b[j, m] == pytest.approx(np.clip(b[j, m], *room), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_a_size_is_kept_at_one_multiplier_for_all_columns(seed):
    rng, terms = np.random.default_rng(200 + seed), drawn(seed)
    v, curvature = rng.normal(size=(W, 4)), rng.uniform(0.5, 3.0, 4)
    sizes, start = np.array([0, 1, 3, W]), np.array([1.0, np.inf, 0.0, np.nan])
    b, z, x = prox(terms, v, curvature, sizes, start=start)
    total = z[terms.counted].sum(axis=0)
    assert np.all(total <= sizes + 1e-9)
    assert total[x < np.inf] == pytest.approx(sizes[x < np.inf], abs=1e-9)
    assert x[-1] == np.inf  # all columns are allowed
    with np.errstate(divide="ignore"):
        multipliers = 1.0 / x**2
    alike = terms._replace(factor=np.ones((W, 1)))
    again = prox(alike, v, curvature, lambda0=multipliers)
    assert np.allclose(again[0], b, atol=1e-9) and np.allclose(again[1], z, atol=1e-9)
