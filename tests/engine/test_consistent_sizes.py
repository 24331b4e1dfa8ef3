"""Models of a path do not contradict smaller ones: a column can be added with coefficient 0."""

import numpy as np
import pytest
from test_near_shrunk import columns, response

import l0path
from l0path.core.control import Clock
from l0path.core.status import FitStatus, Optimality
from l0path.engine.assemble import below_none
from l0path.engine.posing import resolved
from l0path.engine.protocols import Point
from l0path.engine.request import request
from l0path.problem.problem import Fit
from l0path.working_set.model import make_model


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
    found = below_none(points, lambda fit: 1e-9)
    flags = [FitStatus.NOT_CONVERGED in p.fit.flags for p in found]
    assert flags == [False, False, True, False]


def test_a_model_above_a_smaller_one_is_not_the_best_of_its_size():
    points = [point(0, [], 3.0), point(1, [2], 1.0), point(2, [0, 4], 1.1)]
    found = below_none(points, lambda fit: 1e-9)
    assert [p.optimality for p in found] == [*[Optimality.GLOBAL] * 2, Optimality.UNVERIFIED]
    assert not found[2].fit.flags
    swapped = [*points[:2], point(2, [0, 4], 1.1, Optimality.REFIT_SWAP)]
    assert below_none(swapped, lambda fit: 1e-9)[2].optimality == Optimality.REFIT_SWAP
    assert below_none(points, lambda fit: 0.2)[2].optimality == Optimality.GLOBAL


def test_nothing_is_claimed_beside_fits_that_rounding_has_spoilt():
    """The fit of three columns has not converged, so swaps of four were compared with its like."""
    swapped = Optimality.REFIT_SWAP_M
    points = [point(2, [1, 2], 0.5), point(3, [1, 2, 3], 0.8), point(4, [0, 4, 5, 6], 0.8, swapped)]
    found = below_none(points, lambda fit: 1e-9)
    assert FitStatus.NOT_CONVERGED in found[1].fit.flags and not found[2].fit.flags
    assert found[2].optimality == Optimality.UNVERIFIED
    assert below_none(points[::2], lambda fit: 1e-9)[1].optimality == swapped


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_rounding_of_large_coefficients_makes_no_model_worse_than_a_smaller_one(loss):
    """Columns at 1e8 that differ by numbers of size 1: predictors are known to 1e-8. x1 is not
    needed beside the others, its coefficient is 0 or rounding (by the processor), and two
    evaluations of the same optimum differ by 3e-10.
    """
    X, direction = columns("far", 1e-8)
    y = response(loss, direction)
    path = l0path.fit(X, y, loss=loss, lambda1=1e-9, fit_intercept=False, max_k=3)
    assert path.details.status.tolist() == ["converged"] * 4
    assert path.details.n_features[2] == 2
    beta = path.coef(k=3, full=True).to_numpy()[1:]
    assert abs(beta[1]) < 1e-9 * abs(beta[[0, 2]]).min()
    problem = resolved(request(X, y, lambda1=1e-9, fit_intercept=False), Clock())[1]
    model = make_model(problem)
    model.grow(np.arange(3))
    model.find_near()
    fits = [model.refit(np.array(S), 1e-9, 0.0) for S in ([0, 2], [0, 1, 2])]
    assert abs(fits[1].value - fits[0].value) < model.rounding_of(fits[0]) < 1e-7
    assert model.rounding_of(model.refit(np.array([1]), 1e-9, 0.0)) == 0.0
