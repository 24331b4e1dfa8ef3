"""Typed kernels to LLVM code with fewer instructions than numba writes for them.

Most of what numba writes for a plain loop is gone after LLVM's first passes: it copies an array's
description to memory and back for each entry that is read, and counts references of arrays that
belong to the caller of a kernel. For the largest kernel of a squared fit numba wrote 37 000
instructions, of which 3 400 were left; this file writes 22 500. `ShortLower` writes the entry's
address at once, and counts references of the arrays that a kernel makes only. What it writes means
the same; negative indices count from the end, as in numba.

Of numba this file uses `Lower`, the data models and `subtarget`, which are not documented. Where
one of them is not as expected, `front_end` lets numba's own lowering do it.
"""

from contextlib import contextmanager

from numba.core import cgutils, ir, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.imputils import impl_ret_borrowed
from numba.core.lowering import Lower

from .views import VIEWS

# indices that give an entry or a view, not a new array
VIEW_INDICES = (types.Integer, types.SliceType)


def assignments(code):
    """(name of the variable, what it is assigned) of all assignments of a function."""
    for block in code.blocks.values():
        for statement in block.find_insts(ir.Assign):
            yield statement.target.name, statement.value


def counted(code, kinds, models):
    """Names of the variables whose references are counted: arrays that this function makes, or
    gets from a function that made them, what is derived from these, and what it returns. All other
    arrays belong to its callers, and live longer than it runs.
    """
    memory = {name for name, kind in kinds.items() if models[kind].contains_nrt_meminfo()}
    if not memory:
        return memory
    found = {
        block.terminator.value.name
        for block in code.blocks.values()
        if isinstance(block.terminator, ir.Return)
    } & memory
    pairs = [(name, value) for name, value in assignments(code) if name in memory]
    more = True
    while more:
        more = False
        for name, value in pairs:
            if name not in found and not _borrowed(value, kinds, found):
                found.add(name)
                more = True
    return found


def held(code):
    """Names of the variables with one assignment that comes before all their uses: their values
    need no place in memory.
    """
    made, used = {}, {}
    for label, block in code.blocks.items():
        for statement in block.body:
            if isinstance(statement, ir.Assign):
                made.setdefault(statement.target.name, []).append(label)
            if not isinstance(statement, ir.Del):
                for part in statement.list_vars():
                    used.setdefault(part.name, set()).add(label)
    before = compute_cfg_from_blocks(code.blocks).dominators()
    return {
        name
        for name, labels in made.items()
        if len(labels) == 1
        and all(labels[0] in before[use] and labels[0] <= use for use in used.get(name, ()))
    }


def _borrowed(value, kinds, found):
    """Whether a value is an argument, a constant, or derived from variables outside `found`."""
    if isinstance(value, (ir.Arg, ir.Global, ir.FreeVar, ir.Const)):
        return True
    if isinstance(value, ir.Var):
        return value.name not in found
    if not isinstance(value, ir.Expr):
        return False
    if value.op == "call":  # a record, or a view, of what there is
        kind = kinds[value.func.name]
        known = isinstance(kind, types.NamedTupleClass) or _is_view(kind)
    elif value.op == "getitem":
        known = _views(kinds[value.index.name])
    elif value.op == "exhaust_iter":  # a, b = b, a
        known = isinstance(kinds[value.value.name], types.BaseTuple)
    else:
        known = value.op in ("getattr", "static_getitem", "build_tuple", "cast", "phi")
    return known and not any(part.name in found for part in value.list_vars())


def _is_view(function):
    """Whether a kind is that of a function of `views`."""
    return isinstance(function, types.Function) and function.typing_key in VIEWS


def _views(index):
    """Whether an index gives an entry or a view."""
    parts = index if isinstance(index, types.BaseTuple) else [index]
    return all(isinstance(part, VIEW_INDICES) for part in parts)


