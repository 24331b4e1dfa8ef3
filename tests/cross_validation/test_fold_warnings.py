"""Warnings, errors and notes of folds: told once, by thread, with the remedy."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from fold_samples import joblib, metrics, model_selection, sample

import l0path
from l0path.core.warnings import recorded
from l0path.cross_validation import run, splits
from l0path.engine import run as engine
from l0path.errors import SeparationWarning


def test_a_fold_that_ends_early_repeats_its_last_solution_and_warns_once():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    y = (X[:, 0] > 0).astype(int)
    X[0, 0], y[0] = (
        3.0,
        0,
    )  # only this row keeps the classes from being separable: the fold without it separates
    ids = np.where(np.arange(40) == 0, 0, 1 + np.arange(40) % 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cv = l0path.cv_fit(X, y, cv=ids, loss="logistic", max_k=3, lambda2=0)
    assert [w.category for w in caught] == [SeparationWarning]
    assert caught[0].filename == __file__
    flagged = cv._repeated.to_numpy()
    assert flagged.any() and not flagged[0].any()
    scores = cv.folds.to_numpy()
    for i, j in zip(*np.nonzero(flagged), strict=True):
        assert scores[i, j] == scores[i - 1, j]
    assert any("last solution is repeated" in note for note in cv.notes)
    short = l0path.cv_fit(
        rng.standard_normal((20, 30)),
        rng.standard_normal(20),
        cv=2,
        max_k=15,
        random_state=0,
        lambda2=0,
    )
    assert short._repeated.to_numpy()[-1].all()


@pytest.mark.parametrize(
    "change, match",
    [
        ({"cv": 1}, "cv=1"),
        ({"cv": "ten"}, "cv="),
        ({"cv": None}, "cv="),
        ({"cv": 100}, "at least as many rows"),
        ({"cv": np.zeros(60)}, "one fold only"),
        ({"cv": np.arange(30)}, "60 rows"),
        ({"cv": [(np.arange(5), np.array([60]))]}, "rows 0..59"),
        ({"cv": [(np.arange(5), np.array([], dtype=int))]}, "non-empty"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"cv": [([0, 1], [2])], "groups_cv": np.arange(60)}, "groups_cv"),
        ({"groups_cv": np.arange(5)}, "60 rows"),
        ({"groups_cv": "clinic"}, r"pass the labels, X\['clinic'\]"),
        ({"groups_cv": np.arange(60) % 2}, "at least as many groups"),
        ({"scoring": "auc"}, "'mse'"),
        ({"scoring": "nonsense"}, "not known"),
        ({"scoring": 3}, "scoring=3"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"time_limit": -1}, "time_limit"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "a"}, "random_state"),
        ({"scoring": "r2", "cv": 60}, "two held-out rows"),
        ({"scoring": lambda y, prediction, sample_weight: prediction}, "one number"),
    ],
)
def test_errors_name_the_argument_and_the_remedy(change, match):
    X, y = sample()
    with pytest.raises((ValueError, TypeError), match=match):
        l0path.cv_fit(X, y, **{"cv": 3, "max_k": 1} | change)


def test_repeats_of_a_splitter_are_its_own_business():
    X, y = sample()
    with pytest.raises(ValueError, match="RepeatedKFold"):
        l0path.cv_fit(X, y, cv=model_selection.KFold(3), n_repeats=2, max_k=1)


def test_folds_that_cannot_be_fitted_or_scored_say_so():
    X, y = sample("classes")
    order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match="stratify"):
        l0path.cv_fit(
            X,
            y,
            cv=[(order[:10], order[10:]), (order[10:], order[:10])],
            loss="logistic",
            lambda2=0.1,
            max_k=1,
        )
    with pytest.raises(ValueError, match="needs both classes"):
        l0path.cv_fit(X, y, cv=60, loss="logistic", lambda2=0.1, max_k=0, scoring="auc")
    with pytest.raises(ValueError, match="too many for classes"):
        l0path.cv_fit(X, y, cv=50, loss="logistic", lambda2=0.1, max_k=1)
    with pytest.raises(ValueError, match="brier"):
        l0path.cv_fit(X, y, loss="squared_hinge", max_k=1, scoring="brier")
    counts = np.where(np.arange(60) < 5, 3.0, 0.0)
    with pytest.raises(ValueError, match="zero in every training row"):
        l0path.cv_fit(
            X, counts, cv=[(np.arange(10, 60), np.arange(10))] * 2, loss="poisson", max_k=0
        )
    assert splits.whole(3, "cv", 2) == 3


def test_edges_are_noted():
    X, y = sample(n=200)
    cv = l0path.cv_fit(X, y, cv=3, random_state=0, lambda2=[30.0, 10.0], max_k=1)
    assert any("smallest lambda2" in note for note in cv.notes)
    assert any("raise max_k" in note for note in cv.notes)


def test_edges_are_noted_only_where_a_larger_path_exists():
    X, _ = sample()
    y = X @ np.linspace(1, 2, 7) + 0.01 * np.random.default_rng(1).standard_normal(60)
    assert not l0path.cv_fit(
        X, y, cv=3, exclude=[0], random_state=0
    ).notes  # all that may be chosen are
    X[:, 0] = 1.0
    cv = l0path.cv_fit(X, y, cv=3, random_state=0)
    assert cv.model(index=cv.select()).k == 6 and not any(
        "raise max_k" in note for note in cv.notes
    )
    assert any(
        "raise max_k" in note for note in l0path.cv_fit(X, y, cv=3, max_k=4, random_state=0).notes
    )


def test_a_metric_that_does_not_fit_is_refused_before_the_folds_are_solved(monkeypatch):
    X, y = sample()
    monkeypatch.setattr(run, "_run_folds", lambda *_: pytest.fail("folds were solved"))
    with pytest.raises(
        TypeError,
        match=r"scoring=mean_absolute_error cannot be called as f\(y, prediction, "
        r"sample_weight\).*make_scorer\(mean_absolute_error\)",
    ):
        l0path.cv_fit(X, y, scoring=metrics.mean_absolute_error, max_k=2)
    with pytest.raises(
        ValueError, match="scoring='roc_auc' needs classes, which loss='squared' does not have"
    ):
        l0path.cv_fit(X, y, scoring="roc_auc", max_k=2)
    with pytest.raises(
        ValueError,
        match="'neg_log_loss' needs probabilities, which loss='squared_hinge' does not have",
    ):
        l0path.cv_fit(X, y > 0, scoring="neg_log_loss", loss="squared_hinge", lambda2=0.1, max_k=2)
    with pytest.raises(ZeroDivisionError):
        l0path.cv_fit(X, y, scoring=lambda y, prediction, w: 1 / 0, max_k=2)


@pytest.mark.parametrize("method", ["validate", "score"])
def test_labels_of_other_rows_are_read_as_those_of_the_fit(method):
    X, y = sample("classes")
    path = l0path.fit(X, y, loss="logistic", max_k=2)

    def read(labels):
        return (
            path.validate(X, labels).scores.cv_mean[1]
            if method == "validate"
            else path.model(k=1).score(X, labels).deviance
        )

    for labels in (
        y.tolist(),
        y[:, None],
        pd.Categorical(y),
        pd.Series(y, dtype="string"),
        pd.DataFrame({"y": y}),
    ):
        assert read(labels) == read(y)
    missing = pd.Series(y, dtype="string")
    missing[4] = pd.NA
    for labels, match in (
        (missing, "y has 1 missing values of 60, the first at position 4"),
        (y.reshape(30, 2), r"y has shape \(30, 2\)"),
        (
            np.where(y == "yes", "yes", "maybe"),
            "y holds the label 'maybe', which is not a class of the fit: it had 'no' and 'yes'",
        ),
    ):
        with pytest.raises(ValueError, match=match):
            read(labels)


def test_warnings_are_recorded_by_thread():
    """Two threads whose records overlap in time: each has its own, the state of `warnings` is the
    old one afterwards, and warnings of a third thread are not lost.
    """
    at, found = threading.Barrier(2, timeout=20), {}

    def first():
        with recorded() as found["first"]:
            at.wait()  # both records are open
            warnings.warn("first", stacklevel=1)
            at.wait()  # both have warned
        at.wait()  # this record is closed

    def second():
        with recorded() as found["second"]:
            at.wait()
            warnings.warn("second", stacklevel=1)
            at.wait()
            at.wait()
            warnings.warn("again", stacklevel=1)
            other = threading.Thread(target=warnings.warn, args=("other",))
            other.start()
            other.join()

    before = list(warnings.filters), warnings.showwarning
    threads = [threading.Thread(target=task) for task in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: [str(w.message) for w in record] for name, record in found.items()} == {
        "first": ["first"],
        "second": ["second", "again", "other"],
    }
    assert (list(warnings.filters), warnings.showwarning) == before


@pytest.mark.parametrize("call", ["cv_fit", "stability_selection", "split_inference"])
def test_folds_in_threads_warn_as_those_in_turn(call):
    """Warnings are errors here: one that escaped its record would end the run."""
    X, _ = sample()
    options = {
        "cv_fit": {"cv": 8, "lambda2": 0},
        "stability_selection": {"n_subsamples": 12, "k": 2},
        "split_inference": {"n_splits": 6, "k": 1},
    }[call]
    told = []
    for jobs in (1, 4):
        with joblib.parallel_config(backend="threading", n_jobs=jobs), pytest.warns() as caught:
            getattr(l0path, call)(
                X,
                X[:, 1] > 1,
                loss="logistic",
                random_state=0,
                max_k=2 if call != "split_inference" else None,
                **options,
            )
        told.append([(w.category, str(w.message)) for w in caught])
    assert told[0] == told[1] and {category for category, _ in told[0]} == {SeparationWarning}


def test_rows_of_other_indexes_are_refused_everywhere():
    """Fold ids, groups and offsets that are Series belong to the rows of their index, like y and
    weights.
    """
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.standard_normal((40, 4)))
    y, turned = pd.Series(X[0] + rng.standard_normal(40)), np.arange(40)[::-1]
    ids, offset = pd.Series(np.arange(40) % 4), pd.Series(0.1 * rng.standard_normal(40))
    path, classes = (
        l0path.fit(X, y, offset=offset, max_k=2),
        l0path.fit(X, y > 0, loss="logistic", lambda2=0.01, max_k=1),
    )
    for call, name in [
        (lambda: l0path.cv_fit(X, y, cv=ids[turned], max_k=1), "cv"),
        (lambda: l0path.cv_fit(X, y, cv=2, groups_cv=ids[turned], max_k=1), "groups_cv"),
        (lambda: l0path.nested_cv(X, y, outer=ids[turned], cv=2, max_k=1), "outer"),
        (lambda: path.predict(X, k=1, offset=offset[turned]), "offset"),
        (lambda: classes.model(k=1).plot("roc", X, (y > 0)[turned]), "y"),
        (lambda: classes.model(k=1).plot("calibration", X, (y > 0)[turned]), "y"),
    ]:
        with pytest.raises(ValueError, match=f"X and {name} have different indexes"):
            call()
    with pytest.raises(ValueError, match="y and cv have different indexes"):
        l0path.cv_fit(X.to_numpy(), y, cv=ids[turned], max_k=1)
    np.testing.assert_array_equal(
        l0path.cv_fit(X, y, cv=ids, max_k=1).folds,
        l0path.cv_fit(X, y, cv=ids.to_numpy(), max_k=1).folds,
    )


def test_scores_whose_squares_overflow_are_no_warning():
    """A model of counts may predict exp(400) of a held-out row; numpy warned of its square."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 40))
    y = np.exp(X[:, 3] + rng.normal(size=20)).round()
    cv = l0path.cv_fit(X, y, loss="poisson", cv=5, random_state=0)  # warnings are errors in tests
    mean = cv.scores.cv_mean
    large = mean.index[(mean > 1e160) & np.isfinite(mean)]
    assert large.size and np.isinf(cv.scores.cv_se[large]).all()
    assert cv.model("1se").k <= cv.model().k <= 10
    apart = cv.difference(cv, "min", lambda path: int(large[0]))
    assert np.isinf(apart["se"]) and np.isinf(apart["se_corrected"])


