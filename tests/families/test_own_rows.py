"""Losses of the user's own with methods of all rows: the page that builds one, what it equals, what
is refused, and wrong methods.
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
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.cross_validation.scoring import HeldOutRows, UndefinedScore, metric_of, score
from l0path.engine.request import request
from l0path.problem.coupled.event_times import cox_of
from l0path.problem.coupled.own import check_rows
from l0path.problem.families.own import take_undecorated
from l0path.problem.verbs import mean_loss

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_loss.md"
N = 40
EQUAL = np.full(N, 1.0 / N)


class Ranking(NamedTuple):
    """The loss of the page, by NumPy."""

    def value(self, y, eta, weights):
        i, j = np.nonzero(y[:, None] > y)
        return float(weights[i] * weights[j] @ np.logaddexp(0.0, eta[j] - eta[i]))

    def slope(self, y, eta, weights, out):
        i, j = np.nonzero(y[:, None] > y)
        share = weights[i] * weights[j] / (1.0 + np.exp(eta[i] - eta[j]))
        out[:] = np.bincount(j, share, y.size) - np.bincount(i, share, y.size)

    def curvature(self, y, eta, weights, z, out):
        i, j = np.nonzero(y[:, None] > y)
        p = 1.0 / (1.0 + np.exp(eta[i] - eta[j]))
        bend = weights[i] * weights[j] * p * (1.0 - p) * (z[i] - z[j])
        out[:] = np.bincount(i, bend, y.size) - np.bincount(j, bend, y.size)


class Breslow(NamedTuple):
    """Cox's loss, y = times of events, and minus those of censored rows."""

    def value(self, y, eta, weights):
        at_risk = 1.0 * (np.abs(y) >= np.abs(y)[:, None])  # a time in each row
        dead, top = np.where(y > 0, weights, 0.0), eta.max()
        sums = np.log(at_risk @ (weights * np.exp(eta - top))) + top
        return float(dead @ (sums - eta)) / dead.sum()

    def slope(self, y, eta, weights, out):
        at_risk = 1.0 * (np.abs(y) >= np.abs(y)[:, None])
        dead, u = np.where(y > 0, weights, 0.0), weights * np.exp(eta - eta.max())
        out[:] = (u * (at_risk.T @ (dead / (at_risk @ u))) - dead) / dead.sum()

    def curvature(self, y, eta, weights, z, out):
        at_risk = 1.0 * (np.abs(y) >= np.abs(y)[:, None])
        dead, u = np.where(y > 0, weights, 0.0), weights * np.exp(eta - eta.max())
        sums = at_risk @ u
        steps = dead / sums
        means = at_risk @ (u * z) / sums
        out[:] = u * (z * (at_risk.T @ steps) - at_risk.T @ (steps * means)) / dead.sum()


class Sum(NamedTuple):
    """log cosh, which is a sum over rows."""

    scale: float

    def value(self, y, eta, weights):
        r = np.abs(eta - y) / self.scale
        return self.scale**2 * (weights * (r + np.log1p(np.exp(-2.0 * r)) - math.log(2.0))).sum()

    def slope(self, y, eta, weights, out):
        out[:] = weights * self.scale * np.tanh((eta - y) / self.scale)

    def curvature(self, y, eta, weights, z, out):
        out[:] = weights * (1.0 - np.tanh((eta - y) / self.scale) ** 2) * z


@l0path.own_loss("sum_of_rows", link="identity")
class RowByRow(NamedTuple):
    """The same by the methods of one row."""

    scale: float

    def value(self, y, eta):
        r = abs(eta - y) / self.scale
        return self.scale**2 * (r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0))

    def slope(self, y, eta):
        return self.scale * math.tanh((eta - y) / self.scale)

    def curvature(self, y, eta):
        return 1.0 - math.tanh((eta - y) / self.scale) ** 2


def kind_of(base, name, **methods):
    """A class like `base` with another name and other methods."""
    return type(name, (base,), {"__slots__": (), **methods})


def decorated(base, name, methods=None, **traits):
    return l0path.own_loss(name, **traits)(kind_of(base, name.title(), **(methods or {})))


