"""A loss of the user's own: the page that builds one, what is refused, and wrong derivatives."""

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from own_rows import PoissonOwn

import l0path
from l0path.engine.request import request
from l0path.problem.families.own import take_undecorated
from l0path.problem.problem import pose
from l0path.problem.verbs import mean_loss

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_loss.md"


@pytest.fixture(scope="module")
def page():
    """What the code of the page defines."""
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    scope = {"__name__": "page"}
    exec(code, scope)
    return scope


def test_the_page_finds_the_truth(page):
    path, data = page["path"], page["data"]
    assert path.support(k=3).tolist() == data.support.tolist()
    from scipy.optimize import minimize

    A = np.column_stack([np.ones(200), data.X[:, data.support]])

    def mean(t):
        r = np.abs(A @ t - data.y) / 0.5
        return 0.25 * np.mean(r + np.log1p(np.exp(-2 * r)) - np.log(2))

    found = minimize(mean, np.zeros(4), tol=1e-12)
    assert path._solutions[3].objective == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(path.coef(k=3), found.x, atol=1e-4)


def test_what_is_not_served_is_refused_by_name(page, tmp_path):
    path, X, y, loss = page["path"], page["data"].X, page["data"].y, page["LogCosh"](0.5)
    with pytest.raises(ValueError, match="never stored on disk"):
        path.save(tmp_path / "path.npz")
    with pytest.raises(ValueError, match="conjugate"):
        l0path.fit(X, y, loss=loss, certify=True)
    for algorithm in ("exact", "dual_iht", "feature_generating"):
        with pytest.raises(ValueError, match="conjugate"):
            l0path.fit(X, y, loss=loss, algorithm=algorithm)
    with pytest.raises(ValueError, match="log_cosh"):
        path.certify(k=2)
    for search in (path.near_best, path.certify):
        with pytest.raises(ValueError, match=r"conjugate of the loss.*alternatives"):
            search(criterion="bic")
    with pytest.raises(ValueError, match="statsmodels"):
        path.model(k=2).refit()
    with pytest.raises(ValueError, match="no log-likelihood"):
        path.score_table()


def test_folds_score_it(page):
    X, y, loss = page["data"].X, page["data"].y, page["LogCosh"](0.5)
    cv = l0path.cv_fit(X, y, loss=loss, max_k=4, cv=3, random_state=0)
    assert set(cv.model("min").support) >= set(page["data"].support)
    short = dict(max_k=1, cv=2, outer=2, random_state=0)
    nested = l0path.nested_cv(X[:90], y[:90], loss=loss, **short)  # the loss with its number
    assert nested.scoring == "deviance" and np.isfinite(nested.mean)
    with pytest.raises(ValueError, match=r"needs the numbers scale.*LogCosh\(scale"):
        l0path.fit(X, y, loss="log_cosh")


COUNTS = np.array([0.0, 1.0, 4.0, 2.0, 30.0])
COLUMN = np.arange(5.0)[:, None] ** 2


def test_the_least_value_is_found_or_nothing_is_perfect():
    problem = pose(request(COLUMN, COUNTS, loss=PoissonOwn()).data)
    least = np.mean(COUNTS - COUNTS * np.log(np.maximum(COUNTS, 1.0)))
    assert problem.floor == pytest.approx(least, rel=1e-14) and least < 0
    assert problem.perfect(least, 1.0) and not problem.perfect(least + 1e-9, 1.0)
    problem = pose(request(COLUMN, COUNTS - 1.0, loss=PoissonOwn()).data)
    assert problem.floor == -math.inf and not problem.perfect(-1e9, 1.0)


@pytest.mark.slow  # kernels of a new loss
@pytest.mark.parametrize("algorithm", ["swap", "cd"])
def test_a_loss_with_negative_values_has_the_path_of_the_built_in_one(algorithm):
    data = l0path.simulate.poisson(60, 5, 2, scale=0.5, random_state=0)
    own, built_in = (
        l0path.fit(data.X, data.y, loss=loss, algorithm=algorithm, max_k=4)
        for loss in (PoissonOwn(), "poisson")
    )
    for name in ("objective", "deviance_ratio", "features"):
        one, other = own.details[name].tolist(), built_in.details[name].tolist()
        assert one == (other if name == "features" else pytest.approx(other, rel=1e-9, abs=1e-12))


CONSTANTS = {"half": 0.5}  # numba does not compile what reads a dictionary


class Undecorated(NamedTuple):
    factor: float

    def value(self, y, eta):
        return CONSTANTS["half"] * self.factor * (y - eta) ** 2

    def slope(self, y, eta):
        return self.factor * (eta - y)

    def curvature(self, y, eta):
        return self.factor


def test_a_field_of_an_own_loss_is_no_array_and_no_text():
    @l0path.own_loss("of_knots")
    class OfKnots(NamedTuple):
        knots: object

        def value(self, y, eta):
            return self.knots[0] * (y - eta) ** 2

        def slope(self, y, eta):
            return 2.0 * self.knots[0] * (eta - y)

        def curvature(self, y, eta):
            return 2.0 * self.knots[0]

    for knots in (np.ones(1), [1.0], "1.0"):
        with pytest.raises(TypeError, match="field knots of OfKnots must be a number"):
            request(COLUMN, COUNTS, loss=OfKnots(knots))
    loss = OfKnots((1.0,))
    assert request(COLUMN, COUNTS, loss=loss).data.loss is loss


