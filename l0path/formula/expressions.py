"""The text of formulas: what is on either side, and what the expressions in it use."""

import ast
import re

from .functions import FACTORS, TERMS
from .tree import Unreadable, read

INTERCEPT = "1"  # its term, as text
# the function that several responses of a left side are written as
STACKED = "several_responses"


def parse(text, columns):
    """(left expression, terms of the right side without the intercept, whether there is one,
    {"offset": expressions inside offset(...), and so on for `TERMS`}, names of several responses or
    None) of a formula. "." does not stand for the columns of offsets, strata and clusters.
    """
    sides, every, beside = _sides(text, columns)
    lefts = [next(iter(term.factors)) for term in sides]
    left, responses = lefts[0].expr, None
    if len(lefts) > 1:
        responses = tuple(one.expr for one in lefts)
        quoted = [
            f"`{one.expr}`" if one.eval_method.value == "lookup" else one.expr for one in lefts
        ]
        left = read(f"{STACKED}({', '.join(quoted)})").text
    terms = [term for term in every if str(term) != INTERCEPT]
    if not terms:
        raise ValueError(
            f'formula {text!r} names no column on the right side; write "y ~ a + b", or "y ~ ." '
            "for all columns"
        )
    left_names = names_in(left) if left not in columns else {left}
    right = {name for term in terms for factor in term.factors for name in names_of(factor)}
    shared = left_names & set(columns)
    if shared and shared <= right:
        raise ValueError(
            f"formula {text!r}: the response {', '.join(sorted(shared))} is also on the right "
            "side; take it out"
        )
    return left, terms, len(terms) < len(every), beside, responses


def _sides(text, columns):
    """(terms of the left side, formulaic's formula of the terms of the right side that are columns,
    {word: expressions inside} of those that are none).
    """
    from formulaic.formula import SimpleFormula

    if INTERCEPT in columns and (has_dot(text) or f"`{INTERCEPT}`" in text):
        raise ValueError(
            f"formula {text!r} uses the column '1', which is the name of the intercept in "
            "formulas; rename it, such as data.rename(columns={'1': 'x1'})"
        )
    lefts, right = _parsed(text, columns)
    beside = {word: [] for word in TERMS}
    for word, inside in filter(None, map(_beside, right)):
        beside[word] += inside
    taken = set().union(*(names_in(expr) for found in beside.values() for expr in found))
    if taken and has_dot(text):
        lefts, right = _parsed(text, [name for name in columns if name not in taken])
    terms = [term for term in right if _beside(term) is None]
    return lefts, SimpleFormula(terms, _ordering=right.ordering), beside


def _parsed(text, columns):
    """formulaic's formula of a text, with one response and one right side.

    formulaic sees names in the place of expressions: it would evaluate them while it parses.
    """
    from formulaic import Formula as Parser
    from formulaic.formula import SimpleFormula, StructuredFormula

    plain, expressions, taken = _with_names(text, columns)
    try:
        formula = Parser.from_spec(
            plain,
            context={
                "__formulaic_variables_available__": [name for name in columns if name not in taken]
            },
        )
    except Exception as error:  # the parser has many
        why = calm(error)
        for name, expression in expressions.items():
            why = why.replace(f"`{name}`", expression).replace(name, expression)
        why = _plain(why)
        raise ValueError(f"formula {text!r} cannot be read: {why}") from error
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
    lefts, terms = (
        [_with_expressions(term, expressions) for term in side]
        for side in (formula.lhs, formula.rhs)
    )
    return lefts, SimpleFormula(terms, _ordering=formula.rhs.ordering)


def _with_names(text, columns):
    """(the text with names in the place of its expressions, {name: expression}, names that those of
    the left side use). Every expression is read here, and refused if it is none of formulas.
    """
    from formulaic.parser.algos.tokenize import tokenize

    mark = "\0"
    while mark in text or any(mark in name for name in columns):
        mark += "\0"
    out, end, names, taken = [], 0, {}, None
    try:
        tokens = list(tokenize(text))
    except Exception as error:  # the parser has many
        raise ValueError(f"formula {text!r} cannot be read: {_plain(calm(error))}") from error
    for token in tokens:
        if token.kind.value == "operator" and "~" in token.token and taken is None:
            taken = {name for expr in names for name in names_in(expr)}
        if token.kind.value != "python":
            continue
        start, braces = token.source_start, text[token.source_start] == "{"
        try:
            expression = read(token.token).text
        except Unreadable as error:
            raise ValueError(f"formula {text!r}: {error}") from None
        if expression in columns:
            raise ValueError(
                f"formula {text!r}: data has a column named {expression!r}, and the formula "
                "computes an expression of this text: write the column in backticks, or rename it"
            )
        names.setdefault(expression, f"{mark}{len(names)}{mark}")
        out += [text[end:start], f"`{names[expression]}`"]
        end = token.source_end + 1 + braces
    plain = "".join([*out, text[end:]])
    return plain, {name: expression for expression, name in names.items()}, taken or set()


