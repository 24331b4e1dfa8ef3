"""Values of a path file: labels as JSON, and the checks of what a file holds."""

from types import UnionType
from typing import get_args

import numpy as np

LABEL_TYPES = {"bool": bool, "int": int, "float": float, "str": str}


def label_of(x):
    """The label of a class, a group or a stratum as JSON with its type."""
    kind = type(x.item() if isinstance(x, np.generic) else x).__name__
    value = x.item() if isinstance(x, np.generic) else x
    if kind not in ("bool", "int", "float", "str"):
        raise TypeError(
            f"the label {x!r} of type {kind} cannot be stored; use strings, numbers or bools as "
            "labels"
        )
    return [kind, value, str(x.dtype) if isinstance(x, np.generic) else ""]


def labels_of(labels):
    """Labels as JSON with their types; None stays."""
    return None if labels is None else [label_of(label) for label in labels]


def labels_from(labels, what):
    """The labels in a file, none of them twice."""
    check_kind(labels, list, what)
    found = tuple(label_from(label) for label in labels)
    if len({(type(label), label) for label in found}) < len(found):
        raise ValueError(f"{what} hold the same label twice")
    return found


def label_from(x):
    kind, value, dtype = x
    if kind not in LABEL_TYPES or type(value) is not LABEL_TYPES[kind]:
        raise ValueError(f"the label {value!r} is no {kind}")
    if not dtype:
        return value
    if np.dtype(dtype).kind not in "biufU":
        raise ValueError(f"labels of dtype {dtype!r} are none of strings, numbers and bools")
    return np.dtype(dtype).type(value)


def check_kind(value, kind, what):
    """ValueError unless a value from a file is of a type, or of one of a union of types. Whole
    numbers count as float, and are those of 64 bits.
    """
    for one in get_args(kind) if isinstance(kind, UnionType) else (kind,):
        if one in (int, float) and type(value) is int and abs(value) < 2**63:
            return
        if one is type(None) and value is None:
            return
        if one is not int and isinstance(value, one):
            return
    raise ValueError(f"{what}={str(value)[:100]!r} must be of type {kind}")


def check_texts(values, what):
    """ValueError unless a value from a file is a list of texts."""
    check_kind(values, list, what)
    for value in values:
        check_kind(value, str, what)


def check_finite(values, what):
    """ValueError where numbers from a file are not finite."""
    if not np.isfinite(values).all():
        raise ValueError(f"{what} are not finite")


def check_ascending(values, starts, what):
    """ValueError unless the parts of an array, which begin at `starts`, ascend."""
    steps = np.diff(values) > 0
    steps[starts[(starts > 0) & (starts < values.size)] - 1] = True
    if not steps.all():
        raise ValueError(f"{what} are not ascending")


def check_inside(values, stop, what):
    if values.size and not 0 <= values.min() <= values.max() < stop:
        raise ValueError(f"{what} leave the range 0 to {stop - 1}")
