"""Predictions ask for the columns that a model uses and for no others; tables that are not of
pandas give what those of pandas give.
"""

import datetime
from functools import cache

import narwhals
import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.core.tables import pandas_of

RNG = np.random.default_rng(11)
X = pd.DataFrame(RNG.standard_normal((80, 5)), columns=list("abcde"))
Y = pd.Series(2 * X["a"] - X["c"] + 0.3 * X["e"] + 0.1 * RNG.standard_normal(80), name="y")


@cache
def support_path():
    return l0path.fit(X, Y)


DATA = X.assign(f=np.array(["u", "v", "w"])[RNG.integers(0, 3, 80)], y=Y)
DATA["y"] += (DATA["f"] == "v") * 0.8


@cache
def formula_path():
    return l0path.fit("y ~ a + c + f + a:f + np.log(e + 9)", DATA)


def test_a_model_needs_its_own_columns_only():
    model = support_path().model(k=2)
    assert model.features == ["a", "c"]
    whole = model.predict(X)
    for new in (X[["c", "a"]], X[["a", "c"]].assign(b="text"), X.assign(b=np.nan)):
        pd.testing.assert_series_equal(model.predict(new), whole)
        pd.testing.assert_series_equal(support_path().predict(new, k=2), whole)
    np.testing.assert_allclose(
        whole, model.intercept + X[["a", "c"]].to_numpy() @ model.coef[["a", "c"]], atol=1e-12
    )
    with pytest.raises(ValueError, match=r"X lacks 1 of the columns that the model uses: c"):
        model.predict(X.drop(columns="c"))
    nothing = support_path().predict(pd.DataFrame(index=X.index), k=0)
    np.testing.assert_allclose(nothing, Y.mean())


def test_all_models_need_the_union():
    path = l0path.fit(X, Y, max_k=2)
    union = sorted({name for model in path for name in model.features})
    assert len(union) < 5
    pd.testing.assert_frame_equal(path.predict(X[union[::-1]]), path.predict(X))
    with pytest.raises(ValueError, match=f"that the model uses: {union[0]}"):
        path.predict(X[union[1:]])


def test_fits_to_arrays_go_by_name_only_where_all_is_there():
    path = l0path.fit(X.to_numpy(), Y.to_numpy(), feature_names=list("abcde"), max_k=2)
    whole = path.predict(X, k=2)
    pd.testing.assert_series_equal(path.predict(X[["c", "a"]], k=2), whole)
    renamed = X.set_axis(list("vwxyz"), axis=1)
    np.testing.assert_array_equal(path.predict(renamed, k=2), whole)
    mixed = X.set_axis(
        ["c", "x", "a", "y", "z"], axis=1
    )  # five columns, not the names: by position
    np.testing.assert_array_equal(path.predict(mixed, k=2), whole)
    with pytest.raises(ValueError, match="X has 2 columns, the fit had 5"):
        path.predict(X[["c", "a"]].to_numpy(), k=2)


@pytest.mark.parametrize("make", [l0path.designs.polynomial, l0path.designs.additive])
def test_derived_features_need_the_columns_they_are_made_of(make):
    design = make(X)
    groups = getattr(design, "groups", None)
    path = l0path.fit(design, X["a"] * X["c"] + X["d"], groups=groups, max_k=3)
    for k in (1, 2, 3):
        names = {name for name in X if any(name in feature for feature in path.model(k=k).features)}
        assert len(names) < 5
        pd.testing.assert_series_equal(path.predict(X[sorted(names)], k=k), path.predict(X, k=k))
        with pytest.raises(ValueError, match="that the model uses"):
            path.predict(X[sorted(names)[1:]], k=k)
    assert path.predict(X[["b"]], k=0).nunique() == 1


@pytest.mark.parametrize("stored", [False, True])
def test_formulas_need_the_columns_of_the_terms(stored, tmp_path):
    path = formula_path()
    if stored:
        path = l0path.fit("y ~ a + c + f + a:f + log(e + 9)", DATA)
        path.save(tmp_path / "path.npz")
        path = l0path.load(tmp_path / "path.npz")
    one, whole = path.model(k=1), path.predict(DATA, k=1)
    assert one.groups == ["a"]
    pd.testing.assert_series_equal(one.predict(DATA[["a"]]), whole)
    pd.testing.assert_series_equal(one.predict(DATA.assign(f="new", c=np.nan, e=-99.0)), whole)
    assert path.predict(DATA[[]], k=0).nunique() == 1
    seen = set()
    for model in path:
        for term in model.groups:
            seen |= {name for name in "acef" if name in term.replace("log", "")}
        part = model.predict(DATA[sorted(seen)])
        pd.testing.assert_series_equal(part, model.predict(DATA))
    grouped = next(model for model in path if "f" in model.groups)
    with pytest.raises(ValueError, match="level 'new', which the fit has not seen"):
        grouped.predict(DATA.assign(f="new"))
    with pytest.raises(ValueError, match=r"missing values .* f \(80\)"):
        grouped.predict(DATA.assign(f=None))
    with pytest.raises(ValueError, match="lacks 1 of the columns of the formula: a"):
        one.predict(DATA[["c"]])


def test_categories_and_interactions_without_parents():
    data = DATA.assign(g=pd.Categorical(RNG.integers(0, 3, 80)), h=DATA["f"].astype("category"))
    path = l0path.fit("y ~ g + h:a + c", data)
    for model in path:
        names = sorted({n for n in "acgh" if any(n in term for term in model.groups)})
        pd.testing.assert_series_equal(model.predict(data[names]), model.predict(data))


