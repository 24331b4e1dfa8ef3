"""The scikit-learn estimators: scikit-learn's own checks in full, agreement with `fit` and
`cv_fit`, and use in pipelines, grid searches, clones, pickles and meta-estimators.
"""

import pickle

import numpy as np
import pandas as pd
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
check_estimator = lazy("sklearn.utils.estimator_checks", "check_estimator")

FOUR = ["L0Regressor", "L0Classifier", "L0RegressorCV", "L0ClassifierCV"]


@pytest.mark.filterwarnings(
    "ignore:No features were selected:UserWarning"
)  # scikit-learn's word for an intercept alone, which cross-validation may choose on noise
@pytest.mark.parametrize("name", FOUR)
def test_checks_of_scikit_learn(name):
    few = {"cv": 2, "max_k": 3} if name.endswith("CV") else {}
    check_estimator(getattr(l0path, name)(**few), on_skip=None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.parametrize("name", [name for name in FOUR if name.endswith("CV")])
def test_checks_of_scikit_learn_with_the_default_number_of_folds(name):
    check_estimator(getattr(l0path, name)(), on_skip=None)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"loss": "huber", "delta": 1.0},
        {"lambda1": 0.05, "lambda2": 0.1, "fit_intercept": False},
        {"standardize": False, "always_include": [2], "upper": 0.9},
        {"algorithm": "cd"},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_regressor_is_the_model_of_its_size(arguments, weighted):
    X, y = sample()
    w = np.random.default_rng(1).uniform(0.5, 2, y.size) if weighted else None
    path = l0path.fit(X, y, max_k=3, sample_weight=w, **arguments)
    est = l0path.L0Regressor(3, **arguments).fit(X, y, sample_weight=w)
    coef = path.coef(k=3, full=True).to_numpy()
    np.testing.assert_array_equal(est.coef_, coef[1:])
    assert est.intercept_ == coef[0]
    assert est.k_ == est.model_.k == 3
    np.testing.assert_array_equal(est.get_support(indices=True), path.support(k=3))
    np.testing.assert_array_equal(est.transform(X), X[:, path.support(k=3)])
    np.testing.assert_array_equal(est.predict(X), path.predict(X, k=3))
    np.testing.assert_allclose(est.predict(X), X @ est.coef_ + est.intercept_, rtol=1e-12)
    longer = l0path.L0Regressor(3, max_k=6, **arguments).fit(X, y, sample_weight=w)
    assert len(longer.path_) == len(l0path.fit(X, y, max_k=6, sample_weight=w, **arguments))
    assert longer.k_ == 3


def test_a_poisson_regressor_predicts_means():
    X, _ = sample()
    y = np.random.default_rng(0).poisson(np.exp(0.5 * X[:, 1]))
    est = l0path.L0Regressor(1, loss="poisson").fit(X, y)
    np.testing.assert_allclose(est.predict(X), np.exp(X @ est.coef_ + est.intercept_), rtol=1e-12)


def test_lambda0_names_a_model_instead_of_k():
    X, y = sample()
    path = l0path.fit(X, y)
    low, high = path.table.loc[2, ["lambda0_low", "lambda0_high"]]
    est = l0path.L0Regressor(k=7, lambda0=(low + high) / 2).fit(X, y)
    assert est.k_ == 2
    np.testing.assert_allclose(est.coef_, path.coef(k=2, full=True)[1:], rtol=1e-8)
    assert l0path.L0Regressor(lambda0=0.0, max_k=3).fit(X, y).k_ == 3


@pytest.mark.parametrize("which", ["min", "1se", "bic"])
def test_the_cv_estimators_are_cv_fit(which):
    X, y = sample()
    cv = l0path.cv_fit(X, y, cv=4, random_state=3)
    est = l0path.L0RegressorCV(cv=4, which=which, random_state=3).fit(X, y)
    assert est.cv_.table.equals(cv.table)
    assert est.k_ == cv.model(which).k
    np.testing.assert_array_equal(est.coef_, cv.coef(which, full=True)[1:])
    X, y = sample("classes")
    cv = l0path.cv_fit(
        X,
        y,
        loss="logistic",
        lambda2=[1e-3, 1e-1],
        cv=4,
        scoring="auc",
        random_state=3,
        class_weight="balanced",
    )
    est = l0path.L0ClassifierCV(
        cv=4,
        which=which,
        lambda2=[1e-3, 1e-1],
        scoring="roc_auc",
        random_state=3,
        class_weight="balanced",
    ).fit(X, y)
    np.testing.assert_allclose(est.cv_.folds, cv.folds, rtol=1e-12)
    assert (est.k_, est.model_.lambda2) == (cv.model(which).k, cv.model(which).lambda2)
    np.testing.assert_array_equal(est.predict(X), cv.predict(X, which, type="class"))


