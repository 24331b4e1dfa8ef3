"""Path and Model: table, selectors, coefficients, predictions, slices, storage."""

import copy
import json
import pickle
from functools import cache

import numpy as np
import oracles
import pandas as pd
import pytest
import scipy.sparse as sp

import l0path

COLUMNS = [
    "k",
    "n_nonzero",
    "slice",
    "lambda0",
    "lambda1",
    "lambda2",
    "objective",
    "loss",
    "deviance_ratio",
    "lambda0_low",
    "lambda0_high",
    "lower_bound",
    "gap",
    "converged",
    "status",
    "optimality",
    "flags",
]
NAMES = ["age", "bmi", "x-ray", "ä", "5", "z"]


def data(seed=0, n=50, p=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.arange(1, p + 1) + 3
    return X, X[:, 0] - X[:, 3] + 0.5 * X[:, 5] + rng.normal(size=n)


X, Y = data()
Z = np.where(Y + 4 * np.random.default_rng(1).normal(size=50) > np.median(Y), "yes", "no")
FRAME = pd.DataFrame(X, columns=NAMES, index=[f"r{i}" for i in range(50)])


@cache
def support_path():
    return l0path.fit(X, Y, lambda2=0.01, lambda1=0.02)


@cache
def sliced_path():
    return l0path.fit(X, Y, penalty="L0L1L2", n_shrink=2, max_k=3)


@cache
def grid_path():
    return l0path.fit(X, Y, lambda0=[0.3, 0.03, 0.01, 1e3], max_k=4)


@cache
def framed_path():
    return l0path.fit(
        FRAME, pd.Series(Z, index=FRAME.index, name="outcome"), loss="logistic", max_k=4
    )


PATHS = {
    "support": support_path,
    "slices": sliced_path,
    "grid": grid_path,
    "framed": framed_path,
}


def same_solutions(a, b):
    """Bit by bit, NaN equal to NaN."""
    assert len(a) == len(b)
    for s, t in zip(a.solutions, b.solutions, strict=True):
        for field in s._fields:
            one, two = getattr(s, field), getattr(t, field)
            if isinstance(one, np.ndarray):
                assert one.dtype == two.dtype and np.array_equal(one, two)
            else:
                assert one == two or (one != one and two != two), field
                assert type(one) is type(two), field


# -- the table


def test_table_columns_and_labels():
    for fitted in PATHS.values():
        path = fitted()
        table = path.table
        assert table.columns.tolist() == [*COLUMNS, "features"]
        assert table.index.tolist() == list(range(len(path)))
        table["k"] = -1
        assert (path.table.k >= 0).all()


def test_table_means_what_it_says_on_a_support_grid():
    table = support_path().table
    assert (
        table.k.tolist() == list(range(7))
        and table.lambda0.isna().all()
        and (table.slice == 0).all()
    )
    assert (
        (table.lambda1 == 0.02).all()
        and (table.lambda2 == 0.01).all()
        and support_path().penalty == "L0L1L2"
    )
    _, s = oracles.scaling(X)
    null = ((Y - Y.mean()) ** 2).mean() / 2
    for row in table.itertuples():
        beta = support_path().coef(index=row.Index, full=True).to_numpy()
        b = beta[1:] * s
        residual = Y - beta[0] - X @ beta[1:]
        assert row.loss == pytest.approx((residual**2).mean() / 2, rel=1e-12)
        assert row.objective == pytest.approx(
            row.loss + 0.02 * np.abs(b).sum() + 0.01 * b @ b, rel=1e-12
        )
        assert row.deviance_ratio == pytest.approx(1 - row.loss / null, abs=1e-12)
        assert (
            row.n_nonzero == np.count_nonzero(beta[1:])
            and row.converged
            and row.status == "converged"
        )
        assert ("fewer_nonzeros" in table["flags"][row.Index]) == (row.n_nonzero < row.k)
    assert table.gap.isna().iloc[1:].all() and table.lower_bound.isna().iloc[1:].all()
    assert table.lambda0_low.notna().equals(table.lambda0_high.notna())


def test_gap_is_zero_at_the_null_model_without_shrinkage():
    table = l0path.fit(X, Y, max_k=1).table
    assert (
        table.gap[0] == 0
        and table.lower_bound[0] == table.objective[0]
        and table.lambda0_high[0] == np.inf
    )
    assert (
        table.optimality[0] == "global"
        and l0path.fit(X, Y, max_k=6).table.optimality[6] == "global"
    )


def test_table_of_a_lambda0_grid():
    table = grid_path().table
    assert (
        table.lambda0.tolist() == [1e3, 0.3, 0.03, 0.01]
        and (np.diff(table.k) >= 0).all()
        and table.k[0] == 0
    )
    np.testing.assert_allclose(table.objective, table.loss + table.lambda0 * table.k, rtol=1e-14)


def test_forced_columns_count_as_nonzero_but_not_in_k():
    path = l0path.fit(X, Y, always_include=[1, 2], max_k=2)
    assert path.table.k.tolist() == [0, 1, 2] and path.table.n_nonzero.tolist() == [2, 3, 4]
    assert path.support(k=0).tolist() == [1, 2] and {1, 2} < set(path.support(k=2))


def test_rounds_are_the_profile():
    assert {"slice", "round", "reads", "working", "refits", "tables"} <= set(
        sliced_path().rounds.columns
    )
    assert (
        sliced_path().rounds.working <= 6
    ).all() and sliced_path().rounds.slice.unique().tolist() == [
        0,
        1,
        2,
        3,
    ]


# -- selectors


def test_each_way_of_choosing_gives_the_same_model():
    for k in range(7):
        assert (
            support_path().index(k=k)
            == k
            == support_path().index(index=k)
            == support_path().index(lambda path, k=k: k)
            == support_path().index(index=k - 7)
            == support_path().index(k=np.int64(k))
        )
        assert support_path().model(k=k).index == k
    table = support_path().table
    for row in table[table.lambda0_low.notna()].itertuples():
        assert support_path().index(lambda0=row.lambda0_low) == row.Index
        inside = (
            2 * row.lambda0_low + 1
            if np.isinf(row.lambda0_high)
            else (row.lambda0_low + row.lambda0_high) / 2
        )
        assert support_path().index(lambda0=inside) == row.Index
    assert support_path().index(lambda0=0) == table.index[table.lambda0_low == 0][0]


def test_choosing_on_slices():
    table = sliced_path().table
    assert len(table.groupby(["lambda1", "lambda2"])) == 4
    for row in table.itertuples():
        assert (
            sliced_path().index(k=row.k, slice=row.slice)
            == row.Index
            == sliced_path().index(k=row.k, lambda1=row.lambda1, lambda2=row.lambda2)
        )
        assert (
            sliced_path().index(k=row.k, lambda1=row.lambda1 * (1 + 1e-10), lambda2=row.lambda2)
            == row.Index
        )
    assert sliced_path().index(index=9) == 9
    low = table[table.slice == 2].lambda0_low.max()
    assert sliced_path().model(lambda0=low, slice=2).slice == 2


def test_choosing_on_a_lambda0_grid():
    assert grid_path().index(lambda0=0.03) == 2 == grid_path().index(lambda0=0.03 * (1 + 1e-9))
    with pytest.raises(LookupError):
        grid_path().index(lambda0=0.03 * (1 + 1e-6))
    twice = l0path.fit(X, Y, lambda0=[0.3, 0.29], max_k=4)
    assert twice.table.k.nunique() == 1 and twice.index(k=twice.table.k[0]) == 0


def test_slice_is_a_path_of_its_own():
    for i in range(4):
        part, rows = sliced_path().slice(i), sliced_path().table[sliced_path().table.slice == i]
        assert part.table.index.tolist() == [0, 1, 2, 3] and (part.table.slice == 0).all()
        assert part.table.objective.tolist() == rows.objective.tolist()
        assert part.support(k=2).tolist() == sliced_path().support(k=2, slice=i).tolist()
        assert part.objective(k=2) == pytest.approx(sliced_path().objective(k=2, slice=i))
    for wrong in (4, -1, None, "a"):
        with pytest.raises((LookupError, TypeError)):
            sliced_path().slice(wrong)


# -- coefficients


def test_coefficients_in_all_their_forms():
    path = l0path.fit(FRAME, Y, max_k=3)
    coef = path.coef(k=3)
    assert (
        coef.index.tolist() == ["(Intercept)", *(NAMES[j] for j in path.support(k=3))]
        and coef.index.name == "feature"
        and coef.name == 3
    )
    full = path.coef(k=3, full=True)
    assert full.index.tolist() == ["(Intercept)", *NAMES] and np.count_nonzero(full) == 4
    assert full.iloc[1 + path.support(k=3)].tolist() == coef.iloc[1:].tolist()
    c, s = oracles.scaling(X)
    standard = path.coef(k=3, standardized=True)
    np.testing.assert_allclose(standard.iloc[1:], coef.iloc[1:] * s[path.support(k=3)], rtol=1e-13)
    assert standard.iloc[0] == pytest.approx(
        coef.iloc[0] + c[path.support(k=3)] @ coef.iloc[1:], rel=1e-12
    )
    bare = path.coef()
    ever = np.unique(np.concatenate([path.support(k=k) for k in range(4)]))
    assert bare.columns.tolist() == [0, 1, 2, 3] and bare.index.tolist() == [
        "(Intercept)",
        *(NAMES[j] for j in ever),
    ]
    assert path.coef(full=True).shape == (7, 4)
    for k in range(4):
        assert bare[k].tolist() == path.coef(k=k, full=True).iloc[np.r_[0, 1 + ever]].tolist()


def test_without_an_intercept_it_is_zero_and_columns_keep_their_origin():
    path = l0path.fit(X, Y, fit_intercept=False, max_k=2)
    assert (
        path.coef(k=2)["(Intercept)"] == 0 and path.coef(k=2, standardized=True)["(Intercept)"] == 0
    )
    np.testing.assert_allclose(
        path.coef(k=2, standardized=True).iloc[1:],
        path.coef(k=2).iloc[1:] * np.sqrt((X**2).mean(axis=0))[path.support(k=2)],
    )


def test_returned_arrays_are_copies():
    support_path().support(k=3)[:] = 99
    support_path().model(k=3).support[:] = 99
    coef = support_path().coef(k=3)
    coef.iloc[:] = 99
    support_path().names[0] = "changed"
    assert (
        support_path().support(k=3).max() < 6
        and support_path().names[0] == "x0"
        and (support_path().coef(k=3) != 99).all()
    )


# -- predictions


def test_predictions_are_the_linear_predictor():
    new = data(1, 7)[0]
    for k in range(7):
        coef = support_path().coef(k=k, full=True).to_numpy()
        for form in (
            new,
            np.asfortranarray(new),
            sp.csr_array(new),
            new.tolist(),
            pd.DataFrame(new),
        ):
            np.testing.assert_allclose(
                support_path().predict(form, k=k), coef[0] + new @ coef[1:], rtol=1e-12
            )
        np.testing.assert_array_equal(
            support_path().model(k=k).predict(new), support_path().predict(new, k=k)
        )
    assert (
        support_path().predict(new).shape == (7, 7)
        and (support_path().predict(new)[:, 3] == support_path().predict(new, k=3)).all()
    )
    np.testing.assert_allclose(
        support_path().predict(new.astype(np.float32), k=3),
        support_path().predict(new, k=3),
        rtol=1e-5,
    )
    assert support_path().predict(new[:1], k=3).shape == (1,)


def test_frames_are_taken_by_name():
    for form in (FRAME, FRAME[NAMES[::-1]], FRAME.assign(extra=1.0, text="a")):
        out = framed_path().predict(form, k=2)
        assert (
            isinstance(out, pd.Series) and out.index.equals(FRAME.index) and out.name == "outcome"
        )
        np.testing.assert_allclose(out, framed_path().predict(X, k=2), rtol=1e-13)
    assert isinstance(framed_path().predict(X, k=2), np.ndarray)
    bare = framed_path().predict(FRAME.iloc[:3])
    assert (
        bare.shape == (3, 5)
        and bare.index.tolist() == ["r0", "r1", "r2"]
        and bare.columns.tolist() == list(range(5))
    )
    one, two = framed_path().model(k=2).features
    with pytest.raises(
        ValueError, match=f"lacks 2 of the columns that the model uses: {one}, {two}"
    ):
        framed_path().predict(FRAME.drop(columns=[one, two]), k=2)
    with pytest.raises(ValueError, match="X has 5 columns, the fit had 6"):
        framed_path().predict(X[:, :5], k=1)
    numbered = l0path.fit(pd.DataFrame(X, columns=range(6)), Y, max_k=2)
    np.testing.assert_allclose(
        numbered.predict(pd.DataFrame(X[:, ::-1], columns=range(5, -1, -1)), k=2),
        numbered.predict(X, k=2),
    )


def test_frames_of_the_fit_names_are_matched_even_if_the_fit_took_an_array():
    path = l0path.fit(X, Y, feature_names=NAMES, max_k=2)
    for form in (FRAME, FRAME[NAMES[::-1]], FRAME.assign(extra=1.0)):
        np.testing.assert_allclose(path.predict(form, k=2), path.predict(X, k=2), rtol=1e-13)
    np.testing.assert_allclose(path.predict(pd.DataFrame(X), k=2), path.predict(X, k=2), rtol=1e-13)


def test_repeated_names_are_numbered_and_taken_by_position():
    frame = pd.DataFrame(X, columns=["a", "a", "b", "a", "b", "c"])
    path = l0path.fit(frame, Y, max_k=3)
    assert path.names == ["a", "a.1", "b", "a.2", "b.1", "c"] and any(
        "repeated column names" in note for note in path.notes
    )
    np.testing.assert_array_equal(path.predict(frame, k=3).to_numpy(), path.predict(X, k=3))


def test_types_of_prediction():
    eta = framed_path().predict(X, k=2, type="link")
    mean = framed_path().predict(X, k=2)
    np.testing.assert_allclose(mean, oracles.expit(eta), rtol=1e-13)
    np.testing.assert_array_equal(mean, framed_path().predict(X, k=2, type="response"))
    assert (framed_path().predict(X, k=2, type="class") == np.where(eta > 0, "yes", "no")).all()
    assert framed_path().predict(X, type="class").shape == (50, 5)
    with pytest.raises(ValueError, match="type='prob'"):
        framed_path().predict(X, k=2, type="prob")
    with pytest.raises(ValueError, match="type='class' needs a classification loss"):
        support_path().predict(X, k=2, type="class")
    hinge = l0path.fit(X, Z, loss="squared_hinge", max_k=2)
    np.testing.assert_array_equal(hinge.predict(X, k=2), hinge.predict(X, k=2, type="link"))
    with pytest.raises(ValueError, match=r"needs a loss with a mean.*type='link' or 'class'"):
        hinge.predict(X, k=2, type="response")
    counts = l0path.fit(X, np.random.default_rng(0).poisson(3, 50), loss="poisson", max_k=1)
    np.testing.assert_allclose(counts.predict(X, k=1), np.exp(counts.predict(X, k=1, type="link")))
    assert np.isfinite(framed_path().predict(1e6 * X, k=2)).all()


LABELS = [
    np.array(["no", "yes"]),
    np.array([False, True]),
    np.array([0, 1], dtype=np.int8),
    np.array([-1.5, 2.0], dtype=np.float32),
    pd.Categorical(["b", "a"], categories=["b", "a"]),
]


@pytest.mark.parametrize("labels", LABELS, ids=repr)
def test_predicted_classes_have_the_labels_of_the_fit(labels, tmp_path):
    y = labels[(Z == "yes").astype(int)]
    path = l0path.fit(X, y, loss="logistic", max_k=2)
    path.save(tmp_path / "labels")
    back = l0path.load(tmp_path / "labels")
    assert path.classes == tuple(labels) == back.classes and list(map(type, back.classes)) == list(
        map(type, path.classes)
    )
    for p in (path, back):
        predicted = p.predict(X, k=2, type="class")
        assert (
            set(np.unique(predicted)) == set(labels) and (predicted == np.asarray(y)).mean() > 0.7
        )


def test_a_row_without_a_predictor_has_no_class():
    path = l0path.fit(X, Z, loss="logistic", lambda2=0.1, max_k=2)
    rows = X[:4].copy()
    rows[2, path.support(k=2)[0]] = np.nan
    rows[3, np.setdiff1d(range(6), path.support(k=2))] = np.nan  # not in the model
    assert np.isnan(path.predict(rows, k=2)).tolist() == [False, False, True, False]
    with pytest.raises(ValueError, match=r"NaN .*1 rows, the first at position 2"):
        path.predict(rows, k=2, type="class")
    assert (
        path.predict(rows[[0, 1, 3]], k=2, type="class")
        == path.predict(X[[0, 1, 3]], k=2, type="class")
    ).all()


def test_offset_in_predictions():
    o = np.linspace(-1, 1, 50)
    path = l0path.fit(X, Y, offset=o, max_k=2)
    with pytest.raises(ValueError, match="the fit had an offset: pass offset="):
        path.predict(X, k=2)
    np.testing.assert_allclose(
        path.predict(X, k=2, offset=o) - path.predict(X, k=2, offset=0), o, atol=1e-13
    )
    np.testing.assert_allclose(path.model(k=2).predict(X, offset=o), path.predict(X, k=2, offset=o))
    assert path.model(k=2).loss == pytest.approx(
        ((Y - path.predict(X, k=2, offset=o)) ** 2).mean() / 2, rel=1e-12
    )
    assert path.model(k=0).intercept == pytest.approx((Y - o).mean())
    for wrong in (o[:5], "a", np.full(50, np.nan)):
        with pytest.raises((ValueError, TypeError), match="offset"):
            path.predict(X, k=2, offset=wrong)


# -- Model


def test_model_attributes():
    model, row = framed_path().model(k=2), framed_path().table.loc[2]
    for name in COLUMNS:
        assert getattr(model, name) == row[name] or (
            np.isnan(row[name]) and np.isnan(getattr(model, name))
        )
    assert (
        model.index == 2
        and model.groups == model.features
        and model.support.tolist() == framed_path().support(k=2).tolist()
    )
    assert (
        model.features == [NAMES[j] for j in model.support]
        and model.intercept == model.coef["(Intercept)"]
    )
    assert model.coef.equals(framed_path().coef(k=2))
    assert (
        set(COLUMNS) <= set(dir(model))
        and "k = 2" in repr(model)
        and model.features[0] in repr(model)
    )
    with pytest.raises(AttributeError, match=r"no attribute 'lamda0'.*lambda0"):
        model.lamda0  # noqa: B018
    assert "intercept only" in repr(framed_path().model(k=0))
    assert copy.copy(model).k == 2 and pickle.loads(pickle.dumps(model)).coef.equals(model.coef)


def test_path_attributes_iteration_and_repr():
    assert [m.k for m in support_path()] == list(range(7)) and len(support_path()) == 7
    assert (
        support_path().n,
        support_path().p,
        support_path().loss,
        support_path().classes,
        support_path().n_dropped,
    ) == (
        50,
        6,
        "squared",
        None,
        0,
    )
    assert (
        framed_path().classes == ("no", "yes")
        and framed_path().names == NAMES
        and framed_path().penalty == "L0"
    )
    for text in ("squared", "n = 50", "p = 6", "7 solutions", "k = 0..6", "complete", "L0L1L2"):
        assert text in repr(support_path())
    assert "4 slices" in repr(sliced_path()) and "16 solutions" in repr(sliced_path())


# -- storage


@pytest.mark.parametrize("name", PATHS)
def test_save_and_load_round_trip(name, tmp_path):
    path, file = PATHS[name](), tmp_path / "path.l0"
    path.save(file)
    back = l0path.load(str(file))
    same_solutions(path, back)
    pd.testing.assert_frame_equal(path.table, back.table)
    pd.testing.assert_frame_equal(path.rounds, back.rounds)
    assert (
        back.names,
        back.n,
        back.p,
        back.classes,
        back.penalty,
        back.status,
        back.notes,
        back.n_dropped,
    ) == (
        path.names,
        path.n,
        path.p,
        path.classes,
        path.penalty,
        path.status,
        path.notes,
        path.n_dropped,
    )
    for a, b in ((path.meta.__dict__[f], back.meta.__dict__[f]) for f in path.meta.__dict__):
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
    new = FRAME if name == "framed" else X
    np.testing.assert_array_equal(np.asarray(path.predict(new)), np.asarray(back.predict(new)))
    assert path.coef(standardized=True).equals(back.coef(standardized=True)) and repr(path) == repr(
        back
    )
    back.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes()[:2] == file.read_bytes()[:2] == b"PK"


def test_names_that_were_not_given(tmp_path):
    path = l0path.fit(X, Y, max_k=2, always_include="x3", penalty_factor={"x1": 2.0})
    path.save(tmp_path / "path")
    back = l0path.load(tmp_path / "path")
    assert (
        back.names == path.names == [f"x{j}" for j in range(6)]
        and back.coef(k=1).equals(path.coef(k=1))
        and "x3" in path.model(k=1).features
    )
    frame = pd.DataFrame(X, columns=path.names)[
        ["x5", "x4", "x3", "x2", "x1", "x0"]
    ]  # one that has all names is taken by them
    np.testing.assert_array_equal(back.predict(frame, k=2), path.predict(X, k=2))
    with pytest.raises(ValueError, match="there is no column 'x6'; the columns are x0, x1, x2"):
        l0path.fit(X, Y, exclude="x6")


def test_notes_odd_names_and_parameters_survive(tmp_path):
    odd = [*NAMES[:3], 'quote " \\ newline \n', "\u4e2d", ""]
    path = l0path.fit(
        np.column_stack([X[:, :4], np.ones(50), X[:, 5]]),
        Y,
        loss="huber",
        feature_names=odd,
        max_k=2,
        lambda2=0.1,
    )
    path.save(tmp_path / "odd")
    back = l0path.load(tmp_path / "odd")
    assert (
        back.names == odd
        and back.notes == path.notes
        and path.notes
        and back.meta.loss_parameter == path.meta.loss_parameter
    )
    assert back.objective(
        k=2, X=np.column_stack([X[:, :4], np.ones(50), X[:, 5]]), y=Y
    ) == pytest.approx(path.objective(k=2), rel=1e-14)


def test_what_is_not_a_path_file_is_refused_with_the_reason(tmp_path):
    file = tmp_path / "path"
    support_path().save(file)
    whole = file.read_bytes()
    with pytest.raises(FileNotFoundError, match="nothing"):
        l0path.load(tmp_path / "nothing")
    for content in (
        b"",
        b"not a path",
        whole[: len(whole) // 2],
        whole[:-1],
        whole[:300] + bytes([whole[300] ^ 255]) + whole[301:],
        whole[len(whole) // 2 :],
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="damaged"):
            l0path.load(file)
    np.save(tmp_path / "array.npy", X)
    np.savez(tmp_path / "arrays.npz", X=X)
    np.savez(tmp_path / "objects.npz", header=np.array([{}], dtype=object))
    for name in ("array.npy", "arrays.npz", "objects.npz"):
        with pytest.raises(ValueError, match=f"{name} is not a path file"):
            l0path.load(tmp_path / name)
    with pytest.raises(ValueError, match="is not a path file"):
        l0path.load(tmp_path)


def test_any_changed_byte_is_harmless_or_refused(tmp_path):
    file = tmp_path / "path"
    support_path().save(file)
    whole = file.read_bytes()
    refused = 0
    for at in np.linspace(0, len(whole) - 1, 150).astype(int):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        try:
            back = l0path.load(file)
        except ValueError as error:
            refused += "damaged" in str(error)
        else:
            same_solutions(support_path(), back)
    assert refused > 50


def test_other_versions_and_inconsistent_files_are_refused(tmp_path):
    file = tmp_path / "path.npz"
    support_path().save(file)
    with np.load(file) as stored:
        arrays = dict(stored)
    header = json.loads(arrays["header"].tobytes())

    def rewritten(changes, **replaced):
        text = np.frombuffer(json.dumps(header | changes).encode(), dtype=np.uint8)
        np.savez(file, **arrays | {"header": text} | replaced)
        return file

    with pytest.raises(ValueError, match=r"version 99.*fit again"):
        l0path.load(rewritten({"version": 99}))
    with pytest.raises(ValueError, match="'other' of version"):
        l0path.load(rewritten({"format": "other"}))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({"meta": {}}))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({}, numbers=arrays["numbers"][:-1]))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({}, beta=arrays["beta"][:-1]))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({}, sizes=arrays["sizes"] + 1))
    with pytest.raises(ValueError, match="damaged"):
        l0path.load(rewritten({}, support=arrays["support"] + 100))
    assert len(l0path.load(rewritten({}))) == 7


