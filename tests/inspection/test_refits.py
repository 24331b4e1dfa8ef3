"""Standard errors of refits against statsmodels called by hand: robust, clustered, quasi-Poisson;
predictions and analysis of variance of a formula; refits of a cross-validation.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lazy import lazy
from thinning import thinned

import l0path

DATA = Path(__file__).parent.parent / "data"
LOSSES = ("squared", "logistic", "poisson", "gamma", "binomial")
sm = lazy("statsmodels.api")
smf = lazy("statsmodels.formula.api")
anova_lm = lazy("statsmodels.stats.anova", "anova_lm")


def table(n=90, seed=0):
    """Numbers, a factor of three levels, counts, classes and clusters of rows."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    X["kind"] = rng.choice(["x", "y", "z"], n)
    X["patient"] = rng.choice(["p", "q", "r", "s", "t"], n)
    eta = X["a"] - 0.7 * X["b"] + 0.8 * (X["kind"] == "z")
    X["real"] = eta + rng.standard_normal(n) * (1 + X["a"].abs())
    X["count"] = rng.poisson(np.exp(0.4 * eta) * rng.gamma(1.0, 1.0, n))
    X["sick"] = np.where(eta + rng.logistic(size=n) > 0, "yes", "no")
    return X


def by_hand(X, path, k):
    return sm.add_constant(X[path.model(k=k).features]).rename(columns={"const": "(Intercept)"})


@pytest.mark.parametrize("kind", ["HC0", "cluster", "HAC"])
@pytest.mark.parametrize("loss", ["squared", "poisson", "logistic"])
def test_robust_covariances_reach_statsmodels(loss, kind):
    frame = table()
    X, y = frame[list("abcd")], frame[{"squared": "real", "poisson": "count"}.get(loss, "sick")]
    path = l0path.fit(X, y, loss=loss, max_k=3)
    kwds = {
        "cluster": {"groups": frame["patient"].to_numpy()},
        "HAC": {"maxlags": 2},
    }.get(kind)
    results, A = path.model(k=2).refit(cov_type=kind, cov_kwds=kwds), by_hand(X, path, 2)
    target = (y == "yes").astype(float) if loss == "logistic" else y
    model = {
        "squared": lambda: sm.OLS(target, A),
        "poisson": lambda: sm.GLM(target, A, family=sm.families.Poisson()),
        "logistic": lambda: sm.GLM(target, A, family=sm.families.Binomial()),
    }[loss]()
    own_kwds = {"groups": pd.factorize(frame["patient"])[0]} if kind == "cluster" else kwds
    own = model.fit(cov_type=kind, cov_kwds=own_kwds, use_t=loss == "squared")
    np.testing.assert_allclose(results.bse, own.bse, rtol=1e-6)
    np.testing.assert_allclose(results.pvalues, own.pvalues, rtol=1e-5, atol=1e-12)
    assert results.cov_type == kind and "Conditional on selection" in str(results.summary())


@pytest.mark.parametrize("loss", ["poisson", "logistic"])
def test_quasi_likelihoods_scale_the_standard_errors(loss):
    frame = table()
    path = l0path.fit(
        frame[list("abcd")], frame["count" if loss == "poisson" else "sick"], loss=loss, max_k=2
    )
    plain, quasi = path.model(k=2).refit(), path.model(k=2).refit(scale="X2")
    dispersion = (plain.resid_pearson**2).sum() / plain.df_resid
    assert quasi.scale == pytest.approx(dispersion)
    np.testing.assert_allclose(quasi.bse, plain.bse * np.sqrt(dispersion), rtol=1e-8)
    assert path.model(k=2).refit(scale=2.5).bse.iloc[0] == pytest.approx(
        plain.bse.iloc[0] * np.sqrt(2.5)
    )


