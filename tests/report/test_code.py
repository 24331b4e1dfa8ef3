"""Models as Python, SQL and scikit-learn: what they compute is what `predict` returns."""

import math
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from thinning import thinned

import l0path

LOSSES = ("squared", "logistic", "poisson", "huber", "squared_hinge")
COLUMNS = ("a", "b c", 'd"e', "f'g", "h")


def table(n=60, seed=0):
    """Columns whose names need quoting, a factor, a factor of numbers and an exposure."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, len(COLUMNS))), columns=COLUMNS)
    data["kind"] = rng.choice(["x", "it's", "z:w"], size=n)
    data["year"] = rng.choice([2001, 2002, 2003], size=n)
    data["size"] = rng.uniform(1, 5, size=n)
    return data


def response(data, loss):
    eta = (data["a"] - data["b c"] + 0.5 * data["h"]).to_numpy()
    noise = np.random.default_rng(1).normal(size=len(data))
    if loss == "poisson":
        return np.floor(np.exp(np.clip(eta, -3, 2)))
    if loss in ("squared", "huber"):
        return eta + noise
    return np.where(eta + noise > 0, "yes", "no")


def by_python(model, data, **offset):
    module = {}
    exec(model.to_python(), module)
    return np.broadcast_to(np.asarray(module["predict"](data, **offset), dtype=float), len(data))


def by_sql(model, data):
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, function in (("EXP", math.exp), ("LN", math.log), ("SQRT", math.sqrt)):
            connection.create_function(name, 1, function)
        connection.create_function("POWER", 2, pow)
        data.to_sql("rows", connection, index=False)
        found = connection.execute(f"SELECT {model.to_sql()} FROM rows").fetchall()
    return np.array([value for (value,) in found])


def by_duckdb(model, data):
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect()) as connection:
        connection.register("rows", data)
        found = connection.execute(f"SELECT {model.to_sql()} FROM rows").fetchall()
    return np.array([value for (value,) in found], dtype=float)


@pytest.mark.parametrize("loss", LOSSES)
def test_code_predicts_as_the_model(loss):
    data = table()
    X, y = data[list(COLUMNS)], response(data, loss)
    path = l0path.fit(X, y, loss=loss, max_k=3, lambda2=0.01)
    for k in (0, 3):
        model = path.model(k=k)
        expected = np.asarray(model.predict(X))
        np.testing.assert_allclose(by_python(model, X), expected, rtol=1e-12)
        np.testing.assert_allclose(by_sql(model, X), expected, rtol=1e-12)
        np.testing.assert_allclose(by_duckdb(model, X), expected, rtol=1e-12)


@pytest.mark.parametrize(("named", "loss"), thinned(2, [True, False], LOSSES))
def test_a_model_of_scikit_learn_predicts_as_the_model(loss, named):
    data = table()
    X, y = data[list(COLUMNS)], response(data, loss)
    X = X if named else X.to_numpy()
    model = l0path.fit(X, y, loss=loss, max_k=3, lambda2=0.01).model(k=3)
    other = model.to_sklearn()
    own = type(other)().fit(X, y)  # converters to other formats rely on the types of attributes
    assert {name: type(value) for name, value in vars(other).items()} == {
        name: type(value) for name, value in vars(own).items()
    }
    if loss == "logistic":
        np.testing.assert_allclose(other.predict_proba(X)[:, 1], model.predict(X), rtol=1e-10)
    if loss in ("logistic", "squared_hinge"):
        np.testing.assert_allclose(other.decision_function(X), model.predict(X, type="link"))
        assert (other.predict(X) == model.predict(X, type="class")).all()
    else:
        np.testing.assert_allclose(other.predict(X), model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("columns", [True, False])
def test_a_model_of_scikit_learn_predicts_the_share_of_successes(columns):
    data = table()
    X, trials = data[list(COLUMNS)], np.arange(len(data)) % 4 + 1.0
    successes = np.minimum(trials, data["h"].abs().round())
    more = {} if columns else {"trials": trials}
    y = np.column_stack([successes, trials - successes]) if columns else successes / trials
    model = l0path.fit(X, y, loss="binomial", max_k=2, **more).model(k=2)
    other = model.to_sklearn()
    assert other.coef_.shape == (1, len(COLUMNS)) and other.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(other.predict_proba(X)[:, 1], model.predict(X), rtol=1e-12)


FORMULA = "y ~ a + `b c` * C(kind) + C(year) + I(h ** 2) + np.log(size) + a:h + {size / year}"


def test_terms_of_a_formula_are_written_out():
    data = table()
    data["y"] = response(data, "squared") + data["h"] ** 2 + (data["year"] == 2002)
    path = l0path.fit(FORMULA, data)
    model = path.model(index=len(path) - 1)
    assert len(model.features) > 8
    expected = np.asarray(model.predict(data))
    np.testing.assert_allclose(by_python(model, data), expected, rtol=1e-9)
    np.testing.assert_allclose(by_sql(model, data), expected, rtol=1e-9)


ODD = ["x", "it's", 'q"r', "s]t", "u:v", "w[z", "a:C(h)[T.2]", "`b"]


def odd_table(n=400):
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {
            "g": rng.choice(ODD, size=n),
            "h h": rng.choice(["1'", "2", '3"'], size=n),
            "flag": rng.uniform(size=n) < 0.4,
            "count": rng.integers(90, 128, size=n).astype(np.int8),
        }
    )
    more = pd.Series(ODD).map(dict(zip(ODD, range(len(ODD)), strict=True)))
    data["y"] = (
        data["g"].map(dict(zip(ODD, more, strict=True))) * (1 + (data["h h"] == "2")) * 1.1
        + data["flag"] * data["count"] / 30
        + rng.normal(size=n)
    )
    return data


@pytest.mark.parametrize(
    ("engine", "right"),
    thinned(
        2,
        [by_sql, by_duckdb],
        [
            "C(g) * `h h`",
            "C(g):C(`h h`) + flag:count - 1",
            "g:flag + C(`h h`, contr.treatment('2')) * C(flag)",
            "count:count + I(count * count) + flag:I(count / 3)",
        ],
    ),
)
def test_interactions_of_levels_with_any_sign_are_written_out(right, engine, tmp_path):
    data = odd_table()
    path = l0path.fit(f"y ~ {right}", data, heredity=None, groups=False, certify=False)
    path.save(tmp_path / "path.npz")
    for model in (path[path.details.k.max()], l0path.load(tmp_path / "path.npz")[2]):
        expected = np.asarray(model.predict(data))
        np.testing.assert_allclose(by_python(model, data), expected, rtol=1e-9)
        np.testing.assert_allclose(engine(model, data), expected, rtol=1e-9)


@pytest.mark.parametrize("engine", [by_sql, by_duckdb])
def test_columns_of_true_and_false_are_numbers_in_sql(engine, tmp_path):
    data = odd_table()
    X = pd.get_dummies(data[["g", "h h", "count"]])
    path = l0path.fit(X, data["y"], max_k=8, certify=False)
    path.save(tmp_path / "path.npz")
    for model in (path[8], l0path.load(tmp_path / "path.npz")[8]):
        np.testing.assert_allclose(engine(model, X), model.predict(X), rtol=1e-9)


def test_levels_whose_names_are_alike_are_not_written_out():
    data = odd_table()
    data["g"] = data["g"].replace({"u:v": "T.x"})
    model = l0path.fit("y ~ 0 + g", data, groups=False).model(k=8)
    with pytest.raises(ValueError, match=r"g\[.*cannot be written out"):
        model.to_sql()


def test_code_says_how_many_columns_it_reads():
    data = pd.DataFrame({"y": [0.0, 1, 5, 1, 2, 7], "g": list("abcabc"), "x": [1.0, 3, 2, 5, 4, 7]})
    path = l0path.fit("y ~ g + x", data)
    assert path.model(k=2).to_python().startswith('"""A model of 2 columns,')  # g has two codes
    assert path.model(k=1).to_python().startswith('"""A model of 1 column,')


