"""Ordered classes, loss="ordinal": enumeration with another solver, statsmodels, separated classes,
results, and what is refused.
"""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from class_samples import negative_log
from class_samples import ordered_drawn as drawn
from class_samples import ordered_optimum as optimum
from numba import njit
from recomputed import objective_of
from scipy.optimize import linprog, minimize
from scipy.special import expit
from separated_infima import every_infimum

import l0path
from l0path.errors import SeparationWarning
from l0path.problem import verbs
from l0path.problem.coupled.ordinal import Ordinal, best_thresholds
from l0path.problem.recession import ordered_optimum
from l0path.problem.verbs import (
    along_the_way,
    coupling_of_rows,
    derivatives_of_rows,
    slope_along,
)

LABELS = ["low", "mid", "high", "top"]


def as_classes(codes):
    return pd.Categorical.from_codes(codes, LABELS[: codes.max() + 1], ordered=True)


def check_every_size(seed, p=4, max_k=2):
    """Every size against all supports, with what the seed asks for."""
    X, codes, rng = drawn(seed, p=p)
    same, given, forced = {}, {}, ()
    if seed % 2:
        same["weights"] = given["sample_weight"] = rng.integers(1, 3, len(X)).astype(float)
    if seed % 3 == 1:
        same["offset"] = given["offset"] = 0.5 * rng.standard_normal(len(X))
    if seed % 3 == 2:
        forced = given["always_include"] = (1,)
    if seed % 4 == 1:
        same["lambda2"] = given["lambda2"] = 0.02
    if seed % 4 == 3:
        same["low"] = given["lower"] = -0.4
    if seed % 5 == 4:
        same["lambda1"] = given["lambda1"] = 0.01
    effort = l0path.solvers.LocalSearch(effort="high")
    path = l0path.fit(X, as_classes(codes), loss="ordinal", max_k=max_k, algorithm=effort, **given)
    free = [j for j in range(p) if j not in forced and np.ptp(X[:, j])]
    for s in path._solutions:
        supports = [sorted({*S, *forced}) for S in combinations(free, s.k)]
        best = min(optimum(X, codes, S, **same) for S in supports)
        assert s.objective == pytest.approx(best, rel=1e-7) and s.objective <= best * (1 + 1e-8)
        assert objective_of(path, index=s.k) == pytest.approx(s.objective, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_every_size_is_the_enumerated_best(seed):
    check_every_size(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 112))
def test_every_size_is_the_enumerated_best_of_more_columns(seed):
    check_every_size(seed, p=7, max_k=3)


def least_of_groups(X, codes, sets, sizes, **same):
    """{k: the least value of k groups} over all sets of them."""
    return {
        k: min(
            optimum(X, codes, sorted({j for g in chosen for j in sets[g]}), **same)
            for chosen in combinations(range(len(sets)), k)
        )
        for k in sizes
    }


