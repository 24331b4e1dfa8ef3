"""The solver files for benchopt, where it is installed, on the objectives that they are for."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import l0path

FOLDER = Path(__file__).parent / "benchmarks" / "benchopt"


def loaded(name):
    """A module of the folder."""
    pytest.importorskip("benchopt")
    spec = importlib.util.spec_from_file_location("benchopt_file", FOLDER / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    y = X[:, 0] - X[:, 4] + 0.5 * rng.standard_normal(60)
    return np.asfortranarray(X - X.mean(axis=0)), y - y.mean()


@pytest.mark.parametrize("intercept", [False, True])
def test_the_lasso_path_is_that_of_scikit_learn(intercept):
    from sklearn.linear_model import Lasso

    X, y = data()
    X, y = X + 1.0, y + 3.0
    solver = loaded("benchmark_lasso_path/solvers/l0path.py").Solver()
    lambdas = 60.0 * np.geomspace(1.0, 0.01, 5)
    solver.set_objective(X, y, lambdas, intercept)
    solver.run(1e-12)
    for column, value in zip(solver.get_result()["coefs"].T, lambdas, strict=True):
        lasso = Lasso(alpha=value / 60, fit_intercept=intercept, tol=1e-12, max_iter=10**5)
        lasso.fit(X, y)
        np.testing.assert_allclose(column[:12], lasso.coef_, atol=1e-7)
        if intercept:
            assert column[12] == pytest.approx(lasso.intercept_, abs=1e-7)


def test_the_l0_benchmark_scores_what_the_solver_minimizes():
    X, y = data()
    objective = loaded("benchmark_l0/objective.py").Objective()
    objective.reg, objective.ridge = 0.05, 1e-3
    objective.set_data(X, y)
    solver = loaded("benchmark_l0/solvers/l0path.py").Solver()
    solver.algorithm, solver.max_k = "swap", 12
    problem = objective.get_objective()
    solver.set_objective(**problem)
    solver.run(1)
    found = objective.evaluate_result(**solver.get_result())
    empty = objective.evaluate_result(**objective.get_one_result())
    more = {"lambda2": problem["lambda2"], "fit_intercept": False, "standardize": False}
    path = l0path.fit(X, y, certify=False, **more)
    values = [s.objective + problem["lambda0"] * s.k for s in path._solutions]
    assert found["value"] == pytest.approx(min(values), rel=1e-9) and found["chosen"] >= 2
    assert found["value"] < empty["value"]


def test_the_mcp_solver_minimizes_its_upper_bound():
    X, y = data()
    solver = loaded("benchmark_mcp/solvers/l0path.py").Solver()
    solver.set_objective(X, y, 0.1, 3.0)
    solver.run(1)
    beta = solver.get_result()["beta"]
    assert np.flatnonzero(beta).tolist() == [0, 4]
    S = beta != 0
    np.testing.assert_allclose(beta[S], np.linalg.lstsq(X[:, S], y, rcond=None)[0], rtol=1e-8)
