"""loss="cox": paths against enumeration over supports by the definition of the partial likelihood,
against statsmodels, and what is refused.
"""

import pickle
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import survival

import l0path
from l0path.errors import SeparationWarning
from l0path.solvers import IntegralityGeneration, LocalSearch


def drawn(seed, n=36, p=6, **more):
    """(X, Times) with degenerate columns: a copy, an opposite, a constant one, a combination."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 3] = X[:, 0] + 0.4 * rng.standard_normal(n)
    times = survival.draw(rng, n, eta=0.8 * X[:, 0] - 0.8 * X[:, 1], **more)
    if seed % 3 == 0:
        X[:, 4] = 2.0 - 3.0 * X[:, 1]
    if seed % 4 == 0:
        X[:, 5] = 7.0
    if seed % 5 == 0:
        X[:, 2] = X[:, 0] + X[:, 1]
    return X, times


def response(times):
    """y as `fit` takes it."""
    if np.isfinite(times.start).any():
        return np.column_stack([times.start, times.stop, times.event])
    return np.column_stack([times.stop, times.event])


def fitted(X, times, **arguments):
    stratum = times.stratum if times.stratum.max() > 0 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        return l0path.fit(
            X,
            response(times),
            loss="cox",
            strata=stratum,
            sample_weight=None if np.ptp(times.weights) == 0 else times.weights,
            **arguments,
        )


def least(X, times, path, **settings):
    """The enumerated least values of the sizes of a path."""
    return survival.enumerated(X, times, [s.k for s in path.solutions], **settings)


def compare(path, expected):
    """Every size as low as enumerated, and none lower."""
    found = path.table["objective"].to_numpy()
    assert found == pytest.approx(np.array(expected), rel=1e-8, abs=1e-9)
    assert (found >= np.array(expected) * (1 - 1e-10) - 1e-10).all()


CASES = [
    {"seed": 1},
    {"seed": 2, "entry": True},
    {"seed": 3, "strata": 2, "weighted": True},
    {"seed": 4, "entry": True, "strata": 2},
    {"seed": 5, "weighted": True},
    {"seed": 8, "tied": False},
]


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("case", CASES)
def test_every_size_is_as_low_as_enumeration_finds(case, ties):
    X, times = drawn(**case)
    path = fitted(X, times, max_k=3, ties=ties, algorithm=LocalSearch(effort="high"))
    compare(path, least(X, times, path, efron=ties == "efron"))
    assert path.meta.n_eff == (
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
        ties=ties,
        always_include=None if forced is None else [0],
        algorithm=LocalSearch(effort="high"),
        **how,
    )
    Z = survival.standardised(X, times.weights)[0]
    found = [s for s in path.solutions if s.status != "separated"]
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
    Z, labels = survival.standardised(dummies, times.weights)[0], [[0, 1], [2], [3]]
    for s in path.solutions:
        least = least_of_groups(times, Z, labels, s.k)
        assert s.objective == pytest.approx(least, rel=1e-8)
    assert path.cumulative_hazard(data.head(2), k=2).shape[0] == 2
    grid = l0path.fit("Surv(time, died) ~ C(ward) + a + b", data, loss="cox", grid="lambda0")
    values = [least_of_groups(times, Z, labels, k) for k in range(4)]
    for s in grid.solutions:
        best = min(value + k * s.lambda0 for k, value in enumerate(values))
        assert s.objective == pytest.approx(best, rel=1e-8)
    cv = l0path.cv_fit("Surv(time, died) ~ C(ward) + a + b", data, loss="cox", cv=3, max_k=2)
    assert cv.table["cv_mean"].notna().all()
    assert path.summary(k=2).table.index.size > 0 and len(path.alternatives(k=1)) > 0


def test_bounds():
    X, times = drawn(7)
    s = survival.standardised(X, times.weights)[1]
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
    lower = path.table["lower_bound"].to_numpy()
    assert np.isfinite(lower).all() and (lower <= expected + 1e-9).all()
    assert lower[0] == pytest.approx(expected[0])  # the tangent at the null model
    if how["lambda2"] > 1:
        assert (path.table["gap"] < 0.1).all()
    grid = fitted(X, times, grid="lambda0", max_k=3, certify=True, offset=offset, **how)
    for s in grid.solutions:
        best = (expected + s.lambda0 * np.arange(4)).min()
        assert s.lower_bound <= best + 1e-9


def test_bounds_of_coefficients_give_lower_bounds_without_a_ridge():
    X, times = drawn(7)
    s = survival.standardised(X, times.weights)[1]
    path = fitted(X, times, max_k=3, lower=-0.1 / s, upper=0.05 / s, certify=True)
    expected = np.array(least(X, times, path, low=-0.1, high=0.05))
    lower = path.table["lower_bound"].to_numpy()
    assert (lower <= expected + 1e-9).all() and (lower > expected - 0.1).all()
    X = np.random.default_rng(0).standard_normal((len(X), len(X)))  # more columns than events
    plain = fitted(X, times, max_k=1, certify=True)
    assert plain.table["lower_bound"][1:].isna().all()
    assert any("no lower bounds" in note for note in plain.notes)


def test_sparse_columns_are_the_same_model():
    X, times = drawn(1)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = (fitted(A, times, max_k=3) for A in (X, sp.csr_matrix(X)))
    assert sparse.table["loss"].to_numpy() == pytest.approx(dense.table["loss"].to_numpy())
    assert sparse.coef(k=3).to_numpy() == pytest.approx(dense.coef(k=3).to_numpy(), rel=1e-6)


def test_columns_that_no_risk_set_sees_are_never_chosen():
    X, times = drawn(4, strata=3)
    X[:, 2] = np.array([3.0, -1.0, 5.0])[times.stratum]  # constant within each stratum
    early = times.stop < times.stop[times.event > 0].min()
    path = fitted(X, times, max_k=4)
    assert all(2 not in s.support for s in path.solutions)
    assert any("never chosen" in note for note in path.notes)
    assert not early.any() or path.p == 6


def test_a_weight_of_two_is_a_row_twice_with_breslow_ties():
    X, times = drawn(1)
    w = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(X)), w.astype(int))
    one = fitted(X, times._replace(weights=w), max_k=3, ties="breslow")
    other = fitted(X[twice], survival.Times(*(a[twice] for a in times)), max_k=3, ties="breslow")
    for column in ("objective", "deviance_ratio"):
        assert one.table[column].to_numpy() == pytest.approx(other.table[column].to_numpy())
    assert one.meta.n_eff == other.meta.n_eff
    assert one.score_table()["bic"].to_numpy() == pytest.approx(
        other.score_table()["bic"].to_numpy()
    )


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("case", [{"seed": 1}, {"seed": 2, "entry": True, "strata": 2}])
def test_statsmodels_finds_the_same_coefficients_and_likelihood(case, ties):
    from statsmodels.duration.hazard_regression import PHReg

    X, times = drawn(**case)
    path = fitted(X, times, k=[3], ties=ties)
    S = path.support(k=3)
    # its rows are at risk from their start on, at that time too: half a unit later here
    entry = times.start + 0.5 if np.isfinite(times.start).any() else None
    results = PHReg(
        times.stop, X[:, S], status=times.event, entry=entry, strata=times.stratum, ties=ties
    ).fit()
    assert path.coef(k=3).to_numpy() == pytest.approx(results.params, abs=1e-6)
    assert path.score_table()["loglik"].to_numpy()[-1] == pytest.approx(results.llf, abs=1e-6)
    again = path.refit(k=3)
    assert again.params == pytest.approx(results.params, abs=1e-8)
    assert again.selection.startswith("conditional on selection")
    assert again.selection[:11].capitalize() in str(again.summary())


def test_a_monotone_likelihood_is_named_and_passed():
    rng = np.random.default_rng(0)
    X, stop = rng.standard_normal((30, 4)), np.arange(1.0, 31)
    X[:, 2] = np.arange(30) < 6  # only these have events, and before all others
    y = np.column_stack([stop, X[:, 2]])
    with pytest.warns(SeparationWarning, match="make the likelihood monotone by x2"):
        path = l0path.fit(X, y, loss="cox", max_k=2)
    assert path.table["status"].tolist() == ["converged", "separated", "converged"]
    assert "monotone" in path.status
    assert path.support(k=2).tolist() == [0, 1]  # searched without the column
    times = survival.Times(np.full(30, -np.inf), stop, X[:, 2], np.ones(30), np.zeros(30, int))
    shrunk = l0path.fit(X, y, loss="cox", max_k=2, lambda2=1e-2)
    compare(shrunk, least(X, times, shrunk, lambda2=1e-2))


FORMS = {
    "structured": lambda t, e: np.array(
        list(zip(e > 0, t, strict=True)), dtype=[("event", bool), ("time", float)]
    ),
    "frame": lambda t, e: pd.DataFrame({"time": t, "event": e.astype(int)}),
    "event first": lambda t, e: pd.DataFrame({"died": e > 0, "time": t}),
    "named": lambda t, e: pd.DataFrame({"Status": e.astype(int), "time": t}),
    "array": lambda t, e: np.column_stack([t, e]),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_response(form):
    X, times = drawn(1)
    expected = fitted(X, times, max_k=2).table["loss"].to_numpy()
    path = l0path.fit(X, FORMS[form](times.stop, times.event), loss="cox", max_k=2)
    assert path.table["loss"].to_numpy() == pytest.approx(expected)


def test_starts_and_stops_are_found_by_their_names():
    X, times = drawn(2)
    start = times.stop * np.linspace(0.0, 0.9, 36)
    y = pd.DataFrame({"start": start, "stop": times.stop, "event": times.event})
    path = l0path.fit(X, y, loss="cox", max_k=2)
    for order in (["stop", "start", "event"], ["event", "stop", "start"]):
        other = l0path.fit(X, y[order], loss="cox", max_k=2)
        assert other.table["objective"].tolist() == path.table["objective"].tolist()


def test_formulas():
    X, times = drawn(2, entry=True, strata=2)
    data = pd.DataFrame(X, columns=list("abcdef")).assign(
        start=times.start, stop=times.stop, died=times.event, ward=times.stratum
    )
    path = l0path.fit(
        "Surv(start, stop, died) ~ a + b + c + d", data, loss="cox", strata="ward", max_k=2
    )
    expected = fitted(X[:, :4], times, max_k=2)
    assert path.table["loss"].to_numpy() == pytest.approx(expected.table["loss"].to_numpy())
    risk = path.predict(data.head(3), k=2, type="risk")
    assert np.log(risk).to_numpy() == pytest.approx(path.predict(data.head(3), k=2).to_numpy())


def test_responses_that_say_little_are_noted():
    X, times = drawn(1)
    one = np.column_stack([times.stop, np.arange(36) == 5])
    assert "one event" in l0path.fit(X, one, loss="cox").notes[0]
    assert not l0path.fit(X, one, loss="cox", max_k=0).notes
    tied = l0path.fit(X, np.ones((36, 2)), loss="cox", max_k=1)
    assert "no column raises the partial likelihood" in tied.notes[0]
    assert np.ptp(tied.table["objective"]) < 1e-12


REFUSED = {
    "events": ({"y": np.column_stack([np.arange(1.0, 37), np.arange(36) % 2 + 1])}, "0 or 1"),
    "no event": ({"y": np.column_stack([np.arange(1.0, 37), np.zeros(36)])}, "no event"),
    "order": ({"y": np.column_stack([np.full(36, 2.0), np.ones(36), np.ones(36)])}, "start"),
    "shape": ({"y": np.ones(36)}, "times and events"),
    "missing": ({"y": np.column_stack([np.full(36, np.nan), np.ones(36)])}, "finite"),
    "timedelta": (
        {"y": pd.DataFrame({"t": pd.to_timedelta(np.arange(36), unit="D"), "d": 1})},
        r"times are numbers; pass days, say: time / pd.Timedelta\(days=1\)",
    ),
    "dates": (
        {"y": pd.DataFrame({"t": pd.date_range("2020-01-01", periods=36), "d": 1})},
        r"\(date - first_date\) / pd.Timedelta",
    ),
    "strata": ({"strata": np.zeros(3)}, "strata"),
    "ties": ({"ties": "exact"}, "ties"),
    "intercept": ({"fit_intercept": True}, "fit_intercept"),
    "class_weight": ({"class_weight": "balanced"}, "class_weight"),
    "scale": ({"lambda_scale": "l0learn"}, "lambda_scale"),
    "cd": ({"algorithm": "cd"}, "algorithm='swap'"),
    "exact": ({"algorithm": "exact", "lambda1": 0.1}, "lambda1.*algorithm='swap'"),
    "exact in a box": ({"algorithm": "exact", "lower": -1.0}, "bounds.*algorithm='swap'"),
    "integrality": ({"algorithm": IntegralityGeneration()}, "algorithm='swap'"),
    "swap_size": ({"algorithm": LocalSearch(swap_size=2)}, "swap_size=1"),
    "other loss": ({"loss": "squared", "y": np.arange(36.0), "ties": "breslow"}, "ties"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_name_the_argument(what):
    X, times = drawn(1)
    given, match = REFUSED[what]
    arguments = {"loss": "cox", **given}
    with pytest.raises(ValueError, match=match):
        l0path.fit(X, arguments.pop("y", response(times)), **arguments)


def test_deviance_of_folds_is_what_held_out_rows_add_to_the_likelihood():
    X, times = drawn(8, n=48)
    y = response(times)
    cv = l0path.cv_fit(X, y, loss="cox", cv=3, max_k=2, random_state=0)
    for number, (train, test) in enumerate(cv.splits):
        fold = l0path.fit(X[train], y[train], loss="cox", max_k=2)
        for k in range(3):
            eta = X @ fold.coef(k=k, full=True).to_numpy()

            def likelihood(rows, eta=eta):
                few = survival.Times(*(a[rows] for a in times))
                return survival.log_likelihood(few, eta[rows])

            both = np.sort(np.concatenate([train, test]))
            expected = 2 * (likelihood(train) - likelihood(both)) / times.event[test].sum()
            assert cv.folds.loc[k, number] == pytest.approx(expected, rel=1e-6)
        assert abs(times.event[test].sum() - times.event.sum() / 3) < 2


def test_concordance_of_folds_counts_pairs():
    X, times = drawn(2, n=48, entry=True)
    cv = l0path.cv_fit(
        X, response(times), loss="cox", cv=3, max_k=2, random_state=0, scoring="concordance"
    )
    eta, (_, test) = cv.held_out(k=2), cv.splits[0]
    right = total = 0.0
    for i in test:
        for j in test:
            at_risk = times.start[j] < times.stop[i]
            after = times.stop[j] > times.stop[i] or (
                times.stop[j] == times.stop[i] and not times.event[j]
            )
            if times.event[i] and at_risk and after:
                total += 1
                right += (eta[i] > eta[j]) + 0.5 * (eta[i] == eta[j])
    assert cv.folds.loc[2, 0] == pytest.approx(right / total)
    assert cv.greater_is_better


def test_folds_without_events_are_refused():
    X, times = drawn(1)
    late = np.where(np.arange(len(X)) < 18, times.event, 0.0)
    y, folds = np.column_stack([times.stop, late]), np.arange(len(X)) // 18
    with pytest.raises(ValueError, match="have no event; use fewer folds"):
        l0path.cv_fit(X, y, loss="cox", cv=folds, max_k=1)
    few = int(late.sum())
    with pytest.raises(ValueError, match=f"cv={few + 1} folds need at least as many events"):
        l0path.cv_fit(X, y, loss="cox", cv=few + 1, max_k=1)
    with pytest.raises(ValueError, match="one of 'deviance', 'concordance'"):
        l0path.cv_fit(X, response(times), loss="cox", scoring="mse")


def test_hazards_are_those_of_breslow():
    X, times = drawn(2, entry=True, weighted=True)
    path = fitted(X, times, max_k=2)
    eta, at = X @ path.coef(k=2, full=True).to_numpy(), np.unique(times.stop[times.event > 0])
    u, w = times.weights * np.exp(eta), times.weights
    steps = [
        w[(times.stop == t) & (times.event > 0)].sum()
        / u[(times.start < t) & (times.stop >= t)].sum()
        for t in at
    ]
    expected = np.exp(eta[:4])[:, None] * np.cumsum(steps)
    found = path.cumulative_hazard(X[:4], k=2)
    assert found.columns.to_numpy() == pytest.approx(at)
    assert found.to_numpy() == pytest.approx(expected)
    between = path.survival(X[:4], k=2, times=[at[0] - 0.5, at[1] + 0.5])
    assert between.to_numpy() == pytest.approx(np.exp(-np.c_[0 * eta[:4], expected[:, 1]]))
    with pytest.raises(ValueError, match="loss='cox'"):
        l0path.fit(X, times.stop, max_k=1).survival(X, k=1)


def test_hazards_of_strata_and_of_stored_paths(tmp_path):
    X, times = drawn(3, strata=2, weighted=True)
    labels = np.array(["b", "a"])[times.stratum]
    path = l0path.fit(
        X, response(times), loss="cox", strata=labels, sample_weight=times.weights, max_k=2
    )
    eta = X @ path.coef(k=2, full=True).to_numpy()
    u, w = times.weights * np.exp(eta), times.weights
    at, expected = np.unique(times.stop[times.event > 0]), np.zeros((len(X), 0))
    for t in at:
        step = np.zeros(len(X))
        for s in (0, 1):
            mine = times.stratum == s
            dead = w[mine & (times.stop == t) & (times.event > 0)].sum()
            step[mine] = dead / u[mine & (times.stop >= t)].sum() if dead else 0.0
        expected = np.column_stack([expected, step])
    expected = np.exp(eta)[:, None] * np.cumsum(expected, axis=1)
    path.save(tmp_path / "path.npz")
    for one in (path, l0path.load(tmp_path / "path.npz"), pickle.loads(pickle.dumps(path))):
        found = one.cumulative_hazard(X, k=2, strata=labels)
        assert found.columns.to_numpy() == pytest.approx(at)
        assert found.to_numpy() == pytest.approx(expected)
    frame = pd.DataFrame(X, columns=path.names).assign(ward=labels)
    assert path.cumulative_hazard(frame, k=2, strata="ward").to_numpy() == pytest.approx(expected)
    with pytest.raises(ValueError, match="pass strata=, one label for each row of X, of 'a', 'b'"):
        path.survival(X, k=2)
    with pytest.raises(ValueError, match="strata holds 'c', which is no stratum of the fit"):
        path.survival(X[:1], k=2, strata=["c"])
    with pytest.raises(ValueError, match="had no strata; leave strata out"):
        l0path.fit(X, response(times), loss="cox", max_k=1).survival(X, k=1, strata=labels)


def test_a_stratum_without_rows_of_positive_weight_has_no_hazard():
    X, times = drawn(1)
    weights = np.where(times.stratum + np.arange(len(X)) % 3 == 2, 0.0, 1.0)
    path = l0path.fit(
        X,
        response(times),
        loss="cox",
        strata=np.arange(len(X)) % 3,
        sample_weight=weights,
        max_k=1,
    )
    hazards = path.cumulative_hazard(X[:3], k=1, strata=[0, 1, 2]).to_numpy()
    assert not hazards[2].any() and (hazards[:2, -1] > 0).all()


def test_columns_are_not_seen_where_every_event_is_alone_at_risk():
    """The slopes are rounding then, and say nothing of columns."""
    X, time = np.random.default_rng(90031).normal(size=(12, 3)), np.arange(1.0, 13.0)
    for last, strata in ((time == 12, None), (time > 10, np.where(time == 11, "a", "b"))):
        y = np.column_stack([time, last])
        path = l0path.fit(
            X, y, loss="cox", strata=strata, always_include=[1], max_k=2, offset=50 * X[:, 0]
        )
        assert len(path) == 1 and path.table.n_nonzero[0] == 0
        assert path.notes[0] == "3 columns constant in every risk set, never chosen: x0, x1, x2"
