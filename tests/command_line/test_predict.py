"""`python -m l0path predict`: new rows, classes, formulas."""

import numpy as np
import pandas as pd
import pytest
from command_line_runs import run

import l0path


def test_new_rows_are_predicted_as_by_the_path(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    run(
        capsys,
        *("fit", table, "--response", "y", "--drop", "sick", "--k", 3, "--no-plots"),
        *("--out", tmp_path / "o"),
    )
    chosen = pd.read_csv(tmp_path / "o" / "chosen.csv", index_col=0).iloc[:, 0]
    assert set(chosen.index) == {"(Intercept)", "a", "c", "color_red"}
    new = frame.iloc[:20][["color", "c", "a"]].copy()  # what the model uses, in another order
    new.loc[4, "c"] = np.nan
    new.to_csv(tmp_path / "new.csv", index=False)
    where = ["predict", tmp_path / "o" / "path.npz", tmp_path / "new.csv"]
    code, out, _ = run(capsys, *where, "--out", tmp_path / "p.csv")
    assert code == 0 and "1 of 20 rows lack a value and get no prediction (c 1)" in out
    made = pd.read_csv(tmp_path / "p.csv", index_col="row")["prediction"]
    own = (
        chosen["(Intercept)"]
        + chosen["a"] * new.a
        + chosen["c"] * new.c
        + chosen["color_red"] * (new.color == "red")
    )
    np.testing.assert_allclose(made, own, rtol=1e-8)
    run(capsys, "predict", tmp_path / "o", tmp_path / "new.csv", "--out", tmp_path / "same.csv")
    assert (tmp_path / "same.csv").read_text() == (tmp_path / "p.csv").read_text()
    new.assign(color="violet").to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run(capsys, *where, "--out", tmp_path / "p.csv")
    assert code == 2 and "level 'violet', which the fit did not have" in err
    new.drop(columns="a").to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run(capsys, *where, "--out", tmp_path / "p.csv")
    assert code == 2 and "lacks 1 of the columns that the model uses: a" in err
    path = l0path.load(tmp_path / "o")
    path.model(k=2).save(tmp_path / "model.npz")
    l0path.fit(frame[["a", "c"]], frame.y).save(tmp_path / "other.npz")
    for file, told in (("model.npz", "holds a Model"), ("other.npz", "pass --k or --rule")):
        code, _, err = run(capsys, "predict", tmp_path / file, table, "--out", tmp_path / "p.csv")
        assert code == 2 and told in err


@pytest.mark.parametrize(
    "how",
    [
        ("--cv", 4),
        ("--cv", 4, "--rule", "1se"),
        ("--cv", 4, "--k", 2),
        ("--rule", "bic"),
        ("--k", 2),
        ("--formula", "y ~ a * b + color", "--rule", "bic"),
    ],
)
def test_the_model_of_a_loaded_folder_is_the_one_that_was_chosen(how, table, tmp_path, capsys):
    left = () if "--formula" in how else ("--response", "y", "--drop", "sick")
    out = tmp_path / "o"
    run(capsys, "fit", table, *left, *how, "--max-k", 4, "--no-plots", "--out", out)
    chosen = pd.read_csv(out / "chosen.csv", index_col=0).iloc[:, 0]
    for where in (out, out / "path.npz"):
        path = l0path.load(where)
        np.testing.assert_allclose(path.model().coef, chosen, rtol=1e-12)
        assert list(path.model().coef.index) == list(chosen.index)
        assert path.model(k=2).k == 2  # of several slices the one with the best score
    if "--cv" in how:
        of_one = path.scores.cv_mean[path.scores.k == 1]
        assert of_one[path.model(k=1)._index] == of_one.min()
    path.save(tmp_path / "again.npz")
    assert l0path.load(tmp_path / "again.npz").model()._index == path.model()._index
    damaged = path._without_data()
    damaged._choice = len(path)
    damaged.save(tmp_path / "again.npz")
    with pytest.raises(ValueError, match="choices leave the range"):
        l0path.load(tmp_path / "again.npz")


def test_levels_that_look_like_numbers_in_the_new_file_are_found(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(60), "g": ["1", "2", "x"] * 20})
    frame["y"] = 3.0 * (frame.g == "2") + rng.standard_normal(60)
    frame.to_csv(tmp_path / "d.csv", index=False)
    out = tmp_path / "o"
    run(
        capsys,
        *("fit", tmp_path / "d.csv", "--response", "y", "--k", 1, "--no-plots", "--out", out),
    )
    frame.g.iloc[[0, 1]].to_frame().reindex([0, 1, 5]).to_csv(tmp_path / "new.csv", index=False)
    assert pd.read_csv(tmp_path / "new.csv").g.dtype == float  # one is missing
    made = ("predict", out, tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    assert run(capsys, *made)[0] == 0
    found = pd.read_csv(tmp_path / "p.csv")["prediction"]
    assert found[1] - found[0] > 2.0 and np.isnan(found[2])


def test_a_folder_without_a_path_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"is a folder without the file path\.npz"):
        l0path.load(tmp_path)


