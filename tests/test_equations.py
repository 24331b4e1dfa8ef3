"""`L0Equations`: every response against enumeration, its proofs, and PySINDy where it is there."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from lazy import lazy
from thinning import thinned

import l0path

base, checks = lazy("sklearn.base"), lazy("sklearn.utils.estimator_checks")


def drawn(seed, n=40, p=6, r=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 3] = -X[:, 1]  # an opposite column
    X[:, 4] = 1.0
    return X, X[:, :r] + X[:, 2:3] + 0.3 * rng.standard_normal((n, r))


def best(X, y, k, intercept):
    """(least sum of squares of k columns, their columns) by enumeration."""
    first = np.ones((len(X), int(intercept)))
    values = []
    for S in combinations(range(X.shape[1]), k):
        A = np.hstack([X[:, S], first])
        values.append((float(np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2)), S))
    return min(values)


@pytest.mark.parametrize(("intercept", "seed"), thinned(2, [False, True], range(4)))
def test_equations_are_the_best_ones(seed, intercept):
    X, Y = drawn(seed)
    model = l0path.L0Equations(k=[1, 2], fit_intercept=intercept).fit(X, Y)
    assert model.proven_.all() and model.coef_.shape == (2, 6)
    for t, k in enumerate((1, 2)):
        value, _ = best(X, Y[:, t], k, intercept)
        left = Y[:, t] - model.predict(X)[:, t]
        assert left @ left == pytest.approx(value, rel=1e-9)
        assert np.count_nonzero(model.coef_[t]) == k
    assert model.complexity == 3 + 2 * intercept and (model.ind_ == (model.coef_ != 0)).all()


def test_a_criterion_chooses_sizes():
    X, Y = drawn(0)
    model = l0path.L0Equations(criterion="aic", max_k=3).fit(X, Y)
    for t in range(2):
        path = l0path.fit(X, Y[:, t], max_k=3, fit_intercept=False)
        np.testing.assert_array_equal(
            np.flatnonzero(model.coef_[t]), np.sort(path.support(path.select("aic")))
        )


def test_more_columns_than_rows_are_searched_for_a_proof():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 20))
    y = X[:, 2] - X[:, 5]
    model = l0path.L0Equations(k=2).fit(X, y)
    assert np.flatnonzero(model.coef_[0]).tolist() == [2, 5] and model.proven_.all()
    assert model.predict(X).shape == (12,)


def test_rows_without_values_are_left_out():
    X, Y = drawn(1)
    whole = l0path.L0Equations(k=2).fit(X[3:], Y[3:])
    X[0, 1], Y[1, 0], Y[2, 1] = np.nan, np.nan, np.nan
    np.testing.assert_array_equal(l0path.L0Equations(k=2).fit(X, Y).coef_, whole.coef_)
    weights = np.ones(len(X))
    found = l0path.L0Equations(k=2).fit(X, Y, sample_weight=weights).coef_
    np.testing.assert_allclose(found, whole.coef_, rtol=1e-12)


@pytest.mark.parametrize("k", [[1, 2, 3], [1]])
def test_sizes_of_other_responses_are_refused(k):
    with pytest.raises(ValueError, match=r"k=.* has . sizes and y has 2 responses"):
        l0path.L0Equations(k=k).fit(*drawn(0))
    with pytest.raises((TypeError, ValueError), match="k="):
        l0path.L0Equations(k=1.5).fit(*drawn(0))


def test_it_clones_and_scores():
    X, Y = drawn(0)
    model = base.clone(l0path.L0Equations(k=2)).fit(X, Y)
    assert 0.5 < model.score(X, Y) <= 1.0


@pytest.mark.slow
def test_checks_of_scikit_learn():
    left_out = {  # rows with NaN are left out, and y may have them
        "check_supervised_y_no_nan": "y with NaN",
    }
    checks.check_estimator(
        l0path.L0Equations(prove=False),
        expected_failed_checks=left_out,
        on_skip=None,
    )


def lorenz(sizes):
    """A trajectory of the Lorenz system, by fourth-order Runge-Kutta steps."""

    def slope(u):
        x, y, z = u
        return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    u, out, h = np.array([-8.0, 8.0, 27.0]), [], 0.002
    for _ in range(sizes):
        out.append(u)
        a = slope(u)
        b = slope(u + h / 2 * a)
        c = slope(u + h / 2 * b)
        u = u + h / 6 * (a + 2 * b + 2 * c + slope(u + h * c))
    return np.array(out), h


def test_pysindy_takes_it():
    pysindy = pytest.importorskip("pysindy")
    path, h = lorenz(1500)
    library = pysindy.PolynomialLibrary(degree=2)
    model = pysindy.SINDy(optimizer=l0path.L0Equations(k=[2, 3, 2]), feature_library=library)
    model.fit(path, t=h)
    assert model.optimizer.proven_.all() and model.complexity == 7
    truth = np.zeros((3, 10))
    truth[0, [1, 2]], truth[1, [1, 2, 6]], truth[2, [3, 5]] = (-10, 10), (28, -1, -1), (-8 / 3, 1)
    np.testing.assert_allclose(model.coefficients(), truth, atol=0.05)
    ensemble = pysindy.EnsembleOptimizer(
        pysindy.WrappedOptimizer(l0path.L0Equations(k=3)), bagging=True, n_models=2
    )
    pysindy.SINDy(optimizer=ensemble, feature_library=library).fit(path, t=h)
    assert ensemble.coef_.shape == (3, 10)


def test_the_paths_know_the_names_of_the_columns():
    rng = np.random.default_rng(0)
    terms = pd.DataFrame(rng.normal(size=(40, 4)), columns=["1/x", "x", "x y", "x^2"])
    slopes = np.column_stack([terms["x y"] + 2 * terms["x"], 3 * terms["1/x"]])
    model = l0path.L0Equations(k=[2, 1]).fit(terms, slopes)
    found = [path.model(k=k).features for path, k in zip(model.paths_, (2, 1), strict=True)]
    assert found == [["x", "x y"], ["1/x"]]
    assert model.fit(terms.to_numpy(), slopes).paths_[1].model(k=1).features == ["x0"]
