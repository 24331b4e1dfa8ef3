"""numba's way from bytecode to typed code, shorter for kernels that are plain loops.

A large part of a compilation passes in Python code of numba. Three things in it serve what our
kernels do not use, and are left out here: passes for closures, with blocks and literal unrolling;
the search through all overloads of an operator, which is done once per kinds of operands and
process here instead of at each place; and what `lowering` leaves out. A kernel that needs what is
left out fails in the short pipeline, and numba's own, which is always tried after it, compiles it.

Of numba this file uses pipelines of passes, which are documented, and the typing context, which is
not. Where a release has none of them, numba's own way is used.
"""

import operator
from contextlib import contextmanager
from types import CodeType

import numpy as np
from numba.core import ir, types
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.errors import LoweringError
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.typing import Context

from .lowering import ShortLower, assignments

# passes for what plain loops do not have. Of those that prune branches, the first remains.
SKIPPED_PASSES = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "AnnotateTypes",
    "DumpParforDiagnostics",
}
PASS_RUN_ONCE = "DeadBranchPrune"
PLAIN_KINDS = (
    types.Number,
    types.Boolean,
    types.Literal,
    types.NoneType,
    types.Array,
    types.SliceType,
)


class RememberingContext(Context):
    """numba's typing context, with a memory of the signatures of operators and built-in functions
    on numbers and arrays. It shares the state of the context that it stands for.
    """

    def __init__(self, context):
        self.__dict__ = context.__dict__
        self.__dict__.setdefault("_l0path_signatures", {})

    def __eq__(self, other):  # numba finds what it compiled by the context, among other things
        return isinstance(other, Context) and self.__dict__ is other.__dict__

    def __hash__(self):
        return id(self.__dict__)

    def resolve_function_type(self, func, args, kws):
        """Signature of a function for these kinds of arguments. Where code calls a kernel with a
        number that stands there, such as 0, numba would compile the kernel for this value alone,
        and once more for each other one; here it is compiled for numbers of this kind.
        """
        if isinstance(func, types.Dispatcher):
            return super().resolve_function_type(func, tuple(map(types.unliteral, args)), kws)
        if kws or not all(map(_simple, args)):
            return super().resolve_function_type(func, args, kws)
        known = self._l0path_signatures
        if (func, args) not in known:
            signature = super().resolve_function_type(func, args, kws)
            of = func if isinstance(func, types.Type) else self._lookup_global(func)
            chosen = getattr(of, "_impl_keys", None)  # which overload was the last to be chosen
            if signature is None or (chosen is not None and signature.args not in chosen):
                return signature
            known[func, args] = (signature, chosen, chosen and chosen[signature.args])
        signature, chosen, overload = known[func, args]
        if chosen is not None:
            chosen[signature.args] = overload
        return signature

    def resolve_setitem(self, target, index, value):
        """Signature of the assignment to an item."""
        function = self.resolve_value_type(operator.setitem)
        return self.resolve_function_type(function, (target, index, value), {})


def _simple(kind):
    """Whether numba's choice of an overload for a kind depends on nothing but the kind."""
    if isinstance(kind, types.UniTuple):
        return isinstance(kind.dtype, types.Integer)
    return isinstance(kind, PLAIN_KINDS)


@register_pass(mutates_CFG=True, analysis_only=False)
class RewritesWherePossible(NopythonRewrites):
    """numba's rewrites of typed code, where there is something that they look for: products and
    sums of whole arrays, lists, and strings as indices.
    """

    _name = "l0path_rewrites"

    def run_pass(self, state):
        """Rewrite one function, or leave it as it is."""
        kinds = state.typemap
        found = any(isinstance(kind, (types.List, types.StringLiteral)) for kind in kinds.values())
        if not found and not any(_of_arrays(*pair, kinds) for pair in assignments(state.func_ir)):
            return False
        return super().run_pass(state)


def _of_arrays(name, expression, kinds):
    """Whether what is assigned computes a whole array."""
    if not isinstance(kinds[name], types.Array) or not isinstance(expression, ir.Expr):
        return False
    if expression.op != "call":
        return expression.op in ("unary", "binop", "inplace_binop")
    return getattr(kinds[expression.func.name], "typing_key", None) not in (np.empty, np.zeros)


@contextmanager
def falling_back():
    """Within the block, errors that come of a numba that is not as expected are those of a pipeline
    that fails, after which numba tries the next one.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise LoweringError(f"numba is not as expected: {error!r}") from error


@register_pass(mutates_CFG=True, analysis_only=False)
class ShortLowering(NativeLowering):
    """Lowering by `ShortLower`."""

    _name = "l0path_lowering"
    lowering_class = ShortLower

    def run_pass(self, state):
        """Lower one kernel."""
        with falling_back():
            return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class NumbasLowering(NativeLowering):
    """numba's own lowering, in a pipeline that may come after one that failed."""

    _name = "l0path_numbas_lowering"

    def run_pass(self, state):
        """Lower one kernel."""
        state.status.fail_reason = None  # which numba reports even where a later pipeline succeeds
        return super().run_pass(state)


class ShortCompiler(Compiler):
    """numba's compiler with the short pipeline, and its own where that fails."""

    lowering, numbas_lowering = ShortLowering, NumbasLowering

    def __init__(self, typingctx, *args):
        super().__init__(RememberingContext(typingctx), *args)

    def define_pipelines(self):
        """Return the pipelines that numba tries."""
        full = super().define_pipelines()
        for pipeline in full:
            pipeline.passes = [
                (self.numbas_lowering if step is NativeLowering else step, text)
                for step, text in pipeline.passes
            ]
        constants = self.state.func_id.code.co_consts
        if any(isinstance(constant, CodeType) for constant in constants):  # a function inside it
            return full
        return [_shortened(super().define_pipelines()[0], self.lowering), *full]


def _shortened(pipeline, lowering):
    """A pipeline without the passes that plain loops do not need."""
    instead = {NopythonRewrites: RewritesWherePossible, NativeLowering: lowering}
    passes = []
    seen = set()
    for step, text in pipeline.passes:
        if step.__name__ not in SKIPPED_PASSES and not (
            step.__name__ == PASS_RUN_ONCE and PASS_RUN_ONCE in seen
        ):
            passes.append((instead.get(step, step), text))
        seen.add(step.__name__)
    pipeline.passes = passes
    pipeline.finalize()
    return pipeline
