"""Views of vectors that kernels make in few instructions.

For `array[start:stop]` numba writes two hundred instructions, for places may be negative or lie
outside. A kernel that makes a record of many arrays, or reads a dozen arrays out of one, is
compiled in half the time with these.

Of numba this file uses the interface for built-in functions, which is documented, and the
description of an array as `numba.np.arrayobj` makes it, which is not.
"""

from numba.core import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array, populate_array


def part(array, start, stop):
    """array[start:stop] of a vector, 0 <= start <= stop <= its size."""
    return array[start:stop]


def numbers_at(loss, place):
    """The place-th array of the record of a loss, one of numbers; loss: a record with numbers and
    ints, as `problem.verbs.LossData` has them.
    """
    return loss.numbers[loss.ints[2 * place] : loss.ints[2 * place + 1]]


def indices_at(loss, place):
    """As `numbers_at`, an array of indices."""
    return loss.ints[loss.ints[2 * place] : loss.ints[2 * place + 1]]


VIEWS = part, numbers_at, indices_at


@type_callable(part)
def _type_of_part(context):
    return lambda array, start, stop: array


@type_callable(numbers_at)
def _type_of_numbers(context):
    return lambda loss, place: _kind(loss, "numbers")


@type_callable(indices_at)
def _type_of_indices(context):
    return lambda loss, place: _kind(loss, "ints")


def _kind(loss, field):
    """The numba type of a field of a record."""
    return loss.types[loss.fields.index(field)]


@lower_builtin(part, types.Array, types.Integer, types.Integer)
def _part(context, builder, signature, values):
    places = zip(values[1:], signature.args[1:], strict=True)
    start, stop = (context.cast(builder, place, kind, types.intp) for place, kind in places)
    return _view(context, builder, signature, values[0], start, stop)


@lower_builtin(numbers_at, types.BaseNamedTuple, types.Integer)
def _numbers_at(context, builder, signature, values):
    return _array_at(context, builder, signature, values, "numbers")


@lower_builtin(indices_at, types.BaseNamedTuple, types.Integer)
def _indices_at(context, builder, signature, values):
    return _array_at(context, builder, signature, values, "ints")


def _array_at(context, builder, signature, values, field):
    """LLVM code of `numbers_at` and `indices_at`."""
    loss, place = signature.args
    whole, ints = (
        builder.extract_value(values[0], loss.fields.index(name)) for name in (field, "ints")
    )
    data = make_array(_kind(loss, "ints"))(context, builder, ints).data
    at = context.cast(builder, values[1], place, types.intp)
    at = builder.mul(at, at.type(2))
    start, stop = (builder.load(builder.gep(data, [builder.add(at, at.type(i))])) for i in (0, 1))
    return _view(context, builder, signature, whole, start, stop)


def _view(context, builder, signature, array, start, stop):
    """LLVM code of a view of an array."""
    kind = signature.return_type
    whole, out = make_array(kind)(context, builder, array), make_array(kind)(context, builder)
    populate_array(
        out,
        data=builder.gep(whole.data, [start]),
        shape=[builder.sub(stop, start)],
        strides=whole.strides,
        itemsize=whole.itemsize,
        meminfo=whole.meminfo,
        parent=whole.parent,
    )
    return impl_ret_borrowed(context, builder, kind, out._getvalue())
