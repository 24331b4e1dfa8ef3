"""Sources of the numbers of an out-of-core design: files read into our own buffers, Zarr and Dask
arrays, Parquet.

A source has n, p, dtype (of what it reads), nbytes (stored), names (p strings or None), chunk
(rows, columns) that cost as much to read as any part of them, `decoded` (whether a chunk is decoded
as a whole, and so is in memory as a whole, to read any part of it), `parallel` (whether threads may
read side by side), and

    read(rows, left, right, buffer=None)    design of the entries [rows, start:stop], rows a slice;
                                            in `buffer` (an uint8 array) where that saves an
                                            allocation, overwritten by the next read into it
    ahead(left, right)                      a hint that these columns come soon; only where threads
                                            read side by side
"""

import os
import threading
from pathlib import Path

import numpy as np

from l0path.designs.checks import check_dtype, check_shape
from l0path.designs.dense import Dense
from l0path.designs.disk.bed import BedSource
from l0path.designs.disk.raw_file import RawFile

EXTRA = 'pip install "l0path[blocks]"'
GAP, PIECE = (
    1 << 14,
    1 << 20,
    # bytes between two pieces of lines that cost no more to read than another call of the system;
    # bytes
    # of whole lines read at once
)
CHUNKS = 4
KINDS = (
    "a np.memmap, a path to a .npy, .bed, .parquet or .zarr file, a Zarr or Dask array, or an array"
)


