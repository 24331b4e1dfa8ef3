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
        ("sample_weight has 3 negative values", "--weights has 3 negative values"),
        ("there is no column 'sample_weight'", "there is no column 'sample_weight'"),
    ],
)
def test_messages_speak_options(text, said):
    assert in_options(text) == said


def leveled(table, file, **columns):
    """The file of a table with further columns, and its frame."""
    frame = pd.read_csv(table)[["y", "a", "b"]].assign(**columns)
    frame.to_csv(file, index=False)
    return frame


def test_a_level_called_none_is_told_and_can_be_kept(table, tmp_path, capsys):
    garage = np.resize(["None", "brick", "wood", "NA"], 80)
    file, out = tmp_path / "g.csv", tmp_path / "o"
    frame = leveled(table, file, garage=garage)
    frame["y"] += 3.0 * (frame.garage == "brick")
    frame.to_csv(file, index=False)
    some = ["fit", file, "--response", "y", "--no-plots", "--k", 2, "--out", out]
    code, said, _ = run(capsys, *some)
    assert code == 0 and "40 of 80 rows have missing values" in said
    assert (
        "garage has 'None' (20 times) and 'NA' (20 times), read as missing; --na-values ''" in said
    )
    code, said, _ = run(capsys, *some, "--na-values", "")
    assert code == 0 and "missing" not in said and l0path.load(out / "path.npz").n == 80
    # new rows are read by the words of the fit
    where = ["predict", out, file, "--out", tmp_path / "p.csv"]
    code, said, _ = run(capsys, *where)
    assert code == 0 and "80 predictions" in said and "lack" not in said
    code, said, _ = run(capsys, *some, "--na-values", ",NA")
    assert (
        code == 0 and "20 of 80 rows have missing values" in said and "read as missing" not in said
    )
    code, said, _ = run(capsys, *some, "--na-values", "brick")
    assert code == 0 and "60 of 80 rows" in said and "'None' (20 times) and 'NA'" in said


def test_false_and_true_with_a_gap_stay_a_feature(table, tmp_path, capsys):
    flag = np.resize([True, False, False], 80)
    frame = leveled(table, tmp_path / "t.csv", flag=flag)
    frame["y"] += 2.0 * flag
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame["flag"] = frame.flag.astype(object).mask(frame.index == 4)
    frame.to_csv(tmp_path / "gap.csv", index=False)
    for file, others in (("t.csv", "gap.csv"), ("gap.csv", "t.csv")):
        fit = ["fit", tmp_path / file, "--response", "y", "--k", 2, "--no-plots"]
        code, said, _ = run(capsys, *fit, "--out", tmp_path / "o")
        assert code == 0 and "text columns" not in said
        assert "flag" in l0path.load(tmp_path / "o").model().features
        code, said, err = run(
            capsys, "predict", tmp_path / "o", tmp_path / others, "--out", tmp_path / "p.csv"
        )
        assert code == 0 and err == "" and f"{80 - (others == 'gap.csv')} predictions" in said


def test_cells_beyond_the_header(table, tmp_path, capsys):
    lines = pd.read_csv(table)[["y", "a", "b"]].to_csv(index=False).splitlines()
    some = ["--response", "y", "--no-plots", "--k", 1, "--out", tmp_path / "o"]
    file = tmp_path / "s.csv"
    for text in (  # separators at the ends of all rows, and of all but the header
        "\n".join(f"{line}," for line in lines),
        "\n".join([lines[0], *(f"{line}," for line in lines[1:])]),
    ):
        file.write_text(text)
        code, said, _ = run(capsys, "fit", file, *some)
        assert code == 0 and "n = 80, p = 2" in said and "row names" not in said
        assert l0path.load(tmp_path / "o").model().features == ["a"]
    file.write_text("\n".join([lines[0], *(f"r{i},{x}" for i, x in enumerate(lines[1:]))]))  # R
    code, said, _ = run(capsys, "fit", file, *some)
    assert code == 0 and "n = 80, p = 2" in said
    assert "rows have 1 cell more than the header: the first is left out as row names" in said


def test_commas_between_thousands_are_not_called_decimal(table, tmp_path, capsys):
    leveled(table, tmp_path / "k.csv", pay=[f"{1000 + 37 * i:,}" for i in range(80)])
    code, _, err = run(capsys, "fit", tmp_path / "k.csv", "--response", "y")
    assert code == 2 and "such as 1,000: take commas between thousands out of the file" in err


def test_names_with_commas_and_text_columns_are_forced_by_their_name(table, tmp_path, capsys):
    frame = leveled(table, tmp_path / "c.csv", color=np.resize(["u", "v", "w"], 80))
    frame["b, squared"] = frame.b**2
    frame.to_csv(tmp_path / "c.csv", index=False)
    some = ["fit", tmp_path / "c.csv", "--response", "y", "--no-plots", "--k", 1]
    for name, forced in (("color", {"color_v", "color_w"}), ("b, squared", {"b, squared"})):
        code, _, err = run(capsys, *some, "--include", name, "--out", tmp_path / "o")
        assert code == 0, err
        assert set(l0path.load(tmp_path / "o").model().features) >= forced
    code, said, _ = run(capsys, *some, "--drop", "b, squared", "--out", tmp_path / "o")
    assert code == 0 and "p = 4;" in said
    code, _, err = run(capsys, *some, "--include", "colour", "--out", tmp_path / "o")
    assert code == 2 and "--include: there is no column 'colour'" in err


def test_no_folds_are_refused(table, capsys):
    code, _, err = run(capsys, "fit", table, "--response", "y", "--cv", 0)
    assert code == 2 and "--cv 0 must be a whole number >= 2" in err


def test_pictures_of_an_earlier_fit_do_not_stay(table, tmp_path, capsys):
    some = ["--drop", "sick", "--response", "y", "--k", 1, "--out", tmp_path / "o"]
    run(capsys, "fit", table, *some)
    assert (tmp_path / "o" / "loss.png").exists()
    (tmp_path / "o" / "mine.png").write_text("")
    code, said, _ = run(capsys, "fit", table, *some, "--no-plots")
    assert code == 0 and "of an earlier fit: coefficients.png, explore.html, loss.png" in said
    left = {file.name for file in (tmp_path / "o").iterdir()}
    assert left == {*"chosen.csv coefficients.csv table.csv path.npz model.json mine.png".split()}


def test_row_numbers_are_no_feature_of_a_formula_that_names_none(table, tmp_path, capsys):
    pd.read_csv(table)[["y", "a", "b"]].to_csv(tmp_path / "i.csv")
    some = ["--no-plots", "--out", tmp_path / "o"]
    code, said, _ = run(capsys, "fit", tmp_path / "i.csv", "--formula", "y ~ .", *some)
    assert code == 0 and "row numbers are left out: 'Unnamed: 0'" in said and "p = 2;" in said
    code, said, _ = run(capsys, "fit", tmp_path / "i.csv", "--formula", "y ~ a+`Unnamed: 0`", *some)
    assert code == 0 and "left out" not in said and "p = 2;" in said