def test_an_offset_is_an_argument_or_a_term_of_the_formula():
    data = table()
    data["y"] = response(data, "poisson")
    offset = np.log(data["size"].to_numpy())
    model = l0path.fit(data[list(COLUMNS)], data["y"], loss="poisson", offset=offset).model(k=2)
    expected = np.asarray(model.predict(data[list(COLUMNS)], offset=offset))
    np.testing.assert_allclose(by_python(model, data, offset=offset), expected, rtol=1e-12)
    for refused in (model.to_sql, model.to_sklearn):
        with pytest.raises(ValueError, match=r"offset.*to_python"):
            refused()
    model = l0path.fit("y ~ a + h + offset(log(size))", data, loss="poisson").model(k=2)
    np.testing.assert_allclose(by_python(model, data), model.predict(data), rtol=1e-12)
    np.testing.assert_allclose(by_sql(model, data), model.predict(data), rtol=1e-12)


def test_functions_of_the_users_own_are_not_written_out():
    data = table()
    data["y"] = response(data, "squared")
    model = l0path.fit(
        "y ~ a + sqrt(size) + a:`far off`", data.assign(**{"far off": data.h})
    ).model(k=3)
    given = data.assign(**{"far off": data.h})
    np.testing.assert_allclose(by_python(model, given), model.predict(given), rtol=1e-12)
    model = l0path.fit("y ~ a + root(size)", data, env={"root": np.sqrt}).model(k=2)
    with pytest.raises(ValueError, match=r"root\(size\).*cannot be written out"):
        model.to_python()


