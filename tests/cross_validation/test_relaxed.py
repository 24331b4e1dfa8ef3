"""Ridges and mixtures of `cv_fit` by default: every number computed anew from its definition, the
rules, the invariances, and the places where a mixture is no optimum.
"""

import itertools
import pickle

import numpy as np
import pytest
from recomputed import objective_of
from thinning import thinned

import l0path
from l0path.engine.grids import RIDGES
from l0path.engine.strategies import columns
from l0path.exchange.local_search import ON_THE_WAY

SHARES = (0.0, 0.5, 1.0)


def squared_data(n=48, p=6, seed=3):
    """(X, y) with columns of different units, and signals of medium strength."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (0.3 + 0.7 * np.eye(p)) * np.geomspace(0.1, 10, p) + 2.0
    return X, X / X.std(axis=0) @ np.array([1, 0, -0.8, 0.5, 0, 0.3]) + rng.standard_normal(n)


def ridge(X, y, w, support, lambda2):
    """(beta, intercept) of least mean squared error / 2 + lambda2 ||s beta||^2 on a support."""
    w = w / w.sum()
    mean, level = w @ X[:, support], w @ y
    Z, r = X[:, support] - mean, y - level
    scale = np.sqrt(w @ Z**2)
    H = Z.T @ (w[:, None] * Z) + 2.0 * lambda2 * np.diag(scale**2)
    beta = np.linalg.solve(H, Z.T @ (w * r)) if support else np.zeros(0)
    return beta, level - mean @ beta


def value(X, y, w, support, beta, level, lambda2):
    """The objective of coefficients on a support."""
    w = w / w.sum()
    Z = X[:, support]
    variance = w @ (Z - w @ Z) ** 2
    return 0.5 * w @ (y - level - Z @ beta) ** 2 + lambda2 * variance @ beta**2


def best_subset(X, y, w, k, lambda2):
    """The support of size k with the least objective, of all."""

    def objective(support):
        return value(X, y, w, list(support), *ridge(X, y, w, list(support), lambda2), lambda2)

    return list(min(itertools.combinations(range(X.shape[1]), k), key=objective))


def mixture(X, y, w, k, lambda2, g):
    """(support, beta, intercept) of a mixture by its definition."""
    support = best_subset(X, y, w, k, lambda2)
    (b, level), (b0, level0) = ridge(X, y, w, support, lambda2), ridge(X, y, w, support, 0.0)
    return support, g * b + (1 - g) * b0, g * level + (1 - g) * level0


def weights_of(kind, n):
    return np.ones(n) if kind == "equal" else np.random.default_rng(8).uniform(0.2, 2.0, n)


@pytest.mark.parametrize("kind", ["equal", "weights"])
def test_models_and_scores_are_those_of_their_definition(kind):
    X, y = squared_data()
    w = weights_of(kind, len(y))
    cv = l0path.cv_fit(X, y, cv=4, max_k=4, random_state=5, sample_weight=w)
    assert sorted(cv.details.lambda2.unique()) == sorted(RIDGES)
    assert len(cv) == 4 * 5 + 3 * 2 * 4  # a model without columns has no mixtures
    for i, s in enumerate(cv._solutions):
        support, beta, level = mixture(X, y, w, s.k, s.lambda2, s.relax)
        assert s.support.tolist() == support
        np.testing.assert_allclose(s.beta, beta, rtol=1e-7, atol=1e-10)
        assert s.intercept == pytest.approx(level, rel=1e-8)
        assert s.objective == pytest.approx(value(X, y, w, support, beta, level, s.lambda2))
        for f, (train, test) in enumerate(cv.splits):
            part = X[train], y[train], w[train]
            support, beta, level = mixture(*part, s.k, s.lambda2, s.relax)
            residual = y[test] - level - X[test][:, support] @ beta
            score = w[test] @ residual**2 / w[test].sum()
            assert cv.folds.iloc[i, f] == pytest.approx(score, rel=1e-7), (i, f)
    held = cv.held_out()
    i = cv.select()
    s = cv._solutions[i]
    train, test = cv.splits[2]
    support, beta, level = mixture(X[train], y[train], w[train], s.k, s.lambda2, s.relax)
    np.testing.assert_allclose(held[test], level + X[test][:, support] @ beta, rtol=1e-7)


def class_problem(seed=1, n=90, p=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 1] - X[:, 4] + 0.5 * X[:, 2], rng


def responses():
    """{loss: (X, y)} of every loss that cross-validation serves."""
    X, eta, rng = class_problem()
    n, two = len(eta), rng.random(len(eta)) < 1 / (1 + np.exp(-eta))
    counts, levels = (
        rng.poisson(np.exp(0.5 * eta)),
        np.digitize(eta + rng.logistic(size=n), [-1, 1]),
    )
    amounts = rng.gamma(2, np.exp(0.3 * eta) / 2)
    y = {
        "squared": eta + rng.standard_normal(n),
        "huber": eta + rng.standard_t(3, n),
        "quantile": eta + rng.standard_normal(n),
        **dict.fromkeys(("logistic", "squared_hinge", "smoothed_hinge"), two),
        **dict.fromkeys(("poisson", "negative_binomial"), counts),
        "gamma": amounts,
        "tweedie": np.maximum(amounts - 0.3, 0.0),
        **dict.fromkeys(("multinomial", "ordinal"), levels),
        "binomial": np.column_stack([two * 2 + (eta > 0), 3 - two * 2 - (eta > 0)]),
        "cox": np.column_stack([rng.exponential(np.exp(-eta)), rng.random(n) < 0.7]),
        "several": np.column_stack([eta, -eta]) + rng.standard_normal((n, 2)),
    }
    return {name: (X, one) for name, one in y.items()}


ASKED = {
    "sizes": {},
    "lambda0": {"lambda0": "grid"},
    "groups": {"groups": [0, 0, 1, 1, 2, 2]},
    "raw": {"standardize": False},
    "forced": {"always_include": [5]},
}


@pytest.mark.parametrize(("loss", "asked"), thinned(3, responses(), ASKED))
def test_every_loss_has_mixtures_with_the_fit_without_shrinkage(loss, asked):
    X, y = responses()[loss]
    name = "squared" if loss == "several" else loss
    cv = l0path.cv_fit(X, y, loss=name, cv=3, max_k=3, random_state=1, **ASKED[asked])
    keep = {"standardize": asked != "raw", "loss": cv.loss, "certify": False}
    found = {
        (s.lambda2, s.k, s.lambda0 if asked == "lambda0" else 0, s.relax): s for s in cv._solutions
    }
    plain, mixed = {}, 0
    for (lambda2, k, lambda0, g), s in found.items():
        if g == 1.0:
            continue
        mixed += 1
        shrunken = found[lambda2, k, lambda0, 1.0]
        key = s.support.tobytes()
        if key not in plain:
            forced = s.support.tolist()
            plain[key] = l0path.fit(X, y, always_include=forced, max_k=0, **keep)._solutions[0]
        other, tight = plain[key], {"rtol": 1e-5, "atol": 1e-6}
        if loss != "quantile":  # whose optimum need not be unique
            np.testing.assert_allclose(s.beta, g * shrunken.beta + (1 - g) * other.beta, **tight)
            np.testing.assert_allclose(
                s.intercept, g * shrunken.intercept + (1 - g) * other.intercept, **tight
            )
        if g == 0.0:
            assert s.loss == pytest.approx(other.loss, rel=1e-7)
        assert s.optimality == "relaxed" and np.isnan(s.lower_bound) and np.isnan(s.lambda0_low)
        assert s.loss <= shrunken.loss * (1 + 1e-9)
        assert s.objective >= shrunken.objective * (1 - 1e-9)
    assert mixed >= 6
    for i in range(len(cv)):
        assert objective_of(cv, index=i) == pytest.approx(cv._solutions[i].objective, rel=1e-9)
    assert np.isfinite(cv.scores.cv_mean).all()


# -------------------- what is offered


def test_the_ridge_unit_is_curvature_times_mean_square():
    X, y = squared_data()
    counts = np.random.default_rng(2).poisson(np.exp(0.4 * (X[:, 2] - 2.0)))
    for data, more, unit in (
        ((X, y), {}, 1.0),
        ((X, y), {"standardize": False}, X.var(axis=0).mean()),
        ((X, y > np.median(y)), {"loss": "logistic"}, 0.25),
        ((X, counts), {"loss": "poisson"}, counts.mean()),
    ):
        cv = l0path.cv_fit(*data, cv=3, max_k=1, random_state=0, **more)
        units = [0, 0.01, 0.1, 1, 10] if more.get("loss") == "logistic" else [0, 0.1, 1, 10]
        np.testing.assert_allclose(
            np.sort(cv.details.lambda2.unique()), unit * np.array(units), rtol=1e-12
        )


def test_a_ridge_of_r_units_leaves_one_part_in_1_plus_2_r():
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 4)))[0]
    Q -= Q.mean(axis=0)
    X = np.linalg.qr(Q)[0]
    y = X @ np.array([3.0, 2.0, 1.0, 0.5]) + 0.1 * np.sin(np.arange(40))
    cv = l0path.cv_fit(X, y, cv=4, max_k=3, random_state=0)
    plain = cv.coef(k=2, lambda2=0, relax=1)
    for r in (0.1, 1.0, 10.0):
        share = cv.coef(k=2, lambda2=r, relax=1)[1:] / plain[1:]
        np.testing.assert_allclose(share, 1.0 / (1.0 + 2.0 * r), rtol=1e-9)


def test_what_is_given_is_what_is_tried():
    X, y = squared_data()
    more = {"cv": 3, "max_k": 2, "random_state": 0}
    for given in ({"lambda2": 0}, {"lambda2": None}, {"lambda1": 0.01}):
        cv = l0path.cv_fit(X, y, **more, **given)
        path = l0path.fit(X, y, max_k=2, **given)
        assert len(cv) == 3 and (cv.details.relax == 1).all()
        np.testing.assert_allclose(cv.details.objective, path.details.objective, rtol=1e-12)
    cv = l0path.cv_fit(X, y, lambda2=[0.3, 0.0], **more)
    assert len(cv) == 6 and (cv.details.relax == 1).all()
    cv = l0path.cv_fit(X, y, lambda2=[0.3, 0.0], relax=0.25, **more)
    assert sorted(set(zip(cv.details.lambda2, cv.details.relax, strict=True))) == [
        (0.0, 1.0),
        (0.3, 0.25),
        (0.3, 1.0),
    ]
    cv = l0path.cv_fit(X, y, lambda1=0.05, relax=(0, 1), **more)
    free = l0path.cv_fit(X, y, lambda2=0, **more)
    s = cv._solutions[cv.select(k=2, relax=0)]
    assert s.lambda1 == 0.05
    assert s.loss == pytest.approx(free._solutions[free.select(k=2)].loss)
    assert (l0path.cv_fit(X, y, relax=1, **more).details.relax == 1).all()


def test_wrong_arguments_are_named():
    X, y = squared_data()
    for wrong in (1.5, -0.5, (0, 2)):
        with pytest.raises(ValueError, match="relax="):
            l0path.cv_fit(X, y, relax=wrong)
    with pytest.raises(ValueError, match="lambda2='much' is not known"):
        l0path.cv_fit(X, y, lambda2="much")
    with pytest.raises(ValueError, match="is for l0path"):
        l0path.fit(X, y, lambda2="auto")
    with pytest.raises(TypeError, match="relax"):
        l0path.fit(X, y, relax=0.5)


def separated_classes():
    """Classes that the columns 0 and 1 separate together, and neither of them alone."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 6))
    return X, X[:, 0] + X[:, 1] > 0.0