def test_a_known_error_variance_and_other_arguments():
    frame = table()
    path = l0path.fit(frame[list("abcd")], frame["real"], max_k=2)
    plain = path.model(k=2).refit()
    known = path.model(k=2).refit(scale=4.0)
    np.testing.assert_allclose(known.bse, plain.bse * np.sqrt(4.0 / plain.scale))
    assert path.model(k=2).refit(cov_type="HC1", use_t=False).use_t is False
    robust = l0path.fit(frame[list("abcd")], frame["real"], loss="huber", max_k=2)
    assert not np.allclose(
        robust.model(k=2).refit(cov_type="H3").bse, robust.model(k=2).refit().bse
    )


@pytest.mark.parametrize("loss", ["squared", "poisson", "logistic"])
def test_robust_covariances_of_rows_that_stand_for_several(loss):
    frame, w = table(60), np.random.default_rng(1).integers(0, 3, 60)
    y = frame[{"squared": "real", "poisson": "count"}.get(loss, "sick")]
    X = frame[list("abc")]
    path = l0path.fit(X, y, loss=loss, freq_weight=w, max_k=2)
    again = np.repeat(np.arange(60), w)
    twice = l0path.fit(X.iloc[again], y.iloc[again], loss=loss, max_k=2)
    groups = frame["patient"].to_numpy()
    for kind, a, b in (
        ("HC0", None, None),
        ("cluster", {"groups": groups}, {"groups": groups[again]}),
    ):
        np.testing.assert_allclose(
            path.model(k=2).refit(cov_type=kind, cov_kwds=a).bse,
            twice.model(k=2).refit(cov_type=kind, cov_kwds=b).bse,
            rtol=1e-6,
        )


