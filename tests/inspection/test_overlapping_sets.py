"""Certificates of groups that overlap, of which several sets have the same columns."""

import numpy as np

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