@pytest.mark.filterwarnings("error")
def test_separated_supports_have_no_mixtures():
    X, y = separated_classes()
    cv = l0path.cv_fit(X, y, loss="logistic", cv=4, max_k=4, random_state=0)
    apart = [s for s in cv._solutions if {0, 1} <= set(s.support.tolist()) and s.lambda2 > 0]
    assert apart and all(s.relax == 1.0 for s in apart)
    assert any(s.relax < 1.0 for s in cv._solutions)
    assert sorted(cv.details.slice.unique()) == list(range(cv.details.slice.nunique()))
    assert any("mixtures" in note and "separation" in note for note in cv.notes)
    assert cv.status.startswith("complete") and cv._path.status.startswith("complete")
    for rule in ("min", "sparse", "1se"):
        s = cv._solutions[cv.select(rule)]
        assert not s.separated and s.lambda2 > 0
    assert cv.model().score(X, y)["auc"] > 0.99
    least = cv._solutions[cv.select(k=3, lambda2=0.0025)]  # that has a finite optimum
    assert "smallest lambda2 tried with a finite optimum, 0.0025" in cv._edges(least)[0]


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "ordinal"])
def test_classes_that_features_separate_have_a_small_ridge(loss):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((90, 5))
    y = np.digitize(X[:, 0] - X[:, 3], [0.0] if loss == "logistic" else [-0.7, 0.7])
    how = {"loss": loss, "cv": 3, "max_k": 3, "random_state": 0}
    cv = l0path.cv_fit(X, y, **how)
    tried = sorted(cv.details.lambda2.unique())
    assert len(tried) == 5 and tried[1] == pytest.approx(tried[2] / 10)
    without = l0path.cv_fit(X, y, lambda2=tried[2:], relax=(0, 0.5, 1), **how)
    best, least = (one.scores.cv_mean[one.select()] for one in (cv, without))
    assert best < 0.8 * least


