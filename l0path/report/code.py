"""A model as text that runs elsewhere: Python and SQL.

Python and SQL compute

    eta = b0 + sum_j b_j x_j,        prediction = the mean at eta,

from the columns of the user's table, for every response and class; a feature of a formula is a
product of columns, levels of factors and functions of numbers, which are written out.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..designs import Derived
from ..formula import Unreadable, column_of, read
from ..paths import Path
from ..paths.model import Model

FUNCTIONS = {"log": "LN", "exp": "EXP", "sqrt": "SQRT", "abs": "ABS"}  # NumPy's name: SQL's
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


class Language(NamedTuple):
    """The notation for the pieces of a prediction in a language.

    Attributes
    ----------
    number : callable
        A number.
    column, flag, level : callable
        A column by its name; a column of True and False as 1 and 0; whether a column equals a
        level, as 0 or 1.
    power, call : callable
        One expression to the power of another; a function of FUNCTIONS of an expression.
    means : dict
        The mean at `{eta}` by the link of the loss.
    """

    number: Callable[[float], str]
    column: Callable[[str], str]
    flag: Callable[[str], str]
    level: Callable[[str, Any], str]
    power: Callable[[str, str], str]
    call: Callable[[str, str], str]
    means: Mapping[str, str]


def _sql_column(name):
    return '"' + name.replace('"', '""') + '"'


def _sql_number(value):
    """A number that databases do not take for a decimal one, whose digits a product may exceed."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _sql_value(value):
    if isinstance(value, (bool, np.bool_)):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, np.number)):
        return repr(value.item() if isinstance(value, np.number) else value)
    return "'" + str(value).replace("'", "''") + "'"


def _python_value(value):
    return repr(value.item() if isinstance(value, np.generic) else value)


PYTHON = Language(
    number=lambda value: repr(float(value)),
    column=lambda name: f"data[{name!r}]",
    # as arrays of floats: columns of pyarrow multiply no True and False
    flag=lambda name: f"np.asarray(data[{name!r}], dtype=float)",
    level=lambda name, value: f"np.asarray(data[{name!r}] == {_python_value(value)}, dtype=float)",
    power=lambda base, exponent: f"{base} ** {exponent}",
    call=lambda function, inside: f"np.{function}({inside})",
    means={"logit": "1.0 / (1.0 + np.exp(-({eta})))", "log": "np.exp({eta})"},
)
SQL = Language(
    number=_sql_number,
    column=_sql_column,
    flag=lambda name: f"CASE WHEN {_sql_column(name)} THEN 1.0 ELSE 0.0 END",
    level=lambda name, value: (
        f"CASE WHEN {_sql_column(name)} = {_sql_value(value)} THEN 1.0 ELSE 0.0 END"
    ),
    power=lambda base, exponent: f"POWER({base}, {exponent})",
    call=lambda function, inside: f"{FUNCTIONS[function]}({inside})",
    means={"logit": "1.0 / (1.0 + EXP(-({eta})))", "log": "EXP({eta})"},
)


def python_code(model: Model) -> str:
    """The text of a module with a function `predict(data)`; see `Model.to_python`."""
    meta = model.path._meta
    names, etas = _predictors(model, PYTHON)
    several = meta.responses is not None
    argument, shape = ", offset" if meta.has_offset else "", model._solution.shape
    lines = textwrap.wrap(_plain(", ".join(names)), 92) or ["(none)"]
    doc = [
        _about(meta) + ".",
        "",
        "data: a table, or a dictionary of numbers or NumPy arrays, with the columns",
        *lines,
        *_about_results(meta),
        *([] if shape is None else [f"shape: {shape!r}"]),
    ]
    if meta.has_offset:
        each = "for each row and each of them" if several else "for each row"
        doc.append(f"offset: a number {each}, added to the linear predictor.")
    body = "\n".join(f"    {line}".rstrip() for line in doc)
    start, first, last, end = _around_sums(meta)
    start = _by_text(names) + start
    sums = "".join(first + eta + last for eta in etas)
    thresholds = _thresholds(model) if meta.ordered else ()
    text = start + sums + end + _python_means(meta, ", ".join(map(repr, thresholds)))
    needs = "import numpy as np\n\n\n" if "np." in text else "\n"
    reads = f"{len(names)} column" + "s" * (len(names) != 1)
    return (
        f'"""A model of {reads}, fitted by l0path."""\n\n{needs}'
        f'def predict(data{argument}):\n    """\n{body}\n    """\n{text}'
    )


