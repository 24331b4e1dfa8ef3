"""What the scikit-learn estimators choose: sizes within pipelines and on folds, by paths that a
cache keeps, with limits of time and of observations, and by the rule of one standard error.
"""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from estimator_samples import sample
from lazy import lazy

import l0path
from l0path.core.status import End
from l0path.errors import ConvergenceWarning

joblib = lazy("joblib")
clone = lazy("sklearn.base", "clone")
SelectFromModel = lazy("sklearn.feature_selection", "SelectFromModel")
LinearRegression = lazy("sklearn.linear_model", "LinearRegression")
GridSearchCV = lazy("sklearn.model_selection", "GridSearchCV")
KFold = lazy("sklearn.model_selection", "KFold")
StratifiedKFold = lazy("sklearn.model_selection", "StratifiedKFold")
cross_val_score = lazy("sklearn.model_selection", "cross_val_score")
make_pipeline = lazy("sklearn.pipeline", "make_pipeline")
StandardScaler = lazy("sklearn.preprocessing", "StandardScaler")


def test_a_pipeline_selects_within_each_fold():
    X, y = sample()
    pipe = make_pipeline(StandardScaler(), l0path.L0Regressor(2), LinearRegression())
    assert cross_val_score(pipe, X, y, cv=4).min() > 0.4
    pipe.fit(X, y)
    np.testing.assert_array_equal(pipe[:-1].get_feature_names_out(), ["x1", "x4"])
    kept = SelectFromModel(l0path.L0Regressor(5), threshold=1e-12).fit(X, y)
    np.testing.assert_array_equal(kept.get_support(), l0path.L0Regressor(5).fit(X, y).get_support())
    inner = SelectFromModel(l0path.L0Classifier(3), threshold=1e-12).fit(*sample("classes"))
    assert inner.get_support().sum() == 3


@pytest.mark.parametrize("kind", ["real", "classes"])
def test_grid_search_with_one_path_nested_cv_and_cv_fit_choose_the_same_size_on_the_same_folds(
    kind, tmp_path, monkeypatch
):
    X, y = sample(kind, n=120, p=5)
    classes = kind == "classes"
    folds = (StratifiedKFold if classes else KFold)(3, shuffle=True, random_state=5)
    outer = (StratifiedKFold if classes else KFold)(2, shuffle=True, random_state=1)
    calls, plain = [], l0path.fit
    monkeypatch.setattr(
        "l0path.estimators.selecting.fit", lambda *a, **b: calls.append(b) or plain(*a, **b)
    )
    fit = {"loss": "logistic", "lambda2": 1e-3} if classes else {"lambda2": 0}
    kept, scoring = (
        (l0path.L0Classifier if classes else l0path.L0Regressor)(memory=str(tmp_path)),
        "neg_log_loss" if classes else "neg_mean_squared_error",
    )

    def searched(X, y, rule=True, **arguments):
        return GridSearchCV(
            clone(kept).set_params(**arguments),
            {"k": list(range(6))},
            cv=folds,
            scoring=scoring,
            refit=rule,
        ).fit(X, y)

    search = searched(X, y)
    assert len(calls) == 3 + 1  # one path for each fold, one for all rows
    cv = l0path.cv_fit(X, y, cv=folds, **fit)
    np.testing.assert_allclose(
        -search.cv_results_["mean_test_score"] * (2 if classes else 1), cv.scores.cv_mean, rtol=1e-9
    )
    assert search.best_params_["k"] == search.best_estimator_.k_ == cv.model().k
    one = searched(X, y, l0path.one_standard_error("k"))
    assert len(calls) == 4
    assert one.best_params_["k"] == cv.model("1se").k
    searched(X, y, memory=None, max_k=5)
    assert len(calls) == 4 + 6 * 3 + 1
    for which, rule in (("min", True), ("1se", l0path.one_standard_error("k"))):
        nested = l0path.nested_cv(X, y, outer=outer, cv=folds, rule=which, **fit)
        for (train, _), k in zip(outer.split(X, y), nested.table.k, strict=True):
            assert (
                k
                == searched(X[train], y[train], rule).best_params_["k"]
                == l0path.cv_fit(X[train], y[train], cv=folds, **fit).model(which).k
            )


def test_the_cache_knows_data_weights_and_settings_and_keeps_no_unfinished_path(
    tmp_path, monkeypatch
):
    X, y = sample()
    memory = joblib.Memory(tmp_path, verbose=0)
    calls, plain = [], l0path.fit
    monkeypatch.setattr(
        "l0path.estimators.selecting.fit", lambda *a, **b: calls.append(b) or plain(*a, **b)
    )
    first = l0path.L0Regressor(2, memory=memory).fit(X, y)
    cached = l0path.L0Regressor(5, memory=memory, n_jobs=1).fit(X, y)
    assert len(calls) == 1
    assert (first.k_, cached.k_, len(first.path_)) == (2, 5, 9)
    np.testing.assert_array_equal(
        cached.coef_[cached.get_support()], plain(X, y, max_k=8).coef(k=5)[1:]
    )
    assert len(cached.model_.summary(X=X, y=y).table) == 5
    for change in ({"y": y + 1}, {"sample_weight": np.arange(90.0)}, {"X": X * 2}):
        l0path.L0Regressor(2, memory=memory).fit(**{"X": X, "y": y} | change)
    l0path.L0Regressor(2, memory=memory, lambda2=0.1).fit(X, y)
    assert len(calls) == 5
    rounds = []

    def stopped(*a, **b):
        rounds.append(1)
        path = plain(*a, **b)
        path._end = End.TIME_LIMIT
        return path

    monkeypatch.setattr("l0path.estimators.selecting.fit", stopped)
    for _ in range(2):
        with pytest.warns(ConvergenceWarning, match="raise time_limit"):
            l0path.L0Regressor(2, memory=memory, time_limit=50.0).fit(X, y)
    assert len(rounds) == 2
    monkeypatch.setattr(
        "l0path.estimators.selecting.fit", lambda *a, **b: interrupted(plain(*a, **b))
    )
    with pytest.raises(KeyboardInterrupt):
        l0path.L0Regressor(2).fit(X, y)


