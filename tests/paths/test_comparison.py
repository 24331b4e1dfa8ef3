"""Models side by side (`Path.compare`), sizes as selectors, and what `path.table` and `path.coef()`
call their models; the oracles are least squares by NumPy, statsmodels, and tables made by hand.
"""

import itertools
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from lazy import lazy
from thinning import thinned

import l0path

sm = lazy("statsmodels.api")

RNG = np.random.default_rng(11)
NAMES = ["a", "b", "c_1", "d|e", "n"]
FRAME = pd.DataFrame(RNG.normal(size=(40, 5)), columns=NAMES)
Y = pd.Series(
    3 + 2 * FRAME["a"] - FRAME["d|e"] + 0.4 * FRAME["n"] + RNG.normal(size=40), name="yield"
)


@cache
def support_path():
    return l0path.fit(FRAME, Y, certify=False)  # so that rows have no bound


@cache
def sliced_path():
    return l0path.fit(FRAME, Y, lambda2=[0.1, 0.01], max_k=3)


@cache
def grid_path():
    return l0path.fit(FRAME, Y, lambda0=[0.5, 0.05, 0.01])


LABELS = ["u", "u", "v", "w", "w"]


@cache
def grouped_path():
    return l0path.fit(FRAME, Y, groups=LABELS)


def best_subset(k):
    """(RSS, columns, coefficients) of the best k columns, by all subsets."""
    X = FRAME.to_numpy()
    fits = []
    for columns in itertools.combinations(range(5), k):
        Z = np.column_stack([np.ones(40), X[:, columns]])
        beta, *_ = np.linalg.lstsq(Z, Y.to_numpy(), rcond=None)
        fits.append((((Y - Z @ beta) ** 2).sum(), columns, beta))
    return min(fits, key=lambda fit: fit[0])


# -------------------- a size as a selector


def test_a_number_is_a_size_in_every_method():
    path = l0path.fit(FRAME, Y, k=[1, 3])  # index 1 is size 3: a number is no index
    assert path.model(3).k == 3 and path.model(np.int64(1)).k == 1
    assert path.select(3) == path.select(k=3) == path.select(3) == 1
    assert path.coef(3).equals(path.coef(k=3))
    assert path.support(3).tolist() == list(best_subset(3)[1])
    assert path.predict(FRAME, 3).equals(path.predict(FRAME, k=3))
    assert path.model(3).summary().table.equals(path.model(k=3).summary().table)
    assert path.model(1).alternatives().equals(path.model(k=1).alternatives())
    assert path.model(3).score(FRAME, Y).equals(path.model(k=3).score(FRAME, Y))
    np.testing.assert_array_equal(path.model(3).refit().params, path.model(k=3).refit().params)
    assert path.certify(1).model.k == 1


def test_a_number_is_a_size_after_cross_validation():
    cv = l0path.cv_fit(FRAME, Y, cv=4, random_state=0)
    assert cv.select(2) == cv.select(k=2) and cv.model(2).k == 2 and cv.coef(2).size == 3
    assert cv.held_out(2).tolist() == cv.held_out(k=2).tolist()


def test_a_size_that_is_not_there_or_not_unique_is_an_error_as_k_is():
    for path, size in ((support_path(), 9), (sliced_path(), 2)):
        with pytest.raises(LookupError) as by_place:
            path.model(size)
        with pytest.raises(LookupError) as by_name:
            path.model(k=size)
        assert str(by_place.value) == str(by_name.value)
    assert sliced_path().model(2, slice=1).details["slice"] == 1
    with pytest.raises(TypeError, match="exactly one"):
        support_path().model(2, k=2)
    for bad in (True, 2.0, "best"):
        with pytest.raises(ValueError, match=r"is not known.*a size \(5, or k=5\)"):
            support_path().model(bad)


def test_an_unknown_choice_after_cross_validation_names_min_and_1se_first():
    cv = l0path.cv_fit(FRAME, Y, cv=4, random_state=0)
    with pytest.raises(ValueError, match=r"rule='best' is not known; choose 'min'.*'1se'.*bic"):
        cv.model("best")
    with pytest.raises(ValueError, match=r"rule='best'.*'min'"):
        l0path.L0RegressorCV(rule="best", cv=3).fit(FRAME, Y)
    assert cv.model("BIC")._index == cv.select("bic")


