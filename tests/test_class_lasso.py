"""lambda1 of several classes: enumeration with a slow solver, the conditions of optimality, and
what results say.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from class_lasso import least, slopes, standardized, violation
from class_samples import classes_drawn as drawn
from recomputed import objective_of
from thinning import slow_but

import l0path
from l0path.problem.several import centered

SHRUNK = [(0.003, 0.0), (0.02, 0.01), (0.06, 0.0), (0.01, 0.1)]


def problem(seed, p=5):
    """(X, y, weights, offset, arguments of `fit`): a copy, a combination or a constant among the
    columns, three or four classes, and by turns weights, some of them 0, and offsets.
    """
    X, y, rng = drawn(seed, p=p)
    given, w, offset = {}, np.ones(len(y)), 0.0
    if seed % 4 == 2:
        X[:, 4] = X[:, 0] + X[:, 1]
    if seed % 5 == 4:
        y = np.where(X[:, 2] > 0.8, "yew", y)
        y[:4] = ["ash", "elm", "oak", "yew"]
    if seed % 3 == 0:
        w = rng.integers(0, 3, len(y)).astype(float)
        w[:4] = 1.0
        given["sample_weight"] = w
    if seed % 4 == 3:
        offset = given["offset"] = 0.5 * rng.standard_normal((len(y), len(np.unique(y))))
    return X, y, w / w.sum(), offset, given


@pytest.mark.parametrize("seed", slow_but(range(8), range(60)))
def test_every_size_is_the_enumerated_best(seed):
    X, y, w, offset, given = problem(seed)
    lambda1, lambda2 = SHRUNK[seed % 4]
    forced = given["always_include"] = [1] if seed % 7 == 5 else []
    path = l0path.fit(
        X,
        y,
        loss="multinomial",
        lambda1=lambda1,
        lambda2=lambda2,
        max_k=3,
        certify=True,
        **given,
    )
    Z, Y = standardized(X, w), (y[:, None] == np.unique(y)).astype(float)
    free = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) and j not in forced]
    assert path.details.k.tolist() == [0, 1, 2, 3]
    for s in path._solutions:
        supports = [sorted({*S, *forced}) for S in combinations(free, s.k)]
        values = [least(Z[:, S], Y, w, lambda1, lambda2, offset)[0] for S in supports]
        assert s.objective == pytest.approx(min(values), rel=1e-9)
        assert objective_of(path, index=s.k) == pytest.approx(s.objective, rel=1e-12)
        assert not s.lower_bound > min(values) + 1e-9
        center, length = path._meta.center[s.support], path._meta.scale[s.support]
        B, level = s.beta * length[:, None], s.intercept + center @ s.beta
        _, G, g = slopes(Z[:, s.support], Y, w, offset, B, level, lambda2)
        assert violation(G, B, lambda1) < 1e-6 and np.abs(g).max() < 1e-6


@pytest.mark.parametrize("given", [{}, {"standardize": False}, {"fit_intercept": False}])
def test_scales_and_origins(given):
    X, y, w, _, _ = problem(1)
    X = X * [1.0, 3.0, 0.5, 3.0, 2.0] + 1.0
    path = l0path.fit(X, y, loss="multinomial", lambda1=0.02, max_k=2, **given)
    intercept = given.get("fit_intercept", True)
    Z = standardized(X, w, given.get("standardize", True), intercept)
    Y = (y[:, None] == np.unique(y)).astype(float)
    for s in path._solutions:
        values = [
            least(Z[:, S], Y, w, 0.02, intercept=intercept)[0] for S in combinations(range(5), s.k)
        ]
        assert s.objective == pytest.approx(min(values), rel=1e-9)


@pytest.mark.parametrize(("lambda1", "lambda2"), [(0.02, 0.0), (0.02, 0.1), (0.2, 0.01)])
def test_two_classes_are_the_logistic_loss(lambda1, lambda2):
    X, y, _ = drawn(0)
    two = np.where(y == "elm", "elm", "other")
    many = l0path.fit(X, two, loss="multinomial", lambda1=lambda1, lambda2=lambda2)
    one = l0path.fit(X, two, loss="logistic", lambda1=lambda1, lambda2=lambda2 / 2)
    np.testing.assert_allclose(many.details.objective, one.details.objective, rtol=1e-11)
    odds = many.coef(k=3, baseline="elm")["other"]
    np.testing.assert_allclose(odds, one.coef(k=3), rtol=1e-6, atol=1e-9)


def penalty(b, lambda1, lambda2):
    """By rows."""
    return lambda1 * np.abs(b).sum(axis=1) + lambda2 * (b**2).sum(axis=1)


@pytest.mark.parametrize("r", [2, 3, 4, 5, 8])
@pytest.mark.parametrize(("lambda1", "lambda2"), [(0.7, 0.0), (0.7, 0.3), (5.0, 0.1), (0.0, 0.3)])
def test_the_number_common_to_all_classes_has_the_least_penalty(r, lambda1, lambda2):
    b = np.round(np.random.default_rng(r).normal(size=(40, r)), 1)  # some of them equal
    found = centered(b, lambda1, lambda2)
    assert np.ptp(found - b, axis=1).max() < 1e-14
    value = penalty(found, lambda1, lambda2)
    for shift in np.concatenate([-np.logspace(-6, 1, 50), np.logspace(-6, 1, 50)]):
        assert (penalty(found + shift, lambda1, lambda2) >= value - 1e-13).all()
    if not lambda2:  # the limit of small ridges
        np.testing.assert_allclose(found, centered(b, lambda1, 1e-9), atol=1e-7)
        assert r % 2 == 0 or (np.median(found, axis=1) == 0.0).all()
    if not lambda1:
        np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-14)


def test_a_grid_of_lambda1_begins_where_all_coefficients_are_zero():
    X, y, _ = drawn(3)
    same = {"loss": "multinomial", "sample_weight": np.linspace(0.5, 2.0, len(y))}
    path = l0path.fit(X, y, lambda1=l0path.grid(n=4), max_k=2, **same)
    top = max(s.lambda1 for s in path._solutions)
    assert not any(s.n_nonzero for s in path._solutions if s.lambda1 == top)
    near = l0path.fit(X, y, lambda1=0.999 * top, max_k=1, **same)
    assert near._solutions[-1].n_nonzero


@pytest.mark.parametrize("seed", [2, 6])
def test_a_group_keeps_columns_that_others_of_it_explain(seed):
    """No combination counts for nothing under lambda1."""
    X, y, w, offset, given = problem(seed)
    groups = [0, 0, 1, 1, 0]
    path = l0path.fit(X, y, loss="multinomial", lambda1=0.02, groups=groups, max_k=2, **given)
    Z, Y = standardized(X, w), (y[:, None] == np.unique(y)).astype(float)
    for s in path._solutions:
        values = [
            least(Z[:, np.isin(groups, S)], Y, w, 0.02, offset=offset)[0]
            for S in combinations([0, 1], s.k)
        ]
        assert s.objective == pytest.approx(min(values), rel=1e-9)


def test_bounds_count_lambda1():
    """At a shrinkage beyond which no column helps the null model is proven."""
    X, y, _ = drawn(0)
    same = {"loss": "multinomial", "lambda2": 1e-4, "max_k": 2}
    path = l0path.fit(X, y, lambda1=0.5, certify=True, **same)
    np.testing.assert_allclose(path.details.lower_bound, path.details.objective, rtol=1e-9)
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(float)
    several = l0path.fit(X, Y, loss="logistic", lambda1=0.5, lambda2=1e-4, max_k=2, certify=True)
    np.testing.assert_allclose(several.details.lower_bound, several.details.objective, rtol=1e-9)


def test_results_and_files(tmp_path):
    X, y, _ = drawn(0)
    table = pd.DataFrame(X, columns=list("abcde"))
    path = l0path.fit(table, y, loss="multinomial", lambda1=0.02, max_k=3)
    coef = path.coef(k=2)
    assert (coef.iloc[1:].median(axis=1) == 0.0).all() and abs(coef.iloc[0].sum()) < 1e-12
    P, link = path.predict(table, k=2), path.predict(table, k=2, type="link").to_numpy()
    np.testing.assert_allclose(P, np.exp(link) / np.exp(link).sum(axis=1, keepdims=True))
    picked = (P.to_numpy() * (y[:, None] == np.array(P.columns))).sum(axis=1)
    assert path.details.loss[2] == pytest.approx(-np.log(picked).mean())
    free = np.minimum((coef.iloc[1:] != 0.0).sum(axis=1), 2).sum()
    assert path.score_table().df[2] == free + 2
    path.save(tmp_path / "path.l0")
    again = l0path.load(tmp_path / "path.l0")
    assert again.coef(k=2).equals(coef) and again.predict(table, k=2).equals(P)
    summary = path.model(k=2).summary()
    value = objective_of(path, k=2)
    for out, kept in (coef.index[:0:-1], coef.index[1:]):
        only = l0path.fit(
            table[[kept]], y, loss="multinomial", lambda1=0.02, always_include=[kept], max_k=0
        )
        worth = objective_of(only, k=0) - value
        assert summary.table.increase_if_dropped[out] == pytest.approx(worth, rel=1e-6)
    near = path.model(k=2).alternatives(n=2).iloc[0]
    S = sorted({*coef.index[1:], near.added} - {near.dropped})
    own = l0path.fit(table[S], y, loss="multinomial", lambda1=0.02, always_include=S, max_k=0)
    assert near.objective == pytest.approx(objective_of(own, k=0), rel=1e-7)
    assert path.certify(k=2).proven
    assert l0path.L0Classifier(k=2, lambda1=0.02).fit(table, y).coef_.shape == (3, 5)


def test_folds_choose_lambda1_and_mixtures():
    X, y, _ = drawn(3)
    same = {"loss": "multinomial", "lambda1": [0.05, 0.01], "max_k": 2}
    cv = l0path.cv_fit(X, y, cv=3, random_state=0, relax=[0.0, 0.5, 1.0], **same)
    assert cv.scores.cv_mean.notna().all() and set(cv.scores.relax) == {0.0, 0.5, 1.0}
    train, test = cv.splits[0]
    alone = l0path.fit(X[train], y[train], **same)
    at = cv.scores.index[(cv.scores.k == 2) & (cv.scores.lambda1 == 0.01) & (cv.scores.relax == 1)]
    score = alone.model(k=2, lambda1=0.01).score(X[test], y[test])["deviance"]
    assert cv.folds.loc[at[0], 0] == pytest.approx(score)
    plain = l0path.fit(X, y, loss="multinomial", max_k=2)
    mixed = [s for s in cv._solutions if s.k == 2 and s.lambda1 == 0.01]
    half, whole = (next(s for s in mixed if s.relax == g) for g in (0.5, 1.0))
    assert half.support.tolist() == plain.support(k=2).tolist()
    own = 0.5 * whole.beta + 0.5 * plain._solutions[2].beta
    np.testing.assert_allclose(half.beta, own, rtol=1e-6, atol=1e-9)


def test_near_best_refuses_it_by_name():
    X, y, _ = drawn(0)
    same = {"loss": "multinomial", "lambda1": 0.02, "lambda2": 0.02, "max_k": 2}
    with pytest.raises(ValueError, match=r"lambda1=0\.02 shrinks"):
        l0path.fit(X, y, **same).near_best(criterion="bic")
