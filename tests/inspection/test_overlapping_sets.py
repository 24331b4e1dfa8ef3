"""Certificates of groups that overlap, of which several sets have the same columns."""

import numpy as np
import pytest

import l0path


def test_each_set_of_groups_is_listed_once():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    y = np.digitize(X @ [1.0, -0.5] + rng.logistic(size=40), [-0.7, 0.8])
    for order in ([[1], [0], [0, 1]], [[0, 1], [1], [0]], [[0], [0, 1], [1]]):
        path = l0path.fit(X, y, loss="ordinal", lambda1=0.02, groups=order, max_k=2)
        for index in (1, 2):
            found = path.certify(index=index, n_best=3)
            sets = [tuple(model.groups) for model in found.best]
            assert len(set(sets)) == len(sets) == 3


def test_values_of_sets_with_near_copies_come_from_the_rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 4))
    X[:, 1] = X[:, 0] + 1e-8 * X[:, 1]  # normal equations do not tell it from column 0
    gap = X[:, 1] - X[:, 0]
    y = X[:, 0] + gap / gap.std() + 0.05 * rng.normal(size=30)
    path = l0path.fit(X, y, groups=[[0], [1], [2], [3]], max_k=3, certify=False)
    found = path.certify(k=3, n_best=2)
    fitted = [np.column_stack([np.ones(30), X[:, 0], gap / gap.std(), X[:, j]]) for j in (2, 3)]
    best = sorted(np.linalg.lstsq(A, y, rcond=None)[1][0] / 60 for A in fitted)
    values = [model.objective for model in found.best]
    assert values == pytest.approx(best, rel=1e-6)
