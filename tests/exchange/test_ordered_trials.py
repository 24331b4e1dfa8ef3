"""Exchanges refuted by bounds for ordered classes, against refits; optima that curvatures show."""

import numpy as np
import pandas as pd
import pytest
from class_samples import ordered_drawn

import l0path
from l0path.core.status import FitStatus
from l0path.exchange.decisions import by_thresholds
from l0path.exchange.local_search import LocalSearch
from l0path.exchange.neighborhoods.refit import RefitNeighborhood
from l0path.exchange.ordered.trials import first_below
from l0path.exchange.ranking import Candidates
from l0path.exchange.trials import Exchanges
from l0path.problem.problem import pose
from l0path.problem.recession import ordered_optimum
from l0path.working_set.newton import rows_of
from l0path.working_set.rows import RowModel
from l0path.working_set.several.ordered import clear_optimum

PAIRS = [(-1, 1), (-1, 3), (-1, 5), (-1, 6), (0, -1), (4, -1), (0, 1), (2, 3), (4, 5), (2, 6)]


def instance(seed, lambda2, n=200, K=4):
    """(model, fit of columns 0, 2, 4): column 5 is a copy of column 0, column 6 next to one."""
    X, codes, rng = ordered_drawn(seed, n=n, K=K)
    X = np.column_stack([X, X[:, 0], X[:, 0] + 0.05 * rng.standard_normal(n)])
    classes = pd.Categorical.from_codes(codes, list("abcd")[:K], ordered=True)
    weights = rng.integers(1, 3, n).astype(float)
    path = l0path.fit(
        X, classes, loss="ordinal", max_k=1, lambda2=lambda2, sample_weight=weights, certify=False
    )
    model = RowModel(pose(path._source.data))
    model.grow(np.arange(7))
    return model, model.refit(np.array([0, 2, 4]), 0.0, lambda2)


@pytest.mark.parametrize("lambda2", [0.0, 0.02])
@pytest.mark.parametrize("seed", [0, 3, 6])
def test_no_exchange_that_reaches_the_target_is_refuted(seed, lambda2):
    model, fit = instance(3 * seed, lambda2)
    rows, table, refuted = rows_of(model.problem, model.Z), model.weighted(fit, lambda2), 0
    eta, t = np.empty(model.problem.X.n), np.empty(3)
    for i, j in PAIRS:
        S = np.sort([*fit.support[fit.support != i], *([j] if j >= 0 else [])])
        best = model.refit(S, 0.0, lambda2)
        out = np.array([np.searchsorted(fit.support, i) if i >= 0 else -1])
        one, at, b = Exchanges(out, np.array([j])), model.where[S][None], np.empty(S.size)
        for margin in (1e-7, 0.01, np.inf):
            stopping = model.stopping(best.value * (1.0 + margin), lambda2)
            e, refits, _, value = first_below(rows, table, one, at, stopping, (b, eta, t))
            assert e == 0 and refits == 1 and value == pytest.approx(best.value, rel=1e-9)
            if 5 not in S or 0 not in S:
                np.testing.assert_allclose(b, best.b, atol=1e-5)
        stopping = model.stopping(0.97 * best.value, lambda2)
        e, refits, *_ = first_below(rows, table, one, at, stopping, (b, eta, t))
        refuted += refits == 0
        assert e == -1 or (i, j) == (-1, 5)
    assert refuted >= 6  # of 10: bounds that never refute would pass the other checks


def test_exchanges_that_separate_ordered_classes_are_named():
    for seed in range(3):
        X, codes, _ = ordered_drawn(seed, n=40, K=3)
        X[:, 2] = np.where(codes == 1, np.arange(40) % 3 == 0, 2.0 * (codes == 2))
        classes = pd.Categorical.from_codes(codes, list("abc"), ordered=True)
        path = l0path.fit(X, classes, loss="ordinal", max_k=0, certify=False)
        model = RowModel(pose(path._source.data))
        model.grow(np.arange(5))
        fit = model.refit(np.array([0, 4]), 0.0, 0.0)
        search = RefitNeighborhood(model, 0.0, 0.0, 1.0, LocalSearch(), by_thresholds)
        for pair in ((-1, 2), (0, 2)):
            assert search._first_below(fit, [pair], np.inf).flags == (FitStatus.SEPARATED,)


def test_optima_shown_by_curvatures_have_no_separating_direction():
    shown = []
    for seed in range(6):
        X, codes, rng = ordered_drawn(seed, n=40, K=3)
        X[:, 2] = np.where(codes == 1, np.arange(40) % 3 == 0, 2.0 * (codes == 2))
        classes = pd.Categorical.from_codes(codes, list("abc"), ordered=True)
        path = l0path.fit(X, classes, loss="ordinal", max_k=0, certify=False)
        model = RowModel(pose(path._source.data))
        model.grow(np.arange(5))
        for S in ([0], [0, 1], [2], [0, 2], [0, 1, 3, 4]):
            fit = model.refit(np.array(S), 0.0, 0.0)
            fit = fit._replace(b=fit.b * (1.0 + 1e-9 * rng.standard_normal(fit.b.size)))
            at = model.weighted(fit, 0.0)
            shown.append(clear_optimum(model.problem.y, at))
            assert not (shown[-1] and 2 in S)
            assert ordered_optimum(model.problem, model.Z[S], at.eta) or not shown[-1]
    assert sum(shown) >= 10  # of 18 without the column that separates


def test_swaps_with_columns_outside_the_working_ones():
    whole, fit = instance(3, 0.0)
    model = RowModel(whole.problem)
    model.grow(np.array([0, 2, 3, 4]))
    search = RefitNeighborhood(model, 0.0, 0.0, 1.0, LocalSearch(), by_thresholds)
    out, into = np.repeat([0, 2, 4], 3), np.tile([1, 5, 6], 3)
    swaps = Candidates(np.zeros(9), out, into)
    values = {
        (c.out, c.into): whole.refit(np.sort([*fit.support[fit.support != c.out], c.into]), 0, 0)
        for c in swaps
    }
    lower = [pair for pair, new in values.items() if new.value < fit.value * (1 - 1e-9)]
    assert 0 < len(lower) < len(swaps)
    refuted = np.array([(c.out, c.into) not in lower for c in swaps])
    above = swaps.of(refuted)
    assert search.swap_among(fit, above) is fit and model.width == 4
    new = search.swap_among(fit, swaps.of(np.argsort(~refuted, kind="stable")))
    assert new.value <= values[lower[0]].value * (1 + 1e-9)
    assert model.W.tolist() == [0, 2, 3, 4, lower[0][1]]


def test_a_table_is_extended_by_columns_that_came_later():
    whole, fit = instance(3, 0.02)
    model = RowModel(whole.problem)
    model.grow(np.array([0, 2, 4]))
    model.quadratic(fit, 0.02)
    for column in (6, 1):
        model.grow(np.array([column]))
        for first in (0, 2, model.width - 1, 0):
            expected = whole.exact(fit, 0.02, model.Z[first : model.width])
            for one, other in zip(model.quadratic(fit, 0.02, first), expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
