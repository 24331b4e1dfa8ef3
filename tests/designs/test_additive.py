"""Piecewise-linear features against their definition and against dense kernel matrices: sums,
scores, groups from end to end, predictions, storage.
"""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from design_checks import assert_verbs
from lazy import lazy
from recomputed import objective_of
from thinning import thinned

import l0path
from l0path.designs import Additive, Dense, Levels, additive, blocks, derived

AdditiveChi2Sampler = lazy("sklearn.kernel_approximation", "AdditiveChi2Sampler")
KernelRidge = lazy("sklearn.kernel_ridge", "KernelRidge")

FORMS = {
    "dense": lambda X: X,
    "C float32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "sparse": sp.csr_matrix,
}


def table(rng, n, more=0):
    """Columns of every kind (n, 6 + more): normal, far from 0, counts, negative, half zeros of both
    signs, two values.
    """
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.uniform(5, 6, n),
            rng.poisson(1.0, n),
            -rng.uniform(1, 2, n),
            rng.normal(size=n) * (rng.random(n) < 0.5),
            rng.integers(0, 2, n),
            rng.normal(size=(n, more)),
        ]
    )
    return X.astype(np.float32).astype(float)


def kernel(x, z, low, high):
    """min(|x - a|, |z - a|) on the same side of a, else 0: by its definition."""
    a = np.clip(0.0, low, high)
    u, v = np.clip(x, low, high)[:, None] - a, np.clip(z, low, high)[None, :] - a
    return np.where(u * v > 0, np.minimum(np.abs(u), np.abs(v)), 0.0)


def explicit(X, names):
    """The features (n, p) by interpolation between their two knots."""
    low, high = names.low, names.high
    return np.column_stack(
        [
            (np.interp(X[:, j], (a, b), (0, 1)) - np.interp(0.0, (a, b), (0, 1))) * np.sqrt(b - a)
            for j, a, b in zip(names.parents(np.arange(len(names))), low, high, strict=True)
        ]
    )


@pytest.mark.parametrize(("bins", "form"), thinned(2, [1, 2, 7, None], FORMS))
def test_every_verb_is_that_of_the_explicit_features(bins, form):
    rng = np.random.default_rng(0)
    X = np.insert(table(rng, 40), 2, 3.0, axis=1)  # a constant column has no features
    design = additive(FORMS[form](X), bins=bins)
    assert_verbs(design, explicit(X, design.names), rng)
    many = additive(
        FORMS[form](np.tile(X, 20)), bins=bins
    )  # features by names of their own, in several tasks
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[Additive.__module__], "STEP_TILE", 100)
        assert_verbs(many, explicit(np.tile(X, 20), many.names), rng)
    again = pickle.loads(pickle.dumps(design))
    assert again.names == design.names and np.array_equal(
        again.correlate(np.ones(40)), design.correlate(np.ones(40))
    )


def test_moments_of_nearly_constant_features_keep_their_digits():
    """One row in 10^5 is different: a difference of two sums would lose five digits. Features that
    rows of weight 0 alone make vary are constant.
    """
    X = np.zeros((100_000, 1))
    X[7] = 1.0
    weights = np.full(100_000, 1e-5)
    assert additive(X).moments(weights, True)[1] == pytest.approx(1e-5 * (1 - 1e-5), rel=1e-14)
    assert additive(sp.csc_array(X)).moments(weights, True)[1] == pytest.approx(
        1e-5 * (1 - 1e-5), rel=1e-14
    )
    design = additive(np.arange(12.0)[:, None], bins=None)
    mean, second = design.moments(np.where(np.arange(12) < 9, 1 / 9, 0.0), True)
    assert (second[8:] == 0.0).all() and (mean[8:] == 0.0).all() and (second[:8] > 0.0).all()


@pytest.mark.parametrize("form", FORMS)
def test_scores_of_all_values_as_knots_are_those_of_the_kernel(form):
    rng = np.random.default_rng(1)
    X = table(rng, 70)
    design, R = additive(FORMS[form](X), bins=None), rng.normal(size=(70, 3))
    C = design.correlate(R)
    for j, own in enumerate(design.groups.values()):
        K = kernel(X[:, j], X[:, j], X[:, j].min(), X[:, j].max())
        np.testing.assert_allclose(
            (C[own.start : own.stop] ** 2).sum(axis=0),
            np.einsum("im,ik,km->m", R, K, R),
            rtol=1e-11,
        )
    counts = np.abs(X[:, [2]])
    design = additive(FORMS[form](counts), bins=None)
    F = design.columns(np.arange(design.p))
    np.testing.assert_allclose(
        F @ F.T, np.minimum(counts, counts.T), atol=1e-12
    )  # histogram intersection


