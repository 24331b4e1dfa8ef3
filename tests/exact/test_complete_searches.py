"""Searches that compute every model (one and two columns under a squared loss, sets of at most 12
groups), what certificates then say, and what they say where no proof is possible.
"""

import math
import signal
from itertools import combinations

import numpy as np
import oracles
import pandas as pd
import pytest
from asked import loss_with
from test_leaps import enumerated, posed
from thinning import thinned

import l0path
from l0path.errors import SeparationWarning
from l0path.exact import pair_scan
from l0path.exact.pair_scan import PairScan, scannable
from l0path.exact.search import CertificateSearch
from l0path.problem.dependence import dependent, from_rows
from l0path.solvers import IntegralityGeneration
from l0path.working_set.model import make_model

REL = 1e-9  # by which rounding may part two values of a model


def columns(kind, seed=0, n=20, p=9):
    """X (n, p) of a kind that degenerates, and y (n,)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if kind == "copies":
        X[:, 3], X[:, 4], X[:, 5] = X[:, 0], -X[:, 1], 7.0 * X[:, 2]
    elif kind == "constant":
        X[:, 2], X[:, 6] = 3.0, 0.0
    elif kind == "combinations":
        X[:, 4], X[:, 5] = X[:, 0] + X[:, 1], X[:, 2] - X[:, 0]
    elif kind == "near":
        X[:, 3] = X[:, 0] + 1e-5 * rng.standard_normal(n)
        X[:, 4] = 1e-6 * rng.standard_normal(n) - X[:, 1]
    elif kind == "far":
        X += 1e4
    y = X[:, 0] - X[:, 4] + rng.standard_normal(n)
    if kind == "near":
        y += 1e5 * (X[:, 3] - X[:, 0])
    return X, y


KINDS = ["plain", "copies", "constant", "combinations", "near", "far"]


def scanned(problem, size, lambda2=0.0, n_best=1):
    model = make_model(problem)

    def refit(support):
        model.grow(support)
        fit = from_rows(model, model.refit(support, 0.0, lambda2), lambda2)
        return fit.value, tuple(map(int, support))

    return PairScan(problem, size=size, lambda2=lambda2, refit=refit, n_best=n_best)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "near"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"intercept": False, "standardize": False},
        {"forced": (1, 7)},
        {"lambda2": 0.03, "forced": (0,), "weights": True},
        {"lambda2": 0.5, "excluded": (3,)},
    ],
)
def test_a_scan_of_pairs_finds_the_enumerated_best(kind, options, monkeypatch):
    """In blocks of four columns, so that pairs lie within blocks and across them; p > n too."""
    monkeypatch.setattr(pair_scan, "PAIR_BLOCK", 4)
    X, y = columns(kind, n=8 if not options else 20)
    more = {**options, "weights": None}
    if "weights" in options:
        more["weights"] = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    lambda2 = more.pop("lambda2", 0.0)
    problem = posed(X, y, **more)
    # constant columns are no candidates
    more["excluded"] = {*more.get("excluded", ()), *np.flatnonzero(~problem.usable)}
    more["forced"] = [j for j in more.get("forced", ()) if problem.usable[j]]
    held = np.where(problem.usable, X, np.random.default_rng(0).standard_normal(X.shape))
    values = enumerated(held, y, lambda2=lambda2, **more)
    scale = 0.5 * float(problem.weights @ problem.y**2)
    for size in (1, 2):
        models = {t: v for t, v in values.items() if len(t) == size + len(more["forced"])}
        search = scanned(problem, size, lambda2, n_best=3)
        assert search.run() == "closed" and search.nodes == len(models)
        best = sorted(models.values())[:3]
        assert [v for v, _ in search.best] == pytest.approx(best, rel=REL, abs=1e-11 * scale)
        for value, support in search.best:
            assert models[support] == pytest.approx(value, rel=REL, abs=1e-11 * scale)
        assert search.lower == search.best[0][0]


def test_which_problems_are_scanned():
    X, y = columns("plain")
    problem = posed(X, y)
    assert scannable(problem, size=2, lambda1=0.0) and not scannable(problem, size=3, lambda1=0.0)
    assert not scannable(problem, size=2, lambda1=0.1)
    assert not scannable(posed(X, y, lower=0.0), size=2, lambda1=0.0)
    assert not scannable(posed(X, np.sign(y), loss="logistic"), size=2, lambda1=0.0)


def test_a_scan_can_be_stopped_and_goes_on(monkeypatch):
    monkeypatch.setattr(pair_scan, "PAIR_BLOCK", 2)
    X, y = columns("plain")
    whole, parts, calls = scanned(posed(X, y), 2), scanned(posed(X, y), 2), []
    whole.run()
    assert parts.run(lambda: calls.append(0) or len(calls) > 3) == "stopped"
    assert parts.nodes < whole.nodes and parts.lower == -math.inf
    assert parts.run() == "closed" and parts.best == whole.best and parts.nodes == whole.nodes


def test_one_and_two_columns_are_proven_for_more_columns_than_rows():
    rng = np.random.default_rng(2)
    X = np.cumsum(rng.standard_normal((25, 60)), axis=1)
    y = X[:, 20] - X[:, 23] + rng.standard_normal(25)
    path = l0path.fit(X, y, max_k=3)
    Z, c = X - X.mean(axis=0), y - y.mean()
    values = {
        pair: 0.5 * np.mean((c - Z[:, pair] @ np.linalg.lstsq(Z[:, pair], c, rcond=None)[0]) ** 2)
        for pair in combinations(range(60), 2)
    }
    ranked = sorted(values, key=values.get)
    c = path.certify(time_limit=None, k=2, n_best=3)
    assert c.proven and c.unique and c.nodes == 60 * 59 // 2
    assert [tuple(m.support) for m in c.best] == ranked[:3]
    assert c.incumbent == pytest.approx(values[ranked[0]], rel=REL)
    assert tuple(c.fixed_in) == ranked[0] and c.fixed_out.size == 58
    assert path.certify(time_limit=None, k=1).proven
    exact = l0path.fit(X, y, max_k=2, algorithm="exact")
    assert exact.details.optimality.tolist() == ["global"] * 3 and not exact.notes
    assert tuple(exact._solutions[2].support) == ranked[0]


@pytest.mark.parametrize("seed", range(3))
def test_near_copies_are_told_apart_or_nothing_is_proven(seed):
    """Columns that differ by 1e-5 of their length, and whose difference is what y follows: the
    normal equations see neither, least squares on the rows does.
    """
    X, y = columns("near", seed, n=40, p=7)
    path = l0path.fit(X, y, max_k=3)
    Z, c = X - X.mean(axis=0), y - y.mean()
    for k in range(1, min(3, int(path.details.k.max())) + 1):
        best = min(
            0.5 * np.mean((c - Z[:, T] @ np.linalg.lstsq(Z[:, T], c, rcond=1e-15)[0]) ** 2)
            for T in map(list, combinations(range(7), k))
        )
        found = path.certify(time_limit=None, k=k)
        assert not found.proven or found.incumbent == pytest.approx(best, rel=1e-6)
        assert found.lower_bound <= best * (1 + 1e-6)
        if k == 2:
            assert found.proven


# -------------------- what certificates say


def tall(seed=1, n=60, p=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    return X, X[:, :3].sum(axis=1) + rng.standard_normal(n)


@pytest.mark.parametrize("lambda2", [0.0, 0.02])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_all_columns_of_a_unique_best_model_are_in_every_best_model(lambda2, loss):
    X, y = tall()
    y = y if loss == "squared" else np.sign(y - np.median(y) + 1e-9)
    if loss == "logistic" and not lambda2:
        pytest.skip("no bounds")
    path = l0path.fit(X, y, loss=loss, lambda2=lambda2, max_k=4)
    for options in ({"k": 4}, {"k": 3}):
        c = path.certify(time_limit=None, **options, n_best=2)
        assert c.proven and c.unique and c.fixed_in.tolist() == c.model.support.tolist()
        assert sorted([*c.fixed_in, *c.fixed_out]) == list(range(8))
        assert c.deviance_ratio_bound == c.model.deviance_ratio
        for text in (repr(c), c._repr_html_()):
            assert "0 columns" not in text and "above" not in text and "no column" not in text
        assert "the only best model" in repr(c)


def test_ties_are_not_called_unique():
    """Three columns in a plane: each two of them are the best model."""
    X, y = tall()
    X[:, 7] = X[:, 5] + X[:, 6]
    y = 0.1 * y + 3.0 * X[:, 5] - 3.0 * X[:, 6]
    c = l0path.fit(X, y, max_k=2).certify(time_limit=None, k=2, n_best=2)
    assert c.proven and not c.unique and "only best" not in repr(c)
    best = [set(m.support) for m in c.best]
    assert all(one < {5, 6, 7} for one in best) and best[0] != best[1]
    assert not c.fixed_in.size and not set(c.fixed_out) & {5, 6, 7}


def test_a_column_with_a_copy_is_in_no_unique_model():
    X, y = tall()
    X[:, 7] = X[:, 0]
    path = l0path.fit(X, y, max_k=4)
    alone, two = path.certify(time_limit=None, k=4), path.certify(time_limit=None, k=4, n_best=2)
    assert alone.proven and two.proven and not alone.unique and not two.unique
    best = [set(m.support) for m in two.best]
    assert best[0] ^ best[1] == {0, 7}


def test_a_model_of_all_columns_may_hold_some_that_nothing_needs():
    X, y = tall(p=3)
    X[:, 2] = X[:, 0] - X[:, 1]
    path = l0path.fit(X, y, algorithm="exact")
    c = path.certify(time_limit=None, k=int(path.details.k.max()), n_best=2)
    assert not set(c.fixed_in) & {0, 1, 2}


def test_a_vacuous_bound_is_not_shown():
    X, y = tall()
    path = l0path.fit(X, y, lambda2=0.05, max_k=4)
    c = path.certify(time_limit=None, k=4)
    assert c.proven and "at most" not in repr(c)
    early = path.certify(k=4, time_limit=1e-9)
    assert early.deviance_ratio_bound == 1.0 and "at most" not in repr(early)
    assert "1.0000" not in repr(early) and "0 columns" not in repr(early)


def test_dependent_columns_are_named_where_they_stop_a_search():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 44))
    X[:, 22:] = X[:, :22] + np.roll(X[:, :22], 1, axis=1)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(44)])
    y = X[:, :4].sum(axis=1) + rng.standard_normal(60)
    c = l0path.fit(frame, y, max_k=8).certify(k=8, time_limit=None)
    assert not c.proven
    text = " ".join(c.assumptions)
    assert "linear combinations of earlier" in text and "c22 (of c0, c21)" in text
    notes = l0path.fit(frame, y, max_k=3, certify=True).notes
    assert any("c22 (of c0, c21)" in note for note in notes)
    wide = l0path.fit(frame[:30], y[:30], max_k=3, certify=True).notes
    assert any("more rows than features, and X has 30 rows and 44" in note for note in wide)


def test_dependent_columns_are_those_of_earlier_ones():
    X, y = columns("combinations")
    X[:, 8] = -2.0 * X[:, 7]
    assert dependent(posed(X, y)) == [(4, [0, 1]), (5, [0, 2]), (8, [7])]
    assert dependent(posed(columns("plain")[0], y)) == []


def test_many_dependent_columns_are_searched_to_the_end():
    """14 combinations among 24 columns: more searches than are made ready at a time."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((50, 24))
    X[:, 10:] = X[:, :10] @ rng.choice([-1.0, 0.0, 1.0], (10, 14), p=[0.2, 0.6, 0.2])
    X[:, 10:] += X[:, :1]
    y = X[:, 12] - X[:, 17] + X[:, 3] + X[:, 20] + 0.5 * rng.standard_normal(50)
    path = l0path.fit(X, y, max_k=4)
    c = path.certify(k=4, time_limit=None)
    Z, v = X - X.mean(axis=0), y - y.mean()
    G, q = Z.T @ Z / 50, Z.T @ v / 50
    T = np.array(list(combinations(range(24), 4)))
    S = G[T[:, :, None], T[:, None, :]]
    sound = np.linalg.eigvalsh(S)[:, 0] > 1e-9  # dependent ones are not above their subsets
    b = np.linalg.solve(S[sound], q[T[sound]][..., None])[..., 0]
    best = 0.5 * v @ v / 50 - 0.5 * (b * q[T[sound]]).sum(axis=1).max()
    assert c.proven and c.incumbent == pytest.approx(best, rel=REL)


