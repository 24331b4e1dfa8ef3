"""Checks of arguments: each names the argument, its value and the remedy."""

from typing import TypeGuard

import numpy as np
import pandas as pd

from ..errors import refuse_masked


def shown(label):
    """A class label as a user wrote it."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def number(value, name):
    """A float from a real number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}={value!r} must be a number")
    return float(value)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole(value, name, least):
    """An int from a whole number of at least `least`."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number >= {least}")
    return int(value)


def whole_fields(record, **least):
    """Refuse fields of a settings record that are not whole numbers of at least the given ones;
    None passes where it is the default.
    """
    for name, bound in least.items():
        value = getattr(record, name)
        if type(record).__dataclass_fields__[name].default is not None:
            whole(value, name, bound)
        elif value is not None:
            try:
                whole(value, name, bound)
            except ValueError as error:
                raise ValueError(f"{error}, or None") from None


def flag(value, name):
    """True or False (1 and 0 are taken)."""
    if not isinstance(value, (bool, np.bool_, int, np.integer)) or value not in (0, 1):
        raise TypeError(f"{name}={value!r} must be True or False")
    return bool(value)


def level(value, name="level"):
    """The level of an interval, a number between 0 and 1."""
    if not 0.0 < number(value, name) < 1.0:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1, such as 0.95")
    return float(value)


def vector(value, n, name, what="row of X"):
    """A float64 vector (n,) from an array, a Series or a scalar."""
    refuse_masked(value, name)
    if isinstance(value, (pd.Series, pd.DataFrame)):
        value = value.to_numpy()
    try:
        if np.iscomplexobj(value):
            raise TypeError("complex numbers have no order")
        out = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers, one per {what}: {error}") from error
    out = (
        np.full(n, float(out))
        if out.ndim == 0
        else out.reshape(-1)
        if out.ndim == 2 and 1 in out.shape
        else out
    )
    if out.shape != (n,):
        raise ValueError(
            f"{name} has shape {np.shape(value)}, X needs {n}: pass one value per {what}"
        )
    return out


def finite(value, name):
    """Refuse NaN and infinity."""
    bad = ~np.isfinite(value)
    if bad.any():
        raise ValueError(
            f"{name} contains NaN or infinity in {bad.sum()} of {value.size} places, the first at "
            f"position {np.flatnonzero(bad)[0]}; drop or impute those"
        )
    return value


def nonnegative(value, name):
    """Finite numbers >= 0, descending and without repeats, from one or a sequence."""
    refuse_masked(value, name)
    try:
        out = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}={value!r} must be a number or a sequence of numbers") from error
    if not out.size or not np.isfinite(out).all() or (out < 0).any():
        raise ValueError(
            f"{name}={value!r} must be finite and >= 0, one number or a non-empty sequence"
        )
    return np.unique(out)[::-1]


def same_index(**given):
    """pandas inputs, and designs of a DataFrame, must have equal indexes: X=, y= and what else
    belongs to rows.
    """
    first, index = None, None
    for name, value in given.items():
        own = (
            value.index
            if isinstance(value, (pd.DataFrame, pd.Series))
            else getattr(value, "row_index", None)
        )
        if own is None:
            continue
        if first is None:
            first, index = name, own
        elif len(index) != len(own):
            raise ValueError(
                f"{first} has {len(index)} rows and {name} has {len(own)}; pass the same rows of "
                "both"
            )
        elif not index.equals(own):
            raise ValueError(
                f"{first} and {name} have different indexes; align them first (for example {name} "
                f"= {name}.loc[{first}.index]) or pass {name}.to_numpy()"
            )


def some(J, names):
    """The names of the first columns of J, for a note."""
    return ", ".join(names[j] for j in J[:5]) + (", ..." if len(J) > 5 else "")
