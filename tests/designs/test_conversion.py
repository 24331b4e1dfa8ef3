"""Conversion of files and arrays to column-major files."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from design_checks import numbers
from disk_sources import genotypes, saved, write_bed

from l0path.designs import as_design, blocks, convert
from l0path.designs.disk import conversion

# -------------------- conversion


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_convert_csv_and_parquet(tmp_path, dtype, capsys):
    frame = pd.DataFrame(np.random.default_rng(24).normal(size=(57, 6)), columns=list("abcdef"))
    frame["f"] = np.arange(57) % 2 == 0
    frame.to_csv(tmp_path / "X.csv", index=False)
    sources = [tmp_path / "X.csv"]
    if importlib.util.find_spec("pyarrow"):
        frame.to_parquet(tmp_path / "X.parquet")
        sources.append(tmp_path / "X.parquet")
    for source in sources:
        file = convert(source, tmp_path / "new" / "X.npy", dtype=dtype, progress=True)
        stored = np.load(file)
        assert stored.flags.f_contiguous and stored.dtype == dtype
        np.testing.assert_allclose(
            stored, frame.to_numpy(dtype=float), rtol=1e-7 if dtype == "float32" else 1e-15
        )
        assert blocks(file).names == list("abcdef") and as_design(blocks(file))[1] == list("abcdef")
        assert "100%" in capsys.readouterr().err and sorted(
            p.name for p in file.parent.iterdir()
        ) == ["X.npy", "X.npy.names.txt"]


@pytest.mark.parametrize("order", ["F", "C"])
def test_convert_arrays_in_pieces(tmp_path, order):
    X = np.asarray(numbers(np.random.default_rng(25), 700, 900), order=order)
    for source in (
        X,
        np.load(saved(tmp_path, X, "from.npy"), mmap_mode="r"),
        tmp_path / "from.npy",
    ):
        np.testing.assert_array_equal(
            np.load(
                convert(
                    source, tmp_path / "X.npy", dtype="int8", progress=False, memory_limit="10MB"
                )
            ),
            X,
        )
    assert blocks(tmp_path / "X.npy").names is None
    X[0, 0] = 0.5
    with pytest.raises(ValueError, match="dtype=int8 cannot hold every value of the columns 0 to"):
        convert(X, tmp_path / "Y.npy", dtype="int8", progress=False)
    assert not (tmp_path / "Y.npy").exists() and not (tmp_path / "Y.npy.part").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
def test_convert_keeps_to_its_memory(tmp_path, monkeypatch):
    file, used, write = (
        saved(tmp_path, np.ones((500, 20_000), dtype=np.float32)),
        [],
        conversion.ColumnFile.write,
    )  # 40 MB, row after row

    def resident():
        return next(
            int(line.split()[1]) * 1024
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmRSS")
        )

    def watched(*arguments):
        write(*arguments)
        used.append(resident() - before)

    monkeypatch.setattr(conversion.ColumnFile, "write", watched)
    before = resident()
    convert(file, tmp_path / "Y.npy", progress=False, memory_limit="10MB")
    assert len(used) > 20 and max(used) < 12e6


def test_convert_takes_every_row_of_a_csv_as_it_stands(tmp_path):
    def read(text, **options):
        (tmp_path / "X.csv").write_text(text, newline="")
        return np.load(convert(tmp_path / "X.csv", tmp_path / "X.npy", **options)).tolist()

    assert read("a,b\r\n1,2\r\n\r\n3,4\r\n\r\n") == [[1, 2], [3, 4]]  # empty lines are no rows
    np.testing.assert_array_equal(
        read("a\n1\n\n3\n"), [[1], [np.nan], [3]]
    )  # but of one column empty fields
    assert read('"a\nb","c\u2028d"\n1,2\n') == [[1, 2]] and blocks(tmp_path / "X.npy").names == [
        "a b",
        "c\u2028d",
    ]
    assert read("400.5,500\n1,2\n") == [[1, 2]]  # wavelengths
    assert read("a,b\n1e300,2\n", dtype="float64") == [[1e300, 2]]
    before = (tmp_path / "X.npy").read_bytes()
    for text, what in [
        ("a,b\n1,2,9\n3,4,5\n", "as many fields as the first one"),
        ("a,b\n1,2\n3,4,5\n", "as many fields as the first one"),
        ("0.3,0.1,0.2\n1,2,3\n", "numbers in its first line"),
        ("", "no CSV file"),
        (
            "a,b\n1e300,2\n",
            "dtype=float32 cannot hold every value of the columns 0 to 1; use dtype='float64'",
        ),
    ]:
        with pytest.raises(ValueError, match=what):
            read(text)
    (tmp_path / "X.csv").write_bytes("a,\xe9\n1,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"X\.csv is no CSV file in UTF-8"):
        convert(tmp_path / "X.csv", tmp_path / "X.npy")
    for file in ("X.csv", "X", "."):  # never the source itself, nor what `blocks` would not know
        with pytest.raises(ValueError, match=r"must be the path of a \.npy file"):
            convert(tmp_path / "X.csv", tmp_path / file)
    assert (tmp_path / "X.npy").read_bytes() == before and sorted(
        p.name for p in tmp_path.iterdir()
    ) == ["X.csv", "X.npy", "X.npy.names.txt"]


def test_the_index_of_a_parquet_file_is_no_column(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(np.random.default_rng(27).normal(size=(30, 3)), columns=list("abc"))
    for index in (pd.Index([f"r{i}" for i in range(30)]), pd.Index(np.arange(30) ** 2, name="id")):
        frame.set_axis(index).to_parquet(tmp_path / "X.parquet")
        design = blocks(tmp_path / "X.parquet")
        assert design.names == list("abc")
        np.testing.assert_array_equal(design.columns(np.arange(3)), frame.to_numpy())


def test_convert_genotypes(tmp_path):
    copies, A = genotypes(np.random.default_rng(26), 30, 7)
    file = convert(write_bed(tmp_path, copies), tmp_path / "G.npy", dtype="float64", progress=False)
    np.testing.assert_allclose(np.load(file), A, rtol=1e-15)
    assert blocks(file).names == [f"rs{j}" for j in range(7)]