class FileSource:
    """A dense matrix in a file, column after column (order "F") or row after row ("C"), from byte
    `offset` on. Read by `pread`: pages of a map would count as memory of this process.
    """

    names, decoded = None, False

    def __init__(self, path, shape, dtype, offset=0, order="F"):
        check_shape(shape, "source")
        self.path = str(path)
        (self.n, self.p) = shape
        self.dtype = np.dtype(dtype)
        self.offset = int(offset)
        self.order = order
        check_dtype(self.dtype, "source")
        self.nbytes = self.n * self.p * self.dtype.itemsize
        if os.path.getsize(self.path) < self.offset + self.nbytes:
            need = (
                f"{self.n} x {self.p} entries of {self.dtype} from byte {self.offset} need "
                f"{self.offset + self.nbytes}"
            )
            raise ValueError(
                f"source {self.path} has {os.path.getsize(self.path)} bytes, {need}; the file was "
                "cut short: write it anew"
            )
        self.parallel = order == "F"
        self.chunk = (self.n, 1) if order == "F" else (1, self.p)
        self.file = RawFile(path)

    def __repr__(self):
        return f"{Path(self.path).name}, {self.dtype}"

    def read(self, rows, start, stop, buffer=None):
        """Dense design of the entries [rows, start:stop], in the order and dtype of the file."""
        height, width, item = rows.stop - rows.start, stop - start, self.dtype.itemsize
        size = height * width * item
        raw = (
            np.empty(size, dtype=np.uint8)
            if buffer is None or buffer.size < size
            else buffer[:size]
        )
        lines, length, span, skip, at = (
            (width, height, self.n, rows.start, start)
            if self.order == "F"
            else (height, width, self.p, start, rows.start)
        )
        if length == span:
            self.file.fill(raw, self.offset + at * span * item)
        elif (span - length) * item <= GAP:
            some = max(1, PIECE // (span * item))
            for top in range(0, lines, some):
                part = raw.reshape(lines, -1)[top : top + some]
                whole = np.empty((len(part), span * item), dtype=np.uint8)
                self.file.fill(whole.reshape(-1), self.offset + (at + top) * span * item)
                part[:] = whole[:, skip * item : (skip + length) * item]
        else:
            for i, line in enumerate(raw.reshape(lines, -1)):
                self.file.fill(line, self.offset + ((at + i) * span + skip) * item)
        return Dense(raw.view(self.dtype).reshape((height, width), order=self.order), 0)

    def ahead(self, start, stop):
        """Let the system fetch these columns from the disk; costs no memory of this process."""
        column = self.n * self.dtype.itemsize
        self.file.ahead(self.offset + start * column, (stop - start) * column)


class ArraySource:
    """Anything with shape, dtype and slices that become NumPy arrays: arrays, Zarr arrays, Dask
    arrays (computed block by block).
    """

    names = None

    def __init__(self, array, chunk, what, decoded=True):
        check_shape(array.shape, "source")
        check_dtype(np.dtype(array.dtype), "source")
        self.decoded = decoded
        self.array = array
        self.what = what
        (self.n, self.p) = array.shape
        self.dtype = np.dtype(array.dtype)
        self.chunk = tuple(
            max(1, min(int(c), size)) for c, size in zip(chunk, array.shape, strict=True)
        )
        self.nbytes, self.parallel = self.n * self.p * self.dtype.itemsize, False

    def __repr__(self):
        return f"{self.what} in chunks of {self.chunk[0]} x {self.chunk[1]}, {self.dtype}"

    def read(self, rows, start, stop, buffer=None):
        """Dense design of the entries [rows, start:stop]."""
        return Dense(np.asarray(self.array[rows, start:stop]), 0)


class ParquetSource:
    """The columns of a Parquet file, all of them numbers; a missing value reads as NaN. The index
    of a DataFrame that was written is no column.
    """

    decoded = True

    def __init__(self, path):
        self.path = str(path)
        self._open()
        meta, schema = self._file.metadata, self._file.schema_arrow
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        names = [name for name in schema.names if name not in index]
        check_shape((meta.num_rows, len(names)), "source")
        repeated = (
            sorted({name for name in names if names.count(name) > 1})
            if len(set(names)) < len(names)
            else []
        )
        if repeated:
            raise ValueError(
                f"source {self.path} has several columns called {repeated[0]!r}; write the file "
                "with a name for each"
            )
        kinds = {}
        for name in names:
            try:
                kinds[name] = np.dtype(schema.field(name).type.to_pandas_dtype())
            except NotImplementedError:
                kinds[name] = np.dtype(object)
        bad = [
            f"{name} ({schema.field(name).type})"
            for name, kind in kinds.items()
            if kind.kind not in "fiub"
        ]
        if bad:
            raise TypeError(
                f"source {self.path} has {len(bad)} columns that are not real numbers: "
                f"{', '.join(bad[:5])}; write the file without them, or encode them as numbers"
            )
        self.n, self.p, self.names, self.parallel = meta.num_rows, len(names), names, False
        self.dtype = (
            np.dtype(np.float32)
            if all(kind in (np.float32, np.float16) for kind in kinds.values())
            else np.dtype(np.float64)
        )
        self.nbytes = os.path.getsize(self.path)
        self.chunk = (max(1, -(-self.n // max(meta.num_row_groups, 1))), 1)
        starts = np.cumsum([0, *(meta.row_group(i).num_rows for i in range(meta.num_row_groups))])
        self._groups = starts

    def _open(self):
        parquet = optional("pyarrow.parquet", "Parquet files")
        if os.path.isdir(self.path):
            raise ValueError(
                f"source {self.path} is a folder; pass one Parquet file, or "
                "dask.dataframe.read_parquet(folder).to_dask_array(lengths=True)"
            )
        try:
            self._file = parquet.ParquetFile(self.path, memory_map=False)
            self._lock = threading.Lock()
        except ValueError as error:
            raise ValueError(
                f"source {self.path} is no Parquet file: {error}; write it anew, for example by "
                "DataFrame.to_parquet"
            ) from error

    def __getstate__(self):
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_file", "_lock")
        } | {"path": os.path.abspath(self.path)}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._open()

    def __repr__(self):
        return f"{Path(self.path).name} in {self._groups.size - 1} row groups, {self.dtype}"

    def read(self, rows, start, stop, buffer=None):
        """Dense design of the entries [rows, start:stop]; only the row groups that hold them are
        decoded.
        """
        first = np.searchsorted(self._groups, rows.start, side="right") - 1
        last = np.searchsorted(self._groups, rows.stop)
        with self._lock:
            table = self._file.read_row_groups(
                list(range(first, last)), columns=self.names[start:stop]
            )
        out = np.empty((rows.stop - rows.start, stop - start), dtype=self.dtype, order="F")
        skip = rows.start - self._groups[first]
        for i, name in enumerate(self.names[start:stop]):
            column = table[name].slice(skip, rows.stop - rows.start)
            out[:, i] = (
                column.to_numpy() if column.null_count == 0 else column.cast("double").to_numpy()
            )
        return Dense(out, 0)


def optional(module, what):
    """Import an optional package, or raise ImportError with the command that installs it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} need the package {module.split('.')[0]}: {EXTRA}") from error


def shape_of(source, width, most):
    """(height, width) of blocks of a range of `width` columns with about `most` entries: whole
    chunks, at least one, all rows first, unless chunks span all columns.
    """
    (down, across), n, most = source.chunk, source.n, max(int(most), 1)
    if not source.decoded:  # a part of a chunk costs its part of the memory
        down = min(down, max(most // across, 1))
    if across >= source.p and down < n:
        height = max(most // width // down, 1) * down
    else:
        height = n if across * n <= most else max(most // across // down, 1) * down
        width = min(max(most // min(height, n) // across, 1) * across, width)
    return min(height, n), max(width, 1)


def bytes_of_chunks(source):
    """Bytes of the chunks that are in memory at a time: of the block in use and of the next one,
    as numbers and while they are decoded.
    """
    down, across = source.chunk
    return CHUNKS * down * across * source.dtype.itemsize if source.decoded else 0


def check_chunks(source, limit):
    """Refuse a memory limit under which no whole chunk can be read: each would be decoded again for
    every part of it.
    """
    need = -(-bytes_of_chunks(source) * 3 // 2)  # and room for what is computed
    if need > limit:
        down, across = source.chunk
        one = down * across * source.dtype.itemsize
        raise MemoryError(
            f"memory_limit of {limit / 1e6:.4g} MB is too small for {source!r}: a chunk of "
            f"{one / 1e6:.4g} MB is decoded as a whole, whatever part of it is read, and {CHUNKS} "
            f"of them are in memory at a time; pass memory_limit='{-(-need // 10**6)}MB' or more, "
            "or store X in smaller chunks, best of few columns: l0path.designs.convert(source, "
            f"'X.npy', memory_limit='{-(-need // 10**6)}MB') once"
        )


def open_source(source):
    """The source record of whatever `blocks` takes."""
    if all(hasattr(source, name) for name in ("n", "p", "chunk", "read")):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _from_path(Path(source))
    if isinstance(source, np.memmap):
        return _from_map(source)
    module = type(source).__module__.split(".")[0]
    if module == "dask":
        dask_array(source)
        return ArraySource(source, source.chunksize, "Dask array")
    if module == "zarr":
        if not hasattr(source, "chunks"):
            raise TypeError(
                f"source={source!r} is a Zarr group; pass one of its arrays, group[name]"
            )
        return ArraySource(source, getattr(source, "shards", None) or source.chunks, "Zarr array")
    if module == "bed_reader":
        if not isinstance(source.location, (str, Path)) or not source.count_A1:
            raise ValueError(
                f"source={source!r} must be a file on this machine that counts allele A1: "
                "bed_reader.open_bed(path, count_A1=True)"
            )
        return BedSource(source.location, source.iid_count, source.sid)
    if isinstance(source, np.ndarray):
        return ArraySource(
            source,
            (source.shape[0], 1)
            if source.ndim == 2 and source.strides[0] <= source.strides[1]
            else (1, source.shape[-1] if source.ndim else 1),
            "array",
            decoded=False,
        )
    raise TypeError(f"source={type(source).__name__} cannot be read in blocks; pass {KINDS}")


def dask_array(source):
    """Refuse Dask arrays whose shape is not known, and Dask data frames."""
    from dask.array import Array

    if not isinstance(source, Array) or any(
        not isinstance(size, (int, np.integer)) for size in source.shape
    ):
        raise ValueError(
            f"source={source!r} has no known shape: pass a Dask array with known chunks "
            "(frame.to_dask_array(lengths=True))"
        )


def _from_path(path):
    if not path.exists():
        raise FileNotFoundError(f"source={str(path)!r} does not exist; pass {KINDS}")
    kind = path.suffix.lower()
    if kind == ".npy":
        try:
            array = np.load(path, mmap_mode="r")
        except (EOFError, ValueError) as error:
            raise ValueError(
                f"source {path} is no .npy file of numbers: {error}; write it by numpy.save or "
                "l0path.designs.convert"
            ) from error
        record, names = _from_map(array), Path(f"{path}.names.txt")
        record.names = (
            names.read_text(encoding="utf-8").removesuffix("\n").split("\n")
            if names.exists()
            else None
        )
        return record
    if kind == ".bed":
        return BedSource(path)
    if kind in (".parquet", ".pq"):
        return ParquetSource(path)
    if kind == ".zarr" or path.is_dir():
        zarr = optional("zarr", "Zarr arrays")
        try:
            array = zarr.open(str(path), mode="r")
        except (OSError, ValueError) as error:
            raise ValueError(
                f"source {path} is no Zarr array: {error}; pass the folder of one array, not of "
                "its store"
            ) from error
        return open_source(array)
    raise ValueError(
        f"source={str(path)!r} is of no known kind ({kind or 'no suffix'}); pass {KINDS}; "
        "l0path.designs.convert makes a .npy of a CSV file"
    )


def _from_map(X):
    """A whole np.memmap, or a range of its columns (order F) or rows (order C), as a file; other
    views, and maps whose changes are not in the file, are read through the map.
    """
    order = "F" if X.flags.f_contiguous else "C" if X.flags.c_contiguous else None
    if (
        X.ndim != 2
        or order is None
        or getattr(X, "_mmap", None) is None
        or X.mode == "c"
        or not X.filename
    ):
        return ArraySource(
            X,
            X.shape
            if X.ndim != 2
            else (X.shape[0], 1)
            if X.strides[0] <= X.strides[1]
            else (1, X.shape[1]),
            "np.memmap",
            decoded=False,
        )
    whole = np.frombuffer(X._mmap, dtype=np.uint8)
    granule = X.offset - X.offset % _granularity()
    return FileSource(
        X.filename, X.shape, X.dtype, granule + X.ctypes.data - whole.ctypes.data, order
    )


def _granularity():
    import mmap

    return mmap.ALLOCATIONGRANULARITY