def test_separation_in_a_fold_alone_is_no_choice():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] > 0
    y[:3] = ~y[:3]  # all in one fold: the other training sets are not separated
    ids = np.where(np.arange(60) < 20, 0, np.arange(60) % 4 + 1)
    cv = l0path.cv_fit(X, y, loss="logistic", cv=ids, max_k=1)
    assert any(s.separated for fits in cv._fits for s in fits if s.relax < 1.0)
    mixed = [i for i, s in enumerate(cv._solutions) if s.relax < 1.0]
    assert mixed and cv._endless[mixed].all()
    assert cv.model().details.relax == 1.0 and cv.model().details.lambda2 > 0


# -------------------- the rules


def with_scores(scores, **more):
    """A cross-validation whose scores are these (rows of sizes of the slices, folds)."""
    X, y = squared_data()
    cv = l0path.cv_fit(X, y, cv=scores.shape[1], max_k=2, random_state=0, **more)
    cv.folds.iloc[:, :] = scores
    return cv


def test_the_rules_by_hand():
    scores = np.array(
        [
            [5.0, 5.0, 5.0, 5.0],  # lambda2 = 1, k = 0
            [2.0, 3.0, 2.0, 3.1],  # k = 1: difference .0, .3, -.1, .2 from the best
            [2.0, 2.7, 2.1, 2.9],  # k = 2, the best mean, 2.425
            [5.0, 5.0, 5.0, 5.0],  # lambda2 = 0
            [2.2, 2.9, 2.3, 3.1],  # k = 1: difference .2 in each fold
            [2.1, 2.8, 2.0, 2.9],
        ]
    )
    cv = with_scores(scores, lambda2=[1.0, 0.0])
    assert [s.k for s in cv._solutions] == [0, 1, 2, 0, 1, 2]
    assert cv.select("min") == cv.select() == 2
    difference = np.array([0.0, 0.3, -0.1, 0.2])
    se = difference.std(ddof=1) / 2
    assert difference.mean() > 0.5 * se  # .1 > .045 ...
    assert cv.select("sparse") == 2
    cv.folds.iloc[1] = [2.0, 3.2, 1.7, 2.9]  # difference 0, .5, -.4, 0: mean .025, se .185
    assert cv.select("sparse") == 1
    assert cv.select("sparse", lambda2=0) == 5
    assert cv.select("1se") == 1  # 2.45 and 2.625 are within .22 of 2.425
    cv.folds.iloc[1] = [3.0, 3.2, 2.7, 2.9]
    assert cv.select("1se") == 4
    assert cv.select(k=1) == 4 and cv.select(1) == 4 and cv[1]._index == 4
    assert cv.select(k=1, lambda2=1) == 1
    cv._greater = True
    assert cv.select("min") in (0, 3)
    assert cv.select(k=1) == 1