@pytest.mark.parametrize(
    "options, match",
    [
        ({"cov_type": "cluster"}, "needs cov_kwds={'groups': labels}"),
        ({"cov_type": "HAC"}, "cov_type='HAC' needs cov_kwds={'maxlags': 4}"),
        ({"cov_type": "HAC", "cov_kwds": {"maxlags": 1.5}}, r"maxlags'\]=1.5 must be a whole"),
        ({"cov_type": "HC9"}, "cov_type='HC9' is not known for loss='squared'; choose 'nonrobust'"),
        ({"cov_type": "HC3", "cov_kwds": {"maxlags": 4}}, "has 'maxlags', which cov_type='HC3' do"),
        ({"cov_kwds": {"groups": [1] * 90}}, "'groups', which .*(options: none)"),
        ({"cov_type": "cluster", "cov_kwds": {"group": [1] * 90}}, "cov_kwds has 'group', which"),
        ({"cov_type": "HAC", "cov_kwds": {"maxlags": 1, "scaling_factor": 2}}, "scaling_factor"),
        ({"cov_type": "nw-panel", "cov_kwds": {"maxlags": 1}}, "'groups' or 'time' in cov_kwds"),
        ({"cov_type": "nw-groupsum", "cov_kwds": {"maxlags": 1}}, "needs 'time' in cov_kwds"),
        ({"cov_type": "cluster", "cov_kwds": {"groups": [1, 2]}}, r"shape \(2,\).*90 rows"),
        ({"cov_type": "cluster", "cov_kwds": {"groups": [None] * 90}}, "missing values"),
        ({"scale": "X2"}, "a known error variance"),
        ({"scale": 2.0, "cov_type": "HC0"}, "cov_type='HC0'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(options, match):
    frame = table()
    path = l0path.fit(frame[list("abcd")], frame["real"], max_k=2)
    with pytest.raises(ValueError, match=match):
        path.model(k=1).refit(**options)


def by_definition(results, kind, observed):
    """Standard errors of a generalized linear model by the sum over its rows."""
    model, b = results._results.model, results.params.to_numpy()
    n, k = model.exog.shape
    information = -model.hessian(b, observed=observed)
    weights = model.hessian_factor(b, observed=observed)
    inverse, middle = np.linalg.inv(information), np.zeros((k, k))
    without_scale = np.linalg.inv((model.exog.T * weights) @ model.exog)
    for i, score in enumerate(model.score_obs(b)):
        h = weights[i] * model.exog[i] @ without_scale @ model.exog[i]
        factor = {"HC0": 1, "HC1": n / (n - k), "HC2": 1 / (1 - h), "HC3": 1 / (1 - h) ** 2}[kind]
        middle += factor * np.outer(score, score)
    return np.sqrt(np.diag(inverse @ middle @ inverse))


@pytest.mark.parametrize(("loss", "kind"), thinned(2, LOSSES, ("HC0", "HC1", "HC2", "HC3")))
def test_covariances_for_unequal_variances_are_those_of_r(loss, kind):
    """Of R's `sandwich::vcovHC` (data/make_estimate_values.R). HC1 to HC3 of generalized linear
    models are HC0 in statsmodels.
    """
    rows = pd.read_csv(DATA / "weights_r.csv")
    values = pd.read_csv(DATA / "estimates_r_values.csv")
    response = dict(zip(LOSSES, ("number", "class", "count", "amount", "share"), strict=True))
    exact = l0path.solvers.LocalSearch(tol=1e-12)
    for weight in (None, "weight") if loss != "binomial" else (None,):
        more = {"sample_weight": weight, "trials": "trials" if loss == "binomial" else None}
        path = l0path.fit(
            f"{response[loss]} ~ a + b + c", rows, loss=loss, max_k=3, algorithm=exact, **more
        )
        results = path.model(k=3).refit(cov_type=kind.lower())
        case = values["case"] == f"{loss}{' weighted' if weight else ''}"
        expected = values[case & (values["what"] == kind)]["value"].to_numpy()
        own = np.sqrt(np.diag(results.cov_params()))
        np.testing.assert_allclose(results.tvalues, results.params / own)
        assert results.cov_type == kind and kind in str(results.summary())
        if loss == "squared":
            np.testing.assert_allclose(own, expected, rtol=1e-8)
        else:
            np.testing.assert_allclose(own, by_definition(results, kind, observed=True), rtol=1e-8)
            found = by_definition(results, kind, observed=False)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            if loss != "gamma":  # whose link is not canonical: R has the expected information
                np.testing.assert_allclose(own, expected, rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_rows_that_alone_tell_a_coefficient_are_named(loss):
    """HC2 and HC3 divide by 0 there."""
    frame = table()
    frame["alone"] = (frame.index == 17).astype(float)
    y = frame[{"squared": "real", "poisson": "count"}.get(loss, "sick")].copy()
    if loss != "logistic":
        y[17] = 3
    else:  # two rows, and one of them counted by hand
        frame.loc[18, "alone"] = 1.0
        y[17], y[18] = "yes", "no"
    X = frame[["a", "alone"]]
    model = l0path.fit(X, y, loss=loss, max_k=2).model(k=2)
    assert np.isfinite(model.refit(cov_type="HC1").bse).all()
    if loss == "logistic":
        assert np.isfinite(model.refit(cov_type="HC3").bse).all()
        return
    for kind in ("HC2", "HC3"):
        with pytest.raises(ValueError, match=f"cov_type='{kind}' divides by .* for row 17: "):
            model.refit(cov_type=kind)


def test_covariances_of_other_regressions():
    frame = table()
    X = frame[list("abc")]
    level = 1 + (frame["a"] > -0.5) + (frame["real"] > 0.5)
    for loss, y in (("negative_binomial", frame["count"]), ("ordinal", level)):
        model = l0path.fit(X, y, loss=loss, max_k=1).model(k=1)
        assert not np.allclose(model.refit(cov_type="HC0").bse, model.refit().bse)
        for kind in ("HC1", "HC2", "HC3"):
            with pytest.raises(
                ValueError, match=f"cov_type='{kind}' corrects .*pass cov_type='HC0"
            ):
                model.refit(cov_type=kind)
        with pytest.raises(ValueError, match="cov_type='HC9' is not known"):
            model.refit(cov_type="HC9")
    with pytest.raises(TypeError, match="cov_type=3 must be a name; choose"):
        l0path.fit(X, frame["real"], max_k=1).model(k=1).refit(cov_type=3)
    times = np.column_stack([np.exp(frame["real"]), np.ones(len(frame))])
    model = l0path.fit(X, times, loss="cox", max_k=1).model(k=1)
    with pytest.raises(
        ValueError, match="cov_kwds has 'groups', which cov_type=None of loss='cox'"
    ):
        model.refit(cov_kwds={"groups": frame["patient"]})


def test_a_robust_regression_has_covariances_of_its_own():
    frame = table()
    path = l0path.fit(frame[list("abcd")], frame["real"], loss="huber", max_k=2)
    with pytest.raises(ValueError, match="'H1', 'H2' and 'H3'"):
        path.model(k=1).refit(cov_type="HC3")
    with pytest.raises(ValueError, match="neither cov_kwds nor scale"):
        path.model(k=1).refit(scale=1.0)


def test_a_formula_predicts_and_has_an_analysis_of_variance():
    frame = table()
    path = l0path.fit("real ~ kind + a + b + c:d", frame, groups=None)
    k = path.details["k"].max()
    results = path.model(k=k).refit()
    own = smf.ols("real ~ kind + a + b + c:d", frame).fit()
    new = table(12, seed=3)
    np.testing.assert_allclose(results.predict(new), own.predict(new))
    pd.testing.assert_index_equal(results.predict(new).index, new.index)
    np.testing.assert_allclose(
        results.get_prediction(new).conf_int(), own.get_prediction(new).conf_int()
    )
    for typ in (1, 2, 3):
        ours, theirs = anova_lm(results, typ=typ), anova_lm(own, typ=typ)
        ours = ours.rename(index={"1": "Intercept"})
        names = [name for name in theirs.index if name in ours.index]
        assert len(names) >= len(theirs) - (typ == 3)
        np.testing.assert_allclose(ours.loc[names], theirs.loc[names], rtol=1e-8)


def test_models_of_a_formula_are_compared_by_anova():
    frame = table()
    path = l0path.fit("real ~ a + b + kind", frame)
    small, large = path.model(k=1).refit(), path.model(k=3).refit()
    F = (small.ssr - large.ssr) / (small.df_resid - large.df_resid) / large.scale
    assert anova_lm(small, large)["F"].iloc[1] == pytest.approx(F)


def test_predictions_of_a_fit_to_columns_go_by_name():
    frame = table()
    path = l0path.fit(frame[list("abcd")], frame["count"], loss="poisson", max_k=3)
    results, new = path.model(k=2).refit(), table(8, seed=5)
    np.testing.assert_allclose(
        results.predict(new[list("dcba")]), path.predict(new[list("abcd")], k=2), rtol=1e-6
    )
    assert anova_lm(
        l0path.fit(frame[list("ab")], frame["real"]).model(k=2).refit()
    ).index.tolist() == [
        "a",
        "b",
        "Residual",
    ]


def test_labels_of_clusters_may_be_those_of_the_rows_before_incomplete_ones_were_dropped():
    frame = table()
    frame.loc[[3, 7, 40], "a"] = np.nan
    path = l0path.fit("real ~ a + b", frame)
    groups = frame["patient"].to_numpy()
    full = path.model(k=2).refit(cov_type="cluster", cov_kwds={"groups": groups})
    kept = frame["a"].notna().to_numpy()
    own = smf.ols("real ~ a + b", frame[kept]).fit(
        cov_type="cluster", cov_kwds={"groups": pd.factorize(groups[kept])[0]}
    )
    np.testing.assert_allclose(full.bse, own.bse)


def test_a_cross_validation_has_the_methods_of_its_choice():
    frame = table()
    cv = l0path.cv_fit(frame[list("abcd")], frame["real"], cv=5, max_k=4, random_state=0, lambda2=0)
    for which in ("min", "1se"):
        i = cv.select(which)
        np.testing.assert_allclose(
            cv.model(which).refit(cov_type="HC3").bse, cv.model(index=i).refit(cov_type="HC3").bse
        )
        pd.testing.assert_frame_equal(
            cv.model(which).summary().table, cv.model(index=i).summary().table
        )
        assert cv.certify(which).model.support.tolist() == cv.model(which).support.tolist()
    assert cv.model(k=1).refit().params.size == 2


def test_a_model_of_all_columns_was_not_selected_among_columns():
    frame = table()
    path = l0path.fit(frame[list("abcd")], frame["real"])
    assert (
        path.model(k=4)
        .refit()
        .selection.startswith("no selection among the features: the model holds")
    )
    assert path.model(k=0).refit().selection.startswith("no selection among the features")
    assert path.model(k=3).refit().selection.startswith("conditional on selection")


@pytest.mark.parametrize("seed", [1, 2])
def test_negative_binomial_refits_of_counts_that_vary_as_poissons(seed):
    """The best alpha is 0, where Newton steps for it led to NaN."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    y = rng.poisson(np.exp(0.3 * (X[:, 0] - X[:, 1]) + 1))
    refit = (
        l0path.fit(X, y, loss=l0path.losses.NegativeBinomial(theta=150.0), max_k=2)
        .model(k=2)
        .refit()
    )
    poisson = l0path.fit(X, y, loss="poisson", max_k=2).model(k=2).refit()
    np.testing.assert_allclose(refit.params.iloc[:3], poisson.params, rtol=1e-4)
    np.testing.assert_allclose(refit.bse.iloc[:3], poisson.bse, rtol=1e-4)
    assert 0 <= refit.params.iloc[3] < 1e-5 and refit.llf == pytest.approx(poisson.llf, abs=1e-3)


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_refits_of_counts_that_vary_as_poissons_have_standard_errors(seed):
    """All were NaN where rounding hid the curvature in alpha, and a comparison of models failed."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(20, 80, 40), "dose": rng.normal(size=40)})
    y = rng.poisson(np.exp(0.03 * (X.age - 50) + X.dose))
    path = l0path.fit(X, y, loss="negative_binomial")
    poisson = l0path.fit(X, y, loss="poisson")
    for how in ({}, {"cov_type": "HC0"}):
        refit = path.model(k=2).refit(**how)
        other = poisson.model(k=2).refit(**how)
        np.testing.assert_allclose(refit.bse.iloc[:3], other.bse, rtol=1e-5)
        assert refit.params["alpha"] < 1e-5
        np.testing.assert_allclose(refit.conf_int().iloc[:3], other.conf_int(), rtol=1e-4)
        tested, expected = (one.t_test("age - dose = 0") for one in (refit, other))
        assert tested.sd == pytest.approx(expected.sd, rel=1e-5)
        tested, expected = (
            one.wald_test("age = 0, dose = 0", scalar=True) for one in (refit, other)
        )
        assert tested.statistic == pytest.approx(expected.statistic, rel=1e-5)
    assert "standard error" in str(path.compare([1, 2], se=True))


def test_refits_of_ordered_classes_that_are_optima_are_not_called_unconverged():
    """One in twelve was, at the optimum: slopes that are differences do not come closer to 0."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 3)) * [1.0, 30.0, 5.0] + [0.0, 0.0, 100.0]
        y = np.digitize(X[:, 0] + 0.02 * X[:, 1] + rng.logistic(size=100), [-1, 0.5, 2])
        path = l0path.fit(X, y, loss="ordinal")
        for k in (1, 2, 3):
            refit, model = path.model(k=k).refit(), path.model(k=k)  # warnings are errors in tests
            np.testing.assert_allclose(refit.params[model.features], model.coef[-k:], rtol=1e-3)
    with pytest.warns(l0path.errors.ConvergenceWarning, match="loss='ordinal' did not"):
        l0path.fit(X, y, loss="ordinal", lambda2=1.0).model(k=3).refit(maxiter=1)


def test_steps_that_alternate_between_optima_of_the_check_loss_are_no_failure():
    from statsmodels.datasets import engel

    data = engel.load_pandas().data
    x, y = data["income"].to_numpy(), data["foodexp"].to_numpy()
    with pytest.warns(Warning, match="Convergence cycle detected"):
        sm.QuantReg(y, sm.add_constant(x)).fit(q=0.45, max_iter=10000, p_tol=1e-9)
    path = l0path.fit("foodexp ~ income", data, loss=l0path.losses.Quantile(0.45), max_k=1)
    level, slope = path.model(k=1).refit().params  # warnings are errors in tests

    def check_loss(level, slope):
        residual = y - level - slope * x
        return np.where(residual > 0, 0.45 * residual, -0.55 * residual).sum()

    i, j = np.triu_indices(y.size, 1)  # an optimum passes through two rows
    i, j = i[x[i] != x[j]], j[x[i] != x[j]]
    slopes = (y[i] - y[j]) / (x[i] - x[j])
    least = min(map(check_loss, y[i] - slopes * x[i], slopes))
    assert check_loss(level, slope) == pytest.approx(least, rel=1e-8)


def test_a_refit_that_does_not_converge_says_so_in_one_sentence():
    frame = table()
    path = l0path.fit(frame[list("abcd")], frame["count"], loss="negative_binomial", max_k=2)
    with pytest.warns(l0path.errors.ConvergenceWarning, match="loss='negative_binomial' did not"):
        path.model(k=2).refit(method="bfgs", maxiter=1)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("alpha", "level=1 - alpha"),
        ("exponentiate", "estimates\\(exponentiate=True\\)"),
        ("vcov", "cov_type="),
        ("cov_typ", "cov_type="),
        ("data", "X="),
        ("banana", "no argument banana="),
    ],
)
def test_arguments_that_nothing_uses_are_refused(name, meant):
    data = l0path.datasets.load_hitters()
    model = l0path.fit(data.X, data.y, max_k=2).model(k=2)
    for call in (model.refit, model.conf_int):
        with pytest.raises(TypeError, match=meant):
            call(**{name: 0.1})
    assert model.refit(use_t=False).use_t is False


@pytest.mark.parametrize("loss", ["multinomial", "negative_binomial"])
def test_a_summary_of_weighted_rows_has_the_weighted_model_of_no_features(loss):
    frame = table()
    X, w = frame[list("abcd")], np.random.default_rng(2).uniform(0.3, 2.0, 90)
    path = l0path.fit(X, frame["kind"] if loss == "multinomial" else frame["count"],
                      loss=loss, sample_weight=w, max_k=2)  # fmt: skip
    results = path.model(k=2).refit()
    assert f"{results.llnull:.5g}" in str(results.summary())
    if loss == "multinomial":
        null = path.score_table().loglik[0]
    else:  # theta is estimated anew
        null = path.model(k=0).refit().llf
    assert results.llnull == pytest.approx(null, rel=1e-7)
    assert "Log-Likelihood" in str(results.summary2())


@pytest.mark.parametrize("loss", ["squared", "poisson", "cox", "weibull"])
def test_one_cluster_is_refused(loss):
    frame = table()
    y = {"squared": frame["real"], "poisson": frame["count"]}.get(loss)
    if y is None:
        y = np.column_stack([np.exp(frame["real"]), np.arange(90) % 3 > 0])
    model = l0path.fit(frame[list("abcd")], y, loss=loss, max_k=2).model(k=2)
    with pytest.raises(ValueError, match=r"cov_kwds\['groups'\] has one label only"):
        model.refit(cov_type="cluster", cov_kwds={"groups": np.full(90, "p")})


@pytest.mark.parametrize("loss", ["squared", "gamma", l0path.losses.Huber(delta=1.0)])
def test_as_many_coefficients_as_rows_have_no_robust_standard_errors(loss):
    frame = table(n=5)
    how = {} if isinstance(loss, l0path.losses.Huber) else {"cov_type": "cluster"}
    how |= {"cov_kwds": {"groups": np.arange(5) // 2}} if how else {}
    path = l0path.fit(frame[list("abcd")], np.exp(frame["real"]), loss=loss, max_k=4, lambda2=0.1)
    with pytest.raises(ValueError, match="5 rows are too few for 5 coefficients"):
        path.model(k=4).refit(**how)
    if how:
        with pytest.raises(ValueError, match="cov_type='HC1' has no standard errors here"):
            path.model(k=4).refit(cov_type="HC1")


@pytest.mark.parametrize("loss", ["squared", "poisson", "weibull"])
def test_refits_keep_the_labels_of_the_rows_of_the_fit(loss, tmp_path):
    frame = table().set_index(pd.Index([f"r{i}" for i in range(90)]))
    y = {"squared": frame["real"], "poisson": frame["count"]}.get(loss)
    if y is None:
        y = pd.DataFrame({"time": np.exp(frame["real"]), "event": np.arange(90) % 3 > 0})
    path = l0path.fit(frame[list("abcd")], y, loss=loss, max_k=2)
    path.save(tmp_path / "path.npz", data=True)
    for one in (path, l0path.load(tmp_path / "path.npz")):
        assert one.model(k=2).refit().model.data.row_labels.equals(frame.index)
    if loss == "squared":  # rows that a formula drops leave gaps
        gaps = frame.assign(a=frame["a"].where(frame["a"] < 1.0))
        left = l0path.fit("real ~ a + b", gaps).model(k=1).refit().resid
        assert left.index.equals(gaps.index[gaps["a"].notna()])


@pytest.mark.parametrize("loss", ["gamma", l0path.losses.Tweedie(1.5)])
def test_as_many_coefficients_as_rows_have_no_dispersion(loss):
    frame = table(n=5)
    path = l0path.fit(frame[list("abcd")], np.exp(frame["real"]), loss=loss, max_k=4, lambda2=0.1)
    with pytest.raises(ValueError, match="the refit has no standard errors here: 5 rows"):
        path.model(k=4).refit()
    with pytest.warns(l0path.errors.SeparationWarning, match="or fit perfectly"):
        known = path.model(k=4).refit(scale=1.0)
    assert np.isfinite(known.bse).all()


def test_counts_that_vary_less_than_a_poisson_variable():
    y = np.array([1, 3, 1, 0, 1, 1, 0, 0, 1, 0, 2, 0, 0, 0, 0, 3, 1, 3, 0, 0, 2, 2])
    y = np.repeat(y, [3, 1, 3, 1, 1, 3, 1, 1, 3, 2, 2, 2, 1, 1, 1, 2, 3, 2, 1, 3, 2, 2])
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(y.size, 2)), columns=list("ab"))
    path = l0path.fit(X, y, loss=l0path.losses.NegativeBinomial(theta=2.0), max_k=2)
    for k in range(3):  # alpha is 0, and steps that lead below it do not end the refit
        results = path.model(k=k).refit()
        own = sm.GLM(y, results.model.exog, family=sm.families.Poisson()).fit(tol=1e-12)
        np.testing.assert_allclose(results.params.iloc[:-1], own.params, atol=1e-5)
        assert results.params["alpha"] < 1e-5 and results.llf == pytest.approx(own.llf, abs=1e-4)


def test_a_gamma_regression_whose_first_steps_lead_beyond_all_numbers():
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(60):
        X = pd.DataFrame(rng.normal(size=(12, 2)) * 6.0, columns=list("ab"))
        y = rng.gamma(2.0, 1.0, 12) * np.exp(0.5 * X["a"])
        model = l0path.fit(X, y, loss="gamma", fit_intercept=False, max_k=2).model(k=2)
        try:
            own = sm.GLM(y, X, family=sm.families.Gamma(sm.families.links.Log()))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                own.fit()
        except ValueError:
            found += 1
        np.testing.assert_allclose(model.refit().params, model.coef[["a", "b"]], rtol=1e-5)
    assert found


def test_labels_that_are_repeated_do_not_multiply_rows():
    """Rows of one person have one label; statsmodels joins tables of influence by labels."""
    frame = table().set_index(np.arange(90) // 3)
    refit = l0path.fit("real ~ a + b", frame, max_k=2).model(k=2).refit()
    assert len(refit.resid) == len(refit.get_influence().summary_frame()) == 90
