"""Out-of-core designs: every source against the matrix it holds, paths against those of the matrix
in memory, and budgets of reads and memory.
"""

import importlib
import sys

import numpy as np
import pandas as pd
import pytest
from design_checks import assert_verbs, numbers, weights_of
from disk_sources import SOURCES, dask_of, genotypes, saved, write_bed, zarr_of

import l0path
from l0path.core import threads
from l0path.designs import Dense, Standardized, as_design, blocks, convert
from l0path.designs.disk import column_blocks, sources
from l0path.designs.disk.sources import open_source, shape_of
from l0path.exchange import verification
from l0path.exchange.ranking import Wanted
from l0path.exchange.verification import ranges
from l0path.problem.penalties import separable
from l0path.problem.problem import pose
from l0path.working_set.gram import GramModel


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_has_the_verbs_of_its_matrix(tmp_path, kind):
    rng = np.random.default_rng(1)
    A = numbers(rng, 23, 11)
    design = blocks(SOURCES[kind](tmp_path, A), memory_limit="10MB")
    assert_verbs(design, A, rng)
    assert as_design(design)[0] is design
    center, scale = A.mean(axis=0), np.maximum(A.std(axis=0), 0.1)
    rows = np.flatnonzero(rng.random(23) < 0.6)
    assert_verbs(Standardized(design, center, scale), (A - center) / scale, rng)
    assert_verbs(Standardized(design, center, scale, rows), ((A - center) / scale)[rows], rng)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 23, 64, 131])
def test_bed_has_the_verbs_of_its_imputed_genotypes(tmp_path, n):
    rng = np.random.default_rng(n)
    _, A = genotypes(rng, n, 9, missing=0.05 if n > 3 else 0.0)
    copies = np.where(rng.random(A.shape) < 0.2, np.nan, np.round(A)) if n > 20 else np.round(A)
    A = np.where(np.isnan(copies), np.nanmean(copies, axis=0), copies)
    assert_verbs(blocks(write_bed(tmp_path, copies)), A, rng)
    for m in (1, 4, 16, 17):  # by the kernel, and decoded
        R = rng.normal(size=(n, m))
        np.testing.assert_allclose(
            blocks(write_bed(tmp_path, copies)).correlate(R), A.T @ R, atol=1e-11
        )


def test_bed_agrees_with_bed_reader(tmp_path):
    reader = pytest.importorskip("bed_reader")
    copies, A = genotypes(np.random.default_rng(2), 37, 20)
    file = write_bed(tmp_path, copies)
    with reader.open_bed(file) as bed:
        np.testing.assert_array_equal(bed.read(dtype="float64"), copies)
        np.testing.assert_allclose(blocks(bed).columns(np.arange(20)), A, rtol=1e-14)
        assert blocks(bed).names == list(bed.sid)


