"""Counts of successes in numbers of trials."""

import numpy as np
import pandas as pd
import pytest
from family_samples import counted

import l0path


def test_counts_of_successes_are_a_row_for_each_trial():
    X, Y, offset = counted()
    trials = Y.sum(axis=1)
    path = l0path.fit(X, Y, loss="binomial", max_k=3, offset=offset)
    twice = l0path.fit(
        np.vstack([X, X]), np.repeat([1, 0], 90), loss="logistic", max_k=3,
        offset=np.append(offset, offset), freq_weight=Y.T.ravel(),
    )  # fmt: skip
    np.testing.assert_allclose(path.details.objective, twice.details.objective, rtol=1e-10)
    share = np.where(trials > 0, Y[:, 0] / np.maximum(trials, 1), 0.5)
    same = l0path.fit(X, share, loss="binomial", trials=trials, max_k=3, offset=offset)
    assert same.details.objective.tolist() == path.details.objective.tolist()
    assert path._meta.n_eff == (trials > 0).sum()


def test_binomial_likelihoods_and_refits_are_those_of_statsmodels(tmp_path):
    import statsmodels.api as sm

    X, Y, offset = counted()
    seen = Y.sum(axis=1) > 0
    path = l0path.fit(X, Y, loss="binomial", max_k=2, offset=offset)
    A = sm.add_constant(X[seen][:, path.support(k=2)])
    found = sm.GLM(Y[seen], A, family=sm.families.Binomial(), offset=offset[seen]).fit(tol=1e-13)
    row = path.score_table().iloc[2]
    assert row.loglik == pytest.approx(found.llf, rel=1e-10)
    assert row.bic == pytest.approx(3 * np.log(seen.sum()) - 2 * found.llf)
    for again in (path.model(k=2).refit(), path.model(k=2).refit(X=X, y=Y, offset=offset)):
        np.testing.assert_allclose(again.params, found.params, rtol=1e-6)
        np.testing.assert_allclose(again.bse, found.bse, rtol=1e-6)
        assert again.llf == pytest.approx(found.llf, rel=1e-10)
        assert again.aic == pytest.approx(row.aic, rel=1e-10)
    weights = np.where(X[:, 1] > 0, 1.5, 0.5)  # beside the trials
    twice = l0path.fit(X, Y, loss="binomial", max_k=1, sample_weight=weights)
    assert twice.model(k=1).refit().llf == pytest.approx(twice.score_table().loglik[1], rel=1e-10)
    deviance = path.model(k=2).score(X, Y, offset=offset)["deviance"]
    assert deviance == pytest.approx(found.deviance / Y.sum(), rel=1e-9)
    path.save(tmp_path / "path.npz")
    assert l0path.load(tmp_path / "path.npz").score_table().equals(path.score_table())


def test_counts_of_a_formula_are_scored_and_refitted_from_its_table():
    X, Y, _ = counted()
    data = pd.DataFrame({"a": X[:, 1], "b": X[:, 4], "yes": Y[:, 0], "no": Y[:, 1]})
    path = l0path.fit("yes + no ~ a + b", data, loss="binomial", max_k=1)
    assert path.model(k=1).refit(X=data).llf == pytest.approx(
        path.model(k=1).refit().llf, rel=1e-12
    )
    assert path.model(k=1).score(data).equals(path.model(k=1).score(data, Y))


def test_binomial_folds_and_names():
    X, Y, _ = counted()
    cv = l0path.cv_fit(X, Y, loss="binomial", max_k=3, cv=3, random_state=0)
    assert set(cv.model("min").support) >= {1, 4}
    classes = np.where(X[:, 0] + 0.5 * X[:, 3] > 0, "b", "a")
    path = l0path.fit(X, classes, loss="binomial", max_k=1, lambda2=0.1)  # glmnet's name
    assert path.loss.name == "logistic" and path.classes == ("a", "b")
    with pytest.raises(ValueError, match="loss='binomial'"):
        l0path.fit(X, Y, loss="logistic", max_k=1)
    with pytest.raises(ValueError, match="negative"):
        l0path.fit(X, -Y, loss="binomial", max_k=1)
    with pytest.raises(ValueError, match="no finite intercept"):
        l0path.fit(X, np.column_stack([np.ones(90), np.zeros(90)]), loss="binomial", max_k=1)


def test_a_column_that_fills_shares_is_named():
    X, Y, _ = counted()
    X[:, 0] = 0.0
    X[:3, 0] = 1.0
    Y[:3] = [[5, 0], [4, 0], [6, 0]]
    with pytest.warns(l0path.errors.SeparationWarning, match="x0"):
        path = l0path.fit(X, Y, loss="binomial", max_k=1, always_include=["x0"])
    assert path._solutions[0].separated