@pytest.mark.parametrize(
    "seed", [1, 2, 3, *(pytest.param(i, marks=pytest.mark.slow) for i in range(4, 104))]
)
def test_groups_are_as_low_as_enumeration_finds(seed):
    X, codes, rng = drawn(seed, p=6)
    sets = [[0, 1], [2], [3, 4], [4, 5, 1] if seed % 2 else [5]]
    same, given = {}, {}
    if seed % 3 == 0:
        same["weights"] = given["sample_weight"] = rng.integers(1, 3, 60).astype(float)
    if seed % 3 == 1:
        same["offset"] = given["offset"] = 0.5 * rng.standard_normal(60)
    if seed % 4 == 1:
        same["lambda2"] = given["lambda2"] = 0.02
    if seed % 4 == 3:
        same["low"] = given["lower"] = -0.4
    given |= {"loss": "ordinal", "groups": sets}
    path = l0path.fit(X, codes, algorithm=l0path.solvers.LocalSearch(effort="high"), **given)
    best = least_of_groups(X, codes, sets, range(5), **same)
    for s in path._solutions:
        assert s.objective == pytest.approx(best[s.k], rel=1e-8)
        assert s.objective >= best[s.k] * (1 - 1e-9)
    if "lower" not in given:
        proof = path.certify(k=2)
        assert proof.proven and proof.lower_bound <= best[2] * (1 + 1e-9)
        assert proof.incumbent == pytest.approx(best[2], rel=1e-8)
    penalized = l0path.fit(X, codes, lambda0=[0.1, 0.01], **given)
    for s in penalized._solutions:
        known = min(value + s.lambda0 * k for k, value in best.items())
        assert s.objective == pytest.approx(known, rel=1e-8)


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(i, marks=pytest.mark.slow) for i in range(3, 40))]
)
def test_lower_bounds_are_never_above_the_enumerated_optimum(seed):
    X, codes, rng = drawn(seed)
    how = {"lambda2": (0.02, 0.2, 2.0)[seed % 3], "lambda1": (0.0, 0.01)[seed % 2]}
    weights = rng.uniform(0.5, 2.0, len(X)) if seed % 2 else None
    path = l0path.fit(X, codes, loss="ordinal", max_k=3, certify=True, sample_weight=weights, **how)
    best = [
        min(optimum(X, codes, list(S), weights=weights, **how) for S in combinations(range(5), k))
        for k in range(4)
    ]
    lower = path.details["lower_bound"].to_numpy()
    assert len(lower) == 4 and (lower <= np.array(best) + 1e-9).all()
    assert lower[0] == pytest.approx(best[0]) and (lower > 0.5 * np.array(best)).all()


def test_verbs_are_derivatives_at_the_best_thresholds():
    _, codes, rng = drawn(0, n=20)
    y, eta, w = codes.astype(float), 2.0 * rng.standard_normal(20), rng.uniform(0.5, 2.0, 20)
    w, loss, h = w / w.sum(), Ordinal(4), 1e-5
    slopes, v, rest = np.empty(20), np.empty(20), np.empty(20)
    value = verbs.derivatives(loss, y, eta, w, slopes, v)
    assert value == pytest.approx(verbs.mean_loss(loss, y, eta, w), rel=1e-14)
    P = verbs.coupled_columns(loss, y, eta, w, np.eye(20))
    for i, e in enumerate(h * np.eye(20)):
        up, down = np.empty(20), np.empty(20)
        rise = verbs.derivatives(loss, y, eta + e, w, up, rest)
        rise -= verbs.derivatives(loss, y, eta - e, w, down, rest)
        assert slopes[i] == pytest.approx(rise / (2 * h), abs=1e-9)
        np.testing.assert_allclose((np.diag(v) - P @ P.T)[i], (up - down) / (2 * h), atol=1e-9)


@njit
def along(loss, y, weights, etas, asked, found, coupled):
    """The values at predictors that a kernel asks for one after the other, their derivatives in
    found (m, 2, n), P of all rows in coupled (m, n, K - 1), and the slopes towards the next.
    """
    way, out = along_the_way(loss, y), np.empty((2, asked.size))
    for m in range(asked.size):
        eta, after = etas[asked[m]], etas[asked[(m + 1) % asked.size]]
        out[1, m] = slope_along(way, y, weights, eta, after, 0.0)
        out[0, m] = derivatives_of_rows(way, y, eta, weights, found[m, 0], found[m, 1])
        coupling_of_rows(way, y, eta, weights, np.eye(y.size), coupled[m])
    return out


