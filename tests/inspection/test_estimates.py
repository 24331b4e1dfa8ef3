"""The table of a refit (`Refit.estimates`) and intervals of `Path.compare`, against stored values
of R (data/make_estimate_values.R) and against statsmodels.
"""

import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lazy import lazy

import l0path

FOLDER = Path(__file__).parent.parent / "data"
sm = lazy("statsmodels.api")
RESPONSES = {
    "squared": "number",
    "logistic": "class",
    "poisson": "count",
    "binomial": "share",
    "ordinal": "level",
    "multinomial": "level",
    "cox": "Surv(amount, event)",
}
RATIOS = {
    "logistic": "odds_ratio",
    "binomial": "odds_ratio",
    "ordinal": "odds_ratio",
    "multinomial": "odds_ratio",
    "poisson": "ratio_of_means",
    "cox": "hazard_ratio",
}


@cache
def rows():
    table = pd.read_csv(FOLDER / "weights_r.csv")
    return table.assign(event=table["class"])


@cache
def in_r(case):
    """{what: Series by name} of a case."""
    table = pd.read_csv(FOLDER / "estimates_r_values.csv")
    table = table[table["case"] == case].replace({"name": {"Intercept": "(Intercept)"}})
    return {what: part.set_index("name")["value"] for what, part in table.groupby("what")}


def fitted(loss, **more):
    more |= {"trials": "trials"} if loss == "binomial" else {}
    exact = l0path.solvers.LocalSearch(tol=1e-12)
    text = f"{RESPONSES[loss]} ~ a + b + c"
    return l0path.fit(text, rows(), loss=loss, max_k=3, algorithm=exact, **more)


@pytest.mark.parametrize("loss", RESPONSES)
def test_estimates_intervals_and_p_values_are_those_of_r(loss):
    model, expected = fitted(loss).model(k=3), in_r(loss)
    results = model.refit()
    found = results.estimates()
    plain = found.loc["3"] if loss == "multinomial" else found
    names = expected["estimate"].index
    assert list(found.columns) == ["estimate", "lower", "upper", "p_value"]  # all features are in
    tolerance = {"multinomial": 1e-4, "ordinal": 1e-3}.get(loss, 1e-6)  # R's optimizers
    for what, values in expected.items():
        if what in found.columns:
            np.testing.assert_allclose(plain.loc[names, what], values, rtol=tolerance)
    if loss not in RATIOS:
        with pytest.raises(ValueError, match="exponentiate=True is for losses"):
            results.estimates(exponentiate=True)
        return
    ratios = results.estimates(exponentiate=True)
    assert ratios.columns.tolist() == [RATIOS[loss], "lower", "upper", "p_value"]
    np.testing.assert_allclose(ratios.iloc[:, :3], np.exp(found.iloc[:, :3]))
    np.testing.assert_array_equal(ratios["p_value"], found["p_value"])
    # models side by side have the same numbers
    table = fitted(loss).compare([3], ci=0.95, exponentiate=True)["k = 3"]
    of = {"multinomial": ", 3"}.get(loss, "")
    for part, what in (("coefficient", "estimate"), ("lower", "lower"), ("upper", "upper")):
        own = table[part][[name + of for name in names]].astype(float)
        np.testing.assert_allclose(own, np.exp(expected[what]), rtol=3 * tolerance)


def test_levels_and_covariances_of_intervals_are_those_of_refits():
    path = fitted("squared")
    for kind in (True, "HC3"):
        options = {"cov_type": kind} if isinstance(kind, str) else {}
        ends = path.model(k=2).conf_int(0.9, **options)
        table = path.compare([1, 2], ci=0.9, se=kind)["k = 2"]
        for part in ("lower", "upper"):
            np.testing.assert_allclose(table[part].dropna().astype(float), ends[part])
        pd.testing.assert_frame_equal(
            pd.DataFrame(path.model(k=2).refit(**options).estimates(0.9))[["lower", "upper"]],
            ends,
            check_names=False,
        )
    wider = path.compare([2], ci=0.99)["k = 2"]["upper"] - table["upper"].dropna()
    assert (wider > 0).all()
    assert "standard error" not in path.compare([2], ci=0.99).index


