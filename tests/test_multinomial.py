"""The multinomial loss with one support for all classes: enumeration with another solver, results,
and what is refused.
"""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from class_samples import LABELS
from class_samples import classes_drawn as drawn
from class_samples import classes_optimum as optimum
from recomputed import objective_of
from scipy.optimize import linprog
from separated_infima import every_infimum
from thinning import slow_but, thinned

import l0path
from l0path.errors import SeparationWarning


@pytest.mark.parametrize(("seed", "lambda2"), thinned(2, range(6), [0.02, 0.0]))
def test_every_size_is_the_enumerated_best(seed, lambda2):
    check_every_size(seed, lambda2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 106))
def test_every_size_is_the_enumerated_best_of_more_columns(seed):
    check_every_size(seed, 0.0 if seed % 2 else 0.01, p=7)


def check_every_size(seed, lambda2, p=5):
    X, y, rng = drawn(seed, p=p)
    same, given, forced = {}, {}, ()
    if seed % 2:
        same["weights"] = given["sample_weight"] = rng.integers(1, 3, len(X)).astype(float)
    if seed % 3 == 1:
        same["offset"] = given["offset"] = 0.3 * rng.standard_normal((len(X), 3))
    if seed % 3 == 2:
        forced = given["always_include"] = (1,)
    effort = l0path.solvers.LocalSearch(effort="high")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        path = l0path.fit(
            X, y, loss="multinomial", lambda2=lambda2, max_k=3, algorithm=effort, **given
        )
    free = [j for j in range(p) if j not in forced and np.ptp(X[:, j])]
    for s in path._solutions:
        supports = [sorted({*S, *forced}) for S in combinations(free, s.k)]
        if s.separated:
            assert not lambda2 and any(separated(X[:, S], y) for S in supports)
            break
        found = [optimum(X, y, S, lambda2, **same) for S in supports]
        assert s.objective == pytest.approx(min(found), rel=1e-8)
        assert objective_of(path, index=s.k) == pytest.approx(s.objective, rel=1e-12)
        np.testing.assert_allclose(s.beta.sum(axis=1), 0.0, atol=1e-12)


def separated(X, y):
    """Whether some direction lets no class overtake that of a row, and some fall behind: a linear
    program over all coefficients, their sizes at most 1.
    """
    A = np.column_stack([X, np.ones(len(X))])
    rows = [
        np.kron((np.array(LABELS) == label).astype(float) - (np.array(LABELS) == other), a)
        for a, label in zip(A, y, strict=True)
        for other in LABELS
        if other != label
    ]
    rows = np.array(rows)
    found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    return -found.fun > 1e-6


def small_cell(seed):
    """Three classes; column 3 is 1 in some rows of one class and 0 elsewhere."""
    X, y, _ = drawn(3 * seed, n=60)
    X[:, 3] = 0.0
    X[np.flatnonzero(y == "elm")[:4], 3] = 1.0
    return X, y