def test_kernel_of_few_bins_is_off_by_a_quarter_of_a_step_at_most():
    rng = np.random.default_rng(2)
    X, new = table(rng, 200), table(rng, 50)
    design = additive(X, bins=5)
    F, G = (derived(Dense(A), design.names).columns(np.arange(design.p)) for A in (X, new))
    for j, own in enumerate(design.groups.values()):
        low, high = design.names.low[own.start : own.stop], design.names.high[own.start : own.stop]
        gap = np.abs(
            F[:, list(own)] @ G[:, list(own)].T - kernel(X[:, j], new[:, j], low[0], high[-1])
        )
        assert len(own) <= 5 and gap.max() <= 0.25 * (high - low).max() + 1e-12
        assert (gap.max() > 0.1 * (high - low).max()) == (
            j not in (2, 5)
        )  # values of few kinds are knots


def test_knots_are_quantiles_of_distinct_values_and_names_find_them():
    frame = pd.DataFrame(
        {
            "age": np.arange(101.0),
            "none": np.full(101, 4.0),
            "sex": np.arange(101) % 2,
            "skew": np.append(np.zeros(97), [1.0, 2.0, 3.0, -1.0]),
        }
    )
    design = additive(frame, bins=4)
    assert design.groups == {"age": range(4), "sex": range(4, 5), "skew": range(5, 9)}
    assert list(design.names) == [
        "age[1]",
        "age[2]",
        "age[3]",
        "age[4]",
        "sex[1]",
        "skew[1]",
        "skew[2]",
        "skew[3]",
        "skew[4]",
    ]
    assert design.names[-1] == "skew[4]" and design.names[:2] == ["age[1]", "age[2]"]
    assert design.names.low.tolist() == [
        0,
        25,
        50,
        75,
        0,
        -1,
        0,
        1,
        2,
    ] and design.names.high.tolist() == [25, 50, 75, 100, 1, 0, 1, 2, 3]
    assert [design.names.index(name) for name in design.names] == list(range(9))
    for name in ("age", "age[0]", "age[5]", "none[1]", "sex[x]", "[1]"):
        with pytest.raises(ValueError, match="no feature"):
            design.names.index(name)
    for l in (9, -10):
        with pytest.raises(IndexError, match=f"feature {l} is out of range"):
            design.names[l]
        with pytest.raises(IndexError, match=f"column {l} is out of range"):
            design.columns([l])
    assert (
        additive(np.linspace(-1.0, 2.0, 50)[:, None], bins=3).names.low[1:].min() == 0.0
    )  # the knot next to 0 is 0


def labels(rng, X, loss):
    """A response of two nonlinear functions of columns 0 and 6, one of them of no linear trend."""
    eta = 1.5 * np.abs(X[:, 0]) - 1.5 * np.sin(3 * X[:, 6])
    return (
        eta + 0.3 * rng.normal(size=len(X))
        if loss == "squared"
        else np.where(3 * (eta - eta.mean()) + rng.logistic(size=len(X)) > 0, "yes", "no")
    )