def _about(meta):
    """What a model predicts, for a docstring."""
    response = meta.response or "y"
    if meta.traits.by_class or meta.ordered:
        return _plain(f"Probabilities of the classes of {response}")
    if meta.responses is not None:
        return "Predictions of the responses"
    if meta.traits.partial:
        return _plain(f"Linear predictor (logarithm of the relative hazard) of {response}")
    if meta.traits.response == "survival":
        return _plain(f"Linear predictor eta (cumulative hazard exp(eta) t^shape) of {response}")
    return _plain(meta.about or f"Prediction of {response}")


def _about_results(meta):
    """Lines of a docstring on the columns of the results, where there are several."""
    names = meta.classes if meta.classes is not None else meta.responses
    if meta.responses is None and not meta.ordered:
        return []
    listed = _plain(", ".join(map(str, names)))
    return textwrap.wrap(f"Returns an array whose last axis has: {listed}", 92)


def _around_sums(meta):
    """What stands before and after the linear predictors, and before and after each, which is a
    sum of terms: (start, first, last, end).
    """
    added = " + offset" if meta.has_offset else ""
    if meta.responses is None:
        return "    eta = (\n        ", "", "", f"{added}\n    )\n"
    start = "    eta = np.stack(\n        [\n"
    return start, "            ", ",\n", f"        ],\n        axis=-1,\n    ){added}\n"


def _by_text(names):
    """The line after which the columns of a table have the names of the fit, which are texts; ""
    where no name looks like that of a number, a date or another value.
    """
    if not any(re.match(r"[\W\d]|(None|True|False|nan|NaT)$", name) for name in names):
        return ""
    return '    data = {str(name): data[name] for name in getattr(data, "columns", data)}\n'


def _python_means(meta, thresholds):
    """The lines of a function after that of eta. thresholds: of ordered classes, as text."""
    if meta.ordered:
        return (
            f"    thresholds = np.array([{thresholds}])\n"
            "    below = 1.0 / (1.0 + np.exp(np.asarray(eta)[..., None] - thresholds))\n"
            "    return np.diff(below, axis=-1, prepend=0.0, append=1.0)\n"
        )
    if meta.traits.by_class:
        return (
            "    odds = np.exp(eta - eta.max(axis=-1, keepdims=True))\n"
            "    return odds / odds.sum(axis=-1, keepdims=True)\n"
        )
    mean = PYTHON.means.get(meta.traits.link, "{eta}").format(eta="eta")
    return f"    return {mean}\n"


def _thresholds(model):
    """The thresholds of a model of ordered classes, ascending."""
    labels = model.path._meta.first_names
    return model.coef[labels].to_numpy(dtype=float).tolist()


def python_pieces(path: Path, columns: np.ndarray) -> dict:
    """The pieces of the code of every model of a path, for the page of `explore`: what stands
    before and after the linear predictors and each of them, the expression of each of these
    columns, and the offsets. The thresholds of ordered classes go to "{thresholds}".

    Raises
    ------
    ValueError
        Where `Model.to_python` has no code.
    """
    meta, used = path._meta, {}
    if isinstance(meta.names, Derived):
        raise ValueError("the features are made of the columns of X by a design")
    terms = _features(path, np.asarray(columns).tolist(), PYTHON, used)
    expressions = meta.formula.offsets if meta.formula is not None else ()
    offsets = [_factor(text, None, meta.formula, PYTHON, used) for text in expressions]
    given = ", offset" if meta.has_offset else ""
    doc = [f"{_about(meta)}; data: a table, or a dictionary of arrays.", *_about_results(meta)]
    start, first, last, end = _around_sums(meta)
    start = _by_text(used) + start
    return {
        "before": '"""A model fitted by l0path."""\n\nimport numpy as np\n\n\n'
        f'def predict(data{given}):\n    """' + "\n    ".join(doc) + f'"""\n{start}',
        "each": [first, last],
        "terms": terms,
        "offsets": offsets,
        "after": end + _python_means(meta, "{thresholds}"),
    }


