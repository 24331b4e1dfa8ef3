"""Summaries and alternatives against brute force over all exchanges, refits against statsmodels
called by hand, metrics against their definitions.
"""

import warnings

import numpy as np
import oracles
import pandas as pd
import pytest
from asked import loss_with
from lazy import lazy

import l0path
from l0path.errors import SeparationWarning
from l0path.inspection import neighbors, summaries

metrics = lazy("sklearn.metrics")
sm = lazy("statsmodels.api")

LOSSES = ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson")


def data(loss, n=120, p=7, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        rng.standard_normal((n, p)) + 0.6 * rng.standard_normal((n, 1)),
        columns=[f"c{j}" for j in range(p)],
    )
    eta = 0.7 * X["c1"] - 0.6 * X["c4"] + 0.2 * X["c5"]
    if loss in ("logistic", "squared_hinge", "smoothed_hinge"):
        return X, pd.Series(np.where(eta + rng.logistic(size=n) > 0, "yes", "no"), name="answer")
    if loss == "poisson":
        return X, pd.Series(rng.poisson(np.exp(0.4 * eta + 0.5)), name="count")
    return X, pd.Series(
        3 * eta + (rng.standard_t(2, n) if loss == "huber" else rng.standard_normal(n)) + 5,
        name="answer",
    )


@pytest.fixture(scope="module")
def squared():
    X, y = data("squared")
    return X, y, l0path.fit(X, y)


# -------------------- summary and alternatives


def brute(d, support, base, usable, same):
    """increase_if_dropped by member, and {(out, into): change} by refitting every exchange."""
    dropped = {}
    for j in support:
        held = d["lower"][j] > 0 or d["upper"][j] < 0
        dropped[j] = (
            np.nan
            if held
            else oracles.restricted(d["X"], d["y"], [a for a in support if a != j], **same)[0]
            - base
        )
    outside = [j for j in usable if j not in support]
    pairs = {
        (i, j): oracles.restricted(d["X"], d["y"], [*(a for a in support if a != i), j], **same)[0]
        - base
        for i in support
        if i not in d["forced"]
        for j in outside
    }
    return dropped, pairs


def test_summary_and_alternatives_are_those_of_brute_force():
    for d in oracles.instances(12, seed=11):  # two of every loss
        same = oracles.restricted_keywords(d)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            path = l0path.fit(d["X"], d["y"], **oracles.fit_keywords(d))
        k = min(3, path.details.k.max())
        support, base = path.support(k=k).tolist(), path.model(k=k).objective
        usable = [j for j in range(path.p) if np.ptp(d["X"][:, j]) > 0]
        dropped, pairs = brute(d, support, base, usable, same)
        table = path.model(k=k).summary().table
        scale = max(abs(base), 0.1)
        np.testing.assert_allclose(
            table.increase_if_dropped, [dropped[j] for j in support], atol=1e-7 * scale
        )
        for i, row in zip(support, table.itertuples(), strict=True):
            mine = {j: change for (out, j), change in pairs.items() if out == i}
            if not mine:
                assert row.best_exchange is None and np.isnan(row.exchange_change)
                continue
            assert row.exchange_change == pytest.approx(min(mine.values()), abs=1e-7 * scale)
            assert mine[path.names.index(row.best_exchange)] == pytest.approx(
                min(mine.values()), abs=1e-7 * scale
            )
        near = path.model(k=k).alternatives(n=5)
        np.testing.assert_allclose(
            near.objective, base + np.sort(list(pairs.values()))[:5], atol=1e-7 * scale
        )
        above = max(base - path._meta.floor, 1e-12)
        np.testing.assert_allclose(near.relative, (near.objective - base) / above)
        for row in near.itertuples():
            assert pairs[
                path.names.index(row.dropped), path.names.index(row.added)
            ] == pytest.approx(row.objective - base, abs=1e-7 * scale)
        assert near.proven.all()


