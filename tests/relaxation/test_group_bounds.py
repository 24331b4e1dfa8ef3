"""Lower bounds of groups against all sets of them."""

import numpy as np
import pytest
from asked import loss_with
from group_problems import enumerated, problem
from thinning import thinned

import l0path
from l0path.engine.strategies.groups import GroupExchanges

PENALTIES = {
    "ridge": {"lambda2": 0.3},
    "lasso": {"lambda2": 0.05, "lambda1": 0.02},
    "bare": {"lambda2": 0.1, "standardize": False, "intercept": False},
    "box": {"lambda2": 0.3, "lower": -0.2, "upper": 0.1},
    "box alone": {"lower": -0.2, "upper": 0.1},
}


@pytest.mark.parametrize(
    ("loss", "penalty"),
    thinned(
        4,
        ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson"),
        PENALTIES,
    ),
)
def test_no_set_of_groups_is_below_its_bound(loss, penalty):
    case = PENALTIES[penalty]
    X, y, labels = problem(loss)
    rng = np.random.default_rng(3)
    given = {
        "sample_weight": rng.uniform(0.5, 2.0, y.size),
        "offset": 0.2 * rng.standard_normal(y.size),
        **{"fit_intercept" if name == "intercept" else name: value for name, value in case.items()},
    }
    oracle = {"loss": loss, "weights": given["sample_weight"], "offset": given["offset"], **case}
    groups = [
        *([labels == g for g in "abcde"]),
        (labels == "f") | (labels == "a"),
    ]  # the last two share columns
    sets = {str(i): np.flatnonzero(group) for i, group in enumerate(groups)}
    path = l0path.fit(
        X,
        y,
        loss=loss_with(loss, delta=1.345),
        groups=list(sets.values()),
        max_k=3,
        always_include=np.flatnonzero(labels == "b"),
        certify=True,
        **given,
    )
    best = [enumerated(X, y, sets, k, forced="1", **oracle)[0] for k in range(6)]
    table = path.details
    assert (
        (table.lower_bound <= np.array(best[:4]) + 1e-9).all()
        and (table.lower_bound[1:] > 0).all()
        and (np.diff(table.lower_bound) <= 1e-9).all()
    )
    most = 0.05 if case.get("lambda2", 0.0) > 0.2 else 0.3
    assert table.gap[1:].max() < (0.9 if "lower" in case else most)
    prices = [0.05, 0.01, 1e-4]
    grid = l0path.fit(
        X,
        y,
        loss=loss_with(loss, delta=1.345),
        groups=list(sets.values()),
        max_k=3,
        always_include=np.flatnonzero(labels == "b"),
        certify=True,
        lambda0=prices,
        **given,
    ).details
    for row, price in zip(grid.itertuples(), prices, strict=True):
        assert 0 < row.lower_bound <= min(value + price * k for k, value in enumerate(best)) + 1e-9


def test_bounds_of_groups_say_why_there_are_none(monkeypatch):
    X, y, labels = problem()
    both = {"lambda2": [0.1, 0.0], "max_k": 2, "certify": True}
    proven = l0path.fit(X, y, groups=labels, **both)
    assert proven.details.lower_bound.notna().all() and not any("slice" in n for n in proven.notes)
    path = l0path.fit(X, y, groups=labels, lambda1=0.01, **both)
    assert path.details.lower_bound.notna().tolist() == [
        True,
        True,
        True,
        True,
        True,  # one group that was compared with all others
        False,
    ] and any("slice 1" in note and "ridge" in note for note in path.notes)
    boxed = l0path.fit(X, y, groups=labels, upper=1.0, max_k=2, certify=True)
    assert boxed.details.lower_bound[2:].isna().all() and any(
        "no finite bounds on every feature" in note for note in boxed.notes
    )
    path = l0path.fit(X, y, groups=labels, lambda2=0.1, max_k=6, certify=True, time_limit=1e-9)
    assert "time_limit" in path.status and path.details.lower_bound[1:].isna().all()
    bound = GroupExchanges.bound
    monkeypatch.setattr(
        GroupExchanges, "bound", lambda self, k: np.nan if k == 2 else bound(self, k)
    )
    for grid in (
        dict(max_k=3),
        dict(max_k=3, lambda0=[0.05, 1e-4]),
    ):  # a price's bound needs those of all sizes
        given = {"lambda1": 0.01, "lambda2": 0.1, "certify": True, **grid}
        table = l0path.fit(X, y, groups=labels, **given).details
        assert table.lower_bound.isna().tolist() == (
            [True, True] if "lambda0" in grid else [False, False, True, False]
        )
    monkeypatch.undo()
    own = l0path.fit(X, y, groups=labels, lambda2=0.1, max_k=2, algorithm="feature_generating")
    again = l0path.fit(
        X, y, groups=labels, lambda2=0.1, max_k=2, algorithm="feature_generating", certify=True
    )
    assert again.details.lower_bound.tolist() == own.details.lower_bound.tolist()


def test_bounds_on_a_feature_that_is_excluded_leave_lower_bounds_of_groups():
    rng = np.random.default_rng(4)
    X, labels = rng.standard_normal((40, 6)), [0, 0, 1, 1, 2, 2]
    y = X[:, 0] - X[:, 3] + 0.5 * rng.standard_normal(40)
    asked = dict(groups=labels, exclude=[5], lambda1=0.01, lambda2=0.1, max_k=2, certify=True)
    free = l0path.fit(X, y, **asked)
    lower = np.array([-np.inf] * 5 + [-1.0])
    path = l0path.fit(X, y, lower=lower, **asked)
    assert path.details.lower_bound.notna().all()
    assert path.details.lower_bound.to_numpy() == pytest.approx(free.details.lower_bound)
