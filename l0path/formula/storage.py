"""A formula as JSON, and back."""

import ast
import copy

import pandas as pd

from .expressions import has_dot, right_side
from .frames import packed, unpacked
from .functions import STATEFUL
from .tree import read

WHOLE = ("text", "columns", "state", "names", "n_dropped", "output")  # what no file lacks
PARTS = ("levels", "transforms", "left", "offset", "strata", "cluster")  # of a state


def to_stored(formula):
    """The content of a path file, for JSON; `state` None where levels are not text, numbers or
    bools.
    """
    used = [*formula.used(left=True), *formula.used(), *formula.of_rows()]
    columns = formula.columns if has_dot(formula.text) else list(dict.fromkeys(used))
    try:
        state = packed(formula.state)
    except TypeError:
        state = None
    try:
        example = packed(formula.example)
    except TypeError:  # dates, say: a path from the file then asks for every column
        example = None
    return {
        "text": formula.text,
        "columns": columns,
        "state": state,
        "names": formula.names,
        "terms": [[term, list(at)] for term, at in formula.terms],
        "example": example,
        "n_dropped": formula.n_dropped,
        "output": formula.output,
        "other_offset": formula.other_offset,
        "env": list(formula.own),
    }


def from_stored(cls, stored, env=None):
    """A Formula from the values that `stored` returned; ValueError where it has anything but
    columns, numbers, arithmetic, the functions of formulas and names of the user's own.
    """
    lacking = [name for name in WHOLE if name not in stored]
    if lacking:
        raise ValueError(f"its formula has no {lacking[0]!r}")
    texts = [stored["text"], *stored["columns"], *stored["names"], *stored.get("env", [])]
    wrong = next((text for text in texts if not isinstance(text, str)), None)
    if wrong is not None or stored["output"] not in ("pandas", "sparse"):
        raise ValueError("names and the text of its formula are no text")
    out = cls(
        stored["text"],
        stored["columns"],
        state=unpacked(stored["state"]),
        names=stored["names"],
        n_dropped=int(stored["n_dropped"]),
        output=stored["output"],
    )
    if stored.get("example") is not None:  # files of version 0.1 have none
        out.example = unpacked(stored["example"])
    out.other_offset = bool(stored.get("other_offset", False))
    out.terms = [(term, list(at)) for term, at in stored.get("terms", [])]
    out.check(dict.fromkeys(stored.get("env", [])))
    if env is not None and set(out.own) <= set(env):
        out.env = env
    if out.state is not None:
        _check_state(out)
    if "terms" in stored or "example" in stored:  # those of version 0.1 have neither
        _check_terms(out)
    if out.example:
        _check_example(out)
    return out


def _check_state(formula):
    """Refuse a state that lacks what the formula needs, or has anything else."""
    state, factors = formula.state, formula.factors()
    for part in ("levels", "transforms"):
        if not isinstance(state, dict) or part not in state:
            raise ValueError(f"the state of its formula has no {part!r}")
    for part, found in state.items():
        if part not in PARTS or not isinstance(found, dict):
            raise ValueError(f"the state of its formula has {part!r}, which is no part of it")
    wanted = {factor if isinstance(factor, str) else factor[0] for factor in factors}
    other = wanted.symmetric_difference(state["levels"])
    if other:
        raise ValueError(
            f"levels of its formula are lacking or too many: {sorted(map(str, other))}"
        )
    for name, found in state["levels"].items():
        kind, *more = found if isinstance(found, list) else [None]
        whole = len(more) == 1 and isinstance(more[0], dict)
        if kind not in ("numerical", "categorical") or not whole:
            raise ValueError(
                f"levels of {name!r} of its formula are neither numbers nor categories"
            )
    beside = {"left": [formula.left], **formula.parsed()[3]}
    beside["transforms"] = [factor for factor in factors if isinstance(factor, str)]
    for part, expressions in beside.items():
        for expr in expressions:
            if expr in formula.columns:
                continue
            for call in _stateful(expr):
                if not isinstance(state.get(part, {}).get(call), dict):
                    raise ValueError(f"what {call} of its formula learned in the fit is lacking")


def _stateful(expression):
    """The calls in an expression that learn from the rows of the fit."""
    return [
        ast.unparse(node)
        for node in ast.walk(read(expression).body)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in STATEFUL
    ]


def _check_terms(formula):
    """Refuse terms that are none of the formula, or do not hold each column once."""
    known, count = {str(term) for term in formula.parsed()[1]}, len(formula.names)
    terms = [term for term, _ in formula.terms]
    if not set(terms) <= known or len(set(terms)) < len(terms):
        raise ValueError(f"terms {terms} are none of its formula, which has {sorted(known)}")
    if [j for _, at in formula.terms for j in at] != list(range(count)):
        raise ValueError(f"terms of its formula do not hold each of the {count} columns once")


def _check_example(formula):
    """Refuse a state that does not make the columns of the formula, or would learn anew, from the
    row of the fit that the file has. Functions of the user's own may not be at hand for that.
    """
    for name in formula.used():
        found = formula.example.get(name)
        if not isinstance(found, list) or len(found) != 2 or not pd.api.types.is_scalar(found[0]):
            raise ValueError(f"the example of its formula has no value of the column {name!r}")
    if formula.state is None or (formula.own and formula.env is None):
        return
    learned = repr(packed(formula.state["transforms"]))
    try:
        formula.encode(formula.filled(pd.DataFrame(index=[0]), []))
    except Exception as error:  # formulaic's own, of whatever kind
        raise ValueError(
            f"what is stored of its formula makes no row of the fit ({error})"
        ) from error
    spec = formula._spec
    if spec is not None and repr(packed(spec.transform_state)) != learned:
        raise ValueError("what transforms of its formula learned in the fit is incomplete")


def restored_spec(formula):
    """The specification of formulaic, from the contents of a file."""
    from formulaic import ModelSpec
    from formulaic.parser.types import Factor

    levels = {
        expr: (Factor.Kind(kind), copy.deepcopy(state))
        for expr, (kind, state) in formula.state["levels"].items()
    }
    return ModelSpec.from_spec(
        right_side(formula),
        output=formula.output,
        na_action="raise",
        transform_state=copy.deepcopy(formula.state["transforms"]),
        encoder_state=levels,
    )
