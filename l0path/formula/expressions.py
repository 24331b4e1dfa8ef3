"""The text of formulas: what is on either side, and what Python expressions in it use."""

import ast
import re

import numpy as np

PLAIN = (
    ast.Expression,
    ast.Call,
    ast.keyword,
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.BoolOp,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.boolop,
    ast.expr_context,
)  # all that a formula read from a file may be made of


# the function that several responses of a left side are written as
STACKED = "several_responses"


def parse(text, columns):
    """(left expression, terms of the right side without the intercept, whether there is one, the
    expressions inside offset(...), names of several responses or None) of a formula. "." does not
    stand for the columns of offsets.
    """
    formula, every, offsets = _sides(text, columns)
    lefts = [next(iter(term.factors)).expr for term in formula.lhs]
    left, responses = lefts[0], None
    if len(lefts) > 1:
        responses = tuple(lefts)
        quoted = [f"`{e}`" if e in columns and not e.isidentifier() else e for e in lefts]
        left = f"{STACKED}({', '.join(quoted)})"
    terms = [term for term in every if str(term) != "1"]
    if not terms:
        raise ValueError(
            f'formula {text!r} names no column on the right side; write "y ~ a + b", or "y ~ ." '
            "for all columns"
        )
    left_names = names_in(left) if left not in columns else {left}
    right = {
        name
        for term in terms
        for f in term.factors
        for name in (
            [f.expr]
            if f.eval_method.value == "lookup"
            else names_in(f.expr)
            if f.eval_method.value == "python"
            else []
        )
    }
    shared = left_names & set(columns)
    if shared and shared <= right:
        raise ValueError(
            f"formula {text!r}: the response {', '.join(sorted(shared))} is also on the right "
            "side; take it out"
        )
    return left, terms, len(terms) < len(every), offsets, responses


def _sides(text, columns):
    """(formulaic's formula of a text, its right side without offsets, the expressions inside
    offset(...)).
    """
    formula = _parsed(text, columns)
    offsets = [expr for expr in map(_offset_in, formula.rhs) if expr is not None]
    if not offsets:
        return formula, formula.rhs, []
    if has_dot(text):
        taken = set().union(*map(names_in, offsets))
        formula = _parsed(text, [name for name in columns if name not in taken])
    from formulaic.formula import SimpleFormula

    terms = [term for term in formula.rhs if _offset_in(term) is None]
    return formula, SimpleFormula(terms, _ordering=formula.rhs.ordering), offsets


def _parsed(text, columns):
    """formulaic's formula of a text, with one response and one right side."""
    from formulaic import Formula as Parser
    from formulaic.formula import SimpleFormula, StructuredFormula

    try:
        formula = Parser.from_spec(
            text, context={"__formulaic_variables_available__": list(columns)}
        )
    except Exception as error:  # the parser has many
        raise ValueError(f"formula {text!r} cannot be read: {calm(error)}") from error
    if not isinstance(formula, StructuredFormula) or not hasattr(formula, "lhs"):
        raise ValueError(f'formula {text!r} has no response; write "y ~ a + b"')
    if (
        not isinstance(formula.lhs, SimpleFormula)
        or not len(formula.lhs)
        or any(len(term.factors) != 1 or str(term) == "1" for term in formula.lhs)
    ):
        raise ValueError(
            f"formula {text!r} needs a response on the left, or several with + between; write an "
            f'expression in braces or a function, "{{a * b}} ~ c" or "np.log(a) ~ c"'
        )
    if not isinstance(formula.rhs, SimpleFormula):
        raise ValueError(f"formula {text!r} has several parts on the right; this model takes one")
    return formula


def _offset_in(term):
    """The expression inside a term offset(...), None for other terms."""
    inside = [expr for expr in map(_argument_of_offset, term.factors) if expr is not None]
    if inside and len(term.factors) > 1:
        raise ValueError(
            f"the term {term} multiplies offset(...) with others; an offset is a term of its own, "
            "such as offset(log(exposure))"
        )
    return inside[0] if inside else None


