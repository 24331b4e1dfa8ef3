"""Verbs that work alike in Python and in compiled kernels, chosen by the class of a record, whose
methods they are: `functools.singledispatch`, and the same choice made by numba at compile time.
"""

import os
import sys
from functools import cache, singledispatch
from inspect import signature

from numba import njit as _njit
from numba.core import event
from numba.core.dispatcher import Dispatcher
from numba.extending import overload

from ..compiled import (
    GENERIC_VERBS,
    HELPING_PROCESSES,
    KernelCache,
    call_at,
    in_package,
    records,
    shipped,
)
from ..compiled.parts import CALLEE_OPTIONS, ENTRY_OPTIONS, compile_into_callers

OPTIONS = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "error_model": "numpy"}


def njit(function, *, forceinline=False, **options):
    """Compile a kernel: cached on disk, GIL released (threads run kernels side by side), sums may
    be reordered so that loops use vector units; NaN and infinity keep their meaning. Kernels from
    outside this package are not stored, for what they reach has no stamp.

    forceinline: whether kernels take it in wherever they call it, see `njit_inlined`; without it
    LLVM decides. options: more of numba's.
    """
    function.__signature__ = signature(function)  # which numba asks for again and again
    # said in either case: numba gives a kernel that leaves it open what that one has which calls it
    # first, and all that verbs reach would be in their callers as often as it is called
    common = {"nogil": True, "forceinline": forceinline, **OPTIONS}
    kernel = _njit(**common, **ENTRY_OPTIONS, **options)(function)
    if isinstance(kernel, Dispatcher) and in_package(function):  # not with NUMBA_DISABLE_JIT=1
        kernel._cache = KernelCache(kernel)
        callee = _njit(**common, **CALLEE_OPTIONS)
        compile_into_callers(kernel, lambda: callee(function))
    return kernel


def njit_inlined(function):
    """Compile a kernel that others take in wherever they call it, of a few operations on numbers:
    a loop that calls it can then use vector units.
    """
    return njit(function, forceinline=True)


def njit_by_address(function):
    """Compile a kernel that kernels call by its address, and Python never: without the code that
    takes the arguments out of Python objects, which is a third of what a small kernel takes.
    """
    return njit(function, no_cpython_wrapper=True)


def generic(function):
    """A verb chosen by the class of its first argument, a `NamedTuple` record, in Python and in
    kernels; see `with_verbs`. An implementation may have another one for kernels, `in_kernels`.

    `instance_class` of numba's named-tuple type is undocumented: this is the only place that reads
    it.
    """
    verb = generic_in_python(function)
    GENERIC_VERBS[verb] = verb.registry

    def choose(record, *args):
        found = verb.dispatch(record.instance_class)
        return getattr(found, "in_kernels", found)

    # inlined and without exceptions for a division by zero: the loop around the verb can then use
    # vector units, 5 times faster for the logistic loss
    options = {"cache": False, "forceinline": True, **CALLEE_OPTIONS, **OPTIONS}
    overload(verb, jit_options=options, strict=False)(choose)  # names of arguments may differ
    return verb


VERBS, KINDS = [], []  # all verbs, and all classes of records that have them as methods


def generic_in_python(function):
    """A verb chosen by the class of its first argument, in Python alone."""
    verb = singledispatch(function)
    VERBS.append(verb)
    for kind in KINDS:
        _register_method(verb, kind)
    return verb


def with_verbs(kind):
    """A class decorator: the methods of a record that have the name of a verb are what the verb
    does for such records.
    """
    KINDS.append(kind)
    for verb in VERBS:
        _register_method(verb, kind)
    return kind


def _register_method(verb, kind):
    """Register the method of a class with the name of a verb, if it has one."""
    method = vars(kind).get(verb.__name__)
    if method is not None:
        verb.register(kind)(method)


def calling(signature):
    """`call_at` for our kernels."""
    return call_at(signature, cache=False, forceinline=True, **CALLEE_OPTIONS, **OPTIONS)


@cache
def compiled_method(kind, name):
    """A method of a class of the user's as numba compiles it: a division by zero is no error."""
    return _njit(error_model="numpy")(getattr(kind, name))


class _Announce(event.Listener):
    """Says once per process, on stderr, that kernels are being compiled: a first fit that takes
    seconds then has a visible reason. The verbs of a loss of the user's own take a second.
    """

    said = False

    def on_start(self, event):
        source = getattr(event.data.get("dispatcher"), "py_func", None)
        if (
            not _Announce.said
            and source is not None
            and in_package(source)
            and all(map(in_package, records(event.data["args"])))
        ):
            _Announce.said = True
            if not os.environ.get("L0PATH_QUIET"):
                beside = (
                    f" in {HELPING_PROCESSES.count + 1} processes"
                    if HELPING_PROCESSES.count
                    else ""
                )
                why = f"; {shipped.told()}" if shipped.told() else ""
                print(
                    f"l0path: compiling kernels{beside}, up to 30 s, once per machine and "
                    f"kind of problem (l0path.warm_up() does it ahead of time{why})",
                    file=sys.stderr,
                )

    def on_end(self, event):
        pass


event.register("numba:compile", _Announce())