# -------------------- names in path.table, labels of path.coef()


def test_the_table_says_which_features_are_in_which_model():
    assert support_path().details.columns[-1] == "features"
    for k, text in enumerate(support_path().details.features):
        assert text == ", ".join(NAMES[j] for j in best_subset(k)[1])
    forced = l0path.fit(FRAME, Y, always_include=["b"], max_k=1)
    assert forced.details.features.tolist() == ["b", "a, b"]
    sparse = l0path.fit(sp.csc_array(FRAME.to_numpy()), Y.to_numpy(), max_k=1)
    assert sparse.details.features.tolist() == ["", "x0"]


def test_with_groups_the_table_names_groups_and_terms():
    for i, text in enumerate(grouped_path().details.features):
        assert text == ", ".join(grouped_path().model(index=i).groups)
    data = FRAME.assign(y=Y, site=np.tile(["p", "q", "r", "s"], 10))
    path = l0path.fit("y ~ a + site", data)
    assert path.details.features[2] == "a, site"


def test_names_of_many_models_are_looked_up_once_each():
    class Counting(list):
        looked = 0

        def __getitem__(self, j):
            type(self).looked += 1
            return super().__getitem__(j)

    meta = support_path()._meta
    copy = l0path.Path(
        type(meta)(**{**vars(meta), "names": Counting(NAMES)}), support_path()._solutions * 200
    )
    assert len(copy.details) == 1200 and Counting.looked <= len(NAMES)
    assert copy.details.features[5] == ", ".join(NAMES)


def test_columns_of_all_coefficients_are_sizes_slices_or_rows():
    three = l0path.fit(FRAME, Y, k=[1, 3]).coef()
    assert three.columns.tolist() == [1, 3] and three.columns.name == "k"
    np.testing.assert_allclose(
        three[3].to_numpy()[np.flatnonzero(three[3])], best_subset(3)[2], rtol=1e-9
    )
    both = sliced_path().coef()
    assert both.columns.names == ["slice", "k"]
    assert both.columns.tolist() == [(s, k) for s in (0, 1) for k in range(4)]
    assert (
        both[1, 2].to_dict()
        == sliced_path().coef(2, slice=1).reindex(both.index, fill_value=0).to_dict()
    )
    assert grid_path().coef().columns.name == "index" and grid_path().coef().columns.tolist() == [
        0,
        1,
        2,
    ]
    assert support_path().coef(full=True, standardized=True).shape == (6, 6)


# -------------------- compare


def test_models_side_by_side_against_least_squares_and_statsmodels():
    table = support_path().compare([1, 3, 5])
    assert isinstance(table, pd.DataFrame) and table.columns.tolist() == ["k = 1", "k = 3", "k = 5"]
    for k in (1, 3, 5):
        rss, columns, beta = best_subset(k)
        own = table[f"k = {k}"]["coefficient"]
        np.testing.assert_allclose(
            own[["(Intercept)", *(NAMES[j] for j in columns)]].astype(float), beta, rtol=1e-9
        )
        assert own.drop(["(Intercept)", *(NAMES[j] for j in columns)]).isna().all()
        ols = sm.OLS(Y, sm.add_constant(FRAME.iloc[:, list(columns)])).fit()
        assert table[f"k = {k}"]["fit", "n"] == 40 and table[f"k = {k}"]["fit", "k"] == k
        assert table[f"k = {k}"]["fit", "loss"] == pytest.approx(rss / 80)
        assert table[f"k = {k}"]["fit", "deviance_ratio"] == pytest.approx(ols.rsquared)
        assert table[f"k = {k}"]["criterion", "aic"] == pytest.approx(ols.aic)
        assert table[f"k = {k}"]["criterion", "bic"] == pytest.approx(ols.bic)
        assert table[f"k = {k}"]["check", "optimality"] == support_path().model(k).optimality
    # a feature called "n" is not the number of observations
    assert table.loc[("coefficient", "n"), "k = 5"] == support_path().coef(5)["n"]
    assert "objective" not in table.loc["fit"].index  # it is the loss here
    assert "gap" in table.loc["check"].index


