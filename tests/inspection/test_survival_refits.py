"""Refits of survival times: against R's package survival (data/make_survival_values.R), on new
rows, with weights, and what is refused.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from lazy import lazy
from test_survival_in_r import CASES, fitted, rows, values

import l0path
from l0path.errors import SeparationWarning

PHReg = lazy("statsmodels.duration.hazard_regression", "PHReg")
NAMES = ["a", "b", "c"]


def of_r(case, what):
    """Numbers of R for the three columns."""
    return values()[case][[f"{what} {name}".strip() for name in NAMES]].to_numpy()


@pytest.mark.parametrize("case", CASES)
def test_standard_errors_are_those_of_r(case):
    path, robust = fitted(case), fitted(case).model(k=3).refit(cov_type="robust")
    np.testing.assert_allclose(robust.params, of_r(case, ""), atol=1e-7)
    np.testing.assert_allclose(robust.bse, of_r(case, "robust"), rtol=1e-6)
    assert robust.llf == pytest.approx(values()[case]["loglik"], abs=1e-6)
    plain = path.model(k=3).refit(cov_type="nonrobust")
    np.testing.assert_allclose(plain.bse, of_r(case, "se"), rtol=1e-6)
    groups = {"groups": np.arange(1, len(rows()) + 1) % 12}
    clustered = path.model(k=3).refit(cov_type="cluster", cov_kwds=groups)
    np.testing.assert_allclose(clustered.bse, of_r(case, "cluster"), rtol=1e-6)
    default = path.model(k=3).refit()
    what = "robust" if "weighted" in case else "se"  # as coxph decides it
    np.testing.assert_allclose(default.bse, of_r(case, what), rtol=1e-6)
    if "weighted" in case:
        z = default.params / default.bse
        np.testing.assert_allclose(default.tvalues, z)
        low, high = default.conf_int().to_numpy().T
        np.testing.assert_allclose(0.5 * (low + high), default.params)
        assert ((default.pvalues < 0.05) == ((low > 0) | (high < 0))).all()
        text = str(default.summary())
        assert "Ties" in text and "No selection among the features" in " ".join(text.split())


def halves():
    table = rows().assign(group=np.arange(len(rows())) % 2)
    return table[table.group == 0], table[table.group == 1]


@pytest.mark.parametrize("model", ["plain", "late_strata"])
def test_new_rows_are_refitted_as_statsmodels_does(model):
    train, test = halves()
    left = "start, stop, event" if "late" in model else "stop, event"
    strata = "ward" if "strata" in model else None
    path = l0path.fit(f"Surv({left}) ~ a + b + c", train, loss="cox", strata=strata, max_k=2)
    S = [train.columns[j] for j in path.support(k=2)]
    found = path.model(k=2).refit(X=test, strata=strata)
    assert found.selection.startswith("held-out rows: 40 rows given to refit")
    entry = test.start + 0.25 if "late" in model else None
    other = {"entry": entry, "strata": test.ward} if strata else {}
    given = (test.stop.to_numpy(), test[S].to_numpy())
    expected = PHReg(*given, status=test.event.to_numpy(), ties="efron", **other).fit()
    np.testing.assert_allclose(found.params, expected.params, atol=1e-8)
    np.testing.assert_allclose(found.bse, expected.bse, rtol=1e-7)
    ours = path.model(k=2).refit(X=test, strata=strata, sample_weight=2 * np.ones(len(test)))
    np.testing.assert_allclose(ours.params, expected.params, atol=1e-8)
    same = path.model(k=2).refit(X=train, strata=strata)
    assert same.selection.startswith("conditional on selection")


def test_copies_count_rows_and_weights_have_no_scale():
    train, test = halves()
    path = l0path.fit(
        "Surv(stop, event) ~ a + b + c", train, loss=l0path.losses.Cox(ties="breslow"), max_k=2
    )
    counts = 1 + np.arange(len(test)) % 3
    found = path.model(k=2).refit(X=test, freq_weight=counts)
    repeated = path.model(k=2).refit(X=test.loc[test.index.repeat(counts)])
    np.testing.assert_allclose(found.params, repeated.params, atol=1e-8)
    np.testing.assert_allclose(found.bse, repeated.bse, rtol=1e-6)
    assert found.cov_type == "nonrobust" and found.llf == pytest.approx(repeated.llf, rel=1e-9)
    assert (found.nobs, found.events) == (counts.sum(), counts @ test.event)
    half = path.model(k=2).refit(X=test, sample_weight=counts / 2.0)
    assert half.cov_type == "robust" and half.nobs == len(test)
    np.testing.assert_allclose(half.params, found.params, atol=1e-8)
    whole = path.model(k=2).refit(X=test, sample_weight=counts)
    np.testing.assert_allclose(half.bse, whole.bse, rtol=1e-6)  # the scale plays no part
    left_out = np.where(np.arange(len(test)) < 5, 0.0, 1.0)
    zero = path.model(k=2).refit(X=test, sample_weight=left_out, cov_type="robust")
    fewer = path.model(k=2).refit(X=test.iloc[5:], cov_type="robust")
    np.testing.assert_allclose(zero.bse, fewer.bse, rtol=1e-8)


@pytest.mark.parametrize("loss", ["cox", "weibull"])
def test_coefficients_are_tested_by_name(loss):
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.standard_normal((70, 3)), columns=NAMES)
    y = np.column_stack([np.exp(-X["a"] + rng.standard_normal(70)), rng.random(70) < 0.7])
    results = l0path.fit(X, y, loss=loss, max_k=3).model(k=3).refit()
    one = results.t_test("a = 0")
    assert one.tvalue.item() == pytest.approx(results.tvalues["a"])
    wald = results.wald_test("b = c", scalar=True).statistic
    assert results.f_test("b = c").fvalue == pytest.approx(wald)
    at, V = results.params["b"] - results.params["c"], np.asarray(results.cov_params())
    i = list(results.params.index).index("b")
    assert wald == pytest.approx(at**2 / (V[i, i] + V[i + 1, i + 1] - 2 * V[i, i + 1]))
    assert results.params.index.tolist()[-1] == ("c" if loss == "cox" else "log(shape)")
    assert pickle.loads(pickle.dumps(results)).t_test("a = 0").tvalue == one.tvalue


@pytest.mark.parametrize("loss", ["cox", "weibull"])
@pytest.mark.parametrize("name", ["sample_weight", "freq_weight"])
def test_the_rows_of_the_fit_given_anew_keep_their_weights(loss, name):
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.standard_normal((70, 3)), columns=NAMES)
    y = np.column_stack([np.exp(-X["a"] + rng.standard_normal(70)), rng.random(70) < 0.7])
    X["weight"] = rng.integers(1, 4, 70)
    model = l0path.fit(X, y, loss=loss, max_k=2, **{name: "weight"}).model(k=2)
    own, given = model.refit(), model.refit(X, y)
    np.testing.assert_allclose(given.params, own.params, rtol=1e-9)
    np.testing.assert_allclose(given.bse, own.bse, rtol=1e-9)


def test_a_loaded_path_refits_the_rows_of_its_fit(tmp_path):
    path = fitted("efron strata weighted")
    path.save(tmp_path / "path.l0")
    again, one = l0path.load(tmp_path / "path.l0"), path.model(k=2).refit()
    given = {"X": rows(), "strata": "ward"}
    found = again.model(k=2).refit(sample_weight=rows()["weight"], **given)
    np.testing.assert_allclose(found.bse, one.bse, rtol=1e-10)
    assert found.selection == one.selection
    with pytest.raises(ValueError, match="had weights, which a path file does not hold"):
        again.model(k=2).refit(**given)


def test_coefficients_that_rows_do_not_determine_are_open():
    train, test = halves()
    path = l0path.fit("Surv(stop, event) ~ a + b + c", train, loss="cox", k=[3])
    still = test.assign(b=2.0, c=3.0 * test.a)
    found = path.model(k=3).refit(X=still, freq_weight=1.0 + np.arange(len(test)) % 2)
    assert found.bse.isna().all()
    still = test.assign(c=2.0)
    found = path.model(k=3).refit(X=still, cov_type="robust")
    assert found.bse.isna().tolist() == [False, False, True]
    ahead = test.assign(b=-test.stop + 100.0 * test.event)
    with pytest.warns(SeparationWarning, match="monotone"):
        found = path.model(k=3).refit(X=ahead, cov_type="robust")
    assert found.pvalues.isna().all()


REFUSED = {
    "scale": ({"scale": 1.0}, "no dispersion"),
    "covariance": ({"cov_type": "HC3"}, "cov_type='HC3'.*'cluster'"),
    "labels": ({"cov_type": "cluster"}, "one label for each row"),
    "options": ({"cov_type": "robust", "maxiter": 5}, "maxiter= is for statsmodels"),
    "strata": ({"strata": "ward"}, "go with new rows"),
    "weights": ({"sample_weight": np.ones(80)}, "go with new rows"),
    "size": ({"k": 0}, "k >= 1"),
    "rows": ({"X": rows, "strata": "ward"}, "had no strata"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_named(what):
    given, words = REFUSED[what]
    given = {name: value() if callable(value) else value for name, value in given.items()}
    model = fitted("efron plain equal").model(k=given.pop("k", 2))
    with pytest.raises(ValueError, match=words):
        model.refit(**given)
    X = pd.DataFrame({"a": np.arange(9.0)})
    with pytest.raises(ValueError, match="strata is for loss='cox'"):
        l0path.fit(X, np.arange(9.0) ** 2).model(k=1).refit(X=X, y=X.a, strata=X.a)
