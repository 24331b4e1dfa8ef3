"""Predictions ask for the columns that a model uses and for no others; tables that are not of
pandas are refused everywhere, because they would be read by position.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import l0path

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


def foreign(frame):
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    text = {name: frame[name].to_numpy() for name in frame}
    table = polars.DataFrame(text)
    return {
        "to_pandas": table,
        r"collect\(\)\.to_pandas": table.lazy(),
        "[.]to_pandas": arrow.table(text),
        "to_pandas[(]": arrow.record_batch(text),
    }


class Relation:
    """What a DuckDB relation looks like from outside."""

    columns = ("a", "b")

    def fetchall(self): ...

    def df(self): ...


@pytest.mark.parametrize("kind", range(5))
def test_tables_of_others_are_refused_at_every_door(kind):
    tables = [*foreign(X).items(), (r"df\(\)", Relation())]
    remedy, table = tables[kind]
    for call in (
        lambda: l0path.fit(table, Y.to_numpy()),
        lambda: l0path.fit("y ~ a", table),
        lambda: l0path.cv_fit(table, Y.to_numpy(), cv=3),
        lambda: l0path.cv_fit("y ~ a", table, cv=3),
        lambda: l0path.nested_cv(table, Y.to_numpy(), outer=3, cv=3),
        lambda: l0path.stability_selection(table, Y.to_numpy(), k=2, n_subsamples=2),
        lambda: l0path.designs.polynomial(table),
        lambda: support_path().predict(table, k=2),
        lambda: support_path().model(k=2).predict(table),
        lambda: formula_path().predict(table, k=2),
        lambda: support_path().score(table, Y.to_numpy(), k=2),
        lambda: support_path().validate(table, Y.to_numpy()),
        lambda: support_path().refit(k=2, X=table, y=Y.to_numpy()),
        lambda: support_path().summary(k=2, X=table, y=Y.to_numpy()),
        lambda: l0path.fit(X, table),
    ):
        with pytest.raises(TypeError, match=f"is a table of .*{remedy}"):
            call()


def test_columns_of_others_are_taken_as_responses():
    polars = pytest.importorskip("polars")
    path = l0path.fit(X.to_numpy(), polars.Series(Y.to_numpy()), max_k=2)
    assert path.support(k=2).tolist() == [0, 2]
