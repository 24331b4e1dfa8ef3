"""Branch and bound: proofs, n_best, limits and algorithm="exact" against enumeration and against
statements that need no oracle.
"""

import math

import numpy as np
import oracles
import pytest

import l0path
from l0path.paths import Path
from l0path.solvers import BranchAndBound, IntegralityGeneration

REL = 1e-9  # by which rounding may part two values of an optimum
SEARCHED = ["squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson"]


def hard(seed=0, n=50, p=40, k=5, rho=0.3, noise=2.0, loss="squared"):
    """(X, y): correlated columns whose relaxation leaves a gap."""
    rng = np.random.default_rng(seed)
    X = math.sqrt(1 - rho) * rng.standard_normal((n, p)) + math.sqrt(rho) * rng.standard_normal(
        (n, 1)
    )
    y = X[:, :k].sum(axis=1) + noise * rng.standard_normal(n)
    return X, y if loss in ("squared", "huber") else np.round(
        np.exp(0.3 * y)
    ) if loss == "poisson" else np.where(y > np.median(y), 1, -1)


def ridge_table(X, y, lambda2, w=None):
    """{support: (objective, b)} of every support of a squared loss with intercept and standardized
    columns.
    """
    w = np.full(len(y), 1.0 / len(y)) if w is None else w / w.sum()
    Z = X - w @ X
    Z = Z / np.sqrt(w @ Z**2)
    c = y - w @ y
    return oracles.every_ridge(
        Z.T @ (w[:, None] * Z), Z.T @ (w * c), 0.5 * float(w @ c**2), lambda2
    )


@pytest.mark.parametrize("lambda2", [0.0, 1e-3, 0.05])
def test_every_size_is_proved_and_is_the_enumerated_optimum(lambda2):
    for seed in range(2):
        X, y = hard(seed, n=30, p=11)
        w = np.random.default_rng(seed).uniform(0.2, 2.0, 30)
        table = ridge_table(X, y, lambda2, w)
        path = l0path.fit(X, y, lambda2=lambda2, sample_weight=w, algorithm="exact", max_k=11)
        assert (
            set(path.details.optimality) == {"global"}
            and path.details.gap.max() <= 1e-6
            and not path.notes
        )
        for k in range(12):
            best = min(value[0] for support, value in table.items() if len(support) == k)
            assert path.details.objective[k] == pytest.approx(
                best, rel=1e-9
            ) and path.details.lower_bound[k] <= best * (1 + REL)


