"""`cv_fit` against a loop that copies rows, fits and scores them by hand, for every kind of split,
scoring and option; and the rules of choosing.
"""

import pickle
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from fold_samples import by_hand, joblib, metrics, model_selection, sample
from thinning import thinned

import l0path
from l0path.cross_validation import run


def mse(y, eta, w):
    return np.average((y - eta) ** 2, weights=w)


def log_loss(y, eta, w):
    return 2 * np.average(np.logaddexp(0, -np.where(y == "yes", 1, -1) * eta), weights=w)


def poisson(y, eta, w):
    return metrics.mean_poisson_deviance(y, np.exp(eta), sample_weight=w)


LOOPS = {
    "plain": ("real", {"lambda2": 0}, mse),
    "bare": ("real", {"standardize": False, "fit_intercept": False, "lambda2": [0.5, 0.01]}, mse),
    "bounds": ("real", {"always_include": [2], "lower": -0.5, "lambda2": None}, mse),
    "lasso": ("real", {"lambda1": [0.2, 0.05]}, mse),
    "classes": ("classes", {"loss": "logistic", "lambda2": 0.01}, log_loss),
    "balanced": (
        "classes",
        {"loss": "logistic", "lambda2": 0.01, "class_weight": "balanced"},
        log_loss,
    ),
    "counts": ("counts", {"loss": "poisson", "lambda2": 0.01}, poisson),
}


@pytest.mark.parametrize(("loop", "weighted"), thinned(2, LOOPS, (False, True)))
def test_scores_are_those_of_the_hand_written_loop(loop, weighted):
    kind, arguments, score = LOOPS[loop]
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
    np.testing.assert_allclose(cv.scores.cv_mean, theirs.mean(axis=1), rtol=1e-8)
    # folds whose scores are equal have a spread of 0, or of rounding
    spread = theirs.std(axis=1, ddof=1) / 2
    np.testing.assert_allclose(cv.scores.cv_se, spread, rtol=1e-6, atol=1e-15)
    assert not cv._repeated.to_numpy().any()
    assert list(cv.scores.columns) == [
        "k",
        "lambda0",
        "lambda1",
        "lambda2",
        "relax",
        "n_features",
        "cv_mean",
        "cv_sd",
        "cv_se",
        "n_folds",
    ]
    assert list(cv.scores.index) == list(cv.details.index)


def test_folds_of_a_lambda0_grid_solve_the_list_of_the_full_fit():
    X, y = sample()
    pairs = list(model_selection.KFold(3).split(X))
    for arguments in (
        {"lambda0": [1.0, 0.1, 0.03], "lambda2": 0},
        {"lambda0": "grid", "lambda2": [0.3, 0.001]},
    ):
        cv = l0path.cv_fit(X, y, cv=pairs, **arguments)
        for number in sorted(set(cv.details.slice)):
            rows = cv.details[cv.details.slice == number]
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
    cv = l0path.cv_fit(X, y, cv=pairs, max_k=6, lambda2=0)
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
    assert repeated.folds.shape == (len(drawn), 6)
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
    cv = l0path.cv_fit(X, y, cv=pairs, max_k=3, lambda2=0)
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
    t = cv.scores
    best = t.cv_mean.idxmin()
    near = t[t.cv_mean <= t.cv_mean[best] + t.cv_se[best]].sort_values(["n_features", "cv_mean"])
    assert cv.select() == cv.select("min") == best
    assert cv.select("1se") == near.index[0]
    assert cv.model("1se").k == t.k[near.index[0]]
    assert cv.coef("1se").equals(cv.coef(index=near.index[0]))
    np.testing.assert_array_equal(cv.predict(X, rule="min"), cv.predict(X, index=best))
    inside = t[t.lambda2 == 1e-4]
    assert cv.select("min", lambda2=1e-4) == inside.cv_mean.idxmin()
    assert cv.select(k=2, slice=1) == cv.select(k=2, slice=1)
    assert cv.select("bic") == cv.select("bic")
    assert "1se: k =" in repr(cv)