def test_what_cannot_be_written_out_is_refused_by_name():
    data = table()
    data["y"] = response(data, "squared")
    path = l0path.fit("y ~ poly(h, 2) + a", data)
    model = path.model(index=len(path) - 1)
    for refused in (model.to_python, model.to_sql):
        with pytest.raises(ValueError, match=r"poly\(h, 2\).*cannot be written out"):
            refused()
    with pytest.raises(ValueError, match="to_python"):
        model.to_sklearn()
    model = l0path.fit(l0path.designs.polynomial(data[["a", "h"]]), data["y"]).model(k=2)
    for refused in (model.to_python, model.to_sql, model.to_sklearn):
        with pytest.raises(ValueError, match="design"):
            refused()


def test_levels_that_are_no_text_and_no_numbers_are_refused(tmp_path):
    data = table()
    data["y"] = response(data, "squared")
    data["band"], data["day"] = pd.cut(data["a"], 3), pd.Timestamp("2020-01-01")
    data.loc[::2, "day"] = pd.Timestamp("2020-03-01")
    for term, kind in (("band", "Interval"), ("C(day)", "Timestamp")):
        model = l0path.fit(f"y ~ {term}", data).model(k=1)
        with pytest.raises(ValueError, match=f"are values of {kind}, which cannot be written out"):
            model.to_python()
        model.path.explore(tmp_path / "page.html")


@pytest.mark.parametrize("odd", ["a\0b", "a\x1b[31mb", "a\u2028b\x85"])
def test_names_that_python_cannot_read_as_they_are(odd):
    data = pd.DataFrame({odd: np.arange(20.0), "b": np.arange(20.0) % 3})
    y = pd.Series(data[odd] + data["b"], name=odd)
    model = l0path.fit(data, y, max_k=2).model(k=2)
    np.testing.assert_allclose(by_python(model, data), model.predict(data), rtol=1e-12)
    assert model.to_python().encode().decode().isascii()


def test_columns_whose_names_are_numbers_dates_or_none():
    rng = np.random.default_rng(3)
    names = [0, 1, pd.Timestamp("2020-01-02"), None, -1.5]
    data = pd.DataFrame(rng.normal(size=(40, 5)), columns=pd.Index(names, dtype=object))
    y = data.sum(axis=1)
    model = l0path.fit(data, y, max_k=5).model(k=5)
    np.testing.assert_allclose(by_python(model, data), model.predict(data), rtol=1e-9)
    texts = data.set_axis([str(name) for name in names], axis=1)
    np.testing.assert_allclose(by_python(model, texts), model.predict(data), rtol=1e-9)


@pytest.mark.parametrize(
    "text, flag", [("string", "boolean"), ("string[pyarrow]", "bool[pyarrow]")]
)
def test_columns_of_extension_types(text, flag):
    if "pyarrow" in text:
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"a": rng.normal(size=60), "f": rng.normal(size=60) > 0})
    data["kind"] = pd.Series(rng.choice(["u", "v", "w"], size=60)).astype(text)
    data["y"] = data["a"] + 2.0 * (data["kind"] == "v").to_numpy(dtype=float) + data["f"]
    data["f"] = data["f"].astype(flag)
    of_formula = l0path.fit("y ~ a + f + kind", data).model(k=3)
    of_table = l0path.fit(data[["a", "f"]], data["y"]).model(k=2)
    for model in (of_formula, of_table):
        np.testing.assert_allclose(by_python(model, data), model.predict(data), rtol=1e-9)
