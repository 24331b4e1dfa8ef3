"""Odd problems get the right answer: constant and equal columns, few rows, perfect fits."""

import numpy as np
import oracles
import pandas as pd
import pytest
import scipy.sparse as sp
from asked import loss_with
from small_data import N, P, X, Y, Z, data

import l0path
from l0path.errors import SeparationWarning


def test_constant_columns_are_never_chosen_and_noted():
    wide = np.column_stack([np.full(N, 0.1), X, np.zeros(N), np.full(N, 1e9)])
    for form in (wide, sp.csc_array(wide), wide.astype(np.float32)):
        path = l0path.fit(form, Y)
        assert path.details.k.max() == P and not {0, 6, 7} & set(path.support(k=P))
        assert "3 constant features, never chosen: x0, x6, x7" in path.notes
    path = l0path.fit(np.column_stack([np.full(N, 0.1), X]), Y, always_include=0)
    assert (
        path.support(k=1).tolist()
        == l0path.fit(np.column_stack([np.zeros(N), X]), Y).support(k=1).tolist()
    )


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
@pytest.mark.parametrize("form", [np.asfortranarray, np.ascontiguousarray, sp.csc_array])
def test_columns_that_rounding_alone_varies_are_constant(form, loss):
    """Shares of a whole, a + (c - a), are one number up to their last digits."""
    y = np.where(Y > np.median(Y), 1.0, -1.0) if loss == "logistic" else Y
    whole = X[:, 0] + (0.3 - X[:, 0])
    assert 0 < np.ptp(whole) < 1e-15
    kept = 1e6 + X[:, 1]  # far from 0, and still a column
    with_it = form(np.column_stack([X[:, :3], whole, 1e-3 * whole, kept]))
    paths = [l0path.fit(with_it, y, loss=loss, lambda2=0.01, max_k=4)]
    paths.append(l0path.cv_fit(with_it, y, loss=loss, lambda2=0.01, max_k=4, cv=2))
    for path in paths:
        assert any(note == "2 constant features, never chosen: x3, x4" for note in path.notes)
        assert set(path.support(k=4)) == {0, 1, 2, 5}
    plain = l0path.fit(with_it[:, [0, 1, 2, 5]], y, loss=loss, lambda2=0.01, max_k=4)
    np.testing.assert_allclose(paths[0].details.objective, plain.details.objective, rtol=1e-9)


@pytest.mark.parametrize("away", [1e16, 0.0])
def test_a_difference_in_the_last_digits_is_named(away):
    column = away + np.where(X[:, 0] > 0, 2.0, 0.0)
    path = l0path.fit(np.column_stack([X[:, 1:], column, np.ones(N)]), Y, max_k=1)
    named = [note for note in path.notes if "last digits" in note]
    if away:
        assert 4 not in path.support(k=1) and len(named) == 1 and named[0].endswith(": x4")
        assert "subtract a value near the mean" in named[0]
    else:
        assert not named


def test_a_column_constant_on_the_weighted_rows_is_not_chosen():
    w = (np.arange(N) < 30).astype(float)
    path = l0path.fit(np.column_stack([X, np.where(w > 0, 3.0, Y)]), Y, sample_weight=w)
    assert 5 not in path.support(k=5) and any("x5" in note for note in path.notes)


def test_without_an_intercept_a_constant_column_is_a_column():
    path = l0path.fit(np.column_stack([X, np.full(N, 2.0)]), Y + 10, fit_intercept=False, max_k=1)
    assert path.support(k=1).tolist() == [5] and path.coef(k=1)["x5"] == pytest.approx(
        (Y + 10).mean() / 2
    )


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_one_of_equal_columns_stays_usable(loss):
    twice = np.column_stack([X[:, 2], X, X[:, 2], X[:, 0]])
    path = l0path.fit(twice, Y, loss=loss, max_k=8)
    assert path.details.k.max() == 5 and set(path.support(k=5)) == {0, 1, 2, 4, 5}
    assert path.notes[0].startswith("3 features left out, which changes no optimum:")
    assert path.notes[0].endswith("x3 (equal to x0), x6 (equal to x0), x7 (equal to x1)")
    plain = l0path.fit(X, Y, loss=loss)
    np.testing.assert_allclose(path.details.objective, plain.details.objective, rtol=1e-9)


