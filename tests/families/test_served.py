"""What docs/families.md and docs/losses.md say is served beside `fit`, for every family."""

import numpy as np
import pandas as pd
import pytest

import l0path

N, TRUE = 120, ["a", "b"]
FAMILIES = ("gamma", "negative_binomial", "tweedie", "quantile", "binomial", "cox", "weibull")


def table():
    """X with six columns, of which two matter."""
    return pd.DataFrame(np.random.default_rng(0).normal(size=(N, 6)), columns=list("abcdef"))


def response(loss, X):
    rng, eta = np.random.default_rng(1), (X["a"] - 0.8 * X["b"]).to_numpy()
    mean = np.exp(eta)
    if loss == "gamma":
        return rng.gamma(2.0, mean / 2.0)
    if loss == "negative_binomial":
        return rng.negative_binomial(2, 2 / (2 + 3 * mean)).astype(float)
    if loss == "tweedie":
        return np.where(rng.uniform(size=N) < 0.2, 0.0, rng.gamma(2.0, mean / 2.0))
    if loss == "quantile":
        return eta + rng.normal(size=N)
    if loss == "binomial":
        successes = rng.binomial(8, mean / (1 + mean))
        return np.column_stack([successes, 8 - successes])
    return np.column_stack([rng.exponential(1 / mean), rng.uniform(size=N) < 0.7])


@pytest.mark.parametrize("loss", FAMILIES)
def test_subsamples_find_the_columns(loss):
    X = table()
    found = l0path.stability_selection(
        X, response(loss, X), loss=loss, k=2, max_k=3, n_subsamples=6, random_state=1
    )
    assert set(found.table.sort_values("frequency").index[-2:]) == set(TRUE)


@pytest.mark.parametrize("loss", FAMILIES)
def test_results_show_themselves_and_go_into_files(loss, tmp_path):
    X = table()
    path = l0path.fit(X, response(loss, X), loss=loss, max_k=3)
    assert path.model(k=2).features == TRUE
    assert set(path.compare([1, 2]).loc["coefficient"].index) >= set(TRUE)
    assert "a" in str(path.model(k=2).summary())
    # the nearest other model has one of the two columns left out
    assert path.model(k=2).alternatives(n=1).objective.iloc[0] > path.model(k=2).objective
    page = path.explore(tmp_path / "page.html")
    assert page is not None and (tmp_path / "page.html").stat().st_size > 10_000
    path.save(tmp_path / "path.l0")
    back = l0path.load(tmp_path / "path.l0")
    np.testing.assert_array_equal(back.predict(X, k=2), path.predict(X, k=2))
    module = {}
    exec(path.model(k=2).to_python(), module)
    np.testing.assert_allclose(module["predict"](X), path.predict(X, k=2), rtol=1e-12)


@pytest.mark.parametrize("loss", FAMILIES)
def test_outer_folds_score_the_family(loss):
    X = table()
    y = response(loss, X)
    found = l0path.nested_cv(X, y, loss=loss, max_k=3, outer=2, cv=2, lambda2=0, random_state=1)
    null = l0path.cv_fit(X, y, loss=loss, max_k=0, cv=3, random_state=1)
    assert 0 < found.mean < null.scores.cv_mean[0]


@pytest.mark.parametrize("loss", ["gamma", "negative_binomial", "binomial"])
def test_held_out_rows_give_standard_errors(loss):
    X = table()
    y = response(loss, X)
    found = l0path.split_inference(X, y, loss=loss, max_k=3, n_splits=10, random_state=1)
    p_values = found.p_value
    assert (p_values[TRUE] < 0.01).all() and p_values.drop(TRUE).min() > 0.01


def test_a_negative_binomial_refit_takes_options_of_statsmodels():
    X = table()
    y = response("negative_binomial", X)
    path = l0path.fit(X, y, loss="negative_binomial", max_k=3)
    default = path.model(k=2).refit()
    assert "theta was estimated anew with the coefficients (1 / alpha)" in default.selection
    assert (
        "estimated anew" in str(default.summary())
        and "anew" not in l0path.fit(X, y).model(k=1).refit().selection
    )
    for options in ({"maxiter": 500}, {"method": "bfgs", "gtol": 1e-8}, {"cov_type": "HC0"}):
        np.testing.assert_allclose(
            path.model(k=2).refit(**options).params, default.params, rtol=1e-5
        )


def test_survival_times_on_disk(tmp_path):
    X = table()
    y, file = response("cox", X), tmp_path / "x.dat"
    rows = np.memmap(file, dtype="float64", mode="w+", shape=X.shape)
    rows[:] = X
    path = l0path.fit(X.to_numpy(), y, loss="cox", max_k=3)
    blocks = l0path.fit(l0path.designs.blocks(rows), y, loss="cox", max_k=3)
    for k in range(4):
        assert path.support(k=k).tolist() == blocks.support(k=k).tolist()
        np.testing.assert_allclose(path.coef(k=k), blocks.coef(k=k), rtol=1e-9)