def test_a_column_without_any_genotype_is_constant(tmp_path):
    copies = np.full((9, 2), np.nan)
    copies[:, 1] = np.arange(9) % 3
    design = blocks(write_bed(tmp_path, copies))
    assert design.moments(np.full(9, 1 / 9), True)[1].tolist()[0] == 0.0
    assert l0path.fit(design, np.arange(9.0), max_k=1).support(k=1).tolist() == [1]


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (700, 130), (130, 700), (20_000, 30)])
@pytest.mark.parametrize("order", ["F", "C"])
def test_verbs_do_not_depend_on_blocks(tmp_path, monkeypatch, shape, order):
    monkeypatch.setattr(column_blocks, "OWN", 3000)
    monkeypatch.setattr(column_blocks, "BROAD", 1)
    monkeypatch.setattr(column_blocks, "RUN", 2)
    rng = np.random.default_rng(3)
    X = rng.normal(size=shape) + 3.0
    design = blocks(saved(tmp_path, np.asarray(X, order=order)), memory_limit=10_000_000)
    design.memory_limit = 200_000  # columns longer than a block: blocks in both directions
    R, weights = rng.normal(size=(shape[0], 5)), weights_of(rng, shape[0])
    np.testing.assert_allclose(design.correlate(R), X.T @ R, rtol=1e-10, atol=1e-9)
    for got, wanted in zip(
        design.moments(weights, True), Dense(X).moments(weights, True), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(design.columns([0, -1]), X[:, [0, -1]])
    out = np.full((5, shape[1]), np.nan)
    design.correlate_into(np.ascontiguousarray(R.T), out)
    np.testing.assert_allclose(out, R.T @ X, rtol=1e-10, atol=1e-9)
    np.testing.assert_array_equal(design.take_rows([0]).X, X[:1])
    for rows, width in (design._shape(shape[1], 3000), shape_of(design.source, shape[1], 375)):
        assert (
            1 <= rows <= shape[0]
            and 1 <= width <= shape[1]
            and rows * width <= max(400, shape[1] * (order == "C"))
        )


@pytest.mark.parametrize("order", ["F", "C"])
def test_short_pieces_of_lines_are_cut_out_of_whole_lines(tmp_path, monkeypatch, order):
    X = np.asarray(np.random.default_rng(6).normal(size=(301, 203)), order=order)
    source, calls = open_source(saved(tmp_path, X)), []
    fill = source.file.fill
    monkeypatch.setattr(
        source.file, "fill", lambda view, place: (calls.append(view.size), fill(view, place))
    )
    monkeypatch.setattr(sources, "PIECE", 20_000)
    for gap in (sources.GAP, -1):  # in few calls, and a call for each piece
        monkeypatch.setattr(sources, "GAP", gap)
        calls.clear()
        np.testing.assert_array_equal(
            source.read(slice(7, 300), 5, 200).columns(np.arange(195)), X[7:300, 5:200]
        )
        assert (len(calls) < 40) == (gap > 0) and max(calls) <= 20_000


@pytest.mark.parametrize("kind", ["npy F", "npy C", "float32", "int8", "zarr square", "parquet"])
def test_results_do_not_depend_on_threads(tmp_path, monkeypatch, kind):
    rng = np.random.default_rng(4)
    design = blocks(SOURCES[kind](tmp_path, numbers(rng, 60, 400)), memory_limit="10MB")
    monkeypatch.setattr(column_blocks, "OWN", 5000)
    R, weights, out = rng.normal(size=(60, 14)), weights_of(rng, 60), []
    for count in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        out.append(
            (design.correlate(R), design.correlate(R[:, :3]), *design.moments(weights, True))
        )
    assert all(
        np.array_equal(a, b) for other in out[1:] for a, b in zip(out[0], other, strict=True)
    )


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_moments_are_those_of_dense(tmp_path, dtype):
    rng = np.random.default_rng(5)
    X = (1000 + 10 * rng.normal(size=(500, 40))).astype(dtype)
    X[:, 3] = X[0, 3]
    X[1:, 5] = X[1, 5]
    weights = weights_of(rng, 500)  # the first is zero
    file = blocks(saved(tmp_path, np.asfortranarray(X)))
    for center in (True, False):
        mean, second = file.moments(weights, center)
        wanted = Dense(X).moments(weights, center)
        np.testing.assert_allclose(mean, wanted[0], rtol=1e-13)
        np.testing.assert_allclose(second, wanted[1], rtol=1e-10)
        assert not center or (
            second[3] == second[5] == 0.0 and mean[3] == X[0, 3] and mean[5] == X[1, 5]
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 37, 5000])
def test_products_of_a_column_are_the_same_wherever_its_block_begins(dtype, n):
    rng = np.random.default_rng(n)
    X, R = np.asfortranarray(rng.standard_normal((n, 14)), dtype=dtype), rng.standard_normal((n, 5))
    whole = Dense(X, 0).correlate(R)
    np.testing.assert_allclose(whole, X.astype(np.float64).T @ R, atol=1e-13 * n)
    for left, right in ((0, 1), (3, 14), (5, 9), (12, 13)):
        for sides in (slice(0, 5), slice(1, 2), slice(2, 5)):
            np.testing.assert_array_equal(
                Dense(X[:, left:right], 0).correlate(R[:, sides]), whole[left:right, sides]
            )


