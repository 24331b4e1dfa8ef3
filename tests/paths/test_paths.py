"""Path and Model: table, selectors, coefficients, slices, attributes."""

import copy
import pickle
from functools import cache

import numpy as np
import oracles
import pandas as pd
import pytest
from path_samples import FRAME, NAMES, X, Y, framed_path, same_solutions, support_path
from recomputed import objective_of

import l0path

COLUMNS = [
    "k",
    "n_features",
    "slice",
    "lambda0",
    "lambda1",
    "lambda2",
    "relax",
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
    "exchanges",
    "flags",
]


@cache
def sliced_path():
    return l0path.fit(X, Y, lambda2=l0path.grid(n=2), lambda1=l0path.grid(n=2), max_k=3)


@cache
def grid_path():
    return l0path.fit(X, Y, lambda0=[0.3, 0.03, 0.01, 1e3], max_k=4)


PATHS = {
    "support": support_path,
    "slices": sliced_path,
    "grid": grid_path,
    "framed": framed_path,
}


# -- the table


def test_table_columns_and_labels():
    for fitted in PATHS.values():
        path = fitted()
        table = path.details
        assert table.columns.tolist() == [*COLUMNS, "features"]
        assert table.index.tolist() == list(range(len(path)))
        table["k"] = -1
        assert (path.details.k >= 0).all()


def test_table_means_what_it_says_on_a_support_grid():
    table = support_path().details
    assert (
        table.k.tolist() == list(range(7))
        and table.lambda0.isna().all()
        and (table.slice == 0).all()
    )
    assert (
        (table.lambda1 == 0.02).all()
        and (table.lambda2 == 0.01).all()
        and support_path()._meta.penalty == "L0L1L2"
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
            row.n_features == np.count_nonzero(beta[1:])
            and row.converged
            and row.status == "converged"
        )
        assert ("fewer_nonzeros" in table["flags"][row.Index]) == (row.n_features < row.k)
    searched = table[1:][table.optimality[1:] != "global"]  # not compared with all others
    assert len(searched) and searched.gap.isna().all() and searched.lower_bound.isna().all()
    assert table.lambda0_low.notna().equals(table.lambda0_high.notna())


def test_gap_is_zero_at_the_null_model_without_shrinkage():
    table = l0path.fit(X, Y, max_k=1).details
    assert (
        table.gap[0] == 0
        and table.lower_bound[0] == table.objective[0]
        and table.lambda0_high[0] == np.inf
    )
    assert (
        table.optimality[0] == "global"
        and l0path.fit(X, Y, max_k=6).details.optimality[6] == "global"
    )


def test_table_of_a_lambda0_grid():
    table = grid_path().details
    assert (
        table.lambda0.tolist() == [1e3, 0.3, 0.03, 0.01]
        and (np.diff(table.k) >= 0).all()
        and table.k[0] == 0
    )
    np.testing.assert_allclose(table.objective, table.loss + table.lambda0 * table.k, rtol=1e-14)


def test_forced_columns_count_as_nonzero_but_not_in_k():
    path = l0path.fit(X, Y, always_include=[1, 2], max_k=2)
    assert path.details.k.tolist() == [0, 1, 2] and path.details.n_features.tolist() == [2, 3, 4]
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
            support_path().select(k=k)
            == k
            == support_path().select(index=k)
            == support_path().select(lambda path, k=k: k)
            == support_path().select(index=k - 7)
            == support_path().select(k=np.int64(k))
        )
        assert support_path().model(k=k)._index == k
    table = support_path().details
    for row in table[table.lambda0_low.notna()].itertuples():
        assert support_path().select(lambda0=row.lambda0_low) == row.Index
        inside = (
            2 * row.lambda0_low + 1
            if np.isinf(row.lambda0_high)
            else (row.lambda0_low + row.lambda0_high) / 2
        )
        assert support_path().select(lambda0=inside) == row.Index
    assert support_path().select(lambda0=0) == table.index[table.lambda0_low == 0][0]


