"""A loss of the user's own: the page that builds one, what is refused, and wrong derivatives."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import l0path

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
    assert path.solutions[3].objective == pytest.approx(found.fun, rel=1e-9)
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
    with pytest.raises(ValueError, match="statsmodels"):
        path.refit(k=2)
    with pytest.raises(ValueError, match="no log-likelihood"):
        path.score_table()


def test_folds_score_it(page):
    X, y, loss = page["data"].X, page["data"].y, page["LogCosh"](0.5)
    cv = l0path.cv_fit(X, y, loss=loss, max_k=4, cv=3, random_state=0)
    assert set(cv.model("min").support) >= set(page["data"].support)


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
        l0path.own_loss("poisson")
    with pytest.raises(TypeError, match="NamedTuple"):
        l0path.own_loss("empty")(type("Empty", (tuple,), {"_fields": ()}))


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
