"""`near_best(k=)` beside a ridge, for every smooth loss, against the models of all sets of the
size, each fitted alone.
"""

from itertools import combinations

import numpy as np
import pytest
from thinning import thinned

import l0path
from l0path import losses

LOSSES = {
    "squared": losses.Squared(),
    "huber": losses.Huber(delta=1.0),
    "quantile": losses.Quantile(0.3),
    "logistic": losses.Logistic(),
    "squared_hinge": losses.SquaredHinge(),
    "smoothed_hinge": losses.SmoothedHinge(),
    "poisson": losses.Poisson(),
    "gamma": losses.Gamma(),
    "negative_binomial": losses.NegativeBinomial(theta=2.0),
    "tweedie": losses.Tweedie(power=1.5),
    "multinomial": losses.Multinomial(),
    "ordinal": losses.Ordinal(),
    "cox": losses.Cox(),
}
RIDGE, K, WITHIN = 0.02, 2, 0.05


def data(loss, n=60, p=7, seed=0):
    """Correlated columns, a copy, a sum and a constant one among them, and a response."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.7 * rng.standard_normal((n, 1))
    X[:, 3], X[:, 5], X[:, 6] = X[:, 1], X[:, 0] + X[:, 2], 2.0
    eta = 0.6 * (X[:, 0] - X[:, 1] + X[:, 4])
    kinds = {
        "numbers": ("squared", "huber", "quantile"),
        "counts": ("poisson", "negative_binomial", "tweedie"),
    }
    if loss in kinds["numbers"]:
        return X, eta + rng.standard_normal(n)
    if loss in kinds["counts"]:
        return X, rng.poisson(np.exp(eta)).astype(float)
    if loss == "gamma":
        return X, rng.gamma(2.0, np.exp(eta))
    if loss == "multinomial":
        return X, rng.integers(0, 3, n) * (eta > -0.5)
    if loss == "ordinal":
        return X, np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0])
    if loss == "cox":
        return X, np.column_stack([rng.exponential(np.exp(-eta)), rng.random(n) < 0.7])
    return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)


def enumerated(X, y, sets, within, floor, **options):
    """{set: objective} of the sets within the distance, by fits of each set alone; constant columns
    are in none.
    """
    every = {}
    for chosen in sets:
        path = l0path.fit(
            X[:, chosen], y, always_include=range(len(chosen)), max_k=0, certify=False, **options
        )
        every[chosen] = path[0].objective
    best = min(every.values())
    return {J: v for J, v in every.items() if v <= best + within * (best - floor)}


@pytest.mark.parametrize("loss", LOSSES)
def test_all_models_near_the_best_beside_a_ridge(loss):
    X, y = data(loss)
    options = {"loss": LOSSES[loss], "lambda2": RIDGE}
    found = l0path.fit(X, y, max_k=4, **options).near_best(k=K, within=WITHIN)
    listed = {tuple(sorted(m.support)): m.objective for m in found.models}
    expected = enumerated(X, y, list(combinations(range(6), K)), WITHIN, found.floor, **options)
    assert found.complete
    assert len(listed) == len(found.models)
    assert set(listed) == set(expected)
    for J, value in expected.items():
        assert listed[J] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("loss", "seed"), thinned(3, ("logistic", "poisson", "huber"), range(6)))
def test_forced_columns_are_in_every_model(loss, seed):
    X, y = data(loss, n=40, seed=seed)
    options = {"loss": LOSSES[loss], "lambda2": 0.1 * 10.0**-seed}
    path = l0path.fit(X, y, max_k=3, always_include=[2], **options)
    found = path.near_best(k=K, within=0.2)
    listed = {tuple(sorted(m.support)): m.objective for m in found.models}
    sets = [tuple(sorted({2, *J})) for J in combinations((0, 1, 3, 4, 5), K)]
    expected = enumerated(X, y, sets, 0.2, found.floor, **options)
    assert found.complete
    assert set(listed) == set(expected)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_beside_a_ridge(loss):
    X, y = data(loss)
    X, groups = X[:, :6], np.repeat([0, 1, 2], 2)
    options = {"loss": LOSSES[loss], "lambda2": RIDGE}
    found = l0path.fit(X, y, groups=groups, **options).near_best(k=2, within=5.0)
    listed = {tuple(sorted(m.support)): m.objective for m in found.models}
    sets = [(0, 1, 2, 3), (0, 1, 4, 5), (2, 3, 4, 5)]
    expected = enumerated(X, y, sets, 5.0, found.floor, **options)
    assert found.complete
    assert listed == pytest.approx(expected, rel=1e-9)


def test_many_columns_beside_a_ridge():
    drawn = l0path.simulate.logistic(300, 120, 4, rho=0.5, random_state=3)
    path = l0path.fit(drawn.X, drawn.y, loss="logistic", lambda2=1e-2, max_k=5)
    found = path.near_best(k=3, within=0.02)
    assert found.complete
    best = min(m.objective for m in found.models)
    assert best <= path[3].objective * (1 + 1e-12)
    # every exchange of one column of the best model that is within the distance is listed
    model = min(found.models, key=lambda m: m.objective)
    listed = {tuple(sorted(m.support)) for m in found.models}
    near = model.alternatives()
    near = near[near["objective"] <= best + 0.02 * (best - found.floor)]
    for row in near.itertuples():
        swapped = {*model.features} - {row.dropped} | {row.added}
        assert tuple(sorted(int(name[1:]) for name in swapped)) in listed


def test_a_time_limit_is_told():
    drawn = l0path.simulate.logistic(200, 400, 4, rho=0.9, random_state=3)
    path = l0path.fit(drawn.X, drawn.y, loss="logistic", lambda2=1e-5, max_k=5)
    found = path.near_best(k=5, within=0.02, time_limit=0.2)
    assert not found.complete
    assert "time limit" in found.reason