@pytest.mark.parametrize("seed", slow_but(range(3), range(8)))  # supports of one to three columns
def test_separated_supports_are_those_of_a_linear_program(seed):
    X, y, _ = drawn(3 * seed, n=14, p=4)
    X[:, 3] = (y == "elm") & (np.arange(14) % 3 > 0)
    for S in combinations(range(4), 1 + seed % 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            path = l0path.fit(X[:, S], y, loss="multinomial", always_include=list(range(len(S))))
        apart = path.details.status[0] == "separated"
        assert apart == separated(X[:, S], y)
        if not apart:
            assert objective_of(path, index=0) == pytest.approx(optimum(X, y, S, 0.0), rel=1e-7)
        else:
            codes = np.unique(y, return_inverse=True)[1]
            least = every_infimum("multinomial", X[:, S], codes)[tuple(range(len(S)))]
            assert objective_of(path, index=0) == pytest.approx(least, abs=1e-7)


@pytest.mark.parametrize("seed", [0, 1])
def test_sizes_beyond_a_column_that_separates_are_the_best_by_their_infima(seed):
    X, y = small_cell(seed)
    with pytest.warns(SeparationWarning, match="quasi-completely by"):
        path = l0path.fit(X, y, loss="multinomial")
    assert path.status.startswith("complete: k = 0..") and "lambda2=1e-3" in path.status
    want = every_infimum("multinomial", X, np.unique(y, return_inverse=True)[1])
    for s in path._solutions:
        least = min(value for S, value in want.items() if len(S) == s.k)
        assert s.objective == pytest.approx(least, abs=1e-7)


def test_classes_that_separate_completely_end_the_path():
    X, _, _ = drawn(0)
    y = np.array(LABELS)[np.digitize(X[:, 1], [-0.7, 0.7])]
    with pytest.warns(SeparationWarning, match="separate the classes completely"):
        path = l0path.fit(X, y, loss="multinomial")
    assert path.details.status.iloc[-1] == "separated" and path.support(index=-1).tolist() == [1]
    assert path.select("bic") == len(path) - 2
    assert (path.predict(X, index=-1, type="class") == y).all()
    ridge = l0path.fit(X, y, loss="multinomial", lambda2=1e-3)  # without a warning
    assert ridge.status.startswith("complete") and len(ridge) == 6


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(i, marks=pytest.mark.slow) for i in range(3, 40))]
)
def test_lower_bounds_are_never_above_the_enumerated_optimum(seed):
    X, y, rng = drawn(seed)
    lambda2 = (0.02, 0.2, 2.0)[seed % 3]
    weights = rng.uniform(0.5, 2.0, len(X)) if seed % 2 else None
    how = {"loss": "multinomial", "lambda2": lambda2, "sample_weight": weights, "certify": True}
    path = l0path.fit(X, y, max_k=3, **how)
    best = [
        min(optimum(X, y, list(S), lambda2, weights) for S in combinations(range(5), k))
        for k in range(4)
    ]
    lower = path.details["lower_bound"].to_numpy()
    assert len(lower) == 4 and (lower <= np.array(best) + 1e-9).all()
    assert lower[0] == pytest.approx(best[0]) and (lower > 0.5 * np.array(best)).all()
    for s in l0path.fit(X, y, lambda0="grid", max_k=3, **how)._solutions:
        assert s.lower_bound <= (np.array(best) + s.lambda0 * np.arange(4)).min() + 1e-9


def test_two_classes_are_the_logistic_loss_at_half_the_ridge():
    X, y, _ = drawn(0)
    two = np.where(y == "elm", "elm", "other")
    many = l0path.fit(X, two, loss="multinomial", lambda2=0.1, max_k=3)
    one = l0path.fit(X, two, loss="logistic", lambda2=0.05, max_k=3)
    np.testing.assert_allclose(many.details.objective, one.details.objective, rtol=1e-9)
    odds = many.coef(k=2, baseline="elm")["other"]
    np.testing.assert_allclose(odds, one.coef(k=2), rtol=1e-5, atol=1e-8)


def test_predictions_scores_and_files(tmp_path):
    X, y, _ = drawn(0)
    table = pd.DataFrame(X, columns=list("abcde"))
    path = l0path.fit(table, y, loss="multinomial", lambda2=0.02, max_k=3)
    P, labels = path.predict(table, k=2), path.predict(table, k=2, type="class")
    assert P.columns.tolist() == LABELS
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (labels == P.idxmax(axis=1)).all()
    scores = path.model(k=2).score(table, y)
    picked = P.to_numpy()[np.arange(50), [LABELS.index(label) for label in y]]
    assert scores["deviance"] == pytest.approx(-2 * np.log(picked).mean())
    assert scores["misclassification"] == np.mean(labels != y)
    assert path.details.loss[2] == pytest.approx(-np.log(picked).mean())
    confusion = path.model(k=2).confusion(table, y)
    assert np.trace(confusion) == np.sum(labels == y) and confusion.to_numpy().sum() == 50
    assert confusion.equals(path.model(k=2).confusion(table, pd.DataFrame(y)))
    with pytest.raises(ValueError, match="y is missing: pass the classes"):
        path.model(k=2).confusion(table)
    with pytest.raises(ValueError, match="different indexes"):
        path.model(k=2).confusion(table, pd.Series(y, table.index)[::-1])
    criteria = path.score_table()
    assert criteria.df[2] == 6 and criteria.loglik[2] == pytest.approx(np.log(picked).sum())
    path.save(tmp_path / "path.npz")
    assert l0path.load(tmp_path / "path.npz").predict(table, k=2).equals(P)
    assert path.predict(X).shape == (50, 4, 3) and path.predict(X, type="class").shape == (50, 4)


