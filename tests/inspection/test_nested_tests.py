"""`l0path.anova`, standard errors, intervals and thresholds of refits against stored values of R
(data/make_nested_values.R), and what is refused.
"""

from functools import cache
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import l0path

FOLDER = Path(__file__).parents[1] / "data"
RIGHT = ("a", "a + b", "a + b + c + d")


@cache
def rows():
    return pd.read_csv(FOLDER / "nested_r.csv")


@cache
def values():
    table = pd.read_csv(FOLDER / "nested_r_values.csv")
    return {case: part.set_index("name")["value"] for case, part in table.groupby("case")}


def refits(left, loss, options=None, right=RIGHT, **fit):
    """Refits of models of all columns of each right side, which nothing chose."""
    out = []
    for formula in right:
        k = formula.count("+") + 1
        path = l0path.fit(f"{left} ~ {formula}", rows(), loss=loss, k=[k], **fit)
        out.append(path.model(k=k).refit(**options or {}))
    return out


CASES = {
    "squared": ("real", "squared"),
    "squared weighted": ("real", "squared", {}, {"sample_weight": "weight"}),
    "logistic": ("sick", "logistic"),
    "poisson": ("count", "poisson"),
    "quasipoisson": ("count", "poisson", {"scale": "X2"}),
    "gamma": ("amount", "gamma"),
    "negative_binomial": ("count", "negative_binomial"),
    "cox": ("Surv(time, died)", "cox"),
    "cox strata": ("Surv(time, died)", "cox", {}, {"strata": "ward"}),
    "ordinal": ("grade", "ordinal"),
    "multinomial": ("kind", "multinomial"),
}


def case_of(name):
    left, loss, options, fit = (*CASES[name], {}, {})[:4] if len(CASES[name]) < 4 else CASES[name]
    return refits(left, loss, options, **fit)


@pytest.mark.parametrize("case", CASES)
def test_nested_models_are_those_of_r(case):
    small, middle, large = case_of(case)
    table, expected = l0path.anova(large, small, middle), values()[case]
    assert table.index.tolist() == ["k = 1", "k = 2", "k = 4"]
    statistic = table["F" if "F" in table else "chi2"].to_numpy()
    assert ("F" in table) == (case.startswith("squared") or case in ("quasipoisson", "gamma"))
    assert np.isnan(statistic[0]) and np.isnan(table["p_value"].iloc[0])
    wanted = expected[["statistic 1", "statistic 2"]]
    np.testing.assert_allclose(statistic[1:], wanted, rtol=2e-5)
    np.testing.assert_allclose(table["p_value"][1:], expected[["p 1", "p 2"]], rtol=2e-4)
    factor = 2 if case == "multinomial" else 1
    assert table["df"].tolist()[1:] == [factor, 2 * factor]
    assert "p-values hold if these rows had no part in choosing" in repr(table)


def test_robust_covariances_give_wald_tests():
    for case, left, loss in (
        ("squared HC0", "real", "squared"),
        ("squared HC3", "real", "squared"),
        ("logistic HC0", "sick", "logistic"),
        ("poisson HC0", "count", "poisson"),
    ):
        small, _, large = refits(left, loss, {"cov_type": case.split()[1]})
        table = l0path.anova(small, large)
        assert table.attrs["test"] == "Wald"
        found = table["F" if loss == "squared" else "chi2"].iloc[1], table["p_value"].iloc[1]
        np.testing.assert_allclose(found, values()[case][["statistic", "p"]], rtol=1e-6)
    options = {"cov_type": "cluster", "cov_kwds": {"groups": "ward"}}
    small, _, large = refits("real", "squared", options)
    table = l0path.anova(small, large)
    assert table["F"].iloc[1] == pytest.approx(values()["squared cluster"]["statistic"])
    assert table.attrs["df_denominator"] == 7
    small, _, large = refits("Surv(time, died)", "cox", {"cov_type": "robust"})
    table = l0path.anova(small, large)
    assert table["chi2"].iloc[1] == pytest.approx(values()["cox robust"]["statistic"], rel=1e-5)


def test_p_values_and_intervals_of_robust_covariances_are_those_of_students_t():
    kinds = [("HC0", None), ("HC3", None), ("cluster", {"groups": "ward"})]
    for kind, kwds in kinds:
        path = l0path.fit("real ~ a + b + c + d", rows(), k=[4])
        results, expected = (
            path.model(k=4).refit(cov_type=kind, cov_kwds=kwds),
            values()[f"squared {kind}"],
        )
        names = ["one", "a", "b", "c", "d"]
        wanted = expected[[f"coefficient p {name}" for name in names]]
        np.testing.assert_allclose(results.pvalues, wanted, rtol=1e-6)
        if kwds:
            low = results.conf_int()["lower"]
            np.testing.assert_allclose(low, expected[[f"low {name}" for name in names]], rtol=1e-6)


