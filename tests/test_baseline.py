"""Several classes by their log odds against a baseline: enumeration with another solver, with
bounds and shrinkage; what results say, and what is refused.
"""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from class_samples import classes_drawn as drawn
from fold_samples import metrics
from recomputed import objective_of
from scipy.optimize import minimize
from scipy.special import logsumexp
from test_class_lasso import problem
from thinning import slow_but

import l0path
from l0path.errors import SeparationWarning

Multinomial = l0path.losses.Multinomial
SHRUNK = [(0.0, 0.0), (0.0, 0.02), (0.02, 0.0), (0.01, 0.05)]
BOXES = [(-np.inf, np.inf), (-0.3, 0.5), (0.0, np.inf), (-0.6, 0.2)]


def optimum(X, y, support, base, *, l1=0.0, l2=0.0, box=BOXES[0], w=None, offset=0.0, scaled=True):
    """The least penalized loss on a support: the contrasts with the class `base`, each the
    difference of two numbers >= 0, by L-BFGS-B. box: bounds in the units of X; offset: that of the
    baseline first.
    """
    w = np.ones(len(X)) if w is None else w
    w, others = w / w.sum(), [c for c in np.unique(y) if c != base]
    Z = X - w @ X
    s = np.sqrt(w @ Z**2) if scaled else np.ones(X.shape[1])
    Z = (Z / np.where(s > 1e-12, s, 1.0))[:, support]
    Y = np.column_stack([y == c for c in (base, *others)]).astype(float)
    offset = np.broadcast_to(offset, Y.shape)
    k, q = len(support), len(others)

    def value(v):
        plus, minus, level = np.split(v, [k * q, 2 * k * q])
        B = (plus - minus).reshape(k, q)
        eta = offset + np.column_stack([np.zeros(len(X)), Z @ B + level])
        total = logsumexp(eta, axis=1)
        g = (w[:, None] * (np.exp(eta - total[:, None]) - Y))[:, 1:]
        by_b = (Z.T @ g + 2.0 * l2 * B).ravel()
        F = w @ (total - (Y * eta).sum(axis=1)) + l1 * v[: 2 * k * q].sum() + l2 * (B**2).sum()
        return F, np.concatenate([by_b + l1, l1 - by_b, g.sum(axis=0)])

    ends = [(0.0, box[1] * s[j]) for j in support for _ in range(q)]
    ends += [(0.0, -box[0] * s[j]) for j in support for _ in range(q)]
    found = minimize(
        value,
        np.zeros(2 * k * q + q),
        jac=True,
        bounds=ends + [(None, None)] * q,
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-10, "maxfun": 100_000, "maxiter": 20_000},
    )
    return found.fun


@pytest.mark.parametrize("seed", slow_but(range(8), range(64)))
def test_every_size_is_the_enumerated_best(seed):
    X, y, w, offset, given = problem(seed)
    (l1, l2), box = SHRUNK[seed % 4], BOXES[(seed // 4 + 1) % 4]
    base = np.unique(y)[seed % 3]
    forced = given["always_include"] = [1] if seed % 7 == 5 else []
    path = l0path.fit(
        X,
        y,
        loss=Multinomial(baseline=base),
        lambda1=l1,
        lambda2=l2,
        lower=box[0],
        upper=box[1],
        max_k=3,
        certify=True,
        **given,
    )
    assert path.classes[0] == base and sorted(path.classes) == np.unique(y).tolist()
    free = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) and j not in forced]
    same = {"l1": l1, "l2": l2, "box": box, "w": w, "offset": offset}
    for s in path._solutions:
        supports = [sorted({*S, *forced}) for S in combinations(free, s.k)]
        values = [optimum(X, y, list(S), base, **same) for S in supports]
        if s.separated:
            assert s.objective <= min(values) + 1e-9
            continue
        assert s.objective == pytest.approx(min(values), rel=1e-7)
        assert objective_of(path, index=s.k) == pytest.approx(s.objective, rel=1e-12)
        assert not s.lower_bound > min(values) + 1e-9
        assert not s.beta[:, 0].any() and s.intercept[0] == 0.0
        assert ((s.beta >= box[0] - 1e-12) & (s.beta <= box[1] + 1e-12)).all()


@pytest.mark.parametrize("seed", [0, 3])
def test_a_lambda0_grid_and_groups(seed):
    X, y, _ = drawn(seed, p=6)
    same = {"loss": Multinomial(baseline="oak"), "lower": -0.4, "upper": 0.6}
    path = l0path.fit(X, y, lambda0="grid", max_k=3, **same)
    best = [
        min(optimum(X, y, list(S), "oak", box=(-0.4, 0.6)) for S in combinations(range(6), k))
        for k in range(7)
    ]
    for s in path._solutions:
        least = (np.array(best) + s.lambda0 * np.arange(7)).min()
        assert s.objective == pytest.approx(least, rel=1e-8)
    groups = [0, 0, 1, 1, 2, 2]
    path = l0path.fit(X, y, groups=groups, certify=True, **same)
    for s in path._solutions:
        values = [
            optimum(X, y, np.flatnonzero(np.isin(groups, S)), "oak", box=(-0.4, 0.6))
            for S in combinations(range(3), s.k)
        ]
        assert s.objective == pytest.approx(min(values), rel=1e-8)
        assert not s.lower_bound > min(values) + 1e-9


