"""Formulas: the designs of patsy and the predictions of statsmodels, explicit dummy columns, and
rows dropped with what belongs to them.
"""

import numpy as np
import pandas as pd
import patsy
import pytest
import scipy.sparse as sp
from formula_samples import DATA, NEW, holes, smf

import l0path

# -------------------- designs and predictions


@pytest.mark.parametrize(
    "right",
    [
        "a + c",
        "a*c",
        "a:c",
        "c + C(b) + c:C(b)",
        "a*c - 1",
        "0 + c",
        "(a + x + c)**2",
        "bs(a, df=4) + np.exp(x)",
        "center(a) + scale(x, ddof=0)",
        "C(b, Sum) + flag",
        "C(c, Treatment('v')) + I(a**2)",
        "Q('my col') + a",
        "a/c",
    ],
)
def test_columns_are_those_of_patsy_on_the_rows_of_the_fit_and_on_new_ones(right):
    path = l0path.fit(f"y ~ {right}", DATA, max_k=1)
    theirs = patsy.dmatrix(right, DATA)
    kept = [j for j, name in enumerate(theirs.design_info.column_names) if name != "Intercept"]
    for rows, design in (
        (DATA, np.asarray(theirs)),
        (NEW, np.asarray(patsy.build_design_matrices([theirs.design_info], NEW)[0])),
    ):
        ours = path._meta.formula.encode(rows).X
        assert ours.index.equals(rows.index) and list(ours.columns) == path.names
        np.testing.assert_allclose(
            _ordered(ours.to_numpy(dtype=float)), _ordered(design[:, kept]), atol=1e-10
        )


def _ordered(A):
    """Columns in an order of their own: patsy puts the terms of interactions elsewhere."""
    return A[:, np.lexsort(np.round(A[::-1], 6))]


@pytest.mark.parametrize(
    "text",
    [
        "y ~ a*c",
        "np.log(y + 9) ~ c + bs(a, df=4)",
        "y ~ a + np.abs(x) - 1",
        "y ~ center(a):c + flag",
    ],
)
def test_the_largest_model_predicts_what_statsmodels_does(text):
    theirs = smf.ols(text, DATA).fit()
    path = l0path.fit(text, DATA)
    ours = path.predict(NEW, k=path.details.k.max())
    np.testing.assert_allclose(ours, theirs.predict(NEW), rtol=1e-7)
    assert ours.index.equals(NEW.index) and ours.name == text.split("~")[0].strip()
    full = path.model(k=path.details.k.max())
    np.testing.assert_allclose(np.sort(full.refit().params), np.sort(theirs.params), rtol=1e-6)


@pytest.mark.parametrize(
    ("right", "blocks"),
    [
        ("poly(a, 3) + x", {"poly(a, 3)": 3, "x": 1}),
        ("cs(a, df=4) + c", {"cs(a, df=4)": 4, "c": 2}),
        ("cc(a, df=3) + x", {"cc(a, df=3)": 3, "x": 1}),
    ],
)
def test_other_bases_are_groups_and_smooth_on_new_rows(right, blocks):
    path = l0path.fit(f"y ~ {right}", DATA)
    assert {
        label: int(np.diff(path._meta.groups.start)[g])
        for g, label in enumerate(path._meta.groups.labels)
    } == blocks
    encoded = path._meta.formula.encode(DATA).X
    shuffled = path._meta.formula.encode(
        DATA.iloc[::-1].iloc[:40]
    ).X  # knots and norms are those of the fit: part of the rows gives the same numbers
    np.testing.assert_allclose(shuffled, encoded.iloc[::-1].iloc[:40], atol=1e-10)
    if "poly" in right:
        P = encoded.filter(like="poly").to_numpy()
        np.testing.assert_allclose(P.T @ P, np.eye(3), atol=1e-10)