def test_a_record_of_a_class_that_was_defined_anew_is_refused():
    classes = [type("Twice", (Undecorated,), {"__slots__": ()}) for _ in range(2)]
    for kind in classes:
        l0path.own_loss("twice")(kind)
    with pytest.raises(ValueError, match="defined anew as the loss 'twice'; make the record anew"):
        request(COLUMN, COUNTS, loss=classes[0](2.0))


def test_other_processes_know_the_loss(page):
    loss = page["LogCosh"](0.5)
    known, numbers = loss.__reduce__()
    assert known(*numbers) == loss and type(known(*numbers)) is type(loss)


def test_kernels_call_the_methods_of_a_class_without_the_decorator():
    kind = type("Fresh", (Undecorated,), {"__slots__": ()})
    with pytest.warns(UserWarning, match="Python runs the loss Fresh"):
        request(COLUMN, COUNTS, loss=kind(2.0))
    problem = pose(request(COLUMN, COUNTS, loss=kind(2.0)).data)  # said once
    assert problem.floor == 0.0
    eta, w = np.ones(5), np.full(5, 0.2)
    assert mean_loss(kind(2.0), COUNTS, eta, w) == pytest.approx(np.mean((COUNTS - 1.0) ** 2))
    with pytest.raises(TypeError, match="field factor of Other must be a number"):
        take_undecorated(type("Other", (Undecorated,), {"__slots__": ()})({}))


@pytest.mark.slow  # kernels of a new loss
def test_a_fit_that_python_runs_is_that_of_the_built_in_loss():
    data = l0path.simulate.linear(30, 4, 2, random_state=0)
    with pytest.warns(UserWarning, match="Python runs"):
        path = l0path.fit(data.X, data.y, loss=Undecorated(1.0), max_k=3)
    squared = l0path.fit(data.X, data.y, max_k=3)
    assert path.details.features.tolist() == squared.details.features.tolist()
    np.testing.assert_allclose(path.coef(k=3), squared.coef(k=3), atol=1e-9)


def test_what_numba_cannot_compile_is_named_with_the_remedy():
    kind = l0path.own_loss("reads_a_dict")(type("Reads", (Undecorated,), {"__slots__": ()}))
    with pytest.raises(TypeError, match=r"(?s)value of Reads.*own_loss.*CONSTANTS.*decorator out"):
        l0path.fit(COLUMN, COUNTS, loss=kind(1.0))


def test_the_bound_of_the_curvature_is_checked():
    kind = type(
        "Steep", (Undecorated,), {"__slots__": (), "value": lambda s, y, e: (y - e) ** 2 / 2}
    )
    kind = l0path.own_loss("steep", largest_curvature=0.5)(kind)
    with pytest.raises(ValueError, match="above largest_curvature"):
        l0path.fit(COLUMN, COUNTS, loss=kind(1.0))
    with pytest.raises(ValueError, match="must be positive, inf"):
        l0path.own_loss("steep", largest_curvature=-1)


def made(name, slope=lambda r: r, curvature=lambda r: 1.0):
    """A squared loss with other derivatives."""

    class Wrong(NamedTuple):
        def value(self, y, eta):
            return 0.5 * (y - eta) ** 2

        def slope(self, y, eta):
            return slope(eta - y)

        def curvature(self, y, eta):
            return curvature(eta - y)

    return l0path.own_loss(name, link="identity")(Wrong)()


def test_wrong_derivatives_are_named():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0)
    for loss, words in (
        (made("wrong_slope", slope=lambda r: -r), "slope of loss 'wrong_slope'"),
        (made("wrong_curvature", curvature=lambda r: 2.0), "curvature of loss 'wrong_curvature'"),
        (made("concave", curvature=lambda r: -1.0), "must be convex"),
    ):
        with pytest.raises(ValueError, match=words):
            l0path.fit(X, y, loss=loss)


def test_what_is_no_loss_is_refused():
    X, y = np.zeros((5, 2)), np.arange(5.0)
    with pytest.raises(ValueError, match="own_loss"):
        l0path.fit(X, y, loss=(1.0, 2.0))
    with pytest.raises(ValueError, match="name="):
        l0path.own_loss("cox")
    with pytest.raises(ValueError, match="name="):
        l0path.own_loss("poisson")
    with pytest.raises(TypeError, match="NamedTuple"):
        l0path.own_loss("empty")(type("Empty", (tuple,), {"_fields": ()}))


def test_a_class_of_a_loss_is_no_record():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"is a class; pass a record of it: loss=int\(...\)"):
        l0path.fit(X, X[:, 0], loss=int)
    with pytest.raises(ValueError, match="type='risk' is for loss='cox'"):
        l0path.fit(X, X[:, 0], max_k=1).predict(X, k=1, type="risk")


@pytest.mark.parametrize("loss", [None, ["squared"], np.ones(3), np.array(["squared"] * 2), {}])
def test_what_is_no_loss_is_refused_by_name_everywhere(loss):
    X = np.random.default_rng(0).normal(size=(20, 3))
    y, classes = X[:, 0], np.where(X[:, 0] > 0, "b", "a")
    for work in (l0path.fit, l0path.cv_fit, l0path.nested_cv, l0path.stability_selection):
        with pytest.raises(ValueError, match="must be the name of a loss"):
            work(X, y, loss=loss, max_k=1)
    for kind, response in ((l0path.L0Regressor, y), (l0path.L0Classifier, classes)):
        with pytest.raises(ValueError, match="must be the name of a loss"):
            kind(loss=loss).fit(X, response)
