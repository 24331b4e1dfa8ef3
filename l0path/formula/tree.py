"""Expressions of formulas as trees: names, numbers, text, arithmetic, comparisons, and calls of the
functions that formulas know. They are read here, and computed here; nothing of them is run as code.
"""

import ast
import functools
import operator
import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .functions import CODINGS, CONSTANTS, CONTRASTS, FACTORS, STATEFUL, function, known

ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
LOGIC = {ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.And: operator.and_,
         ast.Or: operator.or_}  # fmt: skip
COMPARISONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
SIGNS = {ast.BitAnd: "&", ast.BitOr: "|", ast.And: "and", ast.Or: "or"}
EXACT = 2.0**62  # whole numbers below are computed as such
PARTS = (
    "names, numbers, text in quotes, arithmetic, comparisons and calls of functions; a function "
    "of your own is given by env={'f': f}"
)
PIECES = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|\^)""", re.DOTALL
)  # what is no Python, or must stay as it is: text, quoted names, powers as in R


class Tree(NamedTuple):
    """An expression that was read.

    Attributes
    ----------
    text : str
        The expression in one spelling: powers as **, one blank around signs.
    body : ast.expr
        Its nodes. Names that are no Python names have their backticks.
    names : tuple of str
        Columns and values that it uses.
    calls : tuple of str
        Functions that it calls, such as "log", "np.log" or "f".
    """

    text: str
    body: ast.expr
    names: tuple
    calls: tuple


class Unreadable(ValueError):
    """An expression is none of formulas."""


@functools.lru_cache(maxsize=10_000)
def read(text):
    """The `Tree` of the text of an expression; `Unreadable` for what formulas do not have."""
    aliases = {}

    def plain(piece):
        piece = piece[0]
        if piece == "^":
            return "**"
        if piece[0] != "`":
            return piece
        alias = f"quoted_{len(aliases)}_"
        while alias in text:
            alias += "_"
        aliases[alias] = piece[1:-1]
        return f" {alias} "

    try:
        body = ast.parse(PIECES.sub(plain, text).strip(), mode="eval").body
        found = _Reader(aliases)
        found.value(body)
        return Tree(ast.unparse(body), body, tuple(found.names), tuple(found.calls))
    except Unreadable:
        raise
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        why = error.msg if isinstance(error, SyntaxError) else "it is too deep"
        shown = text if len(text) < 200 else f"{text[:200]}..."
        raise Unreadable(f"{shown!r} cannot be read ({why})") from None


class _Reader:
    """One walk over the nodes of an expression, which allows what is listed and nothing else."""

    def __init__(self, aliases):
        self.aliases, self.names, self.calls = aliases, {}, {}

    def value(self, node):
        """A node whose value is used."""
        kind = type(node)
        if kind is ast.Name:
            name = self.aliases.get(node.id, node.id)
            node.id = name if name.isidentifier() else f"`{name}`"
            self.names[name] = None
        elif kind is ast.Constant:
            if type(node.value) not in (bool, int, float, str, type(None)):
                self.refuse(node)
        elif kind is ast.BinOp and type(node.op) in (*ARITHMETIC, ast.BitAnd, ast.BitOr):
            self.values(node.left, node.right)
        elif kind is ast.UnaryOp:
            self.values(node.operand)
        elif kind is ast.BoolOp:
            self.values(*node.values)
        elif kind is ast.Compare and all(type(op) in COMPARISONS for op in node.ops):
            self.values(node.left, *node.comparators)
        elif kind in (ast.List, ast.Tuple):
            self.values(*node.elts)
        elif kind is ast.Dict and None not in node.keys:
            self.values(*node.keys, *node.values)
        elif kind is ast.Call:
            self.call(node)
        elif not (kind is ast.Attribute and self.member(node)):
            self.refuse(node)

    def values(self, *nodes):
        for node in nodes:
            self.value(node)

    def member(self, node):
        """Whether a.b is a number of NumPy, or a kind of contrasts."""
        name = _dotted(node)
        start, _, end = (name or "").partition(".")
        return (start in ("np", "numpy") and end in CONSTANTS) or (
            start == "contr" and end in CONTRASTS
        )

    def call(self, node):
        """A call of a function by its name; whether there is one is asked where it is known which
        functions the user gave.
        """
        name = _dotted(node.func)
        if name is None or ("." in name and not known(name)):
            self.refuse(node.func)
        self.calls[name] = None
        if name == "Q":
            only = node.args[0] if len(node.args) == 1 and not node.keywords else None
            if not isinstance(only, ast.Constant) or not isinstance(only.value, str):
                self.refuse(node)
            self.names[only.value] = None
            return
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(
            keyword.arg is None for keyword in node.keywords
        ):
            self.refuse(node)
        self.values(*node.args, *(keyword.value for keyword in node.keywords))

    def refuse(self, node):
        shown = ast.unparse(node)
        for alias, name in self.aliases.items():
            shown = shown.replace(alias, f"`{name}`")
        raise Unreadable(f"{shown!r} is no part of a formula, which is made of {PARTS}")


def _dotted(node):
    """ "f" or "a.b" for a name of this form, else None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None