def test_cv_estimators_take_groups_weights_and_a_grid_of_shrinkage():
    X, y = sample()
    groups, w = np.arange(90) // 6, np.random.default_rng(0).uniform(0.5, 2, 90)
    est = l0path.L0RegressorCV(3, cv=3, penalty="L0L2", n_shrink=4, random_state=0).fit(
        X, y, sample_weight=w, groups=groups
    )
    cv = l0path.cv_fit(
        X,
        y,
        max_k=3,
        cv=3,
        penalty="L0L2",
        n_shrink=4,
        random_state=0,
        sample_weight=w,
        groups_cv=groups,
    )
    assert est.cv_.table.equals(cv.table)
    for train, test in est.cv_.splits:
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize("name", FOUR)
def test_clones_pickles_frames_and_sparse_data_give_the_same(name, tmp_path):
    estimator = getattr(l0path, name)(3, **({"random_state": 0} if name.endswith("CV") else {}))
    X, y = sample("classes" if "Classifier" in name else "real")
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    base = clone(estimator).fit(X, y)
    again = pickle.loads(pickle.dumps(base))
    joblib.dump(base, tmp_path / "model")
    for other in (again, joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(other.predict(X), base.predict(X))
        np.testing.assert_array_equal(other.transform(X), base.transform(X))
        assert other.model_.path is other.path_
    names = [f"c{j}" for j in range(8)]
    frame = pd.DataFrame(X, columns=names, index=np.arange(90)[::-1])
    named = clone(base).fit(frame, y)
    assert named.feature_names_in_.tolist() == names
    assert (
        named.model_.features
        == [names[j] for j in base.get_support(indices=True)]
        == named.get_feature_names_out().tolist()
    )
    out = named.set_output(transform="pandas").transform(frame)
    pd.testing.assert_frame_equal(out, frame[named.model_.features])
    np.testing.assert_allclose(
        named.coef_, base.coef_, rtol=1e-12
    )  # the columns lie in another order in memory
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame.rename(columns={"c1": "other"}))
    for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_array):
        thin = clone(base).fit(kind(X), y)
        np.testing.assert_allclose(thin.coef_, base.coef_, rtol=1e-9)
        assert sp.issparse(thin.transform(kind(X)))
        for method in ("predict", "decision_function"):
            if hasattr(thin, method) and not (method == "predict" and hasattr(thin, "classes_")):
                np.testing.assert_allclose(
                    getattr(thin, method)(kind(X)), getattr(thin, method)(X), rtol=1e-9, atol=1e-12
                )
    assert set(estimator.get_params()) == set(clone(estimator).set_params(tol=1e-7).get_params())


