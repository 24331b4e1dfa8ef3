"""Metrics by hand: classes, deviances, callables, hinge."""

import warnings

import numpy as np
import oracles
import pandas as pd
import pytest
from fold_samples import by_hand, metrics, model_selection, sample

import l0path
from l0path.cross_validation import scoring
from l0path.errors import SeparationWarning
from l0path.problem.verbs import value


def test_a_score_to_be_maximized_is_maximized():
    X, y = sample()
    kinds = {
        "r2": metrics.r2_score,
        "neg_mean_squared_error": lambda a, b: -metrics.mean_squared_error(a, b),
    }
    for name, by in kinds.items():
        cv = l0path.cv_fit(X, y, cv=model_selection.KFold(4), scoring=name, lambda2=0)
        theirs = by_hand(X, y, cv.splits, lambda a, b, w, by=by: by(a, b))
        np.testing.assert_allclose(cv.folds.iloc[:8], theirs, rtol=1e-8)
        assert cv.select() == cv.scores.cv_mean.idxmax()
        t = cv.scores
        assert (
            cv.select("1se")
            == t[t.cv_mean >= t.cv_mean.max() - t.cv_se[t.cv_mean.idxmax()]].n_features.idxmin()
        )


def test_class_metrics_by_hand():
    X, y = sample("classes", n=80)
    w = np.random.default_rng(0).uniform(0.5, 2, 80)

    def prob(eta):
        return 1 / (1 + np.exp(-eta))

    def yes(y):
        return y == "yes"

    kinds = {
        "auc": lambda y, e, w: metrics.roc_auc_score(yes(y), e, sample_weight=w),
        "roc_auc": lambda y, e, w: metrics.roc_auc_score(yes(y), e, sample_weight=w),
        "brier": lambda y, e, w: metrics.brier_score_loss(yes(y), prob(e), sample_weight=w),
        "neg_brier_score": lambda y, e, w: (
            -metrics.brier_score_loss(yes(y), prob(e), sample_weight=w)
        ),
        "misclassification": lambda y, e, w: (
            1 - metrics.accuracy_score(yes(y), e > 0, sample_weight=w)
        ),
        "accuracy": lambda y, e, w: metrics.accuracy_score(yes(y), e > 0, sample_weight=w),
        "neg_log_loss": lambda y, e, w: -metrics.log_loss(yes(y), prob(e), sample_weight=w),
        "deviance": lambda y, e, w: 2 * metrics.log_loss(yes(y), prob(e), sample_weight=w),
    }
    pairs = list(model_selection.StratifiedKFold(3).split(X, y))
    fit = {"loss": "logistic", "lambda2": 0.01, "max_k": 3, "sample_weight": w}
    paths = [
        l0path.fit(X[train], y[train], **fit | {"sample_weight": w[train]}) for train, _ in pairs
    ]
    for name, by in kinds.items():
        cv = l0path.cv_fit(X, y, cv=pairs, scoring=name, **fit)
        theirs = [
            [
                by(y[test], path.predict(X[test], index=i, type="link"), w[test])
                for path, (_, test) in zip(paths, pairs, strict=True)
            ]
            for i in range(4)
        ]
        np.testing.assert_allclose(cv.folds, theirs, rtol=1e-8, err_msg=name)
    f1 = metrics.make_scorer(metrics.f1_score, pos_label="yes")
    assert (l0path.cv_fit(X, y, cv=pairs, scoring=f1, **fit).folds.to_numpy() >= 0).all()


def test_scorers_of_scikit_learn_see_classes_in_sorted_order():
    # those of an ordered category dtype come in its order
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    codes = np.digitize(X[:, 0] + rng.logistic(size=90), [-0.7, 0.7])
    y = pd.Series(pd.Categorical.from_codes(codes, ["low", "mid", "high"], ordered=True))
    scorer = metrics.make_scorer(
        metrics.log_loss, response_method="predict_proba", greater_is_better=False
    )
    how = {"loss": "ordinal", "lambda2": 0.01, "max_k": 2, "cv": 3, "random_state": 0}
    ours, theirs = l0path.cv_fit(X, y, **how), l0path.cv_fit(X, y, scoring=scorer, **how)
    np.testing.assert_allclose(theirs.folds, -0.5 * ours.folds, rtol=1e-9)


def test_callable_scoring_gets_y_and_predictions_in_the_users_units():
    X, y = sample("classes")
    seen = []

    def gap(y, prediction, sample_weight):
        seen.append((set(y), prediction.min() >= 0, prediction.max() <= 1))
        return np.average(np.abs((y == "yes") - prediction), weights=sample_weight)

    cv = l0path.cv_fit(
        X, y, cv=3, loss="logistic", lambda2=0.1, max_k=2, scoring=gap, random_state=0
    )
    assert all(names <= {"yes", "no"} and low and high for names, low, high in seen)
    assert cv.select() == cv.scores.cv_mean.idxmin()
    gap.greater_is_better = True
    cv = l0path.cv_fit(
        X, y, cv=3, loss="logistic", lambda2=0.1, max_k=2, scoring=gap, random_state=0
    )
    assert cv.select() == cv.scores.cv_mean.idxmax()


