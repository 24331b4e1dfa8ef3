"""Models of a path do not contradict smaller ones: a column can be added with coefficient 0."""

import numpy as np

from l0path.core.status import FitStatus, Optimality
from l0path.engine.assemble import below_none
from l0path.engine.protocols import Point
from l0path.problem.problem import Fit


def point(k, support, value, optimality=Optimality.GLOBAL):
    S = np.array(support, dtype=np.int64)
    return Point(k, Fit(S, np.zeros(S.size), 0.0, value), optimality)


def test_a_fit_above_that_of_some_of_its_columns_has_not_converged():
    points = [
        point(0, [], 3.0),
        point(1, [2], 1.0),
        point(2, [2, 4], 1.1),
        point(3, [1, 2, 4], 0.9),
    ]
    found = below_none(points, lambda value: 1e-9)
    flags = [FitStatus.NOT_CONVERGED in p.fit.flags for p in found]
    assert flags == [False, False, True, False]


def test_a_model_above_a_smaller_one_is_not_the_best_of_its_size():
    points = [point(0, [], 3.0), point(1, [2], 1.0), point(2, [0, 4], 1.1)]
    found = below_none(points, lambda value: 1e-9)
    assert [p.optimality for p in found] == [*[Optimality.GLOBAL] * 2, Optimality.UNVERIFIED]
    assert not found[2].fit.flags
    swapped = [*points[:2], point(2, [0, 4], 1.1, Optimality.REFIT_SWAP)]
    assert below_none(swapped, lambda value: 1e-9)[2].optimality == Optimality.REFIT_SWAP
    assert below_none(points, lambda value: 0.2)[2].optimality == Optimality.GLOBAL