def test_thresholds_of_ordered_classes_are_those_of_polr():
    path = l0path.fit("grade ~ a + b", rows(), loss="ordinal", k=[2])
    results, expected = path.model(k=2).refit(), values()["ordinal"]
    names = ["1|2", "2|3"]
    assert results.params.index.tolist() == ["a", "b", *names]
    found = results.params[names], results.bse[names]
    np.testing.assert_allclose(found[0], expected[["threshold 1", "threshold 2"]], rtol=1e-4)
    np.testing.assert_allclose(found[1], expected[["threshold se 1", "threshold se 2"]], rtol=1e-3)
    coef = path.coef(k=2)
    np.testing.assert_allclose(results.params[coef.index], coef, atol=1e-5)
    assert "1|2" in str(results.summary())
    mean = np.asarray(results.predict(rows()[["a", "b"]]))
    np.testing.assert_allclose(mean, path.predict(rows(), k=2), atol=1e-5)
    with_offset = rows().assign(o=0.5 * rows()["c"])
    path = l0path.fit("grade ~ a + offset(o)", with_offset, loss="ordinal", k=[1])
    np.testing.assert_allclose(
        path.model(k=1).refit().params[path.coef(k=1).index], path.coef(k=1), atol=1e-5
    )


def test_column_spaces_are_compared_and_not_names():
    frame = rows().assign(total=rows()["a"] + rows()["b"], far=1e6 + rows()["c"])
    fit = lambda text: l0path.fit(f"real ~ {text}", frame, k=[text.count("+") + 1])  # noqa: E731
    one = fit("total").model(k=1).refit()
    two, other = fit("a + b").model(k=2).refit(), fit("a + c").model(k=2).refit()
    table = l0path.anova(one, two)
    rss = [one.ssr, two.ssr]
    assert table["F"].iloc[1] == pytest.approx((rss[0] - rss[1]) / (rss[1] / 117))
    assert l0path.anova(fit("far").model(k=1).refit(), other)["df"].iloc[1] == 1
    with pytest.raises(
        ValueError, match="not nested: total of the smaller model is no combination"
    ):
        l0path.anova(one, other)
    with pytest.raises(ValueError, match="same column space"):
        l0path.anova(two, fit("total + a").model(k=2).refit())
    robust = {"cov_type": "HC1"}
    wald = l0path.anova(
        fit("total").model(k=1).refit(**robust), fit("a + b").model(k=2).refit(**robust)
    )
    by_hand = fit("a + b").model(k=2).refit(**robust).wald_test("a = b", use_f=True, scalar=True)
    assert wald["F"].iloc[1] == pytest.approx(float(by_hand.statistic))


def test_models_that_were_chosen_on_these_rows_have_no_p_values():
    path = l0path.fit("real ~ a + b + c + d", rows())
    small, large = path.model(k=1).refit(), path.model(k=3).refit()
    table = l0path.anova(small, large)
    assert "p_value" not in table and "F" in table
    assert "no p-values: the features of the model k = 1 were chosen on rows" in repr(table)
    asked = l0path.anova(small, large, p_values=True)
    assert 0 < asked["p_value"].iloc[1] < 1 and "p-values are too small" in repr(asked)
    assert "p_value" not in l0path.anova(*case_of("squared"), p_values=False)
    assert "p_value" in l0path.anova(
        path.model(k=0).refit(), path.model(k=4).refit()
    )  # nothing was chosen
    half = l0path.fit("real ~ a + b + c + d", rows().head(60))
    new = {"X": rows().tail(60)}
    assert "p_value" in l0path.anova(half.model(k=1).refit(**new), half.model(k=3).refit(**new))
    assert "p_value" not in l0path.anova(
        *(half.model(k=k).refit(X=rows().tail(70)) for k in (1, 3))
    )


