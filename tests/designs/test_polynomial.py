"""Degree-2 features that are never stored: every verb and every fit against the explicit expansion,
predictions from X's own columns, and what is refused.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from recomputed import objective_of
from thinning import thinned

import l0path
from l0path.designs import Pairs, Polynomial, blocks, polynomial
from l0path.designs.features.pair_sums import ACROSS


def table(rng, n, p, density=1.0):
    """X (n, p): normal columns, one of counts off the origin, one of two values, one of three."""
    X = rng.standard_normal((n, p))
    X[:, 1] = 4.0 + rng.poisson(2.0, n)
    X[rng.random((n, p)) > density] = 0.0
    X[:, 2] = rng.random(n) < 0.4
    X[:, 3] = rng.integers(-1, 2, n)
    return X


def explicit(X, center=True, interaction_only=False, keep=lambda j, k: True):
    """(features (n, P), names): the definition."""
    p = X.shape[1]
    Z = X - X.mean(axis=0) if center else X
    pairs = [
        (j, k)
        for j in range(p)
        for k in range(j, p)
        if (j < k or (not interaction_only and np.unique(X[:, j]).size > 2)) and keep(j, k)
    ]
    names = [f"x{j}" for j in range(p)] + [f"x{j}^2" if j == k else f"x{j}:x{k}" for j, k in pairs]
    return np.column_stack([X, *(Z[:, j] * Z[:, k] for j, k in pairs)]), names


FORMS = {
    "dense": np.asarray,
    "rows": np.ascontiguousarray,
    "float32": lambda X: X.astype("float32"),
    "sparse": sp.csc_array,
    "coo": sp.coo_array,
    "frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
}


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_verbs_are_those_of_the_explicit_expansion(form, center):
    rng = np.random.default_rng(1)
    X = table(rng, 70, 8, 0.6)
    X = X.astype("float32").astype(float) if form == "float32" else X
    F, names = explicit(X, center)
    design = polynomial(FORMS[form](X), center=center)
    assert (
        (design.n, design.p) == F.shape
        and list(design.names) == names
        and design.names[-3:] == names[-3:]
    )
    R, J = rng.standard_normal((70, 4)), np.array([0, 11, 5, 30, -1])
    scale = np.abs(F).sum(axis=0)[:, None] + 1.0
    assert (np.abs(design.correlate(R) - F.T @ R) <= 1e-13 * scale * np.abs(R).max()).all()
    for start, stop in ((0, 3), (4, 20), (12, 13), (20, design.p), (9, 9)):
        np.testing.assert_allclose(
            design.correlate(R[:, 0], start, stop), F[:, start:stop].T @ R[:, 0], atol=1e-11
        )
        out = np.empty((4, stop - start))
        design.correlate_into(np.ascontiguousarray(R.T), out, start)
        np.testing.assert_allclose(out, R.T @ F[:, start:stop], atol=1e-11)
    np.testing.assert_allclose(design.columns(J), F[:, J], atol=1e-13)
    np.testing.assert_allclose(design.dot(J, np.arange(5.0)), F[:, J] @ np.arange(5.0), atol=1e-11)
    w = rng.random(70) * (rng.random(70) > 0.2)
    w /= w.sum()
    mean, second = design.moments(w, True)
    np.testing.assert_allclose(mean, w @ F, atol=1e-12)
    np.testing.assert_allclose(second, w @ (F - w @ F) ** 2, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(design.moments(w, False)[1], w @ F**2, rtol=1e-10)
    part, rows = design.take_rows(np.arange(3, 40)), slice(3, 40)
    np.testing.assert_allclose(part.columns(J), F[rows][:, J], atol=1e-13)
    again = pickle.loads(pickle.dumps(design))
    np.testing.assert_array_equal(again.correlate(R), design.correlate(R))


def test_several_blocks_and_threads_give_the_same_sums(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 2 * ACROSS + 7))
    F, _ = explicit(X)
    R = rng.standard_normal((40, 2))
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        for A in (X, sp.csc_array(X)):
            found.append(polynomial(A).correlate(R))
            np.testing.assert_allclose(found[-1], F.T @ R, atol=1e-10)
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])


def test_names_are_made_when_asked_for_and_found_again():
    frame = pd.DataFrame(
        np.random.default_rng(3).standard_normal((20, 4)), columns=["age", "bmi", "a:b", "bp"]
    )
    names = polynomial(frame).names
    assert (
        isinstance(names, Pairs)
        and len(names) == 14
        and list(names)[4:7] == ["age^2", "age:bmi", "age:a:b"]
    )
    assert [names.index(name) for name in names] == list(range(14))
    assert names.index("bmi:age") == names.index("age:bmi") and names[-1] == "bp^2"
    assert list(
        polynomial(frame.to_numpy(), names=["u", "v", "w", "z"], interaction_only=True).names
    )[4:] == ["u:v", "u:w", "u:z", "v:w", "v:z", "w:z"]
    for bad in ("age:sex", "sex", ":"):
        with pytest.raises(ValueError, match="no feature"):
            names.index(bad)
    with pytest.raises(IndexError, match="out of range"):
        names[14]


def response(rng, F, J, loss):
    """y of features J, equal effects after scaling."""
    signal = ((F[:, J] - F[:, J].mean(axis=0)) / F[:, J].std(axis=0)).sum(axis=1)
    if loss == "squared":
        return signal + 0.5 * rng.standard_normal(len(F))
    return (
        rng.poisson(np.exp(0.4 * signal)).astype(float)
        if loss == "poisson"
        else np.where(signal + rng.logistic(size=len(F)) > 0, 1, 0)
    )


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_paths_are_those_of_the_explicit_expansion(loss, form):
    rng = np.random.default_rng(4)
    X = table(rng, 250, 8, 0.7)
    F, names = explicit(X)
    J = [0, names.index("x4:x5"), names.index("x1:x6"), names.index("x7^2")]
    y, w = response(rng, F, J, loss), rng.integers(0, 3, 250)
    given = {"loss": loss, "max_k": 6, "lambda2": 1e-3, "sample_weight": w}
    path, twin = (
        l0path.fit(polynomial(FORMS[form](X)), y, **given),
        l0path.fit(F, y, feature_names=names, **given),
    )
    assert [s.support.tolist() for s in path._solutions] == [
        s.support.tolist() for s in twin._solutions
    ]
    assert set(path.support(k=4)) == set(J) and list(path.coef(k=4).index) == list(
        twin.coef(k=4).index
    )
    assert [s.optimality for s in path._solutions] == [s.optimality for s in twin._solutions]
    np.testing.assert_allclose(path.coef(k=4), twin.coef(k=4), rtol=1e-6)
    new = table(np.random.default_rng(5), 30, 8, 0.7)
    Z = new - X.mean(axis=0)
    wide = np.column_stack(
        [
            new,
            *(
                Z[:, j] * Z[:, k]
                for j, k in zip(*polynomial(X).names.parents(np.arange(8, F.shape[1])), strict=True)
            ),
        ]
    )
    np.testing.assert_allclose(
        path.predict(FORMS[form](new), k=4), twin.predict(wide, k=4), rtol=1e-6, atol=1e-9
    )


def test_lambda0_grids_bounds_and_forced_products_work():
    rng = np.random.default_rng(6)
    X = table(rng, 120, 6)
    F, names = explicit(X)
    y = response(rng, F, [0, 9], "squared")
    given = {
        "lambda0": l0path.grid(n=8),
        "always_include": ["x2:x4"],
        "exclude": "x0",
        "lower": {"x1:x3": 0.0},
        "lambda2": 0.01,
    }
    path, twin = (
        l0path.fit(polynomial(X), y, **given),
        l0path.fit(F, y, feature_names=names, **given),
    )
    assert [s.support.tolist() for s in path._solutions] == [
        s.support.tolist() for s in twin._solutions
    ]
    np.testing.assert_allclose(path.details.objective, twin.details.objective, rtol=1e-9)
    a, b = (
        l0path.fit(x, y, max_k=3, lambda2=0.01, certify=True).details for x in (polynomial(X), F)
    )
    np.testing.assert_allclose(a.lower_bound, b.lower_bound, rtol=1e-7)
    with pytest.raises(ValueError, match="no column 'x2:y'"):
        l0path.fit(polynomial(X), y, exclude=["x2:y"])


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_cross_validation_is_that_of_the_explicit_expansion(form):
    rng = np.random.default_rng(7)
    X = table(rng, 160, 7, 0.7)
    F, _ = explicit(X)
    y = response(rng, F, [12, 20, 3], "squared")
    cv, twin = (
        l0path.cv_fit(x, y, max_k=4, cv=np.arange(160) % 4) for x in (polynomial(FORMS[form](X)), F)
    )
    np.testing.assert_allclose(cv.scores.cv_mean, twin.scores.cv_mean, rtol=1e-9)
    np.testing.assert_array_equal(cv.model().support, twin.model().support)


def test_predictions_take_own_columns_by_name_and_survive_storage(tmp_path):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.standard_normal((90, 4)), columns=["age", "bmi", "bp", "sex"])
    frame["sex"] = rng.integers(1, 3, 90)
    y = frame.age * frame.bmi + 2 * frame.sex + 0.1 * rng.standard_normal(90)
    design = polynomial(frame)
    path = l0path.fit(design, y, max_k=3)
    assert list(path.coef(k=2).index) == ["(Intercept)", "sex", "age:bmi"]
    new = frame.iloc[:7]
    wanted = path.predict(new, k=2)
    assert wanted.index.equals(new.index)
    pd.testing.assert_series_equal(path.predict(new[["sex", "bp", "bmi", "age"]], k=2), wanted)
    np.testing.assert_allclose(path.predict(new.to_numpy(), k=2), wanted)
    np.testing.assert_allclose(path.predict(design, k=2)[:7], wanted)
    pd.testing.assert_series_equal(path.predict(new.drop(columns="bp"), k=2), wanted)
    with pytest.raises(ValueError, match="lacks 1 of the columns that the model uses: bmi"):
        path.predict(new.drop(columns="bmi"), k=2)
    with pytest.raises(ValueError, match="3 columns, the fit had 4"):
        path.predict(new.to_numpy()[:, :3], k=2)
    with pytest.raises(ValueError, match="other products, or other centers"):
        path.predict(polynomial(new), k=2)
    path.save(tmp_path / "path")
    loaded = l0path.load(tmp_path / "path")
    assert loaded._meta.names == design.names
    pd.testing.assert_series_equal(loaded.predict(new, k=2), wanted)
    np.testing.assert_allclose(
        objective_of(loaded, k=2, X=frame, y=y), objective_of(path, k=2), rtol=1e-12
    )


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("heredity", ["weak", "strong"])
def test_heredity_restricts_the_candidates(heredity, form):
    rng = np.random.default_rng(9)
    X = table(rng, 150, 8, 0.9)
    main = [0, 4, 5]
    F, names = explicit(
        X,
        keep=(lambda j, k: j in main and k in main)
        if heredity == "strong"
        else (lambda j, k: j in main or k in main),
    )
    design = polynomial(FORMS[form](X), heredity=heredity, parents=main)
    assert list(design.names) == names
    R = rng.standard_normal((150, 2))
    np.testing.assert_allclose(design.correlate(R), F.T @ R, atol=1e-10)
    assert (
        polynomial(X, heredity=heredity, parents=["x0", "x4", "x5"]).names
        == polynomial(X, heredity=heredity, parents=np.isin(np.arange(8), main)).names
    )
    y = X[:, 0] + X[:, 4] + 2 * X[:, 0] * X[:, 4] + 0.1 * rng.standard_normal(150)
    path = l0path.fit(design, y, max_k=2, always_include=main)
    assert (
        all(set(main) <= set(s.support) for s in path._solutions)
        and "x0:x4" in path.coef(k=1).index
    )


def test_sparse_pairs_that_never_meet_are_left_out():
    X = sp.csc_array(np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 1.0], [0.0, 5.0, 0.0], [2.0, 1.0, 0.0]]))
    assert list(polynomial(X).names) == ["x0", "x1", "x2", "x0^2", "x0:x1", "x0:x2", "x1^2"]
    assert list(polynomial(X, min_rows=2).names) == ["x0", "x1", "x2", "x0^2", "x0:x1", "x1^2"]


def test_products_that_are_constant_are_never_chosen():
    rng = np.random.default_rng(10)
    X = rng.standard_normal((60, 3))
    X[:, 1], X[:, 2] = (
        np.where(np.arange(60) % 2, 1.0, -1.0),
        np.where(np.arange(60) % 2, 1.0, -1.0) * 3,
    )
    design = polynomial(
        X
    )  # the product of two columns that are multiples of each other and have two values
    path = l0path.fit(design, X[:, 0] ** 2 + rng.standard_normal(60), max_k=3)
    assert design.moments(np.full(60, 1 / 60), True)[1][design.names.index("x1:x2")] == 0.0
    assert any("constant" in note and "x1:x2" in note for note in path.notes)


def test_bad_input_is_refused_with_the_remedy(tmp_path):
    X = np.random.default_rng(11).standard_normal((20, 3))
    file = tmp_path / "X.npy"
    np.save(file, np.asfortranarray(X))
    bad, wild, far = X.copy(), X.copy(), X.copy()
    bad[3, 1], wild[2, 2], far[:, 0] = np.nan, 1e80, far[:, 0] + 1e4
    for call, error, text in [
        (lambda: polynomial(X, degree=3), ValueError, "degree=3"),
        (lambda: polynomial(X, center=2), TypeError, "center=2"),
        (lambda: polynomial(X, interaction_only="yes"), TypeError, "interaction_only='yes'"),
        (lambda: polynomial(X, heredity="both", parents=[0]), ValueError, "heredity='both'"),
        (lambda: polynomial(X, parents=[0]), ValueError, "parents= needs heredity="),
        (lambda: polynomial(X, heredity="weak", parents=["u"]), ValueError, "parents names 'u'"),
        (lambda: polynomial(X, heredity="weak", parents=[7]), ValueError, "parents names 7"),
        (lambda: polynomial(X, min_rows=2), ValueError, "min_rows=2"),
        (lambda: polynomial(sp.csc_array(X), min_rows=0), ValueError, "min_rows=0"),
        (lambda: polynomial(X, names=["a", "b"]), ValueError, "2 names but X has 3"),
        (
            lambda: polynomial(pd.DataFrame(X, columns=["a", "b", "c"]), names=["u", "v", "w"]),
            ValueError,
            "a DataFrame brings its own names",
        ),
        (
            lambda: polynomial(X, names=["a", "b", "a:b"]),
            ValueError,
            "column 'a:b', which is also the name of a product",
        ),
        (
            lambda: polynomial(X, names=["a", "b", "b^2"]),
            ValueError,
            "column 'b\\^2', which is also the name of a product",
        ),
        (
            lambda: l0path.fit(polynomial(pd.DataFrame(X, index=range(1, 21))), pd.Series(X[:, 0])),
            ValueError,
            r"X and y have different indexes.*y.loc\[X.index\]",
        ),
        (
            lambda: polynomial(bad),
            ValueError,
            r"NaN or infinity: 1 entries in 1 of 3 columns: x1 \(1\)",
        ),
        (lambda: polynomial(wild), ValueError, "too large to be squared"),
        (
            lambda: polynomial(sp.csc_array(far)),
            ValueError,
            "standard deviations from 0, the first x0",
        ),
        (lambda: polynomial(blocks(file)), TypeError, "held in memory"),
        (lambda: polynomial(polynomial(X)), TypeError, "held in memory"),
        (lambda: polynomial(np.zeros((1, 30_000))), ValueError, "heredity="),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_columns_of_one_name_are_told_apart_by_position():
    rng = np.random.default_rng(12)
    frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "a", "b"])
    y = frame.iloc[:, 0] * frame.iloc[:, 1] + 0.1 * rng.standard_normal(60)
    path = l0path.fit(polynomial(frame), y, max_k=1)
    assert path.model(k=1).features == ["a:a.1"]
    np.testing.assert_allclose(path.predict(frame, k=1), path.predict(frame.to_numpy(), k=1))
    assert (
        polynomial(frame[["b"]].assign(**{"b:c": 1.0 * (frame.b > 0)})).names.index("b:b:c") == 3
    )  # no product of this name but its own


@pytest.mark.parametrize("form", ["array", "sparse"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_column_that_a_fold_does_not_see_lends_it_no_second_copy_of_others(form, loss):
    """Where x0 is constant, (x0 - c)(x1 - d) is x1 in other units: as good there, and wrong by a
    factor of nine on the rows held out.
    """
    rng = np.random.default_rng(13)
    X = rng.standard_normal((100, 6))
    X[:, 0] = np.arange(100) < 10
    X[:, 2:] *= X[:, 2:] > -0.5
    y = X[:, 1] - 0.5 * X[:, 4] + 0.5 * rng.standard_normal(100)
    y = y > 0 if loss == "logistic" else y
    design = polynomial(sp.csc_array(X) if form == "sparse" else X)
    folds = [
        (np.arange(10, 100), np.arange(10)),
        (np.setdiff1d(np.arange(100), np.arange(40, 60)), np.arange(40, 60)),
    ]
    cv, few = (l0path.cv_fit(Z, y, loss=loss, lambda2=0.01, cv=folds, max_k=1) for Z in (design, X))
    np.testing.assert_allclose(cv.folds.loc[1], few.folds.loc[1], rtol=1e-6)  # x1 alone
    seen = l0path.fit(
        design, y, loss=loss, lambda2=0.01, sample_weight=(X[:, 0] == 0) * 1.0, max_k=30
    )
    assert not any(name.startswith("x0") for model in seen for name in model.features)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("center", [False, True])
def test_products_that_a_bound_refutes_are_left_out_and_no_others(sparse, center):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((50, 150)) * rng.permutation(1.0 / np.arange(1, 151))
    if sparse:
        X[rng.random(X.shape) < 0.7] = 0.0
    design = polynomial(sp.csc_array(X) if sparse else X, center=center)
    R, scale = rng.standard_normal((50, 3)), rng.uniform(0.5, 2.0, design.p)
    for start, stop in ((0, design.p), (40, 700), (3000, 9001)):
        whole = design.correlate(R, start, stop)
        limits = np.outer(scale[start:stop], np.quantile(np.abs(whole), 0.99, axis=0))
        some = design.correlate_above(R, limits[0] / scale[start], scale, start, stop)
        left_out = (some == 0) & (whole != 0)
        np.testing.assert_allclose(some[~left_out], whole[~left_out], rtol=1e-9, atol=1e-13)
        assert (
            (np.abs(whole[left_out]) <= limits[left_out]).all()
            and left_out[max(150 - start, 0) :].mean() > 0.1
            and not left_out[: max(150 - start, 0)].any()
        )
        np.testing.assert_allclose(
            design.correlate_above(R, np.zeros(3), scale, start, stop), whole, rtol=1e-9, atol=1e-13
        )


@pytest.mark.parametrize(
    ("loss", "standardize"), thinned(2, ("squared", "logistic"), (False, True))
)
def test_the_machine_finds_the_same_whether_products_are_left_out_or_not(
    monkeypatch, loss, standardize
):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((80, 90)) * rng.permutation(1.0 / np.arange(1, 91))
    big = np.argsort(-X.std(axis=0))[:4]
    y = (
        X[:, big[0]] * X[:, big[1]] / X[:, big[1]].std()
        + X[:, big[2]] / X[:, big[2]].std()
        + 0.5 * rng.standard_normal(80)
    )
    y, given = (
        (np.where(y > 0, 1, -1) if loss == "logistic" else y),
        {"loss": loss, "standardize": standardize, "lambda2": 0.02, "max_k": 5},
    )
    called = []
    above = Polynomial.correlate_above
    monkeypatch.setattr(
        Polynomial, "correlate_above", lambda self, *args: called.append(1) or above(self, *args)
    )
    for algorithm in ("feature_generating", "dual_iht"):
        path = l0path.fit(polynomial(X), y, algorithm=algorithm, **given)
        assert called
        with monkeypatch.context() as without:
            without.setattr(
                Polynomial, "traits", Polynomial.traits._replace(bounded_products=False)
            )
            plain = l0path.fit(polynomial(X), y, algorithm=algorithm, **given)
        assert [s.support.tolist() for s in path._solutions] == [
            s.support.tolist() for s in plain._solutions
        ]
        np.testing.assert_allclose(path.details.lower_bound, plain.details.lower_bound, rtol=1e-9)