@pytest.mark.parametrize("lambda2", [0.0, 1e-3, 0.05])
def test_n_best_are_the_enumerated_best(lambda2):
    for seed in range(3):
        X, y = hard(seed, n=40, p=12)
        table = ridge_table(X, y, lambda2)
        path = l0path.fit(X, y, lambda2=lambda2, max_k=5)
        for k in (1, 3, 5):
            best = sorted(
                (value[0], support) for support, value in table.items() if len(support) == k
            )[:7]
            found = path.certify(k=k, n_best=7)
            assert found.proven and [tuple(m.support) for m in found.best] == [
                support for _, support in best
            ]
            np.testing.assert_allclose(
                [m.objective for m in found.best], [value for value, _ in best], rtol=1e-9
            )
            assert found.model.objective == pytest.approx(best[0][0], rel=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_n_best_of_a_lambda0_are_the_enumerated_best(share):
    """Rules that speak of the best model alone would fix columns of the others."""
    for seed in range(6):
        X, y = hard(seed, n=36, p=4, k=1, noise=0.5)
        table = ridge_table(X, y, 0.0)
        gain = table[()][0] - min(value[0] for S, value in table.items() if len(S) == 1)
        lambda0 = share * gain  # one column is best, by little or by much
        best = sorted((value[0] + lambda0 * len(S), S) for S, value in table.items())[:4]
        found = l0path.fit(X, y, lambda0=[lambda0], certify=False).certify(
            index=0, n_best=4, node_limit=5000
        )
        assert found.proven and [tuple(m.support) for m in found.best] == [S for _, S in best]
        np.testing.assert_allclose(
            [m.objective for m in found.best], [value for value, _ in best], rtol=1e-9
        )


def test_n_best_may_ask_for_more_supports_than_there_are():
    X, y = hard(n=30, p=5, k=2)
    found = l0path.fit(X, y, lambda2=0.01, max_k=2).certify(k=2, n_best=50)
    assert (
        found.proven and len(found.best) == 10 and len({tuple(m.support) for m in found.best}) == 10
    )


@pytest.mark.parametrize("loss", SEARCHED)
def test_a_worse_start_is_replaced_by_the_optimum(loss):
    X, y = hard(3, n=60, p=14, loss=loss)
    start = l0path.fit(
        X, y, loss=loss, lambda2=0.02, max_k=4, algorithm="CDPSI", lambda0=[0.5, 0.05, 0.02]
    )
    best = l0path.fit(
        X, y, loss=loss, lambda2=0.02, algorithm="exact", lambda0=[0.5, 0.05, 0.02], max_k=14
    )
    assert set(best.details.optimality) == {"global"}
    for i in range(3):
        c = start.certify(index=i)
        assert (
            c.proven
            and c.incumbent == pytest.approx(best.details.objective[i], rel=2e-6)
            and c.incumbent <= start.details.objective[i]
        )
        assert c.path.details.objective[i] == c.incumbent and start.details.lower_bound.isna().all()


def test_a_planted_bad_model_is_replaced_in_the_copy_alone():
    X, y = hard(1, n=60, p=25)
    path = l0path.fit(X, y, lambda2=0.01, max_k=4)
    bad = l0path.fit(X[:, 10:], y, lambda2=0.01, max_k=4)
    worse = path._solutions[4]._replace(
        support=bad._solutions[4].support + 10,
        beta=bad._solutions[4].beta,
        intercept=bad._solutions[4].intercept,
        loss=bad._solutions[4].loss,
        shrinkage=bad._solutions[4].shrinkage,
        objective=bad._solutions[4].objective,
    )
    planted = Path(
        path._meta, [*path._solutions[:4], worse], path.status, path.notes, (), path._source
    )
    c = planted.certify(k=4)
    assert (
        c.proven
        and c.incumbent == pytest.approx(path.certify(k=4).incumbent, rel=1e-9)
        and c.incumbent < worse.objective
    )
    assert (
        planted._solutions[4] is worse
        and c.path._solutions[4].support.tolist() != worse.support.tolist()
    )


@pytest.mark.parametrize("loss", SEARCHED)
def test_more_columns_than_rows_are_proved_and_bounds_hold_on_the_way(loss):
    X, y = hard(5, n=40, p=60, k=3, loss=loss)
    path = l0path.fit(X, y, loss=loss, lambda2=0.05, max_k=3)
    done = path.certify(k=3, time_limit=None)
    assert done.proven and done.nodes >= 1
    for limit in (1, 5, 25):
        c = path.certify(k=3, node_limit=limit, time_limit=None)
        assert (
            c.lower_bound <= done.incumbent * (1 + REL)
            and c.status in ("node_limit", "optimal")
            and c.nodes <= limit + 40
        )
    assert path.certify(k=3, gap=0.2).gap <= 0.2


def test_limits_and_interrupts_give_what_is_known():
    X, y = hard(2, n=60, p=150, k=12, rho=0.5)
    path = l0path.fit(X, y, lambda2=1e-3, max_k=12)
    c = path.certify(k=12, time_limit=0.3)
    assert (
        c.status == "time_limit"
        and not c.proven
        and 0 < c.gap < math.inf
        and "time limit" in repr(c)
    )
    few = BranchAndBound(node_limit=3)  # not a time limit, which a busy machine may use up
    exact = l0path.fit(X, y, lambda2=1e-3, max_k=6, algorithm=few)
    assert (
        len(exact) == 7
        and any("not proved" in note for note in exact.notes)
        and exact.details.gap.notna().all()
    )
    seen = []
    l0path.fit(
        X,
        y,
        lambda2=0.5,
        max_k=3,
        algorithm=BranchAndBound(gap=0.01),
        on_solution=lambda m: seen.append((m.k, m.optimality)),
    )
    assert {k for k, _ in seen} == {0, 1, 2, 3}


def test_settings_are_checked():
    for bad in ({"gap": -1}, {"gap": "small"}, {"node_limit": 0}, {"node_limit": 1.5}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            BranchAndBound(**bad)


def test_progress_names_bound_and_nodes(capsys):
    X, y = hard(2, n=40, p=60, k=6)  # more models than are compared one by one
    l0path.fit(X, y, lambda2=0.01, max_k=6).certify(k=6, progress=True, time_limit=3)
    shown = capsys.readouterr().err
    assert "bound" in shown and "nodes" in shown and "gap" in shown


def test_little_ridge_does_not_stop_the_bound_of_a_logistic_search():
    """Steps that majorize the loss left the bound of the root for good here; sonar, k = 6."""
    data = l0path.datasets.load_sonar()
    path = l0path.fit(data.X, data.y, loss="logistic", lambda2=1e-3, k=6)
    first, later = (path.certify(node_limit=limit, k=6) for limit in (1, 100))
    assert first.lower_bound < later.lower_bound < later.incumbent and later.gap < 0.8 * first.gap


def test_the_hinge_is_solved_exactly_and_by_no_other_algorithm():
    X, y = hard(4, n=40, p=9, k=3, loss="hinge")
    path = l0path.fit(X, y, loss="hinge", lambda2=0.05, algorithm="exact", max_k=3)
    assert set(path.details.optimality) == {"global"} and path.details.gap.max() <= 1e-6
    best = l0path.fit(
        X[:, path.support(k=3)], y, loss="hinge", lambda2=0.05, algorithm="exact", k=3
    ).details.objective.iloc[-1]
    assert best == pytest.approx(path.details.objective[3], rel=1e-6)
    other = l0path.fit(
        X, y, loss="hinge", lambda2=0.05, algorithm=IntegralityGeneration(gap=1e-6), max_k=3
    )
    np.testing.assert_allclose(other.details.objective, path.details.objective, rtol=2e-6)
    assert path.predict(X, k=3, type="class").shape == (40,) and path.certify(k=2).proven
    with pytest.raises(ValueError, match="hinge"):
        l0path.fit(X, y, loss="hinge", lambda2=0.05)


def test_integrality_generation_certifies_smooth_losses():
    X, y = hard(4, n=40, p=20, k=3, loss="logistic")
    path = l0path.fit(X, y, loss="logistic", lambda2=0.02, max_k=3)
    a, b = path.certify(k=3), path.certify(k=3, algorithm=IntegralityGeneration(gap=1e-6))
    assert a.proven and b.proven and a.incumbent == pytest.approx(b.incumbent, rel=2e-6)
    with pytest.raises(ValueError, match="n_best"):
        path.certify(k=3, n_best=2, algorithm=IntegralityGeneration())
    with pytest.raises(TypeError, match="algorithm="):
        path.certify(k=3, algorithm="tree")
