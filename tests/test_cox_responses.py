"""Forms of survival times that loss="cox" takes, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from cox_samples import drawn, fitted, response

import l0path
from l0path.solvers import IntegralityGeneration, LocalSearch

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
    expected = fitted(X, times, max_k=2).details["loss"].to_numpy()
    path = l0path.fit(X, FORMS[form](times.stop, times.event), loss="cox", max_k=2)
    assert path.details["loss"].to_numpy() == pytest.approx(expected)


def test_starts_and_stops_are_found_by_their_names():
    X, times = drawn(2)
    start = times.stop * np.linspace(0.0, 0.9, 36)
    y = pd.DataFrame({"start": start, "stop": times.stop, "event": times.event})
    path = l0path.fit(X, y, loss="cox", max_k=2)
    for order in (["stop", "start", "event"], ["event", "stop", "start"]):
        other = l0path.fit(X, y[order], loss="cox", max_k=2)
        assert other.details["objective"].tolist() == path.details["objective"].tolist()


def test_formulas():
    X, times = drawn(2, entry=True, strata=2)
    data = pd.DataFrame(X, columns=list("abcdef")).assign(
        start=times.start, stop=times.stop, died=times.event, ward=times.stratum
    )
    path = l0path.fit(
        "Surv(start, stop, died) ~ a + b + c + d", data, loss="cox", strata="ward", max_k=2
    )
    expected = fitted(X[:, :4], times, max_k=2)
    assert path.details["loss"].to_numpy() == pytest.approx(expected.details["loss"].to_numpy())
    risk = path.predict(data.head(3), k=2, type="risk")
    assert np.log(risk).to_numpy() == pytest.approx(path.predict(data.head(3), k=2).to_numpy())


def test_responses_that_say_little_are_noted():
    X, times = drawn(1)
    one = np.column_stack([times.stop, np.arange(36) == 5])
    assert "one event" in l0path.fit(X, one, loss="cox").notes[0]
    assert not l0path.fit(X, one, loss="cox", max_k=0).notes
    tied = l0path.fit(X, np.ones((36, 2)), loss="cox", max_k=1)
    assert "no column raises the partial likelihood" in tied.notes[0]
    assert np.ptp(tied.details["objective"]) < 1e-12


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
    "intercept": ({"fit_intercept": True}, "fit_intercept"),
    "class_weight": ({"class_weight": "balanced"}, "class_weight"),
    "cd": ({"algorithm": "cd"}, "algorithm='swap'"),
    "integrality": ({"algorithm": IntegralityGeneration()}, "algorithm='swap'"),
    "swap_size": ({"algorithm": LocalSearch(swap_size=3)}, "use swap_size=2"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_name_the_argument(what):
    X, times = drawn(1)
    given, match = REFUSED[what]
    arguments = {"loss": "cox", **given}
    with pytest.raises(ValueError, match=match):
        l0path.fit(X, arguments.pop("y", response(times)), **arguments)


def test_times_before_the_start_of_observation_are_refused():
    X, times = drawn(1)
    y = np.column_stack([times.stop, times.event])
    y[5, 0] = 0.0  # as R's Surv takes it
    assert len(l0path.fit(X, y, loss="cox", max_k=2)) == 3
    y[5, 0] = -2.0
    table = pd.DataFrame(X, columns=list("abcdef")).assign(time=y[:, 0], died=y[:, 1])
    message = r"y has 1 negative time, the first at position 5: -2;.*\(start, stop, event\)"
    for call in (
        lambda: l0path.fit(X, y, loss="cox"),
        lambda: l0path.fit("Surv(time, died) ~ a + b", table, loss="cox"),
        lambda: l0path.L0Survival(2).fit(X, y),
        lambda: l0path.cv_fit(X, y, loss="cox"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    # the origin of time is free where rows have starts of their own
    entered = np.column_stack([times.stop - 1.0, times.stop, times.event])
    shifted = entered - [100.0, 100.0, 0.0]
    paths = [l0path.fit(X, one, loss="cox", max_k=2) for one in (entered, shifted)]
    np.testing.assert_allclose(*(path.details["loss"] for path in paths), rtol=1e-12)


def test_a_column_of_x_holds_the_strata(tmp_path):
    X, times = drawn(1)
    ward, y = np.where(times.stratum + np.arange(36) % 2 > 0, "a", "b"), FORMS["array"](*times[1:3])
    table = pd.DataFrame(X, columns=list("abcdef")).assign(ward=ward)
    path = l0path.fit(table, y, loss="cox", strata="ward", max_k=2)
    same = l0path.fit(table.drop(columns="ward"), y, loss="cox", strata=ward, max_k=2)
    pd.testing.assert_frame_equal(path.details, same.details)
    curves = [one.model(k=2).survival(table, times=[1.0], strata="ward") for one in (path, same)]
    pd.testing.assert_frame_equal(*curves)
    path.save(tmp_path / "path.npz")
    for one in (path, l0path.load(tmp_path / "path.npz")):  # the column is remembered
        model, rows = one.model(k=2), table.iloc[::-1]
        found = model.survival(rows, times=[1.0])
        pd.testing.assert_frame_equal(found.iloc[::-1], curves[0])
        asked = same.model(k=2).score(table, y, strata="ward")
        pd.testing.assert_series_equal(model.score(table, y), asked)
        assert model.refit(table, y).params.equals(model.refit(table, y, strata=ward).params)
        assert model.survival(table, strata=ward[::-1]).shape == model.survival(table).shape
        with pytest.raises(ValueError, match="the column that strata= named in the fit"):
            model.survival(table.drop(columns="ward"))
    data = table.assign(time=y[:, 0], died=y[:, 1])
    formula = l0path.fit("Surv(time, died) ~ a + b + c", data, loss="cox", strata="ward")
    known = formula.model(k=1).survival(data, strata="ward")
    pd.testing.assert_frame_equal(formula.model(k=1).survival(data), known)
    assert formula.model(k=1).score(data).notna().all()
    by_name = l0path.cv_fit(table, y, loss="cox", strata="ward", max_k=1, cv=2, random_state=0)
    by_row = l0path.cv_fit(
        table[list("abcdef")], y, loss="cox", strata=ward, max_k=1, cv=2, random_state=0
    )
    pd.testing.assert_frame_equal(by_name.scores, by_row.scores)
    with pytest.raises(
        ValueError, match="strata='wards' names 0 columns of X; pass the name of one"
    ):
        l0path.fit(table, y, loss="cox", strata="wards")
    with pytest.raises(TypeError, match="strata='ward' names a column, and X is a ndarray"):
        l0path.fit(X, y, loss="cox", strata="ward")
    with pytest.raises(ValueError, match="for loss='cox'"):
        l0path.fit(table, times.stop, strata="ward")