def test_entries_in_rows_of_weight_zero_may_be_nan():
    rng = np.random.default_rng(1)
    X, weights = np.asfortranarray(rng.standard_normal((30, 7)), dtype=np.float32), np.ones(30) / 28
    weights[[4, 20]] = 0.0
    mean, second = Dense(X, 0).moments(weights, True)
    X[4, 2], X[20, 5] = np.nan, np.inf
    for got, held in zip(Dense(X, 0).moments(weights, True), (mean, second), strict=True):
        np.testing.assert_allclose(got, held, rtol=1e-13)
    X[3, 2] = np.nan
    assert np.isnan(Dense(X, 0).moments(weights, True)[1]).tolist() == [
        False,
        False,
        True,
        False,
        False,
        False,
        False,
    ]


def test_checks_do_not_depend_on_how_columns_are_shared_out():
    rng = np.random.default_rng(2)
    X = np.asfortranarray(rng.standard_normal((24, 140_000)), dtype=np.float32)
    y = X[:, [5, 70_000, 139_999]].astype(float).sum(axis=1) + rng.standard_normal(24)
    path = l0path.fit(X, y, max_k=4)
    assert (path.details.optimality[2:] == "refit_swap").all()
    model = GramModel(pose(path._source.data))
    supports = [path.support(k=k) for k in (1, 2, 3)] + [np.array([7, 90_000])]
    model.grow(np.concatenate(supports))
    fits = [model.refit(support, 0.0, 0.0) for support in supports]
    wanted, found = [Wanted(1e-3, 0.05, 50)] * len(fits), []
    for most in (1, 16):
        assert len(ranges.tasks(140_000, most)) - 1 == {1: 274, 16: 18}[most]
        limits = verification.gram.RangeLimits(ranges=most)
        found.append(verification.gram.violators(model, fits, wanted, separable(0.0), limits))
    assert [list(one) for one in found[0]] == [list(one) for one in found[1]] and len(
        found[0][3]
    ) == 50


def test_nonfinite_entries_are_named(tmp_path):
    X = np.asfortranarray(np.random.default_rng(6).normal(size=(30, 8)))
    X[3, 2], X[4, 2], X[5, 6] = np.nan, np.inf, np.nan
    assert blocks(saved(tmp_path, X)).nonfinite().tolist() == [0, 0, 2, 0, 0, 0, 1, 0]
    with pytest.raises(
        ValueError, match=r"NaN or infinity: 3 entries in 2 of 8 columns: x2 \(2\), x6 \(1\)"
    ):
        l0path.fit(blocks(tmp_path / "X.npy"), np.arange(30.0))


# -------------------- errors


@pytest.mark.parametrize(
    "limit",
    ["a lot", "1XB", "-5", "1.2.3GB", ".", None, True, 1000, "1MB", float("nan"), float("inf")],
)
def test_limits_that_are_none_are_refused(tmp_path, limit):
    with pytest.raises(ValueError, match="memory_limit"):
        blocks(saved(tmp_path, np.eye(3)), memory_limit=limit)


@pytest.mark.parametrize(
    "limit, size",
    [
        ("1GB", 10**9),
        ("500 MB", 5 * 10**8),
        ("2GiB", 2**31),
        (2e7, 2 * 10**7),
        ("1e8", 10**8),
        ("0.5g", 5 * 10**8),
    ],
)
def test_limits(tmp_path, limit, size):
    assert blocks(saved(tmp_path, np.eye(3)), memory_limit=limit).memory_limit == size


