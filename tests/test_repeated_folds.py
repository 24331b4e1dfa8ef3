"""Standard errors of repeated folds: repeats cut the same rows anew and add no data."""

import numpy as np
import pandas as pd
import pytest
from lazy import lazy

import l0path
from l0path.cross_validation.splits import repeats_of, spread

model_selection = lazy("sklearn.model_selection")


def sample(seed=0, n=60, p=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 1] - 0.3 * X[:, 4] + 0.2 * X[:, 6] + rng.standard_normal(n)


def by_hand(scores, folds):
    """cv_sd, cv_se of scores (models, folds) of consecutive repeats of `folds` folds, by loops."""
    sd, se = [], []
    for row in np.asarray(scores):
        squares = [
            sum((v - np.mean(part)) ** 2 for v in part) / (folds - 1)
            for part in (row[i : i + folds] for i in range(0, row.size, folds))
        ]
        sd.append(np.sqrt(np.mean(squares)))
        se.append(np.sqrt(np.mean([s / folds for s in squares])))
    return sd, se


def test_cv_se_is_that_of_one_cut_whatever_the_number_of_repeats():
    X, y = sample()
    fit = {"max_k": 5, "random_state": 3, "lambda2": 0}
    one = l0path.cv_fit(X, y, cv=5, **fit)
    np.testing.assert_allclose(one.scores.cv_sd, one.folds.std(axis=1, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(one.scores.cv_se, one.scores.cv_sd / np.sqrt(5), rtol=1e-12)
    many = l0path.cv_fit(X, y, cv=5, n_repeats=8, **fit)
    assert many._repeats.tolist() == np.repeat(np.arange(8), 5).tolist()
    sd, se = by_hand(many.folds, 5)
    np.testing.assert_allclose(many.scores.cv_sd, sd, rtol=1e-12)
    np.testing.assert_allclose(many.scores.cv_se, se, rtol=1e-12)
    splitter = model_selection.RepeatedKFold(n_splits=5, n_repeats=3, random_state=0)
    theirs = l0path.cv_fit(X, y, cv=splitter, **fit)
    np.testing.assert_allclose(theirs.scores.cv_se, by_hand(theirs.folds, 5)[1], rtol=1e-12)


@pytest.mark.parametrize("repeats", [(1, 6), pytest.param((1, 10, 40), marks=pytest.mark.slow)])
def test_one_standard_error_does_not_turn_into_the_best_score(repeats):
    X, y = sample()
    chosen = [
        (cv.model("min").k, cv.model("1se").k)
        for cv in (
            l0path.cv_fit(X, y, cv=10, n_repeats=r, max_k=8, random_state=0) for r in repeats
        )
    ]
    assert all(se < best for best, se in chosen), chosen


def test_which_folds_make_a_repeat():
    def rows(*tests):
        return repeats_of([(np.empty(0, np.int64), np.array(test)) for test in tests]).tolist()

    assert rows([0, 1], [2], [1], [0, 2], [2, 1], [0]) == [0, 0, 1, 1, 2, 2]
    assert rows([0, 1], [2], [3]) == [0, 0, 0]
    assert rows([0, 1], [2], [1], [2]) == [0, 0, 0, 0]  # the second would leave row 0 out
    assert rows([0, 1], [1, 2], [0, 2]) == [0, 0, 0]  # random subsets
    assert rows([0, 1], [0, 1], [0, 1]) == [0, 0, 0]  # one hold-out set, three training sets


def test_repeats_that_are_not_complete():
    scores = np.array([[1.0, 3.0, 2.0, 5.0, 4.0]])
    sd, se = spread(scores, np.array([0, 0, 0, 1, 1]))
    np.testing.assert_allclose(sd, np.sqrt((1.0 + 0.5) / 2))
    np.testing.assert_allclose(se, np.sqrt((1.0 / 3 + 0.5 / 2) / 2))
    np.testing.assert_allclose(spread(scores, np.array([0, 0, 0, 1, 2]))[1], np.sqrt(1.0 / 3))
    assert np.isnan(spread(scores, np.arange(5))).all()


def test_nested_scores_of_repeated_outer_folds():
    X, y = sample()
    fit = {"cv": 3, "max_k": 3, "random_state": 1}
    nested = l0path.nested_cv(X, y, outer=4, n_repeats=3, **fit)
    sd, se = by_hand([nested.table["score"]], 4)
    np.testing.assert_allclose([nested.sd, nested.se], [sd[0], se[0]], rtol=1e-12)
    once = l0path.nested_cv(X, y, outer=4, **fit)
    assert once.sd == pytest.approx(once.table["score"].std(ddof=1), rel=1e-12)
    assert once.se == pytest.approx(once.sd / 2, rel=1e-12)


def test_the_rule_for_a_grid_search_knows_repeats():
    scores = np.random.default_rng(0).normal(size=(12, 4)) + np.array([0.0, 1.3, 1.55, 1.6])
    results = {"param_k": [0, 1, 2, 3], "mean_test_score": scores.mean(axis=0)}
    results |= {f"split{i}_test_score": row for i, row in enumerate(scores)}
    _, se = by_hand(scores.T, 4)
    mean = scores.mean(axis=0)
    near = np.flatnonzero(mean >= mean.max() - se[int(mean.argmax())])
    rule = l0path.one_standard_error("k", n_repeats=3)
    assert rule(pd.DataFrame(results)) == near[0] < l0path.one_standard_error("k")(results)
    with pytest.raises(ValueError, match="n_repeats=5 does not divide the 12 splits"):
        l0path.one_standard_error("k", n_repeats=5)(results)
    with pytest.raises(ValueError, match="n_repeats=0 must be a whole number"):
        l0path.one_standard_error("k", n_repeats=0)
