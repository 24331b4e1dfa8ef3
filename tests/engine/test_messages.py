"""Messages about wrong calls say what to write instead."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import l0path


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    return X.assign(y=X.a + rng.standard_normal(60))


@pytest.mark.parametrize(
    ("y", "remedy"),
    [("y", r"table\['y'\]\), or a formula first, l0path.fit\('y ~ .', table"), ("y ~ a", "first")],
)
def test_a_text_in_the_place_of_the_response(table, y, remedy):
    for function in (l0path.fit, l0path.cv_fit):
        with pytest.raises(TypeError, match=remedy):
            function(table, y)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "smoothed_hinge"])
@pytest.mark.parametrize("kind", ["real", "counts"])
def test_amounts_are_no_classes(table, loss, kind):
    y = table.y if kind == "real" else pd.Series(np.arange(60) % 30)
    with pytest.raises(ValueError, match=r"looks continuous.*loss='squared'"):
        l0path.fit(table[list("abcd")], y, loss=loss)


@pytest.mark.parametrize("labels", [[1, 2, 3], ["a", "b", "c"]])
def test_three_labels_stay_classes(table, labels):
    with pytest.raises(ValueError, match="use loss='multinomial'"):
        l0path.fit(table[list("abcd")], np.resize(labels, 60), loss="logistic")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("coef_", r"write \.coef\("),
        ("pvalues", r"ask one model: \.model\(\.\.\.\)\.refit\("),
        ("best_model", r"write \.model\("),
        ("suport", "did you mean support"),
        ("summary", r"ask one model: \.model\(\.\.\.\)\.summary"),
    ],
)
def test_attributes_that_a_path_does_not_have(table, name, hint):
    path = l0path.fit("y ~ .", table)
    with pytest.raises(AttributeError, match=hint):
        getattr(path, name)
    assert not hasattr(path, "_repr_nothing_") and not hasattr(path, name)
    for twin in (copy.copy(path), pickle.loads(pickle.dumps(path))):
        assert twin.n == 60


def test_a_path_says_what_one_model_answers(table):
    path = l0path.fit("y ~ .", table)
    left = {name for name in dir(path[2]) if not name.startswith("_")} - {*dir(path), "path"}
    assert {"features", "intercept", "k", "refit", "to_sql"} <= left
    for name in left:
        with pytest.raises(AttributeError, match=rf"ask one model: \.model\(\.\.\.\)\.{name}"):
            getattr(path, name)


@pytest.mark.parametrize(
    ("name", "hint"), [("best_model", r"write \.model\("), ("deviance", "CVPath has no attribute")]
)
def test_attributes_that_a_cross_validation_does_not_have(table, name, hint):
    cv = l0path.cv_fit("y ~ .", table, cv=3)
    with pytest.raises(AttributeError, match=hint):
        getattr(cv, name)
    with pytest.raises(AttributeError, match="a CVPath is itself a path"):
        cv.path  # noqa: B018
    assert copy.copy(cv).scores.equals(cv.scores)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y ~ a + ", r"operator \+ lacks a term"),
        ("y ~ a * ", r"operator \* lacks a term"),
        ("y ~ a + (b", "bracket"),
    ],
)
def test_formulas_that_cannot_be_read(table, text, said):
    with pytest.raises(ValueError, match=said):
        l0path.fit(text, table)


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson", "logistic"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_response_among_the_columns_is_noted_once(loss, sparse):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((60, 4))
    y = {"poisson": rng.poisson(3, 60), "logistic": rng.integers(0, 2, 60)}.get(
        loss, X[:, 1] + rng.standard_normal(60)
    )
    X[:, 2] = y
    data = scipy.sparse.csc_array(X) if sparse else X
    how = {"loss": loss, "lambda2": 1e-3, "feature_names": list("abcd")}
    path = l0path.fit(data, y, **how)
    assert sum("column 'c' equals y" in note for note in path.notes) == 1
    X[0, 2] += 1.0
    assert not any("equals y" in note for note in l0path.fit(X, y, **how).notes)