def of_others(frame):
    """The table as others hold it: polars, lazy polars, pyarrow."""
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    table = polars.DataFrame({name: frame[name].to_numpy() for name in frame})
    return table, table.lazy(), arrow.Table.from_pandas(frame, preserve_index=False)


DOORS = {
    "fit": lambda X, y, data: l0path.fit(X, y).coef(),
    "formula": lambda X, y, data: l0path.fit("y ~ a + f", data).coef(),
    "cv_fit": lambda X, y, data: l0path.cv_fit(X, y, cv=3, random_state=0).scores.cv_mean,
    "cv_fit formula": lambda X, y, data: (
        l0path.cv_fit("y ~ a + f", data, cv=3, random_state=0).scores.cv_mean
    ),
    "nested_cv": lambda X, y, data: l0path.nested_cv(X, y, outer=3, cv=3, random_state=0).table,
    "stability_selection": lambda X, y, data: (
        l0path.stability_selection(X, y, k=2, n_subsamples=4, random_state=0).frequency
    ),
    "polynomial": lambda X, y, data: pd.Series(
        list(l0path.fit(l0path.designs.polynomial(X), y, max_k=2).names)
    ),
    "predict": lambda X, y, data: support_path().predict(X, k=2),
    "Model.predict": lambda X, y, data: support_path().model(k=2).predict(X),
    "predict formula": lambda X, y, data: formula_path().predict(data, k=2),
    "score": lambda X, y, data: support_path().model(k=2).score(X, y),
    "validate": lambda X, y, data: support_path().validate(X, y).scores.cv_mean,
    "refit": lambda X, y, data: support_path().model(k=2).refit(X=X, y=y).params,
    "score formula": lambda X, y, data: formula_path().model(k=2).score(data),
    "offset": lambda X, y, data: l0path.fit(X, y, offset="b").coef(),
}


@pytest.mark.parametrize("door", DOORS)
def test_tables_of_others_give_what_pandas_gives(door):
    plain, response = X.reset_index(drop=True), pd.DataFrame({"y": Y.to_numpy()})
    data = DATA.reset_index(drop=True)
    expected = DOORS[door](plain, response["y"], data)
    for there, y, whole in zip(of_others(plain), of_others(response), of_others(data), strict=True):
        found = DOORS[door](there, y, whole)
        assert type(found) is type(expected)
        pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(expected))


def test_categories_and_missing_values_are_kept():
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    data = DATA.reset_index(drop=True).assign(f=lambda d: d["f"].astype("category"))
    data.loc[3, "a"] = np.nan
    path = l0path.fit("y ~ a + f", data)
    for table in (polars.from_pandas(data), arrow.Table.from_pandas(data)):
        other = l0path.fit("y ~ a + f", table)
        assert other._meta.formula.n_dropped == 1
        pd.testing.assert_frame_equal(other.coef(), path.coef())
    flags = polars.DataFrame({"on": [True, False] * 40, "v": DATA["a"].to_numpy()})
    assert l0path.fit(flags, Y.to_numpy()).names == ["on", "v"]


def test_relations_of_a_database_have_no_order():
    duckdb = pytest.importorskip("duckdb")
    data = DATA.reset_index(drop=True)
    data["w"] = np.arange(80) % 3 + 1.0
    relation = duckdb.from_df(data)
    path = l0path.fit("y ~ a + f", relation, sample_weight="w")
    pd.testing.assert_series_equal(
        path.coef(k=2).sort_index(),
        l0path.fit("y ~ a + f", data, sample_weight="w").coef(k=2).sort_index(),
    )
    for call in (
        lambda: l0path.fit(relation, Y.to_numpy()),
        lambda: l0path.fit("y ~ a + f", relation, sample_weight=np.ones(80)),
        lambda: path.predict(relation, k=2),
    ):
        with pytest.raises(TypeError, match=r"no fixed order; pass .*df\(\)"):
            call()


class Table:
    """What a table that nobody knows looks like from outside."""

    columns = ("a", "b")
    dtypes = ("f", "f")


def test_tables_that_cannot_be_read_are_refused():
    for call in (
        lambda: l0path.fit(Table(), Y.to_numpy()),
        lambda: l0path.fit(X, Table()),
        lambda: l0path.fit("y ~ a", Table()),
        lambda: support_path().predict(Table(), k=2),
    ):
        with pytest.raises(TypeError, match=r"is a table of .* not read; pass"):
            call()


def test_columns_of_others_are_taken_as_responses():
    polars = pytest.importorskip("polars")
    path = l0path.fit(X.to_numpy(), polars.Series(Y.to_numpy()), max_k=2)
    assert path.support(k=2).tolist() == [0, 2]


def test_tables_of_polars_need_no_pyarrow(monkeypatch):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(X.to_numpy(), schema=list(X.columns)).with_columns(
        y=polars.Series(Y.to_numpy()),
        side=polars.Series(["left", "right"] * (len(X) // 2) + ["left"] * (len(X) % 2)),
        high=polars.Series(X.iloc[:, 0].to_numpy() > 0),
    )
    known = pandas_of(table)

    def without(self):
        raise ModuleNotFoundError("No module named 'pyarrow'")

    monkeypatch.setattr(narwhals.DataFrame, "to_pandas", without)
    pd.testing.assert_frame_equal(pandas_of(table), known, check_dtype=False)
    dates = table.with_columns(day=polars.lit(datetime.date(2020, 1, 1)))
    with pytest.raises(
        ModuleNotFoundError, match=r"column 'day' of X is Date.*pip install pyarrow"
    ):
        l0path.fit(dates.drop("y"), Y, max_k=2)