@pytest.mark.parametrize("loss", ["squared", "logistic", "ordinal"])
def test_intervals_of_standardized_coefficients_are_those_of_standardized_columns(loss):
    path = fitted(loss)
    table = path.compare([2], ci=0.95, standardized=True)["k = 2"]
    scaled = (rows()[list("abc")] - path._meta.center) / path._meta.scale
    exact = l0path.solvers.LocalSearch(tol=1e-12)
    same = l0path.fit(scaled, rows()[RESPONSES[loss]], loss=loss, max_k=2, algorithm=exact)
    ends = same.model(k=2).conf_int()
    for part in ("lower", "upper"):
        found = table[part].dropna().astype(float)
        assert sorted(found.index) == sorted(ends.index)
        np.testing.assert_allclose(found[ends.index], ends[part], rtol=2e-3)


def test_intervals_of_several_responses_are_those_of_each():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.standard_normal((60, 3)), columns=list("abc"))
    Y = pd.DataFrame({"u": X["a"], "v": X["b"]}) + rng.standard_normal((60, 2))
    path = l0path.fit(X, Y, max_k=2)
    table, refits = path.compare([2], ci=0.8)["k = 2"], path.model(k=2).refit()
    for name, results in refits.items():
        ends, found = results.conf_int(0.2), results.estimates(0.8)
        for feature in ends.index:
            assert table["lower", f"{feature}, {name}"] == pytest.approx(ends.loc[feature, "lower"])
        np.testing.assert_array_equal(found[["lower", "upper"]], ends)


def test_p_values_are_in_the_table_where_they_hold_and_where_asked_for():
    data = l0path.datasets.load_hitters()
    train, test = data.X.index[::2], data.X.index[1::2]
    model = l0path.fit(data.X.loc[train], data.y[train]).model(k=2)
    chosen, held_out = model.refit(), model.refit(X=data.X.loc[test], y=data.y[test])
    table = chosen.estimates()
    assert list(table.columns) == ["estimate", "lower", "upper"]
    assert "Conditional on selection" in repr(table)
    assert table.attrs["note"].startswith(
        "There are no p-values, which would be too small; p_values=True shows them all the same. C"
    )
    np.testing.assert_array_equal(chosen.estimates(p_values=True)["p_value"], chosen.pvalues)
    table = held_out.estimates()
    np.testing.assert_array_equal(table["p_value"], held_out.pvalues)
    np.testing.assert_array_equal(table["estimate"], held_out.params)
    assert "Held-out rows" in repr(table) and "no p-values" not in repr(table)
    assert repr(table).startswith("Coefficients of Salary, with intervals of 95 %, 131 rows\n")
    X = data.X.to_numpy()[:, :2]
    bare = l0path.fit(X, data.y.to_numpy()).model(k=1).refit().estimates()
    assert bare.attrs["title"].startswith("Coefficients, with intervals of")
    assert "p_value" not in held_out.estimates(p_values=False)
    again = pickle.loads(pickle.dumps(held_out)).estimates()
    pd.testing.assert_frame_equal(pd.DataFrame(again), pd.DataFrame(table))


def test_numbers_of_the_loss_are_no_coefficients():
    path = l0path.fit("spread ~ a + b", rows(), loss="negative_binomial", max_k=1)
    results = path.model(k=1).refit()
    assert "alpha" in results.params.index
    assert results.estimates(exponentiate=True).index.tolist() == ["(Intercept)", "a"]


