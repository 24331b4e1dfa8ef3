"""Quantile regression: the coefficients of every model are those of R's quantreg, its loss is the
check loss, and what is claimed is claimed of the function that was searched.
"""

from itertools import combinations

import numpy as np
import oracles
import pytest
from recomputed import objective_of

import l0path

# rq(foodexp ~ income, tau, data = engel), quantreg 5.94 in R 4.2: coefficients, mean check loss
# (rho / n), logLik
ENGEL = {
    0.1: (110.141574204948, 0.401765759303, 16.467796429730, -1459.197802465513),
    0.5: (81.482247416936, 0.560180551209, 37.361558824736, -1411.630124039615),
    0.9: (67.350872080130, 0.686299480372, 14.433973238418, -1428.219617970155),
    0.95: (64.103963181055, 0.709068516962, 8.086145636197, -1442.236771227735),
}


@pytest.fixture(scope="module")
def engel():
    import statsmodels.api as sm

    return sm.datasets.engel.load_pandas().data


@pytest.mark.parametrize("quantile", ENGEL)
def test_models_are_those_of_quantreg(engel, quantile):
    path = l0path.fit("foodexp ~ income", engel, loss=l0path.losses.Quantile(quantile))
    intercept, slope, loss, loglik = ENGEL[quantile]
    np.testing.assert_allclose(path.coef(k=1), [intercept, slope], rtol=1e-11)
    assert path._solutions[1].loss == pytest.approx(loss, rel=1e-12)
    assert path.score_table().loglik.iloc[1] == pytest.approx(loglik, rel=1e-12)
    assert objective_of(path, k=1) == pytest.approx(loss, rel=1e-12)
    table = path.details
    assert table.deviance_ratio.iloc[1] == pytest.approx(1 - loss / table.loss.iloc[0], rel=1e-12)


def test_refits_have_the_coefficients_of_the_path(engel):
    """Iterations of statsmodels end in a cycle, which was warned of."""
    for quantile in (0.05, 0.5, 0.95):
        path = l0path.fit("foodexp ~ income", engel, loss=l0path.losses.Quantile(quantile))
        results = path.model(k=1).refit()
        np.testing.assert_allclose(results.params, path.coef(k=1), rtol=1e-10)
        np.testing.assert_allclose(results.predict(), path.predict(engel, k=1), rtol=1e-10)


def check(y, eta, t, w=None):
    r = y - eta
    return np.average(np.where(r > 0, t, t - 1.0) * r, weights=w)


def linear_program(X, y, t, w=None):
    """The least mean check loss over an intercept and all coefficients, as its primal program."""
    from scipy.optimize import linprog

    n, k = X.shape
    w = np.full(n, 1 / n) if w is None else w / w.sum()
    A = np.hstack([np.ones((n, 1)), X, np.eye(n), -np.eye(n)])
    cost = np.concatenate([np.zeros(k + 1), t * w, (1 - t) * w])
    box = [(None, None)] * (k + 1) + [(0, None)] * (2 * n)
    return linprog(cost, A_eq=A, b_eq=y, bounds=box).fun


@pytest.mark.parametrize("kind", ["normal", "whole numbers", "weights", "far rows"])
def test_losses_are_those_of_the_linear_program(kind):
    """With rows that are taken together, ties, and rows of large weight."""
    rng = np.random.default_rng(len(kind))
    X = rng.normal(size=(700, 6))
    w, y = None, X[:, 0] - X[:, 3] + rng.standard_t(2, size=700)
    if kind == "whole numbers":
        X, y = np.round(X), np.round(2 * y)
    elif kind == "weights":
        w = rng.uniform(0, 1, 700) ** 6
    elif kind == "far rows":
        X[:3] *= 1e3
        y[3:6] *= 1e4
    path = l0path.fit(X, y, loss=l0path.losses.Quantile(0.3), sample_weight=w, max_k=6)
    for s in path._solutions:
        best = linear_program(X[:, s.support], y, 0.3, w)
        assert s.status == "converged" and s.loss == pytest.approx(best, rel=1e-10)
        assert s.loss == pytest.approx(check(y, path.predict(X, k=s.k), 0.3, w), rel=1e-12)


