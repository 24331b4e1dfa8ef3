"""Files of arrays: written whole or not at all, and read array by array, each checked before memory
is taken for it.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

LARGE_TEXT, PACKED_TIMES = (
    1 << 26,
    100,
)  # a text of more bytes may be at most so many times as large as stored


def file_name(file: Any, call: str) -> Path:
    """The name of a file as a Path; TypeError for anything else."""
    if not isinstance(file, (str, PathLike)):
        raise TypeError(f"file={file!r} must be the name of a file, for example {call}")
    return Path(file)


def write_whole(file: Path, write: Callable) -> None:
    """Call write(stream) on a new file beside `file`, which then takes its name: what was there
    stays as it is until everything is written. Links are followed; the mode of a file that is
    replaced is kept, a new one has that of the umask. What is no plain file, or lies in a folder
    that takes no new files, is written in place.
    """
    target = Path(os.path.realpath(file))
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            return _in_place(target, write)
        if target.is_dir():
            raise IsADirectoryError(21, "it is a folder; add the name of a file")
        part = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        except PermissionError:
            if target.is_file() and os.access(target, os.W_OK):
                return _in_place(target, write)
            raise
        try:
            with os.fdopen(handle, "wb") as stream:
                if target.exists():
                    os.chmod(part, stat.S_IMODE(target.stat().st_mode))
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(part, target)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        raise OSError(
            error.errno,
            f"the file could not be written ({error.strerror or error}), and what was there is "
            "unchanged; free some space, or save under another name",
            str(file),
        ) from error


_BINARY = getattr(os, "O_BINARY", 0)  # Windows alone tells text from bytes


def _in_place(target, write):
    with open(target, "wb") as stream:
        write(stream)


class Archive:
    """The arrays of a zip file as `numpy.savez` writes it. Nothing is read before it is asked for;
    `array` then says what it must be.
    """

    def __init__(self, stream: Any) -> None:
        self._zip = zipfile.ZipFile(stream)
        self._sizes = {info.filename: info for info in self._zip.infolist()}
        if len(self._sizes) < len(self._zip.infolist()):
            raise ValueError("two of its arrays have the same name")

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._sizes

    def array(self, name: str, dtype: Any, shape: tuple) -> np.ndarray:
        """The array of this name, of that dtype and shape, -1 in it for any length; ValueError
        before memory is taken for anything else.
        """
        info = self._sizes[f"{name}.npy"]
        with self._zip.open(info) as stream:
            version = np.lib.format.read_magic(stream)
            head = np.lib.format.read_array_header_1_0
            if version != (1, 0):
                head = np.lib.format.read_array_header_2_0
            have, fortran, kind = head(stream)
            if kind != np.dtype(dtype):
                raise ValueError(f"{name} has dtype {kind}, not {np.dtype(dtype)}")
            if len(have) != len(shape) or any(
                length not in (-1, own) for length, own in zip(shape, have, strict=True)
            ):
                raise ValueError(f"{name} has shape {have}, not {shape}")
            count = int(np.prod(have, dtype=object)) if have else 1
            if info.file_size != stream.tell() + count * kind.itemsize:
                raise ValueError(
                    f"{name} has {info.file_size} bytes, its shape {have} needs others"
                )
            values = np.frombuffer(bytearray(stream.read()), dtype=kind)
        return values.reshape(have, order="F" if fortran else "C")

    def text(self, name: str) -> str:
        """Text stored as bytes; ValueError where it is far larger than what is stored of it."""
        info = self._sizes[f"{name}.npy"]
        if info.file_size > max(LARGE_TEXT, PACKED_TIMES * info.compress_size):
            raise ValueError(f"{name} unpacks to {info.file_size} bytes")
        return self.array(name, np.uint8, (-1,)).tobytes().decode()
