"""Costs that differ on a lambda0 grid, where coordinates are not moved one at a time: survival
times, ordered and several classes, several responses. Refits of all supports are the reference.
"""

from itertools import combinations

import numpy as np
import pytest
from class_lasso import least, standardized
from thinning import slow_but
from unread import COUNTS, GROUPS, RESPONSES, TABLES, UNEVEN, drawn

import l0path
from l0path.engine.lambda0.steps import ExchangeSteps
from l0path.problem.problem import pose
from l0path.working_set.model import make_model

LOSSES = ("cox", "ordinal", "weibull", "multinomial", RESPONSES, COUNTS)
P = 6


def problem(loss, seed):
    """(X, y, costs, arguments of `fit`); by turns a column without a cost, or one always in."""
    X, y = drawn(loss)
    rng = np.random.default_rng(seed)
    X = X[:, :P] + 0.3 * rng.normal(size=(len(X), P))
    if seed % 3 == 1:
        X[:, 5] = X[:, 1]
    f = rng.choice([0.3, 1.0, 2.0, 4.0], P)
    given = {"loss": TABLES.get(loss, loss), "lambda2": 0.02, "max_k": P}
    if seed % 4 == 1:
        given["lambda1"] = 0.02
    if seed % 4 == 2:
        f[rng.integers(P)] = 0.0
    if seed % 4 == 3:
        given["always_include"] = [3]
    return X, y, f, given


def values_of(path, forced):
    """{support: least loss and shrinkage} of all supports with the forced columns."""
    s, model = path._solutions[0], make_model(pose(path._source.data))
    model.grow(np.arange(P))
    every = (S for k in range(P + 1) for S in combinations(range(P), k) if {*S} >= {*forced})
    return {S: model.refit(np.array(S, dtype=np.int64), s.lambda1, s.lambda2).value for S in every}


def exchanged(S, forced):
    """The supports after one exchange."""
    S = {*S}
    for out in [None, *(S - {*forced})]:
        for into in [None, *({*range(P)} - S)]:
            yield tuple(sorted((S - {out}) | ({into} - {None})))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", slow_but(range(4), range(40)))
def test_no_exchange_improves_a_row_and_most_rows_are_the_best(loss, seed):
    X, y, f, given = problem(loss, seed)
    forced = given.get("always_include", [])
    f[forced] = 0.0
    how, missed, rows = {"penalty_factor": f, **given}, 0, 0
    for lambda0 in ("grid", [0.5, 0.1, 0.03, 0.01, 0.002]):
        path = l0path.fit(X, y, lambda0=lambda0, certify=seed % 2 == 1, **how)
        values = values_of(path, forced)
        for s in path._solutions:
            S, slack = tuple(s.support.tolist()), 1e-8 * max(abs(s.objective), 1e-3)
            P_of = {T: value + s.lambda0 * f[list(T)].sum() for T, value in values.items()}
            assert s.objective == pytest.approx(P_of[S], rel=1e-8)
            assert s.optimality in ("refit_swap", "refit_swap_m", "global")
            assert min(P_of[T] for T in exchanged(S, forced)) >= s.objective - slack
            assert not s.lower_bound > min(P_of.values()) + slack
            missed += min(P_of.values()) < s.objective - slack
            rows += 1
    assert missed <= 0.2 * rows


def test_values_are_those_of_another_solver():
    X, y, f, _ = problem("multinomial", 0)
    path = l0path.fit(X, y, loss="multinomial", lambda1=0.03, lambda0="grid", penalty_factor=f)
    w = np.full(len(y), 1.0 / len(y))
    Z, Y = standardized(X, w), (y[:, None] == np.unique(y)).astype(float)
    every = [list(S) for k in range(P + 1) for S in combinations(range(P), k)]
    values = np.array([least(Z[:, S], Y, w, 0.03)[0] for S in every])
    costs = np.array([f[S].sum() for S in every])
    for s in path._solutions:
        assert s.objective == pytest.approx((values + s.lambda0 * costs).min(), rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_costs_that_hardly_differ_are_equal_costs(loss):
    X, y, _, given = problem(loss, 0)
    values = [0.5, 0.1, 0.03, 0.01]
    near = l0path.fit(X, y, lambda0=values, penalty_factor=1.0 + 1e-9 * np.arange(P), **given)
    even = l0path.fit(X, y, lambda0=values, **given)
    np.testing.assert_allclose(near.details.objective, even.details.objective, rtol=1e-6)


@pytest.mark.parametrize("loss", ["cox", "multinomial", RESPONSES])
def test_columns_outside_the_working_set_enter(loss):
    """More columns than it begins with; those that matter come last."""
    rng = np.random.default_rng(3)
    X, y = drawn(loss)
    more = rng.normal(size=(len(X), 150))
    f = np.append(np.full(150, 1.0), [1.5, 0.5] * 4)
    given = {"loss": TABLES.get(loss, loss), "lambda2": 0.05, "lambda0": [0.2, 0.1]}
    path = l0path.fit(np.column_stack([more, X]), y, penalty_factor=f, max_k=4, **given)
    small = l0path.fit(X, y, penalty_factor=f[150:], max_k=4, **given)
    assert (path.details.objective.to_numpy() <= small.details.objective.to_numpy() + 1e-9).all()


@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_as_many_exchanges_are_refuted_as_a_path_says(loss, monkeypatch):
    """20 were, of 500 that were said."""
    asked, candidates = {}, ExchangeSteps._candidates

    def counted(self, lambda0, fit, most):
        asked[lambda0] = max(asked.get(lambda0, 0), most)
        return candidates(self, lambda0, fit, most)

    monkeypatch.setattr(ExchangeSteps, "_candidates", counted)
    X, y, f, _ = problem(loss, 0)
    path = l0path.fit(X, y, loss=loss, lambda2=0.02, lambda0="grid", penalty_factor=f)
    assert {s.optimality for s in path._solutions} == {"refit_swap_m"}
    for s in path._solutions:
        assert asked[s.lambda0] == s.exchanges > 20


@pytest.mark.parametrize("loss", ["cox", "multinomial", "logistic"])
def test_proofs_count_the_costs(loss):
    X, y, f, given = problem(loss, 0)
    path = l0path.fit(X, y, lambda0="grid", penalty_factor=f, **given, algorithm="exact")
    values = values_of(path, [])
    for s in path._solutions:
        best = min(value + s.lambda0 * f[list(S)].sum() for S, value in values.items())
        assert s.optimality == "global" and s.objective == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("loss", ["cox", "multinomial", "logistic"])
def test_folds(loss):
    X, y = drawn(loss)
    cv = l0path.cv_fit(X, y, loss=loss, lambda2=0.05, lambda0=[0.2, 0.05], cv=3, **UNEVEN)
    assert np.isfinite(cv.scores.cv_mean).all()


@pytest.mark.parametrize("loss", [*LOSSES, "logistic"])
def test_groups_of_unequal_costs_are_refused_by_name(loss):
    X, y = drawn(loss)
    same = {"loss": TABLES.get(loss, loss), "lambda2": 0.05, "lambda0": "grid", "max_k": 2}
    with pytest.raises(ValueError, match=r"penalty_factor= differs among the groups.*lambda0="):
        l0path.fit(X, y, groups=GROUPS, penalty_factor=[1, 2, 1, 2], **same)
    assert len(l0path.fit(X, y, groups=[0, 0, 0, 0, 1, 1, 2, 3], **same)) > 1
