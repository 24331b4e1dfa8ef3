"""Compiled functions that kernels call by their address.

A kernel that is given a number to call, and not a function, is compiled once for all functions of
one signature, and stored on disk; each further function is compiled alone. `numba.types.
FunctionType` does the same, but takes 12 to 20 microseconds for each function and each entry of a
kernel from Python, more than a small kernel itself.

The call is by numba's own convention, as that of a kernel by a kernel: an error that the function
raises is raised by the kernel that called it.

Of numba this file uses intrinsics, which are documented, of a result of a compilation the fields
`library` and `fndesc`, which `numba.core.ccallback` uses likewise, `call_conv`, and the description
of an array as `numba.np.arrayobj` makes it.
"""

from numba.core import cgutils, config, types
from numba.core.errors import NumbaTypeError
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

FUNCTIONS = {}  # address: the Python function of which compiled code is there


def address_of(kernel, signature):
    """The address at which the code of a kernel for one signature is in this process; a number of
    its own for a function that numba leaves to Python.
    """
    if config.DISABLE_JIT:
        FUNCTIONS[id(kernel)] = kernel
        return id(kernel)
    kernel.compile(signature.args)
    compiled = kernel.overloads[signature.args]
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    FUNCTIONS[address] = kernel.py_func
    return address


def call_at(signature, **options):
    """A function call(address, ...) for kernels and for Python: it calls the function of this
    signature at an address. options: of numba, with which the call is compiled into a kernel.
    """
    given = ", ".join(f"a{i}" for i in range(len(signature.args)))

    def typed(context, address, *kinds):
        for kind, wanted in zip(kinds, signature.args, strict=True):
            if not _passes(kind, wanted):
                raise NumbaTypeError(f"{kind} was given to a call by address in place of {wanted}")
        return signature.return_type(types.int64, *kinds), _lowered

    # numba asks for arguments by their names
    scope = {"typed": typed, "function_at": FUNCTIONS.__getitem__, "__name__": __name__}
    exec(f"def inner(context, address, {given}): return typed(context, address, {given})", scope)
    exec(f"def call(address, {given}): return function_at(address)({given})", scope)
    scope["call"].__qualname__ = f"call {signature}"  # in the stamps of kernels that call it
    scope["inner"] = intrinsic(scope["inner"])
    exec(f"def compiled(address, {given}): return inner(address, {given})", scope)
    exec(f"def chooser(address, {given}): return compiled", scope)
    overload(scope["call"], jit_options=options)(scope["chooser"])
    return scope["call"]


def verb_at(place, signature, names, without):
    """A function verb(loss, ...) for kernels alone: it calls the function of this signature at an
    address that is in the record of a loss.

    Parameters
    ----------
    place : int
        The place of the address in `loss.at`; that of the function itself takes place 0.
    signature : numba signature
        Of the function: the address at place 0, `loss.numbers`, `loss.ints`, `loss.memory`, and the
        arguments of the verb after the loss.
    names : sequence of str
        The names of these.
    without : float, optional
        What is returned where the address is 0; None where it never is.
    """

    def typed(context, loss, *kinds):
        for kind, wanted in zip(kinds, signature.args[4:], strict=True):
            if not _passes(kind, wanted):
                raise NumbaTypeError(f"{kind} was given to a call by address in place of {wanted}")
        return signature.return_type(loss, *kinds), lowered

    def lowered(context, builder, verb, values):
        kind, returned = verb.args[0], verb.return_type
        fields = {
            name: builder.extract_value(values[0], kind.fields.index(name))
            for name in ("at", "numbers", "ints", "memory")
        }
        of_at = kind.types[kind.fields.index("at")]
        data = make_array(of_at)(context, builder, fields.pop("at")).data
        address, finder = (
            builder.load(builder.gep(data, [context.get_constant(types.intp, i)]))
            for i in (place, 0)
        )
        given = [address, finder, *fields.values(), *values[1:]]
        call = returned(types.int64, *signature.args[:4], *verb.args[1:])
        if without is None:
            return _lowered(context, builder, call, given)
        out = None
        if returned != types.none:
            out = cgutils.alloca_once_value(builder, context.get_constant(returned, without))
        with builder.if_then(cgutils.is_not_null(builder, address)):
            found = _lowered(context, builder, call, given)
            if out is not None:
                builder.store(found, out)
        return context.get_dummy_value() if out is None else builder.load(out)

    arguments = ", ".join(names)
    scope = {"typed": typed, "__name__": __name__}
    exec(f"def inner(context, loss, {arguments}): return typed(context, loss, {arguments})", scope)
    scope["inner"] = intrinsic(scope["inner"])
    exec(f"def verb(loss, {arguments}): return inner(loss, {arguments})", scope)
    return scope["verb"]


def _passes(kind, wanted):
    """Whether an argument is passed as the wanted kind is: an array that is not to be written to
    is, too.
    """
    if isinstance(wanted, types.Array):
        alike = isinstance(kind, types.Array) and kind.layout == wanted.layout and kind.aligned
        return alike and (kind.dtype, kind.ndim) == (wanted.dtype, wanted.ndim)
    return kind == wanted


def _lowered(context, builder, signature, values):
    """The call in LLVM code."""
    returned, kinds, convention = signature.return_type, signature.args[1:], context.call_conv
    function = convention.get_function_type(returned, kinds)
    pointer = builder.inttoptr(values[0], function.as_pointer())
    status, out = convention.call_function(builder, pointer, returned, kinds, values[1:])
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return out
