"""Formulas: the designs of patsy and the predictions of statsmodels, explicit dummy columns, rows
dropped with what belongs to them, new rows, names, storage, wrong input.
"""

import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import patsy
import pytest
import scipy.sparse as sp
from lazy import lazy

import l0path
from l0path.formula import Formula, opened
from l0path.formula.expressions import foreign

smf = lazy("statsmodels.formula.api")


def table(n=90, seed=0):
    """A frame of numbers, a factor c of three levels, a whole number b of three values, a flag, a
    name with a space, weights; y depends on a, c and a:c.
    """
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.standard_normal(n),
            "x": rng.standard_normal(n),
            "my col": rng.standard_normal(n),
            "c": rng.choice(["u", "v", "w"], n),
            "b": rng.integers(0, 3, n),
            "flag": rng.random(n) > 0.5,
            "w": rng.uniform(0.5, 2.0, n),
        },
        index=[f"r{i}" for i in range(n)],
    )
    frame.insert(
        0,
        "y",
        frame.a
        + 2.0 * (frame.c == "v")
        - 1.5 * frame.a * (frame.c == "w")
        + 0.5 * rng.standard_normal(n),
    )
    return frame


DATA = table()
NEW = table(20, seed=5)


def holes(frame):
    """Missing values in y (1 row), a (2), c (1) and, in a column that no formula here uses,
    many.
    """
    out = frame.copy()
    out.loc["r3", "y"] = out.loc["r7", "a"] = out.loc["r50", "a"] = np.nan
    out.loc["r7", "c"] = out.loc["r20", "c"] = None
    out.loc["r30":"r60", "x"] = np.nan
    return out


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
        ours = path.meta.formula.encode(rows).X
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
    ours = path.predict(NEW, k=path.table.k.max())
    np.testing.assert_allclose(ours, theirs.predict(NEW), rtol=1e-7)
    assert ours.index.equals(NEW.index) and ours.name == text.split("~")[0].strip()
    full = path.model(k=path.table.k.max())
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
        label: int(np.diff(path.meta.groups.start)[g])
        for g, label in enumerate(path.meta.groups.labels)
    } == blocks
    encoded = path.meta.formula.encode(DATA).X
    shuffled = path.meta.formula.encode(
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
    np.testing.assert_allclose(path.table.objective, by_hand.table.objective, rtol=1e-10)
    assert [m.groups for m in path] == [m.groups for m in by_hand] and path.model(k=3).groups == [
        "a",
        "c",
        "a:c",
    ]
    np.testing.assert_allclose(path.coef(k=5, full=True), by_hand.coef(k=5, full=True), atol=1e-9)
    single = l0path.fit("y ~ a*c + C(b) + x", DATA, groups=False)
    np.testing.assert_allclose(
        single.table.objective, l0path.fit(X, DATA.y).table.objective, rtol=1e-10
    )
    assert single.meta.groups is None and l0path.fit("y ~ a + x + flag", DATA).meta.groups is None
    assert (
        l0path.fit("y ~ a*c + x", DATA, groups=False, algorithm="cd", max_k=2).meta.algorithm
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
    encoded = path.meta.formula.encode(frame).X
    assert (
        sp.issparse(encoded)
        and encoded.shape == (400, path.p)
        and path.model(k=2).features == ["g[T.7]", "a"]
    )
    dense = pd.DataFrame(np.asarray(patsy.dmatrix("g + a", frame))[:, 1:])
    np.testing.assert_allclose(
        l0path.fit(dense, frame.y, max_k=3).table.objective, path.table.objective, rtol=1e-9
    )
    assert path.predict(frame.iloc[:7], k=2).index.tolist() == list(range(7))


def test_functions_and_values_of_the_session():
    knots = [-0.5, 0.5]  # noqa: F841

    def double(v):
        return 2.0 * v

    C = scale = None  # noqa: F841 names of the session do not shadow those of formulas
    path = l0path.fit("y ~ double(a) + bs(x, knots=knots) + C(b) + scale(`my col`)", DATA)
    assert path.names[0] == "double(a)" and sum(name.startswith("bs(") for name in path.names) == 5
    np.testing.assert_allclose(path.meta.formula.encode(NEW).X["double(a)"], 2.0 * NEW.a)
    assert np.isfinite(path.predict(NEW, k=2)).all()


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
        path.n_dropped == 4
        and path.n == 86
        and "4 rows dropped" in repr(path)
        and path.notes == ["4 rows with missing values dropped (a 2, c 2, y 1)", *alone.notes]
    )
    np.testing.assert_array_equal(path.table.objective, alone.table.objective)
    assert alone.n_dropped == 0 and not any("dropped" in note for note in alone.notes)
    named = l0path.fit("y ~ a*c", frame.assign(w=weights, o=shift), sample_weight="w", offset="o")
    np.testing.assert_array_equal(named.table.objective, path.table.objective)
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
        path.n_dropped == 1
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
    assert path.score(rows, k=2).mse == pytest.approx(
        ((left - path.predict(DATA, k=2))[keep] ** 2).mean()
    )
    pd.testing.assert_series_equal(path.score(DATA, left, k=2), path.model(k=2).score(DATA))
    assert path.validate(rows, sample_weight="w").table.cv_mean[2] == pytest.approx(
        np.average((left - path.predict(DATA, k=2))[keep] ** 2, weights=DATA.w[keep])
    )
    held = path.refit(k=1, X=NEW)
    assert (
        held.selection.startswith("held-out")
        and held.nobs == 20
        and path.refit(k=1, X=DATA).selection.startswith("conditional")
    )
    with pytest.raises(ValueError, match="y is missing"):
        path.score(NEW.drop(columns="y"), k=1)


# -------------------- dtypes and new rows


def test_nullable_and_other_dtypes_give_the_same_path():
    plain = DATA.assign(b=DATA.b.astype(float), flag=DATA.flag.astype(float))
    text = "y ~ a + b + flag + c"
    path = l0path.fit(text, plain)
    kinds = {"a": "Float64", "b": "Int64", "flag": "boolean", "c": "string"}
    for other in (
        DATA.astype(kinds),
        DATA.astype({**kinds, "y": "Float64", "c": "category"}),
        DATA.astype({"c": object, "b": "int8", "a": object}),
    ):
        again = l0path.fit(text, other)
        np.testing.assert_allclose(again.table.objective, path.table.objective, rtol=1e-12)
        assert again.names == path.names
        np.testing.assert_allclose(again.predict(other, k=3), path.predict(plain, k=3), rtol=1e-9)
    empty = DATA.astype(kinds)
    empty.loc["r4", ["b"]], empty.loc["r9", ["flag"]] = pd.NA, pd.NA
    assert l0path.fit(text, empty).n_dropped == 2


def test_thousands_of_plain_columns_are_taken_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.standard_normal((60, 3000)), columns=[f"gene {j}" for j in range(3000)]
    ).assign(y=lambda f: f["gene 7"] - 2.0 * f["gene 2000"])
    path = l0path.fit("y ~ .", frame, max_k=2)
    assert (
        path.names == [f"gene {j}" for j in range(3000)]
        and path.model(k=2).features == ["gene 7", "gene 2000"]
        and path.meta.groups is None
    )
    assert (
        path.meta.formula._spec is None
    )  # formulaic, which takes a millisecond for each term, only parsed it
    path.save(tmp_path / "path.npz")
    for one in (path, l0path.load(tmp_path / "path.npz")):
        np.testing.assert_allclose(one.predict(frame.iloc[:, ::-1], k=2), frame.y, atol=1e-9)
        with pytest.raises(
            ValueError, match="column gene 2000 has dtype object, in the fit it held numbers"
        ):
            one.predict(frame.assign(**{"gene 2000": "text"}), k=1)
        other = frame.assign(**{"gene 5": "text"})[["gene 2000", "gene 7", "gene 5"]]
        np.testing.assert_allclose(one.predict(other, k=2), frame.y, atol=1e-9)