def test_the_printed_table_by_hand():
    X = pd.DataFrame({"u": [0.0, 0, 1, 1], "v_1": [0.0, 1, 0, 1]})
    table = l0path.fit(X, [1.1, 1.4, 2.9, 3.6], certify=True).compare([1, 2], criteria=())
    # 1 + 2 u + v / 2 and residuals of 0.1; without v the intercept is 1.25, residuals 0.15 and 0.35
    assert [line.split() for line in repr(table).split("\n")] == [
        ["squared", "loss"],
        ["k", "=", "1", "k", "=", "2"],
        ["coefficient", "(Intercept)", "1.250", "1.000"],
        ["u", "2.000", "2.000"],
        ["v_1", "0.5000"],
        ["fit", "n", "4", "4"],
        ["k", "1", "2"],
        ["loss", "0.03625", "0.00500"],
        ["deviance_ratio", "0.9324", "0.9907"],
        ["check", "optimality", "global", "global"],
        ["gap", "0", "(proven)", "0", "(proven)"],
    ]
    assert table.to_markdown().split("\n") == [
        "|  | k = 1 | k = 2 |",
        "| :--- | ---: | ---: |",
        "| (Intercept) | 1.250 | 1.000 |",
        "| u | 2.000 | 2.000 |",
        "| v_1 |  | 0.5000 |",
        "| observations | 4 | 4 |",
        "| k | 1 | 2 |",
        "| loss | 0.03625 | 0.00500 |",
        "| deviance ratio | 0.9324 | 0.9907 |",
        "| optimality | global | global |",
        "| gap | 0 (proven) | 0 (proven) |",
    ]
    assert table.to_latex().split("\n") == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r" & k = 1 & k = 2 \\",
        r"\midrule",
        r"(Intercept) & 1.250 & 1.000 \\",
        r"u & 2.000 & 2.000 \\",
        r"v\_1 &  & 0.5000 \\",
        r"\midrule",
        r"observations & 4 & 4 \\",
        r"k & 1 & 2 \\",
        r"loss & 0.03625 & 0.00500 \\",
        r"deviance ratio & 0.9324 & 0.9907 \\",
        r"\midrule",
        r"optimality & global & global \\",
        r"gap & 0 (proven) & 0 (proven) \\",
        r"\bottomrule",
        r"\end{tabular}",
        "",
    ]