def test_sources_that_cannot_be_read_are_refused(tmp_path):
    for source, error, text in (
        ("no.npy", FileNotFoundError, "does not exist"),
        (3, TypeError, "cannot be read in blocks"),
        (pd.DataFrame({"a": [1]}), TypeError, "cannot be read in blocks"),
        (np.ones(4), ValueError, "one dimension"),
        (np.ones((0, 4)), ValueError, "0 sample"),
        (np.ones((2, 2), dtype=complex), TypeError, "Complex"),
        (np.array([["a"]]), TypeError, "not numbers"),
    ):
        with pytest.raises(error, match=text):
            blocks(source)
    (tmp_path / "X.txt").write_text("1 2")
    with pytest.raises(ValueError, match="of no known kind"):
        blocks(tmp_path / "X.txt")
    file = write_bed(tmp_path, np.ones((5, 3)))
    (tmp_path / "short.bed").write_bytes(file.read_bytes()[:-1])
    for suffix in (".bim", ".fam"):
        (tmp_path / f"short{suffix}").write_text((tmp_path / f"X{suffix}").read_text())
    with pytest.raises(ValueError, match=r"need 9: are \.fam and \.bim of the same file"):
        blocks(tmp_path / "short.bed")
    (tmp_path / "short.bed").write_bytes(b"abc123456")
    with pytest.raises(ValueError, match="begins with 616263"):
        blocks(tmp_path / "short.bed")
    (tmp_path / "short.fam").unlink()
    with pytest.raises(FileNotFoundError, match=r"needs short\.fam"):
        blocks(tmp_path / "short.bed")


def test_a_file_that_shrinks_is_noticed(tmp_path):
    design = blocks(saved(tmp_path, np.asfortranarray(np.ones((50, 40)))))
    content = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(content[:-800])
    with pytest.raises(OSError, match="cut short while it was read"):
        design.correlate(np.ones(50))


def test_text_columns_of_parquet_and_csv_are_refused(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]})
    frame.to_parquet(tmp_path / "X.parquet")
    with pytest.raises(TypeError, match=r"1 columns that are not real numbers: b \("):
        blocks(tmp_path / "X.parquet")
    frame.to_csv(tmp_path / "X.csv", index=False)
    with pytest.raises(TypeError, match=r"not numbers, the first 'b' \(lines 2 to 3\)"):
        convert(tmp_path / "X.csv", tmp_path / "X.npy", progress=False)
    assert not (tmp_path / "X.npy").exists()


def test_missing_values_of_parquet_are_refused_by_fit(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame(
        {"a": pd.array([1, None, 3, 4], dtype="Int64"), "b": [1.0, 2.0, 4.0, 3.0]}
    ).to_parquet(tmp_path / "X.parquet")
    with pytest.raises(ValueError, match=r"NaN or infinity: 1 entries in 1 of 2 columns: a \(1\)"):
        l0path.fit(blocks(tmp_path / "X.parquet"), np.arange(4.0))


@pytest.mark.parametrize("package, name", [("zarr", "X.zarr"), ("pyarrow.parquet", "X.parquet")])
def test_an_absent_package_is_named_with_its_remedy(tmp_path, monkeypatch, package, name):
    (tmp_path / name).mkdir() if name == "X.zarr" else (tmp_path / name).write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r'pip install "l0path\[blocks\]"'):
        blocks(tmp_path / name)


def test_files_that_are_not_what_their_names_say(tmp_path):
    for content in (b"", b"hello world" * 20, saved(tmp_path, np.ones((50, 3))).read_bytes()[:200]):
        (tmp_path / "Y.npy").write_bytes(content)
        with pytest.raises(ValueError, match=r"Y\.npy is no \.npy file of numbers"):
            blocks(tmp_path / "Y.npy")
    if importlib.util.find_spec("zarr"):
        (tmp_path / "empty").mkdir()
        with pytest.raises(ValueError, match="empty is no Zarr array"):
            blocks(tmp_path / "empty")
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "Y.parquet").write_bytes(b"abc")
    (tmp_path / "folder.parquet").mkdir()
    parquet.write_table(
        arrow.Table.from_arrays([np.ones(3), np.zeros(3)], names=["a", "a"]),
        tmp_path / "twice.parquet",
    )
    for name, text in (
        ("Y", "is no Parquet file"),
        ("folder", "is a folder"),
        ("twice", "several columns called 'a'"),
    ):
        with pytest.raises(ValueError, match=f"{name}.parquet.*{text}"):
            blocks(tmp_path / f"{name}.parquet")