@pytest.mark.parametrize(
    ("loss", "algorithm", "form"),
    thinned(2, ["squared", "logistic"], ["swap", "feature_generating"], ["dense", "sparse"]),
)
def test_groups_are_columns_from_end_to_end(loss, algorithm, form):
    """Paths, bounds and predictions are those of the explicit features; columns without a linear
    trend are found.
    """
    rng = np.random.default_rng(3)
    X = table(rng, 300, 6)
    y, w = labels(rng, X, loss), rng.integers(0, 3, 300)
    design = additive(FORMS[form](X), bins=6)
    given = {
        "loss": loss,
        "groups": design.groups,
        "max_k": 4,
        "lambda2": 0.01,
        "algorithm": algorithm,
        "sample_weight": w,
    }
    path, twin = (
        l0path.fit(design, y, **given),
        l0path.fit(explicit(X, design.names), y, **given, feature_names=list(design.names)),
    )
    assert [m.groups for m in path] == [m.groups for m in twin] and path.model(k=2).groups == [
        "x0",
        "x6",
    ]
    np.testing.assert_allclose(path.details.objective, twin.details.objective, rtol=1e-8)
    np.testing.assert_allclose(path.details.lower_bound, twin.details.lower_bound, rtol=1e-5)
    assert path.details.lower_bound[1:].notna().all() or algorithm == "swap"
    np.testing.assert_allclose(path.coef(k=2), twin.coef(k=2), rtol=1e-4, atol=1e-7)
    new = table(np.random.default_rng(4), 40, 6) * 1.2
    np.testing.assert_allclose(
        path.predict(FORMS[form](new), k=2),
        twin.predict(explicit(new, design.names), k=2),
        rtol=1e-5,
        atol=1e-7,
    )
    assert l0path.fit(design, y, always_include=["x1"], **given).model(k=2).groups == [
        "x0",
        "x1",
        "x6",
    ]


def test_one_column_is_kernel_ridge_regression():
    """With a knot at every value, no scaling and no intercept, k = 1 is the best kernel ridge
    regression on one column; its roughness is what lambda2 costs.
    """
    rng = np.random.default_rng(5)
    n, ridge = 60, 0.02
    X = np.abs(rng.normal(size=(n, 5)))
    X[0] = 0.0
    y = np.sin(4 * X[:, 3]) + 0.2 * rng.normal(size=n)
    design = additive(X, bins=None)
    path = l0path.fit(
        design,
        y,
        groups=design.groups,
        max_k=2,
        lambda2=ridge,
        standardize=False,
        fit_intercept=False,
        algorithm="feature_generating",
    )
    values, fits = [], []
    for x in X.T:
        K = np.minimum(x[:, None], x)
        ridged = KernelRidge(alpha=2 * n * ridge, kernel="precomputed").fit(K, y)
        fits.append(ridged)
        values.append(
            ((y - K @ ridged.dual_coef_) ** 2).mean() / 2
            + ridge * ridged.dual_coef_ @ K @ ridged.dual_coef_
        )
    assert path.model(k=1).groups == [f"x{np.argmin(values)}"] == ["x3"]
    assert objective_of(path, k=1) == pytest.approx(min(values), rel=1e-9)
    np.testing.assert_allclose(
        path.predict(X, k=1), np.minimum(X[:, [3]], X[:, 3]) @ fits[3].dual_coef_, atol=1e-8
    )
    assert path.details.lower_bound.iloc[1] <= min(values) + 1e-12
    knots = np.sort(X[:, 3])
    grid = np.zeros((n, 5))
    grid[:, 3] = knots
    f = path.predict(grid, k=1)
    roughness = (np.diff(f) ** 2 / np.diff(knots)).sum()
    assert ridge * roughness == pytest.approx(
        objective_of(path, k=1) - ((y - path.predict(X, k=1)) ** 2).mean() / 2, rel=1e-8
    )


def test_cross_validation_is_that_of_the_explicit_features():
    rng = np.random.default_rng(6)
    X = table(rng, 160, 2)
    y = labels(rng, X, "squared")
    design = additive(sp.csc_array(X), bins=4)
    given = {"groups": design.groups, "max_k": 3, "cv": np.arange(160) % 4}
    cv, twin = (
        l0path.cv_fit(design, y, **given),
        l0path.cv_fit(explicit(X, design.names), y, **given),
    )
    np.testing.assert_allclose(cv.scores.cv_mean, twin.scores.cv_mean, rtol=1e-9)
    assert cv.model().groups == ["x0", "x6"]


def test_lambda0_grids_and_bounds_are_those_of_the_explicit_features():
    rng = np.random.default_rng(10)
    X = table(rng, 100, 1)
    y = labels(rng, X, "squared")
    design = additive(X, bins=4)
    F = explicit(X, design.names)
    a, b = (
        l0path.fit(
            A,
            y,
            groups=list(map(list, design.groups.values())),
            lambda0=l0path.grid(n=6),
            lambda2=0.01,
            max_k=4,
        ).details
        for A in (design, F)
    )
    np.testing.assert_allclose(a.objective, b.objective, rtol=1e-9)
    a, b = (
        l0path.fit(A, y, max_k=3, lambda2=0.05, certify=True).details for A in (design, F)
    )  # features one by one
    np.testing.assert_allclose(a.lower_bound, b.lower_bound, rtol=1e-7)


