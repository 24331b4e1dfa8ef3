"""Hierarchies of terms: what is asked for, excluded and included terms, what results say."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hierarchies import keeps
from hierarchy_samples import closed_sets, encoded, table

import l0path

# -------------------- what is asked for


def test_auto_keeps_the_hierarchy_of_every_product():
    data = table(10)
    rules = {
        "y ~ a*c": "strong",
        "y ~ a + b*d": "strong",
        "y ~ a*b + c": "strong",
        "y ~ a + c + d": None,
        "y ~ a:c": None,  # rests on no other term
    }
    for text, rule in rules.items():
        groups = l0path.fit(text, data, max_k=2)._meta.groups
        found = None if groups is None or groups.hierarchy is None else groups.hierarchy.rule
        assert found == rule, text
    single = l0path.fit("y ~ a*c", data, max_k=2, groups=False)
    assert single._meta.groups is None
    assert l0path.fit("y ~ a*d", data, max_k=2, algorithm="cd")._meta.groups is None
    plain = l0path.fit("y ~ a + b", data)
    same = l0path.fit("y ~ a + b", data, heredity=None)
    pd.testing.assert_frame_equal(plain.details, same.details)
    both = pd.DataFrame({"y": data.y, "w": data.b})
    two = l0path.fit("y + w ~ a*d", both.join(data[["a", "d"]]), max_k=2)
    assert two._meta.groups.hierarchy.rule == "strong"


def test_excluded_and_included_terms_take_others_with_them():
    data, text = table(11), "y ~ (a + b + c) ** 2"
    path = l0path.fit(text, data, exclude=["c"])
    assert {term for m in path for term in m.groups} == {"a", "b", "a:b"}
    assert any("exclude keeps out a:c, b:c as well" in note for note in path.notes)
    path = l0path.fit(text, data, always_include=["a:c"])
    assert all({"a", "c", "a:c"} <= set(m.groups) for m in path) and len(path) == 4
    assert any("always_include brings in a, c as well" in note for note in path.notes)
    weak = l0path.fit(text, data, exclude=["c"], heredity="weak")
    assert "a:c" in weak.model(k=5).groups and "b:c" in weak.model(k=5).groups
    for seed in range(4):
        weak = l0path.fit(text, table(seed), exclude=["c"], heredity="weak", certify=False)
        assert len(weak) == 6 and not any("c" in m.groups for m in weak)
    path = l0path.fit(text, data, always_include=["a"], heredity="weak", max_k=1)
    best = l0path.fit("y ~ a + a:c + a:b + b + c", data, always_include=["a"], heredity=None)
    assert path.details.objective[1] == pytest.approx(best.table.objective[1])
    for how, message in [
        ({"always_include": ["a:c"], "exclude": ["c"]}, "needs c, which exclude= keeps out"),
        ({"always_include": ["a:c"], "heredity": "weak"}, "none of a, c, of which it needs one"),
        ({"heredity": "both"}, "heredity='both' must be"),
        ({"heredity": "weak", "groups": False}, "leave groups= out"),
        ({"heredity": "weak", "algorithm": "cd"}, "not served with algorithm='cd'"),
    ]:
        with pytest.raises(ValueError, match=message):
            l0path.fit(text, data, **how)
    with pytest.raises(ValueError, match="pass a formula"):
        l0path.fit(data[["a", "b"]], data.y, heredity="strong")


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
def test_terms_that_separate_the_classes_keep_the_hierarchy():
    data = table(1, 60, "logistic")
    data.loc[data.c == "w", "y"] = 1.0
    path = l0path.fit("y ~ (a + b + c + d) ** 2", data, loss="logistic", max_k=6)
    assert len(path) == 7 and sum(s.separated for s in path._solutions) > 2
    for model in path:
        assert keeps(model.groups, path._meta.groups.labels, "strong")


# -------------------- results


def test_folds_files_and_copies_keep_the_hierarchy(tmp_path):
    data, text = table(12, 60), "y ~ a*c + b*d"
    rows = np.arange(60)
    splits = [(rows[rows % 3 != 0], rows[rows % 3 == 0]), (rows[20:], rows[:20])]
    cv = l0path.cv_fit(text, data, cv=splits, scoring="mse", max_k=4, lambda2=0)
    for number, (train, test) in enumerate(splits):
        alone = l0path.fit(text, data.iloc[train], max_k=4, certify=False)
        for model in alone:
            error = np.mean((data.y[test] - model.predict(data.iloc[test])) ** 2)
            assert cv.folds.iloc[model.k, number] == pytest.approx(error)
    cv.save(tmp_path / "path")
    for path in (l0path.load(tmp_path / "path"), pickle.loads(pickle.dumps(cv))):
        kept = path._meta.groups.hierarchy
        assert kept.rule == "strong"
        np.testing.assert_array_equal(kept.needs, cv._meta.groups.hierarchy.needs)
        assert path.notes == cv.notes
    draws = {"n_subsamples": 4, "random_state": 0, "n_jobs": 1}
    stable = l0path.stability_selection(text, data, k=3, **draws)
    every = cv._meta.groups.labels
    assert all(keeps(S, every, "strong") for S in stable.subsets.features)


def test_summaries_and_proofs_are_about_closed_sets():
    data, text = table(13), "y ~ a*c + b*d"
    path = l0path.fit(text, data, certify=False)
    model = path.model(k=4)
    every = path._meta.groups.labels
    assert "strong heredity" in repr(path) and "strong heredity" in str(model.summary())
    rows = model.summary().table
    for term in model.groups:
        left = [other for other in model.groups if other != term]
        assert np.isfinite(rows.increase_if_dropped[term]) == keeps(left, every, "strong")
    found = path.model(k=4).alternatives(n=50)
    assert len(found)
    for dropped, added in zip(found.dropped, found.added, strict=True):
        others = [*(term for term in model.groups if term != dropped), added]
        assert keeps(others, every, "strong")
    proof = path.certify(k=3, n_best=3)
    assert proof.proven and any("heredity='strong'" in text for text in proof.assumptions)
    sets = [S for S in closed_sets(every, "strong") if len(S) == 3]
    assert proof.nodes == len(sets)
    assert all(keeps(m.groups, every, "strong") for m in proof.best)


def test_one_parent_may_take_the_place_of_another():
    data = table(18)
    data["y"] = data.x + data.a * data.x + 0.3 * data.b
    text = "y ~ (a + b + x) ** 2"
    path = l0path.fit(text, data, heredity="weak", certify=False)
    model, every = path.model(k=2), path._meta.groups.labels
    assert set(model.groups) == {"x", "a:x"}
    pairs = {
        (out, into)
        for out, into in itertools.product(model.groups, set(every) - set(model.groups))
        if keeps({*model.groups, into} - {out}, every, "weak")
    }
    assert ("x", "a") in pairs and ("x", "b") not in pairs
    for n in (50, 4):
        found = path.model(k=2).alternatives(n=n)
        listed = set(zip(found.dropped, found.added, strict=True))
        assert listed == pairs if n == 50 else listed <= pairs
    drops = model.summary().table.increase_if_dropped
    assert np.isnan(drops["x"]) and np.isfinite(drops["a:x"])


@pytest.mark.parametrize("rule", ["strong", "weak"])
def test_exact_search_compares_sets_of_more_terms_where_few_keep_the_hierarchy(rule):
    data = table(17, 50)
    text = "y ~ (a + b + c + d) ** 3"  # 14 terms: 166 sets by the strong rule, 6368 by the weak one
    terms = list(encoded(text, data)[1])
    how = {"lambda1": 0.01, "algorithm": "exact", "heredity": rule, "max_k": 2}
    if rule == "weak":
        with pytest.raises(ValueError, match="at most 4096 of them; here, with 14 terms"):
            l0path.fit(text, data, **how)
        return
    path = l0path.fit(text, data, **how)
    assert set(path.details.optimality) == {"global"}
    pairs = [S for S in itertools.combinations(terms, 2) if keeps(S, terms, rule)]
    assert path.certify(k=2).nodes == len(pairs)


def test_the_best_by_a_criterion_are_those_of_closed_sets():
    data, text = table(16, 60), "y ~ (a + b + d) ** 2"
    X, at, _ = encoded(text, data)
    found = []
    for S in closed_sets(list(at), "strong"):
        A = np.column_stack([np.ones(60), X[:, [j for term in S for j in at[term]]]])
        r = data.y - A @ np.linalg.lstsq(A, data.y)[0]
        deviance = 60 * np.log(2 * np.pi * r @ r / 60) + 60
        found.append((deviance + np.log(60) * (len(S) + 1), set(S)))
    found.sort(key=lambda pair: pair[0])
    best = l0path.best_subset(text, data, criterion="bic", n_best=4)
    assert best.proven and any("heredity='strong'" in text for text in best.assumptions)
    assert best.incumbent == pytest.approx(found[0][0])
    assert [set(m.groups) for m in best.best] == [terms for _, terms in found[:4]]
    near = l0path.fit(text, data).near_best(criterion="bic", within=2.0)
    close = [terms for value, terms in found if value <= found[0][0] + 2.0]
    assert near.complete and [set(m.groups) for m in near.models] == close
    assert l0path.best_subset("y ~ a*c", data).proven
    knockoffs = l0path.knockoff_filter("y ~ a*d + b + x", data, random_state=0)
    assert len(knockoffs.statistic) == 5
