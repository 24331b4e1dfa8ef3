"""Nested cross-validation against the loop written out, and `cv_fit` under every kind of
scikit-learn splitter.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from lazy import lazy
from thinning import thinned

import l0path
from l0path.core.status import End
from l0path.cross_validation import nested
from l0path.designs import as_design
from l0path.errors import SeparationWarning

metrics = lazy("sklearn.metrics")
model_selection = lazy("sklearn.model_selection")


def sample(kind="real", n=90, p=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    eta = X[:, 1] - 0.6 * X[:, 4] + 0.3
    if kind == "real":
        return X, eta + rng.standard_normal(n)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")


GROUPS = np.arange(90) // 6
SPLITTERS = [
    ("KFold", dict(n_splits=4)),
    ("RepeatedKFold", dict(n_splits=3, n_repeats=2, random_state=0)),
    ("ShuffleSplit", dict(n_splits=3, random_state=0)),
    ("PredefinedSplit", dict(test_fold=np.arange(90) % 5 - 1)),
    ("StratifiedKFold", dict(n_splits=4)),
    ("RepeatedStratifiedKFold", dict(n_splits=3, n_repeats=2, random_state=0)),
    ("StratifiedShuffleSplit", dict(n_splits=3, random_state=0)),
    ("GroupKFold", dict(n_splits=4)),
    ("StratifiedGroupKFold", dict(n_splits=3)),
    ("LeavePGroupsOut", dict(n_groups=14)),
    ("GroupShuffleSplit", dict(n_splits=3, random_state=0)),
    ("TimeSeriesSplit", dict(n_splits=4)),
    ("TimeSeriesSplit", dict(n_splits=3, gap=2, max_train_size=40)),
]


def weighted_auc(y, prediction, sample_weight):
    return metrics.roc_auc_score(y == "yes", prediction, sample_weight=sample_weight)


@pytest.mark.parametrize("name, arguments", SPLITTERS)
def test_every_splitter_gives_the_scores_of_the_loop_written_out(name, arguments):
    splitter = getattr(model_selection, name)(**arguments)
    X, y = sample("classes")
    groups = GROUPS if "Group" in name else None  # scikit-learn warns where groups are ignored
    cv = l0path.cv_fit(
        X, y, cv=splitter, groups_cv=groups, loss="logistic", lambda2=0.05, max_k=2, scoring="brier"
    )
    pairs = list(splitter.split(X, y, groups))
    assert cv.folds.shape == (3, len(pairs))
    for column, (train, test) in enumerate(pairs):
        path = l0path.fit(X[train], y[train], loss="logistic", lambda2=0.05, max_k=2)
        np.testing.assert_allclose(
            cv.folds[column],
            [
                metrics.brier_score_loss(y[test] == "yes", path.predict(X[test], k=k))
                for k in range(3)
            ],
            rtol=1e-7,
        )
    repeats = getattr(splitter, "n_repeats", 1)
    parts = np.split(cv.folds.to_numpy(), repeats, axis=1)
    square = np.mean([part.var(axis=1, ddof=1) / part.shape[1] for part in parts], axis=0)
    np.testing.assert_allclose(cv.scores.cv_se, np.sqrt(square), rtol=1e-12)
    rows = np.unique(np.concatenate([test for _, test in pairs]))
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(cv.held_out(k=1))), rows)


SCORED = {
    "mse": ("real", {}, None, lazy("sklearn.metrics", "mean_squared_error")),
    "mae": (
        "real",
        {"lambda2": [0.3, 0.01]},
        "mae",
        lazy("sklearn.metrics", "mean_absolute_error"),
    ),
    "auc": (
        "classes",
        {"loss": "logistic", "lambda2": 0.05, "class_weight": "balanced"},
        "auc",
        weighted_auc,
    ),
}


@pytest.mark.parametrize(("score", "which"), thinned(2, SCORED, ("min", "1se")))
def test_nested_scores_are_those_of_the_loop_written_out(score, which):
    kind, fit, scoring, metric = SCORED[score]
    X, y = sample(kind)
    rng = np.random.default_rng(3)
    w, o = rng.uniform(0.5, 2, 90), 0.2 * rng.standard_normal(90)
    folds = model_selection.KFold if kind == "real" else model_selection.StratifiedKFold
    outer, inner = folds(3, shuffle=True, random_state=1), folds(4, shuffle=True, random_state=2)
    nested = l0path.nested_cv(
        X,
        y,
        outer=outer,
        cv=inner,
        rule=which,
        scoring=scoring,
        sample_weight=w,
        offset=o,
        max_k=4,
        **fit,
    )
    held = np.empty(90)
    for i, (train, test) in enumerate(outer.split(X, y)):
        cv = l0path.cv_fit(
            X[train],
            y[train],
            cv=inner,
            scoring=scoring,
            sample_weight=w[train],
            offset=o[train],
            max_k=4,
            **fit,
        )
        at = cv.select(which)
        held[test] = cv.predict(X[test], index=at, offset=o[test])
        row = nested.table.loc[i]
        assert row["score"] == pytest.approx(
            metric(y[test], held[test], sample_weight=w[test]), rel=1e-9
        )
        assert (row["k"], row["lambda2"], row["inner_mean"]) == (
            cv.scores.k[at],
            cv.scores.lambda2[at],
            pytest.approx(cv.scores.cv_mean[at]),
        )
        assert (row["n_train"], row["n_test"]) == (train.size, test.size)
        np.testing.assert_array_equal(nested.models[i].support, cv.support(index=at))
    np.testing.assert_allclose(nested.held_out, held, rtol=1e-12)
    scores = nested.table.score.to_numpy()
    assert (nested.mean, nested.sd, nested.se) == pytest.approx(
        (scores.mean(), scores.std(ddof=1), scores.std(ddof=1) / np.sqrt(3))
    )
    assert nested.greater_is_better == (scoring == "auc")


def test_the_best_inner_score_is_optimistic_on_noise():
    """With nothing to find, the score by which a model was picked is better than that of the pick
    on rows it has not seen: what nested cross-validation is for.
    """
    gaps = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((40, 30)), rng.standard_normal(40)
        nested = l0path.nested_cv(X, y, cv=5, max_k=8, lambda2=0, random_state=seed)
        gaps.append(nested.mean - nested.table.inner_mean.mean())
    assert np.mean(gaps) > 0


def test_containers_integers_repeats_groups_and_processes_give_the_same():
    X, y = sample()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    fit = {"outer": 3, "cv": 4, "max_k": 3, "random_state": 7, "lambda2": 0}
    base = l0path.nested_cv(X, y, **fit)
    assert [np.sort(test).tolist() for _, test in base.splits] == [
        test.tolist() for _, test in model_selection.KFold(3, shuffle=True, random_state=7).split(X)
    ]
    index = np.arange(90)[::-1]
    for other in (
        l0path.nested_cv(pd.DataFrame(X, index=index), pd.Series(y, index=index), **fit),
        l0path.nested_cv(sp.coo_array(X), y, **fit),
        l0path.nested_cv(X.tolist(), y.tolist(), **fit),
        l0path.nested_cv(X, pd.DataFrame({"y": y}), sample_weight=2.0, **fit),
        l0path.nested_cv(X, y, n_jobs=2, **fit),
        l0path.nested_cv(X, y, **fit | {"outer": base.splits}),
    ):
        assert other.table.k.equals(base.table.k)
        np.testing.assert_allclose(other.table.score, base.table.score, rtol=1e-9)
        np.testing.assert_allclose(other.held_out, base.held_out, rtol=1e-9)
    twice = l0path.nested_cv(X, y, n_repeats=2, **fit)
    assert len(twice) == 6
    np.testing.assert_allclose(twice.table.score[:3], base.table.score, rtol=1e-12)
    grouped = l0path.nested_cv(X, y, groups_cv=[f"g{i}" for i in GROUPS], **fit)
    for train, test in grouped.splits:
        assert not set(GROUPS[train]) & set(GROUPS[test])
    later = l0path.nested_cv(
        X,
        y,
        **fit
        | {"outer": model_selection.TimeSeriesSplit(3), "cv": model_selection.TimeSeriesSplit(3)},
    )
    assert np.isnan(later.held_out).sum() == 24
    again = pickle.loads(pickle.dumps(base))
    assert again.table.equals(base.table) and "3 outer folds" in repr(again)
    categories = l0path.nested_cv(
        *sample("classes"),
        loss="logistic",
        lambda2=0.1,
        outer=3,
        cv=3,
        max_k=2,
        random_state=0,
        scoring="misclassification",
    )
    X, z = sample("classes")
    np.testing.assert_allclose(
        l0path.nested_cv(
            X,
            pd.Series(z, dtype="category"),
            loss="logistic",
            lambda2=0.1,
            outer=3,
            cv=3,
            max_k=2,
            random_state=0,
            scoring="misclassification",
        ).table.score,
        categories.table.score,
    )


def test_serial_and_parallel_folds_are_identical():
    for kind, fit in (
        ("real", {"lambda2": [1.0, 0.0]}),
        ("classes", {"loss": "logistic", "lambda2": 0.05}),
    ):
        X, y = sample(kind, n=120)
        serial, parallel = (
            l0path.cv_fit(X, y, cv=4, max_k=4, random_state=0, n_jobs=jobs, **fit)
            for jobs in (1, 2)
        )
        # as their coefficients below: scores of two processes may differ in the last bits
        pd.testing.assert_frame_equal(serial.folds, parallel.folds, rtol=1e-12, atol=0)
        for a, b in zip(serial._fits, parallel._fits, strict=True):
            assert all(np.array_equal(s.support, t.support) for s, t in zip(a, b, strict=True))
            for s, t in zip(
                a, b, strict=True
            ):  # BLAS may sum in another order where an array lies at another address
                np.testing.assert_allclose(s.beta, t.beta, rtol=1e-12)


@pytest.mark.parametrize(
    "change, error, match",
    [
        ({"outer": 1}, ValueError, "outer=1"),
        ({"outer": "five"}, TypeError, "outer='five'"),
        ({"outer": 1000}, ValueError, "outer=1000"),
        ({"cv": np.arange(90)}, TypeError, "row by row"),
        ({"cv": 1}, ValueError, "cv=1"),
        ({"cv": "ten"}, TypeError, "cv='ten'"),
        ({"scoring": "auc"}, ValueError, "'mse'"),
        ({"rule": "best"}, ValueError, "best"),
        ({"groups_cv": [1, 2]}, ValueError, "groups_cv"),
        ({"random_state": -1}, ValueError, "random_state"),
        ({"sample_weight": np.ones(3)}, ValueError, "sample_weight"),
        ({"max_k": -1}, ValueError, "max_k"),
        ({"X": as_design(np.eye(90))[0]}, TypeError, "is a design"),
    ],
)
def test_errors_name_the_argument_and_the_remedy(change, error, match):
    X, y = sample()
    with pytest.raises(error, match=match):
        l0path.nested_cv(**{"X": X, "y": y, "outer": 3, "cv": 3, "max_k": 1} | change)


@pytest.mark.parametrize("how", ["raised", "told"])
def test_ctrl_c_keeps_the_outer_folds_that_finished(how, monkeypatch):
    """Ctrl-C in an outer fold ends the run, whether `cv_fit` raises it or returns with the inner
    folds that finished.
    """
    X, y = sample()
    whole = l0path.nested_cv(X, y, outer=4, cv=3, max_k=3, random_state=0)
    calls = []

    def pressed(*args, **more):
        calls.append(1)
        if len(calls) == 3 and how == "raised":
            raise KeyboardInterrupt
        cv = l0path.cv_fit(*args, **more)
        if len(calls) == 3:
            cv._end = End.INTERRUPTED  # two of its three folds finished
        return cv

    monkeypatch.setattr(nested, "cv_fit", pressed)
    part = l0path.nested_cv(X, y, outer=4, cv=3, max_k=3, random_state=0)
    assert (
        part.status == "interrupted (Ctrl-C); 2 of 4 outer folds finished, the others are left out"
        and whole.status == "complete: 4 outer folds"
    )
    pd.testing.assert_frame_equal(part.table, whole.table.iloc[:2])
    assert len(calls) == 3 and len(part.splits) == len(part.models) == 2
    out = np.concatenate([test for _, test in part.splits])
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(part.held_out)), np.sort(out))
    calls[:] = [1, 1]
    with pytest.raises(KeyboardInterrupt, match="nested_cv was interrupted before one outer fold"):
        l0path.nested_cv(X, y, outer=4, cv=3, max_k=3, random_state=0)


@pytest.mark.parametrize("loss", ["squared", "multinomial", "ordinal"])
def test_files_hold_several_responses_and_classes(loss, tmp_path):
    X, y = sample()
    y = np.column_stack([y, X[:, 0]]) if loss == "squared" else np.digitize(y, [-0.5, 1.0])
    few = {"outer": 2, "cv": 2, "max_k": 1, "lambda2": 0.1, "random_state": 0}
    cv = l0path.nested_cv(X, y, loss=loss, **few)
    cv.save(tmp_path / "nested.npz")
    back = l0path.load(tmp_path / "nested.npz")
    np.testing.assert_array_equal(back.held_out, cv.held_out)
    pd.testing.assert_frame_equal(back.table, cv.table)


def test_separation_is_told_once_for_all_outer_folds():
    X, _ = sample()
    some = {"max_k": 3, "lambda2": 0, "random_state": 0}
    with pytest.warns(
        SeparationWarning, match="in 3 of 3 outer folds a support has no finite optimum"
    ) as caught:
        l0path.nested_cv(X, X[:, 1] > 0, outer=3, cv=3, loss="logistic", **some)
    assert len(caught) == 1 and caught[0].filename == __file__
