"""Prediction intervals and sets against their definition, written out with fits of NumPy and
statsmodels, and their coverage.
"""

import math

import numpy as np
import pandas as pd
import pytest

import l0path


def problem(n=23, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ np.arange(1.0, p + 1) + rng.normal(size=n), rng.normal(size=(7, p))


def least_squares(X, y, new):
    A = np.column_stack([np.ones(len(X)), X])
    return np.column_stack([np.ones(len(new)), new]) @ np.linalg.lstsq(A, y, rcond=None)[0]


def by_definition(X, y, new, folds, alpha):
    """CV+ of least squares on all columns: ranks of the sorted values."""
    n, values = len(y), ([], [])
    for f in np.unique(folds):
        out = folds == f
        here = least_squares(X[~out], y[~out], new)
        for r in np.abs(y[out] - least_squares(X[~out], y[~out], X[out])):
            values[0].append(here - r)
            values[1].append(here + r)
    low, high = (np.sort(np.array(v), axis=0) for v in values)
    first = math.floor(alpha * (n + 1) + 1e-9)
    last = math.ceil((1 - alpha) * (n + 1) - 1e-9)
    m = len(new)
    return (
        low[first - 1] if first >= 1 else np.full(m, -np.inf),
        high[last - 1] if last <= n else np.full(m, np.inf),
    )


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99])
def test_intervals_are_those_of_the_definition(level):
    X, y, new = problem()
    folds = np.arange(23) % 4
    cv = l0path.cv_fit(X, y, cv=folds, max_k=3, lambda2=0)
    found = cv.predict_interval(new, k=3, level=level)
    low, high = by_definition(X, y, new, folds, 1 - level)
    np.testing.assert_allclose(found["low"], low, rtol=1e-9)
    np.testing.assert_allclose(found["high"], high, rtol=1e-9)


def test_the_wide_method_goes_from_the_least_to_the_largest_prediction():
    X, y, new = problem()
    folds = np.arange(23) % 4
    found = l0path.cv_fit(X, y, cv=folds, max_k=3, lambda2=0).predict_interval(
        new, k=3, level=0.8, method="minmax"
    )
    fits, left = [], np.empty(23)
    for f in range(4):
        out = folds == f
        fits.append(least_squares(X[~out], y[~out], new))
        left[out] = np.abs(y[out] - least_squares(X[~out], y[~out], X[out]))
    q = np.sort(left)[math.ceil(0.8 * 24) - 1]
    np.testing.assert_allclose(found["low"], np.min(fits, axis=0) - q)
    np.testing.assert_allclose(found["high"], np.max(fits, axis=0) + q)


def test_rows_that_stand_for_several_are_repeated_rows():
    X, y, new = problem()
    weights, folds = np.arange(23) % 3, np.arange(23) % 4
    one = l0path.cv_fit(X, y, cv=folds, max_k=2, freq_weight=weights)
    many = l0path.cv_fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights), cv=np.repeat(folds, weights), max_k=2
    )
    for method in ("cv+", "minmax"):
        pd.testing.assert_frame_equal(
            one.predict_interval(new, k=2, method=method),
            many.predict_interval(new, k=2, method=method),
            rtol=1e-8,
        )


def test_sets_of_two_classes_are_those_of_the_definition():
    import statsmodels.api as sm

    X, y, new = problem(60)
    classes = np.where(y + np.random.default_rng(1).logistic(size=60) * 2 > 0, "yes", "no")
    folds = np.arange(60) % 3
    cv = l0path.cv_fit(X, classes, loss="logistic", cv=folds, max_k=3, lambda2=0)
    found = cv.predict_interval(new, k=3, level=0.8)
    assert found.columns.tolist() == ["no", "yes"]
    below = np.zeros((7, 2))
    for f in range(3):
        out = folds == f
        fit = sm.Logit(classes[~out] == "yes", sm.add_constant(X[~out])).fit(disp=0, tol=1e-12)
        p = fit.predict(sm.add_constant(X[out]))
        own = np.where(classes[out] == "yes", 1 - p, p)
        q = fit.predict(sm.add_constant(new, has_constant="add"))
        for c, score in enumerate((q, 1 - q)):
            below[:, c] += (own[:, None] < score).sum(axis=0)
    np.testing.assert_array_equal(found, below < 0.8 * 61)