def test_new_rows_by_name_in_any_order():
    path = l0path.fit("y ~ a*c + flag", DATA)
    whole = path.predict(NEW, k=3)
    np.testing.assert_array_equal(path.predict(NEW[["flag", "c", "x", "a"]], k=3), whole)
    np.testing.assert_allclose(
        path.predict(path.meta.formula.encode(NEW).X.to_numpy(dtype=float), k=3), whole
    )
    one = path.predict(NEW.iloc[[4]], k=3)  # one row, whose levels are few, is coded as all are
    assert one.iloc[0] == pytest.approx(whole.iloc[4])
    levels = pd.Categorical(
        NEW.c, categories=["w", "u", "zzz", "v"]
    )  # another order and a level that does not occur
    np.testing.assert_array_equal(path.predict(NEW.assign(c=levels), k=3), whole)
    cases = {
        "level 'z'": (
            NEW.assign(c=["z", *NEW.c[1:]]),
            r"column c has the level 'z'.*not seen.*u, v, w.*drop these rows",
        ),
        "missing": (
            holes(DATA),
            r"missing values in 3 of 90 rows: a \(2\), c \(2\); drop or impute",
        ),
        "absent": (NEW.drop(columns="flag"), "X lacks 1 of the columns of the formula: flag"),
        "kind": (NEW.assign(a="text"), "column a has dtype object, in the fit it held numbers"),
    }
    for rows, match in cases.values():
        with pytest.raises(ValueError, match=match):
            path.predict(rows)
    with pytest.raises(TypeError, match="pass a DataFrame with the columns a, c, flag"):
        path.predict({"a": [1.0]})
    coded = l0path.fit("y ~ C(np.round(a)) + x", DATA, max_k=1)
    with pytest.raises(ValueError, match="categories outside"):
        coded.predict(NEW.assign(a=99.0), k=1)


