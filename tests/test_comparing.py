"""Several metrics from one cross-validation, paired differences of two, ROC and calibration of
nested cross-validation, and the interval of an area.
"""

import zipfile

import numpy as np
import pandas as pd
import pytest
from lazy import lazy

import l0path
from l0path import plots

plt = lazy("matplotlib.pyplot")
mean_absolute_error = lazy("sklearn.metrics", "mean_absolute_error")
roc_auc_score = lazy("sklearn.metrics", "roc_auc_score")
GroupKFold = lazy("sklearn.model_selection", "GroupKFold")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def sample(classes=False, n=70):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, 6))
    X[:, 5] = X[:, 0]  # a copy
    eta = X[:, 0] - 0.8 * X[:, 2]
    if classes:
        return X, np.where(eta + rng.logistic(size=n) > 0, "sick", "well")
    return X, eta + rng.standard_normal(n)


def test_other_metrics_are_those_of_a_cross_validation_of_their_own():
    X, y = sample()
    some = {"cv": 4, "max_k": 4, "random_state": 3, "n_repeats": 2, "lambda2": 0}
    cv, own = l0path.cv_fit(X, y, **some), l0path.cv_fit(X, y, scoring="mae", **some)
    again = cv.rescore("mae")
    pd.testing.assert_frame_equal(again.scores, own.scores)
    assert again.select("1se") == own.select("1se") and again.notes == own.notes
    both = cv.metrics(["mae", "r2"])
    np.testing.assert_allclose(both["mae_se"], own.scores["cv_se"])
    assert both.columns.tolist() == ["k", "mae", "mae_se", "r2", "r2_se"]
    assert cv.metrics().columns[1::2].tolist() == ["deviance", "mse", "mae", "r2"]
    train, test = cv.splits[0]
    path = l0path.fit(X[train], y[train], max_k=4)
    assert again.folds.iloc[2, 0] == pytest.approx(
        mean_absolute_error(y[test], path.predict(X[test], k=2))
    )


def test_areas_by_fold_are_scikit_learns():
    X, y = sample(classes=True)
    cv = l0path.cv_fit(X, y, loss="logistic", lambda2=0.01, cv=3, max_k=3, random_state=0)
    again = cv.rescore("auc")
    assert again.folds.attrs["greater_is_better"]
    held = cv.held_out(k=2)
    for fold, (_, test) in enumerate(cv.splits):
        assert again.folds.iloc[2, fold] == pytest.approx(
            roc_auc_score(y[test] == "well", held[test])
        )


def test_a_paired_difference_is_taken_fold_by_fold():
    X, y = sample()
    some = {"cv": 5, "max_k": 4, "random_state": 1}
    a, b = l0path.cv_fit(X, y, **some), l0path.cv_fit(X, y, lambda2=0.3, **some)
    d = a.folds.loc[a.select("min")] - b.folds.loc[b.select("1se")]
    out = a.difference(b, "min", "1se")
    assert out["difference"] == pytest.approx(d.mean()) and out["n_folds"] == 5
    assert out["se"] == pytest.approx(d.std(ddof=1) / np.sqrt(5))
    assert out["se_corrected"] == pytest.approx(np.sqrt((1 / 5 + 14 / 56) * d.var(ddof=1)))
    same = a.difference(a, "min", "min")
    assert same["difference"] == 0 and same["se"] == 0
    paired = a.difference(a, lambda path: 2, lambda path: 3)["se"]
    assert paired < np.hypot(a.scores.cv_se[2], a.scores.cv_se[3])
    # repeats cut the same rows anew, and do not shrink the standard error
    many = l0path.cv_fit(X, y, n_repeats=4, **some)
    d = (many.folds.loc[1] - many.folds.loc[2]).to_numpy().reshape(4, 5)
    assert many.difference(many, lambda p: 1, lambda p: 2)["se"] == pytest.approx(
        np.sqrt(np.mean(d.var(axis=1, ddof=1) / 5))
    )


