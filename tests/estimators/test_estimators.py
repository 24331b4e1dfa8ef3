"""The scikit-learn estimators: scikit-learn's own checks in full, agreement with `fit` and
`cv_fit`, groups, clones, pickles and what is refused.
"""

import pickle
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from estimator_samples import sample
from lazy import lazy
from thinning import slow_but

import l0path
from l0path.core.hints import OF_ESTIMATORS

joblib = lazy("joblib")
clone = lazy("sklearn.base", "clone")
GridSearchCV = lazy("sklearn.model_selection", "GridSearchCV")
KFold = lazy("sklearn.model_selection", "KFold")
check_estimator = lazy("sklearn.utils.estimator_checks", "check_estimator")
make_column_transformer = lazy("sklearn.compose", "make_column_transformer")
make_pipeline = lazy("sklearn.pipeline", "make_pipeline")
OneHotEncoder = lazy("sklearn.preprocessing", "OneHotEncoder")


FOUR = ["L0Regressor", "L0Classifier", "L0RegressorCV", "L0ClassifierCV"]


@pytest.mark.filterwarnings(
    "ignore:No features were selected:UserWarning"
)  # scikit-learn's word for an intercept alone, which cross-validation may choose on noise
@pytest.mark.parametrize("name", slow_but(["L0Regressor", "L0Classifier", "L0ClassifierCV"], FOUR))
def test_checks_of_scikit_learn(name):
    # one ridge: the default grid of them, with more folds, is checked among the slow tests
    few = {"cv": 2, "max_k": 2, "lambda2": 0.1} if name.endswith("CV") else {}
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
        {"loss": l0path.losses.Huber(1.0)},
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
    low, high = path.details.loc[2, ["lambda0_low", "lambda0_high"]]
    est = l0path.L0Regressor(k=7, lambda0=(low + high) / 2).fit(X, y)
    assert est.k_ == 2
    np.testing.assert_allclose(est.coef_, path.coef(k=2, full=True)[1:], rtol=1e-8)
    assert l0path.L0Regressor(lambda0=0.0, max_k=3).fit(X, y).k_ == 3


@cache
def folded(kind):
    """`cv_fit` of a sample."""
    X, y = sample(kind)
    more = {} if kind == "real" else {"loss": "logistic", "scoring": "auc", **OF_CLASSES}
    return l0path.cv_fit(X, y, cv=3, random_state=3, **more)


OF_CLASSES = {"lambda2": [1e-3, 1e-1], "class_weight": "balanced"}


@pytest.mark.parametrize("which", ["min", "1se", "bic"])
def test_the_cv_estimators_are_cv_fit(which):
    X, y = sample()
    cv = folded("real")
    est = l0path.L0RegressorCV(cv=3, rule=which, random_state=3).fit(X, y)
    assert est.cv_.scores.equals(cv.scores)
    assert est.k_ == cv.model(which).k
    np.testing.assert_array_equal(est.coef_, cv.coef(which, full=True)[1:])
    X, y = sample("classes")
    cv = folded("classes")
    est = l0path.L0ClassifierCV(
        cv=3, rule=which, scoring="roc_auc", random_state=3, **OF_CLASSES
    ).fit(X, y)
    np.testing.assert_allclose(est.cv_.folds, cv.folds, rtol=1e-12)
    assert (est.k_, est.model_.details["lambda2"]) == (
        cv.model(which).k,
        cv.model(which).details["lambda2"],
    )
    np.testing.assert_array_equal(est.predict(X), cv.predict(X, which, type="class"))


def test_a_splitter_of_groups_names_the_argument_of_the_estimator():
    from sklearn.model_selection import GroupKFold

    X, y = sample()
    with pytest.raises(ValueError, match=r"takes them by fit\(X, y, groups=\.\.\.\)"):
        l0path.L0RegressorCV(3, cv=GroupKFold(3)).fit(X, y)
    groups = np.arange(90) // 6
    assert l0path.L0RegressorCV(3, cv=GroupKFold(3)).fit(X, y, groups=groups).k_ <= 3


def test_cv_estimators_take_groups_weights_and_a_grid_of_shrinkage():
    X, y = sample()
    groups, w = np.arange(90) // 6, np.random.default_rng(0).uniform(0.5, 2, 90)
    est = l0path.L0RegressorCV(3, cv=3, lambda2=l0path.grid(n=4), random_state=0).fit(
        X, y, sample_weight=w, groups=groups
    )
    cv = l0path.cv_fit(
        X,
        y,
        max_k=3,
        cv=3,
        lambda2=l0path.grid(n=4),
        random_state=0,
        sample_weight=w,
        groups_cv=groups,
    )
    assert est.cv_.scores.equals(cv.scores)
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
    assert set(estimator.get_params()) == set(clone(estimator).set_params(max_k=4).get_params())


