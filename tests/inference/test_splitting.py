"""Sample splitting: aggregated p-values by hand, refits of statsmodels on the rows left out."""

import math

import numpy as np
import pandas as pd
import pytest
from inference_samples import sample
from lazy import lazy

import l0path
from l0path.inference import aggregate_p_values
from l0path.inference.held_out import Split, identified
from l0path.inference.rows import draw, resolve
from l0path.inference.splitting import combine

sm = lazy("statsmodels.api")


stats = lazy("scipy.stats")


# -------------------- sample splitting


def test_aggregated_p_values_by_hand():
    p = np.array(
        [[0.001, 1.0], [0.002, 0.01], [0.04, 1.0], [1.0, 1.0]]
    )  # B = 4: gamma = m / 4, m >= 1
    c = 1 - math.log(0.05)
    np.testing.assert_allclose(
        aggregate_p_values(p),
        [c * min(0.001 * 4, 0.002 * 2, 0.04 * 4 / 3, 1.0), c * 0.04],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        aggregate_p_values(p, 0.5), [(1 - math.log(0.5)) * 0.004, 1.0], rtol=1e-12
    )  # at least two splits must agree
    np.testing.assert_array_equal(aggregate_p_values(p[:1]), p[0])


@pytest.mark.parametrize(
    "loss, family", [("squared", None), ("logistic", "Binomial"), ("poisson", "Poisson")]
)
def test_single_split_is_statsmodels_on_the_rows_left_out(loss, family):
    model = family and getattr(sm.families, family)()
    X, y = sample(160, loss=loss)
    weights = 1.0 + np.arange(160) % 3 if loss == "squared" else np.ones(160)
    table = l0path.split_inference(
        pd.DataFrame(X),
        y,
        n_splits=1,
        k=3,
        loss=loss,
        random_state=7,
        level=0.9,
        freq_weight=weights,
    )
    (train,) = draw(
        resolve(X, y, {"loss": loss}).request.data,
        0.5,
        np.random.default_rng(np.random.SeedSequence(7).spawn(1)[0]),
    )
    held = np.setdiff1d(np.arange(160), train)
    S = l0path.fit(X[train], y[train], loss=loss, max_k=3, freq_weight=weights[train]).support(k=3)
    rows = np.repeat(held, weights[held].astype(int))
    A, b = (
        sm.add_constant(X[rows][:, S]),
        (y[rows] == "yes").astype(float) if loss == "logistic" else y[rows],
    )
    results = sm.OLS(b, A).fit() if model is None else sm.GLM(b, A, family=model).fit(tol=1e-12)
    np.testing.assert_allclose(
        table.p_value.iloc[S], np.minimum(1, 3 * results.pvalues[1:]), rtol=1e-6
    )
    np.testing.assert_allclose(
        table[["ci_low", "ci_high"]].iloc[S], results.conf_int(0.1)[1:], rtol=1e-5
    )
    others = table.drop(index=table.index[S])
    assert (
        (others.p_value == 1).all()
        and (others.selected == 0).all()
        and np.isneginf(others.ci_low).all()
        and np.isposinf(others.ci_high).all()
    )
    assert (table.selected.iloc[S] == 1).all() and "single split" in table.attrs["method"]


def test_intervals_hold_what_the_aggregated_test_does_not_reject():
    rng = np.random.default_rng(0)
    splits = [
        Split(
            np.array([0, 2]) if b % 3 else np.array([2]),
            *(
                v[: 2 if b % 3 else 1]
                for v in (rng.normal(1, 0.3, 2), np.array([0.4, 0.5]), np.array([0.01, 0.2]))
            ),
            20.0,
        )
        for b in range(12)
    ]
    table = combine(splits, ["a", "b", "c"], 0.9)

    def p_value(column, value):
        p = [
            1.0
            if column not in s.support
            else 2
            * stats.t.sf(
                abs(s.estimate[list(s.support).index(column)] - value)
                / s.error[list(s.support).index(column)],
                20,
            )
            for s in splits
        ]
        return aggregate_p_values(np.array(p)[:, None])[0]

    for column, name in ((0, "a"), (2, "c")):
        low, high = table.loc[name, ["ci_low", "ci_high"]]
        assert np.isfinite([low, high]).all()
        assert p_value(column, low - 1e-6) <= 0.1 < p_value(column, low + 1e-6)
        assert p_value(column, high + 1e-6) <= 0.1 < p_value(column, high - 1e-6)
    assert table.loc["b"].tolist() == [0.0, 1.0, -math.inf, math.inf]
    assert table.loc["a", "selected"] == pytest.approx(8 / 12)


def test_coefficients_that_held_out_rows_do_not_identify_say_nothing():
    A = np.column_stack([np.ones(6), np.arange(6), 2 * np.arange(6), [1, 0, 2, 5, 1, 1]])
    assert identified(A).tolist() == [True, False, False, True]
    X, y = sample()
    X[:, 0] = 0
    X[5, 0] = 1.0  # nonzero in one row: constant wherever that row is not
    y = y + 50 * X[:, 0]
    table = l0path.split_inference(X, y, k=3, n_splits=6, random_state=0)
    assert (
        table.p_value.iloc[0] == 1
        and np.isinf(table.ci_low.iloc[0])
        and 0 < table.selected.iloc[0] < 1
    )
    assert table.p_value.iloc[1] < 1e-4


def test_multi_split_finds_the_columns_and_keeps_the_intervals_around_them():
    X, y = sample(200)
    for fit in (
        {},
        {"rule": lambda path: path.select(k=3)},
        {"always_include": [0]},
        {"groups": [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]},
        {"loss": "huber", "k": 2},
    ):
        table = l0path.split_inference(X, y, n_splits=8, random_state=1, **fit)
        assert table.index[table.p_value < 0.01].tolist() == ["x1", "x4"]
        assert (
            table.ci_low["x1"] < 1.5 < table.ci_high["x1"]
            and table.ci_low["x4"] < -1 < table.ci_high["x4"]
        )
        assert table.selected["x0"] == (1.0 if "always_include" in fit else table.selected["x0"])