@pytest.mark.parametrize("kind", ["normal", "ties", "shrunk", "far start"])
def test_steps_along_edges_end_where_the_linear_program_does(kind):
    """Slopes within their ranges that balance are the proof; few of the searches are given up."""
    from l0path.working_set.edges import along_edges

    rng, given_up = np.random.default_rng(len(kind)), 0
    for _ in range(40):
        n, q = int(rng.integers(8, 120)), int(rng.integers(1, 7))
        X, y = rng.normal(size=(n, q)), rng.standard_t(2, size=n)
        w, t = rng.uniform(0.1, 2, n), rng.uniform(0.05, 0.95)
        if kind == "ties":
            X, y, w = np.round(X), np.round(y), np.ones(n)
        X[:, 0] = 1.0
        A, at = X.T, -y
        box = np.column_stack([-t * w, (1 - t) * w])
        if kind == "shrunk":
            A, at = np.hstack([A, np.eye(q)]), np.append(at, np.zeros(q))
            box = np.vstack([box, np.full((q, 2), [-0.05, 0.05]) * n])
        start = np.linalg.lstsq(X, y, rcond=None)[0] + 100.0 * (kind == "far start")
        found = along_edges(A, at, box, start, 1e-9)
        if found is None:
            given_up += 1
            continue
        x, slopes = found
        r = x @ A + at
        value = float(np.where(r > 0, box[:, 1], box[:, 0]) @ r)
        assert (slopes >= box[:, 0]).all() and (slopes <= box[:, 1]).all()
        np.testing.assert_allclose(A @ slopes, 0.0, atol=1e-9 * n)
        assert slopes @ at == pytest.approx(value, rel=1e-10)  # weak duality: nothing is lower
    assert given_up <= (8 if kind == "ties" else 0)


def test_the_general_solver_is_called_where_steps_are_given_up(monkeypatch):
    """Both ways have the same models; without ties the steps alone reach every one."""
    import scipy.optimize

    from l0path.working_set import hinge

    rng, calls = np.random.default_rng(17), []
    X = rng.normal(size=(301, 6))
    y = X[:, 0] - X[:, 3] + rng.standard_t(2, size=301)
    solve = scipy.optimize.linprog
    monkeypatch.setattr(
        scipy.optimize, "linprog", lambda *args, **more: calls.append(1) or solve(*args, **more)
    )
    quick = l0path.fit(X, y, loss=l0path.losses.Quantile(0.31))
    assert not calls
    monkeypatch.setattr(hinge, "along_edges", lambda *args: None)
    slow = l0path.fit(X, y, loss=l0path.losses.Quantile(0.31))
    assert len(calls) >= 6
    for one, other in zip(quick._solutions, slow._solutions, strict=True):
        np.testing.assert_array_equal(one.support, other.support)
        np.testing.assert_allclose(one.beta, other.beta, rtol=1e-8, atol=1e-10)
        assert one.loss == pytest.approx(other.loss, rel=1e-12) and one.flags == other.flags


def test_columns_of_groups_may_be_dependent():
    rng = np.random.default_rng(4)
    for _ in range(20):
        X = rng.standard_normal((54, 6))
        X[:, 5] = X[:, 0] + X[:, 1]
        y, w = rng.standard_normal(54), 0.2 + rng.random(54)
        path = l0path.fit(
            X, y, groups=[0, 0, 1, 1, 2, 2], loss=l0path.losses.Quantile(0.3), sample_weight=w
        )
        s = path._solutions[-1]
        assert s.k == 3 and np.abs(s.beta).max() < 1e6
        least = linear_program(X, y, 0.3, w)
        assert s.objective == pytest.approx(least, rel=1e-9)


def test_other_best_coefficients_are_flagged():
    """The median of an even number of rows is an interval; with a column of two values, two."""
    x = np.repeat([0.0, 1.0], [3, 4])
    y = np.array([1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 7.0])
    path = l0path.fit(x[:, None], y, loss="quantile", max_k=1)
    assert ["not_unique" in s.flags for s in path._solutions] == [False, True]  # 2; 2 and 2 to 4
    one = l0path.fit(x[:, None], np.where(x, y, y + 1), loss=l0path.losses.Quantile(0.3), max_k=1)
    assert "not_unique" not in one._solutions[1].flags
    # a row at the kink, with a slope at the end of its range, holds the others where they are
    path = l0path.fit(x[:6, None], [1.0, 2.0, 4.0, 2.0, 2.0, 2.0], loss="quantile", max_k=1)
    assert "not_unique" not in path._solutions[1].flags


