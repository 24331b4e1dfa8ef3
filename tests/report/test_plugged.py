"""Other packages on models, refits and tables, each with the package itself where it is installed:
maketables, marginaleffects and great_tables.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

import l0path


@pytest.fixture(scope="module")
def hitters():
    data = l0path.datasets.load_hitters()
    return data.X, data.y


def table(n=150):
    """Numbers, a factor and responses of several kinds."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    data["kind"] = rng.choice(["u", "v", "w"], n)
    eta = 0.5 * data.a - 0.4 * data.b + 0.6 * (data.kind == "w")
    data["y"] = eta + 0.5 * data.a * data.b + 0.5 * rng.standard_normal(n)
    data["count"] = rng.poisson(np.exp(eta))
    data["yes"] = (rng.random(n) < 1 / (1 + np.exp(-2 * eta))).astype(int)
    data["class"] = rng.choice(["r", "s", "t"], n)
    return data


def imported(name):
    """The package, or the test is skipped; what it warns of is not about ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


# -------------------- maketables


def test_models_have_what_maketables_reads(hitters):
    """The three attributes of its plug-in format, checked without it."""
    model = l0path.fit(*hitters, max_k=3).model(k=2)
    found = model.__maketables_coef_table__
    assert found.columns.tolist() == ["b", "se", "t", "p"]
    pd.testing.assert_series_equal(found.b, model.coef, check_names=False)
    assert found[["se", "t", "p"]].isna().all(axis=None)  # a path has none
    assert model.__maketables_depvar__ == "Salary"
    assert model.__maketables_stat__("N") == 263
    assert model.__maketables_stat__("r2") == model.deviance_ratio
    assert model.__maketables_stat__("k") == 2 and model.__maketables_stat__("adj_r2") is None
    data = table()
    several = l0path.fit("class ~ a + b", data, loss="multinomial", lambda2=1e-3, max_k=1).model(
        k=1
    )
    assert several.__maketables_stat__("r2") is None
    long = several.__maketables_coef_table__.b
    feature = several.features[0]
    assert (
        len(long) == several.coef.size and long[f"s: {feature}"] == several.coef.loc[feature, "s"]
    )


@pytest.mark.filterwarnings("ignore")
def test_maketables_prints_models_and_refits(hitters):
    maketables = imported("maketables")
    path = l0path.fit(*hitters, max_k=3)
    refit = path.model(k=3).refit()
    made = maketables.ETable([path.model(k=2), refit])
    text = made.make(type="tex")
    assert "Salary" in text and "263" in text
    for name, value in path.model(k=2).coef.items():
        assert name in text and f"{value:.3f}" in text
    assert f"({refit.bse['Hits']:.3f})" in text and "(-)" in text  # the model of the path has none


@pytest.mark.filterwarnings("ignore")
def test_maketables_prints_cox_regressions():
    maketables = imported("maketables")
    data = l0path.datasets.load_publication()
    model = l0path.fit(data.X, data.y, loss="cox", lambda2=1e-3, max_k=3).model(k=3)
    refit = model.refit()
    text = maketables.ETable([model, refit]).make(type="tex")
    for name in model.features:
        assert name in text and f"{model.coef[name]:.3f}" in text
        assert f"{refit.params[name]:.3f}" in text and f"({refit.bse[name]:.3f})" in text


def test_coefficients_of_cox_refits_have_names():
    data = l0path.datasets.load_publication()
    model = l0path.fit(data.X, data.y, loss="cox", lambda2=1e-3, max_k=3).model(k=3)
    results = model.refit()
    for found in (results.params, results.bse, results.tvalues, results.pvalues):
        assert list(found.index) == model.features
    np.testing.assert_allclose(results.bse, np.sqrt(np.diag(results.cov_params())))
    np.testing.assert_allclose(results.tvalues, results.params / results.bse)
    assert model.features[0] in str(results.summary())
    shown = results.predict(exog=data.X[model.features].iloc[:3]).predicted_values
    np.testing.assert_allclose(shown, data.X[model.features].iloc[:3] @ results.params)


# -------------------- marginaleffects


def working_marginaleffects():
    """The package, where it works with fits of statsmodels at all: 0.6 fails under polars 2."""
    effects = imported("marginaleffects")
    try:
        effects.avg_slopes(in_statsmodels("squared", "y ~ a", table()))
    except Exception as error:
        pytest.skip(f"marginaleffects fails on a fit of statsmodels itself: {error!r}"[:200])
    return effects


FORMULAS = {
    "squared": "y ~ a * b + C(kind)",
    "poisson": "count ~ a + b + C(kind)",
    "logistic": "yes ~ a + b + C(kind)",
}


def in_statsmodels(loss, formula, data):
    """The same fit by statsmodels' own formulas."""
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    if loss == "squared":
        return smf.ols(formula, data).fit()
    family = sm.families.Poisson() if loss == "poisson" else sm.families.Binomial()
    return smf.glm(formula, data, family=family).fit(tol=1e-12)


