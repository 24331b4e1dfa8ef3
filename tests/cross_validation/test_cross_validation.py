"""`cv_fit` against a loop that copies rows, fits and scores them by hand, for every kind of split,
scoring and option; and the rules of choosing.
"""

import pickle
import threading
import time
import warnings

import numpy as np
import oracles
import pandas as pd
import pytest
import scipy.sparse as sp
from lazy import lazy

import l0path
from l0path.core.warnings import recorded
from l0path.cross_validation import run, scoring, splits
from l0path.errors import SeparationWarning
from l0path.problem.verbs import value

joblib = lazy("joblib")
metrics = lazy("sklearn.metrics")
model_selection = lazy("sklearn.model_selection")


def sample(kind="real", n=60, p=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(0.5, 3, p) + 1.0
    eta = X[:, 1] - 0.6 * X[:, 4] - 0.5
    if kind == "real":
        return X, eta + rng.standard_normal(n)
    return X, np.where(
        rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no"
    ) if kind == "classes" else rng.poisson(np.exp(0.4 * eta)).astype(float)


def by_hand(X, y, pairs, score, *, sample_weight=None, offset=None, **arguments):
    """(rows of the path, folds) scores: rows copied, fitted and scored one fold at a time; score(y,
    eta, weights).
    """
    out = []
    w = np.ones(len(y)) if sample_weight is None else sample_weight
    for train, test in pairs:
        more = {} if sample_weight is None else {"sample_weight": w[train]}
        if offset is not None:
            more["offset"] = offset[train]
        path = l0path.fit(X[train], y[train], **arguments, **more)
        eta = path.predict(X[test], type="link", offset=None if offset is None else offset[test])
        out.append([score(y[test], eta[:, i], w[test]) for i in range(len(path))])
    return np.array(out).T


def mse(y, eta, w):
    return np.average((y - eta) ** 2, weights=w)


def log_loss(y, eta, w):
    return 2 * np.average(np.logaddexp(0, -np.where(y == "yes", 1, -1) * eta), weights=w)


def poisson(y, eta, w):
    return metrics.mean_poisson_deviance(y, np.exp(eta), sample_weight=w)


@pytest.mark.parametrize(
    "kind, arguments, score",
    [
        ("real", {}, mse),
        ("real", {"standardize": False, "fit_intercept": False, "lambda2": [0.5, 0.01]}, mse),
        ("real", {"always_include": [2], "lower": -0.5}, mse),
        ("real", {"penalty": "L0L1", "lambda1": [0.2, 0.05]}, mse),
        ("classes", {"loss": "logistic", "lambda2": 0.01}, log_loss),
        ("classes", {"loss": "logistic", "lambda2": 0.01, "class_weight": "balanced"}, log_loss),
        ("counts", {"loss": "poisson", "lambda2": 0.01}, poisson),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_the_hand_written_loop(kind, arguments, score, weighted):
    X, y = sample(kind)
    rng = np.random.default_rng(5)
    more = (
        {"sample_weight": rng.uniform(0.5, 2, y.size), "offset": 0.3 * rng.standard_normal(y.size)}
        if weighted
        else {}
    )
    pairs = list(model_selection.KFold(4).split(X))
    cv = l0path.cv_fit(X, y, cv=pairs, max_k=4, **arguments, **more)
    theirs = by_hand(X, y, pairs, score, max_k=4, **arguments, **more)
    np.testing.assert_allclose(cv.folds, theirs, rtol=1e-8)
    np.testing.assert_allclose(cv.table.cv_mean, theirs.mean(axis=1), rtol=1e-8)
    np.testing.assert_allclose(cv.table.cv_se, theirs.std(axis=1, ddof=1) / 2, rtol=1e-6)
    assert not cv.repeated.to_numpy().any()
    assert list(cv.table.columns) == [
        "k",
        "lambda0",
        "lambda1",
        "lambda2",
        "n_nonzero",
        "cv_mean",
        "cv_sd",
        "cv_se",
        "n_folds",
    ]
    assert list(cv.table.index) == list(cv.path.table.index)


def test_folds_of_a_lambda0_grid_solve_the_list_of_the_full_fit():
    X, y = sample()
    pairs = list(model_selection.KFold(3).split(X))
    for arguments in ({"lambda0": [1.0, 0.1, 0.03]}, {"grid": "lambda0", "lambda2": [0.3, 0.001]}):
        cv = l0path.cv_fit(X, y, cv=pairs, **arguments)
        for number in sorted(set(cv.path.table.slice)):
            rows = cv.path.table[cv.path.table.slice == number]
            theirs = by_hand(
                X,
                y,
                pairs,
                mse,
                lambda0=rows.lambda0.to_numpy(),
                lambda2=rows.lambda2.iloc[0],
                max_k=7,
            )
            np.testing.assert_allclose(cv.folds.loc[rows.index], theirs, rtol=1e-8)


def test_wide_data_folds_see_only_their_training_rows():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((50, 400)), rng.standard_normal(50)
    pairs = list(model_selection.KFold(3).split(X))
    cv = l0path.cv_fit(X, y, cv=pairs, max_k=6)
    np.testing.assert_allclose(cv.folds, by_hand(X, y, pairs, mse, max_k=6), rtol=1e-8)


def test_splits_of_every_kind():
    X, y = sample()
    fit = {"max_k": 2, "random_state": 3}
    ids = np.arange(60) % 3
    base = l0path.cv_fit(X, y, cv=ids, **fit)
    labels = np.array(["a", "b", "c"])[ids]
    pairs = [(np.flatnonzero(ids != f), np.flatnonzero(ids == f)) for f in range(3)]
    masks = [(ids != f, ids == f) for f in range(3)]
    for cv in (
        labels,
        labels.tolist(),
        pd.Series(labels),
        pd.Categorical(labels),
        pairs,
        iter(pairs),
        masks,
        model_selection.PredefinedSplit(ids),
    ):
        assert l0path.cv_fit(X, y, cv=cv, **fit).folds.equals(base.folds)
    drawn = l0path.cv_fit(X, y, cv=3, **fit)
    again = l0path.cv_fit(X, y, cv=model_selection.KFold(3, shuffle=True, random_state=3), **fit)
    assert drawn.folds.equals(again.folds)
    repeated = l0path.cv_fit(X, y, cv=3, n_repeats=2, **fit)
    assert repeated.folds.shape == (3, 6)
    assert repeated.folds.iloc[:, :3].equals(drawn.folds)
    np.testing.assert_array_equal(
        repeated.folds.iloc[:, 3:],
        l0path.cv_fit(X, y, cv=model_selection.KFold(3, shuffle=True, random_state=4), **fit).folds,
    )
    groups = np.arange(60) // 5
    for cv in (3, model_selection.GroupKFold(3)):
        for train, test in l0path.cv_fit(X, y, cv=cv, groups_cv=groups, **fit).splits:
            assert not set(groups[train]) & set(groups[test])
    X, z = sample("classes")
    for groups_cv in (None, np.arange(60) // 2):
        for _, test in l0path.cv_fit(
            X, z, cv=3, loss="logistic", lambda2=0.1, groups_cv=groups_cv, **fit
        ).splits:
            assert 0.2 < np.mean(z[test] == "yes") < 0.9
    strata = l0path.cv_fit(X, z, cv=3, loss="logistic", lambda2=0.1, **fit)
    theirs = model_selection.StratifiedKFold(3, shuffle=True, random_state=3).split(X, z)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(strata.splits, theirs, strict=True))


def test_repeated_training_rows_count_as_often_and_rows_of_weight_zero_not_at_all():
    X, y = sample()
    rng = np.random.default_rng(0)
    pairs = [(rng.integers(0, 40, 40), np.arange(40, 60)) for _ in range(2)]
    cv = l0path.cv_fit(X, y, cv=pairs, max_k=3)
    np.testing.assert_allclose(cv.folds, by_hand(X, y, pairs, mse, max_k=3), rtol=1e-8)
    w = np.ones(60)
    w[::7] = 0
    some = l0path.cv_fit(X, y, cv=4, sample_weight=w, random_state=1, max_k=3)
    np.testing.assert_allclose(
        some.folds,
        l0path.cv_fit(X[w > 0], y[w > 0], cv=4, random_state=1, max_k=3).folds,
        rtol=1e-9,
    )
    assert np.array_equal(np.isnan(some.held_out(k=2)), w == 0)


def test_min_and_one_se_by_hand():
    X, y = sample()
    cv = l0path.cv_fit(X, y, cv=5, random_state=0, lambda2=[0.3, 1e-4])
    t = cv.table
    best = t.cv_mean.idxmin()
    near = t[t.cv_mean <= t.cv_mean[best] + t.cv_se[best]].sort_values(["n_nonzero", "cv_mean"])
    assert cv.index() == cv.index("min") == best
    assert cv.index("1se") == near.index[0]
    assert cv.model("1se").k == t.k[near.index[0]]
    assert cv.coef("1se").equals(cv.path.coef(index=near.index[0]))
    np.testing.assert_array_equal(cv.predict(X, which="min"), cv.path.predict(X, index=best))
    inside = t[t.lambda2 == 1e-4]
    assert cv.index("min", lambda2=1e-4) == inside.cv_mean.idxmin()
    assert cv.index(k=2, slice=1) == cv.path.index(k=2, slice=1)
    assert cv.index("bic") == cv.path.index("bic")
    assert "1se: k =" in repr(cv)


def test_a_score_to_be_maximised_is_maximised():
    X, y = sample()
    kinds = {
        "r2": metrics.r2_score,
        "neg_mean_squared_error": lambda a, b: -metrics.mean_squared_error(a, b),
    }
    for name, by in kinds.items():
        cv = l0path.cv_fit(X, y, cv=model_selection.KFold(4), scoring=name)
        theirs = by_hand(X, y, cv.splits, lambda a, b, w, by=by: by(a, b))
        np.testing.assert_allclose(cv.folds.iloc[:8], theirs, rtol=1e-8)
        assert cv.index() == cv.table.cv_mean.idxmax()
        t = cv.table
        assert (
            cv.index("1se")
            == t[t.cv_mean >= t.cv_mean.max() - t.cv_se[t.cv_mean.idxmax()]].n_nonzero.idxmin()
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
    assert cv.index() == cv.table.cv_mean.idxmin()
    gap.greater_is_better = True
    cv = l0path.cv_fit(
        X, y, cv=3, loss="logistic", lambda2=0.1, max_k=2, scoring=gap, random_state=0
    )
    assert cv.index() == cv.table.cv_mean.idxmax()


def test_deviance_is_twice_the_loss_beyond_a_perfect_prediction():
    rng = np.random.default_rng(0)
    for name in oracles.LOSSES:  # other families: tests/families
        X, y = sample(
            "counts" if name == "poisson" else "real" if name in scoring.REAL else "classes"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            path = l0path.fit(X, y, loss=name, max_k=1, lambda2=0.1)
        loss, eta = path.loss_record(), rng.standard_normal(60)
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


def test_leave_one_out_is_the_closed_form():
    """With a fixed support the left-out residual is r_i / (1 - h_i), H the hat matrix (Allen
    1974).
    """
    X, y = sample()
    X = X[:, [1, 2, 4]]
    cv = l0path.cv_fit(X, y, cv=60, always_include=[0, 1, 2], k=0)
    Z = np.column_stack([np.ones(60), X])
    H = Z @ np.linalg.solve(Z.T @ Z, Z.T)
    left = (y - H @ y) / (1 - np.diag(H))
    assert cv.table.cv_mean[0] == pytest.approx(np.mean(left**2), rel=1e-9)
    np.testing.assert_allclose(y - cv.held_out(index=0), left, rtol=1e-8, atol=1e-10)
    assert l0path.cv_fit(
        X, y, cv=model_selection.LeaveOneOut(), always_include=[0, 1, 2], k=0
    ).table.cv_mean[0] == pytest.approx(np.mean(left**2), rel=1e-9)


def test_held_out_predictions_are_those_of_the_folds():
    X, y = sample("classes")
    cv = l0path.cv_fit(
        X, y, cv=3, n_repeats=2, loss="logistic", lambda2=0.05, max_k=3, random_state=0
    )
    link, response = np.zeros(60), np.zeros(60)
    for train, test in cv.splits:
        path = l0path.fit(X[train], y[train], loss="logistic", lambda2=0.05, max_k=3)
        link[test] += path.predict(X[test], k=2, type="link") / 2
        response[test] += path.predict(X[test], k=2) / 2
    np.testing.assert_allclose(cv.held_out(k=2, type="link"), link, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(cv.held_out(k=2), response, rtol=1e-6)
    assert np.array_equal(cv.held_out(k=2, type="class"), np.where(link > 0, "yes", "no"))
    again = pickle.loads(pickle.dumps(cv))
    assert again.table.equals(cv.table)
    np.testing.assert_array_equal(again.held_out(k=2, X=X, y=y), cv.held_out(k=2))
    with pytest.raises(ValueError, match="pass X="):
        again.held_out(k=2)


def test_serial_and_parallel_agree_and_the_configuration_is_respected():
    X, y = sample(n=400, p=400)  # large enough for joblib to pass X as a memory map
    fit = {"cv": 4, "max_k": 4, "random_state": 0}
    serial = l0path.cv_fit(X, y, n_jobs=1, **fit)
    parallel = l0path.cv_fit(
        X,
        y,
        n_jobs=2,
        scoring=lambda y, prediction, sample_weight: np.average((y - prediction) ** 2),
        **fit,
    )
    np.testing.assert_allclose(serial.folds, parallel.folds, rtol=1e-12)
    with joblib.parallel_config("threading", n_jobs=2):
        np.testing.assert_allclose(serial.folds, l0path.cv_fit(X, y, **fit).folds, rtol=1e-12)
    inner = joblib.Parallel(n_jobs=2)(
        joblib.delayed(l0path.cv_fit)(X[:, :20], y, n_jobs=2, **fit) for _ in range(2)
    )
    assert inner[0].folds.equals(inner[1].folds)


def test_random_state_rules_the_folds_and_the_global_state_is_left_alone():
    X, y = sample()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    a = l0path.cv_fit(X, y, cv=3, max_k=2)
    b = l0path.cv_fit(X, y, cv=3, max_k=2, random_state=a.random_state)
    assert a.folds.equals(b.folds)
    assert (
        l0path.cv_fit(X, y, cv=3, max_k=2, random_state=np.random.default_rng(1)).random_state
        == l0path.cv_fit(X, y, cv=3, max_k=2, random_state=np.random.default_rng(1)).random_state
    )
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_shifting_and_scaling_y_changes_no_choice():
    X, y = sample()
    base = l0path.cv_fit(X, y, cv=5, random_state=0)
    for shift, times in ((1e3, 1), (0, 1e4), (-5, 1e-3)):
        other = l0path.cv_fit(X, times * y + shift, cv=5, random_state=0)
        assert other.index("min") == base.index("min")
        assert other.index("1se") == base.index("1se")
        np.testing.assert_allclose(other.table.cv_mean, base.table.cv_mean * times**2, rtol=1e-6)


def test_sparse_frames_and_arrays_give_the_same():
    X, y = sample()
    X = np.where(np.abs(X) > 1, X, 0.0)
    base = l0path.cv_fit(X, y, cv=3, random_state=0, max_k=3)
    for other in (sp.csr_array(X), pd.DataFrame(X), X.tolist()):
        np.testing.assert_allclose(
            l0path.cv_fit(other, y, cv=3, random_state=0, max_k=3).folds, base.folds, rtol=1e-9
        )


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
        cv = l0path.cv_fit(X, y, cv=ids, loss="logistic", max_k=3)
    assert [w.category for w in caught] == [SeparationWarning]
    assert caught[0].filename == __file__
    flagged = cv.repeated.to_numpy()
    assert flagged.any() and not flagged[0].any()
    scores = cv.folds.to_numpy()
    for i, j in zip(*np.nonzero(flagged), strict=True):
        assert scores[i, j] == scores[i - 1, j]
    assert any("last solution is repeated" in note for note in cv.notes)
    short = l0path.cv_fit(
        rng.standard_normal((20, 30)), rng.standard_normal(20), cv=2, max_k=15, random_state=0
    )
    assert short.repeated.to_numpy()[-1].all()


def test_validate_gives_standard_errors_over_rows():
    X, y = sample(n=100)
    path = l0path.fit(X[:60], y[:60], max_k=4)
    cv = path.validate(X[60:], y[60:])
    errors = (y[60:, None] - path.predict(X[60:])) ** 2
    np.testing.assert_allclose(cv.table.cv_mean, errors.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(cv.table.cv_sd, errors.std(axis=0, ddof=1), rtol=1e-10)
    np.testing.assert_allclose(cv.table.cv_se, errors.std(axis=0, ddof=1) / np.sqrt(40), rtol=1e-10)
    w = np.random.default_rng(0).integers(0, 3, 40)
    assert np.allclose(
        path.validate(X[60:], y[60:], sample_weight=w).table[["cv_mean", "cv_se"]],
        path.validate(np.repeat(X[60:], w, axis=0), np.repeat(y[60:], w)).table[
            ["cv_mean", "cv_se"]
        ],
    )
    assert path.validate(X[60:], y[60:], "r2").table.cv_se.isna().all()
    assert cv.model("1se").n_nonzero <= cv.model("min").n_nonzero
    with pytest.raises(LookupError, match="1se"):
        path.validate(X[60:], y[60:], "r2").model("1se")
    with pytest.raises(ValueError, match="held_out"):
        cv.held_out()
    X, z = sample("classes", n=80)
    path = l0path.fit(X[:60], z[:60], loss="logistic", lambda2=0.1, max_k=2)
    yes = z[60:] == "yes"
    assert len(path.validate(X[60:][yes], z[60:][yes])) == 3
    with pytest.raises(ValueError, match="'maybe'"):
        path.validate(X[60:], ["maybe"] * 20)
    shifted = l0path.fit(*sample(), offset=np.ones(60), max_k=1)
    with pytest.raises(ValueError, match="offset"):
        shifted.validate(*sample())


def test_time_limits_callbacks_and_progress(capsys, monkeypatch):
    X, y = sample()
    with pytest.raises(TimeoutError, match="time_limit") as caught:
        l0path.cv_fit(X, y, cv=3, time_limit=1e-9)
    assert hasattr(caught.value, "path")
    seen = []
    cv = l0path.cv_fit(
        X,
        y,
        cv=3,
        max_k=3,
        on_solution=lambda model: seen.append(model.k),
        progress=True,
        time_limit=1000,
        certify=False,
    )
    # k = 1 comes again once it was compared with all others
    assert sorted(set(seen)) in ([0, 1, 2, 3], [1, 2, 3]) and len(seen) <= 5
    assert "folds" in capsys.readouterr().err
    assert cv.status == "complete: 3 folds"
    from l0path.cross_validation import run

    plain, calls = run.fit_fold, []

    def slow(number, *rest):
        calls.append(number)
        if number == 3:
            raise KeyboardInterrupt
        return plain(number, *rest)

    monkeypatch.setattr(run, "fit_fold", slow)
    cv = l0path.cv_fit(X, y, cv=5, max_k=2, random_state=0)
    assert calls == [0, 1, 2, 3]
    assert cv.folds.shape == (3, 3)
    assert "3 of 5 folds" in cv.status
    assert np.isnan(cv.held_out()).any()
    with pytest.raises(KeyboardInterrupt):
        l0path.cv_fit(
            X,
            y,
            cv=[*cv.splits[:1], *cv.splits[:1]],
            max_k=2,
            on_solution=lambda model: (_ for _ in ()).throw(KeyboardInterrupt),
        )
    monkeypatch.setattr(
        run,
        "fit_fold",
        lambda number, todo, train, deadline, single: plain(
            number, todo, train, time.time() - 1 if number > 1 else None, single
        ),
    )
    assert l0path.cv_fit(X, y, cv=5, max_k=2, random_state=0, time_limit=100).folds.shape == (3, 2)


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
    assert cv.path.model(index=cv.index()).k == 6 and not any(
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
            path.validate(X, labels).table.cv_mean[1]
            if method == "validate"
            else path.score(X, labels, k=1).deviance
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
        "cv_fit": {"cv": 8},
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
        (lambda: classes.plot_roc(X, (y > 0)[turned], k=1), "y"),
        (lambda: classes.plot_calibration(X, (y > 0)[turned], k=1), "y"),
    ]:
        with pytest.raises(ValueError, match=f"X and {name} have different indexes"):
            call()
    with pytest.raises(ValueError, match="y and cv have different indexes"):
        l0path.cv_fit(X.to_numpy(), y, cv=ids[turned], max_k=1)
    np.testing.assert_array_equal(
        l0path.cv_fit(X, y, cv=ids, max_k=1).folds,
        l0path.cv_fit(X, y, cv=ids.to_numpy(), max_k=1).folds,
    )