def test_columns_are_named_in_parameters_too():
    X, y = sample()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    est = l0path.L0Regressor(1, always_include=["c"], exclude=["b"], lower={"e": -0.1}).fit(
        frame, y
    )
    assert est.get_support()[[1, 2]].tolist() == [False, True]
    assert est.k_ == 1 and est.coef_[4] >= -0.1


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
    X, y = sample(kind, n=120)
    classes = kind == "classes"
    folds = (StratifiedKFold if classes else KFold)(4, shuffle=True, random_state=5)
    outer = (StratifiedKFold if classes else KFold)(3, shuffle=True, random_state=1)
    calls, plain = [], l0path.fit
    monkeypatch.setattr(
        "l0path.estimators.selecting.fit", lambda *a, **b: calls.append(b) or plain(*a, **b)
    )
    fit = {"loss": "logistic", "lambda2": 1e-3} if classes else {}
    kept, scoring = (
        (l0path.L0Classifier if classes else l0path.L0Regressor)(memory=str(tmp_path)),
        "neg_log_loss" if classes else "neg_mean_squared_error",
    )

    def searched(X, y, rule=True, **arguments):
        return GridSearchCV(
            clone(kept).set_params(**arguments),
            {"k": list(range(9))},
            cv=folds,
            scoring=scoring,
            refit=rule,
        ).fit(X, y)

    search = searched(X, y)
    assert len(calls) == 4 + 1  # one path for each fold, one for all rows
    cv = l0path.cv_fit(X, y, cv=folds, **fit)
    np.testing.assert_allclose(
        -search.cv_results_["mean_test_score"] * (2 if classes else 1), cv.table.cv_mean, rtol=1e-9
    )
    assert search.best_params_["k"] == search.best_estimator_.k_ == cv.model().k
    one = searched(X, y, l0path.one_standard_error("k"))
    assert len(calls) == 5
    assert one.best_params_["k"] == cv.model("1se").k
    searched(X, y, memory=None, max_k=8)
    assert len(calls) == 5 + 9 * 4 + 1
    for which, rule in (("min", True), ("1se", l0path.one_standard_error("k"))):
        nested = l0path.nested_cv(X, y, outer=outer, cv=folds, which=which, **fit)
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
        path.end = End.TIME_LIMIT
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
    path.end = End.INTERRUPTED
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
    assert len(l0path.L0RegressorCV(cv=np.arange(36) // 12).fit(X, y).path_) == 8
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


@pytest.mark.parametrize(
    "name, arguments, match",
    [
        ("L0Regressor", dict(k=-1), "k=-1"),
        ("L0Regressor", dict(k=2.5), "k=2.5"),
        ("L0Regressor", dict(k=3, max_k=2), "max_k=2"),
        ("L0Regressor", dict(loss="logistic"), "use L0Classifier"),
        ("L0Classifier", dict(loss="squared"), "use L0Regressor"),
        ("L0Regressor", dict(lambda2=[0.1, 0.2]), "lambda2"),
        ("L0Regressor", dict(lambda0="a"), "lambda0"),
        ("L0Regressor", dict(loss="nonsense"), "nonsense"),
        ("L0RegressorCV", dict(max_k=-2), "max_k=-2"),
        ("L0RegressorCV", dict(scoring="auc"), "auc"),
        ("L0Regressor", dict(algorithm="best"), "algorithm"),
        ("L0RegressorCV", dict(which="best"), "best"),
    ],
)
def test_errors_name_the_argument_and_the_remedy(name, arguments, match):
    X, y = sample("classes" if "Classifier" in name else "real")
    with pytest.raises((ValueError, TypeError), match=match):
        getattr(l0path, name)(**arguments).fit(X, y)


def test_names_are_there_without_loading_scikit_learn_first():
    assert {"L0Regressor", "L0ClassifierCV", "one_standard_error", "estimators"} <= set(dir(l0path))
    assert l0path.estimators.L0Regressor is l0path.L0Regressor
    with pytest.raises(AttributeError, match="no attribute 'L0Nothing'"):
        _ = l0path.L0Nothing


def test_estimators_choose_groups_of_columns():
    rng = np.random.default_rng(4)
    labels = np.repeat(["a", "b", "c", "d", "e"], [1, 3, 2, 3, 2])
    X = pd.DataFrame(rng.standard_normal((120, 11)), columns=[f"v{j}" for j in range(11)])
    y = (
        X.loc[:, labels == "b"].sum(axis=1)
        + 0.7 * X.loc[:, labels == "e"].sum(axis=1)
        + rng.standard_normal(120)
    )
    path = l0path.fit(X, y, groups=labels)
    one = l0path.L0Regressor(k=2, groups=labels).fit(X, y)
    assert (
        one.model_.groups == ["b", "e"]
        and one.k_ == 2
        and one.get_support().tolist() == np.isin(labels, ["b", "e"]).tolist()
    )
    np.testing.assert_allclose(one.predict(X), path.predict(X, k=2), rtol=1e-9)
    by_name = {"first": ["v1", "v2", "v3"], "second": ["v9", "v10"]}
    assert clone(l0path.L0Regressor(k=2, groups=by_name)).fit(X, y).model_.groups == [
        "first",
        "second",
    ]
    search = GridSearchCV(
        l0path.L0Regressor(groups=labels), {"k": range(5)}, cv=4, scoring="neg_mean_squared_error"
    ).fit(X, y)
    cv = l0path.L0RegressorCV(groups=labels, cv=KFold(4)).fit(X, y)
    assert search.best_params_["k"] == cv.k_ == 2 and cv.path_.table.k.max() == 5
    two = l0path.L0ClassifierCV(groups=labels, cv=3, random_state=0).fit(X, y > 0)
    assert {"b", "e"} <= set(two.model_.groups)
    assert l0path.L0Classifier(k=1, groups=labels).fit(X, y > 0).model_.groups == ["b"]
    with pytest.raises(ValueError, match="groups has 2 labels"):
        l0path.L0Regressor(k=1, groups=["a", "b"]).fit(X, y)


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


@pytest.mark.parametrize("name", FOUR)
def test_designs_are_refused_with_the_way_to_fit_them(name):
    small = dict(cv=2, max_k=1) if name.endswith("CV") else dict(k=1)
    estimator = getattr(l0path, name)(**small)
    X = np.random.default_rng(5).standard_normal((40, 4))
    y = X[:, 0] > 0 if "Classifier" in name else X[:, 0]
    design = l0path.designs.polynomial(X)
    for call in (lambda: estimator.fit(design, y), lambda: estimator.fit(X, y).predict(design)):
        with pytest.raises(TypeError, match=r"X is a design \(Polynomial\).*l0path\.cv_fit"):
            call()
