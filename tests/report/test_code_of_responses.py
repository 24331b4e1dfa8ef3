"""Models of several responses, several and ordered classes and survival times as Python, SQL and
scikit-learn: what they compute is what `predict` returns.
"""

import math
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from lazy import lazy

import l0path

clone = lazy("sklearn.base", "clone")

NAMES = ["a", "b c", 'd"e', "h"]
KINDS = {
    "several": {},
    "multinomial": {"loss": "multinomial", "lambda2": 1e-2},
    "two classes": {"loss": "multinomial", "lambda2": 1e-2},
    "ordinal": {"loss": "ordinal"},
    "cox": {"loss": "cox"},
}


def drawn(kind, n=60):
    """(X with names that need quoting, y)."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=NAMES)
    eta = (X["a"] - X["b c"]).to_numpy()
    if kind == "several":
        return X, pd.DataFrame({"u v": eta + rng.normal(size=n), "w": X.h + rng.normal(size=n)})
    if kind == "cox":
        return X, np.column_stack([rng.exponential(np.exp(-eta)), rng.random(n) < 0.7])
    codes = np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0])
    if kind == "ordinal":
        return X, codes
    labels = np.array(["yes", "no", "it's"] if kind == "multinomial" else ["yes", "no", "no"])
    return X, pd.Series(pd.Categorical(labels[codes], categories=pd.unique(labels)))


def by_python(model, data, **offset):
    module = {}
    exec(model.to_python(), module)
    return np.asarray(module["predict"](data, **offset), dtype=float)


def by_sql(model, data):
    """A table of the values, with the names of the columns."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("EXP", 1, math.exp)
        data.to_sql("rows", connection, index=False)
        return pd.read_sql_query(f"SELECT {model.to_sql()} FROM rows", connection)


@pytest.mark.parametrize("kind", KINDS)
def test_code_predicts_as_the_model(kind):
    X, y = drawn(kind)
    path = l0path.fit(X, y, max_k=2, certify=False, **KINDS[kind])
    for k in (0, 2):
        model = path.model(k=k)
        expected = model.predict(X)
        found = np.broadcast_to(by_python(model, X), expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        table = by_sql(model, X)
        np.testing.assert_allclose(table.to_numpy().reshape(expected.shape), expected, rtol=1e-12)
        if kind != "cox":
            assert table.columns.tolist() == [str(name) for name in expected.columns]
    one = by_python(path.model(k=2), X.iloc[0].to_dict())
    np.testing.assert_allclose(one, expected.iloc[0], rtol=1e-12)


@pytest.mark.parametrize("kind", ["several", "multinomial", "two classes"])
@pytest.mark.parametrize("named", [True, False])
def test_a_model_of_scikit_learn_predicts_as_the_model(kind, named):
    X, y = drawn(kind)
    X = X if named else X.to_numpy()
    model = l0path.fit(X, y, max_k=2, certify=False, **KINDS[kind]).model(k=2)
    other, own = model.to_sklearn(), None
    own = clone(other).fit(X, np.asarray(y))
    assert {name: type(value) for name, value in vars(other).items()} == {
        name: type(value) for name, value in vars(own).items()
    }
    assert other.coef_.shape == own.coef_.shape and other.intercept_.shape == own.intercept_.shape
    expected = pd.DataFrame(model.predict(X), columns=model.path._meta.responses)
    if kind == "several":
        np.testing.assert_allclose(other.predict(X), expected, rtol=1e-12)
        assert other.coef_.shape == (2, 4)
    else:
        assert sorted(expected.columns) == other.classes_.tolist() != list(expected.columns)
        proba = pd.DataFrame(other.predict_proba(X), columns=other.classes_)
        np.testing.assert_allclose(proba[expected.columns], expected, rtol=1e-9)
        assert (other.predict(X) == model.predict(X, type="class")).all()


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("positive", ["no", "yes"])
def test_the_positive_class_of_a_model_of_scikit_learn(loss, positive):
    X, y = drawn("two classes")
    model = l0path.fit(X, y.astype(str), max_k=2, loss=loss, pos_label=positive).model(k=2)
    other = model.to_sklearn()
    assert other.classes_.tolist() == ["no", "yes"]
    assert (other.predict(X) == model.predict(X, type="class")).all()
    sign = 1.0 if positive == "yes" else -1.0
    np.testing.assert_allclose(sign * other.decision_function(X), model.predict(X, type="link"))


@pytest.mark.parametrize("kind", ["several", "multinomial", "ordinal", "cox"])
def test_an_offset_is_an_argument_or_a_term_of_the_formula(kind):
    X, y = drawn(kind)
    rng = np.random.default_rng(0)
    shape = {"several": (60, 2), "multinomial": (60, 3)}.get(kind, (60,))
    offset = rng.normal(size=shape)
    model = l0path.fit(X, y, offset=offset, max_k=2, certify=False, **KINDS[kind]).model(k=2)
    expected = np.asarray(model.predict(X, offset=offset))
    np.testing.assert_allclose(by_python(model, X, offset=offset), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"offset.*to_python"):
        model.to_sql()
    if kind in ("several", "ordinal"):
        left = "`u v` + w" if kind == "several" else "y"
        data = X.assign(**(dict(y) if kind == "several" else {"y": y}))
        model = l0path.fit(f"{left} ~ a + h + offset(h)", data, **KINDS[kind]).model(k=1)
        np.testing.assert_allclose(by_python(model, data), model.predict(data), rtol=1e-12)
        np.testing.assert_allclose(by_sql(model, data), model.predict(data), rtol=1e-12)


@pytest.mark.parametrize("kind", ["ordinal", "cox"])
def test_scikit_learn_has_no_estimator_of_other_responses(kind):
    X, y = drawn(kind)
    model = l0path.fit(X, y, max_k=1, certify=False, **KINDS[kind]).model(k=1)
    with pytest.raises(ValueError, match=f"loss='{kind}'.*no estimator.*to_python"):
        model.to_sklearn()
