"""Any source, or a CSV file, to a column-major .npy file that `blocks` reads fast."""

from __future__ import annotations

import os
import warnings
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from l0path.core.progress import Bar
from l0path.designs.disk.sources import FileSource, check_chunks, open_source, shape_of

LINES = 1 << 22  # entries of a CSV file parsed at a time
PAGE = 1 << 12  # bytes below which a piece of a line of a file costs as much as a page


class ColumnFile(NamedTuple):
    """A column-major matrix of n rows in an open file, from byte `start` on."""

    file: BinaryIO
    start: int
    n: int
    dtype: np.dtype

    def write(self, rows, cols, values):
        """Write values as the entries [rows, cols], refused where the dtype cannot hold them.

        Not through a map: its pages would count as memory of this process, all of the file's where
        values are whole rows.
        """
        if self.dtype.kind in "iub" and self.dtype != values.dtype:
            with np.errstate(invalid="ignore"):
                cast = values.astype(self.dtype)
            if not (cast == values).all():
                raise ValueError(
                    f"dtype={self.dtype} cannot hold every value of the columns {cols.start} to "
                    f"{cols.stop - 1}; use dtype='float32'"
                )
            values = cast
        try:
            with np.errstate(over="raise"):
                columns = np.ascontiguousarray(values.T, dtype=self.dtype)
        except FloatingPointError as error:
            raise ValueError(
                f"dtype={self.dtype} cannot hold every value of the columns {cols.start} to "
                f"{cols.stop - 1}; use dtype='float64'"
            ) from error
        for j, column in (
            [(cols.start, columns.reshape(-1))]
            if columns.shape[1] == self.n
            else enumerate(columns, cols.start)
        ):
            self.file.seek(self.start + (j * self.n + rows.start) * self.dtype.itemsize)
            self.file.write(column)


