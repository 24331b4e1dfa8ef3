"""`L0Classifier` and `L0ClassifierCV`: labels of every kind, more than two classes, classes with an
order.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from estimator_samples import sample
from lazy import lazy

import l0path

clone = lazy("sklearn.base", "clone")
CalibratedClassifierCV = lazy("sklearn.calibration", "CalibratedClassifierCV")
StratifiedKFold = lazy("sklearn.model_selection", "StratifiedKFold")
cross_val_score = lazy("sklearn.model_selection", "cross_val_score")
OneVsRestClassifier = lazy("sklearn.multiclass", "OneVsRestClassifier")
check_estimator = lazy("sklearn.utils.estimator_checks", "check_estimator")


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "smoothed_hinge"])
def test_a_classifier_is_the_model_of_its_size(loss):
    X, y = sample("classes")
    path = l0path.fit(X, y, loss=loss, lambda2=1e-3, max_k=2, class_weight="balanced")
    est = l0path.L0Classifier(2, loss=loss, class_weight="balanced").fit(X, y)
    assert est.coef_.shape == (1, 8)
    np.testing.assert_array_equal(est.coef_[0], path.coef(k=2, full=True)[1:])
    np.testing.assert_array_equal(est.classes_, ["no", "yes"])
    np.testing.assert_array_equal(est.predict(X), path.predict(X, k=2, type="class"))
    np.testing.assert_allclose(
        est.decision_function(X), X @ est.coef_[0] + est.intercept_[0], rtol=1e-10, atol=1e-12
    )
    if loss == "logistic":
        np.testing.assert_allclose(est.predict_proba(X)[:, 1], path.predict(X, k=2), rtol=1e-14)
        np.testing.assert_allclose(
            np.exp(est.predict_log_proba(X)), est.predict_proba(X), rtol=1e-12
        )
        far = est.predict_log_proba(X * 1e4)
        assert np.isfinite(far).all() and np.isfinite(est.predict_proba(X * 1e4)).all()
        assert CalibratedClassifierCV(est, cv=3).fit(X, y).predict(X).shape == (90,)
    else:
        assert not hasattr(est, "predict_proba")


LABELS = [
    ("no", "yes"),
    (False, True),
    (-1, 1),
    (3, 7),
    (0.0, 1.0),
    ("b", "a"),
    (np.int8(1), np.int8(0)),
]


@pytest.mark.parametrize("pair", LABELS)
def test_labels_of_every_dtype(pair):
    X, y = sample("classes")
    base = l0path.L0Classifier(2).fit(X, y == "yes" if pair[0] < pair[1] else y == "no")
    labels = np.where(y == "yes", pair[1], pair[0])
    boxed = np.empty(y.size, dtype=object)
    boxed[:] = labels.tolist()
    kinds = [
        labels,
        boxed,
        pd.Series(labels),
        pd.Series(labels).astype("category"),
        pd.Series(labels).convert_dtypes(),
        labels.tolist(),
    ]
    for given in kinds:
        est = l0path.L0Classifier(2).fit(X, given)
        assert est.classes_.tolist() == sorted(pair)
        np.testing.assert_array_equal(est.coef_, base.coef_)
        assert np.mean(est.predict(X) == labels) > 0.7
    weights = {pair[0]: 2.0, pair[1]: 0.5}
    dressed = l0path.L0Classifier(2, class_weight=weights).fit(X, labels)
    by_row = l0path.L0Classifier(2).fit(
        X, labels, sample_weight=[weights[v] for v in labels.tolist()]
    )
    np.testing.assert_allclose(dressed.coef_, by_row.coef_, rtol=1e-9)


def test_more_than_two_classes_are_multinomial_by_default():
    X, _ = sample()
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 1], [0.5, 1.5])]
    path = l0path.fit(X, y, loss="multinomial", lambda2=1e-3, max_k=2, class_weight="balanced")
    est = l0path.L0Classifier(2, class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(est.coef_.T, path.coef(k=2, full=True)[1:])
    np.testing.assert_array_equal(est.classes_, ["high", "low", "mid"])
    np.testing.assert_array_equal(est.predict(X), path.predict(X, k=2, type="class"))
    np.testing.assert_allclose(est.predict_proba(X), path.predict(X, k=2), rtol=1e-12)
    assert est.path_.loss.name == "multinomial" and est.decision_function(X).shape == (90, 3)
    chosen = l0path.L0ClassifierCV(max_k=2, cv=3, scoring="accuracy", random_state=0).fit(X, y)
    own = l0path.cv_fit(X, y, loss="multinomial", max_k=2, cv=3, scoring="accuracy", random_state=0)
    np.testing.assert_allclose(chosen.cv_.scores.cv_mean, own.scores.cv_mean)
    assert OneVsRestClassifier(l0path.L0Classifier(1)).fit(X, y).score(X, y) > 0.6
    with pytest.raises(ValueError, match=r"Only binary classification.*loss='logistic'"):
        l0path.L0Classifier(1, loss="squared_hinge").fit(X, y)


@pytest.mark.parametrize("kind", ["numbers", "texts", "two"])
def test_ordered_classes_keep_their_order(kind, tmp_path):
    X, _ = sample()
    codes = np.digitize(X[:, 1] + 0.3 * X[:, 4], [1.0] if kind == "two" else [0.5, 1.8])
    order = [3, 5, 9] if kind == "numbers" else ["small", "medium", "big"]
    labels = np.array(order)[codes]
    y = labels if kind == "numbers" else pd.Categorical(labels, order, ordered=True)
    if kind == "texts":
        y = pd.Series(y, index=np.arange(90)[::-1])
    path = l0path.fit(X, y, loss="ordinal", lambda2=1e-3, max_k=2)
    est = clone(l0path.L0Classifier(2, loss="ordinal")).fit(X, y)
    assert est.classes_.tolist() == sorted(set(labels)) and est.path_.classes == path.classes
    np.testing.assert_allclose(est.coef_[0], path.coef(k=2, full=True)[len(est.intercept_) :])
    np.testing.assert_allclose(-est.intercept_, path.model(k=2).intercept)
    probability = pd.DataFrame(path.predict(X, k=2), columns=path.classes)[list(est.classes_)]
    np.testing.assert_allclose(est.predict_proba(X), probability, rtol=1e-12)
    np.testing.assert_allclose(est.predict_log_proba(X), np.log(probability), rtol=1e-9)
    np.testing.assert_array_equal(est.predict(X), probability.idxmax(axis=1))
    assert est.score(X, labels) > 0.8 and est.get_support(indices=True).tolist() == [1, 4]
    again = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(again.decision_function(X), est.decision_function(X))
    kept = clone(est).set_params(memory=str(tmp_path))
    np.testing.assert_array_equal(kept.fit(X, y).coef_, kept.fit(X, y).coef_)


def test_ordered_classes_in_folds_and_searches():
    X, _ = sample()
    order = ["small", "medium", "big"]
    labels = np.array(order)[np.digitize(X[:, 1] + 0.3 * X[:, 4], [0.5, 1.8])]
    y = pd.Series(pd.Categorical(labels, order, ordered=True))
    same = {"max_k": 2, "cv": 3, "random_state": 0, "loss": "ordinal"}
    chosen = l0path.L0ClassifierCV(**same).fit(X, y)
    own = l0path.cv_fit(X, y, **same)
    np.testing.assert_allclose(chosen.cv_.scores.cv_mean, own.scores.cv_mean)
    folds = StratifiedKFold(3)
    found = cross_val_score(
        l0path.L0Classifier(2, loss="ordinal"), X, y, cv=folds, scoring="neg_log_loss"
    )
    for score, (train, test) in zip(found, folds.split(X, labels), strict=True):
        path = l0path.fit(X[train], y.iloc[train], loss="ordinal", lambda2=1e-3, max_k=2)
        assert score == pytest.approx(-path.model(k=2).score(X[test], y.iloc[test])["deviance"] / 2)
    with pytest.raises(ValueError, match=r"whose order is not known.*pd.Categorical"):
        l0path.L0Classifier(2, loss="ordinal").fit(X, labels)
    with pytest.raises(ValueError, match="use L0Classifier"):
        l0path.L0Regressor(2, loss="ordinal").fit(X, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_checks_of_scikit_learn_for_ordered_classes():
    expected = {
        "check_classifiers_classes": "its texts have no order, which is refused",
        "check_classifiers_train": "one direction does not part three clouds without an order",
    }
    check_estimator(
        l0path.L0Classifier(loss="ordinal"), on_skip=None, expected_failed_checks=expected
    )


@pytest.mark.parametrize("numbers", [float, int, np.random.default_rng(0).normal])
def test_amounts_are_not_taken_for_classes(numbers):
    rng = np.random.default_rng(3)
    X, amounts = rng.standard_normal((300, 4)), np.arange(300) // 2
    y = np.array([numbers(v) for v in amounts])
    message = f"y has {np.unique(y).size} different numbers.* in 300 rows.*l0path.L0RegressorCV"
    for estimator in (l0path.L0Classifier(2), l0path.L0ClassifierCV(max_k=2)):
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, y)
    with pytest.raises(ValueError, match=r"different numbers.*loss='squared'"):
        l0path.fit(X, y, loss="multinomial")
    # many labels are classes where each has rows enough, or where they are texts
    codes = np.arange(300) % 25
    assert l0path.L0Classifier(1).fit(X, codes).classes_.size == 25
    assert l0path.L0Classifier(1).fit(X[:60], codes[:60].astype(str)).classes_.size == 25
    if numbers is int:  # ordered numbers may be many: they have one coefficient a column
        assert l0path.L0Classifier(1, loss="ordinal").fit(X[:60], y[:60]).classes_.size == 30


@pytest.mark.parametrize("number", [2, 3, 7])
@pytest.mark.parametrize("k", [0, 1])
def test_labels_are_those_of_largest_probability_where_classes_are_equal(number, k):
    X = np.random.default_rng(0).normal(size=(7 * number, 3))
    y = np.arange(len(X)) % number
    loss = "logistic" if number == 2 else "multinomial"
    est = l0path.L0Classifier(k=k, loss=loss).fit(X, y)
    likely = est.predict_proba(X)
    np.testing.assert_array_equal(est.predict(X), est.classes_[likely.argmax(axis=1)])
    if number > 2:
        labels = np.asarray(est.path_.classes)[est.path_.predict(X, k=k).argmax(axis=1)]
        np.testing.assert_array_equal(est.path_.predict(X, k=k, type="class"), labels)


def test_a_predictor_that_is_lost_in_rounding_leaves_probabilities_equal(monkeypatch):
    X, y = sample("classes")
    est = l0path.L0Classifier(1).fit(X, y)
    monkeypatch.setattr(type(est), "decision_function", lambda self, X: np.array([1e-18, -1e-18]))
    np.testing.assert_array_equal(est.predict_proba(X), np.full((2, 2), 0.5))
    np.testing.assert_array_equal(est.predict(X), est.classes_[[0, 0]])
