"""What paths of loss="cox" say of other rows: scores of folds, and hazards."""

import pickle

import numpy as np
import pandas as pd
import pytest
import survival
from cox_samples import drawn, fitted, response

import l0path
from l0path.paths import storage


def test_deviance_of_folds_is_what_held_out_rows_add_to_the_likelihood():
    X, times = drawn(8, n=48)
    y = response(times)
    cv = l0path.cv_fit(X, y, loss="cox", cv=3, max_k=2, random_state=0, lambda2=0)
    for number, (train, test) in enumerate(cv.splits):
        fold = l0path.fit(X[train], y[train], loss="cox", max_k=2)
        for k in range(3):
            eta = X @ fold.coef(k=k, full=True).to_numpy()

            def likelihood(rows, eta=eta):
                few = survival.Times(*(a[rows] for a in times))
                as_many = few.event.sum() * np.log(len(X) / len(rows))  # as weights len(X) / m
                return survival.log_likelihood(few, eta[rows]) - as_many

            both = np.sort(np.concatenate([train, test]))
            expected = 2 * (likelihood(train) - likelihood(both)) / times.event[test].sum()
            assert cv.folds.loc[k, number] == pytest.approx(expected, rel=1e-6)
        assert abs(times.event[test].sum() - times.event.sum() / 3) < 2


def test_the_deviance_has_one_scale(tmp_path):
    """Of the rows of the fit, of new rows, of folds and of files; it was larger by 2 in folds, and
    by the logarithm of the number of rows.
    """
    X, times = drawn(8, n=600)
    y = response(times)
    cv = l0path.cv_fit(X, y, loss="cox", cv=5, max_k=2, random_state=0, lambda2=0)
    path = cv
    fitted = 2 * path.details["loss"].to_numpy()
    events = times.event.sum()
    assert -2 * path.model(k=2).refit().llf / events == pytest.approx(fitted[2], rel=1e-6)
    own = [path.model(k=k).score(X, y)["deviance"] for k in range(3)]
    assert own == pytest.approx(fitted)
    assert path.validate(X, y).scores["cv_mean"].to_numpy() == pytest.approx(fitted)
    assert cv.scores["cv_mean"].to_numpy() == pytest.approx(fitted, abs=0.1)
    few = [path.model(k=k).score(X[:200], y[:200])["deviance"] for k in range(3)]
    assert few == pytest.approx(fitted, abs=0.5)
    twice = path.model(k=2).score(X, y, freq_weight=np.full(600, 2))["deviance"]
    assert twice == pytest.approx(own[2], abs=0.02)  # Efron's ties of two
    path.save(tmp_path / "path")
    loaded = l0path.load(tmp_path / "path").model(k=1).score(X[:200], y[:200])["deviance"]
    assert loaded == pytest.approx(few[1])
    nested = l0path.nested_cv(X, y, loss="cox", outer=2, cv=2, max_k=2, random_state=0)
    assert nested.mean == pytest.approx(fitted[2], abs=0.2)


def test_copies_that_count_as_rows_leave_the_deviance_of_new_rows_alone():
    X, times = drawn(3, n=120)
    y, weights = response(times), np.random.default_rng(1).integers(1, 3, 80)
    one = l0path.fit(X[:80], y[:80], loss="cox", max_k=2, freq_weight=weights)
    rows = np.repeat(np.arange(80), weights)
    other = l0path.fit(X[rows], y[rows], loss="cox", max_k=2)
    found = [path.model(k=2).score(X[80:], y[80:])["deviance"] for path in (one, other)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)


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


def test_paths_summaries_and_tables_name_the_number_of_events(tmp_path):
    """It is the n of the criteria, and was in none of them."""
    X, times = drawn(1)
    events = int(times.event.sum())
    assert 0 < events < len(X)
    path = l0path.fit(X, response(times), loss="cox", max_k=2)
    path.save(tmp_path / "path.npz")
    for one in (path, l0path.load(tmp_path / "path.npz")):
        assert f"n = {len(X)}, {events} events, p = 6" in repr(one)
        assert list(one.compare([1, 2]).loc[("fit", "events")]) == [events] * 2
    assert f"n = {len(X)} rows, {events} events\n" in str(path.model(k=1).summary())
    assert f"| events | {events} | {events} |" in path.compare([1, 2]).to_markdown()
    other = l0path.fit(X, times.stop, max_k=1)
    assert "events" not in repr(other) + str(other.compare([0, 1]))


def test_rows_without_the_column_of_the_strata_are_told_of_it():
    """The message named strata= alone, although the formula takes the column."""
    X, times = drawn(1)
    table = pd.DataFrame(X, columns=list("abcdef")).assign(
        time=times.stop, died=times.event, ward=np.arange(len(X)) % 2
    )
    path = l0path.fit("Surv(time, died) ~ a + b + strata(ward)", table, loss="cox")
    model, bare = path.model(k=1), table.drop(columns="ward")
    assert model.survival(table.head(2)).shape[0] == 2
    for call in (model.survival, model.score):
        with pytest.raises(ValueError, match=r"those that strata\(...\) of a formula names, has"):
            call(bare)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_survival_of_separated_models_beyond_the_range_of_exp(ties, tmp_path):
    """The predictor falls with time by about 40 a row, so that each row alone counts among those at
    risk at its own time: H of row i is the sum over times j <= i of exp(eta_i - eta_j).
    """
    n = 60
    times, X = np.arange(1.0, n + 1), pd.DataFrame({"x": -40.0 * np.arange(n)})
    y = pd.DataFrame({"time": times, "event": 1})
    with pytest.warns(l0path.errors.SeparationWarning):
        path = l0path.fit(X, y, loss=l0path.losses.Cox(ties=ties), max_k=1)
    eta = np.asarray(path.predict(X, k=1, type="link"))
    assert np.ptp(eta) > 1400  # no center serves all rows
    found = path.model(k=1).survival(X).to_numpy()
    logs = np.logaddexp.accumulate(-eta)  # of the hazard of a predictor of 0
    with np.errstate(over="ignore"):
        wanted = np.exp(-np.exp(eta[:, None] + logs))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(np.diag(found), np.exp(-1.0), rtol=1e-6)
    path.save(tmp_path / "path.npz")
    again = l0path.load(tmp_path / "path.npz").model(k=1).survival(X)
    np.testing.assert_array_equal(again, found)


def test_files_of_before_hold_hazards_of_a_center(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)))
    y = pd.DataFrame({"time": rng.exponential(size=40), "event": rng.random(40) < 0.7})
    path = l0path.fit(X, y, loss="cox", max_k=2)

    def before(solutions):
        each, centers = [s.baseline for s in solutions], np.arange(len(solutions)) - 1.0
        logs = np.array([one.log_hazard for one in each])
        return {
            "baseline_times": each[0].times,
            "baseline_block": each[0].block,
            "baseline_center": centers,
            "baseline_hazard": np.exp(logs + centers[:, None]),
        }

    monkeypatch.setattr(storage, "_baselines", before)
    path.save(tmp_path / "path.npz")
    monkeypatch.undo()
    again = l0path.load(tmp_path / "path.npz")
    for k in range(3):
        found, wanted = (one.model(k=k).survival(X.head()) for one in (again, path))
        pd.testing.assert_frame_equal(found, wanted, rtol=1e-12)
