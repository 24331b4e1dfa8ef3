"""Sample splitting for survival times and ordered classes: p-values of the rows left out as
statsmodels has them, and what is refused.
"""

import numpy as np
import pandas as pd
import pytest
from lazy import lazy

import l0path
from l0path.inference.rows import draw, resolve

PHReg = lazy("statsmodels.duration.hazard_regression", "PHReg")
OrderedModel = lazy("statsmodels.miscmodels.ordinal_model", "OrderedModel")


def drawn(loss, n=120):
    """(X with six columns, of which two matter, y, rows by strata)."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    eta = 1.2 * (X.a - X.b).to_numpy()
    if loss == "ordinal":
        return X, np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0]), None
    life, censored = rng.exponential(np.exp(-eta)), rng.exponential(3.0, n)
    y = np.column_stack([np.minimum(life, censored), life <= censored])
    return X, y, rng.integers(0, 2, n)


def rows_left_out(X, y, how, seed):
    """(rows that choose, rows that test) of a single split."""
    data = resolve(X, y, how).request.data
    child = np.random.SeedSequence(seed).spawn(1)[0]
    (train,) = draw(data, 0.5, np.random.default_rng(child), by_event=True)
    return train, np.setdiff1d(np.arange(len(X)), train)


@pytest.mark.parametrize("loss", ["cox", "ordinal"])
@pytest.mark.parametrize("counts", [False, True])
def test_a_single_split_is_statsmodels_on_the_rows_left_out(loss, counts):
    X, y, strata = drawn(loss)
    weights = 1 + np.arange(len(X)) % 2 if counts else np.ones(len(X), dtype=int)
    how = {"loss": loss if loss == "ordinal" else l0path.losses.Cox(ties="breslow")}
    how |= {"strata": strata} if loss == "cox" else {}
    given = {"k": 2, "n_splits": 1, "random_state": 5, "level": 0.9, **how}
    if counts:
        given["freq_weight"] = weights
    table = l0path.split_inference(X, y, **given)
    train, held = rows_left_out(X, y, how, 5)
    part = {**how, "strata": strata[train]} if loss == "cox" else how
    path = l0path.fit(X.iloc[train], y[train], k=[2], freq_weight=weights[train], **part)
    S, again = path.support(k=2), np.repeat(held, weights[held])
    A = X.to_numpy()[again][:, S]
    if loss == "cox":
        more = {"status": y[again, 1], "ties": "breslow", "strata": strata[again]}
        results = PHReg(y[again, 0], A, **more).fit()
    else:
        labels = pd.Series(pd.Categorical(y[again], ordered=True))
        results = OrderedModel(labels, A, distr="logit").fit(
            method="bfgs", disp=0, gtol=1e-7, maxiter=500
        )
    p_values = np.asarray(results.pvalues)[:2]
    np.testing.assert_allclose(table.p_value.iloc[S], np.minimum(1, 2 * p_values), rtol=2e-3)
    expected = np.asarray(results.conf_int(0.1))[:2]
    np.testing.assert_allclose(table[["ci_low", "ci_high"]].iloc[S], expected, rtol=1e-4)
    assert (table.drop(index=table.index[S]).p_value == 1).all()


@pytest.mark.parametrize("loss", ["cox", "ordinal"])
def test_several_splits_find_what_matters(loss):
    X, y, strata = drawn(loss)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    how = {"loss": loss, "sample_weight": weights, "n_splits": 8, "random_state": 1}
    table = l0path.split_inference(X, y, **how, **({"strata": strata} if loss == "cox" else {}))
    assert (table.p_value < 0.05).tolist() == [True, True] + [False] * 4
    assert table.ci_low["a"] > 0 > table.ci_high["b"] and table.attrs["mean_size"] >= 2


def test_weights_of_rows_give_robust_tests():
    X, y, _ = drawn("cox")
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    given = {"loss": "cox", "sample_weight": weights, "k": 2, "n_splits": 1, "random_state": 5}
    table = l0path.split_inference(X, y, **given)
    train, held = rows_left_out(X, y, {"loss": "cox"}, 5)
    path = l0path.fit(X.iloc[train], y[train], loss="cox", k=[2], sample_weight=weights[train])
    results = path.model(k=2).refit(X=X.iloc[held], y=y[held], sample_weight=weights[held])
    assert results.cov_type == "robust"
    expected = np.minimum(1.0, 2.0 * results.pvalues)
    np.testing.assert_allclose(table.p_value[expected.index], expected, rtol=1e-6)


def test_both_parts_have_events_or_it_is_said():
    X, y, _ = drawn("cox", n=60)
    y[:, 1] = np.arange(60) < 7
    train, held = rows_left_out(X, y, {"loss": "cox"}, 2)
    assert (y[train, 1].sum(), y[held, 1].sum()) == (3, 4)
    table = l0path.split_inference(X, y, loss="cox", k=1, n_splits=2, random_state=0)
    assert table.shape == (6, 4)
    with pytest.raises(ValueError, match="k=2 is more than half of the smaller part of the events"):
        l0path.split_inference(X, y, loss="cox", k=2)
    y[:, 1] = np.arange(60) < 2
    with pytest.raises(ValueError, match="of 2 events leaves too few rows"):
        l0path.split_inference(X, y, loss="cox")
