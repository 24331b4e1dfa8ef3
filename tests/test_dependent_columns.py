"""Columns that are linear combinations of others: with a bound, lambda1 or lambda2 they are chosen
like any others, without these a path ends where they are all that is left, and says so. Everything
is compared with all subsets (`oracles`).
"""

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from test_copies import LOSSES, check_sizes, words
from thinning import thinned

import l0path

BOX = {"lower": -0.5, "upper": 0.5}


def problem(kind, seed=1, n=40):
    """X (n, 5) with columns that depend on others, y."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.normal(size=(4, n))
    X = {
        "a sum": np.column_stack([a, b, a + b, 0.1 * c, d]),
        "proportional": np.column_stack([a, 3 * a, b, -0.5 * a, c]),
        "one less the other": np.column_stack([a > 0, a <= 0, b, c, b + c]).astype(float),
        "twice": np.column_stack([a, b, a + b, a - b, c]),
    }[kind]
    return X, X[:, 0] + 0.8 * X[:, 2] + 0.3 * a + 0.1 * d + 0.1 * rng.normal(size=n)


KINDS = ("a sum", "proportional", "one less the other", "twice")
OPTIONS = {
    "box": BOX,
    "one-sided": {"lower": 0.0},
    "lambda1": {"lambda1": 0.05},
    "box and lambda1": {**BOX, "lambda1": 0.02},
    "ridge": {"lambda2": 0.05},
    "a box of one column": {"upper": [0.2, np.inf, np.inf, np.inf, np.inf]},
    "forced": {**BOX, "always_include": [1]},
    "excluded, weights": {**BOX, "exclude": [0], "sample_weight": np.arange(40) % 3 + 1.0},
    "no intercept": {**BOX, "fit_intercept": False, "standardize": False},
}


@pytest.mark.parametrize(("kind", "name"), thinned(2, KINDS, OPTIONS))
def test_combinations_are_chosen_like_other_columns(kind, name):
    X, y = problem(kind)
    check_sizes(X, y, OPTIONS[name])


@pytest.mark.parametrize("loss", LOSSES[1:])
@pytest.mark.parametrize("options", [BOX, {"lambda1": 0.03}], ids=["box", "lambda1"])
def test_under_every_loss(loss, options):
    X, y = problem("a sum")
    y = y - y.mean()
    if loss == "poisson":
        y = np.random.default_rng(2).poisson(np.exp(np.clip(0.5 * y, -2, 2))).astype(float)
    elif loss != "huber":
        y = np.where(y + np.random.default_rng(3).logistic(size=y.size) > 0, 1.0, -1.0)
    check_sizes(X, y, {**options, "loss": loss, "delta": 1.345})


@pytest.mark.parametrize("shape", [np.float32, sp.csc_array])
def test_in_every_form_of_x(shape):
    X, y = problem("twice")
    X = np.round(X * 64) / 64  # sums are exact in float32 too
    check_sizes(X, y, BOX, (lambda A: A.astype(np.float32)) if shape is np.float32 else shape)


def test_more_columns_than_rows_in_a_box():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(4, 7)), rng.normal(size=4)
    options = {"lower": -0.1, "upper": 0.1}
    path = l0path.fit(X, y, max_k=7, certify=True, **options)
    best = oracles.best_subsets(X, y, 7, **options)
    assert path.details.k.tolist() == list(range(8)) and path.status.startswith("complete")
    for s in path._solutions:
        assert s.objective == pytest.approx(best[s.k][0], rel=1e-6)


@pytest.mark.parametrize(("kind", "algorithm"), thinned(2, KINDS, ("swap", "cd")))
def test_on_a_lambda0_grid(kind, algorithm):
    X, y = problem(kind)
    values = [0.1, 0.02, 0.004, 0.0005]
    for options in (BOX, {"lambda1": 0.02}):
        factor = [1.0, 2.0, 1.0, 0.5, 1.0]
        path = l0path.fit(
            X,
            y,
            lambda0=values,
            penalty_factor=factor,
            algorithm=algorithm,
            certify=True,
            **options,
        )
        for s, lambda0 in zip(path._solutions, values, strict=True):
            value, _ = oracles.best_penalized(
                X, y, lambda0, penalty_factor=factor, **words(options)
            )
            assert not s.lower_bound > value * (1 + 1e-6)
            if algorithm == "swap":
                assert s.objective == pytest.approx(value, rel=1e-6)
            elif s.optimality == "global":
                assert s.objective <= value * (1 + 1e-6)


@pytest.mark.parametrize("algorithm", ["exact", "high"])
def test_of_other_algorithms(algorithm):
    X, y = problem("a sum")
    settings = "exact" if algorithm == "exact" else l0path.solvers.LocalSearch(effort="high")
    best = oracles.best_subsets(X, y, 5, **BOX)
    path = l0path.fit(X, y, algorithm=settings, max_k=5, **BOX)
    np.testing.assert_allclose(path.details.objective, [best[k][0] for k in range(6)], rtol=1e-6)
    assert path.certify(k=3).incumbent == pytest.approx(best[3][0], rel=1e-6)


def test_groups_of_dependent_columns_in_a_box():
    X, y = problem("twice")
    whole = {"g": [0, 1], "h": [2, 3], "i": [4]}
    path = l0path.fit(X, y, groups=["g", "g", "h", "h", "i"], max_k=3, **BOX)
    assert path.details.k.tolist() == [0, 1, 2, 3]
    sets = {1: [["g"], ["h"], ["i"]], 2: [["g", "h"], ["g", "i"], ["h", "i"]], 3: [list(whole)]}
    for k, few in sets.items():
        columns = [[j for g in labels for j in whole[g]] for labels in few]
        best = min(oracles.restricted(X, y, J, **BOX)[0] for J in columns)
        assert path.model(k=k).objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson", "logistic"])
def test_columns_that_earlier_ones_of_a_group_explain_have_none_however_x_lies(loss):
    X, y = problem("a sum", n=200)
    y = (y > 0).astype(float) if loss == "logistic" else np.round(np.exp(0.5 * y))
    for order in ("C", "F"):
        path = l0path.fit(np.array(X, order=order), y, loss=loss, groups=[0, 0, 0, 1, 2], max_k=3)
        coef = path.coef("all", full=True).to_numpy()[1:]
        assert (coef[0] != 0).sum() >= 2 and not coef[2].any()


@pytest.mark.parametrize("kind", KINDS)
def test_without_them_a_path_ends_at_full_rank(kind):
    X, y = problem(kind)
    rank = np.linalg.matrix_rank(X - X.mean(axis=0))
    path = check_sizes(X, y, {}, sizes=rank)
    assert any(
        f"sizes end at k = {rank}, where every other feature is a linear combination" in note
        for note in path.notes
    )


def test_without_them_a_path_ends_at_a_perfect_fit():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(4, 7)), rng.normal(size=4)
    path = l0path.fit(X, y, max_k=7)
    assert path.details.k.max() == 3
    assert any(
        note.startswith("sizes end at k = 3, where the fit is perfect") for note in path.notes
    )


def test_alternatives_count_combinations_in_a_box():
    X, y = problem("a sum")
    path = l0path.fit(X, y, **BOX)
    near = path.model(k=2).alternatives(n=20)
    assert len(near) == 2 * 3 and near.proven.all()
    for row in near.itertuples():
        J = [j for j in path.support(k=2) if f"x{j}" != row.dropped] + [int(row.added[1:])]
        assert row.objective == pytest.approx(oracles.restricted(X, y, J, **BOX)[0], rel=1e-6)
