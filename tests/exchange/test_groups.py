"""Groups of columns: enumeration over groups for every loss, invariances, large problems whose
groups are screened, arguments, storage.
"""

import itertools

import numpy as np
import oracles
import pandas as pd
import pytest
import scipy.sparse as sp
from group_problems import by_label, enumerated, problem

import l0path
from l0path.engine.strategies.groups import GroupExchanges, GroupLimits
from l0path.working_set import groups as group_model

LOSSES = list(oracles.LOSSES)


def columns(labels, chosen):
    return np.flatnonzero(np.isin(labels, list(chosen)))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "case",
    [
        dict(lambda2=0.05),
        dict(lambda2=0.02, lambda1=0.03),
        dict(lambda2=0.02, lower=-0.4, upper=0.5),
        dict(lambda2=0.02, standardize=False, intercept=False),
    ],
    ids=["ridge", "lasso", "box", "bare"],
)
def test_every_size_is_the_best_of_all_sets_of_groups(loss, case):
    X, y, labels = problem(loss)
    rng = np.random.default_rng(1)
    w, o = rng.uniform(0.5, 2.0, y.size), 0.2 * rng.standard_normal(y.size)
    arguments = {
        "fit_intercept" if name == "intercept" else name: value for name, value in case.items()
    }
    path = l0path.fit(
        X,
        y,
        loss=loss,
        groups=labels,
        max_k=3,
        sample_weight=w,
        offset=o,
        delta=1.345 if loss == "huber" else None,
        **arguments,
    )
    for k in range(4):
        value, chosen = enumerated(
            X, y, by_label(labels), k, loss=loss, weights=w, offset=o, **case
        )
        assert path.table.objective[k] == pytest.approx(value, rel=1e-7)
        assert tuple(sorted(path.model(k=k).groups)) == chosen
        assert (
            path.table.k[k] == k and path.support(k=k).tolist() == columns(labels, chosen).tolist()
        )
        assert path.objective(k=k) == pytest.approx(path.table.objective[k], rel=1e-10)


def test_squared_paths_say_what_was_decided():
    X, y, labels = problem()
    table = l0path.fit(X, y, groups=labels, certify=False).table
    assert table.k.tolist() == list(range(7)) and list(table.optimality) == [
        *["global"] * 2,
        *["refit_swap"] * 4,
        "global",
    ]
    assert table.n_nonzero[6] == 13 and table.n_nonzero[0] == 0
    ranked = l0path.fit(X, y, groups=labels, lambda1=0.01, max_k=2)
    assert list(ranked.table.optimality)[1:] == ["global", "refit_swap_m"]
    assert [model.exchanges for model in ranked][1:] == [None, 10]
    assert not ranked.table["flags"].any()
    few = l0path.fit(
        X, y, groups=labels, lambda1=0.01, max_k=2, algorithm=l0path.solvers.LocalSearch(n_best=3)
    )
    assert [model.exchanges for model in few][1:] == [None, 3]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_called_refit_swap_has_no_better_exchange(seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(16), rng.integers(1, 5, 16)))
    X = rng.standard_normal((60, labels.size)) @ (
        np.eye(labels.size) + 0.4 * rng.standard_normal((labels.size, labels.size))
    )
    y, lambda2 = (
        X @ rng.standard_normal(labels.size) + 3 * rng.standard_normal(60),
        0.1 * (seed % 2),
    )
    path = l0path.fit(X, y, groups=labels, max_k=7, lambda2=lambda2, certify=False)
    assert set(path.table.optimality) == {"global", "refit_swap"}

    def value(chosen):
        return oracles.restricted(X, y, columns(labels, chosen), lambda2=lambda2)[0]

    for k in range(1, 8):
        chosen, rest = (
            path.model(k=k).groups,
            [g for g in range(16) if g not in path.model(k=k).groups],
        )
        assert min(
            value({*chosen, g} - {out}) for g in rest for out in chosen
        ) >= path.table.objective[k] * (1 - 1e-9)
        if k < 7:
            assert min(value({*chosen, g}) for g in rest) >= path.table.objective[k + 1] * (
                1 - 1e-9
            )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_of_more_columns_than_rows(loss, monkeypatch):
    """Systems on the rows give the optima, removals and exchanges that systems on the columns give:
    the models are the best pairs of groups, with weights, from additions and swaps alike.
    """
    rng = np.random.default_rng(5)
    n, G, wide = 24, 6, 20
    X, weights, labels = (
        rng.standard_normal((n, G * wide)),
        rng.uniform(0.5, 2.0, n),
        np.repeat(np.arange(G), wide),
    )
    eta = X[:, 20:40] @ rng.standard_normal(20) + X[:, 80:100] @ rng.standard_normal(20)
    y = eta if loss == "squared" else np.where(eta > np.median(eta), 1.0, -1.0)
    given = {
        "groups": labels,
        "max_k": 3,
        "lambda2": 0.3,
        "loss": loss,
        "sample_weight": weights,
        "standardize": False,
    }
    path = l0path.fit(X, y, **given)
    for k in (1, 2):
        best = min(
            oracles.restricted(
                X,
                y,
                columns(labels, chosen),
                loss=loss,
                lambda2=0.3,
                weights=weights / weights.sum(),
                standardize=False,
            )[0]
            for chosen in itertools.combinations(range(G), k)
        )
        assert path.table.objective[k] == pytest.approx(best, rel=1e-8)
    monkeypatch.setattr(group_model.GroupModel, "columns_per_row", 1e9)
    plain = l0path.fit(X, y, **given)
    np.testing.assert_allclose(path.table.objective, plain.table.objective, rtol=1e-9)
    assert [m.groups for m in path] == [m.groups for m in plain] and list(
        path.table.optimality
    ) == list(plain.table.optimality)