# -------------------- groups


def grouped(seed=0, loss="squared", n=70, overlap=False):
    """X (n, 9), y, six groups of one to three columns (one of them dependent dummies)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 9))
    X[:, 2:5] = np.eye(3)[rng.integers(0, 3, n)]  # dummies that sum to one
    X[:, 8] = X[:, 0]  # a copy of another group's column
    signal = X[:, 0] + 1.5 * X[:, 2] - X[:, 6] + 1.2 * rng.standard_normal(n)
    groups = [[0, 1], [2, 3, 4], [5], [6], [7], [8]]
    if overlap:
        groups[2] = [1, 5]
    return X, oracles._response(loss, 0.7 * signal, rng), groups


def every_set(X, y, groups, forced=(), **same):
    """{set of numbers of groups: least objective on the union of their columns}."""
    out = {}
    for k in range(len(groups) + 1):
        for chosen in combinations(range(len(groups)), k):
            if set(forced) <= set(chosen):
                support = sorted({j for g in chosen for j in groups[g]})
                out[chosen] = oracles.restricted(X, y, support, **same)[0]
    return out


@pytest.mark.parametrize(("overlap", "loss"), thinned(2, [False, True], oracles.LOSSES))
def test_sets_of_groups_are_proven_and_are_the_enumerated_best(loss, overlap):
    X, y, groups = grouped(3, loss, overlap=overlap)
    lambda2 = 0.02 if loss != "squared" else 0.0
    same = {"loss": loss, "lambda2": lambda2}
    how = same | {"loss": loss_with(loss, delta=1.0)}
    path = l0path.fit(X, y, groups=groups, algorithm="exact", **how)
    values = (
        every_set(X, y, groups, delta=1.0, **same)
        if loss == "huber"
        else every_set(X, y, groups, **same)
    )
    assert set(path.details.optimality) == {"global"} and not path.notes
    for s in path._solutions:
        best = min(v for chosen, v in values.items() if len(chosen) == s.k)
        assert s.objective == pytest.approx(best, rel=1e-7) and s.lower_bound <= best + 1e-7 * abs(
            best
        )
    ranked = sorted((v, chosen) for chosen, v in values.items() if len(chosen) == 2)
    c = path.certify(time_limit=None, k=2, n_best=3)
    assert [m.objective for m in c.best] == pytest.approx([v for v, _ in ranked[:3]], rel=1e-7)
    assert c.unique == (ranked[1][0] > ranked[0][0] + 1e-6 * abs(ranked[0][0]))
    if c.unique:
        assert tuple(c.fixed_in) == ranked[0][1] and c.fixed_out.size == 4
    assert c.nodes == 15 and "all 15 models" in repr(c)


def test_groups_on_a_lambda0_grid_with_forced_and_excluded_groups():
    X, y, groups = grouped(4)
    lambda0 = [0.3, 0.05, 0.01, 0.001]
    options = dict(groups=groups, lambda0=lambda0, always_include=[6], exclude=[7])
    path = l0path.fit(X, y, algorithm="exact", **options)
    values = every_set(X, y, groups[:4] + groups[5:], forced=(3,))
    for s, price in zip(path._solutions, lambda0, strict=True):
        best = min(v + price * (len(chosen) - 1) for chosen, v in values.items())
        assert s.optimality == "global" and s.objective == pytest.approx(best, rel=REL)
    c = l0path.fit(X, y, max_k=5, **options).certify(time_limit=None, index=1, n_best=2)
    assert c.proven and len(c.best) == 2 and 3 not in c.fixed_in


def test_separated_sets_are_compared_by_their_infimum():
    X, y, groups = grouped(0, "logistic", n=40)
    X[:, 7] = np.where(y > 0, 1.0, -1.0) + 0.1 * X[:, 7]
    path = l0path.fit(X, y, loss="logistic", groups=groups, max_k=1, exclude=[7])
    assert path.certify(time_limit=None, k=1).proven
    with pytest.warns(SeparationWarning):
        path = l0path.fit(X, y, loss="logistic", groups=groups, max_k=1, algorithm="exact")
    model = path.model(k=1)
    assert model.details["status"] == "separated" and 7 in model.support
    assert model.objective == pytest.approx(0.0, abs=1e-12)


def test_formula_terms_are_proven():
    """The shape of the birthwt analysis of MASS: a binary response, a factor, eight terms."""
    rng = np.random.default_rng(6)
    n = 150
    frame = pd.DataFrame(rng.standard_normal((n, 5)), columns=list("abcde"))
    frame["race"] = pd.Categorical(rng.choice(["x", "y", "z"], n))
    frame["smoke"], frame["ht"] = rng.integers(0, 2, n), rng.integers(0, 2, n)
    eta = frame.a + (frame.race == "y") - 0.8 * frame.smoke + 0.3 * frame.b
    frame["low"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(int)
    path = l0path.fit(
        "low ~ a + b + c + d + e + race + smoke + ht", frame, loss="logistic", algorithm="exact"
    )
    assert len(path) == 9 and set(path.details.optimality) == {"global"} and not path.notes
    X = np.column_stack(
        [frame[list("abcde")], frame.race == "y", frame.race == "z", frame.smoke, frame.ht]
    ).astype(float)
    groups = [[0], [1], [2], [3], [4], [5, 6], [7], [8]]
    y = np.where(frame.low == 1, 1, -1)
    for k in (1, 3):
        best = min(
            oracles.restricted(X, y, [j for g in T for j in groups[g]], loss="logistic")[0]
            for T in combinations(range(8), k)
        )
        assert path.details.objective[k] == pytest.approx(best, rel=1e-8)


def test_more_groups_than_can_be_enumerated_are_refused_with_the_limit():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 26)), rng.standard_normal(50)
    groups = np.repeat(np.arange(13), 2)
    with pytest.raises(ValueError, match=r"at most 12 groups .* here there are 13"):
        l0path.fit(X, y, groups=groups, algorithm="exact", lambda1=0.01)
    path = l0path.fit(X, y, groups=groups, max_k=2, lambda1=0.01)
    with pytest.raises(ValueError, match=r"at most 12 groups .* here there are 13"):
        path.certify(time_limit=None, k=2)
    few = l0path.fit(X, y, groups=groups, max_k=2, lambda1=0.01, exclude=[0, 1])
    assert few.certify(time_limit=None, k=2).proven
    with pytest.raises(ValueError, match="integrality generation"):
        few.certify(time_limit=None, k=2, algorithm=IntegralityGeneration())


def test_an_interrupt_keeps_what_an_enumeration_has_found(monkeypatch):
    from l0path.exact.fit_enumeration import FitEnumeration

    X, y, groups = grouped(3)
    path = l0path.fit(X, y, groups=groups, certify=False)
    real, calls = FitEnumeration._compare, []

    def compare(self, chosen):
        calls.append(0)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        real(self, chosen)

    monkeypatch.setattr(FitEnumeration, "_compare", compare)
    c = path.certify(time_limit=None, k=3)
    assert c.status == "interrupted" and c.nodes == 3 and not c.proven
    assert 0 < c.lower_bound <= c.incumbent  # the fit on all groups bounds every other


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("eps", [3e-13, 1e-13])
def test_scans_prove_nothing_beyond_the_condition_of_1e12(k, eps):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 6))
    X[:, 3] = X[:, 2] + eps * rng.standard_normal(30)
    d = X[:, 3] - X[:, 2]
    y = X[:, 0] + 5 * d / np.linalg.norm(d) + 0.1 * rng.standard_normal(30)
    path = l0path.fit(X, y, max_k=3, always_include=[2] if k == 1 else None)
    certificate = path.certify(k=k)
    assert not certificate.proven and "x3" in repr(certificate)
    clear = l0path.fit(X[:, [0, 1, 2, 4, 5]], y, max_k=3, always_include=[2] if k == 1 else None)
    assert clear.certify(k=k).proven


def test_comparing_all_models_fits_no_model_of_thousands_of_columns(monkeypatch):
    # one fit on all columns, which neither the time limit nor Ctrl-C ends, would take for minutes
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 260))
    times = np.column_stack([rng.exponential(np.exp(-X[:, 3])), np.ones(40)])
    real, sizes = CertificateSearch.fit_on, []

    def fit_on(self, model, support):
        sizes.append(support.size)
        return real(self, model, support)

    monkeypatch.setattr(CertificateSearch, "fit_on", fit_on)
    path = l0path.fit(X, times, loss="cox", lambda2=1e-2, max_k=1)
    found = path.certify(k=1, time_limit=600)
    assert found.proven
    assert set(sizes) == {1}
