"""A hundred small problems of every response: every size is the enumerated optimum in nearly all,
and none is below it.
"""

import pytest
from enumerated_families import LOSSES, run


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_sizes_are_the_enumerated_optima(loss):
    found = run(loss, 100)
    assert found.instances == 100 and found.sizes >= 300
    assert found.above <= 0.01 * found.sizes
    assert found.below <= 1e-10