def test_same_models_as_explicit_dummies_with_groups():
    path = l0path.fit("y ~ a*c + C(b) + x", DATA, heredity=None)
    parts = {
        "a": DATA[["a"]],
        "c": pd.get_dummies(DATA.c, drop_first=True),
        "C(b)": pd.get_dummies(DATA.b, drop_first=True),
        "x": DATA[["x"]],
        "a:c": pd.get_dummies(DATA.c, drop_first=True).mul(DATA.a, axis=0),
    }
    X = np.column_stack([part.to_numpy(dtype=float) for part in parts.values()])
    by_hand = l0path.fit(X, DATA.y, groups=[label for label, part in parts.items() for _ in part])
    np.testing.assert_allclose(path.details.objective, by_hand.details.objective, rtol=1e-10)
    assert [m.groups for m in path] == [m.groups for m in by_hand] and path.model(k=3).groups == [
        "a",
        "c",
        "a:c",
    ]
    np.testing.assert_allclose(path.coef(k=5, full=True), by_hand.coef(k=5, full=True), atol=1e-9)
    single = l0path.fit("y ~ a*c + C(b) + x", DATA, groups=False)
    np.testing.assert_allclose(
        single.details.objective, l0path.fit(X, DATA.y).details.objective, rtol=1e-10
    )
    assert single._meta.groups is None and l0path.fit("y ~ a + x + flag", DATA)._meta.groups is None
    assert (
        l0path.fit("y ~ a*c + x", DATA, groups=False, algorithm="cd", max_k=2)._meta.algorithm
        == "CoordinateDescent"
    )


def test_many_levels_are_sparse_and_the_same():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "y": rng.standard_normal(400),
            "g": rng.integers(120, size=400).astype(str),
            "a": rng.standard_normal(400),
        }
    )
    frame["y"] += 2.0 * (frame.g == "7") + frame.a
    path = l0path.fit("y ~ g + a", frame, groups=False, max_k=3)
    encoded = path._meta.formula.encode(frame).X
    assert (
        sp.issparse(encoded)
        and encoded.shape == (400, path.p)
        and path.model(k=2).features == ["g[T.7]", "a"]
    )
    dense = pd.DataFrame(np.asarray(patsy.dmatrix("g + a", frame))[:, 1:])
    np.testing.assert_allclose(
        l0path.fit(dense, frame.y, max_k=3).details.objective, path.details.objective, rtol=1e-9
    )
    assert path.predict(frame.iloc[:7], k=2).index.tolist() == list(range(7))


