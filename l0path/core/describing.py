"""One docstring for a method and for the function of a higher package that does its work."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