def test_equal_and_opposite_columns_may_both_be_forced_or_offered():
    both = np.column_stack([X, X[:, 0]])
    plain, forced = (
        l0path.fit(X, Y, always_include=0),
        l0path.fit(both, Y, always_include=[0, 5], max_k=4),
    )
    np.testing.assert_allclose(forced.details.objective, plain.details.objective, rtol=1e-9)
    mirrored = l0path.fit(np.column_stack([X, -X[:, 0]]), Y, max_k=6)
    np.testing.assert_allclose(
        mirrored.details.objective, l0path.fit(X, Y).details.objective, rtol=1e-9
    )
    assert mirrored.details.k.max() == 5 and any(
        "sizes end at k = 5" in note for note in mirrored.notes
    )


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows(n):
    path = l0path.fit(X[:n], Y[:n])
    assert path.details.k.max() == n - 1 and path.model(k=0).intercept == pytest.approx(
        Y[:n].mean()
    )
    assert l0path.fit(X[:2], Y[:2], max_k=5).model(k=1).objective == pytest.approx(0, abs=1e-25)


def test_one_column():
    path = l0path.fit(X[:, :1], Y)
    slope, intercept = np.polyfit(X[:, 0], Y, 1)
    assert path.coef(k=1).tolist() == pytest.approx([intercept, slope])


def test_sizes_beyond_columns_or_rows_are_cut_with_a_note():
    path = l0path.fit(X, Y, max_k=9)
    assert path.details.k.max() == 5 and any(
        "max_k = 9 was cut to 5" in note for note in path.notes
    )
    path = l0path.fit(X, Y, k=[2, 9])
    assert path.details.k.tolist() == [2, 5] and any(
        "k = 9 is beyond the largest size" in note for note in path.notes
    )
    wide, y = data(1, 6, 20)
    path = l0path.fit(wide, y, max_k=15)
    assert (
        path.details.k.max() == 5
        and path.details.objective.iloc[-1] < 1e-15
        and any("sizes end at k = 5" in note for note in path.notes)
    )
    ridge = l0path.fit(wide, y, max_k=9, lambda2=0.1)
    assert ridge.details.k.max() == 9 and (np.diff(ridge.details.objective) < 0).all()
    assert l0path.fit(X, Y, k=0).details.k.tolist() == [0] and l0path.fit(
        X, Y, max_k=0
    ).details.k.tolist() == [0]
    assert l0path.fit(X, Y, exclude=range(P)).details.k.tolist() == [0]


@pytest.mark.parametrize("value", [0.0, 0.1, 0.7, -1e9 - 0.1])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_constant_response_ends_at_the_intercept(value, loss):
    path = l0path.fit(X[:37], np.full(37, value), loss=loss_with(loss, delta=1.0))
    assert path.details.k.tolist() == [0] and path.model(k=0).intercept == pytest.approx(
        value, rel=1e-14
    )
    assert path.details.objective[0] <= 1e-25 * max(1.0, value**2)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_perfectly_fitted_response_ends_the_path(loss):
    path = l0path.fit(X, X @ [1, 2, 0, 0, 3.0] + 7, loss=loss_with(loss, delta=1.0))
    assert path.details.k.tolist() == [0, 1, 2, 3] and path.support(k=3).tolist() == [0, 1, 4]
    assert path.coef(k=3).tolist() == pytest.approx([7, 1, 2, 3], rel=1e-12) and any(
        "k = 3" in note for note in path.notes
    )


def test_counts_with_negative_objectives_run_to_the_end():
    """exp(eta) - y eta is negative for large counts: that is no perfect fit."""
    rng = np.random.default_rng(2)
    for scale in (2.0, 13.8):
        y = rng.poisson(np.exp(0.3 * X[:, 0] + scale))
        path = l0path.fit(X, y, loss="poisson")
        assert (
            path.details.k.tolist() == list(range(P + 1))
            and path.details.objective[0] < 0
            and path.support(k=1).tolist() == [0]
        )
        for k, (value, support) in oracles.best_subsets(
            X, y, 1, loss="poisson", offset=np.full(N, scale)
        ).items():
            assert (
                path.model(k=k).objective == pytest.approx(value, rel=1e-10)
                and tuple(path.support(k=k)) == support
            )
    assert l0path.fit(X, np.full(N, 3), loss="poisson").details.k.tolist() == [0]


