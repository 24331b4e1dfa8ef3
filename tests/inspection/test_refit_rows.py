"""Which rows a refit is about: rows of the fit are recognized and counted, all rows that are
complete in the columns of a model are taken where that is asked for, and clusters have names.
"""

import numpy as np
import pandas as pd
import pytest
import survival
from lazy import lazy

import l0path

smf = lazy("statsmodels.formula.api")


def table(n=60, seed=1):
    """Numbers, a factor with few levels, responses of several kinds, clusters."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    eta = X["a"] - 0.8 * X["b"]
    X["real"] = eta + rng.standard_normal(n)
    X["count"] = rng.poisson(np.exp(0.5 * eta))
    X["sick"] = np.where(eta + rng.logistic(size=n) > 0, "yes", "no")
    X["grade"] = pd.cut(eta + rng.logistic(size=n), [-np.inf, -1, 1, np.inf], labels=[1, 2, 3])
    X["grade"] = X["grade"].astype(int)
    X["ward"] = rng.choice(["n", "s", "w", "e", "m"], n)
    return X


RESPONSES = {
    "squared": "real",
    "logistic": "sick",
    "poisson": "count",
    "ordinal": "grade",
    "quantile": "real",
    "huber": "real",
}


@pytest.mark.parametrize("loss", RESPONSES)
def test_rows_of_the_fit_are_recognized_and_counted(loss):
    frame = table()
    X, y = frame[list("abcd")], frame[RESPONSES[loss]]
    path = l0path.fit(X.iloc[:40], y.iloc[:40], loss=loss, max_k=2)
    for part, many in ((slice(0, 39), "39"), (slice(10, 50), "30"), (slice(39, 60), "1")):
        said = path.model(k=2).refit(X=X.iloc[part], y=y.iloc[part]).selection
        rows = part.stop - part.start
        known = f"these {rows} rows" if int(many) == rows else f"{many} of these {rows} rows"
        assert said.startswith(f"conditional on selection: {known} also chose the 2 of 4 features")
    said = path.model(k=2).refit(X=X.iloc[40:], y=y.iloc[40:]).selection
    assert said.startswith("held-out rows: 20 rows given to refit, none of which")
    whole = path.model(k=2).refit(X=X.iloc[:40], y=y.iloc[:40]).selection
    assert whole.startswith("conditional on selection: these 40 rows also chose")


def test_labels_tell_rows_of_equal_values_apart_and_values_tell_rows_without_labels():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 2, (80, 3)), columns=list("abc"))
    y = pd.Series(X["a"] + rng.integers(0, 2, 80))
    order = rng.permutation(80)
    train, test = order[:50], order[50:]
    path = l0path.fit(X.iloc[train], y.iloc[train], max_k=2)
    said = path.model(k=1).refit(X=X.iloc[test], y=y.iloc[test]).selection
    assert said.startswith("held-out rows")  # though the values of each of them were seen
    mixed = np.concatenate([test, train[:7]])
    said = path.model(k=1).refit(X=X.iloc[mixed], y=y.iloc[mixed]).selection
    assert said.startswith("conditional on selection: 7 of these 37 rows")
    frame = table()
    X, y = frame[list("abcd")], frame["real"]
    path = l0path.fit(X.iloc[:40], y.iloc[:40], max_k=2)
    moved = X.iloc[25:55].reset_index(drop=True), y.iloc[25:55].reset_index(drop=True)
    for A, b in (moved, (moved[0].to_numpy(), moved[1].to_numpy())):
        assert "15 of these 30 rows" in path.model(k=2).refit(X=A, y=b).selection
    twice = np.r_[0:5, 0:5]  # a row of the fit is one row
    said = path.model(k=1).refit(X=X.to_numpy()[twice], y=y.to_numpy()[twice]).selection
    assert "5 of these 10 rows" in said


def test_rows_of_weight_0_have_no_part_and_loaded_paths_do_not_know(tmp_path):
    frame = table()
    X, y = frame[list("abcd")], frame["real"]
    path = l0path.fit(X, y, sample_weight=np.r_[np.ones(40), np.zeros(20)], max_k=2)
    assert path.model(k=2).refit(X=X.iloc[40:], y=y.iloc[40:]).selection.startswith("held-out rows")
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    said = loaded.model(k=2).refit(X=X.iloc[:30], y=y.iloc[:30]).selection
    assert said.startswith("30 rows given to refit: the rows of the fit are not kept")


def test_rows_of_survival_times_are_recognized():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 4))
    times = survival.draw(rng, 60, eta=X[:, 0])
    y = np.column_stack([times.stop, times.event])
    path = l0path.fit(X[:40], y[:40], loss="cox", max_k=2)
    for cov_type in (None, "robust"):
        said = path.model(k=1).refit(X=X[30:], y=y[30:], cov_type=cov_type).selection
        assert said.startswith("conditional on selection: 10 of these 30 rows")


def incomplete():
    frame = table(90)
    rng = np.random.default_rng(7)
    for name in "cd":
        frame.loc[rng.choice(90, 20, replace=False), name] = np.nan
    frame.loc[[3, 4], "a"] = np.nan
    frame["f"] = rng.choice(["x", "y", "z"], 90)
    return frame


@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_that_are_complete_in_the_columns_of_a_model(weighted):
    frame = incomplete()
    frame["w"] = np.random.default_rng(0).uniform(0.5, 2.0, 90)
    more = {"sample_weight": "w"} if weighted else {}
    path = l0path.fit("real ~ a + b + c + d", frame, max_k=2, **more)
    assert path.model(k=2).features == ["a", "b"]
    results = path.model(k=2).refit(rows="all")
    kept = frame[["real", "a", "b"]].notna().all(axis=1)
    assert results.nobs == kept.sum() == 88 > path.n
    own = (smf.wls if weighted else smf.ols)(
        "real ~ a + b", frame[kept], **({"weights": frame["w"][kept]} if weighted else {})
    ).fit()
    np.testing.assert_allclose(results.params, own.params)
    np.testing.assert_allclose(results.bse, own.bse)
    assert results.selection.startswith(
        f"all rows: 88 rows are complete in the features of the model, and {path.n} of them also "
        "chose the 2 of 4 features"
    )
    assert "criteria of this refit do not compare" in str(results.summary()).replace("\n", " ")
    pd.testing.assert_index_equal(results.resid.index, frame.index[kept])


def test_all_rows_of_a_loaded_path_and_of_tables_and_arrays(tmp_path):
    frame = incomplete()
    path = l0path.fit("real ~ a + b + c + d", frame, max_k=2)
    expected = path.model(k=2).refit(rows="all")
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    with pytest.raises(ValueError, match="rows='all': the data of the formula are not kept"):
        loaded.model(k=2).refit(rows="all")
    for X, y in ((frame, None), (frame, frame["real"])):
        np.testing.assert_allclose(
            loaded.model(k=2).refit(rows="all", X=X, y=y).params, expected.params
        )
    X, y = frame[list("abcd")], frame["real"]
    ok = X.notna().all(axis=1)
    for A, b in ((X, y), (X.to_numpy(), y.to_numpy())):
        path = l0path.fit(A[ok], b[ok], max_k=2)
        results = path.model(k=2).refit(rows="all", X=A, y=b)
        assert results.nobs == 88 and f"{path.n} of them" in results.selection
        np.testing.assert_allclose(results.params, expected.params)
        same = path.model(k=2).refit(rows="all")
        assert same.nobs == path.n and same.selection.startswith("conditional on selection")
    with pytest.raises(ValueError, match="rows='some' is not known"):
        path.model(k=1).refit(rows="some")


def test_all_rows_of_factors_offsets_and_survival_times():
    frame = incomplete()
    frame["log_n"] = np.log(np.random.default_rng(1).integers(1, 5, 90))
    path = l0path.fit("count ~ a + f + c + d + offset(log_n)", frame, loss="poisson", max_k=2)
    results = path.model("bic").refit(rows="all")
    used = [name for name in "acdf" if any(name in f for f in path.model("bic").features)]
    kept = frame[[*used, "count", "log_n"]].notna().all(axis=1)
    assert results.nobs == kept.sum()
    rng = np.random.default_rng(5)
    frame["time"], frame["died"] = (
        rng.integers(1, 30, 90) - frame["b"].round(),
        rng.integers(0, 2, 90),
    )
    path = l0path.fit("Surv(time, died) ~ a + b + c + d", frame, loss="cox", strata="ward", max_k=2)
    results = path.model(k=1).refit(rows="all")
    name = path.model(k=1).features[0]
    kept = frame[name].notna().to_numpy()
    again = l0path.fit(
        f"Surv(time, died) ~ {name}",
        frame[kept],
        loss="cox",
        strata="ward",
        k=[1],
        algorithm=l0path.solvers.LocalSearch(tol=1e-12),
    )
    assert results.params.iloc[0] == pytest.approx(again.coef(k=1)[name], abs=1e-6)
    assert f"{path.n} of them also chose" in results.selection


def test_clusters_are_named():
    frame = table()
    X, y = frame[list("abcd")], frame["real"]
    plain = l0path.fit(X, y, max_k=2)
    labels = {"cov_type": "cluster", "cov_kwds": {"groups": frame["ward"]}}
    expected = plain.model(k=2).refit(**labels)
    assert expected.df_resid_inference == 4
    named = {"cov_type": "cluster", "cov_kwds": {"groups": "ward"}}
    path = l0path.fit("real ~ a + b + c + d", frame, max_k=2)
    for results in (
        path.model(k=2).refit(**named),
        path.model(k=2).refit(X=frame, **named),
        path.model(k=2).refit(rows="all", **named),
        plain.model(k=2).refit(X=X.assign(ward=frame["ward"]), y=y, **named),
    ):
        np.testing.assert_allclose(results.pvalues, expected.pvalues)
    for bad in ({}, {"X": X, "y": y}):
        with pytest.raises(ValueError, match="'ward' is not a column"):
            plain.model(k=2).refit(**bad, **named)
    rng = np.random.default_rng(0)
    frame["time"] = rng.integers(1, 30, 60)
    path = l0path.fit("Surv(time, time > 3) ~ a + b", frame, loss="cox", max_k=2)
    np.testing.assert_allclose(
        path.model(k=1).refit(**named).bse, path.model(k=1).refit(**labels).bse
    )
    frame.loc[5, "a"] = np.nan  # rows that the formula leaves out have labels, too
    path = l0path.fit("real ~ a + b + c + d", frame, max_k=2)
    np.testing.assert_allclose(
        path.model(k=2).refit(**named).bse, path.model(k=2).refit(X=frame, **named).bse
    )
