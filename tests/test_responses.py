"""Several responses with one support: enumeration, invariances, results, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from asked import asked
from class_samples import best_of_size
from class_samples import responses_drawn as drawn
from recomputed import objective_of

import l0path
from l0path.problem.problem import pose
from l0path.relaxation.tangent_bounds import bound_by_tangents


@pytest.mark.parametrize("seed", range(12))
def test_every_size_is_the_enumerated_best(seed):
    X, Y, rng = drawn(seed)
    same, given = {}, {}
    if seed % 2:
        same["weights"] = given["sample_weight"] = rng.integers(0, 3, len(X)).astype(float)
        same["v"] = given["response_weights"] = rng.uniform(0.5, 2.0, Y.shape[1])
    if seed % 3 == 1:
        same["offset"] = given["offset"] = rng.standard_normal(Y.shape)
    if seed % 3 == 2:
        same["forced"] = given["always_include"] = [1]
        same["lambda2"] = given["lambda2"] = 0.05
    path = l0path.fit(
        X, Y, max_k=4, algorithm=l0path.solvers.LocalSearch(effort="high"), **asked(given)
    )
    for s in path._solutions:
        best, _ = best_of_size(X, Y, s.k, **same)
        assert s.objective == pytest.approx(best, rel=1e-9), (seed, s.k)
        assert objective_of(path, index=s.k) == pytest.approx(s.objective, rel=1e-10)


def test_a_proven_exchange_has_none_better():
    for seed in range(4, 8):
        X, Y, _ = drawn(seed, p=8)
        path = l0path.fit(X, Y, max_k=3, algorithm=l0path.solvers.LocalSearch(effort="fast"))
        for s in path._solutions[1:]:
            assert s.optimality in ("refit_swap", "global")
            for out in s.support:
                for into in np.setdiff1d(np.arange(8), s.support):
                    S = sorted({*s.support.tolist()} - {int(out)} | {int(into)})
                    other, _ = best_of_size(X[:, S], Y, 0, forced=range(len(S)))
                    assert s.objective <= other * (1 + 1e-8)
            if s.optimality == "global":
                assert s.objective == pytest.approx(best_of_size(X, Y, s.k)[0], rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_few_columns_are_proven_by_default(seed):
    X, Y, rng = drawn(seed, p=6)
    given, same = {}, {}
    if seed % 2:
        same["weights"] = given["sample_weight"] = rng.integers(1, 4, len(X)).astype(float)
    if seed % 3 == 1:
        same["lambda2"] = given["lambda2"] = 0.03
    if seed % 4 == 2:
        same["forced"] = given["always_include"] = [1]
    if seed == 7:
        same["lambda2"] = given["lambda2"] = 0.0
    path = l0path.fit(X, Y, max_k=4, **given)
    for s in path._solutions:
        best, _ = best_of_size(X, Y, s.k, **same)
        assert s.optimality == "global" and s.objective == pytest.approx(best, rel=1e-9)
        assert s.lower_bound <= best * (1 + 1e-10) and s.lower_bound >= best * (1 - 2e-8)
    grid = l0path.fit(X, Y, lambda0="grid", max_k=4, **given)
    assert set(grid.details.optimality) <= {"global", "refit_swap"}
    quiet = l0path.fit(X, Y, max_k=4, certify=False, **given)
    assert quiet.details.optimality[2] == "refit_swap"


@pytest.mark.parametrize("seed", range(6))
def test_lower_bounds_by_tangents_are_never_above_the_enumerated_optimum(seed):
    X, Y, rng = drawn(seed)
    how = {"lambda2": (0.3, 1.0, 3.0)[seed % 3], "weights": rng.uniform(0.5, 2.0, len(X))}
    v = rng.uniform(0.5, 2.0, Y.shape[1])
    forced = [0] if seed % 2 else []
    path = l0path.fit(
        X,
        Y,
        max_k=3,
        certify=False,
        lambda2=how["lambda2"],
        sample_weight=how["weights"],
        loss=l0path.losses.Squared(response_weights=v),
        always_include=forced or None,
    )
    rows = list(path._solutions)
    assert bound_by_tangents(pose(path._source.data), rows, lambda: False) == []
    for s in rows:
        best = best_of_size(X, Y, s.k, v=v, forced=forced, **how)[0]
        assert 0.5 * best < s.lower_bound <= best + 1e-9
        if s.k == 0 and not forced:
            assert s.lower_bound == pytest.approx(best)


def test_more_columns_have_lower_bounds_with_a_ridge():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 60))
    path = l0path.fit(X, X[:, :2] @ np.ones((2, 3)), max_k=2, lambda2=1.0, certify=True)
    assert (path.details["gap"] < 0.5).all() and path.details["lower_bound"].notna().all()
    plain = l0path.fit(X, X[:, :2] + rng.standard_normal((40, 2)), max_k=2, certify=True)
    assert plain.details["lower_bound"][2:].isna().all() and "no lower bounds" in plain.notes[-1]


def test_forced_columns_that_are_copies():
    X, Y, _ = drawn(1)  # column 3 equals column 0
    path = l0path.fit(X, Y, max_k=3, always_include=[0, 3])
    for s in path._solutions:
        assert s.objective == pytest.approx(best_of_size(X, Y, s.k, forced=(0, 3))[0], rel=1e-9)


def test_one_response_as_a_column_is_a_vector():
    X, Y, _ = drawn(0)
    one, column = l0path.fit(X, Y[:, 0], max_k=3), l0path.fit(X, Y[:, :1], max_k=3)
    pd.testing.assert_frame_equal(one.coef(), column.coef())


def test_rotations_and_spare_responses_change_nothing():
    X, Y, rng = drawn(4, n=25, p=8)
    path = l0path.fit(X, Y, max_k=5, lambda2=0.01)
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    turned = l0path.fit(X, Y @ Q, max_k=5, lambda2=0.01)
    wide = l0path.fit(X, Y @ Q[:, :2] @ rng.standard_normal((2, 40)), max_k=5, lambda2=0.01)
    narrow = l0path.fit(X, Y @ Q[:, :2], max_k=5, lambda2=0.01)
    for s, t in zip(path._solutions, turned._solutions, strict=True):
        assert s.support.tolist() == t.support.tolist()
        assert s.objective == pytest.approx(t.objective, rel=1e-12)
        np.testing.assert_allclose(s.beta @ Q, t.beta, atol=1e-12)
    assert wide._solutions[5].beta.shape == (5, 40)  # of rank 2
    assert narrow.n == wide.n and len(wide) == len(narrow)
    flat = l0path.fit(X, np.ones((25, 2)), max_k=3)
    assert len(flat) == 1 and flat._solutions[0].loss < 1e-28


def test_order_of_columns_and_responses_changes_nothing():
    X, Y, rng = drawn(8, p=8)
    order, turn = rng.permutation(8), [2, 0, 1]
    path, other = l0path.fit(X, Y, max_k=4), l0path.fit(X[:, order], Y[:, turn], max_k=4)
    for s, t in zip(path._solutions, other._solutions, strict=True):
        assert sorted(order[t.support].tolist()) == s.support.tolist()
        again = np.argsort(order[t.support])
        np.testing.assert_allclose(t.beta[again], s.beta[:, turn], rtol=1e-9)


def test_results_have_a_column_for_each_response(tmp_path):
    X, Y, _ = drawn(0)
    table, names = pd.DataFrame(X, columns=list("abcdef")), ["u", "v", "w"]
    framed = pd.DataFrame(Y, columns=names)
    path = l0path.fit(
        table, framed, max_k=3, loss=l0path.losses.Squared(response_weights={"v": 2.0})
    )
    assert list(path._meta.responses) == names and path.coef(k=2).shape == (3, 3)
    assert path.coef().columns.names == ["k", "response"]
    predicted = path.predict(table, k=2)
    by_hand = path.coef(k=2).iloc[0] + table[path.model(2).features] @ path.coef(k=2).iloc[1:]
    pd.testing.assert_frame_equal(predicted, by_hand, check_names=False)
    assert path.predict(X).shape == (30, 4, 3)
    assert path.predict(table)[2, "v"].tolist() == pytest.approx(predicted["v"].tolist())
    assert path.model(2).intercept["u"] == path.coef(k=2).loc["(Intercept)", "u"]
    loss = 0.5 * ((framed - predicted) ** 2).mean() @ [1.0, 2.0, 1.0]
    assert path.details.loss[2] == pytest.approx(loss)
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    assert loaded.coef().equals(path.coef())
    assert objective_of(loaded, k=2, X=table, y=framed) == pytest.approx(path.details.objective[2])
    assert path.model(k=2).score(table, framed)["mse"] == pytest.approx(
        ((framed - predicted) ** 2).to_numpy().mean()
    )


def test_criteria_are_those_of_all_numbers_of_y():
    X, Y, _ = drawn(0)
    scores = l0path.fit(X, Y, max_k=3).score_table()
    rss = 60 * l0path.fit(X, Y, max_k=3).details.loss[2]
    loglik = -45 * (np.log(2 * np.pi * rss / 90) + 1)
    assert scores.loglik[2] == pytest.approx(loglik) and scores.df[2] == 9
    assert scores.bic[2] == pytest.approx(9 * np.log(90) - 2 * loglik)


def test_cross_validation_adds_the_responses():
    X, Y, _ = drawn(0)
    folds = np.arange(30) % 3
    cv = l0path.cv_fit(X, Y, cv=folds, max_k=3, lambda2=0)
    held_out = cv.held_out(k=2)
    for fold in range(3):
        alone = l0path.fit(X[folds != fold], Y[folds != fold], max_k=3)
        rest = Y[folds == fold] - alone.predict(X[folds == fold], k=2)
        assert cv.folds.loc[2, fold] == pytest.approx((rest**2).sum(axis=1).mean())
        np.testing.assert_allclose(Y[folds == fold] - held_out[folds == fold], rest)
    assert cv.rescore("r2").scores.cv_mean.shape == (4,)


def test_the_regressor_takes_several_responses():
    X, Y, _ = drawn(0)
    model, path = l0path.L0Regressor(k=2).fit(X, Y), l0path.fit(X, Y, max_k=2)
    np.testing.assert_allclose(model.coef_, path.coef(k=2, full=True).iloc[1:].T)
    np.testing.assert_allclose(model.predict(X), path.predict(X, k=2))
    assert l0path.L0RegressorCV(max_k=3, random_state=0).fit(X, Y).coef_.shape == (3, 6)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"algorithm": l0path.solvers.LocalSearch(swap_size=3)}, "swap_size"),
        ({"algorithm": "cd"}, "'cd'"),
        ({"algorithm": l0path.solvers.IntegralityGeneration()}, "'exact'"),
        ({"loss": "huber"}, "delta"),
        ({"loss": "quantile"}, "3"),
        ({"loss": "logistic"}, "0 and 1"),
        ({"loss": l0path.losses.Squared([1.0, -1.0, 1.0])}, "response_weights"),
        ({"loss": l0path.losses.Squared({"z": 1.0})}, "'z'"),
        ({"offset": np.ones((30, 2))}, "offset"),
    ],
)
def test_what_is_not_served_is_refused_by_name(given, word):
    X, Y, _ = drawn(0)
    with pytest.raises(ValueError, match=word):
        l0path.fit(X, Y, max_k=2, **given)


def test_bad_responses_are_named():
    X, Y, _ = drawn(0)
    with pytest.raises(ValueError, match="y has one"):
        l0path.fit(X, Y[:, 0], loss=l0path.losses.Squared(response_weights=[1.0]))
    with pytest.raises(ValueError, match="NaN"):
        l0path.fit(X, np.where(Y > 11, np.nan, Y))


@pytest.mark.parametrize("weights", ["a", ["a", "b", "c"], [1.0, 2.0], [1.0, 0.0, 1.0], object()])
def test_weights_of_responses_that_are_none_are_named(weights):
    X, Y, _ = drawn(0)
    with pytest.raises(ValueError, match=r"response_weights=.* must be (3 )?positive numbers"):
        l0path.fit(X, Y, loss=l0path.losses.Squared(response_weights=weights))


def test_near_combinations_are_global_only_where_they_are_the_best():
    X, Y, rng = drawn(0)
    X[:, 5] = X[:, 0] + 1e-6 * rng.standard_normal(30)
    path = l0path.fit(X, Y, max_k=3)
    for s in path._solutions:
        best = best_of_size(X, Y, s.k)[0]
        assert s.objective >= best * (1 - 1e-10)
        assert s.optimality != "global" or s.objective == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(("forced", "lambda2"), [([], 0.0), ([0], 0.0), ([], 1e-12)])
def test_near_combinations_enter_where_they_help(forced, lambda2):
    rng = np.random.default_rng(1)
    a, e, c, *noise = rng.standard_normal((5, 40))
    X, Y = np.column_stack([a, a + 1e-5 * e, c]), np.column_stack([e, 2.0 * e])
    Y += 0.1 * np.transpose(noise)
    path = l0path.fit(X, Y, always_include=forced, lambda2=lambda2, certify=False)
    assert path.details.k.tolist() == list(range(4 - len(forced)))
    for s in path._solutions:
        best, support = best_of_size(X, Y, s.k, forced=forced, lambda2=lambda2)
        assert s.objective == pytest.approx(best, rel=1e-7) and s.support.tolist() == support


def test_a_formula_takes_several_responses(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.standard_normal((50, 5)), columns=["a", "b", "c", "y 1", "z"])
    data["z"] += data.a
    data.loc[3, "z"] = np.nan
    path = l0path.fit("`y 1` + np.exp(z) + z ~ a + b + c", data, max_k=2)
    whole = data.dropna()
    Y = np.column_stack([whole["y 1"], np.exp(whole.z), whole.z])
    plain = l0path.fit(whole[["a", "b", "c"]], Y, max_k=2)
    np.testing.assert_allclose(path.details.objective, plain.details.objective, rtol=1e-12)
    assert path._meta.formula.n_dropped == 1 and list(path._meta.responses) == [
        "y 1",
        "np.exp(z)",
        "z",
    ]
    np.testing.assert_allclose(path.predict(data, k=1), plain.predict(data[["a", "b", "c"]], k=1))
    assert path.model(k=1).score(data)["mse"] == pytest.approx(
        plain.model(k=1).score(whole[["a", "b", "c"]], Y)["mse"]
    )
    path.save(tmp_path / "path.npz")
    again = l0path.load(tmp_path / "path.npz")
    assert again.coef(k=1).equals(path.coef(k=1)) and again.model(k=1).score(data).equals(
        path.model(k=1).score(data)
    )
    cv = l0path.cv_fit("`y 1` + z ~ a + b + c", data, cv=3, random_state=0)
    assert cv.held_out().columns.tolist() == ["y 1", "z"] and len(cv.held_out()) == 49


def test_refits_are_least_squares_of_each_response():
    import statsmodels.api as sm

    X, Y, rng = drawn(0)
    w, names = rng.uniform(0.5, 2.0, len(X)), ["a", "b", "c"]
    path = l0path.fit(X, pd.DataFrame(Y, columns=names), max_k=2, sample_weight=w)
    found = path.model(k=2).refit()
    assert list(found) == names
    A = sm.add_constant(X[:, path.support(k=2)])
    for j, name in enumerate(names):
        known = sm.WLS(Y[:, j], A, weights=w).fit()
        np.testing.assert_allclose(found[name].params, known.params, rtol=1e-9)
        np.testing.assert_allclose(found[name].bse, known.bse, rtol=1e-9)
        assert name in str(found[name].summary()) and "too optimistic" in str(found[name].summary())
    new = l0path.fit(X, Y, max_k=2).model(k=2).refit(X=X[:20], y=Y[:20], cov_type="HC1")
    A = sm.add_constant(X[:20][:, path.support(k=2)])
    np.testing.assert_allclose(new["y1"].bse, sm.OLS(Y[:20, 1], A).fit(cov_type="HC1").bse)


def test_recovery_of_the_columns_that_responses_share():
    rng = np.random.default_rng(0)
    X, B = rng.standard_normal((80, 6)), np.zeros((6, 3))
    B[[1, 4]] = rng.standard_normal((2, 3)) + 1.0
    path = l0path.fit(X, X @ B + 0.1 * rng.standard_normal((80, 3)), max_k=3)
    found = l0path.diagnostics.support_recovery(path, B)
    assert found.exact.tolist() == [False, False, True, False]
    own = np.linalg.norm(path.coef(k=2, full=True).to_numpy()[1:] - B) / np.linalg.norm(B)
    assert found.estimation_error[2] == pytest.approx(own)
    columns = l0path.diagnostics.support_recovery(path, [1, 4])
    assert columns.exact.equals(found.exact) and columns.estimation_error.isna().all()
    assert l0path.diagnostics.support_recovery(path, B[:, 0]).exact.equals(found.exact)
    with pytest.raises(ValueError, match="truth has shape"):
        l0path.diagnostics.support_recovery(path, B[:, :2])


def test_a_summary_counts_the_rows_beyond_delta_in_some_response():
    X, Y, _ = drawn(3)
    path = l0path.fit(X, Y, loss=l0path.losses.Huber(delta=0.7), max_k=2)
    residual = np.abs(Y - np.asarray(path.predict(X, k=2)))
    beyond = np.count_nonzero((residual > 0.7).any(axis=1))
    text = str(path.model(k=2).summary())
    assert f"delta = 0.7: {beyond} of {len(X)} rows are beyond in a response or more" in text
