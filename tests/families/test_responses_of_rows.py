"""Several responses of losses of rows, which share the columns of a model and nothing else:
enumeration by the sum of single optima, single fits, derivatives, proofs, separation, results, and
what is refused.
"""

from itertools import combinations

import numpy as np
import oracles
import pandas as pd
import pytest
import scipy.sparse
from own_rows import RowByRow
from thinning import slow_but, thinned

import l0path
from l0path import losses
from l0path.errors import SeparationWarning
from l0path.inspection.neighbors import fit_data
from l0path.problem.problem import pose
from l0path.problem.verbs import mean_loss
from l0path.working_set.model import make_model

HIGH = l0path.solvers.LocalSearch(effort="high")
# each with the numbers of `oracles.EVERY` for it
KINDS = {
    "logistic": (losses.Logistic, {}, {}),
    "poisson": (losses.Poisson, {}, {}),
    "gamma": (losses.Gamma, {}, {}),
    "negative_binomial": (losses.NegativeBinomial, {"theta": 2.0}, {"delta": 2.0}),
    "tweedie": (losses.Tweedie, {"power": 1.5}, {"delta": 1.5}),
    "huber": (losses.Huber, {"delta": 1.0}, {"delta": 1.0}),
    "squared_hinge": (losses.SquaredHinge, {}, {}),
    "smoothed_hinge": (losses.SmoothedHinge, {"width": 0.5}, {"gamma": 0.5}),
}
CLASSES = ("logistic", "squared_hinge", "smoothed_hinge")


def drawn(kind, seed, n=50, p=5, r=3):
    """X (n, p), Y (n, r) as `fit` takes it, and as the oracle does."""
    rng = np.random.default_rng([7, seed])
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    signal = X[:, :3] @ (rng.standard_normal((3, r)) * (rng.random((3, 1)) < 0.8))
    Y = np.column_stack([oracles._response(kind, one, rng) for one in signal.T])
    return X, (Y > 0).astype(float) if kind in CLASSES else Y, Y


def options_of(seed, n, p, r, rng):
    """(arguments of `fit`, those of the oracle, offsets (n, r), weights of responses)."""
    given, same, v, offset = {}, {"lambda2": 0.02}, np.ones(r), np.zeros((n, r))
    if seed % 2:
        same["weights"] = given["sample_weight"] = rng.uniform(0.3, 2.0, n)
    if seed % 3 == 1:
        offset = given["offset"] = 0.3 * rng.standard_normal((n, r))
    if seed % 3 == 2:
        v = np.array([1.0, 0.2, 3.0])[:r]
    if seed % 5 == 1:
        same["lambda1"] = given["lambda1"] = 0.01
    if seed % 5 == 2:
        same["lower"] = given["lower"] = -0.3
        same["upper"] = given["upper"] = 0.4
    if seed % 5 == 3:
        same["intercept"] = given["fit_intercept"] = False
    given["lambda2"] = same["lambda2"]
    return given, same, offset, v


def value_of(X, Y, S, same, offset, v):
    """The sum over the responses of the least values on a support."""
    each = [
        oracles.restricted(X, y, S, offset=o, **same)[0] for y, o in zip(Y.T, offset.T, strict=True)
    ]
    return float(v @ each)


@pytest.mark.parametrize(("kind", "seed"), thinned(3, KINDS, range(6)))
def test_every_size_is_the_best_of_all(kind, seed):
    """Within the reach of exchanges: "high" effort on five columns."""
    X, given_y, Y = drawn(kind, seed)
    rng = np.random.default_rng(seed)
    given, same, offset, v = options_of(seed, *X.shape, Y.shape[1], rng)
    record, numbers, of_oracle = KINDS[kind]
    if seed == 4:  # a constant, and a copy of a column
        X[:, 4], X[:, 3] = 2.0, -3.0 * X[:, 0]
    table = scipy.sparse.csc_array(X) if seed % 4 == 3 else X
    loss = record(**numbers, response_weights=v)
    path = l0path.fit(table, given_y, loss=loss, algorithm=HIGH, **given)
    same = {"loss": kind, **of_oracle, **same}
    free = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) > 0]
    assert len(path) > 2
    for s in path._solutions:
        values = {S: value_of(X, Y, S, same, offset, v) for S in combinations(free, s.k)}
        own = value_of(X, Y, s.support, same, offset, v)
        assert s.objective == pytest.approx(own, rel=1e-9)
        assert own <= min(values.values()) + 1e-9 * abs(own)


