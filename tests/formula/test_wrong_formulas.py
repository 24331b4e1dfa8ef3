"""Formulas, folds and levels that are refused by name."""

import numpy as np
import pandas as pd
import pytest
from formula_samples import DATA, holes, smf

import l0path

# -------------------- wrong input

BAD = {
    "no such column": (
        ("y ~ zz + a",),
        dict(),
        ValueError,
        r"data has no column 'zz'; the columns are y, a, x",
    ),
    "no such name in an expression": (("y ~ np.log(zz)",), dict(), ValueError, "no column 'zz'"),
    "no such response": (("zz ~ a",), dict(), ValueError, "no column 'zz'"),
    "empty right side": (("y ~ ",), dict(), ValueError, "names no column on the right side"),
    "intercept only": (("y ~ 1",), dict(), ValueError, "names no column on the right side"),
    "no response": (("~ a + x",), dict(), ValueError, "no response"),
    "two responses": (("y + a:b ~ c",), dict(), ValueError, "a response on the left"),
    "response on the right": (
        ("y ~ a + y",),
        dict(),
        ValueError,
        "the response y is also on the right",
    ),
    "response in an expression": (
        ("np.log(y) ~ np.exp(y) + a",),
        dict(),
        ValueError,
        "the response y is also on the right",
    ),
    "parts": (("y ~ a | x",), dict(), ValueError, "several parts"),
    "syntax": (("y ~ a *",), dict(), ValueError, "cannot be read"),
    "an expression that fails": (
        ("y ~ np.log(a, 1, 2, 3)",),
        dict(),
        ValueError,
        "Unable to evaluate",
    ),
    "a left side that fails": (
        ("np.log(y, 1, 2, 3) ~ a",),
        dict(),
        ValueError,
        "the left side .* cannot be computed",
    ),
    "missing values made": (
        ("y ~ np.log(a)",),
        dict(),
        ValueError,
        "null values.*the expression makes them",
    ),
    "infinity made": (("y ~ {1 / (b * 1.0)} + a",), dict(), ValueError, "NaN or infinity"),
    "not numbers": (
        ("y ~ t + a",),
        dict(data=DATA.assign(t=pd.Timestamp("2020"))),
        TypeError,
        "column t has dtype datetime64",
    ),
    "no data": (("y ~ a",), dict(data=None), TypeError, "data is missing"),
    "data no frame": (("y ~ a",), dict(data={"y": [1.0], "a": [2.0]}), TypeError, "data is a dict"),
    "every row incomplete": (
        ("y ~ a",),
        dict(data=DATA.assign(a=np.nan)),
        ValueError,
        "every row of data has a missing value .*most in a",
    ),
    "no rows": (("y ~ a",), dict(data=DATA.iloc[:0]), ValueError, "no rows"),
    "a column twice": (
        ("y ~ a",),
        dict(data=pd.concat([DATA, DATA[["a"]]], axis=1)),
        ValueError,
        "'a' more than once",
    ),
    "the name of the intercept": (
        ("y ~ .",),
        dict(data=DATA.assign(**{"(Intercept)": np.arange(len(DATA)) ** 2.0})),
        ValueError,
        r"uses the column '\(Intercept\)'.*rename it",
    ),
    "one level": (("y ~ c",), dict(data=DATA.assign(c="u")), ValueError, "makes no column"),
    "weights of no column": (
        ("y ~ a",),
        dict(sample_weight="nothing"),
        ValueError,
        "sample_weight='nothing' is not a column",
    ),
    "weights too short": (
        ("y ~ a",),
        dict(sample_weight=np.ones(3)),
        ValueError,
        "sample_weight has 3 values, data has 90 rows",
    ),
    "weights of other rows": (
        ("y ~ a",),
        dict(sample_weight=pd.Series(np.ones(90))),
        ValueError,
        "different indexes",
    ),
    "text response": (("c ~ a",), dict(), ValueError, "loss='logistic'"),
    "feature_names": (("y ~ a",), dict(feature_names=["b"]), ValueError, "feature_names"),
    "algorithm of columns": (("y ~ a*c",), dict(algorithm="cd"), ValueError, "groups=False"),
    "unknown name": (("y ~ a*c",), dict(always_include="a:b"), ValueError, "no column 'a:b'"),
    "factor of part of a group": (
        ("y ~ a*c",),
        dict(penalty_factor={"c[T.v]": 2.0}),
        ValueError,
        "differs among the columns of group 'c'",
    ),
    "negative factor": (
        ("y ~ a*c",),
        dict(penalty_factor={"c": -2.0}),
        ValueError,
        r"penalty_factor\['c.*'\]=-2.0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_formulas_are_refused_by_name(name):
    (text,), arguments, error, match = BAD[name]
    with pytest.raises(error, match=match):
        l0path.fit(text, **{"data": DATA, **arguments})


def test_wrong_folds_are_refused():
    frame = holes(DATA)
    short = [(np.ones(80, bool), np.ones(80, bool))]
    beyond = [(np.arange(80), np.arange(80, 200))]
    for cv, match in (
        (short, "masks of that length"),
        (np.arange(5), "5 labels, data has 90 rows"),
        (beyond, "indices of the 90 rows"),
        ("nothing", "cv='nothing' is not a column"),
    ):
        with pytest.raises(ValueError, match=match):
            l0path.cv_fit("y ~ a", frame, cv=cv)


def test_levels_are_those_of_the_rows_used():
    """A category without rows has no column, and new rows of it are refused: a column of zeros
    would pass them for the first level.
    """
    frame = DATA.assign(c=pd.Categorical(DATA.c, categories=["w", "never", "u", "v"]))
    path = l0path.fit("y ~ a + c", frame)
    assert path.names == ["a", "c[T.u]", "c[T.v]"] and not path.notes
    with pytest.raises(
        ValueError, match="column c has the level 'never', which the fit has not seen"
    ):
        path.predict(frame.assign(c="never"), k=1)
    np.testing.assert_allclose(
        path.predict(frame, k=2), smf.ols("y ~ a + c", DATA).fit().predict(DATA), rtol=1e-10
    )
    assert l0path.fit("y ~ a + c", frame.assign(c=frame.c.where(frame.c != "u", np.nan))).names == [
        "a",
        "c[T.v]",
    ]


def test_lists_of_groups_may_name_terms():
    by_list, by_label = (
        l0path.fit("y ~ a + x + c", DATA, groups=[["a", "x"], ["c"]]),
        l0path.fit("y ~ a + x + c", DATA, groups={0: ["a", "x"], 1: "c"}),
    )
    pd.testing.assert_frame_equal(by_list.details, by_label.details)
    assert by_list.model(k=2).details["n_features"] == 4


@pytest.mark.parametrize(
    ("X", "error"), [(np.zeros((2, 9)), ValueError), (DATA.head(2).to_numpy(), TypeError)]
)
def test_new_rows_of_a_formula_are_asked_for_as_a_table(X, error):
    path = l0path.fit("y ~ a * c", DATA, max_k=2)
    with pytest.raises(error, match="pass a DataFrame with the columns of the formula 'y ~ a"):
        path.predict(X, k=2)


def test_a_column_with_the_name_of_a_product_or_a_level_is_refused():
    numbers = np.random.default_rng(0).standard_normal((40, 3))
    data = pd.DataFrame(numbers, columns=["a", "b", "a:b"])
    data["y"], data["kind"], data["kind[T.v]"] = data["a"] * data["b"], ["u", "v"] * 20, data["b"]
    for right in ("a*b + `a:b`", ". + a*b", "kind + `kind[T.v]`"):
        with pytest.raises(ValueError, match=r"makes two columns named '(a:b|kind\[T\.v\])', of"):
            l0path.fit(f"y ~ {right}", data)
    assert l0path.fit("y ~ a*b", data).names == ["a", "b", "a:b"]


def test_columns_with_the_names_of_the_intercept_are_not_lost():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 4)), columns=["1", "2", "Intercept", "y"])
    for right in (".", "`1` + `2`"):
        with pytest.raises(ValueError, match=r"uses the column '1'.*rename"):
            l0path.fit(f"y ~ {right}", table)
    assert l0path.fit("y ~ `2` + 1", table).names == ["2"]
    table = table.drop(columns="1").assign(g=np.resize(["p", "q"], 40))
    with pytest.raises(ValueError, match=r"uses the column 'Intercept'.*take it out"):
        l0path.fit("y ~ .", table)
    assert "Intercept" not in l0path.fit("y ~ . - Intercept", table).names
    # without factors, and without an intercept, it is a column like others
    for right in ("`2` + Intercept", "g + Intercept - 1"):
        path = l0path.fit(f"y ~ {right}", table)
        both = path.model(k=2)
        assert "Intercept" in both.features
        np.testing.assert_allclose(
            both.refit().params["Intercept"], both.coef["Intercept"], rtol=1e-7
        )