def test_a_memory_of_predictors_changes_no_value():
    _, codes, rng = drawn(0, n=20)
    y, w, loss = codes.astype(float), np.full(20, 1 / 20), Ordinal(4)
    etas = [np.zeros(20), 0.1 * rng.standard_normal(20), 1e6 * rng.standard_normal(20)]
    etas += [-3.0 * np.ones(20), 25.0 * (codes - 1.5), 30.0 * rng.standard_normal(20)]
    asked = np.array([0, 1, 0, 2, 1, 1, 2, 3, 4, 5, 4, 5, 3, 0])  # near and far, again and new
    found, coupled = np.empty((asked.size, 2, 20)), np.empty((asked.size, 20, 3))
    values, slopes = along(verbs.loss_data(loss), y, w, np.array(etas), asked, found, coupled)
    for m, i in enumerate(asked):
        known, move = np.empty((2, 20)), etas[asked[(m + 1) % asked.size]] - etas[i]
        value = verbs.derivatives(loss, y, etas[i], w, *known)
        assert values[m] == pytest.approx(value, rel=1e-12)
        assert slopes[m] == pytest.approx(known[0] @ move, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(found[m], known, atol=1e-9)
        Q = verbs.coupled_columns(loss, y, etas[i], w, np.eye(20))
        np.testing.assert_allclose(coupled[m] @ coupled[m].T, Q @ Q.T, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_by_weak_duality_are_below_the_optimum(seed):
    X, codes, rng = drawn(3 * seed)
    y, w, loss = codes.astype(float), np.full(60, 1 / 60), Ordinal(4)
    Z = np.ascontiguousarray((X - X.mean(axis=0))[:, :3].T)
    best = optimum(X, codes, [0, 1, 2])
    b, slopes, v, tight = 0.5 * rng.standard_normal(3), np.empty(60), np.empty(60), -np.inf
    for _ in range(7):
        eta = b @ Z
        value = verbs.derivatives(loss, y, eta, w, slopes, v)
        C = verbs.coupled_columns(loss, y, eta, w, Z)
        b = b - np.linalg.solve((Z * v) @ Z.T - C @ C.T, Z @ slopes)
        tangent = verbs.Tangent(eta, slopes.copy(), v.copy())
        tight = value + verbs.dual_bound(loss, y, w, tangent, b @ Z)
        assert tight <= best + 1e-8
    assert tight == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("offset", [False, True])
def test_refits_are_those_of_statsmodels(offset):
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    X, codes, rng = drawn(0)
    y, shift = as_classes(codes), 0.5 * rng.standard_normal(60) if offset else None
    path = l0path.fit(X, y, loss="ordinal", max_k=2, offset=shift)
    support, coef = path.support(k=2), path.coef(k=2)
    model = OrderedModel(pd.Series(y), X[:, support], offset=shift, distr="logit")
    known = model.fit(method="bfgs", disp=0, gtol=1e-8, maxiter=1000)
    assert path.details.loss[2] == pytest.approx(-known.llf / 60, rel=1e-9)
    np.testing.assert_allclose(coef.iloc[3:], known.params[:2], atol=1e-6)
    thresholds = model.transform_threshold_params(known.params.to_numpy())[1:-1]
    np.testing.assert_allclose(coef.iloc[:3], thresholds, atol=1e-6)
    assert list(coef.index[:3]) == ["low|mid", "mid|high", "high|top"]
    results = path.model(k=2).refit()
    np.testing.assert_allclose(results.params, [*known.params[:2], *thresholds], atol=1e-5)
    assert "too optimistic" in str(results.summary())
    assert path.score_table().loglik[2] == pytest.approx(known.llf)
    assert path.score_table().aic[2] == pytest.approx(known.aic)


def test_refits_of_rows_that_stand_for_several():
    X, codes, rng = drawn(0)
    weights = rng.integers(0, 3, 60)
    again = np.repeat(np.arange(60), weights)
    path = l0path.fit(X, codes, loss="ordinal", max_k=2, freq_weight=weights.astype(float))
    repeated = l0path.fit(X[again], codes[again], loss="ordinal", max_k=2)
    results = path.model(k=2).refit()
    np.testing.assert_allclose(results.params, repeated.model(k=2).refit().params, atol=1e-6)
    np.testing.assert_allclose(results.params[:2], path.coef(k=2).iloc[3:], atol=1e-5)


def test_two_ordered_classes_are_the_logistic_loss():
    X, codes, _ = drawn(0)
    y = np.where(codes > 1, "b", "a")
    ordered = l0path.fit(X, y, loss="ordinal", lambda2=0.05, max_k=3)
    two = l0path.fit(X, y, loss="logistic", lambda2=0.05, max_k=3)
    np.testing.assert_allclose(ordered.details.objective, two.details.objective, rtol=1e-9)
    np.testing.assert_allclose(ordered.coef(k=2).iloc[1:], two.coef(k=2).iloc[1:], rtol=1e-6)
    np.testing.assert_allclose(ordered.predict(X, k=2)[:, 1], two.predict(X, k=2), rtol=1e-7)


def separates(X, codes):
    """Whether a direction of coefficients and thresholds never worsens a row and betters some."""
    K, rows = int(codes.max()) + 1, []
    for x, c in zip(X, codes, strict=True):
        e = np.eye(K - 1)
        rows += [np.append(-x, e[c])] if c < K - 1 else []
        rows += [np.append(x, -e[c - 1])] if c else []
    A = np.array(rows)
    found = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    return -found.fun > 1e-6


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("seed", range(6))
def test_separated_supports_are_those_of_a_linear_program(seed):
    X, codes, _ = drawn(3 * seed, n=12, p=4, K=3)
    X[:, 3] = np.where(codes == 1, np.arange(12) % 3 == 0, 2.0 * (codes == 2))
    for S in combinations(range(4), 1 + seed % 2):
        path = l0path.fit(X[:, S], codes, loss="ordinal", always_include=list(range(len(S))))
        assert (path.details.status[0] == "separated") == separates(X[:, S], codes)


def way_down(Z, codes, steps):
    """The predictor after so many steps of BFGS from zero, over coefficients and thresholds."""
    m, k = int(codes.max()), Z.shape[1]
    w = np.full(len(Z), 1 / len(Z))

    def value(v):
        gaps = np.exp(v[k + 1 :])
        t = v[k] + np.concatenate([[0.0], np.cumsum(gaps)])
        loss, by_eta, by_t = negative_log(codes, Z @ v[:k], t, w)
        after = np.cumsum(by_t[::-1])[::-1]
        return loss, np.concatenate([Z.T @ by_eta, after[:1], gaps * after[1:]])

    start = np.append(np.zeros(k + 1), np.zeros(m - 1))
    options = {"maxiter": steps, "gtol": 1e-12}
    return Z @ minimize(value, start, jac=True, method="BFGS", options=options).x[:k]


@pytest.mark.parametrize("seed", range(4))
def test_an_optimum_is_told_only_where_no_direction_separates(seed):
    X, codes, _ = drawn(3 * seed, n=12 if seed % 2 else 40, p=3, K=3)
    X[:, 2] = np.where(codes == 1, np.arange(len(X)) % 3 == 0, 2.0 * (codes == 2))
    X[:, 1] *= np.where(np.arange(len(X)) == 5, 40.0, 1.0)  # a row far out, with an optimum
    told = []
    for S in ([0], [1], [0, 1], [2], [0, 2], [0, 1, 2]):
        Z = X[:, S] / np.sqrt((X[:, S] ** 2).mean(axis=0))
        problem = SimpleNamespace(
            loss=Ordinal(3), y=codes.astype(float), weights=np.full(len(X), 1 / len(X))
        )
        apart = separates(Z, codes)
        for steps in (0, 3, 10, 30, 300):
            eta = way_down(Z, codes, steps)
            told.append(ordered_optimum(problem, np.ascontiguousarray(Z.T), eta))
            assert not (apart and told[-1])
        assert apart or told[-1]  # at the optimum
    assert not all(told)


def test_sizes_beyond_a_column_that_separates_and_complete_separation():
    X, codes, _ = drawn(0)
    X[:, 3] = 0.0
    X[np.flatnonzero(codes == 3)[:5], 3] = 1.0
    with pytest.warns(SeparationWarning, match="quasi-completely by .*x3"):
        path = l0path.fit(X, codes, loss="ordinal")
    assert path.status.startswith("complete: k = 0..5")
    want = every_infimum("ordinal", X, codes)
    for s in path._solutions:
        best = min(value for S, value in want.items() if len(S) == s.k)
        assert s.objective == pytest.approx(best, rel=1e-7)
    with pytest.warns(SeparationWarning, match="separate the classes completely"):
        whole = l0path.fit(X, np.digitize(X[:, 1], [-0.5, 0.5]), loss="ordinal")
    assert whole.details.status.iloc[-1] == "separated" and len(whole) == 2


def test_predictions_scores_folds_and_files(tmp_path):
    X, codes, _ = drawn(3)
    table, y = pd.DataFrame(X, columns=list("abcde")), pd.Series(as_classes(codes))
    path = l0path.fit(table, y, loss="ordinal", max_k=3)
    P, labels = path.predict(table, k=2), path.predict(table, k=2, type="class")
    eta, t = path.predict(table, k=2, type="link"), path.model(k=2).intercept.to_numpy()
    np.testing.assert_allclose(
        P.cumsum(axis=1).iloc[:, :3], 1 / (1 + np.exp(eta.to_numpy()[:, None] - t))
    )
    assert P.columns.tolist() == LABELS and (labels == P.idxmax(axis=1)).all()
    picked = P.to_numpy()[np.arange(60), codes]
    scores = path.model(k=2).score(table, y)
    assert scores["deviance"] == pytest.approx(-2 * np.log(picked).mean())
    assert scores["misclassification"] == np.mean(labels != y.astype(str))
    assert path.details.loss[2] == pytest.approx(-np.log(picked).mean())
    assert np.trace(path.model(k=2).confusion(table, y)) == np.sum(labels == y.astype(str))
    cv = l0path.cv_fit(table, y, loss="ordinal", max_k=2, cv=3, lambda2=0, random_state=0)
    train, test = cv.splits[0]
    alone = l0path.fit(table.iloc[train], y.iloc[train], loss="ordinal", max_k=2)
    expected = alone.model(k=2).score(table.iloc[test], y.iloc[test])["deviance"]
    assert cv.folds.loc[2, 0] == pytest.approx(expected)
    assert cv.held_out(k=2).shape == (60, 4) and cv.held_out(k=2, type="link").shape == (60,)
    path.save(tmp_path / "path.npz")
    again = l0path.load(tmp_path / "path.npz")
    assert again.predict(table, k=2).equals(P) and again.coef(k=2).equals(path.coef(k=2))
    assert again.model(k=2).score(table, y).equals(scores)
    grid = l0path.fit(table, y, loss="ordinal", lambda0="grid", max_k=3)
    assert grid.details.objective[0] == pytest.approx(path.details.objective[0])
    formula = l0path.fit("y ~ a + b + c", table.assign(y=y), loss="ordinal", max_k=2)
    assert formula.predict(table, k=2).shape == (60, 4)
    factor = table.assign(y=y, f=np.array(list("uvw"))[np.arange(60) % 3])
    terms = l0path.fit("y ~ a + f + a:f + b", factor, loss="ordinal")
    assert terms.notes[0].startswith("heredity='strong'")
    assert terms.model(k=1).groups in (["a"], ["b"]) and "f" in terms.model(k=4).groups
    assert path.plot("coef") is not None and "thresholds low|mid" in str(path.model(k=2).summary())


def test_weights_of_classes_and_splitters_know_every_class():
    X, codes, _ = drawn(0)
    y, same = as_classes(codes), {"loss": "ordinal", "lambda2": 0.01, "max_k": 2}
    each = {"low": 3.0, "high": 0.5}
    weights = np.array([each.get(label, 1.0) for label in y])
    balanced = (1.0 / np.bincount(codes))[codes]
    for given, by_row in ((each, weights), ("balanced", balanced)):
        one = l0path.fit(X, y, class_weight=given, **same)
        other = l0path.fit(X, y, sample_weight=by_row, **same)
        np.testing.assert_allclose(one.details.objective, other.details.objective, rtol=1e-10)

    class Seen:
        def split(self, X, y, groups=None):
            np.testing.assert_array_equal(y, np.array(LABELS)[codes])
            rows = np.arange(60)
            yield from ((rows[i::2], rows[1 - i :: 2]) for i in range(2))

    assert l0path.cv_fit(X, y, cv=Seen(), **same).folds.shape == (3, 2)


def test_recovery_leaves_the_thresholds_out():
    data = l0path.simulate.ordinal(150, 6, 2, scale=2.0, random_state=0)
    path = l0path.fit(data.X, data.y, loss="ordinal", max_k=3)
    found = l0path.diagnostics.support_recovery(path, data)
    assert found.exact[2] and found.true_positives.tolist()[:3] == [0, 1, 2]
    b = path.coef(k=2, full=True).to_numpy()[3:]
    error = np.linalg.norm(b - data.beta) / np.linalg.norm(data.beta)
    assert found.estimation_error[2] == pytest.approx(error)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"fit_intercept": False}, "fit_intercept"),
        ({"class_weight": {"lowest": 2.0}}, "'lowest'.*'low', 'mid', 'high', 'top'"),
        ({"pos_label": "low"}, "pos_label"),
        ({"algorithm": "cd"}, "'swap'"),
        ({"strata": np.zeros(60)}, "strata"),
        ({"sample_weight": (drawn(0)[1] != 2).astype(float)}, "class 'high'"),
    ],
)
def test_what_is_not_served_is_refused_by_name(given, word):
    X, codes, _ = drawn(0)
    with pytest.raises(ValueError, match=word):
        l0path.fit(X, as_classes(codes), loss="ordinal", max_k=2, **given)