def test_classes_and_formulas_are_predicted(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    for formula, name in (("sick ~ a + color", "probability of yes"), ("y ~ a * c", "prediction")):
        run(
            capsys,
            *("fit", table, "--formula", formula, "--rule", "bic", "--no-plots"),
            *("--out", tmp_path / "o"),
        )
        code, _, _ = run(
            capsys,
            *("predict", tmp_path / "o" / "path.npz", table, "--rule", "bic"),
            *("--out", tmp_path / "p.csv"),
        )
        made = pd.read_csv(tmp_path / "p.csv", index_col="row")
        path = l0path.load(tmp_path / "o" / "path.npz")
        assert code == 0
        np.testing.assert_allclose(made[name], path.predict(frame, "bic"))
        if "class" in made:
            assert made["class"].tolist() == list(path.predict(frame, "bic", type="class"))


@pytest.mark.parametrize("how", [("--response", "color", "--drop", "y,sick"), ("--formula", None)])
def test_several_classes_are_fitted_and_predicted(table, tmp_path, capsys, how):
    how = [part or "color ~ a + b + y" for part in how]
    out = tmp_path / "o"
    code, said, _ = run(capsys, "fit", table, *how, "--k", 1, "--out", out, "--max-k", 2)
    assert code == 0 and "loss: multinomial" in said and "lambda2 = 0.001" in said
    path, chosen = l0path.load(out / "path.npz"), pd.read_csv(out / "chosen.csv", index_col=0)
    assert chosen.columns.tolist() == ["blue", "green", "red"]
    np.testing.assert_allclose(chosen, path.coef(k=1))
    assert (out / "coefficients.png").exists() and (out / "explore.html").stat().st_size > 5000
    where = ("predict", out / "path.npz", table, "--out", tmp_path / "p.csv")
    assert run(capsys, *where)[0] == 0
    made = pd.read_csv(tmp_path / "p.csv", index_col="row")
    frame = pd.read_csv(table)
    X = frame if path._meta.formula is not None else frame[path.names]
    probability = path.predict(X, k=1)
    np.testing.assert_allclose(made.filter(like="probability of "), probability)
    assert (made["class"] == probability.idxmax(axis=1)).all()


def test_several_classes_are_compared_with_a_baseline(table, tmp_path, capsys):
    out, how = tmp_path / "o", ("--formula", "color ~ a + b + y", "--k", 2, "--no-plots")
    given = ("fit", table, *how, "--out", out)
    assert run(capsys, *given, "--baseline", "green")[0] == 0
    chosen, frame = pd.read_csv(out / "chosen.csv", index_col=0), pd.read_csv(table)
    loss = l0path.losses.Multinomial(baseline="green")
    expected = l0path.fit("color ~ a + b + y", frame, loss=loss, lambda2=1e-3).coef(k=2)
    assert chosen.columns.tolist() == ["green", "blue", "red"] and not chosen["green"].any()
    np.testing.assert_allclose(chosen, expected)
    for wrong, word in (
        (("--baseline", "pink"), "pink is not a label of the response"),
        (
            ("--baseline", "green", "--loss", "ordinal", "--order", "red,green,blue"),
            "is for --loss",
        ),
    ):
        code, _, error = run(capsys, *given, *wrong)
        assert code == 2 and word in error


@pytest.mark.parametrize(
    "how", [("--response", "size", "--drop", "y,sick,color"), ("--formula", None)]
)
def test_ordered_classes_are_fitted_and_predicted(table, tmp_path, capsys, how):
    frame = pd.read_csv(table)
    frame["size"] = np.array(["small", "medium", "big"])[np.digitize(frame.y, [-1.0, 1.0])]
    frame.to_csv(table, index=False)
    how = [part or "size ~ a + b + c" for part in how]
    out, order = tmp_path / "o", ["small", "medium", "big"]
    given = ("fit", table, *how, "--loss", "ordinal", "--k", 2, "--max-k", 2, "--out", out)
    for wrong, word in (((), "--order"), (("--order", "small,big"), "medium")):
        code, _, err = run(capsys, *given, *wrong)
        assert code == 2 and word in err and not out.exists()
    more = ("--cv", 3, "--lambda2", 0.001, "--no-plots")
    code, _, _ = run(capsys, *given, "--order", ",".join(order), *more)
    assert code == 0
    chosen = pd.read_csv(out / "chosen.csv", index_col=0)
    assert chosen.index.tolist() == ["small|medium", "medium|big", "a", "c"]
    assert chosen.columns.tolist() == ["coefficient"]
    path = l0path.load(out / "path.npz")
    assert path.classes == tuple(order)
    where = ("predict", out / "path.npz", table, "--out", tmp_path / "p.csv")
    assert run(capsys, *where)[0] == 0
    made = pd.read_csv(tmp_path / "p.csv", index_col="row")
    probability = path.predict(frame if how[0] == "--formula" else frame[path.names], k=2)
    assert made.columns.tolist() == [*(f"probability of {label}" for label in order), "class"]
    np.testing.assert_allclose(made.filter(like="probability of "), probability)
    assert (made["class"] == probability.idxmax(axis=1)).all()


def test_the_order_of_classes_needs_the_ordinal_loss(table, tmp_path, capsys):
    code, _, err = run(capsys, "fit", table, "--response", "sick", "--order", "no,yes")
    assert code == 2 and "--loss ordinal" in err


def test_a_formula_asks_for_the_columns_of_the_chosen_model_only(tmp_path, capsys):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "t"])
    frame["t"], frame["site"] = np.exp(frame["t"]), np.tile(["p", "q", "r"], 20)
    frame["y"] = rng.poisson(frame["t"] * np.exp(1 + frame["a"]))
    frame.to_csv(tmp_path / "d.csv", index=False)
    formula = "y ~ a + b + site + offset(log(t))"
    out = tmp_path / "o"
    run(
        capsys,
        *("fit", tmp_path / "d.csv", "--formula", formula, "--loss", "poisson", "--k", 1),
        *("--no-plots", "--out", out),
    )
    chosen = pd.read_csv(out / "chosen.csv", index_col=0).iloc[:, 0]
    assert list(chosen.index) == ["(Intercept)", "a"]
    new = frame.loc[:9, ["t", "a"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    where = ("predict", out / "path.npz", tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    code, said, _ = run(capsys, *where)
    assert code == 0 and "10 predictions" in said
    made = pd.read_csv(tmp_path / "p.csv", index_col="row")["prediction"]
    own = new["t"] * np.exp(chosen["(Intercept)"] + chosen["a"] * new["a"])
    np.testing.assert_allclose(made, own, rtol=1e-8)
    new.drop(columns="t").to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run(capsys, *where)
    assert code == 2 and "lacks 1 of the columns that the model uses: t" in err


def test_a_dirty_cell_of_new_rows_is_told_with_the_option_that_reads_it(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    fit = ("fit", table, "--response", "y", "--drop", "sick", "--k", 3, "--no-plots")
    run(capsys, *fit, "--out", tmp_path / "o")
    new = frame.iloc[:20][["a", "c", "color"]].astype({"c": object})
    new.loc[4, "c"] = "?"
    new.to_csv(tmp_path / "new.csv", index=False)
    where = ["predict", tmp_path / "o", tmp_path / "new.csv", "--out", tmp_path / "p.csv"]
    code, _, err = run(capsys, *where)
    assert code == 2 and "needs numbers in the column 'c': 19 of 20 values" in err
    assert "--na-values '?'" in err and "get_dummies" not in err
    code, out, _ = run(capsys, *where, "--na-values", "?")
    assert code == 0 and "1 of 20 rows lack a value and get no prediction (c 1)" in out
    new.assign(c="?").to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run(capsys, *where)
    assert code == 2 and "needs numbers in the column 'c': the file has other values" in err