@pytest.mark.parametrize(
    "given",
    [
        {"lambda2": 0.05},
        {"lambda1": 0.02, "lambda2": 0.01},
        {"lower": -0.5, "upper": 0.4},
        {"lower": 0.0, "lambda1": 0.01},
        {"lambda0": "grid", "upper": 0.3},
    ],
)
def test_two_classes_are_the_logistic_loss(given):
    X, y, _ = drawn(0)
    two = np.where(y == "elm", "elm", "other")
    for base, positive in (("elm", "other"), ("other", "elm")):
        many = l0path.fit(X, two, loss=Multinomial(baseline=base), **given)
        one = l0path.fit(X, two, loss="logistic", pos_label=positive, **given)
        m = min(len(one), len(many))
        np.testing.assert_allclose(
            many.details.objective[:m], one.details.objective[:m], rtol=1e-10
        )
        coef = many.coef(index=m - 1)
        np.testing.assert_allclose(coef[positive], one.coef(index=m - 1), rtol=1e-5, atol=1e-8)
        assert not coef[base].any()


def test_without_shrinkage_the_models_are_those_without_a_baseline():
    X, y, rng = drawn(3)
    offset = 0.3 * rng.standard_normal((len(y), 3))
    plain = l0path.fit(X, y, loss="multinomial", offset=offset)
    path = l0path.fit(X, y, loss=Multinomial(baseline="elm"), offset=offset[:, [1, 0, 2]])
    np.testing.assert_allclose(path.details.objective, plain.details.objective, rtol=1e-10)
    odds = plain.coef(k=3, baseline="elm")
    coef = path.coef(k=3)
    assert coef.columns.tolist() == ["elm", "ash", "oak"]
    np.testing.assert_allclose(coef[odds.columns], odds, atol=1e-6)
    assert path.coef(k=3, baseline="oak")["oak"].eq(0.0).all()