def test_ties_take_fewest_coefficients_then_score_then_shrinkage():
    level = np.full((6, 3), 4.0)
    cv = with_scores(level, lambda2=[1.0, 0.0])
    assert cv.select("min") == cv.select("sparse") == cv.select("1se") == 0  # k = 0, lambda2 = 1
    cv.folds.iloc[[0, 3]] = 9.0
    assert cv.select("min") == 1
    cv.folds.iloc[4] = 4.0 - 1e-14  # equal up to rounding
    assert cv.select("min") == cv.select("sparse") == 1
    cv.folds.iloc[4] = [3.9, 4.0, 4.0]
    assert cv.select("min") == cv.select("sparse") == 4


def test_equal_fits_without_shrinkage_are_those_of_the_plain_search():
    X, y = squared_data()
    cv = l0path.cv_fit(X, y, cv=4, max_k=2, random_state=0)
    i = cv.select(k=1, lambda2=0)
    cv.folds.iloc[:, :] = 5.0
    cv.folds.iloc[[i, cv.select(k=1, lambda2=10, relax=0)]] = 4.0
    assert cv.select() == i and cv.details.lambda2[i] == 0.0


def test_paired_errors_of_repeats_are_within_a_repeat():
    X, y = squared_data()
    cv = l0path.cv_fit(X, y, cv=3, n_repeats=2, max_k=2, random_state=0)
    best = cv.select("min")
    d = cv.folds.to_numpy() - cv.folds.to_numpy()[best]
    parts = [d[:, cv._repeats == r] for r in (0, 1)]
    se = np.sqrt(np.mean([part.var(axis=1, ddof=1) / 3 for part in parts], axis=0))
    close = np.flatnonzero(d.mean(axis=1) <= 0.5 * se + 1e-12)
    count = cv.scores.n_features
    least = count[close].min()
    assert count[cv.select("sparse")] == least
    assert (
        cv.scores.cv_mean[cv.select("sparse")]
        == cv.scores.cv_mean[close][count[close] == least].min()
    )