@pytest.mark.parametrize("ridge", [1e-4, 1.0, 100.0])
def test_inverses_on_the_rows(ridge):
    A = np.random.default_rng(0).standard_normal((30, 8))
    B, kept = group_model.inverse_by_rows(A, ridge)
    assert kept.tolist() == list(range(30))
    np.testing.assert_allclose(B @ (A @ A.T + ridge * np.eye(30)), np.eye(30), atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_of_one_column_give_the_path_of_columns(loss):
    X, y, _ = problem(loss, sizes=(1,) * 14, n=90)
    one, grouped = (
        l0path.fit(X, y, loss=loss, max_k=6, lambda2=0.01),
        l0path.fit(X, y, loss=loss, max_k=6, lambda2=0.01, groups=np.arange(14)),
    )
    np.testing.assert_allclose(grouped.table.objective, one.table.objective, rtol=1e-9)
    np.testing.assert_allclose(
        grouped.table.lambda0_low, one.table.lambda0_low, rtol=1e-6, atol=1e-12
    )
    assert [m.groups for m in grouped] == [m.support.tolist() for m in one]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_order_within_and_of_groups_and_mixing_within_groups_change_nothing(loss):
    X, y, labels = problem(loss, shuffle=False)
    path = l0path.fit(X, y, loss=loss, groups=labels, max_k=4, lambda2=0.01, standardize=False)
    rng = np.random.default_rng(3)
    order = rng.permutation(labels.size)
    moved = l0path.fit(
        X[:, order], y, loss=loss, groups=labels[order], max_k=4, lambda2=0.01, standardize=False
    )
    mixed = X.copy()
    for g in np.unique(labels):
        J = np.flatnonzero(labels == g)
        mixed[:, J] = X[:, J] @ np.linalg.qr(rng.standard_normal((J.size, J.size)))[0]
    turned = l0path.fit(
        mixed, y, loss=loss, groups=labels, max_k=4, lambda2=0.01, standardize=False
    )
    for other in (moved, turned):
        np.testing.assert_allclose(other.table.objective, path.table.objective, rtol=1e-8)
        assert [sorted(m.groups) for m in other] == [sorted(m.groups) for m in path]
    np.testing.assert_allclose(
        moved.coef(k=3, full=True).iloc[1:].to_numpy(),
        path.coef(k=3, full=True).iloc[1:].to_numpy()[order],
        atol=1e-6,
    )


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
        np.testing.assert_allclose(other.table.objective, path.table.objective, rtol=1e-12)
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
            assert path.table.objective[k] == pytest.approx(
                enumerated(X, y, groups, k, **case)[0], rel=1e-8
            )
            assert (
                path.support(k=k).tolist()
                == np.unique(
                    np.concatenate([np.empty(0, int), *(groups[g] for g in path.model(k=k).groups)])
                ).tolist()
            )
        assert list(path.table.optimality)[1:3] == ["global", "refit_swap_m"]


def test_forced_excluded_and_priced_groups():
    X, y, labels = problem()
    groups = by_label(labels)
    forced = l0path.fit(X, y, groups=labels, always_include="d", exclude=["b"], max_k=2)
    kept = {g: J for g, J in groups.items() if g != "b"}
    for k in range(3):
        value, chosen = enumerated(X, y, kept, k, forced=("d",))
        assert (
            forced.table.objective[k] == pytest.approx(value, rel=1e-9)
            and tuple(sorted(forced.model(k=k).groups)) == chosen
        )
    factor = np.ones(6)
    order = list(dict.fromkeys(labels))  # groups are numbered as they appear
    factor[order.index("d")], factor[order.index("b")] = 0.0, np.inf
    for priced in (factor, np.array([factor[order.index(g)] for g in labels])):
        np.testing.assert_allclose(
            l0path.fit(X, y, groups=labels, penalty_factor=priced, max_k=2).table.objective,
            forced.table.objective,
            rtol=1e-12,
        )
    by_column = l0path.fit(
        X, y, groups=labels, always_include=int(groups["d"][0]), exclude=groups["b"], max_k=2
    )
    np.testing.assert_allclose(by_column.table.objective, forced.table.objective, rtol=1e-12)
    part, fewer = (
        l0path.fit(X, y, groups=labels, exclude=[int(groups["b"][0])], max_k=2),
        {**groups, "b": groups["b"][1:]},
    )
    assert part.table.objective[2] == pytest.approx(enumerated(X, y, fewer, 2)[0], rel=1e-9)
    assert sorted(part.model(k=2).groups) == ["b", "e"] and part.support(k=2).tolist() == sorted(
        [*groups["b"][1:], *groups["e"]]
    )
    prices = np.linspace(0.5, 2.0, 6)
    path = l0path.fit(X, y, groups=labels, penalty_factor=prices)
    low = path.table.lambda0_low.to_numpy()
    for i in np.flatnonzero(low > 0):  # the hull in lambda0 counts the prices of groups
        cost = [
            s.objective + low[i] * sum(prices[order.index(g)] for g in path.model(index=j).groups)
            for j, s in enumerate(path.solutions)
        ]
        assert cost[i] == pytest.approx(min(cost), rel=1e-9)


def test_lambda0_grid_is_the_hull_of_the_sizes():
    X, y, labels = problem()
    sizes, path = l0path.fit(X, y, groups=labels), l0path.fit(X, y, groups=labels, grid="lambda0")
    for s in path.solutions:
        assert s.objective == pytest.approx(
            min(t.objective + s.lambda0 * t.k for t in sizes.solutions), rel=1e-10
        )
    assert path.objective(index=2) == pytest.approx(path.table.objective[2], rel=1e-10)
    with pytest.raises(ValueError, match="penalty_factor"):
        l0path.fit(X, y, groups=labels, grid="lambda0", penalty_factor=[1, 2, 1, 1, 1, 1])


def dummies(n=120, seed=0):
    """Full sets of dummy columns (each sums to one) of three factors, and a constant column in the
    first.
    """
    rng = np.random.default_rng(seed)
    levels = rng.integers(4, size=(n, 3))
    blocks = [np.eye(4)[levels[:, f]] for f in range(3)]
    X = np.column_stack([*blocks, np.ones(n)])
    return (
        X,
        np.array([0.0, 1.0, -1.0, 0.5])[levels[:, 1]] + 0.5 * rng.standard_normal(n),
        np.array([0] * 4 + [1] * 4 + [2] * 4 + [0]),
    )


def test_collinear_and_constant_columns_within_groups():
    X, y, labels = dummies()
    path = l0path.fit(X, y, groups=labels)
    assert path.model(k=1).groups == [1] and path.table.n_nonzero[1] == 3
    for k in range(4):
        value = min(
            np.mean((y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]) ** 2) / 2
            for g in itertools.combinations(range(3), k)
            for Z in [np.column_stack([np.ones(y.size), X[:, np.isin(labels, g)]])]
        )
        assert path.table.objective[k] == pytest.approx(value, rel=1e-9)
    assert "refit_swap" not in list(path.table.optimality)
    twice = l0path.fit(
        np.column_stack([X[:, :8], X[:, 4:8]]), y, groups=np.repeat([0, 1, 2], 4)
    )  # a group and its copy
    assert twice.table.objective[1] == pytest.approx(path.table.objective[1], rel=1e-9)
    # the copy belongs to a group of its own, so it is a column like any other: both groups share
    # the coefficients, and nothing is gained
    assert twice.table.objective[3] == pytest.approx(twice.table.objective[2], rel=1e-9)
    assert "refit_swap" not in list(twice.table.optimality)
    z = np.where(y > np.median(y), "yes", "no")
    logistic = l0path.fit(X, z, groups=labels, loss="logistic", lambda2=1e-3)
    assert logistic.model(k=1).groups == [1] and logistic.status.startswith("complete")


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_screened_groups_find_what_enumeration_of_the_signal_finds(loss, monkeypatch):
    """Groups that do not all fit into the working groups: recovery, dense = sparse, and the same
    models as with all of them at hand.
    """
    rng = np.random.default_rng(5)
    n, count, d = 250, 400, 3
    X = rng.standard_normal((n, count * d)) * (rng.random((n, count * d)) < 0.5)
    true = np.sort(rng.choice(count, 4, replace=False))
    labels = np.repeat(np.arange(count), d)
    eta = X[:, np.isin(labels, true)] @ np.repeat([1.5, -1.2, 1.3, -1.4], d)
    y = (
        eta + rng.standard_normal(n)
        if loss == "squared"
        else np.where(eta + rng.logistic(size=n) > 0, 1, 0)
    )
    arguments = dict(loss=loss, groups=labels, max_k=6, lambda2=1e-3 if loss == "logistic" else 0.0)
    every = l0path.fit(X, y, **arguments)
    monkeypatch.setattr(GroupExchanges, "limits", GroupLimits(columns=100))
    path, sparse = l0path.fit(X, y, **arguments), l0path.fit(sp.csr_matrix(X), y, **arguments)
    assert path.model(k=4).groups == true.tolist()
    assert path.rounds.members.iloc[-1] < count and set(path.table.optimality[2:]) == {
        "refit_swap_m"
    }
    np.testing.assert_allclose(path.table.objective, every.table.objective, rtol=1e-8)
    np.testing.assert_allclose(sparse.table.objective, path.table.objective, rtol=1e-9)