def test_what_is_written_and_shown(tmp_path):
    table = support_path().compare([3, 5], standardized=True)
    assert table.to_latex(tmp_path / "t.tex", caption="Two models", label="tab:two") is None
    text = (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert r"\caption{Two models}" in text and r"\label{tab:two}" in text and "$-" in text
    with open(tmp_path / "t.md", "w", encoding="utf-8") as file:
        table.to_markdown(file, digits=2)
    assert "d\\|e" in (tmp_path / "t.md").read_text(encoding="utf-8")
    html = table._repr_html_()
    assert (
        "squared loss of yield" in html and html.count(">a</th>") == 1 and "nan" not in html.lower()
    )
    assert table.loc["coefficient", "k = 5"]["a"] == support_path().coef(5, standardized=True)["a"]
    again = pickle.loads(pickle.dumps(table))
    assert repr(again) == repr(table)
    assert type(table.loc["fit"]) is type(table.T) is pd.DataFrame
    with pytest.raises(ValueError, match="digits=0"):
        table.to_latex(digits=0)


def test_models_by_rules_selectors_and_slices():
    table = support_path().compare([2, "bic", {"k": 4}, support_path().model(5)])
    bic = support_path().model("bic").k
    assert table.columns.tolist() == ["k = 2", f"bic (k = {bic})", "k = 4", "k = 5"]
    one = sliced_path().compare([1, 2], slice=1)
    assert (
        one.columns.tolist() == ["k = 1", "k = 2"] and (one.loc["fit"].loc["lambda2"] == 0.01).all()
    )
    assert (one.loc["fit"].loc["objective"] > one.loc["fit"].loc["loss"]).all()
    two = sliced_path().compare([{"k": 2, "slice": 0}, sliced_path().model(2, slice=1)])
    assert two.columns.tolist() == ["slice 0, k = 2", "slice 1, k = 2"]
    for column, s in zip(two, (0, 1), strict=True):
        own = two[column]["coefficient"].dropna()
        assert own.to_dict() == sliced_path().coef(2, slice=s).to_dict()
    grid = grid_path().compare([{"index": 0}, {"lambda0": 0.01}])
    assert grid.loc["fit"].loc["lambda0"].tolist() == [0.5, 0.01]
    grouped = grouped_path().compare([1, 3])
    assert grouped.loc["fit"].loc["n_features"].tolist() == [2, 5]


def test_a_classification_says_what_its_coefficients_are_about_and_huber_has_no_criteria():
    y = np.where(Y + RNG.normal(size=40) > 3, "yes", "no")
    path = l0path.fit(FRAME, y, loss="logistic", max_k=2)
    table = path.compare([1, 2])
    assert repr(table).startswith("logistic loss, coefficients are about P(y = 'yes')")
    k2 = path.support(2)
    logit = sm.Logit(y == "yes", sm.add_constant(FRAME.iloc[:, k2])).fit(disp=0)
    np.testing.assert_allclose(
        table["k = 2"]["coefficient"].dropna().astype(float), logit.params, rtol=1e-5
    )
    assert table["k = 2"]["criterion", "bic"] == pytest.approx(logit.bic)
    huber = l0path.fit(FRAME, Y, loss=l0path.losses.Huber(1.0), max_k=2).compare([1, 2])
    assert huber.index.get_level_values(0).unique().tolist() == ["coefficient", "fit", "check"]


@pytest.mark.parametrize(
    "models, options, error, message",
    [
        (3, {}, TypeError, r"models=3 must be a list"),
        ([2, 3], {"names": "ab"}, TypeError, "names='ab' must be a list of texts"),
        ([2, 3], {"names": [1, 2]}, TypeError, r"names=\[1, 2\] must be texts"),
        ([2, 3], {"names": ["a"]}, ValueError, "one for each of the 2 models"),
        ([2, 3], {"names": ["a", "a"]}, ValueError, "must be different texts"),
        ("bic", {}, TypeError, r"models='bic' must be a list"),
        ([], {}, ValueError, r"models=\[\] is empty"),
        ([2, 2], {}, ValueError, "names k = 2 more than once.*names="),
        ([2, 99], {}, LookupError, "k=99 is not on the path"),
        ([2, "best"], {}, ValueError, "'best' is not known"),
        ([2], {"index": 7}, TypeError, "got index"),
        ([2], {"level": 0.9}, TypeError, "compare has no argument level=; write ci=0.95"),
        ([2], {"cov_type": "HC3"}, TypeError, "no argument cov_type=; write se='HC3'"),
        ([2], {"labels": ["a"]}, TypeError, r"no argument labels=; write names="),
        ([2], {"stars": True}, TypeError, "stars=; there are no stars"),
        ([2], {"banana": 1}, TypeError, "no argument banana=; its arguments are models, names"),
        ([2], {"se": "HC9"}, ValueError, "cov_type='HC9' is not known for loss='squared'; choose"),
        ([2], {"criteria": "bic"}, TypeError, "criteria='bic' must be a list"),
        ([2], {"criteria": ["dic"]}, ValueError, "'dic' is not known.*aic"),
        ([{"k": 2, "index": 2}], {}, TypeError, "exactly one"),
    ],
)
def test_bad_input_of_compare(models, options, error, message):
    with pytest.raises(error, match=message):
        support_path().compare(models, **options)


def test_a_model_of_another_path_is_refused():
    with pytest.raises(ValueError, match="another path"):
        support_path().compare([2, sliced_path().model(index=0)])


def test_sizes_of_several_slices_need_one():
    with pytest.raises(LookupError, match="needs one slice"):
        sliced_path().compare([1, 2])


def test_numbers_of_every_size_are_printed_shortly():
    small = l0path.fit(FRAME * 1e-9, Y * 1e12, max_k=2).compare([1, 2])
    assert max(len(line) for line in repr(small).split("\n")) < 70
    assert "e+" in small.formatted().loc["fit"].loc["loss", "k = 1"]
    assert float(small.formatted().loc["coefficient"].loc["a", "k = 2"]) == pytest.approx(
        1e21 * support_path().coef(2)["a"], rel=1e-3
    )
    whole = l0path.fit(FRAME, Y * 0, max_k=2).compare([0])  # nothing to explain
    assert "0.000" in repr(whole) and "nan" not in repr(whole).lower()


ERRORS = {
    "squared": ("squared", {}),
    "logistic": ("logistic", {}),
    "negative_binomial": ("negative_binomial", {}),
    "cox": ("cox", {}),
    "ordinal": ("ordinal", {}),
    "ridge": ("squared", {"lambda2": 0.05}),
    "no intercept": ("squared", {"fit_intercept": False}),
    "no intercept, theta": ("negative_binomial", {"fit_intercept": False}),
}


@pytest.mark.parametrize(("case", "standardized"), thinned(2, ERRORS, (False, True)))
def test_standard_errors_are_those_of_refits(case, standardized):
    loss, more = ERRORS[case]
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(3.0, 2.0, (90, 4)), columns=list("abcd"))
    eta = 0.5 * X["a"] - 0.4 * X["b"] - 0.2
    y = {
        "squared": eta + rng.standard_normal(90),
        "logistic": eta + rng.logistic(size=90) > 0,
        "negative_binomial": rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, 90)),
        "ordinal": 1 + (eta + rng.logistic(size=90) > -1) + (eta + rng.logistic(size=90) > 1),
        "cox": np.column_stack([rng.exponential(np.exp(-eta)), np.ones(90)]),
    }[loss]
    path = l0path.fit(X, y, loss=loss, max_k=3, **more)
    table = path.compare([0, 2, 3], se=True, standardized=standardized)
    if standardized:  # a refit of standardized columns
        X = (X - path._meta.center) / path._meta.scale
    other = l0path.fit(X, y, loss=loss, max_k=3, standardize=False, **more)
    for k in (2, 3):
        results = path.model(k=k).refit() if not standardized else other.model(k=k).refit()
        assert path.support(k=k).tolist() == other.support(k=k).tolist()
        names = [
            n for n in getattr(results.params, "index", path.model(k=k).features) if n != "alpha"
        ]
        params = np.asarray(results.params)[: len(names)]
        found = table[f"k = {k}"]["coefficient"][names].astype(float)
        np.testing.assert_allclose(found, params, rtol=1e-4, atol=1e-6)
        errors = table[f"k = {k}"]["standard error"][names].astype(float)
        np.testing.assert_allclose(errors, np.asarray(results.bse)[: len(names)], rtol=2e-3)
        assert table[f"k = {k}"]["coefficient"].notna().sum() == len(names)
    assert "standard errors are those of refits" in repr(table)
    has_intercept = loss not in ("cox", "ordinal") and path._meta.intercept
    assert table["k = 0"]["standard error"].notna().sum() == has_intercept