def test_cross_validation_is_that_of_the_encoded_columns():
    ours = l0path.cv_fit("y ~ a*c + bs(x, df=4)", DATA, cv=4, random_state=2, heredity=None)
    encoded, y, arguments = opened("y ~ a*c + bs(x, df=4)", DATA, {})
    theirs = l0path.cv_fit(encoded.X, y, cv=4, random_state=2, groups=arguments["groups"])
    np.testing.assert_array_equal(ours.folds.to_numpy(), theirs.folds.to_numpy())
    np.testing.assert_array_equal(ours.predict(NEW), ours.path.predict(NEW, k=ours.model().k))
    nested = l0path.nested_cv("y ~ a*c", holes(DATA), outer=3, cv=3, random_state=1)
    assert len(nested.held_out) == 86 and np.isfinite(nested.models[0].predict(NEW)).all()


def test_left_sides_of_classes():
    text = DATA.assign(sick=np.where(DATA.y > 0, "yes", "no"))
    path = l0path.fit("sick ~ a + c", text, loss="logistic", lambda2=0.01)
    assert path.classes == ("no", "yes") and set(path.predict(text, k=2, type="class")) == {
        "no",
        "yes",
    }
    order = text.assign(sick=pd.Categorical(text.sick, categories=["yes", "no"]))
    assert l0path.fit("sick ~ a + c", order, loss="logistic", lambda2=0.01).classes == ("yes", "no")
    for left, frame in (
        ("{y > 0}", DATA),
        ("np.where(y > 0, 'yes', 'no')", DATA),
        ("sick", text.astype({"sick": "string"})),
        ("sick", DATA.assign(sick=(DATA.y > 0).astype("boolean"))),
    ):
        other = l0path.fit(f"{left} ~ a + c", frame, loss="logistic", lambda2=0.01)
        np.testing.assert_allclose(other.table.objective, path.table.objective, rtol=1e-12)
    wrong = (path.predict(text, k=2) > 0.5) != (text.sick == "yes")
    assert path.score(text, k=2).misclassification == wrong.mean() < 0.5


# -------------------- names


