"""Knockoffs: second moments, distances and thresholds by definition."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from inference_samples import optimize, sample
from lazy import lazy
from recomputed import objective_of

import l0path
from l0path.inference import knockoffs
from l0path.inference.gaussian_knockoffs import distances, fixed_knockoffs, model_knockoffs

linalg = lazy("scipy.linalg")


NO_SELECTION = {"n_jobs": 1, "random_state": 0}


# -------------------- knockoffs


@pytest.mark.parametrize("method", ["equi", "sdp", "mvr"])
@pytest.mark.parametrize("intercept", [True, False])
def test_fixed_knockoffs_have_the_gram_matrix_they_must(method, intercept):
    X, _ = sample(60, 8)
    X = X * np.arange(1, 9) + 3.0
    w = np.linspace(0.5, 2, 60)
    twin, s, sigma = fixed_knockoffs(X, w, intercept, method, np.random.default_rng(0))
    center = (w @ X) / w.sum() if intercept else 0.0
    Z, Q = (np.sqrt(w)[:, None] * (A - center) for A in (X, twin))
    size = np.linalg.norm(Z, axis=0)
    Z, Q = Z / size, Q / size
    np.testing.assert_allclose(Q.T @ Q, Z.T @ Z, atol=1e-7)
    np.testing.assert_allclose(Z.T @ Q, Z.T @ Z - np.diag(s), atol=1e-7)
    np.testing.assert_allclose(Z.T @ Z, sigma, atol=1e-12)
    assert (s >= 0).all() and s.max() > 0.1
    if intercept:
        np.testing.assert_allclose(w @ twin, w @ X, rtol=1e-9)


def test_model_knockoffs_exchange_in_second_moments():
    rng = np.random.default_rng(0)
    sigma = linalg.toeplitz(0.6 ** np.arange(5)) * np.outer([1, 2, 3, 1, 1], [1, 2, 3, 1, 1])
    X = rng.multivariate_normal(np.arange(5.0), sigma, 200_000)
    twin, s, _ = model_knockoffs(X, np.arange(5.0), sigma, "mvr", rng)
    joint = np.cov(np.hstack([X, twin]).T)
    D = np.diag(s * np.diag(sigma))
    np.testing.assert_allclose(
        joint, np.block([[sigma, sigma - D], [sigma - D, sigma]]), atol=0.02 * 9
    )
    np.testing.assert_allclose(twin.mean(axis=0), np.arange(5.0), atol=0.03)
    swap = np.arange(10)
    swap[[1, 3, 6, 8]] = [6, 8, 1, 3]
    np.testing.assert_allclose(joint[np.ix_(swap, swap)], joint, atol=0.03 * 9)


@pytest.mark.parametrize(
    "row",
    [0.5 ** np.arange(4), [1, 0.6, 0.1, -0.2], [1, 0.7, 0.7]],
    ids=["ar1", "toeplitz", "constant"],
)
def test_distances_are_optima_of_what_defines_them(row):
    sigma = linalg.toeplitz(row)
    p = len(sigma)

    def least(s):
        return linalg.eigvalsh(2 * sigma - np.diag(s))[0]

    inside = {"type": "ineq", "fun": least}
    start = np.full(p, 0.3 * linalg.eigvalsh(sigma)[0])
    sdp = optimize.minimize(
        lambda s: -s.sum(),
        start,
        method="SLSQP",
        bounds=[(0, 1)] * p,
        constraints=[inside],
        options={"maxiter": 500},
    )
    assert distances(sigma, "sdp").sum() == pytest.approx(-sdp.fun, abs=5e-3 * p)

    def trace(s):
        return (
            np.inf
            if least(s) <= 0 or s.min() <= 0
            else (1 / s).sum() + np.trace(np.linalg.inv(2 * sigma - np.diag(s)))
        )

    mvr = optimize.minimize(
        trace, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8, "maxiter": 4000}
    )
    assert trace(distances(sigma, "mvr")) == pytest.approx(mvr.fun, rel=1e-4)
    np.testing.assert_allclose(
        distances(sigma, "equi"), min(1, 2 * linalg.eigvalsh(sigma)[0]), rtol=1e-6
    )
    for method in ("equi", "sdp", "mvr"):
        assert least(distances(sigma, method)) >= 0


@pytest.mark.parametrize("method", ["equi", "sdp", "mvr"])
def test_nearly_dependent_columns_keep_a_distance(method):
    sigma = np.array([[1.0, 1.0 - 1e-9], [1.0 - 1e-9, 1.0]])
    s = distances(sigma, method)
    assert (s > 0).all() and linalg.eigvalsh(2 * sigma - np.diag(s))[0] >= -1e-15


def test_threshold_by_hand_and_empty_set():
    W = np.array([5.0, 4.0, 3.0, -2.5, 2.0, 1.0, 0.0, -0.5])
    assert knockoffs.threshold_of(W, 0.4, plus=True) == 1.0  # (1 + 1) / 5
    assert knockoffs.threshold_of(W, 0.35, plus=True) == 3.0  # (1 + 0) / 3
    assert knockoffs.threshold_of(W, 0.25, plus=False) == 1.0  # 1 / 5 <= 1 / 4; at 0.5: 2 / 5
    assert (
        knockoffs.threshold_of(W, 0.3, plus=True)
        == knockoffs.threshold_of(np.zeros(3), 0.5)
        == math.inf
    )
    X, y = sample()
    result = l0path.knockoff_filter(
        X, y, fdr=0.05, random_state=0
    )  # two true columns: 1 / 2 is the least that plus=True can estimate
    assert result.threshold == math.inf and result.selected == []
    assert sorted(
        l0path.knockoff_filter(X, y, fdr=0.05, plus=False, random_state=0).selected[:2]
    ) == ["x1", "x4"]


@pytest.mark.parametrize("statistic", ["entry", "coefficient"])
def test_statistics_are_those_of_the_path_over_pairs(statistic):
    X, y = sample()
    result = l0path.knockoff_filter(
        X, y, statistic=statistic, max_k=6, random_state=4, always_include=["x9"]
    )
    path, expected = result.path, []
    assert (
        path.names[0] == "x9"
        and {name.lstrip("~") for name in path.names[1:10]} == {f"x{j}" for j in range(9)}
        and any(name[0] == "~" for name in path.names[1:10])
    )
    for j in range(9):
        Z = []
        for name in (f"x{j}", f"~x{j}"):
            column = path.coef(standardized=True, full=True).loc[name].to_numpy()
            sizes = path.details.k[column != 0]
            Z.append(
                np.abs(column).sum()
                if statistic == "coefficient"
                else 7 - sizes.min()
                if len(sizes)
                else 0
            )
        expected.append(max(Z) * np.sign(Z[0] - Z[1]))
    np.testing.assert_allclose(result.statistic, [*expected, 0.0], rtol=1e-12)
    np.testing.assert_allclose(
        objective_of(result.path, k=6),
        objective_of(
            l0path.fit(np.hstack([X, result.knockoffs[:, :9]]), y, always_include=[9], max_k=6), k=6
        ),
        rtol=1e-9,
    )


def test_which_kind_is_valid():
    X, y = sample(60)
    assert l0path.knockoff_filter(X, y, **NO_SELECTION).kind == "fixed"
    assert (
        l0path.knockoff_filter(X[:20], y[:20], **NO_SELECTION).kind == "model"
    )  # 2 p + 1 rows are needed
    assert (
        l0path.knockoff_filter(
            X, sample(60, loss="logistic")[1], loss="logistic", lambda2=0.01, **NO_SELECTION
        ).kind
        == "model"
    )
    with pytest.raises(ValueError, match=r"kind='fixed' needs at least 21 rows .* X has 20"):
        l0path.knockoff_filter(X[:20], y[:20], kind="fixed")
    with pytest.raises(ValueError, match="only for the squared loss"):
        l0path.knockoff_filter(X, np.sign(y), loss="logistic", kind="fixed")


def test_columns_that_cannot_compete_have_no_statistic():
    X, y = sample()
    X = np.column_stack([X, np.ones(120), X[:, 1]])
    for kind in ("fixed", "model"):
        result = l0path.knockoff_filter(sp.csc_array(X), y, kind=kind, exclude=[0], random_state=0)
        assert (
            result.s.iloc[[0, 10, 11]].tolist() == [0.0] * 3
            and (result.s.iloc[1:10] > 0).all()
            and result.statistic.iloc[[0, 10, 11]].tolist() == [0.0] * 3
        )
        np.testing.assert_array_equal(result.knockoffs[:, [0, 10, 11]], X[:, [0, 10, 11]])
        assert result.statistic.sort_values().index[-2:].tolist() in (["x1", "x4"], ["x4", "x1"])


@pytest.mark.parametrize("loss", ["cox", "binomial"])
def test_rows_without_weight_take_no_part(loss):
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(60, 4)), 60
    w, how = rng.integers(0, 3, n).astype(float), {"loss": loss, "max_k": 3, "random_state": 1}
    if loss == "cox":
        time = rng.exponential(size=n) * np.exp(-X[:, 0])
        y, strata = np.column_stack([time, rng.random(n) < 0.8]), rng.integers(0, 2, n)
    else:
        y, strata = rng.binomial(4, 1 / (1 + np.exp(-X[:, 0]))) / 4, None
    seen, given = w > 0, {} if strata is None else {"strata": strata}
    every = l0path.knockoff_filter(X, y, sample_weight=w, **given, **how)
    given = {name: value[seen] for name, value in given.items()}
    some = l0path.knockoff_filter(X[seen], y[seen], sample_weight=w[seen], **given, **how)
    np.testing.assert_allclose(every.statistic, some.statistic, rtol=1e-9)


def test_more_features_than_can_compete_are_told_with_the_limit():
    X = np.random.default_rng(0).standard_normal((10, 16_385))
    with pytest.raises(ValueError, match="at most 16384 features compete; screen"):
        l0path.knockoff_filter(X, X[:, 0], kind="model")


@pytest.mark.parametrize("kind", ["model", "fixed"])
def test_a_copy_of_a_feature_leaves_no_other_feature_out(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 8))
    y = X[:, 0] - X[:, 3] + rng.standard_normal(100)
    plain = l0path.knockoff_filter(X, y, kind=kind, random_state=1)
    # the copies of the features 0 and 2 are the columns 1 and 4
    columns = [0, 0, 1, 2, 2, 3, 4, 5, 6, 7]
    copied = l0path.knockoff_filter(X[:, columns], y, kind=kind, random_state=1)
    assert copied.path.details.k.max() == plain.path.details.k.max() == 16
    W = copied.statistic.to_numpy()
    assert W[[1, 4]].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(np.delete(W, [1, 4]), plain.statistic.to_numpy(), rtol=1e-8)
