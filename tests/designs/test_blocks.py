"""Out-of-core designs: every source against the matrix it holds, paths against those of the matrix
in memory, and budgets of reads and memory.
"""

import importlib
import pickle
import sys
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_designs import assert_verbs, numbers, peak, weights_of

import l0path
from l0path.core import threads
from l0path.designs import Dense, Standardized, as_design, blocks, convert, polynomial
from l0path.designs.disk import column_blocks, conversion, sources
from l0path.designs.disk.bed import MAGIC
from l0path.designs.disk.sources import open_source, shape_of
from l0path.engine.request import request
from l0path.engine.run import run as fit_request
from l0path.exact import tree
from l0path.exchange import verification
from l0path.exchange.ranking import Wanted
from l0path.exchange.verification import ranges
from l0path.problem.penalties import separable
from l0path.problem.problem import pose
from l0path.working_set.gram import GramModel


def saved(folder, X, name="X.npy"):
    np.save(folder / name, X)
    return folder / name


def write_bed(folder, copies, name="X"):
    """A PLINK file of copies (n, p) of allele A1, NaN where missing."""
    n, p = copies.shape
    codes = np.full((p, -(-n // 4) * 4), 0, dtype=np.uint8)
    codes[:, :n] = np.select([copies.T == 2, copies.T == 1, copies.T == 0], [0, 2, 3], 1)
    packed = np.bitwise_or.reduce(
        codes.reshape(p, -1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8), axis=2
    )
    (folder / f"{name}.bed").write_bytes(MAGIC + packed.astype(np.uint8).tobytes())
    (folder / f"{name}.fam").write_text("".join(f"f\ti{i}\t0\t0\t0\t-9\n" for i in range(n)))
    (folder / f"{name}.bim").write_text("".join(f"1\trs{j}\t0\t{j}\tA\tG\n" for j in range(p)))
    return folder / f"{name}.bed"


def genotypes(rng, n, p, missing=0.05):
    """(copies with NaN, the same imputed by column means)."""
    copies = rng.binomial(2, rng.uniform(0.1, 0.6, p), size=(n, p)).astype(float)
    copies[rng.random((n, p)) < missing] = np.nan
    return copies, np.where(
        np.isnan(copies),
        np.nanmean(np.vstack([copies, np.zeros(p)]) if n == 1 else copies, axis=0),
        copies,
    )


def zarr_of(folder, X, chunks):
    zarr = pytest.importorskip("zarr")
    out = zarr.create_array(str(folder / "X.zarr"), shape=X.shape, chunks=chunks, dtype=X.dtype)
    out[:] = X
    return out


def dask_of(folder, X, chunks):
    return pytest.importorskip("dask.array").from_array(X, chunks=chunks)


def parquet_of(folder, X, rows):
    pytest.importorskip("pyarrow")
    pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])]).to_parquet(
        folder / "X.parquet", row_group_size=rows
    )
    return folder / "X.parquet"


SOURCES = {
    "npy F": lambda folder, X: saved(folder, np.asfortranarray(X)),
    "npy C": lambda folder, X: saved(folder, np.ascontiguousarray(X)),
    "float32": lambda folder, X: saved(folder, np.asfortranarray(X, dtype="float32")),
    "int8": lambda folder, X: saved(folder, np.asfortranarray(X, dtype="int8")),
    "big endian": lambda folder, X: saved(folder, np.asfortranarray(X, dtype=">f8")),
    "map": lambda folder, X: np.load(saved(folder, np.asfortranarray(X)), mmap_mode="r"),
    "map of a part": lambda folder, X: np.load(
        saved(folder, np.asfortranarray(np.hstack([X, X]))), mmap_mode="r"
    )[:, X.shape[1] :],
    "map of some rows": lambda folder, X: np.load(
        saved(folder, np.asfortranarray(np.vstack([X, X]))), mmap_mode="r"
    )[X.shape[0] :],
    "array": lambda folder, X: np.asfortranarray(X),
    "zarr tall": lambda folder, X: zarr_of(folder, X, (X.shape[0], 3)),
    "zarr square": lambda folder, X: zarr_of(folder, X, (7, 4)),
    "zarr wide": lambda folder, X: zarr_of(folder, X, (5, X.shape[1])),
    "dask": lambda folder, X: dask_of(folder, X, (9, 5)),
    "parquet": lambda folder, X: parquet_of(folder, X, 10),
}


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
    for count in ("1", "2", "3"):
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
    assert (path.table.optimality[2:] == "refit_swap").all()
    model = GramModel(pose(path._source.data))
    supports = [path.support(k=k) for k in (1, 2, 3)] + [np.array([7, 90_000])]
    model.grow(np.concatenate(supports))
    fits = [model.refit(support, 0.0, 0.0) for support in supports]
    wanted, found = [Wanted(1e-3, 0.05, 50)] * len(fits), []
    for most in (1, 16):
        assert len(ranges.tasks(140_000, most)) - 1 == {1: 274, 16: 18}[most]
        limits = verification.gram.RangeLimits(ranges=most)
        found.append(verification.gram.violators(model, fits, wanted, separable(0.0), limits))
    assert found[0] == found[1] and len(found[0][3]) == 50


