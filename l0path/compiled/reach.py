"""The stamp of a kernel: a hash of the code and the constants that it can reach.

numba stamps a stored kernel by its own source file alone, so it would run an old kernel when only
a callee in another file has changed. A kernel reaches other code by name and no other way: global
names of its module, cells of its closure, attributes of modules of this package, and the
implementations of generic verbs. This module follows these names. Two kernels with the same stamp
are compiled from the same bytecode and the same constants; a comment, a docstring or a function
that the kernel never calls leave the stamp as it is.
"""

import hashlib
import inspect
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher

PACKAGE = __name__.partition(".")[0]
GENERIC_VERBS = {}  # generic verb: its registry of implementations by class


class UnknownKind(TypeError):
    """A kernel reaches something that has no stamp: such a kernel is never stored."""


def in_package(thing):
    """Whether a class or function was defined in this package."""
    return (thing.__module__ or "").partition(".")[0] == PACKAGE


def records(kinds):
    """The classes of the records among kinds of arguments, and within these: a set."""
    found, waiting = set(), list(kinds)
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, types.BaseNamedTuple):
            found.add(kind.instance_class)
        if isinstance(kind, types.BaseTuple):
            waiting.extend(kind)
    return found


def stamp(function):
    """Hash of everything that compiling the function can read.

    Parameters
    ----------
    function : function
        The Python function of a kernel.

    Returns
    -------
    str
        The hash, the same in every process with the same sources and the same Python.

    Raises
    ------
    UnknownKind
        If the function reaches an object whose value cannot be told.
    """
    seen, waiting, texts = set(), [function], []
    while waiting:
        found = waiting.pop()
        if found not in seen:
            seen.add(found)
            text, reached = _describe(found)
            texts.append(text)
            waiting.extend(reached)
    return hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()


def _describe(function):
    """Text of one function, and the functions of this package that it names."""
    if function in GENERIC_VERBS:
        chosen = {c: f for c, f in GENERIC_VERBS[function].items() if c is object or in_package(c)}
        names = sorted(
            f"{c.__module__}.{c.__qualname__}={f.__qualname__}" for c, f in chosen.items()
        )
        return f"verb {_name(function)} {names}", list(chosen.values())
    reached = []
    codes = _nested(function.__code__)
    names = {name for code in codes for name in code.co_names}
    things = {name: function.__globals__[name] for name in names & function.__globals__.keys()}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    things |= {name: cell.cell_contents for name, cell in cells}
    things |= dict(enumerate(function.__defaults__ or ()))
    things |= function.__kwdefaults__ or {}
    read = [_code(code, function.__doc__, reached, names) for code in codes]
    words = [f"function {_name(function)}", *read]
    words += sorted(f"{name}: {_text(thing, reached, names)}" for name, thing in things.items())
    return " ".join(words), reached


def _name(thing):
    return f"{thing.__module__}.{thing.__qualname__}"


def _nested(code):
    """A code object and those of the functions defined inside it."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return [code, *(found for const in inner for found in _nested(const))]


def _code(code, docstring, reached, names):
    """The parts of a code object that numba reads: not its docstring, no line numbers."""
    start = 1 if code.co_consts[:1] == (docstring,) else 0
    consts = tuple(c for c in code.co_consts[start:] if not isinstance(c, CodeType))
    read = (code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    flags = code.co_flags | inspect.CO_OPTIMIZED  # which numba clears while a profiler runs
    signature = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, flags)
    return f"{read} {signature} {_text(consts, reached, names)}"


def _text(thing, reached, names):
    """Text of a constant that a function names; functions of the package go into `reached`."""
    if isinstance(thing, Dispatcher):
        reached.append(thing.py_func)
        return f"kernel {_name(thing.py_func)} {options(thing)}"
    if isinstance(thing, FunctionType):
        if in_package(thing):
            reached.append(thing)
        return f"function {_name(thing)}"
    if isinstance(thing, type):
        fields = getattr(thing, "_fields", ()) if in_package(thing) else ()
        return f"class {_name(thing)} {fields}"
    if isinstance(thing, ModuleType):
        named = names & vars(thing).keys() if thing.__name__.partition(".")[0] == PACKAGE else ()
        inner = [f"{name}: {_text(vars(thing)[name], reached, names)}" for name in sorted(named)]
        return f"module {thing.__name__} {inner}"
    if isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
        flags = (thing.flags.c_contiguous, thing.flags.f_contiguous)
        digest = hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()
        return f"array {thing.dtype} {thing.shape} {flags} {digest}"
    if isinstance(thing, (tuple, list)):
        inner = ", ".join(_text(item, reached, names) for item in thing)
        return f"{_name(type(thing))} ({inner})"
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes, np.generic)):
        return f"{_name(type(thing))} {thing!r}"
    # from Python 3.14 on a slice of constants is a constant of the code itself
    if isinstance(thing, (BuiltinFunctionType, np.ufunc, range, slice)) or thing is Ellipsis:
        return repr(getattr(thing, "__name__", thing))
    raise UnknownKind(f"no stamp for {thing!r}")


def options(dispatcher):
    """Options of a kernel as a text that does not depend on the order of sets."""
    return sorted(
        f"{name}={sorted(value) if isinstance(value, (set, frozenset)) else value}"
        for name, value in dispatcher.targetoptions.items()
    )