def survival(seed, ties=False):
    """(X with degenerate columns, signed times)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 6))
    X[:, 2], X[:, 3] = X[:, 1], 2.0
    time = rng.exponential(np.exp(-X[:, 0] + 0.7 * X[:, 1]))
    time = np.ceil(4.0 * time) if ties else time
    return X, np.where(rng.uniform(size=N) < 0.7, time, -time)


# -------------------- checks at the start


def test_right_methods_pass_and_wrong_ones_are_named():
    X, y = survival(0)
    ranking = decorated(Ranking, "rank_checked", intercept=False)
    check_rows(ranking(), y, EQUAL, False)
    cox = decorated(Breslow, "cox_checked", intercept=False)
    check_rows(cox(), y, EQUAL, False)
    check_rows(decorated(Sum, "sum_checked", link="identity")(0.5), 1e3 + y, EQUAL, True)

    def wrong(method, change):
        """The loss with what a method fills changed."""
        right = getattr(Ranking, method)

        def filled(self, *arrays):
            right(self, *arrays)
            change(arrays)

        return {method: filled}

    def negative(arrays):
        arrays[-1][:] *= -1.0

    def unfilled(arrays):
        arrays[-1][3] = np.nan

    def writes(arrays):
        arrays[1][0] = 0.0

    for method, change, words in (
        ("slope", negative, r"slope of loss 'wrong0' times a direction is .*changes by"),
        ("curvature", negative, r"curvature of loss 'wrong1' times a direction z .* in row"),
        ("slope", unfilled, r"slope of loss 'wrong2' leaves nan in row 3 of out"),
        ("curvature", unfilled, r"curvature of loss 'wrong3' leaves nan in row 3"),
        ("slope", writes, r"slope of loss 'wrong4' changes its argument eta"),
    ):
        number = re.search(r"wrong\d", words)[0]
        kind = decorated(Ranking, number, wrong(method, change), intercept=False)
        with pytest.raises(ValueError, match=words):
            l0path.fit(X, y, loss=kind())
    concave = {
        "value": lambda self, y, eta, weights: -Ranking.value(self, y, eta, weights),
        **wrong("slope", negative),
        **wrong("curvature", negative),
    }
    with pytest.raises(ValueError, match="along a direction: the loss must be convex"):
        l0path.fit(X, y, loss=decorated(Ranking, "concave_rows", concave, intercept=False)())
    infinite = {"value": lambda self, y, eta, weights: math.inf}
    with pytest.raises(ValueError, match="value of loss 'infinite' is inf"):
        l0path.fit(X, y, loss=decorated(Ranking, "infinite", infinite)())


def test_the_intercept_goes_with_what_the_loss_sees():
    X, y = survival(0)
    blind = decorated(Ranking, "blind_rows")
    with pytest.raises(ValueError, match=r"does not change loss 'blind_rows'.*intercept=False"):
        l0path.fit(X, y, loss=blind())
    check_rows(blind(), y, EQUAL, False)  # fit_intercept=False
    with pytest.raises(ValueError, match="'sees_all' has intercept=False, but a constant"):
        l0path.fit(X, y, loss=decorated(Sum, "sees_all", intercept=False)(0.5))
    loss = decorated(Ranking, "none_rows", intercept=False)()
    with pytest.raises(ValueError, match="fit_intercept=True: loss='none_rows'"):
        l0path.fit(X, y, loss=loss, fit_intercept=True)


def test_estimators_ask_for_no_intercept_that_the_loss_does_not_see():
    loss = decorated(Ranking, "estimated_rows", intercept=False)()
    for each, asked in (("huber", True), (loss, None)):
        model = l0path.L0Regressor(loss=each)
        assert model._arguments(("fit_intercept",))["fit_intercept"] is asked


def test_methods_of_other_arguments_are_refused():
    with pytest.raises(TypeError, match=r"its slope must take \(self, y, eta, weights, out\)"):
        decorated(Ranking, "returns", {"slope": lambda self, y, eta, weights: eta})
    with pytest.raises(ValueError, match=r"largest_curvature=1\.0 is for methods of one row"):
        decorated(Ranking, "bounded_rows", largest_curvature=1.0)
    with pytest.raises(ValueError, match="intercept=False is for methods of all rows"):
        l0path.own_loss("one_row_only", intercept=False)(RowByRow)


def test_what_is_not_served_is_refused_before_x_is_read():
    X, y = survival(0)
    loss = kind_of(Sum, "Refused")(0.5)
    with pytest.warns(UserWarning, match="Python runs"):
        take_undecorated(loss)
    for arguments, words in (
        ({"certify": True}, "conjugate of the loss"),
        ({"algorithm": "exact"}, "conjugate of the loss.*use 'swap'"),
        ({"algorithm": "dual_iht"}, "conjugate of the loss"),
        ({"algorithm": "cd"}, "'Refused' needs algorithm='swap'.*swap_size=1: "),
        ({"algorithm": "CDPSI"}, "needs algorithm='swap'"),
        ({"algorithm": "pg"}, "needs algorithm='swap'"),
        ({"lambda_scale": "l0learn"}, "not defined for loss='Refused'"),
        ({"grid": "lambda0", "penalty_factor": [1, 2, 1, 1, 1, 1]}, "unequal costs"),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"strata": np.zeros(N)}, "strata= is for loss='cox'"),
    ):
        with pytest.raises(ValueError, match=words):
            l0path.fit(X, y, loss=loss, **arguments)
    with pytest.raises(ValueError, match="split_inference needs a likelihood"):
        l0path.split_inference(X, y, loss=loss, k=1)


def test_what_numba_cannot_compile_is_named():
    def value(self, y, eta, weights):
        return {}["none"] if eta[0] == math.pi else Ranking.value(self, y, eta, weights)

    kind = decorated(Ranking, "not_compiled", {"value": value}, intercept=False)
    with pytest.raises(TypeError, match=r"numba cannot compile value of Not_Compiled.*line \d"):
        l0path.fit(*survival(0), loss=kind())


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
    path = SimpleNamespace(loss="PlainRanking", loss_record=kind)
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
    return np.array([s.objective for s in path.solutions])


def assert_equal_paths(one, other, shift=False):
    """Same supports, objectives (but for a constant, with `shift`) and coefficients."""
    assert one.table.features.tolist() == other.table.features.tolist()
    assert one.table.optimality.tolist() == other.table.optimality.tolist()
    a, b = objectives(one), objectives(other)
    np.testing.assert_allclose(a - a[0] * shift, b - b[0] * shift, rtol=0, atol=1e-8)
    for s, t in zip(one.solutions, other.solutions, strict=True):
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
    {"grid": "lambda0"},
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
            other = l0path.fit(X, table, loss="cox", ties="breslow", **more)
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
    assert one.table.features.tolist() == other.table.features.tolist()
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
        for s in path.solutions:
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
    pd.testing.assert_frame_equal(one.table, two.table)
    assert set(one.model("min").features) >= {f"x{j}" for j in data.support}
    train, test = one.splits[0]
    fold = l0path.fit(X[train], y[train], loss=loss, lambda2=1e-3, max_k=3)
    score = fold.score(X[test], y[test], k=2)
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
    nested = l0path.nested_cv(X, y, outer=2, **more)
    assert np.isfinite(nested.mean)
    found = l0path.stability_selection(
        X, y, loss=loss, lambda2=1e-3, k=3, max_k=3, n_subsamples=4, random_state=0
    )
    assert set(found.table.sort_values("frequency").index[-3:]) == {f"x{j}" for j in data.support}
    model = ranked.model(k=3)
    assert model.features == [f"x{j}" for j in data.support]
    assert "x5" in str(ranked.summary(k=3)) and "intercept" not in str(ranked.summary(k=3))
    assert ranked.coef(k=3).index.tolist() == model.features
    assert ranked.alternatives(k=3, n=1).objective.iloc[0] > model.objective
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
        ranked.refit(k=2)
    with pytest.raises(ValueError, match="conjugate of the loss"):
        l0path.best_subset(X, y, loss=loss)
    assert pickle.loads(pickle.dumps(ranked.coef(k=3))).size == 3


@pytest.mark.slow  # a process of its own
def test_python_alone_finds_the_same(tmp_path):
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
    data = "data = l0path.simulate.linear(25, 5, 2, random_state=0)\n"
    code = f"import math\nfrom typing import NamedTuple\nimport numpy as np\nimport l0path\n{data}"
    code += block
    code += "\nprint(*[s.objective for s in ranked.solutions])\n"
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
