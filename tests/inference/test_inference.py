"""What follows a selection: bounds by their formulas, p-values against statsmodels and hand
computations, knockoffs by their second moments, and what must not matter (processes, the state of
numpy).
"""

import itertools
import math
import signal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from lazy import lazy

import l0path
from l0path.core.control import Stop
from l0path.core.status import End
from l0path.errors import SeparationWarning
from l0path.inference import aggregate_p_values, knockoffs
from l0path.inference import rows as paths_on_rows
from l0path.inference.error_bounds import largest_tail, r_concave, unimodal, worst_case
from l0path.inference.gaussian_knockoffs import distances, fixed_knockoffs, model_knockoffs
from l0path.inference.rows import draw, resolve
from l0path.inference.splitting import Split, combine, identified

linalg = lazy("scipy.linalg")
optimize = lazy("scipy.optimize")
plt = lazy("matplotlib.pyplot")
sm = lazy("statsmodels.api")
stats = lazy("scipy.stats")

NO_SELECTION = {"n_jobs": 1, "random_state": 0}


def sample(n=120, p=10, seed=0, loss="squared"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 3] = 0.6 * X[:, 1] + 0.8 * X[:, 3]
    eta = 1.5 * X[:, 1] - X[:, 4] + 0.3
    if loss == "logistic":
        return X, np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    return X, rng.poisson(np.exp(0.4 * eta)) if loss == "poisson" else eta + rng.standard_normal(n)


# -------------------- stability selection