def test_standard_errors_of_a_loaded_path_need_its_data(tmp_path):
    X = np.random.default_rng(6).standard_normal((50, 3))
    path, file = l0path.fit(X, X[:, 0] + X[:, 1] ** 2, max_k=2), tmp_path / "path.npz"
    path.save(file)
    with pytest.raises(ValueError, match=r"se=True: .* save it by path.save\(..., data=True\)"):
        l0path.load(file).compare([1], se=True)
    path.save(file, data=True)
    pd.testing.assert_frame_equal(
        pd.DataFrame(l0path.load(file).compare([1], se=True)),
        pd.DataFrame(path.compare([1], se=True)),
    )


def test_standard_errors_of_several_responses_and_classes_and_in_print():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.standard_normal((80, 3)), columns=list("abc"))
    Y = pd.DataFrame({"u": X["a"], "v": X["b"]}) + rng.standard_normal((80, 2))
    path = l0path.fit(X, Y, max_k=2)
    table = path.compare([1, 2], se="HC3")
    found = path.model(k=2).refit(cov_type="HC3")["v"].bse
    for name in ("a", "b"):
        assert table.loc[("standard error", f"{name}, v"), "k = 2"] == pytest.approx(found[name])
    y = np.array(["x", "y", "z"])[np.argmax(X.to_numpy() + rng.gumbel(size=(80, 3)), axis=1)]
    path = l0path.fit(X, y, loss="multinomial", max_k=2)
    table, results = path.compare([2], se=True), path.model(k=2).refit()
    name = path.model(k=2).features[1]
    assert ("coefficient", f"{name}, x") not in table.index  # the first class
    found = results.params.loc[name].iloc[1], results.bse.loc[name].iloc[1]
    assert table.loc[
        [("coefficient", f"{name}, z"), ("standard error", f"{name}, z")], "k = 2"
    ].tolist() == (pytest.approx(found))
    path = l0path.fit(X, Y["u"], max_k=2)
    lines = path.compare([1, 2], se=True).to_markdown(digits=3).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("| a |"))
    assert f"({path.model(k=1).refit().bse['a']:.3f}" in lines[at + 1] and lines[at + 1].startswith(
        "|  |"
    )
    assert "(" in path.compare([1, 2], se=True).to_latex()
    with pytest.raises(TypeError, match="se=3 must be True, False or the name of a covariance"):
        path.compare([1], se=3)
    cv = l0path.cv_fit(X, Y["u"], cv=4, max_k=2, random_state=0)
    assert "standard error" in cv.compare([1, 2], se=True).index


