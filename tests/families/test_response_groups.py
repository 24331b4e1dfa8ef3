"""Groups of columns for several responses and several classes: sizes, values of lambda0, claims and
certificates against enumeration, and neighbors against refits.
"""

from itertools import combinations, pairwise, product

import enumerated_families
import numpy as np
import pandas as pd
import pytest
from recomputed import objective_of

import l0path
from l0path.engine.strategies.groups import GroupExchanges, GroupLimits
from l0path.solvers import LocalSearch

KINDS = {"several": {}, "multinomial": {"loss": "multinomial", "lambda2": 1e-3}}


def instance(kind, seed):
    """(an instance of `enumerated_families` without forced columns, sets of columns that overlap by
    turns).
    """
    one = enumerated_families.instance(kind, seed, np.random.default_rng([seed, 5]))
    given, p = dict(one.given), one.X.shape[1]
    given.pop("always_include", None)
    sets = [[0, 1], [2], [3], *([[4, 1]] if seed % 2 and p > 4 else [])]
    return one, given, sets + ([list(range(4, p))] if p > 4 else [])


def least_by_size(one, sets, forced=()):
    """{k: the least value of k sets beside the forced ones}, as far as all of them have one."""
    free, best = [g for g in range(len(sets)) if g not in forced], {}
    for k in range(len(free) + 1):
        unions = [
            sorted({j for g in (*S, *forced) for j in sets[g]}) for S in combinations(free, k)
        ]
        values = [one.value(J, None) for J in unions]
        if any(value is None for value in values):
            break
        best[k] = min(values)
    return best


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(i, marks=pytest.mark.slow) for i in range(6, 106))]
)
def test_every_size_and_claim_is_the_enumerated_best(kind, seed):
    one, given, sets = instance(kind, seed)
    forced = [2] if seed % 3 == 1 else []
    best = least_by_size(one, sets, forced)
    more = {"always_include": sets[2]} if forced else {}
    effort = LocalSearch(effort="high")
    certify = "auto" if seed % 2 else False
    path = l0path.fit(
        one.X, one.y, groups=sets, max_k=9, algorithm=effort, certify=certify, **given, **more
    )
    compared = 0
    for s in path._solutions:
        if s.k not in best or s.separated:
            break
        assert s.objective == pytest.approx(best[s.k], rel=1e-9, abs=1e-12)
        assert not s.lower_bound > best[s.k] * (1 + 1e-9)
        compared += 1
    assert compared >= min(3, len(best))
    if not forced and seed % 2 and 2 in best:
        proof = path.certify(k=2)
        assert proof.proven and proof.incumbent == pytest.approx(best[2], rel=1e-9)
        assert proof.lower_bound <= best[2] * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 2])
def test_values_of_lambda0_are_the_enumerated_best(kind, seed):
    one, given, sets = instance(kind, seed)
    best = least_by_size(one, sets)
    assert len(best) == len(sets) + 1
    path = l0path.fit(one.X, one.y, groups=sets, lambda0=[0.3, 0.05, 0.005], **given)
    for s in path._solutions:
        known = min(value + s.lambda0 * k for k, value in best.items())
        assert s.objective == pytest.approx(known, rel=1e-9)