class Values(NamedTuple):
    """What the names of an expression stand for.

    Attributes
    ----------
    columns : mapping of str to Series
        The columns of the rows.
    env : mapping
        Functions and values of the user's own.
    state : dict
        What transforms learned, by the text of their call.
    learning : bool
        Whether transforms may learn from these rows.
    """

    columns: Any
    env: Any
    state: dict
    learning: bool


def compute(tree, values):
    """The value of a `Tree`: an array or Series of the rows, a number, or what a transform makes
    for formulaic.
    """
    return _value(tree.body, values)


def _value(node, values):
    kind = type(node)
    if kind is ast.Name:
        return _named(node.id, values)
    if kind is ast.Constant:
        return node.value
    if kind is ast.Call:
        return _called(node, values)
    if kind is ast.BinOp:
        left, right = _value(node.left, values), _value(node.right, values)
        if type(node.op) in LOGIC:
            return _logic(node, node.op, [left, right], [node.left, node.right])
        return _arithmetic(type(node.op), _numbers(left, node.left), _numbers(right, node.right))
    if kind is ast.UnaryOp:
        value = _value(node.operand, values)
        if isinstance(node.op, (ast.Not, ast.Invert)):
            return ~_truth(value, node.operand, node, "not")
        value = _numbers(value, node.operand)
        return _arithmetic(ast.Mult, -1, value) if isinstance(node.op, ast.USub) else value
    if kind is ast.BoolOp:
        return _logic(node, node.op, [_value(v, values) for v in node.values], node.values)
    if kind is ast.Compare:
        return _compared(node, values)
    if kind in (ast.List, ast.Tuple):
        return [_value(entry, values) for entry in node.elts]
    if kind is ast.Dict:
        return {
            _value(key, values): _value(entry, values)
            for key, entry in zip(node.keys, node.values, strict=True)
        }
    start, _, end = _dotted(node).partition(".")  # an attribute: `read` let no other node pass
    return function(_dotted(node)) if start == "contr" else CONSTANTS[end]


def _named(name, values):
    name = name.strip("`")
    if name in values.columns:
        return values.columns[name]
    if name in values.env:
        return values.env[name]
    if name in CODINGS:
        return function(name)
    raise ValueError(f"data has no column {name!r}")


def _called(node, values):
    name = _dotted(node.func)
    if name == "Q":
        return _named(node.args[0].value, values)
    args = [_value(arg, values) for arg in node.args]
    given = {keyword.arg: _value(keyword.value, values) for keyword in node.keywords}
    if name in values.env:
        called = values.env[name]
        if not getattr(called, "__is_stateful_transform__", False):
            return called(*args, **given)
    else:
        called = function(name)
        if name not in STATEFUL:
            if name not in (*FACTORS, *CODINGS, "I") and not name.startswith("contr."):
                args = [
                    arg if isinstance(arg, str) else _numbers(arg, at)
                    for arg, at in zip(args, node.args, strict=True)
                ]
            return called(*args, **given)
    key = ast.unparse(node)
    if key not in values.state:
        if not values.learning:
            raise ValueError(f"what {key} learned in the fit is not stored")
        values.state[key] = {}
    return called(*args, _state=values.state[key], **given)