def test_dask_of_unknown_shape_and_zarr_groups_are_refused(tmp_path):
    array = pytest.importorskip("dask.array").from_array(np.eye(4), chunks=2)
    with pytest.raises(ValueError, match="no known shape"):
        open_source(array[array[:, 0] > 0])
    zarr = pytest.importorskip("zarr")
    with pytest.raises(TypeError, match="Zarr group"):
        open_source(zarr.open_group(str(tmp_path / "g.zarr"), mode="w"))


def test_threads_stay_those_of_the_pool(tmp_path):
    assert threads.count() >= 1
    assert (
        repr(blocks(saved(tmp_path, np.eye(3))))
        == "ColumnBlocks(n=3, p=3, source=X.npy, float64, memory_limit=1000 MB)"
    )


@pytest.mark.parametrize("chunks", [(100, 3000), (25, 12_000), (50, 6000)])
def test_a_pass_decodes_each_chunk_about_once_under_a_small_limit(tmp_path, monkeypatch, chunks):
    """A chunk larger than a block, yet within the limit, is never read column by column."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((100, 12_000)).astype(np.float32)
    y = X[:, 10] - 2 * X[:, 5000] + 0.1 * rng.standard_normal(100)
    design, decoded = blocks(zarr_of(tmp_path, X, chunks), memory_limit="10MB"), []
    read = sources.ArraySource.read

    def counted(self, rows, left, right, buffer=None):
        down = -(-rows.stop // chunks[0]) - rows.start // chunks[0]
        across = -(-right // chunks[1]) - left // chunks[1]
        decoded.append(down * across)
        return read(self, rows, left, right, buffer)

    monkeypatch.setattr(sources.ArraySource, "read", counted)
    np.testing.assert_allclose(design.correlate(y), X.T.astype(float) @ y, rtol=1e-9, atol=1e-9)
    assert sum(decoded) == 4  # chunks
    decoded.clear()
    np.testing.assert_array_equal(design.columns([0, 1, 2999, 700]), X[:, [0, 1, 2999, 700]])
    assert sum(decoded) <= 100 // chunks[0]
    path, before = l0path.fit(design, y, max_k=3), design.passes
    assert path.support(k=2).tolist() == [10, 5000] and before < 20
    # beside the passes, a few columns: each decodes the chunks that hold it
    assert sum(decoded) <= 4 * before + 40 * (100 // chunks[0])


@pytest.mark.parametrize("make", [zarr_of, dask_of])
def test_a_limit_that_holds_no_whole_chunk_is_refused_with_what_is_needed(tmp_path, make):
    X = np.zeros((100, 6000), dtype=np.float32)  # one chunk of 2.4 MB
    source = make(tmp_path, X, X.shape)
    with pytest.raises(
        MemoryError, match=r"chunk of 2.4 MB .*memory_limit='15MB' or more.*convert"
    ):
        blocks(source, memory_limit="10MB")
    with pytest.raises(MemoryError, match=r"memory_limit='15MB'"):
        l0path.designs.convert(source, tmp_path / "X.npy", memory_limit="10MB")
    assert blocks(source, memory_limit="15MB").correlate(np.zeros(100)).shape == (6000,)
    blocks(np.asfortranarray(X[:, :10]), memory_limit="10MB")  # nothing is decoded


def test_gram_rows_leave_room_for_chunks(tmp_path):
    X = np.zeros((100, 4000), dtype=np.float32)
    narrow = blocks(zarr_of(tmp_path, X, (100, 4)), memory_limit="10MB")
    whole = blocks(dask_of(tmp_path, X, (100, 4000)), memory_limit="10MB")  # 1.6 MB
    assert narrow.gram_rows == int(0.6e7 / 8 / 4000)
    assert 8 * 4000 * whole.gram_rows + 4 * X.nbytes + 1e7 / 8 <= 1e7