def test_pickle_leaves_the_data_out():
    big = l0path.fit(*data(3, 2000, 6), max_k=2)
    raw = pickle.dumps(big)
    assert len(raw) < 20_000
    back = pickle.loads(raw)
    same_solutions(big, back)
    pd.testing.assert_frame_equal(big.table, back.table)
    assert big.objective(k=1) > 0  # the original still has them
    with pytest.raises(ValueError, match="pass X= and y="):
        back.objective(k=1)


def test_methods_that_need_data_take_them_after_loading(tmp_path):
    support_path().save(tmp_path / "path")
    back = l0path.load(tmp_path / "path")
    with pytest.raises(ValueError, match="pass X= and y="):
        back.objective(k=2)
    with pytest.raises(ValueError, match="pass y="):
        back.objective(k=2, X=X)
    assert back.objective(k=2, X=X, y=Y) == pytest.approx(support_path().objective(k=2), rel=1e-14)
    assert back.objective(k=2, X=np.asfortranarray(X), y=list(Y)) == pytest.approx(
        support_path().objective(k=2), rel=1e-12
    )
    for A, y in ((X + 1e-9, Y), (X, Y + 1e-9), (X[::-1], Y[::-1]), (X[:-1], Y[:-1])):
        with pytest.raises(ValueError, match="differ from those of the fit"):
            back.objective(k=2, X=A, y=y)
    framed_path().save(tmp_path / "framed")
    assert l0path.load(tmp_path / "framed").objective(
        k=2, X=FRAME, y=pd.Series(Z, index=FRAME.index)
    ) == pytest.approx(framed_path().objective(k=2), rel=1e-14)


def test_a_design_changed_after_the_fit_is_refused():
    A = X.copy()
    path = l0path.fit(A, Y, max_k=2)
    assert path.objective(k=2) == pytest.approx(path.table.objective[2], rel=1e-12)
    A[3, 1] += 1.0
    with pytest.raises(ValueError, match="checksum"):
        path.objective(k=2)


def test_weights_and_offsets_are_not_in_a_file(tmp_path):
    for extra in (dict(sample_weight=np.linspace(1, 2, 50)), dict(offset=np.ones(50))):
        l0path.fit(X, Y, max_k=1, **extra).save(tmp_path / "path")
        with pytest.raises(ValueError, match="offset or weights"):
            l0path.load(tmp_path / "path").objective(k=1, X=X, y=Y)