def _argument_of_offset(factor):
    if factor.eval_method.value != "python" or not factor.expr.startswith("offset("):
        return None
    from formulaic.utils.code import sanitize_variable_names

    call = ast.parse(sanitize_variable_names(factor.expr, {}, {}), mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return None  # {offset(a) + b}, say
    if len(call.args) != 1 or call.keywords:
        raise ValueError(f"{factor.expr} has {len(call.args)} arguments; offset(...) takes one")
    return factor.expr[len("offset(") : factor.expr.rindex(")")].strip()


def right_side(formula):
    """formulaic's formula of the right side without offsets, the intercept with it: categories are
    then coded against their first level.
    """
    return _sides(formula.text, formula.columns)[1]


def names_and_terms(spec):
    """(names of the columns but the intercept, [(term, their numbers)])."""
    names, terms = [], []
    for term, at in spec.term_indices.items():
        own = [spec.column_names[j] for j in at if spec.column_names[j] != "Intercept"]
        if own:
            terms.append((str(term), list(range(len(names), len(names) + len(own)))))
        names += own
    return names, terms


def names_in(expression):
    """Names that a Python expression of a formula uses, backticks and Q("...") resolved."""
    from formulaic.utils.code import sanitize_variable_names

    aliases = {}
    try:
        nodes = list(
            ast.walk(ast.parse(sanitize_variable_names(expression, {}, aliases), mode="eval"))
        )
    except SyntaxError:
        return {expression}
    quoted = {
        node.args[0].value
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Q"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    return {aliases.get(node.id, node.id) for node in nodes if isinstance(node, ast.Name)} | quoted


def foreign(expression, plain):
    """The pieces of an expression beyond arithmetic, NumPy's functions of numbers, formulaic's
    transforms and the names in `plain`, as text.
    """
    from formulaic.transforms import TRANSFORMS
    from formulaic.utils.code import sanitize_variable_names

    if expression in plain:
        return []
    aliases, out = {}, []
    for node in ast.walk(ast.parse(sanitize_variable_names(expression, {}, aliases), mode="eval")):
        if isinstance(node, ast.Attribute):
            numpy = (
                isinstance(node.value, ast.Name)
                and node.value.id == "np"
                and isinstance(getattr(np, node.attr, None), np.ufunc)
            )
            sound = numpy or (
                isinstance(node.value, ast.Name)
                and node.value.id == "contr"
                and not node.attr.startswith("_")
            )
        elif isinstance(node, ast.Name):
            sound = aliases.get(node.id, node.id) in plain or node.id in TRANSFORMS
        else:
            sound = isinstance(node, PLAIN)
        if not sound:
            out.append(ast.unparse(node))
    return out


def column_of(expression, columns):
    """The column whose levels an expression codes: the column itself or C(column, ...), else
    None.
    """
    from formulaic.utils.code import sanitize_variable_names

    if expression in columns:
        return expression
    aliases = {}
    node = ast.parse(sanitize_variable_names(expression, {}, aliases), mode="eval").body
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "C"
        and node.args
        and isinstance(node.args[0], ast.Name)
    ):
        name = aliases.get(node.args[0].id, node.args[0].id)
        return name if name in columns else None
    return None


def has_dot(text):
    """Whether a formula has the "." that stands for all other columns."""
    return re.search(r"(?<![\w.)\]`])\.(?!\w)", text) is not None


def tight(text):
    """A term's text without spaces."""
    return "".join(text.split())


def calm(error):
    """An error's text in one line, without colours."""
    text = str(error).split("\n\n")[0].replace("\x1b[1;31m", "").replace("\x1b[0m", "")
    return (
        " ".join(text.replace("⧛[1;31m", "").replace("⧛[0m⧚", "").replace("⧚", "").split())
        or type(error).__name__
    )