def test_counts_with_large_offsets():
    rng = np.random.default_rng(3)
    o = rng.choice([-8.0, 12.0], N)
    y = rng.poisson(np.exp(0.5 * X[:, 1] + o))
    path = l0path.fit(X, y, loss="poisson", offset=o, max_k=2)
    assert path.model(k=1).objective == pytest.approx(
        oracles.best_subsets(X, y, 1, loss="poisson", offset=o)[1][0], rel=1e-10
    )
    shifted = l0path.fit(X, y, loss="poisson", offset=o + 200, max_k=2)
    assert shifted.coef(k=1).to_numpy() == pytest.approx(
        path.coef(k=1).to_numpy() - [200, 0], rel=1e-8
    )


@pytest.mark.parametrize("loss", ["cox", "ordinal"])
def test_offsets_that_are_far_apart_are_fitted_or_refused(loss):
    """Two kinds of rows, one of which counts as nothing beside the other."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = np.arange(N) % 3
        if loss == "cox":
            y = np.column_stack([rng.exponential(1.0, N), np.arange(N) % 3 > 0])
        apart = rng.integers(0, 2, N) - 1e4  # a common number changes nothing
        path = l0path.fit(X, y, loss=loss, offset=apart * 299.0, certify=False)
        assert path.details.k.max() == P and path.details.converged.all()
        assert np.isfinite(path.details.objective).all()
        with pytest.raises(ValueError, match=r"offset differs by up to 600 .* at most 300"):
            l0path.fit(X, y, loss=loss, offset=apart * 600.0)


def test_a_class_of_next_to_no_weight():
    weights = np.where(np.arange(N) % 2, 1e12, 1e-12)
    y = np.where(np.arange(N) % 2, "yes", "no")
    path = l0path.fit(X, y, loss="logistic", sample_weight=weights, certify=False)
    assert path.model(k=0).intercept == pytest.approx(24 * np.log(10)) and path.details.k.max() == P


def test_rates_that_run_to_zero_give_a_warning_and_a_low_objective():
    group = (np.arange(N) < 8).astype(float)
    y = np.where(group > 0, 0, np.random.default_rng(4).poisson(3, N))
    with pytest.warns(SeparationWarning, match="rates"):
        path = l0path.fit(np.column_stack([X, group]), y, loss="poisson")
    row = np.flatnonzero(path.details.status == "separated")[0]
    assert (np.diff(path.details.objective[: row + 1]) < 0).all()
    assert 5 in path.support(index=int(row))
    assert len(path) > row + 1 and (np.diff(path.details.objective) < 1e-12).all()
    o = np.where(group > 0, -30.0, np.log(max(y[group == 0].mean(), 1)))
    assert (
        path.details.objective[row]
        <= oracles.objective(np.zeros((N, 1)), y, [0.0], loss="poisson", offset=o) + 1e-6
    )


@pytest.mark.parametrize(
    "labels", [("no", "yes"), (False, True), (0, 1), (-1.5, 2.5), (3, 10)], ids=str
)
def test_labels_of_any_type_in_sorted_order(labels):
    y = np.asarray(labels)[(Z > 0).astype(int)]
    path = l0path.fit(X, y, loss="logistic", max_k=2)
    assert path.classes == tuple(labels)
    same = l0path.fit(X, Z, loss="logistic", max_k=2)
    assert path.coef(k=2).tolist() == same.coef(k=2).tolist()
    agree = (path.predict(X, k=2, type="class") == y) == (same.predict(X, k=2, type="class") == Z)
    assert agree.all()


def test_category_order_rules_and_unused_categories_do_not_count():
    y = pd.Series(pd.Categorical(np.where(Z > 0, "a", "b"), categories=["z", "b", "a"]))
    path = l0path.fit(X, y, loss="logistic", max_k=2)
    assert (
        path.classes == ("b", "a")
        and path.coef(k=1).tolist() == l0path.fit(X, Z, loss="logistic", max_k=1).coef(k=1).tolist()
    )


def test_two_values_under_a_real_loss_are_noted():
    assert any("two values only" in note for note in l0path.fit(X, Z, max_k=1).notes)


@pytest.mark.parametrize("loss", ["squared", "poisson", "cox", "multinomial"])
def test_the_only_model_without_a_chosen_feature_is_global_beside_forced_ones(loss):
    rng = np.random.default_rng(0)
    X, counts = rng.standard_normal((60, 4)), rng.poisson(1.0, 60)
    y = np.column_stack([1.0 + counts, counts > 0]) if loss == "cox" else counts.clip(max=2)
    path = l0path.fit(X, y, loss=loss, always_include=[0, 1])
    assert path.table.optimality[0] == "global"
    grid = l0path.fit(X, y, loss=loss, always_include=[0, 1], lambda0="grid")
    assert loss == "squared" or "global" not in grid.table.optimality.tolist()
