"""Files of arrays: written whole or not at all, and read array by array, each checked before memory
is taken for it.
"""

from __future__ import annotations

import io
import json
import math
import os
import stat
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

# what is read from a file takes at most FREE bytes of memory and PACKED_TIMES its size
FREE, PACKED_TIMES = 1 << 25, 100


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
            raise IsADirectoryError(21, "it is a folder")
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
        remedy = "free some space, or save under another name"
        if not target.parent.is_dir():
            remedy = f"make the folder {target.parent}, or save in another one"
        elif target.is_dir():
            remedy = "add the name of a file"
        raise OSError(
            error.errno,
            f"the file could not be written ({error.strerror or error}), and what was there is "
            f"unchanged; {remedy}",
            str(file),
        ) from error


_BINARY = getattr(os, "O_BINARY", 0)  # Windows alone tells text from bytes


def _in_place(target, write):
    with open(target, "wb") as stream:
        write(stream)


class OtherFormat(ValueError):
    """Raised for a whole file that this version does not read; the text goes on after its name."""


def read_file(file: Any, read: Callable) -> Any:
    """read(archive) of a file; every error that its content may raise is a ValueError that names
    the file.
    """
    name = file_name(file, "l0path.load('path.npz')")
    if not name.exists():
        raise FileNotFoundError(f"no file {name}")
    if name.is_dir():
        raise ValueError(
            f"{name} is a folder without the file path.npz, which the command line writes; name a "
            "file in it"
        )
    with open(name, "rb") as stream:
        # zip, zlib, NumPy and JSON each have their own ways to say that bytes are wrong
        try:
            stored = Archive(stream)
        except Exception as error:
            raise _damaged(name, "not a path file, or it is damaged", error) from error
        try:
            return read(stored)
        except OtherFormat as error:
            raise ValueError(f"{name} {error}") from None
        except Exception as error:
            raise _damaged(name, "damaged", error) from error


def _damaged(name, what, error):
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, KeyError):
        reason = f"it lacks the entry {error}"
    return ValueError(f"{name} is {what} ({reason[:500]}); write it again with save(file)")


class Archive:
    """The arrays of a zip file as `numpy.savez` writes it. Nothing is read before it is asked for;
    `array` then says what it must be. Archives inside it share its `Allowance`.
    """

    def __init__(self, stream: Any, allowance: Allowance | None = None) -> None:
        self.allowance = Allowance(_length(stream)) if allowance is None else allowance
        self._zip = zipfile.ZipFile(stream)
        self._sizes = {info.filename: info for info in self._zip.infolist()}
        if len(self._sizes) < len(self._zip.infolist()):
            raise ValueError("two of its members have the same name")

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._sizes

    def has(self, member: str) -> bool:
        """Whether there is a member of this whole name."""
        return member in self._sizes

    def _opened(self, member):
        """(stream, size in bytes) of a member."""
        if member not in self._sizes:
            raise ValueError(f"{member} is missing")
        info = self._sizes[member]
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{member} is packed by method {info.compress_type}")
        return self._zip.open(info), info.file_size

    def array(self, name: str, dtype: Any, shape: tuple) -> np.ndarray:
        """The array of this name, of that dtype and shape; an entry of the shape is a length, or a
        range of lengths. ValueError before memory is taken for anything else.
        """
        stream, size = self._opened(f"{name}.npy")
        with stream:
            if np.lib.format.read_magic(stream) != (1, 0):  # heads of others may be of any length
                raise ValueError(f"{name} is of another format of arrays")
            have, fortran, kind = np.lib.format.read_array_header_1_0(stream)
            if kind != np.dtype(dtype):
                raise ValueError(f"{name} has dtype {kind}, not {np.dtype(dtype)}")
            if len(have) != len(shape) or any(
                own not in length if isinstance(length, range) else own != length
                for length, own in zip(shape, have, strict=True)
            ):
                raise ValueError(f"{name} has shape {have}, not {shape}")
            count = math.prod(have)
            if size != stream.tell() + count * kind.itemsize:
                raise ValueError(f"{name} has {size} bytes, its shape {have} needs others")
            self.allowance.take(count * kind.itemsize, name)
            values = np.frombuffer(bytearray(_read(stream, count * kind.itemsize)), dtype=kind)
        return values.reshape(have, order="F" if fortran else "C")

    def json(self, name: str) -> dict:
        """The content of a text of JSON, an object, that is stored as an array of bytes."""
        return self._parsed(self.array(name, np.uint8, (range(sys.maxsize),)).tobytes(), name)

    def json_member(self, member: str) -> dict:
        """The content of a member that is a text of JSON, an object."""
        stream, size = self._opened(member)
        self.allowance.take(size, member)
        with stream:
            return self._parsed(_read(stream, size), member)

    def _parsed(self, text, name):
        self.allowance.take(json_bytes(text), name)
        try:
            content = json.loads(text.decode())
        except RecursionError:
            raise ValueError(f"{name} is nested too deeply") from None
        if not isinstance(content, dict):
            raise ValueError(f"{name} is no JSON object")
        return content

    def inner(self, member: str) -> Archive:
        """An archive that is a member of this one, stored as it is: its own list of members could
        unpack to any size.
        """
        if self.has(member) and self._sizes[member].compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{member} is packed, an archive in an archive must be stored")
        stream, size = self._opened(member)
        self.allowance.take(size, member)
        with stream:
            return Archive(io.BytesIO(_read(stream, size)), self.allowance)


class Allowance:
    """The bytes of memory that may still be taken for what is read from a file of `size` bytes."""

    def __init__(self, size: int) -> None:
        self.left = FREE + PACKED_TIMES * size

    def take(self, count: int, what: str) -> None:
        """Take `count` bytes; ValueError where no more than the allowance is left."""
        if count > self.left:
            raise ValueError(
                f"{what} needs {count} bytes of memory, out of proportion to the size of the file"
            )
        self.left -= count


def json_bytes(text: bytes) -> int:
    """A bound on the bytes of memory that JSON takes when it is parsed: four for each character,
    and what objects of CPython need for each entry, each pair and each object.
    """
    entries = sum(map(text.count, (b",", b"[", b":")))
    return 4 * len(text) + 72 * entries + 240 * text.count(b"{")


def write_arrays(arrays: dict, more: int, stream: Any) -> None:
    """Write a zip of arrays to a stream, packed unless that makes what is read out of proportion
    to its size (`Allowance`): constant columns, say. more: bytes that are taken on top of the
    arrays when they are read.
    """
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    taken = more + sum(array.nbytes for array in arrays.values())
    if taken > PACKED_TIMES * packed.tell():
        packed = io.BytesIO()
        np.savez(packed, **arrays)
    stream.write(packed.getbuffer())


def _length(stream):
    """The length of a stream in bytes."""
    length = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    return length


def _read(stream, size):
    """Exactly so many bytes; a call without a number would unpack all that is there."""
    raw = stream.read(size)
    if len(raw) != size:
        raise ValueError(f"{stream.name} ends early")
    return raw
