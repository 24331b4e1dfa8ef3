"""The best models of all sizes, and all good ones, for survival times, several and ordered classes,
and several responses: against fits of every subset.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import survival
from class_samples import classes_drawn, ordered_drawn, responses_drawn
from recomputed import objective_of

import l0path

KINDS = ("cox", "multinomial", "ordinal", "several")


def drawn(kind, seed):
    """(X with five columns, of which seeds make one degenerate, y, arguments of `fit`)."""
    if kind == "cox":
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((36, 5))
        X[:, 4] = (X[:, 0], X[:, 0] - X[:, 1], X[:, 4])[seed % 3]
        times = survival.draw(rng, 36, eta=X[:, 0] - X[:, 1], weighted=seed % 2 == 0)
        y, how = np.column_stack([times.stop, times.event]), {"sample_weight": times.weights}
    else:
        draw = {"multinomial": classes_drawn, "ordinal": ordered_drawn}.get(kind, responses_drawn)
        X, y, rng = draw(seed)
        X, how = X[:, :5], {}
        if seed % 2 == 0:
            how["sample_weight"] = rng.integers(1, 3, len(X)).astype(float)
        if kind == "several":
            weights = rng.uniform(0.5, 2.0, y.shape[1])
            how["loss"] = l0path.losses.Squared(response_weights=weights)
    X = pd.DataFrame(X, columns=list("abcde"))
    return X, y, {"loss": kind, **how}


def every_model(X, y, how, name):
    """[(value of a criterion, objective, columns)] of all subsets, ascending."""
    columns = [c for c in X if np.ptp(X[c]) > 0]
    found = []
    for k in range(len(columns) + 1):
        for S in combinations(columns, k):
            out = [c for c in X if c not in S]
            path = l0path.fit(X, y, certify=False, k=[k], exclude=out, **how)
            last = path._solutions[-1]
            if last.k == k and last.status == "converged":
                found.append((float(path.score_table()[name].iloc[-1]), last.objective, S))
    return sorted(found)


def independent(models, X):
    """Those of the models whose columns are independent: a path ends where they no longer are."""
    A = X.to_numpy() - X.to_numpy().mean(axis=0)
    return [m for m in models if np.linalg.matrix_rank(A[:, m.support]) == m.support.size]


CRITERIA = {"cox": "bic", "multinomial": "aic", "ordinal": "aicc", "several": "bic"}


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 8))]
)
def test_the_best_models_of_all_sizes(kind, seed):
    X, y, how = drawn(kind, seed)
    name = CRITERIA[kind]
    every = every_model(X, y, how, name)
    best = l0path.best_subset(X, y, criterion=name, n_best=4, **how)
    assert all(model.details["status"] == "converged" for model in best.best)
    if not best.proven:  # a set of columns that separates the classes has no finite optimum
        whole = l0path.fit(X, y, certify=False, always_include=list(X), max_k=0, **how)
        assert whole._solutions[0].status == "separated"
        return
    for model, (value, *_) in zip(independent(best.best, X), every, strict=False):
        table = model.path.score_table()
        assert table[name].iloc[model._index] == pytest.approx(value, rel=1e-8)
    assert best.incumbent == pytest.approx(every[0][0], rel=1e-9)
    path = l0path.fit(X, y, certify=False, **how)
    good = path.near_best(criterion=name, within=3.0)
    expected = [S for value, _, S in every if value <= every[0][0] + 3.0 + 1e-9]
    assert good.complete
    assert {tuple(model.features) for model in independent(good.models, X)} == set(expected)
    one = path.near_best(k=2, within=0.05)
    values = sorted((v, S) for _, v, S in every if len(S) == 2)
    limit = values[0][0] + 0.05 * (values[0][0] - one.floor)
    expected = {S for v, S in values if v <= limit * (1 + 1e-9)}
    assert {tuple(model.features) for model in independent(one.models, X)} == expected


def test_the_criterion_of_mallows_sums_over_responses():
    X, y, how = drawn("several", 4)
    best = l0path.best_subset(X, y, criterion="cp", n_best=2, **how)
    every = l0path.fit(X, y, certify=True, **how)
    assert best.incumbent == pytest.approx(every.score_table()["cp"].min(), rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_averages_over_models(kind, tmp_path):
    X, y, how = drawn(kind, 3)
    path = l0path.fit(X, y, certify=False, **how)
    good = path.near_best(criterion="bic", within=12.0)
    assert len(good) > 1
    w, table = good.weights(), good.average()
    coefs = [
        model.coef.reindex([*path._meta.first_names, *X], fill_value=0.0) for model in good.models
    ]
    coefs = [one.stack() if one.ndim > 1 else one for one in coefs]
    mean = sum(a * one for a, one in zip(w, coefs, strict=True))
    np.testing.assert_allclose(table["mean"], mean[table.index], atol=1e-10)
    assert ("(Intercept)" in str(table.index)) == (kind in ("several", "multinomial"))
    predicted, each = good.predict(X), [model.predict(X) for model in good.models]
    expected = sum(a * one for a, one in zip(w, each, strict=True))
    np.testing.assert_allclose(predicted["mean"], expected, rtol=1e-10)
    assert (predicted["spread"].to_numpy() >= 0).all()
    assert (good.importance.high >= good.importance.low).all()
    good.plot().figure.clear()
    path.explore(tmp_path / "page.html", near_best=good)


def test_what_cannot_be_compared_is_said():
    X, y, how = drawn("cox", 2)
    for more, said in (({"lambda2": 0.1}, "with lambda2=0"), ({"lower": -1.0}, "without lower=")):
        path = l0path.fit(X, y, **how, **more)
        with pytest.raises(ValueError, match=f"fit {said}"):
            path.near_best(criterion="bic")


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_path_takes_the_data_of_its_fit(kind, tmp_path):
    X, y, how = drawn(kind, 2)
    del how["sample_weight"]
    how |= {"loss": l0path.losses.Cox(ties="breslow")} if kind == "cox" else {}
    path = l0path.fit(X, y, max_k=3, always_include=["b"], certify=False, **how)
    path.save(tmp_path / "path.l0")
    again = l0path.load(tmp_path / "path.l0")
    one, found = path.certify(k=2), again.certify(k=2, X=X, y=y)
    assert found.proven and found.incumbent == pytest.approx(one.incumbent, rel=1e-10)
    for what in ("summary", "alternatives"):
        old, new = getattr(path[2], what)(), getattr(again[2], what)(X=X, y=y)
        old, new = (t if what == "alternatives" else t.table for t in (old, new))
        pd.testing.assert_frame_equal(old, new)
    sets = [
        p.near_best(criterion="bic", within=4.0, **d)
        for p, d in ((path, {}), (again, {"X": X, "y": y}))
    ]
    assert sets[0].scores == pytest.approx(sets[1].scores)
    with pytest.raises(ValueError, match="checksum"):
        again.certify(k=2, X=X, y=y[::-1])


def test_a_loaded_path_keeps_the_strata_of_the_rows(tmp_path):
    X, y, _ = drawn("cox", 2)
    for n, strata in enumerate((np.arange(36) % 2, np.array(["w", "u", "v"])[np.arange(36) % 3])):
        path = l0path.fit(X, y, loss="cox", strata=strata, max_k=2)
        path.save(tmp_path / f"path{n}.l0")
        again = l0path.load(tmp_path / f"path{n}.l0")
        one, found = path.certify(k=1), again.certify(k=1, X=X, y=y)
        assert found.proven and found.incumbent == pytest.approx(one.incumbent, rel=1e-12)
        old, new = path.model(k=2).alternatives(), again.model(k=2).alternatives(X=X, y=y)
        pd.testing.assert_frame_equal(old, new)
        with pytest.raises(ValueError, match="checksum"):
            again.certify(k=1, X=X, y=y[::-1])
    with np.load(tmp_path / "path1.l0") as stored:
        arrays = dict(stored)
    stratum = arrays.pop("stratum")
    np.savez(tmp_path / "old.npz", **arrays)  # as a file of an earlier version
    with pytest.raises(ValueError, match=r"earlier version.*fit again"):
        l0path.load(tmp_path / "old.npz").certify(k=1, X=X, y=y)
    for wrong in (stratum + 1, stratum[1:], stratum.astype(float)):
        np.savez(tmp_path / "bad.npz", **arrays, stratum=wrong)
        with pytest.raises(ValueError, match="damaged"):
            l0path.load(tmp_path / "bad.npz")


def test_strata_of_a_formula_are_those_of_the_rows_that_were_kept(tmp_path):
    X, y, _ = drawn("cox", 2)
    table = X.assign(time=y[:, 0], died=y[:, 1], ward=list("qpr") * 12)
    table.loc[4, "a"] = np.nan
    path = l0path.fit("Surv(time, died) ~ a + b", table, loss="cox", strata="ward", max_k=2)
    path.save(tmp_path / "path.l0")
    again = l0path.load(tmp_path / "path.l0")
    old, new = path.model(k=1).summary(), again.model(k=1).summary(X=table)
    pd.testing.assert_frame_equal(old.table, new.table)


def test_a_loaded_path_of_a_formula_takes_its_table(tmp_path):
    X, y, _ = drawn("cox", 1)
    table = X.assign(time=y[:, 0], died=y[:, 1], ward=list("pqr") * 12)
    path = l0path.fit("Surv(time, died) ~ a + b + C(ward)", table, loss="cox")
    path.save(tmp_path / "path.l0")
    again = l0path.load(tmp_path / "path.l0")
    found = again.certify(k=1, X=table)
    assert found.proven and found.incumbent == pytest.approx(objective_of(path, k=1), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_all_near_best_sets_of_groups_are_found(kind):
    X, y, how = drawn(kind, 1)
    how = {name: value for name, value in how.items() if name != "sample_weight"}
    groups = [["a", "b"], ["b", "c"], ["d"], ["e"]]
    path = l0path.fit(X, y, groups=groups, max_k=3, certify=False, **how)
    for k in (1, 2):
        found = path.near_best(k=k, within=0.5)
        assert found.complete and all(model.k == k for model in found)
        values = {}
        for chosen in combinations(range(4), k):
            columns = sorted({name for g in chosen for name in groups[g]})
            only = X[columns]
            alone = l0path.fit(only, y, always_include=columns, max_k=0, certify=False, **how)
            values[chosen] = objective_of(alone, k=0)
        least = min(values.values())
        floor = found.floor
        near = {g: v for g, v in values.items() if v - floor <= 1.5 * (least - floor)}
        assert sorted(found.scores) == pytest.approx(sorted(near.values()), rel=1e-6)
        assert {tuple(sorted(model.groups)) for model in found} == set(near)
    # criteria count the rank of the union of the columns: e may be a combination of others
    ranked, scores = path.near_best(criterion="bic", within=4.0), {}
    for chosen in (g for size in range(5) for g in combinations(range(4), size)):
        columns = []
        for name in sorted({name for g in chosen for name in groups[g]}):
            more = X[[*columns, name]]
            if np.linalg.matrix_rank(more - more.mean()) > len(columns):
                columns.append(name)
        only = X[columns] if columns else X
        alone = l0path.fit(only, y, always_include=columns, max_k=0, certify=False, **how)
        scores[chosen] = alone.score_table().bic.iloc[0]
    least = min(scores.values())
    near = {g: v for g, v in scores.items() if v <= least + 4.0}
    assert ranked.complete and sorted(ranked.scores) == pytest.approx(sorted(near.values()))
    assert {tuple(sorted(model.groups)) for model in ranked} == set(near)