def _numbers(value, node):
    """A value as an array of numbers: whole numbers of 64 bits, or floats of them."""
    value = getattr(value, "__wrapped__", value)  # of formulaic
    array = value if isinstance(value, np.ndarray) else None
    if isinstance(value, (pd.Series, pd.DataFrame)) and pd.api.types.is_numeric_dtype(
        getattr(value, "dtype", np.float64)
    ):
        array = value.to_numpy()
    elif isinstance(value, (bool, int, float, np.number, np.bool_)):
        array = np.asarray(value)
    if array is None or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{ast.unparse(node)!r} is {_kind(value)}, and arithmetic takes numbers; a comparison "
            "such as a == 'yes' makes numbers of text"
        )
    whole = array.dtype.kind in "biu" and not (array > np.iinfo(np.int64).max).any()
    return array.astype(np.int64 if whole else np.float64)


def _kind(value):
    return (
        "text" if isinstance(value, str) else f"of {getattr(value, 'dtype', type(value).__name__)}"
    )


def _arithmetic(op, left, right):
    """left op right; whole numbers stay whole unless the result may be too large for them, where
    64 bits would wrap, or is none.
    """
    left, right = np.asarray(left), np.asarray(right)
    with np.errstate(all="ignore"):
        out = ARITHMETIC[op](left.astype(np.float64), right.astype(np.float64))
        if left.dtype.kind == right.dtype.kind == "i" and op is not ast.Div:
            fits = (np.abs(out) < EXACT).all() and not (op is ast.Pow and (right < 0).any())
            if fits:
                out = ARITHMETIC[op](left, right)
    return out.item() if out.ndim == 0 else out


def _logic(node, op, parts, nodes):
    sign = SIGNS[type(op)]
    parts = [_truth(part, at, node, sign) for part, at in zip(parts, nodes, strict=True)]
    return functools.reduce(LOGIC[type(op)], parts)


def _truth(value, at, node, sign):
    array = np.asarray(getattr(value, "__wrapped__", value))
    if array.dtype.kind != "b":
        raise ValueError(
            f"{sign!r} joins comparisons, and {ast.unparse(at)!r} in {ast.unparse(node)!r} is none "
            f"(as in Python it binds tighter than < and ==): write (a > 0) {sign} (b > 0), or + "
            "and * for arithmetic"
        )
    return array


def _compared(node, values):
    """The truth of a < b, or of a < b < c: of both."""
    nodes = [node.left, *node.comparators]
    parts = [_value(part, values) for part in nodes]
    out = None
    for op, i in zip(node.ops, range(len(node.ops)), strict=True):
        one = _comparison(COMPARISONS[type(op)], parts[i : i + 2], nodes[i : i + 2])
        out = one if out is None else out & one
    return out


def _comparison(compare, parts, nodes):
    text = [
        isinstance(part, str)
        or (isinstance(part, pd.Series) and not pd.api.types.is_numeric_dtype(part.dtype))
        or (isinstance(part, np.ndarray) and part.dtype.kind not in "biuf")
        for part in parts
    ]
    if not any(text):
        return compare(*(_numbers(part, at) for part, at in zip(parts, nodes, strict=True)))
    if not all(text):
        number = nodes[text.index(False)]
        raise ValueError(
            f"{ast.unparse(nodes[text.index(True)])!r} is no number, and is compared with "
            f"{ast.unparse(number)!r}; write text in quotes"
        )
    out = compare(*(part if isinstance(part, (str, pd.Series)) else pd.Series(part)
                    for part in parts))  # fmt: skip
    return np.asarray(out, dtype=bool)