def drawn(kind, p=40, n=80):
    """(X, y) with pairs of columns of which two matter: groups 2 and 5."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((n, p)), columns=[f"c{j}" for j in range(p)])
    eta = X[["c4", "c5", "c10", "c11"]].to_numpy() @ rng.standard_normal((4, 3))
    if kind == "several":
        return X, pd.DataFrame(eta + rng.standard_normal((n, 3)), columns=list("uvw"))
    return X, np.array(["ash", "elm", "oak"])[(eta + rng.gumbel(size=(n, 3))).argmax(axis=1)]


@pytest.mark.parametrize("kind", KINDS)
def test_few_working_groups_give_the_path_of_all(kind, monkeypatch):
    (X, y), groups = drawn(kind), [j // 2 for j in range(40)]
    whole = l0path.fit(X, y, groups=groups, max_k=4, certify=False, **KINDS[kind])
    monkeypatch.setattr(GroupExchanges, "limits", GroupLimits(columns=4, entries=10, seed=6))
    few = l0path.fit(X, y, groups=groups, max_k=4, certify=False, **KINDS[kind])
    np.testing.assert_allclose(few.details.objective, whole.details.objective, rtol=1e-9)
    assert whole.model(k=2).groups == few.model(k=2).groups
    checked = "refit_swap" if kind == "several" else "refit_swap_m"  # tables of squares are exact
    assert few.details.optimality.tolist()[1:] == [checked] * 4


@pytest.mark.parametrize("seed", range(4))
def test_no_exchange_of_groups_improves_a_model_that_claims_it(seed):
    rng = np.random.default_rng(seed)
    sets = [list(range(first, last)) for first, last in pairwise((0, 1, 4, 6, 7, 10, 12, 15, 18))]
    X = rng.standard_normal((40, 18)) @ (np.eye(18) + 0.5 * rng.standard_normal((18, 18)))
    Y = X[:, [0, 2, 11, 13]] @ rng.standard_normal((4, 3)) + 2.0 * rng.standard_normal((40, 3))
    path = l0path.fit(X, Y, groups=sets, max_k=4, certify=False)
    assert path.details.optimality.tolist()[1:] == ["refit_swap"] * 4

    def squares(chosen):
        A = np.column_stack([np.ones(40), X[:, [j for g in chosen for j in sets[g]]]])
        return np.linalg.norm(Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]) ** 2

    for k in range(1, 5):
        chosen = path.model(k=k).groups
        others = [g for g in range(len(sets)) if g not in chosen]
        least = squares(chosen) * (1.0 - 1e-9)
        for out, into in product(chosen, others):
            assert squares([g for g in chosen if g != out] + [into]) >= least


@pytest.mark.parametrize("kind", KINDS)
def test_neighbors_are_groups(kind):
    X, y = drawn(kind, p=12)
    sets = [[f"c{j}", f"c{j + 1}"] for j in range(0, 12, 2)]
    path = l0path.fit(X, y, groups=sets, max_k=3, certify=False, **KINDS[kind])
    value, labels = objective_of(path, k=2), path._meta.groups.labels

    def refitted(chosen):
        columns = [name for g in chosen for name in sets[g]]
        only = l0path.fit(X[columns], y, always_include=columns, max_k=0, **KINDS[kind])
        return objective_of(only, k=0)

    table = path.model(k=2).summary().table
    assert table.index.tolist() == [labels[2], labels[5]] and (table["columns"] == 2).all()
    for out, kept in ((2, 5), (5, 2)):
        row = table.loc[labels[out]]
        assert row.increase_if_dropped == pytest.approx(refitted([kept]) - value, rel=1e-6)
        every = {g: refitted(sorted([kept, g])) - value for g in (0, 1, 3, 4)}
        assert row.best_exchange == labels[min(every, key=every.get)]
        assert row.exchange_change == pytest.approx(min(every.values()), rel=1e-6)
    near = path.model(k=2).alternatives(n=8)
    assert len(near) == 8 and near.objective.is_monotonic_increasing
    assert "4 of p = 12 features" in repr(path.model(k=2).summary())


@pytest.mark.parametrize("kind", KINDS)
def test_folds_files_terms_and_estimators(kind, tmp_path):
    (X, y), groups, how = drawn(kind, p=12), [j // 2 for j in range(12)], KINDS[kind]
    asked = {"lambda2": 0} | how
    cv = l0path.cv_fit(X, y, groups=groups, max_k=3, cv=3, random_state=0, **asked)
    train, test = cv.splits[0]
    part = y.iloc[train] if kind == "several" else y[train]
    alone = l0path.fit(X.iloc[train], part, groups=groups, max_k=3, **how)
    rest = y.iloc[test] if kind == "several" else y[test]
    score = alone.model(k=2).score(X.iloc[test], rest)["deviance"]
    assert cv.folds.loc[2, 0] == pytest.approx(score)
    path = cv
    path.save(tmp_path / "path.npz")
    again = l0path.load(tmp_path / "path.npz")
    assert again.coef(k=2).equals(path.coef(k=2)) and again.model(k=2).groups == [2, 5]
    estimator = l0path.L0Regressor if kind == "several" else l0path.L0Classifier
    assert estimator(2, groups=groups).fit(X, y).get_support(indices=True).tolist() == [
        4,
        5,
        10,
        11,
    ]
    left = "u + v" if kind == "several" else "tree"
    table = X.join(y) if kind == "several" else X.assign(tree=y)
    table["f"] = np.array(list("pqr"))[np.arange(80) % 3]
    terms = l0path.fit(f"{left} ~ c4 + c10 + f", table, max_k=3, **how)
    assert terms.model(k=3).groups == ["c4", "c10", "f"]
    assert len(terms.model(k=3).features) == 4
