"""The partial likelihood as a loss that couples rows: its verbs against the definition, every risk
set summed anew.
"""

import numpy as np
import pytest
import survival
from numba import njit

from l0path.problem.coupled.cox import cox_of
from l0path.problem.recession import compared_rows
from l0path.problem.verbs import (
    Tangent,
    along_the_way,
    coupled_columns,
    derivatives,
    derivatives_of_rows,
    dual_bound,
    least_value,
    loss_data,
    mean_loss,
    mean_of_rows,
    restricted,
    slope_along,
)

CASES = [
    (entry, strata, weighted, efron)
    for entry in (False, True)
    for strata in (1, 3)
    for weighted in (False, True)
    for efron in (False, True)
]


def record(times, efron):
    """(the record, y, weights of sum one) of drawn times."""
    start = times.start if np.isfinite(times.start).any() else np.empty(0)
    n = times.weights.size
    whole = np.array_equal(times.weights, np.round(times.weights))
    level = np.log(times.weights.sum() if whole else n)
    made = cox_of(start, times.stop, times.event, stratum=times.stratum, efron=efron, level=level)
    return made, times.event, times.weights / times.weights.sum()


def instance(case, spread=1.0, n=14):
    entry, strata, weighted, efron = case
    rng = np.random.default_rng(CASES.index(case))
    times = survival.draw(rng, n, entry=entry, strata=strata, weighted=weighted)
    return rng, times, *record(times, efron), spread * rng.standard_normal(n)