def test_cross_validation_and_classifiers():
    X, y, _ = drawn(3)
    cv = l0path.cv_fit(X, y, loss="multinomial", lambda2=0.02, max_k=2, cv=3, random_state=0)
    against = cv.classes[0]
    assert cv.coef(k=1, baseline=against).equals(cv.coef(k=1, baseline=against))
    assert {"deviance", "auc", "misclassification", "brier"} <= set(cv.metrics())
    train, test = cv.splits[0]
    alone = l0path.fit(X[train], y[train], loss="multinomial", lambda2=0.02, max_k=2)
    assert cv.folds.loc[2, 0] == pytest.approx(alone.model(k=2).score(X[test], y[test])["deviance"])
    model = l0path.L0Classifier(k=2, lambda2=0.02, loss="multinomial").fit(X, y)
    assert model.coef_.shape == (3, 5) and model.path_.loss.name == "multinomial"
    np.testing.assert_allclose(model.predict_proba(X), cv.predict(X, k=2))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert (model.predict(X) == cv.predict(X, k=2, type="class")).all()
    chosen = l0path.L0ClassifierCV(max_k=2, lambda2=0.02, loss="multinomial", cv=3, random_state=0)
    assert chosen.fit(X, y).coef_.shape == (3, 5)


def test_class_weights_multiply_those_of_the_rows():
    X, y, rng = drawn(3)
    w = rng.uniform(0.5, 2.0, len(y))
    each = {"ash": 2.0, "oak": 0.5}
    own = w * np.array([each.get(label, 1.0) for label in y])
    same = {"loss": "multinomial", "max_k": 2}
    by_class = l0path.fit(X, y, sample_weight=w, class_weight=each, **same)
    by_row = l0path.fit(X, y, sample_weight=own, **same)
    np.testing.assert_allclose(by_class.details.objective, by_row.details.objective, rtol=1e-12)
    balanced = l0path.fit(X, y, sample_weight=w, class_weight="balanced", **same)
    total = {label: w[y == label].sum() for label in LABELS}
    by_row = l0path.fit(
        X, y, sample_weight=[a / total[b] for a, b in zip(w, y, strict=True)], **same
    )
    np.testing.assert_allclose(balanced.details.objective, by_row.details.objective, rtol=1e-9)


def test_scorers_of_scikit_learn_score_several_classes():
    X, y, _ = drawn(3)
    same = {"loss": "multinomial", "lambda2": 0.02, "max_k": 2, "cv": 3, "random_state": 0}
    ours = l0path.cv_fit(X, y, **same)
    for name, metric, factor in (
        ("neg_log_loss", "deviance", -2.0),
        ("accuracy", "misclassification", None),
        ("roc_auc_ovr", "auc", 1.0),
    ):
        theirs = l0path.cv_fit(X, y, scoring=name, **same).scores.cv_mean
        known = ours.metrics()[metric]
        expected = 1.0 - known if factor is None else known / factor
        np.testing.assert_allclose(theirs, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"upper": 1.0}, "bounds"),
        ({"algorithm": "cd"}, "'exact'"),
        ({"algorithm": l0path.solvers.LocalSearch(swap_size=3)}, "swap_size"),
        ({"class_weight": {"yew": 2.0}}, "'yew'.*'ash', 'elm', 'oak'"),
        ({"pos_label": "elm"}, "pos_label"),
        ({"sample_weight": np.array(drawn(0)[1] != "elm", float)}, "class"),
    ],
)
def test_what_is_not_served_is_refused_by_name(given, word):
    X, y, _ = drawn(0)
    with pytest.raises(ValueError, match=word):
        l0path.fit(X, y, loss="multinomial", max_k=2, **{"lambda2": 0.02, **given})


def test_methods_for_two_classes_say_so():
    X, y, _ = drawn(0)
    path = l0path.fit(X, y, loss="multinomial", lambda2=0.02, max_k=2)
    for call in (
        lambda: path.model(k=2).plot("roc"),
        lambda: path.coef(k=2, baseline="yew"),
    ):
        with pytest.raises(ValueError, match="multinomial"):
            call()


@pytest.mark.parametrize("weighted", [False, True])
def test_refits_are_those_of_statsmodels(weighted):
    import statsmodels.api as sm

    X, y, rng = drawn(0, n=60)
    weights = rng.integers(0, 3, 60) if weighted else np.ones(60, int)
    given = {"freq_weight": weights.astype(float)} if weighted else {}
    path = l0path.fit(X, y, loss="multinomial", max_k=2, **given)
    results, again = path.model(k=2).refit(), np.repeat(np.arange(60), weights)
    exog = sm.add_constant(X[np.ix_(again, path.support(k=2))])
    known = sm.MNLogit(np.searchsorted(LABELS, y[again]), exog).fit(disp=0)
    np.testing.assert_allclose(results.params, known.params, atol=1e-7)
    np.testing.assert_allclose(results.bse, known.bse, rtol=1e-6)
    odds = path.coef(k=2, baseline="ash")[["elm", "oak"]]
    np.testing.assert_allclose(results.params, odds, atol=1e-7)
    assert results.llf == pytest.approx(-path.details.loss[2] * len(again), rel=1e-9)
    assert "y=elm" in str(results.summary()) and "too optimistic" in str(results.summary())
    np.testing.assert_allclose(results.predict(exog), path.predict(X[again], k=2), atol=1e-7)
    fresh = path.model(k=2).refit(X=X[::2], y=y[::2])
    half = sm.MNLogit(np.searchsorted(LABELS, y[::2]), sm.add_constant(X[::2, path.support(k=2)]))
    np.testing.assert_allclose(fresh.params, half.fit(disp=0).params, atol=1e-6)
    assert "these 30 rows also chose" in fresh.selection