def _with_expressions(term, expressions):
    """A term of formulaic with the expressions that names stand for."""
    from formulaic.parser.types import Factor, Term

    if not any(factor.expr in expressions for factor in term.factors):
        return term
    return Term(
        [
            Factor(expressions[factor.expr], eval_method="python")
            if factor.expr in expressions
            else factor
            for factor in term.factors
        ]
    )


def _beside(term):
    """(word, expressions inside) of a term offset(...), strata(...) or cluster(...); None for other
    terms.
    """
    inside = [found for found in map(_arguments, term.factors) if found is not None]
    if inside and len(term.factors) > 1:
        raise ValueError(
            f"the term {term} multiplies {inside[0][0]}(...) with others; it is a term of its own, "
            "such as offset(log(exposure))"
        )
    return inside[0] if inside else None


def _arguments(factor):
    call = read(factor.expr).body if factor.eval_method.value == "python" else None
    word = ast.unparse(call.func) if isinstance(call, ast.Call) else None
    if word not in TERMS:
        return None  # {offset(a) + b}, say
    if call.keywords or not call.args or (word != "strata" and len(call.args) > 1):
        takes = "one or more" if word == "strata" else "one"
        raise ValueError(f"{factor.expr} has {len(call.args)} arguments; {word}(...) takes {takes}")
    return word, [ast.unparse(arg) for arg in call.args]


def right_side(formula):
    """formulaic's formula of the terms of the right side that are columns, the intercept with it:
    categories are then coded against their first level.
    """
    return _sides(formula.text, formula.columns)[1]


def names_and_terms(spec):
    """(names of the columns but the intercept, [(term, their numbers)])."""
    names, terms = [], []
    for term, at in spec.term_indices.items():
        own = [spec.column_names[j] for j in at] if str(term) != INTERCEPT else []
        if own:
            terms.append((str(term), list(range(len(names), len(names) + len(own)))))
        names += own
    return names, terms


def names_in(expression):
    """Names that an expression of a formula uses; the expression itself where it is the name of a
    column that is none of Python.
    """
    try:
        return set(read(expression).names)
    except Unreadable:
        return {expression}


def names_of(factor):
    """Names that a factor of formulaic uses."""
    how = factor.eval_method.value
    return {factor.expr} if how == "lookup" else names_in(factor.expr) if how == "python" else set()


def column_of(expression, columns):
    """The column whose levels an expression codes: the column itself or C(column, ...), else
    None.
    """
    if expression in columns:
        return expression
    node = read(expression).body
    if (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) in FACTORS
        and node.args
        and isinstance(node.args[0], ast.Name)
    ):
        name = node.args[0].id.strip("`")
        return name if name in columns else None
    return None


def has_dot(text):
    """Whether a formula has the "." that stands for all other columns."""
    return re.search(r"(?<![\w.)\]`])\.(?!\w)", text) is not None


def tight(text):
    """A term's text without spaces."""
    return "".join(text.split())


def _plain(why):
    """What the parser of formulaic says of a wrong formula, in our words where it has few."""
    lacking = re.match(r"Operator `(.+)` has insuff?i\w* arguments", why)
    if lacking:
        return f"the operator {lacking[1]} lacks a term on one side"
    if "context marker" in why:
        return "a bracket is opened and not closed, or closed and not opened"
    return why


def calm(error):
    """An error's text in one line, without colors."""
    text = str(error).split("\n\n")[0].replace("\x1b[1;31m", "").replace("\x1b[0m", "")
    return (
        " ".join(text.replace("⧛[1;31m", "").replace("⧛[0m⧚", "").replace("⧚", "").split())
        or type(error).__name__
    )