@pytest.mark.parametrize("seed", range(8))
def test_squared_responses_keep_to_themselves_under_lambda1_and_bounds(seed):
    """No rotation of the responses then: one that others explain stays."""
    rng = np.random.default_rng([8, seed])
    X, _, Y = drawn("huber", 30 + seed)
    if seed % 2:
        Y[:, 2] = Y[:, 0] - 2.0 * Y[:, 1]
    same, v = {}, np.array([1.0, 0.3, 4.0])
    if seed % 4 < 3:
        same["lambda1"] = 0.05
    if seed % 4 > 1:
        same["lower"], same["upper"] = -0.25, 0.4
    if seed % 3 == 1:
        same["lambda2"] = 0.05
    if seed == 5:  # nearly dependent columns
        X[:, 4] = X[:, 3] + 1e-9 * rng.standard_normal(len(X))
    path = l0path.fit(X, Y, loss=losses.Squared(response_weights=v), algorithm=HIGH, **same)
    same, none = {"loss": "squared", **same}, np.zeros(Y.shape)
    for s in path._solutions:
        values = [value_of(X, Y, S, same, none, v) for S in combinations(range(5), s.k)]
        own = value_of(X, Y, s.support, same, none, v)
        assert s.objective == pytest.approx(own, rel=1e-8)
        assert own <= min(values) * (1 + 1e-8)


