"""Groups of columns: enumeration over groups for every loss, invariances, and large problems whose
groups are screened.
"""

import itertools

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from asked import loss_with
from group_problems import by_label, enumerated, problem
from recomputed import objective_of
from thinning import thinned

import l0path
from l0path.engine.strategies.groups import GroupExchanges, GroupLimits
from l0path.exchange.neighborhoods.groups import GroupNeighborhood
from l0path.working_set import groups as group_model

LOSSES = list(oracles.LOSSES)


def columns(labels, chosen):
    return np.flatnonzero(np.isin(labels, list(chosen)))


PENALTIES = {
    "ridge": {"lambda2": 0.05},
    "lasso": {"lambda2": 0.02, "lambda1": 0.03},
    "box": {"lambda2": 0.02, "lower": -0.4, "upper": 0.5},
    "bare": {"lambda2": 0.02, "standardize": False, "intercept": False},
}


@pytest.mark.parametrize(("loss", "penalty"), thinned(2, LOSSES, PENALTIES))
def test_every_size_is_the_best_of_all_sets_of_groups(loss, penalty):
    case = PENALTIES[penalty]
    X, y, labels = problem(loss)
    rng = np.random.default_rng(1)
    w, o = rng.uniform(0.5, 2.0, y.size), 0.2 * rng.standard_normal(y.size)
    arguments = {
        "fit_intercept" if name == "intercept" else name: value for name, value in case.items()
    }
    path = l0path.fit(
        X,
        y,
        loss=loss_with(loss, delta=1.345),
        groups=labels,
        max_k=3,
        sample_weight=w,
        offset=o,
        **arguments,
    )
    for k in range(4):
        value, chosen = enumerated(
            X, y, by_label(labels), k, loss=loss, weights=w, offset=o, **case
        )
        assert path.details.objective[k] == pytest.approx(value, rel=1e-7)
        assert tuple(sorted(path.model(k=k).groups)) == chosen
        assert (
            path.details.k[k] == k
            and path.support(k=k).tolist() == columns(labels, chosen).tolist()
        )
        assert objective_of(path, k=k) == pytest.approx(path.details.objective[k], rel=1e-10)


def test_squared_paths_say_what_was_decided():
    X, y, labels = problem()
    table = l0path.fit(X, y, groups=labels, certify=False).details
    assert table.k.tolist() == list(range(7)) and list(table.optimality) == [
        *["global"] * 2,
        *["refit_swap"] * 4,
        "global",
    ]
    assert table.n_features[6] == 13 and table.n_features[0] == 0
    ranked = l0path.fit(X, y, groups=labels, lambda1=0.01, max_k=2)
    assert list(ranked.details.optimality)[1:] == ["global", "refit_swap_m"]
    assert [model.details["exchanges"] for model in ranked][1:] == [None, 10]
    assert not ranked.details["flags"].any()
    few = l0path.fit(
        X, y, groups=labels, lambda1=0.01, max_k=2, algorithm=l0path.solvers.LocalSearch(n_best=3)
    )
    assert [model.details["exchanges"] for model in few][1:] == [None, 3]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_called_refit_swap_has_no_better_exchange(seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(16), rng.integers(1, 5, 16)))
    X = rng.standard_normal((60, labels.size)) @ (
        np.eye(labels.size) + 0.4 * rng.standard_normal((labels.size, labels.size))
    )
    y, lambda2 = (
        X @ rng.standard_normal(labels.size) + 3 * rng.standard_normal(60),
        0.1 * (seed % 2),
    )
    path = l0path.fit(X, y, groups=labels, max_k=7, lambda2=lambda2, certify=False)
    assert set(path.details.optimality) == {"global", "refit_swap"}

    def value(chosen):
        return oracles.restricted(X, y, columns(labels, chosen), lambda2=lambda2)[0]

    for k in range(1, 8):
        chosen, rest = (
            path.model(k=k).groups,
            [g for g in range(16) if g not in path.model(k=k).groups],
        )
        assert min(
            value({*chosen, g} - {out}) for g in rest for out in chosen
        ) >= path.details.objective[k] * (1 - 1e-9)
        if k < 7:
            assert min(value({*chosen, g}) for g in rest) >= path.details.objective[k + 1] * (
                1 - 1e-9
            )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_of_more_columns_than_rows(loss, monkeypatch):
    """Systems on the rows give the optima, removals and exchanges that systems on the columns give:
    the models are the best pairs of groups, with weights, from additions and swaps alike.
    """
    rng = np.random.default_rng(5)
    n, G, wide = 24, 6, 20
    X, weights, labels = (
        rng.standard_normal((n, G * wide)),
        rng.uniform(0.5, 2.0, n),
        np.repeat(np.arange(G), wide),
    )
    eta = X[:, 20:40] @ rng.standard_normal(20) + X[:, 80:100] @ rng.standard_normal(20)
    y = eta if loss == "squared" else np.where(eta > np.median(eta), 1.0, -1.0)
    given = {
        "groups": labels,
        "max_k": 3,
        "lambda2": 0.3,
        "loss": loss,
        "sample_weight": weights,
        "standardize": False,
    }
    path = l0path.fit(X, y, **given)
    for k in (1, 2):
        best = min(
            oracles.restricted(
                X,
                y,
                columns(labels, chosen),
                loss=loss,
                lambda2=0.3,
                weights=weights / weights.sum(),
                standardize=False,
            )[0]
            for chosen in itertools.combinations(range(G), k)
        )
        assert path.details.objective[k] == pytest.approx(best, rel=1e-8)
    monkeypatch.setattr(group_model.GroupModel, "columns_per_row", 1e9)
    plain = l0path.fit(X, y, **given)
    np.testing.assert_allclose(path.details.objective, plain.details.objective, rtol=1e-9)
    assert [m.groups for m in path] == [m.groups for m in plain] and list(
        path.details.optimality
    ) == list(plain.details.optimality)