def test_weights_count_rows():
    X, y, labels = problem()
    w = np.random.default_rng(0).integers(0, 3, y.size)
    whole = np.repeat(np.arange(y.size), w)
    np.testing.assert_allclose(
        l0path.fit(X, y, groups=labels, sample_weight=w).table.objective,
        l0path.fit(X[whole], y[whole], groups=labels).table.objective,
        rtol=1e-9,
    )


def test_efforts_and_slices():
    X, y, labels = problem(sizes=(3,) * 12, n=60)
    fast, default, high = (
        l0path.fit(
            X, y, groups=labels, max_k=6, algorithm=l0path.solvers.LocalSearch(effort=effort)
        ).table.objective
        for effort in ("fast", "default", "high")
    )
    assert (default <= fast * (1 + 1e-12)).all() and (high <= default * (1 + 1e-12)).all()
    path = l0path.fit(X, y, groups=labels, max_k=4, penalty="L0L2", n_shrink=3)
    assert path.table.slice.nunique() == 3 and len(path) == 15 and path.penalty == "L0L2"


def test_cross_validation_chooses_the_number_of_groups():
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(15), 3)
    X = rng.standard_normal((150, 45))
    y = X[:, np.isin(labels, [2, 7])] @ np.ones(6) + rng.standard_normal(150)
    cv = l0path.cv_fit(X, y, groups=labels, cv=5, max_k=6, random_state=0)
    assert (
        cv.model("min").groups[:1] == [2]
        and cv.model("1se").groups == [2, 7]
        and cv.table.k.tolist() == list(range(7))
    )
    fold = cv.splits[0]
    alone = l0path.fit(X[fold[0]], y[fold[0]], groups=labels, max_k=6)
    held = np.mean((y[fold[1]] - alone.predict(X[fold[1]], k=2)) ** 2)
    assert cv.folds.iloc[2, 0] == pytest.approx(held, rel=1e-8)
    signal = np.isin(labels, [2, 7])
    both = l0path.cv_fit(X[:, signal], y, groups=labels[signal], cv=3, random_state=0)
    assert (
        both.model().k == 2 and both.notes == []
    )  # all groups are in: there is no larger size to ask for
    binary = l0path.cv_fit(
        X, y > 0, loss="logistic", groups=labels, cv=3, max_k=3, lambda2=0.01, random_state=0
    )
    assert binary.model("min").groups[:2] == [2, 7]


