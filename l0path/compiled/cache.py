"""Compiled kernels on disk: one file per kernel and kinds of arguments, named by a hash of all that
it was compiled from, so that a file is either right or not found.

Of numba this file uses parts that are not documented: the attribute `_cache` of a dispatcher, which
is asked by `load_overload` before a kernel is compiled and told by `save_overload` after it (both
under numba's compiler lock), `CompileResult._reduce` and `_rebuild`, and `codegen().magic_tuple()`.
What goes wrong with a file, or in numba, costs only time: the kernel is compiled.
"""

import atexit
import contextlib
import functools
import hashlib
import os
import pickle
import pkgutil
import stat
import sys
import tempfile
import time
import uuid
from pathlib import Path

from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from .reach import PACKAGE, UnknownKind, in_package, options, records, stamp
from .shipped import chosen_level, versions

ENDING = ".kernel"
MOST_BYTES = 512 * 2**20  # bytes in a folder above which the entries unused for longest are removed
LONGEST_WAIT = 20.0  # seconds for another process to compile a kernel; then it is compiled here too
# files of this folder that numba compiles with
MAKERS = ("addresses", "front_end", "lowering", "parts")
DIGEST_BYTES = 32  # bytes of the checksum in front of the contents
# what files, pickles and numba's own functions raise: on a file of another numba, on a kernel that
# cannot be stored, in a numba that has renamed them. Only calls of these stand in a `try`.
FOREIGN = (
    OSError,
    EOFError,
    pickle.PickleError,
    AttributeError,
    ImportError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


class KernelCache(NullCache):
    """The cache that numba asks for a kernel before compiling it, and gives the kernel to
    afterwards.
    """

    on_missing = []  # called without arguments before a kernel of the package is compiled

    def __init__(self, dispatcher):
        self.dispatcher = dispatcher
        self.stem = None

    @property
    def cache_path(self):
        return str(next(iter(KERNEL_FOLDERS.folders()), ""))

    def load_overload(self, sig, target_context):
        """The shipped or else the stored kernel for these kinds of arguments, or None."""
        target_context.refresh()
        target = _target(target_context.codegen())
        found = _rebuilt(target_context, self._shipped(sig, target))
        if found is not None:
            return found
        name = self._name(sig, target)
        data = KERNEL_FOLDERS.read(name) if name else None
        if data is None and name:
            for told in self.on_missing:
                told()
            data = KERNEL_FOLDERS.read(name) if KERNEL_FOLDERS.elsewhere(name) else None
        return _rebuilt(target_context, data)

    def save_overload(self, sig, data):
        """Store a kernel that was just compiled."""
        if data.lifted or data.library.has_dynamic_globals:
            return
        name = self._name(sig, _target(data.codegen))
        if name is None:
            return
        try:
            contents = dumps(data._reduce())
        except FOREIGN:  # it cannot be stored, as numba's own cache would find
            return
        KERNEL_FOLDERS.write(name, contents)
        KERNEL_FOLDERS.release(name)

    def _shipped(self, sig, target):
        """Contents of the file that the companion has for these kinds of arguments, or None."""
        level, folder, _ = chosen_level()
        name = self._name(sig, level.target(target[0])) if level and target else None
        return read(folder / name) if name else None

    def entry(self, kinds):
        """Name of the file of the specialization to these kinds of arguments, None when it must
        not be stored or is shipped.
        """
        target = _target(self.dispatcher.targetctx.codegen())
        return None if self._shipped(kinds, target) else self._name(kinds, target)

    def _name(self, sig, target):
        """Name of the file of one specialization compiled for `target` (LLVM's triple, processor
        and features), None when it must not be stored.
        """
        described = _signature_text(sig)
        if described is None or target is None:
            return None
        if self.stem is None:
            function = self.dispatcher.py_func
            try:
                made_of = [stamp(function), options(self.dispatcher), *_versions()]
            except UnknownKind:
                made_of = None
            self.stem = (f"{function.__module__}.{function.__qualname__}", made_of)
        kernel, made_of = self.stem
        if made_of is None:
            return None
        key = hashlib.sha256(repr((made_of, described, target)).encode()).hexdigest()
        return f"{kernel.replace('<', '').replace('>', '')}-{key[:40]}{ENDING}"


def _target(codegen):
    """(triple, processor, features) that LLVM compiles for, None where numba does not tell."""
    try:
        return codegen.magic_tuple()
    except FOREIGN:
        return None


def _rebuilt(target_context, data):
    """numba's result of a compilation from what was stored of it, None where it cannot be."""
    if data is None:
        return None
    try:
        return CompileResult._rebuild(target_context, *data)
    except FOREIGN:
        return None


def read(path):
    """Contents of a file of a kernel, None when there is no such file or it is damaged."""
    try:
        raw = path.read_bytes()
        if hashlib.sha256(raw[DIGEST_BYTES:]).digest() != raw[:DIGEST_BYTES]:
            return None
        return pickle.loads(raw[DIGEST_BYTES:])
    except FOREIGN:
        return None


@functools.cache
def _way_of_compiling():
    """A hash of the files of this folder that change what numba makes of a kernel; "" where the
    package came without its sources.
    """
    with contextlib.suppress(OSError):
        sources = (pkgutil.get_data(__package__, f"{name}.py") for name in MAKERS)
        return hashlib.sha256(b"\0".join(source or b"" for source in sources)).hexdigest()
    return ""


def _versions():
    """Everything besides the code that determines the compiled form of a kernel."""
    settings = (config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.BOUNDSCHECK)
    return (
        *versions().values(),
        _way_of_compiling(),
        *(str(value) for value in settings),
        str(config.DEBUGINFO_DEFAULT),
    )


def _signature_text(sig):
    """Text of the kinds of arguments, with the fields of each record, or None: a kernel for a
    record from outside the package (a user's loss) is never stored, for its code has no stamp.
    """
    found = records(getattr(sig, "args", sig))
    if not all(map(in_package, found)):
        return None
    names = sorted(f"{one.__module__}.{one.__qualname__}{one._fields}" for one in found)
    text = f"{sig} {names}"
    return None if " at 0x" in text else text  # the address of a function: of this process alone


class Folders:
    """Folders of kernels of this process: read from all of them, written to the first that can
    be. Nothing here raises: where no folder can be written, kernels are not stored.
    """

    def __init__(self):
        self.failed = {}  # folder: why it cannot be written
        self.said = self.cleaned = False
        self.shared = False  # other processes compile kernels of the same fit
        self.claims = {}  # entry: file that says that this process compiles it

    @staticmethod
    def folders(make=False):
        """Folders to read from and, in this order, to write to: the user's, then a private
        temporary one, which is made if asked for.
        """
        found = (_user_folder(), _temporary_folder(make))
        return [folder for folder in found if folder is not None]

    def read(self, name):
        """Contents of an entry, None when no folder has it whole."""
        self._refused()
        for folder in self.folders():
            contents = read(folder / name) if _trusted_file(folder / name) else None
            if contents is not None:
                self._used(folder / name)
                return contents
        return None

    def writable(self):
        """Whether kernels can be stored in the user's folder."""
        folder = _user_folder()
        if folder is None or folder in self.failed:
            return False
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(folder, os.W_OK)

    def elsewhere(self, name):
        """Wait while another process compiles an entry: whether it is there now. Otherwise claim
        the entry for this process. Callers wait for callees and never the other way round, so
        nobody waits for each other.
        """
        folder = _user_folder()
        if not self.shared or folder is None:
            return False
        claim = folder / f"{name}.claim"
        until = time.monotonic() + LONGEST_WAIT
        while time.monotonic() < until:
            try:
                with open(claim, "x"):
                    self.claims[name] = claim
                # the other may have stored it between our look and our claim
                return (folder / name).exists()
            except FileExistsError:
                with contextlib.suppress(OSError):
                    if time.time() - claim.stat().st_mtime > LONGEST_WAIT:
                        claim.unlink()  # of a process that was ended
                time.sleep(0.02)
                if (folder / name).exists():
                    return True
            except OSError:
                return False
        return False

    def state(self, name):
        """Return "stored", "claimed" or None: what the user's folder says of an entry."""
        folder = _user_folder()
        if folder is None or (folder / name).exists():
            return "stored"
        return "claimed" if (folder / f"{name}.claim").exists() else None

    def release(self, name):
        """Give up the claim on an entry that is stored now."""
        claim = self.claims.pop(name, None)
        if claim is not None:
            with contextlib.suppress(OSError):
                claim.unlink()

    def release_all(self):
        """Give up all claims: this process ends."""
        for name in list(self.claims):
            self.release(name)

    @staticmethod
    def _used(path):
        """Note the day on which an entry was last used."""
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > 86400:
                os.utime(path)

    def write(self, name, contents):
        """Store an entry in the first folder that takes it; say once where that is not the
        user's.
        """
        raw = hashlib.sha256(contents).digest() + contents
        user = _user_folder()
        if user is not None:
            if self._replace(user, name, raw):
                return
        elif not self._refused():
            self.failed["the user's folder for caches"] = "there is no home folder"
        temporary = _temporary_folder(make=True)
        kept = temporary is not None and self._replace(temporary, name, raw)
        if not self.said:
            self.said = True
            self._say(temporary if kept else None)

    def _refused(self):
        """Whether the user's folder is passed over because of others; a line says so once."""
        wanted = _wanted_folder()
        why = "" if wanted is None else _untrusted(wanted)
        if why and not self.said:
            self.said = True
            self.failed[wanted] = f"{why}; what is stored there is run"
            self._say(_temporary_folder(make=True))
        return bool(why)

    def _replace(self, folder, name, raw):
        """Whether the folder took an entry; one that failed once is not asked again."""
        if folder in self.failed:
            return False
        try:
            _replace(folder, name, raw)
        except OSError as error:
            self.failed[folder] = error.strerror or str(error)
            return False
        if not self.cleaned:
            self.cleaned = True
            clean(folder)
        return True

    def _say(self, folder):
        """Write a line on stderr, once per process, and only where the user's folder could not be
        written.
        """
        first, why = next(iter(self.failed.items()))
        instead = (
            "every process compiles them anew" if folder is None else f"they are kept in {folder}"
        )
        print(
            f"l0path: kernels could not be stored in {first} ({why}): {instead}. Set "
            "NUMBA_CACHE_DIR to a folder that you, and nobody else, can write to.",
            file=sys.stderr,
        )


KERNEL_FOLDERS = Folders()
atexit.register(KERNEL_FOLDERS.release_all)


def _user_folder():
    """The user's folder of kernels; None without a home, or where somebody else could write to
    it.
    """
    folder = _wanted_folder()
    return None if folder is None or _untrusted(folder) else folder


def _wanted_folder():
    """NUMBA_CACHE_DIR where it is set, else the user's folder for caches (~/.cache); None for a
    user without a home.
    """
    if config.CACHE_DIR:
        return Path(os.path.abspath(config.CACHE_DIR), PACKAGE)
    folder = AppDirs(appname=PACKAGE, appauthor=False).user_cache_dir
    return Path(folder, "kernels") if os.path.isabs(folder) else None


_trusted = set()  # folders that passed `_untrusted` when they were there: nobody else changes that


def _untrusted(folder):
    """Why a folder may not be used, "" where it may: it and the folders that it is in, by whatever
    links, belong to this user or to root, and nobody else can write to them. A folder that others
    can write to may stand above it where it is sticky, for there they cannot replace what is not
    theirs. Modes are no rule on Windows, where the folders are the user's own by default.
    """
    if os.name == "nt" or folder in _trusted:
        return ""
    real = Path(os.path.realpath(folder))
    there = real.exists()  # one that is not may still be made by another user, where /tmp holds it
    for path in dict.fromkeys([folder, *folder.parents, real, *real.parents]):
        try:
            state = path.stat()
        except FileNotFoundError:
            continue  # it is made by this user
        except OSError:
            continue  # it cannot be entered, so nothing is read from it
        if state.st_uid not in (0, os.getuid()):
            return f"{path} belongs to another user"
        if not _open_to_others(state):
            continue
        if path in (folder, real) or not state.st_mode & stat.S_ISVTX:
            return f"others can write to {path}"
    if there:
        _trusted.add(folder)
    return ""


def _trusted_file(path):
    """Whether a file belongs to this user or to root and nobody else can write to it: in a folder
    that is private now it may be from a time when others could write there.
    """
    try:
        state = path.stat()
    except OSError:
        return False
    return os.name == "nt" or (state.st_uid in (0, os.getuid()) and not _open_to_others(state))


def _open_to_others(state):
    """Whether a user beside the owner can write to a folder or file. The group of a user alone,
    which many systems give, is no other user.
    """
    if state.st_mode & stat.S_IWOTH:
        return True
    if not state.st_mode & stat.S_IWGRP:
        return False
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(state.st_gid), pwd.getpwuid(os.getuid())
    except KeyError:
        return True
    alone = state.st_gid == user.pw_gid and group.gr_name == user.pw_name
    return not (alone and set(group.gr_mem) <= {user.pw_name})


def _temporary_folder(make):
    """A folder among the temporary ones that belongs to this user and that nobody else can write
    to: what is stored is run. None where there is no such folder.
    """
    try:
        if os.name == "nt":  # the temporary folder is the user's own
            return Path(tempfile.gettempdir(), f"{PACKAGE}-kernels")
        folder = Path(tempfile.gettempdir(), f"{PACKAGE}-kernels-{os.getuid()}")
        if make:
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
        state = folder.lstat()
        private = stat.S_ISDIR(state.st_mode) and not state.st_mode & 0o022
        private = private and state.st_uid == os.getuid() and not _untrusted(folder)
        return folder if private else None
    except OSError:  # there is none, or none can be made
        return None


def _replace(folder, name, raw):
    """Write a file so that other processes see all of it or nothing."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = folder / f"{name}.{uuid.uuid4().hex[:12]}.partial"
    try:
        with open(partial, "xb", opener=_private) as stream:
            stream.write(raw)
        os.replace(partial, folder / name)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()
        if os.name != "nt" or not (folder / name).exists():  # there another process may read it
            raise


def _private(path, flags):
    """A file that only its owner can write to, whatever the user's mask is."""
    return os.open(path, flags, 0o644)


def clean(folder, largest=MOST_BYTES):
    """Remove entries until the folder is below three quarters of `largest` bytes, if it is above
    it, those unused for longest first, and files that were left half-written an hour ago.
    """
    with contextlib.suppress(OSError):
        found = []
        for path in folder.iterdir():
            state = path.stat()
            if path.suffix in (".partial", ".claim") and time.time() - state.st_mtime > 3600:
                path.unlink()
            elif path.suffix == ENDING and stat.S_ISREG(state.st_mode):
                found.append((state.st_mtime, state.st_size, path))
        total = sum(size for _, size, _ in found)
        if total > largest:
            for _, size, path in sorted(found):
                if total <= 0.75 * largest:
                    break
                path.unlink()
                total -= size