def test_a_table_of_a_refit_is_written_as_papers_have_it(tmp_path):
    table = fitted("logistic").model(k=3).refit().estimates(exponentiate=True)
    shown = table.formatted()
    row = [f"{value:#.4g}" for value in table.loc["a"].iloc[:3]]
    assert shown.loc["a"].tolist() == [*row, f"{table.loc['a', 'p_value']:.4f}"]
    lines = table.to_markdown().splitlines()
    assert lines[0] == "|  | odds ratio | lower | upper | p-value |"
    assert f"| a | {' | '.join(shown.loc['a'])} |" in lines
    assert table.to_latex(tmp_path / "t.tex", caption="Odds") is None
    text = (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert f"a & {' & '.join(shown.loc['a'])} \\\\" in text and r"\caption{Odds}" in text
    html = table._repr_html_()
    for part in (*shown.loc["a"], table.attrs["title"], "odds ratio"):
        assert f">{part}</" in html
    assert "Odds ratios of P(class = 1), with intervals of 95 %" in repr(table)
    small = fitted("logistic").model(k=1).refit().estimates(p_values=True)
    small["p_value"] = [0.5, 1e-9]
    assert small.formatted()["p_value"].tolist() == ["0.5000", "<0.0001"]
    assert r"\textless{}0.0001" in small.to_latex() and "&lt;0.0001" in small.to_html()


def test_weighted_survival_times_have_the_table_and_a_display():
    X, y = rows()[["a", "b", "c"]], rows()[["amount", "class"]]
    path = l0path.fit(X, y, loss="cox", sample_weight=rows()["weight"], max_k=2)
    results = path.model(k=2).refit()
    table = results.estimates(exponentiate=True)
    np.testing.assert_allclose(table["hazard_ratio"], np.exp(results.params))
    np.testing.assert_allclose(np.log(table[["lower", "upper"]]), results.conf_int())
    assert "maximum partial likelihood, conditional on selection" in repr(results)
    assert f"{results.bse.iloc[0]:.4g}" in results._repr_html_()
    pd.testing.assert_series_equal(pickle.loads(pickle.dumps(results)).params, results.params)


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", ["logistic", "cox"])
def test_infinite_coefficients_have_the_whole_line_as_interval(loss):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((40, 2)), columns=["a", "b"])
    y = X["a"] > 0
    if loss == "cox":
        y = np.column_stack([X["a"].rank(), np.ones(40)])
    weight = np.arange(1, 41) if loss == "cox" else None
    path = l0path.fit(X, y, loss=loss, lambda2=0.1, max_k=1, sample_weight=weight)
    results = path.model(k=1).refit()
    table = results.estimates(exponentiate=True, p_values=True)
    assert table.loc["a"].isna().tolist() == [False, False, False, True]
    assert table.loc["a"].tolist()[1:3] == [0.0, np.inf]  # all that a ratio can be
    assert table.iloc[:, 0]["a"] == (np.inf if loss == "logistic" else 0.0)
    assert "infinite" in table.attrs["note"] and "nan" not in repr(table).lower()
    ends = path.compare([1], ci=0.95)["k = 1"]
    assert ends["lower", "a"] == -np.inf and ends["upper", "a"] == np.inf


def test_bad_arguments_are_named(tmp_path):
    path = fitted("squared")
    results = path.model(k=1).refit()
    for call, error, message in (
        (lambda: results.estimates().to_latex(digits=0), ValueError, "digits=0 must be a whole"),
        (lambda: results.estimates(95), ValueError, "level=95 must be a number between 0 and 1"),
        (lambda: results.estimates(p_values="yes"), TypeError, "p_values='yes' must be True or"),
        (lambda: results.estimates(exponentiate="yes"), TypeError, "exponentiate='yes' must be"),
        (lambda: path.compare([1], ci=95), ValueError, "ci=95 must be a number between 0 and 1"),
        (lambda: path.compare([1], ci=True), TypeError, "ci=True must be a number"),
        (lambda: path.compare([1], exponentiate="no"), TypeError, "exponentiate='no' must be True"),
        (lambda: path.compare([1], standardized="no"), TypeError, "standardized='no' must be True"),
    ):
        with pytest.raises(error, match=message):
            call()
    path.save(tmp_path / "path.npz")
    with pytest.raises(ValueError, match=r"ci=0\.95: the data are not kept with a loaded path"):
        l0path.load(tmp_path / "path.npz").compare([1], ci=0.95)