def test_methods_that_are_not_served_say_so():
    X, codes, _ = drawn(0)
    path = l0path.fit(X, as_classes(codes), loss="ordinal", max_k=2)
    for call in (
        lambda: path.model(k=2).plot("roc"),
        lambda: path.model(k=2).to_sklearn(),
    ):
        with pytest.raises(ValueError, match="ordinal"):
            call()


@pytest.mark.parametrize("kind", [np.asarray, pd.Series, pd.Categorical])
def test_texts_without_an_order_are_refused(kind):
    X, y = np.arange(9.0)[:, None], ["low", "mid", "high"] * 3
    with pytest.raises(ValueError, match="whose order is not known"):
        l0path.fit(X, kind(y), loss="ordinal")


@pytest.mark.parametrize("seed", range(30))
def test_thresholds_do_not_depend_on_how_far_out_a_row_is(seed):
    """A row of an end class that lies on its side costs nothing, wherever it is there."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(8, 40)), int(rng.integers(2, 6))
    y = rng.permutation(np.append(np.arange(K), rng.integers(0, K, n - K))).astype(float)
    w = 10.0 ** rng.uniform(-3, 3, n) if seed % 2 else np.ones(n)
    eta, top = 3.0 * rng.normal(size=n), bool(rng.integers(2))
    row = np.flatnonzero(y == (K - 1 if top else 0))[0]
    found = []
    for far in (1e3, 1e5, 1e7):
        eta[row] = far if top else -far
        best = best_thresholds(Ordinal(K), y, eta, w / w.sum())
        found.append([*best.t, best.loss[0]])
    assert found[1:] == pytest.approx(np.array([found[0], found[0]]), rel=1e-9)


def test_thresholds_are_the_best_ones_where_heavy_rows_cost_next_to_nothing():
    """Slopes in each threshold balance, beside what they are summed from, although the whole loss
    is one of light rows, and as small as their share of the weights.
    """
    for seed in range(20):
        rng, w = np.random.default_rng(seed), np.ones(19)
        y = np.append(rng.permutation(np.arange(16) % 4), [0.0, 2.0, 3.0])
        eta = np.append(rng.choice([0, 50]) + 2.0 * rng.normal(size=16), [-60.0, 110.0, 200.0])
        w[16:] = 1e12
        w /= w.sum()
        ends = np.array([-np.inf, *best_thresholds(Ordinal(4), y, eta, w).t, np.inf])
        upper, lower = ends[y.astype(int) + 1] - eta, ends[y.astype(int)] - eta
        gap = -np.expm1(lower - upper)  # expit(u) - expit(l) = expit(u) expit(-l) gap
        up = w * expit(-upper) / expit(-lower) / gap
        down = w * expit(lower) / expit(upper) / gap
        for j in range(3):
            rising, falling = up[y == j].sum(), down[y == j + 1].sum()
            assert rising == pytest.approx(falling, rel=1e-6, abs=0.0)
