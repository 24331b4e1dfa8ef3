"""A model as text that runs elsewhere (Python, SQL), and as a fitted model of scikit-learn.

Python and SQL compute

    eta = b0 + sum_j b_j x_j,        prediction = the mean at eta,

from the columns of the user's table: a feature of a formula is a product of columns, levels of
factors and functions of numbers, which are written out.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..designs import Derived
from ..paths import Path
from ..paths.model import Model
from ..paths.records import one_response, sums_over_rows, unordered

FUNCTIONS = {"log": "LN", "exp": "EXP", "sqrt": "SQRT", "abs": "ABS"}  # NumPy's name: SQL's
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


class Language(NamedTuple):
    """The notation for the pieces of a prediction in a language.

    Attributes
    ----------
    column, level : callable
        A column by its name; whether a column equals a level, as 0 or 1.
    power, call : callable
        One expression to the power of another; a function of FUNCTIONS of an expression.
    means : dict
        The mean at `{eta}` by the link of the loss.
    """

    column: Callable[[str], str]
    level: Callable[[str, Any], str]
    power: Callable[[str, str], str]
    call: Callable[[str, str], str]
    means: Mapping[str, str]


def _sql_column(name):
    return '"' + name.replace('"', '""') + '"'


def _sql_value(value):
    if isinstance(value, (bool, np.bool_)):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, np.number)):
        return repr(value.item() if isinstance(value, np.number) else value)
    return "'" + str(value).replace("'", "''") + "'"


def _python_value(value):
    return repr(value.item() if isinstance(value, np.generic) else value)


PYTHON = Language(
    column=lambda name: f"data[{name!r}]",
    level=lambda name, value: f"(data[{name!r}] == {_python_value(value)})",
    power=lambda base, exponent: f"{base} ** {exponent}",
    call=lambda function, inside: f"np.{function}({inside})",
    means={"logit": "1.0 / (1.0 + np.exp(-({eta})))", "log": "np.exp({eta})"},
)
SQL = Language(
    column=_sql_column,
    level=lambda name, value: (
        f"CASE WHEN {_sql_column(name)} = {_sql_value(value)} THEN 1.0 ELSE 0.0 END"
    ),
    power=lambda base, exponent: f"POWER({base}, {exponent})",
    call=lambda function, inside: f"{FUNCTIONS[function]}({inside})",
    means={"logit": "1.0 / (1.0 + EXP(-({eta})))", "log": "EXP({eta})"},
)


def python_code(model: Model) -> str:
    """The text of a module with a function `predict(data)`; see `Model.to_python`."""
    one_response(model.path, "to_python")
    unordered(model.path, "to_python")
    meta = model.path.meta
    features, terms = _terms(model, PYTHON)
    offset = " + offset" if meta.has_offset else ""
    eta = "\n        + ".join([repr(model.intercept), *terms]) + offset
    mean = PYTHON.means.get(meta.traits.link, "{eta}").format(eta="eta")
    argument = ", offset" if meta.has_offset else ""
    names = textwrap.wrap(_plain(", ".join(features)), 92) or ["(none)"]
    doc = [
        _plain(meta.about or f"Prediction of {meta.response or 'y'}") + ".",
        "",
        "data: a table, or a dictionary of numbers or NumPy arrays, with the columns",
        *names,
        *(["offset: a number for each row, added to the linear predictor."] if offset else []),
    ]
    body = "\n".join(f"    {line}".rstrip() for line in doc)
    needs = "import numpy as np\n\n\n" if "np." in mean or "np." in eta else "\n"
    return (
        f'"""A model of {len(model.features)} features, fitted by l0path."""\n\n{needs}'
        f'def predict(data{argument}):\n    """\n{body}\n    """\n'
        f"    eta = (\n        {eta}\n    )\n    return {mean}\n"
    )


def python_pieces(path: Path, columns: np.ndarray) -> dict:
    """The pieces of the code of every model of a path, for the page of `explore`: what stands
    before and after the sum of terms, the expression of each of these columns, and the offsets.

    Raises
    ------
    ValueError
        Where `Model.to_python` has no code.
    """
    one_response(path, "to_python")
    unordered(path, "to_python")
    sums_over_rows(path, "to_python")
    meta, used = path.meta, {}
    if isinstance(meta.names, Derived):
        raise ValueError("the features are made of the columns of X by a design")
    terms = [_feature(path, int(j), PYTHON, used) for j in columns]
    expressions = meta.formula.offsets if meta.formula is not None else ()
    offsets = [_factor(text, meta.formula, PYTHON, used) for text in expressions]
    mean = PYTHON.means.get(meta.traits.link, "{eta}").format(eta="eta")
    given = ", offset" if meta.has_offset else ""
    about = _plain(meta.about or f"Prediction of {meta.response or 'y'}")
    return {
        "before": f'"""A model fitted by l0path."""\n\nimport numpy as np\n\n\n'
        f'def predict(data{given}):\n    """{about}; data: a table, or a dictionary of arrays."""\n'
        "    eta = (\n        ",
        "terms": terms,
        "offsets": [*offsets, *(["offset"] if given else [])],
        "after": f"\n    )\n    return {mean}\n",
    }


def sql_expression(model: Model) -> str:
    """An SQL expression over the columns of a table; see `Model.to_sql`."""
    one_response(model.path, "to_sql")
    unordered(model.path, "to_sql")
    meta = model.path.meta
    if meta.has_offset:
        raise ValueError(
            "the fit had an offset, which an SQL expression does not have; fit with a formula "
            "term offset(...), or take to_python(), whose function has an argument offset"
        )
    _, terms = _terms(model, SQL)
    eta = "\n  + ".join([repr(model.intercept), *terms])
    return SQL.means.get(meta.traits.link, "{eta}").format(eta=eta)


def _plain(text):
    """A text that may stand in a docstring."""
    return " ".join(text.replace('"', "'").replace("\\", "/").split())


def _terms(model, language):
    """(names of the columns of the table that are read, "b_j * x_j" of every feature)."""
    path, used = model.path, {}
    solution = path.solutions[model.index]
    if isinstance(path.meta.names, Derived):
        raise ValueError(
            "the features of this model are made of the columns of X by a design, which cannot be "
            "written out; save the path and use predict"
        )
    formula, terms = path.meta.formula, []
    for j, b in zip(solution.support, solution.beta, strict=True):
        terms.append(f"{float(b)!r} * {_feature(path, j, language, used)}")
    for expression in formula.offsets if formula is not None else ():
        terms.append(_factor(expression, formula, language, used))
    return list(used), terms


def _feature(path, j, language, used):
    """The expression of feature j; columns of the table that it reads join `used`."""
    name, formula = path.meta.names[j], path.meta.formula
    if formula is None:
        used[name] = None
        return language.column(name)
    return " * ".join(_factor(part, formula, language, used) for part in _split(name))


def _split(name):
    """The factors of the name of a feature: the pieces between colons outside brackets, quotes."""
    pieces, depth, quote = [""], 0, ""
    for sign in name:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "`'\"":
            quote = sign
        else:
            depth += (sign in "([{") - (sign in ")]}")
        if sign == ":" and depth == 0 and not quote:
            pieces.append("")
        else:
            pieces[-1] += sign
    return pieces


def _factor(text, formula, language, used):
    """One factor of a feature, or an offset, in the language; columns that it reads join `used`."""
    column = text.strip("`")
    if column in formula.columns:
        used[column] = None
        return language.column(column)
    level = re.fullmatch(r"(?s)(.*)\[(?:T\.)?(.*)\]", text)
    if level:
        inside = re.fullmatch(r"C\((.*)\)", level[1])
        factor = (inside[1] if inside else level[1]).strip().strip("`")
        kind, state = formula.state["levels"].get(level[1], ("", {}))
        found = [v for v in state.get("categories", ()) if str(v) == level[2]]
        if kind == "categorical" and factor in formula.columns and len(found) == 1:
            used[factor] = None
            return language.level(factor, found[0])
    try:
        return "(" + _expression(ast.parse(column, mode="eval").body, formula, language, used) + ")"
    except (SyntaxError, LookupError):
        raise ValueError(
            f"the term {text!r} of the formula cannot be written out: columns, levels of factors "
            f"with treatment coding, arithmetic and {', '.join(FUNCTIONS)} can; save the path and "
            "use predict"
        ) from None


def _expression(node, formula, language, used):
    """An expression of numbers in the language; LookupError for what has no place there."""
    if isinstance(node, ast.Name) and node.id in formula.columns:
        used[node.id] = None
        return language.column(node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return repr(float(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"(-{_expression(node.operand, formula, language, used)})"
    if isinstance(node, ast.BinOp):
        left, right = (_expression(n, formula, language, used) for n in (node.left, node.right))
        if isinstance(node.op, ast.Pow):
            return f"({language.power(left, right)})"
        if type(node.op) in OPERATORS:
            # times 1.0: SQL divides integers without remainder
            left = f"{left} * 1.0" if isinstance(node.op, ast.Div) else left
            return f"({left} {OPERATORS[type(node.op)]} {right})"
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        name = ast.unparse(node.func).removeprefix("np.").removeprefix("numpy.")
        inside = _expression(node.args[0], formula, language, used)
        if name == "I":
            return inside
        # a function of the session may have the same name
        if name in FUNCTIONS and (formula.own or {}).get(name) in (None, getattr(np, name)):
            return language.call(name, inside)
    raise LookupError(f"no translation of {ast.unparse(node)}")


def sklearn_model(model: Model) -> Any:
    """A fitted linear model of scikit-learn; see `Model.to_sklearn`."""
    one_response(model.path, "to_sklearn")
    sums_over_rows(model.path, "to_sklearn")
    from sklearn import linear_model, svm

    path, solution = model.path, model.path.solutions[model.index]
    meta = path.meta
    if meta.formula is not None or isinstance(meta.names, Derived):
        raise ValueError(
            "the features of this model are made of the columns of the data (by a formula or a "
            "design), which linear models of scikit-learn do not do; take to_python(), or an "
            "estimator of l0path, which does"
        )
    if meta.has_offset:
        raise ValueError(
            "the fit had an offset, which linear models of scikit-learn do not have; take "
            "to_python(), whose function has an argument offset"
        )
    X, y = np.zeros((2, meta.p)), np.array([1.0, 2.0])
    if meta.by_name:
        import pandas as pd

        X = pd.DataFrame(X, columns=list(meta.names))
    if meta.classes is not None:
        kind = linear_model.LogisticRegression if meta.traits.link == "logit" else svm.LinearSVC
        fitted, y = kind(), np.asarray(meta.classes)
    elif meta.traits.link == "log":
        fitted = linear_model.PoissonRegressor()
    else:
        fitted = linear_model.LinearRegression()
    fitted.fit(X, y)  # two rows of zeros: what a fitted model has beside its coefficients
    coef = np.zeros(meta.p)
    coef[solution.support] = solution.beta
    intercept = np.float64(solution.intercept)  # converters to ONNX ask for a number of NumPy
    classifies = meta.classes is not None
    fitted.coef_ = coef[None, :] if classifies else coef
    fitted.intercept_ = np.array([intercept]) if classifies else intercept
    return fitted
