"""Texts: one docstring for a method and for the function of a higher package that does its work,
and sizes in words.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from .status import GLOBAL_GAP

P, T = ParamSpec("P"), TypeVar("T")


def described_by(method: Callable, **more: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Give a function the docstring of the method that calls it, where users read it.

    Parameters
    ----------
    method : callable
        The method, whose docstring is in numpydoc form.
    **more : str
        What the function calls the object of the method, with its type: `cv="CVPath"`.
    """

    def described(function):
        text = inspect.getdoc(method)
        for name, kind in more.items():
            head, mark, entries = text.partition("Parameters\n----------\n")
            text = f"{head}{mark}{name} : {kind}\n    The object that is shown.\n{entries}"
        function.__doc__ = text
        return function

    return described


def gap_text(gap, proven=False):
    """A relative gap as text: "0" where it is closed, with "(proven)" where that is claimed."""
    if not gap <= GLOBAL_GAP:
        return f"{gap:.2g}"
    return "0 (proven)" if proven else "0"


MOST_SHOWN = 12  # features of a model in a line of text


def model_line(response, k, chosen):
    """A model as a line of text: the response if it has a name, the size, and what was chosen."""
    more = [f"and {len(chosen) - MOST_SHOWN} more"] if len(chosen) > MOST_SHOWN else []
    of = f"{response}, " if response else ""
    return f"{of}k = {k}: {', '.join([*chosen[:MOST_SHOWN], *more]) or 'intercept only'}"


def signed(names, values):
    """Names with numbers and their signs."""
    return [f"{name} {value:+.4g}" for name, value in zip(names, values, strict=True)]


def spans(sizes):
    """Whole numbers as text, neighbors as a span: "0..3, 5"; "0..0" for a single one."""
    sizes = sorted(set(sizes))
    last = [one for one, after in zip(sizes, [*sizes[1:], None], strict=False) if after != one + 1]
    first = [one for one, before in zip(sizes, [None, *sizes], strict=False) if before != one - 1]
    return ", ".join(
        str(a) if a == b and len(first) > 1 else f"{a}..{b}"
        for a, b in zip(first, last, strict=True)
    )
