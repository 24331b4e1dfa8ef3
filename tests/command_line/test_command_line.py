"""The command line on real and awkward files, run in this process (and once as `python -m
l0path`).
"""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line_runs import run

import l0path

HITTERS = Path(__file__).parents[2] / "data" / "hitters.csv"


def test_hitters_end_to_end_as_a_module(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "l0path",
            "fit",
            str(HITTERS),
            "--response",
            "Salary",
            "--max-k",
            "8",
            "--cv",
            "3",
            "--progress",
            "--out",
            str(tmp_path / "out"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "59 of 322 rows have missing values" in done.stdout
    assert "chosen: k =" in done.stdout
    written = {p.name for p in (tmp_path / "out").iterdir()}
    assert written == {
        "chosen.csv",
        "coefficients.csv",
        "table.csv",
        "path.npz",
        "coefficients.png",
        "loss.png",
        "cv.png",
        "explore.html",
        "model.json",
    }
    assert "l0path folds: 100%" in done.stderr and "Salary: hitters.csv" in (
        tmp_path / "out" / "explore.html"
    ).read_text(encoding="utf-8")
    path = l0path.load(tmp_path / "out" / "path.npz")
    assert path.n == 263
    details = path.details
    assert set(details.k) == set(range(9)) and sorted(set(details.lambda2)) == [0, 0.1, 1, 10]
    assert set(details.relax) == {0, 0.5, 1}
    plain = details[(details.lambda2 == 0) & (details.relax == 1)]
    assert len(plain) == 9 and (plain.loss.diff().dropna() < 0).all()
    shown = done.stdout.split("best ridge and mixture for each size:")[1].split("chosen:")[0]
    assert len(shown.strip().splitlines()) == 1 + 9
    # losses compare beside one another; objectives of several ridges do not
    assert " loss " in shown.splitlines()[1] and "objective" not in shown


def test_text_columns_are_coded_and_the_truth_is_found(table, tmp_path, capsys):
    code, out, _ = run(
        capsys,
        "fit",
        table,
        "--response",
        "y",
        "--drop",
        "sick",
        "--k",
        "3",
        "--out",
        tmp_path / "o",
        "--no-plots",
    )
    assert code == 0
    assert "text columns coded 0/1" in out
    chosen = pd.read_csv(tmp_path / "o" / "chosen.csv", index_col=0)["coefficient"]
    assert set(chosen.index) == {"(Intercept)", "a", "c", "color_red"}
    assert chosen["a"] == pytest.approx(2, abs=0.1)
    assert not (tmp_path / "o" / "loss.png").exists()


def test_classes_get_a_little_ridge_and_say_so(table, tmp_path, capsys):
    code, out, _ = run(
        capsys,
        "fit",
        table,
        "--response",
        "sick",
        "--drop",
        "y,color",
        "--out",
        tmp_path / "o",
        "--no-plots",
    )
    assert code == 0
    assert "loss: logistic" in out
    assert "lambda2 = 0.001" in out


def test_parquet_weights_and_forced_columns(table, tmp_path, capsys):
    frame = pd.read_csv(table).drop(columns=["sick", "color"]).assign(w=1.0)
    frame.to_parquet(tmp_path / "t.parquet")
    code, _, _ = run(
        capsys,
        "fit",
        tmp_path / "t.parquet",
        "--response",
        "y",
        "--weights",
        "w",
        "--include",
        "e",
        "--k",
        "1",
        "--out",
        tmp_path / "o",
        "--no-plots",
    )
    assert code == 0
    chosen = pd.read_csv(tmp_path / "o" / "chosen.csv", index_col=0).index
    assert set(chosen) == {"(Intercept)", "a", "e"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--response", "nothing"], "no column 'nothing'"),
        (["--response", "y", "--drop", "absent"], "--drop: there is no column 'absent'"),
        (["--response", "sick", "--loss", "multinomial", "--pos-label", "no"], "--pos-label"),
        (["--response", "sick", "--loss", "squared"], "logistic"),
        (["--response", "y", "--k", "40"], "--k 40"),
        (["--response", "y", "--algorithm", "magic"], "--algorithm magic"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(table, tmp_path, capsys, arguments, message):
    code, _, err = run(capsys, "fit", table, *arguments, "--out", tmp_path / "o", "--no-plots")
    assert code == 2
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("fit", "d.csv", "--target", "y"), "no option --target; did you mean --response?"),
        (("fit", "d.csv", "-y", "y"), "no option -y; did you mean --response?"),
        (("fit", "d.csv", "--response", "y", "--nfolds=5"), "--nfolds; did you mean --cv?"),
        (("fit", "d.csv", "--response", "y", "--max_k", "3"), "--max_k; did you mean --max-k?"),
        (("fit", "d.csv", "--response", "y", "--color", "3"), "no option --color (--help"),
        (("predict", "o", "d.csv", "--which", "min"), "--which; did you mean --rule?"),
        (
            ("fit", "d.csv", "--response", "y", "--lambda2", "grid"),
            "argument --lambda2: 'grid' is not a number (--help",
        ),
        (
            ("fit", "d.csv", "--response", "y", "--max-k", "2.5"),
            "argument --max-k: '2.5' is not a whole number (--help",
        ),
        (("fit", "d.csv"), "one of the arguments --response --formula is required"),
    ],
)
def test_options_of_other_programs_are_answered_with_those_here(capsys, arguments, told):
    with pytest.raises(SystemExit) as ended:
        run(capsys, *arguments)
    err = capsys.readouterr().err
    assert ended.value.code == 2 and told in err and len(err.splitlines()) == 1


def test_lists_of_columns_are_short_and_name_what_is_near(tmp_path, capsys):
    rng = np.random.default_rng(0)
    names = [f"feature {j} {'long ' * 20}" for j in range(60)]
    frame = pd.DataFrame(rng.standard_normal((30, 60)), columns=names).assign(income=1.0)
    frame.to_csv(tmp_path / "d.csv", index=False)
    code, _, err = run(capsys, "fit", tmp_path / "d.csv", "--response", "incme")
    assert code == 2 and "no column 'incme'; did you mean 'income'?" in err
    assert "... (61 in all)" in err and len(err) < 800
    ids = pd.DataFrame({f"n{j}": np.arange(30) * (j + 2) for j in range(30)})
    ids.assign(y=rng.standard_normal(30)).to_csv(tmp_path / "d.csv", index=False)
    out = run(
        capsys, "fit", tmp_path / "d.csv", "--response", "y", "--k", "1", "--out", tmp_path / "o"
    )[1]
    note = next(line for line in out.splitlines() if "row number" in line)
    assert "... (30 in all) rise from row to row" in note and len(note) < 300


def test_files_that_cannot_be_read(tmp_path, capsys):
    assert run(capsys, "fit", tmp_path / "none.csv", "--response", "y")[0] == 2
    (tmp_path / "empty.csv").write_text("")
    code, _, err = run(capsys, "fit", tmp_path / "empty.csv", "--response", "y")
    assert code == 2
    assert "empty.csv has no header and no rows; pass a CSV" in err and "parse" not in err
    (tmp_path / "ragged.csv").write_text("y,a\n1,2\n3,4,5\n")
    code, _, err = run(capsys, "fit", tmp_path / "ragged.csv", "--response", "y")
    assert code == 2
    assert "ragged.csv is not a readable CSV file: line 3 has 3 cells, those before have 2" in err
    (tmp_path / "latin.csv").write_bytes("y,größe\n1,2\n".encode("latin1"))
    code, _, err = run(capsys, "fit", tmp_path / "latin.csv", "--response", "y")
    assert code == 2
    assert "is not text in utf-8: it holds the byte 0xf6; name its encoding with --encoding" in err
    (tmp_path / "ok.csv").write_text("y,a\n" + "\n".join(f"{i % 2},{i}" for i in range(20)))
    asked = "fit", tmp_path / "ok.csv", "--response", "y", "--cv", "3", "--out", tmp_path / "o"
    code, _, err = run(capsys, *asked, "--loss", "logistic", "--scoring", "mape")
    assert code == 2
    assert "--scoring" in err and "function" not in err
    (tmp_path / "names.csv").write_text("y,id\n" + "\n".join(f"{i},name{i}" for i in range(60)))
    code, _, err = run(capsys, "fit", tmp_path / "names.csv", "--response", "y")
    assert code == 2
    assert "--drop id" in err


def test_files_and_options_that_cannot_be_used_are_named(table, tmp_path, capsys):
    code, _, err = run(capsys, "fit", table, "--response", "y", "--drop", "y,sick")
    assert code == 2 and "--response y is named by --drop" in err
    code, _, err = run(capsys, "fit", tmp_path, "--response", "y")
    assert code == 2 and err.startswith("l0path: ") and "irectory" in err


def test_the_page_of_a_formula_is_titled_by_it(table, tmp_path, capsys):
    assert run(capsys, "fit", table, "--formula", "y ~ a + c", "--out", tmp_path / "o")[0] == 0
    assert "y ~ a + c: table.csv" in (tmp_path / "o" / "explore.html").read_text(encoding="utf-8")


def test_warm_up_reports_each_loss(capsys):
    seconds = l0path.warm_up(["squared"])
    assert list(seconds) == ["squared"]
    assert seconds["squared"] > 0
    assert "kernels for squared ready" in capsys.readouterr().err
    with pytest.raises(ValueError, match="not known"):
        l0path.warm_up(["cubic"])


def test_the_hierarchy_of_terms_is_kept_unless_it_is_switched_off(table, tmp_path, capsys):
    given = ("fit", table, "--formula", "y ~ a * color", "--no-plots", "--out", tmp_path / "o")
    assert "strong heredity" in run(capsys, *given)[1]
    assert "heredity" not in run(capsys, *given, "--heredity", "none")[1]
    assert "weak heredity" in run(capsys, *given, "--heredity", "weak")[1]


def test_formulas_choose_whole_terms(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    frame.loc[4, "b"] = np.nan
    frame.to_csv(table, index=False)
    code, out, _ = run(
        capsys,
        "fit",
        table,
        "--formula",
        "y ~ . - sick + a:c",
        "--k",
        "3",
        "--include",
        "b",
        "--out",
        tmp_path / "o",
        "--no-plots",
    )
    assert code == 0 and "1 of 80 rows have missing values" in out and "79, p = 8" in out
    assert set(pd.read_csv(tmp_path / "o" / "chosen.csv", index_col=0).index) == {
        "(Intercept)",
        "a",
        "b",
        "c",
        "color[T.green]",
        "color[T.red]",
    }
    assert np.isfinite(
        l0path.load(tmp_path / "o" / "path.npz").predict(frame.drop(index=4), k=2)
    ).all()
    code, out, _ = run(
        capsys,
        "fit",
        table,
        "--formula",
        "sick ~ a + color",
        "--cv",
        "3",
        "--out",
        tmp_path / "o",
        "--no-plots",
    )
    assert code == 0 and "loss: logistic" in out
    assert "no column 'zz'" in run(capsys, "fit", table, "--formula", "y ~ zz")[2]


# -------------------- files as they come


def european(table, file):
    frame = pd.read_csv(table)
    frame["mères"] = np.where(frame.a > 0, " oui", "non")
    frame.loc[[2, 5, 9], "b"] = np.nan
    frame.loc[5, "d"] = np.nan
    frame.to_csv(file, sep=";", decimal=",", encoding="cp1252", index=True, na_rep="k.A.")
    return frame


def test_a_european_file_with_row_numbers_blanks_and_missing_words(table, tmp_path, capsys):
    frame = european(table, tmp_path / "eu.csv")
    some = ["--response", "y", "--no-plots", "--out", tmp_path / "o", "--drop", "sick"]
    code, _, err = run(capsys, "fit", tmp_path / "eu.csv", *some)
    assert code == 2 and "--encoding" in err
    code, _, err = run(capsys, "fit", tmp_path / "eu.csv", *some, "--encoding", "cp1252")
    assert code == 2 and "pass --sep ';'" in err
    how = ["--sep", ";", "--decimal", ",", "--encoding", "cp1252", "--na-values", "k.A."]
    code, out, _ = run(capsys, "fit", tmp_path / "eu.csv", *some, *how, "--k", 3)
    assert code == 0
    assert "row numbers are left out: 'Unnamed: 0'" in out
    assert "3 of 80 rows have missing values and are left out (b 3, d 1)" in out
    path = l0path.load(tmp_path / "o" / "path.npz")
    assert "Unnamed: 0" not in path.names and "mères_oui" in path.names
    assert path.n == 77 and path.p == 5 + 2 + 1
    clean = frame.dropna()
    X = pd.get_dummies(
        clean.drop(columns=["y", "sick"]).assign(mères=clean["mères"].str.strip()),
        columns=["color", "mères"],
        drop_first=True,
        dtype=float,
    )
    own = l0path.fit(X, clean["y"])
    np.testing.assert_allclose(path.details.objective, own.details.objective, rtol=1e-9)


def test_identifiers_are_told_and_stay(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    frame.insert(0, "id", np.arange(100, 180) * 2)
    frame.to_csv(tmp_path / "ids.csv", index=False)
    some = ["--response", "y", "--no-plots", "--out", tmp_path / "o", "--drop"]
    code, out, _ = run(capsys, "fit", tmp_path / "ids.csv", *some, "sick")
    assert code == 0 and "note: id rises from row to row" in out and "--drop id leaves" in out
    assert "id" in l0path.load(tmp_path / "o" / "path.npz").names
    code, out, _ = run(capsys, "fit", tmp_path / "ids.csv", *some, "sick,id")
    assert code == 0 and "rises" not in out


def test_rows_that_are_all_incomplete_name_the_columns(table, tmp_path, capsys):
    pd.read_csv(table).assign(empty=np.nan).to_csv(tmp_path / "e.csv", index=False)
    code, _, err = run(capsys, "fit", tmp_path / "e.csv", "--response", "y")
    assert code == 2 and "every row has a missing value (empty 80 of 80)" in err


@pytest.mark.parametrize("out", ["file.txt", "file.txt/deeper"])
def test_a_bad_output_folder_is_refused_before_the_work(table, tmp_path, capsys, monkeypatch, out):
    (tmp_path / "file.txt").write_text("kept")
    monkeypatch.setattr(l0path, "fit", lambda *a, **k: pytest.fail("the fit was made"))
    code, _, err = run(capsys, "fit", table, "--response", "y", "--out", tmp_path / out)
    assert code == 2 and "is a file; name a folder" in err
    assert (tmp_path / "file.txt").read_text() == "kept"


def test_offset_groups_and_scoring_reach_the_cross_validation(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((90, 3)), columns=list("abc"))
    frame["exposure"] = np.log(rng.uniform(1, 5, 90))
    frame["patient"] = np.repeat(np.arange(30), 3)
    frame["count"] = rng.poisson(np.exp(frame.exposure + 0.5 * frame.a))
    frame.to_csv(tmp_path / "counts.csv", index=False)
    code, _, err = run(
        capsys, "fit", tmp_path / "counts.csv", "--response", "count", "--scoring", "mae"
    )
    assert code == 2 and "pass --cv" in err
    code, _, _ = run(
        capsys,
        *("fit", tmp_path / "counts.csv", "--response", "count", "--loss", "poisson"),
        *("--offset", "exposure", "--groups-cv", "patient", "--scoring", "mae", "--cv", 5),
        *("--no-plots", "--out", tmp_path / "o", "--seed", 3),
    )
    cv = l0path.cv_fit(
        frame[list("abc")],
        frame["count"],
        loss="poisson",
        offset=frame["exposure"],
        groups_cv=frame["patient"],
        scoring="mae",
        cv=5,
        random_state=3,
    )
    assert code == 0
    written = pd.read_csv(tmp_path / "o" / "table.csv", index_col="index")
    np.testing.assert_allclose(written["cv_mean"], cv.scores["cv_mean"])


def test_a_certificate_of_the_chosen_model(table, tmp_path, capsys):
    code, out, _ = run(
        capsys,
        *("fit", table, "--response", "y", "--drop", "sick", "--k", 3, "--certify", "--no-plots"),
        *("--out", tmp_path / "o"),
    )
    assert code == 0 and "l0path.Certificate: y, k = 3: " in out
    assert "proven optimal: objective " in out and "gap 0 (proven)" in out


def test_a_response_of_many_words_says_how_many_classes(tmp_path, capsys):
    frame = pd.DataFrame({"a": np.arange(40.0), "word": [f"w{i % 13}" for i in range(40)]})
    frame.to_csv(tmp_path / "d.csv", index=False)
    for how in (("--response", "word"), ("--formula", "word ~ a")):
        code, _, err = run(capsys, "fit", tmp_path / "d.csv", *how, "--out", tmp_path / "o")
        assert code == 2
        assert "the response word is text with 13 classes (w0, w1, w2, w3, w4, ...)" in err
        assert "pass --loss multinomial" in err
    many = frame.assign(id=[f"i{i}" for i in range(40)], y=np.sin(frame["a"]))
    many.to_csv(tmp_path / "d.csv", index=False)
    code, out, _ = run(
        capsys,
        *("fit", tmp_path / "d.csv", "--formula", "y ~ a + id", "--k", 1, "--no-plots"),
        *("--out", tmp_path / "o"),
    )
    assert "the term id has 39 columns, which are chosen as a whole" in out


def test_large_numbers_of_the_table_have_no_exponents(capsys, tmp_path):
    file = Path(__file__).parents[2] / "data" / "hitters.csv"
    code, said, _ = run(
        capsys, "fit", file, "--response", "Salary", "--max-k", 2, "--no-plots", "--out", tmp_path
    )
    first = next(line for line in said.splitlines() if line.split()[:1] == ["0"])
    assert code == 0 and "101367" in first and "e+" not in said


def test_a_choice_of_the_largest_size_names_the_option_that_allows_more(table, tmp_path, capsys):
    options = ("fit", table, "--response", "y", "--drop", "sick", "--no-plots")
    code, out, _ = run(capsys, *options, "--max-k", "1", "--out", tmp_path / "o")
    said = "takes the largest size tried, k = 1, and larger ones may be better; raise --max-k"
    assert code == 0 and out.count(said) == 1
    code, out, _ = run(capsys, *options, "--out", tmp_path / "o")
    assert code == 0 and "largest size tried" not in out


@pytest.mark.parametrize("how", [("--rule", "bic"), ("--cv", "3")])
def test_code_of_a_model_reads_the_text_columns_of_the_file(how, tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(80), "b c": rng.choice(["it's", "x", "y"], 80)})
    frame["y"] = frame.a + 2.0 * (frame["b c"] == "x") + 0.1 * rng.standard_normal(80)
    frame.to_csv(tmp_path / "d.csv", index=False)
    out = tmp_path / "o"
    run(capsys, "fit", tmp_path / "d.csv", "--response", "y", *how, "--no-plots", "--out", out)
    made = ("predict", out, tmp_path / "d.csv", "--out", tmp_path / "p.csv")
    assert run(capsys, *made)[0] == 0
    expected = pd.read_csv(tmp_path / "p.csv")["prediction"]
    model = l0path.load(out).model()
    assert "b c_x" in model.features
    np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-12)
    assert model.score(frame, frame.y)["r2"] > 0.9
    coded = pd.get_dummies(frame, columns=["b c"], dtype=float)
    np.testing.assert_allclose(model.predict(coded), expected, rtol=1e-12)
    for level, told in (("z", "level 'z', which the fit did not have"), (None, "missing values")):
        with pytest.raises(ValueError, match=told):
            model.predict(frame.assign(**{"b c": level}))
    with closing(sqlite3.connect(":memory:")) as connection:
        frame.to_sql("rows", connection, index=False)
        found = connection.execute(f"SELECT {model.to_sql()} FROM rows").fetchall()
    np.testing.assert_allclose([value for (value,) in found], expected, rtol=1e-9)
    module = {}
    exec(model.to_python(), module)
    np.testing.assert_allclose(module["predict"](frame), expected, rtol=1e-9)
