"""Sample splitting with several responses and several classes: each column is tested for each."""

import warnings

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.inference import held_out

ONE = {"k": 2, "n_splits": 1, "random_state": 3, "n_jobs": 1}


def drawn(n=80):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    return X, X.a - X.b + rng.normal(size=n), rng


@pytest.mark.parametrize("splits", [1, 7])
def test_a_response_twice_has_the_tests_of_one_times_two(splits):
    X, y, rng = drawn()
    given = {**ONE, "n_splits": splits, "sample_weight": rng.integers(1, 3, 80)}
    one = l0path.split_inference(X, y, **given)
    both = l0path.split_inference(X, pd.DataFrame({"u": y, "v": 10.0 * y}), **given)
    assert both.index.names == ["feature", "response"] and len(both) == 10
    for name, scale in (("u", 1.0), ("v", 10.0)):
        part = both.xs(name, level="response")
        np.testing.assert_allclose(part.selected, one.selected)
        np.testing.assert_allclose(part.p_value, np.minimum(1.0, 2.0 * one.p_value), rtol=1e-8)
        for end in ("ci_low", "ci_high"):
            np.testing.assert_allclose(part[end], scale * one[end], rtol=1e-8)
    assert one.p_value[["a", "b"]].max() < 0.05


def test_two_classes_have_the_tests_of_the_logistic_loss():
    X, y, _ = drawn()
    labels = np.where(y > 0, "yes", "no")
    one = l0path.split_inference(X, labels, loss="logistic", pos_label="no", **ONE)
    many = l0path.split_inference(X, labels, loss="multinomial", **ONE)
    assert many.index.tolist() == [(name, "yes") for name in "abcde"]
    np.testing.assert_allclose(many.p_value, one.p_value, rtol=1e-4)
    np.testing.assert_allclose(many.ci_low, -one.ci_high, rtol=1e-4)
    assert one.p_value[["a", "b"]].max() < 0.05


def test_three_classes_are_compared_with_the_first():
    import statsmodels.api as sm

    X, y, _ = drawn(120)
    codes = np.digitize(y, [-0.7, 0.7])
    given = {**ONE, "always_include": ["a", "b"], "k": 1, "fraction": 0.4}
    table = l0path.split_inference(X, codes, loss="multinomial", **given)
    assert table.index.names == ["feature", "class"] and len(table) == 10
    whole = sm.MNLogit(codes, sm.add_constant(X[["a", "b"]])).fit(disp=0).params.iloc[1:]
    for name in ("a", "b"):
        part = table.loc[name]
        assert (part.selected == 1.0).all()
        middle = part[["ci_low", "ci_high"]].mean(axis=1).to_numpy()
        np.testing.assert_allclose(middle, whole.loc[name].to_numpy(), rtol=0.8)
        assert part.p_value["2"] < 0.01


def test_classes_that_the_columns_separate_say_nothing():
    X, y, _ = drawn(60)
    X["a"] = y + 3.0 * np.sign(y)
    codes = np.digitize(X["a"], [-3.0, 3.5])
    with pytest.warns(l0path.errors.SeparationWarning, match="held-out"):
        table = l0path.split_inference(X, codes, loss="multinomial", lambda2=0.1, **ONE)
    assert (table.p_value == 1.0).all() and np.isinf(table.ci_low).all()


def test_what_the_test_of_classes_does_not_take_is_refused():
    X, y, _ = drawn()
    given = {"offset": np.ones(80), "loss": "multinomial", **ONE}
    with pytest.raises(ValueError, match=r"offset=.*leave that out"):
        l0path.split_inference(X, np.digitize(y, [-1, 1]), **given)


def test_weights_that_statsmodels_does_not_take_are_refused_before_anything_is_fitted(monkeypatch):
    monkeypatch.setattr("l0path.inference.splitting.run", None)
    X = np.random.default_rng(90020).normal(size=(30, 3))
    y, weights = np.arange(30) % 5, np.linspace(0.5, 2, 30)
    with pytest.raises(ValueError, match="RLM, which takes no sample_weight="):
        l0path.split_inference(X, y, loss="huber", sample_weight=weights, k=1)


def with_an_empty_cell(kind, n=120):
    """(X, y, arguments of `fit`): column 2 is 1 in six observations that it tells apart."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((n, 3))
    eta, fit = X[:, 0] - 0.8 * X[:, 1], {"loss": kind}
    if kind == "cox":
        events = rng.random(n) < 0.6
        y, cell = np.column_stack([rng.exponential(np.exp(-eta)), events]), ~events
    elif kind == "poisson":
        y = rng.poisson(np.exp(0.7 * eta))
        cell = y == 0
    elif kind == "binomial":
        fit["trials"] = rng.integers(1, 5, n)
        y = rng.binomial(fit["trials"], 1.0 / (1.0 + np.exp(-eta))) / fit["trials"]
        cell = y == 1.0
    else:
        y = np.digitize(eta + rng.logistic(size=n), [0.0] if kind == "logistic" else [-1.0, 1.0])
        cell = y == 1 + (kind != "logistic")
        y = pd.Series(pd.Categorical(y, ordered=True)) if kind == "ordinal" else y
    X[:, 2] = 0.0
    X[np.flatnonzero(cell)[:6], 2] = 1.0
    return X, y, {"freq_weight": rng.integers(1, 4, n).astype(float), **fit}


@pytest.mark.parametrize(
    "kind", ["logistic", "multinomial", "ordinal", "cox", "poisson", "binomial"]
)
def test_separation_leaves_the_tests_of_what_is_estimable(kind):
    """They are those of the rows that stay, without the column that separates."""
    X, y, fit = with_an_empty_cell(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", l0path.errors.SeparationWarning)
        path = l0path.fit(X, y, always_include=[0, 1, 2], **fit)
    data = path._source.data
    found = held_out.tested(path, path.solutions[0], data, data.weights)
    stay = X[:, 2] == 0.0
    part = {name: value if name == "loss" else value[stay] for name, value in fit.items()}
    rest = l0path.fit(X[stay][:, :2], y[stay], always_include=[0, 1], **part)
    data = rest._source.data
    want = held_out.tested(rest, rest.solutions[0], data, data.weights)
    assert found.separated and not want.separated and found.freedom == want.freedom
    m = want.estimate.size
    assert m == (4 if kind == "multinomial" else 2)
    assert found.estimate[:m] == pytest.approx(want.estimate, rel=1e-5)
    assert found.error[:m] == pytest.approx(want.error, rel=1e-4)
    assert found.p_value[:m] == pytest.approx(want.p_value, rel=1e-2)
    assert np.isnan(found.estimate[m:]).all() and np.isnan(found.p_value[m:]).all()