@pytest.mark.parametrize("ridge", [1e-4, 1.0, 100.0])
def test_inverses_on_the_rows(ridge):
    A = np.random.default_rng(0).standard_normal((30, 8))
    B, kept = group_model.inverse_by_rows(A, ridge)
    assert kept.tolist() == list(range(30))
    np.testing.assert_allclose(B @ (A @ A.T + ridge * np.eye(30)), np.eye(30), atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_of_one_column_give_the_path_of_columns(loss):
    X, y, _ = problem(loss, sizes=(1,) * 14, n=90)
    one, grouped = (
        l0path.fit(X, y, loss=loss, max_k=6, lambda2=0.01),
        l0path.fit(X, y, loss=loss, max_k=6, lambda2=0.01, groups=np.arange(14)),
    )
    np.testing.assert_allclose(grouped.details.objective, one.details.objective, rtol=1e-9)
    np.testing.assert_allclose(
        grouped.details.lambda0_low, one.details.lambda0_low, rtol=1e-6, atol=1e-12
    )
    assert [m.groups for m in grouped] == [m.support.tolist() for m in one]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_order_within_and_of_groups_and_mixing_within_groups_change_nothing(loss):
    X, y, labels = problem(loss, shuffle=False)
    path = l0path.fit(X, y, loss=loss, groups=labels, max_k=4, lambda2=0.01, standardize=False)
    rng = np.random.default_rng(3)
    order = rng.permutation(labels.size)
    moved = l0path.fit(
        X[:, order], y, loss=loss, groups=labels[order], max_k=4, lambda2=0.01, standardize=False
    )
    mixed = X.copy()
    for g in np.unique(labels):
        J = np.flatnonzero(labels == g)
        mixed[:, J] = X[:, J] @ np.linalg.qr(rng.standard_normal((J.size, J.size)))[0]
    turned = l0path.fit(
        mixed, y, loss=loss, groups=labels, max_k=4, lambda2=0.01, standardize=False
    )
    for other in (moved, turned):
        np.testing.assert_allclose(other.details.objective, path.details.objective, rtol=1e-8)
        assert [sorted(m.groups) for m in other] == [sorted(m.groups) for m in path]
    np.testing.assert_allclose(
        moved.coef(k=3, full=True).iloc[1:].to_numpy(),
        path.coef(k=3, full=True).iloc[1:].to_numpy()[order],
        atol=1e-6,
    )


def dummies(n=120, seed=0):
    """Full sets of dummy columns (each sums to one) of three factors, and a constant column in the
    first.
    """
    rng = np.random.default_rng(seed)
    levels = rng.integers(4, size=(n, 3))
    blocks = [np.eye(4)[levels[:, f]] for f in range(3)]
    X = np.column_stack([*blocks, np.ones(n)])
    return (
        X,
        np.array([0.0, 1.0, -1.0, 0.5])[levels[:, 1]] + 0.5 * rng.standard_normal(n),
        np.array([0] * 4 + [1] * 4 + [2] * 4 + [0]),
    )


def test_collinear_and_constant_columns_within_groups():
    X, y, labels = dummies()
    path = l0path.fit(X, y, groups=labels)
    assert path.model(k=1).groups == [1] and path.details.n_features[1] == 3
    for k in range(4):
        value = min(
            np.mean((y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]) ** 2) / 2
            for g in itertools.combinations(range(3), k)
            for Z in [np.column_stack([np.ones(y.size), X[:, np.isin(labels, g)]])]
        )
        assert path.details.objective[k] == pytest.approx(value, rel=1e-9)
    assert "refit_swap" not in list(path.details.optimality)
    twice = l0path.fit(
        np.column_stack([X[:, :8], X[:, 4:8]]), y, groups=np.repeat([0, 1, 2], 4)
    )  # a group and its copy
    assert twice.details.objective[1] == pytest.approx(path.details.objective[1], rel=1e-9)
    # the copy belongs to a group of its own, so it is a column like any other: both groups share
    # the coefficients, and nothing is gained
    assert twice.details.objective[3] == pytest.approx(twice.details.objective[2], rel=1e-9)
    assert "refit_swap" not in list(twice.details.optimality)
    z = np.where(y > np.median(y), "yes", "no")
    logistic = l0path.fit(X, z, groups=labels, loss="logistic", lambda2=1e-3)
    assert logistic.model(k=1).groups == [1] and logistic.status.startswith("complete")


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_screened_groups_find_what_enumeration_of_the_signal_finds(loss, monkeypatch):
    """Groups that do not all fit into the working groups: recovery, dense = sparse, and the same
    models as with all of them at hand.
    """
    rng = np.random.default_rng(5)
    n, count, d = 250, 400, 3
    X = rng.standard_normal((n, count * d)) * (rng.random((n, count * d)) < 0.5)
    true = np.sort(rng.choice(count, 4, replace=False))
    labels = np.repeat(np.arange(count), d)
    eta = X[:, np.isin(labels, true)] @ np.repeat([1.5, -1.2, 1.3, -1.4], d)
    y = (
        eta + rng.standard_normal(n)
        if loss == "squared"
        else np.where(eta + rng.logistic(size=n) > 0, 1, 0)
    )
    arguments = dict(loss=loss, groups=labels, max_k=6, lambda2=1e-3 if loss == "logistic" else 0.0)
    every = l0path.fit(X, y, **arguments)
    monkeypatch.setattr(GroupExchanges, "limits", GroupLimits(columns=100))
    path, sparse = l0path.fit(X, y, **arguments), l0path.fit(sp.csr_matrix(X), y, **arguments)
    assert path.model(k=4).groups == true.tolist()
    assert path.rounds.members.iloc[-1] < count and set(path.details.optimality[2:]) == {
        "refit_swap_m"
    }
    np.testing.assert_allclose(path.details.objective, every.details.objective, rtol=1e-8)
    np.testing.assert_allclose(sparse.details.objective, path.details.objective, rtol=1e-9)