def test_one_fold_has_no_standard_errors():
    X, y = squared_data()
    cv = l0path.cv_fit(X, y, cv=[(np.arange(30), np.arange(30, 48))], max_k=2)
    assert cv.select("min") >= 0
    for rule in ("sparse", "1se"):
        with pytest.raises(LookupError, match="two folds or more"):
            cv.select(rule)


def test_a_ridge_at_the_end_of_the_grid_is_noted():
    X, y = squared_data()
    cv = l0path.cv_fit(X, y, cv=4, max_k=2, random_state=0)
    for lambda2, noted in ((10, True), (1, False), (0.1, False), (0, False)):
        best = cv._solutions[cv.select(k=1, lambda2=lambda2, relax=1)]
        notes = [note for note in cv._edges(best) if "lambda2" in note]
        assert bool(notes) == noted
    assert "largest lambda2 tried, 10" in cv._edges(cv._solutions[1])[0]
    assert not cv._edges(cv._solutions[0])  # no coefficient, no shrinkage
    rng = np.random.default_rng(0)
    noise = l0path.cv_fit(X, rng.standard_normal(48), cv=4, max_k=2, random_state=0)
    best = noise._solutions[noise.select()]
    assert bool(best.n_nonzero and best.lambda2 == 10) == any("lambda2" in n for n in noise.notes)


# -------------------- invariances


def chosen(cv):
    i = cv.select()
    return i, cv._solutions[i]