def test_leave_one_out_is_the_closed_form():
    """With a fixed support the left-out residual is r_i / (1 - h_i), H the hat matrix (Allen
    1974).
    """
    X, y = sample()
    X = X[:, [1, 2, 4]]
    cv = l0path.cv_fit(X, y, cv=60, always_include=[0, 1, 2], k=0, lambda2=0)
    Z = np.column_stack([np.ones(60), X])
    H = Z @ np.linalg.solve(Z.T @ Z, Z.T)
    left = (y - H @ y) / (1 - np.diag(H))
    assert cv.scores.cv_mean[0] == pytest.approx(np.mean(left**2), rel=1e-9)
    np.testing.assert_allclose(y - cv.held_out(index=0), left, rtol=1e-8, atol=1e-10)
    assert l0path.cv_fit(
        X, y, cv=model_selection.LeaveOneOut(), always_include=[0, 1, 2], k=0, lambda2=0
    ).scores.cv_mean[0] == pytest.approx(np.mean(left**2), rel=1e-9)


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
    assert again.scores.equals(cv.scores)
    np.testing.assert_array_equal(again.held_out(k=2, X=X, y=y), cv.held_out(k=2))
    np.testing.assert_array_equal(again.held_out(k=2), cv.held_out(k=2))


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
    b = l0path.cv_fit(X, y, cv=3, max_k=2, random_state=a._seed)
    assert a.folds.equals(b.folds)
    assert (
        l0path.cv_fit(X, y, cv=3, max_k=2, random_state=np.random.default_rng(1))._seed
        == l0path.cv_fit(X, y, cv=3, max_k=2, random_state=np.random.default_rng(1))._seed
    )
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_shifting_and_scaling_y_changes_no_choice():
    X, y = sample()
    base = l0path.cv_fit(X, y, cv=5, random_state=0)
    for shift, times in ((1e3, 1), (0, 1e4), (-5, 1e-3)):
        other = l0path.cv_fit(X, times * y + shift, cv=5, random_state=0)
        assert other.select("min") == base.select("min")
        assert other.select("1se") == base.select("1se")
        np.testing.assert_allclose(other.scores.cv_mean, base.scores.cv_mean * times**2, rtol=1e-6)


def test_sparse_frames_and_arrays_give_the_same():
    X, y = sample()
    X = np.where(np.abs(X) > 1, X, 0.0)
    base = l0path.cv_fit(X, y, cv=3, random_state=0, max_k=3)
    for other in (sp.csr_array(X), pd.DataFrame(X), X.tolist()):
        np.testing.assert_allclose(
            l0path.cv_fit(other, y, cv=3, random_state=0, max_k=3).folds, base.folds, rtol=1e-9
        )


def test_validate_gives_standard_errors_over_rows():
    X, y = sample(n=100)
    path = l0path.fit(X[:60], y[:60], max_k=4)
    cv = path.validate(X[60:], y[60:])
    errors = (y[60:, None] - path.predict(X[60:])) ** 2
    np.testing.assert_allclose(cv.scores.cv_mean, errors.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(cv.scores.cv_sd, errors.std(axis=0, ddof=1), rtol=1e-10)
    np.testing.assert_allclose(
        cv.scores.cv_se, errors.std(axis=0, ddof=1) / np.sqrt(40), rtol=1e-10
    )
    w = np.random.default_rng(0).integers(0, 3, 40)
    assert np.allclose(
        path.validate(X[60:], y[60:], freq_weight=w).scores[["cv_mean", "cv_se"]],
        path.validate(np.repeat(X[60:], w, axis=0), np.repeat(y[60:], w)).scores[
            ["cv_mean", "cv_se"]
        ],
    )
    assert path.validate(X[60:], y[60:], "r2").scores.cv_se.isna().all()
    assert cv.model("1se").details["n_features"] <= cv.model("min").details["n_features"]
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
        lambda2=0,
    )
    # k = 1 comes again once it was compared with all others
    assert sorted(set(seen)) in ([0, 1, 2, 3], [1, 2, 3]) and len(seen) <= 5
    assert "folds" in capsys.readouterr().err
    assert cv.status == "complete: 3 folds"

    plain, calls = run.fit_fold, []

    def slow(number, *rest):
        calls.append(number)
        if number == 3:
            raise KeyboardInterrupt
        return plain(number, *rest)

    monkeypatch.setattr(run, "fit_fold", slow)
    cv = l0path.cv_fit(X, y, cv=5, max_k=2, random_state=0)
    assert calls == [0, 1, 2, 3]
    assert cv.folds.shape == (len(cv), 3)
    assert "3 of 5 folds" in cv.status
    assert np.isnan(cv.held_out()).any()
    calls.clear()
    monkeypatch.setattr(run, "fit_fold", lambda number, *rest: slow(number + 2, *rest))
    with pytest.raises(KeyboardInterrupt, match=r"after 1 of 5 folds; .* error's \.path") as caught:
        l0path.cv_fit(X, y, cv=5, max_k=2, random_state=0, lambda2=0)
    assert caught.value.path.status == "complete: k = 0..2"
    monkeypatch.setattr(run, "fit_fold", slow)
    with pytest.raises(KeyboardInterrupt, match="after 0 of 2 folds") as caught:
        l0path.cv_fit(
            X,
            y,
            cv=[*cv.splits[:1], *cv.splits[:1]],
            max_k=2,
            on_solution=lambda model: (_ for _ in ()).throw(KeyboardInterrupt),
        )
    assert caught.value.path.status.startswith("interrupted (Ctrl-C)")
    monkeypatch.setattr(
        run,
        "fit_fold",
        lambda number, todo, train, deadline, single: plain(
            number, todo, train, time.time() - 1 if number > 1 else None, single
        ),
    )
    some = l0path.cv_fit(X, y, cv=5, max_k=2, random_state=0, lambda2=0, time_limit=100)
    assert some.folds.shape == (3, 2)