def test_weights_count_rows():
    X, y, labels = problem()
    w = np.random.default_rng(0).integers(0, 3, y.size)
    whole = np.repeat(np.arange(y.size), w)
    np.testing.assert_allclose(
        l0path.fit(X, y, groups=labels, sample_weight=w).details.objective,
        l0path.fit(X[whole], y[whole], groups=labels).details.objective,
        rtol=1e-9,
    )


@pytest.mark.parametrize("across", [False, True])
def test_groups_are_refitted_away_only_where_others_depend_on_them(across, monkeypatch):
    """Dummies of all levels of a factor depend on each other, which costs no refit; the parts of a
    column in two groups, on which it depends, do.
    """
    rng = np.random.default_rng(2)
    X = np.hstack([np.eye(3)[rng.integers(0, 3, 60)] for _ in range(4)])
    labels = np.repeat(np.arange(4), 3)
    if across:
        X, labels = np.column_stack([X, X[:, 0] + X[:, 3]]), np.append(labels, 4)
    found, entangled = [], GroupNeighborhood._entangled

    def watched(self, fit):
        found.append((fit.groups.tolist(), entangled(self, fit)))
        return found[-1][1]

    monkeypatch.setattr(GroupNeighborhood, "_entangled", watched)
    y = X @ rng.normal(size=labels.size) + rng.normal(size=60)
    l0path.fit(X, y, groups=labels, max_k=labels[-1] + 1)
    asked = [(set(groups), set(out)) for groups, out in found]
    assert len(asked) > 3
    if not across:
        assert not any(out for _, out in asked)
    for groups, out in asked:
        assert out <= {0, 1, 4} and bool(out) == (groups >= {0, 1, 4})
