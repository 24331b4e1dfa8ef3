"""What paths of loss="cox" say of other rows: scores of folds, and hazards."""

import pickle

import numpy as np
import pandas as pd
import pytest
import survival
from cox_samples import drawn, fitted, response

import l0path


def test_deviance_of_folds_is_what_held_out_rows_add_to_the_likelihood():
    X, times = drawn(8, n=48)
    y = response(times)
    cv = l0path.cv_fit(X, y, loss="cox", cv=3, max_k=2, random_state=0)
    for number, (train, test) in enumerate(cv._splits):
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
    eta, (_, test) = cv.held_out(k=2), cv._splits[0]
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
    assert cv._greater


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


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_hazards_are_those_of_the_ties(ties):
    X, times = drawn(2, entry=True, weighted=True)
    path = fitted(X, times, max_k=2, loss=l0path.losses.Cox(ties=ties))
    eta, at = X @ path.coef(k=2, full=True).to_numpy(), np.unique(times.stop[times.event > 0])
    steps = [survival.hazard_step(times, eta, t, ties == "efron") for t in at]
    expected = np.exp(eta[:4])[:, None] * np.cumsum(steps)
    found = path.model(k=2).survival(X[:4], type="cumulative_hazard")
    assert found.columns.to_numpy() == pytest.approx(at)
    assert found.to_numpy() == pytest.approx(expected)
    between = path.model(k=2).survival(X[:4], times=[at[0] - 0.5, at[1] + 0.5])
    assert between.to_numpy() == pytest.approx(np.exp(-np.c_[0 * eta[:4], expected[:, 1]]))
    with pytest.raises(ValueError, match="loss='cox'"):
        l0path.fit(X, times.stop, max_k=1).model(k=1).survival(X)


def test_hazards_of_strata_and_of_stored_paths(tmp_path):
    X, times = drawn(3, strata=2, weighted=True)
    labels = np.array(["b", "a"])[times.stratum]
    path = l0path.fit(
        X, response(times), loss="cox", strata=labels, sample_weight=times.weights, max_k=2
    )
    eta = X @ path.coef(k=2, full=True).to_numpy()
    at, expected = np.unique(times.stop[times.event > 0]), np.zeros((len(X), 0))
    for t in at:
        step = np.zeros(len(X))
        for s in (0, 1):
            mine = times.stratum == s
            part = survival.Times(*(values[mine] for values in times))
            step[mine] = survival.hazard_step(part, eta[mine], t)
        expected = np.column_stack([expected, step])
    expected = np.exp(eta)[:, None] * np.cumsum(expected, axis=1)
    path.save(tmp_path / "path.npz")
    for one in (path, l0path.load(tmp_path / "path.npz"), pickle.loads(pickle.dumps(path))):
        found = one.model(k=2).survival(X, strata=labels, type="cumulative_hazard")
        assert found.columns.to_numpy() == pytest.approx(at)
        assert found.to_numpy() == pytest.approx(expected)
    frame = pd.DataFrame(X, columns=path.names).assign(ward=labels)
    assert path.model(k=2).survival(
        frame, strata="ward", type="cumulative_hazard"
    ).to_numpy() == pytest.approx(expected)
    with pytest.raises(ValueError, match="pass strata=, one label for each row of X, of 'a', 'b'"):
        path.model(k=2).survival(X)
    with pytest.raises(ValueError, match="strata holds 'c', which is no stratum of the fit"):
        path.model(k=2).survival(X[:1], strata=["c"])
    with pytest.raises(ValueError, match="had no strata; leave strata out"):
        l0path.fit(X, response(times), loss="cox", max_k=1).model(k=1).survival(X, strata=labels)


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
    hazards = path.model(k=1).survival(X[:3], strata=[0, 1, 2], type="cumulative_hazard").to_numpy()
    assert not hazards[2].any() and (hazards[:2, -1] > 0).all()
