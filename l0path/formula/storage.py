"""A formula as JSON, and back."""

import copy

from .expressions import has_dot, right_side
from .frames import packed, unpacked


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
    return out


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