@pytest.mark.parametrize("lambda1", [0.0, 0.02])
@pytest.mark.parametrize("lambda2", [0.0, 0.03])
@pytest.mark.parametrize("boxed", [False, True])
def test_optima_with_shrinkage_and_bounds(lambda1, lambda2, boxed):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 6)) * [1, 10, 0.1, 1, 1, 1]
    y, w = X[:, 0] + 0.2 * X[:, 1] + rng.standard_t(3, size=400), rng.uniform(0.1, 2, 400)
    given = dict(lambda1=lambda1, lambda2=lambda2)
    if boxed:
        given |= dict(lower=np.full(6, -0.1), upper=np.full(6, 0.15))
    offset = 0.3 * rng.normal(size=400)
    path = l0path.fit(
        X, y, loss=l0path.losses.Quantile(0.7), sample_weight=w, offset=offset, max_k=6,
        always_include=[4], **given,
    )  # fmt: skip
    assert len(path) == 6
    for s in path._solutions:
        beta = np.zeros(6)
        beta[s.support] = s.beta
        lacks = oracles.check_residual(
            X, y, s.support, beta, s.intercept, quantile=0.7, weights=w, offset=offset, **given
        )
        assert lacks < 1e-9 and s.status == "converged" and 4 in s.support


@pytest.mark.parametrize("seed", range(6))
def test_optima_do_not_lose_short_columns_beside_long_ones(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3)) * [1e6, 1.0, 1e-3]
    y = X @ [1e-6, -1.0, 0.0] + rng.standard_t(2, size=20)
    given = dict(lambda2=0.3, standardize=False)
    path = l0path.fit(X, y, loss="quantile", always_include=[0, 1, 2], max_k=0, **given)
    s = path._solutions[0]
    lacks = oracles.check_residual(X, y, s.support, s.beta, s.intercept, quantile=0.5, **given)
    assert lacks < 1e-13 and s.status == "converged"


def test_claims_say_which_loss_they_are_about():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 5))
    y = X[:, 0] + 0.3 * X[:, 1] + rng.normal(size=80)
    path = l0path.fit(X, y, loss="quantile", lambda2=1e-3, max_k=5, certify=True)
    kinds = path.details.optimality.tolist()
    # with no column, and with all of them, there is one support
    assert kinds[0] == kinds[5] == "global" and set(kinds[1:5]) <= {
        "global_smoothed", "refit_swap_smoothed", "refit_swap_m_smoothed",
    }  # fmt: skip
    width = path._loss_record().width
    assert any(f"width = {width:.4g}" in note and "_smoothed" in note for note in path.notes)
    assert "_smoothed" in repr(path.model(k=2).summary())
    bound, loss = path.details.lower_bound, path.details.objective
    assert (bound[1:5] <= loss[1:5] + 1e-12).all() and (bound[1:5] > 0).any()


