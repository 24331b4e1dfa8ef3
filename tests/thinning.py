"""Which cases of a long list run by default; the others are slow."""

from itertools import product

import pytest


def diagonals(step, *axes):
    """Cells of the product of axes, every so many along each axis: every value of an axis is there,
    beside each value of a longer one or some values of it.
    """
    return [
        tuple(axis[i] for axis, i in zip(axes, at, strict=True))
        for at in product(*(range(len(axis)) for axis in axes))
        if sum(at) % step == 0
    ]


def slow_but(quick, cases):
    """Cases of a parametrization, of which those that are not among `quick` are slow."""
    quick = list(quick)
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in quick else pytest.mark.slow,
        )
        for case in cases
    ]


def thinned(step, *axes):
    """The product of axes (of values that can be compared), slow but for its `diagonals`."""
    axes = [tuple(axis) for axis in axes]
    return slow_but(diagonals(step, *axes), product(*axes))