def test_what_cannot_be_compared_is_refused():
    X, y = sample()
    cv = l0path.cv_fit(X, y, cv=4, max_k=2, random_state=0)
    with pytest.raises(ValueError, match="folds differ; pass both"):
        cv.difference(l0path.cv_fit(X, y, cv=4, max_k=2, random_state=1))
    with pytest.raises(ValueError, match="rescore"):
        cv.difference(cv.rescore("mae"))
    with pytest.raises(TypeError, match="pass a CVPath"):
        cv.difference(l0path.fit(X, y, max_k=2))
    with pytest.raises(ValueError, match=r"path\.validate"):
        cv.validate(X, y).rescore("mae")
    with pytest.raises(ValueError, match="scoring='auc'"):
        cv.rescore("auc")


def test_curves_of_a_nested_cross_validation():
    X, y = sample(classes=True)
    nested = l0path.nested_cv(
        X, y, loss="logistic", lambda2=0.01, outer=3, cv=3, max_k=3, random_state=0
    )
    ax = nested.plot_roc()
    line = next(line for line in ax.lines if line.get_gid())
    area = roc_auc_score(y == "well", nested.held_out)
    assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(area)
    assert f"AUC = {area:.3f} (95 % CI" in ax.get_legend().get_texts()[0].get_text()
    line = next(line for line in nested.plot_calibration(bins=4).lines if line.get_gid())
    np.testing.assert_allclose(
        line.get_xydata(),
        plots.calibration(y == "well", nested.held_out, 4)[["probability", "share"]],
    )
    X, y = sample()
    with pytest.raises(ValueError, match="loss='squared'"):
        l0path.nested_cv(X, y, outer=3, cv=3, max_k=2, random_state=0).plot_roc()


def delong(positive, score):
    """Area and variance from all pairs, as DeLong et al. write them."""
    a, b = score[positive], score[~positive]
    psi = (a[:, None] > b) + 0.5 * (a[:, None] == b)
    return psi.mean(), psi.mean(axis=1).var(ddof=1) / len(a) + psi.mean(axis=0).var(ddof=1) / len(b)