def test_units_do_not_matter():
    X, y = squared_data()
    more = {"cv": 4, "max_k": 4, "random_state": 2}
    i, s = chosen(cv := l0path.cv_fit(X, y, **more))
    j, t = chosen(l0path.cv_fit(X, 7.0 * y + 3.0, **more))
    assert i == j and s.relax == t.relax
    np.testing.assert_allclose(t.beta, 7.0 * s.beta, rtol=1e-8)
    unit = np.geomspace(0.01, 100, 6)
    j, t = chosen(l0path.cv_fit(X * unit - 5.0, y, **more))
    assert i == j
    np.testing.assert_allclose(t.beta * unit[t.support], s.beta, rtol=1e-8)
    j, t = chosen(l0path.cv_fit(X, y, sample_weight=np.full(48, 0.3), **more))
    assert i == j
    np.testing.assert_allclose(t.beta, s.beta, rtol=1e-10)
    raw = l0path.cv_fit(X, y, standardize=False, **more)
    again = l0path.cv_fit(100.0 * X, y, standardize=False, **more)
    np.testing.assert_allclose(raw.folds, again.folds, rtol=1e-8)
    twice = l0path.cv_fit(X, y, freq_weight=np.full(48, 2), **more)
    np.testing.assert_allclose(twice.folds, cv.folds, rtol=1e-9)


def test_equal_and_constant_columns():
    X, y = squared_data()
    more = {"cv": 4, "max_k": 4, "random_state": 2}
    wide = np.column_stack([X, X[:, 0], np.full(48, 3.0), 2.0 * X[:, 2] + 1.0])
    cv = l0path.cv_fit(wide, y, **more)
    assert np.isfinite(cv.folds.to_numpy()).all()
    for s in cv._solutions:
        assert 7 not in s.support
        if s.relax == 0.0:
            Z = np.column_stack([np.ones(48), wide[:, s.support]])
            fitted = Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
            own = s.intercept + wide[:, s.support] @ s.beta
            np.testing.assert_allclose(own, fitted, atol=1e-6)
            assert np.abs(s.beta * wide[:, s.support].std(axis=0)).max() < 10


# -------------------- what a mixture answers


@pytest.fixture(scope="module")
def mixed():
    """(cv, X, y, a model that is a mixture)."""
    X, y = squared_data()
    cv = l0path.cv_fit(X, y, cv=4, max_k=3, random_state=5)
    return cv, X, y, cv.model(k=2, lambda2=1, relax=0.5)


def test_a_mixture_answers_for_its_own_coefficients(mixed):
    _, X, y, model = mixed
    own = model.intercept + X[:, model.support] @ model._solution.beta
    np.testing.assert_allclose(model.predict(X), own)
    assert model.score(X, y)["mse"] == pytest.approx(np.mean((y - own) ** 2))
    assert model.loss == pytest.approx(0.5 * np.mean((y - own) ** 2))
    assert model.details.relax == 0.5 and model.optimality == "relaxed" and np.isnan(model.gap)
    scope = {}
    exec(model.to_python(), scope)
    code = next(v for v in scope.values() if callable(v) and v.__module__ != "math")
    assert code is not None
    np.testing.assert_allclose(model.to_sklearn().predict(X), own)
    ols = np.linalg.lstsq(np.column_stack([np.ones(48), X[:, model.support]]), y, rcond=None)[0]
    np.testing.assert_allclose(model.refit().params, ols, rtol=1e-8)


def test_exchanges_of_a_mixture_are_those_of_its_shrunken_model(mixed):
    cv, _, _, model = mixed
    shrunken = cv.model(k=2, lambda2=1, relax=1)
    one, other = model.summary(), shrunken.summary()
    np.testing.assert_allclose(one.table.coef, model.coef.iloc[1:])
    same = ["increase_if_dropped", "exchange_change"]
    np.testing.assert_allclose(one.table[same], other.table[same], atol=1e-10)
    assert "relax = 0.5" in str(one) and "relax" not in str(other)
    a, b = model.alternatives(), shrunken.alternatives()
    np.testing.assert_allclose(a.objective, b.objective, rtol=1e-9)


def test_nothing_is_proven_of_a_mixture(mixed):
    cv, _, _, model = mixed
    with pytest.raises(ValueError, match=r"mixture .*relax=1"):
        model.certify()
    assert cv.model(k=2, lambda2=1, relax=1).certify().proven
    assert cv.certify(criterion="bic").proven  # among models without shrinkage
    assert cv.near_best(k=2, within=0.5).complete
    assert not (cv.details.optimality[cv.details.relax < 1] != "relaxed").any()