def test_functions_and_values_of_the_users_own_come_by_env():
    knots = [-0.5, 0.5]

    def double(v):
        return 2.0 * v

    C = scale = None  # noqa: F841 names of the session are nothing to a formula
    text = "y ~ double(a) + bs(x, knots=knots) + C(b) + scale(`my col`)"
    path = l0path.fit(text, DATA, env={"double": double, "knots": knots, "unused": 1})
    assert path.names[0] == "double(a)" and sum(name.startswith("bs(") for name in path.names) == 5
    assert set(path._meta.formula.own) == {"double", "knots"}
    np.testing.assert_allclose(path._meta.formula.encode(NEW).X["double(a)"], 2.0 * NEW.a)
    assert np.isfinite(path.predict(NEW, k=2)).all()
    with pytest.raises(
        ValueError, match=r"'double' is an unknown function.*env={'double': double}"
    ):
        l0path.fit(text, DATA, env={"knots": knots})
    with pytest.raises(ValueError, match=r"no column 'knots'.*env={'knots'"):
        l0path.fit(text, DATA, env={"double": double})
    for env, match in (
        ({"log": np.log}, "'log' is a name that formulas have"),
        ({"a b": np.log}, "'a b' is no name"),
        ([np.log], "must be a dict"),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            l0path.fit("y ~ a", DATA, env=env)
    with pytest.raises(ValueError, match="env= holds functions of a formula"):
        l0path.fit(DATA[["a"]], DATA.y, env={"double": double})


# -------------------- rows


def test_incomplete_rows_are_dropped_with_what_belongs_to_them():
    frame = holes(DATA)
    keep = ~frame[["y", "a", "c"]].isna().any(axis=1).to_numpy()
    rng = np.random.default_rng(1)
    weights, shift, blocks = (
        rng.uniform(0.5, 2.0, 90),
        0.1 * rng.standard_normal(90),
        np.repeat(np.arange(15), 6),
    )
    weights[~keep] = np.nan  # what belongs to rows that are dropped is not looked at
    path = l0path.fit(
        "y ~ a*c", frame, sample_weight=weights, offset=pd.Series(shift, index=frame.index)
    )
    alone = l0path.fit("y ~ a*c", frame[keep], sample_weight=weights[keep], offset=shift[keep])
    assert (
        path._meta.formula.n_dropped == 4
        and path.n == 86
        and "4 rows dropped" in repr(path)
        and path.notes == ["4 rows with missing values dropped (a 2, c 2, y 1)", *alone.notes]
    )
    np.testing.assert_array_equal(path.details.objective, alone.details.objective)
    assert alone._meta.formula.n_dropped == 0 and not any("dropped" in note for note in alone.notes)
    named = l0path.fit("y ~ a*c", frame.assign(w=weights, o=shift), sample_weight="w", offset="o")
    np.testing.assert_array_equal(named.details.objective, path.details.objective)
    ids = np.arange(90) % 4
    pairs = [(np.flatnonzero(ids != f), ids == f) for f in range(4)]
    for folds, short in (
        (dict(groups_cv=blocks, cv=3), dict(groups_cv=blocks[keep], cv=3)),
        *((dict(cv=given), dict(cv=ids[keep])) for given in (ids, pairs, "f")),
    ):
        ours = l0path.cv_fit("y ~ a*c", frame.assign(f=ids), random_state=0, **folds)
        theirs = l0path.cv_fit("y ~ a*c", frame[keep], random_state=0, **short)
        np.testing.assert_allclose(ours.folds.to_numpy(), theirs.folds.to_numpy(), rtol=1e-12)
    held = ours.held_out()
    assert held.index.equals(frame.index[keep]) and held.name == "y"


def test_a_named_column_counts_as_used_and_dot_leaves_it_out():
    frame = DATA.assign(w=DATA.w.where(DATA.index != "r5"))
    path = l0path.fit("y ~ .", frame, sample_weight="w", max_k=2)
    assert (
        path._meta.formula.n_dropped == 1
        and "w" not in path.names
        and "my col" in path.names
        and "y" not in path.names
    )
    assert (
        "w" in l0path.fit("np.log(y + 9) ~ . - c", DATA, max_k=1).names
        and "y" not in l0path.fit("np.log(y + 9) ~ .", DATA, max_k=1).names
    )


def test_scores_refits_and_validation_take_the_left_side():
    path = l0path.fit("np.log(y + 9) ~ a*c", DATA)
    rows = holes(DATA)
    keep = rows[["y", "a", "c"]].notna().all(axis=1)
    left = np.log(DATA.y + 9)
    assert path.model(k=2).score(rows).mse == pytest.approx(
        ((left - path.predict(DATA, k=2))[keep] ** 2).mean()
    )
    pd.testing.assert_series_equal(path.model(k=2).score(DATA, left), path.model(k=2).score(DATA))
    assert path.validate(rows, sample_weight="w").scores.cv_mean[2] == pytest.approx(
        np.average((left - path.predict(DATA, k=2))[keep] ** 2, weights=DATA.w[keep])
    )
    held = path.model(k=1).refit(X=NEW)
    assert (
        held.selection.startswith("held-out")
        and held.nobs == 20
        and path.model(k=1).refit(X=DATA).selection.startswith("conditional")
    )
    with pytest.raises(ValueError, match="y is missing"):
        path.model(k=1).score(NEW.drop(columns="y"))


@pytest.mark.parametrize("right", [".", "a + `Unnamed: 0`", "a * `Unnamed: 0`"])
def test_columns_with_a_colon_in_their_name(right, tmp_path):
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"Unnamed: 0": rng.normal(size=40), "a": rng.normal(size=40)})
    table["y"] = 2.0 * table["Unnamed: 0"] + table["a"] + rng.normal(size=40)
    path = l0path.fit(f"y ~ {right}", table)
    assert path.coef(k=2).index.tolist()[1:] == (
        ["Unnamed: 0", "a"] if right == "." else ["a", "Unnamed: 0"]
    )
    path.save(tmp_path / "path.npz")
    again, one = l0path.load(tmp_path / "path.npz"), table[["Unnamed: 0"]]
    np.testing.assert_allclose(again.predict(table, k=2), path.predict(table, k=2))
    np.testing.assert_allclose(again.predict(one, k=1), path.predict(one, k=1))
    assert "Unnamed: 0" in path.model(k=1).to_python()