def test_the_interval_of_an_area_is_delongs():
    rng = np.random.default_rng(0)
    positive = rng.random(60) < 0.4
    score = np.round(rng.standard_normal(60) + positive, 1)  # with ties
    area, variance = delong(positive, score)
    out = plots.auc(positive, score)
    half = 1.959963984540054 * np.sqrt(variance)
    np.testing.assert_allclose(out, [area, area - half, min(1, area + half)], rtol=1e-10)
    pd.testing.assert_series_equal(out, plots.auc(np.where(positive, 1, -1), score, np.full(60, 2)))
    weight = np.where(np.arange(60) < 5, 0.0, 1.0)
    np.testing.assert_allclose(
        plots.auc(positive, score, weight), plots.auc(positive[5:], score[5:])
    )
    perfect = plots.auc([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    assert perfect.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="only one class"):
        plots.auc([1, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match="level=95"):
        plots.auc([0, 1], [0.1, 0.2], level=95)


# -------------------- on disk


@pytest.mark.parametrize("kind", ["squared", "logistic"])
def test_a_cross_validation_comes_back_as_it_was(kind, tmp_path):
    X, y = sample(classes=kind == "logistic")
    some = {"loss": kind, "lambda2": [0.1, 0.01], "max_k": 3}
    cv = l0path.cv_fit(X, y, cv=3, n_repeats=2, random_state=4, **some)
    cv.save(tmp_path / "cv")
    again = l0path.load(tmp_path / "cv")
    assert type(again) is l0path.CVPath and [p.name for p in tmp_path.iterdir()] == ["cv"]
    pd.testing.assert_frame_equal(again.scores, cv.scores)
    pd.testing.assert_frame_equal(again.folds, cv.folds)
    assert again.notes == cv.notes and repr(again) == repr(cv)
    assert again.select("1se") == cv.select("1se")
    np.testing.assert_array_equal(again.held_out(X=X, y=y), cv.held_out())
    np.testing.assert_array_equal(again.rescore(X=X, y=y).folds, cv.folds)
    assert again.difference(cv)["difference"] == 0
    pd.testing.assert_series_equal(again.coef("1se"), cv.coef("1se"))


def test_validations_and_nested_cross_validations_come_back(tmp_path):
    X, y = sample(classes=True)
    some = {"loss": "logistic", "lambda2": 0.01, "max_k": 3}
    validated = l0path.fit(X[:40], y[:40], **some).validate(X[40:], y[40:])
    validated.save(tmp_path / "v")
    pd.testing.assert_frame_equal(l0path.load(tmp_path / "v").scores, validated.scores)
    nested = l0path.nested_cv(X, y, outer=3, cv=3, random_state=0, **some)
    nested.save(tmp_path / "n")
    again = l0path.load(tmp_path / "n")
    pd.testing.assert_frame_equal(again.table, nested.table)
    assert repr(again) == repr(nested) and (again.se, again.mean) == (nested.se, nested.mean)
    np.testing.assert_array_equal(again.held_out, nested.held_out)
    for one, other in zip(again.models, nested.models, strict=True):
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
    text = [p.plot_roc().get_legend().get_texts()[0].get_text() for p in (again, nested)]
    assert text[0] == text[1]


def test_files_of_cross_validations_that_are_damaged_are_named(tmp_path):
    X, y = sample()
    l0path.cv_fit(X, y, cv=3, max_k=2, random_state=0).save(tmp_path / "cv")
    whole = (tmp_path / "cv").read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="half is "):
        l0path.load(tmp_path / "half")
    with zipfile.ZipFile(tmp_path / "cv") as old, zipfile.ZipFile(tmp_path / "new", "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "header.json":
                data = data.replace(b'"columns": [0, 1, 2]', b'"columns": [0, 1]')
            new.writestr(name, data)
    with pytest.raises(ValueError, match="lengths has shape"):
        l0path.load(tmp_path / "new")
    with pytest.raises(FileNotFoundError):
        l0path.load(tmp_path / "nothing")


def test_messages_of_lengths_and_of_splitters_that_need_groups():
    X, y = sample()
    with pytest.raises(ValueError, match="X has 70 rows and y has 10"):
        l0path.fit(pd.DataFrame(X), pd.Series(y[:10]))
    with pytest.raises(ValueError, match="pass groups_cv="):
        l0path.cv_fit(X, y, cv=GroupKFold(3), max_k=2)
    names = {n for n in dir(l0path) if not n.startswith("_")}
    modules = {"cross_validation", "estimators", "inference", "inspection", "report"}
    assert names == {*l0path.__all__, *modules}
    assert all(getattr(l0path, name) is not None for name in names)


def test_dates_get_advice_about_dates():
    X, y = sample()
    frame = pd.DataFrame(X).add_prefix("v").assign(day=pd.date_range("2020-01-01", periods=70))
    with pytest.raises(TypeError, match=r"day .*the days since the first") as caught:
        l0path.fit(frame, y)
    assert "get_dummies" not in str(caught.value)
    with pytest.raises(TypeError, match="get_dummies"):
        l0path.fit(frame.assign(kind="a"), y)


def test_models_of_a_cross_validation_side_by_side():
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.standard_normal((60, 5)), columns=list("abcde"))
    y = X["a"] - X["d"] + rng.standard_normal(60)
    cv = l0path.cv_fit(X, y, cv=4, random_state=0, max_k=4, lambda2=0)
    table = cv.compare(["min", "1se", 3, {"k": 1}, cv.model(4)], criteria=["bic"])
    sizes = [cv.model("min").k, cv.model("1se").k, 3, 1, 4]
    assert table.loc["fit"].loc["k"].tolist() == sizes
    assert table.columns[:2].tolist() == [f"min (k = {sizes[0]})", f"1se (k = {sizes[1]})"]
    held_out = table.loc["cross-validation"]
    for column, k in zip(table, sizes, strict=True):
        row = cv.scores[cv.scores["k"] == k].iloc[0]
        assert held_out[column].tolist() == [row["cv_mean"], row["cv_se"]]
        np.testing.assert_array_equal(table[column]["coefficient"].dropna(), cv.coef(k=k))
    np.testing.assert_allclose(
        table.loc["criterion"].loc["bic"].astype(float), cv.score_table()["bic"][sizes]
    )
    assert cv.compare([1, 2]).columns.tolist() == ["k = 1", "k = 2"]
    assert "held-out score" in table.to_latex() and "held-out deviance" in repr(table)
    for models, message in (([2, "best"], "'best' is not known"), ("min", "must be a list")):
        with pytest.raises((ValueError, TypeError), match=message):
            cv.compare(models)
