"""Stability selection against paths on copied halves, and its bounds by definition."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from inference_samples import optimize, sample

import l0path
from l0path.inference.error_bounds import largest_tail, r_concave, unimodal, worst_case
from l0path.inference.rows import draw, resolve

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


def test_constant_columns_do_not_count_where_the_loss_does_not_see_them():
    X, _ = sample(60, 5)
    y = np.column_stack([np.exp(X[:, 1]), np.arange(60) % 3 > 0])
    given = {"loss": "cox", "k": 1, "lambda2": 0.1, "n_subsamples": 4, "random_state": 0}
    one = l0path.stability_selection(X, y, **given)
    more = l0path.stability_selection(np.column_stack([X, np.full((60, 3), 2.0)]), y, **given)
    assert more.expected_false == one.expected_false


def test_what_was_chosen_most_often_is_shown():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    found = l0path.stability_selection(
        X, 3.0 * X[:, 2] + rng.standard_normal(60), k=1, n_subsamples=10, random_state=0
    )
    assert "at k = 1; most often x2 100%, " in repr(found)