def test_predictions_that_overflow_have_an_r2_of_minus_infinity():
    """Metrics of counts failed, for scikit-learn refuses infinite predictions."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 40))
    y = np.exp(X[:, 3] + rng.normal(size=20)).round()
    cv = l0path.cv_fit(X, y, loss="poisson", cv=5, random_state=0)
    infinite = cv.scores.index[np.isinf(cv.scores.cv_mean)]
    r2 = cv.metrics().loc[infinite, "r2"]
    assert infinite.size and (r2 == -np.inf).all()
    assert np.isfinite(cv.rescore("r2").model().score(X, y)["r2"])


def test_names_of_what_separates_are_not_looked_for_in_folds(monkeypatch):
    told, own = [], engine.story

    def counted(*given):
        told.append(own(*given))
        return told[-1]

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    X[:, 0] = np.arange(60) < 15
    y = (X[:, 1] + rng.logistic(size=60) > 0).astype(int)
    y[:15] = 1
    monkeypatch.setattr(engine, "story", counted)
    with pytest.warns(SeparationWarning, match="by x0.*also in 10 of 10 folds"):
        l0path.cv_fit(X, y, loss="logistic", lambda2=0, random_state=0)
    assert told == ["at k = 1..4 features separate the classes quasi-completely by x0"]