def test_columns_terms_and_groups_by_name():
    text = "y ~ a*c + C(b) + bs(x, df=4)"
    forced = l0path.fit(text, DATA, always_include=["C(b)", "bs(x,df = 4)"], exclude="a:c", max_k=1)
    assert forced.model(k=0).groups == ["C(b)", "bs(x, df=4)"] and forced.model(k=1).groups == [
        "c",
        "C(b)",
        "bs(x, df=4)",
    ]
    same = l0path.fit(
        text,
        DATA,
        always_include=["C(b)[T.1]", "bs(x, df=4)"],
        exclude=["a:c[T.v]", "a:c[T.w]"],
        max_k=1,
    )
    np.testing.assert_array_equal(same.table.objective, forced.table.objective)
    priced = l0path.fit(
        text, DATA, penalty_factor={"C(b)": 0.0, "bs(x, df=4)": 0, "a:c": np.inf}, max_k=1
    )
    np.testing.assert_array_equal(priced.table.objective, forced.table.objective)
    single = l0path.fit(text, DATA, groups=False, always_include="C(b)", max_k=1)
    assert single.model(k=0).features == ["C(b)[T.1]", "C(b)[T.2]"]
    boxed = l0path.fit(text, DATA, upper={"a:c": 0.0, "a": 0.5}, max_k=3)
    assert (
        boxed.coef(full=True).filter(regex="a:c", axis=0).to_numpy().max() <= 0.0
        and boxed.coef(full=True).loc["a"].max() <= 0.5
    )
    own = l0path.fit(
        text,
        DATA,
        groups={"of a": ["a", "a:c"], "rest": ["c", "C(b)", "bs(x, df=4)"]},
        always_include="of a",
        max_k=1,
    )
    assert own.model(k=0).groups == ["of a"] and own.model(k=0).n_nonzero == 3
    array = l0path.fit(DATA[["a", "x"]], DATA.y, penalty_factor={"x": 0.0})
    assert array.model(k=0).features == ["x"]


def test_intercepts_agree():
    assert (
        not l0path.fit("y ~ a + x - 1", DATA).meta.intercept
        and l0path.fit("y ~ 1 + a", DATA, fit_intercept=True).meta.intercept
    )
    assert l0path.fit("y ~ 0 + a", DATA, fit_intercept=False).coef(k=1)["(Intercept)"] == 0.0
    for text, given, match in (
        ("y ~ a", False, 'an intercept; .* write "- 1"'),
        ("y ~ a + 0", True, "no intercept"),
    ):
        with pytest.raises(ValueError, match=match):
            l0path.fit(text, DATA, fit_intercept=given)


# -------------------- storage