def test_mixtures_are_seen_in_tables_and_plots(mixed):
    cv, _, _, model = mixed
    assert {"lambda2", "relax"} <= set(cv.table.columns)
    table = cv.compare([{"k": 2, "lambda2": 1, "relax": 0.5}, "sparse"])
    assert table.loc[("fit", "relax")].iloc[0] == 0.5
    same = cv.compare([2], lambda2=1, relax=0.5).iloc[:, 0]  # as its docstring says
    known = table.iloc[:, 0]["coefficient"].dropna()
    assert same["coefficient"].to_dict() == known.to_dict() and same["fit", "relax"] == 0.5
    assert "relax" in repr(cv)
    with pytest.raises(LookupError, match="relax"):
        cv._path.select(k=2)
    ax = cv.plot()
    line = max(ax.lines, key=lambda line: line.get_marker() == "o" and len(line.get_xdata()))
    best = [cv.scores.cv_mean[cv.scores.k == k].min() for k in range(4)]
    np.testing.assert_allclose(line.get_ydata(), best)
    for kind in ("coef", "loss", "criteria", "gap", "support"):
        cv.plot(kind)
    cv.plot(slice=model.details.slice)
    assert len(cv.explore(alternatives=1, time_limit=5).html) > 1000
    assert "relax" in cv._repr_html_()
    assert cv.predict_interval(np.zeros((2, 6)), k=2, lambda2=1, relax=0.5).shape == (2, 2)


def test_mixtures_are_stored(mixed, tmp_path):
    cv, _, _, model = mixed
    cv.save(tmp_path / "cv.npz", data=True)
    model.save(tmp_path / "model.npz")
    for again in (l0path.load(tmp_path / "cv.npz"), pickle.loads(pickle.dumps(cv))):
        np.testing.assert_array_equal(again.details.relax, cv.details.relax)
        np.testing.assert_array_equal(again.held_out(), cv.held_out())
        assert [again.select(r) for r in ("min", "sparse", "1se")] == [
            cv.select(r) for r in ("min", "sparse", "1se")
        ]
        np.testing.assert_allclose(again.rescore("mae").folds, cv.rescore("mae").folds)
    assert l0path.load(tmp_path / "model.npz").details.relax == 0.5


def test_other_metrics_are_of_the_same_models(mixed):
    cv, X, y, _ = mixed
    assert cv.metrics(["mse", "mae"]).mse.to_numpy() == pytest.approx(cv.scores.cv_mean.to_numpy())
    again = cv.validate(X, y)
    assert (
        len(again) == len(cv)
        and again.select("min") == cv.scores.index[again.scores.cv_mean.argmin()]
    )
    assert float(cv.difference(cv, "min", "sparse")["difference"]) <= 0.0
    nested = l0path.nested_cv(X, y, outer=3, cv=3, rule="sparse", max_k=2, random_state=0)
    assert {"lambda2", "relax"} <= set(nested.table.columns)


@pytest.mark.parametrize("n_best", [None, 30])
def test_few_exchanges_are_refuted_in_folds_beside_a_ridge_unless_more_are_asked_for(
    n_best, monkeypatch
):
    asked, own = set(), columns.ColumnExchanges.tried

    def told(self, fit):
        count = own(self, fit)
        if fit.support.size > 1:
            asked.add((self.lambda2, len(self.problem.y), count <= ON_THE_WAY))
        return count

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = (X[:, :2].sum(axis=1) + rng.logistic(size=60) > 0).astype(int)
    monkeypatch.setattr(columns.ColumnExchanges, "tried", told)
    settings = l0path.solvers.LocalSearch(n_best=n_best)
    l0path.cv_fit(X, y, loss="logistic", cv=5, random_state=0, algorithm=settings)
    largest = max(lambda2 for lambda2, _, _ in asked)  # the first, which has no start
    assert asked == {
        (lambda2, n, n_best is None and n == 48 and 0.0 < lambda2 < largest)
        for lambda2, n, _ in asked
    }