def test_refits_that_statsmodels_lacks_are_refused():
    X, y, rng = drawn(0)
    same = {"loss": "multinomial", "lambda2": 0.02, "max_k": 1}
    path = l0path.fit(X, y, **same)
    some, apart = y != "oak", X.copy()
    apart[:, 4] = (y == "oak") + 0.001 * X[:, 0]
    for call, word in (
        (lambda: path.model(k=1).refit(cov_type="HC1"), "cov_type='HC1'"),
        (
            lambda: l0path.fit(X, y, offset=rng.normal(size=50), **same).model(k=1).refit(),
            "no offset",
        ),
        (lambda: path.model(k=1).refit(X=X[some], y=y[some]), "none of the class 'oak'"),
        (lambda: l0path.fit(apart, y, **same).model(k=1).refit(), "separate the classes"),
    ):
        with pytest.raises(ValueError, match=word):
            call()


def test_kernels_can_be_warmed_up():
    assert set(l0path.warm_up(["multinomial"], verbose=False, n_jobs=1)) == {"multinomial"}


@pytest.mark.parametrize("forced", [[], [0]])
def test_near_combinations_enter_where_they_help(forced):
    rng = np.random.default_rng(1)
    a, e, c = rng.standard_normal((3, 60))
    y = np.array(LABELS)[np.digitize(e + rng.logistic(size=60), [-0.8, 0.8])]
    path = l0path.fit(
        np.column_stack([a, a + 1e-5 * e, c]), y, loss="multinomial", always_include=forced
    )
    assert path.details.k.tolist() == list(range(4 - len(forced)))
    best = optimum(np.column_stack([a, e]), y, [0, 1], 0.0)
    assert objective_of(path, k=2 - len(forced)) == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("counts", [(114, 116, 70), (115, 116, 69), (122, 110, 68)])
def test_gains_that_rounding_hides_are_no_failure_to_converge(counts):
    y = np.repeat(["a", "b", "c"], counts)
    path = l0path.fit(np.arange(300.0)[:, None], y, loss="multinomial", lambda2=0.01, max_k=0)
    assert path.details.status.tolist() == ["converged"]
    centered = np.log(counts) - np.log(counts).mean()
    np.testing.assert_allclose(path.coef(k=0).to_numpy()[0], centered, rtol=1e-9)


def test_an_offset_for_each_row_changes_nothing_and_a_note_says_so():
    rng = np.random.default_rng(90040)
    X, y, offset = rng.normal(size=(40, 2)), np.arange(40) % 3, rng.normal(size=(40, 3))
    same = {"loss": "multinomial", "max_k": 1}
    rows = l0path.fit(X, y, offset=offset[:, 0], **same)
    np.testing.assert_allclose(rows.details.objective, l0path.fit(X, y, **same).details.objective)
    assert any("of shape (n, 3)" in note for note in rows.notes)
    assert not l0path.fit(X, y, offset=offset, **same).notes


def test_a_table_of_a_formula_has_the_true_classes_of_its_confusion():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    table["kind"] = np.array(["u", "v", "w"])[
        (table[["a", "b", "c"]] + rng.gumbel(size=(80, 3))).to_numpy().argmax(axis=1)
    ]
    table.loc[3, "a"] = np.nan
    model = l0path.fit("kind ~ a + b + c + d", table, loss="multinomial", lambda2=0.01).model(k=4)
    whole = table.drop(index=3)
    found = model.confusion(table)
    assert found.equals(model.confusion(whole, whole["kind"])) and found.to_numpy().sum() == 79
    weights = np.arange(80.0)
    weighted = model.confusion(table, sample_weight=weights)
    assert weighted.to_numpy().sum() == weights.sum() - 3
