"""loss="cox": paths against enumeration over supports by the definition of the partial likelihood,
and against statsmodels.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import survival
from cox_samples import CASES, compare, drawn, fitted, least
from scipy.special import logsumexp
from thinning import thinned

import l0path
from l0path.errors import SeparationWarning
from l0path.problem.coupled.cox import cox_of
from l0path.problem.verbs import derivatives, mean_loss
from l0path.solvers import LocalSearch


@pytest.mark.parametrize(("case", "ties"), thinned(2, CASES, ("efron", "breslow")))
def test_every_size_is_as_low_as_enumeration_finds(case, ties):
    X, times = drawn(**case)
    path = fitted(
        X, times, max_k=3, loss=l0path.losses.Cox(ties=ties), algorithm=LocalSearch(effort="high")
    )
    compare(path, least(X, times, path, efron=ties == "efron"))
    assert path._meta.n_eff == (
        times.event.sum()
        if np.array_equal(times.weights, np.round(times.weights))
        else (times.event > 0).sum()
    )


@pytest.mark.parametrize(
    "shrinkage", [{"lambda2": 0.05}, {"lambda1": 0.03}, {"lambda1": 0.02, "lambda2": 0.02}]
)
def test_shrinkage_offset_and_forced_columns(shrinkage):
    X, times = drawn(6, weighted=True)
    offset = np.random.default_rng(0).standard_normal(len(X))
    path = fitted(X, times, max_k=2, offset=offset, always_include=[2], **shrinkage)
    compare(path, least(X, times, path, offset=offset, forced=(2,), **shrinkage))


def least_of_groups(times, Z, labels, size, forced=None, **settings):
    """The least value over all sets of so many groups, beside a forced one."""
    free = [g for g in range(len(labels)) if g != forced]
    sets = [(*S, *(() if forced is None else (forced,))) for S in combinations(free, size)]
    unions = [sorted({j for g in S for j in labels[g]}) for S in sets]
    offset = np.zeros(len(Z))
    return min(
        survival.minimum(survival.Problem(Z[:, J], times, offset, **settings))[0] for J in unions
    )


@pytest.mark.parametrize(
    "seed", [3, 4, 5, 7, *(pytest.param(s, marks=pytest.mark.slow) for s in range(8, 114))]
)
def test_groups_are_as_low_as_enumeration_finds(seed):
    X, times = drawn(
        seed,
        p=7,
        entry=seed % 2 == 1,
        strata=2 if seed % 3 == 0 else 1,
        weighted=seed % 4 == 0,
    )
    overlap = seed % 5 == 0
    labels = [[0, 1], [1, 2], [3, 4], [4, 5, 6]] if overlap else [[0, 1], [2, 3], [4], [5, 6]]
    forced = 0 if seed % 7 == 0 and not overlap else None
    how = {"lambda2": (0.02, 0.0, 0.1)[seed % 3], "lambda1": (0, 0, 0.01, 0)[seed % 4]}
    ties = ("efron", "breslow")[seed % 2]
    path = fitted(
        X,
        times,
        groups=labels,
        max_k=3,
        loss=l0path.losses.Cox(ties=ties),
        always_include=None if forced is None else [0],
        algorithm=LocalSearch(effort="high"),
        **how,
    )
    Z = survival.standardized(X, times.weights)[0]
    found = [s for s in path._solutions if s.status != "separated"]
    assert found
    for s in found:
        least = least_of_groups(times, Z, labels, s.k, forced, efron=ties == "efron", **how)
        assert s.objective == pytest.approx(least, rel=1e-8, abs=1e-9)
        assert s.objective >= least * (1 - 1e-10) - 1e-10


def test_a_factor_of_a_formula_is_one_group():
    X, times = drawn(1)
    data = pd.DataFrame(X, columns=list("abcdef")).assign(
        time=times.stop, died=times.event, ward=np.array(list("xyzx"))[np.arange(len(X)) % 4]
    )
    path = l0path.fit("Surv(time, died) ~ C(ward) + a + b", data, loss="cox", max_k=2)
    dummies = np.column_stack([data["ward"] == "y", data["ward"] == "z", X[:, :2]]).astype(float)
    Z, labels = survival.standardized(dummies, times.weights)[0], [[0, 1], [2], [3]]
    for s in path._solutions:
        least = least_of_groups(times, Z, labels, s.k)
        assert s.objective == pytest.approx(least, rel=1e-8)
    assert path.model(k=2).survival(data.head(2), type="cumulative_hazard").shape[0] == 2
    grid = l0path.fit("Surv(time, died) ~ C(ward) + a + b", data, loss="cox", lambda0="grid")
    values = [least_of_groups(times, Z, labels, k) for k in range(4)]
    for s in grid._solutions:
        best = min(value + k * s.lambda0 for k, value in enumerate(values))
        assert s.objective == pytest.approx(best, rel=1e-8)
    cv = l0path.cv_fit("Surv(time, died) ~ C(ward) + a + b", data, loss="cox", cv=3, max_k=2)
    assert cv.scores["cv_mean"].notna().all()
    assert (
        path.model(k=2).summary().table.index.size > 0 and len(path.model(k=1).alternatives()) > 0
    )


def test_bounds():
    X, times = drawn(7)
    s = survival.standardized(X, times.weights)[1]
    path = fitted(X, times, max_k=3, lower=-0.3 / s, upper=0.2 / s)
    compare(path, least(X, times, path, low=-0.3, high=0.2))


@pytest.mark.parametrize(
    "seed", [2, 4, *(pytest.param(s, marks=pytest.mark.slow) for s in range(8, 108))]
)
def test_lower_bounds_are_never_above_the_enumerated_optimum(seed):
    X, times = drawn(
        seed,
        entry=seed % 2 == 1,
        strata=2 if seed % 3 == 0 else 1,
        weighted=seed % 4 == 0,
    )
    offset = np.random.default_rng(seed).standard_normal(len(X)) if seed % 2 else None
    how = {"lambda2": (0.05, 0.5, 3.0)[seed % 3], "lambda1": (0.0, 0.01)[seed % 2]}
    path = fitted(X, times, max_k=3, certify=True, offset=offset, **how)
    expected = np.array(least(X, times, path, offset=offset, **how))
    lower = path.details["lower_bound"].to_numpy()
    assert np.isfinite(lower).all() and (lower <= expected + 1e-9).all()
    assert lower[0] == pytest.approx(expected[0])  # the tangent at the null model
    if how["lambda2"] > 1:
        assert (path.details["gap"] < 0.1).all()
    grid = fitted(X, times, lambda0="grid", max_k=3, certify=True, offset=offset, **how)
    for s in grid._solutions:
        best = (expected + s.lambda0 * np.arange(4)).min()
        assert s.lower_bound <= best + 1e-9


def test_bounds_of_coefficients_give_lower_bounds_without_a_ridge():
    X, times = drawn(7)
    s = survival.standardized(X, times.weights)[1]
    path = fitted(X, times, max_k=3, lower=-0.1 / s, upper=0.05 / s, certify=True)
    expected = np.array(least(X, times, path, low=-0.1, high=0.05))
    lower = path.details["lower_bound"].to_numpy()
    assert (lower <= expected + 1e-9).all() and (lower > expected - 0.1).all()
    X = np.random.default_rng(0).standard_normal((len(X), len(X)))  # more columns than events
    plain = fitted(X, times, max_k=2, certify=True)
    assert plain.details["lower_bound"][2:].isna().all()
    assert any("no lower bounds" in note for note in plain.notes)


def test_sparse_columns_are_the_same_model():
    X, times = drawn(1)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = (fitted(A, times, max_k=3) for A in (X, sp.csr_matrix(X)))
    assert sparse.details["loss"].to_numpy() == pytest.approx(dense.details["loss"].to_numpy())
    assert sparse.coef(k=3).to_numpy() == pytest.approx(dense.coef(k=3).to_numpy(), rel=1e-6)


def test_columns_that_no_risk_set_sees_are_never_chosen():
    X, times = drawn(4, strata=3)
    X[:, 2] = np.array([3.0, -1.0, 5.0])[times.stratum]  # constant within each stratum
    early = times.stop < times.stop[times.event > 0].min()
    path = fitted(X, times, max_k=4)
    assert all(2 not in s.support for s in path._solutions)
    assert any("never chosen" in note for note in path.notes)
    assert not early.any() or path.p == 6


def test_a_weight_of_two_is_a_row_twice_with_breslow_ties():
    X, times = drawn(1)
    w = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(X)), w.astype(int))
    one = fitted(X, times._replace(weights=w), max_k=3, loss=l0path.losses.Cox(ties="breslow"))
    other = fitted(
        X[twice],
        survival.Times(*(a[twice] for a in times)),
        max_k=3,
        loss=l0path.losses.Cox(ties="breslow"),
    )
    for column in ("objective", "deviance_ratio"):
        assert one.details[column].to_numpy() == pytest.approx(other.details[column].to_numpy())
    assert one._meta.n_eff == other._meta.n_eff
    assert one.score_table()["bic"].to_numpy() == pytest.approx(
        other.score_table()["bic"].to_numpy()
    )


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("case", [{"seed": 1}, {"seed": 2, "entry": True, "strata": 2}])
def test_statsmodels_finds_the_same_coefficients_and_likelihood(case, ties):
    from statsmodels.duration.hazard_regression import PHReg

    X, times = drawn(**case)
    path = fitted(X, times, k=[3], loss=l0path.losses.Cox(ties=ties))
    S = path.support(k=3)
    # its rows are at risk from their start on, at that time too: half a unit later here
    entry = times.start + 0.5 if np.isfinite(times.start).any() else None
    results = PHReg(
        times.stop, X[:, S], status=times.event, entry=entry, strata=times.stratum, ties=ties
    ).fit()
    assert path.coef(k=3).to_numpy() == pytest.approx(results.params, abs=1e-6)
    assert path.score_table()["loglik"].to_numpy()[-1] == pytest.approx(results.llf, abs=1e-6)
    again = path.model(k=3).refit()
    assert again.params.to_numpy() == pytest.approx(results.params, abs=1e-8)
    assert list(again.params.index) == path.model(k=3).features
    assert again.selection.startswith("conditional on selection")
    assert again.selection[:11].capitalize() in str(again.summary())


def test_a_monotone_likelihood_is_named_and_passed():
    rng = np.random.default_rng(0)
    X, stop = rng.standard_normal((30, 4)), np.arange(1.0, 31)
    X[:, 2] = np.arange(30) < 6  # only these have events, and before all others
    y = np.column_stack([stop, X[:, 2]])
    with pytest.warns(SeparationWarning, match="make the likelihood monotone by x2"):
        path = l0path.fit(X, y, loss="cox", max_k=2)
    assert path.details["status"].tolist() == ["converged", "separated", "separated"]
    assert "monotone" in path.status
    assert 2 in path.support(k=2)
    times = survival.Times(np.full(30, -np.inf), stop, X[:, 2], np.ones(30), np.zeros(30, int))
    shrunk = l0path.fit(X, y, loss="cox", max_k=2, lambda2=1e-2)
    compare(shrunk, least(X, times, shrunk, lambda2=1e-2))


def test_columns_are_not_seen_where_every_event_is_alone_at_risk():
    """The slopes are rounding then, and say nothing of columns."""
    X, time = np.random.default_rng(90031).normal(size=(12, 3)), np.arange(1.0, 13.0)
    for last, strata in ((time == 12, None), (time > 10, np.where(time == 11, "a", "b"))):
        y = np.column_stack([time, last])
        path = l0path.fit(
            X, y, loss="cox", strata=strata, always_include=[1], max_k=2, offset=50 * X[:, 0]
        )
        assert len(path) == 1 and path.details.n_features[0] == 0
        assert path.notes[0] == "3 features constant in every risk set, never chosen: x0, x1, x2"


@pytest.mark.parametrize("seed", range(40))
def test_sums_over_risk_sets_hold_predictors_that_are_far_apart(seed):
    """Rows enter late, so that one far above the others may be at risk at a few times only."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 25))
    stop = rng.integers(1, n + 1, n) + 1.0
    start = (stop - rng.integers(1, n + 1, n) * rng.random(n)) * (seed % 4 > 0)
    stratum, event = rng.integers(0, 1 + seed % 2, n), rng.random(n) < 0.7
    event[0] = True
    eta, w = rng.normal(size=n) * 10.0 ** rng.uniform(0, 4), rng.uniform(0.5, 2.0, n) / n
    loss = cox_of(start, stop, event.astype(float), stratum=stratum, efron=False, level=0.0)
    value, slope, curvature = 0.0, np.zeros(n), np.zeros(n)
    for i in np.flatnonzero(event):
        at = (stratum == stratum[i]) & (stop >= stop[i]) & (start < stop[i])
        top = logsumexp(eta[at] + np.log(w[at]))
        share = np.where(at, w * np.exp(np.where(at, eta - top, -np.inf)), 0.0)
        value += w[i] * (top - eta[i])
        slope += w[i] * (share - (np.arange(n) == i))
        curvature += w[i] * share
    total, found = w[event].sum(), np.empty((2, n))
    assert mean_loss(loss, event.astype(float), eta, w) == pytest.approx(value / total, rel=1e-12)
    derivatives(loss, event.astype(float), eta, w, *found)
    assert found == pytest.approx(np.array([slope, curvature]) / total, rel=1e-9, abs=1e-13)