def sql_expression(model: Model) -> str:
    """An SQL expression over the columns of a table; see `Model.to_sql`."""
    meta = model.path._meta
    if meta.has_offset:
        raise ValueError(
            "the fit had an offset, which an SQL expression does not have; fit with a formula "
            "term offset(...), or take to_python(), whose function has an argument offset"
        )
    _, etas = _predictors(model, SQL)
    mean = SQL.means["logit"]
    if meta.ordered:
        below = [mean.format(eta=f"{_sql_number(t)} - ({etas[0]})") for t in _thresholds(model)]
        values = [f"{high} - {low}" for low, high in pairwise(["0.0", *below, "1.0"])]
        return _named(values, meta.classes)
    if meta.responses is None:
        return SQL.means.get(meta.traits.link, "{eta}").format(eta=etas[0])
    if meta.classes is None:
        form = SQL.means.get(meta.traits.link, "{eta}")
        return _named([form.format(eta=eta) for eta in etas], meta.responses)
    values = []
    for one in range(len(etas)):
        others = [f"EXP({eta})" for _, eta in _against(model, one)]
        values.append("1.0 / (1.0 + " + "\n  + ".join(others) + ")")
    return _named(values, meta.classes)


def _against(model, one):
    """The linear predictors of the other classes less that of class `one`: [(class, text)]."""
    every = np.arange(len(model.path._meta.classes))
    less = _predictors(model, SQL, one)[1]
    return [(other, less[other]) for other in every if other != one]


def _named(values, names):
    """Expressions with the names of their columns."""
    parts = [f"{v} AS {_sql_column(str(name))}" for v, name in zip(values, names, strict=True)]
    return ",\n".join(parts)


def _plain(text):
    """A text that may stand in a docstring: on one line, without what Python cannot read there (a
    NUL, for example).
    """
    shown = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(shown.replace('"', "'").replace("\\", "/").split())


def _predictors(model, language, against=None):
    """(names of the columns of the table that are read, the linear predictor of every response or
    class as text). against: the number of a class whose predictor is taken off all of them.
    """
    path, used = model.path, {}
    solution = path._solutions[model._index]
    if isinstance(path._meta.names, Derived):
        raise ValueError(
            "the features of this model are made of the columns of X by a design, which cannot be "
            "written out; save the path and use predict"
        )
    formula = path._meta.formula
    features = _features(path, solution.support.tolist(), language, used)
    expressions = formula.offsets if formula is not None else ()
    offsets = [_factor(text, None, formula, language, used) for text in expressions]
    first = np.atleast_1d(np.asarray(solution.intercept, dtype=float))
    beta = np.asarray(solution.beta, dtype=float).reshape(len(features), first.size)
    if against is not None:
        first, beta, offsets = first - first[against], beta - beta[:, [against]], []
    join = "\n        + " if language is PYTHON else "\n  + "
    out = []
    for r, intercept in enumerate(first):
        number = language.number
        terms = [f"{number(b)} * {x}" for b, x in zip(beta[:, r], features, strict=True)]
        out.append(join.join([number(intercept), *terms, *offsets]))
    return list(used), out


def _features(path, columns, language, used):
    """The expressions of features; columns of the table that they read join `used`."""
    meta, formula = path._meta, path._meta.formula
    names = [meta.names[j] for j in columns]
    if formula is None:
        coded = {name: at for name, *at in meta.coded}
        used |= dict.fromkeys(coded.get(name, [name])[0] for name in names)
        return [
            language.level(*coded[name])
            if name in coded
            else (language.flag if name in meta.booleans else language.column)(name)
            for name in names
        ]
    factors = {str(term): term.factors for term in formula.parsed()[1]}
    term_of = {j: term for term, at in formula.terms for j in at}
    out = []
    for j, name in zip(columns, names, strict=True):
        if j not in term_of:  # files of version 0.1 have no terms
            raise _no_code(name)
        found = _readings(name, [factor.expr for factor in factors[term_of[j]]], formula)
        if len(found) != 1:
            raise _no_code(name)
        parts = [_factor(expr, level, formula, language, used) for expr, level in found[0]]
        out.append(" * ".join(parts))
    return out