def convert(
    source: Any,
    file: str | PathLike,
    *,
    dtype: DTypeLike = "float32",
    progress: bool | None = None,
    memory_limit: int | str = "256MB",
) -> Path:
    """Write X as a column-major .npy file, block by block: `blocks(convert("X.csv", "X.npy"))`.

    Parameters
    ----------
    source : memmap, str, path, or array
        What `blocks` takes, an array, or a path to a .csv / .csv.gz file (UTF-8) with one line of
        column names, all columns numbers (an empty field becomes NaN; empty lines are skipped,
        unless there is one column only).
    file : str or path
        The .npy file, replaced only once it is complete. Column names of a CSV, Parquet or BED file
        go to FILE.names.txt beside it, one a line: `blocks` reads them.
    dtype : dtype, default "float32"
        "float32" (half the size and time, 7 digits; sums are float64), "float64", or any NumPy real
        dtype.
    progress : bool, optional
        A bar on stderr, as in `l0path.fit`.
    memory_limit : int or str, default "256MB"
        Bytes, as in `blocks`; more makes fewer, longer writes.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    ValueError
        If a value does not fit in the dtype.
    MemoryError
        If memory_limit holds no whole chunks of a source that decodes them.

    Examples
    --------
    >>> import l0path, os, tempfile
    >>> import numpy as np
    >>> X, name = np.arange(12.0).reshape(4, 3), os.path.join(tempfile.mkdtemp(), "X.npy")
    >>> file = l0path.designs.convert(X, name, progress=False)
    >>> np.load(file).dtype, np.load(file).flags.f_contiguous
    (dtype('float32'), True)
    """
    from l0path.designs.disk.memory_limit import bytes_of

    dtype, file, memory = np.dtype(dtype), Path(file), max(bytes_of(memory_limit) // 4, 1)
    if dtype.kind not in "fiub":
        raise TypeError(f"dtype={dtype} must be a real number type, such as 'float32'")
    if file.suffix != ".npy" or file.is_dir():
        raise ValueError(
            f"file={str(file)!r} must be the path of a .npy file, which `blocks` knows by its "
            f"name: {str(file.with_suffix('.npy'))!r}"
        )
    csv = isinstance(source, (str, os.PathLike)) and str(source).lower().endswith(
        (".csv", ".csv.gz")
    )
    if csv:
        pieces, n, p, names = _csv(source, memory)
    else:
        opened = open_source(source)
        check_chunks(opened, 4 * memory)
        pieces, n, p, names = _source(opened, memory)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(file.name + ".part")
    try:
        empty = np.lib.format.open_memmap(
            part, mode="w+", dtype=dtype, shape=(n, p), fortran_order=True
        )
        start = empty.offset
        del empty
        with (
            open(part, "r+b") as out,
            Bar(progress, "l0path convert", n * p, "entries", unit_scale=True) as bar,
        ):
            matrix = ColumnFile(out, start, n, dtype)
            for rows, cols, values in pieces:
                matrix.write(rows, cols, values)
                bar.update(values.size)
        os.replace(part, file)
    finally:
        pieces.close()
        part.unlink(missing_ok=True)
    beside = Path(f"{file}.names.txt")
    if names is not None:
        beside.write_text(
            "".join(name.replace("\r", " ").replace("\n", " ") + "\n" for name in names),
            encoding="utf-8",
            newline="\n",
        )
    else:
        beside.unlink(missing_ok=True)
    return file


def _source(source, memory):
    """(pieces, n, p, names) of a source; pieces (rows, columns, values)."""
    height, width = shape_of(source, source.p, memory // 8)
    if (
        isinstance(source, FileSource) and source.order == "C"
    ):  # parts of rows, so that what is written is long, too
        width = min(source.p, max(PAGE // source.dtype.itemsize, memory // 8 // source.n))
        height = max(1, min(source.n, memory // 8 // width))

    def pieces():
        for start in range(0, source.p, width):
            for top in range(0, source.n, height):
                rows = slice(top, min(top + height, source.n))
                cols = slice(start, min(start + width, source.p))
                yield (
                    rows,
                    cols,
                    source.read(rows, cols.start, cols.stop).columns(
                        np.arange(cols.stop - cols.start)
                    ),
                )

    return pieces(), source.n, source.p, source.names


def _csv(path, memory):
    """The same of a CSV file, which is read twice: for its number of lines, then for its
    numbers.
    """
    path = Path(path)
    names = _header(path)
    blank = len(names) > 1  # of one column an empty line is an empty field
    lines = max(1, min(LINES, memory // 8) // len(names))
    n = sum(len(frame) for frame in _frames(path, lines * 16, blank, usecols=[0]))

    def pieces():
        top = 0
        for frame in _frames(path, lines, blank):
            bad = [
                name
                for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
                if dtype.kind not in "fiub"
            ]
            if bad:
                raise TypeError(
                    f"source {path} has columns that are not numbers, the first {bad[0]!r} (lines "
                    f"{top + 2} to {top + len(frame) + 1}); drop them, or encode them as numbers"
                )
            yield (
                slice(top, top + len(frame)),
                slice(0, len(names)),
                frame.to_numpy(dtype=np.float64),
            )
            top += len(frame)

    if n == 0:
        raise ValueError(f"source {path} has column names but no rows")
    return pieces(), n, len(names), names


def _header(path):
    """Column names of a CSV file; refused where the first line looks like a row of numbers (numbers
    as names, wavelengths say, go up or down).
    """
    import pandas as pd

    try:
        names = [str(name) for name in pd.read_csv(path, nrows=0, index_col=False).columns]
        number = not np.isnan(pd.to_numeric(names[0], errors="coerce"))
        first = pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0] if number else names[:0]
    except (pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(
            f"source {path} is no CSV file in UTF-8 with a line of column names: {error}"
        ) from error
    steps = np.diff(pd.to_numeric(first, errors="coerce"))
    if np.isfinite(steps).all() and not (steps > 0).all() and not (steps < 0).all():
        raise ValueError(
            f"source {path} has numbers in its first line, {', '.join(names[:3])}, ..., which must "
            "name the columns; write names above them"
        )
    return names


def _frames(path, lines, blank, usecols=None):
    """DataFrames of some lines of a CSV file, one after the other; a line with more fields than the
    first one is refused, not shifted or cut.
    """
    import pandas as pd

    try:
        with pd.read_csv(
            path, chunksize=lines, skip_blank_lines=blank, index_col=False, usecols=usecols
        ) as reader:
            while True:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", pd.errors.ParserWarning)
                    frame = next(reader, None)
                if frame is None:
                    return
                yield frame
    except (pd.errors.ParserError, pd.errors.ParserWarning, UnicodeDecodeError) as error:
        raise ValueError(
            f"source {path} cannot be read: {error}; every line must have as many fields as the "
            "first one has names, in UTF-8"
        ) from error
