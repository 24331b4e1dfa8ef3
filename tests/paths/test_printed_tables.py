"""Tables print all of their columns in a terminal: pandas hid those in the middle."""

import pickle

import numpy as np
import pandas as pd
import pytest

import l0path

RNG = np.random.default_rng(4)
X = pd.DataFrame(
    RNG.standard_normal((90, 6)), columns=[f"a_long_name_of_a_column_{j}" for j in "abcdef"]
)
Y = X.iloc[:, 0] - X.iloc[:, 2] + RNG.standard_normal(90)


def tables():
    """{name: table} of a fit and its cross-validation."""
    path = l0path.fit(X, Y, max_k=3)
    cv = l0path.cv_fit(X, Y > 0, loss="logistic", max_k=2, lambda2=0.1, cv=3, random_state=1)
    nested = l0path.nested_cv(X, Y, max_k=2, outer=2, cv=2, random_state=1)
    return {
        "path": path.table,
        "rounds": path.rounds,
        "criteria": path.score_table(),
        "alternatives": path.model(k=2).alternatives(),
        "summary": path.model(k=2).summary().table,
        "near best": path.near_best(k=2, within=0.5).table,
        "scores": cv.table,
        "metrics": cv.metrics(),
        "nested": nested.table,
    }


@pytest.mark.parametrize("width", [80, 100])
def test_every_column_is_printed(width):
    with pd.option_context("display.width", width, "display.max_columns", 0):
        for name, table in tables().items():
            lines = repr(table).split("\n")
            assert max(map(len, lines)) <= width, name
            heads = " ".join(lines).split()
            assert all(str(column) in heads for column in table.columns), name
            assert "..." not in lines[0].split(), name


def test_what_pandas_makes_of_a_table_is_ordinary(tmp_path):
    table = l0path.fit(X, Y, max_k=2).table
    assert type(table[["k", "loss"]]) is type(table.assign(a=1)) is pd.DataFrame
    assert type(pickle.loads(pickle.dumps(table))) is pd.DataFrame
    pd.testing.assert_frame_equal(pd.DataFrame(table), table.copy())
    with pd.option_context("display.max_columns", 4):  # what the user has set is kept
        assert "..." in repr(table)
    table["loss"] = 0.0
    assert (l0path.fit(X, Y, max_k=2).table["loss"] > 0).all()
