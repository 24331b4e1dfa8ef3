"""Groups of columns: ways to write them, forced, excluded and priced ones, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from group_problems import by_label, enumerated, problem

import l0path


def test_ways_to_write_groups():
    X, y, labels = problem(shuffle=False)
    names = [f"v{j}" for j in range(labels.size)]
    frame = pd.DataFrame(X, columns=names)
    path = l0path.fit(frame, y, groups=labels, max_k=3)
    as_dict = {g: [names[j] for j in J] for g, J in by_label(labels).items()}
    del as_dict["c"]  # its only column is a group of its own
    for groups in (
        list(labels),
        pd.Series(labels, index=names).iloc[::-1],
        as_dict,
        [list(J)[::-1] for J in by_label(labels).values()],
    ):
        other = l0path.fit(frame, y, groups=groups, max_k=3)
        np.testing.assert_allclose(other.details.objective, path.details.objective, rtol=1e-12)
    assert l0path.fit(frame, y, groups=as_dict, max_k=6).model(k=6).groups == [
        "a",
        "b",
        "d",
        "e",
        "f",
        "v5",
    ]
    lone = l0path.fit(X, y, groups=[None if g == "c" else g for g in labels], max_k=6)
    assert lone.model(k=6).groups == ["a", "b", "d", "e", "f", "x5"]
    assert [
        type(g)
        for g in l0path.fit(X, y, groups=(labels > "c").astype(int), max_k=1).model(k=1).groups
    ] == [int]


def test_overlapping_groups_are_unions():
    X, y, _ = problem(sizes=(2,) * 5)
    groups = {
        "p": np.array([0, 1, 2, 3]),
        "q": np.array([2, 3, 4]),
        "r": np.array([4, 5, 6]),
        "s": np.array([0, 6, 7]),
        "t": np.array([8]),
        "u": np.array([8, 9, 1]),
    }
    for case in (dict(), dict(lambda2=0.05), dict(lambda2=0.01, lambda1=0.02)):
        path = l0path.fit(X, y, groups=groups, max_k=3, certify=False, **case)
        for k in range(4):
            assert path.details.objective[k] == pytest.approx(
                enumerated(X, y, groups, k, **case)[0], rel=1e-8
            )
            assert (
                path.support(k=k).tolist()
                == np.unique(
                    np.concatenate([np.empty(0, int), *(groups[g] for g in path.model(k=k).groups)])
                ).tolist()
            )
        assert list(path.details.optimality)[1:3] == ["global", "refit_swap_m"]


def test_forced_excluded_and_priced_groups():
    X, y, labels = problem()
    groups = by_label(labels)
    forced = l0path.fit(X, y, groups=labels, always_include="d", exclude=["b"], max_k=2)
    kept = {g: J for g, J in groups.items() if g != "b"}
    for k in range(3):
        value, chosen = enumerated(X, y, kept, k, forced=("d",))
        assert (
            forced.details.objective[k] == pytest.approx(value, rel=1e-9)
            and tuple(sorted(forced.model(k=k).groups)) == chosen
        )
    factor = np.ones(6)
    order = list(dict.fromkeys(labels))  # groups are numbered as they appear
    factor[order.index("d")], factor[order.index("b")] = 0.0, np.inf
    for priced in (factor, np.array([factor[order.index(g)] for g in labels])):
        np.testing.assert_allclose(
            l0path.fit(X, y, groups=labels, penalty_factor=priced, max_k=2).details.objective,
            forced.details.objective,
            rtol=1e-12,
        )
    by_column = l0path.fit(
        X, y, groups=labels, always_include=int(groups["d"][0]), exclude=groups["b"], max_k=2
    )
    np.testing.assert_allclose(by_column.details.objective, forced.details.objective, rtol=1e-12)
    part, fewer = (
        l0path.fit(X, y, groups=labels, exclude=[int(groups["b"][0])], max_k=2),
        {**groups, "b": groups["b"][1:]},
    )
    assert part.details.objective[2] == pytest.approx(enumerated(X, y, fewer, 2)[0], rel=1e-9)
    assert sorted(part.model(k=2).groups) == ["b", "e"] and part.support(k=2).tolist() == sorted(
        [*groups["b"][1:], *groups["e"]]
    )
    prices = np.linspace(0.5, 2.0, 6)
    path = l0path.fit(X, y, groups=labels, penalty_factor=prices)
    low = path.details.lambda0_low.to_numpy()
    for i in np.flatnonzero(low > 0):  # the hull in lambda0 counts the prices of groups
        cost = [
            s.objective + low[i] * sum(prices[order.index(g)] for g in path.model(index=j).groups)
            for j, s in enumerate(path._solutions)
        ]
        assert cost[i] == pytest.approx(min(cost), rel=1e-9)


BAD = {
    "too few labels": (dict(groups=["a", "b"]), ValueError, "groups has 2 labels, but X has p = 5"),
    "unknown column": (
        dict(groups={"a": ["x0", "z"]}),
        ValueError,
        r"groups\['a'\]: there is no column 'z'",
    ),
    "index out of range": (dict(groups=[[0, 9]]), ValueError, r"groups\[0\]: column index 9"),
    "empty group": (dict(groups={"a": [], "b": [1]}), ValueError, r"groups\['a'\] is empty"),
    "column twice": (dict(groups=[[0, 1, 0]]), ValueError, r"groups\[0\] has column x0 twice"),
    "a label that is a lone column": (
        dict(groups={"x3": [0, 1]}),
        ValueError,
        "groups has the label 'x3' twice",
    ),
    "labels alike as text": (
        dict(groups={1: [0], "1": [1]}),
        ValueError,
        "groups has the label '1' twice",
    ),
    "label of another type": (dict(groups={("a", 1): [0]}), TypeError, "groups has the label"),
    "mixed": (dict(groups=[[0], "b", "c", "d", "e"]), TypeError, "mixes labels and lists"),
    "a string": (dict(groups="abcde"), TypeError, "groups='abcde'"),
    "a number": (dict(groups=3), TypeError, "groups=3"),
    "matrix": (dict(groups=np.zeros((5, 2))), ValueError, "groups has shape"),
    "entry of another type": (dict(groups={"a": [0.5]}), TypeError, "has the entry 0.5"),
    "uneven factors": (
        dict(groups=[0, 0, 1, 1, 1], penalty_factor=[1, 2, 1, 1, 1]),
        ValueError,
        "penalty_factor differs among the columns of group 0",
    ),
    "number of factors": (
        dict(groups=[0, 0, 1, 1, 1], penalty_factor=[1, 2, 1]),
        ValueError,
        r"one per group \(2\)",
    ),
    "both": (
        dict(groups=["a", "a", "b", "b", "b"], always_include="a", exclude="a"),
        ValueError,
        "group 'a'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_groups_are_named_with_a_remedy(name):
    arguments, error, match = BAD[name]
    rng = np.random.default_rng(0)
    with pytest.raises(error, match=match):
        l0path.fit(rng.standard_normal((30, 5)), rng.standard_normal(30), **arguments)