def _readings(name, factors, formula):
    """The ways to read the name of a feature as a level, or None, of each factor of its term:
    [[(expression, (level,) or None), ...]]. The name has them in order, with colons between.
    """
    expr, *others = factors
    pieces = {expr: None, f"`{expr}`": None}
    kind, state = formula.state["levels"].get(expr, ("", {}))
    if kind == "categorical" and _has_treatment_coding(expr, formula.columns):
        values = list(state.get("categories", ()))
        pieces = {f"{expr}[{sign}{v}]": (v,) for v in values for sign in ("T.", "")}
        if len(pieces) < 2 * len(values):  # 1 and "1", or "a" and "T.a"
            return []
    out = []
    for piece, level in pieces.items():
        if others and name.startswith(piece + ":"):
            rest = _readings(name[len(piece) + 1 :], others, formula)
            out += [[(expr, level), *more] for more in rest]
        elif not others and name == piece:
            out.append([(expr, level)])
    return out


def _has_treatment_coding(expr, columns):
    """Whether the levels of a factor are coded as 0 and 1."""
    if column_of(expr, columns) is None:
        return False
    call = None if expr in columns else read(expr).body
    others = [] if call is None else [*call.args[1:], *(one.value for one in call.keywords)]
    codings = [text for text in map(ast.unparse, others) if not text.startswith(("[", "("))]
    return all("treatment" in text.lower() for text in codings)


def _no_code(term):
    return ValueError(
        f"the term {term!r} of the formula cannot be written out: columns, levels of factors with "
        f"treatment coding, arithmetic and {', '.join(FUNCTIONS)} can; save the path and use "
        "predict"
    )


def _factor(text, level, formula, language, used):
    """One factor of a feature, at a (level,) or None, or an offset, in the language; columns that
    it reads join `used`.
    """
    if level is not None and (column := column_of(text, formula.columns)) is not None:
        if language is PYTHON and not isinstance(level[0], (str, int, float, np.generic)):
            raise ValueError(
                f"the levels of {text} are values of {type(level[0]).__name__}, which cannot be "
                "written out; make text of them before the fit, or save the path and use predict"
            )
        used[column] = None
        return language.level(column, level[0])
    column = text.strip("`")
    if column in formula.columns:
        return _column(column, formula, language, used)
    try:
        return "(" + _expression(read(text).body, formula, language, used) + ")"
    except (Unreadable, LookupError):
        raise _no_code(text) from None


def _column(name, formula, language, used):
    """A column of the table of a formula as a number; it joins `used`."""
    used[name] = None
    value, _ = formula.example.get(name, (None, False))
    return (language.flag if isinstance(value, (bool, np.bool_)) else language.column)(name)


def _expression(node, formula, language, used):
    """An expression of numbers in the language; LookupError for what has no place there."""
    if isinstance(node, ast.Name) and (name := node.id.strip("`")) in formula.columns:
        return _column(name, formula, language, used)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return language.number(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"(-{_expression(node.operand, formula, language, used)})"
    if isinstance(node, ast.BinOp):
        left, right = (_expression(n, formula, language, used) for n in (node.left, node.right))
        if isinstance(node.op, ast.Pow):
            return f"({language.power(left, right)})"
        if type(node.op) in OPERATORS:
            # times 1.0: SQL divides integers without remainder, and products may exceed their range
            wide = isinstance(node.op, (ast.Div, ast.Mult))
            left = f"{left} * {language.number(1)}" if wide else left
            return f"({left} {OPERATORS[type(node.op)]} {right})"
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        name = ast.unparse(node.func).removeprefix("np.").removeprefix("numpy.")
        inside = _expression(node.args[0], formula, language, used)
        if name == "I":
            return inside
        if name in FUNCTIONS and ast.unparse(node.func) not in formula.own:
            return language.call(name, inside)
    raise LookupError(f"no translation of {ast.unparse(node)}")
