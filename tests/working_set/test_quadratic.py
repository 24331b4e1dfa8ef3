"""Quadratics with an l1 norm and a box, against themselves in other units."""

import numpy as np
import pytest

from l0path.working_set.quadratic import solve_quadratic, violation


def problem(rng, k, lambda1):
    """(H, q, l1, lower, upper) of k columns of length one, of which bounds hold several."""
    A = rng.normal(size=(4 * k, k))
    A /= np.linalg.norm(A, axis=0)
    q = A.T @ rng.normal(size=4 * k)
    box = np.where(rng.random(k) < 0.7, 0.1, 5.0)
    return A.T @ A, q, np.full(k, lambda1), -box, box


@pytest.mark.parametrize("lambda1", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(8))
def test_units_of_columns_do_not_matter(seed, lambda1):
    rng = np.random.default_rng(seed)
    H, q, l1, lower, upper = problem(rng, 7, lambda1)
    x = np.zeros(7)
    assert solve_quadratic(H, q, l1, lower, upper, x, 200) < 1e-13
    for j in range(7):
        assert violation(q[j] - H[j] @ x, x[j], l1[j], lower[j], upper[j]) < 1e-12
    unit = 10.0 ** rng.integers(-9, 10, size=7)
    start = np.where(rng.random(7) < 0.5, 0.0, x) / unit
    scaled = unit[:, None] * H * unit, unit * q, unit * l1, lower / unit, upper / unit
    assert solve_quadratic(*scaled, start, 200) < 1e-13
    np.testing.assert_allclose(start * unit, x, rtol=1e-9, atol=1e-11)
