"""Names of columns: those that are made when asked for, and the repair of repeated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pandas as pd

from l0path.core.arguments import is_whole

INTERCEPT = "(Intercept)"  # what tables of coefficients call the intercept


class Numbered(Sequence):
    """The names x0, x1, ..., x{p - 1} of columns that have none; millions of them would take longer
    to write down than a read of X.
    """

    def __init__(self, p: int) -> None:
        self.p = int(p)

    def __len__(self):
        return self.p

    def __getitem__(self, j):
        at = range(self.p)[j]
        return [f"x{i}" for i in at] if isinstance(j, slice) else f"x{at}"

    def __iter__(self) -> Iterator[str]:
        return (f"x{j}" for j in range(self.p))

    def __eq__(self, other):
        if isinstance(other, Numbered):
            return self.p == other.p
        return (
            len(other) == self.p and all(a == b for a, b in zip(self, other, strict=True))
            if isinstance(other, list)
            else NotImplemented
        )

    __hash__ = None

    def __contains__(self, name):
        digits = name[1:] if isinstance(name, str) and name[:1] == "x" else ""
        return (
            digits.isascii()
            and digits.isdecimal()
            and (digits == "0" or digits[0] != "0")
            and int(digits) < self.p
        )

    def index(self, name: str) -> int:
        """Position of a name; ValueError where there is none of that name."""
        if name not in self:
            raise ValueError(f"there is no column {name!r}; the columns are x0 to x{self.p - 1}")
        return int(name[1:])


def places_of(names: Sequence[str]) -> Callable[[str], int | None]:
    """A function that gives the first index of a name, None where there is none. What it needs for
    names that are written down is made when it is first asked.
    """

    @cache
    def first():
        return {name: j for j, name in reversed(list(enumerate(names)))}

    def place(name):
        if isinstance(names, list):
            return first().get(name)
        try:
            return names.index(name)
        except ValueError:
            return None

    return place


def column_index(
    v: Any, names: Sequence[str], place: Callable[[str], int | None], what: str
) -> int | None:
    """The index of a column by its name or its number; None for what is neither. place: of
    `places_of`; what: the argument, for messages.
    """
    p = len(names)
    if isinstance(v, str):
        j = place(v)
        if j is None:
            raise ValueError(
                f"{what}: there is no column {v!r}; the columns are "
                f"{', '.join(names[:8])}{', ...' if p > 8 else ''}"
            )
        return j
    if not is_whole(v):
        return None
    if not -p <= v < p:
        raise ValueError(f"{what}: column index {v} is out of range for p = {p} columns")
    return int(v) % p


def column_names(columns: pd.Index) -> list[str]:
    """The names of a table's columns as texts; the levels of a MultiIndex are joined by "_"."""
    if not isinstance(columns, pd.MultiIndex):
        return [str(name) for name in columns]
    return ["_".join(str(part) for part in key if str(part)) for key in columns]


def unique(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """(names with repeats numbered a, a.1, a.2, the new names); a number that is taken is
    skipped. The name of the intercept counts as taken.
    """
    taken, seen, out, repeats = set(names), {INTERCEPT: 1}, [], []
    for name in names:
        count = seen.get(name, 0)
        new = name
        while count and (new == name or new in taken):
            new = f"{name}.{count}"
            count += new in taken
        if new != name:
            taken.add(new)
            repeats.append(new)
        seen[name] = max(count, 1)
        out.append(new)
    return out, repeats
