"""Losses of the user's own with methods of all rows: the page that builds one, and what it
equals.
"""

import itertools
import math
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from own_rows import EQUAL, Breslow, N, Ranking, RowByRow, Sum, decorated, kind_of, survival

import l0path
from l0path.cross_validation.scoring import HeldOutRows, UndefinedScore, metric_of, score
from l0path.engine.request import request
from l0path.problem.coupled.cox import cox_of
from l0path.problem.families.own import take_undecorated
from l0path.problem.verbs import mean_loss

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_loss.md"


def test_estimators_ask_for_no_intercept_that_the_loss_does_not_see():
    loss = decorated(Ranking, "estimated_rows", intercept=False)()
    for each, asked in (("huber", True), (loss, None)):
        model = l0path.L0Regressor(loss=each)
        assert model._arguments(("fit_intercept",))["fit_intercept"] is asked


def test_python_runs_a_class_without_the_decorator():
    kind = kind_of(Ranking, "PlainRanking")
    X, y = survival(0)
    with pytest.warns(UserWarning, match="Python runs the loss PlainRanking"):
        request(X, y, loss=kind(), fit_intercept=False)
    assert kind.traits.coupled and kind.traits.intercept and kind.traits.link == ""
    y = np.ascontiguousarray(y)
    assert mean_loss(kind(), y, X[:, 0].copy(), EQUAL) == pytest.approx(
        Ranking().value(y, X[:, 0], EQUAL), rel=1e-14
    )
    # rows without a loss of their own are refused, and their weights made to sum to one
    path = SimpleNamespace(_meta=SimpleNamespace(loss="PlainRanking"), _loss_record=kind)
    metric = metric_of(None, "PlainRanking")
    held = HeldOutRows(y, X[:, 0].copy(), np.full(N, 2.0), path)
    assert score(metric, held) == pytest.approx(Ranking().value(y, X[:, 0], EQUAL), rel=1e-14)
    with pytest.raises(UndefinedScore, match="of 40 held-out rows alone is NaN"):
        score(metric, held._replace(eta=np.full(N, np.nan)))
    falls = kind_of(Ranking, "Falls", value=lambda self, y, eta, weights: -math.inf)
    with pytest.warns(UserWarning, match="Python runs"):
        take_undecorated(falls())
    assert mean_loss(falls(), y, y, EQUAL) == math.inf  # no optimum is where a sum underflows
    raises = kind_of(Ranking, "Raises", value=lambda self, y, eta, weights: y.none)
    with pytest.warns(UserWarning, match="Python runs"):
        take_undecorated(raises())
    with pytest.warns(RuntimeWarning, match="value of loss 'Raises': AttributeError"):
        assert math.isnan(mean_loss(raises(), y, y, EQUAL))


def test_other_processes_know_the_loss():
    loss = decorated(Sum, "carried_rows", link="identity")(0.5)
    known, numbers = loss.__reduce__()
    assert known(*numbers) == loss and type(known(*numbers)) is type(loss)


# -------------------- paths