def test_paths_with_groups_are_stored_scored_and_drawn(tmp_path):
    X, y, _ = problem()
    path = l0path.fit(X, y, groups={"first": [0, 1], 2: [2, 3, 4], 2.5: [5], True: [6, 7, 8, 9]})
    path.save(tmp_path / "path.npz")
    read = l0path.load(tmp_path / "path.npz")
    pd.testing.assert_frame_equal(read.table, path.table)
    assert [m.groups for m in read] == [
        m.groups for m in path
    ] and read.meta.groups.labels == path.meta.groups.labels
    single = l0path.fit(X, y, max_k=1).model(k=1)
    assert single.groups == single.features  # every column is a group of its own
    scores = path.score_table()
    assert (scores.df == path.table.n_nonzero + 1).all() and scores.attrs["p"] == len(
        path.meta.groups.labels
    )
    assert path.refit(k=1).params.size == path.table.n_nonzero[1] + 1
    for kind in ("coef", "loss", "criteria", "lambda0", "support"):
        path.plot(kind)
    shown = l0path.plots.data(path, "support").drop(columns="k")
    assert [sorted(shown.columns[row > 0]) for row in shown.to_numpy()] == [
        sorted(map(str, m.groups)) for m in path
    ]
    assert path.certify(k=1).proven
    assert read.objective(k=2, X=X, y=y) == pytest.approx(path.table.objective[2], rel=1e-10)


def test_interruption_keeps_what_was_solved():
    X, y, labels = problem(sizes=(3,) * 12, n=100)
    seen = []
    path = l0path.fit(
        X, y, groups=labels, max_k=8, on_solution=lambda m: seen.append(m.k) or len(seen) == 3
    )
    assert (
        path.status.startswith("stopped by on_solution")
        and len(path) > 3
        and set(path.table.optimality) >= {"refit_swap", "unverified"}
    )
    assert l0path.fit(X, y, groups=labels, time_limit=1e-9).status.startswith("time_limit")


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