def test_intervals_of_several_counts_leave_the_dispersion_out():
    data = l0path.simulate.linear(90, 4, 2, random_state=4)
    rng = np.random.default_rng(0)
    Y = rng.negative_binomial(2, 2 / (2 + np.exp(0.5 * data.X[:, :2])))
    path = l0path.fit(data.X, Y, loss=l0path.losses.NegativeBinomial(theta=2.0), max_k=2)
    table = path.compare([2], ci=0.9, se=True)
    for name, results in path.model(k=2).refit().items():
        rows = [f"{row}, {name}" for row in results.params.index[:-1]]
        for part, wanted in (
            ("coefficient", results.params),
            ("standard error", results.bse),
            ("lower", results.conf_int(0.1).iloc[:, 0]),
        ):
            found = table.loc[part].loc[rows, "k = 2"].astype(float)
            np.testing.assert_allclose(found, wanted.iloc[:-1], rtol=1e-10)


def test_columns_have_the_names_that_are_given():
    """By default a size has the same label whatever else is compared."""
    path = support_path()
    for others in ([3], ["bic"], [{"k": 3}]):
        assert path.compare([1, *others]).columns[0] == "k = 1"
    table = path.compare([1, 3, {"k": 3}], names=["small", "large", "& again"])
    assert table.columns.tolist() == ["small", "large", "& again"]
    pd.testing.assert_frame_equal(
        pd.DataFrame(table[["small", "large"]]),
        pd.DataFrame(path.compare([1, 3])).set_axis(["small", "large"], axis=1),
    )
    assert table.to_markdown().startswith("|  | small | large | & again |")
    assert (
        r" & small & large & \& again \\" in table.to_latex() and "&amp; again" in table.to_html()
    )
    cv = l0path.cv_fit(FRAME, Y, cv=3, max_k=2, lambda2=0, random_state=0)
    assert cv.compare([1, 2], names=["u", "v"]).columns.tolist() == ["u", "v"]


def test_intervals_in_print(tmp_path):
    """Below the coefficients, with the same decimals at both ends; the same in every format."""
    table = support_path().compare([2, 4], ci=0.9, se=True)
    shown = table.formatted()
    feature = support_path().model(2).features[0]
    estimate, error, low, high = (
        shown.loc[(part, feature), "k = 2"]
        for part in ("coefficient", "standard error", "lower", "upper")
    )
    assert len(low.partition(".")[2]) == len(high.partition(".")[2]) > 0
    lines = [
        [cell.strip() for cell in row.split("|")[1:-1]] for row in table.to_markdown().split("\n")
    ]
    at = next(i for i, row in enumerate(lines) if row[0] == feature)
    assert [row[1] for row in lines[at : at + 3]] == [estimate, f"({error})", f"({low}, {high})"]
    latex = table.to_latex()
    negative = next(
        (low, high)
        for low, high in zip(shown.loc["lower", "k = 2"], shown.loc["upper", "k = 2"], strict=True)
        if low.startswith("-")
    )
    both = ", ".join(f"${end}$" if end.startswith("-") else end for end in negative)
    assert f" & ({both}) & " in latex
    table.to_html(tmp_path / "t.html", caption="A & B", digits=3)
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert ">A &amp; B</caption>" in page and page.count("<tr>") == latex.count(r"\\") + 1
    html = table.to_html()
    for text in (f"({low}, {high})", "intervals of 90 %", "observations", "adjusted R2"):
        assert (text in html) == (text != "adjusted R2")
    assert "refits without a penalty" in html and html == table._repr_html_()
    bare = support_path().compare([2], ci=0.9)
    assert f"({error})" not in bare.to_markdown() and f"({low}, {high})" in bare.to_markdown()


