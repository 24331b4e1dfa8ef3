"""What docs/responses.md and docs/survival.md say is served beside `fit` for several responses,
several and ordered classes, and survival times; what is refused, by name.
"""

import numpy as np
import pandas as pd
import pytest
from recomputed import objective_of

import l0path

N, TRUE = 90, ["a", "b"]
KINDS = {
    "several": {},
    "binary": {"loss": "logistic", "lambda2": 1e-3},
    "counts": {"loss": "poisson"},
    "multinomial": {"loss": "multinomial", "lambda2": 1e-3},
    "ordinal": {"loss": "ordinal"},
    "cox": {"loss": "cox"},
}


def drawn(kind):
    """(X with six columns, of which two matter, y)."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(N, 6)), columns=list("abcdef"))
    eta = 2.0 * (X["a"] - 0.8 * X["b"]).to_numpy()
    if kind == "several":
        return X, pd.DataFrame({"u": eta + rng.normal(size=N), "v": X.a - rng.normal(size=N)})
    if kind == "cox":
        return X, np.column_stack([rng.exponential(np.exp(-eta)), rng.uniform(size=N) < 0.7])
    if kind == "binary":
        Y = np.column_stack([eta, X.a + 0.5 * X.b]) + rng.logistic(size=(N, 2)) > 0
        return X, pd.DataFrame(Y, columns=["u", "v"])
    if kind == "counts":
        mean = np.exp(np.column_stack([eta / 2.0, 1.0 + X.a - 0.5 * X.b]))
        return X, pd.DataFrame(rng.poisson(mean), columns=["u", "v"])
    return X, np.digitize(eta + rng.logistic(size=N), [-1.5, 1.5])


def path_of(kind, **more):
    X, y = drawn(kind)
    return l0path.fit(X, y, max_k=3, **KINDS[kind], **more)


@pytest.mark.parametrize("kind", KINDS)
def test_models_are_compared_and_summarized(kind):
    path = path_of(kind)
    table = path.compare([1, 2])
    rows = table.loc["coefficient"]
    values = path.coef(k=2)
    if kind not in ("ordinal", "cox"):
        values = values.stack()
        values.index = [f"{feature}, {response}" for feature, response in values.index]
    assert rows["k = 2"].astype(float).to_dict() == pytest.approx(values.to_dict(), rel=1e-12)
    assert rows["k = 1"].isna().sum() == sum(
        str(name).split(",")[0] == "b" for name in values.index
    )
    X, y = drawn(kind)
    cv = l0path.cv_fit(X, y, max_k=3, cv=3, random_state=0, **KINDS[kind])
    assert "cv_mean" in cv.compare([1, "1se"]).loc["cross-validation"].index
    summary = path.model(k=2).summary()
    assert summary.table.index.tolist() == TRUE
    assert (summary.table.increase_if_dropped > 0).all() and "a" in repr(summary)
    assert ("intercept" in repr(summary)) == (kind not in ("ordinal", "cox"))


@pytest.mark.parametrize("kind", KINDS)
def test_subsamples_and_outer_folds(kind):
    X, y = drawn(kind)
    given = {"max_k": 2, "random_state": 1, **KINDS[kind]}
    found = l0path.stability_selection(X, y, k=2, n_subsamples=4, **given)
    assert set(found.table.sort_values("frequency").index[-2:]) == set(TRUE)
    nested = l0path.nested_cv(X, y, outer=2, cv=2, **given)
    null = l0path.cv_fit(X, y, cv=3, **{**given, "max_k": 0})
    assert 0 < nested.mean < null.scores.cv_mean[0]
    shape = (N,) if kind == "cox" else (N, 3 if kind in ("multinomial", "ordinal") else 2)
    assert nested.held_out.shape == shape and np.isfinite(nested.held_out).all()
    if kind in ("multinomial", "ordinal"):
        np.testing.assert_allclose(nested.held_out.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_pages(kind, tmp_path):
    path_of(kind).explore(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_survival_times_have_no_intercept(tmp_path):
    path = path_of("cox")
    assert path.coef(k=2).index.tolist() == TRUE
    assert "(Intercept)" not in path.coef().index
    assert "(Intercept)" not in path.compare([1, 2]).to_markdown()
    assert "(Intercept)" not in path.model(k=2)._repr_html_()
    path.save(tmp_path / "path.l0")
    assert l0path.load(tmp_path / "path.l0").coef(k=2).index.tolist() == TRUE


@pytest.mark.parametrize("kind", ["several", "binary", "counts", "multinomial"])
def test_a_summary_says_what_refits_say(kind):
    X, y = drawn(kind)
    path = l0path.fit(X, y, max_k=3, certify=False, **KINDS[kind])
    table, value = path.model(k=2).summary().table, objective_of(path, k=2)

    def refitted(columns):
        only = l0path.fit(X[columns], y, always_include=columns, max_k=0, **KINDS[kind])
        return objective_of(only, k=0)

    for out, kept in (("a", "b"), ("b", "a")):
        assert table.increase_if_dropped[out] == pytest.approx(refitted([kept]) - value, rel=1e-6)
        every = {j: refitted(sorted([kept, j])) - value for j in "cdef"}
        assert table.best_exchange[out] == min(every, key=every.get)
        assert table.exchange_change[out] == pytest.approx(min(every.values()), rel=1e-6)
    near = path.model(k=2).alternatives(n=3)
    assert near.objective.is_monotonic_increasing and (near.objective > value).all()
    one = near.iloc[0]
    assert one.objective == pytest.approx(refitted(sorted({*TRUE, one.added} - {one.dropped})))


def test_a_class_that_a_fold_lacks_leaves_the_auc_open():
    X, y = drawn("multinomial")
    folds = np.arange(N) % 3
    y = np.where((y == 2) & (folds == 1), 1, y)
    cv = l0path.cv_fit(X, y, max_k=2, cv=folds, **KINDS["multinomial"])
    with pytest.warns(UserWarning, match="auc is NaN.*every class"):
        found = cv.metrics()
    assert found.auc.isna().all() and np.isfinite(found.misclassification).all()
    with pytest.raises(ValueError, match="every class"):
        cv.metrics(["auc"])


def test_a_class_that_training_rows_lack_is_named():
    X, y = drawn("ordinal")
    y = np.where(y == 2, 1, y)
    y[:2] = 2
    with pytest.raises(ValueError, match="none of the class 2"):
        l0path.nested_cv(X, y, loss="ordinal", outer=np.arange(N) // 30, cv=3, max_k=1)


def test_what_is_not_served_is_refused_by_name():
    with pytest.raises(ValueError, match="ordinal"):
        path_of("ordinal", certify=False).model(k=2).to_sklearn()
