"""The command line on real and awkward files, run in this process (and once as `python -m
l0path`).
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.__main__ import main

HITTERS = Path(__file__).parents[1] / "data" / "hitters.csv"


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.standard_normal((80, 5)), columns=list("abcde"))
    X["colour"] = rng.choice(["red", "green", "blue"], 80)
    X["y"] = 2 * X.a - X.c + (X.colour == "red") + 0.1 * rng.standard_normal(80)
    X["sick"] = np.where(X.a + 0.5 * rng.standard_normal(80) > 0, "yes", "no")
    file = tmp_path / "table.csv"
    X.to_csv(file, index=False)
    return file


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


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
            "5",
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
    }
    assert "l0path folds: 100%" in done.stderr and "Salary: hitters.csv" in (
        tmp_path / "out" / "explore.html"
    ).read_text(encoding="utf-8")
    path = l0path.load(tmp_path / "out" / "path.npz")
    assert path.n == 263
    assert len(path) == 9
    assert (path.table.loss.diff().dropna() < 0).all()


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
    assert set(chosen.index) == {"(Intercept)", "a", "c", "colour_red"}
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
        "y,colour",
        "--out",
        tmp_path / "o",
        "--no-plots",
    )
    assert code == 0
    assert "loss: logistic" in out
    assert "lambda2 = 0.001" in out


def test_parquet_weights_and_forced_columns(table, tmp_path, capsys):
    frame = pd.read_csv(table).drop(columns=["sick", "colour"]).assign(w=1.0)
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
        (["--response", "colour"], "3 different values"),
        (["--response", "sick", "--loss", "squared"], "logistic"),
        (["--response", "y", "--k", "40"], "k=40"),
        (["--response", "y", "--algorithm", "magic"], "algorithm='magic'"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(table, tmp_path, capsys, arguments, message):
    code, _, err = run(capsys, "fit", table, *arguments, "--out", tmp_path / "o", "--no-plots")
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_files_that_cannot_be_read(tmp_path, capsys):
    assert run(capsys, "fit", tmp_path / "none.csv", "--response", "y")[0] == 2
    (tmp_path / "empty.csv").write_text("")
    code, _, err = run(capsys, "fit", tmp_path / "empty.csv", "--response", "y")
    assert code == 2
    assert "readable CSV" in err
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
        "colour[T.green]",
        "colour[T.red]",
    }
    assert np.isfinite(
        l0path.load(tmp_path / "o" / "path.npz").predict(frame.drop(index=4), k=2)
    ).all()
    code, out, _ = run(
        capsys,
        "fit",
        table,
        "--formula",
        "sick ~ a + colour",
        "--cv",
        "3",
        "--out",
        tmp_path / "o",
        "--no-plots",
    )
    assert code == 0 and "loss: logistic" in out
    assert "no column 'zz'" in run(capsys, "fit", table, "--formula", "y ~ zz")[2]
