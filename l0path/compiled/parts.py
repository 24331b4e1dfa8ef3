"""Kernels that kernels call are compiled into their callers, and nowhere else.

numba compiles what a kernel calls as if Python called it: it optimizes it, makes machine code of
it, with wrappers that unpack Python objects, and then does all of it again within each caller.
Here a callee ends as LLVM code that is not optimized; the kernel that Python enters inlines and
optimizes all that it reaches, once, and none of a callee's own machine code is ever made. This
halves the time of a first fit.

A kernel that is called both by Python and by kernels is compiled for each of the two. Callees are
not stored on disk: they are in what is stored of their callers.

Of numba this file uses pipelines of passes, which are documented, and `JITCodeLibrary`,
`NativeLowering` and the flags of a compilation, which are not. A release that has changed them need
not fail: it may make kernels that compute something else. So only releases that were tested are
compiled with in this way; under others, and where one has none of these, kernels are compiled
numba's own way.
"""

import os
import re
import sys
from functools import cache

import numba
from llvmlite import binding as llvm
from numba.core import config

LOWEST, ABOVE = "0.61", "0.69"  # versions of numba that were tested; pyproject.toml asks for them
ANY_VARIABLE = "L0PATH_ANY_NUMBA"  # set where a newer release is to be tried in this way too


def tested(version):
    """Whether a version of numba, such as "0.68.1", is one of those that were tested."""
    lowest, this, above = (
        tuple(map(int, re.findall(r"\d+", text)[:2])) for text in (LOWEST, version, ABOVE)
    )
    return lowest <= this < above


def may_be_shortened():
    """Whether the numba at hand is one of those that were tested, or to be tried; else one line on
    stderr says what follows from it.
    """
    if tested(numba.__version__) or os.environ.get(ANY_VARIABLE):
        return True
    if not os.environ.get("L0PATH_QUIET"):
        print(
            f"l0path: numba {numba.__version__} is not one of the versions tested, {LOWEST} and "
            f"later, below {ABOVE}: kernels are compiled numba's own way, which takes minutes",
            file=sys.stderr,
        )
    return False


try:
    if not may_be_shortened():
        raise ImportError
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler_machinery import register_pass

    from .front_end import NumbasLowering, ShortCompiler, ShortLowering, falling_back
    from .lowering import ShortLower
except ImportError:
    ENTRY_OPTIONS = CALLEE_OPTIONS = {}
else:

    class WholeLibrary(JITCodeLibrary):
        """LLVM code of a kernel and its callees, optimized once, as a whole, with loops in vector
        units but not unrolled beyond that, which would double the machine code. The kernel itself
        is simplified before its callees are linked to it, as numba does: without this, LLVM leaves
        the innermost loop of `updates.unscreened` half as fast.
        """

        def _optimize_final_module(self):
            # nobody else sees them: what is inlined everywhere is dropped, and what is called is
            # given those parts of records that it reads, and not all of their arrays
            for name in self.callees:
                self._final_module.get_function(name).linkage = "internal"
            tuning = llvm.create_pipeline_tuning_options(int(config.OPT))
            tuning.loop_vectorization = bool(config.LOOP_VECTORIZE)
            tuning.slp_vectorization = bool(config.SLP_VECTORIZE)
            # without copies of a loop side by side: a fifth of LLVM's time less, and as fast
            tuning.loop_unrolling = tuning.loop_interleaving = False
            # a third of LLVM's own, so that what is called in several places is compiled once where
            # it is more than a few operations
            tuning.inlining_threshold = 75
            builder = llvm.create_pass_builder(self._codegen._tm, tuning)
            builder.getModulePassManager().run(self._final_module, builder)

        def finalize(self):
            """Link all that the kernel reaches, and make machine code of it."""
            self._linking_libraries = in_order(self._linking_libraries)
            callees = [one for one in self._linking_libraries if isinstance(one, CalleeLibrary)]
            self.callees = {name for one in callees for name in one.names}
            super().finalize()

    class CalleeLibrary(WholeLibrary):
        """LLVM code of one callee, to be linked into callers: not optimized, never machine code."""

        def _optimize_functions(self, ll_module):
            ll_module.data_layout = self._codegen._data_layout

        def finalize(self):
            """Nothing is added any more."""
            functions = self._final_module.functions
            self.names = [one.name for one in functions if not one.is_declaration]
            self._finalized = True

        def _get_module_for_linking(self):
            return self._final_module

    def in_order(libraries):
        """Libraries once each, callees first: LLVM drops what numba's own have and nobody calls
        yet.
        """
        return sorted(dict.fromkeys(libraries), key=lambda one: not isinstance(one, CalleeLibrary))

    @register_pass(mutates_CFG=True, analysis_only=False)
    class EntryLowering(ShortLowering):
        """Lowering of typed code to LLVM, into a `WholeLibrary`."""

        _name = "l0path_entry_lowering"

        def run_pass(self, state):
            """Lower one kernel that Python enters."""
            with falling_back():
                name = state.func_id.func_qualname
                state.library = WholeLibrary(state.targetctx.codegen(), name)
                state.library.enable_object_caching()
            return super().run_pass(state)

    @register_pass(mutates_CFG=True, analysis_only=False)
    class CalleeLowering(NumbasLowering):
        """Lowering of typed code to LLVM, into a `CalleeLibrary` and without wrappers."""

        _name = "l0path_callee_lowering"

        def run_pass(self, state):
            """Lower one callee."""
            flags = state.flags
            flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
            state.library = CalleeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            super().run_pass(state)
            # numba finds a callee by its entry point, a built-in function; nobody calls this one
            entry_point = state.library.__sizeof__
            libraries = [state.library, *in_order(state.library._linking_libraries)]
            state.targetctx.insert_user_function(entry_point, state.cr.fndesc, libraries)
            state["cr"] = state.cr._replace(cfunc=entry_point)
            return True

    @register_pass(mutates_CFG=True, analysis_only=False)
    class ShortCalleeLowering(CalleeLowering):
        """The same by `ShortLower`."""

        _name = "l0path_short_callee_lowering"
        lowering_class = ShortLower

        def run_pass(self, state):
            """Lower one callee."""
            with falling_back():
                return super().run_pass(state)

    class CalleeCompiler(ShortCompiler):
        """The compiler for callees."""

        lowering, numbas_lowering = ShortCalleeLowering, CalleeLowering

    class EntryCompiler(ShortCompiler):
        """The compiler for kernels that Python enters."""

        lowering = EntryLowering

    ENTRY_OPTIONS = {"pipeline_class": EntryCompiler, "no_cfunc_wrapper": True}
    CALLEE_OPTIONS = {"pipeline_class": CalleeCompiler}


def compile_into_callers(kernel, make):
    """Let kernels that call `kernel` take what `make()` makes of the same function with
    `CALLEE_OPTIONS`. It is made when the first of them is compiled: many never are.
    """
    callee = cache(make)
    kernel.get_call_template = lambda args, kws: callee().get_call_template(args, kws)
    kernel.get_overload = lambda signature: callee().get_overload(signature)