def test_folds_predict_by_the_best_coefficients():
    """The deviance of a fold is that of an own fit of its other rows on the same columns."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(120, 4))
    y = X[:, 0] + rng.standard_t(3, size=120)
    folds = np.arange(120) % 3
    cv = l0path.cv_fit(X, y, loss=l0path.losses.Quantile(0.2), groups_cv=folds, cv=3, max_k=1)
    held = cv.held_out(k=1)
    for f in range(3):
        train = folds != f
        own = l0path.fit(X[train], y[train], loss=l0path.losses.Quantile(0.2), max_k=1)
        best = own._solutions[1].loss
        assert check(y[train], own.predict(X[train], k=1), 0.2) == pytest.approx(best, rel=1e-12)
        j = own._solutions[1].support
        assert best == pytest.approx(linear_program(X[train][:, j], y[train], 0.2), rel=1e-10)
    assert np.isfinite(held).all()


@pytest.fixture(scope="module")
def compared():
    """(X, y, path, {support: least check loss}) of all sets of six columns of a small sample, whose
    smoothed loss has another order of the sets.
    """
    from itertools import combinations

    rng = np.random.default_rng(13)
    X = rng.normal(size=(50, 6)) + 0.8 * rng.normal(size=(50, 1))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.standard_t(2, size=50)
    sets = [T for k in range(7) for T in combinations(range(6), k)]
    least = {T: linear_program(X[:, T], y, 0.25) for T in sets}
    path = l0path.fit(X, y, loss=l0path.losses.Quantile(0.25))
    return X, y, path, least


def test_certificates_are_about_the_check_loss(compared):
    _, _, path, least = compared
    found = 0
    for k in range(1, 6):
        order = sorted((value, T) for T, value in least.items() if len(T) == k)
        proof = path.certify(k=k, n_best=3)
        assert proof.proven and proof.model.optimality == "global"
        assert proof.incumbent == pytest.approx(order[0][0], rel=1e-10)
        assert [tuple(m.support.tolist()) for m in proof.best] == [T for _, T in order[:3]]
        np.testing.assert_allclose(
            [m.objective for m in proof.best], [v for v, _ in order[:3]], rtol=1e-10
        )
        assert proof.unique and proof.fixed_in.tolist() == list(order[0][1])
        found += path._solutions[k].objective > order[0][0] * (1 + 1e-6)
    assert found  # the smoothed loss has another best set of some size, which the proofs replace


def test_near_best_sets_are_about_the_check_loss(compared):
    X, y, path, least = compared
    best = min(value for T, value in least.items() if len(T) == 3)
    near = path.near_best(k=3, within=0.05)
    wanted = {T: v for T, v in least.items() if len(T) == 3 and v <= 1.05 * best}
    assert near.complete and {tuple(m.support.tolist()) for m in near} == set(wanted)
    for model in near:
        assert model.objective == pytest.approx(wanted[tuple(model.support.tolist())], rel=1e-10)
    bic = {T: 100 * np.log(v) + np.log(50) * len(T) for T, v in least.items()}
    chosen = l0path.best_subset(X, y, loss=l0path.losses.Quantile(0.25), criterion="bic")
    assert chosen.proven and tuple(chosen.model.support.tolist()) == min(bic, key=bic.get)


def test_exchanges_are_about_the_check_loss(compared):
    _, _, path, least = compared
    here = tuple(path._solutions[3].support.tolist())
    table = path.model(k=3).alternatives(n=4)
    one_away = sorted(v for T, v in least.items() if len(T) == 3 and len({*T, *here}) == 4)
    np.testing.assert_allclose(table.objective, one_away[:4], rtol=1e-9)
    assert table.proven.all()
    worth = path.model(k=3).summary().table.increase_if_dropped.to_numpy()
    without = [least[tuple(j for j in here if j != i)] - least[here] for i in here]
    np.testing.assert_allclose(worth, without, atol=1e-10)


def test_bounds_of_a_ridge_are_lower_by_what_the_smoothing_may_hide():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(60, 5))
    y = X[:, 0] + rng.normal(size=60)
    path = l0path.fit(X, y, loss="quantile", lambda2=0.01, max_k=3)
    proof = path.certify(k=2)
    above = 0.25 * path._loss_record().width
    assert not proof.proven and proof.status == "gap_not_closed" and not proof.unique
    assert 0 <= proof.incumbent - proof.lower_bound <= above * (1 + 1e-6)
    assert any("smoothed loss" in text for text in proof.assumptions)
    assert proof.model.optimality != "global" and not proof.fixed_in.size


@pytest.mark.parametrize("seed", [4, 71])
def test_at_a_lambda0_models_without_and_with_all_features_have_rivals(seed):
    """No size is given there, so that neither is the only one; fits of each set are compared."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 4))
    y = X[:, 0] + rng.normal(size=20)
    asked = {"loss": "quantile", "lambda2": 0.1}
    sets = [list(S) for k in range(5) for S in combinations(range(4), k)]
    values = [
        l0path.fit(X, y, max_k=0, always_include=S, **asked).details.objective[0] for S in sets
    ]
    path = l0path.fit(X, y, lambda0=[0.3, 0.03, 1e-4], certify=True, **asked)
    for row in path.details.itertuples():
        costs = [v + row.lambda0 * len(S) for v, S in zip(values, sets, strict=True)]
        assert row.lower_bound <= min(costs) + 1e-9
        assert row.optimality != "global" or row.objective == pytest.approx(min(costs), rel=1e-6)
    assert path.details.k.tolist()[-1] == 4 and row.objective > min(costs) * (1 + 1e-5)
