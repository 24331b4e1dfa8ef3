"""Groups of columns, products of columns and steps of columns: the same problem written differently
has the same path.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from asked import loss_with
from hypothesis import given, settings
from hypothesis import strategies as st

import l0path
from l0path.designs import additive, polynomial

LOSSES = ["squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson"]
KINDS = ["groups", "polynomial", "polynomial in groups", "additive"]
SOME = settings(max_examples=10)


class Features:
    """Random data whose own columns are v0, v1, ...; `fit` solves them in any order of columns,
    their features made anew each time.
    """

    def __init__(self, seed, loss, kind):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(50, 71)), int(rng.integers(4, 7))
        X = np.where(rng.random((n, p)) < 0.3, 0.0, rng.normal(size=(n, p))) * rng.uniform(
            0.3, 3, p
        )
        X[:, 0] = rng.integers(0, 4, n)
        signal = (
            (X[:, 0] - 1.5) * X[:, 1] / X[:, 1].std() + X[:, 2] / X[:, 2].std() + rng.normal(size=n)
        )
        self.y = {
            "squared": signal,
            "huber": signal,
            "poisson": np.round(np.exp(np.clip(0.5 * signal, -2, 2.5))),
        }.get(loss, np.where(signal > 0, 1.0, -1.0))
        self.X, self.n, self.p, self.kind, self.rng = X, n, p, kind, rng
        self.labels = np.array(["a", "a", "b", "b", "c", "d"])[:p]
        self.options = dict(
            loss=loss_with(loss, delta=1.3),
            lambda1=rng.choice([0.0, 0.01]),
            lambda2=rng.choice([0.01, 0.1]),
            max_k=3,
            sample_weight=rng.integers(1, 4, n).astype(float),
            offset=0.3 * rng.normal(size=n),
            fit_intercept=bool(rng.random() < 0.7),
        )
        self.center = bool(rng.random() < 0.5)

    def fit(self, X=None, y=None, order=None, **changed):
        X, options = self.X if X is None else X, self.options | changed
        order = np.arange(self.p) if order is None else order
        names, y = [f"v{j}" for j in order], self.y if y is None else y
        if self.kind == "groups":
            return l0path.fit(X, y, groups=self.labels[order], feature_names=names, **options)
        if self.kind == "additive":
            design = additive(X, bins=3, names=names)
            return l0path.fit(design, y, groups=design.groups, **options)
        design = polynomial(X, names=names, center=options.pop("center", self.center))
        return l0path.fit(
            design,
            y,
            groups=[
                "".join(sorted(set(name.replace("^2", "").split(":")))) for name in design.names
            ]
            if "groups" in self.kind
            else None,
            **options,
        )


def features(losses=LOSSES, kinds=KINDS):
    return st.builds(
        Features, st.integers(0, 10**6), st.sampled_from(losses), st.sampled_from(kinds)
    )


def same(a, b, scale=1.0):
    """Sizes, chosen features by name, and objectives to 1e-9, those of a times `scale`;
    coefficients to 1e-6 where the units are the same.
    """
    assert len(a) == len(b) > 1
    for one, two in zip(a, b, strict=True):
        assert two.objective == pytest.approx(
            one.objective * scale, rel=1e-9, abs=1e-9 * a._meta.null_loss * scale
        )
        mine, other = (
            {
                ":".join(sorted(name.split(":"))): value
                for name, value in model.coef.items()
                if abs(value) > 1e-9
            }
            for model in (one, two)
        )
        assert mine.keys() == other.keys()
        if scale == 1.0:
            for name, value in mine.items():
                assert other[name] == pytest.approx(value, rel=1e-5, abs=1e-6)


@SOME
@given(features())
def test_order_of_columns_and_of_rows(problem):
    path, order, rows = (
        problem.fit(),
        problem.rng.permutation(problem.p),
        problem.rng.permutation(problem.n),
    )
    same(path, problem.fit(problem.X[:, order], order=order))
    same(
        path,
        problem.fit(
            problem.X[rows],
            problem.y[rows],
            **{name: problem.options[name][rows] for name in ("sample_weight", "offset")},
        ),
    )


@SOME
@given(features())
def test_weights_are_repeated_rows(problem):
    """Centers of products are means of the rows given, so that repeated rows move them; knots are
    quantiles of distinct values, and stay.
    """
    rows = np.repeat(np.arange(problem.n), problem.options["sample_weight"].astype(int))
    options = {"center": False} if "polynomial" in problem.kind else {}
    same(
        problem.fit(**options),
        problem.fit(
            problem.X[rows],
            problem.y[rows],
            sample_weight=None,
            offset=problem.options["offset"][rows],
            **options,
        ),
    )


@SOME
@given(features())
def test_sparse_and_dense_columns(problem):
    path = problem.fit()
    same(path, problem.fit(sp.csc_array(problem.X)))
    same(path, problem.fit(np.asfortranarray(problem.X)))


@SOME
@given(features())
def test_units_of_columns(problem):
    """Standardized features have no units: chosen features and objectives stay, coefficients change
    with the features' scales.
    """
    units = problem.rng.uniform(0.2, 5, problem.p)
    a, b = problem.fit(), problem.fit(problem.X * units)
    assert [model.features for model in a] == [model.features for model in b]
    np.testing.assert_allclose(b.details.objective, a.details.objective, rtol=1e-9)
    np.testing.assert_allclose(
        b.predict(problem.X * units, offset=problem.options["offset"]),
        a.predict(problem.X, offset=problem.options["offset"]),
        rtol=1e-5,
        atol=1e-6,
    )


@SOME
@given(features(["squared"]), st.floats(0.01, 1000))
def test_units_and_origin_of_the_response(problem, unit):
    """y in other units: lambda1 goes with them, the objective with their square. y + c: the
    intercept takes c.
    """
    path = problem.fit()
    same(
        path,
        problem.fit(
            y=problem.y * unit,
            offset=problem.options["offset"] * unit,
            lambda1=problem.options["lambda1"] * unit,
        ),
        unit**2,
    )
    if problem.options["fit_intercept"]:
        moved = problem.fit(y=problem.y + unit)
        np.testing.assert_allclose(
            moved.details.objective, path.details.objective, rtol=1e-8, atol=1e-10 * unit**2
        )
        assert [model.features for model in moved] == [model.features for model in path]