def test_columns_are_named_in_parameters_too():
    X, y = sample()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    est = l0path.L0Regressor(1, always_include=["c"], exclude=["b"], lower={"e": -0.1}).fit(
        frame, y
    )
    assert est.get_support()[[1, 2]].tolist() == [False, True]
    assert est.k_ == 1 and est.coef_[4] >= -0.1


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
        ("L0RegressorCV", dict(rule="best"), "best"),
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
    assert search.best_params_["k"] == cv.k_ == 2 and cv.path_.details.k.max() == 5
    two = l0path.L0ClassifierCV(groups=labels, cv=3, random_state=0).fit(X, y > 0)
    assert {"b", "e"} <= set(two.model_.groups)
    assert l0path.L0Classifier(k=1, groups=labels).fit(X, y > 0).model_.groups == ["b"]
    with pytest.raises(ValueError, match="groups has 2 labels"):
        l0path.L0Regressor(k=1, groups=["a", "b"]).fit(X, y)


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


@pytest.mark.parametrize("Estimator", [l0path.L0Regressor, l0path.L0Classifier])
@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_columns_of_text_are_named(Estimator, kind):
    X = pd.DataFrame({"age": [1.0, 2.0, 4.0, 3.0], "city": ["a", "b", "a", "c"]})
    X["code"] = pd.Series(["1", "2", "5", "4"], dtype=object)  # numbers, which scikit-learn takes
    X = X.astype({"city": kind})
    with pytest.raises(ValueError, match=r"are not numbers: city; .*make_column_transformer"):
        Estimator(k=1).fit(X, [0, 1, 1, 0])
    # the names of the step that the message writes are those of scikit-learn
    step = make_column_transformer(
        (OneHotEncoder(drop="first", sparse_output=False), ["city"]), remainder="passthrough"
    )
    assert make_pipeline(step, Estimator(k=1)).fit(X, [0, 1, 1, 0])[-1].n_features_in_ == 4


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_columns_of_dates_are_named(zone):
    X = pd.DataFrame(
        {"age": [1.0, 2.0, 4.0, 3.0], "day": pd.date_range("2020", periods=4, tz=zone)}
    )
    with pytest.raises(ValueError, match=r"are not numbers: day; make numbers of dates"):
        l0path.L0Regressor(k=1).fit(X, [0, 1, 1, 0])


@pytest.mark.parametrize("kind", [list, pd.Series, np.array])
def test_text_as_response_of_a_regressor_leads_to_the_classifier(kind):
    with pytest.raises(ValueError, match=r"y holds text.*L0Classifier"):
        l0path.L0Regressor(k=1).fit([[1.0], [2.0], [4.0]], kind(["stay", "go", "go"]))


@pytest.mark.parametrize(
    ("kind", "name", "remedy"),
    [
        ("L0Regressor", "positive", "write lower=0"),
        ("L0Regressor", "alpha", "lambda1= for the l1 norm and lambda2="),
        ("L0Regressor", "l1_ratio", "lambda1= for the l1 norm and lambda2="),
        ("L0Regressor", "normalize", "write standardize="),
        ("L0Regressor", "n_nonzero_coefs", "write k=$"),
        ("L0Regressor", "max_iter", r"LocalSearch\(max_iter=...\)"),
        ("L0Regressor", "cv", "estimators whose names end in CV take it"),
        ("L0Regressor", "support_size", "write k=$"),
        ("L0RegressorCV", "support_size", "write max_k="),
        ("L0Regressor", "fit_intercep", "did you mean fit_intercept="),
        ("L0RegressorCV", "k", "write max_k= .* rule="),
        ("L0RegressorCV", "n_nonzero_coefs", "write max_k="),
        ("L0Classifier", "penalty", "lambda2= for the ridge"),
        ("L0Classifier", "C", "write lambda2="),
        ("L0ClassifierCV", "Cs", "write lambda1="),
        ("L0Survival", "alpha", "write lambda1="),
        ("L0SurvivalCV", "l1_ratio", "write lambda1="),
        ("L0Equations", "scoring", "estimators whose names end in CV take it"),
        ("L0Equations", "alpha", "; write lambda2= for the ridge$"),
        ("L0Equations", "xyz", "(?<=')$"),
    ],
)
def test_arguments_of_scikit_learn_are_told_as_what_they_are_here(kind, name, remedy):
    estimator = getattr(l0path, kind)
    with pytest.raises(
        TypeError, match=rf"{kind}\(\) got an unexpected keyword argument '{name}'.*{remedy}"
    ):
        estimator(**{name: 1})
    assert "lambda2" in estimator().get_params()  # the signature is that of __init__
    if name == "positive":
        with pytest.raises(TypeError, match=r"fit\(\) got an .* 'positive'; write lower=0"):
            l0path.fit(np.eye(3), np.ones(3), positive=True)


def test_every_remedy_for_an_estimator_names_a_parameter_that_it_has():
    for kind in ("L0Regressor", "L0ClassifierCV", "L0Survival", "L0SurvivalCV", "L0Equations"):
        known = getattr(l0path, kind)().get_params()
        for name in set(OF_ESTIMATORS) - set(known):
            with pytest.raises(TypeError) as caught:
                getattr(l0path, kind)(**{name: 1})
            named = re.search(r"; write (\w+)=", str(caught.value))
            assert named is None or named[1] in known, (kind, name)