def test_sets_of_several_and_of_ordered_classes_and_of_a_hinge():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X + 0.5 * rng.normal(size=X.shape), axis=1)]
    several = l0path.cv_fit(X, y, loss="multinomial", lambda2=0.01, max_k=3, cv=3, random_state=0)
    sets = several.predict_interval(X, k=3, level=0.9)
    assert sets.columns.tolist() == ["a", "b", "c"]
    covered = sets.to_numpy()[np.arange(90), np.searchsorted(["a", "b", "c"], y)]
    assert covered.mean() > 0.85 and (sets.sum(axis=1) < 3).any()
    levels = np.digitize(X[:, 0] - X[:, 1] + rng.logistic(size=90), [-1, 1])
    ordered = l0path.cv_fit(X, levels, loss="ordinal", max_k=2, cv=3, random_state=0)
    ordinal = ordered.predict_interval(X, k=2, level=0.9)
    assert ordinal.to_numpy()[np.arange(90), levels].mean() > 0.85
    assert ordinal.columns.tolist() == [0, 1, 2] and (ordinal.sum(axis=1) < 3).any()
    hinge = l0path.cv_fit(X, y == "a", loss="squared_hinge", max_k=2, cv=3, random_state=0)
    both = hinge.predict_interval(X, level=0.95)
    assert both.to_numpy()[np.arange(90), (y == "a").astype(int)].mean() > 0.9


def test_as_many_rows_are_covered_as_promised():
    covered = {"cv+": [], "minmax": []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(60, 6)), rng.normal(size=(400, 6))
        y, truth = (a[:, 0] - a[:, 1] + rng.standard_t(3, size=len(a)) for a in (X, new))
        cv = l0path.cv_fit(X, y, max_k=2, cv=5, random_state=seed)
        for method, shares in covered.items():
            found = cv.predict_interval(new, k=2, level=0.9, method=method)
            shares.append(np.mean((found["low"] <= truth) & (truth <= found["high"])))
    assert 0.88 < np.mean(covered["cv+"]) < 0.94
    assert np.mean(covered["minmax"]) > np.mean(covered["cv+"]) > 0.88


def test_tables_formulas_offsets_and_files(tmp_path):
    X, y, _ = problem(40)
    data = pd.DataFrame(X, columns=list("abc"), index=np.arange(40) + 100).assign(
        y=np.random.default_rng(0).poisson(np.exp(0.5 * X[:, 0])), days=np.arange(40) % 5 + 1.0
    )
    cv = l0path.cv_fit("y ~ a + b + c + offset(np.log(days))", data, loss="poisson", cv=4)
    found = cv.predict_interval(data, k=1)
    assert found.index.equals(data.index) and (found["low"] >= 0).all()
    longer = cv.predict_interval(data.assign(days=data["days"] * 9), k=1)
    assert (longer["high"] > found["high"]).all()
    assert (found["low"] == 0).any() and not np.signbit(found["low"]).any()  # never -0.0
    plain = l0path.cv_fit(X, y, cv=4, max_k=2, random_state=0)
    plain.save(tmp_path / "cv.npz")
    back = l0path.load(tmp_path / "cv.npz")
    pd.testing.assert_frame_equal(
        back.predict_interval(X, k=2, data=(X, y)), plain.predict_interval(X, k=2), rtol=1e-12
    )
    with pytest.raises(ValueError, match=r"pass data=\(X, y\)"):
        back.predict_interval(X, k=2)


def test_what_is_not_served_is_refused():
    X, y, new = problem(30)
    cv = l0path.cv_fit(X, y, cv=3, max_k=2)
    for wrong in (0.0, 1.0, 90, np.nan):
        with pytest.raises(ValueError, match="level="):
            cv.predict_interval(new, level=wrong)
    with pytest.raises(ValueError, match="method="):
        cv.predict_interval(new, method="jackknife")
    with pytest.raises(ValueError, match="validate"):
        cv.validate(X, y).predict_interval(new)
    two = l0path.cv_fit(X, np.column_stack([y, -y]), cv=3, max_k=2)
    with pytest.raises(ValueError, match="several responses"):
        two.predict_interval(new)
    counts = np.column_stack([np.arange(30) % 4 + 1, np.arange(30) % 3 + 1])
    with pytest.raises(ValueError, match="counts of trials"):
        l0path.cv_fit(X, counts, loss="binomial", cv=3, max_k=1).predict_interval(new)
    times = np.column_stack([np.exp(y), np.arange(30) % 2])
    with pytest.raises(ValueError, match="censored"):
        l0path.cv_fit(X, times, loss="cox", cv=3, max_k=1).predict_interval(new)
    with pytest.raises(ValueError, match="minmax"):
        l0path.cv_fit(X, y > 0, loss="logistic", lambda2=0.1, cv=3, max_k=1).predict_interval(
            new, method="minmax"
        )


def test_means_beyond_all_numbers_have_an_open_end():
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(size=20), 1e4, 2e4]  # two rows far out, predicted by folds without them
    y = np.r_[rng.poisson(np.exp(0.5 * x[:20])), 1.0, 1.0]
    folds = [(np.arange(20), np.array([20, 21])), (np.r_[10:22], np.arange(10)),
             (np.r_[0:10, 20:22], np.arange(10, 20))]  # fmt: skip
    cv = l0path.cv_fit(x[:, None], y, loss="poisson", cv=folds, lambda2=0)
    table = cv.predict_interval(np.array([[1e4], [0.0]]), k=1, level=0.99)
    assert not table.isna().any(axis=None)
    assert table.low[0] == 0.0 and table.high[0] == np.inf