def halves(X, y, seed, count, **fit):
    """Supports of size k of the pairs of halves that the seeds draw, by fits to copies of the
    rows.
    """
    data = resolve(X, y, fit).request.data
    out = []
    for child in np.random.SeedSequence(seed).spawn(count // 2):
        out += [rows for rows in draw(data, 0.5, np.random.default_rng(child), 2)]
    return out


@pytest.mark.parametrize("kind", ["dense", "sparse", "frame"])
def test_frequencies_are_those_of_paths_on_copied_halves(kind):
    X, y = sample()
    if kind == "sparse":
        X = np.where(np.abs(X) > 0.5, X, 0.0)
    given = (
        sp.csr_array(X)
        if kind == "sparse"
        else pd.DataFrame(X, columns=list("abcdefghij"))
        if kind == "frame"
        else X
    )
    weights, offset = np.linspace(0.5, 2, len(y)), 0.1 * X[:, 0]
    result = l0path.stability_selection(
        given,
        y,
        k=2,
        n_subsamples=8,
        max_k=3,
        sample_weight=weights,
        offset=offset,
        always_include=[9],
        random_state=3,
    )
    count, three = np.zeros(10), np.zeros(10)
    for rows in halves(X, y, 3, 8):
        path = l0path.fit(
            X[rows],
            y[rows],
            max_k=3,
            sample_weight=weights[rows],
            offset=offset[rows],
            always_include=[9],
        )
        count[path.support(k=2)] += 1
        three[path.support(k=3)] += 1
    assert count[9] == 8 and result.frequency.iloc[9] == 0  # forced: in all, counted in none
    np.testing.assert_array_equal(result.frequency.to_numpy()[:9], count[:9] / 8)
    np.testing.assert_array_equal(
        result.by_size[3].reindex(result.frequency.index, fill_value=0.0).to_numpy()[:9],
        three[:9] / 8,
    )
    assert (
        result.selected
        == result.frequency[result.frequency >= 0.6]
        .sort_values(ascending=False, kind="stable")
        .index.tolist()
    )
    assert result.subsets["count"].sum() == 8 and result.subsets["count"].is_monotonic_decreasing
    assert result.subsets.features[0][0] == ("b" if kind == "frame" else "x1")
    assert (
        result.n_chosen == 2
        and result.n_competing == 9
        and result.expected_false == pytest.approx(4 / (0.2 * 9), rel=1e-12)
    )


def test_subsamples_are_disjoint_halves_that_keep_both_classes():
    X, _ = sample(loss="logistic", n=60)
    data = resolve(
        X,
        np.where(np.arange(60) < 4, "rare", "usual"),
        {"loss": "logistic", "sample_weight": np.r_[np.ones(59), 0]},
    ).request.data
    a, b = draw(data, 0.5, np.random.default_rng(0), 2)
    assert not set(a) & set(b) and 59 not in {*a, *b}
    assert [np.sum(rows < 4) for rows in (a, b)] == [2, 2] and len(a) == len(b) == 2 + 27


def test_default_k_expects_at_most_one_false_choice():
    X, y = sample(p=60)
    for threshold in (0.6, 0.9):
        result = l0path.stability_selection(
            X, y, n_subsamples=2, threshold=threshold, random_state=0
        )
        assert worst_case(result.k, 60, threshold) <= 1 < worst_case(result.k + 1, 60, threshold)


def test_groups_are_counted_as_groups():
    X, y = sample()
    labels = ["a", "b", "b", "b", "c", "c", "d", "d", "e", "e"]
    result = l0path.stability_selection(X, y, k=2, n_subsamples=6, groups=labels, random_state=0)
    assert (
        list(result.frequency.index) == list("abcde")
        and sorted(result.selected) == ["b", "c"]
        and result.n_competing == 5
    )


def test_a_column_counts_if_any_slice_chooses_it():
    X, y = sample()
    result = l0path.stability_selection(
        X, y, k=2, n_subsamples=4, lambda2=[10.0, 0.01], random_state=1
    )
    for support, rows in zip(result.supports, halves(X, y, 1, 4), strict=True):
        path = l0path.fit(X[rows], y[rows], lambda2=[10.0, 0.01], max_k=2)
        assert support.tolist() == sorted(
            set(path.support(k=2, slice=0)) | set(path.support(k=2, slice=1))
        )


@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber", "squared_hinge"])
def test_every_loss_finds_what_is_there(loss):
    X, y = sample(200, loss="logistic" if loss == "squared_hinge" else loss, seed=2)
    result = l0path.stability_selection(
        X, y, loss=loss, k=2, n_subsamples=6, lambda2=1e-3, random_state=0
    )
    assert sorted(result.selected) == ["x1", "x4"]


def test_bootstrap_draws_with_replacement_and_has_no_bound():
    X, y = sample()
    result = l0path.stability_selection(
        X, y, k=2, n_subsamples=5, fraction=1.0, bootstrap=True, random_state=5
    )
    rows = np.sort(
        np.random.default_rng(np.random.SeedSequence(5).spawn(1)[0]).choice(np.arange(120), 120)
    )
    np.testing.assert_array_equal(
        result.supports[0], l0path.fit(X[rows], y[rows], max_k=2).support(k=2)
    )
    assert (
        result.bounds.isna().all()
        and math.isnan(result.expected_false)
        and len(np.unique(rows)) < 100
    )


def test_worst_case_and_unimodal_bounds_by_hand():
    assert worst_case(8, 100, 0.9) == pytest.approx(0.8)
    assert unimodal(8, 100, 0.7, 50) == pytest.approx(0.64 / (2 * (0.4 - 0.01)))
    assert unimodal(8, 100, 0.9, 50) == pytest.approx(4 * (0.1 + 0.01) / 1.02 * 0.64)
    assert unimodal(8, 100, 0.897, 50) == unimodal(
        8, 100, 0.9, 50
    )  # frequencies are multiples of 1 / 100
    assert unimodal(70, 100, 0.9, 50) == math.inf and unimodal(8, 100, 0.505, 50) == math.inf


@pytest.mark.parametrize(
    "B, mean, t, r", [(6, 0.08, 0.5, -0.5), (8, 0.1, 0.5, -0.25), (5, 0.1, 0.6, -0.5)]
)
def test_largest_tail_is_a_maximum_over_r_concave_distributions(B, mean, t, r):
    bound, at = largest_tail(mean, t, B, r), round(t * B)
    grid = np.arange(B + 1)

    def power(v):  # f^r, convex, from its second differences
        return (
            v[0]
            + v[1] * grid
            + sum(c * np.maximum(grid - i, 0) for i, c in zip(range(1, B), v[2:], strict=True))
        )

    def masses(v):
        f = np.maximum(power(v), 1e-9) ** (1 / r)
        return f / f.sum()

    best = 0.0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        start = np.r_[1.0, rng.uniform(0.2, 3), rng.uniform(0, 0.3, B - 1)]
        found = optimize.minimize(
            lambda v: -masses(v)[at:].sum(),
            start,
            method="SLSQP",
            bounds=[(0.05, 50), (-5, 50)] + [(0, 50)] * (B - 1),
            options={"maxiter": 300},
            constraints=[
                {"type": "ineq", "fun": lambda v: mean * B - masses(v) @ grid},
                {
                    "type": "ineq",
                    "fun": lambda v: (
                        v[0]
                        + v[1] * B
                        + sum(c * (B - i) for i, c in zip(range(1, B), v[2:], strict=True))
                        - 1e-3
                    ),
                },
            ],
        )
        f = masses(found.x)
        if f @ grid <= mean * B * (1 + 1e-6):
            best = max(best, f[at:].sum())
    assert best <= bound * (1 + 1e-5)
    assert best >= 0.9 * bound  # and a search comes near it


def test_bounds_are_ordered_as_their_assumptions():
    for q, p, tau in itertools.product((3, 10), (100, 1000), (0.6, 0.75, 0.9)):
        assert (
            r_concave(q, p, tau, 50)
            <= unimodal(q, p, tau, 50) * (1 + 1e-9)
            <= worst_case(q, p, tau) * (1 + 1e-9)
        )


# -------------------- sample splitting


def test_aggregated_p_values_by_hand():
    p = np.array(
        [[0.001, 1.0], [0.002, 0.01], [0.04, 1.0], [1.0, 1.0]]
    )  # B = 4: gamma = m / 4, m >= 1
    c = 1 - math.log(0.05)
    np.testing.assert_allclose(
        aggregate_p_values(p),
        [c * min(0.001 * 4, 0.002 * 2, 0.04 * 4 / 3, 1.0), c * 0.04],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        aggregate_p_values(p, 0.5), [(1 - math.log(0.5)) * 0.004, 1.0], rtol=1e-12
    )  # at least two splits must agree
    np.testing.assert_array_equal(aggregate_p_values(p[:1]), p[0])


@pytest.mark.parametrize(
    "loss, family", [("squared", None), ("logistic", "Binomial"), ("poisson", "Poisson")]
)
def test_single_split_is_statsmodels_on_the_rows_left_out(loss, family):
    model = family and getattr(sm.families, family)()
    X, y = sample(160, loss=loss)
    weights = 1.0 + np.arange(160) % 3 if loss == "squared" else np.ones(160)
    table = l0path.split_inference(
        pd.DataFrame(X),
        y,
        n_splits=1,
        k=3,
        loss=loss,
        random_state=7,
        level=0.9,
        sample_weight=weights,
    )
    (train,) = draw(
        resolve(X, y, {"loss": loss}).request.data,
        0.5,
        np.random.default_rng(np.random.SeedSequence(7).spawn(1)[0]),
    )
    held = np.setdiff1d(np.arange(160), train)
    S = l0path.fit(X[train], y[train], loss=loss, max_k=3, sample_weight=weights[train]).support(
        k=3
    )
    rows = np.repeat(held, weights[held].astype(int))
    A, b = (
        sm.add_constant(X[rows][:, S]),
        (y[rows] == "yes").astype(float) if loss == "logistic" else y[rows],
    )
    results = sm.OLS(b, A).fit() if model is None else sm.GLM(b, A, family=model).fit(tol=1e-12)
    np.testing.assert_allclose(
        table.p_value.iloc[S], np.minimum(1, 3 * results.pvalues[1:]), rtol=1e-6
    )
    np.testing.assert_allclose(
        table[["ci_low", "ci_high"]].iloc[S], results.conf_int(0.1)[1:], rtol=1e-5
    )
    others = table.drop(index=table.index[S])
    assert (
        (others.p_value == 1).all()
        and (others.selected == 0).all()
        and np.isneginf(others.ci_low).all()
        and np.isposinf(others.ci_high).all()
    )
    assert (table.selected.iloc[S] == 1).all() and "single split" in table.attrs["method"]


def test_intervals_hold_what_the_aggregated_test_does_not_reject():
    rng = np.random.default_rng(0)
    splits = [
        Split(
            np.array([0, 2]) if b % 3 else np.array([2]),
            *(
                v[: 2 if b % 3 else 1]
                for v in (rng.normal(1, 0.3, 2), np.array([0.4, 0.5]), np.array([0.01, 0.2]))
            ),
            20.0,
        )
        for b in range(12)
    ]
    table = combine(splits, ["a", "b", "c"], 0.9)

    def p_value(column, value):
        p = [
            1.0
            if column not in s.support
            else 2
            * stats.t.sf(
                abs(s.estimate[list(s.support).index(column)] - value)
                / s.error[list(s.support).index(column)],
                20,
            )
            for s in splits
        ]
        return aggregate_p_values(np.array(p)[:, None])[0]

    for column, name in ((0, "a"), (2, "c")):
        low, high = table.loc[name, ["ci_low", "ci_high"]]
        assert np.isfinite([low, high]).all()
        assert p_value(column, low - 1e-6) <= 0.1 < p_value(column, low + 1e-6)
        assert p_value(column, high + 1e-6) <= 0.1 < p_value(column, high - 1e-6)
    assert table.loc["b"].tolist() == [0.0, 1.0, -math.inf, math.inf]
    assert table.loc["a", "selected"] == pytest.approx(8 / 12)


def test_coefficients_that_held_out_rows_do_not_identify_say_nothing():
    A = np.column_stack([np.ones(6), np.arange(6), 2 * np.arange(6), [1, 0, 2, 5, 1, 1]])
    assert identified(A).tolist() == [True, False, False, True]
    X, y = sample()
    X[:, 0] = 0
    X[5, 0] = 1.0  # nonzero in one row: constant wherever that row is not
    y = y + 50 * X[:, 0]
    table = l0path.split_inference(X, y, k=3, n_splits=6, random_state=0)
    assert (
        table.p_value.iloc[0] == 1
        and np.isinf(table.ci_low.iloc[0])
        and 0 < table.selected.iloc[0] < 1
    )
    assert table.p_value.iloc[1] < 1e-4


def test_multi_split_finds_the_columns_and_keeps_the_intervals_around_them():
    X, y = sample(200)
    for fit in (
        {},
        {"rule": lambda path: path.index(k=3)},
        {"always_include": [0]},
        {"groups": [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]},
        {"loss": "huber", "k": 2},
    ):
        table = l0path.split_inference(X, y, n_splits=8, random_state=1, **fit)
        assert table.index[table.p_value < 0.01].tolist() == ["x1", "x4"]
        assert (
            table.ci_low["x1"] < 1.5 < table.ci_high["x1"]
            and table.ci_low["x4"] < -1 < table.ci_high["x4"]
        )
        assert table.selected["x0"] == (1.0 if "always_include" in fit else table.selected["x0"])


# -------------------- knockoffs


@pytest.mark.parametrize("method", ["equi", "sdp", "mvr"])
@pytest.mark.parametrize("intercept", [True, False])
def test_fixed_knockoffs_have_the_gram_matrix_they_must(method, intercept):
    X, _ = sample(60, 8)
    X = X * np.arange(1, 9) + 3.0
    w = np.linspace(0.5, 2, 60)
    twin, s, sigma = fixed_knockoffs(X, w, intercept, method, np.random.default_rng(0))
    centre = (w @ X) / w.sum() if intercept else 0.0
    Z, Q = (np.sqrt(w)[:, None] * (A - centre) for A in (X, twin))
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
            sizes = path.table.k[column != 0]
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
        result.path.objective(k=6),
        l0path.fit(
            np.hstack([X, result.knockoffs[:, :9]]), y, always_include=[9], max_k=6
        ).objective(k=6),
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
    with pytest.raises(ValueError, match="squared loss only"):
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


# -------------------- what they share

CALLS = {
    "stability_selection": {"n_subsamples": 4, "k": 4},
    "split_inference": {"n_splits": 3},
    "knockoff_filter": {},
}


def outcome(name, X, y, **more):
    out = getattr(l0path, name)(X, y, **CALLS[name], **more)
    return (
        out
        if isinstance(out, pd.DataFrame)
        else (out.statistic if name == "knockoff_filter" else out.by_size)
    )


@pytest.mark.parametrize("name", CALLS)
def test_results_depend_on_the_seed_alone(name):
    X, y = sample()
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one = outcome(name, X, y, random_state=11)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    for more in ({"n_jobs": 1}, {"n_jobs": 2}):
        (pd.testing.assert_frame_equal if one.ndim == 2 else pd.testing.assert_series_equal)(
            outcome(name, X, y, random_state=11, **more), one
        )
    assert not outcome(name, X, y, random_state=12).equals(one)
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(10)])
    assert outcome(name, frame, pd.Series(y), random_state=11).index[0].startswith("column ")
    np.testing.assert_allclose(outcome(name, frame, y, random_state=11).to_numpy(), one.to_numpy())
    generator = outcome(name, X, y, random_state=np.random.default_rng(0))
    assert generator.equals(outcome(name, X, y, random_state=np.random.default_rng(0)))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"lambda0": 0.1}, TypeError, "lambda0=0.1 has no meaning here: sizes are compared"),
        ({"grid": "lambda0"}, TypeError, "grid='lambda0' has no meaning here"),
        ({"on_solution": print}, TypeError, "has no meaning here"),
        ({"random_state": -1}, ValueError, "random_state=-1"),
        ({"nonsense": 1}, TypeError, "nonsense"),
        ({"max_k": 0}, ValueError, "max_k=0 must be a whole number >= 1"),
        ({"exclude": range(10)}, ValueError, "no column of X competes"),
        ({"loss": "logistic"}, ValueError, "y has 120 classes"),
    ],
)
def test_bad_input_is_named(name, change, error, message):
    X, y = sample()
    with pytest.raises(error, match=message):
        getattr(l0path, name)(X, y, **{**CALLS[name], **change})


