"""Swaps of a loss of one's own whose curvature is next to nothing in most rows."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import l0path

DATA = Path(__file__).parent.parent / "data" / "own_loss_swap.npz"  # n = 32, p = 5, y in thousands


@l0path.own_loss("narrow_log_cosh", link="identity", largest_curvature=1.0)
class LogCosh(NamedTuple):
    """scale^2 log cosh((eta - y) / scale)."""

    scale: float

    def value(self, y, eta):
        r = abs(eta - y) / self.scale
        return self.scale**2 * (r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0))

    def slope(self, y, eta):
        return self.scale * math.tanh((eta - y) / self.scale)

    def curvature(self, y, eta):
        return 1.0 - math.tanh((eta - y) / self.scale) ** 2


def test_a_size_is_verified_only_where_its_swaps_were_tried():
    """A scale of 2 beside residuals of thousands: columns are combinations on the few rows that are
    curved, and were taken for such.
    """
    stored = np.load(DATA)
    X, y = stored["X"], stored["y"]
    row = l0path.fit(X, y, loss=LogCosh(2.0), max_k=5, certify=False).model(k=4)
    swapped = [
        l0path.fit(X, y, loss=LogCosh(2.0), exclude=[j], max_k=0, certify=False,
                   always_include=[i for i in range(5) if i != j]).details.objective[0]
        for j in range(5)
    ]  # fmt: skip
    assert row.optimality in ("refit_swap_m", "global")
    assert row.objective == pytest.approx(min(swapped), rel=1e-6)