def test_deviance_is_twice_the_loss_beyond_a_perfect_prediction():
    rng = np.random.default_rng(0)
    for name in oracles.LOSSES:  # other families: tests/families
        X, y = sample(
            "counts" if name == "poisson" else "real" if name in scoring.REAL else "classes"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            path = l0path.fit(X, y, loss=name, max_k=1, lambda2=0.1)
        loss, eta = path._loss_record(), rng.standard_normal(60)
        coded = y if name in scoring.REAL else np.where(y == "yes", 1.0, -1.0)
        rows = scoring.deviance_rows(scoring.HeldOutRows(coded, eta, np.ones(60), path))
        perfect = (
            [value(loss, t, np.log(t)) if t > 0 else 0.0 for t in coded]
            if name == "poisson"
            else np.zeros(60)
        )
        times = 1 if name in scoring.HINGES else 2
        np.testing.assert_allclose(
            rows,
            [
                times * (value(loss, t, e) - best)
                for t, e, best in zip(coded, eta, perfect, strict=True)
            ],
            atol=1e-12,
        )


def test_the_hinge_is_cross_validated_where_it_is_fitted_exactly():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 3))
    y = np.where(X[:, 0] - X[:, 1] + rng.standard_normal(30) > 0, "b", "a")
    same = {"loss": "hinge", "algorithm": "exact", "lambda2": 0.01, "max_k": 2}
    halves = np.arange(30) < 15
    cv = l0path.cv_fit(X, y, cv=[(halves, ~halves), (~halves, halves)], **same)
    eta = l0path.fit(X[halves], y[halves], **same).predict(X[~halves], k=2)
    assert cv.folds.iloc[2, 0] == pytest.approx(
        np.maximum(0, 1 - np.where(y[~halves] == "b", 1, -1) * eta).mean(), rel=1e-6
    )
    assert set(
        l0path.L0ClassifierCV(
            2, cv=2, loss="hinge", algorithm="exact", lambda2=0.01, random_state=0
        )
        .fit(X, y)
        .predict(X)
    ) == {"a", "b"}
    with pytest.raises(ValueError, match="algorithm='exact' only"):
        l0path.cv_fit(X, y, loss="hinge")


def test_scorers_of_scikit_learn_take_several_responses():
    X, y = sample()
    Y = np.column_stack([y, X[:, 0] - 2.0 * y])
    options = {"cv": model_selection.KFold(3), "max_k": 2, "certify": False}
    cv = l0path.cv_fit(X, Y, scoring="neg_mean_absolute_error", **options)
    np.testing.assert_allclose(cv.scores.cv_mean, -cv.rescore("mae").scores.cv_mean, rtol=1e-12)
    own = cv.rescore(metrics.make_scorer(metrics.r2_score))
    np.testing.assert_allclose(own.scores.cv_mean, cv.rescore("r2").scores.cv_mean, rtol=1e-12)


@pytest.mark.parametrize("loss", ["multinomial", "ordinal"])
def test_scores_of_rows_that_lack_a_class(loss):
    X, y = sample(n=90)
    y = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    path = l0path.fit(X, y, loss=loss, lambda2=0.1, max_k=1, certify=False)
    few = y < 2
    scores = path.model(k=1).score(X[few], y[few])
    assert np.isnan(scores["auc"]) and np.isfinite(scores.drop("auc")).all()
    assert np.isfinite(path.model(k=1).score(X, y)).all()
    with pytest.raises(ValueError, match=r"the rows that are scored.* \(2 missing\)"):
        path.validate(X[few], y[few], scoring="auc")
    with pytest.raises(ValueError, match=r"cv\[3\]\.score\(X, y\) has all metrics"):
        path.validate(X[few], y[few]).metrics()


@pytest.mark.parametrize(
    ("meant", "near"), [("rsme", "rmse"), ("roc-auc", "roc_auc"), ("Accuracy", "accuracy")]
)
def test_a_metric_that_is_not_known_is_told_with_the_one_meant(meant, near):
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(ValueError, match=f"scoring='{meant}' is not known; did you mean '{near}'"):
        l0path.cv_fit(X, X[:, 0] > 0, scoring=meant)


@pytest.mark.parametrize("loss", ["squared", "several responses", "multinomial", "ordinal"])
@pytest.mark.parametrize("gathered", [1, 200, 1 << 22])
def test_fits_are_scored_together_as_one_by_one(loss, gathered, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    eta = X[:, 0] + rng.normal(size=60)
    several = loss == "several responses"
    y = np.column_stack([eta, X[:, 1] + eta]) if several else eta
    if loss in ("multinomial", "ordinal"):
        y = np.digitize(eta, [-0.5, 0.5])
    weight = rng.uniform(0.5, 2.0, 60) * (np.arange(60) % 7 > 0)
    given = {"sample_weight": weight, "offset": rng.normal(size=60) if loss == "squared" else None}
    path = l0path.fit(X, y, loss="squared" if several else loss, lambda2=0.01, max_k=5, **given)
    data, split = path._data(), (np.arange(40), np.arange(38, 60))
    monkeypatch.setattr(scoring, "GATHERED", gathered)
    for name in scoring.metrics_for(path._meta.loss):
        metric = scoring.metric_of(name, path._meta.loss)
        held = list(scoring.held_out_rows(path, data, path._solutions, split))
        for s, one in zip(path._solutions, held, strict=True):
            alone = next(scoring.held_out_rows(path, data, [s], split))
            np.testing.assert_allclose(one.eta, alone.eta, rtol=0, atol=1e-13)
        alone = [scoring.score(metric, one) for one in held]
        np.testing.assert_allclose(list(scoring.scores(metric, held)), alone, rtol=1e-13)