def test_choosing_on_slices():
    table = sliced_path().details
    assert len(table.groupby(["lambda1", "lambda2"])) == 4
    for row in table.itertuples():
        assert (
            sliced_path().select(k=row.k, slice=row.slice)
            == row.Index
            == sliced_path().select(k=row.k, lambda1=row.lambda1, lambda2=row.lambda2)
        )
        assert (
            sliced_path().select(k=row.k, lambda1=row.lambda1 * (1 + 1e-10), lambda2=row.lambda2)
            == row.Index
        )
    assert sliced_path().select(index=9) == 9
    low = table[table.slice == 2].lambda0_low.max()
    assert sliced_path().model(lambda0=low, slice=2).details["slice"] == 2


def test_choosing_on_a_lambda0_grid():
    assert grid_path().select(lambda0=0.03) == 2 == grid_path().select(lambda0=0.03 * (1 + 1e-9))
    with pytest.raises(LookupError):
        grid_path().select(lambda0=0.03 * (1 + 1e-6))
    twice = l0path.fit(X, Y, lambda0=[0.3, 0.29], max_k=4)
    assert twice.details.k.nunique() == 1 and twice.select(k=twice.details.k[0]) == 0


def test_slice_is_a_path_of_its_own():
    for i in range(4):
        part, rows = sliced_path().slice(i), sliced_path().details[sliced_path().details.slice == i]
        assert part.details.index.tolist() == [0, 1, 2, 3] and (part.details.slice == 0).all()
        assert part.details.objective.tolist() == rows.objective.tolist()
        assert part.support(k=2).tolist() == sliced_path().support(k=2, slice=i).tolist()
        assert objective_of(part, k=2) == pytest.approx(objective_of(sliced_path(), k=2, slice=i))
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


# -- Model


def test_model_attributes():
    model, row = framed_path().model(k=2), framed_path().details.loc[2]
    own = model.details.drop("variables")  # of the model alone
    pd.testing.assert_series_equal(own, row.astype(object), check_dtype=False)
    for name in ("k", "objective", "loss", "deviance_ratio", "lower_bound", "gap", "optimality"):
        assert (
            getattr(model, name) == row[name] or np.isnan([row[name], getattr(model, name)]).all()
        )
    assert (
        model._index == 2
        and model.groups == model.features
        and model.support.tolist() == framed_path().support(k=2).tolist()
    )
    assert (
        model.features == [NAMES[j] for j in model.support]
        and model.intercept == model.coef["(Intercept)"]
    )
    assert model.coef.equals(framed_path().coef(k=2))
    assert "k = 2" in repr(model) and model.features[0] in repr(model)
    with pytest.raises(AttributeError, match=r"no attribute 'lamda0'"):
        model.lamda0  # noqa: B018
    assert "intercept only" in repr(framed_path().model(k=0))
    assert copy.copy(model).k == 2 and pickle.loads(pickle.dumps(model)).coef.equals(model.coef)


def test_path_attributes_iteration_and_repr():
    assert [m.k for m in support_path()] == list(range(7)) and len(support_path()) == 7
    assert (
        support_path().n,
        support_path().p,
        support_path().loss.name,
        support_path().classes,
    ) == (
        50,
        6,
        "squared",
        None,
    )
    assert (
        framed_path().classes == ("no", "yes")
        and framed_path().names == NAMES
        and framed_path()._meta.penalty == "L0"
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
    pd.testing.assert_frame_equal(path.details, back.details)
    pd.testing.assert_frame_equal(path.rounds, back.rounds)
    assert (
        back.names,
        back.n,
        back.p,
        back.classes,
        back._meta.penalty,
        back.status,
        back.notes,
    ) == (
        path.names,
        path.n,
        path.p,
        path.classes,
        path._meta.penalty,
        path.status,
        path.notes,
    )
    for a, b in ((path._meta.__dict__[f], back._meta.__dict__[f]) for f in path._meta.__dict__):
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
    new = FRAME if name == "framed" else X
    np.testing.assert_array_equal(np.asarray(path.predict(new)), np.asarray(back.predict(new)))
    assert path.coef(standardized=True).equals(back.coef(standardized=True)) and repr(path) == repr(
        back
    )
    back.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes()[:2] == file.read_bytes()[:2] == b"PK"
