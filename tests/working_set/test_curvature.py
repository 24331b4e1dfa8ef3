"""Second derivatives near a fit, from which bounds of exchanges are made."""

import numpy as np
import pytest
from scipy.special import expit

import l0path
from l0path.problem.problem import pose
from l0path.working_set.model import make_model


@pytest.mark.parametrize("intercept", [True, False])
def test_an_inverse_hessian_is_one_whatever_the_sizes_of_columns(intercept):
    """Beside a column of 1e6 one of 1e-4 was taken for none: B belonged to no Hessian, bounds made
    from it held of nothing, and swaps were refuted that pay (claims 15969).
    """
    rng = np.random.default_rng(0)
    size = 10.0 ** np.array([6, -4, 0, 3, -3, 1])
    X = rng.standard_normal((60, 6)) * size
    y = np.where(rng.random(60) < expit(X[:, 0] / size[0] - X[:, 1] / size[1]), 1, -1)
    given = {"loss": "logistic", "standardize": False, "fit_intercept": intercept}
    model = make_model(pose(l0path.fit(X, y, max_k=1, **given)._source.data))
    model.grow(np.arange(6))
    fit = model.refit(np.arange(4), 0.0, 0.0)
    local = model.local(fit, 0.0)
    Z = X[:, :4] - (local.v @ X[:, :4] / local.v.sum() if intercept else 0.0)
    H = (Z.T * local.v) @ Z / np.outer(size[:4], size[:4])
    inverse = np.linalg.inv(H) / np.outer(size[:4], size[:4])
    assert np.outer(size[:4], size[:4]) * (local.B - inverse) == pytest.approx(0.0, abs=1e-6)