class ShortLower(Lower):
    """numba's `Lower`, with references counted where they are owned, and with entries and rows of
    arrays, and their sizes, in as few instructions as they need.
    """

    def init(self):
        """Called by numba at the end of the constructor."""
        super().init()
        kinds, models = self.fndesc.typemap, self.context.data_model_manager
        self.counted = counted(self.func_ir, kinds, models)
        self.held, self.values = held(self.func_ir) - self.counted, {}
        self.uncounting = self.context.subtarget(enable_nrt=False)
        if not self.counted:
            self.context = self.uncounting

    @contextmanager
    def _without_counts(self):
        """Within the block, no references are counted."""
        before, self.context = self.context, self.uncounting
        try:
            yield
        finally:
            self.context = before

    def lower_assign(self, ty, inst):
        """The value of an assignment."""
        if inst.target.name in self.counted:
            return super().lower_assign(ty, inst)
        with self._without_counts():
            return super().lower_assign(ty, inst)

    def storevar(self, value, name, argidx=None):
        """Store a variable; what it held before is given up only where it is counted."""
        if name in self.counted:
            super().storevar(value, name, argidx)
        elif name in self.held:
            self.values[name] = value
        elif name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    def loadvar(self, name):
        """The value of a variable."""
        return self.values[name] if name in self.held else super().loadvar(name)

    def delvar(self, name):
        """Forget a variable."""
        if name in self.counted:
            super().delvar(name)

    def lower_expr(self, resty, expr):
        """The value of an expression."""
        if expr.op == "getattr" and expr.attr in ("size", "shape"):
            kind = self.typeof(expr.value.name)
            if isinstance(kind, types.Array):
                field = "nitems" if expr.attr == "size" else "shape"
                return self._field(kind, self.loadvar(expr.value.name), field)
        return super().lower_expr(resty, expr)

    def lower_getitem(self, resty, expr, value, index, signature):
        """An entry of an array, or a row of a matrix; other items are left to numba."""
        kind, places = self.typeof(value.name), self.typeof(index.name)
        entry, row = self._plain(kind, places)
        if not (entry or row) or resty != signature.return_type:
            return super().lower_getitem(resty, expr, value, index, signature)
        array = self.loadvar(value.name)
        pointer = self._address(kind, array, places, self.loadvar(index.name))
        if entry:
            align = None if kind.aligned else 1
            return self.context.unpack_value(self.builder, kind.dtype, pointer, align=align)
        return impl_ret_borrowed(
            self.context, self.builder, resty, self._row(kind, array, pointer, resty)
        )

    def lower_setitem(self, target_var, index_var, value_var, signature):
        """Assign an entry of an array; other items are left to numba."""
        kind, places = self.typeof(target_var.name), self.typeof(index_var.name)
        entry, _ = self._plain(kind, places)
        given = self.typeof(value_var.name)
        if not entry or not isinstance(given, (types.Number, types.Boolean)):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        builder, context = self.builder, self.context
        array = self.loadvar(target_var.name)
        pointer = self._address(kind, array, places, self.loadvar(index_var.name))
        value = context.cast(builder, self.loadvar(value_var.name), given, kind.dtype)
        align = None if kind.aligned else 1
        return context.pack_value(builder, kind.dtype, value, pointer, align=align)

    def _plain(self, kind, places):
        """(whether indices of this kind name an entry, or a row of a matrix), of an array whose
        entries are numbers or booleans.
        """
        if not isinstance(kind, types.Array) or self.context.enable_boundscheck:
            return False, False
        parts = tuple(places) if isinstance(places, types.BaseTuple) else (places,)
        simple = isinstance(kind.dtype, (types.Number, types.Boolean)) and all(
            isinstance(part, types.Integer) for part in parts
        )
        return simple and len(parts) == kind.ndim, simple and len(parts) == 1 and kind.ndim == 2

    def _field(self, kind, array, name):
        """A field of the description of an array."""
        place = self.context.data_model_manager[kind].get_field_position(name)
        return self.builder.extract_value(array, place)

    def _address(self, kind, array, places, indices):
        """Pointer to an entry, or to the first entry of a row."""
        builder, context = self.builder, self.context
        shape, many = self._field(kind, array, "shape"), isinstance(places, types.BaseTuple)
        found = []
        for axis, part in enumerate(places if many else [places]):
            index = builder.extract_value(indices, axis) if many else indices
            index = context.cast(builder, index, part, types.intp if part.signed else types.uintp)
            if part.signed and not (isinstance(part, types.Literal) and part.literal_value >= 0):
                size = builder.extract_value(shape, axis)
                negative = builder.icmp_signed("<", index, index.type(0))
                index = builder.select(negative, builder.add(index, size), index)
            found.append(index)
        data = self._field(kind, array, "data")
        if kind.layout == "C":
            at = found[0]
            for axis in range(1, kind.ndim):
                at = builder.mul(at, builder.extract_value(shape, axis))
                at = builder.add(at, found[axis]) if axis < len(found) else at
            return builder.gep(data, [at])
        strides = self._field(kind, array, "strides")
        at = None
        for axis, index in enumerate(found):
            part = builder.mul(index, builder.extract_value(strides, axis))
            at = part if at is None else builder.add(at, part)
        return cgutils.pointer_add(builder, data, at)

    def _row(self, kind, array, pointer, resty):
        """The description of a row of a matrix that begins at `pointer`."""
        builder, model = self.builder, self.context.data_model_manager[resty]
        size, stride = (
            builder.extract_value(self._field(kind, array, name), 1)
            for name in ("shape", "strides")
        )
        fields = {
            "meminfo": self._field(kind, array, "meminfo"),
            "parent": self._field(kind, array, "parent"),
            "nitems": size,
            "itemsize": self._field(kind, array, "itemsize"),
            "data": pointer,
            "shape": cgutils.pack_array(builder, [size]),
            "strides": cgutils.pack_array(builder, [stride]),
        }
        row = cgutils.get_null_value(self.context.get_value_type(resty))
        for name, value in fields.items():
            row = builder.insert_value(row, value, model.get_field_position(name))
        return row