def test_a_closed_gap_is_called_proven_only_where_the_model_is():
    table = support_path().compare([1, 5])
    table.loc[("check", "gap")] = [0.0, 0.03]
    table.loc[("check", "optimality")] = ["swap", "global"]
    assert table.formatted().loc[("check", "gap")].tolist() == ["0", "0.03"]
    table.loc[("check", "gap")] = [np.nan, 0.0]
    assert table.formatted().loc[("check", "gap")].tolist() == ["", "0 (proven)"]


RATIOS = {
    "logistic": "odds ratios",
    "ordinal": "odds ratios",
    "cox": "hazard ratios",
    "poisson": "ratios of means",
    "multinomial": "odds ratios against the class x",
}


@pytest.mark.parametrize("loss", RATIOS)
def test_ratios_with_their_standard_errors(loss):
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc"))
    eta = X["a"] - 0.7 * X["b"]
    y = {
        "logistic": eta + rng.logistic(size=90) > 0,
        "ordinal": 1 + (eta + rng.logistic(size=90) > -1) + (eta + rng.logistic(size=90) > 1),
        "cox": np.column_stack([rng.exponential(np.exp(-eta)), np.ones(90)]),
        "poisson": rng.poisson(np.exp(eta)),
        "multinomial": np.array(["x", "y", "z"])[
            np.argmax(X.to_numpy() + rng.gumbel(size=(90, 3)), axis=1)
        ],
    }[loss]
    path = l0path.fit(X, y, loss=loss, max_k=2)
    plain, shown = (path.compare([1, 2], exponentiate=own) for own in (False, True))
    logs, ratios = (t.loc["coefficient"].astype(float) for t in (plain, shown))
    np.testing.assert_allclose(ratios, np.exp(logs))
    assert ratios.isna().equals(logs.isna())
    pd.testing.assert_frame_equal(plain.loc["fit"], shown.loc["fit"])
    plain, shown = (path.compare([1, 2], se=True, exponentiate=own) for own in (False, True))
    assert RATIOS[loss] in shown.attrs["title"] and "delta method" in shown.attrs["note"]
    logs, ratios = (t.loc["coefficient"].astype(float) for t in (plain, shown))
    errors, of_ratios = (t.loc["standard error"].astype(float) for t in (plain, shown))
    step = 1e-6  # the derivative of exp by differences
    slope = (np.exp(logs + step) - np.exp(logs - step)) / (2.0 * step)
    np.testing.assert_allclose(of_ratios, slope.loc[errors.index] * errors, rtol=1e-6)


def test_ratios_are_refused_where_exp_of_a_coefficient_is_nothing():
    path = support_path()
    with pytest.raises(ValueError, match=r"exponentiate=True is for losses.*'squared' is none"):
        path.compare([1], exponentiate=True)
    classes = l0path.fit(FRAME, Y > Y.median(), loss="squared_hinge", lambda2=0.1, max_k=1)
    with pytest.raises(ValueError, match="'squared_hinge' is none"):
        classes.compare([1], exponentiate=True)
    cv = l0path.cv_fit(
        FRAME, Y > Y.median(), loss="logistic", lambda2=0.1, cv=3, max_k=2, random_state=0
    )
    table = cv.compare([1, 2], exponentiate=True)
    assert "odds ratios" in repr(table)
    assert table.loc[("coefficient", "(Intercept)"), "k = 1"] == np.exp(cv.coef(k=1)["(Intercept)"])
