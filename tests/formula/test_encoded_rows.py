"""Formulas: types of columns, new rows, names, files."""

import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from formula_samples import DATA, NEW, holes
from recomputed import objective_of

import l0path
from l0path.formula import opened

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
        np.testing.assert_allclose(again.details.objective, path.details.objective, rtol=1e-12)
        assert again.names == path.names
        np.testing.assert_allclose(again.predict(other, k=3), path.predict(plain, k=3), rtol=1e-9)
    empty = DATA.astype(kinds)
    empty.loc["r4", ["b"]], empty.loc["r9", ["flag"]] = pd.NA, pd.NA
    assert l0path.fit(text, empty)._meta.formula.n_dropped == 2


def test_thousands_of_plain_columns_are_taken_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.standard_normal((60, 3000)), columns=[f"gene {j}" for j in range(3000)]
    ).assign(y=lambda f: f["gene 7"] - 2.0 * f["gene 2000"])
    path = l0path.fit("y ~ .", frame, max_k=2)
    assert (
        path.names == [f"gene {j}" for j in range(3000)]
        and path.model(k=2).features == ["gene 7", "gene 2000"]
        and path._meta.groups is None
    )
    assert (
        path._meta.formula._spec is None
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
        path.predict(path._meta.formula.encode(NEW).X.to_numpy(dtype=float), k=3), whole
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
    same = {"cv": 4, "random_state": 2, "lambda2": 0}
    ours = l0path.cv_fit("y ~ a*c + bs(x, df=4)", DATA, heredity=None, **same)
    encoded, y, arguments = opened("y ~ a*c + bs(x, df=4)", DATA, {})
    theirs = l0path.cv_fit(encoded.X, y, groups=arguments["groups"], **same)
    np.testing.assert_array_equal(ours.folds.to_numpy(), theirs.folds.to_numpy())
    np.testing.assert_array_equal(ours.predict(NEW), ours.predict(NEW, k=ours.model().k))
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
        np.testing.assert_allclose(other.details.objective, path.details.objective, rtol=1e-12)
    wrong = (path.predict(text, k=2) > 0.5) != (text.sick == "yes")
    assert path.model(k=2).score(text).misclassification == wrong.mean() < 0.5


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
    np.testing.assert_array_equal(same.details.objective, forced.details.objective)
    priced = l0path.fit(
        text, DATA, penalty_factor={"C(b)": 0.0, "bs(x, df=4)": 0, "a:c": np.inf}, max_k=1
    )
    np.testing.assert_array_equal(priced.details.objective, forced.details.objective)
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
    assert own.model(k=0).groups == ["of a"] and own.model(k=0).details["n_features"] == 3
    array = l0path.fit(DATA[["a", "x"]], DATA.y, penalty_factor={"x": 0.0})
    assert array.model(k=0).features == ["x"]


def test_intercepts_agree():
    assert (
        not l0path.fit("y ~ a + x - 1", DATA)._meta.intercept
        and l0path.fit("y ~ 1 + a", DATA, fit_intercept=True)._meta.intercept
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
            back._meta.formula.n_dropped == 4
            and back.names == path.names
            and repr(back) == repr(path)
            and back._meta.groups.labels == path._meta.groups.labels
        )
        frame = holes(DATA).assign(x=DATA.x)
        assert objective_of(back, k=2, X=frame) == pytest.approx(
            path.details.objective[2], rel=1e-10
        )  # the rows of the fit: dropped alike, the left side taken from them
        assert back.model(k=2).refit(X=frame).selection.startswith("conditional")
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
    assert l0path.load(tmp_path / "wide.npz")._meta.formula.output == wide._meta.formula.output


def test_functions_of_the_users_own_are_stored_by_name(tmp_path):
    def cube(v):
        return v**3

    own = {"cube": cube, "two": 2}
    path = l0path.fit("y ~ cube(a) + {two * x}", DATA, max_k=2, env=own)
    by_hand = l0path.fit("y ~ {a ** 3} + {2 * x}", DATA, max_k=2)
    np.testing.assert_array_equal(path.predict(NEW), by_hand.predict(NEW))
    path.save(tmp_path / "path.npz")
    for back in (l0path.load(tmp_path / "path.npz"), pickle.loads(pickle.dumps(path))):
        with pytest.raises(
            ValueError, match=r"'two', 'cube' of your own.*env=\{'two': two, 'cube'"
        ):
            back.predict(NEW, k=1)
        np.testing.assert_allclose(
            back.predict(np.column_stack([NEW.a**3, 2 * NEW.x]), k=2), path.predict(NEW, k=2)
        )
    back = l0path.load(tmp_path / "path.npz", env=own)
    np.testing.assert_array_equal(back.predict(NEW), path.predict(NEW))
    back.save(tmp_path / "again.npz")
    with pytest.raises(ValueError, match="'cube' of your own"):
        l0path.load(tmp_path / "again.npz", env={"two": 2}).predict(NEW)
    l0path.fit("cube(y) ~ a + c", DATA, env=own).save(
        tmp_path / "left.npz"
    )  # new rows do not need the left side, scores do
    left = l0path.load(tmp_path / "left.npz")
    assert np.isfinite(left.predict(NEW, k=1)).all()
    with pytest.raises(ValueError, match="'cube' of your own"):
        left.model(k=1).score(NEW)
    cv = l0path.cv_fit("y ~ cube(a) + x", DATA, cv=3, max_k=2, env=own, random_state=1)
    cv.save(tmp_path / "cv.npz")
    back = l0path.load(tmp_path / "cv.npz", env=own)
    np.testing.assert_array_equal(back.predict(NEW), cv.predict(NEW))
    nested = l0path.nested_cv("y ~ cube(a) + x", DATA, outer=2, cv=2, max_k=2, env=own)
    nested.save(tmp_path / "nested.npz")
    back = l0path.load(tmp_path / "nested.npz", env=own)
    np.testing.assert_array_equal(back.models[0].predict(NEW), nested.models[0].predict(NEW))
    path.model(k=1).save(tmp_path / "model.npz")
    back = l0path.load(tmp_path / "model.npz", env=own)
    np.testing.assert_array_equal(back.predict(NEW), path.predict(NEW, k=1))


def test_dates_are_not_stored(tmp_path):
    when = l0path.fit(
        "y ~ C(t)", DATA.assign(t=pd.Timestamp("2020-01-01") + pd.to_timedelta(DATA.b, unit="D"))
    )
    when.save(tmp_path / "when.npz")
    with pytest.raises(ValueError, match="neither text nor numbers"):
        l0path.load(tmp_path / "when.npz").predict(DATA.assign(t=pd.Timestamp("2020-01-01")), k=1)


@pytest.mark.parametrize(
    ("known", "new", "told"),
    [
        (["a", "b"], [1, 2], r"level 1, and in the fit it held texts, 'a', 'b'; convert the col"),
        (["1", "2"], [1, 2], r"held texts, '1', '2'; convert .* to texts, such as X\['g'\].astype"),
        ([1, 2], ["1", "2"], r"level '1', and in the fit it held numbers, 1, 2; convert the col"),
        ([True, False], ["True", "False"], r"level 'False', and in the fit it held True and False"),
        (["a", "b"], ["c", "a"], r"level 'c', which the fit has not seen \(it has a, b\)"),
    ],
)
def test_levels_of_another_type_are_told_apart_from_new_ones(known, new, told):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"g": known * 20, "y": rng.normal(size=40)})
    path = l0path.fit("y ~ C(g)", data)
    with pytest.raises(ValueError, match=told):
        path.predict(pd.DataFrame({"g": new}), k=1)
