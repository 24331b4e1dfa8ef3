"""Sources of designs on disk, and files of them, for the tests of designs in blocks."""

import numpy as np
import pandas as pd
import pytest

from l0path.designs.disk.bed import MAGIC


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
