"""What results of fits with groups do: grids, folds, files and drawings, and interruption."""

import numpy as np
import pandas as pd
import pytest
from group_problems import problem
from recomputed import objective_of

import l0path


def test_lambda0_grid_is_the_hull_of_the_sizes():
    X, y, labels = problem()
    sizes, path = l0path.fit(X, y, groups=labels), l0path.fit(X, y, groups=labels, lambda0="grid")
    for s in path._solutions:
        assert s.objective == pytest.approx(
            min(t.objective + s.lambda0 * t.k for t in sizes._solutions), rel=1e-10
        )
    assert objective_of(path, index=2) == pytest.approx(path.details.objective[2], rel=1e-10)
    with pytest.raises(ValueError, match="penalty_factor"):
        l0path.fit(X, y, groups=labels, lambda0="grid", penalty_factor=[1, 2, 1, 1, 1, 1])


def test_efforts_and_slices():
    X, y, labels = problem(sizes=(3,) * 12, n=60)
    fast, default, high = (
        l0path.fit(
            X, y, groups=labels, max_k=6, algorithm=l0path.solvers.LocalSearch(effort=effort)
        ).details.objective
        for effort in ("fast", "default", "high")
    )
    assert (default <= fast * (1 + 1e-12)).all() and (high <= default * (1 + 1e-12)).all()
    path = l0path.fit(X, y, groups=labels, max_k=4, lambda2=l0path.grid(n=3))
    assert path.details.slice.nunique() == 3 and len(path) == 15 and path._meta.penalty == "L0L2"


def test_cross_validation_chooses_the_number_of_groups():
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(15), 3)
    X = rng.standard_normal((150, 45))
    y = X[:, np.isin(labels, [2, 7])] @ np.ones(6) + rng.standard_normal(150)
    cv = l0path.cv_fit(X, y, groups=labels, cv=5, max_k=6, random_state=0, lambda2=0)
    assert (
        cv.model("min").groups[:1] == [2]
        and cv.model("1se").groups == [2, 7]
        and cv.scores.k.tolist() == list(range(7))
    )
    fold = cv.splits[0]
    alone = l0path.fit(X[fold[0]], y[fold[0]], groups=labels, max_k=6)
    held = np.mean((y[fold[1]] - alone.predict(X[fold[1]], k=2)) ** 2)
    assert cv.folds.iloc[2, 0] == pytest.approx(held, rel=1e-8)
    signal = np.isin(labels, [2, 7])
    both = l0path.cv_fit(X[:, signal], y, groups=labels[signal], cv=3, random_state=0, lambda2=0)
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
    pd.testing.assert_frame_equal(read.details, path.details)
    assert [m.groups for m in read] == [
        m.groups for m in path
    ] and read._meta.groups.labels == path._meta.groups.labels
    single = l0path.fit(X, y, max_k=1).model(k=1)
    assert single.groups == single.features  # every column is a group of its own
    scores = path.score_table()
    assert (scores.df == path.details.n_features + 1).all() and scores.attrs["p"] == len(
        path._meta.groups.labels
    )
    assert path.model(k=1).refit().params.size == path.details.n_features[1] + 1
    for kind in ("coef", "loss", "criteria", "lambda0", "support"):
        path.plot(kind)
    shown = l0path.plots.data(path, "support").drop(columns="k")
    assert [sorted(shown.columns[row > 0]) for row in shown.to_numpy()] == [
        sorted(map(str, m.groups)) for m in path
    ]
    assert path.certify(k=1).proven
    assert objective_of(read, k=2, X=X, y=y) == pytest.approx(path.details.objective[2], rel=1e-10)


def test_interruption_keeps_what_was_solved():
    X, y, labels = problem(sizes=(3,) * 12, n=100)
    seen = []
    path = l0path.fit(
        X, y, groups=labels, max_k=8, on_solution=lambda m: seen.append(m.k) or len(seen) == 3
    )
    assert (
        path.status.startswith("stopped by on_solution")
        and len(path) > 3
        and set(path.details.optimality) >= {"refit_swap", "unverified"}
    )
    assert l0path.fit(X, y, groups=labels, time_limit=1e-9).status.startswith("time_limit")
