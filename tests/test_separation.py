"""Separated classes: what is said of them, and what is chosen."""

import numpy as np
import pytest

import l0path
from l0path.duality.recession import separating
from l0path.errors import SeparationWarning


def empty_cell(n=60, seed=0):
    """Classes that depend on x0; column 3 is 1 in four observations, all of class 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = (X[:, 0] + rng.logistic(size=n) > 0).astype(int)
    X[:, 3] = 0.0
    X[np.flatnonzero(y == 1)[:4], 3] = 1.0
    return X, y


def test_quasi_complete_separation_names_its_columns():
    X, y = empty_cell()
    with pytest.warns(SeparationWarning, match="separate the classes quasi-completely by x3,"):
        path = l0path.fit(X, y, loss="logistic")
    assert "quasi-completely by x3, so" in path.status and "lambda2=1e-3" in path.status
    assert "x3" in path.model(index=-1).features
    with pytest.warns(SeparationWarning, match="separate the classes completely"):
        whole = l0path.fit(X, X[:, 1] > 0, loss="logistic")
    assert "separate the classes completely" in whole.status


def test_the_direction_uses_few_columns_and_keeps_to_bounds():
    X, y = empty_cell()
    none = np.full(5, np.inf)
    sides = np.where(y > 0, 1.0, -1.0)
    assert separating(X.T, sides, True, -none, none).tolist() == [3]
    assert separating(X.T, sides, True, -none, np.array([1, 1, 1, 2.0, 1])).size == 0
    assert separating(X[:, :3].T, sides, True, -none[:3], none[:3]).size == 0


@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge"])
def test_hinges_have_an_optimum_of_loss_zero(loss):
    X, _ = empty_cell()
    with pytest.warns(SeparationWarning, match="the loss is 0"):
        path = l0path.fit(X, X[:, 1] > 0, loss=loss)
    last = path.model(index=-1)
    assert last.k == 1 and last.loss <= 1e-12
    assert (last.status, last.optimality) == ("converged", "global")
    assert "no finite optimum" not in path.status


def test_cross_validation_does_not_choose_a_separated_model():
    X, y = empty_cell()
    with pytest.warns(SeparationWarning):
        cv = l0path.cv_fit(X, y, loss="logistic", cv=3, random_state=0)
    apart = cv.path.table.status == "separated"
    assert apart.any()
    cv.folds.loc[apart] = -1.0  # the best score of all
    assert not apart[cv.index("min")] and not apart[cv.index("1se")]
    assert cv.index(index=int(np.flatnonzero(apart)[0])) == np.flatnonzero(apart)[0]