def test_shares_do_not_depend_on_the_units_of_amounts():
    data = l0path.simulate.gamma(60, 4, 2, scale=0.4, random_state=0)
    one, other = (
        l0path.fit(data.X, factor * data.y, loss="gamma", max_k=2).model(k=1).alternatives(n=3)
        for factor in (1.0, 0.35)
    )
    np.testing.assert_allclose(one.relative, other.relative, rtol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber"])
def test_the_ranking_and_few_refits_find_the_nearest_models(loss, monkeypatch):
    X, y = data(loss, p=12, n=200)
    path = l0path.fit(X, y, loss=loss, max_k=4)
    all_refitted, table = path.model(k=4).alternatives(n=5), path.model(k=4).summary().table
    monkeypatch.setattr(summaries, "EVERY", 0)
    monkeypatch.setattr(summaries, "SPARE", 10)
    ranked = path.model(k=4).alternatives(n=5)
    pd.testing.assert_frame_equal(
        ranked.drop(columns="proven"), all_refitted.drop(columns="proven"), rtol=1e-9
    )
    assert all_refitted.proven.all() and not ranked.proven.any()
    pd.testing.assert_frame_equal(path.model(k=4).summary().table, table, rtol=1e-9)


def test_the_table_by_blocks_is_the_table(monkeypatch):
    X, y = data("squared", p=600, n=80)
    path = l0path.fit(X, y, max_k=3)
    whole = path.model(k=3).alternatives(n=8)
    monkeypatch.setattr(neighbors, "TABLE_ENTRIES", 1)
    pd.testing.assert_frame_equal(path.model(k=3).alternatives(n=8), whole)
    assert (whole.relative >= 0).all()  # no exchange improves what the search ended on


def test_lambda0_rows_price_the_exchange():
    X, y = data("squared")
    factor = np.array([1.0, 1.0, 2.0, 0.5, 1.0, 1.5, 1.0])
    path = l0path.fit(X, y, lambda0=[0.05], penalty_factor=factor)
    model, near = path.model(index=0), path.model(index=0).alternatives(n=3)
    same = {"loss": "squared"}
    support = path.support(index=0).tolist()
    every = sorted(
        oracles.restricted(X, y, [*(a for a in support if a != i), j], **same)[0]
        + 0.05 * (factor[support].sum() - factor[i] + factor[j])
        for i in support
        for j in range(7)
        if j not in support
    )
    np.testing.assert_allclose(near.objective, every[:3])
    assert near.objective.min() >= model.objective - 1e-9


def test_empty_and_full_models(squared):
    _, _, path = squared
    assert path.model(k=0).summary().table.empty and "(intercept only)" in str(
        path.model(k=0).summary()
    )
    assert list(path.model(k=0).alternatives().columns) == [
        "dropped",
        "added",
        "objective",
        "relative",
        "proven",
    ]
    assert len(path.model(k=7).alternatives()) == 0
    assert path.model(k=7).summary().table.best_exchange.tolist() == [None] * 7
    with pytest.raises(ValueError, match="n=0"):
        path.model(k=3).alternatives(n=0)


def test_summary_text_names_what_matters(squared):
    _, _, path = squared
    text = str(path.model(k=2).summary())
    assert all(
        word in text
        for word in (
            "k = 2 of p = 7",
            "n = 120",
            "deviance ratio",
            "optimality global",
            "intercept",
            "increase_if_dropped",
            "best_exchange",
            "c1",
            "c4",
        )
    )
    html = path.model(k=2).summary()._repr_html_()
    assert "increase_if_dropped" in html and "<table" in html


def test_forced_columns_have_a_worth_but_no_exchange(squared):
    X, y, _ = squared
    table = l0path.fit(X, y, always_include=["c0"], max_k=2).model(k=2).summary().table
    assert table.loc["c0", "best_exchange"] is None and table.loc["c0", "increase_if_dropped"] >= 0


# -------------------- refit


def design(X, path, k):
    out = X[path.model(k=k).features]
    out.insert(0, "(Intercept)", 1.0)
    return out


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "huber"])
def test_refit_is_the_unpenalized_fit_of_statsmodels(loss):
    X, y = data(loss)
    path = l0path.fit(X, y, loss=loss)
    results, A = path.model(k=3).refit(), design(X, path, 3)
    own = {
        "squared": lambda: sm.OLS(y, A).fit(),
        "poisson": lambda: sm.GLM(y, A, family=sm.families.Poisson()).fit(tol=1e-12),
        "logistic": lambda: sm.Logit((y == "yes").astype(float), A).fit(disp=False, tol=1e-12),
        "huber": lambda: sm.RLM(
            y, A, M=sm.robust.norms.HuberT(path._meta.loss_parameter / results.scale)
        ).fit(start_params=path.coef(k=3), update_scale=False, tol=1e-12, maxiter=500),
    }[loss]()
    assert results.params.index.tolist() == ["(Intercept)", *path.model(k=3).features]
    np.testing.assert_allclose(results.params, path.coef(k=3), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(results.params, own.params, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(results.bse, own.bse, rtol=1e-5)
    assert results.model.endog_names == y.name
    assert "Conditional on selection" in str(
        results.summary()
    ) and "Conditional on selection" in str(results.summary2())
    assert results.selection.startswith("conditional on selection")


def test_refit_without_intercept_and_with_offset():
    X, y = data("poisson")
    offset = np.linspace(-0.5, 0.5, len(y))
    path = l0path.fit(X, y, loss="poisson", offset=offset, fit_intercept=False)
    np.testing.assert_allclose(path.model(k=2).refit().params, path.coef(k=2).iloc[1:], rtol=1e-6)
    with pytest.raises(ValueError, match="neither features"):
        path.model(k=0).refit()
    with pytest.raises(ValueError, match="offset="):
        path.model(k=2).refit(X=X.iloc[:50], y=y.iloc[:50])
    X, y = data("squared")
    path = l0path.fit(X, y, offset=offset)
    results = path.model(k=2).refit()
    np.testing.assert_allclose(results.params, path.coef(k=2), rtol=1e-6)
    assert results.model.endog_names == "answer - offset"


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "huber"])
def test_rows_that_stand_for_several_are_repeated(loss):
    X, y = data(loss)
    w = np.random.default_rng(3).integers(0, 4, len(y))
    record = loss_with(loss, delta=2.0)
    path = l0path.fit(X, y, loss=record, freq_weight=w)
    rows = np.repeat(np.arange(len(y)), w)
    twice = l0path.fit(X.iloc[rows], y.iloc[rows], loss=record)
    a, b = path.model(k=2).refit(), twice.model(k=2).refit()
    np.testing.assert_allclose(a.params, path.coef(k=2), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(a.bse, b.bse, rtol=1e-6)
    assert a.df_resid == b.df_resid


def test_other_weights_are_precisions():
    w = np.random.default_rng(4).uniform(0.2, 2, 120)
    X, y = data("squared")
    path = l0path.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(
        path.model(k=2).refit().bse, sm.WLS(y, design(X, path, 2), weights=w).fit().bse
    )
    X, y = data("logistic")
    path = l0path.fit(X, y, loss="logistic", class_weight="balanced", lambda2=0.0)
    np.testing.assert_allclose(path.model(k=2).refit().params, path.coef(k=2), rtol=1e-6, atol=1e-6)
    X, y = data("huber")
    with pytest.raises(ValueError, match="no sample_weight, only freq_weight"):
        l0path.fit(X, y, loss="huber", sample_weight=w).model(k=1).refit()


@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge"])
def test_hinges_have_no_refit(loss):
    X, y = data(loss)
    with pytest.raises(ValueError, match="loss='logistic'"):
        l0path.fit(X, y, loss=loss, max_k=2, lambda2=1e-3).model(k=1).refit()


def test_refit_of_separated_classes_warns_once():
    X, y = data("logistic")
    y = pd.Series(np.where(X["c1"] > 0, "yes", "no"))
    path = l0path.fit(X, y, loss="logistic", lambda2=1e-2, max_k=2)
    with pytest.warns(SeparationWarning, match="without shrinkage") as caught:
        path.model(k=1).refit()
    assert len(caught) == 1


def test_new_rows_are_held_out_and_the_fits_own_are_not(squared):
    X, y, _ = squared
    path = l0path.fit(X.iloc[:80], y.iloc[:80])
    held = path.model(k=2).refit(X=X.iloc[80:], y=y.iloc[80:])
    np.testing.assert_allclose(
        held.params, sm.OLS(y.iloc[80:], design(X, path, 2).iloc[80:]).fit().params
    )
    assert "Held-out rows: 40" in str(held.summary()) and held.fittedvalues.index.equals(
        X.index[80:]
    )
    assert "Conditional on" in str(path.model(k=2).refit(X=X.iloc[:80], y=y.iloc[:80]).summary())
    shuffled = path.model(k=2).refit(X=X.iloc[80:, ::-1], y=y.iloc[80:])
    np.testing.assert_allclose(shuffled.params, held.params)


def test_loaded_paths_take_the_data_again(squared, tmp_path):
    X, y, path = squared
    path.save(tmp_path / "path")
    loaded = l0path.load(tmp_path / "path")
    model = loaded.model(k=2)
    for call in (model.summary, model.alternatives, model.refit):
        with pytest.raises(ValueError, match="pass X= and y="):
            call()
    pd.testing.assert_frame_equal(
        loaded.model(k=2).summary(X=X, y=y).table, path.model(k=2).summary().table
    )
    pd.testing.assert_frame_equal(
        loaded.model(k=2).alternatives(X=X, y=y), path.model(k=2).alternatives()
    )
    assert loaded.model(k=2).refit(X=X, y=y).selection == path.model(k=2).refit().selection
    assert (
        loaded.model(k=2).refit(X=X.iloc[:60], y=y.iloc[:60]).selection.startswith("60 rows given")
    )
    with pytest.raises(ValueError, match="checksum"):
        loaded.model(k=2).summary(X=X + 1.0, y=y)


def test_loaded_paths_keep_forced_columns_and_boxes(squared, tmp_path):
    X, y, _ = squared
    path = l0path.fit(X, y, always_include=["c0"], max_k=2)
    path.save(tmp_path / "forced")
    pd.testing.assert_frame_equal(
        l0path.load(tmp_path / "forced").model(k=2).summary(X=X, y=y).table,
        path.model(k=2).summary().table,
    )
    out = int(
        path.support(k=2)[-1]
    )  # a column that would be the best replacement, left out by the user
    without = l0path.fit(X, y, exclude=[out], max_k=2)
    without.save(tmp_path / "without")
    pd.testing.assert_frame_equal(
        l0path.load(tmp_path / "without").model(k=2).summary(X=X, y=y).table,
        without.model(k=2).summary().table,
    )
    boxed = l0path.fit(X, y, upper=0.5, max_k=2)
    boxed.save(tmp_path / "boxed")
    pd.testing.assert_frame_equal(
        l0path.load(tmp_path / "boxed").model(k=2).summary(X=X, y=y).table,
        boxed.model(k=2).summary().table,
    )


# -------------------- score


def test_scores_of_real_responses(squared):
    X, y, path = squared
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    mu = path.predict(X, k=2)
    score = path.model(k=2).score(X, y, sample_weight=w)
    assert score["mse"] == pytest.approx(metrics.mean_squared_error(y, mu, sample_weight=w))
    assert score["deviance"] == pytest.approx(score["mse"]) and score["rmse"] == pytest.approx(
        np.sqrt(score["mse"])
    )
    assert score["mae"] == pytest.approx(metrics.mean_absolute_error(y, mu, sample_weight=w))
    assert score["r2"] == pytest.approx(metrics.r2_score(y, mu, sample_weight=w))
    X, y = data("poisson")
    path = l0path.fit(X, y, loss="poisson", max_k=2)
    assert path.model(k=2).score(X, y)["deviance"] == pytest.approx(
        metrics.mean_poisson_deviance(y, path.predict(X, k=2))
    )


def test_scores_of_classes():
    X, y = data("logistic")
    path = l0path.fit(X, y, loss="logistic", max_k=2)
    score, probability = path.model(k=2).score(X, y), path.predict(X, k=2)
    assert score["brier"] == pytest.approx(metrics.brier_score_loss(y == "yes", probability))
    assert score["deviance"] == pytest.approx(2 * metrics.log_loss(y == "yes", probability))
    assert score["auc"] == pytest.approx(metrics.roc_auc_score(y == "yes", probability))
    assert score["accuracy"] == pytest.approx(
        np.mean(path.predict(X, k=2, type="class") == y)
    ) and score["misclassification"] == pytest.approx(1 - score["accuracy"])
    one = y == "yes"
    assert np.isnan(path.model(k=2).score(X[one], y[one])["auc"])
    with pytest.raises(ValueError, match="'maybe'"):
        path.model(k=2).score(X, y.replace("yes", "maybe"))
    hinge = l0path.fit(X, y, loss="squared_hinge", max_k=2)
    assert set(hinge.model(k=2).score(X, y).index) == {
        "deviance",
        "auc",
        "misclassification",
        "accuracy",
    }


FIT_ROWS = {
    "squared": {"sample_weight": np.random.default_rng(0).uniform(0.5, 2.0, 80)},
    "logistic": {"freq_weight": np.random.default_rng(0).integers(1, 4, 80)},
    "poisson": {"offset": np.random.default_rng(0).normal(size=80) / 5},
    "ordinal": {},
    "cox": {"strata": np.arange(80) % 2},
}


@pytest.mark.parametrize("loss", FIT_ROWS)
def test_scores_without_rows_are_those_of_the_rows_of_the_fit_and_say_so(loss, tmp_path):
    rng, given = np.random.default_rng(1), FIT_ROWS[loss]
    X = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    eta = X["a"] - 0.5 * X["b"]
    y = {
        "squared": eta + rng.normal(size=80),
        "logistic": eta + rng.logistic(size=80) > 0,
        "poisson": rng.poisson(np.exp(eta)),
        "ordinal": 1 + (eta + rng.logistic(size=80) > -1) + (eta + rng.logistic(size=80) > 1),
        "cox": np.column_stack([rng.exponential(np.exp(-eta)), rng.random(80) < 0.8]),
    }[loss]
    model = l0path.fit(X, y, loss=loss, max_k=2, **given).model(k=2)
    own, same = model.score(), model.score(X, y, **given)
    assert own.name == "score, rows of the fit" and same.name == "score"
    np.testing.assert_allclose(own, same, rtol=1e-12)
    if loss == "cox":
        own, same = model.score(times=[0.5, 1.0]), model.score(X, y, times=[0.5, 1.0], **given)
        assert own.columns.name == "rows of the fit" and same.columns.name is None
        np.testing.assert_allclose(own, same, rtol=1e-12)
    with pytest.raises(ValueError, match=r"y= is given and X is not: pass X= and y= together"):
        model.score(y=y)
    with pytest.raises(ValueError, match="sample_weight= is given and X is not"):
        model.score(sample_weight=np.ones(80))
    model.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="pass X= and y="):
        l0path.load(tmp_path / "model.npz").score()