@pytest.mark.parametrize(
    "name, change, message",
    [
        (
            "stability_selection",
            {"threshold": 0.5},
            r"threshold=0.5 must be a number in \(0.5, 1\]",
        ),
        ("stability_selection", {"n_subsamples": 5}, "n_subsamples=5 must be even"),
        ("stability_selection", {"k": 11}, "k=11 must be a whole number >= 1 and at most 10"),
        ("stability_selection", {"k": 3, "max_k": 2}, "max_k=2 is below k=3"),
        ("stability_selection", {"fraction": 0.001}, "fraction=0.001 leaves 0 rows"),
        ("stability_selection", {"fraction": 1.0}, "fraction=1.0"),
        ("stability_selection", {"n_jobs": 0}, "n_jobs=0"),
        ("split_inference", {"n_splits": 0}, "n_splits=0"),
        ("split_inference", {"level": 95}, "level=95"),
        ("split_inference", {"rule": "min"}, "choices of l0path.cv_fit"),
        ("split_inference", {"k": 40}, "k=40"),
        ("split_inference", {"fraction": 0.99}, "too few rows"),
        ("split_inference", {"k": 2, "lambda2": [1.0, 0.1]}, "one model in each slice"),
        ("split_inference", {"loss": "huber"}, "pass k="),
        ("knockoff_filter", {"fdr": 10}, "fdr=10"),
        ("knockoff_filter", {"kind": "second-order"}, "kind='second-order' is not known"),
        ("knockoff_filter", {"s": "max"}, "s='max' is not known"),
        ("knockoff_filter", {"s": 1.9, "kind": "model"}, "s is too large"),
        ("knockoff_filter", {"s": [0.5, 0.5]}, "one for each of the 10 columns"),
        (
            "knockoff_filter",
            {"kind": "model", "covariance": np.eye(3)},
            r"covariance has shape \(3, 3\)",
        ),
        (
            "knockoff_filter",
            {"kind": "model", "covariance": np.ones((10, 10))},
            "covariance of X is singular",
        ),
        (
            "knockoff_filter",
            {"kind": "fixed", "covariance": np.eye(10)},
            "covariance= is for kind='model'",
        ),
        ("knockoff_filter", {"groups": np.arange(10) // 2}, "groups= has no knockoffs"),
    ],
)
def test_bad_input_of_each_is_named(name, change, message):
    X, y = sample()
    with pytest.raises(ValueError, match=message):
        getattr(l0path, name)(X, y, **{**CALLS[name], **change})


def test_hinge_has_no_p_values():
    with pytest.raises(
        ValueError,
        match="split_inference needs a likelihood, which loss='squared_hinge' does not have",
    ):
        l0path.split_inference(*sample(loss="logistic"), loss="squared_hinge")


@pytest.mark.parametrize("name", ["stability_selection", "split_inference"])
def test_time_limit_and_interrupts_keep_what_has_finished(name, monkeypatch):
    X, y = sample()
    whole, calls = outcome(name, X, y, random_state=0), []
    original = paths_on_rows.path_on_rows

    def interrupted(*arguments, error=KeyboardInterrupt):
        calls.append(1)
        if len(calls) > 2:
            raise error
        return original(*arguments)

    module = {"stability_selection": "stability", "split_inference": "splitting"}[name]
    late = Stop(End.TIME_LIMIT.reason, End.TIME_LIMIT)
    for error, says in ((KeyboardInterrupt, "interrupted"), (late, "time_limit reached")):
        calls.clear()
        monkeypatch.setattr(
            f"l0path.inference.{module}.path_on_rows",
            lambda *a, error=error: interrupted(*a, error=error),
        )
        out = getattr(l0path, name)(X, y, **CALLS[name], random_state=0)
        status = out.attrs["status"] if name == "split_inference" else out.status
        assert status.startswith(says) and "2 of" in status
        if name == "stability_selection":
            assert out.n_subsamples == 2
    assert whole is not None
    monkeypatch.undo()
    with pytest.raises(TimeoutError, match="time_limit"):
        getattr(l0path, name)(X, y, **CALLS[name], random_state=0, time_limit=1e-9)


@pytest.mark.parametrize("where", ["resolved", "fit_request"])
@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_before_anything_is_done_is_passed_on(name, where, monkeypatch):
    X, y = sample()
    plain = paths_on_rows.resolved

    def press(*arguments, **more):
        signal.raise_signal(signal.SIGINT)
        return plain(*arguments, **more)

    module = knockoffs if (name, where) == ("knockoff_filter", "fit_request") else paths_on_rows
    monkeypatch.setattr(module, where, press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            getattr(l0path, name)(X, y, **CALLS[name], random_state=0)
    finally:
        signal.signal(signal.SIGINT, before)


def test_plots_show_the_numbers():
    X, y = sample()
    result = l0path.stability_selection(X, y, n_subsamples=8, k=2, max_k=4, random_state=0)
    ax = result.plot(n=5)
    assert [bar.get_width() for bar in ax.patches] == result.frequency[
        result.frequency > 0
    ].sort_values(ascending=False, kind="stable").iloc[:5].tolist()
    ax = result.plot("path")
    drawn = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 4]
    assert len(drawn) == len(result.by_size)
    np.testing.assert_allclose(
        sorted(map(tuple, drawn)), sorted(map(tuple, result.by_size.to_numpy()))
    )
    with pytest.raises(ValueError, match="kind='bars'"):
        result.plot("bars")
    for plus in (True, False):
        chosen = l0path.knockoff_filter(X, y, plus=plus, random_state=0)
        _, ax = plt.subplots()
        assert chosen.plot(ax=ax) is ax
        heights = np.concatenate(
            [line.get_ydata() for line in ax.lines if line.get_marker() == "o"]
        )
        np.testing.assert_allclose(
            np.sort(heights), np.sort(chosen.statistic[chosen.statistic != 0])
        )
        assert {text.get_text() for text in ax.texts} == set(chosen.selected)
    plt.close("all")
    assert "of 10 chosen" in repr(result) and "of 10 columns" in repr(chosen)


# -------------------- what they promise


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fixed", "model"])
def test_false_discovery_rate_of_knockoffs(kind):
    proportions, power = [], []
    for seed in range(100):
        X, y, beta = simulated(seed, 150, 50, 15, 0.5, 6.0)
        W = l0path.knockoff_filter(
            X, y, kind=kind, random_state=seed, max_k=30
        ).statistic.to_numpy()
        chosen = np.array([knockoffs.threshold_of(W, fdr) for fdr in (0.1, 0.2)])[:, None] <= W
        proportions.append((chosen & (beta == 0)).sum(axis=1) / np.maximum(chosen.sum(axis=1), 1))
        power.append((chosen & (beta != 0)).sum(axis=1) / 15)
    mean, error = np.mean(proportions, axis=0), np.std(proportions, axis=0, ddof=1) / 10
    assert (mean <= np.array([0.1, 0.2]) + 2 * error).all()
    assert np.mean(power, axis=0)[1] > 0.4


def simulated(seed, n, p, k, rho, size):
    rng = np.random.default_rng(seed)
    beta = np.zeros(p)
    beta[rng.choice(p, k, replace=False)] = size / np.sqrt(n) * rng.choice([-1.0, 1.0], k)
    X = l0path.simulate.linear(n, p, 0, rho=rho, random_state=rng).X
    return X, X @ beta + rng.standard_normal(n), beta


@pytest.mark.slow
def test_false_choices_of_stability_selection_stay_below_the_bound():
    false, bound = [], []
    for seed in range(40):
        X, y, beta = simulated(seed, 120, 80, 6, 0.0, 5.0)
        result = l0path.stability_selection(X, y, n_subsamples=50, random_state=seed)
        false.append(np.isin(result.frequency.index[beta == 0], result.selected).sum())
        bound.append(result.bounds["r_concave"])
    assert np.mean(false) <= np.mean(bound) + 2 * np.std(false) / np.sqrt(40)


@pytest.mark.slow
@pytest.mark.parametrize("n_splits", [1, 20])
def test_family_wise_error_and_coverage_of_splits(n_splits):
    wrong, covered = [], []
    for seed in range(100):
        X, y, beta = simulated(seed, 150, 30, 3, 0.2, 10.0)
        table = l0path.split_inference(X, y, n_splits=n_splits, rule="ebic", random_state=seed)
        wrong.append((table.p_value[beta == 0] <= 0.05).any())
        covered.append(((table.ci_low <= beta) & (beta <= table.ci_high))[beta != 0].mean())
    assert np.mean(wrong) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)
    assert np.mean(covered) >= 0.95 - 2 * np.std(covered) / 10


@pytest.mark.parametrize("call", ["stability_selection", "split_inference"])
def test_subsets_that_no_path_can_be_fitted_to_are_named(call):
    X, _ = sample(40)
    rare = np.arange(40) == 3
    run = getattr(l0path, call)
    with pytest.raises(ValueError, match=r"fraction=0\.5 of the 1 rows of class True is no row"):
        run(X, rare, loss="logistic", lambda2=0.01, k=1, random_state=0)
    with pytest.raises(ValueError, match="y is zero in every row of a random subset"):
        run(X, 2.0 * rare, loss="poisson", lambda2=0.01, k=1, random_state=0)


def test_held_out_rows_that_tell_nothing_leave_intervals_open():
    X, y = (part[:8] for part in sample())
    table = l0path.split_inference(
        X[:, :4], y, n_splits=4, k=2, always_include=[0], random_state=0
    )  # as many coefficients as held-out rows
    assert (
        (table.p_value == 1).all()
        and (table.ci_low == -np.inf).all()
        and (table.ci_high == np.inf).all()
        and table.selected.sum() == 3
    )  # k, and the forced one
    X, counts = sample()[0][:20], 3.0 * np.isin(np.arange(20), [2, 5])
    data = resolve(X, counts, {"loss": "poisson"}).request.data
    seed = next(
        s
        for s in range(99)
        if {2, 5}
        <= set(
            draw(data, 0.5, np.random.default_rng(np.random.SeedSequence(s).spawn(1)[0]))[
                0
            ].tolist()
        )
    )  # both counts among the rows that choose
    table = l0path.split_inference(
        X, counts, loss="poisson", lambda2=0.01, k=1, n_splits=1, random_state=seed
    )
    assert (table.ci_high == np.inf).all() and table.selected.sum() == 1


def test_separated_held_out_rows_are_told_apart_from_a_separated_path():
    X, _ = sample()
    with pytest.warns(SeparationWarning) as caught:
        table = l0path.split_inference(
            X, X[:, 1] > 0, loss="logistic", lambda2=0.01, k=1, n_splits=4, random_state=0
        )
    assert [str(w.message)[:78] for w in caught] == [
        "in 4 of 4 splits the chosen columns separate the classes of the held-out rows "
    ]
    assert (
        table.selected.iloc[1] == 1
        and (table.ci_low == -np.inf).all()
        and (table.p_value == 1).all()
    )


def test_formulas_with_terms_of_several_columns():
    X, y = sample(60)
    X = X[:, :3]
    frame = pd.DataFrame(X, columns=list("abc")).assign(f=np.resize(list("uvw"), 60), y=y)
    with pytest.raises(ValueError, match="pass groups=False"):
        l0path.knockoff_filter("y ~ a + b + f", frame)
    coded = np.column_stack([X[:, :2], frame.f == "v", frame.f == "w"]).astype(float)
    by_formula, by_array = (
        l0path.knockoff_filter("y ~ a + b + f", frame, groups=False, random_state=0),
        l0path.knockoff_filter(coded, y, random_state=0),
    )
    assert by_formula.statistic.index.tolist() == ["a", "b", "f[T.v]", "f[T.w]"]
    np.testing.assert_allclose(by_formula.statistic, by_array.statistic)
    assert l0path.stability_selection(
        "y ~ a + b + f", frame, n_subsamples=4, random_state=0
    ).frequency.index.tolist() == ["a", "b", "f"]
    assert l0path.split_inference(
        "y ~ a + b + f", frame, n_splits=2, random_state=0
    ).index.tolist() == ["a", "b", "f[T.v]", "f[T.w]"]


def test_sizes_that_a_path_did_not_reach_have_no_bound():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 60))
    y = np.where(X[:, 0] + 0.1 * rng.standard_normal(40) > 0, "yes", "no")
    with pytest.warns(SeparationWarning):
        result = l0path.stability_selection(
            X, y, loss="logistic", k=8, n_subsamples=4, random_state=0
        )
    assert result.n_reached < 4 and result.bounds.isna().all()
    assert np.isnan(result.expected_false)
    assert f"in {4 - result.n_reached} of 4 subsamples the path ended before k = 8" in repr(result)
    shrunk = l0path.stability_selection(
        X, y, loss="logistic", k=8, n_subsamples=4, lambda2=0.1, random_state=0
    )
    assert shrunk.n_reached == 4 and shrunk.bounds.notna().all()


def test_the_default_size_is_one_that_subsamples_have():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((24, 900))
    y = X[:, 0] + 0.5 * rng.standard_normal(24)
    result = l0path.stability_selection(X, y, n_subsamples=2, random_state=0)
    assert result.k == 6 and result.n_reached == 2  # 12 rows in a subsample, half as many columns


def test_the_table_of_a_stability_selection():
    X, y = sample()
    result = l0path.stability_selection(X, y, k=2, n_subsamples=8, random_state=0)
    table = result.table
    assert table.columns.tolist() == ["frequency", "count", "selected"]
    assert (table["frequency"] > 0).all() and table["frequency"].is_monotonic_decreasing
    assert sorted(table.index[table["selected"]]) == sorted(result.selected)
    np.testing.assert_array_equal(table["count"], (table["frequency"] * 8).round())
    counted = pd.Series(np.concatenate(result.supports)).value_counts()
    assert {f"x{j}": n for j, n in counted.items()} == table["count"].to_dict()
