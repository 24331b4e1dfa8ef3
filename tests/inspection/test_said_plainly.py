"""What certificates, summaries, scores and notes say in the cases that people meet first."""

import numpy as np
import pandas as pd
import pytest

import l0path


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    return X, X[:, 0] + 0.5 * X[:, 2] + rng.normal(size=60)


def rss_of(X, y, support):
    Z = np.column_stack([np.ones(len(y)), X[:, support]])
    return ((y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]) ** 2).sum()


def test_all_models_of_one_of_many_columns_are_compared():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 401)) + rng.normal(size=(60, 1))
    y = X[:, 7] + 0.5 * rng.normal(size=60)
    near = l0path.fit(X, y, max_k=2).near_best(k=1, within=0.2)
    every = np.array([rss_of(X, y, [j]) / 120 for j in range(401)])
    wanted = np.flatnonzero(every <= 1.2 * every.min())
    assert near.complete and sorted(m.support[0] for m in near) == wanted.tolist()
    np.testing.assert_allclose(near.scores, np.sort(every[wanted]), rtol=1e-9)
    with pytest.raises(ValueError, match=r"at most 10,000,000 models.*model\.alternatives"):
        l0path.fit(X, y, max_k=2).near_best(k=4)


def test_a_certificate_lists_its_best_models(data):
    proof = l0path.fit(*data).certify(k=2, n_best=3)
    text = repr(proof)
    for i, model in enumerate(proof.best, 1):
        assert f"{i}. objective {model.objective:.6g}: {', '.join(model.features)}" in text
    assert proof.best[0].optimality == "global" and "1. objective" not in repr(
        l0path.fit(*data).certify(k=2)
    )


def test_the_root_of_the_mean_squared_error_is_a_score(data):
    X, y = data
    same = {"cv": 4, "random_state": 0, "max_k": 2}
    root = l0path.cv_fit(X, y, scoring="rmse", **same)
    square = l0path.cv_fit(X, y, scoring="mse", **same)
    folds = np.sqrt(square.folds.to_numpy(dtype=float))
    np.testing.assert_allclose(root.folds.to_numpy(dtype=float), folds, rtol=1e-12)
    with pytest.raises(ValueError, match="'rmse' is not known"):
        l0path.cv_fit(X, y > 0, loss="logistic", scoring="rmse", **same)


def test_a_formula_of_single_columns_has_one_table(data):
    X, y = data
    table = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    path = l0path.fit("y ~ a + b + c", table)
    summary = path.model(k=2).summary()
    text, shown = repr(summary), summary.formatted()
    assert [text.count(f"\n{name} ") for name in path.model(k=2).features] == [1, 1]
    assert summary._repr_html_().count("<table") == 1
    coef = path.coef(k=2)
    assert shown["coef"].tolist() == [f"{coef[name]:.4g}" for name in shown.index]
    table["g"] = np.tile(["u", "v", "w"], 20)
    factor = l0path.fit("y ~ a + g", table).model(k=2).summary()
    assert "norm" in repr(factor) and "g[T.v]" in repr(factor)


def test_notes_on_squares_that_underflow_and_on_fractions(data):
    X, y = data
    with_tiny = np.column_stack([X, 1e-300 * X[:, 0]])
    notes = l0path.fit(with_tiny, y, max_k=1).notes
    assert any("too small" in note and note.endswith("x5") for note in notes)
    assert not any("last digits" in note for note in notes)
    counts = np.abs(np.round(3 * y)) + np.where(np.arange(60) < 4, 0.5, 0.0)
    notes = l0path.fit(X, counts, loss="negative_binomial", max_k=1).notes
    assert any("4 counts of y are no whole numbers" in note for note in notes)
