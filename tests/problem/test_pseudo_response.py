"""The response of the squared loss that starts the path of another one."""

import numpy as np

from l0path.problem.families.amounts import NULL_SHARE, Gamma
from l0path.problem.losses import Poisson
from l0path.problem.responses import pseudo_response


def test_amounts_start_from_a_working_response():
    y, null = np.array([1e-9, 0.3, 2.0, 40.0]), 2.0
    mean = (y + NULL_SHARE * null) / (1.0 + NULL_SHARE)
    z = pseudo_response(Gamma(), 1.0 - y / null)
    np.testing.assert_allclose(z, np.log(mean / null) + (y - mean) / mean, atol=1e-12)
    near = np.array([-1e-6, 1e-6])  # near the null model any loss is its slope
    np.testing.assert_allclose(pseudo_response(Gamma(), near), -near, rtol=1e-5)
    assert pseudo_response(Poisson(), y).tolist() == (-y).tolist()
