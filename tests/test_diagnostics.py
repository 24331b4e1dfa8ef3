"""support_recovery against numbers worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path import simulate
from l0path.diagnostics import support_recovery

BETA = np.array([3.0, 0.0, 4.0, 0.0, 0.0])
# one model per row here: nothing; column 2; the truth; columns 0, 2, 4 with errors; columns 1 and 3
# only; everything
MODELS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 4.0, 0.0, 0.0],
        [3.0, 0.0, 4.0, 0.0, 0.0],
        [3.0, 0.0, 1.0, 0.0, 4.0],
        [0.0, 1.0, 0.0, -1.0, 0.0],
        [3.0, 1.0, 4.0, 1.0, 1.0],
    ]
).T
EXPECTED = pd.DataFrame(
    {
        "k": [0, 1, 2, 3, 2, 5],
        "true_positives": [0, 1, 2, 2, 0, 2],
        "false_positives": [0, 0, 0, 1, 2, 3],
        "precision": [1.0, 1.0, 1.0, 2 / 3, 0.0, 0.4],
        "recall": [0.0, 0.5, 1.0, 1.0, 0.0, 1.0],
        "f1": [0.0, 2 / 3, 1.0, 0.8, 0.0, 4 / 7],
        "exact": [False, False, True, False, False, False],
        "estimation_error": [1.0, 3 / 5, 0.0, 5 / 5, np.sqrt(27) / 5, np.sqrt(3) / 5],
    }
)


class FakePath(l0path.Path):
    """What the function reads of a path, with row labels that are not positions."""

    table, _meta = None, SimpleNamespace(first_names=["(Intercept)"])

    def __init__(self, coefficients, labels):
        self.coefficients, self.labels = coefficients, labels
        sizes = (coefficients != 0).sum(axis=0)
        self.table = pd.DataFrame({"k": sizes, "loss": 0.0}, index=pd.Index(labels, name="index"))

    def coef(self, *, index, full):
        assert full
        values = np.r_[17.0, self.coefficients[:, self.labels.index(index)]]
        return pd.Series(values, index=["(Intercept)", *(f"x{j}" for j in range(values.size - 1))])


def test_numbers_by_hand():
    pd.testing.assert_frame_equal(support_recovery(MODELS, BETA), EXPECTED, check_index_type=False)


def test_path_keeps_its_labels_and_drops_the_intercept():
    labels = [2, 3, 5, 8, 13, 21]
    got = support_recovery(FakePath(MODELS, labels), BETA)
    assert got.index.name == "index" and got.index.tolist() == labels
    pd.testing.assert_frame_equal(got.reset_index(drop=True), EXPECTED)


def test_k_of_a_path_is_that_of_its_table():
    path = FakePath(MODELS[:, :2], [0, 1])
    path.table["k"] = [0, 2]  # a size whose best model has fewer nonzeros
    assert support_recovery(path, BETA)["k"].tolist() == [0, 2]


def test_frame_series_and_vector():
    frame = pd.DataFrame(MODELS, index=list("abcde"), columns=[f"m{i}" for i in range(6)])
    got = support_recovery(frame, pd.Series(BETA, index=list("abcde")))
    assert got.index.tolist() == list(frame.columns)
    pd.testing.assert_frame_equal(got.reset_index(drop=True), EXPECTED)
    one = support_recovery(frame["m3"], BETA)
    pd.testing.assert_frame_equal(
        one.reset_index(drop=True), EXPECTED.iloc[[3]].reset_index(drop=True)
    )
    assert len(support_recovery(BETA, BETA)) == 1


@pytest.mark.parametrize(
    "truth",
    [
        [0, 2],
        np.array([2, 0], dtype=np.uint8),
        np.array([True, False, True, False, False]),
        pd.Index([0, 2]),
    ],
)
def test_truth_as_indices_or_mask_has_no_estimation_error(truth):
    got = support_recovery(MODELS, truth)
    assert got["estimation_error"].isna().all()
    pd.testing.assert_frame_equal(
        got.drop(columns="estimation_error"),
        EXPECTED.drop(columns="estimation_error"),
        check_index_type=False,
    )


def test_truth_as_simulation():
    sim = simulate.linear(30, 6, 2, beta=[1.0, -2.0], snr=np.inf, random_state=0)
    fitted = np.linalg.lstsq(sim.X, sim.y, rcond=None)[0]
    fitted[abs(fitted) < 1e-9] = 0.0
    row = support_recovery(np.column_stack([fitted, 2 * fitted]), sim)
    assert row["exact"].all()
    np.testing.assert_allclose(row["estimation_error"], [0.0, 1.0], atol=1e-12)
    logistic = simulate.logistic(10, 4, 1, scale=3.0, random_state=0)
    assert support_recovery(logistic.beta, logistic).loc[0, "estimation_error"] == 0.0


def test_shares_of_nothing():
    got = support_recovery(MODELS[:, [0, 1]], [])
    assert got["recall"].tolist() == [1.0, 1.0] and got["precision"].tolist() == [1.0, 0.0]
    assert got["f1"].tolist() == [1.0, 0.0] and got["exact"].tolist() == [True, False]
    assert support_recovery(MODELS[:, [0, 1]], np.zeros(5))["estimation_error"].tolist() == [
        0.0,
        np.inf,
    ]


def test_truth_by_names_is_that_by_indices():
    expected = support_recovery(MODELS, [0, 2])
    frame = pd.DataFrame(MODELS, index=[*"abcde"])
    for names in (["a", "c"], pd.Index(["c", "a"]), np.array(["a", "c"])):
        pd.testing.assert_frame_equal(
            support_recovery(frame, names), expected, check_index_type=False
        )
    sim = simulate.linear(60, 6, 2, random_state=0)
    X = pd.DataFrame(sim.X, columns=[*"uvwxyz"])
    path, true = l0path.fit(X, sim.y, max_k=3), np.flatnonzero(sim.beta)
    by_names = support_recovery(path, X.columns[true])
    pd.testing.assert_frame_equal(by_names, support_recovery(path, true))


def test_inputs_are_not_changed():
    models, truth = MODELS.copy(), BETA.copy()
    support_recovery(models, truth)
    np.testing.assert_array_equal(models, MODELS)
    np.testing.assert_array_equal(truth, BETA)


@pytest.mark.parametrize(
    "error, words, models, truth",
    [
        (ValueError, "4 values but the models have 5", MODELS, BETA[:4]),
        (ValueError, "feature indices must be integers", MODELS, np.array([0.0, 2.0])),
        (ValueError, "a mask needs", MODELS, np.array([True, False])),
        (ValueError, "features 0 to 4", MODELS, [0, 5]),
        (ValueError, "features 0 to 4", MODELS, [-1, 2]),
        (ValueError, "write coefficients as floats", MODELS, [3, 0, 4, 0, 0]),
        (TypeError, "the models have none", MODELS, ["a", "b"]),
        (TypeError, "truth has type", MODELS, [0.5j]),
        (ValueError, "the feature 'q'", pd.DataFrame(MODELS, index=[*"abcde"]), ["a", "q"]),
        (ValueError, "repeats a feature", pd.DataFrame(MODELS, index=[*"abcde"]), ["a", "a"]),
        (ValueError, r"truth has shape \(1, 5\)", MODELS, BETA[None, :]),
        (ValueError, "not finite", MODELS, BETA * np.nan),
        (ValueError, "hold NaN", MODELS * np.nan, BETA),
        (ValueError, r"shape \(1, 5, 6\)", MODELS[None], BETA),
        (ValueError, "no model", MODELS[:, :0], BETA),
        (TypeError, "expected a path or coefficients", object(), BETA),
        (
            ValueError,
            "pass the path itself",
            pd.DataFrame(MODELS, index=["(Intercept)", *"abcd"]),
            BETA,
        ),
    ],
)
def test_errors(error, words, models, truth):
    with pytest.raises(error, match=words):
        support_recovery(models, truth)