def interrupted(path):
    path._end = End.INTERRUPTED
    return path


def test_a_time_limit_takes_the_largest_model_solved():
    X, y = sample(n=400, p=300)
    with pytest.warns(ConvergenceWarning, match="time_limit=1e-09 s was over at k = 0"):
        est = l0path.L0Regressor(2, time_limit=1e-9).fit(X, y)
    assert est.k_ == 0 and est.intercept_ == pytest.approx(y.mean())


def test_sizes_that_would_interpolate_are_not_taken():
    """Nine distinct rows and an intercept: any eight columns fit y, so the choice among them would
    be one of rounding.
    """
    X, y = sample(n=9, p=30)
    X, y = np.repeat(X, 4, axis=0), np.repeat(y, 4)
    for data in (X, sp.csr_array(X)):
        assert l0path.L0Regressor().fit(data, y).k_ == 7
    assert l0path.L0Regressor(lambda0=0.0).fit(X, y).k_ <= 7
    assert l0path.L0Regressor(fit_intercept=False).fit(X, y).k_ == 8
    assert l0path.L0Regressor(lambda2=0.1).fit(X, y).k_ == 10
    found = l0path.L0RegressorCV(cv=np.arange(36) // 12).fit(X, y).path_
    assert found.details.k.max() == 4  # half of nine
    planted = X[:, 2] - 2 * X[:, 7]
    assert l0path.L0Regressor(2).fit(X, planted).get_support(indices=True).tolist() == [2, 7]
    binary = np.repeat([[0.0], [1.0]], 10, axis=0)
    assert l0path.L0Regressor().fit(binary, binary[:, 0] * 3).coef_[0] == pytest.approx(3)
    assert (
        l0path.estimators.selecting.distinct_rows(np.vstack([X, X[:5] + 1]), np.arange(41), 10**6)
        == 11
    )  # two of the nine are there a second time, shifted


def test_one_standard_error_by_hand():
    def results(values, scores, name="param_k"):
        return {
            name: values,
            **{f"split{i}_test_score": np.array(row) for i, row in enumerate(scores)},
            "mean_test_score": np.mean(scores, axis=0),
        }

    rule = l0path.one_standard_error("k")
    scores = [
        [0.0, 0.8, 1.0, 1.1],
        [0.1, 1.2, 1.3, 1.2],
        [0.2, 1.0, 1.2, 1.3],
    ]  # the last two have mean 1.1667, 1.2; the second 1.0; se of the last 0.0577
    assert rule(results([1, 2, 3, 4], scores)) == 2
    assert rule(results([1, 2, 3, 3], scores)) == 3  # equally simple: the better one
    assert (
        l0path.one_standard_error("lambda0", largest=True)(
            results([4, 3, 2, 1], scores, "param_l0regressor__lambda0")
        )
        == 2
    )
    assert rule(results([1, 2, 3, 4], [[0, 1, np.nan, 1], [0, 1, 2, 1]])) == 1
    assert pickle.loads(pickle.dumps(rule)) == rule
    with pytest.raises(ValueError, match="lambda0"):
        l0path.one_standard_error("lambda0")(results([1, 2, 3, 4], scores))
    with pytest.raises(ValueError, match="0 splits"):
        l0path.one_standard_error("k", score="auc")(results([1, 2, 3, 4], scores))
    with pytest.raises(LookupError, match="no candidate"):
        rule(results([1, 2], [[np.nan, 1.0], [1.0, np.nan]]))
    with pytest.raises(TypeError, match="param=3"):
        l0path.one_standard_error(3)


def test_groups_share_a_path_for_every_k(tmp_path):
    rng = np.random.default_rng(4)
    X, labels = rng.standard_normal((80, 12)), np.repeat(range(4), 3)
    y = X[:, 3:6].sum(axis=1) + rng.standard_normal(80)
    stored = [
        l0path.L0Regressor(k=k, groups=labels, memory=str(tmp_path)).fit(X, y) for k in (1, 2)
    ]
    assert (
        [s.k_ for s in stored] == [1, 2]
        and stored[0].model_.groups == [1]
        and len(stored[0].path_) == len(stored[1].path_) == 5
    )


@pytest.mark.parametrize("classes", [False, True])
def test_the_cv_estimators_choose_a_ridge_and_a_mixture(classes):
    X, y = sample("classes" if classes else "real")
    make = l0path.L0ClassifierCV if classes else l0path.L0RegressorCV
    same = {"max_k": 3, "cv": 4, "random_state": 1}
    est = make(rule="sparse", relax=(0, 0.3), **same).fit(X, y)
    loss = {"loss": "logistic"} if classes else {}
    cv = l0path.cv_fit(X, y, relax=(0, 0.3), **loss, **same)
    assert len(est.cv_) == len(cv) and sorted(set(cv.details.relax)) == [0, 0.3, 1]
    i = cv.select("sparse")
    assert est.model_.details.name == i
    np.testing.assert_allclose(est.coef_.ravel()[cv._solutions[i].support], cv.coef(index=i)[1:])
    plain = make(lambda2=0, **same).fit(X, y).cv_
    assert (plain.details.lambda2 == 0).all() and (plain.details.relax == 1).all()
    assert clone(est).get_params()["relax"] == (0, 0.3)
