"""What `working_set.linear_algebra` promises of sums."""

import numpy as np
import pytest

from l0path.working_set.linear_algebra import rounding


@pytest.mark.parametrize("n", [1000, 50_000, 400_001])
def test_rounding_holds_for_equal_terms_that_are_summed_in_one_part(n):
    rng = np.random.default_rng(n)
    terms = [*rng.uniform(0.5, 1.0, 200), *(np.arange(1, 30) / 30.0)]
    errors = [np.cumsum(np.full(n, t))[-1] / (t * n) - 1.0 for t in terms]
    assert rounding(n) / 3.0 < np.abs(errors).max() < rounding(n)