def test_tests_are_printed_as_papers_have_them():
    small, _, large = case_of("logistic")
    table = l0path.anova(small, large)
    head, *lines = table.to_latex().split("\n")[2:-3]
    assert (
        head == r" & df model & log-likelihood & df & chi2 & p-value \\" and lines[0] == r"\midrule"
    )
    first, second = table["loglik"]
    assert lines[1] == rf"k = 1 & 2 & ${first:.2f}$ &  &  &  \\"
    last = table.iloc[1]
    p = "<0.0001" if last["p_value"] < 1e-4 else f"{last['p_value']:.4f}"
    p = p.replace("<", r"\textless{}")
    assert lines[2] == rf"k = 4 & 5 & ${second:.2f}$ & 3 & {last['chi2']:#.4g} & {p} \\"
    html, shown = table._repr_html_(), repr(table)
    for text in (table.attrs["title"], table.attrs["note"], f"{last['chi2']:#.4g}"):
        assert text in shown and escape(text) in html
    assert "nan" not in shown.lower() + html.lower()


def test_a_known_variance_gives_chi_squared():
    small, _, large = refits("real", "squared", {"scale": 2.0})
    table = l0path.anova(small, large)
    gain = table["rss"].iloc[0] - table["rss"].iloc[1]
    assert table["chi2"].iloc[1] == pytest.approx(gain / 2.0)


def test_what_is_not_comparable_is_refused():
    path = l0path.fit("real ~ a + b + c", rows())
    fits = {k: path.model(k=k).refit() for k in (1, 2, 3)}
    counts = l0path.fit("count ~ a + b", rows(), loss="poisson")
    for others, message in (
        ((fits[1], counts.model(k=2).refit()), "have the losses squared and poisson"),
        ((fits[1], path.model(k=2).refit(X=rows().head(100))), "different rows"),
        (
            (fits[1], path.model(k=2).refit(X=rows().assign(real=1.0 + rows()["real"]))),
            "different rows",
        ),
        (
            (fits[1], path.model(k=2).refit(cov_type="HC0")),
            "cov_type='nonrobust' and cov_type='HC0'",
        ),
        (
            (counts.model(k=1).refit(), counts.model(k=2).refit(scale="X2")),
            "scale=None and scale='x2'",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            l0path.anova(*others)
    for loss in ("quantile", "huber"):
        other = l0path.fit("real ~ a + b", rows(), loss=loss)
        with pytest.raises(ValueError, match=f"anova needs a likelihood, and loss='{loss}'"):
            l0path.anova(other.model(k=1).refit(), other.model(k=2).refit())
    several = l0path.fit(rows()[["a", "b"]], rows()[["real", "amount"]])
    with pytest.raises(TypeError, match=r"refits of one response.*'real'"):
        l0path.anova(several.model(k=1).refit(), several.model(k=2).refit())
    assert "F" in l0path.anova(
        several.model(k=0).refit()["real"], several.model(k=2).refit()["real"]
    )
    with pytest.raises(TypeError, match="two refits or more, got 1"):
        l0path.anova(fits[1])
    with pytest.raises(TypeError, match="got Model; refit the model first"):
        l0path.anova(path.model(k=1), path.model(k=2))
    with pytest.raises(TypeError, match="p_values='yes'"):
        l0path.anova(fits[1], fits[2], p_values="yes")


@pytest.mark.parametrize("case", ["squared", "logistic", "cox", "ordinal", "negative_binomial"])
@pytest.mark.parametrize("cov_type", [None, "robust"])
def test_intervals_have_names(case, cov_type):
    left, loss = CASES[case]
    options = {} if cov_type is None else {"cov_type": "robust" if loss == "cox" else "HC0"}
    model = l0path.fit(f"{left} ~ a + b", rows(), loss=loss, max_k=2).model(k=2)
    results, found = model.refit(**options), model.conf_int(0.9, **options)
    params, bse = np.asarray(results.params), np.asarray(results.bse)
    names = getattr(results.params, "index", ["a", "b"])
    assert found.columns.tolist() == ["lower", "upper"] and found.index.tolist() == list(names)
    np.testing.assert_allclose(found.mean(axis=1), params, atol=1e-12)
    half = (found["upper"] - found["lower"]) / 2
    df = results.df_resid if results.use_t else np.inf
    np.testing.assert_allclose(half, stats.t.isf(0.05, df) * bse, rtol=1e-6)
    assert found.attrs["selection"] == results.selection


def test_intervals_of_several_responses_and_classes():
    path = l0path.fit(rows()[["a", "b"]], rows()[["real", "amount"]])
    found = path.model(k=2).conf_int()
    assert found.loc[("amount", "b")].tolist() == (
        path.model(k=2).refit()["amount"].conf_int().loc["b"].tolist()
    )
    found = l0path.fit("kind ~ a + b", rows(), loss="multinomial").model(k=1).conf_int()
    assert found.columns.tolist() == ["lower", "upper"] and len(found) == 4
    with pytest.raises(ValueError, match="level=95 must be a number between 0 and 1"):
        path.model(k=1).conf_int(95)