@pytest.mark.parametrize("loss", list(FORMULAS))
def test_refits_have_what_marginaleffects_reads(loss):
    """A formula, a frame, and a function that encodes new rows, checked without the package."""
    data, formula = table(), FORMULAS[loss]
    path = l0path.fit(formula, data, loss=loss, max_k=5)
    results, twin = path.model(k=path.details.k.max()).refit(), in_statsmodels(loss, formula, data)
    model = results.model
    assert model.formula.replace(" ", "").endswith("~a+b+kind")
    assert list(model.data.frame.columns) == [formula.split(" ~")[0], "a", "b", "kind"]
    new = data[::-1].head(20)
    _, exog = model.data.design_info(new)
    np.testing.assert_allclose(model.predict(results.params, exog), twin.predict(new), atol=1e-6)
    # statsmodels still takes columns that are encoded, and tables
    np.testing.assert_allclose(results.predict(exog), twin.predict(new), atol=1e-6)
    np.testing.assert_allclose(results.predict(new), twin.predict(new), atol=1e-6)
    mean = results.get_prediction(new).summary_frame()["mean"]
    np.testing.assert_allclose(mean, twin.predict(new), atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", list(FORMULAS))
def test_marginaleffects_of_refits_are_those_of_the_same_fit_in_statsmodels(loss):
    effects = working_marginaleffects()
    data, formula = table(), FORMULAS[loss]
    path = l0path.fit(formula, data, loss=loss, max_k=5)
    results = path.model(k=path.details.k.max()).refit()
    keys = ["term", "contrast"]
    twin = in_statsmodels(loss, formula, data.astype({"kind": "category"}))
    for call in (effects.avg_slopes, effects.avg_comparisons):
        ours, theirs = (call(one).to_pandas().sort_values(keys) for one in (results, twin))
        assert ours[keys].values.tolist() == theirs[keys].values.tolist()
        np.testing.assert_allclose(ours.estimate, theirs.estimate, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(ours.std_error, theirs.std_error, rtol=1e-3)
    ours, theirs = (effects.avg_predictions(one, by="kind").to_pandas() for one in (results, twin))
    np.testing.assert_allclose(ours.estimate, theirs.estimate, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_marginaleffects_of_columns_without_a_formula(hitters):
    effects = working_marginaleffects()
    results = l0path.fit(*hitters, max_k=3).model(k=3).refit()
    # its default step, 1e-4 of the range, leaves two digits of a difference of differences
    found = effects.avg_slopes(results, eps=0.01).to_pandas().set_index("term")
    assert set(found.index) == set(results.params.index) - {"(Intercept)"}
    for name, row in found.iterrows():
        assert row.estimate == pytest.approx(results.params[name], rel=1e-5)
        assert row.std_error == pytest.approx(results.bse[name], rel=1e-2)


def surveyed(n=400):
    """Shares of trials, ordered and unordered classes, amounts and quantiles by a formula."""
    rng = np.random.default_rng(7)
    data = table(n)
    eta = 0.5 * data.a - 0.4 * data.b + 0.6 * (data.kind == "w")
    data["trials"] = rng.integers(3, 9, n)
    data["share"] = rng.binomial(data.trials, 1 / (1 + np.exp(-eta))) / data.trials
    data["amount"] = np.exp(eta) * rng.gamma(2.0, 0.5, n)
    data["grade"] = np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0])
    return data


def changes(predict, data, name, step=1e-4):
    """The mean change of predictions with a column, by a difference either way."""
    up, down = (data.assign(**{name: data[name] + s}) for s in (step / 2, -step / 2))
    return np.mean(predict(up) - predict(down), axis=0) / step


LOSSES = {
    "huber": ("y", {}),
    "quantile": ("y", {}),
    "gamma": ("amount", {}),
    "tweedie": ("amount", {}),
    "negative_binomial": ("count", {}),
    "binomial": ("share", {"trials": "trials"}),
    "multinomial": ("class", {"lambda2": 1e-6}),
    "ordinal": ("grade", {}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", list(LOSSES))
def test_marginaleffects_of_other_losses_are_differences_of_predictions(loss):
    """Estimates by differences of the predictions of the refit, errors by the delta method."""
    effects = working_marginaleffects()
    (response, how), data = LOSSES[loss], surveyed()
    path = l0path.fit(f"{response} ~ a + b + C(kind)", data, loss=loss, max_k=3, **how)
    results = path.model(k=3).refit()
    found = effects.avg_slopes(results, variables="a", eps=1e-4).to_pandas()
    model, encode = results.model, results.model.data.design_info

    def predicted(params):
        return changes(lambda rows: np.asarray(model.predict(params, encode(rows)[1])), data, "a")

    params = np.asarray(results.params)
    np.testing.assert_allclose(found.estimate, np.atleast_1d(predicted(params)), atol=1e-6)
    flat = params.ravel(order="F")
    slopes = np.array(
        [
            np.atleast_1d(
                predicted((flat + h * unit).reshape(params.shape, order="F"))
                - predicted((flat - h * unit).reshape(params.shape, order="F"))
            )
            / (2 * h)
            for h, unit in ((1e-3, unit) for unit in np.eye(flat.size))
        ]
    )
    V = np.asarray(results.cov_params())
    np.testing.assert_allclose(
        found.std_error, np.sqrt(np.einsum("pg,pq,qg->g", slopes, V, slopes)), rtol=0.02
    )


@pytest.mark.filterwarnings("ignore")
def test_marginaleffects_of_shares_are_those_of_single_trials():
    effects = working_marginaleffects()
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    data = surveyed()
    path = l0path.fit("share ~ a + b", data, loss="binomial", trials="trials", max_k=2)
    hits = np.round(data.share * data.trials).astype(int)
    times = np.column_stack([hits, data.trials - hits])
    rows = data.loc[data.index.repeat(2), ["a", "b"]].assign(
        hit=np.tile([1, 0], len(data)), times=times.ravel()
    )
    rows = rows.reset_index(drop=True)
    rows = rows.loc[rows.index.repeat(rows.times)].reset_index(drop=True)
    twin = smf.glm("hit ~ a + b", rows, family=sm.families.Binomial()).fit(tol=1e-12)
    results = path.model(k=2).refit()
    np.testing.assert_allclose(results.params, twin.params, atol=1e-6)
    ours = effects.avg_predictions(results, newdata=data[["share", "a", "b"]].head(30)).to_pandas()
    theirs = effects.avg_predictions(
        twin, newdata=data.rename(columns={"yes": "hit"})[["hit", "a", "b"]].head(30)
    ).to_pandas()
    np.testing.assert_allclose(ours.estimate, theirs.estimate, rtol=1e-6)
    np.testing.assert_allclose(ours.std_error, theirs.std_error, rtol=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_marginaleffects_of_cox_regressions_are_refused_with_a_reason():
    effects = working_marginaleffects()
    data = l0path.datasets.load_publication()
    results = l0path.fit(data.X, data.y, loss="cox", lambda2=1e-3, max_k=2).model(k=2).refit()
    with pytest.raises(AttributeError, match=r"log hazard ratios .*Model\.survival"):
        effects.avg_slopes(results)


# -------------------- great_tables


def test_comparisons_and_tables_are_great_tables(hitters):
    great_tables = imported("great_tables")
    path = l0path.fit(*hitters, max_k=3)
    shown = path.compare([2, 3], se=True).to_gt()
    html = shown.as_raw_html()
    assert "k = 3" in html and "CRBI" in html and "criterion" in html
    assert f"{path.model(k=2).coef['Hits']:.3f}" in html
    for frame in (path.details, path.score_table().reset_index(), path.model(k=2).summary().table):
        html = great_tables.GT(frame.reset_index(drop=True)).as_raw_html()
        assert str(frame.columns[0]) in html