@pytest.mark.parametrize("groups", [None, [0, 0, 1, 2, 3]])
@pytest.mark.parametrize("kind", ["squared", "poisson"])
@pytest.mark.parametrize("same", [{"lambda1": 0.05}, {"lower": -0.1, "upper": 0.2}])
def test_alternatives_have_the_penalties_of_the_fit(same, kind, groups):
    X, _, Y = drawn("poisson", 12)
    path = l0path.fit(X, Y, loss=kind, max_k=3, groups=groups, **same)
    model, same = path.model(k=2), {"loss": kind, **same}
    columns = [[j] for j in range(5)] if groups is None else [[0, 1], [2], [3], [4]]
    inside = list(path._solutions[2].units)

    def value(units):
        S = sorted(j for g in units for j in columns[g])
        return value_of(X, Y, S, same, np.zeros(Y.shape), np.ones(3))

    others = [g for g in range(len(columns)) if g not in inside]
    near = sorted(value([*[g for g in inside if g != i], j]) for i in inside for j in others)
    found = model.alternatives(n=3).objective
    np.testing.assert_allclose(found, near[: len(found)], rtol=1e-7)
    rises = [value([g for g in inside if g != i]) - value(inside) for i in inside]
    table = model.summary().table
    np.testing.assert_allclose(table.increase_if_dropped, rises, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("given", [{"lambda1": 0.2}, {"lower": -0.1}])
def test_loaded_responses_keep_to_themselves_too(given, tmp_path):
    """One that others explain is no combination of theirs under lambda1 and bounds."""
    X, _, Y = drawn("huber", 31)
    Y[:, 2] = Y[:, 0] - 2.0 * Y[:, 1]
    path = l0path.fit(X, Y, max_k=3, **given)
    path.save(tmp_path / "path.l0", data=True)
    path.save(tmp_path / "bare.l0")
    before = path.model(k=2).alternatives(n=3)
    for file, data in (("path.l0", {}), ("bare.l0", {"X": X, "y": Y})):
        after = l0path.load(tmp_path / file).model(k=2).alternatives(n=3, **data)
        pd.testing.assert_frame_equal(after, before)


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_a_grid_of_lambda1_begins_where_all_coefficients_are_zero(loss):
    X, Y, _ = drawn("poisson", 3)
    record = {"squared": losses.Squared, "poisson": losses.Poisson}[loss]
    weights = record(response_weights=[1.0, 9.0, 0.1])
    path = l0path.fit(X, Y, loss=weights, lambda1=l0path.grid(n=4), max_k=2)
    top = max(s.lambda1 for s in path._solutions)
    first = [s for s in path._solutions if s.lambda1 == top]
    assert all(not s.beta.any() for s in first)
    near = l0path.fit(X, Y, loss=weights, lambda1=0.999 * top, k=1)._solutions[-1]
    assert near.beta.any()


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_given_set_every_response_has_its_own_fit(kind):
    X, Y, _ = drawn(kind, 11, n=80)
    loss = KINDS[kind][0](**KINDS[kind][1])
    path = l0path.fit(X, Y, loss=loss, lambda2=0.01, max_k=3)
    J = path.support(k=3)
    for r in range(Y.shape[1]):
        one = l0path.fit(
            X[:, J], Y[:, r], loss=loss, lambda2=0.01, always_include=range(3), max_k=0
        )
        expected = one.coef(k=0)
        np.testing.assert_allclose(path.coef(k=3).to_numpy()[:, r], expected, rtol=1e-6, atol=1e-8)
        predicted = path.predict(X, k=3)
        own = one.predict(X[:, J], k=0)
        np.testing.assert_allclose(predicted[:, r], own, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["logistic", "poisson", "tweedie"])
def test_slopes_and_curvatures_of_the_responses(kind):
    X, Y, _ = drawn(kind, 3)
    v = [0.5, 1.0, 4.0]
    loss = KINDS[kind][0](**KINDS[kind][1], response_weights=v)
    path = l0path.fit(X, Y, loss=loss, lambda2=0.01, max_k=2)
    model = make_model(pose(fit_data(path, None, None)))
    model.grow(np.arange(X.shape[1]))
    fit = model.refit(np.array([0, 2]), 0.0, 0.0)
    eta, slopes, v = model.derivatives(fit)
    rows, h = model.row_data(model.Z), 1e-6
    values = []
    for step in (h, -h):
        moved = eta.copy()
        moved[1, 5] += step
        values.append(mean_loss(model.loss, rows.y, moved.ravel(), rows.weights))
    assert (values[0] - values[1]) / (2 * h) == pytest.approx(slopes[1, 5], rel=1e-5, abs=1e-9)
    # the curvature of a response is its own, and two responses share none
    for s, one in enumerate(model.problem.fits_of_each(fit)):
        single = model.each[s].derivatives(one)
        np.testing.assert_allclose(v[s * (s + 3) // 2], single.v, rtol=1e-12)
    assert not v[[1, 3, 4]].any()


@pytest.mark.parametrize("kind", slow_but(["logistic", "poisson", "huber"], KINDS))
def test_proofs_and_bounds(kind):
    X, given_y, Y = drawn(kind, 5)
    loss = KINDS[kind][0](**KINDS[kind][1], response_weights=[1.0, 2.0, 0.5])
    same = {"loss": kind, **KINDS[kind][2], "lambda2": 0.05}
    v, none = np.array([1.0, 2.0, 0.5]), np.zeros(Y.shape)
    path = l0path.fit(X, given_y, loss=loss, lambda2=0.05)
    bounded = l0path.fit(X, given_y, loss=loss, lambda2=0.05, certify=True)
    for k in range(X.shape[1] + 1):
        values = {S: value_of(X, Y, S, same, none, v) for S in combinations(range(5), k)}
        least = sorted(values.values())
        assert bounded._solutions[k].lower_bound <= least[0] + 1e-9
        found = path.certify(k=k)
        assert found.proven and found.incumbent == pytest.approx(least[0], rel=1e-7)
        assert found.lower_bound <= least[0] * (1 + 1e-9 * np.sign(least[0]))
        if k == 2:
            within = 1.01 * (least[3] - least[0])
            near = path.near_best(k=2, within=within)
            assert near.complete
            some = [value for value in least if value <= least[0] + within]
            np.testing.assert_allclose(near.table.objective, some, rtol=1e-7)
    exact = l0path.fit(X, given_y, loss=loss, lambda2=0.05, algorithm="exact")
    assert set(exact.table.optimality) == {"global"}
    np.testing.assert_allclose(exact.table.objective, path.table.objective, rtol=1e-8)


def test_a_separated_response_has_its_infimum_and_is_named():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    Y = pd.DataFrame(
        {"u": X.b + rng.logistic(size=60) > 0, "v": X.a > 0.1, "w": X.c + rng.logistic(size=60) > 0}
    )
    with pytest.warns(SeparationWarning, match=r"completely.* by|separate the classes.*\(v\)"):
        path = l0path.fit(X, Y, loss="logistic", max_k=3)
    assert "(v)" in path.status and "(u" not in path.status
    row = next(s for s in path._solutions if s.k == 1)
    assert [X.columns[j] for j in row.support] == ["a"] and row.status == "separated"
    rest = sum(
        l0path.fit(X[["a"]], Y[name], loss="logistic", k=1).model(k=1).objective for name in "uw"
    )
    assert row.objective == pytest.approx(rest, rel=1e-9)


def test_responses_of_very_different_sizes_are_ranked_by_their_own_curvature():
    """A rare count whose signal is strong, beside a frequent one without any."""
    rng = np.random.default_rng(0)
    n, p, hits = 300, 40, 0
    for _ in range(5):
        X = rng.standard_normal((n, p))
        Y = np.column_stack(
            [rng.poisson(np.exp(-2.0 + 1.2 * X[:, 7])), rng.poisson(np.full(n, 400.0))]
        )
        path = l0path.fit(
            X, Y, loss="poisson", max_k=1, algorithm=l0path.solvers.LocalSearch(effort="fast")
        )
        hits += path.support(k=1).tolist() == [7]
    assert hits == 5


def test_criteria_are_those_of_single_fits():
    X, Y, _ = drawn("poisson", 4)
    path = l0path.fit(X, Y, loss="poisson", max_k=2)
    J, table = path.support(k=2), path.score_table()
    refits = path.model(k=2).refit()
    loglik = sum(one.llf for one in refits.values())
    row = table.iloc[2]
    assert row.loglik == pytest.approx(loglik, rel=1e-9) and row.df == 3 * Y.shape[1]
    assert row.aic == pytest.approx(2 * row.df - 2 * loglik)
    assert row.bic == pytest.approx(np.log(Y.size) * row.df - 2 * loglik)
    assert J.size == 2
    binary = drawn("logistic", 4)
    path = l0path.fit(binary[0], binary[1], loss="logistic", max_k=2)
    loglik = sum(one.llf for one in path.model(k=2).refit().values())
    assert path.score_table().loglik[2] == pytest.approx(loglik, rel=1e-9)


def test_scores_are_those_of_scikit_learn():
    from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

    X, Y, _ = drawn("logistic", 6)
    model = l0path.fit(X, Y, loss="logistic", lambda2=1e-2, max_k=2).model(k=2)
    P, found = model.predict(X), model.score(X, Y)
    each = range(Y.shape[1])
    assert found["deviance"] == pytest.approx(sum(2 * log_loss(Y[:, r], P[:, r]) for r in each))
    assert found["auc"] == pytest.approx(np.mean([roc_auc_score(Y[:, r], P[:, r]) for r in each]))
    brier = np.mean([brier_score_loss(Y[:, r], P[:, r]) for r in each])
    assert found["brier"] == pytest.approx(brier)
    wrong = np.mean(model.predict(X, type="class") != Y)
    assert found["misclassification"] == pytest.approx(wrong)


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
def test_files_and_code(kind, tmp_path):
    X, Y, _ = drawn(kind, 8)
    X = pd.DataFrame(X, columns=list("abcde"))
    Y = pd.DataFrame(Y, columns=["u", "v", "w"])
    path = l0path.fit(X, Y, loss=KINDS[kind][0](response_weights=[1, 2, 3]), lambda2=0.01, max_k=2)
    path.save(tmp_path / "path.l0", data=True)
    back = l0path.load(tmp_path / "path.l0")
    assert back.loss == path.loss and back.loss.response_weights == (1.0, 2.0, 3.0)
    pd.testing.assert_frame_equal(back.predict(X, k=2), path.predict(X, k=2))
    assert back.model(k=2).refit()["v"].llf == path.model(k=2).refit()["v"].llf
    scope = {}
    exec(path.model(k=2).to_python(), scope)
    np.testing.assert_allclose(scope["predict"](X), path.predict(X, k=2), rtol=1e-12)


def test_counts_by_a_regressor_and_outer_folds():
    X, Y, _ = drawn("poisson", 9)
    found = l0path.L0Regressor(k=2, loss="poisson").fit(X, Y)
    assert found.predict(X).shape == Y.shape and found.coef_.shape == (3, 5)
    cv = l0path.cv_fit(X, Y, loss="poisson", cv=3, max_k=3)
    assert cv.model("min").predict(X).shape == Y.shape


REFUSED = {
    "numbers for classes": ("logistic", {}, lambda Y: Y + 0.5, "0 and 1"),
    "text": ("logistic", {}, lambda Y: np.where(Y > 0, "a", "b"), "dtype"),
    "negative counts": ("poisson", {}, lambda Y: -1.0 - Y, "negative"),
    "one class": ("logistic", {}, lambda Y: Y * [1, 1, 0], "y2 has one class"),
    "no count": ("poisson", {}, lambda Y: Y * [1, 0, 1], "of y1 is zero"),
    "class weights": ("logistic", {"class_weight": "balanced"}, lambda Y: Y, "one response"),
    "cox": ("cox", {}, lambda Y: Y, "start is not before"),
    "quantile": ("quantile", {}, lambda Y: Y, "takes one response"),
    "delta": ("huber", {}, lambda Y: Y, "delta"),
    "coordinate descent": ("poisson", {"algorithm": "cd"}, lambda Y: Y, "algorithm='cd'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_served_is_refused_by_name(what):
    loss, given, change, words = REFUSED[what]
    X, Y, _ = drawn("logistic", 1)
    with pytest.raises((ValueError, TypeError), match=words):
        l0path.fit(X, change(Y), loss=loss, **given)


def test_a_loss_of_the_users_own():
    X, Y, _ = drawn("huber", 2)
    path = l0path.fit(X, Y, loss=RowByRow(0.7), max_k=2)
    J = path.support(k=2)
    singles = [l0path.fit(X[:, J], y, loss=RowByRow(0.7), k=2).model(k=2).objective for y in Y.T]
    assert path.model(k=2).objective == pytest.approx(sum(singles), rel=1e-9)