def test_nonfinite_entries_are_named(tmp_path):
    X = np.asfortranarray(np.random.default_rng(6).normal(size=(30, 8)))
    X[3, 2], X[4, 2], X[5, 6] = np.nan, np.inf, np.nan
    assert blocks(saved(tmp_path, X)).nonfinite().tolist() == [0, 0, 2, 0, 0, 0, 1, 0]
    with pytest.raises(
        ValueError, match=r"NaN or infinity: 3 entries in 2 of 8 columns: x2 \(2\), x6 \(1\)"
    ):
        l0path.fit(blocks(tmp_path / "X.npy"), np.arange(30.0))


# -------------------- paths


def problem(seed, n, p, loss, dtype="float64"):
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.normal(size=(n, p)), dtype=dtype)
    signal = X[:, : p : p // 4].astype(float).sum(axis=1)
    if loss in ("squared", "huber"):
        return X, signal + rng.normal(size=n)
    return X, rng.poisson(np.exp(0.3 * signal)) if loss == "poisson" else rng.random(n) < 1 / (
        1 + np.exp(-signal)
    )


def assert_same_path(a, b):
    """The same supports, objectives and coefficients to 1e-9."""
    assert [s.support.tolist() for s in a.solutions] == [s.support.tolist() for s in b.solutions]
    np.testing.assert_allclose(a.table.objective, b.table.objective, rtol=1e-9)
    assert a.table.optimality.tolist() == b.table.optimality.tolist()
    for s, t in zip(a.solutions, b.solutions, strict=True):
        np.testing.assert_allclose(s.beta, t.beta, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "loss", ["squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson"]
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_paths_are_those_of_the_matrix_in_memory(tmp_path, loss, dtype):
    X, y = problem(7, 120, 60, loss, dtype)
    assert_same_path(
        l0path.fit(blocks(saved(tmp_path, X)), y, loss=loss, lambda2=1e-3, max_k=6),
        l0path.fit(X.astype(float), y, loss=loss, lambda2=1e-3, max_k=6),
    )


@pytest.mark.parametrize(
    "options",
    [
        {"grid": "lambda0", "max_k": 5},
        {"algorithm": "cd", "max_k": 5},
        {"algorithm": "apg", "max_k": 4},
        {"algorithm": "dual_iht", "max_k": 4, "lambda2": 0.01},
        {"algorithm": "primal_dual", "max_k": 4, "lambda2": 0.01},
        {"algorithm": "feature_generating", "max_k": 4, "lambda2": 0.01},
        {"lower": -1.0, "upper": 1.0, "max_k": 5},
        {"penalty": "L0L2", "n_shrink": 3, "max_k": 4},
        {"always_include": [3], "exclude": [0, 5], "max_k": 5},
        {"fit_intercept": False, "max_k": 5},
        {"standardize": False, "max_k": 5},
    ],
    ids=str,
)
def test_options_work_on_blocks(tmp_path, options):
    X, y = problem(8, 100, 40, "squared")
    assert_same_path(
        l0path.fit(blocks(saved(tmp_path, X)), y, **options), l0path.fit(X, y, **options)
    )


def test_weights_offset_and_bounds_work_on_blocks(tmp_path):
    X, y = problem(9, 100, 30, "squared")
    rng = np.random.default_rng(10)
    options = {
        "sample_weight": np.round(rng.uniform(0, 2, 100)),
        "offset": rng.normal(size=100),
        "max_k": 5,
        "lambda2": 0.01,
        "certify": True,
    }
    a, b = l0path.fit(blocks(saved(tmp_path, X)), y, **options), l0path.fit(X, y, **options)
    assert_same_path(a, b)
    np.testing.assert_allclose(a.table.lower_bound, b.table.lower_bound, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_what_follows_a_fit_works_on_blocks(tmp_path, loss):
    X, y = problem(11, 150, 30, loss)
    file = saved(tmp_path, X)
    options = {"cv": 4, "loss": loss, "lambda2": 1e-3, "max_k": 4, "random_state": 0}
    a, b = l0path.cv_fit(blocks(file), y, **options), l0path.cv_fit(X, y, **options)
    np.testing.assert_allclose(a.table.cv_mean, b.table.cv_mean, rtol=1e-9)
    model, other = a.model("min"), b.model("min")
    np.testing.assert_allclose(model.predict(blocks(file)), other.predict(X), rtol=1e-8)
    np.testing.assert_allclose(a.path.predict(blocks(file)), b.path.predict(X), rtol=1e-8)
    np.testing.assert_allclose(
        model.certify(time_limit=None).lower_bound,
        other.certify(time_limit=None).lower_bound,
        rtol=1e-6,
    )
    np.testing.assert_allclose(model.summary().table.coef, other.summary().table.coef, rtol=1e-8)
    pd.testing.assert_frame_equal(model.alternatives(3), other.alternatives(3), rtol=1e-6)
    np.testing.assert_allclose(model.refit().params, other.refit().params, rtol=1e-6)
    a.path.save(tmp_path / "path.l0")
    again = l0path.load(tmp_path / "path.l0")
    assert again.objective(k=2, X=blocks(file), y=y) == pytest.approx(a.path.objective(k=2))


def test_folds_in_processes_read_the_file_themselves(tmp_path):
    X, y = problem(12, 120, 20, "squared")
    options = {"cv": 3, "max_k": 3, "random_state": 0, "n_jobs": 2}
    np.testing.assert_allclose(
        l0path.cv_fit(blocks(saved(tmp_path, X)), y, **options).table.cv_mean,
        l0path.cv_fit(X, y, **options).table.cv_mean,
        rtol=1e-9,
    )


def test_a_fit_to_genotypes(tmp_path):
    rng = np.random.default_rng(13)
    copies, A = genotypes(rng, 300, 200)
    y = A[:, 20] - A[:, 120] + 0.3 * rng.normal(size=300)
    path = l0path.fit(blocks(write_bed(tmp_path, copies)), y, max_k=4)
    assert_same_path(path, l0path.fit(A, y, max_k=4))
    assert path.model(k=2).features == ["rs20", "rs120"]


@pytest.mark.parametrize("kind", ["zarr square", "zarr wide", "dask", "parquet", "npy C"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_paths_of_chunked_sources(tmp_path, kind, loss):
    X, y = problem(14, 90, 30, loss)
    assert_same_path(
        l0path.fit(blocks(SOURCES[kind](tmp_path, X)), y, loss=loss, lambda2=1e-3, max_k=4),
        l0path.fit(X, y, loss=loss, lambda2=1e-3, max_k=4),
    )


def test_files_with_names_are_predicted_by_name(tmp_path):
    rng = np.random.default_rng(31)
    names = [f"g{j}" for j in range(12)]
    frame = pd.DataFrame(rng.normal(size=(60, 12)), columns=names)
    y = frame.g2 - 2 * frame.g7 * frame.g3 + 0.1 * rng.normal(size=60)

    def design(columns, stem):
        frame.reindex(columns=columns, fill_value=0.0).to_csv(tmp_path / f"{stem}.csv", index=False)
        return blocks(convert(tmp_path / f"{stem}.csv", tmp_path / f"{stem}.npy", dtype="float64"))

    same, turned, fewer = (
        design(names, "same"),
        design(["more", *names[::-1]], "turned"),
        design([name for name in names if name != "g2"], "fewer"),
    )
    for path in (
        l0path.fit(same, y, max_k=3),
        l0path.fit(frame, y, max_k=3),
        l0path.fit(polynomial(frame), y, max_k=3),
    ):
        want = path.predict(frame.to_numpy())
        for X in (same, turned, frame[names[::-1]]):
            np.testing.assert_allclose(path.predict(X), want, rtol=1e-12)
        np.testing.assert_allclose(
            path.refit(k=2, X=turned, y=y).params, path.refit(k=2, X=same, y=y).params
        )
        np.testing.assert_allclose(
            path.validate(turned, y).table.cv_mean, path.validate(same, y).table.cv_mean
        )
        with pytest.raises(ValueError, match="X lacks 1 of the columns that the model uses: g2"):
            path.predict(fewer)
    back, path = names[::-1], l0path.fit(frame.to_numpy(), y, max_k=3)  # that knew no names
    np.testing.assert_allclose(
        path.predict(design(back, "back"), k=2),
        path.predict(frame[back].to_numpy(), k=2),
        rtol=1e-12,
    )


def test_equal_and_constant_columns_are_noticed(tmp_path):
    X, y = problem(15, 80, 200, "squared", "float32")
    X[:, 150], X[:, 160] = X[:, 0], 2.0
    path = l0path.fit(blocks(saved(tmp_path, X)), y, max_k=3)
    assert any("x150" in note for note in path.notes) and any("x160" in note for note in path.notes)


# -------------------- budgets


def test_a_default_path_reads_the_file_a_few_times(tmp_path):
    X, y = problem(16, 100, 6000, "squared", "float32")
    design = blocks(saved(tmp_path, X))
    path = l0path.fit(design, y, max_k=10)
    assert (path.table.optimality != "unverified").all()
    assert design.passes <= min(
        10, path.rounds.reads.max()
    )  # moments, equal columns and X'y are one read


def test_products_that_were_foreseen_are_not_read_again(tmp_path):
    X, _ = problem(17, 50, 300, "squared")
    design, R = blocks(saved(tmp_path, X)), np.random.default_rng(18).normal(size=(50, 3))
    design.foresee(R)
    design.moments(np.full(50, 0.02), True)
    np.testing.assert_allclose(design.correlate(R[:, 1]), X.T @ R[:, 1], atol=1e-12)
    np.testing.assert_allclose(design.correlate(R[:, [0, 2]]), X.T @ R[:, [0, 2]], atol=1e-12)
    assert design.passes == 1
    design.correlate(R)  # handed out once
    assert design.passes == 2


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gram_rows_stay_within_the_budget(tmp_path, loss):
    X, y = problem(19, 80, 5000, loss, "float32")
    design = blocks(saved(tmp_path, X), memory_limit="10MB")
    design.memory_limit = 400_000
    assert design.gram_rows == 6
    path, _, model = fit_request(request(design, y, loss=loss, lambda2=1e-2, max_k=10))
    held = (model if loss == "squared" else model.flat()).rows.shape[0]
    assert held <= 10  # the six that fit, or one support's
    assert_same_path(path, l0path.fit(X.astype(float), y, loss=loss, lambda2=1e-2, max_k=10))


def test_gram_rows_of_a_fold_go_with_it(tmp_path, monkeypatch):
    X, y = problem(20, 90, 300, "squared", "float32")
    alive, seen, start = weakref.WeakSet(), [], GramModel.__init__

    def watched(self, problem):
        alive.add(self)
        seen.append(len(alive))
        start(self, problem)

    monkeypatch.setattr(GramModel, "__init__", watched)
    l0path.cv_fit(blocks(saved(tmp_path, X)), y, cv=4, max_k=3, random_state=0)
    assert seen == [1] * 5  # never two at a time: that of all rows, and one a fold


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_long_columns_do_not_fill_the_memory_with_working_ones(tmp_path, loss):
    n, K = 12_000, 6
    X, y = problem(27, n, 150, loss, "float32")
    design = blocks(saved(tmp_path, X))
    design.memory_limit = 8 * n * 20  # twenty columns of float64
    path = l0path.fit(design, y, loss=loss, lambda2=1e-3, max_k=K)
    assert (
        path.rounds.working.iloc[-1] <= 20 + 6 * 4 + 2 * K
    )  # the first ones, looks at residuals, violators; without a limit there are 100 at the start
    assert_same_path(path, l0path.fit(X, y, loss=loss, lambda2=1e-3, max_k=K))


def test_a_certificate_reads_a_file_for_many_nodes_at_a_time(tmp_path, monkeypatch):
    X, y = problem(28, 80, 1500, "squared", "float32")
    y = y + np.random.default_rng(29).normal(size=80)
    monkeypatch.setattr("l0path.exact.contest.COPIED_WHOLE", 0)  # too large to be copied
    found, reads, read = [], [], tree.Tree._read

    def counted(self, nodes):
        reads[-1] += 1
        return read(self, nodes)

    monkeypatch.setattr(tree.Tree, "_read", counted)
    for design in (X, blocks(saved(tmp_path, X))):
        path = l0path.fit(design, y, lambda2=0.1, max_k=3)
        reads.append(0)
        found.append(path.certify(k=3, time_limit=None))
    assert (
        found[0].proven
        and found[1].proven
        and found[0].incumbent == pytest.approx(found[1].incumbent, rel=1e-9)
    )
    assert found[0].nodes > 100 and reads[1] < 0.9 * reads[0], reads


def test_a_pass_allocates_little(tmp_path):
    X = np.zeros((500, 40_000), dtype=np.float32, order="F")  # 80 MB
    design = blocks(saved(tmp_path, X), memory_limit="10MB")
    R, weights = np.ones((500, 20)), np.full(500, 0.002)
    for task in (
        lambda: design.correlate(R),
        lambda: design.moments(weights, True),
        design.nonfinite,
        lambda: design.columns(np.arange(200)),
    ):
        assert peak(task) < 8 * 40_000 * 20 + 20e6


def test_columns_are_kept_for_reuse_within_the_budget(tmp_path):
    X, _ = problem(20, 1000, 400, "squared")
    design = blocks(saved(tmp_path, X), memory_limit="10MB")
    np.testing.assert_array_equal(design.columns(np.arange(400)), X)
    assert 0 < design._held <= 10_000_000 // 8 and design._held == sum(
        column.nbytes for column in design._kept.values()
    )
    np.testing.assert_array_equal(design.columns(np.arange(400)[::-1]), X[:, ::-1])
    with pytest.raises(IndexError, match="column 400 is out of range"):
        design.columns([400])


def test_a_design_can_be_pickled(tmp_path):
    X, _ = problem(21, 40, 10, "squared")
    copies, A = genotypes(np.random.default_rng(22), 40, 10)
    for source, wanted in (
        (saved(tmp_path, X), X),
        (parquet_of(tmp_path, X, 20), X),
        (write_bed(tmp_path, copies), A),
    ):
        again = pickle.loads(pickle.dumps(blocks(source)))
        np.testing.assert_allclose(again.columns(np.arange(10)), wanted, rtol=1e-14)


def test_two_fits_at_once(tmp_path):
    X, y = problem(23, 80, 300, "squared")
    design, wanted = blocks(saved(tmp_path, X)), l0path.fit(X, y, max_k=4)
    for path in threads_of(lambda: l0path.fit(design, y, max_k=4)):
        assert_same_path(path, wanted)


def threads_of(call):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        return [future.result() for future in [pool.submit(call) for _ in range(3)]]


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


def test_optional_packages_are_imported_late():
    code = (
        "import sys, l0path; "
        "print([name for name in ('zarr', 'dask', 'bed_reader') if name in sys.modules])"
    )
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(l0path.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.strip() == "[]", done.stderr


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
