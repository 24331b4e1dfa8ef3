"""What the command line says of awkward files and wrong options, in its own options."""

import numpy as np
import pandas as pd
import pytest
from command_line_runs import run

import l0path
from l0path.command_line.words import in_options


def dirty(table, file, mark="?", rows=(3,), **how):
    frame = pd.read_csv(table).drop(columns=["sick", "color"])
    text = frame.b.map(lambda v: f"{v:.6f}".replace(".", how.get("decimal", ".")))
    frame["b"] = text.where(~np.isin(np.arange(len(frame)), rows), mark)
    frame.to_csv(file, index=False, **how)
    return file


def test_one_dirty_cell_names_its_option(table, tmp_path, capsys):
    file, some = dirty(table, tmp_path / "d.csv"), ["--response", "y", "--no-plots"]
    code, _, err = run(capsys, "fit", file, *some, "--out", tmp_path / "o")
    assert (
        code == 2 and "79 of 80 values of 'b' are numbers, 1 is not ('?'): --na-values '?'" in err
    )
    code, out, _ = run(
        capsys, "fit", file, *some, "--out", tmp_path / "o", "--na-values", "?", "--k", 2
    )
    assert code == 0 and "1 of 80 rows have missing values" in out
    code, out, _ = run(
        capsys, "fit", file, "--formula", "y ~ a + b", "--no-plots", "--out", tmp_path / "o"
    )
    assert "note: b is taken for classes; 79 of 80 values" in out
    code, _, err = run(capsys, "fit", file, "--response", "b", "--out", tmp_path / "o")
    assert code == 2 and "the response is text: 79 of 80 values of 'b'" in err


def test_decimal_commas_name_their_option(table, tmp_path, capsys):
    file = dirty(table, tmp_path / "d.csv", rows=(), sep=";", decimal=",")
    some = ["--response", "y", "--no-plots", "--out", tmp_path / "o", "--sep", ";"]
    code, _, err = run(capsys, "fit", file, *some)
    assert code == 2 and "80 of 80 values of" in err and "--decimal , reads" in err
    assert run(capsys, "fit", file, *some, "--decimal", ",", "--k", 2)[0] == 0
    file = dirty(table, tmp_path / "both.csv", mark="n.d.", rows=(2, 7), sep=";", decimal=",")
    code, _, err = run(capsys, "fit", file, *some)
    assert code == 2 and "78 of 80" in err and "--decimal , --na-values 'n.d.'" in err


def test_few_different_numbers_with_a_word_are_noted(table, tmp_path, capsys):
    frame = pd.read_csv(table)[["y", "a"]].assign(stage=np.resize(["1", "2", "3"], 80))
    frame.loc[4, "stage"] = "?"
    frame.to_csv(tmp_path / "s.csv", index=False)
    code, out, _ = run(
        capsys, "fit", tmp_path / "s.csv", "--response", "y", "--no-plots", "--out", tmp_path / "o"
    )
    assert code == 0 and "note: stage is taken for classes; 79 of 80" in out


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_is_read(table, tmp_path, capsys, encoding):
    pd.read_csv(table).drop(columns="sick").to_csv(
        tmp_path / "u.csv", index=False, encoding=encoding
    )
    code, _, _ = run(
        capsys, "fit", tmp_path / "u.csv", "--response", "y", "--no-plots", "--out", tmp_path / "o"
    )
    assert code == 0
    assert l0path.load(tmp_path / "o" / "path.npz").n == 80


def test_utf_16_without_a_mark_names_its_encoding(table, tmp_path, capsys):
    pd.read_csv(table).to_csv(tmp_path / "u.csv", index=False, encoding="utf-16-le")
    code, _, err = run(capsys, "fit", tmp_path / "u.csv", "--response", "y")
    assert code == 2 and "pass --encoding utf-16-le" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y,a\n", "has no rows; at least 3 are needed"),
        ("y,a\n1,2\n", "has 1 row; at least 3"),
        ("y,g\n1,u\n2,u\n3,u\n4,u\n", "has no feature"),
    ],
)
def test_files_of_too_few_rows_or_columns(tmp_path, capsys, text, said):
    (tmp_path / "one.csv").write_text(text)
    code, _, err = run(capsys, "fit", tmp_path / "one.csv", "--response", "y")
    assert code == 2 and said in err and "one.csv" in err


def test_repeated_names_are_told(tmp_path, capsys):
    rows = np.random.default_rng(1).standard_normal((40, 3))
    pd.DataFrame(rows, columns=["y", "a", "a"]).to_csv(tmp_path / "r.csv", index=False)
    code, out, _ = run(
        capsys, "fit", tmp_path / "r.csv", "--response", "y", "--no-plots", "--out", tmp_path / "o"
    )
    assert code == 0
    assert "note: the header has 'a' 2 times; the columns are called a, a.1" in out


def test_a_place_that_cannot_be_written_is_refused_first(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(l0path, "fit", lambda *a, **k: pytest.fail("the fit was made"))
    code, _, err = run(capsys, "fit", table, "--response", "y", "--out", "/proc/x")
    assert code == 2 and "--out /proc/x: /proc cannot be written to" in err
    code, _, err = run(capsys, "predict", "none.npz", table, "--out", tmp_path)
    assert code == 2 and "is a folder; name a file" in err


def test_version_and_names_of_losses(capsys):
    from l0path.__main__ import main, parser

    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0 and capsys.readouterr().out.startswith("l0path ")
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    out = capsys.readouterr().out
    assert "SquaredError" not in out and "gaussian" not in out and "poisson" in out
    options = parser().parse_args(["fit", "f", "--response", "y", "--loss", "gaussian"])
    assert options.loss == "squared"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("use loss='squared', or", "use --loss squared, or"),
        ("use l0path.cv_fit, or lambda2=1e-3", "use --cv 10, or --lambda2 1e-3"),
        ("k=40 is above max_k=9", "--k 40 is above --max-k 9"),
        ("(sample_weight=)", "(--weights)"),
        ("at k = 3, where k == 4", "at k = 3, where k == 4"),
        ('pass loss="cox", offset=', "pass --loss cox, --offset"),
    ],
)
def test_messages_speak_options(text, said):
    assert in_options(text) == said