def test_files_and_pickles_encode_new_rows(tmp_path):
    text = (
        "np.log(y + 9) ~ a*c + C(b) + bs(x, df=4) + poly(a, 2) + scale(`my col`) + flag + "
        "cs(x, df=3)"
    )
    path = l0path.fit(text, holes(DATA).assign(x=DATA.x), max_k=4)
    path.save(tmp_path / "path.npz")
    with zipfile.ZipFile(tmp_path / "path.npz") as stored:
        assert not any(b"pickle" in stored.read(name) for name in stored.namelist())
    for back in (l0path.load(tmp_path / "path.npz"), pickle.loads(pickle.dumps(path))):
        np.testing.assert_array_equal(back.predict(NEW), path.predict(NEW))
        assert (
            back.n_dropped == 4
            and back.names == path.names
            and repr(back) == repr(path)
            and back.meta.groups.labels == path.meta.groups.labels
        )
        frame = holes(DATA).assign(x=DATA.x)
        assert back.objective(k=2, X=frame) == pytest.approx(
            path.table.objective[2], rel=1e-10
        )  # the rows of the fit: dropped alike, the left side taken from them
        assert back.refit(k=2, X=frame).selection.startswith("conditional")
        back.save(tmp_path / "again.npz")
        np.testing.assert_array_equal(
            l0path.load(tmp_path / "again.npz").predict(NEW), path.predict(NEW)
        )
        with pytest.raises(ValueError, match="level 'z'"):
            back.predict(NEW.assign(c="z"), k=1)
    dotted = l0path.fit("y ~ . - w", DATA, max_k=2)
    dotted.save(tmp_path / "dot.npz")
    np.testing.assert_array_equal(
        l0path.load(tmp_path / "dot.npz").predict(NEW), dotted.predict(NEW)
    )
    wide = l0path.fit(
        "y ~ g",
        pd.DataFrame({"y": DATA.y, "g": [f"g{i}" for i in np.arange(90) // 3 * 7]}).assign(h=1),
        groups=False,
        max_k=2,
    )
    wide.save(tmp_path / "wide.npz")
    assert l0path.load(tmp_path / "wide.npz").meta.formula.output == wide.meta.formula.output


def test_what_files_do_not_hold_is_refused_and_nothing_of_them_is_run(tmp_path):
    def cube(v):
        return v**3

    path = l0path.fit("y ~ cube(a) + x", DATA, max_k=2)
    path.save(tmp_path / "path.npz")
    for back in (l0path.load(tmp_path / "path.npz"), pickle.loads(pickle.dumps(path))):
        with pytest.raises(ValueError, match=r"'cube' of the session.*encoded columns as an array"):
            back.predict(NEW, k=1)
        np.testing.assert_allclose(
            back.predict(np.column_stack([NEW.a**3, NEW.x]), k=2), path.predict(NEW, k=2)
        )
    l0path.fit("cube(y) ~ a + c", DATA).save(
        tmp_path / "left.npz"
    )  # new rows do not need the left side, scores do
    left = l0path.load(tmp_path / "left.npz")
    assert np.isfinite(left.predict(NEW, k=1)).all()
    with pytest.raises(ValueError, match="'cube' of the session"):
        left.score(NEW, k=1)
    when = l0path.fit(
        "y ~ C(t)", DATA.assign(t=pd.Timestamp("2020-01-01") + pd.to_timedelta(DATA.b, unit="D"))
    )
    when.save(tmp_path / "when.npz")
    with pytest.raises(ValueError, match="neither text nor numbers"):
        l0path.load(tmp_path / "when.npz").predict(DATA.assign(t=pd.Timestamp("2020-01-01")), k=1)
    stored = l0path.fit("y ~ np.exp(a)", DATA).meta.formula.stored()
    for text in (
        "y ~ np.exp(__import__('os').getpid() + a)",
        "y ~ np.exp(a.__class__)",
        "y ~ np.load('f') + a",
        "y ~ {[v for v in a]}",
        "y ~ open('f') + a",
    ):
        hostile = Formula.restored(json.loads(json.dumps({**stored, "text": text})))
        with pytest.raises(ValueError, match="of the session"):
            hostile.encode(NEW)
    assert (
        foreign("np.log(a + 1) ** 2 - abs(b)", ["a", "b", "abs"]) == []
        and foreign("C(a, contr.sum)", ["a"]) == []
        and foreign("np.lib", []) == ["np.lib"]
    )


# -------------------- wrong input

BAD = {
    "no such column": (
        ("y ~ zz + a",),
        dict(),
        ValueError,
        r"data has no column 'zz'; the columns are y, a, x",
    ),
    "no such name in an expression": (("y ~ np.log(zz)",), dict(), ValueError, "no column 'zz'"),
    "no such response": (("zz ~ a",), dict(), ValueError, "no column 'zz'"),
    "empty right side": (("y ~ ",), dict(), ValueError, "names no column on the right side"),
    "intercept only": (("y ~ 1",), dict(), ValueError, "names no column on the right side"),
    "no response": (("~ a + x",), dict(), ValueError, "no response"),
    "two responses": (("y + a:b ~ c",), dict(), ValueError, "a response on the left"),
    "response on the right": (
        ("y ~ a + y",),
        dict(),
        ValueError,
        "the response y is also on the right",
    ),
    "response in an expression": (
        ("np.log(y) ~ np.exp(y) + a",),
        dict(),
        ValueError,
        "the response y is also on the right",
    ),
    "parts": (("y ~ a | x",), dict(), ValueError, "several parts"),
    "syntax": (("y ~ a *",), dict(), ValueError, "cannot be read"),
    "an expression that fails": (
        ("y ~ np.log(a, 1, 2, 3)",),
        dict(),
        ValueError,
        "Unable to evaluate",
    ),
    "a left side that fails": (
        ("np.log(y, 1, 2, 3) ~ a",),
        dict(),
        ValueError,
        "the left side .* cannot be computed",
    ),
    "missing values made": (
        ("y ~ np.log(a)",),
        dict(),
        ValueError,
        "null values.*the expression makes them",
    ),
    "infinity made": (("y ~ {1 / (b * 1.0)} + a",), dict(), ValueError, "NaN or infinity"),
    "not numbers": (
        ("y ~ t + a",),
        dict(data=DATA.assign(t=pd.Timestamp("2020"))),
        TypeError,
        "column t has dtype datetime64",
    ),
    "no data": (("y ~ a",), dict(data=None), TypeError, "data is missing"),
    "data no frame": (("y ~ a",), dict(data={"y": [1.0], "a": [2.0]}), TypeError, "data is a dict"),
    "every row incomplete": (
        ("y ~ a",),
        dict(data=DATA.assign(a=np.nan)),
        ValueError,
        "every row of data has a missing value .*most in a",
    ),
    "no rows": (("y ~ a",), dict(data=DATA.iloc[:0]), ValueError, "no rows"),
    "a column twice": (
        ("y ~ a",),
        dict(data=pd.concat([DATA, DATA[["a"]]], axis=1)),
        ValueError,
        "'a' more than once",
    ),
    "one level": (("y ~ c",), dict(data=DATA.assign(c="u")), ValueError, "makes no column"),
    "weights of no column": (
        ("y ~ a",),
        dict(sample_weight="nothing"),
        ValueError,
        "sample_weight='nothing' is not a column",
    ),
    "weights too short": (
        ("y ~ a",),
        dict(sample_weight=np.ones(3)),
        ValueError,
        "sample_weight has 3 values, data has 90 rows",
    ),
    "weights of other rows": (
        ("y ~ a",),
        dict(sample_weight=pd.Series(np.ones(90))),
        ValueError,
        "different indexes",
    ),
    "text response": (("c ~ a",), dict(), ValueError, "loss='logistic'"),
    "feature_names": (("y ~ a",), dict(feature_names=["b"]), ValueError, "feature_names"),
    "algorithm of columns": (("y ~ a*c",), dict(algorithm="cd"), ValueError, "groups=False"),
    "unknown name": (("y ~ a*c",), dict(always_include="a:b"), ValueError, "no column 'a:b'"),
    "factor of part of a group": (
        ("y ~ a*c",),
        dict(penalty_factor={"c[T.v]": 2.0}),
        ValueError,
        "differs among the columns of group 'c'",
    ),
    "negative factor": (
        ("y ~ a*c",),
        dict(penalty_factor={"c": -2.0}),
        ValueError,
        r"penalty_factor\['c.*'\]=-2.0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_formulas_are_refused_by_name(name):
    (text,), arguments, error, match = BAD[name]
    with pytest.raises(error, match=match):
        l0path.fit(text, **{"data": DATA, **arguments})


def test_wrong_folds_are_refused():
    frame = holes(DATA)
    short = [(np.ones(80, bool), np.ones(80, bool))]
    beyond = [(np.arange(80), np.arange(80, 200))]
    for cv, match in (
        (short, "masks of that length"),
        (np.arange(5), "5 labels, data has 90 rows"),
        (beyond, "indices of the 90 rows"),
        ("nothing", "cv='nothing' is not a column"),
    ):
        with pytest.raises(ValueError, match=match):
            l0path.cv_fit("y ~ a", frame, cv=cv)


def test_levels_are_those_of_the_rows_used():
    """A category without rows has no column, and new rows of it are refused: a column of zeros
    would pass them for the first level.
    """
    frame = DATA.assign(c=pd.Categorical(DATA.c, categories=["w", "never", "u", "v"]))
    path = l0path.fit("y ~ a + c", frame)
    assert path.names == ["a", "c[T.u]", "c[T.v]"] and not path.notes
    with pytest.raises(
        ValueError, match="column c has the level 'never', which the fit has not seen"
    ):
        path.predict(frame.assign(c="never"), k=1)
    np.testing.assert_allclose(
        path.predict(frame, k=2), smf.ols("y ~ a + c", DATA).fit().predict(DATA), rtol=1e-10
    )
    assert l0path.fit("y ~ a + c", frame.assign(c=frame.c.where(frame.c != "u", np.nan))).names == [
        "a",
        "c[T.v]",
    ]


def test_lists_of_groups_may_name_terms():
    by_list, by_label = (
        l0path.fit("y ~ a + x + c", DATA, groups=[["a", "x"], ["c"]]),
        l0path.fit("y ~ a + x + c", DATA, groups={0: ["a", "x"], 1: "c"}),
    )
    pd.testing.assert_frame_equal(by_list.table, by_label.table)
    assert by_list.model(k=2).n_nonzero == 4