def test_predictions_take_own_columns_by_name_and_survive_storage(tmp_path):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.standard_normal((90, 3)), columns=["age", "bmi", "bp"])
    y = np.abs(frame.age) + 0.1 * rng.standard_normal(90)
    design = additive(frame, bins=6)
    path = l0path.fit(design, y, groups=design.groups, max_k=2)
    new = frame.iloc[:7]
    wanted = path.predict(new, k=1)
    assert wanted.index.equals(new.index) and list(path.coef(k=1).index) == [
        "(Intercept)",
        *(f"age[{l}]" for l in range(1, 7)),
    ]
    pd.testing.assert_series_equal(path.predict(new[["bp", "bmi", "age"]], k=1), wanted)
    np.testing.assert_allclose(path.predict(new.to_numpy(), k=1), wanted)
    np.testing.assert_allclose(path.predict(design, k=1)[:7], wanted)
    pd.testing.assert_series_equal(path.predict(new.drop(columns="bp"), k=1), wanted)
    with pytest.raises(ValueError, match="lacks 1 of the columns that the model uses: age"):
        path.predict(new.drop(columns="age"), k=1)
    for other in (additive(frame, bins=5), l0path.designs.polynomial(frame)):
        with pytest.raises(ValueError, match="X has other knots than the fit"):
            path.predict(other, k=1)
    path.save(tmp_path / "path")
    loaded = l0path.load(tmp_path / "path")
    assert (
        isinstance(loaded._meta.names, Levels)
        and loaded._meta.names == design.names
        and loaded._meta.names != l0path.designs.polynomial(frame).names
    )
    pd.testing.assert_series_equal(loaded.predict(new, k=1), wanted)
    np.testing.assert_allclose(
        objective_of(loaded, k=1, X=frame, y=y), objective_of(path, k=1), rtol=1e-12
    )


def test_smooth_maps_of_scikit_learn_are_groups_as_the_docstring_says():
    rng = np.random.default_rng(8)
    X, s = rng.uniform(0.5, 2, (50, 4)), 3
    F, groups = (
        AdditiveChi2Sampler(sample_steps=s).fit_transform(X),
        np.tile(np.arange(4), 2 * s - 1),
    )
    for j, x in enumerate(X.T):
        np.testing.assert_allclose(
            F[:, groups == j] @ F[:, groups == j].T,
            2 * np.outer(x, x) / np.add.outer(x, x),
            rtol=0.1,
        )
    y = np.sin(3 * X[:, 2]) + 0.1 * rng.normal(size=50)
    assert l0path.fit(F, y, groups=groups, max_k=1, lambda2=1e-4).model(k=1).groups == [2]


def test_bad_input_is_refused_with_the_remedy(tmp_path):
    X = np.random.default_rng(9).standard_normal((20, 3))
    bad = X.copy()
    bad[3, 1] = np.nan
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    for call, error, text in [
        (lambda: additive(X, bins=0), ValueError, "bins=0 must be a whole number >= 1, or None"),
        (lambda: additive(X, bins=True), ValueError, "bins=True"),
        (lambda: additive(X, bins=2.5), ValueError, "bins=2.5"),
        (lambda: additive(X, names=["a"]), ValueError, "1 names but X has 3"),
        (
            lambda: additive(bad),
            ValueError,
            r"NaN or infinity: 1 entries in 1 of 3 columns: x1 \(1\)",
        ),
        (lambda: additive(np.ones((5, 2))), ValueError, "every column of X is constant"),
        (
            lambda: additive(np.arange(70_000.0)[:, None], bins=None),
            ValueError,
            "column x0 has 70000 different values.*pass a number of bins",
        ),
        (lambda: additive(blocks(tmp_path / "X.npy")), TypeError, "held in memory"),
        (lambda: additive(additive(X)), TypeError, "held in memory"),
        (
            lambda: additive(X).correlate(np.zeros(5)),
            ValueError,
            "R has 5 rows but the design has 20",
        ),
    ]:
        with pytest.raises(error, match=text):
            call()