@pytest.fixture(scope="module")
def page():
    """What the code of the page defines."""
    scope = {"__name__": "page"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        exec(block, scope)
    assert len(blocks) == 2
    return scope


def objectives(path):
    return np.array([s.objective for s in path._solutions])


def assert_equal_paths(one, other, shift=False):
    """Same supports, objectives (but for a constant, with `shift`) and coefficients."""
    assert one.details.features.tolist() == other.details.features.tolist()
    assert one.details.optimality.tolist() == other.details.optimality.tolist()
    a, b = objectives(one), objectives(other)
    np.testing.assert_allclose(a - a[0] * shift, b - b[0] * shift, rtol=0, atol=1e-8)
    for s, t in zip(one._solutions, other._solutions, strict=True):
        np.testing.assert_allclose(s.beta, t.beta, rtol=0, atol=1e-6)
        assert s.intercept == pytest.approx(t.intercept, abs=1e-6)


ARGUMENTS = [
    {},
    {"sample_weight": np.arange(N) % 3.0},
    {"offset": np.cos(np.arange(N))},
    {"lower": -0.5, "upper": 0.5},
    {"lambda1": 0.02},
    {"lambda2": 0.05},
    {"groups": [0, 0, 1, 1, 2, 2], "lambda2": 0.02},
    {"always_include": [4]},
    {"exclude": [0]},
    {"lambda2": 0.02, "standardize": False},
    {"lambda0": "grid"},
    {"lambda0": [0.3, 0.05, 0.01], "penalty_factor": [1.0, 2.0, 0.5, 1.0, 1.0, 2.0]},
]


@pytest.mark.slow  # kernels of a new loss
def test_cox_by_hand_is_the_built_in_one():
    own = decorated(Breslow, "cox_by_hand", intercept=False)
    for seed, ties in itertools.product(range(3), (False, True)):
        X, y = survival(seed, ties)
        table = pd.DataFrame({"time": np.abs(y), "event": y > 0})
        for arguments in ARGUMENTS:
            more = {"max_k": 3, **arguments}
            one = l0path.fit(X, y, loss=own(), **more)
            other = l0path.fit(X, table, loss=l0path.losses.Cox(ties="breslow"), **more)
            assert_equal_paths(one, other, shift=True)
    assert one.coef(k=2).index.tolist()[0] != "(Intercept)"
    built_in = cox_of(np.empty(0), np.abs(y), (y > 0).astype(float), efron=False)
    eta = np.sin(np.arange(N))
    assert own().value(y, eta, EQUAL) == pytest.approx(
        mean_loss(built_in, (y > 0).astype(float), eta, EQUAL), rel=1e-12
    )


@pytest.mark.slow  # kernels of two new losses
def test_a_sum_over_rows_is_that_of_the_methods_of_one_row():
    own, plain = decorated(Sum, "sum_by_hand", link="identity"), kind_of(Sum, "PlainSum")
    for seed, arguments in itertools.product(range(3), [*ARGUMENTS, {"fit_intercept": False}]):
        rng = np.random.default_rng(seed)
        X = survival(seed)[0] + 1.0
        y = X[:, 0] - 0.7 * X[:, 1] + rng.standard_t(3, size=N)
        more = {"max_k": 3, **arguments}
        one = l0path.fit(X, y, loss=own(0.5), **more)
        assert_supports_and_objectives(one, l0path.fit(X, y, loss=RowByRow(0.5), **more))
        if seed == 0:
            if plain not in l0path.problem.losses.OWN_LOSSES.values():
                with pytest.warns(UserWarning, match="Python runs"):
                    take_undecorated(plain(0.5))
            assert_equal_paths(one, l0path.fit(X, y, loss=plain(0.5), **more))


def assert_supports_and_objectives(one, other):
    assert one.details.features.tolist() == other.details.features.tolist()
    np.testing.assert_allclose(objectives(one), objectives(other), rtol=0, atol=1e-10)


@pytest.mark.slow  # kernels of a new loss
def test_every_size_of_a_ranking_is_the_best_one(page):
    from scipy.optimize import minimize

    def best(X, y, w, offset, k, ridge):
        i, j = np.nonzero(y[:, None] > y)
        weights, D, o = w[i] * w[j], X[i] - X[j], offset[i] - offset[j]

        def of(columns):
            def value(b):
                m = D[:, columns] @ b + o
                slopes = -weights * np.exp(-np.logaddexp(0.0, m))
                loss = weights @ np.logaddexp(0.0, -m) + b @ (ridge[columns] * b)
                return loss, D[:, columns].T @ slopes + 2.0 * ridge[columns] * b

            if not columns:
                return value(np.empty(0))[0]
            found = minimize(value, np.zeros(k), jac=True, method="BFGS", options={"gtol": 1e-11})
            return found.fun

        return min(of(list(columns)) for columns in itertools.combinations(range(X.shape[1]), k))

    search = l0path.solvers.LocalSearch(effort="high")
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, p = rng.integers(15, 35), rng.integers(5, 8)
        X = rng.normal(size=(n, p))
        X[:, 3] = (X[:, 2], 1.0, X[:, 0] + X[:, 1])[seed % 3]
        y = np.round(X[:, 0] - X[:, -1] + 2.0 * rng.normal(size=n), seed % 2 * 8)
        w, offset = rng.integers(0, 3, size=n).astype(float), 0.3 * rng.normal(size=n)
        lambda2 = (0.0, 0.003)[seed % 2]
        path = l0path.fit(
            X, y, loss=page["Ranking"](), sample_weight=w, offset=offset, lambda2=lambda2,
            max_k=3, algorithm=search,
        )  # fmt: skip
        w = w / w.sum()
        ridge = lambda2 * (w @ (X - w @ X) ** 2)
        for s in path._solutions:
            least = best(X, y, w, offset, s.k, ridge)
            assert s.objective == pytest.approx(least, rel=0, abs=1e-8)
            gradient, D = np.empty(n), X[:, s.support] - w @ X[:, s.support]
            page["Ranking"]().slope(y, X[:, s.support] @ s.beta + offset, w, gradient)
            assert np.abs(D.T @ gradient + 2.0 * ridge[s.support] * s.beta).max(initial=0.0) < 1e-9


@pytest.mark.slow  # kernels of a new loss
def test_the_page_and_what_results_do(page, tmp_path):
    data, ranked, loss = page["data"], page["ranked"], page["Ranking"]()
    assert ranked.support(k=3).tolist() == data.support.tolist()
    X, y = data.X[:60], data.y[:60]
    more = dict(loss=loss, lambda2=1e-3, max_k=3, cv=3, random_state=0)
    one, two = (l0path.cv_fit(X, y, n_jobs=jobs, **more) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.details, two.details)
    assert set(one.model("min").features) >= {f"x{j}" for j in data.support}
    train, test = one.splits[0]
    fold = l0path.fit(X[train], y[train], loss=loss, lambda2=1e-3, max_k=3)
    score = fold.model(k=2).score(X[test], y[test])
    assert list(score.index) == ["deviance"]
    assert score.deviance == pytest.approx(one.folds.iloc[2, 0], rel=1e-9)
    m = test.size
    held = loss.value(y[test], fold.predict(X[test], k=2), np.full(m, 1.0 / m))
    assert score.deviance == pytest.approx(held, rel=1e-12)
    with pytest.raises(ValueError, match="scoring='mse' is not defined"):
        l0path.cv_fit(X, y, scoring="mse", **more)
    with pytest.raises(ValueError, match="does not see a constant"):
        one.predict_interval(X, k=2)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y)
    named = l0path.fit("y ~ x5 + x15 + x25 + x1", table, loss=loss, lambda2=1e-3, max_k=3)
    assert named.support(k=3).tolist() == [0, 1, 2]
    again = l0path.L0Regressor(loss=loss, k=3, lambda2=1e-3).fit(X, y)
    np.testing.assert_allclose(again.coef_[data.support], ranked.coef(k=3), rtol=1e-9)
    np.testing.assert_allclose(again.predict(X), ranked.predict(X, k=3), rtol=1e-9)
    nested = l0path.nested_cv(X, y, outer=2, **more)
    assert np.isfinite(nested.mean)
    found = l0path.stability_selection(
        X, y, loss=loss, lambda2=1e-3, k=3, max_k=3, n_subsamples=4, random_state=0
    )
    assert set(found.table.sort_values("frequency").index[-3:]) == {f"x{j}" for j in data.support}
    model = ranked.model(k=3)
    assert model.features == [f"x{j}" for j in data.support]
    assert "x5" in str(ranked.model(k=3).summary()) and "intercept" not in str(
        ranked.model(k=3).summary()
    )
    assert ranked.coef(k=3).index.tolist() == model.features
    assert ranked.model(k=3).alternatives(n=1).objective.iloc[0] > model.objective
    scope = {}
    exec(model.to_python(), scope)
    np.testing.assert_allclose(scope["predict"](table), ranked.predict(X, k=3), rtol=1e-12)
    np.testing.assert_allclose(model.to_sklearn().predict(X), ranked.predict(X, k=3), rtol=1e-12)
    assert ranked.explore(tmp_path / "page.html") is not None
    ranked.plot()
    with pytest.raises(ValueError, match="never stored on disk"):
        ranked.save(tmp_path / "path.npz")
    with pytest.raises(ValueError, match="conjugate"):
        ranked.certify(k=2)
    with pytest.raises(ValueError, match="conjugate of the loss"):
        ranked.near_best(criterion="bic")
    with pytest.raises(ValueError, match="no log-likelihood"):
        ranked.score_table()
    with pytest.raises(ValueError, match="refit needs a likelihood"):
        ranked.model(k=2).refit()
    with pytest.raises(ValueError, match="conjugate of the loss"):
        l0path.best_subset(X, y, loss=loss)
    assert pickle.loads(pickle.dumps(ranked.coef(k=3))).size == 3


@pytest.mark.slow  # a process of its own
def test_python_alone_finds_the_same(tmp_path):
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
    data = "data = l0path.simulate.linear(25, 5, 2, random_state=0)\n"
    code = f"import math\nfrom typing import NamedTuple\nimport numpy as np\nimport l0path\n{data}"
    code += block
    code += "\nprint(*[s.objective for s in ranked._solutions])\n"
    file = tmp_path / "page.py"
    file.write_text(code, encoding="utf-8")
    found = [
        subprocess.run(
            [sys.executable, file],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled, "L0PATH_QUIET": "1"},
        ).stdout.split("\n")[-2]
        for disabled in ("0", "1")
    ]
    one, other = (np.array(line.split(), dtype=float) for line in found)
    np.testing.assert_allclose(one, other, rtol=1e-10)