def test_a_bound_ends_separation_where_it_stands_in_the_way():
    X, y, _ = drawn(0, n=60)
    X[:, 3] = 0.0
    X[np.flatnonzero(y == "elm")[:4], 3] = 1.0  # only elms have it
    same = {"max_k": 0, "always_include": [3], "certify": False}
    for base, bounds, apart in (
        ("ash", {"upper": 2.0}, True),  # oak may go down
        ("ash", {"lower": -2.0}, True),  # elm may go up
        ("ash", {"lower": -2.0, "upper": 2.0}, False),
        ("elm", {"upper": 2.0}, True),  # the others may go down
        ("elm", {"lower": -2.0}, False),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            path = l0path.fit(X, y, loss=Multinomial(baseline=base), **bounds, **same)
        assert path._solutions[0].separated == apart
        box = bounds.get("lower", -np.inf), bounds.get("upper", np.inf)
        least = optimum(X, y, [3], base, box=box)
        assert path._solutions[0].objective == pytest.approx(least, abs=1e-6)


def test_results_and_files(tmp_path):
    X, y, _ = drawn(0)
    table = pd.DataFrame(X, columns=list("abcde"))
    loss = Multinomial(baseline="elm")
    path = l0path.fit(table, y, loss=loss, lower=0.0, max_k=3)
    assert path.loss == loss and repr(path.loss) == "Multinomial(baseline='elm')"
    P, link = path.predict(table, k=2), path.predict(table, k=2, type="link")
    assert P.columns.tolist() == ["elm", "ash", "oak"] and not link["elm"].any()
    picked = (P.to_numpy() * (y[:, None] == np.array(P.columns))).sum(axis=1)
    assert path.details.loss[2] == pytest.approx(-np.log(picked).mean())
    coef = path.coef(k=2)
    assert path.score_table().df[2] == np.count_nonzero(coef.iloc[1:]) + 2
    path.save(tmp_path / "path.npz")
    again = l0path.load(tmp_path / "path.npz")
    assert again.loss == loss and again.coef(k=2).equals(coef)
    assert again.predict(table, k=2).equals(P)
    assert again.certify(k=2, X=table, y=y).proven and path.certify(k=2).proven
    near = path.model(k=2).alternatives(n=2).iloc[0]
    S = sorted({*coef.index[1:], near.added} - {near.dropped})
    own = l0path.fit(table[S], y, loss=loss, lower=0.0, always_include=S, max_k=0)
    assert near.objective == pytest.approx(objective_of(own, k=0), rel=1e-7)
    formula = l0path.fit("y ~ a + b + c + d + e", table.assign(y=y), loss=loss, lower=0.0, max_k=3)
    np.testing.assert_allclose(formula.coef(k=2), coef)


def test_refits_are_against_the_baseline():
    X, y, _ = drawn(0, n=60)
    path = l0path.fit(X, y, loss=Multinomial(baseline="oak"), max_k=2)
    results = path.model(k=2).refit()
    np.testing.assert_allclose(results.params, path.coef(k=2)[["ash", "elm"]], atol=1e-6)
    for more in ({}, {"se": True}):
        assert "against the class oak" in str(path.compare([1, 2], exponentiate=True, **more))


def test_cross_validation_and_classifiers():
    X, y, _ = drawn(3)
    loss = Multinomial(baseline="oak")
    same = {"lambda2": 0.02, "lower": -0.5, "upper": 0.5}
    cv = l0path.cv_fit(X, y, loss=loss, max_k=2, cv=3, random_state=0, **same)
    train, test = cv.splits[0]
    alone = l0path.fit(X[train], y[train], loss=loss, max_k=2, **same)
    assert cv.folds.loc[2, 0] == pytest.approx(alone.model(k=2).score(X[test], y[test])["deviance"])
    scorer = metrics.make_scorer(
        metrics.log_loss, response_method="predict_proba", greater_is_better=False
    )
    by_scorer = l0path.cv_fit(
        X, y, loss=loss, max_k=2, cv=3, random_state=0, scoring=scorer, **same
    )
    np.testing.assert_allclose(by_scorer.scores.cv_mean, -0.5 * cv.scores.cv_mean)
    model = l0path.L0Classifier(k=2, loss=loss, **same).fit(X, y)
    assert model.classes_.tolist() == ["ash", "elm", "oak"] and model.path_.classes[0] == "oak"
    whole = l0path.fit(X, y, loss=loss, max_k=2, **same)
    coef = whole.coef(k=2, full=True)[model.classes_]
    np.testing.assert_allclose(model.coef_, coef.iloc[1:].T)
    np.testing.assert_allclose(model.intercept_, coef.iloc[0])
    np.testing.assert_allclose(model.predict_proba(X), whole.predict(X, k=2)[:, [1, 2, 0]])
    assert (model.predict(X) == whole.predict(X, k=2, type="class")).all()


@pytest.mark.parametrize(
    ("loss", "given", "word"),
    [
        ("multinomial", {"upper": 1.0}, r"baseline='ash'\)"),
        (Multinomial(baseline="yew"), {}, "baseline='yew' is not a class of y.*'ash', 'elm'"),
        (Multinomial(baseline="elm"), {"lower": 0.1}, "do not contain 0"),
        (Multinomial(baseline="elm"), {"lower": 1.0, "upper": 0.0}, "lower > upper"),
        (
            Multinomial(baseline="elm"),
            {"sample_weight": "none"},
            "positive weight in the class 'elm'",
        ),
    ],
)
def test_what_is_not_served_is_refused_by_name(loss, given, word):
    X, y, _ = drawn(0)
    if "sample_weight" in given:
        given = {"sample_weight": (y != "elm").astype(float)}
    with pytest.raises(ValueError, match=word):
        l0path.fit(X, y, loss=loss, max_k=2, lambda2=0.02, **given)


def test_files_with_their_rows_and_code_of_models(tmp_path):
    X, y, _ = drawn(0, n=60)
    table, codes = pd.DataFrame(X, columns=list("abcde")), np.unique(y, return_inverse=True)[1]
    path = l0path.fit(table, codes, loss=Multinomial(baseline=2), upper=0.5, max_k=2)
    path.save(tmp_path / "path.npz", data=True)
    again = l0path.load(tmp_path / "path.npz")
    assert repr(again.loss) == "Multinomial(baseline=2)" and again.classes == (2, 0, 1)
    assert again.certify(k=2).proven
    P, names = path.predict(table, k=2), {}
    exec(path.model(k=2).to_python(), names)
    np.testing.assert_allclose(names["predict"](table), P, rtol=1e-12)
    theirs = path.model(k=2).to_sklearn()
    np.testing.assert_allclose(
        theirs.predict_proba(table), P[[str(c) for c in theirs.classes_]], rtol=1e-12
    )


def test_a_grid_of_lambda1_begins_where_all_coefficients_are_zero():
    X, y, _ = drawn(3)
    same = {"loss": Multinomial(baseline="ash"), "sample_weight": np.linspace(0.5, 2.0, len(y))}
    path = l0path.fit(X, y, lambda1=l0path.grid(n=4), max_k=2, **same)
    top = max(s.lambda1 for s in path._solutions)
    assert not any(s.n_nonzero for s in path._solutions if s.lambda1 == top)
    near = l0path.fit(X, y, lambda1=0.999 * top, max_k=1, **same)
    assert near._solutions[-1].n_nonzero