@pytest.mark.parametrize("spread", [1.0, 8.0])
@pytest.mark.parametrize("case", CASES)
def test_value_slopes_and_curvature_are_those_of_the_definition(case, spread):
    _, times, loss, y, w, eta = instance(case, spread)
    efron, n = case[3], eta.size
    slopes, v = np.empty(n), np.empty(n)
    value = derivatives(loss, y, eta, w, slopes, v)
    expected = survival.loss(times, eta, efron)
    assert value == pytest.approx(expected, abs=1e-12 * max(1.0, abs(expected)))
    assert mean_loss(loss, y, eta, w) == pytest.approx(expected, abs=1e-12 * max(1, abs(expected)))
    gradient, hessian = survival.derivatives(times, eta, efron)
    events = times.weights @ times.event
    assert slopes == pytest.approx(gradient / events, abs=1e-11)
    half = coupled_columns(loss, y, eta, w, np.eye(n))
    assert np.diag(v) - half @ half.T == pytest.approx(hessian / events, abs=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_a_large_number_that_rows_of_a_stratum_share_is_not_seen(case):
    """Near copies of columns with large coefficients leave one."""
    _, times, loss, y, w, eta = instance(case)
    eta = np.round(eta * 1024) / 1024  # so that sums with 1e9 are exact
    far = eta + 2.0**30 * (1.0 + times.stratum)
    assert mean_loss(loss, y, far, w) == pytest.approx(mean_loss(loss, y, eta, w), rel=1e-13)


@njit
def slopes_on_the_way(loss, y, weights, start, end, places, slopes, curvatures):
    """Slopes at places of a line, and the derivatives in slopes (n,) and curvatures (n,) at the
    last of them: asked for one after the other, and each place twice.
    """
    way, found, eta = along_the_way(loss, y), np.empty((2, places.size)), np.empty(y.size)
    for m in range(places.size):
        found[0, m] = slope_along(way, y, weights, start, end, places[m])
        for i in range(y.size):
            eta[i] = start[i] + places[m] * (end[i] - start[i])
        derivatives_of_rows(way, y, eta, weights, slopes, curvatures)
        found[1, m] = slope_along(way, y, weights, start, end, places[m])
    return found


@pytest.mark.parametrize("case", CASES)
def test_slopes_along_a_line(case):
    rng, times, loss, y, w, eta = instance(case)
    move = rng.standard_normal(eta.size)
    places, events = np.array([0.3, 0.0, 1.0, 0.3, 0.3, -2.0, 1.0]), times.weights @ times.event
    gradients = [survival.derivatives(times, eta + t * move, case[3])[0] for t in places]
    slopes, v, expected = *np.empty((2, eta.size)), np.array(gradients) @ move / events
    found = slopes_on_the_way(loss_data(loss), y, w, eta, eta + move, places, slopes, v)
    np.testing.assert_allclose(found, [expected, expected], atol=1e-11)
    np.testing.assert_allclose(slopes, gradients[-1] / events, atol=1e-11)


@pytest.mark.parametrize("size", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("case", CASES)
def test_dual_bounds_hold_and_are_close_for_small_steps(case, size):
    rng, times, loss, y, w, eta = instance(case)
    efron, n = case[3], eta.size
    slopes, v = np.empty(n), np.empty(n)
    value = derivatives(loss, y, eta, w, slopes, v)
    move = size * rng.standard_normal(n)
    bound = dual_bound(loss, y, w, Tangent(eta, slopes, v), eta + move)
    half = coupled_columns(loss, y, eta, w, np.eye(n))
    dual = slopes + (np.diag(v) - half @ half.T) @ move
    if size == 0.1:
        promised = slopes @ move + 0.5 * (dual - slopes) @ move
        assert bound == pytest.approx(promised, abs=20 * size**3)
    for _ in range(40):  # loss(e) >= dual'(e - end) + bound + loss(start), for every e
        e = eta + 2 * rng.random() * move + rng.choice([0.01, 0.1, 1.0]) * rng.standard_normal(n)
        assert survival.loss(times, e, efron) >= dual @ (e - eta - move) + bound + value - 1e-11


@pytest.mark.parametrize("case", CASES)
def test_no_predictor_is_below_the_least_value(case):
    rng, times, loss, y, w, _ = instance(case)
    least = least_value(loss, y, w)
    late = np.argsort(np.argsort(times.stop, kind="stable"))
    for scale in (1.0, 10.0, 25.0):  # those that end first lead, by ever more
        eta = -scale * late + rng.standard_normal(late.size)
        assert survival.loss(times, eta, case[3]) >= least - 1e-9
    if not case[0] and case[1] == 1:
        times = times._replace(stop=np.where(times.event > 0, times.stop, 99.0))
        at = np.unique(times.stop, return_inverse=True)[1]
        made, y, w = record(times, case[3])
        found = survival.loss(times, -25.0 * at, case[3])
        assert found == pytest.approx(least_value(made, y, w), abs=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_rows_of_weight_zero_are_no_rows(case):
    _, times, loss, y, w, eta = instance(case, n=18)
    out = np.zeros(eta.size, dtype=bool)
    out[[1, 4, 9]] = True
    few = survival.Times(*(a[~out] for a in times))
    w = np.where(out, 0.0, w)
    w /= w.sum()
    made = record(few, case[3])[0]
    part = restricted(loss, y, ~out)._replace(level=made.level)
    expected = mean_loss(made, y[~out], eta[~out], w[~out])
    assert mean_loss(part, y[~out], eta[~out], w[~out]) == pytest.approx(expected, abs=1e-13)
    assert mean_of_rows(loss._replace(level=0.0), y, eta, w) == pytest.approx(
        expected - made.level, abs=1e-12
    )


def test_a_predictor_whose_exponential_is_beyond_all_numbers():
    times = survival.Times(
        *np.array([[-np.inf] * 3, [1, 2, 3], [1, 1, 1], [1] * 3, [0] * 3], float)
    )
    loss, y, w = record(times._replace(stratum=np.zeros(3, int)), True)
    value = mean_loss(loss, y, np.array([0.0, 800.0, 0.0]), w)  # that of the sums 800 + 800 - 800
    assert value == pytest.approx(800.0 / 3.0 + loss.level + np.log(w[0]), rel=1e-14)


def test_no_sum_loses_its_digits_where_large_rows_leave():
    rng = np.random.default_rng(5)
    times = survival.draw(rng, 16, entry=True)
    eta = np.where(rng.random(16) < 0.5, 18.0, -18.0) + rng.standard_normal(16)
    loss, y, w = record(times, True)
    slopes, v = np.empty(16), np.empty(16)
    derivatives(loss, y, eta, w, slopes, v)
    gradient = survival.derivatives(times, eta)[0] / times.event.sum()
    assert slopes == pytest.approx(gradient, rel=1e-9, abs=1e-12)


def by_logarithms(times, eta):
    """(loss, its gradient) of Breslow's ties, every term of a risk set divided by its largest."""
    w, value, slopes = times.weights, 0.0, -times.weights * times.event
    for i in np.flatnonzero(times.event):
        at = (times.stop >= times.stop[i]) & (times.start < times.stop[i])
        at &= times.stratum == times.stratum[i]
        top = eta[at].max()
        share = np.where(at, w * np.exp(np.where(at, eta - top, 0.0)), 0.0)
        value += w[i] * (top - eta[i] + np.log(share.sum()))
        slopes = slopes + w[i] * share / share.sum()
    return value, slopes


@pytest.mark.parametrize("entry", [False, True])
@pytest.mark.parametrize("spread", [250.0, 700.0, 2000.0])
def test_predictors_far_apart_lose_no_digits(spread, entry):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        times = survival.draw(rng, 14, entry=entry, strata=2, weighted=True, tied=False)
        if entry:  # one row enters late, none with a large predictor leaves
            times = times._replace(start=np.where(np.arange(14) == 3, 0.3 * times.stop, -1.0))
        loss, y, w = record(times, efron=False)
        eta = np.where(times.stop == times.stop.min(), spread, 0.0) + rng.normal(size=14)
        slopes, v = np.empty(14), np.empty(14)
        value = derivatives(loss, y, eta, w, slopes, v)
        own, gradient = by_logarithms(times._replace(weights=w), eta)
        events = w @ times.event
        assert value - loss.level == pytest.approx(own / events, rel=1e-12)
        assert slopes == pytest.approx(gradient / events, abs=1e-13)


@pytest.mark.parametrize("eta_of_one", [4e3, -4e3])
def test_rows_that_are_at_risk_at_no_event_do_not_count_however_far_they_are(eta_of_one):
    rng = np.random.default_rng(5)
    times = survival.draw(rng, 14, entry=True, strata=2)
    late = np.flatnonzero(times.stratum == 0)[0]
    last = times.stop[times.event > 0].max()
    times.start[late], times.stop[late], times.event[late] = last + 1.0, last + 3.0, 0.0
    loss, y, w = record(times, efron=True)
    eta = rng.standard_normal(14)
    slopes, v = np.empty(14), np.empty(14)
    value = derivatives(loss, y, eta, w, slopes, v)
    far, of_far = eta.copy(), (np.empty(14), np.empty(14))
    far[late] = eta_of_one
    assert mean_loss(loss, y, far, w) == pytest.approx(value, rel=1e-12)
    assert derivatives(loss, y, far, w, *of_far) == pytest.approx(value, rel=1e-12)
    assert of_far[0] == pytest.approx(slopes, abs=1e-13)
    assert of_far[1] == pytest.approx(v, abs=1e-13)


@pytest.mark.parametrize("seed", range(40))
def test_compared_rows_say_as_much_as_all_pairs_of_risk_sets(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(3, 30)
    stop = rng.integers(2, 12, n).astype(float)
    start = np.floor(rng.uniform(0, 1, n) * (stop - 1)) if seed % 2 else np.empty(0)
    event = (rng.random(n) < 0.5).astype(float)
    event[0] = 1.0
    loss = cox_of(start, stop, event, stratum=rng.integers(0, 3, n) if seed % 3 else None)
    first, second, held = compared_rows(loss)
    reached = np.eye(n, dtype=bool)
    reached[first, second] = True
    reached[second[held], first[held]] = True
    for i in range(n):  # Warshall's transitive closure
        reached |= np.outer(reached[:, i], reached[i])
    asked = np.zeros((n, n), dtype=bool)
    for tied, at in loss.risk_sets():
        asked[np.ix_(tied, at)] = True
    assert reached[asked].all()
    # and no more than these: what is reached is a chain of comparisons that were asked
    assert asked[first, second].all() and asked[second[held], first[held]].all()
    assert held.sum() == sum(tied.size - 1 for tied, _ in loss.risk_sets())
